/*
 * port.c - the serialiser of a directed port: queues, transmission, wire. See sim_int.h for the
 * idea.
 *
 * Invariants: a port that has something to send, is not paused and is up, is busy and the end of
 * its transmission is in the calendar; backlog has the bit of a class set iff its queue is not
 * empty; the head of each non-empty wire is in the calendar.
 */
#include "rng.h"
#include "sim_int.h"
#include "units.h"

#define STREAM_LOSS UINT64_C(0x10550001)
#define STREAM_ECN UINT64_C(0xec000001)

/* For the packet log; cold. */
void port_report(struct part *p, uint32_t port, uint32_t row, int64_t time, int event)
{
    const struct pkt *k = &p->pkt[row];
    const struct port *pt = &p->port[port];
    const struct packet_view v = {
        .time_ps = time,
        .port = port,
        .flow_id = k->type == PKT_PFC ? PORT_NONE : k->flow,
        .seq = k->seq,
        .wire_bytes = k->wire_bytes,
        .payload_bytes = k->type == PKT_DATA ? k->payload : 0,
        .queue_bytes = pt->q_bytes,
        .type = k->type,
        .event = (uint8_t)event,
        .prio = p->s->prio_of_class[k->cls],
        .ecn = (k->flags & (PKT_CE | PKT_CNP)) ? 3 : 0,
    };

    p->s->mon.on_packet(p->s->mon.ctx, &v);
}

static inline void report(struct part *p, uint32_t port, uint32_t row, int64_t time, int event)
{
    if (__builtin_expect(p->watched, 0))
        port_report(p, port, row, time, event);
}

static void push_event(struct part *p, int64_t time, int64_t sched, int64_t chain, uint32_t flow,
                       uint32_t id)
{
    const struct event e = {time, sched, chain, flow, id};

    calendar_push(&p->cal, &e);
}

void port_await_end(struct part *p, uint32_t port)
{
    struct port *pt = &p->port[port];

    if (!pt->busy || (pt->flags & PORT_TX_EVENT))
        return;
    pt->flags |= PORT_TX_EVENT;
    push_event(p, pt->busy_until, pt->tx_start, pt->chain, 0, event_id(EVENT_TX_DONE, port));
}

/* The packet goes on the wire; its transmission starts now. */
static void transmit(struct part *p, uint32_t port, uint32_t row)
{
    struct port *pt = &p->port[port];
    struct pkt *k = &p->pkt[row];
    const struct port_kind *kind = &p->s->kind[pt->kind];
    uint32_t bytes;

    pt->tx_start = p->now;
    pt->chain =
        next_chain(p, p->ev.sched); /* the end is scheduled before the arrival, as in ns-3 */
    pt->busy = 1;
    k->arrive = p->now + kind->tx_ps[k->wire_bytes] + kind->delay_ps;
    bytes = k->wire_bytes + (k->type == PKT_DATA ? pt->charge : 0u);
    pt->busy_until = p->now + kind->tx_ps[bytes];
    pt->flags &= (uint8_t)~PORT_TX_EVENT;
    pt->tx_bytes += bytes;
    pt->tx_total_bytes += bytes;
    pt->tx_packets++;
    k->sched = p->now;
    k->chain = next_chain(p, p->ev.sched);
    k->next = 0;
    if (__builtin_expect(k->flags & PKT_LAST, 0) && p->reacts && p->path[k->path] == PATH_END)
        part_announce(p, k->arrive);
    report(p, port, row, p->now, PACKET_DEQUEUE);
    if (p->cut && p->cut->cut[port])
        shard_send(p, port, row);
    else
        port_put_on_wire(p, port, &pt->wire_head, &pt->wire_tail, row);
    if (pt->backlog)
        port_await_end(p, port);
}

void port_enqueue(struct part *p, uint32_t port, uint32_t row)
{
    struct port *pt = &p->port[port];
    struct pkt *k = &p->pkt[row];
    struct pkt_queue *q = port_queue(p->s, pt, port, k->cls);

    k->next = 0;
    if (q->head)
        p->pkt[q->tail].next = row;
    else
        q->head = row;
    q->tail = row;
    q->bytes += k->wire_bytes;
    pt->q_bytes += k->wire_bytes;
    pt->backlog |= (uint8_t)(1u << k->cls);
    if (pt->q_bytes > pt->q_max)
        pt->q_max = pt->q_bytes;
    report(p, port, row, p->now, PACKET_ENQUEUE);
    if (pt->busy)
        port_await_end(p, port);
}

static uint32_t queue_pop(struct part *p, struct port *pt, struct pkt_queue *q, uint32_t cls)
{
    const uint32_t row = q->head;
    const struct pkt *k = &p->pkt[row];

    q->head = k->next;
    q->bytes -= k->wire_bytes;
    pt->q_bytes -= k->wire_bytes;
    if (!q->head)
        pt->backlog &= (uint8_t) ~(1u << cls);
    else
        __builtin_prefetch(&p->pkt[q->head]);
    return row;
}

/* RED-like marking on dequeue, reference SwitchMmu::ShouldSendCN. */
static int should_mark(struct part *p, uint32_t port, const struct pkt *k, uint32_t queue_bytes)
{
    const struct port_kind *kind = &p->s->kind[p->port[port].kind];
    double prob;

    if ((int64_t)queue_bytes > kind->kmax_bytes)
        return 1;
    if ((int64_t)queue_bytes <= kind->kmin_bytes)
        return 0;
    prob = kind->pmax * (double)((int64_t)queue_bytes - kind->kmin_bytes) /
           (double)(kind->kmax_bytes - kind->kmin_bytes);
    p->draws++;
    /* The draw is a function of the connection and the flow's own sequence number: repeats repeat.
     */
    return rng_double(p->s->cfg.seed ^ p->tx[k->flow].conn, STREAM_ECN + port,
                      (uint64_t)k->seq * 2 + k->type) < prob;
}

/* INT of the reference: IntHop::Set, 24 bit ns, 20 bit bytes, 17 bit queue length. */
static void push_int(struct part *p, const struct port *pt, uint32_t row)
{
    struct pkt *k = &p->pkt[row];
    const struct sim *s = p->s;

    if (k->int_hops >= s->cfg.int_hops_max)
        return;
    p->int_rec[row].hop[k->int_hops++] = ((uint64_t)(p->now / PS_PER_NS) & 0xffffff) |
                                         (pt->tx_bytes / s->int_bytes_unit & 0xfffff) << 24 |
                                         ((uint64_t)(pt->q_bytes / s->int_queue_unit) & 0x1ffff)
                                             << 44 |
                                         (uint64_t)s->kind[pt->kind].int_code << 61;
}

/* The class to serve next at a switch: 0 first, then round robin or strict among those not paused.
 */
static uint32_t pick_class(const struct part *p, const struct port *pt)
{
    const uint32_t ready = pt->backlog & ~(uint32_t)pt->paused;
    uint32_t above;

    if (pt->backlog & 1)
        return 0;
    if (!ready)
        return CLASS_MAX;
    if (p->s->class_count == 2)
        return 1;
    if (p->s->cfg.sched == SCHED_STRICT)
        return (uint32_t)__builtin_ctz(ready);
    above = ready & ~((2u << pt->rr_last) - 1u);
    return (uint32_t)__builtin_ctz(above ? above : ready);
}

static void switch_dequeue(struct part *p, uint32_t port)
{
    struct port *pt = &p->port[port];
    const uint32_t cls = pick_class(p, pt);
    struct pkt_queue *q;
    struct pkt *k;
    uint32_t row;

    if (cls == CLASS_MAX || (pt->flags & PORT_DOWN))
        return;
    q = port_queue(p->s, pt, port, cls);
    row = queue_pop(p, pt, q, cls);
    k = &p->pkt[row];
    if (cls) {
        pt->rr_last = (uint8_t)cls;
        if (k->in_port != PORT_NONE)
            mmu_release(p, k->in_port, cls, k->wire_bytes);
        if (p->s->cfg.ecn && should_mark(p, port, k, q->bytes)) {
            k->flags |= PKT_CE;
            pt->marks++;
            p->marks++;
        }
    }
    if (k->type == PKT_DATA && p->int_rec)
        push_int(p, pt, row);
    transmit(p, port, row);
}

void port_kick(struct part *p, uint32_t port)
{
    struct port *pt = &p->port[port];
    uint32_t row;

    if (pt->busy)
        return;
    if (!(pt->flags & PORT_HOST)) {
        switch_dequeue(p, port);
        return;
    }
    row = nic_dequeue(p, port);
    if (row)
        transmit(p, port, row);
    if (p->s->nic[pt->owner].count)
        port_await_end(p, port);
}

void port_advance(struct part *p, uint32_t port)
{
    struct port *pt = &p->port[port];

    if (pt->busy && !(pt->flags & PORT_TX_EVENT)) {
        const struct event end = {pt->busy_until, pt->tx_start, pt->chain, 0,
                                  event_id(EVENT_TX_DONE, port)};

        pt->busy = !event_before(&end, &p->ev);
    }
}

void port_on_tx_done(struct part *p, uint32_t port)
{
    struct port *pt = &p->port[port];

    if (!pt->busy || !(pt->flags & PORT_TX_EVENT) || pt->busy_until != p->ev.time ||
        pt->tx_start != p->ev.sched)
        return; /* the link went down since */
    pt->busy = 0;
    pt->flags &= (uint8_t)~PORT_TX_EVENT;
    port_kick(p, port);
}

void port_set_paused(struct part *p, uint32_t port, uint32_t cls, int pause)
{
    struct port *pt = &p->port[port];
    struct port_cold *cold = &p->s->cold[port];
    const uint8_t bit = (uint8_t)(1u << cls);

    if (pause) {
        cold->pauses++;
        p->pauses++;
        if (!(pt->paused & bit))
            cold->paused_since[cls] = p->now;
        pt->paused |= bit;
    } else {
        if (pt->paused & bit)
            cold->paused_ps += p->now - cold->paused_since[cls];
        pt->paused &= (uint8_t)~bit;
    }
}

/* ---- arrivals ---- */

static void on_pfc(struct part *p, uint32_t in_port, uint32_t row)
{
    const struct pkt *k = &p->pkt[row];
    const int pause = (k->flags & PKT_PAUSE) != 0;
    const uint32_t cls = k->cls;
    const uint32_t pfc_cls = k->payload;

    dcheck(cls == 0, "pause frames travel in class 0, not %u", cls);
    pkt_free(p, row);
    if (p->s->mon.on_pfc)
        p->s->mon.on_pfc(p->s->mon.ctx, p->now, in_port, pause);
    if (!p->s->cfg.pfc)
        return;
    port_advance(p, in_port);
    port_set_paused(p, in_port, pfc_cls, pause);
    if (!pause)
        port_kick(p, in_port);
}

static void drop(struct part *p, uint32_t port, uint32_t row)
{
    p->s->cold[port].drops++;
    p->drops++;
    report(p, port, row, p->now, PACKET_DROP);
    pkt_free(p, row);
}

void port_lose(struct part *p, uint32_t port, uint32_t row)
{
    p->s->cold[port].losses++;
    p->losses++;
    pkt_free(p, row);
}

/*
 * A packet for an idle switch port without a queue: enqueueing and dequeueing it changes nothing
 * but the largest queue, as long as its ingress stays within the reserve. Returns 0 if that is not
 * so.
 */
static int pass_through(struct part *p, uint32_t in_port, uint32_t out, uint32_t row)
{
    struct sim *s = p->s;
    struct port *pt = &p->port[out];
    const struct pkt *k = &p->pkt[row];

    if (pt->busy | pt->backlog | (pt->flags & PORT_HOST) | p->watched)
        return 0;
    if (k->cls && ((pt->paused & (1u << k->cls)) || !mmu_is_transparent(s, in_port, k)))
        return 0;
    if (k->wire_bytes > pt->q_max)
        pt->q_max = k->wire_bytes;
    if (k->cls)
        pt->rr_last = k->cls;
    if (k->type == PKT_DATA && p->int_rec)
        push_int(p, pt, row);
    transmit(p, out, row);
    return 1;
}

/* A packet at a node that is not its end. */
static void forward(struct part *p, uint32_t in_port, uint32_t row)
{
    struct pkt *k = &p->pkt[row];
    const uint32_t out = p->path[k->path];
    struct port *pt = &p->port[out];

    k->path++;
    if (__builtin_expect(pt->flags & PORT_DOWN, 0)) {
        port_lose(p, out, row); /* the link is cut, no buffer is full */
        return;
    }
    port_advance(p, out);
    if (k->type != PKT_DATA && p->s->cfg.ack == ACK_PRIORITY)
        k->cls = 0;
    else if (k->type != PKT_DATA)
        k->cls = p->tx[k->flow].cls;
    k->in_port = PORT_NONE;
    if (pass_through(p, in_port, out, row))
        return;
    if (k->cls && !(pt->flags & PORT_HOST)) {
        if (!mmu_admit(p, in_port, row)) {
            drop(p, in_port, row);
            return;
        }
    }
    port_enqueue(p, out, row);
    if (pt->flags & PORT_HOST)
        nic_kick(p, out);
    else
        port_kick(p, out);
}

static int is_lost(struct part *p, uint32_t port)
{
    struct port *pt = &p->port[port];
    const double rate = p->s->kind[pt->kind].error_rate;

    return rate > 0 && rng_double(p->s->cfg.seed, STREAM_LOSS + port, pt->frames++) < rate;
}

static void arrive(struct part *p, uint32_t port, uint32_t in_port, uint32_t row)
{
    struct pkt *k = &p->pkt[row];

    report(p, in_port, row, p->now, PACKET_RECEIVE);
    /* pause frames survive: nothing repeats a resume, and hardware pauses end by themselves */
    if (__builtin_expect(p->s->any_loss, 0) && k->type != PKT_PFC && is_lost(p, port)) {
        port_lose(p, port, row);
        return;
    }
    if (__builtin_expect(k->type == PKT_PFC, 0)) {
        on_pfc(p, in_port, row);
        return;
    }
    if (p->path[k->path] != PATH_END) {
        forward(p, in_port, row);
        return;
    }
    if (k->type == PKT_DATA)
        receiver_on_data(p, row);
    else
        sender_on_ack(p, row);
}

/* Takes the packet that has arrived off its wire; 0 if the wire was cut after the event was
 * scheduled. */
static inline uint32_t take_off_wire(struct part *p, uint32_t port, uint32_t *head)
{
    const uint32_t row = *head;
    const struct pkt *next;

    if (!row || p->pkt[row].arrive != p->ev.time)
        return 0;
    *head = p->pkt[row].next;
    if (*head) {
        next = &p->pkt[*head];
        __builtin_prefetch(&p->pkt[next->next]);
        push_event(p, next->arrive, next->sched, next->chain, next->flow,
                   event_id(EVENT_WIRE, port));
    }
    return row;
}

void port_on_wire(struct part *p, uint32_t port)
{
    struct cut_wire *w = cut_wire_of(p, port);
    struct port *pt = &p->port[port];
    const uint32_t row = take_off_wire(p, port, w ? &w->head : &pt->wire_head);

    if (!row)
        return;
    p->packet_hops++;
    arrive(p, port, w ? w->in_port : pt->peer, row);
}

/* ---- link failure ---- */

static void flush_queue(struct part *p, uint32_t port, uint32_t cls)
{
    struct port *pt = &p->port[port];
    struct pkt_queue *q = port_queue(p->s, pt, port, cls);

    while (q->head) {
        const uint32_t row = queue_pop(p, pt, q, cls);
        const struct pkt *k = &p->pkt[row];

        if (cls && k->in_port != PORT_NONE && !(pt->flags & PORT_HOST))
            mmu_release(p, k->in_port, cls, k->wire_bytes);
        port_lose(p, port, row);
    }
}

/* Everything queued at the port and under way on its wire is lost; a pause ends. */
void port_take_down(struct part *p, uint32_t port)
{
    struct port *pt = &p->port[port];

    shard_gather(p);
    pt->flags |= PORT_DOWN;
    for (uint32_t c = 0; c < p->s->class_count; c++) {
        flush_queue(p, port, c);
        if (pt->paused & (1u << c))
            port_set_paused(p, port, c, 0);
        /* the neighbour forgets as well that it was told to stop */
        p->s->ingress[(size_t)port * p->s->class_count + c].paused = 0;
    }
    while (pt->wire_head) {
        const uint32_t row = pt->wire_head;

        pt->wire_head = p->pkt[row].next;
        port_lose(p, port, row);
    }
    pt->busy = 0;
    pt->flags &= (uint8_t)~PORT_TX_EVENT;
}
