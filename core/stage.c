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
#include "stage_int.h"

#include <stdlib.h>
#include <string.h>

/* Where a flow may end, its size decides who can follow. */
uint64_t stage_leader_key(const struct part *p, const struct bytes **key)
{
    const struct stage *g = p->stage;
    const enum lens_sizes sizes = stage__has_short(&g->look) ? LENS_EXACT : LENS_LONG;
    const struct lens_key *k = &g->look.key[g->slot[sizes]];

    *key = &k->key;
    return k->hash;
}

/* ---- leading ---- */

void stage_on_thaw(struct part *p)
{
    if (p->s->memo.lens == MEMO_FCG && p->episode_state == EPISODE_LEADS && p->stage->awaits_thaw)
        stage__remember(p);
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
void stage__lead(struct part *p, int is_listed)
{
    struct stage *g = p->stage;

    p->episode_state = EPISODE_LEADS;
    p->stage_over = 0;
    g->begin_global = episode__begin_of(p);
    g->span_ps = lens_span_ps(p);
    g->is_listed = (uint8_t)is_listed;
    g->awaits_thaw = p->frozen_ps > 0;
    if (!g->awaits_thaw)
        stage__remember(p);
    if (is_listed)
        episode__add_leader(p->s, p);
}

/* ---- what follows ---- */

/* What follows on a stage. */
static void look_on(struct part *p, enum stage_end end)
{
    const struct lens *l = &p->stage->look;

    if (end == STAGE_VERDICT)
        stage__look(p, STAGE_THAW, 0);
    else if (end == STAGE_SPAN)
        stage__look(p, (enum stage_kind)l->kind, l->step + 1u);
}

void stage_begin(struct part *p)
{
    stage__look(p, STAGE_FRESH, 0);
}

/* ---- the end of a leader ---- */

static enum lens_sizes choose_sizes(const struct part *p)
{
    const struct stage *g = p->stage;
    enum lens_sizes sizes = LENS_LONG;

    while (sizes < LENS_EXACT && (g->is_known[g->slot[sizes]] || !stage__can_be_known_by(p, sizes)))
        sizes++;
    return sizes;
}

/* All notes are of the last instant, or it is no stage that others could take. */
int stage__is_whole(const struct part *p)
{
    if (p->stage->awaits_thaw || p->now - p->stage->base < STAGE_PS_MIN ||
        p->now - p->stage->at.local_ps < STAGE_PS_MIN)
        return 0;
    return episode__ends_at_notes(p) && (p->note_count || p->stage_over);
}

/* Its own stage from its own beginning. */
static void go_alone(struct part *p, int is_listed)
{
    stage__lead(p, is_listed);
    p->executed = p->frozen_ps ? p->frozen_at : p->now;
    p->bound = INT64_MIN;
}

static void follow_up(struct part *leader, const struct memo_value *v, enum lens_sizes sizes)
{
    while (leader->follower_first) {
        struct part *p = leader->s->parts[leader->follower_first];

        episode__unfollow(p);
        if (stage__accept(p, v, sizes))
            p->s->memo.hold(v->entry);
        else
            go_alone(p, 0);
    }
}

/* The leader has nothing for its followers: the first of them takes its place. */
static void disband(struct part *leader)
{
    struct part *first = episode__first_follower(leader);

    if (!first)
        return;
    episode__unfollow(first);
    go_alone(first, 1);
    while (leader->follower_first) {
        struct part *p = leader->s->parts[leader->follower_first];

        episode__unfollow(p);
        p->stage->is_twin = (uint8_t)stage__is_twin(p, first);
        episode__follow(p, first);
    }
}

void stage__end_lead(struct part *p, int whole)
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
        stage__save_value(p, sizes, &s->memo_value);
        v = s->memo.insert(s->memo.ctx, k->hash, k->key.at, k->key.count, s->memo_value.at,
                           s->memo_value.count);
    }
    stage__restore_q_max(p);
    if (was_listed && v.entry)
        follow_up(p, &v, sizes);
    else if (was_listed)
        disband(p);
    if (v.entry)
        s->memo.release(s->memo.ctx, v.entry);
}

/* ---- taking what is known ---- */

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
    stage__map_by(p, g->sizes, &m);
    stage__adopt_state(p, &m, v);
    dcheck(p->now + p->offset == p->wake, "partition %u: a stage ends at %lld, not %lld", p->id,
           (long long)(p->now + p->offset), (long long)p->wake);
    p->episode_state = EPISODE_PLAIN;
    for (uint32_t i = 0; i < v->note_count; i++)
        part_note(p, m.flow[stage__notes_of(v)[i].rank],
                  (enum note_kind)stage__notes_of(v)[i].what);
    if (end != STAGE_NOTES)
        freeze_adopt(p, &m, stage__watch_of(v), v->watch_bytes, goes_on, end == STAGE_VERDICT);
    p->is_fresh = 0;
    snapshot_unmap(p, &m);
    p->s->memo.release(p->s->memo.ctx, p->known.entry);
    set_executed(p, reached);
    look_on(p, end);
}

/* ---- between rounds ---- */

/* A twin began no earlier than its leader; one that is only alike goes alone before it can end. */
int64_t stage_due(const struct part *p)
{
    return p->stage->is_twin ? TIME_NEVER : p->stage->bound;
}

static void end_stage(struct part *p, int64_t reached)
{
    const enum stage_end end = p->note_count ? STAGE_NOTES : (enum stage_end)p->stage_over;

    stage__end_lead(p, stage__is_whole(p));
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

    for (uint32_t i = 0; i < s->awake_count; i++) {
        struct part *p = s->parts[s->awake[i]];

        if (p->episode_state == EPISODE_LEADS && (p->note_count || p->stage_over))
            end_stage(p, horizon);
    }
    for (uint32_t i = 0; i < s->awake_count; i++) {
        struct part *p = s->parts[s->awake[i]];

        if (p->episode_state == EPISODE_FOLLOWS && stage_due(p) <= horizon) {
            episode__unfollow(p);
            go_alone(p, 0);
        }
        while (p->episode_state == EPISODE_REPLAYS && p->wake <= horizon)
            adopt(p, horizon);
        all_there &= !is_behind(p, horizon);
    }
    s->memo.on_barrier(s->memo.ctx);
    return all_there;
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
