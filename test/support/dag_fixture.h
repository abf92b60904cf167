/*
 * dag_fixture.h - small DAGs on small networks: scripts of operations per rank and stream.
 *
 * Everything here aborts the test on failure, unless it says otherwise.
 */
#ifndef WH_TEST_DAG_FIXTURE_H
#define WH_TEST_DAG_FIXTURE_H

#include "dag.h"
#include "sim.h"
#include "units.h"

#define DAG_FIX_OPS 16u
#define DAG_FIX_RANKS 40u
#define DAG_FIX_STREAMS 4u
#define DAG_FIX_RECORDS 4096u

struct dag_fix_script {
    struct op op[DAG_FIX_OPS];
    uint32_t count, pos;
};

/* One network, its placement and groups, and a script for each stream. */
struct dag_fix {
    struct sim *s;
    struct dag *d;
    struct placement place;
    struct group_set groups; /* group 0: all ranks */
    struct dag_fix_script script[DAG_FIX_RANKS][DAG_FIX_STREAMS];
    uint32_t rank_count, stream_count;
    struct err_info e;
    /* what the DAG told */
    struct op_record ops[DAG_FIX_RECORDS];
    struct op op_copies[DAG_FIX_RECORDS];
    struct coll_record colls[DAG_FIX_RECORDS];
    uint32_t op_count, coll_count;
};

/* dag_fix_create - @ranks hosts around one switch; on the heap, free with dag_fix_destroy.
 * dag_fix_create_on - on a given network, which it takes over. */
struct dag_fix *dag_fix_create(uint32_t ranks, int64_t rate_bps, int64_t delay_ps);
struct dag_fix *dag_fix_create_on(struct topo *topo, uint32_t ranks);
void dag_fix_destroy(struct dag_fix *f);

uint32_t dag_fix_group(struct dag_fix *f, const char *name, const uint32_t *ranks, uint32_t count);
void dag_fix_op(struct dag_fix *f, uint32_t rank, uint32_t stream, const struct op *op);
/* The same collective for all members of a group, on stream 0. */
void dag_fix_coll(struct dag_fix *f, uint32_t group, const struct coll_call *call);

/* dag_fix_run - to the end; returns what dag_run returned, f->e holds the sentence. */
int dag_fix_run(struct dag_fix *f);

/* dag_fix_config - CC none, 9000 B of payload, one ACK for 16 packets: near to the line rate. */
struct sim_config dag_fix_config(void);

#endif
