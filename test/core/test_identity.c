/*
 * However a simulation is executed, its results are the same: the serial engine against partitions,
 * on any number of threads, for random scenarios from fixed seeds and for more of them by hand
 * (WORMHOLE_IDENTITY_SEEDS=first:count).
 */
#include "random_sim.h"
#include "rng.h"
#include "sim_fixture.h"
#include "sim_int.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEEDS 120u
#define CHAIN_FLOWS 40u /* that hooks add */

struct variant {
    struct random_kind kind;
    int reacts; /* hooks add flows when flows complete or are delivered */
};

struct outcome {
    uint64_t digest;
    struct sim_counters counters;
    uint32_t parts;
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
    next.src = f->dst;
    next.dst = (f->dst + 1 + rng_below(draw, hosts - 1)) % hosts;
    next.start_ps = now_ps + (int64_t)((draw >> 40) % 3) * 1000000;
    next.sport = 0;
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

static struct outcome run_as(uint64_t seed, const struct variant *v, enum engine_kind kind,
                             uint32_t threads)
{
    const struct sim_engine engine = {kind, threads};
    const struct sim_hooks hooks = {.on_complete = on_complete, .on_delivered = on_delivered};
    struct sim *s = random_sim(seed, &v->kind);
    struct sim_engine_stats stats;
    struct outcome o;

    cr_assert_eq(sim_set_engine(s, &engine), 0);
    if (v->reacts)
        sim_set_hooks(s, &hooks);
    fix_run(s);
    sim_engine_stats(s, &stats);
    o = (struct outcome){fix_digest(s), fix_counters(s), stats.parts_ever};
    o.counters.events = 0; /* of the engine, not of the network */
    sim_destroy(s);
    return o;
}

static void compare(uint64_t seed, const struct variant *v, uint32_t *parts)
{
    const struct outcome serial = run_as(seed, v, ENGINE_SERIAL, 1);
    static const uint32_t threads[] = {1, 2, 3, 4, 8, 16};

    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        const struct outcome o = run_as(seed, v, ENGINE_PARTITIONED, threads[i]);

        cr_assert_eq(o.digest, serial.digest, "seed %lu: %u threads differ from serial",
                     (unsigned long)seed, threads[i]);
        cr_assert(!memcmp(&o.counters, &serial.counters, sizeof o.counters),
                  "seed %lu: counters of %u threads differ from serial", (unsigned long)seed,
                  threads[i]);
        *parts += o.parts > 1;
    }
}

static void compare_all(uint64_t first, const struct variant *v)
{
    const char *by_hand = getenv("WORMHOLE_IDENTITY_SEEDS");
    unsigned long from = first, count = SEEDS;
    uint32_t parts = 0;

    if (by_hand)
        cr_assert_eq(sscanf(by_hand, "%lu:%lu", &from, &count), 2);
    for (uint64_t seed = from; seed < from + count; seed++)
        compare(seed, v, &parts);
    cr_assert(by_hand || parts > 0, "no scenario has several partitions");
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
