/*
 * life.c - see life.h.
 */
#include "life.h"

#include "audit.h"
#include "episode_int.h"
#include "lens.h"
#include "rng.h"
#include "sim_int.h"
#include "units.h"

#include <stdlib.h>
#include <string.h>

#define LIFE_PORTS_MAX 8u
#define LIVES_MAX 65536u /* kept; real runs have some dozens */

/* All that a lone life depends on and that is not the same for the whole run. No padding: compared
 * as bytes. */
struct life_key {
    int64_t bytes, max_rate_bps, base_rtt_ps, bypass_ps, win_max;
    int64_t phase_ps; /* local time of the start: the rest of a ns where INT counts in them */
    uint32_t hops, cls;
    struct {
        uint32_t kind, charge;
    } port[LIFE_PORTS_MAX];
};
_Static_assert(sizeof(struct life_key) == 56 + 8 * LIFE_PORTS_MAX, "no hidden padding");

/* What comes of it. */
struct life_value {
    int64_t delivered_ps; /* after the start; -1 where nobody asks */
    struct moved moved;   /* from the start to the completion */
    struct moved_flow flow;
    struct moved_port port[LIFE_PORTS_MAX];
};

/* One that has been seen; or is being observed, see struct part. */
struct life {
    struct life_key key;
    uint64_t hash;
    struct life_value v;
    struct bytes rows;        /* of audits, v.moved.audit_rows */
    uint64_t draws, events;   /* of the partition, at the start */
    uint32_t used, disturbed; /* how often */
    uint8_t is_known;
    uint8_t is_under_way; /* somebody is observed, who will tell */
    uint8_t is_check;     /* observed only to be compared with what is known */
};

/* ---- what is known ---- */

static struct life **slot_of(const struct sim *s, const struct life_key *k, uint64_t hash)
{
    uint32_t i = (uint32_t)hash & (s->life_cap - 1);

    while (s->life[i] && (s->life[i]->hash != hash || memcmp(&s->life[i]->key, k, sizeof *k) != 0))
        i = (i + 1) & (s->life_cap - 1);
    return &s->life[i];
}

static int grow(struct sim *s)
{
    const uint32_t old_cap = s->life_cap, cap = old_cap ? 2 * old_cap : 64;
    struct life **old = s->life, **rows = calloc(cap, sizeof *rows);

    if (!rows)
        return 0;
    s->life = rows;
    s->life_cap = cap;
    for (uint32_t i = 0; i < old_cap; i++)
        if (old[i])
            *slot_of(s, &old[i]->key, old[i]->hash) = old[i];
    free(old);
    return 1;
}

static struct life *find(const struct sim *s, const struct life_key *k, uint64_t hash)
{
    return s->life_cap ? *slot_of(s, k, hash) : NULL;
}

/* Its row, made if there is none yet; NULL: there is no memory for it, or there are too many. */
static struct life *note_seen(struct sim *s, const struct life_key *k, uint64_t hash)
{
    struct life *l = find(s, k, hash);

    if (l || s->life_count == LIVES_MAX || (2 * s->life_count >= s->life_cap && !grow(s)))
        return l;
    l = calloc(1, sizeof *l);
    if (!l)
        return NULL;
    l->key = *k;
    l->hash = hash;
    *slot_of(s, k, hash) = l;
    s->life_count++;
    return l;
}

/* @rows: of audits */
static void know(struct life *l, const struct life_value *v, const void *rows, size_t rows_bytes)
{
    l->v = *v;
    l->is_known = 1;
    l->used = l->disturbed = 0;
    if (rows_bytes)
        bytes_put(&l->rows, rows, rows_bytes);
}

static uint64_t hash_of(const struct life_key *k)
{
    uint64_t word[sizeof *k / sizeof(uint64_t)], factor = UINT64_C(0x9e3779b97f4a7c15), h = 0;

    memcpy(word, k, sizeof word);
    for (size_t i = 0; i < sizeof word / sizeof *word; i++) {
        h += word[i] * factor; /* not one after the other: this is done for each flow */
        factor += UINT64_C(0xda942042e4dd58b6);
    }
    return rng_mix(h);
}

/* Where the next flow tends to start on the ports before this one has completed, all would be
 * executed in the end, from its start on. */
#define DISTURBED_SHARE 64u /* one in so many at most */

static int is_worth_it(const struct life *l)
{
    return l->disturbed * DISTURBED_SHARE <= l->used + DISTURBED_SHARE;
}

/* ---- the beginning ---- */

static uint32_t port_at(const struct part *p, uint32_t flow, uint32_t i)
{
    return p->path[p->tx[flow].path + i];
}

/* Alone on ports that were idle, and nothing can happen to it by chance. Audits of the exact lens
 * want episodes. */
static int can_be_known(const struct part *p, uint32_t flow)
{
    const struct sim *s = p->s;
    const struct flow_tx *t = &s->tx[flow];

    return s->memo.lookup && (s->memo.lens == MEMO_FCG || s->audit_share <= 0) &&
           p->flow_count == 1 && !p->swtch_count && !p->linger_count && !p->old_count &&
           !calendar_count(&p->cal) && t->path_count == 1 && t->hops <= LIFE_PORTS_MAX &&
           !s->any_loss && !s->cfg.event_count && s->class_count == 2 &&
           s->cfg.recovery != RECOVERY_SELECTIVE_REPEAT && !s->cfg.hosts_forward &&
           ack_is_beside(s->cfg.ack) && (!p->int_rec || s->cfg.int_reset_idle) &&
           !s->nic[s->port[t->port].owner].active;
}

static struct life_key key_of(const struct part *p, uint32_t flow)
{
    const struct flow_tx *t = &p->tx[flow];
    struct life_key k = {.bytes = t->size,
                         .max_rate_bps = t->max_rate_bps,
                         .base_rtt_ps = t->base_rtt_ps,
                         .bypass_ps = t->bypass_ps,
                         .win_max = t->win_max,
                         .phase_ps = p->now,
                         .hops = t->hops,
                         .cls = t->cls};

    for (uint32_t i = 0; i < t->hops; i++) {
        const struct port *pt = &p->port[port_at(p, flow, i)];

        k.port[i].kind = pt->kind;
        k.port[i].charge = pt->charge;
    }
    return k;
}

/* From now on it is watched, to be known if nothing touches it. */
static void observe(struct part *p, uint32_t flow, const struct life_key *k, uint64_t hash,
                    int is_check)
{
    struct life *l = p->observed ? p->observed : malloc(sizeof *l);

    if (!l)
        return;
    p->observed = l;
    *l = (struct life){.key = *k,
                       .hash = hash,
                       .v = {.delivered_ps = -1, .moved = episode__counters(p)},
                       .draws = p->draws,
                       .events = p->events,
                       .is_check = (uint8_t)is_check};
    for (uint32_t i = 0; i < k->hops; i++) {
        struct port *pt = &p->port[port_at(p, flow, i)];

        l->v.port[i] = episode__port_counters(pt);
        pt->q_max = 0; /* of this life; put back when it is over */
    }
    p->is_observed = 1;
}

/* What is known is waited for. */
static void take(struct part *p, uint32_t flow, struct life *known)
{
    struct sim *s = p->s;
    const struct life_value *v = &known->v;

    known->used++;
    p->life = known;
    s->nic[s->port[s->tx[flow].port].owner].active++;
    p->has_delivered = v->delivered_ps < 0;
    p->wake = p->now + p->offset + (p->has_delivered ? v->moved.global_ps : v->delivered_ps);
    p->episode_state = EPISODE_LIVES;
}

/* With the exact lens whoever is observed may take episodes from the memo. */
static int begin_exact(struct part *p, uint32_t flow, const struct life_key *k, uint64_t hash)
{
    struct life *known = find(p->s, k, hash);

    if (!known)
        observe(p, flow, k, hash, 0);
    if (!known || !is_worth_it(known))
        return 0;
    take(p, flow, known);
    return 1;
}

/* The table and its file have the kinds of ports where a row has their numbers in this run; and the
 * share of audits, for what those have found of skips inside is in the value. */
static uint64_t stored_key(const struct part *p, uint32_t flow, const struct life_key *k)
{
    static const uint32_t tag[] = {0, UINT32_C(0x6c696665)}; /* no graph has 0 vertices */
    struct bytes *key = &p->s->memo_key;
    struct life_key plain = *k;

    for (uint32_t i = 0; i < k->hops; i++)
        plain.port[i].kind = 0;
    key->count = 0;
    bytes_put(key, tag, sizeof tag);
    bytes_put(key, &plain, sizeof plain);
    bytes_put(key, &p->s->audit_share, sizeof p->s->audit_share);
    for (uint32_t i = 0; i < k->hops; i++)
        lens_put_port(p, port_at(p, flow, i), key);
    return p->s->memo.hash(key->at, key->count);
}

/* Has an earlier run, or another one, kept it? */
static void recall(struct part *p, uint32_t flow, struct life *l)
{
    const uint64_t hash = stored_key(p, flow, &l->key);
    const struct memo_value known = episode__find(p->s, hash, &p->s->memo_key);
    const struct life_value *v = known.bytes;

    if (!known.entry)
        return;
    know(l, v, v + 1, known.count - sizeof *v);
}

/*
 * With the fcg lens a stage from the memo is not exact, and a life that is disturbed, and is then
 * executed up to there, could turn out to be over already. So whoever is observed looks nothing up
 * (life_must_execute): one at a time, and only if there have been so many such flows that it has
 * cost as much to look them up. What is known is exact then, under this lens too.
 */
#define LOOK_HOPS 32 /* packets over links, executed in the time of looking a flow up */

static int is_worth_executing(const struct part *p, const struct life *l)
{
    const int64_t packets = l->key.bytes / p->s->cfg.payload_bytes + 1;

    return l->used > packets * l->key.hops / LOOK_HOPS && is_worth_it(l);
}

static int begin_fcg(struct part *p, uint32_t flow, const struct life_key *k, uint64_t hash)
{
    struct life *l = note_seen(p->s, k, hash);

    if (!l)
        return 0;
    if (!l->is_known && !l->used)
        recall(p, flow, l);
    if (l->is_known && is_worth_it(l)) {
        if (!audit_draws_life(p, flow)) {
            take(p, flow, l);
            return 1;
        }
        observe(p, flow, k, hash, 1);
    } else if (!l->is_known && l->used++ && !l->is_under_way && is_worth_executing(p, l)) {
        observe(p, flow, k, hash, 0);
        l->is_under_way = p->is_observed;
    }
    return 0;
}

static int is_checked(const struct part *p)
{
    return p->is_observed && p->observed->is_check;
}

/* An episode that was known: up to the delivery, or from there on. */
static void count_hit(struct sim *s)
{
    s->memo_lookups++;
    s->memo_hits++;
}

int life_begin(struct part *p, uint32_t flow)
{
    struct sim *s = p->s;
    struct life_key k;
    int is_taken;

    if (!can_be_known(p, flow))
        return 0;
    k = key_of(p, flow);
    is_taken = s->memo.lens == MEMO_FCG ? begin_fcg(p, flow, &k, hash_of(&k))
                                        : begin_exact(p, flow, &k, hash_of(&k));
    if (is_taken || is_checked(p))
        count_hit(s);
    return is_taken;
}

int life_must_execute(const struct part *p)
{
    return p->is_observed && p->s->memo.lens == MEMO_FCG;
}

/* ---- disturbance ---- */

/* Somebody else may be observed. */
static void let_others(struct part *p, int has_failed)
{
    struct life *l =
        p->observed->is_check ? NULL : find(p->s, &p->observed->key, p->observed->hash);

    if (!l)
        return;
    l->is_under_way = 0;
    l->disturbed += (uint32_t)has_failed;
}

/* The largest queues of the ports before it began are put back. */
static void stop_observing(struct part *p, uint32_t flow)
{
    p->is_observed = 0;
    let_others(p, 1);
    for (uint32_t i = 0; i < p->observed->key.hops; i++)
        episode__raise_q_max(&p->port[port_at(p, flow, i)], p->observed->v.port[i].q_max);
}

/* Executes up to @global_ps; what is noted on the way has been taken long ago. */
static void run_to(struct part *p, int64_t global_ps)
{
    p->limit = global_ps - p->offset;
    p->stops_idle = 0;
    round_task(p, NULL);
    p->note_count = 0;
    p->executed = p->now = global_ps - p->offset;
}

/* The flow starts after all. */
static void be_born(struct part *p, int64_t global_ps)
{
    const int64_t start_ps = p->now + p->offset;
    const uint32_t flow = p->flow[0];
    const uint32_t nic = p->s->port[p->tx[flow].port].owner;

    p->s->nic[nic].active--;
    check(!nic_add_flow(p, nic, flow), "out of memory for flow %u", flow);
    sender_start(p, flow);
    p->is_fresh = 1;
    if (p->has_delivered && p->life->v.delivered_ps >= 0) {
        run_to(p, start_ps + p->life->v.delivered_ps);
        freeze_end_episode(p);
        p->is_fresh = 1;
    }
    if (global_ps > p->now + p->offset)
        run_to(p, global_ps);
}

void life_disturb(struct part *p, int64_t global_ps)
{
    if (p->is_observed)
        stop_observing(p, p->flow[0]);
    if (p->episode_state != EPISODE_LIVES)
        return;
    p->episode_state = EPISODE_PLAIN;
    p->life->disturbed++;
    be_born(p, global_ps);
    p->s->memo_disturbed++;
}

/* ---- deliveries and completions ---- */

int life_note_delivered(struct part *p, const struct part_note *n)
{
    if (p->episode_state == EPISODE_LIVES || is_checked(p))
        count_hit(p->s);
    if (p->episode_state == EPISODE_LIVES)
        return 1;
    if (!p->is_observed)
        return 0;
    p->is_observed = 0; /* its own delivery is part of it */
    part_at_control(p);
    p->is_observed = 1;
    p->observed->v.delivered_ps = n->time - p->observed->v.moved.global_ps;
    return 1;
}

/* What a flow alone does not have, and what may be another time otherwise. */
static int is_unlike(const struct part *p, const struct life *l)
{
    const struct moved *m = &l->v.moved;

    return m->nack_packets || m->marks || m->timeouts || m->retx_packets || p->draws != l->draws;
}

/* What has come of the observed one, and the ports as before. */
static void measure(struct part *p, uint32_t flow)
{
    struct life *l = p->observed;
    const struct flow_tx *t = &p->tx[flow];
    const struct moved was = l->v.moved;
    struct moved now;

    freeze_end_stretch(p, 1); /* audits are part of the value */
    now = episode__counters(p);
    l->v.moved = episode__since(&now, &was);
    l->v.flow = (struct moved_flow){t->base, t->cnps};
    for (uint32_t i = 0; i < l->key.hops; i++) {
        struct port *pt = &p->port[port_at(p, flow, i)];
        const struct moved_port before = l->v.port[i];

        l->v.port[i] = episode__port_since(pt, &before);
        episode__raise_q_max(pt, before.q_max);
    }
}

/* ... is known from now on. */
static void tell(struct part *p, uint32_t flow)
{
    struct sim *s = p->s;
    const struct life *l = p->observed;
    struct bytes *value = &s->memo_value;
    struct life *row;

    value->count = 0;
    bytes_put(value, &l->v, sizeof l->v);
    audit_save_rows(p, audit_row_count(p) - l->v.moved.audit_rows, value);
    row = note_seen(s, &l->key, l->hash); /* without memory, it is executed again next time */
    if (row && !row->is_known)
        know(row, &l->v, (const uint8_t *)value->at + sizeof l->v, value->count - sizeof l->v);
    if (s->memo.lens == MEMO_FCG)
        episode__keep(s, stored_key(p, flow, &l->key), &s->memo_key);
}

/* What audits have found, and sums of floats, may be another time otherwise. */
static void forget_own(struct life_value *v)
{
    v->moved.audited = (struct audit_sums){.skips = 0};
    v->moved.audit_rows = 0;
    v->moved.skipped_flow_s = 0;
}

/* ... has been executed for an audit: as if what is known had been taken. */
static void compare(struct part *p)
{
    const struct life *known = find(p->s, &p->observed->key, p->observed->hash);
    struct life_value a = p->observed->v, b = known->v;
    const uint64_t events = p->events - p->observed->events;

    p->packet_hops -= a.moved.packet_hops;
    p->replayed_hops += a.moved.packet_hops;
    p->events -= events;
    p->mark -= events;
    p->audited.events += events;
    forget_own(&a);
    forget_own(&b);
    p->s->audit_hits++;
    p->s->audit_hits_wrong += memcmp(&a, &b, sizeof a) != 0;
}

void life_note_completed(struct part *p, const struct part_note *n)
{
    int is_good;

    if (!p->is_observed)
        return;
    p->is_observed = 0;
    measure(p, n->flow);
    is_good = !is_unlike(p, p->observed) && p->now + p->offset == n->time;
    let_others(p, !is_good);
    if (p->observed->is_check)
        compare(p);
    else if (is_good)
        tell(p, n->flow);
}

/* The flow and its partition are what they would be at the completion. */
static void end(struct part *p, uint32_t flow)
{
    const struct life *l = p->life;
    const struct moved *m = &l->v.moved;
    struct flow_tx *t = &p->tx[flow];
    struct flow_rx *r = &p->rx[flow];

    p->episode_state = EPISODE_PLAIN;
    p->is_fresh = 0;
    episode__move_counters(p, m);
    audit_take_rows(p, l->rows.at, m->audit_rows);
    for (uint32_t i = 0; i < l->key.hops; i++)
        episode__add_port(&p->port[port_at(p, flow, i)], &l->v.port[i]);
    t->base = l->v.flow.base;
    t->size -= l->v.flow.base;
    t->snd_nxt = t->snd_una = t->snd_max = t->size;
    t->cnps = l->v.flow.cnps;
    t->active = 0;
    r->size = r->expected = t->size;
    r->delivered = 1;
    p->now += m->local_ps;
    p->offset += m->global_ps - m->local_ps;
    p->executed = p->now;
    p->running--;
}

void life_step(struct part *p)
{
    const struct part_note n = {p->wake, p->flow[0],
                                p->has_delivered ? NOTE_COMPLETED : NOTE_DELIVERED};

    if (p->has_delivered)
        end(p, n.flow);
    else
        p->wake += p->life->v.moved.global_ps - p->life->v.delivered_ps;
    p->has_delivered = 1;
    part_put_note(p, &n);
}

void life_fini_part(struct part *p)
{
    free(p->observed);
}

void life_fini(struct sim *s)
{
    for (uint32_t i = 0; i < s->life_cap; i++) {
        if (s->life[i])
            bytes_fini(&s->life[i]->rows);
        free(s->life[i]);
    }
    free(s->life);
}
