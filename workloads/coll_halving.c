/*
 * coll_halving.c - recursive halving (reduce-scatter), recursive doubling (all-gather), both
 * (all-reduce), for groups of 2^q members (Thakur, Rabenseifner, Gropp, "Optimization of collective
 * communication operations in MPICH", IJHPCA 2005).
 *
 * Step k of the halving exchanges with the member n / 2^(k+1) away half of what is still being
 * reduced; the doubling goes the same way back. Inbox s counts the one message that step s brings.
 * Groups of other sizes are refused: folding the surplus members in changes volumes and steps.
 */
#include "coll_int.h"

#include <inttypes.h>

static uint32_t log2_of(uint32_t n)
{
    return 31u - (uint32_t)__builtin_clz(n);
}

static uint32_t halving_steps(const struct coll_plan *p, uint32_t member, uint32_t lane)
{
    (void)member;
    (void)lane;
    return p->call.kind == COLL_ALL_REDUCE ? 2 * log2_of(p->n) : log2_of(p->n);
}

static int halving_prepare(struct coll_plan *p, struct err_info *e)
{
    if (p->n & (p->n - 1))
        return err_set(e, WH_ERR_INPUT, NULL, 0,
                       "group '%s': found %" PRIu32
                       " ranks for halving-doubling, expected a power of two",
                       p->g->name, p->n);
    p->lane_count = 1;
    p->in_count = halving_steps(p, 0, 0);
    return 0;
}

static void halving_step(const struct coll_plan *p, uint32_t member, uint32_t lane, uint32_t step,
                         struct coll_send *out)
{
    const uint32_t q = log2_of(p->n);
    const int doubles = p->call.kind == COLL_ALL_GATHER || step >= q;
    const uint32_t level = step % q;
    const uint32_t block = doubles ? 1u << level : p->n >> (level + 1); /* pieces that go */
    const uint32_t dst = member ^ block;
    const uint32_t holder = doubles ? member : dst; /* whose half it is */

    (void)lane;
    *out = (struct coll_send){.dst = dst,
                              .in = step,
                              .need_in = {step ? step - 1 : COLL_IN_NONE, COLL_IN_NONE},
                              .need = {1, 0}};
    coll__set_pieces(p, out, holder & ~(block - 1), block, p->n);
}

static uint32_t halving_total(const struct coll_plan *p, uint32_t member, uint32_t in)
{
    (void)p;
    (void)member;
    (void)in;
    return 1;
}

const struct coll_ops coll__halving = {
    .name = "halving-doubling",
    .kinds = COLL_BIT(COLL_ALL_REDUCE) | COLL_BIT(COLL_REDUCE_SCATTER) | COLL_BIT(COLL_ALL_GATHER),
    .prepare = halving_prepare,
    .step_count = halving_steps,
    .step = halving_step,
    .in_total = halving_total,
    .lanes_of = coll__only_lane,
};
