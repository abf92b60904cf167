/*
 * Runs of the reference simulator (data/reference): the same input has to give the same flow
 * completion times. HPCC, TIMELY and DCTCP to the nanosecond; DCQCN marks at random, so there the
 * mean over seeds has to lie within the range that the reference shows over its own seeds.
 *
 * S7 takes a long time. Its first round of flows is compared in optimised builds; the whole run
 * where WORMHOLE_SLOW_TESTS is set in the environment.
 */
#include "hpcc.h"
#include "sim_fixture.h"
#include "units.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define REFERENCE TEST_DATA_DIR "/reference/"
#define SEED_COUNT 8

static struct sim *load(const char *run, const char *seed)
{
    const struct hpcc_override with_seed = {"SEED", seed};
    struct err_info e = {0};
    struct scenario sc;
    struct sim *s = NULL;
    char path[512];
    int rc;

    snprintf(path, sizeof path, REFERENCE "%s/config.txt", run);
    scenario_init(&sc);
    rc = hpcc_load(path, NULL, seed ? &with_seed : NULL, seed ? 1 : 0, &sc, NULL, &e);
    cr_assert_eq(rc, 0, "%s: %s", run, e.text);
    rc = scenario_make_sim(&sc, NULL, &s, &e);
    cr_assert_eq(rc, 0, "%s: %s", run, e.text);
    scenario_fini(&sc);
    return s;
}

static FILE *open_file(const char *run, const char *name)
{
    char path[512];
    FILE *f;

    snprintf(path, sizeof path, REFERENCE "%s/%s", run, name);
    f = fopen(path, "r");
    cr_assert(f, "cannot read %s", path);
    return f;
}

/* ---- flow completion times ---- */

struct fct_line {
    uint32_t src_ip, dst_ip, sport, dport;
    int64_t bytes, start_ns, fct_ns, ideal_ns;
};

static int read_fct(FILE *f, struct fct_line *l)
{
    return fscanf(f, "%x %x %u %u %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64, &l->src_ip,
                  &l->dst_ip, &l->sport, &l->dport, &l->bytes, &l->start_ns, &l->fct_ns,
                  &l->ideal_ns) == 8;
}

static uint32_t find_flow(const struct sim *s, const struct fct_line *l)
{
    for (uint32_t i = 0; i < sim_flow_count(s); i++) {
        const struct flow_spec *f = sim_flow_spec(s, i);

        if (hpcc_node_ip(f->src) == l->src_ip && hpcc_node_ip(f->dst) == l->dst_ip &&
            sim_flow_result(s, i)->sport == l->sport && f->start_ps == l->start_ns * PS_PER_NS)
            return i;
    }
    cr_assert(0, "no flow from %x, port %u", l->src_ip, l->sport);
    return 0;
}

/* Lines of flows that start before @before_ps. Returns their number. */
static uint32_t compare_fct(const struct sim *s, const char *run, int64_t before_ps)
{
    FILE *f = open_file(run, "fct.txt");
    struct fct_line l;
    uint32_t count = 0;

    while (read_fct(f, &l)) {
        uint32_t i;

        if (l.start_ns * PS_PER_NS >= before_ps)
            continue;
        i = find_flow(s, &l);
        cr_assert_eq(fix_fct(s, i), l.fct_ns * PS_PER_NS,
                     "%s: flow %u takes %" PRId64 " ps, the reference %" PRId64 " ns", run, i,
                     fix_fct(s, i), l.fct_ns);
        cr_assert_eq(sim_flow_result(s, i)->ideal_ps, l.ideal_ns * PS_PER_NS, "%s: flow %u", run,
                     i);
        cr_assert_eq(sim_flow_spec(s, i)->dport, l.dport);
        count++;
    }
    cr_assert(feof(f), "%s: fct.txt has a line that is not understood", run);
    fclose(f);
    return count;
}

/* ---- counters ---- */

static int64_t run_value(const char *run, const char *key)
{
    FILE *f = open_file(run, "run.json");
    char text[4096], quoted[64];
    const size_t bytes = fread(text, 1, sizeof text - 1, f);
    const char *at;

    fclose(f);
    text[bytes] = 0;
    snprintf(quoted, sizeof quoted, "\"%s\":", key);
    at = strstr(text, quoted);
    cr_assert(at, "%s: no %s in run.json", run, key);
    return strtoll(at + strlen(quoted), NULL, 10);
}

static void compare_value(const char *run, const char *key, uint64_t ours)
{
    const int64_t theirs = run_value(run, key);

    cr_assert_eq(ours, (uint64_t)theirs, "%s: %s is %" PRIu64 ", in the reference %" PRId64, run,
                 key, ours, theirs);
}

/* Marks between kmin and kmax are drawn: two such sums differ by their deviations, 4 sigma. Where
 * kmin = kmax nothing is drawn. */
static void compare_marks(const struct sim *s, const char *run, uint64_t ours)
{
    const double theirs = (double)run_value(run, "ecn_marks");
    const struct ecn_row *row = &sim_config(s)->ecn_rows[0];
    const double allowed = row->kmin_bytes == row->kmax_bytes ? 0 : 4 * sqrt(2 * theirs);

    cr_assert(fabs((double)ours - theirs) <= allowed, "%s: %" PRIu64 " marks, in the reference %g",
              run, ours, theirs);
}

static void compare_counters(const struct sim *s, const char *run)
{
    const struct sim_counters c = fix_counters(s);

    compare_value(run, "flows_completed", c.flows_finished);
    compare_value(run, "data_packets", c.data_packets);
    compare_value(run, "ack_packets", c.ack_packets + c.nack_packets);
    compare_value(run, "nacks", c.nack_packets);
    compare_marks(s, run, c.marks);
    compare_value(run, "drops", c.drops);
    if (sim_config(s)->pfc)
        compare_value(run, "pfc_pause_frames", c.pauses);
    else /* frames that nobody obeys; each pause has its resume */
        compare_value(run, "pfc_pause_frames", c.pfc_frames / 2);
    compare_value(run, "max_base_rtt_ns", (uint64_t)(c.max_base_rtt_ps / PS_PER_NS));
    compare_value(run, "max_bdp_bytes", (uint64_t)c.max_bdp_bytes);
}

/* ---- paths ---- */

/* Reads "a b c ... |" or to the end of the line and compares with the engine's own choice. */
static void compare_path(const struct sim *s, const char *run, uint32_t flow, int is_ack,
                         const char *text)
{
    const struct topo *t = sim_topo(s);
    uint32_t ports[16];
    const uint32_t links = sim_flow_path(s, flow, is_ack, ports, 16);
    char *end;

    cr_assert(links > 0 && links <= 16, "%s: flow %u has no path", run, flow);
    cr_assert_eq(strtoul(text, &end, 10), t->port_node[ports[0]]);
    for (uint32_t i = 0; i < links; i++) {
        const unsigned long node = strtoul(text = end, &end, 10);

        cr_assert(end > text, "%s: flow %u: path ends after %u links", run, flow, i);
        cr_assert_eq(node, t->port_node[t->port_peer[ports[i]]],
                     "%s: flow %u, %s path, hop %u: node %lu in the reference", run, flow,
                     is_ack ? "ACK" : "data", i, node);
    }
    strtoul(text = end, &end, 10);
    cr_assert_eq(end, text, "%s: flow %u: path is longer than %u links", run, flow, links);
}

static void compare_paths(const struct sim *s, const char *scenario, int64_t before_ps)
{
    FILE *f = open_file(scenario, "paths.txt");
    char line[512];
    uint32_t count = 0, expected = 0;

    while (fgets(line, sizeof line, f)) {
        char *data = strchr(line, '|'), *ack = data ? strchr(data + 1, '|') : NULL;
        const uint32_t flow = (uint32_t)strtoul(line, NULL, 10);

        if (line[0] == '#')
            continue;
        cr_assert(data && ack, "%s: not a path: %s", scenario, line);
        if (sim_flow_spec(s, flow)->start_ps >= before_ps)
            continue;
        *ack = 0;
        compare_path(s, scenario, flow, 0, data + 1);
        compare_path(s, scenario, flow, 1, ack + 1);
        count++;
    }
    fclose(f);
    for (uint32_t i = 0; i < sim_flow_count(s); i++)
        expected += sim_flow_spec(s, i)->start_ps < before_ps;
    cr_assert_eq(count, expected, "%s: %u paths of %u flows", scenario, count, expected);
}

/* ---- pause frames ---- */

struct pfc_log {
    FILE *f;
    const struct topo *topo;
    const char *run;
    uint32_t count;
};

static void compare_pfc(void *ctx, int64_t now_ps, uint32_t port, int is_pause)
{
    struct pfc_log *log = ctx;
    const struct topo *t = log->topo;
    const uint32_t node = t->port_node[port];
    int64_t time;
    uint32_t their_node, type, interface, pause;

    cr_assert_eq(
        fscanf(log->f, "%" SCNd64 " %u %u %u %u", &time, &their_node, &type, &interface, &pause), 5,
        "%s: more pause frames than the reference's %u", log->run, log->count);
    cr_assert_eq(now_ps, time * PS_PER_NS, "%s: frame %u at %" PRId64 " ps, not %" PRId64 " ns",
                 log->run, log->count, now_ps, time);
    cr_assert_eq(node, their_node, "%s: frame %u", log->run, log->count);
    cr_assert_eq(t->kind[node] != NODE_HOST, type);
    cr_assert_eq(port - t->first_port[node] + 1, interface);
    cr_assert_eq(is_pause, (int)pause);
    log->count++;
}

/* ---- runs ---- */

static void compare_run(const char *scenario, const char *scheme)
{
    char run[128];
    struct sim *s;

    snprintf(run, sizeof run, "%s/%s", scenario, scheme);
    s = load(run, NULL);
    fix_run(s);
    cr_assert_eq(compare_fct(s, run, TIME_NEVER), sim_flow_count(s), "%s: flows", run);
    compare_counters(s, run);
    compare_paths(s, scenario, TIME_NEVER);
    sim_destroy(s);
}

static void compare_pfc_log(const char *run)
{
    struct sim *s = load(run, NULL);
    struct pfc_log log = {open_file(run, "pfc.txt"), sim_topo(s), run, 0};
    const struct sim_monitor m = {.ctx = &log, .on_pfc = compare_pfc};
    int64_t rest;

    cr_assert_eq(sim_set_monitor(s, &m), 0);
    fix_run(s);
    cr_assert(log.count > 0);
    cr_assert_eq(fscanf(log.f, "%" SCNd64, &rest), EOF, "%s: only %u pause frames", run, log.count);
    fclose(log.f);
    sim_destroy(s);
}

Test(reference, lone_flow_takes_the_same_nanoseconds)
{
    compare_run("S1_single", "hpcc");
    compare_run("S1_single", "timely");
    compare_run("S1_single", "dctcp");
    compare_run("S1_single", "dcqcn"); /* nothing is marked, so nothing is drawn */
}

Test(reference, incast_of_8_takes_the_same_nanoseconds)
{
    compare_run("S2_incast8", "hpcc");
    compare_run("S2_incast8", "timely");
    compare_run("S2_incast8", "dctcp");
}

Test(reference, dumbbell_takes_the_same_nanoseconds)
{
    compare_run("S3_dumbbell", "hpcc");
    compare_run("S3_dumbbell", "timely");
    compare_run("S3_dumbbell", "dctcp");
}

Test(reference, leaf_spine_takes_the_same_nanoseconds)
{
    compare_run("S4_leafspine16", "hpcc");
    compare_run("S4_leafspine16", "timely");
    compare_run("S4_leafspine16", "dctcp");
}

Test(reference, fat_tree_takes_the_same_nanoseconds)
{
    compare_run("S5_fattree4", "hpcc");
    compare_run("S5_fattree4", "timely");
    compare_run("S5_fattree4", "dctcp");
}

Test(reference, all_to_all_takes_the_same_nanoseconds)
{
    compare_run("S6_a2a64", "hpcc");
    compare_run("S6_a2a64", "dctcp");
}

Test(reference, small_buffer_with_pfc_takes_the_same_nanoseconds)
{
    compare_run("S8_incast16_smallbuf", "hpcc_pfc");
    compare_run("S8_incast16_smallbuf", "timely_pfc");
    compare_run("S8_incast16_smallbuf", "dctcp_pfc");
    compare_run("S8_incast16_smallbuf", "hpcc_nopfc");
    compare_run("S8_incast16_smallbuf", "dctcp_nopfc");
}

Test(reference, go_back_n_after_drops_takes_the_same_nanoseconds)
{
    compare_run("S8b_incast24_loss", "hpcc_nopfc");
    compare_run("S8b_incast24_loss", "dctcp_nopfc");
    compare_run("S8b_incast24_loss", "hpcc_pfc");
    compare_run("S8b_incast24_loss", "dctcp_pfc");
}

Test(reference, pause_frames_arrive_at_the_same_nanosecond_and_port)
{
    compare_pfc_log("S2_incast8/timely");
    compare_pfc_log("S8_incast16_smallbuf/hpcc_pfc");
    compare_pfc_log("S8_incast16_smallbuf/dctcp_pfc");
    compare_pfc_log("S8b_incast24_loss/hpcc_pfc");
}

Test(reference, first_round_of_rings_takes_the_same_nanoseconds)
{
    const int64_t round_ps = 16 * PS_PER_MS;
    struct sim *s;

#ifdef WH_DEBUG
    cr_skip("20 million packet-hops: optimised builds only");
#endif
    s = load("S7_dpring64/hpcc", NULL);
    cr_assert_eq(sim_run(s, round_ps - 1), 0);
    cr_assert_eq(compare_fct(s, "S7_dpring64/hpcc", round_ps), 64);
    compare_paths(s, "S7_dpring64", round_ps);
    sim_destroy(s);
}

Test(reference, rings_of_8_rounds_take_the_same_nanoseconds)
{
    if (!getenv("WORMHOLE_SLOW_TESTS"))
        cr_skip("164 million packet-hops: set WORMHOLE_SLOW_TESTS to run it");
    compare_run("S7_dpring64", "hpcc");
}

/* ---- DCQCN ---- */

/* Smallest and largest mean FCT of the reference's seeds [ns]. */
static void read_seeds(const char *run, double *low_ns, double *high_ns)
{
    FILE *f = open_file(run, "seeds.csv");
    char line[256];
    double mean_us;
    int rows = 0;

    cr_assert(fgets(line, sizeof line, f));
    cr_assert_eq(strncmp(line, "seed,mean_us,", 13), 0);
    while (fgets(line, sizeof line, f) && sscanf(line, "%*d,%lf", &mean_us) == 1) {
        *low_ns = rows && *low_ns < mean_us * 1000 ? *low_ns : mean_us * 1000;
        *high_ns = rows && *high_ns > mean_us * 1000 ? *high_ns : mean_us * 1000;
        rows++;
    }
    fclose(f);
    cr_assert_eq(rows, 12);
}

static double mean_fct_ns(const char *run, int seed)
{
    char text[16];
    struct sim *s;
    double sum = 0;
    uint32_t count;

    snprintf(text, sizeof text, "%d", seed);
    s = load(run, text);
    fix_run(s);
    cr_assert(fix_all_done(s), "%s, seed %d", run, seed);
    count = sim_flow_count(s);
    for (uint32_t i = 0; i < count; i++)
        sum += (double)fix_fct(s, i) / PS_PER_NS;
    sim_destroy(s);
    return sum / count;
}

static void compare_distribution(const char *run)
{
    double low = 0, high = 0, sum = 0;

    read_seeds(run, &low, &high);
    for (int seed = 1; seed <= SEED_COUNT; seed++)
        sum += mean_fct_ns(run, seed);
    cr_assert(sum / SEED_COUNT >= low && sum / SEED_COUNT <= high,
              "%s: mean FCT over %d seeds is %.0f ns, the reference's seeds give %.0f to %.0f", run,
              SEED_COUNT, sum / SEED_COUNT, low, high);
}

Test(reference, dcqcn_mean_of_seeds_lies_in_the_range_of_the_reference)
{
    compare_distribution("S2_incast8/dcqcn");
    compare_distribution("S3_dumbbell/dcqcn");
    compare_distribution("S4_leafspine16/dcqcn");
    compare_distribution("S5_fattree4/dcqcn");
    compare_distribution("S8_incast16_smallbuf/dcqcn_pfc");
}
