/*
 * progress.c - see progress.h.
 */
#include "progress.h"

#include "units.h"

#include <inttypes.h>
#include <time.h>
#include <unistd.h>

double progress_clock_s(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

void progress_init(struct progress *p, FILE *err, enum progress_mode mode)
{
    *p = (struct progress){.err = err, .mode = mode};
    if (mode == PROGRESS_AUTO && !isatty(fileno(err)))
        p->mode = PROGRESS_OFF;
    p->begin_s = p->last_s = progress_clock_s();
}

double progress_eta_s(uint64_t flows_done, uint64_t flow_count, double elapsed_s)
{
    if (flows_done == 0 || flow_count < flows_done)
        return -1;
    return elapsed_s * (double)(flow_count - flows_done) / (double)flows_done;
}

const char *progress_format_json(const struct sim_counters *c, int64_t now_ps, uint64_t flow_count,
                                 double elapsed_s, double events_per_s, char *buf, size_t buf_bytes)
{
    const double eta_s = progress_eta_s(c->flows_finished, flow_count, elapsed_s);
    char eta[32] = "null";

    if (eta_s >= 0)
        (void)snprintf(eta, sizeof eta, "%.1f", eta_s);
    (void)snprintf(buf, buf_bytes,
                   "{\"simulated_s\": %.9f, \"flows_finished\": %" PRIu64 ", \"flows\": %" PRIu64
                   ", \"events\": %" PRIu64 ", \"events_per_s\": %.0f, \"elapsed_s\": %.1f, "
                   "\"eta_s\": %s}\n",
                   (double)now_ps / (double)PS_PER_S, c->flows_finished, flow_count, c->events,
                   events_per_s, elapsed_s, eta);
    return buf;
}

static void show_line(struct progress *p, const struct sim_counters *c, int64_t now_ps,
                      uint64_t flow_count, double elapsed_s, double events_per_s)
{
    const double eta_s = progress_eta_s(c->flows_finished, flow_count, elapsed_s);

    fprintf(p->err, "\r%.6f s simulated | %" PRIu64 "/%" PRIu64 " flows | %.2f M events/s | ",
            (double)now_ps / (double)PS_PER_S, c->flows_finished, flow_count, events_per_s / 1e6);
    if (eta_s < 0)
        fprintf(p->err, "ETA unknown\033[K");
    else
        fprintf(p->err, "ETA %.0f s\033[K", eta_s);
    fflush(p->err);
    p->is_shown = 1;
}

static void show(struct progress *p, const struct sim *s, double now_s)
{
    struct sim_counters c;
    const double elapsed_s = now_s - p->begin_s, step_s = now_s - p->last_s;
    char line[512];

    sim_counters(s, &c);
    const double rate = step_s > 0 ? (double)(c.events - p->last_events) / step_s : 0;

    if (p->mode == PROGRESS_JSON) {
        fputs(progress_format_json(&c, sim_now_ps(s), sim_flow_count(s), elapsed_s, rate, line,
                                   sizeof line),
              p->err);
        fflush(p->err);
    } else {
        show_line(p, &c, sim_now_ps(s), sim_flow_count(s), elapsed_s, rate);
    }
    p->last_events = c.events;
    p->last_s = now_s;
}

void progress_poll(struct progress *p, const struct sim *s)
{
    double now_s;

    if (p->mode == PROGRESS_OFF)
        return;
    now_s = progress_clock_s();
    if (now_s - p->last_s >= (p->mode == PROGRESS_JSON ? 1.0 : 0.2))
        show(p, s, now_s);
}

void progress_end(struct progress *p, const struct sim *s)
{
    if (p->mode == PROGRESS_JSON)
        show(p, s, progress_clock_s());
    if (p->is_shown)
        fprintf(p->err, "\r\033[K");
    p->is_shown = 0;
}
