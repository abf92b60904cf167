/*
 * goal_loggops.c - the LogGOPS model at message level, as LogGOPSim computes it: a checker that
 * shares nothing with the packet engine.
 *
 * Events are operations that may start and messages whose first byte arrives. An event that finds
 * its cpu or nic taken is put back to when that is free, in its old place among equals. A message
 * uses at its receiver the cpu and the nic that the send names. Operations are numbered through all
 * ranks; a message has the number of its send.
 */
#include "goal_int.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX
#define NAME_BYTES 80

struct event {
    uint64_t time_ns, seq; /* order */
    uint32_t id;
    uint8_t is_message;
};

/* Operations that wait for their counterpart, oldest first, linked by model.next. */
struct queue {
    uint32_t head, tail;
};

struct model {
    const struct goal *g;
    const struct goal_loggops *p;
    struct err_info *e;
    uint32_t op_count; /* of all ranks */
    uint32_t *base;    /* shape: [rank_count + 1], number of a rank's first operation */
    uint32_t *rank_of; /* shape: [op_count] */
    uint32_t *waits;   /* shape: [op_count], dependencies not yet met */
    uint32_t *next;    /* shape: [op_count], in a queue */
    uint8_t *is_done;  /* shape: [op_count] */
    /* When the cpus and nics of each rank are free, the nics for sending and for receiving. */
    uint32_t cpu_count, nic_count;
    uint64_t *cpu_ns;                  /* shape: [rank_count][cpu_count] */
    uint64_t *send_ns, *recv_ns;       /* shape: [rank_count][nic_count] */
    struct queue *posted, *unexpected; /* shape: [rank_count], receives and messages */
    struct event *heap;                /* shape: [2 op_count], at most one of each kind */
    uint32_t heap_count;
    uint64_t seq;
    uint32_t *freed; /* shape: [op_count], operations that an event released */
    uint32_t freed_count;
    int is_overflow; /* a time did not fit */
};

static const struct goal_op *op_of(const struct model *m, uint32_t id)
{
    const uint32_t rank = m->rank_of[id];

    return &m->g->ranks[rank].ops[id - m->base[rank]];
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* time + fixed + (bytes - 1) * per byte: the first byte is part of the fixed cost. */
static uint64_t add_cost(struct model *m, uint64_t time_ns, uint64_t fixed_ns, uint64_t bytes,
                         uint64_t byte_ns)
{
    uint64_t cost, sum;

    if (__builtin_mul_overflow(bytes ? bytes - 1 : 0, byte_ns, &cost) ||
        __builtin_add_overflow(cost, fixed_ns, &cost) ||
        __builtin_add_overflow(cost, time_ns, &sum)) {
        m->is_overflow = 1;
        return time_ns;
    }
    return sum;
}

/* Binary heap by (time, sequence number). */

static int is_before(const struct event *a, const struct event *b)
{
    return a->time_ns != b->time_ns ? a->time_ns < b->time_ns : a->seq < b->seq;
}

static void push_event(struct model *m, struct event ev)
{
    uint32_t i = m->heap_count++;

    for (; i && is_before(&ev, &m->heap[(i - 1) / 2]); i = (i - 1) / 2)
        m->heap[i] = m->heap[(i - 1) / 2];
    m->heap[i] = ev;
}

static struct event pop_event(struct model *m)
{
    const struct event first = m->heap[0], last = m->heap[--m->heap_count];
    uint32_t i = 0;

    for (uint32_t child; (child = 2 * i + 1) < m->heap_count; i = child) {
        if (child + 1 < m->heap_count && is_before(&m->heap[child + 1], &m->heap[child]))
            child++;
        if (!is_before(&m->heap[child], &last))
            break;
        m->heap[i] = m->heap[child];
    }
    m->heap[i] = last;
    return first;
}

/* Dependencies. */

static void release(struct model *m, uint32_t id, const struct goal_edges *edges)
{
    const uint32_t base = m->base[m->rank_of[id]], op = id - base;

    for (uint32_t i = edges->first[op]; i < edges->first[op + 1]; i++)
        if (--m->waits[base + edges->waiter[i]] == 0)
            m->freed[m->freed_count++] = base + edges->waiter[i];
}

static void on_started(struct model *m, uint32_t id)
{
    release(m, id, &m->g->ranks[m->rank_of[id]].on_start);
}

static void on_done(struct model *m, uint32_t id)
{
    m->is_done[id] = 1;
    release(m, id, &m->g->ranks[m->rank_of[id]].on_end);
}

/* The clock of the cpu of @op at @rank; likewise those of its nic. */
static uint64_t *cpu_clock(const struct model *m, uint32_t rank, const struct goal_op *op)
{
    return &m->cpu_ns[(size_t)rank * m->cpu_count + op->cpu];
}

static uint64_t *send_clock(const struct model *m, uint32_t rank, const struct goal_op *op)
{
    return &m->send_ns[(size_t)rank * m->nic_count + op->nic];
}

static uint64_t *recv_clock(const struct model *m, uint32_t rank, const struct goal_op *op)
{
    return &m->recv_ns[(size_t)rank * m->nic_count + op->nic];
}

/* When an operation that may now start finds its cpu and nic free. */
static uint64_t start_time(const struct model *m, uint32_t id)
{
    const struct goal_op *op = op_of(m, id);
    const uint32_t rank = m->rank_of[id];
    const uint64_t cpu_ns = *cpu_clock(m, rank, op);

    return op->kind == GOAL_SEND ? later(cpu_ns, *send_clock(m, rank, op)) : cpu_ns;
}

/* The freed operations of @rank become events: sends, then receives, then calculations, each in the
 * order in which they were freed. */
static void start_freed_of(struct model *m, uint32_t rank)
{
    uint32_t kept = 0;

    for (uint8_t kind = GOAL_SEND; kind <= GOAL_CALC; kind++)
        for (uint32_t i = 0; i < m->freed_count; i++)
            if (m->rank_of[m->freed[i]] == rank && op_of(m, m->freed[i])->kind == kind)
                push_event(m, (struct event){start_time(m, m->freed[i]), m->seq++, m->freed[i], 0});
    for (uint32_t i = 0; i < m->freed_count; i++)
        if (m->rank_of[m->freed[i]] != rank)
            m->freed[kept++] = m->freed[i];
    m->freed_count = kept;
}

/* By rank; an event frees operations of two ranks at most. */
static void start_freed(struct model *m)
{
    while (m->freed_count) {
        uint32_t rank = m->rank_of[m->freed[0]];

        for (uint32_t i = 1; i < m->freed_count; i++)
            if (m->rank_of[m->freed[i]] < rank)
                rank = m->rank_of[m->freed[i]];
        start_freed_of(m, rank);
    }
}

/* Matching. */

static void append(struct model *m, struct queue *q, uint32_t id)
{
    m->next[id] = NONE;
    if (q->head == NONE)
        q->head = id;
    else
        m->next[q->tail] = id;
    q->tail = id;
}

static int is_match(const struct model *m, uint32_t recv, uint32_t send)
{
    const struct goal_op *r = op_of(m, recv), *s = op_of(m, send);

    return (r->peer == GOAL_ANY || r->peer == m->rank_of[send]) &&
           (r->tag == GOAL_ANY || s->tag == GOAL_ANY || r->tag == s->tag);
}

/* Takes the oldest counterpart of @id out of @q; NONE if there is none. */
static uint32_t take_match(struct model *m, struct queue *q, uint32_t id, int is_recv)
{
    uint32_t before = NONE, i = q->head;

    while (i != NONE && !(is_recv ? is_match(m, id, i) : is_match(m, i, id))) {
        before = i;
        i = m->next[i];
    }
    if (i == NONE)
        return NONE;
    if (before == NONE)
        q->head = m->next[i];
    else
        m->next[before] = m->next[i];
    if (q->tail == i)
        q->tail = before;
    return i;
}

/* A message is received. A large one has kept its sender waiting up to now. */
static void on_received(struct model *m, uint32_t send, uint32_t recv, uint64_t now_ns)
{
    const struct goal_op *s = op_of(m, send);
    uint64_t *cpu_ns = cpu_clock(m, m->rank_of[send], s);
    uint64_t *send_ns = send_clock(m, m->rank_of[send], s);

    if (s->amount > m->p->rendezvous_bytes) {
        *cpu_ns = later(*cpu_ns, now_ns);
        *send_ns = later(*send_ns, now_ns);
        on_done(m, send);
    }
    on_done(m, recv);
}

/* Events. Each returns the time at which it could take place; @now_ns if it has. */

static uint64_t on_calc(struct model *m, uint32_t id, uint64_t now_ns)
{
    const struct goal_op *op = op_of(m, id);
    uint64_t *cpu_ns = cpu_clock(m, m->rank_of[id], op);

    if (*cpu_ns > now_ns)
        return *cpu_ns;
    *cpu_ns = add_cost(m, now_ns, op->amount, 0, 0);
    on_started(m, id);
    on_done(m, id);
    return now_ns;
}

static uint64_t on_send(struct model *m, uint32_t id, uint64_t now_ns)
{
    const struct goal_loggops *p = m->p;
    const struct goal_op *op = op_of(m, id);
    const uint64_t ready_ns = start_time(m, id);

    if (ready_ns > now_ns)
        return ready_ns;
    on_started(m, id);
    *cpu_clock(m, m->rank_of[id], op) =
        add_cost(m, now_ns, p->overhead_ns, op->amount, p->overhead_byte_ns);
    *send_clock(m, m->rank_of[id], op) = add_cost(m, now_ns, p->gap_ns, op->amount, p->gap_byte_ns);
    const uint64_t sent_ns = add_cost(m, now_ns, p->overhead_ns, 0, 0);

    push_event(m, (struct event){add_cost(m, sent_ns, p->latency_ns, 0, 0), m->seq++, id, 1});
    if (op->amount <= p->rendezvous_bytes)
        on_done(m, id);
    return now_ns;
}

static uint64_t on_recv(struct model *m, uint32_t id, uint64_t now_ns)
{
    const uint32_t rank = m->rank_of[id];

    on_started(m, id);
    const uint32_t send = take_match(m, &m->unexpected[rank], id, 1);

    if (send == NONE)
        append(m, &m->posted[rank], id);
    else
        on_received(m, send, id, now_ns);
    return now_ns;
}

static uint64_t on_message(struct model *m, uint32_t id, uint64_t now_ns)
{
    const struct goal_loggops *p = m->p;
    const struct goal_op *op = op_of(m, id);
    uint64_t *cpu_ns = cpu_clock(m, op->peer, op), *recv_ns = recv_clock(m, op->peer, op);
    const uint64_t ready_ns = later(*cpu_ns, *recv_ns);

    if (ready_ns > now_ns)
        return ready_ns;
    *cpu_ns =
        add_cost(m, now_ns, p->overhead_ns, op->amount, later(p->overhead_byte_ns, p->gap_byte_ns));
    *recv_ns = add_cost(m, now_ns, p->gap_ns, op->amount, p->gap_byte_ns);
    const uint32_t recv = take_match(m, &m->posted[op->peer], id, 0);

    if (recv == NONE)
        append(m, &m->unexpected[op->peer], id);
    else
        on_received(m, id, recv, now_ns);
    return now_ns;
}

static void run(struct model *m)
{
    start_freed(m);
    while (m->heap_count && !m->is_overflow) {
        struct event ev = pop_event(m);
        const uint8_t kind = op_of(m, ev.id)->kind;
        const uint64_t time_ns = ev.is_message       ? on_message(m, ev.id, ev.time_ns)
                                 : kind == GOAL_SEND ? on_send(m, ev.id, ev.time_ns)
                                 : kind == GOAL_RECV ? on_recv(m, ev.id, ev.time_ns)
                                                     : on_calc(m, ev.id, ev.time_ns);

        if (time_ns > ev.time_ns) {
            ev.time_ns = time_ns;
            push_event(m, ev);
        }
        start_freed(m);
    }
}

/* Set-up and results. */

static void init_rank(struct model *m, uint32_t rank)
{
    const struct goal_rank *r = &m->g->ranks[rank];
    const uint32_t base = m->base[rank];

    m->posted[rank].head = m->unexpected[rank].head = NONE;
    for (uint32_t i = 0; i < r->op_count; i++)
        m->rank_of[base + i] = rank;
    for (uint32_t i = 0; i < r->on_end.first[r->op_count]; i++)
        m->waits[base + r->on_end.waiter[i]]++;
    for (uint32_t i = 0; i < r->on_start.first[r->op_count]; i++)
        m->waits[base + r->on_start.waiter[i]]++;
    for (uint32_t i = 0; i < r->op_count; i++)
        if (!m->waits[base + i])
            m->freed[m->freed_count++] = base + i;
    start_freed(m);
}

/* Numbers the operations and finds how many cpus and nics there are. */
static int count_ops(struct model *m)
{
    uint64_t ops = 0;

    m->cpu_count = m->nic_count = 1;
    for (uint32_t i = 0; i < m->g->rank_count; i++) {
        const struct goal_rank *r = &m->g->ranks[i];

        m->base[i] = (uint32_t)ops;
        ops += r->op_count;
        if (ops >= UINT32_MAX / 2)
            return err_set(m->e, WH_ERR_LIMIT, m->g->path, 0,
                           "found more than 2^31 operations, expected fewer");
        for (uint32_t k = 0; k < r->op_count; k++) {
            m->cpu_count = r->ops[k].cpu >= m->cpu_count ? r->ops[k].cpu + 1u : m->cpu_count;
            m->nic_count = r->ops[k].nic >= m->nic_count ? r->ops[k].nic + 1u : m->nic_count;
        }
    }
    m->op_count = (uint32_t)ops;
    return 0;
}

static int alloc_tables(struct model *m)
{
    const size_t rows = (size_t)m->op_count + 1, ranks = m->g->rank_count;

    m->rank_of = calloc(rows, sizeof *m->rank_of);
    m->waits = calloc(rows, sizeof *m->waits);
    m->next = calloc(rows, sizeof *m->next);
    m->is_done = calloc(rows, sizeof *m->is_done);
    m->freed = calloc(rows, sizeof *m->freed);
    m->heap = calloc(2 * rows, sizeof *m->heap);
    m->cpu_ns = calloc(ranks * m->cpu_count, sizeof *m->cpu_ns);
    m->send_ns = calloc(ranks * m->nic_count, sizeof *m->send_ns);
    m->recv_ns = calloc(ranks * m->nic_count, sizeof *m->recv_ns);
    m->posted = calloc(ranks, sizeof *m->posted);
    m->unexpected = calloc(ranks, sizeof *m->unexpected);
    return m->rank_of && m->waits && m->next && m->is_done && m->freed && m->heap && m->cpu_ns &&
                   m->send_ns && m->recv_ns && m->posted && m->unexpected
               ? 0
               : WH_ERR_NOMEM;
}

static int model_init(struct model *m)
{
    m->base = calloc((size_t)m->g->rank_count + 1, sizeof *m->base);
    int rc = m->base ? count_ops(m) : WH_ERR_NOMEM;

    if (!rc)
        rc = alloc_tables(m);
    if (rc == WH_ERR_NOMEM)
        err_set(m->e, rc, m->g->path, 0, "out of memory");
    for (uint32_t i = 0; !rc && i < m->g->rank_count; i++)
        init_rank(m, i);
    return rc;
}

static void model_fini(struct model *m)
{
    free(m->base);
    free(m->rank_of);
    free(m->waits);
    free(m->next);
    free(m->is_done);
    free(m->freed);
    free(m->heap);
    free(m->cpu_ns);
    free(m->send_ns);
    free(m->recv_ns);
    free(m->posted);
    free(m->unexpected);
}

static int refuse_waiting(const struct model *m, uint32_t rank, uint32_t id, const char *what,
                          uint32_t peer)
{
    const struct goal_op *op = op_of(m, id);
    const uint32_t owner = m->rank_of[id];
    char name[NAME_BYTES], from[16], tag[16];

    snprintf(from, sizeof from, peer == GOAL_ANY ? "any" : "%u", peer);
    snprintf(tag, sizeof tag, op->tag == GOAL_ANY ? "any" : "%u", op->tag);
    return err_set(m->e, WH_ERR_INPUT, m->g->path, 0,
                   "found a deadlock: at rank %u %s \"%.64s\" (source %s, tag %s, %" PRIu64
                   " B) never meets its counterpart, expected a send for every receive and a "
                   "receive for every send",
                   rank, what,
                   goal_label(&m->g->ranks[owner], id - m->base[owner], name, sizeof name), from,
                   tag, op->amount);
}

static int check_done(const struct model *m)
{
    for (uint32_t i = 0; i < m->g->rank_count; i++) {
        const uint32_t recv = m->posted[i].head, send = m->unexpected[i].head;

        if (recv != NONE)
            return refuse_waiting(m, i, recv, "the receive", op_of(m, recv)->peer);
        if (send != NONE)
            return refuse_waiting(m, i, send, "the message of send", m->rank_of[send]);
    }
    for (uint32_t i = 0; i < m->op_count; i++)
        check(m->is_done[i], "operation %u neither done nor waiting", i);
    return 0;
}

static uint64_t calc_end(const struct model *m, uint32_t rank)
{
    uint64_t end_ns = 0;

    for (uint32_t i = 0; i < m->cpu_count; i++)
        end_ns = later(end_ns, m->cpu_ns[(size_t)rank * m->cpu_count + i]);
    return end_ns;
}

void goal_loggops_init(struct goal_loggops *p)
{
    *p = (struct goal_loggops){.latency_ns = 2500,
                               .overhead_ns = 1500,
                               .gap_ns = 1000,
                               .gap_byte_ns = 6,
                               .overhead_byte_ns = 0,
                               .rendezvous_bytes = 65535};
}

int goal_loggops_run(const struct goal *g, const struct goal_loggops *p, uint64_t *end_ns,
                     struct err_info *e)
{
    struct model m = {.g = g, .p = p, .e = e};
    int rc = model_init(&m);

    if (!rc) {
        run(&m);
        rc = m.is_overflow ? err_set(e, WH_ERR_LIMIT, g->path, 0,
                                     "found times above 2^64 ns, expected shorter ones")
                           : check_done(&m);
    }
    for (uint32_t i = 0; !rc && i < g->rank_count; i++)
        end_ns[i] = calc_end(&m, i);
    model_fini(&m);
    return rc;
}
