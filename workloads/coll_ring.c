/*
 * coll_ring.c - rings: reduce-scatter, all-gather, all-reduce; and chains: broadcast, reduce.
 *
 * Lane c is channel c, on ring c of the group. In step k of a reduce-scatter, place p of the ring
 * passes on the piece of the member at place p - 1 - k, which it completed with what step k - 1
 * brought; after n - 1 steps every member holds its own piece. An all-gather passes on the piece of
 * place p - k. Piece m of channel c is piece m c_max + c of all, so the channels of a member's part
 * add up to it exactly.
 */
#include "coll_int.h"

static const uint32_t *ring_row(const struct coll_plan *p, const uint32_t *rows, uint32_t lane)
{
    return rows + (size_t)(lane % p->g->ring_count) * p->n;
}

static int prepare_lanes(struct coll_plan *p, struct err_info *e)
{
    (void)e;
    p->lane_count = p->in_count = p->call.channels;
    return 0;
}

/* ---- rings ---- */

static uint32_t ring_steps(const struct coll_plan *p, uint32_t member, uint32_t lane)
{
    (void)member;
    (void)lane;
    if (p->call.kind == COLL_SEND_RECV)
        return 1;
    return p->call.kind == COLL_ALL_REDUCE ? 2 * (p->n - 1) : p->n - 1;
}

/* Place of the member whose piece goes in step @step. */
static uint32_t piece_place(const struct coll_plan *p, uint32_t place, uint32_t step)
{
    const uint32_t n = p->n;

    if (p->call.kind == COLL_ALL_GATHER)
        return coll__mod_sub(place, step, n);
    if (step < n - 1)
        return coll__mod_sub(coll__mod_sub(place, 1, n), step, n);
    return coll__mod_sub(place, step - (n - 1), n);
}

static void ring_step(const struct coll_plan *p, uint32_t member, uint32_t lane, uint32_t step,
                      struct coll_send *out)
{
    const uint32_t *ring = ring_row(p, p->g->ring, lane);
    const uint32_t place = ring_row(p, p->g->ring_pos, lane)[member];
    const uint32_t owner = ring[piece_place(p, place, step)];
    const uint64_t c = p->call.channels;

    *out = (struct coll_send){.dst = ring[coll__mod_add(place, 1, p->n)],
                              .in = lane,
                              .channel = lane,
                              .need_in = {step ? lane : COLL_IN_NONE, COLL_IN_NONE},
                              .need = {step, 0}};
    if (p->call.kind == COLL_SEND_RECV)
        coll__set_pieces(p, out, lane, 1, c);
    else
        coll__set_pieces(p, out, owner * c + lane, 1, p->n * c);
}

static uint32_t ring_total(const struct coll_plan *p, uint32_t member, uint32_t in)
{
    return ring_steps(p, member, in);
}

const struct coll_ops coll__ring = {
    .name = "ring",
    .kinds = COLL_BIT(COLL_ALL_REDUCE) | COLL_BIT(COLL_REDUCE_SCATTER) | COLL_BIT(COLL_ALL_GATHER) |
             COLL_BIT(COLL_SEND_RECV),
    .prepare = prepare_lanes,
    .step_count = ring_steps,
    .step = ring_step,
    .in_total = ring_total,
    .lanes_of = coll__lane_of_in,
};

/* ---- chains: the ring, opened at the root ---- */

/* Places behind the start of the chain. A broadcast starts at the root, a reduction ends there. */
static uint32_t chain_place(const struct coll_plan *p, uint32_t member, uint32_t lane)
{
    const uint32_t *pos = ring_row(p, p->g->ring_pos, lane);
    const uint32_t start = p->call.kind == COLL_BROADCAST
                               ? pos[p->call.root]
                               : coll__mod_add(pos[p->call.root], 1, p->n);

    return coll__mod_sub(pos[member], start, p->n);
}

static uint32_t chain_steps(const struct coll_plan *p, uint32_t member, uint32_t lane)
{
    return chain_place(p, member, lane) == p->n - 1 ? 0 : p->call.chunks;
}

static void chain_step(const struct coll_plan *p, uint32_t member, uint32_t lane, uint32_t step,
                       struct coll_send *out)
{
    const uint32_t place = ring_row(p, p->g->ring_pos, lane)[member];
    const int is_first = chain_place(p, member, lane) == 0;
    const uint64_t chunks = p->call.chunks;

    *out = (struct coll_send){.dst = ring_row(p, p->g->ring, lane)[coll__mod_add(place, 1, p->n)],
                              .in = lane,
                              .channel = lane,
                              .need_in = {is_first ? COLL_IN_NONE : lane, COLL_IN_NONE},
                              .need = {step + 1, 0}};
    coll__set_pieces(p, out, lane * chunks + step, 1, p->call.channels * chunks);
}

static uint32_t chain_total(const struct coll_plan *p, uint32_t member, uint32_t in)
{
    return chain_place(p, member, in) == 0 ? 0 : p->call.chunks;
}

const struct coll_ops coll__chain = {
    .name = "chain",
    .kinds = COLL_BIT(COLL_BROADCAST) | COLL_BIT(COLL_REDUCE),
    .prepare = prepare_lanes,
    .step_count = chain_steps,
    .step = chain_step,
    .in_total = chain_total,
    .lanes_of = coll__lane_of_in,
};
