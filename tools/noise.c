/*
 * noise.c - see noise.h.
 */
#include "noise.h"

#include "units.h"

#include <stdlib.h>

static const struct {
    const char *name, *title;
} kinds[NOISE_KIND_COUNT] = {
    [NOISE_FCT_MEAN] = {"fct_mean", "FCT of a flow, mean"},
    [NOISE_FCT_P99] = {"fct_p99", "  99th percentile"},
    [NOISE_FCT_MAX] = {"fct_max", "  largest"},
    [NOISE_MEAN_FCT] = {"mean_fct", "mean FCT"},
    [NOISE_SORTED_FCT] = {"sorted_fct", "sorted FCTs, mean"},
    [NOISE_MAKESPAN] = {"makespan", "makespan"},
    [NOISE_ITERATION_TIME] = {"iteration_time", "iteration time"},
};

const char *noise_kind_name(enum noise_kind k)
{
    return kinds[k].name;
}

const char *noise_kind_title(enum noise_kind k)
{
    return kinds[k].title;
}

/* ---- differences ---- */

double noise_ratio(double a, double b)
{
    const double d = b > a ? b - a : a - b;

    if (d <= 0)
        return 0;
    return a > 0 ? d / a : 1;
}

double noise_class_difference(const struct fct_errors *x, enum noise_kind k)
{
    switch (k) {
    case NOISE_FCT_MEAN:
        return x->abs_error.mean;
    case NOISE_FCT_P99:
        return x->abs_error.p99;
    case NOISE_FCT_MAX:
        return x->abs_error.max;
    default:
        check(k == NOISE_MEAN_FCT, "figure %d of a class", (int)k);
        return noise_ratio(x->mean_a_ns, x->mean_b_ns);
    }
}

double noise_difference(const struct fct_comparison *c, enum noise_kind k)
{
    check(k != NOISE_ITERATION_TIME, "iteration times are not in FCT files");
    if (k == NOISE_SORTED_FCT)
        return c->sorted_mean;
    if (k == NOISE_MAKESPAN)
        return noise_ratio(c->makespan_a_ns, c->makespan_b_ns);
    return noise_class_difference(&c->all, k);
}

/* ---- collecting ---- */

int noise_begin(struct noise *n, struct fct_table *base, enum fct_pairing by, double iteration_s)
{
    struct noise_flow *flows = calloc(base->count + 1, sizeof *flows);

    if (!flows)
        return WH_ERR_NOMEM;
    *n = (struct noise){.by = by, .base = *base, .base_iteration_s = iteration_s, .flows = flows};
    *base = (struct fct_table){.rows = NULL};
    return 0;
}

void noise_fini(struct noise *n)
{
    fct_table_fini(&n->base);
    free(n->flows);
    free(n->runs);
    *n = (struct noise){.flows = NULL};
}

static struct noise_run *add_run(struct noise *n)
{
    struct noise_run *rows = realloc(n->runs, (n->run_count + 1) * sizeof *rows);

    if (!rows)
        return NULL;
    n->runs = rows;
    rows[n->run_count] = (struct noise_run){.iteration_s = -1};
    return &rows[n->run_count++];
}

static void note_flows(struct noise *n, const struct fct_pairs *pairs)
{
    for (uint64_t i = 0; i < pairs->count; i++) {
        struct noise_flow *f = &n->flows[pairs->rows[i].a_order];
        const double change = fct_pair_error(&pairs->rows[i]);
        const double size = change < 0 ? -change : change;

        f->run_count++;
        f->sum += size;
        if (size > f->max)
            f->max = size;
    }
}

static void note_differences(const struct noise *n, struct noise_run *r)
{
    for (enum noise_kind k = 0; k < NOISE_ITERATION_TIME; k++)
        r->difference[k] = noise_difference(&r->c, k);
    if (n->base_iteration_s >= 0 && r->iteration_s >= 0)
        r->difference[NOISE_ITERATION_TIME] = noise_ratio(n->base_iteration_s, r->iteration_s);
}

int noise_add(struct noise *n, struct fct_table *run, double iteration_s)
{
    struct noise_run *r = add_run(n);
    struct fct_pairs pairs;
    int rc;

    if (!r)
        return WH_ERR_NOMEM;
    rc = fct_pairs_make(&pairs, &n->base, run, n->by, &r->c);
    if (rc)
        return rc;
    rc = fct_pairs_compare(&pairs, &r->c);
    r->iteration_s = iteration_s;
    note_flows(n, &pairs);
    note_differences(n, r);
    fct_pairs_fini(&pairs);
    return rc;
}

/* ---- the floor ---- */

static void take_value(struct noise_figure *f, double value, uint32_t run_count)
{
    f->mean += value / run_count;
    if (value > f->max)
        f->max = value;
}

static void take_classes(const struct noise_run *r, uint32_t run_count, struct noise_floor *out)
{
    for (uint32_t c = 0; c < SIZE_CLASS_COUNT; c++)
        for (enum noise_kind k = 0; k < NOISE_CLASS_KIND_COUNT; k++)
            take_value(&out->by_size[c][k], noise_class_difference(&r->c.by_size[c], k), run_count);
}

static void count_base(const struct noise *n, struct noise_floor *out)
{
    double sum_ns = 0;

    for (uint64_t i = 0; i < n->base.count; i++) {
        const struct fct_row *row = &n->base.rows[i];

        if (row->fct_ps < 0)
            continue;
        out->flow_count++;
        out->class_flows[size_class_of(row->bytes)]++;
        sum_ns += (double)row->fct_ps / (double)PS_PER_NS;
    }
    out->mean_fct_ns = out->flow_count ? sum_ns / (double)out->flow_count : 0;
}

void noise_calc_floor(const struct noise *n, struct noise_floor *out)
{
    check(n->run_count > 0, "a floor without a run");
    *out = (struct noise_floor){.run_count = n->run_count,
                                .is_workload = n->by == FCT_BY_ORDER,
                                .has_iteration = n->base_iteration_s >= 0};
    count_base(n, out);
    for (uint32_t i = 0; i < n->run_count; i++) {
        const struct noise_run *r = &n->runs[i];

        for (enum noise_kind k = 0; k < NOISE_KIND_COUNT; k++)
            take_value(&out->all[k], r->difference[k], n->run_count);
        take_classes(r, n->run_count, out);
        out->has_iteration = out->has_iteration && r->iteration_s >= 0;
    }
}

/* ---- judging ---- */

double noise_fixed_limit(enum noise_kind k)
{
    return k == NOISE_FCT_P99 ? 0.02 : 0.005;
}

enum noise_verdict noise_judge(enum noise_kind k, double difference, double floor)
{
    if (difference <= floor)
        return NOISE_WITHIN_FLOOR;
    return difference <= noise_fixed_limit(k) ? NOISE_WITHIN_LIMIT : NOISE_EXCEEDS;
}

const char *noise_verdict_text(enum noise_verdict v)
{
    static const char *const texts[] = {[NOISE_WITHIN_FLOOR] = "within the noise floor",
                                        [NOISE_WITHIN_LIMIT] = "above the floor, but allowed",
                                        [NOISE_EXCEEDS] = "EXCEEDS what is allowed"};

    return texts[v];
}
