/*
 * pace.h - is a round worth waking others for?
 *
 * Learned from the rounds themselves: what a unit of weight costs, and by how much a parallel
 * round takes longer than its share of the work (waking, waiting, imbalance). The latter is kept
 * per class of round size, because a loss that is nothing in a round of milliseconds is too much in
 * one of microseconds. A class that has been found not to pay is tried again only as often as keeps
 * the price of trying below a fixed share of its time; a trial that pays is free, so a class
 * recovers at once when what disturbed it is over.
 *
 * What is decided here changes when work is done, never what comes out of it.
 * Threading: pure functions on caller-owned data (the coordinator's).
 */
#ifndef WH_PACE_H
#define WH_PACE_H

#include "place.h"

#define PACE_CLASS_COUNT 48 /* powers of two of nanoseconds: up to three days */

struct pace {
    double ns_per_weight; /* 0: not known yet */
    struct {
        double overhead_ns; /* of a parallel round beyond its share of the work */
        double credit_ns;   /* saved up for the next trial */
    } size_class[PACE_CLASS_COUNT];
};

void pace_init(struct pace *p);

/*
 * pace_choose_workers - how many workers a round is worth.
 * @load:         of its tasks, @task_count of them
 * @worker_count: in the team
 * Returns: 1 = the coordinator alone, else 2..@worker_count.
 */
uint32_t pace_choose_workers(struct pace *p, const struct place_load *load, size_t task_count,
                             uint32_t worker_count);

/* pace_note_work - one thread took @ns for tasks of @weight in all. */
void pace_note_work(struct pace *p, double weight, double ns);

/* pace_note_round - a round on @worker_count >= 2 workers took @ns from end to end. */
void pace_note_round(struct pace *p, const struct place_load *load, uint32_t worker_count,
                     double ns);

/* pace_overhead_ns - what a parallel round of @work_ns is now taken to lose. */
double pace_overhead_ns(const struct pace *p, double work_ns);

/* pace_span_ns - shortest time in which @worker_count workers can do @load at @ns_per_weight. */
double pace_span_ns(const struct place_load *load, double ns_per_weight, uint32_t worker_count);

#endif
