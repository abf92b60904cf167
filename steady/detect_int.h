/*
 * detect_int.h - the inside of a detector. For steady/ and its unit tests only.
 *
 * Memory is one block, laid out for the numbers of flows, ports and path entries of the episode,
 * and used again by the next. Counters are kept at the edges between bins; when there are too many
 * edges every other one is dropped and bins double, so the state is bounded and a bin is at most
 * 1/64 of the time observed.
 */
#ifndef WH_DETECT_INT_H
#define WH_DETECT_INT_H

#include "detect.h"

#define DETECT__EDGES_MAX 129u /* odd: dropping every other one keeps the first and the newest */
#define DETECT__BATCHES_MAX 16u
#define DETECT__LONE_WINDOWS 4u
#define DETECT__PAPER_BLOCKS 50u
#define DETECT__PAPER_SAMPLES_MAX 1000000u
#define DETECT__RATE_BPS_MAX INT64_C(1000000000000000) /* 1 Pb/s */
#define DETECT__TIME_PS_MAX INT64_C(1000000000000000)  /* 1,000 s */
#define DETECT__BIT_PS 8e12           /* a byte in this time is 1 bit/s; exact as a double */
#define DETECT__CARRY_UNIT 1024       /* remainders are kept in 1/1024 B */
#define DETECT__CLIMB_WINDOWS 20      /* of the longer ones: how long a lone flow may climb */
#define DETECT__SKIP_MIN_WINDOWS 0.25 /* a shorter skip is not worth it */

enum detect__state { DETECT__OFF, DETECT__WATCHING, DETECT__FROZEN };

/* What is known of a flow at an edge. */
struct detect__edge {
    int64_t acked_bytes, ack_ps, in_flight_bytes;
};

/* Delivery as a fraction, so that a constant rate is met exactly: @bytes in @ps. */
struct detect__rate {
    int64_t bytes, ps; /* ps > 0 */
};

struct detect__flow {
    int64_t remaining_bytes; /* at the control event */
    int64_t acked_bytes;     /* at the control event */
    int64_t skipped_bytes;
    int64_t carry; /* [B / DETECT__CARRY_UNIT] estimated but not skipped yet; within one packet */
    int64_t base_rtt_ps;
    int64_t rate_bps, rate_bps_max; /* asked for at the last sample; at most */
    uint32_t payload_bytes, wire_bytes, hops;
    uint32_t hop_class; /* rank of hops among the distinct ones */
};

struct detect__port {
    int64_t rate_bps;
    int64_t tx_begin_bytes, tx_bytes; /* at the control event, at the last sample */
};

/* The estimate of a flow, and how far it may be skipped at most. */
struct detect__estimate {
    struct detect__rate rate;
    int64_t packets_max;
};

/* Sending rates of the last samples, in blocks of equal count: paper's rule. */
struct detect__paper_block {
    int64_t min_bps, max_bps, sum_bps;
};
struct detect__paper {
    struct detect__paper_block block[DETECT__PAPER_BLOCKS + 1]; /* ring; the newest is partial */
    uint32_t newest, full_count;                                /* full blocks before the newest */
    uint32_t newest_samples;
};

struct detect {
    const struct detect_params *p;
    struct detect_plan plan;
    enum detect__state state;
    uint8_t has_thawed; /* in this episode */
    uint32_t flow_count, port_count, path_count;
    int64_t begin_ps, skipped_ps;
    int64_t bin_ps, next_sample_ps;
    uint32_t edge_count;
    int64_t edge_ps[DETECT__EDGES_MAX];

    void *memory;
    size_t memory_bytes;
    struct detect__flow *flow; /* shape: [flow_count] */
    struct detect__port *port; /* shape: [port_count] */
    uint32_t *path_first;      /* shape: [flow_count + 1] */
    uint32_t *path;            /* shape: [path_count] */
    uint32_t *user_first;      /* shape: [port_count + 1] */
    uint32_t *user;            /* flows through each port, each once */
    struct detect__edge *edge; /* shape: [EDGES_MAX][flow_count] */

    /* groups, derived; see detect_group.c */
    uint8_t *congested; /* shape: [port_count] */
    uint32_t *group_of; /* shape: [flow_count] */
    uint32_t group_count, hop_class_count;
    uint8_t groups_valid;

    /* results and scratch of a decision */
    struct detect__estimate *estimate; /* shape: [flow_count] */
    int64_t *skip_bytes;               /* shape: [flow_count] */
    int64_t *group_sum_bps;            /* shape: [group_count] */
    uint32_t *group_flows;             /* shape: [group_count] */
    double *batch_bps;                 /* shape: [batch][group_count], mean of a flow */
    uint32_t *scratch;                 /* shape: [2 * (flow_count + path_count + port_count)] */

    struct detect__paper *paper; /* shape: [flow_count]; NULL under the own rule */
};

/* What a decision looks at. */
struct detect__window {
    uint32_t first, last; /* edges */
    int64_t span_ps;
    double kappa;
};

/* ---- detect.c ---- */
/* Room for what the counts say; all pointers are set. Errors: WH_ERR_NOMEM (then state is off). */
int detect__reserve(struct detect *d, const struct detect_params *p, uint32_t flow_count,
                    uint32_t port_count, uint32_t path_count) WH_MUST_CHECK;
/* Nothing is watched any more. */
void detect__stop(struct detect *d);
/* Fills in what follows from flows, ports and paths. */
void detect__derive(struct detect *d);
static inline const struct detect__edge *detect__edges(const struct detect *d, uint32_t edge)
{
    return d->edge + (size_t)edge * d->flow_count;
}
/* Delivered between the last ACKs before two edges. */
int64_t detect__rate_bps(const struct detect__edge *from, const struct detect__edge *to);
/* Payload of @flow that was neither acknowledged nor skipped at the last edge. */
int64_t detect__remaining_bytes(const struct detect *d, uint32_t flow);

/* ---- detect_group.c ---- */
/* Brings group_of and group_count up to date with the last sample. */
void detect__update_groups(struct detect *d);
/* The port of @flow's path with the highest utilisation since the control event. */
uint32_t detect__busiest_port(const struct detect *d, uint32_t flow);

/* ---- detect_rules.c: return 0 when passed, else fill in the verdict and return 1 ---- */
int detect__fail(const struct detect *d, struct detect_verdict *v, enum detect_reason reason,
                 uint32_t flow, double measured, double allowed);
int detect__test_in_flight(const struct detect *d, const struct detect__window *w,
                           struct detect_verdict *v);
int detect__test_spread(struct detect *d, const struct detect__window *w, struct detect_verdict *v);
/* The rates of all flows are the same in each sub-window. */
int detect__test_lone(const struct detect *d, const struct detect__window *w,
                      struct detect_verdict *v);
/* Every flow is as fast as it will be: it asks for all it may, or has all that its path gives; of
 * several, each also has most of its path, so that none holds another back. */
int detect__test_reach(const struct detect *d, const struct detect__window *w,
                       struct detect_verdict *v);
/* Mean of each group in each batch -> batch_bps. */
void detect__fill_batches(struct detect *d, const struct detect__window *w);
/* Relative standard error of the mean of group @g, and its relative drift in the window (0 if it is
 * not significant); from batch_bps. */
struct detect__scatter {
    double se, drift;
};
struct detect__scatter detect__calc_scatter(const double *batch_bps, uint32_t batch_count,
                                            uint32_t stride, double sigmas);

/* ---- detect_length.c ---- */
/* What @flow delivers in @ps by its estimate, what was carried included [B / DETECT__CARRY_UNIT].
 */
int64_t detect__calc_skip(const struct detect *d, uint32_t flow, int64_t ps);
/* Estimates of all flows are in d->estimate[].rate; sets packets_max. Earliest end less the guard.
 */
struct detect__end {
    double first_ps;  /* until the first flow is within the guard; <= 0: it is */
    double finish_ps; /* until that flow is done */
    uint32_t flow;
};
struct detect__end detect__find_end(struct detect *d);
/* Makes the verdict steady with a skip of at most @length_ps, or TOO_SHORT. */
void detect__freeze(struct detect *d, const struct detect__end *end, double length_ps,
                    struct detect_verdict *v);

/* ---- detect_paper.c ---- */
void detect__paper_reset(struct detect *d);
void detect__paper_decide(struct detect *d, struct detect_verdict *v);

#endif
