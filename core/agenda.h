/*
 * agenda.h - what is due when: keys, taken by (time, order). For core/.
 *
 * Keys are of few kinds (starts, ends of charges, ends of what is known), and each kind comes
 * nearly in order, since it lies about as far ahead of the present every time. So a key is appended
 * to one of a few runs, each of which is in order; only what fits none goes into a heap. Putting
 * and taking then cost a comparison with each run, however many keys there are.
 *
 * Zero-initialise; agenda_fini frees. Threading: one thread.
 */
#ifndef WH_AGENDA_H
#define WH_AGENDA_H

#include "err.h"

#include <stdint.h>

#define AGENDA_RUNS 8u

struct agenda_key {
    int64_t time;
    uint64_t order; /* no two keys of one time have the same */
    uint32_t row;   /* the owner's */
};

struct agenda {
    uint32_t count;                /* keys in all */
    uint32_t source;               /* run of the first one; AGENDA_RUNS: the heap */
    int64_t head[AGENDA_RUNS + 1]; /* time of the first of each run, of the heap; INT64_MAX: none */
    int64_t tail_time[AGENDA_RUNS]; /* of the last of each run; INT64_MIN: none */
    uint64_t tail_order[AGENDA_RUNS];
    struct agenda_run {
        struct agenda_key *key; /* shape: [cap]; [first, end) is in use */
        uint32_t first, end, cap;
    } run[AGENDA_RUNS + 1]; /* the last is the heap, from 0 */
};

/* agenda_put - Errors: WH_ERR_NOMEM. */
int agenda_put(struct agenda *a, const struct agenda_key *key) WH_MUST_CHECK;

/* agenda_first - the first key, NULL if there is none. Good until the next change. */
static inline const struct agenda_key *agenda_first(const struct agenda *a)
{
    return a->count ? &a->run[a->source].key[a->run[a->source].first] : NULL;
}

/* agenda_take - removes the first key, which there is. */
void agenda_take(struct agenda *a);

/* agenda_filter - removes all keys that are not wanted any more. */
void agenda_filter(struct agenda *a,
                   int (*is_wanted)(const void *arg, const struct agenda_key *key),
                   const void *arg);

/* agenda_each - calls @fn for all keys, in no order. */
void agenda_each(const struct agenda *a, void (*fn)(void *arg, const struct agenda_key *key),
                 void *arg);

/* agenda_is_before - does @x come before @y? */
static inline int agenda_is_before(const struct agenda_key *x, const struct agenda_key *y)
{
    return x->time < y->time || (x->time == y->time && x->order < y->order);
}

void agenda_fini(struct agenda *a);

#endif
