/*
 * test_scenario_yaml.c - scenario files: what each section sets, overrides, messages with lines,
 * files that are looked up, printing that can be loaded again.
 */
#include "scenario_yaml.h"

#include "flowgen.h"
#include "topogen.h"
#include "units.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char dir[64];
static struct scenario sc;
static struct err_info err;

static void set_up(void)
{
    strcpy(dir, "/tmp/wh_test_yaml_XXXXXX");
    cr_assert_not_null(mkdtemp(dir));
    scenario_init(&sc);
    memset(&err, 0, sizeof err);
}

static const char *path_of(const char *name)
{
    static char path[128];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static void tear_down(void)
{
    static const char *const names[] = {"s.yaml", "topo.txt", "flow.txt", "sizes.txt"};

    scenario_fini(&sc);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        unlink(path_of(names[i]));
    cr_expect_eq(rmdir(dir), 0, "nothing else is left behind");
}

TestSuite(scenario_yaml, .init = set_up, .fini = tear_down);

static void write_file(const char *name, const char *text)
{
    FILE *f = fopen(path_of(name), "w");

    cr_assert_not_null(f);
    fputs(text, f);
    fclose(f);
}

/* Loads @text into sc, which is emptied first. */
static int load_with(const char *text, const struct yaml_override *overrides, uint32_t count)
{
    write_file("s.yaml", text);
    scenario_fini(&sc);
    scenario_init(&sc);
    memset(&err, 0, sizeof err);
    return scenario_load_yaml(path_of("s.yaml"), overrides, count, &sc, NULL, &err);
}

static void load(const char *text)
{
    const int rc = load_with(text, NULL, 0);

    cr_assert_eq(rc, 0, "line %ld: %s", err.line, err.text);
}

static char *print(const struct scenario *s)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *f = open_memstream(&text, &bytes);

    cr_assert_eq(scenario_print(s, f), 0);
    fclose(f);
    return text;
}

#define STAR "topology: {kind: single-switch, hosts: 4}\n"

Test(scenario_yaml, smallest_file_gets_all_defaults)
{
    struct sim_config defaults;
    config_init(&defaults);
    load(STAR);

    cr_expect_str_eq(sc.name, "s");
    cr_expect_eq(sc.topo->host_count, 4u);
    cr_expect_eq(sc.flow_count, 0u);
    cr_expect_eq(memcmp(&sc.cfg, &defaults, sizeof defaults), 0);
}

Test(scenario_yaml, every_section_reaches_its_field)
{
    load("name: all\nseed: 18446744073709551615\nend: 5ms\nrounding: 1ns\n" STAR "switch:\n"
         "  buffer: 16MiB\n"
         "  scheduling: strict\n"
         "  pfc: {enabled: off, headroom: lossless, reserve: 1KB, alpha_shift: 2, "
         "static_threshold: 64KB}\n"
         "  ecn: {enabled: true, strict: on, thresholds: [{rate: 100Gbps, kmin: 1KB, kmax: 2KB, "
         "pmax: 1%}]}\n"
         "host:\n"
         "  {payload: 1500B, window: no, ack: in-data, ack_every: 4, rto: off, recovery: "
         "selective-repeat,"
         " cnp_interval: 50us, window_scope: pair}\n"
         "congestion_control:\n"
         "  kind: swift\n"
         "  min_rate: 1Gbps\n"
         "  fixed_rate: 10Gbps\n"
         "  dcqcn: {gain: 0.5}\n"
         "  hpcc: {target_util: 90%}\n"
         "  timely: {tlow: 1us}\n"
         "  dctcp: {ai: 5Mbps}\n"
         "  swift: {flow_scaling: off}\n"
         "int: {multi: 2}\n"
         "routing: {mode: spray, spray_paths: 8, hosts_forward: true}\n"
         "flows: [{pattern: single, src: 0, dst: 1, bytes: 1MB}]\n"
         "events: [{at: 1us, link: [0, 4], state: down}]\n"
         "stragglers: [{host: 2, factor: 0.5, delay: 3us}]\n"
         "logs: {fct: out.txt, rate: {file: r.csv, interval: 1us, from: 1us, to: 2us, cap: 1MB, "
         "flows: [0]},\n"
         "       packet: {file: p.csv, nodes: [4, 0]}}\n");
    const struct sim_config *c = &sc.cfg;

    cr_expect_str_eq(sc.name, "all");
    cr_expect_eq(c->seed, UINT64_MAX);
    cr_expect_eq(c->end_ps, 5 * PS_PER_MS);
    cr_expect_eq(c->round_ps, 1000);
    cr_expect_eq(c->buffer_bytes, 16 << 20);
    cr_expect_eq(c->sched, SCHED_STRICT);
    cr_expect_eq(c->pfc, 0);
    cr_expect_eq(c->pfc_headroom_bytes, -2);
    cr_expect_eq(c->pfc_reserve_bytes, 1000u);
    cr_expect_eq(c->pfc_alpha_shift, 2u);
    cr_expect(c->pfc_static == 1 && c->pfc_static_bytes == 64000);
    cr_expect(c->ecn == 1 && c->ecn_strict == 1 && c->ecn_row_count == 1);
    cr_expect(c->ecn_rows[0].kmin_bytes == 1000 && c->ecn_rows[0].pmax == 0.01);
    cr_expect_eq(c->payload_bytes, 1500u);
    cr_expect_eq(c->has_window, 0);
    cr_expect_eq(c->window_global, 0);
    cr_expect_eq(c->ack, ACK_IN_DATA);
    cr_expect_eq(c->ack_every_packets, 4u);
    cr_expect_eq(c->rto, RTO_OFF);
    cr_expect_eq(c->recovery, RECOVERY_SELECTIVE_REPEAT);
    cr_expect_eq(c->cnp_interval_ps, 50 * PS_PER_US);
    cr_expect_eq(c->cc, CC_SWIFT);
    cr_expect_eq(c->min_rate_bps, 1000000000);
    cr_expect_eq(c->fixed_rate_bps, 10000000000);
    cr_expect_eq(c->dcqcn.gain, 0.5);
    cr_expect_eq(c->hpcc.target_util, 0.9);
    cr_expect_eq(c->timely.tlow_ps, PS_PER_US);
    cr_expect_eq(c->dctcp.ai_bps, 5000000);
    cr_expect_eq(c->swift.flow_scaling_ps, 0);
    cr_expect_eq(c->int_multi, 2u);
    cr_expect(c->routing == ROUTING_SPRAY && c->spray_paths == 8 && c->hosts_forward == 1);
    cr_assert_eq(c->event_count, 1u);
    cr_expect(c->events[0].time_ps == PS_PER_US && c->events[0].a == 0 && c->events[0].b == 4);
    cr_expect_eq(c->events[0].kind, NET_LINK_DOWN);
    cr_assert_eq(sc.straggler_count, 1u);
    cr_expect(sc.stragglers[0].host == 2 && sc.stragglers[0].factor == 0.5);
    cr_expect_eq(sc.stragglers[0].delay_ps, 3 * PS_PER_US);
    cr_expect_str_eq(sc.fct_path, "out.txt");
    const struct log_request *rate = &sc.logs[LOG_RATE], *packet = &sc.logs[LOG_PACKET];
    cr_expect_str_eq(rate->path, "r.csv");
    cr_expect(rate->interval_ps == PS_PER_US && rate->from_ps == PS_PER_US);
    cr_expect(rate->to_ps == 2 * PS_PER_US && rate->cap_bytes == 1000000 &&
              rate->filter_count == 1);
    cr_assert_eq(packet->filter_count, 2u);
    cr_expect_eq(sc.filter_ids[packet->filter_first], 4u);
    cr_expect_str_eq(sc.logs[LOG_PFC].path, "");
}

Test(scenario_yaml, fabric_link_is_like_the_host_link_where_it_says_nothing)
{
    load("topology:\n  kind: dumbbell\n  hosts: 4\n  host_link: {rate: 25Gbps, delay: 2us, error: "
         "1%}\n"
         "  fabric_link: {delay: 7us}\n");
    const struct topo *t = sc.topo;
    const struct link_class *fabric = &t->classes[t->link[4].class_id];

    cr_expect_eq(fabric->rate_bps, 25000000000);
    cr_expect_eq(fabric->delay_ps, 7 * PS_PER_US);
    cr_expect_eq(fabric->error_rate, 0.01);
    cr_expect_eq(t->classes[t->link[0].class_id].delay_ps, 2 * PS_PER_US);
}

Test(scenario_yaml, links_change_single_links_of_a_generated_topology)
{
    load("topology: {kind: dumbbell, hosts: 4, cross_links: 2}\n"
         "links:\n  - {a: 5, b: 4, rate: 40Gbps}\n  - {a: 0, b: 4, delay: 9us, error: 0.5}\n");
    const struct topo *t = sc.topo;

    for (uint32_t i = 0; i < t->link_count; i++) {
        const struct link_class *c = &t->classes[t->link[i].class_id];
        const int cross = t->link[i].a == 4 && t->link[i].b == 5, first = t->link[i].a == 0;
        cr_expect_eq(c->rate_bps, cross ? 40000000000 : 100000000000);
        cr_expect_eq(c->delay_ps, first ? 9 * PS_PER_US : PS_PER_US);
        cr_expect_eq(c->error_rate, first ? 0.5 : 0);
    }
}

Test(scenario_yaml, graph_may_be_a_ring_of_hosts_without_a_switch)
{
    load("topology: {kind: graph, hosts: 3}\nlinks: [{a: 0, b: 1}, {a: 1, b: 2, rate: 1Gbps}, {a: "
         "2, b: 0}]\n");
    cr_expect_eq(sc.topo->host_count, 3u);
    cr_expect_eq(sc.topo->node_count, 3u);
    cr_expect_eq(sc.topo->link_count, 3u);
    cr_expect_eq(sc.topo->classes[sc.topo->link[1].class_id].rate_bps, 1000000000);
}

Test(scenario_yaml, graph_switches_are_the_last_nodes_or_the_listed_ones)
{
    load("topology: {kind: graph, hosts: 2, switches: 1}\nlinks: [{a: 0, b: 2}, {a: 1, b: 2}]\n");
    cr_expect_eq(sc.topo->kind[2], NODE_SWITCH);
    load("topology: {kind: graph, hosts: 2, switches: 2, switch_ids: [0, 2], nvswitch_ids: [2]}\n"
         "links: [{a: 0, b: 1}, {a: 0, b: 3}, {a: 2, b: 1}, {a: 2, b: 3}]\n");
    cr_expect_eq(sc.topo->kind[0], NODE_SWITCH);
    cr_expect_eq(sc.topo->kind[1], NODE_HOST);
    cr_expect_eq(sc.topo->kind[2], NODE_NVSWITCH);
    cr_expect_eq(sc.topo->kind[3], NODE_HOST);
}

Test(scenario_yaml, flows_of_several_entries_are_merged_by_start)
{
    load(STAR
         "flows:\n  - {pattern: ring, bytes: 1KB, start: 2us}\n"
         "  - {pattern: single, src: 3, dst: 0, bytes: 2KB, start: 1us}\n"
         "paths:\n  - {flow: 0, nodes: [3, 4, 0]}\n  - {flow: 0, ack: true, nodes: [0, 4, 3]}\n");
    cr_assert_eq(sc.flow_count, 5u);
    cr_expect(sc.flows[0].src == 3 && sc.flows[0].bytes == 2000);
    cr_expect(sc.flows[1].src == 0 && sc.flows[1].start_ps == 2 * PS_PER_US);
    cr_assert_eq(sc.path_count, 2u);
    cr_expect(sc.paths[1].is_ack == 1 && sc.paths[1].node_count == 3);
}

Test(scenario_yaml, generated_flows_follow_the_seed_of_the_run_unless_they_have_their_own)
{
    static const char *const texts[] = {
        "topology: {kind: single-switch, hosts: 32}\nseed: 1\nflows: [{pattern: permutation, "
        "bytes: 1KB}]\n",
        "topology: {kind: single-switch, hosts: 32}\nseed: 2\nflows: [{pattern: permutation, "
        "bytes: 1KB}]\n",
        "topology: {kind: single-switch, hosts: 32}\nseed: 1\n"
        "flows: [{pattern: permutation, bytes: 1KB, seed: 5}]\n",
        "topology: {kind: single-switch, hosts: 32}\nseed: 2\n"
        "flows: [{pattern: permutation, bytes: 1KB, seed: 5}]\n",
    };
    uint32_t dst[4][32];

    for (int i = 0; i < 4; i++) {
        load(texts[i]);
        for (uint32_t k = 0; k < 32; k++)
            dst[i][k] = sc.flows[k].dst;
    }
    cr_expect_neq(memcmp(dst[0], dst[1], sizeof dst[0]), 0);
    cr_expect_eq(memcmp(dst[2], dst[3], sizeof dst[0]), 0);
}

Test(scenario_yaml, files_are_found_beside_the_scenario)
{
    write_file("topo.txt", "3 1 2\n2\n0 2 100Gbps 1us 0\n1 2 100Gbps 1us 0\n");
    write_file("flow.txt", "1\n0 1 3 100 5000 0.000001\n");
    write_file("sizes.txt", "0 0\n1000 100\n");
    load("topology: {file: topo.txt}\n"
         "flows:\n  - file: flow.txt\n"
         "  - {pattern: poisson, sizes: sizes.txt, load: 10%, duration: 1us}\n");
    cr_expect_eq(sc.topo->host_count, 2u);
    cr_assert_geq(sc.flow_count, 1u);
}

Test(scenario_yaml, overrides_replace_add_and_reach_into_lists)
{
    const struct yaml_override overrides[] = {
        {"switch.buffer", "16MiB"},
        {"flows.0.bytes", "1MB"},
        {"congestion_control.kind", "dctcp"},
        {"topology.hosts", "6"},
        {"flows.1.pattern", "ring"},
        {"flows.1.bytes", "7B"},
        {"events", "[{at: 1us, link: [0, 6], state: down}]"},
    };
    cr_assert_eq(
        load_with(STAR "flows: [{pattern: single, src: 0, dst: 1, bytes: 2KB}]\n", overrides, 7), 0,
        "%s: %s", err.file, err.text);

    cr_expect_eq(sc.cfg.buffer_bytes, 16 << 20);
    cr_expect_eq(sc.cfg.cc, CC_DCTCP);
    cr_expect_eq(sc.topo->host_count, 6u);
    cr_assert_eq(sc.flow_count, 7u);
    cr_expect_eq(sc.flows[0].bytes, 1000000);
    cr_expect_eq(sc.flows[1].bytes, 7);
    cr_expect_eq(sc.cfg.event_count, 1u);
}

struct bad_override {
    struct yaml_override o;
    const char *file, *says;
};

Test(scenario_yaml, bad_overrides_are_named)
{
    static const struct bad_override cases[] = {
        {{"switch.buffer", "16"}, "override switch.buffer=16", "\"16\""},
        {{"switch.bufer", "16KB"}, "override switch.bufer=16KB", "\"buffer\""},
        {{"switch", "x"}, "override switch=x", "mapping"},
        {{"flows.3.bytes", "1B"}, "", "flows.3"},
        {{"seed.x", "1"}, "", "\"x\""},
        {{"events", "[{"}, "override events=[{", "YAML"},
        {{"flows.0.bytes", ""}, "override flows.0.bytes=", "no value"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cr_expect_eq(
            load_with("seed: 1\n" STAR "flows: [{pattern: ring, bytes: 1B}]\n", &cases[i].o, 1),
            WH_ERR_INPUT, "case %zu", i);
        cr_expect_str_eq(err.file, cases[i].file, "case %zu: %s", i, err.file);
        cr_expect_not_null(strstr(err.text, cases[i].says), "case %zu: %s", i, err.text);
    }
}

struct bad_text {
    const char *text;
    long line;
    const char *says;
};

Test(scenario_yaml, bad_files_are_refused_with_their_line)
{
    static const struct bad_text cases[] = {
        {"", 0, "empty file"},
        {"# nothing\n", 0, "empty file"},
        {"- 1\n", 1, "mapping"},
        {"seed: 1\n", 1, "no kind and no file"},
        {STAR "switch:\n  buffr: 1MB\n", 3, "nearest is \"buffer\""},
        {STAR "\nhots:\n  payload: 1000B\n", 3, "nearest is \"host\""},
        {STAR "seed: 1\nseed: 2\n", 3, "second time"},
        {STAR "switch:\n  buffer: 16\n", 3, "\"16\""},
        {STAR "switch:\n  buffer:\n", 3, "no value"},
        {STAR "switch: 5\n", 2, "mapping"},
        {STAR "host: {payload: [1]}\n", 2, "single value"},
        {STAR "flows: {}\n", 2, "list"},
        {STAR "host:\n  ack: fast\n", 3, "in-data"},
        {STAR "host:\n  payload: 70KB\n", 3, "1B to 65KB"},
        {STAR "congestion_control:\n  hpcc:\n    target_util: 150%\n", 4, "to 1"},
        {STAR "congestion_control:\n  kind: dctcp\n  dctcp: {gain: 0}\n", 4, "\"0\""},
        {STAR "congestion_control:\n  timely: {tlow: 2us, thigh: 1us}\n", 0, "TIMELY"},
        {STAR "flows:\n  - pattern: ring\n    bytes: 1KB\n    fan_in: 3\n", 5,
         "ring does not use it"},
        {STAR "flows:\n  - pattern: ring\n", 3, "no bytes"},
        {STAR "flows:\n  - bytes: 1KB\n", 3, "no pattern and no file"},
        {STAR "flows:\n  - pattern: mesh\n    bytes: 1KB\n", 3, "all-to-all"},
        {STAR "flows:\n  - {pattern: single, bytes: 1B, src: 0, dst: 9}\n", 3, "dst 9"},
        {STAR "flows:\n  - {file: f.txt, bytes: 1B}\n", 3, "file alone"},
        {STAR "flows:\n  - file: nowhere.txt\n", 3, "nowhere.txt"},
        {STAR "flows:\n  - {pattern: poisson, load: 1, duration: 1us}\n", 3, "neither"},
        {"topology:\n  kind: fat-tree\n  k: 5\n", 1, "k 5"},
        {"topology:\n  kind: fat-tree\n  hosts: 5\n", 3, "fat-tree does not use it"},
        {"topology:\n  kind: mesh\n", 2, "dragonfly"},
        {"topology: {kind: torus}\nlinks:\n  - {a: 0, b: 1}\n", 3, "without a link"},
        {"topology: {kind: graph, hosts: 2}\nlinks:\n  - {a: 0, b: 2}\n", 3, "two different nodes"},
        {"topology: {kind: graph, hosts: 2, switch_ids: [7], switches: 1}\n", 1, "\"7\""},
        {"topology:\n  file: nowhere.txt\n", 2, "nowhere.txt"},
        {STAR "events:\n  - at: 1us\n    link: [0, 1]\n    state: down\n", 4, "without a link"},
        {STAR "events:\n  - {at: 1us, link: [0], state: down}\n", 3, "two nodes"},
        {STAR "stragglers:\n  - {host: 4}\n", 3, "host"},
        {STAR "logs:\n  queue: {interval: 1us}\n", 3, "no file"},
        {STAR "logs:\n  pfc:\n    file: x\n    nodes: [1]\n", 5, "pfc does not use it"},
        {STAR "logs:\n  pfc:\n    file: x\n    interval: 1us\n", 5, "pfc does not use it"},
        {STAR "logs:\n  rate:\n    file: x\n    flows:\n      - 1\n", 6, "\"1\""},
        {STAR "a: [\n", 3, "YAML"},
        {STAR "--- \nseed: 1\n", 3, "second document"},
        {"x: &a 1\ntopology: *a\n", 1, "anchor"},
        {STAR "name: \"a\\0b\"\n", 2, "zero byte"},
        {STAR "switch: {ecn: {enabled: true, thresholds: []}}\n", 0, "without thresholds"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cr_expect_lt(load_with(cases[i].text, NULL, 0), 0, "case %zu", i);
        cr_expect_eq(err.line, cases[i].line, "case %zu: line %ld: %s", i, err.line, err.text);
        cr_expect_not_null(strstr(err.text, cases[i].says), "case %zu: %s", i, err.text);
        cr_expect_not_null(strstr(err.file, "s.yaml"), "case %zu: %s", i, err.file);
        cr_expect_null(strchr(err.text, '\n'));
    }
}

Test(scenario_yaml, lines_stay_those_of_the_file_when_something_is_overridden)
{
    const struct yaml_override o = {"seed", "4"};
    cr_expect_eq(load_with("# one\n# two\n" STAR "\n\nhost:\n  payload: many\n", &o, 1),
                 WH_ERR_INPUT);
    cr_expect_eq(err.line, 7, "%ld", err.line);
    cr_expect_eq(load_with("# one\n# two\n" STAR "\n\nhost:\n  pay: 1B\n", &o, 1), WH_ERR_INPUT);
    cr_expect_eq(err.line, 7, "%ld", err.line);
}

Test(scenario_yaml, missing_scenario_is_named)
{
    cr_expect_eq(scenario_load_yaml("/nowhere/s.yaml", NULL, 0, &sc, NULL, &err), WH_ERR_INPUT);
    cr_expect_str_eq(err.file, "/nowhere/s.yaml");
}

/* Field by field: the padding of a row may differ. */
static int is_same_flow(const struct flow_spec *a, const struct flow_spec *b)
{
    return a->start_ps == b->start_ps && a->bytes == b->bytes && a->src == b->src &&
           a->dst == b->dst && a->sport == b->sport && a->dport == b->dport && a->prio == b->prio &&
           a->tag == b->tag && a->user == b->user;
}

/* Prints sc, loads the text, prints again: the same text and the same run. */
static void expect_round_trip(void)
{
    char *first = print(&sc);
    struct flow_spec *flows = NULL;
    const uint32_t flow_count = sc.flow_count, link_count = sc.topo->link_count;
    struct sim_config cfg = sc.cfg;

    if (flow_count) {
        flows = malloc(flow_count * sizeof *flows);
        memcpy(flows, sc.flows, flow_count * sizeof *flows);
    }
    cr_assert_eq(load_with(first, NULL, 0), 0, "line %ld: %s\n%s", err.line, err.text, first);
    char *second = print(&sc);
    cr_expect_str_eq(first, second);
    cr_expect_eq(memcmp(&cfg, &sc.cfg, sizeof cfg), 0);
    cr_expect_eq(sc.topo->link_count, link_count);
    cr_assert_eq(sc.flow_count, flow_count);
    for (uint32_t i = 0; i < flow_count; i++)
        cr_assert(is_same_flow(&flows[i], &sc.flows[i]), "flow %u", i);
    free(flows);
    free(first);
    free(second);
}

Test(scenario_yaml, print_then_load_gives_the_same_for_every_topology)
{
    static const char *const texts[] = {
        "topology: {kind: single-switch}\n",
        "topology: {kind: dumbbell, cross_links: 3, fabric_link: {rate: 400Gbps, error: 1e-7}}\n",
        "topology: {kind: leaf-spine, uplinks_per_spine: 2, hosts: 8}\n",
        "topology: {kind: fat-tree, k: 6}\n",
        "topology: {kind: clos3}\n",
        "topology: {kind: rail, nvlink: {rate: none}}\n",
        "topology: {kind: rail, nvswitches_per_server: 2}\n",
        "topology: {kind: torus, dims: [3, 2, 2]}\nlinks: [{a: 12, b: 13, rate: 1Mbps}]\n",
        "topology: {kind: dragonfly}\n",
        ("topology: {kind: graph, hosts: 2, switches: 2, switch_ids: [0, 2], nvswitch_ids: [2]}\n"
         "links: [{a: 0, b: 1}, {a: 0, b: 3, delay: 1.5ns}, {a: 2, b: 1}, {a: 2, b: 3}]\n"),
    };

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        load(texts[i]);
        expect_round_trip();
    }
}

Test(scenario_yaml, print_then_load_gives_the_same_for_everything_else)
{
    load("name: \"a \\\"b\\\" \\\\ \\t c: d #e\"\nseed: 99\nend: 1.5ms\n" STAR "host: {rto: 3us}\n"
         "switch: {buffer: unlimited, pfc: {headroom: 20000B, static_threshold: 1KiB},"
         " ecn: {enabled: false, thresholds: []}}\n"
         "congestion_control: {kind: dcqcn, dcqcn: {gain: 0.1}, swift: {flow_scaling: off}}\n"
         "flows:\n"
         "  - {pattern: incast, dst: 0, bytes: 1MB, repeat: 2, jitter: 1us}\n"
         "  - {pattern: poisson, sizes: hadoop, load: 33%, duration: 20us, seed: 12}\n"
         "  - {pattern: poisson, bytes: 3KB, load: 1%, duration: 20us, flows_max: 5}\n"
         "  - {pattern: single, src: 1, dst: 2, bytes: 1B, sport: 77, priority: 0}\n"
         "paths: [{flow: 0, ack: on, nodes: [0, 4, 1]}]\n"
         "events: [{at: 1us, link: [4, 1], state: up}]\n"
         "stragglers: [{host: 3, factor: 0.3}]\n"
         "logs: {fct: f.txt, queue: {file: q, nodes: [4]}, link: {file: l, to: 1s}, qlen: {file: "
         "h}}\n");
    expect_round_trip();
}

Test(scenario_yaml, print_repeats_patterns_as_requests_and_counts_in_comments)
{
    load("topology: {kind: rail}\nflows: [{pattern: all-to-all, bytes: 1KB}]\n");
    char *text = print(&sc);

    cr_expect_not_null(strstr(text, "# 32 hosts, 76 switches (4 of them NVLink-like), 576 links\n"),
                       "%s", text);
    cr_expect_not_null(strstr(text, "# 992 flows\n"));
    cr_expect_not_null(strstr(text, "pattern: all-to-all"));
    cr_expect_null(strstr(text, "pattern: single"));
    free(text);
}

/* A scenario that was filled in by hand, as the HPCC reader does: switches between hosts. */
Test(scenario_yaml, print_of_another_origin_lists_links_flows_and_paths)
{
    const struct link_class c = {INT64_C(100000000000), PS_PER_US, 0}, d = {1, 1, 0.5};
    const struct flow_spec f = {
        .start_ps = 2 * PS_PER_S + 1, .bytes = 12345, .src = 2, .dst = 1, .prio = 3, .dport = 200};
    const uint32_t nodes[] = {2, 0, 1};
    cr_assert_eq(topo_create(&sc.topo, 3), 0);
    topo_set_kind(sc.topo, 0, NODE_SWITCH);
    cr_assert_eq(topo_add_class(sc.topo, &c), 0);
    cr_assert_eq(topo_add_class(sc.topo, &d), 1);
    cr_assert_eq(topo_add_link(sc.topo, 0, 1, 0), 0);
    cr_assert_eq(topo_add_link(sc.topo, 0, 2, 1), 0);
    cr_assert_eq(topo_finish(sc.topo), 0);
    cr_assert_eq(scenario_add_flow(&sc, &f), 0);
    cr_assert_eq(scenario_add_path(&sc, 0, 0, nodes, 3), 0);
    sc.cfg.round_ps = 1000;
    sc.is_hpcc = 1;
    strcpy(sc.name, "by hand");
    expect_round_trip();
    cr_expect_eq(sc.topo->kind[0], NODE_SWITCH);
    cr_expect_eq(sc.topo->classes[sc.topo->link[1].class_id].error_rate, 0.5);
    cr_expect_eq(sc.path_count, 1u);
}

Test(scenario_yaml, print_without_a_topology_is_refused)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *f = open_memstream(&text, &bytes);

    cr_expect_eq(scenario_print(&sc, f), WH_ERR_STATE);
    fclose(f);
    free(text);
}

Test(scenario_yaml, examples_load_and_survive_the_round_trip)
{
    static const char *const names[] = {
        "incast-8",    "leaf-spine-permutation", "fat-tree-websearch",
        "dumbbell-cc", "link-failure",           "rail-ring",
        "torus-ring",  "spray-all-to-all",       "permutations-1024"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/../../examples/%s.yaml", TEST_DATA_DIR, names[i]);
        scenario_fini(&sc);
        scenario_init(&sc);
        cr_assert_eq(scenario_load_yaml(path, NULL, 0, &sc, NULL, &err), 0, "%s:%ld: %s", err.file,
                     err.line, err.text);
        cr_expect_str_eq(sc.name, names[i]);
        cr_expect_gt(sc.flow_count, 0u);
        expect_round_trip();
    }
}
