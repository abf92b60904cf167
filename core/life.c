/*
 * life.c - see life.h.
 */
#include "life.h"

#include "episode_int.h"
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

struct life {
    struct life_key key;
    uint64_t hash;
    int64_t delivered_ps; /* after the start; -1 where nobody asks */
    struct moved moved;   /* from the start to the completion */
    uint64_t draws;
    struct moved_flow flow;
    struct moved_port port[LIFE_PORTS_MAX];
    uint32_t used, disturbed; /* how often */
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

/* Without memory for it, it is executed again next time. */
static void keep(struct sim *s, const struct life *l)
{
    struct life **slot, *copy;

    if (s->life_count == LIVES_MAX || (2 * s->life_count >= s->life_cap && !grow(s)))
        return;
    slot = slot_of(s, &l->key, l->hash);
    copy = *slot ? NULL : malloc(sizeof *copy);
    if (!copy)
        return;
    *copy = *l;
    *slot = copy;
    s->life_count++;
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
 * executed in the end. */
static int is_worth_it(const struct life *l)
{
    return l->disturbed * 16 <= l->used + 16;
}

/* ---- the beginning ---- */

static uint32_t port_at(const struct part *p, uint32_t flow, uint32_t i)
{
    return p->path[p->tx[flow].path + i];
}

/* Alone on ports that were idle, and nothing can happen to it by chance. Audits want
 * episodes; and what the fcg lens replays is not exact, so a life that is disturbed could turn out
 * to be over already. */
static int can_be_known(const struct part *p, uint32_t flow)
{
    const struct sim *s = p->s;
    const struct flow_tx *t = &s->tx[flow];

    return s->memo.lookup && s->memo.lens == MEMO_EXACT && s->audit_share <= 0 &&
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
static void observe(struct part *p, uint32_t flow, const struct life_key *k, uint64_t hash)
{
    struct life *l = p->observed ? p->observed : malloc(sizeof *l);

    if (!l)
        return;
    p->observed = l;
    *l = (struct life){.key = *k, .hash = hash, .delivered_ps = -1, .draws = p->draws};
    l->moved = episode__counters(p);
    for (uint32_t i = 0; i < k->hops; i++) {
        struct port *pt = &p->port[port_at(p, flow, i)];

        l->port[i] = episode__port_counters(pt);
        pt->q_max = 0; /* of this life; put back when it is over */
    }
    p->is_observed = 1;
}

int life_begin(struct part *p, uint32_t flow)
{
    struct sim *s = p->s;
    struct life_key k;
    struct life *known;
    uint64_t hash;

    if (!can_be_known(p, flow))
        return 0;
    k = key_of(p, flow);
    hash = hash_of(&k);
    known = s->life_cap ? *slot_of(s, &k, hash) : NULL;
    if (!known)
        observe(p, flow, &k, hash);
    if (!known || !is_worth_it(known))
        return 0;
    known->used++;
    p->life = known;
    s->nic[s->port[s->tx[flow].port].owner].active++;
    p->has_delivered = known->delivered_ps < 0;
    p->wake =
        p->now + p->offset + (p->has_delivered ? known->moved.global_ps : known->delivered_ps);
    p->episode_state = EPISODE_LIVES;
    s->memo_lookups++;
    s->memo_hits++;
    return 1;
}

/* ---- disturbance ---- */

/* The largest queues of the ports before it began are put back. */
static void stop_observing(struct part *p, uint32_t flow)
{
    p->is_observed = 0;
    for (uint32_t i = 0; i < p->observed->key.hops; i++)
        episode__raise_q_max(&p->port[port_at(p, flow, i)], p->observed->port[i].q_max);
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
    if (p->has_delivered && p->life->delivered_ps >= 0) {
        run_to(p, start_ps + p->life->delivered_ps);
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
    if (p->episode_state == EPISODE_LIVES)
        return 1;
    if (!p->is_observed)
        return 0;
    p->is_observed = 0; /* its own delivery is part of it */
    part_at_control(p);
    p->is_observed = 1;
    p->observed->delivered_ps = n->time - p->observed->moved.global_ps;
    return 1;
}

/* What a flow alone does not have, and what may be another time otherwise. */
static int is_unlike(const struct part *p, const struct life *l)
{
    const struct moved *m = &l->moved;

    return m->nack_packets || m->marks || m->timeouts || m->retx_packets || p->draws != l->draws;
}

void life_note_completed(struct part *p, const struct part_note *n)
{
    struct life *l = p->observed;
    const struct flow_tx *t = &p->tx[n->flow];
    const struct moved now = episode__counters(p);

    if (!p->is_observed)
        return;
    p->is_observed = 0;
    l->moved = episode__since(&now, &l->moved);
    l->flow = (struct moved_flow){t->base, t->cnps};
    for (uint32_t i = 0; i < l->key.hops; i++) {
        struct port *pt = &p->port[port_at(p, n->flow, i)];
        const struct moved_port was = l->port[i];

        l->port[i] = episode__port_since(pt, &was);
        episode__raise_q_max(pt, was.q_max);
    }
    if (!is_unlike(p, l) && p->now + p->offset == n->time)
        keep(p->s, l);
}

/* The flow and its partition are what they would be at the completion. */
static void end(struct part *p, uint32_t flow)
{
    const struct life *l = p->life;
    struct flow_tx *t = &p->tx[flow];
    struct flow_rx *r = &p->rx[flow];

    p->episode_state = EPISODE_PLAIN;
    p->is_fresh = 0;
    episode__move_counters(p, &l->moved);
    for (uint32_t i = 0; i < l->key.hops; i++)
        episode__add_port(&p->port[port_at(p, flow, i)], &l->port[i]);
    t->base = l->flow.base;
    t->size -= l->flow.base;
    t->snd_nxt = t->snd_una = t->snd_max = t->size;
    t->cnps = l->flow.cnps;
    t->active = 0;
    r->size = r->expected = t->size;
    r->delivered = 1;
    p->now += l->moved.local_ps;
    p->offset += l->moved.global_ps - l->moved.local_ps;
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
        p->wake += p->life->moved.global_ps - p->life->delivered_ps;
    p->has_delivered = 1;
    part_put_note(p, &n);
}

void life_fini_part(struct part *p)
{
    free(p->observed);
}

void life_fini(struct sim *s)
{
    for (uint32_t i = 0; i < s->life_cap; i++)
        free(s->life[i]);
    free(s->life);
}
