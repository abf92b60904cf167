/*
 * progress.h - signs of life of a run, on the error stream: a line that rewrites itself on a
 * terminal, or one JSON object a line for programs. Threading: called on the thread that runs the
 * simulation.
 */
#ifndef WH_PROGRESS_H
#define WH_PROGRESS_H

#include "options.h"
#include "sim.h"

#include <stdio.h>

struct progress {
    FILE *err;
    enum progress_mode mode; /* PROGRESS_AUTO here means: a terminal is there, show the line */
    double begin_s, last_s;  /* wall clock */
    uint64_t last_events;
    int is_shown; /* a line without a line break stands on the terminal */
};

/* progress_init - @err must be a terminal for PROGRESS_AUTO to show anything; else it is off. */
void progress_init(struct progress *p, FILE *err, enum progress_mode mode);

/* progress_poll - prints if a fifth of a second (JSON: a second) has passed since the last time. */
void progress_poll(struct progress *p, const struct sim *s);

/* progress_end - JSON: a last line; terminal: removes the line. */
void progress_end(struct progress *p, const struct sim *s);

/* progress_eta_s - estimated rest of the run [s] from the flows done, -1 if unknown. */
double progress_eta_s(uint64_t flows_done, uint64_t flow_count, double elapsed_s);

/* progress_format_json - one line, line break included. Returns @buf. */
const char *progress_format_json(const struct sim_counters *c, int64_t now_ps, uint64_t flow_count,
                                 double elapsed_s, double events_per_s, char *buf,
                                 size_t buf_bytes);

/* progress_clock_s - monotonic wall clock. */
double progress_clock_s(void);

#endif
