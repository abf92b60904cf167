/*
 * test_audit.c - audits of skips: they change nothing, and find what is off. How good their
 * interval is on random scenarios is measured by bench/bench_audit.c.
 */
#include "memo.h"
#include "rng.h"
#include "sim_fixture.h"
#include "steady.h"
#include "units.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MB INT64_C(1000000)

static const enum cc_kind controls[] = {CC_HPCC, CC_DCQCN, CC_TIMELY, CC_DCTCP, CC_SWIFT};
#define CONTROL_COUNT (sizeof controls / sizeof *controls)

static struct sim_config config(enum cc_kind cc)
{
    struct sim_config c = fix_config(cc);

    config_ecn_defaults(&c);
    c.has_window = cc != CC_DCQCN && cc != CC_TIMELY;
    c.int_reset_idle = 1;
    c.hpcc.ai_bps = 400 * INT64_C(1000000);
    return c;
}

static void watch_of(struct sim *s, struct steady *rule, struct watch_ops *out)
{
    cr_assert_eq(steady_init(rule, sim_config(s), &(struct detect_spec){.cc = CC_NONE}, NULL), 0);
    steady_ops(rule, out);
}

static struct sim_audit_stats stats_of(const struct sim *s)
{
    struct sim_audit_stats a;

    sim_audit_stats(s, &a);
    return a;
}

static double mean_fct(const struct sim *s)
{
    double sum = 0;

    for (uint32_t f = 0; f < sim_flow_count(s); f++)
        sum += (double)fix_fct(s, f);
    return sum / sim_flow_count(s);
}

/* ---- nothing changes ---- */

/* Flows of all lengths, alone and not, which start during skips of others. */
static struct sim *make_mixed(enum cc_kind cc)
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

/* Another flow of the same size when one ends: what comes is in the memo. */
static void go_on(void *ctx, struct sim *s, uint32_t flow, int64_t now_ps)
{
    uint32_t *left = ctx;
    struct flow_spec next = *sim_flow_spec(s, flow);

    if (!*left)
        return;
    --*left;
    next.start_ps = now_ps + PS_PER_US;
    cr_assert_eq(sim_add_flow(s, &next, NULL), 0);
}

struct outcome {
    uint64_t digest;
    struct sim_counters counters;
    struct sim_skip_stats skips;
    struct sim_memo_stats memo;
    struct sim_audit_stats audit;
};

static struct outcome run_mixed(enum cc_kind cc, uint32_t threads, int reacts, double share)
{
    struct sim *s = make_mixed(cc);
    uint32_t left = 20;
    const struct sim_hooks hooks = {.ctx = &left, .on_complete = go_on};
    const struct memo_options mo = {.worker_count = threads};
    struct memo *memo = NULL;
    struct memo_ops memo_operations;
    struct watch_ops watch;
    struct steady rule;
    struct outcome o;

    memset(&o, 0, sizeof o);
    cr_assert_eq(sim_set_engine(s, &(struct sim_engine){.threads = threads}), 0);
    cr_assert_eq(sim_set_probe(s, &(struct sim_probe){.shares_all = 1}), 0);
    if (reacts) {
        sim_set_hooks(s, &hooks);
        cr_assert_eq(memo_create(&memo, &mo, NULL), 0);
        memo_ops(memo, &memo_operations);
        cr_assert_eq(sim_set_memo(s, &memo_operations), 0);
    }
    watch_of(s, &rule, &watch);
    cr_assert_eq(sim_set_watch(s, &watch), 0);
    cr_assert_eq(sim_set_audit(s, share), 0);
    fix_run(s);
    cr_assert(fix_all_done(s));
    o.digest = fix_digest(s);
    o.counters = fix_counters(s);
    sim_skip_stats(s, &o.skips);
    sim_memo_stats(s, &o.memo);
    sim_audit_stats(s, &o.audit);
    sim_destroy(s);
    memo_destroy(memo);
    return o;
}

static void require_same(const struct outcome *a, const struct outcome *b, const char *what)
{
    cr_assert_eq(a->digest, b->digest, "%s: results", what);
    cr_assert(!memcmp(&a->counters, &b->counters, sizeof a->counters), "%s: counters", what);
    cr_assert(!memcmp(&a->skips, &b->skips, sizeof a->skips), "%s: skips", what);
    cr_assert(!memcmp(&a->memo, &b->memo, sizeof a->memo), "%s: memo", what);
}

Test(audit, changes_nothing_but_its_own_figures)
{
    static const double shares[] = {1, 0.3};
    uint64_t audited = 0;

    for (size_t i = 0; i < CONTROL_COUNT; i++)
        for (int reacts = 0; reacts < 2; reacts++) {
            const struct outcome none = run_mixed(controls[i], 1, reacts, 0);

            cr_assert(none.skips.skips > 0 && !none.audit.audited && !none.audit.events);
            for (size_t k = 0; k < sizeof shares / sizeof *shares; k++) {
                const struct outcome one = run_mixed(controls[i], 1, reacts, shares[k]);
                const struct outcome four = run_mixed(controls[i], 4, reacts, shares[k]);

                require_same(&one, &none, config_cc_name(controls[i]));
                require_same(&four, &none, config_cc_name(controls[i]));
                cr_assert(!memcmp(&one.audit, &four.audit, sizeof one.audit),
                          "%s: audits depend on threads", config_cc_name(controls[i]));
                cr_assert(shares[k] < 1 || one.audit.audited == one.audit.skips ||
                              (reacts && one.audit.audited > 0),
                          "%s: %lu of %lu", config_cc_name(controls[i]),
                          (unsigned long)one.audit.audited, (unsigned long)one.audit.skips);
                cr_assert(shares[k] >= 1 || one.audit.audited < one.audit.skips);
                cr_assert_eq(one.audit.hits_wrong, 0);
                audited += one.audit.audited;
            }
        }
    cr_assert_gt(audited, 50, "%lu skips", (unsigned long)audited);
}

Test(audit, shares_beyond_all_are_refused)
{
    struct sim *s = make_mixed(CC_DCTCP);

    cr_assert_eq(sim_set_audit(s, 1.01), WH_ERR_INPUT);
    cr_assert_eq(sim_set_audit(s, -0.1), WH_ERR_INPUT);
    cr_assert_eq(sim_set_audit(s, (double)NAN), WH_ERR_INPUT);
    fix_run(s);
    cr_assert_eq(sim_set_audit(s, 1), WH_ERR_STATE);
    cr_assert(!stats_of(s).has_estimate && stats_of(s).error == 0);
    sim_destroy(s);
}

/* ---- what is off is found ---- */

/* A watch that gives flows too little or too much. */
static void (*true_skip_bytes)(const void *watch, int64_t elapsed_ps, int64_t *out);
static double factor;
static uint32_t factor_flows, factor_packet;

static void false_skip_bytes(const void *watch, int64_t elapsed_ps, int64_t *out)
{
    true_skip_bytes(watch, elapsed_ps, out);
    for (uint32_t i = 0; i < factor_flows; i++)
        out[i] = llrint((double)out[i] * factor / factor_packet) * factor_packet;
}

struct world {
    enum cc_kind cc;
    uint32_t flows;
    int is_incast;
    int64_t bytes;
};

static struct sim *make_world(const struct world *w)
{
    const struct sim_config c = config(w->cc);
    struct sim *s = fix_sim(fix_star(w->flows + 1, 100 * GBPS, PS_PER_US), &c);

    for (uint32_t i = 0; i < w->flows; i++)
        fix_flow(s, i, w->is_incast ? w->flows : (i + 1) % (w->flows + 1), w->bytes, 0);
    return s;
}

/* Returns the mean FCT [ps]; @audit NULL: nothing is skipped. */
static double run_world(const struct world *w, double with_factor, struct sim_audit_stats *audit)
{
    struct sim *s = make_world(w);
    struct watch_ops watch;
    struct steady rule;
    double mean;

    if (audit) {
        watch_of(s, &rule, &watch);
        true_skip_bytes = watch.skip_bytes;
        factor = with_factor;
        factor_packet = sim_config(s)->payload_bytes;
        factor_flows = w->flows;
        if (with_factor != 1)
            watch.skip_bytes = false_skip_bytes;
        cr_assert_eq(sim_set_watch(s, &watch), 0);
        cr_assert_eq(sim_set_audit(s, 1), 0);
    }
    fix_run(s);
    cr_assert(fix_all_done(s));
    if (audit)
        *audit = stats_of(s);
    mean = mean_fct(s);
    sim_destroy(s);
    return mean;
}

Test(audit, of_lone_flows_says_what_their_skips_are_off_by)
{
    for (size_t i = 0; i < CONTROL_COUNT; i++) {
        const struct world w = {controls[i], 1, 0, 30 * MB};
        const double plain = run_world(&w, 1, NULL);
        struct sim_audit_stats a;
        const double error = run_world(&w, 1, &a) / plain - 1;
        const char *name = config_cc_name(controls[i]);

        cr_assert(a.has_estimate && a.has_bounds && a.audited == a.skips && a.skips > 0);
        cr_assert(a.events > 10000, "%s: %lu events", name, (unsigned long)a.events);
        cr_assert_float_eq(a.error, error, 1e-4, "%s: %g, estimated %g", name, error, a.error);
        cr_assert(error >= a.low && error <= a.high, "%s: %g is not from %g to %g", name, error,
                  a.low, a.high);
        cr_assert(a.low < 0 && a.high > 0, "%s: an interval of no width", name);
        cr_assert_lt(a.high - a.low, 5e-3, "%s: from %g to %g", name, a.low, a.high);
    }
}

Test(audit, finds_rates_that_are_wrong)
{
    static const double factors[] = {0.95, 0.99};
    uint32_t contended = 0;

    for (size_t i = 0; i < CONTROL_COUNT; i++)
        for (int is_incast = 0; is_incast < 2; is_incast++)
            for (size_t k = 0; k < sizeof factors / sizeof *factors; k++) {
                const struct world w = {controls[i], is_incast ? 3 : 1, is_incast, 20 * MB};
                const double plain = run_world(&w, 1, NULL);
                struct sim_audit_stats a;
                const double error = run_world(&w, factors[k], &a) / plain - 1;
                const double off = fabs(factors[k] - 1);

                if (is_incast && !a.skips)
                    continue;
                contended += (uint32_t)is_incast;
                cr_assert_gt(a.skips, 0);
                cr_assert(a.error * (1 - factors[k]) > 0 && fabs(a.error) > 0.3 * off,
                          "%s, incast %d, factor %g: estimated %g, true %g",
                          config_cc_name(controls[i]), is_incast, factors[k], a.error, error);
                cr_assert(is_incast || fabs(a.error - error) < 0.1 * off + 1e-4,
                          "%s, factor %g: estimated %g, true %g", config_cc_name(controls[i]),
                          factors[k], a.error, error);
            }
    cr_assert_geq(contended, 4, "%u incasts were skipped", contended);
}

/* ---- hits ---- */

/* A memo whose values say that episodes last a nanosecond longer. */
static struct memo_value (*true_insert)(void *ctx, uint64_t hash, const void *key, size_t key_bytes,
                                        const void *value, size_t value_bytes);

static struct memo_value false_insert(void *ctx, uint64_t hash, const void *key, size_t key_bytes,
                                      const void *value, size_t value_bytes)
{
    char *copy = malloc(value_bytes);
    struct memo_value v;
    int64_t global_ps;

    cr_assert(copy);
    memcpy(copy, value, value_bytes);
    memcpy(&global_ps, copy, sizeof global_ps); /* the first field of struct moved */
    global_ps += PS_PER_NS;
    memcpy(copy, &global_ps, sizeof global_ps);
    v = true_insert(ctx, hash, key, key_bytes, copy, value_bytes);
    free(copy);
    return v;
}

/* The same flow again and again. */
static struct sim_audit_stats run_rounds(int is_false, double share, uint64_t *digest)
{
    const struct sim_config c = config(CC_DCTCP);
    struct sim *s = fix_sim(fix_star(2, 100 * GBPS, PS_PER_US), &c);
    const struct memo_options mo = {.worker_count = 1};
    struct sim_audit_stats a;
    struct memo_ops ops;
    struct watch_ops watch;
    struct steady rule;
    struct memo *memo;

    for (uint32_t i = 0; i < 8; i++)
        fix_flow(s, 0, 1, MB, (int64_t)i * PS_PER_MS);
    watch_of(s, &rule, &watch);
    cr_assert_eq(sim_set_watch(s, &watch), 0);
    cr_assert_eq(memo_create(&memo, &mo, NULL), 0);
    memo_ops(memo, &ops);
    true_insert = ops.insert;
    if (is_false)
        ops.insert = false_insert;
    cr_assert_eq(sim_set_memo(s, &ops), 0);
    cr_assert_eq(sim_set_audit(s, share), 0);
    fix_run(s);
    a = stats_of(s);
    *digest = fix_digest(s);
    sim_destroy(s);
    memo_destroy(memo);
    return a;
}

Test(audit, of_hits_tells_right_from_wrong)
{
    uint64_t digest, without, other;
    const struct sim_audit_stats right = run_rounds(0, 1, &digest),
                                 wrong = run_rounds(1, 1, &other);
    const struct sim_audit_stats none = run_rounds(0, 0, &without);

    cr_assert(none.hits == 0 && digest == without, "audits of hits change results");

    cr_assert(right.hits == 7 && right.hits_wrong == 0, "%lu of %lu",
              (unsigned long)right.hits_wrong, (unsigned long)right.hits);
    cr_assert(wrong.hits == 7 && wrong.hits_wrong == 7, "%lu of %lu",
              (unsigned long)wrong.hits_wrong, (unsigned long)wrong.hits);
    /* what the leader's audit has found comes with its episode */
    cr_assert(right.skips == 8 && right.audited == 8, "%lu of %lu", (unsigned long)right.audited,
              (unsigned long)right.skips);
}
