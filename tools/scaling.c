/*
 * scaling.c - see scaling.h.
 */
#include "scaling.h"

#include "result_digest.h"

#include <stdlib.h>
#include <string.h>

void scaling_init(struct scaling *s, const struct scaling_options *o, uint32_t processors)
{
    *s = (struct scaling){.processors = processors, .repetitions = (uint32_t)o->repetitions};
    if (o->checks_engine)
        s->rows[s->row_count++].engine = (struct sim_engine){.kind = ENGINE_SERIAL, .threads = 1};
    s->base = s->row_count;
    for (uint32_t i = 0; i < o->thread_count; i++)
        s->rows[s->row_count++].engine = (struct sim_engine){
            .kind = ENGINE_PARTITIONED, .threads = o->threads[i], .shards = o->shards};
}

/* ---- runs ---- */

static uint64_t compare_digest(struct scaling *s, struct scaling_row *r, const struct sim *run)
{
    const uint64_t digest = result_digest(run);

    if (!s->has_digest)
        s->digest = digest;
    s->has_digest = 1;
    r->differing_count += digest != s->digest;
    return digest;
}

void scaling_add_observed(struct scaling *s, uint32_t row, const struct sim *run)
{
    struct scaling_row *r = &s->rows[row];
    struct sim_counters c;

    sim_counters(run, &c);
    sim_engine_stats(run, &r->st);
    r->packet_hops = c.packet_hops;
    r->digest = compare_digest(s, r, run);
    r->is_observed = 1;
}

void scaling_add_timed(struct scaling *s, uint32_t row, const struct sim *run, double wall_s,
                       double cpu_s)
{
    struct scaling_row *r = &s->rows[row];

    check(r->run_count < OPTIONS_REPETITIONS_MAX, "%u runs", r->run_count);
    r->wall_s[r->run_count] = wall_s;
    r->cpu_s[r->run_count++] = cpu_s;
    (void)compare_digest(s, r, run);
}

/* ---- predictions ---- */

static int compare_predictions(const void *a, const void *b)
{
    const struct scaling_prediction *x = a, *y = b;

    return (x->threads > y->threads) - (x->threads < y->threads);
}

static void add_prediction(struct scaling *s, uint32_t threads)
{
    for (uint32_t i = 0; i < s->prediction_count; i++)
        if (s->predictions[i].threads == threads)
            return;
    if (threads > 1)
        s->predictions[s->prediction_count++].threads = threads;
}

static void list_predictions(struct scaling *s)
{
    s->prediction_count = 0;
    for (uint32_t i = s->base; i < s->row_count; i++)
        add_prediction(s, s->rows[i].engine.threads);
    for (uint32_t threads = 2; threads <= 32; threads *= 2)
        add_prediction(s, threads);
    qsort(s->predictions, s->prediction_count, sizeof *s->predictions, compare_predictions);
}

int scaling_predict(struct scaling *s, const struct replay *record,
                    const struct replay_costs *costs, uint32_t cost_threads)
{
    s->costs = costs ? *costs : (struct replay_costs){0, 0, 0};
    s->cost_threads = costs ? cost_threads : 0;
    s->recorded_rounds = replay_round_count(record);
    s->recorded_tasks = replay_task_count(record);
    s->is_record_cut = replay_is_full(record);
    list_predictions(s);
    for (uint32_t i = 0; i < s->prediction_count; i++)
        if (replay_predict(record, s->predictions[i].threads, &s->costs, &s->predictions[i].p))
            return WH_ERR_NOMEM;
    return 0;
}

/* ---- figures ---- */

static int compare_values(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static struct scaling_spread calc_spread(const double *values, uint32_t count)
{
    double sorted[OPTIONS_REPETITIONS_MAX];

    if (!count)
        return (struct scaling_spread){0, 0, 0};
    memcpy(sorted, values, count * sizeof *values);
    qsort(sorted, count, sizeof *sorted, compare_values);
    return (struct scaling_spread){(sorted[(count - 1) / 2] + sorted[count / 2]) / 2, sorted[0],
                                   sorted[count - 1]};
}

struct scaling_spread scaling_wall_s(const struct scaling_row *r)
{
    return calc_spread(r->wall_s, r->run_count);
}

struct scaling_spread scaling_cpu_s(const struct scaling_row *r)
{
    return calc_spread(r->cpu_s, r->run_count);
}

struct scaling_spread scaling_speedup(const struct scaling *s, const struct scaling_row *r)
{
    const double base_s = scaling_wall_s(&s->rows[s->base]).median;
    const struct scaling_spread wall = scaling_wall_s(r);

    if (!(base_s > 0) || !(wall.min > 0))
        return (struct scaling_spread){0, 0, 0};
    return (struct scaling_spread){base_s / wall.median, base_s / wall.max, base_s / wall.min};
}

double scaling_hops_per_s(const struct scaling_row *r)
{
    const double wall_s = scaling_wall_s(r).median;

    return wall_s > 0 ? (double)r->packet_hops / wall_s : 0;
}

struct scaling_shares scaling_shares(const struct sim_engine_stats *st)
{
    const double all =
        (double)st->busy_ns + (double)st->idle_ns + (double)st->barrier_ns + (double)st->serial_ns;

    if (!(all > 0))
        return (struct scaling_shares){0, 0, 0, 0};
    return (struct scaling_shares){(double)st->busy_ns / all, (double)st->idle_ns / all,
                                   (double)st->barrier_ns / all, (double)st->serial_ns / all};
}

double scaling_measured(const struct scaling *s, uint32_t threads)
{
    for (uint32_t i = s->base; i < s->row_count && threads <= s->processors; i++)
        if (s->rows[i].engine.threads == threads)
            return scaling_speedup(s, &s->rows[i]).median;
    return 0;
}

double scaling_processor_share(const struct scaling *s)
{
    const double wall_s = scaling_wall_s(&s->rows[s->base]).median;

    return wall_s > 0 ? scaling_cpu_s(&s->rows[s->base]).median / wall_s : 0;
}

int scaling_is_same(const struct scaling *s)
{
    uint32_t differing = 0;

    for (uint32_t i = 0; i < s->row_count; i++)
        differing += s->rows[i].differing_count;
    return !differing;
}
