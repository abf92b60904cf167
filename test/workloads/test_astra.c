/*
 * test_astra.c - the configuration files of ASTRA-sim: meaning, refusals, and the numbers of ranks
 * that have to agree.
 */
#include "astra.h"
#include "chakra.h"
#include "hpcc_files.h"
#include "units.h"

#include <criterion/criterion.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define GBPS INT64_C(1000000000)
#define SAMPLE(name) TEST_DATA_DIR "/astra/" name

static struct text_folder folder;
static struct warnings warnings;
static struct err_info err;

static void set_up(void)
{
    text_folder_create(&folder);
    memset(&err, 0, sizeof err);
}

static void tear_down(void)
{
    text_folder_destroy(&folder);
}

TestSuite(astra, .init = set_up, .fini = tear_down);

static const char *put(const char *name, const char *text)
{
    static char path[128];

    return text_folder_write(&folder, name, text, strlen(text), path, sizeof path);
}

Test(astra, samples_of_logical_topologies_have_one_dimension)
{
    struct astra_logical l;

    cr_assert_eq(astra_read_logical(SAMPLE("logical_topology_4.json"), &l, NULL, &err), 0);
    cr_expect(l.dim_count == 1 && l.dim[0] == 4 && l.rank_count == 4);
    cr_assert_eq(astra_read_logical(SAMPLE("logical_topology_2.json"), &l, NULL, &err), 0);
    cr_expect_eq(l.rank_count, 2);
}

Test(astra, dimensions_are_strings_or_numbers_innermost_first)
{
    struct astra_logical l;

    cr_assert_eq(
        astra_read_logical(put("l", "{\"logical-dims\": [\"8\", 2, \"4\"]}"), &l, NULL, &err), 0,
        "%s", err.text);
    cr_expect(l.dim_count == 3 && l.dim[0] == 8 && l.dim[2] == 4 && l.rank_count == 64);
}

Test(astra, sample_groups_are_two_pairs)
{
    struct astra_groups g;

    cr_assert_eq(astra_read_groups(SAMPLE("comm_group.json"), &g, NULL, &err), 0, "%s", err.text);
    cr_assert_eq(g.group_count, 2);
    const struct astra_group *second = astra_find_group(&g, "2");

    cr_assert_not_null(second);
    cr_expect(second->rank_count == 2 && g.ranks[second->rank_first] == 2 &&
              g.ranks[second->rank_first + 1] == 3);
    cr_expect_null(astra_find_group(&g, "3"));
    cr_expect_null(astra_find_group(&g, "two"));
    cr_expect(astra_is_all("") && astra_is_all("0") && !astra_is_all("1"));
    astra_groups_fini(&g);
}

Test(astra, members_keep_their_order_and_groups_are_sorted)
{
    struct astra_groups g;

    cr_assert_eq(astra_read_groups(put("g", "{\"12\": [3, 0, 2], \"7\": [\"1\"]}"), &g, NULL, &err),
                 0, "%s", err.text);
    cr_expect(g.groups[0].id == 7 && g.groups[1].id == 12);
    cr_expect(g.ranks[g.groups[1].rank_first] == 3 && g.ranks[g.groups[1].rank_first + 1] == 0);
    astra_groups_fini(&g);
}

Test(astra, the_word_empty_means_no_groups)
{
    struct astra_groups g;

    cr_assert_eq(astra_read_groups("empty", &g, NULL, &err), 0);
    cr_expect_eq(g.group_count, 0);
    cr_expect_null(astra_find_group(&g, "1"));
    astra_groups_fini(&g);
}

Test(astra, groups_of_a_framework_are_read_from_a_trace)
{
    static const char json[] = "[{\"pg_name\": \"0\", \"ranks\": []}, {\"pg_name\": \"4\", "
                               "\"ranks\": [2, 0]}, {\"pg_name\": \"dp\", \"ranks\": [1]}]";
    struct astra_groups g;

    cr_assert_eq(astra_parse_groups("t.0.et", json, &g, &err), 0, "%s", err.text);
    cr_assert_eq(g.group_count, 1);
    cr_expect(g.groups[0].id == 4 && g.ranks[0] == 2 && g.ranks[1] == 0);
    astra_groups_fini(&g);
    cr_expect_eq(astra_parse_groups("t.0.et", "{}", &g, &err), WH_ERR_INPUT);
    cr_expect_eq(astra_parse_groups("t.0.et", "[", &g, &err), WH_ERR_INPUT);
    cr_expect_eq(
        astra_parse_groups("t.0.et", "[{\"pg_name\": \"4\", \"ranks\": [1, 1]}]", &g, &err),
        WH_ERR_INPUT);
    cr_expect(strstr(err.text, "expected each rank once"), "%s", err.text);
}

Test(astra, sample_system_is_fifo_with_rings_and_direct_all_to_all)
{
    struct astra_system s;
    struct warn_sink sink = warnings_sink(&warnings);

    cr_assert_eq(astra_read_system(SAMPLE("system.json"), &s, &sink, &err), 0, "%s", err.text);
    cr_expect_eq(s.scheduling, ASTRA_FIFO);
    cr_expect_eq(s.endpoint_delay_ps, 10 * PS_PER_NS);
    cr_expect(s.active_chunks == 1 && s.dataset_splits == 1 && !s.is_bw_aware && !s.roofline);
    for (int c = ASTRA_ALL_REDUCE; c <= ASTRA_REDUCE_SCATTER; c++)
        cr_expect(s.impl[c].dim_count == 1 && s.impl[c].algo[0].kind == ASTRA_ALGO_RING);
    cr_expect_eq(s.impl[ASTRA_ALL_TO_ALL].algo[0].kind, ASTRA_ALGO_DIRECT);
    cr_expect_eq(s.impl[ASTRA_ALL_TO_ALL].algo[0].window, 0);
    cr_expect_eq(s.local_mem_gbps, 1600.0);
    cr_expect_eq(warnings.count, 1, "%s", warnings.text);
    cr_expect(warnings_have(&warnings, "no effect: boost-mode"), "%s", warnings.text);
    astra_system_fini(&s);
}

Test(astra, every_implementation_has_its_name)
{
    static const struct {
        const char *word;
        struct astra_algo algo;
    } steps[] = {
        {"ring", {.kind = ASTRA_ALGO_RING}},
        {"oneRing", {.kind = ASTRA_ALGO_RING, .is_one = 1}},
        {"direct", {.kind = ASTRA_ALGO_DIRECT}},
        {"direct4", {.kind = ASTRA_ALGO_DIRECT, .window = 4}},
        {"oneDirect", {.kind = ASTRA_ALGO_DIRECT, .is_one = 1}},
        {"oneDirect16", {.kind = ASTRA_ALGO_DIRECT, .is_one = 1, .window = 16}},
        {"doubleBinaryTree", {.kind = ASTRA_ALGO_TREE}},
        {"halvingDoubling", {.kind = ASTRA_ALGO_HALVING_DOUBLING}},
        {"oneHalvingDoubling", {.kind = ASTRA_ALGO_HALVING_DOUBLING, .is_one = 1}},
    };

    for (size_t i = 0; i < COUNT(steps); i++) {
        struct astra_system s;
        char text[128];

        snprintf(text, sizeof text, "{\"all-gather-implementation\": [\"ring\", \"%s\"]}",
                 steps[i].word);
        cr_assert_eq(astra_read_system(put("s", text), &s, NULL, &err), 0, "%s", err.text);
        const struct astra_algo *a = &s.impl[ASTRA_ALL_GATHER].algo[1];

        cr_expect(a->kind == steps[i].algo.kind && a->is_one == steps[i].algo.is_one &&
                      a->window == steps[i].algo.window,
                  "%s", steps[i].word);
        cr_expect_eq(s.impl[ASTRA_ALL_REDUCE].dim_count, 0);
        astra_system_fini(&s);
    }
}

Test(astra, custom_collectives_roofline_and_delays_are_kept)
{
    struct astra_system s;

    cr_assert_eq(
        astra_read_system(
            put("s", "{\"scheduling-policy\": \"LIFO\", \"roofline-enabled\": 1, "
                     "\"peak-perf\": 900, \"local-mem-bw\": 50.5, \"L\": 1.5, \"G\": 0.25, "
                     "\"collective-optimization\": \"localBWAware\", "
                     "\"preferred-dataset-splits\": 4, "
                     "\"all-reduce-implementation-custom\": [\"dir/ring8\"]}"),
            &s, NULL, &err),
        0, "%s", err.text);
    cr_expect(s.scheduling == ASTRA_LIFO && s.roofline && s.is_bw_aware && s.dataset_splits == 4);
    cr_expect(s.peak_tflops == 900 && s.local_mem_gbps == 50.5);
    cr_expect(s.l_ps == 1500 && s.big_g_ps == 250 && s.g_ps == 0);
    cr_assert_eq(s.impl[ASTRA_ALL_REDUCE].custom_count, 1);
    cr_expect_str_eq(s.impl[ASTRA_ALL_REDUCE].custom[0], "dir/ring8");
    astra_system_fini(&s);
}

Test(astra, an_unknown_key_is_reported_with_its_line_and_the_nearest_known_one)
{
    struct astra_system s;
    struct warn_sink sink = warnings_sink(&warnings);

    cr_assert_eq(astra_read_system(put("s", "{\n\"endpoint_delay\": 3\n}"), &s, &sink, &err), 0);
    cr_expect(warnings_have(&warnings, "s:2: unknown key \"endpoint_delay\""), "%s", warnings.text);
    cr_expect(warnings_have(&warnings, "nearest known key is endpoint-delay"), "%s", warnings.text);
    astra_system_fini(&s);
}

Test(astra, sample_memory_is_none_and_the_others_have_a_speed)
{
    struct astra_memory m;

    cr_assert_eq(astra_read_memory(SAMPLE("remote_memory.json"), &m, NULL, &err), 0);
    cr_expect_eq(m.kind, ASTRA_MEMORY_NONE);
    cr_assert_eq(astra_read_memory(
                     put("m", "{\"memory-type\": \"PER_NODE_MEMORY_EXPANSION\", \"num-nodes\": 2, "
                              "\"num-npus-per-node\": 8, \"remote-mem-latency\": 2.5, "
                              "\"remote-mem-bw\": 100}"),
                     &m, NULL, &err),
                 0, "%s", err.text);
    cr_expect(m.kind == ASTRA_MEMORY_PER_NODE && m.node_count == 2 && m.npus_per_node == 8);
    cr_expect(m.latency_ps == 2500 && m.gbps == 100.0);
    cr_assert_eq(astra_read_memory(put("m", "{\"memory-type\": \"MEMORY_POOL\", "
                                            "\"remote-mem-latency\": 0, \"remote-mem-bw\": 1}"),
                                   &m, NULL, &err),
                 0, "%s", err.text);
    cr_expect_eq(m.kind, ASTRA_MEMORY_POOL);
}

Test(astra, sample_network_is_a_switch_of_50_gbytes_a_second)
{
    struct astra_network n;

    cr_assert_eq(astra_read_network(SAMPLE("network_analytical.yml"), &n, NULL, &err), 0, "%s",
                 err.text);
    cr_assert(n.dim_count == 1 && n.npu_count == 4);
    cr_expect_eq(n.dim[0].kind, ASTRA_NET_SWITCH);
    cr_expect_eq(n.dim[0].rate_bps, 400 * GBPS);
    cr_expect_eq(n.dim[0].latency_ps, 500 * PS_PER_NS);
}

Test(astra, networks_may_have_dimensions_comments_and_be_json)
{
    static const char *const texts[] = {
        "topology: [ Ring, FullyConnected ] # two\nnpus_count: [ 8, 4 ]\n"
        "bandwidth: [ 400.0, 50 ]  # GB/s\nlatency: [ 936.25, 500.0 ]\n",
        "{ \"topology\": [ \"Ring\", \"FullyConnected\" ], \"npus_count\": [ 8, 4 ],\n"
        "  \"bandwidth\": [ 400.0, 50.0 ], \"latency\": [ 936.25, 500.0 ] }\n",
        "topology:\n  - Ring\n  - FullyConnected\nlatency:\n- 936.25\n- 500.0\n"
        "npus_count:\n- 8\n- 4\nbandwidth:\n- 4e2\n- 50\n",
    };

    for (size_t i = 0; i < COUNT(texts); i++) {
        struct astra_network n;

        cr_assert_eq(astra_read_network(put("n", texts[i]), &n, NULL, &err), 0, "%s", err.text);
        cr_expect(n.dim_count == 2 && n.npu_count == 32);
        cr_expect(n.dim[0].kind == ASTRA_NET_RING && n.dim[1].kind == ASTRA_NET_FULLY_CONNECTED);
        cr_expect(n.dim[0].latency_ps == 936250 && n.dim[0].rate_bps == 3200 * GBPS);
    }
}

/* The graph of a network; NULL if it is refused. */
static struct topo *make_topology(const char *text, int *hosts_forward)
{
    struct astra_network n;
    struct topo *t = NULL;

    cr_assert_eq(astra_read_network(put("n", text), &n, NULL, &err), 0, "%s", err.text);
    cr_expect_eq(astra_make_topology(&n, &t, hosts_forward, &err), t ? 0 : WH_ERR_INPUT);
    return t;
}

Test(astra, networks_become_graphs)
{
    static const struct {
        const char *topology, *npus;
        uint32_t hosts, switches, links;
        int hosts_forward;
    } steps[] = {
        {"[ Switch ]", "[ 4 ]", 4, 1, 4, 0},
        {"[ Ring ]", "[ 2 ]", 2, 0, 1, 0},
        {"[ Ring ]", "[ 3 ]", 3, 0, 3, 0},
        {"[ Ring ]", "[ 8 ]", 8, 0, 8, 1},
        {"[ FullyConnected ]", "[ 5 ]", 5, 0, 10, 0},
        {"[ Ring, Switch ]", "[ 4, 2 ]", 8, 4, 16, 1},
        {"[ FullyConnected, Ring ]", "[ 3, 4 ]", 12, 0, 24, 1},
        {"[ Ring ]", "[ 1 ]", 1, 0, 0, 0},
    };

    for (size_t i = 0; i < COUNT(steps); i++) {
        char text[256];
        int hosts_forward = -1, dims = strchr(steps[i].npus, ',') != NULL;

        snprintf(text, sizeof text, "topology: %s\nnpus_count: %s\nbandwidth: %s\nlatency: %s\n",
                 steps[i].topology, steps[i].npus, dims ? "[ 50, 25 ]" : "[ 50 ]",
                 dims ? "[ 1, 2 ]" : "[ 1 ]");
        struct topo *t = make_topology(text, &hosts_forward);

        cr_assert_not_null(t, "%s", err.text);
        cr_expect_eq(t->host_count, steps[i].hosts, "%zu: %u hosts", i, t->host_count);
        cr_expect_eq(t->node_count, steps[i].hosts + steps[i].switches, "%zu", i);
        cr_expect_eq(t->link_count, steps[i].links, "%zu: %u links", i, t->link_count);
        cr_expect_eq(hosts_forward, steps[i].hosts_forward, "%zu", i);
        topo_destroy(t);
    }
}

Test(astra, a_second_dimension_joins_equal_positions_with_its_own_rate)
{
    int hosts_forward;
    struct topo *t = make_topology("topology: [ Ring, Switch ]\nnpus_count: [ 4, 2 ]\n"
                                   "bandwidth: [ 50, 25 ]\nlatency: [ 1, 2 ]\n",
                                   &hosts_forward);

    cr_assert_not_null(t, "%s", err.text);
    /* Switch 8 + p joins NPUs p and p + 4; the rings are 0-1-2-3 and 4-5-6-7. */
    for (uint32_t p = 0; p < 4; p++) {
        cr_assert_neq(topo_find_port(t, p, 8 + p), PORT_NONE);
        cr_assert_neq(topo_find_port(t, p + 4, 8 + p), PORT_NONE);
        cr_assert_neq(topo_find_port(t, p, (p + 1) % 4), PORT_NONE);
    }
    cr_expect_eq(topo_find_port(t, 3, 4), PORT_NONE);
    cr_expect_eq(topo_port_class(t, topo_find_port(t, 0, 1))->rate_bps, 400 * GBPS);
    cr_expect_eq(topo_port_class(t, topo_find_port(t, 0, 8))->rate_bps, 200 * GBPS);
    cr_expect_eq(topo_port_class(t, topo_find_port(t, 0, 8))->delay_ps, 2 * PS_PER_NS);
    topo_destroy(t);
    cr_expect_null(make_topology("topology: [ FullyConnected ]\nnpus_count: [ 2000000000 ]\n"
                                 "bandwidth: [ 50 ]\nlatency: [ 1 ]\n",
                                 &hosts_forward));
    cr_expect(strstr(err.text, "more than 2^26 links"), "%s", err.text);
}

Test(astra, groups_of_traces_are_in_the_communicator_file)
{
    static const struct {
        const char *groups, *part;
    } steps[] = {
        {"{\"1\": [0, 1], \"2\": [2, 3]}", NULL},
        {"{\"1\": [0, 1]}", "node 10: found pg_name \"2\", expected a group of"},
        {"empty", "expected a group of a communicator file"},
        {"{\"1\": [0, 1], \"2\": [2, 1]}", "expected a group that has rank 3 in it"},
    };
    struct et_set s;

    cr_assert_eq(et_read_set(SAMPLE("grp4"), NULL, &s, NULL, &err), 0, "%s", err.text);
    for (size_t i = 0; i < COUNT(steps); i++) {
        int is_empty = !strcmp(steps[i].groups, "empty");
        struct astra_groups g;

        cr_assert_eq(
            astra_read_groups(is_empty ? "empty" : put("g", steps[i].groups), &g, NULL, &err), 0);
        cr_expect_eq(astra_check_groups(&s, &g, &err), steps[i].part ? WH_ERR_INPUT : 0, "%zu", i);
        if (steps[i].part)
            cr_expect(strstr(err.text, steps[i].part), "%zu: %s", i, err.text);
        astra_groups_fini(&g);
    }
    et_set_fini(&s);
}

/* Reads @path as one of the kinds of file; the result is thrown away. */
static int read_as(char kind, const char *path)
{
    struct astra_logical l;
    struct astra_groups g = {0};
    struct astra_system s = {0};
    struct astra_memory m;
    struct astra_network n;
    int rc = 0;

    switch (kind) {
    case 'l':
        return astra_read_logical(path, &l, NULL, &err);
    case 'g':
        rc = astra_read_groups(path, &g, NULL, &err);
        astra_groups_fini(&g);
        return rc;
    case 's':
        rc = astra_read_system(path, &s, NULL, &err);
        astra_system_fini(&s);
        return rc;
    case 'm':
        return astra_read_memory(path, &m, NULL, &err);
    default:
        return astra_read_network(path, &n, NULL, &err);
    }
}

#define NET(t, n, b, l) "topology: " t "\nnpus_count: " n "\nbandwidth: " b "\nlatency: " l "\n"

Test(astra, malformed_files_are_refused_with_line_and_reason)
{
    static const struct {
        char kind;
        const char *text;
        long line;
        const char *part;
    } steps[] = {
        {'l', "", 1, "no valid JSON"},
        {'l', "[4]", 1, "JSON that is no object"},
        {'l', "{\n\"logical-dims\": [\"4\"\n}", 3, "no valid JSON"},
        {'l', "{\"logical-dims\": [\"4\"]} x", 1, "no valid JSON"},
        {'l', "{\"logical-dims\": [\"4\"], \"logical-dims\": [\"2\"]}", 1, "duplicate"},
        {'l', "{}", 0, "logical-dims: found nothing"},
        {'l', "{\n\"logical-dims\": \"4\"}", 2, "found \"4\", expected a list"},
        {'l', "{\n\n\"logical-dims\": []}", 3, "found [], expected"},
        {'l', "{\"logical-dims\": [\"0\"]}", 1, "found \"0\""},
        {'l', "{\"logical-dims\": [\"4\", -2]}", 1, "found -2"},
        {'l', "{\"logical-dims\": [\"4x\"]}", 1, "found \"4x\""},
        {'l', "{\"logical-dims\": [4.0]}", 1, "found 4.0"},
        {'l', "{\"logical-dims\": [\"65536\", \"65536\"]}", 1, "at most 2^31 ranks"},
        {'l', "{\"logical-dims\": [1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]}", 1, "1 to 16 sizes"},
        {'g', "{\"0\": [0]}", 1, "from 1 on"},
        {'g', "{\"a\": [0]}", 1, "from 1 on"},
        {'g', "{\"-1\": [0]}", 1, "from 1 on"},
        {'g', "{\n\"1\": [0],\n\"2\": []}", 3, "2: found [], expected a list of at least one"},
        {'g', "{\"1\": 0}", 1, "1: found 0"},
        {'g', "{\"1\": [0, 0]}", 1, "each once"},
        {'g', "{\"1\": [0, \"x\"]}", 1, "a list of ranks"},
        {'g', "{\"1\": [-1]}", 1, "a list of ranks"},
        {'g', "{\"1\": [2147483648]}", 1, "a list of ranks"},
        {'g', "{\"1\": [0], \"01\": [1]}", 0, "two groups with id 1"},
        {'g', "[[0, 1]]", 1, "no object"},
        {'s', "{\"scheduling-policy\": \"RANDOM\"}", 1, "LIFO, FIFO or EXPLICIT"},
        {'s', "{\"scheduling-policy\": 1}", 1, "scheduling-policy: found 1"},
        {'s', "{\n\"endpoint-delay\": -10}", 2, "endpoint-delay: found -10"},
        {'s', "{\"endpoint-delay\": \"10\"}", 1, "a number of ns"},
        {'s', "{\"active-chunks-per-dimension\": 0}", 1, "1 to 1048576"},
        {'s', "{\"preferred-dataset-splits\": 2.5}", 1, "preferred-dataset-splits: found 2.5"},
        {'s', "{\"all-reduce-implementation\": \"ring\"}", 1, "one for each dimension"},
        {'s', "{\"all-reduce-implementation\": []}", 1, "one for each dimension"},
        {'s', "{\"all-reduce-implementation\": [\"Ring\"]}", 1, "found \"Ring\""},
        {'s', "{\"all-gather-implementation\": [\"ring4\"]}", 1, "found \"ring4\""},
        {'s', "{\"all-gather-implementation\": [\"onering\"]}", 1, "found \"onering\""},
        {'s', "{\"all-to-all-implementation\": [\"direct0\"]}", 1, "found \"direct0\""},
        {'s', "{\"all-to-all-implementation\": [\"direct-1\"]}", 1, "found \"direct-1\""},
        {'s', "{\"all-to-all-implementation\": [3]}", 1, "found 3"},
        {'s', "{\"all-reduce-implementation-custom\": [\"a\", 1]}", 1, "prefixes of Chakra files"},
        {'s', "{\"collective-optimization\": \"best\"}", 1, "baseline or localBWAware"},
        {'s', "{\"local-mem-bw\": \"fast\"}", 1, "a number of GB/s"},
        {'s', "{\"roofline-enabled\": 2}", 1, "0 or 1"},
        {'s', "{\"roofline-enabled\": 1, \"peak-perf\": 1}", 1, "local-mem-bw above 0"},
        {'s', "{\"G\": 1e16}", 1, "G: found 1e16"},
        {'m', "{}", 0, "memory-type: found nothing"},
        {'m', "{\"memory-type\": \"DISK\"}", 1, "found \"DISK\""},
        {'m', "{\"memory-type\": \"MEMORY_POOL\"}", 0, "remote-mem-latency: found nothing"},
        {'m', "{\"memory-type\": \"MEMORY_POOL\", \"remote-mem-latency\": 1, \"remote-mem-bw\": 0}",
         1, "remote-mem-bw: found 0"},
        {'m',
         "{\"memory-type\": \"PER_NODE_MEMORY_EXPANSION\", \"remote-mem-latency\": 1,\n"
         "\"remote-mem-bw\": 1, \"num-nodes\": 0}",
         2, "num-nodes: found 0"},
        {'n', "", 0, "no mapping"},
        {'n', "- 1\n", 0, "no mapping"},
        {'n', "topology: [ Ring\n", 2, "no valid YAML"},
        {'n', "topology: [ Ring ]\nnpus_count: [ 4 ]\nbandwidth: [ 1 ]\n", 0, "found no latency"},
        {'n', NET("Ring", "[ 4 ]", "[ 1 ]", "[ 1 ]"), 1, "topology: found no list"},
        {'n', NET("[ ]", "[ 4 ]", "[ 1 ]", "[ 1 ]"), 1, "topology: found no list"},
        {'n', NET("[ Ring ]", "[ 4, 2 ]", "[ 1 ]", "[ 1 ]"), 2, "found 2 entries, expected 1"},
        {'n', NET("[ ring ]", "[ 4 ]", "[ 1 ]", "[ 1 ]"), 1, "found \"ring\""},
        {'n', NET("[ [Ring] ]", "[ 4 ]", "[ 1 ]", "[ 1 ]"), 1, "topology: found \"\""},
        {'n', NET("[ Ring ]", "[ 0 ]", "[ 1 ]", "[ 1 ]"), 2, "npus_count: found \"0\""},
        {'n', NET("[ Ring ]", "[ 4.5 ]", "[ 1 ]", "[ 1 ]"), 2, "npus_count: found \"4.5\""},
        {'n', NET("[ Ring, Ring ]", "[ 65536, 65536 ]", "[ 1, 1 ]", "[ 1, 1 ]"), 2, "at most 2^31"},
        {'n', NET("[ Ring ]", "[ 4 ]", "[ 0 ]", "[ 1 ]"), 3, "bandwidth: found \"0\""},
        {'n', NET("[ Ring ]", "[ 4 ]", "[ -1 ]", "[ 1 ]"), 3, "bandwidth: found \"-1\""},
        {'n', NET("[ Ring ]", "[ 4 ]", "[ 1e30 ]", "[ 1 ]"), 3, "bandwidth: found \"1e30\""},
        {'n', NET("[ Ring ]", "[ 4 ]", "[ 1 ]", "[ 1ns ]"), 4, "latency: found \"1ns\""},
        {'n', NET("[ Ring ]", "[ 4 ]", "[ 1 ]", "[ -0.5 ]"), 4, "latency: found \"-0.5\""},
        {'n', NET("[ Ring ]", "[ 4 ]", "[ 1 ]", "[ 1 ]") "latency: [ 2 ]\n", 5, "a second latency"},
    };

    for (size_t i = 0; i < COUNT(steps); i++) {
        cr_expect_eq(read_as(steps[i].kind, put("file", steps[i].text)), WH_ERR_INPUT,
                     "%zu: accepted %s", i, steps[i].text);
        cr_expect_eq(err.line, steps[i].line, "%zu: line %ld: %s", i, err.line, err.text);
        cr_expect(strstr(err.text, steps[i].part), "%zu: %s", i, err.text);
        cr_expect(strstr(err.text, "expected"), "%zu: %s", i, err.text);
    }
}

Test(astra, files_that_are_not_there_are_refused)
{
    for (const char *kind = "lgsmn"; *kind; kind++) {
        cr_expect_eq(read_as(*kind, "/nowhere/file"), WH_ERR_INPUT, "%c", *kind);
        cr_expect(strstr(err.text, "No such file"), "%c: %s", *kind, err.text);
    }
}

Test(astra, numbers_of_ranks_have_to_agree_and_the_message_has_all_four)
{
    static const struct {
        uint32_t traces, logical, hosts;
        const char *groups;
        const char *part; /* NULL: they agree */
    } steps[] = {
        {4, 4, 4, "empty", NULL},
        {4, 4, 4, "{\"1\": [0, 1], \"2\": [2, 3]}", NULL},
        {4, 4, 4, "{\"1\": [0, 1]}", NULL},
        {4, 2, 4, "empty",
         "4 trace files, a logical topology of 2 ranks, a network of 4 hosts and "
         "no groups"},
        {3, 4, 4, "empty", "3 trace files, a logical topology of 4 ranks"},
        {4, 4, 3, "empty", "a network of 3 hosts"},
        {4, 4, 5, "empty", "a network of 5 hosts"},
        {4, 4, 4, "{\"1\": [0, 4]}", "groups of ranks 0 to 4, expected the same number"},
    };

    for (size_t i = 0; i < COUNT(steps); i++) {
        struct astra_logical l;
        struct astra_groups g;
        int is_empty = !strcmp(steps[i].groups, "empty");

        astra_default_logical(steps[i].logical, &l, NULL);
        cr_assert_eq(
            astra_read_groups(is_empty ? "empty" : put("g", steps[i].groups), &g, NULL, &err), 0);
        const struct astra_ranks r = {.trace_count = steps[i].traces,
                                      .network_hosts = steps[i].hosts,
                                      .prefix = "dir/ar4",
                                      .logical = &l,
                                      .groups = &g};
        int rc = astra_check_ranks(&r, &err);

        cr_expect_eq(rc, steps[i].part ? WH_ERR_INPUT : 0, "%zu: %d", i, rc);
        if (steps[i].part)
            cr_expect(strstr(err.text, steps[i].part), "%zu: %s", i, err.text);
        astra_groups_fini(&g);
    }
}

Test(astra, the_sample_traces_do_not_fit_a_logical_topology_of_two)
{
    struct et_set s;
    struct astra_logical l;
    struct topo *t = NULL;

    cr_assert_eq(et_read_set(SAMPLE("ar4"), NULL, &s, NULL, &err), 0, "%s", err.text);
    cr_assert_eq(astra_read_logical(SAMPLE("logical_topology_2.json"), &l, NULL, &err), 0);
    cr_assert_eq(hpcc_read_topology(SAMPLE("ns3_topology_4.txt"), &t, NULL, &err), 0);
    struct astra_ranks r = {.trace_count = s.rank_count,
                            .network_hosts = t->host_count,
                            .prefix = SAMPLE("ar4"),
                            .logical = &l};

    cr_expect_eq(astra_check_ranks(&r, &err), WH_ERR_INPUT);
    cr_assert_eq(astra_read_logical(SAMPLE("logical_topology_4.json"), &l, NULL, &err), 0);
    cr_expect_eq(astra_check_ranks(&r, &err), 0, "%s", err.text);
    topo_destroy(t);
    et_set_fini(&s);
}

Test(astra, no_logical_topology_is_one_dimension_and_said_so)
{
    struct astra_logical l;
    struct warn_sink sink = warnings_sink(&warnings);

    astra_default_logical(4, &l, &sink);
    cr_expect(l.dim_count == 1 && l.dim[0] == 4 && l.rank_count == 4);
    cr_expect(warnings_have(&warnings, "one dimension of 4 ranks"), "%s", warnings.text);
}

Test(astra, implementations_need_one_name_for_each_dimension)
{
    static const struct {
        const char *text;
        int rc;
    } steps[] = {
        {"{}", 0},
        {"{\"all-reduce-implementation\": [\"ring\", \"direct\"]}", 0},
        {"{\"all-reduce-implementation\": [\"oneRing\"]}", 0},
        {"{\"all-reduce-implementation\": [\"ring\"]}", WH_ERR_INPUT},
        {"{\"all-to-all-implementation\": [\"ring\", \"ring\", \"ring\"]}", WH_ERR_INPUT},
    };
    const struct astra_logical l = {.dim_count = 2, .dim = {4, 2}, .rank_count = 8};

    for (size_t i = 0; i < COUNT(steps); i++) {
        struct astra_system s;

        cr_assert_eq(astra_read_system(put("s", steps[i].text), &s, NULL, &err), 0);
        cr_expect_eq(astra_check_system(&s, &l, &err), steps[i].rc, "%zu", i);
        astra_system_fini(&s);
    }
}

#define NS3                                                                                        \
    "ENABLE_QCN 1\nPACKET_PAYLOAD_SIZE 1000\nCC_MODE 12\nRATE_AI 50Mb/s\nL2_CHUNK_SIZE 4000\n"     \
    "L2_ACK_INTERVAL 1\nFLOW_FILE none.txt\nTRACE_FILE none.txt\nTRACE_OUTPUT_FILE mix.tr\n"       \
    "ENABLE_TRACE 1\nSIMULATOR_STOP_TIME 40000000000000.00\nNIC_TOTAL_PAUSE_TIME 0\n"              \
    "KMAX_MAP 1 400000000000 3200\nKMIN_MAP 1 400000000000 800\nPMAX_MAP 1 400000000000 0.2\n"     \
    "QLEN_MON_FILE qlen.txt\nQLEN_MON_START 0\nQLEN_MON_END 20000\n"

Test(astra, a_configuration_of_the_ns3_backend_names_its_network_and_no_flows)
{
    static const struct hpcc_override topology = {"TOPOLOGY_FILE", SAMPLE("ns3_topology_4.txt")};
    struct scenario sc;
    struct warn_sink sink = warnings_sink(&warnings);

    scenario_init(&sc);
    cr_assert_eq(astra_read_ns3(put("config.txt", NS3), &topology, 1, &sc, &sink, &err), 0, "%s",
                 err.text);
    cr_expect(sc.topo->host_count == 4 && sc.flow_count == 0);
    cr_expect(sc.cfg.cc == CC_NONE && sc.cfg.end_ps == TIME_NEVER);
    cr_expect_eq(sc.topo->classes[0].rate_bps, 400 * GBPS);
    cr_expect_str_eq(sc.logs[LOG_QLEN_HPCC].path, "qlen.txt");
    cr_expect_str_eq(sc.logs[LOG_PACKET].path, "");
    cr_expect(warnings_have(&warnings, "no effect: FLOW_FILE, NIC_TOTAL_PAUSE_TIME"), "%s",
              warnings.text);
    scenario_fini(&sc);
    scenario_init(&sc);
    cr_expect_eq(astra_read_ns3(put("config.txt", NS3), NULL, 0, &sc, NULL, &err), WH_ERR_INPUT);
    cr_expect(strstr(err.text, "found no TOPOLOGY_FILE"), "%s", err.text);
    scenario_fini(&sc);
}
