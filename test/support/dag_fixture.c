/*
 * dag_fixture.c - see dag_fixture.h.
 */
#include "dag_fixture.h"

#include "sim_fixture.h"

#include <stdlib.h>

struct sim_config dag_fix_config(void)
{
    struct sim_config c = fix_config(CC_NONE);

    c.payload_bytes = 9000;
    c.ack_every_packets = 16;
    c.has_window = 0;
    return c;
}

struct dag_fix *dag_fix_create_on(struct topo *topo, uint32_t ranks)
{
    const struct place_request r = {.kind = PLACE_PACKED, .rank_count = ranks};
    const struct sim_config cfg = dag_fix_config();
    struct dag_fix *f = calloc(1, sizeof *f);
    uint32_t all[DAG_FIX_RANKS];

    check(f && ranks <= DAG_FIX_RANKS, "%u ranks", ranks);
    f->rank_count = ranks;
    f->stream_count = 1;
    check(placement_init(&f->place, topo, &r, &f->e) == 0, "%s", f->e.text);
    f->s = fix_sim(topo, &cfg);
    for (uint32_t i = 0; i < ranks; i++)
        all[i] = i;
    (void)dag_fix_group(f, "all", all, ranks);
    return f;
}

struct dag_fix *dag_fix_create(uint32_t ranks, int64_t rate_bps, int64_t delay_ps)
{
    return dag_fix_create_on(fix_star(ranks, rate_bps, delay_ps), ranks);
}

void dag_fix_destroy(struct dag_fix *f)
{
    dag_destroy(f->d);
    sim_destroy(f->s);
    group_set_fini(&f->groups);
    placement_fini(&f->place);
    free(f);
}

uint32_t dag_fix_group(struct dag_fix *f, const char *name, const uint32_t *ranks, uint32_t count)
{
    uint32_t id;

    check(group_set_add(&f->groups, &f->place, name, ranks, count, &id, &f->e) == 0, "%s",
          f->e.text);
    return id;
}

void dag_fix_op(struct dag_fix *f, uint32_t rank, uint32_t stream, const struct op *op)
{
    struct dag_fix_script *s = &f->script[rank][stream];

    check(s->count < DAG_FIX_OPS && stream < DAG_FIX_STREAMS && rank < f->rank_count,
          "operation %u of rank %u, stream %u", s->count, rank, stream);
    s->op[s->count++] = *op;
    if (stream >= f->stream_count)
        f->stream_count = stream + 1;
}

void dag_fix_coll(struct dag_fix *f, uint32_t group, const struct coll_call *call)
{
    const struct group *g = &f->groups.groups[group];
    const struct op op = {.kind = OP_COLL, .group = group, .call = *call};

    for (uint32_t m = 0; m < g->rank_count; m++)
        dag_fix_op(f, g->rank[m], 0, &op);
}

static int next_op(void *ctx, uint32_t rank, uint32_t stream, struct op *out)
{
    struct dag_fix *f = ctx;
    struct dag_fix_script *s = &f->script[rank][stream];

    if (s->pos == s->count)
        return DAG_END;
    *out = s->op[s->pos];
    out->id = s->pos++;
    return DAG_OP;
}

static void keep_op(void *ctx, const struct op_record *r)
{
    struct dag_fix *f = ctx;

    check(f->op_count < DAG_FIX_RECORDS, "%u operations", f->op_count);
    f->op_copies[f->op_count] = *r->op;
    f->ops[f->op_count] = *r;
    f->ops[f->op_count].op = &f->op_copies[f->op_count];
    f->op_count++;
}

static void keep_coll(void *ctx, const struct coll_record *r)
{
    struct dag_fix *f = ctx;

    check(f->coll_count < DAG_FIX_RECORDS, "%u collectives", f->coll_count);
    f->colls[f->coll_count++] = *r;
}

int dag_fix_run(struct dag_fix *f)
{
    const struct dag_spec spec = {.place = &f->place,
                                  .groups = &f->groups,
                                  .program = {.ctx = f, .next = next_op},
                                  .observer = {f, keep_op, keep_coll},
                                  .stream_count = f->stream_count,
                                  .event_count = 4};

    check(dag_create(&f->d, &spec, &f->e) == 0, "%s", f->e.text);
    return dag_run(f->d, f->s, TIME_NEVER, &f->e);
}
