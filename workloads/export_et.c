/*
 * export_et.c - see export_et.h. The id of a node is its number within its rank.
 */
#include "export_et.h"

#include "chakra.h"
#include "units.h"

#include <inttypes.h>
#include <stdlib.h>

/* All ranks in their order need no group. */
static int is_all(const struct dag_record *r, const struct group *g)
{
    if (g->rank_count != r->place->rank_count)
        return 0;
    for (uint32_t i = 0; i < g->rank_count; i++)
        if (g->rank[i] != i)
            return 0;
    return 1;
}

static int take_coll(const struct dag_record *r, const struct record_node *n, struct et_node *out,
                     struct err_info *e)
{
    static const int map[COLL_KIND_COUNT] = {
        [COLL_ALL_REDUCE] = ET_ALL_REDUCE, [COLL_REDUCE_SCATTER] = ET_REDUCE_SCATTER,
        [COLL_ALL_GATHER] = ET_ALL_GATHER, [COLL_ALL_TO_ALL] = ET_ALL_TO_ALL,
        [COLL_BROADCAST] = ET_BROADCAST,   [COLL_REDUCE] = ET_REDUCE,
        [COLL_SEND_RECV] = ET_COMM_COUNT,  [COLL_BARRIER] = ET_BARRIER};
    const struct group *g = &r->groups->groups[n->op.group];
    const struct coll_call *c = &n->op.call;

    if (map[c->kind] == ET_COMM_COUNT || c->pair_bytes)
        return err_set(e, WH_ERR_INPUT, NULL, 0,
                       "rank %u, operation %" PRIu64 ": found %s%s, expected a collective that a "
                       "Chakra trace can hold",
                       n->rank, n->op.id, c->pair_bytes ? "uneven " : "", coll_kind_name(c->kind));
    out->type = ET_COLLECTIVE;
    out->comm_type = (uint8_t)map[c->kind];
    out->comm_bytes = c->bytes;
    if (c->kind == COLL_ALL_GATHER)
        out->comm_bytes = (c->bytes + g->rank_count - 1) / g->rank_count;
    if (c->kind == COLL_BROADCAST)
        out->comm_src = (int32_t)g->rank[c->root];
    if (c->kind == COLL_REDUCE)
        out->comm_dst = (int32_t)g->rank[c->root];
    return 0;
}

static int take_op(const struct dag_record *r, const struct record_node *n, struct et_node *out,
                   struct err_info *e)
{
    const int is_send = n->op.kind == OP_SEND;

    *out = (struct et_node){.id = n->index, .comm_src = -1, .comm_dst = -1};
    if (n->op.kind == OP_COLL)
        return take_coll(r, n, out, e);
    if (n->op.kind == OP_COMPUTE) {
        out->type = ET_COMPUTE;
        out->duration_us = (uint64_t)((n->op.duration_ps + PS_PER_US / 2) / PS_PER_US);
        if (!out->duration_us)
            out->duration_us = 1;
        return 0;
    }
    out->type = is_send ? ET_SEND : ET_RECV;
    out->comm_bytes = n->op.bytes > 0 ? n->op.bytes : 0;
    out->comm_src = (int32_t)(is_send ? n->rank : n->op.peer);
    out->comm_dst = (int32_t)(is_send ? n->op.peer : n->rank);
    out->comm_tag = (int32_t)n->op.tag;
    return 0;
}

static int add_node(struct et_trace *t, const struct dag_record *r, const struct record_node *n,
                    struct err_info *e)
{
    uint64_t *ids = malloc(((size_t)n->dep_count + 1) * sizeof *ids);
    struct et_refs refs = {
        .name = dag_record_name(r, n), .data_deps = ids, .data_dep_count = n->dep_count};
    struct et_node node;
    char group[24];
    int rc = ids ? take_op(r, n, &node, e) : WH_ERR_NOMEM;

    for (uint32_t i = 0; i < n->dep_count && ids; i++)
        ids[i] = r->nodes[r->deps[n->dep_first + i]].index;
    if (!rc && n->op.kind == OP_COLL && !is_all(r, &r->groups->groups[n->op.group])) {
        (void)snprintf(group, sizeof group, "%" PRIu32, n->op.group + 1);
        refs.group = group;
    }
    if (!rc)
        rc = et_trace_add(t, &node, &refs, e);
    free(ids);
    return rc;
}

int export_et_rank(FILE *f, const struct dag_record *r, uint32_t rank, struct err_info *e)
{
    struct et_trace *t;
    int rc = et_trace_create(&t, "exported trace", rank);

    if (rc)
        return rc;
    for (uint32_t i = 0; i < r->node_count && !rc; i++)
        if (r->nodes[i].rank == rank)
            rc = add_node(t, r, &r->nodes[i], e);
    if (!rc)
        rc = et_trace_finish(t, e);
    if (!rc)
        rc = et_write(f, t);
    et_trace_destroy(t);
    return rc;
}

int export_et_groups(FILE *f, const struct dag_record *r)
{
    const char *comma = "";

    fprintf(f, "{");
    for (uint32_t i = 0; i < r->groups->count; i++) {
        const struct group *g = &r->groups->groups[i];

        if (is_all(r, g))
            continue;
        fprintf(f, "%s\n  \"%" PRIu32 "\": [", comma, i + 1);
        for (uint32_t k = 0; k < g->rank_count; k++)
            fprintf(f, "%s%" PRIu32, k ? ", " : "", g->rank[k]);
        fprintf(f, "]");
        comma = ",";
    }
    fprintf(f, "\n}\n");
    return ferror(f) ? WH_ERR_IO : 0;
}
