/*
 * config.c - defaults and ranges of the model's parameters: see config.h.
 *
 * Defaults: the values that the HPCC simulator's users run with (its run.py presets at 100 Gb/s)
 * and, for Swift, Kumar et al., SIGCOMM 2020. A check is a row of a table: name, value, range. The
 * checks of one part stop at its first bad row.
 */
#include "config.h"

#include "units.h"

#include <string.h>

#define KIB INT64_C(1024)
#define MIB (1024 * KIB)
#define MBPS INT64_C(1000000)
#define GBPS (1000 * MBPS)

#define PAYLOAD_BYTES_MAX 65000
#define CONTROL_BYTES_MAX 65535 /* headers, ACK, CNP and pause frames */
#define BUFFER_BYTES_MAX (INT64_C(1) << 40)
#define RATE_BPS_MAX INT64_C(1000000000000000) /* 1 Pb/s */
#define INTERVAL_PS_MAX (INT64_C(1000000) * PS_PER_S)
#define PACKETS_MAX 1e9
#define INT_HOPS_MAX 7 /* records beside a packet, see struct int_rec */
#define FRAME_BYTES_MAX (65535 - 2 - 8 * INT_HOPS_MAX) /* 16 bits, less the largest INT field */
#define INT_MULTI_MAX 1000
#define RETRIES_MAX 1000000
#define STAGES_MAX 1000000
#define SPRAY_PATHS_MAX 64
#define ALPHA_SHIFT_MAX 30

static const char *const cc_names[CC_KIND_COUNT] = {
    [CC_NONE] = "none",     [CC_DCQCN] = "dcqcn", [CC_HPCC] = "hpcc",
    [CC_TIMELY] = "timely", [CC_DCTCP] = "dctcp", [CC_SWIFT] = "swift",
};

const char *config_cc_name(enum cc_kind cc)
{
    return (unsigned)cc < CC_KIND_COUNT ? cc_names[cc] : "unknown";
}

int config_cc_from_name(const char *name, enum cc_kind *out)
{
    for (unsigned i = 0; i < CC_KIND_COUNT; i++)
        if (!strcmp(name, cc_names[i])) {
            *out = (enum cc_kind)i;
            return 0;
        }
    return WH_ERR_INPUT;
}

static void init_host(struct sim_config *c)
{
    c->payload_bytes = 1000;
    c->header_bytes = 48;
    c->ack_bytes = 60;
    c->pfc_bytes = 43;
    c->cc = CC_HPCC;
    c->has_window = c->window_global = c->window_variable = 1;
    c->rate_bound = 1;
    c->ack = ACK_PRIORITY;
    c->ack_every_packets = 1;
    c->ack_interval_bytes = 1;
    c->chunk_bytes = 4000;
    c->recovery = RECOVERY_GO_BACK_N;
    c->nack_interval_ps = 500 * PS_PER_US;
    c->rto = RTO_ON;
    c->rto_ps = PS_PER_MS;
    c->rto_retries_max = 20;
    c->min_rate_bps = 100 * MBPS;
}

static void init_congestion_control(struct sim_config *c)
{
    /* Member by member: memset has cleared the padding, so equal configurations are equal bytes. */
    c->dcqcn.alpha_resume_ps = PS_PER_US;
    c->dcqcn.decrease_interval_ps = 4 * PS_PER_US;
    c->dcqcn.increase_timer_ps = 300 * PS_PER_US;
    c->dcqcn.gain = 1.0 / 256;
    c->dcqcn.fast_recovery = 1;
    c->dcqcn.ai_bps = 20 * MBPS;
    c->dcqcn.hai_bps = 200 * MBPS;
    c->hpcc.target_util = 0.95;
    c->hpcc.ai_bps = 40 * MBPS;
    c->hpcc.fast_react = 1;
    c->timely = (struct timely_params){
        .ai_bps = 100 * MBPS,
        .hai_bps = 500 * MBPS,
        .alpha = 0.875,
        .beta = 0.8,
        .tlow_ps = 50 * PS_PER_US,
        .thigh_ps = 500 * PS_PER_US,
        .min_rtt_ps = 20 * PS_PER_US,
    };
    c->dctcp = (struct dctcp_params){.gain = 1.0 / 16, .ai_bps = 615 * MBPS};
    c->swift = (struct swift_params){
        .base_target_ps = 5 * PS_PER_US,
        .per_hop_ps = PS_PER_US,
        .ai_packets = 1.0,
        .beta = 0.8,
        .max_mdf = 0.5,
        .flow_scaling_ps = 4 * PS_PER_US,
        .fs_min_cwnd = 0.1,
        .fs_max_cwnd = 100.0,
        .min_cwnd = 0.001,
    };
    c->int_hops_max = 5;
    c->int_reset_idle = 1;
    c->int_multi = 4;
}

void config_ecn_defaults(struct sim_config *c)
{
    static const int64_t rates_gbps[] = {25, 40, 50, 100, 200, 400};
    const int is_step = c->cc == CC_DCTCP;

    c->ecn_row_count = 0;
    for (size_t i = 0; i < sizeof rates_gbps / sizeof *rates_gbps; i++)
        c->ecn_rows[c->ecn_row_count++] = (struct ecn_row){
            .rate_bps = rates_gbps[i] * GBPS,
            .kmin_bytes = rates_gbps[i] * (is_step ? 650 : 4000),
            .kmax_bytes = rates_gbps[i] * (is_step ? 650 : 16000),
            .pmax = is_step ? 1.0 : 0.2,
        };
}

static void init_switch(struct sim_config *c)
{
    c->buffer_bytes = 32 * MIB;
    c->pfc = 1;
    c->ecn = 1;
    config_ecn_defaults(c);
    c->pfc_reserve_bytes = 4096;
    c->pfc_headroom_bytes = -1;
    c->pfc_resume_offset_bytes = 3072;
    c->pfc_alpha_shift = 3;
    c->sched = SCHED_ROUND_ROBIN;
    c->routing = ROUTING_ECMP;
    c->spray_paths = 16;
}

void config_init(struct sim_config *c)
{
    memset(c, 0, sizeof *c);
    c->seed = 1;
    c->end_ps = TIME_NEVER;
    c->round_ps = 1;
    init_host(c);
    init_congestion_control(c);
    init_switch(c);
}

struct int_range {
    const char *what, *unit;
    int64_t value, low, high;
};

struct real_range {
    const char *what;
    double value, low, high;
    int excludes_low;
};

#define CHECK_ROWS(check_fn, rows, e) check_fn(rows, sizeof(rows) / sizeof((rows)[0]), e)

static int check_ints(const struct int_range *rows, size_t row_count, struct err_info *e)
{
    for (const struct int_range *r = rows; r < rows + row_count; r++)
        if (r->value < r->low || r->value > r->high)
            return err_set(e, WH_ERR_INPUT, NULL, 0, "%s is %lld%s, expected %lld to %lld%s",
                           r->what, (long long)r->value, r->unit, (long long)r->low,
                           (long long)r->high, r->unit);
    return 0;
}

static int check_reals(const struct real_range *rows, size_t row_count, struct err_info *e)
{
    for (const struct real_range *r = rows; r < rows + row_count; r++) {
        /* Written so that NaN is refused. */
        if (r->value <= r->high && (r->excludes_low ? r->value > r->low : r->value >= r->low))
            continue;
        return err_set(e, WH_ERR_INPUT, NULL, 0, "%s is %g, expected %s %g and at most %g", r->what,
                       r->value, r->excludes_low ? "more than" : "at least", r->low, r->high);
    }
    return 0;
}

static int check_clock(const struct sim_config *c, struct err_info *e)
{
    if (c->end_ps < 0)
        return err_set(e, WH_ERR_INPUT, NULL, 0, "end time is %lld ps, expected 0 or later",
                       (long long)c->end_ps);
    if (c->round_ps != 1 && c->round_ps != PS_PER_NS)
        return err_set(e, WH_ERR_INPUT, NULL, 0, "time rounding is %lld ps, expected 1 or 1000 ps",
                       (long long)c->round_ps);
    return 0;
}

static int check_host(const struct sim_config *c, struct err_info *e)
{
    const struct int_range rows[] = {
        {"packet payload", " B", c->payload_bytes, 1, PAYLOAD_BYTES_MAX},
        {"packet header", " B", c->header_bytes, 0, CONTROL_BYTES_MAX},
        {"packet with its header", " B", (int64_t)c->payload_bytes + c->header_bytes, 1,
         FRAME_BYTES_MAX},
        {"ACK size", " B", c->ack_bytes, 1, CONTROL_BYTES_MAX},
        {"pause frame size", " B", c->pfc_bytes, 1, CONTROL_BYTES_MAX},
        {"congestion control", "", (int64_t)c->cc, 0, CC_KIND_COUNT - 1},
        {"has_window", "", c->has_window, 0, 1},
        {"window_global", "", c->window_global, 0, 1},
        {"window_variable", "", c->window_variable, 0, 1},
        {"rate_bound", "", c->rate_bound, 0, 1},
        {"reuse_sport", "", c->reuse_sport, 0, 1},
        {"ACK mode", "", (int64_t)c->ack, 0, ACK_CHARGED},
        {"packets per ACK", "", c->ack_every_packets, 1, INT32_MAX},
        {"ACK interval", " B", c->ack_interval_bytes, 0, INT32_MAX},
        {"chunk size", " B", c->chunk_bytes, 1, INT32_MAX},
        {"recovery mode", "", (int64_t)c->recovery, 0, RECOVERY_SELECTIVE_REPEAT},
        {"NACK interval", " ps", c->nack_interval_ps, 0, INTERVAL_PS_MAX},
        {"timeout mode", "", (int64_t)c->rto, 0, RTO_ON},
        {"retransmission timeout", " ps", c->rto_ps, 1, INTERVAL_PS_MAX},
        {"timeouts before a flow is given up", "", c->rto_retries_max, 0, RETRIES_MAX},
        {"CNP interval", " ps", c->cnp_interval_ps, 0, INTERVAL_PS_MAX},
        {"minimum rate", " bit/s", c->min_rate_bps, 1, RATE_BPS_MAX},
        {"fixed rate", " bit/s", c->fixed_rate_bps, 0, RATE_BPS_MAX},
    };

    return CHECK_ROWS(check_ints, rows, e);
}

static int check_dcqcn(const struct dcqcn_params *p, struct err_info *e)
{
    const struct int_range ints[] = {
        {"DCQCN alpha interval", " ps", p->alpha_resume_ps, 1, INTERVAL_PS_MAX},
        {"DCQCN decrease interval", " ps", p->decrease_interval_ps, 1, INTERVAL_PS_MAX},
        {"DCQCN increase timer", " ps", p->increase_timer_ps, 1, INTERVAL_PS_MAX},
        {"DCQCN fast recovery stages", "", p->fast_recovery, 0, STAGES_MAX},
        {"DCQCN additive increase", " bit/s", p->ai_bps, 0, RATE_BPS_MAX},
        {"DCQCN hyper increase", " bit/s", p->hai_bps, 0, RATE_BPS_MAX},
        {"DCQCN clamp_target", "", p->clamp_target, 0, 1},
    };
    const struct real_range reals[] = {{"DCQCN gain", p->gain, 0, 1, 1}};
    int rc = CHECK_ROWS(check_ints, ints, e);

    return rc ? rc : CHECK_ROWS(check_reals, reals, e);
}

static int check_hpcc(const struct sim_config *c, struct err_info *e)
{
    const struct hpcc_params *p = &c->hpcc;
    const struct int_range ints[] = {
        {"HPCC increase stages", "", p->mi_thresh, 0, STAGES_MAX},
        {"HPCC additive increase", " bit/s", p->ai_bps, 0, RATE_BPS_MAX},
        {"HPCC fast_react", "", p->fast_react, 0, 1},
        {"HPCC multi_rate", "", p->multi_rate, 0, 1},
        {"HPCC sample_feedback", "", p->sample_feedback, 0, 1},
        {"INT hops", "", c->int_hops_max, 1, INT_HOPS_MAX},
        {"INT multiplier", "", c->int_multi, 1, INT_MULTI_MAX},
        {"INT reset", "", c->int_reset_idle, 0, 1},
    };
    const struct real_range reals[] = {{"HPCC target utilisation", p->target_util, 0, 1, 1}};
    int rc = CHECK_ROWS(check_ints, ints, e);

    return rc ? rc : CHECK_ROWS(check_reals, reals, e);
}

static int check_timely(const struct timely_params *p, struct err_info *e)
{
    const struct int_range ints[] = {
        {"TIMELY additive increase", " bit/s", p->ai_bps, 0, RATE_BPS_MAX},
        {"TIMELY hyper increase", " bit/s", p->hai_bps, 0, RATE_BPS_MAX},
        {"TIMELY upper threshold", " ps", p->thigh_ps, 0, INTERVAL_PS_MAX},
        {"TIMELY lower threshold", " ps", p->tlow_ps, 0, p->thigh_ps},
        {"TIMELY minimum RTT", " ps", p->min_rtt_ps, 1, INTERVAL_PS_MAX},
    };
    const struct real_range reals[] = {
        {"TIMELY alpha", p->alpha, 0, 1, 0},
        {"TIMELY beta", p->beta, 0, 1, 0},
    };
    int rc = CHECK_ROWS(check_ints, ints, e);

    return rc ? rc : CHECK_ROWS(check_reals, reals, e);
}

static int check_dctcp(const struct dctcp_params *p, struct err_info *e)
{
    const struct int_range ints[] = {
        {"DCTCP additive increase", " bit/s", p->ai_bps, 0, RATE_BPS_MAX},
    };
    const struct real_range reals[] = {{"DCTCP gain", p->gain, 0, 1, 1}};
    int rc = CHECK_ROWS(check_ints, ints, e);

    return rc ? rc : CHECK_ROWS(check_reals, reals, e);
}

static int check_swift(const struct swift_params *p, struct err_info *e)
{
    const struct int_range ints[] = {
        {"Swift base target", " ps", p->base_target_ps, 1, INTERVAL_PS_MAX},
        {"Swift target per hop", " ps", p->per_hop_ps, 0, INTERVAL_PS_MAX},
        {"Swift flow scaling range", " ps", p->flow_scaling_ps, 0, INTERVAL_PS_MAX},
    };
    const struct real_range reals[] = {
        {"Swift additive increase", p->ai_packets, 0, PACKETS_MAX, 1},
        {"Swift beta", p->beta, 0, 1, 1},
        {"Swift largest decrease", p->max_mdf, 0, 1, 1},
        {"Swift upper window of flow scaling", p->fs_max_cwnd, 0, PACKETS_MAX, 1},
        {"Swift lower window of flow scaling", p->fs_min_cwnd, 0, p->fs_max_cwnd, 1},
        {"Swift smallest window", p->min_cwnd, 0, PACKETS_MAX, 1},
        {"Swift largest window", p->max_cwnd, 0, PACKETS_MAX, 0},
    };
    int rc = CHECK_ROWS(check_ints, ints, e);

    if (!rc)
        rc = CHECK_ROWS(check_reals, reals, e);
    if (rc)
        return rc;
    if (p->flow_scaling_ps > 0 && p->fs_min_cwnd >= p->fs_max_cwnd)
        return err_set(e, WH_ERR_INPUT, NULL, 0,
                       "Swift flow scaling goes from %g to %g packets, expected a growing range",
                       p->fs_min_cwnd, p->fs_max_cwnd);
    if (p->max_cwnd > 0 && p->max_cwnd < p->min_cwnd)
        return err_set(e, WH_ERR_INPUT, NULL, 0,
                       "Swift largest window is %g packets, expected at least the smallest, %g",
                       p->max_cwnd, p->min_cwnd);
    return 0;
}

static int check_ecn_row(const struct sim_config *c, uint32_t row, struct err_info *e)
{
    const struct ecn_row *r = &c->ecn_rows[row];
    const struct int_range ints[] = {
        {"ECN row rate", " bit/s", r->rate_bps, 1, RATE_BPS_MAX},
        {"ECN upper threshold", " B", r->kmax_bytes, 0, BUFFER_BYTES_MAX},
        {"ECN lower threshold", " B", r->kmin_bytes, 0, r->kmax_bytes},
    };
    const struct real_range reals[] = {{"ECN marking probability", r->pmax, 0, 1, 0}};
    int rc = CHECK_ROWS(check_ints, ints, e);

    if (!rc)
        rc = CHECK_ROWS(check_reals, reals, e);
    for (uint32_t i = 0; !rc && i < row; i++)
        if (c->ecn_rows[i].rate_bps == r->rate_bps)
            rc = err_set(e, WH_ERR_INPUT, NULL, 0,
                         "two ECN rows are for %lld bit/s, expected one row a rate",
                         (long long)r->rate_bps);
    return rc;
}

static int check_ecn(const struct sim_config *c, struct err_info *e)
{
    const struct int_range rows[] = {
        {"ecn", "", c->ecn, 0, 1},
        {"ecn_strict", "", c->ecn_strict, 0, 1},
        {"number of ECN rows", "", c->ecn_row_count, 0, CONFIG_ECN_ROWS_MAX},
    };
    int rc = CHECK_ROWS(check_ints, rows, e);

    if (!rc && c->ecn && c->ecn_row_count == 0)
        return err_set(e, WH_ERR_INPUT, NULL, 0,
                       "ECN is on without thresholds, expected thresholds for at least one rate");
    for (uint32_t i = 0; !rc && i < c->ecn_row_count; i++)
        rc = check_ecn_row(c, i, e);
    return rc;
}

static int check_switch(const struct sim_config *c, struct err_info *e)
{
    const struct int_range rows[] = {
        {"switch buffer", " B", c->buffer_bytes, 0, BUFFER_BYTES_MAX},
        {"pfc", "", c->pfc, 0, 1},
        {"PFC reserve", " B", c->pfc_reserve_bytes, 0, INT32_MAX},
        {"PFC headroom", " B", c->pfc_headroom_bytes, -2, BUFFER_BYTES_MAX},
        {"PFC resume offset", " B", c->pfc_resume_offset_bytes, 0, INT32_MAX},
        {"PFC alpha shift", "", c->pfc_alpha_shift, 0, ALPHA_SHIFT_MAX},
        {"pfc_static", "", c->pfc_static, 0, 1},
        {"static PFC threshold", " B", c->pfc_static_bytes, c->pfc_static, BUFFER_BYTES_MAX},
        {"queue scheduling", "", (int64_t)c->sched, 0, SCHED_STRICT},
        {"routing mode", "", (int64_t)c->routing, 0, ROUTING_SPRAY},
        {"number of sprayed paths", "", c->spray_paths, 1, SPRAY_PATHS_MAX},
        {"hosts_forward", "", c->hosts_forward, 0, 1},
    };

    return CHECK_ROWS(check_ints, rows, e);
}

static int check_events(const struct sim_config *c, struct err_info *e)
{
    const struct int_range count[] = {
        {"number of link events", "", c->event_count, 0, CONFIG_EVENTS_MAX},
    };
    int rc = CHECK_ROWS(check_ints, count, e);

    for (uint32_t i = 0; !rc && i < c->event_count; i++) {
        const struct net_event *v = &c->events[i];
        const struct int_range rows[] = {
            {"time of a link event", " ps", v->time_ps, 0, INT64_MAX - 1},
            {"kind of a link event", "", v->kind, NET_LINK_DOWN, NET_LINK_UP},
        };

        rc = CHECK_ROWS(check_ints, rows, e);
        if (!rc && v->a == v->b)
            rc = err_set(e, WH_ERR_INPUT, NULL, 0,
                         "a link event names node %u twice, expected two different nodes", v->a);
    }
    return rc;
}

static int check_congestion_control(const struct sim_config *c, struct err_info *e)
{
    int rc = check_dcqcn(&c->dcqcn, e);

    if (!rc)
        rc = check_hpcc(c, e);
    if (!rc)
        rc = check_timely(&c->timely, e);
    if (!rc)
        rc = check_dctcp(&c->dctcp, e);
    if (!rc)
        rc = check_swift(&c->swift, e);
    return rc;
}

int config_check(const struct sim_config *c, struct err_info *e)
{
    int rc = check_clock(c, e);

    if (!rc)
        rc = check_host(c, e);
    if (!rc)
        rc = check_congestion_control(c, e);
    if (!rc)
        rc = check_ecn(c, e);
    if (!rc)
        rc = check_switch(c, e);
    if (!rc)
        rc = check_events(c, e);
    return rc;
}
