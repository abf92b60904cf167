/*
 * sleep.c - which partitions a round has to look at.
 *
 * A partition that is frozen, or that waits for the end of an episode that is known, does nothing
 * until an instant that is known too: it sleeps, in a heap by that instant, and no loop of a round
 * passes over it. One that follows another has no instant of its own, unless it is only like that
 * one: whoever it follows wakes it. All others are awake. So a round costs what it changes, however
 * many partitions there are.
 *
 * A partition falls asleep when the horizon is looked for, and wakes when its instant is reached or
 * a control event touches it. Threading: the coordinator.
 */
#include "sim_int.h"
#include "units.h"

#include <stdlib.h>

/* ---- the heap ---- */

static void put(struct sim *s, uint32_t i, struct sleeper e)
{
    s->sleeper[i] = e;
    s->sleep_row[e.part] = i;
}

static void sift_up(struct sim *s, uint32_t i, struct sleeper e)
{
    while (i > 0 && e.due < s->sleeper[(i - 1) / SLEEP_CHILDREN].due) {
        put(s, i, s->sleeper[(i - 1) / SLEEP_CHILDREN]);
        i = (i - 1) / SLEEP_CHILDREN;
    }
    put(s, i, e);
}

static uint32_t first_child(const struct sim *s, uint32_t i)
{
    const uint32_t end =
        i + SLEEP_CHILDREN < s->sleeper_count ? i + SLEEP_CHILDREN : s->sleeper_count;
    uint32_t first = i;

    for (i++; i < end; i++)
        if (s->sleeper[i].due < s->sleeper[first].due)
            first = i;
    return first;
}

static void sift_down(struct sim *s, uint32_t i, struct sleeper e)
{
    uint32_t child;

    while ((child = SLEEP_CHILDREN * i + 1) < s->sleeper_count) {
        child = first_child(s, child);
        if (s->sleeper[child].due >= e.due)
            break;
        put(s, i, s->sleeper[child]);
        i = child;
    }
    put(s, i, e);
}

static void heap_push(struct sim *s, struct part *p, int64_t due)
{
    sift_up(s, s->sleeper_count++, (struct sleeper){due, p->id});
}

static void heap_remove(struct sim *s, struct part *p)
{
    const uint32_t i = s->sleep_row[p->id];
    const struct sleeper last = s->sleeper[--s->sleeper_count];

    s->sleep_row[p->id] = ROW_NONE;
    if (last.part == p->id)
        return;
    if (i > 0 && last.due < s->sleeper[(i - 1) / SLEEP_CHILDREN].due)
        sift_up(s, i, last);
    else
        sift_down(s, i, last);
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

void sleep_all(struct sim *s)
{
    for (uint32_t i = 0; i < s->awake_count;) {
        struct part *p = s->parts[s->awake[i]];
        int64_t due;

        if (!sleep_until(p, &due)) {
            i++;
            continue;
        }
        leave_awake(s, p);
        if (due != TIME_NEVER)
            heap_push(s, p, due);
    }
}

/* ---- waking up ---- */

void part_wake(struct part *p)
{
    struct sim *s = p->s;

    if (p->awake_index != ROW_NONE)
        return;
    if (s->sleep_row[p->id] != ROW_NONE)
        heap_remove(s, p);
    p->awake_index = s->awake_count;
    s->awake[s->awake_count++] = p->id;
    p->stops_idle = s->stops_idle;
    /* what it skips has been reached as far as everything has */
    if (!episode_waits(p) && p->frozen_ps && p->frozen_at + p->frozen_ps + p->offset > s->reached)
        p->executed = s->reached - p->offset;
}

void sleep_wake_due(struct sim *s, int64_t horizon)
{
    while (s->sleeper_count && s->sleeper[0].due <= horizon)
        part_wake(s->parts[s->sleeper[0].part]);
}

void sleep_end(struct part *p)
{
    struct sim *s = p->s;

    if (p->awake_index != ROW_NONE)
        leave_awake(s, p);
    if (s->sleep_row[p->id] != ROW_NONE)
        heap_remove(s, p);
}

int64_t sleep_first(const struct sim *s)
{
    return s->sleeper_count ? s->sleeper[0].due : TIME_NEVER;
}

/* ---- room ---- */

int sleep_grow(struct sim *s, uint32_t cap)
{
    return rows_grow(&s->sleeper, sizeof *s->sleeper, cap) ||
           rows_grow(&s->awake, sizeof *s->awake, cap) ||
           rows_grow(&s->sleep_row, sizeof *s->sleep_row, cap);
}

void sleep_fini(struct sim *s)
{
    free(s->sleeper);
    free(s->awake);
    free(s->sleep_row);
}
