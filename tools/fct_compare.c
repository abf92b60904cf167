/*
 * fct_compare.c - see fct_compare.h.
 */
#include "fct_compare.h"

#include "units.h"

#include <stdlib.h>

/* ---- pairing ---- */

static int compare_i64(int64_t x, int64_t y)
{
    return (x > y) - (x < y);
}

/* Both ends and the size: what a flow is, whenever it starts. */
static int compare_identity(const struct fct_row *x, const struct fct_row *y)
{
    const int64_t pairs[5][2] = {{x->src, y->src},
                                 {x->dst, y->dst},
                                 {x->sport, y->sport},
                                 {x->dport, y->dport},
                                 {x->bytes, y->bytes}};

    for (int i = 0; i < 5; i++) {
        if (pairs[i][0] != pairs[i][1])
            return compare_i64(pairs[i][0], pairs[i][1]);
    }
    return 0;
}

static int compare_keys(const struct fct_row *x, const struct fct_row *y, enum fct_pairing by)
{
    const int by_identity = compare_identity(x, y);

    return by_identity || by == FCT_BY_ORDER ? by_identity : compare_i64(x->start_ns, y->start_ns);
}

/* The same order serves both pairings: identity, start, place in the file. */
static int compare_rows(const void *a, const void *b)
{
    const struct fct_row *x = a, *y = b;
    const int by_key = compare_keys(x, y, FCT_BY_START);

    return by_key ? by_key : compare_i64((int64_t)x->order, (int64_t)y->order);
}

/* Notes one row of each table, or of one (the other NULL). */
static void take_rows(const struct fct_row *x, const struct fct_row *y, struct fct_pairs *p,
                      struct fct_comparison *out)
{
    const int in_a = x && x->fct_ps >= 0, in_b = y && y->fct_ps >= 0;

    out->unfinished_in_a += x && !in_a;
    out->unfinished_in_b += y && !in_b;
    out->only_in_a += in_a && !in_b;
    out->only_in_b += in_b && !in_a;
    if (in_a && in_b)
        p->rows[p->count++] = (struct fct_pair){x->order, x->bytes, x->fct_ps, y->fct_ps};
}

static void sort_rows(struct fct_table *t)
{
    if (t->count)
        qsort(t->rows, t->count, sizeof *t->rows, compare_rows);
}

static double calc_makespan_ns(const struct fct_table *t)
{
    int64_t first_ns = INT64_MAX;
    double last_ns = 0;

    for (uint64_t i = 0; i < t->count; i++) {
        const struct fct_row *r = &t->rows[i];
        const double end_ns = (double)r->start_ns + (double)r->fct_ps / (double)PS_PER_NS;

        if (r->start_ns < first_ns)
            first_ns = r->start_ns;
        if (r->fct_ps >= 0 && end_ns > last_ns)
            last_ns = end_ns;
    }
    return last_ns > 0 ? last_ns - (double)first_ns : 0;
}

int fct_pairs_make(struct fct_pairs *p, struct fct_table *a, struct fct_table *b,
                   enum fct_pairing by, struct fct_comparison *out)
{
    const uint64_t cap = (a->count < b->count ? a->count : b->count) + 1;
    uint64_t i = 0, j = 0;

    *p = (struct fct_pairs){.rows = calloc(cap, sizeof *p->rows)};
    if (!p->rows)
        return WH_ERR_NOMEM;
    *out = (struct fct_comparison){.count_a = a->count, .count_b = b->count};
    sort_rows(a);
    sort_rows(b);
    while (i < a->count || j < b->count) {
        const struct fct_row *x = i < a->count ? &a->rows[i] : NULL;
        const struct fct_row *y = j < b->count ? &b->rows[j] : NULL;
        const int order = !x ? 1 : !y ? -1 : compare_keys(x, y, by);

        take_rows(order <= 0 ? x : NULL, order >= 0 ? y : NULL, p, out);
        i += order <= 0;
        j += order >= 0;
    }
    out->makespan_a_ns = calc_makespan_ns(a);
    out->makespan_b_ns = calc_makespan_ns(b);
    return 0;
}

void fct_pairs_fini(struct fct_pairs *p)
{
    free(p->rows);
    *p = (struct fct_pairs){.rows = NULL};
}

/* ---- errors ---- */

static double calc_error(int64_t a_ps, int64_t b_ps)
{
    if (a_ps == 0)
        return b_ps == 0 ? 0 : 1;
    return (double)(b_ps - a_ps) / (double)a_ps;
}

double fct_pair_error(const struct fct_pair *p)
{
    return calc_error(p->a_ps, p->b_ps);
}

/* Over the pairs of one class (SIZE_CLASS_COUNT: all). */
static void collect_errors(const struct fct_pairs *p, uint32_t class_id, double *values,
                           struct fct_errors *out)
{
    double sum = 0, a_ps = 0, b_ps = 0;
    uint64_t n = 0;

    for (uint64_t i = 0; i < p->count; i++) {
        const struct fct_pair *r = &p->rows[i];
        const double error = fct_pair_error(r);

        if (class_id < SIZE_CLASS_COUNT && size_class_of(r->bytes) != class_id)
            continue;
        sum += error;
        a_ps += (double)r->a_ps;
        b_ps += (double)r->b_ps;
        out->exact += r->a_ps == r->b_ps;
        values[n++] = error < 0 ? -error : error;
    }
    out->abs_error = dist_of(values, n);
    if (n == 0)
        return;
    out->signed_mean = sum / (double)n;
    out->mean_a_ns = a_ps / (double)n / (double)PS_PER_NS;
    out->mean_b_ns = b_ps / (double)n / (double)PS_PER_NS;
}

static int compare_times(const void *a, const void *b)
{
    return compare_i64(*(const int64_t *)a, *(const int64_t *)b);
}

/* Who finishes when is forgotten: what remains is the distribution. @times: room for two per pair
 */
static double calc_sorted_mean(const struct fct_pairs *p, int64_t *times)
{
    int64_t *a = times, *b = times + p->count;
    double sum = 0;

    if (p->count == 0)
        return 0;
    for (uint64_t i = 0; i < p->count; i++) {
        a[i] = p->rows[i].a_ps;
        b[i] = p->rows[i].b_ps;
    }
    qsort(a, p->count, sizeof *a, compare_times);
    qsort(b, p->count, sizeof *b, compare_times);
    for (uint64_t i = 0; i < p->count; i++) {
        const double error = calc_error(a[i], b[i]);

        sum += error < 0 ? -error : error;
    }
    return sum / (double)p->count;
}

int fct_pairs_compare(const struct fct_pairs *p, struct fct_comparison *out)
{
    double *values = calloc(p->count + 1, sizeof *values);
    int64_t *times = calloc(2 * p->count + 1, sizeof *times);
    int rc = WH_ERR_NOMEM;

    if (values && times) {
        collect_errors(p, SIZE_CLASS_COUNT, values, &out->all);
        for (uint32_t c = 0; c < SIZE_CLASS_COUNT; c++)
            collect_errors(p, c, values, &out->by_size[c]);
        out->sorted_mean = calc_sorted_mean(p, times);
        rc = 0;
    }
    free(values);
    free(times);
    return rc;
}

int fct_compare(struct fct_table *a, struct fct_table *b, enum fct_pairing by,
                struct fct_comparison *out)
{
    struct fct_pairs p;
    int rc = fct_pairs_make(&p, a, b, by, out);

    if (rc)
        return rc;
    rc = fct_pairs_compare(&p, out);
    fct_pairs_fini(&p);
    return rc;
}
