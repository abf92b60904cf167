/*
 * test_topogen.c - generated topologies: counts by closed formulas, connectivity, diameters, order
 * of ports, refused parameters, cost of large ones.
 */
#include "topogen.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static struct topo *make(const struct topo_spec *s)
{
    struct topo *t = NULL;
    struct err_info e = {0};
    const int rc = topo_generate(s, &t, &e);

    cr_assert_eq(rc, 0, "%s", e.text);
    return t;
}

static void expect_counts(const struct topo *t, uint32_t hosts, uint32_t switches, uint32_t links)
{
    cr_expect_eq(t->host_count, hosts, "%u hosts, expected %u", t->host_count, hosts);
    cr_expect_eq(t->node_count - t->host_count, switches, "%u switches, expected %u",
                 t->node_count - t->host_count, switches);
    cr_expect_eq(t->link_count, links, "%u links, expected %u", t->link_count, links);
    for (uint32_t n = 0; n < t->node_count; n++)
        cr_assert_eq(t->kind[n] == NODE_HOST, n < hosts, "hosts come first, node %u", n);
}

/* Largest number of links on a shortest path from @from to any host; UINT32_MAX if one is out of
 * reach. */
static uint32_t calc_eccentricity(const struct topo *t, uint32_t from)
{
    uint32_t *distance = malloc(t->node_count * sizeof *distance);
    uint32_t *queue = malloc(t->node_count * sizeof *queue);
    uint32_t head = 0, tail = 0, longest = 0;

    memset(distance, 0xff, t->node_count * sizeof *distance);
    distance[from] = 0;
    queue[tail++] = from;
    while (head < tail) {
        const uint32_t n = queue[head++];
        for (uint32_t p = t->first_port[n]; p < t->first_port[n + 1]; p++) {
            const uint32_t next = t->port_node[t->port_peer[p]];
            if (distance[next] == UINT32_MAX) {
                distance[next] = distance[n] + 1;
                queue[tail++] = next;
            }
        }
    }
    for (uint32_t n = 0; n < t->node_count; n++)
        if (t->kind[n] == NODE_HOST && (distance[n] > longest))
            longest = distance[n];
    free(distance);
    free(queue);
    return longest;
}

static void expect_diameter(const struct topo *t, uint32_t diameter)
{
    uint32_t longest = 0;

    for (uint32_t n = 0; n < t->host_count; n++) {
        const uint32_t d = calc_eccentricity(t, n);
        longest = d > longest ? d : longest;
    }
    cr_expect_eq(longest, diameter, "diameter %u, expected %u", longest, diameter);
}

static uint32_t peer_of(const struct topo *t, uint32_t node, uint32_t port)
{
    return t->port_node[t->port_peer[t->first_port[node] + port]];
}

static uint32_t degree(const struct topo *t, uint32_t node)
{
    return t->first_port[node + 1] - t->first_port[node];
}

Test(topogen, single_switch_is_a_star)
{
    struct topo_spec s;
    topo_spec_init(&s, TOPO_SINGLE_SWITCH);
    s.hosts = 9;
    struct topo *t = make(&s);

    expect_counts(t, 9, 1, 9);
    expect_diameter(t, 2);
    topo_destroy(t);
}

Test(topogen, dumbbell_has_half_of_the_hosts_on_each_side)
{
    struct topo_spec s;
    topo_spec_init(&s, TOPO_DUMBBELL);
    s.hosts = 10;
    s.cross_links = 2;
    struct topo *t = make(&s);

    expect_counts(t, 10, 2, 12);
    expect_diameter(t, 3);
    cr_expect_eq(peer_of(t, 4, 0), 10);
    cr_expect_eq(peer_of(t, 5, 0), 11);
    cr_expect_eq(peer_of(t, 10, 6), 11, "the second cross link is the last port");
    topo_destroy(t);
}

Test(topogen, leaf_spine_counts_follow_the_formulas)
{
    struct topo_spec s;
    topo_spec_init(&s, TOPO_LEAF_SPINE);
    s.leaves = 5;
    s.spines = 3;
    s.hosts = 35;
    s.uplinks_per_spine = 2;
    struct topo *t = make(&s);

    expect_counts(t, 35, 8, 35 + 5 * 3 * 2);
    expect_diameter(t, 4);
    cr_expect_eq(degree(t, 35), 7 + 6);
    topo_destroy(t);
}

Test(topogen, fat_tree_counts_follow_the_formulas)
{
    for (uint32_t k = 2; k <= 16; k += 2) {
        struct topo_spec s;
        topo_spec_init(&s, TOPO_FAT_TREE);
        s.k = k;
        struct topo *t = make(&s);
        expect_counts(t, k * k * k / 4, 5 * k * k / 4, 3 * k * k * k / 4);
        cr_expect_eq(calc_eccentricity(t, 0), 6u, "k %u", k);
        for (uint32_t n = t->host_count; n < t->node_count; n++)
            cr_assert_eq(degree(t, n), k, "every switch has k ports");
        topo_destroy(t);
    }
}

Test(topogen, fat_tree_edge_switches_list_hosts_before_aggregation)
{
    struct topo_spec s;
    topo_spec_init(&s, TOPO_FAT_TREE);
    struct topo *t = make(&s); /* k = 4: hosts 0-15, edges 16-23, aggs 24-31, cores 32-35 */

    expect_diameter(t, 6);
    const uint32_t edge[4] = {2, 3, 24, 25}, agg[4] = {16, 17, 34, 35}, core[4] = {24, 26, 28, 30};
    for (uint32_t p = 0; p < 4; p++) {
        cr_expect_eq(peer_of(t, 17, p), edge[p], "edge port %u", p);
        cr_expect_eq(peer_of(t, 25, p), agg[p], "aggregation port %u", p);
        cr_expect_eq(peer_of(t, 32, p), core[p], "core port %u", p);
    }
    topo_destroy(t);
}

Test(topogen, clos3_counts_follow_the_formulas)
{
    struct topo_spec s;
    topo_spec_init(&s, TOPO_CLOS3);
    s.pods = 3;
    s.leaves_per_pod = 4;
    s.aggs_per_pod = 2;
    s.cores = 6;
    s.hosts_per_leaf = 5;
    struct topo *t = make(&s);

    expect_counts(t, 60, 12 + 6 + 6, 60 + 3 * 4 * 2 + 3 * 6);
    expect_diameter(t, 6);
    topo_destroy(t);
}

Test(topogen, rail_puts_gpu_i_of_each_server_on_leaf_i_of_its_segment)
{
    struct topo_spec s;
    topo_spec_init(&s, TOPO_RAIL);
    s.hosts = 8 * 5;
    s.servers_per_segment = 2;
    s.spines = 4;
    struct topo *t = make(&s); /* 5 servers, 3 segments: 5 NVSwitches, 24 leaves, 4 spines */

    expect_counts(t, 40, 5 + 24 + 4, 40 + 40 + 24 * 4);
    expect_diameter(t, 4);
    for (uint32_t gpu = 0; gpu < 40; gpu++) {
        cr_expect_eq(degree(t, gpu), 2u);
        cr_expect_eq(t->kind[peer_of(t, gpu, 0)], NODE_NVSWITCH, "NVLink comes first");
        cr_expect_eq(peer_of(t, gpu, 0), 40 + gpu / 8);
        cr_expect_eq(peer_of(t, gpu, 1), 45 + gpu / 16 * 8 + gpu % 8, "rail of GPU %u", gpu);
    }
    topo_destroy(t);
}

Test(topogen, rail_without_nvlink_has_no_nvswitches)
{
    struct topo_spec s;
    topo_spec_init(&s, TOPO_RAIL);
    s.nvlink.rate_bps = 0;
    struct topo *t = make(&s);

    expect_counts(t, 32, 8 + 64, 32 + 8 * 64);
    for (uint32_t n = 0; n < t->node_count; n++)
        cr_expect_neq(t->kind[n], NODE_NVSWITCH);
    topo_destroy(t);
}

Test(topogen, rail_planes_multiply_the_nvlink_links)
{
    struct topo_spec s;
    topo_spec_init(&s, TOPO_RAIL);
    s.hosts = 16;
    s.nvswitches_per_server = 4;
    struct topo *t = make(&s);

    expect_counts(t, 16, 8 + 8 + 64, 16 * 4 + 16 + 8 * 64);
    cr_expect_eq(topo_port_class(t, t->first_port[0])->delay_ps, 25000);
    topo_destroy(t);
}

struct torus_case {
    uint32_t dims[3], dim_count, hosts, links, diameter;
};

Test(topogen, torus_counts_and_diameters_follow_the_formulas)
{
    /* links: hosts + per dimension hosts (>2), hosts/2 (2), 0 (1); diameter: sum of halves + 2 */
    static const struct torus_case cases[] = {
        {{4, 4, 0}, 2, 16, 16 + 32, 6},
        {{3, 5, 2}, 3, 30, 30 + 30 + 30 + 15, 1 + 2 + 1 + 2},
        {{8, 0, 0}, 1, 8, 16, 6},
        {{1, 1, 1}, 3, 1, 1, 0},
        {{2, 1, 6}, 3, 12, 12 + 6 + 0 + 12, 6},
        {{2, 2, 2}, 3, 8, 8 + 12, 5},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct topo_spec s;
        topo_spec_init(&s, TOPO_TORUS);
        memcpy(s.dims, cases[i].dims, sizeof cases[i].dims);
        s.dim_count = cases[i].dim_count;
        struct topo *t = make(&s);
        expect_counts(t, cases[i].hosts, cases[i].hosts, cases[i].links);
        expect_diameter(t, cases[i].diameter);
        topo_destroy(t);
    }
}

Test(topogen, dragonfly_joins_each_pair_of_groups_and_gives_each_switch_its_global_links)
{
    /* g (0: a h + 1), a, p, h, diameter: host, local, global, local, host; less where each switch
     * has a link to each group */
    static const uint32_t cases[][5] = {
        {0, 4, 2, 2, 5}, {3, 4, 1, 2, 4}, {5, 4, 2, 3, 5}, {2, 3, 2, 1, 4}, {1, 4, 3, 0, 3},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct topo_spec s;
        topo_spec_init(&s, TOPO_DRAGONFLY);
        s.groups = cases[i][0];
        s.group_switches = cases[i][1];
        s.hosts_per_switch = cases[i][2];
        s.global_links = cases[i][3];
        const uint32_t a = s.group_switches, p = s.hosts_per_switch, h = s.global_links;
        const uint32_t g = s.groups ? s.groups : a * h + 1;
        struct topo *t = make(&s);
        expect_counts(t, g * a * p, g * a, g * a * p + g * a * (a - 1) / 2 + g * a * h / 2);
        for (uint32_t n = t->host_count; n < t->node_count; n++)
            cr_assert_eq(degree(t, n), p + a - 1 + h, "case %zu node %u has %u ports", i, n,
                         degree(t, n));
        expect_diameter(t, cases[i][4]);
        topo_destroy(t);
    }
}

/* Number of links between two groups of the standard dragonfly (g = 9, a = 4, p = 2). */
Test(topogen, dragonfly_of_full_size_has_one_link_per_pair_of_groups)
{
    struct topo_spec s;
    uint32_t links[9][9] = {{0}};
    topo_spec_init(&s, TOPO_DRAGONFLY);
    struct topo *t = make(&s);

    for (uint32_t i = 0; i < t->link_count; i++) {
        const struct topo_link *k = &t->link[i];
        if (k->a >= t->host_count && k->b >= t->host_count)
            links[(k->a - t->host_count) / 4][(k->b - t->host_count) / 4]++;
    }
    for (uint32_t a = 0; a < 9; a++)
        for (uint32_t b = a + 1; b < 9; b++)
            cr_expect_eq(links[a][b] + links[b][a], 1u, "groups %u and %u", a, b);
    topo_destroy(t);
}

Test(topogen, links_have_the_class_of_their_tier)
{
    struct topo_spec s;
    topo_spec_init(&s, TOPO_LEAF_SPINE);
    s.fabric_link = (struct link_class){INT64_C(400000000000), 500000, 0.25};
    struct topo *t = make(&s);

    for (uint32_t i = 0; i < t->link_count; i++) {
        const int is_host_link = t->link[i].a < t->host_count;
        const struct link_class *c = &t->classes[t->link[i].class_id];
        cr_assert_eq(c->rate_bps, is_host_link ? s.host_link.rate_bps : s.fabric_link.rate_bps);
        cr_assert_eq(c->delay_ps, is_host_link ? 1000000 : 500000);
        cr_assert_eq(c->error_rate, is_host_link ? 0 : 0.25);
    }
    topo_destroy(t);
}

struct bad_case {
    enum topo_kind kind;
    size_t offset; /* of the field that is spoilt */
    uint32_t value;
    const char *says;
};
#define BAD(kind, field, value, says)                                                              \
    {                                                                                              \
        kind, offsetof(struct topo_spec, field), value, says                                       \
    }

Test(topogen, bad_parameters_are_refused_with_their_value)
{
    static const struct bad_case cases[] = {
        BAD(TOPO_SINGLE_SWITCH, hosts, 0, "hosts 0"),
        BAD(TOPO_DUMBBELL, hosts, 7, "hosts 7"),
        BAD(TOPO_DUMBBELL, cross_links, 0, "cross_links 0"),
        BAD(TOPO_FAT_TREE, k, 5, "k 5"),
        BAD(TOPO_FAT_TREE, k, 0, "k 0"),
        BAD(TOPO_LEAF_SPINE, hosts, 15, "15 hosts"),
        BAD(TOPO_LEAF_SPINE, spines, 0, "spines 0"),
        BAD(TOPO_CLOS3, cores, 3, "3 cores"),
        BAD(TOPO_CLOS3, pods, UINT32_MAX, "pods"),
        BAD(TOPO_RAIL, hosts, 33, "33 hosts"),
        BAD(TOPO_RAIL, nvswitches_per_server, 0, "nvswitches_per_server 0"),
        BAD(TOPO_TORUS, dim_count, 7, "7 dimensions"),
        BAD(TOPO_TORUS, dims[1], 0, "dimension 0"),
        BAD(TOPO_TORUS, dims[1], 1u << 30, "smaller"),
        BAD(TOPO_DRAGONFLY, groups, 4, "4 groups"),
        BAD(TOPO_DRAGONFLY, groups, 1, "1 groups"),
        BAD(TOPO_DRAGONFLY, group_switches, UINT32_MAX, "group_switches"),
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct topo_spec s;
        struct topo *t = NULL;
        struct err_info e = {0};
        topo_spec_init(&s, cases[i].kind);
        memcpy((char *)&s + cases[i].offset, &cases[i].value, sizeof cases[i].value);
        cr_expect_lt(topo_generate(&s, &t, &e), 0, "case %zu", i);
        cr_expect_null(t);
        cr_expect_not_null(strstr(e.text, cases[i].says), "case %zu: %s", i, e.text);
        cr_expect_not_null(strstr(e.text, "expected"), "case %zu: %s", i, e.text);
    }
}

Test(topogen, leaf_spine_sizes_that_disagree_are_refused)
{
    struct topo_spec s;
    struct topo *t;
    struct err_info e = {0};
    topo_spec_init(&s, TOPO_LEAF_SPINE);
    s.hosts = 16;
    s.hosts_per_leaf = 5;
    cr_expect_eq(topo_generate(&s, &t, &e), WH_ERR_INPUT);
    cr_expect_not_null(strstr(e.text, "4 x 5"), "%s", e.text);
}

Test(topogen, bad_link_classes_are_refused)
{
    struct topo_spec s;
    struct topo *t;
    struct err_info e = {0};
    topo_spec_init(&s, TOPO_SINGLE_SWITCH);
    s.host_link.rate_bps = -1;
    cr_expect_eq(topo_generate(&s, &t, &e), WH_ERR_INPUT);
    cr_expect_not_null(strstr(e.text, "-1 bit/s"), "%s", e.text);
    topo_spec_init(&s, TOPO_SINGLE_SWITCH);
    s.fabric_link = (struct link_class){1, 0, 1.5};
    cr_expect_eq(topo_generate(&s, &t, &e), WH_ERR_INPUT);
    cr_expect_not_null(strstr(e.text, "1.5"), "%s", e.text);
}

Test(topogen, names_lead_back_to_their_kind)
{
    for (unsigned k = 0; k < TOPO_KIND_COUNT; k++) {
        enum topo_kind back = TOPO_KIND_COUNT;
        cr_expect_eq(topo_kind_from_name(topo_kind_name((enum topo_kind)k), &back), 0);
        cr_expect_eq((unsigned)back, k);
    }
    enum topo_kind none;
    cr_expect_eq(topo_kind_from_name("mesh", &none), WH_ERR_INPUT);
}

static double cpu_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static long peak_mib(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return u.ru_maxrss / 1024;
}

/* Budgets are ten times what an optimised build takes, so that a sanitizer passes and a quadratic
 * algorithm does not. */
Test(topogen, large_fat_tree_is_made_in_seconds, .timeout = 120)
{
    struct topo_spec s;
    topo_spec_init(&s, TOPO_FAT_TREE);
    s.k = 64;
    const double from = cpu_seconds();
    struct topo *t = make(&s);

    cr_expect_lt(cpu_seconds() - from, 5.0);
    expect_counts(t, 65536, 5120, 196608);
    topo_destroy(t);
}

Test(topogen, adding_links_stays_cheap_with_four_million_hosts, .timeout = 300)
{
    struct topo_spec s;
    topo_spec_init(&s, TOPO_FAT_TREE);
    s.k = 256;
    const double from = cpu_seconds();
    struct topo *t = make(&s);

    cr_expect_lt(cpu_seconds() - from, 60.0);
    expect_counts(t, 4194304, 81920, 12582912);
    cr_expect_lt(peak_mib(), 4000, "%ld MiB", peak_mib());
    topo_destroy(t);
}
