/*
 * barrier.h - a reusable barrier for a fixed team.
 *
 * One counter of arrivals and one generation word: the last to arrive resets the counter and bumps
 * the generation, the others wait for that (park.h: spin, yield, sleep).
 *
 * Exclusions: barrier_init excludes all; barrier_wait runs with itself, once per member and
 * generation. Ordering: what a member did before its barrier_wait happens before what any member
 * does after its own return from the same generation. Progress: blocking.
 */
#ifndef WH_BARRIER_H
#define WH_BARRIER_H

#include "park.h"

/* Shared. Open because owners embed it; only barrier.c touches the fields. */
struct barrier {
    _Atomic uint32_t arrived;    /* [atomic R1/A1] members of this generation so far */
    struct park_word generation; /* bumped by the last one */
};

void barrier_init(struct barrier *b);

/*
 * barrier_wait - returns when @party_count threads have called it.
 * @party_count: size of the team, the same in every call of a generation, >= 1. It stands here and
 *               not in barrier_init because OpenMP tells the size of a team to its members only.
 * Returns: 1 in the thread that came last, 0 in the others.
 */
int barrier_wait(struct barrier *b, uint32_t party_count, const struct park_policy *policy);

#endif
