/*
 * llm_int.h - the parts behind llm.h: sizes of the model (llm_model.c), order of the micro-batches
 * (llm_schedule.c), ranks and groups (llm.c), operations (llm_program.c, llm_sync.c), counts
 * (llm_count.c).
 */
#ifndef WH_LLM_INT_H
#define WH_LLM_INT_H

#include "llm.h"

/* Groups of ranks that call collectives together. */
enum llm_group {
    LLM_GROUP_TP,
    LLM_GROUP_CP,
    LLM_GROUP_EP,
    LLM_GROUP_DP,         /* same tensor place and stage */
    LLM_GROUP_EDP,        /* and the same experts */
    LLM_GROUP_DP_REDUCE,  /* ZeRO-3: the same two once more, since gathers and reductions go on */
    LLM_GROUP_EDP_REDUCE, /* side by side */
    LLM_GROUP_EMBED,      /* first and last stage of a pipeline */
    LLM_GROUP_WORLD,
    LLM_GROUP_COUNT
};

/* Where a rank stands. */
struct llm_place {
    uint32_t tp, cp, ep, replica, stage;
};

/* A place in the programme of one stream: an operation of a unit of an iteration. */
struct llm_pos {
    uint32_t iter, unit, op;
    uint32_t exchanges; /* CP: exchanges of keys and values in the units before */
    uint32_t gathers;   /* ZeRO-3: layers gathered in the units before */
    uint64_t next_id;
};

enum {
    LLM_STREAM_MAIN,  /* computation and what it waits for */
    LLM_STREAM_SYNC,  /* gradients and parameters; ZeRO-3: gathers */
    LLM_STREAM_SYNC2, /* with overlap those of the experts; ZeRO-3: reductions */
    LLM_STREAM_CP,
    LLM_STREAM_COUNT
};

enum {
    LLM_EV_GRAD,      /* gradients of one layer (overlap, ZeRO-3) or of all are there */
    LLM_EV_REDUCED,   /* gradients are reduced, once per set of parameters */
    LLM_EV_STEPPED,   /* the optimizer is through */
    LLM_EV_SYNCED,    /* parameters are gathered, once per stream */
    LLM_EV_GATHERED,  /* dense: parameters of a bucket (overlap), of a layer (ZeRO-3) are here */
    LLM_EV_GATHERED2, /* the same of the experts */
    LLM_EV_LAYER,     /* ZeRO-3: a layer has begun, the next may be gathered */
    LLM_EV_KV_GO,
    LLM_EV_KV_DONE,
    LLM_EV_COUNT
};

/* Sizes that many operations need, per GPU. */
struct llm_sizes {
    uint32_t layers_here;  /* of a chunk */
    uint32_t stage_layers; /* of a stage */
    int64_t act_bytes;     /* a whole activation b (s/c) h */
    int64_t act_elems;
    int64_t stage_send_bytes;
    int64_t kv_bytes;      /* keys and values of a context rank, one layer */
    int64_t token_bytes;   /* of one token's activation */
    int64_t expert_tokens; /* that a rank sends to experts: b (s/c) k / t */
    uint64_t layer_params, layer_expert_params;
    double half_s[2]; /* forward of one layer: attention, FFN */
    double core_s;    /* attention's scores, what selective recomputation repeats */
};

/* Which experts a layer's tokens go to, for all_to_all calls; see llm__pair_bytes. */
struct llm_route {
    const struct llm *g;
    const uint64_t *cum; /* shape: [ep + 1], cumulative shares, of LLM_SHARE_ONE */
    uint8_t is_return;   /* from the experts back */
};
#define LLM_SHARE_ONE (UINT64_C(1) << 32)

struct llm {
    struct llm_spec spec;
    struct llm_sizes sizes;
    uint32_t rank_count;
    uint8_t is_layered;           /* a unit of the main stream is a layer, not a chunk */
    struct placement place, flat; /* flat: every rank its own server, the same hosts */
    struct group_set groups;
    uint32_t *group_of[LLM_GROUP_COUNT];       /* shape: [rank_count]; id in groups */
    uint32_t group_first[LLM_GROUP_COUNT + 1]; /* ids of a kind are consecutive */
    uint64_t *cum;                             /* shape: [layers][ep + 1]; NULL if balanced */
    struct llm_route *route;                   /* shape: [layers][2]: to the experts, back */
    struct llm_pos *pos;                       /* shape: [rank_count][LLM_STREAM_COUNT] */
    int64_t *iteration_end_ps;                 /* shape: [iterations] */
    uint32_t *iteration_ranks;                 /* shape: [iterations], ranks through with it */
};

/* llm_model.c */
void llm__sizes(const struct llm_spec *s, struct llm_sizes *out);
/* Parameters that a stage holds beyond its layers: before the first, behind the last. */
uint64_t llm__front_params(const struct llm_spec *s, uint32_t stage);
uint64_t llm__back_params(const struct llm_spec *s, uint32_t stage);
uint64_t llm__norm_params(const struct llm_spec *s, uint32_t stage); /* replicated over t */

/* llm_schedule.c: what a stage does @slot-th. */
struct llm_slot {
    uint32_t chunk, micro_batch;
    uint8_t is_backward;
};
uint32_t llm__slot_count(const struct llm_spec *s);
void llm__slot(const struct llm_spec *s, uint32_t stage, uint32_t slot, struct llm_slot *out);

/* llm.c */
void llm__place_of(const struct llm_spec *s, uint32_t rank, struct llm_place *out);
uint32_t llm__rank_at(const struct llm_spec *s, const struct llm_place *p);
int llm__has_group(const struct llm_spec *s, enum llm_group kind); /* of more than one rank */
/* The global number of a layer: chunks go round the stages. */
uint32_t llm__layer(const struct llm_spec *s, uint32_t stage, uint32_t chunk, uint32_t index);
/* Tokens that each member sends to member @ep; load of a member, 1 if balanced. */
int64_t llm__tokens_to(const struct llm *g, uint32_t layer, uint32_t ep);
double llm__expert_load(const struct llm *g, uint32_t layer, uint32_t ep);

/* Calls of collectives, shared by program and counts. */
struct coll_call llm__call_tp(const struct llm *g, enum coll_kind kind);
struct coll_call llm__call_tpe(const struct llm *g, enum coll_kind kind, uint32_t layer,
                               uint32_t ep);
struct coll_call llm__call_ep(const struct llm *g, uint32_t layer, int is_return);
struct coll_call llm__call_sync(const struct llm *g, enum coll_kind kind, uint64_t params);

/* Buckets of @params parameters. */
uint32_t llm__bucket_count(const struct llm_spec *s, uint64_t params);
uint64_t llm__bucket_params(const struct llm_spec *s, uint64_t params, uint32_t bucket);
uint64_t llm__bucket_size(const struct llm_spec *s, uint64_t params); /* of all but the last */

/*
 * Emission. A unit's operations are put one after another by straight-line code; all but the one
 * at pos->op are thrown away. So the position is three numbers, whatever the unit consists of.
 */
struct llm_emit {
    const struct llm *g;
    const struct llm_pos *pos;
    struct llm_place at;
    uint32_t rank;
    uint32_t count; /* operations put so far */
    struct op *out;
    struct op scratch;
};
struct op *llm__put(struct llm_emit *m, enum op_kind kind, const char *name);
void llm__put_coll(struct llm_emit *m, enum llm_kind label, enum llm_group group,
                   const struct coll_call *call, const char *name);
void llm__put_record(struct llm_emit *m, uint32_t event);
void llm__put_wait(struct llm_emit *m, uint32_t event, uint32_t total);

/* One unit of a stream; returns 0 behind the last unit of an iteration. */
int llm__emit_main(struct llm_emit *m);
int llm__emit_sync(struct llm_emit *m, uint32_t stream);
int llm__emit_cp(struct llm_emit *m);
/* Streams that report LLM_EV_REDUCED and LLM_EV_SYNCED in an iteration. */
uint32_t llm__reduced_count(const struct llm *g);
uint32_t llm__synced_count(const struct llm *g);
/* Whether the layers of a slot are gathered before they are used (ZeRO-3). */
int llm__gathers(const struct llm_spec *s, const struct llm_slot *slot);
/* Overlap: buckets that must be here before the layer's forward pass; per iteration in all. */
uint32_t llm__buckets_before(const struct llm *g, uint32_t stage, uint32_t chunk, uint32_t index,
                             int is_expert);

#define LLM_OP_ITERATION_END UINT64_C(1) /* op.id & 1: the rank is through with the iteration */

#endif
