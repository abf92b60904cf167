/*
 * replay.c - recorded rounds on another number of workers: see replay.h.
 */
#include "replay.h"

#include "place.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>

struct replay_task {
    uint64_t weight, ns;
};

struct replay_round {
    uint64_t serial_ns;
    uint64_t first_task, task_count;
};

struct replay {
    struct replay_task *task;   /* shape: [task_cap], task_count in use */
    struct replay_round *round; /* shape: [round_cap], round_count in use */
    uint64_t task_count, task_cap, task_count_max;
    uint64_t round_count, round_cap;
    uint64_t task_count_most; /* of any round */
    struct replay_round open; /* the round being recorded */
    int is_full;
};

/* What one prediction works with. */
struct replay_scratch {
    struct place_item *item, *sorted; /* shape: [task_count_most] */
    double *free_at_ns;               /* shape: [worker_count], a heap: the earliest on top */
    uint32_t worker_count;
};

int replay_create(struct replay **out, uint64_t task_count_max)
{
    struct replay *r = calloc(1, sizeof *r);

    if (!r)
        return SCHED_ERR_NOMEM;
    r->task_count_max = task_count_max;
    *out = r;
    return 0;
}

void replay_destroy(struct replay *r)
{
    if (!r)
        return;
    free(r->task);
    free(r->round);
    free(r);
}

void replay_begin_round(struct replay *r, uint64_t serial_ns)
{
    r->open = (struct replay_round){serial_ns, r->task_count, 0};
}

/* Room for one more element; the array is as before if there is none. */
static int reserve(void **array, uint64_t *cap, uint64_t count, size_t element_bytes)
{
    const uint64_t wanted = *cap ? 2 * *cap : 1024;
    void *grown;

    if (count < *cap)
        return 0;
    grown = realloc(*array, wanted * element_bytes);
    if (!grown)
        return SCHED_ERR_NOMEM;
    *array = grown;
    *cap = wanted;
    return 0;
}

void replay_stop(struct replay *r)
{
    if (r->is_full)
        return;
    r->is_full = 1;
    r->task_count = r->open.first_task;
}

void replay_add_task(struct replay *r, uint64_t weight, uint64_t ns)
{
    void *array = r->task;

    if (r->is_full)
        return;
    if (r->task_count == r->task_count_max ||
        reserve(&array, &r->task_cap, r->task_count, sizeof *r->task)) {
        replay_stop(r);
        return;
    }
    r->task = array;
    r->task[r->task_count++] = (struct replay_task){weight, ns};
    r->open.task_count++;
}

void replay_end_round(struct replay *r)
{
    void *array = r->round;

    if (r->is_full)
        return;
    if (reserve(&array, &r->round_cap, r->round_count, sizeof *r->round)) {
        replay_stop(r);
        return;
    }
    r->round = array;
    r->round[r->round_count++] = r->open;
    if (r->open.task_count > r->task_count_most)
        r->task_count_most = r->open.task_count;
    r->open.first_task = r->task_count;
}

int replay_is_full(const struct replay *r)
{
    return r->is_full;
}

uint64_t replay_round_count(const struct replay *r)
{
    return r->round_count;
}

uint64_t replay_task_count(const struct replay *r)
{
    return r->task_count;
}

/* The top of the heap has become later: sinks it to its place. */
static void sink_top(double *heap, uint32_t count)
{
    const double moved = heap[0];
    uint32_t i = 0;

    for (uint32_t child = 1; child < count; child = 2 * i + 1) {
        if (child + 1 < count && heap[child + 1] < heap[child])
            child++;
        if (heap[child] >= moved)
            break;
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = moved;
}

/* When the last worker is done: each task, heavy first, to the worker that is free first. */
static double calc_makespan_ns(const struct replay_task *task, uint64_t count,
                               struct replay_scratch *s, double task_ns)
{
    double end_ns = 0;

    for (uint64_t i = 0; i < count; i++)
        s->item[i] = (struct place_item){task[i].weight, (uint32_t)i, PLACE_NOWHERE};
    place_sort(s->item, s->sorted, count);
    for (uint32_t w = 0; w < s->worker_count; w++)
        s->free_at_ns[w] = 0;
    for (uint64_t i = 0; i < count; i++) {
        s->free_at_ns[0] += (double)task[s->sorted[i].index].ns + task_ns;
        if (s->free_at_ns[0] > end_ns)
            end_ns = s->free_at_ns[0];
        sink_top(s->free_at_ns, s->worker_count);
    }
    return end_ns;
}

static void predict_round(const struct replay *r, const struct replay_round *round,
                          struct replay_scratch *s, const struct replay_costs *costs,
                          struct replay_prediction *p)
{
    const struct replay_task *task = r->task + round->first_task;
    const double workers = s->worker_count;
    double work_ns = 0, span_ns, ideal_ns, overhead_ns;

    for (uint64_t i = 0; i < round->task_count; i++)
        work_ns += (double)task[i].ns;
    p->serial_ns += (double)round->serial_ns;
    ideal_ns = work_ns / workers;
    overhead_ns = costs->round_ns + costs->worker_ns * (workers - 1) +
                  costs->task_ns * (double)round->task_count / workers;
    if (round->task_count < 2 || s->worker_count < 2 || ideal_ns + overhead_ns >= work_ns) {
        p->sequential_ns += work_ns;
        return;
    }
    span_ns = costs->round_ns + costs->worker_ns * (workers - 1) +
              calc_makespan_ns(task, round->task_count, s, costs->task_ns);
    if (span_ns >= work_ns) {
        p->sequential_ns += work_ns;
        return;
    }
    p->parallel_round_count++;
    p->ideal_ns += ideal_ns;
    p->overhead_ns += overhead_ns;
    p->imbalance_ns += span_ns - ideal_ns - overhead_ns;
}

/* The time on one worker: everything in turn. */
static double calc_one_worker_ns(const struct replay *r)
{
    double sum_ns = 0;

    for (uint64_t i = 0; i < r->round_count; i++)
        sum_ns += (double)r->round[i].serial_ns;
    for (uint64_t i = 0; i < r->task_count; i++)
        sum_ns += (double)r->task[i].ns;
    return sum_ns;
}

static int create_scratch(struct replay_scratch *s, uint64_t task_count, uint32_t worker_count)
{
    s->worker_count = worker_count;
    s->item = malloc((task_count + 1) * sizeof *s->item);
    s->sorted = malloc((task_count + 1) * sizeof *s->sorted);
    s->free_at_ns = malloc(worker_count * sizeof *s->free_at_ns);
    return s->item && s->sorted && s->free_at_ns ? 0 : SCHED_ERR_NOMEM;
}

static void destroy_scratch(struct replay_scratch *s)
{
    free(s->item);
    free(s->sorted);
    free(s->free_at_ns);
}

int replay_predict(const struct replay *r, uint32_t worker_count, const struct replay_costs *costs,
                   struct replay_prediction *out)
{
    struct replay_prediction p = {.round_count = r->round_count};
    struct replay_scratch s;
    int rc;

    assert(worker_count > 0);
    rc = create_scratch(&s, r->task_count_most, worker_count);
    if (rc)
        goto out;
    for (uint64_t i = 0; i < r->round_count; i++)
        predict_round(r, &r->round[i], &s, costs, &p);
    p.total_ns = p.serial_ns + p.sequential_ns + p.ideal_ns + p.imbalance_ns + p.overhead_ns;
    p.speedup = p.total_ns > 0 ? calc_one_worker_ns(r) / p.total_ns : 1;
    *out = p;
out:
    destroy_scratch(&s);
    return rc;
}
