/*
 * What the receiver answers: coalescing, duplicates, sprayed packets.
 */
#include "sim_fixture.h"
#include "sim_int.h"
#include "units.h"

#include <criterion/criterion.h>

#define RATE (100 * GBPS)
#define DELAY PS_PER_US

static struct sim_config plain_config(void)
{
    struct sim_config c = fix_config(CC_NONE);

    c.has_window = 0;
    return c;
}

static struct sim *run_one(const struct sim_config *c, int64_t bytes)
{
    struct sim *s = fix_sim(fix_chain(2, RATE, DELAY), c);

    fix_flow(s, 0, 1, bytes, 0);
    fix_run(s);
    cr_assert(fix_all_done(s));
    return s;
}

Test(receiver, every_nth_packet_and_the_last_are_acknowledged)
{
    static const uint32_t every[] = {1, 2, 3, 7, 100};

    for (size_t i = 0; i < sizeof every / sizeof *every; i++) {
        struct sim_config c = plain_config();
        struct sim *s;

        for (int mode = RECOVERY_GO_BACK_N; mode <= RECOVERY_SELECTIVE_REPEAT; mode += 2) {
            c.recovery = (enum recovery_mode)mode;
            c.ack_every_packets = every[i];
            s = run_one(&c, 50000);
            cr_assert_eq(fix_counters(s).ack_packets, (50 + every[i] - 1) / every[i]);
            cr_assert_eq(fix_counters(s).data_packets, 50);
            sim_destroy(s);
        }
    }
}

/* The reference compares the position with the interval, not the distance. */
Test(receiver, ack_interval_of_the_reference_only_delays_the_first_one)
{
    struct sim_config c = plain_config();
    struct sim *s;

    c.ack_interval_bytes = 10500;
    c.chunk_bytes = 1000000;
    s = run_one(&c, 50000);
    cr_assert_eq(fix_counters(s).ack_packets, 40); /* positions 11000 to 50000 */
    sim_destroy(s);
}

Test(receiver, marks_of_packets_without_an_answer_are_not_forgotten)
{
    struct sim_config c = plain_config();
    struct sim *s;

    c.ack_every_packets = 10;
    for (uint32_t i = 0; i < c.ecn_row_count; i++)
        c.ecn_rows[i].kmin_bytes = c.ecn_rows[i].kmax_bytes = 5000;
    s = fix_sim(fix_star(3, RATE, DELAY), &c);
    fix_flow(s, 1, 0, 200000, 0);
    fix_flow(s, 2, 0, 200000, 0);
    fix_run(s);
    cr_assert_gt(fix_counters(s).marks, 300);
    cr_assert_geq(fix_counters(s).cnp_echoes, 36); /* nearly each of 40 ACKs */
    sim_destroy(s);
}

/* ---- spraying ---- */

static uint32_t spines_used(const struct sim *s, uint32_t leaf, uint32_t spine_count)
{
    uint32_t used = 0;

    for (uint32_t p = 0; p < spine_count; p++) {
        struct port_stats ps;

        sim_port_stats(s, topo_find_port(sim_topo(s), leaf, 10 + p), &ps);
        used += ps.tx_packets > 5;
    }
    return used;
}

Test(receiver, sprayed_packets_take_several_paths_and_all_arrive)
{
    struct sim_config c = plain_config();
    struct sim *s;

    c.recovery = RECOVERY_SELECTIVE_REPEAT;
    c.routing = ROUTING_SPRAY;
    c.spray_paths = 16;
    s = fix_sim(fix_leaf_spine(2, 4, 4, RATE, DELAY), &c); /* leaves 8, 9; spines 10 to 13 */
    for (uint32_t h = 0; h < 4; h++)
        fix_flow(s, h, 4 + h, 1000000, 0);
    fix_run(s);
    cr_assert(fix_all_done(s));
    cr_assert_eq(spines_used(s, 8, 4), 4);
    cr_assert_eq(spines_used(s, 9, 4), 4); /* the ACKs */
    for (uint32_t f = 0; f < 4; f++)
        cr_assert_eq(s->rx[f].expected, 1000000);
    sim_destroy(s);
}

Test(receiver, sprayed_flow_moves_on_when_a_link_fails)
{
    struct sim_config c = plain_config();
    struct sim *s;

    c.recovery = RECOVERY_SELECTIVE_REPEAT;
    c.routing = ROUTING_SPRAY;
    c.event_count = 1;
    c.events[0] = (struct net_event){40 * PS_PER_US, 8, 10, NET_LINK_DOWN};
    s = fix_sim(fix_leaf_spine(2, 4, 4, RATE, DELAY), &c);
    for (uint32_t h = 0; h < 4; h++)
        fix_flow(s, h, 4 + h, 1000000, 0);
    fix_run(s);
    cr_assert(fix_all_done(s));
    sim_destroy(s);
}
