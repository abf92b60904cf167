/*
 * htsim_topo.c - fat-tree topologies of csg-htsim (.topo). Format: docs/formats_goal_htsim.md.
 *
 * Three keys stand in the header, the others belong to the tier that was named last. All values are
 * whole numbers, as htsim reads them: "12.5" would be 12 there, so it is refused here.
 */
#include "htsim_int.h"

#include "units.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOSTS_MAX (UINT64_C(1) << 20)
#define LINKS_MAX (UINT64_C(1) << 24)
#define RADIX_MAX 65536
#define GBPS INT64_C(1000000000)
#define TIERS_MAX 3

enum key {
    KEY_NODES,
    KEY_TIERS,
    KEY_PODSIZE,
    KEY_TIER,
    KEY_SPEED,
    KEY_RADIX_DOWN,
    KEY_RADIX_UP,
    KEY_LATENCY,
    KEY_SWITCH_LATENCY,
    KEY_OVERSUBSCRIBED,
    KEY_BUNDLE,
    KEY_QUEUE_DOWN,
    KEY_QUEUE_UP,
    KEY_COUNT
};
#define KEY_TIER_FIRST KEY_SPEED /* keys from here on belong to a tier */

static const char *const key_names[KEY_COUNT] = {"Nodes",
                                                 "Tiers",
                                                 "Podsize",
                                                 "Tier",
                                                 "Downlink_speed_Gbps",
                                                 "Radix_Down",
                                                 "Radix_Up",
                                                 "Downlink_Latency_ns",
                                                 "Switch_Latency_ns",
                                                 "Oversubscribed",
                                                 "Bundle",
                                                 "Queue_Down",
                                                 "Queue_Up"};

/* Smallest and largest value, and what it counts. */
static const struct {
    uint64_t lo, hi;
    const char *unit;
} key_ranges[KEY_COUNT] = {[KEY_NODES] = {1, HOSTS_MAX, "hosts"},
                           [KEY_TIERS] = {2, TIERS_MAX, "tiers"},
                           [KEY_PODSIZE] = {1, HOSTS_MAX, "hosts"},
                           [KEY_TIER] = {0, TIERS_MAX - 1, "(0 ToR, 1 aggregation, 2 core)"},
                           [KEY_SPEED] = {1, 1000000, "Gb/s"},
                           [KEY_RADIX_DOWN] = {1, RADIX_MAX, "ports"},
                           [KEY_RADIX_UP] = {1, RADIX_MAX, "ports"},
                           [KEY_LATENCY] = {1, 1000000000, "ns"},
                           [KEY_SWITCH_LATENCY] = {0, 1000000000, "ns"},
                           [KEY_OVERSUBSCRIBED] = {1, RADIX_MAX, "times"},
                           [KEY_BUNDLE] = {1, RADIX_MAX, "links"},
                           [KEY_QUEUE_DOWN] = {1, INT64_MAX, "bytes"},
                           [KEY_QUEUE_UP] = {1, INT64_MAX, "bytes"}};

struct value {
    uint64_t number;
    long line; /* 0: not given */
};

struct reader {
    struct textfile t;
    const struct warn_sink *sink;
    struct err_info *e;
    struct htsim_topo *out;
    struct value value[TIERS_MAX][KEY_COUNT]; /* those of the header in row 0 */
    struct htsim_unknown unknown;
    int tier; /* -1: in the header */
};

static int no_memory(const struct reader *r)
{
    return err_set(r->e, WH_ERR_NOMEM, r->t.path, 0, "out of memory");
}

static enum key find_key(const char *word)
{
    for (int k = 0; k < KEY_COUNT; k++)
        if (htsim__is_word(word, key_names[k]))
            return (enum key)k;
    return KEY_COUNT;
}

/* One number behind the key; a comment may follow. */
static int read_value(struct reader *r, enum key key, uint64_t *out)
{
    char expected[96];
    const struct textfile *t = &r->t;

    snprintf(expected, sizeof expected, "a whole number, %" PRIu64 " to %" PRIu64 " %s",
             key_ranges[key].lo, key_ranges[key].hi, key_ranges[key].unit);
    if (t->token_count < 2)
        return textfile_refuse(t, r->e, "no value behind", key_names[key], expected);
    if (text_uint(t->token[1], key_ranges[key].hi, out) || *out < key_ranges[key].lo)
        return textfile_refuse(t, r->e, key_names[key], t->token[1], expected);
    if (t->token_count > 2 && t->token[2][0] != '#')
        return textfile_refuse(t, r->e, "text behind the value", t->token[2],
                               "the end of the line");
    return 0;
}

static int read_key(struct reader *r, enum key key)
{
    uint64_t number;
    int rc = read_value(r, key, &number);

    if (rc)
        return rc;
    if (key == KEY_TIER) {
        r->tier = (int)number;
        if (!r->value[r->tier][KEY_TIER].line)
            r->value[r->tier][KEY_TIER] = (struct value){number, r->t.line};
        return 0;
    }
    if (key < KEY_TIER_FIRST && r->tier >= 0)
        return textfile_refuse(&r->t, r->e, "key", key_names[key], "it before the first Tier");
    if (key >= KEY_TIER_FIRST && r->tier < 0)
        return textfile_refuse(&r->t, r->e, "key", key_names[key], "it behind a line Tier <n>");
    struct value *v = &r->value[r->tier < 0 ? 0 : r->tier][key];

    if (v->line)
        return err_set(r->e, WH_ERR_INPUT, r->t.path, r->t.line,
                       "found %s a second time, expected it once%s; the first is in line %ld",
                       key_names[key], r->tier < 0 ? "" : " in a tier", v->line);
    *v = (struct value){number, r->t.line};
    return 0;
}

static int read_lines(struct reader *r)
{
    for (;;) {
        int rc = textfile_next_line(&r->t);

        if (rc <= 0)
            return rc < 0 ? no_memory(r) : 0;
        if (r->t.token[0][0] == '#')
            continue;
        const enum key key = find_key(r->t.token[0]);

        if (key == KEY_COUNT) {
            htsim__warn_unknown(&r->unknown, &r->t, key_names, KEY_COUNT, r->sink);
            continue;
        }
        rc = read_key(r, key);
        if (rc)
            return rc;
    }
}

/* Presence. */

static int require(struct reader *r, int tier, enum key key, long line)
{
    if (r->value[tier][key].line)
        return 0;
    if (key < KEY_TIER_FIRST && key != KEY_TIER)
        return err_set(r->e, WH_ERR_INPUT, r->t.path, line,
                       "found no %s in the header, expected it before the first Tier",
                       key_names[key]);
    if (key == KEY_TIER)
        return err_set(r->e, WH_ERR_INPUT, r->t.path, line,
                       "found no Tier %d, expected one for each of the %" PRIu64 " tiers", tier,
                       r->value[0][KEY_TIERS].number);
    return err_set(r->e, WH_ERR_INPUT, r->t.path, line, "found no %s in tier %d, expected it",
                   key_names[key], tier);
}

/* Keys that the file gives although nothing comes of them. */
static int check_top(struct reader *r)
{
    static const enum key up[] = {KEY_RADIX_UP, KEY_QUEUE_UP, KEY_OVERSUBSCRIBED};
    const int top = (int)r->value[0][KEY_TIERS].number - 1;

    for (size_t i = 0; i < sizeof up / sizeof *up; i++) {
        const struct value *v = &r->value[top][up[i]];

        if (!v->line)
            continue;
        if (top == TIERS_MAX - 1 && up[i] != KEY_OVERSUBSCRIBED)
            return err_set(r->e, WH_ERR_INPUT, r->t.path, v->line,
                           "found %s in tier 2, expected none: the top tier has no uplinks",
                           key_names[up[i]]);
        if (up[i] != KEY_OVERSUBSCRIBED || v->number != 1)
            warn(r->sink, "%s:%ld: %s in the top tier is accepted, without effect", r->t.path,
                 v->line, key_names[up[i]]);
    }
    if (top < TIERS_MAX - 1 && r->value[TIERS_MAX - 1][KEY_TIER].line)
        warn(r->sink, "%s:%ld: Tier 2 is accepted, without effect: the file declares two tiers",
             r->t.path, r->value[TIERS_MAX - 1][KEY_TIER].line);
    return 0;
}

static int check_presence(struct reader *r)
{
    static const enum key needed[] = {KEY_SPEED, KEY_RADIX_DOWN, KEY_LATENCY};
    int rc = require(r, 0, KEY_NODES, 0);

    if (!rc)
        rc = require(r, 0, KEY_TIERS, 0);
    if (!rc)
        rc = require(r, 0, KEY_PODSIZE, 0);
    const int tiers = (int)r->value[0][KEY_TIERS].number;

    for (int tier = 0; tier < tiers && !rc; tier++) {
        const long line = r->value[tier][KEY_TIER].line;

        rc = require(r, tier, KEY_TIER, 0);
        for (size_t i = 0; i < sizeof needed / sizeof *needed && !rc; i++)
            rc = require(r, tier, needed[i], line);
        if (!rc && tier < tiers - 1)
            rc = require(r, tier, KEY_RADIX_UP, line);
    }
    return rc ? rc : check_top(r);
}

static void set_tier(struct reader *r, int tier)
{
    const struct value *v = r->value[tier];
    const int is_top = tier == (int)r->out->tier_count - 1;

    r->out->tier[tier] = (struct htsim_tier){
        .down_bps = (int64_t)v[KEY_SPEED].number * GBPS,
        .down_latency_ps = (int64_t)v[KEY_LATENCY].number * PS_PER_NS,
        .switch_latency_ps = (int64_t)v[KEY_SWITCH_LATENCY].number * PS_PER_NS,
        .queue_down_bytes = (int64_t)v[KEY_QUEUE_DOWN].number,
        .queue_up_bytes = is_top ? 0 : (int64_t)v[KEY_QUEUE_UP].number,
        .radix_down = (uint32_t)v[KEY_RADIX_DOWN].number,
        .radix_up = is_top ? 0 : (uint32_t)v[KEY_RADIX_UP].number,
        .bundle = v[KEY_BUNDLE].line ? (uint32_t)v[KEY_BUNDLE].number : 1,
        .oversub = v[KEY_OVERSUBSCRIBED].line ? (uint32_t)v[KEY_OVERSUBSCRIBED].number : 1};
}

/* Consistency. Each rule names the line of the key that is most likely wrong. */

static int check_bundles(struct reader *r)
{
    const struct htsim_topo *t = r->out;

    if (t->tier[0].bundle != 1)
        return err_set(r->e, WH_ERR_INPUT, r->t.path, r->value[0][KEY_BUNDLE].line,
                       "found Bundle %u in tier 0, expected 1: a host has one link",
                       t->tier[0].bundle);
    for (uint32_t i = 1; i < t->tier_count; i++) {
        const uint32_t bundle = t->tier[i].bundle;

        if (t->tier[i].radix_down % bundle)
            return err_set(r->e, WH_ERR_INPUT, r->t.path, r->value[i][KEY_BUNDLE].line,
                           "found Radix_Down %u in tier %u, expected a multiple of its Bundle %u",
                           t->tier[i].radix_down, i, bundle);
        if (t->tier[i - 1].radix_up % bundle)
            return err_set(
                r->e, WH_ERR_INPUT, r->t.path, r->value[i - 1][KEY_RADIX_UP].line,
                "found Radix_Up %u in tier %u, expected a multiple of Bundle %u of tier %u",
                t->tier[i - 1].radix_up, i - 1, bundle, i);
    }
    return 0;
}

/* Down to up of a switch, counted in links or in bandwidth. Equal rates: the same. */
static int check_oversub(struct reader *r, uint32_t tier)
{
    const struct htsim_tier *t = &r->out->tier[tier], *above = t + 1;
    const uint64_t down = t->radix_down, up = (uint64_t)t->radix_up * t->oversub;
    const uint64_t down_gbps = (uint64_t)(t->down_bps / GBPS);
    const uint64_t up_gbps = (uint64_t)(above->down_bps / GBPS);
    const struct value *v = &r->value[tier][KEY_OVERSUBSCRIBED];

    if (down == up || down * down_gbps == up * up_gbps)
        return 0;
    return err_set(r->e, WH_ERR_INPUT, r->t.path,
                   v->line ? v->line : r->value[tier][KEY_RADIX_UP].line,
                   "found Radix_Down %u, Radix_Up %u and Oversubscribed %u in tier %u, expected "
                   "Radix_Down / Radix_Up = Oversubscribed",
                   t->radix_down, t->radix_up, t->oversub, tier);
}

static int check_pods(struct reader *r)
{
    const uint64_t nodes = r->value[0][KEY_NODES].number;
    const struct value *pod = &r->value[0][KEY_PODSIZE];
    const struct htsim_topo *t = r->out;

    if (t->tier_count == 2 && pod->number != nodes)
        return err_set(r->e, WH_ERR_INPUT, r->t.path, pod->line,
                       "found Podsize %" PRIu64 ", expected %" PRIu64
                       ": with two tiers all nodes are one pod",
                       pod->number, nodes);
    if (nodes % pod->number)
        return err_set(r->e, WH_ERR_INPUT, r->t.path, pod->line,
                       "found Podsize %" PRIu64 ", expected a divisor of Nodes %" PRIu64,
                       pod->number, nodes);
    if (pod->number % t->tier[0].radix_down)
        return err_set(r->e, WH_ERR_INPUT, r->t.path, r->value[0][KEY_RADIX_DOWN].line,
                       "found Radix_Down %u in tier 0, expected a divisor of Podsize %" PRIu64,
                       t->tier[0].radix_down, pod->number);
    return 0;
}

/* How many switches of @tier the uplinks of @lower_switches fill, @pods times over. */
static int check_wiring(struct reader *r, uint32_t tier, uint64_t lower_switches, uint64_t pods,
                        uint64_t *upper_switches)
{
    const struct htsim_tier *below = &r->out->tier[tier - 1], *t = &r->out->tier[tier];
    const uint64_t links = lower_switches * below->radix_up;

    if (links > LINKS_MAX / pods)
        return err_set(r->e, WH_ERR_LIMIT, r->t.path, r->value[tier - 1][KEY_RADIX_UP].line,
                       "found more than %" PRIu64 " links between tiers %u and %u, expected fewer",
                       LINKS_MAX, tier - 1, tier);
    if (links % t->radix_down)
        return err_set(r->e, WH_ERR_INPUT, r->t.path, r->value[tier][KEY_RADIX_DOWN].line,
                       "found Radix_Down %u in tier %u, expected a divisor of the %" PRIu64
                       " uplinks%s below it",
                       t->radix_down, tier, links, tier == 1 ? " of a pod" : "");
    *upper_switches = links / t->radix_down;
    return 0;
}

static int refuse_bundle(struct reader *r, uint32_t tier, uint64_t switches)
{
    const struct htsim_tier *below = &r->out->tier[tier - 1], *t = &r->out->tier[tier];
    const struct value *v = &r->value[tier][KEY_BUNDLE];

    return err_set(
        r->e, WH_ERR_INPUT, r->t.path, v->line ? v->line : r->value[tier - 1][KEY_RADIX_UP].line,
        "found Radix_Up %u in tier %u, expected %" PRIu64 ": Bundle %u to each of %" PRIu64
        " switches above (Radix_Down %u of tier %u)",
        below->radix_up, tier - 1, switches * t->bundle, t->bundle, switches, t->radix_down, tier);
}

static int check_cores(struct reader *r, uint64_t pod_aggs)
{
    struct htsim_topo *t = r->out;
    uint64_t cores;
    int rc = check_oversub(r, 1);

    if (!rc)
        rc = check_wiring(r, 2, t->agg_count, 1, &cores);
    if (rc)
        return rc;
    if (cores % pod_aggs)
        return err_set(r->e, WH_ERR_INPUT, r->t.path, r->value[2][KEY_RADIX_DOWN].line,
                       "found %" PRIu64
                       " core switches by Radix_Down %u of tier 2, expected a multiple "
                       "of the %" PRIu64 " aggregation switches of a pod",
                       cores, t->tier[2].radix_down, pod_aggs);
    if (cores / pod_aggs * t->tier[2].bundle != t->tier[1].radix_up)
        return refuse_bundle(r, 2, cores / pod_aggs);
    t->core_count = (uint32_t)cores;
    return 0;
}

/* Switches of the upper tiers: as many ends of links above as below, one bundle for each pair. */
static int check_sizes(struct reader *r)
{
    struct htsim_topo *t = r->out;
    const uint32_t tors = (uint32_t)r->value[0][KEY_PODSIZE].number / t->tier[0].radix_down;
    uint64_t aggs;
    int rc = check_wiring(r, 1, tors, t->pod_count, &aggs);

    if (rc)
        return rc;
    if (aggs * t->tier[1].bundle != t->tier[0].radix_up)
        return refuse_bundle(r, 1, aggs);
    t->tor_count = tors * t->pod_count;
    t->agg_count = (uint32_t)aggs * t->pod_count;
    return t->tier_count == 3 ? check_cores(r, aggs) : 0;
}

static int check_all(struct reader *r)
{
    struct htsim_topo *t = r->out;
    int rc = check_presence(r);

    if (rc)
        return rc;
    t->tier_count = (uint32_t)r->value[0][KEY_TIERS].number;
    t->host_count = (uint32_t)r->value[0][KEY_NODES].number;
    for (uint32_t i = 0; i < t->tier_count; i++)
        set_tier(r, (int)i);
    rc = check_pods(r);
    t->pod_count = t->host_count / (uint32_t)r->value[0][KEY_PODSIZE].number;
    if (!rc)
        rc = check_bundles(r);
    if (!rc)
        rc = check_oversub(r, 0);
    return rc ? rc : check_sizes(r);
}

/* Building. */

/* The class of the links below @tier. A switch's latency is met once on every way through it, by
 * one link in and one link out: half of it on each. */
static int64_t add_tier_class(struct htsim_topo *t, uint32_t tier)
{
    const int64_t below_ps = tier ? t->tier[tier - 1].switch_latency_ps : 0;
    const struct link_class class = {.rate_bps = t->tier[tier].down_bps,
                                     .delay_ps = t->tier[tier].down_latency_ps +
                                                 (t->tier[tier].switch_latency_ps + below_ps) / 2};

    return topo_add_class(t->topo, &class);
}

static int add_bundle(struct htsim_topo *t, uint32_t lower, uint32_t upper, uint32_t count,
                      int64_t class)
{
    for (uint32_t i = 0; i < count; i++)
        if (class < 0 || topo_add_link(t->topo, lower, upper, (uint32_t) class))
            return WH_ERR_NOMEM;
    return 0;
}

static int add_hosts(struct htsim_topo *t)
{
    const int64_t class = add_tier_class(t, 0);

    for (uint32_t h = 0; h < t->host_count; h++)
        if (add_bundle(t, h, t->host_count + h / t->tier[0].radix_down, 1, class))
            return WH_ERR_NOMEM;
    return 0;
}

static int add_tors(struct htsim_topo *t)
{
    const int64_t class = add_tier_class(t, 1);
    const uint32_t pod_tors = t->tor_count / t->pod_count, pod_aggs = t->agg_count / t->pod_count;
    const uint32_t agg_first = t->host_count + t->tor_count;

    for (uint32_t tor = 0; tor < t->tor_count; tor++)
        for (uint32_t i = 0; i < pod_aggs; i++)
            if (add_bundle(t, t->host_count + tor, agg_first + tor / pod_tors * pod_aggs + i,
                           t->tier[1].bundle, class))
                return WH_ERR_NOMEM;
    return 0;
}

/* The k-th switch of each pod meets the cores k, k + switches of a pod, and so on. */
static int add_aggs(struct htsim_topo *t, const uint8_t *is_failed)
{
    const int64_t class = add_tier_class(t, 2);
    const uint32_t pod_aggs = t->agg_count / t->pod_count, bundle = t->tier[2].bundle;
    const uint32_t agg_first = t->host_count + t->tor_count, core_first = agg_first + t->agg_count;
    const uint32_t uplinks = t->tier[1].radix_up;

    for (uint32_t agg = 0; agg < t->agg_count; agg++)
        for (uint32_t i = 0; i < uplinks; i++) {
            const uint32_t core = agg % pod_aggs + i / bundle * pod_aggs;

            if (is_failed && is_failed[(size_t)agg * uplinks + i])
                continue;
            if (add_bundle(t, agg_first + agg, core_first + core, 1, class))
                return WH_ERR_NOMEM;
        }
    return 0;
}

int htsim__build_topo(struct htsim_topo *t, const uint8_t *is_failed)
{
    const uint32_t nodes = t->host_count + t->tor_count + t->agg_count + t->core_count;
    int rc = topo_create(&t->topo, nodes);

    if (rc)
        return rc;
    for (uint32_t n = t->host_count; n < nodes; n++)
        topo_set_kind(t->topo, n, NODE_SWITCH);
    rc = add_hosts(t);
    if (!rc)
        rc = add_tors(t);
    if (!rc && t->tier_count == 3)
        rc = add_aggs(t, is_failed);
    if (!rc)
        rc = topo_finish(t->topo);
    if (rc) {
        topo_destroy(t->topo);
        t->topo = NULL;
    }
    return rc;
}

int htsim_read_topo(const char *path, struct htsim_topo *out, const struct warn_sink *sink,
                    struct err_info *e)
{
    struct htsim_topo t = {0};
    struct reader *r = calloc(1, sizeof *r);

    if (!r)
        return err_set(e, WH_ERR_NOMEM, path, 0, "out of memory");
    strncpy(t.path, path, sizeof t.path - 1);
    r->sink = sink;
    r->e = e;
    r->out = &t;
    r->tier = -1;
    int rc = textfile_open(&r->t, path, e);

    if (!rc)
        rc = read_lines(r);
    if (!rc)
        rc = check_all(r);
    if (!rc && htsim__build_topo(&t, NULL))
        rc = no_memory(r);
    textfile_close(&r->t);
    free(r);
    if (!rc)
        *out = t;
    return rc;
}
