/*
 * stress_pool.c - sched/pool.c: a million rounds of tiny tasks, teams larger than the machine,
 * tasks that push tasks, workers that fall asleep between rounds.
 *
 * All that tasks and coordinator share is plain on purpose: rounds, steals and pushes are all that
 * orders it, for ThreadSanitizer too.
 * Usage: stress_pool [factor on the number of rounds]
 */
#include "pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TASKS_MAX 256
#define CHILDREN 3

struct cell {
    struct pool_task task;
    struct pool_task child_task[CHILDREN];
    uint64_t run_count, child_run_count[CHILDREN];
    int has_children;
};

struct play {
    const char *name;
    uint32_t thread_count;
    uint64_t round_count;
    uint32_t task_count_max;
    int has_children;
    uint64_t nap_interval; /* a pause after so many rounds; 0: never */
    struct cell cell[TASKS_MAX];
    struct pool_task *tasks[TASKS_MAX];
    uint64_t expected[TASKS_MAX];
    uint64_t wrong_count;
};

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 31)) * UINT64_C(0x9e3779b97f4a7c15);
    return x ^ (x >> 29);
}

static void run_child(void *arg, struct pool_worker *w)
{
    uint64_t *count = arg;

    (void)w;
    ++*count;
}

static void run_cell(void *arg, struct pool_worker *w)
{
    struct cell *c = arg;

    c->run_count++;
    for (uint32_t i = 0; c->has_children && i < CHILDREN; i++) {
        c->child_task[i] =
            (struct pool_task){run_child, &c->child_run_count[i], 1, POOL_WORKER_NONE};
        pool_push(w, &c->child_task[i]);
    }
}

static void check_cell(struct play *p, uint32_t i)
{
    const struct cell *c = &p->cell[i];

    p->wrong_count += c->run_count != p->expected[i];
    for (uint32_t k = 0; c->has_children && k < CHILDREN; k++)
        p->wrong_count += c->child_run_count[k] != p->expected[i];
}

static void nap(void)
{
    const struct timespec t = {0, 200000};

    (void)nanosleep(&t, NULL);
}

static void play_rounds(void *arg, struct pool *pool)
{
    struct play *p = arg;

    for (uint64_t round = 0; round < p->round_count; round++) {
        const uint64_t draw = mix(round + 1);
        const uint32_t most = p->task_count_max;
        const uint32_t count = most - (uint32_t)(draw % ((most + 1) / 2));
        const uint32_t first = (uint32_t)(draw >> 33) % (TASKS_MAX - count + 1);

        for (uint32_t i = first; i < first + count; i++)
            p->expected[i]++;
        pool_round(pool, &p->tasks[first], count);
        for (uint32_t i = first; i < first + count; i++)
            check_cell(p, i);
        if (p->nap_interval && round % p->nap_interval == 0)
            nap();
    }
}

static void init_cells(struct play *p)
{
    for (uint32_t i = 0; i < TASKS_MAX; i++) {
        p->cell[i].has_children = p->has_children;
        p->cell[i].task = (struct pool_task){run_cell, &p->cell[i], mix(i) % 5, POOL_WORKER_NONE};
        p->tasks[i] = &p->cell[i].task;
    }
}

static void print_stats(const struct play *p, const struct pool *pool)
{
    struct stats_worker_view sum = {0}, one;
    struct stats_team_view team;

    for (uint32_t i = 0; i < pool_worker_count(pool); i++) {
        pool_worker_stats(pool, i, &one);
        stats_worker_sum(&sum, &one);
    }
    pool_team_stats(pool, &team);
    printf("%s, %u threads: %llu rounds, %llu sequential, %llu tasks, %llu steals, %llu sleeps\n",
           p->name, p->thread_count, (unsigned long long)team.rounds,
           (unsigned long long)team.sequential_rounds, (unsigned long long)sum.tasks,
           (unsigned long long)sum.steals, (unsigned long long)sum.sleeps);
}

static int run_play(struct play *p, enum pool_policy policy, int has_times)
{
    struct pool_options o = {
        .thread_count = p->thread_count, .policy = policy, .has_times = has_times};
    struct pool *pool = NULL;

    init_cells(p);
    if (has_times && replay_create(&o.record, 100000))
        return 1;
    if (pool_create(&pool, &o)) {
        replay_destroy(o.record);
        return 1;
    }
    pool_enter(pool, play_rounds, p);
    print_stats(p, pool);
    pool_destroy(pool);
    replay_destroy(o.record);
    if (p->wrong_count)
        fprintf(stderr, "%s, %u threads: %llu tasks did not run exactly once in their round\n",
                p->name, p->thread_count, (unsigned long long)p->wrong_count);
    return p->wrong_count != 0;
}

int main(int argc, char **argv)
{
    const uint64_t factor = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    static struct play p;
    int rc = 0;

    p = (struct play){"tiny rounds", 2, factor * 1000000, 2, 0, 0, .wrong_count = 0};
    rc |= run_play(&p, POOL_PARALLEL, 0);
    p = (struct play){"adaptive", 3, factor * 100000, 8, 1, 1000, .wrong_count = 0};
    rc |= run_play(&p, POOL_ADAPTIVE, 0);
    for (uint32_t threads = 2; threads <= 8; threads += 2) {
        p = (struct play){"large rounds",  threads, factor * 3000, TASKS_MAX, 0, 0,
                          .wrong_count = 0};
        rc |= run_play(&p, POOL_PARALLEL, 0);
        p = (struct play){"children", threads, factor * 3000, 32, 1, 0, .wrong_count = 0};
        rc |= run_play(&p, POOL_PARALLEL, 0);
        p = (struct play){"naps, times", threads, factor * 1000, 64, 1, 2, .wrong_count = 0};
        rc |= run_play(&p, POOL_PARALLEL, 1);
    }
    return rc;
}
