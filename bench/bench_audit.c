/*
 * bench_audit.c - is what audits say of the error of skipping true?
 *
 * Random scenarios, one a seed: star, dumbbell, leaf-spine or fat tree, 25 to 400 Gb/s, any
 * congestion control, incasts, permutations or random pairs of flows of 1 to 60 MB that start
 * together or not; those in which nothing is skipped are left out. Each runs without skipping, with
 * it and with audits, and disturbed without skipping (perturb.h), for the noise floor. What is
 * counted: how often the error of the mean FCT lies inside of the audit's 95 % interval.
 *
 *   skips, audited   of the run
 *   skipped_pct      of the time of flows
 *   error            of the mean FCT, per cent of that without skipping
 *   estimate         what the audit takes it for
 *   low, high        the ends of its interval; of no interval 0
 *   floor            largest change of the mean FCT in the disturbed runs, magnitude
 *   cost             events executed for audits, per event of the run without skipping
 *   inside           yes or NO; none: too little was audited for an interval
 *
 * With --rounds the flows of a scenario come again and again, each time a little earlier or later,
 * and run with skipping and the fcg lens. The error is that to the same run without a memo, and
 * estimate, low and high are what the audits of hits take it for; the floor is with skipping; all_*
 * are those of skips and hits together, beside the run in which every packet is executed.
 *
 *   bench_audit [--first SEED] [--count N] [--audit SHARE] [--runs N] [--rounds 0 or 1] [--summary]
 *               [--require N]
 *     --count: scenarios; --runs: disturbed ones; --summary: no rows of single scenarios;
 *     --require: exit code 1 if fewer are inside
 */
#include "flowgen.h"
#include "measure.h"
#include "memo.h"
#include "perturb.h"
#include "rng.h"
#include "scenario.h"
#include "steady.h"
#include "topogen.h"
#include "units.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GBPS INT64_C(1000000000)
#define MBPS INT64_C(1000000)
#define MB INT64_C(1000000)
#define FLOWS_MAX 24u
#define RUNS_MAX 32u
#define CONTENDED_HALF 5e-4

/* ---- scenarios ---- */

struct draws {
    uint64_t seed, count;
};

static uint32_t below(struct draws *d, uint32_t bound)
{
    return rng_below(rng_u64(d->seed, 81, d->count++), bound);
}

static int64_t pick(struct draws *d, const int64_t *values, uint32_t count)
{
    return values[below(d, count)];
}
#define PICK(d, ...)                                                                               \
    pick(d, (const int64_t[]){__VA_ARGS__},                                                        \
         sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

static void draw_config(struct draws *d, struct sim_config *c)
{
    static const enum cc_kind kinds[] = {CC_HPCC, CC_DCQCN, CC_TIMELY, CC_DCTCP, CC_SWIFT};

    c->cc = kinds[below(d, 5)];
    config_ecn_defaults(c);
    c->has_window = c->cc != CC_DCQCN && c->cc != CC_TIMELY;
    c->hpcc.ai_bps = PICK(d, 40, 400) * MBPS;
    c->ack = (enum ack_mode)PICK(d, ACK_PRIORITY, ACK_PRIORITY, ACK_BYPASS, ACK_CHARGED);
    c->seed = d->seed;
}

static int draw_net(struct draws *d, struct topo **out, struct err_info *e)
{
    static const enum topo_kind kinds[] = {TOPO_SINGLE_SWITCH, TOPO_DUMBBELL, TOPO_LEAF_SPINE,
                                           TOPO_FAT_TREE};
    struct topo_spec spec;

    topo_spec_init(&spec, kinds[below(d, 4)]);
    spec.host_link = (struct link_class){PICK(d, 25, 100, 100, 400) * GBPS,
                                         PICK(d, 500, 1000, 5000) * PS_PER_NS, 0};
    spec.k = 4;
    spec.hosts = spec.kind == TOPO_LEAF_SPINE ? 0 : 2 * (1 + below(d, 5));
    spec.leaves = 2 + below(d, 2);
    spec.hosts_per_leaf = 2 + below(d, 2);
    spec.spines = 1 + below(d, 2);
    if (spec.kind == TOPO_FAT_TREE)
        spec.hosts = 0;
    return topo_generate(&spec, out, e);
}

enum pattern { INCAST, SHIFT, PAIRS, PATTERN_COUNT };

static int draw_flows(struct draws *d, struct scenario *sc)
{
    const uint32_t hosts = sc->topo->host_count;
    const enum pattern pattern = (enum pattern)below(d, PATTERN_COUNT);
    const uint32_t count = 1 + below(d, hosts < 9 ? hosts : 9);
    const int64_t bytes = PICK(d, 1, 3, 10, 30) * MB;
    const int64_t stagger_us = PICK(d, 0, 0, 20, 300);
    const int is_mixed = below(d, 3) == 0;
    int rc = 0;

    for (uint32_t i = 0; !rc && i < count; i++) {
        struct flow_spec f = {.start_ps = (int64_t)(i * (uint64_t)stagger_us) * PS_PER_US,
                              .bytes = is_mixed ? bytes * (1 + below(d, 4)) / 2 : bytes,
                              .dport = 100,
                              .prio = 3};

        f.src = pattern == PAIRS ? below(d, hosts) : i % hosts;
        if (pattern == INCAST)
            f.src = 1 + i % (hosts - 1);
        f.dst = pattern == INCAST  ? 0
                : pattern == SHIFT ? (f.src + hosts / 2) % hosts
                                   : (f.src + 1 + below(d, hosts - 1)) % hosts;
        rc = scenario_add_flow(sc, &f);
    }
    return rc;
}

/* What one host needs for all bytes of a round, and half as much again. */
static int64_t round_ps(const struct scenario *sc, uint32_t flows)
{
    int64_t rate_bps = INT64_MAX, bytes = 0;

    for (uint32_t k = 0; k < sc->topo->class_count; k++)
        if (sc->topo->classes[k].rate_bps < rate_bps)
            rate_bps = sc->topo->classes[k].rate_bps;
    for (uint32_t i = 0; i < flows; i++)
        bytes += sc->flows[i].bytes;
    return (int64_t)((double)bytes * 12 / (double)rate_bps * 1e12) + 200 * PS_PER_US;
}

/* The flows again and again, in most scenarios after the last have ended; each starts up to @jitter
 * later. */
static int draw_rounds(struct draws *d, struct scenario *sc)
{
    const uint32_t flows = sc->flow_count, rounds = 6 + below(d, 15);
    const int64_t jitter_ns = PICK(d, 0, 500, 5000, 40000);
    int64_t gap_ps = round_ps(sc, flows) / 4;
    int rc = 0;

    if (below(d, 3) == 0)
        gap_ps /= 3;
    for (uint32_t i = 0; i < flows; i++)
        sc->flows[i].bytes /= 4; /* a scenario is to take a second */
    for (uint32_t i = flows; !rc && i < rounds * flows; i++) {
        struct flow_spec f = sc->flows[i % flows];

        f.start_ps += i / flows * gap_ps;
        if (jitter_ns)
            f.start_ps += below(d, (uint32_t)jitter_ns) * (int64_t)PS_PER_NS;
        rc = scenario_add_flow(sc, &f);
    }
    return rc ? rc : flows_sort(sc->flows, sc->flow_count);
}

static int build(uint64_t seed, int has_rounds, struct scenario *sc, struct err_info *e)
{
    struct draws d = {seed, 0};
    int rc;

    scenario_init(sc);
    draw_config(&d, &sc->cfg);
    rc = draw_net(&d, &sc->topo, e);
    if (!rc)
        rc = draw_flows(&d, sc);
    return rc || !has_rounds ? rc : draw_rounds(&d, sc);
}

/* ---- runs ---- */

struct options {
    uint64_t first;
    uint32_t count, runs, required;
    double share;
    int is_summary, has_rounds;
};

struct run {
    uint64_t seed;
    uint32_t disturbance; /* 0: none */
    int skips, has_rounds, has_memo;
    double share; /* audited */
};

struct outcome {
    double mean_s, sum_s, events, cpu_s;
    uint32_t flows;
    enum cc_kind cc;
    struct sim_skip_stats skip;
    struct sim_audit_stats audit;
};

static void look(const struct sim *s, struct outcome *o)
{
    struct sim_counters c;

    sim_counters(s, &c);
    sim_skip_stats(s, &o->skip);
    sim_audit_stats(s, &o->audit);
    o->events = (double)c.events;
    o->flows = sim_flow_count(s);
    o->cc = sim_config(s)->cc;
    for (uint32_t i = 0; i < o->flows; i++) {
        const struct flow_result *r = sim_flow_result(s, i);

        check(r->state == FLOW_DONE, "flow %u is unfinished", i);
        o->sum_s += (double)(r->end_ps - r->start_ps) * 1e-12;
    }
    o->mean_s = o->sum_s / o->flows;
}

static int set_skipping(const struct run *r, struct sim *s, struct steady *rule, struct err_info *e)
{
    struct watch_ops watch;
    int rc = steady_init(rule, sim_config(s), &(struct detect_spec){.cc = CC_NONE}, e);

    if (rc)
        return rc;
    steady_ops(rule, &watch);
    rc = sim_set_watch(s, &watch);
    return rc ? rc : sim_set_audit(s, r->share);
}

static int set_memo(struct memo **memo, struct sim *s, struct err_info *e)
{
    const struct memo_options mo = {.worker_count = 1, .lens = MEMO_FCG};
    struct memo_ops ops;
    const int rc = memo_create(memo, &mo, e);

    if (rc)
        return rc;
    memo_ops(*memo, &ops);
    return sim_set_memo(s, &ops);
}

static int run_once(const struct run *r, struct outcome *o, struct err_info *e)
{
    struct scenario sc;
    struct steady rule;
    struct memo *memo = NULL;
    struct sim *s = NULL;
    int rc = build(r->seed, r->has_rounds, &sc, e);

    *o = (struct outcome){.flows = 0};
    if (!rc) {
        const struct perturb p = perturb_of(&sc, r->disturbance);

        perturb_scenario(&p, &sc);
        rc = scenario_make_sim(&sc, NULL, &s, e);
    }
    if (!rc && r->skips)
        rc = set_skipping(r, s, &rule, e);
    if (!rc && r->has_memo)
        rc = set_memo(&memo, s, e);
    o->cpu_s = measure_cpu_s();
    if (!rc)
        rc = sim_run(s, TIME_NEVER);
    o->cpu_s = measure_cpu_s() - o->cpu_s;
    if (!rc)
        look(s, o);
    sim_destroy(s);
    memo_destroy(memo);
    scenario_fini(&sc);
    return rc;
}

/* ---- rows ---- */

struct tally {
    uint32_t scenarios, bounded, inside, contended, contended_inside;
    uint32_t all_inside;  /* with --rounds: of skips and hits together */
    double *half, *floor; /* of contended ones, per cent; shape: [contended] */
};

/* Flows alone: an audit finds no chance in them. */
static int is_contended(const struct sim_audit_stats *a, double floor)
{
    return a->high - a->low > 2 * CONTENDED_HALF || floor > CONTENDED_HALF;
}

static void note(struct tally *t, const struct sim_audit_stats *a, double floor, int is_inside)
{
    t->scenarios++;
    t->bounded += a->has_bounds;
    t->inside += (uint32_t)is_inside;
    if (!a->has_bounds || !is_contended(a, floor))
        return;
    t->half[t->contended] = 50 * (a->high - a->low);
    t->floor[t->contended++] = 100 * floor;
    t->contended_inside += (uint32_t)is_inside;
}

/* The run that is judged, the one it is compared with, and the change that chance makes to it. */
struct triple {
    struct outcome judged, plain;
    double floor, error;
};

static double change_of(const struct outcome *o, const struct outcome *plain)
{
    return o->mean_s / plain->mean_s - 1;
}

static int run_triple(const struct options *o, uint64_t seed, struct triple *t, struct err_info *e)
{
    struct run r = {.seed = seed, .skips = o->has_rounds, .has_rounds = o->has_rounds};
    struct outcome other;
    int rc = run_once(&r, &t->plain, e);

    t->floor = 0;
    for (r.disturbance = 1; !rc && r.disturbance <= o->runs; r.disturbance++) {
        rc = run_once(&r, &other, e);
        if (!rc && fabs(change_of(&other, &t->plain)) > t->floor)
            t->floor = fabs(change_of(&other, &t->plain));
    }
    t->error = change_of(&t->judged, &t->plain);
    return rc;
}

static void report_run(struct report *r, uint64_t seed, const struct triple *t,
                       const struct sim_audit_stats *a, int is_inside)
{
    const struct outcome *j = &t->judged;
    char name[32];

    snprintf(name, sizeof name, "%lu", (unsigned long)seed);
    report_text(r, "seed", name);
    report_text(r, "cc", config_cc_name(j->cc));
    report_number(r, "flows", j->flows);
    report_number(r, "skips", (double)j->skip.skips);
    report_number(r, "audited", (double)a->audited);
    report_number(r, "skipped_pct", 100 * j->skip.skipped_flow_s / j->skip.flow_s);
    report_number(r, "fct_us", 1e6 * t->plain.mean_s);
    report_number(r, "error", 100 * t->error);
    report_number(r, "estimate", 100 * a->error);
    report_number(r, "low", 100 * a->low);
    report_number(r, "high", 100 * a->high);
    report_number(r, "floor", 100 * t->floor);
    report_number(r, "cost", (double)a->events / t->plain.events);
    report_text(r, "inside", is_inside ? "yes" : a->has_bounds ? "NO" : "none");
}

static int is_within(const struct sim_audit_stats *a, double error)
{
    return a->has_bounds && error >= a->low && error <= a->high;
}

/* Beside the run in which every packet is executed. */
static int report_all(struct report *r, const struct options *o, uint64_t seed,
                      const struct triple *t, struct tally *y, struct err_info *e)
{
    const struct sim_audit_stats *a = &t->judged.audit;
    struct outcome every;
    const int rc = run_once(&(struct run){.seed = seed, .has_rounds = 1}, &every, e);
    const double error = rc ? 0 : change_of(&t->judged, &every);

    if (rc)
        return rc;
    y->all_inside += (uint32_t)is_within(a, error);
    if (o->is_summary)
        return 0;
    report_number(r, "hits", (double)a->fcg.hits);
    report_number(r, "all_error", 100 * error);
    report_number(r, "all_estimate", 100 * a->error);
    report_number(r, "all_low", 100 * a->low);
    report_number(r, "all_high", 100 * a->high);
    report_text(r, "all_inside", is_within(a, error) ? "yes" : a->has_bounds ? "NO" : "none");
    return 0;
}

static int measure(struct report *r, const struct options *o, uint64_t seed, struct tally *y,
                   struct err_info *e)
{
    const struct run judged = {.seed = seed,
                               .skips = 1,
                               .share = o->share,
                               .has_rounds = o->has_rounds,
                               .has_memo = o->has_rounds};
    struct sim_audit_stats a;
    struct triple t;
    int rc = run_once(&judged, &t.judged, e);

    a = t.judged.audit;
    if (rc || !(o->has_rounds ? a.fcg.hits : t.judged.skip.skips))
        return rc;
    rc = run_triple(o, seed, &t, e);
    if (rc)
        return rc;
    if (o->has_rounds) {
        a.audited = a.fcg.audited;
        a.error = a.fcg.error;
        a.low = a.fcg.low;
        a.high = a.fcg.high;
    }
    note(y, &a, t.floor, is_within(&a, t.error));
    if (!o->is_summary)
        report_run(r, seed, &t, &a, is_within(&a, t.error));
    if (o->has_rounds)
        rc = report_all(r, o, seed, &t, y, e);
    if (!o->is_summary)
        report_row(r);
    return rc;
}

/* ---- options ---- */

static int parse_option(const char *key, const char *value, struct options *o)
{
    char *end;
    const double x = strtod(value, &end);

    if (*end || end == value || !(x >= 0 && x <= 1e9))
        return WH_ERR_INPUT;
    if (!strcmp(key, "--first"))
        o->first = (uint64_t)x;
    else if (!strcmp(key, "--count"))
        o->count = (uint32_t)x;
    else if (!strcmp(key, "--require"))
        o->required = (uint32_t)x;
    else if (!strcmp(key, "--runs") && x <= RUNS_MAX)
        o->runs = (uint32_t)x;
    else if (!strcmp(key, "--rounds") && x <= 1)
        o->has_rounds = x > 0;
    else if (!strcmp(key, "--audit") && x <= 1)
        o->share = x;
    else
        return WH_ERR_INPUT;
    return 0;
}

static int parse_options(int argc, char **argv, struct options *o)
{
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--summary"))
            o->is_summary = 1;
        else if (i + 1 < argc && !parse_option(argv[i], argv[i + 1], o))
            i++;
        else
            return measure_unknown(argv[i],
                                   "bench_audit [--first SEED] [--count N] [--audit SHARE] "
                                   "[--runs N] [--rounds 0 or 1] [--summary] [--require N]");
    }
    return 0;
}

static void say(const struct measure_options *o, int has_rounds, struct tally *t)
{
    struct spread half = {0, 0, 0}, floor = {0, 0, 0};

    if (t->contended) {
        half = measure_spread(t->half, t->contended);
        floor = measure_spread(t->floor, t->contended);
    }
    if (!o->json)
        printf("inside: %u of %u with an interval, of %u; where flows contend %u of %u, half of "
               "the interval %.2g %%, noise floor %.2g %% (medians)\n",
               t->inside, t->bounded, t->scenarios, t->contended_inside, t->contended, half.median,
               floor.median);
    if (!o->json && has_rounds)
        printf("skips and hits together: %u of %u inside\n", t->all_inside, t->scenarios);
    free(t->half);
    free(t->floor);
}

int main(int argc, char **argv)
{
    struct options own = {.first = 1, .count = 100, .runs = 3, .share = 1};
    struct measure_options o;
    struct err_info e = {.text = ""};
    struct tally t = {.scenarios = 0};
    struct report r;
    int rc = 0;

    if (measure_parse(&o, &argc, argv))
        return 2;
    if (o.quick)
        own.count = 5;
    if (parse_options(argc, argv, &own))
        return 2;
    t.half = calloc(own.count + 1, sizeof *t.half);
    t.floor = calloc(own.count + 1, sizeof *t.floor);
    check(t.half && t.floor, "out of memory for %u scenarios", own.count);
    report_begin(&r, "audit", &o);
    for (uint64_t seed = own.first; !rc && t.scenarios < own.count; seed++)
        rc = measure(&r, &own, seed, &t, &e);
    report_end(&r);
    say(&o, own.has_rounds, &t);
    if (rc)
        fprintf(stderr, "bench_audit: %s\n", e.text[0] ? e.text : err_text(rc));
    return rc == WH_ERR_INPUT ? 2 : rc || t.inside < own.required;
}
