/*
 * dag.c - streams, tasks, and the order in which things happen at one instant. See dag.h.
 *
 * Completions only change counts and put what may go on into the queue; one callback at the end of
 * the instant, the drain, sorts the queue and works it off, again and again until it is empty.
 */
#include "dag_int.h"
#include "merge_sort.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *const op_names[OP_KIND_COUNT] = {
    "compute", "collective", "send", "recv", "record", "wait",
};

const char *op_kind_name(enum op_kind k)
{
    return k < OP_KIND_COUNT ? op_names[k] : "?";
}

int64_t dag__now(const struct dag *d)
{
    return sim_now_ps(d->s) > d->spec.start_ps ? sim_now_ps(d->s) : d->spec.start_ps;
}

void dag__fail(struct dag *d, int rc)
{
    if (!d->rc)
        d->rc = rc;
}

static struct stream *stream_at(const struct dag *d, uint32_t rank, uint32_t stream)
{
    return &d->stream[(size_t)rank * d->spec.stream_count + stream];
}

/* ---- time accounts ---- */

static void account(struct dag *d, uint32_t rank, int computes, int comms)
{
    struct account *a = &d->account[rank];
    const int64_t passed = dag__now(d) - a->since_ps;

    a->compute_ps += a->computes ? passed : 0;
    a->comm_ps += a->comms ? passed : 0;
    a->exposed_ps += a->comms && !a->computes ? passed : 0;
    a->since_ps += passed;
    a->computes += (uint32_t)computes;
    a->comms += (uint32_t)comms;
}

void dag__begin_comm(struct dag *d, struct task *t)
{
    if (t->is_active)
        return;
    t->is_active = 1;
    t->active_ps = dag__now(d);
    account(d, t->rank, 0, 1);
}

/* ---- the queue of an instant ---- */

static int is_before(const struct item *x, const struct item *y)
{
    if (x->rank != y->rank)
        return x->rank < y->rank;
    if (x->kind != y->kind)
        return x->kind < y->kind;
    if (x->order != y->order)
        return x->order < y->order;
    return x->sub < y->sub;
}

MERGE_SORT(sort_items, struct item, is_before)

static void drain(void *arg, struct sim *s);

static void schedule_drain(struct dag *d)
{
    const int64_t now = dag__now(d);
    int rc;

    if (d->is_draining || !d->s || d->drain_ps == now)
        return;
    d->drain_ps = now;
    rc = sim_schedule(d->s, now, drain, d);
    if (rc)
        dag__fail(d, rc);
}

void dag__queue(struct dag *d, const struct item *i)
{
    if (d->queue_count == d->queue_cap) {
        const uint32_t cap = d->queue_cap ? 2 * d->queue_cap : 64;
        /* as many again, to sort them */
        struct item *rows = realloc(d->queue, 2 * (size_t)cap * sizeof *rows);

        if (!rows) {
            dag__fail(d, WH_ERR_NOMEM);
            return;
        }
        d->queue = rows;
        d->queue_cap = cap;
    }
    d->queue[d->queue_count++] = *i;
    schedule_drain(d);
}

static void queue_stream(struct dag *d, uint32_t rank, uint32_t stream)
{
    struct stream *st = stream_at(d, rank, stream);

    if (st->is_queued)
        return;
    st->is_queued = 1;
    dag__queue(d, &(struct item){.rank = rank, .kind = ITEM_STREAM, .order = stream});
}

/* ---- tasks ---- */

static int add_chunk(struct dag *d)
{
    struct task *rows;

    if (d->task_chunks == d->task_chunk_cap) {
        const uint32_t cap = d->task_chunk_cap ? 2 * d->task_chunk_cap : 8;
        struct task **chunks = realloc(d->task_chunk, cap * sizeof(struct task *));

        if (!chunks)
            return WH_ERR_NOMEM;
        d->task_chunk = chunks;
        d->task_chunk_cap = cap;
    }
    rows = calloc(TASK_CHUNK, sizeof *rows);
    if (!rows)
        return WH_ERR_NOMEM;
    d->task_chunk[d->task_chunks++] = rows;
    for (uint32_t i = TASK_CHUNK; i-- > 0;) {
        rows[i].next_free = d->task_free;
        d->task_free = &rows[i];
    }
    return 0;
}

struct task *dag__start_task(struct dag *d, uint32_t rank, uint32_t stream, const struct op *op)
{
    struct task *t;

    if (!d->task_free && add_chunk(d))
        return NULL;
    t = d->task_free;
    d->task_free = t->next_free;
    *t = (struct task){.d = d,
                       .op = *op,
                       .rank = rank,
                       .stream = stream,
                       .start_ps = dag__now(d),
                       .active_ps = dag__now(d),
                       .flow = PORT_NONE,
                       .is_live = 1};
    d->tasks_live++;
    return t;
}

static void observe(const struct dag *d, const struct task *t)
{
    const struct op_record r = {.rank = t->rank,
                                .stream = t->stream,
                                .op = &t->op,
                                .start_ps = t->start_ps,
                                .end_ps = dag__now(d),
                                .active_ps = t->active_ps,
                                .link = t->link};

    if (d->spec.observer.on_op)
        d->spec.observer.on_op(d->spec.observer.ctx, &r);
}

void dag__end_task(struct dag *d, struct task *t)
{
    const uint32_t rank = t->rank, stream = t->stream;
    const struct op op = t->op;
    struct stream *st = stream_at(d, rank, stream);

    account(d, rank, op.kind == OP_COMPUTE ? -1 : 0, t->is_active ? -1 : 0);
    d->account[rank].end_ps = d->counters.end_ps = dag__now(d);
    observe(d, t);
    if (!op.is_async) {
        st->state = STREAM_READY;
        queue_stream(d, rank, stream);
    }
    t->is_live = 0;
    t->next_free = d->task_free;
    d->task_free = t;
    d->tasks_live--;
    if (d->spec.program.done)
        d->spec.program.done(d->spec.program.ctx, rank, stream, &op, dag__now(d));
}

/* ---- operations ---- */

static void on_computed(void *arg, struct sim *s)
{
    struct task *t = arg;

    (void)s;
    dag__end_task(t->d, t);
}

static int start_compute(struct dag *d, struct task *t)
{
    if (t->op.duration_ps < 0 || t->op.duration_ps > TIME_MAX_PS - dag__now(d))
        return err_set(&d->e, WH_ERR_INPUT, NULL, 0,
                       "rank %u, operation %" PRIu64 ": found a duration of %" PRId64
                       " ps, expected 0 or more, ending before %" PRId64 " ps",
                       t->rank, t->op.id, t->op.duration_ps, TIME_MAX_PS);
    account(d, t->rank, 1, 0);
    if (t->op.duration_ps)
        return sim_schedule(d->s, dag__now(d) + t->op.duration_ps, on_computed, t);
    dag__end_task(d, t);
    return 0;
}

static int check_event(struct dag *d, uint32_t rank, const struct op *op)
{
    if (op->event < d->spec.event_count)
        return 0;
    return err_set(&d->e, WH_ERR_INPUT, NULL, 0,
                   "rank %u, operation %" PRIu64 ": found event %u, expected one below %u", rank,
                   op->id, op->event, d->spec.event_count);
}

static void record_event(struct dag *d, uint32_t rank, uint32_t event)
{
    const uint32_t total = ++d->event[(size_t)rank * d->spec.event_count + event];

    for (uint32_t i = 0; i < d->spec.stream_count; i++) {
        struct stream *st = stream_at(d, rank, i);

        if (st->state != STREAM_WAITS || st->event != event || st->event_total > total)
            continue;
        st->state = STREAM_READY;
        queue_stream(d, rank, i);
    }
}

/* RECORD and WAIT take no time, so they are no tasks. */
static void sync_stream(struct dag *d, uint32_t rank, uint32_t stream, const struct op *op)
{
    struct stream *st = stream_at(d, rank, stream);

    if (op->kind == OP_RECORD) {
        record_event(d, rank, op->event);
    } else if (d->event[(size_t)rank * d->spec.event_count + op->event] < op->event_total) {
        st->state = STREAM_WAITS;
        st->event = op->event;
        st->event_total = op->event_total;
        st->op_id = op->id;
        return;
    }
    if (d->spec.program.done)
        d->spec.program.done(d->spec.program.ctx, rank, stream, op, dag__now(d));
}

static int start_op(struct dag *d, uint32_t rank, uint32_t stream, const struct op *op)
{
    struct task *t = dag__start_task(d, rank, stream, op);

    if (!t)
        return WH_ERR_NOMEM;
    if (!op->is_async)
        stream_at(d, rank, stream)->state = STREAM_BUSY;
    switch (op->kind) {
    case OP_COMPUTE:
        return start_compute(d, t);
    case OP_COLL:
        return dag__coll_start(d, t);
    case OP_SEND:
        return dag__p2p_send(d, t);
    case OP_RECV:
        return dag__p2p_recv(d, t);
    case OP_RECORD:
    case OP_WAIT:
    case OP_KIND_COUNT:
        break;
    }
    return err_set(&d->e, WH_ERR_INPUT, NULL, 0,
                   "rank %u, operation %" PRIu64 ": found kind %d, expected a known one", rank,
                   op->id, (int)op->kind);
}

static int run_op(struct dag *d, uint32_t rank, uint32_t stream, const struct op *op)
{
    int rc;

    d->counters.ops++;
    if (op->kind != OP_RECORD && op->kind != OP_WAIT)
        return start_op(d, rank, stream, op);
    rc = check_event(d, rank, op);
    if (!rc)
        sync_stream(d, rank, stream, op);
    return rc;
}

/* A stream that was made ready while it is asked here needs no place in the queue. */
static void run_stream(struct dag *d, uint32_t rank, uint32_t stream)
{
    struct stream *st = stream_at(d, rank, stream);
    const struct dag_program *p = &d->spec.program;

    while (st->state == STREAM_READY && !d->rc) {
        struct op op = {.id = 0};
        const int got = p->next(p->ctx, rank, stream, &op);

        if (got == DAG_OP) {
            const int rc = run_op(d, rank, stream, &op);

            if (rc)
                dag__fail(d, rc);
        } else if (got == DAG_IDLE) {
            st->state = STREAM_IDLE;
        } else if (got == DAG_END) {
            st->state = STREAM_ENDED;
            d->streams_left--;
        } else {
            dag__fail(d, got);
        }
    }
    st->is_queued = 0;
}

void dag_wake(struct dag *d, uint32_t rank, uint32_t stream)
{
    struct stream *st = stream_at(d, rank, stream);

    if (st->state != STREAM_IDLE)
        return;
    st->state = STREAM_READY;
    queue_stream(d, rank, stream);
}

/* ---- the drain ---- */

static void take_batch(struct dag *d, uint32_t *count)
{
    struct item *rows = d->batch;
    const uint32_t cap = d->batch_cap;

    d->batch = d->queue;
    d->batch_cap = d->queue_cap;
    *count = d->queue_count;
    d->queue = rows;
    d->queue_cap = cap;
    d->queue_count = 0;
    if (*count > 1)
        sort_items(d->batch, &d->batch[d->batch_cap], *count);
}

static void drain(void *arg, struct sim *s)
{
    struct dag *d = arg;
    uint32_t count;

    (void)s;
    d->is_draining = 1;
    while (d->queue_count && !d->rc) {
        take_batch(d, &count);
        for (uint32_t i = 0; i < count && !d->rc; i++) {
            const struct item *it = &d->batch[i];

            if (it->kind == ITEM_STREAM)
                run_stream(d, it->rank, (uint32_t)it->order);
            else
                dag__coll_lane(d, it);
        }
    }
    d->is_draining = 0;
    d->drain_ps = -1;
}

/* ---- life cycle ---- */

static int check_spec(const struct dag_spec *s, struct err_info *e)
{
    if (s->stream_count && s->place->rank_count && s->start_ps >= 0 && s->program.next)
        return 0;
    return err_set(e, WH_ERR_INPUT, NULL, 0,
                   "found %u ranks of %u streams, start %" PRId64
                   " ps, expected at least one rank and stream, a start of 0 or later, a program",
                   s->place->rank_count, s->stream_count, s->start_ps);
}

static int alloc_dag(struct dag *d)
{
    const size_t ranks = d->spec.place->rank_count;

    d->stream = calloc(ranks * d->spec.stream_count, sizeof *d->stream);
    d->event = calloc(ranks * d->spec.event_count + 1, sizeof *d->event);
    d->account = calloc(ranks, sizeof *d->account);
    d->group = calloc((size_t)d->spec.groups->count + 1, sizeof *d->group);
    return d->stream && d->event && d->account && d->group ? 0 : WH_ERR_NOMEM;
}

int dag_create(struct dag **out, const struct dag_spec *spec, struct err_info *e)
{
    struct dag *d;
    int rc = check_spec(spec, e);

    if (rc)
        return rc;
    d = calloc(1, sizeof *d);
    if (!d)
        return WH_ERR_NOMEM;
    d->spec = *spec;
    if (!d->spec.prio)
        d->spec.prio = 3;
    if (!d->spec.dport)
        d->spec.dport = 100;
    d->drain_ps = -1;
    rc = alloc_dag(d);
    if (rc) {
        dag_destroy(d);
        return rc;
    }
    d->streams_left = (uint64_t)spec->place->rank_count * spec->stream_count;
    d->counters.start_ps = d->counters.end_ps = spec->start_ps;
    for (uint32_t r = 0; r < spec->place->rank_count; r++)
        d->account[r].since_ps = d->account[r].end_ps = spec->start_ps;
    *out = d;
    return 0;
}

void dag_destroy(struct dag *d)
{
    if (!d)
        return;
    dag__coll_fini(d);
    dag__p2p_fini(d);
    for (uint32_t i = 0; i < d->task_chunks; i++)
        free(d->task_chunk[i]);
    free(d->task_chunk);
    free(d->stream);
    free(d->event);
    free(d->account);
    free(d->queue);
    free(d->batch);
    free(d->msg);
    free(d);
}

static void start(struct dag *d, struct sim *s)
{
    dag__net_hooks(d, s);
    d->is_started = 1;
    for (uint32_t r = 0; r < d->spec.place->rank_count; r++)
        for (uint32_t i = 0; i < d->spec.stream_count; i++)
            queue_stream(d, r, i);
}

static int report_blocked(const struct dag *d, struct err_info *e);

int dag_run(struct dag *d, struct sim *s, int64_t until_ps, struct err_info *e)
{
    int rc;

    if (!d->is_started)
        start(d, s);
    rc = d->rc ? d->rc : sim_run(s, until_ps);
    if (d->rc) {
        if (e)
            *e = d->e;
        return d->rc;
    }
    if (rc || dag_is_done(d) || !sim_is_done(s))
        return rc;
    return report_blocked(d, e);
}

int dag_is_done(const struct dag *d)
{
    return d->streams_left == 0 && d->tasks_live == 0;
}

static void keep_first(void *ctx, const char *text)
{
    struct err_info *e = ctx;

    if (!e->text[0])
        (void)err_set(e, WH_ERR_INPUT, NULL, 0, "%s", text);
}

static int report_blocked(const struct dag *d, struct err_info *e)
{
    struct err_info first = {.text = ""};
    const uint64_t count = dag_blocked(d, 1, keep_first, &first);

    return err_set(e, WH_ERR_INPUT, NULL, 0,
                   "the operations can never finish, %" PRIu64 " wait%s: %.600s", count,
                   count == 1 ? "s" : "", first.text);
}

void dag_rank_times(const struct dag *d, uint32_t rank, struct rank_times *out)
{
    const struct account *a = &d->account[rank];
    const int64_t whole = d->counters.end_ps - d->counters.start_ps;

    *out = (struct rank_times){.compute_ps = a->compute_ps,
                               .exposed_ps = a->exposed_ps,
                               .comm_ps = a->comm_ps,
                               .idle_ps = whole - a->compute_ps - a->exposed_ps,
                               .end_ps = a->end_ps};
}

void dag_counters(const struct dag *d, struct dag_counters *out)
{
    *out = d->counters;
}
