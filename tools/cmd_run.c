/*
 * cmd_run.c - wormhole run: reads a scenario, opens all outputs, simulates, writes results.
 *
 * The first SIGINT or SIGTERM ends the simulation at its next poll; results so far are written and
 * marked as incomplete. The second one kills the process.
 */
#include "cmd.h"

#include "describe.h"
#include "foreign_options.h"
#include "load.h"
#include "output_fct.h"
#include "output_logs.h"
#include "output_summary.h"
#include "progress.h"
#include "units.h"
#include "usage.h"
#include "workload_run.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>

#define UNFINISHED_SHOWN 5

/* The one variable of file scope in the tools: a signal handler has no other way to say anything.
 */
static volatile sig_atomic_t stop_signal;

struct run {
    struct run_options o;
    struct scenario sc;
    struct sim *s;
    const char *dir;
    struct out_set outputs;
    struct out_file *fct_csv, *fct_txt, *summary; /* rows of outputs; fct_csv may be NULL */
    struct run_logs *logs;
    struct workload_outputs workload_files; /* rows of outputs */
    struct workload_run *workload;          /* NULL: the scenario has none */
    struct progress progress;
    double wall_s, cpu_s;
    int is_complete;
    FILE *out, *err;
};

static void print_help(FILE *out)
{
    fprintf(out,
            "usage: wormhole run SCENARIO.yaml | --hpcc CONFIG.txt [options]\n"
            "       wormhole run --goal | --cm | --simai | --astra ...: workloads of other tools,\n"
            "                    see 'wormhole run --goal --help'\n\n"
            "  -o DIR, --output DIR   output folder, created if missing [" OPTIONS_DEFAULT_DIR "]\n"
            "  --paths FILE           paths of the flows (with --hpcc)\n"
            "  --set KEY=VALUE        override a setting (dotted name; with --hpcc a key of the\n"
            "                         file); may be repeated\n"
            "  --seed S               seed of all random draws\n"
            "  --end TIME             stop time, such as 10ms\n"
            "  --threads N            worker threads; the serial engine uses one\n"
            "  --engine serial        the engine\n"
            "  --fct-csv yes|no       write fct.csv [yes]\n"
            "  --quiet                no table and no start line\n"
            "  --progress auto|off|json   progress on standard error [auto: on a terminal]\n\n"
            "Writes fct.csv, fct.txt (HPCC format) and summary.json into the folder, and for a\n"
            "workload collectives.csv and trace.json (for Perfetto).\n"
            "Exit codes: 0 done, 1 the run failed or was interrupted, 2 bad input.\n");
}

static void on_signal(int number)
{
    stop_signal = number;
}

static void watch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};

    stop_signal = 0;
    sigemptyset(&action.sa_mask);
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
}

static int on_poll(void *ctx, struct sim *s)
{
    struct run *r = ctx;

    progress_poll(&r->progress, s);
    return stop_signal != 0;
}

static int open_in_dir(struct run *r, const char *name, struct out_file **out, struct err_info *e)
{
    char path[OUT_PATH_MAX];

    if (out_join(r->dir, name, path, sizeof path))
        return err_set(e, WH_ERR_INPUT, r->dir, 0, "-o: the path is too long");
    return out_open(&r->outputs, path, r->o.out_dir ? "-o" : "output folder", out, e);
}

static int open_fct_txt(struct run *r, struct err_info *e)
{
    char path[OUT_PATH_MAX];

    if (!r->sc.fct_path[0])
        return open_in_dir(r, "fct.txt", &r->fct_txt, e);
    if (out_resolve(r->sc.fct_path, r->sc.is_hpcc, r->o.out_dir, r->dir, path, sizeof path))
        return err_set(e, WH_ERR_INPUT, r->sc.fct_path, 0, "%s: the path is too long",
                       r->sc.fct_key);
    return out_open(&r->outputs, path, r->sc.fct_key[0] ? r->sc.fct_key : "fct.txt", &r->fct_txt,
                    e);
}

static int open_outputs(struct run *r, struct err_info *e)
{
    int rc = out_make_dir(r->dir, r->o.out_dir ? "-o" : "output folder", e);

    if (!rc)
        rc = open_in_dir(r, "summary.json", &r->summary, e);
    if (!rc && r->o.fct_csv)
        rc = open_in_dir(r, "fct.csv", &r->fct_csv, e);
    if (!rc)
        rc = open_fct_txt(r, e);
    if (!rc && r->sc.llm)
        rc = open_in_dir(r, "collectives.csv", &r->workload_files.collectives, e);
    if (!rc && r->sc.llm)
        rc = open_in_dir(r, "trace.json", &r->workload_files.trace, e);
    if (!rc)
        rc = run_logs_open(&r->logs, &r->sc, r->sc.topo, r->o.out_dir, r->dir, &r->outputs, e);
    return rc;
}

/* Everything up to the first event. */
static int prepare(struct run *r, struct err_info *e)
{
    const struct warn_sink sink = {load_warning, r->err};
    const struct sim_hooks hooks = {.ctx = r, .on_poll = on_poll};
    int rc = load_scenario(&r->o.in, &r->sc, &sink, e);

    if (!rc)
        rc = open_outputs(r, e);
    if (!rc)
        rc = scenario_make_sim(&r->sc, &sink, &r->s, e);
    if (rc)
        return rc;
    sim_set_hooks(r->s, &hooks);
    if (r->sc.llm)
        rc = workload_run_create(&r->workload, &r->sc, r->s, &r->workload_files, on_poll, r, e);
    return rc ? rc : run_logs_attach(r->logs, r->s);
}

static void print_start(const struct run *r)
{
    char cc[256];

#ifdef WH_DEBUG
    if (!r->o.quiet)
        fprintf(r->err, "wormhole: debug build: slow, with checks\n");
#endif
    if (r->o.threads > 1)
        fprintf(r->err,
                "wormhole: warning: --threads %" PRId64 " accepted, no effect: the serial "
                "engine uses one thread\n",
                r->o.threads);
    if (r->o.quiet)
        return;
    if (r->workload)
        fprintf(r->err, "wormhole: workload: %u ranks, %u micro-batches, %u iterations\n",
                llm_rank_count(r->sc.llm), r->sc.llm->micro_batches, r->sc.llm->iterations);
    fprintf(r->err, "wormhole: %u hosts, %u flows, congestion control %s\n",
            sim_topo(r->s)->host_count, sim_flow_count(r->s),
            describe_cc(sim_config(r->s), cc, sizeof cc));
}

static int run_all(struct run *r, struct err_info *e)
{
    if (stop_signal)
        return WH_ERR_INTERRUPTED;
    return r->workload ? workload_run_execute(r->workload, r->s, e) : sim_run(r->s, TIME_NEVER);
}

static void say_failure(const struct run *r, int rc, const struct err_info *e)
{
    fprintf(r->err, "wormhole: the simulation failed: %s; results so far are written\n",
            e->text[0] ? e->text : err_text(rc));
    if (r->workload && rc == WH_ERR_INPUT)
        workload_run_blocked(r->workload, r->err);
}

/* Returns 0 or EXIT_RUN_FAILED, having said why. */
static int simulate(struct run *r)
{
    const double wall_s = progress_clock_s(), cpu_s = usage_cpu_s();
    struct err_info e = {.text = ""};
    int rc;

    progress_init(&r->progress, r->err, r->o.quiet ? PROGRESS_OFF : r->o.progress);
    rc = run_all(r, &e);
    r->wall_s = progress_clock_s() - wall_s;
    r->cpu_s = usage_cpu_s() - cpu_s;
    r->is_complete = rc == 0;
    progress_end(&r->progress, r->s);
    if (rc == WH_ERR_INTERRUPTED)
        fprintf(r->err, "wormhole: interrupted by %s; results so far are written\n",
                stop_signal == SIGTERM ? "SIGTERM" : "SIGINT");
    else if (rc)
        say_failure(r, rc, &e);
    return rc ? EXIT_RUN_FAILED : 0;
}

static void list_unfinished(const struct run *r)
{
    const uint32_t flow_count = sim_flow_count(r->s);
    uint32_t shown = 0;

    for (uint32_t i = 0; i < flow_count && shown < UNFINISHED_SHOWN; i++) {
        const struct flow_result *f = sim_flow_result(r->s, i);

        if (f->state == FLOW_DONE)
            continue;
        fprintf(r->err,
                "  flow %u, host %u -> host %u: %s, %" PRId64 " of %" PRId64 " B acknowledged\n", i,
                sim_flow_spec(r->s, i)->src, sim_flow_spec(r->s, i)->dst,
                output_state_name(f->state), f->acked_bytes, sim_flow_spec(r->s, i)->bytes);
        shown++;
    }
}

/* Unfinished at the stop time is what was asked for; otherwise these flows cannot finish. */
static int report_unfinished(const struct run *r)
{
    struct sim_counters c;
    uint64_t unfinished;

    sim_counters(r->s, &c);
    unfinished = sim_flow_count(r->s) - c.flows_finished;
    if (!unfinished || !r->is_complete)
        return 0;
    if (sim_is_done(r->s)) {
        fprintf(r->err, "wormhole: %" PRIu64 " flows cannot finish:\n", unfinished);
        list_unfinished(r);
        return EXIT_RUN_FAILED;
    }
    fprintf(r->err, "wormhole: %" PRIu64 " flows are unfinished at the stop time:\n", unfinished);
    list_unfinished(r);
    return 0;
}

static void report_left_out(const struct run *r)
{
    for (uint32_t i = 0; i < r->outputs.count; i++) {
        const struct out_file *o = &r->outputs.files[i];

        if (o->left_out)
            fprintf(r->err,
                    "wormhole: %s: the cap of %" PRId64 " B was reached, %" PRIu64
                    " lines left out\n",
                    o->path, o->cap_bytes, o->left_out);
    }
}

/* The summary comes last, so that it can say that another file is not whole. */
static int write_files(struct run *r, struct run_record *record, struct err_info *e)
{
    int rc;

    if (r->fct_csv)
        output_fct_csv(r->fct_csv, r->s);
    output_fct_txt(r->fct_txt, r->s);
    rc = run_logs_finish(r->logs);
    if (!rc && r->workload)
        rc = workload_run_finish(r->workload);
    if (rc)
        return rc;
    if (out_flush(&r->outputs, e))
        record->is_complete = 0;
    return output_summary_json(r->summary, record);
}

/* Writes and closes everything. Returns 0 or a code with @e. */
static int write_results(struct run *r, struct err_info *e)
{
    struct figures f;
    struct run_record record = {.sc = &r->sc,
                                .s = r->s,
                                .f = &f,
                                .logs = r->logs,
                                .outputs = &r->outputs,
                                .dir = r->dir,
                                .is_complete = r->is_complete,
                                .wall_s = r->wall_s,
                                .cpu_s = r->cpu_s,
                                .peak_rss_bytes = usage_peak_rss_bytes()};
    struct workload_figures workload;
    int rc = figures_collect(&f, r->s);

    if (rc)
        return rc;
    if (r->workload) {
        workload_run_figures(r->workload, &workload);
        record.workload = &workload;
    }
    rc = write_files(r, &record, e);
    if (rc)
        return rc;
    report_left_out(r);
    rc = out_close(&r->outputs, e);
    if (!rc && !r->o.quiet)
        output_summary_table(r->out, &record);
    return rc;
}

static int run_and_write(struct run *r)
{
    struct err_info e = {.text = ""};
    int code, rc;

    print_start(r);
    code = simulate(r);
    if (!code)
        code = report_unfinished(r);
    rc = write_results(r, &e);
    if (!rc)
        return code;
    (void)load_exit_code(rc, &e, r->err);
    return EXIT_RUN_FAILED;
}

int cmd_run(int argc, char **argv, FILE *out, FILE *err)
{
    struct err_info e = {.text = ""};
    struct run r = {.out = out, .err = err};
    int rc, code;

    if (foreign_is_asked(argc, argv))
        return cmd_run_foreign(argc, argv, out, err);
    rc = options_parse_run(argc, argv, &r.o, &e);
    if (rc == OPTIONS_HELP) {
        print_help(out);
        return EXIT_DONE;
    }
    if (rc)
        return load_exit_code(rc, &e, err);
    r.dir = r.o.out_dir ? r.o.out_dir : OPTIONS_DEFAULT_DIR;
    scenario_init(&r.sc);
    watch_signals();
    rc = prepare(&r, &e);
    code = rc ? load_exit_code(rc, &e, err) : run_and_write(&r);
    out_discard(&r.outputs); /* nothing is left in it after a run */
    run_logs_destroy(r.logs);
    workload_run_destroy(r.workload);
    sim_destroy(r.s);
    scenario_fini(&r.sc);
    return code;
}
