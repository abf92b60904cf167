/*
 * part_rebase.c - every absolute time that a partition holds, in one place: ports, packets, flows,
 * congestion control. What is added to it belongs here.
 *
 * Threading: the coordinator, between rounds.
 */
#include "sim_int.h"
#include "units.h"

struct port_list {
    struct sim *s;
    uint32_t count;
};

static void list_port(void *arg, uint32_t port)
{
    struct port_list *l = arg;

    if (l->s->mark[port])
        return;
    l->s->mark[port] = 1;
    l->s->port_list[l->count++] = port;
}

uint32_t part_list_ports(struct sim *s, const struct part *p)
{
    struct port_list l = {s, 0};

    for (uint32_t i = 0; i < p->flow_count; i++)
        flow_each_port(s, &s->tx[p->flow[i]], list_port, &l);
    for (uint32_t i = 0; i < p->old_count; i++)
        flow_each_port(s, &p->old[i].was, list_port, &l);
    for (uint32_t i = 0; i < p->swtch_count; i++)
        swtch_each_port(s, &s->swtch[p->swtch[i]], list_port, &l);
    for (uint32_t i = 0; i < p->linger_count; i++)
        if (s->port[p->linger[i]].part == p->id)
            list_port(&l, p->linger[i]);
    for (uint32_t i = 0; i < l.count; i++)
        s->mark[s->port_list[i]] = 0;
    return l.count;
}

static void rebase_packets(struct sim *s, uint32_t head, int64_t delta)
{
    for (uint32_t row = head; row; row = s->pkt[row].next) {
        struct pkt *k = &s->pkt[row];

        k->arrive += delta;
        k->sched += delta;
        k->chain += delta;
        k->sent += delta;
        for (uint32_t i = 0; s->int_rec && i < k->int_hops; i++)
            s->int_rec[row].hop[i] = int_rebase(s->int_rec[row].hop[i], delta);
    }
}

static void rebase_port(struct sim *s, uint32_t port, int64_t delta)
{
    struct port *pt = &s->port[port];

    pt->busy_until += delta;
    pt->tx_start += delta;
    pt->chain += delta;
    rebase_packets(s, pt->wire_head, delta);
    for (uint32_t c = 0; c < s->class_count; c++) {
        rebase_packets(s, port_queue(s, pt, port, c)->head, delta);
        if (pt->paused >> c & 1)
            s->cold[port].paused_since[c] += delta;
    }
    if (pt->flags & PORT_HOST) {
        struct nic *n = &s->nic[pt->owner];

        n->timer_sched += delta;
        if (n->timer_time != TIME_NEVER)
            n->timer_time += delta;
    }
}

static void rebase_flow(struct sim *s, uint32_t flow, int64_t delta)
{
    struct flow_tx *t = &s->tx[flow];
    struct flow_rx *r = &s->rx[flow];

    t->next_avail += delta;
    t->rto_deadline += delta;
    t->last_ack += delta;
    rebase_packets(s, t->bypass_head, delta);
    r->nack_until += delta;
    r->cnp_next += delta;
    if (s->cc->rebase)
        s->cc->rebase(cc_state_of(s, flow), delta);
}

void part_rebase(struct sim *s, struct part *p, int64_t delta_ps)
{
    const uint32_t ports = part_list_ports(s, p);

    check(!p->int_rec || delta_ps % PS_PER_NS == 0, "a frame moves by %lld ps",
          (long long)delta_ps);
    for (uint32_t i = 0; i < ports; i++)
        rebase_port(s, s->port_list[i], delta_ps);
    for (uint32_t i = 0; i < p->flow_count; i++)
        rebase_flow(s, p->flow[i], delta_ps);
}
