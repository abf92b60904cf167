/*
 * test_pace.c - sched/pace.c: which rounds are worth waking others.
 */
#include "pace.h"

#include <criterion/criterion.h>

static const struct place_load sixteen = {16, 1}; /* tasks of weight 1 */

/* A pace that has seen @ns_per_task and parallel rounds of 16 losing @overhead_ns. */
static struct pace learned(double ns_per_task, double overhead_ns)
{
    struct pace p;

    pace_init(&p);
    for (int i = 0; i < 100; i++) {
        pace_note_work(&p, 16, 16 * ns_per_task);
        pace_note_round(&p, &sixteen, 2, 8 * ns_per_task + overhead_ns);
    }
    return p;
}

Test(pace, one_task_or_one_worker_is_sequential)
{
    struct pace p = learned(1e6, 1000);
    const struct place_load one = {1, 1};

    cr_assert_eq(pace_choose_workers(&p, &one, 1, 8), 1);
    cr_assert_eq(pace_choose_workers(&p, &sixteen, 16, 1), 1);
}

Test(pace, nothing_known_is_tried_in_parallel)
{
    struct pace p;

    pace_init(&p);
    cr_assert_eq(pace_choose_workers(&p, &sixteen, 16, 4), 4);
    cr_assert_eq(pace_choose_workers(&p, &sixteen, 3, 4), 3);
}

Test(pace, gain_is_compared_with_what_is_lost)
{
    struct pace pays = learned(1000, 5000), does_not = learned(1000, 9000);

    /* 16 us of work on two workers gain 8 us. */
    cr_assert_eq(pace_choose_workers(&pays, &sixteen, 16, 2), 2);
    cr_assert_eq(pace_choose_workers(&does_not, &sixteen, 16, 2), 1);
}

Test(pace, one_giant_task_gains_nothing)
{
    struct pace p = learned(10000, 1000);
    const struct place_load giant = {100.01, 100};

    cr_assert_eq(pace_choose_workers(&p, &giant, 2, 2), 1);
}

Test(pace, no_more_workers_than_the_work_feeds)
{
    struct pace p = learned(1000, 0);
    const struct place_load six = {6, 1};

    for (int i = 0; i < 100; i++)
        pace_note_round(&p, &six, 4, 1500);
    cr_assert_eq(pace_choose_workers(&p, &six, 6, 64), 4, "1.5 us of work for each");
}

Test(pace, trials_cost_less_than_their_share)
{
    struct pace p = learned(1000, 20000);
    uint32_t trials = 0;
    const uint32_t rounds = 10000;

    for (uint32_t i = 0; i < rounds; i++) {
        if (pace_choose_workers(&p, &sixteen, 16, 2) == 1)
            continue;
        trials++;
        pace_note_round(&p, &sixteen, 2, 8000 + 20000); /* still as bad: 12 us lost */
    }
    cr_assert_gt(trials, 0, "it is tried again");
    cr_assert_leq(trials * 12000.0, rounds * 16000.0 / 100, "%u trials", trials);
}

Test(pace, a_class_that_has_become_worth_it_is_found)
{
    struct pace p = learned(1000, 20000);
    uint32_t parallel = 0;

    for (uint32_t i = 0; i < 2000; i++) {
        const uint32_t workers = pace_choose_workers(&p, &sixteen, 16, 2);

        parallel += i >= 200 && workers == 2;
        if (workers == 2)
            pace_note_round(&p, &sixteen, 2, 8000 + 1000);
    }
    cr_assert_eq(parallel, 1800);
}

Test(pace, one_interrupted_round_does_not_decide)
{
    struct pace p = learned(1000, 2000);

    pace_note_round(&p, &sixteen, 2, 8000 + 4e6);
    cr_assert_eq(pace_choose_workers(&p, &sixteen, 16, 2), 2);
    pace_note_work(&p, 16, 4e6);
    cr_assert_leq(p.ns_per_weight, 2000);
}

Test(pace, sizes_do_not_learn_from_one_another)
{
    struct pace p = learned(1000, 2000);
    const struct place_load large = {16000, 1000};

    for (int i = 0; i < 1000; i++)
        pace_note_round(&p, &large, 2, 8e6 + 2e6);
    cr_assert_float_eq(pace_overhead_ns(&p, 16e6), 2e6, 2e4);
    cr_assert_eq(pace_choose_workers(&p, &sixteen, 16, 2), 2);
    cr_assert_eq(pace_choose_workers(&p, &large, 16, 2), 2);
}

Test(pace, span_is_bounded_by_share_and_by_the_heaviest)
{
    const struct place_load l = {100, 40};

    cr_assert_float_eq(pace_span_ns(&l, 2, 2), 100, 1e-9);
    cr_assert_float_eq(pace_span_ns(&l, 2, 4), 80, 1e-9);
}
