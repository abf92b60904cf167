/*
 * output_workload.c - see output_workload.h.
 */
#include "output_workload.h"

#include "units.h"

#include <inttypes.h>

#define CLASSES_SHOWN 8u

static double to_s(double ps)
{
    return ps / (double)PS_PER_S;
}

/* json_pack fails as a whole without memory, and then gives NULL. */
static json_t *rank_json(uint32_t rank, const struct rank_times *t)
{
    return json_pack("{s:I, s:f, s:f, s:f, s:f}", "rank", (json_int_t)rank, "compute_s",
                     to_s((double)t->compute_ps), "exposed_communication_s",
                     to_s((double)t->exposed_ps), "communication_s", to_s((double)t->comm_ps),
                     "idle_s", to_s((double)t->idle_ps));
}

/* Bandwidths of the mean time. */
static json_t *class_json(const struct coll_class *c)
{
    const double mean_s = to_s(c->time_ps_sum) / (double)c->count;
    const double algbw = mean_s > 0 ? (double)c->bytes / mean_s * 1e-9 : 0;

    return json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:f, s:f, s:f, s:f, s:f}", "kind",
                     coll_kind_name(c->kind), "algorithm", coll_algo_name(c->algo), "ranks",
                     (json_int_t)c->ranks, "bytes", (json_int_t)c->bytes, "count",
                     (json_int_t)c->count, "sent_bytes", (json_int_t)c->sent_bytes, "time_mean_s",
                     mean_s, "time_min_s", to_s((double)c->time_ps_min), "time_max_s",
                     to_s((double)c->time_ps_max), "algbw_GBps", algbw, "busbw_GBps",
                     algbw * coll_bus_factor(c->kind, c->ranks));
}

/* Takes @row over. */
static int append(json_t *array, json_t *row)
{
    return json_array_append_new(array, row) ? WH_ERR_NOMEM : 0;
}

static int fill_lists(const struct workload_figures *f, json_t *times, json_t *ranks,
                      json_t *classes)
{
    int rc = 0;

    for (uint32_t i = 0; i < f->iterations_done && !rc; i++)
        rc = append(times, json_real(f->iteration_s[i]));
    for (uint32_t r = 0; r < f->rank_count && !rc; r++)
        rc = append(ranks, rank_json(r, &f->ranks[r]));
    for (uint32_t i = 0; i < f->classes->count && !rc; i++)
        rc = append(classes, class_json(&f->classes->rows[i]));
    return rc;
}

json_t *output_workload_json(const struct workload_figures *f)
{
    json_t *times = json_array(), *ranks = json_array(), *classes = json_array();
    json_t *o = NULL;

    if (times && ranks && classes && !fill_lists(f, times, ranks, classes))
        o = json_pack(
            "{s:I, s:I, s:I, s:O, s:f, s:f, s:f, s:f, s:I, s:I, s:I, s:I, s:O, s:O}", "ranks",
            (json_int_t)f->rank_count, "iterations", (json_int_t)f->spec->iterations,
            "iterations_finished", (json_int_t)f->iterations_done, "iteration_times_s", times,
            "compute_s", to_s((double)f->mean.compute_ps), "exposed_communication_s",
            to_s((double)f->mean.exposed_ps), "communication_s", to_s((double)f->mean.comm_ps),
            "idle_s", to_s((double)f->mean.idle_ps), "operations", (json_int_t)f->counters.ops,
            "collectives", (json_int_t)f->counters.colls, "messages", (json_int_t)f->counters.sends,
            "bytes", (json_int_t)f->counters.bytes, "by_rank", ranks, "by_collective", classes);
    json_decref(times);
    json_decref(ranks);
    json_decref(classes);
    return o;
}

static void print_classes(FILE *out, const struct coll_classes *c)
{
    const uint32_t shown = c->count < CLASSES_SHOWN ? c->count : CLASSES_SHOWN;

    for (uint32_t i = 0; i < shown; i++) {
        const struct coll_class *k = &c->rows[i];
        const double mean_s = to_s(k->time_ps_sum) / (double)k->count;
        const double algbw = mean_s > 0 ? (double)k->bytes / mean_s * 1e-9 : 0;

        fprintf(out,
                "  %" PRIu64 " x %s (%s) of %" PRId64 " B over %" PRIu32
                " ranks: %.6f s, busbw %.2f GB/s\n",
                k->count, coll_kind_name(k->kind), coll_algo_name(k->algo), k->bytes, k->ranks,
                mean_s, algbw * coll_bus_factor(k->kind, k->ranks));
    }
    if (shown < c->count)
        fprintf(out, "  and %" PRIu32 " more kinds\n", c->count - shown);
}

void output_workload_table(FILE *out, const struct workload_figures *f)
{
    if (f->iterations_done)
        fprintf(out, "iteration       %.9f s (mean of %" PRIu32 ")\n", f->iteration_time_s,
                f->iterations_done);
    else
        fprintf(out, "iteration       none finished\n");
    fprintf(out, "mean of ranks   compute %.6f s, exposed communication %.6f s, idle %.6f s\n",
            to_s((double)f->mean.compute_ps), to_s((double)f->mean.exposed_ps),
            to_s((double)f->mean.idle_ps));
    fprintf(out, "collectives     %" PRIu64 " in %" PRIu32 " kinds, %" PRIu64 " messages\n",
            f->counters.colls, f->classes->count, f->counters.sends);
    print_classes(out, f->classes);
}
