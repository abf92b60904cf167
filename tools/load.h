/*
 * load.h - from command-line options to a scenario; shared by run and check.
 */
#ifndef WH_LOAD_H
#define WH_LOAD_H

#include "options.h"
#include "scenario.h"

#include <stdio.h>

/* load_scenario - reads the scenario and applies --set, --seed, --end. @sc: initialised by the
 * caller. */
int load_scenario(const struct input_options *o, struct scenario *sc, const struct warn_sink *sink,
                  struct err_info *e) WH_MUST_CHECK;

/* load_warning - a warn_sink function; @ctx is the FILE to print on. */
void load_warning(void *ctx, const char *text);

/* load_exit_code - prints the refusal on @err and gives the exit code: 2, or 1 if memory ran out.
 */
int load_exit_code(int rc, const struct err_info *e, FILE *err);

#endif
