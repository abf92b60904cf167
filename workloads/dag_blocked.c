/*
 * dag_blocked.c - who waits for what, when nothing can happen any more (dag_blocked in dag.h).
 */
#include "dag_int.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define TEXT_MAX 700
#define LIST_MAX 160

struct report {
    const struct dag *d;
    uint64_t count, max;
    void (*fn)(void *ctx, const char *text);
    void *ctx;
};

WH_PRINTF(2, 3) static void say(struct report *r, const char *fmt, ...)
{
    char text[TEXT_MAX];
    va_list args;

    r->count++;
    if (r->count > r->max)
        return;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    r->fn(r->ctx, text);
}

/* ---- collectives ---- */

enum member_state { MEMBER_PRESENT, MEMBER_ABSENT, MEMBER_THROUGH };

static enum member_state state_of(const struct inst *x, uint32_t member)
{
    if (!x->has_joined[member])
        return MEMBER_ABSENT;
    return x->task[member] ? MEMBER_PRESENT : MEMBER_THROUGH;
}

/* Ranks of @x in a state: "none", "0, 2", or the first few and how many more. */
static const char *list_members(const struct inst *x, enum member_state state, char *buf)
{
    size_t used = 0;
    uint32_t count = 0, shown = 0;

    for (uint32_t m = 0; m < x->plan.n; m++) {
        if (state_of(x, m) != state)
            continue;
        count++;
        if (used + 32 > LIST_MAX)
            continue;
        used += (size_t)snprintf(buf + used, LIST_MAX - used, "%s%" PRIu32, shown ? ", " : "",
                                 x->plan.g->rank[m]);
        shown++;
    }
    if (!count)
        (void)snprintf(buf, LIST_MAX, "none");
    else if (shown < count)
        (void)snprintf(buf + used, LIST_MAX - used, " and %" PRIu32 " more", count - shown);
    return buf;
}

static void say_coll(struct report *r, const struct inst *x)
{
    char present[LIST_MAX], absent[LIST_MAX];
    uint64_t op_id = 0;

    for (uint32_t m = x->plan.n; m-- > 0;)
        if (x->task[m])
            op_id = x->task[m]->op.id;
    if (x->joined == x->plan.n) {
        say(r,
            "group '%s', call %u: %s of %" PRId64 " B (operation %" PRIu64
            ") waits for flows that the network gave up; ranks not through: %s",
            x->plan.g->name, x->seq, coll_kind_name(x->plan.call.kind), x->plan.call.bytes, op_id,
            list_members(x, MEMBER_PRESENT, present));
        return;
    }
    say(r,
        "group '%s', call %u: %s of %" PRId64 " B (operation %" PRIu64
        ") waits for ranks that have not called it; waiting: %s; absent: %s",
        x->plan.g->name, x->seq, coll_kind_name(x->plan.call.kind), x->plan.call.bytes, op_id,
        list_members(x, MEMBER_PRESENT, present), list_members(x, MEMBER_ABSENT, absent));
}

static void say_colls(struct report *r)
{
    for (uint32_t g = 0; g < r->d->spec.groups->count; g++)
        for (const struct inst *x = r->d->group[g].first; x; x = x->next)
            say_coll(r, x);
}

/* ---- sends, receives ---- */

static int compare_tasks(const void *a, const void *b)
{
    const struct task *x = *(const struct task *const *)a, *y = *(const struct task *const *)b;

    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    if (x->stream != y->stream)
        return x->stream < y->stream ? -1 : 1;
    return (x->op.id > y->op.id) - (x->op.id < y->op.id);
}

static void say_task(struct report *r, const struct task *t)
{
    if (t->op.kind == OP_SEND)
        say(r,
            "rank %u, stream %u: send of %" PRId64 " B to rank %u, tag %u (operation %" PRIu64
            ") waits for flow %u, which the network gave up",
            t->rank, t->stream, t->op.bytes, t->op.peer, t->op.tag, t->op.id, t->flow);
    else if (t->is_active)
        say(r,
            "rank %u, stream %u: recv from rank %u, tag %u (operation %" PRIu64
            ") waits for a flow that the network gave up",
            t->rank, t->stream, t->op.peer, t->op.tag, t->op.id);
    else
        say(r,
            "rank %u, stream %u: recv from rank %u, tag %u (operation %" PRIu64
            ") waits for a send that rank %u has not started",
            t->rank, t->stream, t->op.peer, t->op.tag, t->op.id, t->op.peer);
}

/* Without memory for the list, in no particular order. */
static void say_tasks(struct report *r)
{
    const struct dag *d = r->d;
    const struct task **rows = malloc((d->tasks_live + 1) * sizeof(const struct task *));
    uint64_t count = 0;

    for (uint32_t c = 0; c < d->task_chunks; c++) {
        for (uint32_t i = 0; i < TASK_CHUNK; i++) {
            const struct task *t = &d->task_chunk[c][i];

            if (!t->is_live || (t->op.kind != OP_SEND && t->op.kind != OP_RECV))
                continue;
            if (rows)
                rows[count++] = t;
            else
                say_task(r, t);
        }
    }
    if (count)
        qsort(rows, count, sizeof(const struct task *), compare_tasks);
    for (uint64_t i = 0; i < count; i++)
        say_task(r, rows[i]);
    free(rows);
}

/* ---- streams ---- */

static void say_stream(struct report *r, uint32_t rank, uint32_t stream, const struct stream *st)
{
    const struct dag *d = r->d;
    char text[TEXT_MAX / 2] = "";

    if (st->state == STREAM_WAITS) {
        say(r,
            "rank %u, stream %u: operation %" PRIu64
            " waits until event %u has been recorded %u times (so far %u)",
            rank, stream, st->op_id, st->event, st->event_total,
            d->event[(size_t)rank * d->spec.event_count + st->event]);
    } else if (st->state == STREAM_IDLE) {
        if (d->spec.program.waits)
            d->spec.program.waits(d->spec.program.ctx, rank, stream, text, sizeof text);
        if (text[0] || !d->spec.program.waits)
            say(r, "rank %u, stream %u: %s", rank, stream,
                text[0] ? text : "waits for its program");
    }
}

uint64_t dag_blocked(const struct dag *d, uint64_t max, void (*fn)(void *ctx, const char *text),
                     void *ctx)
{
    struct report r = {d, 0, max, fn, ctx};

    say_colls(&r);
    say_tasks(&r);
    for (uint32_t rank = 0; rank < d->spec.place->rank_count; rank++)
        for (uint32_t i = 0; i < d->spec.stream_count; i++)
            say_stream(&r, rank, i, &d->stream[(size_t)rank * d->spec.stream_count + i]);
    return r.count;
}
