/*
 * bench_scale.c - memory per host, port, flow and packet, and what large networks take.
 *
 * A fat-tree is generated, made a simulation and run. After each step the growth of the resident
 * memory is divided by what the step made.
 *
 *   bench_scale              k = 16 and k = 64 (65,536 hosts), a permutation of 10 kB flows
 *   bench_scale --large      k = 256 (4,194,304 hosts), 10,000 flows of 10 kB
 *   bench_scale --rows       sizes of the rows that all is made of
 *   bench_scale --k K --flows N --bytes B [--cc NAME]
 */
#include "flowgen.h"
#include "measure.h"
#include "rng.h"
#include "sim_int.h"
#include "topogen.h"
#include "units.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct request {
    uint32_t k, flow_count; /* 0 flows: a permutation of all hosts */
    int64_t bytes;
    enum cc_kind cc;
};

/* Resident memory and CPU time after a step. */
struct step {
    uint64_t rss_bytes;
    double cpu_s;
};

static struct step take_step(void)
{
    return (struct step){measure_rss_bytes(), measure_cpu_s()};
}

static double grown(const struct step *to, const struct step *from, double count)
{
    return to->rss_bytes > from->rss_bytes && count > 0
               ? (double)(to->rss_bytes - from->rss_bytes) / count
               : 0;
}

static int add_flows(struct sim *s, const struct request *q, uint32_t hosts, uint32_t *count)
{
    const uint32_t flows = q->flow_count ? q->flow_count : hosts;

    for (uint32_t i = 0; i < flows; i++) {
        struct flow_spec f = {.bytes = q->bytes, .prio = 3, .dport = 100};
        int rc;

        if (q->flow_count) {
            f.src = rng_below(rng_u64(1, 1, i), hosts);
            f.dst = (f.src + 1 + rng_below(rng_u64(1, 2, i), hosts - 1)) % hosts;
        } else { /* a shift by half the network, and by one: all six hops, distinct switches */
            f.src = i;
            f.dst = (i + hosts / 2 + 1) % hosts;
        }
        rc = sim_add_flow(s, &f, NULL);
        if (rc)
            return rc;
    }
    *count = flows;
    return 0;
}

static void report_steps(struct report *r, const struct request *q, const struct sim *s,
                         const struct step *at, uint32_t flows)
{
    const struct topo *t = sim_topo(s);
    struct sim_counters c;
    char name[64];

    snprintf(name, sizeof name, "k%u-%u-flows-%s", q->k, flows, config_cc_name(q->cc));
    sim_counters(s, &c);
    report_text(r, "name", name);
    report_number(r, "hosts", t->host_count);
    report_number(r, "ports", t->port_count);
    report_number(r, "topo_b_per_port", grown(&at[1], &at[0], t->port_count));
    report_number(r, "sim_b_per_port", grown(&at[2], &at[1], t->port_count));
    report_number(r, "run_b_per_flow", grown(&at[4], &at[2], flows));
    report_number(r, "b_per_host", grown(&at[4], &at[0], t->host_count));
    report_number(r, "packets", pkt_handed(s));
    report_number(r, "hops", (double)c.packet_hops);
    report_number(r, "done", (double)c.flows_finished);
    report_number(r, "topo_s", at[1].cpu_s - at[0].cpu_s);
    report_number(r, "sim_s", at[2].cpu_s - at[1].cpu_s);
    report_number(r, "add_s", at[3].cpu_s - at[2].cpu_s);
    report_number(r, "run_s", at[4].cpu_s - at[3].cpu_s);
    report_number(r, "rss_mb", (double)at[4].rss_bytes / 1e6);
    report_number(r, "peak_mb", (double)measure_peak_rss_bytes() / 1e6);
    report_row(r);
}

static void warn_user(void *ctx, const char *text)
{
    (void)ctx;
    fprintf(stderr, "bench_scale: %s\n", text);
}

static int measure(struct report *r, const struct request *q)
{
    const struct warn_sink sink = {warn_user, NULL};
    struct err_info e = {.text = ""};
    struct step at[5];
    struct topo_spec spec;
    struct sim_config cfg;
    struct topo *t = NULL;
    struct sim *s = NULL;
    uint32_t flows = 0;
    int rc;

    config_init(&cfg);
    cfg.cc = q->cc;
    topo_spec_init(&spec, TOPO_FAT_TREE);
    spec.k = q->k;
    at[0] = take_step();
    rc = topo_generate(&spec, &t, &e);
    at[1] = take_step();
    if (!rc)
        rc = sim_create(&s, t, &cfg, &sink, &e);
    if (rc) {
        topo_destroy(t);
        fprintf(stderr, "bench_scale: %s\n", e.text[0] ? e.text : err_text(rc));
        return rc;
    }
    at[2] = take_step();
    rc = add_flows(s, q, sim_topo(s)->host_count, &flows);
    at[3] = take_step();
    if (!rc)
        rc = sim_run(s, TIME_NEVER);
    at[4] = take_step();
    if (!rc)
        report_steps(r, q, s, at, flows);
    else
        fprintf(stderr, "bench_scale: %s\n", err_text(rc));
    sim_destroy(s);
    return rc;
}

static void report_size(struct report *r, const char *name, double bytes, const char *per)
{
    report_text(r, "row", name);
    report_number(r, "bytes", bytes);
    report_text(r, "per", per);
    report_row(r);
}

static void report_sizes(struct report *r)
{
    report_size(r, "port", sizeof(struct port), "directed port");
    report_size(r, "topology", 3 * 4 + 4 + sizeof(struct topo_link) / 2.0, "directed port");
    report_size(r, "ingress", 2 * sizeof(struct ingress), "switch port in use, 2 classes");
    report_size(r, "port_cold", sizeof(struct port_cold), "port with drops, losses or pauses");
    report_size(r, "nic", sizeof(struct nic), "host port");
    report_size(r, "swtch", sizeof(struct swtch), "switch");
    report_size(r, "pkt", sizeof(struct pkt), "packet in the network");
    report_size(r, "int_rec", sizeof(struct int_rec), "packet in the network, with INT");
    report_size(r, "event", sizeof(struct event), "pending event");
    report_size(r, "flow_spec", sizeof(struct flow_spec), "flow");
    report_size(r, "flow_result", sizeof(struct flow_result), "flow");
    report_size(r, "flow_tx", sizeof(struct flow_tx), "flow");
    report_size(r, "flow_rx", sizeof(struct flow_rx), "flow");
    report_size(r, "control", sizeof(struct control), "flow that has not started");
    report_size(r, "cc state, hpcc", (double)cc_hpcc.state_bytes, "flow");
    report_size(r, "cc state, dcqcn", (double)cc_dcqcn.state_bytes, "flow");
    report_size(r, "cc state, dctcp", (double)cc_dctcp.state_bytes, "flow");
    report_size(r, "cc state, timely", (double)cc_timely.state_bytes, "flow");
    report_size(r, "cc state, swift", (double)cc_swift.state_bytes, "flow");
}

static int parse_number(const char *text, int64_t max, int64_t *out)
{
    if (units_parse_decimal(text, 0, out, NULL) || *out < 1 || *out > max) {
        fprintf(stderr, "found '%s', expected a whole number from 1 to %" PRId64 "\n", text, max);
        return WH_ERR_INPUT;
    }
    return 0;
}

/* Returns 0, or the exit code. */
static int parse_own(int argc, char **argv, struct request *q, int *large, int *rows)
{
    int64_t n;

    for (int i = 1; i < argc; i++) {
        const int last = i + 1 == argc;

        if (!strcmp(argv[i], "--large")) {
            *large = 1;
        } else if (!strcmp(argv[i], "--rows")) {
            *rows = 1;
        } else if (!strcmp(argv[i], "--k") && !last) {
            if (parse_number(argv[++i], 1024, &n))
                return 2;
            q->k = (uint32_t)n;
        } else if (!strcmp(argv[i], "--flows") && !last) {
            if (parse_number(argv[++i], 100000000, &n))
                return 2;
            q->flow_count = (uint32_t)n;
        } else if (!strcmp(argv[i], "--bytes") && !last) {
            if (parse_number(argv[++i], INT64_C(1) << 40, &q->bytes))
                return 2;
        } else if (!strcmp(argv[i], "--cc") && !last && !config_cc_from_name(argv[i + 1], &q->cc)) {
            i++;
        } else {
            return measure_unknown(
                argv[i],
                "bench_scale [--rows | --large | --k K [--flows N] [--bytes B]] [--cc NAME]");
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    struct request q = {.bytes = 10000, .cc = CC_HPCC};
    struct measure_options o;
    struct report r;
    int large = 0, rows = 0, rc;

    if (measure_parse(&o, &argc, argv))
        return 2;
    rc = parse_own(argc, argv, &q, &large, &rows);
    if (rc)
        return rc;
    if (large)
        q = (struct request){256, 10000, 10000, q.cc};
    report_begin(&r, rows ? "rows" : "scale", &o);
    if (rows) {
        report_sizes(&r);
    } else if (q.k) {
        rc = measure(&r, &q);
    } else {
        rc = measure(&r, &(struct request){16, 0, 10000, q.cc});
        if (!rc && !o.quick)
            rc = measure(&r, &(struct request){64, 0, 10000, q.cc});
    }
    report_end(&r);
    return rc != 0;
}
