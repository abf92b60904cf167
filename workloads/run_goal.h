/*
 * run_goal.h - GOAL schedules on the packet engine.
 *
 * Each cpu of a rank does one thing at a time, in the order in which things became possible: a
 * calculation takes its time, a message takes the overhead o (and O for each byte after the first)
 * at either end; in between the network carries it. A receive takes the oldest message that fits
 * (source, tag), a message the oldest receive. Messages leave at once, whatever their size. L, g
 * and G of the LogGOPS model are what the network replaces.
 */
#ifndef WH_RUN_GOAL_H
#define WH_RUN_GOAL_H

#include "goal.h"
#include "run_job.h"

struct run_goal_options {
    uint64_t overhead_ns;      /* o */
    uint64_t overhead_byte_ns; /* O */
    /* S: the send of a larger message ends when its receive has ended; UINT64_MAX: never so */
    uint64_t rendezvous_bytes;
};
#define RUN_GOAL_OVERHEAD_NS 200u /* as the packet-level backend of ATLAHS */

void run_goal_options_init(struct run_goal_options *o);

/*
 * run_goal_init - @g on the hosts of @t.
 * @j: zeroed by the caller; run_job_fini also after a failure
 * Errors: WH_ERR_INPUT (more ranks than hosts, a time or size that does not fit), WH_ERR_NOMEM.
 */
int run_goal_init(struct run_job *j, const struct goal *g, const struct run_goal_options *o,
                  const struct topo *t, struct err_info *e) WH_MUST_CHECK;

/* run_goal_end_ps - when the last operation of @rank was over. */
int64_t run_goal_end_ps(const struct run_job *j, uint32_t rank);

#endif
