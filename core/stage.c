/*
 * stage.c - the memo through the fcg lens: what a partition like this one did is taken for what
 * this one does.
 *
 * A stage begins at a control event, or where a skip ends, and ends at the next verdict "steady"
 * or by a completion or a delivery of the partition's own. So transients, looking again between
 * skips, endings from a frozen state, and whole lives of short flows are all stages; skips lie
 * between them, and their lengths follow from what is left of the partition's own flows.
 *
 * The key (lens.h) holds states in bins, so a hit is not exact: from its end on the partition is in
 * the very state that the leader was in, packets included, with its own bytes left to send. Bytes
 * are conserved: what was acknowledged in the stage is taken off, positions are moved into the
 * leader's frame. Keys come in three degrees (enum lens_sizes): what comes of a stage in which
 * nothing ends or comes near its end is kept under a key that leaves sizes out, and is refused to a
 * partition that has less left of a flow than the leader sent of it; otherwise the key says what is
 * left, of the flows that have little left, or of all.
 *
 * Hits are committed late, as in episode.c, and stages that begin in the very same state are
 * coalesced. Where the bins of two states are equal but not the states, a partition that is
 * disturbed while it waits may find that a flow of its own has ended before: that is heard of at
 * the disturbance, late by what the bins leave open.
 *
 * All of it happens in the order of the list of partitions, by the coordinator: the same for any
 * number of threads.
 */
#include "episode_int.h"
#include "lens.h"
#include "sim_int.h"
#include "snapshot.h"
#include "units.h"

#include <stdlib.h>
#include <string.h>

/* What ends a stage. */
enum stage_end {
    STAGE_NOTES,   /* a completion or a delivery; or a control event, see struct beginning */
    STAGE_VERDICT, /* steady */
    STAGE_SPAN     /* neither came: the next one follows on it */
};

/* A value: this, then rows of flows, ports and notes, the watch, the state. */
struct stage_value {
    int64_t end_ps; /* local, from the base of the beginning */
    struct moved moved;
    uint32_t flow_count, port_count, note_count, end; /* end: enum stage_end */
    uint64_t watch_bytes;
};

/* Of a flow, from the beginning to the end. */
struct stage_flow {
    int64_t acked_bytes; /* payload */
    int64_t sent_bytes;  /* from the first byte that was not acknowledged at the beginning */
    int64_t retx_bytes;
    uint64_t cnps;
};

struct stage {
    struct lens look;
    uint8_t slot[LENS_KEYS];     /* which key stands for the degree: the same as for a lower one */
    uint8_t made_count;          /* degrees whose keys are there, the lower ones first */
    uint8_t is_known[LENS_KEYS]; /* there is an entry, but not for flows as short as these */
    enum lens_sizes sizes;       /* of the entry that is waited for */
    int64_t wake, bound;         /* global: when it is taken; before when nothing completes */
    uint64_t state_hash;         /* of all of the state at the beginning */
    uint8_t is_twin;             /* of the leader that it follows */
    uint64_t *outcome, *outcome_by_kind; /* where the look-up was counted */
    /* as a leader */
    uint8_t is_listed, awaits_thaw;
    int64_t base, begin_global, span_ps;
    struct moved at;
    struct stage_flow
        *flow_at; /* shape: [flow_count], by number in the look: where counters were */
    struct moved_port *port_at; /* shape: [port_count] */
    uint32_t flow_cap, port_cap;
};

/* Shorter stages do not get their own end: INT moves in whole ns. */
#define STAGE_PS_MIN PS_PER_NS

/* ---- the key's numbering ---- */

static void map_by(struct part *p, enum lens_sizes sizes, struct snapshot_map *m)
{
    struct sim *s = p->s;
    struct stage *g = p->stage;
    const struct lens *l = &g->look;
    const struct lens_key *k = &l->key[g->slot[sizes]];

    if (s->snap_flow_cap < l->flow_count) {
        s->snap_flow_cap = 2 * l->flow_count;
        free(s->snap_flow);
        s->snap_flow = malloc(s->snap_flow_cap * sizeof *s->snap_flow);
        check(s->snap_flow != NULL, "out of memory for %u flows", s->snap_flow_cap);
    }
    for (uint32_t i = 0; i < l->flow_count; i++)
        s->snap_flow[i] = l->flow[k->flow[i]].id;
    for (uint32_t i = 0; i < l->port_count; i++)
        s->port_list[i] = l->port[k->port[i]];
    *m = (struct snapshot_map){s->snap_flow, s->port_list, l->flow_count, l->port_count};
    snapshot_map_as(p, m);
}

static int has_short(const struct lens *l)
{
    for (uint32_t i = 0; i < l->flow_count; i++)
        if (l->flow[i].is_short)
            return 1;
    return 0;
}

/* Where a flow may end, its size decides who can follow. */
uint64_t stage_leader_key(const struct part *p, const struct bytes **key)
{
    const struct stage *g = p->stage;
    const enum lens_sizes sizes = has_short(&g->look) ? LENS_EXACT : LENS_LONG;
    const struct lens_key *k = &g->look.key[g->slot[sizes]];

    *key = &k->key;
    return k->hash;
}

/* ---- reading a value ---- */

static const struct stage_flow *flows_of(const struct stage_value *v)
{
    return (const struct stage_flow *)(v + 1);
}

static const struct moved_port *ports_of(const struct stage_value *v)
{
    return (const struct moved_port *)(flows_of(v) + v->flow_count);
}

static const struct moved_note *notes_of(const struct stage_value *v)
{
    return (const struct moved_note *)(ports_of(v) + v->port_count);
}

static const uint8_t *watch_of(const struct stage_value *v)
{
    return (const uint8_t *)(notes_of(v) + v->note_count);
}

/* Where the stage begins: now, or at the end of the present skip. Global, and base of that. */
static int64_t begin_of(const struct part *p)
{
    return p->now + p->offset + p->frozen_ps;
}

static int64_t base_of(const struct part *p)
{
    return episode__base(p, p->now) + p->offset + p->frozen_ps;
}

/* ---- hits ---- */

/* So much is left to be sent of a flow that does not come near its end: the last packet is not
 * among what was sent, and what follows has something to skip or to send. */
static int64_t margin_bytes(const struct part *p)
{
    return 2 * (int64_t)p->s->cfg.payload_bytes;
}

/* No flow ends inside in a way that the entry does not know. */
static int is_long_enough(const struct part *p, const struct stage_value *v, enum lens_sizes sizes)
{
    const struct stage *g = p->stage;
    const struct lens_key *k = &g->look.key[g->slot[sizes]];
    const struct stage_flow *f = flows_of(v);

    for (uint32_t i = 0; i < v->flow_count; i++) {
        const int64_t left = g->look.flow[k->flow[i]].left_bytes;

        if (!lens_is_sized(&g->look, sizes, k->flow[i]) && left < f[i].sent_bytes + margin_bytes(p))
            return 0;
    }
    return 1;
}

/* @bytes at line rate, less what rounding of skips and bins can make of it. */
static int64_t least_ps(const struct part *p, uint32_t flow, int64_t bytes)
{
    const struct sim *s = p->s;
    const struct port_kind *kind = &s->kind[s->port[s->tx[flow].port].kind];
    const int64_t packets = bytes / s->cfg.payload_bytes - 4;

    return packets > 0 ? packets * kind->tx_ps[s->cfg.payload_bytes + s->data_header_bytes] : 0;
}

/* No flow ends before, whatever happens. */
static int64_t sending_bound(const struct part *p)
{
    const struct lens *l = &p->stage->look;
    int64_t least = TIME_NEVER - begin_of(p);

    for (uint32_t i = 0; i < l->flow_count; i++) {
        const struct flow_tx *t = &p->tx[l->flow[i].id];
        const int64_t unsent = l->flow[i].left_bytes - (t->snd_max - t->snd_una);
        const int64_t ps = least_ps(p, l->flow[i].id, unsent);

        least = ps < least ? ps : least;
    }
    return begin_of(p) + least;
}

/* What the flows have to send after the stage takes its time at line rate. */
static int64_t bound_of(const struct part *p, const struct stage_value *v, enum lens_sizes sizes,
                        int64_t wake)
{
    const struct stage *g = p->stage;
    const struct lens_key *k = &g->look.key[g->slot[sizes]];
    const struct stage_flow *f = flows_of(v);
    int64_t first = TIME_NEVER;

    if (v->note_count)
        return wake;
    for (uint32_t i = 0; i < v->flow_count; i++) {
        const struct lens_flow *o = &g->look.flow[k->flow[i]];
        const int64_t ps = wake + least_ps(p, o->id, o->left_bytes - f[i].sent_bytes);

        first = ps < first ? ps : first;
    }
    return first;
}

/* Waits for what @v says, if the partition can take it. */
static int accept(struct part *p, const struct memo_value *known, enum lens_sizes sizes)
{
    const struct stage_value *v = known->bytes;
    struct stage *g = p->stage;

    check(v->flow_count == g->look.flow_count && v->port_count == g->look.port_count,
          "an entry of %u flows and %u ports for %u and %u", v->flow_count, v->port_count,
          g->look.flow_count, g->look.port_count);
    if (!is_long_enough(p, v, sizes))
        return 0;
    p->known = *known;
    p->episode_state = EPISODE_REPLAYS;
    g->sizes = sizes;
    g->wake = base_of(p) + v->end_ps;
    g->bound = bound_of(p, v, sizes, g->wake);
    return 1;
}

/* ---- leading ---- */

/* Where counters stand at the beginning of what is led. */
static void remember(struct part *p)
{
    struct stage *g = p->stage;
    const struct lens *l = &g->look;

    if (g->flow_cap < l->flow_count) {
        g->flow_cap = 2 * l->flow_count;
        check(!rows_grow(&g->flow_at, sizeof *g->flow_at, g->flow_cap), "out of memory");
    }
    if (g->port_cap < l->port_count) {
        g->port_cap = 2 * l->port_count;
        check(!rows_grow(&g->port_at, sizeof *g->port_at, g->port_cap), "out of memory");
    }
    g->base = episode__base(p, p->now);
    g->at = episode__counters(p);
    g->awaits_thaw = 0;
    for (uint32_t i = 0; i < l->flow_count; i++) {
        const struct flow_tx *t = &p->tx[l->flow[i].id];

        g->flow_at[i] = (struct stage_flow){t->snd_una, t->snd_una, t->retx_bytes, t->cnps};
        dcheck(l->flow[i].left_bytes == t->size - t->snd_una, "flow %u: %lld B left, not %lld",
               l->flow[i].id, (long long)(t->size - t->snd_una), (long long)l->flow[i].left_bytes);
    }
    for (uint32_t i = 0; i < l->port_count; i++) {
        struct port *pt = &p->port[l->port[i]];

        g->port_at[i] =
            (struct moved_port){pt->tx_total_bytes, pt->tx_packets, pt->marks, pt->q_max};
        pt->q_max = pt->q_bytes; /* of this stage; restore_q_max puts the larger one back */
    }
}

void stage_on_thaw(struct part *p)
{
    if (p->s->memo.lens == MEMO_FCG && p->episode_state == EPISODE_LEADS && p->stage->awaits_thaw)
        remember(p);
}

int stage_on_freeze(struct part *p)
{
    if (p->s->memo.lens != MEMO_FCG || p->episode_state != EPISODE_LEADS)
        return 0;
    p->stage_over = STAGE_VERDICT;
    return 1;
}

int64_t stage_until(const struct part *p)
{
    if (p->s->memo.lens != MEMO_FCG || p->episode_state != EPISODE_LEADS)
        return TIME_NEVER;
    return p->stage->at.local_ps + p->stage->span_ps;
}

void stage_on_span(struct part *p)
{
    p->now = stage_until(p);
    p->stage_over = STAGE_SPAN;
}

/* The look is there. @is_listed: others may follow. */
static void lead(struct part *p, int is_listed)
{
    struct stage *g = p->stage;

    p->episode_state = EPISODE_LEADS;
    p->stage_over = 0;
    g->begin_global = begin_of(p);
    g->span_ps = lens_span_ps(p);
    g->is_listed = (uint8_t)is_listed;
    g->awaits_thaw = p->frozen_ps > 0;
    if (!g->awaits_thaw)
        remember(p);
    if (is_listed)
        episode__add_leader(p->s, p);
}

static void restore_q_max(struct part *p)
{
    const struct stage *g = p->stage;

    for (uint32_t i = 0; i < g->look.port_count && !g->awaits_thaw; i++) {
        struct port *pt = &p->port[g->look.port[i]];
        const uint32_t before = (uint32_t)g->port_at[i].q_max;

        pt->q_max = before > pt->q_max ? before : pt->q_max;
    }
}

/* ---- looking up ---- */

/* The structures that were ever looked up in vain. Returns 0 if this is a new one. */
static int is_seen(struct sim *s, uint64_t hash)
{
    uint32_t i;

    if (2 * (s->memo_seen_count + 1) > s->memo_seen_cap) {
        const uint32_t cap = s->memo_seen_cap ? 2 * s->memo_seen_cap : 256;
        uint64_t *seen = calloc(cap, sizeof *seen);

        check(seen != NULL, "out of memory for %u structures", cap);
        for (uint32_t k = 0; k < s->memo_seen_cap; k++) {
            if (!s->memo_seen[k])
                continue;
            for (i = (uint32_t)s->memo_seen[k] & (cap - 1); seen[i];)
                i = (i + 1) & (cap - 1);
            seen[i] = s->memo_seen[k];
        }
        free(s->memo_seen);
        s->memo_seen = seen;
        s->memo_seen_cap = cap;
    }
    hash |= 1;
    for (i = (uint32_t)hash & (s->memo_seen_cap - 1); s->memo_seen[i];
         i = (i + 1) & (s->memo_seen_cap - 1))
        if (s->memo_seen[i] == hash)
            return 1;
    s->memo_seen[i] = hash;
    s->memo_seen_count++;
    return 0;
}

/* Counts a look-up with its outcome, once in all and once by where the stage begins. */
static void count_look(struct part *p, uint64_t *outcome, uint64_t *by_kind, uint64_t change)
{
    struct stage *g = p->stage;

    g->outcome = outcome;
    g->outcome_by_kind = by_kind;
    *outcome += change;
    if (by_kind)
        *by_kind += change;
    p->s->memo_lookups += change;
    p->s->memo_kind[g->look.kind].lookups += change;
}

static enum sim_miss why_missed(struct part *p)
{
    struct sim *s = p->s;
    struct stage *g = p->stage;
    enum sim_miss why = SIM_MISS_STRUCTURE;

    if (lens_make(&g->look, p, LENS_BARE) && is_seen(s, g->look.key[LENS_BARE].hash))
        why = SIM_MISS_STATE;
    for (int k = 0; k < LENS_KEYS; k++)
        if (g->is_known[k])
            why = SIM_MISS_SHORT;
    return why;
}

/* Of the state, all of it. */
static uint64_t hash_state(struct part *p)
{
    struct bytes *state = &p->s->memo_named;
    struct snapshot_map m;

    map_by(p, LENS_EXACT, &m);
    state->count = 0;
    snapshot_save(p, &m, episode__base(p, p->now), 0, state);
    snapshot_unmap(p, &m);
    return p->s->memo.hash(state->at, state->count);
}

/* The next degree's key. Returns 0 if the partition is too large for one. */
static int make_next(struct part *p)
{
    struct stage *g = p->stage;
    const enum lens_sizes k = (enum lens_sizes)g->made_count;

    g->is_known[k] = 0;
    g->slot[k] = (uint8_t)k;
    if (k && lens_is_same(&g->look, (enum lens_sizes)(k - 1), k))
        g->slot[k] = g->slot[k - 1];
    else if (!lens_make(&g->look, p, k))
        return 0;
    g->made_count++;
    return 1;
}

/* Returns 0 if the partition is too large for a key. */
static int look_up(struct part *p)
{
    struct sim *s = p->s;
    struct stage *g = p->stage;

    for (g->made_count = 0; g->made_count < LENS_KEYS;) {
        const uint32_t k = g->made_count;
        const struct lens_key *key = &g->look.key[k];
        struct memo_value v;

        if (!make_next(p))
            return 0;
        if (g->slot[k] != k)
            continue;
        v = s->memo.lookup(s->memo.ctx, key->hash, key->key.at, key->key.count);
        if (!v.entry)
            continue;
        if (accept(p, &v, (enum lens_sizes)k))
            return 1;
        g->is_known[k] = 1;
        s->memo.release(s->memo.ctx, v.entry);
    }
    return 1;
}

/* In the very state of the leader, and with as much left: what it does is what @p will do. Whoever
 * began before it would end before it, and maybe before what all has reached. */
static int is_twin(const struct part *p, const struct part *leader)
{
    const struct stage *g = p->stage, *h = leader->stage;
    const struct lens_key *a = &g->look.key[g->slot[LENS_EXACT]];
    const struct lens_key *b = &h->look.key[h->slot[LENS_EXACT]];

    return g->state_hash == h->state_hash && begin_of(p) >= h->begin_global &&
           a->key.count == b->key.count && !memcmp(a->key.at, b->key.at, a->key.count);
}

/* One that is only like the leader waits for it as long as none of its flows can end. Where that
 * is soon, it waits for one that has begun before it. */
static int can_wait(const struct part *p, const struct part *leader)
{
    return !has_short(&p->stage->look) || begin_of(p) >= leader->stage->begin_global;
}

static void follow_or_lead(struct part *p, struct sim_memo_kind *stats)
{
    struct sim *s = p->s;
    struct stage *g = p->stage;
    const struct bytes *key;
    const uint64_t hash = stage_leader_key(p, &key);
    const struct part *leader = episode__find_leader(s, hash, key);

    g->state_hash = hash_state(p);
    g->bound = sending_bound(p);
    g->is_twin = (uint8_t)(leader && is_twin(p, leader));
    if (leader && (g->is_twin || can_wait(p, leader))) {
        p->episode_state = EPISODE_FOLLOWS;
        p->leader = leader->id;
        count_look(p, &s->memo_coalesced, &stats->coalesced, 1);
        return;
    }
    count_look(p, &s->memo_missed[why_missed(p)], NULL, 1);
    lead(p, !leader);
}

/*
 * What is left of a lone flow near its end is brought to a round number of packets, so that ends
 * come in few sizes: the flow is taken to go on at its rate for the packets beyond it; if it is
 * being skipped, the skip ends earlier. That is at most 127 packets, a quarter of what is left, at
 * a rate that is known to some per cent.
 */
static int64_t round_step(int64_t packets)
{
    if (packets < 128)
        return 16;
    return packets < 256 ? 32 : packets < 512 ? 64 : 128;
}

static void round_left(struct part *p)
{
    const int64_t payload = p->s->cfg.payload_bytes;
    const uint32_t flow = p->flow[0];
    const struct flow_tx *t = &p->tx[flow];
    const int64_t left = t->size - t->snd_una - freeze_pending_bytes(p, flow);
    const int64_t step = round_step(left / payload), beyond = left / payload % step;

    if (t->path_count > 1 || !beyond || !lens_is_short(p, flow, left) ||
        p->s->result[flow].start_ps == p->now + p->offset)
        return;
    if (p->frozen_ps)
        freeze_shorten(p, step - beyond);
    else if (t->size - t->snd_max >= beyond * payload + margin_bytes(p))
        freeze_nudge(p, beyond);
}

/* The number of stages on end is part of the key: what the watch has seen and how far timers are
 * depends on it. After so many the rest is executed, or a flow that waits for a timeout in a state
 * that comes again and again would never get there. */
#define STEP_MAX 200u

static void look(struct part *p, enum stage_kind kind, uint32_t step)
{
    struct sim *s = p->s;
    struct sim_memo_kind *stats = &s->memo_kind[kind];

    p->episode_state = EPISODE_PLAIN;
    if (step >= STEP_MAX || !snapshot_can(p) || episode__is_in_vain(p)) {
        s->memo_declined++;
        return;
    }
    if (!p->stage)
        p->stage = calloc(1, sizeof *p->stage);
    check(p->stage != NULL, "out of memory for a stage");
    if (p->flow_count == 1 && s->watch.create)
        round_left(p);
    lens_look(&p->stage->look, p, (uint8_t)kind, (uint8_t)step, p->frozen_ps > 0);
    if (!look_up(p)) {
        s->memo_declined++;
        s->memo_missed[SIM_MISS_LARGE]++;
        return;
    }
    if (p->episode_state == EPISODE_REPLAYS)
        count_look(p, &s->memo_hits, &stats->hits, 1);
    else
        follow_or_lead(p, stats);
    s->memo_good += p->flow_count >= 8 && p->episode_state != EPISODE_LEADS;
}

/* What follows on a stage. */
static void look_on(struct part *p, enum stage_end end)
{
    const struct lens *l = &p->stage->look;

    if (end == STAGE_VERDICT)
        look(p, STAGE_THAW, 0);
    else if (end == STAGE_SPAN)
        look(p, (enum stage_kind)l->kind, l->step + 1u);
}

void stage_begin(struct part *p)
{
    look(p, STAGE_FRESH, 0);
}

/* ---- the end of a leader ---- */

static void put_flows(const struct part *p, const struct snapshot_map *m, const struct lens_key *k,
                      struct bytes *out)
{
    for (uint32_t i = 0; i < m->flow_count; i++) {
        const struct flow_tx *t = &p->tx[m->flow[i]];
        const struct stage_flow *at = &p->stage->flow_at[k->flow[i]];
        const struct stage_flow f = {t->snd_una - at->acked_bytes, t->snd_max - at->sent_bytes,
                                     t->retx_bytes - at->retx_bytes, t->cnps - at->cnps};

        bytes_put(out, &f, sizeof f);
    }
}

static void put_ports(const struct part *p, const struct snapshot_map *m, const struct lens_key *k,
                      struct bytes *out)
{
    for (uint32_t i = 0; i < m->port_count; i++) {
        const struct port *pt = &p->port[m->port[i]];
        const struct moved_port *at = &p->stage->port_at[k->port[i]];
        const struct moved_port o = {pt->tx_total_bytes - at->tx_total_bytes,
                                     pt->tx_packets - at->tx_packets, pt->marks - at->marks,
                                     pt->q_max};

        bytes_put(out, &o, sizeof o);
    }
}

static void save_value(struct part *p, enum lens_sizes sizes, struct bytes *out)
{
    const struct stage *g = p->stage;
    const struct lens_key *k = &g->look.key[g->slot[sizes]];
    const struct moved now = episode__counters(p);
    struct stage_value v = {.end_ps = p->now - g->base,
                            .moved = episode__since(&now, &g->at),
                            .flow_count = g->look.flow_count,
                            .port_count = g->look.port_count,
                            .note_count = p->note_count,
                            .end = p->stage_over};
    struct snapshot_map m;

    map_by(p, sizes, &m);
    out->count = 0;
    bytes_put(out, &v, sizeof v);
    put_flows(p, &m, k, out);
    put_ports(p, &m, k, out);
    for (uint32_t i = 0; i < p->note_count; i++) {
        const struct moved_note n = {p->tx[p->note[i].flow].snap_rank, p->note[i].what};

        bytes_put(out, &n, sizeof n);
    }
    if (p->stage_over)
        v.watch_bytes = freeze_save(p, &m, out);
    memcpy(out->at, &v, sizeof v);
    snapshot_save(p, &m, g->base, 0, out);
    snapshot_unmap(p, &m);
}

/* May it be found by what the key of this degree says of the sizes? */
static int can_be_known_by(const struct part *p, enum lens_sizes sizes)
{
    const struct stage *g = p->stage;

    for (uint32_t i = 0; i < g->look.flow_count; i++) {
        const struct flow_tx *t = &p->tx[g->look.flow[i].id];

        if (!lens_is_sized(&g->look, sizes, i) && t->size - t->snd_max < margin_bytes(p))
            return 0;
    }
    return 1;
}

static enum lens_sizes choose_sizes(const struct part *p)
{
    const struct stage *g = p->stage;
    enum lens_sizes sizes = LENS_LONG;

    while (sizes < LENS_EXACT && (g->is_known[g->slot[sizes]] || !can_be_known_by(p, sizes)))
        sizes++;
    return sizes;
}

/* All notes are of the last instant, or it is no stage that others could take. */
static int is_whole(const struct part *p)
{
    if (p->stage->awaits_thaw || p->now - p->stage->base < STAGE_PS_MIN ||
        p->now - p->stage->at.local_ps < STAGE_PS_MIN)
        return 0;
    for (uint32_t i = 0; i < p->note_count; i++)
        if (p->note[i].time != p->now + p->offset || p->note[i].what == NOTE_STALLED)
            return 0;
    return p->note_count || p->stage_over;
}

static int follows(const struct part *p, const struct part *leader)
{
    return p->episode_state == EPISODE_FOLLOWS && p->leader == leader->id;
}

/* Its own stage from its own beginning. */
static void go_alone(struct part *p, int is_listed)
{
    lead(p, is_listed);
    p->executed = p->frozen_ps ? p->frozen_at : p->now;
    p->bound = INT64_MIN;
}

static void follow_up(struct sim *s, struct part *leader, const struct memo_value *v,
                      enum lens_sizes sizes)
{
    for (uint32_t i = 0; i < s->run_count; i++) {
        struct part *p = s->parts[s->run[i]];

        if (!follows(p, leader))
            continue;
        if (accept(p, v, sizes))
            s->memo.hold(v->entry);
        else
            go_alone(p, 0);
    }
}

/* The follower that began first: no other one may end before it. */
static struct part *first_follower(const struct sim *s, const struct part *leader)
{
    struct part *first = NULL;

    for (uint32_t i = 0; i < s->run_count; i++) {
        struct part *p = s->parts[s->run[i]];

        if (follows(p, leader) && (!first || begin_of(p) < begin_of(first)))
            first = p;
    }
    return first;
}

/* The leader has nothing for its followers: the first of them takes its place. */
static void disband(struct sim *s, const struct part *leader)
{
    struct part *first = first_follower(s, leader);

    if (!first)
        return;
    go_alone(first, 1);
    for (uint32_t i = 0; i < s->run_count; i++) {
        struct part *p = s->parts[s->run[i]];

        if (!follows(p, leader))
            continue;
        p->stage->is_twin = (uint8_t)is_twin(p, first);
        p->leader = first->id;
    }
}

static void end_lead(struct part *p, int whole)
{
    struct sim *s = p->s;
    struct stage *g = p->stage;
    const enum lens_sizes sizes = whole ? choose_sizes(p) : LENS_EXACT;
    const struct lens_key *k = &g->look.key[g->slot[sizes]];
    const uint8_t was_listed = g->is_listed;
    struct memo_value v = {0};

    if (was_listed)
        episode__remove_leader(s, p);
    g->is_listed = 0;
    p->episode_state = EPISODE_PLAIN;
    if (whole) {
        save_value(p, sizes, &s->memo_value);
        v = s->memo.insert(s->memo.ctx, k->hash, k->key.at, k->key.count, s->memo_value.at,
                           s->memo_value.count);
    }
    restore_q_max(p);
    if (was_listed && v.entry)
        follow_up(s, p, &v, sizes);
    else if (was_listed)
        disband(s, p);
    if (v.entry)
        s->memo.release(s->memo.ctx, v.entry);
}

/* ---- taking what is known ---- */

/* Positions become those of the leader; what is left is the partition's own. */
static void adopt_flows(struct part *p, const struct snapshot_map *m, const struct stage_value *v,
                        const int64_t *left, const struct flow_tx *was)
{
    const struct stage_flow *f = flows_of(v);

    for (uint32_t i = 0; i < m->flow_count; i++) {
        struct flow_tx *t = &p->tx[m->flow[i]];

        t->size = p->rx[m->flow[i]].size = t->snd_una + left[i] - f[i].acked_bytes;
        t->base = was[i].base + was[i].snd_una + f[i].acked_bytes - t->snd_una;
        t->retx_bytes = was[i].retx_bytes + f[i].retx_bytes;
        t->cnps += f[i].cnps;
        dcheck(t->snd_max <= t->size, "flow %u: sent %lld of %lld", m->flow[i],
               (long long)t->snd_max, (long long)t->size);
    }
}

static void adopt_state(struct part *p, const struct snapshot_map *m, const struct stage_value *v)
{
    const size_t rows = m->flow_count;
    const int64_t base = episode__base(p, p->now);
    struct flow_tx *was = malloc(rows * sizeof *was);
    int64_t *left = malloc(rows * sizeof *left);

    check(was && left, "out of memory for %zu flows", rows);
    for (size_t i = 0; i < rows; i++) {
        was[i] = p->tx[m->flow[i]];
        left[i] = was[i].size - was[i].snd_una;
    }
    episode__adopt_ports(p, m, ports_of(v));
    episode__move_counters(p, &v->moved);
    snapshot_restore(p, m, base, watch_of(v) + v->watch_bytes);
    adopt_flows(p, m, v, left, was);
    free(was);
    free(left);
}

/* How far the partition has got when all is at @reached. */
static void set_executed(struct part *p, int64_t reached)
{
    p->executed = p->now;
    if (p->frozen_ps && p->frozen_at + p->frozen_ps + p->offset > reached)
        p->executed = reached - p->offset;
    p->bound = INT64_MIN;
}

/* The partition takes the state at the end of the stage. */
static void adopt(struct part *p, int64_t reached)
{
    struct stage *g = p->stage;
    const struct stage_value *v = p->known.bytes;
    const int goes_on = g->look.kind == STAGE_THAW || g->look.step > 0;
    const enum stage_end end = (enum stage_end)v->end;
    struct snapshot_map m;

    if (p->frozen_ps)
        freeze_thaw(p);
    map_by(p, g->sizes, &m);
    adopt_state(p, &m, v);
    dcheck(p->now + p->offset == g->wake, "partition %u: a stage ends at %lld, not %lld", p->id,
           (long long)(p->now + p->offset), (long long)g->wake);
    p->episode_state = EPISODE_PLAIN;
    for (uint32_t i = 0; i < v->note_count; i++)
        part_note(p, m.flow[notes_of(v)[i].rank], (enum note_kind)notes_of(v)[i].what);
    if (end != STAGE_NOTES)
        freeze_adopt(p, &m, watch_of(v), v->watch_bytes, goes_on, end == STAGE_VERDICT);
    p->is_fresh = 0;
    snapshot_unmap(p, &m);
    p->s->memo.release(p->s->memo.ctx, p->known.entry);
    set_executed(p, reached);
    look_on(p, end);
}

/* ---- between rounds ---- */

int64_t stage_next(const struct part *p)
{
    return p->episode_state == EPISODE_FOLLOWS ? TIME_NEVER : p->stage->wake - p->offset;
}

int64_t stage_bound(struct part *p, int64_t (*bound)(struct part *p))
{
    struct part *leader;
    int64_t first;

    if (p->episode_state == EPISODE_REPLAYS || !p->stage->is_twin)
        return p->stage->bound;
    leader = p->s->parts[p->leader];
    first = bound(leader);
    return first == TIME_NEVER ? first : first - leader->stage->begin_global + begin_of(p);
}

static void end_stage(struct part *p, int64_t reached)
{
    const enum stage_end end = p->note_count ? STAGE_NOTES : (enum stage_end)p->stage_over;

    end_lead(p, is_whole(p));
    p->stage_over = 0;
    set_executed(p, reached);
    look_on(p, end);
}

/* It stands at the end of a stage, and goes on from there. */
static int is_behind(const struct part *p, int64_t global_ps)
{
    return p->running && !episode_waits(p) && p->executed < global_ps - p->offset;
}

int stage_finish_all(struct sim *s, int64_t horizon)
{
    int all_there = 1;

    for (uint32_t i = 0; i < s->run_count; i++) {
        struct part *p = s->parts[s->run[i]];

        if (p->episode_state == EPISODE_LEADS && (p->note_count || p->stage_over))
            end_stage(p, horizon);
    }
    for (uint32_t i = 0; i < s->run_count; i++) {
        struct part *p = s->parts[s->run[i]];

        if (p->episode_state == EPISODE_FOLLOWS && !p->stage->is_twin && p->stage->bound <= horizon)
            go_alone(p, 0);
        while (p->episode_state == EPISODE_REPLAYS && p->stage->wake <= horizon)
            adopt(p, horizon);
        all_there &= !is_behind(p, horizon);
    }
    s->memo.on_barrier(s->memo.ctx);
    return all_there;
}

/* ---- disturbance ---- */

/* What ends before the disturbance is heard of at it, see above. */
static void hear_late(struct part *p, int64_t global_ps)
{
    struct part *all = &p->s->part;

    for (uint32_t i = 0; i < p->note_count; i++) {
        if (all->note_count == all->note_cap) {
            const uint32_t cap = 2 * all->note_cap + 8;

            check(!rows_grow(&all->note, sizeof *all->note, cap), "out of memory for %u notes",
                  cap);
            all->note_cap = cap;
        }
        all->note[all->note_count] = p->note[i];
        all->note[all->note_count++].time = global_ps;
    }
    p->note_count = 0;
}

/* Executes up to @until_ps what it has not executed, before the disturbance at @global_ps. Returns
 * 0 if something ended, or a skip began. */
static int catch_up(struct part *p, int64_t until_ps, int64_t global_ps)
{
    const uint64_t skips = p->skips_ever;
    int is_plain = 1;

    for (;;) {
        p->limit = until_ps - p->offset;
        p->stops_idle = 0;
        round_task(p, NULL);
        if (!p->note_count)
            return is_plain && !p->frozen_ps && p->skips_ever == skips;
        hear_late(p, global_ps);
        freeze_end_watch(p);
        is_plain = 0;
    }
}

/* ---- beginnings: what a stage had come to when it was disturbed ---- */

/*
 * A stage that is known, and waited for, is often disturbed: by the charge of an acknowledgement, a
 * flow that starts beside. What had happened up to then is kept too, in steps of a round trip, so
 * that the next time only the last part of a step is executed.
 */
struct beginning {
    uint32_t tag, steps;
};
#define BEGINNING_TAG UINT32_C(0x62656769)

static int64_t step_of(const struct part *p)
{
    int64_t step = PS_PER_NS;

    for (uint32_t i = 0; i < p->flow_count; i++)
        step = p->tx[p->flow[i]].base_rtt_ps > step ? p->tx[p->flow[i]].base_rtt_ps : step;
    return step / PS_PER_NS * PS_PER_NS;
}

/* Does no flow end within @ps, whatever it sends? */
static int outlasts(struct part *p, int64_t ps)
{
    for (uint32_t i = 0; i < p->flow_count; i++) {
        const struct flow_tx *t = &p->tx[p->flow[i]];
        const int64_t flight = t->snd_nxt - t->snd_una;
        const int64_t sent = (int64_t)((__int128)t->max_rate_bps * ps / (8 * PS_PER_S));

        const int64_t left = t->size - t->snd_una - freeze_pending_bytes(p, p->flow[i]);

        if (left < 2 * flight + sent + 2 * margin_bytes(p))
            return 0;
    }
    return 1;
}

static uint64_t beginning_key(struct part *p, enum lens_sizes sizes, uint32_t steps)
{
    const struct stage *g = p->stage;
    const struct lens_key *k = &g->look.key[g->slot[sizes]];
    const struct beginning b = {BEGINNING_TAG, steps};
    struct bytes *key = &p->s->memo_key;

    key->count = 0;
    bytes_put(key, k->key.at, k->key.count);
    bytes_put(key, &b, sizeof b);
    return p->s->memo.hash(key->at, key->count);
}

static int take_beginning(struct part *p, enum lens_sizes sizes, uint64_t hash)
{
    struct sim *s = p->s;
    const struct memo_value known =
        s->memo.lookup(s->memo.ctx, hash, s->memo_key.at, s->memo_key.count);
    const struct stage_value *v = known.bytes;
    const int is_good = known.entry && is_long_enough(p, v, sizes);
    struct snapshot_map m;

    if (is_good) {
        map_by(p, sizes, &m);
        adopt_state(p, &m, v);
        snapshot_unmap(p, &m);
        freeze_end_watch(p);
    }
    if (known.entry)
        s->memo.release(s->memo.ctx, known.entry);
    return is_good;
}

static void make_beginning(struct part *p, enum lens_sizes sizes, uint64_t hash, int64_t until_ps,
                           int64_t global_ps)
{
    struct sim *s = p->s;
    struct memo_value v;

    remember(p);
    if (catch_up(p, until_ps, global_ps) && can_be_known_by(p, sizes)) {
        p->now = until_ps - p->offset;
        save_value(p, sizes, &s->memo_value);
        v = s->memo.insert(s->memo.ctx, hash, s->memo_key.at, s->memo_key.count, s->memo_value.at,
                           s->memo_value.count);
        if (v.entry)
            s->memo.release(s->memo.ctx, v.entry);
    }
    restore_q_max(p);
}

/* The partition waited; the stage is disturbed at @global_ps. */
static void begin_as_known(struct part *p, int64_t global_ps)
{
    const int64_t step = step_of(p), begin_ps = begin_of(p);
    const int64_t steps = (global_ps - begin_ps) / step;
    enum lens_sizes sizes = LENS_LONG;
    uint64_t hash;

    if (steps >= 1 && !outlasts(p, steps * step))
        sizes = LENS_EXACT;
    while (p->stage->made_count <= sizes)
        check(make_next(p), "partition %u has lost its key", p->id);
    if (p->frozen_ps)
        freeze_thaw(p);
    if (steps < 1 || steps > UINT32_MAX)
        return;
    hash = beginning_key(p, sizes, (uint32_t)steps);
    if (!take_beginning(p, sizes, hash))
        make_beginning(p, sizes, hash, begin_ps + steps * step, global_ps);
}

/* What a leader has come to is known from now on, as if that had been the longest time: unless that
 * is so little that looking it up would cost more. */
#define CUT_SHARE 8 /* of a round trip */

static void cut_lead(struct part *p, int64_t global_ps)
{
    const struct stage *g = p->stage;
    const int64_t now = global_ps - p->offset;

    if (!g->awaits_thaw && !p->frozen_ps && !p->note_count && p->executed == now &&
        now - g->at.local_ps >= step_of(p) / CUT_SHARE) {
        p->now = now;
        p->stage_over = STAGE_SPAN;
        end_lead(p, is_whole(p));
    } else {
        end_lead(p, 0);
    }
}

void stage_disturb(struct part *p, int64_t global_ps)
{
    const int waited = episode_waits(p);
    const int never_began =
        (waited || p->episode_state == EPISODE_LEADS) && begin_of(p) + STAGE_PS_MIN > global_ps;
    int must_execute;

    if (never_began) /* several control events at one instant; or the skip before it is cut short */
        count_look(p, p->stage->outcome, p->stage->outcome_by_kind, UINT64_MAX);
    if (p->episode_state == EPISODE_LEADS)
        cut_lead(p, global_ps);
    if (p->episode_state == EPISODE_REPLAYS)
        p->s->memo.release(p->s->memo.ctx, p->known.entry);
    if (waited)
        p->executed = p->now;
    p->s->memo_disturbed += (uint64_t)(waited && !never_began);
    p->episode_state = EPISODE_PLAIN;
    p->stage_over = 0;
    must_execute = p->frozen_ps ? p->frozen_at + p->frozen_ps + p->offset < global_ps
                                : p->executed < global_ps - p->offset;
    if (must_execute && waited)
        begin_as_known(p, global_ps);
    if (must_execute)
        catch_up(p, global_ps, global_ps);
}

void stage_fini(struct part *p)
{
    if (!p->stage)
        return;
    lens_fini(&p->stage->look);
    free(p->stage->flow_at);
    free(p->stage->port_at);
    free(p->stage);
}
