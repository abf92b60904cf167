/*
 * worker.c - one worker: finds tasks, runs them, waits when there are none. See pool_int.h.
 *
 * Order of search: own spawned tasks, newest first; own given tasks, heaviest first; then all other
 * workers, from a random one on. A search that found nothing anywhere has shown that every task
 * left is running, so the worker may wait: the coordinator calls it to the next round, and who
 * pushes a task calls one that rests.
 */
#include "pool_int.h"

#include <assert.h>
#include <stdlib.h>

/* A draw is a function of worker and count: no generator is shared, and none can be in the way. The
 * mixing function is the finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014). */
static uint32_t draw_victim(struct pool_worker *w)
{
    uint64_t x = ((uint64_t)w->id << 40) + ++w->draw_count;

    x *= UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (uint32_t)((x ^ (x >> 31)) >> 32) % w->pool->worker_count;
}

void worker__account(struct pool_worker *w, _Atomic uint64_t *counter)
{
    uint64_t now_ns;

    if (!w->pool->has_clock)
        return;
    now_ns = stats_now_ns();
    stats_add(counter, now_ns - w->mark_ns);
    w->mark_ns = now_ns;
}

static void add_to_log(struct pool_worker *w, uint64_t weight, uint64_t ns)
{
    if (w->log_count == w->log_cap) {
        const size_t cap = w->log_cap ? 2 * w->log_cap : 256;
        struct pool_log_entry *log = realloc(w->log, cap * sizeof *log);

        if (!log) {
            w->has_lost_log = 1;
            return;
        }
        w->log = log;
        w->log_cap = cap;
    }
    w->log[w->log_count++] = (struct pool_log_entry){weight, ns};
}

static void go_busy(struct pool_worker *w)
{
    const struct pool_hooks *hooks = &w->pool->o.hooks;

    if (w->is_busy)
        return;
    w->is_busy = 1;
    if (w->id != 0 && hooks->on_busy)
        hooks->on_busy(hooks->ctx, w->id);
}

static void go_quiet(struct pool_worker *w)
{
    const struct pool_hooks *hooks = &w->pool->o.hooks;

    if (!w->is_busy)
        return;
    w->is_busy = 0;
    if (w->id != 0 && hooks->on_quiet)
        hooks->on_quiet(hooks->ctx, w->id);
}

void worker__run(struct pool_worker *w, struct pool_task *task, int has_home)
{
    const uint64_t weight = task->weight ? task->weight : 1;
    uint64_t start_ns;

    /* A sequential round leaves the home as it is: it is small, and the rest of what its tasks
     * work on is where they ran last. */
    if (has_home && task->worker_id != w->id)
        task->worker_id = w->id;
    go_busy(w);
    worker__account(w, &w->stats.idle_ns);
    start_ns = w->mark_ns;
    task->fn(task->arg, w);
    worker__account(w, &w->stats.busy_ns);
    if (w->pool->o.record)
        add_to_log(w, weight, w->mark_ns - start_ns);
    stats_add(&w->stats.tasks, 1);
    w->weight_done += (double)weight;
    w->done_count++;
}

/* Takes what this worker has done off the count of unfinished tasks. Done once for many tasks, but
 * always before it waits. */
static void flush_done(struct pool_worker *w)
{
    struct pool *p = w->pool;
    const uint64_t done = w->done_count;

    if (!done)
        return;
    w->done_count = 0;
    /* R1: publishes what the tasks wrote; pairs with A1 in worker__finish_round. acq_rel, so that
     * each worker passes on what it has seen of the others. */
    if (atomic_fetch_sub_explicit(&p->remaining, done, memory_order_acq_rel) == done && w->id != 0)
        (void)park_bump(&p->worker[0].signal);
}

/* The top of @d, if there is anything. */
static struct pool_task *take(struct deque *d)
{
    enum deque_result result;
    void *item = NULL;

    do
        result = deque_steal(d, &item);
    while (result == DEQUE_LOST); /* somebody else has one more task: it ends */
    return item;
}

static struct pool_task *pop_spawned(struct pool_worker *w)
{
    struct pool_task *task;

    if (!w->has_spawned)
        return NULL;
    task = deque_pop(&w->spawned);
    if (!task)
        w->has_spawned = 0;
    return task;
}

static struct pool_task *steal_from(struct pool_worker *w, struct pool_worker *victim)
{
    struct pool_task *task = take(&victim->given);

    if (!task)
        task = take(&victim->spawned);
    stats_add(task ? &w->stats.steals : &w->stats.failed_steals, 1);
    return task;
}

static struct pool_task *steal(struct pool_worker *w)
{
    struct pool *p = w->pool;
    const uint32_t first = draw_victim(w);

    for (uint32_t i = 0; i < p->worker_count; i++) {
        struct pool_worker *victim = &p->worker[(first + i) % p->worker_count];
        struct pool_task *task = victim != w ? steal_from(w, victim) : NULL;

        if (task)
            return task;
    }
    return NULL;
}

static struct pool_task *find_task(struct pool_worker *w)
{
    struct pool_task *task = pop_spawned(w);

    if (!task)
        task = take(&w->given);
    if (task)
        return task;
    flush_done(w);
    return w->pool->worker_count > 1 ? steal(w) : NULL;
}

uint64_t worker__work(struct pool_worker *w)
{
    struct pool_task *task = find_task(w);
    uint64_t count = 0;

    for (; task; task = find_task(w)) {
        worker__run(w, task, 1);
        count++;
    }
    worker__account(w, &w->stats.idle_ns);
    return count;
}

/* Waits for a call later than @seen. */
static void rest(struct pool_worker *w, uint32_t seen)
{
    /* S1: announced before the last look round; pairs with S2 in call_resting. seq_cst because a
     * store has to precede loads of other words: either this search finds the pushed task, or the
     * one who pushed it finds this worker. */
    atomic_store_explicit(&w->resting, 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_seq_cst);
    if (!worker__work(w)) {
        go_quiet(w);
        if (park_change(&w->signal, seen, &w->pool->park))
            stats_add(&w->stats.sleeps, 1);
        worker__account(w, &w->stats.barrier_ns);
    }
    /* relaxed: who still sees it makes a needless call. */
    atomic_store_explicit(&w->resting, 0, memory_order_relaxed);
}

void worker__serve(struct pool_worker *w)
{
    for (;;) {
        const uint32_t seen = park_load(&w->signal);

        /* relaxed: published by the bump that park_load has seen. */
        if (atomic_load_explicit(&w->pool->closing, memory_order_relaxed))
            break;
        (void)worker__work(w);
        rest(w, seen);
    }
    go_quiet(w);
}

void worker__finish_round(struct pool_worker *w)
{
    for (;;) {
        const uint32_t seen = park_load(&w->signal);

        flush_done(w);
        /* A1: pairs with R1 in flush_done. Not zero: whoever makes it zero bumps the signal,
         * which is then no longer what was seen. */
        if (!atomic_load_explicit(&w->pool->remaining, memory_order_acquire))
            return;
        if (!worker__work(w))
            rest(w, seen);
    }
}

/* Calls one worker that rests, if any does. */
static void call_resting(struct pool_worker *w)
{
    struct pool *p = w->pool;

    /* S2: after the push, before the look at who rests; pairs with S1 in rest. */
    atomic_thread_fence(memory_order_seq_cst);
    for (uint32_t i = 1; i < p->worker_count; i++) {
        struct pool_worker *other = &p->worker[(w->id + i) % p->worker_count];
        uint32_t is_resting = atomic_load_explicit(&other->resting, memory_order_relaxed);

        /* relaxed: the flag only chooses; what is published goes through deque and signal. */
        if (is_resting &&
            atomic_compare_exchange_strong_explicit(&other->resting, &is_resting, 0,
                                                    memory_order_relaxed, memory_order_relaxed)) {
            (void)park_bump(&other->signal);
            return;
        }
    }
}

void pool_push(struct pool_worker *w, struct pool_task *task)
{
    /* relaxed: the task that pushes is itself unfinished, so the count cannot reach zero here; the
     * push below publishes it to whoever takes the task. */
    atomic_fetch_add_explicit(&w->pool->remaining, 1, memory_order_relaxed);
    if (deque_push(&w->spawned, task)) {
        worker__run(w, task, 1);
        return;
    }
    w->has_spawned = 1;
    call_resting(w);
}
