/*
 * stage_look.c - what a partition is about to do is looked up: known, under way in another one, or
 * new.
 */
#include "scratch.h"
#include "stage_int.h"

#include <stdlib.h>
#include <string.h>

/* What the state of a flow and its packets costs to save, where that has not been done yet. */
#define STATE_BYTES_GUESS 1024u

int stage__has_short(const struct lens *l)
{
    for (uint32_t i = 0; i < l->flow_count; i++)
        if (l->flow[i].is_short)
            return 1;
    return 0;
}

/* ---- hits ---- */

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
    int64_t least = TIME_NEVER - episode__begin_of(p);

    for (uint32_t i = 0; i < l->flow_count; i++) {
        const struct flow_tx *t = &p->tx[l->flow[i].id];
        const int64_t unsent = l->flow[i].left_bytes - (t->snd_max - t->snd_una);
        const int64_t ps = least_ps(p, l->flow[i].id, unsent);

        least = ps < least ? ps : least;
    }
    return episode__begin_of(p) + least;
}

void stage__wait_for(struct part *p, const struct memo_value *known, enum lens_sizes sizes)
{
    p->known = *known;
    p->episode_state = EPISODE_REPLAYS;
    p->stage->sizes = sizes;
    p->wake = stage__base_of(p) + ((const struct stage_value *)known->bytes)->end_ps;
}

/* Waits for what @v says, if the partition can take it. */
int stage__accept(struct part *p, const struct memo_value *known, enum lens_sizes sizes)
{
    const struct stage_value *v = known->bytes;
    struct stage *g = p->stage;

    check(v->flow_count == g->look.flow_count && v->port_count == g->look.port_count,
          "an entry of %u flows and %u ports for %u and %u", v->flow_count, v->port_count,
          g->look.flow_count, g->look.port_count);
    if (!stage__is_long_enough(p, v, sizes))
        return 0;
    g->is_all_sized = (uint8_t)lens_is_same(&g->look, sizes, LENS_EXACT);
    stage__wait_for(p, known, sizes);
    return 1;
}

/* ---- misses ---- */

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
void stage__count_look(struct part *p, uint64_t *outcome, uint64_t *by_kind, uint64_t change)
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

/* ---- keys ---- */

/* Of the state, all of it. */
static uint64_t hash_state(struct part *p)
{
    struct bytes *state = &p->scratch->state;
    struct snapshot_map m;

    stage__map_by(p, LENS_EXACT, &m);
    state->count = 0;
    snapshot_save(p, &m, episode__base(p, p->now), 0, state);
    snapshot_unmap(p, &m);
    return p->s->memo.hash(state->at, state->count);
}

/* The next degree's key. Returns 0 if the partition is too large for one. */
int stage__make_next(struct part *p)
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

/* Takes what the key of that degree has led to, if the partition can. */
static int take_known(struct part *p, const struct memo_value *v, uint32_t sizes)
{
    const int is_taken = stage__accept(p, v, (enum lens_sizes)sizes);

    p->stage->is_known[sizes] = (uint8_t)!is_taken;
    return is_taken;
}

/* From the first degree on whose key is not there. */
static enum stage_found look_up(struct part *p)
{
    const struct sim *s = p->s;
    struct stage *g = p->stage;

    while (g->made_count < LENS_KEYS) {
        const uint32_t k = g->made_count;
        const struct lens_key *key = &g->look.key[k];
        struct memo_value v;

        if (!stage__make_next(p))
            return STAGE_TOO_LARGE;
        if (g->slot[k] != k)
            continue;
        v = s->memo.lookup(s->memo.ctx, p->scratch->worker_id, key->hash, key->key.at,
                           key->key.count);
        if (!v.entry && s->memo.load)
            return STAGE_ABSENT;
        if (v.entry && take_known(p, &v, k))
            return STAGE_HIT;
    }
    return STAGE_MISS;
}

/* What the table does not have the file may. */
static enum stage_found look_further(struct part *p)
{
    const struct sim *s = p->s;
    const uint32_t k = p->stage->made_count - 1u;
    const struct lens_key *key = &p->stage->look.key[k];
    const struct memo_value v = s->memo.load(s->memo.ctx, key->hash, key->key.at, key->key.count);

    return v.entry && take_known(p, &v, k) ? STAGE_HIT : look_up(p);
}

/* ---- others of the same key ---- */

/* In the very state of the leader, and with as much left: what it does is what @p will do. Whoever
 * began before it would end before it, and maybe before what all has reached. */
int stage__is_twin(const struct part *p, const struct part *leader)
{
    const struct stage *g = p->stage, *h = leader->stage;
    const struct lens_key *a = &g->look.key[g->slot[LENS_EXACT]];
    const struct lens_key *b = &h->look.key[h->slot[LENS_EXACT]];

    return g->state_hash == h->state_hash && episode__begin_of(p) >= h->begin_global &&
           a->key.count == b->key.count && !memcmp(a->key.at, b->key.at, a->key.count);
}

/* One that is only like the leader waits for it as long as none of its flows can end. Where that
 * is soon, it waits for one that has begun before it. */
static int can_wait(const struct part *p, const struct part *leader)
{
    return !stage__has_short(&p->stage->look) ||
           episode__begin_of(p) >= leader->stage->begin_global;
}

static void follow_or_lead(struct part *p, struct sim_memo_kind *stats)
{
    struct sim *s = p->s;
    struct stage *g = p->stage;
    const struct bytes *key;
    const uint64_t hash = stage_leader_key(p, &key);
    struct part *leader = episode__find_leader(s, hash, key);

    g->is_twin = (uint8_t)(leader && stage__is_twin(p, leader));
    if (leader && (g->is_twin || can_wait(p, leader))) {
        episode__follow(p, leader);
        stage__count_look(p, &s->memo_coalesced, &stats->coalesced, 1);
        return;
    }
    stage__count_look(p, &s->memo_missed[why_missed(p)], NULL, 1);
    stage__lead(p, !leader);
}

/* ---- the look ---- */

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
    else if (t->size - t->snd_max >= beyond * payload + stage__margin_bytes(p))
        freeze_nudge(p, beyond);
}

/* The number of stages on end is part of the key: what the watch has seen and how far timers are
 * depends on it. After so many the rest is executed, or a flow that waits for a timeout in a state
 * that comes again and again would never get there. */
#define STEP_MAX 200u

int stage__is_declined(struct part *p, uint32_t step)
{
    return step >= STEP_MAX || !snapshot_can(p) || episode__is_in_vain(p);
}

/* For those that may lead or follow. */
static void note_state(struct part *p)
{
    struct stage *g = p->stage;

    if (g->found != STAGE_MISS)
        return;
    g->state_hash = hash_state(p);
    g->bound = sending_bound(p);
}

void stage__prepare(struct part *p, enum stage_kind kind, uint32_t step)
{
    p->episode_state = EPISODE_PLAIN;
    if (!p->stage)
        p->stage = calloc(1, sizeof *p->stage);
    check(p->stage != NULL, "out of memory for a stage");
    if (stage__follow_link(p)) {
        p->stage->found = STAGE_HIT;
        return;
    }
    if (p->flow_count == 1 && p->s->watch.create)
        round_left(p);
    lens_look(&p->stage->look, p, (uint8_t)kind, (uint8_t)step, p->frozen_ps > 0);
    p->stage->made_count = 0;
    p->stage->found = (uint8_t)look_up(p);
    note_state(p);
}

const void *stage__found(const struct part *p)
{
    return p->stage->found == STAGE_HIT ? p->known.entry : NULL;
}

static void hold_found(const struct part *p)
{
    if (stage__found(p))
        p->s->memo.hold(p->known.entry);
}

void stage__commit(struct part *p)
{
    struct sim *s = p->s;
    struct stage *g = p->stage;
    struct sim_memo_kind *stats = &s->memo_kind[g->look.kind];

    if (g->found == STAGE_ABSENT) {
        do
            g->found = (uint8_t)look_further(p);
        while (g->found == STAGE_ABSENT);
        hold_found(p);
        note_state(p);
    }
    stage__link(p);
    if (g->found == STAGE_TOO_LARGE) {
        s->memo_declined++;
        s->memo_missed[SIM_MISS_LARGE]++;
        return;
    }
    if (g->found == STAGE_HIT)
        stage__count_look(p, &s->memo_hits, &stats->hits, 1);
    else
        follow_or_lead(p, stats);
    episode__count_try(p, p->flow_count * STATE_BYTES_GUESS, p->episode_state != EPISODE_LEADS);
}

void stage__look(struct part *p, enum stage_kind kind, uint32_t step)
{
    p->episode_state = EPISODE_PLAIN;
    if (stage__is_declined(p, step)) {
        p->s->memo_declined++;
        return;
    }
    stage__prepare(p, kind, step);
    hold_found(p);
    stage__commit(p);
}
