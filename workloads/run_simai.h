/*
 * run_simai.h - SimAI workload tables on the packet engine.
 *
 * All ranks run the same table, each in its own groups. HYBRID and other training policies: forward
 * through all layers (compute, then the collective, which is waited for), then backward from the
 * last layer: recomputation where a checkpoint says so, gradient of the weights, whose collective
 * runs beside what follows and is waited for at the end, gradient of the input with its
 * collective. The collectives of weight gradients run one after the other. DISTRIBUTED_INFERENCE is
 * the forward pass alone. MICRO: the weight-gradient columns row by row, each on a quiet network.
 */
#ifndef WH_RUN_SIMAI_H
#define WH_RUN_SIMAI_H

#include "run_job.h"
#include "simai.h"

struct run_simai_options {
    uint32_t gpus_per_server;              /* of the topology; 0: by its NVLink-like switches */
    uint32_t channels;                     /* 0: as many as the group has rails */
    enum coll_algo algo[SIMAI_COMM_COUNT]; /* COLL_AUTO: ring, all-to-all direct */
};

/*
 * run_simai_init - @w on the GPUs of @t.
 * @w: fitted (simai_workload_fit)
 * @j: zeroed by the caller; run_job_fini also after a failure
 * Errors: WH_ERR_INPUT (a policy that is not executed), WH_ERR_NOMEM.
 */
int run_simai_init(struct run_job *j, const struct simai_workload *w,
                   const struct run_simai_options *o, const struct topo *t,
                   struct err_info *e) WH_MUST_CHECK;

/* What became of a pass of a layer on rank 0. */
struct run_simai_figures {
    int64_t compute_ps, comm_ps, exposed_ps; /* exposed: the rank did nothing but wait for it */
};
/* run_simai_figures - @end_ps: when the layer was last worked on; may be NULL. */
struct run_simai_figures run_simai_figures(const struct run_job *j, uint32_t layer,
                                           enum simai_pass_kind pass, int64_t *end_ps);

/*
 * run_simai_write_csv - SimAI's table of layers, with units: times in us, GB = 10^9 B, an empty
 * cell where nothing was sent. Returns 0 or WH_ERR_IO.
 * @run: name of the run, in a column of its own
 */
int run_simai_write_csv(FILE *f, const struct run_job *j, const char *run) WH_MUST_CHECK;

#endif
