/*
 * coll_pxn.c - rail-aligned all-to-all: what goes to another server and another rail is first sent
 * over NVLink to the server's own member on the target's rail, which passes it on along that rail.
 * No message then crosses from rail to rail in the network. Where the server has no member on that
 * rail, the message goes directly.
 *
 * Lane 0 holds a member's own n - 1 messages. For each rail b of its server and each server t there
 * is an inbox and a lane: the message of the mate on rail b for the member on server t and on the
 * own rail. Inbox 0 counts what has come to stay.
 */
#include "coll_int.h"

static int pxn_prepare(struct coll_plan *p, struct err_info *e)
{
    (void)e;
    p->lane_count = p->in_count = 1 + p->g->rail_count * p->g->server_count;
    p->window = UINT32_MAX;
    return 0;
}

static uint32_t relay_row(const struct coll_plan *p, uint32_t rail, uint32_t server)
{
    return 1 + rail * p->g->server_count + server;
}

/* The mate that passes a message on; @dst itself if it goes directly. */
static uint32_t find_relay(const struct coll_plan *p, uint32_t member, uint32_t dst)
{
    const struct group *g = p->g;
    const uint32_t mate = g->member_at[g->server[member] * g->rail_count + g->rail[dst]];

    if (g->server[member] == g->server[dst] || g->rail[member] == g->rail[dst])
        return dst;
    return mate == RANK_NONE ? dst : mate;
}

/* Who sends and who gets what relay lane @lane of @member passes on. Returns 0 if there is none. */
static int find_relayed(const struct coll_plan *p, uint32_t member, uint32_t lane, uint32_t *src,
                        uint32_t *dst)
{
    const struct group *g = p->g;
    const uint32_t rail = (lane - 1) / g->server_count, server = (lane - 1) % g->server_count;

    if (rail == g->rail[member] || server == g->server[member])
        return 0;
    *src = g->member_at[g->server[member] * g->rail_count + rail];
    *dst = g->member_at[server * g->rail_count + g->rail[member]];
    return *src != RANK_NONE && *dst != RANK_NONE;
}

static uint32_t pxn_steps(const struct coll_plan *p, uint32_t member, uint32_t lane)
{
    uint32_t src, dst;

    return lane == 0 ? p->n - 1 : (uint32_t)find_relayed(p, member, lane, &src, &dst);
}

static void pxn_step(const struct coll_plan *p, uint32_t member, uint32_t lane, uint32_t step,
                     struct coll_send *out)
{
    uint32_t src = member, dst = coll__mod_add(member, step + 1, p->n), via;

    *out = (struct coll_send){.need_in = {COLL_IN_NONE, COLL_IN_NONE}};
    if (lane) {
        (void)find_relayed(p, member, lane, &src, &dst);
        out->dst = dst;
        out->need_in[0] = lane; /* the inbox of the same row */
        out->need[0] = 1;
    } else {
        via = find_relay(p, member, dst);
        out->dst = via;
        if (via != dst)
            out->in = relay_row(p, p->g->rail[member], p->g->server[dst]);
    }
    out->bytes = coll_pair_bytes(p, src, dst);
}

static uint32_t pxn_total(const struct coll_plan *p, uint32_t member, uint32_t in)
{
    uint32_t src, dst;

    return in == 0 ? p->n - 1 : (uint32_t)find_relayed(p, member, in, &src, &dst);
}

static void pxn_lanes_of(const struct coll_plan *p, uint32_t in, uint32_t *first, uint32_t *count)
{
    (void)p;
    *first = in;
    *count = in ? 1 : 0;
}

const struct coll_ops coll__pxn = {
    .name = "pxn",
    .kinds = COLL_BIT(COLL_ALL_TO_ALL),
    .prepare = pxn_prepare,
    .step_count = pxn_steps,
    .step = pxn_step,
    .in_total = pxn_total,
    .lanes_of = pxn_lanes_of,
};
