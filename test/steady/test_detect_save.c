/*
 * test_detect_save.c - steady/detect_save.c, and that numbering and frame do not matter.
 */
#include "detect_int.h"
#include "detect_trace.h"
#include "rng.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define FLOWS 12
#define PORTS 9
#define PS_PER_MS INT64_C(1000000000)

static void shuffle(uint32_t *order, uint32_t count, uint64_t seed)
{
    for (uint32_t i = 0; i < count; i++)
        order[i] = i;
    for (uint32_t i = count; i-- > 1;) {
        const uint32_t j = rng_below(rng_u64(seed, count, i), i + 1), kept = order[i];

        order[i] = order[j];
        order[j] = kept;
    }
}

/* Several groups, noise, several hop counts, equal and different sizes. */
static void make_trace(struct trace *t, uint64_t seed)
{
    trace_init(t, 100000000000);
    t->port_count = PORTS;
    for (uint32_t i = 1; i < PORTS; i++)
        t->port_rate_bps[i] = 100000000000;
    for (uint32_t i = 0; i < FLOWS; i++) {
        struct trace_flow *f =
            trace_add(t, 50000000 + (int64_t)rng_below(rng_u64(seed, 1, i), 3) * 1000000, 2.2e10);

        f->noise = 0.1;
        f->path[0] = i % 3;
        f->path[1] = 3 + rng_below(rng_u64(seed, 2, i), PORTS - 3);
        f->path_count = 2;
        f->hops = 2 + (i % 3 == 2);
        f->payload_bytes = i & 1 ? 1000 : 1500;
    }
}

static void params_for(struct detect_params *p, uint64_t seed)
{
    static const enum cc_kind kinds[] = {CC_SWIFT, CC_HPCC, CC_TIMELY};
    const struct detect_spec s = {.cc = kinds[seed % 3], .ai_bps = 40000000, .rule = seed % 4 == 3};

    cr_assert_eq(detect_params_init(p, &s, NULL), 0);
}

/* Sending rates; they depend on the flow and on how far it is, not on its number or the frame. */
static void feed_acks(const struct trace *t, struct detect *d)
{
    for (uint32_t i = 0; i < t->flow_count; i++) {
        const uint64_t key = rng_mix(t->flow[i].key + t->flow[i].acks);

        for (uint64_t k = 0; k < 100; k++)
            detect_on_ack(d, i, (int64_t)(2.2e10 + 2.2e8 * rng_to_double(rng_at(key, k))));
    }
}

/* One bin: the same on both; returns whether it ended in a skip. */
static int step(struct trace *t, struct detect *d, struct detect_verdict *v)
{
    trace_advance(t, detect_next_sample_ps(d));
    trace_sample(t, d);
    feed_acks(t, d);
    detect_decide(d, t->now_ps, v);
    return v->reason == DETECT_STEADY;
}

static void *save(const struct detect *d, const struct detect_frame *f, size_t *bytes)
{
    void *state;

    *bytes = detect_state_bytes(d);
    state = malloc(*bytes);
    cr_assert_not_null(state);
    detect_save(d, f, state);
    return state;
}

Test(detect_save, decisions_and_saved_bytes_do_not_depend_on_numbering)
{
    uint32_t skips = 0;

    for (uint64_t seed = 0; seed < 24; seed++) {
        struct detect *a = NULL, *b = NULL;
        struct detect_params p;
        struct trace ta, tb;
        uint32_t flow_order[FLOWS], port_order[PORTS];

        params_for(&p, seed);
        make_trace(&ta, seed);
        shuffle(flow_order, FLOWS, seed);
        shuffle(port_order, PORTS, seed);
        trace_permute(&tb, &ta, flow_order, port_order);
        cr_assert(!detect_create(&a) && !detect_create(&b));
        cr_assert(!trace_begin(&ta, a, &p) && !trace_begin(&tb, b, &p));
        for (int i = 0; i < 800 && !trace_is_over(&ta); i++) {
            struct detect_verdict va, vb;
            const int steady = step(&ta, a, &va);

            cr_assert_eq(step(&tb, b, &vb), steady);
            cr_assert_eq(va.reason, vb.reason);
            cr_assert_eq(va.skip_ps, vb.skip_ps);
            cr_assert_eq(va.bound, vb.bound);
            cr_assert_eq(va.measured, vb.measured);
            if (i % 50 == 20) {
                size_t bytes_a, bytes_b;
                void *sa = save(a, &(struct detect_frame){.now_ps = ta.now_ps}, &bytes_a);
                void *sb = save(b,
                                &(struct detect_frame){.now_ps = tb.now_ps,
                                                       .flow_order = flow_order,
                                                       .port_order = port_order},
                                &bytes_b);

                cr_assert_eq(bytes_a, bytes_b);
                cr_assert_eq(memcmp(sa, sb, bytes_a), 0);
                free(sa);
                free(sb);
            }
            if (!steady)
                continue;
            for (uint32_t f = 0; f < FLOWS; f++)
                cr_assert_eq(va.skip_bytes[f], vb.skip_bytes[flow_order[f]]);
            trace_skip(&ta, a, va.skip_ps, va.skip_bytes);
            trace_skip(&tb, b, vb.skip_ps, vb.skip_bytes);
            skips++;
        }
        detect_destroy(a);
        detect_destroy(b);
    }
    cr_assert_gt(skips, 24, "%u skips", skips);
}

/* Moves a trace into another frame: clock and counters begin elsewhere. */
static void move_frame(struct trace *t, int64_t ps, int64_t bytes)
{
    t->now_ps += ps;
    for (uint32_t i = 0; i < t->flow_count; i++) {
        struct trace_flow *f = &t->flow[i];

        f->acked_bytes += bytes;
        f->size_bytes += bytes;
        f->last_ack_ps += ps;
        f->next_ack_ps += ps;
    }
    for (uint32_t i = 0; i < t->port_count; i++)
        t->tx_bytes[i] += 3 * bytes;
}

static struct detect_frame make_frame(const struct trace *t, int64_t *acked_bytes,
                                      int64_t *tx_bytes)
{
    for (uint32_t i = 0; i < t->flow_count; i++)
        acked_bytes[i] = t->flow[i].acked_bytes;
    for (uint32_t i = 0; i < t->port_count; i++)
        tx_bytes[i] = t->tx_bytes[i];
    return (struct detect_frame){t->now_ps, acked_bytes, tx_bytes, NULL, NULL};
}

/* Saves a, restores it as b under other numbers and in another frame. */
static void transplant(const struct trace *ta, const struct detect *a, struct trace *tb,
                       struct detect *b, const struct detect_params *p, uint64_t seed)
{
    uint32_t flow_order[FLOWS], port_order[PORTS];
    int64_t acked_bytes[FLOWS], tx_bytes[PORTS];
    struct detect_frame f = make_frame(ta, acked_bytes, tx_bytes);
    size_t bytes, bytes_again;
    void *state = save(a, &f, &bytes), *again;

    shuffle(flow_order, FLOWS, seed);
    shuffle(port_order, PORTS, seed);
    trace_permute(tb, ta, flow_order, port_order);
    move_frame(tb, -123456789, 987654);
    f = make_frame(tb, acked_bytes, tx_bytes);
    f.flow_order = flow_order;
    f.port_order = port_order;
    cr_assert_eq(detect_restore(b, p, &f, state, bytes), 0);
    again = save(b, &f, &bytes_again);
    cr_assert_eq(bytes, bytes_again);
    cr_assert_eq(memcmp(state, again, bytes), 0);
    free(state);
    free(again);
}

Test(detect_save, a_restored_detector_goes_on_as_the_saved_one)
{
    uint32_t skips = 0;

    for (uint64_t seed = 0; seed < 60; seed++) {
        struct detect *a = NULL, *b = NULL;
        struct detect_params p;
        struct detect_verdict va = {.reason = DETECT_TOO_EARLY}, vb;
        struct trace ta, tb;
        const uint32_t bins = rng_below(rng_u64(seed, 9, 9), 250);

        params_for(&p, seed);
        make_trace(&ta, seed);
        cr_assert(!detect_create(&a) && !detect_create(&b));
        cr_assert_eq(trace_begin(&ta, a, &p), 0);
        for (uint32_t i = 0; i < bins && !trace_is_over(&ta); i++)
            if (step(&ta, a, &va))
                trace_skip(&ta, a, va.skip_ps, va.skip_bytes);
        transplant(&ta, a, &tb, b, &p, seed);
        for (uint32_t i = 0; i < 400 && !trace_is_over(&ta); i++) {
            const int steady = step(&ta, a, &va);

            cr_assert_eq(step(&tb, b, &vb), steady);
            cr_assert_eq(va.reason, vb.reason);
            cr_assert_eq(va.measured, vb.measured);
            cr_assert_eq(va.skip_ps, vb.skip_ps);
            if (!steady)
                continue;
            trace_skip(&ta, a, va.skip_ps, va.skip_bytes);
            trace_skip(&tb, b, vb.skip_ps, vb.skip_bytes);
            skips++;
        }
        detect_destroy(a);
        detect_destroy(b);
    }
    cr_assert_gt(skips, 30, "%u skips", skips);
}

Test(detect_save, a_frozen_detector_is_saved_with_its_estimates)
{
    struct detect *a = NULL, *b = NULL;
    struct detect_params p = trace_params(CC_SWIFT);
    struct detect_verdict v;
    struct trace t;
    int64_t bytes[2], twin[2];
    size_t state_bytes;
    void *state;

    cr_assert(!detect_create(&a) && !detect_create(&b));
    trace_init(&t, 100000000000);
    trace_add(&t, 50000000, 4.5e10);
    trace_add(&t, 50000000, 4.4e10);
    cr_assert_eq(trace_begin(&t, a, &p), 0);
    cr_assert_eq(trace_watch(&t, a, PS_PER_MS, &v), 1);
    state = save(a, &(struct detect_frame){.now_ps = 5}, &state_bytes);
    cr_assert_eq(detect_restore(b, &p, &(struct detect_frame){.now_ps = 5}, state, state_bytes), 0);
    cr_assert_eq(detect_next_sample_ps(b), DETECT_NEVER);
    detect_skip_bytes(a, v.skip_ps / 3, bytes);
    detect_skip_bytes(b, v.skip_ps / 3, twin);
    cr_assert(bytes[0] == twin[0] && bytes[1] == twin[1]);
    detect_on_thaw(b, t.now_ps, v.skip_ps / 3, twin);
    cr_assert_eq(detect_next_sample_ps(b), t.now_ps + b->plan.bin_ps);
    free(state);
    detect_destroy(a);
    detect_destroy(b);
}

/* Any word replaced: refused, or a detector that can be used; never out of bounds. */
Test(detect_save, damaged_states_are_refused_or_harmless)
{
    struct detect *a = NULL, *b = NULL;
    struct detect_params p;
    struct detect_verdict v;
    struct trace t;
    uint32_t refused = 0;
    size_t bytes;
    int64_t *state, *copy;

    params_for(&p, 3);
    cr_assert(!detect_create(&a) && !detect_create(&b));
    make_trace(&t, 3);
    cr_assert_eq(trace_begin(&t, a, &p), 0);
    for (int i = 0; i < 10; i++)
        step(&t, a, &v);
    state = save(a, &(struct detect_frame){.now_ps = t.now_ps}, &bytes);
    copy = malloc(bytes);
    cr_assert_not_null(copy);
    for (uint64_t i = 0; i < 20000; i++) {
        const size_t at = i < bytes / 8 ? i : rng_below(rng_u64(4, 0, i), (uint32_t)(bytes / 8));
        const uint64_t word = rng_u64(4, 1, i) >> rng_below(rng_u64(4, 2, i), 64);

        memcpy(copy, state, bytes);
        copy[at] = i & 1 ? (int64_t)word : -(int64_t)(word >> 1);
        if (detect_restore(b, &p, &(struct detect_frame){.now_ps = 0}, copy, bytes)) {
            cr_assert_eq(detect_next_sample_ps(b), DETECT_NEVER);
            refused++;
        } else if (b->state == DETECT__WATCHING && b->edge_count) {
            detect_decide(b, b->edge_ps[b->edge_count - 1], &v);
        }
    }
    cr_assert_gt(refused, 1000);
    for (size_t cut = 0; cut < bytes; cut++)
        cr_assert_eq(detect_restore(b, &p, &(struct detect_frame){.now_ps = 0}, state, cut),
                     WH_ERR_INPUT);
    free(state);
    free(copy);
    detect_destroy(a);
    detect_destroy(b);
}
