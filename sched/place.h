/*
 * place.h - which worker gets which task of a round, and in which order.
 *
 * Heavy tasks first: list scheduling by falling weight ends at most a third above the best possible
 * (Graham, SIAM J. Appl. Math. 17(2), 1969). A task goes to the worker that ran it last, whose
 * cache still holds it, unless that would load this worker more than a fair share; then to the
 * least loaded one. Pure: used by the pool and by the replay, which has to predict the pool.
 * Threading: pure functions on caller-owned data.
 */
#ifndef WH_PLACE_H
#define WH_PLACE_H

#include <stddef.h>
#include <stdint.h>

#define PLACE_NOWHERE UINT32_MAX

struct place_item {
    uint64_t weight;    /* any unit; 0 counts as 1 */
    uint32_t index;     /* the caller's row */
    uint32_t worker_id; /* in: ran it last, or PLACE_NOWHERE; out: is to run it */
};

/* Sums over items. double: weights of any size add up without overflow. */
struct place_load {
    double sum, max;
};
void place_load_add(struct place_load *l, uint64_t weight);

/*
 * place_sort - heavy first, in classes an eighth wide; equal classes keep their order.
 * @sorted: shape [count], not overlapping @items
 */
void place_sort(const struct place_item *items, struct place_item *sorted, size_t count);

/*
 * place_assign - sets worker_id of each item, in the order given.
 * @load:      shape [worker_count], scratch; holds the weight given to each worker afterwards
 * @total:     over all items
 */
void place_assign(struct place_item *items, size_t count, const struct place_load *total,
                  double *load, uint32_t worker_count);

#endif
