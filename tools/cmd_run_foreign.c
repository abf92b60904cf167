/*
 * cmd_run_foreign.c - wormhole run for workloads of other tools, and for exports: reads, opens all
 * outputs, simulates, writes results.
 *
 * SIGINT and SIGTERM are held back and looked for at every poll; the first one ends the simulation
 * and lets the next one through, which kills the process.
 */
#include "cmd.h"

#include "describe.h"
#include "export_et.h"
#include "export_flows.h"
#include "export_goal.h"
#include "foreign_report.h"
#include "load.h"
#include "output_fct.h"
#include "output_logs.h"
#include "output_summary.h"
#include "progress.h"
#include "units.h"
#include "usage.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BLOCKED_SHOWN 20

struct foreign_run {
    struct foreign_options o;
    struct foreign f;
    struct sim *s;
    struct dag *d; /* NULL for connection matrices */
    struct dag_record *record;
    const char *dir;
    struct out_set outputs;
    struct out_file *fct_csv, *fct_txt, *summary; /* rows of outputs; may be NULL */
    struct out_file *flows, *goal, *groups;       /* exports, likewise */
    struct run_logs *logs;
    struct foreign_report report;
    struct progress progress;
    sigset_t signals;
    int stop_signal;
    double wall_s, cpu_s;
    int is_complete;
    FILE *out, *err;
};

/* ---- signals ---- */

static void watch_signals(struct foreign_run *r)
{
    sigemptyset(&r->signals);
    sigaddset(&r->signals, SIGINT);
    sigaddset(&r->signals, SIGTERM);
    (void)sigprocmask(SIG_BLOCK, &r->signals, NULL);
}

static void let_signals_through(const struct foreign_run *r)
{
    (void)sigprocmask(SIG_UNBLOCK, &r->signals, NULL);
}

static int is_stopped(struct foreign_run *r)
{
    const struct timespec none = {0, 0};
    int got;

    if (r->stop_signal)
        return 1;
    got = sigtimedwait(&r->signals, NULL, &none);
    if (got <= 0)
        return 0;
    r->stop_signal = got;
    let_signals_through(r);
    return 1;
}

static int on_poll(void *ctx, struct sim *s)
{
    struct foreign_run *r = ctx;

    progress_poll(&r->progress, s);
    return is_stopped(r);
}

/* ---- outputs ---- */

static const char *dir_key(const struct foreign_run *r)
{
    return r->o.out_dir ? "-o" : "output folder";
}

static int open_in_dir(struct foreign_run *r, const char *name, struct out_file **out,
                       struct err_info *e)
{
    char path[OUT_PATH_MAX];

    if (out_join(r->dir, name, path, sizeof path))
        return err_set(e, WH_ERR_INPUT, r->dir, 0, "-o: the path is too long");
    return out_open(&r->outputs, path, dir_key(r), out, e);
}

static int open_fct_txt(struct foreign_run *r, struct err_info *e)
{
    const struct scenario *sc = &r->f.sc;
    char path[OUT_PATH_MAX];

    if (!sc->fct_path[0])
        return open_in_dir(r, "fct.txt", &r->fct_txt, e);
    if (out_resolve(sc->fct_path, sc->is_hpcc, r->o.out_dir, r->dir, path, sizeof path))
        return err_set(e, WH_ERR_INPUT, sc->fct_path, 0, "%s: the path is too long", sc->fct_key);
    return out_open(&r->outputs, path, sc->fct_key[0] ? sc->fct_key : "fct.txt", &r->fct_txt, e);
}

static int has_dag(const struct foreign_run *r)
{
    return r->f.llm || r->f.job.program.next;
}

static int open_dag_files(struct foreign_run *r, struct err_info *e)
{
    int rc = open_in_dir(r, "trace.json", &r->report.trace_file, e);

    if (!rc)
        rc = open_in_dir(r, "ranks.csv", &r->report.ranks, e);
    if (!rc && r->o.kind != FOREIGN_GOAL)
        rc = open_in_dir(r, "collectives.csv", &r->report.collectives, e);
    if (!rc && r->o.kind == FOREIGN_SIMAI)
        rc = open_in_dir(r, "layers.csv", &r->report.layers, e);
    return rc;
}

static int open_exports(struct foreign_run *r, struct err_info *e)
{
    char path[OUT_PATH_MAX];
    int rc = 0;

    if (r->o.export_flows)
        rc = out_open(&r->outputs, r->o.export_flows, "--export-flows", &r->flows, e);
    if (!rc && r->o.export_goal)
        rc = out_open(&r->outputs, r->o.export_goal, "--export-goal", &r->goal, e);
    if (rc || !r->o.export_et)
        return rc;
    (void)snprintf(path, sizeof path, "%s.groups.json", r->o.export_et);
    return out_open(&r->outputs, path, "--export-et", &r->groups, e);
}

static int open_outputs(struct foreign_run *r, struct err_info *e)
{
    int rc = out_make_dir(r->dir, dir_key(r), e);

    if (!rc)
        rc = open_in_dir(r, "summary.json", &r->summary, e);
    if (!rc && r->o.fct_csv)
        rc = open_in_dir(r, "fct.csv", &r->fct_csv, e);
    if (!rc)
        rc = open_fct_txt(r, e);
    if (!rc && has_dag(r))
        rc = open_dag_files(r, e);
    if (!rc)
        rc = open_exports(r, e);
    if (!rc)
        rc = run_logs_open(&r->logs, &r->f.sc, r->f.sc.topo, r->o.out_dir, r->dir, &r->outputs, e);
    return rc;
}

/* ---- up to the first event ---- */

static int make_dag(struct foreign_run *r, struct err_info *e)
{
    struct dag_spec spec = {.start_ps = 0};
    int rc = 0;

    if (r->f.llm)
        llm_dag_spec(r->f.llm, &spec);
    else
        run_job_fill(&r->f.job, &spec);
    spec.poll = on_poll;
    spec.poll_ctx = r;
    foreign_report_begin(&r->report, &spec);
    if (r->o.export_et || r->o.export_goal)
        rc = dag_record_create(&r->record, &spec);
    if (!rc)
        rc = dag_create(&r->d, &spec, e);
    if (!rc)
        run_job_attach(&r->f.job, r->d);
    return rc;
}

static int prepare(struct foreign_run *r, struct err_info *e)
{
    const struct warn_sink sink = {load_warning, r->err};
    const struct sim_hooks hooks = {.ctx = r, .on_poll = on_poll};
    int rc = foreign_load(&r->f, &r->o, &sink, e);

    if (!rc)
        rc = open_outputs(r, e);
    if (!rc)
        rc = scenario_make_sim(&r->f.sc, &sink, &r->s, e);
    if (rc)
        return rc;
    sim_set_hooks(r->s, &hooks);
    if (r->f.simai && r->f.simai->policy == SIMAI_POLICY_MICRO)
        r->report.table = r->out;
    if (has_dag(r))
        rc = make_dag(r, e);
    return rc ? rc : run_logs_attach(r->logs, r->s);
}

/* ---- the run ---- */

static void print_start(const struct foreign_run *r)
{
    char cc[256];

#ifdef WH_DEBUG
    if (!r->o.quiet)
        fprintf(r->err, "wormhole: debug build: slow, with checks\n");
#endif
    if (!r->o.quiet)
        fprintf(r->err, "wormhole: %s: %u hosts, congestion control %s\n", r->f.sc.name,
                sim_topo(r->s)->host_count, describe_cc(sim_config(r->s), cc, sizeof cc));
}

static int run_all(struct foreign_run *r, struct err_info *e)
{
    if (is_stopped(r))
        return WH_ERR_INTERRUPTED;
    if (r->d)
        return dag_run(r->d, r->s, TIME_NEVER, e);
    if (r->f.run_cm)
        return run_htsim_run(r->f.run_cm, r->s, on_poll, r, e);
    return sim_run(r->s, TIME_NEVER);
}

static void print_sentence(void *ctx, const char *text)
{
    fprintf(ctx, "  %s\n", text);
}

static void list_blocked(const struct foreign_run *r)
{
    const uint64_t count =
        r->d ? dag_blocked(r->d, BLOCKED_SHOWN, print_sentence, r->err)
             : run_htsim_blocked(r->f.run_cm, BLOCKED_SHOWN, print_sentence, r->err);

    if (count > BLOCKED_SHOWN)
        fprintf(r->err, "  and %" PRIu64 " more\n", count - BLOCKED_SHOWN);
}

/* A workload that waits for what never comes is bad input; flows that the network gave up are not.
 */
static int say_failure(const struct foreign_run *r, int rc, const struct err_info *e)
{
    struct sim_counters c;
    char text[1600];

    if (rc == WH_ERR_INTERRUPTED) {
        fprintf(r->err, "wormhole: interrupted by %s; results so far are written\n",
                r->stop_signal == SIGTERM ? "SIGTERM" : "SIGINT");
        return EXIT_RUN_FAILED;
    }
    fprintf(r->err, "wormhole: %s; results so far are written\n",
            e->text[0] ? err_format(e, text, sizeof text) : err_text(rc));
    if (rc != WH_ERR_INPUT)
        return EXIT_RUN_FAILED;
    list_blocked(r);
    sim_counters(r->s, &c);
    return c.flows_stalled || c.flows_nopath ? EXIT_RUN_FAILED : EXIT_BAD_INPUT;
}

static int simulate(struct foreign_run *r)
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
    return rc ? say_failure(r, rc, &e) : 0;
}

static int report_unfinished(const struct foreign_run *r)
{
    struct sim_counters c;
    uint64_t unfinished;

    sim_counters(r->s, &c);
    unfinished = sim_flow_count(r->s) - c.flows_finished;
    if (r->d && !dag_is_done(r->d))
        fprintf(r->err, "wormhole: the stop time came before the end of the workload\n");
    if (!unfinished)
        return 0;
    fprintf(r->err, "wormhole: %" PRIu64 " flows %s\n", unfinished,
            sim_is_done(r->s) ? "cannot finish" : "are unfinished at the stop time");
    return sim_is_done(r->s) ? EXIT_RUN_FAILED : 0;
}

/* ---- results ---- */

static int export_trace(struct foreign_run *r, uint32_t rank, struct err_info *e)
{
    char path[OUT_PATH_MAX];
    const int chars = snprintf(path, sizeof path, "%s.%" PRIu32 ".et", r->o.export_et, rank);
    FILE *f = chars > 0 && (size_t)chars < sizeof path ? fopen(path, "wb") : NULL;
    int rc;

    if (!f)
        return err_set(e, WH_ERR_IO, path, 0, "--export-et: cannot be opened: %s", strerror(errno));
    rc = export_et_rank(f, r->record, rank, e);
    if (fclose(f) && !rc)
        rc = err_set(e, WH_ERR_IO, path, 0, "--export-et: cannot be written: %s", strerror(errno));
    if (rc)
        (void)remove(path);
    return rc;
}

/* The traces are too many to be open all the time; the file of groups stands for them. */
static int export_traces(struct foreign_run *r, struct err_info *e)
{
    int rc = export_et_groups(r->groups->f, r->record);

    for (uint32_t i = 0; i < r->record->place->rank_count && !rc; i++)
        rc = export_trace(r, i, e);
    return rc;
}

static int write_exports(struct foreign_run *r, struct err_info *e)
{
    int rc = r->flows ? export_flows(r->flows->f, r->s) : 0;

    if (!rc && r->goal)
        rc = export_goal(r->goal->f, r->record, e);
    if (!rc && r->o.export_et)
        rc = export_traces(r, e);
    return rc;
}

/* The summary comes last, so that it can say that another file is not whole. */
static int write_files(struct foreign_run *r, struct run_record *record, struct err_info *e)
{
    int rc;

    if (r->fct_csv)
        output_fct_csv(r->fct_csv, r->s);
    output_fct_txt(r->fct_txt, r->s);
    rc = run_logs_finish(r->logs);
    if (!rc && r->d)
        rc = foreign_report_finish(&r->report, r->d);
    if (!rc && r->is_complete)
        rc = write_exports(r, e);
    if (rc)
        return rc;
    if (out_flush(&r->outputs, e))
        record->is_complete = 0;
    return output_summary_json(r->summary, record);
}

static int write_results(struct foreign_run *r, struct err_info *e)
{
    struct figures f;
    struct workload_figures workload;
    struct run_record record = {.sc = &r->f.sc,
                                .s = r->s,
                                .f = &f,
                                .logs = r->logs,
                                .outputs = &r->outputs,
                                .dir = r->dir,
                                .is_complete = r->is_complete,
                                .wall_s = r->wall_s,
                                .cpu_s = r->cpu_s,
                                .peak_rss_bytes = usage_peak_rss_bytes()};
    int rc = figures_collect(&f, r->s);

    if (!rc && r->d)
        rc = foreign_report_figures(&r->report, r->d, &workload);
    if (rc)
        return rc;
    if (r->d)
        record.workload = &workload;
    rc = write_files(r, &record, e);
    if (rc)
        return rc;
    rc = out_close(&r->outputs, e);
    foreign_report_lines(&r->report, r->d, r->out);
    if (!rc && !r->o.quiet)
        output_summary_table(r->out, &record);
    return rc;
}

static int run_and_write(struct foreign_run *r)
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

static void fini(struct foreign_run *r)
{
    out_discard(&r->outputs); /* nothing is left in it after a run */
    run_logs_destroy(r->logs);
    foreign_report_fini(&r->report);
    dag_destroy(r->d);
    dag_record_destroy(r->record);
    sim_destroy(r->s);
    foreign_fini(&r->f);
}

int cmd_run_foreign(int argc, char **argv, FILE *out, FILE *err)
{
    struct err_info e = {.text = ""};
    struct foreign_run *r = calloc(1, sizeof *r);
    int rc, code;

    if (!r)
        return load_exit_code(WH_ERR_NOMEM, &e, err);
    r->out = out;
    r->err = err;
    r->report.f = &r->f;
    r->report.o = &r->o;
    rc = foreign_parse(argc, argv, &r->o, &e);
    if (rc) {
        free(r);
        if (rc != OPTIONS_HELP)
            return load_exit_code(rc, &e, err);
        foreign_print_help(out);
        return EXIT_DONE;
    }
    r->dir = r->o.out_dir ? r->o.out_dir : OPTIONS_DEFAULT_DIR;
    watch_signals(r);
    rc = prepare(r, &e);
    code = rc ? load_exit_code(rc, &e, err) : run_and_write(r);
    fini(r);
    let_signals_through(r);
    free(r);
    return code;
}
