/*
 * pool.h - a team of workers that runs rounds of tasks and steals work.
 *
 *     pool_create -> pool_enter(main) -> pool_destroy
 *         main, the coordinator, is worker 0 and calls pool_round any number of times
 *             a task may call pool_push
 *
 * A round is over when all of its tasks are, pushed ones included; pool_round returns then. A
 * worker that comes late, because the kernel has given its core to somebody else, is not waited for
 * unless it holds a task. The pool knows neither what tasks do nor what they belong to. It decides
 * where and when a task runs, and that must not matter for what the task computes.
 *
 *   who calls            pool_enter  pool_round  pool_push  pool_*_stats
 *   creator, outside         x                                  x
 *   coordinator in main                  x                      x
 *   a task                                           x
 *
 * Ordering: what the coordinator did before pool_round happens before every task of the round;
 * every task happens before the return of pool_round; pool_push happens before the task it adds.
 * Progress: pool_round blocks, pool_push is lock-free but for growth and a wake-up.
 */
#ifndef WH_POOL_H
#define WH_POOL_H

#include "replay.h"
#include "sched_err.h"
#include "stats.h"

#include <stddef.h>
#include <stdint.h>

struct pool;
struct pool_worker;

#define POOL_THREADS_MAX 1024
#define POOL_THREADS_EXPECTED "auto or a whole number from 1 to 1024"
#define POOL_WORKER_NONE UINT32_MAX

typedef void (*pool_task_fn)(void *arg, struct pool_worker *w);
typedef void (*pool_main_fn)(void *arg, struct pool *p);

/* A task. Open because callers embed it. It belongs to the pool from pool_round or pool_push until
 * @fn is called; @fn may reuse it, and push it again. */
struct pool_task {
    pool_task_fn fn;
    void *arg;
    uint64_t weight;    /* expected time in any unit that all tasks share; 0 counts as 1 */
    uint32_t worker_id; /* ran it last in a parallel round; POOL_WORKER_NONE at first */
};

enum pool_policy {
    POOL_ADAPTIVE, /* others are called only to rounds that are worth it */
    POOL_PARALLEL, /* others are called to each round of two tasks or more; for tests */
};

/* All may be NULL. on_begin and on_end run once in each worker's thread, as the first and last
 * thing it does in the team (memory arena, RCU registration). on_busy and on_quiet run in the
 * threads of all workers but 0: before the first task after a wait, and before a wait (RCU on- and
 * offline). Between on_quiet and on_busy a worker touches nothing of the caller's. */
struct pool_hooks {
    void *ctx;
    void (*on_begin)(void *ctx, uint32_t worker_id);
    void (*on_end)(void *ctx, uint32_t worker_id);
    void (*on_busy)(void *ctx, uint32_t worker_id);
    void (*on_quiet)(void *ctx, uint32_t worker_id);
};

struct pool_options {
    uint32_t thread_count; /* 1..POOL_THREADS_MAX */
    enum pool_policy policy;
    int has_times;         /* measure times for the statistics; counts are always there */
    struct replay *record; /* every round is added to it; NULL: off. Not owned */
    struct pool_hooks hooks;
};

/*
 * pool_thread_count - what the user asked for.
 * @text:  "auto" (the processors this process may use) or a decimal number
 * @count: set on success
 * Errors: SCHED_ERR_INPUT for anything but POOL_THREADS_EXPECTED.
 */
int pool_thread_count(const char *text, uint32_t *count) SCHED_MUST_CHECK;

/* pool_create - no thread is started yet. Errors: SCHED_ERR_NOMEM. */
int pool_create(struct pool **out, const struct pool_options *o) SCHED_MUST_CHECK;
void pool_destroy(struct pool *p); /* NULL is accepted */

/*
 * pool_enter - starts the team, runs @fn(@arg) as its coordinator, and ends the team.
 * The threads are those of one OpenMP region: OMP_PLACES and OMP_PROC_BIND pin them, and the team
 * may be smaller than asked for (OMP_THREAD_LIMIT); see pool_worker_count. Context: any thread, one
 * at a time.
 */
void pool_enter(struct pool *p, pool_main_fn fn, void *arg);

/*
 * pool_round - runs @tasks, and what they push, to the end.
 * @tasks: shape [count], distinct; tasks of equal weight in no particular order
 * Cannot fail: without memory for its tables a round is run by the coordinator alone.
 * Context: the coordinator, not from a task.
 */
void pool_round(struct pool *p, struct pool_task *const *tasks, size_t count);

/*
 * pool_push - adds a task to the running round.
 * It is run by this worker, last in first out, before others of the round, unless another one
 * steals it. Without memory to queue it, it is run at once. Context: from a task, with the worker
 * that runs it.
 */
void pool_push(struct pool_worker *w, struct pool_task *task);

/* pool_worker_id - 0..worker_count - 1; 0 is the coordinator. */
uint32_t pool_worker_id(const struct pool_worker *w);

/* pool_worker_count - size of the team; before pool_enter what was asked for. */
uint32_t pool_worker_count(const struct pool *p);

/* Statistics since pool_create. Context: coordinator or creator; figures of others may be late by
 * what they are just doing. */
void pool_worker_stats(const struct pool *p, uint32_t worker_id, struct stats_worker_view *out);
void pool_team_stats(const struct pool *p, struct stats_team_view *out);

/*
 * pool_measure_costs - what rounds of this team cost beyond their tasks, for replay_predict.
 * Runs some hundred rounds of empty tasks, which the statistics count and the record does not.
 * They follow one another without a gap, so nobody sleeps: waking is not in it. With one worker
 * there is nothing to measure, and all costs are 0.
 * Errors: SCHED_ERR_NOMEM; *@out is then untouched.
 * Context: the coordinator.
 */
int pool_measure_costs(struct pool *p, struct replay_costs *out) SCHED_MUST_CHECK;

#endif
