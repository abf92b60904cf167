/*
 * bench_control.c - what a control event costs when nothing is left to execute, by the number of
 * partitions.
 *
 * Pairs of hosts, each with a switch of its own and so a partition of its own, send one message
 * after the other, 1 us between them. After the first few all of them are known and replayed; what
 * is left are their starts, completions, and ends of what their acknowledgements are charged, and
 * the rounds in between. "together": all pairs in step, many events of one instant. "apart": each
 * pair begins at a time of its own, so that nearly each event has a round of its own: the worst
 * case for loops over partitions.
 */
#include "measure.h"
#include "memo.h"
#include "sim.h"
#include "steady.h"
#include "units.h"

#include <stdio.h>
#include <stdlib.h>

#define FLOWS (UINT32_C(1) << 20) /* of all pairs */
#define MESSAGE_BYTES 100000
#define GAP_PS PS_PER_US
#define APART_PS (11 * PS_PER_NS)

struct load {
    uint32_t pairs, left; /* left: flows to come */
    int64_t apart_ps;
    enum memo_lens lens;
    int rc;
};

/* ---- the run ---- */

/* Pair i: hosts 2 i and 2 i + 1 at switch 2 pairs + i. */
static int make_topo(struct topo **out, uint32_t pairs)
{
    const struct link_class link = {.rate_bps = INT64_C(100000000000), .delay_ps = PS_PER_US};
    struct topo *t = NULL;
    int64_t row;
    int rc = topo_create(&t, 3 * pairs);

    if (rc)
        return rc;
    row = topo_add_class(t, &link);
    rc = row < 0 ? (int)row : 0;
    for (uint32_t i = 0; i < pairs && !rc; i++) {
        topo_set_kind(t, 2 * pairs + i, NODE_SWITCH);
        rc = topo_add_link(t, 2 * i, 2 * pairs + i, (uint32_t)row);
        if (!rc)
            rc = topo_add_link(t, 2 * i + 1, 2 * pairs + i, (uint32_t)row);
    }
    if (!rc)
        rc = topo_finish(t);
    if (rc)
        topo_destroy(t);
    *out = rc ? NULL : t;
    return rc;
}

static int send(struct sim *s, uint32_t pair, int64_t at_ps)
{
    const struct flow_spec f = {.start_ps = at_ps,
                                .bytes = MESSAGE_BYTES,
                                .src = 2 * pair,
                                .dst = 2 * pair + 1,
                                .sport = 1,
                                .dport = 100,
                                .prio = 3};

    return sim_add_flow(s, &f, NULL);
}

static void on_complete(void *ctx, struct sim *s, uint32_t flow, int64_t now_ps)
{
    struct load *l = ctx;

    if (!l->left || l->rc)
        return;
    l->left--;
    l->rc = send(s, sim_flow_spec(s, flow)->src / 2, now_ps + GAP_PS);
}

static int prepare(struct sim *s, struct load *l, struct memo *m, struct steady *st)
{
    const struct sim_engine engine = {.kind = ENGINE_PARTITIONED, .threads = 1};
    struct watch_ops watch;
    struct memo_ops memo;
    int rc = sim_set_engine(s, &engine);

    steady_ops(st, &watch);
    memo_ops(m, &memo);
    if (!rc)
        rc = sim_set_watch(s, &watch);
    if (!rc)
        rc = sim_set_memo(s, &memo);
    sim_set_hooks(s, &(struct sim_hooks){.ctx = l, .on_complete = on_complete});
    for (uint32_t i = 0; i < l->pairs && !rc; i++)
        rc = send(s, i, (int64_t)i * l->apart_ps);
    l->left = FLOWS - l->pairs;
    return rc;
}

/* CPU seconds of the run without set-up. */
static int run(struct load *l, double *cpu_s, struct sim_engine_stats *engine)
{
    const struct memo_options mo = {.lens = l->lens, .worker_count = 1};
    const struct detect_spec spec = {0};
    struct err_info e = {.text = ""};
    struct sim_config cfg;
    struct topo *t = NULL;
    struct memo *m = NULL;
    struct steady st;
    struct sim *s = NULL;
    int rc;

    config_init(&cfg);
    cfg.ack = ACK_CHARGED;
    rc = make_topo(&t, l->pairs);
    if (!rc)
        rc = steady_init(&st, &cfg, &spec, &e);
    if (!rc)
        rc = memo_create(&m, &mo, &e);
    if (!rc)
        rc = sim_create(&s, t, &cfg, NULL, &e);
    if (rc)
        topo_destroy(t);
    if (!rc)
        rc = prepare(s, l, m, &st);
    if (!rc) {
        const double before = measure_cpu_s();

        rc = sim_run(s, TIME_NEVER);
        *cpu_s = measure_cpu_s() - before;
        sim_engine_stats(s, engine);
    }
    sim_destroy(s);
    memo_destroy(m);
    return rc ? rc : l->rc;
}

/* ---- the table ---- */

static int measure(struct report *r, const struct load *load, const char *name)
{
    double *ns = malloc(r->o->repetitions * sizeof *ns);
    struct sim_engine_stats engine = {0};
    struct spread spread;
    int rc = ns ? 0 : WH_ERR_NOMEM;

    for (uint32_t i = 0; i < r->o->repetitions && !rc; i++) {
        struct load l = *load;
        double cpu_s = 0;

        rc = run(&l, &cpu_s, &engine);
        ns[i] = cpu_s * 1e9 / (3.0 * FLOWS); /* start, completion, end of the charge */
    }
    if (!rc) {
        spread = measure_spread(ns, r->o->repetitions);
        report_text(r, "case", name);
        report_number(r, "partitions", load->pairs);
        report_number(r, "flows", FLOWS);
        report_number(r, "rounds", (double)engine.rounds);
        report_spread(r, "ns_per_control_event", "min", "max", &spread);
        report_row(r);
    }
    free(ns);
    return rc;
}

int main(int argc, char **argv)
{
    static const uint32_t pairs[] = {64, 1024, 8192};
    static const struct {
        const char *name;
        int64_t apart_ps;
        enum memo_lens lens;
    } cases[] = {{"together-exact", 0, MEMO_EXACT},
                 {"apart-exact", APART_PS, MEMO_EXACT},
                 {"together-fcg", 0, MEMO_FCG},
                 {"apart-fcg", APART_PS, MEMO_FCG}};
    struct measure_options o = {.repetitions = 5};
    struct report r;
    int rc = measure_parse(&o, &argc, argv);

    if (rc)
        return 2;
    if (argc > 1)
        return measure_unknown(argv[1], "[--only TEXT] [--repetitions N] [--json]");
    report_begin(&r, "control", &o);
    for (size_t c = 0; c < sizeof cases / sizeof *cases && !rc; c++)
        for (size_t i = 0; i < sizeof pairs / sizeof *pairs && !rc; i++) {
            const struct load l = {
                .pairs = pairs[i], .apart_ps = cases[c].apart_ps, .lens = cases[c].lens};

            if (measure_is_wanted(&o, cases[c].name))
                rc = measure(&r, &l, cases[c].name);
        }
    report_end(&r);
    if (rc)
        fprintf(stderr, "bench_control: %s\n", err_text(rc));
    return rc ? 1 : 0;
}
