/*
 * test_skip.c - skipping as a user meets it: the engine (core/freeze.c) with the detector of
 * steady/, on small networks. What it costs in accuracy on contended flows is measured by
 * bench/bench_steady.c, because flows that share a link are chaotic; here is what must hold
 * whatever they do.
 */
#include "random_sim.h"
#include "rng.h"
#include "sim_fixture.h"
#include "sim_int.h"
#include "steady.h"
#include "units.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MB INT64_C(1000000)
#define MBPS INT64_C(1000000)

static const enum cc_kind controls[] = {CC_HPCC, CC_DCQCN, CC_TIMELY, CC_DCTCP, CC_SWIFT};
#define CONTROL_COUNT (sizeof controls / sizeof *controls)

static struct sim_config config(enum cc_kind cc)
{
    struct sim_config c = fix_config(cc);

    config_ecn_defaults(&c);
    c.has_window = cc != CC_DCQCN && cc != CC_TIMELY;
    c.int_reset_idle = 1;
    return c;
}

/* @rule must outlive @s. */
static void set_skipping(struct sim *s, struct steady *rule)
{
    struct watch_ops watch;

    cr_assert_eq(steady_init(rule, sim_config(s), &(struct detect_spec){.cc = CC_NONE}, NULL), 0);
    steady_ops(rule, &watch);
    cr_assert_eq(sim_set_watch(s, &watch), 0);
}

static struct sim_skip_stats skip_stats(const struct sim *s)
{
    struct sim_skip_stats k;

    sim_skip_stats(s, &k);
    return k;
}

/* ---- lone flows ---- */

struct lone {
    struct sim_config cfg;
    uint32_t hops;
    int64_t rate_bps, delay_ps, bytes;
};

/* @unskipped: data packets that were executed; NULL: nothing is skipped. */
static int64_t lone_fct(const struct lone *l, double *unskipped)
{
    struct sim *s = fix_sim(fix_chain(l->hops, l->rate_bps, l->delay_ps), &l->cfg);
    struct steady rule;
    int64_t fct;

    fix_flow(s, 0, 1, l->bytes, 0);
    if (unskipped)
        set_skipping(s, &rule);
    fix_run(s);
    cr_assert_eq(sim_flow_result(s, 0)->acked_bytes, l->bytes);
    if (unskipped)
        *unskipped =
            (double)l->bytes / l->cfg.payload_bytes - (double)skip_stats(s).skipped_packets;
    fct = fix_fct(s, 0);
    sim_destroy(s);
    return fct;
}

Test(skip, a_lone_flow_ends_when_it_would_have_ended)
{
    for (size_t i = 0; i < CONTROL_COUNT; i++) {
        const struct lone l = {config(controls[i]), 2, 100 * GBPS, PS_PER_US, 100 * MB};
        double unskipped;
        const double plain = (double)lone_fct(&l, NULL);
        const double error = fabs((double)lone_fct(&l, &unskipped) - plain);
        const char *name = config_cc_name(controls[i]);

        /* a constant rate is met to the quantum of skips */
        if (controls[i] != CC_HPCC)
            cr_assert_lt(error, STEADY_QUANTUM_PS, "%s: off by %g ps", name, error);
        cr_assert_leq(error / plain, 0.0005, "%s: off by %g", name, error / plain);
        cr_assert_leq(unskipped, controls[i] == CC_HPCC ? 1000 : 400, "%s: %g packets", name,
                      unskipped);
    }
}

Test(skip, a_lone_flow_is_exact_where_its_packets_take_whole_nanoseconds)
{
    static const int64_t rates[] = {25 * GBPS, 100 * GBPS, 400 * GBPS};

    for (size_t i = 0; i < CONTROL_COUNT; i++)
        for (size_t r = 0; r < sizeof rates / sizeof *rates && controls[i] != CC_HPCC; r++) {
            struct lone l = {config(controls[i]), 4, rates[r], 2 * PS_PER_US, 20 * MB + 77};
            double unskipped;

            l.cfg.round_ps = PS_PER_NS;
            cr_assert_eq(lone_fct(&l, &unskipped), lone_fct(&l, NULL), "%s at %lld bit/s",
                         config_cc_name(controls[i]), (long long)rates[r]);
            cr_assert_lt(unskipped, 20e3 / 2);
        }
}

/* A ring of lone flows, whose acknowledgements are charged for. */
static double mean_fct_of_ring(int skips)
{
    struct sim_config c = config(CC_HPCC);
    struct steady rule;
    struct sim *s;
    double sum = 0;

    c.ack = ACK_CHARGED;
    s = fix_sim(fix_star(3, 100 * GBPS, PS_PER_US), &c);
    for (uint32_t h = 0; h < 3; h++)
        fix_flow(s, h, (h + 1) % 3, 150 * MB, 0);
    if (skips)
        set_skipping(s, &rule);
    fix_run(s);
    for (uint32_t f = 0; f < 3; f++)
        sum += (double)fix_fct(s, f);
    sim_destroy(s);
    return sum / 3;
}

/* HPCC swings around its target, widely at the start, when windows are off by 0.3 %. */
Test(skip, a_long_hpcc_flow_is_watched_until_its_start_is_forgotten)
{
    const double error = fabs(mean_fct_of_ring(1) / mean_fct_of_ring(0) - 1);

    cr_assert_leq(error, 0.0005, "off by %g", error);
}

/* The paper's rule looks at nothing but rates after acknowledgements: it has to be told of them. */
Test(skip, the_papers_rule_skips_a_lone_flow)
{
    const struct detect_spec spec = {
        .rule = DETECT_RULE_PAPER, .theta = 0.05, .paper_samples = 200};
    double fct[2];

    for (int skips = 0; skips < 2; skips++) {
        const struct sim_config c = config(CC_DCTCP);
        struct sim *s = fix_sim(fix_star(2, 100 * GBPS, PS_PER_US), &c);
        struct watch_ops watch;
        struct steady rule;

        fix_flow(s, 0, 1, 10 * MB, 0);
        cr_assert_eq(steady_init(&rule, &c, &spec, NULL), 0);
        steady_ops(&rule, &watch);
        if (skips)
            cr_assert_eq(sim_set_watch(s, &watch), 0);
        fix_run(s);
        cr_assert(!skips || skip_stats(s).skipped_packets > 5000);
        fct[skips] = (double)fix_fct(s, 0);
        sim_destroy(s);
    }
    cr_assert_float_eq(fct[1] / fct[0], 1, 0.01, "%g and %g ps", fct[1], fct[0]);
}

/* ---- hidden state ---- */

/* Nothing is skipped while one flow is left. */
static int (*inner_begin)(void *ctx, void *watch, int64_t now_ps, const struct watch_partition *p);

static int begin_several(void *ctx, void *watch, int64_t now_ps, const struct watch_partition *p)
{
    return p->flow_count > 1 && inner_begin(ctx, watch, now_ps, p);
}

struct rate_probe {
    double sum_bps;
    uint32_t count;
};

static void probe_rate(void *arg, struct sim *s)
{
    struct rate_probe *r = arg;
    struct flow_view v;

    if (sim_flow_result(s, 1)->state != FLOW_DONE || !sim_flow_view(s, 0, &v))
        return;
    r->sum_bps += (double)v.rate_bps;
    r->count++;
}

/* Of flow 0, after the others have left. */
static double rate_left(int64_t bytes, int skips)
{
    const struct sim_config c = config(CC_HPCC);
    struct sim *s = fix_sim(fix_dumbbell(3, 100 * GBPS, 100 * GBPS, PS_PER_US), &c);
    struct rate_probe r = {0, 0};
    struct watch_ops watch;
    struct steady rule;

    for (uint32_t i = 0; i < 3; i++)
        fix_flow(s, i, 3 + i, (3 - (int64_t)i) * bytes, 0);
    for (int64_t us = 0; us < 6000; us++)
        cr_assert_eq(sim_schedule(s, us * PS_PER_US, probe_rate, &r), 0);
    if (skips) {
        cr_assert_eq(steady_init(&rule, &c, &(struct detect_spec){.cc = CC_NONE}, NULL), 0);
        steady_ops(&rule, &watch);
        inner_begin = watch.begin;
        watch.begin = begin_several;
        cr_assert_eq(sim_set_watch(s, &watch), 0);
    }
    fix_run(s);
    cr_assert(!skips || skip_stats(s).skips > 0);
    cr_assert_gt(r.count, 100, "%u probes", r.count);
    sim_destroy(s);
    return r.sum_bps / r.count;
}

/* INT counters tell in units of 512 B. How far the hops of a path are apart within a unit decides
 * what HPCC takes for utilisation, for as long as the flow is alone: 4 % of its rate. */
Test(skip, int_counters_stand_where_they_would_have_stood)
{
    for (int64_t bytes = 9 * MB; bytes < 13 * MB; bytes += MB) {
        const double ratio = rate_left(bytes, 1) / rate_left(bytes, 0);

        cr_assert_float_eq(ratio, 1, 0.01, "%g at %lld MB", ratio, (long long)(bytes / MB));
    }
}

/* The second of two flows, which starts while the first is skipped. */
static double late_fct(enum cc_kind cc, int skips)
{
    const struct sim_config c = config(cc);
    struct sim *s = fix_sim(fix_star(3, 25 * GBPS, 5 * PS_PER_US), &c);
    struct steady rule;
    double fct;

    fix_flow(s, 1, 0, 30 * MB, 0);
    fix_flow(s, 2, 0, 2 * MB, 3 * PS_PER_MS);
    if (skips)
        set_skipping(s, &rule);
    fix_run(s);
    cr_assert(!skips || skip_stats(s).skips > 0);
    fct = (double)fix_fct(s, 1);
    sim_destroy(s);
    return fct;
}

/* A flow that meets no mark for a while gives way slowly to the next: its alpha has decayed. */
Test(skip, what_decays_unseen_has_decayed_after_a_skip)
{
    static const enum cc_kind with_alpha[] = {CC_DCTCP, CC_SWIFT};

    for (size_t i = 0; i < sizeof with_alpha / sizeof *with_alpha; i++) {
        const double plain = late_fct(with_alpha[i], 0);

        cr_assert_float_eq(late_fct(with_alpha[i], 1) / plain, 1, 0.01, "%s: %g",
                           config_cc_name(with_alpha[i]), late_fct(with_alpha[i], 1) / plain);
    }
}

/* ---- what is skipped counts ---- */

static struct sim *run_ring(enum cc_kind cc, enum ack_mode ack, struct steady *rule)
{
    struct sim_config c = config(cc);
    struct sim *s;

    c.ack = ack;
    s = fix_sim(fix_star(4, 100 * GBPS, PS_PER_US), &c);
    for (uint32_t h = 0; h < 4; h++)
        fix_flow(s, h, (h + 1) % 4, 10 * MB, 0);
    fix_flow(s, 0, 3, 2 * MB, PS_PER_MS / 2); /* joins what is being skipped */
    if (rule)
        set_skipping(s, rule);
    fix_run(s);
    return s;
}

static void compare_ports(const struct sim *plain, const struct sim *skipped)
{
    for (uint32_t port = 0; port < sim_topo(plain)->port_count; port++) {
        struct port_stats a, b;

        sim_port_stats(plain, port, &a);
        sim_port_stats(skipped, port, &b);
        cr_assert_float_eq((double)b.tx_bytes, (double)a.tx_bytes, 0.005 * (double)a.tx_bytes + 2e3,
                           "port %u: %lu B, without skipping %lu B", port,
                           (unsigned long)b.tx_bytes, (unsigned long)a.tx_bytes);
        cr_assert_float_eq((double)b.tx_packets, (double)a.tx_packets,
                           0.005 * (double)a.tx_packets + 20, "port %u", port);
    }
}

Test(skip, bytes_and_packets_add_up)
{
    static const enum ack_mode acks[] = {ACK_PRIORITY, ACK_IN_DATA, ACK_BYPASS, ACK_CHARGED};

    for (size_t i = 0; i < CONTROL_COUNT; i++)
        for (size_t k = 0; k < sizeof acks / sizeof *acks; k++) {
            struct steady rule;
            struct sim *plain = run_ring(controls[i], acks[k], NULL);
            struct sim *skipped = run_ring(controls[i], acks[k], &rule);

            for (uint32_t f = 0; f < sim_flow_count(plain); f++)
                cr_assert_eq(sim_flow_result(skipped, f)->acked_bytes,
                             sim_flow_spec(skipped, f)->bytes);
            cr_assert(!ack_is_beside(acks[k]) || skip_stats(skipped).skips > 0);
            compare_ports(plain, skipped);
            sim_destroy(plain);
            sim_destroy(skipped);
        }
}

/* ---- repetition ---- */

#define ROUNDS 4u
#define ROUND_FLOWS 4u

/* An incast, or lone flows. */
static void add_round(struct sim *s, int64_t start_ps, int is_incast)
{
    for (uint32_t i = 0; i < ROUND_FLOWS; i++) {
        const struct flow_spec f = {.start_ps = start_ps,
                                    .bytes = 5 * MB + 100 * (int64_t)i,
                                    .src = i + 1,
                                    .dst = is_incast ? 0 : i + 1 + ROUND_FLOWS,
                                    .sport = 10000,
                                    .dport = 100,
                                    .prio = 3};

        cr_assert_eq(sim_add_flow(s, &f, NULL), 0);
    }
}

static void repeat(enum cc_kind cc, int is_incast)
{
    struct sim_config c = config(cc);
    struct steady rule;
    struct sim *s;

    if (cc == CC_HPCC)
        c.hpcc.ai_bps = 400 * MBPS;
    s = fix_sim(fix_star(2 * ROUND_FLOWS + 1, 100 * GBPS, PS_PER_US), &c);
    for (uint32_t r = 0; r < ROUNDS; r++)
        add_round(s, (int64_t)r * (40 * PS_PER_MS + 12345 * PS_PER_NS), is_incast);
    set_skipping(s, &rule);
    fix_run(s);
    cr_assert(!c.has_window || skip_stats(s).skips > 0, "%s", config_cc_name(cc));
    cr_assert(is_incast || skip_stats(s).skips > 0, "%s", config_cc_name(cc));
    for (uint32_t f = ROUND_FLOWS; f < ROUNDS * ROUND_FLOWS; f++)
        cr_assert_eq(fix_fct(s, f), fix_fct(s, f % ROUND_FLOWS), "%s: flow %u", config_cc_name(cc),
                     f);
    sim_destroy(s);
}

Test(skip, the_same_flows_again_take_the_same_time)
{
    for (size_t i = 0; i < CONTROL_COUNT; i++)
        for (int is_incast = 0; is_incast < 2; is_incast++)
            repeat(controls[i], is_incast);
}

/* ---- identity ---- */

#define CHAIN_FLOWS 30u /* that hooks add */

static void on_complete(void *ctx, struct sim *s, uint32_t flow, int64_t now_ps)
{
    const struct flow_spec *f = sim_flow_spec(s, flow);
    const uint64_t draw = rng_u64(5, 6, flow);
    const uint32_t hosts = sim_topo(s)->host_count;
    struct flow_spec next = *f;
    uint32_t *left = ctx;

    if (!*left)
        return;
    --*left;
    next.src = f->dst;
    next.dst = (f->dst + 1 + rng_below(draw, hosts - 1)) % hosts;
    next.bytes = (1 + (int64_t)(draw % 4)) * MB;
    next.start_ps = now_ps + (int64_t)(draw >> 40) % 3 * 333333;
    next.sport = 0;
    cr_assert_eq(sim_add_flow(s, &next, NULL), 0);
}

struct outcome {
    uint64_t digest, joins;
    struct sim_skip_stats skips;
};

static struct outcome run_as(struct sim *s, uint32_t threads, int reacts)
{
    uint32_t left = CHAIN_FLOWS;
    const struct sim_hooks hooks = {.ctx = &left, .on_complete = on_complete};
    struct sim_engine_stats stats;
    struct steady rule;
    struct outcome o;

    cr_assert_eq(sim_set_engine(s, &(struct sim_engine){.threads = threads}), 0);
    cr_assert_eq(sim_set_probe(s, &(struct sim_probe){.shares_all = 1}), 0);
    if (reacts)
        sim_set_hooks(s, &hooks);
    set_skipping(s, &rule);
    fix_run(s);
    cr_assert(fix_all_done(s));
    sim_engine_stats(s, &stats);
    o = (struct outcome){fix_digest(s), stats.joins, skip_stats(s)};
    sim_destroy(s);
    return o;
}

/* Flows that start in the middle of skips of others, at times that are no multiples of anything. */
static struct sim *make_interrupted(enum cc_kind cc)
{
    struct sim_config c = config(cc);
    struct sim *s;

    c.ack = ACK_CHARGED; /* so that not all are one partition */
    s = fix_sim(fix_leaf_spine(3, 2, 3, 100 * GBPS, PS_PER_US), &c);
    for (uint32_t i = 0; i < 9; i++)
        fix_flow(s, i, (i + 1) % 9, (4 + (int64_t)i) * MB, 0);
    for (uint32_t i = 0; i < 12; i++)
        fix_flow(s, i % 9, (i + 4) % 9, MB, (int64_t)(i + 1) * 77777777 + 13);
    return s;
}

Test(skip, threads_and_interruptions_do_not_change_results)
{
    static const uint32_t threads[] = {2, 4};

    for (size_t i = 0; i < CONTROL_COUNT; i++)
        for (int reacts = 0; reacts < 2; reacts++) {
            const struct outcome one = run_as(make_interrupted(controls[i]), 1, reacts);

            cr_assert_gt(one.skips.skips, 0);
            cr_assert(!config(controls[i]).has_window || one.joins > 0);
            for (size_t k = 0; k < sizeof threads / sizeof *threads; k++) {
                const struct outcome o = run_as(make_interrupted(controls[i]), threads[k], reacts);

                cr_assert_eq(o.digest, one.digest, "%s, %u threads", config_cc_name(controls[i]),
                             threads[k]);
                cr_assert(!memcmp(&o.skips, &one.skips, sizeof o.skips), "%s, %u threads",
                          config_cc_name(controls[i]), threads[k]);
            }
        }
}

/* ---- random scenarios ---- */

#define SEEDS 60u
#define PROBES 20u

static void probe_invariants(void *arg, struct sim *s)
{
    const uint64_t *seed = arg;
    struct err_info e = {0};

    cr_assert_eq(sim_check_invariants(s, &e), 0, "seed %lu, at %ld ps: %s", (unsigned long)*seed,
                 (long)sim_now_ps(s), e.text);
}

/* Random, with flows long enough to be skipped, which begin among the short ones and later. */
static struct sim *make_random(uint64_t *seed)
{
    struct sim *s = random_sim(*seed, &(struct random_kind){0});
    const uint32_t hosts = sim_topo(s)->host_count;

    for (uint32_t i = 0; i < 3; i++) {
        const uint64_t draw = rng_u64(*seed, 79, i);
        const uint32_t src = (uint32_t)(draw % hosts);

        fix_flow(s, src, (src + 1 + rng_below(draw >> 8, hosts - 1)) % hosts, 2 * MB,
                 (int64_t)i * 150 * PS_PER_US);
    }
    for (uint32_t i = 0; i < PROBES; i++)
        cr_assert_eq(sim_schedule(s, (int64_t)rng_below(rng_u64(*seed, 78, i), 1000) * 1777777,
                                  probe_invariants, seed),
                     0);
    cr_assert_eq(sim_schedule(s, 1000 * PS_PER_S, probe_invariants, seed), 0);
    return s;
}

static struct outcome run_random(uint64_t seed, uint32_t threads)
{
    struct sim *s = make_random(&seed);
    struct steady rule;
    struct outcome o = {0};

    cr_assert_eq(sim_set_engine(s, &(struct sim_engine){.threads = threads}), 0);
    cr_assert_eq(sim_set_probe(s, &(struct sim_probe){.shares_all = 1}), 0);
    set_skipping(s, &rule);
    fix_run(s);
    for (uint32_t f = 0; f < sim_flow_count(s); f++) {
        const struct flow_result *r = sim_flow_result(s, f);

        /* a lossy buffer without a window may never get a flow through */
        cr_assert(r->state == FLOW_DONE || (r->state == FLOW_STALLED && !s->cfg.has_window),
                  "seed %lu: flow %u ends in state %u", (unsigned long)seed, f, r->state);
        cr_assert(r->state == FLOW_STALLED || r->acked_bytes == sim_flow_spec(s, f)->bytes);
    }
    o = (struct outcome){.digest = fix_digest(s), .skips = skip_stats(s)};
    sim_destroy(s);
    return o;
}

Test(skip, random_scenarios_keep_their_invariants)
{
    uint64_t skips = 0;

    for (uint64_t seed = 21001; seed < 21001 + SEEDS; seed++) {
        const struct outcome one = run_random(seed, 1);

        skips += one.skips.skips;
        for (uint32_t threads = 2; threads <= 4; threads += 2)
            cr_assert_eq(run_random(seed, threads).digest, one.digest, "seed %lu, %u threads",
                         (unsigned long)seed, threads);
    }
    cr_assert_gt(skips, SEEDS, "%lu skips", (unsigned long)skips);
}
