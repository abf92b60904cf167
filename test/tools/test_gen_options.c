/*
 * test_gen_options.c - command lines of gen: our names, and those of the SimAI topology generator.
 */
#include "gen_options.h"

#include "units.h"

#include <criterion/criterion.h>
#include <string.h>

#define GBPS INT64_C(1000000000)

struct line {
    char text[512];
    char *argv[40];
    int argc;
};

static void cut(struct line *l, const char *text)
{
    char *rest = l->text, *word;

    (void)snprintf(l->text, sizeof l->text, "%s", text);
    l->argc = 0;
    while ((word = strsep(&rest, " ")) && l->argc < 39)
        l->argv[l->argc++] = word;
    l->argv[l->argc] = NULL;
}

static int parse_topology(const char *text, struct gen_topology_options *o, struct err_info *e)
{
    struct line l;

    cut(&l, text);
    e->text[0] = '\0';
    return gen_parse_topology(l.argc, l.argv, o, e);
}

Test(gen_options, names_of_the_other_generator_mean_the_same)
{
    struct gen_topology_options o;
    struct err_info e;

    cr_assert_eq(parse_topology("topology --ro -g 64 -gps 4 -bw 400Gbps -l 0.0005ms -nvbw 2880Gbps "
                                "-nl 0.000025ms -asn 4 -psn 8 -nsps 2 -apbw 800Gbps -npa 16",
                                &o, &e),
                 0, "%s", e.text);
    cr_assert_eq(o.spec.kind, TOPO_RAIL);
    cr_assert_eq(o.spec.hosts, 64);
    cr_assert_eq(o.spec.gpus_per_server, 4);
    cr_assert_eq(o.spec.host_link.rate_bps, 400 * GBPS);
    cr_assert_eq(o.spec.host_link.delay_ps, 500 * PS_PER_NS);
    cr_assert_eq(o.spec.nvlink.rate_bps, 2880 * GBPS);
    cr_assert_eq(o.spec.nvlink.delay_ps, 25 * PS_PER_NS);
    cr_assert_eq(o.spec.spines, 8);
    cr_assert_eq(o.spec.nvswitches_per_server, 2);
    cr_assert_eq(o.spec.fabric_link.rate_bps, 800 * GBPS);
    cr_assert_eq(o.spec.fabric_link.delay_ps, 500 * PS_PER_NS);
    cr_assert_eq(o.spec.servers_per_segment, 16);
}

Test(gen_options, what_is_not_given_keeps_the_default_of_the_kind)
{
    struct gen_topology_options o;
    struct topo_spec spec;
    struct err_info e;

    topo_spec_init(&spec, TOPO_FAT_TREE);
    cr_assert_eq(parse_topology("topology fat-tree", &o, &e), 0, "%s", e.text);
    cr_assert_eq(o.spec.k, spec.k);
    cr_assert_eq(o.spec.host_link.rate_bps, spec.host_link.rate_bps);
    cr_assert_null(o.path);
    cr_assert_eq(parse_topology("topology fat-tree --k 8 --error-rate 1% -o f", &o, &e), 0);
    cr_assert_eq(o.spec.k, 8);
    cr_assert_float_eq(o.spec.host_link.error_rate, 0.01, 1e-12);
    cr_assert_float_eq(o.spec.fabric_link.error_rate, 0.01, 1e-12);
    cr_assert_str_eq(o.path, "f");
}

Test(gen_options, dimensions_are_counted)
{
    struct gen_topology_options o;
    struct err_info e;

    cr_assert_eq(parse_topology("topology torus --dims 4x2x3", &o, &e), 0, "%s", e.text);
    cr_assert_eq(o.spec.dim_count, 3);
    cr_assert_eq(o.spec.dims[0], 4);
    cr_assert_eq(o.spec.dims[1], 2);
    cr_assert_eq(o.spec.dims[2], 3);
}

Test(gen_options, wrong_topology_lines_are_refused_with_the_culprit)
{
    static const char *const bad[][2] = {
        {"topology", "kind"},
        {"topology cube", "cube"},
        {"topology torus leaf-spine", "leaf-spine"},
        {"topology fat-tree --ro", "fat-tree"},
        {"topology fat-tree --k four", "four"},
        {"topology fat-tree --k -4", "-4"},
        {"topology torus --dims 4x", "4x"},
        {"topology torus --dims 1x2x3x4x5x6x7", "1x2x3x4x5x6x7"},
        {"topology single-switch --rate 100", "'100'"},
        {"topology single-switch --delay 1", "'1'"},
        {"topology rail -asn 3", "--asn"},
        {"topology rail --nonsense 3", "--nonsense"},
    };

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct gen_topology_options o;
        struct err_info e;

        cr_assert_eq(parse_topology(bad[i][0], &o, &e), WH_ERR_INPUT, "%s", bad[i][0]);
        cr_assert(strstr(e.text, bad[i][1]), "'%s' does not name '%s'", e.text, bad[i][1]);
    }
}

static int parse_flows(const char *text, struct gen_flows_options *o, struct err_info *e)
{
    struct line l;

    cut(&l, text);
    e->text[0] = '\0';
    return gen_parse_flows(l.argc, l.argv, o, e);
}

Test(gen_options, flow_options_fill_the_request)
{
    struct gen_flows_options o;
    struct err_info e;

    cr_assert_eq(parse_flows("flows incast --topology t --bytes 1MB --dst 3 --fan-in 4 --start 2s "
                             "--stagger 1us --priority 2 --dport 200 --repeat 3",
                             &o, &e),
                 0, "%s", e.text);
    cr_assert_eq(o.request.pattern, FLOWS_INCAST);
    cr_assert_eq(o.request.bytes, 1000000);
    cr_assert_eq(o.request.dst, 3);
    cr_assert_eq(o.request.fan_in, 4);
    cr_assert_eq(o.request.start_ps, 2 * PS_PER_S);
    cr_assert_eq(o.request.stagger_ps, PS_PER_US);
    cr_assert_eq(o.request.prio, 2);
    cr_assert_eq(o.request.dport, 200);
    cr_assert_eq(o.request.repeat, 3);
}

Test(gen_options, wrong_flow_lines_are_refused)
{
    static const char *const bad[] = {
        "flows",
        "flows swarm --topology t",
        "flows ring",
        "flows ring --topology t --bytes 5",
        "flows ring --topology t --distribution hadoop",
        "flows poisson --topology t --load 30%",
        "flows poisson --topology t --cdf f --distribution hadoop",
        "flows single --topology t --priority 256",
        "flows single --topology t --dport 65536",
    };

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct gen_flows_options o;
        struct err_info e;

        cr_assert_eq(parse_flows(bad[i], &o, &e), WH_ERR_INPUT, "%s", bad[i]);
        cr_assert(e.text[0], "%s", bad[i]);
    }
}
