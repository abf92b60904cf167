/* Canonical form: memo/canon.c and its parts canon_refine.c, canon_split.c, canon_search.c. */
#include "canon_int.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define VERTICES_MAX 1200u
#define EDGES_MAX 9000u
#define COLOUR_BYTES 24u

/* A graph with memory of its own. Colours are those of new_vertex(), 24 bytes each. */
struct sample {
    struct canon_graph g;
    uint8_t bytes[VERTICES_MAX * COLOUR_BYTES];
    struct canon_colour colour[VERTICES_MAX];
    struct canon_edge edge[EDGES_MAX];
};

static uint64_t draw(uint64_t *state, uint64_t below)
{
    return canon__mix(*state += UINT64_C(0x9e3779b97f4a7c15)) % below;
}

static struct sample *new_sample(void)
{
    struct sample *s = calloc(1, sizeof *s);

    cr_assert_not_null(s);
    s->g.bytes = s->bytes;
    s->g.colour = s->colour;
    s->g.edge = s->edge;
    return s;
}

static uint32_t new_vertex(struct sample *s, uint8_t colour)
{
    const uint32_t v = s->g.vertex_count++;

    cr_assert_lt(v, VERTICES_MAX);
    s->colour[v] = (struct canon_colour){v * COLOUR_BYTES, COLOUR_BYTES};
    memset(s->bytes + v * COLOUR_BYTES, 7, COLOUR_BYTES);
    s->bytes[v * COLOUR_BYTES + COLOUR_BYTES - 1] = colour;
    return v;
}

static void new_edge(struct sample *s, uint32_t u, uint32_t v, uint32_t label)
{
    cr_assert_lt(s->g.edge_count, EDGES_MAX);
    s->edge[s->g.edge_count++] = (struct canon_edge){u, v, label};
}

static void draw_permutation(uint32_t *perm, uint32_t count, uint64_t *state)
{
    for (uint32_t i = 0; i < count; i++)
        perm[i] = i;
    for (uint32_t i = count; i > 1; i--) {
        const uint32_t k = (uint32_t)draw(state, i), swap = perm[k];

        perm[k] = perm[i - 1];
        perm[i - 1] = swap;
    }
}

/* The same graph: vertex v is called perm[v], edges come in another order and direction. */
static struct sample *relabel(const struct sample *s, const uint32_t *perm, uint64_t *state)
{
    struct sample *t = new_sample();
    uint32_t edge_perm[EDGES_MAX];

    t->g.vertex_count = s->g.vertex_count;
    t->g.edge_count = s->g.edge_count;
    memcpy(t->bytes, s->bytes, sizeof s->bytes);
    for (uint32_t v = 0; v < s->g.vertex_count; v++)
        t->colour[perm[v]] = s->colour[v];
    draw_permutation(edge_perm, s->g.edge_count, state);
    for (uint32_t i = 0; i < s->g.edge_count; i++) {
        const struct canon_edge *e = &s->edge[i];

        t->edge[edge_perm[i]] = draw(state, 2)
                                    ? (struct canon_edge){perm[e->u], perm[e->v], e->label}
                                    : (struct canon_edge){perm[e->v], perm[e->u], e->label};
    }
    return t;
}

static struct canon *new_canon(void)
{
    struct canon *c = NULL;

    cr_assert_eq(canon_create(&c, NULL), 0);
    return c;
}

static struct canon_key key_of(struct canon *c, const struct sample *s)
{
    struct canon_key key = {.bytes = NULL};
    struct canon_form form;

    cr_assert_eq(canon_run(c, &s->g, &form), CANON_OK);
    cr_assert_eq(canon_serialise(c, &s->g, &form, &key), 0);
    return key;
}

static int has_equal_keys(const struct sample *a, const struct sample *b)
{
    struct canon *c = new_canon();
    struct canon_key x = key_of(c, a), y = key_of(c, b);
    const int is_equal = canon_key_is_equal(&x, &y);

    canon_key_fini(&x);
    canon_key_fini(&y);
    canon_destroy(c);
    return is_equal;
}

/* Vertices that bliss saw. */
static uint32_t search_count_of(const struct sample *s)
{
    struct canon *c = new_canon();
    struct canon_form form;

    cr_assert_eq(canon_run(c, &s->g, &form), CANON_OK);
    canon_destroy(c);
    return form.search_vertex_count;
}

/* Relabels @times times: the keys have to be equal, the orders an isomorphism. */
static void expect_invariant(const struct sample *s, uint32_t times, uint64_t seed)
{
    struct canon *a = new_canon(), *b = new_canon();
    struct canon_key x = key_of(a, s), y = {.bytes = NULL};
    uint32_t perm[VERTICES_MAX];

    for (uint32_t k = 0; k < times; k++) {
        struct canon_form form_s, form_t;
        struct sample *t;

        draw_permutation(perm, s->g.vertex_count, &seed);
        t = relabel(s, perm, &seed);
        cr_assert_eq(canon_run(a, &s->g, &form_s), CANON_OK);
        cr_assert_eq(canon_run(b, &t->g, &form_t), CANON_OK);
        cr_assert_eq(canon_serialise(b, &t->g, &form_t, &y), 0);
        cr_assert(canon_key_is_equal(&x, &y), "relabelling %u", k);
        cr_assert_eq(x.hash_high, y.hash_high);
        cr_assert_eq(canon_check(&s->g, &form_s, &t->g, &form_t), 1, "relabelling %u", k);
        cr_assert_eq(form_s.class_count, form_t.class_count);
        cr_assert_eq(form_s.search_vertex_count, form_t.search_vertex_count);
        free(t);
    }
    canon_key_fini(&x);
    canon_key_fini(&y);
    canon_destroy(a);
    canon_destroy(b);
}

/* ---- graphs ---- */

/* Appends a cycle of plain vertices. */
static void add_cycle(struct sample *s, uint32_t count, uint8_t colour)
{
    const uint32_t first = s->g.vertex_count;

    for (uint32_t i = 0; i < count; i++)
        new_vertex(s, colour);
    for (uint32_t i = 0; i < count; i++)
        new_edge(s, first + i, first + (i + 1) % count, 0);
}

/* Two strongly regular graphs with parameters (16, 6, 2, 2): refinement sees no difference. */
static struct sample *new_strongly_regular(int is_rook)
{
    struct sample *s = new_sample();

    for (uint32_t i = 0; i < 16; i++)
        new_vertex(s, 0);
    for (uint32_t i = 0; i < 16; i++)
        for (uint32_t j = i + 1; j < 16; j++) {
            const uint32_t dx = (i / 4 - j / 4) & 3, dy = (i % 4 - j % 4) & 3;
            const int is_straight = dx == 0 || dy == 0;
            const int is_near = (dx != 2 && dy != 2 && is_straight) || (dx == dy && dx != 2);

            if (is_rook ? is_straight : is_near)
                new_edge(s, i, j, 0);
        }
    return s;
}

/* Flow i goes from a port of its own over @shared common ones; states all equal or all different.
 */
static struct sample *new_incast(uint32_t flows, uint32_t shared, int is_equal)
{
    struct sample *s = new_sample();
    const uint32_t first = shared;

    for (uint32_t h = 0; h < shared; h++)
        new_vertex(s, 1);
    for (uint32_t i = 0; i < flows; i++) {
        const uint32_t flow = new_vertex(s, is_equal ? 2 : (uint8_t)(100 + i));
        const uint32_t port = new_vertex(s, 1);

        cr_assert_eq(flow, first + 2 * i);
        new_edge(s, flow, port, 0);
        for (uint32_t h = 0; h < shared; h++)
            new_edge(s, flow, h, 1 + h);
    }
    return s;
}

/* @racks of @flows senders each, over one uplink for each rack, to one port. */
static struct sample *new_tree(uint32_t racks, uint32_t flows)
{
    struct sample *s = new_sample();
    const uint32_t root = new_vertex(s, 1);

    for (uint32_t r = 0; r < racks; r++) {
        const uint32_t uplink = new_vertex(s, 1);

        for (uint32_t i = 0; i < flows; i++) {
            const uint32_t flow = new_vertex(s, 2), port = new_vertex(s, 1);

            new_edge(s, flow, port, 0);
            new_edge(s, flow, uplink, 1);
            new_edge(s, flow, root, 2);
        }
    }
    return s;
}

/* Ring of @links: flows over 6 ports each, 3 of them shared with the next; @twins flows a link. */
static struct sample *new_ring(uint32_t links, uint32_t twins)
{
    struct sample *s = new_sample();

    for (uint32_t p = 0; p < 3 * links; p++)
        new_vertex(s, 1);
    for (uint32_t i = 0; i < links * twins; i++) {
        const uint32_t flow = new_vertex(s, 2);

        for (uint32_t h = 0; h < 6; h++)
            new_edge(s, flow, (i / twins * 3 + h) % (3 * links), h);
    }
    return s;
}

/* From each of @hosts to each other. */
static struct sample *new_all_to_all(uint32_t hosts)
{
    struct sample *s = new_sample();

    for (uint32_t p = 0; p < 2 * hosts; p++)
        new_vertex(s, 1);
    for (uint32_t i = 0; i < hosts; i++)
        for (uint32_t j = 0; j < hosts; j++)
            if (i != j) {
                const uint32_t flow = new_vertex(s, 2);

                new_edge(s, flow, i, 0);
                new_edge(s, flow, hosts + j, 1);
            }
    return s;
}

static struct sample *new_random(uint32_t vertices, uint32_t edges, uint32_t colours,
                                 uint32_t labels, uint64_t *state)
{
    struct sample *s = new_sample();

    for (uint32_t i = 0; i < vertices; i++)
        new_vertex(s, (uint8_t)draw(state, colours));
    while (vertices > 1 && s->g.edge_count < edges) {
        const uint32_t u = (uint32_t)draw(state, vertices), v = (uint32_t)draw(state, vertices);

        if (u != v)
            new_edge(s, u, v, (uint32_t)draw(state, labels));
    }
    return s;
}

/* ---- relabelling changes nothing ---- */

Test(canon, random_graphs_keep_their_key_when_relabelled)
{
    uint64_t state = 1;

    for (uint32_t k = 0; k < 400; k++) {
        const uint32_t vertices = (uint32_t)draw(&state, 40);
        const uint32_t edges = (uint32_t)draw(&state, 2 * vertices + 1);
        struct sample *s = new_random(vertices, edges, 1 + (uint32_t)draw(&state, 4),
                                      1 + (uint32_t)draw(&state, 3), &state);

        expect_invariant(s, 4, k);
        free(s);
    }
}

/* Regular graphs: nothing for refinement to hold on to. */
Test(canon, random_regular_graphs_keep_their_key_when_relabelled)
{
    uint64_t state = 2;
    uint32_t perm[64];

    for (uint32_t k = 0; k < 200; k++) {
        struct sample *s = new_sample();
        const uint32_t vertices = 6 + (uint32_t)draw(&state, 50);
        const uint32_t layers = 1 + (uint32_t)draw(&state, 3);

        for (uint32_t i = 0; i < vertices; i++)
            new_vertex(s, 0);
        for (uint32_t layer = 0; layer < layers; layer++) { /* each a cycle through all */
            draw_permutation(perm, vertices, &state);
            for (uint32_t i = 0; i < vertices; i++)
                new_edge(s, perm[i], perm[(i + 1) % vertices], (uint32_t)draw(&state, 2) * layer);
        }
        expect_invariant(s, 4, k);
        free(s);
    }
}

Test(canon, networks_keep_their_key_when_relabelled)
{
    struct sample *const samples[] = {
        new_incast(1, 7, 1),     new_incast(12, 3, 1),    new_incast(12, 3, 0),
        new_incast(64, 5, 1),    new_tree(2, 1),          new_tree(4, 8),
        new_tree(12, 12),        new_ring(5, 1),          new_ring(32, 1),
        new_ring(12, 8),         new_all_to_all(2),       new_all_to_all(9),
        new_strongly_regular(0), new_strongly_regular(1),
    };

    for (uint32_t k = 0; k < sizeof samples / sizeof *samples; k++) {
        expect_invariant(samples[k], 20, k);
        free(samples[k]);
    }
}

/* One flow in another state: symmetry is broken at one place and refinement has to carry it on. */
Test(canon, broken_symmetry_keeps_its_key_when_relabelled)
{
    struct sample *ring = new_ring(32, 1), *mesh = new_all_to_all(9), *tree = new_tree(6, 6);

    ring->bytes[(ring->g.vertex_count - 1) * COLOUR_BYTES] = 200;
    mesh->bytes[(mesh->g.vertex_count - 1) * COLOUR_BYTES] = 200;
    tree->bytes[(tree->g.vertex_count - 1) * COLOUR_BYTES] = 200;
    expect_invariant(ring, 20, 1);
    expect_invariant(mesh, 20, 2);
    expect_invariant(tree, 20, 3);
    cr_assert_eq(search_count_of(ring), 0);
    free(ring);
    free(mesh);
    free(tree);
}

/* Components of several kinds, equal and unequal, in one graph. */
Test(canon, components_are_sorted_by_form)
{
    struct sample *s = new_sample();

    add_cycle(s, 3, 0);
    add_cycle(s, 7, 0);
    add_cycle(s, 4, 0);
    add_cycle(s, 3, 0);
    add_cycle(s, 4, 1);
    add_cycle(s, 4, 0);
    new_vertex(s, 0);
    new_vertex(s, 0);
    expect_invariant(s, 200, 1);
    free(s);
}

/* ---- model: all permutations ---- */

#define MODEL_MAX 6u

static int is_isomorphic_by(const struct sample *a, const struct sample *b, const uint32_t *map)
{
    uint8_t left[MODEL_MAX][MODEL_MAX][4] = {{{0}}};

    for (uint32_t v = 0; v < a->g.vertex_count; v++)
        if (memcmp(a->bytes + a->colour[v].offset, b->bytes + b->colour[map[v]].offset,
                   COLOUR_BYTES) != 0)
            return 0;
    for (uint32_t i = 0; i < b->g.edge_count; i++) {
        left[b->edge[i].u][b->edge[i].v][b->edge[i].label]++;
        left[b->edge[i].v][b->edge[i].u][b->edge[i].label]++;
    }
    for (uint32_t i = 0; i < a->g.edge_count; i++) {
        const uint32_t u = map[a->edge[i].u], v = map[a->edge[i].v], label = a->edge[i].label;

        if (left[u][v][label] == 0)
            return 0;
        left[u][v][label]--;
        left[v][u][label]--;
    }
    return 1;
}

static int is_isomorphic_from(const struct sample *a, const struct sample *b, uint32_t *map,
                              uint32_t fixed)
{
    if (fixed == a->g.vertex_count)
        return is_isomorphic_by(a, b, map);
    for (uint32_t i = fixed; i < a->g.vertex_count; i++) {
        const uint32_t swap = map[i];
        int found;

        map[i] = map[fixed];
        map[fixed] = swap;
        found = is_isomorphic_from(a, b, map, fixed + 1);
        map[fixed] = map[i];
        map[i] = swap;
        if (found)
            return 1;
    }
    return 0;
}

static int is_isomorphic(const struct sample *a, const struct sample *b)
{
    uint32_t map[MODEL_MAX] = {0, 1, 2, 3, 4, 5};

    return a->g.vertex_count == b->g.vertex_count && a->g.edge_count == b->g.edge_count &&
           is_isomorphic_from(a, b, map, 0);
}

/* Graphs from a small family, so that equal ones are common. */
Test(canon, keys_are_equal_exactly_if_a_permutation_exists)
{
    uint64_t state = 3;
    uint32_t equal = 0, different = 0;

    for (uint32_t k = 0; k < 20000; k++) {
        const uint32_t vertices = 1 + (uint32_t)draw(&state, MODEL_MAX);
        const uint32_t edges = (uint32_t)draw(&state, vertices + 2);
        const uint32_t colours = 1 + (uint32_t)draw(&state, 2);
        const uint32_t labels = 1 + (uint32_t)draw(&state, 2);
        struct sample *a = new_random(vertices, edges, colours, labels, &state);
        struct sample *b = new_random(vertices, edges, colours, labels, &state);
        const int expected = is_isomorphic(a, b);

        cr_assert_eq(has_equal_keys(a, b), expected, "pair %u: expected %d", k, expected);
        equal += expected ? 1 : 0;
        different += expected ? 0 : 1;
        free(a);
        free(b);
    }
    cr_assert_gt(equal, 2000);
    cr_assert_gt(different, 2000);
}

/* ---- different graphs ---- */

Test(canon, two_triangles_are_not_a_hexagon)
{
    struct sample *two = new_sample(), *one = new_sample();

    add_cycle(two, 3, 0);
    add_cycle(two, 3, 0);
    add_cycle(one, 6, 0);
    cr_assert(!has_equal_keys(two, one));
    cr_assert(has_equal_keys(two, two));
    free(two);
    free(one);
}

Test(canon, strongly_regular_graphs_of_equal_parameters_differ)
{
    struct sample *rook = new_strongly_regular(1), *shrikhande = new_strongly_regular(0);

    cr_assert_eq(rook->g.edge_count, 48);
    cr_assert_eq(shrikhande->g.edge_count, 48);
    cr_assert(!has_equal_keys(rook, shrikhande));
    free(rook);
    free(shrikhande);
}

/* Circulants on 16 vertices: i beside i+1 and i+step; 3 and 5 are isomorphic (times 5), 2 not. */
Test(canon, circulants_are_told_apart)
{
    struct sample *s[3];
    const uint32_t step[3] = {3, 5, 2};

    for (uint32_t k = 0; k < 3; k++) {
        s[k] = new_sample();
        add_cycle(s[k], 16, 0);
        for (uint32_t i = 0; i < 16; i++)
            new_edge(s[k], i, (i + step[k]) % 16, 0);
    }
    cr_assert(has_equal_keys(s[0], s[1]));
    cr_assert(!has_equal_keys(s[0], s[2]));
    for (uint32_t k = 0; k < 3; k++)
        free(s[k]);
}

/* A ring whose labels alternate along it, and one where they alternate in pairs. */
Test(canon, labels_tell_where_structure_does_not)
{
    struct sample *plain = new_sample(), *single = new_sample(), *pairs = new_sample();

    add_cycle(plain, 8, 0);
    add_cycle(single, 8, 0);
    add_cycle(pairs, 8, 0);
    for (uint32_t i = 0; i < 8; i++) {
        single->edge[i].label = i & 1;
        pairs->edge[i].label = i >> 1 & 1;
    }
    cr_assert(!has_equal_keys(plain, single));
    cr_assert(!has_equal_keys(single, pairs));
    expect_invariant(single, 50, 1);
    expect_invariant(pairs, 50, 2);
    free(plain);
    free(single);
    free(pairs);
}

/* Symmetric in labels, but the two rings cross: bliss has to see labels inside one pair of cells.
 */
Test(canon, labels_reach_the_search)
{
    struct sample *a = new_sample(), *b = new_sample();

    for (uint32_t i = 0; i < 12; i++) {
        new_vertex(a, 0);
        new_vertex(b, 0);
    }
    for (uint32_t i = 0; i < 12; i++) {
        new_edge(a, i, (i + 1) % 12, 0); /* one cycle of 12 ... */
        new_edge(a, i, (i + 5) % 12, 1); /* ... and another one */
        new_edge(b, i, (i + 5) % 12, 0); /* isomorphic: times 5 */
        new_edge(b, i, (i + 1) % 12, 1);
    }
    cr_assert(has_equal_keys(a, b));
    for (uint32_t i = 1; i < 24; i += 2)
        b->edge[i] = (struct canon_edge){i / 2, (i / 2 + 2) % 12, 1}; /* two cycles of 6 */
    cr_assert(!has_equal_keys(a, b));
    cr_assert_gt(search_count_of(a), 12, "no vertices for the labels");
    expect_invariant(a, 50, 1);
    expect_invariant(b, 50, 1);
    free(a);
    free(b);
}

/*
 * Three labels between the same cells. Times 5 is a symmetry of the edges (modulo 13) that swaps
 * labels 0 and 1, so whoever mixes them up finds two orders. The commonest label costs nothing.
 */
Test(canon, labels_of_the_search_are_told_apart)
{
    struct sample *s = new_sample();

    for (uint32_t i = 0; i < 13; i++)
        new_vertex(s, 0);
    for (uint32_t i = 0; i < 13; i++) {
        new_edge(s, i, (i + 1) % 13, 0);
        new_edge(s, i, (i + 5) % 13, 1);
        new_edge(s, i, (i + 2) % 13, 2);
        new_edge(s, i, (i + 3) % 13, 2);
    }
    cr_assert_eq(search_count_of(s), 13 + 2 * 13);
    expect_invariant(s, 50, 1);
    free(s);
}

Test(canon, parallel_edges_count)
{
    struct sample *one = new_sample(), *two = new_sample(), *all = new_sample();

    add_cycle(one, 6, 0);
    add_cycle(two, 6, 0);
    add_cycle(all, 6, 0);
    new_edge(one, 0, 1, 0);
    new_edge(two, 0, 1, 1);
    for (uint32_t i = 0; i < 6; i += 2)
        new_edge(all, i, i + 1, 0); /* refinement alone does not break this up */
    cr_assert(!has_equal_keys(one, two));
    expect_invariant(one, 50, 1);
    expect_invariant(two, 50, 2);
    expect_invariant(all, 50, 3);
    free(one);
    free(two);
    free(all);
}

Test(canon, colours_of_unlike_length_differ)
{
    struct sample *a = new_sample(), *b = new_sample();

    new_vertex(a, 0);
    new_vertex(b, 0);
    b->colour[0].colour_bytes--;
    cr_assert(!has_equal_keys(a, b));
    a->colour[0].colour_bytes = b->colour[0].colour_bytes = 0;
    cr_assert(has_equal_keys(a, b));
    free(a);
    free(b);
}

/* ---- what is left to bliss ---- */

Test(canon, incasts_and_trees_need_no_search)
{
    struct sample *const samples[] = {new_incast(64, 5, 1), new_tree(12, 12), new_incast(1, 7, 1)};

    for (uint32_t k = 0; k < 3; k++) {
        cr_assert_eq(search_count_of(samples[k]), 0, "sample %u", k);
        free(samples[k]);
    }
}

Test(canon, twins_are_searched_once)
{
    struct sample *one = new_ring(12, 1), *eight = new_ring(12, 8);
    const uint32_t count = search_count_of(one);

    cr_assert_gt(count, 0);
    cr_assert_eq(search_count_of(eight), count);
    free(one);
    free(eight);
}

/* Ports see four flows each, but as 2 + 2 or 1 + 3 twins. */
Test(canon, numbers_of_twins_count)
{
    struct sample *s[2];
    const uint32_t twins[2][4] = {{2, 2, 2, 2}, {1, 3, 1, 3}};

    for (uint32_t k = 0; k < 2; k++) {
        s[k] = new_sample();
        for (uint32_t p = 0; p < 4; p++)
            new_vertex(s[k], 1);
        for (uint32_t p = 0; p < 4; p++)
            for (uint32_t i = 0; i < twins[k][p]; i++) {
                const uint32_t flow = new_vertex(s[k], 2);

                new_edge(s[k], flow, p, 0);
                new_edge(s[k], flow, (p + 1) % 4, 0);
            }
        expect_invariant(s[k], 50, k);
    }
    cr_assert_eq(s[0]->g.vertex_count, s[1]->g.vertex_count);
    cr_assert(!has_equal_keys(s[0], s[1]));
    free(s[0]);
    free(s[1]);
}

/* ---- classes by colour ---- */

/* All hashes equal: the classes have to come from the bytes. */
Test(canon, colliding_hashes_do_not_merge_colours)
{
    struct sample *s = new_sample();
    struct canon *c = new_canon();
    struct canon_form form;
    const uint8_t colours[] = {3, 1, 2, 1, 3, 3};

    for (uint32_t i = 0; i < 6; i++)
        new_vertex(s, colours[i]);
    s->colour[2].colour_bytes = 5; /* shorter comes first */
    cr_assert_eq(canon_run(c, &s->g, &form), CANON_OK);
    for (uint32_t i = 0; i < 6; i++)
        c->keyed[i] = (struct canon_keyed){.key = 42, .value = i};
    canon__classes(c, &s->g);
    cr_assert_eq(c->cell_total, 3);
    cr_assert_eq(c->order[0], 2);
    cr_assert_eq(c->cell_count[0], 1);
    cr_assert_eq(c->cell_count[1], 2);
    cr_assert_eq(c->cell_count[3], 3);
    for (uint32_t i = 0; i < 6; i++) {
        cr_assert_eq(c->position[c->order[i]], i);
        cr_assert_eq(c->cell[i], i == 2 ? 0 : colours[i] == 1 ? 1 : 3);
    }
    canon_destroy(c);
    free(s);
}

Test(canon, sort_is_stable_and_sorts)
{
    struct canon *c = new_canon();
    struct sample *s = new_sample();
    struct canon_form form;
    uint64_t state = 5;

    while (s->g.vertex_count < 1000)
        new_vertex(s, 0);
    cr_assert_eq(canon_run(c, &s->g, &form), CANON_OK); /* memory for 1000 */
    for (uint32_t count = 0; count < 1000; count += 1 + count / 7) {
        for (uint32_t i = 0; i < count; i++)
            c->keyed[i] = (struct canon_keyed){draw(&state, 1 + count / 3), i};
        canon__sort(c, 0, count);
        for (uint32_t i = 1; i < count; i++) {
            cr_assert_leq(c->keyed[i - 1].key, c->keyed[i].key);
            if (c->keyed[i - 1].key == c->keyed[i].key)
                cr_assert_lt(c->keyed[i - 1].value, c->keyed[i].value);
        }
    }
    canon_destroy(c);
    free(s);
}

/* ---- the serialised form ---- */

Test(canon, serialised_form_is_as_documented)
{
    static const uint8_t expected[] = {
        2, 1,       /* vertices, edges */
        2, 1, 'x',  /* two of one colour */
        0, 1, 0xac, /* edge between positions 0 and 1 ... */
        2,          /* ... label 300 */
    };
    struct sample *s = new_sample();
    struct canon *c = new_canon();
    struct canon_key key;

    new_vertex(s, 'x');
    new_vertex(s, 'x');
    for (uint32_t i = 0; i < 2; i++)
        s->colour[i] = (struct canon_colour){(i + 1) * COLOUR_BYTES - 1, 1};
    new_edge(s, 1, 0, 300);
    key = key_of(c, s);
    cr_assert_eq(key.key_bytes, sizeof expected);
    cr_assert_eq(memcmp(key.bytes, expected, sizeof expected), 0);
    canon_key_fini(&key);
    canon_destroy(c);
    free(s);
}

/* Renaming the vertices to their positions and writing them in that order gives the same bytes. */
Test(canon, order_applied_to_the_input_gives_the_form)
{
    uint64_t state = 6;
    uint32_t identity[VERTICES_MAX];

    for (uint32_t i = 0; i < VERTICES_MAX; i++)
        identity[i] = i;
    for (uint32_t k = 0; k < 100; k++) {
        struct sample *s = k % 2 ? new_ring(3 + k / 2, 1 + k % 3)
                                 : new_random(1 + k, 2 * k, 2, 2, &state),
                      *t;
        struct canon *c = new_canon();
        struct canon_key x = {.bytes = NULL}, y = {.bytes = NULL};
        struct canon_form form, plain = {.order = identity, .position = identity};

        cr_assert_eq(canon_run(c, &s->g, &form), CANON_OK);
        cr_assert_eq(canon_serialise(c, &s->g, &form, &x), 0);
        t = relabel(s, form.position, &state);
        cr_assert_eq(canon_serialise(c, &t->g, &plain, &y), 0);
        cr_assert(canon_key_is_equal(&x, &y), "graph %u", k);
        canon_key_fini(&x);
        canon_key_fini(&y);
        canon_destroy(c);
        free(s);
        free(t);
    }
}

Test(canon, check_refuses_what_is_no_isomorphism)
{
    struct sample *s = new_all_to_all(3), *t = new_all_to_all(3);
    struct canon *a = new_canon(), *b = new_canon();
    struct canon_form x, y;

    cr_assert_eq(canon_run(a, &s->g, &x), CANON_OK);
    cr_assert_eq(canon_run(b, &t->g, &y), CANON_OK);
    cr_assert_eq(canon_check(&s->g, &x, &t->g, &y), 1);
    t->edge[3].label = 5;
    cr_assert_eq(canon_check(&s->g, &x, &t->g, &y), 0);
    t->edge[3].label = s->edge[3].label;
    t->bytes[0]++;
    cr_assert_eq(canon_check(&s->g, &x, &t->g, &y), 0);
    t->bytes[0]--;
    t->g.edge_count--;
    cr_assert_eq(canon_check(&s->g, &x, &t->g, &y), 0);
    canon_destroy(a);
    canon_destroy(b);
    free(s);
    free(t);
}

/* ---- contexts ---- */

Test(canon, context_can_be_reused_for_graphs_of_any_size)
{
    struct sample *const samples[] = {
        new_ring(12, 8),    new_sample(),   new_incast(12, 3, 1),
        new_all_to_all(20), new_tree(4, 8), new_ring(5, 1),
    };
    struct canon *reused = new_canon();

    for (uint32_t k = 0; k < 60; k++) {
        const struct sample *s = samples[k * 7 % 6];
        struct canon *fresh = new_canon();
        struct canon_key x = key_of(reused, s), y = key_of(fresh, s);

        cr_assert(canon_key_is_equal(&x, &y), "call %u", k);
        canon_key_fini(&x);
        canon_key_fini(&y);
        canon_destroy(fresh);
    }
    canon_destroy(reused);
    for (uint32_t k = 0; k < 6; k++)
        free(samples[k]);
}

/* The key of run and serialise is a function of the input alone. */
Test(canon, equal_inputs_give_equal_orders)
{
    struct sample *s = new_all_to_all(8);
    struct canon *a = new_canon(), *b = new_canon();
    struct canon_form x, y;

    for (uint32_t k = 0; k < 10; k++) {
        cr_assert_eq(canon_run(a, &s->g, &x), CANON_OK);
        cr_assert_eq(canon_run(b, &s->g, &y), CANON_OK);
        cr_assert_eq(memcmp(x.order, y.order, s->g.vertex_count * sizeof *x.order), 0);
    }
    canon_destroy(a);
    canon_destroy(b);
    free(s);
}

/* ---- limits ---- */

Test(canon, limits_are_exact_and_say_why)
{
    struct sample *s = new_ring(12, 1); /* 36 ports, 12 flows, 72 edges */
    const uint32_t search = search_count_of(s);
    const struct {
        struct canon_limits limits;
        enum canon_reason reason;
    } cases[] = {
        {{48, 72, search}, CANON_REASON_NONE},
        {{47, 72, search}, CANON_REASON_VERTICES},
        {{48, 71, search}, CANON_REASON_EDGES},
        {{48, 72, search - 1}, CANON_REASON_SEARCH},
    };

    for (uint32_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const int is_fit = cases[k].reason == CANON_REASON_NONE;
        struct canon_form form;
        struct canon *c = NULL;

        cr_assert_eq(canon_create(&c, &cases[k].limits), 0);
        for (uint32_t again = 0; again < 2; again++) { /* being refused leaves no trace */
            cr_assert_eq(canon_run(c, &s->g, &form), is_fit ? CANON_OK : CANON_TOO_LARGE);
            cr_assert_eq(form.reason, cases[k].reason, "case %u", k);
            cr_assert_eq(form.order != NULL, is_fit);
            cr_assert_neq(strcmp(canon_reason_text(form.reason), "unknown"), 0);
        }
        canon_destroy(c);
    }
    free(s);
}

/* Of all components together. */
Test(canon, search_limit_is_for_the_sum)
{
    struct sample *s = new_sample();
    struct canon *c = NULL;
    struct canon_form form;

    for (uint32_t i = 0; i < 4; i++)
        add_cycle(s, 10, 0);
    cr_assert_eq(search_count_of(s), 40);
    cr_assert_eq(canon_create(&c, &(struct canon_limits){100, 100, 39}), 0);
    cr_assert_eq(canon_run(c, &s->g, &form), CANON_TOO_LARGE);
    canon_destroy(c);
    free(s);
}

Test(canon, loop_is_our_bug, .signal = SIGABRT)
{
    struct sample *s = new_sample();
    struct canon_form form;

    new_vertex(s, 0);
    new_edge(s, 0, 0, 0);
    cr_assert_eq(canon_run(new_canon(), &s->g, &form), CANON_OK);
}

Test(canon, label_beyond_the_range_is_our_bug, .signal = SIGABRT)
{
    struct sample *s = new_sample();
    struct canon_form form;

    new_vertex(s, 0);
    new_vertex(s, 0);
    new_edge(s, 0, 1, CANON_LABEL_MAX + 1);
    cr_assert_eq(canon_run(new_canon(), &s->g, &form), CANON_OK);
}

Test(canon, version_is_stable)
{
    char a[CANON_VERSION_BYTES], b[CANON_VERSION_BYTES];

    canon_version(a, sizeof a);
    canon_version(b, sizeof b);
    cr_assert_str_eq(a, b);
    cr_assert_lt(strlen(a), sizeof a - 1, "cut: %s", a);
}
