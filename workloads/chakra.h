/*
 * chakra.h - Chakra execution traces (.et): the operations of each rank and what they wait for.
 *
 * A trace is read, or built with et_trace_add, then finished: dependencies become rows, and
 * repeated ids, unknown dependencies and cycles are refused. Format: docs/formats_simai_astra.md.
 * Threading: pure functions on caller-owned data; a finished trace may be read by any thread.
 */
#ifndef WH_CHAKRA_H
#define WH_CHAKRA_H

#include "err.h"

#include <stdint.h>
#include <stdio.h>

/* Numbers of the format. */
enum et_type {
    ET_INVALID,
    ET_METADATA,
    ET_MEM_LOAD,
    ET_MEM_STORE,
    ET_COMPUTE,
    ET_SEND,
    ET_RECV,
    ET_COLLECTIVE,
    ET_TYPE_COUNT
};

enum et_comm {
    ET_ALL_REDUCE,
    ET_REDUCE,
    ET_ALL_GATHER,
    ET_GATHER,
    ET_SCATTER,
    ET_BROADCAST,
    ET_ALL_TO_ALL,
    ET_REDUCE_SCATTER,
    ET_REDUCE_SCATTER_BLOCK,
    ET_BARRIER,
    ET_COMM_COUNT
};

#define ET_DIMS_MAX 32

/* What a node does. Attributes that a node lacks are 0, ranks -1. */
struct et_node {
    uint64_t id;
    uint64_t duration_us; /* compute */
    uint64_t num_ops, tensor_bytes;
    int64_t comm_bytes; /* all-gather: of one rank; otherwise the whole buffer of a rank */
    uint32_t name;      /* et_text; set by et_trace_add */
    uint32_t group;     /* et_text; "": all ranks; set by et_trace_add */
    uint32_t dep_first; /* row of deps: first data, then control; set by et_trace_add */
    uint32_t data_dep_count, ctrl_dep_count;
    int32_t comm_src, comm_dst;
    int32_t comm_tag, comm_priority;
    uint32_t dim_count, dim_mask; /* logical dimensions that take part; count 0: all */
    uint8_t type, comm_type;      /* enum et_type, enum et_comm */
    uint8_t is_cpu_op;
};

struct et_trace {
    char path[512]; /* for messages */
    uint32_t rank;
    struct et_node *nodes; /* shape: [node_count], in the order of the file */
    uint32_t node_count;
    uint32_t *deps; /* shape: [dep_count], rows of nodes; NULL until finished */
    uint32_t dep_count;
    uint32_t version, groups_json; /* et_text; process groups of the framework, "" if none */
    /* private */
    char *text;
    uint64_t *dep_ids; /* as added */
    uint32_t text_bytes, text_cap, node_cap, dep_cap;
};

/* et_text - the string at an offset of a trace. */
static inline const char *et_text(const struct et_trace *t, uint32_t at)
{
    return t->text + at;
}

const char *et_type_name(enum et_type type);
const char *et_comm_name(enum et_comm comm);

/* et_trace_create - an empty trace. @path: for messages. Free with et_trace_destroy. */
int et_trace_create(struct et_trace **out, const char *path, uint32_t rank) WH_MUST_CHECK;
void et_trace_destroy(struct et_trace *t); /* NULL is accepted */

/* Strings and dependencies of a node that is added. NULL and 0 where it has none. */
struct et_refs {
    const char *name, *group;
    const uint64_t *data_deps, *ctrl_deps; /* ids, in any order and before their nodes */
    size_t data_dep_count, ctrl_dep_count;
};

/*
 * et_trace_add - adds a copy of @n.
 * Errors: WH_ERR_INPUT (type, attributes that the type needs), WH_ERR_LIMIT, WH_ERR_NOMEM.
 */
int et_trace_add(struct et_trace *t, const struct et_node *n, const struct et_refs *refs,
                 struct err_info *e) WH_MUST_CHECK;

/* et_trace_finish - resolves the dependencies. Errors: WH_ERR_INPUT with the ids, WH_ERR_NOMEM. */
int et_trace_finish(struct et_trace *t, struct err_info *e) WH_MUST_CHECK;

struct et_options {
    int skip_ctrl_deps; /* honour data dependencies only */
};

/*
 * et_read - one file, plain or gzip-compressed; finished.
 * @options: NULL: all dependencies
 * Errors: WH_ERR_INPUT with the byte at which a message begins, WH_ERR_IO, WH_ERR_NOMEM.
 */
int et_read(const char *path, uint32_t rank, const struct et_options *options,
            struct et_trace **out, const struct warn_sink *sink, struct err_info *e) WH_MUST_CHECK;

/* The traces of a job. */
struct et_set {
    struct et_trace **trace; /* shape: [rank_count], owned */
    uint32_t rank_count;
};

/* et_read_set - all <prefix>.<rank>.et, which have to be there from rank 0 on without a gap. */
int et_read_set(const char *prefix, const struct et_options *options, struct et_set *out,
                const struct warn_sink *sink, struct err_info *e) WH_MUST_CHECK;
void et_set_fini(struct et_set *s);

/* et_set_check - peers of sends and receives are ranks, and not the rank itself. */
int et_set_check(const struct et_set *s, struct err_info *e) WH_MUST_CHECK;

/* et_write - a finished trace in the format of et_read, uncompressed. WH_ERR_IO or WH_ERR_NOMEM. */
int et_write(FILE *f, const struct et_trace *t) WH_MUST_CHECK;

#endif
