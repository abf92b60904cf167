/*
 * stage_audit.c - what audits are told of stages that are taken from the memo.
 */
#include "stage_int.h"

#include <stdlib.h>
#include <string.h>

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

struct taken {
    struct audit_taken audit; /* first: is_as_known is given this */
    const struct stage_value *value;
    size_t value_bytes;
    enum lens_sizes sizes;
    int64_t base;
};

/* The state is that of the entry, bit for bit. */
static int is_as_known(struct part *p, const struct audit_taken *audit)
{
    const struct taken *t = (const struct taken *)audit;
    const uint8_t *end = stage__watch_of(t->value) + t->value->watch_bytes;
    const size_t end_bytes = t->value_bytes - (size_t)(end - (const uint8_t *)t->value);
    struct bytes *state = &p->s->memo_value;
    struct snapshot_map m;

    p->now = audit->until;
    state->count = 0;
    stage__map_by(p, t->sizes, &m);
    snapshot_save(p, &m, t->base, 0, state);
    snapshot_unmap(p, &m);
    return state->count == end_bytes && !memcmp(state->at, end, end_bytes);
}

void stage__audit(struct part *p, const struct memo_value *known, enum lens_sizes sizes,
                  uint64_t entry)
{
    const struct stage_value *v = known->bytes;
    const int64_t base = episode__base(p, p->now), until = base + v->end_ps;
    struct audit_view view;
    int64_t *bytes;

    if (!(p->s->audit_share > 0))
        return;
    freeze_view(p, &view);
    if (!audit_stage(p, &view, until))
        return;
    bytes = make_bytes(p, v, sizes);
    audit_stage_run(
        p, &view,
        &(struct taken){{until, bytes, entry, is_as_known}, v, known->count, sizes, base}.audit);
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
