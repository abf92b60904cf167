/*
 * snapshot.c - see snapshot.h. Saving and restoring stand side by side, field by field.
 */
#include "snapshot.h"

#include "scratch.h"
#include "sim_int.h"
#include "units.h"

#include <stdlib.h>
#include <string.h>

#define CC_STATE_BYTES_MAX 1024u
#define SNAP_FLOWS_MAX                                                                             \
    1024u /* a partition of more flows hardly comes twice, and costs more to save                  \
             than many of its events */

/* ---- bytes ---- */

void *bytes_room(struct bytes *b, size_t count)
{
    const size_t at = b->count;

    if (at + count > b->cap) {
        const size_t cap = 2 * b->cap + count + 1024;
        uint8_t *more = realloc(b->at, cap);

        check(more != NULL, "out of memory for a snapshot of %zu bytes", cap);
        b->at = more;
        b->cap = cap;
    }
    b->count = at + count;
    return b->at + at;
}

void bytes_put(struct bytes *b, const void *from, size_t count)
{
    memcpy(bytes_room(b, count), from, count);
}

void bytes_fini(struct bytes *b)
{
    free(b->at);
    *b = (struct bytes){0};
}

static void put_u32(struct bytes *b, uint32_t v)
{
    bytes_put(b, &v, sizeof v);
}

static void take(const uint8_t **from, void *to, size_t count)
{
    memcpy(to, *from, count);
    *from += count;
}

static uint32_t take_u32(const uint8_t **from)
{
    uint32_t v;

    take(from, &v, sizeof v);
    return v;
}

/* ---- numbering ---- */

int snapshot_can(const struct part *p)
{
    const struct sim *s = p->s;

    return p->running && p->running == p->flow_count && p->flow_count <= SNAP_FLOWS_MAX &&
           !p->swtch_count && !p->old_count && !p->linger_count && !s->any_loss &&
           s->cfg.recovery != RECOVERY_SELECTIVE_REPEAT && p->order == ORDER_CANONICAL;
}

static int by_id(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

struct numbering {
    struct scratch *x;
    uint32_t count;
};

static void number_port(void *arg, uint32_t port)
{
    struct numbering *n = arg;

    if (n->x->mark[port])
        return;
    n->x->port[n->count++] = port;
    n->x->mark[port] = n->count;
}

void snapshot_map(struct part *p, struct snapshot_map *m)
{
    struct sim *s = p->s;
    struct numbering n = {p->scratch, 0};

    shard_gather(p);
    *m = (struct snapshot_map){scratch_flows(n.x, p->flow_count), n.x->port, p->flow_count, 0};
    memcpy(m->flow, p->flow, p->flow_count * sizeof *p->flow);
    if (m->flow_count > 1)
        qsort(m->flow, m->flow_count, sizeof *m->flow, by_id);
    for (uint32_t i = 0; i < m->flow_count; i++) {
        s->tx[m->flow[i]].snap_rank = i;
        flow_each_port(s, &s->tx[m->flow[i]], number_port, &n);
    }
    m->port_count = n.count;
}

void snapshot_map_as(struct part *p, const struct snapshot_map *m)
{
    for (uint32_t i = 0; i < m->flow_count; i++)
        p->s->tx[m->flow[i]].snap_rank = i;
    for (uint32_t i = 0; i < m->port_count; i++)
        p->scratch->mark[m->port[i]] = i + 1;
}

void snapshot_unmap(struct part *p, const struct snapshot_map *m)
{
    for (uint32_t i = 0; i < m->port_count; i++)
        p->scratch->mark[m->port[i]] = 0;
}

/* From 1. */
static uint32_t port_number(const struct part *p, uint32_t port)
{
    return p->scratch->mark[port];
}

/* ---- packets ---- */

struct snap_pkt {
    int64_t arrive, sched, chain, seq, sent;
    uint32_t flow, has_in_port;
    uint16_t way, hop; /* which path: 2 k data, 2 k + 1 ACK; rows from its first */
    uint16_t wire_bytes, payload;
    uint8_t type, cls, flags, int_hops;
    uint32_t pad;
};
_Static_assert(sizeof(struct snap_pkt) == 64, "no hidden padding");

static void find_way(const struct flow_tx *t, uint32_t row, struct snap_pkt *o)
{
    if (row >= t->path && row - t->path < (uint32_t)t->path_count * t->path_stride) {
        o->way = (uint16_t)(2 * ((row - t->path) / t->path_stride));
        o->hop = (uint16_t)((row - t->path) % t->path_stride);
    } else if (row >= t->ack_path && row - t->ack_path < (uint32_t)t->path_count * t->ack_stride) {
        o->way = (uint16_t)(2 * ((row - t->ack_path) / t->ack_stride) + 1);
        o->hop = (uint16_t)((row - t->ack_path) % t->ack_stride);
    }
}

static uint32_t way_row(const struct flow_tx *t, const struct snap_pkt *o)
{
    const uint32_t k = o->way / 2;

    return (o->way & 1 ? t->ack_path + k * t->ack_stride : t->path + k * t->path_stride) + o->hop;
}

/* A queued packet has no arrival yet: what stands there is of an earlier hop. */
static void save_pkt(const struct part *p, uint32_t row, int64_t base, int is_queued,
                     struct bytes *out)
{
    const struct pkt *k = &p->pkt[row];
    const struct flow_tx *t = &p->tx[k->flow];
    struct snap_pkt o = {.seq = k->seq,
                         .arrive = is_queued ? 0 : k->arrive - base,
                         .sched = is_queued ? 0 : k->sched - base,
                         .chain = is_queued ? 0 : k->chain - base,
                         .sent = k->sent - base,
                         .flow = t->snap_rank,
                         .has_in_port = is_queued && k->in_port != PORT_NONE,
                         .wire_bytes = k->wire_bytes,
                         .payload = k->payload,
                         .type = k->type,
                         .cls = k->cls,
                         .flags = k->flags,
                         .int_hops = k->int_hops};

    find_way(t, k->path, &o);
    bytes_put(out, &o, sizeof o);
    for (uint32_t i = 0; p->int_rec && i < k->int_hops; i++) {
        const uint64_t word = int_rebase(p->int_rec[row].hop[i], -base);

        bytes_put(out, &word, sizeof word);
    }
}

static uint32_t restore_pkt(struct part *p, const struct snapshot_map *m, int64_t base,
                            const uint8_t **from)
{
    const uint32_t row = pkt_alloc(p);
    struct pkt *k = &p->pkt[row];
    struct snap_pkt o;

    take(from, &o, sizeof o);
    *k = (struct pkt){.seq = o.seq,
                      .arrive = o.arrive + base,
                      .sched = o.sched + base,
                      .chain = o.chain + base,
                      .sent = o.sent + base,
                      .flow = m->flow[o.flow],
                      .path = way_row(&p->tx[m->flow[o.flow]], &o),
                      .in_port = PORT_NONE,
                      .wire_bytes = o.wire_bytes,
                      .payload = o.payload,
                      .type = o.type,
                      .cls = o.cls,
                      .flags = o.flags,
                      .int_hops = o.int_hops};
    if (o.has_in_port) /* the far end of the hop before the one that it waits for */
        k->in_port = p->port[p->path[k->path - 2]].peer;
    for (uint32_t i = 0; p->int_rec && i < k->int_hops; i++) {
        uint64_t word;

        take(from, &word, sizeof word);
        p->int_rec[row].hop[i] = int_rebase(word, base);
    }
    return row;
}

static void save_list(const struct part *p, uint32_t head, uint32_t tail, int64_t base,
                      int is_queued, struct bytes *out)
{
    const size_t at = out->count;
    uint32_t count = 0;

    put_u32(out, 0);
    for (uint32_t row = head; row; row = row == tail ? 0 : p->pkt[row].next) {
        save_pkt(p, row, base, is_queued, out);
        count++;
    }
    memcpy(out->at + at, &count, sizeof count);
}

static void restore_list(struct part *p, const struct snapshot_map *m, int64_t base, uint32_t *head,
                         uint32_t *tail, const uint8_t **from)
{
    uint32_t count = take_u32(from);

    *head = *tail = 0;
    while (count-- > 0) {
        const uint32_t row = restore_pkt(p, m, base, from);

        if (*head)
            p->pkt[*tail].next = row;
        else
            *head = row;
        *tail = row;
    }
}

static void free_list(struct part *p, uint32_t head, uint32_t tail)
{
    while (head) {
        const uint32_t next = head == tail ? 0 : p->pkt[head].next;

        pkt_free(p, head);
        head = next;
    }
}

/* Last packets on their last wire are announced, see round.c. */
static void announce_last(struct part *p, uint32_t head, uint32_t tail, int is_beside)
{
    for (uint32_t row = head; row && p->reacts; row = row == tail ? 0 : p->pkt[row].next) {
        const struct pkt *k = &p->pkt[row];

        if ((k->flags & PKT_LAST) && (is_beside || p->path[k->path] == PATH_END))
            part_announce(p, k->arrive);
    }
}

/* ---- flows ---- */

struct snap_flow {
    int64_t snd_nxt, snd_una, size, snd_max;
    int64_t next_avail, rto_deadline, last_ack, base_rtt_ps;
    int64_t rate_bps, max_rate_bps, win_max, win, bypass_ps, retx_bytes;
    int64_t expected, rx_size, nack_until, nack_last, cnp_next;
    uint32_t last_wire_bytes, unacked;
    uint16_t path_count, hops;
    uint8_t cls, active, retries, rto_armed, marked, delivered;
    uint8_t pad[6];
};
_Static_assert(sizeof(struct snap_flow) == 176, "no hidden padding");

static void save_flow(const struct part *p, uint32_t flow, int64_t base, struct bytes *out)
{
    const struct sim *s = p->s;
    const struct flow_tx *t = &p->tx[flow];
    const struct flow_rx *r = &p->rx[flow];
    const size_t cc_bytes = s->cc->state_bytes;
    const struct snap_flow o = {
        .snd_nxt = t->snd_nxt,
        .snd_una = t->snd_una,
        .size = t->size,
        .snd_max = t->snd_max,
        .next_avail = t->next_avail - base,
        .rto_deadline = t->rto_armed ? t->rto_deadline - base : 0,
        .last_ack = t->last_ack - base,
        .base_rtt_ps = t->base_rtt_ps,
        .rate_bps = t->rate_bps,
        .max_rate_bps = t->max_rate_bps,
        .win_max = t->win_max,
        .win = t->win,
        .bypass_ps = ack_is_beside(s->cfg.ack) ? t->bypass_ps : 0,
        .retx_bytes = t->retx_bytes,
        .expected = r->expected,
        .rx_size = r->size,
        .nack_until = r->nack_last >= 0 ? r->nack_until - base : 0,
        .nack_last = r->nack_last,
        .cnp_next = s->cfg.cnp_interval_ps ? r->cnp_next - base : 0,
        .last_wire_bytes = t->last_wire_bytes,
        .unacked = r->unacked,
        .path_count = t->path_count,
        .hops = t->hops,
        .cls = t->cls,
        .active = t->active,
        .retries = t->retries,
        .rto_armed = t->rto_armed,
        .marked = r->marked,
        .delivered = r->delivered,
    };

    _Alignas(16) char cc[CC_STATE_BYTES_MAX];

    check(cc_bytes <= sizeof cc, "%zu bytes of congestion control", cc_bytes);
    memcpy(cc, cc_state_of(s, flow), cc_bytes);
    if (s->cc->rebase)
        s->cc->rebase(cc, -base);
    bytes_put(out, &o, sizeof o);
    bytes_put(out, cc, cc_bytes);
    save_list(p, t->bypass_head, t->bypass_tail, base, 0, out);
}

static void restore_flow(struct part *p, const struct snapshot_map *m, uint32_t flow, int64_t base,
                         const uint8_t **from)
{
    const struct sim *s = p->s;
    struct flow_tx *t = &p->tx[flow];
    struct flow_rx *r = &p->rx[flow];
    char *cc = cc_state_of(s, flow);
    struct snap_flow o;

    take(from, &o, sizeof o);
    t->snd_nxt = o.snd_nxt;
    t->snd_una = o.snd_una;
    t->size = o.size;
    t->snd_max = o.snd_max;
    t->next_avail = o.next_avail + base;
    t->rto_deadline = o.rto_armed ? o.rto_deadline + base : 0;
    t->last_ack = o.last_ack + base;
    t->rate_bps = o.rate_bps;
    t->win = o.win;
    t->retx_bytes = o.retx_bytes;
    t->last_wire_bytes = o.last_wire_bytes;
    t->active = o.active;
    t->retries = o.retries;
    t->rto_armed = o.rto_armed;
    r->expected = o.expected;
    r->size = o.rx_size;
    r->nack_until = o.nack_last >= 0 ? o.nack_until + base : 0;
    r->nack_last = o.nack_last;
    r->cnp_next = s->cfg.cnp_interval_ps ? o.cnp_next + base : 0;
    r->unacked = o.unacked;
    r->marked = o.marked;
    r->delivered = o.delivered;
    take(from, cc, s->cc->state_bytes);
    if (s->cc->rebase)
        s->cc->rebase(cc, base);
    restore_list(p, m, base, &t->bypass_head, &t->bypass_tail, from);
    announce_last(p, t->bypass_head, t->bypass_tail, 1);
}

/* ---- ports ---- */

struct snap_port {
    int64_t busy_until, tx_start, chain; /* 0 when idle */
    uint64_t tx_bytes;
    uint16_t charge;
    uint8_t busy, paused, flags, rr_last;
    uint8_t pad[2];
};
_Static_assert(sizeof(struct snap_port) == 40, "no hidden padding");

static void save_port(struct part *p, uint32_t port, int64_t base, struct bytes *out)
{
    const struct sim *s = p->s;
    struct port *pt = &p->port[port];
    struct snap_port o = {.paused = pt->paused,
                          .charge = pt->charge,
                          .flags = pt->flags,
                          .rr_last = s->class_count > 2 ? pt->rr_last : 0};

    port_advance(p, port);
    if (pt->busy) {
        o.busy = 1;
        o.busy_until = pt->busy_until - base;
        o.tx_start = pt->tx_start - base;
        o.chain = pt->chain - base;
    }
    if (p->int_rec) /* what INT can see of it */
        o.tx_bytes = pt->tx_bytes % ((uint64_t)s->int_bytes_unit << 20);
    bytes_put(out, &o, sizeof o);
    save_list(p, pt->wire_head, pt->wire_tail, base, 0, out);
    for (uint32_t c = 0; c < s->class_count; c++) {
        const struct pkt_queue *q = port_queue(s, pt, port, c);

        save_list(p, q->head, q->tail, base, 1, out);
    }
}

static void clear_port(struct part *p, uint32_t port)
{
    struct port *pt = &p->port[port];

    free_list(p, pt->wire_head, pt->wire_tail);
    for (uint32_t c = 0; c < p->s->class_count; c++) {
        struct pkt_queue *q = port_queue(p->s, pt, port, c);

        free_list(p, q->head, q->tail);
    }
}

static void restore_queue(struct part *p, const struct snapshot_map *m, uint32_t port, uint32_t cls,
                          int64_t base, const uint8_t **from)
{
    struct port *pt = &p->port[port];
    struct pkt_queue *q = port_queue(p->s, pt, port, cls);

    restore_list(p, m, base, &q->head, &q->tail, from);
    q->bytes = 0;
    for (uint32_t row = q->head; row; row = p->pkt[row].next)
        q->bytes += p->pkt[row].wire_bytes;
    pt->q_bytes += q->bytes;
    if (q->head)
        pt->backlog |= (uint8_t)(1u << cls);
}

static void restore_port(struct part *p, const struct snapshot_map *m, uint32_t port, int64_t base,
                         const uint8_t **from)
{
    struct port *pt = &p->port[port];
    struct snap_port o;

    take(from, &o, sizeof o);
    pt->busy = o.busy;
    pt->busy_until = o.busy_until + base;
    pt->tx_start = o.tx_start + base;
    pt->chain = o.chain + base;
    pt->paused = o.paused;
    pt->flags = o.flags;
    pt->rr_last = o.rr_last;
    if (p->int_rec)
        pt->tx_bytes = o.tx_bytes;
    restore_list(p, m, base, &pt->wire_head, &pt->wire_tail, from);
    announce_last(p, pt->wire_head, pt->wire_tail, 0);
    pt->q_bytes = pt->backlog = 0;
    for (uint32_t c = 0; c < p->s->class_count; c++)
        restore_queue(p, m, port, c, base, from);
    if (pt->flags & PORT_TX_EVENT)
        calendar_push(&p->cal, &(struct event){pt->busy_until, pt->tx_start, pt->chain, 0,
                                               event_id(EVENT_TX_DONE, port)});
    if (pt->wire_head) {
        const struct pkt *k = &p->pkt[pt->wire_head];

        calendar_push(&p->cal, &(struct event){k->arrive, k->sched, k->chain, k->flow,
                                               event_id(EVENT_WIRE, port)});
    }
}

/* ---- interfaces ---- */

struct snap_nic {
    int64_t timer_time, timer_sched; /* 0 when none is pending */
    uint32_t count, last;
    uint8_t has_timer, pad[7];
};
_Static_assert(sizeof(struct snap_nic) == 32, "no hidden padding");

static void save_nic(struct part *p, uint32_t port, int64_t base, struct bytes *out)
{
    struct nic *n = &p->s->nic[p->port[port].owner];
    struct snap_nic o = {0};

    nic_compact(p, n);
    o.count = n->count;
    o.last = n->last;
    if (n->timer_time != TIME_NEVER) {
        o.has_timer = 1;
        o.timer_time = n->timer_time - base;
        o.timer_sched = n->timer_sched - base;
    }
    bytes_put(out, &o, sizeof o);
    for (uint32_t i = 0; i < n->count; i++)
        put_u32(out, p->tx[n->flow[i]].snap_rank);
}

static void restore_nic(struct part *p, const struct snapshot_map *m, uint32_t port, int64_t base,
                        const uint8_t **from)
{
    struct nic *n = &p->s->nic[p->port[port].owner];
    struct snap_nic o;

    take(from, &o, sizeof o);
    check(o.count <= n->cap, "an interface with %u flows, room for %u", o.count, n->cap);
    n->count = o.count;
    n->last = o.last;
    n->timer_time = o.has_timer ? o.timer_time + base : TIME_NEVER;
    n->timer_sched = o.has_timer ? o.timer_sched + base : 0;
    for (uint32_t i = 0; i < n->count; i++)
        n->flow[i] = m->flow[take_u32(from)];
}

/* ---- timers: events that do not follow from the rest ---- */

struct snap_timer {
    int64_t time, sched, chain;
    uint32_t kind, row; /* row: number of the flow; of the port, for interfaces */
};
_Static_assert(sizeof(struct snap_timer) == 32, "no hidden padding");

static int is_due(const struct part *p, const struct event *e)
{
    const uint32_t row = event_row(e->id);
    const struct nic *n;

    switch (event_kind(e->id)) {
    case EVENT_CC_TIMER:
    case EVENT_CC_TIMER2:
    case EVENT_RTO:
        return p->tx[row].active;
    case EVENT_NIC_TIMER:
        n = &p->s->nic[p->port[row].owner];
        return n->timer_time == e->time && n->timer_sched == e->sched;
    case EVENT_WIRE:
    case EVENT_TX_DONE:
    case EVENT_ACK_BYPASS:
        break;
    }
    return 0;
}

struct timer_list {
    struct part *p;
    int64_t base;
    struct bytes *out;
    uint32_t count;
};

static void save_timer(void *arg, const struct event *e)
{
    struct timer_list *l = arg;
    const enum event_kind kind = event_kind(e->id);
    const uint32_t row = event_row(e->id);
    struct snap_timer o = {e->time - l->base, e->sched - l->base, e->chain - l->base,
                           (uint32_t)kind, 0};

    if (!is_due(l->p, e))
        return;
    o.row = kind == EVENT_NIC_TIMER ? port_number(l->p, row) - 1 : l->p->tx[row].snap_rank;
    bytes_put(l->out, &o, sizeof o);
    l->count++;
}

static int timer_order(const void *a, const void *b)
{
    const struct snap_timer *x = a, *y = b;

    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    if (x->sched != y->sched)
        return x->sched < y->sched ? -1 : 1;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

static void save_timers(struct part *p, int64_t base, struct bytes *out)
{
    struct bytes *rows = &p->scratch->timers;
    struct timer_list l = {p, base, rows, 0};

    rows->count = 0;
    calendar_each(&p->cal, save_timer, &l);
    if (l.count > 1)
        qsort(rows->at, l.count, sizeof(struct snap_timer), timer_order);
    put_u32(out, l.count);
    if (l.count)
        bytes_put(out, rows->at, rows->count);
}

static void restore_timers(struct part *p, const struct snapshot_map *m, int64_t base,
                           const uint8_t **from)
{
    uint32_t count = take_u32(from);

    while (count-- > 0) {
        struct event e = {.flow = 0};
        struct snap_timer o;

        take(from, &o, sizeof o);
        e.time = o.time + base;
        e.sched = o.sched + base;
        e.chain = o.chain + base;
        if (o.kind == EVENT_NIC_TIMER) {
            e.id = event_id(EVENT_NIC_TIMER, m->port[o.row]);
        } else {
            e.flow = m->flow[o.row];
            e.id = event_id((enum event_kind)o.kind, e.flow);
        }
        calendar_push(&p->cal, &e);
    }
}

/* ---- what does not change ---- */

struct snap_attributes {
    int64_t rate_bps, delay_ps, kmin_bytes, kmax_bytes;
    double pmax;
    uint32_t int_code, is_host;
};
_Static_assert(sizeof(struct snap_attributes) == 48, "no hidden padding");

static void save_ways(const struct part *p, uint32_t row, struct bytes *out)
{
    for (; p->path[row] != PATH_END; row++)
        put_u32(out, port_number(p, p->path[row]));
    put_u32(out, 0);
}

static void save_structure(struct part *p, const struct snapshot_map *m, struct bytes *out)
{
    const int with_acks = !ack_is_beside(p->s->cfg.ack);

    for (uint32_t i = 0; i < m->flow_count; i++) {
        const struct flow_tx *t = &p->tx[m->flow[i]];

        for (uint32_t k = 0; k < t->path_count; k++) {
            save_ways(p, t->path + k * t->path_stride, out);
            if (with_acks)
                save_ways(p, t->ack_path + k * t->ack_stride, out);
        }
    }
    for (uint32_t i = 0; i < m->port_count; i++) {
        const struct port_kind *k = &p->s->kind[p->port[m->port[i]].kind];
        const struct snap_attributes o = {k->rate_bps,
                                          k->delay_ps,
                                          k->kmin_bytes,
                                          k->kmax_bytes,
                                          k->pmax,
                                          k->int_code,
                                          p->port[m->port[i]].flags & PORT_HOST};

        bytes_put(out, &o, sizeof o);
    }
}

void snapshot_save_names(const struct part *p, const struct snapshot_map *m, struct bytes *out)
{
    for (uint32_t i = 0; i < m->flow_count; i++)
        bytes_put(out, &p->tx[m->flow[i]].conn, sizeof p->tx[m->flow[i]].conn);
    for (uint32_t i = 0; i < m->port_count; i++)
        put_u32(out, m->port[i]);
}

/* ---- all ---- */

void snapshot_save(struct part *p, const struct snapshot_map *m, int64_t base_ps,
                   int with_structure, struct bytes *out)
{
    const int64_t phase = p->now - base_ps;

    put_u32(out, m->flow_count);
    put_u32(out, m->port_count);
    bytes_put(out, &phase, sizeof phase);
    if (with_structure)
        save_structure(p, m, out);
    for (uint32_t i = 0; i < m->flow_count; i++)
        save_flow(p, m->flow[i], base_ps, out);
    for (uint32_t i = 0; i < m->port_count; i++)
        save_port(p, m->port[i], base_ps, out);
    for (uint32_t i = 0; i < m->port_count; i++)
        if (p->port[m->port[i]].flags & PORT_HOST)
            save_nic(p, m->port[i], base_ps, out);
    save_timers(p, base_ps, out);
}

static void restore_events_beside(struct part *p, const struct snapshot_map *m)
{
    for (uint32_t i = 0; i < m->flow_count; i++) {
        const uint32_t flow = m->flow[i];

        if (p->tx[flow].bypass_head) {
            const struct pkt *k = &p->pkt[p->tx[flow].bypass_head];

            calendar_push(&p->cal, &(struct event){k->arrive, k->sched, k->chain, flow,
                                                   event_id(EVENT_ACK_BYPASS, flow)});
        }
    }
}

size_t snapshot_restore(struct part *p, const struct snapshot_map *m, int64_t base_ps,
                        const uint8_t *from)
{
    const uint8_t *at = from;
    const uint32_t flows = take_u32(&at), ports = take_u32(&at);
    int64_t phase;

    check(flows == m->flow_count && ports == m->port_count,
          "a snapshot of %u flows and %u ports for %u and %u", flows, ports, m->flow_count,
          m->port_count);
    take(&at, &phase, sizeof phase);
    for (uint32_t i = 0; i < flows; i++)
        free_list(p, p->tx[m->flow[i]].bypass_head, p->tx[m->flow[i]].bypass_tail);
    for (uint32_t i = 0; i < ports; i++)
        clear_port(p, m->port[i]);
    calendar_clear(&p->cal);
    p->final_count = 0;
    for (uint32_t i = 0; i < flows; i++)
        restore_flow(p, m, m->flow[i], base_ps, &at);
    for (uint32_t i = 0; i < ports; i++)
        restore_port(p, m, m->port[i], base_ps, &at);
    for (uint32_t i = 0; i < ports; i++)
        if (p->port[m->port[i]].flags & PORT_HOST)
            restore_nic(p, m, m->port[i], base_ps, &at);
    restore_timers(p, m, base_ps, &at);
    restore_events_beside(p, m);
    p->now = base_ps + phase;
    return (size_t)(at - from);
}
