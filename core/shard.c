/*
 * shard.c - executes a partition by shards, in windows: see shard.h.
 *
 * A window ends before anything that is sent in it can arrive over a cut wire. Where the partition
 * has to stop at completions, it also ends with the first last packet that has announced itself,
 * and before one that has not could arrive.
 *
 * Threading: shard_task and what it calls on any worker, one shard each; all else the coordinator.
 */
#include "shard.h"

#include "sim_int.h"
#include "units.h"

#include <stdlib.h>
#include <string.h>

/* A barrier takes some microseconds, an event 0.1: windows of fewer events do not pay; nor do
 * rounds that are over before the events have been handed to the shards. */
#define WINDOW_EVENTS_MIN 2000.0
#define ROUND_EVENTS_MIN 100000u
#define SHARDS_PER_THREAD 4u
#define SHARD_BYTES 262144u /* of state, a quarter of a core's second-level cache */
#define ONE_THREAD_MIN 8u   /* shards that the cache asks for, below which one thread needs none */

struct mail {
    uint32_t port, row; /* port: PORT_NONE for an acknowledgement beside the network */
};

struct mailbox {
    struct mail *at; /* shape: [count] */
    uint32_t count, cap;
};

struct shard_set {
    const struct shard_map *map;
    struct part **part;       /* shape: [map->count] */
    struct pool_task **tasks; /* shape: [map->count] */
    struct mailbox
        *box;         /* shape: [2][map->count + 1][map->count]: sender, the home last; receiver */
    uint8_t *is_full; /* shape: [2][map->count][map->count + 1]: receiver, sender; box not empty */
    uint32_t parity;  /* of the boxes that are being filled */
    int64_t next;     /* local: no event of the shards, no arrival from a box comes before it */
    uint32_t witness; /* index in home.flow, see has_witness */
    uint8_t has_mail; /* boxes may hold something */
};

/* ---- mail ---- */

static struct mailbox *box_of(struct shard_set *x, uint32_t parity, uint32_t from, uint32_t to)
{
    const uint32_t count = x->map->count;

    return &x->box[((size_t)parity * (count + 1) + from) * count + to];
}

static uint8_t *flags_of(struct shard_set *x, uint32_t parity, uint32_t to)
{
    const uint32_t count = x->map->count;

    return &x->is_full[((size_t)parity * count + to) * (count + 1)];
}

static void post(struct part *p, uint32_t to, uint32_t port, uint32_t row)
{
    struct shard_set *x = p->shards;
    struct mailbox *b = box_of(x, x->parity, p->shard, to);
    const int64_t arrive = p->pkt[row].arrive;

    if (b->count == b->cap) {
        const uint32_t cap = b->cap ? 2 * b->cap : 64;
        check(!rows_grow(&b->at, sizeof *b->at, cap), "out of memory for %u packets", cap);
        b->cap = cap;
    }
    if (!b->count)
        flags_of(x, x->parity, to)[p->shard] = 1;
    b->at[b->count++] = (struct mail){port, row};
    if (arrive < p->sent_min)
        p->sent_min = arrive;
    if (p->shard == x->map->count) /* the others say so when the window is over */
        x->has_mail = 1;
}

void shard_send(struct part *p, uint32_t port, uint32_t row)
{
    const struct shard_map *m = p->cut;

    post(p, m->of_port[m->wire[m->cut[port] - 1].in_port], port, row);
}

int shard_send_bypass(struct part *p, uint32_t row)
{
    const uint32_t to = p->cut->of_port[p->tx[p->pkt[row].flow].port];

    if (to == p->shard)
        return 0;
    if ((p->pkt[row].flags & PKT_LAST) && p->reacts)
        part_announce(p, p->pkt[row].arrive);
    post(p, to, PORT_NONE, row);
    return 1;
}

static void empty(struct part *q, struct mailbox *b)
{
    const struct shard_map *m = q->cut;

    for (uint32_t i = 0; i < b->count; i++) {
        const struct mail *k = &b->at[i];
        struct cut_wire *w;

        if (i + 4 < b->count)
            __builtin_prefetch(&q->pkt[b->at[i + 4].row]);
        if (k->port == PORT_NONE) {
            receiver_queue_bypass(q, k->row);
            continue;
        }
        w = &m->wire[m->cut[k->port] - 1];
        port_put_on_wire(q, k->port, &w->head, &w->tail, k->row);
    }
    b->count = 0;
}

/* Takes what others have sent to the shard up to the last window. */
static void deliver(struct part *q, uint32_t parity)
{
    struct shard_set *x = q->shards;
    uint8_t *is_full = flags_of(x, parity, q->shard);

    for (uint32_t from = 0; from <= x->map->count; from++) {
        if (!is_full[from])
            continue;
        is_full[from] = 0;
        empty(q, box_of(x, parity, from, q->shard));
    }
}

void shard_flush(struct part *p)
{
    struct shard_set *x = p->shards;

    if (!p->cut || !x->has_mail)
        return;
    for (uint32_t i = 0; i < x->map->count; i++)
        deliver(x->part[i], x->parity);
    x->has_mail = 0;
}

/* ---- events ---- */

/* Where the event is executed. */
static uint32_t shard_of(const struct part *p, const struct event *e)
{
    const uint32_t row = event_row(e->id);
    const struct shard_map *m = p->shards->map;

    switch (event_kind(e->id)) {
    case EVENT_WIRE:
        return m->of_port[m->cut[row] ? m->wire[m->cut[row] - 1].in_port : row];
    case EVENT_TX_DONE:
    case EVENT_NIC_TIMER:
        return m->of_port[row];
    case EVENT_CC_TIMER:
    case EVENT_CC_TIMER2:
    case EVENT_RTO:
    case EVENT_ACK_BYPASS:
        break;
    }
    return m->of_port[p->tx[row].port];
}

/* What has been scheduled in the home goes to the shards. */
static void hand_out(struct part *p)
{
    struct shard_set *x = p->shards;
    struct event e;

    if (!calendar_count(&p->cal))
        return;
    while (calendar_pop(&p->cal, TIME_NEVER, &e)) {
        x->next = e.time < x->next ? e.time : x->next;
        calendar_push(&x->part[shard_of(p, &e)]->cal, &e);
    }
    calendar_clear(&p->cal);
}

int64_t shard_next(const struct part *p)
{
    int64_t next = calendar_next_bound(&p->cal);

    next = p->shards->next < next ? p->shards->next : next;
    return p->sent_min < next ? p->sent_min : next;
}

/* ---- taking apart and putting together ---- */

static void shard_task(void *arg, struct pool_worker *w);

static struct part *new_shard(struct part *home, uint32_t shard)
{
    struct part *q = part_alloc(home->s);

    check(q != NULL, "out of memory for a shard");
    q->id = home->id;
    q->shard = shard;
    q->shards = home->shards;
    q->cut = home->shards->map;
    q->reacts = 1; /* last packets are announced */
    q->task.fn = shard_task;
    q->task.arg = q;
    q->task.worker_id = POOL_WORKER_NONE;
    q->sent_min = TIME_NEVER;
    return q;
}

static void make_set(struct part *p)
{
    const struct shard_map *m = &p->s->shard_map;
    struct shard_set *x = calloc(1, sizeof *x);

    check(x != NULL, "out of memory for shards");
    p->shards = x;
    x->map = m;
    x->part = calloc(m->count, sizeof(struct part *));
    x->tasks = calloc(m->count, sizeof(struct pool_task *));
    x->box = calloc(2 * (size_t)(m->count + 1) * m->count, sizeof *x->box);
    x->is_full = calloc(2 * (size_t)(m->count + 1) * m->count, 1);
    check(x->part && x->tasks && x->box && x->is_full, "out of memory for %u shards", m->count);
    for (uint32_t i = 0; i < m->count; i++) {
        x->part[i] = new_shard(p, i);
        x->tasks[i] = &x->part[i]->task;
    }
    p->shard = m->count;
}

void shard_adopt_wires(struct part *p)
{
    const struct shard_map *m = p->cut;

    for (uint32_t i = 0; i < m->cut_count; i++) {
        struct port *pt = &p->port[m->wire[i].port];

        if (pt->part != p->id || !pt->wire_head)
            continue;
        m->wire[i].head = pt->wire_head;
        m->wire[i].tail = pt->wire_tail;
        pt->wire_head = pt->wire_tail = 0;
    }
}

/* Last packets on their last wires: a partition whose completions have no consequences has not
 * announced them. */
static void announce_all(struct part *p)
{
    for (uint32_t i = 0; i < p->s->topo->port_count; i++) {
        if (p->port[i].part != p->id)
            continue;
        for (uint32_t row = p->port[i].wire_head; row; row = p->pkt[row].next)
            if ((p->pkt[row].flags & PKT_LAST) && p->path[p->pkt[row].path] == PATH_END)
                part_announce(p, p->pkt[row].arrive);
    }
    for (uint32_t i = 0; i < p->flow_count; i++)
        for (uint32_t row = p->tx[p->flow[i]].bypass_head; row; row = p->pkt[row].next)
            if (p->pkt[row].flags & PKT_LAST)
                part_announce(p, p->pkt[row].arrive);
}

static void scatter(struct part *p)
{
    struct shard_set *x;

    if (!p->shards)
        make_set(p);
    x = p->shards;
    if (!p->reacts)
        announce_all(p);
    p->cut = x->map;
    p->sent_min = TIME_NEVER;
    x->next = TIME_NEVER;
    x->witness = 0;
    for (uint32_t i = 0; i < x->map->count; i++) {
        x->part[i]->events_per_ps = 0;
        x->part[i]->now = p->now;
    }
    shard_adopt_wires(p);
    hand_out(p);
    p->s->scatters++;
    p->s->cut_parts++;
}

static void move_back(struct part *p, struct part *q)
{
    struct event e;

    while (calendar_pop(&q->cal, TIME_NEVER, &e))
        calendar_push(&p->cal, &e);
    calendar_clear(&q->cal);
    for (uint32_t i = 0; i < q->final_count; i++)
        part_announce(p, q->final[i]);
    q->final_count = 0;
}

void shard_gather(struct part *p)
{
    struct shard_set *x = p->shards;

    if (!p->cut)
        return;
    hand_out(p);
    shard_flush(p);
    for (uint32_t i = 0; i < x->map->count; i++)
        move_back(p, x->part[i]);
    for (uint32_t i = 0; i < x->map->cut_count; i++) {
        struct cut_wire *w = &x->map->wire[i];
        struct port *pt = &p->port[w->port];

        if (pt->part != p->id)
            continue;
        pt->wire_head = w->head;
        pt->wire_tail = w->tail;
        w->head = w->tail = 0;
    }
    p->cut = NULL;
    p->s->cut_parts--;
}

void shard_fini(struct part *p)
{
    struct shard_set *x = p->shards;

    if (!x)
        return;
    for (uint32_t i = 0; i < x->map->count; i++) {
        calendar_fini(&x->part[i]->cal);
        free(x->part[i]->note);
        free(x->part[i]->final);
        free(x->part[i]);
    }
    for (size_t i = 0; i < 2 * (size_t)(x->map->count + 1) * x->map->count; i++)
        free(x->box[i].at);
    free(x->box);
    free(x->is_full);
    free(x->part);
    free(x->tasks);
    free(x);
}

uint32_t shard_wire_head(struct part *p, uint32_t port)
{
    if (!p->cut)
        return p->port[port].wire_head;
    shard_flush(p);
    return p->cut->cut[port] ? p->cut->wire[p->cut->cut[port] - 1].head : p->port[port].wire_head;
}

struct part *shard_at(const struct part *p, uint32_t i)
{
    return p->shards && i < p->shards->map->count ? p->shards->part[i] : NULL;
}

/* ---- whether it pays ---- */

/* What is not stopped at by announcement, or needs the partition in one piece. */
static int can_shard(const struct part *p)
{
    const struct sim *s = p->s;

    if (p->order != ORDER_CANONICAL || s->cfg.rto_retries_max < 2 || p->may_stall ||
        s->watch.wants_acks || s->audit_share > 0)
        return 0;
    if (s->memo.lookup && snapshot_can(p))
        return 0;
    return s->cfg.recovery != RECOVERY_SELECTIVE_REPEAT || !(s->is_accelerated || p->reacts);
}

/* Shards that state fits the cache in. At the time the first packets may only be on their way: each
 * flow is expected to fill its window. */
static uint32_t count_for_cache(const struct sim *s)
{
    const uint64_t window_packets = (uint64_t)(s->max_bdp_bytes / s->cfg.payload_bytes);
    const uint64_t packets = s->flow_active * window_packets;
    const uint64_t bytes = s->topo->port_count * sizeof *s->port +
                           packets * (sizeof *s->pkt + (s->int_rec ? sizeof *s->int_rec : 0)) +
                           s->flow_active * (sizeof *s->tx + sizeof *s->rx + s->cc_stride);
    const uint64_t count = bytes / SHARD_BYTES;

    return count < SHARDS_MAX ? (uint32_t)count : SHARDS_MAX;
}

static uint32_t choose_count(const struct sim *s)
{
    const uint32_t for_cache = count_for_cache(s);
    const uint32_t for_threads = s->worker_count > 1 ? SHARDS_PER_THREAD * s->worker_count : 1;

    if (s->engine.shards)
        return s->engine.shards;
    return for_cache > for_threads ? for_cache : for_threads;
}

/* Made when it is first needed, and for good: partitions differ little in what they need. */
static int has_map(struct sim *s)
{
    if (!s->shard_map.count)
        check(shard_map_make(s, choose_count(s), &s->shard_map) == 0, "out of memory for shards");
    return s->shard_map.count > 1;
}

static int pays(const struct part *p, uint64_t weight, uint64_t total)
{
    struct sim *s = p->s;
    int64_t window_ps;

    if (s->engine.shards)
        return s->engine.shards > 1 && has_map(s);
    if (weight < ROUND_EVENTS_MIN || weight * s->worker_count * 2 < total)
        return 0;
    if ((s->worker_count == 1 && count_for_cache(s) < ONE_THREAD_MIN) || !has_map(s))
        return 0;
    window_ps = s->shard_map.window_ps;
    if (s->is_accelerated && s->least_delay_ps < window_ps)
        window_ps = s->least_delay_ps;
    return p->events_per_ps * (double)window_ps >= WINDOW_EVENTS_MIN;
}

int shard_is_idle(const struct sim *s, uint64_t total)
{
    return s->engine.shards == 1 ||
           (!s->cut_parts && !s->engine.shards && total < ROUND_EVENTS_MIN);
}

int shard_use(struct part *p, uint64_t weight, uint64_t total)
{
    if (p->cut)
        return 1;
    if (!can_shard(p) || !pays(p, weight, total))
        return 0;
    scatter(p);
    return 1;
}

/* ---- windows ---- */

static int64_t first_of(struct part *p, int64_t from)
{
    int64_t first = TIME_NEVER;
    uint32_t kept = 0;

    for (uint32_t i = 0; i < p->final_count; i++) {
        if (p->final[i] < from)
            continue;
        first = p->final[i] < first ? p->final[i] : first;
        p->final[kept++] = p->final[i];
    }
    p->final_count = kept;
    return first;
}

int64_t shard_first_final(struct part *p, int64_t from)
{
    int64_t first = first_of(p, from);

    for (uint32_t i = 0; p->cut && i < p->cut->count; i++) {
        const int64_t f = first_of(p->shards->part[i], from);

        first = f < first ? f : first;
    }
    return first;
}

/* Is there a flow that cannot complete within a window? It has bytes that were never sent, and they
 * travel for longer. */
static int has_witness(struct part *p)
{
    struct shard_set *x = p->shards;

    for (uint32_t i = 0; i < p->flow_count; i++) {
        const struct flow_tx *t;

        if (x->witness >= p->flow_count)
            x->witness = 0;
        t = &p->tx[p->flow[x->witness]];
        if (t->active && t->snd_max < t->size && t->base_rtt_ps > x->map->window_ps)
            return 1;
        x->witness++;
    }
    return 0;
}

static int64_t window_end(struct part *p, int64_t next)
{
    const int64_t window_ps = p->cut->window_ps;
    int64_t end = p->limit - next < window_ps ? p->limit : next + window_ps;
    int64_t final;

    if (!p->s->is_accelerated && (!p->stops_idle || has_witness(p)))
        return end;
    end = end - next < p->s->least_delay_ps ? end : next + p->s->least_delay_ps;
    final = shard_first_final(p, next);
    return final < end ? final : end;
}

static void shard_task(void *arg, struct pool_worker *w)
{
    struct part *q = arg;
    const uint64_t before = q->events;
    int64_t next;

    q->worker = w ? pool_worker_id(w) : 0;
    q->sent_min = TIME_NEVER;
    deliver(q, !q->shards->parity);
    part_run_plain(q);
    q->weight = q->events - before;
    next = calendar_next_bound(&q->cal);
    q->bound = q->sent_min < next ? q->sent_min : next;
}

static void move_notes(struct part *p, struct part *q)
{
    for (uint32_t i = 0; i < q->note_count; i++)
        part_put_note(p, &q->note[i]);
    p->running += q->running; /* what it has gone down by */
    q->note_count = q->running = 0;
}

/* What the shards have noted is the partition's; it may have to stop. */
static void close_window(struct part *p, int64_t end)
{
    struct shard_set *x = p->shards;
    const uint32_t noted = p->note_count;

    x->next = TIME_NEVER;
    for (uint32_t i = 0; i < x->map->count; i++) {
        struct part *q = x->part[i];

        move_notes(p, q);
        x->next = q->bound < x->next ? q->bound : x->next;
        x->has_mail |= q->sent_min != TIME_NEVER;
        p->may_stall |= q->may_stall;
    }
    if (p->note_count == noted)
        return;
    p->note_stop |= p->s->is_accelerated;
    if (p->limit > end && (p->note_stop || (p->stops_idle && !p->running)))
        p->limit = end;
    for (uint32_t i = noted; i < p->note_count; i++)
        dcheck(!p->note_stop || p->note[i].time == end + p->offset,
               "partition %u: a completion at %lld in a window that ends at %lld", p->id,
               (long long)p->note[i].time, (long long)(end + p->offset));
}

static void run_window(struct part *p, int64_t next, int64_t end)
{
    struct shard_set *x = p->shards;
    const double span = (double)(end - next) + 1;

    x->parity ^= 1;
    x->has_mail = 0;
    p->sent_min = TIME_NEVER;
    for (uint32_t i = 0; i < x->map->count; i++) {
        struct part *q = x->part[i];

        q->limit = end;
        q->task.weight = (uint64_t)(q->events_per_ps * span) + 1;
    }
    if (p->s->pool)
        pool_round(p->s->pool, x->tasks, x->map->count);
    else
        for (uint32_t i = 0; i < x->map->count; i++)
            shard_task(x->part[i], NULL);
    for (uint32_t i = 0; i < x->map->count; i++)
        x->part[i]->events_per_ps =
            0.5 * (x->part[i]->events_per_ps + (double)x->part[i]->weight / span);
    p->s->shard_windows++;
    close_window(p, end);
}

static void fold(uint64_t *to, uint64_t *from)
{
    *to += *from;
    *from = 0;
}

/* The partition's counters and clock are those of its shards together. */
static void fold_all(struct part *p, struct part *q)
{
    fold(&p->events, &q->events);
    fold(&p->packet_hops, &q->packet_hops);
    fold(&p->data_packets, &q->data_packets);
    fold(&p->ack_packets, &q->ack_packets);
    fold(&p->nack_packets, &q->nack_packets);
    fold(&p->cnp_echoes, &q->cnp_echoes);
    fold(&p->pfc_frames, &q->pfc_frames);
    fold(&p->drops, &q->drops);
    fold(&p->losses, &q->losses);
    fold(&p->marks, &q->marks);
    fold(&p->pauses, &q->pauses);
    fold(&p->rate_cuts, &q->rate_cuts);
    fold(&p->timeouts, &q->timeouts);
    fold(&p->retx_packets, &q->retx_packets);
    fold(&p->draws, &q->draws);
    p->now = q->now > p->now ? q->now : p->now;
    p->cal.failed |= q->cal.failed;
}

void shard_run(struct part *p)
{
    struct shard_set *x = p->shards;
    int64_t next, end = INT64_MIN;

    hand_out(p);
    for (uint32_t i = 0; i < x->map->count; i++)
        x->part[i]->offset = p->offset;
    for (;;) {
        next = shard_next(p);
        if (next <= end)
            next = end + 1; /* it is only a bound, and all up to the end is done */
        if (next > p->limit)
            break;
        end = window_end(p, next);
        run_window(p, next, end);
    }
    for (uint32_t i = 0; i < x->map->count; i++)
        fold_all(p, x->part[i]);
    if (p->may_stall)
        shard_gather(p);
}
