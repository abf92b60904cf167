/*
 * dag_record.c - see dag_record.h.
 */
#include "dag_record.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

struct row_list {
    uint32_t *row;
    uint32_t count, cap;
};

struct record_stream {
    uint32_t prev;          /* node that the next one follows; NONE */
    struct row_list waited; /* nodes behind the events that it waited for */
    uint32_t event, event_total, is_waiting;
};

struct record_rank {
    struct row_list open; /* nodes under way */
    struct row_list ended;
    int64_t ended_ps; /* at which those have ended */
    uint32_t count;
};

/* The nodes that were last in their streams when the event was recorded; NONE for none. */
struct record_event {
    struct row_list nodes;
};

static int push_row(struct row_list *l, uint32_t row)
{
    if (l->count == l->cap) {
        const uint32_t cap = l->cap ? 2 * l->cap : 8;
        uint32_t *rows = realloc(l->row, cap * sizeof *rows);

        if (!rows)
            return WH_ERR_NOMEM;
        l->row = rows;
        l->cap = cap;
    }
    l->row[l->count++] = row;
    return 0;
}

static struct record_stream *stream_at(const struct dag_record *r, uint32_t rank, uint32_t stream)
{
    return &r->streams[(size_t)rank * r->stream_count + stream];
}

static struct record_event *event_at(const struct dag_record *r, uint32_t rank, uint32_t event)
{
    return &r->events[(size_t)rank * r->event_count + event];
}

static int keep_text(struct dag_record *r, const char *text, uint32_t *at)
{
    const size_t bytes = strlen(text) + 1;

    if (r->text_bytes + bytes > r->text_cap) {
        const size_t cap = 2 * (r->text_cap + bytes);
        char *rows = cap < UINT32_MAX ? realloc(r->text, cap) : NULL;

        if (!rows)
            return WH_ERR_NOMEM;
        r->text = rows;
        r->text_cap = (uint32_t)cap;
    }
    memcpy(r->text + r->text_bytes, text, bytes);
    *at = r->text_bytes;
    r->text_bytes += (uint32_t)bytes;
    return 0;
}

static int has_dep(const struct dag_record *r, const struct record_node *n, uint32_t on)
{
    for (uint32_t i = 0; i < n->dep_count; i++)
        if (r->deps[n->dep_first + i] == on)
            return 1;
    return 0;
}

static int add_dep(struct dag_record *r, struct record_node *n, uint32_t on)
{
    if (on == NONE || has_dep(r, n, on))
        return 0;
    if (r->dep_count == r->dep_cap) {
        const uint32_t cap = r->dep_cap ? 2 * r->dep_cap : 256;
        uint32_t *rows = realloc(r->deps, cap * sizeof *rows);

        if (!rows)
            return WH_ERR_NOMEM;
        r->deps = rows;
        r->dep_cap = cap;
    }
    r->deps[r->dep_count++] = on;
    n->dep_count++;
    return 0;
}

static int add_deps(struct dag_record *r, struct record_node *n, const struct row_list *l)
{
    int rc = 0;

    for (uint32_t i = 0; i < l->count && !rc; i++)
        rc = add_dep(r, n, l->row[i]);
    return rc;
}

static int new_node(struct dag_record *r, uint32_t rank, uint32_t stream, const struct op *op,
                    struct record_node **out)
{
    struct record_node *n;
    uint32_t name;

    if (r->node_count == r->node_cap) {
        const uint32_t cap = r->node_cap ? 2 * r->node_cap : 256;
        struct record_node *rows = realloc(r->nodes, cap * sizeof *rows);

        if (!rows)
            return WH_ERR_NOMEM;
        r->nodes = rows;
        r->node_cap = cap;
    }
    if (keep_text(r, op->name ? op->name : "", &name))
        return WH_ERR_NOMEM;
    n = &r->nodes[r->node_count++];
    *n = (struct record_node){.op = *op,
                              .rank = rank,
                              .stream = stream,
                              .dep_first = r->dep_count,
                              .name = name,
                              .index = r->ranks[rank].count++};
    n->op.name = NULL;
    *out = n;
    return 0;
}

static int note_op(struct dag_record *r, uint32_t rank, uint32_t stream, const struct op *op)
{
    struct record_stream *st = stream_at(r, rank, stream);
    struct record_node *n;
    const uint32_t row = r->node_count;
    int rc = new_node(r, rank, stream, op, &n);

    if (!rc)
        rc = add_dep(r, n, st->prev);
    if (!rc)
        rc = add_deps(r, n, &st->waited);
    if (!rc)
        rc = add_deps(r, n, &r->ranks[rank].ended);
    if (!rc)
        rc = push_row(&r->ranks[rank].open, row);
    st->waited.count = 0;
    if (!op->is_async)
        st->prev = row;
    return rc;
}

/* The wait is over once the stream asks again: all that it waited for has been recorded. */
static int resolve_wait(struct dag_record *r, uint32_t rank, struct record_stream *st)
{
    const struct row_list *l;
    int rc = 0;

    if (!st->is_waiting)
        return 0;
    st->is_waiting = 0;
    l = &event_at(r, rank, st->event)->nodes;
    for (uint32_t i = 0; i < st->event_total && i < l->count && !rc; i++) {
        /* of the nodes of one stream the last says it all */
        const int is_last = i + 1 == st->event_total || i + 1 == l->count || l->row[i] == NONE ||
                            l->row[i + 1] == NONE ||
                            r->nodes[l->row[i]].stream != r->nodes[l->row[i + 1]].stream;

        if (is_last && l->row[i] != NONE)
            rc = push_row(&st->waited, l->row[i]);
    }
    return rc;
}

static int record_next(void *ctx, uint32_t rank, uint32_t stream, struct op *out)
{
    struct dag_record *r = ctx;
    struct record_stream *st = stream_at(r, rank, stream);
    int rc = resolve_wait(r, rank, st);
    const int got = rc ? rc : r->inner.next(r->inner.ctx, rank, stream, out);

    if (got != DAG_OP)
        return got;
    if (out->kind == OP_WAIT || out->kind == OP_RECORD) {
        if (out->event >= r->event_count)
            return got; /* the DAG refuses it */
        if (out->kind == OP_RECORD)
            rc = push_row(&event_at(r, rank, out->event)->nodes, st->prev);
        st->is_waiting = out->kind == OP_WAIT;
        st->event = out->event;
        st->event_total = out->event_total;
    } else {
        rc = note_op(r, rank, stream, out);
    }
    return rc ? rc : got;
}

/* An operation that ends is known by stream, id and token. */
static int note_end(struct dag_record *r, uint32_t rank, uint32_t stream, const struct op *op,
                    int64_t now_ps)
{
    struct record_rank *k = &r->ranks[rank];

    for (uint32_t i = 0; i < k->open.count; i++) {
        const uint32_t row = k->open.row[i];
        const struct record_node *n = &r->nodes[row];

        if (n->stream != stream || n->op.id != op->id || n->op.token != op->token ||
            n->op.kind != op->kind)
            continue;
        k->open.row[i] = k->open.row[--k->open.count];
        if (k->ended_ps != now_ps)
            k->ended.count = 0;
        k->ended_ps = now_ps;
        return push_row(&k->ended, row);
    }
    return 0;
}

static void record_done(void *ctx, uint32_t rank, uint32_t stream, const struct op *op,
                        int64_t now_ps)
{
    struct dag_record *r = ctx;

    /* Without memory a dependency is lost that the next call of next() will miss, too: it fails. */
    if (op->kind != OP_RECORD && op->kind != OP_WAIT)
        (void)note_end(r, rank, stream, op, now_ps);
    if (r->inner.done)
        r->inner.done(r->inner.ctx, rank, stream, op, now_ps);
}

static const char *record_stream_name(void *ctx, uint32_t stream)
{
    const struct dag_record *r = ctx;

    return r->inner.stream_name(r->inner.ctx, stream);
}

static void record_waits(void *ctx, uint32_t rank, uint32_t stream, char *buf, size_t buf_bytes)
{
    const struct dag_record *r = ctx;

    r->inner.waits(r->inner.ctx, rank, stream, buf, buf_bytes);
}

int dag_record_create(struct dag_record **out, struct dag_spec *spec)
{
    const size_t ranks = spec->place->rank_count;
    struct dag_record *r = calloc(1, sizeof *r);

    if (!r)
        return WH_ERR_NOMEM;
    r->place = spec->place;
    r->groups = spec->groups;
    r->inner = spec->program;
    r->stream_count = spec->stream_count;
    r->event_count = spec->event_count;
    r->streams = calloc(ranks * spec->stream_count + 1, sizeof *r->streams);
    r->ranks = calloc(ranks + 1, sizeof *r->ranks);
    r->events = calloc(ranks * spec->event_count + 1, sizeof *r->events);
    if (!r->streams || !r->ranks || !r->events) {
        dag_record_destroy(r);
        return WH_ERR_NOMEM;
    }
    for (size_t i = 0; i < ranks * spec->stream_count; i++)
        r->streams[i].prev = NONE;
    for (size_t i = 0; i < ranks; i++)
        r->ranks[i].ended_ps = -1;
    spec->program = (struct dag_program){r, record_next, record_done,
                                         r->inner.stream_name ? record_stream_name : NULL,
                                         r->inner.waits ? record_waits : NULL};
    *out = r;
    return 0;
}

void dag_record_destroy(struct dag_record *r)
{
    if (!r)
        return;
    for (size_t i = 0; r->streams && i < (size_t)r->place->rank_count * r->stream_count; i++)
        free(r->streams[i].waited.row);
    for (size_t i = 0; r->ranks && i < r->place->rank_count; i++) {
        free(r->ranks[i].open.row);
        free(r->ranks[i].ended.row);
    }
    for (size_t i = 0; r->events && i < (size_t)r->place->rank_count * r->event_count; i++)
        free(r->events[i].nodes.row);
    free(r->streams);
    free(r->ranks);
    free(r->events);
    free(r->nodes);
    free(r->deps);
    free(r->text);
    free(r);
}

const char *dag_record_name(const struct dag_record *r, const struct record_node *n)
{
    return r->text[n->name] ? r->text + n->name : op_kind_name(n->op.kind);
}
