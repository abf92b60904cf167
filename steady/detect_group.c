/*
 * detect_group.c - which flows share their fate: same hop count, same set of congested ports.
 *
 * The sets are compared by refining a partition of the flows: it starts from the hop counts, and
 * each congested port splits every class into those that pass it and those that do not. That is
 * exact, needs no hash and no sorting, costs one step per hop of a congested path, and gives the
 * same classes in whatever order ports and flows come.
 */
#include "detect_int.h"

#include <string.h>

/* Bytes that the port could have carried since the control event; skips are not part of that time,
 * nor of the counter. */
static double calc_capacity_bytes(const struct detect *d, uint32_t port)
{
    const int64_t elapsed_ps = d->edge_ps[d->edge_count - 1] - d->begin_ps;

    return (double)d->port[port].rate_bps * (double)elapsed_ps / DETECT__BIT_PS;
}

static double calc_util(const struct detect *d, uint32_t port)
{
    const struct detect__port *p = &d->port[port];
    const double capacity = calc_capacity_bytes(d, port);

    return capacity > 0 ? (double)(p->tx_bytes - p->tx_begin_bytes) / capacity : 0;
}

uint32_t detect__busiest_port(const struct detect *d, uint32_t flow)
{
    uint32_t busiest = DETECT_NONE;
    double util_max = -1;

    for (uint32_t i = d->path_first[flow]; i < d->path_first[flow + 1]; i++) {
        const double util = calc_util(d, d->path[i]);

        if (util > util_max) {
            util_max = util;
            busiest = d->path[i];
        }
    }
    return busiest;
}

static void find_congested(struct detect *d)
{
    for (uint32_t port = 0; port < d->port_count; port++)
        d->congested[port] = calc_util(d, port) > d->p->congested_util;
}

/* Numbers the groups by their first flow; @map has room for every class number in use. */
static void compact(struct detect *d, uint32_t *map, uint32_t class_count)
{
    uint32_t count = 0;

    memset(map, 0xff, class_count * sizeof *map);
    for (uint32_t f = 0; f < d->flow_count; f++) {
        uint32_t *group = &map[d->group_of[f]];

        if (*group == DETECT_NONE)
            *group = count++;
        d->group_of[f] = *group;
    }
    d->group_count = count;
}

static void refine(struct detect *d)
{
    const uint32_t class_max = d->flow_count + d->path_count;
    uint32_t *split_at = d->scratch;             /* port + 1 that split the class last */
    uint32_t *split_to = d->scratch + class_max; /* the class of those that pass it */
    uint32_t class_count = d->hop_class_count;

    memset(split_at, 0, class_max * sizeof *split_at);
    for (uint32_t f = 0; f < d->flow_count; f++)
        d->group_of[f] = d->flow[f].hop_class;
    for (uint32_t port = 0; port < d->port_count; port++) {
        if (!d->congested[port])
            continue;
        for (uint32_t i = d->user_first[port]; i < d->user_first[port + 1]; i++) {
            uint32_t *cls = &d->group_of[d->user[i]];

            if (split_at[*cls] != port + 1) {
                split_at[*cls] = port + 1;
                split_to[*cls] = class_count++;
            }
            *cls = split_to[*cls];
        }
    }
    compact(d, d->scratch, class_count);
}

void detect__update_groups(struct detect *d)
{
    if (d->groups_valid)
        return;
    if (d->plan.own_rate || d->flow_count == 1) {
        for (uint32_t f = 0; f < d->flow_count; f++)
            d->group_of[f] = f;
        d->group_count = d->flow_count;
    } else {
        find_congested(d);
        refine(d);
    }
    d->groups_valid = 1;
}
