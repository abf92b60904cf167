/*
 * detect.h - is a partition steady, how long may it be skipped, and what does each flow deliver
 * meanwhile.
 *
 * A struct detect watches one partition from one control event to the next (an episode). The caller
 * hands it counters at the times it asks for; after each it may ask for a verdict. A verdict
 * "steady" comes with a length and with whole packets per flow; the caller skips, reports what it
 * skipped, and observation starts afresh. The rule (DETECT_RULE_OWN), in the order of the tests:
 *
 *   window     the later half of what was seen since the control event, after a skip all since it;
 *              rates are acknowledged bytes between two ACKs over the time between these ACKs
 *   in flight  no flow's bytes in flight change by more than a share of what it delivered: a queue
 *              that drains at constant rates is not steady
 *   spread     flows with equal hop count and equal set of congested ports are a group; each is
 *              within a share of the group's mean, which then is the estimate for all of them
 *   noise      standard error of the group's mean over batches of the window
 *   trend      difference of the half-window means, where it is significant
 *   length     the shortest of: first flow's end less a guard, T (eps / se)^2, 2 eps / |trend|,
 *              kappa x time since the control event; aligned to whole packets of the first flow
 *
 * A partition whose flows do not hold each other back (one flow; or each has most of what its path
 * gives) is frozen after a few bins, without the rest, if the rates of sub-windows agree and
 * nothing can raise them any more: congestion control asks for all it may, or the path gives all it
 * has. (A flow that others have just left may climb in steps too rare for such a window.)
 *
 * Determinism. A verdict depends on what happened since the control event alone, and not on how
 * flows and ports are numbered: sums over flows are integers, ties are broken by value. Frames: all
 * times are the partition's local ones, in which a skip takes no time; byte counters are cumulative
 * in any frame that stays the same through an episode. Threading: the holder of the partition; no
 * state outside the structs. Nothing allocates but detect_create, detect_begin, detect_restore.
 */
#ifndef WH_DETECT_H
#define WH_DETECT_H

#include "config.h"
#include "err.h"
#include "watch.h"

#include <stddef.h>
#include <stdint.h>

struct detect;

#define DETECT_NONE UINT32_MAX     /* no flow, no port */
#define DETECT_NEVER INT64_MAX     /* no sample is wanted */
#define DETECT_FLOWS_LIMIT 8192u   /* sums of rates of that many flows fit in 63 bits */
#define DETECT_FLOWS_DEFAULT 4096u /* 3 KB each */
#define DETECT_BUDGET_DEFAULT 0.01 /* share of an FCT; the eps of the table go with it */
#define DETECT_PAPER_THETA 0.05    /* Wormhole, NSDI 2026: threshold and window of its rule */
#define DETECT_PAPER_SAMPLES 2000u

enum detect_rule { DETECT_RULE_OWN, DETECT_RULE_PAPER };

/* ---- parameters: detect_params.c ---- */

/* What the user and the model's configuration decide. Zeroes mean the default. */
struct detect_spec {
    enum cc_kind cc;
    enum detect_rule rule;
    int64_t ai_bps;          /* additive increase a round trip; 0: as in the evidence */
    int64_t timer_ps;        /* DCQCN: increase timer; TIMELY: T_high; 0: as in the evidence */
    int64_t quantum_ps;      /* skips are multiples of it; 0: 1 ps */
    double error_budget;     /* share of an FCT that skipping may cost, 0..0.5; 0: 1 % */
    uint32_t flow_count_max; /* larger partitions are not watched; 0: DETECT_FLOWS_DEFAULT */
    /* overrides for sensitivity tables; 0: from the table */
    int64_t window_ps;
    double eps;   /* not scaled by the budget */
    double kappa; /* INFINITY: none */
    /* the paper's rule; 0: its defaults */
    double theta;
    uint32_t paper_samples;
};

/* A window and how far a skip may go beyond what was observed. w is the longest of the three. */
struct detect_case {
    int64_t floor_ps;
    double rtts, timers;
    double kappa; /* INFINITY: no limit */
};

/* A row of the table of evidence, see detect_params.c. */
struct detect_row {
    double eps;
    uint8_t own_rate; /* estimate each flow by itself instead of by its group */
    uint8_t batch_count;
    struct detect_case one, many; /* one group in the partition; several */
    int64_t timer_ps;             /* when the configuration has none */
    /* Where the additive increase is a smaller share of the line rate than ai_share, dynamics are
     * slower and w is longer by (ai_share / share) ^ ai_power, at most by ai_stretch_max. */
    double ai_share, ai_power, ai_stretch_max;
    double lone_bin_rtts;
    uint32_t lone_bins; /* a multiple of 4 */
    double lone_tolerance;
    double lone_reach; /* share of what it may ask for or the path gives */
    /* Younger than the patience, a flow is skipped by at most kappa times its age; 0: no limit. */
    double lone_kappa, lone_patience_rtts;
};

struct detect_params {
    struct detect_spec spec; /* defaults filled in, but for the overrides */
    const struct detect_row *row;
    const struct detect_row *row_small_ai; /* HPCC with a small additive increase; may be NULL */
    double spread_max;                     /* of a flow's rate from its group's mean */
    double congested_util;
    double in_flight_max; /* change, as a share of the delivered bytes */
    double trend_sigmas;
    double guard_rtts, guard_lone_rtts;
};

/* What the parameters come to on a partition of given round-trip time and line rate. */
struct detect_plan {
    int64_t bin_ps; /* first length of a bin; it doubles as the episode ages */
    /* Of several flows, the general rule is tried once in this time: the more often, the more often
     * a window passes that only looks quiet. */
    int64_t decide_ps;
    int64_t settle_ps; /* left out after a control event */
    int64_t window_ps[2];
    double kappa[2]; /* [0]: one group, [1]: several */
    double eps;
    uint8_t own_rate;
    uint8_t batch_count;
    int64_t guard_ps;
    uint32_t lone_bins;
    double lone_tolerance, lone_reach;
    double lone_kappa; /* INFINITY: no limit */
    int64_t lone_patience_ps;
};

/*
 * detect_params_init - looks the row up and fills in defaults.
 * Errors: WH_ERR_INPUT (with @e, which may be NULL): a value out of its range. @p is then
 * untouched.
 */
int detect_params_init(struct detect_params *p, const struct detect_spec *spec,
                       struct err_info *e) WH_MUST_CHECK;

/*
 * detect_plan_calc - times for one partition.
 * @base_rtt_ps: the largest of its flows, > 0
 * @rate_bps_min, @rate_bps_max: over its ports, > 0
 * @payload_bytes: the largest of its flows, > 0
 * Context: pure.
 */
struct detect_plan detect_plan_calc(const struct detect_params *p, uint32_t flow_count,
                                    int64_t base_rtt_ps, int64_t rate_bps_min, int64_t rate_bps_max,
                                    int64_t payload_bytes);

/* ---- life cycle ---- */

/* detect_create - a detector that watches nothing yet. Errors: WH_ERR_NOMEM. */
int detect_create(struct detect **out) WH_MUST_CHECK;
void detect_destroy(struct detect *d); /* NULL is fine */

/*
 * detect_begin - a control event touched the partition: a new episode, nothing of the old one is
 * kept. Ends a skip without a thaw.
 * @p: must outlive the episode
 * Errors: WH_ERR_NOMEM; the detector then watches nothing.
 */
int detect_begin(struct detect *d, const struct detect_params *p, int64_t now_ps,
                 const struct watch_partition *part) WH_MUST_CHECK;

/* ---- observation ---- */

/* detect_next_sample_ps - when the present bin ends; DETECT_NEVER if nothing is watched. */
int64_t detect_next_sample_ps(const struct detect *d);

/*
 * detect_sample - the end of a bin. Meant for the time asked for; later is allowed.
 * @obs:      shape [flow_count]
 * @tx_bytes: shape [port_count], cumulative bytes on the wire
 * Cost: O(flows + ports).
 */
void detect_sample(struct detect *d, int64_t now_ps, const struct watch_obs *obs,
                   const int64_t *tx_bytes);

/*
 * detect_on_ack - the sending rate of @flow after an ACK. Only the paper's rule listens.
 * @rate_bps: as payload, or skips are too generous by the headers; >= 0
 */
void detect_on_ack(struct detect *d, uint32_t flow, int64_t rate_bps);

/* ---- verdict ---- */

enum detect_reason {
    DETECT_STEADY,
    DETECT_TOO_MANY_FLOWS, /* or nothing is watched */
    DETECT_TOO_EARLY,      /* the window is not full */
    DETECT_IDLE,           /* a flow had too few ACKs in the window */
    DETECT_IN_FLIGHT,      /* a queue fills or drains */
    DETECT_SPREAD,         /* a flow is far from its group's mean */
    DETECT_FLUCTUATES,     /* rates of sub-windows (or ACKs: the paper's rule) differ too much */
    DETECT_CLIMBING,       /* a lone flow asks for less than it may and the path gives */
    DETECT_NOISE,          /* the mean is not known well enough */
    DETECT_TREND,          /* the mean drifts */
    DETECT_KAPPA,          /* as long as was observed times kappa; mostly a bound, see lone_kappa */
    DETECT_TOO_SHORT,      /* the skip would be shorter than a quarter of the window */
    DETECT_ENDING,         /* a flow is within the guard of its end */
    DETECT_REASON_COUNT
};

struct detect_verdict {
    enum detect_reason reason;
    enum detect_reason bound;  /* steady: what set the length: NOISE, TREND, KAPPA, ENDING */
    uint32_t flow, port;       /* the worst offender and its busiest port, or DETECT_NONE */
    double measured, allowed;  /* what the reason compares; see detect_reason_text */
    int64_t window_ps;         /* observed */
    uint32_t group_count;      /* 0: not looked at */
    int64_t skip_ps;           /* steady: > 0 */
    const int64_t *skip_bytes; /* steady: shape [flow_count], payload, whole packets; until the next
                                  call on the detector */
};

/*
 * detect_decide - the verdict now, at the time of the last sample. If it is steady the detector
 * expects detect_on_thaw or detect_begin next; until then it takes no samples.
 * Cost: O(flows x batches + hops); O(1) while the window fills.
 */
void detect_decide(struct detect *d, int64_t now_ps, struct detect_verdict *v);

/* detect_reason_text - a clause without full stop; "unknown" outside the enum. */
const char *detect_reason_text(enum detect_reason reason);

/*
 * detect_skip_bytes - payload that each flow delivers if the skip ends after @elapsed_ps.
 * @elapsed_ps: 0 .. the verdict's skip_ps
 * @out: shape [flow_count]
 * Context: between a steady verdict and detect_on_thaw.
 */
void detect_skip_bytes(const struct detect *d, int64_t elapsed_ps, int64_t *out);

/*
 * detect_on_thaw - the skip is over; observation starts afresh.
 * @now_ps: local, so the time of the verdict
 * @skipped_ps, @skipped_bytes: as given by the verdict or by detect_skip_bytes; what is missing to
 * the estimate is carried into the next skip.
 */
void detect_on_thaw(struct detect *d, int64_t now_ps, int64_t skipped_ps,
                    const int64_t *skipped_bytes);

/* ---- snapshots: detect_save.c ---- */

/*
 * Where the partition stands while it is saved or restored, and how it is numbered. Clock and
 * counters are saved relative to these, so equal situations are equal bytes in whatever frame.
 */
struct detect_frame {
    int64_t now_ps;
    const int64_t *acked_bytes; /* shape [flow_count], own rows; NULL: zeroes */
    const int64_t *tx_bytes;    /* shape [port_count], own rows; NULL: zeroes */
    const uint32_t *flow_order; /* flow_order[i]: own row of saved flow i; NULL: identity */
    const uint32_t *port_order; /* as flow_order */
};

/* detect_state_bytes - room that detect_save needs now; 0 if nothing is watched. */
size_t detect_state_bytes(const struct detect *d);

/* detect_save - writes detect_state_bytes() bytes. */
void detect_save(const struct detect *d, const struct detect_frame *f, void *out);

/*
 * detect_restore - the episode that was saved goes on in @d.
 * @p: as when it was saved; must outlive the episode
 * @f: orders must be permutations of the saved numbers of flows and ports, which the caller knows
 * Errors: WH_ERR_INPUT: @state is not a whole saved state, WH_ERR_NOMEM; @d then watches nothing.
 */
int detect_restore(struct detect *d, const struct detect_params *p, const struct detect_frame *f,
                   const void *state, size_t state_bytes) WH_MUST_CHECK;

/*
 * detect_adopt - what detect_save wrote is taken by a partition like that one, whose flows may have
 * other sizes: detect_adopt.c. Gives the verdict for those, if it was written after a steady one.
 * @remaining_bytes: shape [flow_count], own rows, payload neither acknowledged nor skipped
 * @goes_on: @d watches the partition since its control event: its age and remainders are kept
 * @v: NULL: there was no verdict yet, and there is none now
 * Errors: as detect_restore; WH_ERR_INPUT also for a verdict that is missing, or not expected
 */
int detect_adopt(struct detect *d, const struct detect_params *p, const struct detect_frame *f,
                 const void *state, size_t state_bytes, const int64_t *remaining_bytes, int goes_on,
                 struct detect_verdict *v) WH_MUST_CHECK;

#endif
