/*
 * episode.c - episodes that have been seen before are not executed again.
 *
 * An episode is the life of a partition from one control event that touches it to the next; one
 * that ends by a completion or a delivery of its own is a function of the state it began with,
 * skips included. That state is the key (snapshot.h); the value is how long it took, the state at
 * its end, what the counters have moved by, and who completed.
 *
 * A hit is committed late: the partition keeps the state it had and waits for the end of the
 * episode. If a control event comes before, it executes what it has not executed from where it
 * stands, and nothing was lost. Otherwise it takes the state at the end. Partitions whose episode
 * is being executed by another one (the leader) wait for that one, whether they began with it or
 * later; if the leader is disturbed, the first of its followers takes its place.
 *
 * States are saved and looked up, and taken, by all workers (look.h); all that depends on another
 * partition is decided in the order of the list of partitions, by the coordinator, so that no hit
 * depends on timing; and hits are exact, so results are the same with and without.
 */
#include "episode_int.h"
#include "life.h"
#include "look.h"
#include "scratch.h"
#include "sim_int.h"
#include "snapshot.h"
#include "units.h"

#include <stdlib.h>
#include <string.h>

/* What a leader remembers of the beginning. */
struct record {
    struct bytes key;   /* what can be followed: good if nothing depends on names */
    struct bytes named; /* with names */
    uint64_t hash;      /* of key */
    uint64_t draws;     /* of the partition, then */
    uint8_t has_followers;
    struct moved at;         /* counters then */
    struct moved_flow *flow; /* shape: [flow_count], in the numbering of the key */
    struct moved_port *port; /* shape: [port_count] */
    uint32_t flow_cap, port_cap;
};

/* ---- counters ---- */

struct moved episode__counters(const struct part *p)
{
    return (struct moved){
        .global_ps = p->now + p->offset,
        .local_ps = p->now,
        .packet_hops = p->packet_hops + p->replayed_hops,
        .data_packets = p->data_packets,
        .ack_packets = p->ack_packets,
        .nack_packets = p->nack_packets,
        .cnp_echoes = p->cnp_echoes,
        .marks = p->marks,
        .rate_cuts = p->rate_cuts,
        .timeouts = p->timeouts,
        .retx_packets = p->retx_packets,
        .skipped_packets = p->skipped_packets,
        .skipped_hops = p->skipped_hops,
        .skips = p->skips_ever,
        .skipped_flow_s = p->skipped_flow_s,
        .audited = p->audited,
        .audit_rows = audit_row_count(p),
    };
}

struct moved episode__since(const struct moved *now, const struct moved *then)
{
    struct moved m = {
        .global_ps = now->global_ps - then->global_ps,
        .local_ps = now->local_ps - then->local_ps,
        .packet_hops = now->packet_hops - then->packet_hops,
        .data_packets = now->data_packets - then->data_packets,
        .ack_packets = now->ack_packets - then->ack_packets,
        .nack_packets = now->nack_packets - then->nack_packets,
        .cnp_echoes = now->cnp_echoes - then->cnp_echoes,
        .marks = now->marks - then->marks,
        .rate_cuts = now->rate_cuts - then->rate_cuts,
        .timeouts = now->timeouts - then->timeouts,
        .retx_packets = now->retx_packets - then->retx_packets,
        .skipped_packets = now->skipped_packets - then->skipped_packets,
        .skipped_hops = now->skipped_hops - then->skipped_hops,
        .skips = now->skips - then->skips,
        .skipped_flow_s = now->skipped_flow_s - then->skipped_flow_s,
        .audited = now->audited,
        .audit_rows = now->audit_rows - then->audit_rows,
    };

    audit_add(&m.audited, &then->audited, -1);
    return m;
}

void episode__move_counters(struct part *p, const struct moved *m)
{
    p->replayed_hops += m->packet_hops;
    p->data_packets += m->data_packets;
    p->ack_packets += m->ack_packets;
    p->nack_packets += m->nack_packets;
    p->cnp_echoes += m->cnp_echoes;
    p->marks += m->marks;
    p->rate_cuts += m->rate_cuts;
    p->timeouts += m->timeouts;
    p->retx_packets += m->retx_packets;
    p->skipped_packets += m->skipped_packets;
    p->skipped_hops += m->skipped_hops;
    p->skips_ever += m->skips;
    p->skipped_flow_s += m->skipped_flow_s;
    audit_add(&p->audited, &m->audited, 1);
}

/* ---- leaders that are under way, by key ---- */

static uint64_t leader_hash(const struct part *p, const struct bytes **key)
{
    if (p->s->memo.lens == MEMO_FCG)
        return stage_leader_key(p, key);
    *key = &p->record->key;
    return p->record->hash;
}

static int is_same_key(const struct part *p, uint64_t hash, const struct bytes *key)
{
    const struct bytes *own;

    return leader_hash(p, &own) == hash && own->count == key->count &&
           !memcmp(own->at, key->at, key->count);
}

struct part *episode__find_leader(const struct sim *s, uint64_t hash, const struct bytes *key)
{
    uint32_t i;

    if (!s->leader_cap)
        return NULL;
    for (i = (uint32_t)hash & (s->leader_cap - 1); s->leader[i]; i = (i + 1) & (s->leader_cap - 1))
        if (is_same_key(s->parts[s->leader[i]], hash, key))
            return s->parts[s->leader[i]];
    return NULL;
}

static void put_leader(struct sim *s, uint32_t id)
{
    const struct bytes *key;
    uint32_t i = (uint32_t)leader_hash(s->parts[id], &key) & (s->leader_cap - 1);

    while (s->leader[i])
        i = (i + 1) & (s->leader_cap - 1);
    s->leader[i] = id;
}

void episode__add_leader(struct sim *s, const struct part *p)
{
    if (2 * (s->leader_count + 1) > s->leader_cap) {
        const uint32_t old_cap = s->leader_cap;
        uint32_t *old = s->leader;

        s->leader_cap = old_cap ? 2 * old_cap : 64;
        s->leader = calloc(s->leader_cap, sizeof *s->leader);
        check(s->leader != NULL, "out of memory for %u leaders", s->leader_cap);
        for (uint32_t i = 0; i < old_cap; i++)
            if (old[i])
                put_leader(s, old[i]);
        free(old);
    }
    put_leader(s, p->id);
    s->leader_count++;
}

/* Closes the gap, as open addressing wants it. */
void episode__remove_leader(struct sim *s, const struct part *p)
{
    const uint32_t mask = s->leader_cap - 1;
    const struct bytes *key;
    uint32_t i = (uint32_t)leader_hash(p, &key) & mask, k;

    while (s->leader[i] != p->id)
        i = (i + 1) & mask;
    s->leader[i] = 0;
    s->leader_count--;
    for (k = (i + 1) & mask; s->leader[k]; k = (k + 1) & mask) {
        const uint32_t id = s->leader[k];

        s->leader[k] = 0;
        put_leader(s, id);
    }
}

/* ---- the beginning ---- */

static void remember(struct part *p, const struct snapshot_map *m)
{
    struct record *r = p->record;

    if (r->flow_cap < m->flow_count) {
        r->flow_cap = 2 * m->flow_count;
        r->flow = realloc(r->flow, r->flow_cap * sizeof *r->flow);
    }
    if (r->port_cap < m->port_count) {
        r->port_cap = 2 * m->port_count;
        r->port = realloc(r->port, r->port_cap * sizeof *r->port);
    }
    check(r->flow && r->port, "out of memory for an episode of %u flows", m->flow_count);
    r->at = episode__counters(p);
    for (uint32_t i = 0; i < m->flow_count; i++)
        r->flow[i] = (struct moved_flow){p->tx[m->flow[i]].base, p->tx[m->flow[i]].cnps};
    for (uint32_t i = 0; i < m->port_count; i++) {
        struct port *pt = &p->port[m->port[i]];

        r->port[i] = episode__port_counters(pt);
        pt->q_max = pt->q_bytes; /* of this episode; restore_q_max puts the larger one back */
    }
}

int64_t episode__base(const struct part *p, int64_t local_ps)
{
    return p->int_rec ? local_ps / PS_PER_NS * PS_PER_NS : local_ps;
}

/* Waits for the end of the episode that @known says. */
static void replay(struct part *p, const struct memo_value *known)
{
    const struct moved *v = known->bytes;

    p->known = *known;
    p->wake = p->now + p->offset + v->global_ps;
    p->episode_state = EPISODE_REPLAYS;
}

/* Two packets of one sprayed flow may tie, and the order of the ports decides. */
static int needs_names(const struct part *p)
{
    for (uint32_t i = 0; i < p->flow_count; i++)
        if (p->tx[p->flow[i]].path_count > 1)
            return 1;
    return p->draws != p->record->draws;
}

/* @can_be_followed: others of the same key may wait for it. */
static void lead(struct part *p, const struct snapshot_map *m, uint64_t hash,
                 const struct bytes *key, int can_be_followed)
{
    struct record *r;

    if (!p->record)
        p->record = calloc(1, sizeof *p->record);
    r = p->record;
    check(r != NULL, "out of memory for an episode");
    r->key.count = r->named.count = 0;
    bytes_put(&r->key, key->at, key->count);
    bytes_put(&r->named, key->at, key->count);
    snapshot_save_names(p, m, &r->named);
    r->hash = hash;
    r->draws = p->draws;
    remember(p, m);
    p->episode_state = EPISODE_LEADS;
    r->has_followers = (uint8_t)can_be_followed;
    if (can_be_followed)
        episode__add_leader(p->s, p);
}

/*
 * States of many flows cost as much to save as many events, and where flows come and go by
 * themselves they never come twice. When VAIN_BYTES have been saved and hardly any were found,
 * VAIN_PAUSE times as much is not tried.
 */
#define VAIN_FLOWS 8u
#define VAIN_BYTES (UINT64_C(8) << 20)
#define VAIN_SHARE 64u /* found less than one in so many */
#define VAIN_PAUSE 15u

int episode__is_small(const struct part *p)
{
    return p->flow_count < VAIN_FLOWS;
}

int episode__is_in_vain(struct part *p)
{
    struct sim *s = p->s;

    if (episode__is_small(p) || !s->memo_pause)
        return 0;
    s->memo_pause -= p->flow_count < s->memo_pause ? p->flow_count : s->memo_pause;
    return 1;
}

void episode__count_try(struct part *p, size_t key_bytes, int is_found)
{
    struct sim *s = p->s;

    if (episode__is_small(p))
        return;
    s->memo_tried += key_bytes;
    s->memo_found += is_found ? key_bytes : 0;
    s->memo_tried_flows += p->flow_count;
    if (s->memo_tried < VAIN_BYTES)
        return;
    if (s->memo_found < s->memo_tried / VAIN_SHARE)
        s->memo_pause = VAIN_PAUSE * s->memo_tried_flows;
    s->memo_tried = s->memo_found = s->memo_tried_flows = 0;
}

/* A partition that a control event has touched, standing at that event. Its worker. */
static void prepare_look(struct look *l)
{
    struct part *p = l->p;
    const struct sim *s = p->s;
    const uint32_t worker = p->scratch->worker_id;
    struct bytes *key = &l->key;
    struct snapshot_map m;

    key->count = 0;
    snapshot_map(p, &m);
    snapshot_save(p, &m, episode__base(p, p->now), 1, key);
    l->key_bytes = key->count;
    l->hash = s->memo.hash(key->at, key->count);
    l->known = s->memo.lookup(s->memo.ctx, worker, l->hash, key->at, key->count);
    if (!l->known.entry) {
        snapshot_save_names(p, &m, key);
        l->named = s->memo.hash(key->at, key->count);
        l->known = s->memo.lookup(s->memo.ctx, worker, l->named, key->at, key->count);
    }
    l->found = l->known.entry;
    snapshot_unmap(p, &m);
}

/* What the table does not have the file may. */
static void load(struct sim *s, struct look *l)
{
    if (l->known.entry || !s->memo.load)
        return;
    l->known = s->memo.load(s->memo.ctx, l->hash, l->key.at, l->key_bytes);
    if (!l->known.entry)
        l->known = s->memo.load(s->memo.ctx, l->named, l->key.at, l->key.count);
    if (l->known.entry)
        s->memo.hold(l->known.entry);
}

static void lead_look(const struct look *l, const struct bytes *key)
{
    struct snapshot_map m;

    snapshot_map(l->p, &m);
    lead(l->p, &m, l->hash, key, 1);
    snapshot_unmap(l->p, &m);
}

static void commit_look(struct look *l)
{
    struct part *p = l->p;
    struct sim *s = p->s;
    const struct bytes key = {l->key.at, l->key_bytes, l->key_bytes};
    struct part *leader;

    s->memo_lookups++;
    load(s, l);
    if (l->known.entry) {
        replay(p, &l->known);
        s->memo_hits++;
    } else if ((leader = episode__find_leader(s, l->hash, &key))) {
        episode__follow(p, leader);
        s->memo_coalesced++;
    } else {
        lead_look(l, &key);
    }
    episode__count_try(p, key.count, p->episode_state != EPISODE_LEADS);
}

static void begin(struct part *p)
{
    static const struct look_work work = {prepare_look, commit_look, 0};

    if (!snapshot_can(p) || episode__is_in_vain(p)) {
        p->s->memo_declined++;
        return;
    }
    shard_gather(p);
    look_add(p->s, &work, p, look_weight(p));
}

void episode_begin_all(struct sim *s)
{
    for (uint32_t i = 0; i < s->fresh_count; i++) {
        struct part *p = s->parts[s->fresh[i]];

        if (p->episode_state != EPISODE_NEW)
            continue;
        p->episode_state = EPISODE_PLAIN;
        if (p->run_index == ROW_NONE || !p->is_fresh || life_must_execute(p))
            continue;
        if (s->memo.lens == MEMO_FCG)
            stage_begin(p);
        else
            begin(p);
    }
    look_run(s);
    s->fresh_count = 0;
}

/* ---- the end ---- */

static void restore_q_max(struct part *p, const struct snapshot_map *m)
{
    for (uint32_t i = 0; i < m->port_count; i++)
        episode__raise_q_max(&p->port[m->port[i]], p->record->port[i].q_max);
}

static void save_value(struct part *p, const struct snapshot_map *m, struct bytes *out)
{
    const struct record *r = p->record;
    const struct moved now = episode__counters(p);
    struct moved v = episode__since(&now, &r->at);

    v.note_count = p->note_count;
    out->count = 0;
    bytes_put(out, &v, sizeof v);
    for (uint32_t i = 0; i < m->flow_count; i++) {
        const struct flow_tx *t = &p->tx[m->flow[i]];
        const struct moved_flow f = {t->base - r->flow[i].base, t->cnps - r->flow[i].cnps};

        bytes_put(out, &f, sizeof f);
    }
    for (uint32_t i = 0; i < m->port_count; i++) {
        const struct moved_port o = episode__port_since(&p->port[m->port[i]], &r->port[i]);

        bytes_put(out, &o, sizeof o);
    }
    for (uint32_t i = 0; i < p->note_count; i++) {
        const struct moved_note n = {p->tx[p->note[i].flow].snap_rank, p->note[i].what};

        bytes_put(out, &n, sizeof n);
    }
    snapshot_save(p, m, episode__base(p, r->at.local_ps), 0, out);
    audit_save_rows(p, r->at.audit_rows, out);
}

int episode__ends_at_notes(const struct part *p)
{
    for (uint32_t i = 0; i < p->note_count; i++)
        if (p->note[i].time != p->now + p->offset || p->note[i].what == NOTE_STALLED)
            return 0;
    return 1;
}

/* ---- who follows ---- */

void episode__follow(struct part *p, struct part *leader)
{
    p->episode_state = EPISODE_FOLLOWS;
    p->leader = leader->id;
    p->follow_next = 0;
    p->follow_prev = leader->follower_last;
    if (leader->follower_last)
        p->s->parts[leader->follower_last]->follow_next = p->id;
    else
        leader->follower_first = p->id;
    leader->follower_last = p->id;
}

void episode__unfollow(struct part *p)
{
    struct part *const *parts = p->s->parts;
    struct part *leader = parts[p->leader];

    if (p->follow_prev)
        parts[p->follow_prev]->follow_next = p->follow_next;
    else
        leader->follower_first = p->follow_next;
    if (p->follow_next)
        parts[p->follow_next]->follow_prev = p->follow_prev;
    else
        leader->follower_last = p->follow_prev;
    p->episode_state = EPISODE_PLAIN;
    part_wake(p);
}

struct part *episode__first_follower(const struct part *leader)
{
    struct part *const *parts = leader->s->parts;
    struct part *first = NULL;

    for (uint32_t id = leader->follower_first; id; id = parts[id]->follow_next)
        if (!first || episode__begin_of(parts[id]) < episode__begin_of(first))
            first = parts[id];
    return first;
}

static void follow_up(struct part *leader, const struct memo_value *v)
{
    while (leader->follower_first) {
        struct part *p = leader->s->parts[leader->follower_first];

        episode__unfollow(p);
        replay(p, v);
        p->s->memo.hold(v->entry);
    }
}

/* Its own episode from its own beginning. */
static void go_alone(struct part *p, const struct record *r, int can_be_followed)
{
    struct snapshot_map m;

    snapshot_map(p, &m);
    lead(p, &m, r->hash, &r->key, can_be_followed);
    snapshot_unmap(p, &m);
    p->executed = p->now;
}

/*
 * The leader has nothing for its followers. If it was only disturbed, the first of them takes its
 * place; if what came of it holds for itself alone, @each goes its own way.
 */
static void disband(struct part *leader, int each)
{
    struct part *first = each ? NULL : episode__first_follower(leader);

    if (first) {
        episode__unfollow(first);
        go_alone(first, leader->record, 1);
    }
    while (leader->follower_first) {
        struct part *p = leader->s->parts[leader->follower_first];

        episode__unfollow(p);
        if (first)
            episode__follow(p, first);
        else
            go_alone(p, leader->record, 0);
    }
}

struct memo_value episode__insert(struct sim *s, uint64_t hash, const struct bytes *key)
{
    const struct bytes *value = &s->memo_value;
    struct memo_value v =
        s->memo.insert(s->memo.ctx, hash, key->at, key->count, value->at, value->count);

    if (v.entry || !s->link_count)
        return v;
    stage_drop_links(s); /* what they hold may have to go */
    return s->memo.insert(s->memo.ctx, hash, key->at, key->count, value->at, value->count);
}

void episode__keep(struct sim *s, uint64_t hash, const struct bytes *key)
{
    const struct memo_value v = episode__insert(s, hash, key);

    if (v.entry)
        s->memo.release(s->memo.ctx, v.entry);
}

/* The episode of a leader ends, by itself or not. */
static void end_lead(struct part *p, int is_whole)
{
    struct sim *s = p->s;
    struct record *r = p->record;
    const int is_named = is_whole && needs_names(p);
    struct memo_value v = {0};
    struct snapshot_map m;

    if (r->has_followers)
        episode__remove_leader(s, p);
    p->episode_state = EPISODE_PLAIN;
    if (is_whole)
        freeze_end_stretch(p, 1); /* audits are part of the value */
    snapshot_map(p, &m);
    if (is_whole)
        save_value(p, &m, &s->memo_value);
    restore_q_max(p, &m);
    snapshot_unmap(p, &m);
    if (is_whole)
        v = is_named ? episode__insert(s, s->memo.hash(r->named.at, r->named.count), &r->named)
                     : episode__insert(s, r->hash, &r->key);
    if (r->has_followers && v.entry && !is_named)
        follow_up(p, &v);
    else if (r->has_followers)
        disband(p, is_named);
    if (v.entry)
        s->memo.release(s->memo.ctx, v.entry);
}

/* It goes on, and what comes of it is for itself alone. */
static void stop_leading(struct part *p)
{
    episode__remove_leader(p->s, p);
    p->record->has_followers = 0;
    disband(p, 1);
}

void episode__adopt_ports(struct part *p, const struct snapshot_map *m, const struct moved_port *o)
{
    for (uint32_t i = 0; i < m->port_count; i++)
        episode__add_port(&p->port[m->port[i]], &o[i]);
}

/* The episode has been executed from @from on: is that what the memo says? @note: of the value. */
static int is_as_known(struct part *p, const struct snapshot_map *m, const struct moved *from,
                       const struct moved_note *note)
{
    const struct moved *v = p->known.bytes;
    const uint8_t *end = (const uint8_t *)(note + v->note_count);
    const size_t end_bytes = p->known.count - (size_t)(end - (const uint8_t *)v) -
                             v->audit_rows * sizeof(struct audit_row);
    struct bytes *state = &p->s->memo_value;

    if (p->frozen_ps || p->now - from->local_ps != v->local_ps ||
        p->now + p->offset - from->global_ps != v->global_ps || p->note_count != v->note_count)
        return 0;
    for (uint32_t i = 0; i < v->note_count; i++)
        if (p->note[i].flow != m->flow[note[i].rank] || p->note[i].what != note[i].what)
            return 0;
    state->count = 0;
    snapshot_save(p, m, episode__base(p, from->local_ps), 0, state);
    return state->count == end_bytes && !memcmp(state->at, end, end_bytes);
}

static void audit_value(struct part *p, const struct snapshot_map *m, const struct moved_note *note)
{
    const struct moved *v = p->known.bytes;
    const struct moved from = episode__counters(p);

    if (audit_hit(p, v->global_ps))
        audit_hit_end(p, is_as_known(p, m, &from, note));
}

/* The partition takes the state at the end of the episode. */
static void adopt(struct part *p)
{
    const struct moved *v = p->known.bytes;
    const struct moved_flow *f = (const struct moved_flow *)(v + 1);
    const int64_t base = episode__base(p, p->now);
    const int64_t local = p->now + v->local_ps;
    const struct moved_port *o;
    const struct moved_note *n;
    struct snapshot_map m;

    snapshot_map(p, &m);
    o = (const struct moved_port *)(f + m.flow_count);
    n = (const struct moved_note *)(o + m.port_count);
    if (p->s->audit_share > 0)
        audit_value(p, &m, n);
    for (uint32_t i = 0; i < m.flow_count; i++) {
        p->tx[m.flow[i]].base += f[i].base;
        p->tx[m.flow[i]].cnps += f[i].cnps;
    }
    episode__adopt_ports(p, &m, o);
    episode__move_counters(p, v);
    audit_take_rows(p,
                    (const uint8_t *)(n + v->note_count) +
                        snapshot_restore(p, &m, base, (const uint8_t *)(n + v->note_count)),
                    v->audit_rows);
    p->offset += v->global_ps - v->local_ps;
    dcheck(p->now == local, "partition %u: an episode ends at %lld, not %lld", p->id,
           (long long)p->now, (long long)local);
    (void)local;
    for (uint32_t i = 0; i < v->note_count; i++)
        part_note(p, m.flow[n[i].rank], (enum note_kind)n[i].what);
    snapshot_unmap(p, &m);
    p->is_fresh = 0;
    p->episode_state = EPISODE_PLAIN;
}

/* Whoever follows began with its leader or after it, and ends no earlier. */
int64_t episode_due(const struct part *p)
{
    if (p->episode_state != EPISODE_FOLLOWS)
        return p->wake;
    return p->s->memo.lens == MEMO_FCG ? stage_due(p) : TIME_NEVER;
}

static void prepare_end(struct look *l)
{
    l->done = l->p->known.entry;
    adopt(l->p);
}

static void take_end(struct part *p)
{
    static const struct look_work work = {prepare_end, NULL, 0};

    look_add(p->s, &work, p, look_taking_weight(p));
}

int episode_finish_all(struct sim *s, int64_t horizon)
{
    if (s->memo.lens == MEMO_FCG)
        return stage_finish_all(s, horizon);
    for (uint32_t i = 0; i < s->awake_count; i++) {
        struct part *p = s->parts[s->awake[i]];

        if (p->episode_state != EPISODE_LEADS)
            continue;
        if (p->note_count)
            end_lead(p, episode__ends_at_notes(p));
        else if (p->record->has_followers && p->draws != p->record->draws)
            stop_leading(p); /* what others draw is something else */
    }
    for (uint32_t i = 0; i < s->awake_count; i++) {
        struct part *p = s->parts[s->awake[i]];

        if (p->episode_state == EPISODE_LIVES && p->wake <= horizon)
            life_step(p);
        else if (p->episode_state == EPISODE_REPLAYS && p->wake <= horizon)
            take_end(p);
    }
    look_run(s);
    s->memo.on_barrier(s->memo.ctx);
    return 1;
}

/* ---- disturbance ---- */

/* Executes what it has not executed up to @global_ps. */
static void catch_up(struct part *p, int64_t global_ps)
{
    p->limit = global_ps - p->offset;
    p->stops_idle = 0;
    round_task(p, NULL);
    check(!p->note_count, "partition %u: the end of an episode was missed", p->id);
}

void episode_disturb(struct part *p, int64_t global_ps)
{
    const int waited = episode_waits(p);

    if (p->s->memo.lens == MEMO_FCG) {
        stage_disturb(p, global_ps);
        return;
    }
    if (p->episode_state == EPISODE_LEADS)
        end_lead(p, 0);
    if (p->episode_state == EPISODE_REPLAYS)
        p->s->memo.release(p->s->memo.ctx, p->known.entry);
    if (p->episode_state == EPISODE_FOLLOWS)
        episode__unfollow(p);
    if (waited)
        p->executed = p->now;
    p->s->memo_disturbed += (uint64_t)waited;
    p->episode_state = EPISODE_PLAIN;
    if (p->executed < global_ps - p->offset && !p->frozen_ps)
        catch_up(p, global_ps);
}

void episode_fini(struct part *p)
{
    if (p->episode_state == EPISODE_REPLAYS)
        p->s->memo.release(p->s->memo.ctx, p->known.entry);
    stage_fini(p);
    if (!p->record)
        return;
    bytes_fini(&p->record->key);
    bytes_fini(&p->record->named);
    free(p->record->flow);
    free(p->record->port);
    free(p->record);
}
