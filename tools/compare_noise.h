/*
 * compare_noise.h - the differences of two runs beside a noise floor, in words.
 * Threading: one thread.
 */
#ifndef WH_COMPARE_NOISE_H
#define WH_COMPARE_NOISE_H

#include "noise.h"

#include <jansson.h>
#include <stdio.h>

/* What is judged; nothing is owned. */
struct compare_noise {
    const char *file; /* as it was given */
    const struct noise_floor *floor;
    const struct fct_comparison *c;
    double iteration_a_s, iteration_b_s; /* < 0: not known */
};

/* compare_noise_iteration_s - iteration_time_s of the summary.json in a run folder, -1 without. */
double compare_noise_iteration_s(const char *dir);

/* compare_noise_fits - the floor is one of run A: it has as many finished flows. */
int compare_noise_fits(const struct compare_noise *x);

/* compare_noise_exceeds - figures over all flows that exceed floor and limit. */
uint32_t compare_noise_exceeds(const struct compare_noise *x);

void compare_noise_print(const struct compare_noise *x, FILE *out);

/* compare_noise_json - the object "noise" of compare's JSON; NULL without memory. */
json_t *compare_noise_json(const struct compare_noise *x);

#endif
