/*
 * sim_flow.c - the life of a flow: source port, paths, opening both halves, closing, new paths
 * after the network changed.
 */
#include "rng.h"
#include "sim_int.h"
#include "units.h"

#include <stdlib.h>
#include <string.h>

#define PATH_LINKS_MAX 255u
#define FIRST_SPORT 10000u
#define STREAM_CONN UINT64_C(0xc0220001)

/* ---- source ports ---- */

static int pairs_grow(struct sim *s)
{
    const uint32_t cap = s->pair_cap ? 2 * s->pair_cap : 256;
    struct pair_count *old = s->pairs;
    struct pair_count *table = calloc(cap, sizeof *table);

    if (!table)
        return WH_ERR_NOMEM;
    for (uint32_t i = 0; i < s->pair_cap; i++) {
        uint32_t k = (uint32_t)rng_mix(old[i].pair) & (cap - 1);

        if (!old[i].pair)
            continue;
        while (table[k].pair)
            k = (k + 1) & (cap - 1);
        table[k] = old[i];
    }
    free(old);
    s->pairs = table;
    s->pair_cap = cap;
    return 0;
}

/* Next source port of a (src, dst); 0 if out of memory. Wraps after 55,536 flows of one pair. */
uint32_t flow_next_sport(struct sim *s, uint32_t src, uint32_t dst)
{
    const uint64_t pair = ((uint64_t)src << 32 | dst) + 1;
    uint32_t i;

    if (s->cfg.reuse_sport)
        return FIRST_SPORT;
    if (2 * s->pair_count >= s->pair_cap && pairs_grow(s))
        return 0;
    i = (uint32_t)rng_mix(pair) & (s->pair_cap - 1);
    while (s->pairs[i].pair && s->pairs[i].pair != pair)
        i = (i + 1) & (s->pair_cap - 1);
    if (!s->pairs[i].pair) {
        s->pairs[i].pair = pair;
        s->pair_count++;
    }
    return FIRST_SPORT + s->pairs[i].count++ % (65536 - FIRST_SPORT);
}

/* ---- paths ---- */

static const struct given *find_given(const struct sim *s, uint32_t flow, int is_ack)
{
    uint32_t lo = 0, hi = s->given_count;
    const uint64_t key = (uint64_t)flow * 2 + (is_ack != 0);

    while (lo < hi) {
        const uint32_t mid = (lo + hi) / 2;
        const struct given *g = &s->given[mid];

        if ((uint64_t)g->flow * 2 + g->is_ack < key)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo < s->given_count && s->given[lo].flow == flow && s->given[lo].is_ack == (is_ack != 0))
        return &s->given[lo];
    return NULL;
}

static int given_ports(const struct sim *s, const struct given *g, uint32_t *ports)
{
    const uint32_t *node = &s->given_nodes[g->node_first];

    for (uint32_t i = 0; i + 1 < g->node_count; i++) {
        ports[i] = topo_find_port(s->topo, node[i], node[i + 1]);
        if (s->port[ports[i]].flags & PORT_DOWN)
            return 0;
    }
    return (int)g->node_count - 1;
}

/* Links of one path into @ports; 0 if there is none. A given path that is cut falls back on ECMP.
 */
static int find_path(struct sim *s, uint32_t flow, int is_ack, uint32_t salt, uint32_t *ports)
{
    const struct flow_spec *f = &s->spec[flow];
    const uint32_t from = is_ack ? f->dst : f->src, to = is_ack ? f->src : f->dst;
    const uint16_t sport = s->result[flow].sport;
    const struct route_key key = {.src_ip = route_node_ip(from),
                                  .dst_ip = route_node_ip(to),
                                  .sport = is_ack ? f->dport : sport,
                                  .dport = is_ack ? sport : f->dport};
    const struct given *g = find_given(s, flow, is_ack);
    int links = 0;

    if (g)
        links = given_ports(s, g, ports);
    if (!links)
        links = route_path(s->route, from, to, &key, salt, ports, PATH_LINKS_MAX);
    return links < 0 ? 0 : links;
}

static uint32_t store_path(struct sim *s, const uint32_t *ports, int links)
{
    const uint32_t row = s->path_used;

    check((uint64_t)row + (uint32_t)links + 1 < s->path_cap, "%u path rows", row);
    memcpy(&s->path[row], ports, (size_t)links * sizeof *ports);
    s->path[row + (uint32_t)links] = PATH_END;
    s->path_used += (uint32_t)links + 1;
    return row;
}

/* The paths that a sprayed flow alternates among all leave through one port of the host. */
static int store_paths(struct sim *s, uint32_t flow, int is_ack, uint32_t count,
                       uint32_t *first_row, uint16_t *stride, uint16_t *stored)
{
    uint32_t ports[PATH_LINKS_MAX];
    uint32_t first_port = PORT_NONE;
    int links = 0;

    *stored = 0;
    for (uint32_t salt = 0; *stored < count && salt < 4 * count; salt++) {
        uint32_t row;

        links = find_path(s, flow, is_ack, salt, ports);
        if (!links)
            return 0;
        if (first_port == PORT_NONE)
            first_port = ports[0];
        if (!is_ack && ports[0] != first_port)
            continue;
        row = store_path(s, ports, links);
        if (!(*stored)++)
            *first_row = row;
    }
    *stride = (uint16_t)(links + 1);
    return links;
}

static int64_t path_base_rtt(const struct sim *s, uint32_t row, int64_t *rate_bps)
{
    int64_t rtt = 0;

    *rate_bps = INT64_MAX;
    for (; s->path[row] != PATH_END; row++) {
        const struct port_kind *k = &s->kind[s->port[s->path[row]].kind];

        rtt +=
            2 * k->delay_ps + route_payload_ps(s->cfg.payload_bytes, k->rate_bps, s->cfg.round_ps);
        *rate_bps = k->rate_bps < *rate_bps ? k->rate_bps : *rate_bps;
    }
    return rtt;
}

/* Time of an acknowledgement on the idle way back. */
static int64_t ack_path_ps(const struct sim *s, uint32_t row)
{
    int64_t time = 0;

    for (; s->path[row] != PATH_END; row++) {
        const struct port_kind *k = &s->kind[s->port[s->path[row]].kind];

        time += k->delay_ps + k->tx_ps[s->ack_wire_bytes];
    }
    return time;
}

/* Sum of 48 B headers and payload at the slowest link, on top of the base RTT: reference formula.
 */
static int64_t ideal_ps(const struct sim *s, int64_t bytes, int64_t rtt_ps, int64_t rate_bps)
{
    const int64_t packets = (bytes + s->cfg.payload_bytes - 1) / s->cfg.payload_bytes;
    const __int128 bits = (__int128)(bytes + packets * s->cfg.header_bytes) * 8;

    if (s->cfg.round_ps == 1)
        return rtt_ps + (int64_t)(bits * PS_PER_S / rate_bps);
    return rtt_ps + (int64_t)(bits * 1000000000 / rate_bps) * PS_PER_NS;
}

static void use_ports(struct sim *s, struct part *p, uint32_t row, uint32_t count, int32_t change)
{
    for (uint32_t i = 0; i < count; row++) {
        const uint32_t port = s->path[row];
        struct port *pt;

        if (port == PATH_END) {
            i++;
            continue;
        }
        pt = &s->port[port];
        if (change > 0 && !pt->flows && s->cfg.int_reset_idle) {
            port_advance(p, port);
            pt->tx_bytes = 0;
        }
        pt->flows += (uint32_t)change;
    }
}

static void use_paths(struct sim *s, struct part *p, const struct flow_tx *t, int32_t change)
{
    use_ports(s, p, t->path, t->path_count, change);
    if (!ack_is_beside(s->cfg.ack))
        use_ports(s, p, t->ack_path, t->path_count, change);
}

/* ---- paths of connections seen before: a collective sends thousands of messages over each ---- */

static struct known_path *known_slot(struct known_path *table, uint32_t cap, uint64_t pair,
                                     uint32_t ports)
{
    uint32_t i = (uint32_t)rng_mix(pair ^ rng_mix(ports)) & (cap - 1);

    while (table[i].pair && (table[i].pair != pair || table[i].ports != ports))
        i = (i + 1) & (cap - 1);
    return &table[i];
}

static int known_grow(struct sim *s)
{
    const uint32_t cap = s->known_cap ? 2 * s->known_cap : 256;
    struct known_path *table = calloc(cap, sizeof *table);

    if (!table)
        return WH_ERR_NOMEM;
    for (uint32_t i = 0; i < s->known_cap; i++)
        if (s->known[i].pair)
            *known_slot(table, cap, s->known[i].pair, s->known[i].ports) = s->known[i];
    free(s->known);
    s->known = table;
    s->known_cap = cap;
    return 0;
}

/* The network has changed: every connection chooses anew. */
static void known_clear(struct sim *s)
{
    free(s->known);
    s->known = NULL;
    s->known_count = s->known_cap = 0;
}

/* Returns 0 if there is no path now. */
static int search_paths(struct sim *s, uint32_t flow, struct known_path *k)
{
    const uint32_t want = s->cfg.routing == ROUTING_SPRAY ? s->cfg.spray_paths : 1;
    uint16_t ack_count;
    const int links = store_paths(s, flow, 0, want, &k->path, &k->path_stride, &k->path_count);

    if (!links || !store_paths(s, flow, 1, k->path_count, &k->ack_path, &k->ack_stride, &ack_count))
        return 0;
    k->hops = (uint16_t)links;
    return links;
}

static void take_paths(struct flow_tx *t, const struct known_path *k)
{
    t->path = k->path;
    t->path_stride = k->path_stride;
    t->path_count = k->path_count;
    t->ack_path = k->ack_path;
    t->ack_stride = k->ack_stride;
    t->hops = k->hops;
}

static struct known_path connection_key(const struct sim *s, uint32_t flow)
{
    const struct flow_spec *f = &s->spec[flow];

    return (struct known_path){
        .pair = ((uint64_t)f->src << 32 | f->dst) + 1,
        .ports = (uint32_t)s->result[flow].sport << 16 | f->dport,
    };
}

struct known_path *flow_connection(struct sim *s, uint32_t flow)
{
    const struct known_path key = connection_key(s, flow);
    const struct flow_tx *t = &s->tx[flow];
    struct known_path *k;

    if (!s->known_cap)
        return NULL;
    k = known_slot(s->known, s->known_cap, key.pair, key.ports);
    return k->pair && k->path == t->path && k->ack_path == t->ack_path ? k : NULL;
}

/* Returns 0 if there is no path now. */
static int choose_paths(struct sim *s, uint32_t flow)
{
    struct known_path found = connection_key(s, flow);
    const int has_given = find_given(s, flow, 0) || find_given(s, flow, 1);
    struct known_path *slot = NULL;

    if (!has_given && (2 * s->known_count < s->known_cap || !known_grow(s)))
        slot = known_slot(s->known, s->known_cap, found.pair, found.ports);
    if (slot && slot->pair) {
        take_paths(&s->tx[flow], slot);
        return slot->hops;
    }
    if (!search_paths(s, flow, &found))
        return 0;
    take_paths(&s->tx[flow], &found);
    if (slot) {
        *slot = found;
        s->known_count++;
    }
    return found.hops;
}

/* ---- opening and closing ---- */

static void set_window(struct sim *s, struct flow_tx *t, int64_t rtt_ps, int64_t rate_bps)
{
    const struct sim_config *c = &s->cfg;
    const int64_t bdp = c->window_global ? s->max_bdp_bytes : route_bdp_bytes(rtt_ps, rate_bps);

    t->base_rtt_ps = c->window_global ? s->max_base_rtt_ps : rtt_ps;
    t->win_max = c->has_window || c->cc == CC_HPCC ? bdp : 0;
    t->win = c->has_window ? t->win_max : 0;
}

static void open_halves(struct sim *s, uint32_t flow)
{
    const struct flow_spec *f = &s->spec[flow];
    struct flow_tx *t = &s->tx[flow];
    struct flow_rx *r = &s->rx[flow];

    t->size = f->bytes;
    t->port = s->path[t->path];
    t->cls = s->class_of_prio[f->prio];
    t->max_rate_bps = s->nic[s->port[t->port].owner].rate_bps;
    if (s->straggle && s->straggle[f->src] > 0)
        t->max_rate_bps = (int64_t)((double)t->max_rate_bps * s->straggle[f->src]);
    t->rate_bps = t->max_rate_bps;
    t->conn = rng_u64(s->cfg.seed, STREAM_CONN,
                      rng_mix((uint64_t)f->src << 32 | f->dst) ^
                          ((uint64_t)s->result[flow].sport << 16 | f->dport));
    t->bypass_ps = ack_path_ps(s, t->ack_path);
    r->size = f->bytes;
    r->nack_last = -1;
}

int flow_prepare(struct sim *s, uint32_t flow)
{
    struct flow_tx *t = &s->tx[flow];
    struct flow_result *res = &s->result[flow];
    int64_t rtt, rate;

    if (!choose_paths(s, flow))
        return 0;
    rtt = path_base_rtt(s, t->path, &rate);
    open_halves(s, flow);
    set_window(s, t, rtt, rate);
    res->hops = t->hops;
    res->ideal_ps = ideal_ps(s, t->size, rtt, rate);
    return t->hops;
}

/* Nothing to send: delivered and completed at once, by nobody's partition. */
static void open_empty(struct sim *s, uint32_t flow)
{
    part_at_control(&s->part);
    s->tx[flow].member = ROW_NONE;
    s->rx[flow].delivered = 1;
    part_note(&s->part, flow, NOTE_DELIVERED);
    part_note(&s->part, flow, NOTE_COMPLETED);
}

int flow_open(struct sim *s, uint32_t flow)
{
    struct flow_tx *t = &s->tx[flow];
    struct flow_result *res = &s->result[flow];
    struct part *p;
    int rc;

    if (!flow_prepare(s, flow)) {
        res->state = FLOW_NOPATH;
        s->flow_nopath++;
        return 0;
    }
    res->state = FLOW_ACTIVE;
    res->start_ps = s->now;
    s->flow_active++;
    if (t->size == 0) {
        open_empty(s, flow);
        return 0;
    }
    rc = part_admit(s, flow);
    if (!rc && s->cfg.recovery == RECOVERY_SELECTIVE_REPEAT)
        rc = irn_open(s, flow);
    if (rc)
        return rc;
    p = part_of_flow(s, flow);
    t->active = 1;
    t->last_ack = s->rx[flow].cnp_next = p->now;
    use_paths(s, p, t, 1);
    ack_charge_open(s, flow);
    if (life_begin(p, flow))
        return 0;
    rc = nic_add_flow(p, s->port[t->port].owner, flow);
    if (!rc)
        sender_start(p, flow);
    return rc;
}

void flow_close(struct sim *s, uint32_t flow)
{
    struct flow_tx *t = &s->tx[flow];
    struct flow_result *res = &s->result[flow];

    res->acked_bytes = t->base + (t->snd_una < t->size ? t->snd_una : t->size);
    res->retx_bytes = t->retx_bytes;
    s->flow_active--;
    if (t->member == ROW_NONE)
        return;
    use_paths(s, part_of_flow(s, flow), t, -1);
    s->nic[s->port[t->port].owner].active--;
    if (t->irn)
        irn_close(s, flow);
    part_dismiss(s, flow);
}

void flow_gone(struct sim *s, uint32_t flow)
{
    const uint32_t stretch = flow / FLOW_STRETCH;
    const uint32_t needed = s->cfg.ack == ACK_CHARGED ? 2 : 1;
    const size_t from = (size_t)stretch * FLOW_STRETCH, to = from + FLOW_STRETCH;
    const size_t cc = s->cc_stride;

    if (++s->gone[stretch] < needed * FLOW_STRETCH)
        return;
    arena_forget(s->cc_state, from * cc, to * cc); /* which many never touch */
    if (s->spare_count < FLOW_SPARES) {
        s->spare[s->spare_count++] = stretch;
        return;
    }
    arena_forget(s->tx, from * sizeof *s->tx, to * sizeof *s->tx);
    arena_forget(s->rx, from * sizeof *s->rx, to * sizeof *s->rx);
}

void flow_add_rows(struct sim *s, uint32_t flow)
{
    size_t from;

    if (flow % FLOW_STRETCH || !s->spare_count)
        return;
    from = (size_t)s->spare[--s->spare_count] * FLOW_STRETCH;
    arena_move(s->tx, from * sizeof *s->tx, flow * sizeof *s->tx, FLOW_STRETCH * sizeof *s->tx);
    arena_move(s->rx, from * sizeof *s->rx, flow * sizeof *s->rx, FLOW_STRETCH * sizeof *s->rx);
}

static int is_given(const struct sim *s, uint32_t flow)
{
    return find_given(s, flow, 0) && find_given(s, flow, 1);
}

static int path_is_up(const struct sim *s, uint32_t row)
{
    for (; s->path[row] != PATH_END; row++)
        if (s->port[s->path[row]].flags & PORT_DOWN)
            return 0;
    return 1;
}

static int move_to_port(struct sim *s, uint32_t flow, uint32_t port)
{
    struct flow_tx *t = &s->tx[flow];
    struct nic *old = &s->nic[s->port[t->port].owner];
    uint32_t to = 0;

    if (t->port == port)
        return 0;
    for (uint32_t i = 0; i < old->count; i++)
        if (old->flow[i] != flow)
            old->flow[to++] = old->flow[i];
    old->count = to;
    old->active--;
    t->port = port;
    return nic_add_flow(part_of_port(s, port), s->port[port].owner, flow);
}

static int reroute(struct sim *s, uint32_t flow)
{
    struct flow_tx *t = &s->tx[flow];
    struct flow_tx before = *t;
    int rc;

    if (is_given(s, flow) && path_is_up(s, t->path) && path_is_up(s, t->ack_path))
        return 0;
    if (!choose_paths(s, flow))
        return 0; /* keeps the dead path until a link comes up or it gives up */
    rc = part_move(s, flow, &before);
    if (rc)
        return rc;
    /* in this order: a port that stays in use keeps its INT counter */
    use_paths(s, part_of_port(s, before.port), t, 1);
    use_paths(s, part_of_port(s, before.port), &before, -1);
    ack_charge_move(s, flow, &before);
    rc = move_to_port(s, flow, s->path[t->path]);
    s->result[flow].hops = t->hops;
    t->bypass_ps = ack_path_ps(s, t->ack_path);
    return rc;
}

static int is_open(const struct sim *s, uint32_t flow)
{
    return s->result[flow].state == FLOW_ACTIVE && s->tx[flow].active;
}

/* What is replayed or skipped is executed up to now, on the paths that it had. */
static void bring_to_now(struct sim *s)
{
    for (uint32_t f = 0; f < s->flow_count; f++)
        if (is_open(s, f))
            part_at_control(part_of_flow(s, f));
}

int flow_reroute_all(struct sim *s)
{
    int rc = 0;

    bring_to_now(s);
    known_clear(s);
    for (uint32_t f = 0; f < s->flow_count && !rc; f++) {
        if (s->result[f].state == FLOW_NOPATH) {
            s->flow_nopath--;
            s->result[f].state = FLOW_WAITING;
            rc = flow_open(s, f);
        } else if (is_open(s, f)) {
            rc = reroute(s, f);
        }
    }
    for (uint32_t f = 0; f < s->flow_count && !rc; f++) {
        if (!is_open(s, f))
            continue;
        part_at_control(part_of_flow(s, f));
        nic_kick(part_of_flow(s, f), s->tx[f].port);
    }
    return rc;
}
