/*
 * test_fluid.c - flows as fluids: shares, ends, and what they sum up to, worked out by hand.
 */
#include "fluid.h"

#include <criterion/criterion.h>
#include <math.h>

#define GBPS 1e9
#define FLOWS_MAX 4
#define PORTS_MAX 3

struct world {
    struct fluid f;
    double rate[FLOWS_MAX], room[PORTS_MAX], scratch[64];
    uint32_t path_first[FLOWS_MAX + 1], path[FLOWS_MAX * PORTS_MAX];
};

/* Each flow passes one port. */
static void share_one_port(struct world *w, uint32_t flows, const double *rate, double room)
{
    *w = (struct world){.f = {.flow_count = flows, .port_count = 1}};
    w->f.rate_bps = w->rate;
    w->f.room_bps = w->room;
    w->f.path_first = w->path_first;
    w->f.path = w->path;
    w->room[0] = room;
    for (uint32_t i = 0; i < flows; i++) {
        w->rate[i] = rate[i];
        w->path_first[i + 1] = i + 1;
    }
    cr_assert_leq(fluid_scratch(&w->f), sizeof w->scratch / sizeof *w->scratch);
}

static double sum_to_end(struct world *w, const double *left)
{
    double copy[FLOWS_MAX];

    for (uint32_t i = 0; i < w->f.flow_count; i++)
        copy[i] = left[i];
    return fluid_run(&w->f, copy, INFINITY, w->scratch);
}

Test(fluid, flows_that_share_a_port_take_over_from_those_that_end)
{
    const double rate[] = {4 * GBPS, 4 * GBPS}, left[] = {1e6, 3e6};
    struct world w;

    share_one_port(&w, 2, rate, 8 * GBPS);
    /* 2 ms at 4 Gb/s for the first; the other then has 2 MB left and 8 Gb/s: 2 ms more */
    cr_assert_float_eq(sum_to_end(&w, left), 2e-3 + 4e-3, 1e-12);
}

Test(fluid, equal_flows_that_wander_apart_end_earlier_in_the_mean)
{
    const double rate[] = {2 * GBPS, 2 * GBPS, 2 * GBPS}, equal[] = {1e6, 1e6, 1e6};
    const double apart[] = {0.5e6, 1e6, 1.5e6};
    struct world w;

    share_one_port(&w, 3, rate, 6 * GBPS);
    cr_assert_float_eq(sum_to_end(&w, equal), 3 * 4e-3, 1e-12);
    /* ends at 2, 3.333 and 4 ms */
    cr_assert_float_eq(sum_to_end(&w, apart), 2e-3 + 2e-3 + 1e-2 / 3 - 2e-3 + 4e-3, 1e-9);
}

Test(fluid, shares_are_as_the_rates_now)
{
    const double rate[] = {6 * GBPS, 2 * GBPS}, left[] = {3e6, 2e6};
    struct world w;

    share_one_port(&w, 2, rate, 8 * GBPS);
    /* the first ends at 4 ms, the second has 1 MB left then, and all of the port */
    cr_assert_float_eq(sum_to_end(&w, left), 4e-3 + 5e-3, 1e-12);
}

Test(fluid, who_is_held_by_its_sender_keeps_its_rate)
{
    const double rate[] = {1 * GBPS, 2 * GBPS}, left[] = {1e6, 1e6};
    struct world w;

    share_one_port(&w, 2, rate, 100 * GBPS);
    cr_assert_float_eq(sum_to_end(&w, left), 8e-3 + 4e-3, 1e-12);
}

/* A long flow over two ports, beside one on each. */
Test(fluid, a_flow_takes_what_the_tightest_port_leaves)
{
    const double rate[] = {4 * GBPS, 4 * GBPS, 8 * GBPS}, left[] = {2e6, 1e6, 8e6};
    struct world w;

    share_one_port(&w, 3, rate, 8 * GBPS);
    w.f.port_count = 2;
    w.room[1] = 12 * GBPS;
    w.path_first[1] = 2;
    w.path_first[2] = 3;
    w.path_first[3] = 4;
    w.path[0] = 0; /* long: both */
    w.path[1] = 1;
    w.path[2] = 0;
    w.path[3] = 1;
    /* At 2 ms the second ends. The long flow, 1 MB left, gets a third of 12 Gb/s in the other port:
     * it ends at 4 ms. The third: 4 MB left then, 12 Gb/s. */
    cr_assert_float_eq(sum_to_end(&w, left), 2e-3 + 4e-3 + (4e-3 + 4e6 * 8 / (12 * GBPS)), 1e-12);
}

Test(fluid, a_run_stops_in_time)
{
    const double rate[] = {4 * GBPS, 4 * GBPS};
    double left[] = {1e6, 3e6};
    struct world w;
    double sum;

    share_one_port(&w, 2, rate, 8 * GBPS);
    sum = fluid_run(&w.f, left, 3e-3, w.scratch);
    cr_assert_float_eq(sum, 2e-3 + 3e-3, 1e-12);
    cr_assert_eq(left[0], 0);
    cr_assert_float_eq(left[1], 1e6, 1e-3, "%g B left", left[1]);
    cr_assert_eq(fluid_run(&w.f, (double[]){0, -5}, INFINITY, w.scratch), 0);
}
