/*
 * park.c - waiting for a word to change: see park.h.
 *
 * A wake-up cannot be lost: the waiter announces itself (S1) and then compares the value, in the
 * kernel, under the lock of the futex; the waker changes the value and then looks for sleepers
 * (S2). Both pairs are sequentially consistent, so at least one of the two sees the other.
 */
#include "park.h"

#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

_Static_assert(sizeof(_Atomic uint32_t) == 4, "a futex is a word of four bytes");

static void futex_wait(_Atomic uint32_t *word, uint32_t seen)
{
    /* Returns early on signals and spuriously; the caller looks again. */
    (void)syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
}

static void futex_wake_all(_Atomic uint32_t *word)
{
    (void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

void park_init(struct park_word *w)
{
    atomic_init(&w->value, 0);
    atomic_init(&w->sleepers, 0);
}

void park_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

uint32_t park_load(struct park_word *w)
{
    /* A1: what the waker wrote is visible; pairs with R1 in park_bump. */
    return atomic_load_explicit(&w->value, memory_order_acquire);
}

static int sleep_until_change(struct park_word *w, uint32_t seen)
{
    int has_slept = 0;

    /* S1: announced before the value is compared; pairs with S2 in park_bump. seq_cst because a
     * store has to precede a load of another word. */
    atomic_fetch_add_explicit(&w->sleepers, 1, memory_order_seq_cst);
    while (atomic_load_explicit(&w->value, memory_order_seq_cst) == seen) {
        futex_wait(&w->value, seen);
        has_slept = 1;
    }
    /* relaxed: who still counts this thread makes a needless call of the kernel, no more. */
    atomic_fetch_sub_explicit(&w->sleepers, 1, memory_order_relaxed);
    return has_slept;
}

int park_change(struct park_word *w, uint32_t seen, const struct park_policy *policy)
{
    for (uint32_t i = 0; i < policy->spin_count; i++) {
        if (park_load(w) != seen)
            return 0;
        park_pause();
    }
    for (uint32_t i = 0; i < policy->yield_count; i++) {
        if (park_load(w) != seen)
            return 0;
        (void)sched_yield();
    }
    return sleep_until_change(w, seen);
}

int park_bump(struct park_word *w)
{
    /* R1: publishes what the caller wrote before; pairs with A1 in park_load. */
    atomic_fetch_add_explicit(&w->value, 1, memory_order_seq_cst);
    /* S2: looked at after the value has changed; pairs with S1 in sleep_until_change. */
    if (!atomic_load_explicit(&w->sleepers, memory_order_seq_cst))
        return 0;
    futex_wake_all(&w->value);
    return 1;
}
