/*
 * test_coll.c - lowerings without a network: volumes and flow counts against the closed formulas,
 * and a naive twin that moves data, with messages delayed at random.
 */
#include "coll.h"
#include "coll_int.h"
#include "topogen.h"

#include "rng.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MEMBERS_MAX 16u
#define ELEMS_MAX 61u

/* ---- groups to try ---- */

struct fixture {
    struct placement place;
    struct group_set groups;
    const struct group *g;
};

/* @servers of @gpus GPUs each, all in one group in order of rank. */
static struct fixture make_group(uint32_t servers, uint32_t gpus)
{
    struct fixture f = {.g = NULL};
    struct topo_spec spec;
    struct topo *t = NULL;
    struct err_info e = {.text = ""};
    uint32_t ranks[256], id;
    const struct place_request r = {.kind = PLACE_PACKED, .rank_count = servers * gpus};

    topo_spec_init(&spec, TOPO_RAIL);
    spec.hosts = servers * gpus;
    spec.gpus_per_server = gpus;
    spec.spines = 1;
    cr_assert_eq(topo_generate(&spec, &t, &e), 0, "%s", e.text);
    cr_assert_eq(placement_init(&f.place, t, &r, &e), 0, "%s", e.text);
    topo_destroy(t);
    for (uint32_t i = 0; i < servers * gpus; i++)
        ranks[i] = i;
    cr_assert_eq(group_set_add(&f.groups, &f.place, "all", ranks, servers * gpus, &id, &e), 0, "%s",
                 e.text);
    f.g = &f.groups.groups[id];
    return f;
}

static void fini(struct fixture *f)
{
    group_set_fini(&f->groups);
    placement_fini(&f->place);
}

/* ---- the twin ---- */

/* A message under way: who contributed to each element that it carries. */
struct flight {
    uint32_t dst, in;
    uint32_t data[ELEMS_MAX]; /* bit m: member m's contribution; 0: not carried */
};

struct twin {
    const struct coll_plan *p;
    uint32_t data[MEMBERS_MAX][ELEMS_MAX];
    uint32_t *in, *pos; /* shape: [n][in_count], [n][lane_count] */
    struct flight *flight;
    uint32_t flight_count, flight_cap;
    uint64_t sends, flows;
    int64_t bytes, relay_bytes;
    int64_t sent[MEMBERS_MAX];
};

static void init_data(struct twin *w)
{
    const struct coll_plan *p = w->p;

    for (uint32_t m = 0; m < p->n; m++) {
        for (uint32_t i = 0; i < p->elems && i < ELEMS_MAX; i++) {
            const int is_own = i >= coll_piece_start(p->elems, m, p->n) &&
                               i < coll_piece_start(p->elems, m + 1, p->n);
            int has = 1;

            if (p->call.kind == COLL_ALL_GATHER)
                has = is_own;
            if (p->call.kind == COLL_BROADCAST)
                has = m == p->call.root;
            w->data[m][i] = has ? 1u << m : 0;
        }
    }
}

static void pick_up(const struct twin *w, uint32_t m, const struct coll_send *s, struct flight *f)
{
    const int64_t elems = w->p->elems;

    for (uint64_t k = 0; k < s->piece_count && s->pieces && elems <= ELEMS_MAX; k++) {
        const uint64_t piece = s->piece_first + k * s->piece_stride;

        cr_assert_lt(piece, s->pieces);
        for (int64_t i = coll_piece_start(elems, piece, s->pieces);
             i < coll_piece_start(elems, piece + 1, s->pieces); i++)
            f->data[i] = w->data[m][i];
    }
}

static void launch(struct twin *w, uint32_t m, const struct coll_send *s)
{
    struct flight *f;

    if (w->flight_count == w->flight_cap) {
        w->flight_cap = w->flight_cap ? 2 * w->flight_cap : 64;
        w->flight = realloc(w->flight, w->flight_cap * sizeof *w->flight);
    }
    f = &w->flight[w->flight_count++];
    *f = (struct flight){.dst = s->dst, .in = s->in};
    pick_up(w, m, s, f);
    w->sends++;
    w->flows += s->bytes > 0;
    if (coll_is_relay(w->p, s))
        w->relay_bytes += s->bytes;
    else
        w->bytes += s->bytes;
    w->sent[m] += s->bytes;
}

static int may_go(const struct twin *w, uint32_t m, const struct coll_send *s)
{
    for (int i = 0; i < 2; i++)
        if (s->need_in[i] != COLL_IN_NONE && w->in[m * w->p->in_count + s->need_in[i]] < s->need[i])
            return 0;
    return 1;
}

/* Everything that may be sent is; returns whether something was. */
static int send_all(struct twin *w)
{
    const struct coll_plan *p = w->p;
    int any = 0;

    for (uint32_t m = 0; m < p->n; m++) {
        for (uint32_t l = 0; l < p->lane_count; l++) {
            uint32_t *pos = &w->pos[m * p->lane_count + l];

            while (*pos < p->ops->step_count(p, m, l)) {
                struct coll_send s;

                p->ops->step(p, m, l, *pos, &s);
                cr_assert(s.dst < p->n && s.dst != m && s.in < p->in_count && s.bytes >= 0);
                if (!may_go(w, m, &s))
                    break;
                launch(w, m, &s);
                ++*pos;
                any = 1;
                if (p->window == 1)
                    break; /* one after the other; see land_one */
            }
        }
    }
    return any;
}

/* A random message arrives, but those of one inbox in order: the earliest of its inbox. */
static void land_one(struct twin *w, uint64_t draw)
{
    uint32_t i = (uint32_t)(draw % w->flight_count);
    struct flight f;

    for (uint32_t k = 0; k < i; k++)
        if (w->flight[k].dst == w->flight[i].dst && w->flight[k].in == w->flight[i].in)
            i = k;
    f = w->flight[i];
    memmove(&w->flight[i], &w->flight[i + 1], (--w->flight_count - i) * sizeof f);
    for (uint32_t k = 0; k < ELEMS_MAX; k++)
        w->data[f.dst][k] |= f.data[k];
    w->in[f.dst * w->p->in_count + f.in]++;
}

static void run_twin(struct twin *w, const struct coll_plan *p, uint64_t seed)
{
    uint64_t draws = 0;

    *w = (struct twin){.p = p};
    w->in = calloc(p->n * p->in_count + 1, sizeof *w->in);
    w->pos = calloc(p->n * p->lane_count + 1, sizeof *w->pos);
    init_data(w);
    if (!p->ops)
        return;
    while (send_all(w) || w->flight_count)
        if (w->flight_count)
            land_one(w, rng_u64(seed, 1, draws++));
}

static void fini_twin(struct twin *w)
{
    free(w->in);
    free(w->pos);
    free(w->flight);
}

/* All lanes went to their end, all inboxes hold what they should. */
static void expect_all_through(const struct twin *w, const char *what)
{
    const struct coll_plan *p = w->p;

    for (uint32_t m = 0; m < p->n && p->ops; m++) {
        for (uint32_t l = 0; l < p->lane_count; l++)
            cr_assert_eq(w->pos[m * p->lane_count + l], p->ops->step_count(p, m, l),
                         "%s: lane %u of member %u stands at %u", what, l, m,
                         w->pos[m * p->lane_count + l]);
        for (uint32_t i = 0; i < p->in_count; i++)
            cr_assert_eq(w->in[m * p->in_count + i], p->ops->in_total(p, m, i),
                         "%s: inbox %u of member %u", what, i, m);
    }
}

static void expect_data(const struct twin *w, const char *what)
{
    const struct coll_plan *p = w->p;
    const uint32_t all = (1u << p->n) - 1;

    for (uint32_t m = 0; m < p->n; m++) {
        for (uint32_t i = 0; i < p->elems; i++) {
            const uint32_t has = w->data[m][i];
            const int is_own = i >= coll_piece_start(p->elems, m, p->n) &&
                               i < coll_piece_start(p->elems, m + 1, p->n);

            if (p->call.kind == COLL_ALL_REDUCE ||
                (p->call.kind == COLL_REDUCE_SCATTER && is_own) ||
                (p->call.kind == COLL_REDUCE && m == p->call.root))
                cr_assert_eq(has, all, "%s: member %u, element %u: %x", what, m, i, has);
            if (p->call.kind == COLL_ALL_GATHER || p->call.kind == COLL_BROADCAST)
                cr_assert_neq(has, 0, "%s: member %u, element %u is missing", what, m, i);
        }
    }
}

/* ---- every kind by every algorithm ---- */

static void try_call(const struct group *g, const struct coll_call *call)
{
    struct coll_plan p;
    struct err_info e = {.text = ""};
    struct twin w;
    char what[128];

    if (coll_plan_init(&p, g, call, &e))
        return; /* an algorithm that does not suit the group; see the refusals below */
    (void)snprintf(what, sizeof what, "%s by %s, n %u (%u servers), %lld B, c %u",
                   coll_kind_name(p.call.kind), coll_algo_name(p.call.algo), p.n, g->server_count,
                   (long long)p.call.bytes, p.call.channels);
    for (uint64_t seed = 1; seed <= 3; seed++) {
        run_twin(&w, &p, seed);
        expect_all_through(&w, what);
        cr_assert_eq(w.bytes, coll_total_bytes(&p), "%s: %lld B, expected %lld", what,
                     (long long)w.bytes, (long long)coll_total_bytes(&p));
        if (p.elems <= ELEMS_MAX && p.call.kind != COLL_ALL_TO_ALL && p.call.kind != COLL_SEND_RECV)
            expect_data(&w, what);
        fini_twin(&w);
    }
}

static void try_group(uint32_t servers, uint32_t gpus)
{
    static const int64_t sizes[] = {0, 1, 4, 7, 61, 1000001};
    struct fixture f = make_group(servers, gpus);

    for (int k = 0; k < COLL_BARRIER; k++)
        for (int a = COLL_RING; a < COLL_ALGO_COUNT; a++)
            for (uint32_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
                for (uint32_t c = 1; c <= 4; c += 3)
                    if (coll_is_possible((enum coll_kind)k, (enum coll_algo)a))
                        try_call(f.g, &(struct coll_call){.kind = (enum coll_kind)k,
                                                          .algo = (enum coll_algo)a,
                                                          .bytes = sizes[s],
                                                          .channels = c,
                                                          .chunks = 3,
                                                          .root = servers * gpus - 1});
    fini(&f);
}

Test(coll, every_lowering_moves_all_data_and_no_more_on_one_server)
{
    for (uint32_t n = 1; n <= 9; n++)
        try_group(1, n);
}

Test(coll, every_lowering_moves_all_data_and_no_more_across_servers)
{
    try_group(2, 4);
    try_group(3, 3);
    try_group(4, 2);
    try_group(2, 2);
    try_group(5, 1);
    try_group(3, 2);
}

/* ---- flow counts of the table in docs/collectives.md ---- */

static uint64_t count_flows(const struct group *g, const struct coll_call *call)
{
    struct coll_plan p;
    struct err_info e = {.text = ""};
    struct twin w;
    uint64_t flows;

    cr_assert_eq(coll_plan_init(&p, g, call, &e), 0, "%s", e.text);
    run_twin(&w, &p, 1);
    flows = w.flows;
    fini_twin(&w);
    return flows;
}

Test(coll, flow_counts_are_those_of_the_closed_formulas)
{
    for (uint32_t n = 2; n <= 9; n++) {
        struct fixture f = make_group(1, n);
        const int is_power = !(n & (n - 1));
        const uint64_t q = is_power ? (uint64_t)__builtin_ctz(n) : 0;
        const struct {
            enum coll_kind kind;
            enum coll_algo algo;
            uint64_t flows;
        } rows[] = {
            {COLL_ALL_REDUCE, COLL_RING, 2 * n * (n - 1) * 3},
            {COLL_REDUCE_SCATTER, COLL_RING, n * (n - 1) * 3},
            {COLL_ALL_GATHER, COLL_RING, n * (n - 1) * 3},
            {COLL_ALL_REDUCE, COLL_TREE, 4 * (n - 1) * 3 * 5},
            {COLL_ALL_TO_ALL, COLL_DIRECT, n * (n - 1)},
            {COLL_ALL_TO_ALL, COLL_PAIRWISE, n * (n - 1)},
            {COLL_ALL_GATHER, COLL_DIRECT, n * (n - 1)},
            {COLL_REDUCE_SCATTER, COLL_DIRECT, n * (n - 1)},
            {COLL_ALL_REDUCE, COLL_DIRECT, 2 * n * (n - 1)},
            {COLL_BROADCAST, COLL_RING, (n - 1) * 3 * 5},
            {COLL_REDUCE, COLL_RING, (n - 1) * 3 * 5},
            {COLL_BROADCAST, COLL_DIRECT, n - 1},
            {COLL_SEND_RECV, COLL_DIRECT, n},
            {COLL_ALL_REDUCE, COLL_HALVING, 2 * n * q},
            {COLL_ALL_GATHER, COLL_HALVING, n * q},
        };

        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
            const struct coll_call call = {.kind = rows[i].kind,
                                           .algo = rows[i].algo,
                                           .bytes = 1000000,
                                           .channels = 3,
                                           .chunks = 5};
            if (rows[i].algo == COLL_HALVING && !is_power)
                continue;
            cr_expect_eq(count_flows(f.g, &call), rows[i].flows, "%s by %s, n %u: %llu flows",
                         coll_kind_name(call.kind), coll_algo_name(call.algo), n,
                         (unsigned long long)count_flows(f.g, &call));
        }
        fini(&f);
    }
}

Test(coll, hierarchical_all_reduce_has_the_flows_of_its_formula)
{
    struct fixture f = make_group(3, 4); /* q 4, r 3: 2 n (q-1), and q rings of 2 r (r-1) */
    const struct coll_call call = {
        .kind = COLL_ALL_REDUCE, .algo = COLL_HIERARCHICAL, .bytes = 1200000};

    cr_expect_eq(count_flows(f.g, &call), 2 * 12 * 3 + 4 * (2 * 3 * 2));
    fini(&f);
}

/* ---- bytes per rank ---- */

Test(coll, each_rank_of_a_ring_sends_all_but_its_neighbours_piece)
{
    struct fixture f = make_group(1, 7);
    const struct coll_call call = {.kind = COLL_ALL_REDUCE, .algo = COLL_RING, .bytes = 1000001};
    struct coll_plan p;
    struct err_info e = {.text = ""};
    struct twin w;

    cr_assert_eq(coll_plan_init(&p, f.g, &call, &e), 0);
    run_twin(&w, &p, 5);
    for (uint32_t m = 0; m < 7; m++) {
        /* reduce-scatter: all but the own piece; all-gather: all but that of the next member */
        const int64_t expected =
            2 * 1000001 - coll_piece_bytes(&p, m, 1, 7) - coll_piece_bytes(&p, (m + 1) % 7, 1, 7);

        cr_expect_eq(w.sent[m], expected, "member %u sends %lld B", m, (long long)w.sent[m]);
    }
    fini_twin(&w);
    fini(&f);
}

Test(coll, halving_sends_half_then_a_quarter)
{
    struct fixture f = make_group(1, 8);
    const struct coll_call call = {.kind = COLL_ALL_REDUCE, .algo = COLL_HALVING, .bytes = 800};
    static const int64_t sizes[] = {400, 200, 100, 100, 200, 400};
    struct coll_plan p;
    struct err_info e = {.text = ""};

    cr_assert_eq(coll_plan_init(&p, f.g, &call, &e), 0);
    for (uint32_t m = 0; m < 8; m++)
        for (uint32_t s = 0; s < 6; s++) {
            struct coll_send out;
            p.ops->step(&p, m, 0, s, &out);
            cr_expect_eq(out.bytes, sizes[s]);
        }
    fini(&f);
}

/* ---- rails ---- */

Test(coll, rail_aligned_all_to_all_never_changes_server_and_rail_at_once)
{
    struct fixture f = make_group(3, 4);
    const struct coll_call call = {.kind = COLL_ALL_TO_ALL, .algo = COLL_PXN, .bytes = 120000};
    struct coll_plan p;
    struct err_info e = {.text = ""};
    struct twin w;

    cr_assert_eq(coll_plan_init(&p, f.g, &call, &e), 0);
    for (uint32_t m = 0; m < 12; m++)
        for (uint32_t l = 0; l < p.lane_count; l++)
            for (uint32_t s = 0; s < p.ops->step_count(&p, m, l); s++) {
                struct coll_send out;
                p.ops->step(&p, m, l, s, &out);
                cr_expect(f.g->server[m] == f.g->server[out.dst] ||
                              f.g->rail[m] == f.g->rail[out.dst],
                          "%u to %u", m, out.dst);
            }
    run_twin(&w, &p, 1);
    /* each member passes on what 3 mates hold for its rail on 2 other servers */
    cr_expect_eq(w.relay_bytes, 12 * 3 * 2 * 10000);
    fini_twin(&w);
    fini(&f);
}

Test(coll, ring_channels_leave_a_server_on_the_rail_they_enter_the_next)
{
    struct fixture f = make_group(4, 4);

    cr_assert_eq(f.g->ring_count, 4);
    for (uint32_t c = 0; c < 4; c++)
        for (uint32_t i = 0; i < 16; i++) {
            const uint32_t a = f.g->ring[c * 16 + i], b = f.g->ring[c * 16 + (i + 1) % 16];
            cr_expect(f.g->server[a] == f.g->server[b] || f.g->rail[a] == f.g->rail[b],
                      "channel %u: %u to %u", c, a, b);
        }
    fini(&f);
}

/* ---- trees ---- */

Test(coll, trees_are_trees)
{
    for (uint32_t n = 1; n <= 200; n++) {
        uint32_t edges = 0;

        for (uint32_t v = 0; v < n; v++) {
            struct coll_tree_node t, parent;
            uint32_t depth = 0, up = v;

            coll__tree_node(n, v, &t);
            for (int i = 0; i < 2; i++) {
                if (t.child[i] == RANK_NONE)
                    continue;
                coll__tree_node(n, t.child[i], &parent);
                cr_assert_eq(parent.parent, v, "n %u: child %u of %u", n, t.child[i], v);
                edges++;
            }
            while (up) {
                coll__tree_node(n, up, &parent);
                up = parent.parent;
                cr_assert_lt(++depth, 10, "n %u, node %u: too deep", n, v);
            }
        }
        cr_assert_eq(edges, n - 1, "n %u: %u edges", n, edges);
    }
}

/* ---- all-to-all-v ---- */

static int64_t skewed(void *ctx, uint32_t src, uint32_t dst)
{
    (void)ctx;
    return src == 2 && dst == 1 ? 0 : (int64_t)src * 100 + dst * 7;
}

Test(coll, all_to_all_v_sends_what_each_pair_asks_for)
{
    struct fixture f = make_group(2, 2);
    int64_t expected = 0;

    for (uint32_t i = 0; i < 4; i++)
        for (uint32_t j = 0; j < 4; j++)
            expected += i == j ? 0 : skewed(NULL, i, j);
    for (int a = COLL_DIRECT; a <= COLL_PXN; a++) {
        const struct coll_call call = {
            .kind = COLL_ALL_TO_ALL, .algo = (enum coll_algo)a, .pair_bytes = skewed};
        struct coll_plan p;
        struct err_info e = {.text = ""};
        struct twin w;

        cr_assert_eq(coll_plan_init(&p, f.g, &call, &e), 0, "%s", e.text);
        run_twin(&w, &p, 1);
        expect_all_through(&w, coll_algo_name(call.algo));
        cr_expect_eq(w.bytes, expected);
        cr_expect_eq(coll_total_bytes(&p), expected);
        fini_twin(&w);
    }
    fini(&f);
}

/* ---- refusals, names, factors ---- */

Test(coll, what_does_not_suit_is_refused)
{
    struct fixture f = make_group(2, 3);
    const struct {
        struct coll_call call;
        const char *says;
    } rows[] = {
        {{.kind = COLL_ALL_REDUCE, .algo = COLL_HALVING, .bytes = 8}, "power of two"},
        {{.kind = COLL_ALL_TO_ALL, .algo = COLL_TREE, .bytes = 8}, "cannot do"},
        {{.kind = COLL_ALL_REDUCE, .bytes = -1}, "0 or more"},
        {{.kind = COLL_ALL_REDUCE, .bytes = 7, .elem_bytes = 4}, "multiple"},
        {{.kind = COLL_BROADCAST, .bytes = 8, .root = 6}, "root 6"},
        {{.kind = COLL_ALL_REDUCE, .bytes = 8, .channels = 65}, "channels"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct err_info e = {.text = ""};
        struct coll_plan p;

        cr_expect_eq(coll_plan_init(&p, f.g, &rows[i].call, &e), WH_ERR_INPUT, "row %zu", i);
        cr_expect(strstr(e.text, rows[i].says), "row %zu: '%s'", i, e.text);
    }
    fini(&f);
}

Test(coll, names_lead_back)
{
    enum coll_kind k;
    enum coll_algo a;

    for (int i = 0; i < COLL_KIND_COUNT; i++) {
        cr_expect_eq(coll_kind_from_name(coll_kind_name((enum coll_kind)i), &k), 0);
        cr_expect_eq((int)k, i);
    }
    for (int i = 0; i < COLL_ALGO_COUNT; i++) {
        cr_expect_eq(coll_algo_from_name(coll_algo_name((enum coll_algo)i), &a), 0);
        cr_expect_eq((int)a, i);
    }
    cr_expect_eq(coll_kind_from_name("allreduce?", &k), WH_ERR_INPUT);
    cr_expect_eq(coll_algo_from_name("", &a), WH_ERR_INPUT);
}

Test(coll, bus_factors_are_nccl_tests)
{
    cr_expect_eq(coll_bus_factor(COLL_ALL_REDUCE, 8), 2 * 7 / 8.0);
    cr_expect_eq(coll_bus_factor(COLL_ALL_GATHER, 8), 7 / 8.0);
    cr_expect_eq(coll_bus_factor(COLL_REDUCE_SCATTER, 4), 3 / 4.0);
    cr_expect_eq(coll_bus_factor(COLL_ALL_TO_ALL, 4), 3 / 4.0);
    cr_expect_eq(coll_bus_factor(COLL_BROADCAST, 4), 1);
    cr_expect_eq(coll_bus_factor(COLL_SEND_RECV, 4), 1);
}

Test(coll, pieces_add_up)
{
    struct fixture f = make_group(1, 8);
    struct coll_plan p;
    struct err_info e = {.text = ""};

    for (int64_t bytes = 0; bytes <= 100; bytes += 4) {
        const struct coll_call call = {
            .kind = COLL_ALL_REDUCE, .bytes = bytes, .elem_bytes = 4, .channels = 4};
        int64_t sum = 0;

        cr_assert_eq(coll_plan_init(&p, f.g, &call, &e), 0);
        for (uint64_t i = 0; i < 32; i++) {
            const int64_t piece = coll_piece_bytes(&p, i, 1, 32);

            cr_expect_eq(piece % 4, 0);
            sum += piece;
        }
        cr_expect_eq(sum, bytes);
    }
    fini(&f);
}
