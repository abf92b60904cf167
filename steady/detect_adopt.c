/*
 * detect_adopt.c - a partition takes a verdict that a partition like it has come to.
 *
 * What was seen is the other one's, what is left to send is its own: so the length of the skip is
 * found anew. What earlier skips of its own left over is kept, and so is the time since its control
 * event, which limits skips.
 */
#include "detect_int.h"

#include <stdlib.h>

static int64_t age_ps(const struct detect *d)
{
    return d->edge_ps[d->edge_count - 1] - d->begin_ps + d->skipped_ps;
}

/* The flow's bytes at its control event, as they come out with what is left now. */
static void set_remaining(struct detect *d, uint32_t flow, int64_t bytes)
{
    struct detect__flow *f = &d->flow[flow];
    const struct detect__edge *edge = detect__edges(d, d->edge_count - 1) + flow;

    f->remaining_bytes = bytes + edge->acked_bytes - f->acked_bytes + f->skipped_bytes;
}

static void verdict(struct detect *d, int64_t now_ps, const int64_t *remaining_bytes,
                    struct detect_verdict *v)
{
    for (uint32_t f = 0; f < d->flow_count; f++)
        set_remaining(d, f, remaining_bytes[f]);
    d->state = DETECT__WATCHING;
    d->groups_valid = 0;
    d->next_sample_ps = now_ps + d->bin_ps;
    detect_decide(d, now_ps, v);
}

int detect_adopt(struct detect *d, const struct detect_params *p, const struct detect_frame *f,
                 const void *state, size_t state_bytes, const int64_t *remaining_bytes, int goes_on,
                 struct detect_verdict *v)
{
    const int keeps = goes_on && d->state == DETECT__WATCHING && d->has_thawed && d->edge_count;
    const uint32_t flows = d->flow_count;
    const int64_t since_ps = keeps ? f->now_ps - d->edge_ps[0] : 0;
    const int64_t age = keeps ? age_ps(d) - (d->edge_ps[d->edge_count - 1] - d->edge_ps[0]) : 0;
    int64_t *carry = NULL;
    int rc;

    if (keeps && !(carry = malloc(flows * sizeof *carry)))
        return WH_ERR_NOMEM;
    for (uint32_t i = 0; keeps && i < flows; i++)
        carry[i] = d->flow[i].carry;
    rc = detect_restore(d, p, f, state, state_bytes);
    if (!rc && d->state != DETECT__FROZEN)
        rc = WH_ERR_INPUT;
    if (!rc && keeps) {
        for (uint32_t i = 0; i < d->flow_count; i++)
            d->flow[i].carry = i < flows ? carry[i] : 0;
        d->skipped_ps += age + since_ps - age_ps(d);
        d->skipped_ps = d->skipped_ps > 0 ? d->skipped_ps : 0;
    }
    free(carry);
    if (rc)
        detect__stop(d);
    else
        verdict(d, f->now_ps, remaining_bytes, v);
    return rc;
}
