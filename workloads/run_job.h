/*
 * run_job.h - a workload of another tool, ready to be executed: ranks on hosts, groups, and the
 * program of a DAG (dag.h). Filled by run_goal_init, run_simai_init and run_chakra_init.
 *
 * The parsed workload is only borrowed: it must outlive the job. Threading: as dag.h.
 */
#ifndef WH_RUN_JOB_H
#define WH_RUN_JOB_H

#include "dag.h"

struct run_job {
    struct placement place;
    struct group_set groups;
    struct dag_program program;
    uint32_t stream_count, event_count;
    void *impl;                                /* of the kind that filled it */
    void (*attach)(void *impl, struct dag *d); /* tells it the DAG; NULL: needs none */
    void (*destroy)(void *impl);
};

void run_job_fini(struct run_job *j); /* a zeroed one is accepted */

/* run_job_place - one rank on each of the first hosts. Errors: more ranks than hosts. */
int run_job_place(struct run_job *j, const struct topo *t, uint32_t rank_count,
                  uint32_t gpus_per_server, struct err_info *e) WH_MUST_CHECK;

/* run_job_add_all - a group of all ranks. */
int run_job_add_all(struct run_job *j, const char *name, uint32_t *id,
                    struct err_info *e) WH_MUST_CHECK;

/* run_job_fill - what the job knows of @spec: all but observer, poll and start. */
void run_job_fill(const struct run_job *j, struct dag_spec *spec);
/* run_job_attach - tells the job its DAG, before dag_run. */
void run_job_attach(const struct run_job *j, struct dag *d);

#endif
