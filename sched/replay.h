/*
 * replay.h - how long would recorded rounds take on another number of workers?
 *
 * Holds what a run did, round by round: the time of each task, its weight as known beforehand, and
 * what the coordinator did alone before the round. A prediction places the tasks again by the
 * pool's own rules: sequential if that is faster, else list scheduling, heavy first by weight, each
 * task to the worker that is free first (which is what placing and stealing together amount to),
 * plus the measured price of a round. It says where the time goes that keeps the speed-up below the
 * number of workers. It does not know what cores take from one another (memory bandwidth, shared
 * cache, frequency): it is an upper bound where that matters.
 *
 * Threading: one thread at a time; the pool records between rounds.
 */
#ifndef WH_REPLAY_H
#define WH_REPLAY_H

#include "sched_err.h"

#include <stdint.h>

struct replay;

/* What a round costs beyond its tasks. */
struct replay_costs {
    double round_ns;  /* a parallel round, whoever takes part */
    double worker_ns; /* more for each worker besides the coordinator */
    double task_ns;   /* each task of a parallel round: pushed and taken */
};

/* total = serial + sequential + ideal + imbalance + overhead. */
struct replay_prediction {
    double total_ns;
    double serial_ns;     /* the coordinator, between rounds */
    double sequential_ns; /* rounds that do not pay on several workers */
    double ideal_ns;      /* tasks of parallel rounds, divided by the number of workers */
    double imbalance_ns;  /* parallel rounds: until the last worker is done, beyond the ideal */
    double overhead_ns;   /* parallel rounds: @costs */
    double speedup;       /* total on one worker / total */
    uint64_t round_count, parallel_round_count;
};

/*
 * replay_create - empty.
 * @task_count_max: recording stops silently before the round that would exceed it (16 bytes each)
 * Errors: SCHED_ERR_NOMEM.
 */
int replay_create(struct replay **out, uint64_t task_count_max) SCHED_MUST_CHECK;
void replay_destroy(struct replay *r); /* NULL is accepted */

/*
 * replay_begin_round, replay_add_task, replay_end_round - one round.
 * @serial_ns: since the end of the round before
 * A round that could not be held as a whole is dropped, and all later ones; see replay_is_full.
 */
void replay_begin_round(struct replay *r, uint64_t serial_ns);
void replay_add_task(struct replay *r, uint64_t weight, uint64_t ns);
void replay_end_round(struct replay *r);

/* replay_stop - drops the open round and all later ones, as if there were no room for them. */
void replay_stop(struct replay *r);

/* replay_is_full - 1 once a round was dropped: predictions cover the time before. */
int replay_is_full(const struct replay *r);

uint64_t replay_round_count(const struct replay *r);
uint64_t replay_task_count(const struct replay *r);

/*
 * replay_predict - the recorded rounds on @worker_count workers, >= 1.
 * Errors: SCHED_ERR_NOMEM; *@out is then untouched.
 */
int replay_predict(const struct replay *r, uint32_t worker_count, const struct replay_costs *costs,
                   struct replay_prediction *out) SCHED_MUST_CHECK;

#endif
