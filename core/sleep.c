/*
 * sleep.c - which partitions a round has to look at.
 *
 * A partition that is frozen, or that waits for the end of an episode that is known, does nothing
 * until an instant that is known too: it sleeps, in an agenda by that instant, and no loop of a
 * round passes over it. One that follows another has no instant of its own, unless it is only like
 * that one: whoever it follows wakes it. All others are awake. So a round costs what it changes,
 * however many partitions there are.
 *
 * A partition falls asleep when the horizon is looked for, and wakes when its instant is reached or
 * a control event touches it. Threading: the coordinator.
 */
#include "sim_int.h"
#include "units.h"

#include <stdlib.h>

/* ---- the agenda: a key of somebody who was woken before stays, and is not wanted any more ---- */

static int is_asleep(const void *sim, const struct agenda_key *key)
{
    const struct sim *s = sim;

    return s->sleep_stamp[key->row] == key->order;
}

/* Those that are often woken early would fill it. */
static void forget_woken(struct sim *s)
{
    if (s->sleepers.count > 2 * s->sleeper_count + 1024)
        agenda_filter(&s->sleepers, is_asleep, s);
}

static void put(struct sim *s, const struct part *p, int64_t due)
{
    const struct agenda_key key = {due, ++s->sleep_stamps, p->id};

    forget_woken(s);
    check(!agenda_put(&s->sleepers, &key), "out of memory for %u sleepers", s->sleeper_count);
    s->sleep_stamp[p->id] = key.order;
    s->sleeper_count++;
}

static void take(struct sim *s, const struct part *p)
{
    s->sleep_stamp[p->id] = 0;
    s->sleeper_count--;
}

static const struct agenda_key *first_of(struct sim *s)
{
    const struct agenda_key *first;

    while ((first = agenda_first(&s->sleepers)) && !is_asleep(s, first))
        agenda_take(&s->sleepers);
    return first;
}

/* ---- falling asleep ---- */

int sleep_until(const struct part *p, int64_t *due)
{
    if (p->note_count)
        return 0;
    if (episode_waits(p))
        *due = episode_due(p);
    else if (p->frozen_ps)
        *due = p->frozen_at + p->frozen_ps + p->offset;
    else
        return 0;
    return 1;
}

static void leave_awake(struct sim *s, struct part *p)
{
    const uint32_t last = s->awake[--s->awake_count];

    s->awake[p->awake_index] = last;
    s->parts[last]->awake_index = p->awake_index;
    p->awake_index = ROW_NONE;
}

/* All keep their order, so that what they note at one instant is in order too. */
void sleep_all(struct sim *s)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < s->awake_count; i++) {
        struct part *p = s->parts[s->awake[i]];
        int64_t due;

        if (!sleep_until(p, &due)) {
            p->awake_index = kept;
            s->awake[kept++] = p->id;
            continue;
        }
        p->awake_index = ROW_NONE;
        if (due != TIME_NEVER)
            put(s, p, due);
    }
    s->awake_count = kept;
}

/* ---- waking up ---- */

void part_wake(struct part *p)
{
    struct sim *s = p->s;

    if (p->awake_index != ROW_NONE)
        return;
    if (s->sleep_stamp[p->id])
        take(s, p);
    p->awake_index = s->awake_count;
    s->awake[s->awake_count++] = p->id;
    p->stops_idle = s->stops_idle;
    /* what it skips has been reached as far as everything has */
    if (!episode_waits(p) && p->frozen_ps && p->frozen_at + p->frozen_ps + p->offset > s->reached)
        p->executed = s->reached - p->offset;
}

void sleep_wake_due(struct sim *s, int64_t horizon)
{
    const struct agenda_key *first;

    while ((first = first_of(s)) && first->time <= horizon)
        part_wake(s->parts[first->row]);
}

void sleep_end(struct part *p)
{
    struct sim *s = p->s;

    if (p->awake_index != ROW_NONE)
        leave_awake(s, p);
    if (s->sleep_stamp[p->id])
        take(s, p);
}

int64_t sleep_first(struct sim *s)
{
    const struct agenda_key *first = first_of(s);

    return first ? first->time : TIME_NEVER;
}

/* ---- room ---- */

int sleep_grow(struct sim *s, uint32_t cap)
{
    return rows_grow(&s->awake, sizeof *s->awake, cap) ||
           rows_grow(&s->sleep_stamp, sizeof *s->sleep_stamp, cap);
}

void sleep_fini(struct sim *s)
{
    agenda_fini(&s->sleepers);
    free(s->awake);
    free(s->sleep_stamp);
}
