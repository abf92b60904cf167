/*
 * Lost packets are recovered: go-back-N, go-back-0, selective repeat, timeouts.
 */
#include "sim_fixture.h"
#include "sim_int.h"
#include "units.h"

#include <criterion/criterion.h>
#include <math.h>

#define RATE (100 * GBPS)
#define DELAY PS_PER_US
#define FULL_PS (1048 * 80)

static struct sim_config plain_config(enum recovery_mode recovery)
{
    struct sim_config c = fix_config(CC_NONE);

    c.has_window = 0;
    c.recovery = recovery;
    return c;
}

/* Two hosts and a switch whose links lose packets at @error_rate. */
static struct sim *lossy_sim(const struct sim_config *c, double error_rate)
{
    const struct fix_link links[] = {{0, 2, RATE, DELAY, error_rate},
                                     {2, 1, RATE, DELAY, error_rate}};

    return fix_sim(fix_graph(2, 1, links, 2), c);
}

/* ---- random loss ---- */

static double mean_fct(enum recovery_mode recovery, double error_rate)
{
    struct sim_config c = plain_config(recovery);
    double sum = 0;

    for (c.seed = 1; c.seed <= 10; c.seed++) {
        struct sim *s = lossy_sim(&c, error_rate);
        struct sim_counters n;
        double expected;

        fix_flow(s, 0, 1, 1000000, 0);
        fix_run(s);
        cr_assert(fix_all_done(s), "rate %g, seed %lu", error_rate, (unsigned long)c.seed);
        n = fix_counters(s);
        expected = error_rate * (double)(n.packet_hops);
        cr_assert(fabs((double)n.losses - expected) <= 4 * sqrt(expected),
                  "rate %g, seed %lu: %lu losses, expected about %g", error_rate,
                  (unsigned long)c.seed, (unsigned long)n.losses, expected);
        cr_assert_eq(n.drops, 0);
        sum += (double)fix_fct(s, 0);
        sim_destroy(s);
    }
    return sum;
}

static void check_rising(enum recovery_mode recovery)
{
    const double rates[] = {0, 1e-3, 1e-2, 1e-1};
    double last = 0;

    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        const double fct = mean_fct(recovery, rates[i]);

        cr_assert_gt(fct, last, "rate %g: mean %g ps, not above %g", rates[i], fct, last);
        last = fct;
    }
}

Test(loss, flows_end_and_take_longer_the_more_is_lost)
{
    check_rising(RECOVERY_GO_BACK_N);
    check_rising(RECOVERY_SELECTIVE_REPEAT);
}

Test(loss, selective_repeat_is_faster_than_go_back_n)
{
    cr_assert_lt(mean_fct(RECOVERY_SELECTIVE_REPEAT, 1e-2), mean_fct(RECOVERY_GO_BACK_N, 1e-2));
}

Test(loss, link_that_loses_everything_stalls_the_flow)
{
    struct sim_config c = plain_config(RECOVERY_GO_BACK_N);

    for (int mode = RECOVERY_GO_BACK_N; mode <= RECOVERY_SELECTIVE_REPEAT; mode++) {
        struct sim *s;

        c.recovery = (enum recovery_mode)mode;
        c.rto_retries_max = 5;
        s = lossy_sim(&c, 1);
        fix_flow(s, 0, 1, 100000, 0);
        fix_run(s);
        cr_assert_eq(sim_flow_result(s, 0)->state, FLOW_STALLED);
        cr_assert_eq(sim_flow_result(s, 0)->end_ps, -1);
        cr_assert_eq(fix_counters(s).flows_stalled, 1);
        cr_assert_eq(fix_counters(s).timeouts, 6);
        cr_assert(sim_is_done(s));
        cr_assert_eq(sim_now_ps(s), 6 * PS_PER_MS);
        sim_destroy(s);
    }
}

/* Nothing repeats a resume: a lost one would stop a port for ever. */
Test(loss, pause_frames_survive)
{
    struct sim_config c = plain_config(RECOVERY_SELECTIVE_REPEAT);
    struct topo *t = fix_star(9, RATE, DELAY);
    struct sim *s;

    t->classes[0].error_rate = 0.05;
    c.buffer_bytes = 1 << 20;
    s = fix_sim(t, &c);
    for (uint32_t h = 1; h < 9; h++)
        fix_flow(s, h, 0, 1000000, 0);
    fix_run(s);
    cr_assert_gt(fix_counters(s).pauses, 100);
    cr_assert(fix_all_done(s));
    sim_destroy(s);
}

/* ---- forced loss ---- */

/* Runs one flow of @bytes from host 0 over switch 2 to host 1 and cuts one wire at @at_ps. */
static struct sim *cut_run(const struct sim_config *c, int64_t bytes, int64_t at_ps,
                           struct fix_cut *cut)
{
    struct sim *s = fix_sim(fix_chain(2, RATE, DELAY), c);

    fix_flow(s, 0, 1, bytes, 0);
    fix_cut_wire(s, at_ps, cut);
    fix_run(s);
    cr_assert(fix_all_done(s), "flow ends in state %u", sim_flow_result(s, 0)->state);
    return s;
}

static const enum recovery_mode modes[] = {RECOVERY_GO_BACK_N, RECOVERY_GO_BACK_0,
                                           RECOVERY_SELECTIVE_REPEAT};

Test(loss, last_packet_lost_is_sent_again_after_the_timeout)
{
    for (int m = 0; m < 3; m++) {
        const struct sim_config c = plain_config(modes[m]);
        struct fix_cut cut = {0, 2, 0};
        struct sim *s = cut_run(&c, 4000, 4 * FULL_PS + DELAY - 1, &cut);

        cr_assert_eq(cut.packets, 1);
        cr_assert_eq(fix_counters(s).timeouts, 1);
        cr_assert_geq(fix_counters(s).retx_packets, 1);
        cr_assert_gt(fix_fct(s, 0), c.rto_ps);
        cr_assert_lt(fix_fct(s, 0), c.rto_ps + 20 * PS_PER_US);
        sim_destroy(s);
    }
}

Test(loss, last_acknowledgement_lost_is_asked_for_after_the_timeout)
{
    for (int m = 0; m < 3; m++) {
        const struct sim_config c = plain_config(modes[m]);
        struct fix_cut cut = {1, 2, 0};
        /* the last ACK leaves host 1 when the last packet has arrived */
        const int64_t at = 5 * FULL_PS + 2 * DELAY + 1;
        struct sim *s = cut_run(&c, 4000, at, &cut);

        cr_assert_gt(cut.packets, 0);
        cr_assert_eq(fix_counters(s).timeouts, 1);
        cr_assert_gt(fix_fct(s, 0), c.rto_ps);
        sim_destroy(s);
    }
}

/* A lost ACK in mid flow is covered by the next one. */
Test(loss, acknowledgement_lost_in_mid_flow_costs_nothing)
{
    const struct sim_config c = plain_config(RECOVERY_GO_BACK_N);
    struct fix_cut cut = {1, 2, 0}, none = {1, 2, 0};
    struct sim *s = cut_run(&c, 100000, 40 * FULL_PS, &cut);
    struct sim *whole = cut_run(&c, 100000, 0, &none);

    cr_assert_gt(cut.packets, 0);
    cr_assert_eq(none.packets, 0);
    cr_assert_eq(fix_fct(s, 0), fix_fct(whole, 0));
    cr_assert_eq(fix_counters(s).retx_packets, 0);
    sim_destroy(s);
    sim_destroy(whole);
}

Test(loss, gap_makes_one_nack_and_all_from_it_is_sent_again)
{
    const struct sim_config c = plain_config(RECOVERY_GO_BACK_N);
    struct fix_cut cut = {0, 2, 0};
    struct sim *s = cut_run(&c, 100000, 40 * FULL_PS, &cut);
    const int64_t retx = sim_flow_result(s, 0)->retx_bytes;

    cr_assert_eq(fix_counters(s).nack_packets, 1); /* the others fall into the NACK interval */
    cr_assert_eq(fix_counters(s).timeouts, 0);
    /* what was lost and what had been sent behind it, about a round trip's worth */
    cr_assert_gt(retx, (int64_t)cut.packets * 1000);
    cr_assert_eq(retx, 1000 * (int64_t)fix_counters(s).retx_packets);
    sim_destroy(s);
}

Test(loss, selective_repeat_sends_again_only_what_is_missing)
{
    const struct sim_config c = plain_config(RECOVERY_SELECTIVE_REPEAT);
    struct fix_cut cut = {0, 2, 0};
    struct sim *s = cut_run(&c, 100000, 40 * FULL_PS, &cut);

    cr_assert_gt(cut.packets, 1);
    cr_assert_eq(fix_counters(s).retx_packets, cut.packets);
    cr_assert_eq(fix_counters(s).timeouts, 0);
    sim_destroy(s);
}

/* The receiver falls back to a multiple of the chunk, so whole chunks are sent again. */
Test(loss, go_back_0_begins_at_the_chunk)
{
    struct sim_config c = plain_config(RECOVERY_GO_BACK_0);
    struct fix_cut cut = {0, 2, 0};
    struct sim *s;

    c.chunk_bytes = 50000;
    s = fix_sim(fix_chain(2, RATE, DELAY), &c);
    fix_flow(s, 0, 1, 100000, 0);
    fix_cut_wire(s, 40 * FULL_PS, &cut); /* in the first chunk */
    fix_run(s);
    cr_assert(fix_all_done(s));
    cr_assert_gt(cut.packets, 0);
    cr_assert_geq(sim_flow_result(s, 0)->retx_bytes, 40000);
    sim_destroy(s);
}

/* A chunk that takes longer than the timeout: what arrives within it counts as progress. */
Test(loss, go_back_0_does_not_time_out_within_a_chunk)
{
    struct sim_config c = plain_config(RECOVERY_GO_BACK_0);
    struct sim *s;

    c.chunk_bytes = 1000000;
    c.fixed_rate_bps = GBPS;
    s = fix_sim(fix_chain(2, RATE, DELAY), &c);
    fix_flow(s, 0, 1, 2000000, 0);
    fix_run(s);
    cr_assert(fix_all_done(s));
    cr_assert_eq(fix_counters(s).timeouts, 0);
    sim_destroy(s);
}

/* What waits for its pacing time is not outstanding, no timeout is counted. */
Test(loss, nothing_outstanding_is_no_timeout)
{
    for (int m = 0; m < 3; m += 2) {
        struct sim_config c = plain_config(modes[m]);
        struct sim *s;

        c.fixed_rate_bps = 1000000; /* 8.4 ms a packet, the timeout is 1 ms */
        c.rto_retries_max = 1;
        s = fix_sim(fix_chain(2, RATE, DELAY), &c);
        fix_flow(s, 0, 1, 5000, 0);
        fix_run(s);
        cr_assert(fix_all_done(s));
        cr_assert_eq(fix_counters(s).timeouts, 0);
        sim_destroy(s);
    }
}

/* Reports reach 65,535 packets ahead; what lies further is sent again, not taken for another. */
Test(loss, selective_repeat_survives_a_gap_of_more_than_16_bits)
{
    struct sim_config c = plain_config(RECOVERY_SELECTIVE_REPEAT);
    struct fix_cut cut = {0, 2, 0}, again = {0, 2, 0};
    struct sim *s;

    c.payload_bytes = 64;
    c.rto_ps = 10 * PS_PER_MS;
    s = fix_sim(fix_chain(2, RATE, DELAY), &c);
    fix_flow(s, 0, 1, 64 * 200000, 0);
    fix_cut_wire(s, 100 * PS_PER_NS, &cut);
    fix_cut_wire(s, 4300 * PS_PER_NS, &again); /* packets that are sent for the second time */
    fix_run(s);
    cr_assert_gt(again.packets, 0);
    cr_assert(fix_all_done(s), "state %u at %ld B", sim_flow_result(s, 0)->state,
              (long)sim_flow_result(s, 0)->acked_bytes);
    sim_destroy(s);
}
