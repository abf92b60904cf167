/*
 * detect_paper.c - the rule of Wormhole (NSDI 2026), for comparison: a flow is steady if the range
 * of its sending rate over the last l ACKs is below theta of the mean; a partition is if all its
 * flows are. The mean then is the estimate.
 *
 * Samples are kept in blocks of l / 50, so the window is l to l + l / 50 samples and a flow takes
 * about a kilobyte. The window is fresh after each control event and each thaw.
 */
#include "detect_int.h"

#include <math.h>
#include <string.h>

static uint32_t block_samples(const struct detect *d)
{
    return (d->p->spec.paper_samples + DETECT__PAPER_BLOCKS - 1) / DETECT__PAPER_BLOCKS;
}

void detect__paper_reset(struct detect *d)
{
    if (d->paper)
        memset(d->paper, 0, d->flow_count * sizeof *d->paper);
}

void detect_on_ack(struct detect *d, uint32_t flow, int64_t rate_bps)
{
    struct detect__paper *p;
    struct detect__paper_block *b;

    if (d->state != DETECT__WATCHING || !d->paper)
        return;
    dcheck(flow < d->flow_count, "flow %u of %u", flow, d->flow_count);
    p = &d->paper[flow];
    if (p->newest_samples == block_samples(d)) {
        p->newest = (p->newest + 1) % (DETECT__PAPER_BLOCKS + 1);
        p->newest_samples = 0;
        if (p->full_count < DETECT__PAPER_BLOCKS)
            p->full_count++;
    }
    if (rate_bps > DETECT__RATE_BPS_MAX)
        rate_bps = DETECT__RATE_BPS_MAX;
    b = &p->block[p->newest];
    if (!p->newest_samples++) {
        *b = (struct detect__paper_block){rate_bps, rate_bps, rate_bps};
        return;
    }
    b->min_bps = rate_bps < b->min_bps ? rate_bps : b->min_bps;
    b->max_bps = rate_bps > b->max_bps ? rate_bps : b->max_bps;
    b->sum_bps += rate_bps;
}

/* Over the blocks of a flow. */
struct paper_range {
    int64_t min_bps, max_bps;
    double mean_bps;
};

static struct paper_range find_range(const struct detect *d, uint32_t flow)
{
    const struct detect__paper *p = &d->paper[flow];
    struct paper_range r = {.min_bps = INT64_MAX};
    double count = 0;

    for (uint32_t i = 0; i <= p->full_count; i++) {
        const uint32_t at = (p->newest + DETECT__PAPER_BLOCKS + 1 - i) % (DETECT__PAPER_BLOCKS + 1);
        const struct detect__paper_block *b = &p->block[at];
        const uint32_t samples = i ? block_samples(d) : p->newest_samples;

        if (!samples)
            continue;
        r.min_bps = b->min_bps < r.min_bps ? b->min_bps : r.min_bps;
        r.max_bps = b->max_bps > r.max_bps ? b->max_bps : r.max_bps;
        r.mean_bps += (double)b->sum_bps;
        count += samples;
    }
    r.mean_bps /= count > 0 ? count : 1;
    return r;
}

static int test_counts(const struct detect *d, struct detect_verdict *v)
{
    for (uint32_t f = 0; f < d->flow_count; f++) {
        const struct detect__paper *p = &d->paper[f];
        const double count = (double)p->full_count * block_samples(d) + p->newest_samples;

        if (count < d->p->spec.paper_samples)
            return detect__fail(d, v, DETECT_TOO_EARLY, f, count, d->p->spec.paper_samples);
    }
    return 0;
}

/* Sets the estimates, if all flows are steady. */
static int test_ranges(struct detect *d, struct detect_verdict *v)
{
    for (uint32_t f = 0; f < d->flow_count; f++) {
        const struct paper_range r = find_range(d, f);
        const double range = (double)(r.max_bps - r.min_bps);

        /* A mean of 0 fails too. */
        if (!(range < d->p->spec.theta * r.mean_bps) || r.mean_bps < 1)
            return detect__fail(d, v, DETECT_FLUCTUATES, f, r.mean_bps > 0 ? range / r.mean_bps : 0,
                                d->p->spec.theta);
        d->estimate[f].rate = (struct detect__rate){llrint(r.mean_bps), (int64_t)DETECT__BIT_PS};
    }
    return 0;
}

void detect__paper_decide(struct detect *d, struct detect_verdict *v)
{
    struct detect__end end;

    v->window_ps = d->edge_ps[d->edge_count - 1] - d->edge_ps[0];
    if (test_counts(d, v) || test_ranges(d, v))
        return;
    end = detect__find_end(d);
    v->bound = DETECT_ENDING;
    if (end.first_ps <= 0)
        detect__fail(d, v, DETECT_ENDING, end.flow, end.finish_ps, (double)d->plan.guard_ps);
    else
        detect__freeze(d, &end, end.first_ps, v);
}
