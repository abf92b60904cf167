/*
 * The shared buffer and priority flow control.
 */
#include "sim_fixture.h"
#include "sim_int.h"
#include "units.h"

#include <criterion/criterion.h>
#include <string.h>

#define RATE (100 * GBPS)
#define DELAY PS_PER_US
#define MIB (INT64_C(1) << 20)

/* Most flows that a port has: 1000 flows of 63 hosts to host 0. */
static struct sim *incast_1000(const struct sim_config *c)
{
    struct sim *s = fix_sim(fix_star(64, RATE, DELAY), c);

    for (uint32_t f = 0; f < 1000; f++)
        fix_flow(s, 1 + f % 63, 0, 20000, 0);
    fix_run(s);
    return s;
}

static struct sim_config incast_config(uint8_t pfc)
{
    struct sim_config c = fix_config(CC_DCQCN);

    c.buffer_bytes = 8 * MIB;
    c.has_window = 0;
    c.pfc = pfc;
    return c;
}

Test(mmu, incast_of_1000_flows_pauses_and_drops_nothing)
{
    struct sim_config c = incast_config(1);

    c.pfc_headroom_bytes = -2;
    for (int cc = CC_NONE; cc <= CC_DCQCN; cc++) {
        struct sim *s;

        c.cc = (enum cc_kind)cc;
        s = incast_1000(&c);
        cr_assert_eq(fix_counters(s).drops, 0);
        cr_assert_gt(fix_counters(s).pauses, 0);
        cr_assert(fix_all_done(s));
        sim_destroy(s);
    }
}

Test(mmu, incast_of_1000_flows_without_pfc_drops_and_still_ends)
{
    const struct sim_config c = incast_config(0);
    struct sim *s = incast_1000(&c);

    cr_assert_gt(fix_counters(s).drops, 0);
    cr_assert_eq(fix_counters(s).pauses, 0);
    cr_assert(fix_all_done(s));
    sim_destroy(s);
}

static void keep_text(void *ctx, const char *text)
{
    strncpy(ctx, text, 511);
}

Test(mmu, buffer_that_cannot_hold_the_headroom_is_warned_of)
{
    struct sim_config c = incast_config(1);
    char text[512] = "";
    const struct warn_sink sink = {keep_text, text};
    struct err_info e;
    struct sim *s;

    c.buffer_bytes = MIB; /* 64 x (37500 + 4096) B are more */
    cr_assert_eq(sim_create(&s, fix_star(64, RATE, DELAY), &c, &sink, &e), 0);
    cr_assert(strstr(text, "1048576"), "%s", text);
    cr_assert(strstr(text, "2662144"), "%s", text);
    sim_destroy(s);
}

Test(mmu, unlimited_buffer_drops_nothing)
{
    for (uint8_t fixed = 0; fixed < 2; fixed++) {
        struct sim_config c = incast_config(0);
        struct sim *s;

        c.buffer_bytes = 0;
        c.pfc_static = fixed;
        c.pfc_static_bytes = 20000;
        s = incast_1000(&c);
        cr_assert_eq(fix_counters(s).drops, 0);
        cr_assert(fix_all_done(s));
        sim_destroy(s);
    }
}

/* ---- thresholds ---- */

/* Two senders at line rate: the ingress of each fills at half of it. */
static int64_t queue_at_pause(const struct sim_config *c)
{
    struct sim *s = fix_sim(fix_star(3, RATE, DELAY), c);
    struct sim_counters n;

    fix_flow(s, 0, 2, 2000000, 0);
    fix_flow(s, 1, 2, 2000000, 0);
    fix_run(s);
    cr_assert(fix_all_done(s));
    n = fix_counters(s);
    cr_assert_gt(n.pauses, 0);
    cr_assert_eq(n.drops, 0);
    sim_destroy(s);
    return (int64_t)n.queue_max_bytes;
}

Test(mmu, static_threshold_bounds_the_queue)
{
    struct sim_config c = fix_config(CC_NONE);

    c.has_window = 0;
    c.pfc_headroom_bytes = -2;
    c.pfc_static = 1;
    for (int64_t limit = 20000; limit <= 80000; limit += 20000) {
        int64_t queue;

        c.pfc_static_bytes = limit;
        queue = queue_at_pause(&c);
        /* per ingress the threshold and the reserve; then what a round trip brings */
        cr_assert_geq(queue, 2 * limit);
        cr_assert_leq(queue, 2 * (limit + 4096 + 31000));
    }
}

/* T = free >> 3: both ingresses stop where each holds an eighth of what is left, a tenth. */
Test(mmu, dynamic_threshold_is_a_share_of_the_free_buffer)
{
    struct sim_config c = fix_config(CC_NONE);
    int64_t pool, queue;

    c.has_window = 0;
    c.buffer_bytes = 2 * MIB;
    c.pfc_headroom_bytes = 40000;
    pool = c.buffer_bytes - 3 * (40000 + 4096);
    queue = queue_at_pause(&c);
    cr_assert_geq(queue, 2 * (pool / 10));
    cr_assert_leq(queue, 2 * (pool / 10 + 4096 + 31000));
}

/*
 * The worst that the headroom has to hold: the pause frame has to wait for a packet the other way,
 * and meets a packet that has just begun. So packets go both ways, in many phases.
 */
Test(mmu, lossless_headroom_suffices_in_every_phase)
{
    struct sim_config c = fix_config(CC_NONE);
    const int64_t packet_ps = (4096 + 48) * 80;

    c.has_window = 0;
    c.payload_bytes = 4096;
    c.pfc_headroom_bytes = -2;
    c.pfc_static = 1;
    for (int64_t phase = 0; phase < 32; phase++) {
        struct sim *s;

        c.pfc_static_bytes = 20000 + phase * 131;
        s = fix_sim(fix_star(4, RATE, 5 * PS_PER_NS), &c);
        for (uint32_t h = 1; h < 4; h++) {
            fix_flow(s, h, 0, 400000, (h - 1) * packet_ps / 3);
            fix_flow(s, 1 + h % 3, h, 400000, phase * packet_ps / 32);
            fix_flow(s, 0, h, 400000, phase * packet_ps / 31);
        }
        fix_run(s);
        cr_assert(fix_all_done(s));
        cr_assert_gt(fix_counters(s).pauses, 0);
        cr_assert_eq(fix_counters(s).drops, 0, "phase %ld", (long)phase);
        sim_destroy(s);
    }
}

/* ---- classes ---- */

static uint32_t pauses_of(const struct sim *s, uint32_t from, uint32_t to)
{
    struct port_stats ps;

    sim_port_stats(s, topo_find_port(sim_topo(s), from, to), &ps);
    return (uint32_t)ps.pauses_received;
}

/* Class by class: the incast of priority 1 stops, the flow of priority 5 from the same host does
 * not. */
Test(mmu, pause_stops_one_class_only)
{
    struct sim_config c = fix_config(CC_NONE);
    struct sim *s, *alone;
    uint32_t f;

    c.has_window = 0;
    c.buffer_bytes = MIB;
    s = fix_sim(fix_star(10, RATE, DELAY), &c);
    for (uint32_t h = 1; h < 9; h++)
        fix_flow_prio(s, h, 0, 1000000, 0, 1);
    f = fix_flow_prio(s, 1, 9, 1000000, 0, 5);
    fix_run(s);
    cr_assert(fix_all_done(s));
    cr_assert_gt(pauses_of(s, 1, 10), 0);
    cr_assert_eq(pauses_of(s, 9, 10), 0);
    alone = fix_sim(fix_star(10, RATE, DELAY), &c);
    fix_flow_prio(alone, 1, 9, 1000000, 0, 5);
    fix_run(alone);
    /* at most the share of its own host that the incast takes is lost: not even twice as long */
    cr_assert_lt(fix_fct(s, f), 2 * fix_fct(alone, 0));
    sim_destroy(s);
    sim_destroy(alone);
}

static int64_t finish(const struct sim *s, uint32_t flow)
{
    return sim_flow_result(s, flow)->end_ps;
}

/* Two flows meet at a port; strict order serves the lower number first, round robin both alike. */
static void run_two_priorities(enum sched_mode sched, int64_t *low, int64_t *high)
{
    struct sim_config c = fix_config(CC_NONE);
    struct sim *s;

    c.has_window = 0;
    c.buffer_bytes = 0;
    c.sched = sched;
    s = fix_sim(fix_star(3, RATE, DELAY), &c);
    fix_flow_prio(s, 0, 2, 1000000, 0, 2);
    fix_flow_prio(s, 1, 2, 1000000, 0, 6);
    fix_run(s);
    *low = finish(s, 0);
    *high = finish(s, 1);
    sim_destroy(s);
}

Test(mmu, strict_order_serves_one_priority_first)
{
    const int64_t half = 1000 * 1048 * 80;
    int64_t low, high;

    run_two_priorities(SCHED_STRICT, &low, &high);
    cr_assert_lt(low, half + 6 * DELAY);
    cr_assert_geq(high, 2 * half);
    run_two_priorities(SCHED_ROUND_ROBIN, &low, &high);
    cr_assert_gt(low, 2 * half - 6 * DELAY);
    cr_assert_gt(high, 2 * half - 6 * DELAY);
}

Test(mmu, paused_time_is_counted)
{
    struct sim_config c = fix_config(CC_NONE);
    struct port_stats ps;
    struct sim *s;

    c.has_window = 0;
    c.buffer_bytes = MIB;
    s = fix_sim(fix_star(9, RATE, DELAY), &c);
    for (uint32_t h = 1; h < 9; h++)
        fix_flow(s, h, 0, 1000000, 0);
    fix_run(s);
    for (uint32_t h = 1; h < 9; h++) {
        sim_port_stats(s, topo_find_port(sim_topo(s), h, 9), &ps);
        cr_assert_gt(ps.pauses_received, 0);
        /* 8 MB through one port: a sender is stopped most of the time, not all of it */
        cr_assert_gt(ps.paused_ps, finish(s, h - 1) / 4);
        cr_assert_lt(ps.paused_ps, sim_now_ps(s));
    }
    sim_destroy(s);
}

/* ---- acknowledgements in the data queue ---- */

Test(mmu, acknowledgements_in_the_data_queue_obey_pauses)
{
    struct sim_config c = fix_config(CC_NONE);
    struct sim *s;

    c.has_window = 0;
    c.buffer_bytes = MIB;
    c.pfc_headroom_bytes = -2;
    c.ack = ACK_IN_DATA;
    c.payload_bytes = 100;
    s = fix_sim(fix_star(9, RATE, 5 * PS_PER_NS), &c);
    for (uint32_t h = 1; h < 9; h++) {
        fix_flow(s, h, 0, 300000, 0);
        fix_flow(s, 0, h, 300000, 0); /* so that the senders have ACKs to send */
    }
    fix_run(s);
    cr_assert(fix_all_done(s));
    cr_assert_gt(fix_counters(s).pauses, 0);
    cr_assert_eq(fix_counters(s).drops, 0);
    sim_destroy(s);
}
