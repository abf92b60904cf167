/*
 * detect_rules.c - the tests of a window. Each looks at all flows before it names the worst, so
 * that which test fails does not depend on the numbering.
 */
#include "detect_int.h"

#include <math.h>
#include <string.h>

/* A window's ends fall anywhere between two packets and two ACKs of a flow. */
#define IN_FLIGHT_SLACK_PACKETS 2

/* Two flows that hold each other back cannot both have that much of their paths. */
#define ALONE_SHARE 0.85

/* A rate needs that many: of a starved flow, one packet after a long pause is none. */
#define RATE_PACKETS_MIN 8

int detect__fail(const struct detect *d, struct detect_verdict *v, enum detect_reason reason,
                 uint32_t flow, double measured, double allowed)
{
    v->reason = reason;
    v->flow = flow;
    v->port = flow == DETECT_NONE ? DETECT_NONE : detect__busiest_port(d, flow);
    v->measured = measured;
    v->allowed = allowed;
    return 1;
}

/* The worst flow of a test: largest excess over what is allowed, the first among equals. */
struct worst {
    uint32_t flow;
    double measured, allowed;
};

static void note_worst(struct worst *w, uint32_t flow, double measured, double allowed)
{
    if (measured > allowed && (w->flow == DETECT_NONE || measured > w->measured))
        *w = (struct worst){flow, measured, allowed};
}

int detect__test_in_flight(const struct detect *d, const struct detect__window *w,
                           struct detect_verdict *v)
{
    const struct detect__edge *from = detect__edges(d, w->first), *to = detect__edges(d, w->last);
    struct worst worst = {.flow = DETECT_NONE};

    for (uint32_t f = 0; f < d->flow_count; f++) {
        const int64_t delivered_bytes = to[f].acked_bytes - from[f].acked_bytes;
        const double change = fabs((double)(to[f].in_flight_bytes - from[f].in_flight_bytes));
        const double slack = IN_FLIGHT_SLACK_PACKETS * (double)d->flow[f].payload_bytes;

        if (!detect__rate_bps(&from[f], &to[f]) ||
            delivered_bytes < RATE_PACKETS_MIN * (int64_t)d->flow[f].payload_bytes)
            return detect__fail(d, v, DETECT_IDLE, f, 0, 0);
        if (change > slack)
            note_worst(&worst, f, change / (double)delivered_bytes, d->p->in_flight_max);
    }
    if (worst.flow == DETECT_NONE)
        return 0;
    return detect__fail(d, v, DETECT_IN_FLIGHT, worst.flow, worst.measured, worst.allowed);
}

static void sum_groups(struct detect *d, const struct detect__edge *from,
                       const struct detect__edge *to)
{
    memset(d->group_sum_bps, 0, d->group_count * sizeof *d->group_sum_bps);
    for (uint32_t f = 0; f < d->flow_count; f++)
        d->group_sum_bps[d->group_of[f]] += detect__rate_bps(&from[f], &to[f]);
}

static void count_groups(struct detect *d)
{
    memset(d->group_flows, 0, d->group_count * sizeof *d->group_flows);
    for (uint32_t f = 0; f < d->flow_count; f++)
        d->group_flows[d->group_of[f]]++;
}

/* Leaves the estimate of every flow in d->estimate[].rate: its group's mean; the fraction itself
 * where the group is one flow. */
int detect__test_spread(struct detect *d, const struct detect__window *w, struct detect_verdict *v)
{
    const struct detect__edge *from = detect__edges(d, w->first), *to = detect__edges(d, w->last);
    struct worst worst = {.flow = DETECT_NONE};

    count_groups(d);
    sum_groups(d, from, to);
    for (uint32_t f = 0; f < d->flow_count; f++) {
        const uint32_t g = d->group_of[f], flows = d->group_flows[g];
        const double mean = (double)d->group_sum_bps[g] / flows;
        const double off = fabs((double)detect__rate_bps(&from[f], &to[f]) - mean);

        d->estimate[f].rate =
            flows == 1
                ? (struct detect__rate){to[f].acked_bytes - from[f].acked_bytes,
                                        to[f].ack_ps - from[f].ack_ps}
                : (struct detect__rate){d->group_sum_bps[g], flows * (int64_t)DETECT__BIT_PS};
        note_worst(&worst, f, off / mean, d->p->spread_max);
    }
    if (worst.flow == DETECT_NONE)
        return 0;
    return detect__fail(d, v, DETECT_SPREAD, worst.flow, worst.measured, worst.allowed);
}

/* Edge at which batch @i of @count begins; the window has at least one bin a batch. */
static uint32_t batch_edge(const struct detect__window *w, uint32_t i, uint32_t count)
{
    return w->first + (uint32_t)((uint64_t)(w->last - w->first) * i / count);
}

void detect__fill_batches(struct detect *d, const struct detect__window *w)
{
    const uint32_t batches = d->plan.batch_count;

    for (uint32_t b = 0; b < batches; b++) {
        double *mean_bps = d->batch_bps + (size_t)b * d->group_count;

        sum_groups(d, detect__edges(d, batch_edge(w, b, batches)),
                   detect__edges(d, batch_edge(w, b + 1, batches)));
        for (uint32_t g = 0; g < d->group_count; g++)
            mean_bps[g] = (double)d->group_sum_bps[g] / d->group_flows[g];
    }
}

/* Mean of @count values @stride apart; *square_sum of the deviations from it. */
static double calc_mean(const double *x, uint32_t count, uint32_t stride, double *square_sum)
{
    double mean = 0, squares = 0;

    for (uint32_t i = 0; i < count; i++)
        mean += x[(size_t)i * stride];
    mean /= count;
    for (uint32_t i = 0; i < count; i++) {
        const double off = x[(size_t)i * stride] - mean;

        squares += off * off;
    }
    *square_sum = squares;
    return mean;
}

/*
 * The error of the mean comes from the scatter around it, drift included. The halves are compared
 * by the error of their difference, from the scatter within them, so that a steady drift does not
 * hide itself behind the scatter it makes.
 */
struct detect__scatter detect__calc_scatter(const double *batch_bps, uint32_t batch_count,
                                            uint32_t stride, double sigmas)
{
    const uint32_t half = batch_count / 2;
    double squares, squares_early, squares_late, early, late, difference, error;
    const double mean = calc_mean(batch_bps, batch_count, stride, &squares);
    struct detect__scatter s = {0, 0};

    if (!(mean > 0))
        return (struct detect__scatter){INFINITY, 0};
    s.se = sqrt(squares / (batch_count - 1) / batch_count) / mean;
    early = calc_mean(batch_bps, half, stride, &squares_early);
    late =
        calc_mean(batch_bps + (size_t)(batch_count - half) * stride, half, stride, &squares_late);
    difference = late - early;
    error = sqrt((squares_early + squares_late) / (half - 1) / half);
    if (fabs(difference) > sigmas * error)
        s.drift = difference / mean;
    return s;
}

/* (max - min) / mean of a flow's rate over sub-windows; INFINITY: it has none. */
static double calc_range(const struct detect *d, const struct detect__window *w, uint32_t flow)
{
    double min = INFINITY, max = 0, sum = 0;

    for (uint32_t i = 0; i < DETECT__LONE_WINDOWS; i++) {
        const struct detect__edge *from = detect__edges(d, batch_edge(w, i, DETECT__LONE_WINDOWS));
        const struct detect__edge *to =
            detect__edges(d, batch_edge(w, i + 1, DETECT__LONE_WINDOWS));
        const double bps = (double)detect__rate_bps(from + flow, to + flow);

        min = bps < min ? bps : min;
        max = bps > max ? bps : max;
        sum += bps;
    }
    return sum > 0 ? (max - min) * DETECT__LONE_WINDOWS / sum : (double)INFINITY;
}

int detect__test_lone(const struct detect *d, const struct detect__window *w,
                      struct detect_verdict *v)
{
    struct worst worst = {.flow = DETECT_NONE};

    for (uint32_t f = 0; f < d->flow_count; f++)
        note_worst(&worst, f, calc_range(d, w, f), d->plan.lone_tolerance);
    if (worst.flow == DETECT_NONE)
        return 0;
    return detect__fail(d, v, DETECT_FLUCTUATES, worst.flow, worst.measured, worst.allowed);
}

/* Of what the path gives, the share that a flow has. */
static double calc_path_share(const struct detect *d, const struct detect__window *w, uint32_t f)
{
    const struct detect__flow *flow = &d->flow[f];
    const double bps =
        (double)detect__rate_bps(detect__edges(d, w->first) + f, detect__edges(d, w->last) + f);
    double path_bps = INFINITY;

    for (uint32_t i = d->path_first[f]; i < d->path_first[f + 1]; i++) {
        const double port_bps = (double)d->port[d->path[i]].rate_bps;

        path_bps = port_bps < path_bps ? port_bps : path_bps;
    }
    return bps * flow->wire_bytes / flow->payload_bytes / path_bps;
}

int detect__test_reach(const struct detect *d, const struct detect__window *w,
                       struct detect_verdict *v)
{
    for (uint32_t f = 0; f < d->flow_count; f++) {
        const struct detect__flow *flow = &d->flow[f];
        const double path_share = calc_path_share(d, w, f);
        double share = path_share;

        if (d->flow_count > 1 && path_share < ALONE_SHARE)
            return detect__fail(d, v, DETECT_CLIMBING, DETECT_NONE, path_share, ALONE_SHARE);
        if (flow->rate_bps_max && (double)flow->rate_bps / (double)flow->rate_bps_max > share)
            share = (double)flow->rate_bps / (double)flow->rate_bps_max;
        if (share < d->plan.lone_reach && (flow->rate_bps_max || d->flow_count > 1))
            return detect__fail(d, v, DETECT_CLIMBING, d->flow_count == 1 ? f : DETECT_NONE, share,
                                d->plan.lone_reach);
    }
    return 0;
}
