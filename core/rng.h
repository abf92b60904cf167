/*
 * rng.h - counter-based random numbers: a draw is a hash of (seed, stream, counter).
 *
 * There is no generator and no state, so a draw depends on nothing that happened before it: neither
 * on the number of threads nor on the order of events. A stream is one use (a flow's marking, a
 * generator's sizes), the counter numbers the draws within it. The mixing function is a bijection
 * of 64 bits: two rounds of xor-shift and multiply after the finaliser of SplitMix64 (Steele, Lea,
 * Flood, OOPSLA 2014, with constants of D. Stafford's variant 13). Values are part of the results
 * of a run: they never change. Threading: pure.
 */
#ifndef WH_RNG_H
#define WH_RNG_H

#include <stdint.h>

#define RNG_STEP                                                                                   \
    UINT64_C(0x9e3779b97f4a7c15) /* 2^64 / golden ratio, odd: spreads small integers               \
                                  */

static inline uint64_t rng_mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* rng_key - the part of a draw that does not depend on the counter; for loops that draw often. */
static inline uint64_t rng_key(uint64_t seed, uint64_t stream)
{
    return rng_mix(rng_mix(seed + RNG_STEP) ^ (stream * RNG_STEP + 1));
}

static inline uint64_t rng_at(uint64_t key, uint64_t counter)
{
    return rng_mix(rng_mix(key + counter * RNG_STEP) + key);
}

static inline uint64_t rng_u64(uint64_t seed, uint64_t stream, uint64_t counter)
{
    return rng_at(rng_key(seed, stream), counter);
}

/* rng_to_double - the upper 53 bits as a multiple of 2^-53 in [0, 1). */
static inline double rng_to_double(uint64_t bits)
{
    return (double)(bits >> 11) * 0x1p-53;
}

static inline double rng_double(uint64_t seed, uint64_t stream, uint64_t counter)
{
    return rng_to_double(rng_u64(seed, stream, counter));
}

/* rng_below - @bits scaled to [0, bound) through its upper half; the bias is below bound / 2^32. */
static inline uint32_t rng_below(uint64_t bits, uint32_t bound)
{
    return (uint32_t)(((bits >> 32) * bound) >> 32);
}

#endif
