/*
 * run_chakra.c - see run_chakra.h.
 *
 * Each trace becomes nodes of a dag_graph. A node of the trace has a head, which waits for its
 * dependencies, and a tail, which those wait for that depend on it. A collective is cut into chunks
 * (preferred-dataset-splits), a chunk goes through phases, one for each dimension, in the lane of
 * that dimension; otherwise head and tail are the same.
 */
#include "run_chakra.h"

#include "dag_graph.h"
#include "units.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PS_MAX (INT64_MAX / 4)
#define BYTES_MAX (INT64_MAX / 4)
#define PHASES_MAX (2 * ASTRA_DIMS_MAX)
#define NAME_ALL "all"

enum { LANE_GPU, LANE_CPU, LANE_MEMORY, LANE_COMM };

struct phase {
    uint32_t group, lane;
    struct coll_call call;
};

/* Rows of the graph that stand for a node: heads are consecutive. */
struct ends {
    uint32_t tail;
    uint32_t head_first, head_count; /* rows of run_chakra.head */
};

struct run_chakra {
    struct run_chakra_options o;
    struct dag_graph *graph;
    struct astra_groups found; /* from the traces */
    const struct astra_groups *groups;
    uint32_t all_group, first_group;    /* first_group: of groups, in their order */
    uint32_t dim_group[ASTRA_DIMS_MAX]; /* first of a dimension */
    uint32_t dim_stride[ASTRA_DIMS_MAX];
    struct ends *ends; /* shape: [node_count], of the trace under way */
    uint32_t *head;
    uint32_t head_count, head_cap;
    const struct warn_sink *sink;
    int has_warned_roofline;
};

/* ---- messages ---- */

static int refuse(const struct et_trace *t, const struct et_node *n, struct err_info *e,
                  const char *found, const char *expected)
{
    return err_set(e, WH_ERR_INPUT, t->path, 0, "node %" PRIu64 " (%.100s): found %s, expected %s",
                   n->id, et_text(t, n->name), found, expected);
}

/* ---- groups ---- */

static int has_group(const struct astra_groups *g, uint32_t id)
{
    for (uint32_t i = 0; i < g->group_count; i++)
        if (g->groups[i].id == id)
            return 1;
    return 0;
}

static int append_group(struct astra_groups *to, const struct astra_groups *from,
                        const struct astra_group *g)
{
    struct astra_group *groups =
        realloc(to->groups, ((size_t)to->group_count + 1) * sizeof *groups);
    uint32_t *ranks;

    if (!groups)
        return WH_ERR_NOMEM;
    to->groups = groups;
    ranks = realloc(to->ranks, ((size_t)to->rank_total + g->rank_count) * sizeof *ranks);
    if (!ranks && g->rank_count)
        return WH_ERR_NOMEM;
    to->ranks = ranks;
    memcpy(ranks + to->rank_total, from->ranks + g->rank_first, g->rank_count * sizeof *ranks);
    groups[to->group_count++] = (struct astra_group){g->id, to->rank_total, g->rank_count};
    to->rank_total += g->rank_count;
    return 0;
}

static int compare_groups(const void *a, const void *b)
{
    const struct astra_group *x = a, *y = b;

    return (x->id > y->id) - (x->id < y->id);
}

/* What the traces name themselves; the first trace that names a group decides. */
static int find_groups(struct run_chakra *r, struct err_info *e)
{
    int rc = 0;

    for (uint32_t i = 0; i < r->o.set->rank_count && !rc; i++) {
        const struct et_trace *t = r->o.set->trace[i];
        struct astra_groups own = {0};

        if (!*et_text(t, t->groups_json))
            continue;
        rc = astra_parse_groups(t->path, et_text(t, t->groups_json), &own, e);
        for (uint32_t k = 0; k < own.group_count && !rc; k++)
            if (!has_group(&r->found, own.groups[k].id))
                rc = append_group(&r->found, &own, &own.groups[k]);
        astra_groups_fini(&own);
    }
    if (r->found.group_count)
        qsort(r->found.groups, r->found.group_count, sizeof *r->found.groups, compare_groups);
    r->groups = &r->found;
    return rc;
}

static int add_named_groups(struct run_chakra *r, struct run_job *j, struct err_info *e)
{
    int rc = 0;

    r->first_group = j->groups.count;
    for (uint32_t i = 0; i < r->groups->group_count && !rc; i++) {
        const struct astra_group *g = &r->groups->groups[i];
        char name[32];
        uint32_t id;

        (void)snprintf(name, sizeof name, "%" PRIu32, g->id);
        rc = group_set_add(&j->groups, &j->place, name, r->groups->ranks + g->rank_first,
                           g->rank_count, &id, e);
    }
    return rc;
}

/* All sets of ranks that differ in dimension @d alone. */
static int add_dim_groups(struct run_chakra *r, struct run_job *j, uint32_t d, struct err_info *e)
{
    const struct astra_logical *l = r->o.logical;
    const uint32_t stride = r->dim_stride[d], size = l->dim[d];
    uint32_t *ranks = malloc(((size_t)size + 1) * sizeof *ranks);
    int rc = ranks ? 0 : WH_ERR_NOMEM;

    r->dim_group[d] = j->groups.count;
    for (uint32_t g = 0; g < l->rank_count / size && !rc; g++) {
        const uint32_t first = g / stride * stride * size + g % stride;
        char name[48];
        uint32_t id;

        for (uint32_t i = 0; i < size; i++)
            ranks[i] = first + i * stride;
        (void)snprintf(name, sizeof name, "dimension %" PRIu32 ", %" PRIu32, d, g);
        rc = group_set_add(&j->groups, &j->place, name, ranks, size, &id, e);
    }
    free(ranks);
    return rc;
}

static int add_groups(struct run_chakra *r, struct run_job *j, struct err_info *e)
{
    uint32_t stride = 1;
    int rc = run_job_add_all(j, NAME_ALL, &r->all_group, e);

    r->groups = r->o.groups;
    if (!rc && !r->groups)
        rc = find_groups(r, e);
    if (!rc)
        rc = add_named_groups(r, j, e);
    for (uint32_t d = 0; d < r->o.logical->dim_count && !rc; d++) {
        r->dim_stride[d] = stride;
        stride *= r->o.logical->dim[d];
        r->dim_group[d] = r->all_group;
        if (r->o.logical->dim_count > 1)
            rc = add_dim_groups(r, j, d, e);
    }
    return rc;
}

static uint32_t dim_coord(const struct run_chakra *r, uint32_t d, uint32_t rank)
{
    return rank / r->dim_stride[d] % r->o.logical->dim[d];
}

static uint32_t dim_group(const struct run_chakra *r, uint32_t d, uint32_t rank)
{
    const uint32_t stride = r->dim_stride[d];

    if (r->o.logical->dim_count == 1)
        return r->all_group;
    return r->dim_group[d] + rank / stride / r->o.logical->dim[d] * stride + rank % stride;
}

/* ---- collectives ---- */

static int map_kind(const struct et_trace *t, const struct et_node *n, enum coll_kind *out,
                    enum astra_coll *impl, struct err_info *e)
{
    static const struct {
        enum coll_kind kind;
        enum astra_coll impl;
        uint8_t is_known;
    } map[ET_COMM_COUNT] = {
        [ET_ALL_REDUCE] = {COLL_ALL_REDUCE, ASTRA_ALL_REDUCE, 1},
        [ET_REDUCE] = {COLL_REDUCE, ASTRA_COLL_COUNT, 1},
        [ET_ALL_GATHER] = {COLL_ALL_GATHER, ASTRA_ALL_GATHER, 1},
        [ET_BROADCAST] = {COLL_BROADCAST, ASTRA_COLL_COUNT, 1},
        [ET_ALL_TO_ALL] = {COLL_ALL_TO_ALL, ASTRA_ALL_TO_ALL, 1},
        [ET_REDUCE_SCATTER] = {COLL_REDUCE_SCATTER, ASTRA_REDUCE_SCATTER, 1},
        [ET_REDUCE_SCATTER_BLOCK] = {COLL_REDUCE_SCATTER, ASTRA_REDUCE_SCATTER, 1},
        [ET_BARRIER] = {COLL_BARRIER, ASTRA_COLL_COUNT, 1}};

    if (n->comm_type >= ET_COMM_COUNT || !map[n->comm_type].is_known)
        return refuse(t, n, e, et_comm_name(n->comm_type),
                      "a collective that is executed: not gather or scatter");
    *out = map[n->comm_type].kind;
    *impl = map[n->comm_type].impl;
    return 0;
}

static const struct astra_impl *impl_of(const struct run_chakra *r, enum astra_coll c)
{
    if (!r->o.system || c == ASTRA_COLL_COUNT || !r->o.system->impl[c].dim_count)
        return NULL;
    return &r->o.system->impl[c];
}

/* Whether all dimensions are one. */
static int is_one_group(const struct run_chakra *r, const struct astra_impl *impl)
{
    return r->o.logical->dim_count == 1 || !impl || impl->algo[0].is_one;
}

static int map_algo(const struct run_chakra *r, enum astra_coll c, uint32_t d, enum coll_kind kind,
                    enum coll_algo *out, struct err_info *e)
{
    static const enum coll_algo map[ASTRA_ALGO_COUNT] = {[ASTRA_ALGO_RING] = COLL_RING,
                                                         [ASTRA_ALGO_DIRECT] = COLL_DIRECT,
                                                         [ASTRA_ALGO_TREE] = COLL_TREE,
                                                         [ASTRA_ALGO_HALVING_DOUBLING] =
                                                             COLL_HALVING};
    const struct astra_impl *impl = impl_of(r, c);

    *out = COLL_AUTO;
    if (!impl)
        return 0;
    *out = map[impl->algo[d < impl->dim_count ? d : 0].kind];
    if (*out == COLL_RING && kind == COLL_ALL_TO_ALL)
        *out = COLL_PAIRWISE; /* the same messages: in step k to the k-th neighbour */
    if (coll_is_possible(kind, *out))
        return 0;
    return err_set(e, WH_ERR_INPUT, r->o.system->path, 0,
                   "found %s for dimension %u of %s, expected an implementation that it has",
                   coll_algo_name(*out), d, coll_kind_name(kind));
}

static uint32_t group_size(const struct run_job *j, uint32_t group)
{
    return j->groups.groups[group].rank_count;
}

/* Buffer of a collective in a group of @n, by nccl-tests' convention. */
static int64_t buffer_bytes(enum coll_kind kind, int64_t share_bytes, uint32_t n)
{
    return kind == COLL_ALL_GATHER ? share_bytes * n : share_bytes;
}

static int take_phase(struct run_chakra *r, const struct run_job *j, struct phase *p,
                      enum coll_kind kind, enum astra_coll c, uint32_t d, int64_t bytes,
                      struct err_info *e)
{
    p->lane = LANE_COMM + d;
    p->call = (struct coll_call){.kind = kind,
                                 .bytes = buffer_bytes(kind, bytes, group_size(j, p->group)),
                                 .channels = r->o.channels};
    return map_algo(r, c, d, kind, &p->call.algo, e);
}

static int is_involved(const struct et_node *n, uint32_t d)
{
    return !n->dim_count || (d < n->dim_count && (n->dim_mask >> d & 1));
}

/* Bytes of piece @i of @count. */
static int64_t piece_bytes(int64_t bytes, uint32_t i, uint32_t count)
{
    return coll_piece_start(bytes, i + 1, count) - coll_piece_start(bytes, i, count);
}

/* What a rank holds after the phase: its part after a reduce-scatter, all after a gather. */
static int64_t bytes_after(enum coll_kind kind, int64_t bytes, uint32_t coord, uint32_t size)
{
    if (kind == COLL_REDUCE_SCATTER)
        return piece_bytes(bytes, coord, size);
    return kind == COLL_ALL_GATHER ? bytes * size : bytes;
}

/* baseline: the same collective in one dimension after the other. */
static int plan_baseline(struct run_chakra *r, const struct run_job *j, uint32_t rank,
                         const struct et_node *n, enum coll_kind kind, enum astra_coll c,
                         int64_t bytes, struct phase *out, uint32_t *count, struct err_info *e)
{
    int rc = 0;

    for (uint32_t d = 0; d < r->o.logical->dim_count && !rc; d++) {
        if (!is_involved(n, d))
            continue;
        out[*count].group = dim_group(r, d, rank);
        rc = take_phase(r, j, &out[(*count)++], kind, c, d, bytes, e);
        bytes = bytes_after(kind, bytes, dim_coord(r, d, rank), r->o.logical->dim[d]);
    }
    return rc;
}

/* localBWAware: an all-reduce scatters on its way out and gathers on its way back. */
static int plan_bw_aware(struct run_chakra *r, const struct run_job *j, uint32_t rank,
                         const struct et_node *n, int64_t bytes, struct phase *out, uint32_t *count,
                         struct err_info *e)
{
    uint32_t dims[ASTRA_DIMS_MAX], dim_count = 0;
    int64_t held[ASTRA_DIMS_MAX];
    int rc = 0;

    for (uint32_t d = 0; d < r->o.logical->dim_count; d++)
        if (is_involved(n, d))
            dims[dim_count++] = d;
    for (uint32_t i = 0; i < dim_count && !rc; i++) {
        const uint32_t d = dims[i];
        const int is_last = i + 1 == dim_count;

        held[i] = bytes;
        out[*count].group = dim_group(r, d, rank);
        rc = take_phase(r, j, &out[(*count)++], is_last ? COLL_ALL_REDUCE : COLL_REDUCE_SCATTER,
                        is_last ? ASTRA_ALL_REDUCE : ASTRA_REDUCE_SCATTER, d, bytes, e);
        bytes = piece_bytes(bytes, dim_coord(r, d, rank), r->o.logical->dim[d]);
    }
    for (uint32_t i = dim_count - 1; dim_count && i-- > 0 && !rc;) {
        struct phase *p = &out[(*count)++];

        p->group = dim_group(r, dims[i], rank);
        rc = take_phase(r, j, p, COLL_ALL_GATHER, ASTRA_ALL_GATHER, dims[i], 0, e);
        p->call.bytes = held[i]; /* the whole buffer of that phase, to the byte */
    }
    return rc;
}

/* The group that a node names. */
static int find_group(const struct run_chakra *r, const struct run_job *j, const struct et_trace *t,
                      const struct et_node *n, uint32_t *out, struct err_info *e)
{
    const char *name = et_text(t, n->group);
    const struct astra_group *g;

    *out = r->all_group;
    if (astra_is_all(name))
        return 0;
    g = astra_find_group(r->groups, name);
    if (!g)
        return err_set(e, WH_ERR_INPUT, t->path, 0,
                       "node %" PRIu64 " (%.100s): found pg_name \"%.60s\", expected one of the %u "
                       "groups that the communicator groups file or the traces define",
                       n->id, et_text(t, n->name), name, r->groups->group_count);
    *out = r->first_group + (uint32_t)(g - r->groups->groups);
    if (group_member(&j->groups.groups[*out], t->rank) == RANK_NONE)
        return err_set(e, WH_ERR_INPUT, t->path, 0,
                       "node %" PRIu64 " (%.100s): found group \"%.60s\", which rank %u is no "
                       "member of, expected one that it belongs to",
                       n->id, et_text(t, n->name), name, t->rank);
    return 0;
}

/* Sender of a broadcast, receiver of a reduction: the rank that is named, else the first. */
static uint32_t root_of(const struct run_job *j, const struct et_node *n, enum coll_kind kind,
                        uint32_t group)
{
    uint32_t member = RANK_NONE;
    const int32_t rank = kind == COLL_BROADCAST ? n->comm_src : n->comm_dst;

    if ((kind == COLL_BROADCAST || kind == COLL_REDUCE) && rank >= 0)
        member = group_member(&j->groups.groups[group], (uint32_t)rank);
    return member == RANK_NONE ? 0 : member;
}

static int plan_collective(struct run_chakra *r, const struct run_job *j, const struct et_trace *t,
                           const struct et_node *n, int64_t bytes, struct phase *out,
                           uint32_t *count, struct err_info *e)
{
    const struct astra_impl *impl;
    enum coll_kind kind;
    enum astra_coll c;
    uint32_t group;
    int rc = map_kind(t, n, &kind, &c, e);

    *count = 0;
    if (!rc)
        rc = find_group(r, j, t, n, &group, e);
    if (rc)
        return rc;
    impl = impl_of(r, c);
    if (group != r->all_group || is_one_group(r, impl) || c == ASTRA_COLL_COUNT) {
        out->group = group;
        *count = 1;
        rc = take_phase(r, j, out, kind, c, 0, bytes, e);
        out->call.root = root_of(j, n, kind, group);
        return rc;
    }
    if (kind == COLL_ALL_REDUCE && r->o.system->is_bw_aware)
        return plan_bw_aware(r, j, t->rank, n, bytes, out, count, e);
    return plan_baseline(r, j, t->rank, n, kind, c, bytes, out, count, e);
}

/* ---- nodes ---- */

static int push_head(struct run_chakra *r, struct ends *ends, uint32_t row)
{
    if (r->head_count == r->head_cap) {
        const uint32_t cap = r->head_cap ? 2 * r->head_cap : 256;
        uint32_t *rows = realloc(r->head, cap * sizeof *rows);

        if (!rows)
            return WH_ERR_NOMEM;
        r->head = rows;
        r->head_cap = cap;
    }
    if (!ends->head_count)
        ends->head_first = r->head_count;
    ends->head_count++;
    r->head[r->head_count++] = row;
    return 0;
}

static struct op op_of(const struct et_trace *t, const struct et_node *n, enum op_kind kind)
{
    const char *name = et_text(t, n->name);

    return (struct op){.id = n->id, .name = *name ? name : NULL, .kind = kind};
}

/* A node that is one operation. */
static int add_single(struct run_chakra *r, const struct et_trace *t, uint32_t lane,
                      const struct op *op, struct ends *ends)
{
    const int rc = dag_graph_add(r->graph, t->rank, lane, op, &ends->tail);

    return rc ? rc : push_head(r, ends, ends->tail);
}

static int scale_bytes(const struct run_chakra *r, const struct et_trace *t,
                       const struct et_node *n, int64_t *out, struct err_info *e)
{
    const double scaled = rint((double)n->comm_bytes * r->o.comm_scale);

    *out = n->comm_bytes;
    if (r->o.comm_scale != 1)
        *out = scaled < (double)BYTES_MAX ? (int64_t)scaled : BYTES_MAX;
    if (*out >= 0 && *out < BYTES_MAX / r->o.set->rank_count)
        return 0;
    return refuse(t, n, e, "a size that does not fit", "a comm_size of at most 2^61 B in all");
}

/* One chunk: its phases, one after the other. */
static int add_chunk(struct run_chakra *r, const struct et_trace *t, const struct op *op,
                     const struct phase *phases, uint32_t phase_count, struct ends *ends)
{
    for (uint32_t i = 0; i < phase_count; i++) {
        struct op phase = *op;
        const uint32_t before = ends->tail;
        int rc;

        phase.group = phases[i].group;
        phase.call = phases[i].call;
        rc = dag_graph_add(r->graph, t->rank, phases[i].lane, &phase, &ends->tail);
        if (!rc)
            rc = i ? dag_graph_depend(r->graph, ends->tail, before, GRAPH_AFTER_END)
                   : push_head(r, ends, ends->tail);
        if (rc)
            return rc;
    }
    return 0;
}

/* Stands for several: over when all of them are. */
static int add_join(struct run_chakra *r, const struct et_trace *t, const struct et_node *n,
                    const uint32_t *tails, uint32_t count, struct ends *ends)
{
    struct op join = op_of(t, n, OP_COMPUTE);
    int rc;

    join.is_async = 1;
    rc = dag_graph_add(r->graph, t->rank, LANE_CPU, &join, &ends->tail);
    for (uint32_t i = 0; i < count && !rc; i++)
        rc = dag_graph_depend(r->graph, ends->tail, tails[i], GRAPH_AFTER_END);
    if (!rc && !count)
        rc = push_head(r, ends, ends->tail);
    return rc;
}

static int add_collective(struct run_chakra *r, const struct run_job *j, const struct et_trace *t,
                          const struct et_node *n, struct ends *ends, struct err_info *e)
{
    const struct op op = op_of(t, n, OP_COLL);
    struct phase phases[PHASES_MAX];
    uint32_t chunk_count = r->o.system ? r->o.system->dataset_splits : 1;
    uint32_t *tails, phase_count = 0, made = 0;
    int64_t bytes;
    int rc = scale_bytes(r, t, n, &bytes, e);

    if (rc)
        return rc;
    if (bytes < chunk_count)
        chunk_count = 1;
    tails = malloc(chunk_count * sizeof *tails);
    if (!tails)
        return WH_ERR_NOMEM;
    for (uint32_t i = 0; i < chunk_count && !rc; i++) {
        rc = plan_collective(r, j, t, n, piece_bytes(bytes, i, chunk_count), phases, &phase_count,
                             e);
        if (!rc && phase_count)
            rc = add_chunk(r, t, &op, phases, phase_count, ends);
        if (!rc && phase_count)
            tails[made++] = ends->tail;
    }
    if (!rc && made != 1)
        rc = add_join(r, t, n, tails, made, ends);
    free(tails);
    return rc;
}

static int add_p2p(struct run_chakra *r, const struct et_trace *t, const struct et_node *n,
                   struct ends *ends, struct err_info *e)
{
    const int is_send = n->type == ET_SEND;
    struct op op = op_of(t, n, is_send ? OP_SEND : OP_RECV);
    const int rc = scale_bytes(r, t, n, &op.bytes, e);

    if (rc)
        return rc;
    op.is_async = !is_send;
    op.peer = (uint32_t)(is_send ? n->comm_dst : n->comm_src);
    op.tag = (uint32_t)n->comm_tag;
    return add_single(r, t, LANE_COMM, &op, ends);
}

/* GB/s of 10^9 B: a byte takes 1000 / GB/s ps. */
static double transfer_ps(double bytes, double gbps)
{
    return gbps > 0 ? bytes * 1000 / gbps : 0;
}

static double roofline_ps(const struct astra_system *s, const struct et_node *n)
{
    /* 10^12 FLOPs/s: an operation takes 1 / TFLOPS ps */
    const double flops_ps = s->peak_tflops > 0 ? (double)n->num_ops / s->peak_tflops : 0;
    const double memory_ps = transfer_ps((double)n->tensor_bytes, s->local_mem_gbps);

    return flops_ps > memory_ps ? flops_ps : memory_ps;
}

static double calc_compute_ps(struct run_chakra *r, const struct et_trace *t,
                              const struct et_node *n)
{
    const int is_modelled = r->o.system && r->o.system->roofline && !n->is_cpu_op;

    if (is_modelled && (n->num_ops || n->tensor_bytes))
        return roofline_ps(r->o.system, n);
    if (is_modelled && !r->has_warned_roofline) {
        r->has_warned_roofline = 1;
        warn(r->sink,
             "%s: node %" PRIu64 " has neither num_ops nor tensor_size, so its duration is taken "
             "although roofline-enabled is 1 (said once)",
             t->path, n->id);
    }
    return (double)n->duration_us * (double)PS_PER_US * r->o.compute_scale;
}

/* Nothing takes no time: a nanosecond, as in the reference. */
static int take_duration(const struct et_trace *t, const struct et_node *n, double ps,
                         struct op *op, struct err_info *e)
{
    if (!(ps < (double)PS_MAX))
        return refuse(t, n, e, "a time that does not fit", "at most 2^61 ps");
    op->duration_ps = ps < (double)PS_PER_NS ? PS_PER_NS : (int64_t)rint(ps);
    return 0;
}

static int add_compute(struct run_chakra *r, const struct et_trace *t, const struct et_node *n,
                       struct ends *ends, struct err_info *e)
{
    struct op op = op_of(t, n, OP_COMPUTE);
    const int rc = take_duration(t, n, calc_compute_ps(r, t, n), &op, e);

    return rc ? rc : add_single(r, t, n->is_cpu_op ? LANE_CPU : LANE_GPU, &op, ends);
}

static int add_memory(struct run_chakra *r, const struct et_trace *t, const struct et_node *n,
                      struct ends *ends, struct err_info *e)
{
    struct op op = op_of(t, n, OP_COMPUTE);
    double ps;
    int rc;

    if (!r->o.memory || r->o.memory->kind == ASTRA_MEMORY_NONE)
        return refuse(t, n, e, "an access to remote memory, of which there is none",
                      "a remote memory configuration other than NO_MEMORY_EXPANSION");
    ps = (double)r->o.memory->latency_ps + transfer_ps((double)n->tensor_bytes, r->o.memory->gbps);
    rc = take_duration(t, n, ps, &op, e);
    return rc ? rc : add_single(r, t, LANE_MEMORY, &op, ends);
}

static int add_node(struct run_chakra *r, const struct run_job *j, const struct et_trace *t,
                    const struct et_node *n, struct ends *ends, struct err_info *e)
{
    switch (n->type) {
    case ET_COMPUTE:
        return add_compute(r, t, n, ends, e);
    case ET_SEND:
    case ET_RECV:
        return add_p2p(r, t, n, ends, e);
    case ET_COLLECTIVE:
        return add_collective(r, j, t, n, ends, e);
    case ET_MEM_LOAD:
    case ET_MEM_STORE:
        return add_memory(r, t, n, ends, e);
    default:
        return add_join(r, t, n, NULL, 0, ends); /* does nothing, but others may wait for it */
    }
}

static int add_deps(struct run_chakra *r, const struct et_trace *t, uint32_t node)
{
    const struct et_node *n = &t->nodes[node];
    const struct ends *ends = &r->ends[node];

    for (uint32_t i = 0; i < n->data_dep_count + n->ctrl_dep_count; i++) {
        const uint32_t on = r->ends[t->deps[n->dep_first + i]].tail;

        for (uint32_t k = 0; k < ends->head_count; k++) {
            const int rc =
                dag_graph_depend(r->graph, r->head[ends->head_first + k], on, GRAPH_AFTER_END);

            if (rc)
                return rc;
        }
    }
    return 0;
}

static int add_trace(struct run_chakra *r, const struct run_job *j, const struct et_trace *t,
                     struct err_info *e)
{
    int rc = 0;

    free(r->ends);
    r->ends = calloc((size_t)t->node_count + 1, sizeof *r->ends);
    if (!r->ends)
        return WH_ERR_NOMEM;
    r->head_count = 0;
    for (uint32_t i = 0; i < t->node_count && !rc; i++)
        rc = add_node(r, j, t, &t->nodes[i], &r->ends[i], e);
    for (uint32_t i = 0; i < t->node_count && !rc; i++)
        rc = add_deps(r, t, i);
    return rc;
}

/* ---- life cycle ---- */

static const char *lane_name(void *ctx, uint32_t lane)
{
    static const char *const names[] = {
        "GPU",          "CPU",          "memory",       "communication", "dimension 1",
        "dimension 2",  "dimension 3",  "dimension 4",  "dimension 5",   "dimension 6",
        "dimension 7",  "dimension 8",  "dimension 9",  "dimension 10",  "dimension 11",
        "dimension 12", "dimension 13", "dimension 14", "dimension 15"};

    (void)ctx;
    return lane < sizeof names / sizeof names[0] ? names[lane] : "further";
}

static void run_chakra_attach(void *impl, struct dag *d)
{
    struct run_chakra *r = impl;

    dag_graph_attach(r->graph, d);
}

static void run_chakra_destroy(void *impl)
{
    struct run_chakra *r = impl;

    dag_graph_destroy(r->graph);
    astra_groups_fini(&r->found);
    free(r->ends);
    free(r->head);
    free(r);
}

/* Says once what has no counterpart here. */
static int check_system(const struct astra_system *s, const struct warn_sink *sink,
                        struct err_info *e)
{
    int has_window = 0;

    for (int c = 0; c < ASTRA_COLL_COUNT; c++) {
        if (s->impl[c].custom_count)
            return err_set(e, WH_ERR_INPUT, s->path, 0,
                           "found a collective described by a Chakra file (%.200s), expected one "
                           "of the implementations ring, direct, doubleBinaryTree, "
                           "halvingDoubling",
                           s->impl[c].custom[0]);
        for (uint32_t d = 0; d < s->impl[c].dim_count; d++)
            has_window |= s->impl[c].algo[d].window > 0;
    }
    if (has_window)
        warn(sink, "%s: the window of direct is accepted, no effect: all messages go at once",
             s->path);
    if (s->active_chunks > 1)
        warn(sink, "%s: active-chunks-per-dimension is accepted, no effect: one at a time",
             s->path);
    if (s->endpoint_delay_ps)
        warn(sink,
             "%s: endpoint-delay is accepted, no effect: messages have the time of the network",
             s->path);
    if (s->local_reduction_ps > 0 || s->l_ps > 0 || s->o_ps > 0 || s->g_ps > 0 || s->big_g_ps > 0)
        warn(sink, "%s: local-reduction-delay, L, o, g and G are accepted, no effect", s->path);
    if (s->scheduling != ASTRA_FIFO)
        warn(sink,
             "%s: scheduling-policy is accepted, no effect: of what is ready, the lowest id "
             "goes first",
             s->path);
    return 0;
}

static void take_options(struct run_chakra *r, const struct run_chakra_options *o)
{
    r->o = *o;
    if (r->o.compute_scale == 0)
        r->o.compute_scale = 1;
    if (r->o.comm_scale == 0)
        r->o.comm_scale = 1;
}

int run_chakra_init(struct run_job *j, const struct run_chakra_options *o, const struct topo *t,
                    const struct warn_sink *sink, struct err_info *e)
{
    struct run_chakra *r = calloc(1, sizeof *r);
    int rc;

    if (!r)
        return WH_ERR_NOMEM;
    take_options(r, o);
    r->sink = sink;
    j->impl = r;
    j->destroy = run_chakra_destroy;
    j->attach = run_chakra_attach;
    j->stream_count = LANE_COMM + o->logical->dim_count;
    rc = o->system ? check_system(o->system, sink, e) : 0;
    if (!rc)
        rc = run_job_place(j, t, o->set->rank_count, 0, e);
    if (!rc)
        rc = dag_graph_create(&r->graph, o->set->rank_count, j->stream_count);
    if (!rc)
        rc = add_groups(r, j, e);
    for (uint32_t i = 0; i < o->set->rank_count && !rc; i++)
        rc = add_trace(r, j, o->set->trace[i], e);
    if (!rc)
        rc = dag_graph_finish(r->graph, e);
    if (rc)
        return rc;
    j->program = dag_graph_program(r->graph);
    j->program.stream_name = lane_name;
    return 0;
}

/* ---- the network of the analytical backends ---- */

struct builder {
    const struct astra_network *n;
    struct topo *t;
    uint32_t next_switch;
};

static int64_t add_class(struct topo *t, const struct astra_net_dim *d)
{
    const struct link_class c = {.rate_bps = d->rate_bps, .delay_ps = d->latency_ps};

    return topo_add_class(t, &c);
}

/* The NPUs first, first + stride, ... of one dimension. */
static int join_npus(struct builder *b, const struct astra_net_dim *d, uint32_t first,
                     uint32_t stride)
{
    const int64_t class_id = add_class(b->t, d);
    int rc = class_id < 0 ? (int)class_id : 0;

    if (d->kind == ASTRA_NET_SWITCH) {
        for (uint32_t i = 0; i < d->npus && !rc; i++)
            rc = topo_add_link(b->t, first + i * stride, b->next_switch, (uint32_t)class_id);
        b->next_switch++;
        return rc;
    }
    for (uint32_t i = 0; i < d->npus && !rc; i++) {
        const uint32_t to = d->kind == ASTRA_NET_RING ? i + 2 : d->npus;

        for (uint32_t k = i + 1; k < to && k < d->npus && !rc; k++)
            rc = topo_add_link(b->t, first + i * stride, first + k * stride, (uint32_t)class_id);
    }
    if (d->kind == ASTRA_NET_RING && d->npus > 2 && !rc)
        rc = topo_add_link(b->t, first + (d->npus - 1) * stride, first, (uint32_t)class_id);
    return rc;
}

static uint32_t count_switches(const struct astra_network *n)
{
    uint32_t count = 0;

    for (uint32_t d = 0; d < n->dim_count; d++)
        if (n->dim[d].kind == ASTRA_NET_SWITCH && n->dim[d].npus > 1)
            count += n->npu_count / n->dim[d].npus;
    return count;
}

static int join_all(struct builder *b)
{
    uint32_t stride = 1;
    int rc = 0;

    for (uint32_t d = 0; d < b->n->dim_count && !rc; d++) {
        const struct astra_net_dim *dim = &b->n->dim[d];

        for (uint32_t g = 0; dim->npus > 1 && g < b->n->npu_count / dim->npus && !rc; g++)
            rc = join_npus(b, dim, g / stride * stride * dim->npus + g % stride, stride);
        stride *= dim->npus;
    }
    return rc;
}

int run_chakra_network(const struct astra_network *n, struct topo **out)
{
    struct builder b = {.n = n, .next_switch = n->npu_count};
    const uint32_t switches = count_switches(n);
    int rc = topo_create(&b.t, n->npu_count + switches);

    if (rc)
        return rc;
    for (uint32_t i = 0; i < switches; i++)
        topo_set_kind(b.t, n->npu_count + i, NODE_SWITCH);
    rc = join_all(&b);
    if (!rc)
        rc = topo_finish(b.t);
    if (rc) {
        topo_destroy(b.t);
        return rc;
    }
    *out = b.t;
    return 0;
}
