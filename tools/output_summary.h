/*
 * output_summary.h - summary.json: every figure of a run, units in the names of the keys; and the
 * short table for the terminal. docs/output.md explains every key.
 */
#ifndef WH_OUTPUT_SUMMARY_H
#define WH_OUTPUT_SUMMARY_H

#include "accel.h"
#include "figures.h"
#include "out_file.h"
#include "output_logs.h"
#include "workload_run.h"

/* What a summary is made from; nothing is owned. */
struct run_record {
    const struct scenario *sc; /* its topology has gone to the simulation */
    const struct sim *s;
    const struct figures *f;
    const struct run_logs *logs;
    const struct out_set *outputs;
    const char *dir;      /* output folder */
    int is_complete;      /* 0: interrupted, or out of memory */
    double wall_s, cpu_s; /* of the simulation itself, without reading and set-up */
    int64_t peak_rss_bytes;
    const struct workload_figures *workload; /* NULL without one */
    const struct accel *accel;
    const char *why_all; /* why every packet was executed; NULL: there is nothing to say */
};

/* output_summary_json - writes the file. Returns 0 or WH_ERR_NOMEM; write errors stay in @o. */
int output_summary_json(struct out_file *o, const struct run_record *r) WH_MUST_CHECK;

/* output_summary_table - one screen for people. */
void output_summary_table(FILE *out, const struct run_record *r);

#endif
