/*
 * coll.c - what all collectives share: names, checks, sizes. See coll.h.
 */
#include "coll.h"

#include "coll_int.h"

#include <inttypes.h>
#include <string.h>

#define CHUNK_BYTES INT64_C(524288)
#define CHUNKS_AUTO_MAX 64

static const char *const kind_names[COLL_KIND_COUNT] = {
    "all_reduce", "reduce_scatter", "all_gather", "all_to_all",
    "broadcast",  "reduce",         "send_recv",  "barrier",
};

static const char *const algo_names[COLL_ALGO_COUNT] = {
    "auto", "ring", "tree", "halving-doubling", "direct", "pairwise", "pxn", "hierarchical",
};

static int find_name(const char *const *names, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (!strcmp(names[i], name))
            return i;
    return -1;
}

const char *coll_kind_name(enum coll_kind k)
{
    return k < COLL_KIND_COUNT ? kind_names[k] : "?";
}

int coll_kind_from_name(const char *name, enum coll_kind *out)
{
    const int i = find_name(kind_names, COLL_KIND_COUNT, name);

    if (i < 0)
        return WH_ERR_INPUT;
    *out = (enum coll_kind)i;
    return 0;
}

const char *coll_algo_name(enum coll_algo a)
{
    return a < COLL_ALGO_COUNT ? algo_names[a] : "?";
}

int coll_algo_from_name(const char *name, enum coll_algo *out)
{
    const int i = find_name(algo_names, COLL_ALGO_COUNT, name);

    if (i < 0)
        return WH_ERR_INPUT;
    *out = (enum coll_algo)i;
    return 0;
}

/* ---- choice of the lowering ---- */

static const struct coll_ops *find_ops(enum coll_kind k, enum coll_algo a)
{
    static const struct coll_ops *const ops[COLL_ALGO_COUNT] = {
        [COLL_RING] = &coll__ring,
        [COLL_TREE] = &coll__tree,
        [COLL_HALVING] = &coll__halving,
        [COLL_DIRECT] = &coll__direct,
        [COLL_PAIRWISE] = &coll__pairwise,
        [COLL_PXN] = &coll__pxn,
        [COLL_HIERARCHICAL] = &coll__hierarchical,
    };
    const struct coll_ops *o = a < COLL_ALGO_COUNT ? ops[a] : NULL;

    if (a == COLL_RING && (k == COLL_BROADCAST || k == COLL_REDUCE))
        o = &coll__chain;
    return o && (o->kinds & COLL_BIT(k)) ? o : NULL;
}

static enum coll_algo default_algo(enum coll_kind k)
{
    return find_ops(k, COLL_RING) ? COLL_RING : COLL_DIRECT;
}

int coll_is_possible(enum coll_kind k, enum coll_algo a)
{
    return k < COLL_KIND_COUNT && (a == COLL_AUTO || (k != COLL_BARRIER && find_ops(k, a) != NULL));
}

int coll_call_equals(const struct coll_call *a, const struct coll_call *b)
{
    return a->kind == b->kind && a->algo == b->algo && a->bytes == b->bytes &&
           a->elem_bytes == b->elem_bytes && a->root == b->root && a->channels == b->channels &&
           a->chunks == b->chunks && a->pair_bytes == b->pair_bytes && a->pair_ctx == b->pair_ctx;
}

static void resolve(struct coll_call *c)
{
    const int64_t per_channel = c->bytes / (c->channels ? c->channels : 1);
    int64_t chunks = (per_channel + CHUNK_BYTES - 1) / CHUNK_BYTES;

    if (c->algo == COLL_AUTO && c->kind != COLL_BARRIER)
        c->algo = default_algo(c->kind);
    if (!c->channels)
        c->channels = 1;
    if (!c->elem_bytes)
        c->elem_bytes = 1;
    if (chunks > CHUNKS_AUTO_MAX)
        chunks = CHUNKS_AUTO_MAX;
    if (!c->chunks)
        c->chunks = chunks > 0 ? (uint32_t)chunks : 1;
}

static int check_call(const struct coll_call *c, uint32_t n, struct err_info *e)
{
    if (c->kind >= COLL_KIND_COUNT)
        return err_set(e, WH_ERR_INPUT, NULL, 0, "found collective %d, expected a known one",
                       (int)c->kind);
    if (c->bytes < 0)
        return err_set(e, WH_ERR_INPUT, NULL, 0, "%s: found %" PRId64 " B, expected 0 or more",
                       coll_kind_name(c->kind), c->bytes);
    if (c->bytes % c->elem_bytes)
        return err_set(e, WH_ERR_INPUT, NULL, 0,
                       "%s: found %" PRId64 " B, expected a multiple of the element's %" PRIu32,
                       coll_kind_name(c->kind), c->bytes, c->elem_bytes);
    if (c->root >= n)
        return err_set(e, WH_ERR_INPUT, NULL, 0,
                       "%s: found root %" PRIu32 ", expected a member below %" PRIu32,
                       coll_kind_name(c->kind), c->root, n);
    if (c->channels > COLL_CHANNELS_MAX || c->chunks > COLL_CHUNKS_MAX)
        return err_set(
            e, WH_ERR_INPUT, NULL, 0,
            "%s: found %" PRIu32 " channels of %" PRIu32 " chunks, expected at most %u of %u",
            coll_kind_name(c->kind), c->channels, c->chunks, COLL_CHANNELS_MAX, COLL_CHUNKS_MAX);
    return 0;
}

int coll_plan_init(struct coll_plan *p, const struct group *g, const struct coll_call *call,
                   struct err_info *e)
{
    int rc;

    *p = (struct coll_plan){.call = *call, .g = g, .n = g->rank_count, .window = 1};
    resolve(&p->call);
    rc = check_call(&p->call, p->n, e);
    if (rc)
        return rc;
    p->elems = p->call.bytes / p->call.elem_bytes;
    if (p->call.kind == COLL_BARRIER)
        return 0;
    p->ops = find_ops(p->call.kind, p->call.algo);
    if (!p->ops)
        return err_set(e, WH_ERR_INPUT, NULL, 0, "found algorithm %s for %s, which it cannot do",
                       coll_algo_name(p->call.algo), coll_kind_name(p->call.kind));
    rc = p->ops->prepare(p, e);
    if (p->n == 1 || (p->call.bytes == 0 && !p->call.pair_bytes)) {
        p->ops = NULL; /* nothing to move */
        p->lane_count = p->in_count = 0;
    }
    return rc;
}

/* ---- sizes ---- */

int64_t coll_piece_start(int64_t elems, uint64_t i, uint64_t pieces)
{
    return (int64_t)((unsigned __int128)elems * i / pieces);
}

int64_t coll_piece_bytes(const struct coll_plan *p, uint64_t first, uint64_t count, uint64_t pieces)
{
    return (coll_piece_start(p->elems, first + count, pieces) -
            coll_piece_start(p->elems, first, pieces)) *
           p->call.elem_bytes;
}

int64_t coll_pair_bytes(const struct coll_plan *p, uint32_t src, uint32_t dst)
{
    if (p->call.pair_bytes)
        return p->call.pair_bytes(p->call.pair_ctx, src, dst);
    return coll_piece_bytes(p, dst, 1, p->n);
}

static int64_t total_of_pairs(const struct coll_plan *p)
{
    int64_t total = 0;

    for (uint32_t i = 0; i < p->n; i++)
        for (uint32_t j = 0; j < p->n; j++)
            total += i == j ? 0 : coll_pair_bytes(p, i, j);
    return total;
}

int64_t coll_total_bytes(const struct coll_plan *p)
{
    const int64_t once = (p->n - 1) * p->call.bytes;

    switch (p->call.kind) {
    case COLL_ALL_REDUCE:
        return 2 * once;
    case COLL_ALL_TO_ALL:
        return p->call.pair_bytes ? total_of_pairs(p) : once;
    case COLL_SEND_RECV:
        return p->n > 1 ? p->n * p->call.bytes : 0;
    case COLL_REDUCE_SCATTER:
    case COLL_ALL_GATHER:
    case COLL_BROADCAST:
    case COLL_REDUCE:
        return once;
    case COLL_BARRIER:
    case COLL_KIND_COUNT:
        break;
    }
    return 0;
}

int coll_is_relay(const struct coll_plan *p, const struct coll_send *s)
{
    return p->call.algo == COLL_PXN && s->in > 0;
}

double coll_bus_factor(enum coll_kind k, uint32_t n)
{
    const double share = (double)(n - 1) / (double)n;

    switch (k) {
    case COLL_ALL_REDUCE:
        return 2 * share;
    case COLL_REDUCE_SCATTER:
    case COLL_ALL_GATHER:
    case COLL_ALL_TO_ALL:
        return share;
    case COLL_BROADCAST:
    case COLL_REDUCE:
    case COLL_SEND_RECV:
    case COLL_BARRIER:
    case COLL_KIND_COUNT:
        break;
    }
    return 1;
}

/* ---- shared by the lowerings ---- */

void coll__set_pieces(const struct coll_plan *p, struct coll_send *out, uint64_t first,
                      uint64_t count, uint64_t pieces)
{
    out->piece_first = first;
    out->piece_count = count;
    out->piece_stride = 1;
    out->pieces = pieces;
    out->bytes = coll_piece_bytes(p, first, count, pieces);
}

void coll__lane_of_in(const struct coll_plan *p, uint32_t in, uint32_t *first, uint32_t *count)
{
    (void)p;
    *first = in;
    *count = 1;
}

void coll__only_lane(const struct coll_plan *p, uint32_t in, uint32_t *first, uint32_t *count)
{
    (void)p;
    (void)in;
    *first = 0;
    *count = 1;
}
