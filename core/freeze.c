/*
 * freeze.c - partitions that do not change are not executed.
 *
 * A frozen partition keeps everything where it is: packets in queues and on wires, timers, INT
 * counters. All of it is in local time and in local byte positions. A skip of D moves the frame, so
 * that D more of global time lies before the same local time, and shortens the flows by what they
 * deliver meanwhile; that costs O(flows), whatever is skipped. A skip may be cut short by a control
 * event that touches the partition.
 *
 * The watch (watch.h) says when and for how long. What it sees is local and starts at the control
 * event, so equal episodes are skipped alike.
 *
 * Threading: the holder of the partition.
 */
#include "sim_int.h"
#include "units.h"

#include <stdlib.h>
#include <string.h>

/* Per flow and per port of the episode; shapes: [flow_count], [port_count], [path_count]. */
struct episode {
    struct watch_flow *flow;
    struct watch_obs *obs;
    int64_t *bytes; /* of a skip */
    struct watch_port *port;
    int64_t *tx_bytes;
    uint32_t *flow_id, *port_id, *path_first, *path;
    uint32_t flow_count, flow_cap, port_count, port_cap, path_count, path_cap;
    uint32_t *slot; /* open addressing: port -> row of port + 1; shape: [slot_cap] */
    uint32_t slot_cap;
};

/* What audits see of it. */
#define AUDIT_VIEW(e)                                                                              \
    {                                                                                              \
        (e)->flow_count, (e)->port_count, (e)->flow_id, (e)->port_id, (e)->path_first, (e)->path   \
    }

/* ---- room ---- */

static void grow(void *rows, size_t row_bytes, uint32_t cap)
{
    check(!rows_grow(rows, row_bytes, cap), "out of memory for %u rows of an episode", cap);
}

static void reserve(struct episode *e, uint32_t flows, uint32_t path_rows)
{
    if (flows + 1 > e->flow_cap) {
        e->flow_cap = 2 * flows + 8;
        grow(&e->flow, sizeof *e->flow, e->flow_cap);
        grow(&e->obs, sizeof *e->obs, e->flow_cap);
        grow(&e->bytes, sizeof *e->bytes, e->flow_cap);
        grow(&e->flow_id, sizeof *e->flow_id, e->flow_cap);
        grow(&e->path_first, sizeof *e->path_first, e->flow_cap);
    }
    if (path_rows > e->path_cap) {
        e->path_cap = 2 * path_rows;
        grow(&e->path, sizeof *e->path, e->path_cap);
        grow(&e->port, sizeof *e->port, e->path_cap);
        grow(&e->tx_bytes, sizeof *e->tx_bytes, e->path_cap);
        grow(&e->port_id, sizeof *e->port_id, e->path_cap);
        while (e->slot_cap < 2 * e->path_cap)
            e->slot_cap = e->slot_cap ? 2 * e->slot_cap : 64;
        grow(&e->slot, sizeof *e->slot, e->slot_cap);
    }
    memset(e->slot, 0, e->slot_cap * sizeof *e->slot);
    e->flow_count = e->port_count = e->path_count = 0;
}

static void episode_free(struct episode *e)
{
    if (!e)
        return;
    free(e->flow);
    free(e->obs);
    free(e->bytes);
    free(e->port);
    free(e->tx_bytes);
    free(e->flow_id);
    free(e->port_id);
    free(e->path_first);
    free(e->path);
    free(e->slot);
    free(e);
}

void freeze_fini(struct part *p)
{
    if (p->watch)
        p->s->watch.destroy(p->watch);
    episode_free(p->episode);
}

/* ---- an episode begins ---- */

/* What the port has for data, where it is charged for acknowledgements too. */
static int64_t data_rate_bps(const struct part *p, uint32_t port)
{
    const int64_t rate_bps = p->s->kind[p->port[port].kind].rate_bps;
    const int64_t wire_bytes = p->s->cfg.payload_bytes + p->s->data_header_bytes;

    return (int64_t)((__int128)rate_bps * wire_bytes / (wire_bytes + p->port[port].charge));
}

static uint32_t port_row(struct part *p, struct episode *e, uint32_t port)
{
    uint32_t i = port * 0x9e3779b9u & (e->slot_cap - 1);

    while (e->slot[i]) {
        if (e->port_id[e->slot[i] - 1] == port)
            return e->slot[i] - 1;
        i = (i + 1) & (e->slot_cap - 1);
    }
    e->port_id[e->port_count] = port;
    e->port[e->port_count] = (struct watch_port){
        .rate_bps = data_rate_bps(p, port),
        .tx_bytes = (int64_t)p->port[port].tx_bytes,
    };
    e->slot[i] = ++e->port_count;
    return e->port_count - 1;
}

static void add_flow(struct part *p, struct episode *e, uint32_t flow)
{
    const struct sim *s = p->s;
    const struct flow_tx *t = &p->tx[flow];
    const uint32_t i = e->flow_count++;

    e->flow_id[i] = flow;
    e->flow[i] = (struct watch_flow){
        .remaining_bytes = t->size - t->snd_una,
        .acked_bytes = t->snd_una,
        .base_rtt_ps = t->base_rtt_ps,
        .rate_bps_max = t->max_rate_bps,
        .payload_bytes = s->cfg.payload_bytes,
        .wire_bytes = s->cfg.payload_bytes + s->data_header_bytes,
        .hops = t->hops,
    };
    e->path_first[i] = e->path_count;
    for (uint32_t k = 0; k < t->path_count; k++)
        for (uint32_t row = t->path + k * t->path_stride; p->path[row] != PATH_END; row++)
            e->path[e->path_count++] = port_row(p, e, p->path[row]);
    e->path_first[i + 1] = e->path_count;
}

static uint32_t count_path_rows(const struct part *p)
{
    uint32_t rows = 0;

    for (uint32_t i = 0; i < p->flow_count; i++)
        rows += (uint32_t)p->tx[p->flow[i]].path_count * p->tx[p->flow[i]].path_stride;
    return rows;
}

/* Packets on their way from flows that have ended, or on old ways, are not a steady state. */
static int can_be_steady(const struct part *p)
{
    return p->running && p->running == p->flow_count && !p->old_count;
}

/* The partition as it is now. */
static struct episode *look_at(struct part *p)
{
    struct episode *e;

    if (!p->episode)
        p->episode = calloc(1, sizeof *p->episode);
    e = p->episode;
    check(e != NULL, "out of memory for an episode of %u flows", p->flow_count);
    reserve(e, p->flow_count, count_path_rows(p));
    for (uint32_t i = 0; i < p->flow_count; i++)
        add_flow(p, e, p->flow[i]);
    return e;
}

void freeze_view(struct part *p, struct audit_view *out)
{
    const struct episode *e = look_at(p);

    *out = (struct audit_view)AUDIT_VIEW(e);
}

static void begin(struct part *p)
{
    struct sim *s = p->s;
    struct episode *e;
    struct watch_partition w;

    p->is_fresh = p->is_watched = p->tells_acks = 0;
    p->skips = 0;
    p->mark = p->mark_bin = p->events;
    if (!s->watch.create || !can_be_steady(p))
        return;
    if (!p->watch)
        p->watch = s->watch.create(s->watch.ctx);
    check(p->watch != NULL, "out of memory for an episode of %u flows", p->flow_count);
    e = look_at(p);
    if (s->audit_share > 0)
        audit_begin(p, &(struct audit_view)AUDIT_VIEW(e));
    w = (struct watch_partition){e->flow_count, e->port_count, e->flow,
                                 e->port,       e->path_first, e->path};
    p->is_watched = (uint8_t)(s->watch.begin(s->watch.ctx, p->watch, p->now, &w) != 0);
    p->tells_acks = p->is_watched && s->watch.wants_acks;
}

/* Members keep their order for as long as an episode lasts, so a flow's row is its number there. */
void freeze_on_ack(struct part *p, uint32_t flow)
{
    const struct sim *s = p->s;
    const struct flow_tx *t = &p->tx[flow];
    const int64_t payload = s->cfg.payload_bytes;

    s->watch.on_ack(p->watch, t->member,
                    (int64_t)((__int128)t->rate_bps * payload / (payload + s->data_header_bytes)));
}

/* ---- skipping ---- */

/* What packets of one kind and path that were not executed would have left behind. */
struct credit {
    uint32_t row, paths, stride;
    uint64_t packets;
    uint32_t frame_bytes;
    uint8_t is_data;
};

/* What left the ports meanwhile, by the average packet. INT counts in units: where in its unit a
 * counter stands decides what the next packets read, and along a path how the hops differ; so the
 * part of a unit is made up for, while whole ones are not missed. */
static void credit_path(struct part *p, const struct credit *c)
{
    const uint32_t unit = p->s->int_bytes_unit;

    for (uint32_t k = 0; k < c->paths; k++) {
        const uint64_t share = c->packets / c->paths + (k < c->packets % c->paths);

        for (uint32_t i = c->row + k * c->stride; p->path[i] != PATH_END; i++) {
            struct port *pt = &p->port[p->path[i]];
            const uint64_t bytes = share * (c->frame_bytes + (c->is_data ? pt->charge : 0u));

            pt->tx_total_bytes += bytes;
            pt->tx_bytes += bytes % unit;
            pt->tx_packets += share;
            p->skipped_hops += share;
        }
    }
}

static void skip_flow(struct part *p, uint32_t flow, int64_t bytes, int64_t elapsed)
{
    const struct sim *s = p->s;
    struct flow_tx *t = &p->tx[flow];
    const uint64_t packets = (uint64_t)(bytes / s->cfg.payload_bytes);
    const uint64_t acks = packets / s->cfg.ack_every_packets;

    dcheck(bytes >= 0 && bytes < t->size - t->snd_max + s->cfg.payload_bytes,
           "flow %u skips %lld B, has %lld", flow, (long long)bytes,
           (long long)(t->size - t->snd_max));
    if (s->cc->on_skip)
        s->cc->on_skip(p, flow, cc_state_of(s, flow), elapsed, (int64_t)packets);
    t->size -= bytes;
    t->base += bytes;
    t->is_skipped |= !p->nudge_bytes;
    p->rx[flow].size -= bytes;
    p->skipped_packets += packets;
    credit_path(p, &(struct credit){t->path, t->path_count, t->path_stride, packets,
                                    s->cfg.payload_bytes + s->data_header_bytes, 1});
    if (!ack_is_beside(s->cfg.ack))
        credit_path(p, &(struct credit){t->ack_path, t->path_count, t->ack_stride, acks,
                                        s->ack_wire_bytes, 0});
}

/* What the lone flow's packets are apart: by its rate, or the slowest port of its way. */
static int64_t packet_ps(const struct part *p, const struct flow_tx *t)
{
    const int64_t frame = p->s->cfg.payload_bytes + p->s->data_header_bytes;
    int64_t most = units_tx_ps((uint32_t)frame, t->rate_bps, 1);

    for (uint32_t row = t->path; p->path[row] != PATH_END; row++) {
        const struct port *pt = &p->port[p->path[row]];
        const int64_t ps =
            units_tx_ps((uint32_t)frame + pt->charge, p->s->kind[pt->kind].rate_bps, 1);

        most = ps > most ? ps : most;
    }
    return most;
}

void freeze_nudge(struct part *p, int64_t packets)
{
    const struct flow_tx *t = &p->tx[p->flow[0]];
    const int64_t ps = packets * packet_ps(p, t);

    dcheck(p->flow_count == 1 && !p->frozen_ps, "a nudge of partition %u", p->id);
    freeze_end_watch(p);
    if (ps < PS_PER_NS)
        return;
    p->nudge_bytes = packets * p->s->cfg.payload_bytes;
    p->frozen_at = p->now;
    p->frozen_ps = (ps + PS_PER_NS / 2) / PS_PER_NS * PS_PER_NS;
    p->bound = INT64_MIN;
}

void freeze_shorten(struct part *p, int64_t packets)
{
    const int64_t quantum = p->s->watch.quantum_ps;
    const int64_t all = freeze_pending_bytes(p, p->flow[0]) / p->s->cfg.payload_bytes;

    if (packets >= all || p->nudge_bytes)
        return;
    p->frozen_ps -= (int64_t)((__int128)p->frozen_ps * packets / all) / quantum * quantum;
    p->pending_at = INT64_MIN;
    p->bound = INT64_MIN;
}

static uint32_t row_of_flow(const struct part *p, uint32_t flow)
{
    const uint32_t row = p->tx[flow].member;

    dcheck(p->episode->flow_id[row] == flow, "flow %u is not row %u of the episode", flow, row);
    return row;
}

/* Of a nudge, whole packets. */
static int64_t nudged_bytes(const struct part *p, int64_t elapsed)
{
    const int64_t packets = p->nudge_bytes / p->s->cfg.payload_bytes;

    return packets * elapsed / p->frozen_ps * p->s->cfg.payload_bytes;
}

int64_t freeze_pending_bytes(struct part *p, uint32_t flow)
{
    const struct episode *e = p->episode;

    if (!p->frozen_ps)
        return 0;
    if (p->nudge_bytes)
        return p->nudge_bytes;
    if (p->pending_at != p->frozen_at) {
        p->s->watch.skip_bytes(p->watch, p->frozen_ps, e->bytes);
        p->pending_at = p->frozen_at;
    }
    return e->bytes[row_of_flow(p, flow)];
}

static void end_nudge(struct part *p, int64_t elapsed)
{
    const int is_audited = p->s->audit_share > 0 && elapsed > 0;
    struct audit_view v;

    if (is_audited) {
        freeze_view(p, &v);
        audit_nudge(p, &v, elapsed);
    }
    skip_flow(p, p->flow[0], nudged_bytes(p, elapsed), elapsed);
    if (is_audited)
        audit_nudge_end(p, &v, elapsed);
}

static void end_skip(struct part *p, int64_t elapsed)
{
    const struct watch_ops *w = &p->s->watch;
    struct episode *e = p->episode;

    if (p->nudge_bytes) {
        end_nudge(p, elapsed);
    } else {
        w->skip_bytes(p->watch, elapsed, e->bytes);
        if (p->s->audit_share > 0)
            audit_skip(p, &(struct audit_view)AUDIT_VIEW(e), elapsed, e->bytes);
        for (uint32_t i = 0; i < e->flow_count; i++)
            skip_flow(p, e->flow_id[i], e->bytes[i], elapsed);
        w->thaw(p->watch, p->frozen_at, elapsed, e->bytes);
        p->skips_ever++;
    }
    p->offset += elapsed;
    p->skipped_flow_s += (double)elapsed * 1e-12 * p->flow_count;
    p->nudge_bytes = 0;
    p->frozen_ps = 0;
    p->pending_at = INT64_MIN;
    p->bound = INT64_MIN;
    if (p->s->audit_share > 0)
        audit_thaw(p, &(struct audit_view)AUDIT_VIEW(p->episode));
    stage_on_thaw(p);
}

void freeze_thaw(struct part *p)
{
    end_skip(p, p->frozen_ps);
}

void freeze_interrupt(struct part *p, int64_t global_ps)
{
    const int64_t quantum = p->s->watch.quantum_ps;
    const int64_t elapsed = global_ps - p->offset - p->frozen_at;
    const int64_t whole = elapsed / quantum * quantum;

    dcheck(elapsed >= 0 && elapsed <= p->frozen_ps, "partition %u is cut at %lld of %lld ps", p->id,
           (long long)elapsed, (long long)p->frozen_ps);
    end_skip(p, whole);
    p->limit = global_ps - p->offset; /* the rest of a quantum */
    part_run(p);
}

static void note_why(struct part *p, const struct watch_verdict *v)
{
    const uint64_t events = p->events - p->mark_bin;
    const struct episode *e = p->episode;

    p->mark_bin = p->events;
    if (v->skip_ps > 0)
        return;
    p->why_events[v->reason] += events;
    p->is_ending = v->is_ending;
    if (v->flow != UINT32_MAX)
        p->tx[e->flow_id[v->flow]].held_events += events;
    if (v->port != UINT32_MAX)
        p->s->cold[e->port_id[v->port]].held_events += events;
}

/* Events since the last skip, or since the episode began, by what they were good for. */
static void class_events(struct part *p, enum event_class c)
{
    p->class_events[c] += p->events - p->mark;
    if (p->swtch_count)
        p->coupled_events += p->events - p->mark;
    p->mark = p->events;
}

void freeze_end_stretch(struct part *p, int is_last)
{
    if (p->s->audit_share > 0 && p->audit && p->episode)
        audit_stretch(p, &(struct audit_view)AUDIT_VIEW(p->episode), is_last);
}

void freeze_end_episode(struct part *p)
{
    freeze_end_stretch(p, 1);
    if (!p->is_watched)
        class_events(p, CLASS_UNWATCHED);
    else if (!p->skips)
        class_events(p, CLASS_NEVER_STEADY);
    else
        class_events(p, p->is_ending ? CLASS_ENDING : CLASS_OBSERVED);
    p->is_watched = p->tells_acks = 0;
}

void freeze_end_watch(struct part *p)
{
    if (!p->is_fresh)
        freeze_end_episode(p);
    p->is_fresh = p->is_watched = 0;
}

/* The end of a bin. Returns how long the partition is steady, 0: it is not. */
static int64_t sample(struct part *p, int64_t now)
{
    struct episode *e = p->episode;
    struct watch_verdict v = {0};

    for (uint32_t i = 0; i < e->flow_count; i++) {
        const struct flow_tx *t = &p->tx[e->flow_id[i]];

        e->obs[i] =
            (struct watch_obs){t->snd_una, t->last_ack, t->snd_max - t->snd_una, t->rate_bps};
    }
    for (uint32_t i = 0; i < e->port_count; i++)
        e->tx_bytes[i] = (int64_t)p->port[e->port_id[i]].tx_bytes;
    p->s->watch.sample(p->watch, now, e->obs, e->tx_bytes, &v);
    note_why(p, &v);
    return v.skip_ps;
}

/* Up to @until or a completion. Returns 0 if it was stopped before. */
static int run_to(struct part *p, int64_t until)
{
    const int64_t limit = p->limit;

    p->limit = until;
    part_run(p);
    if (p->limit != until || p->note_stop)
        return 0;
    p->limit = limit;
    return 1;
}

/* Freezes for @skip; thaws at once if that is over before the end of the round. */
static int freeze(struct part *p, int64_t now, int64_t skip)
{
    freeze_end_stretch(p, 0);
    class_events(p, p->skips++ ? CLASS_OBSERVED : CLASS_TRANSIENT);
    p->is_ending = 0;
    p->frozen_at = now;
    p->frozen_ps = skip;
    p->pending_at = INT64_MIN;
    p->bound = INT64_MIN;
    if (stage_on_freeze(p)) {
        p->now = now;
        return 0;
    }
    if (skip > p->limit - now)
        return 0;
    end_skip(p, skip);
    p->limit -= p->limit == TIME_NEVER ? 0 : skip;
    return 1;
}

/* ---- a verdict is saved, and taken ---- */

static uint32_t row_of_port(const struct episode *e, uint32_t port)
{
    uint32_t i = port * 0x9e3779b9u & (e->slot_cap - 1);

    for (; e->slot[i]; i = (i + 1) & (e->slot_cap - 1))
        if (e->port_id[e->slot[i] - 1] == port)
            return e->slot[i] - 1;
    return ROW_NONE;
}

/* Rows of the episode in the order of @m; those ports of @m that are not watched are left out. */
struct framing {
    struct watch_frame frame;
    int64_t *acked, *tx, *left; /* left: for freeze_adopt */
    uint32_t *flow_order, *port_order;
    void *memory;
};

static void make_frame(const struct part *p, const struct snapshot_map *m, struct framing *f)
{
    const struct episode *e = p->episode;
    const size_t flows = e->flow_count, ports = e->port_count;
    uint32_t count = 0;

    f->memory = malloc((2 * flows + ports) * sizeof(int64_t) + (flows + ports) * sizeof(uint32_t));
    check(f->memory != NULL, "out of memory for a verdict on %zu flows", flows);
    f->acked = f->memory;
    f->left = f->acked + flows;
    f->tx = f->left + flows;
    f->flow_order = (uint32_t *)(f->tx + ports);
    f->port_order = f->flow_order + flows;
    for (uint32_t i = 0; i < m->flow_count; i++)
        f->flow_order[i] = row_of_flow(p, m->flow[i]);
    for (uint32_t i = 0; i < m->port_count; i++)
        if (row_of_port(e, m->port[i]) != ROW_NONE)
            f->port_order[count++] = row_of_port(e, m->port[i]);
    check(count == ports, "%u of %zu ports", count, ports);
    for (size_t i = 0; i < flows; i++) {
        f->acked[i] = p->tx[e->flow_id[i]].snd_una;
        f->left[i] = p->tx[e->flow_id[i]].size - p->tx[e->flow_id[i]].snd_una;
    }
    for (size_t i = 0; i < ports; i++)
        f->tx[i] = (int64_t)p->port[e->port_id[i]].tx_bytes;
    f->frame = (struct watch_frame){p->now, f->acked, f->tx, f->flow_order, f->port_order};
}

size_t freeze_save(struct part *p, const struct snapshot_map *m, struct bytes *out)
{
    const struct watch_ops *w = &p->s->watch;
    const size_t count = p->is_watched ? w->state_bytes(p->watch) : 0;
    struct framing f;
    void *state;

    if (!count)
        return 0;
    state = malloc(count);

    check(state != NULL, "out of memory for a verdict of %zu bytes", count);
    make_frame(p, m, &f);
    w->save(p->watch, &f.frame, state);
    bytes_put(out, state, count);
    free(state);
    free(f.memory);
    return count;
}

void freeze_adopt(struct part *p, const struct snapshot_map *m, const void *state,
                  size_t state_bytes, int goes_on, int has_verdict)
{
    const struct watch_ops *w = &p->s->watch;
    struct watch_verdict v = {0};
    struct framing f;

    if (!goes_on)
        begin(p);
    if (!p->is_watched || !state_bytes) {
        p->is_watched = 0;
        return;
    }
    make_frame(p, m, &f);
    p->is_watched = (uint8_t)(w->adopt(w->ctx, p->watch, &f.frame, state, state_bytes, f.left,
                                       goes_on, has_verdict ? &v : NULL) != 0);
    free(f.memory);
    if (!p->is_watched || !has_verdict)
        return;
    note_why(p, &v);
    if (v.skip_ps <= 0)
        return;
    class_events(p, p->skips++ ? CLASS_OBSERVED : CLASS_TRANSIENT);
    p->is_ending = 0;
    p->frozen_at = p->now;
    p->frozen_ps = v.skip_ps;
    p->pending_at = INT64_MIN;
}

void freeze_run(struct part *p)
{
    p->note_stop = 0;
    if (p->frozen_ps) {
        if (p->frozen_ps > p->limit - p->frozen_at)
            return;
        p->limit -= p->limit == TIME_NEVER ? 0 : p->frozen_ps;
        end_skip(p, p->frozen_ps);
    }
    if (p->is_fresh)
        begin(p);
    for (;;) {
        const int64_t next = p->is_watched ? p->s->watch.next_sample_ps(p->watch) : TIME_NEVER;
        const int64_t until = stage_until(p);
        int64_t skip;

        if (next >= p->limit && until >= p->limit) {
            part_run(p);
            return;
        }
        if (until < next) {
            if (run_to(p, until))
                stage_on_span(p);
            return;
        }
        if (!run_to(p, next))
            return;
        skip = sample(p, next);
        if (skip > 0 && !freeze(p, next, skip))
            return;
    }
}
