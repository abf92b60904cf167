/*
 * The interface of a host: turns, timers, classes.
 */
#include "sim_fixture.h"
#include "sim_int.h"
#include "units.h"

#include <criterion/criterion.h>

#define RATE (100 * GBPS)
#define DELAY PS_PER_US
#define FULL_PS (1048 * 80)

static struct sim_config plain_config(void)
{
    struct sim_config c = fix_config(CC_NONE);

    c.has_window = 0;
    return c;
}

Test(nic, flow_that_joins_gets_its_share_at_once)
{
    const struct sim_config c = plain_config();
    struct sim *s = fix_sim(fix_star(3, RATE, DELAY), &c);
    const int64_t start = 100 * FULL_PS + 1;
    const int64_t rest = DELAY + FULL_PS + DELAY + 2 * (60 * 80 + DELAY);

    fix_flow(s, 0, 1, 1000000, 0);
    fix_flow(s, 0, 2, 10000, start);
    fix_run(s);
    /* packet 101 is under way; it waits for that one, then every second packet is its own */
    cr_assert_eq(sim_flow_result(s, 1)->end_ps, (101 + 19) * FULL_PS + rest);
    cr_assert_eq(fix_fct(s, 0), 1010 * FULL_PS + rest);
    sim_destroy(s);
}

Test(nic, paced_flows_of_a_host_do_not_delay_one_another)
{
    struct sim_config c = plain_config();
    struct sim *s;

    c.fixed_rate_bps = RATE / 10;
    s = fix_sim(fix_star(9, RATE, DELAY), &c);
    for (uint32_t h = 1; h < 9; h++)
        fix_flow(s, 0, h, 50000, 0);
    fix_run(s);
    for (uint32_t f = 0; f < 8; f++)
        cr_assert_eq(fix_fct(s, f), 49 * 10 * FULL_PS + (1 + (int64_t)f) * FULL_PS + DELAY +
                                        FULL_PS + DELAY + 2 * (60 * 80 + DELAY));
    sim_destroy(s);
}

/* A paused flow whose pacing time has passed leaves the timer to flows of other classes. */
Test(nic, paused_class_does_not_keep_another_from_its_pace)
{
    struct sim_config c = plain_config();
    struct sim *s;
    uint32_t f;

    c.buffer_bytes = 1 << 20;
    c.fixed_rate_bps = RATE / 4;
    c.ack_every_packets = 1000; /* no ACK that would wake the interface */
    c.rto_ps = 100 * PS_PER_MS;
    s = fix_sim(fix_star(10, RATE, DELAY), &c);
    for (uint32_t h = 1; h < 9; h++)
        fix_flow_prio(s, h, 0, 900000, 0, 1);
    f = fix_flow_prio(s, 1, 9, 400000, 60 * PS_PER_US, 5); /* when the first are paused */
    fix_run(s);
    cr_assert(fix_all_done(s));
    cr_assert_gt(fix_counters(s).pauses, 0);
    /* its own pace, and at most one packet of the other class in the way of each of its own */
    cr_assert_leq(fix_fct(s, f), 399 * 5 * FULL_PS + 3 * FULL_PS + 4 * DELAY + 3 * 60 * 80);
    sim_destroy(s);
}

Test(nic, acknowledgements_go_before_data)
{
    const struct sim_config c = plain_config();
    struct sim *s = fix_sim(fix_chain(1, RATE, 0), &c);

    fix_flow(s, 0, 1, 1000, 0);
    fix_flow(s, 1, 0, 1000000, 0);
    fix_run(s);
    /* the ACK waits for one packet of the other flow, not for all */
    cr_assert_leq(fix_fct(s, 0), 2 * FULL_PS + 60 * 80);
    sim_destroy(s);
}

Test(nic, rows_of_flows_that_are_done_are_given_back)
{
    const struct sim_config c = plain_config();
    struct sim *s = fix_sim(fix_star(2, RATE, DELAY), &c);

    for (uint32_t f = 0; f < 1000; f++)
        fix_flow(s, 0, 1, 1000, f * 20 * PS_PER_US);
    fix_run(s);
    cr_assert(fix_all_done(s));
    cr_assert_leq(s->nic[s->port[s->topo->first_port[0]].owner].cap, 8);
    sim_destroy(s);
}
