/*
 * options.h - command lines, parsed into plain structs.
 *
 * Strings point into argv. Every function returns 0, OPTIONS_HELP if --help was given, or
 * WH_ERR_INPUT with a sentence in @e.
 * Threading: getopt keeps its state in the process; one thread parses at a time.
 */
#ifndef WH_OPTIONS_H
#define WH_OPTIONS_H

#include "engine_options.h"

#include <stdint.h>

#define OPTIONS_HELP 1
#define OPTIONS_SETS_MAX 128 /* --set on one command line */
#define OPTIONS_DEFAULT_DIR "wormhole-out"

/* --set KEY=VALUE; the same layout as the override structs of the readers. */
struct option_set {
    const char *key, *value;
};

enum progress_mode { PROGRESS_AUTO, PROGRESS_OFF, PROGRESS_JSON };

/* What run, check and noise share: where the scenario comes from, and what is overridden. */
struct input_options {
    const char *scenario;   /* YAML file, NULL with --hpcc */
    const char *hpcc;       /* configuration file, else NULL */
    const char *paths_file; /* NULL: ECMP */
    struct option_set sets[OPTIONS_SETS_MAX];
    uint32_t set_count;
    const char *seed_text; /* NULL: from the scenario */
    uint64_t seed;
    int64_t end_ps; /* -1: from the scenario */
};

struct run_options {
    struct input_options in;
    const char *out_dir; /* NULL: not given */
    int fct_csv;         /* 0: --fct-csv no */
    struct engine_options engine;
    int explains; /* --explain */
    int quiet;
    enum progress_mode progress;
};

#define OPTIONS_NOISE_RUNS_MAX 1000

struct noise_options {
    struct input_options in;
    const char *out_dir; /* NULL: not given */
    int64_t run_count;   /* disturbed ones, 1..OPTIONS_NOISE_RUNS_MAX */
    struct engine_options engine;
    int quiet;
    enum progress_mode progress;
};

#define OPTIONS_THREAD_COUNTS_MAX 16
#define OPTIONS_REPETITIONS_MAX 100

struct scaling_options {
    struct input_options in;
    uint32_t threads[OPTIONS_THREAD_COUNTS_MAX]; /* shape: [thread_count], rising, from 1 */
    uint32_t thread_count;
    int64_t repetitions; /* timed ones, 1..OPTIONS_REPETITIONS_MAX */
    int checks_engine;   /* the serial engine too */
    uint32_t shards;     /* as in struct sim_engine */
    struct accel_options accel;
    const char *json_path, *svg_path; /* NULL: not asked for */
    int quiet;
};

struct compare_options {
    const char *a, *b;
    int json;
    int ignores_starts;       /* pair flows by order instead */
    const char *noise;        /* noise.json or its folder; NULL: none */
    double max_mean, max_p99; /* ratios; < 0: no limit */
};

int options_parse_run(int argc, char **argv, struct run_options *o,
                      struct err_info *e) WH_MUST_CHECK;
int options_parse_check(int argc, char **argv, struct input_options *o,
                        struct err_info *e) WH_MUST_CHECK;
int options_parse_noise(int argc, char **argv, struct noise_options *o,
                        struct err_info *e) WH_MUST_CHECK;
int options_parse_scaling(int argc, char **argv, struct scaling_options *o,
                          struct err_info *e) WH_MUST_CHECK;
int options_parse_compare(int argc, char **argv, struct compare_options *o,
                          struct err_info *e) WH_MUST_CHECK;

/* One row of a table of options that take a value or none: for commands with many of them. */
struct option_row {
    const char *name; /* without dashes; "-name" and "--name" are both accepted */
    int has_value;
};

/*
 * options_next - the next option of @rows in argv. getopt's order: options and words may mix.
 * @begin: 1 on the first call for a command line
 * Returns: row number, with *value set (NULL without one); -1 at the end, *first_word is then the
 * index of the first word in argv; -2 refused, with a sentence in @e.
 */
int options_next(int argc, char **argv, const struct option_row *rows, uint32_t row_count,
                 int begin, const char **value, int *first_word, struct err_info *e) WH_MUST_CHECK;

/* Whole numbers in lo..hi; @what names the option in the message. */
int options_parse_integer(const char *what, const char *text, int64_t lo, int64_t hi, int64_t *out,
                          struct err_info *e) WH_MUST_CHECK;

#endif
