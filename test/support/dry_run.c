/*
 * dry_run.c - see dry_run.h. A naive twin of the DAG's rules: streams in order, collectives when
 * all members have called, messages by (receiver, tag).
 */
#include "dry_run.h"

#include <stdlib.h>
#include <string.h>

struct caller {
    uint32_t rank, stream;
};

struct meeting {
    struct coll_call call;
    struct caller *members; /* shape: [rank_count of the group], those that have come */
    uint32_t count;
};

struct box {
    uint32_t messages;
    uint8_t is_awaited;
    struct caller receiver;
};

struct waiting {
    uint32_t event, total;
    uint8_t is_waiting;
};

struct dry {
    const struct dag_spec *d;
    struct dry_result *out;
    uint32_t tag_count;
    struct meeting *meeting; /* shape: [groups] */
    struct box *box;         /* shape: [rank][tag] */
    uint32_t *event;         /* shape: [rank][event] */
    struct waiting *waiting; /* shape: [rank][stream] */
    struct caller *queue;    /* ring of ready streams; each is in it at most once */
    uint32_t queue_cap, first, count;
    int rc;
};

static void make_ready(struct dry *x, struct caller c)
{
    x->queue[(x->first + x->count++) % x->queue_cap] = c;
}

static int meet(struct dry *x, struct caller c, const struct op *op)
{
    struct meeting *m = &x->meeting[op->group];
    const struct group *g = &x->d->groups->groups[op->group];
    struct err_info e = {.text = ""};
    struct coll_plan p;

    if (!m->members)
        m->members = malloc(g->rank_count * sizeof *m->members);
    if (!m->members) {
        x->rc = WH_ERR_NOMEM;
        return 0;
    }
    if (m->count == 0)
        m->call = op->call;
    x->out->mismatches += !coll_call_equals(&m->call, &op->call);
    m->members[m->count++] = c;
    if (m->count < g->rank_count)
        return 0;
    x->rc = coll_plan_init(&p, g, &op->call, &e);
    if (x->rc)
        return 0;
    x->out->label[op->label].colls++;
    x->out->label[op->label].bytes += (uint64_t)coll_total_bytes(&p);
    for (uint32_t i = 0; i + 1 < m->count; i++)
        make_ready(x, m->members[i]);
    m->count = 0;
    return 1;
}

static void send(struct dry *x, const struct op *op)
{
    struct box *b = &x->box[(size_t)op->peer * x->tag_count + op->tag];

    x->out->label[op->label].colls++;
    x->out->label[op->label].bytes += (uint64_t)op->bytes;
    if (b->is_awaited) {
        b->is_awaited = 0;
        make_ready(x, b->receiver);
        return;
    }
    b->messages++;
}

static int receive(struct dry *x, struct caller c, const struct op *op)
{
    struct box *b = &x->box[(size_t)c.rank * x->tag_count + op->tag];

    if (b->messages) {
        b->messages--;
        return 1;
    }
    b->is_awaited = 1;
    b->receiver = c;
    return 0;
}

static void record(struct dry *x, struct caller c, const struct op *op)
{
    const uint32_t total = ++x->event[c.rank * x->d->event_count + op->event];

    for (uint32_t s = 0; s < x->d->stream_count; s++) {
        struct waiting *w = &x->waiting[c.rank * x->d->stream_count + s];

        if (!w->is_waiting || w->event != op->event || w->total > total)
            continue;
        w->is_waiting = 0;
        make_ready(x, (struct caller){c.rank, s});
    }
}

static int await(struct dry *x, struct caller c, const struct op *op)
{
    if (x->event[c.rank * x->d->event_count + op->event] >= op->event_total)
        return 1;
    x->waiting[c.rank * x->d->stream_count + c.stream] =
        (struct waiting){op->event, op->event_total, 1};
    return 0;
}

/* Returns whether the stream may go on. */
static int step(struct dry *x, struct caller c, const struct op *op)
{
    x->out->ops++;
    switch (op->kind) {
    case OP_COMPUTE:
        x->out->computes++;
        x->out->compute_s += (double)op->duration_ps * 1e-12;
        return 1;
    case OP_COLL:
        return meet(x, c, op);
    case OP_SEND:
        send(x, op);
        return 1;
    case OP_RECV:
        return receive(x, c, op);
    case OP_RECORD:
        record(x, c, op);
        return 1;
    case OP_WAIT:
        return await(x, c, op);
    case OP_KIND_COUNT:
        break;
    }
    x->rc = WH_ERR_INPUT;
    return 0;
}

static void run_stream(struct dry *x, struct caller c)
{
    const struct dag_program *p = &x->d->program;

    while (!x->rc) {
        struct op op = {.id = 0};
        const int got = p->next(p->ctx, c.rank, c.stream, &op);

        if (got == DAG_END) {
            x->out->streams_left--;
            return;
        }
        if (got != DAG_OP)
            x->rc = got < 0 ? got : WH_ERR_STATE;
        if (got != DAG_OP || !step(x, c, &op))
            return;
    }
}

static void run(struct dry *x)
{
    for (uint32_t r = 0; r < x->d->place->rank_count; r++)
        for (uint32_t s = 0; s < x->d->stream_count; s++)
            make_ready(x, (struct caller){r, s});
    x->out->streams_left = x->count;
    while (x->count && !x->rc) {
        const struct caller c = x->queue[x->first];

        x->first = (x->first + 1) % x->queue_cap;
        x->count--;
        run_stream(x, c);
    }
}

int dry_run(const struct dag_spec *d, uint32_t tag_count, struct dry_result *out)
{
    const size_t ranks = d->place->rank_count;
    struct dry x = {.d = d, .out = out, .tag_count = tag_count};

    memset(out, 0, sizeof *out);
    x.queue_cap = (uint32_t)ranks * d->stream_count;
    x.meeting = calloc(d->groups->count, sizeof *x.meeting);
    x.box = calloc(ranks * tag_count, sizeof *x.box);
    x.event = calloc(ranks * d->event_count, sizeof *x.event);
    x.waiting = calloc(x.queue_cap, sizeof *x.waiting);
    x.queue = calloc(x.queue_cap, sizeof *x.queue);
    x.rc = x.meeting && x.box && x.event && x.waiting && x.queue ? 0 : WH_ERR_NOMEM;
    if (!x.rc)
        run(&x);
    for (uint32_t g = 0; x.meeting && g < d->groups->count; g++)
        free(x.meeting[g].members);
    free(x.meeting);
    free(x.box);
    free(x.event);
    free(x.waiting);
    free(x.queue);
    return x.rc;
}
