/*
 * cmd_bench_collective.c - wormhole bench collective: a sweep of sizes, and nccl-tests' table.
 *
 * Every size runs in a simulation of its own, on an idle network, so that rows do not depend on one
 * another. The network sees no difference between out-of-place and in-place buffers: both halves of
 * the table hold the same run. #wrong counts iterations whose messages do not add up to the closed
 * formula of the collective.
 */
#include "cmd.h"

#include "bench_options.h"
#include "coll_report.h"
#include "load.h"
#include "out_file.h"
#include "scenario_yaml.h"
#include "units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct bench {
    const struct bench_options *o;
    FILE *out, *err;
    struct out_set files;
    FILE *csv, *trace_file; /* NULL: not asked for */
    uint32_t rank_count;
    /* the row under way */
    struct coll_call call;
    struct coll_trace trace;
    FILE *row_trace;           /* NULL unless the row is to be traced */
    uint32_t *calls;           /* shape: [rank_count], collectives that a rank has begun */
    int64_t first_ps, last_ps; /* of the measured iterations */
    uint64_t colls, wrong;
    int rc; /* of writing */
    /* all rows */
    enum coll_algo algo; /* the one that was chosen */
    uint64_t csv_rows;
    uint64_t row_count, wrong_total;
    double busbw_sum;
};

/* ---- one row: the program, what it tells, the network ---- */

static int next_op(void *ctx, uint32_t rank, uint32_t stream, struct op *out)
{
    struct bench *b = ctx;

    (void)stream;
    if (b->calls[rank] == b->o->warmups + b->o->iterations)
        return DAG_END;
    *out = (struct op){.id = b->calls[rank]++, .kind = OP_COLL, .call = b->call};
    return DAG_OP;
}

static void on_op(void *ctx, const struct op_record *r)
{
    struct bench *b = ctx;

    if (b->row_trace)
        coll_trace_op(&b->trace, r);
}

/* Numbers go through all sizes. */
static void write_csv(struct bench *b, const struct coll_record *r)
{
    struct coll_record row = *r;

    row.number = b->csv_rows++;
    if (b->csv && coll_report_csv_row(b->csv, &row))
        b->rc = WH_ERR_IO;
}

static void on_coll(void *ctx, const struct coll_record *r)
{
    struct bench *b = ctx;

    write_csv(b, r);
    b->algo = r->call.algo;
    b->wrong += r->bytes != r->expected_bytes;
    if (b->colls++ == b->o->warmups)
        b->first_ps = r->called_ps;
    b->last_ps = r->end_ps;
}

static const char *stream_name(void *ctx, uint32_t stream)
{
    (void)ctx;
    (void)stream;
    return "communication";
}

static int run_dag(struct bench *b, struct sim *s, const struct placement *place,
                   const struct group_set *groups, struct err_info *e)
{
    const struct dag_spec spec = {.place = place,
                                  .groups = groups,
                                  .program = {.ctx = b, .next = next_op},
                                  .observer = {b, on_op, on_coll},
                                  .stream_count = 1};
    struct dag *d;
    int rc = dag_create(&d, &spec, e);

    if (rc)
        return rc;
    if (b->row_trace)
        coll_trace_begin(&b->trace, b->row_trace, 0, place->rank_count, 1, stream_name, NULL);
    rc = dag_run(d, s, TIME_NEVER, e);
    if (!rc && !dag_is_done(d))
        rc = err_set(e, WH_ERR_STATE, NULL, 0, "the stop time came before the end of the run");
    if (!rc && b->row_trace)
        rc = coll_trace_end(&b->trace);
    dag_destroy(d);
    return rc ? rc : b->rc;
}

static int make_group(struct bench *b, const struct placement *place, struct group_set *groups,
                      struct err_info *e)
{
    uint32_t *ranks = malloc(b->rank_count * sizeof *ranks);
    uint32_t id;
    int rc = ranks ? 0 : WH_ERR_NOMEM;

    for (uint32_t i = 0; i < b->rank_count && ranks; i++)
        ranks[i] = i;
    if (!rc)
        rc = group_set_add(groups, place, "all", ranks, b->rank_count, &id, e);
    free(ranks);
    return rc;
}

#define ACK_EVERY_PACKETS 16u

/* The made-up network: the defaults, but what the options say, and NICs as they are built: one
 * acknowledgement for several packets, and, where the congestion control is not made for one, no
 * window (that of an idle round trip stalls when acknowledgements wait behind data). */
static int make_network(const struct bench_options *o, struct scenario *sc, struct err_info *e)
{
    struct topo_spec spec = o->topo;
    const uint32_t g = spec.gpus_per_server;

    spec.hosts = o->place.rank_count;
    if (spec.kind == TOPO_RAIL)
        spec.hosts = (spec.hosts + g - 1) / g * g; /* whole servers */
    sc->cfg.cc = o->cc;
    sc->cfg.payload_bytes = o->payload_bytes;
    sc->cfg.ack_every_packets = ACK_EVERY_PACKETS;
    if (o->cc == CC_DCQCN || o->cc == CC_NONE)
        sc->cfg.has_window = 0;
    return topo_generate(&spec, &sc->topo, e);
}

static int load_network(struct bench *b, struct scenario *sc, struct err_info *e)
{
    const struct bench_options *o = b->o;
    const struct warn_sink sink = {load_warning, b->err};
    const struct warn_sink quiet = {NULL, NULL};
    struct yaml_override sets[OPTIONS_SETS_MAX];

    if (!o->scenario)
        return make_network(o, sc, e);
    for (uint32_t i = 0; i < o->set_count; i++)
        sets[i] = (struct yaml_override){o->sets[i].key, o->sets[i].value};
    return scenario_load_yaml(o->scenario, sets, o->set_count, sc, b->row_count ? &quiet : &sink,
                              e);
}

static int run_on(struct bench *b, struct scenario *sc, struct err_info *e)
{
    const struct warn_sink quiet = {NULL, NULL};
    struct place_request r = b->o->place;
    struct placement place;
    struct group_set groups = {.count = 0};
    struct accel accel = {.memo = NULL};
    struct sim *s = NULL;
    int rc;

    r.rank_count = b->rank_count;
    if (b->o->topo.kind == TOPO_RAIL && !b->o->scenario)
        r.gpus_per_server = b->o->topo.gpus_per_server;
    rc = placement_init(&place, sc->topo, &r, e);
    if (rc)
        return rc;
    rc = make_group(b, &place, &groups, e);
    if (!rc)
        rc = engine_make_sim(sc, &b->o->engine, &quiet, &accel, &s, e);
    if (!rc)
        rc = run_dag(b, s, &place, &groups, e);
    sim_destroy(s);
    accel_fini(&accel);
    group_set_fini(&groups);
    placement_fini(&place);
    return rc;
}

/* Ranks that each have a part of the buffer of their own. */
static uint64_t part_count(const struct bench *b)
{
    const enum coll_kind k = b->o->call.kind;

    return k == COLL_ALL_GATHER || k == COLL_REDUCE_SCATTER || k == COLL_ALL_TO_ALL ? b->rank_count
                                                                                    : 1;
}

static int run_row(struct bench *b, int64_t bytes, int is_last, struct err_info *e)
{
    struct scenario sc;
    int rc;

    b->call = b->o->call;
    b->call.bytes = bytes;
    b->colls = b->wrong = 0;
    b->row_trace = is_last ? b->trace_file : NULL;
    memset(b->calls, 0, b->rank_count * sizeof *b->calls);
    scenario_init(&sc);
    rc = load_network(b, &sc, e);
    if (!rc)
        rc = run_on(b, &sc, e);
    scenario_fini(&sc);
    return rc;
}

/* ---- the table ---- */

static const char *format_time(double us, char *buf, size_t buf_bytes)
{
    (void)snprintf(buf, buf_bytes, us >= 10000 ? "%7.0f" : us >= 100 ? "%7.1f" : "%7.2f", us);
    return buf;
}

static const char *redop_name(enum coll_kind k)
{
    return k == COLL_ALL_REDUCE || k == COLL_REDUCE_SCATTER || k == COLL_REDUCE ? "sum" : "none";
}

static void print_row(struct bench *b, int64_t bytes, uint64_t count)
{
    const enum coll_kind k = b->o->call.kind;
    const int has_root = k == COLL_BROADCAST || k == COLL_REDUCE;
    const double us = (double)(b->last_ps - b->first_ps) / (double)PS_PER_US / b->o->iterations;
    const double algbw = us > 0 ? (double)bytes / us / 1000 : 0;
    const double busbw = algbw * coll_bus_factor(k, b->rank_count);
    char time[32];

    fprintf(b->out, "%12" PRId64 "  %12" PRIu64 "  %8s  %6s  %6d", bytes, count, b->o->type_name,
            redop_name(k), has_root ? (int)b->o->call.root : -1);
    for (int half = 0; half < 2; half++)
        fprintf(b->out, "  %7s  %6.2f  %6.2f  %5" PRIu64, format_time(us, time, sizeof time), algbw,
                busbw, b->wrong);
    fprintf(b->out, "\n");
    b->busbw_sum += busbw;
    b->wrong_total += b->wrong;
    b->row_count++;
}

static void print_head(const struct bench *b)
{
    static const char half[] = "           out-of-place                       in-place          ";
    const struct bench_options *o = b->o;

    fprintf(b->out, "# wormhole bench collective: %s by %s, ranks %u, channels %u\n",
            coll_kind_name(o->call.kind), coll_algo_name(b->algo), b->rank_count, o->call.channels);
    fprintf(b->out,
            "# minBytes %" PRId64 " maxBytes %" PRId64 " step: %" PRId64
            "(%s) warmup iters: %u iters: %u\n#\n",
            o->first_bytes, o->last_bytes, o->step_bytes ? o->step_bytes : (int64_t)o->factor,
            o->step_bytes ? "bytes" : "factor", o->warmups, o->iterations);
    fprintf(b->out, "# %10s  %12s  %8s  %6s  %6s%s\n", "", "", "", "", "", half);
    fprintf(b->out, "# %10s  %12s  %8s  %6s  %6s", "size", "count", "type", "redop", "root");
    for (int i = 0; i < 2; i++)
        fprintf(b->out, "  %7s  %6s  %6s %6s", "time", "algbw", "busbw", "#wrong");
    fprintf(b->out, "\n# %10s  %12s  %8s  %6s  %6s", "(B)", "(elements)", "", "", "");
    for (int i = 0; i < 2; i++)
        fprintf(b->out, "  %7s  %6s  %6s  %5s", "(us)", "(GB/s)", "(GB/s)", "");
    fprintf(b->out, "\n");
}

static void print_foot(const struct bench *b)
{
    fprintf(b->out, "# Out of bounds values : %" PRIu64 " %s\n", b->wrong_total,
            b->wrong_total ? "FAILED" : "OK");
    fprintf(b->out, "# Avg bus bandwidth    : %g\n#\n",
            b->row_count ? b->busbw_sum / (double)b->row_count : 0);
}

static int64_t next_size(const struct bench_options *o, int64_t bytes)
{
    return o->step_bytes ? bytes + o->step_bytes : bytes * o->factor;
}

static int sweep(struct bench *b, struct err_info *e)
{
    const struct bench_options *o = b->o;

    for (int64_t asked = o->first_bytes; asked <= o->last_bytes; asked = next_size(o, asked)) {
        /* as nccl-tests: whole elements, the same number in each part */
        const uint64_t part_bytes = part_count(b) * o->call.elem_bytes;
        const uint64_t count = (uint64_t)asked / part_bytes;
        const int64_t bytes = (int64_t)(count * part_bytes);
        const int rc = run_row(b, bytes, next_size(o, asked) > o->last_bytes, e);

        if (rc)
            return rc;
        if (!b->row_count)
            print_head(b);
        print_row(b, bytes, count);
        if (fflush(b->out))
            return WH_ERR_IO;
    }
    print_foot(b);
    return 0;
}

/* ---- the command ---- */

/* Ranks of the run; from the scenario if they were not given. */
static int count_ranks(struct bench *b, struct err_info *e)
{
    struct scenario sc;
    int rc;

    b->rank_count = b->o->place.rank_count;
    if (b->rank_count)
        return 0;
    scenario_init(&sc);
    rc = load_network(b, &sc, e);
    if (!rc)
        b->rank_count = sc.topo->host_count;
    scenario_fini(&sc);
    return rc;
}

static int open_files(struct bench *b, struct err_info *e)
{
    struct out_file *f;
    int rc = 0;

    if (b->o->csv_path) {
        rc = out_open(&b->files, b->o->csv_path, "--csv", &f, e);
        b->csv = rc ? NULL : f->f;
        if (!rc)
            fprintf(b->csv, "%s\n", COLL_CSV_HEADER);
    }
    if (!rc && b->o->trace_path) {
        rc = out_open(&b->files, b->o->trace_path, "--trace", &f, e);
        b->trace_file = rc ? NULL : f->f;
    }
    return rc;
}

static int run_bench(struct bench *b, struct err_info *e)
{
    int rc = count_ranks(b, e);

    if (!rc) {
        b->calls = calloc(b->rank_count, sizeof *b->calls);
        rc = b->calls ? open_files(b, e) : WH_ERR_NOMEM;
    }
    if (!rc)
        rc = sweep(b, e);
    free(b->calls);
    if (rc == WH_ERR_IO && !e->text[0])
        (void)err_set(e, rc, NULL, 0, "cannot write: %s", strerror(errno));
    if (rc) {
        out_discard(&b->files);
        return rc;
    }
    rc = out_flush(&b->files, e);
    if (!rc)
        return out_close(&b->files, e);
    out_discard(&b->files);
    return rc;
}

int cmd_bench_collective(int argc, char **argv, FILE *out, FILE *err)
{
    struct err_info e = {.text = ""};
    struct bench_options o;
    struct bench b = {.o = &o, .out = out, .err = err};
    int rc = bench_parse(argc, argv, &o, &e);

    if (rc == OPTIONS_HELP) {
        bench_print_help(out);
        return EXIT_DONE;
    }
    if (!rc)
        rc = run_bench(&b, &e);
    if (!rc)
        return b.wrong_total ? EXIT_RUN_FAILED : EXIT_DONE;
    return rc == WH_ERR_INPUT ? load_exit_code(rc, &e, err)
                              : (load_exit_code(rc, &e, err), EXIT_RUN_FAILED);
}
