/*
 * test_life.c - flows that live alone are executed once for all of their kind, and results are the
 * same.
 */
#include "memo.h"
#include "sim_fixture.h"
#include "units.h"

#include <criterion/criterion.h>

#define ROUNDS 10u
#define GAP_PS (100 * PS_PER_US)

struct result {
    uint64_t digest, events;
    struct sim_memo_stats memo;
};

/* What starts when: the same flow in ROUNDS rounds, and perhaps one more in the middle of the
 * last but one. */
struct play {
    enum cc_kind cc;
    int64_t bytes;
    int64_t extra_ps; /* -1: none; after the start of the round */
    uint32_t extra_src, extra_dst;
};

static struct result run(const struct play *p, int has_memo)
{
    struct sim_config c = fix_config(p->cc);
    struct memo *memo = NULL;
    struct memo_ops ops;
    struct sim_counters counters;
    struct result r = {0};
    struct sim *s;

    c.ack = ACK_BYPASS;
    s = fix_sim(fix_leaf_spine(2, 1, 2, 100 * GBPS, PS_PER_US), &c);
    for (uint32_t i = 0; i < ROUNDS; i++)
        fix_flow(s, 0, 2, p->bytes, i * GAP_PS);
    if (p->extra_ps >= 0)
        fix_flow(s, p->extra_src, p->extra_dst, 30000, (ROUNDS - 2) * GAP_PS + p->extra_ps);
    if (has_memo) {
        cr_assert_eq(memo_create(&memo, &(struct memo_options){.worker_count = 1}, NULL), 0);
        memo_ops(memo, &ops);
        cr_assert_eq(sim_set_memo(s, &ops), 0);
    }
    fix_run(s);
    cr_assert(fix_all_done(s));
    counters = fix_counters(s);
    sim_memo_stats(s, &r.memo);
    r.events = counters.events;
    r.digest = fix_digest(s);
    sim_destroy(s);
    memo_destroy(memo);
    return r;
}

/* Returns the events executed with a memo as a share of those without. */
static double expect_same(const struct play *p, struct sim_memo_stats *memo)
{
    const struct result plain = run(p, 0), known = run(p, 1);

    cr_assert_eq(known.digest, plain.digest, "congestion control %d, %ld B, extra flow at %ld ps",
                 (int)p->cc, (long)p->bytes, (long)p->extra_ps);
    *memo = known.memo;
    return (double)known.events / (double)plain.events;
}

Test(life, is_executed_once)
{
    for (enum cc_kind cc = CC_NONE; cc <= CC_SWIFT; cc++) {
        const struct play p = {.cc = cc, .bytes = 123456, .extra_ps = -1};
        struct sim_memo_stats memo;
        const double share = expect_same(&p, &memo);

        cr_expect_leq(share, 1.01 / ROUNDS, "congestion control %d: %g of the events", (int)cc,
                      share);
        cr_expect_geq(memo.hits, ROUNDS - 1);
    }
}

/* Another flow joins at the sender's interface, at the receiver's, or keeps away, at any time. */
Test(life, that_is_disturbed_is_executed_from_its_start)
{
    static const uint32_t pairs[][2] = {{0, 3}, {1, 2}, {3, 1}};

    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        for (int64_t at = 0; at < 30; at++) {
            struct play p = {CC_HPCC, 123456, at * PS_PER_US / 2, pairs[i][0], pairs[i][1]};
            struct sim_memo_stats memo;

            (void)expect_same(&p, &memo);
            cr_expect(i == 2 || at >= 23 || memo.disturbed > 0,
                      "a flow from %u to %u after %ld us disturbs nobody", p.extra_src, p.extra_dst,
                      (long)at / 2);
        }
}
