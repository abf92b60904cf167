/*
 * workload_run.h - a training workload on a simulation: what it does, what came out of it.
 * Threading: one thread.
 */
#ifndef WH_WORKLOAD_RUN_H
#define WH_WORKLOAD_RUN_H

#include "coll_report.h"
#include "llm.h"
#include "out_file.h"
#include "perturb.h"
#include "scenario.h"

struct workload_run;

struct workload_outputs {
    struct out_file *collectives, *trace; /* collectives.csv, trace.json; NULL: not written */
};

struct workload_request {
    const struct scenario *sc;     /* with a workload; its topology has gone to the simulation */
    const struct sim *s;           /* whose network it runs on */
    struct workload_outputs files; /* must stay open until workload_run_finish */
    const struct perturb *shift;   /* of the ranks' starts; copied; NULL: none */
    int (*poll)(void *ctx, struct sim *s); /* as sim_hooks.on_poll */
    void *poll_ctx;
};

/* workload_run_create - ready to execute; @r is not needed afterwards. Errors: WH_ERR_INPUT,
 * WH_ERR_NOMEM. */
int workload_run_create(struct workload_run **out, const struct workload_request *r,
                        struct err_info *e) WH_MUST_CHECK;
void workload_run_destroy(struct workload_run *w); /* NULL is accepted */

/* workload_run_execute - all iterations; errors as dag_run. */
int workload_run_execute(struct workload_run *w, struct sim *s, struct err_info *e) WH_MUST_CHECK;

/* workload_run_finish - completes the files. Returns 0 or WH_ERR_IO, WH_ERR_NOMEM. */
int workload_run_finish(struct workload_run *w) WH_MUST_CHECK;

/* What to report; valid until workload_run_destroy. */
struct workload_figures {
    const struct llm_spec *spec;
    uint32_t rank_count;
    uint32_t iterations_done;
    double iteration_time_s;        /* mean of the finished ones, < 0 without any */
    const double *iteration_s;      /* shape: [iterations_done] */
    const struct rank_times *ranks; /* shape: [rank_count] */
    struct rank_times mean;         /* over the ranks; end_ps: the latest */
    struct dag_counters counters;
    const struct coll_classes *classes;
    uint64_t trace_left_out; /* events */
};
void workload_run_figures(struct workload_run *w, struct workload_figures *out);

/* workload_run_blocked - prints who waits for what, a few sentences. */
void workload_run_blocked(const struct workload_run *w, FILE *err);

/* workload_print_counts - what an iteration sends, as comments of a scenario file. @sc still has
 * its topology. */
int workload_print_counts(const struct scenario *sc, FILE *out, struct err_info *e) WH_MUST_CHECK;

#endif
