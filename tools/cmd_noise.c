/*
 * cmd_noise.c - wormhole noise: repeats a run under disturbances that mean nothing, and reports by
 * how much its results move.
 */
#include "cmd.h"

#include "bare_run.h"
#include "describe.h"
#include "load.h"
#include "noise_file.h"
#include "progress.h"
#include "stop.h"
#include "units.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define COMMAND_BYTES_MAX 4096

struct noise_cmd {
    struct noise_options o;
    const char *dir;
    char command[COMMAND_BYTES_MAX];
    struct out_set outputs;
    struct out_file *json, *csv; /* rows of outputs */
    struct noise n;
    uint64_t *seeds; /* shape: [run_count + 1], of random draws */
    char scenario[128], cc[256];
    int has_draws; /* the seed differs too */
    struct progress progress;
    FILE *out, *err;
};

/* One of the runs, from scenario to results. */
struct noise_cmd_run {
    struct perturb p;
    struct bare_run bare;
    double iteration_s; /* < 0: none */
};

static void print_help(FILE *out)
{
    fprintf(
        out,
        "usage: wormhole noise SCENARIO.yaml | --hpcc CONFIG.txt [options]\n\n"
        "Runs the scenario as it is, then N times with starts shifted by 0 to %d ns (flows of\n"
        "a list each, in a workload the ranks) and, where packets meet random draws that count\n"
        "(marks under DCQCN or DCTCP, losses), another seed. Reports by how much results move\n"
        "that way: smaller differences between two runs mean nothing.\n\n"
        "  --runs N               disturbed runs, 1 to %d [3]\n"
        "  -o DIR, --output DIR   output folder, created if missing [" OPTIONS_DEFAULT_DIR "]\n"
        "  --paths FILE           paths of the flows (with --hpcc)\n"
        "  --set KEY=VALUE        override a setting (dotted name; with --hpcc a key of the\n"
        "                         file); may be repeated\n"
        "  --seed S               seed of all random draws\n"
        "  --end TIME             stop time of each run, such as 10ms\n" ENGINE_OPTIONS_HELP
        "  --quiet                no table\n"
        "  --progress auto|off|json   progress on standard error [auto: on a terminal]\n\n"
        "Writes " NOISE_JSON " and " NOISE_CSV " into the folder, and no result of a single\n"
        "run; 'wormhole compare A B --noise DIR' judges differences by it.\n"
        "Exit codes: 0 done, 1 a run failed or was interrupted, 2 bad input.\n",
        PERTURB_SHIFT_NS_MAX, OPTIONS_NOISE_RUNS_MAX);
}

static int on_poll(void *ctx, struct sim *s)
{
    struct noise_cmd *c = ctx;

    progress_poll(&c->progress, s);
    return stop_is_asked();
}

/* ---- one run ---- */

static int make_run(struct noise_cmd *c, struct noise_cmd_run *r, struct err_info *e)
{
    const struct warn_sink sink = {load_warning, c->err}, quiet = {NULL, NULL};
    struct scenario *sc = &r->bare.sc;
    const struct bare_run_options o = {.engine = &c->o.engine,
                                       .shift = r->p.run ? &r->p : NULL,
                                       .sink = r->p.run ? quiet : sink,
                                       .poll = on_poll,
                                       .poll_ctx = c};
    const int rc = load_scenario(&c->o.in, sc, &o.sink, e);

    if (rc)
        return rc;
    r->p = perturb_of(sc, r->p.run);
    c->has_draws = perturb_draws(sc);
    perturb_scenario(&r->p, sc);
    c->seeds[r->p.run] = sc->cfg.seed;
    return bare_run_make(&r->bare, &o, e);
}

/* Returns 0 or EXIT_RUN_FAILED, having said why. */
static int execute(struct noise_cmd *c, struct noise_cmd_run *r)
{
    struct err_info e = {.text = ""};
    int rc;

    progress_init(&c->progress, c->err, c->o.quiet ? PROGRESS_OFF : c->o.progress);
    rc = bare_run_execute(&r->bare, &e);
    progress_end(&c->progress, r->bare.s);
    if (rc == WH_ERR_INTERRUPTED)
        fprintf(c->err, "wormhole: interrupted by %s; nothing is written\n", stop_name());
    else if (rc)
        fprintf(c->err, "wormhole: run %" PRIu32 " failed: %s; nothing is written\n", r->p.run,
                e.text[0] ? e.text : err_text(rc));
    if (r->bare.workload && rc == WH_ERR_INPUT)
        workload_run_blocked(r->bare.workload, c->err);
    return rc ? EXIT_RUN_FAILED : 0;
}

/* Flows of a list keep the start that the list gives them: it is what tells them apart. */
static int collect_rows(const struct noise_cmd_run *r, struct fct_table *t)
{
    const struct sim *s = r->bare.s;
    const uint32_t flow_count = sim_flow_count(s);
    int rc = 0;

    for (uint32_t i = 0; i < flow_count && !rc; i++) {
        const struct flow_spec *f = sim_flow_spec(s, i);
        const struct flow_result *x = sim_flow_result(s, i);
        const int64_t start_ps = x->start_ps - (r->bare.workload ? 0 : perturb_shift_ps(&r->p, i));

        rc = fct_table_append(
            t, &(struct fct_row){.src = f->src,
                                 .dst = f->dst,
                                 .sport = x->sport,
                                 .dport = f->dport,
                                 .bytes = f->bytes,
                                 .start_ns = (start_ps + PS_PER_NS / 2) / PS_PER_NS,
                                 .fct_ps = x->state == FLOW_DONE ? x->end_ps - x->start_ps : -1});
    }
    return rc;
}

static int collect_run(struct noise_cmd *c, struct noise_cmd_run *r)
{
    struct fct_table t = {.rows = NULL};
    int rc = collect_rows(r, &t);

    r->iteration_s = -1;
    if (r->bare.workload) {
        struct workload_figures f;

        workload_run_figures(r->bare.workload, &f);
        r->iteration_s = f.iteration_time_s;
    }
    if (!rc && r->p.run)
        rc = noise_add(&c->n, &t, r->iteration_s);
    else if (!rc)
        rc = noise_begin(&c->n, &t, r->bare.workload ? FCT_BY_ORDER : FCT_BY_START, r->iteration_s);
    fct_table_fini(&t);
    return rc;
}

/* ---- the whole ---- */

static int open_outputs(struct noise_cmd *c, struct err_info *e)
{
    const char *key = c->o.out_dir ? "-o" : "output folder";
    char path[OUT_PATH_MAX];
    int rc = out_make_dir(c->dir, key, e);

    if (!rc && out_join(c->dir, NOISE_JSON, path, sizeof path))
        rc = err_set(e, WH_ERR_INPUT, c->dir, 0, "-o: the path is too long");
    if (!rc)
        rc = out_open(&c->outputs, path, key, &c->json, e);
    if (!rc && out_join(c->dir, NOISE_CSV, path, sizeof path))
        rc = err_set(e, WH_ERR_INPUT, c->dir, 0, "-o: the path is too long");
    return rc ? rc : out_open(&c->outputs, path, key, &c->csv, e);
}

/* What is said about the scenario comes from its first run. */
static int begin(struct noise_cmd *c, const struct noise_cmd_run *r, struct err_info *e)
{
    (void)snprintf(c->scenario, sizeof c->scenario, "%s", r->bare.sc.name);
    describe_cc(sim_config(r->bare.s), c->cc, sizeof c->cc);
    if (!c->o.quiet)
        fprintf(c->err,
                "wormhole: noise floor of %s: %u hosts, congestion control %s; %" PRId64
                " runs with starts shifted by 0 to %d ns%s\n",
                c->scenario, sim_topo(r->bare.s)->host_count, c->cc, c->o.run_count,
                PERTURB_SHIFT_NS_MAX, c->has_draws ? ", each with a seed of its own" : "");
    return open_outputs(c, e);
}

/* Returns an exit code. */
static int do_run(struct noise_cmd *c, uint32_t run)
{
    struct noise_cmd_run r = {.p.run = run};
    struct err_info e = {.text = ""};
    int rc, code = EXIT_DONE;

    bare_run_init(&r.bare);
    rc = make_run(c, &r, &e);
    if (!rc && run == 0)
        rc = begin(c, &r, &e);
    if (!rc) {
        code = execute(c, &r);
        rc = code ? 0 : collect_run(c, &r);
    }
    if (rc)
        code = load_exit_code(rc, &e, c->err);
    bare_run_fini(&r.bare);
    return code;
}

static void print_figure(FILE *out, const char *title, const struct noise_figure *f)
{
    fprintf(out, "%-30s %9.4f%% %9.4f%%\n", title, 100 * f->mean, 100 * f->max);
}

static void print_class(FILE *out, const struct noise_floor *f, uint32_t class_id)
{
    char name[32], title[64];

    size_class_name(class_id, name, sizeof name);
    (void)snprintf(title, sizeof title, "%s B, mean", name);
    print_figure(out, title, &f->by_size[class_id][NOISE_FCT_MEAN]);
    (void)snprintf(title, sizeof title, "%s B, 99th percentile", name);
    print_figure(out, title, &f->by_size[class_id][NOISE_FCT_P99]);
}

static void print_table(const struct noise_cmd *c, const struct noise_floor *f)
{
    fprintf(c->out, "scenario        %s\ncongestion ctl  %s\n", f->scenario, c->cc);
    fprintf(c->out, "flows           %" PRIu64 " finished of %" PRIu64 "\n", f->flow_count,
            c->n.base.count);
    fprintf(c->out, "disturbed runs  %" PRIu32 ": starts shifted by 0 to %d ns%s\n", f->run_count,
            PERTURB_SHIFT_NS_MAX, c->has_draws ? ", other seeds" : "");
    fprintf(c->out, "%-30s %10s %10s\n", "change by a disturbance", "mean", "largest");
    for (enum noise_kind k = 0; k < NOISE_KIND_COUNT; k++)
        if (k != NOISE_ITERATION_TIME || f->has_iteration)
            print_figure(c->out, noise_kind_title(k), &f->all[k]);
    for (uint32_t i = 0; i < SIZE_CLASS_COUNT; i++)
        if (f->class_flows[i])
            print_class(c->out, f, i);
    fprintf(c->out, "output          %s\n", c->dir);
}

static int write_results(struct noise_cmd *c, struct err_info *e)
{
    struct noise_floor floor;
    int rc;

    noise_calc_floor(&c->n, &floor);
    (void)snprintf(floor.scenario, sizeof floor.scenario, "%s", c->scenario);
    noise_file_csv(c->csv, &c->n);
    rc = noise_file_json(
        c->json,
        &(struct noise_record){
            .n = &c->n, .floor = &floor, .command = c->command, .cc = c->cc, .seeds = c->seeds});
    if (!rc)
        rc = out_close(&c->outputs, e);
    if (!rc && !c->o.quiet)
        print_table(c, &floor);
    return rc;
}

/* Without a flow that finished twice there is no floor. Unfinished ones are said. */
static int check_flows(const struct noise_cmd *c)
{
    const struct fct_comparison *x = &c->n.runs[0].c;

    for (uint32_t i = 0; i < c->n.run_count; i++)
        if (c->n.runs[i].c.all.abs_error.count == 0) {
            fprintf(c->err,
                    "wormhole: no flow is finished in both the undisturbed run and run "
                    "%" PRIu32 "; nothing is written\n",
                    i + 1);
            return EXIT_RUN_FAILED;
        }
    if (x->unfinished_in_a)
        fprintf(c->err,
                "wormhole: warning: %" PRIu64 " flows of the undisturbed run are unfinished and "
                "left out\n",
                x->unfinished_in_a);
    return EXIT_DONE;
}

static int run_all(struct noise_cmd *c)
{
    struct err_info e = {.text = ""};
    int code = EXIT_DONE, rc;

    c->seeds = calloc((size_t)c->o.run_count + 1, sizeof *c->seeds);
    if (!c->seeds)
        return load_exit_code(WH_ERR_NOMEM, &e, c->err);
    for (uint32_t i = 0; i <= c->o.run_count && !code; i++)
        code = do_run(c, i);
    if (!code)
        code = check_flows(c);
    if (code)
        return code;
    rc = write_results(c, &e);
    if (!rc)
        return EXIT_DONE;
    (void)load_exit_code(rc, &e, c->err);
    return EXIT_RUN_FAILED;
}

/* Before the options are parsed, which cuts --set in two. */
static void note_command(struct noise_cmd *c, int argc, char **argv)
{
    size_t at = (size_t)snprintf(c->command, sizeof c->command, "wormhole");

    for (int i = 0; i < argc && at < sizeof c->command; i++)
        at += (size_t)snprintf(c->command + at, sizeof c->command - at, " %s", argv[i]);
}

int cmd_noise(int argc, char **argv, FILE *out, FILE *err)
{
    struct err_info e = {.text = ""};
    struct noise_cmd *c = calloc(1, sizeof *c);
    int rc, code;

    if (!c)
        return load_exit_code(WH_ERR_NOMEM, &e, err);
    c->out = out;
    c->err = err;
    note_command(c, argc, argv);
    rc = options_parse_noise(argc, argv, &c->o, &e);
    if (rc == OPTIONS_HELP)
        print_help(out);
    c->dir = c->o.out_dir ? c->o.out_dir : OPTIONS_DEFAULT_DIR;
    if (!rc)
        stop_watch();
    code = rc == OPTIONS_HELP ? EXIT_DONE : rc ? load_exit_code(rc, &e, err) : run_all(c);
    out_discard(&c->outputs); /* nothing is left in it after a success */
    noise_fini(&c->n);
    free(c->seeds);
    free(c);
    return code;
}
