/*
 * detect_adopt.c - a partition takes a verdict that a partition like it has come to.
 *
 * What was seen is the other one's, what is left to send is its own: so the length of the skip is
 * found anew. What earlier skips of its own left over is kept, and so is the time since its control
 * event, which limits skips.
 */
#include "detect_int.h"

#include <stdlib.h>

/* Without the time since the last edge. */
static int64_t age_ps(const struct detect *d)
{
    const uint32_t edges = d->edge_count;

    return (edges ? d->edge_ps[edges - 1] - d->begin_ps : 0) + d->skipped_ps;
}

/* The flow's bytes at its control event, as they come out with what is left now. */
static void set_remaining(struct detect *d, uint32_t flow, int64_t bytes, int64_t acked_bytes)
{
    struct detect__flow *f = &d->flow[flow];

    f->remaining_bytes = bytes + acked_bytes - f->acked_bytes + f->skipped_bytes;
}

static void decide_anew(struct detect *d, int64_t now_ps, struct detect_verdict *v)
{
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
    /* at the thaw, and since */
    const int64_t thaw_ps = keeps ? d->edge_ps[0] : 0;
    const int64_t age = keeps ? thaw_ps - d->begin_ps + d->skipped_ps : 0;
    int64_t *carry = NULL;
    int rc;

    if (keeps && !(carry = malloc(flows * sizeof *carry)))
        return WH_ERR_NOMEM;
    for (uint32_t i = 0; keeps && i < flows; i++)
        carry[i] = d->flow[i].carry;
    rc = detect_restore(d, p, f, state, state_bytes);
    if (!rc && (d->state == DETECT__FROZEN) != (v != NULL))
        rc = WH_ERR_INPUT;
    if (!rc && keeps) {
        for (uint32_t i = 0; i < d->flow_count; i++)
            d->flow[i].carry = i < flows ? carry[i] : 0;
        d->skipped_ps += age + d->edge_ps[d->edge_count - 1] - thaw_ps - age_ps(d);
        d->skipped_ps = d->skipped_ps > 0 ? d->skipped_ps : 0;
    }
    free(carry);
    if (rc) {
        detect__stop(d);
        return rc;
    }
    for (uint32_t i = 0; i < d->flow_count; i++)
        set_remaining(d, i, remaining_bytes[i], f->acked_bytes[i]);
    if (v)
        decide_anew(d, f->now_ps, v);
    return 0;
}
