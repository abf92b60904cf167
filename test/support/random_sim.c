/* random_sim.c - see random_sim.h. */
#include "random_sim.h"

#include "err.h"
#include "rng.h"
#include "sim_fixture.h"
#include "units.h"

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
    c->ack = (enum ack_mode)below(d, 4);
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

/* Some at once, most one after another with gaps. */
static void random_steps(struct draws *d, struct sim *s)
{
    const uint32_t hosts = sim_topo(s)->host_count, count = 2 + below(d, hosts);

    for (uint32_t i = 0; i < count; i++) {
        struct flow_spec f = {.src = i % hosts, .sport = 10000, .dport = 100, .prio = 3};
        const int64_t gap = PICK(d, 0, PS_PER_US, 10 * PS_PER_US, 50 * PS_PER_US);

        f.dst = (f.src + 1 + below(d, 2) % (hosts - 1)) % hosts;
        f.bytes = PICK(d, 1000, 40000, 123457, 400000);
        for (uint32_t step = 0; step < 3; step++) {
            check(!sim_add_flow(s, &f, NULL), "step %u of connection %u", step, i);
            f.start_ps += gap + below(d, 30) * PS_PER_US;
        }
    }
}

struct sim *random_sim(uint64_t seed, const struct random_kind *kind)
{
    struct draws d = {seed, 0};
    struct sim_config c = random_config(&d);
    struct topo *t = random_topo(&d, kind->has_loss ? 0.002 : 0);
    struct sim *s;

    for (uint32_t i = 0; kind->has_events && i < 1 + below(&d, 3); i++)
        random_event(&d, t, &c);
    if (kind->has_steps)
        c.ack = ACK_CHARGED;
    s = fix_sim(t, &c);
    if (kind->has_steps)
        random_steps(&d, s);
    else
        random_flows(&d, s);
    return s;
}
