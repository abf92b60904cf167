/*
 * The calendar against a naive twin: an array from which the smallest event is searched for.
 */
#include "calendar.h"
#include "rng.h"
#include "units.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* ---- the twin ---- */

struct twin {
    struct event *ev;
    uint32_t count, cap;
};

static void twin_push(struct twin *t, const struct event *e)
{
    if (t->count == t->cap) {
        t->cap = t->cap ? 2 * t->cap : 64;
        t->ev = realloc(t->ev, t->cap * sizeof *t->ev);
        cr_assert(t->ev);
    }
    t->ev[t->count++] = *e;
}

static int twin_pop(struct twin *t, int64_t limit, struct event *out)
{
    uint32_t best = 0;

    for (uint32_t i = 1; i < t->count; i++)
        if (event_before(&t->ev[i], &t->ev[best]))
            best = i;
    if (!t->count || t->ev[best].time > limit)
        return 0;
    *out = t->ev[best];
    t->ev[best] = t->ev[--t->count];
    return 1;
}

/* ---- both together ---- */

struct both {
    struct calendar cal;
    struct twin twin;
    struct event last;
    uint64_t seed, draws;
    uint32_t next_id;
};

static uint32_t below(struct both *b, uint32_t bound)
{
    return rng_below(rng_u64(b->seed, 5, b->draws++), bound);
}

static void both_init(struct both *b, uint64_t seed, int64_t span_ps)
{
    memset(b, 0, sizeof *b);
    b->seed = seed;
    b->last.time = 1000000;
    calendar_init(&b->cal, span_ps);
}

static void both_fini(struct both *b)
{
    calendar_fini(&b->cal);
    free(b->twin.ev);
}

static void both_push(struct both *b, const struct event *e)
{
    calendar_push(&b->cal, e);
    twin_push(&b->twin, e);
    cr_assert_eq(calendar_count(&b->cal), b->twin.count);
}

/* Returns 0 if both have nothing up to @limit. */
static int both_pop(struct both *b, int64_t limit)
{
    struct event ours, right;
    const int ok = calendar_pop(&b->cal, limit, &ours);

    cr_assert_eq(ok, twin_pop(&b->twin, limit, &right), "seed %lu, %u pending",
                 (unsigned long)b->seed, b->twin.count);
    if (!ok)
        return 0;
    cr_assert(!memcmp(&ours, &right, sizeof ours),
              "seed %lu: time %ld sched %ld id %u, expected time %ld sched %ld id %u",
              (unsigned long)b->seed, (long)ours.time, (long)ours.sched, ours.id, (long)right.time,
              (long)right.sched, right.id);
    b->last = ours;
    return 1;
}

static void drain(struct both *b)
{
    while (both_pop(b, INT64_MAX))
        ;
    cr_assert_eq(calendar_count(&b->cal), 0);
    cr_assert_null(calendar_peek(&b->cal));
}

/* How far ahead of the last popped event the next ones lie. */
enum spread { NEAR, FAR, TIES, MIXED };

static int64_t draw_ahead(struct both *b, enum spread spread)
{
    switch (spread) {
    case NEAR:
        return below(b, 2000000);
    case FAR:
        return (int64_t)below(b, 2000000) * (int64_t)(1 + below(b, 1000000));
    case TIES:
        return below(b, 3) * 84000;
    case MIXED:
        break;
    }
    return draw_ahead(b, (enum spread)below(b, 3));
}

static struct event draw_event(struct both *b, enum spread spread)
{
    return (struct event){.time = b->last.time + draw_ahead(b, spread),
                          .sched = b->last.time,
                          .chain = b->last.time - below(b, 3) * 1000,
                          .flow = below(b, 4),
                          .id = event_id((enum event_kind)below(b, 7), b->next_id++)};
}

/* Events are pushed and popped at random, up to limits that stop in between, as the run loop does.
 */
static void run(uint64_t seed, enum spread spread, uint32_t pending_max, uint32_t steps)
{
    struct both b;

    both_init(&b, seed, 1084000);
    for (uint32_t i = 0; i < steps; i++) {
        const int64_t limit = b.last.time + below(&b, 1500000);

        for (uint32_t n = below(&b, 1 + pending_max / 8); n > 0; n--) {
            const struct event e = draw_event(&b, spread);

            if (b.twin.count < pending_max)
                both_push(&b, &e);
        }
        for (uint32_t n = below(&b, 1 + pending_max / 6); n > 0 && both_pop(&b, limit); n--)
            ;
        if (!below(&b, 50))
            drain(&b);
    }
    drain(&b);
    both_fini(&b);
}

Test(calendar, agrees_with_the_twin_for_near_events)
{
    for (uint64_t seed = 1; seed <= 20; seed++)
        run(seed, NEAR, 40 + 20 * (uint32_t)seed, 400);
}

Test(calendar, agrees_with_the_twin_for_far_events)
{
    for (uint64_t seed = 1; seed <= 20; seed++)
        run(seed, FAR, 40 + 20 * (uint32_t)seed, 400);
}

Test(calendar, agrees_with_the_twin_for_ties)
{
    for (uint64_t seed = 1; seed <= 20; seed++)
        run(seed, TIES, 40 + 20 * (uint32_t)seed, 400);
}

Test(calendar, agrees_with_the_twin_for_mixtures)
{
    for (uint64_t seed = 1; seed <= 60; seed++)
        run(seed, MIXED, 10 + 10 * (uint32_t)seed, 400);
}

Test(calendar, thousands_of_equal_times_pop_in_order_of_the_other_keys)
{
    struct both b;

    both_init(&b, 7, 1000000);
    for (uint32_t i = 0; i < 6000; i++) {
        const struct event e = {.time = 5000000,
                                .sched = below(&b, 3),
                                .chain = below(&b, 3),
                                .flow = below(&b, 3),
                                .id = event_id(EVENT_WIRE, (i * 7919) % 6000)};

        both_push(&b, &e);
    }
    drain(&b);
    both_fini(&b);
}

/* The simulation calls what ns-3 does its order of scheduling: chain counts up. */
Test(calendar, equal_times_pop_in_scheduling_order_when_chain_counts)
{
    struct both b;

    both_init(&b, 8, 1000000);
    for (uint32_t i = 0; i < 3000; i++) {
        const struct event e = {.time = 9000,
                                .sched = 1000,
                                .chain = i,
                                .flow = below(&b, 50),
                                .id = event_id((enum event_kind)below(&b, 7), below(&b, 1000))};

        both_push(&b, &e);
    }
    for (uint32_t i = 0; i < 3000; i++) {
        both_pop(&b, INT64_MAX);
        cr_assert_eq(b.last.chain, i);
    }
    drain(&b);
    both_fini(&b);
}

/* Kinds are served in their order when all else is equal. */
Test(calendar, end_of_transmission_comes_before_arrival_at_the_same_time)
{
    const struct event arrival = {1, 0, 0, 0, event_id(EVENT_WIRE, 1)};
    const struct event end = {1, 0, 0, 0, event_id(EVENT_TX_DONE, 2)};
    struct both b;

    both_init(&b, 9, 1000000);
    both_push(&b, &arrival);
    both_push(&b, &end);
    both_pop(&b, INT64_MAX);
    cr_assert_eq(event_kind(b.last.id), EVENT_TX_DONE);
    cr_assert_eq(event_row(b.last.id), 2);
    drain(&b);
    both_fini(&b);
}

/* An event that was looked at but left, then enough new ones for buckets, then one before it. */
Test(calendar, event_before_one_that_was_looked_at_comes_first)
{
    struct both b;

    both_init(&b, 10, 1000000);
    b.last.time = 0;
    both_push(&b, &(struct event){.time = 1000100, .id = 1});
    cr_assert_eq(both_pop(&b, 1000000), 0);
    for (uint32_t i = 0; i < 200; i++)
        both_push(&b, &(struct event){.time = 1000101 + i % 2, .id = 2 + i});
    both_push(&b, &(struct event){.time = 1000099, .id = 500});
    drain(&b);
    both_fini(&b);
}

Test(calendar, event_beyond_the_buckets_waits_for_its_time)
{
    struct both b;

    both_init(&b, 11, 1000000);
    both_push(&b, &(struct event){.time = 3600 * PS_PER_S, .id = 1});
    both_push(&b, &(struct event){.time = TIME_NEVER - 1, .id = 2});
    for (uint32_t i = 0; i < 500; i++)
        both_push(&b, &(struct event){.time = (int64_t)i * PS_PER_MS, .id = 3 + i});
    drain(&b);
    both_fini(&b);
}
