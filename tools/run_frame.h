/*
 * run_frame.h - what every run has around its simulation, whatever it simulates: the output folder
 * and the files that are always there, logs, signs of life, the clock.
 *
 * Life: run_frame_init -> run_frame_open -> run_frame_open_logs -> run_frame_make_sim ->
 * run_frame_begin -> the run -> run_frame_end -> run_frame_write_flows -> run_frame_close ->
 * run_frame_fini, which may follow any of them.
 * Threading: one thread.
 */
#ifndef WH_RUN_FRAME_H
#define WH_RUN_FRAME_H

#include "out_file.h"
#include "output_logs.h"
#include "output_summary.h"
#include "progress.h"

/* What the command line says about it. */
struct run_frame_options {
    const char *out_dir; /* NULL: not given */
    int fct_csv;         /* 0: without */
    struct engine_options engine;
    int explains; /* also with quiet */
    int quiet;
    enum progress_mode progress;
};

struct run_frame {
    struct run_frame_options o;
    FILE *out, *err;
    const char *dir; /* output folder */
    struct out_set outputs;
    struct out_file *fct_csv, *fct_txt, *summary; /* rows of outputs; fct_csv may be NULL */
    struct run_logs *logs;
    struct sim *s; /* owned */
    struct accel accel;
    struct warn_sink sink;
    const char *why_all; /* see engine_why_all */
    struct progress progress;
    double wall_s, cpu_s; /* of the run; its beginnings while it lasts */
    int is_complete;
};

void run_frame_init(struct run_frame *f, const struct run_frame_options *o, FILE *out, FILE *err);

/* run_frame_fini - removes the files that were not completed. */
void run_frame_fini(struct run_frame *f);

/* run_frame_open - the folder, summary.json, fct.csv, fct.txt. Errors: WH_ERR_INPUT. */
int run_frame_open(struct run_frame *f, const struct scenario *sc,
                   struct err_info *e) WH_MUST_CHECK;

/* run_frame_open_file - one more file in the folder. Errors: as out_open. */
int run_frame_open_file(struct run_frame *f, const char *name, struct out_file **out,
                        struct err_info *e) WH_MUST_CHECK;

/* run_frame_open_logs - those that @sc, which still has its topology and outlives @f, asks for. */
int run_frame_open_logs(struct run_frame *f, const struct scenario *sc,
                        struct err_info *e) WH_MUST_CHECK;

/* run_frame_make_sim - the simulation of @sc, which gives its topology away, polled and logged.
 * @sink: copied */
int run_frame_make_sim(struct run_frame *f, struct scenario *sc, const struct warn_sink *sink,
                       struct err_info *e) WH_MUST_CHECK;

/* run_frame_poll - a sim_hooks.on_poll; @ctx is the frame. Shows progress, looks for signals. */
int run_frame_poll(void *ctx, struct sim *s);

/* run_frame_begin, run_frame_end - around the run; @rc: what came of it. Says so if a signal ended
 * it. What the memo has learnt is in its file afterwards. */
void run_frame_begin(struct run_frame *f);
void run_frame_end(struct run_frame *f, int rc);

/* run_frame_record - what the summary is made from, but for the workload. @figures: to be filled,
 * and kept by the record. Returns 0 or WH_ERR_NOMEM. */
int run_frame_record(const struct run_frame *f, const struct scenario *sc, struct figures *figures,
                     struct run_record *out) WH_MUST_CHECK;

/* run_frame_print - the table of a run, and what --explain asks for. */
void run_frame_print(const struct run_frame *f, const struct run_record *record);

/* run_frame_write_flows - fct.csv, fct.txt, the ends of the logs. Returns 0 or WH_ERR_NOMEM. */
int run_frame_write_flows(struct run_frame *f) WH_MUST_CHECK;

/*
 * run_frame_close - completes all files, last of them the summary, so that it can say that another
 * is not whole. Says which caps were reached.
 */
int run_frame_close(struct run_frame *f, struct run_record *record,
                    struct err_info *e) WH_MUST_CHECK;

#endif
