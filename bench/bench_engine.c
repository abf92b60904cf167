/*
 * bench_engine.c - packet-hops per CPU second of the packet engine, one core.
 *
 * Fat-trees of 16, 128 and 1,024 hosts, permutation and incast, HPCC and DCTCP; in the native mode
 * (1 ps, canonical order) and in that of HPCC configurations (1 ns, order of ns-3). Set-up is not
 * counted; a repetition is a simulation of its own.
 *
 * Beside each: a bare walk over as many ports, packets and path words as the run touched. Its hop
 * is four dependent loads and nothing else, port -> packet -> path -> next port, so it is what the
 * memory alone asks for when hops are done one after the other.
 *
 *   bench_engine --hpcc CONFIG [--paths FILE]   any HPCC configuration instead
 */
#include "flowgen.h"
#include "hpcc.h"
#include "measure.h"
#include "rng.h"
#include "sim_int.h"
#include "topogen.h"
#include "units.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REPS_MAX 1000u
#define WALK_HOPS 2000000u
#define QUICK_PART 64 /* --quick: flows and walks shorter by this */

struct one_case {
    uint32_t k;
    enum flow_pattern pattern;
    uint32_t fan_in;
    int64_t bytes; /* per flow, for about 3 million packet-hops */
    enum cc_kind cc;
    enum order_mode order;
};

/* What one simulation took and touched. */
struct outcome {
    double cpu_s, setup_s;
    struct sim_counters c;
    uint32_t ports_used, packets, path_words, flows;
    uint64_t footprint_bytes;
};

/* ---- the bare walk ---- */

struct walk_port {
    uint32_t packet;
    uint8_t rest[sizeof(struct port) - 4];
};

struct walk_packet {
    uint32_t path;
    uint8_t rest[sizeof(struct pkt) - 4];
};

/* A load's result scaled to a row; the counter keeps the walk from running into a circle. */
static inline uint32_t next_row(uint32_t loaded, uint32_t i, uint32_t count)
{
    return (uint32_t)(((uint64_t)(loaded + i * 0x9e3779b9u) * count) >> 32);
}

static uint32_t walk(const struct walk_port *port, const struct walk_packet *packet,
                     const uint32_t *path, const struct outcome *n, uint32_t hops)
{
    uint32_t at = 0;

    for (uint32_t i = 0; i < hops; i++) {
        const uint32_t k = next_row(port[at].packet, i, n->packets);
        const uint32_t w = next_row(packet[k].path, i, n->path_words);

        at = next_row(path[w], i, n->ports_used);
    }
    return at;
}

/* Nanoseconds per hop of the walk. */
static double walk_ns(const struct outcome *n, uint32_t reps, int quick)
{
    const uint32_t hops = quick ? WALK_HOPS / QUICK_PART : WALK_HOPS;
    struct walk_port *port = aligned_alloc(64, n->ports_used * sizeof *port);
    struct walk_packet *packet = aligned_alloc(64, n->packets * sizeof *packet);
    uint32_t *path = malloc(n->path_words * sizeof *path);
    double ns[REPS_MAX];
    volatile uint32_t end;

    check(port && packet && path, "out of memory for %u packets", n->packets);
    memset(port, 0, n->ports_used * sizeof *port);
    memset(packet, 0, n->packets * sizeof *packet);
    for (uint32_t i = 0; i < n->ports_used; i++)
        port[i].packet = (uint32_t)rng_u64(1, 1, i);
    for (uint32_t i = 0; i < n->packets; i++)
        packet[i].path = (uint32_t)rng_u64(1, 2, i);
    for (uint32_t i = 0; i < n->path_words; i++)
        path[i] = (uint32_t)rng_u64(1, 3, i);
    for (uint32_t r = 0; r < reps; r++) {
        const double start = measure_cpu_s();

        end = walk(port, packet, path, n, hops);
        ns[r] = (measure_cpu_s() - start) / hops * 1e9;
    }
    (void)end;
    free(port);
    free(packet);
    free(path);
    return measure_spread(ns, reps).median;
}

/* ---- simulations ---- */

static void fail(const struct err_info *e, int rc)
{
    char text[1600];

    fprintf(stderr, "bench_engine: %s\n",
            e->text[0] ? err_format(e, text, sizeof text) : err_text(rc));
}

static void look(const struct sim *s, struct outcome *n)
{
    const size_t flow_bytes =
        sizeof *s->spec + sizeof *s->result + sizeof *s->tx + sizeof *s->rx + s->cc->state_bytes;

    sim_counters(s, &n->c);
    n->flows = s->flow_count;
    n->packets = pkt_handed(s);
    n->path_words = s->path_used;
    for (uint32_t i = 0; i < s->topo->port_count; i++)
        n->ports_used += s->port[i].tx_packets > 0;
    n->footprint_bytes = n->ports_used * sizeof *s->port + n->path_words * sizeof *s->path +
                         n->packets * (sizeof *s->pkt + (s->int_rec ? sizeof *s->int_rec : 0)) +
                         n->flows * flow_bytes;
}

/* Runs @sc, which it uses up. */
static int run_scenario(struct scenario *sc, double setup_from, struct outcome *n,
                        struct err_info *e)
{
    struct sim *s;
    int rc = scenario_make_sim(sc, NULL, &s, e);

    if (rc)
        return rc;
    n->setup_s = measure_cpu_s() - setup_from;
    n->cpu_s = measure_cpu_s();
    rc = sim_run(s, TIME_NEVER);
    n->cpu_s = measure_cpu_s() - n->cpu_s;
    if (!rc)
        look(s, n);
    sim_destroy(s);
    return rc;
}

static void configure(struct sim_config *c, const struct one_case *o)
{
    c->cc = o->cc;
    c->order = o->order;
    c->round_ps = o->order == ORDER_NS3 ? PS_PER_NS : 1;
    if (o->cc == CC_DCTCP) { /* step marking, 65 packets at 100 Gb/s */
        c->ecn_row_count = 1;
        c->ecn_rows[0] = (struct ecn_row){INT64_C(100000000000), 65000, 65000, 1.0};
    }
}

static int run_case(const struct one_case *o, int quick, struct outcome *n, struct err_info *e)
{
    const double start = measure_cpu_s();
    struct topo_spec spec;
    struct flow_request req;
    struct scenario sc;
    int rc;

    scenario_init(&sc);
    configure(&sc.cfg, o);
    topo_spec_init(&spec, TOPO_FAT_TREE);
    spec.k = o->k;
    rc = topo_generate(&spec, &sc.topo, e);
    if (!rc) {
        flow_request_init(&req, o->pattern);
        req.bytes = quick ? o->bytes / QUICK_PART : o->bytes;
        req.fan_in = o->fan_in;
        req.seed = 1;
        rc = flows_generate(&req, sc.topo, &sc, e);
    }
    if (!rc)
        rc = run_scenario(&sc, start, n, e);
    scenario_fini(&sc);
    return rc;
}

static int run_hpcc(const char *config, const char *paths, struct outcome *n, struct err_info *e)
{
    const double start = measure_cpu_s();
    struct scenario sc;
    int rc;

    scenario_init(&sc);
    rc = hpcc_load(config, paths, NULL, 0, &sc, NULL, e);
    if (!rc)
        rc = run_scenario(&sc, start, n, e);
    scenario_fini(&sc);
    return rc;
}

/* ---- rows ---- */

static void report_outcome(struct report *r, const char *name, double *cpu_s, uint32_t reps,
                           const struct outcome *n)
{
    const double hops = (double)n->c.packet_hops;
    const struct spread cpu = measure_spread(cpu_s, reps);
    const struct spread rate = {hops / cpu.median * 1e-6, hops / cpu.max * 1e-6,
                                hops / cpu.min * 1e-6};

    report_text(r, "name", name);
    report_number(r, "hops", hops);
    report_number(r, "events_per_hop", (double)n->c.events / hops);
    report_spread(r, "cpu_s", "cpu_min", "cpu_max", &cpu);
    report_spread(r, "mhops_per_s", "mhops_min", "mhops_max", &rate);
    report_number(r, "ns_per_hop", cpu.median / hops * 1e9);
    report_number(r, "walk_ns", walk_ns(n, reps, r->o->quick));
    report_number(r, "footprint_kb", (double)n->footprint_bytes / 1000);
    report_number(r, "setup_s", n->setup_s);
    report_row(r);
}

static int measure_case(struct report *r, const struct one_case *o)
{
    const uint32_t reps = r->o->repetitions;
    double cpu_s[REPS_MAX];
    struct outcome n;
    struct err_info e = {.text = ""};
    char name[64];

    snprintf(name, sizeof name, "k%u-%s-%s-%s", o->k, flow_pattern_name(o->pattern),
             config_cc_name(o->cc), o->order == ORDER_NS3 ? "1ns" : "1ps");
    if (!measure_is_wanted(r->o, name))
        return 0;
    for (uint32_t i = 0; i < reps; i++) {
        int rc;

        n = (struct outcome){.cpu_s = 0};
        rc = run_case(o, r->o->quick, &n, &e);
        if (rc) {
            fail(&e, rc);
            return rc;
        }
        cpu_s[i] = n.cpu_s;
    }
    report_outcome(r, name, cpu_s, reps, &n);
    return 0;
}

static int measure_fat_trees(struct report *r)
{
    static const struct one_case load[] = {
        {4, FLOWS_PERMUTATION, 0, 20000000, CC_HPCC, ORDER_CANONICAL},
        {4, FLOWS_INCAST, 15, 20000000, CC_HPCC, ORDER_CANONICAL},
        {8, FLOWS_PERMUTATION, 0, 2000000, CC_HPCC, ORDER_CANONICAL},
        {8, FLOWS_INCAST, 64, 4000000, CC_HPCC, ORDER_CANONICAL},
        {16, FLOWS_PERMUTATION, 0, 250000, CC_HPCC, ORDER_CANONICAL},
        {16, FLOWS_INCAST, 255, 1000000, CC_HPCC, ORDER_CANONICAL},
    };
    static const enum cc_kind ccs[] = {CC_HPCC, CC_DCTCP};
    static const enum order_mode orders[] = {ORDER_CANONICAL, ORDER_NS3};

    for (uint32_t i = 0; i < sizeof load / sizeof *load; i++)
        for (uint32_t c = 0; c < 2; c++)
            for (uint32_t m = 0; m < 2; m++) {
                struct one_case o = load[i];
                int rc;

                o.cc = ccs[c];
                o.order = orders[m];
                rc = measure_case(r, &o);
                if (rc)
                    return rc;
            }
    return 0;
}

static int measure_hpcc(struct report *r, const char *config, const char *paths)
{
    const uint32_t reps = r->o->repetitions;
    double cpu_s[REPS_MAX];
    struct outcome n;
    struct err_info e = {.text = ""};

    for (uint32_t i = 0; i < reps; i++) {
        int rc;

        n = (struct outcome){.cpu_s = 0};
        rc = run_hpcc(config, paths, &n, &e);
        if (rc) {
            fail(&e, rc);
            return rc;
        }
        cpu_s[i] = n.cpu_s;
    }
    report_outcome(r, config, cpu_s, reps, &n);
    return 0;
}

int main(int argc, char **argv)
{
    const char *config = NULL, *paths = NULL;
    struct measure_options o;
    struct report r;
    int rc;

    if (measure_parse(&o, &argc, argv))
        return 2;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--hpcc") && i + 1 < argc)
            config = argv[++i];
        else if (!strcmp(argv[i], "--paths") && i + 1 < argc)
            paths = argv[++i];
        else
            return measure_unknown(argv[i], "bench_engine [--hpcc CONFIG [--paths FILE]]");
    }
    report_begin(&r, "engine", &o);
    rc = config ? measure_hpcc(&r, config, paths) : measure_fat_trees(&r);
    report_end(&r);
    return rc == WH_ERR_INPUT ? 2 : rc != 0;
}
