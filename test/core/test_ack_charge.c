/*
 * test_ack_charge.c - what acknowledgements beside the network are charged for, and for how long.
 */
#include "rng.h"
#include "sim_fixture.h"
#include "sim_int.h"
#include "units.h"

#include <criterion/criterion.h>

#define RATE (100 * GBPS)
#define STEP_BYTES INT64_C(8000000) /* some 714 us, charges included */
#define STEP_PS (728 * PS_PER_US)   /* so steps are some 15 us apart, three base RTTs */
#define LONE_PS (690 * PS_PER_US)   /* the same where nothing is charged for */
#define STEPS 5u
#define HOLD_SHARE 32

/* One of several flows over the connection of @src, @dst and @sport. */
static uint32_t add(struct sim *s, uint32_t src, uint32_t dst, uint16_t sport, int64_t bytes,
                    int64_t start_ps)
{
    const struct flow_spec f = {.src = src,
                                .dst = dst,
                                .sport = sport,
                                .dport = 100,
                                .bytes = bytes,
                                .start_ps = start_ps,
                                .prio = 3};
    uint32_t id;

    cr_assert_eq(sim_add_flow(s, &f, &id), 0);
    return id;
}

static struct sim *make(struct topo *topo, enum engine_kind kind)
{
    const struct sim_engine engine = {kind, 1, 1};
    struct sim_config c = fix_config(CC_DCTCP);
    struct sim *s;

    c.ack = ACK_CHARGED;
    s = fix_sim(topo, &c);
    cr_assert_eq(sim_set_engine(s, &engine), 0);
    return s;
}

static void run_to(struct sim *s, int64_t ps)
{
    struct err_info e = {0};

    cr_assert_eq(sim_run(s, ps), 0);
    cr_assert_eq(sim_check_invariants(s, &e), 0, "%s", e.text);
}

static uint32_t port(const struct sim *s, uint32_t from, uint32_t to)
{
    return topo_find_port(s->topo, from, to);
}

static int64_t end_of(const struct sim *s, uint32_t flow)
{
    return sim_flow_result(s, flow)->end_ps;
}

static int64_t hold_of(const struct sim *s, uint32_t flow)
{
    return fix_fct(s, flow) / HOLD_SHARE;
}

/* ---- a ring whose steps have gaps ---- */

struct ring {
    struct sim *s;
    uint32_t last[3];
    int64_t gap_ps; /* least between two steps */
};

/* Flow from each of three hosts to the next, STEPS times; another goes on at hosts 3 and 4. */
static struct ring make_ring(enum engine_kind kind)
{
    struct ring r = {make(fix_star(5, RATE, PS_PER_US), kind), {0}, 0};

    for (uint32_t step = 0; step < STEPS; step++)
        for (uint32_t h = 0; h < 3; h++)
            r.last[h] =
                add(r.s, h, (h + 1) % 3, 10000, STEP_BYTES, step * STEP_PS + h * 40 * PS_PER_US);
    add(r.s, 3, 4, 10000, 2 * STEPS * STEP_BYTES, 0);
    return r;
}

Test(ack_charge, is_the_same_in_the_gaps_between_steps)
{
    for (enum engine_kind k = ENGINE_PARTITIONED; k <= ENGINE_SERIAL; k++) {
        struct ring r = make_ring(k);
        const int64_t until = (STEPS - 1) * STEP_PS + 400 * PS_PER_US;
        uint32_t in_gap = 0;

        for (int64_t t = 100 * PS_PER_US; t < until; t += PS_PER_US) {
            run_to(r.s, t);
            cr_assert_eq(r.s->port[port(r.s, 1, 5)].charge, r.s->ack_wire_bytes, "at %ld ps",
                         (long)t);
            cr_assert_eq(r.s->port[port(r.s, 5, 0)].charge, r.s->ack_wire_bytes);
            cr_assert_eq(r.s->data_flows[port(r.s, 0, 5)], 1);
            in_gap += r.s->flow_active == 3;
        }
        cr_assert_gt(in_gap, 10, "steps are not apart");
        sim_destroy(r.s);
    }
}

Test(ack_charge, ends_a_share_of_the_life_after_the_last_step)
{
    for (enum engine_kind k = ENGINE_PARTITIONED; k <= ENGINE_SERIAL; k++) {
        struct ring r = make_ring(k);
        int64_t end;

        run_to(r.s, STEPS * STEP_PS);
        end = end_of(r.s, r.last[0]) + hold_of(r.s, r.last[0]);
        cr_assert_gt(end, r.s->now);
        cr_assert_gt(hold_of(r.s, r.last[0]), 4 * r.s->tx[r.last[0]].base_rtt_ps);
        run_to(r.s, end - 1);
        cr_assert_eq(r.s->port[port(r.s, 1, 5)].charge, r.s->ack_wire_bytes);
        run_to(r.s, end);
        cr_assert_eq(r.s->port[port(r.s, 1, 5)].charge, 0);
        cr_assert_eq(r.s->data_flows[port(r.s, 0, 5)], 0);
        sim_destroy(r.s);
    }
}

Test(ack_charge, ends_one_round_trip_after_a_short_flow)
{
    struct sim *s = make(fix_star(5, RATE, PS_PER_US), ENGINE_PARTITIONED);
    const uint32_t f = add(s, 0, 1, 10000, 1000, 0);

    add(s, 3, 4, 10000, STEP_BYTES, 0);
    run_to(s, 6 * PS_PER_US);
    cr_assert_gt(end_of(s, f), 0);
    run_to(s, end_of(s, f) + s->tx[f].base_rtt_ps - 1);
    cr_assert_eq(s->port[port(s, 1, 5)].charge, s->ack_wire_bytes);
    run_to(s, s->now + 1);
    cr_assert_eq(s->port[port(s, 1, 5)].charge, 0);
    sim_destroy(s);
}

/* ---- whose place is taken ---- */

/* Two flows leave one host, so each has half of it, and so have those that follow in a gap. */
Test(ack_charge, of_flows_that_share_a_port_does_not_add_up)
{
    struct sim *s = make(fix_star(5, RATE, PS_PER_US), ENGINE_PARTITIONED);
    const int64_t step_ps = 2 * LONE_PS;
    int64_t reached = PS_PER_US;

    for (uint32_t step = 0; step < STEPS; step++) {
        add(s, 0, 1, 10000, STEP_BYTES, step * step_ps);
        add(s, 0, 2, 10000, STEP_BYTES, step * step_ps);
    }
    add(s, 3, 4, 10000, 3 * STEPS * STEP_BYTES, 0);
    for (; reached < STEPS * step_ps; reached += PS_PER_US) {
        run_to(s, reached);
        cr_assert_eq(s->ack_load_bps[port(s, 1, 5)], RATE / 2, "at %ld ps", (long)reached);
        cr_assert_eq(s->ack_load_bps[port(s, 5, 0)], RATE, "at %ld ps", (long)reached);
        cr_assert_eq(s->port[port(s, 2, 5)].charge, s->ack_wire_bytes / 2);
    }
    sim_destroy(s);
}

Test(ack_charge, of_another_connection_begins_beside_it)
{
    for (enum engine_kind k = ENGINE_PARTITIONED; k <= ENGINE_SERIAL; k++) {
        struct sim *s = make(fix_star(5, RATE, PS_PER_US), k);
        const uint32_t first = add(s, 0, 1, 10000, STEP_BYTES, 0);
        const uint32_t next = add(s, 0, 1, 10001, STEP_BYTES, LONE_PS);
        int64_t end;

        add(s, 3, 4, 10000, 2 * STEP_BYTES, 0);
        run_to(s, LONE_PS);
        end = end_of(s, first) + hold_of(s, first);
        cr_assert_gt(end, LONE_PS);
        cr_assert_eq(s->tx[first].ack_share_bps, RATE);
        cr_assert_eq(s->tx[next].ack_share_bps, RATE / 2);
        run_to(s, end - 1);
        cr_assert_eq(s->tx[next].ack_share_bps, RATE / 2);
        run_to(s, end);
        cr_assert_eq(s->tx[first].ack_share_bps, 0);
        cr_assert_eq(s->tx[next].ack_share_bps, RATE);
        sim_destroy(s);
    }
}

/* Two at once over one connection: each is followed by one. */
Test(ack_charge, is_taken_over_once_for_each_flow)
{
    struct sim *s = make(fix_star(5, RATE, PS_PER_US), ENGINE_PARTITIONED);
    const uint32_t out = port(s, 0, 5);
    uint32_t f[5];

    for (uint32_t i = 0; i < 5; i++)
        f[i] = add(s, 0, 1, 10000, STEP_BYTES, i < 2 ? 0 : 2 * LONE_PS + i);
    add(s, 3, 4, 10000, 6 * STEP_BYTES, 0);
    for (uint32_t i = 2; i < 5; i++) {
        run_to(s, 2 * LONE_PS + i);
        cr_assert_eq(s->flow_active, i); /* the one between hosts 3 and 4 too */
        cr_assert_eq(s->data_flows[out], i < 4 ? 2 : 3);
    }
    cr_assert(s->tx[f[0]].is_taken_over && s->tx[f[1]].is_taken_over);
    run_to(s, 2 * LONE_PS + hold_of(s, f[0]));
    cr_assert_eq(s->data_flows[out], 3, "holds of which nothing is left are over");
    sim_destroy(s);
}

/* ---- against a naive twin ---- */

#define TWIN_FLOWS 16u
#define TWIN_SAMPLES 400u

/* Flows of one connection. */
struct twin {
    struct twin_flow {
        int64_t start, end, until; /* until: of the hold */
        enum { WAITS, SENDS, HELD, GONE } state;
    } flow[TWIN_FLOWS];
};

/* The latest that ended; GONE of it is taken. */
static void take_latest(struct twin *w)
{
    struct twin_flow *latest = NULL;

    for (uint32_t i = 0; i < TWIN_FLOWS; i++)
        if (w->flow[i].state == HELD && (!latest || w->flow[i].end > latest->end))
            latest = &w->flow[i];
    if (latest)
        latest->state = GONE;
}

/* What happens at @now, in the order of the engine; returns how many are counted. */
static uint32_t twin_step(struct twin *w, int64_t now)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < TWIN_FLOWS; i++)
        if (w->flow[i].state == SENDS && w->flow[i].end == now)
            w->flow[i].state = HELD;
    for (uint32_t i = 0; i < TWIN_FLOWS; i++)
        if (w->flow[i].state == WAITS && w->flow[i].start == now) {
            take_latest(w);
            w->flow[i].state = SENDS;
        }
    for (uint32_t i = 0; i < TWIN_FLOWS; i++) {
        if (w->flow[i].state == HELD && w->flow[i].until == now)
            w->flow[i].state = GONE;
        count += w->flow[i].state == SENDS || w->flow[i].state == HELD;
    }
    return count;
}

static int64_t twin_next(const struct twin *w)
{
    int64_t next = TIME_NEVER;

    for (uint32_t i = 0; i < TWIN_FLOWS; i++) {
        const struct twin_flow *f = &w->flow[i];
        const int64_t t = f->state == WAITS   ? f->start
                          : f->state == SENDS ? f->end
                          : f->state == HELD  ? f->until
                                              : TIME_NEVER;

        next = t < next ? t : next;
    }
    return next;
}

/* Of the flows of @src, of which there were @seen[k] after k + 1 sample intervals. */
static uint32_t compare(const struct sim *s, uint32_t src, const uint32_t *seen, int64_t every_ps)
{
    struct twin w;
    uint32_t n = 0, count = 0, held = 0;

    for (uint32_t f = 0; f < sim_flow_count(s); f++) {
        const struct flow_result *r = sim_flow_result(s, f);
        const int64_t share = (r->end_ps - r->start_ps) / HOLD_SHARE;
        const int64_t rtt = s->tx[f].base_rtt_ps;

        if (sim_flow_spec(s, f)->src == src)
            w.flow[n++] = (struct twin_flow){r->start_ps, r->end_ps,
                                             r->end_ps + (share > rtt ? share : rtt), WAITS};
    }
    cr_assert_eq(n, TWIN_FLOWS);
    for (uint32_t k = 0; k < TWIN_SAMPLES; k++) {
        uint32_t sends = 0;

        while (twin_next(&w) <= (k + 1) * every_ps)
            count = twin_step(&w, twin_next(&w));
        cr_assert_eq(seen[k], count, "host %u, sample %u", src, k);
        for (uint32_t i = 0; i < TWIN_FLOWS; i++)
            sends += w.flow[i].state == SENDS;
        held += count > sends;
    }
    return held;
}

Test(ack_charge, counts_what_a_naive_twin_counts)
{
    static const int64_t sizes[] = {1000, 100000, 1000000, 4000000};
    const int64_t every_ps = 5 * PS_PER_US;
    uint32_t held = 0;

    for (uint64_t seed = 1; seed <= 8; seed++) {
        struct sim *s =
            make(fix_star(6, RATE, PS_PER_US), seed % 2 ? ENGINE_SERIAL : ENGINE_PARTITIONED);
        static uint32_t seen[3][TWIN_SAMPLES];

        for (uint32_t i = 0; i < 3 * TWIN_FLOWS; i++) {
            const uint64_t draw = rng_u64(seed, 1, i);

            add(s, i % 3, 3, 10000, sizes[draw % 4], (int64_t)(draw >> 40) % 1000 * 1000003);
        }
        add(s, 4, 5, 10000, 100 * STEP_BYTES, 0);
        for (uint32_t k = 0; k < TWIN_SAMPLES; k++) {
            run_to(s, (k + 1) * every_ps);
            for (uint32_t h = 0; h < 3; h++)
                seen[h][k] = s->data_flows[port(s, h, 6)];
        }
        fix_run(s);
        for (uint32_t h = 0; h < 3; h++)
            held += compare(s, h, seen[h], every_ps);
        sim_destroy(s);
    }
    cr_assert_gt(held, 200, "in %u samples flows are held", held);
}

/* ---- links that fail ---- */

/* Hosts 0, 1 under leaf 4, hosts 2, 3 under leaf 5; spines 6 and 7. Two flows cross from 0 to 2
 * over one connection, the second @next_ps after the start; the link from leaf 4 to @spine fails
 * after @down_ps, if there is one. */
static struct sim *make_crossing(int64_t next_ps, int64_t down_ps, uint32_t spine)
{
    struct sim_config c = fix_config(CC_DCTCP);
    struct sim *s;

    c.ack = ACK_CHARGED;
    if (spine)
        c.events[c.event_count++] = (struct net_event){down_ps, 4, spine, NET_LINK_DOWN};
    s = fix_sim(fix_leaf_spine(2, 2, 2, RATE, PS_PER_US), &c);
    add(s, 0, 2, 10000, STEP_BYTES, 0);
    add(s, 0, 2, 10000, STEP_BYTES, next_ps);
    add(s, 2, 3, 10000, 6 * STEP_BYTES, 0);
    return s;
}

/* The spine that flows cross, if nothing fails, and when the first of them ends. */
static uint32_t find_spine(int64_t *end_ps)
{
    struct sim *s = make_crossing(2 * STEP_PS, 0, 0);
    uint32_t spine;

    run_to(s, 2 * STEP_PS - 1);
    *end_ps = end_of(s, 0);
    cr_assert_gt(*end_ps, 0);
    run_to(s, 2 * STEP_PS);
    spine = s->data_flows[port(s, 4, 6)] ? 6 : 7;
    sim_destroy(s);
    return spine;
}

Test(ack_charge, that_is_held_on_a_way_that_fails_is_not_taken_over)
{
    int64_t end;
    const uint32_t spine = find_spine(&end);
    struct sim *s = make_crossing(end + 10 * PS_PER_US, end + 5 * PS_PER_US, spine);
    const uint32_t dead = port(s, 4, spine), other = port(s, 4, 13 - spine);

    run_to(s, end + 10 * PS_PER_US);
    cr_assert_eq(end_of(s, 0), end);
    cr_assert_eq(s->data_flows[dead], 1);
    cr_assert_eq(s->data_flows[other], 1);
    cr_assert_not(s->tx[0].is_taken_over);
    run_to(s, end + hold_of(s, 0));
    cr_assert_eq(s->data_flows[dead], 0);
    cr_assert_eq(s->data_flows[other], 1);
    sim_destroy(s);
}

Test(ack_charge, moves_with_its_flow)
{
    int64_t end;
    const uint32_t spine = find_spine(&end);
    struct sim *s = make_crossing(2 * STEP_PS, 100 * PS_PER_US, spine);
    const uint32_t dead = port(s, 4, spine), other = port(s, 4, 13 - spine);

    run_to(s, 100 * PS_PER_US - 1);
    cr_assert_eq(s->data_flows[dead], 1);
    run_to(s, 100 * PS_PER_US);
    cr_assert_eq(s->data_flows[dead], 0);
    cr_assert_eq(s->data_flows[other], 1);
    cr_assert_eq(s->tx[0].ack_share_bps, RATE);
    sim_destroy(s);
}
