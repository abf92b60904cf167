/*
 * foreign_options.c - see foreign_options.h. Where a tool has a word for something, it is kept.
 */
#include "foreign_options.h"

#include "coll.h"
#include "units.h"

#include <stdlib.h>
#include <string.h>

enum {
    OPT_HELP,
    OPT_GOAL,
    OPT_CM,
    OPT_TM,
    OPT_SIMAI,
    OPT_ASTRA,
    OPT_TOPO,
    OPT_LOGGOPS,
    OPT_W,
    OPT_N,
    OPT_C,
    OPT_T,
    OPT_WORKLOAD,
    OPT_SYSTEM,
    OPT_LOGICAL,
    OPT_NETWORK,
    OPT_GROUPS,
    OPT_MEMORY,
    OPT_LOGGING,
    OPT_QUEUES,
    OPT_COMM_SCALE,
    OPT_INJECTION_SCALE,
    OPT_RENDEZVOUS,
    OPT_CTRL_DEPS,
    OPT_COMPUTE_SCALE,
    OPT_CHANNELS,
    OPT_NODES,
    OPT_CC,
    OPT_PAYLOAD,
    OPT_SET,
    OPT_SEED,
    OPT_END,
    OPT_O,
    OPT_OUTPUT,
    OPT_THREADS,
    OPT_ENGINE,
    OPT_FCT_CSV,
    OPT_QUIET,
    OPT_PROGRESS,
    OPT_FINISHED,
    OPT_EXPORT_ET,
    OPT_EXPORT_GOAL,
    OPT_EXPORT_FLOWS,
    OPT_EXPLAIN,
    OPT_ACCEL,
    OPT_COUNT = OPT_ACCEL + ACCEL_ROWS
};

static const struct option_row rows[OPT_COUNT] = {
    [OPT_HELP] = {"help", 0},
    [OPT_GOAL] = {"goal", 1},
    [OPT_CM] = {"cm", 1},
    [OPT_TM] = {"tm", 1},
    [OPT_SIMAI] = {"simai", 0},
    [OPT_ASTRA] = {"astra", 0},
    [OPT_TOPO] = {"topo", 1},
    [OPT_LOGGOPS] = {"loggops", 1},
    [OPT_W] = {"w", 1},
    [OPT_N] = {"n", 1},
    [OPT_C] = {"c", 1},
    [OPT_T] = {"t", 1},
    [OPT_WORKLOAD] = {"workload-configuration", 1},
    [OPT_SYSTEM] = {"system-configuration", 1},
    [OPT_LOGICAL] = {"logical-topology-configuration", 1},
    [OPT_NETWORK] = {"network-configuration", 1},
    [OPT_GROUPS] = {"comm-group-configuration", 1},
    [OPT_MEMORY] = {"remote-memory-configuration", 1},
    [OPT_LOGGING] = {"logging-configuration", 1},
    [OPT_QUEUES] = {"num-queues-per-dim", 1},
    [OPT_COMM_SCALE] = {"comm-scale", 1},
    [OPT_INJECTION_SCALE] = {"injection-scale", 1},
    [OPT_RENDEZVOUS] = {"rendezvous-protocol", 1},
    [OPT_CTRL_DEPS] = {"ctrl-deps", 1},
    [OPT_COMPUTE_SCALE] = {"compute-scale", 1},
    [OPT_CHANNELS] = {"channels", 1},
    [OPT_NODES] = {"nodes", 1},
    [OPT_CC] = {"cc", 1},
    [OPT_PAYLOAD] = {"payload", 1},
    [OPT_SET] = {"set", 1},
    [OPT_SEED] = {"seed", 1},
    [OPT_END] = {"end", 1},
    [OPT_O] = {"o", 1},
    [OPT_OUTPUT] = {"output", 1},
    [OPT_THREADS] = {"threads", 1},
    [OPT_ENGINE] = {"engine", 1},
    [OPT_FCT_CSV] = {"fct-csv", 1},
    [OPT_QUIET] = {"quiet", 0},
    [OPT_PROGRESS] = {"progress", 1},
    [OPT_FINISHED] = {"finished-lines", 0},
    [OPT_EXPORT_ET] = {"export-et", 1},
    [OPT_EXPORT_GOAL] = {"export-goal", 1},
    [OPT_EXPORT_FLOWS] = {"export-flows", 1},
    [OPT_EXPLAIN] = {"explain", 0},
    ACCEL_OPTION_ROWS(OPT_ACCEL),
};

int foreign_is_asked(int argc, char **argv)
{
    static const char *const words[] = {"goal",      "cm",          "tm",
                                        "simai",     "astra",       "workload-configuration",
                                        "export-et", "export-goal", "export-flows"};

    for (int i = 1; i < argc; i++) {
        const char *a = argv[i];

        if (*a != '-')
            continue;
        a += a[1] == '-' ? 2 : 1;
        for (size_t k = 0; k < sizeof words / sizeof words[0]; k++)
            if (!strncmp(a, words[k], strlen(words[k])) &&
                (a[strlen(words[k])] == '\0' || a[strlen(words[k])] == '='))
                return 1;
    }
    return 0;
}

void foreign_print_help(FILE *out)
{
    fprintf(
        out,
        "usage: wormhole run --goal FILE --topo NETWORK [--loggops o=NS,O=NS,S=BYTES]\n"
        "       wormhole run --cm FILE --topo NETWORK [--end TIME]\n"
        "       wormhole run --simai -w WORKLOAD -n TOPOLOGY [-c CONF]\n"
        "       wormhole run --astra --workload-configuration=PREFIX "
        "--network-configuration=FILE\n"
        "                    [--system-configuration=FILE] "
        "[--logical-topology-configuration=FILE]\n"
        "                    [--comm-group-configuration=FILE] "
        "[--remote-memory-configuration=FILE]\n"
        "       wormhole run SCENARIO.yaml --export-et PREFIX | --export-goal FILE | "
        "--export-flows FILE\n\n"
        "NETWORK is an htsim .topo, a topology of HPCC or SimAI, or a scenario file.\n\n"
        "  -o DIR, --output DIR   output folder [" OPTIONS_DEFAULT_DIR "]\n"
        "  --cc NAME, --payload BYTES   congestion control, largest payload of a packet\n"
        "  --set KEY=VALUE        override a setting of a scenario or configuration file\n"
        "  --channels N           channels of rings [SimAI: one per rail; ASTRA-sim: 1]\n"
        "  --compute-scale F, --comm-scale F   of durations and sizes in traces\n"
        "  --ctrl-deps yes|no     honour control dependencies of traces [yes]\n"
        "  --finished-lines       print ASTRA-sim's line for each rank\n"
        "  --export-et PREFIX, --export-goal FILE, --export-flows FILE\n"
        "                         write the workload as traces, schedule, HPCC flow file\n"
        "  --seed S, --end TIME, --threads N|auto, --engine NAME, --fct-csv yes|no, --quiet,\n"
        "  --progress auto|off|json, --no-steady, --no-memo and what else is about skipping and\n"
        "  the memo, --explain: as run\n\n"
        "Exit codes: 0 done, 1 the run failed or was interrupted, 2 bad input or deadlock.\n");
}

/* ---- values ---- */

static int refuse(struct err_info *e, int row, const char *found, const char *expected)
{
    return err_set(e, WH_ERR_INPUT, NULL, 0, "--%s: found '%s', expected %s", rows[row].name, found,
                   expected);
}

static int take_uint(int row, const char *text, int64_t lo, int64_t hi, uint32_t *out,
                     struct err_info *e)
{
    int64_t v;
    const int rc = options_parse_integer(rows[row].name, text, lo, hi, &v, e);

    if (!rc)
        *out = (uint32_t)v;
    return rc;
}

static int take_scale(int row, const char *text, double *out, struct err_info *e)
{
    char *end;
    const double v = strtod(text, &end);

    if (end == text || *end || !(v > 0) || !(v <= 1e12))
        return refuse(e, row, text, "a factor above 0, at most 10^12");
    *out = v;
    return 0;
}

static int take_yes_no(int row, const char *text, int *out, struct err_info *e)
{
    if (strcmp(text, "yes") && strcmp(text, "no"))
        return refuse(e, row, text, "yes or no");
    *out = !strcmp(text, "yes");
    return 0;
}

static int take_parameter(char key, const char *text, struct foreign_options *o, struct err_info *e)
{
    static const char *const names[] = {"L", "g", "G"};
    int64_t v;
    int rc;

    if (!strchr("LogGOS", key))
        return err_set(e, WH_ERR_INPUT, NULL, 0,
                       "--loggops: found parameter '%c', expected L, o, g, G, O or S", key);
    for (int i = 0; i < 3; i++) {
        if (*names[i] == key) { /* G may be a fraction */
            o->loggops_ignored = o->loggops_ignored ? o->loggops_ignored : names[i];
            return 0;
        }
    }
    rc = options_parse_integer("--loggops", text, 0, INT64_MAX, &v, e);
    if (rc)
        return rc;
    if (key == 'o')
        o->goal.overhead_ns = (uint64_t)v;
    else if (key == 'O')
        o->goal.overhead_byte_ns = (uint64_t)v;
    else /* LogGOPSim's 0 means no rendezvous in the packet-level backend */
        o->goal.rendezvous_bytes = v ? (uint64_t)v : UINT64_MAX;
    return 0;
}

/* "L=2500,o=1500": cut in place, as argv is ours. */
static int take_loggops(char *text, struct foreign_options *o, struct err_info *e)
{
    char *save = NULL;

    for (char *part = strtok_r(text, ",", &save); part; part = strtok_r(NULL, ",", &save)) {
        int rc;

        if (!part[0] || part[1] != '=')
            return refuse(e, OPT_LOGGOPS, part, "parameters such as o=200,O=0,S=65535");
        rc = take_parameter(part[0], part + 2, o, e);
        if (rc)
            return rc;
    }
    return 0;
}

static int take_set(char *text, struct foreign_options *o, struct err_info *e)
{
    char *eq = strchr(text, '=');

    if (!eq || eq == text || o->set_count == OPTIONS_SETS_MAX)
        return refuse(e, OPT_SET, text, "KEY=VALUE, at most 128 times");
    *eq = '\0';
    o->sets[o->set_count++] = (struct option_set){text, eq + 1};
    return 0;
}

static int take_seed(const char *text, struct foreign_options *o, struct err_info *e)
{
    int64_t v;
    const int rc = options_parse_integer("--seed", text, 0, INT64_MAX, &v, e);

    if (!rc) {
        o->seed_text = text;
        o->seed = (uint64_t)v;
    }
    return rc;
}

/* htsim's -end is a bare number of microseconds. */
static int take_end(const char *text, struct foreign_options *o, struct err_info *e)
{
    const int bare = o->kind == FOREIGN_CM ? -6 : UNITS_NO_BARE;

    if (units_parse_time(text, bare, &o->end_ps) || o->end_ps <= 0)
        return refuse(e, OPT_END, text, "a time after 0 with unit, such as 10ms");
    return 0;
}

static int take_progress(const char *text, struct foreign_options *o, struct err_info *e)
{
    static const char *const names[] = {"auto", "off", "json"};

    for (int i = 0; i < 3; i++) {
        if (!strcmp(text, names[i])) {
            o->progress = (enum progress_mode)i;
            return 0;
        }
    }
    return refuse(e, OPT_PROGRESS, text, "auto, off or json");
}

static int take_cc(const char *text, struct foreign_options *o, struct err_info *e)
{
    if (config_cc_from_name(text, &o->cc))
        return refuse(e, OPT_CC, text, "none, dcqcn, hpcc, timely, dctcp or swift");
    o->has_cc = 1;
    return 0;
}

/* ---- rows ---- */

static int set_kind(struct foreign_options *o, enum foreign_kind kind, struct err_info *e)
{
    if (o->kind != FOREIGN_SCENARIO && o->kind != kind)
        return err_set(e, WH_ERR_INPUT, NULL, 0,
                       "found options of two kinds of workloads, expected one of --goal, --cm, "
                       "--simai, --astra");
    o->kind = kind;
    return 0;
}

static int set_workload(struct foreign_options *o, enum foreign_kind kind, const char *value,
                        struct err_info *e)
{
    o->workload = value;
    return set_kind(o, kind, e);
}

/* Where a value goes that is kept as it is; NULL: not such a row. */
static const char **text_slot(struct foreign_options *o, int row)
{
    switch (row) {
    case OPT_TOPO:
    case OPT_N:
        return &o->topo;
    case OPT_W:
        return &o->workload;
    case OPT_C:
        return &o->conf;
    case OPT_SYSTEM:
        return &o->system;
    case OPT_LOGICAL:
        return &o->logical;
    case OPT_NETWORK:
        return &o->network;
    case OPT_GROUPS:
        return &o->groups;
    case OPT_MEMORY:
        return &o->memory;
    case OPT_O:
    case OPT_OUTPUT:
        return &o->out_dir;
    case OPT_EXPORT_ET:
        return &o->export_et;
    case OPT_EXPORT_GOAL:
        return &o->export_goal;
    case OPT_EXPORT_FLOWS:
        return &o->export_flows;
    default:
        return NULL;
    }
}

static int take_kind(struct foreign_options *o, int row, const char *value, struct err_info *e)
{
    switch (row) {
    case OPT_GOAL:
        return set_workload(o, FOREIGN_GOAL, value, e);
    case OPT_CM:
    case OPT_TM:
        return set_workload(o, FOREIGN_CM, value, e);
    case OPT_SIMAI:
        return set_kind(o, FOREIGN_SIMAI, e);
    case OPT_ASTRA:
        return set_kind(o, FOREIGN_ASTRA, e);
    default:
        return set_workload(o, FOREIGN_ASTRA, value, e);
    }
}

static int take_number(struct foreign_options *o, int row, const char *value, struct err_info *e)
{
    int is_on = 0, rc;

    switch (row) {
    case OPT_COMM_SCALE:
        return take_scale(row, value, &o->comm_scale, e);
    case OPT_COMPUTE_SCALE:
        return take_scale(row, value, &o->compute_scale, e);
    case OPT_CHANNELS:
        return take_uint(row, value, 1, COLL_CHANNELS_MAX, &o->channels, e);
    case OPT_NODES:
        return take_uint(row, value, 1, UINT32_MAX, &o->nodes, e);
    case OPT_PAYLOAD:
        return take_uint(row, value, 1, 65000, &o->payload_bytes, e);
    case OPT_FCT_CSV:
        return take_yes_no(row, value, &o->fct_csv, e);
    default:
        rc = take_yes_no(row, value, &is_on, e);
        o->skip_ctrl_deps = !is_on;
        return rc;
    }
}

static int take_row(struct foreign_options *o, int row, const char *value, struct err_info *e)
{
    const char **slot = text_slot(o, row);

    if (row >= OPT_ACCEL)
        return accel_parse((enum accel_row)(row - OPT_ACCEL), value, &o->engine.accel, e);
    if (slot) {
        *slot = value;
        return 0;
    }
    switch (row) {
    case OPT_HELP:
        return OPTIONS_HELP;
    case OPT_GOAL:
    case OPT_CM:
    case OPT_TM:
    case OPT_SIMAI:
    case OPT_ASTRA:
    case OPT_WORKLOAD:
        return take_kind(o, row, value, e);
    case OPT_LOGGOPS:
        return take_loggops((char *)(uintptr_t)value, o, e);
    case OPT_SET:
        return take_set((char *)(uintptr_t)value, o, e);
    case OPT_SEED:
        return take_seed(value, o, e);
    case OPT_END:
        return take_end(value, o, e);
    case OPT_CC:
        return take_cc(value, o, e);
    case OPT_PROGRESS:
        return take_progress(value, o, e);
    case OPT_QUIET:
        o->quiet = 1;
        return 0;
    case OPT_FINISHED:
        o->finished_lines = 1;
        return 0;
    case OPT_EXPLAIN:
        o->explains = 1;
        return 0;
    case OPT_THREADS:
        return engine_parse_threads(value, &o->engine, e);
    case OPT_ENGINE:
        return engine_parse_kind(value, &o->engine, e);
    case OPT_T:
    case OPT_LOGGING:
    case OPT_QUEUES:
    case OPT_INJECTION_SCALE:
    case OPT_RENDEZVOUS:
        o->ignored = o->ignored ? o->ignored : rows[row].name;
        return 0;
    default:
        return take_number(o, row, value, e);
    }
}

/* ---- the whole ---- */

static int check_given(const struct foreign_options *o, struct err_info *e)
{
    const char *missing = NULL;

    if (!o->workload)
        missing = o->kind == FOREIGN_ASTRA   ? "--workload-configuration=PREFIX"
                  : o->kind == FOREIGN_SIMAI ? "-w WORKLOAD"
                                             : "a scenario file";
    else if (o->kind == FOREIGN_SIMAI && !o->topo)
        missing = "-n TOPOLOGY";
    else if (o->kind == FOREIGN_ASTRA && !o->topo && !o->network)
        missing = "--network-configuration=FILE or --topo FILE";
    else if ((o->kind == FOREIGN_GOAL || o->kind == FOREIGN_CM) && !o->topo)
        missing = "--topo NETWORK";
    if (missing)
        return err_set(e, WH_ERR_INPUT, NULL, 0, "found no %s, expected one (see --help)", missing);
    if (o->kind == FOREIGN_ASTRA && o->topo && o->network)
        return err_set(e, WH_ERR_INPUT, NULL, 0,
                       "found --topo %s and --network-configuration %s, expected one network",
                       o->topo, o->network);
    if ((o->export_et || o->export_goal) && (o->kind == FOREIGN_GOAL || o->kind == FOREIGN_CM))
        return err_set(e, WH_ERR_INPUT, NULL, 0,
                       "found --export-et or --export-goal with a schedule or a connection matrix, "
                       "expected a workload of a scenario, SimAI or ASTRA-sim");
    return 0;
}

static int take_words(int argc, char **argv, int first, struct foreign_options *o,
                      struct err_info *e)
{
    if (first == argc)
        return 0;
    if (o->kind != FOREIGN_SCENARIO || argc - first > 1)
        return err_set(e, WH_ERR_INPUT, NULL, 0, "found an extra argument '%s', expected options",
                       argv[argc - 1]);
    o->workload = argv[first];
    return 0;
}

/* Also behind an option that wants a value: "run --goal --help". */
static int is_help_asked(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "--help"))
            return 1;
    return 0;
}

int foreign_parse(int argc, char **argv, struct foreign_options *o, struct err_info *e)
{
    const char *value = NULL;
    int first = argc, row, rc;

    *o = (struct foreign_options){.compute_scale = 1, .comm_scale = 1, .end_ps = -1, .fct_csv = 1};
    run_goal_options_init(&o->goal);
    engine_options_init(&o->engine);
    if (is_help_asked(argc, argv))
        return OPTIONS_HELP;
    for (int begin = 1;; begin = 0) {
        row = options_next(argc, argv, rows, OPT_COUNT, begin, &value, &first, e);
        if (row < 0)
            break;
        rc = take_row(o, row, value, e);
        if (rc)
            return rc;
    }
    if (row == -2 || accel_check(&o->engine.accel, e))
        return WH_ERR_INPUT;
    rc = take_words(argc, argv, first, o, e);
    return rc ? rc : check_given(o, e);
}
