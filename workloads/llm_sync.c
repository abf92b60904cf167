/*
 * llm_sync.c - gradients and parameters between replicas: data parallelism and its ZeRO stages.
 *
 * ZeRO 0 reduces gradients to all; 1 and 2 reduce them to the rank that owns them and gather the
 * parameters after the optimizer's step (the same bytes; Rajbhandari et al., SC 2020); 3 keeps only
 * a share of the parameters and gathers each layer before it is used. Parameters outside the
 * experts and those of the experts are two sets, reduced over different ranks. A set is cut into
 * buckets of equal size in the order in which backward passes come to them.
 */
#include "llm_int.h"

static int is_overlapped(const struct llm_spec *s)
{
    return s->overlap_gradients || s->overlap_parameters;
}

/* The sets that a stream is in charge of: bit 0 outside the experts, bit 1 the experts'. */
static unsigned sets_of(const struct llm_spec *s, uint32_t stream)
{
    const unsigned dense = llm__has_group(s, LLM_GROUP_DP) ? 1 : 0;
    const unsigned experts = s->experts && llm__has_group(s, LLM_GROUP_EDP) ? 2 : 0;

    if (s->zero == 3)
        return dense | experts;
    if (is_overlapped(s))
        return stream == LLM_STREAM_SYNC ? dense : experts;
    return stream == LLM_STREAM_SYNC ? dense | experts : 0;
}

uint32_t llm__reduced_count(const struct llm *g)
{
    const struct llm_spec *s = &g->spec;

    if (s->zero == 3)
        return sets_of(s, LLM_STREAM_SYNC2) != 0;
    return (sets_of(s, LLM_STREAM_SYNC) ? 1u : 0u) + (sets_of(s, LLM_STREAM_SYNC2) ? 1u : 0u);
}

uint32_t llm__synced_count(const struct llm *g)
{
    const struct llm_spec *s = &g->spec;

    return s->zero == 0 || s->zero == 3 || s->overlap_parameters ? 0 : llm__reduced_count(g);
}

int llm__gathers(const struct llm_spec *s, const struct llm_slot *slot)
{
    return s->zero == 3 && sets_of(s, LLM_STREAM_SYNC) != 0 &&
           (slot->micro_batch == 0 || s->gather_every_micro_batch);
}

/* ---- which layers a bucket needs ---- */

static uint64_t set_params(const struct llm *g, uint32_t stage, int is_expert)
{
    return is_expert ? llm_expert_params(&g->spec) : llm_stage_params(&g->spec, stage);
}

/* Parameters of the @n-th layer of a stage, with what the stage has before and behind its layers.
 */
static uint64_t nth_params(const struct llm *g, uint32_t stage, uint32_t n, int is_expert)
{
    uint64_t params = g->sizes.layer_params;

    if (is_expert)
        return g->sizes.layer_expert_params;
    if (n == 0)
        params += llm__front_params(&g->spec, stage);
    if (n == g->sizes.stage_layers - 1)
        params += llm__back_params(&g->spec, stage);
    return params;
}

uint32_t llm__buckets_before(const struct llm *g, uint32_t stage, uint32_t chunk, uint32_t index,
                             int is_expert)
{
    const uint32_t n = chunk * g->sizes.layers_here + index;
    const uint64_t size = llm__bucket_size(&g->spec, set_params(g, stage, is_expert));
    uint64_t params = 0;

    for (uint32_t i = 0; i <= n; i++)
        params += nth_params(g, stage, i, is_expert);
    return (uint32_t)((params - 1) / size + 1);
}

/* Layers whose backward pass, last one first, must be over before a bucket is whole. */
static uint32_t layers_before(const struct llm *g, uint32_t stage, uint32_t bucket, int is_expert)
{
    const uint64_t all = set_params(g, stage, is_expert);
    const uint64_t size = llm__bucket_size(&g->spec, all);
    const uint64_t want = all / (bucket + 1) < size ? all : size * (bucket + 1);
    uint64_t params = 0;
    uint32_t n = 0;

    while (params < want && n < g->sizes.stage_layers)
        params += nth_params(g, stage, g->sizes.stage_layers - 1 - n++, is_expert);
    return n;
}

/* ---- operations ---- */

static void put_sync(struct llm_emit *m, enum coll_kind kind, int is_expert, uint64_t params)
{
    static const char *const names[] = {[COLL_ALL_REDUCE] = "gradients all-reduce",
                                        [COLL_REDUCE_SCATTER] = "gradients reduce-scatter",
                                        [COLL_ALL_GATHER] = "parameters all-gather"};
    static const enum llm_group groups[2][2] = {{LLM_GROUP_DP, LLM_GROUP_EDP},
                                                {LLM_GROUP_DP_REDUCE, LLM_GROUP_EDP_REDUCE}};
    const int is_apart = m->g->spec.zero == 3 && kind == COLL_REDUCE_SCATTER;
    const struct coll_call c = llm__call_sync(m->g, kind, params);

    llm__put_coll(m, is_expert ? LLM_EDP : LLM_DP, groups[is_apart][is_expert], &c, names[kind]);
}

/* Buckets of the sets of a stream, one set after the other. */
struct buckets {
    uint32_t count[2];
};

static struct buckets count_buckets(const struct llm_emit *m, unsigned sets)
{
    struct buckets b = {{0, 0}};

    for (int i = 0; i < 2; i++)
        if (sets >> i & 1)
            b.count[i] = llm__bucket_count(&m->g->spec, set_params(m->g, m->at.stage, i));
    return b;
}

static void put_bucket(struct llm_emit *m, const struct buckets *b, uint32_t unit,
                       enum coll_kind kind)
{
    const int is_expert = unit >= b->count[0];
    const uint32_t bucket = is_expert ? unit - b->count[0] : unit;
    const uint64_t all = set_params(m->g, m->at.stage, is_expert);

    put_sync(m, kind, is_expert, llm__bucket_params(&m->g->spec, all, bucket));
}

static void put_reduce(struct llm_emit *m, const struct buckets *b, uint32_t unit)
{
    const struct llm_spec *s = &m->g->spec;
    const uint32_t per_iteration = s->overlap_gradients ? m->g->sizes.stage_layers : 1;
    const int is_expert = unit >= b->count[0];
    const uint32_t bucket = is_expert ? unit - b->count[0] : unit;
    const uint32_t layers =
        s->overlap_gradients ? layers_before(m->g, m->at.stage, bucket, is_expert) : 1;

    llm__put_wait(m, LLM_EV_GRAD, m->pos->iter * per_iteration + layers);
    put_bucket(m, b, unit, s->zero ? COLL_REDUCE_SCATTER : COLL_ALL_REDUCE);
}

/* Parameters of the step before, while the forward pass has begun. */
static void put_early_gather(struct llm_emit *m, const struct buckets *b, uint32_t unit)
{
    llm__put_wait(m, LLM_EV_STEPPED, m->pos->iter);
    put_bucket(m, b, unit, COLL_ALL_GATHER);
    llm__put_record(m, unit >= b->count[0] ? LLM_EV_GATHERED2 : LLM_EV_GATHERED);
}

static void put_late_gather(struct llm_emit *m, const struct buckets *b, uint32_t unit)
{
    llm__put_wait(m, LLM_EV_STEPPED, m->pos->iter + 1);
    put_bucket(m, b, unit, COLL_ALL_GATHER);
}

/* Units: early gathers, reductions, "reduced", late gathers, "gathered". */
static int emit_buckets(struct llm_emit *m, uint32_t stream)
{
    const struct llm_spec *s = &m->g->spec;
    const unsigned sets = sets_of(s, stream);
    const struct buckets b = count_buckets(m, sets);
    const uint32_t n = b.count[0] + b.count[1];
    const uint32_t early = s->overlap_parameters ? n : 0;
    const uint32_t unit = m->pos->unit;

    if (!sets)
        return 0;
    if (unit < early)
        put_early_gather(m, &b, unit);
    else if (unit < early + n)
        put_reduce(m, &b, unit - early);
    else if (unit == early + n)
        llm__put_record(m, LLM_EV_REDUCED);
    else if (!llm__synced_count(m->g))
        return 0;
    else if (unit <= early + 2 * n)
        put_late_gather(m, &b, unit - early - n - 1);
    else if (unit == early + 2 * n + 1)
        llm__put_record(m, LLM_EV_SYNCED);
    else
        return 0;
    return 1;
}

/* ---- ZeRO-3 ---- */

static void put_layer_sync(struct llm_emit *m, enum coll_kind kind, uint32_t n)
{
    const unsigned sets = sets_of(&m->g->spec, LLM_STREAM_SYNC);

    for (int i = 0; i < 2; i++)
        if (sets >> i & 1)
            put_sync(m, kind, i, nth_params(m->g, m->at.stage, n, i));
}

/* One unit per layer of a slot, as in the main stream; one layer ahead of it. */
static int emit_gathers(struct llm_emit *m)
{
    const struct llm *g = m->g;
    const uint32_t here = g->sizes.layers_here, unit = m->pos->unit;
    struct llm_slot slot;
    uint32_t index;

    if (unit >= llm__slot_count(&g->spec) * here)
        return 0;
    llm__slot(&g->spec, m->at.stage, unit / here, &slot);
    if (!llm__gathers(&g->spec, &slot))
        return 1;
    index = slot.is_backward ? here - 1 - unit % here : unit % here;
    llm__put_wait(m, LLM_EV_STEPPED, m->pos->iter);
    llm__put_wait(m, LLM_EV_LAYER, m->pos->gathers);
    put_layer_sync(m, COLL_ALL_GATHER, slot.chunk * here + index);
    llm__put_record(m, LLM_EV_GATHERED);
    return 1;
}

static int emit_reductions(struct llm_emit *m)
{
    const struct llm *g = m->g;
    const uint32_t layers = g->sizes.stage_layers, n = m->pos->unit;

    if (n > layers || !sets_of(&g->spec, LLM_STREAM_SYNC2))
        return 0;
    if (n == layers) {
        llm__put_record(m, LLM_EV_REDUCED);
        return 1;
    }
    llm__put_wait(m, LLM_EV_GRAD, m->pos->iter * layers + n + 1);
    put_layer_sync(m, COLL_REDUCE_SCATTER, layers - 1 - n);
    return 1;
}

int llm__emit_sync(struct llm_emit *m, uint32_t stream)
{
    if (m->g->spec.zero != 3)
        return emit_buckets(m, stream);
    return stream == LLM_STREAM_SYNC ? emit_gathers(m) : emit_reductions(m);
}
