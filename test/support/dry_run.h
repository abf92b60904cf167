/*
 * dry_run.h - executes a program for a DAG (dag.h) without a network and without time: what it
 * would send, and whether it comes to an end.
 */
#ifndef WH_TEST_DRY_RUN_H
#define WH_TEST_DRY_RUN_H

#include "dag.h"

#define DRY_LABELS 16u

struct dry_counts {
    uint64_t colls, bytes; /* of collectives without relays; messages count as collectives */
};

struct dry_result {
    struct dry_counts label[DRY_LABELS];
    uint64_t ops, computes;
    uint64_t streams_left; /* that never ended: 0 if all is well */
    uint64_t mismatches;   /* members of a group that called different things */
    double compute_s;      /* of all ranks */
};

/* dry_run - @tag_count: tags of messages are below it, and name their sender. */
int dry_run(const struct dag_spec *d, uint32_t tag_count, struct dry_result *out) WH_MUST_CHECK;

#endif
