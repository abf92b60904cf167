/*
 * bare_run.c - see bare_run.h.
 */
#include "bare_run.h"

#include "stop.h"
#include "units.h"

void bare_run_init(struct bare_run *r)
{
    *r = (struct bare_run){.s = NULL};
    scenario_init(&r->sc);
}

void bare_run_fini(struct bare_run *r)
{
    workload_run_destroy(r->workload);
    sim_destroy(r->s);
    accel_fini(&r->accel);
    scenario_fini(&r->sc);
}

int bare_run_make(struct bare_run *r, const struct bare_run_options *o, struct err_info *e)
{
    const struct sim_hooks hooks = {.ctx = o->poll_ctx, .on_poll = o->poll};
    const int rc = engine_make_sim(&r->sc, o->engine, &o->sink, &r->accel, &r->s, e);

    if (rc)
        return rc;
    sim_set_hooks(r->s, &hooks);
    if (!r->sc.llm)
        return 0;
    return workload_run_create(
        &r->workload,
        &(struct workload_request){
            .sc = &r->sc, .s = r->s, .shift = o->shift, .poll = o->poll, .poll_ctx = o->poll_ctx},
        e);
}

int bare_run_execute(struct bare_run *r, struct err_info *e)
{
    if (stop_is_asked())
        return WH_ERR_INTERRUPTED;
    return r->workload ? workload_run_execute(r->workload, r->s, e) : sim_run(r->s, TIME_NEVER);
}
