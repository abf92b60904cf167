/*
 * round.c - the loop of a run: partitions advance on their own up to a horizon, then everything
 * meets.
 *
 * The horizon is the next control event; where completions have consequences (hooks that add flows)
 * also the earliest instant at which a flow could complete. That is known from below: what a flow
 * has not sent yet takes its time at line rate; and of flows that have sent everything the last
 * packet announces itself when it starts on its last wire, so that before the next event and the
 * shortest delay of a wire nothing unannounced can complete. In a round each partition with events
 * up to the horizon is a task on the pool. At the barrier completions are taken by (time, flow),
 * then the control events of the instant; what they cause at that instant follows in the next
 * round.
 *
 * Nothing here decides what is computed, only when and where: results are the same for any
 * number of threads, and the same as those of the serial engine, which is the loop over one
 * partition.
 *
 * Threading: the coordinator; round_task also on other workers, one partition each at a time.
 */
#include "merge_sort.h"
#include "scratch.h"
#include "sim_int.h"
#include "units.h"

#include <stdlib.h>
#include <string.h>

#define SLICE_EVENTS_MAX (UINT64_C(1) << 22) /* a round longer than that is cut shorter */
#define SLICE_FIRST_PS PS_PER_US

/* ---- set-up ---- */

/* Room for more partitions. Coordinator. */
int round_grow(struct sim *s)
{
    const uint32_t cap = s->part_cap ? 2 * s->part_cap : 64;

    if (rows_grow(&s->parts, sizeof *s->parts, cap) ||
        rows_grow(&s->part_free, sizeof *s->part_free, cap) ||
        rows_grow(&s->run, sizeof *s->run, cap) ||
        rows_grow(&s->touched, sizeof *s->touched, cap) ||
        rows_grow(&s->tasks, sizeof *s->tasks, cap) || sleep_grow(s, cap))
        return WH_ERR_NOMEM;
    s->part_cap = cap;
    return 0;
}

static int start_workers(struct sim *s)
{
    const uint32_t rows = s->pkt_cap / s->worker_count;

    s->pkt_range = calloc(s->worker_count, sizeof *s->pkt_range);
    if (!s->pkt_range)
        return WH_ERR_NOMEM;
    for (uint32_t i = 0; i < s->worker_count; i++) {
        struct pkt_range *r = &s->pkt_range[i];

        r->first = r->next = i * rows + 1; /* row 0 means none */
        r->end = r->first + rows - 1;
    }
    return 0;
}

int round_start(struct sim *s)
{
    const uint32_t ports = s->topo->port_count + 1;
    int rc;

    s->worker_count = s->is_serial ? 1 : s->engine.threads;
    s->slice_ps = SLICE_FIRST_PS;
    rc = start_workers(s);
    if (!rc)
        rc = ack_charge_init(s);
    if (rc || s->is_serial)
        return rc;
    s->in_load = arena_reserve(ports * sizeof *s->in_load);
    s->mark = arena_reserve(ports * sizeof *s->mark);
    s->port_list = arena_reserve(ports * sizeof *s->port_list);
    s->scratch = s->part.scratch = scratch_create(s->worker_count, s->topo->port_count);
    if (!s->in_load || !s->mark || !s->port_list || !s->scratch)
        return WH_ERR_NOMEM;
    return s->cfg.order == ORDER_NS3 ? part_fix_all(s) : 0;
}

/* ---- when the next flow can complete ---- */

void part_announce(struct part *p, int64_t arrive)
{
    if (p->final_count == p->final_cap) {
        const uint32_t cap = p->final_cap ? 2 * p->final_cap : 8;
        int64_t *f = realloc(p->final, cap * sizeof *f);

        check(f != NULL, "out of memory for %u last packets", cap);
        p->final = f;
        p->final_cap = cap;
    }
    p->final[p->final_count++] = arrive;
}

/* From what the flows have never sent: what went back may still be acknowledged. */
static int64_t sending_bound(const struct part *p, int64_t reached)
{
    const struct sim *s = p->s;
    const uint32_t frame = s->cfg.payload_bytes + s->data_header_bytes;
    const int64_t slack = s->is_accelerated ? 4 : 0; /* skips round to whole packets */
    int64_t bound = TIME_NEVER;

    for (uint32_t i = 0; i < p->flow_count; i++) {
        const struct flow_tx *t = &s->tx[p->flow[i]];
        const struct port_kind *k = &s->kind[s->port[t->port].kind];
        int64_t done, packets;

        if (!t->active)
            continue;
        packets = (t->size - t->snd_max) / s->cfg.payload_bytes;
        packets -= packets < slack ? packets : slack;
        done = reached + packets * k->tx_ps[frame];
        bound = done < bound ? done : bound;
    }
    return bound;
}

/* Nothing happens in the partition before it, local. It does not wait. */
static int64_t part_next(const struct part *p)
{
    if (p->frozen_ps)
        return p->frozen_at + p->frozen_ps;
    return part_next_event(p);
}

static void find_bound(struct part *p, int64_t reached)
{
    const int64_t sending = sending_bound(p, reached);
    const int64_t event = part_next_event(p);
    const int64_t final = shard_first_final(p, reached + 1);
    /* any packet may be the one that completes a selective repeat */
    const int64_t ahead =
        p->s->cfg.recovery == RECOVERY_SELECTIVE_REPEAT ? 0 : p->s->least_delay_ps;
    int64_t bound = event < TIME_NEVER - ahead ? event + ahead : TIME_NEVER;

    bound = sending > bound ? sending : bound;
    bound = final < bound ? final : bound;
    if (p->frozen_ps)
        bound = part_next(p);
    p->bound = bound > reached ? bound : reached + 1;
    if (p->executed < reached)
        p->bound = reached; /* it catches up first, and may end where its leader did */
}

static int64_t global_bound(struct part *p)
{
    if (p->bound == INT64_MIN || p->bound + p->offset <= p->s->reached)
        find_bound(p, p->s->reached - p->offset);
    return p->bound == TIME_NEVER ? TIME_NEVER : p->bound + p->offset;
}

/* Who sleeps completes nothing before it is due; who follows, nothing before its leader. */
static int64_t completion_bound(struct sim *s)
{
    int64_t first = sleep_first(s);

    for (uint32_t i = 0; i < s->awake_count; i++) {
        struct part *p = s->parts[s->awake[i]];
        const int64_t bound = p->running ? global_bound(p) : TIME_NEVER;

        first = bound < first ? bound : first;
    }
    return first;
}

/* ---- one round ---- */

/* A flow at 100 Gb/s over four links, acknowledgements included, executes an event every 6 ns. */
#define PS_PER_EVENT_GUESS 6000.0
#define DENSITY_SPAN_MIN_PS PS_PER_US /* shorter rounds say nothing */

/* From how many events the partition has executed per time. */
static uint64_t expected_events(const struct part *p)
{
    const double density =
        p->events_per_ps > 0 ? p->events_per_ps : (double)p->running / PS_PER_EVENT_GUESS;
    const double events = density * (double)(p->limit - p->from);

    return events < 1 ? 1 : events < 1e15 ? (uint64_t)events : UINT64_C(1000000000000000);
}

static void note_weight(struct part *p, uint64_t events)
{
    const int64_t span = p->now - p->from;

    p->weight = events;
    if (span >= DENSITY_SPAN_MIN_PS)
        p->events_per_ps = (double)events / (double)span;
}

void round_task(void *part, struct pool_worker *w)
{
    struct part *p = part;
    const uint64_t before = p->events;

    p->worker = w ? pool_worker_id(w) : 0;
    if (p->s->is_accelerated)
        freeze_run(p);
    else
        part_run(p);
    note_weight(p, p->events - before);
}

/* An interruption is looked for between rounds, so none may last too long. */
static void adapt_slice(struct sim *s, uint32_t count)
{
    uint64_t events = 0;

    for (uint32_t i = 0; i < count; i++)
        events += ((struct part *)s->tasks[i]->arg)->weight;
    if (events > SLICE_EVENTS_MAX)
        s->slice_ps = s->slice_ps / 2 + 1;
    else if (s->slice_ps < TIME_NEVER / 4)
        s->slice_ps *= 2;
}

static int is_probed(const struct sim *s)
{
    return s->probe.record || s->probe.has_times;
}

/* Puts those last that shards execute, which the coordinator goes through by itself. Returns how
 * many others there are. */
static uint32_t set_apart(struct sim *s, uint32_t count)
{
    uint64_t total = 0;
    uint32_t plain = count;

    for (uint32_t i = 0; i < count; i++)
        total += s->tasks[i]->weight;
    if (shard_is_idle(s, total))
        return count;
    for (uint32_t i = count; i > 0; i--) {
        struct pool_task *t = s->tasks[i - 1];

        if (!shard_use(t->arg, t->weight, total))
            continue;
        s->tasks[i - 1] = s->tasks[--plain];
        s->tasks[plain] = t;
    }
    return plain;
}

static void run_tasks(struct sim *s, uint32_t count)
{
    const uint32_t plain = set_apart(s, count);

    s->rounds++;
    s->part_tasks += count;
    /* the pool also takes single tasks where it measures */
    if (s->pool && (plain > 1 || (plain && is_probed(s))))
        pool_round(s->pool, s->tasks, plain);
    else
        for (uint32_t i = 0; i < plain; i++)
            round_task(s->tasks[i]->arg, NULL);
    for (uint32_t i = plain; i < count; i++)
        round_task(s->tasks[i]->arg, NULL);
    adapt_slice(s, count);
}

/*
 * Executes everything up to @horizon. @all: also in partitions without flows; else those wait, and
 * the others stop with their last flow, because the run may end then.
 */
static void advance(struct sim *s, int64_t horizon, int all)
{
    uint32_t count = 0;

    if (s->is_serial) {
        s->part.limit = horizon;
        s->part.stops_idle = 1;
        part_run_plain(&s->part);
        return;
    }
    sleep_wake_due(s, horizon);
    s->stops_idle = (uint8_t)!all;
    for (uint32_t i = 0; i < s->awake_count; i++) {
        struct part *p = s->parts[s->awake[i]];

        p->limit = horizon == TIME_NEVER ? TIME_NEVER : horizon - p->offset;
        p->stops_idle = (uint8_t)!all;
        if (!all && !p->running)
            continue;
        if (episode_waits(p) || (s->looks_later && p->episode_state == EPISODE_NEW))
            continue;
        p->from = p->executed;
        p->executed = p->limit;
        if (part_next(p) > p->limit)
            continue;
        if (!p->running)
            part_touch(s, p); /* the last of its packets may now arrive */
        p->task.weight = expected_events(p);
        s->tasks[count++] = &p->task;
    }
    if (count)
        run_tasks(s, count);
    s->reached = horizon;
}

/* ---- the barrier ---- */

static int is_before(const struct part_note *x, const struct part_note *y)
{
    if (x->time != y->time)
        return x->time < y->time;
    if (x->flow != y->flow)
        return x->flow < y->flow;
    return x->what < y->what;
}

MERGE_SORT(sort_notes, struct part_note, is_before)

/* Room for @count notes, and as much again for sorting them. */
static int reserve_notes(struct sim *s, uint32_t count)
{
    const uint32_t cap = 2 * count + 64;

    if (count <= s->notes_cap)
        return 0;
    if (rows_grow(&s->notes, sizeof *s->notes, 2 * (size_t)cap))
        return WH_ERR_NOMEM;
    s->notes_cap = cap;
    return 0;
}

/* A follower whose leader was disturbed may end before the horizon, see stage.c. */
static void delay_notes(const struct sim *s, struct part_note *n, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (n[i].time < s->reached)
            n[i].time = s->reached;
}

static int gather_of(struct sim *s, struct part *p)
{
    if (reserve_notes(s, s->notes_count + p->note_count))
        return WH_ERR_NOMEM;
    if (p->note_count)
        memcpy(&s->notes[s->notes_count], p->note, p->note_count * sizeof *p->note);
    if (s->memo.lookup && s->memo.lens == MEMO_FCG && s->part.reacts)
        delay_notes(s, &s->notes[s->notes_count], p->note_count);
    s->notes_count += p->note_count;
    p->note_count = 0;
    return 0;
}

static int gather_notes(struct sim *s)
{
    int rc = gather_of(s, &s->part);

    for (uint32_t i = 0; i < s->awake_count && !rc; i++) {
        struct part *p = s->parts[s->awake[i]];

        if (p->note_count)
            rc = gather_of(s, p);
    }
    if (!rc)
        sort_notes(s->notes, &s->notes[s->notes_cap], s->notes_count);
    return rc;
}

/* What is taken may note something itself: that is of the same instant and comes next. */
static int take_notes(struct sim *s)
{
    int rc = gather_notes(s);
    uint32_t i = 0;

    for (; i < s->notes_count && !rc; i++) {
        const struct part_note n = s->notes[i];

        check(!s->part.reacts || n.time >= s->reached || n.what == NOTE_STALLED ||
                  s->result[n.flow].state == FLOW_STALLED,
              "flow %u: %lld ps, all is at %lld (%u, state %u)", n.flow, (long long)n.time,
              (long long)s->reached, n.what, s->result[n.flow].state);
        rc = sim_take_note(s, &n);
    }
    s->notes_count = 0;
    return rc;
}

static int has_failed(const struct sim *s)
{
    int failed = s->part.cal.failed;

    for (uint32_t i = 0; i < s->awake_count; i++)
        failed |= s->parts[s->awake[i]]->cal.failed;
    return failed;
}

static int has_notes(const struct sim *s)
{
    if (s->part.note_count)
        return 1;
    for (uint32_t i = 0; i < s->awake_count; i++)
        if (s->parts[s->awake[i]]->note_count)
            return 1;
    return 0;
}

/* Everything that has been noted, until nothing is. */
static int settle(struct sim *s)
{
    int64_t latest = s->now;
    int rc = 0;

    while (!rc && has_notes(s)) {
        rc = take_notes(s);
        latest = s->now > latest ? s->now : latest;
    }
    part_tidy_all(s);
    ack_charge_apply(s);
    s->now = latest; /* with skipping, partitions stop for completions at different times */
    sim_dcheck(s);
    return rc;
}

/* ---- the loop ---- */

struct horizon {
    int64_t time;
    uint8_t is_control; /* control events are due then */
    uint8_t is_last;    /* nothing comes after it */
};

static int64_t slice_end(struct sim *s)
{
    int64_t first = sleep_first(s);

    for (uint32_t i = 0; i < s->awake_count; i++) {
        const struct part *p = s->parts[s->awake[i]];
        const int64_t next = part_next(p);

        if (p->running && next != INT64_MAX && next + p->offset < first)
            first = next + p->offset;
    }
    return first < TIME_NEVER - s->slice_ps ? first + s->slice_ps : TIME_NEVER;
}

static struct horizon find_horizon(struct sim *s, int64_t end)
{
    const struct control *c = control_peek(s);
    const int is_control = c && c->time <= end;
    struct horizon h = {is_control ? c->time : end, (uint8_t)is_control, (uint8_t)!is_control};
    int64_t cut;

    if (s->is_serial)
        return h;
    cut = slice_end(s);
    if (cut < h.time)
        h = (struct horizon){cut, 0, 0};
    cut = s->part.reacts ? completion_bound(s) : TIME_NEVER;
    if (cut < h.time)
        h = (struct horizon){cut, 0, 0};
    return h;
}

/* More control events of the instant that all has reached, such as starts that follow from
 * completions at once: what has begun now may be over before it has lasted. */
static int is_amid_controls(struct sim *s, int64_t end)
{
    const struct control *c = control_peek(s);

    if (!c || !s->part.reacts || c->time > s->reached || c->time > end)
        return 0;
    for (uint32_t i = 0; i < s->fresh_count; i++) {
        const struct part *p = s->parts[s->fresh[i]];

        if (p->episode_state == EPISODE_NEW && p->executed < s->reached - p->offset)
            return 0; /* it lags behind, and goes on first */
    }
    return 1;
}

static struct horizon begin_round(struct sim *s, int64_t end)
{
    s->looks_later = s->memo.lookup && s->memo.lens == MEMO_FCG && is_amid_controls(s, end);
    if (s->memo.lookup && !s->looks_later)
        episode_begin_all(s);
    sleep_all(s);
    if (s->looks_later)
        return (struct horizon){control_peek(s)->time, 1, 0};
    return find_horizon(s, end);
}

/* Returns 1 if nothing can happen any more. */
static int one_round(struct sim *s, int64_t end)
{
    const struct horizon h = begin_round(s, end);
    /* a change of the network alone does not keep a run going */
    const int goes_on = h.is_control && s->control_work;
    int noted, rc, all_there = 1;

    advance(s, h.time, goes_on);
    s->looks_later = 0;
    if (s->memo.lookup)
        all_there = episode_finish_all(s, h.time);
    if (s->interrupted)
        return WH_ERR_INTERRUPTED;
    if (has_failed(s))
        return WH_ERR_NOMEM;
    noted = has_notes(s);
    rc = settle(s);
    if (rc || !all_there || (noted && (s->is_serial || s->is_accelerated)))
        return rc; /* who has stopped at a completion, or a stage, goes on first */
    if (!h.is_control || !sim_has_work(s))
        return h.is_last && !noted;
    if (!goes_on)
        advance(s, h.time, 1);
    rc = sim_take_controls(s, h.time);
    return rc ? rc : settle(s);
}

static int poll(struct sim *s)
{
    /* partitions that have stopped at a completion may lag behind the horizon */
    const int all_reached = !s->is_serial && (!s->is_accelerated || s->part.reacts);

    if (all_reached && sim_has_work(s) && s->reached != TIME_NEVER && s->reached > s->now)
        s->now = s->reached;
    return sim_is_stopped(s) ? WH_ERR_INTERRUPTED : 0;
}

/* The run stops before its end: what is skipped or replayed is brought up to where it stops. */
static void wake_all(struct sim *s)
{
    s->now = s->reached > s->now ? s->reached : s->now;
    for (uint32_t i = 0; i < s->run_count; i++) {
        struct part *p = s->parts[s->run[i]];

        if (p->frozen_ps || p->owes_state || episode_waits(p))
            part_at_control(p);
    }
}

/* Completions of one round come in order; with skipping a partition may catch up later. @from:
 * those of earlier calls. */
static int sort_done(struct sim *s, uint32_t from)
{
    const uint32_t count = s->flow_done - from;

    if (reserve_notes(s, count))
        return WH_ERR_NOMEM;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t flow = s->done[from + i];

        s->notes[i] = (struct part_note){s->result[flow].end_ps, flow, NOTE_COMPLETED};
    }
    sort_notes(s->notes, &s->notes[s->notes_cap], count);
    for (uint32_t i = 0; i < count; i++)
        s->done[from + i] = s->notes[i].flow;
    return 0;
}

static int run_loop(struct sim *s, int64_t end)
{
    const uint32_t done_before = s->flow_done;
    int rc = settle(s); /* left by an interruption */

    while (!rc && sim_has_work(s)) {
        rc = one_round(s, end);
        if (!rc)
            rc = poll(s);
    }
    /* what the last packets do until the end is part of the run */
    if (rc >= 0 && !s->is_serial)
        advance(s, sim_has_work(s) ? end : s->now, 1);
    if (s->is_accelerated) {
        if (!s->part.reacts && sort_done(s, done_before))
            return WH_ERR_NOMEM;
        if (sim_has_work(s) && s->reached != TIME_NEVER)
            wake_all(s);
    }
    return rc > 0 ? 0 : rc;
}

struct run_call {
    struct sim *s;
    int64_t end;
    int rc;
};

static void run_on_pool(void *arg, struct pool *pool)
{
    struct run_call *c = arg;

    c->s->pool = pool;
    c->rc = run_loop(c->s, c->end);
    c->s->pool = NULL;
}

static int run_alone(struct sim *s, int64_t end)
{
    int rc;

    if (s->memo.on_begin)
        s->memo.on_begin(s->memo.ctx, 0);
    rc = run_loop(s, end);
    if (s->memo.on_end)
        s->memo.on_end(s->memo.ctx, 0);
    return rc;
}

int round_run_all(struct sim *s, int64_t end)
{
    const struct pool_options o = {.thread_count = s->worker_count,
                                   .policy = s->probe.shares_all ? POOL_PARALLEL : POOL_ADAPTIVE,
                                   .has_times = s->probe.has_times,
                                   .record = s->probe.record,
                                   .hooks = {s->memo.ctx, s->memo.on_begin, s->memo.on_end,
                                             s->memo.on_busy, s->memo.on_quiet}};
    struct run_call c = {s, end, 0};
    struct pool *pool;

    if (s->is_serial || (s->worker_count == 1 && !is_probed(s)))
        return run_alone(s, end);
    if (pool_create(&pool, &o))
        return WH_ERR_NOMEM;
    pool_enter(pool, run_on_pool, &c);
    sim_add_pool_stats(pool, &s->ended);
    pool_destroy(pool);
    return c.rc;
}
