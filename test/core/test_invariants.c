/*
 * Properties that hold for every scenario: random networks, flows and settings from fixed seeds.
 * What must hold between events (sim_check.c) is checked at random instants of each run, and at its
 * end: every flow has ended, the network is empty, counters are back at zero, bytes add up, and the
 * same run again gives the same results.
 */
#include "rng.h"
#include "sim_fixture.h"
#include "sim_int.h"
#include "units.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#define SCENARIO_COUNT 240
#define PROBES 40

/* Draws of one scenario. */
struct draws {
    uint64_t seed, count;
};

static uint32_t below(struct draws *d, uint32_t bound)
{
    return rng_below(rng_u64(d->seed, 77, d->count++), bound);
}

static uint8_t one_in(struct draws *d, uint32_t n)
{
    return below(d, n) == 0;
}

static int64_t pick(struct draws *d, const int64_t *values, uint32_t count)
{
    return values[below(d, count)];
}
#define PICK(d, ...)                                                                               \
    pick(d, (const int64_t[]){__VA_ARGS__},                                                        \
         sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

/* ---- a random scenario ---- */

static struct topo *random_topo(struct draws *d, double error_rate)
{
    const int64_t rate = PICK(d, 25 * GBPS, 100 * GBPS, 400 * GBPS);
    const int64_t delay = PICK(d, 0, 5 * PS_PER_NS, PS_PER_US, 3 * PS_PER_US);
    struct topo *t = NULL;

    switch (below(d, 5)) {
    case 0:
        t = fix_star(3 + below(d, 10), rate, delay);
        break;
    case 1:
        t = fix_dumbbell(2 + below(d, 5), rate, rate / 4, delay);
        break;
    case 2:
        t = fix_leaf_spine(2 + below(d, 3), 1 + below(d, 3), 2 + below(d, 4), rate, delay);
        break;
    case 3:
        t = fix_chain(1 + below(d, 5), rate, delay);
        break;
    default:
        t = fix_leaf_spine(2, 4, 3, rate, delay);
        break;
    }
    for (uint32_t c = 0; c < t->class_count; c++)
        t->classes[c].error_rate = error_rate;
    return t;
}

static void random_host(struct draws *d, struct sim_config *c)
{
    c->payload_bytes = (uint32_t)PICK(d, 256, 1000, 4096);
    c->round_ps = PICK(d, 1, 1000);
    c->order = one_in(d, 2) ? ORDER_NS3 : ORDER_CANONICAL;
    c->has_window = c->cc == CC_HPCC || one_in(d, 2);
    c->window_variable = one_in(d, 2);
    c->window_global = one_in(d, 2);
    c->ack = (enum ack_mode)below(d, 3);
    c->ack_every_packets = one_in(d, 4) ? 4 : 1;
    c->recovery = (enum recovery_mode)PICK(d, RECOVERY_GO_BACK_N, RECOVERY_SELECTIVE_REPEAT);
    c->rto_ps = PICK(d, 200 * PS_PER_US, PS_PER_MS);
    c->rto_retries_max = 30;
    c->nack_interval_ps = PICK(d, 0, 20 * PS_PER_US, 500 * PS_PER_US);
    c->cnp_interval_ps = PICK(d, 0, 4 * PS_PER_US);
    if (c->cc == CC_NONE && one_in(d, 2))
        c->fixed_rate_bps = 10 * GBPS;
}

static struct sim_config random_config(struct draws *d)
{
    struct sim_config c = fix_config((enum cc_kind)below(d, CC_KIND_COUNT));

    c.seed = d->seed;
    random_host(d, &c);
    c.hpcc.multi_rate = one_in(d, 3);
    c.int_reset_idle = one_in(d, 2);
    c.pfc = !one_in(d, 3);
    c.buffer_bytes = PICK(d, 0, 200000, 1 << 20, 32 << 20);
    c.pfc_headroom_bytes = PICK(d, -1, -2);
    c.pfc_static = one_in(d, 4);
    c.pfc_static_bytes = 30000;
    c.sched = one_in(d, 2) ? SCHED_STRICT : SCHED_ROUND_ROBIN;
    c.routing = one_in(d, 3) ? ROUTING_SPRAY : ROUTING_ECMP;
    c.spray_paths = 1 + below(d, 6);
    return c;
}

static void random_event(struct draws *d, const struct topo *t, struct sim_config *c)
{
    const struct topo_link *l = &t->link[below(d, t->link_count)];
    const int64_t down = below(d, 400) * PS_PER_US;

    c->events[c->event_count++] = (struct net_event){down, l->a, l->b, NET_LINK_DOWN};
    c->events[c->event_count++] = (struct net_event){
        down + PICK(d, 0, 1, 50 * PS_PER_US, 2 * PS_PER_MS), l->b, l->a, NET_LINK_UP};
}

static void random_flows(struct draws *d, struct sim *s)
{
    const struct topo *t = sim_topo(s);
    const uint32_t hosts = t->host_count, count = 2 + below(d, 30);
    const int is_incast = one_in(d, 2), has_prios = one_in(d, 3);

    for (uint32_t i = 0; i < count; i++) {
        const uint32_t dst = is_incast ? 0 : below(d, hosts);
        const uint32_t src = (dst + 1 + below(d, hosts - 1)) % hosts;
        const int64_t bytes = PICK(d, 0, 1, 999, 1000, 40000, 123457, 400000);
        const int64_t start = PICK(d, 0, 0, PS_PER_US, below(d, 300) * PS_PER_US);

        fix_flow_prio(s, src, dst, bytes, start, has_prios ? (uint8_t)(1 + below(d, 5)) : 3);
    }
}

struct scenario_kind {
    int has_loss, has_events;
};

static struct sim *random_sim(uint64_t seed, const struct scenario_kind *kind)
{
    struct draws d = {seed, 0};
    struct sim_config c = random_config(&d);
    struct topo *t = random_topo(&d, kind->has_loss ? 0.002 : 0);
    struct sim *s;

    for (uint32_t i = 0; kind->has_events && i < 1 + below(&d, 3); i++)
        random_event(&d, t, &c);
    s = fix_sim(t, &c);
    random_flows(&d, s);
    return s;
}

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
    struct draws d = {*seed, 1000};

    for (uint32_t i = 0; i < PROBES; i++)
        cr_assert_eq(sim_schedule(s, (int64_t)below(&d, 1000) * 777777, probe, seed), 0);
    /* what is under way when the last flow completes, copies and pauses, drains until then */
    cr_assert_eq(sim_schedule(s, 1000 * PS_PER_S, probe, seed), 0);
}

static int is_lossless(const struct sim *s, const struct scenario_kind *kind)
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
static uint32_t check_end(struct sim *s, uint64_t seed, const struct scenario_kind *kind)
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

static uint32_t run_scenario(uint64_t seed, const struct scenario_kind *kind)
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

static void run_scenarios(uint64_t first, uint32_t count, const struct scenario_kind *kind)
{
    uint32_t stalled = 0;

    for (uint64_t seed = first; seed < first + count; seed++)
        stalled += run_scenario(seed, kind);
    cr_assert_leq(stalled, count / 10, "%u flows of %u scenarios stall", stalled, count);
}

Test(invariants, hold_in_random_networks)
{
    run_scenarios(1, SCENARIO_COUNT, &(struct scenario_kind){0, 0});
}

Test(invariants, hold_when_packets_are_lost)
{
    run_scenarios(1001, SCENARIO_COUNT / 2, &(struct scenario_kind){.has_loss = 1});
}

Test(invariants, hold_when_links_fail_and_come_back)
{
    run_scenarios(2001, SCENARIO_COUNT / 2, &(struct scenario_kind){.has_events = 1});
}
