/*
 * sim_check.c - what must hold between any two events; for debug builds and property tests.
 *
 * Packets: each row ever handed out is free, queued, on a wire or on its way beside the network.
 * Queues: lists, byte counts and the backlog bits agree; a port that has something to send and may
 * send it is busy. Buffers: what is counted per ingress is what waits, the pool is the sum of the
 * shares, nothing is above its limit. Flows: positions are ordered, and the states add up.
 */
#include "sim_int.h"
#include "units.h"

#include <stdlib.h>
#include <string.h>

struct checker {
    const struct sim *s;
    struct err_info *e;
    uint32_t packets;  /* rows found so far, free ones included */
    uint64_t *waiting; /* shape: [port_count][class_count], bytes by ingress */
};

static int check_queue(struct checker *c, uint32_t port, uint32_t cls)
{
    const struct sim *s = c->s;
    struct port *pt = &s->port[port];
    const struct pkt_queue *q = port_queue(s, pt, port, cls);
    uint64_t bytes = 0;

    for (uint32_t row = q->head; row; row = s->pkt[row].next) {
        const struct pkt *k = &s->pkt[row];

        REQUIRE(c, ++c->packets <= pkt_handed(s), "port %u: queue of class %u has no end", port,
                cls);
        REQUIRE(c, k->cls == cls, "port %u: packet of class %u in the queue of class %u", port,
                k->cls, cls);
        REQUIRE(c, row == q->tail || k->next, "port %u: class %u ends before its tail", port, cls);
        bytes += k->wire_bytes;
        if (cls && k->in_port != PORT_NONE)
            c->waiting[(size_t)k->in_port * s->class_count + cls] += k->wire_bytes;
    }
    REQUIRE(c, bytes == q->bytes, "port %u: class %u holds %llu B, counts %u", port, cls,
            (unsigned long long)bytes, q->bytes);
    REQUIRE(c, !q->head == !(pt->backlog >> cls & 1), "port %u: backlog %x, class %u is%s empty",
            port, pt->backlog, cls, q->head ? " not" : "");
    return 0;
}

static int check_wire(struct checker *c, uint32_t port)
{
    const struct sim *s = c->s;
    const struct port *pt = &s->port[port];
    const uint32_t head = shard_wire_head(part_of_port(s, port), port);
    int64_t last = INT64_MIN;

    REQUIRE(c, !head || !(pt->flags & PORT_DOWN), "port %u is down, its wire is in use", port);
    for (uint32_t row = head; row; row = s->pkt[row].next) {
        const struct pkt *k = &s->pkt[row];

        REQUIRE(c, ++c->packets <= pkt_handed(s), "port %u: the wire has no end", port);
        REQUIRE(c,
                k->arrive >= last &&
                    (part_of_port(s, port)->owes_state || k->arrive >= part_of_port(s, port)->now),
                "port %u: arrival at %lld after %lld, now %lld", port, (long long)k->arrive,
                (long long)last, (long long)part_of_port(s, port)->now);
        last = k->arrive;
    }
    return 0;
}

/*
 * An idle interface has no flow that could send. As in the reference there are exceptions: a timer
 * that is pending is waited for; a flow that its window blocks though its pacing time has come
 * keeps the timer from being armed; a window that grows by a rate timer waits for the next ACK.
 */
static int check_flows_wait(const struct checker *c, const struct nic *n)
{
    const struct sim *s = c->s;
    const struct part *p = part_of_port(s, n->port);
    const int64_t now = s->now - p->offset;
    uint32_t able = ROW_NONE;

    if (p->owes_state || n->timer_time != TIME_NEVER || (s->cc->on_timer && s->cfg.window_variable))
        return 0;
    for (uint32_t i = 0; i < n->count; i++) {
        const struct flow_tx *t = &s->tx[n->flow[i]];

        if (!t->active || !sender_has_bytes(p, t) || t->next_avail > now)
            continue;
        if (!sender_may_send(p, t, now))
            return 0;
        if (!(s->port[n->port].paused >> t->cls & 1))
            able = n->flow[i];
    }
    REQUIRE(c, able == ROW_NONE, "host port %u is idle, flow %u could send", n->port, able);
    return 0;
}

/* A port with work is busy, unless it is paused. */
static int check_work(const struct checker *c, uint32_t port)
{
    const struct sim *s = c->s;
    const struct port *pt = &s->port[port];
    const uint32_t ready = pt->backlog & ~((uint32_t)pt->paused & ~1u);

    REQUIRE(c, !(pt->flags & PORT_DOWN) || (!pt->q_bytes && !pt->busy),
            "port %u is down and has %u B to send", port, pt->q_bytes);
    REQUIRE(c, !ready || pt->busy, "port %u is idle with %u B waiting", port, pt->q_bytes);
    REQUIRE(c, !ready || (pt->flags & PORT_TX_EVENT), "port %u does not wait for its end", port);
    if (!(pt->flags & PORT_HOST) || pt->busy || (pt->flags & PORT_DOWN))
        return 0;
    return check_flows_wait(c, &s->nic[pt->owner]);
}

static int check_port(struct checker *c, uint32_t port)
{
    const struct sim *s = c->s;
    struct port *pt = &s->port[port];
    uint64_t bytes = 0;
    int rc = 0;

    for (uint32_t k = 0; k < s->class_count && !rc; k++) {
        rc = check_queue(c, port, k);
        bytes += port_queue(s, pt, port, k)->bytes;
    }
    if (!rc)
        REQUIRE(c, bytes == pt->q_bytes, "port %u holds %llu B, counts %u", port,
                (unsigned long long)bytes, pt->q_bytes);
    if (!rc)
        rc = check_wire(c, port);
    return rc ? rc : check_work(c, port);
}

static int check_switch(const struct checker *c, const struct swtch *sw)
{
    const struct sim *s = c->s;
    int64_t shared = 0;

    if (!sw->coupled)
        return 0; /* nothing is accounted */
    for (uint32_t p = sw->first_port; p < sw->first_port + sw->port_count; p++)
        for (uint32_t k = 1; k < s->class_count; k++) {
            const size_t row = (size_t)p * s->class_count + k;
            const struct ingress *in = &s->ingress[row];
            const int64_t above = (int64_t)in->bytes - s->cfg.pfc_reserve_bytes;

            REQUIRE(c, c->waiting[row] == (uint64_t)in->bytes + in->headroom,
                    "port %u: class %u counts %u + %u B, %llu wait", p, k, in->bytes, in->headroom,
                    (unsigned long long)c->waiting[row]);
            REQUIRE(c, in->headroom <= s->kind[s->port[p].kind].headroom_bytes,
                    "port %u: %u B in a headroom of %lld", p, in->headroom,
                    (long long)s->kind[s->port[p].kind].headroom_bytes);
            REQUIRE(c, !in->paused || in->bytes || in->headroom, "port %u stays paused when empty",
                    p);
            shared += above > 0 ? above : 0;
        }
    REQUIRE(c, shared == sw->shared_used, "switch %u: pool counts %lld B, shares are %lld",
            sw->node, (long long)sw->shared_used, (long long)shared);
    REQUIRE(c, s->cfg.pfc_static || shared <= sw->shared_cap, "switch %u: %lld B in a pool of %lld",
            sw->node, (long long)shared, (long long)sw->shared_cap);
    return 0;
}

/* Then only what is left of the flow is as it will be. */
static int owes_state(const struct sim *s, uint32_t flow)
{
    return s->result[flow].state == FLOW_ACTIVE && s->tx[flow].member != ROW_NONE &&
           part_of_flow(s, flow)->owes_state;
}

static int check_flow(struct checker *c, uint32_t flow)
{
    const struct sim *s = c->s;
    const struct flow_tx *t = &s->tx[flow];
    const struct flow_rx *r = &s->rx[flow];

    REQUIRE(c,
            0 <= t->snd_una && t->snd_una <= t->snd_nxt && t->snd_nxt <= t->snd_max &&
                (t->snd_max <= t->size || owes_state(s, flow)),
            "flow %u: acknowledged %lld, next %lld, most %lld of %lld", flow, (long long)t->snd_una,
            (long long)t->snd_nxt, (long long)t->snd_max, (long long)t->size);
    REQUIRE(c,
            r->expected <= t->snd_max &&
                (s->cfg.recovery == RECOVERY_GO_BACK_0 || t->snd_una <= r->expected),
            "flow %u: receiver at %lld, acknowledged %lld, sent %lld", flow, (long long)r->expected,
            (long long)t->snd_una, (long long)t->snd_max);
    REQUIRE(c, s->result[flow].state != FLOW_DONE || (r->expected == t->size && !t->active),
            "flow %u is done with %lld of %lld B", flow, (long long)r->expected,
            (long long)t->size);
    for (uint32_t row = t->bypass_head; row; row = s->pkt[row].next) {
        REQUIRE(c, ++c->packets <= pkt_handed(s), "flow %u: ACKs without end", flow);
        REQUIRE(c, row == t->bypass_tail || s->pkt[s->pkt[row].next].arrive >= s->pkt[row].arrive,
                "flow %u: an ACK overtakes another", flow);
        if (row == t->bypass_tail)
            break;
    }
    return 0;
}

static int check_flows(struct checker *c)
{
    const struct sim *s = c->s;
    uint32_t count[FLOW_STALLED + 1] = {0};

    for (uint32_t f = 0; f < s->flow_count; f++) {
        const int rc = check_flow(c, f);

        if (rc)
            return rc;
        count[s->result[f].state]++;
    }
    REQUIRE(c,
            count[FLOW_ACTIVE] == s->flow_active && count[FLOW_DONE] == s->flow_done &&
                count[FLOW_NOPATH] == s->flow_nopath && count[FLOW_STALLED] == s->flow_stalled,
            "flows: %u active, %u done, %u without path, %u stalled; counted %u, %u, %u, %u",
            count[FLOW_ACTIVE], count[FLOW_DONE], count[FLOW_NOPATH], count[FLOW_STALLED],
            s->flow_active, s->flow_done, s->flow_nopath, s->flow_stalled);
    return 0;
}

static int check_free_list(struct checker *c, const struct part *p)
{
    for (uint32_t row = p->pkt_free; row; row = c->s->pkt[row].next)
        REQUIRE(c, ++c->packets <= pkt_handed(c->s), "the list of free packets has no end");
    return 0;
}

static int check_free(struct checker *c)
{
    const struct sim *s = c->s;
    const struct part *q;
    int rc = 0;

    for (uint32_t i = 0; i < s->part_count && !rc; i++) {
        rc = check_free_list(c, s->parts[i]);
        for (uint32_t k = 0; !rc && (q = shard_at(s->parts[i], k)); k++)
            rc = check_free_list(c, q);
    }
    if (rc)
        return rc;
    REQUIRE(c, c->packets == pkt_handed(s), "%u packets found of %u", c->packets, pkt_handed(s));
    return 0;
}

/* Takes what a flow counts for off the sums of charges. */
static void take_off(const struct sim *s, uint32_t flow, uint32_t *flows, int64_t *load)
{
    const struct flow_tx *t = &s->tx[flow];

    for (uint32_t i = 0; i < t->path_count; i++) {
        for (uint32_t row = t->path + i * t->path_stride; s->path[row] != PATH_END; row++)
            flows[s->path[row]]--;
        for (uint32_t row = t->ack_path + i * t->ack_stride; s->path[row] != PATH_END; row++)
            load[s->path[row]] -= t->ack_share_bps;
    }
}

struct charges {
    const struct sim *s;
    uint32_t *flows;
    int64_t *load;
};

/* Flows that have ended and are still charged for. */
static void take_off_held(void *arg, const struct agenda_key *key)
{
    const struct charges *h = arg;
    const struct control *e = &h->s->control[key->row];

    if (e->kind == CONTROL_CHARGE && !h->s->tx[e->flow].is_taken_over)
        take_off(h->s, e->flow, h->flows, h->load);
}

/* The sums that charges are made of are those of the flows that send, that were given up, or whose
 * place no other flow has taken while they are held. */
static int check_charges(struct checker *c, uint32_t *flows, int64_t *load)
{
    const struct sim *s = c->s;
    const uint32_t ports = s->topo->port_count;

    memcpy(flows, s->data_flows, ports * sizeof *flows);
    memcpy(load, s->ack_load_bps, ports * sizeof *load);
    for (uint32_t f = 0; f < s->flow_count; f++)
        if (s->result[f].state == FLOW_STALLED ||
            (s->result[f].state == FLOW_ACTIVE && s->tx[f].member != ROW_NONE))
            take_off(s, f, flows, load);
    agenda_each(&s->controls, take_off_held, &(struct charges){s, flows, load});
    for (uint32_t p = 0; p < ports; p++)
        REQUIRE(c, !flows[p] && !load[p], "port %u is charged for %d flows and %lld bit/s too many",
                p, (int)flows[p], (long long)load[p]);
    return 0;
}

static int check_all_charges(struct checker *c)
{
    const size_t ports = c->s->topo->port_count;
    uint32_t *flows;
    int64_t *load;
    int rc = WH_ERR_NOMEM;

    if (c->s->cfg.ack != ACK_CHARGED)
        return 0;
    flows = malloc(ports * sizeof *flows);
    load = malloc(ports * sizeof *load);
    if (flows && load)
        rc = check_charges(c, flows, load);
    free(flows);
    free(load);
    return rc;
}

int sim_check_invariants(const struct sim *s, struct err_info *e)
{
    struct checker c = {.s = s, .e = e};
    int rc = 0;

    if (!s->started)
        return 0;
    c.waiting = calloc((size_t)s->topo->port_count * s->class_count + 1, sizeof *c.waiting);
    if (!c.waiting)
        return WH_ERR_NOMEM;
    for (uint32_t p = 0; p < s->topo->port_count && !rc; p++)
        rc = check_port(&c, p);
    for (uint32_t i = 0; i < s->swtch_count && !rc; i++)
        rc = check_switch(&c, &s->swtch[i]);
    if (!rc)
        rc = check_flows(&c);
    if (!rc)
        rc = check_free(&c);
    if (!rc)
        rc = check_all_charges(&c);
    if (!rc)
        rc = part_check(s, e);
    free(c.waiting);
    return rc;
}

void sim_check_often(struct sim *s)
{
    const uint64_t work =
        (uint64_t)s->topo->port_count * s->class_count + s->flow_count + pkt_handed(s);
    struct err_info e = {0};

    uint64_t events = 0;

    for (uint32_t i = 0; i < s->part_count; i++)
        events += s->parts[i]->events;
    if (events < s->check_at)
        return;
    s->check_at = events + work / 8;
    check(sim_check_invariants(s, &e) != WH_ERR_STATE, "at %lld ps: %s", (long long)s->now, e.text);
}
