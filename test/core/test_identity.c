/*
 * However a simulation is executed, its results are the same: the serial engine against partitions,
 * with and without a memo, on any number of threads; with skipping, any number of threads and a
 * memo give what one thread gives without, and so do audits of either; for random scenarios from
 * fixed seeds and for more of them by hand (WORMHOLE_IDENTITY_SEEDS=first:count).
 */
#include "memo.h"
#include "random_sim.h"
#include "rng.h"
#include "sim_fixture.h"
#include "sim_int.h"
#include "steady.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEEDS 60u
#define CHAIN_FLOWS 40u /* that hooks add */

struct variant {
    struct random_kind kind;
    int reacts;          /* hooks add flows when flows complete or are delivered */
    int skips;           /* steady partitions are skipped */
    unsigned long seeds; /* 0: SEEDS */
};

struct way {
    enum engine_kind kind;
    uint32_t threads;
    uint32_t shards; /* 1: none */
    int has_memo;
    double audit; /* share */
};

struct outcome {
    uint64_t digest;
    struct sim_counters counters;
    uint32_t parts;
    uint64_t replays, skips, audits, hits, windows;
};

/* Adds a flow that depends on the one that ended. */
static void follow(struct sim *s, uint32_t flow, int64_t now_ps, uint64_t stream)
{
    const struct flow_spec *f = sim_flow_spec(s, flow);
    const uint32_t hosts = sim_topo(s)->host_count;
    const uint64_t draw = rng_u64(sim_config(s)->seed, stream, flow);
    struct flow_spec next = *f;

    if (sim_flow_count(s) >= CHAIN_FLOWS + f->user)
        return;
    next.start_ps = now_ps + (int64_t)((draw >> 40) % 3) * 1000000;
    if (!f->sport) { /* else it is the next step over the same connection */
        next.src = f->dst;
        next.dst = (f->dst + 1 + rng_below(draw, hosts - 1)) % hosts;
    }
    cr_assert_eq(sim_add_flow(s, &next, NULL), 0);
}

static void on_complete(void *ctx, struct sim *s, uint32_t flow, int64_t now_ps)
{
    (void)ctx;
    follow(s, flow, now_ps, 901);
}

static void on_delivered(void *ctx, struct sim *s, uint32_t flow, int64_t now_ps)
{
    (void)ctx;
    if (flow % 3 == 0)
        follow(s, flow, now_ps, 902);
}

/* Everything that acts on a simulation while it runs. */
struct helpers {
    struct steady steady;
    struct memo *memo;
};

static void set_up(struct sim *s, const struct variant *v, const struct way *w, struct helpers *h)
{
    const struct sim_engine engine = {w->kind, w->threads, w->shards};
    const struct sim_hooks hooks = {.on_complete = on_complete, .on_delivered = on_delivered};
    const struct detect_spec spec = {.error_budget = 0.05};
    struct watch_ops watch;
    struct memo_ops memo;

    cr_assert_eq(sim_set_engine(s, &engine), 0);
    cr_assert_eq(sim_set_audit(s, w->audit), 0);
    if (v->reacts)
        sim_set_hooks(s, &hooks);
    if (v->skips) {
        cr_assert_eq(steady_init(&h->steady, sim_config(s), &spec, NULL), 0);
        steady_ops(&h->steady, &watch);
        cr_assert_eq(sim_set_watch(s, &watch), 0);
    }
    h->memo = NULL;
    if (!w->has_memo)
        return;
    cr_assert_eq(memo_create(&h->memo, &(struct memo_options){.worker_count = w->threads}, NULL),
                 0);
    memo_ops(h->memo, &memo);
    cr_assert_eq(sim_set_memo(s, &memo), 0);
}

static struct outcome run_as(uint64_t seed, const struct variant *v, const struct way *w)
{
    struct sim *s = random_sim(seed, &v->kind);
    struct sim_engine_stats stats;
    struct sim_memo_stats memo;
    struct sim_skip_stats skips;
    struct sim_audit_stats audit;
    struct helpers h;
    struct outcome o;

    set_up(s, v, w, &h);
    fix_run(s);
    sim_engine_stats(s, &stats);
    sim_memo_stats(s, &memo);
    sim_skip_stats(s, &skips);
    sim_audit_stats(s, &audit);
    cr_assert_eq(audit.hits_wrong, 0, "seed %lu: %lu of %lu hits differ", (unsigned long)seed,
                 (unsigned long)audit.hits_wrong, (unsigned long)audit.hits);
    o = (struct outcome){.digest = fix_digest(s),
                         .counters = fix_counters(s),
                         .parts = stats.parts_ever,
                         .replays = memo.hits + memo.coalesced,
                         .skips = skips.skips,
                         .audits = audit.audited,
                         .hits = audit.hits,
                         .windows = stats.shard_windows};
    o.counters.events = 0; /* of the engine, not of the network */
    sim_destroy(s);
    memo_destroy(h.memo);
    return o;
}

/* What a set of scenarios has seen at all. */
struct seen {
    uint32_t parts;
    uint64_t replays, skips, audits, hits, windows;
};

static void compare(uint64_t seed, const struct variant *v, struct seen *seen)
{
    const struct way first = {v->skips ? ENGINE_PARTITIONED : ENGINE_SERIAL, 1, 1, 0, 0};
    const struct outcome expected = run_as(seed, v, &first);
    static const struct way ways[] = {
        {ENGINE_PARTITIONED, 1, 1, 0, 0}, {ENGINE_PARTITIONED, 2, 1, 0, 0},
        {ENGINE_PARTITIONED, 3, 2, 0, 0}, {ENGINE_PARTITIONED, 4, 0, 0, 0},
        {ENGINE_PARTITIONED, 8, 3, 0, 0}, {ENGINE_PARTITIONED, 16, 0, 0, 0},
        {ENGINE_PARTITIONED, 1, 7, 0, 0}, {ENGINE_PARTITIONED, 1, 0, 1, 0},
        {ENGINE_PARTITIONED, 4, 5, 1, 0}, {ENGINE_PARTITIONED, 1, 0, 0, 0.5},
        {ENGINE_PARTITIONED, 4, 0, 1, 1},
    };

    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        const struct outcome o = run_as(seed, v, &ways[i]);

        cr_assert_eq(
            o.digest, expected.digest, "seed %lu: %u threads, %u shards, memo %d, audit %g differ",
            (unsigned long)seed, ways[i].threads, ways[i].shards, ways[i].has_memo, ways[i].audit);
        cr_assert(!memcmp(&o.counters, &expected.counters, sizeof o.counters),
                  "seed %lu: counters of %u threads, %u shards, memo %d, audit %g differ",
                  (unsigned long)seed, ways[i].threads, ways[i].shards, ways[i].has_memo,
                  ways[i].audit);
        seen->parts += o.parts > 1;
        seen->replays += o.replays;
        seen->skips += o.skips;
        seen->audits += o.audits;
        seen->hits += o.hits;
        seen->windows += o.windows;
    }
}

static void compare_all(uint64_t first, const struct variant *v)
{
    const char *by_hand = getenv("WORMHOLE_IDENTITY_SEEDS");
    unsigned long from = first, count = v->seeds ? v->seeds : SEEDS;
    struct seen seen = {0};

    if (by_hand)
        cr_assert_eq(sscanf(by_hand, "%lu:%lu", &from, &count), 2);
    for (uint64_t seed = from; seed < from + count; seed++)
        compare(seed, v, &seen);
    cr_assert(by_hand || seen.parts > 0, "no scenario has several partitions");
    cr_assert(by_hand || seen.replays > 0 || !v->reacts || v->kind.has_loss || v->kind.has_events,
              "nothing is replayed");
    cr_assert(by_hand || seen.windows > 1000, "%lu windows of shards", (unsigned long)seen.windows);
    cr_assert(by_hand || (seen.skips > 0 && seen.audits > 0) || !v->skips, "nothing is skipped");
    cr_assert(by_hand || seen.hits > 0 || !seen.replays, "no hit is audited");
}

Test(identity, of_flows_known_in_advance)
{
    compare_all(11001, &(struct variant){.reacts = 0});
}

Test(identity, of_flows_that_follow_others)
{
    compare_all(12001, &(struct variant){.reacts = 1});
}

Test(identity, where_packets_are_lost)
{
    compare_all(13001, &(struct variant){.kind = {.has_loss = 1}, .reacts = 1});
}

Test(identity, where_links_fail)
{
    compare_all(14001, &(struct variant){.kind = {.has_events = 1}});
    compare_all(15001, &(struct variant){.kind = {.has_events = 1, .has_loss = 1}, .reacts = 1});
}

Test(identity, with_skipping)
{
    compare_all(16001, &(struct variant){.skips = 1});
    compare_all(17001, &(struct variant){.reacts = 1, .skips = 1});
}

Test(identity, with_skipping_where_packets_are_lost_and_links_fail)
{
    compare_all(18001, &(struct variant){
                           .kind = {.has_events = 1, .has_loss = 1}, .reacts = 1, .skips = 1});
}

/* Charges for acknowledgements are held from step to step. */
Test(identity, of_steps_over_the_same_connections)
{
    compare_all(19001, &(struct variant){.kind = {.has_steps = 1}, .reacts = 1, .seeds = 20});
    compare_all(20001, &(struct variant){
                           .kind = {.has_steps = 1, .has_events = 1}, .reacts = 1, .seeds = 20});
}

Test(identity, with_skipping_of_steps_over_the_same_connections)
{
    /* 50043: a follower that goes alone ends at the very instant at which its leader did */
    compare_all(50031,
                &(struct variant){.kind = {.has_steps = 1}, .reacts = 1, .skips = 1, .seeds = 20});
}
