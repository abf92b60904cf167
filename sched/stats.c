/*
 * stats.c - counters of workers and team: see stats.h.
 */
#include "stats.h"

#include <time.h>

uint64_t stats_now_ns(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC_RAW, &t); /* cannot fail: the clock exists, &t is valid */
    return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

#define INIT_FIELD(name) atomic_init(&s->name, 0);
/* relaxed: each is a figure by itself. */
#define READ_FIELD(name) out->name = atomic_load_explicit(&s->name, memory_order_relaxed);
#define SUM_FIELD(name) sum->name += s->name;

void stats_worker_init(struct stats_worker *s)
{
    STATS_WORKER_LIST(INIT_FIELD)
}

void stats_team_init(struct stats_team *s)
{
    STATS_TEAM_LIST(INIT_FIELD)
}

void stats_worker_read(const struct stats_worker *s, struct stats_worker_view *out)
{
    STATS_WORKER_LIST(READ_FIELD)
}

void stats_team_read(const struct stats_team *s, struct stats_team_view *out)
{
    STATS_TEAM_LIST(READ_FIELD)
}

void stats_worker_sum(struct stats_worker_view *sum, const struct stats_worker_view *s)
{
    STATS_WORKER_LIST(SUM_FIELD)
}
