/*
 * config_keys.c - see config_keys.h.
 */
#include "config_keys.h"

#include "units.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const cc_names[] = {"none", "dcqcn", "hpcc", "timely", "dctcp", "swift", NULL};
static const char *const order_names[] = {"canonical", "ns3", NULL};
static const char *const ack_names[] = {"priority", "in-data", "bypass", "charged", NULL};
static const char *const recovery_names[] = {"go-back-n", "go-back-0", "selective-repeat", NULL};
static const char *const rto_names[] = {"off", "on", NULL};
static const char *const sched_names[] = {"round-robin", "strict", NULL};
static const char *const routing_names[] = {"ecmp", "spray", NULL};

_Static_assert(sizeof cc_names / sizeof cc_names[0] == CC_KIND_COUNT + 1, "one name per scheme");
_Static_assert(sizeof(enum cc_kind) == sizeof(uint32_t), "enums are read as 32 bit");

/* clang-format off */
#define KEY(field, kind) {#field, offsetof(struct sim_config, field), kind, NULL}
#define NAMED(field, list) {#field, offsetof(struct sim_config, field), CONFIG_NAME, list}
static const struct config_key keys[] = {
    KEY(seed, CONFIG_U64),
    KEY(end_ps, CONFIG_TIME),
    KEY(round_ps, CONFIG_TIME),
    NAMED(order, order_names),
    KEY(payload_bytes, CONFIG_U32),
    KEY(header_bytes, CONFIG_U32),
    KEY(ack_bytes, CONFIG_U32),
    KEY(pfc_bytes, CONFIG_U32),
    NAMED(cc, cc_names),
    KEY(has_window, CONFIG_BOOL),
    KEY(window_global, CONFIG_BOOL),
    KEY(window_variable, CONFIG_BOOL),
    KEY(rate_bound, CONFIG_BOOL),
    KEY(reuse_sport, CONFIG_BOOL),
    NAMED(ack, ack_names),
    KEY(ack_every_packets, CONFIG_U32),
    KEY(ack_interval_bytes, CONFIG_U32),
    KEY(chunk_bytes, CONFIG_U32),
    NAMED(recovery, recovery_names),
    KEY(nack_interval_ps, CONFIG_TIME),
    NAMED(rto, rto_names),
    KEY(rto_ps, CONFIG_TIME),
    KEY(rto_retries_max, CONFIG_U32),
    KEY(cnp_interval_ps, CONFIG_TIME),
    KEY(min_rate_bps, CONFIG_RATE),
    KEY(fixed_rate_bps, CONFIG_RATE),
    KEY(dcqcn.alpha_resume_ps, CONFIG_TIME),
    KEY(dcqcn.decrease_interval_ps, CONFIG_TIME),
    KEY(dcqcn.increase_timer_ps, CONFIG_TIME),
    KEY(dcqcn.gain, CONFIG_REAL),
    KEY(dcqcn.fast_recovery, CONFIG_U32),
    KEY(dcqcn.ai_bps, CONFIG_RATE),
    KEY(dcqcn.hai_bps, CONFIG_RATE),
    KEY(dcqcn.clamp_target, CONFIG_BOOL),
    KEY(hpcc.target_util, CONFIG_REAL),
    KEY(hpcc.mi_thresh, CONFIG_U32),
    KEY(hpcc.ai_bps, CONFIG_RATE),
    KEY(hpcc.fast_react, CONFIG_BOOL),
    KEY(hpcc.multi_rate, CONFIG_BOOL),
    KEY(hpcc.sample_feedback, CONFIG_BOOL),
    KEY(timely.ai_bps, CONFIG_RATE),
    KEY(timely.hai_bps, CONFIG_RATE),
    KEY(timely.alpha, CONFIG_REAL),
    KEY(timely.beta, CONFIG_REAL),
    KEY(timely.tlow_ps, CONFIG_TIME),
    KEY(timely.thigh_ps, CONFIG_TIME),
    KEY(timely.min_rtt_ps, CONFIG_TIME),
    KEY(dctcp.gain, CONFIG_REAL),
    KEY(dctcp.ai_bps, CONFIG_RATE),
    KEY(swift.base_target_ps, CONFIG_TIME),
    KEY(swift.per_hop_ps, CONFIG_TIME),
    KEY(swift.ai_packets, CONFIG_REAL),
    KEY(swift.beta, CONFIG_REAL),
    KEY(swift.max_mdf, CONFIG_REAL),
    KEY(swift.flow_scaling_ps, CONFIG_TIME),
    KEY(swift.fs_min_cwnd, CONFIG_REAL),
    KEY(swift.fs_max_cwnd, CONFIG_REAL),
    KEY(swift.min_cwnd, CONFIG_REAL),
    KEY(swift.max_cwnd, CONFIG_REAL),
    KEY(int_hops_max, CONFIG_U32),
    KEY(int_multi, CONFIG_U32),
    KEY(int_reset_idle, CONFIG_BOOL),
    KEY(buffer_bytes, CONFIG_BYTES),
    KEY(pfc, CONFIG_BOOL),
    KEY(ecn, CONFIG_BOOL),
    KEY(ecn_strict, CONFIG_BOOL),
    KEY(pfc_reserve_bytes, CONFIG_U32),
    KEY(pfc_headroom_bytes, CONFIG_BYTES),
    KEY(pfc_resume_offset_bytes, CONFIG_U32),
    KEY(pfc_alpha_shift, CONFIG_U32),
    KEY(pfc_static, CONFIG_BOOL),
    KEY(pfc_static_bytes, CONFIG_BYTES),
    NAMED(sched, sched_names),
    NAMED(routing, routing_names),
    KEY(spray_paths, CONFIG_U32),
    KEY(hosts_forward, CONFIG_BOOL),
};
#undef KEY
#undef NAMED
/* clang-format on */

const struct config_key *config_keys(uint32_t *count)
{
    *count = (uint32_t)(sizeof keys / sizeof keys[0]);
    return keys;
}

const struct config_key *config_key_find(const char *name)
{
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (!strcmp(keys[i].name, name))
            return &keys[i];
    }
    return NULL;
}

struct config_value config_key_get(const struct sim_config *c, const struct config_key *k)
{
    const void *at = (const char *)c + k->offset;
    struct config_value v = {.type = k->type};
    uint32_t u32;

    switch (k->type) {
    case CONFIG_BOOL:
        v.integer = *(const uint8_t *)at;
        break;
    case CONFIG_U32:
    case CONFIG_NAME:
        memcpy(&u32, at, sizeof u32);
        v.integer = u32;
        break;
    case CONFIG_REAL:
        memcpy(&v.real, at, sizeof v.real);
        break;
    case CONFIG_U64:
    case CONFIG_TIME:
    case CONFIG_RATE:
    case CONFIG_BYTES:
        memcpy(&v.integer, at, sizeof v.integer);
        break;
    }
    if (k->type == CONFIG_NAME)
        v.name = k->names[v.integer];
    return v;
}

static int parse_bool(const char *text, int64_t *out)
{
    static const char *const words[2][5] = {{"0", "no", "false", "off", NULL},
                                            {"1", "yes", "true", "on", NULL}};

    for (int value = 0; value < 2; value++) {
        for (int i = 0; words[value][i]; i++) {
            if (!strcmp(words[value][i], text)) {
                *out = value;
                return 0;
            }
        }
    }
    return WH_ERR_INPUT;
}

static int parse_name(const char *const *names, const char *text, int64_t *out)
{
    for (int i = 0; names[i]; i++) {
        if (!strcmp(names[i], text)) {
            *out = i;
            return 0;
        }
    }
    return WH_ERR_INPUT;
}

/* A whole number without unit, in lo..hi. */
static int parse_integer(const char *text, int64_t lo, int64_t hi, int64_t *out)
{
    int inexact = 0;
    int64_t v;

    if (units_parse_decimal(text, 0, &v, &inexact) || inexact || v < lo || v > hi)
        return WH_ERR_INPUT;
    *out = v;
    return 0;
}

/* Parses into @v by the kind of key; on failure *expected says what would have been right. */
static int parse_value(const struct config_key *k, const char *text, struct config_value *v,
                       const char **expected)
{
    switch (k->type) {
    case CONFIG_BOOL:
        *expected = "0 or 1";
        return parse_bool(text, &v->integer);
    case CONFIG_U32:
        *expected = "a whole number from 0 to 4294967295";
        return parse_integer(text, 0, UINT32_MAX, &v->integer);
    case CONFIG_U64:
        *expected = "a whole number from 0 to 9223372036854775807";
        return parse_integer(text, 0, INT64_MAX, &v->integer);
    case CONFIG_TIME:
        *expected = "a time such as 10us, or a number of ps";
        return units_parse_time(text, -12, &v->integer);
    case CONFIG_RATE:
        *expected = "a rate such as 100Gbps, or a number of bit/s";
        return parse_integer(text, 0, INT64_MAX, &v->integer) &&
               units_parse_rate(text, &v->integer);
    case CONFIG_BYTES:
        *expected = "a size such as 32MiB, or a number of bytes";
        return parse_integer(text, INT64_MIN, INT64_MAX, &v->integer) &&
               units_parse_bytes(text, &v->integer);
    case CONFIG_REAL:
        *expected = "a number such as 0.05 or 5%";
        return units_parse_ratio(text, &v->real);
    case CONFIG_NAME:
        *expected = "one of the names of this setting";
        return parse_name(k->names, text, &v->integer);
    }
    return WH_ERR_INPUT;
}

static void store_value(struct sim_config *c, const struct config_key *k,
                        const struct config_value *v)
{
    void *at = (char *)c + k->offset;
    const uint32_t u32 = (uint32_t)v->integer;

    switch (k->type) {
    case CONFIG_BOOL:
        *(uint8_t *)at = (uint8_t)v->integer;
        break;
    case CONFIG_U32:
    case CONFIG_NAME:
        memcpy(at, &u32, sizeof u32);
        break;
    case CONFIG_REAL:
        memcpy(at, &v->real, sizeof v->real);
        break;
    case CONFIG_U64:
    case CONFIG_TIME:
    case CONFIG_RATE:
    case CONFIG_BYTES:
        memcpy(at, &v->integer, sizeof v->integer);
        break;
    }
}

/* The refusal; a named setting lists its names. */
static int refuse_value(const struct config_key *k, const char *text, const char *expected,
                        struct err_info *e)
{
    char list[256] = "";
    size_t used = 0;

    for (int i = 0; k->type == CONFIG_NAME && k->names[i]; i++) {
        const int n =
            snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "one of ", k->names[i]);
        used += n > 0 ? (size_t)n : 0;
        if (used >= sizeof list)
            break;
    }
    return err_set(e, WH_ERR_INPUT, NULL, 0, "%s: found '%s', expected %s", k->name, text,
                   list[0] ? list : expected);
}

int config_key_set(struct sim_config *c, const char *name, const char *text, struct err_info *e)
{
    const struct config_key *k = config_key_find(name);
    struct config_value v = {0};
    const char *expected = "";

    if (!k)
        return err_set(e, WH_ERR_INPUT, NULL, 0,
                       "found setting '%s', expected one of the names "
                       "under 'config' in summary.json",
                       name);
    v.type = k->type;
    if (parse_value(k, text, &v, &expected))
        return refuse_value(k, text, expected, e);
    store_value(c, k, &v);
    return 0;
}
