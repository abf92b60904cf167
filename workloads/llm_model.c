/*
 * llm_model.c - parameters, floating-point operations and sizes of a transformer.
 *
 * Parameters and FLOPs of GPT: Narayanan et al., "Efficient large-scale language model training on
 * GPU clusters using Megatron-LM", SC 2021; activations: Korthikanti et al., "Reducing activation
 * recomputation in large transformer models", 2022. Both generalised to grouped-query attention,
 * gated feed-forward parts and experts: every matrix is counted once as parameters, twice per token
 * and pass as FLOPs. docs/workloads.md has the formulas.
 */
#include "llm_int.h"

#include <string.h>

/* Width of keys, and of values. */
static uint64_t kv_width(const struct llm_spec *s)
{
    return (uint64_t)s->hidden / s->heads * s->kv_heads;
}

static uint64_t attention_weights(const struct llm_spec *s)
{
    return 2 * (uint64_t)s->hidden * s->hidden + 2 * s->hidden * kv_width(s);
}

/* Of one feed-forward part: two matrices, three with a gate. */
static uint64_t ffn_weights(const struct llm_spec *s)
{
    return (s->family == LLM_GPT ? 2u : 3u) * (uint64_t)s->hidden * s->ffn;
}

/* Biases of column-parallel matrices, which t divides. */
static uint64_t split_biases(const struct llm_spec *s)
{
    if (s->family != LLM_GPT)
        return 0;
    return s->hidden + 2 * kv_width(s) + (s->experts ? 0 : s->ffn);
}

/* What every tensor rank holds of a layer: norms, biases of row-parallel matrices, the router. */
static uint64_t replicated(const struct llm_spec *s)
{
    const uint64_t norms = (s->family == LLM_GPT ? 4u : 2u) * (uint64_t)s->hidden;
    const uint64_t biases = s->family != LLM_GPT ? 0 : (s->experts ? 1u : 2u) * (uint64_t)s->hidden;

    return norms + biases + (uint64_t)s->hidden * s->experts;
}

/* @experts: how many feed-forward parts to count where there are experts. */
static uint64_t count_params(const struct llm_spec *s, uint64_t experts)
{
    const uint64_t h = s->hidden, v = s->vocabulary;
    const uint64_t ffn = ffn_weights(s) * (s->experts ? experts : 1);
    const uint64_t layer = attention_weights(s) + ffn + split_biases(s) + replicated(s);
    const uint64_t rest = s->family == LLM_GPT ? (v + s->sequence) * h + 2 * h : 2 * v * h + h;

    return s->layers * layer + rest;
}

uint64_t llm_params(const struct llm_spec *s)
{
    return count_params(s, s->experts);
}

uint64_t llm_params_used(const struct llm_spec *s)
{
    return count_params(s, s->top_k);
}

/* ---- what one GPU holds ---- */

static uint64_t layer_params(const struct llm_spec *s)
{
    const uint64_t split =
        attention_weights(s) + (s->experts ? 0 : ffn_weights(s)) + split_biases(s);

    return split / s->tp + replicated(s);
}

static uint64_t layer_expert_params(const struct llm_spec *s)
{
    return s->experts ? s->experts / s->ep * (ffn_weights(s) / s->tp) : 0;
}

uint64_t llm__front_params(const struct llm_spec *s, uint32_t stage)
{
    const uint64_t embedding = (uint64_t)s->vocabulary * s->hidden / s->tp;
    const uint64_t positions = s->family == LLM_GPT ? (uint64_t)s->sequence * s->hidden : 0;

    return stage ? 0 : embedding + positions;
}

/* The last stage of a GPT has a copy of the embedding if it is not the first stage too. */
uint64_t llm__back_params(const struct llm_spec *s, uint32_t stage)
{
    const uint64_t head = (uint64_t)s->vocabulary * s->hidden / s->tp;

    if (stage != s->pp - 1)
        return 0;
    if (s->family == LLM_GPT)
        return 2 * (uint64_t)s->hidden + (s->pp > 1 ? head : 0);
    return head + s->hidden;
}

uint64_t llm__norm_params(const struct llm_spec *s, uint32_t stage)
{
    const uint64_t router = (uint64_t)s->hidden * s->experts;
    const uint64_t last = stage == s->pp - 1 ? (s->family == LLM_GPT ? 2u : 1u) * s->hidden : 0;

    return s->layers / s->pp * (replicated(s) - router) + last;
}

uint64_t llm_stage_params(const struct llm_spec *s, uint32_t stage)
{
    return s->layers / s->pp * layer_params(s) + llm__front_params(s, stage) +
           llm__back_params(s, stage);
}

uint64_t llm_expert_params(const struct llm_spec *s)
{
    return s->layers / s->pp * layer_expert_params(s);
}

/* ---- computation ---- */

/* Forward FLOPs of one sequence: scores of the attention, the rest of it, the feed-forward part. */
static double core_flops(const struct llm_spec *s)
{
    return 4.0 * s->hidden * s->sequence * s->sequence;
}

static double attention_flops(const struct llm_spec *s)
{
    return 2.0 * s->sequence * (double)attention_weights(s) + core_flops(s);
}

static double ffn_flops(const struct llm_spec *s)
{
    const double router = (double)s->hidden * s->experts;

    return 2.0 * s->sequence * ((double)ffn_weights(s) * (s->experts ? s->top_k : 1) + router);
}

double llm_flops(const struct llm_spec *s)
{
    const double head = 2.0 * s->sequence * s->vocabulary * (double)s->hidden;
    const double forward = s->layers * (attention_flops(s) + ffn_flops(s)) + head;

    return 3 * forward * s->global_batch;
}

static double gpu_flops_per_s(const struct llm_spec *s)
{
    return s->peak_tflops * 1e12 * s->efficiency;
}

double llm_forward_s(const struct llm_spec *s)
{
    const double pipelines = (double)s->micro_batches * s->dp;
    const double gpus = (double)s->tp * s->cp * s->pp;

    return llm_flops(s) / (3 * pipelines * gpus) / gpu_flops_per_s(s);
}

double llm_activation_bytes(const struct llm_spec *s)
{
    const double sbh = (double)s->sequence / s->cp * s->micro_batch * s->hidden;
    const double scores = 5.0 * s->heads * s->sequence / s->hidden;
    const double kept_scores = s->recompute == LLM_RECOMPUTE_SELECTIVE ? 0 : scores;

    if (s->recompute == LLM_RECOMPUTE_FULL)
        return 2 * sbh;
    if (s->sequence_parallel)
        return sbh / s->tp * (34 + kept_scores);
    return sbh * (10 + (24 + kept_scores) / s->tp);
}

/* The head's share of the computation is spread over all layers, as over all stages. */
static void set_times(const struct llm_spec *s, struct llm_sizes *z)
{
    const double layer_s = llm_forward_s(s) / z->stage_layers;
    const double attention = attention_flops(s), ffn = ffn_flops(s);

    z->half_s[0] = layer_s * attention / (attention + ffn);
    z->half_s[1] = layer_s * ffn / (attention + ffn);
    z->core_s = core_flops(s) * s->micro_batch / ((double)s->tp * s->cp) / gpu_flops_per_s(s);
}

void llm__sizes(const struct llm_spec *s, struct llm_sizes *out)
{
    struct llm_sizes z = {.stage_layers = s->layers / s->pp};
    const int64_t tokens = (int64_t)s->micro_batch * (s->sequence / s->cp);

    z.layers_here = z.stage_layers / s->virtual_stages;
    z.act_elems = tokens * s->hidden;
    z.act_bytes = z.act_elems * s->activation_bytes;
    z.token_bytes = (int64_t)s->hidden * s->activation_bytes;
    z.stage_send_bytes =
        s->scatter_gather || s->sequence_parallel ? z.act_bytes / s->tp : z.act_bytes;
    z.kv_bytes = 2 * tokens * (int64_t)kv_width(s) / s->tp * s->activation_bytes;
    z.expert_tokens = tokens * s->top_k / s->tp;
    z.layer_params = layer_params(s);
    z.layer_expert_params = layer_expert_params(s);
    set_times(s, &z);
    *out = z;
}
