/*
 * route.c - see route.h.
 *
 * For a pair both searches label nodes with their distance from src (df) and from dst (db). A level
 * is always finished, so the first level at which a node has both labels gives the distance D, and
 * the nodes with df + db = D are on shortest paths. The labels that one side lacks on the other
 * side's half are then filled in, from the meeting nodes back to the end. Labels carry the number
 * of the look-up, so nothing is cleared between look-ups. A pair asked for in the other direction,
 * as for the acknowledgements of a flow, is the same look-up.
 */
#include "route.h"

#include "units.h"

#include <stdlib.h>

#define PARALLEL_MAX 64u /* links between one pair of nodes that share the last hop */

struct label {
    uint32_t stamp; /* look-up that set it */
    uint16_t dist;
};

struct frontier {
    uint32_t *node; /* all nodes labelled so far, by level */
    uint32_t first, count;
    uint16_t level;
};

struct route {
    const struct topo *topo;
    struct label *from_src, *from_dst; /* shape: [node_count] */
    struct frontier side[2];
    uint8_t *down; /* shape: [link_count] */
    uint32_t stamp, last_src, last_dst;
    int hosts_forward, cached_dist;
};

int route_create(struct route **out, const struct topo *topo, int hosts_forward)
{
    struct route *r = calloc(1, sizeof *r);

    if (!r)
        return WH_ERR_NOMEM;
    r->topo = topo;
    r->hosts_forward = hosts_forward;
    r->last_src = NODE_NONE;
    r->from_src = calloc(topo->node_count, sizeof *r->from_src);
    r->from_dst = calloc(topo->node_count, sizeof *r->from_dst);
    r->down = calloc(topo->link_count ? topo->link_count : 1, 1);
    for (int i = 0; i < 2; i++)
        r->side[i].node = malloc(topo->node_count * sizeof *r->side[i].node);
    if (!r->from_src || !r->from_dst || !r->down || !r->side[0].node || !r->side[1].node) {
        route_destroy(r);
        return WH_ERR_NOMEM;
    }
    *out = r;
    return 0;
}

void route_destroy(struct route *r)
{
    if (!r)
        return;
    free(r->from_src);
    free(r->from_dst);
    free(r->down);
    free(r->side[0].node);
    free(r->side[1].node);
    free(r);
}

void route_set_down(struct route *r, uint32_t link, int is_down)
{
    r->down[link] = (uint8_t)is_down;
    r->last_src = NODE_NONE;
}

static int is_usable(const struct route *r, uint32_t port)
{
    return !r->down[r->topo->port_link[port]];
}

static int has_label(const struct route *r, const struct label *l)
{
    return l->stamp == r->stamp;
}

static void set_label(struct route *r, struct label *l, uint16_t dist)
{
    l->stamp = r->stamp;
    l->dist = dist;
}

static void side_start(struct route *r, int side, uint32_t node)
{
    struct frontier *f = &r->side[side];

    f->node[0] = node;
    f->first = 0;
    f->count = 1;
    f->level = 0;
    set_label(r, side ? &r->from_dst[node] : &r->from_src[node], 0);
}

/* One more level of a search. Returns the number of nodes that now have both labels. */
static uint32_t side_expand(struct route *r, int side, uint32_t target)
{
    const struct topo *t = r->topo;
    struct frontier *f = &r->side[side];
    struct label *mine = side ? r->from_dst : r->from_src;
    const struct label *other = side ? r->from_src : r->from_dst;
    const uint32_t end = f->count;
    uint32_t met = 0;

    f->level++;
    for (uint32_t i = f->first; i < end; i++) {
        const uint32_t node = f->node[i];

        for (uint32_t p = t->first_port[node]; p < t->first_port[node + 1]; p++) {
            const uint32_t peer = t->port_node[t->port_peer[p]];

            if (!is_usable(r, p) || has_label(r, &mine[peer]))
                continue;
            if (t->kind[peer] == NODE_HOST && peer != target && !r->hosts_forward)
                continue;
            set_label(r, &mine[peer], f->level);
            f->node[f->count++] = peer;
            met += (uint32_t)has_label(r, &other[peer]);
        }
    }
    f->first = end;
    return met;
}

/*
 * Fills in the other side's labels on one half: going down the levels of its search, a node is on a
 * shortest path if a neighbour one level further is. Only nodes whose ports the search has gone
 * through are looked at; their neighbours in the last level may be far more.
 */
static void fill_half(struct route *r, int side, uint16_t dist)
{
    const struct topo *t = r->topo;
    const struct frontier *f = &r->side[side];
    const struct label *mine = side ? r->from_dst : r->from_src;
    struct label *other = side ? r->from_src : r->from_dst;

    for (uint32_t i = f->first; i-- > 0;) {
        const uint32_t node = f->node[i];
        const uint16_t next = (uint16_t)(mine[node].dist + 1);

        for (uint32_t p = t->first_port[node]; p < t->first_port[node + 1]; p++) {
            const uint32_t peer = t->port_node[t->port_peer[p]];

            if (is_usable(r, p) && has_label(r, &mine[peer]) && mine[peer].dist == next &&
                has_label(r, &other[peer])) {
                set_label(r, &other[node], (uint16_t)(dist - mine[node].dist));
                break;
            }
        }
    }
}

/* The way back has the same labels with the sides exchanged. */
static void turn_around(struct route *r)
{
    const uint32_t src = r->last_src;
    struct label *from_src = r->from_src;

    r->last_src = r->last_dst;
    r->last_dst = src;
    r->from_src = r->from_dst;
    r->from_dst = from_src;
}

/* Labels all nodes on shortest paths with both distances. Returns the distance, 0 if there is none.
 */
static int find_pair(struct route *r, uint32_t src, uint32_t dst)
{
    uint32_t met = 0;
    uint16_t dist;

    if (r->last_src == dst && r->last_dst == src)
        turn_around(r);
    if (r->last_src == src && r->last_dst == dst)
        return r->cached_dist;
    r->stamp++;
    r->last_src = src;
    r->last_dst = dst;
    r->cached_dist = 0;
    side_start(r, 0, src);
    side_start(r, 1, dst);
    while (!met) {
        const uint32_t width0 = r->side[0].count - r->side[0].first;
        const uint32_t width1 = r->side[1].count - r->side[1].first;

        if (!width0 || !width1 || r->side[0].level + r->side[1].level >= UINT16_MAX - 1)
            return 0;
        met = side_expand(r, width1 < width0, width1 < width0 ? src : dst);
    }
    dist = (uint16_t)(r->side[0].level + r->side[1].level);
    fill_half(r, 0, dist);
    fill_half(r, 1, dist);
    r->cached_dist = dist;
    return dist;
}

uint32_t route_hash3(const struct route_key *key, uint32_t seed)
{
    const uint32_t word[3] = {key->src_ip, key->dst_ip,
                              (uint32_t)key->sport | ((uint32_t)key->dport << 16)};
    uint32_t h = seed;

    for (int i = 0; i < 3; i++) {
        uint32_t k = word[i] * 0xcc9e2d51u;

        k = (k << 15) | (k >> 17);
        h ^= k * 0x1b873593u;
        h = (h << 13) | (h >> 19);
        h = h * 5 + 0xe6546b64u;
    }
    h ^= 12;
    h ^= h >> 16;
    h *= 0x85ebca6bu;
    h ^= h >> 13;
    h *= 0xc2b2ae35u;
    h ^= h >> 16;
    return h;
}

static uint32_t far_node(const struct topo *t, uint32_t port)
{
    return t->port_node[t->port_peer[port]];
}

static int is_next(const struct route *r, uint32_t port, uint16_t dist)
{
    const uint32_t node = far_node(r->topo, port);

    return is_usable(r, port) && has_label(r, &r->from_dst[node]) &&
           has_label(r, &r->from_src[node]) && r->from_dst[node].dist + 1 == dist &&
           r->from_src[node].dist + r->from_dst[node].dist == r->cached_dist;
}

/*
 * The index-th next hop in the order (node id, port). Links are mostly added in that order, so one
 * pass finds it; otherwise the smallest remaining is looked for again and again.
 */
/* The last hop, found from the side of the end: a switch may have a thousand ports, a host has few.
 */
static uint32_t pick_last(const struct route *r, uint32_t node, uint32_t dst, uint32_t hash)
{
    const struct topo *t = r->topo;
    uint32_t found[PARALLEL_MAX];
    uint32_t count = 0;

    for (uint32_t p = t->first_port[dst]; p < t->first_port[dst + 1]; p++) {
        const uint32_t back = t->port_peer[p];
        uint32_t i = count;

        if (t->port_node[back] != node || !is_usable(r, back) || count == PARALLEL_MAX)
            continue;
        for (; i > 0 && found[i - 1] > back; i--)
            found[i] = found[i - 1];
        found[i] = back;
        count++;
    }
    return count ? found[hash % count] : PORT_NONE;
}

static uint32_t pick_next(const struct route *r, uint32_t node, uint32_t hash)
{
    const struct topo *t = r->topo;
    const uint16_t dist = r->from_dst[node].dist;
    uint32_t count = 0, prev = 0, found = PORT_NONE;
    int sorted = 1;

    for (uint32_t p = t->first_port[node]; p < t->first_port[node + 1]; p++) {
        if (!is_next(r, p, dist))
            continue;
        if (count && far_node(t, p) < prev)
            sorted = 0;
        prev = far_node(t, p);
        count++;
    }
    if (!count)
        return PORT_NONE;
    hash %= count;
    if (sorted) {
        for (uint32_t p = t->first_port[node]; p < t->first_port[node + 1]; p++)
            if (is_next(r, p, dist) && hash-- == 0)
                return p;
    }
    for (uint32_t i = 0; i <= hash; i++) {
        uint32_t best = PORT_NONE;

        for (uint32_t p = t->first_port[node]; p < t->first_port[node + 1]; p++) {
            if (!is_next(r, p, dist))
                continue;
            if (i && (far_node(t, p) < far_node(t, found) ||
                      (far_node(t, p) == far_node(t, found) && p <= found)))
                continue;
            if (best == PORT_NONE || far_node(t, p) < far_node(t, best))
                best = p;
        }
        found = best;
    }
    return found;
}

int route_path(struct route *r, uint32_t src, uint32_t dst, const struct route_key *key,
               uint32_t salt, uint32_t *ports, uint32_t cap)
{
    const int dist = find_pair(r, src, dst);
    uint32_t node = src;

    if ((uint32_t)dist > cap)
        return WH_ERR_LIMIT;
    for (int i = 0; i < dist; i++) {
        /* salt 0 is the reference's hash; others decorrelate the choices of sprayed packets */
        const uint32_t hash = route_hash3(key, node ^ (salt * 0x9e3779b9u));
        const uint32_t port =
            i + 1 == dist ? pick_last(r, node, dst, hash) : pick_next(r, node, hash);

        check(port != PORT_NONE, "no next hop at node %u from %u to %u", node, src, dst);
        ports[i] = port;
        node = far_node(r->topo, port);
    }
    return dist;
}

/* ---- base RTT and BDP of all pairs ---- */

struct reach {
    int64_t delay_ps, tx_ps, rate_bps;
    uint32_t stamp;
};

struct pair_search {
    const struct topo *topo;
    struct reach *at;
    uint32_t *queue;
    uint32_t payload_bytes;
    int64_t round_ps;
    int hosts_forward;
    int64_t rtt_ps, bdp_bytes;
};

int64_t route_payload_ps(uint32_t payload_bytes, int64_t rate_bps, int64_t round_ps)
{
    const int64_t bits = (int64_t)payload_bytes * 8;

    if (round_ps == 1)
        return bits * PS_PER_S / rate_bps;
    return bits * 1000000000 / rate_bps * PS_PER_NS;
}

int64_t route_bdp_bytes(int64_t rtt_ps, int64_t rate_bps)
{
    return (int64_t)((__int128)rtt_ps * rate_bps / 8 / PS_PER_S);
}

static void take_pair(struct pair_search *w, const struct reach *at)
{
    const int64_t rtt = 2 * at->delay_ps + at->tx_ps;
    const int64_t bdp = route_bdp_bytes(rtt, at->rate_bps);

    w->rtt_ps = rtt > w->rtt_ps ? rtt : w->rtt_ps;
    w->bdp_bytes = bdp > w->bdp_bytes ? bdp : w->bdp_bytes;
}

static uint32_t reach_peers(struct pair_search *w, uint32_t node, uint32_t stamp, uint32_t count)
{
    const struct topo *t = w->topo;
    const struct reach here = w->at[node];

    for (uint32_t p = t->first_port[node]; p < t->first_port[node + 1]; p++) {
        const struct link_class *c = topo_port_class(t, p);
        struct reach *peer = &w->at[far_node(t, p)];

        if (peer->stamp == stamp)
            continue;
        peer->stamp = stamp;
        peer->delay_ps = here.delay_ps + c->delay_ps;
        peer->tx_ps = here.tx_ps + route_payload_ps(w->payload_bytes, c->rate_bps, w->round_ps);
        peer->rate_bps = c->rate_bps < here.rate_bps ? c->rate_bps : here.rate_bps;
        w->queue[count++] = far_node(t, p);
    }
    return count;
}

static void search_from(struct pair_search *w, uint32_t host)
{
    const uint32_t stamp = host + 1;
    uint32_t head = 0, count = 1;

    w->queue[0] = host;
    w->at[host] = (struct reach){0, 0, INT64_MAX, stamp};
    while (head < count) {
        const uint32_t node = w->queue[head++];

        if (node != host && w->topo->kind[node] == NODE_HOST) {
            take_pair(w, &w->at[node]);
            if (!w->hosts_forward)
                continue;
        }
        count = reach_peers(w, node, stamp, count);
    }
}

int route_max_pairs(const struct topo *t, uint32_t payload_bytes, int64_t round_ps,
                    int hosts_forward, uint32_t sources_max, int64_t *rtt_ps, int64_t *bdp_bytes)
{
    struct pair_search w = {.topo = t,
                            .at = calloc(t->node_count, sizeof *w.at),
                            .queue = malloc(t->node_count * sizeof *w.queue),
                            .payload_bytes = payload_bytes,
                            .round_ps = round_ps,
                            .hosts_forward = hosts_forward};
    const uint32_t step = (t->host_count + sources_max - 1) / sources_max;
    uint32_t seen = 0;

    for (uint32_t n = 0; w.at && w.queue && n < t->node_count; n++)
        if (t->kind[n] == NODE_HOST && seen++ % step == 0)
            search_from(&w, n);
    *rtt_ps = w.rtt_ps;
    *bdp_bytes = w.bdp_bytes;
    free(w.at);
    free(w.queue);
    return w.at && w.queue ? 0 : WH_ERR_NOMEM;
}
