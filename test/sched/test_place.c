/*
 * test_place.c - sched/place.c: order and placement of a round's tasks.
 */
#include "place.h"

#include <criterion/criterion.h>

#define ITEMS_MAX 1000

static struct place_item item(uint64_t weight, uint32_t index, uint32_t worker_id)
{
    return (struct place_item){weight, index, worker_id};
}

static struct place_load sum_up(const struct place_item *items, size_t count)
{
    struct place_load l = {0, 0};

    for (size_t i = 0; i < count; i++)
        place_load_add(&l, items[i].weight);
    return l;
}

Test(place, heavy_first_and_equal_ones_in_their_order)
{
    const struct place_item items[] = {item(1, 0, 0),   item(500, 1, 0), item(0, 2, 0),
                                       item(500, 3, 0), item(7, 4, 0),   item(UINT64_MAX, 5, 0),
                                       item(8, 6, 0),   item(1, 7, 0)};
    const uint32_t expected[] = {5, 1, 3, 6, 4, 0, 2, 7};
    struct place_item sorted[8];

    place_sort(items, sorted, 8);
    for (int i = 0; i < 8; i++)
        cr_assert_eq(sorted[i].index, expected[i], "place %d holds %u", i, sorted[i].index);
}

Test(place, order_is_right_to_an_eighth)
{
    struct place_item items[ITEMS_MAX], sorted[ITEMS_MAX];
    uint8_t seen[ITEMS_MAX] = {0};
    uint64_t state = 1;

    for (uint32_t i = 0; i < ITEMS_MAX; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        items[i] = item(state >> (1 + state % 60), i, 0);
    }
    place_sort(items, sorted, ITEMS_MAX);
    for (uint32_t i = 0; i < ITEMS_MAX; i++) {
        seen[sorted[i].index]++;
        if (i)
            cr_assert_leq((double)sorted[i].weight, (double)sorted[i - 1].weight * 1.125 + 1);
    }
    for (uint32_t i = 0; i < ITEMS_MAX; i++)
        cr_assert_eq(seen[i], 1);
}

Test(place, tasks_stay_where_they_ran)
{
    struct place_item items[] = {item(9, 0, 2), item(9, 1, 1), item(8, 2, 0),
                                 item(8, 3, 2), item(8, 4, 1), item(8, 5, 0)};
    const struct place_load total = sum_up(items, 6);
    double load[3];

    place_assign(items, 6, &total, load, 3);
    cr_assert_eq(items[0].worker_id, 2);
    cr_assert_eq(items[1].worker_id, 1);
    cr_assert_eq(items[2].worker_id, 0);
    cr_assert_eq(items[3].worker_id, 2);
    cr_assert_eq(items[4].worker_id, 1);
    cr_assert_eq(items[5].worker_id, 0);
}

Test(place, what_is_above_a_fair_share_moves)
{
    struct place_item items[] = {item(10, 0, 1), item(10, 1, 1), item(10, 2, 1), item(10, 3, 1)};
    const struct place_load total = sum_up(items, 4);
    double load[2];

    place_assign(items, 4, &total, load, 2);
    cr_assert_eq(items[0].worker_id, 1);
    cr_assert_eq(items[1].worker_id, 1);
    cr_assert_eq(items[2].worker_id, 0);
    cr_assert_eq(items[3].worker_id, 0);
    cr_assert_float_eq(load[0], 20, 1e-9);
    cr_assert_float_eq(load[1], 20, 1e-9);
}

Test(place, a_giant_stays_and_the_rest_makes_room)
{
    struct place_item items[] = {item(100, 0, 0), item(10, 1, 0), item(10, 2, 0)};
    const struct place_load total = sum_up(items, 3);
    double load[2];

    place_assign(items, 3, &total, load, 2);
    cr_assert_eq(items[1].worker_id, 1);
    cr_assert_eq(items[2].worker_id, 1);
    cr_assert_float_eq(load[0] + load[1], 120, 1e-9);
}

Test(place, a_worker_that_is_gone_is_no_home)
{
    struct place_item items[] = {item(5, 0, 7), item(5, 1, PLACE_NOWHERE)};
    const struct place_load total = sum_up(items, 2);
    double load[2];

    place_assign(items, 2, &total, load, 2);
    cr_assert_eq(items[0].worker_id, 0);
    cr_assert_eq(items[1].worker_id, 1);
}

/* Graham's bound for list scheduling by falling weight, with the width of the classes. */
Test(place, new_tasks_are_spread_within_the_bound_of_list_scheduling)
{
    static struct place_item items[ITEMS_MAX], sorted[ITEMS_MAX];
    uint64_t state = 5;

    for (uint32_t workers = 1; workers <= 16; workers++) {
        double load[16], ideal, most = 0;
        struct place_load total;

        for (uint32_t i = 0; i < 100; i++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            items[i] = item(1 + (state >> 54), i, PLACE_NOWHERE);
        }
        total = sum_up(items, 100);
        place_sort(items, sorted, 100);
        place_assign(sorted, 100, &total, load, workers);
        for (uint32_t w = 0; w < workers; w++)
            most = load[w] > most ? load[w] : most;
        ideal = total.sum / workers > total.max ? total.sum / workers : total.max;
        cr_assert_leq(most, ideal * (4.0 / 3) * 1.125, "%u workers", workers);
        cr_assert_geq(most, total.sum / workers - 1e-6);
    }
}
