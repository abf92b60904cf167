/*
 * shard_map.c - cuts the network: see shard.h.
 *
 * Nodes are put together along links that are not to be cut, and the groups dealt to the shards,
 * heavy ones first, each to the shard that has least. A node weighs what it has of ports. Which
 * links are cut matters little: a packet that goes through a mailbox costs some 10 ns more.
 *
 * Determinism: a function of topology and @count alone. Threading: the coordinator.
 */
#include "shard.h"
#include "sim_int.h"

#include <stdlib.h>

struct cutter {
    const struct topo *t;
    uint32_t *root;   /* shape: [node_count], union-find, the root is the first node */
    uint32_t *weight; /* shape: [node_count], ports of the group of a root */
    uint32_t *shard;  /* shape: [node_count], of the group of a root */
    uint64_t *order;  /* shape: [group_count], roots */
    uint32_t group_count;
};

static uint32_t find_root(struct cutter *x, uint32_t node)
{
    while (x->root[node] != node) {
        x->root[node] = x->root[x->root[node]];
        node = x->root[node];
    }
    return node;
}

static void unite(struct cutter *x, uint32_t a, uint32_t b)
{
    a = find_root(x, a);
    b = find_root(x, b);
    if (a == b)
        return;
    if (a > b) {
        const uint32_t t = a;

        a = b;
        b = t;
    }
    x->root[b] = a;
    x->weight[a] += x->weight[b];
}

static void start_groups(struct cutter *x)
{
    for (uint32_t n = 0; n < x->t->node_count; n++) {
        x->root[n] = n;
        x->weight[n] = x->t->first_port[n + 1] - x->t->first_port[n];
    }
}

static void unite_below(struct cutter *x, int64_t delay_ps)
{
    start_groups(x);
    for (uint32_t i = 0; i < x->t->link_count; i++) {
        const struct topo_link *l = &x->t->link[i];

        if (x->t->classes[l->class_id].delay_ps < delay_ps)
            unite(x, l->a, l->b);
    }
}

static uint32_t heaviest(const struct cutter *x)
{
    uint32_t most = 0;

    for (uint32_t n = 0; n < x->t->node_count; n++)
        if (x->root[n] == n && x->weight[n] > most)
            most = x->weight[n];
    return most;
}

static int64_t longest_delay_below(const struct topo *t, int64_t below_ps)
{
    int64_t longest = -1;

    for (uint32_t i = 0; i < t->class_count; i++)
        if (t->classes[i].delay_ps < below_ps && t->classes[i].delay_ps > longest)
            longest = t->classes[i].delay_ps;
    return longest;
}

/* The longest delay such that cutting only links of at least that leaves no group above @most
 * ports; -1 if there is none. The groups are those of it. */
static int64_t choose_delay(struct cutter *x, uint32_t most)
{
    int64_t delay_ps = longest_delay_below(x->t, INT64_MAX);

    for (; delay_ps > 0; delay_ps = longest_delay_below(x->t, delay_ps)) {
        unite_below(x, delay_ps);
        if (heaviest(x) <= most)
            return delay_ps;
    }
    return -1;
}

/* Hosts go with their first switch while the group stays below @most ports. */
static void unite_hosts(struct cutter *x, uint32_t most)
{
    for (uint32_t n = 0; n < x->t->node_count; n++) {
        uint32_t peer;

        if (x->t->kind[n] != NODE_HOST || x->t->first_port[n] == x->t->first_port[n + 1])
            continue;
        peer = x->t->port_node[x->t->port_peer[x->t->first_port[n]]];
        if (x->weight[find_root(x, n)] + x->weight[find_root(x, peer)] <= most)
            unite(x, n, peer);
    }
}

static int by_key(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

/* Roots, heavy ones first. */
static void list_groups(struct cutter *x)
{
    x->group_count = 0;
    for (uint32_t n = 0; n < x->t->node_count; n++)
        if (find_root(x, n) == n)
            x->order[x->group_count++] = (uint64_t)(UINT32_MAX - x->weight[n]) << 32 | n;
    qsort(x->order, x->group_count, sizeof *x->order, by_key);
    for (uint32_t i = 0; i < x->group_count; i++)
        x->order[i] &= UINT32_MAX;
}

/* Returns how many shards got something. */
static uint32_t deal(struct cutter *x, uint32_t count)
{
    uint64_t load[SHARDS_MAX] = {0};
    uint32_t used = 0;

    for (uint32_t i = 0; i < x->group_count; i++) {
        uint32_t least = 0;

        for (uint32_t k = 1; k < count; k++)
            least = load[k] < load[least] ? k : least;
        used += !load[least];
        x->shard[x->order[i]] = least;
        load[least] += x->weight[x->order[i]] + 1;
    }
    return used;
}

static int list_cuts(const struct topo *t, struct shard_map *m)
{
    uint64_t *key = malloc((t->port_count + 1) * sizeof *key);

    m->wire = malloc((t->port_count + 1) * sizeof *m->wire);
    if (!m->wire || !key) {
        free(key);
        return WH_ERR_NOMEM;
    }
    for (uint32_t p = 0; p < t->port_count; p++) {
        const int64_t delay_ps = topo_port_class(t, p)->delay_ps;
        const uint16_t to = m->of_port[t->port_peer[p]];

        if (m->of_port[p] == to)
            continue;
        key[m->cut_count++] = (uint64_t)to << 32 | p;
        m->window_ps = delay_ps < m->window_ps ? delay_ps : m->window_ps;
    }
    qsort(key, m->cut_count, sizeof *key, by_key);
    for (uint32_t i = 0; i < m->cut_count; i++) {
        const uint32_t p = (uint32_t)key[i];

        m->wire[i] = (struct cut_wire){.port = p, .in_port = t->port_peer[p]};
        m->cut[p] = i + 1;
    }
    free(key);
    return 0;
}

static int cut(struct cutter *x, uint32_t count, struct shard_map *m)
{
    const struct topo *t = x->t;
    /* heavier groups would keep one shard busy while the others wait */
    const uint32_t most = t->port_count / 2, fair = t->port_count / count + 1;

    if (choose_delay(x, most) < 0)
        return 0;
    unite_hosts(x, 2 * fair > most ? most : 2 * fair);
    list_groups(x);
    m->count = deal(x, count < x->group_count ? count : x->group_count);
    if (m->count < 2)
        return 0;
    for (uint32_t p = 0; p < t->port_count; p++)
        m->of_port[p] = (uint16_t)x->shard[find_root(x, t->port_node[p])];
    return list_cuts(t, m);
}

int shard_map_make(const struct sim *s, uint32_t count, struct shard_map *out)
{
    const struct topo *t = s->topo;
    struct cutter x = {.t = t};
    int rc = WH_ERR_NOMEM;

    *out = (struct shard_map){.count = 1, .window_ps = INT64_MAX};
    x.root = malloc((t->node_count + 1) * 3 * sizeof *x.root);
    x.order = malloc((t->node_count + 1) * sizeof *x.order);
    out->of_port = calloc(t->port_count + 1, sizeof *out->of_port);
    out->cut = calloc(t->port_count + 1, sizeof *out->cut);
    if (x.root && x.order && out->of_port && out->cut) {
        x.weight = x.root + t->node_count;
        x.shard = x.weight + t->node_count;
        rc = cut(&x, count < SHARDS_MAX ? count : SHARDS_MAX, out);
    }
    free(x.root);
    free(x.order);
    if (rc)
        shard_map_fini(out);
    return rc;
}

void shard_map_fini(struct shard_map *m)
{
    free(m->of_port);
    free(m->cut);
    free(m->wire);
    *m = (struct shard_map){.count = 0};
}
