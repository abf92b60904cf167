/*
 * detect_params.c - the table of evidence and what it comes to on a given partition.
 *
 * Evidence. Ten scenarios at 100 Gb/s with base round trips of 4.2 us (star) and 12.5 us
 * (fat-tree), flows of 10 to 500 MB, every variant against the same run without skipping. Findings
 * the rows rest on:
 * - One group (incasts, collisions): the group's mean is known at once. Windows of 8 to 48 round
 *   trips give the same error; below 25 Swift sometimes fails the noise test. 25 round trips, no
 *   kappa: error at the noise floor, DCTCP 24x, Swift 25x fewer events.
 * - Several groups: shares converge slowly. Error by w = 0.1 / 0.4 / 1 / 2 ms: DCTCP 3.5, 0.7, 0.6,
 *   0.4 %; Swift 2.7, 0.5, 0.4, 0.3 %; TIMELY 3.8, 1.9, 0.5, 0.7 %; DCQCN 5.4, 3.6, 1.4, 1.5 %.
 * - kappa 0.5 / 1 / 3 / 10 / none: DCTCP 0.78, 0.74, 0.69, 0.72, 0.71 %; TIMELY 1.1, 1.0, 1.9, 2.3,
 *   2.2 %; DCQCN 2.9, 3.1, 3.6, 4.0, 4.1 %. HPCC with an additive increase of 0.4 %: 0.33 with
 * kappa 3, 0.65 without, on scenarios the rule was not chosen on.
 * - HPCC with 0.04 %: shares wander for ever (0.64 to 1.79 of fair over 150 ms), so flows keep
 * their own rates, and no eps below 2 % is ever met.
 * - DCQCN: throughput dips with its 300 us timer for 5 to 20 ms; 20 timers average that out.
 * - Batches: 4 mislead (DCTCP 2.7 against 0.7 %), 8 and 16 agree. Guard: 5 us to 300 us agree.
 * - Observing a lone flow: 4 bins of a round trip, error 0.0000 %. HPCC swings around its target,
 * in a sawtooth of 16 round trips on short paths: error of a rate by w = 12 / 16 / 24 / 32 round
 * trips 0.10, 0.03, 0.06, 0.02 %; on longer ones 0.05, 0.04, 0.04, 0.03 %. Until the start from the
 * line rate is forgotten it is more. Of the starts tried over 32 networks (25 to 400 Gb/s, 0.6 to 5
 * us a link, half of them rings with charged acknowledgements) 12 was the best, which flatters; on
 * 32 others a window that begins after 2 / 4 / 8 / 12 / 16 round trips is off by 0.14, 0.08, 0.06,
 *   0.05, 0.09 % rms on single flows, by 0.15, 0.15, 0.13, 0.14, 0.12 % in charged rings. So it is
 * 12 where that costs a flow less than 1/128 of its time.
 *
 * From there to other networks. Window-based schemes act once a round trip, which with their queue
 * (5 us at the ECN threshold or target delay, whatever the line rate) is 9 to 18 us here; windows
 * that served both round trips are a floor in time and scale with the round trip beyond the longer
 * one. Timer-based schemes scale with their timer. Where a scheme climbs by a fixed rate per round
 * trip, a faster line makes its cycle longer: linearly for TIMELY and for HPCC's fairness, by the
 * square root for DCTCP, whose cut shrinks meanwhile (Alizadeh et al., SIGCOMM 2010, section 3.3).
 */
#include "detect_int.h"

#include <math.h>

#define PS_PER_US INT64_C(1000000)
#define PS_PER_MS INT64_C(1000000000)

/* Below this share of the line rate HPCC's additive increase does not make flows fair in time.
 * 0.4 % does, 0.04 % does not; in between nothing was tried, the cautious half goes to own rates.
 */
#define HPCC_SMALL_AI_SHARE 0.002

#define BIN_RTTS 1.5             /* 1 to 2 serve equally */
#define DECIDE_WINDOW (1.0 / 32) /* of the shortest window: as often as the rule was tried with */
#define BIN_PACKETS 4            /* at line rate, so that a bin holds ACKs on slow lines too */
#define SETTLE_BINS 2 /* the empty first round trip alone cost 0.29 % of a 50 MB flow's FCT */

/* The short cut of lone flows. HPCC aims at 0.95 of the line; without feedback nothing climbs. */
#define LONE(bins, rtts, tolerance, reach)                                                         \
    .lone_bins = (bins), .lone_bin_rtts = (rtts), .lone_tolerance = (tolerance),                   \
    .lone_reach = (reach)
#define LONE_DEFAULT LONE(4, 1, 0.005, 0.99)
#define LONE_NONE LONE(4, 1, 0.005, 0)
#define LONE_HPCC LONE(8, 2, 0.01, 0.85), .lone_kappa = 128, .lone_patience_rtts = 28

static const struct detect_row rows[CC_KIND_COUNT] = {
    /* No feedback: rates are what arbitration gives, and differ. Not measured, hence cautious. */
    [CC_NONE] = {.eps = 0.005,
                 .own_rate = 1,
                 .batch_count = 8,
                 .one = {PS_PER_MS, 80, 0, 3},
                 .many = {PS_PER_MS, 80, 0, 3},
                 LONE_NONE},
    [CC_DCQCN] = {.eps = 0.005,
                  .batch_count = 10,
                  .one = {PS_PER_MS, 80, 20, 1},
                  .many = {PS_PER_MS, 80, 20, 1},
                  .timer_ps = 300 * PS_PER_US,
                  LONE_DEFAULT},
    [CC_HPCC] = {.eps = 0.005,
                 .batch_count = 8,
                 .one = {400 * PS_PER_US, 32, 0, 3},
                 .many = {400 * PS_PER_US, 32, 0, 3},
                 .ai_share = 0.004,
                 .ai_power = 1,
                 .ai_stretch_max = 2.5,
                 LONE_HPCC},
    [CC_TIMELY] = {.eps = 0.01,
                   .batch_count = 8,
                   .one = {PS_PER_MS, 160, 4, 1},
                   .many = {PS_PER_MS, 160, 4, 1},
                   .timer_ps = 500 * PS_PER_US,
                   .ai_share = 0.001,
                   .ai_power = 1,
                   .ai_stretch_max = 8,
                   LONE_DEFAULT},
    [CC_DCTCP] = {.eps = 0.005,
                  .batch_count = 8,
                  .one = {64 * PS_PER_US, 25, 0, INFINITY},
                  .many = {PS_PER_MS, 80, 0, 3},
                  .ai_share = 0.00615,
                  .ai_power = 0.5,
                  .ai_stretch_max = 4,
                  LONE_DEFAULT},
    [CC_SWIFT] = {.eps = 0.005,
                  .batch_count = 8,
                  .one = {64 * PS_PER_US, 25, 0, INFINITY},
                  .many = {400 * PS_PER_US, 32, 0, 3},
                  LONE_DEFAULT},
};

static const struct detect_row row_hpcc_small_ai = {.eps = 0.02,
                                                    .own_rate = 1,
                                                    .batch_count = 8,
                                                    .one = {PS_PER_MS, 80, 0, 3},
                                                    .many = {PS_PER_MS, 80, 0, 3},
                                                    LONE_HPCC};

/* Each is written so that a NaN fails. */
static const char *find_bad_value(const struct detect_spec *s)
{
    if ((unsigned)s->cc >= CC_KIND_COUNT)
        return "a known congestion control";
    if (s->rule != DETECT_RULE_OWN && s->rule != DETECT_RULE_PAPER)
        return "a known steady rule";
    if (!(s->error_budget >= 0 && s->error_budget <= 0.5))
        return "an error budget of 0 to 50 %";
    if (!(s->eps >= 0 && s->eps <= 0.5))
        return "an eps of 0 to 50 %";
    if (!(s->kappa >= 0))
        return "a kappa of at least 0";
    if (!(s->theta >= 0 && s->theta <= 1))
        return "a theta of 0 to 100 %";
    if (s->paper_samples > DETECT__PAPER_SAMPLES_MAX)
        return "at most 1,000,000 samples for the paper's rule";
    if (s->flow_count_max > DETECT_FLOWS_LIMIT)
        return "at most 8,192 flows in a watched partition";
    if (s->ai_bps < 0 || s->timer_ps < 0 || s->quantum_ps < 0 || s->window_ps < 0)
        return "times and rates of at least 0";
    if (s->window_ps > DETECT__TIME_PS_MAX || s->timer_ps > DETECT__TIME_PS_MAX ||
        s->quantum_ps > DETECT__TIME_PS_MAX)
        return "times of at most 1,000 s";
    return NULL;
}

int detect_params_init(struct detect_params *p, const struct detect_spec *spec, struct err_info *e)
{
    const char *expected = find_bad_value(spec);
    struct detect_spec *s;

    if (expected)
        return err_input(e, NULL, 0, "a value out of range", expected);
    *p = (struct detect_params){
        .spec = *spec,
        .row = &rows[spec->cc],
        .row_small_ai = spec->cc == CC_HPCC ? &row_hpcc_small_ai : NULL,
        .spread_max = 0.25,
        .congested_util = 0.5, /* at 0.85 HPCC's target of 0.95 slips through: errors of 12 % */
        .in_flight_max = 0.05, /* without it TIMELY's error rises from 1.9 to 5.0 % */
        .trend_sigmas = 2,
        .guard_rtts = 5,
        .guard_lone_rtts = 1.5, /* nothing but its own last window is left to change */
    };
    s = &p->spec;
    s->error_budget = s->error_budget > 0 ? s->error_budget : DETECT_BUDGET_DEFAULT;
    s->quantum_ps = s->quantum_ps ? s->quantum_ps : 1;
    s->flow_count_max = s->flow_count_max ? s->flow_count_max : DETECT_FLOWS_DEFAULT;
    s->theta = s->theta > 0 ? s->theta : DETECT_PAPER_THETA;
    s->paper_samples = s->paper_samples ? s->paper_samples : DETECT_PAPER_SAMPLES;
    if (s->rule == DETECT_RULE_PAPER)
        p->guard_rtts = p->guard_lone_rtts = 12; /* 50 us, as it was measured with */
    return 0;
}

static int64_t to_ps(double ps)
{
    return ps < (double)DETECT__TIME_PS_MAX ? llrint(ps) : DETECT__TIME_PS_MAX;
}

static double max_double(double a, double b)
{
    return a > b ? a : b;
}

/* How much longer than measured a cycle is, because the line is faster for the same increase. The
 * root is that of IEEE 754, exact to the last bit everywhere; pow() is not. */
static double calc_stretch(const struct detect_row *row, int64_t ai_bps, int64_t rate_bps)
{
    double ratio;

    if (!ai_bps || !(row->ai_power > 0))
        return 1;
    ratio = row->ai_share * (double)rate_bps / (double)ai_bps;
    if (row->ai_power < 1)
        ratio = sqrt(ratio);
    if (ratio > row->ai_stretch_max)
        return row->ai_stretch_max;
    return ratio > 1 ? ratio : 1;
}

static int64_t calc_window_ps(const struct detect_case *c, double rtt_ps, double timer_ps,
                              double stretch)
{
    double w = (double)c->floor_ps;

    w = max_double(w, c->rtts * rtt_ps);
    w = max_double(w, c->timers * timer_ps);
    return to_ps(w * stretch);
}

static const struct detect_row *choose_row(const struct detect_params *p, int64_t rate_bps)
{
    const int64_t ai_bps = p->spec.ai_bps;

    if (p->row_small_ai && ai_bps && (double)ai_bps < HPCC_SMALL_AI_SHARE * (double)rate_bps)
        return p->row_small_ai;
    return p->row;
}

/* Windows and kappas, [0] for one group, [1] for several; overrides go first. */
static void plan_windows(struct detect_plan *plan, const struct detect_params *p,
                         const struct detect_row *row, double rtt_ps, int64_t rate_bps)
{
    const struct detect_spec *s = &p->spec;
    const struct detect_case *const cases[2] = {&row->one, &row->many};
    const double timer_ps = (double)(s->timer_ps ? s->timer_ps : row->timer_ps);
    const double stretch = calc_stretch(row, s->ai_bps, rate_bps);

    for (int i = 0; i < 2; i++) {
        plan->window_ps[i] =
            s->window_ps ? s->window_ps : calc_window_ps(cases[i], rtt_ps, timer_ps, stretch);
        plan->kappa[i] = s->kappa > 0 ? s->kappa : cases[i]->kappa;
    }
}

/* Of several flows: one to two round trips, but a bin for each batch of a short window. A long one
 * soon has longer bins, see detect_int.h. */
static double calc_bin_ps(const struct detect_plan *plan, double rtt_ps)
{
    const double window_ps = (double)plan->window_ps[0];
    const double bin_ps = BIN_RTTS * rtt_ps;

    return bin_ps * plan->batch_count > window_ps ? window_ps / plan->batch_count : bin_ps;
}

/* The same time in the bins of several flows, in whole sub-windows. */
static uint32_t calc_lone_bins(const struct detect_row *row, int is_lone)
{
    const double windows = row->lone_bins * row->lone_bin_rtts / BIN_RTTS / DETECT__LONE_WINDOWS;

    return is_lone ? row->lone_bins : DETECT__LONE_WINDOWS * (uint32_t)ceil(windows);
}

struct detect_plan detect_plan_calc(const struct detect_params *p, uint32_t flow_count,
                                    int64_t base_rtt_ps, int64_t rate_bps_min, int64_t rate_bps_max,
                                    int64_t payload_bytes)
{
    const struct detect_row *row = choose_row(p, rate_bps_max);
    const double rtt_ps = (double)base_rtt_ps;
    const double packets_ps =
        BIN_PACKETS * (double)payload_bytes * DETECT__BIT_PS / (double)rate_bps_min;
    const int is_lone = flow_count == 1;
    const double bin_rtts = is_lone ? 1 : BIN_RTTS;
    const double scale = p->spec.error_budget / DETECT_BUDGET_DEFAULT;
    struct detect_plan plan = {
        .own_rate = row->own_rate,
        .batch_count = row->batch_count,
        .lone_bins = calc_lone_bins(row, is_lone),
        .lone_tolerance = row->lone_tolerance,
        .lone_reach = row->lone_reach,
        .lone_kappa = row->lone_kappa > 0 ? row->lone_kappa * scale : INFINITY,
        .lone_patience_ps = to_ps(row->lone_patience_rtts * rtt_ps),
        .guard_ps = to_ps((is_lone ? p->guard_lone_rtts : p->guard_rtts) * rtt_ps),
        .settle_ps = to_ps(SETTLE_BINS * max_double(bin_rtts * rtt_ps, packets_ps)),
        .eps = p->spec.eps > 0 ? p->spec.eps : row->eps * scale,
    };

    plan_windows(&plan, p, row, rtt_ps, rate_bps_max);
    plan.bin_ps = to_ps(
        max_double(is_lone ? row->lone_bin_rtts * rtt_ps : calc_bin_ps(&plan, rtt_ps), packets_ps));
    plan.decide_ps = to_ps((double)plan.window_ps[0] * DECIDE_WINDOW);
    for (int i = 0; i < 2; i++)
        if (plan.window_ps[i] < plan.bin_ps * plan.batch_count)
            plan.window_ps[i] = plan.bin_ps * plan.batch_count;
    return plan;
}
