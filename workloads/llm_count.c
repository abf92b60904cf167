/*
 * llm_count.c - what an iteration sends, counted without a simulation: how often each group calls
 * each collective follows from the formulas of docs/workloads.md, what a call sends from its
 * lowering, how long the ways are from the network's shortest paths.
 */
#include "llm_int.h"

#include "rng.h"

#include <stdlib.h>
#include <string.h>

#define SIZES_FIRST 64u
#define FAR UINT8_MAX /* not reached */

/* Ways from one host: links, and whether the first one leads to an NVLink-like switch. */
struct ways {
    const struct topo *t;
    uint32_t from;
    uint8_t *links;     /* shape: [node_count] */
    uint8_t *is_nvlink; /* shape: [node_count] */
    uint32_t *queue;    /* shape: [node_count] */
};

struct counter {
    const struct llm *g;
    struct llm_counts *out;
    struct ways ways;
    uint32_t payload_bytes;
    struct llm_size *hash; /* open addressing; flows 0: free */
    uint32_t hash_cap, hash_count;
    struct err_info *e;
};

/* ---- lengths of paths ---- */

static void visit(struct ways *w, uint32_t node, uint32_t next, uint32_t *count)
{
    if (w->links[next] != FAR)
        return;
    w->links[next] = (uint8_t)(w->links[node] + 1);
    w->is_nvlink[next] =
        w->is_nvlink[node] || w->t->kind[next] == NODE_NVSWITCH; /* on a shortest path */
    w->queue[(*count)++] = next;
}

/* Breadth first; hosts pass nothing on. */
static void find_ways(struct ways *w, uint32_t from)
{
    const struct topo *t = w->t;
    uint32_t count = 1;

    if (w->from == from)
        return;
    w->from = from;
    memset(w->links, FAR, t->node_count);
    w->links[from] = w->is_nvlink[from] = 0;
    w->queue[0] = from;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t node = w->queue[i];

        if (node != from && t->kind[node] == NODE_HOST)
            continue;
        for (uint32_t p = t->first_port[node]; p < t->first_port[node + 1]; p++)
            visit(w, node, t->port_node[t->port_peer[p]], &count);
    }
}

/* ---- flows ---- */

static struct llm_size *find_size(struct counter *c, const struct llm_size *key)
{
    const uint64_t bits = rng_mix((uint64_t)key->bytes) ^ rng_mix(key->kind * 256u + key->links);
    uint32_t i = (uint32_t)bits & (c->hash_cap - 1);

    while (c->hash[i].flows && (c->hash[i].bytes != key->bytes || c->hash[i].kind != key->kind ||
                                c->hash[i].links != key->links))
        i = (i + 1) & (c->hash_cap - 1);
    return &c->hash[i];
}

static int grow_sizes(struct counter *c)
{
    struct llm_size *old = c->hash;
    const uint32_t old_cap = c->hash_cap, cap = old_cap ? 2 * old_cap : SIZES_FIRST;
    struct llm_size *rows = calloc(cap, sizeof *rows);

    if (!rows)
        return WH_ERR_NOMEM;
    c->hash = rows;
    c->hash_cap = cap;
    for (uint32_t i = 0; i < old_cap; i++)
        if (old[i].flows)
            *find_size(c, &old[i]) = old[i];
    free(old);
    return 0;
}

static int add_size(struct counter *c, const struct llm_size *key)
{
    struct llm_size *row;

    if (2 * c->hash_count >= c->hash_cap && grow_sizes(c))
        return WH_ERR_NOMEM;
    row = find_size(c, key);
    if (row->flows) {
        row->flows += key->flows;
        return 0;
    }
    *row = *key;
    c->hash_count++;
    return 0;
}

/* @times flows of @bytes between two ranks. */
static int add_flows(struct counter *c, enum llm_kind kind, uint32_t src, uint32_t dst,
                     int64_t bytes, int is_relay, uint64_t times)
{
    struct llm_count *k = &c->out->kind[kind];
    const uint32_t to = c->g->place.host[dst];
    struct llm_size size = {.kind = kind, .bytes = bytes, .flows = times};
    uint64_t packets;

    find_ways(&c->ways, c->g->place.host[src]);
    if (c->ways.links[to] == FAR)
        return err_set(c->e, WH_ERR_NOPATH, NULL, 0, "found no path from rank %u to rank %u", src,
                       dst);
    size.links = c->ways.links[to];
    packets = ((uint64_t)bytes + c->payload_bytes - 1) / c->payload_bytes * times;
    k->flows += times;
    k->bytes += (uint64_t)bytes * times;
    k->relay_bytes += is_relay ? (uint64_t)bytes * times : 0;
    k->nvlink_bytes += c->ways.is_nvlink[to] ? (uint64_t)bytes * times : 0;
    k->packets += packets;
    k->packet_hops += 2 * packets * size.links;
    return add_size(c, &size);
}

/* ---- calls ---- */

static int add_steps(struct counter *c, enum llm_kind kind, const struct coll_plan *p,
                     uint32_t member, uint64_t times)
{
    int rc = 0;

    for (uint32_t lane = 0; lane < p->lane_count && !rc; lane++) {
        const uint32_t steps = p->ops->step_count(p, member, lane);

        for (uint32_t i = 0; i < steps && !rc; i++) {
            struct coll_send s;

            p->ops->step(p, member, lane, i, &s);
            if (s.bytes)
                rc = add_flows(c, kind, p->g->rank[member], p->g->rank[s.dst], s.bytes,
                               coll_is_relay(p, &s), times);
        }
    }
    return rc;
}

/* A group calls @times the same. Groups of one and empty calls are no calls, as in llm__put_coll.
 */
static int add_call(struct counter *c, enum llm_kind kind, const struct group *g,
                    const struct coll_call *call, uint64_t times)
{
    struct coll_plan p;
    int rc;

    if (g->rank_count < 2 || call->bytes == 0 || times == 0)
        return 0;
    rc = coll_plan_init(&p, g, call, c->e);
    if (rc)
        return rc;
    c->out->kind[kind].colls += times;
    for (uint32_t m = 0; m < p.n && p.ops && !rc; m++)
        rc = add_steps(c, kind, &p, m, times);
    return rc;
}

/* A group, and where its first member stands. */
struct caller {
    const struct group *group;
    struct llm_place at;
};

static struct caller caller_of(const struct counter *c, uint32_t id)
{
    struct caller r = {.group = &c->g->groups.groups[id]};

    llm__place_of(&c->g->spec, r.group->rank[0], &r.at);
    return r;
}

/* Forward, backward, and the forward pass again. */
static uint32_t passes_of(const struct llm_spec *s)
{
    return s->recompute == LLM_RECOMPUTE_FULL ? 3 : 2;
}

static uint64_t layer_passes(const struct llm *g)
{
    return (uint64_t)g->sizes.stage_layers * g->spec.micro_batches;
}

/* ---- the kinds ---- */

static int count_tp(struct counter *c, const struct caller *r)
{
    const struct llm_spec *s = &c->g->spec;
    const uint64_t halves = s->experts ? 1 : 2;
    const uint64_t n = layer_passes(c->g) * halves * passes_of(s);
    const uint64_t again = s->regather ? layer_passes(c->g) * halves : 0;
    struct coll_call call = llm__call_tp(c->g, COLL_ALL_REDUCE);
    int rc;

    if (!s->sequence_parallel)
        return add_call(c, LLM_TP, r->group, &call, n);
    call = llm__call_tp(c->g, COLL_ALL_GATHER);
    rc = add_call(c, LLM_TP, r->group, &call, n + again);
    if (rc)
        return rc;
    call = llm__call_tp(c->g, COLL_REDUCE_SCATTER);
    return add_call(c, LLM_TP, r->group, &call, n);
}

/* Layers of a stage are alike unless experts are skewed. Returns how many one count stands for. */
static uint32_t layer_step(const struct llm *g)
{
    return g->cum ? 1 : g->sizes.layers_here;
}

static int count_tpe_layer(struct counter *c, const struct caller *r, uint32_t layer,
                           uint64_t times)
{
    static const enum coll_kind kinds[2] = {COLL_ALL_GATHER, COLL_REDUCE_SCATTER};
    int rc = 0;

    for (int i = 0; i < 2 && !rc; i++) {
        const struct coll_call call = llm__call_tpe(c->g, kinds[i], layer, r->at.ep);

        rc = add_call(c, LLM_TPE, r->group, &call, times);
    }
    return rc;
}

static int count_ep_layer(struct counter *c, const struct caller *r, uint32_t layer, uint64_t times)
{
    int rc = 0;

    for (int i = 0; i < 2 && !rc; i++) {
        const struct coll_call call = llm__call_ep(c->g, layer, i);

        rc = add_call(c, LLM_EP, r->group, &call, times);
    }
    return rc;
}

static int count_layers(struct counter *c, const struct caller *r,
                        int (*count)(struct counter *c, const struct caller *r, uint32_t layer,
                                     uint64_t times))
{
    const struct llm_spec *s = &c->g->spec;
    const uint32_t step = layer_step(c->g);
    const uint64_t times = (uint64_t)step * s->micro_batches * passes_of(s);
    int rc = 0;

    for (uint32_t chunk = 0; chunk < s->virtual_stages && !rc; chunk++)
        for (uint32_t i = 0; i < c->g->sizes.layers_here && !rc; i += step)
            rc = count(c, r, llm__layer(s, r->at.stage, chunk, i), times);
    return rc;
}

static int count_tp_group(struct counter *c, const struct caller *r)
{
    int rc;

    if (!c->g->spec.simulate_tp)
        return 0;
    rc = count_tp(c, r);
    if (!rc && c->g->spec.experts)
        rc = count_layers(c, r, count_tpe_layer);
    return rc;
}

static int count_ep_group(struct counter *c, const struct caller *r)
{
    return c->g->spec.experts ? count_layers(c, r, count_ep_layer) : 0;
}

static int count_cp_group(struct counter *c, const struct caller *r)
{
    const struct llm_spec *s = &c->g->spec;
    const uint64_t n = layer_passes(c->g) * (s->cp - 1);
    struct coll_call call = {.kind = COLL_SEND_RECV,
                             .algo = COLL_RING,
                             .bytes = c->g->sizes.kv_bytes,
                             .elem_bytes = (uint32_t)s->activation_bytes};
    int rc = add_call(c, LLM_CP, r->group, &call, n * (passes_of(s) - 1));

    call.bytes *= 2;
    return rc ? rc : add_call(c, LLM_CP, r->group, &call, n);
}

/* @times all buckets of a set of parameters. */
static int add_set(struct counter *c, enum llm_kind kind, const struct group *g,
                   enum coll_kind what, uint64_t params, uint64_t times)
{
    const uint32_t buckets = llm__bucket_count(&c->g->spec, params);
    struct coll_call call;
    int rc;

    if (!buckets)
        return 0;
    call = llm__call_sync(c->g, what, llm__bucket_params(&c->g->spec, params, 0));
    rc = add_call(c, kind, g, &call, times * (buckets - 1));
    if (rc)
        return rc;
    call = llm__call_sync(c->g, what, llm__bucket_params(&c->g->spec, params, buckets - 1));
    return add_call(c, kind, g, &call, times);
}

static int add_sync(struct counter *c, enum llm_kind kind, const struct group *g, uint64_t params,
                    uint64_t times, uint64_t gathers)
{
    const struct llm_spec *s = &c->g->spec;
    int rc;

    if (!s->zero)
        return add_set(c, kind, g, COLL_ALL_REDUCE, params, times);
    rc = add_set(c, kind, g, COLL_REDUCE_SCATTER, params, times);
    return rc ? rc : add_set(c, kind, g, COLL_ALL_GATHER, params, times * gathers);
}

/* ZeRO-3: layer by layer, the first with what comes before it, the last with what follows. */
static int add_layers(struct counter *c, enum llm_kind kind, const struct caller *r)
{
    const struct llm *g = c->g;
    const struct llm_spec *s = &g->spec;
    const uint64_t gathers = s->gather_every_micro_batch ? 2 * (uint64_t)s->micro_batches : 2;
    const uint32_t layers = g->sizes.stage_layers;
    int rc = 0;

    for (uint32_t n = 0; n < layers && !rc; n++) {
        uint64_t params = kind == LLM_EDP ? g->sizes.layer_expert_params : g->sizes.layer_params;

        if (kind == LLM_DP && n == 0)
            params += llm__front_params(s, r->at.stage);
        if (kind == LLM_DP && n == layers - 1)
            params += llm__back_params(s, r->at.stage);
        rc = add_sync(c, kind, r->group, params, 1, gathers);
    }
    return rc;
}

static int count_dp_group(struct counter *c, const struct caller *r)
{
    if (c->g->spec.zero == 3)
        return add_layers(c, LLM_DP, r);
    return add_sync(c, LLM_DP, r->group, llm_stage_params(&c->g->spec, r->at.stage), 1, 1);
}

static int count_edp_group(struct counter *c, const struct caller *r)
{
    if (!c->g->spec.experts)
        return 0;
    if (c->g->spec.zero == 3)
        return add_layers(c, LLM_EDP, r);
    return add_sync(c, LLM_EDP, r->group, llm_expert_params(&c->g->spec), 1, 1);
}

/* ---- small terms ---- */

static int add_small(struct counter *c, const struct group *g, enum coll_kind kind, int64_t bytes,
                     uint64_t times)
{
    const struct coll_call call = {
        .kind = kind, .algo = COLL_RING, .bytes = bytes, .elem_bytes = 1};

    return add_call(c, LLM_SMALL, g, &call, times);
}

static int count_small_tp(struct counter *c, const struct caller *r)
{
    const struct llm_spec *s = &c->g->spec;
    const struct llm_sizes *z = &c->g->sizes;
    const uint64_t m = s->micro_batches;
    int rc = 0;

    if (!s->simulate_tp)
        return 0;
    if (r->at.stage == 0)
        rc = add_small(c, r->group, COLL_ALL_REDUCE, z->act_bytes, m);
    if (!rc && r->at.stage == s->pp - 1)
        rc = add_small(c, r->group, COLL_ALL_REDUCE, z->act_bytes, m);
    if (!rc && r->at.stage == s->pp - 1)
        rc = add_small(c, r->group, COLL_ALL_REDUCE, 4 * z->act_elems / s->hidden, 3 * m);
    if (!rc && s->sequence_parallel)
        rc = add_small(c, r->group, COLL_ALL_REDUCE,
                       (int64_t)llm__norm_params(s, r->at.stage) * s->gradient_bytes, 1);
    return rc;
}

static int count_small_ep(struct counter *c, const struct caller *r)
{
    const struct llm_spec *s = &c->g->spec;

    return add_small(c, r->group, COLL_ALL_GATHER, 4 * (int64_t)s->experts * s->ep,
                     layer_passes(c->g) * (passes_of(s) - 1));
}

static int count_small_embed(struct counter *c, const struct caller *r)
{
    const struct llm_spec *s = &c->g->spec;

    if (s->family != LLM_GPT)
        return 0;
    return add_small(c, r->group, COLL_ALL_REDUCE,
                     (int64_t)s->vocabulary * s->hidden / s->tp * s->gradient_bytes, 1);
}

static int count_small_world(struct counter *c, const struct caller *r)
{
    const int rc = add_small(c, r->group, COLL_ALL_REDUCE, 4, 1);

    return rc ? rc : add_small(c, r->group, COLL_ALL_REDUCE, 8, 1);
}

/* ---- the pipeline ---- */

static int count_pp_chunk(struct counter *c, uint32_t rank, const struct llm_place *at,
                          uint32_t chunk)
{
    const struct llm_spec *s = &c->g->spec;
    const uint32_t here = chunk * s->pp + at->stage, last = s->pp * s->virtual_stages - 1;
    struct llm_place to = *at;
    int rc = 0;

    if (here < last) {
        to.stage = (here + 1) % s->pp;
        c->out->kind[LLM_PP].colls += s->micro_batches;
        rc = add_flows(c, LLM_PP, rank, llm__rank_at(s, &to), c->g->sizes.stage_send_bytes, 0,
                       s->micro_batches);
    }
    if (here > 0 && !rc) {
        to.stage = (here - 1) % s->pp;
        c->out->kind[LLM_PP].colls += s->micro_batches;
        rc = add_flows(c, LLM_PP, rank, llm__rank_at(s, &to), c->g->sizes.stage_send_bytes, 0,
                       s->micro_batches);
    }
    return rc;
}

static int count_pp(struct counter *c)
{
    int rc = 0;

    for (uint32_t r = 0; r < c->g->rank_count && !rc; r++) {
        struct llm_place at;

        llm__place_of(&c->g->spec, r, &at);
        for (uint32_t chunk = 0; chunk < c->g->spec.virtual_stages && !rc; chunk++)
            rc = count_pp_chunk(c, r, &at, chunk);
    }
    return rc;
}

/* ---- all ---- */

static int count_groups(struct counter *c, enum llm_group kind,
                        int (*count)(struct counter *c, const struct caller *r))
{
    int rc = 0;

    for (uint32_t id = c->g->group_first[kind]; id < c->g->group_first[kind + 1] && !rc; id++) {
        const struct caller r = caller_of(c, id);

        rc = count(c, &r);
    }
    return rc;
}

static int count_all(struct counter *c)
{
    static const struct {
        enum llm_group group;
        int (*count)(struct counter *c, const struct caller *r);
        int is_small;
    } rows[] = {{LLM_GROUP_TP, count_tp_group, 0},      {LLM_GROUP_EP, count_ep_group, 0},
                {LLM_GROUP_CP, count_cp_group, 0},      {LLM_GROUP_DP, count_dp_group, 0},
                {LLM_GROUP_EDP, count_edp_group, 0},    {LLM_GROUP_TP, count_small_tp, 1},
                {LLM_GROUP_EP, count_small_ep, 1},      {LLM_GROUP_EMBED, count_small_embed, 1},
                {LLM_GROUP_WORLD, count_small_world, 1}};
    int rc = count_pp(c);

    for (size_t i = 0; i < sizeof rows / sizeof rows[0] && !rc; i++)
        if (!rows[i].is_small || c->g->spec.small_terms)
            rc = count_groups(c, rows[i].group, rows[i].count);
    return rc;
}

static int compare_sizes(const void *a, const void *b)
{
    const struct llm_size *x = a, *y = b;

    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    if (x->links != y->links)
        return x->links < y->links ? -1 : 1;
    return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

/* Packs the table of sizes into the result, sorted. */
static void finish_sizes(struct counter *c)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < c->hash_cap; i++)
        if (c->hash[i].flows)
            c->hash[count++] = c->hash[i];
    if (count > 1)
        qsort(c->hash, count, sizeof *c->hash, compare_sizes);
    c->out->sizes = c->hash;
    c->out->size_count = count;
}

static void sum_up(struct llm_counts *out)
{
    for (unsigned k = 0; k < LLM_KIND_COUNT; k++) {
        const struct llm_count *from = &out->kind[k];

        out->all.colls += from->colls;
        out->all.flows += from->flows;
        out->all.bytes += from->bytes;
        out->all.relay_bytes += from->relay_bytes;
        out->all.nvlink_bytes += from->nvlink_bytes;
        out->all.packets += from->packets;
        out->all.packet_hops += from->packet_hops;
    }
}

int llm_count(const struct llm *g, const struct topo *t, uint32_t payload_bytes,
              struct llm_counts *out, struct err_info *e)
{
    struct counter c = {.g = g, .out = out, .payload_bytes = payload_bytes, .e = e};
    int rc = WH_ERR_NOMEM;

    memset(out, 0, sizeof *out);
    c.ways = (struct ways){.t = t,
                           .from = UINT32_MAX,
                           .links = malloc(t->node_count),
                           .is_nvlink = malloc(t->node_count),
                           .queue = malloc(t->node_count * sizeof(uint32_t))};
    if (c.ways.links && c.ways.is_nvlink && c.ways.queue)
        rc = count_all(&c);
    free(c.ways.links);
    free(c.ways.is_nvlink);
    free(c.ways.queue);
    if (rc) {
        free(c.hash);
        memset(out, 0, sizeof *out);
        return rc;
    }
    finish_sizes(&c);
    sum_up(out);
    return 0;
}

void llm_counts_fini(struct llm_counts *c)
{
    free(c->sizes);
    memset(c, 0, sizeof *c);
}
