/*
 * gen_options.c - see gen_options.h.
 *
 * An option is a row of a table: its name, the field that it fills, and the kind of its value. The
 * one-letter names of the SimAI topology generator stand beside ours where they mean the same.
 */
#include "gen_options.h"

#include "units.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

enum value_kind {
    VALUE_NONE, /* flag: sets an int to 1 */
    VALUE_TEXT,
    VALUE_U8,
    VALUE_U16,
    VALUE_U32,
    VALUE_U64,
    VALUE_TIME,
    VALUE_RATE,
    VALUE_BYTES,
    VALUE_RATIO,
    VALUE_DIMS
};

struct gen_option {
    const char *name;
    enum value_kind kind;
    size_t offset;    /* in the struct that the table is for */
    const char *help; /* NULL: another name of the row before */
};

#define GEN_OPTIONS_MAX 64

/* What the options of a topology fill before the kind is known. -1, 0 and NULL: not given. */
struct topology_values {
    struct topo_spec spec;
    const char *path;
    int is_rail, help;
    int64_t host_rate_bps, host_delay_ps, fabric_rate_bps, fabric_delay_ps;
    int64_t nvlink_rate_bps, nvlink_delay_ps;
    double error_rate;
    uint32_t leaves_per_segment;
};

/* clang-format off */
#define SPEC(field) offsetof(struct topology_values, spec.field)
#define TOPO(field) offsetof(struct topology_values, field)
static const struct gen_option topology_options[] = {
    {"help", VALUE_NONE, TOPO(help), "this text"},
    {"o", VALUE_TEXT, TOPO(path), "FILE: output, standard output without it"},
    {"hosts", VALUE_U32, SPEC(hosts), "N: single-switch, dumbbell, leaf-spine, rail (GPUs)"},
    {"g", VALUE_U32, SPEC(hosts), NULL},
    {"rate", VALUE_RATE, TOPO(host_rate_bps), "RATE: host - switch [100Gbps]"},
    {"bw", VALUE_RATE, TOPO(host_rate_bps), NULL},
    {"delay", VALUE_TIME, TOPO(host_delay_ps), "TIME: host - switch [1us]"},
    {"l", VALUE_TIME, TOPO(host_delay_ps), NULL},
    {"error-rate", VALUE_RATIO, TOPO(error_rate), "P: loss probability of packets per link [0]"},
    {"er", VALUE_RATIO, TOPO(error_rate), NULL},
    {"fabric-rate", VALUE_RATE, TOPO(fabric_rate_bps), "RATE: switch - switch [as --rate]"},
    {"apbw", VALUE_RATE, TOPO(fabric_rate_bps), NULL},
    {"fabric-delay", VALUE_TIME, TOPO(fabric_delay_ps), "TIME: switch - switch [as --delay]"},
    {"k", VALUE_U32, SPEC(k), "K: fat-tree, even"},
    {"leaves", VALUE_U32, SPEC(leaves), "N: leaf-spine"},
    {"spines", VALUE_U32, SPEC(spines), "N: leaf-spine, rail"},
    {"psn", VALUE_U32, SPEC(spines), NULL},
    {"hosts-per-leaf", VALUE_U32, SPEC(hosts_per_leaf), "N: leaf-spine, clos3"},
    {"uplinks-per-spine", VALUE_U32, SPEC(uplinks_per_spine), "N: links of a leaf to each spine"},
    {"cross-links", VALUE_U32, SPEC(cross_links), "N: dumbbell"},
    {"pods", VALUE_U32, SPEC(pods), "N: clos3"},
    {"leaves-per-pod", VALUE_U32, SPEC(leaves_per_pod), "N: clos3"},
    {"aggs-per-pod", VALUE_U32, SPEC(aggs_per_pod), "N: clos3"},
    {"cores", VALUE_U32, SPEC(cores), "N: clos3"},
    {"gpus-per-server", VALUE_U32, SPEC(gpus_per_server), "N: rail"},
    {"gps", VALUE_U32, SPEC(gpus_per_server), NULL},
    {"servers-per-segment", VALUE_U32, SPEC(servers_per_segment), "N: rail, ports down of a leaf"},
    {"npa", VALUE_U32, SPEC(servers_per_segment), NULL},
    {"nvswitches-per-server", VALUE_U32, SPEC(nvswitches_per_server), "N: rail"},
    {"nsps", VALUE_U32, SPEC(nvswitches_per_server), NULL},
    {"nvlink-rate", VALUE_RATE, TOPO(nvlink_rate_bps), "RATE: rail, GPU - NVSwitch"},
    {"nvbw", VALUE_RATE, TOPO(nvlink_rate_bps), NULL},
    {"nvlink-delay", VALUE_TIME, TOPO(nvlink_delay_ps), "TIME: rail, GPU - NVSwitch"},
    {"nl", VALUE_TIME, TOPO(nvlink_delay_ps), NULL},
    {"asn", VALUE_U32, TOPO(leaves_per_segment), "N: rail, leaves of a segment = GPUs per server"},
    {"ro", VALUE_NONE, TOPO(is_rail), "rail-optimised: the kind rail"},
    {"dims", VALUE_DIMS, SPEC(dims), "AxBxC: torus, up to six dimensions"},
    {"groups", VALUE_U32, SPEC(groups), "N: dragonfly"},
    {"group-switches", VALUE_U32, SPEC(group_switches), "N: dragonfly"},
    {"hosts-per-switch", VALUE_U32, SPEC(hosts_per_switch), "N: dragonfly"},
    {"global-links", VALUE_U32, SPEC(global_links), "N: dragonfly, per switch"},
};
#undef SPEC
#undef TOPO

struct flows_values {
    struct gen_flows_options o;
    int help;
};

#define REQUEST(field) offsetof(struct flows_values, o.request.field)
#define FLOWS(field) offsetof(struct flows_values, o.field)
static const struct gen_option flows_options[] = {
    {"help", VALUE_NONE, offsetof(struct flows_values, help), "this text"},
    {"topology", VALUE_TEXT, FLOWS(topology_path), "FILE: HPCC topology that the flows are for"},
    {"o", VALUE_TEXT, FLOWS(path), "FILE: output, standard output without it"},
    {"bytes", VALUE_BYTES, REQUEST(bytes), "SIZE: per flow, such as 1MB"},
    {"start", VALUE_TIME, REQUEST(start_ps), "TIME: of the first flow [0]"},
    {"stagger", VALUE_TIME, REQUEST(stagger_ps), "TIME: between starts [0]"},
    {"jitter", VALUE_TIME, REQUEST(jitter_ps), "TIME: random delay below this [0]"},
    {"src", VALUE_U32, REQUEST(src), "HOST: single"},
    {"dst", VALUE_U32, REQUEST(dst), "HOST: single, incast"},
    {"fan-in", VALUE_U32, REQUEST(fan_in), "N: incast senders [all]"},
    {"repeat", VALUE_U32, REQUEST(repeat), "N: rounds of the pattern [1]"},
    {"load", VALUE_RATIO, REQUEST(load), "L: poisson, share of the host rate, such as 30%"},
    {"duration", VALUE_TIME, REQUEST(duration_ps), "TIME: poisson"},
    {"max-flows", VALUE_U32, REQUEST(flow_count_max), "N: poisson [no limit]"},
    {"cdf", VALUE_TEXT, FLOWS(cdf_path), "FILE: poisson, sizes"},
    {"distribution", VALUE_TEXT, FLOWS(cdf_name), "NAME: poisson, sizes: web-search or hadoop"},
    {"seed", VALUE_U64, REQUEST(seed), "S: of all random draws [0]"},
    {"priority", VALUE_U8, REQUEST(prio), "Q: queue, 0..7 [3]"},
    {"dport", VALUE_U16, REQUEST(dport), "P: destination port [100]"},
};
#undef REQUEST
#undef FLOWS
/* clang-format on */

#define TOPOLOGY_OPTION_COUNT ((uint32_t)(sizeof topology_options / sizeof topology_options[0]))
#define FLOWS_OPTION_COUNT ((uint32_t)(sizeof flows_options / sizeof flows_options[0]))

_Static_assert(sizeof topology_options / sizeof topology_options[0] <= GEN_OPTIONS_MAX, "table");

/* "4x4x2" into @dims; the number of dimensions is the number of values. */
static int parse_dims(const char *text, uint32_t *dims)
{
    char copy[128], *rest = copy, *part;
    uint32_t count = 0;
    int64_t v;

    if (strlen(text) >= sizeof copy)
        return WH_ERR_INPUT;
    (void)snprintf(copy, sizeof copy, "%s", text);
    memset(dims, 0, 6 * sizeof *dims);
    while ((part = strsep(&rest, "x"))) {
        if (count == 6 || units_parse_decimal(part, 0, &v, NULL) || v < 1 || v > UINT32_MAX)
            return WH_ERR_INPUT;
        dims[count++] = (uint32_t)v;
    }
    return 0;
}

static uint64_t kind_max(enum value_kind kind)
{
    switch (kind) {
    case VALUE_U8:
        return UINT8_MAX;
    case VALUE_U16:
        return UINT16_MAX;
    case VALUE_U32:
        return UINT32_MAX;
    default:
        return INT64_MAX;
    }
}

static int parse_unsigned(enum value_kind kind, const char *text, void *at)
{
    int inexact = 0;
    int64_t v;

    if (units_parse_decimal(text, 0, &v, &inexact) || inexact || v < 0 ||
        (uint64_t)v > kind_max(kind))
        return WH_ERR_INPUT;
    if (kind == VALUE_U8)
        *(uint8_t *)at = (uint8_t)v;
    else if (kind == VALUE_U16)
        *(uint16_t *)at = (uint16_t)v;
    else if (kind == VALUE_U32)
        *(uint32_t *)at = (uint32_t)v;
    else
        *(uint64_t *)at = (uint64_t)v;
    return 0;
}

/* Fills the field; on failure *expected is what would have been right. */
static int parse_field(enum value_kind kind, const char *text, void *at, const char **expected)
{
    switch (kind) {
    case VALUE_NONE:
        *(int *)at = 1;
        return 0;
    case VALUE_TEXT:
        *(const char **)at = text;
        return 0;
    case VALUE_TIME:
        *expected = "a time with unit, such as 1us";
        return units_parse_time(text, UNITS_NO_BARE, at) || *(int64_t *)at < 0;
    case VALUE_RATE:
        *expected = "a rate with unit, such as 100Gbps";
        return units_parse_rate(text, at);
    case VALUE_BYTES:
        *expected = "a size with unit, such as 1MB or 500B";
        return units_parse_bytes(text, at) || *(int64_t *)at < 0;
    case VALUE_RATIO:
        *expected = "a number such as 0.3 or 30%";
        return units_parse_ratio(text, at);
    case VALUE_DIMS:
        *expected = "one to six numbers, such as 4x4x2";
        return parse_dims(text, at);
    default:
        *expected = "a whole number in range";
        return parse_unsigned(kind, text, at);
    }
}

/* Fills @base from the command line; *word is the single word that is left, or NULL. */
static int parse_table(int argc, char **argv, const struct gen_option *table, uint32_t count,
                       void *base, const char **word, struct err_info *e)
{
    struct option_row rows[GEN_OPTIONS_MAX];
    const char *value = NULL, *expected = "";
    int first = argc, row;

    for (uint32_t i = 0; i < count; i++)
        rows[i] = (struct option_row){table[i].name, table[i].kind != VALUE_NONE};
    for (int begin = 1;; begin = 0) {
        row = options_next(argc, argv, rows, count, begin, &value, &first, e);
        if (row < 0)
            break;
        if (parse_field(table[row].kind, value, (char *)base + table[row].offset, &expected))
            return err_set(e, WH_ERR_INPUT, NULL, 0, "--%s: found '%s', expected %s",
                           table[row].name, value, expected);
    }
    if (row == -2)
        return WH_ERR_INPUT;
    if (argc - first > 1)
        return err_set(e, WH_ERR_INPUT, NULL, 0, "found an extra argument '%s'", argv[first + 1]);
    *word = first < argc ? argv[first] : NULL;
    return 0;
}

static int find_kind(const char *word, int is_rail, enum topo_kind *kind, struct err_info *e)
{
    if (is_rail && word && strcmp(word, topo_kind_name(TOPO_RAIL)))
        return err_set(e, WH_ERR_INPUT, NULL, 0, "found --ro with the kind '%s', expected rail",
                       word);
    if (is_rail)
        word = topo_kind_name(TOPO_RAIL);
    if (!word || topo_kind_from_name(word, kind))
        return err_set(e, WH_ERR_INPUT, NULL, 0,
                       "found topology kind '%s', expected one of "
                       "single-switch, dumbbell, leaf-spine, fat-tree, clos3, rail, torus, "
                       "dragonfly",
                       word ? word : "");
    return 0;
}

/* Rates, delays and loss of the links, over the defaults of the kind. */
static void apply_links(const struct topology_values *v, struct topo_spec *s)
{
    if (v->host_rate_bps > 0)
        s->host_link.rate_bps = v->host_rate_bps;
    if (v->host_delay_ps >= 0)
        s->host_link.delay_ps = v->host_delay_ps;
    s->host_link.error_rate = v->error_rate;
    if (s->fabric_link.rate_bps == 0)
        s->fabric_link = s->host_link;
    if (v->fabric_rate_bps > 0)
        s->fabric_link.rate_bps = v->fabric_rate_bps;
    if (v->fabric_delay_ps >= 0)
        s->fabric_link.delay_ps = v->fabric_delay_ps;
    s->fabric_link.error_rate = v->error_rate;
    if (v->nvlink_rate_bps >= 0)
        s->nvlink.rate_bps = v->nvlink_rate_bps;
    if (v->nvlink_delay_ps >= 0)
        s->nvlink.delay_ps = v->nvlink_delay_ps;
}

static void init_values(struct topology_values *v)
{
    v->host_rate_bps = v->host_delay_ps = v->fabric_rate_bps = v->fabric_delay_ps = -1;
    v->nvlink_rate_bps = v->nvlink_delay_ps = -1;
}

static void count_dims(struct topo_spec *s)
{
    s->dim_count = 0;
    while (s->dim_count < 6 && s->dims[s->dim_count])
        s->dim_count++;
}

/* Two passes: the kind decides the defaults that the options then overwrite. */
int gen_parse_topology(int argc, char **argv, struct gen_topology_options *o, struct err_info *e)
{
    struct topology_values v = {.help = 0};
    const char *word = NULL;
    enum topo_kind kind;
    int rc = parse_table(argc, argv, topology_options, TOPOLOGY_OPTION_COUNT, &v, &word, e);

    if (rc || v.help)
        return rc ? rc : OPTIONS_HELP;
    rc = find_kind(word, v.is_rail, &kind, e);
    if (rc)
        return rc;
    v = (struct topology_values){.help = 0};
    init_values(&v);
    topo_spec_init(&v.spec, kind);
    rc = parse_table(argc, argv, topology_options, TOPOLOGY_OPTION_COUNT, &v, &word, e);
    if (rc)
        return rc;
    if (v.leaves_per_segment && v.leaves_per_segment != v.spec.gpus_per_server)
        return err_set(e, WH_ERR_INPUT, NULL, 0,
                       "--asn: found %u leaves per segment, expected as "
                       "many as GPUs per server (%u): each GPU of a server has its own leaf",
                       v.leaves_per_segment, v.spec.gpus_per_server);
    count_dims(&v.spec);
    apply_links(&v, &v.spec);
    o->spec = v.spec;
    o->path = v.path;
    return 0;
}

static int check_flows(const struct gen_flows_options *o, struct err_info *e)
{
    const struct flow_request *r = &o->request;
    const int has_sizes = o->cdf_path || o->cdf_name;

    if (!o->topology_path)
        return err_set(e, WH_ERR_INPUT, NULL, 0,
                       "found no --topology, expected the topology file "
                       "that the flows are for");
    if (o->cdf_path && o->cdf_name)
        return err_set(e, WH_ERR_INPUT, NULL, 0,
                       "found both --cdf and --distribution, expected one");
    if (r->pattern == FLOWS_POISSON ? r->bytes == 0 && !has_sizes : has_sizes)
        return err_set(
            e, WH_ERR_INPUT, NULL, 0,
            r->pattern == FLOWS_POISSON
                ? "found no flow sizes, expected --bytes, --cdf or --distribution"
                : "found a size distribution, expected it with the pattern poisson only");
    return 0;
}

int gen_parse_flows(int argc, char **argv, struct gen_flows_options *o, struct err_info *e)
{
    struct flows_values v = {.help = 0};
    const char *word = NULL;
    enum flow_pattern pattern;
    int rc = parse_table(argc, argv, flows_options, FLOWS_OPTION_COUNT, &v, &word, e);

    if (rc || v.help)
        return rc ? rc : OPTIONS_HELP;
    if (!word || flow_pattern_from_name(word, &pattern))
        return err_set(e, WH_ERR_INPUT, NULL, 0,
                       "found flow pattern '%s', expected one of single, "
                       "incast, permutation, ring, all-to-all, poisson",
                       word ? word : "");
    v = (struct flows_values){.help = 0};
    flow_request_init(&v.o.request, pattern);
    rc = parse_table(argc, argv, flows_options, FLOWS_OPTION_COUNT, &v, &word, e);
    if (!rc)
        rc = check_flows(&v.o, e);
    *o = v.o;
    return rc;
}

static void print_options(FILE *out, const struct gen_option *table, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!table[i].help)
            continue;
        fprintf(out, "  --%s", table[i].name);
        for (uint32_t k = i + 1; k < count && !table[k].help; k++)
            fprintf(out, ", -%s", table[k].name);
        fprintf(out, "  %s\n", table[i].help);
    }
}

void gen_print_topology_help(FILE *out)
{
    fprintf(out, "usage: wormhole gen topology KIND [options] [-o FILE]\n\nkinds:");
    for (int k = 0; k < TOPO_KIND_COUNT; k++)
        fprintf(out, " %s", topo_kind_name((enum topo_kind)k));
    fprintf(out, "\n\n");
    print_options(out, topology_options, TOPOLOGY_OPTION_COUNT);
}

void gen_print_flows_help(FILE *out)
{
    fprintf(out,
            "usage: wormhole gen flows PATTERN --topology FILE [options] [-o FILE]\n\npatterns:");
    for (int p = 0; p < FLOWS_PATTERN_COUNT; p++)
        fprintf(out, " %s", flow_pattern_name((enum flow_pattern)p));
    fprintf(out, "\n\n");
    print_options(out, flows_options, FLOWS_OPTION_COUNT);
}
