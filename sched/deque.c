/*
 * deque.c - work-stealing deque: see deque.h.
 *
 * Items live at [top, bottom) of an endless tape, index i in slot i mod slot_count. Invariants: top
 * only grows, by one, by a compare-and-swap; a slot is overwritten only when top has passed its
 * index, so a thief that read a slot too late fails its compare-and-swap; at most one of owner and
 * thieves gets the last item, because both take it by moving top.
 */
#include "deque.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>

/* [const] but for the slots, which are [atomic]: written by the owner, read by thieves. */
struct deque_array {
    struct deque_array *older; /* next in the list of outgrown ones */
    int64_t slot_count;        /* a power of two */
    _Atomic(void *) slot[];    /* shape: [slot_count] */
};

static struct deque_array *create_array(int64_t slot_count)
{
    struct deque_array *a = malloc(sizeof *a + (size_t)slot_count * sizeof a->slot[0]);

    if (!a)
        return NULL;
    a->older = NULL;
    a->slot_count = slot_count;
    for (int64_t i = 0; i < slot_count; i++)
        atomic_init(&a->slot[i], NULL);
    return a;
}

/* relaxed: the item is published by R1 and protected by the compare-and-swap of top. */
static void *read_slot(struct deque_array *a, int64_t i)
{
    return atomic_load_explicit(&a->slot[i & (a->slot_count - 1)], memory_order_relaxed);
}

static void write_slot(struct deque_array *a, int64_t i, void *item)
{
    atomic_store_explicit(&a->slot[i & (a->slot_count - 1)], item, memory_order_relaxed);
}

int deque_init(struct deque *d, uint32_t slot_count)
{
    struct deque_array *a;

    assert(slot_count > 0 && (slot_count & (slot_count - 1)) == 0);
    a = create_array(slot_count);
    if (!a)
        return SCHED_ERR_NOMEM;
    atomic_init(&d->top, 0);
    atomic_init(&d->bottom, 0);
    atomic_init(&d->array, a);
    d->retired = NULL;
    return 0;
}

void deque_reclaim(struct deque *d)
{
    while (d->retired) {
        struct deque_array *a = d->retired;

        d->retired = a->older;
        free(a);
    }
}

void deque_fini(struct deque *d)
{
    deque_reclaim(d);
    /* relaxed: no other thread is here, as the contract says. */
    free(atomic_load_explicit(&d->array, memory_order_relaxed));
    atomic_store_explicit(&d->array, NULL, memory_order_relaxed);
}

static struct deque_array *grow(struct deque *d, struct deque_array *old, int64_t top,
                                int64_t bottom)
{
    struct deque_array *a = create_array(2 * old->slot_count);

    if (!a)
        return NULL;
    for (int64_t i = top; i < bottom; i++)
        write_slot(a, i, read_slot(old, i));
    old->older = d->retired;
    d->retired = old;
    /* R2: publishes the slots copied above; pairs with A2 in deque_steal. */
    atomic_store_explicit(&d->array, a, memory_order_release);
    return a;
}

int deque_push(struct deque *d, void *item)
{
    /* relaxed: only the owner writes the bottom and the array. */
    const int64_t bottom = atomic_load_explicit(&d->bottom, memory_order_relaxed);
    struct deque_array *a = atomic_load_explicit(&d->array, memory_order_relaxed);
    /* A3: the thief that moved top is done with the slot that this push may overwrite; pairs with
     * the compare-and-swap S2 in deque_steal. An old value only makes the deque look fuller. */
    const int64_t top = atomic_load_explicit(&d->top, memory_order_acquire);

    assert(item != NULL);
    if (bottom - top >= a->slot_count) {
        a = grow(d, a, top, bottom);
        if (!a)
            return SCHED_ERR_NOMEM;
    }
    write_slot(a, bottom, item);
    /* R1: publishes the slot and what the item points to; pairs with A1 in deque_steal. */
    atomic_store_explicit(&d->bottom, bottom + 1, memory_order_release);
    return 0;
}

/* One item is left at @index: whoever moves top has it. */
static void *take_last(struct deque *d, int64_t index, void *item)
{
    int64_t top = index;

    /* S2: the same compare-and-swap as in deque_steal; exactly one succeeds. */
    if (!atomic_compare_exchange_strong_explicit(&d->top, &top, index + 1, memory_order_seq_cst,
                                                 memory_order_relaxed))
        item = NULL;
    /* Empty either way. R1, so that the chain of releases of the bottom is not broken. */
    atomic_store_explicit(&d->bottom, index + 1, memory_order_release);
    return item;
}

void *deque_pop(struct deque *d)
{
    /* relaxed: only the owner writes the bottom and the array. */
    const int64_t bottom = atomic_load_explicit(&d->bottom, memory_order_relaxed) - 1;
    struct deque_array *a = atomic_load_explicit(&d->array, memory_order_relaxed);
    int64_t top;

    /* R1, so that the chain of releases of the bottom is not broken. */
    atomic_store_explicit(&d->bottom, bottom, memory_order_release);
    /* S1: the bottom is lowered before top is read; pairs with S1 in deque_steal, which reads them
     * the other way round. seq_cst because a store has to precede a load of another word: without
     * it both could take the same item. */
    atomic_thread_fence(memory_order_seq_cst);
    top = atomic_load_explicit(&d->top, memory_order_relaxed);
    if (top < bottom)
        return read_slot(a, bottom);
    if (top == bottom)
        return take_last(d, bottom, read_slot(a, bottom));
    atomic_store_explicit(&d->bottom, bottom + 1, memory_order_release); /* was empty; R1 */
    return NULL;
}

enum deque_result deque_steal(struct deque *d, void **item)
{
    /* acquire: top is read before the bottom. */
    int64_t top = atomic_load_explicit(&d->top, memory_order_acquire), bottom;
    struct deque_array *a;
    void *found;

    /* relaxed: nothing is taken on the strength of it; most looks into a deque end here, without
     * the price of the fence. */
    if (top >= atomic_load_explicit(&d->bottom, memory_order_relaxed))
        return DEQUE_EMPTY;
    /* S1: pairs with S1 in deque_pop. */
    atomic_thread_fence(memory_order_seq_cst);
    /* A1: pairs with R1 in deque_push. */
    bottom = atomic_load_explicit(&d->bottom, memory_order_acquire);
    if (top >= bottom)
        return DEQUE_EMPTY;
    /* A2: pairs with R2 in grow. At least as new as the push of the item, by A1; an outgrown array
     * still holds what it held. */
    a = atomic_load_explicit(&d->array, memory_order_acquire);
    found = read_slot(a, top);
    /* S2: takes the item, or shows that it is gone; the read above is not moved below it. */
    if (!atomic_compare_exchange_strong_explicit(&d->top, &top, top + 1, memory_order_seq_cst,
                                                 memory_order_relaxed))
        return DEQUE_LOST;
    *item = found;
    return DEQUE_TAKEN;
}
