/*
 * Congestion controls seen from outside: they differ where there is congestion and do not where
 * there is none; INT counters wrap; equal rounds give equal results.
 */
#include "sim_fixture.h"
#include "sim_int.h"
#include "units.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#define RATE (100 * GBPS)
#define DELAY PS_PER_US

/* Settings as the files of the HPCC simulator choose them for each scheme. */
static struct sim_config usual_config(enum cc_kind cc)
{
    struct sim_config c = fix_config(cc);

    c.has_window = cc == CC_HPCC || cc == CC_DCTCP;
    for (uint32_t i = 0; cc == CC_DCTCP && i < c.ecn_row_count; i++) {
        c.ecn_rows[i].kmin_bytes = c.ecn_rows[i].kmax_bytes = c.ecn_rows[i].rate_bps / GBPS * 650;
        c.ecn_rows[i].pmax = 1;
    }
    return c;
}

static struct sim *incast(enum cc_kind cc, uint32_t senders, int64_t bytes)
{
    const struct sim_config c = usual_config(cc);
    struct sim *s = fix_sim(fix_star(senders + 1, RATE, DELAY), &c);

    for (uint32_t h = 1; h <= senders; h++)
        fix_flow(s, h, 0, bytes, 0);
    fix_run(s);
    cr_assert(fix_all_done(s), "%s", config_cc_name(cc));
    return s;
}

static double mean_fct(const struct sim *s)
{
    double sum = 0;

    for (uint32_t f = 0; f < sim_flow_count(s); f++)
        sum += (double)fix_fct(s, f);
    return sum / sim_flow_count(s);
}

Test(cc, incast_differs_under_each_scheme)
{
    double fct[CC_KIND_COUNT];

    for (int cc = 0; cc < CC_KIND_COUNT; cc++) {
        struct sim *s = incast((enum cc_kind)cc, 8, 1000000);

        fct[cc] = mean_fct(s);
        for (int other = 0; other < cc; other++)
            cr_assert_gt(fabs(fct[cc] - fct[other]), 1000, "%s and %s",
                         config_cc_name((enum cc_kind)cc), config_cc_name((enum cc_kind)other));
        sim_destroy(s);
    }
}

Test(cc, queues_of_an_incast_are_shortest_where_delay_or_int_is_heard)
{
    uint64_t queue[CC_KIND_COUNT];

    for (int cc = 0; cc < CC_KIND_COUNT; cc++) {
        struct sim *s = incast((enum cc_kind)cc, 8, 4000000);

        queue[cc] = fix_counters(s).queue_max_bytes;
        sim_destroy(s);
    }
    cr_assert_lt(queue[CC_HPCC], queue[CC_DCQCN]);
    cr_assert_lt(queue[CC_SWIFT], queue[CC_DCQCN]);
    cr_assert_lt(queue[CC_DCTCP], queue[CC_DCQCN]);
    cr_assert_lt(queue[CC_DCQCN], queue[CC_NONE]);
}

Test(cc, lone_flow_takes_the_time_of_its_bytes_under_each_scheme)
{
    const uint32_t packets = 1000;
    const int64_t delay = 4 * DELAY;

    for (int cc = 0; cc < CC_KIND_COUNT; cc++) {
        const struct sim_config c = usual_config((enum cc_kind)cc);
        struct sim *s = fix_sim(fix_chain(2, RATE, DELAY), &c);
        const int64_t packet_ps = (1000 + (int64_t)s->data_header_bytes) * 80;
        const int64_t line_ps =
            (packets + 1) * packet_ps + 2 * (int64_t)s->ack_wire_bytes * 80 + delay;

        fix_flow(s, 0, 1, packets * 1000, 0);
        fix_run(s);
        if (cc == CC_HPCC) /* aims at 95 % of the line */
            cr_assert(fix_fct(s, 0) >= line_ps && fix_fct(s, 0) < line_ps + line_ps / 12);
        else
            cr_assert_eq(fix_fct(s, 0), line_ps, "%s: %ld ps, expected %ld", config_cc_name(c.cc),
                         (long)fix_fct(s, 0), (long)line_ps);
        cr_assert_eq(fix_counters(s).marks, 0);
        cr_assert_eq(fix_counters(s).cnp_echoes, 0);
        sim_destroy(s);
    }
}

Test(cc, fixed_rate_is_kept_whatever_happens)
{
    struct sim_config c = usual_config(CC_NONE);
    struct sim *s;

    c.fixed_rate_bps = 20 * GBPS;
    s = fix_sim(fix_star(9, RATE, DELAY), &c);
    for (uint32_t h = 1; h <= 8; h++)
        fix_flow(s, h, 0, 100000, 0);
    fix_run(s);
    cr_assert_gt(fix_counters(s).queue_max_bytes, 0);
    cr_assert_eq(fix_counters(s).rate_cuts, 0);
    sim_destroy(s);
}

/* Long flows share a bottleneck evenly in the end: the last to finish is not far behind. */
Test(cc, long_flows_share_the_bottleneck)
{
    for (int cc = CC_DCQCN; cc < CC_KIND_COUNT; cc++) {
        struct sim *s = incast((enum cc_kind)cc, 4, 10000000);
        const double line = 4 * 10000000.0 * 80 * 1.048;
        int64_t first = INT64_MAX, last = 0;

        for (uint32_t f = 0; f < 4; f++) {
            first = fix_fct(s, f) < first ? fix_fct(s, f) : first;
            last = fix_fct(s, f) > last ? fix_fct(s, f) : last;
        }
        cr_assert_lt((double)last, 1.4 * line, "%s: %ld ps", config_cc_name((enum cc_kind)cc),
                     (long)last);
        cr_assert_gt((double)first, 0.5 * (double)last, "%s", config_cc_name((enum cc_kind)cc));
        sim_destroy(s);
    }
}

/* ---- rates ---- */

struct rate_watch {
    int64_t low, high;
};

static void watch_rates(void *ctx, struct sim *s, int64_t now_ps)
{
    struct rate_watch *w = ctx;
    struct flow_view v;

    (void)now_ps;
    for (uint32_t f = 0; f < sim_flow_count(s); f++) {
        if (!sim_flow_view(s, f, &v))
            continue;
        w->low = v.rate_bps < w->low ? v.rate_bps : w->low;
        w->high = v.rate_bps > w->high ? v.rate_bps : w->high;
    }
}

Test(cc, rates_stay_between_the_smallest_and_the_line)
{
    for (int cc = CC_DCQCN; cc <= CC_DCTCP; cc++) {
        struct rate_watch w = {INT64_MAX, 0};
        struct sim_monitor m = {.ctx = &w,
                                .sample_interval_ps = PS_PER_US,
                                .sample_to_ps = TIME_NEVER,
                                .on_sample = watch_rates};
        const struct sim_config c = usual_config((enum cc_kind)cc);
        struct sim *s = fix_sim(fix_star(33, RATE, DELAY), &c);

        cr_assert_eq(sim_set_monitor(s, &m), 0);
        for (uint32_t h = 1; h <= 32; h++)
            fix_flow(s, h, 0, 1000000, 0);
        fix_run(s);
        cr_assert_geq(w.low, c.min_rate_bps, "%s", config_cc_name(c.cc));
        cr_assert_leq(w.high, RATE);
        cr_assert_lt(w.low, RATE / 8, "%s never cuts", config_cc_name(c.cc));
        sim_destroy(s);
    }
}

/* ---- INT ---- */

/* Two rounds of the same flows, 16 ms apart; the largest difference of their FCT [ps]. */
static int64_t round_difference(uint8_t reset, int64_t bytes, int64_t round_ps)
{
    struct sim_config c = usual_config(CC_HPCC);
    int64_t most = 0;
    struct sim *s;

    c.int_reset_idle = reset;
    c.reuse_sport = 1;
    s = fix_sim(fix_star(5, RATE, DELAY), &c);
    for (uint32_t f = 0; f < 8; f++)
        fix_flow(s, 1 + f % 4, 0, bytes, f < 4 ? 0 : round_ps);
    fix_run(s);
    for (uint32_t f = 0; f < 4; f++) {
        const int64_t d = fix_fct(s, f) - fix_fct(s, f + 4);

        most = llabs(d) > most ? llabs(d) : most;
    }
    sim_destroy(s);
    return most;
}

/* 250,300 B flows leave the byte counter inside a 512 B unit. */
Test(cc, rounds_are_identical_when_int_counters_start_at_zero)
{
    cr_assert_eq(round_difference(1, 2503000, 16 * PS_PER_MS), 0);
    cr_assert_neq(round_difference(0, 2503000, 16 * PS_PER_MS), 0);
}

/* 24 bits of ns are 16.8 ms, 20 bits of 512 B are 537 MB: a difference taken over the wrap is
 * right. */
Test(cc, int_fields_may_wrap)
{
    const int64_t wrap_ps = (INT64_C(1) << 24) * PS_PER_NS;
    const struct sim_config c = usual_config(CC_HPCC);
    struct sim *s = fix_sim(fix_star(3, RATE, DELAY), &c);
    struct sim *wrapped = fix_sim(fix_star(3, RATE, DELAY), &c);

    for (uint32_t f = 0; f < 2; f++) {
        fix_flow(s, 1 + f, 0, 1000000, 0);
        fix_flow(wrapped, 1 + f, 0, 1000000, wrap_ps - 40 * PS_PER_US);
    }
    for (uint32_t p = 0; p < wrapped->topo->port_count; p++)
        wrapped->port[p].tx_bytes = (UINT64_C(1) << 20) * 512 - 512 * 100;
    fix_run(s);
    fix_run(wrapped);
    for (uint32_t f = 0; f < 2; f++)
        cr_assert_eq(fix_fct(s, f), fix_fct(wrapped, f));
    sim_destroy(s);
    sim_destroy(wrapped);
}

/* ---- echoes ---- */

static struct sim_counters marked_incast(int64_t cnp_interval_ps)
{
    struct sim_config c = usual_config(CC_NONE);
    struct sim_counters n;
    struct sim *s;

    c.cnp_interval_ps = cnp_interval_ps;
    for (uint32_t i = 0; i < c.ecn_row_count; i++)
        c.ecn_rows[i].kmin_bytes = c.ecn_rows[i].kmax_bytes = 10000;
    s = fix_sim(fix_star(3, RATE, DELAY), &c);
    fix_flow(s, 1, 0, 1000000, 0);
    fix_flow(s, 2, 0, 1000000, 0);
    fix_run(s);
    n = fix_counters(s);
    sim_destroy(s);
    return n;
}

Test(cc, every_mark_is_echoed_unless_an_interval_is_set)
{
    const struct sim_counters each = marked_incast(0), some = marked_incast(4 * PS_PER_US);

    cr_assert_gt(each.marks, 1900);
    cr_assert_eq(each.cnp_echoes, each.marks);
    cr_assert_eq(some.marks, each.marks);
    /* 168 us of two flows, one echo in 4 us each */
    cr_assert(some.cnp_echoes > 60 && some.cnp_echoes < 90, "%lu", (unsigned long)some.cnp_echoes);
}
