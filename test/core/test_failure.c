/*
 * Links that fail and come back, networks without switches, networks without a path.
 */
#include "hpcc.h"
#include "sim_fixture.h"
#include "sim_int.h"
#include "units.h"

#include <criterion/criterion.h>

#define RATE (100 * GBPS)
#define DELAY PS_PER_US

static void link_event(struct sim_config *c, int64_t time_ps, uint32_t a, uint32_t b, int kind)
{
    c->events[c->event_count++] = (struct net_event){time_ps, a, b, (uint8_t)kind};
}

static int path_has(const struct sim *s, uint32_t flow, int is_ack, uint32_t node)
{
    uint32_t ports[16];
    const uint32_t links = sim_flow_path(s, flow, is_ack, ports, 16);

    for (uint32_t i = 0; i < links; i++)
        if (sim_topo(s)->port_node[ports[i]] == node)
            return 1;
    return 0;
}

/* ---- the HPCC sample, 4 hosts, leaves 4 and 5, spines 6 and 7 ---- */

static struct sim *load_sample(struct sim_config *cfg)
{
    struct scenario sc;
    struct err_info e = {0};
    struct sim *s = NULL;

    scenario_init(&sc);
    cr_assert_eq(hpcc_load(TEST_DATA_DIR "/hpcc/config.txt", NULL, NULL, 0, &sc, NULL, &e), 0, "%s",
                 e.text);
    sc.cfg.event_count = cfg->event_count;
    for (uint32_t i = 0; i < cfg->event_count; i++)
        sc.cfg.events[i] = cfg->events[i];
    sc.cfg.rto = cfg->rto;
    cr_assert_eq(scenario_make_sim(&sc, NULL, &s, &e), 0, "%s", e.text);
    scenario_fini(&sc);
    return s;
}

Test(failure, flows_move_to_the_other_spine)
{
    const int64_t down = 2 * PS_PER_S + 20 * PS_PER_US;
    struct sim_config c = fix_config(CC_HPCC);
    uint32_t crossing = 0;
    struct sim *s;

    link_event(&c, down, 4, 6, NET_LINK_DOWN);
    s = load_sample(&c);
    fix_run(s);
    cr_assert(fix_all_done(s));
    for (uint32_t f = 0; f < sim_flow_count(s); f++) {
        if (sim_flow_result(s, f)->end_ps < down || sim_flow_result(s, f)->hops < 4)
            continue;
        cr_assert(path_has(s, f, 0, 7) && !path_has(s, f, 0, 6), "flow %u", f);
        cr_assert(path_has(s, f, 1, 7) && !path_has(s, f, 1, 6), "flow %u", f);
        crossing++;
    }
    cr_assert_gt(crossing, 0);
    sim_destroy(s);
}

Test(failure, both_spines_down_is_no_endless_run)
{
    struct sim_config c = fix_config(CC_HPCC);
    struct sim_counters n;
    uint32_t unfinished = 0;
    struct sim *s;

    link_event(&c, 2 * PS_PER_S + 1, 4, 6, NET_LINK_DOWN);
    link_event(&c, 2 * PS_PER_S + 1, 4, 7, NET_LINK_DOWN);
    s = load_sample(&c);
    fix_run(s);
    n = fix_counters(s);
    for (uint32_t f = 0; f < sim_flow_count(s); f++) {
        const uint8_t state = sim_flow_result(s, f)->state;

        cr_assert(state == FLOW_DONE || state == FLOW_STALLED || state == FLOW_NOPATH,
                  "flow %u: state %u", f, state);
        unfinished += state != FLOW_DONE;
    }
    cr_assert_gt(unfinished, 0);
    cr_assert_eq(n.flows_stalled + n.flows_nopath, unfinished);
    sim_destroy(s);
}

/* ---- small networks ---- */

Test(failure, flow_without_a_path_starts_when_the_link_comes_back)
{
    struct sim_config c = fix_config(CC_HPCC);
    struct sim *s;

    link_event(&c, 0, 0, 2, NET_LINK_DOWN);
    link_event(&c, 3 * PS_PER_MS, 2, 0, NET_LINK_UP);
    s = fix_sim(fix_star(2, RATE, DELAY), &c);
    fix_flow(s, 0, 1, 100000, PS_PER_MS);
    cr_assert_eq(sim_run(s, 2 * PS_PER_MS), 0);
    cr_assert_eq(sim_flow_result(s, 0)->state, FLOW_NOPATH);
    cr_assert(!sim_is_done(s));
    fix_run(s);
    cr_assert(fix_all_done(s));
    cr_assert_eq(sim_flow_result(s, 0)->start_ps, 3 * PS_PER_MS);
    sim_destroy(s);
}

Test(failure, what_is_on_the_wire_is_lost_and_sent_again)
{
    struct sim_config c = fix_config(CC_DCTCP);
    struct sim *s;

    link_event(&c, 50 * PS_PER_US, 0, 2, NET_LINK_DOWN);
    link_event(&c, 60 * PS_PER_US, 0, 2, NET_LINK_UP);
    s = fix_sim(fix_star(2, RATE, DELAY), &c);
    fix_flow(s, 0, 1, 1000000, 0);
    fix_run(s);
    cr_assert(fix_all_done(s));
    cr_assert_gt(fix_counters(s).losses, 0);
    cr_assert_gt(sim_flow_result(s, 0)->retx_bytes, 0);
    sim_destroy(s);
}

Test(failure, pauses_begin_anew_when_a_link_comes_back)
{
    struct sim_config c = fix_config(CC_NONE);
    struct sim *s;

    c.has_window = 0;
    c.buffer_bytes = 1 << 20;
    c.pfc_headroom_bytes = -2;
    c.pfc_resume_offset_bytes = 20000; /* the ingress stays paused until long after */
    link_event(&c, 100 * PS_PER_US, 1, 9, NET_LINK_DOWN);
    link_event(&c, 100 * PS_PER_US + 1, 1, 9, NET_LINK_UP);
    s = fix_sim(fix_star(9, RATE, DELAY), &c);
    for (uint32_t h = 1; h < 9; h++)
        fix_flow(s, h, 0, 2000000, 0);
    fix_run(s);
    cr_assert(fix_all_done(s));
    cr_assert_gt(fix_counters(s).pauses, 0);
    cr_assert_eq(fix_counters(s).drops, 0);
    sim_destroy(s);
}

/* The way back becomes shorter while ACKs are under way: none overtakes another. */
Test(failure, acknowledgements_beside_the_network_stay_in_order)
{
    const struct fix_link links[] = {
        {0, 2, RATE, DELAY, 0},
        {2, 1, RATE, 50 * DELAY, 0},
        {2, 3, RATE, DELAY, 0},
        {3, 1, RATE, DELAY, 0},
    };
    struct sim_config c = fix_config(CC_NONE);
    struct err_info e = {0};
    struct sim *s;

    c.has_window = 0;
    c.ack = ACK_BYPASS;
    link_event(&c, 60 * PS_PER_US, 2, 1, NET_LINK_DOWN);
    s = fix_sim(fix_graph(2, 2, links, 4), &c);
    fix_flow(s, 0, 1, 3000000, 0);
    cr_assert_eq(sim_run(s, 70 * PS_PER_US), 0);
    cr_assert_eq(sim_check_invariants(s, &e), 0, "%s", e.text);
    fix_run(s);
    cr_assert(fix_all_done(s));
    sim_destroy(s);
}

static struct topo *ring_of_8(void)
{
    struct fix_link links[8];

    for (uint32_t h = 0; h < 8; h++)
        links[h] = (struct fix_link){h, (h + 1) % 8, RATE, DELAY, 0};
    return fix_graph(8, 0, links, 8);
}

Test(failure, ring_of_hosts_needs_hosts_that_forward)
{
    struct sim_config c = fix_config(CC_DCTCP);

    for (uint8_t forward = 0; forward < 2; forward++) {
        struct sim *s;

        c.hosts_forward = forward;
        s = fix_sim(ring_of_8(), &c);
        fix_flow(s, 0, 1, 50000, 0);
        fix_flow(s, 0, 3, 50000, 0);
        fix_flow(s, 6, 1, 50000, 0);
        fix_run(s);
        cr_assert_eq(sim_flow_result(s, 0)->state, FLOW_DONE);
        cr_assert_eq(sim_flow_result(s, 1)->state, forward ? FLOW_DONE : FLOW_NOPATH);
        cr_assert_eq(sim_flow_result(s, 2)->state, forward ? FLOW_DONE : FLOW_NOPATH);
        cr_assert_eq(fix_counters(s).flows_nopath, forward ? 0 : 2);
        cr_assert(sim_is_done(s));
        sim_destroy(s);
    }
}

Test(failure, two_hosts_and_one_link_are_a_network)
{
    for (int cc = CC_NONE; cc < CC_KIND_COUNT; cc++) {
        const struct sim_config c = fix_config((enum cc_kind)cc);
        struct sim *s = fix_sim(fix_chain(1, RATE, DELAY), &c);

        fix_flow(s, 0, 1, 100000, 0);
        fix_flow(s, 1, 0, 100000, 0);
        fix_run(s);
        cr_assert(fix_all_done(s), "%s", config_cc_name(c.cc));
        sim_destroy(s);
    }
}

/* 8 GPUs on 4 switches each: flows of different ports spread over the planes. */
Test(failure, four_planes_carry_more_than_one)
{
    struct fix_link links[32];
    const struct sim_config c = fix_config(CC_NONE);
    uint32_t used = 0;
    struct sim *s;

    for (uint32_t i = 0; i < 32; i++)
        links[i] = (struct fix_link){i % 8, 8 + i / 8, RATE, DELAY, 0};
    s = fix_sim(fix_graph(8, 4, links, 32), &c);
    for (uint32_t f = 0; f < 16; f++)
        fix_flow(s, 0, 1, 1000000, 0);
    fix_run(s);
    cr_assert(fix_all_done(s));
    for (uint32_t plane = 0; plane < 4; plane++) {
        struct port_stats ps;

        sim_port_stats(s, topo_find_port(sim_topo(s), 0, 8 + plane), &ps);
        used += ps.tx_bytes > 0;
    }
    cr_assert_eq(used, 4);
    /* one plane would need 16 MB at 100 Gb/s */
    cr_assert_lt(sim_flow_result(s, 0)->end_ps, 16 * 1048 * 1000 * INT64_C(80));
    sim_destroy(s);
}

static void count_sample(void *ctx, struct sim *s, int64_t now_ps)
{
    cr_assert_eq(sim_now_ps(s), now_ps);
    ++*(uint32_t *)ctx;
}

/* Host link down without a timeout that could give up, and sampling without end. */
Test(failure, sampling_ends_when_nothing_can_change)
{
    struct sim_config c = fix_config(CC_NONE);
    uint32_t samples = 0;
    const struct sim_monitor m = {.sample_interval_ps = PS_PER_US,
                                  .sample_to_ps = TIME_NEVER,
                                  .on_sample = count_sample,
                                  .ctx = &samples};
    struct sim *s;

    c.rto = RTO_OFF;
    link_event(&c, 10 * PS_PER_US, 0, 2, NET_LINK_DOWN);
    s = fix_sim(fix_star(2, RATE, DELAY), &c);
    fix_flow(s, 0, 1, 1000000, 0);
    cr_assert_eq(sim_set_monitor(s, &m), 0);
    fix_run(s);
    cr_assert_eq(sim_flow_result(s, 0)->state, FLOW_ACTIVE);
    cr_assert(!sim_is_done(s));
    cr_assert(samples >= 10 && samples < 100, "%u samples", samples);
    sim_destroy(s);
}

/* A port in use keeps its INT counter when flows find new paths. */
Test(failure, rerouting_leaves_counters_of_ports_in_use)
{
    struct sim_config c = fix_config(CC_HPCC), never;
    struct sim *s, *other;

    c.int_reset_idle = 1;
    never = c;
    link_event(&c, 50 * PS_PER_US, 1, 3, NET_LINK_DOWN); /* a host that takes no part */
    s = fix_sim(fix_star(3, RATE, DELAY), &c);
    other = fix_sim(fix_star(3, RATE, DELAY), &never);
    fix_flow(s, 0, 2, 1000000, 0);
    fix_flow(other, 0, 2, 1000000, 0);
    fix_run(s);
    fix_run(other);
    cr_assert_eq(fix_fct(s, 0), fix_fct(other, 0));
    sim_destroy(s);
    sim_destroy(other);
}
