/*
 * test_detect_group.c - steady/detect_group.c against pairwise comparison.
 */
#include "detect_int.h"
#include "detect_trace.h"
#include "rng.h"

#include <criterion/criterion.h>
#include <string.h>

#define FLOWS 40
#define PORTS 24

/* Random paths on ports of which some get congested by traffic that is not the flows'. */
static void make_trace(struct trace *t, uint64_t seed)
{
    const uint64_t key = rng_key(seed, 0);
    uint64_t n = 0;

    trace_init(t, 100000000000);
    t->port_count = PORTS;
    for (uint32_t i = 0; i < PORTS; i++)
        t->port_rate_bps[i] = 100000000000;
    for (uint32_t f = 0; f < FLOWS; f++) {
        struct trace_flow *flow = trace_add(t, 1000000000, 1e9);

        flow->path_count = 1 + rng_below(rng_at(key, n++), 4);
        flow->hops = flow->path_count;
        for (uint32_t i = 0; i < flow->path_count; i++) /* a port may come twice */
            flow->path[i] = rng_below(rng_at(key, n++), 6);
    }
}

/* The set of congested ports of a flow as a word. */
static uint64_t congested_set(const struct trace *t, const struct detect *d, uint32_t flow)
{
    uint64_t set = 0;

    for (uint32_t i = 0; i < t->flow[flow].path_count; i++)
        set |= (uint64_t)d->congested[t->flow[flow].path[i]] << t->flow[flow].path[i];
    return set;
}

Test(detect_group, groups_are_equal_hops_and_equal_congested_ports)
{
    struct detect_params p = trace_params(CC_DCTCP);
    struct detect *d = NULL;
    uint32_t groups_seen = 0;

    cr_assert_eq(detect_create(&d), 0);
    for (uint64_t seed = 0; seed < 300; seed++) {
        struct trace t;

        make_trace(&t, seed);
        cr_assert_eq(trace_begin(&t, d, &p), 0);
        trace_advance(&t, detect_next_sample_ps(d));
        for (uint32_t i = 0; i < PORTS; i++) /* 12.6 us at 100 Gb/s are 157.5 kB */
            t.tx_bytes[i] = rng_u64(seed, 1, i) & 1 ? 78800 : 78700;
        trace_sample(&t, d);
        detect__update_groups(d);
        for (uint32_t i = 0; i < PORTS; i++)
            cr_assert_eq(d->congested[i], t.tx_bytes[i] == 78800);
        for (uint32_t a = 0; a < FLOWS; a++)
            for (uint32_t b = 0; b < FLOWS; b++)
                cr_assert_eq(d->group_of[a] == d->group_of[b],
                             t.flow[a].hops == t.flow[b].hops &&
                                 congested_set(&t, d, a) == congested_set(&t, d, b));
        for (uint32_t a = 0; a < FLOWS; a++)
            cr_assert_lt(d->group_of[a], d->group_count);
        groups_seen += d->group_count;
    }
    cr_assert_gt(groups_seen, 3000);
    detect_destroy(d);
}

Test(detect_group, several_groups_have_the_longer_window)
{
    struct detect_params p = trace_params(CC_DCTCP);
    struct detect_verdict v;
    struct detect *d = NULL;
    struct trace t;

    cr_assert_eq(detect_create(&d), 0);
    trace_init(&t, 100000000000);
    t.port_count = 2;
    t.port_rate_bps[1] = 100000000000;
    for (uint32_t i = 0; i < 4; i++)
        trace_add(&t, 100000000, 45e9)->path[0] = i & 1;
    cr_assert_eq(trace_begin(&t, d, &p), 0);
    cr_assert_eq(trace_watch(&t, d, INT64_C(10000000000), &v), 1);
    cr_assert_eq(v.group_count, 2);
    cr_assert_geq(v.window_ps, INT64_C(1000000000));
    cr_assert_eq(v.bound, DETECT_KAPPA);
    detect_destroy(d);
}

Test(detect_group, members_get_the_mean_and_groups_their_own)
{
    struct detect_params p = trace_params(CC_SWIFT);
    struct detect_verdict v;
    struct detect *d = NULL;
    struct trace t;

    cr_assert_eq(detect_create(&d), 0);
    trace_init(&t, 100000000000);
    trace_add(&t, 100000000, 30e9)->hops = 2;
    trace_add(&t, 100000000, 26e9)->hops = 2;
    trace_add(&t, 100000000, 10e9)->hops = 4;
    cr_assert_eq(trace_begin(&t, d, &p), 0);
    cr_assert_eq(trace_watch(&t, d, INT64_C(10000000000), &v), 1);
    cr_assert_eq(v.skip_bytes[0], v.skip_bytes[1]);
    cr_assert_float_eq((double)v.skip_bytes[0] * 8e12 / (double)v.skip_ps, 28e9, 1e7);
    cr_assert_float_eq((double)v.skip_bytes[2] * 8e12 / (double)v.skip_ps, 10e9, 1e7);
    detect_destroy(d);
}
