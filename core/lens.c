/*
 * lens.c - see lens.h.
 */
#include "lens.h"

#include "scratch.h"
#include "sim_int.h"
#include "units.h"

#include <stdlib.h>
#include <string.h>

/*
 * A stage lasts at most SPAN_RTTS of the longest round trip. Shorter ones are looked up more often;
 * of longer ones more has to be executed when a control event or the end of a flow comes before.
 * A flow has little left if it could send it within the stage and SPARE_RTTS more, which is what
 * it may have in flight.
 */
#define SPAN_RTTS 16
#define SPARE_RTTS 4

/* ---- bins ---- */

uint16_t lens_bin(uint64_t value, uint32_t bits)
{
    uint32_t top;

    if (value < UINT64_C(1) << bits)
        return (uint16_t)value;
    top = 63 - (uint32_t)__builtin_clzll(value);
    return (uint16_t)((top - bits + 1) << bits |
                      (value >> (top - bits) & ((UINT64_C(1) << bits) - 1)));
}

#define SHARE_UNIT (1 << 20)

uint16_t lens_share_bin(int64_t part, int64_t whole, uint32_t bits)
{
    if (whole <= 0 || part <= 0)
        return 0;
    return lens_bin((uint64_t)((__int128)part * SHARE_UNIT / whole), bits);
}

/* ---- numbering ---- */

static void reserve(void *rows, size_t row_bytes, uint32_t *cap, uint32_t count)
{
    const uint32_t more = 2 * count + 8;

    if (count <= *cap)
        return;
    check(!rows_grow(rows, row_bytes, more), "out of memory for %u rows of a key", more);
    *cap = more;
}

static void reserve_keys(struct lens *l, uint32_t flows, uint32_t ports)
{
    const uint32_t flows_more = 2 * flows + 8, ports_more = 2 * ports + 8;

    if (flows > l->flow_cap) {
        check(!rows_grow(&l->flow, sizeof *l->flow, flows_more), "out of memory for a key");
        for (int k = 0; k <= LENS_BARE; k++)
            check(!rows_grow(&l->key[k].flow, sizeof *l->key[k].flow, flows_more),
                  "out of memory for a key");
        l->flow_cap = flows_more;
    }
    if (ports > l->port_cap) {
        check(!rows_grow(&l->port, sizeof *l->port, ports_more), "out of memory for a key");
        for (int k = 0; k <= LENS_BARE; k++)
            check(!rows_grow(&l->key[k].port, sizeof *l->key[k].port, ports_more),
                  "out of memory for a key");
        l->port_cap = ports_more;
    }
}

static int64_t longest_rtt_ps(const struct part *p)
{
    int64_t rtt = 1;

    for (uint32_t i = 0; i < p->flow_count; i++)
        rtt = p->tx[p->flow[i]].base_rtt_ps > rtt ? p->tx[p->flow[i]].base_rtt_ps : rtt;
    return rtt;
}

int64_t lens_span_ps(const struct part *p)
{
    return (longest_rtt_ps(p) / PS_PER_NS + 1) * PS_PER_NS * SPAN_RTTS;
}

int lens_is_short(const struct part *p, uint32_t flow, int64_t left_bytes)
{
    const int64_t ps = lens_span_ps(p) + SPARE_RTTS * longest_rtt_ps(p);

    return (__int128)left_bytes * 8 * PS_PER_S < (__int128)p->tx[flow].max_rate_bps * ps;
}

void lens_look(struct lens *l, struct part *p, uint8_t kind, uint8_t step, int after_skip)
{
    struct snapshot_map m;

    snapshot_map(p, &m);
    reserve_keys(l, m.flow_count, m.port_count);
    l->kind = kind;
    l->step = step;
    l->is_watched = p->is_fresh || p->is_watched;
    l->has_graph = 0;
    l->flow_count = m.flow_count;
    l->port_count = m.port_count;
    memcpy(l->port, m.port, m.port_count * sizeof *l->port);
    for (uint32_t i = 0; i < m.flow_count; i++) {
        const struct flow_tx *t = &p->tx[m.flow[i]];
        const int64_t skip = after_skip ? freeze_pending_bytes(p, m.flow[i]) : 0;
        const int64_t left = t->size - t->snd_una - skip;

        l->flow[i] =
            (struct lens_flow){m.flow[i], left, (uint8_t)lens_is_short(p, m.flow[i], left)};
    }
    snapshot_unmap(p, &m);
}

int lens_is_sized(const struct lens *l, enum lens_sizes sizes, uint32_t number)
{
    return sizes == LENS_EXACT || (sizes == LENS_MIXED && l->flow[number].is_short);
}

int lens_is_same(const struct lens *l, enum lens_sizes a, enum lens_sizes b)
{
    for (uint32_t i = 0; i < l->flow_count; i++)
        if (lens_is_sized(l, a, i) != lens_is_sized(l, b, i))
            return 0;
    return 1;
}

/* ---- colours ---- */

struct flow_colour {
    int64_t max_rate_bps, base_rtt_ps, win_max, bypass_ps, left_bytes;
    uint16_t path_count, hops;
    uint16_t rate, flight, win;
    uint16_t cc[CC_COARSE_COUNT];
    uint8_t kind, step, cls, active, delivered, is_sized;
    uint16_t received, last, pad[2];
};
_Static_assert(sizeof(struct flow_colour) == 72, "no hidden padding");

/* Few packets are counted, more are a share of what the path holds. */
static uint16_t flight_bin(const struct part *p, const struct flow_tx *t)
{
    const int64_t packets = (t->snd_nxt - t->snd_una) / p->s->cfg.payload_bytes;

    return lens_bin((uint64_t)(packets > 0 ? packets : 0), LENS_FLIGHT_BITS);
}

/* Of what is under way, so much has arrived and is acknowledged on the way back. Where nothing is
 * left to be sent that decides when the flow ends: by a bin, and by the packet for the last ones.
 */
static uint16_t received_bin(const struct part *p, uint32_t flow)
{
    const struct flow_tx *t = &p->tx[flow];
    const int64_t packets = (p->rx[flow].expected - t->snd_una) / p->s->cfg.payload_bytes;
    const uint32_t bits = t->snd_max < t->size ? LENS_FLIGHT_BITS : LENS_LAST_BITS;

    return lens_bin((uint64_t)(packets > 0 ? packets : 0), bits);
}

/* Where nothing is left to be sent: how long ago the last packet was, in LENS_LAST_STEPS of a round
 * trip, which is where it or its acknowledgement may be. */
static uint16_t last_bin(const struct part *p, const struct flow_tx *t)
{
    const int64_t most = 64; /* round trips */
    int64_t ago = p->now - t->next_avail + t->base_rtt_ps;

    if (t->snd_max < t->size || t->base_rtt_ps <= 0)
        return 0;
    ago = ago > 0 ? ago : 0;
    ago = ago < most * t->base_rtt_ps ? ago : most * t->base_rtt_ps;
    return (uint16_t)(1 + ago * LENS_LAST_STEPS / t->base_rtt_ps);
}

static void say_size(const struct lens *l, uint32_t number, enum lens_sizes sizes,
                     struct flow_colour *c)
{
    c->is_sized = (uint8_t)lens_is_sized(l, sizes, number);
    c->left_bytes = c->is_sized ? l->flow[number].left_bytes : 0;
}

static void make_flow_colour(const struct lens *l, const struct part *p, uint32_t number,
                             enum lens_sizes sizes, struct flow_colour *c)
{
    const struct sim *s = p->s;
    const struct lens_flow *f = &l->flow[number];
    const struct flow_tx *t = &p->tx[f->id];

    *c = (struct flow_colour){.max_rate_bps = t->max_rate_bps,
                              .base_rtt_ps = t->base_rtt_ps,
                              .win_max = t->win_max,
                              .bypass_ps = ack_is_beside(s->cfg.ack) ? t->bypass_ps : 0,
                              .path_count = t->path_count,
                              .hops = t->hops,
                              .kind = (uint8_t)(1 + l->kind + (l->is_watched ? 0 : 8)),
                              .step = l->step,
                              .cls = t->cls};
    say_size(l, number, sizes, c);
    if (sizes == LENS_BARE)
        return;
    c->rate = lens_share_bin(t->rate_bps, t->max_rate_bps, LENS_RATE_BITS);
    c->flight = flight_bin(p, t);
    c->received = received_bin(p, f->id);
    c->last = last_bin(p, t);
    c->win = t->win == t->win_max ? 0 : lens_bin((uint64_t)t->win, LENS_FLIGHT_BITS);
    c->active = t->active;
    c->delivered = p->rx[f->id].delivered;
    if (s->cc->coarse)
        s->cc->coarse(t, cc_state_of(s, f->id), c->cc);
}

struct port_colour {
    int64_t rate_bps, delay_ps, kmin_bytes, kmax_bytes;
    double pmax;
    uint32_t int_code;
    uint16_t charge, queue;
    uint8_t flags, paused, pad[6];
};
_Static_assert(sizeof(struct port_colour) == 56, "no hidden padding");

static struct port_colour port_colour(const struct part *p, uint32_t port, enum lens_sizes sizes)
{
    const struct sim *s = p->s;
    const struct port *pt = &p->port[port];
    const struct port_kind *k = &s->kind[pt->kind];
    const uint32_t frame = s->cfg.payload_bytes + s->data_header_bytes;
    struct port_colour c = {.rate_bps = k->rate_bps,
                            .delay_ps = k->delay_ps,
                            .kmin_bytes = k->kmin_bytes,
                            .kmax_bytes = k->kmax_bytes,
                            .pmax = k->pmax,
                            .int_code = k->int_code,
                            .charge = pt->charge,
                            .flags = pt->flags & (PORT_HOST | PORT_DOWN)};

    if (sizes == LENS_BARE)
        return c;
    c.queue = lens_bin((pt->q_bytes + frame - 1) / frame, LENS_QUEUE_BITS);
    c.paused = pt->paused;
    return c;
}

void lens_put_port(const struct part *p, uint32_t port, struct bytes *out)
{
    const struct port_colour c = port_colour(p, port, LENS_BARE);

    bytes_put(out, &c, sizeof c);
}

/* ---- the graph ---- */

/* Room for one. */
static void *add_colour(struct lens *l, uint32_t colour_bytes)
{
    struct memo_colour *c = bytes_room(&l->colour, sizeof *c);

    *c = (struct memo_colour){(uint32_t)l->bytes.count, colour_bytes};
    return bytes_room(&l->bytes, colour_bytes);
}

/* Packets on their way say which of the flow's ways, so ways are not interchangeable. */
static void put_way(struct lens *l, const struct part *p, uint32_t flow, uint32_t row,
                    uint32_t label)
{
    for (; p->path[row] != PATH_END; row++, label++) {
        struct memo_edge *e = bytes_room(&l->edge, sizeof *e);

        *e = (struct memo_edge){flow, l->flow_count + p->scratch->mark[p->path[row]] - 1, label};
    }
}

#define LABELS_PER_WAY 16u /* > INT_HOPS_MAX, and more hops than topologies have */

static void put_ways(struct lens *l, const struct part *p, uint32_t number)
{
    const struct flow_tx *t = &p->tx[l->flow[number].id];

    for (uint32_t k = 0; k < t->path_count; k++) {
        put_way(l, p, number, t->path + k * t->path_stride, 2 * k * LABELS_PER_WAY);
        if (!ack_is_beside(p->s->cfg.ack))
            put_way(l, p, number, t->ack_path + k * t->ack_stride, (2 * k + 1) * LABELS_PER_WAY);
    }
}

/* Labels of long ways run into those of the next; the graph then still says which port is which
 * by its order, but two graphs could be taken for each other. */
static int has_long_ways(const struct lens *l, const struct part *p)
{
    for (uint32_t i = 0; i < l->flow_count; i++) {
        const struct flow_tx *t = &p->tx[l->flow[i].id];

        if (t->path_stride > LABELS_PER_WAY || t->ack_stride > LABELS_PER_WAY)
            return 1;
    }
    return 0;
}

/* Degrees differ in what they say of sizes alone. */
static void resize_graph(struct lens *l, enum lens_sizes sizes)
{
    struct flow_colour *c = (struct flow_colour *)(void *)l->bytes.at;

    for (uint32_t i = 0; i < l->flow_count; i++)
        say_size(l, i, sizes, &c[i]);
}

static void make_graph(struct lens *l, struct part *p, enum lens_sizes sizes)
{
    l->bytes.count = l->colour.count = l->edge.count = 0;
    for (uint32_t i = 0; i < l->port_count; i++)
        p->scratch->mark[l->port[i]] = i + 1;
    for (uint32_t i = 0; i < l->flow_count; i++) {
        make_flow_colour(l, p, i, sizes, add_colour(l, sizeof(struct flow_colour)));
        put_ways(l, p, i);
    }
    for (uint32_t i = 0; i < l->port_count; i++) {
        struct port_colour *c = add_colour(l, sizeof *c);

        *c = port_colour(p, l->port[i], sizes);
    }
    for (uint32_t i = 0; i < l->port_count; i++)
        p->scratch->mark[l->port[i]] = 0;
    l->has_graph = sizes != LENS_BARE;
}

/* ---- keys ---- */

/* One flow and its ports in hop order are in canonical order. */
static int form_of_one(struct lens *l, const struct part *p, struct memo_form *out)
{
    const uint32_t vertices = l->flow_count + l->port_count;

    reserve(&l->order, sizeof *l->order, &l->order_cap, vertices);
    for (uint32_t i = 0; i < vertices; i++)
        l->order[i] = i;
    l->form.count = 0;
    bytes_put(&l->form, &vertices, sizeof vertices);
    bytes_put(&l->form, l->bytes.at, l->bytes.count);
    bytes_put(&l->form, l->edge.at, l->edge.count);
    *out = (struct memo_form){l->order, l->form.at, l->form.count,
                              p->s->memo.hash(l->form.at, l->form.count)};
    return 0;
}

static void take_form(struct lens *l, const struct memo_form *f, struct lens_key *k)
{
    const uint32_t vertices = l->flow_count + l->port_count;
    uint32_t flows = 0, ports = 0;

    k->key.count = 0;
    bytes_put(&k->key, f->key, f->key_bytes);
    k->hash = f->hash;
    for (uint32_t i = 0; i < vertices; i++) {
        if (f->order[i] < l->flow_count)
            k->flow[flows++] = f->order[i];
        else
            k->port[ports++] = f->order[i] - l->flow_count;
    }
}

int lens_make(struct lens *l, struct part *p, enum lens_sizes sizes)
{
    struct memo_graph g;
    struct memo_form f;
    int rc;

    if (has_long_ways(l, p))
        return 0;
    if (l->has_graph && sizes != LENS_BARE)
        resize_graph(l, sizes);
    else
        make_graph(l, p, sizes);
    g = (struct memo_graph){l->bytes.at, (const struct memo_colour *)l->colour.at,
                            (const struct memo_edge *)l->edge.at, l->flow_count + l->port_count,
                            (uint32_t)(l->edge.count / sizeof(struct memo_edge))};
    rc = l->flow_count == 1 ? form_of_one(l, p, &f)
                            : p->s->memo.canonical(p->s->memo.ctx, p->scratch->worker_id, &g, &f);
    check(rc >= 0, "out of memory for a key of %u flows", l->flow_count);
    if (!rc)
        take_form(l, &f, &l->key[sizes]);
    return !rc;
}

void lens_fini(struct lens *l)
{
    for (int k = 0; k <= LENS_BARE; k++) {
        bytes_fini(&l->key[k].key);
        free(l->key[k].flow);
        free(l->key[k].port);
    }
    bytes_fini(&l->bytes);
    bytes_fini(&l->colour);
    bytes_fini(&l->edge);
    bytes_fini(&l->form);
    free(l->flow);
    free(l->port);
    free(l->order);
    *l = (struct lens){.flow_count = 0};
}
