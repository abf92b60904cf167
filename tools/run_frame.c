/*
 * run_frame.c - see run_frame.h.
 */
#include "run_frame.h"

#include "output_accel.h"
#include "output_fct.h"
#include "stop.h"
#include "usage.h"

#include <inttypes.h>

void run_frame_init(struct run_frame *f, const struct run_frame_options *o, FILE *out, FILE *err)
{
    *f = (struct run_frame){
        .o = *o, .out = out, .err = err, .dir = o->out_dir ? o->out_dir : OPTIONS_DEFAULT_DIR};
}

void run_frame_fini(struct run_frame *f)
{
    out_discard(&f->outputs); /* nothing is left in it after a run */
    run_logs_destroy(f->logs);
    sim_destroy(f->s);
    accel_fini(&f->accel);
}

/* ---- files ---- */

static const char *dir_key(const struct run_frame *f)
{
    return f->o.out_dir ? "-o" : "output folder";
}

int run_frame_open_file(struct run_frame *f, const char *name, struct out_file **out,
                        struct err_info *e)
{
    char path[OUT_PATH_MAX];

    if (out_join(f->dir, name, path, sizeof path))
        return err_set(e, WH_ERR_INPUT, f->dir, 0, "-o: the path is too long");
    return out_open(&f->outputs, path, dir_key(f), out, e);
}

static int open_fct_txt(struct run_frame *f, const struct scenario *sc, struct err_info *e)
{
    char path[OUT_PATH_MAX];

    if (!sc->fct_path[0])
        return run_frame_open_file(f, "fct.txt", &f->fct_txt, e);
    if (out_resolve(sc->fct_path, sc->is_hpcc, f->o.out_dir, f->dir, path, sizeof path))
        return err_set(e, WH_ERR_INPUT, sc->fct_path, 0, "%s: the path is too long", sc->fct_key);
    return out_open(&f->outputs, path, sc->fct_key[0] ? sc->fct_key : "fct.txt", &f->fct_txt, e);
}

int run_frame_open(struct run_frame *f, const struct scenario *sc, struct err_info *e)
{
    int rc = out_make_dir(f->dir, dir_key(f), e);

    if (!rc)
        rc = run_frame_open_file(f, "summary.json", &f->summary, e);
    if (!rc && f->o.fct_csv)
        rc = run_frame_open_file(f, "fct.csv", &f->fct_csv, e);
    return rc ? rc : open_fct_txt(f, sc, e);
}

int run_frame_open_logs(struct run_frame *f, const struct scenario *sc, struct err_info *e)
{
    return run_logs_open(&f->logs, sc, sc->topo, f->o.out_dir, f->dir, &f->outputs, e);
}

/* ---- the run ---- */

int run_frame_poll(void *ctx, struct sim *s)
{
    struct run_frame *f = ctx;

    progress_poll(&f->progress, s);
    return stop_is_asked();
}

int run_frame_make_sim(struct run_frame *f, struct scenario *sc, const struct warn_sink *sink,
                       struct err_info *e)
{
    const struct sim_hooks hooks = {.ctx = f, .on_poll = run_frame_poll};
    int rc;

    f->sink = *sink;
    f->o.engine.has_logs = run_logs_needs_packets(f->logs);
    f->why_all = engine_why_all(&f->o.engine, sc);
    if (!f->o.quiet || accel_is_asked(&f->o.engine.accel))
        engine_say_all(&f->o.engine, sc, f->err);
    rc = engine_make_sim(sc, &f->o.engine, sink, &f->accel, &f->s, e);
    if (rc)
        return rc;
    sim_set_hooks(f->s, &hooks);
    return run_logs_attach(f->logs, f->s);
}

void run_frame_begin(struct run_frame *f)
{
    f->wall_s = progress_clock_s();
    f->cpu_s = usage_cpu_s();
    progress_init(&f->progress, f->err, f->o.quiet ? PROGRESS_OFF : f->o.progress);
}

void run_frame_end(struct run_frame *f, int rc)
{
    f->wall_s = progress_clock_s() - f->wall_s;
    f->cpu_s = usage_cpu_s() - f->cpu_s;
    f->is_complete = rc == 0;
    progress_end(&f->progress, f->s);
    accel_save(&f->accel, &f->sink);
    engine_say_serial(&f->o.engine, f->s, f->err);
    if (rc == WH_ERR_INTERRUPTED)
        fprintf(f->err, "wormhole: interrupted by %s; results so far are written\n", stop_name());
}

/* ---- results ---- */

int run_frame_record(const struct run_frame *f, const struct scenario *sc, struct figures *figures,
                     struct run_record *out)
{
    *out = (struct run_record){.sc = sc,
                               .s = f->s,
                               .f = figures,
                               .logs = f->logs,
                               .outputs = &f->outputs,
                               .dir = f->dir,
                               .accel = &f->accel,
                               .why_all = f->why_all,
                               .is_complete = f->is_complete,
                               .wall_s = f->wall_s,
                               .cpu_s = f->cpu_s,
                               .peak_rss_bytes = usage_peak_rss_bytes()};
    return figures_collect(figures, f->s);
}

void run_frame_print(const struct run_frame *f, const struct run_record *record)
{
    if (!f->o.quiet)
        output_summary_table(f->out, record);
    if (f->o.explains)
        output_accel_explain(f->out, record);
}

int run_frame_write_flows(struct run_frame *f)
{
    if (f->fct_csv)
        output_fct_csv(f->fct_csv, f->s);
    output_fct_txt(f->fct_txt, f->s);
    return run_logs_finish(f->logs);
}

static void report_left_out(const struct run_frame *f)
{
    for (uint32_t i = 0; i < f->outputs.count; i++) {
        const struct out_file *o = &f->outputs.files[i];

        if (o->left_out)
            fprintf(f->err,
                    "wormhole: %s: the cap of %" PRId64 " B was reached, %" PRIu64
                    " lines left out\n",
                    o->path, o->cap_bytes, o->left_out);
    }
}

/* The memo's fault, or that of what reads it: never to be overlooked. */
static void report_wrong_hits(const struct run_frame *f)
{
    struct sim_audit_stats a;

    sim_audit_stats(f->s, &a);
    if (a.hits_wrong)
        fprintf(f->err,
                "wormhole: memo audit: %" PRIu64 " of %" PRIu64
                " hits differ from what is executed; please report this\n",
                a.hits_wrong, a.hits);
}

int run_frame_close(struct run_frame *f, struct run_record *record, struct err_info *e)
{
    int rc;

    if (out_flush(&f->outputs, e))
        record->is_complete = 0;
    rc = output_summary_json(f->summary, record);
    if (rc)
        return rc;
    report_left_out(f);
    report_wrong_hits(f);
    return out_close(&f->outputs, e);
}
