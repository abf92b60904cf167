/*
 * ack_charge.c - acknowledgements that travel beside the network, and are paid for in it.
 *
 * Where acknowledgements queue with data, each flow's partition also holds the ports of the way
 * back, and the flows of a ring are one partition though no two of them share a bottleneck. With
 * ACK_CHARGED they take the fixed time of the idle way back (as with ACK_BYPASS), and what they
 * would have taken from data is charged to the ports on that way: there each data packet keeps the
 * serialiser longer by
 *
 *     charge = ack_bytes / ack_every * min(1, sum of r_f / R)
 *
 * over the flows f whose acknowledgements come by; R is the rate of the port, and r_f the flow's
 * fair share by structure alone, the least of R_p / n_p over the ports p of its data path, n_p the
 * flows that send through p. INT counts the charge as sent. It changes only at control events,
 * which touch the partition that holds the port; it joins nothing.
 *
 * Determinism: shares are functions of who sends through which port; sums are integers.
 * Threading: the coordinator, between rounds.
 */
#include "sim_int.h"

#include <stdlib.h>

static int is_on(const struct sim *s)
{
    return s->cfg.ack == ACK_CHARGED;
}

static int64_t fair_share(const struct sim *s, const struct flow_tx *t)
{
    int64_t share = t->max_rate_bps;

    for (uint32_t row = t->path; s->path[row] != PATH_END; row++) {
        const uint32_t port = s->path[row];
        const uint32_t flows = s->data_flows[port];
        const int64_t least = s->kind[s->port[port].kind].rate_bps / (flows ? flows : 1);

        share = least < share ? least : share;
    }
    return share;
}

static void mark_dirty(struct sim *s, uint32_t port)
{
    if (s->charge_mark[port])
        return;
    s->charge_mark[port] = 1;
    s->charge_dirty[s->charge_dirty_count++] = port;
}

/* The flow's acknowledgements now come at the share @bps of data. */
static void set_share(struct sim *s, struct flow_tx *t, int64_t bps)
{
    const int64_t change = bps / t->path_count - t->ack_share_bps;

    if (!change)
        return;
    t->ack_share_bps += change;
    for (uint32_t k = 0; k < t->path_count; k++)
        for (uint32_t row = t->ack_path + k * t->ack_stride; s->path[row] != PATH_END; row++) {
            s->ack_load_bps[s->path[row]] += change;
            mark_dirty(s, s->path[row]);
        }
}

static void count_path(struct sim *s, const struct flow_tx *t, uint32_t change)
{
    for (uint32_t k = 0; k < t->path_count; k++)
        for (uint32_t row = t->path + k * t->path_stride; s->path[row] != PATH_END; row++)
            s->data_flows[s->path[row]] += change;
}

void ack_charge_open(struct sim *s, uint32_t flow)
{
    if (!is_on(s))
        return;
    s->tx[flow].ack_share_bps = 0;
    count_path(s, &s->tx[flow], 1);
    s->charge_changed = 1;
}

void ack_charge_move(struct sim *s, uint32_t flow, struct flow_tx *old)
{
    if (!is_on(s))
        return;
    count_path(s, old, UINT32_MAX); /* minus one */
    set_share(s, old, 0);
    ack_charge_open(s, flow);
}

int ack_charge_close(struct sim *s, uint32_t flow)
{
    struct flow_tx *t = &s->tx[flow];

    if (!is_on(s) || t->member == ROW_NONE)
        return 0;
    count_path(s, t, UINT32_MAX); /* minus one */
    s->charge_changed = 1;
    return control_push(
        s, &(struct control){
               .time = s->now + t->base_rtt_ps, .seq = flow, .flow = flow, .kind = CONTROL_CHARGE});
}

void ack_charge_drop(struct sim *s, uint32_t flow)
{
    set_share(s, &s->tx[flow], 0);
    s->charge_changed = 1;
    if (!s->is_serial)
        flow_gone(s, flow);
}

static void share_of_members(struct sim *s, const struct part *p)
{
    for (uint32_t i = 0; i < p->flow_count; i++)
        if (s->result[p->flow[i]].state == FLOW_ACTIVE)
            set_share(s, &s->tx[p->flow[i]], fair_share(s, &s->tx[p->flow[i]]));
}

/* Those that a control event has touched; the serial engine does not know which these are. */
static void find_shares(struct sim *s)
{
    for (uint32_t i = 0; i < s->awake_count; i++) {
        struct part *p = s->parts[s->awake[i]];

        if (!p->charge_due)
            continue;
        p->charge_due = 0;
        share_of_members(s, p);
    }
    for (uint32_t f = 0; s->is_serial && f < s->flow_count; f++)
        if (s->result[f].state == FLOW_ACTIVE && s->tx[f].member != ROW_NONE)
            set_share(s, &s->tx[f], fair_share(s, &s->tx[f]));
}

static uint16_t calc_charge(const struct sim *s, uint32_t port)
{
    const int64_t rate = s->kind[s->port[port].kind].rate_bps;
    const int64_t load = s->ack_load_bps[port] < rate ? s->ack_load_bps[port] : rate;
    const int64_t per = (int64_t)s->cfg.ack_every_packets * rate;

    return (uint16_t)(((__int128)s->ack_wire_bytes * load + per / 2) / per);
}

void ack_charge_apply(struct sim *s)
{
    if (!s->charge_changed)
        return;
    s->charge_changed = 0;
    find_shares(s);
    for (uint32_t i = 0; i < s->charge_dirty_count; i++) {
        const uint32_t port = s->charge_dirty[i];
        struct port *pt = &s->port[port];
        const uint16_t charge = calc_charge(s, port);

        s->charge_mark[port] = 0;
        if (charge == pt->charge)
            continue;
        if (pt->part != PART_NONE)
            part_at_control(part_of_port(s, port));
        pt->charge = charge;
    }
    s->charge_dirty_count = 0;
    for (uint32_t i = 0; i < s->awake_count; i++)
        s->parts[s->awake[i]]->charge_due = 0; /* a charge changes no share */
}

int ack_charge_init(struct sim *s)
{
    const size_t ports = (size_t)s->topo->port_count + 1;

    if (!is_on(s))
        return 0;
    s->ack_load_bps = arena_reserve(ports * sizeof *s->ack_load_bps);
    s->data_flows = arena_reserve(ports * sizeof *s->data_flows);
    s->charge_dirty = arena_reserve(ports * sizeof *s->charge_dirty);
    s->charge_mark = arena_reserve(ports);
    return s->ack_load_bps && s->data_flows && s->charge_dirty && s->charge_mark ? 0 : WH_ERR_NOMEM;
}

void ack_charge_fini(struct sim *s)
{
    const size_t ports = s->topo ? (size_t)s->topo->port_count + 1 : 0;

    arena_release(s->ack_load_bps, ports * sizeof *s->ack_load_bps);
    arena_release(s->data_flows, ports * sizeof *s->data_flows);
    arena_release(s->charge_dirty, ports * sizeof *s->charge_dirty);
    arena_release(s->charge_mark, ports);
}
