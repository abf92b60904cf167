/*
 * bare_run.h - a run that writes no files: a scenario, its simulation and its workload, for the
 * commands that run a scenario several times.
 *
 * Life: bare_run_init -> load_scenario into sc -> bare_run_make -> bare_run_execute -> results from
 * s and workload -> bare_run_fini, which may follow any of them.
 * Threading: one thread.
 */
#ifndef WH_BARE_RUN_H
#define WH_BARE_RUN_H

#include "engine_options.h"
#include "workload_run.h"

struct bare_run {
    struct scenario sc;
    struct sim *s; /* owned; NULL before bare_run_make */
    struct accel accel;
    struct workload_run *workload; /* owned; NULL: the scenario has none */
};

struct bare_run_options {
    const struct engine_options *engine;
    const struct perturb *shift; /* of a workload's ranks; copied; NULL: none */
    struct warn_sink sink;
    int (*poll)(void *ctx, struct sim *s); /* as sim_hooks.on_poll */
    void *poll_ctx;
};

void bare_run_init(struct bare_run *r);
void bare_run_fini(struct bare_run *r);

/* bare_run_make - the simulation, polled, and the workload on it. Errors: as scenario_make_sim. */
int bare_run_make(struct bare_run *r, const struct bare_run_options *o,
                  struct err_info *e) WH_MUST_CHECK;

/* bare_run_execute - to the end. Errors: as sim_run and dag_run; interrupted without a start if a
 * signal came before it. */
int bare_run_execute(struct bare_run *r, struct err_info *e) WH_MUST_CHECK;

#endif
