/*
 * bench_sched.c - sched/pool.c: what a round costs, and what two threads gain, wall time.
 *
 * "empty": rounds of tasks that do nothing. With "parallel" all workers are called to each round,
 * "adaptive" lets the pool choose; "asleep" leaves a gap before each round in which the workers
 * fall asleep. "work": rounds of 16 tasks, unequal by up to two, that take the named time on one
 * thread; each thread count runs in turn, and speedup is the median of one thread over that of the
 * row. "busy": the same while another process, pinned to the last processor, never stops computing.
 */
#define _GNU_SOURCE /* sched_setaffinity */

#include "measure.h"
#include "pool.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define TASKS_MAX 4096
#define REPETITIONS_MAX 1000
#define GAP_NS 200000
#define WORK_TASKS 16

struct load {
    struct pool_task task[TASKS_MAX];
    struct pool_task *tasks[TASKS_MAX];
    uint64_t steps[TASKS_MAX]; /* of burn() */
    size_t task_count;
    uint32_t round_count;
    uint64_t gap_ns;
    double ns_per_round; /* out: without the gaps */
};

/* A chain of dependent multiplications, which no compiler shortens. */
static uint64_t burn(uint64_t steps)
{
    uint64_t x = steps;

    for (uint64_t i = 0; i < steps; i++) {
        x = x * UINT64_C(6364136223846793005) + 1442695040888963407u;
        __asm__ volatile("" : "+r"(x));
    }
    return x;
}

static double measure_steps_per_ns(void)
{
    const uint64_t steps = 20000000;
    const uint64_t start_ns = stats_now_ns();

    (void)burn(steps);
    return (double)steps / (double)(stats_now_ns() - start_ns);
}

static void run_task(void *arg, struct pool_worker *w)
{
    const uint64_t *steps = arg;

    (void)w;
    (void)burn(*steps);
}

static void wait_ns(uint64_t ns)
{
    const uint64_t start_ns = stats_now_ns();

    while (stats_now_ns() - start_ns < ns)
        ;
}

static void run_rounds(void *arg, struct pool *p)
{
    struct load *l = arg;
    uint64_t ns = 0;

    for (uint32_t i = 0; i < l->round_count / 8 + 1; i++) /* learns and warms up */
        pool_round(p, l->tasks, l->task_count);
    for (uint32_t i = 0; i < l->round_count; i++) {
        uint64_t start_ns;

        if (l->gap_ns)
            wait_ns(l->gap_ns);
        start_ns = stats_now_ns();
        pool_round(p, l->tasks, l->task_count);
        ns += stats_now_ns() - start_ns;
    }
    l->ns_per_round = (double)ns / l->round_count;
}

static double measure_load_ns(struct load *l, uint32_t thread_count, enum pool_policy policy)
{
    const struct pool_options o = {.thread_count = thread_count, .policy = policy};
    struct pool *p = NULL;

    for (size_t i = 0; i < l->task_count; i++) {
        l->task[i] = (struct pool_task){run_task, &l->steps[i], l->steps[i], POOL_WORKER_NONE};
        l->tasks[i] = &l->task[i];
    }
    check(!pool_create(&p, &o), "no pool of %u threads", thread_count);
    pool_enter(p, run_rounds, l);
    pool_destroy(p);
    return l->ns_per_round;
}

/* A process that computes on the last processor until it is killed. */
static pid_t start_busy(void)
{
    const pid_t pid = fork();
    cpu_set_t set;

    check(pid >= 0, "no second process");
    if (pid)
        return pid;
    CPU_ZERO(&set);
    CPU_SET((size_t)sysconf(_SC_NPROCESSORS_ONLN) - 1, &set);
    /* Ends with its parent, however that ends. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) || sched_setaffinity(0, sizeof set, &set))
        _exit(1);
    for (;;)
        (void)burn(1000000);
}

static void stop_busy(pid_t pid)
{
    if (pid) {
        (void)kill(pid, SIGKILL);
        (void)waitpid(pid, NULL, 0);
    }
}

static void report_one(struct report *r, const char *name, uint32_t threads, double *ns, double one)
{
    const struct spread s = measure_spread(ns, r->o->repetitions);

    report_text(r, "name", name);
    report_number(r, "threads", threads);
    report_spread(r, "round_ns", "round_min", "round_max", &s);
    report_number(r, "speedup", one / s.median);
    report_row(r);
}

/* One thread and two, in turn. */
static void measure_pair(struct report *r, const char *name, struct load *l,
                         enum pool_policy policy, int is_busy)
{
    const uint32_t reps = r->o->repetitions;
    double one_ns[REPETITIONS_MAX], two_ns[REPETITIONS_MAX];
    pid_t busy;

    if (!measure_is_wanted(r->o, name))
        return;
    busy = is_busy ? start_busy() : 0;
    for (uint32_t i = 0; i < reps; i++) {
        one_ns[i] = measure_load_ns(l, 1, policy);
        two_ns[i] = measure_load_ns(l, 2, policy);
    }
    stop_busy(busy);
    report_one(r, name, 1, one_ns, measure_spread(one_ns, reps).median);
    report_one(r, name, 2, two_ns, measure_spread(one_ns, reps).median);
}

static void measure_empty(struct report *r, struct load *l, size_t task_count)
{
    char name[64];

    *l = (struct load){.task_count = task_count};
    l->round_count = r->o->quick ? 2000 : (uint32_t)(4000000 / (task_count + 10));
    snprintf(name, sizeof name, "empty-adaptive-%zu", task_count);
    measure_pair(r, name, l, POOL_ADAPTIVE, 0);
    snprintf(name, sizeof name, "empty-parallel-%zu", task_count);
    measure_pair(r, name, l, POOL_PARALLEL, 0);
    l->gap_ns = GAP_NS;
    l->round_count = r->o->quick ? 200 : 2000;
    snprintf(name, sizeof name, "empty-asleep-%zu", task_count);
    measure_pair(r, name, l, POOL_PARALLEL, 0);
}

static void measure_work(struct report *r, struct load *l, uint64_t round_us, int is_busy)
{
    const double steps = (double)round_us * 1000 / WORK_TASKS * measure_steps_per_ns();
    const uint64_t run_us = r->o->quick ? 50000 : 1000000;
    char name[64];

    *l = (struct load){.task_count = WORK_TASKS};
    l->round_count = (uint32_t)(run_us / round_us) + 1;
    for (uint32_t i = 0; i < WORK_TASKS; i++)
        l->steps[i] = (uint64_t)(steps * (2.0 / 3 + 2.0 / 3 * i / (WORK_TASKS - 1)));
    snprintf(name, sizeof name, "work-%uus%s", (unsigned)round_us, is_busy ? "-busy" : "");
    measure_pair(r, name, l, POOL_ADAPTIVE, is_busy);
}

int main(int argc, char **argv)
{
    static const uint64_t round_us[] = {2, 5, 10, 30, 100, 1000, 10000, 100000};
    static struct load l;
    struct measure_options o;
    struct report r;

    if (measure_parse(&o, &argc, argv))
        return 2;
    if (argc > 1)
        return measure_unknown(argv[1], "bench_sched");
    report_begin(&r, "sched", &o);
    measure_empty(&r, &l, 1);
    measure_empty(&r, &l, 2);
    measure_empty(&r, &l, 64);
    measure_empty(&r, &l, TASKS_MAX);
    for (int is_busy = 0; is_busy <= 1; is_busy++)
        for (size_t i = 0; i < sizeof round_us / sizeof *round_us; i++)
            measure_work(&r, &l, round_us[i], is_busy);
    report_end(&r);
    return 0;
}
