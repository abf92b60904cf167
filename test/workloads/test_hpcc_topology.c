/*
 * test_hpcc_topology.c - topology files: what they mean, what is refused, what is written.
 */
#include "hpcc.h"
#include "hpcc_files.h"
#include "units.h"

#include <criterion/criterion.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define GBPS INT64_C(1000000000)

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

TestSuite(hpcc_topology, .init = set_up, .fini = tear_down);

/* NULL if it is refused. */
static struct topo *read_bytes(const char *text, size_t bytes)
{
    char path[128];
    struct topo *t = NULL;
    struct warn_sink sink = warnings_sink(&warnings);
    int rc = hpcc_read_topology(
        text_folder_write(&folder, "topology.txt", text, bytes, path, sizeof path), &t, &sink,
        &err);

    cr_expect_eq(rc, t ? 0 : WH_ERR_INPUT, "code %d", rc);
    return t;
}

static struct topo *read_text(const char *text)
{
    return read_bytes(text, strlen(text));
}

Test(hpcc_topology, sample_is_four_hosts_under_two_tiers)
{
    struct topo *t = NULL;
    struct warn_sink sink = warnings_sink(&warnings);

    cr_assert_eq(hpcc_read_topology(TEST_DATA_DIR "/hpcc/topology.txt", &t, &sink, &err), 0);
    cr_expect_eq(warnings.count, 0, "%s", warnings.text);
    cr_expect_eq(t->node_count, 8);
    cr_expect_eq(t->link_count, 8);
    cr_expect_eq(t->class_count, 1);
    cr_expect_eq(t->classes[0].rate_bps, 100 * GBPS);
    cr_expect_eq(t->classes[0].delay_ps, PS_PER_US);
    cr_expect_eq(t->classes[0].error_rate, 0.0);
    for (uint32_t n = 0; n < 8; n++)
        cr_expect_eq(t->kind[n], n < 4 ? NODE_HOST : NODE_SWITCH, "node %u", n);
    /* The third port of switch 4 is its link to switch 6, the fifth line of links. */
    cr_expect_eq(t->port_link[t->first_port[4] + 2], 4);
    topo_destroy(t);
}

Test(hpcc_topology, units_of_rate_and_delay)
{
    static const struct {
        const char *rate, *delay;
        int64_t bps, ps;
    } steps[] = {
        {"100Gbps", "1us", 100 * GBPS, 1000000},       {"100Gb/s", "0.000025ms", 100 * GBPS, 25000},
        {"25000Mbps", "0.5ns", 25 * GBPS, 500},        {"1KBps", "0", 8000, 0},
        {"1Kibps", "0.000001", 1024, 1000000},         {"1GB/s", "3ps", 8 * GBPS, 3},
        {"2880Gbps", "2s", 2880 * GBPS, 2 * PS_PER_S},
    };

    for (size_t i = 0; i < COUNT(steps); i++) {
        char text[128];

        snprintf(text, sizeof text, "2 0 1\n0 1 %s %s 0.25\n", steps[i].rate, steps[i].delay);
        struct topo *t = read_text(text);

        cr_assert_not_null(t, "%s: %s", text, err.text);
        cr_expect_eq(t->classes[0].rate_bps, steps[i].bps, "%s", steps[i].rate);
        cr_expect_eq(t->classes[0].delay_ps, steps[i].ps, "%s", steps[i].delay);
        cr_expect_eq(t->classes[0].error_rate, 0.25);
        topo_destroy(t);
    }
}

Test(hpcc_topology, layout_of_lines_is_free_where_the_reference_allows_it)
{
    static const char *const texts[] = {
        "4 2 3\r\n2 3\r\n0 2 1Gbps 1us 0\r\n1 3 1Gbps 1us 0\r\n2 3 1Gbps 1us 0\r\n",
        "4 2 3\n2 3\n0 2 1Gbps 1us 0\n1 3 1Gbps 1us 0\n2 3 1Gbps 1us 0",
        "\n4\t2  3 \n\n2\n3\n\n 0\t2\t1Gbps\t1us\t0\n1 3 1Gbps 1us 0\n\n2 3 1Gbps 1us 0\n\n\n",
    };

    for (size_t i = 0; i < COUNT(texts); i++) {
        struct topo *t = read_text(texts[i]);

        cr_assert_not_null(t, "%zu: %s", i, err.text);
        cr_expect_eq(t->link_count, 3);
        cr_expect_eq(t->kind[3], NODE_SWITCH);
        cr_expect_eq(warnings.count, 0, "%zu: %s", i, warnings.text);
        topo_destroy(t);
    }
}

Test(hpcc_topology, links_of_one_kind_share_a_class)
{
    struct topo *t = read_text("3 1 2\n2\n0 2 100Gbps 1us 0\n1 2 100000Mbps 1000ns 0.0\n");

    cr_assert_not_null(t, "%s", err.text);
    cr_expect_eq(t->class_count, 1);
    topo_destroy(t);
}

Test(hpcc_topology, oddities_are_read_with_one_warning)
{
    static const struct {
        const char *text, *part;
    } steps[] = {
        {"2 0 2\n0 1 1Gbps 1us 0\n1 0 1Gbps 1us 0\n", "parallel links"},
        {"2 0 1\n0 1 1Gbps 0.5ns 0\n", "topology.txt:2: delays with a fraction of a ns are kept"},
        {"2 0 1\n0 1 1Gbps 1us 0\nFirst line: nodes\nmore\n", "topology.txt:3: text behind the 1"},
    };

    for (size_t i = 0; i < COUNT(steps); i++) {
        struct topo *t = read_text(steps[i].text);

        cr_assert_not_null(t, "%zu: %s", i, err.text);
        cr_expect_eq(warnings.count, 1, "%zu: %s", i, warnings.text);
        cr_expect(warnings_have(&warnings, steps[i].part), "%zu: %s", i, warnings.text);
        topo_destroy(t);
    }
}

Test(hpcc_topology, sample_with_a_bad_unit_is_refused_in_its_line)
{
    struct topo *t = NULL;

    cr_assert_eq(hpcc_read_topology(TEST_DATA_DIR "/hpcc/bad/topo_bad_unit.txt", &t, NULL, &err),
                 WH_ERR_INPUT);
    cr_expect_eq(err.line, 3);
    cr_expect(strstr(err.file, "topo_bad_unit.txt"));
    cr_expect(strstr(err.text, "\"100Gbp\""), "%s", err.text);
}

Test(hpcc_topology, malformed_files_are_refused_with_line_and_reason)
{
    static const struct {
        const char *text;
        long line;
        const char *part;
    } steps[] = {
        {"", 0, "empty file"},
        {"\n \n", 0, "empty file"},
        {"2 0\n", 1, "2 columns"},
        {"2 0 1 7\n", 1, "4 columns"},
        {"9 2 2 3 10 H100\n", 1, "SimAI"},
        {"two 0 1\n0 1 1Gbps 1us 0\n", 1, "\"two\""},
        {"2 -1 1\n0 1 1Gbps 1us 0\n", 1, "\"-1\""},
        {"2.0 0 1\n0 1 1Gbps 1us 0\n", 1, "\"2.0\""},
        {"99999999999999999999 0 1\n0 1 1Gbps 1us 0\n", 1, "number of nodes"},
        {"0 0 0\n", 1, "0 nodes"},
        {"2 3 1\n0 1 1Gbps 1us 0\n", 1, "3 switches among 2 nodes"},
        {"4000000000 0 1\n0 1 1Gbps 1us 0\n", 1, "number of nodes"},
        {"2000000000 0 1\n0 1 1Gbps 1us 0\n", 1, "2000000000 hosts and 1 links"},
        {"2000000000 1999999998 1\n0 1 1Gbps 1us 0\n", 1, "1999999998 switch ids"},
        {"2 0 3\n0 1 1Gbps 1us 0\n", 1, "found 1 lines behind this one, expected 3 links"},
        {"3 1 3\n2\n0 2 1Gbps 1us 0\n1 2 1Gbps 1us 0\n", 4, "found 2 links, expected 3"},
        {"4 2 3\n2\n0 2 1Gbps 1us 0\n1 3 1Gbps 1us 0\n2 3 1Gbps 1us 0\n", 3,
         "found 1 switch ids, expected 2"},
        {"4 2 3\n2 3 1\n0 2 1Gbps 1us 0\n1 3 1Gbps 1us 0\n2 3 1Gbps 1us 0\n", 2,
         "found 3 switch ids, expected 2"},
        {"4 2 3\n2 2\n0 2 1Gbps 1us 0\n1 3 1Gbps 1us 0\n2 3 1Gbps 1us 0\n", 2, "each switch once"},
        {"4 2 3\n2 4\n0 2 1Gbps 1us 0\n1 3 1Gbps 1us 0\n2 3 1Gbps 1us 0\n", 2,
         "switch \"4\", expected a node id, 0 to 3"},
        {"4 2 3\n2 x\n0 2 1Gbps 1us 0\n1 3 1Gbps 1us 0\n2 3 1Gbps 1us 0\n", 2, "switch \"x\""},
        {"2 0 1\n0 1 1Gbps 1us\n", 2, "4 columns"},
        {"2 0 1\n0 1 1Gbps 1us 0 0\n", 2, "6 columns"},
        {"2 0 1\n0 2 1Gbps 1us 0\n", 2, "node \"2\", expected a node id, 0 to 1"},
        {"2 0 1\nA 1 1Gbps 1us 0\n", 2, "node \"A\""},
        {"2 0 2\n0 1 1Gbps 1us 0\n1 1 1Gbps 1us 0\n", 3, "itself"},
        {"2 0 1\n0 1 100 1us 0\n", 2, "rate \"100\""},
        {"2 0 1\n0 1 0Gbps 1us 0\n", 2, "rate \"0Gbps\""},
        {"2 0 1\n0 1 -1Gbps 1us 0\n", 2, "rate \"-1Gbps\""},
        {"2 0 1\n0 1 1Gbps 1usec 0\n", 2, "delay \"1usec\""},
        {"2 0 1\n0 1 1Gbps -1us 0\n", 2, "delay \"-1us\""},
        {"2 0 1\n0 1 1Gbps 1e30s 0\n", 2, "delay \"1e30s\""},
        {"2 0 1\n0 1 1Gbps 1us 1.5\n", 2, "error rate \"1.5\""},
        {"2 0 1\n0 1 1Gbps 1us -0.1\n", 2, "error rate \"-0.1\""},
        {"2 0 1\n0 1 1Gbps 1us nan\n", 2, "error rate \"nan\""},
        {"2 0 1\n0 1 1Gbps 1us 0x1\n", 2, "error rate \"0x1\""},
        {"4 1 3\n3\n0 3 1Gbps 1us 0\n1 3 1Gbps 1us 0\n0 1 1Gbps 1us 0\n", 1,
         "host 2 without a link"},
        {"2 0 1\n0 1 aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa 1us 0\n", 2,
         "...\""},
        {"2 0 1\n0 1 \001\377Gbps 1us 0\n", 2, "rate \"\?\?Gbps\""},
    };

    for (size_t i = 0; i < COUNT(steps); i++) {
        struct topo *t = read_text(steps[i].text);

        cr_assert_null(t, "%zu: accepted %s", i, steps[i].text);
        cr_expect_eq(err.line, steps[i].line, "%zu: line %ld: %s", i, err.line, err.text);
        cr_expect(strstr(err.text, steps[i].part), "%zu: %s", i, err.text);
        cr_expect(strstr(err.text, "expected"), "%zu: %s", i, err.text);
        cr_expect(strstr(err.file, "topology.txt"), "%zu: %s", i, err.file);
    }
}

Test(hpcc_topology, a_zero_byte_is_no_text)
{
    static const char text[] = "2 0 1\n0 1 1Gb\0ps 1us 0\n";

    cr_expect_null(read_bytes(text, sizeof text - 1));
    cr_expect_eq(err.line, 2);
}

Test(hpcc_topology, missing_files_and_folders_are_refused)
{
    struct topo *t = NULL;

    cr_expect_eq(hpcc_read_topology("/nowhere/topology.txt", &t, NULL, &err), WH_ERR_INPUT);
    cr_expect(strstr(err.text, "No such file"), "%s", err.text);
    cr_expect_eq(hpcc_read_topology(folder.path, &t, NULL, &err), WH_ERR_IO);
    cr_expect_null(t);
}

Test(hpcc_topology, what_is_written_reads_back_equal)
{
    static const char text[] = "5 2 4\n3 4\n0 3 100Gbps 1us 0\n1 3 12.5Gbps 2500ps 0.001\n"
                               "2 4 1bps 0 0.1\n3 4 400Gbps 1.5us 1e-09\n";
    struct topo *t = read_text(text), *back;
    char path[128];

    cr_assert_not_null(t, "%s", err.text);
    FILE *f = fopen(text_folder_write(&folder, "out.txt", "", 0, path, sizeof path), "w");

    cr_assert_eq(hpcc_write_topology(f, t), 0);
    fclose(f);
    cr_assert_eq(hpcc_read_topology(path, &back, NULL, &err), 0, "%s", err.text);
    cr_assert_eq(back->link_count, t->link_count);
    cr_expect_arr_eq(back->kind, t->kind, t->node_count);
    for (uint32_t i = 0; i < t->link_count; i++) {
        const struct link_class *x = &t->classes[t->link[i].class_id];
        const struct link_class *y = &back->classes[back->link[i].class_id];

        cr_expect_eq(x->rate_bps, y->rate_bps);
        cr_expect_eq(x->delay_ps, y->delay_ps);
        cr_expect_eq(x->error_rate, y->error_rate);
        cr_expect_eq(t->link[i].a, back->link[i].a);
        cr_expect_eq(t->link[i].b, back->link[i].b);
    }
    topo_destroy(t);
    topo_destroy(back);
}

Test(hpcc_topology, a_full_device_is_reported)
{
    struct topo *t = read_text("2 0 1\n0 1 1Gbps 1us 0\n");
    FILE *f = fopen("/dev/full", "w");

    cr_assert_not_null(t);
    cr_assert_not_null(f);
    setvbuf(f, NULL, _IONBF, 0);
    cr_expect_eq(hpcc_write_topology(f, t), WH_ERR_IO);
    fclose(f);
    topo_destroy(t);
}
