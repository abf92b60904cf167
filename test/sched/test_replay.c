/*
 * test_replay.c - sched/replay.c against cases worked out by hand.
 */
#include "replay.h"

#include <criterion/criterion.h>

#define NEAR 1e-6

static const struct replay_costs nothing = {0, 0, 0};

static struct replay *create(void)
{
    struct replay *r = NULL;

    cr_assert_eq(replay_create(&r, 1000), 0);
    return r;
}

static void add_round(struct replay *r, uint64_t serial_ns, const uint64_t *weight,
                      const uint64_t *ns, uint32_t count)
{
    replay_begin_round(r, serial_ns);
    for (uint32_t i = 0; i < count; i++)
        replay_add_task(r, weight[i], ns[i]);
    replay_end_round(r);
}

static struct replay_prediction predict(const struct replay *r, uint32_t worker_count,
                                        const struct replay_costs *costs)
{
    struct replay_prediction p = {0};

    cr_assert_eq(replay_predict(r, worker_count, costs, &p), 0);
    cr_assert_float_eq(p.total_ns,
                       p.serial_ns + p.sequential_ns + p.ideal_ns + p.imbalance_ns + p.overhead_ns,
                       NEAR);
    return p;
}

/* 6 + 3 and 5 + 4: a perfect split of 18, after 10 alone. */
static const uint64_t even_ns[] = {3, 6, 4, 5};

Test(replay, nothing_recorded_takes_no_time)
{
    struct replay *r = create();
    const struct replay_prediction p = predict(r, 4, &nothing);

    cr_assert_float_eq(p.total_ns, 0, NEAR);
    cr_assert_float_eq(p.speedup, 1, NEAR);
    replay_destroy(r);
}

Test(replay, one_worker_does_everything_in_turn)
{
    const struct replay_costs costs = {100, 100, 100};
    struct replay *r = create();
    struct replay_prediction p;

    add_round(r, 10, even_ns, even_ns, 4);
    p = predict(r, 1, &costs);
    cr_assert_float_eq(p.total_ns, 28, NEAR);
    cr_assert_float_eq(p.sequential_ns, 18, NEAR);
    cr_assert_float_eq(p.speedup, 1, NEAR);
    replay_destroy(r);
}

Test(replay, heavy_first_balances)
{
    struct replay *r = create();
    struct replay_prediction p;

    add_round(r, 10, even_ns, even_ns, 4);
    p = predict(r, 2, &nothing);
    cr_assert_float_eq(p.total_ns, 10 + 9, NEAR);
    cr_assert_float_eq(p.imbalance_ns, 0, NEAR);
    cr_assert_float_eq(p.speedup, 28.0 / 19, NEAR);
    cr_assert_eq(p.parallel_round_count, 1);
    p = predict(r, 3, &nothing); /* 6, 5, 4 + 3 */
    cr_assert_float_eq(p.total_ns, 10 + 7, NEAR);
    cr_assert_float_eq(p.imbalance_ns, 1, NEAR);
    replay_destroy(r);
}

Test(replay, order_follows_the_weights_and_not_the_times)
{
    const uint64_t wrong[] = {6, 3, 5, 4}; /* so the order is 3, 4, 5, 6 */
    struct replay *r = create();

    add_round(r, 0, wrong, even_ns, 4);
    cr_assert_float_eq(predict(r, 2, &nothing).total_ns, 4 + 6, NEAR);
    replay_destroy(r);
}

Test(replay, costs_are_added_to_parallel_rounds)
{
    const struct replay_costs costs = {1, 2, 0.5};
    struct replay *r = create();
    struct replay_prediction p;

    add_round(r, 10, even_ns, even_ns, 4);
    p = predict(r, 2, &costs);
    /* 1 + 2 * 1, and half of one for each of two tasks on each worker */
    cr_assert_float_eq(p.overhead_ns, 4, NEAR);
    cr_assert_float_eq(p.total_ns, 10 + 9 + 4, NEAR);
    p = predict(r, 3, &costs);
    /* 1 + 2 * 2 + longest (4 + 3 + 2 halves) = 13 */
    cr_assert_float_eq(p.total_ns, 10 + 13, NEAR);
    replay_destroy(r);
}

Test(replay, a_round_that_does_not_pay_is_sequential)
{
    const struct replay_costs costs = {9, 0, 0};
    struct replay *r = create();
    struct replay_prediction p;

    add_round(r, 10, even_ns, even_ns, 4);
    p = predict(r, 2, &costs); /* 9 + 9 is no better than 18 */
    cr_assert_eq(p.parallel_round_count, 0);
    cr_assert_float_eq(p.sequential_ns, 18, NEAR);
    cr_assert_float_eq(p.speedup, 1, NEAR);
    p = predict(r, 3, &costs); /* 9 + 7 is */
    cr_assert_eq(p.parallel_round_count, 1);
    replay_destroy(r);
}

Test(replay, one_giant_task_bounds_the_round)
{
    const uint64_t ns[] = {1, 100, 1};
    struct replay *r = create();
    struct replay_prediction p;

    add_round(r, 0, ns, ns, 3);
    p = predict(r, 4, &nothing);
    cr_assert_float_eq(p.total_ns, 100, NEAR);
    cr_assert_float_eq(p.ideal_ns, 25.5, NEAR);
    cr_assert_float_eq(p.imbalance_ns, 74.5, NEAR);
    cr_assert_float_eq(predict(r, 64, &nothing).total_ns, 100, NEAR);
    replay_destroy(r);
}

Test(replay, rounds_add_up)
{
    const uint64_t one_ns[] = {50};
    struct replay *r = create();
    struct replay_prediction p;

    add_round(r, 10, even_ns, even_ns, 4);
    add_round(r, 7, one_ns, one_ns, 1);
    add_round(r, 3, even_ns, even_ns, 4);
    p = predict(r, 2, &nothing);
    cr_assert_float_eq(p.total_ns, 20 + 9 + 50 + 9, NEAR);
    cr_assert_float_eq(p.serial_ns, 20, NEAR);
    cr_assert_float_eq(p.sequential_ns, 50, NEAR);
    cr_assert_eq(p.round_count, 3);
    cr_assert_eq(p.parallel_round_count, 2);
    cr_assert_float_eq(p.speedup, 106.0 / 88, NEAR);
    replay_destroy(r);
}

/* Many equal tasks: as fast as the fullest worker allows. */
Test(replay, equal_tasks_scale_by_whole_shares)
{
    struct replay *r = create();

    replay_begin_round(r, 0);
    for (int i = 0; i < 64; i++)
        replay_add_task(r, 1, 1000);
    replay_end_round(r);
    for (uint32_t workers = 1; workers <= 80; workers++)
        cr_assert_float_eq(predict(r, workers, &nothing).total_ns,
                           1000.0 * ((64 + workers - 1) / workers), NEAR);
    replay_destroy(r);
}

Test(replay, more_workers_are_never_slower_without_costs)
{
    struct replay *r = create();
    double before = 1e18;

    for (int round = 0; round < 20; round++) {
        replay_begin_round(r, 5);
        for (int i = 0; i <= round; i++)
            replay_add_task(r, 1, 1000); /* equal: no order is better than another */
        replay_end_round(r);
    }
    for (uint32_t workers = 1; workers <= 64; workers++) {
        const struct replay_prediction p = predict(r, workers, &nothing);

        cr_assert_leq(p.total_ns, before + NEAR);
        cr_assert_leq(p.speedup, workers + NEAR);
        before = p.total_ns;
    }
    replay_destroy(r);
}

Test(replay, a_round_beyond_the_limit_is_dropped_whole)
{
    struct replay *r = NULL;

    cr_assert_eq(replay_create(&r, 6), 0);
    add_round(r, 10, even_ns, even_ns, 4);
    cr_assert_eq(replay_is_full(r), 0);
    add_round(r, 10, even_ns, even_ns, 4);
    cr_assert_eq(replay_is_full(r), 1);
    add_round(r, 10, even_ns, even_ns, 1);
    cr_assert_eq(replay_round_count(r), 1);
    cr_assert_eq(replay_task_count(r), 4);
    cr_assert_float_eq(predict(r, 1, &nothing).total_ns, 28, NEAR);
    replay_destroy(r);
}

Test(replay, stopping_drops_the_open_round_only)
{
    struct replay *r = create();

    add_round(r, 10, even_ns, even_ns, 4);
    replay_begin_round(r, 10);
    replay_add_task(r, 1, 1);
    replay_stop(r);
    replay_end_round(r);
    cr_assert_eq(replay_is_full(r), 1);
    cr_assert_eq(replay_round_count(r), 1);
    cr_assert_eq(replay_task_count(r), 4);
    replay_destroy(r);
}
