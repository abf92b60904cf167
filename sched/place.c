/*
 * place.c - which worker gets which task: see place.h.
 */
#include "place.h"

#include <assert.h>

/* Classes of weight: 8 to each power of two, so neighbours differ by an eighth at most. Sorting
 * into classes is linear, and weights are hints: finer order would buy nothing. */
#define STEPS_LOG2 3
#define CLASS_COUNT (64u << STEPS_LOG2)

/* A worker keeps its tasks up to this share above the mean load. More would have to be stolen. */
#define KEEP_SHARE 1.0625

static uint64_t weigh(uint64_t weight)
{
    return weight ? weight : 1;
}

void place_load_add(struct place_load *l, uint64_t weight)
{
    const double w = (double)weigh(weight);

    l->sum += w;
    l->max = w > l->max ? w : l->max;
}

static uint32_t class_of(uint64_t weight)
{
    const uint64_t w = weigh(weight);
    const uint32_t log2 = 63 - (uint32_t)__builtin_clzll(w);
    const uint64_t step = log2 >= STEPS_LOG2 ? w >> (log2 - STEPS_LOG2) : w << (STEPS_LOG2 - log2);

    return (log2 << STEPS_LOG2) + (uint32_t)(step & ((1u << STEPS_LOG2) - 1));
}

void place_sort(const struct place_item *items, struct place_item *sorted, size_t count)
{
    size_t first[CLASS_COUNT] = {0}, next = 0;

    for (size_t i = 0; i < count; i++)
        first[class_of(items[i].weight)]++;
    for (uint32_t c = CLASS_COUNT; c-- > 0;) {
        const size_t here = first[c];

        first[c] = next;
        next += here;
    }
    for (size_t i = 0; i < count; i++)
        sorted[first[class_of(items[i].weight)]++] = items[i];
}

static uint32_t find_least_loaded(const double *load, uint32_t worker_count)
{
    uint32_t best = 0;

    for (uint32_t w = 1; w < worker_count; w++)
        if (load[w] < load[best])
            best = w;
    return best;
}

void place_assign(struct place_item *items, size_t count, const struct place_load *total,
                  double *load, uint32_t worker_count)
{
    const double limit = total->sum / worker_count * KEEP_SHARE;

    assert(worker_count > 0);
    for (uint32_t w = 0; w < worker_count; w++)
        load[w] = 0;
    for (size_t i = 0; i < count; i++) {
        const double weight = (double)weigh(items[i].weight);
        uint32_t w = items[i].worker_id;

        if (w >= worker_count || load[w] + weight > limit) {
            const uint32_t least = find_least_loaded(load, worker_count);

            /* Above the limit but nobody is better off: it may as well stay. */
            if (w >= worker_count || load[least] < load[w])
                w = least;
        }
        items[i].worker_id = w;
        load[w] += weight;
    }
}
