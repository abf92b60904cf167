/*
 * look.h - what partitions do by themselves between two rounds, by all workers: looking up, and
 * taking what is known. For core/.
 *
 *     look_add for each partition, in the order of a list -> look_run
 *
 * There are two halves. "prepare" is the expensive one: the state as bytes or as a graph in
 * canonical form, hash, look-up in the table. It is a task of the pool, touches its partition alone
 * and uses the worker's scratch (part.scratch). "commit" is what depends on the others: counting,
 * leaders, insertions. The coordinator goes through them in the order of the list when all are
 * prepared. So nothing depends on who prepared what, or when.
 * Entries are held and released by the coordinator too: hundreds of partitions may find the same
 * one, and its counter would travel from worker to worker each time.
 *
 * What is prepared is kept in a row per partition, of which there are LOOK_MAX; where more are
 * added, or more flows than LOOK_FLOWS_MAX, those that are there are run first. Both are the same
 * for any number of threads.
 *
 * Threading: the coordinator; prepare on any worker, one per partition. While they are under way
 * nobody inserts into the memo.
 */
#ifndef WH_LOOK_H
#define WH_LOOK_H

#include "sim_int.h"

#include <stdalign.h>

#define LOOK_MAX 1024u
#define LOOK_FLOWS_MAX 8192u

struct look {
    alignas(CACHE_LINE) struct pool_task task;
    const struct look_work *work;
    struct part *p;
    const void *found;  /* an entry of the memo that is now needed, NULL: none */
    const void *done;   /* and one that was held until now */
    const void *origin; /* another one; the fcg lens */
    /* the exact lens */
    struct bytes key;     /* of the state, and of the state with names: the first is a part of
                             the second */
    size_t key_bytes;     /* of the first */
    uint64_t hash, named; /* of both; the second only where the first is not known */
    struct memo_value known;
    /* the fcg lens */
    uint32_t hits[STAGE_KINDS]; /* that it has taken already */
    uint8_t has_look;           /* the last look-up, which is none of these */
    uint8_t is_declined;        /* there is to be no look-up */
};

struct look_work {
    void (*prepare)(struct look *l);
    void (*commit)(struct look *l); /* NULL: there is nothing to decide */
    int64_t horizon;                /* where all partitions are, global */
};

/* look_add - @w lives until look_run. Returns the row, in which prepare finds what it is told. */
struct look *look_add(struct sim *s, const struct look_work *w, struct part *p, uint64_t weight);
void look_run(struct sim *s);
void look_fini(struct sim *s);

/* Weights, in events (round.c): estimates, by what has to be saved or restored. */
uint64_t look_weight(const struct part *p);
uint64_t look_taking_weight(const struct part *p);

#endif
