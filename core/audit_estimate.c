/*
 * audit_estimate.c - what audits say of a whole run.
 *
 * The error of the mean completion time is the sum of the errors of the skips, from the sample by
 * the ratio to the flow time skipped, and so of the stages that came from the memo through the fcg
 * lens. Its variance is made of three parts. The first is the sample's, of a ratio estimate. The
 * second is chance: what the audited skips and what the disturbed stretches come to. A skip leaves
 * another state behind, and the run without skipping is only one of those that could have been.
 * CHANCE (audit_int.h) stretches it: each is known by one value only. The factor was chosen on
 * seeds 1 to 256 of bench/bench_audit, and holds on others (docs/validation.md). The third is
 * resolution: skips are whole packets.
 *
 * Chance is independent in different places, but the same wherever the same happens again, which in
 * collective traffic it does thousands of times; that is told by the keys of the rows.
 */
#include "audit_int.h"

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

static enum audit_kind kind_of(const struct audit_row *r)
{
    return (enum audit_kind)(r->key & AUDIT_KIND_MASK);
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

/* Skips, then stretches, then stages. */
static int by_draw(const void *a, const void *b)
{
    const struct audit_row *x = a, *y = b;
    int order = (int)kind_of(x) - (int)kind_of(y);

    if (!order)
        order = compare_u64(x->draw, y->draw);
    return order ? order : compare_u64(x->key, y->key);
}

static void sort_rows(struct row_list *l, int (*order)(const void *a, const void *b))
{
    if (l->count > 1)
        qsort(l->row, l->count, sizeof *l->row, order);
}

/* ---- the populations: skips, stretches, stages from the memo through the fcg lens ---- */

struct population {
    uint64_t all, audited;
    double up;        /* flow time of all to that of the audited ones */
    double error_s;   /* of the audited ones */
    uint32_t draws;   /* what came by one draw is one value */
    double square_s2; /* of these values, less what the ratio makes of them */
};

#define KINDS (AUDIT_STAGE + 1)

static struct population make_population(uint64_t all, uint64_t audited, double all_s,
                                         double audited_s)
{
    return (struct population){
        .all = all, .audited = audited, .up = audited_s > 0 ? all_s / audited_s : 1};
}

static void make_populations(const struct audit_sums *a, const struct sim_skip_stats *skip,
                             struct population out[KINDS])
{
    out[AUDIT_SKIP] =
        make_population(skip->skips, a->skips, skip->skipped_flow_s - a->nudge_s, a->flow_s);
    out[AUDIT_SKIP].error_s = (double)a->error_ps * 1e-12;
    out[AUDIT_STRETCH] =
        make_population(a->stretches_all, a->stretches, a->stretch_all_s, a->stretch_flow_s);
    out[AUDIT_STAGE] = make_population(a->stages_all + a->nudges_all, a->stages + a->nudges,
                                       a->stage_all_s, a->stage_flow_s);
    out[AUDIT_STAGE].error_s = (double)a->stage_error_ps * 1e-12;
}

static int is_whole(const struct population *k)
{
    return k->audited == k->all;
}

/* ---- chance ---- */

/* Of a sum in which @count of a sample do the same, each with @variance; @up: all by the sample. */
static double cluster_variance(double count, double variance, double up)
{
    return (up * count + up * up * count * (count - 1)) * variance;
}

static double chance_variance(struct row_list *l, const struct population k[KINDS])
{
    uint32_t first = 0;
    double sum = 0, variance = 0;

    sort_rows(l, by_key);
    for (uint32_t i = 0; i < l->count; i++) {
        const uint32_t count = i + 1 - first;

        variance += l->row[i].variance_s2;
        if (i + 1 < l->count && l->row[i + 1].key == l->row[first].key)
            continue;
        sum += cluster_variance(count, variance / count, k[kind_of(&l->row[i])].up);
        variance = 0;
        first = i + 1;
    }
    return sum;
}

/* ---- the sample ---- */

static void look_at_sample(struct row_list *l, const double flow_s[KINDS],
                           struct population k[KINDS])
{
    double rest = 0;

    sort_rows(l, by_draw);
    for (uint32_t i = 0; i < l->count; i++) {
        const struct audit_row *r = &l->row[i];
        struct population *of = &k[kind_of(r)];

        rest +=
            flow_s[kind_of(r)] > 0 ? r->error_s - of->error_s / flow_s[kind_of(r)] * r->flow_s : 0;
        if (i + 1 < l->count && r[1].draw == r->draw && kind_of(&r[1]) == kind_of(r))
            continue;
        of->draws++;
        of->square_s2 += rest * rest;
        rest = 0;
    }
}

static int has_enough(const struct population *k)
{
    return is_whole(k) || k->draws >= SAMPLE_MIN;
}

/* What the sample leaves open. */
static double sample_variance(const struct population *k, double share)
{
    if (is_whole(k))
        return 0;
    return k->up * k->up * (1 - share) * k->square_s2 * k->draws / (k->draws - 1);
}

/* Of the smallest sample that something is left open of. */
static double t_of(const struct population k[KINDS])
{
    uint32_t freedom = UINT32_MAX;

    for (int i = 0; i < KINDS; i++) {
        const uint32_t own = i == AUDIT_STRETCH ? k[i].draws : k[i].draws - 1;

        if (!is_whole(&k[i]) && own < freedom)
            freedom = own;
    }
    return sigmas(freedom);
}

/* ---- the whole ---- */

/* The error of the run, beside one of every packet; what of it comes from the lens, beside a run
 * without a memo. Skips of that run are off too, and by other rates: as much, maybe the other way.
 */
static void find_bounds(struct row_list *l, const struct audit_sums *a,
                        const struct sim_skip_stats *skip, struct population k[KINDS],
                        struct sim_audit_stats *out)
{
    const double flow_s[KINDS] = {
        [AUDIT_SKIP] = a->flow_s, [AUDIT_STRETCH] = 0, [AUDIT_STAGE] = a->stage_flow_s};
    const double skips_s = k[AUDIT_SKIP].up * k[AUDIT_SKIP].error_s;
    double chance, open_stages, half, t;

    look_at_sample(l, flow_s, k);
    out->has_bounds = (uint8_t)(has_enough(&k[AUDIT_SKIP]) && has_enough(&k[AUDIT_STRETCH]) &&
                                has_enough(&k[AUDIT_STAGE]));
    if (!out->has_bounds)
        return;
    t = t_of(k);
    chance = chance_variance(l, k);
    open_stages = sample_variance(&k[AUDIT_STAGE], out->share);
    half =
        t * sqrt(chance + open_stages + sample_variance(&k[AUDIT_SKIP], out->share)) / skip->flow_s;
    out->low = out->error - half;
    out->high = out->error + half;
    half = t * sqrt(chance + open_stages + CHANCE * skips_s * skips_s) / skip->flow_s;
    out->fcg.low = out->fcg.error - half;
    out->fcg.high = out->fcg.error + half;
}

static double share_of(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

static struct sim_fcg_audit fcg_of(const struct sim *s, const struct audit_sums *a)
{
    struct sim_fcg_audit f = {.hits = a->stages_all, .audited = a->stages};
    uint64_t bytes = 0, bytes_off = 0, flows = 0, off_ps = 0, off_ps_max = 0;

    for (uint32_t i = 0; i < s->part_count; i++) {
        const struct audit_hits h = audit_hits_of(s->parts[i]);

        bytes += h.bytes;
        bytes_off += h.bytes_off;
        flows += h.flows;
        off_ps += h.off_ps;
        off_ps_max = h.off_ps_max > off_ps_max ? h.off_ps_max : off_ps_max;
        f.bytes_off_max = h.bytes_off_max > f.bytes_off_max ? h.bytes_off_max : f.bytes_off_max;
    }
    f.bytes_off = share_of((double)bytes_off, (double)bytes);
    f.fct_off_s = share_of((double)off_ps * 1e-12, (double)flows);
    f.fct_off_max_s = (double)off_ps_max * 1e-12;
    return f;
}

void sim_audit_stats(const struct sim *s, struct sim_audit_stats *out)
{
    struct audit_sums sums = {.skips = 0};
    struct population k[KINDS];
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
    out->fcg = fcg_of(s, &sums);
    if (s->audit_share > 0 && !skip.skips && !(sums.stage_all_s > 0))
        out->has_estimate = out->has_bounds = 1; /* nothing is off */
    if ((skip.skips && !(sums.flow_s > 0)) || (sums.stage_all_s > 0 && !(sums.stage_flow_s > 0)) ||
        !(sums.flow_s + sums.stage_flow_s > 0 && skip.flow_s > 0))
        return;
    make_populations(&sums, &skip, k);
    out->has_estimate = 1;
    out->fcg.error = k[AUDIT_STAGE].up * k[AUDIT_STAGE].error_s / skip.flow_s;
    out->error = k[AUDIT_SKIP].up * k[AUDIT_SKIP].error_s / skip.flow_s + out->fcg.error;
    gather_rows(s, &l);
    find_bounds(&l, &sums, &skip, k, out);
    free(l.row);
}
