/*
 * detect_decide.c - the verdict: which window, which tests, how long.
 */
#include "detect_int.h"

#include <math.h>

static const char *const reason_texts[DETECT_REASON_COUNT] = {
    [DETECT_STEADY] = "steady",
    [DETECT_TOO_MANY_FLOWS] = "too many flows to watch",
    [DETECT_TOO_EARLY] = "observed for [ps], the window needs",
    [DETECT_IDLE] = "a flow had too few acknowledgements in the window",
    [DETECT_IN_FLIGHT] = "bytes in flight changed by, as a share of the delivered bytes",
    [DETECT_SPREAD] = "a flow's rate is off its group's mean by",
    [DETECT_FLUCTUATES] = "rates differ by, as a share of their mean",
    [DETECT_CLIMBING] = "a lone flow has of what it may ask for or the path gives the share",
    [DETECT_NOISE] = "the relative standard error of the rate is",
    [DETECT_TREND] = "the rate drifts within the window by",
    [DETECT_KAPPA] = "a skip is limited by the time observed",
    [DETECT_TOO_SHORT] = "a skip would be shorter [ps] than is worth it",
    [DETECT_ENDING] = "a flow ends in [ps], less the guard",
};

const char *detect_reason_text(enum detect_reason reason)
{
    return (unsigned)reason < DETECT_REASON_COUNT ? reason_texts[reason] : "unknown";
}

/* Of the edges at least @need_ps back, the newest. Returns 0 if there is none. */
static int find_edge(const struct detect *d, int64_t need_ps, uint32_t *edge)
{
    const int64_t now_ps = d->edge_ps[d->edge_count - 1];
    uint32_t low = 0, high = d->edge_count; /* edges before low are old enough */

    while (low < high) {
        const uint32_t mid = low + (high - low) / 2;

        if (now_ps - d->edge_ps[mid] >= need_ps)
            low = mid + 1;
        else
            high = mid;
    }
    *edge = low - 1;
    return low > 0;
}

/* Whether even the shorter window is still to fill: then there is no need to look at the flows. */
static int is_early(const struct detect *d, struct detect_verdict *v)
{
    const int64_t *const need_ps = d->plan.window_ps;
    const int64_t min_ps = need_ps[0] < need_ps[1] ? need_ps[0] : need_ps[1];

    v->window_ps = d->edge_ps[d->edge_count - 1] - d->edge_ps[0];
    if (v->window_ps >= min_ps)
        return 0;
    return detect__fail(d, v, DETECT_TOO_EARLY, DETECT_NONE, (double)v->window_ps, (double)min_ps);
}

static int choose_window(const struct detect *d, struct detect__window *w, struct detect_verdict *v)
{
    const int several = d->group_count > 1 && !d->plan.own_rate;
    const int64_t now_ps = d->edge_ps[d->edge_count - 1];
    const int64_t need_ps = d->plan.window_ps[several];
    const int64_t half_ps = (now_ps - d->begin_ps) / 2;
    const int64_t observed_ps = now_ps - d->edge_ps[0];

    w->kappa = d->plan.kappa[several];
    w->last = d->edge_count - 1;
    w->first = 0;
    if (!d->has_thawed && !find_edge(d, half_ps > need_ps ? half_ps : need_ps, &w->first))
        w->first = 0;
    w->span_ps = now_ps - d->edge_ps[w->first];
    v->window_ps = w->span_ps;
    if (w->span_ps >= need_ps && w->last - w->first >= d->plan.batch_count)
        return 0;
    return detect__fail(d, v, DETECT_TOO_EARLY, DETECT_NONE, (double)observed_ps, (double)need_ps);
}

/* A length and what sets it. */
struct bound {
    double ps;
    enum detect_reason reason;
    uint32_t group;
    double measured;
};

static void lower(struct bound *b, double ps, enum detect_reason reason, uint32_t group,
                  double measured)
{
    if (ps < b->ps)
        *b = (struct bound){ps, reason, group, measured};
}

/* Time since the control event, skipped time included. */
static double calc_age_ps(const struct detect *d)
{
    return (double)(d->edge_ps[d->edge_count - 1] - d->begin_ps) + (double)d->skipped_ps;
}

/* Step 6 of the rule but for kappa and the end. @total_ps: T, the first flow's time from the
 * control event to its end. */
static struct bound bound_by_groups(struct detect *d, const struct detect__window *w,
                                    double total_ps)
{
    const double eps = d->plan.eps;
    struct bound b = {.ps = INFINITY, .reason = DETECT_ENDING, .group = DETECT_NONE};

    detect__fill_batches(d, w);
    for (uint32_t g = 0; g < d->group_count; g++) {
        const struct detect__scatter s = detect__calc_scatter(d->batch_bps + g, d->plan.batch_count,
                                                              d->group_count, d->p->trend_sigmas);

        if (s.se > 0)
            lower(&b, total_ps * (eps / s.se) * (eps / s.se), DETECT_NOISE, g, s.se);
        if (s.drift != 0)
            lower(&b, 2 * eps / fabs(s.drift) * ((double)w->span_ps / 2), DETECT_TREND, g, s.drift);
    }
    return b;
}

static uint32_t first_of_group(const struct detect *d, uint32_t group)
{
    for (uint32_t f = 0; f < d->flow_count; f++)
        if (d->group_of[f] == group)
            return f;
    return DETECT_NONE;
}

/* The window has passed its tests and the rates are estimated. */
static void decide_length(struct detect *d, const struct detect__window *w,
                          struct detect_verdict *v)
{
    const double age_ps = calc_age_ps(d);
    const struct detect__end end = detect__find_end(d);
    struct bound b;

    if (end.first_ps <= 0) {
        detect__fail(d, v, DETECT_ENDING, end.flow, end.finish_ps, (double)d->plan.guard_ps);
        return;
    }
    b = bound_by_groups(d, w, age_ps + end.finish_ps);
    lower(&b, w->kappa * age_ps, DETECT_KAPPA, DETECT_NONE, 0);
    lower(&b, end.first_ps, DETECT_ENDING, DETECT_NONE, 0);
    v->bound = b.reason;
    if (b.ps >= DETECT__SKIP_MIN_WINDOWS * (double)w->span_ps)
        detect__freeze(d, &end, b.ps, v);
    else if (b.group != DETECT_NONE)
        detect__fail(d, v, b.reason, first_of_group(d, b.group), b.measured, d->plan.eps);
    else
        detect__fail(d, v, DETECT_TOO_SHORT, end.flow, b.ps,
                     DETECT__SKIP_MIN_WINDOWS * (double)w->span_ps);
}

static void decide_group(struct detect *d, struct detect_verdict *v)
{
    struct detect__window w;

    if (is_early(d, v))
        return;
    detect__update_groups(d);
    v->group_count = d->group_count;
    if (choose_window(d, &w, v) || detect__test_in_flight(d, &w, v) ||
        detect__test_spread(d, &w, v))
        return;
    decide_length(d, &w, v);
}

/* A long skip rests on a window that the start no longer touches: waiting costs little of it. */
static int is_hasty(const struct detect *d, double skip_ps, struct detect_verdict *v)
{
    const double age_ps = calc_age_ps(d);

    if (age_ps >= (double)d->plan.lone_patience_ps || skip_ps <= d->plan.lone_kappa * age_ps)
        return 0;
    return detect__fail(d, v, DETECT_KAPPA, DETECT_NONE, skip_ps, d->plan.lone_kappa * age_ps);
}

/* Freezes on a few bins a partition of one flow, or of flows none of which holds another back:
 * what they share is a buffer, or the way of acknowledgements. Returns 0 if the general rule is to
 * decide. */
static int decide_lone(struct detect *d, struct detect_verdict *v)
{
    struct detect__window w = {.last = d->edge_count - 1};
    struct detect__end end;

    if (d->edge_count <= d->plan.lone_bins) {
        detect__fail(d, v, DETECT_TOO_EARLY, DETECT_NONE,
                     (double)(d->edge_ps[w.last] - d->edge_ps[0]),
                     (double)d->bin_ps * d->plan.lone_bins);
        return 0;
    }
    w.first = w.last - d->plan.lone_bins;
    w.span_ps = d->edge_ps[w.last] - d->edge_ps[w.first];
    v->window_ps = w.span_ps;
    if (detect__test_reach(d, &w, v) || detect__test_in_flight(d, &w, v) ||
        detect__test_lone(d, &w, v))
        return 0;
    detect__update_groups(d);
    v->group_count = d->group_count;
    if (detect__test_spread(d, &w, v)) /* one flow is its group's mean; sets the estimate */
        return 0;
    end = detect__find_end(d);
    v->bound = DETECT_ENDING;
    if (is_hasty(d, end.first_ps, v))
        return 0;
    if (end.first_ps <= 0)
        detect__fail(d, v, DETECT_ENDING, end.flow, end.finish_ps, (double)d->plan.guard_ps);
    else if (end.first_ps < DETECT__SKIP_MIN_WINDOWS * (double)w.span_ps)
        detect__fail(d, v, DETECT_TOO_SHORT, end.flow, end.first_ps,
                     DETECT__SKIP_MIN_WINDOWS * (double)w.span_ps);
    else
        detect__freeze(d, &end, end.first_ps, v);
    return 1;
}

static struct detect_verdict no_verdict(enum detect_reason reason)
{
    return (struct detect_verdict){.reason = reason, .flow = DETECT_NONE, .port = DETECT_NONE};
}

/* A flow that starved beside others climbs from almost nothing, in steps too rare for any window:
 * to the general rule its rate is constant. That decides only once nothing more can be expected. */
static int may_climb(const struct detect *d, struct detect_verdict *v)
{
    const struct detect__window seen = {.last = d->edge_count - 1};

    return d->flow_count == 1 &&
           calc_age_ps(d) < DETECT__CLIMB_WINDOWS * (double)d->plan.window_ps[1] &&
           detect__test_reach(d, &seen, v);
}

/* By the time since the first edge, so that nothing has to be remembered. */
static int is_due(const struct detect *d)
{
    const uint32_t last = d->edge_count - 1;
    const int64_t step_ps = d->plan.decide_ps, from_ps = d->edge_ps[0];

    if (d->flow_count == 1 || !last || d->bin_ps >= step_ps)
        return 1;
    return (d->edge_ps[last] - from_ps) / step_ps != (d->edge_ps[last - 1] - from_ps) / step_ps;
}

static void decide_own(struct detect *d, struct detect_verdict *v)
{
    struct detect_verdict general = no_verdict(DETECT_TOO_EARLY);

    if (decide_lone(d, v) || may_climb(d, v))
        return;
    if (is_due(d))
        decide_group(d, &general);
    else
        is_early(d, &general); /* says how much was seen */
    /* What the short cut found is the better answer while the general rule has none. */
    if (d->flow_count > 1 || general.reason != DETECT_TOO_EARLY)
        *v = general;
}

void detect_decide(struct detect *d, int64_t now_ps, struct detect_verdict *v)
{
    const uint32_t last = d->edge_count - 1;

    *v = no_verdict(DETECT_TOO_MANY_FLOWS);
    if (d->state == DETECT__OFF)
        return;
    check(d->state == DETECT__WATCHING, "a decision in state %d", (int)d->state);
    *v = no_verdict(DETECT_TOO_EARLY);
    v->allowed = (double)d->plan.window_ps[0];
    if (!d->edge_count)
        return;
    check(now_ps == d->edge_ps[last], "a decision at %lld ps, last sample at %lld ps",
          (long long)now_ps, (long long)d->edge_ps[last]);
    if (d->p->spec.rule == DETECT_RULE_PAPER)
        detect__paper_decide(d, v);
    else
        decide_own(d, v);
}
