/*
 * test_hpcc_flows.c - flow lists, given paths and node lists.
 */
#include "hpcc.h"
#include "hpcc_files.h"
#include "units.h"

#include <criterion/criterion.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define NS(n) ((int64_t)(n)*PS_PER_NS)

static struct text_folder folder;
static struct warnings warnings;
static struct warn_sink sink;
static struct err_info err;
static struct scenario sc;

/* Hosts 0 to 3, switches 4 to 7. */
static void set_up(void)
{
    text_folder_create(&folder);
    memset(&err, 0, sizeof err);
    scenario_init(&sc);
    sink = warnings_sink(&warnings);
    cr_assert_eq(hpcc_read_topology(TEST_DATA_DIR "/hpcc/topology.txt", &sc.topo, NULL, &err), 0);
}

static void tear_down(void)
{
    scenario_fini(&sc);
    text_folder_destroy(&folder);
}

TestSuite(hpcc_flows, .init = set_up, .fini = tear_down);

static const char *put(const char *text)
{
    static char path[128];

    return text_folder_write(&folder, "list.txt", text, strlen(text), path, sizeof path);
}

static int read_flows(const char *text)
{
    sink = warnings_sink(&warnings);
    return hpcc_read_flows(put(text), sc.topo, &sc, &sink, &err);
}

static void expect_flow(uint32_t i, const struct flow_spec *want)
{
    const struct flow_spec *f = &sc.flows[i];

    cr_expect_eq(f->src, want->src, "flow %u", i);
    cr_expect_eq(f->dst, want->dst, "flow %u", i);
    cr_expect_eq(f->prio, want->prio, "flow %u", i);
    cr_expect_eq(f->dport, want->dport, "flow %u", i);
    cr_expect_eq(f->bytes, want->bytes, "flow %u", i);
    cr_expect_eq(f->start_ps, want->start_ps, "flow %u", i);
    cr_expect_eq(f->sport, 0, "flow %u", i);
}

Test(hpcc_flows, sample_holds_four_flows)
{
    static const struct flow_spec want[] = {
        {.src = 0, .dst = 1, .prio = 3, .dport = 100, .bytes = 1000, .start_ps = NS(2000000000)},
        {.src = 0, .dst = 2, .prio = 3, .dport = 100, .bytes = 1000000, .start_ps = NS(2000000000)},
        {.src = 1, .dst = 3, .prio = 3, .dport = 100, .bytes = 250000, .start_ps = NS(2000010000)},
        {.src = 3, .dst = 0, .prio = 3, .dport = 200, .bytes = 1, .start_ps = NS(2000020000)},
    };

    cr_assert_eq(hpcc_read_flows(TEST_DATA_DIR "/hpcc/flow.txt", sc.topo, &sc, &sink, &err), 0);
    cr_assert_eq(sc.flow_count, 4);
    cr_expect_eq(warnings.count, 0, "%s", warnings.text);
    for (uint32_t i = 0; i < 4; i++)
        expect_flow(i, &want[i]);
}

Test(hpcc_flows, start_times_are_exact_decimals)
{
    static const struct {
        const char *text;
        int64_t ps;
    } steps[] = {
        {"0", 0},
        {"2.000000001", NS(2000000001)},
        {"2.0000000000015", 2000000000002},
        {"1e-4", NS(100000)},
        {"9007199.254740993", INT64_C(9007199254740993000)},
    };

    for (size_t i = 0; i < COUNT(steps); i++) {
        char text[64];

        sc.flow_count = 0;
        snprintf(text, sizeof text, "1\n0 1 3 100 1 %s\n", steps[i].text);
        cr_assert_eq(read_flows(text), 0, "%s: %s", steps[i].text, err.text);
        cr_expect_eq(sc.flows[0].start_ps, steps[i].ps, "%s: %lld", steps[i].text,
                     (long long)sc.flows[0].start_ps);
    }
}

Test(hpcc_flows, sizes_are_64_bit_and_may_be_zero)
{
    cr_assert_eq(read_flows("3\r\n0 1 3 100 0 0\r\n0\t1\t3\t100\t9223372036854775807\t0\r\n"
                            "0 1 3 65535 5000000000 0.5"),
                 0, "%s", err.text);
    cr_expect_eq(sc.flows[0].bytes, 0);
    cr_expect_eq(sc.flows[1].bytes, INT64_MAX);
    cr_expect_eq(sc.flows[2].bytes, 5000000000);
    cr_expect_eq(sc.flows[2].dport, 65535);
    cr_expect_eq(warnings.count, 0, "%s", warnings.text);
}

Test(hpcc_flows, no_flow_is_a_list_too)
{
    cr_assert_eq(read_flows("0\n"), 0);
    cr_expect_eq(sc.flow_count, 0);
    cr_assert_eq(read_flows("0\nFirst line: number of flows\n"), 0);
    cr_expect(warnings_have(&warnings, "list.txt:2: text behind the 0 declared flows"));
}

Test(hpcc_flows, five_columns_have_no_port)
{
    static const struct flow_spec want = {
        .src = 2, .dst = 1, .prio = 3, .dport = 100, .bytes = 700, .start_ps = NS(2500000000)};

    cr_assert_eq(read_flows("1\n2 1 3 700 2.5\n"), 0, "%s", err.text);
    expect_flow(0, &want);
    cr_expect_eq(warnings.count, 1);
    cr_expect(warnings_have(&warnings, "five columns"));
}

Test(hpcc_flows, an_unsorted_list_is_sorted_and_equal_starts_keep_their_order)
{
    cr_assert_eq(read_flows("5\n0 1 3 1 10 3\n0 2 3 1 11 2\n0 3 3 1 12 3\n1 0 3 1 13 2\n"
                            "1 2 3 1 14 1\n"),
                 0, "%s", err.text);
    static const int64_t want[] = {14, 11, 13, 10, 12};

    for (uint32_t i = 0; i < COUNT(want); i++)
        cr_expect_eq(sc.flows[i].bytes, want[i], "flow %u: %lld", i, (long long)sc.flows[i].bytes);
    cr_expect_eq(warnings.count, 1, "%s", warnings.text);
    cr_expect(warnings_have(&warnings, "list.txt:3:"), "%s", warnings.text);
}

Test(hpcc_flows, the_unsorted_sample_is_repaired_with_its_line)
{
    cr_assert_eq(
        hpcc_read_flows(TEST_DATA_DIR "/hpcc/bad/flow_unsorted.txt", sc.topo, &sc, &sink, &err), 0);
    cr_expect_eq(sc.flows[0].start_ps, 2 * PS_PER_S);
    cr_expect_eq(sc.flows[0].dst, 2);
    cr_expect_eq(warnings.count, 1);
    cr_expect(warnings_have(&warnings, "flow_unsorted.txt:3:"), "%s", warnings.text);
}

Test(hpcc_flows, the_sample_with_a_flow_to_a_switch_is_refused_in_its_line)
{
    cr_assert_eq(
        hpcc_read_flows(TEST_DATA_DIR "/hpcc/bad/flow_to_switch.txt", sc.topo, &sc, &sink, &err),
        WH_ERR_INPUT);
    cr_expect_eq(err.line, 2);
    cr_expect(strstr(err.file, "flow_to_switch.txt"));
    cr_expect(strstr(err.text, "destination \"6\", expected a host"), "%s", err.text);
}

Test(hpcc_flows, malformed_lists_are_refused_and_leave_no_flow)
{
    static const struct {
        const char *text;
        long line;
        const char *part;
    } steps[] = {
        {"", 0, "empty file"},
        {"x\n", 1, "first line \"x\""},
        {"-1\n", 1, "first line \"-1\""},
        {"1 2\n0 1 3 100 1 0\n", 1, "2 columns"},
        {"2\n0 1 3 100 1 0\n", 1, "found 1 lines behind this one, expected 2 flows"},
        {"4294967290\n0 1 3 100 1 0\n", 1, "expected 4294967290 flows"},
        {"99999999999\n", 1, "first line"},
        {"1\n0 1 3 100\n", 2, "4 columns"},
        {"1\n0 1 3 100 1 0 0\n", 2, "7 columns"},
        {"2\n0 1 3 100 1 0\n0 1 3 1 0\n", 3, "5 columns"},
        {"2\n0 1 3 1 0\n0 1 3 100 1 0\n", 3, "6 columns"},
        {"2\n0 1 3 100 1 0\n8 1 3 100 1 0\n", 3, "source \"8\", expected a node id, 0 to 7"},
        {"1\n4 1 3 100 1 0\n", 2, "source \"4\", expected a host"},
        {"1\n0 -1 3 100 1 0\n", 2, "destination \"-1\""},
        {"1\n2 2 3 100 1 0\n", 2, "two different hosts"},
        {"1\n0 1 8 100 1 0\n", 2, "priority \"8\""},
        {"1\n0 1 3 65536 1 0\n", 2, "destination port \"65536\""},
        {"1\n0 1 3 100 -5 0\n", 2, "size \"-5\""},
        {"1\n0 1 3 100 1e6 0\n", 2, "size \"1e6\""},
        {"1\n0 1 3 100 9223372036854775808 0\n", 2, "size \"9223372036854775808\""},
        {"1\n0 1 3 100 1 -0.1\n", 2, "start \"-0.1\""},
        {"1\n0 1 3 100 1 2s\n", 2, "start \"2s\""},
        {"1\n0 1 3 100 1 nan\n", 2, "start \"nan\""},
        {"1\n0 1 3 100 1 1e7\n", 2, "start \"1e7\""},
    };

    for (size_t i = 0; i < COUNT(steps); i++) {
        cr_expect_eq(read_flows(steps[i].text), WH_ERR_INPUT, "%zu: accepted", i);
        cr_expect_eq(err.line, steps[i].line, "%zu: line %ld: %s", i, err.line, err.text);
        cr_expect(strstr(err.text, steps[i].part), "%zu: %s", i, err.text);
        cr_expect(strstr(err.text, "expected"), "%zu: %s", i, err.text);
        cr_expect_eq(sc.flow_count, 0, "%zu", i);
    }
}

Test(hpcc_flows, what_is_written_reads_back_equal)
{
    char path[128];

    cr_assert_eq(read_flows("3\n0 1 3 100 1000 2\n1 2 3 200 0 2.000000001\n2 3 1 7 5 3.25000000000"
                            "1\n"),
                 0, "%s", err.text);
    FILE *f = fopen(text_folder_write(&folder, "out.txt", "", 0, path, sizeof path), "w");

    cr_assert_eq(hpcc_write_flows(f, sc.flows, sc.flow_count), 0);
    fclose(f);
    cr_assert_eq(hpcc_read_flows(path, sc.topo, &sc, &sink, &err), 0, "%s", err.text);
    cr_assert_eq(sc.flow_count, 6);
    for (uint32_t i = 0; i < 3; i++)
        expect_flow(3 + i, &sc.flows[i]);
}

Test(hpcc_flows, trace_sample_selects_two_nodes)
{
    cr_assert_eq(hpcc_read_nodes(TEST_DATA_DIR "/hpcc/trace.txt", sc.topo, &sc, &err), 0);
    cr_assert_eq(sc.filter_count, 2);
    cr_expect_eq(sc.filter_ids[0], 4);
    cr_expect_eq(sc.filter_ids[1], 6);
}

Test(hpcc_flows, node_lists_that_do_not_fit_are_refused)
{
    static const struct {
        const char *text;
        long line;
        const char *part;
    } steps[] = {
        {"", 0, "empty file"},
        {"two\n", 1, "first line \"two\""},
        {"3\n4\n6\n", 3, "found 2 node ids, expected 3"},
        {"2\n4 8\n", 2, "node \"8\", expected a node id, 0 to 7"},
        {"2\n4 -6\n", 2, "node \"-6\""},
    };

    for (size_t i = 0; i < COUNT(steps); i++) {
        cr_expect_eq(hpcc_read_nodes(put(steps[i].text), sc.topo, &sc, &err), WH_ERR_INPUT);
        cr_expect_eq(err.line, steps[i].line, "%zu: line %ld: %s", i, err.line, err.text);
        cr_expect(strstr(err.text, steps[i].part), "%zu: %s", i, err.text);
        cr_expect_eq(sc.filter_count, 0, "%zu", i);
    }
}

Test(hpcc_flows, given_paths_are_kept_per_flow_and_direction)
{
    cr_assert_eq(hpcc_read_flows(TEST_DATA_DIR "/hpcc/flow.txt", sc.topo, &sc, &sink, &err), 0);
    cr_assert_eq(hpcc_read_paths(TEST_DATA_DIR "/hpcc/paths.txt", &sc, &err), 0, "%s", err.text);
    cr_assert_eq(sc.path_count, 5);
    const struct given_path *p = &sc.paths[3]; /* ACK path of flow 1 */
    static const uint32_t nodes[] = {2, 5, 7, 4, 0};

    cr_expect_eq(p->flow_id, 1);
    cr_expect_eq(p->is_ack, 1);
    cr_assert_eq(p->node_count, 5);
    cr_expect_arr_eq(sc.path_nodes + p->node_first, nodes, sizeof nodes);
    cr_expect_eq(sc.paths[4].flow_id, 2);
    cr_expect_eq(sc.paths[4].is_ack, 0);
}

Test(hpcc_flows, paths_that_do_not_fit_their_flow_are_refused)
{
    static const struct {
        const char *text, *part;
    } steps[] = {
        {"0 10000\n", "2 columns"},
        {"0 10000 0 4 1\n", "5 columns"},
        {"4 10000 | 0 4 1\n", "flow \"4\""},
        {"0 70000 | 0 4 1\n", "source port \"70000\""},
        {"0 10000 | 0 9 1\n", "node \"9\""},
        {"0 10000 | 0 4 2 | 2 4 0\n", "from node 0 to node 2, expected from 0 to 1"},
        {"0 10000 | 0 4 1 | 0 4 1\n", "an ACK path from node 0"},
        {"0 10000 | 0\n", "1 nodes in a path"},
        {"0 10000 | 0 4 1 | 1 4 0 | 0 4 1\n", "third path"},
    };

    cr_assert_eq(hpcc_read_flows(TEST_DATA_DIR "/hpcc/flow.txt", sc.topo, &sc, &sink, &err), 0);
    for (size_t i = 0; i < COUNT(steps); i++) {
        cr_expect_eq(hpcc_read_paths(put(steps[i].text), &sc, &err), WH_ERR_INPUT, "%zu", i);
        cr_expect_eq(err.line, 1);
        cr_expect(strstr(err.text, steps[i].part), "%zu: %s", i, err.text);
    }
}
