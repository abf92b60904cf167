/*
 * canon_search.c - order of a component in which no vertex is alone in its cell: twins, then bliss.
 *
 * Twins have one cell and the same edges to the same neighbours, like parallel flows of one
 * connection. They are interchangeable: one of them represents them all, coloured by their number.
 *
 * bliss (Junttila and Kaski, "Engineering an efficient canonical labeling tool for large and sparse
 * graphs", ALENEX 2007) knows no labels on edges. The commonest label between two cells is an edge
 * without more; one of another label gets a vertex in its middle, coloured by the label. So do
 * parallel edges of one label, which bliss would take for one.
 */
#include "canon_int.h"

#include <bliss/bliss_C.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

static int is_same_list(const struct canon *c, uint32_t i, uint32_t j)
{
    const size_t count = c->list_end[i] - c->list_begin[i];

    return c->list_end[j] - c->list_begin[j] == count &&
           memcmp(c->list + c->list_begin[i], c->list + c->list_begin[j],
                  count * sizeof *c->list) == 0;
}

/* Twins among the local numbers [from, to), one cell. */
static void find_twins_of_cell(struct canon *c, uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to; i++) {
        const size_t count = c->list_end[i] - c->list_begin[i];

        c->keyed[i - from] = (struct canon_keyed){
            XXH3_64bits(c->list + c->list_begin[i], count * sizeof *c->list), i};
    }
    canon__sort(c, 0, to - from);
    for (uint32_t k = 0; k < to - from;) {
        const uint32_t first = c->keyed[k].value;
        uint32_t last = first;

        c->twin_count[first] = 1;
        c->twin_next[first] = CANON_NONE;
        for (k++; k < to - from; k++) {
            const uint32_t twin = c->keyed[k].value;

            if (!is_same_list(c, first, twin))
                break;
            c->twin_count[first]++;
            c->twin_count[twin] = 0;
            c->twin_next[last] = twin;
            c->twin_next[twin] = CANON_NONE;
            last = twin;
        }
    }
}

/* Calls it for each cell of set[begin, end). */
static void find_twins(struct canon *c, uint32_t begin, uint32_t end)
{
    for (uint32_t from = begin, to; from < end; from = to) {
        for (to = from + 1; to < end && c->cell[c->set[to]] == c->cell[c->set[from]];)
            to++;
        find_twins_of_cell(c, from - begin, to - begin);
    }
}

/* Ranks the representatives by cell, then number of twins. Returns how many are in *reps. */
static uint32_t rank_representatives(struct canon *c, uint32_t begin, uint32_t count,
                                     uint32_t *reps)
{
    uint32_t ranks = 0;

    *reps = 0;
    for (uint32_t i = 0; i < count; i++)
        if (c->twin_count[i] > 0)
            c->keyed[(*reps)++] = (struct canon_keyed){
                (uint64_t)c->cell[c->set[begin + i]] << 32 | c->twin_count[i], i};
    canon__sort(c, 0, *reps);
    for (uint32_t k = 0; k < *reps; k++) {
        if (k > 0 && c->keyed[k].key != c->keyed[k - 1].key)
            ranks++;
        c->rank[c->keyed[k].value] = ranks;
    }
    return ranks + 1;
}

/* The edges between representatives, each once. Returns how many. */
static uint32_t collect_links(struct canon *c, uint32_t count)
{
    uint32_t links = 0;

    for (uint32_t i = 0; i < count; i++) {
        if (c->twin_count[i] == 0)
            continue;
        for (uint32_t k = c->list_begin[i]; k < c->list_end[i]; k++) {
            const uint32_t j = (uint32_t)(c->list[k] >> 16);

            if (j < i || c->twin_count[j] == 0)
                continue;
            c->link[links++] = (struct canon_link){
                .i = i,
                .j = j,
                .label = (uint32_t)c->list[k] & 0xffff,
                .has_middle = (k > c->list_begin[i] && c->list[k - 1] == c->list[k]) ||
                              (k + 1 < c->list_end[i] && c->list[k + 1] == c->list[k]),
            };
        }
    }
    return links;
}

/* Sorts the links by the ranks of their ends and label, in c->keyed. */
static void sort_links(struct canon *c, uint32_t links)
{
    for (uint32_t k = 0; k < links; k++) {
        const uint64_t a = c->rank[c->link[k].i], b = c->rank[c->link[k].j];

        c->keyed[k] = (struct canon_keyed){
            (a < b ? a << 40 | b << 16 : b << 40 | a << 16) | c->link[k].label, k};
    }
    canon__sort(c, 0, links);
}

/* The most frequent key of the links at keyed[begin, end), the smallest of several. */
static uint64_t find_commonest(const struct canon *c, uint32_t begin, uint32_t end)
{
    uint64_t best = c->keyed[begin].key;
    uint32_t best_count = 0;

    for (uint32_t from = begin, to; from < end; from = to) {
        for (to = from + 1; to < end && c->keyed[to].key == c->keyed[from].key;)
            to++;
        if (to - from > best_count) {
            best = c->keyed[from].key;
            best_count = to - from;
        }
    }
    return best;
}

/*
 * Marks the links that need a vertex in their middle: those whose label is not the commonest
 * between their ranks. Returns how many, with those that had the mark.
 */
static uint32_t mark_middles(struct canon *c, uint32_t links)
{
    uint32_t middles = 0;

    sort_links(c, links);
    for (uint32_t begin = 0, end; begin < links; begin = end) {
        uint64_t commonest;

        for (end = begin + 1; end < links && c->keyed[end].key >> 16 == c->keyed[begin].key >> 16;)
            end++;
        commonest = find_commonest(c, begin, end);
        for (uint32_t k = begin; k < end; k++) {
            struct canon_link *l = &c->link[c->keyed[k].value];

            l->has_middle |= c->keyed[k].key != commonest;
            middles += l->has_middle;
        }
    }
    return middles;
}

/*
 * The graph for bliss: representatives in ascending local number, then middles. The lists are made,
 * so local[] is free: it receives the representatives' numbers at bliss.
 */
static BlissGraph *build_graph(struct canon *c, uint32_t count, uint32_t links, uint32_t ranks)
{
    BlissGraph *const b = bliss_new(0);

    for (uint32_t i = 0; i < count; i++)
        if (c->twin_count[i] > 0)
            c->local[i] = bliss_add_vertex(b, c->rank[i]);
    for (uint32_t k = 0; k < links; k++) {
        const struct canon_link *l = &c->link[k];

        if (l->has_middle) {
            const uint32_t middle = bliss_add_vertex(b, ranks + l->label);

            bliss_add_edge(b, c->local[l->i], middle);
            bliss_add_edge(b, middle, c->local[l->j]);
        } else {
            bliss_add_edge(b, c->local[l->i], c->local[l->j]);
        }
    }
    return b;
}

/*
 * Has bliss number the representatives: rank[i] becomes their number.
 */
static int run_bliss(struct canon *c, uint32_t count, uint32_t reps, uint32_t ranks)
{
    const uint32_t links = collect_links(c, count);
    const uint32_t vertices = reps + mark_middles(c, links);
    const unsigned *label;
    BlissGraph *b;

    if (vertices > c->limits.search_vertex_count_max - c->search_vertex_count)
        return CANON_TOO_LARGE;
    c->search_vertex_count += vertices;
    b = build_graph(c, count, links, ranks);
    label = bliss_find_canonical_labeling(b, NULL, NULL, NULL);
    for (uint32_t i = 0; i < count; i++)
        if (c->twin_count[i] > 0)
            c->rank[i] = label[c->local[i]];
    bliss_release(b);
    return CANON_OK;
}

/* Sorts set[begin, end) by cell and number of the representative, twins side by side. */
static void apply_ranks(struct canon *c, uint32_t begin, uint32_t count)
{
    uint32_t sorted = 0;

    for (uint32_t i = 0; i < count; i++)
        if (c->twin_count[i] > 0)
            for (uint32_t twin = i; twin != CANON_NONE; twin = c->twin_next[twin]) {
                const uint32_t v = c->set[begin + twin];

                c->keyed[sorted++] =
                    (struct canon_keyed){(uint64_t)c->cell[v] << 32 | c->rank[i], v};
            }
    dcheck(sorted == count, "%u of %u", sorted, count);
    canon__sort(c, 0, count);
    for (uint32_t i = 0; i < count; i++)
        c->set[begin + i] = c->keyed[i].value;
}

int canon__search(struct canon *c, uint32_t begin, uint32_t end)
{
    const uint32_t count = end - begin;
    uint32_t reps, ranks;

    canon__local_lists(c, begin, end);
    find_twins(c, begin, end);
    ranks = rank_representatives(c, begin, count, &reps);
    if (ranks < reps && run_bliss(c, count, reps, ranks) == CANON_TOO_LARGE)
        return CANON_TOO_LARGE;
    apply_ranks(c, begin, count);
    return CANON_OK;
}

/* ---- version ---- */

#define PROBE_VERTICES 40u

/* Labels a circulant graph: vertex i beside i + 1 and i + @step. */
static uint64_t probe_bliss(uint32_t step, uint64_t seed)
{
    BlissGraph *const b = bliss_new(0);
    uint64_t hash;

    for (uint32_t i = 0; i < PROBE_VERTICES; i++)
        bliss_add_vertex(b, i % step == 0);
    for (uint32_t i = 0; i < PROBE_VERTICES; i++) {
        bliss_add_edge(b, i, (i + 1) % PROBE_VERTICES);
        bliss_add_edge(b, i, (i + step) % PROBE_VERTICES);
    }
    hash = XXH3_64bits_withSeed(bliss_find_canonical_labeling(b, NULL, NULL, NULL),
                                PROBE_VERTICES * sizeof(unsigned), seed);
    bliss_release(b);
    return hash;
}

void canon_version(char *text, size_t text_bytes)
{
    uint64_t hash = 0;

    for (uint32_t step = 2; step <= 10; step++)
        hash = probe_bliss(step, hash);
    snprintf(text, text_bytes, "canon 1, bliss %016" PRIx64, hash);
}
