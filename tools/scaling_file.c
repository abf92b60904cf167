/*
 * scaling_file.c - see scaling_file.h. jansson passes NULL on, so that a lack of memory shows at
 * the end.
 */
#include "scaling_file.h"

#include "version.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static json_t *spread_json(struct scaling_spread x)
{
    return json_pack("{s:f, s:f, s:f}", "median", x.median, "min", x.min, "max", x.max);
}

static json_t *shares_json(const struct sim_engine_stats *st)
{
    const struct scaling_shares x = scaling_shares(st);

    return json_pack("{s:f, s:f, s:f, s:f}", "busy", x.busy, "idle", x.idle, "barrier", x.barrier,
                     "serial", x.serial);
}

static json_t *stats_json(const struct sim_engine_stats *st)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "rounds",
                     (json_int_t)st->rounds, "shared_rounds", (json_int_t)st->shared_rounds,
                     "tasks", (json_int_t)st->tasks, "steals", (json_int_t)st->steals, "sleeps",
                     (json_int_t)st->sleeps, "joins", (json_int_t)st->joins, "splits",
                     (json_int_t)st->splits, "partitions_alive_max",
                     (json_int_t)st->parts_alive_max, "share", shares_json(st));
}

static json_t *row_json(const struct scaling *s, const struct scaling_row *r)
{
    const struct scaling_spread speedup = scaling_speedup(s, r);
    char digest[20];

    (void)snprintf(digest, sizeof digest, "%016" PRIx64, r->digest);
    return json_pack("{s:s, s:I, s:o, s:o, s:o, s:f, s:I, s:f, s:s, s:b, s:o}", "engine",
                     engine_kind_name(r->engine.kind), "threads", (json_int_t)r->engine.threads,
                     "wall_s", spread_json(scaling_wall_s(r)), "cpu_s",
                     spread_json(scaling_cpu_s(r)), "speedup", spread_json(speedup), "efficiency",
                     speedup.median / r->engine.threads, "packet_hops", (json_int_t)r->packet_hops,
                     "packet_hops_per_s", scaling_hops_per_s(r), "digest", digest, "same_results",
                     !r->differing_count, "observed", stats_json(&r->st));
}

static json_t *prediction_json(const struct scaling *s, const struct scaling_prediction *x)
{
    const struct replay_prediction *p = &x->p;
    const double measured = scaling_measured(s, x->threads);
    const int is_measured = measured > 0;

    return json_pack("{s:I, s:f, s:o, s:o, s:f, s:f, s:f, s:f, s:f, s:f, s:I}", "threads",
                     (json_int_t)x->threads, "speedup", p->speedup, "measured_speedup",
                     is_measured ? json_real(measured) : json_null(), "error",
                     is_measured ? json_real(p->speedup / measured - 1) : json_null(), "total_s",
                     p->total_ns / 1e9, "serial_s", p->serial_ns / 1e9, "sequential_s",
                     p->sequential_ns / 1e9, "work_s", p->ideal_ns / 1e9, "imbalance_s",
                     p->imbalance_ns / 1e9, "overhead_s", p->overhead_ns / 1e9, "shared_rounds",
                     (json_int_t)p->parallel_round_count);
}

static json_t *costs_json(const struct scaling *s)
{
    if (!s->cost_threads)
        return json_null();
    return json_pack("{s:I, s:f, s:f, s:f}", "threads", (json_int_t)s->cost_threads, "round_ns",
                     s->costs.round_ns, "thread_ns", s->costs.worker_ns, "task_ns",
                     s->costs.task_ns);
}

static json_t *rows_json(const struct scaling *s)
{
    json_t *rows = json_array();
    int failures = 0;

    for (uint32_t i = 0; i < s->row_count; i++)
        failures += json_array_append_new(rows, row_json(s, &s->rows[i])) != 0;
    if (!failures)
        return rows;
    json_decref(rows);
    return NULL;
}

static json_t *predictions_json(const struct scaling *s)
{
    json_t *rows = json_array();
    int failures = 0;

    for (uint32_t i = 0; i < s->prediction_count; i++)
        failures += json_array_append_new(rows, prediction_json(s, &s->predictions[i])) != 0;
    if (!failures)
        return rows;
    json_decref(rows);
    return NULL;
}

int scaling_file_json(struct out_file *o, const struct scaling *s)
{
    json_t *record = json_pack("{s:I, s:I, s:b, s:o}", "rounds", (json_int_t)s->recorded_rounds,
                               "tasks", (json_int_t)s->recorded_tasks, "is_whole",
                               !s->is_record_cut, "costs", costs_json(s));
    json_t *root =
        json_pack("{s:s, s:s, s:s, s:I, s:I, s:f, s:b, s:o, s:o, s:o}", "version", WH_VERSION,
                  "commit", WH_COMMIT, "scenario", s->scenario, "processors",
                  (json_int_t)s->processors, "repetitions", (json_int_t)s->repetitions,
                  "processor_share", scaling_processor_share(s), "same_results", scaling_is_same(s),
                  "rows", rows_json(s), "record", record, "predictions", predictions_json(s));
    char *text = root ? json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(12)) : NULL;

    json_decref(root);
    if (!text)
        return WH_ERR_NOMEM;
    out_text(o, text, strlen(text));
    out_text(o, "\n", 1);
    free(text);
    return 0;
}
