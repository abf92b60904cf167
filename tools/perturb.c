/*
 * perturb.c - see perturb.h.
 */
#include "perturb.h"

#include "rng.h"
#include "units.h"

#include <stdlib.h>

#define STREAM_SHIFT UINT64_C(0x5348494654) /* of random numbers; the run is added */

struct perturb perturb_of(const struct scenario *sc, uint32_t run)
{
    return (struct perturb){.seed = sc->cfg.seed, .run = run, .step_ps = sc->cfg.round_ps};
}

int64_t perturb_shift_ps(const struct perturb *p, uint64_t row)
{
    const int64_t steps = (PERTURB_SHIFT_NS_MAX * PS_PER_NS) / p->step_ps + 1;

    if (p->run == 0)
        return 0;
    return p->step_ps * rng_below(rng_u64(p->seed, STREAM_SHIFT + p->run, row), (uint32_t)steps);
}

/* ---- flows and seed ---- */

/* Between its two thresholds a queue marks by lot. */
static int has_random_marks(const struct sim_config *c)
{
    if (!c->ecn || (c->cc != CC_DCQCN && c->cc != CC_DCTCP))
        return 0; /* the others do not obey marks */
    for (uint32_t i = 0; i < c->ecn_row_count; i++)
        if (c->ecn_rows[i].kmax_bytes > c->ecn_rows[i].kmin_bytes)
            return 1;
    return 0;
}

static int has_losses(const struct topo *t)
{
    for (uint32_t i = 0; i < t->class_count; i++)
        if (t->classes[i].error_rate > 0)
            return 1;
    return 0;
}

int perturb_draws(const struct scenario *sc)
{
    return has_random_marks(&sc->cfg) || has_losses(sc->topo);
}

void perturb_scenario(const struct perturb *p, struct scenario *sc)
{
    for (uint32_t i = 0; i < sc->flow_count; i++)
        sc->flows[i].start_ps += perturb_shift_ps(p, i);
    if (perturb_draws(sc))
        sc->cfg.seed = p->seed + p->run;
}

/* ---- ranks ---- */

/* The operation is known by this name's address. */
static const char shift_name[] = "late start";

static int next(void *ctx, uint32_t rank, uint32_t stream, struct op *out)
{
    struct perturb_program *w = ctx;
    uint8_t *has_begun = &w->has_begun[(size_t)rank * w->stream_count + stream];

    if (*has_begun)
        return w->inner.next(w->inner.ctx, rank, stream, out);
    *has_begun = 1;
    *out = (struct op){
        .kind = OP_COMPUTE, .name = shift_name, .duration_ps = perturb_shift_ps(&w->p, rank)};
    return DAG_OP;
}

static void done(void *ctx, uint32_t rank, uint32_t stream, const struct op *op, int64_t now_ps)
{
    const struct perturb_program *w = ctx;

    if (w->inner.done && op->name != shift_name)
        w->inner.done(w->inner.ctx, rank, stream, op, now_ps);
}

static const char *stream_name(void *ctx, uint32_t stream)
{
    const struct perturb_program *w = ctx;

    return w->inner.stream_name(w->inner.ctx, stream);
}

static void waits(void *ctx, uint32_t rank, uint32_t stream, char *buf, size_t buf_bytes)
{
    const struct perturb_program *w = ctx;

    w->inner.waits(w->inner.ctx, rank, stream, buf, buf_bytes);
}

int perturb_program_init(struct perturb_program *w, const struct perturb *p, struct dag_spec *spec)
{
    const size_t streams = (size_t)spec->place->rank_count * spec->stream_count;
    const struct dag_program inner = spec->program;

    *w = (struct perturb_program){.p = *p,
                                  .inner = inner,
                                  .stream_count = spec->stream_count,
                                  .has_begun = calloc(streams, sizeof *w->has_begun)};
    if (!w->has_begun)
        return WH_ERR_NOMEM;
    spec->program = (struct dag_program){.ctx = w,
                                         .next = next,
                                         .done = done,
                                         .stream_name = inner.stream_name ? stream_name : NULL,
                                         .waits = inner.waits ? waits : NULL};
    return 0;
}

void perturb_program_fini(struct perturb_program *w)
{
    free(w->has_begun);
    w->has_begun = NULL;
}
