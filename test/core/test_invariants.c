/*
 * Properties that hold for every scenario: random networks, flows and settings from fixed seeds.
 * What must hold between events (sim_check.c) is checked at random instants of each run, and at its
 * end: every flow has ended, the network is empty, counters are back at zero, bytes add up, and the
 * same run again gives the same results.
 */
#include "random_sim.h"
#include "rng.h"
#include "sim_fixture.h"
#include "sim_int.h"
#include "units.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#define SCENARIO_COUNT 240
#define PROBES 40

/* ---- what must hold ---- */

static void probe(void *arg, struct sim *s)
{
    const uint64_t *seed = arg;
    struct err_info e = {0};

    cr_assert_eq(sim_check_invariants(s, &e), 0, "seed %lu, at %ld ps: %s", (unsigned long)*seed,
                 (long)sim_now_ps(s), e.text);
}

static void add_probes(struct sim *s, uint64_t *seed)
{
    for (uint32_t i = 0; i < PROBES; i++)
        cr_assert_eq(
            sim_schedule(s, (int64_t)rng_below(rng_u64(*seed, 78, i), 1000) * 777777, probe, seed),
            0);
    /* what is under way when the last flow completes, copies and pauses, drains until then */
    cr_assert_eq(sim_schedule(s, 1000 * PS_PER_S, probe, seed), 0);
}

static int is_lossless(const struct sim *s, const struct random_kind *kind)
{
    const struct sim_config *c = sim_config(s);

    if (kind->has_loss || kind->has_events)
        return 0;
    if (!c->buffer_bytes)
        return 1;
    for (uint32_t i = 0; i < s->swtch_count; i++)
        if (s->swtch[i].shared_cap <= 0)
            return 0; /* the buffer cannot hold the headroom: a warning says so */
    return c->pfc && c->pfc_headroom_bytes == -2;
}

/* Returns the number of flows that were given up. Without a window go-back-N may collapse: what
 * gets through the full buffer again and again is not what is missing. */
static uint32_t check_end(struct sim *s, uint64_t seed, const struct random_kind *kind)
{
    const struct sim_counters c = fix_counters(s);
    const int may_stall = c.drops > 0 && !s->cfg.has_window;
    uint64_t retx = 0, payload = 0;

    for (uint32_t f = 0; f < s->flow_count; f++) {
        const struct flow_result *r = sim_flow_result(s, f);

        cr_assert(r->state == FLOW_DONE || (r->state == FLOW_STALLED && may_stall),
                  "seed %lu: flow %u of %ld B ends in state %u at %ld B", (unsigned long)seed, f,
                  (long)s->spec[f].bytes, r->state, (long)r->acked_bytes);
        cr_assert(r->state == FLOW_STALLED || r->acked_bytes == s->spec[f].bytes);
        cr_assert(r->state == FLOW_STALLED || s->rx[f].expected == s->spec[f].bytes);
        retx += (uint64_t)r->retx_bytes;
        payload += (uint64_t)r->acked_bytes;
    }
    if (is_lossless(s, kind))
        cr_assert_eq(c.drops, 0, "seed %lu: %lu drops in a lossless configuration",
                     (unsigned long)seed, (unsigned long)c.drops);
    if (!kind->has_loss && !kind->has_events)
        cr_assert_eq(c.losses, 0);
    cr_assert((c.retx_packets > 0) == (retx > 0));
    cr_assert_geq(c.data_packets - c.retx_packets, payload / s->cfg.payload_bytes);
    return (uint32_t)c.flows_stalled;
}

static void check_empty(const struct sim *s, uint64_t seed)
{
    struct err_info e = {0};

    cr_assert_eq(sim_check_invariants(s, &e), 0, "seed %lu: %s", (unsigned long)seed, e.text);
    for (uint32_t i = 0; i < s->topo->port_count; i++) {
        cr_assert_eq(s->port[i].q_bytes, 0, "seed %lu: port %u holds %u B", (unsigned long)seed, i,
                     s->port[i].q_bytes);
        cr_assert_eq(s->port[i].wire_head, 0, "seed %lu: port %u", (unsigned long)seed, i);
        cr_assert_eq(s->port[i].paused, 0, "seed %lu: port %u stays paused", (unsigned long)seed,
                     i);
        cr_assert_eq(s->port[i].flows, 0, "seed %lu: port %u", (unsigned long)seed, i);
        for (uint32_t k = 0; k < s->class_count; k++)
            cr_assert_eq(s->ingress[i * s->class_count + k].bytes +
                             s->ingress[i * s->class_count + k].headroom,
                         0);
    }
    for (uint32_t i = 0; i < s->swtch_count; i++)
        cr_assert_eq(s->swtch[i].shared_used, 0);
}

static uint32_t run_scenario(uint64_t seed, const struct random_kind *kind)
{
    struct sim *s = random_sim(seed, kind), *again = random_sim(seed, kind);
    uint32_t stalled;

    add_probes(s, &seed);
    add_probes(again, &seed);
    fix_run(s);
    stalled = check_end(s, seed, kind);
    fix_run(again);
    cr_assert_eq(fix_digest(s), fix_digest(again), "seed %lu: two runs differ",
                 (unsigned long)seed);
    check_empty(s, seed);
    sim_destroy(s);
    sim_destroy(again);
    return stalled;
}

static void run_scenarios(uint64_t first, uint32_t count, const struct random_kind *kind)
{
    uint32_t stalled = 0;

    for (uint64_t seed = first; seed < first + count; seed++)
        stalled += run_scenario(seed, kind);
    cr_assert_leq(stalled, count / 10, "%u flows of %u scenarios stall", stalled, count);
}

Test(invariants, hold_in_random_networks)
{
    run_scenarios(1, SCENARIO_COUNT, &(struct random_kind){0});
}

Test(invariants, hold_when_packets_are_lost)
{
    run_scenarios(1001, SCENARIO_COUNT / 2, &(struct random_kind){.has_loss = 1});
}

Test(invariants, hold_when_links_fail_and_come_back)
{
    run_scenarios(2001, SCENARIO_COUNT / 2, &(struct random_kind){.has_events = 1});
}
