/*
 * config.h - every parameter of the model that does not belong to the graph or to the flows.
 *
 * config_init() gives the native defaults; the front ends (scenario files, HPCC configurations, the
 * C interface) overwrite fields; config_check() says what is out of range. Plain values only, so
 * that a configuration can be copied, compared and printed.
 */
#ifndef WH_CONFIG_H
#define WH_CONFIG_H

#include "err.h"

#include <stdint.h>

#define CONFIG_ECN_ROWS_MAX 16
#define CONFIG_EVENTS_MAX 64
#define CONFIG_PRIO_COUNT 8

enum cc_kind { CC_NONE, CC_DCQCN, CC_HPCC, CC_TIMELY, CC_DCTCP, CC_SWIFT, CC_KIND_COUNT };

enum ack_mode {
    ACK_PRIORITY, /* in the control queue: ahead of data, not counted in any buffer */
    ACK_IN_DATA,  /* at switches in the queue of their priority group, counted */
    ACK_BYPASS,   /* beside the network: fixed delay of the idle reverse path */
    ACK_CHARGED   /* the same, and the ports on the way back are charged for them: ack_charge.c */
};
static inline int ack_is_beside(enum ack_mode m)
{
    return m == ACK_BYPASS || m == ACK_CHARGED;
}

enum recovery_mode {
    RECOVERY_GO_BACK_N,
    RECOVERY_GO_BACK_0,       /* back to the last chunk boundary (L2_BACK_TO_ZERO) */
    RECOVERY_SELECTIVE_REPEAT /* IRN: out-of-order delivery, only what is missing is resent */
};

enum routing_mode { ROUTING_ECMP, ROUTING_SPRAY };

enum sched_mode {
    SCHED_ROUND_ROBIN,
    SCHED_STRICT
}; /* among priorities 1..7; 0 always goes first */

enum rto_mode { RTO_OFF, RTO_ON };

/* Which of two events comes first when time and schedule time are equal. */
enum order_mode {
    ORDER_CANONICAL, /* by the model alone: when the scheduling event had been scheduled, flow,
                        entity */
    ORDER_NS3        /* in order of scheduling within a partition, as ns-3 does */
};

/* ECN thresholds of ports of one rate. Linear probability between kmin and kmax, certain above. */
struct ecn_row {
    int64_t rate_bps;
    int64_t kmin_bytes, kmax_bytes;
    double pmax; /* 0..1 */
};

struct dcqcn_params {
    int64_t alpha_resume_ps, decrease_interval_ps, increase_timer_ps;
    double gain;            /* g */
    uint32_t fast_recovery; /* stages */
    int64_t ai_bps, hai_bps;
    uint8_t clamp_target;
};

struct hpcc_params {
    double target_util; /* eta */
    uint32_t mi_thresh; /* maxStage */
    int64_t ai_bps;
    uint8_t fast_react, multi_rate, sample_feedback;
};

struct timely_params {
    int64_t ai_bps, hai_bps;
    double alpha, beta; /* EWMA weight of the old difference; decrease factor */
    int64_t tlow_ps, thigh_ps, min_rtt_ps;
};

struct dctcp_params {
    double gain; /* g */
    int64_t ai_bps;
};

/* Swift, SIGCOMM 2020, sections 3.1 to 3.5. */
struct swift_params {
    int64_t base_target_ps;  /* target delay on top of the path's base RTT */
    int64_t per_hop_ps;      /* topology scaling */
    double ai_packets;       /* additive increase per RTT [packets] */
    double beta, max_mdf;    /* multiplicative decrease: slope and largest factor */
    int64_t flow_scaling_ps; /* fs_range; 0 switches flow scaling off */
    double fs_min_cwnd, fs_max_cwnd;
    double min_cwnd, max_cwnd; /* packets; max 0: from the BDP */
};

/* A scheduled change of the network. */
enum net_event_kind { NET_LINK_DOWN, NET_LINK_UP };
struct net_event {
    int64_t time_ps;
    uint32_t a, b; /* nodes: all links between them */
    uint8_t kind;
};

struct sim_config {
    /* clock and randomness */
    uint64_t seed;
    int64_t end_ps;   /* stop time, TIME_NEVER: when all flows are done */
    int64_t round_ps; /* serialisation and pacing times are rounded to this; 1 or 1000 */
    enum order_mode order;

    /* packets: bytes on the wire */
    uint32_t payload_bytes; /* largest payload of a packet, 1..65000 */
    uint32_t header_bytes;  /* of a data packet without INT: 48 */
    uint32_t ack_bytes;     /* ACK, NACK without INT: 60 */
    uint32_t pfc_bytes;     /* 43 */

    /* host */
    enum cc_kind cc;
    uint8_t has_window, window_global, window_variable, rate_bound;
    uint8_t reuse_sport; /* all flows of a (src, dst) use source port 10000 */
    enum ack_mode ack;
    uint32_t ack_every_packets;  /* coalescing, 1: one ACK a packet */
    uint32_t ack_interval_bytes; /* reference quirk, see hpcc_config.c; 1: each packet */
    uint32_t chunk_bytes;        /* L2_CHUNK_SIZE */
    enum recovery_mode recovery;
    int64_t nack_interval_ps; /* 500 us */
    enum rto_mode rto;
    int64_t rto_ps;           /* retransmission timeout after the last progress, > 0 */
    uint32_t rto_retries_max; /* consecutive timeouts without progress before a flow is given up */
    int64_t
        cnp_interval_ps; /* at most one mark echo per interval and flow; 0: every marked packet */
    int64_t min_rate_bps;
    int64_t fixed_rate_bps; /* CC_NONE: pacing rate, 0: line rate */

    /* congestion control */
    struct dcqcn_params dcqcn;
    struct hpcc_params hpcc;
    struct timely_params timely;
    struct dctcp_params dctcp;
    struct swift_params swift;

    /* INT */
    uint32_t int_hops_max;  /* 5 as the reference */
    uint32_t int_multi;     /* unit of the byte and queue counters: 128 B and 80 B times this */
    uint8_t int_reset_idle; /* byte counters of a port start at 0 when a first flow uses it */

    /* switch */
    int64_t buffer_bytes; /* per switch; 0: unlimited, no drops */
    uint8_t pfc;          /* hosts and switches obey pauses */
    uint8_t ecn;          /* marking on */
    uint32_t ecn_row_count;
    struct ecn_row ecn_rows[CONFIG_ECN_ROWS_MAX];
    uint8_t ecn_strict; /* a switch port whose rate has no row is an error; else scaled from the
                           nearest row by the ratio of the rates */
    uint32_t pfc_reserve_bytes;       /* per ingress port, 4096 */
    int64_t pfc_headroom_bytes;       /* per ingress port; -1: 3 x rate x delay as the reference;
                                         -2: 2 x rate x delay + 3 packets + pause frame */
    uint32_t pfc_resume_offset_bytes; /* 3072 */
    uint32_t pfc_alpha_shift;         /* dynamic threshold = free >> shift, 3 */
    uint8_t pfc_static;               /* fixed threshold instead of a share of the free buffer */
    int64_t pfc_static_bytes;
    enum sched_mode sched;

    /* routing */
    enum routing_mode routing;
    uint32_t spray_paths;  /* paths a sprayed flow alternates among, 1..64 */
    uint8_t hosts_forward; /* hosts may relay packets */

    /* events */
    uint32_t event_count;
    struct net_event events[CONFIG_EVENTS_MAX];
};

void config_init(struct sim_config *c);

/*
 * config_ecn_defaults - the threshold rows for the congestion control in @c: RED-like for all (4 KB
 * and 16 KB per Gb/s, 20 %), a step at 0.65 KB per Gb/s for DCTCP, which reacts to the share of
 * marks. Source: presets of the reference; for DCTCP its recorded runs.
 */
void config_ecn_defaults(struct sim_config *c);

/* config_check - ranges and combinations. Returns 0 or WH_ERR_INPUT with a sentence in @e. */
int config_check(const struct sim_config *c, struct err_info *e) WH_MUST_CHECK;

/* Names as used in scenario files: "none", "dcqcn", "hpcc", "timely", "dctcp", "swift". */
const char *config_cc_name(enum cc_kind cc);
int config_cc_from_name(const char *name, enum cc_kind *out) WH_MUST_CHECK;

#endif
