/*
 * park.h - waiting for a word to change without burning a core.
 *
 * A waiter spins a bounded number of times, then offers its core to others a bounded number of
 * times, then sleeps in the kernel (futex) until the word is bumped. Spinning catches changes that
 * are about to come at the price of a cache miss; sleeping keeps a core free for whoever else needs
 * it, and lets the kernel move a thread there that it has put on a busy core.
 *
 *              park_load  park_change  park_bump
 * park_load        -          -            -         (- = may run at the same time)
 * park_change      -          -            -
 * park_bump        -          -            -
 *
 * Ordering: what precedes a bump happens before what follows the load or change that sees it.
 * Progress: load and bump are wait-free (a bump may call the kernel), change blocks.
 */
#ifndef WH_PARK_H
#define WH_PARK_H

#include <stdatomic.h>
#include <stdint.h>

/* How long to wait before sleeping; 0, 0 sleeps at once. */
struct park_policy {
    uint32_t spin_count;  /* pauses of the processor */
    uint32_t yield_count; /* calls of sched_yield */
};

/* About 5 us and 4 switches: as much as going to sleep and waking up cost. */
#define PARK_SPINS_DEFAULT 250
#define PARK_YIELDS_DEFAULT 2

/* Shared. Open because owners embed it; only park.c touches the fields. */
struct park_word {
    _Atomic uint32_t value;    /* [atomic R1/A1] */
    _Atomic uint32_t sleepers; /* [atomic S1/S2] threads that are, or are about to be, asleep */
};

void park_init(struct park_word *w); /* value 0, nobody waits */

/* park_load - the value now, to be given to park_change. */
uint32_t park_load(struct park_word *w);

/*
 * park_change - waits until the value is no longer @seen.
 * Returns: 1 if it had to sleep, 0 if not.
 * Context: any thread, any number of them.
 */
int park_change(struct park_word *w, uint32_t seen, const struct park_policy *policy);

/*
 * park_bump - changes the value and wakes all who wait for that.
 * Returns: 1 if a waiter was asleep or about to be, so that the kernel had to be called, 0 if not.
 *          Good for counting only: who was about to sleep may see the change without sleeping,
 *          and sleep the next time. Waiters look at what they wait for between park_load and
 *          park_change; that alone decides whether another bump is due.
 */
int park_bump(struct park_word *w);

/* park_pause - tells the processor that the caller is spinning. */
void park_pause(void);

#endif
