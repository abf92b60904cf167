/*
 * steady.h - the steady-state detector as the engine wants it: the operations of core/watch.h.
 *
 *     struct steady s;
 *     steady_init(&s, &spec, &err) -> steady_ops(&s, &ops) -> sim_set_watch(sim, &ops)
 *
 * @s must outlive the simulation, and holds nothing that changes: any number of simulations may
 * share it. Threading: as watch.h says.
 */
#ifndef WH_STEADY_H
#define WH_STEADY_H

#include "detect.h"
#include "watch.h"

struct steady {
    struct detect_params params;
};

/* Skips are whole nanoseconds: INT counts them. */
#define STEADY_QUANTUM_PS 1000

/*
 * steady_init - from the model's configuration and what the user asked for.
 * @cfg: gives the congestion control, its additive increase and its timer
 * @spec: the user's part; fields that @cfg decides are overwritten
 * Errors: WH_ERR_INPUT (with @e): a value out of its range.
 */
int steady_init(struct steady *s, const struct sim_config *cfg, const struct detect_spec *spec,
                struct err_info *e) WH_MUST_CHECK;

void steady_ops(struct steady *s, struct watch_ops *out);

#endif
