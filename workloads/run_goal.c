/*
 * run_goal.c - see run_goal.h.
 *
 * Streams of a rank: its cpus, then the network. A send is a computation of o on its cpu; then the
 * network stream of its rank sends, and that of the receiver, at the same instant, receives, by a
 * tag of their own: the number of the send among all operations. So the DAG moves bytes and tells
 * of arrivals, while the matching with wildcards is done here. Operations are numbered through all
 * ranks; lists are linked by arrays, as an operation is in one of each kind at most.
 */
#include "run_goal.h"

#include "units.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX
#define NAME_BYTES 80
#define BYTES_MAX (INT64_MAX / 2)
#define TIME_NS_MAX (INT64_MAX / 4 / PS_PER_NS)

struct fifo {
    uint32_t head, tail;
};

enum op_state { OP_BLOCKED, OP_QUEUED, OP_POSTED, OP_RUNNING, OP_OVER };

struct run_goal {
    const struct goal *g;
    struct run_goal_options o;
    struct dag *d; /* NULL until attached */
    uint32_t op_count, cpu_count;
    uint32_t *base;                /* shape: [rank_count + 1], number of a rank's first operation */
    uint32_t *rank_of;             /* shape: [op_count] */
    uint32_t *waits;               /* shape: [op_count], dependencies not yet met */
    uint8_t *state;                /* shape: [op_count], enum op_state */
    uint32_t *sender;              /* shape: [op_count], of a matched receive */
    uint32_t *next;                /* shape: [op_count], in ready, cpu or posted */
    uint32_t *next_out;            /* shape: [op_count], sends: in out */
    uint32_t *next_in;             /* shape: [op_count], sends: in in, then in arrived */
    struct fifo ready;             /* dependencies met, not looked at yet */
    struct fifo *cpu;              /* shape: [rank_count][cpu_count] */
    uint32_t *cpu_left;            /* shape: [rank_count][cpu_count], not handed out */
    struct fifo *posted, *arrived; /* shape: [rank_count], what found no counterpart */
    struct fifo *out, *in;         /* shape: [rank_count], sends to start, to expect */
    uint64_t *net_left; /* shape: [rank_count], sends to start, messages to be received */
    int64_t *end_ps;    /* shape: [rank_count] */
};

void run_goal_options_init(struct run_goal_options *o)
{
    *o = (struct run_goal_options){.overhead_ns = RUN_GOAL_OVERHEAD_NS,
                                   .rendezvous_bytes = UINT64_MAX};
}

/* ---- lists ---- */

static void append(struct fifo *f, uint32_t *next, uint32_t id)
{
    next[id] = NONE;
    if (f->head == NONE)
        f->head = id;
    else
        next[f->tail] = id;
    f->tail = id;
}

static uint32_t take_first(struct fifo *f, const uint32_t *next)
{
    const uint32_t id = f->head;

    if (id != NONE)
        f->head = next[id];
    return id;
}

/* Takes @id out, which follows @before (NONE: it is the first). */
static void take_out(struct fifo *f, uint32_t *next, uint32_t before, uint32_t id)
{
    if (before == NONE)
        f->head = next[id];
    else
        next[before] = next[id];
    if (f->tail == id)
        f->tail = before;
}

static const struct goal_op *op_of(const struct run_goal *r, uint32_t id)
{
    const uint32_t rank = r->rank_of[id];

    return &r->g->ranks[rank].ops[id - r->base[rank]];
}

static const char *name_of(const struct run_goal *r, uint32_t id, char *buf, size_t buf_bytes)
{
    const uint32_t rank = r->rank_of[id];

    return goal_label(&r->g->ranks[rank], id - r->base[rank], buf, buf_bytes);
}

static void wake(const struct run_goal *r, uint32_t rank, uint32_t stream)
{
    if (r->d)
        dag_wake(r->d, rank, stream);
}

/* ---- what becomes possible ---- */

static void release(struct run_goal *r, uint32_t id, const struct goal_edges *edges)
{
    const uint32_t base = r->base[r->rank_of[id]], op = id - base;

    for (uint32_t i = edges->first[op]; i < edges->first[op + 1]; i++)
        if (--r->waits[base + edges->waiter[i]] == 0)
            append(&r->ready, r->next, base + edges->waiter[i]);
}

static void queue_on_cpu(struct run_goal *r, uint32_t id)
{
    const uint32_t rank = r->rank_of[id], cpu = op_of(r, id)->cpu;

    r->state[id] = OP_QUEUED;
    append(&r->cpu[(size_t)rank * r->cpu_count + cpu], r->next, id);
    wake(r, rank, cpu);
}

static int fits(const struct run_goal *r, uint32_t recv, uint32_t send)
{
    const struct goal_op *want = op_of(r, recv), *have = op_of(r, send);

    return (want->peer == GOAL_ANY || want->peer == r->rank_of[send]) &&
           (want->tag == GOAL_ANY || have->tag == GOAL_ANY || want->tag == have->tag);
}

static void match(struct run_goal *r, uint32_t recv, uint32_t send)
{
    r->sender[recv] = send;
    queue_on_cpu(r, recv);
}

/* A receive is started when it is posted; the cpu is needed when its message is there. */
static void post(struct run_goal *r, uint32_t recv)
{
    const uint32_t rank = r->rank_of[recv];
    struct fifo *arrived = &r->arrived[rank];
    uint32_t before = NONE;

    release(r, recv, &r->g->ranks[rank].on_start);
    for (uint32_t send = arrived->head; send != NONE; send = r->next_in[send]) {
        if (fits(r, recv, send)) {
            take_out(arrived, r->next_in, before, send);
            match(r, recv, send);
            return;
        }
        before = send;
    }
    r->state[recv] = OP_POSTED;
    append(&r->posted[rank], r->next, recv);
}

static void settle(struct run_goal *r)
{
    uint32_t id;

    while ((id = take_first(&r->ready, r->next)) != NONE) {
        if (op_of(r, id)->kind == GOAL_RECV)
            post(r, id);
        else
            queue_on_cpu(r, id);
    }
}

static void on_arrival(struct run_goal *r, uint32_t send)
{
    const uint32_t rank = op_of(r, send)->peer;
    struct fifo *posted = &r->posted[rank];
    uint32_t before = NONE;

    for (uint32_t recv = posted->head; recv != NONE; recv = r->next[recv]) {
        if (fits(r, recv, send)) {
            take_out(posted, r->next, before, recv);
            match(r, recv, send);
            return;
        }
        before = recv;
    }
    append(&r->arrived[rank], r->next_in, send);
}

static void finish(struct run_goal *r, uint32_t id, int64_t now_ps)
{
    const uint32_t rank = r->rank_of[id];

    r->state[id] = OP_OVER;
    r->end_ps[rank] = now_ps;
    release(r, id, &r->g->ranks[rank].on_end);
}

/* ---- the program ---- */

static int64_t message_bytes(const struct goal_op *op)
{
    return op->amount ? (int64_t)op->amount : 1; /* an empty message is a packet all the same */
}

/* Its sum fits: see check_op. */
static int64_t cpu_ps(const struct run_goal *r, const struct goal_op *op)
{
    const uint64_t more_bytes = op->amount ? op->amount - 1 : 0;

    if (op->kind == GOAL_CALC)
        return (int64_t)op->amount * PS_PER_NS;
    return (int64_t)(r->o.overhead_ns + more_bytes * r->o.overhead_byte_ns) * PS_PER_NS;
}

static const char *trace_name(const struct run_goal *r, uint32_t id)
{
    static const char *const names[] = {
        [GOAL_SEND] = "osend", [GOAL_RECV] = "orecv", [GOAL_CALC] = "calc"};
    const uint32_t rank = r->rank_of[id];
    const struct goal_rank *g = &r->g->ranks[rank];
    const uint32_t at = g->label_at ? g->label_at[id - r->base[rank]] : GOAL_NO_LABEL;

    return at == GOAL_NO_LABEL ? names[op_of(r, id)->kind] : g->label_text + at;
}

static int next_on_cpu(struct run_goal *r, uint32_t rank, uint32_t cpu, struct op *out)
{
    const size_t row = (size_t)rank * r->cpu_count + cpu;
    const uint32_t id = take_first(&r->cpu[row], r->next);

    if (id == NONE)
        return r->cpu_left[row] ? DAG_IDLE : DAG_END;
    r->cpu_left[row]--;
    r->state[id] = OP_RUNNING;
    *out = (struct op){.id = id - r->base[rank],
                       .token = id,
                       .name = trace_name(r, id),
                       .kind = OP_COMPUTE,
                       .duration_ps = cpu_ps(r, op_of(r, id))};
    if (op_of(r, id)->kind != GOAL_RECV) {
        release(r, id, &r->g->ranks[rank].on_start);
        settle(r);
    }
    return DAG_OP;
}

static int next_on_network(struct run_goal *r, uint32_t rank, struct op *out)
{
    uint32_t id = take_first(&r->out[rank], r->next_out);
    const int is_send = id != NONE;

    if (!is_send)
        id = take_first(&r->in[rank], r->next_in);
    if (id == NONE)
        return r->net_left[rank] ? DAG_IDLE : DAG_END;
    if (is_send)
        r->net_left[rank]--;
    *out = (struct op){.id = id - r->base[r->rank_of[id]],
                       .token = id,
                       .name = trace_name(r, id),
                       .kind = is_send ? OP_SEND : OP_RECV,
                       .is_async = 1,
                       .bytes = is_send ? message_bytes(op_of(r, id)) : OP_BYTES_ANY,
                       .peer = is_send ? op_of(r, id)->peer : r->rank_of[id],
                       .tag = id};
    return DAG_OP;
}

static int goal_next(void *ctx, uint32_t rank, uint32_t stream, struct op *out)
{
    struct run_goal *r = ctx;

    return stream < r->cpu_count ? next_on_cpu(r, rank, stream, out)
                                 : next_on_network(r, rank, out);
}

static int is_eager(const struct run_goal *r, uint32_t send)
{
    return op_of(r, send)->amount <= r->o.rendezvous_bytes;
}

static void inject(struct run_goal *r, uint32_t send, int64_t now_ps)
{
    const uint32_t rank = r->rank_of[send], peer = op_of(r, send)->peer;

    append(&r->out[rank], r->next_out, send);
    append(&r->in[peer], r->next_in, send);
    wake(r, rank, r->cpu_count);
    wake(r, peer, r->cpu_count);
    if (is_eager(r, send))
        finish(r, send, now_ps);
}

static void end_recv(struct run_goal *r, uint32_t recv, int64_t now_ps)
{
    const uint32_t rank = r->rank_of[recv];

    finish(r, recv, now_ps);
    if (!is_eager(r, r->sender[recv]))
        finish(r, r->sender[recv], now_ps);
    r->net_left[rank]--;
    wake(r, rank, r->cpu_count);
}

static void goal_done(void *ctx, uint32_t rank, uint32_t stream, const struct op *op,
                      int64_t now_ps)
{
    struct run_goal *r = ctx;
    const uint32_t id = (uint32_t)op->token;

    (void)rank;
    (void)stream;
    if (op->kind == OP_RECV)
        on_arrival(r, id);
    else if (op->kind == OP_SEND)
        return; /* the schedule does not wait for acknowledgements */
    else if (op_of(r, id)->kind == GOAL_SEND)
        inject(r, id, now_ps);
    else if (op_of(r, id)->kind == GOAL_RECV)
        end_recv(r, id, now_ps);
    else
        finish(r, id, now_ps);
    settle(r);
}

static const char *goal_stream_name(void *ctx, uint32_t stream)
{
    const struct run_goal *r = ctx;

    return stream == r->cpu_count ? "network" : stream ? "cpu (further)" : "cpu 0";
}

/* ---- who waits ---- */

static const char *format_any(uint32_t value, char *buf, size_t buf_bytes)
{
    if (value == GOAL_ANY)
        (void)snprintf(buf, buf_bytes, "any");
    else
        (void)snprintf(buf, buf_bytes, "%" PRIu32, value);
    return buf;
}

static void explain(const struct run_goal *r, uint32_t id, char *buf, size_t buf_bytes)
{
    const struct goal_op *op = op_of(r, id);
    char name[NAME_BYTES], peer[16], tag[16];

    if (op->kind == GOAL_RECV && r->state[id] == OP_POSTED)
        (void)snprintf(buf, buf_bytes,
                       "operation \"%.64s\" receives %" PRIu64
                       " B from rank %s with tag %s, which nobody sends",
                       name_of(r, id, name, sizeof name), op->amount,
                       format_any(op->peer, peer, sizeof peer),
                       format_any(op->tag, tag, sizeof tag));
    else
        (void)snprintf(buf, buf_bytes, "operation \"%.64s\" waits for operations before it",
                       name_of(r, id, name, sizeof name));
}

static void explain_cpu(const struct run_goal *r, uint32_t rank, uint32_t cpu, char *buf,
                        size_t buf_bytes)
{
    uint32_t found = NONE;

    for (uint32_t id = r->base[rank + 1]; id-- > r->base[rank];) {
        if (op_of(r, id)->cpu != cpu)
            continue;
        if (r->state[id] == OP_BLOCKED && (found == NONE || r->state[found] != OP_POSTED))
            found = id;
        if (r->state[id] == OP_POSTED)
            found = id;
    }
    if (found != NONE)
        explain(r, found, buf, buf_bytes);
}

static void goal_waits(void *ctx, uint32_t rank, uint32_t stream, char *buf, size_t buf_bytes)
{
    const struct run_goal *r = ctx;
    char name[NAME_BYTES], tag[16];
    uint32_t send;

    if (stream < r->cpu_count) {
        explain_cpu(r, rank, stream, buf, buf_bytes);
        return;
    }
    send = r->arrived[rank].head;
    if (send != NONE)
        (void)snprintf(buf, buf_bytes,
                       "%" PRIu64 " B from rank %" PRIu32 " with tag %s (operation \"%.64s\" "
                       "there) have arrived, which nobody receives",
                       op_of(r, send)->amount, r->rank_of[send],
                       format_any(op_of(r, send)->tag, tag, sizeof tag),
                       name_of(r, send, name, sizeof name));
}

/* ---- life cycle ---- */

static void goal_attach(void *impl, struct dag *d)
{
    struct run_goal *r = impl;

    r->d = d;
}

static void run_goal_destroy(void *impl)
{
    struct run_goal *r = impl;

    free(r->base);
    free(r->rank_of);
    free(r->waits);
    free(r->state);
    free(r->sender);
    free(r->next);
    free(r->next_out);
    free(r->next_in);
    free(r->cpu);
    free(r->cpu_left);
    free(r->posted);
    free(r->arrived);
    free(r->out);
    free(r->in);
    free(r->net_left);
    free(r->end_ps);
    free(r);
}

static int check_op(const struct run_goal *r, uint32_t rank, uint32_t i, struct err_info *e)
{
    const struct goal_op *op = &r->g->ranks[rank].ops[i];
    uint64_t ns = op->amount;
    char name[NAME_BYTES];

    if (op->kind == GOAL_CALC
            ? ns <= TIME_NS_MAX
            : op->amount <= BYTES_MAX && !__builtin_mul_overflow(ns, r->o.overhead_byte_ns, &ns) &&
                  !__builtin_add_overflow(ns, r->o.overhead_ns, &ns) && ns <= TIME_NS_MAX)
        return 0;
    return err_set(e, WH_ERR_INPUT, r->g->path, 0,
                   "rank %" PRIu32 ", operation \"%.64s\": found %" PRIu64
                   " %s, expected a time on the cpu of at most %" PRId64 " ns",
                   rank, goal_label(&r->g->ranks[rank], i, name, sizeof name), op->amount,
                   op->kind == GOAL_CALC ? "ns" : "B", TIME_NS_MAX);
}

static int count_ops(struct run_goal *r, struct err_info *e)
{
    uint64_t count = 0;

    r->base = calloc((size_t)r->g->rank_count + 1, sizeof *r->base);
    if (!r->base)
        return WH_ERR_NOMEM;
    r->cpu_count = 1;
    for (uint32_t rank = 0; rank < r->g->rank_count; rank++) {
        const struct goal_rank *g = &r->g->ranks[rank];

        r->base[rank] = (uint32_t)count;
        count += g->op_count;
        if (count >= NONE)
            return err_set(e, WH_ERR_LIMIT, r->g->path, 0,
                           "found more than 2^32 - 2 operations, expected fewer");
        for (uint32_t i = 0; i < g->op_count; i++) {
            const int rc = check_op(r, rank, i, e);

            if (rc)
                return rc;
            if (g->ops[i].cpu >= r->cpu_count)
                r->cpu_count = g->ops[i].cpu + 1u;
        }
    }
    r->op_count = r->base[r->g->rank_count] = (uint32_t)count;
    return 0;
}

static struct fifo *create_fifos(size_t count)
{
    struct fifo *f = malloc((count + 1) * sizeof *f);

    for (size_t i = 0; i < count && f; i++)
        f[i] = (struct fifo){NONE, NONE};
    return f;
}

static int alloc_rows(struct run_goal *r)
{
    const size_t ops = (size_t)r->op_count + 1, ranks = (size_t)r->g->rank_count + 1;

    r->rank_of = calloc(ops, sizeof *r->rank_of);
    r->waits = calloc(ops, sizeof *r->waits);
    r->state = calloc(ops, sizeof *r->state);
    r->sender = calloc(ops, sizeof *r->sender);
    r->next = calloc(ops, sizeof *r->next);
    r->next_out = calloc(ops, sizeof *r->next_out);
    r->next_in = calloc(ops, sizeof *r->next_in);
    r->cpu = create_fifos(ranks * r->cpu_count);
    r->cpu_left = calloc(ranks * r->cpu_count, sizeof *r->cpu_left);
    r->posted = create_fifos(ranks);
    r->arrived = create_fifos(ranks);
    r->out = create_fifos(ranks);
    r->in = create_fifos(ranks);
    r->net_left = calloc(ranks, sizeof *r->net_left);
    r->end_ps = calloc(ranks, sizeof *r->end_ps);
    return r->rank_of && r->waits && r->state && r->sender && r->next && r->next_out &&
                   r->next_in && r->cpu && r->cpu_left && r->posted && r->arrived && r->out &&
                   r->in && r->net_left && r->end_ps
               ? 0
               : WH_ERR_NOMEM;
}

static void count_waits(struct run_goal *r, uint32_t rank, const struct goal_edges *edges)
{
    for (uint32_t i = 0; i < edges->first[r->g->ranks[rank].op_count]; i++)
        r->waits[r->base[rank] + edges->waiter[i]]++;
}

/* What can start at once is the first work of the cpus. */
static void fill_rows(struct run_goal *r)
{
    r->ready = (struct fifo){NONE, NONE};
    for (uint32_t rank = 0; rank < r->g->rank_count; rank++) {
        const struct goal_rank *g = &r->g->ranks[rank];

        count_waits(r, rank, &g->on_end);
        count_waits(r, rank, &g->on_start);
        for (uint32_t i = 0; i < g->op_count; i++) {
            r->rank_of[r->base[rank] + i] = rank;
            r->cpu_left[(size_t)rank * r->cpu_count + g->ops[i].cpu]++;
            if (g->ops[i].kind == GOAL_SEND) {
                r->net_left[rank]++;
                r->net_left[g->ops[i].peer]++;
            }
        }
    }
    for (uint32_t id = 0; id < r->op_count; id++)
        if (!r->waits[id])
            append(&r->ready, r->next, id);
    settle(r);
}

int run_goal_init(struct run_job *j, const struct goal *g, const struct run_goal_options *o,
                  const struct topo *t, struct err_info *e)
{
    struct run_goal *r;
    int rc = run_job_place(j, t, g->rank_count, 0, e);

    if (rc)
        return rc;
    r = calloc(1, sizeof *r);
    if (!r)
        return WH_ERR_NOMEM;
    r->g = g;
    r->o = *o;
    j->impl = r;
    j->destroy = run_goal_destroy;
    j->attach = goal_attach;
    rc = count_ops(r, e);
    if (!rc)
        rc = alloc_rows(r);
    if (rc)
        return rc;
    fill_rows(r);
    j->program = (struct dag_program){r, goal_next, goal_done, goal_stream_name, goal_waits};
    j->stream_count = r->cpu_count + 1;
    return 0;
}

int64_t run_goal_end_ps(const struct run_job *j, uint32_t rank)
{
    const struct run_goal *r = j->impl;

    return r->end_ps[rank];
}
