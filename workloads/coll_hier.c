/*
 * coll_hier.c - hierarchical rings: reduce-scatter inside each server, reduce-scatter and
 * all-gather across the servers on each rail, all-gather inside each server. An all-reduce does all
 * four, a reduce-scatter the first two, an all-gather the last two.
 *
 * Member (a, b) is on server a of r, rail b of q. Inside a server the unit is the block of rail b,
 * the pieces of all members (., b); across servers the piece of one member. Lane c is channel c;
 * its inboxes count what comes inside (reducing), across, and inside (gathering).
 */
#include "coll_int.h"

enum phase { REDUCE_INSIDE, REDUCE_ACROSS, GATHER_ACROSS, GATHER_INSIDE, PHASE_COUNT };
enum inbox { IN_REDUCE_INSIDE, IN_ACROSS, IN_GATHER_INSIDE, IN_COUNT };

static int hier_prepare(struct coll_plan *p, struct err_info *e)
{
    if (!p->g->is_uniform)
        return err_set(e, WH_ERR_INPUT, NULL, 0,
                       "group '%s': found servers with members on different rails, expected the "
                       "same rails on every server for the hierarchical algorithm",
                       p->g->name);
    p->lane_count = p->call.channels;
    p->in_count = IN_COUNT * p->call.channels;
    return 0;
}

static uint32_t phase_steps(const struct coll_plan *p, uint32_t phase)
{
    const int reduces = phase <= REDUCE_ACROSS;

    if (p->call.kind == (reduces ? COLL_ALL_GATHER : COLL_REDUCE_SCATTER))
        return 0;
    return phase == REDUCE_INSIDE || phase == GATHER_INSIDE ? p->g->rail_count - 1
                                                            : p->g->server_count - 1;
}

static uint32_t hier_steps(const struct coll_plan *p, uint32_t member, uint32_t lane)
{
    uint32_t steps = 0;

    (void)member;
    (void)lane;
    for (uint32_t i = 0; i < PHASE_COUNT; i++)
        steps += phase_steps(p, i);
    return steps;
}

/* Messages that phases [from, to) bring. */
static uint32_t count_steps(const struct coll_plan *p, uint32_t from, uint32_t to)
{
    uint32_t steps = 0;

    for (uint32_t i = from; i < to; i++)
        steps += phase_steps(p, i);
    return steps;
}

static uint32_t in_of_phase(uint32_t phase)
{
    if (phase == REDUCE_INSIDE)
        return IN_REDUCE_INSIDE;
    return phase == GATHER_INSIDE ? IN_GATHER_INSIDE : IN_ACROSS;
}

static uint32_t member_of(const struct coll_plan *p, uint32_t server, uint32_t rail)
{
    return p->g->member_at[server * p->g->rail_count + rail];
}

/* Channel @lane of the piece of a member. */
static void set_member(const struct coll_plan *p, uint32_t member, uint32_t lane,
                       struct coll_send *out)
{
    const uint64_t c = p->call.channels;

    coll__set_pieces(p, out, member * c + lane, 1, p->n * c);
}

/* The block of a rail: one piece of every server; as pieces only if they lie evenly. */
static void set_block(const struct coll_plan *p, uint32_t rail, uint32_t lane,
                      struct coll_send *out)
{
    const uint32_t r = p->g->server_count;
    const uint32_t first = member_of(p, 0, rail);
    const uint32_t stride = r > 1 ? member_of(p, 1, rail) - first : 1;
    int64_t bytes = 0;
    int is_even = 1;

    for (uint32_t a = 0; a < r; a++) {
        set_member(p, member_of(p, a, rail), lane, out);
        bytes += out->bytes;
        is_even &= member_of(p, a, rail) == first + a * stride;
    }
    out->bytes = bytes;
    out->piece_first = (uint64_t)first * p->call.channels + lane;
    out->piece_count = r;
    out->piece_stride = (uint64_t)stride * p->call.channels;
    out->pieces = is_even ? out->pieces : 0;
}

/* Whose part goes in step @k of a phase on a ring of @n, at place @at: as in coll_ring.c. */
static uint32_t part_of(uint32_t phase, uint32_t at, uint32_t k, uint32_t n)
{
    const uint32_t behind = phase <= REDUCE_ACROSS ? k + 1 : k;

    return coll__mod_sub(at, behind % n, n);
}

/* The last message that the step depends on: of its own phase, or of the one before. */
static void fill_need(const struct coll_plan *p, uint32_t lane, uint32_t phase, uint32_t k,
                      struct coll_send *out)
{
    uint32_t in = in_of_phase(phase);
    uint32_t before = phase == GATHER_ACROSS ? phase_steps(p, REDUCE_ACROSS) : 0;

    out->need_in[0] = out->need_in[1] = COLL_IN_NONE;
    if (k + before == 0 && phase > REDUCE_INSIDE) {
        const uint32_t from = phase == GATHER_INSIDE ? REDUCE_ACROSS : REDUCE_INSIDE;

        in = from == REDUCE_ACROSS ? IN_ACROSS : IN_REDUCE_INSIDE;
        before = count_steps(p, from, phase);
        if (from == REDUCE_ACROSS && !before) {
            in = IN_REDUCE_INSIDE; /* one server: nothing went across */
            before = phase_steps(p, REDUCE_INSIDE);
        }
    }
    if (k + before == 0)
        return;
    out->need_in[0] = lane * IN_COUNT + in;
    out->need[0] = k + before;
}

static void hier_step(const struct coll_plan *p, uint32_t member, uint32_t lane, uint32_t step,
                      struct coll_send *out)
{
    const struct group *g = p->g;
    const uint32_t a = g->server[member], b = g->rail[member];
    const uint32_t q = g->rail_count, r = g->server_count;
    uint32_t phase = 0;

    while (step >= phase_steps(p, phase))
        step -= phase_steps(p, phase++);
    *out = (struct coll_send){.channel = lane, .in = lane * IN_COUNT + in_of_phase(phase)};
    fill_need(p, lane, phase, step, out);
    if (phase == REDUCE_INSIDE || phase == GATHER_INSIDE) {
        out->dst = member_of(p, a, coll__mod_add(b, 1 % q, q));
        set_block(p, part_of(phase, b, step, q), lane, out);
    } else {
        out->dst = member_of(p, coll__mod_add(a, 1 % r, r), b);
        set_member(p, member_of(p, part_of(phase, a, step, r), b), lane, out);
    }
}

static uint32_t hier_total(const struct coll_plan *p, uint32_t member, uint32_t in)
{
    (void)member;
    switch (in % IN_COUNT) {
    case IN_REDUCE_INSIDE:
        return phase_steps(p, REDUCE_INSIDE);
    case IN_ACROSS:
        return count_steps(p, REDUCE_ACROSS, GATHER_INSIDE);
    default:
        return phase_steps(p, GATHER_INSIDE);
    }
}

static void hier_lanes_of(const struct coll_plan *p, uint32_t in, uint32_t *first, uint32_t *count)
{
    (void)p;
    *first = in / IN_COUNT;
    *count = 1;
}

const struct coll_ops coll__hierarchical = {
    .name = "hierarchical",
    .kinds = COLL_BIT(COLL_ALL_REDUCE) | COLL_BIT(COLL_REDUCE_SCATTER) | COLL_BIT(COLL_ALL_GATHER),
    .prepare = hier_prepare,
    .step_count = hier_steps,
    .step = hier_step,
    .in_total = hier_total,
    .lanes_of = hier_lanes_of,
};
