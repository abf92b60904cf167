/*
 * pool_costs.c - what rounds of a team cost beyond their tasks: see pool.h.
 *
 * Rounds of few and of many empty tasks give the fixed part and the part of each task; what calling
 * one more worker costs the coordinator is measured by itself, since only that grows with the team.
 * Medians, because a round during which the kernel took a core away is no measure of anything.
 */
#include "pool_int.h"

#include <assert.h>
#include <stdlib.h>

#define ROUND_COUNT 201
#define TASKS_PER_WORKER 64

static void do_nothing(void *arg, struct pool_worker *w)
{
    (void)arg;
    (void)w;
}

static int compare_times(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static double find_median(uint64_t *ns)
{
    qsort(ns, ROUND_COUNT, sizeof *ns, compare_times);
    return (double)ns[ROUND_COUNT / 2];
}

static double measure_rounds_ns(struct pool *p, struct pool_task *const *tasks, size_t count)
{
    uint64_t ns[ROUND_COUNT];

    for (uint32_t i = 0; i < ROUND_COUNT; i++) {
        const uint64_t start_ns = stats_now_ns();

        pool_round(p, tasks, count);
        ns[i] = stats_now_ns() - start_ns;
    }
    return find_median(ns);
}

/* A call without a reason: the worker looks round and rests again. */
static double measure_call_ns(struct pool *p)
{
    uint64_t ns[ROUND_COUNT];

    for (uint32_t i = 0; i < ROUND_COUNT; i++) {
        const uint32_t id = 1 + i % (p->worker_count - 1);
        const uint64_t start_ns = stats_now_ns();

        (void)park_bump(&p->worker[id].signal);
        ns[i] = stats_now_ns() - start_ns;
    }
    return find_median(ns);
}

static void measure_all(struct pool *p, struct pool_task *task, struct pool_task **tasks,
                        struct replay_costs *out)
{
    const uint32_t workers = p->worker_count;
    const size_t many = (size_t)workers * TASKS_PER_WORKER;
    double few_ns, many_ns, call_ns;

    for (size_t i = 0; i < many; i++) {
        task[i] = (struct pool_task){do_nothing, NULL, 1, POOL_WORKER_NONE};
        tasks[i] = &task[i];
    }
    few_ns = measure_rounds_ns(p, tasks, workers);
    many_ns = measure_rounds_ns(p, tasks, many);
    call_ns = measure_call_ns(p);
    out->task_ns = many_ns > few_ns ? (many_ns - few_ns) / (TASKS_PER_WORKER - 1) : 0;
    out->worker_ns = call_ns < few_ns / workers ? call_ns : few_ns / workers;
    out->round_ns = few_ns - out->worker_ns * (workers - 1);
}

int pool_measure_costs(struct pool *p, struct replay_costs *out)
{
    const size_t many = (size_t)p->worker_count * TASKS_PER_WORKER;
    const enum pool_policy policy = p->o.policy;
    const struct pace pace = p->pace;
    struct replay *const record = p->o.record;
    struct pool_task *task = malloc(many * sizeof *task);
    struct pool_task **tasks = malloc(many * sizeof *tasks);
    int rc = task && tasks ? 0 : SCHED_ERR_NOMEM;

    assert(p->is_in_main && !p->is_in_round);
    if (!rc && p->worker_count > 1) {
        p->o.policy = POOL_PARALLEL;
        p->o.record = NULL;
        measure_all(p, task, tasks, out);
        p->o.policy = policy;
        p->o.record = record;
        p->pace = pace; /* empty tasks say nothing about others */
    } else if (!rc) {
        *out = (struct replay_costs){0, 0, 0};
    }
    free(task);
    free(tasks);
    return rc;
}
