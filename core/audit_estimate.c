/*
 * audit_estimate.c - what audits say of a whole run.
 *
 * The error of the mean completion time is the sum of the errors of the skips, from the sample by
 * the ratio to the flow time skipped. Its variance is made of three parts. The first is the
 * sample's, of a ratio estimate. The second is chance: what the audited skips and what the
 * disturbed stretches come to. A skip leaves another state behind, and the run without skipping is
 * only one of those that could have been. CHANCE (audit.c) stretches it: each is known by one value
 * only. The factor was chosen on seeds 1 to 256 of bench/bench_audit, and holds on others
 * (docs/validation.md). The third is resolution: skips are whole packets.
 *
 * Chance is independent in different places, but the same wherever the same happens again, which in
 * collective traffic it does thousands of times; that is told by the keys of the rows.
 */
#include "sim_int.h"

#include <math.h>
#include <stdlib.h>

#define SAMPLE_MIN 4u /* draws of a sample, to say anything about the rest */

/* Student's t of the two-sided 95 %. */
static double sigmas(uint32_t freedom)
{
    static const double few[] = {INFINITY, 12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36};

    if (freedom < sizeof few / sizeof *few)
        return few[freedom];
    return 1.96 + 2.72 / freedom;
}

/* ---- rows ---- */

struct row_list {
    struct audit_row *row; /* owned */
    uint32_t count;
};

static void gather_rows(const struct sim *s, struct row_list *l)
{
    uint32_t count, at = 0;

    l->count = 0;
    for (uint32_t i = 0; i < s->part_count; i++)
        l->count += audit_row_count(s->parts[i]);
    l->row = malloc((l->count + 1) * sizeof *l->row);
    check(l->row != NULL, "out of memory for %u audits", l->count);
    for (uint32_t i = 0; i < s->part_count; i++) {
        const struct audit_row *from = audit_rows(s->parts[i], &count);

        for (uint32_t k = 0; k < count; k++)
            l->row[at++] = from[k];
    }
}

static int is_stretch(const struct audit_row *r)
{
    return (int)(r->key & 1);
}

static int compare_u64(uint64_t x, uint64_t y)
{
    return (x > y) - (x < y);
}

static int by_key(const void *a, const void *b)
{
    const struct audit_row *x = a, *y = b;
    const int order = compare_u64(x->key, y->key);

    return order ? order : compare_u64(x->draw, y->draw);
}

/* Skips, then stretches. */
static int by_draw(const void *a, const void *b)
{
    const struct audit_row *x = a, *y = b;
    int order = is_stretch(x) - is_stretch(y);

    if (!order)
        order = compare_u64(x->draw, y->draw);
    return order ? order : compare_u64(x->key, y->key);
}

static void sort_rows(struct row_list *l, int (*order)(const void *a, const void *b))
{
    if (l->count > 1)
        qsort(l->row, l->count, sizeof *l->row, order);
}

/* ---- chance ---- */

/* Of a sum in which @count of a sample do the same, each with @variance; @up: all by the sample. */
static double cluster_variance(double count, double variance, double up)
{
    return (up * count + up * up * count * (count - 1)) * variance;
}

static double chance_variance(struct row_list *l, double skip_up, double stretch_up)
{
    uint32_t first = 0;
    double sum = 0;

    sort_rows(l, by_key);
    for (uint32_t i = 1; i <= l->count; i++)
        if (i == l->count || l->row[i].key != l->row[first].key) {
            sum += cluster_variance(i - first, l->row[first].variance_s2,
                                    is_stretch(&l->row[first]) ? stretch_up : skip_up);
            first = i;
        }
    return sum;
}

/* ---- the sample ---- */

/* What came by one draw is one value. */
struct sample {
    uint32_t skips, stretches; /* draws */
    double square;             /* of the skips' values, less what the ratio makes of them, in s^2 */
};

static struct sample look_at_sample(struct row_list *l, double ratio)
{
    struct sample m = {.skips = 0};
    double rest = 0;

    sort_rows(l, by_draw);
    for (uint32_t i = 0; i < l->count; i++) {
        const struct audit_row *r = &l->row[i];
        const int is_last =
            i + 1 == l->count || r[1].draw != r->draw || is_stretch(&r[1]) != is_stretch(r);

        rest += is_stretch(r) ? 0 : r->error_s - ratio * r->flow_s;
        if (!is_last)
            continue;
        if (is_stretch(r))
            m.stretches++;
        else
            m.skips++;
        m.square += rest * rest;
        rest = 0;
    }
    return m;
}

/* ---- the whole ---- */

static void find_bounds(struct row_list *l, const struct audit_sums *a,
                        const struct sim_skip_stats *skip, struct sim_audit_stats *out)
{
    const int is_whole = a->skips == skip->skips, has_all = a->stretches == a->stretches_all;
    const struct sample m = look_at_sample(l, (double)a->error_ps * 1e-12 / a->flow_s);
    const double up = skip->skipped_flow_s / a->flow_s;
    const double stretch_up = has_all ? 1 : a->stretch_all_s / a->stretch_flow_s;
    double variance, t, half;

    out->has_bounds =
        (uint8_t)((is_whole || m.skips >= SAMPLE_MIN) && (has_all || m.stretches >= SAMPLE_MIN));
    if (!out->has_bounds)
        return;
    t = has_all && is_whole ? sigmas(UINT32_MAX) : sigmas(m.skips - 1);
    if (!has_all && m.stretches < m.skips)
        t = sigmas(m.stretches);
    variance = chance_variance(l, up, stretch_up);
    if (!is_whole)
        variance += up * up * (1 - out->share) * m.square * m.skips / (m.skips - 1);
    half = t * sqrt(variance) / skip->flow_s;
    out->low = out->error - half;
    out->high = out->error + half;
}

void sim_audit_stats(const struct sim *s, struct sim_audit_stats *out)
{
    struct audit_sums sums = {.skips = 0};
    struct sim_skip_stats skip;
    struct row_list l;

    sim_skip_stats(s, &skip);
    *out = (struct sim_audit_stats){.share = s->audit_share,
                                    .skips = skip.skips,
                                    .hits = s->audit_hits,
                                    .hits_wrong = s->audit_hits_wrong};
    for (uint32_t i = 0; i < s->part_count; i++)
        audit_add(&sums, &s->parts[i]->audited, 1);
    out->audited = sums.skips;
    out->refused = sums.refused;
    out->events = sums.events;
    if (s->audit_share > 0 && !skip.skips)
        out->has_estimate = out->has_bounds = 1; /* nothing is off */
    if (!(sums.flow_s > 0 && skip.flow_s > 0))
        return;
    out->has_estimate = 1;
    out->error = skip.skipped_flow_s / sums.flow_s * (double)sums.error_ps * 1e-12 / skip.flow_s;
    gather_rows(s, &l);
    find_bounds(&l, &sums, &skip, out);
    free(l.row);
}
