/*
 * topogen_direct.c - direct networks: n-dimensional torus, dragonfly (Kim, Dally, Scott, Abts, ISCA
 * 2008).
 */
#include "topogen_int.h"

/* One host per switch; coordinate 0 varies fastest with the id. A dimension of two switches has one
 * link between them, a dimension of one has none. */
void topogen__torus(struct topo_builder *b, const struct topo_spec *s)
{
    uint32_t count = 1;

    for (uint32_t d = 0; d < s->dim_count; d++)
        count *= s->dims[d];
    for (uint32_t i = 0; i < count; i++)
        topogen__link(b, i, count + i, b->host_class);
    uint32_t stride = 1;
    for (uint32_t d = 0; d < s->dim_count; d++) {
        const uint32_t size = s->dims[d];
        for (uint32_t i = 0; i < count; i++) {
            const uint32_t x = i / stride % size;
            const uint32_t next = x + 1 < size ? i + stride : i - x * stride;
            if (size > 2 || (size == 2 && x == 0))
                topogen__link(b, count + i, count + next, b->fabric_class);
        }
        stride *= size;
    }
}

/*
 * Global port q of a group (q = 0 .. a h - 1, on switch q / h) leads to the group q mod (g - 1) + 1
 * further on. In round r = q / (g - 1) every pair of groups is joined once: seen from the other
 * group the distance is g minus ours.
 */
static void link_groups(struct topo_builder *b, const struct topo_spec *s, uint32_t first_switch)
{
    const uint32_t g = s->groups, a = s->group_switches, h = s->global_links;

    for (uint32_t group = 0; group < g; group++) {
        for (uint32_t q = 0; q < a * h; q++) {
            const uint32_t distance = q % (g - 1) + 1;
            const uint32_t peer = (uint32_t)(((uint64_t)group + distance) % g);
            const uint32_t peer_q = q / (g - 1) * (g - 1) + (g - distance - 1);
            if (group < peer)
                topogen__link(b, first_switch + group * a + q / h,
                              first_switch + peer * a + peer_q / h, b->fabric_class);
        }
    }
}

void topogen__dragonfly(struct topo_builder *b, const struct topo_spec *s)
{
    const uint32_t a = s->group_switches;
    const uint32_t switches = s->groups * a;
    const uint32_t first = switches * s->hosts_per_switch;

    for (uint32_t i = 0; i < switches; i++)
        for (uint32_t k = 0; k < s->hosts_per_switch; k++)
            topogen__link(b, i * s->hosts_per_switch + k, first + i, b->host_class);
    for (uint32_t group = 0; group < s->groups; group++)
        for (uint32_t i = 0; i < a; i++)
            for (uint32_t k = i + 1; k < a; k++)
                topogen__link(b, first + group * a + i, first + group * a + k, b->fabric_class);
    if (s->groups > 1)
        link_groups(b, s, first);
}
