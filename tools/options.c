/*
 * options.c - see options.h. All tables go through getopt_long_only, so that the one-dash words
 * that users of other tools know by heart ("-gps 8") work beside "--gps 8".
 */
#include "options.h"

#include "units.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define OPTION_ROWS_MAX 64

/* The option that getopt stumbled over, as typed. */
static const char *refused_word(int argc, char **argv)
{
    const int at = optind - 1;

    return at > 0 && at < argc ? argv[at] : "";
}

static int refuse_option(int argc, char **argv, int code, struct err_info *e)
{
    const char *word = refused_word(argc, argv);

    if (code == ':')
        err_set(e, WH_ERR_INPUT, NULL, 0, "found option '%s' without a value, expected one", word);
    else if (strchr(word, '='))
        err_set(e, WH_ERR_INPUT, NULL, 0,
                "found '%s', expected a known option, and a value only "
                "where it takes one (see --help)",
                word);
    else
        err_set(e, WH_ERR_INPUT, NULL, 0,
                "found unknown or ambiguous option '%s', expected one of "
                "those that --help lists",
                word);
    return -2;
}

int options_next(int argc, char **argv, const struct option_row *rows, uint32_t row_count,
                 int begin, const char **value, int *first_word, struct err_info *e)
{
    struct option table[OPTION_ROWS_MAX + 1] = {0};
    int code;

    check(row_count <= OPTION_ROWS_MAX, "%u options", row_count);
    for (uint32_t i = 0; i < row_count; i++) {
        table[i].name = rows[i].name;
        table[i].has_arg = rows[i].has_value ? required_argument : no_argument;
        table[i].val = 256 + (int)i;
    }
    if (begin)
        optind = 0; /* glibc: start over, also after another command line */
    opterr = 0;
    code = getopt_long_only(argc, argv, ":", table, NULL);
    if (code == -1) {
        *first_word = optind;
        return -1;
    }
    if (code < 256)
        return refuse_option(argc, argv, code, e);
    *value = optarg;
    return code - 256;
}

int options_parse_integer(const char *what, const char *text, int64_t lo, int64_t hi, int64_t *out,
                          struct err_info *e)
{
    int inexact = 0;
    int64_t v;

    if (units_parse_decimal(text, 0, &v, &inexact) || inexact || v < lo || v > hi)
        return err_set(e, WH_ERR_INPUT, NULL, 0,
                       "%s: found '%s', expected a whole number from "
                       "%" PRId64 " to %" PRId64,
                       what, text, lo, hi);
    *out = v;
    return 0;
}

/* Splits KEY=VALUE in place: argv is ours to change. */
static int parse_set(char *text, struct input_options *o, struct err_info *e)
{
    char *eq = strchr(text, '=');

    if (!eq || eq == text)
        return err_set(e, WH_ERR_INPUT, NULL, 0, "--set: found '%s', expected KEY=VALUE", text);
    if (o->set_count == OPTIONS_SETS_MAX)
        return err_set(e, WH_ERR_INPUT, NULL, 0, "found more than %d --set options",
                       OPTIONS_SETS_MAX);
    *eq = '\0';
    o->sets[o->set_count].key = text;
    o->sets[o->set_count].value = eq + 1;
    o->set_count++;
    return 0;
}

static int parse_seed(const char *text, struct input_options *o, struct err_info *e)
{
    int64_t v = 0;
    const int rc = options_parse_integer("--seed", text, 0, INT64_MAX, &v, e);

    if (rc)
        return rc;
    o->seed_text = text;
    o->seed = (uint64_t)v;
    return 0;
}

static int parse_end(const char *text, struct input_options *o, struct err_info *e)
{
    int64_t v;

    if (units_parse_time(text, UNITS_NO_BARE, &v) || v <= 0)
        return err_set(e, WH_ERR_INPUT, NULL, 0,
                       "--end: found '%s', expected a time after 0 with "
                       "unit, such as 10ms",
                       text);
    o->end_ps = v;
    return 0;
}

static int parse_yes_no(const char *what, const char *text, int *out, struct err_info *e)
{
    if (!strcmp(text, "yes"))
        *out = 1;
    else if (!strcmp(text, "no"))
        *out = 0;
    else
        return err_set(e, WH_ERR_INPUT, NULL, 0, "%s: found '%s', expected yes or no", what, text);
    return 0;
}

static int parse_progress(const char *text, enum progress_mode *out, struct err_info *e)
{
    static const char *const names[] = {"auto", "off", "json"};

    for (int i = 0; i < 3; i++) {
        if (!strcmp(text, names[i])) {
            *out = (enum progress_mode)i;
            return 0;
        }
    }
    return err_set(e, WH_ERR_INPUT, NULL, 0, "--progress: found '%s', expected auto, off or json",
                   text);
}

/* Options of run; check takes the first INPUT_ROWS of them; noise and bench scaling too, and have
 * others of their own. */
enum {
    INPUT_HELP,
    INPUT_HPCC,
    INPUT_PATHS,
    INPUT_SET,
    INPUT_SEED,
    INPUT_END,
    INPUT_ROWS,
    RUN_OUT = INPUT_ROWS,
    RUN_OUTPUT,
    RUN_THREADS,
    RUN_ENGINE,
    RUN_SHARDS,
    RUN_FCT_CSV,
    RUN_QUIET,
    RUN_PROGRESS,
    RUN_EXPLAIN,
    RUN_ACCEL,
    RUN_ROWS = RUN_ACCEL + ACCEL_ROWS
};
enum {
    NOISE_OUT = INPUT_ROWS,
    NOISE_OUTPUT,
    NOISE_RUNS,
    NOISE_THREADS,
    NOISE_ENGINE,
    NOISE_QUIET,
    NOISE_PROGRESS,
    NOISE_ROWS
};
enum {
    SCALING_THREADS = INPUT_ROWS,
    SCALING_REPETITIONS,
    SCALING_JSON,
    SCALING_SVG,
    SCALING_SHARDS,
    SCALING_ENGINE_CHECK,
    SCALING_QUIET,
    SCALING_ACCEL,
    SCALING_ROWS = SCALING_ACCEL + ACCEL_BENCH_ROWS
};
/* clang-format off */
#define INPUT_OPTIONS                                                                              \
    [INPUT_HELP] = {"help", 0},                                                                    \
    [INPUT_HPCC] = {"hpcc", 1},                                                                    \
    [INPUT_PATHS] = {"paths", 1},                                                                  \
    [INPUT_SET] = {"set", 1},                                                                      \
    [INPUT_SEED] = {"seed", 1},                                                                    \
    [INPUT_END] = {"end", 1}
/* clang-format on */
static const struct option_row run_rows[RUN_ROWS] = {
    INPUT_OPTIONS,
    [RUN_OUT] = {"o", 1},
    [RUN_OUTPUT] = {"output", 1},
    [RUN_THREADS] = {"threads", 1},
    [RUN_ENGINE] = {"engine", 1},
    [RUN_SHARDS] = {"shards", 1},
    [RUN_FCT_CSV] = {"fct-csv", 1},
    [RUN_QUIET] = {"quiet", 0},
    [RUN_PROGRESS] = {"progress", 1},
    [RUN_EXPLAIN] = {"explain", 0},
    ACCEL_OPTION_ROWS(RUN_ACCEL),
};
static const struct option_row noise_rows[NOISE_ROWS] = {
    INPUT_OPTIONS,
    [NOISE_OUT] = {"o", 1},
    [NOISE_OUTPUT] = {"output", 1},
    [NOISE_RUNS] = {"runs", 1},
    [NOISE_THREADS] = {"threads", 1},
    [NOISE_ENGINE] = {"engine", 1},
    [NOISE_QUIET] = {"quiet", 0},
    [NOISE_PROGRESS] = {"progress", 1},
};
static const struct option_row scaling_rows[SCALING_ROWS] = {
    INPUT_OPTIONS,
    [SCALING_THREADS] = {"threads", 1},
    [SCALING_REPETITIONS] = {"repetitions", 1},
    [SCALING_JSON] = {"json", 1},
    [SCALING_SVG] = {"svg", 1},
    [SCALING_SHARDS] = {"shards", 1},
    [SCALING_ENGINE_CHECK] = {"engine-check", 0},
    [SCALING_QUIET] = {"quiet", 0},
    ACCEL_BENCH_OPTION_ROWS(SCALING_ACCEL),
};

static int apply_input(int row, const char *value, struct input_options *o, struct err_info *e)
{
    switch (row) {
    case INPUT_HPCC:
        o->hpcc = value;
        return 0;
    case INPUT_PATHS:
        o->paths_file = value;
        return 0;
    case INPUT_SET:
        return parse_set((char *)(uintptr_t)value, o, e);
    case INPUT_SEED:
        return parse_seed(value, o, e);
    case INPUT_END:
        return parse_end(value, o, e);
    default:
        return OPTIONS_HELP;
    }
}

static int apply_run(int row, const char *value, struct run_options *o, struct err_info *e)
{
    if (row >= RUN_ACCEL)
        return accel_parse((enum accel_row)(row - RUN_ACCEL), value, &o->engine.accel, e);
    switch (row) {
    case RUN_OUT:
    case RUN_OUTPUT:
        o->out_dir = value;
        return 0;
    case RUN_THREADS:
        return engine_parse_threads(value, &o->engine, e);
    case RUN_ENGINE:
        return engine_parse_kind(value, &o->engine, e);
    case RUN_SHARDS:
        return engine_parse_shards(value, &o->engine.engine.shards, e);
    case RUN_FCT_CSV:
        return parse_yes_no("--fct-csv", value, &o->fct_csv, e);
    case RUN_QUIET:
        o->quiet = 1;
        return 0;
    case RUN_PROGRESS:
        return parse_progress(value, &o->progress, e);
    case RUN_EXPLAIN:
        o->explains = 1;
        return 0;
    default:
        return apply_input(row, value, &o->in, e);
    }
}

/* The words that are left: one scenario file, or none with --hpcc. */
static int take_scenario(int argc, char **argv, int first, struct input_options *o,
                         struct err_info *e)
{
    const int words = argc - first;

    if (words > 1)
        return err_set(e, WH_ERR_INPUT, NULL, 0,
                       "found an extra argument '%s', expected one "
                       "scenario",
                       argv[first + 1]);
    if (words == 1 && o->hpcc)
        return err_set(e, WH_ERR_INPUT, NULL, 0,
                       "found both '%s' and --hpcc %s, expected one "
                       "scenario",
                       argv[first], o->hpcc);
    if (words == 0 && !o->hpcc)
        return err_set(e, WH_ERR_INPUT, NULL, 0,
                       "found no scenario, expected a YAML file or "
                       "--hpcc FILE");
    if (o->paths_file && !o->hpcc)
        return err_set(e, WH_ERR_INPUT, NULL, 0,
                       "found --paths with a YAML scenario, expected "
                       "--hpcc FILE");
    if (words == 1)
        o->scenario = argv[first];
    return 0;
}

static void init_run(struct run_options *o)
{
    memset(o, 0, sizeof *o);
    o->in.end_ps = -1;
    o->fct_csv = 1;
    engine_options_init(&o->engine);
}

static int parse_run_rows(int argc, char **argv, uint32_t row_count, struct run_options *o,
                          struct err_info *e)
{
    const char *value = NULL;
    int first = argc;
    int row;

    init_run(o);
    for (int begin = 1;; begin = 0) {
        row = options_next(argc, argv, run_rows, row_count, begin, &value, &first, e);
        if (row < 0)
            break;
        const int rc = apply_run(row, value, o, e);
        if (rc)
            return rc;
    }
    if (row == -2 || accel_check(&o->engine.accel, e))
        return WH_ERR_INPUT;
    return take_scenario(argc, argv, first, &o->in, e);
}

int options_parse_run(int argc, char **argv, struct run_options *o, struct err_info *e)
{
    return parse_run_rows(argc, argv, RUN_ROWS, o, e);
}

int options_parse_check(int argc, char **argv, struct input_options *o, struct err_info *e)
{
    struct run_options all;
    const int rc = parse_run_rows(argc, argv, INPUT_ROWS, &all, e);

    *o = all.in;
    return rc;
}

static int apply_noise(int row, const char *value, struct noise_options *o, struct err_info *e)
{
    switch (row) {
    case NOISE_OUT:
    case NOISE_OUTPUT:
        o->out_dir = value;
        return 0;
    case NOISE_RUNS:
        return options_parse_integer("--runs", value, 1, OPTIONS_NOISE_RUNS_MAX, &o->run_count, e);
    case NOISE_THREADS:
        return engine_parse_threads(value, &o->engine, e);
    case NOISE_ENGINE:
        return engine_parse_kind(value, &o->engine, e);
    case NOISE_QUIET:
        o->quiet = 1;
        return 0;
    case NOISE_PROGRESS:
        return parse_progress(value, &o->progress, e);
    default:
        return apply_input(row, value, &o->in, e);
    }
}

int options_parse_noise(int argc, char **argv, struct noise_options *o, struct err_info *e)
{
    const char *value = NULL;
    int first = argc;
    int row;

    *o = (struct noise_options){.in.end_ps = -1, .run_count = 3};
    engine_options_init(&o->engine);
    accel_options_off(&o->engine.accel);
    for (int begin = 1;; begin = 0) {
        row = options_next(argc, argv, noise_rows, NOISE_ROWS, begin, &value, &first, e);
        if (row < 0)
            break;
        const int rc = apply_noise(row, value, o, e);
        if (rc)
            return rc;
    }
    return row == -2 ? WH_ERR_INPUT : take_scenario(argc, argv, first, &o->in, e);
}

static int apply_scaling(int row, const char *value, struct scaling_options *o, struct err_info *e)
{
    if (row >= SCALING_ACCEL)
        return accel_parse((enum accel_row)(row - SCALING_ACCEL), value, &o->accel, e);
    switch (row) {
    case SCALING_THREADS:
        return engine_parse_counts(value, o->threads, OPTIONS_THREAD_COUNTS_MAX, &o->thread_count,
                                   e);
    case SCALING_REPETITIONS:
        return options_parse_integer("--repetitions", value, 1, OPTIONS_REPETITIONS_MAX,
                                     &o->repetitions, e);
    case SCALING_JSON:
        o->json_path = value;
        return 0;
    case SCALING_SVG:
        o->svg_path = value;
        return 0;
    case SCALING_SHARDS:
        return engine_parse_shards(value, &o->shards, e);
    case SCALING_ENGINE_CHECK:
        o->checks_engine = 1;
        return 0;
    case SCALING_QUIET:
        o->quiet = 1;
        return 0;
    default:
        return apply_input(row, value, &o->in, e);
    }
}

/* The serial engine executes every packet: to be compared with it, all have to. */
static int check_scaling(struct scaling_options *o, struct err_info *e)
{
    if (o->checks_engine && accel_is_asked(&o->accel))
        return err_set(e, WH_ERR_INPUT, NULL, 0,
                       "found --engine-check with skipping or a memo, expected one of them: the "
                       "serial engine executes every packet");
    if (o->checks_engine)
        accel_options_off(&o->accel);
    return accel_check(&o->accel, e);
}

int options_parse_scaling(int argc, char **argv, struct scaling_options *o, struct err_info *e)
{
    const char *value = NULL;
    int first = argc;
    int row;

    *o = (struct scaling_options){.in.end_ps = -1, .repetitions = 5};
    o->thread_count = engine_default_counts(engine_processors(), o->threads);
    for (int begin = 1;; begin = 0) {
        row = options_next(argc, argv, scaling_rows, SCALING_ROWS, begin, &value, &first, e);
        if (row < 0)
            break;
        const int rc = apply_scaling(row, value, o, e);
        if (rc)
            return rc;
    }
    if (row == -2 || check_scaling(o, e))
        return WH_ERR_INPUT;
    return take_scenario(argc, argv, first, &o->in, e);
}

static int parse_limit(const char *what, const char *text, double *out, struct err_info *e)
{
    if (units_parse_ratio(text, out) || *out < 0)
        return err_set(e, WH_ERR_INPUT, NULL, 0, "%s: found '%s', expected a limit such as 2%%",
                       what, text);
    return 0;
}

enum {
    COMPARE_HELP,
    COMPARE_JSON,
    COMPARE_MAX_MEAN,
    COMPARE_MAX_P99,
    COMPARE_NOISE,
    COMPARE_IGNORE_STARTS,
    COMPARE_ROWS
};
static const struct option_row compare_rows[COMPARE_ROWS] = {
    [COMPARE_HELP] = {"help", 0},         [COMPARE_JSON] = {"json", 0},
    [COMPARE_MAX_MEAN] = {"max-mean", 1}, [COMPARE_MAX_P99] = {"max-p99", 1},
    [COMPARE_NOISE] = {"noise", 1},       [COMPARE_IGNORE_STARTS] = {"ignore-starts", 0}};

static int apply_compare(int row, const char *value, struct compare_options *o, struct err_info *e)
{
    switch (row) {
    case COMPARE_JSON:
        o->json = 1;
        return 0;
    case COMPARE_MAX_MEAN:
        return parse_limit("--max-mean", value, &o->max_mean, e);
    case COMPARE_MAX_P99:
        return parse_limit("--max-p99", value, &o->max_p99, e);
    case COMPARE_NOISE:
        o->noise = value;
        return 0;
    case COMPARE_IGNORE_STARTS:
        o->ignores_starts = 1;
        return 0;
    default:
        return OPTIONS_HELP;
    }
}

int options_parse_compare(int argc, char **argv, struct compare_options *o, struct err_info *e)
{
    const char *value = NULL;
    int first = argc, row;

    *o = (struct compare_options){.max_mean = -1, .max_p99 = -1};
    for (int begin = 1;; begin = 0) {
        row = options_next(argc, argv, compare_rows, COMPARE_ROWS, begin, &value, &first, e);
        if (row < 0)
            break;
        const int rc = apply_compare(row, value, o, e);
        if (rc)
            return rc;
    }
    if (row == -2)
        return WH_ERR_INPUT;
    if (argc - first != 2)
        return err_set(e, WH_ERR_INPUT, NULL, 0, "found %d arguments, expected two runs to compare",
                       argc - first);
    o->a = argv[first];
    o->b = argv[first + 1];
    return 0;
}
