/*
 * scaling_table.c - see scaling_table.h.
 */
#include "scaling_table.h"

#include <inttypes.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* ---- measured ---- */

/* What a row shows: of its runs, or of the one under way. */
struct cells {
    double wall_s, spread, cpu_s, speedup, efficiency, hops_per_s;
    const struct sim_engine_stats *st; /* NULL: nothing yet */
    uint32_t parts;
};

static struct cells cells_of(const struct scaling *s, const struct scaling_row *r,
                             const struct scaling_now *now)
{
    const struct scaling_spread wall = scaling_wall_s(r);
    struct cells c = {.cpu_s = scaling_cpu_s(r).median,
                      .speedup = scaling_speedup(s, r).median,
                      .wall_s = wall.median,
                      .hops_per_s = scaling_hops_per_s(r),
                      .st = r->is_observed ? &r->st : NULL,
                      .parts = r->st.parts_alive_max};

    if (wall.median > 0)
        c.spread = (wall.max - wall.min) / wall.median;
    c.efficiency = c.speedup / r->engine.threads;
    if (!now)
        return c;
    c.parts = now->st.parts_alive;
    if (!now->run)
        c.st = &now->st; /* timed runs take no times of threads */
    if (r->run_count)
        return c; /* the medians so far say more */
    c.wall_s = now->wall_s;
    c.cpu_s = now->cpu_s;
    c.hops_per_s = now->hops_per_s;
    return c;
}

static void print_number(FILE *out, int width, int digits, double value)
{
    if (value > 0)
        fprintf(out, " %*.*f", width, digits, value);
    else
        fprintf(out, " %*s", width, "-");
}

static void print_stats(FILE *out, const struct cells *c)
{
    const struct scaling_shares share = scaling_shares(c->st);

    if (c->st->kind == ENGINE_SERIAL) {
        fprintf(out, " %7s %5s %5s %5s %9s %6s", "-", "-", "-", "-", "-", "-");
        return;
    }
    fprintf(out, " %7" PRIu64 " %5.1f %5.1f %5.1f %9" PRIu64 " %6" PRIu32, c->st->steals,
            100 * share.idle, 100 * share.barrier, 100 * share.serial, c->st->rounds, c->parts);
}

static void print_row(FILE *out, const struct scaling *s, const struct scaling_row *r,
                      const struct scaling_now *now, const char *eol)
{
    const struct cells c = cells_of(s, r, now);

    if (r->engine.kind == ENGINE_SERIAL)
        fprintf(out, "%7s", "serial");
    else
        fprintf(out, "%7" PRIu32, r->engine.threads);
    print_number(out, 8, 3, c.wall_s);
    print_number(out, 4, 0, 100 * c.spread);
    print_number(out, 8, 3, c.cpu_s);
    print_number(out, 7, 2, c.speedup);
    print_number(out, 4, 0, 100 * c.efficiency);
    print_number(out, 6, 2, c.hops_per_s / 1e6);
    if (c.st)
        print_stats(out, &c);
    if (now && now->run)
        fprintf(out, " run %" PRIu32, now->run);
    else if (now)
        fprintf(out, " watched");
    else if (r->is_observed)
        fprintf(out, " %s", r->differing_count ? "DIFFER" : "same");
    fprintf(out, "%s", eol);
}

uint32_t scaling_print_table(FILE *out, const struct scaling *s, const struct scaling_now *now,
                             const char *eol)
{
    fprintf(out, "%7s %8s %4s %8s %7s %4s %6s %7s %5s %5s %5s %9s %6s%s", "", "wall", "+-", "CPU",
            "speed-", "eff.", "Mhops", "", "idle", "barr.", "ser.", "", "parti-", eol);
    fprintf(out, "%7s %8s %4s %8s %7s %4s %6s %7s %5s %5s %5s %9s %6s results%s", "threads", "s",
            "%", "s", "up", "%", "/s", "steals", "%", "%", "%", "rounds", "tions", eol);
    for (uint32_t i = 0; i < s->row_count; i++)
        print_row(out, s, &s->rows[i], now && now->row == i ? now : NULL, eol);
    return s->row_count + 2;
}

/* ---- predicted ---- */

static void print_prediction(FILE *out, const struct scaling *s, const struct scaling_prediction *x)
{
    const struct replay_prediction *p = &x->p;
    const double measured = scaling_measured(s, x->threads);
    const double all = p->total_ns > 0 ? p->total_ns / 100 : 1;

    fprintf(out, "%7" PRIu32 " %9.2f", x->threads, p->speedup);
    print_number(out, 8, 2, measured);
    if (measured > 0)
        fprintf(out, " %+6.0f%%", 100 * (p->speedup / measured - 1));
    else
        fprintf(out, " %7s", "-");
    fprintf(out, " %6.1f %6.1f %10.1f %9.1f %8.1f\n", p->ideal_ns / all, p->serial_ns / all,
            p->sequential_ns / all, p->imbalance_ns / all, p->overhead_ns / all);
}

static void print_legend(FILE *out, const struct scaling *s)
{
    fprintf(out,
            "\nidle, barr., ser.: the threads looked for work, had none left, waited for what "
            "one thread does\nbetween rounds; with steals, rounds and partitions from a run of "
            "its own, which is not timed.\n");
    fprintf(out,
            "predicted: %" PRIu64 " tasks of %" PRIu64 " rounds%s, recorded on one thread, placed "
            "anew;\nwithout what cores take from one another (memory, shared cache, frequency). ",
            s->recorded_tasks, s->recorded_rounds, s->is_record_cut ? " (the first ones)" : "");
    if (s->cost_threads)
        fprintf(out, "A round\ncosts %.2f us, %.2f us a thread, %.2f us a task.\n",
                s->costs.round_ns / 1e3, s->costs.worker_ns / 1e3, s->costs.task_ns / 1e3);
    else
        fprintf(out,
                "One\nprocessor cannot tell what rounds cost: they are taken to cost nothing.\n");
}

void scaling_print_predictions(FILE *out, const struct scaling *s)
{
    fprintf(out, "\n%7s %9s %8s %7s   %% of the time predicted\n", "", "predicted", "measured", "");
    fprintf(out, "%7s %9s %8s %7s %6s %6s %10s %9s %8s\n", "threads", "speed-up", "", "error",
            "work", "serial", "sequential", "imbalance", "overhead");
    for (uint32_t i = 0; i < s->prediction_count; i++)
        print_prediction(out, s, &s->predictions[i]);
    print_legend(out, s);
}

/* ---- live ---- */

static int is_wide_terminal(FILE *out)
{
    struct winsize w;

    return isatty(fileno(out)) && !ioctl(fileno(out), TIOCGWINSZ, &w) &&
           w.ws_col >= SCALING_TABLE_COLUMNS && w.ws_row > SCALING_ROWS_MAX + 2;
}

void scaling_live_init(struct scaling_live *l, FILE *out)
{
    *l = (struct scaling_live){.out = is_wide_terminal(out) ? out : NULL};
}

static void go_up(struct scaling_live *l)
{
    if (l->line_count)
        fprintf(l->out, "\033[%" PRIu32 "A\r", l->line_count);
    l->line_count = 0;
}

void scaling_live_draw(struct scaling_live *l, const struct scaling *s,
                       const struct scaling_now *now)
{
    if (!l->out)
        return;
    go_up(l);
    l->line_count = scaling_print_table(l->out, s, now, "\033[K\n");
    fflush(l->out);
}

void scaling_live_erase(struct scaling_live *l)
{
    if (!l->out || !l->line_count)
        return;
    go_up(l);
    fprintf(l->out, "\033[J");
}
