/*
 * result_digest.h - a number made of all results of a run: equal for runs with the same results.
 * Threading: pure.
 */
#ifndef WH_RESULT_DIGEST_H
#define WH_RESULT_DIGEST_H

#include "sim.h"

/* result_digest - of every flow, every port's statistics, and all counters but the number of
 * events, which is the engine's own matter. */
uint64_t result_digest(const struct sim *s);

#endif
