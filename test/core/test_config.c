/*
 * test_config.c - defaults, ranges and names of the model's parameters.
 */
#include "config.h"

#include "units.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static struct sim_config make_config(void)
{
    struct sim_config c;

    config_init(&c);
    return c;
}

Test(config, defaults_pass_their_own_check)
{
    const struct sim_config c = make_config();
    struct err_info e = {0};

    cr_assert_eq(config_check(&c, &e), 0, "%s", e.text);
    cr_assert_str_eq(e.text, "");
}

Test(config, defaults_are_the_documented_ones)
{
    const struct sim_config c = make_config();

    cr_expect_eq(c.seed, 1);
    cr_expect_eq(c.end_ps, TIME_NEVER);
    cr_expect_eq(c.round_ps, 1);
    cr_expect_eq(c.cc, CC_HPCC);
    cr_expect_eq(c.payload_bytes + c.header_bytes, 1048);
    cr_expect_eq(c.ack_bytes, 60);
    cr_expect_eq(c.pfc_bytes, 43);
    cr_expect(c.has_window && c.window_global && c.window_variable && c.rate_bound);
    cr_expect_eq(c.rto, RTO_ON);
    cr_expect_eq(c.rto_ps, PS_PER_MS);
    cr_expect_eq(c.nack_interval_ps, 500 * PS_PER_US);
    cr_expect_eq(c.min_rate_bps, 100000000);
    cr_expect_eq(c.buffer_bytes, 33554432);
    cr_expect(c.dcqcn.gain == 0.00390625);
    cr_expect(c.dctcp.gain == 0.0625);
    cr_expect(c.hpcc.target_util == 0.95);
    cr_expect_eq(c.int_multi, 4);
    cr_expect_eq(c.pfc_headroom_bytes, -1);
    cr_expect_eq(c.event_count, 0);
}

Test(config, default_thresholds_grow_with_the_rate)
{
    static const int64_t rates_gbps[] = {25, 40, 50, 100, 200, 400};
    static const int64_t kmin_kb[] = {100, 160, 200, 400, 800, 1600};
    static const int64_t kmax_kb[] = {400, 640, 800, 1600, 3200, 6400};
    const struct sim_config c = make_config();

    cr_assert_eq(c.ecn_row_count, COUNT(rates_gbps));
    for (size_t i = 0; i < COUNT(rates_gbps); i++) {
        cr_expect_eq(c.ecn_rows[i].rate_bps, rates_gbps[i] * 1000000000);
        cr_expect_eq(c.ecn_rows[i].kmin_bytes, kmin_kb[i] * 1000);
        cr_expect_eq(c.ecn_rows[i].kmax_bytes, kmax_kb[i] * 1000);
        cr_expect(c.ecn_rows[i].pmax == 0.2);
    }
}

Test(config, initialisation_covers_every_byte)
{
    struct sim_config a, b;

    memset(&a, 0xff, sizeof a);
    memset(&b, 0x00, sizeof b);
    config_init(&a);
    config_init(&b);
    cr_assert_eq(memcmp(&a, &b, sizeof a), 0);
}

/* Each breaks one thing; the message has to name it. */
#define BREAK(name, words, ...)                                                                    \
    static void break_##name(struct sim_config *c)                                                 \
    {                                                                                              \
        __VA_ARGS__;                                                                               \
    }
#define BREAK_LIST(X)                                                                              \
    X(end, "end time", c->end_ps = -1)                                                             \
    X(round, "time rounding", c->round_ps = 10)                                                    \
    X(payload_low, "packet payload", c->payload_bytes = 0)                                         \
    X(payload_high, "packet payload", c->payload_bytes = 65001)                                    \
    X(header, "packet header", c->header_bytes = 70000)                                            \
    X(ack_bytes, "ACK size", c->ack_bytes = 0)                                                     \
    X(pfc_bytes, "pause frame", c->pfc_bytes = 0)                                                  \
    X(cc, "congestion control", c->cc = CC_KIND_COUNT)                                             \
    X(window, "has_window", c->has_window = 2)                                                     \
    X(ack, "ACK mode", c->ack = (enum ack_mode)4)                                                  \
    X(ack_every, "packets per ACK", c->ack_every_packets = 0)                                      \
    X(chunk, "chunk", c->chunk_bytes = 0)                                                          \
    X(recovery, "recovery", c->recovery = (enum recovery_mode)3)                                   \
    X(nack, "NACK interval", c->nack_interval_ps = -1)                                             \
    X(rto_mode, "timeout mode", c->rto = (enum rto_mode)2)                                         \
    X(rto, "retransmission timeout", c->rto_ps = 0)                                                \
    X(cnp_interval, "CNP interval", c->cnp_interval_ps = -1)                                       \
    X(min_rate, "minimum rate", c->min_rate_bps = 0)                                               \
    X(fixed_rate, "fixed rate", c->fixed_rate_bps = -1)                                            \
    X(dcqcn_gain_low, "DCQCN gain", c->dcqcn.gain = 0)                                             \
    X(dcqcn_gain_high, "DCQCN gain", c->dcqcn.gain = 1.5)                                          \
    X(dcqcn_gain_nan, "DCQCN gain", c->dcqcn.gain = (double)NAN)                                   \
    X(dcqcn_timer, "DCQCN increase timer", c->dcqcn.increase_timer_ps = 0)                         \
    X(dcqcn_ai, "DCQCN additive", c->dcqcn.ai_bps = -1)                                            \
    X(hpcc_util, "HPCC target", c->hpcc.target_util = 1.01)                                        \
    X(hpcc_ai, "HPCC additive", c->hpcc.ai_bps = -5)                                               \
    X(int_hops, "INT hops", c->int_hops_max = 0)                                                   \
    X(int_multi, "INT multiplier", c->int_multi = 0)                                               \
    X(timely_order, "TIMELY lower", c->timely.tlow_ps = c->timely.thigh_ps + 1)                    \
    X(timely_rtt, "TIMELY minimum RTT", c->timely.min_rtt_ps = 0)                                  \
    X(timely_alpha, "TIMELY alpha", c->timely.alpha = -0.1)                                        \
    X(timely_beta, "TIMELY beta", c->timely.beta = 1.1)                                            \
    X(dctcp_gain, "DCTCP gain", c->dctcp.gain = 0)                                                 \
    X(dctcp_ai, "DCTCP additive", c->dctcp.ai_bps = -1)                                            \
    X(swift_target, "Swift base target", c->swift.base_target_ps = 0)                              \
    X(swift_mdf, "Swift largest decrease", c->swift.max_mdf = 0)                                   \
    X(swift_scaling, "Swift flow scaling", c->swift.fs_min_cwnd = 100)                             \
    X(swift_infinite, "Swift upper window", c->swift.fs_max_cwnd = (double)INFINITY)               \
    X(swift_window, "Swift largest window", c->swift.max_cwnd = 0.0005)                            \
    X(ecn_rows, "number of ECN rows", c->ecn_row_count = CONFIG_ECN_ROWS_MAX + 1)                  \
    X(ecn_none, "without thresholds", c->ecn_row_count = 0)                                        \
    X(ecn_order, "ECN lower", c->ecn_rows[2].kmin_bytes = c->ecn_rows[2].kmax_bytes + 1)           \
    X(ecn_rate, "ECN row rate", c->ecn_rows[1].rate_bps = 0)                                       \
    X(ecn_pmax, "probability", c->ecn_rows[5].pmax = 1.2)                                          \
    X(ecn_twice, "two ECN rows", c->ecn_rows[4].rate_bps = c->ecn_rows[3].rate_bps)                \
    X(buffer, "switch buffer", c->buffer_bytes = -1)                                               \
    X(headroom, "PFC headroom", c->pfc_headroom_bytes = -3)                                        \
    X(shift, "alpha shift", c->pfc_alpha_shift = 31)                                               \
    X(static_pfc, "static PFC threshold", c->pfc_static = 1)                                       \
    X(sched, "queue scheduling", c->sched = (enum sched_mode)2)                                    \
    X(routing, "routing", c->routing = (enum routing_mode)2)                                       \
    X(spray_low, "sprayed paths", c->spray_paths = 0)                                              \
    X(spray_high, "sprayed paths", c->spray_paths = 65)                                            \
    X(event_count, "link events", c->event_count = CONFIG_EVENTS_MAX + 1)                          \
    X(event_time, "time of a link event", c->event_count = 1; c->events[0].time_ps = -1)           \
    X(event_nodes, "names node 0 twice", c->event_count = 1)                                       \
    X(event_kind, "kind of a link event", c->event_count = 1; c->events[0].kind = 9)

BREAK_LIST(BREAK)

static const struct {
    const char *name, *words;
    void (*break_it)(struct sim_config *c);
} breakages[] = {
#define BREAK_ROW(name, words, ...) {#name, words, break_##name},
    BREAK_LIST(BREAK_ROW)
#undef BREAK_ROW
};

Test(config, what_is_out_of_range_is_named)
{
    for (size_t i = 0; i < COUNT(breakages); i++) {
        struct sim_config c = make_config();
        struct err_info e = {0};

        breakages[i].break_it(&c);
        cr_expect_eq(config_check(&c, &e), WH_ERR_INPUT, "%s was accepted", breakages[i].name);
        cr_expect_not_null(strstr(e.text, breakages[i].words), "%s: \"%s\"", breakages[i].name,
                           e.text);
        cr_expect_eq(config_check(&c, NULL), WH_ERR_INPUT);
    }
}

Test(config, sentence_gives_value_and_range)
{
    struct sim_config c = make_config();
    struct err_info e = {0};

    c.payload_bytes = 70000;
    (void)!config_check(&c, &e);
    cr_assert_str_eq(e.text, "packet payload is 70000 B, expected 1 to 65000 B");
    c = make_config();
    c.hpcc.target_util = 0;
    (void)!config_check(&c, &e);
    cr_assert_str_eq(e.text, "HPCC target utilisation is 0, expected more than 0 and at most 1");
}

Test(config, limits_of_the_ranges_are_legal)
{
    struct sim_config c = make_config();
    struct err_info e = {0};

    c.payload_bytes = 65000;
    c.round_ps = 1000;
    c.end_ps = 0;
    c.buffer_bytes = 0;
    c.pfc_headroom_bytes = -2;
    c.ecn = 0;
    c.ecn_row_count = 0;
    c.pfc_static = 1;
    c.pfc_static_bytes = 1;
    c.spray_paths = 64;
    c.swift.max_cwnd = 0.001;
    c.swift.flow_scaling_ps = 0;
    c.hpcc.target_util = 1;
    c.timely.tlow_ps = c.timely.thigh_ps;
    c.event_count = 1;
    c.events[0] = (struct net_event){.time_ps = 0, .a = 0, .b = 1, .kind = NET_LINK_UP};
    cr_assert_eq(config_check(&c, &e), 0, "%s", e.text);
}

Test(config, names_of_congestion_controls_go_both_ways)
{
    static const char *const names[CC_KIND_COUNT] = {
        [CC_NONE] = "none",     [CC_DCQCN] = "dcqcn", [CC_HPCC] = "hpcc",
        [CC_TIMELY] = "timely", [CC_DCTCP] = "dctcp", [CC_SWIFT] = "swift",
    };
    enum cc_kind cc = CC_NONE;

    for (unsigned i = 0; i < CC_KIND_COUNT; i++) {
        cr_expect_str_eq(config_cc_name((enum cc_kind)i), names[i]);
        cr_expect_eq(config_cc_from_name(names[i], &cc), 0);
        cr_expect_eq((unsigned)cc, i);
    }
    cc = CC_TIMELY;
    cr_expect_eq(config_cc_from_name("HPCC", &cc), WH_ERR_INPUT);
    cr_expect_eq(config_cc_from_name("", &cc), WH_ERR_INPUT);
    cr_expect_eq(cc, CC_TIMELY, "untouched on failure");
    cr_expect_str_eq(config_cc_name(CC_KIND_COUNT), "unknown");
}
