/*
 * detect_trace.c - synthetic partitions: see detect_trace.h.
 */
#include "detect_trace.h"

#include "rng.h"

#include <math.h>
#include <string.h>

#define BIT_PS 8e12
#define PS_PER_SECOND 1e12
#define TAU 6.283185307179586
#define RTT_PS 4200000
#define WIRE_HEADER_BYTES 48
#define RATE_MAX_BPS INT64_C(100000000000)

void trace_init(struct trace *t, int64_t rate_bps)
{
    memset(t, 0, sizeof *t);
    t->port_count = 1;
    t->port_rate_bps[0] = rate_bps;
}

struct trace_flow *trace_add(struct trace *t, int64_t size_bytes, double rate_bps)
{
    struct trace_flow *f = &t->flow[t->flow_count];

    *f = (struct trace_flow){
        .size_bytes = size_bytes,
        .rate_bps = rate_bps,
        .asked_share = 1,
        .payload_bytes = 1000,
        .hops = 2,
        .base_rtt_ps = RTT_PS,
        .path_count = 1,
        .in_flight_bytes = (int64_t)(rate_bps * RTT_PS / BIT_PS),
        .next_ack_ps = RTT_PS,
        .end_ps = -1,
        .key = rng_key(1, t->flow_count),
    };
    t->flow_count++;
    return f;
}

static double rate_at(const struct trace_flow *f, int64_t now_ps)
{
    double rate = f->rate_bps * (1 + f->drift_per_s * (double)now_ps / PS_PER_SECOND);

    if (f->swing_ps)
        rate *= 1 + f->swing * sin(TAU * (double)now_ps / (double)f->swing_ps);
    if (f->noise > 0)
        rate /= 1 + f->noise * (2 * rng_to_double(rng_at(f->key, f->acks)) - 1);
    return rate;
}

static void take_ack(struct trace *t, struct trace_flow *f)
{
    int64_t bytes = f->size_bytes - f->acked_bytes - f->skipped_bytes;

    bytes = bytes < f->payload_bytes ? bytes : f->payload_bytes;
    f->acked_bytes += bytes;
    f->last_ack_ps = f->next_ack_ps;
    f->acks++;
    for (uint32_t i = 0; i < f->path_count; i++)
        t->tx_bytes[f->path[i]] += bytes + WIRE_HEADER_BYTES;
    if (f->acked_bytes + f->skipped_bytes == f->size_bytes)
        f->end_ps = f->last_ack_ps + t->skipped_ps;
    f->next_ack_ps += llrint(f->payload_bytes * BIT_PS / rate_at(f, f->last_ack_ps));
}

void trace_advance(struct trace *t, int64_t to_ps)
{
    for (uint32_t i = 0; i < t->flow_count; i++) {
        struct trace_flow *f = &t->flow[i];

        while (f->end_ps < 0 && f->next_ack_ps <= to_ps)
            take_ack(t, f);
    }
    t->now_ps = to_ps;
}

int trace_is_over(const struct trace *t)
{
    for (uint32_t i = 0; i < t->flow_count; i++)
        if (t->flow[i].end_ps >= 0)
            return 1;
    return 0;
}

static int64_t in_flight(const struct trace_flow *f, int64_t now_ps)
{
    const int64_t left = f->size_bytes - f->acked_bytes - f->skipped_bytes;
    int64_t bytes =
        f->in_flight_bytes + (int64_t)(f->in_flight_bytes_per_s * (double)now_ps / PS_PER_SECOND);

    bytes = bytes < left ? bytes : left;
    return bytes > 0 ? bytes : 0;
}

int trace_begin(const struct trace *t, struct detect *d, const struct detect_params *p)
{
    struct watch_flow flow[TRACE_FLOWS_MAX];
    struct watch_port port[TRACE_PORTS_MAX];
    uint32_t first[TRACE_FLOWS_MAX + 1] = {0}, path[TRACE_FLOWS_MAX * TRACE_HOPS_MAX];

    for (uint32_t i = 0; i < t->flow_count; i++) {
        const struct trace_flow *f = &t->flow[i];

        flow[i] = (struct watch_flow){
            .remaining_bytes = f->size_bytes - f->acked_bytes - f->skipped_bytes,
            .acked_bytes = f->acked_bytes,
            .base_rtt_ps = f->base_rtt_ps,
            .rate_bps_max = RATE_MAX_BPS,
            .payload_bytes = f->payload_bytes,
            .wire_bytes = f->payload_bytes + WIRE_HEADER_BYTES,
            .hops = f->hops,
        };
        first[i + 1] = first[i] + f->path_count;
        memcpy(path + first[i], f->path, f->path_count * sizeof *path);
    }
    for (uint32_t i = 0; i < t->port_count; i++)
        port[i] = (struct watch_port){t->port_rate_bps[i], t->tx_bytes[i]};
    return detect_begin(
        d, p, t->now_ps,
        &(struct watch_partition){t->flow_count, t->port_count, flow, port, first, path});
}

void trace_sample(struct trace *t, struct detect *d)
{
    struct watch_obs obs[TRACE_FLOWS_MAX];

    for (uint32_t i = 0; i < t->flow_count; i++)
        obs[i] = (struct watch_obs){t->flow[i].acked_bytes, t->flow[i].last_ack_ps,
                                    in_flight(&t->flow[i], t->now_ps),
                                    llrint(t->flow[i].asked_share * RATE_MAX_BPS)};
    detect_sample(d, t->now_ps, obs, t->tx_bytes);
}

void trace_skip(struct trace *t, struct detect *d, int64_t skipped_ps, const int64_t *skipped_bytes)
{
    for (uint32_t i = 0; i < t->flow_count; i++)
        t->flow[i].skipped_bytes += skipped_bytes[i];
    t->skipped_ps += skipped_ps;
    detect_on_thaw(d, t->now_ps, skipped_ps, skipped_bytes);
}

int trace_watch(struct trace *t, struct detect *d, int64_t until_ps, struct detect_verdict *v)
{
    *v = (struct detect_verdict){.reason = DETECT_TOO_EARLY};
    while (detect_next_sample_ps(d) <= until_ps) {
        trace_advance(t, detect_next_sample_ps(d));
        if (trace_is_over(t))
            return 0;
        trace_sample(t, d);
        detect_decide(d, t->now_ps, v);
        if (v->reason == DETECT_STEADY)
            return 1;
    }
    return 0;
}

uint32_t trace_run(struct trace *t, struct detect *d, const struct detect_params *p)
{
    struct detect_verdict v;
    uint32_t skips = 0;

    if (trace_begin(t, d, p))
        return 0;
    while (trace_watch(t, d, DETECT_NEVER - 1, &v)) {
        trace_skip(t, d, v.skip_ps, v.skip_bytes);
        skips++;
    }
    return skips;
}

struct detect_params trace_params(enum cc_kind cc)
{
    struct detect_params p = {.row = NULL};

    check(!detect_params_init(&p, &(struct detect_spec){.cc = cc}, NULL), "defaults of %d",
          (int)cc);
    return p;
}

void trace_permute(struct trace *to, const struct trace *from, const uint32_t *flow_order,
                   const uint32_t *port_order)
{
    *to = *from;
    for (uint32_t i = 0; i < from->port_count; i++) {
        to->port_rate_bps[port_order[i]] = from->port_rate_bps[i];
        to->tx_bytes[port_order[i]] = from->tx_bytes[i];
    }
    for (uint32_t i = 0; i < from->flow_count; i++) {
        struct trace_flow *f = &to->flow[flow_order[i]];

        *f = from->flow[i];
        for (uint32_t hop = 0; hop < f->path_count; hop++)
            f->path[hop] = port_order[f->path[hop]];
    }
}
