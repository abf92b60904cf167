/*
 * stage_audit.c - what audits are told of stages that are taken from the memo.
 */
#include "stage_int.h"

#include <stdlib.h>

/* What the flows are given, by row of the view. */
static int64_t *make_bytes(const struct part *p, const struct stage_value *v, enum lens_sizes sizes)
{
    const struct stage *g = p->stage;
    const struct lens_key *k = &g->look.key[g->slot[sizes]];
    const struct stage_flow *f = stage__flows_of(v);
    int64_t *bytes = malloc(v->flow_count * sizeof *bytes);

    check(bytes != NULL, "out of memory for an audit of %u flows", v->flow_count);
    for (uint32_t i = 0; i < v->flow_count; i++)
        bytes[p->tx[g->look.flow[k->flow[i]].id].member] = f[i].acked_bytes;
    return bytes;
}

void stage__audit(struct part *p, const struct stage_value *v, enum lens_sizes sizes,
                  uint64_t entry)
{
    const int64_t until = episode__base(p, p->now) + v->end_ps;
    struct audit_view view;
    int64_t *bytes;

    if (!(p->s->audit_share > 0))
        return;
    freeze_view(p, &view);
    if (!audit_stage(p, &view, until))
        return;
    bytes = make_bytes(p, v, sizes);
    audit_stage_run(p, &view, &(struct audit_taken){until, bytes, entry});
    free(bytes);
}

void stage__audit_end(struct part *p)
{
    struct audit_view view;

    if (!(p->s->audit_share > 0))
        return;
    freeze_view(p, &view);
    audit_stage_end(p, &view);
}
