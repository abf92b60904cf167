/*
 * test_detect_params.c - steady/detect_params.c: the table, on the networks it was measured on and
 * on others.
 */
#include "detect_int.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#define GBPS INT64_C(1000000000)
#define MBPS INT64_C(1000000)
#define PS_PER_US INT64_C(1000000)
#define STAR_RTT_PS INT64_C(4200000)
#define TREE_RTT_PS INT64_C(12500000)

static struct detect_params init(const struct detect_spec *s)
{
    struct detect_params p = {.row = NULL};

    cr_assert_eq(detect_params_init(&p, s, NULL), 0);
    return p;
}

static struct detect_plan plan(const struct detect_spec *s, uint32_t flows, int64_t rtt_ps,
                               int64_t rate_bps)
{
    struct detect_params p = init(s);

    return detect_plan_calc(&p, flows, rtt_ps, rate_bps, rate_bps, 1000);
}

Test(detect_params, measured_values_come_out_where_they_were_measured)
{
    static const struct {
        struct detect_spec spec;
        double one_us, many_us, eps, kappa_one, kappa_many;
        int own_rate, batches;
    } rows[] = {
        {{.cc = CC_DCTCP, .ai_bps = 615 * MBPS}, 105, 1000, 0.005, INFINITY, 3, 0, 8},
        {{.cc = CC_SWIFT}, 105, 400, 0.005, INFINITY, 3, 0, 8},
        {{.cc = CC_HPCC, .ai_bps = 400 * MBPS}, 400, 400, 0.005, 3, 3, 0, 8},
        {{.cc = CC_HPCC, .ai_bps = 40 * MBPS}, 1000, 1000, 0.02, 3, 3, 1, 8},
        {{.cc = CC_TIMELY, .ai_bps = 100 * MBPS, .timer_ps = 500 * PS_PER_US},
         2000,
         2000,
         0.01,
         1,
         1,
         0,
         8},
        {{.cc = CC_DCQCN, .timer_ps = 300 * PS_PER_US}, 6000, 6000, 0.005, 1, 1, 0, 10},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int tree = 0; tree < 2; tree++) {
            const int64_t rtt_ps = tree ? TREE_RTT_PS : STAR_RTT_PS;
            const struct detect_plan p = plan(&rows[i].spec, 8, rtt_ps, 100 * GBPS);
            const double one_us = tree && rows[i].one_us == 105 ? 312.5 : rows[i].one_us;

            cr_assert_float_eq((double)p.window_ps[0] / 1e6, one_us, 0.1, "row %zu: %g us", i,
                               (double)p.window_ps[0] / 1e6);
            cr_assert_float_eq((double)p.window_ps[1] / 1e6, rows[i].many_us, 0.1, "row %zu", i);
            cr_assert_float_eq(p.eps, rows[i].eps, 1e-12);
            cr_assert_eq(p.kappa[0], rows[i].kappa_one);
            cr_assert_eq(p.kappa[1], rows[i].kappa_many);
            cr_assert_eq(p.own_rate, rows[i].own_rate);
            cr_assert_eq(p.batch_count, rows[i].batches);
            cr_assert_eq(p.guard_ps, 5 * rtt_ps);
            cr_assert_float_eq((double)p.decide_ps, (double)p.window_ps[0] / 32, 1);
            cr_assert_eq(p.lone_bins, rows[i].spec.cc == CC_HPCC ? 12 : 4);
            cr_assert_leq(p.bin_ps * p.batch_count, p.window_ps[0]);
        }
}

Test(detect_params, lone_flows_have_short_bins)
{
    const struct detect_plan dctcp =
        plan(&(struct detect_spec){.cc = CC_DCTCP}, 1, STAR_RTT_PS, 100 * GBPS);
    const struct detect_plan hpcc =
        plan(&(struct detect_spec){.cc = CC_HPCC}, 1, STAR_RTT_PS, 100 * GBPS);

    cr_assert_eq(dctcp.bin_ps, STAR_RTT_PS);
    cr_assert_eq(dctcp.lone_bins, 4);
    cr_assert_float_eq(dctcp.lone_tolerance, 0.005, 1e-12);
    cr_assert_eq(hpcc.bin_ps, 2 * STAR_RTT_PS);
    cr_assert_eq(hpcc.lone_bins, 8);
    cr_assert_float_eq(hpcc.lone_tolerance, 0.01, 1e-12);
    cr_assert_eq(hpcc.lone_patience_ps, 28 * STAR_RTT_PS);
    cr_assert_eq(dctcp.lone_patience_ps, 0);
    cr_assert(isinf(dctcp.lone_kappa));
}

Test(detect_params, the_budget_decides_when_to_be_patient)
{
    const struct detect_spec s = {.cc = CC_HPCC, .error_budget = 0.005};

    cr_assert_float_eq(plan(&s, 1, STAR_RTT_PS, 100 * GBPS).lone_kappa, 64, 1e-9);
}

Test(detect_params, windows_follow_round_trip_timer_and_increase)
{
    const struct detect_spec dctcp = {.cc = CC_DCTCP, .ai_bps = 615 * MBPS};
    const struct detect_spec timely = {.cc = CC_TIMELY, .ai_bps = 100 * MBPS};
    const struct detect_spec dcqcn = {.cc = CC_DCQCN, .timer_ps = 600 * PS_PER_US};

    cr_assert_eq(plan(&dctcp, 8, 100 * PS_PER_US, 100 * GBPS).window_ps[0], 2500 * PS_PER_US);
    cr_assert_eq(plan(&dctcp, 8, 100 * PS_PER_US, 100 * GBPS).window_ps[1], 8000 * PS_PER_US);
    cr_assert_eq(plan(&dctcp, 8, PS_PER_US, 100 * GBPS).window_ps[0], 64 * PS_PER_US);
    /* a cycle of DCTCP is sqrt(8) times as many round trips at 8 times the rate; TIMELY's 8 times
     */
    cr_assert_float_eq((double)plan(&dctcp, 8, STAR_RTT_PS, 800 * GBPS).window_ps[0],
                       105e6 * sqrt(8), 1e3);
    cr_assert_eq(plan(&dctcp, 8, STAR_RTT_PS, 25 * GBPS).window_ps[0], 105 * PS_PER_US);
    cr_assert_eq(plan(&timely, 8, STAR_RTT_PS, 800 * GBPS).window_ps[0], 16000 * PS_PER_US);
    cr_assert_eq(plan(&dcqcn, 8, STAR_RTT_PS, 100 * GBPS).window_ps[0], 12000 * PS_PER_US);
}

Test(detect_params, hpcc_keeps_own_rates_below_a_share_of_the_line_rate)
{
    const struct detect_spec s = {.cc = CC_HPCC, .ai_bps = 400 * MBPS};

    cr_assert_eq(plan(&s, 8, STAR_RTT_PS, 25 * GBPS).own_rate, 0);
    cr_assert_eq(plan(&s, 8, STAR_RTT_PS, 200 * GBPS).own_rate, 0);
    cr_assert_eq(plan(&s, 8, STAR_RTT_PS, 200 * GBPS).window_ps[0], 800 * PS_PER_US);
    cr_assert_eq(plan(&s, 8, STAR_RTT_PS, 400 * GBPS).own_rate, 1);
}

Test(detect_params, a_bin_holds_packets_on_slow_lines)
{
    struct detect_params p = init(&(struct detect_spec){.cc = CC_DCTCP});
    const struct detect_plan slow = detect_plan_calc(&p, 1, STAR_RTT_PS, GBPS, 100 * GBPS, 9000);

    cr_assert_eq(slow.bin_ps, 4 * 72 * PS_PER_US);
}

Test(detect_params, the_budget_scales_eps_and_overrides_win)
{
    struct detect_spec s = {.cc = CC_TIMELY, .error_budget = 0.03};

    cr_assert_float_eq(plan(&s, 8, STAR_RTT_PS, 100 * GBPS).eps, 0.03, 1e-12);
    s.eps = 0.002;
    s.kappa = INFINITY;
    s.window_ps = 32 * PS_PER_US;
    cr_assert_float_eq(plan(&s, 8, STAR_RTT_PS, 100 * GBPS).eps, 0.002, 1e-12);
    cr_assert(isinf(plan(&s, 8, STAR_RTT_PS, 100 * GBPS).kappa[1]));
    cr_assert_eq(plan(&s, 8, STAR_RTT_PS, 100 * GBPS).window_ps[1], 32 * PS_PER_US);
    cr_assert_eq(plan(&s, 8, STAR_RTT_PS, 100 * GBPS).bin_ps, 4 * PS_PER_US);
}

Test(detect_params, values_out_of_range_are_refused_with_a_sentence)
{
    static const struct detect_spec bad[] = {
        {.cc = (enum cc_kind)99},
        {.rule = (enum detect_rule)9},
        {.error_budget = -0.1},
        {.error_budget = 0.6},
        {.error_budget = (double)NAN},
        {.eps = 0.6},
        {.kappa = -1},
        {.theta = 2},
        {.paper_samples = 2000000},
        {.flow_count_max = 8193},
        {.window_ps = -1},
        {.timer_ps = INT64_MAX},
    };

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct detect_params p = {.row = NULL};
        struct err_info e = {.line = 0};

        cr_assert_eq(detect_params_init(&p, &bad[i], &e), WH_ERR_INPUT, "row %zu", i);
        cr_assert_null(p.row);
        cr_assert_neq(strlen(e.text), 0);
    }
}
