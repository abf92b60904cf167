/*
 * detect_trace.h - synthetic partitions for the tests of steady/: flows whose ACKs come at given
 * rates, and the loop that an engine would run around a detector.
 *
 * An ACK of one packet follows the last after payload / rate, the rate taken at the time of the
 * last. Clock and counters are local: a skip moves neither, but brings a flow's end nearer by the
 * bytes skipped and later by the time skipped.
 */
#ifndef WH_DETECT_TRACE_H
#define WH_DETECT_TRACE_H

#include "detect.h"

#define TRACE_FLOWS_MAX 64
#define TRACE_PORTS_MAX 64
#define TRACE_HOPS_MAX 8

struct trace_flow {
    /* what it does */
    int64_t size_bytes;
    double rate_bps;
    double drift_per_s;           /* relative */
    double swing;                 /* relative amplitude of a sine */
    int64_t swing_ps;             /* its period */
    double noise;                 /* relative, of each gap between ACKs, uniform */
    int64_t in_flight_bytes;      /* at local time 0 */
    double in_flight_bytes_per_s; /* how that changes */
    double asked_share;           /* of the rate that congestion control may ask for */
    uint32_t payload_bytes, hops;
    int64_t base_rtt_ps;
    uint32_t path[TRACE_HOPS_MAX], path_count;
    /* where it is */
    int64_t acked_bytes, last_ack_ps, next_ack_ps;
    int64_t skipped_bytes;
    int64_t end_ps; /* global time of its last ACK; -1: not yet */
    uint64_t acks;
    uint64_t key; /* of its noise: a property of the flow, not of its number */
};

struct trace {
    uint32_t flow_count, port_count;
    struct trace_flow flow[TRACE_FLOWS_MAX];
    int64_t port_rate_bps[TRACE_PORTS_MAX], tx_bytes[TRACE_PORTS_MAX];
    int64_t now_ps, skipped_ps;
};

/* One port at @rate_bps and no flows. */
void trace_init(struct trace *t, int64_t rate_bps);
/* A flow of payload 1000 B through port 0, round trip 4.2 us, one round trip in flight, that
 * asks for all it may. */
struct trace_flow *trace_add(struct trace *t, int64_t size_bytes, double rate_bps);
/* All ACKs up to and including @to_ps. */
void trace_advance(struct trace *t, int64_t to_ps);
/* Whether a flow has ended. */
int trace_is_over(const struct trace *t);

int trace_begin(const struct trace *t, struct detect *d,
                const struct detect_params *p) WH_MUST_CHECK;
void trace_sample(struct trace *t, struct detect *d);
/* The engine's part of a thaw after @skipped_ps. */
void trace_skip(struct trace *t, struct detect *d, int64_t skipped_ps,
                const int64_t *skipped_bytes);

/*
 * trace_watch - samples and asks until the verdict is steady, a flow ends, or @until_ps (local).
 * Returns whether it is steady; @v is the last verdict.
 */
int trace_watch(struct trace *t, struct detect *d, int64_t until_ps, struct detect_verdict *v);

/* trace_run - watches and skips until a flow has ended. Returns the number of skips. */
uint32_t trace_run(struct trace *t, struct detect *d, const struct detect_params *p);

/* Parameters for @cc with everything else at its default. */
struct detect_params trace_params(enum cc_kind cc);

/* @from with flow i as flow order[i] and port i as port port_order[i] of the result. */
void trace_permute(struct trace *to, const struct trace *from, const uint32_t *flow_order,
                   const uint32_t *port_order);

#endif
