/*
 * chakra.c - execution traces in memory: adding nodes, resolving dependencies, finding cycles.
 *
 * Dependencies are ids while nodes are added, as a node may come before what it waits for, and rows
 * once the trace is finished.
 */
#include "chakra_int.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define CYCLE_SHOWN_MAX 8 /* ids of a cycle that a message names */

const char *et_type_name(enum et_type type)
{
    static const char *const names[ET_TYPE_COUNT] = {"invalid",      "metadata",  "memory load",
                                                     "memory store", "compute",   "send",
                                                     "receive",      "collective"};

    return names[type];
}

const char *et_comm_name(enum et_comm comm)
{
    static const char *const names[ET_COMM_COUNT] = {
        "all-reduce", "reduce",         "all-gather",           "gather", "scatter", "broadcast",
        "all-to-all", "reduce-scatter", "reduce-scatter block", "barrier"};

    return names[comm];
}

int et_trace_create(struct et_trace **out, const char *path, uint32_t rank)
{
    struct et_trace *t = calloc(1, sizeof *t);
    uint32_t empty;

    if (!t)
        return WH_ERR_NOMEM;
    strncpy(t->path, path, sizeof t->path - 1);
    t->rank = rank;
    if (et__add_text(t, "", &empty)) { /* offset 0 */
        et_trace_destroy(t);
        return WH_ERR_NOMEM;
    }
    *out = t;
    return 0;
}

void et_trace_destroy(struct et_trace *t)
{
    if (!t)
        return;
    free(t->nodes);
    free(t->deps);
    free(t->dep_ids);
    free(t->text);
    free(t);
}

/* Room for @want elements of @element_bytes. */
static int reserve(void **rows, uint32_t *cap, uint64_t want, size_t element_bytes)
{
    uint64_t grown = *cap;

    if (want > UINT32_MAX - 1)
        return WH_ERR_LIMIT;
    if (want <= grown)
        return 0;
    while (grown < want)
        grown = grown ? 2 * grown : 64;
    if (grown > UINT32_MAX)
        grown = UINT32_MAX;
    void *p = realloc(*rows, grown * element_bytes);

    if (!p)
        return WH_ERR_NOMEM;
    *rows = p;
    *cap = (uint32_t)grown;
    return 0;
}

int et__add_text(struct et_trace *t, const char *text, uint32_t *out_at)
{
    size_t bytes = strlen(text) + 1;

    if (bytes == 1 && t->text_bytes) {
        *out_at = 0;
        return 0;
    }
    void *rows = t->text;
    int rc = reserve(&rows, &t->text_cap, (uint64_t)t->text_bytes + bytes, 1);

    t->text = rows;
    if (rc)
        return rc;
    memcpy(t->text + t->text_bytes, text, bytes);
    *out_at = t->text_bytes;
    t->text_bytes += (uint32_t)bytes;
    return 0;
}

static int refuse_node(const struct et_trace *t, const struct et_node *n, const char *found,
                       const char *expected, struct err_info *e)
{
    return err_set(e, WH_ERR_INPUT, t->path, 0, "node %" PRIu64 ": found %s, expected %s", n->id,
                   found, expected);
}

static int check_peers(const struct et_trace *t, const struct et_node *n, struct err_info *e)
{
    if (n->type == ET_SEND && n->comm_dst < 0)
        return refuse_node(t, n, "a send without comm_dst", "the rank to send to", e);
    if (n->type == ET_RECV && n->comm_src < 0)
        return refuse_node(t, n, "a receive without comm_src", "the rank to receive from", e);
    return 0;
}

static int check_node(const struct et_trace *t, const struct et_node *n, struct err_info *e)
{
    char found[96];

    if (n->type >= ET_TYPE_COUNT) {
        snprintf(found, sizeof found, "node type %u", n->type);
        return refuse_node(t, n, found, "0 to 7", e);
    }
    if (n->type == ET_COLLECTIVE && n->comm_type >= ET_COMM_COUNT) {
        snprintf(found, sizeof found, "comm_type %u", n->comm_type);
        return refuse_node(t, n, found, "0 (all-reduce) to 9 (barrier)", e);
    }
    if (n->num_ops > INT64_MAX || n->tensor_bytes > INT64_MAX || n->dim_count > ET_DIMS_MAX)
        return refuse_node(t, n, "num_ops, tensor_size or involved_dim out of range",
                           "at most 2^63 - 1, and 32 dimensions", e);
    if (n->comm_bytes < 0) {
        snprintf(found, sizeof found, "comm_size %" PRId64, n->comm_bytes);
        return refuse_node(t, n, found, "a number of bytes, not negative", e);
    }
    return check_peers(t, n, e);
}

static int add_deps(struct et_trace *t, const uint64_t *ids, size_t count)
{
    void *rows = t->dep_ids;
    int rc = reserve(&rows, &t->dep_cap, (uint64_t)t->dep_count + count, sizeof *ids);

    t->dep_ids = rows;
    if (rc)
        return rc;
    if (count)
        memcpy(t->dep_ids + t->dep_count, ids, count * sizeof *ids);
    t->dep_count += (uint32_t)count;
    return 0;
}

static int add_node(struct et_trace *t, struct et_node *n, const struct et_refs *refs)
{
    void *rows = t->nodes;
    int rc = reserve(&rows, &t->node_cap, (uint64_t)t->node_count + 1, sizeof *n);

    t->nodes = rows;
    n->dep_first = t->dep_count;
    n->data_dep_count = (uint32_t)refs->data_dep_count;
    n->ctrl_dep_count = (uint32_t)refs->ctrl_dep_count;
    if (!rc)
        rc = et__add_text(t, refs->name ? refs->name : "", &n->name);
    if (!rc)
        rc = et__add_text(t, refs->group ? refs->group : "", &n->group);
    if (!rc)
        rc = add_deps(t, refs->data_deps, refs->data_dep_count);
    if (!rc)
        rc = add_deps(t, refs->ctrl_deps, refs->ctrl_dep_count);
    if (!rc)
        t->nodes[t->node_count++] = *n;
    return rc;
}

int et_trace_add(struct et_trace *t, const struct et_node *n, const struct et_refs *refs,
                 struct err_info *e)
{
    struct et_node copy = *n;
    int rc = check_node(t, n, e);

    check(!t->deps, "a node is added to the finished trace of rank %u", t->rank);
    if (rc)
        return rc;
    rc = add_node(t, &copy, refs);
    return rc ? err_set(e, rc, t->path, 0, "%s", err_text(rc)) : 0;
}

struct id_row {
    uint64_t id;
    uint32_t row;
};

static int compare_ids(const void *a, const void *b)
{
    uint64_t x = ((const struct id_row *)a)->id, y = ((const struct id_row *)b)->id;

    return x < y ? -1 : x > y;
}

static int sort_ids(const struct et_trace *t, struct id_row *index, struct err_info *e)
{
    for (uint32_t i = 0; i < t->node_count; i++)
        index[i] = (struct id_row){.id = t->nodes[i].id, .row = i};
    qsort(index, t->node_count, sizeof *index, compare_ids);
    for (uint32_t i = 1; i < t->node_count; i++)
        if (index[i].id == index[i - 1].id)
            return err_set(e, WH_ERR_INPUT, t->path, 0,
                           "found two nodes with id %" PRIu64 ", expected each id once",
                           index[i].id);
    return 0;
}

static int resolve_node(struct et_trace *t, const struct et_node *n, const struct id_row *index,
                        struct err_info *e)
{
    for (uint32_t i = 0; i < n->data_dep_count + n->ctrl_dep_count; i++) {
        struct id_row key = {.id = t->dep_ids[n->dep_first + i]};
        const struct id_row *found =
            bsearch(&key, index, t->node_count, sizeof *index, compare_ids);

        if (!found)
            return err_set(e, WH_ERR_INPUT, t->path, 0,
                           "node %" PRIu64 ": found a %s dependency on node %" PRIu64
                           ", which is not in the file, expected the id of a node",
                           n->id, i < n->data_dep_count ? "data" : "control", key.id);
        t->deps[n->dep_first + i] = found->row;
    }
    return 0;
}

static int resolve(struct et_trace *t, struct err_info *e)
{
    struct id_row *index = malloc(((size_t)t->node_count + 1) * sizeof *index);

    t->deps = malloc(((size_t)t->dep_count + 1) * sizeof *t->deps);
    if (!index || !t->deps) {
        free(index);
        return err_set(e, WH_ERR_NOMEM, t->path, 0, "out of memory");
    }
    int rc = sort_ids(t, index, e);

    for (uint32_t i = 0; !rc && i < t->node_count; i++)
        rc = resolve_node(t, &t->nodes[i], index, e);
    free(index);
    return rc;
}

/* Depth-first search with its own stack: a trace may be one long chain. */
enum mark { MARK_NEW, MARK_OPEN, MARK_DONE };

struct search {
    uint8_t *mark;   /* shape: [node_count], enum mark */
    uint32_t *stack; /* shape: [node_count], rows; each waits for the one above it */
    uint32_t *next;  /* shape: [node_count], the dependency to follow next */
    uint32_t depth;
};

/* The stack from @row on is a cycle. */
static int refuse_cycle(const struct et_trace *t, const struct search *s, uint32_t row,
                        struct err_info *e)
{
    char ids[CYCLE_SHOWN_MAX * 24] = "";
    uint32_t first = s->depth - 1;
    size_t used = 0;

    while (s->stack[first] != row)
        first--;
    for (uint32_t i = first; i < s->depth && i - first < CYCLE_SHOWN_MAX; i++)
        used += (size_t)snprintf(ids + used, sizeof ids - used, "%s%" PRIu64, used ? " -> " : "",
                                 t->nodes[s->stack[i]].id);
    return err_set(e, WH_ERR_INPUT, t->path, 0,
                   "found %u node(s) that wait for one another: %s%s -> %" PRIu64
                   " (each waits for the next), expected no cycle",
                   s->depth - first, ids, s->depth - first > CYCLE_SHOWN_MAX ? " -> ..." : "",
                   t->nodes[row].id);
}

static void enter(struct search *s, uint32_t row)
{
    s->mark[row] = MARK_OPEN;
    s->next[row] = 0;
    s->stack[s->depth++] = row;
}

static int search_from(const struct et_trace *t, struct search *s, uint32_t start,
                       struct err_info *e)
{
    enter(s, start);
    while (s->depth) {
        uint32_t row = s->stack[s->depth - 1];
        const struct et_node *n = &t->nodes[row];

        if (s->next[row] == n->data_dep_count + n->ctrl_dep_count) {
            s->mark[row] = MARK_DONE;
            s->depth--;
            continue;
        }
        uint32_t dep = t->deps[n->dep_first + s->next[row]++];

        if (s->mark[dep] == MARK_OPEN)
            return refuse_cycle(t, s, dep, e);
        if (s->mark[dep] == MARK_NEW)
            enter(s, dep);
    }
    return 0;
}

static int check_cycles(const struct et_trace *t, struct err_info *e)
{
    size_t count = (size_t)t->node_count + 1;
    struct search s = {.mark = calloc(count, 1),
                       .stack = malloc(count * sizeof *s.stack),
                       .next = malloc(count * sizeof *s.next)};
    int rc = 0;

    if (!s.mark || !s.stack || !s.next)
        rc = err_set(e, WH_ERR_NOMEM, t->path, 0, "out of memory");
    for (uint32_t i = 0; !rc && i < t->node_count; i++)
        if (s.mark[i] == MARK_NEW)
            rc = search_from(t, &s, i, e);
    free(s.mark);
    free(s.stack);
    free(s.next);
    return rc;
}

int et_trace_finish(struct et_trace *t, struct err_info *e)
{
    int rc = resolve(t, e);

    if (!rc)
        rc = check_cycles(t, e);
    free(t->dep_ids);
    t->dep_ids = NULL;
    return rc;
}

static int check_peer(const struct et_set *s, const struct et_trace *t, const struct et_node *n,
                      int32_t peer, struct err_info *e)
{
    if ((uint32_t)peer >= s->rank_count)
        return err_set(e, WH_ERR_INPUT, t->path, 0,
                       "node %" PRIu64 ": found a %s with rank %d as peer, expected ranks 0 to %u",
                       n->id, et_type_name((enum et_type)n->type), peer, s->rank_count - 1);
    if ((uint32_t)peer == t->rank)
        return err_set(e, WH_ERR_INPUT, t->path, 0,
                       "node %" PRIu64 ": found a %s of rank %d with itself, expected another rank",
                       n->id, et_type_name((enum et_type)n->type), peer);
    return 0;
}

int et_set_check(const struct et_set *s, struct err_info *e)
{
    for (uint32_t r = 0; r < s->rank_count; r++) {
        const struct et_trace *t = s->trace[r];

        for (uint32_t i = 0; i < t->node_count; i++) {
            const struct et_node *n = &t->nodes[i];
            int rc = 0;

            if (n->type == ET_SEND)
                rc = check_peer(s, t, n, n->comm_dst, e);
            else if (n->type == ET_RECV)
                rc = check_peer(s, t, n, n->comm_src, e);
            if (rc)
                return rc;
        }
    }
    return 0;
}

void et_set_fini(struct et_set *s)
{
    for (uint32_t i = 0; s->trace && i < s->rank_count; i++)
        et_trace_destroy(s->trace[i]);
    free(s->trace);
    *s = (struct et_set){0};
}
