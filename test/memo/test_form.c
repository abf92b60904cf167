/*
 * Canonical forms as the engine asks for them: the same under any numbering, with orders that
 * correspond; kept by the bytes of the graph; forgotten when there are too many.
 */
#include "form.h"
#include "rng.h"

#include <criterion/criterion.h>
#include <string.h>

#define FLOWS 6u
#define VERTICES (2 * FLOWS)

struct graph {
    uint8_t bytes[VERTICES];
    struct memo_colour colour[VERTICES];
    struct memo_edge edge[2 * FLOWS];
    struct memo_graph g;
};

/* A ring: flow i uses ports i and i + 1; @odd: the colour of one flow. Vertex v is called name[v].
 */
static void make_ring(struct graph *x, const uint32_t *name, uint8_t odd)
{
    for (uint32_t v = 0; v < VERTICES; v++) {
        x->bytes[name[v]] = v == 2 ? odd : v < FLOWS;
        x->colour[name[v]] = (struct memo_colour){name[v], 1};
    }
    for (uint32_t i = 0; i < FLOWS; i++) {
        x->edge[2 * i] = (struct memo_edge){name[i], name[FLOWS + i], 0};
        x->edge[2 * i + 1] = (struct memo_edge){name[i], name[FLOWS + (i + 1) % FLOWS], 1};
    }
    x->g = (struct memo_graph){x->bytes, x->colour, x->edge, VERTICES, 2 * FLOWS};
}

static void shuffle(uint32_t *name, uint64_t seed)
{
    for (uint32_t v = 0; v < VERTICES; v++)
        name[v] = v;
    for (uint32_t v = VERTICES - 1; v > 0; v--) {
        const uint32_t k = rng_below(rng_u64(seed, 3, v), v + 1), was = name[v];

        name[v] = name[k];
        name[k] = was;
    }
}

/* Into @key; returns its bytes. */
static size_t find(struct form_cache *c, const struct graph *x, uint8_t key[1024],
                   uint32_t order[VERTICES])
{
    struct memo_form f;

    cr_assert_eq(form_cache_find(c, &x->g, &f), 0);
    cr_assert_leq(f.key_bytes, 1024);
    memcpy(key, f.key, f.key_bytes);
    memcpy(order, f.order, VERTICES * sizeof *order);
    return f.key_bytes;
}

Test(form, is_the_same_under_any_numbering)
{
    uint32_t plain[VERTICES], name[VERTICES], a[VERTICES], b[VERTICES];
    uint8_t key_a[1024], key_b[1024];
    struct form_cache_stats stats;
    struct form_cache *c;
    struct graph x, y;

    cr_assert_eq(form_cache_create(&c, 0), 0);
    for (uint32_t v = 0; v < VERTICES; v++)
        plain[v] = v;
    make_ring(&x, plain, 7);
    for (uint64_t seed = 0; seed < 50; seed++) {
        const size_t bytes = find(c, &x, key_a, a);

        shuffle(name, seed);
        make_ring(&y, name, 7);
        cr_assert_eq(find(c, &y, key_b, b), bytes);
        cr_assert(!memcmp(key_a, key_b, bytes), "seed %lu", (unsigned long)seed);
        /* one flow is unlike the rest, so the ring has one numbering */
        for (uint32_t i = 0; i < VERTICES; i++)
            cr_assert_eq(b[i], name[a[i]], "seed %lu: place %u", (unsigned long)seed, i);
        make_ring(&y, name, 8);
        cr_assert(find(c, &y, key_b, b) != bytes || memcmp(key_a, key_b, bytes) != 0);
    }
    form_cache_read_stats(c, &stats);
    cr_assert_geq(stats.hit_count, 49, "%lu hits", (unsigned long)stats.hit_count);
    form_cache_destroy(c);
}

Test(form, forgets_when_there_are_too_many)
{
    uint32_t name[VERTICES], a[VERTICES], b[VERTICES];
    uint8_t key_a[1024], key_b[1024];
    struct form_cache_stats stats;
    struct form_cache *c;
    struct graph x;
    size_t bytes;

    cr_assert_eq(form_cache_create(&c, 4096), 0);
    shuffle(name, 1);
    make_ring(&x, name, 7);
    bytes = find(c, &x, key_a, a);
    for (uint64_t seed = 2; seed < 60; seed++) {
        struct graph y;

        shuffle(name, seed);
        make_ring(&y, name, 7);
        find(c, &y, key_b, b);
        cr_assert_eq(find(c, &x, key_b, b), bytes);
        cr_assert(!memcmp(key_a, key_b, bytes) && !memcmp(a, b, sizeof a));
    }
    form_cache_read_stats(c, &stats);
    cr_assert_gt(stats.drop_count, 0);
    form_cache_destroy(c);
}
