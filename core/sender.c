/*
 * sender.c - the sending half of a flow: packets, acknowledgements, loss recovery, completion.
 *
 * Source: the reference's RdmaHw (GetNxtPacket, PktSent, ReceiveAck, RecoverQueue). Beyond it: a
 * retransmission timeout, selective repeat (irn.c).
 */
#include "rng.h"
#include "sim_int.h"
#include "units.h"

#include <stdlib.h>

#define STREAM_SPRAY UINT64_C(0x5b3a0001)

void part_put_note(struct part *p, const struct part_note *n)
{
    if (p->note_count == p->note_cap) {
        const uint32_t cap = p->note_cap ? 2 * p->note_cap : 64;
        struct part_note *note = realloc(p->note, cap * sizeof *note);

        check(note != NULL, "out of memory for %u notes", cap);
        p->note = note;
        p->note_cap = cap;
    }
    p->note[p->note_count++] = *n;
}

void part_note(struct part *p, uint32_t flow, enum note_kind what)
{
    if (what == NOTE_DELIVERED && !p->s->hooks.on_delivered)
        return; /* nobody asks */
    part_put_note(p, &(struct part_note){p->now + p->offset, flow, what});
    if (what != NOTE_DELIVERED)
        p->running--;
    p->note_stop |= p->s->is_accelerated; /* what follows begins an episode */
    if (p->limit > p->now && (p->s->is_serial || p->note_stop || (p->stops_idle && !p->running)))
        p->limit = p->now; /* control events that follow from it happen now, or the run ends */
}

static int has_resend(const struct part *p, const struct flow_tx *t)
{
    return t->irn && irn_tx_has_resend(t->irn, t, p->s->cfg.payload_bytes);
}

int sender_has_bytes(const struct part *p, const struct flow_tx *t)
{
    return t->snd_nxt < t->size || has_resend(p, t);
}

int sender_may_send(const struct part *p, const struct flow_tx *t, int64_t now)
{
    if (t->next_avail > now)
        return 0;
    if (t->snd_nxt < t->size && (!t->win || t->snd_nxt - t->snd_una < t->win))
        return 1;
    return has_resend(p, t); /* its bytes are in the window already */
}

static int64_t pacing_ps(const struct part *p, const struct flow_tx *t, uint32_t bytes,
                         int64_t rate_bps)
{
    const struct port *pt = &p->port[t->port];
    const struct port_kind *k = &p->s->kind[pt->kind];

    if (rate_bps == k->rate_bps)
        return k->tx_ps[bytes];
    return units_tx_ps(bytes, rate_bps, p->s->cfg.round_ps);
}

static void arm_rto(struct part *p, struct flow_tx *t, uint32_t flow)
{
    const struct event e = {t->rto_deadline, p->now, next_chain(p, p->ev.sched), flow,
                            event_id(EVENT_RTO, flow)};

    t->rto_armed = 1;
    calendar_push(&p->cal, &e);
}

static uint32_t path_choice(const struct part *p, const struct flow_tx *t, int64_t seq)
{
    if (t->path_count == 1)
        return 0;
    return rng_below(rng_u64(p->s->cfg.seed, STREAM_SPRAY, t->conn ^ (uint64_t)seq), t->path_count);
}

uint32_t sender_build(struct part *p, uint32_t flow)
{
    const int64_t now = p->now;
    const struct sim *s = p->s;
    struct flow_tx *t = &p->tx[flow];
    const int64_t resend = t->irn ? irn_tx_next(t->irn, t, s->cfg.payload_bytes) : -1;
    const int64_t seq = resend >= 0 ? resend : t->snd_nxt;
    const int64_t left = t->size - seq;
    const uint32_t payload = left < s->cfg.payload_bytes ? (uint32_t)left : s->cfg.payload_bytes;
    const uint32_t wire = payload + s->data_header_bytes;
    const uint32_t row = pkt_alloc(p);

    p->pkt[row] = (struct pkt){.seq = seq,
                               .sent = now,
                               .path = t->path + path_choice(p, t, seq) * t->path_stride + 1,
                               .flow = flow,
                               .in_port = PORT_NONE,
                               .wire_bytes = (uint16_t)wire,
                               .payload = (uint16_t)payload,
                               .type = PKT_DATA,
                               .flags = payload == left ? PKT_LAST : 0,
                               .cls = t->cls};
    p->data_packets++;
    if (seq < t->snd_max) {
        p->pkt[row].flags |= PKT_RETX;
        p->retx_packets++;
        t->retx_bytes += payload;
    }
    if (resend < 0)
        t->snd_nxt = seq + payload;
    if (t->snd_nxt > t->snd_max)
        t->snd_max = t->snd_nxt;
    t->last_wire_bytes = wire;
    t->next_avail = now + pacing_ps(p, t, wire, s->cfg.rate_bound ? t->rate_bps : t->max_rate_bps);
    if (s->cfg.rto == RTO_ON && !t->rto_armed) {
        t->rto_deadline = now + s->cfg.rto_ps;
        arm_rto(p, t, flow);
    }
    return row;
}

/* win_max * rate / line rate, truncated; 128 bits only for windows beyond any BDP of today. */
static int64_t scale_window(const struct flow_tx *t, int64_t rate_bps)
{
    if (t->win_max < (INT64_C(1) << 23) && rate_bps < (INT64_C(1) << 40))
        return (int64_t)((uint64_t)(t->win_max * rate_bps) / (uint64_t)t->max_rate_bps);
    return (int64_t)((__int128)t->win_max * rate_bps / t->max_rate_bps);
}

void sender_set_rate(struct part *p, uint32_t flow, int64_t rate_bps)
{
    struct flow_tx *t = &p->tx[flow];

    if (rate_bps < t->rate_bps)
        p->rate_cuts++;
    t->rate_bps = rate_bps;
    if (t->win_max && p->s->cfg.window_variable) {
        t->win = scale_window(t, rate_bps);
        if (t->win < 1)
            t->win = 1;
    }
}

/* The reference's ChangeRate: the pacing time of the last packet is taken at the new rate. */
void sender_retime_rate(struct part *p, uint32_t flow, int64_t rate_bps)
{
    struct flow_tx *t = &p->tx[flow];

    if (rate_bps != t->rate_bps) {
        t->next_avail += pacing_ps(p, t, t->last_wire_bytes, rate_bps) -
                         pacing_ps(p, t, t->last_wire_bytes, t->rate_bps);
        sender_set_rate(p, flow, rate_bps);
    }
    nic_retime(p, t->port, t->next_avail);
}

/* Go-back-N: everything from the first unacknowledged byte is sent again. */
static void recover(struct flow_tx *t)
{
    if (t->irn)
        irn_tx_recover(t->irn, t);
    else
        t->snd_nxt = t->snd_una;
}

static void on_progress(struct part *p, struct flow_tx *t)
{
    t->retries = 0;
    if (p->s->cfg.rto == RTO_ON)
        t->rto_deadline = p->now + p->s->cfg.rto_ps;
}

static int64_t accept_ack(struct part *p, struct flow_tx *t, const struct pkt *k)
{
    const uint32_t mtu = p->s->cfg.payload_bytes;
    int64_t ack = k->seq;
    int64_t newly;

    if (p->s->cfg.recovery == RECOVERY_GO_BACK_0 && ack < t->size)
        ack = ack / p->s->cfg.chunk_bytes * p->s->cfg.chunk_bytes;
    newly = ack - t->snd_una;
    if (t->irn && (k->flags & PKT_SACK))
        irn_tx_sack(t->irn, k->seq + (int64_t)k->payload * mtu, mtu);
    if (newly <= 0) {
        if (k->seq > t->snd_una) /* go-back-0, within a chunk: something got through */
            t->rto_deadline = p->now + p->s->cfg.rto_ps;
        return 0;
    }
    t->snd_una = ack;
    t->last_ack = p->now;
    if (t->snd_nxt < ack)
        t->snd_nxt = ack;
    if (t->irn)
        irn_tx_ack(t->irn, ack, mtu);
    on_progress(p, t);
    return newly;
}

void sender_on_ack(struct part *p, uint32_t row)
{
    const struct pkt *k = &p->pkt[row];
    const uint32_t flow = k->flow;
    struct flow_tx *t = &p->tx[flow];
    struct cc_ack a;

    if (!t->active) {
        pkt_free(p, row); /* a late copy */
        return;
    }
    a = (struct cc_ack){.seq = k->seq,
                        .now = p->now,
                        .sent = k->sent,
                        .acked_bytes = accept_ack(p, t, k),
                        .hops = p->int_rec ? p->int_rec[row].hop : NULL,
                        .hop_count = k->int_hops,
                        .cnp = (k->flags & PKT_CNP) != 0,
                        .is_nack = k->type == PKT_NACK};
    t->cnps += a.cnp;
    if (t->snd_una >= t->size) {
        t->active = 0;
        part_note(p, flow, NOTE_COMPLETED);
    } else if (a.is_nack) {
        recover(t);
    }
    if (p->s->cc->on_ack)
        p->s->cc->on_ack(p, flow, cc_state_of(p->s, flow), &a);
    if (__builtin_expect(p->tells_acks, 0))
        freeze_on_ack(p, flow);
    pkt_free(p, row);
    nic_kick(p, t->port);
}

void sender_on_rto(struct part *p, uint32_t flow)
{
    struct flow_tx *t = &p->tx[flow];
    const struct cc_ops *cc = p->s->cc;

    t->rto_armed = 0;
    if (!t->active)
        return;
    if (t->snd_nxt == t->snd_una)
        return; /* nothing outstanding: the next packet arms it again */
    if (p->now < t->rto_deadline) {
        arm_rto(p, t, flow);
        return;
    }
    p->timeouts++;
    if (++t->retries > p->s->cfg.rto_retries_max) {
        t->active = 0;
        part_note(p, flow, NOTE_STALLED);
        return;
    }
    p->may_stall |= t->retries > p->s->cfg.rto_retries_max / 2;
    recover(t);
    if (cc->on_timeout)
        cc->on_timeout(p, flow, cc_state_of(p->s, flow));
    t->rto_deadline = p->now + p->s->cfg.rto_ps;
    arm_rto(p, t, flow);
    nic_kick(p, t->port);
}

void sender_start(struct part *p, uint32_t flow)
{
    struct flow_tx *t = &p->tx[flow];
    const struct cc_ops *cc = p->s->cc;

    t->next_avail = p->now;
    if (cc->on_start)
        cc->on_start(p, flow, cc_state_of(p->s, flow));
    nic_kick(p, t->port);
}
