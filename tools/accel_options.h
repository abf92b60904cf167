/*
 * accel_options.h - skipping and the memo on the command line: --steady, --memo and their
 * relatives, the same for all commands that take them. Threading: one thread.
 */
#ifndef WH_ACCEL_OPTIONS_H
#define WH_ACCEL_OPTIONS_H

#include "accel.h"

/* For the format string of fprintf. */
#define ACCEL_OPTIONS_HELP                                                                         \
    "  --steady, --no-steady  skip what does not change [skip; not with --hpcc]\n"                 \
    "  --error-budget P       share of a flow completion time that skipping may cost [1%%]\n"      \
    "  --steady-rule own|paper   what counts as steady [own]; of the paper's rule --theta P "      \
    "[5%%]\n"                                                                                      \
    "                         and --paper-samples N [2000]; of ours, for sensitivity tables,\n"    \
    "                         --steady-window TIME, --steady-kappa X|none, --steady-eps P\n"       \
    "  --memo exact|fcg|off, --no-memo   what has happened before is not simulated again; with\n"  \
    "                         exact results are the same, with fcg what is like it counts too\n"   \
    "                         [exact; off with --hpcc]\n"                                          \
    "  --memo-size BYTES      of the memo, in memory [1GiB]\n"

#define ACCEL_FILE_HELP                                                                            \
    "  --memo-file FILE       keep the memo in a file, for further runs; see wormhole memo\n"      \
    "  --audit P              share of skips and of episodes from the memo that are also "         \
    "executed, "                                                                                   \
    "to\n"                                                                                         \
    "                         estimate the error; results stay the same, 0..100%% [0]\n"

/* Rows of a command's table of options. Those from ACCEL_FILE on are for commands that run once. */
enum accel_row {
    ACCEL_STEADY,
    ACCEL_NO_STEADY,
    ACCEL_BUDGET,
    ACCEL_RULE,
    ACCEL_THETA,
    ACCEL_SAMPLES,
    ACCEL_WINDOW,
    ACCEL_KAPPA,
    ACCEL_EPS,
    ACCEL_MEMO,
    ACCEL_NO_MEMO,
    ACCEL_SIZE,
    ACCEL_FILE,
    ACCEL_AUDIT,
    ACCEL_ROWS,
    ACCEL_BENCH_ROWS = ACCEL_FILE
};

/* clang-format off */
/* Initialisers of the rows from @first on. */
#define ACCEL_BENCH_OPTION_ROWS(first)                                                             \
    [(first) + ACCEL_STEADY] = {"steady", 0},                                                      \
    [(first) + ACCEL_NO_STEADY] = {"no-steady", 0},                                                \
    [(first) + ACCEL_BUDGET] = {"error-budget", 1},                                                \
    [(first) + ACCEL_RULE] = {"steady-rule", 1},                                                   \
    [(first) + ACCEL_THETA] = {"theta", 1},                                                        \
    [(first) + ACCEL_SAMPLES] = {"paper-samples", 1},                                              \
    [(first) + ACCEL_WINDOW] = {"steady-window", 1},                                               \
    [(first) + ACCEL_KAPPA] = {"steady-kappa", 1},                                                 \
    [(first) + ACCEL_EPS] = {"steady-eps", 1},                                                     \
    [(first) + ACCEL_MEMO] = {"memo", 1},                                                          \
    [(first) + ACCEL_NO_MEMO] = {"no-memo", 0},                                                    \
    [(first) + ACCEL_SIZE] = {"memo-size", 1}
#define ACCEL_OPTION_ROWS(first)                                                                   \
    ACCEL_BENCH_OPTION_ROWS(first),                                                                \
    [(first) + ACCEL_FILE] = {"memo-file", 1},                                                     \
    [(first) + ACCEL_AUDIT] = {"audit", 1}
/* clang-format on */

enum accel_choice { ACCEL_BY_INPUT, ACCEL_OFF, ACCEL_ON };

struct accel_options {
    enum accel_choice steady, memo;
    enum memo_lens lens;
    struct detect_spec spec; /* zeroes: the defaults */
    int64_t memo_bytes_max;  /* 0: the default */
    const char *memo_path;   /* NULL: none */
    double audit_share;
    uint32_t given; /* bit of each enum accel_row that was on the command line */
};

/* accel_options_off - neither skipping nor a memo, unless an option asks for one. */
void accel_options_off(struct accel_options *o);

/* accel_parse - the value (NULL without one) of an option. Errors: WH_ERR_INPUT. */
int accel_parse(enum accel_row row, const char *value, struct accel_options *o,
                struct err_info *e) WH_MUST_CHECK;

/* accel_check - after the last one: options that exclude each other. Errors: WH_ERR_INPUT. */
int accel_check(const struct accel_options *o, struct err_info *e) WH_MUST_CHECK;

/* accel_is_asked - something of it was asked for, not only taken by default. */
int accel_is_asked(const struct accel_options *o);

/*
 * accel_resolve - what a run of @sc gets.
 * @out: threads are left alone
 */
void accel_resolve(const struct accel_options *o, const struct scenario *sc,
                   struct accel_spec *out);

const char *accel_rule_name(enum detect_rule r);  /* "own", "paper" */
const char *accel_lens_name(enum memo_lens lens); /* "exact", "fcg" */

#endif
