/*
 * coll_direct.c - every member to every other one at once (direct), or one partner after the other
 * (pairwise all-to-all). Member m begins with member m + 1, so that no receiver is everybody's
 * first.
 *
 * A direct all-reduce is a reduce-scatter and an all-gather: the second n - 1 sends wait for all
 * that the first ones bring (inbox 0); they are counted in inbox 1.
 */
#include "coll_int.h"

static int has_root(const struct coll_plan *p)
{
    return p->call.kind == COLL_BROADCAST || p->call.kind == COLL_REDUCE;
}

static int direct_prepare(struct coll_plan *p, struct err_info *e)
{
    (void)e;
    p->lane_count = 1;
    p->in_count = 2;
    p->window = UINT32_MAX;
    return 0;
}

static uint32_t direct_steps(const struct coll_plan *p, uint32_t member, uint32_t lane)
{
    const int is_root = member == p->call.root;

    (void)lane;
    switch (p->call.kind) {
    case COLL_ALL_REDUCE:
        return 2 * (p->n - 1);
    case COLL_BROADCAST:
        return is_root ? p->n - 1 : 0;
    case COLL_REDUCE:
        return is_root ? 0 : 1;
    case COLL_SEND_RECV:
        return 1;
    default:
        return p->n - 1;
    }
}

static void fill_data(const struct coll_plan *p, uint32_t member, int is_gather,
                      struct coll_send *out)
{
    if (p->call.kind == COLL_ALL_TO_ALL)
        out->bytes = coll_pair_bytes(p, member, out->dst);
    else if (has_root(p) || p->call.kind == COLL_SEND_RECV)
        coll__set_pieces(p, out, 0, 1, 1);
    else
        coll__set_pieces(p, out, is_gather ? member : out->dst, 1, p->n);
}

static void direct_step(const struct coll_plan *p, uint32_t member, uint32_t lane, uint32_t step,
                        struct coll_send *out)
{
    const int is_second = step >= p->n - 1;
    const uint32_t away = step % (p->n - 1) + 1;
    const int is_gather = is_second || p->call.kind == COLL_ALL_GATHER;

    (void)lane;
    *out = (struct coll_send){.dst = coll__mod_add(member, away, p->n),
                              .in = is_second ? 1 : 0,
                              .need_in = {is_second ? 0 : COLL_IN_NONE, COLL_IN_NONE},
                              .need = {p->n - 1, 0}};
    if (p->call.kind == COLL_REDUCE)
        out->dst = p->call.root;
    fill_data(p, member, is_gather, out);
}

static uint32_t direct_total(const struct coll_plan *p, uint32_t member, uint32_t in)
{
    const int is_root = member == p->call.root;

    if (in)
        return p->call.kind == COLL_ALL_REDUCE ? p->n - 1 : 0;
    if (p->call.kind == COLL_SEND_RECV)
        return 1;
    if (!has_root(p))
        return p->n - 1;
    if (p->call.kind == COLL_BROADCAST)
        return is_root ? 0 : 1;
    return is_root ? p->n - 1 : 0;
}

const struct coll_ops coll__direct = {
    .name = "direct",
    .kinds = COLL_BIT(COLL_ALL_REDUCE) | COLL_BIT(COLL_REDUCE_SCATTER) | COLL_BIT(COLL_ALL_GATHER) |
             COLL_BIT(COLL_ALL_TO_ALL) | COLL_BIT(COLL_BROADCAST) | COLL_BIT(COLL_REDUCE) |
             COLL_BIT(COLL_SEND_RECV),
    .prepare = direct_prepare,
    .step_count = direct_steps,
    .step = direct_step,
    .in_total = direct_total,
    .lanes_of = coll__only_lane,
};

/* ---- pairwise: step k sends to m + 1 + k and has received from m - k ---- */

static int pairwise_prepare(struct coll_plan *p, struct err_info *e)
{
    (void)e;
    p->lane_count = 1;
    p->in_count = p->n - 1;
    return 0;
}

static uint32_t pairwise_steps(const struct coll_plan *p, uint32_t member, uint32_t lane)
{
    (void)member;
    (void)lane;
    return p->n - 1;
}

static void pairwise_step(const struct coll_plan *p, uint32_t member, uint32_t lane, uint32_t step,
                          struct coll_send *out)
{
    const uint32_t dst = coll__mod_add(member, step + 1, p->n);

    (void)lane;
    *out = (struct coll_send){.dst = dst,
                              .in = step,
                              .bytes = coll_pair_bytes(p, member, dst),
                              .need_in = {step ? step - 1 : COLL_IN_NONE, COLL_IN_NONE},
                              .need = {1, 0}};
}

static uint32_t pairwise_total(const struct coll_plan *p, uint32_t member, uint32_t in)
{
    (void)p;
    (void)member;
    (void)in;
    return 1;
}

const struct coll_ops coll__pairwise = {
    .name = "pairwise",
    .kinds = COLL_BIT(COLL_ALL_TO_ALL),
    .prepare = pairwise_prepare,
    .step_count = pairwise_steps,
    .step = pairwise_step,
    .in_total = pairwise_total,
    .lanes_of = coll__only_lane,
};
