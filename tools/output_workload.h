/*
 * output_workload.h - a training workload in summary.json and on the terminal.
 */
#ifndef WH_OUTPUT_WORKLOAD_H
#define WH_OUTPUT_WORKLOAD_H

#include "workload_run.h"

#include <jansson.h>

/* output_workload_json - the object "workload" of summary.json; NULL without memory. */
json_t *output_workload_json(const struct workload_figures *f);

/* output_workload_table - a few lines for people. */
void output_workload_table(FILE *out, const struct workload_figures *f);

#endif
