/*
 * test_htsim_cm.c - connection matrices of csg-htsim: what they mean, what is refused, which flows
 * come of them.
 */
#include "hpcc_files.h"
#include "htsim.h"
#include "units.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

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

TestSuite(htsim_cm, .init = set_up, .fini = tear_down);

static int read_bytes(const char *text, size_t bytes, struct htsim_cm *cm)
{
    char path[128];
    struct warn_sink sink = warnings_sink(&warnings);

    memset(cm, 0, sizeof *cm);
    return htsim_read_cm(text_folder_write(&folder, "in.cm", text, bytes, path, sizeof path), cm,
                         &sink, &err);
}

static int read_text(const char *text, struct htsim_cm *cm)
{
    return read_bytes(text, strlen(text), cm);
}

static void read_sample(const char *name, struct htsim_cm *cm)
{
    char path[512];
    struct warn_sink sink = warnings_sink(&warnings);

    snprintf(path, sizeof path, "%s/htsim/%s", TEST_DATA_DIR, name);
    cr_assert_eq(htsim_read_cm(path, cm, &sink, &err), 0, "%s", err.text);
    cr_expect_eq(warnings.count, 0, "%s", warnings.text);
}

/* @hosts on one switch of 100 Gb/s. */
static struct topo *make_star(uint32_t hosts)
{
    const struct link_class class = {.rate_bps = INT64_C(100000000000), .delay_ps = 1000000};
    struct topo *t = NULL;

    cr_assert_eq(topo_create(&t, hosts + 1), 0);
    topo_set_kind(t, hosts, NODE_SWITCH);
    cr_assert_eq(topo_add_class(t, &class), 0);
    for (uint32_t h = 0; h < hosts; h++)
        cr_assert_eq(topo_add_link(t, h, hosts, 0), 0);
    cr_assert_eq(topo_finish(t), 0);
    return t;
}

Test(htsim_cm, incast_is_four_connections_to_host_0)
{
    struct htsim_cm cm;

    read_sample("incast4.cm", &cm);
    cr_expect_eq(cm.node_count, 8);
    cr_assert_eq(cm.conn_count, 4);
    cr_expect_eq(cm.trigger_count, 0);
    for (uint32_t i = 0; i < 4; i++) {
        cr_expect_eq(cm.conns[i].src, i + 1);
        cr_expect_eq(cm.conns[i].dst, 0);
        cr_expect_eq(cm.conns[i].id, i + 1);
        cr_expect_eq(cm.conns[i].bytes, 2000000);
        cr_expect_eq(cm.conns[i].start_ps, 0);
        cr_expect_eq(cm.conns[i].trigger, HTSIM_NONE);
        cr_expect_eq(cm.conns[i].line, (long)i + 3);
    }
    htsim_cm_fini(&cm);
}

Test(htsim_cm, chain_waits_for_its_triggers)
{
    static const struct {
        uint32_t src, id, trigger, send_done;
        int64_t start_ps, bytes;
    } rows[] = {{0, 1, HTSIM_NONE, 0, 0, 100000},
                {1, 2, 0, 1, -1, 100000},
                {3, 3, HTSIM_NONE, 1, 50 * PS_PER_US, 100000},
                {5, 4, 1, HTSIM_NONE, -1, 1000}};
    struct htsim_cm cm;

    read_sample("chain.cm", &cm);
    cr_assert_eq(cm.conn_count, 4);
    for (uint32_t i = 0; i < 4; i++) {
        cr_expect_eq(cm.conns[i].src, rows[i].src);
        cr_expect_eq(cm.conns[i].dst, rows[i].src + 1);
        cr_expect_eq(cm.conns[i].id, rows[i].id);
        cr_expect_eq(cm.conns[i].trigger, rows[i].trigger);
        cr_expect_eq(cm.conns[i].send_done_trigger, rows[i].send_done);
        cr_expect_eq(cm.conns[i].recv_done_trigger, HTSIM_NONE);
        cr_expect_eq(cm.conns[i].start_ps, rows[i].start_ps);
        cr_expect_eq(cm.conns[i].bytes, rows[i].bytes);
    }
    cr_assert_eq(cm.trigger_count, 2);
    cr_expect_eq(cm.triggers[0].id, 1);
    cr_expect_eq(cm.triggers[0].kind, HTSIM_ONESHOT);
    cr_expect_eq(cm.triggers[1].id, 2);
    cr_expect_eq(cm.triggers[1].kind, HTSIM_BARRIER);
    cr_expect_eq(cm.triggers[1].count, 2);
    htsim_cm_fini(&cm);
}

Test(htsim_cm, everything_that_the_format_knows)
{
    static const char text[] =
        "# head\nFailures 1\r\nTriggers 2 # two\nConnections 3\n\nNodes 4\n"
        "trigger multishot id 7\n"
        "failure link_id 3 switch_id 2 switch_type AGG\n"
        "3->0\tprio 5  size 9223372036854775807 start 2.5e3 recv_done_trigger 7 id 4294967294\n"
        "# between\n0->3 trigger 7 id 1 send_done_trigger 9\n"
        "1->2 start 123456789012345 size 0 recv_done_trigger 9 send_done_trigger 9\n"
        "trigger id 9 barrier count 3";
    struct htsim_cm cm;

    cr_assert_eq(read_text(text, &cm), 0, "line %ld: %s", err.line, err.text);
    cr_expect_eq(warnings.count, 0, "%s", warnings.text);
    cr_assert_eq(cm.conn_count, 3);
    cr_expect_eq(cm.conns[0].start_ps, 2500);
    cr_expect_eq(cm.conns[0].bytes, INT64_MAX);
    cr_expect_eq(cm.conns[0].prio, 5);
    cr_expect_eq(cm.conns[0].id, UINT32_MAX - 1);
    cr_expect_eq(cm.conns[0].recv_done_trigger, 0);
    cr_expect_eq(cm.conns[1].trigger, 0);
    cr_expect_eq(cm.conns[1].bytes, HTSIM_ENDLESS);
    cr_expect_eq(cm.conns[1].prio, HTSIM_NONE);
    cr_expect_eq(cm.conns[2].start_ps, INT64_C(123456789012345)); /* a float would lose digits */
    cr_expect_eq(cm.conns[2].bytes, HTSIM_ENDLESS);
    cr_expect_eq(cm.conns[2].send_done_trigger, 1);
    cr_assert_eq(cm.failure_count, 1);
    cr_expect_eq(cm.failures[0].switch_type, HTSIM_AGG);
    cr_expect_eq(cm.failures[0].switch_id, 2);
    cr_expect_eq(cm.failures[0].link_id, 3);
    htsim_cm_fini(&cm);
}

Test(htsim_cm, oddities_are_read_with_a_warning)
{
    static const struct {
        const char *text, *part;
        unsigned count;
    } steps[] = {
        {"Nodes 2\nConections 5\nConnections 1\nConections 5\n0->1 start 0 size 1\n",
         "in.cm:2: unknown key \"Conections\" is ignored; the nearest known one is Connections", 1},
        {"Nodes 2\nConnections 0\nTriggers 1\ntrigger id 3 oneshot\n",
         "in.cm:4: no connection fires trigger 3", 1},
    };

    for (size_t i = 0; i < COUNT(steps); i++) {
        struct htsim_cm cm;

        cr_assert_eq(read_text(steps[i].text, &cm), 0, "%s", err.text);
        cr_expect_eq(warnings.count, steps[i].count, "%s", warnings.text);
        cr_expect(warnings_have(&warnings, steps[i].part), "%s", warnings.text);
        htsim_cm_fini(&cm);
    }
}

Test(htsim_cm, sample_with_a_wrong_count_is_refused_in_its_line)
{
    struct htsim_cm cm = {0};

    cr_assert_eq(htsim_read_cm(TEST_DATA_DIR "/htsim/bad/count_mismatch.cm", &cm, NULL, &err),
                 WH_ERR_INPUT);
    cr_expect_eq(err.line, 2);
    cr_expect(strstr(err.file, "count_mismatch.cm"));
    cr_expect_str_eq(err.text, "found 1 connections in the file, expected 2 as declared");
    cr_expect_null(cm.conns);
}

Test(htsim_cm, malformed_files_are_refused_with_line_and_reason)
{
#define HEAD "Nodes 4\nConnections 1\n"
#define HEAD_T "Nodes 4\nConnections 1\nTriggers 1\n"
#define CONN "0->1 start 0 size 1\n"
    static const struct {
        const char *text;
        long line;
        const char *part;
    } steps[] = {
        {"", 0, "no line Nodes"},
        {"# only\n", 0, "no line Nodes"},
        {"Nodes 4\n", 0, "no line Connections"},
        {"Connections 1\n" CONN, 2, "expected a line Nodes <n> before it"},
        {"Nodes\nConnections 0\n", 1, "no value behind \"Nodes\""},
        {"Nodes 0\nConnections 0\n", 1, "Nodes \"0\", expected a number, 1 to"},
        {"Nodes -4\nConnections 0\n", 1, "Nodes \"-4\""},
        {"Nodes 4294967296\nConnections 0\n", 1, "Nodes \"4294967296\""},
        {"Nodes 4 5\nConnections 0\n", 1, "text behind the value \"5\""},
        {"Nodes 4\nNodes 4\nConnections 0\n", 2, "a second \"Nodes\""},
        {"Nodes 4\nConnections x\n", 2, "Connections \"x\""},
        {HEAD, 2, "0 connections in the file, expected 1"},
        {HEAD CONN CONN, 2, "2 connections in the file, expected 1"},
        {HEAD_T CONN, 3, "0 triggers in the file, expected 1"},
        {HEAD CONN "trigger id 1 oneshot\n", 0, "1 triggers in the file, expected 0"},
        {HEAD "Failures 1\n" CONN, 3, "0 failures in the file, expected 1"},
        {HEAD CONN "Triggers 0\n", 4, "expected header lines before the first connection"},
        {HEAD CONN "flow 5\n", 4, "line \"flow\", expected <src>-><dst>"},
        {HEAD "0 -> 1 start 0 size 1\n", 3, "a blank behind \"0\", expected <src>-><dst>"},
        {HEAD "->1 start 0 size 1\n", 3, "connection \"->1\""},
        {HEAD "0-> start 0 size 1\n", 3,
         "connection \"0->\", expected <src>-><dst> of nodes 0 to 3"},
        {HEAD "0->4 start 0 size 1\n", 3, "connection \"0->4\""},
        {HEAD "4->0 start 0 size 1\n", 3, "connection \"4->0\""},
        {HEAD "-1->0 start 0 size 1\n", 3, "connection \"-1->0\""},
        {HEAD "0->1->2 start 0 size 1\n", 3, "connection \"0->1->2\""},
        {HEAD "0->1x start 0 size 1\n", 3, "connection \"0->1x\""},
        {HEAD "1->1 start 0 size 1\n", 3, "two different nodes"},
        {HEAD "0->1 size 1\n", 3, "expected either start or trigger"},
        {HEAD "0->1 start 0 start 1 size 1\n", 3, "a second \"start\""},
        {HEAD "0->1 start\n", 3, "no value behind \"start\""},
        {HEAD "0->1 start -1 size 1\n", 3, "start \"-1\""},
        {HEAD "0->1 start 1us size 1\n", 3, "start \"1us\""},
        {HEAD "0->1 start 1e30 size 1\n", 3, "start \"1e30\""},
        {HEAD "0->1 start 0 size 1.5\n", 3, "size \"1.5\""},
        {HEAD "0->1 start 0 size -1\n", 3, "size \"-1\""},
        {HEAD "0->1 start 0 size 9223372036854775808\n", 3, "size \"9223372036854775808\""},
        {HEAD "0->1 start 0 size 0 size 1\n", 3, "a second \"size\""},
        {HEAD "0->1 start 0 size 1 id 0\n", 3, "id \"0\", expected a number, 1 to"},
        {HEAD "0->1 start 0 size 1 id 1 id 2\n", 3, "a second \"id\""},
        {HEAD "0->1 start 0 size 1 prio x\n", 3, "prio \"x\""},
        {HEAD "0->1 start 0 size 1 prio 1 prio 1\n", 3, "a second \"prio\""},
        {HEAD "0->1 start 0 bytes 1\n", 3, "attribute \"bytes\""},
        {HEAD "0->1 start 0 size 1 # late\n", 3, "attribute \"#\""},
        {HEAD "0->1 start 0 size 1 send_done_trigger 5\n", 3, "found trigger 5, expected the id"},
        {HEAD_T "0->1 id 1 trigger 2 size 1\ntrigger id 1 oneshot\n", 4, "found trigger 2"},
        {HEAD_T "0->1 id 1 start 0 trigger 1 size 1\ntrigger id 1 oneshot\n", 4,
         "start and trigger in connection"},
        {HEAD_T "0->1 trigger 1 size 1\ntrigger id 1 oneshot\n", 4, "expected an id"},
        {HEAD_T CONN "trigger oneshot\n", 5, "expected an id, from 1"},
        {HEAD_T CONN "trigger id 1\n", 5, "expected a kind"},
        {HEAD_T CONN "trigger id 1 barrier\n", 5, "the count of the barrier"},
        {HEAD_T CONN "trigger id 1 barrier count 0\n", 5, "the count of the barrier"},
        {HEAD_T CONN "trigger id 1 oneshot multishot\n", 5, "attribute \"multishot\""},
        {HEAD_T CONN "trigger id 1 twice\n", 5, "attribute \"twice\""},
        {HEAD_T CONN "trigger id 0 oneshot\n", 5, "id \"0\""},
        {"Nodes 4\nConnections 1\nTriggers 2\n" CONN
         "trigger id 1 oneshot\ntrigger id 1 barrier count "
         "2\n",
         6, "trigger id 1 a second time, expected different ids; the first is in line 5"},
        {"Nodes 4\nConnections 2\n0->1 id 3 start 0 size 1\n0->2 id 3 start 0 size 1\n", 4,
         "connection id 3 a second time, expected different ids; the first is in line 3"},
        {"Nodes 4\nConnections 2\nTriggers 1\n0->1 start 0 size 1 send_done_trigger 1\n"
         "0->2 start 0 size 1 recv_done_trigger 1\ntrigger id 1 oneshot\n",
         5, "fires oneshot trigger 1, expected one; the first is in line 4"},
        {HEAD "Failures 1\n" CONN "failure switch_type AGG switch_id 0\n", 5,
         "expected switch_type, switch_id and link_id"},
        {HEAD "Failures 1\n" CONN "failure switch_type agg switch_id 0 link_id 0\n", 5,
         "switch_type \"agg\", expected TOR, AGG or CORE"},
        {HEAD "Failures 1\n" CONN "failure switch_type AGG switch_id -1 link_id 0\n", 5,
         "switch_id \"-1\""},
        {HEAD "Failures 1\n" CONN "failure switch 1\n", 5, "attribute \"switch\""},
    };

    for (size_t i = 0; i < COUNT(steps); i++) {
        struct htsim_cm cm;

        cr_assert_eq(read_text(steps[i].text, &cm), WH_ERR_INPUT, "%zu: accepted %s", i,
                     steps[i].text);
        cr_expect_eq(err.line, steps[i].line, "%zu: line %ld: %s", i, err.line, err.text);
        cr_expect(strstr(err.text, steps[i].part), "%zu: %s", i, err.text);
        cr_expect(strstr(err.text, "expected"), "%zu: %s", i, err.text);
        cr_expect(strstr(err.file, "in.cm"), "%zu: %s", i, err.file);
        cr_expect_null(cm.conns);
    }
}

Test(htsim_cm, a_zero_byte_is_no_text)
{
    struct htsim_cm cm;

    cr_expect_eq(read_bytes("Nodes 4\nConn\0", 13, &cm), WH_ERR_INPUT);
    cr_expect_eq(err.line, 2);
}

Test(htsim_cm, connections_with_a_start_become_flows)
{
    struct htsim_cm cm;
    struct scenario sc;

    read_sample("chain.cm", &cm);
    scenario_init(&sc);
    sc.topo = make_star(8);
    cr_assert_eq(htsim_to_flows(&cm, sc.topo, &sc, NULL, &err), 0, "%s", err.text);
    cr_assert_eq(sc.flow_count, 2);
    cr_expect_eq(sc.flows[0].src, 0);
    cr_expect_eq(sc.flows[0].dst, 1);
    cr_expect_eq(sc.flows[0].user, 0);
    cr_expect_eq(sc.flows[1].src, 3);
    cr_expect_eq(sc.flows[1].user, 2);
    cr_expect_eq(sc.flows[1].start_ps, 50 * PS_PER_US);
    cr_expect_eq(sc.flows[1].bytes, 100000);
    cr_expect_eq(sc.flows[1].prio, 3);
    cr_expect_eq(sc.flows[1].dport, 100);
    scenario_fini(&sc);
    htsim_cm_fini(&cm);
}

Test(htsim_cm, flows_are_sorted_by_start_and_then_by_the_file)
{
    static const char text[] =
        "Nodes 4\nConnections 4\n0->1 start 5 size 10\n1->2 start 0 size 11\n"
        "2->3 start 5 size 12 prio 3\n3->0 start 0 size 13 prio 4\n";
    static const uint32_t order[] = {1, 3, 0, 2};
    struct htsim_cm cm;
    struct scenario sc;

    cr_assert_eq(read_text(text, &cm), 0, "%s", err.text);
    scenario_init(&sc);
    sc.topo = make_star(4);
    struct warn_sink sink = warnings_sink(&warnings);

    cr_assert_eq(htsim_to_flows(&cm, sc.topo, &sc, &sink, &err), 0, "%s", err.text);
    cr_assert_eq(sc.flow_count, 4);
    for (uint32_t i = 0; i < 4; i++) {
        cr_expect_eq(sc.flows[i].user, order[i]);
        cr_expect_eq(sc.flows[i].bytes, 10 + order[i]);
    }
    cr_expect_eq(warnings.count, 1, "%s", warnings.text);
    cr_expect(warnings_have(&warnings, "in.cm:5: prio is accepted, without effect"), "%s",
              warnings.text);
    scenario_fini(&sc);
    htsim_cm_fini(&cm);
}

Test(htsim_cm, endless_connections_need_an_end_and_outlast_it)
{
    static const char text[] = "Nodes 2\nConnections 2\n0->1 start 0 size 5\n1->0 start 1000000\n";
    struct htsim_cm cm;
    struct scenario sc;

    cr_assert_eq(read_text(text, &cm), 0, "%s", err.text);
    scenario_init(&sc);
    sc.topo = make_star(2);
    cr_assert_eq(htsim_to_flows(&cm, sc.topo, &sc, NULL, &err), WH_ERR_INPUT);
    cr_expect_eq(err.line, 4);
    cr_expect(strstr(err.text, "a size, or an end time"), "%s", err.text);
    cr_expect_eq(sc.flow_count, 0);
    sc.cfg.end_ps = 101 * PS_PER_US;
    cr_assert_eq(htsim_to_flows(&cm, sc.topo, &sc, NULL, &err), 0, "%s", err.text);
    cr_assert_eq(sc.flow_count, 2);
    /* 100 us of 100 Gb/s are 1250000 B. */
    cr_expect_gt(sc.flows[1].bytes, 1250000);
    cr_expect_lt(sc.flows[1].bytes, 1250010);
    scenario_fini(&sc);
    htsim_cm_fini(&cm);
}

Test(htsim_cm, nodes_have_to_be_the_hosts_of_the_topology)
{
    struct htsim_cm cm;
    struct scenario sc;

    read_sample("incast4.cm", &cm);
    scenario_init(&sc);
    sc.topo = make_star(7);
    cr_assert_eq(htsim_to_flows(&cm, sc.topo, &sc, NULL, &err), WH_ERR_INPUT);
    cr_expect_eq(err.line, 1);
    cr_expect_str_eq(err.text, "found Nodes 8, expected 7: the hosts of the topology");
    cr_expect_eq(sc.flow_count, 0);
    scenario_fini(&sc);
    htsim_cm_fini(&cm);
}
