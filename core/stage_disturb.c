/*
 * stage_disturb.c - a control event touches a partition before its stage is over.
 */
#include "stage_int.h"

#include <stdlib.h>
#include <string.h>

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
 * that the next time only the last part of a step is executed. That goes on from the very state of
 * the entry, and groups that do alike are disturbed after the same time: once a beginning has been
 * taken, what followed on it up to a disturbance is kept as well.
 */
struct beginning {
    uint32_t tag, steps;
    int64_t rest_ps; /* beyond the steps */
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

        if (left < 2 * flight + sent + 2 * stage__margin_bytes(p))
            return 0;
    }
    return 1;
}

static uint64_t beginning_key(struct part *p, enum lens_sizes sizes, uint32_t steps,
                              int64_t rest_ps)
{
    const struct stage *g = p->stage;
    const struct lens_key *k = &g->look.key[g->slot[sizes]];
    const struct beginning b = {BEGINNING_TAG, steps, rest_ps};
    struct bytes *key = &p->s->memo_key;

    key->count = 0;
    bytes_put(key, k->key.at, k->key.count);
    bytes_put(key, &b, sizeof b);
    return p->s->memo.hash(key->at, key->count);
}

static int take_beginning(struct part *p, enum lens_sizes sizes, uint64_t hash)
{
    struct sim *s = p->s;
    const struct memo_value known = episode__find(s, hash, &s->memo_key);
    const struct stage_value *v = known.bytes;
    const int is_good = known.entry && stage__is_long_enough(p, v, sizes);
    struct snapshot_map m;

    if (is_good) {
        stage__audit(p, &known, sizes, hash);
        stage__map_by(p, sizes, &m);
        stage__adopt_state(p, &m, v);
        snapshot_unmap(p, &m);
        stage__audit_end(p);
        freeze_end_watch(p);
    }
    return is_good;
}

static void make_beginning(struct part *p, enum lens_sizes sizes, uint64_t hash, int64_t until_ps,
                           int64_t global_ps)
{
    struct sim *s = p->s;

    stage__remember(p);
    if (catch_up(p, until_ps, global_ps) && stage__can_be_known_by(p, sizes)) {
        p->now = until_ps - p->offset;
        stage__save_value(p, sizes, &s->memo_value);
        episode__keep(s, hash, &s->memo_key);
    }
    stage__restore_q_max(p);
}

/* The partition has taken a beginning of @steps. */
static void go_on_as_known(struct part *p, enum lens_sizes sizes, uint32_t steps, int64_t global_ps)
{
    struct lens *l = &p->stage->look;
    const int64_t rest_ps = global_ps - p->offset - p->now;
    uint64_t hash;

    if (rest_ps <= 0)
        return;
    for (uint32_t i = 0; i < l->flow_count; i++)
        l->flow[i].left_bytes = p->tx[l->flow[i].id].size - p->tx[l->flow[i].id].snd_una;
    hash = beginning_key(p, sizes, steps, rest_ps);
    if (!take_beginning(p, sizes, hash))
        make_beginning(p, sizes, hash, global_ps, global_ps);
}

/* The partition waited; the stage is disturbed at @global_ps. */
static void begin_as_known(struct part *p, int64_t global_ps)
{
    const int64_t step = step_of(p), begin_ps = episode__begin_of(p);
    const int64_t steps = (global_ps - begin_ps) / step;
    enum lens_sizes sizes = LENS_LONG;
    uint64_t hash;

    if (steps >= 1 && !outlasts(p, steps * step))
        sizes = LENS_EXACT;
    while (p->stage->made_count <= sizes)
        check(stage__make_next(p), "partition %u has lost its key", p->id);
    if (p->frozen_ps)
        freeze_thaw(p);
    if (steps < 1 || steps > UINT32_MAX)
        return;
    hash = beginning_key(p, sizes, (uint32_t)steps, 0);
    if (take_beginning(p, sizes, hash))
        go_on_as_known(p, sizes, (uint32_t)steps, global_ps);
    else
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
        stage__end_lead(p, stage__is_whole(p));
    } else {
        stage__end_lead(p, 0);
    }
}

void stage_disturb(struct part *p, int64_t global_ps)
{
    const int waited = episode_waits(p);
    const int never_began = (waited || p->episode_state == EPISODE_LEADS) &&
                            episode__begin_of(p) + STAGE_PS_MIN > global_ps;
    int must_execute;

    if (never_began) /* several control events at one instant; or the skip before it is cut short */
        stage__count_look(p, p->stage->outcome, p->stage->outcome_by_kind, UINT64_MAX);
    if (p->episode_state == EPISODE_LEADS)
        cut_lead(p, global_ps);
    if (p->episode_state == EPISODE_REPLAYS)
        p->s->memo.release(p->s->memo.ctx, p->known.entry);
    if (p->episode_state == EPISODE_FOLLOWS)
        episode__unfollow(p);
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
