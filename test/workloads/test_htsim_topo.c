/*
 * test_htsim_topo.c - fat-tree topologies of csg-htsim: the graphs they mean, the sizes that have
 * to agree, links that fail.
 */
#include "hpcc_files.h"
#include "htsim.h"
#include "units.h"

#include <criterion/criterion.h>
#include <stdio.h>
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

TestSuite(htsim_topo, .init = set_up, .fini = tear_down);

static int read_text(const char *text, struct htsim_topo *t)
{
    char path[128];
    struct warn_sink sink = warnings_sink(&warnings);

    memset(t, 0, sizeof *t);
    return htsim_read_topo(
        text_folder_write(&folder, "in.topo", text, strlen(text), path, sizeof path), t, &sink,
        &err);
}

static void read_sample(const char *name, struct htsim_topo *t)
{
    char path[512];
    struct warn_sink sink = warnings_sink(&warnings);

    snprintf(path, sizeof path, "%s/htsim/%s", TEST_DATA_DIR, name);
    cr_assert_eq(htsim_read_topo(path, t, &sink, &err), 0, "%s", err.text);
    cr_expect_eq(warnings.count, 0, "%s", warnings.text);
}

/* How many links join two nodes. */
static uint32_t count_links(const struct topo *t, uint32_t a, uint32_t b)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < t->link_count; i++)
        count +=
            (t->link[i].a == a && t->link[i].b == b) || (t->link[i].a == b && t->link[i].b == a);
    return count;
}

static const struct link_class *class_of(const struct topo *t, uint32_t from, uint32_t to)
{
    const uint32_t port = topo_find_port(t, from, to);

    cr_assert_neq(port, PORT_NONE, "no link from %u to %u", from, to);
    return topo_port_class(t, port);
}

Test(htsim_topo, leaf_spine_sample_is_two_tors_and_four_spines)
{
    struct htsim_topo t;

    read_sample("leafspine8.topo", &t);
    cr_expect_eq(t.host_count, 8);
    cr_expect_eq(t.pod_count, 1);
    cr_expect_eq(t.tor_count, 2);
    cr_expect_eq(t.agg_count, 4);
    cr_expect_eq(t.core_count, 0);
    cr_expect_eq(t.topo->node_count, 14);
    cr_expect_eq(t.topo->host_count, 8);
    cr_expect_eq(t.topo->link_count, 16);
    cr_expect_eq(t.topo->class_count, 1);
    cr_expect_eq(t.topo->classes[0].rate_bps, 100 * GBPS);
    cr_expect_eq(t.topo->classes[0].delay_ps, PS_PER_US);
    cr_expect_eq(t.topo->classes[0].error_rate, 0.0);
    for (uint32_t n = 0; n < 14; n++)
        cr_expect_eq(t.topo->kind[n], n < 8 ? NODE_HOST : NODE_SWITCH, "node %u", n);
    for (uint32_t h = 0; h < 8; h++)
        cr_expect_eq(count_links(t.topo, h, 8 + h / 4), 1, "host %u", h);
    for (uint32_t spine = 10; spine < 14; spine++) {
        cr_expect_eq(count_links(t.topo, 8, spine), 1, "spine %u", spine);
        cr_expect_eq(count_links(t.topo, 9, spine), 1, "spine %u", spine);
    }
    htsim_topo_fini(&t);
}

Test(htsim_topo, fat_tree_sample_has_k_4)
{
    struct htsim_topo t;

    read_sample("fattree16.topo", &t);
    cr_expect_eq(t.pod_count, 4);
    cr_expect_eq(t.tor_count, 8);
    cr_expect_eq(t.agg_count, 8);
    cr_expect_eq(t.core_count, 4);
    cr_expect_eq(t.topo->node_count, 36);
    cr_expect_eq(t.topo->link_count, 48);
    for (uint32_t h = 0; h < 16; h++)
        cr_expect_eq(count_links(t.topo, h, 16 + h / 2), 1, "host %u", h);
    for (uint32_t tor = 0; tor < 8; tor++)
        for (uint32_t agg = 0; agg < 8; agg++)
            cr_expect_eq(count_links(t.topo, 16 + tor, 24 + agg), tor / 2 == agg / 2);
    /* The first aggregation switch of each pod meets cores 0 and 2, the second 1 and 3. */
    for (uint32_t agg = 0; agg < 8; agg++)
        for (uint32_t core = 0; core < 4; core++)
            cr_expect_eq(count_links(t.topo, 24 + agg, 32 + core), agg % 2 == core % 2);
    htsim_topo_fini(&t);
}

/* 2 pods of 2 ToRs with 4 hosts; each ToR has 2 links to each of 2 aggregation switches, each of
 * them 4 to each of 2 cores in reach. Speeds and latencies of all tiers differ. */
static const char bundled[] =
    "# head\nNODES 16 # hosts\ntiers 3\nPodsize 8\n"
    "Tier 0\ndownlink_speed_gbps 100\nRadix_Down 4\nRadix_Up 4\n"
    "Downlink_Latency_ns 100\nSwitch_Latency_ns 7\nQueue_Up 1000\nQueue_Down 2000\n"
    "Tier 1\nDownlink_speed_Gbps 200\nRadix_Down 4\nRadix_Up 8\nBundle 2\n"
    "Oversubscribed 1\nDownlink_Latency_ns 200\nSwitch_Latency_ns 30\n"
    "Tier 2\r\nDownlink_speed_Gbps\t100\nRadix_Down 8\nBundle 4\n"
    "Downlink_Latency_ns 300\nSwitch_Latency_ns 500\nQueue_Down 3000";

Test(htsim_topo, bundles_are_parallel_links)
{
    struct htsim_topo t;

    cr_assert_eq(read_text(bundled, &t), 0, "line %ld: %s", err.line, err.text);
    cr_expect_eq(warnings.count, 0, "%s", warnings.text);
    cr_expect_eq(t.tor_count, 4);
    cr_expect_eq(t.agg_count, 4);
    cr_expect_eq(t.core_count, 4);
    cr_expect_eq(t.topo->link_count, 16 + 16 + 32);
    for (uint32_t tor = 0; tor < 4; tor++)
        for (uint32_t agg = 0; agg < 4; agg++)
            cr_expect_eq(count_links(t.topo, 16 + tor, 20 + agg), tor / 2 == agg / 2 ? 2 : 0);
    for (uint32_t agg = 0; agg < 4; agg++)
        for (uint32_t core = 0; core < 4; core++)
            cr_expect_eq(count_links(t.topo, 20 + agg, 24 + core), agg % 2 == core % 2 ? 4 : 0);
    htsim_topo_fini(&t);
}

Test(htsim_topo, tiers_have_their_own_speeds_latencies_and_queues)
{
    struct htsim_topo t;

    cr_assert_eq(read_text(bundled, &t), 0, "line %ld: %s", err.line, err.text);
    const struct link_class *host = class_of(t.topo, 0, 16), *tor = class_of(t.topo, 16, 20),
                            *agg = class_of(t.topo, 20, 24);

    cr_expect_eq(host->rate_bps, 100 * GBPS);
    cr_expect_eq(tor->rate_bps, 200 * GBPS);
    cr_expect_eq(agg->rate_bps, 100 * GBPS);
    cr_expect_eq(host->delay_ps, 103500);
    cr_expect_eq(tor->delay_ps, 218500);
    cr_expect_eq(agg->delay_ps, 565000);
    /* Host to host over a core: links 2 (100 + 200 + 300), switches 2 (7 + 30) + 500 ns. */
    cr_expect_eq(2 * (host->delay_ps + tor->delay_ps + agg->delay_ps),
                 (1200 + 74 + 500) * PS_PER_NS);
    cr_expect_eq(t.tier[0].queue_up_bytes, 1000);
    cr_expect_eq(t.tier[0].queue_down_bytes, 2000);
    cr_expect_eq(t.tier[1].queue_up_bytes, 0);
    cr_expect_eq(t.tier[2].queue_down_bytes, 3000);
    cr_expect_eq(t.tier[2].switch_latency_ps, 500 * PS_PER_NS);
    htsim_topo_fini(&t);
}

#define TIER0 "Tier 0\nDownlink_speed_Gbps 100\nRadix_Down 4\nDownlink_Latency_ns 1000\n"
#define TIER1 "Tier 1\nDownlink_speed_Gbps 100\nDownlink_Latency_ns 1000\n"
#define TIER2 "Tier 2\nDownlink_speed_Gbps 100\nDownlink_Latency_ns 1000\n"
#define TWO "Nodes 8\nTiers 2\nPodsize 8\n"
#define THREE "Nodes 16\nTiers 3\nPodsize 8\n"

Test(htsim_topo, oversubscription_by_links_or_by_bandwidth)
{
    static const char *const texts[] = {
        TWO TIER0 "Radix_Up 2\nOversubscribed 2\n" TIER1 "Radix_Down 2\n",
        TWO TIER0 "Radix_Up 1\n"
                  "Tier 1\nDownlink_speed_Gbps 400\nDownlink_Latency_ns 1000\nRadix_Down 2\n",
        TWO TIER0 "Radix_Up 1\nOversubscribed 4\n"
                  "Tier 1\nDownlink_speed_Gbps 400\nDownlink_Latency_ns 1000\nRadix_Down 2\n",
        TWO TIER0 "Radix_Up 1\nOversubscribed 2\n"
                  "Tier 1\nDownlink_speed_Gbps 200\nDownlink_Latency_ns 1000\nRadix_Down 2\n",
    };
    static const uint32_t spines[] = {2, 1, 1, 1};

    for (size_t i = 0; i < COUNT(texts); i++) {
        struct htsim_topo t;

        cr_assert_eq(read_text(texts[i], &t), 0, "%zu: line %ld: %s", i, err.line, err.text);
        cr_expect_eq(t.tor_count, 2);
        cr_expect_eq(t.agg_count, spines[i], "%zu", i);
        cr_expect_eq(warnings.count, 0, "%s", warnings.text);
        htsim_topo_fini(&t);
    }
}

Test(htsim_topo, oddities_are_read_with_a_warning)
{
    static const struct {
        const char *text, *part;
    } steps[] = {
        {TWO TIER0 "Radix_Up 4\nRadix_Upp 3\nradix_upp 4\n" TIER1 "Radix_Down 2\n",
         "in.topo:9: unknown key \"Radix_Upp\" is ignored; the nearest known one is Radix_Up"},
        {"Pods 3\n" TWO TIER0 "Radix_Up 4\n" TIER1 "Radix_Down 2\n",
         "in.topo:1: unknown key \"Pods\" is ignored"},
        {TWO TIER0 "Radix_Up 4\n" TIER1 "Radix_Down 2\nRadix_Up 4\n",
         "in.topo:13: Radix_Up in the top tier is accepted, without effect"},
        {TWO TIER0 "Radix_Up 4\n" TIER1 "Radix_Down 2\n" TIER2,
         "in.topo:13: Tier 2 is accepted, without effect"},
    };

    for (size_t i = 0; i < COUNT(steps); i++) {
        struct htsim_topo t;

        cr_assert_eq(read_text(steps[i].text, &t), 0, "%zu: %s", i, err.text);
        cr_expect_eq(warnings.count, 1, "%zu: %s", i, warnings.text);
        cr_expect(warnings_have(&warnings, steps[i].part), "%zu: %s", i, warnings.text);
        htsim_topo_fini(&t);
    }
}

Test(htsim_topo, sample_with_a_key_twice_is_refused_in_its_line)
{
    struct htsim_topo t = {0};

    cr_assert_eq(
        htsim_read_topo(TEST_DATA_DIR "/htsim/bad/duplicate_tier_key.topo", &t, NULL, &err),
        WH_ERR_INPUT);
    cr_expect_eq(err.line, 8);
    cr_expect_str_eq(err.text,
                     "found Radix_Up a second time, expected it once in a tier; the first is "
                     "in line 7");
    cr_expect_null(t.topo);
}

Test(htsim_topo, malformed_files_are_refused_with_line_and_reason)
{
#define UP4 "Radix_Up 4\n"
    static const struct {
        const char *text;
        long line;
        const char *part;
    } steps[] = {
        {"", 0, "no Nodes in the header"},
        {"Tiers 2\nPodsize 8\n" TIER0 UP4 TIER1 "Radix_Down 2\n", 0, "no Nodes in the header"},
        {"Nodes 8\nPodsize 8\n" TIER0 UP4 TIER1 "Radix_Down 2\n", 0, "no Tiers in the header"},
        {"Nodes 8\nTiers 2\n" TIER0 UP4 TIER1 "Radix_Down 2\n", 0, "no Podsize in the header"},
        {TWO "Nodes 8\n" TIER0, 4, "Nodes a second time, expected it once; the first is in line 1"},
        {TWO TIER0 "Nodes 8\n", 8, "key \"Nodes\", expected it before the first Tier"},
        {TWO "Radix_Up 4\n" TIER0, 4, "key \"Radix_Up\", expected it behind a line Tier"},
        {"Nodes 0\n", 1, "Nodes \"0\", expected a whole number, 1 to"},
        {"Nodes\n", 1, "no value behind \"Nodes\""},
        {"Nodes -8\n", 1, "Nodes \"-8\""},
        {"Nodes 8x\n", 1, "Nodes \"8x\""},
        {"Nodes 8 9\n", 1, "text behind the value \"9\""},
        {"Nodes 99999999999\n", 1, "Nodes \"99999999999\""},
        {"Nodes 8\nTiers 1\n", 2, "Tiers \"1\", expected a whole number, 2 to 3"},
        {"Nodes 8\nTiers 4\n", 2, "Tiers \"4\""},
        {TWO "Tier 3\n", 4, "Tier \"3\", expected a whole number, 0 to 2"},
        {TWO "Tier x\n", 4, "Tier \"x\""},
        {TWO TIER0 UP4, 0, "no Tier 1, expected one for each of the 2 tiers"},
        {THREE TIER0 UP4 TIER1 "Radix_Down 2\nRadix_Up 2\n", 0, "no Tier 2"},
        {TWO "Tier 0\nRadix_Down 4\nRadix_Up 4\nDownlink_Latency_ns 1\n" TIER1 "Radix_Down 2\n", 4,
         "no Downlink_speed_Gbps in tier 0"},
        {TWO TIER0 TIER1 "Radix_Down 2\n", 4, "no Radix_Up in tier 0"},
        {TWO TIER0 UP4 TIER1, 9, "no Radix_Down in tier 1"},
        {TWO "Tier 0\nDownlink_speed_Gbps 100\nRadix_Down 4\nRadix_Up 4\n" TIER1 "Radix_Down 2\n",
         4, "no Downlink_Latency_ns in tier 0"},
        {TWO "Tier 0\nDownlink_Latency_ns 0\n", 5,
         "Downlink_Latency_ns \"0\", expected a whole number, 1"},
        {TWO "Tier 0\nDownlink_Latency_ns 0.5\n", 5, "Downlink_Latency_ns \"0.5\""},
        {TWO "Tier 0\nDownlink_speed_Gbps 0\n", 5, "Downlink_speed_Gbps \"0\""},
        {TWO "Tier 0\nDownlink_speed_Gbps 12.5\n", 5, "Downlink_speed_Gbps \"12.5\""},
        {TWO "Tier 0\nRadix_Down 0\n", 5, "Radix_Down \"0\""},
        {TWO "Tier 0\nBundle 0\n", 5, "Bundle \"0\""},
        {TWO "Tier 0\nOversubscribed 0\n", 5, "Oversubscribed \"0\""},
        {TWO "Tier 0\nQueue_Up x\n", 5, "Queue_Up \"x\""},
        {TWO "Tier 0\nSwitch_Latency_ns -1\n", 5, "Switch_Latency_ns \"-1\""},
        {TWO TIER0 UP4 "Bundle 2\n" TIER1 "Radix_Down 2\n", 9, "Bundle 2 in tier 0, expected 1"},
        {"Nodes 8\nTiers 2\nPodsize 4\n" TIER0 UP4 TIER1 "Radix_Down 2\n", 3,
         "Podsize 4, expected 8: with two tiers"},
        {"Nodes 12\nTiers 3\nPodsize 8\n" TIER0 UP4 TIER1 "Radix_Down 2\nRadix_Up 2\n" TIER2
         "Radix_Down 2\n",
         3, "Podsize 8, expected a divisor of Nodes 12"},
        {"Nodes 6\nTiers 2\nPodsize 6\n" TIER0 UP4 TIER1 "Radix_Down 2\n", 6,
         "Radix_Down 4 in tier 0, expected a divisor of Podsize 6"},
        {TWO TIER0 "Radix_Up 2\n" TIER1 "Radix_Down 2\n", 8,
         "expected Radix_Down / Radix_Up = Oversubscribed"},
        {TWO TIER0 "Radix_Up 4\nOversubscribed 2\n" TIER1 "Radix_Down 2\n", 9,
         "Radix_Down 4, Radix_Up 4 and Oversubscribed 2 in tier 0"},
        {TWO TIER0 "Radix_Up 3\nOversubscribed 1\n" TIER1 "Radix_Down 2\n", 9,
         "Radix_Down 4, Radix_Up 3 and Oversubscribed 1"},
        {TWO TIER0 UP4 TIER1 "Radix_Down 3\n", 12,
         "Radix_Down 3 in tier 1, expected a divisor of the 8 uplinks of a pod"},
        {TWO TIER0 UP4 TIER1 "Radix_Down 4\n", 8,
         "Radix_Up 4 in tier 0, expected 2: Bundle 1 to each of 2 switches above"},
        {TWO TIER0 UP4 TIER1 "Radix_Down 8\nBundle 2\n", 13,
         "Radix_Up 4 in tier 0, expected 2: Bundle 2 to each of 1 switches"},
        {TWO TIER0 UP4 TIER1 "Radix_Down 3\nBundle 2\n", 13,
         "Radix_Down 3 in tier 1, expected a multiple of its Bundle 2"},
        {TWO TIER0 UP4 TIER1 "Radix_Down 6\nBundle 3\n", 8,
         "Radix_Up 4 in tier 0, expected a multiple of Bundle 3 of tier 1"},
        {THREE TIER0 UP4 TIER1 "Radix_Down 2\nRadix_Up 2\n" TIER2 "Radix_Down 2\nRadix_Up 2\n", 18,
         "Radix_Up in tier 2, expected none"},
        {THREE TIER0 UP4 TIER1 "Radix_Down 2\nRadix_Up 1\n" TIER2 "Radix_Down 2\n", 13,
         "Radix_Down 2, Radix_Up 1 and Oversubscribed 1 in tier 1"},
        {THREE TIER0 UP4 TIER1 "Radix_Down 2\nRadix_Up 2\n" TIER2 "Radix_Down 3\n", 17,
         "Radix_Down 3 in tier 2, expected a divisor of the 16 uplinks below it"},
        {THREE TIER0 UP4 TIER1 "Radix_Down 2\nRadix_Up 2\n" TIER2 "Radix_Down 8\n", 17,
         "2 core switches by Radix_Down 8 of tier 2, expected a multiple of the 4 aggregation"},
        {THREE TIER0 UP4 TIER1 "Radix_Down 2\nRadix_Up 2\n" TIER2 "Radix_Down 4\n", 13,
         "Radix_Up 2 in tier 1, expected 1: Bundle 1 to each of 1 switches above"},
    };

    for (size_t i = 0; i < COUNT(steps); i++) {
        struct htsim_topo t;

        cr_assert_eq(read_text(steps[i].text, &t), WH_ERR_INPUT, "%zu: accepted %s", i,
                     steps[i].text);
        cr_expect_eq(err.line, steps[i].line, "%zu: line %ld: %s", i, err.line, err.text);
        cr_expect(strstr(err.text, steps[i].part), "%zu: %s", i, err.text);
        cr_expect(strstr(err.text, "expected"), "%zu: %s", i, err.text);
        cr_expect(strstr(err.file, "in.topo"), "%zu: %s", i, err.file);
        cr_expect_null(t.topo);
    }
}

Test(htsim_topo, a_topology_too_large_for_memory_is_refused_by_its_sizes)
{
    struct htsim_topo t;

    cr_expect_eq(read_text("Nodes 1048576\nTiers 2\nPodsize 1048576\n"
                           "Tier 0\nDownlink_speed_Gbps 65536\nRadix_Down 1\nRadix_Up 65536\n"
                           "Downlink_Latency_ns 1\n"
                           "Tier 1\nDownlink_speed_Gbps 1\nRadix_Down 16\nDownlink_Latency_ns 1\n",
                           &t),
                 WH_ERR_LIMIT);
    cr_expect_eq(err.line, 7);
    cr_expect(strstr(err.text, "links between tiers 0 and 1"), "%s", err.text);
}

/* A matrix of failures only. */
static int fail_links(struct htsim_topo *t, const struct htsim_failure *failures, uint32_t count)
{
    struct htsim_failure rows[8];

    memcpy(rows, failures, count * sizeof *rows);
    struct htsim_cm cm = {.path = "a.cm", .failures = rows, .failure_count = count};

    return htsim_fail_links(t, &cm, &err);
}

Test(htsim_topo, failed_links_are_taken_out)
{
    static const struct htsim_failure failures[] = {
        {HTSIM_AGG, 1, 0, 3}, {HTSIM_AGG, 1, 5, 4}, {HTSIM_AGG, 2, 7, 5}};
    struct htsim_topo t;

    cr_assert_eq(read_text(bundled, &t), 0, "%s", err.text);
    cr_assert_eq(fail_links(&t, failures, COUNT(failures)), 0, "%s", err.text);
    cr_expect_eq(t.topo->link_count, 16 + 16 + 32 - 3);
    cr_expect_eq(count_links(t.topo, 21, 25), 3); /* uplinks 0 to 3 of switch 1 lead to core 1 */
    cr_expect_eq(count_links(t.topo, 21, 27), 3); /* uplinks 4 to 7 to core 3 */
    cr_expect_eq(count_links(t.topo, 22, 24), 4);
    cr_expect_eq(count_links(t.topo, 22, 26), 3);
    htsim_topo_fini(&t);
}

Test(htsim_topo, failures_that_mean_no_link_are_refused)
{
    static const struct {
        struct htsim_failure failures[2];
        uint32_t count;
        long line;
        const char *part;
    } steps[] = {
        {{{HTSIM_TOR, 0, 0, 3}}, 1, 3, "expected switch_type AGG"},
        {{{HTSIM_CORE, 0, 0, 3}}, 1, 3, "expected switch_type AGG"},
        {{{HTSIM_AGG, 4, 0, 3}}, 1, 3, "switch_id 4, expected below 4"},
        {{{HTSIM_AGG, 0, 8, 3}}, 1, 3, "link_id 8, expected below 8"},
        {{{HTSIM_AGG, 0, 1, 3}, {HTSIM_AGG, 0, 1, 4}}, 2, 4, "a second failure of link 1"},
    };

    for (size_t i = 0; i < COUNT(steps); i++) {
        struct htsim_topo t;

        cr_assert_eq(read_text(bundled, &t), 0, "%s", err.text);
        cr_expect_eq(fail_links(&t, steps[i].failures, steps[i].count), WH_ERR_INPUT, "%zu", i);
        cr_expect_eq(err.line, steps[i].line);
        cr_expect(strstr(err.text, steps[i].part), "%zu: %s", i, err.text);
        cr_expect_str_eq(err.file, "a.cm");
        cr_expect_eq(t.topo->link_count, 64);
        htsim_topo_fini(&t);
    }
}

Test(htsim_topo, two_tiers_have_no_links_that_fail)
{
    static const struct htsim_failure failure = {HTSIM_AGG, 0, 0, 9};
    struct htsim_topo t;

    read_sample("leafspine8.topo", &t);
    cr_expect_eq(fail_links(&t, &failure, 0), 0);
    cr_expect_eq(fail_links(&t, &failure, 1), WH_ERR_INPUT);
    cr_expect_eq(err.line, 9);
    cr_expect(strstr(err.text, "two tiers"), "%s", err.text);
    cr_expect_eq(t.topo->link_count, 16);
    htsim_topo_fini(&t);
}

Test(htsim_topo, matrix_and_topology_fit_together)
{
    struct htsim_topo t;
    struct htsim_cm cm;
    struct scenario sc;

    read_sample("fattree16.topo", &t);
    cr_assert_eq(htsim_read_cm(TEST_DATA_DIR "/htsim/one16.cm", &cm, NULL, &err), 0, "%s",
                 err.text);
    scenario_init(&sc);
    cr_assert_eq(htsim_to_flows(&cm, t.topo, &sc, NULL, &err), 0, "%s", err.text);
    cr_assert_eq(sc.flow_count, 1);
    cr_expect_eq(sc.flows[0].src, 0);
    cr_expect_eq(sc.flows[0].dst, 15);
    cr_expect_eq(sc.flows[0].bytes, 1000000);
    scenario_fini(&sc);
    htsim_cm_fini(&cm);
    htsim_topo_fini(&t);
}
