/*
 * receiver.c - the receiving half of a flow. A data packet becomes its own acknowledgement in
 * place, so INT and time stamps are echoed without a copy.
 *
 * Source: the reference's RdmaHw::ReceiveUdp and ReceiverCheckSeq. Beyond it: coalesced ACKs, a
 * minimum interval between mark echoes, duplicates that are acknowledged again where a timeout may
 * need it.
 */
#include "sim_int.h"

enum verdict { SEND_ACK, SEND_NACK, SILENT };

static enum verdict in_order(struct part *p, struct flow_rx *r, const struct pkt *k)
{
    const struct sim_config *c = &p->s->cfg;

    r->expected = k->seq + k->payload;
    r->unacked++;
    if (r->expected < r->size) {
        if (r->unacked < c->ack_every_packets)
            return SILENT;
        /* the reference compares the position itself with the interval, not the distance */
        if (r->expected < c->ack_interval_bytes && r->expected % c->chunk_bytes)
            return SILENT;
    }
    return SEND_ACK;
}

static enum verdict out_of_order(struct part *p, struct flow_rx *r)
{
    if (p->now < r->nack_until && r->nack_last == r->expected)
        return SILENT;
    r->nack_until = p->now + p->s->cfg.nack_interval_ps;
    r->nack_last = r->expected;
    if (p->s->cfg.recovery == RECOVERY_GO_BACK_0)
        r->expected = r->expected / p->s->cfg.chunk_bytes * p->s->cfg.chunk_bytes;
    return SEND_NACK;
}

static enum verdict check_seq(struct part *p, struct flow_rx *r, struct pkt *k)
{
    if (p->s->cfg.recovery == RECOVERY_SELECTIVE_REPEAT) {
        const uint32_t mtu = p->s->cfg.payload_bytes;
        const int64_t before = r->expected;
        int is_new;

        if (!r->irn)
            return SEND_ACK; /* a copy, after the flow was closed */
        r->expected = irn_rx_accept(r->irn, before, k->seq, k->payload, r->size, mtu, &is_new);
        if (k->seq > before && is_new) {
            const int64_t ahead = (k->seq - r->expected) / mtu;

            if (ahead <= UINT16_MAX) { /* else it is only not reported, and will be sent again */
                k->flags |= PKT_SACK;
                k->payload = (uint16_t)ahead;
            }
            return SEND_NACK;
        }
        if (r->expected > before)
            return ++r->unacked < p->s->cfg.ack_every_packets && r->expected < r->size ? SILENT
                                                                                       : SEND_ACK;
        return SEND_ACK;
    }
    if (k->seq == r->expected)
        return in_order(p, r, k);
    if (k->seq > r->expected)
        return out_of_order(p, r);
    /* A copy. Where nothing is ever resent by timeout the reference's silence is kept. */
    return p->s->cfg.rto == RTO_ON ? SEND_ACK : SILENT;
}

static int take_echo(struct part *p, struct flow_rx *r)
{
    if (!r->marked || p->now < r->cnp_next)
        return 0;
    r->marked = 0;
    if (p->s->cfg.cnp_interval_ps)
        r->cnp_next = p->now + p->s->cfg.cnp_interval_ps;
    p->cnp_echoes++;
    return 1;
}

void receiver_queue_bypass(struct part *p, uint32_t row)
{
    struct pkt *k = &p->pkt[row];
    struct flow_tx *t = &p->tx[k->flow];

    if (t->bypass_head && k->arrive < p->pkt[t->bypass_tail].arrive)
        k->arrive = p->pkt[t->bypass_tail].arrive; /* the way back became shorter */
    if ((k->flags & PKT_LAST) && p->reacts)
        part_announce(p, k->arrive);
    if (t->bypass_head) {
        p->pkt[t->bypass_tail].next = row;
    } else {
        const struct event e = {k->arrive, k->sched, k->chain, k->flow,
                                event_id(EVENT_ACK_BYPASS, k->flow)};

        t->bypass_head = row;
        calendar_push(&p->cal, &e);
    }
    t->bypass_tail = row;
}

static void send_bypass(struct part *p, uint32_t row)
{
    struct pkt *k = &p->pkt[row];

    k->arrive = p->now + p->tx[k->flow].bypass_ps;
    k->sched = p->now;
    k->chain = next_chain(p, p->ev.sched);
    if (!p->cut || !shard_send_bypass(p, row))
        receiver_queue_bypass(p, row);
}

void receiver_bypass(struct part *p, uint32_t flow)
{
    struct flow_tx *t = &p->tx[flow];
    const uint32_t row = t->bypass_head;

    t->bypass_head = p->pkt[row].next;
    if (t->bypass_head) {
        const struct pkt *k = &p->pkt[t->bypass_head];
        const struct event e = {k->arrive, k->sched, k->chain, flow,
                                event_id(EVENT_ACK_BYPASS, flow)};

        calendar_push(&p->cal, &e);
    }
    sender_on_ack(p, row);
}

/* Which of the flow's paths the packet came by; 0 if the flow has moved to others since. */
static uint32_t path_taken(const struct flow_tx *t, const struct pkt *k)
{
    const uint32_t offset = k->path - t->path;

    if (k->path < t->path || offset >= (uint32_t)t->path_count * t->path_stride)
        return 0;
    return offset / t->path_stride;
}

void receiver_on_data(struct part *p, uint32_t row)
{
    struct pkt *k = &p->pkt[row];
    struct flow_rx *r = &p->rx[k->flow];
    const struct flow_tx *t = &p->tx[k->flow];
    const uint32_t spray = path_taken(t, k);
    enum verdict v;

    r->marked |= (k->flags & PKT_CE) != 0;
    v = check_seq(p, r, k);
    if (r->expected >= r->size && !r->delivered) {
        r->delivered = 1;
        part_note(p, k->flow, NOTE_DELIVERED);
    }
    if (v == SILENT) {
        pkt_free(p, row);
        return;
    }
    r->unacked = 0;
    k->type = v == SEND_ACK ? PKT_ACK : PKT_NACK;
    k->flags = (uint8_t)((k->flags & PKT_SACK) | (take_echo(p, r) ? PKT_CNP : 0) |
                         (r->delivered ? PKT_LAST : 0));
    k->seq = r->expected;
    k->wire_bytes = (uint16_t)p->s->ack_wire_bytes;
    /* an ACK that queues with data obeys the pauses of its class, at the host too */
    k->cls = p->s->cfg.ack == ACK_IN_DATA ? t->cls : 0;
    k->in_port = PORT_NONE;
    k->next = 0;
    if (v == SEND_ACK)
        p->ack_packets++;
    else
        p->nack_packets++;
    if (ack_is_beside(p->s->cfg.ack)) {
        send_bypass(p, row);
        return;
    }
    k->path = t->ack_path + spray * t->ack_stride;
    {
        const uint32_t out = p->path[k->path++];

        port_advance(p, out);
        if (p->port[out].flags & PORT_DOWN) {
            port_lose(p, out, row);
            return;
        }
        port_enqueue(p, out, row);
        nic_kick(p, out);
    }
}
