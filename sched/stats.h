/*
 * stats.h - what the workers count, and the clock.
 *
 * Each counter has one writer and any number of readers, who may see it a moment late: a store and
 * a load of a word, no read-modify-write. Times are of CLOCK_MONOTONIC_RAW, which no clock
 * discipline bends; they are taken only when statistics are on (a reading costs some 25 ns).
 * Threading: as said at each function.
 */
#ifndef WH_STATS_H
#define WH_STATS_H

#include "sched_err.h"

#include <stdatomic.h>
#include <stdint.h>

/* One list: counters of a worker. busy + idle + barrier is the time it was in the team. */
#define STATS_WORKER_LIST(X)                                                                       \
    X(tasks)         /* run, stolen or not */                                                      \
    X(steals)        /* of them, taken from another worker */                                      \
    X(failed_steals) /* deques of others looked into in vain */                                    \
    X(sleeps)        /* waits that ended in the kernel */                                          \
    X(busy_ns)       /* inside tasks */                                                            \
    X(idle_ns)       /* awake and looking for a task */                                            \
    X(barrier_ns)    /* at the barrier: nothing was left, or the coordinator was alone at work */

/* One list: counters of the team, written by the coordinator. */
#define STATS_TEAM_LIST(X)                                                                         \
    X(rounds)            /* all of them */                                                         \
    X(sequential_rounds) /* of them, run by the coordinator alone */                               \
    X(wakes)             /* workers that had to be woken in the kernel for a round */              \
    X(serial_ns)         /* between rounds: only the coordinator can be at work */                 \
    X(round_ns)          /* in rounds that others were called to */                                \
    X(sequential_ns)     /* in sequential rounds */

#define STATS_ATOMIC_FIELD(name) _Atomic uint64_t name;
#define STATS_PLAIN_FIELD(name) uint64_t name;

/* Shared. [worker, stats] every field: written by its worker, read by any, relaxed because each is
 * a figure by itself. */
struct stats_worker {
    _Alignas(SCHED_LINE_BYTES) STATS_WORKER_LIST(STATS_ATOMIC_FIELD)
};

/* Shared. [worker, stats] as above, written by the coordinator. */
struct stats_team {
    _Alignas(SCHED_LINE_BYTES) STATS_TEAM_LIST(STATS_ATOMIC_FIELD)
};

/* What readers get. */
struct stats_worker_view {
    STATS_WORKER_LIST(STATS_PLAIN_FIELD)
};
struct stats_team_view {
    STATS_TEAM_LIST(STATS_PLAIN_FIELD)
};

/* stats_add - Context: the one writer of @counter. */
static inline void stats_add(_Atomic uint64_t *counter, uint64_t n)
{
    /* relaxed: one writer, and readers take each figure by itself. */
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n,
                          memory_order_relaxed);
}

/* stats_now_ns - CLOCK_MONOTONIC_RAW. Context: any thread. */
uint64_t stats_now_ns(void);

void stats_worker_init(struct stats_worker *s);
void stats_team_init(struct stats_team *s);

/* Copies. Context: any thread, while the counters exist. */
void stats_worker_read(const struct stats_worker *s, struct stats_worker_view *out);
void stats_team_read(const struct stats_team *s, struct stats_team_view *out);

/* stats_worker_sum - adds @s to @sum. Context: caller-owned data. */
void stats_worker_sum(struct stats_worker_view *sum, const struct stats_worker_view *s);

#endif
