/*
 * stage_value.c - what is kept of a stage: how it is made, whom it fits, and how it is taken.
 */
#include "scratch.h"
#include "stage_int.h"

#include <stdlib.h>
#include <string.h>

void stage__map_by(struct part *p, enum lens_sizes sizes, struct snapshot_map *m)
{
    const struct stage *g = p->stage;
    const struct lens *l = &g->look;
    const struct lens_key *k = &l->key[g->slot[sizes]];
    uint32_t *flow = scratch_flows(p->scratch, l->flow_count), *port = p->scratch->port;

    for (uint32_t i = 0; i < l->flow_count; i++)
        flow[i] = l->flow[k->flow[i]].id;
    for (uint32_t i = 0; i < l->port_count; i++)
        port[i] = l->port[k->port[i]];
    *m = (struct snapshot_map){flow, port, l->flow_count, l->port_count};
    snapshot_map_as(p, m);
}

/* ---- whom a value fits ---- */

/* So much is left to be sent of a flow that does not come near its end: the last packet is not
 * among what was sent, and what follows has something to skip or to send. */
int64_t stage__margin_bytes(const struct part *p)
{
    return 2 * (int64_t)p->s->cfg.payload_bytes;
}

/* No flow ends inside in a way that the entry does not know. */
int stage__is_long_enough(const struct part *p, const struct stage_value *v, enum lens_sizes sizes)
{
    const struct stage *g = p->stage;
    const struct lens_key *k = &g->look.key[g->slot[sizes]];
    const struct stage_flow *f = stage__flows_of(v);

    for (uint32_t i = 0; i < v->flow_count; i++) {
        const int64_t left = g->look.flow[k->flow[i]].left_bytes;

        if (!lens_is_sized(&g->look, sizes, k->flow[i]) &&
            left < f[i].sent_bytes + stage__margin_bytes(p))
            return 0;
    }
    return 1;
}

/* May it be found by what the key of this degree says of the sizes? */
int stage__can_be_known_by(const struct part *p, enum lens_sizes sizes)
{
    const struct stage *g = p->stage;

    for (uint32_t i = 0; i < g->look.flow_count; i++) {
        const struct flow_tx *t = &p->tx[g->look.flow[i].id];

        if (!lens_is_sized(&g->look, sizes, i) && t->size - t->snd_max < stage__margin_bytes(p))
            return 0;
    }
    return 1;
}

/* ---- making one ---- */

/* Where counters stand at the beginning of what is led. */
void stage__remember(struct part *p)
{
    struct stage *g = p->stage;
    const struct lens *l = &g->look;

    if (g->flow_cap < l->flow_count) {
        g->flow_cap = 2 * l->flow_count;
        check(!rows_grow(&g->flow_at, sizeof *g->flow_at, g->flow_cap), "out of memory");
    }
    if (g->port_cap < l->port_count) {
        g->port_cap = 2 * l->port_count;
        check(!rows_grow(&g->port_at, sizeof *g->port_at, g->port_cap), "out of memory");
    }
    g->base = episode__base(p, p->now);
    g->at = episode__counters(p);
    g->awaits_thaw = 0;
    for (uint32_t i = 0; i < l->flow_count; i++) {
        const struct flow_tx *t = &p->tx[l->flow[i].id];

        g->flow_at[i] = (struct stage_flow){t->snd_una, t->snd_una, t->retx_bytes, t->cnps};
        dcheck(l->flow[i].left_bytes == t->size - t->snd_una, "flow %u: %lld B left, not %lld",
               l->flow[i].id, (long long)(t->size - t->snd_una), (long long)l->flow[i].left_bytes);
    }
    for (uint32_t i = 0; i < l->port_count; i++) {
        struct port *pt = &p->port[l->port[i]];

        g->port_at[i] = episode__port_counters(pt);
        pt->q_max = pt->q_bytes; /* of this stage; restore_q_max puts the larger one back */
    }
}

void stage__restore_q_max(struct part *p)
{
    const struct stage *g = p->stage;

    for (uint32_t i = 0; i < g->look.port_count && !g->awaits_thaw; i++)
        episode__raise_q_max(&p->port[g->look.port[i]], g->port_at[i].q_max);
}

static void put_flows(const struct part *p, const struct snapshot_map *m, const struct lens_key *k,
                      struct bytes *out)
{
    for (uint32_t i = 0; i < m->flow_count; i++) {
        const struct flow_tx *t = &p->tx[m->flow[i]];
        const struct stage_flow *at = &p->stage->flow_at[k->flow[i]];
        const struct stage_flow f = {t->snd_una - at->acked_bytes, t->snd_max - at->sent_bytes,
                                     t->retx_bytes - at->retx_bytes, t->cnps - at->cnps};

        bytes_put(out, &f, sizeof f);
    }
}

static void put_ports(const struct part *p, const struct snapshot_map *m, const struct lens_key *k,
                      struct bytes *out)
{
    for (uint32_t i = 0; i < m->port_count; i++) {
        const struct moved_port o =
            episode__port_since(&p->port[m->port[i]], &p->stage->port_at[k->port[i]]);

        bytes_put(out, &o, sizeof o);
    }
}

void stage__save_value(struct part *p, enum lens_sizes sizes, struct bytes *out)
{
    const struct stage *g = p->stage;
    const struct lens_key *k = &g->look.key[g->slot[sizes]];
    const struct moved now = episode__counters(p);
    struct stage_value v = {.end_ps = p->now - g->base,
                            .moved = episode__since(&now, &g->at),
                            .flow_count = g->look.flow_count,
                            .port_count = g->look.port_count,
                            .note_count = p->note_count,
                            .end = p->stage_over};
    struct snapshot_map m;

    v.moved.audited = (struct audit_sums){.skips = 0}; /* each taker is audited for itself */
    v.moved.audit_rows = 0;
    stage__map_by(p, sizes, &m);
    out->count = 0;
    bytes_put(out, &v, sizeof v);
    put_flows(p, &m, k, out);
    put_ports(p, &m, k, out);
    for (uint32_t i = 0; i < p->note_count; i++) {
        const struct moved_note n = {p->tx[p->note[i].flow].snap_rank, p->note[i].what};

        bytes_put(out, &n, sizeof n);
    }
    if (p->stage_over)
        v.watch_bytes = freeze_save(p, &m, out);
    memcpy(out->at, &v, sizeof v);
    snapshot_save(p, &m, g->base, 0, out);
    snapshot_unmap(p, &m);
}

/* ---- taking one ---- */

void stage__move_on(struct part *p, const struct snapshot_map *m, const struct stage_value *v)
{
    const struct stage_flow *f = stage__flows_of(v);

    episode__adopt_ports(p, m, stage__ports_of(v));
    episode__move_counters(p, &v->moved);
    for (uint32_t i = 0; i < m->flow_count; i++) {
        struct flow_tx *t = &p->tx[m->flow[i]];

        t->size -= f[i].acked_bytes;
        t->base += f[i].acked_bytes;
        t->retx_bytes += f[i].retx_bytes;
        t->cnps += f[i].cnps;
    }
}

/* Of a flow, what is its own and not the leader's. */
struct own {
    int64_t left_bytes, acked_bytes, retx_bytes;
};

/* Rows of flows that waited have left the caches; restoring them would wait for each in turn. */
static void fetch_flow(const struct part *p, uint32_t flow)
{
    __builtin_prefetch(&p->tx[flow].path, 1);
    __builtin_prefetch(&p->tx[flow].snap_rank, 1);
    __builtin_prefetch(&p->rx[flow], 1);
    __builtin_prefetch(cc_state_of(p->s, flow), 1);
}

void stage__take_state(struct part *p, const struct snapshot_map *m, const struct stage_value *v,
                       int64_t base_ps)
{
    struct own *own = malloc(m->flow_count * sizeof *own);

    check(own != NULL, "out of memory for %u flows", m->flow_count);
    for (uint32_t i = 0; i < m->flow_count; i++) {
        const struct flow_tx *t = &p->tx[m->flow[i]];

        fetch_flow(p, m->flow[i]);
        own[i] = (struct own){t->size - t->snd_una, t->base + t->snd_una, t->retx_bytes};
    }
    snapshot_restore(p, m, base_ps, stage__watch_of(v) + v->watch_bytes);
    for (uint32_t i = 0; i < m->flow_count; i++) {
        struct flow_tx *t = &p->tx[m->flow[i]];

        t->size = p->rx[m->flow[i]].size = t->snd_una + own[i].left_bytes;
        t->base = own[i].acked_bytes - t->snd_una;
        t->retx_bytes = own[i].retx_bytes;
        dcheck(t->snd_max <= t->size, "flow %u: sent %lld of %lld", m->flow[i],
               (long long)t->snd_max, (long long)t->size);
    }
    free(own);
}

void stage__adopt_state(struct part *p, const struct snapshot_map *m, const struct stage_value *v)
{
    stage__move_on(p, m, v);
    stage__take_state(p, m, v, episode__base(p, p->now));
}
