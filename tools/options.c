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

static int parse_engine(const char *text, struct err_info *e)
{
    if (strcmp(text, "serial"))
        return err_set(e, WH_ERR_INPUT, NULL, 0, "--engine: found '%s', expected serial", text);
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

/* Options of run; check takes the first CHECK_ROWS of them. */
enum {
    RUN_HELP,
    RUN_HPCC,
    RUN_PATHS,
    RUN_SET,
    RUN_SEED,
    RUN_END,
    CHECK_ROWS,
    RUN_OUT = CHECK_ROWS,
    RUN_OUTPUT,
    RUN_THREADS,
    RUN_ENGINE,
    RUN_FCT_CSV,
    RUN_QUIET,
    RUN_PROGRESS,
    RUN_ROWS
};
static const struct option_row run_rows[RUN_ROWS] = {
    [RUN_HELP] = {"help", 0},
    [RUN_HPCC] = {"hpcc", 1},
    [RUN_PATHS] = {"paths", 1},
    [RUN_SET] = {"set", 1},
    [RUN_SEED] = {"seed", 1},
    [RUN_END] = {"end", 1},
    [RUN_OUT] = {"o", 1},
    [RUN_OUTPUT] = {"output", 1},
    [RUN_THREADS] = {"threads", 1},
    [RUN_ENGINE] = {"engine", 1},
    [RUN_FCT_CSV] = {"fct-csv", 1},
    [RUN_QUIET] = {"quiet", 0},
    [RUN_PROGRESS] = {"progress", 1},
};

static int apply_input(int row, const char *value, struct input_options *o, struct err_info *e)
{
    switch (row) {
    case RUN_HPCC:
        o->hpcc = value;
        return 0;
    case RUN_PATHS:
        o->paths_file = value;
        return 0;
    case RUN_SET:
        return parse_set((char *)(uintptr_t)value, o, e);
    case RUN_SEED:
        return parse_seed(value, o, e);
    case RUN_END:
        return parse_end(value, o, e);
    default:
        return OPTIONS_HELP;
    }
}

static int apply_run(int row, const char *value, struct run_options *o, struct err_info *e)
{
    switch (row) {
    case RUN_OUT:
    case RUN_OUTPUT:
        o->out_dir = value;
        return 0;
    case RUN_THREADS:
        return options_parse_integer("--threads", value, 1, 4096, &o->threads, e);
    case RUN_ENGINE:
        return parse_engine(value, e);
    case RUN_FCT_CSV:
        return parse_yes_no("--fct-csv", value, &o->fct_csv, e);
    case RUN_QUIET:
        o->quiet = 1;
        return 0;
    case RUN_PROGRESS:
        return parse_progress(value, &o->progress, e);
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
    o->threads = 1;
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
    if (row == -2)
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
    const int rc = parse_run_rows(argc, argv, CHECK_ROWS, &all, e);

    *o = all.in;
    return rc;
}

static int parse_limit(const char *what, const char *text, double *out, struct err_info *e)
{
    if (units_parse_ratio(text, out) || *out < 0)
        return err_set(e, WH_ERR_INPUT, NULL, 0, "%s: found '%s', expected a limit such as 2%%",
                       what, text);
    return 0;
}

int options_parse_compare(int argc, char **argv, struct compare_options *o, struct err_info *e)
{
    enum { HELP, JSON, MAX_MEAN, MAX_P99, ROWS };
    static const struct option_row rows[ROWS] = {[HELP] = {"help", 0},
                                                 [JSON] = {"json", 0},
                                                 [MAX_MEAN] = {"max-mean", 1},
                                                 [MAX_P99] = {"max-p99", 1}};
    const char *value = NULL;
    int first = argc, row, rc = 0;

    *o = (struct compare_options){.max_mean = -1, .max_p99 = -1};
    for (int begin = 1;; begin = 0) {
        row = options_next(argc, argv, rows, ROWS, begin, &value, &first, e);
        if (row < 0)
            break;
        if (row == HELP)
            return OPTIONS_HELP;
        if (row == JSON)
            o->json = 1;
        else if (row == MAX_MEAN)
            rc = parse_limit("--max-mean", value, &o->max_mean, e);
        else
            rc = parse_limit("--max-p99", value, &o->max_p99, e);
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
