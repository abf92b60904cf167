/*
 * match.h - receives against arrived bytes, per key (source, destination, tag).
 *
 * Bytes are a balance: arrivals add, the receive at the head of a key's queue takes as soon as the
 * balance holds all of its bytes. A key without balance and without receives is forgotten, so that
 * ever new tags cost nothing.
 * Threading: one owner.
 */
#ifndef WH_MATCH_H
#define WH_MATCH_H

#include "err.h"

#include <stdint.h>

struct match;

struct match_key {
    uint32_t src, dst;
    uint64_t tag;
};

/* A receive; owned by the table until it is filled, then handed to whoever asks. */
struct match_recv {
    void (*fn)(void *arg);
    void *arg;
    int64_t bytes;
    struct match_recv *next; /* in the queue of its key */
};

int match_create(struct match **out) WH_MUST_CHECK;
void match_destroy(struct match *m); /* NULL is accepted; frees the receives in it */

/* match_post - takes @r over on success. Returns 0 or WH_ERR_NOMEM. */
int match_post(struct match *m, const struct match_key *key, struct match_recv *r) WH_MUST_CHECK;

/* match_arrive - @bytes of @key are here. Returns 0 or WH_ERR_NOMEM. */
int match_arrive(struct match *m, const struct match_key *key, int64_t bytes) WH_MUST_CHECK;

/* match_pop - the next filled receive of @key (the caller frees it), NULL if there is none. */
struct match_recv *match_pop(struct match *m, const struct match_key *key);

/* match_is_filled - whether match_pop would give one. */
int match_is_filled(const struct match *m, const struct match_key *key);

/* match_key_count - keys in the table; for tests. */
uint32_t match_key_count(const struct match *m);

#endif
