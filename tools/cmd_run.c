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
#include "run_frame.h"
#include "stop.h"
#include "units.h"
#include "workload_run.h"

#include <inttypes.h>

#define UNFINISHED_SHOWN 5

struct run {
    struct run_options o;
    struct run_frame frame;
    struct scenario sc;
    struct workload_outputs workload_files; /* rows of the frame's outputs */
    struct workload_run *workload;          /* NULL: the scenario has none */
};

static void print_help(FILE *out)
{
    fprintf(
        out,
        "usage: wormhole run SCENARIO.yaml | --hpcc CONFIG.txt [options]\n"
        "       wormhole run --goal | --cm | --simai | --astra ...: workloads of other tools,\n"
        "                    see 'wormhole run --goal --help'\n\n"
        "  -o DIR, --output DIR   output folder, created if missing [" OPTIONS_DEFAULT_DIR "]\n"
        "  --paths FILE           paths of the flows (with --hpcc)\n"
        "  --set KEY=VALUE        override a setting (dotted name; with --hpcc a key of the\n"
        "                         file); may be repeated\n"
        "  --seed S               seed of all random draws\n"
        "  --end TIME             stop time, such as 10ms\n" ENGINE_OPTIONS_HELP ACCEL_OPTIONS_HELP
            ACCEL_FILE_HELP
        "  --explain              what was skipped, and what kept the rest from it\n"
        "  --fct-csv yes|no       write fct.csv [yes]\n"
        "  --quiet                no table and no start line\n"
        "  --progress auto|off|json   progress on standard error [auto: on a terminal]\n\n"
        "Writes fct.csv, fct.txt (HPCC format) and summary.json into the folder, and for a\n"
        "workload collectives.csv and trace.json (for Perfetto).\n"
        "Exit codes: 0 done, 1 the run failed or was interrupted, 2 bad input.\n");
}

static int open_outputs(struct run *r, struct err_info *e)
{
    struct workload_outputs *w = &r->workload_files;
    int rc = run_frame_open(&r->frame, &r->sc, e);

    if (!rc && r->sc.llm)
        rc = run_frame_open_file(&r->frame, "collectives.csv", &w->collectives, e);
    if (!rc && r->sc.llm)
        rc = run_frame_open_file(&r->frame, "trace.json", &w->trace, e);
    return rc ? rc : run_frame_open_logs(&r->frame, &r->sc, e);
}

/* Everything up to the first event. */
static int prepare(struct run *r, struct err_info *e)
{
    const struct warn_sink sink = {load_warning, r->frame.err};
    int rc = load_scenario(&r->o.in, &r->sc, &sink, e);

    if (!rc)
        rc = open_outputs(r, e);
    if (!rc)
        rc = run_frame_make_sim(&r->frame, &r->sc, &sink, e);
    if (rc || !r->sc.llm)
        return rc;
    return workload_run_create(&r->workload,
                               &(struct workload_request){.sc = &r->sc,
                                                          .s = r->frame.s,
                                                          .files = r->workload_files,
                                                          .poll = run_frame_poll,
                                                          .poll_ctx = &r->frame},
                               e);
}

static void print_start(const struct run *r)
{
    char cc[256];

#ifdef WH_DEBUG
    if (!r->o.quiet)
        fprintf(r->frame.err, "wormhole: debug build: slow, with checks\n");
#endif
    if (r->o.quiet)
        return;
    if (r->workload)
        fprintf(r->frame.err, "wormhole: workload: %u ranks, %u micro-batches, %u iterations\n",
                llm_rank_count(r->sc.llm), r->sc.llm->micro_batches, r->sc.llm->iterations);
    fprintf(r->frame.err, "wormhole: %u hosts, %u flows, congestion control %s\n",
            sim_topo(r->frame.s)->host_count, sim_flow_count(r->frame.s),
            describe_cc(sim_config(r->frame.s), cc, sizeof cc));
}

static int run_all(struct run *r, struct err_info *e)
{
    if (stop_is_asked())
        return WH_ERR_INTERRUPTED;
    return r->workload ? workload_run_execute(r->workload, r->frame.s, e)
                       : sim_run(r->frame.s, TIME_NEVER);
}

static void say_failure(const struct run *r, int rc, const struct err_info *e)
{
    fprintf(r->frame.err, "wormhole: the simulation failed: %s; results so far are written\n",
            e->text[0] ? e->text : err_text(rc));
    if (r->workload && rc == WH_ERR_INPUT)
        workload_run_blocked(r->workload, r->frame.err);
}

/* Returns 0 or EXIT_RUN_FAILED, having said why. */
static int simulate(struct run *r)
{
    struct err_info e = {.text = ""};
    int rc;

    run_frame_begin(&r->frame);
    rc = run_all(r, &e);
    run_frame_end(&r->frame, rc);
    if (rc && rc != WH_ERR_INTERRUPTED)
        say_failure(r, rc, &e);
    return rc ? EXIT_RUN_FAILED : 0;
}

static void list_unfinished(const struct run *r)
{
    const uint32_t flow_count = sim_flow_count(r->frame.s);
    uint32_t shown = 0;

    for (uint32_t i = 0; i < flow_count && shown < UNFINISHED_SHOWN; i++) {
        const struct flow_result *f = sim_flow_result(r->frame.s, i);

        if (f->state == FLOW_DONE)
            continue;
        fprintf(r->frame.err,
                "  flow %u, host %u -> host %u: %s, %" PRId64 " of %" PRId64 " B acknowledged\n", i,
                sim_flow_spec(r->frame.s, i)->src, sim_flow_spec(r->frame.s, i)->dst,
                output_state_name(f->state), f->acked_bytes, sim_flow_spec(r->frame.s, i)->bytes);
        shown++;
    }
}

/* Unfinished at the stop time is what was asked for; otherwise these flows cannot finish. */
static int report_unfinished(const struct run *r)
{
    struct sim_counters c;
    uint64_t unfinished;

    sim_counters(r->frame.s, &c);
    unfinished = sim_flow_count(r->frame.s) - c.flows_finished;
    if (!unfinished || !r->frame.is_complete)
        return 0;
    if (sim_is_done(r->frame.s)) {
        fprintf(r->frame.err, "wormhole: %" PRIu64 " flows cannot finish:\n", unfinished);
        list_unfinished(r);
        return EXIT_RUN_FAILED;
    }
    fprintf(r->frame.err, "wormhole: %" PRIu64 " flows are unfinished at the stop time:\n",
            unfinished);
    list_unfinished(r);
    return 0;
}

static int write_files(struct run *r, struct run_record *record, struct err_info *e)
{
    int rc = run_frame_write_flows(&r->frame);

    if (!rc && r->workload)
        rc = workload_run_finish(r->workload);
    return rc ? rc : run_frame_close(&r->frame, record, e);
}

/* Writes and closes everything. Returns 0 or a code with @e. */
static int write_results(struct run *r, struct err_info *e)
{
    struct figures f;
    struct run_record record;
    struct workload_figures workload;
    int rc = run_frame_record(&r->frame, &r->sc, &f, &record);

    if (rc)
        return rc;
    if (r->workload) {
        workload_run_figures(r->workload, &workload);
        record.workload = &workload;
    }
    rc = write_files(r, &record, e);
    if (!rc)
        run_frame_print(&r->frame, &record);
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
    (void)load_exit_code(rc, &e, r->frame.err);
    return EXIT_RUN_FAILED;
}

int cmd_run(int argc, char **argv, FILE *out, FILE *err)
{
    struct err_info e = {.text = ""};
    struct run r = {.workload = NULL};
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
    run_frame_init(&r.frame,
                   &(struct run_frame_options){.out_dir = r.o.out_dir,
                                               .fct_csv = r.o.fct_csv,
                                               .engine = r.o.engine,
                                               .explains = r.o.explains,
                                               .quiet = r.o.quiet,
                                               .progress = r.o.progress},
                   out, err);
    scenario_init(&r.sc);
    stop_watch();
    rc = prepare(&r, &e);
    code = rc ? load_exit_code(rc, &e, err) : run_and_write(&r);
    workload_run_destroy(r.workload);
    run_frame_fini(&r.frame);
    scenario_fini(&r.sc);
    return code;
}
