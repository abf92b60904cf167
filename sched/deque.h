/*
 * deque.h - work-stealing deque of pointers: one owner at the bottom, thieves at the top.
 *
 * Chase and Lev's circular deque (SPAA 2005) with the C11 orderings of Le, Pop, Cohen and Zappa
 * Nardelli (PPoPP 2013). Where they put fences before and after relaxed accesses of the bottom, the
 * stores and loads themselves are release and acquire here: the same code on x86, no weaker
 * elsewhere, and ThreadSanitizer, which does not know fences, can follow it. The array grows; a
 * thief may still read an outgrown one, so it is kept until deque_reclaim. Outgrown arrays together
 * are smaller than the one in use.
 *
 *                  push  pop  steal  reclaim, fini
 *   push, pop       x     x     -         x          (x = must not run at the same time,
 *   steal           -     -     -         x           - = may)
 *   reclaim, fini   x     x     x         x
 *
 * "The owner" is whoever calls push and pop; the right may pass from thread to thread along a
 * happens-before edge. Ordering: what precedes the push of a pointer happens before what follows
 * the pop or steal that takes it. Each pointer is taken exactly once. Progress: push is wait-free
 * but for growth; pop is wait-free; steal is lock-free: if one loses, another operation has
 * succeeded.
 */
#ifndef WH_DEQUE_H
#define WH_DEQUE_H

#include "sched_err.h"

#include <stdatomic.h>
#include <stdint.h>

struct deque_array;

enum deque_result {
    DEQUE_TAKEN,
    DEQUE_EMPTY,
    DEQUE_LOST, /* another one was faster; there may be more */
};

/* Shared. Open because owners embed it; only deque.c touches the fields. */
struct deque {
    _Alignas(
        SCHED_LINE_BYTES) _Atomic int64_t top; /* [atomic S1/S2] next to be stolen, only grows */

    _Alignas(SCHED_LINE_BYTES) _Atomic int64_t bottom; /* [atomic R1/A1] next to be pushed */
    _Atomic(struct deque_array *) array;               /* [atomic R2/A2] */
    struct deque_array *retired;                       /* [worker] the owner's: outgrown arrays */
};

/*
 * deque_init - an empty deque.
 * @slot_count: to begin with, a power of two
 * Errors: SCHED_ERR_NOMEM.
 */
int deque_init(struct deque *d, uint32_t slot_count) SCHED_MUST_CHECK;
void deque_fini(struct deque *d); /* accepts one that is all zero */

/*
 * deque_push - adds @item (not NULL) at the bottom.
 * Errors: SCHED_ERR_NOMEM when the array could not grow; the deque is as before.
 * Context: the owner.
 */
int deque_push(struct deque *d, void *item) SCHED_MUST_CHECK;

/* deque_pop - takes what was pushed last; NULL if there is nothing. Context: the owner. */
void *deque_pop(struct deque *d);

/*
 * deque_steal - takes what was pushed first. *@item is set when it returns DEQUE_TAKEN.
 * DEQUE_EMPTY may miss a push that does not happen before the call; a caller that relies on having
 * seen it needs a seq_cst fence before the call, and another one between the push and what tells
 * it.
 */
enum deque_result deque_steal(struct deque *d, void **item);

/* deque_reclaim - frees outgrown arrays. Context: the owner, while no thief is inside. */
void deque_reclaim(struct deque *d);

#endif
