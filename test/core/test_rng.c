/*
 * test_rng.c - counter-based random numbers: fixed values, range, independence of neighbours.
 */
#include "rng.h"

#include <criterion/criterion.h>
#include <math.h>

/* Recorded results depend on these numbers. The first is SplitMix64's published first output for
 * seed 0. */
Test(rng, values_never_change)
{
    cr_expect_eq(rng_mix(RNG_STEP), UINT64_C(0xe220a8397b1dcdaf));
    cr_expect_eq(rng_u64(0, 0, 0), UINT64_C(0x22069d4d5f228224), "%llx",
                 (unsigned long long)rng_u64(0, 0, 0));
    cr_expect_eq(rng_u64(1, 2, 3), UINT64_C(0x1c471075445723b5), "%llx",
                 (unsigned long long)rng_u64(1, 2, 3));
}

Test(rng, doubles_are_uniform_in_zero_to_one)
{
    uint32_t bins[16] = {0};
    double chi2 = 0;

    for (uint64_t i = 0; i < 160000; i++) {
        const double u = rng_double(7, 0, i);
        cr_assert(u >= 0 && u < 1);
        bins[(int)(u * 16)]++;
    }
    for (int b = 0; b < 16; b++)
        chi2 += pow(bins[b] - 10000.0, 2) / 10000;
    cr_expect_lt(chi2, 37.7, "chi2 %f", chi2); /* 15 degrees of freedom, 0.1 % */
    cr_expect_lt(rng_to_double(UINT64_MAX), 1.0);
}

/* One bit changed in any argument changes half of the bits of the result. */
Test(rng, neighbours_have_nothing_in_common)
{
    for (int argument = 0; argument < 3; argument++) {
        for (int bit = 0; bit < 64; bit++) {
            double changed = 0;
            for (uint64_t i = 0; i < 256; i++) {
                uint64_t a[3] = {i * 11, i * 5 + 1, i}, b[3] = {a[0], a[1], a[2]};
                b[argument] ^= UINT64_C(1) << bit;
                changed +=
                    __builtin_popcountll(rng_u64(a[0], a[1], a[2]) ^ rng_u64(b[0], b[1], b[2]));
            }
            /* 256 x 64 coins: sigma of the mean of 32 is 0.25 */
            cr_expect_float_eq(changed / 256, 32, 1.5, "argument %d bit %d: %f", argument, bit,
                               changed / 256);
        }
    }
}

Test(rng, bounded_draws_reach_all_values_and_no_more)
{
    uint32_t seen[7] = {0};

    for (uint64_t i = 0; i < 7000; i++) {
        const uint32_t v = rng_below(rng_u64(3, 1, i), 7);
        cr_assert_lt(v, 7u);
        seen[v]++;
    }
    for (int v = 0; v < 7; v++)
        cr_expect(seen[v] > 870 && seen[v] < 1130, "%d: %u", v, seen[v]); /* sigma 29 */
    cr_expect_eq(rng_below(UINT64_MAX, 1), 0u);
}
