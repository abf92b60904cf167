/*
 * nic.c - the egress of a host port: acknowledgements first, then round robin among the flows.
 *
 * Source: the reference's RdmaEgressQueue::GetNextQindex and QbbNetDevice::DequeueAndTransmit. A
 * flow qualifies if its class is not paused, it has bytes, is inside its window, and its pacing
 * time has come. If none does, one timer is armed for the earliest pacing time of any flow with
 * bytes left, window-blocked ones included, and only if that is in the future and no timer is
 * pending. Flows that are done leave the list when the round robin next passes them, as in the
 * reference: the index of the flow served last then means another flow.
 */
#include "sim_int.h"
#include "units.h"

#include <stdlib.h>

int nic_add_flow(struct part *p, uint32_t nic, uint32_t flow)
{
    struct nic *n = &p->s->nic[nic];

    if (!n->active && p->order == ORDER_CANONICAL)
        n->count = n->last = 0; /* what was served last before does not matter to newcomers */
    if (n->count == n->cap) {
        const uint32_t cap = n->cap ? 2 * n->cap : 4;
        uint32_t *rows = realloc(n->flow, cap * sizeof *rows);

        if (!rows)
            return WH_ERR_NOMEM;
        n->flow = rows;
        n->cap = cap;
    }
    n->flow[n->count++] = flow;
    n->active++;
    port_advance(p, n->port);
    port_await_end(p, n->port);
    return 0;
}

/* Closes the gaps that flows which are done leave from @from on. Returns where @keep has moved to.
 */
static uint32_t compact(const struct part *p, struct nic *n, uint32_t from, uint32_t keep)
{
    uint32_t to = from, kept = keep;
    uint32_t served = from <= n->last ? from : n->last + 1; /* kept ones up to the last served */

    for (uint32_t i = from; i < n->count; i++) {
        if (!p->tx[n->flow[i]].active)
            continue;
        served += i <= n->last;
        if (i == keep)
            kept = to;
        n->flow[to++] = n->flow[i];
    }
    n->count = to;
    if (p->order == ORDER_CANONICAL) /* the reference lets it mean another flow */
        n->last = served ? served - 1 : to ? to - 1 : 0;
    return kept;
}

void nic_compact(const struct part *p, struct nic *n)
{
    compact(p, n, 0, ROW_NONE);
}

/* Index of the flow to serve, or count. */
static uint32_t pick_flow(struct part *p, struct nic *n)
{
    const uint8_t paused = p->port[n->port].paused;
    const uint32_t count = n->count;
    uint32_t idx = count ? n->last % count : 0;
    uint32_t found = ROW_NONE, done = ROW_NONE;

    for (uint32_t i = 0; i < count; i++) {
        const struct flow_tx *t;

        idx = idx + 1 < count ? idx + 1 : 0;
        t = &p->tx[n->flow[idx]];
        if (!t->active) {
            done = idx < done ? idx : done;
        } else if (!(paused & (1u << t->cls)) && sender_may_send(p, t, p->now)) {
            found = idx;
            break;
        }
    }
    return done == ROW_NONE ? found : compact(p, n, done, found);
}

static void arm_timer(struct part *p, struct nic *n, int64_t time)
{
    const struct event e = {time, p->now, next_chain(p, p->ev.sched), 0,
                            event_id(EVENT_NIC_TIMER, n->port)};

    n->timer_time = time;
    n->timer_sched = p->now;
    calendar_push(&p->cal, &e);
}

static void arm_if_pacing(struct part *p, struct nic *n)
{
    const uint8_t paused = p->port[n->port].paused;
    const int several = p->s->class_count > 2;
    int64_t first = TIME_NEVER;

    if (n->timer_time != TIME_NEVER)
        return;
    for (uint32_t i = 0; i < n->count; i++) {
        const struct flow_tx *t = &p->tx[n->flow[i]];

        if (several && (paused >> t->cls & 1))
            continue; /* the reference, which has one class only, lets it keep the timer off */
        if (t->active && sender_has_bytes(p, t) && t->next_avail < first)
            first = t->next_avail;
    }
    if (first != TIME_NEVER && first > p->now)
        arm_timer(p, n, first);
}

/* Control packets, and what a host relays: queues of the port, lowest class first. */
static uint32_t pop_queued(struct part *p, struct port *pt, uint32_t port)
{
    const uint32_t ready = pt->backlog & ~((uint32_t)pt->paused & ~1u);
    struct pkt_queue *q;
    uint32_t cls, row;

    if (!ready)
        return 0;
    cls = (uint32_t)__builtin_ctz(ready);
    q = port_queue(p->s, pt, port, cls);
    row = q->head;
    q->head = p->pkt[row].next;
    q->bytes -= p->pkt[row].wire_bytes;
    pt->q_bytes -= p->pkt[row].wire_bytes;
    if (!q->head)
        pt->backlog &= (uint8_t) ~(1u << cls);
    return row;
}

uint32_t nic_dequeue(struct part *p, uint32_t port)
{
    struct port *pt = &p->port[port];
    struct nic *n = &p->s->nic[pt->owner];
    uint32_t idx, row;

    if (pt->flags & PORT_DOWN)
        return 0;
    row = pop_queued(p, pt, port);
    if (row || !n->count)
        return row;
    idx = pick_flow(p, n);
    if (idx == ROW_NONE) {
        arm_if_pacing(p, n);
        return 0;
    }
    n->last = idx;
    return sender_build(p, n->flow[idx]);
}

void nic_kick(struct part *p, uint32_t port)
{
    port_advance(p, port);
    port_kick(p, port);
}

void nic_on_timer(struct part *p, uint32_t port)
{
    struct nic *n = &p->s->nic[p->port[port].owner];

    if (n->timer_time != p->ev.time || n->timer_sched != p->ev.sched)
        return; /* moved since */
    n->timer_time = TIME_NEVER;
    nic_kick(p, port);
}

/* A pacing time moved to @time: a pending timer follows if that is earlier. */
void nic_retime(struct part *p, uint32_t port, int64_t time)
{
    struct nic *n = &p->s->nic[p->port[port].owner];

    if (n->timer_time == TIME_NEVER || time >= n->timer_time)
        return;
    arm_timer(p, n, time < p->now ? p->now : time);
}
