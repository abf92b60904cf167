/*
 * foreign_report.h - what a workload of another tool did: the files of its DAG, the figures of the
 * summary, the lines that the tool itself prints.
 * Threading: one thread.
 */
#ifndef WH_FOREIGN_REPORT_H
#define WH_FOREIGN_REPORT_H

#include "foreign_load.h"
#include "workload_run.h"

/* Observer of a DAG and what it has collected. */
struct foreign_report {
    const struct foreign *f;
    const struct foreign_options *o;
    /* rows of the outputs; NULL where a kind has none */
    struct out_file *collectives, *trace_file, *ranks, *layers;
    struct coll_trace trace;
    struct coll_classes classes;
    struct llm_spec one; /* for the summary: a single iteration */
    struct rank_times *rank_times;
    double iteration_s;
    FILE *table; /* nccl-tests' lines, of a MICRO table; NULL: none */
    uint64_t table_rows;
    double busbw_sum;
    int rc; /* first failure of the observer */
};

/* foreign_report_begin - before dag_create; sets spec->observer. */
void foreign_report_begin(struct foreign_report *r, struct dag_spec *spec);
void foreign_report_fini(struct foreign_report *r);

/* foreign_report_finish - completes the files. Returns 0, WH_ERR_IO or WH_ERR_NOMEM. */
int foreign_report_finish(struct foreign_report *r, const struct dag *d) WH_MUST_CHECK;

/* foreign_report_figures - for the summary; valid until foreign_report_fini. */
int foreign_report_figures(struct foreign_report *r, const struct dag *d,
                           struct workload_figures *out) WH_MUST_CHECK;

/* foreign_report_lines - end times of hosts (GOAL), connections (htsim), ranks (ASTRA-sim). */
void foreign_report_lines(const struct foreign_report *r, const struct dag *d, FILE *out);

#endif
