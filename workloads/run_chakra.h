/*
 * run_chakra.h - Chakra execution traces on the packet engine, as ASTRA-sim executes them.
 *
 * A rank computes one GPU operation at a time, runs one CPU operation and one memory operation
 * beside it, and one collective or send per logical dimension; receives are posted as soon as their
 * dependencies allow and hold nothing up. Of what is ready, the lowest id goes first. Collectives
 * among all ranks go through the logical dimensions, as system.json says; those of a group take the
 * implementation of the first dimension.
 */
#ifndef WH_RUN_CHAKRA_H
#define WH_RUN_CHAKRA_H

#include "astra.h"
#include "chakra.h"
#include "run_job.h"

struct run_chakra_options {
    const struct et_set *set;            /* checked: et_set_check */
    const struct astra_logical *logical; /* all numbers of ranks agree: astra_check_ranks */
    const struct astra_groups *groups;   /* NULL: those that the traces name */
    const struct astra_system *system;   /* NULL: rings, all-to-all direct, no roofline */
    const struct astra_memory *memory;   /* NULL: none */
    double compute_scale, comm_scale;    /* of durations and of sizes; 0: 1 */
    uint32_t channels;                   /* of rings; 0: 1 */
};

/*
 * run_chakra_init - the traces on the hosts of @t.
 * @o: what it points to must outlive the job
 * @j: zeroed by the caller; run_job_fini also after a failure
 * Errors: WH_ERR_INPUT (a group that is not known or does not have the rank, a collective or memory
 * operation that cannot be executed, sizes and times that do not fit), WH_ERR_NOMEM.
 */
int run_chakra_init(struct run_job *j, const struct run_chakra_options *o, const struct topo *t,
                    const struct warn_sink *sink, struct err_info *e) WH_MUST_CHECK;

/*
 * run_chakra_network - the network of an analytical backend, link by link: a dimension joins the
 * NPUs that differ in it alone, by a switch, in a ring, or each with each.
 * Errors: WH_ERR_NOMEM.
 */
int run_chakra_network(const struct astra_network *n, struct topo **out) WH_MUST_CHECK;

#endif
