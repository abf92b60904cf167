/*
 * perturb.h - disturbances too small to mean anything: what differs between the runs of which the
 * noise floor is made.
 *
 * Flows of a list start up to 99 ns later, each by a draw of its own; in a workload the ranks do,
 * and what follows them is the workload's own doing. Where a draw decides what happens to a packet
 * (random marks that the congestion control obeys, losses on the wire), the seed differs too.
 * Threading: pure functions on caller-owned data.
 */
#ifndef WH_PERTURB_H
#define WH_PERTURB_H

#include "dag.h"
#include "scenario.h"

#define PERTURB_SHIFT_NS_MAX 99

/* One disturbance. Run 0 is the undisturbed one: all shifts are 0, the seed is the scenario's. */
struct perturb {
    uint64_t seed; /* of the scenario: what the draws depend on, besides the run */
    uint32_t run;
    int64_t step_ps; /* shifts are multiples of this, so that times stay what the engine rounds to
                      */
};

struct perturb perturb_of(const struct scenario *sc, uint32_t run);

/* perturb_shift_ps - of flow or rank @row: 0 to 99 ns, all steps equally likely. */
int64_t perturb_shift_ps(const struct perturb *p, uint64_t row);

/* perturb_draws - packets of @sc meet random draws. @sc still has its topology. */
int perturb_draws(const struct scenario *sc);

/* perturb_scenario - shifts the flows of @sc, which still has its topology, and sets its seed. */
void perturb_scenario(const struct perturb *p, struct scenario *sc);

/* A program whose ranks begin late: in front of the operations of each stream stands a computation
 * as long as the rank's shift. Must not move while the DAG exists. */
struct perturb_program {
    struct perturb p;
    struct dag_program inner;
    uint32_t stream_count;
    uint8_t *has_begun; /* shape: [rank][stream], owned */
};

/*
 * perturb_program_init - puts itself between the program of @spec and its DAG.
 * Returns: 0 or WH_ERR_NOMEM, @spec is then as before. Release with perturb_program_fini, also if
 * it was never initialised but zeroed.
 */
int perturb_program_init(struct perturb_program *w, const struct perturb *p,
                         struct dag_spec *spec) WH_MUST_CHECK;
void perturb_program_fini(struct perturb_program *w);

#endif
