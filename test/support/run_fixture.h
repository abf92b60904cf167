/*
 * run_fixture.h - workloads of other tools, run to the end on small networks.
 *
 * Everything here aborts the test on failure, unless it says otherwise.
 */
#ifndef WH_TEST_RUN_FIXTURE_H
#define WH_TEST_RUN_FIXTURE_H

#include "run_job.h"
#include "sim.h"

#define RUN_FIX_RECORDS 512u
#define RUN_FIX_RANKS 16u

struct run_fix {
    struct run_job job;
    struct topo *topo; /* until run_fix_run; owned */
    struct sim *s;
    struct dag *d;
    struct err_info e;
    struct coll_record colls[RUN_FIX_RECORDS];
    struct op_record ops[RUN_FIX_RECORDS]; /* op points to op_copies */
    struct op op_copies[RUN_FIX_RECORDS];
    uint32_t coll_count, op_count;
    char blocked[4096]; /* after a deadlock: all sentences, a line each */
};

/* run_fix_create - on @hosts hosts around a switch of 100 Gb/s, 1 us. On the heap. */
struct run_fix *run_fix_create(uint32_t hosts);
struct run_fix *run_fix_create_on(struct topo *topo); /* takes it over */
void run_fix_destroy(struct run_fix *f);

/* run_fix_run - f->job on f->topo; returns what dag_run returned. */
int run_fix_run(struct run_fix *f);

/* run_fix_sent_bytes - payload that the flows of a rank carried. */
int64_t run_fix_sent_bytes(const struct run_fix *f, uint32_t rank);

/* run_fix_coll - the only collective of that kind in a group of that name. */
const struct coll_record *run_fix_coll(const struct run_fix *f, enum coll_kind kind,
                                       const char *group);

/* run_fix_op_end_ps - when an operation of a rank ended, -1 if it did not. */
int64_t run_fix_op_end_ps(const struct run_fix *f, uint32_t rank, uint64_t id, enum op_kind kind);

/* run_fix_message_ps - how long a message takes on a star of 100 Gb/s, 1 us, until it has arrived.
 */
int64_t run_fix_message_ps(int64_t bytes);

#endif
