/*
 * hpcc_config.c - a whole HPCC configuration as a scenario: what the keys mean, and the files they
 * name.
 *
 * Meaning of the keys, defaults and everything that is refused or differs: docs/formats.md.
 * L2_ACK_INTERVAL is in bytes: a receiver acknowledges once its next expected byte has passed a
 * milestone that moves on by this much each time, and at every multiple of L2_CHUNK_SIZE; 1 means
 * every packet.
 */
#include "hpcc_int.h"

#include "units.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#define ROUND_PS PS_PER_NS             /* the reference's clock */
#define EVENTS_START_PS (2 * PS_PER_S) /* LINK_DOWN counts from here */
#define QLEN_INTERVAL_PS (100 * PS_PER_NS)
#define RTO_PS PS_PER_MS
#define KB_BYTES 1000
#define ECN_NEVER_BYTES (INT64_C(1) << 40) /* no queue is ever that long */
#define MONITOR_INTERVAL_PS (100 * PS_PER_US)

struct loader {
    struct hpcc_values *v;
    struct scenario *sc;
    const struct warn_sink *sink;
    struct err_info *e;
};

#define UINT_OF(l, name) ((l)->v->value[HPCC_KEY_##name].uint)
#define FLAG_OF(l, name) ((uint8_t)UINT_OF(l, name))
#define IS_GIVEN(l, name) ((l)->v->place[HPCC_KEY_##name].is_given)

static int is_file(const char *path, struct stat *st)
{
    return stat(path, st) == 0 && !S_ISDIR(st->st_mode);
}

/* @name beside the configuration. Returns 0 if that is too long. */
static int join_folder(const struct loader *l, const char *name, char *out, size_t out_bytes)
{
    const char *slash = strrchr(l->v->path, '/');
    int folder_chars = slash ? (int)(slash - l->v->path) + 1 : 0;
    int chars = snprintf(out, out_bytes, "%.*s%s", folder_chars, l->v->path, name);

    return chars > 0 && (size_t)chars < out_bytes;
}

/* The working directory first, then the folder of the configuration. */
static int find_file(struct loader *l, enum hpcc_key key, char *out, size_t out_bytes)
{
    const char *name = l->v->value[key].path;
    struct stat here, beside;
    int is_here = is_file(name, &here);
    int is_beside = name[0] != '/' && join_folder(l, name, out, out_bytes) && is_file(out, &beside);

    if (!is_here && !is_beside)
        return hpcc__refuse_key(l->v, key, l->e,
                                "found no file \"%s\", expected it in the working directory or "
                                "beside the configuration",
                                name);
    if (is_here && is_beside && (here.st_ino != beside.st_ino || here.st_dev != beside.st_dev))
        warn(l->sink,
             "%s: %s is in the working directory and beside the configuration; the one in "
             "the working directory is read",
             hpcc__key_name(key), name);
    if (is_here)
        snprintf(out, out_bytes, "%s", name);
    return 0;
}

static int need_key(struct loader *l, enum hpcc_key key, const char *why)
{
    if (l->v->place[key].is_given)
        return 0;
    return err_set(l->e, WH_ERR_INPUT, l->v->path, 0, "found no %s, expected it: %s",
                   hpcc__key_name(key), why);
}

static int select_cc(struct loader *l)
{
    uint64_t mode = UINT_OF(l, CC_MODE);
    enum cc_kind *cc = &l->sc->cfg.cc;

    switch (mode) {
    case 1:
        *cc = CC_DCQCN;
        return 0;
    case 3:
        *cc = CC_HPCC;
        return 0;
    case 7:
        *cc = CC_TIMELY;
        return 0;
    case 8:
        *cc = CC_DCTCP;
        return 0;
    case 10:
        return hpcc__refuse_key(l->v, HPCC_KEY_CC_MODE, l->e,
                                "found 10 (HPCC with PINT), expected 1 (DCQCN), 3 (HPCC), 7 "
                                "(TIMELY), 8 (DCTCP) or another number for no congestion control");
    default:
        *cc = CC_NONE;
        warn(l->sink,
             "CC_MODE %" PRIu64 " names no congestion control: hosts send at line rate, "
             "limited by their windows only",
             mode);
        return 0;
    }
}

/* A parameter of the model: where the tools that make their own traffic leave it out, their users
 * mean "as usual". */
static int need_param(struct loader *l, enum hpcc_key key, const char *why)
{
    if (l->v->dialect == HPCC_PLAIN || l->v->place[key].is_given)
        return need_key(l, key, why);
    warn(l->sink, "%s: no %s: the default of scenario files is used", l->v->path,
         hpcc__key_name(key));
    return 0;
}

/* Keys without a usable default in the reference, where the chosen scheme needs them. */
static int check_cc_keys(struct loader *l)
{
    enum cc_kind cc = l->sc->cfg.cc;
    int rc = 0;

    if (cc == CC_DCQCN || cc == CC_DCTCP)
        rc = need_param(l, HPCC_KEY_EWMA_GAIN,
                        "the gain of DCQCN and DCTCP; the HPCC simulator's default is 0 and "
                        "switches the reaction off");
    if (!rc && cc == CC_DCQCN)
        rc = need_param(l, HPCC_KEY_RP_TIMER, "the rate increase timer of DCQCN has no default");
    if (!rc && (cc == CC_DCQCN || cc == CC_HPCC || cc == CC_TIMELY))
        rc = need_param(l, HPCC_KEY_RATE_AI, "the additive increase has no default");
    if (!rc && (cc == CC_DCQCN || cc == CC_TIMELY))
        rc = need_param(l, HPCC_KEY_RATE_HAI, "the hyper increase has no default");
    if (!rc)
        rc = need_param(l, HPCC_KEY_L2_CHUNK_SIZE, "the HPCC simulator divides by it");
    if (!rc)
        rc = need_param(l, HPCC_KEY_L2_ACK_INTERVAL,
                        "by default nothing is acknowledged and no flow completes");
    return rc;
}

/* Fields of which the reference has one value only. */
static void set_fixed(struct sim_config *c)
{
    c->round_ps = ROUND_PS;
    c->order = ORDER_NS3;
    c->header_bytes = 48;
    c->ack_bytes = 60;
    c->pfc_bytes = 43;
    c->ack_every_packets = 1;
    c->nack_interval_ps = 500 * PS_PER_US;
    c->rto = RTO_OFF;
    c->rto_ps = RTO_PS;
    c->cnp_interval_ps = 0;
    c->fixed_rate_bps = 0;
    c->int_hops_max = 5;
    c->int_reset_idle = 0;
    c->ecn_strict = 1;
    c->pfc_reserve_bytes = 4096;
    c->pfc_headroom_bytes = -1;
    c->pfc_resume_offset_bytes = 3072;
    c->pfc_alpha_shift = 3;
    c->pfc_static = 0;
    c->sched = SCHED_ROUND_ROBIN;
    c->routing = ROUTING_ECMP;
    c->hosts_forward = 0;
}

static void set_host(const struct loader *l, struct sim_config *c)
{
    if (IS_GIVEN(l, RANDOM_SEED))
        c->seed = UINT_OF(l, RANDOM_SEED);
    c->end_ps = l->v->value[HPCC_KEY_SIMULATOR_STOP_TIME].ps;
    if (l->v->dialect != HPCC_PLAIN && !IS_GIVEN(l, SIMULATOR_STOP_TIME))
        c->end_ps = TIME_NEVER;
    c->payload_bytes = (uint32_t)UINT_OF(l, PACKET_PAYLOAD_SIZE);
    c->has_window = FLAG_OF(l, HAS_WIN);
    c->window_global = FLAG_OF(l, GLOBAL_T);
    c->window_variable = FLAG_OF(l, VAR_WIN);
    c->rate_bound = FLAG_OF(l, RATE_BOUND);
    c->reuse_sport = FLAG_OF(l, SPORT_REUSE);
    c->ack = UINT_OF(l, ACK_HIGH_PRIO) ? ACK_PRIORITY : ACK_IN_DATA;
    if (IS_GIVEN(l, L2_ACK_INTERVAL))
        c->ack_interval_bytes = (uint32_t)UINT_OF(l, L2_ACK_INTERVAL);
    if (IS_GIVEN(l, L2_CHUNK_SIZE))
        c->chunk_bytes = (uint32_t)UINT_OF(l, L2_CHUNK_SIZE);
    c->recovery = UINT_OF(l, L2_BACK_TO_ZERO) ? RECOVERY_GO_BACK_0 : RECOVERY_GO_BACK_N;
    c->min_rate_bps = l->v->value[HPCC_KEY_MIN_RATE].bps;
}

static void set_cc(const struct loader *l, struct sim_config *c)
{
    double gain = l->v->value[HPCC_KEY_EWMA_GAIN].real;
    int64_t ai_bps = l->v->value[HPCC_KEY_RATE_AI].bps;
    int64_t hai_bps = l->v->value[HPCC_KEY_RATE_HAI].bps;

    c->dcqcn.alpha_resume_ps = l->v->value[HPCC_KEY_ALPHA_RESUME_INTERVAL].ps;
    c->dcqcn.decrease_interval_ps = l->v->value[HPCC_KEY_RATE_DECREASE_INTERVAL].ps;
    if (IS_GIVEN(l, RP_TIMER))
        c->dcqcn.increase_timer_ps = l->v->value[HPCC_KEY_RP_TIMER].ps;
    if (IS_GIVEN(l, EWMA_GAIN))
        c->dcqcn.gain = c->dctcp.gain = gain;
    if (IS_GIVEN(l, RATE_AI))
        c->dcqcn.ai_bps = c->hpcc.ai_bps = c->timely.ai_bps = ai_bps;
    if (IS_GIVEN(l, RATE_HAI))
        c->dcqcn.hai_bps = c->timely.hai_bps = hai_bps;
    c->dcqcn.fast_recovery = (uint32_t)UINT_OF(l, FAST_RECOVERY_TIMES);
    c->dcqcn.clamp_target = FLAG_OF(l, CLAMP_TARGET_RATE);
    c->dctcp.ai_bps = l->v->value[HPCC_KEY_DCTCP_RATE_AI].bps;
    c->hpcc.target_util = l->v->value[HPCC_KEY_U_TARGET].real;
    c->hpcc.mi_thresh = (uint32_t)UINT_OF(l, MI_THRESH);
    c->hpcc.fast_react = FLAG_OF(l, FAST_REACT);
    c->hpcc.multi_rate = FLAG_OF(l, MULTI_RATE);
    c->hpcc.sample_feedback = FLAG_OF(l, SAMPLE_FEEDBACK);
    c->int_multi = (uint32_t)UINT_OF(l, INT_MULTI);
    /* Constants in the reference's source. */
    c->timely.alpha = 0.875;
    c->timely.beta = 0.8;
    c->timely.tlow_ps = 50 * PS_PER_US;
    c->timely.thigh_ps = 500 * PS_PER_US;
    c->timely.min_rtt_ps = 20 * PS_PER_US;
}

static void set_switch(const struct loader *l, struct sim_config *c)
{
    c->buffer_bytes = (int64_t)UINT_OF(l, BUFFER_SIZE) << 20;
    c->pfc = FLAG_OF(l, PFC_ENABLED);
    c->ecn = FLAG_OF(l, ENABLE_QCN);
    if (!UINT_OF(l, USE_DYNAMIC_PFC_THRESHOLD))
        warn(l->sink, "USE_DYNAMIC_PFC_THRESHOLD 0: the switches of the HPCC simulator share their "
                      "buffer dynamically all the same, and so do these");
}

static int set_config(struct loader *l)
{
    struct sim_config *c = &l->sc->cfg;
    int rc = select_cc(l);

    if (!rc)
        rc = check_cc_keys(l);
    if (rc)
        return rc;
    set_fixed(c);
    set_host(l, c);
    set_cc(l, c);
    set_switch(l, c);
    if (c->end_ps == TIME_NEVER && IS_GIVEN(l, SIMULATOR_STOP_TIME))
        warn(l->sink, "SIMULATOR_STOP_TIME is later than any clock: the run ends when all flows "
                      "are done");
    return 0;
}

static const double *find_in_map(const struct loader *l, enum hpcc_key key, int64_t rate_bps)
{
    const struct hpcc_map *m = &l->v->value[key].map;

    for (uint32_t i = 0; i < m->count; i++)
        if (m->rate_bps[i] == rate_bps)
            return &m->value[i];
    return NULL;
}

/* Rows of the rates that all three maps hold; the others are of no use to any port. */
static int set_ecn_rows(struct loader *l)
{
    const struct hpcc_map *kmax = &l->v->value[HPCC_KEY_KMAX_MAP].map;
    struct sim_config *c = &l->sc->cfg;

    c->ecn_row_count = 0;
    for (uint32_t i = 0; i < kmax->count; i++) {
        const double *kmin = find_in_map(l, HPCC_KEY_KMIN_MAP, kmax->rate_bps[i]);
        const double *pmax = find_in_map(l, HPCC_KEY_PMAX_MAP, kmax->rate_bps[i]);

        if (!kmin || !pmax)
            continue;
        if (*kmin > kmax->value[i])
            return hpcc__refuse_key(l->v, HPCC_KEY_KMIN_MAP, l->e,
                                    "found %g KB at %" PRId64
                                    " bit/s, expected at most the %g KB of KMAX_MAP",
                                    *kmin, kmax->rate_bps[i], kmax->value[i]);
        c->ecn_rows[c->ecn_row_count++] =
            (struct ecn_row){.rate_bps = kmax->rate_bps[i],
                             .kmin_bytes = (int64_t)*kmin * KB_BYTES,
                             .kmax_bytes = (int64_t)kmax->value[i] * KB_BYTES,
                             .pmax = *pmax};
    }
    return 0;
}

static int check_port_ecn(struct loader *l, uint32_t port)
{
    static const enum hpcc_key maps[] = {HPCC_KEY_KMAX_MAP, HPCC_KEY_KMIN_MAP, HPCC_KEY_PMAX_MAP};
    const struct topo *t = l->sc->topo;
    int64_t rate_bps = topo_port_class(t, port)->rate_bps;

    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        if (!find_in_map(l, maps[i], rate_bps))
            return hpcc__refuse_key(l->v, maps[i], l->e,
                                    "found no entry for %" PRId64
                                    " bit/s, expected one: switch %u has a port of that rate and "
                                    "ENABLE_QCN is 1",
                                    rate_bps, t->port_node[port]);
    return 0;
}

static int has_row(const struct sim_config *c, int64_t rate_bps)
{
    for (uint32_t i = 0; i < c->ecn_row_count; i++)
        if (c->ecn_rows[i].rate_bps == rate_bps)
            return 1;
    return 0;
}

/* The maps need not name the rates of NVSwitches, which do not mark then. */
static int add_nvswitch_row(struct loader *l, uint32_t port)
{
    struct sim_config *c = &l->sc->cfg;
    int64_t rate_bps = topo_port_class(l->sc->topo, port)->rate_bps;

    if (has_row(c, rate_bps))
        return 0;
    if (c->ecn_row_count == CONFIG_ECN_ROWS_MAX)
        return hpcc__refuse_key(l->v, HPCC_KEY_KMAX_MAP, l->e,
                                "found too many rates with those of the NVSwitches, expected at "
                                "most %d",
                                CONFIG_ECN_ROWS_MAX);
    c->ecn_rows[c->ecn_row_count++] = (struct ecn_row){
        .rate_bps = rate_bps, .kmin_bytes = ECN_NEVER_BYTES, .kmax_bytes = ECN_NEVER_BYTES};
    return 0;
}

/* Every port of a switch needs its thresholds; without a switch port nothing can be marked. */
static int check_ecn(struct loader *l)
{
    const struct topo *t = l->sc->topo;
    struct sim_config *c = &l->sc->cfg;
    int has_switch_port = 0;
    int rc = set_ecn_rows(l);

    for (uint32_t p = 0; !rc && c->ecn && p < t->port_count; p++) {
        if (t->kind[t->port_node[p]] == NODE_HOST)
            continue;
        has_switch_port = 1;
        if (t->kind[t->port_node[p]] == NODE_NVSWITCH)
            rc = add_nvswitch_row(l, p);
        else
            rc = check_port_ecn(l, p);
    }
    if (!rc && !has_switch_port)
        c->ecn = 0;
    return rc;
}

/* A network that is there already gets what the configuration says about all links. */
static void apply_rules(struct topo *t, const struct hpcc_link_rules *rules)
{
    for (uint32_t i = 0; i < t->class_count; i++) {
        struct link_class *c = &t->classes[i];

        c->delay_ps -= c->delay_ps % rules->round_ps;
        if (c->error_rate <= 0)
            c->error_rate = rules->error_rate;
    }
}

static int read_topology(struct loader *l, const struct hpcc_link_rules *rules)
{
    char path[2 * HPCC_PATH_BYTES];
    int rc = need_key(l, HPCC_KEY_TOPOLOGY_FILE, "it names the network");

    if (!rc)
        rc = find_file(l, HPCC_KEY_TOPOLOGY_FILE, path, sizeof path);
    return rc ? rc : hpcc__read_topology(path, rules, NULL, &l->sc->topo, l->sink, l->e);
}

static int set_topology(struct loader *l)
{
    struct hpcc_link_rules rules = {.round_ps = ROUND_PS,
                                    .error_rate = l->v->value[HPCC_KEY_ERROR_RATE_PER_LINK].real};
    int rc = 0;

    if (!l->sc->topo)
        rc = read_topology(l, &rules);
    else
        apply_rules(l->sc->topo, &rules);
    return rc ? rc : check_ecn(l);
}

/* The reference's clock has whole ns. Cutting keeps the order. */
static void round_starts(struct loader *l)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < l->sc->flow_count; i++) {
        int64_t rest = l->sc->flows[i].start_ps % ROUND_PS;

        l->sc->flows[i].start_ps -= rest;
        count += rest != 0;
    }
    if (count)
        warn(l->sink,
             "%u flows start at a fraction of a ns; that is cut to whole ns, as the HPCC "
             "simulator does",
             count);
}

static int read_flows(struct loader *l)
{
    char path[2 * HPCC_PATH_BYTES];
    int rc = need_key(l, HPCC_KEY_FLOW_FILE, "it names the flows");

    if (!rc)
        rc = find_file(l, HPCC_KEY_FLOW_FILE, path, sizeof path);
    if (!rc)
        rc = hpcc_read_flows(path, l->sc->topo, l->sc, l->sink, l->e);
    if (!rc)
        round_starts(l);
    return rc;
}

static int set_events(struct loader *l)
{
    const struct hpcc_link_down *d = &l->v->value[HPCC_KEY_LINK_DOWN].down;
    const struct topo *t = l->sc->topo;
    struct sim_config *c = &l->sc->cfg;

    if (d->after_ps == 0)
        return 0;
    if (d->a >= t->node_count || d->b >= t->node_count ||
        topo_find_port(t, d->a, d->b) == PORT_NONE)
        return hpcc__refuse_key(
            l->v, HPCC_KEY_LINK_DOWN, l->e,
            "found nodes %u and %u, expected two nodes with a link between them", d->a, d->b);
    c->events[c->event_count++] = (struct net_event){
        .time_ps = EVENTS_START_PS + d->after_ps, .a = d->a, .b = d->b, .kind = NET_LINK_DOWN};
    return 0;
}

/* Losses that the reference never recovers from: its runs would hang, these shall end. */
static void set_timeout(struct loader *l)
{
    struct sim_config *c = &l->sc->cfg;
    const struct topo *t = l->sc->topo;
    int has_loss = c->event_count > 0;

    for (uint32_t i = 0; i < t->link_count; i++)
        has_loss |= t->classes[t->link[i].class_id].error_rate > 0;
    if (!has_loss)
        return;
    c->rto = RTO_ON;
    warn(l->sink, "links lose packets (error rate or LINK_DOWN): hosts resend after 1 ms without "
                  "progress; the HPCC simulator has no timeout and would wait for ever");
}

/* A file that the run writes. Names are taken as they are: relative to the working directory. */
static struct log_request *request_log(struct loader *l, enum log_kind kind, enum hpcc_key key)
{
    struct log_request *log = &l->sc->logs[kind];

    strcpy(log->path, l->v->value[key].path);
    log->to_ps = TIME_NEVER;
    return log;
}

static int set_qlen_log(struct loader *l)
{
    uint64_t from_ns = UINT_OF(l, QLEN_MON_START), to_ns = UINT_OF(l, QLEN_MON_END);

    if (!IS_GIVEN(l, QLEN_MON_FILE))
        return 0;
    if (to_ns < from_ns)
        return hpcc__refuse_key(l->v, HPCC_KEY_QLEN_MON_END, l->e,
                                "found %" PRIu64 " ns, expected at least QLEN_MON_START, %" PRIu64
                                " ns",
                                to_ns, from_ns);
    struct log_request *log = request_log(l, LOG_QLEN_HPCC, HPCC_KEY_QLEN_MON_FILE);

    log->interval_ps = QLEN_INTERVAL_PS;
    log->from_ps = (int64_t)from_ns * PS_PER_NS;
    log->to_ps = (int64_t)to_ns * PS_PER_NS;
    return 0;
}

/* A monitor of SimAI: sampled at its own interval between MON_START and MON_END. */
static void request_monitor(struct loader *l, enum log_kind kind, enum hpcc_key file,
                            enum hpcc_key interval)
{
    if (!l->v->place[file].is_given)
        return;
    struct log_request *log = request_log(l, kind, file);

    log->interval_ps = MONITOR_INTERVAL_PS;
    if (l->v->place[interval].is_given)
        log->interval_ps = l->v->value[interval].ps;
    log->from_ps = l->v->value[HPCC_KEY_MON_START].ps;
    if (IS_GIVEN(l, MON_END))
        log->to_ps = l->v->value[HPCC_KEY_MON_END].ps;
}

static int set_simai_monitors(struct loader *l)
{
    if (IS_GIVEN(l, MON_END) &&
        l->v->value[HPCC_KEY_MON_END].ps < l->v->value[HPCC_KEY_MON_START].ps)
        return hpcc__refuse_key(l->v, HPCC_KEY_MON_END, l->e,
                                "found a time before MON_START, expected a later one");
    request_monitor(l, LOG_QUEUE, HPCC_KEY_QLEN_MON_FILE, HPCC_KEY_QLEN_MON_INTERVAL);
    request_monitor(l, LOG_RATE, HPCC_KEY_RATE_MON_FILE, HPCC_KEY_QP_MON_INTERVAL);
    request_monitor(l, LOG_LINK, HPCC_KEY_BW_MON_FILE, HPCC_KEY_BW_MON_INTERVAL);
    return 0;
}

/* Shipped configurations of the other tools switch the trace on and name a list that is not there.
 */
static int lacks_trace_file(struct loader *l)
{
    char path[2 * HPCC_PATH_BYTES];
    struct err_info ignored = {0};
    struct loader probe = {.v = l->v, .sc = l->sc, .e = &ignored};

    if (l->v->dialect == HPCC_PLAIN || !find_file(&probe, HPCC_KEY_TRACE_FILE, path, sizeof path))
        return 0;
    warn(l->sink, "%s: TRACE_FILE %s is not there: nothing is traced", l->v->path,
         l->v->value[HPCC_KEY_TRACE_FILE].path);
    return 1;
}

static int read_trace_nodes(struct loader *l)
{
    char path[2 * HPCC_PATH_BYTES];
    uint32_t filter_first = l->sc->filter_count;

    if (lacks_trace_file(l))
        return 0;
    int rc = find_file(l, HPCC_KEY_TRACE_FILE, path, sizeof path);

    if (!rc)
        rc = hpcc__read_nodes(path, l->sc->topo, l->sc, l->sink, l->e);
    if (rc)
        return rc;
    if (l->sc->filter_count == filter_first) {
        warn(l->sink, "TRACE_FILE names no node: nothing is traced");
        return 0;
    }
    struct log_request *log = request_log(l, LOG_PACKET, HPCC_KEY_TRACE_OUTPUT_FILE);

    log->filter_first = filter_first;
    log->filter_count = l->sc->filter_count - filter_first;
    warn(l->sink, "TRACE_OUTPUT_FILE: the packet trace is written as CSV, not in the HPCC "
                  "simulator's binary format");
    return 0;
}

static int set_trace_log(struct loader *l)
{
    if (!UINT_OF(l, ENABLE_TRACE))
        return 0;
    if (IS_GIVEN(l, TRACE_FILE) && IS_GIVEN(l, TRACE_OUTPUT_FILE))
        return read_trace_nodes(l);
    if (!IS_GIVEN(l, ENABLE_TRACE) || l->v->dialect != HPCC_PLAIN)
        return 0; /* on by default only, and nothing says what to trace */
    return hpcc__refuse_key(l->v, HPCC_KEY_ENABLE_TRACE, l->e,
                            "found 1 without %s, expected TRACE_FILE and TRACE_OUTPUT_FILE with it",
                            IS_GIVEN(l, TRACE_FILE) ? "TRACE_OUTPUT_FILE" : "TRACE_FILE");
}

static int set_outputs(struct loader *l)
{
    if (IS_GIVEN(l, FCT_OUTPUT_FILE)) {
        strcpy(l->sc->fct_path, l->v->value[HPCC_KEY_FCT_OUTPUT_FILE].path);
        strcpy(l->sc->fct_key, hpcc__key_name(HPCC_KEY_FCT_OUTPUT_FILE));
    }
    if (IS_GIVEN(l, PFC_OUTPUT_FILE))
        request_log(l, LOG_PFC, HPCC_KEY_PFC_OUTPUT_FILE);
    int rc = l->v->dialect == HPCC_SIMAI ? set_simai_monitors(l) : set_qlen_log(l);

    return rc ? rc : set_trace_log(l);
}

static int check_config(struct loader *l)
{
    int rc = config_check(&l->sc->cfg, l->e);

    if (rc && l->e && !l->e->file[0])
        strcpy(l->e->file, l->v->path);
    return rc;
}

static int load(struct loader *l, const char *paths_file)
{
    int rc = set_config(l);

    if (!rc)
        rc = set_topology(l);
    if (!rc && l->v->dialect == HPCC_PLAIN)
        rc = read_flows(l);
    if (!rc && paths_file)
        rc = hpcc_read_paths(paths_file, l->sc, l->e);
    if (!rc)
        rc = set_events(l);
    if (rc)
        return rc;
    set_timeout(l);
    rc = set_outputs(l);
    return rc ? rc : check_config(l);
}

static int read_keys(const char *config_path, const struct hpcc_override *overrides,
                     uint32_t override_count, struct loader *l)
{
    if (strlen(config_path) >= HPCC_PATH_BYTES)
        return err_set(l->e, WH_ERR_INPUT, config_path, 0,
                       "found a file name of %zu bytes, expected less than %d", strlen(config_path),
                       HPCC_PATH_BYTES);
    l->sc->is_hpcc = 1;
    strncpy(l->sc->name, config_path, sizeof l->sc->name - 1);
    return hpcc__read_keys(config_path, overrides, override_count, l->v, l->sink, l->e);
}

int hpcc_load(const char *config_path, const char *paths_file,
              const struct hpcc_override *overrides, uint32_t override_count, struct scenario *sc,
              const struct warn_sink *sink, struct err_info *e)
{
    struct hpcc_values v = {.dialect = HPCC_PLAIN};
    struct loader l = {.v = &v, .sc = sc, .sink = sink, .e = e};
    int rc = read_keys(config_path, overrides, override_count, &l);

    return rc ? rc : load(&l, paths_file);
}

int hpcc__load_conf(const char *config_path, const struct hpcc_override *overrides,
                    uint32_t override_count, struct hpcc_values *v, struct scenario *sc,
                    const struct warn_sink *sink, struct err_info *e)
{
    struct loader l = {.v = v, .sc = sc, .sink = sink, .e = e};
    int rc = read_keys(config_path, overrides, override_count, &l);

    return rc ? rc : load(&l, NULL);
}

int hpcc_load_conf(const char *config_path, const struct hpcc_override *overrides,
                   uint32_t override_count, struct scenario *sc, const struct warn_sink *sink,
                   struct err_info *e)
{
    struct hpcc_values v = {.dialect = HPCC_ASTRA};

    return hpcc__load_conf(config_path, overrides, override_count, &v, sc, sink, e);
}
