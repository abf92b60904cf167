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
 * Looking up, and taking what is known, is done by all workers (look.h); what depends on other
 * partitions is decided in the order of the list of partitions, by the coordinator: the same for
 * any number of threads.
 */
#include "life.h"
#include "look.h"
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

static enum stage_kind next_kind(const struct part *p, enum stage_end end)
{
    return end == STAGE_VERDICT ? STAGE_THAW : (enum stage_kind)p->stage->look.kind;
}

static uint32_t next_step(const struct part *p, enum stage_end end)
{
    return end == STAGE_VERDICT ? 0 : p->stage->look.step + 1u;
}

/* What follows on a stage. */
static void look_on(struct part *p, enum stage_end end)
{
    if (end != STAGE_NOTES)
        stage__look(p, next_kind(p, end), next_step(p, end));
}

static void prepare_begin(struct look *l)
{
    stage__prepare(l->p, STAGE_FRESH, 0);
    l->found = stage__found(l->p);
}

static void commit_begin(struct look *l)
{
    stage__commit(l->p);
}

void stage_begin(struct part *p)
{
    static const struct look_work work = {prepare_begin, commit_begin, 0};

    if (stage__is_declined(p, 0)) {
        stage_forget_origin(p);
        p->s->memo_declined++;
        return;
    }
    shard_gather(p);
    look_add(p->s, &work, p, look_weight(p));
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

/* The base of an end moves with the beginning, by whole ns where there is INT: a shorter stage
 * could end before it begins. Where flows end together but for some ps, all of them are that short.
 */
static int64_t least_stage_ps(const struct part *p)
{
    return p->int_rec ? STAGE_PS_MIN : 1;
}

/* All notes are of the last instant, or it is no stage that others could take. */
int stage__is_whole(const struct part *p)
{
    const int64_t least = least_stage_ps(p);

    if (p->stage->awaits_thaw || p->now - p->stage->base < least ||
        p->now - p->stage->at.local_ps < least)
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
        v = episode__insert(s, k->hash, &k->key);
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

/* The partition takes the state at the end of the stage. Returns how that ended. */
static enum stage_end take_end(struct part *p, int64_t reached)
{
    struct stage *g = p->stage;
    const struct stage_value *v = p->known.bytes;
    const int goes_on = g->look.kind == STAGE_THAW || g->look.step > 0;
    const enum stage_end end = (enum stage_end)v->end;
    struct snapshot_map m;

    if (p->frozen_ps)
        freeze_thaw(p);
    stage__audit(p, &p->known, g->sizes, g->look.key[g->slot[g->sizes]].hash);
    stage__map_by(p, g->sizes, &m);
    stage__take(p, &m, v);
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
    stage__audit_end(p);
    set_executed(p, reached);
    return end;
}

static int is_over(const struct part *p, int64_t reached)
{
    return p->episode_state == EPISODE_REPLAYS && p->wake <= reached;
}

static const void *origin_of(const struct part *p)
{
    return p->stage->origin.known.entry;
}

/* ... and looks on, again and again as long as what it finds is over too. Its worker. What is found
 * and taken at once need not be held. */
static void prepare_end(struct look *l)
{
    struct part *p = l->p;
    const int64_t reached = l->work->horizon;

    l->done = p->known.entry;
    l->origin = origin_of(p);
    for (;;) {
        const enum stage_end end = take_end(p, reached);

        l->found = origin_of(p);
        if (end == STAGE_NOTES)
            return;
        if (episode__is_small(p))
            l->is_declined = (uint8_t)stage__is_declined(p, next_step(p, end));
        if (l->is_declined)
            return;
        stage__prepare(p, next_kind(p, end), next_step(p, end));
        if (!is_over(p, reached) || !episode__is_small(p))
            break;
        l->hits[p->stage->look.kind]++;
    }
    l->has_look = 1;
    l->found = stage__found(p);
}

static void count_hits(struct sim *s, const struct look *l)
{
    for (uint32_t k = 0; k < STAGE_KINDS; k++) {
        s->memo_lookups += l->hits[k];
        s->memo_hits += l->hits[k];
        s->memo_kind[k].lookups += l->hits[k];
        s->memo_kind[k].hits += l->hits[k];
    }
    s->memo_declined += l->is_declined;
}

static void commit_end(struct look *l)
{
    struct part *p = l->p;
    const int64_t reached = l->work->horizon;

    count_hits(p->s, l);
    if (l->has_look)
        stage__commit(p);
    while (is_over(p, reached)) {
        const void *held = p->known.entry, *origin = origin_of(p);
        const enum stage_end end = take_end(p, reached);

        if (origin_of(p))
            p->s->memo.hold(origin_of(p));
        if (origin)
            p->s->memo.release(p->s->memo.ctx, origin);
        p->s->memo.release(p->s->memo.ctx, held);
        look_on(p, end);
    }
}

/* Partitions of many flows may be told not to look, which the coordinator has to know first. */
static void add_end(struct part *p, const struct look_work *work)
{
    const enum stage_end end = (enum stage_end)((const struct stage_value *)p->known.bytes)->end;
    struct look *l = look_add(p->s, work, p, look_taking_weight(p) + look_weight(p));

    if (end != STAGE_NOTES && !episode__is_small(p))
        l->is_declined = (uint8_t)stage__is_declined(p, next_step(p, end));
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
    const struct look_work ends = {prepare_end, commit_end, horizon};
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
        if (p->episode_state == EPISODE_LIVES && p->wake <= horizon)
            life_step(p);
        if (is_over(p, horizon))
            add_end(p, &ends);
    }
    look_run(s);
    for (uint32_t i = 0; i < s->awake_count; i++)
        all_there &= !is_behind(s->parts[s->awake[i]], horizon);
    s->memo.on_barrier(s->memo.ctx);
    return all_there;
}

void stage_fini(struct part *p)
{
    if (!p->stage)
        return;
    if (origin_of(p))
        p->s->memo.release(p->s->memo.ctx, origin_of(p));
    lens_fini(&p->stage->look);
    free(p->stage->origin.flow);
    free(p->stage->origin.port);
    free(p->stage->flow_at);
    free(p->stage->port_at);
    free(p->stage);
}
