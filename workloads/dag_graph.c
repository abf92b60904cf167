/*
 * dag_graph.c - see dag_graph.h.
 *
 * Each lane has a heap of its ready nodes by (id, row). A node becomes ready when its count of open
 * dependencies reaches 0. The DAG is asked to come back (dag_wake) when an idle lane gets a node.
 */
#include "dag_graph.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct node {
    struct op op;
    uint32_t rank, lane;
    uint32_t open;      /* dependencies not met */
    uint32_t dep_first; /* who depends on it: rows of dep, first row of dep */
    uint8_t is_started, is_over;
};

struct dep {
    uint32_t on, node;
    uint32_t kind;
};

struct lane_heap {
    uint32_t *row; /* heap of nodes */
    uint32_t count, cap;
};

struct dag_graph {
    uint32_t rank_count, lane_count;
    struct dag *d;
    struct node *node;
    struct dep *dep;        /* after finish: sorted by (on, node) */
    struct lane_heap *heap; /* shape: [rank][lane] */
    uint32_t *lane_left;    /* shape: [rank][lane], nodes not started */
    uint32_t node_count, node_cap, dep_count, dep_cap, over;
    int rc;
};

int dag_graph_create(struct dag_graph **out, uint32_t rank_count, uint32_t lane_count)
{
    const size_t lanes = (size_t)rank_count * lane_count;
    struct dag_graph *g = calloc(1, sizeof *g);

    if (!g)
        return WH_ERR_NOMEM;
    g->rank_count = rank_count;
    g->lane_count = lane_count;
    g->heap = calloc(lanes + 1, sizeof *g->heap);
    g->lane_left = calloc(lanes + 1, sizeof *g->lane_left);
    if (!g->heap || !g->lane_left) {
        dag_graph_destroy(g);
        return WH_ERR_NOMEM;
    }
    *out = g;
    return 0;
}

void dag_graph_destroy(struct dag_graph *g)
{
    if (!g)
        return;
    for (size_t i = 0; g->heap && i < (size_t)g->rank_count * g->lane_count; i++)
        free(g->heap[i].row);
    free(g->heap);
    free(g->lane_left);
    free(g->node);
    free(g->dep);
    free(g);
}

/* ---- building ---- */

static void *grow(void *rows, uint32_t count, uint32_t *cap, size_t row_bytes)
{
    const uint32_t more = *cap ? 2 * *cap : 64;
    void *p;

    if (count < *cap)
        return rows;
    p = realloc(rows, more * row_bytes);
    if (p)
        *cap = more;
    return p;
}

int dag_graph_add(struct dag_graph *g, uint32_t rank, uint32_t lane, const struct op *op,
                  uint32_t *node)
{
    struct node *rows = grow(g->node, g->node_count, &g->node_cap, sizeof *rows);

    if (!rows)
        return WH_ERR_NOMEM;
    check(rank < g->rank_count && lane < g->lane_count, "rank %u, lane %u", rank, lane);
    g->node = rows;
    rows[g->node_count] = (struct node){.op = *op, .rank = rank, .lane = lane};
    g->lane_left[(size_t)rank * g->lane_count + lane]++;
    *node = g->node_count++;
    return 0;
}

int dag_graph_depend(struct dag_graph *g, uint32_t node, uint32_t on, enum graph_dep kind)
{
    struct dep *rows = grow(g->dep, g->dep_count, &g->dep_cap, sizeof *rows);

    if (!rows)
        return WH_ERR_NOMEM;
    check(node < g->node_count && on < g->node_count && g->node[node].rank == g->node[on].rank,
          "nodes %u and %u", node, on);
    g->dep = rows;
    rows[g->dep_count++] = (struct dep){.on = on, .node = node, .kind = kind};
    g->node[node].open++;
    return 0;
}

static int compare_deps(const void *a, const void *b)
{
    const struct dep *x = a, *y = b;

    if (x->on != y->on)
        return x->on < y->on ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

/* ---- ready nodes ---- */

static struct lane_heap *heap_of(const struct dag_graph *g, const struct node *n)
{
    return &g->heap[(size_t)n->rank * g->lane_count + n->lane];
}

static int is_before(const struct dag_graph *g, uint32_t a, uint32_t b)
{
    if (g->node[a].op.id != g->node[b].op.id)
        return g->node[a].op.id < g->node[b].op.id;
    return a < b;
}

static int push_ready(struct dag_graph *g, uint32_t node)
{
    struct lane_heap *h = heap_of(g, &g->node[node]);
    uint32_t *rows = grow(h->row, h->count, &h->cap, sizeof *rows);
    uint32_t i;

    if (!rows)
        return WH_ERR_NOMEM;
    h->row = rows;
    i = h->count++;
    while (i > 0 && is_before(g, node, rows[(i - 1) / 2])) {
        rows[i] = rows[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    rows[i] = node;
    return 0;
}

static uint32_t pop_ready(const struct dag_graph *g, struct lane_heap *h)
{
    const uint32_t top = h->row[0], last = h->row[--h->count];
    uint32_t i = 0;

    for (;;) {
        uint32_t child = 2 * i + 1;

        if (child >= h->count)
            break;
        if (child + 1 < h->count && is_before(g, h->row[child + 1], h->row[child]))
            child++;
        if (!is_before(g, h->row[child], last))
            break;
        h->row[i] = h->row[child];
        i = child;
    }
    h->row[i] = last;
    return top;
}

/* @node has started, or is over: what depends on that may have become ready. */
static void release(struct dag_graph *g, uint32_t node, enum graph_dep kind)
{
    for (uint32_t i = g->node[node].dep_first; i < g->dep_count && g->dep[i].on == node; i++) {
        struct node *n = &g->node[g->dep[i].node];

        if (g->dep[i].kind != (uint32_t)kind || --n->open)
            continue;
        if (push_ready(g, g->dep[i].node))
            g->rc = WH_ERR_NOMEM;
        if (g->d)
            dag_wake(g->d, n->rank, n->lane);
    }
}

/* ---- circles ---- */

/* Names some node that is on a circle or behind one: it stays when all others are taken away. */
static int refuse_circle(const struct dag_graph *g, const uint32_t *open, struct err_info *e)
{
    char list[256] = "";
    size_t used = 0;
    uint32_t first = 0;

    while (!open[first])
        first++;
    for (uint32_t i = first; i < g->node_count && used < 200; i++)
        if (open[i] && g->node[i].rank == g->node[first].rank)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%" PRIu64,
                                     used ? ", " : "", g->node[i].op.id);
    return err_set(e, WH_ERR_INPUT, NULL, 0,
                   "rank %" PRIu32 ": the dependencies of operations %s go in a circle",
                   g->node[first].rank, list);
}

static int find_circle(const struct dag_graph *g, struct err_info *e)
{
    uint32_t *open = malloc((2 * (size_t)g->node_count + 1) * sizeof *open);
    uint32_t *todo = open + g->node_count;
    uint32_t head = 0, tail = 0;
    int rc = 0;

    if (!open)
        return WH_ERR_NOMEM;
    for (uint32_t i = 0; i < g->node_count; i++) {
        open[i] = g->node[i].open;
        if (!open[i])
            todo[tail++] = i;
    }
    while (head < tail) {
        const uint32_t n = todo[head++];

        for (uint32_t i = g->node[n].dep_first; i < g->dep_count && g->dep[i].on == n; i++)
            if (!--open[g->dep[i].node])
                todo[tail++] = g->dep[i].node;
    }
    if (tail < g->node_count)
        rc = refuse_circle(g, open, e);
    free(open);
    return rc;
}

int dag_graph_finish(struct dag_graph *g, struct err_info *e)
{
    uint32_t at = 0;
    int rc;

    if (g->dep_count)
        qsort(g->dep, g->dep_count, sizeof *g->dep, compare_deps);
    for (uint32_t i = 0; i < g->node_count; i++) {
        while (at < g->dep_count && g->dep[at].on < i)
            at++;
        g->node[i].dep_first = at;
    }
    rc = find_circle(g, e);
    for (uint32_t i = 0; i < g->node_count && !rc; i++)
        if (!g->node[i].open)
            rc = push_ready(g, i);
    return rc;
}

/* ---- the program ---- */

/* The token of an operation is its row. */
static int graph_next(void *ctx, uint32_t rank, uint32_t lane, struct op *out)
{
    struct dag_graph *g = ctx;
    const size_t row = (size_t)rank * g->lane_count + lane;
    uint32_t node;

    if (g->rc)
        return g->rc;
    if (!g->heap[row].count)
        return g->lane_left[row] ? DAG_IDLE : DAG_END;
    node = pop_ready(g, &g->heap[row]);
    g->lane_left[row]--;
    g->node[node].is_started = 1;
    *out = g->node[node].op;
    out->token = node;
    release(g, node, GRAPH_AFTER_START);
    return DAG_OP;
}

static void graph_done(void *ctx, uint32_t rank, uint32_t lane, const struct op *op, int64_t now_ps)
{
    struct dag_graph *g = ctx;
    const uint32_t node = (uint32_t)op->token;

    (void)rank;
    (void)lane;
    (void)now_ps;
    g->node[node].is_over = 1;
    g->over++;
    release(g, node, GRAPH_AFTER_END);
}

static uint32_t find_waiting(const struct dag_graph *g, uint32_t rank, uint32_t lane)
{
    uint32_t best = UINT32_MAX;

    for (uint32_t i = 0; i < g->node_count; i++)
        if (g->node[i].rank == rank && g->node[i].lane == lane && !g->node[i].is_started &&
            (best == UINT32_MAX || is_before(g, i, best)))
            best = i;
    return best;
}

static void graph_waits(void *ctx, uint32_t rank, uint32_t lane, char *buf, size_t buf_bytes)
{
    const struct dag_graph *g = ctx;
    const uint32_t node = find_waiting(g, rank, lane);
    size_t used = 0;

    if (node == UINT32_MAX)
        return;
    used = (size_t)snprintf(buf, buf_bytes, "operation %" PRIu64 " waits for operation",
                            g->node[node].op.id);
    for (uint32_t i = 0; i < g->dep_count && used < buf_bytes; i++)
        if (g->dep[i].node == node && !g->node[g->dep[i].on].is_over)
            used += (size_t)snprintf(buf + used, buf_bytes - used, " %" PRIu64,
                                     g->node[g->dep[i].on].op.id);
}

struct dag_program dag_graph_program(struct dag_graph *g)
{
    return (struct dag_program){
        .ctx = g, .next = graph_next, .done = graph_done, .waits = graph_waits};
}

void dag_graph_attach(struct dag_graph *g, struct dag *d)
{
    g->d = d;
}

uint32_t dag_graph_node_count(const struct dag_graph *g)
{
    return g->node_count;
}

uint32_t dag_graph_nodes_left(const struct dag_graph *g)
{
    return g->node_count - g->over;
}
