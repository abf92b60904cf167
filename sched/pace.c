/*
 * pace.c - is a round worth waking others for: see pace.h.
 */
#include "pace.h"

/* First guess, until a class has been measured: waking one thread (bench/bench_sched). */
#define OVERHEAD_GUESS_NS 5000.0
/* Rounds that could not gain this much are not even tried. */
#define GAIN_MIN_NS 300.0
/* A worker is called for no less work than this: calling it costs the coordinator some of its own.
 */
#define GRAIN_NS 1500.0
/* Share of the time of a class that trials may cost. */
#define TRIAL_SHARE (1.0 / 128)
/* Weight of a new observation, and how many times an estimate one observation can count as: a round
 * during which the kernel took the core away says little about the next one. */
#define NEWS_SHARE (1.0 / 8)
#define OVERHEAD_RAISE_MAX 8.0
#define WORK_RAISE_MAX 2.0

void pace_init(struct pace *p)
{
    *p = (struct pace){.ns_per_weight = 0};
    for (uint32_t i = 0; i < PACE_CLASS_COUNT; i++)
        p->size_class[i].overhead_ns = OVERHEAD_GUESS_NS;
}

static uint32_t class_of(double ns)
{
    uint64_t n;
    uint32_t log2;

    if (!(ns >= 1))
        return 0;
    if (ns >= 1e18)
        return PACE_CLASS_COUNT - 1;
    n = (uint64_t)ns;
    log2 = 63 - (uint32_t)__builtin_clzll(n);
    return log2 < PACE_CLASS_COUNT ? log2 : PACE_CLASS_COUNT - 1;
}

double pace_span_ns(const struct place_load *load, double ns_per_weight, uint32_t worker_count)
{
    const double mean = load->sum / worker_count;

    return (mean > load->max ? mean : load->max) * ns_per_weight;
}

static uint32_t limit_workers(double work_ns, size_t task_count, uint32_t worker_count)
{
    const double by_grain = work_ns / GRAIN_NS;
    uint32_t limit = worker_count;

    if (task_count < limit)
        limit = (uint32_t)task_count;
    if (by_grain < limit)
        limit = (uint32_t)by_grain;
    return limit < 1 ? 1 : limit;
}

uint32_t pace_choose_workers(struct pace *p, const struct place_load *load, size_t task_count,
                             uint32_t worker_count)
{
    const double work_ns = load->sum * p->ns_per_weight;
    const uint32_t class_id = class_of(work_ns);
    uint32_t workers;
    double gain_ns;

    if (task_count < 2 || worker_count < 2)
        return 1;
    if (!(p->ns_per_weight > 0)) /* nothing known: a long round on one core is the worse mistake */
        return task_count < worker_count ? (uint32_t)task_count : worker_count;
    workers = limit_workers(work_ns, task_count, worker_count);
    gain_ns = work_ns - pace_span_ns(load, p->ns_per_weight, workers);
    if (workers < 2 || gain_ns < GAIN_MIN_NS)
        return 1;
    if (gain_ns > p->size_class[class_id].overhead_ns)
        return workers;
    /* Saved up until a trial is affordable; what it really costs is paid in pace_note_round. */
    if (p->size_class[class_id].credit_ns >= p->size_class[class_id].overhead_ns)
        return workers;
    p->size_class[class_id].credit_ns += work_ns * TRIAL_SHARE;
    return 1;
}

void pace_note_work(struct pace *p, double weight, double ns)
{
    const double known = p->ns_per_weight;
    double seen = weight > 0 ? ns / weight : 0;

    if (!(seen > 0))
        return;
    if (known > 0 && seen > WORK_RAISE_MAX * known)
        seen = WORK_RAISE_MAX * known;
    p->ns_per_weight = known > 0 ? known + (seen - known) * NEWS_SHARE : seen;
}

void pace_note_round(struct pace *p, const struct place_load *load, uint32_t worker_count,
                     double ns)
{
    const double work_ns = load->sum * p->ns_per_weight;
    const uint32_t class_id = class_of(work_ns);
    double *overhead_ns = &p->size_class[class_id].overhead_ns;
    double *credit_ns = &p->size_class[class_id].credit_ns;
    double seen = ns - pace_span_ns(load, p->ns_per_weight, worker_count);

    if (!(p->ns_per_weight > 0))
        return;
    if (ns > work_ns) /* slower than one worker would have been */
        *credit_ns = *credit_ns > ns - work_ns ? *credit_ns - (ns - work_ns) : 0;
    seen = seen > 0 ? seen : 0;
    if (seen > OVERHEAD_RAISE_MAX * (*overhead_ns + 1))
        seen = OVERHEAD_RAISE_MAX * (*overhead_ns + 1);
    *overhead_ns += (seen - *overhead_ns) * NEWS_SHARE;
}

double pace_overhead_ns(const struct pace *p, double work_ns)
{
    return p->size_class[class_of(work_ns)].overhead_ns;
}
