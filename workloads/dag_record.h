/*
 * dag_record.h - a program for a DAG that notes what another one does: operations, and what each of
 * them waited for. From it a workload can be written in formats that list operations.
 *
 * An operation depends on the one before it in its stream, on the events that the stream waited
 * for, and on the operations of its rank that ended at the instant at which it was handed out:
 * whatever released it is among these. So a replay keeps the order of the recorded run.
 * Threading: as dag.h.
 */
#ifndef WH_DAG_RECORD_H
#define WH_DAG_RECORD_H

#include "dag.h"

struct record_node {
    struct op op; /* op.name: see dag_record_name */
    uint32_t rank, stream;
    uint32_t dep_first, dep_count; /* rows of deps */
    uint32_t name;                 /* offset in text */
    uint32_t index;                /* among those of its rank */
};

struct dag_record {
    struct record_node *nodes; /* shape: [node_count], in order of being handed out */
    uint32_t *deps;            /* shape: [dep_count], rows of nodes of the same rank */
    char *text;
    uint32_t node_count, dep_count;
    const struct placement *place; /* of the DAG */
    const struct group_set *groups;
    /* private */
    struct dag_program inner;
    struct record_stream *streams;
    struct record_rank *ranks;
    struct record_event *events;
    uint32_t stream_count, event_count, node_cap, dep_cap, text_bytes, text_cap;
};

/*
 * dag_record_create - for the program of @spec; spec->program becomes the recording one. The tokens
 * of operations are passed on unchanged.
 */
int dag_record_create(struct dag_record **out, struct dag_spec *spec) WH_MUST_CHECK;
void dag_record_destroy(struct dag_record *r); /* NULL is accepted */

/* dag_record_name - the name of an operation, that of its kind if it has none. */
const char *dag_record_name(const struct dag_record *r, const struct record_node *n);

#endif
