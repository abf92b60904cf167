/*
 * export_goal.c - see export_goal.h.
 *
 * Labels: n<i> is the i-th operation of the rank, in which what depends on it waits; of a
 * collective that is its end, n<i>h its begin. s<k> and q<k> send and receive message k of all
 * collectives; their tags are FIRST_TAG + k, those of sends and receives are kept.
 */
#include "export_goal.h"

#include "units.h"

#include <inttypes.h>
#include <stdlib.h>

#define NONE UINT32_MAX
#define FIRST_TAG 0x80000000u
#define CPU_MAX 255u

struct message {
    uint32_t src, dst, in; /* members */
    uint32_t lane, step;
    int64_t bytes;
};

/* A message as its receiver counts it. */
struct arrival {
    uint32_t dst, in, row;
};

/* One collective: messages by (sender, lane, step). */
struct instance {
    struct coll_plan plan;
    struct message *row;
    uint32_t count, first_tag;
    struct arrival *by_dst; /* shape: [count], by (receiver, inbox, row) */
    uint32_t *first_src;    /* shape: [members + 1] */
    uint32_t *first_dst;    /* shape: [members + 1], of by_dst */
    uint32_t joined;
};

struct goal_export {
    FILE *f;
    const struct dag_record *r;
    struct instance *row;
    uint32_t count, cap, message_count;
    uint32_t *instance_of; /* shape: [node_count], of a collective */
    struct err_info *e;
};

/* ---- the collectives ---- */

static int count_messages(struct instance *x, struct err_info *e)
{
    uint64_t count = 0;

    for (uint32_t m = 0; m < x->plan.n && x->plan.ops; m++)
        for (uint32_t l = 0; l < x->plan.lane_count; l++)
            count += x->plan.ops->step_count(&x->plan, m, l);
    if (count >= FIRST_TAG)
        return err_set(e, WH_ERR_LIMIT, NULL, 0,
                       "found a collective of %" PRIu64 " messages, expected fewer than 2^31",
                       count);
    x->count = (uint32_t)count;
    return 0;
}

static void fill_messages(struct instance *x)
{
    uint32_t at = 0;

    for (uint32_t m = 0; m < x->plan.n; m++) {
        x->first_src[m] = at;
        for (uint32_t l = 0; l < x->plan.lane_count && x->plan.ops; l++) {
            const uint32_t steps = x->plan.ops->step_count(&x->plan, m, l);

            for (uint32_t s = 0; s < steps; s++) {
                struct coll_send send;

                x->plan.ops->step(&x->plan, m, l, s, &send);
                x->row[at++] = (struct message){m, send.dst, send.in, l, s, send.bytes};
            }
        }
    }
    x->first_src[x->plan.n] = at;
}

static int compare_arrivals(const void *a, const void *b)
{
    const struct arrival *x = a, *y = b;

    if (x->dst != y->dst)
        return x->dst < y->dst ? -1 : 1;
    if (x->in != y->in)
        return x->in < y->in ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static void sort_arrivals(struct instance *x)
{
    uint32_t at = 0;

    for (uint32_t i = 0; i < x->count; i++)
        x->by_dst[i] = (struct arrival){x->row[i].dst, x->row[i].in, i};
    if (x->count)
        qsort(x->by_dst, x->count, sizeof *x->by_dst, compare_arrivals);
    for (uint32_t m = 0; m <= x->plan.n; m++) {
        while (at < x->count && x->by_dst[at].dst < m)
            at++;
        x->first_dst[m] = at;
    }
}

static int make_instance(struct goal_export *g, const struct record_node *n, struct instance *x)
{
    const struct group *group = &g->r->groups->groups[n->op.group];
    int rc = coll_plan_init(&x->plan, group, &n->op.call, g->e);

    if (!rc)
        rc = count_messages(x, g->e);
    if (rc)
        return rc;
    if (x->count >= FIRST_TAG - g->message_count)
        return err_set(g->e, WH_ERR_LIMIT, NULL, 0,
                       "found more than 2^31 messages of collectives, expected fewer");
    x->first_tag = g->message_count;
    g->message_count += x->count;
    x->row = malloc(((size_t)x->count + 1) * sizeof *x->row);
    x->by_dst = malloc(((size_t)x->count + 1) * sizeof *x->by_dst);
    x->first_src = calloc((size_t)x->plan.n + 1, sizeof *x->first_src);
    x->first_dst = calloc((size_t)x->plan.n + 1, sizeof *x->first_dst);
    if (!x->row || !x->by_dst || !x->first_src || !x->first_dst)
        return WH_ERR_NOMEM;
    fill_messages(x);
    sort_arrivals(x);
    return 0;
}

static int add_instance(struct goal_export *g, const struct record_node *n)
{
    if (g->count == g->cap) {
        const uint32_t cap = g->cap ? 2 * g->cap : 64;
        struct instance *rows = realloc(g->row, cap * sizeof *rows);

        if (!rows)
            return WH_ERR_NOMEM;
        g->row = rows;
        g->cap = cap;
    }
    g->row[g->count] = (struct instance){.count = 0};
    return make_instance(g, n, &g->row[g->count++]);
}

/* Calls of each member so far, and the instances of a group. */
struct calls {
    uint32_t *made; /* shape: [members] */
    uint32_t *instance;
    uint32_t count, cap;
};

static int find_instance(struct goal_export *g, struct calls *c, const struct record_node *n,
                         uint32_t *out)
{
    const struct group *group = &g->r->groups->groups[n->op.group];
    const uint32_t member = group_member(group, n->rank);
    uint32_t seq;

    if (!c->made)
        c->made = calloc((size_t)group->rank_count + 1, sizeof *c->made);
    if (!c->made)
        return WH_ERR_NOMEM;
    seq = c->made[member]++;
    if (seq == c->count) {
        int rc;

        if (c->count == c->cap) {
            const uint32_t cap = c->cap ? 2 * c->cap : 8;
            uint32_t *rows = realloc(c->instance, cap * sizeof *rows);

            if (!rows)
                return WH_ERR_NOMEM;
            c->instance = rows;
            c->cap = cap;
        }
        c->instance[c->count++] = g->count;
        rc = add_instance(g, n);
        if (rc)
            return rc;
    }
    *out = c->instance[seq];
    g->row[*out].joined++;
    return 0;
}

static int find_instances(struct goal_export *g)
{
    struct calls *calls = calloc((size_t)g->r->groups->count + 1, sizeof *calls);
    int rc = calls ? 0 : WH_ERR_NOMEM;

    for (uint32_t i = 0; i < g->r->node_count && !rc; i++) {
        const struct record_node *n = &g->r->nodes[i];

        if (n->op.kind == OP_COLL)
            rc = find_instance(g, &calls[n->op.group], n, &g->instance_of[i]);
    }
    for (uint32_t i = 0; i < g->r->groups->count && calls; i++) {
        free(calls[i].made);
        free(calls[i].instance);
    }
    free(calls);
    for (uint32_t i = 0; i < g->count && !rc; i++)
        if (g->row[i].joined < g->row[i].plan.n)
            rc = err_set(g->e, WH_ERR_INPUT, NULL, 0,
                         "found %u of %u ranks at a collective of group '%s', expected all: the "
                         "run did not end",
                         g->row[i].joined, g->row[i].plan.n, g->row[i].plan.g->name);
    return rc;
}

/* ---- the text ---- */

static uint32_t cpu_of(const struct record_node *n)
{
    return n->stream < CPU_MAX ? n->stream : CPU_MAX;
}

static void print_deps(struct goal_export *g, const struct record_node *n, const char *suffix)
{
    for (uint32_t i = 0; i < n->dep_count; i++)
        fprintf(g->f, "n%" PRIu32 "%s requires n%" PRIu32 "\n", n->index, suffix,
                g->r->nodes[g->r->deps[n->dep_first + i]].index);
}

static void print_receives(struct goal_export *g, const struct instance *x, uint32_t member,
                           const struct record_node *n)
{
    for (uint32_t i = x->first_dst[member]; i < x->first_dst[member + 1]; i++) {
        const struct message *m = &x->row[x->by_dst[i].row];
        const uint32_t k = x->first_tag + x->by_dst[i].row;

        fprintf(g->f,
                "q%" PRIu32 ": recv %" PRId64 "b from %" PRIu32 " tag %" PRIu32 " cpu %" PRIu32
                "\nq%" PRIu32 " requires n%" PRIu32 "h\n",
                k, m->bytes, x->plan.g->rank[m->src], FIRST_TAG + k, cpu_of(n), k, n->index);
    }
}

/* The first @count arrivals of an inbox. */
static void print_needs(struct goal_export *g, const struct instance *x, uint32_t member,
                        uint32_t in, uint32_t count, uint32_t send)
{
    for (uint32_t i = x->first_dst[member]; i < x->first_dst[member + 1] && count; i++) {
        if (x->by_dst[i].in != in)
            continue;
        fprintf(g->f, "s%" PRIu32 " requires q%" PRIu32 "\n", send,
                x->first_tag + x->by_dst[i].row);
        count--;
    }
}

static void print_sends(struct goal_export *g, const struct instance *x, uint32_t member,
                        const struct record_node *n)
{
    for (uint32_t i = x->first_src[member]; i < x->first_src[member + 1]; i++) {
        const struct message *m = &x->row[i];
        const uint32_t k = x->first_tag + i;
        struct coll_send send;

        x->plan.ops->step(&x->plan, member, m->lane, m->step, &send);
        fprintf(g->f,
                "s%" PRIu32 ": send %" PRId64 "b to %" PRIu32 " tag %" PRIu32 " cpu %" PRIu32 "\n",
                k, m->bytes, x->plan.g->rank[m->dst], FIRST_TAG + k, cpu_of(n));
        if (m->step)
            fprintf(g->f, "s%" PRIu32 " requires s%" PRIu32 "\n", k, k - 1);
        else
            fprintf(g->f, "s%" PRIu32 " requires n%" PRIu32 "h\n", k, n->index);
        for (int j = 0; j < 2; j++)
            if (send.need_in[j] != COLL_IN_NONE)
                print_needs(g, x, member, send.need_in[j], send.need[j], k);
    }
}

static void print_coll(struct goal_export *g, const struct record_node *n, const struct instance *x)
{
    const uint32_t member = group_member(x->plan.g, n->rank);

    fprintf(g->f, "n%" PRIu32 "h: calc 0 cpu %" PRIu32 "\n", n->index, cpu_of(n));
    print_deps(g, n, "h");
    print_receives(g, x, member, n);
    print_sends(g, x, member, n);
    fprintf(g->f, "n%" PRIu32 ": calc 0 cpu %" PRIu32 "\nn%" PRIu32 " requires n%" PRIu32 "h\n",
            n->index, cpu_of(n), n->index, n->index);
    for (uint32_t i = x->first_dst[member]; i < x->first_dst[member + 1]; i++)
        fprintf(g->f, "n%" PRIu32 " requires q%" PRIu32 "\n", n->index,
                x->first_tag + x->by_dst[i].row);
    for (uint32_t i = x->first_src[member]; i < x->first_src[member + 1]; i++)
        fprintf(g->f, "n%" PRIu32 " requires s%" PRIu32 "\n", n->index, x->first_tag + i);
}

static int print_p2p(struct goal_export *g, const struct record_node *n)
{
    const int is_send = n->op.kind == OP_SEND;

    if (n->op.tag >= FIRST_TAG)
        return err_set(g->e, WH_ERR_INPUT, NULL, 0,
                       "rank %u, operation %" PRIu64 ": found tag %u, expected one below 2^31",
                       n->rank, n->op.id, n->op.tag);
    fprintf(g->f, "n%" PRIu32 ": %s %" PRId64 "b %s %" PRIu32 " tag %" PRIu32 " cpu %" PRIu32 "\n",
            n->index, is_send ? "send" : "recv", n->op.bytes > 0 ? n->op.bytes : 0,
            is_send ? "to" : "from", n->op.peer, n->op.tag, cpu_of(n));
    print_deps(g, n, "");
    return 0;
}

static int print_node(struct goal_export *g, uint32_t row)
{
    const struct record_node *n = &g->r->nodes[row];

    if (n->op.kind == OP_COLL) {
        print_coll(g, n, &g->row[g->instance_of[row]]);
        return 0;
    }
    if (n->op.kind != OP_COMPUTE)
        return print_p2p(g, n);
    fprintf(g->f, "n%" PRIu32 ": calc %" PRId64 " cpu %" PRIu32 "\n", n->index,
            (n->op.duration_ps + PS_PER_NS / 2) / PS_PER_NS, cpu_of(n));
    print_deps(g, n, "");
    return 0;
}

/* Nodes by rank: a list for each, so that the record is gone through once. */
static int print_ranks(struct goal_export *g)
{
    const uint32_t ranks = g->r->place->rank_count;
    uint32_t *first = malloc(((size_t)2 * ranks + g->r->node_count + 1) * sizeof *first);
    uint32_t *last = first + ranks, *next = last + ranks;
    int rc = 0;

    if (!first)
        return WH_ERR_NOMEM;
    for (uint32_t k = 0; k < ranks; k++)
        first[k] = NONE;
    for (uint32_t i = 0; i < g->r->node_count; i++) {
        const uint32_t k = g->r->nodes[i].rank;

        next[i] = NONE;
        if (first[k] == NONE)
            first[k] = i;
        else
            next[last[k]] = i;
        last[k] = i;
    }
    fprintf(g->f, "num_ranks %" PRIu32 "\n", ranks);
    for (uint32_t k = 0; k < ranks && !rc; k++) {
        fprintf(g->f, "\nrank %" PRIu32 " {\n", k);
        for (uint32_t i = first[k]; i != NONE && !rc; i = next[i])
            rc = print_node(g, i);
        fprintf(g->f, "}\n");
    }
    free(first);
    return rc;
}

int export_goal(FILE *f, const struct dag_record *r, struct err_info *e)
{
    struct goal_export g = {.f = f, .r = r, .e = e};
    int rc = WH_ERR_NOMEM;

    g.instance_of = calloc((size_t)r->node_count + 1, sizeof *g.instance_of);
    if (g.instance_of)
        rc = find_instances(&g);
    if (!rc)
        rc = print_ranks(&g);
    if (!rc && ferror(f))
        rc = WH_ERR_IO;
    for (uint32_t i = 0; i < g.count; i++) {
        free(g.row[i].row);
        free(g.row[i].by_dst);
        free(g.row[i].first_src);
        free(g.row[i].first_dst);
    }
    free(g.row);
    free(g.instance_of);
    return rc;
}
