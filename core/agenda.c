/*
 * agenda.c - see agenda.h.
 */
#include "agenda.h"

#include "sim_int.h"

#include <stdlib.h>
#include <string.h>

#define HEAP AGENDA_RUNS
#define CHILDREN 4u
#define KEYS_MIN 64u

/* ---- runs ---- */

/* Room for one more at the end. What has been taken makes room at the beginning. */
static int make_room(struct agenda_run *r)
{
    const uint32_t count = r->end - r->first;

    if (r->first > count) {
        memcpy(r->key, r->key + r->first, count * sizeof *r->key);
        r->first = 0;
        r->end = count;
        return 0;
    }
    if (rows_grow(&r->key, sizeof *r->key, r->cap ? 2 * r->cap : KEYS_MIN))
        return WH_ERR_NOMEM;
    r->cap = r->cap ? 2 * r->cap : KEYS_MIN;
    return 0;
}

/* The run whose end is next before @key, or one that is empty; HEAP if there is neither. */
static uint32_t choose(const struct agenda *a, const struct agenda_key *key)
{
    int64_t latest = INT64_MIN;
    uint32_t best = HEAP;

    for (uint32_t i = 0; i < AGENDA_RUNS; i++) {
        const int64_t tail = a->tail_time[i];

        if (tail < latest || tail > key->time ||
            (tail == key->time && a->tail_order[i] > key->order))
            continue;
        latest = tail;
        best = i;
    }
    return best;
}

/* ---- the heap ---- */

static void sift_up(struct agenda_key *k, uint32_t i, struct agenda_key e)
{
    while (i > 0 && agenda_is_before(&e, &k[(i - 1) / CHILDREN])) {
        k[i] = k[(i - 1) / CHILDREN];
        i = (i - 1) / CHILDREN;
    }
    k[i] = e;
}

static uint32_t first_child(const struct agenda_key *k, uint32_t i, uint32_t end)
{
    uint32_t first = i;

    for (i++; i < end; i++)
        if (agenda_is_before(&k[i], &k[first]))
            first = i;
    return first;
}

/* The hole at the top goes down to the end of a branch; there the last key takes it, and rises. */
static void take_from_heap(struct agenda_run *r)
{
    const uint32_t left = --r->end;
    uint32_t i = 0, child;

    while ((child = CHILDREN * i + 1) < left) {
        child = first_child(r->key, child, child + CHILDREN < left ? child + CHILDREN : left);
        r->key[i] = r->key[child];
        i = child;
    }
    sift_up(r->key, i, r->key[left]);
}

/* ---- the first ---- */

static void note_ends(struct agenda *a, uint32_t run)
{
    const struct agenda_run *r = &a->run[run];
    const int is_none = r->first == r->end;

    a->head[run] = is_none ? INT64_MAX : r->key[r->first].time;
    if (run == HEAP)
        return;
    a->tail_time[run] = is_none ? INT64_MIN : r->key[r->end - 1].time;
    a->tail_order[run] = is_none ? 0 : r->key[r->end - 1].order;
}

static void find_first(struct agenda *a)
{
    uint32_t best = HEAP;

    for (uint32_t i = 0; i < AGENDA_RUNS; i++) {
        const struct agenda_run *r = &a->run[i], *b = &a->run[best];

        if (a->head[i] > a->head[best] || a->head[i] == INT64_MAX)
            continue;
        if (a->head[i] < a->head[best] || r->key[r->first].order < b->key[b->first].order)
            best = i;
    }
    a->source = best;
}

/* ---- public ---- */

int agenda_put(struct agenda *a, const struct agenda_key *key)
{
    const struct agenda_key *first = agenda_first(a);
    const int is_first = !first || agenda_is_before(key, first);
    struct agenda_run *r;
    uint32_t run;

    for (uint32_t i = 0; !first && i <= HEAP; i++)
        note_ends(a, i);
    run = choose(a, key);
    r = &a->run[run];
    if (r->end == r->cap && make_room(r))
        return WH_ERR_NOMEM;
    if (is_first)
        a->source = run;
    if (run == HEAP)
        sift_up(r->key, r->end++, *key);
    else
        r->key[r->end++] = *key;
    note_ends(a, run);
    a->count++;
    return 0;
}

void agenda_take(struct agenda *a)
{
    struct agenda_run *r = &a->run[a->source];

    if (a->source == HEAP)
        take_from_heap(r);
    else if (++r->first == r->end)
        r->first = r->end = 0;
    note_ends(a, a->source);
    a->count--;
    find_first(a);
}

void agenda_filter(struct agenda *a,
                   int (*is_wanted)(const void *arg, const struct agenda_key *key), const void *arg)
{
    a->count = 0;
    for (uint32_t i = 0; i <= HEAP; i++) {
        struct agenda_run *r = &a->run[i];
        const uint32_t end = r->end;

        r->end = 0;
        for (uint32_t k = r->first; k < end; k++) {
            if (!is_wanted(arg, &r->key[k]))
                continue;
            if (i == HEAP)
                sift_up(r->key, r->end++, r->key[k]);
            else
                r->key[r->end++] = r->key[k];
        }
        r->first = 0;
        note_ends(a, i);
        a->count += r->end;
    }
    find_first(a);
}

void agenda_each(const struct agenda *a, void (*fn)(void *arg, const struct agenda_key *key),
                 void *arg)
{
    for (uint32_t i = 0; i <= HEAP; i++)
        for (uint32_t k = a->run[i].first; k < a->run[i].end; k++)
            fn(arg, &a->run[i].key[k]);
}

void agenda_fini(struct agenda *a)
{
    for (uint32_t i = 0; i <= HEAP; i++)
        free(a->run[i].key);
    *a = (struct agenda){.count = 0};
}
