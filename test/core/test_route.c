/*
 * Routes against brute force: distances by relaxation to a fixed point, choices by enumerating the
 * neighbours one hop nearer, on random graphs with several hosts per switch, hosts on several
 * switches, parallel links and links that are down.
 */
#include "rng.h"
#include "route.h"
#include "units.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#define NODES_MAX 24
#define FAR 1000u

struct graph {
    struct topo *topo;
    uint8_t down[256]; /* by link */
    int hosts_forward;
    uint64_t seed, draws;
};

static uint32_t below(struct graph *g, uint32_t bound)
{
    return rng_below(rng_u64(g->seed, 9, g->draws++), bound);
}

static void random_graph(struct graph *g, uint64_t seed)
{
    uint32_t hosts, switches;
    int64_t row;

    *g = (struct graph){.seed = seed};
    hosts = 2 + below(g, 10);
    switches = 1 + below(g, 10);
    g->hosts_forward = below(g, 4) == 0;
    cr_assert_eq(topo_create(&g->topo, hosts + switches), 0);
    for (uint32_t n = hosts; n < hosts + switches; n++)
        topo_set_kind(g->topo, n, below(g, 5) ? NODE_SWITCH : NODE_NVSWITCH);
    row = topo_add_class(g->topo, &(struct link_class){100000000000, 1000, 0});
    cr_assert_eq(row, 0);
    for (uint32_t i = 0; i < 1 + below(g, 3 * (hosts + switches)); i++) {
        const uint32_t a = below(g, hosts + switches);
        const uint32_t b = (a + 1 + below(g, hosts + switches - 1)) % (hosts + switches);

        for (uint32_t n = below(g, 8) ? 1 : 3; n > 0; n--)
            cr_assert_eq(topo_add_link(g->topo, a, b, 0), 0);
    }
    cr_assert_eq(topo_finish(g->topo), 0);
}

/* ---- brute force ---- */

static int may_relay(const struct graph *g, uint32_t node, uint32_t src, uint32_t dst)
{
    return g->hosts_forward || g->topo->kind[node] != NODE_HOST || node == src || node == dst;
}

/* Hops from every node to @dst over nodes that may relay between @src and @dst. */
static void brute_distances(const struct graph *g, uint32_t src, uint32_t dst, uint32_t *dist)
{
    const struct topo *t = g->topo;
    int changed = 1;

    for (uint32_t n = 0; n < t->node_count; n++)
        dist[n] = n == dst ? 0 : FAR;
    while (changed) {
        changed = 0;
        for (uint32_t p = 0; p < t->port_count; p++) {
            const uint32_t from = t->port_node[p], to = t->port_node[t->port_peer[p]];

            if (g->down[t->port_link[p]] || !may_relay(g, from, src, dst) ||
                !may_relay(g, to, src, dst) || dist[to] + 1 >= dist[from])
                continue;
            dist[from] = dist[to] + 1;
            changed = 1;
        }
    }
}

/* Ports from @node to the next hops, in the order (node id, port). */
static uint32_t brute_next(const struct graph *g, uint32_t node, const uint32_t *dist,
                           uint32_t *next)
{
    const struct topo *t = g->topo;
    uint32_t count = 0;

    for (uint32_t peer = 0; peer < t->node_count; peer++)
        for (uint32_t p = t->first_port[node]; p < t->first_port[node + 1]; p++)
            if (t->port_node[t->port_peer[p]] == peer && !g->down[t->port_link[p]] &&
                dist[peer] + 1 == dist[node])
                next[count++] = p;
    return count;
}

static void check_pair(const struct graph *g, struct route *r, uint32_t src, uint32_t dst,
                       uint16_t sport)
{
    const struct route_key key = {route_node_ip(src), route_node_ip(dst), sport, 100};
    uint32_t dist[NODES_MAX], ports[NODES_MAX], node = src;
    const int links = route_path(r, src, dst, &key, 0, ports, NODES_MAX);

    brute_distances(g, src, dst, dist);
    cr_assert_eq((uint32_t)links, dist[src] == FAR ? 0 : dist[src], "seed %lu: %u to %u: %d links",
                 (unsigned long)g->seed, src, dst, links);
    for (int i = 0; i < links; i++) {
        uint32_t next[256];
        const uint32_t count = brute_next(g, node, dist, next);
        const uint32_t index = route_hash3(&key, node) % count;

        cr_assert_eq(ports[i], next[index], "seed %lu: %u to %u, hop %d", (unsigned long)g->seed,
                     src, dst, i);
        node = g->topo->port_node[g->topo->port_peer[ports[i]]];
    }
    cr_assert(!links || node == dst);
}

static void check_all_pairs(struct graph *g, struct route *r)
{
    const struct topo *t = g->topo;

    for (uint32_t a = 0; a < t->node_count; a++)
        for (uint32_t b = 0; b < t->node_count; b++)
            if (a != b && t->kind[a] == NODE_HOST && t->kind[b] == NODE_HOST)
                check_pair(g, r, a, b, (uint16_t)below(g, 65536));
}

Test(route, agrees_with_brute_force_on_random_graphs)
{
    for (uint64_t seed = 1; seed <= 150; seed++) {
        struct graph g;
        struct route *r;

        random_graph(&g, seed);
        cr_assert_eq(route_create(&r, g.topo, g.hosts_forward), 0);
        check_all_pairs(&g, r);
        for (uint32_t i = 0; i < 4; i++) {
            const uint32_t link = below(&g, g.topo->link_count);

            g.down[link] ^= 1;
            route_set_down(r, link, g.down[link]);
            check_all_pairs(&g, r);
        }
        route_destroy(r);
        topo_destroy(g.topo);
    }
}

/* All choices occur, and each is a shortest path. */
Test(route, salts_reach_every_shortest_path_of_a_leaf_spine)
{
    struct topo *t;
    struct route *r;
    const struct route_key key = {1, 2, 3, 4};
    uint32_t ports[8], seen = 0;

    cr_assert_eq(topo_create(&t, 2 + 2 + 6), 0);
    cr_assert_eq(topo_add_class(t, &(struct link_class){1000, 1, 0}), 0);
    for (uint32_t n = 2; n < 10; n++)
        topo_set_kind(t, n, NODE_SWITCH);
    for (uint32_t h = 0; h < 2; h++)
        cr_assert_eq(topo_add_link(t, h, 2 + h, 0), 0);
    for (uint32_t spine = 4; spine < 10; spine++)
        for (uint32_t leaf = 2; leaf < 4; leaf++)
            cr_assert_eq(topo_add_link(t, leaf, spine, 0), 0);
    cr_assert_eq(topo_finish(t), 0);
    cr_assert_eq(route_create(&r, t, 0), 0);
    for (uint32_t salt = 0; salt < 100; salt++) {
        cr_assert_eq(route_path(r, 0, 1, &key, salt, ports, 8), 4);
        seen |= 1u << t->port_node[t->port_peer[ports[1]]];
    }
    cr_assert_eq(seen, 0x3f0u);
    cr_assert_eq(route_path(r, 0, 1, &key, 0, ports, 3), WH_ERR_LIMIT);
    route_destroy(r);
    topo_destroy(t);
}

/* Values of another implementation, which agrees with published ones for 4 bytes. */
Test(route, hash_is_murmur3_of_three_words)
{
    const struct route_key zero = {0, 0, 0, 0};
    const struct route_key ones = {UINT32_MAX, UINT32_MAX, UINT16_MAX, UINT16_MAX};

    const struct route_key flow = {route_node_ip(0), route_node_ip(257), 10000, 100};

    cr_assert_eq(route_hash3(&zero, 0), 0xd941144bu);
    cr_assert_eq(route_hash3(&zero, 1), 0x4b467fb0u);
    cr_assert_eq(route_hash3(&ones, 0), 0xa9ed186du);
    cr_assert_eq(route_hash3(&flow, 16), 0x5959e6acu);
}

Test(route, address_of_a_node_follows_its_id)
{
    cr_assert_eq(route_node_ip(0), 0x0b000001u);
    cr_assert_eq(route_node_ip(255), 0x0b00ff01u);
    cr_assert_eq(route_node_ip(256), 0x0b010001u);
}

/* Largest base RTT and BDP against all pairs one by one, over equal paths. */
Test(route, largest_rtt_and_bdp_of_a_dumbbell)
{
    struct topo *t;
    int64_t rtt, bdp;

    cr_assert_eq(topo_create(&t, 5), 0);
    topo_set_kind(t, 3, NODE_SWITCH);
    topo_set_kind(t, 4, NODE_SWITCH);
    cr_assert_eq(topo_add_class(t, &(struct link_class){100000000000, PS_PER_US, 0}), 0);
    cr_assert_eq(topo_add_class(t, &(struct link_class){40000000000, 2 * PS_PER_US, 0}), 1);
    cr_assert_eq(topo_add_link(t, 0, 3, 0), 0);
    cr_assert_eq(topo_add_link(t, 1, 3, 0), 0);
    cr_assert_eq(topo_add_link(t, 2, 4, 0), 0);
    cr_assert_eq(topo_add_link(t, 3, 4, 1), 0);
    cr_assert_eq(topo_finish(t), 0);
    cr_assert_eq(route_max_pairs(t, 1000, 1000, 0, 100, &rtt, &bdp), 0);
    cr_assert_eq(rtt, (8000 + 80 + 80 + 200) * PS_PER_NS);
    cr_assert_eq(bdp, 4160 * 100 / 8); /* of the fast pair: the slow one's is 8360 * 40 / 8 */
    topo_destroy(t);
}
