/*
 * test_detect_length.c - steady/detect_length.c: whole packets, remainders, ends.
 */
#include "detect_int.h"
#include "detect_trace.h"
#include "rng.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PS_PER_MS INT64_C(1000000000)

struct model {
    uint64_t key, count;
    struct detect_params p;
    struct detect *d;
    struct trace t;
    /* what the flows should have been given, by the rates the detector used */
    double expected[TRACE_FLOWS_MAX];
};

static uint32_t draw(struct model *m, uint32_t bound)
{
    return rng_below(rng_at(m->key, m->count++), bound);
}

static void model_create(struct model *m, uint64_t seed)
{
    static const int64_t quanta[] = {1, 1000, 77};

    memset(m, 0, sizeof *m);
    m->key = rng_key(seed, 0);
    cr_assert_eq(detect_params_init(&m->p,
                                    &(struct detect_spec){.cc = draw(m, CC_KIND_COUNT),
                                                          .ai_bps = 40000000,
                                                          .quantum_ps = quanta[draw(m, 3)]},
                                    NULL),
                 0);
    cr_assert_eq(detect_create(&m->d), 0);
    trace_init(&m->t, 100000000000);
    for (uint32_t flows = 1 + draw(m, 6), i = 0; i < flows; i++) {
        struct trace_flow *f = trace_add(&m->t, 5000000 + draw(m, 100000000),
                                         9e10 / flows * (1 + draw(m, 100) / 500.));

        f->noise = draw(m, 3) * 0.05;
        f->payload_bytes = 500 + draw(m, 8500);
        f->in_flight_bytes = draw(m, 100000);
    }
    cr_assert_eq(trace_begin(&m->t, m->d, &m->p), 0);
}

/* A skip, in one case of two cut short; checks it. */
static void skip(struct model *m, const struct detect_verdict *v)
{
    const int64_t elapsed_ps =
        draw(m, 2) ? v->skip_ps
                   : (int64_t)((double)v->skip_ps * rng_to_double(rng_at(m->key, m->count++)));
    int64_t bytes[TRACE_FLOWS_MAX];
    struct detect__rate rate[TRACE_FLOWS_MAX];

    cr_assert_eq(v->skip_ps % m->p.spec.quantum_ps, 0);
    detect_skip_bytes(m->d, elapsed_ps, bytes);
    for (uint32_t i = 0; i < m->t.flow_count; i++) {
        const struct trace_flow *f = &m->t.flow[i];
        const int64_t left = f->size_bytes - f->acked_bytes - f->skipped_bytes;

        rate[i] = m->d->estimate[i].rate;
        cr_assert(bytes[i] >= 0 && bytes[i] <= v->skip_bytes[i]);
        cr_assert_eq(bytes[i] % f->payload_bytes, 0, "whole packets");
        cr_assert_leq(bytes[i] + detect__edges(m->d, m->d->edge_count - 1)[i].in_flight_bytes,
                      left - (int64_t)f->payload_bytes);
        cr_assert_leq((double)bytes[i],
                      (double)left -
                          (double)m->d->plan.guard_ps * (double)rate[i].bytes / (double)rate[i].ps +
                          1,
                      "into the guard");
    }
    trace_skip(&m->t, m->d, elapsed_ps, bytes);
    for (uint32_t i = 0; i < m->t.flow_count; i++) {
        m->expected[i] += (double)elapsed_ps * (double)rate[i].bytes / (double)rate[i].ps;
        cr_assert_lt(fabs((double)m->t.flow[i].skipped_bytes - m->expected[i]),
                     m->t.flow[i].payload_bytes + 1, "sum of skips");
    }
}

Test(detect_length, skips_are_whole_packets_short_of_the_guard_and_add_up)
{
    uint32_t skips = 0;

    for (uint64_t seed = 0; seed < 300; seed++) {
        struct model m;
        struct detect_verdict v;

        model_create(&m, seed);
        while (trace_watch(&m.t, m.d, 20 * PS_PER_MS, &v)) {
            skip(&m, &v);
            skips++;
        }
        for (uint32_t i = 0; i < m.t.flow_count; i++)
            cr_assert_leq(m.t.flow[i].acked_bytes + m.t.flow[i].skipped_bytes,
                          m.t.flow[i].size_bytes);
        detect_destroy(m.d);
    }
    cr_assert_gt(skips, 300, "%u skips", skips);
}

/* Many short skips of a constant flow, cut anywhere: no bias, the end moves by less than a packet.
 */
Test(detect_length, interrupted_skips_do_not_add_up_errors)
{
    struct detect_params p = trace_params(CC_DCTCP);
    struct detect *d = NULL;
    struct detect_verdict v;
    struct trace t, plain;
    uint32_t skips = 0;

    cr_assert_eq(detect_create(&d), 0);
    trace_init(&t, 100000000000);
    trace_add(&t, 500000000, 8e6 / 84e-6);
    plain = t;
    cr_assert_eq(trace_begin(&t, d, &p), 0);
    while (trace_watch(&t, d, 40 * PS_PER_MS, &v)) {
        int64_t bytes, cut_ps = 31234567 + (int64_t)skips * 1009;

        cut_ps = skips < 300 && cut_ps < v.skip_ps ? cut_ps : v.skip_ps;
        detect_skip_bytes(d, cut_ps, &bytes);
        trace_skip(&t, d, cut_ps, &bytes);
        if (cut_ps < v.skip_ps)
            cr_assert_leq(llabs(d->flow[0].carry), 500 * DETECT__CARRY_UNIT, "to the nearest");
        else
            cr_assert_leq(llabs(d->flow[0].carry), 20, "aligned, what was carried included");
        skips++;
    }
    trace_advance(&plain, 45 * PS_PER_MS);
    trace_advance(&t, t.now_ps + PS_PER_MS);
    cr_assert_eq(skips, 301, "%u skips", skips);
    cr_assert_leq(llabs(t.flow[0].end_ps - plain.flow[0].end_ps), 84000, "off by %lld ps",
                  (long long)(t.flow[0].end_ps - plain.flow[0].end_ps));
    detect_destroy(d);
}

Test(detect_length, a_skip_of_no_time_skips_nothing)
{
    struct detect_params p = trace_params(CC_DCTCP);
    struct detect *d = NULL;
    struct detect_verdict v;
    struct trace t;
    int64_t bytes[2] = {-1, -1};

    cr_assert_eq(detect_create(&d), 0);
    trace_init(&t, 100000000000);
    trace_add(&t, 50000000, 4e10);
    trace_add(&t, 50000000, 4e10);
    cr_assert_eq(trace_begin(&t, d, &p), 0);
    cr_assert_eq(trace_watch(&t, d, PS_PER_MS, &v), 1);
    detect_skip_bytes(d, 0, bytes);
    cr_assert(bytes[0] == 0 && bytes[1] == 0);
    detect_skip_bytes(d, v.skip_ps, bytes);
    cr_assert(bytes[0] == v.skip_bytes[0] && bytes[1] == v.skip_bytes[1]);
    detect_destroy(d);
}

Test(detect_length, what_is_in_flight_stays)
{
    struct detect_params p = trace_params(CC_TIMELY);
    struct detect *d = NULL;
    struct detect_verdict v;
    struct trace t;

    cr_assert_eq(detect_create(&d), 0);
    trace_init(&t, 100000000000);
    for (int i = 0; i < 2; i++)
        trace_add(&t, 40000000, 4e10)->in_flight_bytes = 16000000;
    cr_assert_eq(trace_begin(&t, d, &p), 0);
    while (trace_watch(&t, d, 100 * PS_PER_MS, &v))
        trace_skip(&t, d, v.skip_ps, v.skip_bytes);
    cr_assert_gt(t.flow[0].skipped_bytes, 0);
    cr_assert_geq(t.flow[0].acked_bytes, 16000000);
    detect_destroy(d);
}

/* Two bins of constant rate by hand, for both flows the same but for their packets. */
static int64_t decide_pair(struct detect *d, const struct detect_params *p,
                           const int64_t remaining_bytes[2], const uint32_t payload_bytes[2],
                           int64_t *bytes)
{
    struct watch_flow flow[2];
    const struct watch_port port = {100000000000, 0};
    const uint32_t first[3] = {0, 1, 2}, path[2] = {0, 0};
    struct detect_verdict v = {.reason = DETECT_TOO_EARLY};

    for (int i = 0; i < 2; i++)
        flow[i] = (struct watch_flow){remaining_bytes[i], 0, 4200000, 0, payload_bytes[i],
                                      payload_bytes[i],   2};
    cr_assert_eq(detect_begin(d, p, 0, &(struct watch_partition){2, 1, flow, &port, first, path}),
                 0);
    while (v.reason != DETECT_STEADY) {
        const int64_t now_ps = detect_next_sample_ps(d), packets = now_ps / 1000000;
        struct watch_obs obs[2];

        cr_assert_lt(now_ps, PS_PER_MS);
        obs[0] = obs[1] =
            (struct watch_obs){packets * 6000, packets * 1000000, 9000, 0}; /* 48 Gb/s */
        detect_sample(d, now_ps, obs, &(int64_t){packets * 12000});
        detect_decide(d, now_ps, &v);
    }
    memcpy(bytes, v.skip_bytes, 2 * sizeof *bytes);
    return v.skip_ps;
}

Test(detect_length, flows_that_end_together_are_aligned_to_the_same_one)
{
    struct detect_params p = trace_params(CC_DCTCP);
    struct detect *d = NULL;
    int64_t there_bytes[2], back_bytes[2], there_ps, back_ps;
    uint32_t differ = 0;

    cr_assert_eq(detect_create(&d), 0);
    for (int64_t size = 10000000; size < 10010000; size += 500) {
        const int64_t sizes[2] = {size, size};

        there_ps = decide_pair(d, &p, sizes, (const uint32_t[]){1000, 1500}, there_bytes);
        back_ps = decide_pair(d, &p, sizes, (const uint32_t[]){1500, 1000}, back_bytes);
        cr_assert_eq(there_ps, back_ps);
        cr_assert(there_bytes[0] == back_bytes[1] && there_bytes[1] == back_bytes[0]);
        differ += there_bytes[0] != there_bytes[1];
    }
    cr_assert_gt(differ, 0, "it does make a difference");
    detect_destroy(d);
}

/* Rounding to the nearest packet would reach into the guard of the flow that ends second. */
Test(detect_length, rounding_stops_at_the_guard)
{
    struct detect_params p = trace_params(CC_DCTCP);
    struct detect *d = NULL;
    uint32_t stopped = 0;

    cr_assert_eq(detect_create(&d), 0);
    for (int64_t size = 10000000; size < 10007000; size += 100) {
        const int64_t sizes[2] = {size, size + 200};
        int64_t bytes[2];
        const int64_t skip_ps = decide_pair(d, &p, sizes, (const uint32_t[]){1000, 7000}, bytes);
        const int64_t acked_bytes = detect__edges(d, d->edge_count - 1)[1].acked_bytes;
        const int64_t guard_bytes = d->plan.guard_ps * 6 / 1000;
        const double ideal_packets = (double)skip_ps * 0.006 / 7000;

        cr_assert_leq(bytes[1], sizes[1] - acked_bytes - guard_bytes);
        stopped += (double)(bytes[1] / 7000) < floor(ideal_packets + 0.5);
    }
    cr_assert_gt(stopped, 0);
    detect_destroy(d);
}
