/*
 * engine_options.h - how a run is executed: --threads and --engine of all commands that simulate,
 * skipping and the memo of those that take them (accel_options.h), and the one place where they
 * reach a simulation. Whatever threads, engine and memo are, the results are the same.
 * Threading: one thread.
 */
#ifndef WH_ENGINE_OPTIONS_H
#define WH_ENGINE_OPTIONS_H

#include "accel_options.h"
#include "scenario.h"

#include <stdio.h>

#define ENGINE_OPTIONS_HELP                                                                        \
    "  --threads N|auto       threads, 1 to 64; auto: one for each processor that this process\n"  \
    "                         may use [auto]\n"                                                    \
    "  --engine partitioned|serial   parts of the network that cannot meet are simulated apart,\n" \
    "                         or all in turn, on one thread [partitioned]. Results are the same\n" \
    "  --shards auto|N        cut parts too large for one thread into at most N shards, 1 to "     \
    "256,\n"                                                                                       \
    "                         even where it does not pay; 1: never [auto]. For measurements\n"

struct engine_options {
    struct sim_engine engine;
    int is_threads_given, is_engine_given; /* on the command line */
    struct accel_options accel;
    int has_logs; /* which need every packet */
};

/* engine_options_init - what holds without options: partitioned, a thread for each processor,
 * skipping and memo by the kind of input. */
void engine_options_init(struct engine_options *o);

/* engine_processors - those that this process may use, at most SIM_THREADS_MAX. */
uint32_t engine_processors(void);

/* engine_parse_threads, engine_parse_kind - the value of an option. Errors: WH_ERR_INPUT. */
int engine_parse_threads(const char *text, struct engine_options *o,
                         struct err_info *e) WH_MUST_CHECK;
int engine_parse_kind(const char *text, struct engine_options *o, struct err_info *e) WH_MUST_CHECK;
/* engine_parse_shards - @shards as in struct sim_engine, 0 for auto. Errors: WH_ERR_INPUT. */
int engine_parse_shards(const char *text, uint32_t *shards, struct err_info *e) WH_MUST_CHECK;

/*
 * engine_parse_counts - "1,2,4": numbers of threads, in any order.
 * @counts: shape [*count], rising, without repetitions, 1 always among them; at most @cap
 * Errors: WH_ERR_INPUT.
 */
int engine_parse_counts(const char *text, uint32_t *counts, uint32_t cap, uint32_t *count,
                        struct err_info *e) WH_MUST_CHECK;

/* engine_default_counts - 1, 2, 4, ... up to @processors, and @processors itself. Returns how many,
 * at most 8. */
uint32_t engine_default_counts(uint32_t processors, uint32_t *counts);

const char *engine_kind_name(enum engine_kind k); /* "partitioned", "serial" */

/*
 * engine_make_sim - scenario_make_sim, executed as @o says.
 * @a: zeroed; NULL: nothing is skipped or remembered. accel_fini after sim_destroy, also after a
 * failure.
 */
int engine_make_sim(struct scenario *sc, const struct engine_options *o,
                    const struct warn_sink *sink, struct accel *a, struct sim **out,
                    struct err_info *e) WH_MUST_CHECK;

/* engine_why_all - a clause that says why such a run executes every packet although @o and the kind
 * of input say otherwise; NULL: it does not. */
const char *engine_why_all(const struct engine_options *o, const struct scenario *sc);

/* engine_say_all - says engine_why_all, if there is something to say. */
void engine_say_all(const struct engine_options *o, const struct scenario *sc, FILE *err);

/* engine_say_serial - after a run: says so if it was serial although something else was asked for.
 */
void engine_say_serial(const struct engine_options *o, const struct sim *s, FILE *err);

#endif
