/*
 * sim_fixture.c - see sim_fixture.h.
 */
#include "sim_fixture.h"

#include "rng.h"
#include "sim_int.h"
#include "units.h"

#include <stdlib.h>

struct topo *fix_graph(uint32_t host_count, uint32_t switch_count, const struct fix_link *links,
                       uint32_t link_count)
{
    struct topo *t;

    check(!topo_create(&t, host_count + switch_count), "no graph of %u nodes", host_count);
    for (uint32_t n = host_count; n < host_count + switch_count; n++)
        topo_set_kind(t, n, NODE_SWITCH);
    for (uint32_t i = 0; i < link_count; i++) {
        const struct fix_link *l = &links[i];
        const int64_t row =
            topo_add_class(t, &(struct link_class){l->rate_bps, l->delay_ps, l->error_rate});

        check(row >= 0 && !topo_add_link(t, l->a, l->b, (uint32_t)row), "link %u", i);
    }
    check(!topo_finish(t), "graph of %u nodes", t->node_count);
    return t;
}

struct topo *fix_star(uint32_t hosts, int64_t rate_bps, int64_t delay_ps)
{
    struct fix_link *links = calloc(hosts, sizeof *links);
    struct topo *t;

    check(links != NULL, "%u links", hosts);
    for (uint32_t h = 0; h < hosts; h++)
        links[h] = (struct fix_link){h, hosts, rate_bps, delay_ps, 0};
    t = fix_graph(hosts, 1, links, hosts);
    free(links);
    return t;
}

struct topo *fix_chain(uint32_t hops, int64_t rate_bps, int64_t delay_ps)
{
    struct fix_link links[64];

    check(hops >= 1 && hops <= 64, "%u hops", hops);
    for (uint32_t i = 0; i < hops; i++)
        links[i] =
            (struct fix_link){i ? i + 1 : 0, i + 1 < hops ? i + 2 : 1, rate_bps, delay_ps, 0};
    return fix_graph(2, hops - 1, links, hops);
}

struct topo *fix_dumbbell(uint32_t hosts_per_side, int64_t rate_bps, int64_t cross_bps,
                          int64_t delay_ps)
{
    const uint32_t hosts = 2 * hosts_per_side;
    struct fix_link *links = calloc(hosts + 1, sizeof *links);
    struct topo *t;

    check(links != NULL, "%u links", hosts);
    for (uint32_t h = 0; h < hosts; h++)
        links[h] = (struct fix_link){h, hosts + (h >= hosts_per_side), rate_bps, delay_ps, 0};
    links[hosts] = (struct fix_link){hosts, hosts + 1, cross_bps, delay_ps, 0};
    t = fix_graph(hosts, 2, links, hosts + 1);
    free(links);
    return t;
}

struct topo *fix_leaf_spine(uint32_t leaves, uint32_t spines, uint32_t hosts_per_leaf,
                            int64_t rate_bps, int64_t delay_ps)
{
    const uint32_t hosts = leaves * hosts_per_leaf;
    struct fix_link *links = calloc(hosts + leaves * spines, sizeof *links);
    uint32_t count = 0;
    struct topo *t;

    check(links != NULL, "%u hosts", hosts);
    for (uint32_t h = 0; h < hosts; h++)
        links[count++] = (struct fix_link){h, hosts + h / hosts_per_leaf, rate_bps, delay_ps, 0};
    for (uint32_t l = 0; l < leaves; l++)
        for (uint32_t p = 0; p < spines; p++)
            links[count++] =
                (struct fix_link){hosts + l, hosts + leaves + p, rate_bps, delay_ps, 0};
    t = fix_graph(hosts, leaves + spines, links, count);
    free(links);
    return t;
}

struct sim_config fix_config(enum cc_kind cc)
{
    struct sim_config c;

    config_init(&c);
    c.cc = cc;
    return c;
}

struct sim *fix_sim(struct topo *topo, const struct sim_config *cfg)
{
    struct err_info e = {0};
    struct sim *s = NULL;
    const int rc = sim_create(&s, topo, cfg, NULL, &e);

    check(!rc, "simulation refused: %s", e.text);
    return s;
}

uint32_t fix_flow_prio(struct sim *s, uint32_t src, uint32_t dst, int64_t bytes, int64_t start_ps,
                       uint8_t prio)
{
    const struct flow_spec f = {
        .start_ps = start_ps, .bytes = bytes, .src = src, .dst = dst, .dport = 100, .prio = prio};
    uint32_t id = 0;
    const int rc = sim_add_flow(s, &f, &id);

    check(!rc, "flow from %u to %u: %s", src, dst, err_text(rc));
    return id;
}

uint32_t fix_flow(struct sim *s, uint32_t src, uint32_t dst, int64_t bytes, int64_t start_ps)
{
    return fix_flow_prio(s, src, dst, bytes, start_ps, 3);
}

static void cut_wire(void *arg, struct sim *s)
{
    struct fix_cut *cut = arg;
    struct port *pt = &s->port[topo_find_port(s->topo, cut->from, cut->to)];

    for (; pt->wire_head; cut->packets++) {
        const uint32_t row = pt->wire_head;

        pt->wire_head = s->pkt[row].next;
        pkt_free(part_of_port(s, topo_find_port(s->topo, cut->from, cut->to)), row);
    }
}

void fix_cut_wire(struct sim *s, int64_t at_ps, struct fix_cut *cut)
{
    const int rc = sim_schedule(s, at_ps, cut_wire, cut);

    check(!rc, "cut at %lld ps: %s", (long long)at_ps, err_text(rc));
}

void fix_run(struct sim *s)
{
    const int rc = sim_run(s, TIME_NEVER);

    check(!rc, "run: %s", err_text(rc));
}

int64_t fix_fct(const struct sim *s, uint32_t flow)
{
    const struct flow_result *r = sim_flow_result(s, flow);

    return r->state == FLOW_DONE ? r->end_ps - r->start_ps : -1;
}

struct sim_counters fix_counters(const struct sim *s)
{
    struct sim_counters c;

    sim_counters(s, &c);
    return c;
}

int fix_all_done(const struct sim *s)
{
    for (uint32_t f = 0; f < sim_flow_count(s); f++) {
        const struct flow_result *r = sim_flow_result(s, f);

        if (r->state != FLOW_DONE || r->acked_bytes != sim_flow_spec(s, f)->bytes)
            return 0;
    }
    return 1;
}

static void mix(uint64_t *digest, uint64_t value)
{
    *digest = rng_mix(*digest ^ value);
}

uint64_t fix_digest(const struct sim *s)
{
    const struct sim_counters c = fix_counters(s);
    uint64_t d = c.packet_hops;

    for (uint32_t f = 0; f < sim_flow_count(s); f++) {
        const struct flow_result *r = sim_flow_result(s, f);

        mix(&d, (uint64_t)r->end_ps);
        mix(&d, (uint64_t)r->acked_bytes);
        mix(&d, (uint64_t)r->retx_bytes << 8 | r->state);
    }
    for (uint32_t p = 0; p < sim_topo(s)->port_count; p++) {
        struct port_stats ps;

        sim_port_stats(s, p, &ps);
        mix(&d, ps.tx_bytes);
        mix(&d, ps.marks);
        mix(&d, ps.drops + ps.losses);
        mix(&d, (uint64_t)ps.paused_ps);
        mix(&d, ps.queue_max_bytes);
    }
    mix(&d, c.ack_packets);
    mix(&d, c.nack_packets);
    mix(&d, c.rate_cuts);
    mix(&d, c.timeouts);
    return d;
}
