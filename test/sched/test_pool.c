/*
 * test_pool.c - sched/pool.c: every task once, whatever the team; results that depend on nothing
 * but the tasks; pushed tasks, hooks, statistics, recording.
 */
#include "err.h"
#include "pool.h"

#include <criterion/criterion.h>
#include <string.h>

#define TASKS_MAX 5000
#define THREADS_MAX 8

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 31)) * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 29)) * UINT64_C(0xbf58476d1ce4e5b9);
    return x ^ (x >> 32);
}

static void run_pool(const struct pool_options *o, pool_main_fn fn, void *arg)
{
    struct pool *p = NULL;

    cr_assert_eq(pool_create(&p, o), 0);
    cr_assert_eq(pool_worker_count(p), o->thread_count);
    pool_enter(p, fn, arg);
    pool_destroy(p);
}

/* ---- tasks that write a function of their index ---- */

struct board {
    uint64_t value[TASKS_MAX]; /* plain: each written by one task of a round */
    uint32_t runs[TASKS_MAX];
    struct cell {
        struct board *board;
        uint32_t index;
        struct pool_task task;
    } cell[TASKS_MAX];
    struct pool_task *tasks[TASKS_MAX];
    uint32_t round_count;
    uint64_t digest;
};

static void run_cell(void *arg, struct pool_worker *w)
{
    struct cell *c = arg;
    uint64_t x = c->board->value[c->index] + c->index;

    (void)w;
    for (uint64_t i = 0; i < 10 + x % 100; i++)
        x = mix(x);
    c->board->value[c->index] = x;
    c->board->runs[c->index]++;
}

static void init_board(struct board *b, uint32_t round_count)
{
    memset(b, 0, sizeof *b);
    b->round_count = round_count;
    for (uint32_t i = 0; i < TASKS_MAX; i++) {
        b->cell[i].board = b;
        b->cell[i].index = i;
        b->cell[i].task = (struct pool_task){run_cell, &b->cell[i], mix(i) % 9, POOL_WORKER_NONE};
        b->tasks[i] = &b->cell[i].task;
    }
}

/* Rounds of a random number of tasks, some of them heavy; what a round computes goes into the next.
 */
static void play_random_rounds(void *arg, struct pool *p)
{
    struct board *b = arg;

    for (uint32_t round = 0; round < b->round_count; round++) {
        const uint64_t draw = mix(round + 1);
        const uint32_t count = (uint32_t)(draw % (round % 10 ? 20 : 500));
        const uint32_t first = (uint32_t)(draw >> 40) % 1000;

        pool_round(p, &b->tasks[first], count);
        for (uint32_t i = first; i < first + count; i++)
            b->digest = mix(b->digest + b->value[i]);
    }
}

static uint64_t digest_of(uint32_t threads, enum pool_policy policy)
{
    static struct board b;
    const struct pool_options o = {.thread_count = threads, .policy = policy};

    init_board(&b, 200);
    run_pool(&o, play_random_rounds, &b);
    return b.digest;
}

Test(pool, results_are_the_same_for_any_team)
{
    const uint64_t expected = digest_of(1, POOL_ADAPTIVE);

    cr_assert_neq(expected, 0);
    for (uint32_t threads = 1; threads <= THREADS_MAX; threads++) {
        cr_assert_eq(digest_of(threads, POOL_PARALLEL), expected, "%u threads", threads);
        cr_assert_eq(digest_of(threads, POOL_ADAPTIVE), expected, "%u threads", threads);
    }
}

static void play_one_large_round(void *arg, struct pool *p)
{
    struct board *b = arg;

    pool_round(p, b->tasks, TASKS_MAX);
}

Test(pool, every_task_runs_once)
{
    static struct board b;

    for (uint32_t threads = 1; threads <= THREADS_MAX; threads++) {
        const struct pool_options o = {.thread_count = threads, .policy = POOL_PARALLEL};

        init_board(&b, 1);
        run_pool(&o, play_one_large_round, &b);
        for (uint32_t i = 0; i < TASKS_MAX; i++) {
            cr_assert_eq(b.runs[i], 1, "task %u, %u threads", i, threads);
            cr_assert(threads == 1 || b.cell[i].task.worker_id < threads);
        }
    }
}

static void play_nothing(void *arg, struct pool *p)
{
    pool_round(p, NULL, 0);
    ++*(int *)arg;
}

Test(pool, a_pool_can_be_entered_again_and_do_nothing)
{
    const struct pool_options o = {.thread_count = 3};
    struct pool *p = NULL;
    int count = 0;

    cr_assert_eq(pool_create(&p, &o), 0);
    for (int i = 0; i < 10; i++)
        pool_enter(p, play_nothing, &count);
    cr_assert_eq(count, 10);
    pool_destroy(p);
}

Test(pool, a_pool_that_was_never_entered_can_go)
{
    const struct pool_options o = {.thread_count = 5};
    struct pool *p = NULL;

    cr_assert_eq(pool_create(&p, &o), 0);
    pool_destroy(p);
    pool_destroy(NULL);
}

/* ---- pushed tasks: a binary tree, each leaf writes its place ---- */

#define DEPTH 12
#define NODES (1u << DEPTH)

struct tree {
    struct node {
        struct tree *tree;
        uint32_t id; /* children 2 id and 2 id + 1 */
        struct pool_task task;
        uint32_t runs;
    } node[NODES];
};

static void run_node(void *arg, struct pool_worker *w)
{
    struct node *n = arg;

    n->runs++;
    for (uint32_t child = 2 * n->id; child <= 2 * n->id + 1 && child < NODES; child++) {
        struct node *c = &n->tree->node[child];

        c->task = (struct pool_task){run_node, c, 1, POOL_WORKER_NONE};
        pool_push(w, &c->task);
    }
}

static void play_tree(void *arg, struct pool *p)
{
    struct tree *t = arg;
    struct pool_task *root = &t->node[1].task;

    *root = (struct pool_task){run_node, &t->node[1], 1, POOL_WORKER_NONE};
    pool_round(p, &root, 1);
    for (uint32_t i = 1; i < NODES; i++)
        cr_assert_eq(t->node[i].runs, 1, "the round was over before node %u", i);
}

Test(pool, pushed_tasks_belong_to_the_round)
{
    static struct tree t;

    for (uint32_t threads = 1; threads <= 4; threads++) {
        const struct pool_options o = {.thread_count = threads};

        for (uint32_t i = 0; i < NODES; i++)
            t.node[i] = (struct node){.tree = &t, .id = i};
        run_pool(&o, play_tree, &t);
    }
}

struct chain {
    struct pool_task task;
    uint32_t left;
};

static void run_chain(void *arg, struct pool_worker *w)
{
    struct chain *c = arg;

    if (--c->left)
        pool_push(w, &c->task);
}

static void play_chains(void *arg, struct pool *p)
{
    struct chain *c = arg;
    struct pool_task *tasks[3];

    for (uint32_t i = 0; i < 3; i++)
        tasks[i] = &c[i].task;
    pool_round(p, tasks, 3);
}

Test(pool, a_task_may_push_itself)
{
    const struct pool_options o = {.thread_count = 3, .policy = POOL_PARALLEL};
    struct chain c[3];

    for (uint32_t i = 0; i < 3; i++)
        c[i] = (struct chain){{run_chain, &c[i], 1, POOL_WORKER_NONE}, 1000 + i};
    run_pool(&o, play_chains, c);
    for (uint32_t i = 0; i < 3; i++)
        cr_assert_eq(c[i].left, 0);
}

/* ---- a team that is smaller than asked for ---- */

static void enter_inside(void *arg, struct pool_worker *w)
{
    const struct pool_options o = {.thread_count = 4, .policy = POOL_PARALLEL};

    (void)w;
    run_pool(&o, play_random_rounds, arg);
}

static void play_nested(void *arg, struct pool *p)
{
    struct pool_task task = {enter_inside, arg, 1, POOL_WORKER_NONE};
    struct pool_task *tasks = &task;

    pool_round(p, &tasks, 1);
}

/* OpenMP gives a region inside another one a team of one. */
Test(pool, a_smaller_team_than_asked_for_gives_the_same_results)
{
    static struct board b;
    const struct pool_options o = {.thread_count = 2};

    init_board(&b, 200);
    run_pool(&o, play_nested, &b);
    cr_assert_eq(b.digest, digest_of(1, POOL_ADAPTIVE));
}

/* ---- hooks ---- */

struct hook_log {
    uint32_t begin[THREADS_MAX], end[THREADS_MAX], busy[THREADS_MAX], quiet[THREADS_MAX];
    struct board *board;
    int is_wrong;
};

static void on_begin(void *ctx, uint32_t id)
{
    struct hook_log *l = ctx;

    l->begin[id]++;
}

static void on_end(void *ctx, uint32_t id)
{
    struct hook_log *l = ctx;

    l->end[id]++;
}

static void on_busy(void *ctx, uint32_t id)
{
    struct hook_log *l = ctx;

    l->is_wrong |= l->busy[id] != l->quiet[id];
    l->busy[id]++;
}

static void on_quiet(void *ctx, uint32_t id)
{
    struct hook_log *l = ctx;

    l->quiet[id]++;
}

static void play_hooks(void *arg, struct pool *p)
{
    struct hook_log *l = arg;

    for (uint32_t i = 0; i < THREADS_MAX; i++)
        cr_assert_eq(l->begin[i], 1, "the team is complete when main starts");
    play_random_rounds(l->board, p);
}

Test(pool, hooks_come_in_pairs)
{
    static struct board b;
    struct hook_log l = {.board = &b};
    const struct pool_options o = {
        .thread_count = THREADS_MAX,
        .policy = POOL_PARALLEL,
        .hooks = {&l, on_begin, on_end, on_busy, on_quiet},
    };

    init_board(&b, 200);
    run_pool(&o, play_hooks, &l);
    cr_assert_eq(l.is_wrong, 0);
    for (uint32_t i = 0; i < THREADS_MAX; i++) {
        cr_assert_eq(l.begin[i], 1);
        cr_assert_eq(l.end[i], 1);
        cr_assert_eq(l.busy[i], l.quiet[i]);
    }
    cr_assert_eq(l.busy[0], 0, "the coordinator knows by itself");
}

/* ---- statistics, recording, costs ---- */

static struct stats_worker_view sum_stats(const struct pool *p)
{
    struct stats_worker_view sum = {0}, one;

    for (uint32_t i = 0; i < pool_worker_count(p); i++) {
        pool_worker_stats(p, i, &one);
        stats_worker_sum(&sum, &one);
    }
    return sum;
}

Test(pool, statistics_count_tasks_and_rounds)
{
    static struct board b;
    const struct pool_options o = {.thread_count = 4, .policy = POOL_PARALLEL, .has_times = 1};
    struct stats_worker_view sum;
    struct stats_team_view team;
    struct pool *p = NULL;
    uint64_t runs = 0, start_ns;

    init_board(&b, 200);
    cr_assert_eq(pool_create(&p, &o), 0);
    start_ns = stats_now_ns();
    pool_enter(p, play_random_rounds, &b);
    start_ns = stats_now_ns() - start_ns;
    for (uint32_t i = 0; i < TASKS_MAX; i++)
        runs += b.runs[i];
    sum = sum_stats(p);
    pool_team_stats(p, &team);
    cr_assert_eq(sum.tasks, runs);
    cr_assert_leq(sum.steals, sum.tasks);
    cr_assert_gt(sum.busy_ns, 0);
    cr_assert_leq(sum.busy_ns + sum.idle_ns + sum.barrier_ns, 4 * start_ns);
    cr_assert_leq(team.serial_ns + team.round_ns + team.sequential_ns, start_ns);
    cr_assert(team.rounds > 150 && team.rounds <= 200, "rounds of no task are none");
    cr_assert_lt(team.sequential_rounds, team.rounds / 2);
    pool_destroy(p);
}

static void play_single_tasks(void *arg, struct pool *p)
{
    struct board *b = arg;

    for (uint32_t i = 0; i < 1000; i++)
        pool_round(p, &b->tasks[i], 1);
}

Test(pool, a_single_task_wakes_nobody)
{
    static struct board b;
    const struct pool_options o = {.thread_count = 4, .policy = POOL_PARALLEL};
    struct stats_worker_view other;
    struct stats_team_view team;
    struct pool *p = NULL;

    init_board(&b, 1);
    cr_assert_eq(pool_create(&p, &o), 0);
    pool_enter(p, play_single_tasks, &b);
    pool_team_stats(p, &team);
    cr_assert_eq(team.sequential_rounds, 1000);
    cr_assert_eq(team.wakes, 0);
    for (uint32_t i = 1; i < 4; i++) {
        pool_worker_stats(p, i, &other);
        cr_assert_eq(other.tasks, 0);
    }
    pool_destroy(p);
}

static void play_tiny_rounds(void *arg, struct pool *p)
{
    struct board *b = arg;

    for (uint32_t i = 0; i < 20000; i++)
        pool_round(p, b->tasks, 2); /* some hundred nanoseconds in all */
}

Test(pool, tiny_rounds_are_left_to_one_worker)
{
    static struct board b;
    const struct pool_options o = {.thread_count = 2};
    struct stats_team_view team;
    struct pool *p = NULL;

    init_board(&b, 1);
    cr_assert_eq(pool_create(&p, &o), 0);
    pool_enter(p, play_tiny_rounds, &b);
    pool_team_stats(p, &team);
    cr_assert_gt(team.sequential_rounds, 19000);
    pool_destroy(p);
}

Test(pool, a_record_holds_every_round_and_task)
{
    static struct board b;

    for (uint32_t threads = 1; threads <= 4; threads++) {
        struct pool_options o = {.thread_count = threads, .policy = POOL_PARALLEL};
        const struct replay_costs nothing = {0, 0, 0};
        struct replay_prediction one = {0}, four = {0};
        struct stats_worker_view sum;
        struct stats_team_view team;
        struct pool *p = NULL;

        init_board(&b, 200);
        cr_assert_eq(replay_create(&o.record, 1000000), 0);
        cr_assert_eq(pool_create(&p, &o), 0);
        pool_enter(p, play_random_rounds, &b);
        pool_team_stats(p, &team);
        sum = sum_stats(p);
        cr_assert_eq(replay_round_count(o.record), team.rounds);
        cr_assert_eq(replay_task_count(o.record), sum.tasks);
        cr_assert_eq(replay_predict(o.record, 1, &nothing, &one), 0);
        cr_assert_eq(replay_predict(o.record, 4, &nothing, &four), 0);
        cr_assert_float_eq(one.total_ns, (double)(sum.busy_ns + team.serial_ns), 1);
        cr_assert(four.speedup > 1 && four.speedup <= 4);
        pool_destroy(p);
        replay_destroy(o.record);
    }
}

static void play_costs(void *arg, struct pool *p)
{
    cr_assert_eq(pool_measure_costs(p, arg), 0);
}

Test(pool, costs_of_a_round_can_be_measured)
{
    const struct pool_options one = {.thread_count = 1}, three = {.thread_count = 3};
    struct replay_costs costs = {-1, -1, -1};

    run_pool(&one, play_costs, &costs);
    cr_assert(costs.round_ns >= 0 && costs.round_ns <= 0 && costs.task_ns <= 0);
    run_pool(&three, play_costs, &costs);
    cr_assert_gt(costs.round_ns, 0);
    cr_assert_lt(costs.round_ns, 1e8);
    cr_assert_gt(costs.worker_ns, 0);
    cr_assert_geq(costs.task_ns, 0);
}

/* ---- options ---- */

Test(pool, thread_counts_are_read_strictly)
{
    static const char *const bad[] = {"",     "0",  "1025", "-1",  "+2",  "2 ",
                                      " 2",   "2x", "AUTO", "0x2", "1.5", "99999999999999999999",
                                      "auto "};
    uint32_t count = 77;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        cr_assert_eq(pool_thread_count(bad[i], &count), SCHED_ERR_INPUT, "'%s'", bad[i]);
        cr_assert_eq(count, 77);
    }
    cr_assert_eq(pool_thread_count("1", &count), 0);
    cr_assert_eq(count, 1);
    cr_assert_eq(pool_thread_count("1024", &count), 0);
    cr_assert_eq(count, POOL_THREADS_MAX);
    cr_assert_eq(pool_thread_count("auto", &count), 0);
    cr_assert(count >= 1 && count <= POOL_THREADS_MAX);
}

Test(pool, error_codes_are_those_of_the_rest)
{
    cr_assert_eq((int)SCHED_ERR_INPUT, (int)WH_ERR_INPUT);
    cr_assert_eq((int)SCHED_ERR_NOMEM, (int)WH_ERR_NOMEM);
}
