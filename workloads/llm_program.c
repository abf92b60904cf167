/*
 * llm_program.c - the operations of a rank: passes through its layers, and what they wait for.
 *
 * An iteration of the main stream is a row of units: one per pass of a chunk of layers, or per
 * layer of it where something happens between layers; then one that ends it. Other streams go
 * through units of their own and meet the main stream by events (llm_sync.c).
 */
#include "llm_int.h"

#include "rng.h"
#include "units.h"

#include <math.h>
#include <string.h>

#define STREAM_JITTER UINT64_C(0x6a697474657200)
#define OPS_PER_UNIT_MAX 64u

/* ---- one operation ---- */

struct op *llm__put(struct llm_emit *m, enum op_kind kind, const char *name)
{
    struct op *op = m->count++ == m->pos->op ? m->out : &m->scratch;

    *op = (struct op){.kind = kind, .name = name};
    return op;
}

void llm__put_coll(struct llm_emit *m, enum llm_kind label, enum llm_group group,
                   const struct coll_call *call, const char *name)
{
    struct op *op;

    if (!llm__has_group(&m->g->spec, group) || call->bytes == 0)
        return;
    if (group == LLM_GROUP_TP && !m->g->spec.simulate_tp)
        return;
    op = llm__put(m, OP_COLL, name);
    op->label = (uint8_t)label;
    op->group = m->g->group_of[group][m->rank];
    op->call = *call;
}

void llm__put_record(struct llm_emit *m, uint32_t event)
{
    llm__put(m, OP_RECORD, NULL)->event = event;
}

void llm__put_wait(struct llm_emit *m, uint32_t event, uint32_t total)
{
    struct op *op = llm__put(m, OP_WAIT, NULL);

    op->event = event;
    op->event_total = total;
}

/* Every computation has a draw of its own: by rank, iteration, unit and place in it. */
static double draw_jitter(const struct llm_emit *m)
{
    const struct llm_spec *s = &m->g->spec;
    const uint64_t units = (uint64_t)llm__slot_count(s) * m->g->sizes.layers_here + 1;
    const uint64_t n = (m->pos->iter * units + m->pos->unit) * OPS_PER_UNIT_MAX + m->count;
    const double u = rng_double(s->seed, STREAM_JITTER + m->rank, n);

    return 1 + s->compute_jitter * (2 * u - 1);
}

static void put_compute(struct llm_emit *m, double seconds, const char *name)
{
    const double factor = m->g->spec.compute_jitter > 0 ? draw_jitter(m) : 1;
    const int64_t ps = llround(seconds * factor * (double)PS_PER_S);

    llm__put(m, OP_COMPUTE, name)->duration_ps = ps;
}

/* ---- one layer ---- */

/* What a pass through a layer is about. */
struct pass {
    struct llm_slot slot;
    uint32_t index;     /* of the layer in its chunk */
    uint32_t layer;     /* in the model */
    uint32_t exchanges; /* CP: exchanges so far */
};

static void put_tp(struct llm_emit *m, enum coll_kind kind, const char *name)
{
    const struct coll_call c = llm__call_tp(m->g, kind);

    llm__put_coll(m, LLM_TP, LLM_GROUP_TP, &c, name);
}

/* Before a half: with sequence parallelism its input, or the gradient of its output, is gathered.
 */
static void open_half(struct llm_emit *m)
{
    if (m->g->spec.sequence_parallel)
        put_tp(m, COLL_ALL_GATHER, "tp all-gather");
}

static void close_half(struct llm_emit *m)
{
    if (m->g->spec.sequence_parallel)
        put_tp(m, COLL_REDUCE_SCATTER, "tp reduce-scatter");
    else
        put_tp(m, COLL_ALL_REDUCE, "tp all-reduce");
}

/* Keys and values go round while the attention is computed. */
static void put_attention(struct llm_emit *m, struct pass *p, double seconds, const char *name)
{
    const int has_ring = m->g->spec.cp > 1;

    open_half(m);
    if (has_ring)
        llm__put_record(m, LLM_EV_KV_GO);
    put_compute(m, seconds, name);
    if (has_ring)
        llm__put_wait(m, LLM_EV_KV_DONE, ++p->exchanges);
    close_half(m);
}

static void put_ep(struct llm_emit *m, uint32_t layer, int is_return, const char *name)
{
    const struct coll_call c = llm__call_ep(m->g, layer, is_return);

    llm__put_coll(m, LLM_EP, LLM_GROUP_EP, &c, name);
}

static void put_tpe(struct llm_emit *m, enum coll_kind kind, uint32_t layer, const char *name)
{
    const struct coll_call c = llm__call_tpe(m->g, kind, layer, m->at.ep);

    llm__put_coll(m, LLM_TPE, LLM_GROUP_TP, &c, name);
}

static void put_small(struct llm_emit *m, enum llm_group group, enum coll_kind kind, int64_t bytes,
                      const char *name)
{
    const struct coll_call c = {.kind = kind, .algo = COLL_RING, .bytes = bytes, .elem_bytes = 1};

    if (m->g->spec.small_terms)
        llm__put_coll(m, LLM_SMALL, group, &c, name);
}

/* To the experts and back; the backward pass takes the same ways in the same order. */
static void put_experts(struct llm_emit *m, const struct pass *p, double seconds, const char *name)
{
    const double load = llm__expert_load(m->g, p->layer, m->at.ep);

    put_ep(m, p->layer, 0, "dispatch");
    put_tpe(m, COLL_ALL_GATHER, p->layer, "expert all-gather");
    put_compute(m, seconds * load, name);
    put_tpe(m, COLL_REDUCE_SCATTER, p->layer, "expert reduce-scatter");
    put_ep(m, p->layer, 1, "combine");
}

static void put_ffn(struct llm_emit *m, const struct pass *p, double seconds, const char *name)
{
    if (m->g->spec.experts) {
        put_experts(m, p, seconds, name);
        return;
    }
    open_half(m);
    put_compute(m, seconds, name);
    close_half(m);
}

static void put_forward(struct llm_emit *m, struct pass *p)
{
    const struct llm_sizes *z = &m->g->sizes;

    put_attention(m, p, z->half_s[0], "attention");
    if (m->g->spec.experts)
        put_small(m, LLM_GROUP_EP, COLL_ALL_GATHER, 4 * (int64_t)m->g->spec.experts * m->g->spec.ep,
                  "token counts");
    put_ffn(m, p, z->half_s[1], m->g->spec.experts ? "experts" : "ffn");
}

/* The gathered input was not kept: Megatron-LM's choice with sequence parallelism. */
static void put_regather(struct llm_emit *m)
{
    if (m->g->spec.regather)
        put_tp(m, COLL_ALL_GATHER, "tp all-gather again");
}

static void put_backward(struct llm_emit *m, struct pass *p)
{
    const struct llm_sizes *z = &m->g->sizes;
    const double again = m->g->spec.recompute == LLM_RECOMPUTE_SELECTIVE ? z->core_s : 0;

    if (m->g->spec.recompute == LLM_RECOMPUTE_FULL)
        put_forward(m, p);
    if (!m->g->spec.experts)
        put_regather(m);
    put_ffn(m, p, 2 * z->half_s[1], m->g->spec.experts ? "experts backward" : "ffn backward");
    put_regather(m);
    put_attention(m, p, 2 * z->half_s[0] + again, "attention backward");
}

/* A whole chunk at once, where nothing happens between its layers. */
static void put_chunk(struct llm_emit *m, int is_backward)
{
    const struct llm_spec *s = &m->g->spec;
    const struct llm_sizes *z = &m->g->sizes;
    const double forward_s = z->layers_here * (z->half_s[0] + z->half_s[1]);
    double factor = 1, again_s = 0;

    if (is_backward) {
        factor = s->recompute == LLM_RECOMPUTE_FULL ? 3 : 2;
        again_s = s->recompute == LLM_RECOMPUTE_SELECTIVE ? z->core_s * z->layers_here : 0;
    }
    put_compute(m, factor * forward_s + again_s, is_backward ? "backward" : "forward");
}

/* ---- waiting for parameters, telling of gradients ---- */

/* Parameters that are gathered while the forward pass goes on: only the first one waits. */
static void wait_for_buckets(struct llm_emit *m, const struct pass *p)
{
    const struct llm *g = m->g;
    const struct llm_spec *s = &g->spec;
    const uint32_t stage = m->at.stage;

    if (!s->overlap_parameters || p->slot.is_backward || p->slot.micro_batch)
        return;
    if (llm__has_group(s, LLM_GROUP_DP))
        llm__put_wait(m, LLM_EV_GATHERED,
                      m->pos->iter * llm__bucket_count(s, llm_stage_params(s, stage)) +
                          llm__buckets_before(g, stage, p->slot.chunk, p->index, 0));
    if (s->experts && llm__has_group(s, LLM_GROUP_EDP))
        llm__put_wait(m, LLM_EV_GATHERED2,
                      m->pos->iter * llm__bucket_count(s, llm_expert_params(s)) +
                          llm__buckets_before(g, stage, p->slot.chunk, p->index, 1));
}

static void wait_for_layer(struct llm_emit *m, const struct pass *p)
{
    if (!llm__gathers(&m->g->spec, &p->slot))
        return;
    llm__put_wait(m, LLM_EV_GATHERED, m->pos->gathers + 1);
    llm__put_record(m, LLM_EV_LAYER);
}

static int counts_layers(const struct llm_spec *s)
{
    return s->overlap_gradients || s->zero == 3;
}

static void put_layer(struct llm_emit *m, struct pass *p)
{
    const struct llm_spec *s = &m->g->spec;

    wait_for_buckets(m, p);
    wait_for_layer(m, p);
    if (!m->g->is_layered)
        put_chunk(m, p->slot.is_backward);
    else if (p->slot.is_backward)
        put_backward(m, p);
    else
        put_forward(m, p);
    if (counts_layers(s) && p->slot.is_backward && p->slot.micro_batch == s->micro_batches - 1)
        llm__put_record(m, LLM_EV_GRAD);
}

/* ---- between stages ---- */

/* Stages and chunks in the order in which a forward pass goes through them. */
static uint32_t virtual_stage(const struct llm_emit *m, const struct llm_slot *slot)
{
    return slot->chunk * m->g->spec.pp + m->at.stage;
}

static uint32_t rank_of_stage(const struct llm_emit *m, uint32_t vstage)
{
    struct llm_place p = m->at;

    p.stage = vstage % m->g->spec.pp;
    return llm__rank_at(&m->g->spec, &p);
}

/* A transfer is numbered by the virtual stage that sends and its direction. */
static void put_receive(struct llm_emit *m, const struct llm_slot *slot)
{
    const uint32_t here = virtual_stage(m, slot);
    const uint32_t last = m->g->spec.pp * m->g->spec.virtual_stages - 1;
    const uint32_t from = slot->is_backward ? here + 1 : here - 1;
    struct op *op;

    if (here == (slot->is_backward ? last : 0))
        return;
    op = llm__put(m, OP_RECV, slot->is_backward ? "receive gradient" : "receive activation");
    op->label = LLM_PP;
    op->peer = rank_of_stage(m, from);
    op->tag = 2 * from + slot->is_backward;
    op->bytes = m->g->sizes.stage_send_bytes;
}

static void put_send(struct llm_emit *m, const struct llm_slot *slot)
{
    const uint32_t here = virtual_stage(m, slot);
    const uint32_t last = m->g->spec.pp * m->g->spec.virtual_stages - 1;
    struct op *op;

    if (here == (slot->is_backward ? 0 : last))
        return;
    op = llm__put(m, OP_SEND, slot->is_backward ? "send gradient" : "send activation");
    op->is_async = 1;
    op->label = LLM_PP;
    op->peer = rank_of_stage(m, slot->is_backward ? here - 1 : here + 1);
    op->tag = 2 * here + slot->is_backward;
    op->bytes = m->g->sizes.stage_send_bytes;
}

/* Vocabulary-parallel embedding and loss; see "small terms" in docs/workloads.md. */
static void put_ends(struct llm_emit *m, const struct llm_slot *slot, int is_first_unit,
                     int is_last_unit)
{
    const struct llm_sizes *z = &m->g->sizes;
    const uint32_t here = virtual_stage(m, slot);
    const uint32_t last = m->g->spec.pp * m->g->spec.virtual_stages - 1;
    const int64_t per_token = 4 * z->act_elems / m->g->spec.hidden;

    if (here == 0 && is_first_unit && !slot->is_backward)
        put_small(m, LLM_GROUP_TP, COLL_ALL_REDUCE, z->act_bytes, "embedding all-reduce");
    if (here == last && is_last_unit && !slot->is_backward)
        for (int i = 0; i < 3; i++)
            put_small(m, LLM_GROUP_TP, COLL_ALL_REDUCE, per_token, "loss all-reduce");
    if (here == last && is_first_unit && slot->is_backward)
        put_small(m, LLM_GROUP_TP, COLL_ALL_REDUCE, z->act_bytes, "head all-reduce");
}

/* ---- the main stream ---- */

static uint32_t units_of_slot(const struct llm *g)
{
    return g->is_layered ? g->sizes.layers_here : 1;
}

static void set_pass(const struct llm_emit *m, struct pass *p)
{
    const struct llm *g = m->g;
    const uint32_t units = units_of_slot(g), unit = m->pos->unit % units;

    llm__slot(&g->spec, m->at.stage, m->pos->unit / units, &p->slot);
    p->index = p->slot.is_backward ? units - 1 - unit : unit;
    p->layer = llm__layer(&g->spec, m->at.stage, p->slot.chunk, p->index);
    p->exchanges = m->pos->exchanges;
}

static void emit_pass(struct llm_emit *m)
{
    const uint32_t units = units_of_slot(m->g), unit = m->pos->unit % units;
    const int is_first = unit == 0, is_last = unit == units - 1;
    struct pass p;

    set_pass(m, &p);
    if (is_first)
        put_receive(m, &p.slot);
    if (is_first)
        put_ends(m, &p.slot, 1, 0);
    put_layer(m, &p);
    if (is_last)
        put_ends(m, &p.slot, 0, 1);
    if (is_last)
        put_send(m, &p.slot);
}

/* What is reduced besides the gradients: norms over t, the tied embedding, norm and overflow. */
static void put_small_gradients(struct llm_emit *m)
{
    const struct llm_spec *s = &m->g->spec;
    const int64_t elem = s->gradient_bytes;
    const int is_end = m->at.stage == 0 || m->at.stage == s->pp - 1;

    if (s->sequence_parallel)
        put_small(m, LLM_GROUP_TP, COLL_ALL_REDUCE,
                  (int64_t)llm__norm_params(s, m->at.stage) * elem, "norm gradients");
    if (s->family == LLM_GPT && s->pp > 1 && is_end)
        put_small(m, LLM_GROUP_EMBED, COLL_ALL_REDUCE,
                  (int64_t)s->vocabulary * s->hidden / s->tp * elem, "embedding gradients");
    put_small(m, LLM_GROUP_WORLD, COLL_ALL_REDUCE, 4, "overflow flag");
    put_small(m, LLM_GROUP_WORLD, COLL_ALL_REDUCE, 8, "gradient norm");
}

static void emit_end(struct llm_emit *m)
{
    const struct llm *g = m->g;
    const uint32_t rounds = m->pos->iter + 1;

    if (!counts_layers(&g->spec))
        llm__put_record(m, LLM_EV_GRAD);
    if (llm__reduced_count(g))
        llm__put_wait(m, LLM_EV_REDUCED, rounds * llm__reduced_count(g));
    put_small_gradients(m);
    if (g->spec.optimizer_ps)
        llm__put(m, OP_COMPUTE, "optimizer")->duration_ps = g->spec.optimizer_ps;
    llm__put_record(m, LLM_EV_STEPPED);
    if (llm__synced_count(g))
        llm__put_wait(m, LLM_EV_SYNCED, rounds * llm__synced_count(g));
    llm__put_wait(m, LLM_EV_STEPPED, rounds);
    if (m->count - 1 == m->pos->op)
        m->out->id = LLM_OP_ITERATION_END;
}

int llm__emit_main(struct llm_emit *m)
{
    const uint32_t units = llm__slot_count(&m->g->spec) * units_of_slot(m->g);

    if (m->pos->unit > units)
        return 0;
    if (m->pos->unit == units)
        emit_end(m);
    else
        emit_pass(m);
    return 1;
}

/* ---- context parallelism ---- */

/* Each rank passes on keys and values it got; the backward pass brings gradients along. */
static void put_exchange(struct llm_emit *m, uint32_t number, int64_t bytes)
{
    const struct coll_call c = {.kind = COLL_SEND_RECV,
                                .algo = COLL_RING,
                                .bytes = bytes,
                                .elem_bytes = (uint32_t)m->g->spec.activation_bytes};

    llm__put_wait(m, LLM_EV_KV_GO, number);
    for (uint32_t i = 1; i < m->g->spec.cp; i++)
        llm__put_coll(m, LLM_CP, LLM_GROUP_CP, &c, "keys and values");
    llm__put_record(m, LLM_EV_KV_DONE);
}

int llm__emit_cp(struct llm_emit *m)
{
    const struct llm *g = m->g;
    uint32_t number = m->pos->exchanges;
    struct pass p;

    if (g->spec.cp == 1 || m->pos->unit >= llm__slot_count(&g->spec) * units_of_slot(g))
        return 0;
    set_pass(m, &p);
    if (!p.slot.is_backward || g->spec.recompute == LLM_RECOMPUTE_FULL)
        put_exchange(m, ++number, g->sizes.kv_bytes);
    if (p.slot.is_backward)
        put_exchange(m, ++number, 2 * g->sizes.kv_bytes);
    return 1;
}

/* ---- the program ---- */

static int emit(struct llm_emit *m, uint32_t stream)
{
    switch (stream) {
    case LLM_STREAM_MAIN:
        return llm__emit_main(m);
    case LLM_STREAM_CP:
        return llm__emit_cp(m);
    default:
        return llm__emit_sync(m, stream);
    }
}

/* Passes over one unit: what it counted goes into the position. */
static void next_unit(const struct llm_emit *m, struct llm_pos *pos)
{
    const struct llm *g = m->g;

    if (pos->unit < llm__slot_count(&g->spec) * units_of_slot(g)) {
        struct pass p;

        set_pass(m, &p);
        pos->exchanges += 1;
        pos->exchanges += p.slot.is_backward && g->spec.recompute == LLM_RECOMPUTE_FULL;
        pos->gathers += llm__gathers(&g->spec, &p.slot) != 0;
    }
    pos->unit++;
    pos->op = 0;
}

static int next(void *ctx, uint32_t rank, uint32_t stream, struct op *out)
{
    struct llm *g = ctx;
    struct llm_pos *pos = &g->pos[(size_t)rank * LLM_STREAM_COUNT + stream];

    while (pos->iter < g->spec.iterations) {
        struct llm_emit m = {.g = g, .pos = pos, .rank = rank, .out = out};
        int more;

        llm__place_of(&g->spec, rank, &m.at);
        more = emit(&m, stream);
        check(m.count < OPS_PER_UNIT_MAX || stream == LLM_STREAM_CP, "%u operations in a unit",
              m.count);
        if (pos->op < m.count) {
            pos->op++;
            out->id |= 2 * pos->next_id++;
            return DAG_OP;
        }
        if (more) {
            next_unit(&m, pos);
            continue;
        }
        pos->iter++;
        pos->unit = pos->op = 0;
    }
    return DAG_END;
}

static void done(void *ctx, uint32_t rank, uint32_t stream, const struct op *op, int64_t now_ps)
{
    struct llm *g = ctx;
    const uint32_t iter = g->pos[(size_t)rank * LLM_STREAM_COUNT].iter;

    if (stream != LLM_STREAM_MAIN || !(op->id & LLM_OP_ITERATION_END))
        return;
    g->iteration_ranks[iter]++;
    if (now_ps > g->iteration_end_ps[iter])
        g->iteration_end_ps[iter] = now_ps;
}

static const char *stream_name(void *ctx, uint32_t stream)
{
    static const char *const names[LLM_STREAM_COUNT] = {
        "main", "gradients and parameters", "gradients and parameters 2", "keys and values"};

    (void)ctx;
    return stream < LLM_STREAM_COUNT ? names[stream] : "?";
}

void llm_dag_spec(struct llm *g, struct dag_spec *out)
{
    *out = (struct dag_spec){
        .place = &g->place,
        .groups = &g->groups,
        .program = {.ctx = g, .next = next, .done = done, .stream_name = stream_name},
        .stream_count = LLM_STREAM_COUNT,
        .event_count = LLM_EV_COUNT};
}
