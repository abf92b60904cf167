/*
 * audit_estimate.c - what audits say of a whole run.
 *
 * The error of the mean completion time is the sum of the errors of the skips, from the sample by
 * the ratio to the flow time skipped. Its variance is made of four parts. The first is the
 * sample's, of a ratio estimate. The second and third are chance: what the audited skips and what
 * the disturbed stretches come to, each taken as independent; a skip is left with another state,
 * and the run without skipping is only one of those that could have been. The last is resolution:
 * skips are whole packets. CHANCE stretches the second and third: they rest on few values, one
 * each. It was chosen on seeds 1 to 256 of bench/bench_audit and holds on others
 * (docs/validation.md).
 */
#include "sim_int.h"

#include <math.h>

#define CHANCE 1.5
#define SIGMAS_95 1.96
#define SAMPLE_MIN 8u /* of more than that, to say anything */

/* Student's t of the two-sided 95 % for so many values; good to 1 % from 8 on. */
static double sigmas(double values)
{
    return SIGMAS_95 + 2.8 / (values - 1);
}

static int is_enough(uint64_t sample, uint64_t all)
{
    return sample == all || sample >= SAMPLE_MIN;
}

/* Of the sum over all skips by those in the sample, in s^2; n > 1. */
static double sample_variance(const struct audit_sums *a, double skips, double up)
{
    const double n = (double)a->skips, ratio = (double)a->error_ps * 1e-12 / a->flow_s;
    const double square = a->square - 2 * ratio * a->cross + ratio * ratio * a->flow_square;

    return square > 0 ? up * up * (1 - n / skips) * square * n / (n - 1) : 0;
}

static void estimate(const struct audit_sums *a, double skipped_s, double fct_s,
                     struct sim_audit_stats *out)
{
    const double up = skipped_s / a->flow_s;
    const double stretch_up = a->stretch_flow_s > 0 ? a->stretch_all_s / a->stretch_flow_s : 1;
    const double chance = CHANCE * (up * a->square + stretch_up * a->stretch_square);
    double half_s = SIGMAS_95 * SIGMAS_95 * (chance + up * a->packet_square);

    out->has_estimate = 1;
    out->error = up * (double)a->error_ps * 1e-12 / fct_s;
    out->has_bounds =
        (uint8_t)(is_enough(a->skips, out->skips) && is_enough(a->stretches, a->stretches_all));
    if (!out->has_bounds)
        return;
    if (a->skips < out->skips) {
        const double t = sigmas((double)a->skips);

        half_s += t * t * sample_variance(a, (double)out->skips, up);
    }
    half_s = sqrt(half_s);
    out->low = out->error - half_s / fct_s;
    out->high = out->error + half_s / fct_s;
}

void sim_audit_stats(const struct sim *s, struct sim_audit_stats *out)
{
    struct audit_sums sums = {.skips = 0};
    struct sim_skip_stats skip;
    double skipped_s = 0;

    sim_skip_stats(s, &skip);
    *out = (struct sim_audit_stats){.share = s->audit_share,
                                    .skips = skip.skips,
                                    .hits = s->audit_hits,
                                    .hits_wrong = s->audit_hits_wrong};
    for (uint32_t i = 0; i < s->part_count; i++)
        audit_add(&sums, &s->parts[i]->audited, 1);
    skipped_s = skip.skipped_flow_s;
    out->audited = sums.skips;
    out->refused = sums.refused;
    out->events = sums.events;
    if (s->audit_share > 0 && !skip.skips)
        out->has_estimate = out->has_bounds = 1; /* nothing is off */
    else if (sums.flow_s > 0 && skip.flow_s > 0)
        estimate(&sums, skipped_s, skip.flow_s, out);
}
