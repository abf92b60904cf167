/*
 * barrier.c - a reusable barrier: see barrier.h.
 */
#include "barrier.h"

#include <assert.h>

void barrier_init(struct barrier *b)
{
    atomic_init(&b->arrived, 0);
    park_init(&b->generation);
}

int barrier_wait(struct barrier *b, uint32_t party_count, const struct park_policy *policy)
{
    /* Read first: the generation cannot end before this thread has arrived. */
    const uint32_t generation = park_load(&b->generation);
    /* R1 and A1, both: each arrival publishes what its thread wrote, and the last one, reading from
     * all others in turn, has seen it all. The bump below passes that on to the waiters. */
    const uint32_t before = atomic_fetch_add_explicit(&b->arrived, 1, memory_order_acq_rel);

    assert(before < party_count);
    if (before + 1 < party_count) {
        (void)park_change(&b->generation, generation, policy);
        return 0;
    }
    /* relaxed: the next arrivals come after the bump, which publishes it. */
    atomic_store_explicit(&b->arrived, 0, memory_order_relaxed);
    (void)park_bump(&b->generation);
    return 1;
}
