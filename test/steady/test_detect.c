/*
 * test_detect.c - steady/detect.c: episodes as an engine would run them, on synthetic traces.
 */
#include "detect_int.h"
#include "detect_trace.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#define RTT_PS INT64_C(4200000)
#define PS_PER_US INT64_C(1000000)
#define PS_PER_MS INT64_C(1000000000)
#define GBPS 1e9
#define MB INT64_C(1000000)

static struct detect *create(void)
{
    struct detect *d = NULL;

    cr_assert_eq(detect_create(&d), 0);
    return d;
}

/* The trace with nothing skipped, to the end of its first flow. */
static int64_t plain_end_ps(const struct trace *from, uint32_t flow)
{
    struct trace t = *from;

    while (t.flow[flow].end_ps < 0)
        trace_advance(&t, t.now_ps + RTT_PS);
    return t.flow[flow].end_ps;
}

static double relative_error(const struct trace *skipped, const struct trace *plain, uint32_t flow)
{
    const double expected = (double)plain_end_ps(plain, flow);

    return fabs((double)skipped->flow[flow].end_ps - expected) / expected;
}

static enum detect_reason reason_at(struct trace *t, enum cc_kind cc, int64_t until_ps)
{
    struct detect *d = create();
    struct detect_params p = trace_params(cc);
    struct detect_verdict v;

    cr_assert_eq(trace_begin(t, d, &p), 0);
    trace_watch(t, d, until_ps, &v);
    detect_destroy(d);
    return v.reason;
}

/* Gaps of 84 ns, 83.84 ns, and one that no clock in ps can hold. */
Test(detect, a_lone_flow_of_constant_rate_ends_at_the_same_picosecond)
{
    const double rates_bps[] = {8e6 / 84e-6, 8e6 / 83.84e-6, 7.77777e9, 799.123456e9, 25 * GBPS};
    const int64_t sizes[] = {10 * MB, 100 * MB + 1, 500 * MB - 777};

    for (size_t i = 0; i < sizeof rates_bps / sizeof *rates_bps; i++)
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
            for (int cc = 0; cc < CC_KIND_COUNT; cc++) {
                struct detect *d = create();
                struct detect_params p = trace_params((enum cc_kind)cc);
                struct trace t, plain;
                uint32_t skips;

                trace_init(&t, 800000000000);
                trace_add(&t, sizes[k], rates_bps[i]);
                plain = t;
                skips = trace_run(&t, d, &p);
                cr_assert_eq(skips, 1, "%u skips", skips);
                cr_assert_eq(t.flow[0].end_ps, plain_end_ps(&plain, 0), "rate %g, cc %d: off %lld",
                             rates_bps[i], cc,
                             (long long)(t.flow[0].end_ps - plain_end_ps(&plain, 0)));
                detect_destroy(d);
            }
}

Test(detect, a_lone_flow_is_frozen_after_its_bins)
{
    struct detect *d = create();
    struct detect_params p = trace_params(CC_DCTCP);
    struct detect_verdict v;
    struct trace t;

    trace_init(&t, 100000000000);
    trace_add(&t, 100 * MB, 95 * GBPS);
    cr_assert_eq(trace_begin(&t, d, &p), 0);
    cr_assert_eq(trace_watch(&t, d, PS_PER_MS, &v), 1);
    cr_assert_eq(t.now_ps, 6 * RTT_PS, "two round trips left out, four bins");
    cr_assert_eq(v.bound, DETECT_ENDING);
    trace_skip(&t, d, v.skip_ps, v.skip_bytes);
    while (!trace_is_over(&t))
        trace_advance(&t, t.now_ps + RTT_PS);
    cr_assert_leq(t.flow[0].acks, 400, "%llu packets not skipped",
                  (unsigned long long)t.flow[0].acks);
    detect_destroy(d);
}

Test(detect, a_lone_hpcc_flow_is_watched_for_longer_and_in_longer_bins)
{
    struct trace t;
    struct detect *d = create();
    struct detect_params p = trace_params(CC_HPCC);

    trace_init(&t, 100000000000);
    trace_add(&t, 100 * MB, 95 * GBPS)->noise = 0.005;
    cr_assert_eq(trace_run(&t, d, &p), 1);
    cr_assert(t.flow[0].acks > 800 && t.flow[0].acks < 1000, "%llu packets not skipped",
              (unsigned long long)t.flow[0].acks);
    detect_destroy(d);
}

/* When a lone HPCC flow of @size_bytes is frozen. */
static int64_t hpcc_frozen_at_ps(int64_t size_bytes)
{
    struct detect *d = create();
    struct detect_params p = trace_params(CC_HPCC);
    struct detect_verdict v;
    struct trace t;

    trace_init(&t, 100000000000);
    trace_add(&t, size_bytes, 87 * GBPS);
    cr_assert_eq(trace_begin(&t, d, &p), 0);
    cr_assert_eq(trace_watch(&t, d, PS_PER_MS, &v), 1);
    detect_destroy(d);
    return t.now_ps;
}

/* 18 round trips are less than 1/128 of 18 ms, 28 are enough for any. */
Test(detect, a_long_skip_of_hpcc_waits_until_the_start_is_forgotten)
{
    cr_assert_eq(hpcc_frozen_at_ps(100 * MB), 18 * RTT_PS);
    cr_assert_eq(hpcc_frozen_at_ps(200 * MB), 28 * RTT_PS);
    cr_assert_eq(hpcc_frozen_at_ps(20000 * MB), 28 * RTT_PS);
}

Test(detect, the_empty_first_round_trip_is_left_out)
{
    struct detect *d = create();
    struct detect_params p = trace_params(CC_SWIFT);
    struct detect_verdict v;
    struct trace t;

    trace_init(&t, 100000000000);
    trace_add(&t, 50 * MB, 80 * GBPS); /* its first ACK is one round trip late */
    cr_assert_eq(trace_begin(&t, d, &p), 0);
    cr_assert_eq(trace_watch(&t, d, PS_PER_MS, &v), 1);
    cr_assert_float_eq((double)v.skip_bytes[0] * 8e12 / (double)v.skip_ps, 80 * GBPS, 1e3);
    detect_destroy(d);
}

/* Each skip may cost what the window's noise is worth; the group's mean is unbiased. */
Test(detect, two_noisy_flows_end_within_the_budget)
{
    struct detect *d = create();
    struct detect_params p = trace_params(CC_DCTCP);
    struct trace t, plain;
    uint32_t skips;

    trace_init(&t, 100000000000);
    for (int i = 0; i < 2; i++)
        trace_add(&t, 100 * MB, 47 * GBPS)->noise = 0.3;
    plain = t;
    skips = trace_run(&t, d, &p);
    cr_assert(skips >= 1 && skips < 20, "%u skips", skips);
    for (uint32_t i = 0; i < 2; i++)
        if (t.flow[i].end_ps >= 0)
            cr_assert_lt(relative_error(&t, &plain, i), 0.005, "error %g",
                         relative_error(&t, &plain, i));
    cr_assert_lt(t.flow[0].acks, 4000, "%llu of 100,000 packets not skipped",
                 (unsigned long long)t.flow[0].acks);
    detect_destroy(d);
}

Test(detect, a_draining_queue_at_constant_rates_is_not_steady)
{
    struct trace t;

    trace_init(&t, 100000000000);
    for (int i = 0; i < 8; i++) {
        struct trace_flow *f = trace_add(&t, 400 * MB, 12.5 * GBPS);

        f->in_flight_bytes = 100 * MB;               /* sent at 100 Mb/s, so it drains at */
        f->in_flight_bytes_per_s = -12.4 * GBPS / 8; /* nearly the rate it is delivered at */
    }
    cr_assert_eq(reason_at(&t, CC_TIMELY, 20 * PS_PER_MS), DETECT_IN_FLIGHT);
}

Test(detect, a_draining_queue_of_a_lone_flow_is_not_steady)
{
    struct trace t;

    trace_init(&t, 100000000000);
    trace_add(&t, 400 * MB, 95 * GBPS)->in_flight_bytes = 20 * MB;
    t.flow[0].in_flight_bytes_per_s = -10 * GBPS / 8;
    cr_assert_eq(reason_at(&t, CC_TIMELY, PS_PER_MS), DETECT_IN_FLIGHT);
}

Test(detect, a_filling_queue_is_not_steady)
{
    struct trace t;

    trace_init(&t, 100000000000);
    for (int i = 0; i < 4; i++)
        trace_add(&t, 400 * MB, 25 * GBPS)->in_flight_bytes_per_s = 2 * GBPS / 8;
    cr_assert_eq(reason_at(&t, CC_SWIFT, 5 * PS_PER_MS), DETECT_IN_FLIGHT);
}

Test(detect, shares_more_than_a_quarter_off_the_mean_are_not_steady)
{
    struct trace t;

    trace_init(&t, 100000000000);
    trace_add(&t, 400 * MB, 64 * GBPS);
    trace_add(&t, 400 * MB, 32 * GBPS);
    cr_assert_eq(reason_at(&t, CC_DCTCP, 5 * PS_PER_MS), DETECT_SPREAD);
    trace_init(&t, 100000000000);
    trace_add(&t, 400 * MB, 56 * GBPS);
    trace_add(&t, 400 * MB, 40 * GBPS);
    cr_assert_eq(reason_at(&t, CC_DCTCP, 5 * PS_PER_MS), DETECT_STEADY);
}

Test(detect, hpcc_with_a_small_increase_keeps_unequal_shares)
{
    struct detect_params p;
    struct detect *d = create();
    struct detect_verdict v;
    struct trace t;

    cr_assert_eq(
        detect_params_init(&p, &(struct detect_spec){.cc = CC_HPCC, .ai_bps = 40000000}, NULL), 0);
    trace_init(&t, 100000000000);
    trace_add(&t, 400 * MB, 64 * GBPS);
    trace_add(&t, 400 * MB, 32 * GBPS);
    cr_assert_eq(trace_begin(&t, d, &p), 0);
    cr_assert_eq(trace_watch(&t, d, 5 * PS_PER_MS, &v), 1);
    cr_assert_float_eq((double)v.skip_bytes[0] / (double)v.skip_bytes[1], 2, 1e-3);
    cr_assert_eq(v.bound, DETECT_KAPPA);
    detect_destroy(d);
}

Test(detect, a_fast_drift_is_not_steady_and_a_slow_one_shortens_skips)
{
    struct trace t;

    trace_init(&t, 100000000000);
    for (int i = 0; i < 4; i++)
        trace_add(&t, 400 * MB, 20 * GBPS)->drift_per_s = 1000; /* 10 % in 100 us */
    cr_assert_eq(reason_at(&t, CC_DCTCP, PS_PER_MS), DETECT_TREND);
    {
        struct detect *d = create();
        struct detect_params p = trace_params(CC_DCTCP);
        struct detect_verdict v;

        trace_init(&t, 100000000000);
        for (int i = 0; i < 4; i++)
            trace_add(&t, 400 * MB, 20 * GBPS)->drift_per_s = 20;
        cr_assert_eq(trace_begin(&t, d, &p), 0);
        cr_assert_eq(trace_watch(&t, d, PS_PER_MS, &v), 1);
        cr_assert_eq(v.bound, DETECT_TREND);
        /* 2 eps / trend = 2 x 0.5 % / (20 / s) */
        cr_assert_float_eq((double)v.skip_ps, 0.5e9, 0.1e9, "%lld ps", (long long)v.skip_ps);
        detect_destroy(d);
    }
}

Test(detect, a_swing_too_strong_for_the_budget_is_not_steady)
{
    struct trace t;

    trace_init(&t, 100000000000);
    for (int i = 0; i < 2; i++) {
        trace_add(&t, 4 * MB, 45 * GBPS)->swing = 0.5;
        t.flow[i].swing_ps = 80 * PS_PER_US;
    }
    cr_assert_eq(reason_at(&t, CC_SWIFT, 40 * RTT_PS), DETECT_NOISE);
}

/* As DCQCN does, whose rate stands still between two timers. */
Test(detect, a_lone_flow_that_may_still_climb_is_not_frozen_at_once)
{
    struct trace t;

    trace_init(&t, 100000000000);
    trace_add(&t, 400 * MB, 48 * GBPS)->asked_share = 0.5;
    cr_assert_eq(reason_at(&t, CC_DCQCN, PS_PER_MS), DETECT_CLIMBING);
    /* the path gives no more: 95 Gb/s of payload are 99.6 Gb/s on the wire */
    trace_init(&t, 100000000000);
    trace_add(&t, 400 * MB, 95 * GBPS)->asked_share = 0.25;
    cr_assert_eq(reason_at(&t, CC_DCQCN, PS_PER_MS), DETECT_STEADY);
    /* no feedback, no climbing */
    trace_init(&t, 100000000000);
    trace_add(&t, 400 * MB, 48 * GBPS)->asked_share = 0.5;
    cr_assert_eq(reason_at(&t, CC_NONE, PS_PER_MS), DETECT_STEADY);
    trace_init(&t, 100000000000);
    trace_add(&t, 400 * MB, 86 * GBPS)->asked_share = 0.95;
    cr_assert_eq(reason_at(&t, CC_HPCC, PS_PER_MS), DETECT_STEADY);
}

/* Beside others it starved; now its packets come in steps too rare for any window. */
Test(detect, a_flow_of_few_packets_has_no_rate)
{
    struct trace t;

    trace_init(&t, 100000000000);
    trace_add(&t, 400 * MB, 0.05 * GBPS);
    cr_assert_eq(reason_at(&t, CC_SWIFT, 600 * PS_PER_US), DETECT_IDLE);
    trace_init(&t, 100000000000);
    trace_add(&t, 400 * MB, 0.05 * GBPS);
    trace_add(&t, 400 * MB, 90 * GBPS);
    cr_assert_eq(reason_at(&t, CC_SWIFT, 300 * PS_PER_US), DETECT_IDLE);
}

static struct trace two_paths(double first_bps, double second_bps)
{
    struct trace t;

    trace_init(&t, 100000000000);
    t.port_count = 2;
    t.port_rate_bps[1] = 100000000000;
    trace_add(&t, 100 * MB, first_bps);
    trace_add(&t, 100 * MB, second_bps)->path[0] = 1;
    return t;
}

/* What joins them is a buffer, or the way of acknowledgements. */
Test(detect, flows_that_do_not_hold_each_other_back_are_frozen_after_their_bins)
{
    static const enum cc_kind slow[] = {CC_DCQCN, CC_TIMELY};

    for (size_t i = 0; i < sizeof slow / sizeof *slow; i++) {
        struct detect *d = create();
        struct detect_params p = trace_params(slow[i]);
        struct detect_verdict v;
        struct trace t = two_paths(90 * GBPS, 94 * GBPS), plain = t;

        cr_assert_eq(trace_begin(&t, d, &p), 0);
        cr_assert_eq(trace_watch(&t, d, PS_PER_MS, &v), 1);
        cr_assert_leq(t.now_ps, 10 * RTT_PS);
        trace_skip(&t, d, v.skip_ps, v.skip_bytes);
        while (!trace_is_over(&t))
            trace_advance(&t, t.now_ps + RTT_PS);
        cr_assert_eq(t.flow[1].end_ps, plain_end_ps(&plain, 1));
        detect_destroy(d);
    }
}

static void step(struct trace *t, struct detect *d)
{
    trace_advance(t, detect_next_sample_ps(d));
    trace_sample(t, d);
}

/* As often as the evidence was taken: whoever asks more often sees a quiet window sooner. */
Test(detect, the_general_rule_is_tried_32_times_a_window)
{
    struct detect *d = create();
    struct detect_params p = trace_params(CC_TIMELY); /* 2 ms; bins of 6.3 us, later of 12.6 us */
    struct trace t;
    uint32_t tried = 0;

    trace_init(&t, 100000000000);
    trace_add(&t, 400 * MB, 60 * GBPS);
    trace_add(&t, 400 * MB, 30 * GBPS);
    cr_assert_eq(trace_begin(&t, d, &p), 0);
    while (t.now_ps < 2100 * PS_PER_US)
        step(&t, d);
    while (t.now_ps < 4100 * PS_PER_US) {
        struct detect_verdict v;

        step(&t, d);
        detect_decide(d, t.now_ps, &v);
        tried += v.reason == DETECT_SPREAD;
    }
    cr_assert(tried >= 28 && tried <= 36, "%u times", tried);
    detect_destroy(d);
}

Test(detect, flows_that_have_half_of_their_path_are_not)
{
    struct trace t = two_paths(90 * GBPS, 47 * GBPS);

    cr_assert_neq(reason_at(&t, CC_DCQCN, PS_PER_MS), DETECT_STEADY);
    t = two_paths(90 * GBPS, 88 * GBPS);
    t.flow[1].swing = 0.1;
    t.flow[1].swing_ps = 60 * PS_PER_US;
    cr_assert_neq(reason_at(&t, CC_DCQCN, PS_PER_MS), DETECT_STEADY);
}

Test(detect, a_swing_much_shorter_than_the_window_is_steady_and_averaged)
{
    struct detect *d = create();
    struct detect_params p = trace_params(CC_DCTCP);
    struct trace t, plain;

    trace_init(&t, 100000000000);
    for (int i = 0; i < 2; i++) {
        trace_add(&t, 100 * MB, 45 * GBPS)->swing = 0.2;
        t.flow[i].swing_ps = 9 * PS_PER_US;
    }
    plain = t;
    cr_assert_geq(trace_run(&t, d, &p), 1);
    cr_assert_lt(relative_error(&t, &plain, 0), 0.005, "error %g", relative_error(&t, &plain, 0));
    detect_destroy(d);
}

Test(detect, a_swinging_lone_flow_waits_for_the_general_rule)
{
    struct trace t;

    trace_init(&t, 100000000000);
    trace_add(&t, 400 * MB, 80 * GBPS)->swing = 0.3;
    t.flow[0].swing_ps = 12 * PS_PER_US;
    cr_assert_eq(reason_at(&t, CC_DCTCP, 20 * RTT_PS), DETECT_FLUCTUATES);
    trace_init(&t, 100000000000);
    trace_add(&t, 400 * MB, 80 * GBPS)->swing = 0.3;
    t.flow[0].swing_ps = 12 * PS_PER_US;
    cr_assert_eq(reason_at(&t, CC_DCTCP, 100 * RTT_PS), DETECT_STEADY);
}

Test(detect, a_skip_is_at_most_kappa_times_what_was_observed_skips_included)
{
    struct detect *d = create();
    struct detect_params p = trace_params(CC_TIMELY); /* kappa 1 */
    struct detect_verdict v;
    struct trace t;

    trace_init(&t, 100000000000);
    for (int i = 0; i < 4; i++)
        trace_add(&t, 400 * MB, 24 * GBPS);
    cr_assert_eq(trace_begin(&t, d, &p), 0);
    for (int i = 0; i < 3; i++) {
        double age_ps;

        cr_assert_eq(trace_watch(&t, d, 50 * PS_PER_MS, &v), 1);
        age_ps = (double)(t.now_ps + t.skipped_ps);
        cr_assert_eq(v.bound, DETECT_KAPPA);
        cr_assert_float_eq((double)v.skip_ps, age_ps, 1e6);
        cr_assert_geq(v.window_ps, 2 * PS_PER_MS);
        trace_skip(&t, d, v.skip_ps, v.skip_bytes);
    }
    detect_destroy(d);
}

Test(detect, after_a_thaw_only_what_came_since_counts)
{
    struct detect *d = create();
    struct detect_params p = trace_params(CC_DCTCP);
    struct detect_verdict v;
    struct trace t;
    int64_t thaw_ps;

    trace_init(&t, 100000000000);
    for (int i = 0; i < 2; i++)
        trace_add(&t, 400 * MB, 48 * GBPS);
    cr_assert_eq(trace_begin(&t, d, &p), 0);
    cr_assert_eq(trace_watch(&t, d, PS_PER_MS, &v), 1);
    thaw_ps = t.now_ps;
    detect_skip_bytes(d, PS_PER_MS, d->skip_bytes);
    trace_skip(&t, d, PS_PER_MS, d->skip_bytes);
    for (int i = 0; i < 2; i++)
        t.flow[i].rate_bps = 24 * GBPS;
    cr_assert_eq(trace_watch(&t, d, 10 * PS_PER_MS, &v), 1);
    cr_assert_geq(t.now_ps, thaw_ps + 25 * RTT_PS);
    cr_assert_float_eq((double)v.skip_bytes[0] * 8e12 / (double)v.skip_ps, 24 * GBPS, 0.1 * GBPS);
    detect_destroy(d);
}

Test(detect, after_a_thaw_the_window_is_all_since_it)
{
    struct detect *d = create();
    struct detect_params p = trace_params(CC_DCTCP);
    struct detect_verdict v;
    struct trace t;
    int64_t thaw_ps;

    trace_init(&t, 100000000000);
    for (int i = 0; i < 2; i++)
        trace_add(&t, 400 * MB, 48 * GBPS);
    cr_assert_eq(trace_begin(&t, d, &p), 0);
    cr_assert_eq(trace_watch(&t, d, PS_PER_MS, &v), 1);
    thaw_ps = t.now_ps;
    detect_skip_bytes(d, PS_PER_MS, d->skip_bytes);
    trace_skip(&t, d, PS_PER_MS, d->skip_bytes);
    t.flow[0].rate_bps = 24 * GBPS; /* no longer fair */
    cr_assert_eq(trace_watch(&t, d, 5 * PS_PER_MS, &v), 0);
    cr_assert_eq(v.reason, DETECT_SPREAD);
    cr_assert_eq(v.window_ps, t.now_ps - thaw_ps);
    detect_destroy(d);
}

Test(detect, a_flow_within_the_guard_is_left_to_its_end)
{
    struct trace t;

    trace_init(&t, 100000000000);
    trace_add(&t, 400 * MB, 48 * GBPS);
    trace_add(&t, 750000, 48 * GBPS); /* 30 round trips; the window is full after 28 */
    cr_assert_eq(reason_at(&t, CC_DCTCP, 30 * RTT_PS), DETECT_ENDING);
    trace_init(&t, 100000000000);
    trace_add(&t, 250000, 95 * GBPS); /* 21 us */
    cr_assert_neq(reason_at(&t, CC_DCTCP, PS_PER_MS), DETECT_STEADY);
}

Test(detect, a_flow_without_acknowledgements_is_not_steady)
{
    struct trace t;

    trace_init(&t, 100000000000);
    trace_add(&t, 400 * MB, 48 * GBPS);
    trace_add(&t, 400 * MB, 48 * GBPS)->next_ack_ps = 100 * PS_PER_MS;
    cr_assert_eq(reason_at(&t, CC_DCTCP, PS_PER_MS), DETECT_IDLE);
    trace_init(&t, 100000000000);
    trace_add(&t, 400 * MB, 48 * GBPS)->next_ack_ps = 100 * PS_PER_MS;
    cr_assert_eq(reason_at(&t, CC_DCTCP, PS_PER_MS), DETECT_IDLE);
}

Test(detect, more_flows_than_allowed_are_not_watched)
{
    struct detect *d = create();
    struct detect_params p = trace_params(CC_DCTCP);
    struct detect_verdict v;
    struct trace t;

    p.spec.flow_count_max = 3;
    trace_init(&t, 100000000000);
    for (int i = 0; i < 4; i++)
        trace_add(&t, MB, GBPS);
    cr_assert_eq(trace_begin(&t, d, &p), 0);
    cr_assert_eq(detect_next_sample_ps(d), DETECT_NEVER);
    cr_assert_eq(detect_state_bytes(d), 0);
    detect_decide(d, 0, &v);
    cr_assert_eq(v.reason, DETECT_TOO_MANY_FLOWS);
    detect_destroy(d);
}

/* However long nothing is steady: bounded edges, all of equal length, covering the episode. */
Test(detect, bins_double_as_an_episode_ages)
{
    struct detect *d = create();
    struct detect_params p = trace_params(CC_DCTCP);
    struct detect_verdict v;
    struct trace t;
    uint32_t samples = 0;

    trace_init(&t, 100000000000);
    trace_add(&t, 4000 * MB, 10 * GBPS);
    trace_add(&t, 4000 * MB, 5 * GBPS);
    cr_assert_eq(trace_begin(&t, d, &p), 0);
    while (t.now_ps < 100 * PS_PER_MS) {
        trace_advance(&t, detect_next_sample_ps(d));
        trace_sample(&t, d);
        detect_decide(d, t.now_ps, &v);
        samples++;
        cr_assert_lt(d->edge_count, DETECT__EDGES_MAX);
        cr_assert_eq(d->edge_ps[0], d->plan.settle_ps);
        for (uint32_t i = 1; i < d->edge_count; i++)
            cr_assert_eq(d->edge_ps[i] - d->edge_ps[i - 1], d->bin_ps);
        cr_assert(d->bin_ps == d->plan.bin_ps || d->bin_ps <= (t.now_ps - d->edge_ps[0]) / 64);
        if (v.reason == DETECT_SPREAD)
            cr_assert_geq(2 * v.window_ps, t.now_ps, "the later half");
    }
    cr_assert_lt(samples, 700, "%u samples in 16,000 bins of the first length", samples);
    detect_destroy(d);
}

Test(detect, a_new_episode_forgets_the_old_one)
{
    struct detect *used = create(), *fresh = create();
    struct detect_params p = trace_params(CC_DCTCP);
    struct detect_verdict v, w;
    struct trace large, t, twin;

    trace_init(&large, 100000000000);
    for (int i = 0; i < 20; i++)
        trace_add(&large, 400 * MB, 4 * GBPS)->noise = 0.1;
    trace_run(&large, used, &p);
    trace_init(&t, 100000000000);
    for (int i = 0; i < 3; i++)
        trace_add(&t, 40 * MB, 30 * GBPS)->noise = 0.1;
    twin = t;
    cr_assert_eq(trace_begin(&t, used, &p), 0);
    cr_assert_eq(trace_begin(&twin, fresh, &p), 0);
    cr_assert_eq(trace_watch(&t, used, PS_PER_MS, &v), 1);
    cr_assert_eq(trace_watch(&twin, fresh, PS_PER_MS, &w), 1);
    cr_assert_eq(v.skip_ps, w.skip_ps);
    cr_assert_eq(t.now_ps, twin.now_ps);
    detect_destroy(used);
    detect_destroy(fresh);
}

Test(detect, a_worst_offender_is_named_with_its_busiest_port)
{
    struct detect *d = create();
    struct detect_params p = trace_params(CC_DCTCP);
    struct detect_verdict v;
    struct trace t;

    trace_init(&t, 100000000000);
    t.port_count = 3;
    t.port_rate_bps[1] = 400000000000;
    t.port_rate_bps[2] = 400000000000;
    for (int i = 0; i < 4; i++) {
        struct trace_flow *f = trace_add(&t, 400 * MB, i == 2 ? 10 * GBPS : 25 * GBPS);

        f->path_count = 3;
        f->path[0] = 1;
        f->path[1] = 0;
        f->path[2] = 2;
    }
    cr_assert_eq(trace_begin(&t, d, &p), 0);
    cr_assert_eq(trace_watch(&t, d, PS_PER_MS, &v), 0);
    cr_assert_eq(v.reason, DETECT_SPREAD);
    cr_assert_eq(v.flow, 2);
    cr_assert_eq(v.port, 0);
    cr_assert_float_eq(v.measured, 1 - 10 / 21.25, 0.01);
    cr_assert_float_eq(v.allowed, 0.25, 1e-12);
    detect_destroy(d);
}

Test(detect, every_reason_has_a_text)
{
    for (int i = 0; i < DETECT_REASON_COUNT; i++)
        cr_assert_str_neq(detect_reason_text((enum detect_reason)i), "unknown");
    cr_assert_str_eq(detect_reason_text((enum detect_reason)99), "unknown");
}
