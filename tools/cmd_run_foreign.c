/*
 * cmd_run_foreign.c - wormhole run for workloads of other tools, and for exports: reads, opens all
 * outputs, simulates, writes results. Signals: as in cmd_run.c.
 */
#include "cmd.h"

#include "describe.h"
#include "export_et.h"
#include "export_flows.h"
#include "export_goal.h"
#include "foreign_report.h"
#include "load.h"
#include "run_frame.h"
#include "stop.h"
#include "units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define BLOCKED_SHOWN 20

struct foreign_run {
    struct foreign_options o;
    struct run_frame frame;
    struct foreign f;
    struct dag *d; /* NULL for connection matrices */
    struct dag_record *record;
    struct out_file *flows, *goal, *groups; /* exports: rows of the frame's outputs; may be NULL */
    struct foreign_report report;
};

/* ---- outputs ---- */

static int has_dag(const struct foreign_run *r)
{
    return r->f.llm || r->f.job.program.next;
}

static int open_dag_files(struct foreign_run *r, struct err_info *e)
{
    int rc = run_frame_open_file(&r->frame, "trace.json", &r->report.trace_file, e);

    if (!rc)
        rc = run_frame_open_file(&r->frame, "ranks.csv", &r->report.ranks, e);
    if (!rc && r->o.kind != FOREIGN_GOAL)
        rc = run_frame_open_file(&r->frame, "collectives.csv", &r->report.collectives, e);
    if (!rc && r->o.kind == FOREIGN_SIMAI)
        rc = run_frame_open_file(&r->frame, "layers.csv", &r->report.layers, e);
    return rc;
}

static int open_exports(struct foreign_run *r, struct err_info *e)
{
    char path[OUT_PATH_MAX];
    int rc = 0;

    if (r->o.export_flows)
        rc = out_open(&r->frame.outputs, r->o.export_flows, "--export-flows", &r->flows, e);
    if (!rc && r->o.export_goal)
        rc = out_open(&r->frame.outputs, r->o.export_goal, "--export-goal", &r->goal, e);
    if (rc || !r->o.export_et)
        return rc;
    (void)snprintf(path, sizeof path, "%s.groups.json", r->o.export_et);
    return out_open(&r->frame.outputs, path, "--export-et", &r->groups, e);
}

static int open_outputs(struct foreign_run *r, struct err_info *e)
{
    int rc = run_frame_open(&r->frame, &r->f.sc, e);

    if (!rc && has_dag(r))
        rc = open_dag_files(r, e);
    if (!rc)
        rc = open_exports(r, e);
    return rc ? rc : run_frame_open_logs(&r->frame, &r->f.sc, e);
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
    spec.poll = run_frame_poll;
    spec.poll_ctx = &r->frame;
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
    const struct warn_sink sink = {load_warning, r->frame.err};
    int rc = foreign_load(&r->f, &r->o, &sink, e);

    if (!rc)
        rc = open_outputs(r, e);
    if (!rc)
        rc = run_frame_make_sim(&r->frame, &r->f.sc, &sink, e);
    if (rc)
        return rc;
    if (r->f.simai && r->f.simai->policy == SIMAI_POLICY_MICRO)
        r->report.table = r->frame.out;
    return has_dag(r) ? make_dag(r, e) : 0;
}

/* ---- the run ---- */

static void print_start(const struct foreign_run *r)
{
    char cc[256];

#ifdef WH_DEBUG
    if (!r->o.quiet)
        fprintf(r->frame.err, "wormhole: debug build: slow, with checks\n");
#endif
    if (!r->o.quiet)
        fprintf(r->frame.err, "wormhole: %s: %u hosts, congestion control %s\n", r->f.sc.name,
                sim_topo(r->frame.s)->host_count,
                describe_cc(sim_config(r->frame.s), cc, sizeof cc));
}

static int run_all(struct foreign_run *r, struct err_info *e)
{
    if (stop_is_asked())
        return WH_ERR_INTERRUPTED;
    if (r->d)
        return dag_run(r->d, r->frame.s, TIME_NEVER, e);
    if (r->f.run_cm)
        return run_htsim_run(r->f.run_cm, r->frame.s, run_frame_poll, &r->frame, e);
    return sim_run(r->frame.s, TIME_NEVER);
}

static void print_sentence(void *ctx, const char *text)
{
    fprintf(ctx, "  %s\n", text);
}

static void list_blocked(const struct foreign_run *r)
{
    const uint64_t count =
        r->d ? dag_blocked(r->d, BLOCKED_SHOWN, print_sentence, r->frame.err)
             : run_htsim_blocked(r->f.run_cm, BLOCKED_SHOWN, print_sentence, r->frame.err);

    if (count > BLOCKED_SHOWN)
        fprintf(r->frame.err, "  and %" PRIu64 " more\n", count - BLOCKED_SHOWN);
}

/* A workload that waits for what never comes is bad input; flows that the network gave up are not.
 */
static int say_failure(const struct foreign_run *r, int rc, const struct err_info *e)
{
    struct sim_counters c;
    char text[1600];

    if (rc == WH_ERR_INTERRUPTED)
        return EXIT_RUN_FAILED; /* that was said */
    fprintf(r->frame.err, "wormhole: %s; results so far are written\n",
            e->text[0] ? err_format(e, text, sizeof text) : err_text(rc));
    if (rc != WH_ERR_INPUT)
        return EXIT_RUN_FAILED;
    list_blocked(r);
    sim_counters(r->frame.s, &c);
    return c.flows_stalled || c.flows_nopath ? EXIT_RUN_FAILED : EXIT_BAD_INPUT;
}

static int simulate(struct foreign_run *r)
{
    struct err_info e = {.text = ""};
    int rc;

    run_frame_begin(&r->frame);
    rc = run_all(r, &e);
    run_frame_end(&r->frame, rc);
    return rc ? say_failure(r, rc, &e) : 0;
}

static int report_unfinished(const struct foreign_run *r)
{
    struct sim_counters c;
    uint64_t unfinished;

    sim_counters(r->frame.s, &c);
    unfinished = sim_flow_count(r->frame.s) - c.flows_finished;
    if (r->d && !dag_is_done(r->d))
        fprintf(r->frame.err, "wormhole: the stop time came before the end of the workload\n");
    if (!unfinished)
        return 0;
    fprintf(r->frame.err, "wormhole: %" PRIu64 " flows %s\n", unfinished,
            sim_is_done(r->frame.s) ? "cannot finish" : "are unfinished at the stop time");
    return sim_is_done(r->frame.s) ? EXIT_RUN_FAILED : 0;
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
    int rc = r->flows ? export_flows(r->flows->f, r->frame.s) : 0;

    if (!rc && r->goal)
        rc = export_goal(r->goal->f, r->record, e);
    if (!rc && r->o.export_et)
        rc = export_traces(r, e);
    return rc;
}

static int write_files(struct foreign_run *r, struct run_record *record, struct err_info *e)
{
    int rc = run_frame_write_flows(&r->frame);

    if (!rc && r->d)
        rc = foreign_report_finish(&r->report, r->d);
    if (!rc && r->frame.is_complete)
        rc = write_exports(r, e);
    return rc ? rc : run_frame_close(&r->frame, record, e);
}

static int write_results(struct foreign_run *r, struct err_info *e)
{
    struct figures f;
    struct run_record record;
    struct workload_figures workload;
    int rc = run_frame_record(&r->frame, &r->f.sc, &f, &record);

    if (!rc && r->d)
        rc = foreign_report_figures(&r->report, r->d, &workload);
    if (rc)
        return rc;
    if (r->d)
        record.workload = &workload;
    rc = write_files(r, &record, e);
    if (rc)
        return rc;
    foreign_report_lines(&r->report, r->d, r->frame.out);
    run_frame_print(&r->frame, &record);
    return 0;
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
    (void)load_exit_code(rc, &e, r->frame.err);
    return EXIT_RUN_FAILED;
}

static void fini(struct foreign_run *r)
{
    foreign_report_fini(&r->report);
    dag_destroy(r->d);
    dag_record_destroy(r->record);
    run_frame_fini(&r->frame);
    foreign_fini(&r->f);
}

int cmd_run_foreign(int argc, char **argv, FILE *out, FILE *err)
{
    struct err_info e = {.text = ""};
    struct foreign_run *r = calloc(1, sizeof *r);
    int rc, code;

    if (!r)
        return load_exit_code(WH_ERR_NOMEM, &e, err);
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
    run_frame_init(&r->frame,
                   &(struct run_frame_options){.out_dir = r->o.out_dir,
                                               .fct_csv = r->o.fct_csv,
                                               .engine = r->o.engine,
                                               .explains = r->o.explains,
                                               .quiet = r->o.quiet,
                                               .progress = r->o.progress},
                   out, err);
    stop_watch();
    rc = prepare(r, &e);
    code = rc ? load_exit_code(rc, &e, err) : run_and_write(r);
    fini(r);
    free(r);
    return code;
}
