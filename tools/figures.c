/*
 * figures.c - see figures.h.
 */
#include "figures.h"

#include "output_fct.h"
#include "quantiles.h"
#include "units.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t dist_rank(uint64_t count, double percent)
{
    const double position = (double)count * percent / 100;
    uint64_t rank = (uint64_t)position;

    if ((double)rank < position)
        rank++;
    return rank ? rank - 1 : 0;
}

struct dist dist_of(double *values, uint64_t count)
{
    const size_t ranks[] = {dist_rank(count, 50), dist_rank(count, 95), dist_rank(count, 99),
                            count - 1};
    struct dist d = {.count = count};
    double sum = 0, at[4];

    if (count == 0)
        return d;
    for (uint64_t i = 0; i < count; i++)
        sum += values[i];
    quantiles_find(values, count, ranks, at, 4);
    d.mean = sum / (double)count;
    d.p50 = at[0];
    d.p95 = at[1];
    d.p99 = at[2];
    d.max = at[3];
    return d;
}

int64_t size_class_limit(uint32_t class_id)
{
    int64_t limit = 1000;

    if (class_id + 1 >= SIZE_CLASS_COUNT)
        return INT64_MAX;
    for (uint32_t i = 0; i < class_id; i++)
        limit *= 10;
    return limit;
}

uint32_t size_class_of(int64_t bytes)
{
    uint32_t class_id = 0;

    while (bytes > size_class_limit(class_id))
        class_id++;
    return class_id;
}

const char *size_class_name(uint32_t class_id, char *buf, size_t buf_bytes)
{
    const int is_last = class_id + 1 >= SIZE_CLASS_COUNT;

    (void)snprintf(buf, buf_bytes, is_last ? "> %" PRId64 : "<= %" PRId64,
                   size_class_limit(is_last ? SIZE_CLASS_COUNT - 2 : class_id));
    return buf;
}

/* FCT [ns] or slowdown of a finished flow. */
static double outcome_of(const struct flow_result *r, int is_slowdown)
{
    const int64_t fct_ps = r->end_ps - r->start_ps;

    return is_slowdown ? (double)output_slowdown_ppm(fct_ps, r->ideal_ps) / 1e6
                       : (double)fct_ps / (double)PS_PER_NS;
}

/* The outcomes of the finished flows, those of one size class together. @first: where each class
 * begins, and the end. */
static void group_outcomes(const struct sim *s, int is_slowdown, double *values,
                           uint64_t first[SIZE_CLASS_COUNT + 1])
{
    const uint32_t flow_count = sim_flow_count(s);
    uint64_t at[SIZE_CLASS_COUNT] = {0};

    for (uint32_t i = 0; i < flow_count; i++)
        at[size_class_of(sim_flow_spec(s, i)->bytes)] += sim_flow_result(s, i)->state == FLOW_DONE;
    first[0] = 0;
    for (uint32_t c = 0; c < SIZE_CLASS_COUNT; c++) {
        first[c + 1] = first[c] + at[c];
        at[c] = first[c];
    }
    for (uint32_t i = 0; i < flow_count; i++) {
        const struct flow_result *r = sim_flow_result(s, i);

        if (r->state == FLOW_DONE)
            values[at[size_class_of(sim_flow_spec(s, i)->bytes)]++] = outcome_of(r, is_slowdown);
    }
}

static void collect_dists(struct figures *f, const struct sim *s, double *values)
{
    uint64_t first[SIZE_CLASS_COUNT + 1];

    for (int is_slowdown = 0; is_slowdown < 2; is_slowdown++) {
        group_outcomes(s, is_slowdown, values, first);
        for (uint32_t c = 0; c < SIZE_CLASS_COUNT; c++)
            *(is_slowdown ? &f->by_size[c].slowdown : &f->by_size[c].fct_ns) =
                dist_of(&values[first[c]], first[c + 1] - first[c]);
        *(is_slowdown ? &f->slowdown : &f->fct_ns) = dist_of(values, first[SIZE_CLASS_COUNT]);
    }
}

static void collect_totals(struct figures *f, const struct sim *s)
{
    const uint32_t flow_count = sim_flow_count(s);

    f->first_start_ps = flow_count ? INT64_MAX : 0;
    for (uint32_t i = 0; i < flow_count; i++) {
        const struct flow_result *r = sim_flow_result(s, i);

        f->bytes += sim_flow_spec(s, i)->bytes;
        f->acked_bytes += r->acked_bytes;
        f->retx_bytes += r->retx_bytes;
        if (r->start_ps < f->first_start_ps)
            f->first_start_ps = r->start_ps;
        if (r->state == FLOW_DONE && r->end_ps > f->last_end_ps)
            f->last_end_ps = r->end_ps;
    }
}

/* Inserts by falling key; equal keys stay in order of ports. key(row) is at @key. */
static void insert_top(struct port_figure *top, double *keys, uint32_t *count,
                       const struct port_figure *row, double key)
{
    uint32_t at = *count;

    if (key <= 0 || (at == FIGURES_TOP && key <= keys[at - 1]))
        return;
    if (at == FIGURES_TOP)
        at--;
    else
        ++*count;
    while (at > 0 && keys[at - 1] < key) {
        top[at] = top[at - 1];
        keys[at] = keys[at - 1];
        at--;
    }
    top[at] = *row;
    keys[at] = key;
}

/* From the first start to the last completion, or to now while flows are under way. */
static int64_t calc_active_ps(const struct figures *f, const struct sim *s)
{
    const int is_done = f->c.flows_finished == sim_flow_count(s);

    return (is_done ? f->last_end_ps : sim_now_ps(s)) - f->first_start_ps;
}

static void collect_ports(struct figures *f, const struct sim *s)
{
    const struct topo *t = sim_topo(s);
    const int64_t active_ps = calc_active_ps(f, s);
    double busy[FIGURES_TOP], full[FIGURES_TOP], paused[FIGURES_TOP];
    double sum = 0;

    for (uint32_t p = 0; p < t->port_count; p++) {
        struct port_figure row = {.port = p};

        sim_port_stats(s, p, &row.st);
        if (active_ps > 0)
            row.utilization = (double)row.st.tx_bytes * 8 * (double)PS_PER_S /
                              ((double)topo_port_class(t, p)->rate_bps * (double)active_ps);
        sum += row.utilization;
        insert_top(f->busiest, busy, &f->busiest_count, &row, row.utilization);
        insert_top(f->paused, paused, &f->paused_count, &row, (double)row.st.paused_ps);
        if (t->kind[t->port_node[p]] != NODE_HOST)
            insert_top(f->fullest, full, &f->fullest_count, &row, (double)row.st.queue_max_bytes);
    }
    f->link_utilization_mean = t->port_count ? sum / t->port_count : 0;
}

int figures_collect(struct figures *f, const struct sim *s)
{
    double *values = calloc((size_t)sim_flow_count(s) + 1, sizeof *values);

    if (!values)
        return WH_ERR_NOMEM;
    memset(f, 0, sizeof *f);
    sim_counters(s, &f->c);
    collect_totals(f, s);
    collect_dists(f, s, values);
    collect_ports(f, s);
    free(values);
    return 0;
}
