/* canon.c - contexts, classes by colour, the serialised form. See canon.h. */
#include "canon_int.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/*
 * With 4,096 vertices bliss takes 32 ms for all-to-all of 63 hosts in equal states (bench_canon),
 * the slowest of what traffic makes. Graphs made to be hard (Cai, Fuerer and Immerman, on random
 * cubic graphs) take 4 s.
 */
const struct canon_limits canon_limits_default = {
    .vertex_count_max = 1u << 17,
    .edge_count_max = 1u << 21,
    .search_vertex_count_max = 4096,
};

const char *canon_reason_text(enum canon_reason reason)
{
    switch (reason) {
    case CANON_REASON_NONE:
        return "none";
    case CANON_REASON_VERTICES:
        return "too many flows and ports";
    case CANON_REASON_EDGES:
        return "too many hops";
    case CANON_REASON_SEARCH:
        return "too many flows and ports in symmetric states";
    }
    return "unknown";
}

/* ---- memory ---- */

static void free_arrays(struct canon *c)
{
    free(c->half_begin);
    free(c->half);
    free(c->order);
    free(c->position);
    free(c->cell);
    free(c->cell_count);
    free(c->sum);
    free(c->is_hit);
    free(c->is_queued);
    free(c->queue);
    free(c->splitter);
    free(c->hit_count);
    free(c->keyed);
    free(c->keyed_spare);
    free(c->set);
    free(c->set_spare);
    free(c->owner);
    free(c->local);
    free(c->local_stamp);
    free(c->list_begin);
    free(c->list_end);
    free(c->list);
    free(c->part);
    free(c->word);
    free(c->twin_next);
    free(c->twin_count);
    free(c->rank);
    free(c->link);
}

/* Clears what the steps expect to find cleared, and leave so. */
static int allocate_arrays(struct canon *c, size_t vertices, size_t edges)
{
    const size_t larger = vertices > edges ? vertices : edges;
    int failed = 0;

#define ALLOCATE(field, count) failed |= !(c->field = calloc((count), sizeof *c->field))
    ALLOCATE(half_begin, vertices + 1);
    ALLOCATE(half, 2 * edges);
    ALLOCATE(order, vertices);
    ALLOCATE(position, vertices);
    ALLOCATE(cell, vertices);
    ALLOCATE(cell_count, vertices);
    ALLOCATE(sum, vertices);
    ALLOCATE(is_hit, vertices);
    ALLOCATE(is_queued, vertices);
    ALLOCATE(queue, vertices);
    ALLOCATE(splitter, vertices);
    ALLOCATE(hit_count, vertices);
    ALLOCATE(keyed, larger + 1);
    ALLOCATE(keyed_spare, larger + 1);
    ALLOCATE(set, vertices);
    ALLOCATE(set_spare, vertices);
    ALLOCATE(owner, vertices);
    ALLOCATE(local, vertices);
    ALLOCATE(local_stamp, vertices);
    ALLOCATE(list_begin, vertices + 1);
    ALLOCATE(list_end, vertices);
    ALLOCATE(list, 2 * edges);
    ALLOCATE(part, 2 * vertices + 2);
    ALLOCATE(word, 2 * vertices + edges);
    ALLOCATE(twin_next, vertices);
    ALLOCATE(twin_count, vertices);
    ALLOCATE(rank, vertices);
    ALLOCATE(link, edges);
#undef ALLOCATE
    return failed ? WH_ERR_NOMEM : 0;
}

static uint32_t grow(uint32_t cap, uint32_t needed)
{
    while (cap < needed)
        cap *= 2;
    return cap;
}

/* Makes room; what was there is lost. A context that gets no memory is left empty. */
static int reserve(struct canon *c, uint32_t vertices, uint32_t edges)
{
    const struct canon empty = {.limits = c->limits};
    const uint32_t vertex_cap = grow(c->vertex_cap ? c->vertex_cap : 64, vertices);
    const uint32_t edge_cap = grow(c->edge_cap ? c->edge_cap : 64, edges);

    if (vertex_cap == c->vertex_cap && edge_cap == c->edge_cap)
        return 0;
    free_arrays(c);
    *c = empty;
    if (allocate_arrays(c, vertex_cap, edge_cap)) {
        free_arrays(c);
        *c = empty;
        return WH_ERR_NOMEM;
    }
    c->vertex_cap = vertex_cap;
    c->edge_cap = edge_cap;
    return 0;
}

int canon_create(struct canon **out, const struct canon_limits *limits)
{
    struct canon *c = calloc(1, sizeof *c);

    if (!c)
        return WH_ERR_NOMEM;
    c->limits = limits ? *limits : canon_limits_default;
    check(c->limits.vertex_count_max <= CANON_VERTEX_COUNT_MAX, "%u vertices",
          c->limits.vertex_count_max);
    check(c->limits.edge_count_max < 1u << 31, "%u edges", c->limits.edge_count_max);
    *out = c;
    return 0;
}

void canon_destroy(struct canon *c)
{
    if (!c)
        return;
    free_arrays(c);
    free(c);
}

/* ---- sorting ---- */

uint64_t canon__mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

#define SORT_RUN 12u /* entries sorted by insertion; measured: 8 to 16 are alike */

static void sort_run(struct canon_keyed *a, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        const struct canon_keyed e = a[i];
        uint32_t k = i;

        for (; k > 0 && a[k - 1].key > e.key; k--)
            a[k] = a[k - 1];
        a[k] = e;
    }
}

/* Merges from[begin, middle) and from[middle, end) to the same places of @to. */
static void merge_runs(const struct canon_keyed *from, struct canon_keyed *to, uint32_t begin,
                       uint32_t middle, uint32_t end)
{
    uint32_t a = begin, b = middle;

    for (uint32_t i = begin; i < end; i++)
        to[i] = b == end || (a < middle && from[a].key <= from[b].key) ? from[a++] : from[b++];
}

void canon__sort(struct canon *c, uint32_t begin, uint32_t count)
{
    struct canon_keyed *from = c->keyed + begin, *to = c->keyed_spare + begin;

    for (uint32_t i = 0; i < count; i += SORT_RUN)
        sort_run(from + i, count - i < SORT_RUN ? count - i : SORT_RUN);
    for (uint32_t run = SORT_RUN; run < count; run *= 2) {
        struct canon_keyed *const swap = from;

        for (uint32_t i = 0; i < count; i += 2 * run) {
            const uint32_t middle = count - i < run ? count : i + run;
            const uint32_t end = count - i < 2 * run ? count : i + 2 * run;

            merge_runs(from, to, i, middle, end);
        }
        from = to;
        to = swap;
    }
    if (from != c->keyed + begin)
        memcpy(c->keyed + begin, from, count * sizeof *from);
}

/* ---- classes by colour ---- */

static int compare_colours(const struct canon_graph *a, uint32_t u, const struct canon_graph *b,
                           uint32_t v)
{
    const struct canon_colour *x = &a->colour[u], *y = &b->colour[v];

    if (x->colour_bytes != y->colour_bytes)
        return x->colour_bytes < y->colour_bytes ? -1 : 1;
    if (x->colour_bytes == 0)
        return 0;
    return memcmp(a->bytes + x->offset, b->bytes + y->offset, x->colour_bytes);
}

/* Two colours with one hash: in 2^64 the colours decide. Insertion, since it does not happen. */
static void sort_collision(const struct canon_graph *g, struct canon_keyed *a, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        const struct canon_keyed e = a[i];
        uint32_t k = i;

        for (; k > 0 && compare_colours(g, a[k - 1].value, g, e.value) > 0; k--)
            a[k] = a[k - 1];
        a[k] = e;
    }
}

static int is_one_colour(const struct canon_graph *g, const struct canon_keyed *a, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++)
        if (compare_colours(g, a[0].value, g, a[i].value) != 0)
            return 0;
    return 1;
}

/* Makes keyed[begin, end), one colour, a cell. */
static void make_cell(struct canon *c, uint32_t begin, uint32_t end)
{
    for (uint32_t i = begin; i < end; i++) {
        const uint32_t v = c->keyed[i].value;

        c->order[i] = v;
        c->position[v] = i;
        c->cell[v] = begin;
    }
    c->cell_count[begin] = end - begin;
    c->cell_total++;
}

void canon__classes(struct canon *c, const struct canon_graph *g)
{
    const struct canon_keyed *a = c->keyed;

    canon__sort(c, 0, g->vertex_count);
    c->cell_total = 0;
    for (uint32_t begin = 0, end; begin < g->vertex_count; begin = end) {
        uint32_t first = begin;

        for (end = begin + 1; end < g->vertex_count && a[end].key == a[begin].key;)
            end++;
        if (is_one_colour(g, a + begin, end - begin)) {
            make_cell(c, begin, end);
            continue;
        }
        sort_collision(g, c->keyed + begin, end - begin);
        for (uint32_t i = begin + 1; i <= end; i++)
            if (i == end || compare_colours(g, a[first].value, g, a[i].value) != 0) {
                make_cell(c, first, i);
                first = i;
            }
    }
}

static void hash_colours(struct canon *c, const struct canon_graph *g)
{
    for (uint32_t v = 0; v < g->vertex_count; v++) {
        const struct canon_colour *colour = &g->colour[v];

        c->keyed[v] = (struct canon_keyed){
            .key = XXH3_64bits(colour->colour_bytes ? g->bytes + colour->offset : NULL,
                               colour->colour_bytes),
            .value = v,
        };
    }
}

/* ---- the run ---- */

static void check_edges(const struct canon_graph *g)
{
    for (uint32_t i = 0; i < g->edge_count; i++) {
        const struct canon_edge *e = &g->edge[i];

        check(e->u < g->vertex_count && e->v < g->vertex_count && e->u != e->v &&
                  e->label <= CANON_LABEL_MAX,
              "edge %u: (%u, %u) label %u, %u vertices", i, e->u, e->v, e->label, g->vertex_count);
    }
}

/* The edges of each vertex side by side. */
static void build_halves(struct canon *c, const struct canon_graph *g)
{
    uint32_t *begin = c->half_begin; /* while filling: where the next one goes */
    uint32_t total = 0;

    memset(begin, 0, (g->vertex_count + 1) * sizeof *begin);
    for (uint32_t i = 0; i < g->edge_count; i++) {
        begin[g->edge[i].u]++;
        begin[g->edge[i].v]++;
    }
    for (uint32_t v = 0; v <= g->vertex_count; v++) {
        total += begin[v];
        begin[v] = total;
    }
    for (uint32_t i = g->edge_count; i-- > 0;) {
        const struct canon_edge *e = &g->edge[i];
        const uint64_t weight = canon__mix(e->label + UINT64_C(0x9e3779b97f4a7c15));

        c->half[--begin[e->u]] = (struct canon_half){weight, e->v, e->label};
        c->half[--begin[e->v]] = (struct canon_half){weight, e->u, e->label};
    }
}

static enum canon_reason find_excess(const struct canon_limits *limits, const struct canon_graph *g)
{
    if (g->vertex_count > limits->vertex_count_max)
        return CANON_REASON_VERTICES;
    if (g->edge_count > limits->edge_count_max)
        return CANON_REASON_EDGES;
    return CANON_REASON_NONE;
}

int canon_run(struct canon *c, const struct canon_graph *g, struct canon_form *out)
{
    const enum canon_reason excess = find_excess(&c->limits, g);

    if (excess != CANON_REASON_NONE) {
        *out = (struct canon_form){.reason = excess};
        return CANON_TOO_LARGE;
    }
    if (reserve(c, g->vertex_count, g->edge_count))
        return WH_ERR_NOMEM;
    check_edges(g);
    c->vertex_count = g->vertex_count;
    c->edge_count = g->edge_count;
    c->search_vertex_count = 0;
    hash_colours(c, g);
    canon__classes(c, g);
    build_halves(c, g);
    canon__refine(c);
    if (c->cell_total < c->vertex_count && canon__split(c) == CANON_TOO_LARGE) {
        *out = (struct canon_form){.reason = CANON_REASON_SEARCH, .class_count = c->cell_total};
        return CANON_TOO_LARGE;
    }
    *out = (struct canon_form){
        .order = c->order,
        .position = c->position,
        .class_count = c->cell_total,
        .search_vertex_count = c->search_vertex_count,
    };
    return CANON_OK;
}

/* ---- the serialised form ---- */

#define LEB128_BYTES_MAX 5 /* of a 32-bit number */

static uint8_t *put_number(uint8_t *p, uint32_t x)
{
    for (; x >= 0x80; x >>= 7)
        *p++ = (uint8_t)(x | 0x80);
    *p++ = (uint8_t)x;
    return p;
}

/* Upper bound of the serialised form [B]. */
static size_t calc_key_bytes_max(const struct canon_graph *g)
{
    size_t bytes = 2 * LEB128_BYTES_MAX;

    for (uint32_t v = 0; v < g->vertex_count; v++)
        bytes += 2 * LEB128_BYTES_MAX + g->colour[v].colour_bytes;
    return bytes + (size_t)g->edge_count * 3 * LEB128_BYTES_MAX;
}

static int reserve_key(struct canon_key *key, size_t needed_bytes)
{
    uint8_t *bytes;

    if (needed_bytes <= key->cap_bytes)
        return 0;
    bytes = malloc(needed_bytes + needed_bytes / 2); /* nothing to keep: no realloc */
    if (!bytes)
        return WH_ERR_NOMEM;
    free(key->bytes);
    key->bytes = bytes;
    key->cap_bytes = needed_bytes + needed_bytes / 2;
    return 0;
}

static uint8_t *put_colours(uint8_t *p, const struct canon_graph *g, const uint32_t *order)
{
    for (uint32_t begin = 0, end; begin < g->vertex_count; begin = end) {
        const struct canon_colour *colour = &g->colour[order[begin]];

        for (end = begin + 1;
             end < g->vertex_count && compare_colours(g, order[begin], g, order[end]) == 0;)
            end++;
        p = put_number(p, end - begin);
        p = put_number(p, colour->colour_bytes);
        if (colour->colour_bytes)
            memcpy(p, g->bytes + colour->offset, colour->colour_bytes);
        p += colour->colour_bytes;
    }
    return p;
}

/* 24 bits lower position, 24 bits higher position, 16 bits label: ascending keys, sorted edges. */
static uint64_t calc_edge_key(const struct canon_edge *e, const uint32_t *position)
{
    const uint64_t u = position[e->u], v = position[e->v];

    return u < v ? u << 40 | v << 16 | e->label : v << 40 | u << 16 | e->label;
}
_Static_assert(CANON_VERTEX_COUNT_MAX <= 1u << 24 && CANON_LABEL_MAX < 1u << 16,
               "an edge fits 64 bits");

static uint8_t *put_edges(struct canon *c, uint8_t *p, const struct canon_graph *g,
                          const uint32_t *position)
{
    for (uint32_t i = 0; i < g->edge_count; i++)
        c->keyed[i].key = calc_edge_key(&g->edge[i], position);
    canon__sort(c, 0, g->edge_count);
    for (uint32_t i = 0; i < g->edge_count; i++) {
        const uint64_t key = c->keyed[i].key;

        p = put_number(p, (uint32_t)(key >> 40));
        p = put_number(p, (uint32_t)(key >> 16) & 0xffffff);
        p = put_number(p, (uint32_t)key & 0xffff);
    }
    return p;
}

int canon_serialise(struct canon *c, const struct canon_graph *g, const struct canon_form *form,
                    struct canon_key *key)
{
    XXH128_hash_t hash;
    uint8_t *p;

    check(g->edge_count <= c->edge_cap, "%u edges, canon_run saw up to %u", g->edge_count,
          c->edge_cap);
    if (reserve_key(key, calc_key_bytes_max(g)))
        return WH_ERR_NOMEM;
    p = put_number(key->bytes, g->vertex_count);
    p = put_number(p, g->edge_count);
    p = put_colours(p, g, form->order);
    p = put_edges(c, p, g, form->position);
    key->key_bytes = (size_t)(p - key->bytes);
    hash = XXH3_128bits(key->bytes, key->key_bytes);
    key->hash_low = hash.low64;
    key->hash_high = hash.high64;
    return 0;
}

void canon_key_fini(struct canon_key *key)
{
    free(key->bytes);
    *key = (struct canon_key){.bytes = NULL};
}

int canon_key_is_equal(const struct canon_key *a, const struct canon_key *b)
{
    return a->hash_low == b->hash_low && a->key_bytes == b->key_bytes &&
           memcmp(a->bytes, b->bytes, a->key_bytes) == 0;
}

/* ---- the check ---- */

static int compare_u64(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static int is_same_edges(const struct canon_graph *a, const struct canon_form *form_a,
                         const struct canon_graph *b, const struct canon_form *form_b)
{
    const size_t count = a->edge_count;
    uint64_t *keys = malloc((2 * count + 1) * sizeof *keys);
    int is_same;

    if (!keys)
        return WH_ERR_NOMEM;
    for (size_t i = 0; i < count; i++) {
        keys[i] = calc_edge_key(&a->edge[i], form_a->position);
        keys[count + i] = calc_edge_key(&b->edge[i], form_b->position);
    }
    qsort(keys, count, sizeof *keys, compare_u64);
    qsort(keys + count, count, sizeof *keys, compare_u64);
    is_same = memcmp(keys, keys + count, count * sizeof *keys) == 0;
    free(keys);
    return is_same;
}

int canon_check(const struct canon_graph *a, const struct canon_form *form_a,
                const struct canon_graph *b, const struct canon_form *form_b)
{
    if (a->vertex_count != b->vertex_count || a->edge_count != b->edge_count)
        return 0;
    for (uint32_t i = 0; i < a->vertex_count; i++) {
        if (form_a->position[form_a->order[i]] != i || form_b->position[form_b->order[i]] != i)
            return 0;
        if (compare_colours(a, form_a->order[i], b, form_b->order[i]) != 0)
            return 0;
    }
    return is_same_edges(a, form_a, b, form_b);
}
