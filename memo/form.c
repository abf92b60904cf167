/*
 * form.c - see form.h.
 */
#include "form.h"

#include "canon.h"
#include "memo_key.h"

#include <stdlib.h>
#include <string.h>

/* A block of bytes: the graph, then order and key of its form. */
struct form_row {
    uint64_t hash; /* of the graph */
    uint8_t *block;
    size_t graph_bytes, key_bytes;
    uint32_t vertex_count; /* 0: the slot is free */
    uint64_t key_hash;
};

struct form_cache {
    struct canon *canon;
    struct canon_key key;
    struct form_row *row; /* open addressing; shape: [row_cap] */
    size_t row_count, row_cap;
    uint64_t bytes, bytes_max;
    uint8_t *graph; /* scratch: the present graph */
    size_t graph_cap;
    struct form_cache_stats stats;
};

_Static_assert(sizeof(struct memo_colour) == sizeof(struct canon_colour) &&
                   sizeof(struct memo_edge) == sizeof(struct canon_edge),
               "the engine's rows are those of canon.h");

int form_cache_create(struct form_cache **out, uint64_t bytes_max)
{
    struct form_cache *c = calloc(1, sizeof *c);

    if (!c)
        return WH_ERR_NOMEM;
    c->bytes_max = bytes_max ? bytes_max : FORM_CACHE_BYTES_DEFAULT;
    if (canon_create(&c->canon, NULL)) {
        form_cache_destroy(c);
        return WH_ERR_NOMEM;
    }
    *out = c;
    return 0;
}

static void drop_all(struct form_cache *c)
{
    for (size_t i = 0; i < c->row_cap; i++)
        free(c->row[i].block);
    if (c->row_cap)
        memset(c->row, 0, c->row_cap * sizeof *c->row);
    c->row_count = 0;
    c->bytes = 0;
}

void form_cache_destroy(struct form_cache *c)
{
    if (!c)
        return;
    drop_all(c);
    canon_destroy(c->canon);
    canon_key_fini(&c->key);
    free(c->row);
    free(c->graph);
    free(c);
}

/* ---- the graph as bytes ---- */

static size_t count_bytes(const struct memo_graph *g)
{
    size_t bytes = 2 * sizeof(uint32_t) + g->edge_count * sizeof *g->edge;

    for (uint32_t v = 0; v < g->vertex_count; v++)
        bytes += sizeof(uint32_t) + g->colour[v].colour_bytes;
    return bytes;
}

static uint8_t *put(uint8_t *at, const void *from, size_t count)
{
    if (count)
        memcpy(at, from, count);
    return at + count;
}

/* Into c->graph. */
static int write_graph(struct form_cache *c, const struct memo_graph *g, size_t bytes)
{
    uint8_t *at;

    if (bytes > c->graph_cap) {
        free(c->graph);
        c->graph_cap = 2 * bytes;
        c->graph = malloc(c->graph_cap);
        if (!c->graph) {
            c->graph_cap = 0;
            return WH_ERR_NOMEM;
        }
    }
    at = put(c->graph, &g->vertex_count, sizeof g->vertex_count);
    at = put(at, &g->edge_count, sizeof g->edge_count);
    for (uint32_t v = 0; v < g->vertex_count; v++) {
        at = put(at, &g->colour[v].colour_bytes, sizeof g->colour[v].colour_bytes);
        at = put(at, g->bytes + g->colour[v].offset, g->colour[v].colour_bytes);
    }
    put(at, g->edge, g->edge_count * sizeof *g->edge);
    return 0;
}

/* ---- rows ---- */

static struct form_row *find_slot(struct form_row *row, size_t cap, uint64_t hash,
                                  const uint8_t *graph, size_t bytes)
{
    size_t i = hash & (cap - 1);

    while (row[i].vertex_count && (row[i].hash != hash || row[i].graph_bytes != bytes ||
                                   memcmp(row[i].block, graph, bytes) != 0))
        i = (i + 1) & (cap - 1);
    return &row[i];
}

static int grow(struct form_cache *c)
{
    const size_t cap = c->row_cap ? 2 * c->row_cap : 256;
    struct form_row *row = calloc(cap, sizeof *row);

    if (!row)
        return WH_ERR_NOMEM;
    for (size_t i = 0; i < c->row_cap; i++) {
        const struct form_row *old = &c->row[i];

        if (old->vertex_count)
            *find_slot(row, cap, old->hash, old->block, old->graph_bytes) = *old;
    }
    free(c->row);
    c->row = row;
    c->row_cap = cap;
    return 0;
}

static size_t order_at(const struct form_row *r)
{
    return (r->graph_bytes + sizeof(uint32_t) - 1) / sizeof(uint32_t) * sizeof(uint32_t);
}

static struct memo_form form_of(const struct form_row *r)
{
    const size_t at = order_at(r);

    return (struct memo_form){(const uint32_t *)(const void *)(r->block + at),
                              r->block + at + r->vertex_count * sizeof(uint32_t), r->key_bytes,
                              r->key_hash};
}

/* ---- making ---- */

static int make(struct form_cache *c, const struct memo_graph *g, struct canon_form *form)
{
    const struct canon_graph graph = {
        .bytes = g->bytes,
        .colour = (const struct canon_colour *)(const void *)g->colour,
        .edge = (const struct canon_edge *)(const void *)g->edge,
        .vertex_count = g->vertex_count,
        .edge_count = g->edge_count,
    };
    const int rc = canon_run(c->canon, &graph, form);

    return rc ? rc : canon_serialise(c->canon, &graph, form, &c->key);
}

static int keep(struct form_cache *c, const struct canon_form *form, struct form_row *r)
{
    const size_t order_bytes = r->vertex_count * sizeof *form->order;
    const size_t total = order_at(r) + order_bytes + c->key.key_bytes;

    r->block = malloc(total);
    if (!r->block)
        return WH_ERR_NOMEM;
    memcpy(r->block, c->graph, r->graph_bytes);
    memcpy(r->block + order_at(r), form->order, order_bytes);
    memcpy(r->block + order_at(r) + order_bytes, c->key.bytes, c->key.key_bytes);
    r->key_bytes = c->key.key_bytes;
    r->key_hash = c->key.hash_low;
    c->bytes += total + sizeof *r;
    c->row_count++;
    return 0;
}

static int add(struct form_cache *c, const struct memo_graph *g, uint64_t hash, size_t bytes,
               struct memo_form *out)
{
    struct form_row r = {.hash = hash, .graph_bytes = bytes, .vertex_count = g->vertex_count};
    struct canon_form form;
    int rc = make(c, g, &form);

    if (rc == CANON_TOO_LARGE) {
        c->stats.too_large_count++;
        return 1;
    }
    if (!rc && c->bytes > c->bytes_max) {
        drop_all(c);
        c->stats.drop_count++;
    }
    if (!rc && 2 * (c->row_count + 1) > c->row_cap)
        rc = grow(c);
    if (!rc)
        rc = keep(c, &form, &r);
    if (rc)
        return rc;
    c->stats.made_count++;
    *find_slot(c->row, c->row_cap, hash, c->graph, bytes) = r;
    *out = form_of(&r);
    return 0;
}

int form_cache_find(struct form_cache *c, const struct memo_graph *g, struct memo_form *out)
{
    const size_t bytes = count_bytes(g);
    const struct form_row *r;
    uint64_t hash;

    check(g->vertex_count > 0, "a graph of %u vertices", g->vertex_count);
    if (write_graph(c, g, bytes))
        return WH_ERR_NOMEM;
    hash = memo_key_make(c->graph, bytes).hash;
    if (c->row_cap) {
        r = find_slot(c->row, c->row_cap, hash, c->graph, bytes);
        if (r->vertex_count) {
            c->stats.hit_count++;
            *out = form_of(r);
            return 0;
        }
    }
    return add(c, g, hash, bytes, out);
}

void form_cache_read_stats(const struct form_cache *c, struct form_cache_stats *out)
{
    *out = c->stats;
}
