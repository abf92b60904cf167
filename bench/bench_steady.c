/*
 * bench_steady.c - what skipping costs in accuracy and saves in events.
 *
 * Each scenario runs without skipping, with skipping, and disturbed without skipping (perturb.h):
 * flows that share a link are chaotic, so an error is to be read beside the noise floor, which is
 * what starts shifted by less than 100 ns change. All percentages are of the run without skipping.
 *
 * A row is one kind of scenario under one congestion control and size; a summary row pools those of
 * a class: alone (one flow at a time), chosen and check (the kinds that the rules of steady/ were
 * chosen on and checked on), own (of this program, which no window was chosen on), shared (the
 * last three together).
 *
 *   err_mean, err_p99    |FCT with - FCT without| / FCT without, over flows
 *   mfct_bias, mfct_abs  error of the mean FCT of a scenario; summary: signed mean, mean magnitude
 *   span_abs             the same of the makespan
 *   floor_...            of the disturbed runs: flows and runs pooled; mean FCT and makespan: a row
 *                        has the largest of the runs, a summary the mean
 *   u                    data packets a flow that were not skipped
 *   pass                 alone: no flow is off by more than 0.05 %; else err_mean <= max(0.5 %,
 *                        floor), err_p99 <= max(2 %, floor), mfct_abs and span_abs <= max(0.5 %,
 *                        floor)
 *
 *   bench_steady --sensitivity [--mb LIST] [--cc LIST]
 *     the same kinds with other budgets, windows and kappas, and with the paper's rule for several
 *     theta and l: a table of docs/validation.md, all congestion controls together, no disturbed
 *     runs; 20 MB unless told
 *
 *   bench_steady [--mb LIST] [--cc LIST] [--runs N] [--summary] [--markdown] [--window-us X]
 *                [--eps X] [--kappa X]
 *     lists with commas; --summary: no rows of single kinds; --markdown: the table of
 *     docs/validation.md; the last three override the rule's own
 */
#include "figures.h"
#include "flowgen.h"
#include "measure.h"
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
#define PRIO 3
#define LIST_MAX 16u
#define RUNS_MAX 32u

#define BAR_ALONE 0.0005
#define BAR_MEAN 0.005
#define BAR_P99 0.02

/* ---- scenarios ---- */

enum class { ALONE, CHOSEN, CHECK, OWN, CLASS_COUNT };
enum net { STAR, DUMBBELL, LEAF, CHAIN, TREE };
enum pattern { INCAST, PAIRS, PARKING, MIXED, PERMUTATION, RING, ALL_TO_ALL };

struct kind {
    const char *name;
    enum class class;
    enum net net;
    enum pattern pattern;
    uint32_t n;         /* flows of incasts and pairs; hosts of rings and all-to-all */
    const char *weight; /* digits: sizes of the flows in turn, relative; NULL: equal */
    int64_t stagger_us;
    int64_t rate_gbps, delay_us; /* 0: 100 Gb/s, 1 us */
    uint64_t seed;               /* of a permutation */
    uint8_t random_ports, charges_acks, is_quick;
};

/* The seeds are such that the largest component has 12 and 5 flows. */
static const struct kind kinds[] = {
    {.name = "lone", .class = ALONE, .net = STAR, .n = 1, .is_quick = 1},
    {.name = "lone-6-hops", .class = ALONE, .net = TREE, .pattern = PAIRS, .n = 1, .is_quick = 1},
    {.name = "lone-6-hops-charged",
     .class = ALONE,
     .net = TREE,
     .pattern = PAIRS,
     .n = 1,
     .charges_acks = 1},
    {.name = "lone-25g-5us", .class = ALONE, .net = STAR, .n = 1, .rate_gbps = 25, .delay_us = 5},
    {.name = "lone-400g", .class = ALONE, .net = STAR, .n = 1, .rate_gbps = 400},

    {.name = "incast-2", .class = CHOSEN, .net = STAR, .n = 2, .is_quick = 1},
    {.name = "incast-8", .class = CHOSEN, .net = STAR, .n = 8, .is_quick = 1},
    {.name = "incast-8-late", .class = CHOSEN, .net = STAR, .n = 8, .stagger_us = 1000},
    {.name = "unequal-4", .class = CHOSEN, .net = STAR, .n = 4, .weight = "1234"},
    {.name = "unequal-4-late",
     .class = CHOSEN,
     .net = STAR,
     .n = 4,
     .weight = "1234",
     .stagger_us = 200},
    {.name = "dumbbell-4-late",
     .class = CHOSEN,
     .net = DUMBBELL,
     .pattern = PAIRS,
     .n = 4,
     .stagger_us = 500},
    {.name = "parking-lot", .class = CHOSEN, .net = CHAIN, .pattern = PARKING, .n = 4},
    {.name = "uplink-2", .class = CHOSEN, .net = LEAF, .pattern = PAIRS, .n = 2},
    {.name = "component-12", .class = CHOSEN, .net = TREE, .pattern = PERMUTATION, .seed = 77},

    {.name = "incast-4", .class = CHECK, .net = STAR, .n = 4},
    {.name = "incast-16", .class = CHECK, .net = STAR, .n = 16},
    {.name = "incast-5-late",
     .class = CHECK,
     .net = STAR,
     .n = 5,
     .weight = "12",
     .stagger_us = 700},
    {.name = "unequal-6", .class = CHECK, .net = STAR, .n = 6, .weight = "123456"},
    {.name = "dumbbell-6-late",
     .class = CHECK,
     .net = DUMBBELL,
     .pattern = PAIRS,
     .n = 6,
     .stagger_us = 300},
    {.name = "component-5",
     .class = CHECK,
     .net = TREE,
     .pattern = PERMUTATION,
     .seed = 2,
     .random_ports = 1},

    {.name = "ring-8-charged",
     .class = OWN,
     .net = LEAF,
     .pattern = RING,
     .n = 8,
     .charges_acks = 1},
    {.name = "all-to-all-8", .class = OWN, .net = STAR, .pattern = ALL_TO_ALL, .n = 8},
    {.name = "incast-4-400g", .class = OWN, .net = STAR, .n = 4, .rate_gbps = 400},
    {.name = "incast-3-25g-5us",
     .class = OWN,
     .net = STAR,
     .n = 3,
     .weight = "213",
     .stagger_us = 1300,
     .rate_gbps = 25,
     .delay_us = 5},
    {.name = "mixed-rtt-4", .class = OWN, .net = TREE, .pattern = MIXED, .n = 4, .is_quick = 1},
    {.name = "dumbbell-3",
     .class = OWN,
     .net = DUMBBELL,
     .pattern = PAIRS,
     .n = 3,
     .weight = "321"},
};

struct control {
    const char *name;
    enum cc_kind cc;
    int64_t hpcc_ai_bps;
};

static const struct control controls[] = {
    {"hpcc", CC_HPCC, 40 * MBPS}, {"hpcc-400", CC_HPCC, 400 * MBPS},
    {"dcqcn", CC_DCQCN, 0},       {"timely", CC_TIMELY, 0},
    {"dctcp", CC_DCTCP, 0},       {"swift", CC_SWIFT, 0},
};

#define KIND_COUNT (sizeof kinds / sizeof *kinds)
#define CONTROL_COUNT (sizeof controls / sizeof *controls)

/* HPCC keeps its window; DCQCN and TIMELY have none, as in the reference's settings. */
static void configure(struct sim_config *c, const struct control *cc, const struct kind *k)
{
    c->cc = cc->cc;
    config_ecn_defaults(c);
    c->has_window = cc->cc != CC_DCQCN && cc->cc != CC_TIMELY;
    if (cc->hpcc_ai_bps)
        c->hpcc.ai_bps = cc->hpcc_ai_bps;
    c->ack = k->charges_acks ? ACK_CHARGED : ACK_PRIORITY;
}

/* @n switches in a row, hosts 2 i and 2 i + 1 on switch i. */
static int build_chain(uint32_t n, const struct link_class *link, struct topo **out)
{
    struct topo *t;
    int64_t row;
    int rc = topo_create(&t, 3 * n);

    if (rc)
        return rc;
    row = topo_add_class(t, link);
    for (uint32_t i = 0; row >= 0 && !rc && i < n; i++) {
        topo_set_kind(t, 2 * n + i, NODE_SWITCH);
        rc = topo_add_link(t, 2 * i, 2 * n + i, (uint32_t)row);
        if (!rc)
            rc = topo_add_link(t, 2 * i + 1, 2 * n + i, (uint32_t)row);
        if (!rc && i)
            rc = topo_add_link(t, 2 * n + i - 1, 2 * n + i, (uint32_t)row);
    }
    if (!rc)
        rc = row < 0 ? (int)row : topo_finish(t);
    if (rc)
        topo_destroy(t);
    else
        *out = t;
    return rc;
}

static int build_net(const struct kind *k, struct topo **out, struct err_info *e)
{
    static const enum topo_kind generated[] = {[STAR] = TOPO_SINGLE_SWITCH,
                                               [DUMBBELL] = TOPO_DUMBBELL,
                                               [LEAF] = TOPO_LEAF_SPINE,
                                               [TREE] = TOPO_FAT_TREE};
    const struct link_class link = {(k->rate_gbps ? k->rate_gbps : 100) * GBPS,
                                    (k->delay_us ? k->delay_us : 1) * PS_PER_US, 0};
    struct topo_spec spec;

    if (k->net == CHAIN)
        return build_chain(k->n, &link, out);
    topo_spec_init(&spec, generated[k->net]);
    spec.host_link = link;
    spec.hosts = k->net == DUMBBELL         ? 2 * k->n
                 : k->net == LEAF           ? 0
                 : k->pattern == ALL_TO_ALL ? k->n
                                            : k->n + 1;
    spec.k = 4;
    if (k->net == LEAF) { /* pairs share the only uplink; a ring has two spines */
        spec.leaves = k->pattern == RING ? k->n / 2 : 2;
        spec.hosts_per_leaf = 2;
        spec.spines = k->pattern == RING ? 2 : 1;
    }
    return topo_generate(&spec, out, e);
}

/* Source and destination of flow @i. */
static void find_ends(const struct kind *k, uint32_t i, uint32_t *src, uint32_t *dst)
{
    static const uint32_t mixed[] = {1, 2, 5, 9}; /* same edge, same pod, other pods */

    switch (k->pattern) {
    case PAIRS:
        *src = i;
        *dst = k->net == TREE ? 15 : i + (k->net == LEAF ? 2 : k->n);
        break;
    case PARKING: /* the first goes all the way, the others one link each */
        *src = i ? 2 * i - 1 : 0;
        *dst = i ? 2 * i : 2 * k->n - 1;
        break;
    case MIXED:
        *src = mixed[i];
        *dst = 0;
        break;
    default:
        *src = i + 1;
        *dst = 0;
        break;
    }
}

/* Mean size @bytes, whatever the weights. */
static int64_t weigh(const struct kind *k, uint32_t i, int64_t bytes)
{
    const uint32_t turns = k->weight ? (uint32_t)strlen(k->weight) : 0;
    int64_t sum = 0;

    if (!turns)
        return bytes;
    for (uint32_t f = 0; f < k->n; f++)
        sum += k->weight[f % turns] - '0';
    return bytes * (k->weight[i % turns] - '0') * k->n / sum;
}

static int add_flows(const struct kind *k, int64_t bytes, struct scenario *sc)
{
    int rc = 0;

    for (uint32_t i = 0; !rc && i < k->n; i++) {
        struct flow_spec f = {.start_ps = (int64_t)i * k->stagger_us * PS_PER_US,
                              .bytes = weigh(k, i, bytes),
                              .dport = 100,
                              .prio = PRIO};

        find_ends(k, i, &f.src, &f.dst);
        rc = scenario_add_flow(sc, &f);
    }
    return rc;
}

static int generate_flows(const struct kind *k, int64_t bytes, struct scenario *sc,
                          struct err_info *e)
{
    static const enum flow_pattern generated[] = {
        [PERMUTATION] = FLOWS_PERMUTATION, [RING] = FLOWS_RING, [ALL_TO_ALL] = FLOWS_ALL_TO_ALL};
    struct flow_request r;
    int rc;

    flow_request_init(&r, generated[k->pattern]);
    r.bytes = k->pattern == ALL_TO_ALL ? bytes / (k->n - 1) : bytes;
    r.seed = k->seed;
    rc = flows_generate(&r, sc->topo, sc, e);
    for (uint32_t i = 0; k->random_ports && !rc && i < sc->flow_count; i++)
        sc->flows[i].sport = (uint16_t)(1024 + rng_below(rng_u64(k->seed, 1, i), 60000));
    return rc;
}

/* ---- the largest component of a permutation ---- */

#define COMPONENT_FLOWS_MAX 64u
#define HOPS_MAX 64u

static int is_shared(const uint32_t *a, uint32_t a_count, const uint32_t *b, uint32_t b_count)
{
    for (uint32_t i = 0; i < a_count; i++)
        for (uint32_t j = 0; j < b_count; j++)
            if (a[i] == b[j])
                return 1;
    return 0;
}

/* @part[i]: a number that flows have in common if a chain of shared ports joins them. */
static void find_parts(const struct sim *s, uint32_t *part)
{
    const uint32_t flows = sim_flow_count(s);
    uint32_t port[COMPONENT_FLOWS_MAX][HOPS_MAX], count[COMPONENT_FLOWS_MAX];

    check(flows <= COMPONENT_FLOWS_MAX, "%u flows", flows);
    for (uint32_t i = 0; i < flows; i++) {
        count[i] = sim_flow_path(s, i, 0, port[i], HOPS_MAX);
        part[i] = i;
    }
    for (uint32_t i = 0; i < flows; i++)
        for (uint32_t j = 0; j < i; j++) {
            const uint32_t from = part[i], to = part[j];

            if (from == to || !is_shared(port[i], count[i], port[j], count[j]))
                continue;
            for (uint32_t f = 0; f < flows; f++)
                part[f] = part[f] == from ? to : part[f];
        }
}

static void keep_largest(struct scenario *sc, const uint32_t *part)
{
    uint32_t size[COMPONENT_FLOWS_MAX] = {0}, best = 0, kept = 0;

    for (uint32_t i = 0; i < sc->flow_count; i++)
        best = ++size[part[i]] > size[best] ? part[i] : best;
    for (uint32_t i = 0; i < sc->flow_count; i++)
        if (part[i] == best)
            sc->flows[kept++] = sc->flows[i];
    sc->flow_count = kept;
}

static int build(const struct kind *k, const struct control *cc, int64_t bytes, struct scenario *sc,
                 struct err_info *e);

/* Paths are known once flows run: a byte each. */
static int keep_component(const struct kind *k, const struct control *cc, struct scenario *sc,
                          struct err_info *e)
{
    struct kind all = *k;
    struct scenario tiny;
    struct sim *s = NULL;
    uint32_t part[COMPONENT_FLOWS_MAX];
    int rc;

    all.class = CLASS_COUNT; /* no component of the component */
    rc = build(&all, cc, 1, &tiny, e);
    if (!rc)
        rc = scenario_make_sim(&tiny, NULL, &s, e);
    if (!rc)
        rc = sim_run(s, TIME_NEVER);
    if (!rc) {
        find_parts(s, part);
        keep_largest(sc, part);
    }
    sim_destroy(s);
    scenario_fini(&tiny);
    return rc;
}

static int build(const struct kind *k, const struct control *cc, int64_t bytes, struct scenario *sc,
                 struct err_info *e)
{
    int rc;

    scenario_init(sc);
    configure(&sc->cfg, cc, k);
    rc = build_net(k, &sc->topo, e);
    if (!rc)
        rc = k->pattern >= PERMUTATION ? generate_flows(k, bytes, sc, e) : add_flows(k, bytes, sc);
    if (!rc && k->pattern == PERMUTATION && k->class != CLASS_COUNT)
        rc = keep_component(k, cc, sc, e);
    return rc;
}

/* ---- runs ---- */

struct options {
    int64_t mb[LIST_MAX];
    uint32_t mb_count;
    const char *cc;
    uint32_t runs; /* disturbed */
    int is_summary, is_markdown, is_sensitivity;
    struct detect_spec rule;
};

struct outcome {
    double *fct_s; /* shape: [flows], owned */
    uint32_t flows;
    double mean_s, span_s, cpu_s;
    double events, packets, skipped_packets;
};

static int look(const struct sim *s, struct outcome *o)
{
    struct sim_counters c;
    struct sim_skip_stats k;
    int64_t end_ps = 0;

    sim_counters(s, &c);
    sim_skip_stats(s, &k);
    o->flows = sim_flow_count(s);
    o->fct_s = malloc(o->flows * sizeof *o->fct_s);
    if (!o->fct_s)
        return WH_ERR_NOMEM;
    for (uint32_t i = 0; i < o->flows; i++) {
        const struct flow_result *r = sim_flow_result(s, i);

        check(r->state == FLOW_DONE, "flow %u is unfinished", i);
        end_ps = r->end_ps > end_ps ? r->end_ps : end_ps;
        o->fct_s[i] = (double)(r->end_ps - r->start_ps) * 1e-12;
        o->mean_s += o->fct_s[i] / o->flows;
        o->packets += ceil((double)sim_flow_spec(s, i)->bytes / sim_config(s)->payload_bytes);
    }
    o->span_s = (double)end_ps * 1e-12;
    o->events = (double)c.events;
    o->skipped_packets = (double)k.skipped_packets;
    return 0;
}

struct run {
    const struct kind *kind;
    const struct control *cc;
    int64_t bytes;
    uint32_t disturbance; /* 0: none */
    int skips;
    const struct detect_spec *rule;
};

/* Owner: the caller frees @o->fct_s. */
static int run_once(const struct run *r, struct outcome *o, struct err_info *e)
{
    struct scenario sc;
    struct steady rule;
    struct watch_ops watch;
    struct sim *s = NULL;
    int rc = build(r->kind, r->cc, r->bytes, &sc, e);

    *o = (struct outcome){.flows = 0};
    if (!rc) {
        const struct perturb p = perturb_of(&sc, r->disturbance);

        perturb_scenario(&p, &sc);
        rc = scenario_make_sim(&sc, NULL, &s, e);
    }
    if (!rc && r->skips) {
        rc = steady_init(&rule, sim_config(s), r->rule, e);
        if (!rc) {
            steady_ops(&rule, &watch);
            rc = sim_set_watch(s, &watch);
        }
    }
    o->cpu_s = measure_cpu_s();
    if (!rc)
        rc = sim_run(s, TIME_NEVER);
    o->cpu_s = measure_cpu_s() - o->cpu_s;
    if (!rc)
        rc = look(s, o);
    sim_destroy(s);
    scenario_fini(&sc);
    return rc;
}

/* ---- errors ---- */

/* Relative errors; grows. */
struct errors {
    double *value; /* shape: [count], owned */
    uint32_t count, cap;
};

static void errors_add(struct errors *e, double value)
{
    if (e->count == e->cap) {
        e->cap = e->cap ? 2 * e->cap : 256;
        e->value = realloc(e->value, e->cap * sizeof *e->value);
        check(e->value != NULL, "out of memory for %u errors", e->cap);
    }
    e->value[e->count++] = value;
}

/* Errors of one kind of figure: of flows, of mean FCTs, of makespans. */
struct figure {
    struct errors skipped, floor;
    double bias; /* sum of the signed ones of skipped */
};

struct tally {
    struct figure flow, mfct, span;
    double events_plain, events_skip, cpu_plain, cpu_skip, packets, skipped_packets, flows;
};

static void tally_fini(struct tally *t)
{
    struct figure *const f[] = {&t->flow, &t->mfct, &t->span};

    for (size_t i = 0; i < sizeof f / sizeof *f; i++) {
        free(f[i]->skipped.value);
        free(f[i]->floor.value);
    }
    *t = (struct tally){.flows = 0};
}

static void note_error(struct figure *f, double value, double truth, int is_floor)
{
    const double error = (value - truth) / truth;

    errors_add(is_floor ? &f->floor : &f->skipped, fabs(error));
    if (!is_floor)
        f->bias += error;
}

static void compare(struct tally *t, const struct outcome *plain, const struct outcome *o,
                    int is_floor)
{
    for (uint32_t i = 0; i < o->flows; i++)
        note_error(&t->flow, o->fct_s[i], plain->fct_s[i], is_floor);
    note_error(&t->mfct, o->mean_s, plain->mean_s, is_floor);
    note_error(&t->span, o->span_s, plain->span_s, is_floor);
}

static void append_errors(struct errors *to, const struct errors *from)
{
    for (uint32_t i = 0; i < from->count; i++)
        errors_add(to, from->value[i]);
}

static void pool_figure(struct figure *to, const struct figure *from)
{
    append_errors(&to->skipped, &from->skipped);
    append_errors(&to->floor, &from->floor);
    to->bias += from->bias;
}

static void pool(struct tally *to, const struct tally *from)
{
    pool_figure(&to->flow, &from->flow);
    pool_figure(&to->mfct, &from->mfct);
    pool_figure(&to->span, &from->span);
    to->events_plain += from->events_plain;
    to->events_skip += from->events_skip;
    to->cpu_plain += from->cpu_plain;
    to->cpu_skip += from->cpu_skip;
    to->packets += from->packets;
    to->skipped_packets += from->skipped_packets;
    to->flows += from->flows;
}

/* ---- rows ---- */

static int is_within(double error, double bar, double floor)
{
    return error <= (bar > floor ? bar : floor);
}

/* A floor of aggregates: of one scenario the largest of few runs, of many their mean. */
static double aggregate_floor(const struct dist *d, int is_summary)
{
    return is_summary ? d->mean : d->max;
}

/* What a row tells, in per cent. */
struct figures_of {
    struct dist flow, floor, mfct, span;
    double mfct_bias, mfct_floor, span_floor;
    int passes;
};

static struct figures_of judge(struct tally *t, int is_alone, int is_summary)
{
    const struct dist mfct_runs = dist_of(t->mfct.floor.value, t->mfct.floor.count);
    const struct dist span_runs = dist_of(t->span.floor.value, t->span.floor.count);
    struct figures_of f = {
        .flow = dist_of(t->flow.skipped.value, t->flow.skipped.count),
        .floor = dist_of(t->flow.floor.value, t->flow.floor.count),
        .mfct = dist_of(t->mfct.skipped.value, t->mfct.skipped.count),
        .span = dist_of(t->span.skipped.value, t->span.skipped.count),
        .mfct_bias = 100 * t->mfct.bias / t->mfct.skipped.count,
        .mfct_floor = aggregate_floor(&mfct_runs, is_summary),
        .span_floor = aggregate_floor(&span_runs, is_summary),
    };

    f.passes = is_alone ? f.flow.max <= BAR_ALONE
                        : is_within(f.flow.mean, BAR_MEAN, f.floor.mean) &&
                              is_within(f.flow.p99, BAR_P99, f.floor.p99) &&
                              is_within(f.mfct.mean, BAR_MEAN, f.mfct_floor) &&
                              is_within(f.span.mean, BAR_MEAN, f.span_floor);
    return f;
}

static void report_tally(struct report *r, const char *name, const struct tally *t,
                         const struct figures_of *f)
{
    report_text(r, "name", name);
    report_number(r, "flows", t->flows);
    report_number(r, "err_mean", 100 * f->flow.mean);
    report_number(r, "floor_mean", 100 * f->floor.mean);
    report_number(r, "err_p99", 100 * f->flow.p99);
    report_number(r, "floor_p99", 100 * f->floor.p99);
    report_number(r, "err_max", 100 * f->flow.max);
    report_number(r, "mfct_bias", f->mfct_bias);
    report_number(r, "mfct_abs", 100 * f->mfct.mean);
    report_number(r, "mfct_floor", 100 * f->mfct_floor);
    report_number(r, "span_abs", 100 * f->span.mean);
    report_number(r, "span_floor", 100 * f->span_floor);
    report_number(r, "events_k", t->events_skip / 1000);
    report_number(r, "reduction", t->events_plain / t->events_skip);
    report_number(r, "cpu_ratio", t->cpu_plain / t->cpu_skip);
    report_number(r, "skipped_pct", 100 * t->skipped_packets / t->packets);
    report_number(r, "u", (t->packets - t->skipped_packets) / t->flows);
    report_text(r, "pass", f->passes ? "yes" : "NO");
    report_row(r);
}

static void print_markdown_head(void)
{
    printf("| | flow: mean | 99th percentile | mean FCT: bias | magnitude | makespan | events "
           "| skipped | u | within |\n|---|---|---|---|---|---|---|---|---|---|\n");
}

static void print_markdown(const char *name, const struct tally *t, const struct figures_of *f)
{
    printf("| %s | %.2g / %.2g | %.2g / %.2g | %+.2g | %.2g / %.2g | %.2g / %.2g | %.3gx | %.3g %% "
           "| %.0f | %s |\n",
           name, 100 * f->flow.mean, 100 * f->floor.mean, 100 * f->flow.p99, 100 * f->floor.p99,
           f->mfct_bias, 100 * f->mfct.mean, 100 * f->mfct_floor, 100 * f->span.mean,
           100 * f->span_floor, t->events_plain / t->events_skip,
           100 * t->skipped_packets / t->packets, (t->packets - t->skipped_packets) / t->flows,
           f->passes ? "yes" : "**no**");
}

/* One row, as the options want it. */
static void show(struct report *r, const struct options *o, const char *name, struct tally *t,
                 int is_alone, int is_summary)
{
    const struct figures_of f = judge(t, is_alone, is_summary);

    if (!is_summary && o->is_summary)
        return;
    if (o->is_markdown)
        print_markdown(name, t, &f);
    else
        report_tally(r, name, t, &f);
}

static int measure_kind(const struct options *o, struct run *run, struct tally *t,
                        struct err_info *e)
{
    struct outcome plain = {.fct_s = NULL}, other;
    int rc;

    run->skips = 0;
    run->disturbance = 0;
    rc = run_once(run, &plain, e);
    for (uint32_t i = 0; !rc && i <= o->runs; i++) {
        run->disturbance = i;
        run->skips = i == 0;
        rc = run_once(run, &other, e);
        if (!rc)
            compare(t, &plain, &other, i > 0);
        if (!rc && run->skips) {
            t->events_skip = other.events;
            t->cpu_skip = other.cpu_s;
            t->skipped_packets = other.skipped_packets;
        }
        free(other.fct_s);
    }
    t->events_plain = plain.events;
    t->cpu_plain = plain.cpu_s;
    t->packets = plain.packets;
    t->flows = plain.flows;
    free(plain.fct_s);
    return rc;
}

/* The kinds of one congestion control and size, then what they come to. */
static int measure_control(struct report *r, const struct options *o, const struct control *cc,
                           int64_t mb, struct err_info *e)
{
    static const char *const class_name[CLASS_COUNT + 1] = {"alone", "chosen", "check", "own",
                                                            "shared"};
    struct tally by_class[CLASS_COUNT + 1] = {{.flows = 0}};
    char name[64];
    int rc = 0;

    for (size_t i = 0; !rc && i < KIND_COUNT; i++) {
        const struct kind *k = &kinds[i];
        struct run run = {.kind = k, .cc = cc, .bytes = mb * MB, .rule = &o->rule};
        struct tally t = {.flows = 0};

        snprintf(name, sizeof name, "%s-%d-%s", cc->name, (int)mb, k->name);
        if (!measure_is_wanted(r->o, name) || (r->o->quick && !k->is_quick))
            continue;
        rc = measure_kind(o, &run, &t, e);
        if (!rc) {
            pool(&by_class[k->class], &t);
            if (k->class != ALONE)
                pool(&by_class[CLASS_COUNT], &t);
            show(r, o, name, &t, k->class == ALONE, 0);
        }
        tally_fini(&t);
    }
    for (int c = 0; c <= CLASS_COUNT; c++) {
        snprintf(name, sizeof name, o->is_markdown ? "%s, %d MB, %s" : "%s-%d--%s", cc->name,
                 (int)mb, class_name[c]);
        if (!rc && by_class[c].flows > 0 && !(o->is_markdown && (c == CHOSEN || c == CHECK)))
            show(r, o, name, &by_class[c], c == ALONE, 1);
        tally_fini(&by_class[c]);
    }
    return rc;
}

/* ---- sensitivity ---- */

static int is_listed(const char *list, const char *name)
{
    const size_t length = strlen(name);

    for (const char *at = list; at && *at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (!strncmp(at, name, length) && (!at[length] || at[length] == ','))
            return 1;
    return !list;
}

struct setting {
    const char *name;
    struct detect_spec rule;
};

#define PAPER(share, samples)                                                                      \
    {                                                                                              \
        .rule = DETECT_RULE_PAPER, .theta = (share), .paper_samples = (samples)                    \
    }

static const struct setting settings[] = {
    {"as it is: budget 1 %, window and kappa by congestion control", {.cc = CC_NONE}},
    {"budget 0.3 %", {.error_budget = 0.003}},
    {"budget 3 %", {.error_budget = 0.03}},
    {"budget 10 %", {.error_budget = 0.1}},
    {"window 100 us", {.window_ps = 100 * PS_PER_US}},
    {"window 400 us", {.window_ps = 400 * PS_PER_US}},
    {"window 1 ms", {.window_ps = PS_PER_MS}},
    {"kappa 1", {.kappa = 1}},
    {"kappa 3", {.kappa = 3}},
    {"kappa none", {.kappa = INFINITY}},
    {"paper, theta 1 %, l 2000", PAPER(0.01, 2000)},
    {"paper, theta 5 %, l 500", PAPER(0.05, 500)},
    {"paper, theta 5 %, l 2000", PAPER(0.05, 2000)},
    {"paper, theta 5 %, l 8000", PAPER(0.05, 8000)},
    {"paper, theta 20 %, l 2000", PAPER(0.2, 2000)},
    {"paper, theta 50 %, l 2000", PAPER(0.5, 2000)},
};
#define SETTING_COUNT (sizeof settings / sizeof *settings)

/* Runs without skipping, which all settings are compared with. */
struct plain_runs {
    struct outcome of[CONTROL_COUNT][KIND_COUNT];
};

static int run_setting(const struct options *o, int64_t mb, const struct plain_runs *plain,
                       const struct detect_spec *rule, struct tally *alone, struct tally *shared,
                       struct err_info *e)
{
    int rc = 0;

    for (size_t c = 0; c < CONTROL_COUNT; c++)
        for (size_t i = 0; !rc && is_listed(o->cc, controls[c].name) && i < KIND_COUNT; i++) {
            const struct run run = {
                .kind = &kinds[i], .cc = &controls[c], .bytes = mb * MB, .skips = 1, .rule = rule};
            struct tally *t = kinds[i].class == ALONE ? alone : shared;
            const struct outcome *p = &plain->of[c][i];
            struct outcome other;

            rc = run_once(&run, &other, e);
            if (rc)
                break;
            compare(t, p, &other, 0);
            t->events_plain += p->events;
            t->events_skip += other.events;
            t->packets += p->packets;
            t->skipped_packets += other.skipped_packets;
            t->flows += p->flows;
            free(other.fct_s);
        }
    return rc;
}

static void print_setting(const char *name, struct tally *alone, struct tally *shared)
{
    const struct figures_of a = judge(alone, 1, 1), s = judge(shared, 0, 1);

    printf("| %s | %.2g | %.3gx | %.2g | %.2g | %+.2g, %.2g | %.2g | %.3gx | %.3g %% |\n", name,
           100 * a.flow.mean, alone->events_plain / alone->events_skip, 100 * s.flow.mean,
           100 * s.flow.p99, s.mfct_bias, 100 * s.mfct.mean, 100 * s.span.mean,
           shared->events_plain / shared->events_skip,
           100 * shared->skipped_packets / shared->packets);
    fflush(stdout);
}

static int run_plain(const struct options *o, int64_t mb, struct plain_runs *plain,
                     struct err_info *e)
{
    int rc = 0;

    for (size_t c = 0; c < CONTROL_COUNT; c++)
        for (size_t i = 0; !rc && is_listed(o->cc, controls[c].name) && i < KIND_COUNT; i++) {
            const struct run run = {
                .kind = &kinds[i], .cc = &controls[c], .bytes = mb * MB, .rule = &o->rule};

            rc = run_once(&run, &plain->of[c][i], e);
        }
    return rc;
}

static int measure_sensitivity(const struct options *o, int64_t mb, struct err_info *e)
{
    struct plain_runs *plain = calloc(1, sizeof *plain);
    int rc;

    check(plain != NULL, "out of memory");
    printf("| %d MB | alone: flow, mean | events | shared: flow, mean | 99th percentile "
           "| mean FCT: bias, magnitude | makespan | events | skipped |\n"
           "|---|---|---|---|---|---|---|---|---|\n",
           (int)mb);
    rc = run_plain(o, mb, plain, e);
    for (size_t i = 0; !rc && i < SETTING_COUNT; i++) {
        struct tally alone = {.flows = 0}, shared = {.flows = 0};

        rc = run_setting(o, mb, plain, &settings[i].rule, &alone, &shared, e);
        if (!rc)
            print_setting(settings[i].name, &alone, &shared);
        tally_fini(&alone);
        tally_fini(&shared);
    }
    for (size_t c = 0; c < CONTROL_COUNT; c++)
        for (size_t i = 0; i < KIND_COUNT; i++)
            free(plain->of[c][i].fct_s);
    free(plain);
    return rc;
}

/* ---- options ---- */

static int parse_mb(const char *text, struct options *o)
{
    o->mb_count = 0;
    while (*text && o->mb_count < LIST_MAX) {
        char *end;
        const long mb = strtol(text, &end, 10);

        if (end == text || mb < 1 || mb > 100000 || (*end && *end != ','))
            return WH_ERR_INPUT;
        o->mb[o->mb_count++] = mb;
        text = *end ? end + 1 : end;
    }
    return o->mb_count && !*text ? 0 : WH_ERR_INPUT;
}

static int parse_number(const char *text, double max, double *out)
{
    char *end;
    const double x = strtod(text, &end);

    if (*end || end == text || !(x >= 0 && x <= max))
        return WH_ERR_INPUT;
    *out = x;
    return 0;
}

static int parse_option(const char *key, const char *value, struct options *o)
{
    double x = 0;
    int rc = WH_ERR_INPUT;

    if (!strcmp(key, "--mb"))
        return parse_mb(value, o);
    if (!strcmp(key, "--cc")) {
        o->cc = value;
        return 0;
    }
    if (!strcmp(key, "--runs")) {
        rc = parse_number(value, RUNS_MAX, &x);
        o->runs = (uint32_t)x;
    } else if (!strcmp(key, "--window-us")) {
        rc = parse_number(value, 1e6, &x);
        o->rule.window_ps = (int64_t)(x * (double)PS_PER_US);
    } else if (!strcmp(key, "--eps")) {
        rc = parse_number(value, 0.5, &o->rule.eps);
    } else if (!strcmp(key, "--kappa")) {
        rc = parse_number(value, INFINITY, &o->rule.kappa);
    }
    return rc;
}

static int parse_options(int argc, char **argv, struct options *o)
{
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--summary"))
            o->is_summary = 1;
        else if (!strcmp(argv[i], "--sensitivity"))
            o->is_sensitivity = 1;
        else if (!strcmp(argv[i], "--markdown"))
            o->is_summary = o->is_markdown = 1;
        else if (i + 1 < argc && !parse_option(argv[i], argv[i + 1], o))
            i++;
        else
            return measure_unknown(argv[i],
                                   "bench_steady [--mb LIST] [--cc LIST] [--runs N] [--summary] "
                                   "[--markdown] [--window-us X] [--eps X] [--kappa X] | "
                                   "--sensitivity [--mb LIST] [--cc LIST]");
    }
    return 0;
}

int main(int argc, char **argv)
{
    struct options own = {.mb = {10, 50, 100}, .mb_count = 3, .runs = 3};
    struct measure_options o;
    struct err_info e = {.text = ""};
    struct report r;
    int rc = 0;

    if (measure_parse(&o, &argc, argv))
        return 2;
    if (o.quick)
        own.mb_count = 1;
    if (parse_options(argc, argv, &own))
        return 2;
    if (own.is_sensitivity) {
        if (own.mb_count != 1) {
            own.mb[0] = 20;
            own.mb_count = 1;
        }
        rc = measure_sensitivity(&own, own.mb[0], &e);
        if (rc)
            fprintf(stderr, "bench_steady: %s\n", e.text[0] ? e.text : err_text(rc));
        return rc == WH_ERR_INPUT ? 2 : rc != 0;
    }
    report_begin(&r, "steady", &o);
    if (own.is_markdown)
        print_markdown_head();
    for (uint32_t m = 0; !rc && m < own.mb_count; m++)
        for (size_t c = 0; !rc && c < CONTROL_COUNT; c++)
            if (is_listed(own.cc, controls[c].name))
                rc = measure_control(&r, &own, &controls[c], own.mb[m], &e);
    report_end(&r);
    if (rc)
        fprintf(stderr, "bench_steady: %s\n", e.text[0] ? e.text : err_text(rc));
    return rc == WH_ERR_INPUT ? 2 : rc != 0;
}
