/*
 * cmd_bench_scaling.c - wormhole bench scaling: one scenario on 1, 2, 4, ... threads.
 */
#include "cmd.h"

#include "bare_run.h"
#include "load.h"
#include "pool.h"
#include "progress.h"
#include "scaling_file.h"
#include "scaling_plot.h"
#include "scaling_table.h"
#include "stop.h"
#include "usage.h"

#include <inttypes.h>
#include <stdlib.h>

#define RECORD_TASKS_MAX (UINT64_C(1) << 23) /* 16 bytes each, and 24 a round */
#define DRAW_INTERVAL_S 0.2

struct scaling_cmd {
    struct scaling_options o;
    struct scaling s;
    struct out_set outputs;
    struct out_file *json, *svg; /* rows of outputs; NULL: not asked for */
    struct replay *record;       /* of the observed run on one thread */
    struct scaling_live live;
    struct scaling_now now;
    double begin_wall_s, begin_cpu_s, drawn_s; /* of the run under way */
    uint32_t loaded_count;
    FILE *out, *err;
};

static void print_help(FILE *out)
{
    fprintf(out,
            "usage: wormhole bench scaling SCENARIO.yaml | --hpcc CONFIG.txt [options]\n\n"
            "Runs a scenario on several numbers of threads, checks that the results are the same,\n"
            "and predicts from the tasks of one thread how it would go on more cores.\n\n"
            "  --threads N,N,...      numbers of threads, 1 to 64; 1 is always among them\n"
            "                         [1,2,4,... up to the processors that may be used]\n"
            "  --repetitions N        timed runs of each, 1 to %d [5]; before them one that is\n"
            "                         watched\n"
            "  --engine-check         the serial engine too; then nothing is skipped\n"
            "  --steady, --no-steady, --memo exact|off, and what goes with them: as run\n"
            "  --json FILE            every figure\n"
            "  --svg FILE             speed-ups as a picture; needs gnuplot\n"
            "  --paths FILE, --set KEY=VALUE, --seed S, --end TIME   as run\n"
            "  --quiet                no signs of life, only the tables\n\n"
            "The table is live on a terminal of %d columns; elsewhere each run is a line on\n"
            "standard error. Nothing of a run is written: no results, no logs.\n"
            "Exit codes: 0 done, 1 a run failed, was interrupted or had other results, 2 bad\n"
            "input.\n",
            OPTIONS_REPETITIONS_MAX, SCALING_TABLE_COLUMNS);
}

/* ---- signs of life ---- */

static void draw(struct scaling_cmd *c, const struct sim *run, double now_s)
{
    struct scaling_now *n = &c->now;
    struct sim_counters counters;

    c->drawn_s = now_s;
    sim_counters(run, &counters);
    sim_engine_stats(run, &n->st);
    n->wall_s = now_s - c->begin_wall_s;
    n->cpu_s = usage_cpu_s() - c->begin_cpu_s;
    n->hops_per_s = n->wall_s > 0 ? (double)counters.packet_hops / n->wall_s : 0;
    scaling_live_draw(&c->live, &c->s, n);
}

static int on_poll(void *ctx, struct sim *run)
{
    struct scaling_cmd *c = ctx;

    if (c->live.out) {
        const double now_s = progress_clock_s();

        if (now_s - c->drawn_s >= DRAW_INTERVAL_S)
            draw(c, run, now_s);
    }
    return stop_is_asked();
}

static void say_run(const struct scaling_cmd *c, const struct sim *run, double wall_s, double cpu_s)
{
    const struct sim_engine *engine = &c->s.rows[c->now.row].engine;
    struct sim_counters counters;
    char what[40] = "watched run";

    if (c->live.out || c->o.quiet)
        return;
    if (c->now.run)
        (void)snprintf(what, sizeof what, "run %" PRIu32 " of %" PRIu32, c->now.run,
                       c->s.repetitions);
    sim_counters(run, &counters);
    fprintf(c->err, "wormhole: %s, %u thread%s, %s: %.3f s, %.3f s CPU, %.2f M packet-hops/s\n",
            engine_kind_name(engine->kind), engine->threads, engine->threads == 1 ? "" : "s", what,
            wall_s, cpu_s, wall_s > 0 ? (double)counters.packet_hops / wall_s / 1e6 : 0);
}

/* ---- one run ---- */

static int is_recorded(const struct scaling_cmd *c)
{
    return !c->now.run && c->now.row == c->s.base;
}

static int make_run(struct scaling_cmd *c, struct bare_run *r, struct err_info *e)
{
    const struct warn_sink sink = {load_warning, c->err}, quiet = {NULL, NULL};
    const struct engine_options engine = {.engine = c->s.rows[c->now.row].engine,
                                          .accel = c->o.accel};
    const struct bare_run_options o = {.engine = &engine,
                                       .sink = c->loaded_count++ ? quiet : sink,
                                       .poll = on_poll,
                                       .poll_ctx = c};
    const struct sim_probe probe = {.record = is_recorded(c) ? c->record : NULL, .has_times = 1};
    int rc = load_scenario(&c->o.in, &r->sc, &o.sink, e);

    if (!rc)
        rc = bare_run_make(r, &o, e);
    if (rc)
        return rc;
    (void)snprintf(c->s.scenario, sizeof c->s.scenario, "%s", r->sc.name);
    return c->now.run ? 0 : sim_set_probe(r->s, &probe);
}

static void add_run(struct scaling_cmd *c, const struct sim *run, double wall_s, double cpu_s)
{
    if (c->now.run)
        scaling_add_timed(&c->s, c->now.row, run, wall_s, cpu_s);
    else
        scaling_add_observed(&c->s, c->now.row, run);
}

/* Partitions that were asked for and not made: there is nothing to scale. */
static int check_engine(const struct scaling_cmd *c, const struct sim *run, struct err_info *e)
{
    struct sim_engine_stats st;

    sim_engine_stats(run, &st);
    if (st.kind == c->s.rows[c->now.row].engine.kind)
        return 0;
    return err_set(e, WH_ERR_INPUT, NULL, 0,
                   "found a scenario that only the serial engine can run, on one thread (the order "
                   "of ns-3 together with a workload or link events), expected another");
}

static int execute(struct scaling_cmd *c, struct bare_run *r, struct err_info *e)
{
    double wall_s, cpu_s;
    int rc;

    c->begin_cpu_s = usage_cpu_s();
    c->begin_wall_s = progress_clock_s();
    c->drawn_s = 0;
    rc = bare_run_execute(r, e);
    wall_s = progress_clock_s() - c->begin_wall_s;
    cpu_s = usage_cpu_s() - c->begin_cpu_s;
    if (!rc)
        rc = check_engine(c, r->s, e);
    if (rc)
        return rc;
    add_run(c, r->s, wall_s, cpu_s);
    say_run(c, r->s, wall_s, cpu_s);
    return 0;
}

/* @run: 0 the observed one. */
static int do_run(struct scaling_cmd *c, uint32_t row, uint32_t run, struct err_info *e)
{
    struct bare_run r;
    int rc;

    c->now = (struct scaling_now){.row = row, .run = run};
    scaling_live_draw(&c->live, &c->s, &c->now);
    bare_run_init(&r);
    rc = make_run(c, &r, e);
    if (!rc)
        rc = execute(c, &r, e);
    bare_run_fini(&r);
    return rc;
}

/* Rows take turns: what else the machine does hits them alike. */
static int run_all(struct scaling_cmd *c, struct err_info *e)
{
    int rc = 0;

    for (uint32_t run = 0; run <= c->s.repetitions; run++)
        for (uint32_t row = 0; row < c->s.row_count && !rc; row++)
            rc = do_run(c, row, run, e);
    scaling_live_erase(&c->live);
    return rc;
}

/* ---- what rounds cost ---- */

struct cost_call {
    struct replay_costs costs;
    int rc;
};

static void measure_costs(void *arg, struct pool *p)
{
    struct cost_call *call = arg;

    call->rc = pool_measure_costs(p, &call->costs);
}

/* On the largest team that was run and that has a processor for each. */
static int predict(struct scaling_cmd *c)
{
    const uint32_t most = c->s.rows[c->s.row_count - 1].engine.threads;
    struct pool_options o = {.thread_count = most < c->s.processors ? most : c->s.processors};
    struct cost_call call = {.rc = 0};
    struct pool *pool;

    if (c->s.processors < 2)
        return scaling_predict(&c->s, c->record, NULL, 0);
    o.thread_count = o.thread_count < 2 ? 2 : o.thread_count;
    if (pool_create(&pool, &o))
        return WH_ERR_NOMEM;
    pool_enter(pool, measure_costs, &call);
    pool_destroy(pool);
    return call.rc ? WH_ERR_NOMEM : scaling_predict(&c->s, c->record, &call.costs, o.thread_count);
}

/* ---- the whole ---- */

static int open_outputs(struct scaling_cmd *c, struct err_info *e)
{
    int rc = c->o.svg_path ? scaling_plot_find(e) : 0;

    if (!rc && c->o.json_path)
        rc = out_open(&c->outputs, c->o.json_path, "--json", &c->json, e);
    if (!rc && c->o.svg_path)
        rc = out_open(&c->outputs, c->o.svg_path, "--svg", &c->svg, e);
    return rc;
}

static int write_files(struct scaling_cmd *c, struct err_info *e)
{
    int rc = c->json ? scaling_file_json(c->json, &c->s) : 0;

    if (!rc && c->svg)
        rc = scaling_plot_svg(c->svg, &c->s, e);
    return rc ? rc : out_close(&c->outputs, e);
}

static void print_tables(const struct scaling_cmd *c)
{
    fprintf(c->out, "# %s: processors %u, timed runs %u each: medians, spread from least to most\n",
            c->s.scenario, c->s.processors, c->s.repetitions);
    (void)scaling_print_table(c->out, &c->s, NULL, "\n");
    if (scaling_is_same(&c->s))
        fprintf(c->out, "All runs had the same results (digest %016" PRIx64 ").\n", c->s.digest);
    else
        fprintf(c->out, "RESULTS DIFFER.\n");
    scaling_print_predictions(c->out, &c->s);
    if (scaling_processor_share(&c->s) < SCALING_SHARE_LEAST)
        fprintf(
            c->err,
            "wormhole: warning: one thread got only %.0f %% of a processor: other processes were "
            "running, and the figures are theirs too\n",
            100 * scaling_processor_share(&c->s));
}

static int bench(struct scaling_cmd *c, struct err_info *e)
{
    int rc = replay_create(&c->record, RECORD_TASKS_MAX) ? WH_ERR_NOMEM : open_outputs(c, e);

    if (!rc)
        rc = run_all(c, e);
    if (!rc)
        rc = predict(c);
    if (rc)
        return rc;
    print_tables(c);
    return write_files(c, e);
}

static int exit_code(const struct scaling_cmd *c, int rc, const struct err_info *e)
{
    if (rc == WH_ERR_INTERRUPTED) {
        fprintf(c->err, "wormhole: interrupted by %s; nothing is written\n", stop_name());
        return EXIT_RUN_FAILED;
    }
    if (rc) {
        (void)load_exit_code(rc, e, c->err);
        return rc == WH_ERR_INPUT ? EXIT_BAD_INPUT : EXIT_RUN_FAILED;
    }
    if (scaling_is_same(&c->s))
        return EXIT_DONE;
    fprintf(c->err, "wormhole: results differ between numbers of threads or engines, expected the "
                    "same: this is an error of the program\n");
    return EXIT_RUN_FAILED;
}

int cmd_bench_scaling(int argc, char **argv, FILE *out, FILE *err)
{
    struct err_info e = {.text = ""};
    struct scaling_cmd *c = calloc(1, sizeof *c);
    int rc, code;

    if (!c)
        return load_exit_code(WH_ERR_NOMEM, &e, err);
    c->out = out;
    c->err = err;
    rc = options_parse_scaling(argc, argv, &c->o, &e);
    if (rc == OPTIONS_HELP) {
        print_help(out);
        free(c);
        return EXIT_DONE;
    }
    if (!rc) {
        scaling_init(&c->s, &c->o, engine_processors());
        if (!c->o.quiet)
            scaling_live_init(&c->live, out);
        stop_watch();
        rc = bench(c, &e);
    }
    code = exit_code(c, rc, &e);
    out_discard(&c->outputs); /* nothing is left in it after a success */
    replay_destroy(c->record);
    free(c);
    return code;
}
