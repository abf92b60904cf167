/*
 * random_sim.h - simulations of random networks, flows and settings, for property tests.
 */
#ifndef WH_RANDOM_SIM_H
#define WH_RANDOM_SIM_H

#include "sim.h"

struct random_kind {
    int has_loss, has_events; /* links corrupt packets; links fail and come back */
    int has_steps;            /* few connections, many flows one after another over each, and
                                 acknowledgements are charged for */
};

/* random_sim - the simulation of @seed; not started. Every setting is drawn: topology, congestion
 * control, buffers, PFC, recovery, routing, priorities, acknowledgements, order of equal times. */
struct sim *random_sim(uint64_t seed, const struct random_kind *kind);

#endif
