/*
 * pool_int.h - the team from inside: pool.c (rounds) and worker.c (running and stealing).
 *
 * Each worker has two deques. "given" holds tasks of a round, pushed by the coordinator, heavy
 * first, and taken from the top by everyone, the worker itself included: so the heaviest task left
 * is always next, for thieves too. "spawned" holds what its own tasks push; the worker pops the
 * newest.
 *
 * The coordinator owns all "given" deques at all times, so a worker that is late, and still looks
 * for tasks of the round before, does no harm: all it can do is steal, which the deque allows at
 * any time, and a task it gets is one that is ready to run.
 */
#ifndef WH_POOL_INT_H
#define WH_POOL_INT_H

#include "barrier.h"
#include "deque.h"
#include "pace.h"
#include "park.h"
#include "place.h"
#include "pool.h"

struct pool_log_entry {
    uint64_t weight, ns;
};

/* Shared. */
struct pool_worker {
    /* [const] */
    _Alignas(SCHED_LINE_BYTES) struct pool *pool;
    uint32_t id;

    /* [worker] but between rounds, when the coordinator may use the log: what a worker wrote
     * there happens before the end of the round (R1 in worker.c). */
    _Alignas(SCHED_LINE_BYTES) uint64_t done_count; /* tasks done, not yet taken off remaining */
    double weight_done;                             /* of all tasks run; differences are used */
    uint64_t draw_count;                            /* victims drawn so far */
    uint64_t mark_ns;                               /* up to here its time is accounted for */
    int has_spawned;                                /* the deque "spawned" may hold something */
    int is_busy;                                    /* on_busy was called, on_quiet not yet */
    struct pool_log_entry *log; /* shape: [log_cap], tasks of this round; only when recording */
    size_t log_count, log_cap;
    int has_lost_log; /* no memory for an entry */

    /* [atomic] what others use to call the worker */
    _Alignas(SCHED_LINE_BYTES) struct park_word signal;
    _Atomic uint32_t resting; /* [atomic S1/S2] wants to be called when a task is pushed */

    struct deque given;        /* owner: the coordinator */
    struct deque spawned;      /* owner: the worker */
    struct stats_worker stats; /* [worker, stats] */
};

/* Shared. */
struct pool {
    /* [const], but for policy and record of the options, which are [round] */
    struct pool_options o;
    int has_clock; /* times are needed: statistics or recording */
    struct park_policy park;
    struct pool_worker *worker; /* shape: [o.thread_count] */

    /* [round] coordinator only, but for worker_count, which all read */
    uint32_t worker_count; /* size of the team */
    int is_in_main, is_in_round;
    struct pace pace;
    uint32_t sample_count;            /* sequential rounds, to time one in some */
    struct place_item *item, *sorted; /* shape: [item_cap] */
    size_t item_cap;                  /* rounds of more tasks are sequential */
    double *load;                     /* shape: [o.thread_count] */
    uint64_t round_end_ns, serial_ns; /* has_clock: end of the last round; length of the gap */
    struct stats_team stats;          /* [worker, stats] */

    /* [atomic] on lines of their own */
    _Alignas(SCHED_LINE_BYTES) _Atomic uint64_t remaining; /* [atomic R1/A1] unfinished tasks */
    _Alignas(SCHED_LINE_BYTES) _Atomic uint32_t closing;   /* published by the signal's bump */
    struct barrier barrier;                                /* first and last act of the team */
};

/* worker__run - one task, here and now. @has_home: it is of a parallel round. */
void worker__run(struct pool_worker *w, struct pool_task *task, int has_home);

/* worker__work - runs tasks until none can be found anywhere. Returns how many. */
uint64_t worker__work(struct pool_worker *w);

/* worker__serve - a worker's life, until the pool closes. */
void worker__serve(struct pool_worker *w);

/* worker__finish_round - the coordinator's part of a round. */
void worker__finish_round(struct pool_worker *w);

/* worker__account - has_clock: the time since the last call goes to @counter. */
void worker__account(struct pool_worker *w, _Atomic uint64_t *counter);

#endif
