/*
 * llm.h - training iterations of a transformer: from the shape of a model and the way it is spread
 * over GPUs to a program for a DAG (dag.h), and to the traffic in closed form.
 *
 * Letters as in docs/workloads.md: l layers, h hidden, a heads, g key/value heads, f width of the
 * feed-forward part, s sequence, V vocabulary, E experts, k experts per token, b micro-batch, B
 * global batch, m micro-batches, t tensor, c context, e expert, p pipeline and d data parallelism,
 * x = d / e, v chunks of layers per GPU. Ranks count t fastest, then c, e, x, p:
 * rank = tensor + t (context + c (expert + e (replica + x stage))).
 * Threading: the figures are pure functions; a program belongs to one thread.
 */
#ifndef WH_LLM_H
#define WH_LLM_H

#include "dag.h"

#include <stdint.h>

enum llm_family {
    LLM_GPT,  /* biases, layer norms with bias, learned positions, tied embedding, plain FFN */
    LLM_LLAMA /* no biases, RMS norm, gated FFN, embedding and head apart */
};
enum llm_recompute { LLM_RECOMPUTE_NONE, LLM_RECOMPUTE_SELECTIVE, LLM_RECOMPUTE_FULL };
enum llm_ring_order { LLM_RING_RANK, LLM_RING_RAIL };

/* Kinds of traffic: tags of the flows, rows of the counts. */
enum llm_kind {
    LLM_DP,    /* gradients and parameters outside the experts */
    LLM_EDP,   /* those of the experts */
    LLM_PP,    /* between pipeline stages */
    LLM_TP,    /* tensor parallelism */
    LLM_TPE,   /* tensor parallelism of experts */
    LLM_EP,    /* dispatch to experts and back */
    LLM_CP,    /* keys and values between context ranks */
    LLM_SMALL, /* see small_terms */
    LLM_KIND_COUNT
};
const char *llm_kind_name(enum llm_kind k); /* "DP", "EDP", "PP", "TP", "TPe", "EP", "CP", ... */

#define LLM_BUCKET_NONE 0u   /* all gradients at once */
#define LLM_BUCKET_AUTO (-1) /* max(40,000,000; 1,000,000 d) parameters */

/* What to run. All plain values; 0 means "derive it" where said so. */
struct llm_spec {
    /* model */
    uint8_t family; /* enum llm_family */
    uint32_t layers, hidden, heads;
    uint32_t kv_heads; /* 0: heads */
    uint32_t ffn;      /* 0: 4 hidden */
    uint32_t sequence, vocabulary;
    uint32_t experts; /* 0: dense */
    uint32_t top_k;
    /* sizes of elements [B] */
    int64_t activation_bytes, parameter_bytes, gradient_bytes;
    /* parallelism */
    uint32_t tp, cp, ep, pp, dp, virtual_stages;
    uint8_t sequence_parallel, scatter_gather; /* scatter_gather: a stage sends 1/t per rank */
    uint8_t regather;      /* sequence parallelism gathers the input again in the backward pass */
    uint8_t zero;          /* stage 0..3 */
    int64_t bucket_params; /* or LLM_BUCKET_* */
    uint8_t overlap_gradients, overlap_parameters;
    uint8_t gather_every_micro_batch; /* ZeRO-3 */
    /* batch, in sequences */
    uint32_t micro_batch, global_batch;
    uint32_t micro_batches; /* derived: global / (micro d) */
    uint32_t iterations;
    /* computation */
    double peak_tflops, efficiency;
    double compute_jitter; /* durations are drawn from 1 - j to 1 + j times their value */
    uint8_t recompute;     /* enum llm_recompute */
    int64_t optimizer_ps;  /* a step of the optimizer */
    double expert_skew;    /* popularity of the i-th expert goes as i^-skew; 0: balanced */
    /* network */
    uint8_t simulate_tp, small_terms;
    uint8_t place;                     /* enum place_kind */
    uint8_t ring_order;                /* enum llm_ring_order */
    uint32_t gpus_per_server;          /* 0: as the network's NVLink-like switches say */
    uint32_t channels;                 /* of rings and trees */
    uint8_t dp_algo, tp_algo, ep_algo; /* enum coll_algo */
    uint64_t seed;
};

void llm_spec_init(struct llm_spec *s);

/* llm_spec_resolve - derives what is to be derived and checks the whole. Errors: WH_ERR_INPUT. */
int llm_spec_resolve(struct llm_spec *s, struct err_info *e) WH_MUST_CHECK;

/* ---- figures of the model; of a resolved spec ---- */

uint32_t llm_rank_count(const struct llm_spec *s);
uint64_t llm_params(const struct llm_spec *s);      /* of the model */
uint64_t llm_params_used(const struct llm_spec *s); /* of those, used for a token */
/* What one GPU of a stage holds, outside the experts; its share of each layer's experts. */
uint64_t llm_stage_params(const struct llm_spec *s, uint32_t stage);
uint64_t llm_expert_params(const struct llm_spec *s);
double llm_flops(const struct llm_spec *s);     /* model FLOPs of an iteration, no recomputation */
double llm_forward_s(const struct llm_spec *s); /* a micro-batch through one stage of one GPU */
double llm_activation_bytes(const struct llm_spec *s); /* kept per layer and micro-batch */

/* ---- traffic of one iteration, without simulating ---- */

/* Flows of one kind, size and length of path. */
struct llm_size {
    enum llm_kind kind;
    int64_t bytes;
    uint32_t links; /* one way */
    uint64_t flows;
};

struct llm_count {
    uint64_t colls; /* calls of groups; PP: messages */
    uint64_t flows;
    uint64_t bytes;                /* that leave GPUs, relayed ones included */
    uint64_t relay_bytes;          /* of those, sent to be passed on */
    uint64_t nvlink_bytes;         /* of those, over NVLink-like switches */
    uint64_t packets, packet_hops; /* hops: packets and one ACK each, over all links */
};

struct llm_counts {
    struct llm_count kind[LLM_KIND_COUNT];
    struct llm_count all;
    struct llm_size *sizes; /* shape: [size_count], by kind, links, bytes */
    uint32_t size_count;
};

/* ---- the program ---- */

struct llm;

/*
 * llm_create - places the ranks on @t and makes the groups.
 * @spec: resolved; copied
 * @t:    only read during the call
 */
int llm_create(struct llm **out, const struct llm_spec *spec, const struct topo *t,
               struct err_info *e) WH_MUST_CHECK;
void llm_destroy(struct llm *g); /* NULL is accepted */

/* llm_dag_spec - everything but observer and poll; @g must outlive the DAG. */
void llm_dag_spec(struct llm *g, struct dag_spec *out);

/* llm_iteration_end_ps - when the last rank finished an iteration, -1 if none has yet. */
int64_t llm_iteration_end_ps(const struct llm *g, uint32_t iteration);

/*
 * llm_count - what one iteration sends: the lowerings of all collectives, counted out.
 * @payload_bytes: of a packet
 * Errors: WH_ERR_NOMEM; WH_ERR_INPUT (an algorithm that does not suit a group); WH_ERR_NOPATH.
 */
int llm_count(const struct llm *g, const struct topo *t, uint32_t payload_bytes,
              struct llm_counts *out, struct err_info *e) WH_MUST_CHECK;
void llm_counts_fini(struct llm_counts *c);

#endif
