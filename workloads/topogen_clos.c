/*
 * topogen_clos.c - trees of switches: single switch, dumbbell, leaf-spine, three-tier Clos and fat
 * tree (Al-Fares, Loukissas, Vahdat, SIGCOMM 2008), rail-optimised clusters.
 *
 * Links are added tier by tier from the hosts upwards, so that the ports of every switch list what
 * is below it first, in order of id, then what is above.
 */
#include "topogen_int.h"

/* Hosts 0.. in order, @per_switch on each of @switch_count switches from @first on. */
static void link_hosts(struct topo_builder *b, uint32_t first, uint32_t switch_count,
                       uint32_t per_switch)
{
    for (uint32_t s = 0; s < switch_count; s++)
        for (uint32_t i = 0; i < per_switch; i++)
            topogen__link(b, s * per_switch + i, first + s, b->host_class);
}

/* Each of @low_count switches to each of @high_count, @times links. */
static void link_mesh(struct topo_builder *b, uint32_t low, uint32_t low_count, uint32_t high,
                      uint32_t high_count, uint32_t times)
{
    for (uint32_t l = 0; l < low_count; l++)
        for (uint32_t h = 0; h < high_count; h++)
            for (uint32_t i = 0; i < times; i++)
                topogen__link(b, low + l, high + h, b->fabric_class);
}

void topogen__single(struct topo_builder *b, const struct topo_spec *s)
{
    link_hosts(b, s->hosts, 1, s->hosts);
}

void topogen__dumbbell(struct topo_builder *b, const struct topo_spec *s)
{
    link_hosts(b, s->hosts, 2, s->hosts / 2);
    link_mesh(b, s->hosts, 1, s->hosts + 1, 1, s->cross_links);
}

void topogen__leaf_spine(struct topo_builder *b, const struct topo_spec *s)
{
    const uint32_t leaf = s->hosts;

    link_hosts(b, leaf, s->leaves, s->hosts_per_leaf);
    link_mesh(b, leaf, s->leaves, leaf + s->leaves, s->spines, s->uplinks_per_spine);
}

/* Switch ids: leaves of all pods, aggregation switches of all pods, cores. Aggregation switch j of
 * every pod reaches the cores of plane j. */
void topogen__clos3(struct topo_builder *b, const struct topo_spec *s)
{
    const uint32_t leaves = s->pods * s->leaves_per_pod;
    const uint32_t leaf = leaves * s->hosts_per_leaf;
    const uint32_t agg = leaf + leaves;
    const uint32_t core = agg + s->pods * s->aggs_per_pod;
    const uint32_t plane = s->cores / s->aggs_per_pod;

    link_hosts(b, leaf, leaves, s->hosts_per_leaf);
    for (uint32_t p = 0; p < s->pods; p++)
        link_mesh(b, leaf + p * s->leaves_per_pod, s->leaves_per_pod, agg + p * s->aggs_per_pod,
                  s->aggs_per_pod, 1);
    for (uint32_t p = 0; p < s->pods; p++)
        for (uint32_t j = 0; j < s->aggs_per_pod; j++)
            link_mesh(b, agg + p * s->aggs_per_pod + j, 1, core + j * plane, plane, 1);
}

/* The NVLink-like switches of a server come first among the ports of its GPUs, then the NIC. */
static void link_nvlink(struct topo_builder *b, const struct topo_spec *s, uint32_t nvswitch_count)
{
    for (uint32_t i = 0; i < nvswitch_count; i++)
        topo_set_kind(b->t, s->hosts + i, NODE_NVSWITCH);
    for (uint32_t gpu = 0; gpu < s->hosts; gpu++) {
        const uint32_t first = s->hosts + gpu / s->gpus_per_server * s->nvswitches_per_server;
        for (uint32_t i = 0; i < s->nvswitches_per_server; i++)
            topogen__link(b, gpu, first + i, b->nvlink_class);
    }
}

void topogen__rail(struct topo_builder *b, const struct topo_spec *s)
{
    const uint32_t servers = s->hosts / s->gpus_per_server;
    const uint32_t segments = (servers - 1) / s->servers_per_segment + 1;
    const uint32_t nvswitches = s->nvlink.rate_bps ? servers * s->nvswitches_per_server : 0;
    const uint32_t leaf = s->hosts + nvswitches;
    const uint32_t leaves = segments * s->gpus_per_server;

    if (nvswitches)
        link_nvlink(b, s, nvswitches);
    for (uint32_t gpu = 0; gpu < s->hosts; gpu++) {
        const uint32_t segment = gpu / s->gpus_per_server / s->servers_per_segment;
        const uint32_t rail = gpu % s->gpus_per_server;
        topogen__link(b, gpu, leaf + segment * s->gpus_per_server + rail, b->host_class);
    }
    link_mesh(b, leaf, leaves, leaf + leaves, s->spines, s->uplinks_per_spine);
}
