/*
 * llm.c - ranks, groups and calls of collectives of a training iteration. See llm.h.
 */
#include "llm_int.h"

#include "rng.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STREAM_SKEW UINT64_C(0x6578706572740001)
#define BUCKET_PARAMS_MIN 40000000
#define BUCKET_PARAMS_PER_RANK 1000000
#define PARAMS_MAX 1e15
#define ACTIVATION_BYTES_MAX 0x1p40
#define BUCKETS_MAX 1e6

const char *llm_kind_name(enum llm_kind k)
{
    static const char *const names[LLM_KIND_COUNT] = {"DP",  "EDP", "PP", "TP",
                                                      "TPe", "EP",  "CP", "small"};

    return k < LLM_KIND_COUNT ? names[k] : "?";
}

/* ---- the spec ---- */

void llm_spec_init(struct llm_spec *s)
{
    *s = (struct llm_spec){.family = LLM_GPT,
                           .sequence = 2048,
                           .vocabulary = 51200,
                           .activation_bytes = 2,
                           .parameter_bytes = 2,
                           .gradient_bytes = 4,
                           .tp = 1,
                           .cp = 1,
                           .ep = 1,
                           .pp = 1,
                           .dp = 1,
                           .virtual_stages = 1,
                           .scatter_gather = 1,
                           .zero = 1,
                           .micro_batch = 1,
                           .iterations = 1,
                           .peak_tflops = 312,
                           .efficiency = 0.45,
                           .simulate_tp = 1,
                           .place = PLACE_PACKED,
                           .ring_order = LLM_RING_RAIL,
                           .channels = 1,
                           .dp_algo = COLL_RING,
                           .tp_algo = COLL_RING,
                           .ep_algo = COLL_DIRECT,
                           .seed = 1};
}

uint32_t llm_rank_count(const struct llm_spec *s)
{
    return s->tp * s->cp * s->pp * s->dp;
}

static int want_multiple(uint64_t value, const char *what, uint64_t of, const char *of_what,
                         struct err_info *e)
{
    if (of && value % of == 0)
        return 0;
    return err_set(e, WH_ERR_INPUT, NULL, 0,
                   "found %s %" PRIu64 " with %s %" PRIu64 ", expected a multiple of it", what,
                   value, of_what, of);
}

static int want_given(uint64_t value, const char *what, struct err_info *e)
{
    if (value)
        return 0;
    return err_set(e, WH_ERR_INPUT, NULL, 0, "found no %s for the workload, expected it", what);
}

static int check_shape(const struct llm_spec *s, struct err_info *e)
{
    int rc = want_multiple(s->hidden, "hidden", s->heads, "heads", e);

    if (!rc)
        rc = want_multiple(s->heads, "heads", s->kv_heads, "kv_heads", e);
    if (!rc)
        rc = want_multiple(s->heads, "heads", s->tp, "tp", e);
    if (!rc)
        rc = want_multiple(s->ffn, "ffn", s->tp, "tp", e);
    if (!rc)
        rc = want_multiple(s->hidden, "hidden", s->tp, "tp", e);
    if (!rc)
        rc = want_multiple(s->sequence, "sequence", (uint64_t)s->cp * s->tp, "cp times tp", e);
    if (!rc)
        rc = want_multiple(s->vocabulary, "vocabulary", s->tp, "tp", e);
    return rc;
}

static int check_experts(const struct llm_spec *s, struct err_info *e)
{
    if (!s->experts && (s->ep > 1 || s->top_k || s->expert_skew > 0))
        return err_set(e, WH_ERR_INPUT, NULL, 0,
                       "found ep, top_k or expert_skew for a model without experts, expected "
                       "model.experts");
    if (!s->experts)
        return 0;
    if (s->top_k < 1 || s->top_k > s->experts)
        return err_set(e, WH_ERR_INPUT, NULL, 0,
                       "found top_k %" PRIu32 " of %" PRIu32 " experts, expected 1 to all of them",
                       s->top_k, s->experts);
    if (s->tp > 1 && !s->sequence_parallel)
        return err_set(e, WH_ERR_INPUT, NULL, 0,
                       "found experts and tp %" PRIu32 " without sequence_parallel, expected it: "
                       "tokens are routed from split sequences",
                       s->tp);
    if (want_multiple(s->experts, "experts", s->ep, "ep", e))
        return WH_ERR_INPUT;
    return want_multiple(s->dp, "dp", s->ep, "ep", e);
}

static int check_parallel(const struct llm_spec *s, struct err_info *e)
{
    const double ranks = (double)s->tp * s->cp * s->pp * s->dp;

    if (ranks > 16777216)
        return err_set(e, WH_ERR_INPUT, NULL, 0, "found %.0f ranks, expected at most 16777216",
                       ranks);
    if (want_multiple(s->layers, "layers", (uint64_t)s->pp * s->virtual_stages,
                      "pp times virtual_stages", e))
        return WH_ERR_INPUT;
    if (s->virtual_stages > 1 && s->pp == 1)
        return err_set(e, WH_ERR_INPUT, NULL, 0,
                       "found virtual_stages %" PRIu32 " with pp 1, expected more stages",
                       s->virtual_stages);
    if (s->virtual_stages > 1)
        return want_multiple(s->micro_batches, "micro-batches", s->pp, "pp", e);
    return 0;
}

/* Keeps all sizes within 64 bits, and lists short. */
static int check_sizes(const struct llm_spec *s, struct err_info *e)
{
    const double h = s->hidden, experts = s->experts ? s->experts : 1;
    const double params = s->layers * (4 * h * h + 3 * h * s->ffn * experts + h * experts) +
                          (2.0 * s->vocabulary + s->sequence) * h;
    const double tokens = (double)s->micro_batch * s->sequence * (s->top_k ? s->top_k : 1);

    if (params > PARAMS_MAX)
        return err_set(e, WH_ERR_INPUT, NULL, 0,
                       "found a model of about %.3g parameters, expected at most %.0g", params,
                       PARAMS_MAX);
    if (tokens * h * (double)s->activation_bytes > ACTIVATION_BYTES_MAX)
        return err_set(e, WH_ERR_INPUT, NULL, 0,
                       "found activations of %.3g B per micro-batch, expected at most 2^40",
                       tokens * h * (double)s->activation_bytes);
    if (s->bucket_params > 0 && params / (double)s->bucket_params > BUCKETS_MAX)
        return err_set(e, WH_ERR_INPUT, NULL, 0,
                       "found buckets of %" PRId64
                       " parameters for a model of about %.3g, expected at most %.0f buckets",
                       s->bucket_params, params, BUCKETS_MAX);
    return 0;
}

/* What goes together; the interplay of the two overlaps with the ZeRO stages. */
static int check_sync(const struct llm_spec *s, struct err_info *e)
{
    if (s->zero == 3 && (s->overlap_gradients || s->overlap_parameters || s->bucket_params))
        return err_set(e, WH_ERR_INPUT, NULL, 0,
                       "found buckets or overlap with zero 3, expected neither: it works by layers "
                       "and always overlaps");
    if (s->zero == 0 && s->overlap_parameters)
        return err_set(
            e, WH_ERR_INPUT, NULL, 0,
            "found overlap_parameters with zero 0, which gathers no parameters, expected "
            "zero 1 or 2");
    if (s->zero != 3 && s->gather_every_micro_batch)
        return err_set(e, WH_ERR_INPUT, NULL, 0,
                       "found gather_every_micro_batch with zero %u, expected zero 3", s->zero);
    if (s->regather && !s->sequence_parallel)
        return err_set(e, WH_ERR_INPUT, NULL, 0,
                       "found regather without sequence_parallel, expected both");
    return 0;
}

static int check_algos(const struct llm_spec *s, struct err_info *e)
{
    static const enum coll_kind of_dp[] = {COLL_ALL_REDUCE, COLL_REDUCE_SCATTER, COLL_ALL_GATHER};
    const uint32_t dp_first = s->zero ? 1 : 0, dp_last = s->zero ? 2 : 0;
    const uint32_t tp_first = s->sequence_parallel ? 1 : 0, tp_last = s->sequence_parallel ? 2 : 0;
    int ok = coll_is_possible(COLL_ALL_TO_ALL, (enum coll_algo)s->ep_algo);

    for (uint32_t i = dp_first; i <= dp_last; i++)
        ok = ok && coll_is_possible(of_dp[i], (enum coll_algo)s->dp_algo);
    for (uint32_t i = tp_first; i <= tp_last; i++)
        ok = ok && coll_is_possible(of_dp[i], (enum coll_algo)s->tp_algo);
    if (ok)
        return 0;
    return err_set(e, WH_ERR_INPUT, NULL, 0,
                   "found dp_algorithm %s, tp_algorithm %s, ep_algorithm %s, expected algorithms "
                   "that can do what they are for",
                   coll_algo_name((enum coll_algo)s->dp_algo),
                   coll_algo_name((enum coll_algo)s->tp_algo),
                   coll_algo_name((enum coll_algo)s->ep_algo));
}

static int derive(struct llm_spec *s, struct err_info *e)
{
    const uint64_t per_round = (uint64_t)s->micro_batch * s->dp;

    if (!s->kv_heads)
        s->kv_heads = s->heads;
    if (!s->ffn)
        s->ffn = 4 * s->hidden;
    if (!s->global_batch) {
        if (per_round * s->pp > UINT32_MAX)
            return want_given(0, "batch.global", e);
        s->global_batch = (uint32_t)per_round * s->pp; /* as many micro-batches as stages */
    }
    if (want_multiple(s->global_batch, "global batch", per_round, "micro batch times dp", e))
        return WH_ERR_INPUT;
    s->micro_batches = s->global_batch / (uint32_t)per_round;
    if ((uint64_t)s->micro_batches * s->virtual_stages * s->layers * s->iterations < 1u << 28)
        return 0;
    return err_set(e, WH_ERR_INPUT, NULL, 0,
                   "found %" PRIu32 " micro-batches of %" PRIu32 " layers in %" PRIu32
                   " iterations, expected at most 2^28 passes of layers",
                   s->micro_batches, s->layers, s->iterations);
}

int llm_spec_resolve(struct llm_spec *s, struct err_info *e)
{
    int rc = want_given(s->layers, "model.layers", e);

    if (!rc)
        rc = want_given(s->hidden, "model.hidden", e);
    if (!rc)
        rc = want_given(s->heads, "model.heads", e);
    if (!rc)
        rc = derive(s, e);
    if (!rc)
        rc = check_sizes(s, e);
    if (!rc)
        rc = check_shape(s, e);
    if (!rc)
        rc = check_experts(s, e);
    if (!rc)
        rc = check_parallel(s, e);
    if (!rc)
        rc = check_sync(s, e);
    return rc ? rc : check_algos(s, e);
}

/* ---- ranks ---- */

void llm__place_of(const struct llm_spec *s, uint32_t rank, struct llm_place *out)
{
    out->tp = rank % s->tp;
    rank /= s->tp;
    out->cp = rank % s->cp;
    rank /= s->cp;
    out->ep = rank % s->ep;
    rank /= s->ep;
    out->replica = rank % (s->dp / s->ep);
    out->stage = rank / (s->dp / s->ep);
}

uint32_t llm__rank_at(const struct llm_spec *s, const struct llm_place *p)
{
    return p->tp +
           s->tp * (p->cp + s->cp * (p->ep + s->ep * (p->replica + s->dp / s->ep * p->stage)));
}

uint32_t llm__layer(const struct llm_spec *s, uint32_t stage, uint32_t chunk, uint32_t index)
{
    const uint32_t here = s->layers / (s->pp * s->virtual_stages);

    return (chunk * s->pp + stage) * here + index;
}

/* ---- groups ---- */

/* Ranks with the same number are in the same group; UINT32_MAX: in none. */
static uint32_t group_key(const struct llm_spec *s, enum llm_group kind, const struct llm_place *p)
{
    const uint32_t x = s->dp / s->ep;

    switch (kind) {
    case LLM_GROUP_TP:
        return p->cp + s->cp * (p->ep + s->ep * (p->replica + x * p->stage));
    case LLM_GROUP_CP:
        return p->tp + s->tp * (p->ep + s->ep * (p->replica + x * p->stage));
    case LLM_GROUP_EP:
        return p->tp + s->tp * (p->cp + s->cp * (p->replica + x * p->stage));
    case LLM_GROUP_DP:
    case LLM_GROUP_DP_REDUCE:
        return p->tp + s->tp * p->stage;
    case LLM_GROUP_EDP:
    case LLM_GROUP_EDP_REDUCE:
        return p->tp + s->tp * (p->ep + s->ep * p->stage);
    case LLM_GROUP_EMBED:
        return p->stage && p->stage != s->pp - 1
                   ? UINT32_MAX
                   : p->tp + s->tp * (p->cp + s->cp * (p->ep + s->ep * p->replica));
    case LLM_GROUP_WORLD:
    case LLM_GROUP_COUNT:
        break;
    }
    return 0;
}

static uint32_t group_size(const struct llm_spec *s, enum llm_group kind)
{
    switch (kind) {
    case LLM_GROUP_TP:
        return s->tp;
    case LLM_GROUP_CP:
        return s->cp;
    case LLM_GROUP_EP:
        return s->ep;
    case LLM_GROUP_DP:
    case LLM_GROUP_DP_REDUCE:
        return s->cp * s->dp;
    case LLM_GROUP_EDP:
    case LLM_GROUP_EDP_REDUCE:
        return s->cp * (s->dp / s->ep);
    case LLM_GROUP_EMBED:
        return s->pp > 1 ? 2 : 1;
    case LLM_GROUP_WORLD:
    case LLM_GROUP_COUNT:
        break;
    }
    return llm_rank_count(s);
}

int llm__has_group(const struct llm_spec *s, enum llm_group kind)
{
    return group_size(s, kind) > 1;
}

static enum coll_algo algo_of(const struct llm_spec *s, enum llm_group kind)
{
    if (kind == LLM_GROUP_TP)
        return (enum coll_algo)s->tp_algo;
    if (kind == LLM_GROUP_EP)
        return (enum coll_algo)s->ep_algo;
    return kind == LLM_GROUP_CP ? COLL_RING : (enum coll_algo)s->dp_algo;
}

/* Members of all groups of a kind, in order of rank; @row: shape [groups][size]. */
static void fill_groups(const struct llm *g, enum llm_group kind, uint32_t *row, uint32_t *filled)
{
    const uint32_t size = group_size(&g->spec, kind);

    for (uint32_t r = 0; r < g->rank_count; r++) {
        struct llm_place p;
        uint32_t key;

        llm__place_of(&g->spec, r, &p);
        key = group_key(&g->spec, kind, &p);
        if (key != UINT32_MAX)
            row[(size_t)key * size + filled[key]++] = r;
    }
}

static int add_groups(struct llm *g, enum llm_group kind, const uint32_t *row, uint32_t count,
                      struct err_info *e)
{
    static const char *const names[LLM_GROUP_COUNT] = {
        "tp", "cp", "ep", "dp", "edp", "dp reduce", "edp reduce", "embedding", "world"};
    const uint32_t size = group_size(&g->spec, kind);
    const int by_rank = g->spec.ring_order == LLM_RING_RANK && algo_of(&g->spec, kind) == COLL_RING;
    int rc = 0;

    for (uint32_t i = 0; i < count && !rc; i++) {
        char name[32];
        uint32_t id = 0;

        (void)snprintf(name, sizeof name, "%s %" PRIu32, names[kind], i);
        rc = group_set_add(&g->groups, by_rank ? &g->flat : &g->place, name, row + (size_t)i * size,
                           size, &id, e);
        for (uint32_t m = 0; m < size && !rc; m++)
            g->group_of[kind][row[(size_t)i * size + m]] = id;
    }
    return rc;
}

static int make_groups(struct llm *g, enum llm_group kind, struct err_info *e)
{
    const uint32_t size = group_size(&g->spec, kind);
    const uint32_t members =
        kind == LLM_GROUP_EMBED ? g->rank_count / g->spec.pp * size : g->rank_count;
    uint32_t *row = malloc(members * sizeof *row);
    uint32_t *filled = calloc(members, sizeof *filled);
    int rc = row && filled ? 0 : WH_ERR_NOMEM;
    if (!rc) {
        fill_groups(g, kind, row, filled);
        rc = add_groups(g, kind, row, members / size, e);
    }
    free(row);
    free(filled);
    return rc;
}

static int place_ranks(struct llm *g, const struct topo *t, struct err_info *e)
{
    const struct place_request r = {.kind = (enum place_kind)g->spec.place,
                                    .domain_ranks = g->spec.tp,
                                    .rank_count = g->rank_count,
                                    .gpus_per_server = g->spec.gpus_per_server,
                                    .seed = g->spec.seed};
    int rc = placement_init(&g->place, t, &r, e);

    if (rc)
        return rc;
    g->flat = (struct placement){
        .rank_count = g->rank_count, .server_count = g->rank_count, .rail_count = 1};
    g->flat.host = malloc(g->rank_count * sizeof *g->flat.host);
    g->flat.server = malloc(g->rank_count * sizeof *g->flat.server);
    g->flat.rail = calloc(g->rank_count, sizeof *g->flat.rail);
    if (!g->flat.host || !g->flat.server || !g->flat.rail)
        return WH_ERR_NOMEM;
    for (uint32_t i = 0; i < g->rank_count; i++) {
        g->flat.host[i] = g->place.host[i];
        g->flat.server[i] = i;
    }
    return 0;
}

/* ---- where tokens go ---- */

/*
 * Popularity of a layer's experts: i^-skew for the i-th most popular one, which expert that is
 * being drawn for every layer. The same for all senders, so the tokens of a pair are a share of
 * what a rank holds.
 */
static int make_shares(struct llm *g)
{
    const struct llm_spec *s = &g->spec;
    const uint32_t per_rank = s->experts / s->ep;
    double *weight = malloc(s->experts * sizeof *weight);

    if (!weight)
        return WH_ERR_NOMEM;
    for (uint32_t l = 0; l < s->layers; l++) {
        uint64_t *cum = g->cum + (size_t)l * (s->ep + 1);
        double sum = 0, so_far = 0;

        for (uint32_t i = 0; i < s->experts; i++)
            sum += weight[i] = pow(i + 1.0, -s->expert_skew);
        for (uint32_t i = s->experts; i-- > 1;) {
            const uint64_t bits = rng_u64(s->seed, STREAM_SKEW + l, i);
            const uint32_t j = rng_below(bits, i + 1);
            const double tmp = weight[i];

            weight[i] = weight[j];
            weight[j] = tmp;
        }
        for (uint32_t i = 0; i < s->experts; i++) {
            so_far += weight[i];
            if ((i + 1) % per_rank == 0)
                cum[(i + 1) / per_rank] = (uint64_t)(so_far / sum * (double)LLM_SHARE_ONE);
        }
        cum[0] = 0;
        cum[s->ep] = LLM_SHARE_ONE;
    }
    free(weight);
    return 0;
}

static int make_routes(struct llm *g)
{
    const struct llm_spec *s = &g->spec;

    if (s->expert_skew <= 0 || s->ep < 2)
        return 0;
    g->cum = malloc((size_t)s->layers * (s->ep + 1) * sizeof *g->cum);
    g->route = calloc((size_t)s->layers * 2, sizeof *g->route);
    if (!g->cum || !g->route)
        return WH_ERR_NOMEM;
    for (uint32_t l = 0; l < 2 * s->layers; l++)
        g->route[l] = (struct llm_route){
            .g = g, .cum = g->cum + (size_t)(l / 2) * (s->ep + 1), .is_return = l % 2};
    return make_shares(g);
}

static int64_t share_of(int64_t tokens, const uint64_t *cum, uint32_t i)
{
    const uint64_t to = (uint64_t)((unsigned __int128)tokens * cum[i + 1] / LLM_SHARE_ONE);
    const uint64_t from = (uint64_t)((unsigned __int128)tokens * cum[i] / LLM_SHARE_ONE);

    return (int64_t)(to - from);
}

int64_t llm__tokens_to(const struct llm *g, uint32_t layer, uint32_t ep)
{
    const int64_t tokens = g->sizes.expert_tokens;

    if (!g->cum)
        return tokens * (ep + 1) / g->spec.ep - tokens * ep / g->spec.ep;
    return share_of(tokens, g->cum + (size_t)layer * (g->spec.ep + 1), ep);
}

double llm__expert_load(const struct llm *g, uint32_t layer, uint32_t ep)
{
    if (!g->cum)
        return 1;
    return (double)llm__tokens_to(g, layer, ep) * g->spec.ep / (double)g->sizes.expert_tokens;
}

/* The way back is the transposed way there. */
static int64_t pair_bytes(void *ctx, uint32_t src, uint32_t dst)
{
    const struct llm_route *r = ctx;
    const struct llm_sizes *z = &r->g->sizes;

    return share_of(z->expert_tokens, r->cum, r->is_return ? src : dst) * z->token_bytes;
}

/* ---- calls ---- */

struct coll_call llm__call_tp(const struct llm *g, enum coll_kind kind)
{
    return (struct coll_call){.kind = kind,
                              .algo = (enum coll_algo)g->spec.tp_algo,
                              .bytes = g->sizes.act_bytes,
                              .elem_bytes = (uint32_t)g->spec.activation_bytes,
                              .channels = g->spec.channels};
}

/* Tokens that have come to the experts of place @ep, from all its members, over all of t. */
struct coll_call llm__call_tpe(const struct llm *g, enum coll_kind kind, uint32_t layer,
                               uint32_t ep)
{
    struct coll_call c = llm__call_tp(g, kind);
    const int64_t here =
        g->cum ? llm__tokens_to(g, layer, ep) * g->spec.ep : g->sizes.expert_tokens;

    c.bytes = here * g->spec.tp * g->sizes.token_bytes;
    return c;
}

struct coll_call llm__call_ep(const struct llm *g, uint32_t layer, int is_return)
{
    struct coll_call c = {.kind = COLL_ALL_TO_ALL,
                          .algo = (enum coll_algo)g->spec.ep_algo,
                          .bytes = g->sizes.expert_tokens * g->sizes.token_bytes,
                          .elem_bytes = (uint32_t)g->sizes.token_bytes};

    if (g->route) {
        c.pair_bytes = pair_bytes;
        c.pair_ctx = &g->route[2 * layer + (is_return != 0)];
    }
    return c;
}

struct coll_call llm__call_sync(const struct llm *g, enum coll_kind kind, uint64_t params)
{
    const int64_t elem = kind == COLL_ALL_GATHER ? g->spec.parameter_bytes : g->spec.gradient_bytes;

    return (struct coll_call){.kind = kind,
                              .algo = (enum coll_algo)g->spec.dp_algo,
                              .bytes = (int64_t)params * elem,
                              .elem_bytes = (uint32_t)elem,
                              .channels = g->spec.channels};
}

uint64_t llm__bucket_size(const struct llm_spec *s, uint64_t params)
{
    const uint64_t per_rank = (uint64_t)s->dp * s->cp * BUCKET_PARAMS_PER_RANK;

    if (s->bucket_params > 0)
        return (uint64_t)s->bucket_params;
    if (s->bucket_params == LLM_BUCKET_AUTO)
        return per_rank > BUCKET_PARAMS_MIN ? per_rank : BUCKET_PARAMS_MIN;
    return params;
}

uint32_t llm__bucket_count(const struct llm_spec *s, uint64_t params)
{
    const uint64_t size = llm__bucket_size(s, params);

    return params ? (uint32_t)((params - 1) / size + 1) : 0;
}

uint64_t llm__bucket_params(const struct llm_spec *s, uint64_t params, uint32_t bucket)
{
    const uint64_t size = llm__bucket_size(s, params), from = size * bucket;

    return params - from < size ? params - from : size;
}

/* ---- life cycle ---- */

static int needs_layers(const struct llm_spec *s)
{
    return (s->simulate_tp && s->tp > 1) || s->experts || s->cp > 1 || s->zero == 3 ||
           s->overlap_gradients || s->overlap_parameters;
}

/* Groups of one call nothing. */
static int is_needed(const struct llm_spec *s, enum llm_group kind)
{
    if (kind == LLM_GROUP_DP_REDUCE || kind == LLM_GROUP_EDP_REDUCE)
        return s->zero == 3 && llm__has_group(s, kind);
    if (kind == LLM_GROUP_EMBED || kind == LLM_GROUP_WORLD)
        return s->small_terms && llm__has_group(s, kind);
    return llm__has_group(s, kind);
}

static int fill(struct llm *g, const struct topo *t, struct err_info *e)
{
    const uint32_t iterations = g->spec.iterations;
    int rc = place_ranks(g, t, e);

    for (unsigned k = 0; k < LLM_GROUP_COUNT && !rc; k++) {
        g->group_first[k] = g->groups.count;
        if (is_needed(&g->spec, (enum llm_group)k)) {
            g->group_of[k] = calloc(g->rank_count, sizeof *g->group_of[k]);
            rc = g->group_of[k] ? make_groups(g, (enum llm_group)k, e) : WH_ERR_NOMEM;
        }
        g->group_first[k + 1] = g->groups.count;
    }
    if (!rc)
        rc = make_routes(g);
    g->pos = calloc((size_t)g->rank_count * LLM_STREAM_COUNT, sizeof *g->pos);
    g->iteration_end_ps = malloc(iterations * sizeof *g->iteration_end_ps);
    g->iteration_ranks = calloc(iterations, sizeof *g->iteration_ranks);
    if (!rc && (!g->pos || !g->iteration_end_ps || !g->iteration_ranks))
        rc = WH_ERR_NOMEM;
    for (uint32_t i = 0; i < iterations && !rc; i++)
        g->iteration_end_ps[i] = -1;
    return rc;
}

int llm_create(struct llm **out, const struct llm_spec *spec, const struct topo *t,
               struct err_info *e)
{
    struct llm *g = calloc(1, sizeof *g);
    int rc;

    if (!g)
        return WH_ERR_NOMEM;
    g->spec = *spec;
    g->rank_count = llm_rank_count(spec);
    g->is_layered = needs_layers(spec) != 0;
    llm__sizes(spec, &g->sizes);
    rc = fill(g, t, e);
    if (rc) {
        llm_destroy(g);
        return rc;
    }
    *out = g;
    return 0;
}

void llm_destroy(struct llm *g)
{
    if (!g)
        return;
    placement_fini(&g->place);
    placement_fini(&g->flat);
    group_set_fini(&g->groups);
    for (unsigned k = 0; k < LLM_GROUP_COUNT; k++)
        free(g->group_of[k]);
    free(g->cum);
    free(g->route);
    free(g->pos);
    free(g->iteration_end_ps);
    free(g->iteration_ranks);
    free(g);
}

int64_t llm_iteration_end_ps(const struct llm *g, uint32_t iteration)
{
    if (iteration >= g->spec.iterations || g->iteration_ranks[iteration] < g->rank_count)
        return -1;
    return g->iteration_end_ps[iteration];
}
