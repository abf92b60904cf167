/*
 * The memo through the fcg lens: results are the same for any number of threads; a partition is
 * found under other numbers, and not where ports differ; no flow ends in a way that the entry does
 * not know; bytes are conserved; and what it costs in accuracy is below what chance is in any run.
 */
#include "memo.h"
#include "random_sim.h"
#include "rng.h"
#include "sim_fixture.h"
#include "sim_int.h"
#include "steady.h"
#include "units.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEEDS 60u
#define CHAIN_FLOWS 60u /* that hooks add */
#define MB INT64_C(1000000)

/* Everything that acts on a simulation while it runs. */
struct helpers {
    struct steady steady;
    struct memo *memo;
};

static void set_up(struct sim *s, struct helpers *h, uint32_t threads, int skips, int has_memo,
                   double audit_share)
{
    const struct sim_engine engine = {.threads = threads};
    struct watch_ops watch;
    struct memo_ops memo;

    *h = (struct helpers){.memo = NULL};
    cr_assert_eq(sim_set_engine(s, &engine), 0);
    cr_assert_eq(sim_set_audit(s, audit_share), 0);
    if (skips) {
        cr_assert_eq(
            steady_init(&h->steady, sim_config(s), &(struct detect_spec){.cc = CC_NONE}, NULL), 0);
        steady_ops(&h->steady, &watch);
        cr_assert_eq(sim_set_watch(s, &watch), 0);
    }
    if (!has_memo)
        return;
    cr_assert_eq(memo_create(&h->memo,
                             &(struct memo_options){.worker_count = threads, .lens = MEMO_FCG},
                             NULL),
                 0);
    memo_ops(h->memo, &memo);
    cr_assert_eq(sim_set_memo(s, &memo), 0);
}

static void check_bytes(const struct sim *s)
{
    for (uint32_t f = 0; f < sim_flow_count(s); f++) {
        const struct flow_result *r = sim_flow_result(s, f);

        if (r->state == FLOW_DONE)
            cr_assert_eq(r->acked_bytes, sim_flow_spec(s, f)->bytes, "flow %u: %lld B", f,
                         (long long)r->acked_bytes);
    }
}

/* ---- any number of threads ---- */

/* Adds a flow that depends on the one that ended, most often over the same hosts. */
static void follow(struct sim *s, uint32_t flow, int64_t now_ps)
{
    const struct flow_spec *f = sim_flow_spec(s, flow);
    const uint32_t hosts = sim_topo(s)->host_count;
    const uint64_t draw = rng_u64(sim_config(s)->seed, 901, flow);
    struct flow_spec next = *f;

    if (sim_flow_count(s) >= CHAIN_FLOWS + f->user)
        return;
    if (draw % 4 == 0) {
        next.src = f->dst;
        next.dst = (f->dst + 1 + rng_below(draw, hosts - 1)) % hosts;
    }
    next.start_ps = now_ps + (int64_t)((draw >> 40) % 3) * PS_PER_US;
    next.sport = 0;
    cr_assert_eq(sim_add_flow(s, &next, NULL), 0);
}

static void on_complete(void *ctx, struct sim *s, uint32_t flow, int64_t now_ps)
{
    (void)ctx;
    follow(s, flow, now_ps);
}

struct outcome {
    uint64_t digest, hits, cut;
    struct sim_counters counters;
    struct sim_audit_stats audit;
};

/* Runs it, and keeps what came of it. */
static struct outcome run_out(struct sim *s)
{
    struct sim_memo_stats memo;
    struct outcome o;

    fix_run(s);
    check_bytes(s);
    sim_memo_stats(s, &memo);
    o = (struct outcome){.digest = fix_digest(s),
                         .hits = memo.hits + memo.coalesced,
                         .cut = memo.disturbed,
                         .counters = fix_counters(s)};
    sim_audit_stats(s, &o.audit);
    return o;
}

static struct outcome run_random(uint64_t seed, const struct random_kind *kind, int reacts,
                                 int skips, uint32_t threads, double audit_share)
{
    const struct sim_hooks hooks = {.on_complete = on_complete};
    struct sim *s = random_sim(seed, kind);
    struct helpers h;
    struct outcome o;

    set_up(s, &h, threads, skips, 1, audit_share);
    if (reacts)
        sim_set_hooks(s, &hooks);
    o = run_out(s);
    sim_destroy(s);
    memo_destroy(h.memo);
    return o;
}

/* With audits of as many hits and skips as @share says, by any number of threads. Returns how many
 * hits were audited. */
static uint64_t compare_audits(uint64_t seed, const struct random_kind *kind, int reacts, int skips,
                               double share, const struct outcome *without)
{
    const struct outcome one = run_random(seed, kind, reacts, skips, 1, share);
    const struct outcome four = run_random(seed, kind, reacts, skips, 4, share);

    cr_assert_eq(one.digest, without->digest, "seed %lu: an audit changes results",
                 (unsigned long)seed);
    cr_assert(!memcmp(&one.counters, &without->counters, sizeof one.counters),
              "seed %lu: an audit changes counters", (unsigned long)seed);
    cr_assert_eq(one.digest, four.digest, "seed %lu: audits by 4 threads change results",
                 (unsigned long)seed);
    cr_assert(!memcmp(&one.audit, &four.audit, sizeof one.audit),
              "seed %lu: audits depend on threads", (unsigned long)seed);
    cr_assert_leq(one.audit.fcg.audited, one.audit.fcg.hits);
    cr_assert(share < 1 || one.audit.refused || one.audit.fcg.audited == one.audit.fcg.hits);
    cr_assert_eq(one.audit.hits_wrong, 0, "seed %lu: a life is not what is known",
                 (unsigned long)seed);
    return one.audit.fcg.audited + one.audit.hits;
}

static void compare_threads(uint64_t first, const struct random_kind *kind, int reacts, int skips)
{
    static const uint32_t threads[] = {1, 2, 4};
    const char *by_hand = getenv("WORMHOLE_IDENTITY_SEEDS");
    unsigned long from = first, count = SEEDS;
    uint64_t hits = 0, cut = 0, audited = 0;

    if (by_hand)
        cr_assert_eq(sscanf(by_hand, "%lu:%lu", &from, &count), 2);
    for (uint64_t seed = from; seed < from + count; seed++) {
        const struct outcome a = run_random(seed, kind, reacts, skips, 1, 0);

        for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
            const struct outcome b = run_random(seed, kind, reacts, skips, threads[i], 0);

            cr_assert_eq(a.digest, b.digest, "seed %lu: %u threads differ", (unsigned long)seed,
                         threads[i]);
            cr_assert(!memcmp(&a.counters, &b.counters, sizeof a.counters),
                      "seed %lu: counters of %u threads differ", (unsigned long)seed, threads[i]);
        }
        audited += compare_audits(seed, kind, reacts, skips, seed % 2 ? 1 : 0.4, &a);
        hits += a.hits;
        cut += a.cut;
    }
    cr_assert(by_hand || kind->has_loss || (hits > 0 && (cut > 0 || !reacts)),
              "%lu hits, %lu cut short", (unsigned long)hits, (unsigned long)cut);
    cr_assert(by_hand || kind->has_loss || audited > 0, "no hit was audited");
}

Test(stage, is_the_same_for_any_number_of_threads)
{
    compare_threads(21001, &(struct random_kind){.has_steps = 1}, 0, 1);
    compare_threads(22001, &(struct random_kind){0}, 1, 1);
}

Test(stage, is_the_same_for_any_number_of_threads_without_skipping)
{
    compare_threads(23001, &(struct random_kind){0}, 1, 0);
}

Test(stage, is_the_same_for_any_number_of_threads_where_links_fail)
{
    compare_threads(24001, &(struct random_kind){.has_events = 1}, 1, 1);
    compare_threads(25001, &(struct random_kind){.has_events = 1, .has_loss = 1}, 1, 1);
}

/* ---- what is found, and what is not ---- */

static struct sim_config config(enum cc_kind cc)
{
    struct sim_config c = fix_config(cc);

    config_ecn_defaults(&c);
    c.has_window = cc != CC_DCQCN && cc != CC_TIMELY;
    c.int_reset_idle = 1;
    c.ack = ACK_BYPASS;
    return c;
}

static int by_time(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static struct sim_memo_stats run_memo(struct sim *s, int64_t *fct, uint64_t *events)
{
    struct sim_memo_stats memo;
    struct helpers h;

    set_up(s, &h, 1, 1, 1, 0);
    fix_run(s);
    cr_assert(fix_all_done(s));
    check_bytes(s);
    for (uint32_t f = 0; f < sim_flow_count(s); f++)
        fct[f] = fix_fct(s, f);
    *events = fix_counters(s).events;
    sim_memo_stats(s, &memo);
    sim_destroy(s);
    memo_destroy(h.memo);
    return memo;
}

/* Two incasts after one another, the second one over other hosts. */
Test(stage, is_found_under_other_numbers)
{
    static const enum cc_kind controls[] = {CC_HPCC, CC_DCTCP, CC_SWIFT};

    for (size_t i = 0; i < sizeof controls / sizeof *controls; i++) {
        const struct sim_config c = config(controls[i]);
        uint64_t once, twice;
        int64_t fct[6];
        struct sim *s = fix_sim(fix_star(8, 100 * GBPS, PS_PER_US), &c);

        for (uint32_t k = 0; k < 3; k++)
            fix_flow(s, 1 + k, 0, 4 * MB, 0);
        run_memo(s, fct, &once);
        s = fix_sim(fix_star(8, 100 * GBPS, PS_PER_US), &c);
        for (uint32_t k = 0; k < 3; k++)
            fix_flow(s, 1 + k, 0, 4 * MB, 0);
        for (uint32_t k = 0; k < 3; k++)
            fix_flow(s, 6 - k, 7, 4 * MB, 50 * PS_PER_MS);
        cr_assert_gt(run_memo(s, fct, &twice).hits, 0);
        cr_assert_eq(twice, once, "%s: %lu events for %lu", config_cc_name(controls[i]),
                     (unsigned long)twice, (unsigned long)once);
        for (uint32_t n = 0; n < 2; n++)
            qsort(fct + 3 * n, 3, sizeof *fct, by_time);
        for (uint32_t k = 0; k < 3; k++)
            cr_assert_eq(fct[k], fct[3 + k], "%s: %u", config_cc_name(controls[i]), k);
    }
}

/* Two flows from one host of a pair to the other: alone they would be lives. */
static void add_pair(struct sim *s, uint32_t pair, int64_t start_ps)
{
    for (uint32_t k = 0; k < 2; k++)
        fix_flow(s, 2 * pair, 2 * pair + 1, 20 * MB, start_ps);
}

Test(stage, of_other_ports_is_not_found)
{
    const struct sim_config c = config(CC_DCTCP);
    /* pairs of hosts on a switch of their own: what is the first one's, another rate, delay */
    const struct fix_link links[] = {
        {0, 8, 100 * GBPS, PS_PER_US, 0},      {1, 8, 100 * GBPS, PS_PER_US, 0},
        {2, 9, 40 * GBPS, PS_PER_US, 0},       {3, 9, 40 * GBPS, PS_PER_US, 0},
        {4, 10, 100 * GBPS, 2 * PS_PER_US, 0}, {5, 10, 100 * GBPS, 2 * PS_PER_US, 0},
        {6, 11, 100 * GBPS, PS_PER_US, 0},     {7, 11, 100 * GBPS, PS_PER_US, 0},
        {8, 9, 100 * GBPS, PS_PER_US, 0},      {9, 10, 100 * GBPS, PS_PER_US, 0},
        {10, 11, 100 * GBPS, PS_PER_US, 0}};
    struct sim *s = fix_sim(fix_graph(8, 4, links, sizeof links / sizeof *links), &c);
    struct sim_memo_stats memo;
    uint64_t events;
    int64_t fct[8], lone[2];

    for (uint32_t k = 0; k < 4; k++)
        add_pair(s, k, k * 10 * PS_PER_MS);
    memo = run_memo(s, fct, &events);
    for (uint32_t k = 0; k < 4; k++) {
        s = fix_sim(fix_graph(8, 4, links, sizeof links / sizeof *links), &c);
        add_pair(s, k, 0);
        run_memo(s, lone, &events);
        for (uint32_t i = 0; i < 2; i++)
            cr_assert_eq(fct[2 * k + i], lone[i], "flow %u: %lld ps, alone %lld", 2 * k + i,
                         (long long)fct[2 * k + i], (long long)lone[i]);
    }
    cr_assert_eq(fct[6], fct[0]);
    cr_assert_gt(memo.missed[SIM_MISS_STRUCTURE], 2, "three structures");
    cr_assert_gt(memo.hits, 0, "the last one is the first one's");
}

/* Flows of one kind, one after another. The first ones are looked up, then one is executed as it is
 * and remembered; a cross flow comes into the last. */
enum { LOOKED_UP = 62, LIVES = LOOKED_UP + 16 };

static uint64_t run_lives(int has_memo, double audit_share, int64_t fct[LIVES + 1],
                          struct sim_audit_stats *audit)
{
    const struct sim_config c = config(CC_HPCC);
    struct sim *s = fix_sim(fix_star(4, 100 * GBPS, PS_PER_US), &c);
    struct helpers h;
    uint64_t events;

    set_up(s, &h, 1, 1, has_memo, audit_share);
    for (uint32_t k = 0; k < LIVES; k++)
        fix_flow(s, k % 2, 2, 1 * MB, k * 200 * PS_PER_US);
    fix_flow(s, 3, 2, 1 * MB, ((LIVES - 1) * 200 + 30) * PS_PER_US);
    fix_run(s);
    cr_assert(fix_all_done(s));
    for (uint32_t f = 0; f <= LIVES; f++)
        fct[f] = fix_fct(s, f);
    events = fix_counters(s).events;
    sim_audit_stats(s, audit);
    sim_destroy(s);
    if (has_memo)
        memo_destroy(h.memo);
    return events;
}

Test(stage, of_whole_lives_is_exact)
{
    int64_t plain[LIVES + 1], known[LIVES + 1], audited[LIVES + 1];
    struct sim_audit_stats audit;
    const uint64_t all = run_lives(0, 0, plain, &audit);
    const uint64_t some = run_lives(1, 0, known, &audit);

    cr_assert_lt(2 * some, all, "%lu events for %lu", (unsigned long)some, (unsigned long)all);
    for (uint32_t f = LOOKED_UP; f < LIVES - 1; f++)
        cr_assert_eq(known[f], plain[f], "flow %u: %lld ps, executed %lld", f, (long long)known[f],
                     (long long)plain[f]);
    cr_assert_eq(run_lives(1, 1, audited, &audit), some, "an audit changes a counter");
    cr_assert(!memcmp(audited, known, sizeof known), "an audit changes results");
    cr_assert_eq(audit.hits, LIVES - LOOKED_UP - 2, "%lu lives were audited",
                 (unsigned long)audit.hits);
    cr_assert_eq(audit.hits_wrong, 0);
}

/* Sizes around what a stage delivers, each after a long flow has made the same beginning known. */
Test(stage, is_refused_to_flows_that_end_inside)
{
    static const enum cc_kind controls[] = {CC_HPCC, CC_DCTCP, CC_SWIFT, CC_TIMELY, CC_DCQCN};
    static const int64_t sizes[] = {1,      999,    1000,    1001,    5000,    50000,
                                    200500, 700123, 1000000, 1400000, 2000777, 5000000};
    uint64_t refused = 0;

    for (size_t i = 0; i < sizeof controls / sizeof *controls; i++)
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            const struct sim_config c = config(controls[i]);
            struct sim *s = fix_sim(fix_chain(2, 100 * GBPS, PS_PER_US), &c);
            uint64_t events;
            int64_t fct[2], lone;

            fix_flow(s, 0, 1, 50 * MB, 0);
            fix_flow(s, 0, 1, sizes[k], 50 * PS_PER_MS);
            refused += run_memo(s, fct, &events).missed[SIM_MISS_SHORT];
            s = fix_sim(fix_chain(2, 100 * GBPS, PS_PER_US), &c);
            fix_flow(s, 0, 1, sizes[k], 0);
            fix_run(s);
            lone = fix_fct(s, 0);
            sim_destroy(s);
            cr_assert_lt(fabs((double)(fct[1] - lone)), 0.002 * (double)lone + 1,
                         "%s, %lld B: %lld ps, alone %lld", config_cc_name(controls[i]),
                         (long long)sizes[k], (long long)fct[1], (long long)lone);
        }
    cr_assert_gt(refused, 0);
}

/* On links as long as the message all of it is under way at once, and nothing is acknowledged: how
 * much has arrived when another flow joins is all that tells an early start from a late one. */
Test(stage, of_a_flow_that_has_arrived_less_is_not_found)
{
    const struct sim_config c = config(CC_DCTCP);
    const int64_t joins[] = {45 * PS_PER_US, 55 * PS_PER_US, 45 * PS_PER_US};
    int64_t fct[2][6];

    for (int has_memo = 0; has_memo < 2; has_memo++) {
        struct sim *s = fix_sim(fix_star(4, 100 * GBPS, 20 * PS_PER_US), &c);
        uint64_t events;

        for (uint32_t k = 0; k < 3; k++) {
            fix_flow(s, 0, 1, MB / 4, k * 10 * PS_PER_MS);
            fix_flow(s, 2, 1, 1000, k * 10 * PS_PER_MS + joins[k]);
        }
        if (has_memo) {
            cr_assert_gt(run_memo(s, fct[1], &events).hits, 0);
            break;
        }
        fix_run(s);
        for (uint32_t f = 0; f < 6; f++)
            fct[0][f] = fix_fct(s, f);
        sim_destroy(s);
    }
    for (uint32_t f = 0; f < 6; f++)
        cr_assert_lt(fabs((double)(fct[1][f] - fct[0][f])), 0.002 * (double)fct[0][f],
                     "flow %u: %lld ps, executed %lld", f, (long long)fct[1][f],
                     (long long)fct[0][f]);
}

/* ---- what follows without a look ---- */

#define INCASTS 40u
#define SENDERS 5u

/* Of some flows a delivery brings one more into the partition, at once or while it waits for the
 * next delivery: the state that is owed is needed after all. */
static void join_in(void *ctx, struct sim *s, uint32_t flow, int64_t now_ps)
{
    struct flow_spec next = *sim_flow_spec(s, flow);

    (void)ctx;
    if (flow % 11 || flow >= INCASTS * SENDERS)
        return;
    next.src = SENDERS + 1;
    next.bytes = 20000;
    next.start_ps = now_ps + flow % 3 * 50 * PS_PER_NS;
    next.sport = 0;
    cr_assert_eq(sim_add_flow(s, &next, NULL), 0);
}

/* Where all is audited, nothing is owed. */
static struct outcome run_incasts(enum cc_kind cc, uint32_t threads, double audit_share,
                                  uint32_t *links)
{
    const struct sim_hooks hooks = {.on_delivered = join_in};
    const struct sim_config c = config(cc);
    struct sim *s = fix_sim(fix_star(SENDERS + 2, 100 * GBPS, PS_PER_US), &c);
    struct helpers h;
    struct outcome o;

    for (uint32_t i = 0; i < INCASTS * SENDERS; i++)
        fix_flow(s, 1 + i % SENDERS, 0, 50000, i / SENDERS * PS_PER_MS);
    set_up(s, &h, threads, 1, 1, audit_share);
    sim_set_hooks(s, &hooks);
    o = run_out(s);
    cr_assert(fix_all_done(s));
    *links = s->link_count;
    sim_destroy(s);
    memo_destroy(h.memo);
    return o;
}

Test(stage, that_is_linked_is_what_a_look_would_have_found)
{
    static const enum cc_kind controls[] = {CC_HPCC, CC_DCTCP, CC_SWIFT};

    for (size_t i = 0; i < sizeof controls / sizeof *controls; i++) {
        const char *name = config_cc_name(controls[i]);
        uint32_t links, none;
        const struct outcome a = run_incasts(controls[i], 1, 0, &links);
        const struct outcome b = run_incasts(controls[i], 4, 0, &links);
        const struct outcome c = run_incasts(controls[i], 1, 1, &none);

        cr_assert_gt(links, 0, "%s: nothing is linked", name);
        cr_assert_eq(none, 0, "%s: linked in spite of audits", name);
        cr_assert_gt(a.cut, 0, "%s: no stage is cut short", name);
        cr_assert_eq(a.digest, b.digest, "%s: 4 threads differ", name);
        cr_assert_eq(a.digest, c.digest, "%s: links change results", name);
        cr_assert(a.hits == c.hits && !memcmp(&a.counters, &c.counters, sizeof a.counters),
                  "%s: links change counters", name);
    }
}

/* ---- accuracy ---- */

/* Rounds of the same pattern, flows starting within some microseconds of each other as compute
 * times make them. @shift_ps: a perturbation of the starts. */
#define ROUNDS 24u
#define PATTERN 6u
#define PERTURBATIONS 6
#define ROUND_FLOWS (ROUNDS * PATTERN)

static void add_rounds(struct sim *s, uint64_t seed, int64_t shift_ps)
{
    for (uint32_t r = 0; r < ROUNDS; r++)
        for (uint32_t k = 0; k < PATTERN; k++) {
            const uint64_t draw = rng_u64(seed, r, k);
            const uint64_t nudge = rng_u64(seed + 7, r, k);
            /* two lone flows, a pair into one host, a pair over one uplink */
            static const uint32_t src[PATTERN] = {0, 1, 2, 3, 8, 9};
            static const uint32_t dst[PATTERN] = {4, 5, 6, 6, 12, 13};
            const int64_t start = (int64_t)r * 10 * PS_PER_MS + (int64_t)(draw % 40) * PS_PER_US +
                                  (shift_ps ? (int64_t)(nudge % (uint64_t)shift_ps) : 0);

            fix_flow(s, src[k], dst[k], (6 + 2 * (k % 3)) * MB, start);
        }
}

static void run_rounds(enum cc_kind cc, uint64_t seed, int64_t shift_ps, int has_memo, double *fct)
{
    struct sim_config c = config(cc);
    struct helpers h;
    struct sim *s;

    c.hpcc.ai_bps = 2 * GBPS / 5; /* with the default of 40 Mb/s shares never settle */
    s = fix_sim(fix_leaf_spine(4, 1, 4, 100 * GBPS, PS_PER_US), &c);
    add_rounds(s, seed, shift_ps);
    set_up(s, &h, 1, 1, has_memo, 0);
    fix_run(s);
    cr_assert(fix_all_done(s));
    check_bytes(s);
    for (uint32_t f = 0; f < ROUND_FLOWS; f++)
        fct[f] = (double)fix_fct(s, f);
    sim_destroy(s);
    memo_destroy(h.memo);
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

struct error {
    double mean, p99, of_mean; /* per flow; of the mean FCT */
};

static struct error compare_fct(const double *a, const double *b)
{
    struct error e = {0};
    double off[ROUND_FLOWS], sum_a = 0, sum_b = 0;

    for (uint32_t f = 0; f < ROUND_FLOWS; f++) {
        off[f] = fabs(b[f] / a[f] - 1);
        e.mean += off[f] / ROUND_FLOWS;
        sum_a += a[f];
        sum_b += b[f];
    }
    qsort(off, ROUND_FLOWS, sizeof *off, by_value);
    e.p99 = off[ROUND_FLOWS * 99 / 100];
    e.of_mean = fabs(sum_b / sum_a - 1);
    return e;
}

static double max_of(double a, double b)
{
    return a > b ? a : b;
}

Test(stage, costs_less_accuracy_than_there_is_chance)
{
    static const enum cc_kind controls[] = {CC_HPCC, CC_DCTCP, CC_SWIFT};

    for (size_t i = 0; i < sizeof controls / sizeof *controls; i++) {
        double plain[ROUND_FLOWS], other[ROUND_FLOWS], fcg[ROUND_FLOWS];
        const char *name = config_cc_name(controls[i]);
        struct error floor = {0}, e;

        run_rounds(controls[i], 5, 0, 0, plain);
        for (int k = 1; k <= PERTURBATIONS; k++) {
            run_rounds(controls[i], 5, k * 16000, 0, other);
            e = compare_fct(plain, other);
            floor.mean = max_of(floor.mean, e.mean);
            floor.p99 = max_of(floor.p99, e.p99);
        }
        run_rounds(controls[i], 5, 0, 1, fcg);
        e = compare_fct(plain, fcg);
        cr_log_info("%s: mean %.3f %%, floor %.3f; p99 %.2f, %.2f; of the mean %.3f", name,
                    100 * e.mean, 100 * floor.mean, 100 * e.p99, 100 * floor.p99, 100 * e.of_mean);
        cr_expect_leq(e.mean, max_of(0.005, floor.mean), "%s: mean %g, floor %g", name, e.mean,
                      floor.mean);
        cr_expect_leq(e.p99, max_of(0.02, floor.p99), "%s: p99 %g, floor %g", name, e.p99,
                      floor.p99);
        cr_expect_leq(e.of_mean, 0.005, "%s: mean FCT off by %g", name, e.of_mean);
    }
}
