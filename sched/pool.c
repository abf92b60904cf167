/*
 * pool.c - a team of workers that runs rounds of tasks and steals work: see pool.h, pool_int.h.
 *
 * Holds the only OpenMP region of the program: OpenMP starts, pins and ends the threads, everything
 * between is ours. The workers meet at our own barrier first and last, so that the order is one
 * that ThreadSanitizer sees.
 */
#include "pool_int.h"

#include <assert.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#define DEQUE_SLOTS_GIVEN 256
#define DEQUE_SLOTS_SPAWNED 64

/* Rounds of more tasks call the others before all tasks are handed out. */
#define EARLY_CALL_TASKS 64

/* One sequential round in so many is timed: two readings of the clock are 50 ns, a small round 20.
 */
#define SAMPLE_INTERVAL 8

int pool_thread_count(const char *text, uint32_t *count)
{
    uint32_t value = 0;

    if (!strcmp(text, "auto")) {
        const int processors = omp_get_num_procs();

        *count = processors < POOL_THREADS_MAX ? (uint32_t)processors : POOL_THREADS_MAX;
        return 0;
    }
    for (const char *c = text; *c; c++) {
        if (*c < '0' || *c > '9')
            return SCHED_ERR_INPUT;
        value = value * 10 + (uint32_t)(*c - '0');
        if (value > POOL_THREADS_MAX)
            return SCHED_ERR_INPUT;
    }
    if (!value)
        return SCHED_ERR_INPUT;
    *count = value;
    return 0;
}

static int init_worker(struct pool *p, uint32_t id)
{
    struct pool_worker *w = &p->worker[id];
    int rc;

    w->pool = p;
    w->id = id;
    park_init(&w->signal);
    atomic_init(&w->resting, 0);
    stats_worker_init(&w->stats);
    rc = deque_init(&w->given, DEQUE_SLOTS_GIVEN);
    return rc ? rc : deque_init(&w->spawned, DEQUE_SLOTS_SPAWNED);
}

/* More threads than processors: who spins keeps away the one it waits for. */
static struct park_policy choose_park_policy(uint32_t thread_count)
{
    if (thread_count > (uint32_t)omp_get_num_procs())
        return (struct park_policy){0, PARK_YIELDS_DEFAULT};
    return (struct park_policy){PARK_SPINS_DEFAULT, PARK_YIELDS_DEFAULT};
}

/* Zeroed, on lines of its own. @bytes is a multiple of the line. */
static void *alloc_lines(size_t bytes)
{
    void *block = aligned_alloc(SCHED_LINE_BYTES, bytes);

    if (block)
        memset(block, 0, bytes);
    return block;
}

int pool_create(struct pool **out, const struct pool_options *o)
{
    struct pool *p = alloc_lines(sizeof *p);

    if (!p)
        return SCHED_ERR_NOMEM;
    assert(o->thread_count >= 1 && o->thread_count <= POOL_THREADS_MAX);
    p->o = *o;
    p->has_clock = o->has_times || o->record;
    p->worker_count = o->thread_count;
    p->park = choose_park_policy(o->thread_count);
    pace_init(&p->pace);
    stats_team_init(&p->stats);
    atomic_init(&p->remaining, 0);
    atomic_init(&p->closing, 0);
    barrier_init(&p->barrier);
    p->load = calloc(o->thread_count, sizeof *p->load);
    p->worker = alloc_lines(o->thread_count * sizeof *p->worker);
    if (!p->load || !p->worker)
        goto fail;
    for (uint32_t i = 0; i < o->thread_count; i++)
        if (init_worker(p, i))
            goto fail;
    *out = p;
    return 0;
fail:
    pool_destroy(p); /* accepts a half-built one */
    return SCHED_ERR_NOMEM;
}

void pool_destroy(struct pool *p)
{
    if (!p)
        return;
    assert(!p->is_in_main);
    for (uint32_t i = 0; p->worker && i < p->o.thread_count; i++) {
        deque_fini(&p->worker[i].given);
        deque_fini(&p->worker[i].spawned);
        free(p->worker[i].log);
    }
    free(p->worker);
    free(p->load);
    free(p->item);
    free(p->sorted);
    free(p);
}

/* ---- the team ---- */

static void run_main(struct pool *p, pool_main_fn fn, void *arg)
{
    p->is_in_main = 1;
    p->round_end_ns = p->worker[0].mark_ns;
    fn(arg, p);
    p->is_in_main = 0;
    /* relaxed: published by the bumps. */
    atomic_store_explicit(&p->closing, 1, memory_order_relaxed);
    for (uint32_t i = 1; i < p->worker_count; i++)
        (void)park_bump(&p->worker[i].signal);
}

static void live_in_team(struct pool *p, uint32_t id, uint32_t team_count, pool_main_fn fn,
                         void *arg)
{
    const struct pool_hooks *hooks = &p->o.hooks;
    struct pool_worker *w = &p->worker[id];

    if (id == 0)
        p->worker_count = team_count; /* read by others after the barrier */
    if (hooks->on_begin)
        hooks->on_begin(hooks->ctx, id);
    (void)barrier_wait(&p->barrier, team_count, &p->park);
    w->mark_ns = p->has_clock ? stats_now_ns() : 0;
    if (id == 0)
        run_main(p, fn, arg);
    else
        worker__serve(w);
    if (hooks->on_end)
        hooks->on_end(hooks->ctx, id);
    (void)barrier_wait(&p->barrier, team_count, &p->park);
}

void pool_enter(struct pool *p, pool_main_fn fn, void *arg)
{
    assert(!p->is_in_main);
    /* relaxed: no other thread is here. */
    atomic_store_explicit(&p->closing, 0, memory_order_relaxed);
#pragma omp parallel num_threads((int)p->o.thread_count)
    live_in_team(p, (uint32_t)omp_get_thread_num(), (uint32_t)omp_get_num_threads(), fn, arg);
    for (uint32_t i = 0; i < p->o.thread_count; i++) {
        deque_reclaim(&p->worker[i].given);
        deque_reclaim(&p->worker[i].spawned);
    }
}

/* ---- a round ---- */

static void set_remaining(struct pool *p, size_t count)
{
    /* relaxed: published by the push of the first task, given or spawned; before that nobody but
     * the coordinator touches it. */
    atomic_store_explicit(&p->remaining, count, memory_order_relaxed);
}

static void run_all(struct pool *p, struct pool_task *const *tasks, size_t count)
{
    set_remaining(p, count);
    for (size_t i = 0; i < count; i++)
        worker__run(&p->worker[0], tasks[i], 0);
    worker__finish_round(&p->worker[0]); /* the tasks may have pushed others */
}

static void run_sequential(struct pool *p, struct pool_task *const *tasks, size_t count)
{
    const int is_sample = p->sample_count++ % SAMPLE_INTERVAL == 0;
    const double weight_before = p->worker[0].weight_done;
    uint64_t start_ns;

    stats_add(&p->stats.sequential_rounds, 1);
    if (!is_sample) {
        run_all(p, tasks, count);
        return;
    }
    start_ns = stats_now_ns();
    run_all(p, tasks, count);
    pace_note_work(&p->pace, p->worker[0].weight_done - weight_before,
                   (double)(stats_now_ns() - start_ns));
}

/* Room to sort @count tasks. Returns 0 if there is none. */
static int reserve_items(struct pool *p, size_t count)
{
    const size_t cap = count + count / 2;
    struct place_item *item, *sorted;

    if (count <= p->item_cap)
        return 1;
    item = malloc(cap * sizeof *item);
    sorted = malloc(cap * sizeof *sorted);
    if (!item || !sorted) {
        free(item);
        free(sorted);
        return 0;
    }
    free(p->item);
    free(p->sorted);
    p->item = item;
    p->sorted = sorted;
    p->item_cap = cap;
    return 1;
}

static void call_workers(struct pool *p, uint32_t worker_count)
{
    for (uint32_t i = 1; i < worker_count; i++)
        if (p->load[i] > 0 && park_bump(&p->worker[i].signal))
            stats_add(&p->stats.wakes, 1);
}

/* Hands the tasks out, heavy first, and calls those who got any. */
static void give_out(struct pool *p, struct pool_task *const *tasks, size_t count,
                     const struct place_load *total, uint32_t worker_count)
{
    for (size_t i = 0; i < count; i++)
        p->item[i] = (struct place_item){tasks[i]->weight, (uint32_t)i, tasks[i]->worker_id};
    place_sort(p->item, p->sorted, count);
    place_assign(p->sorted, count, total, p->load, worker_count);
    set_remaining(p, count);
    for (size_t i = 0; i < count; i++) {
        const struct place_item *item = &p->sorted[i];
        struct pool_task *task = tasks[item->index];

        if (deque_push(&p->worker[item->worker_id].given, task))
            worker__run(&p->worker[0], task, 1); /* no memory to hand it out */
        if (i == EARLY_CALL_TASKS)
            call_workers(p, worker_count);
    }
    call_workers(p, worker_count);
}

static void run_parallel(struct pool *p, struct pool_task *const *tasks, size_t count,
                         const struct place_load *total, uint32_t worker_count)
{
    struct pool_worker *w = &p->worker[0];
    const double weight_before = w->weight_done;
    const uint64_t start_ns = stats_now_ns();
    uint64_t given_ns, worked_ns;

    give_out(p, tasks, count, total, worker_count);
    given_ns = stats_now_ns();
    (void)worker__work(w);
    worked_ns = stats_now_ns();
    pace_note_work(&p->pace, w->weight_done - weight_before, (double)(worked_ns - given_ns));
    worker__finish_round(w);
    pace_note_round(&p->pace, total, worker_count, (double)(stats_now_ns() - start_ns));
}

static uint32_t choose_worker_count(struct pool *p, const struct place_load *total, size_t count)
{
    uint32_t workers = p->worker_count;

    if (p->o.policy == POOL_ADAPTIVE)
        workers = pace_choose_workers(&p->pace, total, count, p->worker_count);
    else if (count < workers)
        workers = (uint32_t)count;
    return workers > 1 && reserve_items(p, count) ? workers : 1;
}

/* Time since the last round was the coordinator's own. */
static void begin_round(struct pool *p)
{
    struct pool_worker *w = &p->worker[0];

    assert(p->is_in_main && !p->is_in_round);
    p->is_in_round = 1;
    stats_add(&p->stats.rounds, 1);
    if (!p->has_clock)
        return;
    w->mark_ns = stats_now_ns();
    p->serial_ns = w->mark_ns - p->round_end_ns;
    stats_add(&p->stats.serial_ns, p->serial_ns);
}

/* Moves what the workers have logged into the record. */
static void record_round(struct pool *p)
{
    replay_begin_round(p->o.record, p->serial_ns);
    for (uint32_t i = 0; i < p->worker_count; i++) {
        struct pool_worker *w = &p->worker[i];

        for (size_t k = 0; k < w->log_count; k++)
            replay_add_task(p->o.record, w->log[k].weight, w->log[k].ns);
        w->log_count = 0;
        if (w->has_lost_log)
            replay_stop(p->o.record);
    }
    replay_end_round(p->o.record);
}

static void end_round(struct pool *p, _Atomic uint64_t *counter)
{
    const uint64_t begin_ns = p->round_end_ns + p->serial_ns;

    p->is_in_round = 0;
    if (!p->has_clock)
        return;
    p->round_end_ns = stats_now_ns();
    stats_add(counter, p->round_end_ns - begin_ns);
    if (p->o.record) {
        record_round(p);
        p->round_end_ns = stats_now_ns(); /* recording is no part of the run */
    }
}

void pool_round(struct pool *p, struct pool_task *const *tasks, size_t count)
{
    struct place_load total = {0, 0};
    uint32_t workers;

    if (!count)
        return;
    assert(count <= UINT32_MAX);
    begin_round(p);
    if (p->worker_count > 1 && count > 1)
        for (size_t i = 0; i < count; i++)
            place_load_add(&total, tasks[i]->weight);
    workers = p->worker_count > 1 && count > 1 ? choose_worker_count(p, &total, count) : 1;
    if (workers > 1) {
        run_parallel(p, tasks, count, &total, workers);
        end_round(p, &p->stats.round_ns);
    } else {
        run_sequential(p, tasks, count);
        end_round(p, &p->stats.sequential_ns);
    }
}

/* ---- what can be asked ---- */

uint32_t pool_worker_id(const struct pool_worker *w)
{
    return w->id;
}

uint32_t pool_worker_count(const struct pool *p)
{
    return p->worker_count;
}

void pool_worker_stats(const struct pool *p, uint32_t worker_id, struct stats_worker_view *out)
{
    assert(worker_id < p->o.thread_count);
    stats_worker_read(&p->worker[worker_id].stats, out);
}

void pool_team_stats(const struct pool *p, struct stats_team_view *out)
{
    stats_team_read(&p->stats, out);
}
