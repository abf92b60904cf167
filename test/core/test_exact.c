/*
 * Closed forms, to the picosecond. At 100 Gb/s a byte takes 80 ps, so nothing is rounded.
 */
#include "sim_fixture.h"
#include "units.h"

#include <criterion/criterion.h>

#define RATE (100 * GBPS)
#define BYTE_PS 80
#define HEADER 48
#define FULL_PS ((1000 + HEADER) * BYTE_PS)
#define ACK_PS (60 * BYTE_PS)
#define DELAY PS_PER_US

static struct sim_config plain_config(void)
{
    struct sim_config c = fix_config(CC_NONE);

    c.has_window = 0;
    return c;
}

static int64_t lone_fct(struct topo *t, const struct sim_config *c, int64_t bytes)
{
    struct sim *s = fix_sim(t, c);
    int64_t fct;

    fix_flow(s, 0, 1, bytes, 7 * PS_PER_US);
    fix_run(s);
    fct = fix_fct(s, 0);
    sim_destroy(s);
    return fct;
}

/* Full packets in a row, the last one queues behind the last full one at every hop; its ACK does
 * behind the ACK of that one if the packet is shorter than an ACK. */
static int64_t chain_ps(int64_t bytes, int64_t hops, int64_t delay)
{
    const int64_t full = (bytes - 1) / 1000;
    const int64_t last_ps = (bytes - full * 1000 + HEADER) * BYTE_PS;
    const int64_t data = full ? full * FULL_PS + (hops - 1) * FULL_PS + last_ps : hops * last_ps;
    const int64_t wait = full && last_ps < ACK_PS ? ACK_PS - last_ps : 0;

    return data + wait + hops * delay + hops * (ACK_PS + delay);
}

Test(exact, lone_flow_over_n_hops_takes_the_closed_form)
{
    static const int64_t sizes[] = {1, 999, 1000, 1001, 2000, 12345, 1000000, 1000001};
    const struct sim_config c = plain_config();

    for (uint32_t hops = 1; hops <= 6; hops++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            for (int64_t delay = 0; delay <= DELAY; delay += DELAY)
                cr_assert_eq(lone_fct(fix_chain(hops, RATE, delay), &c, sizes[i]),
                             chain_ps(sizes[i], hops, delay), "%u hops, %ld B, delay %ld ps", hops,
                             (long)sizes[i], (long)delay);
}

Test(exact, acknowledgements_beside_the_network_take_as_long_as_on_an_idle_way_back)
{
    struct sim_config c = plain_config();

    c.ack = ACK_BYPASS;
    for (uint32_t hops = 1; hops <= 6; hops++)
        cr_assert_eq(lone_fct(fix_chain(hops, RATE, DELAY), &c, 54321),
                     chain_ps(54321, hops, DELAY));
    c.ack = ACK_IN_DATA;
    for (uint32_t hops = 1; hops <= 6; hops++)
        cr_assert_eq(lone_fct(fix_chain(hops, RATE, DELAY), &c, 54321),
                     chain_ps(54321, hops, DELAY));
}

Test(exact, times_of_the_reference_are_whole_nanoseconds)
{
    struct sim_config c = plain_config();

    c.round_ps = PS_PER_NS;
    cr_assert_eq(lone_fct(fix_chain(2, RATE, DELAY), &c, 10000000),
                 (9999 * 84 + 2 * (84 + 1000) + 2 * (5 + 1000)) * PS_PER_NS);
}

Test(exact, slow_last_link_sets_the_pace)
{
    const struct fix_link links[] = {{0, 2, RATE, DELAY, 0}, {2, 1, RATE / 4, DELAY, 0}};
    const struct sim_config c = plain_config();

    cr_assert_eq(lone_fct(fix_graph(2, 1, links, 2), &c, 100000),
                 FULL_PS + DELAY + 100 * 4 * FULL_PS + DELAY + 4 * ACK_PS + DELAY + ACK_PS + DELAY);
}

Test(exact, fast_last_link_adds_one_packet_time)
{
    const struct fix_link links[] = {{0, 2, RATE, DELAY, 0}, {2, 1, 4 * RATE, DELAY, 0}};
    const struct sim_config c = plain_config();

    cr_assert_eq(lone_fct(fix_graph(2, 1, links, 2), &c, 100000),
                 100 * FULL_PS + DELAY + FULL_PS / 4 + DELAY + ACK_PS / 4 + DELAY + ACK_PS + DELAY);
}

Test(exact, rate_that_does_not_divide_is_rounded_packet_by_packet)
{
    const struct sim_config c = plain_config();
    const int64_t rate = 3 * GBPS;
    const int64_t full = units_tx_ps(1048, rate, 1), ack = units_tx_ps(60, rate, 1);

    cr_assert_eq(lone_fct(fix_chain(2, rate, 0), &c, 100000), 101 * full + 2 * ack);
}

Test(exact, paced_flow_sends_a_packet_per_interval)
{
    struct sim_config c = plain_config();
    const int64_t interval = 10 * FULL_PS;

    c.fixed_rate_bps = RATE / 10;
    for (uint32_t hops = 1; hops <= 4; hops++)
        cr_assert_eq(lone_fct(fix_chain(hops, RATE, DELAY), &c, 50000),
                     49 * interval + hops * (FULL_PS + DELAY + ACK_PS + DELAY));
}

/* Pacing reckons with the packet that was sent: a short one makes a short interval. */
Test(exact, pacing_interval_follows_the_size_of_the_packet)
{
    struct sim_config c = plain_config();
    struct sim *s;

    c.fixed_rate_bps = RATE / 10;
    s = fix_sim(fix_chain(1, RATE, 0), &c);
    fix_flow(s, 0, 1, 1, 0);
    fix_flow(s, 0, 1, 1, 0); /* its own pacing: right behind the first */
    fix_run(s);
    cr_assert_eq(fix_fct(s, 0), 49 * BYTE_PS + ACK_PS);
    cr_assert_eq(fix_fct(s, 1), 49 * BYTE_PS + 2 * ACK_PS); /* its ACK waits for the other */
    sim_destroy(s);
}

/* Base RTT 160 ns, so the window holds two packets; each waits for the ACK of the last but one. */
Test(exact, window_of_two_packets_sends_two_per_round_trip)
{
    struct sim_config c = plain_config();
    const int64_t rtt = 2 * FULL_PS + 2 * ACK_PS;

    c.has_window = 1;
    cr_assert_eq(lone_fct(fix_chain(2, RATE, 0), &c, 20000), 9 * rtt + FULL_PS + rtt);
}

Test(exact, two_flows_of_a_host_alternate)
{
    const struct sim_config c = plain_config();
    struct sim *s = fix_sim(fix_star(3, RATE, DELAY), &c);
    const int64_t rest = DELAY + FULL_PS + DELAY + 2 * (ACK_PS + DELAY);

    fix_flow(s, 0, 1, 50000, 0);
    fix_flow(s, 0, 2, 100000, 0);
    fix_run(s);
    cr_assert_eq(fix_fct(s, 0), 99 * FULL_PS + rest); /* packets 1, 3, ..., 99 */
    cr_assert_eq(fix_fct(s, 1), 150 * FULL_PS + rest);
    sim_destroy(s);
}

Test(exact, three_flows_of_a_host_take_turns_in_order_of_their_start)
{
    const struct sim_config c = plain_config();
    struct sim *s = fix_sim(fix_star(4, RATE, DELAY), &c);
    const int64_t rest = DELAY + FULL_PS + DELAY + 2 * (ACK_PS + DELAY);

    for (uint32_t f = 0; f < 3; f++)
        fix_flow(s, 0, 1 + f, 10000, 0);
    fix_run(s);
    for (uint32_t f = 0; f < 3; f++)
        cr_assert_eq(fix_fct(s, f), (28 + (int64_t)f) * FULL_PS + rest);
    sim_destroy(s);
}

Test(exact, two_senders_share_the_port_of_the_receiver)
{
    const struct sim_config c = plain_config();
    struct sim *s = fix_sim(fix_star(3, RATE, DELAY), &c);
    const int64_t rest = FULL_PS + DELAY + DELAY + 2 * (ACK_PS + DELAY);

    fix_flow(s, 0, 2, 50000, 0);
    fix_flow(s, 1, 2, 50000, 0);
    fix_run(s);
    cr_assert_eq(fix_fct(s, 0), 99 * FULL_PS + rest); /* ties in order of the starts */
    cr_assert_eq(fix_fct(s, 1), 100 * FULL_PS + rest);
    /* the last pair arrives when the 50th packet is about to leave */
    cr_assert_eq(fix_counters(s).queue_max_bytes, 51 * 1048);
    sim_destroy(s);
}

Test(exact, ideal_time_is_base_rtt_and_bytes_at_the_slowest_link)
{
    const struct sim_config c = plain_config();
    struct sim *s = fix_sim(fix_dumbbell(1, RATE, RATE / 2, DELAY), &c);
    const int64_t rtt = 6 * DELAY + 1000 * (BYTE_PS + 2 * BYTE_PS + BYTE_PS);

    fix_flow(s, 0, 1, 2500, 0);
    fix_run(s);
    cr_assert_eq(sim_flow_result(s, 0)->ideal_ps, rtt + (2500 + 3 * HEADER) * 2 * BYTE_PS);
    cr_assert_eq(sim_flow_result(s, 0)->hops, 3);
    sim_destroy(s);
}

Test(exact, empty_flow_is_complete_at_once)
{
    const struct sim_config c = plain_config();
    struct sim *s = fix_sim(fix_star(2, RATE, DELAY), &c);

    fix_flow(s, 0, 1, 0, 5 * PS_PER_US);
    fix_run(s);
    cr_assert_eq(fix_fct(s, 0), 0);
    cr_assert_eq(sim_flow_result(s, 0)->end_ps, 5 * PS_PER_US);
    cr_assert_eq(fix_counters(s).data_packets, 0);
    sim_destroy(s);
}
