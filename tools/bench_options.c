/*
 * bench_options.c - see bench_options.h. Names and meanings follow nccl-tests where it has them.
 */
#include "bench_options.h"

#include "units.h"

#include <inttypes.h>
#include <string.h>

enum row {
    ROW_HELP,
    ROW_B,
    ROW_E,
    ROW_F,
    ROW_I,
    ROW_G,
    ROW_RANKS,
    ROW_N,
    ROW_W,
    ROW_D,
    ROW_R,
    ROW_ALGORITHM,
    ROW_CHANNELS,
    ROW_CHUNKS,
    ROW_PLACEMENT,
    ROW_SEED,
    ROW_SCENARIO,
    ROW_SET,
    ROW_TOPOLOGY,
    ROW_RATE,
    ROW_DELAY,
    ROW_GPUS,
    ROW_NVLINK_RATE,
    ROW_NVLINK_DELAY,
    ROW_SPINES,
    ROW_CC,
    ROW_PAYLOAD,
    ROW_THREADS,
    ROW_ENGINE,
    ROW_CSV,
    ROW_TRACE,
    ROW_ACCEL,
    ROW_COUNT = ROW_ACCEL + ACCEL_BENCH_ROWS
};

static const struct option_row rows[ROW_COUNT] = {
    [ROW_HELP] = {"help", 0},
    [ROW_B] = {"b", 1},
    [ROW_E] = {"e", 1},
    [ROW_F] = {"f", 1},
    [ROW_I] = {"i", 1},
    [ROW_G] = {"g", 1},
    [ROW_RANKS] = {"ranks", 1},
    [ROW_N] = {"n", 1},
    [ROW_W] = {"w", 1},
    [ROW_D] = {"d", 1},
    [ROW_R] = {"r", 1},
    [ROW_ALGORITHM] = {"algorithm", 1},
    [ROW_CHANNELS] = {"channels", 1},
    [ROW_CHUNKS] = {"chunks", 1},
    [ROW_PLACEMENT] = {"placement", 1},
    [ROW_SEED] = {"seed", 1},
    [ROW_SCENARIO] = {"scenario", 1},
    [ROW_SET] = {"set", 1},
    [ROW_TOPOLOGY] = {"topology", 1},
    [ROW_RATE] = {"rate", 1},
    [ROW_DELAY] = {"delay", 1},
    [ROW_GPUS] = {"gpus-per-server", 1},
    [ROW_NVLINK_RATE] = {"nvlink-rate", 1},
    [ROW_NVLINK_DELAY] = {"nvlink-delay", 1},
    [ROW_SPINES] = {"spines", 1},
    [ROW_CC] = {"cc", 1},
    [ROW_PAYLOAD] = {"payload", 1},
    [ROW_THREADS] = {"threads", 1},
    [ROW_ENGINE] = {"engine", 1},
    [ROW_CSV] = {"csv", 1},
    [ROW_TRACE] = {"trace", 1},
    ACCEL_BENCH_OPTION_ROWS(ROW_ACCEL),
};

void bench_print_help(FILE *out)
{
    fprintf(
        out,
        "usage: wormhole bench collective OPERATION [options]\n\n"
        "Runs a collective for a sweep of sizes, each on an idle network, and prints the table of\n"
        "nccl-tests. OPERATION: all_reduce, reduce_scatter, all_gather, all_to_all, broadcast,\n"
        "reduce, send_recv (also with nccl-tests' names).\n\n"
        "  -b, -e SIZE        first and last size [8, 128M]: bytes, or K M G (powers of 1024)\n"
        "  -f FACTOR          each size this many times the one before [2]\n"
        "  -i SIZE            or this much more\n"
        "  -g, --ranks N      ranks [8; with --scenario: all its hosts]\n"
        "  -n, -w N           measured iterations, and others before them [1, 0]\n"
        "  -d TYPE            int8 half bfloat16 float double ... [float]\n"
        "  -r ROOT            rank of the root [0]\n"
        "  --algorithm NAME   ring tree halving-doubling direct pairwise pxn hierarchical [auto]\n"
        "  --channels N       rings or trees side by side [1]\n"
        "  --chunks N         of a tree or chain, per channel [by size]\n"
        "  --placement NAME   packed rail random [packed], --seed S of the last\n\n"
        "The network, a scenario file or made up (one ACK for 16 packets; dcqcn and none without\n"
        "window):\n"
        "  --scenario FILE    its topology and settings; --set KEY=VALUE overrides\n"
        "  --topology KIND    single-switch, rail [single-switch]\n"
        "  --rate RATE        of a NIC [400Gbps], --delay TIME of its link [500ns]\n"
        "  --gpus-per-server N, --spines N           rail [8, 8]\n"
        "  --nvlink-rate RATE, --nvlink-delay TIME   rail [3600Gbps, 25ns]\n"
        "  --cc NAME          congestion control [dcqcn]\n"
        "  --payload SIZE     of a packet [4096B]\n\n" ENGINE_OPTIONS_HELP
        "  --steady, --memo exact, and what goes with them: as run; here off unless asked for\n"
        "  --csv FILE         every collective as a line of collectives.csv\n"
        "  --trace FILE       timeline of the last size, for Perfetto\n");
}

int bench_parse_size(const char *text, int64_t *out)
{
    static const char suffixes[] = "KMGT";
    const size_t len = strlen(text);
    const char *s = len ? strchr(suffixes, text[len - 1]) : NULL;
    const int shift = s ? 10 * (int)(s - suffixes + 1) : 0;
    char digits[32];
    int64_t v;

    if (!len || len >= sizeof digits)
        return WH_ERR_INPUT;
    memcpy(digits, text, len + 1);
    if (s)
        digits[len - 1] = '\0';
    if (strspn(digits, "0123456789") != strlen(digits) || !digits[0])
        return units_parse_bytes(text, out);
    if (units_parse_decimal(digits, 0, &v, NULL) || v > (INT64_C(1) << 50) >> shift)
        return WH_ERR_LIMIT;
    *out = v << shift;
    return 0;
}

/* ---- values ---- */

static int refuse(const char *option, const char *found, const char *expected, struct err_info *e)
{
    return err_set(e, WH_ERR_INPUT, NULL, 0, "--%s: found '%s', expected %s", option, found,
                   expected);
}

static int parse_size(enum row row, const char *text, int64_t *out, struct err_info *e)
{
    if (!bench_parse_size(text, out))
        return 0;
    return refuse(rows[row].name, text, "a size such as 8, 64K, 4MB, up to 2^50 B", e);
}

static int parse_count(enum row row, const char *text, int64_t lo, int64_t hi, uint32_t *out,
                       struct err_info *e)
{
    char what[40];
    int64_t v;
    int rc;

    (void)snprintf(what, sizeof what, "--%s", rows[row].name);
    rc = options_parse_integer(what, text, lo, hi, &v, e);
    if (!rc)
        *out = (uint32_t)v;
    return rc;
}

static int parse_type(const char *text, struct bench_options *o, struct err_info *e)
{
    static const struct {
        const char *name;
        uint32_t bytes;
    } types[] = {{"int8", 1},   {"uint8", 1}, {"half", 2},  {"bfloat16", 2}, {"int32", 4},
                 {"uint32", 4}, {"float", 4}, {"int64", 8}, {"uint64", 8},   {"double", 8}};

    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (strcmp(types[i].name, text))
            continue;
        o->type_name = types[i].name;
        o->call.elem_bytes = types[i].bytes;
        return 0;
    }
    return refuse("d", text,
                  "one of int8 uint8 half bfloat16 int32 uint32 float int64 uint64 double", e);
}

/* nccl-tests writes some names in one word, and its programs end in _perf. */
static int parse_operation(const char *text, struct bench_options *o, struct err_info *e)
{
    static const char *const other[][2] = {{"alltoall", "all_to_all"}, {"sendrecv", "send_recv"}};
    char name[64];
    char *suffix;

    (void)snprintf(name, sizeof name, "%s", text);
    suffix = strstr(name, "_perf");
    if (suffix && !suffix[5])
        *suffix = '\0';
    for (size_t i = 0; i < sizeof other / sizeof other[0]; i++)
        if (!strcmp(name, other[i][0]))
            (void)snprintf(name, sizeof name, "%s", other[i][1]);
    if (!coll_kind_from_name(name, &o->call.kind) && o->call.kind != COLL_BARRIER)
        return 0;
    return err_set(e, WH_ERR_INPUT, NULL, 0,
                   "found operation '%s', expected all_reduce, reduce_scatter, all_gather, "
                   "all_to_all, broadcast, reduce or send_recv",
                   text);
}

static int parse_set(const char *text, struct bench_options *o, struct err_info *e)
{
    char *eq = strchr(text, '=');

    if (!eq || eq == text || o->set_count == OPTIONS_SETS_MAX)
        return refuse("set", text, "KEY=VALUE, at most 128 times", e);
    *eq = '\0'; /* argv is ours to change */
    o->sets[o->set_count].key = text;
    o->sets[o->set_count++].value = eq + 1;
    return 0;
}

static int parse_seed(const char *text, struct bench_options *o, struct err_info *e)
{
    int64_t v;
    const int rc = options_parse_integer("--seed", text, 0, INT64_MAX, &v, e);

    if (!rc)
        o->place.seed = (uint64_t)v;
    return rc;
}

/* The options of the network, of skipping and of the memo. */
static int parse_network(enum row row, const char *v, struct bench_options *o, struct err_info *e)
{
    struct topo_spec *t = &o->topo;
    int64_t bytes;

    if (row >= ROW_ACCEL)
        return accel_parse((enum accel_row)(row - ROW_ACCEL), v, &o->engine.accel, e);
    switch (row) {
    case ROW_TOPOLOGY:
        if (topo_kind_from_name(v, &t->kind) ||
            (t->kind != TOPO_SINGLE_SWITCH && t->kind != TOPO_RAIL))
            return refuse("topology", v, "single-switch or rail (others: --scenario)", e);
        return 0;
    case ROW_RATE:
        return units_parse_rate(v, &t->host_link.rate_bps)
                   ? refuse("rate", v, "a rate such as 400Gbps", e)
                   : 0;
    case ROW_DELAY:
        return units_parse_time(v, UNITS_NO_BARE, &t->host_link.delay_ps)
                   ? refuse("delay", v, "a time such as 500ns", e)
                   : 0;
    case ROW_NVLINK_RATE:
        return units_parse_rate(v, &t->nvlink.rate_bps)
                   ? refuse("nvlink-rate", v, "a rate such as 3600Gbps", e)
                   : 0;
    case ROW_NVLINK_DELAY:
        return units_parse_time(v, UNITS_NO_BARE, &t->nvlink.delay_ps)
                   ? refuse("nvlink-delay", v, "a time such as 25ns", e)
                   : 0;
    case ROW_GPUS:
        return parse_count(row, v, 1, 1024, &t->gpus_per_server, e);
    case ROW_SPINES:
        return parse_count(row, v, 1, 4096, &t->spines, e);
    case ROW_CC:
        return config_cc_from_name(v, &o->cc)
                   ? refuse("cc", v, "none, dcqcn, hpcc, timely, dctcp or swift", e)
                   : 0;
    default:
        if (units_parse_bytes(v, &bytes) || bytes < 1 || bytes > 65000)
            return refuse("payload", v, "a size from 1B to 65000B", e);
        o->payload_bytes = (uint32_t)bytes;
        return 0;
    }
}

static int parse_algorithm(const char *text, struct bench_options *o, struct err_info *e)
{
    if (!coll_algo_from_name(text, &o->call.algo))
        return 0;
    return refuse("algorithm", text,
                  "auto, ring, tree, halving-doubling, direct, pairwise, pxn or hierarchical", e);
}

static int parse_option(enum row row, const char *v, struct bench_options *o, struct err_info *e)
{
    switch (row) {
    case ROW_B:
        return parse_size(row, v, &o->first_bytes, e);
    case ROW_E:
        return parse_size(row, v, &o->last_bytes, e);
    case ROW_I:
        return parse_size(row, v, &o->step_bytes, e);
    case ROW_F:
        return parse_count(row, v, 2, 1024, &o->factor, e);
    case ROW_G:
    case ROW_RANKS:
        return parse_count(row, v, 1, 1 << 24, &o->place.rank_count, e);
    case ROW_N:
        return parse_count(row, v, 1, 100000, &o->iterations, e);
    case ROW_W:
        return parse_count(row, v, 0, 100000, &o->warmups, e);
    case ROW_D:
        return parse_type(v, o, e);
    case ROW_R:
        return parse_count(row, v, 0, 1 << 24, &o->call.root, e);
    case ROW_ALGORITHM:
        return parse_algorithm(v, o, e);
    case ROW_CHANNELS:
        return parse_count(row, v, 1, COLL_CHANNELS_MAX, &o->call.channels, e);
    case ROW_CHUNKS:
        return parse_count(row, v, 1, COLL_CHUNKS_MAX, &o->call.chunks, e);
    case ROW_PLACEMENT:
        return place_kind_from_name(v, &o->place.kind)
                   ? refuse("placement", v, "packed, rail or random", e)
                   : 0;
    case ROW_SEED:
        return parse_seed(v, o, e);
    case ROW_SET:
        return parse_set(v, o, e);
    case ROW_SCENARIO:
        o->scenario = v;
        return 0;
    case ROW_THREADS:
        return engine_parse_threads(v, &o->engine, e);
    case ROW_ENGINE:
        return engine_parse_kind(v, &o->engine, e);
    case ROW_CSV:
        o->csv_path = v;
        return 0;
    case ROW_TRACE:
        o->trace_path = v;
        return 0;
    default:
        return parse_network(row, v, o, e);
    }
}

static void init_defaults(struct bench_options *o)
{
    memset(o, 0, sizeof *o);
    topo_spec_init(&o->topo, TOPO_RAIL); /* its sizes are used if the kind is rail */
    o->topo.kind = TOPO_SINGLE_SWITCH;
    o->topo.host_link = (struct link_class){INT64_C(400000000000), 500 * PS_PER_NS, 0};
    o->topo.nvlink = (struct link_class){INT64_C(3600000000000), 25 * PS_PER_NS, 0};
    o->topo.spines = 8;
    o->first_bytes = 8;
    o->last_bytes = INT64_C(128) << 20;
    o->factor = 2;
    o->iterations = 1;
    o->cc = CC_DCQCN;
    o->payload_bytes = 4096;
    o->call.channels = 1;
    o->call.elem_bytes = 4;
    o->type_name = "float";
    o->place.seed = 1;
    engine_options_init(&o->engine);
    accel_options_off(&o->engine.accel);
}

static int check_options(struct bench_options *o, struct err_info *e)
{
    if (o->first_bytes > o->last_bytes)
        return err_set(e, WH_ERR_INPUT, NULL, 0,
                       "-b, -e: found sizes from %" PRId64 " to %" PRId64
                       " B, expected the first not above the last",
                       o->first_bytes, o->last_bytes);
    if (!o->first_bytes && !o->step_bytes)
        return err_set(e, WH_ERR_INPUT, NULL, 0,
                       "-b: found 0 without a step, expected 1 or more, or -i");
    if (o->set_count && !o->scenario)
        return err_set(e, WH_ERR_INPUT, NULL, 0, "found --set, expected it with --scenario only");
    if (!o->place.rank_count && !o->scenario)
        o->place.rank_count = 8;
    return accel_check(&o->engine.accel, e);
}

int bench_parse(int argc, char **argv, struct bench_options *o, struct err_info *e)
{
    const char *value = NULL;
    int word = argc, row, rc = 0, begin = 1;

    init_defaults(o);
    while ((row = options_next(argc, argv, rows, ROW_COUNT, begin, &value, &word, e)) >= 0) {
        begin = 0;
        if (row == ROW_HELP)
            return OPTIONS_HELP;
        rc = parse_option((enum row)row, value, o, e);
        if (rc)
            return rc;
    }
    if (row == -2)
        return WH_ERR_INPUT;
    if (word + 1 != argc)
        return err_set(e, WH_ERR_INPUT, NULL, 0,
                       "found %d words, expected one OPERATION such as all_reduce", argc - word);
    rc = parse_operation(argv[word], o, e);
    return rc ? rc : check_options(o, e);
}
