/*
 * foreign_report.c - see foreign_report.h.
 */
#include "foreign_report.h"

#include "units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#define HOST_LINES_MAX 16u

/* ---- while it runs ---- */

static void print_table_head(FILE *out)
{
    fprintf(out, "# %10s  %12s  %8s  %6s  %6s", "size", "count", "type", "redop", "root");
    for (int i = 0; i < 2; i++)
        fprintf(out, "  %9s  %6s  %6s %6s", "time", "algbw", "busbw", "#wrong");
    fprintf(out, "\n# %10s  %12s  %8s  %6s  %6s", "(B)", "(elements)", "", "", "");
    for (int i = 0; i < 2; i++)
        fprintf(out, "  %9s  %6s  %6s  %5s", "(us)", "(GB/s)", "(GB/s)", "");
    fprintf(out, "\n");
}

/* The network sees no difference between out-of-place and in-place: both halves are the same. */
static void print_table_row(struct foreign_report *r, const struct coll_record *c)
{
    const int is_sum = c->call.kind == COLL_ALL_REDUCE || c->call.kind == COLL_REDUCE_SCATTER;

    if (!r->table_rows++)
        print_table_head(r->table);
    fprintf(r->table, "%12" PRId64 "  %12" PRId64 "  %8s  %6s  %6d", c->call.bytes, c->call.bytes,
            "uint8", is_sum ? "sum" : "none", -1);
    for (int i = 0; i < 2; i++)
        fprintf(r->table, "  %9.2f  %6.2f  %6.2f  %5d",
                (double)(c->end_ps - c->start_ps) / (double)PS_PER_US, coll_report_algbw(c),
                coll_report_busbw(c), c->bytes != c->expected_bytes);
    fprintf(r->table, "\n");
    r->busbw_sum += coll_report_busbw(c);
}

static void on_op(void *ctx, const struct op_record *op)
{
    struct foreign_report *r = ctx;

    coll_trace_op(&r->trace, op);
}

static void on_coll(void *ctx, const struct coll_record *c)
{
    struct foreign_report *r = ctx;

    if (c->call.kind == COLL_BARRIER && r->o->kind == FOREIGN_SIMAI)
        return; /* ours, between the rows of a MICRO table */
    if (r->collectives && coll_report_csv_row(r->collectives->f, c) && !r->collectives->error)
        r->collectives->error = EIO;
    if (coll_classes_add(&r->classes, c) && !r->rc)
        r->rc = WH_ERR_NOMEM;
    if (r->table)
        print_table_row(r, c);
}

void foreign_report_begin(struct foreign_report *r, struct dag_spec *spec)
{
    spec->observer = (struct dag_observer){r, on_op, on_coll};
    coll_trace_begin(&r->trace, r->trace_file->f, 0, spec->place->rank_count, spec->stream_count,
                     spec->program.stream_name, spec->program.ctx);
    if (r->collectives)
        fprintf(r->collectives->f, "%s\n", COLL_CSV_HEADER);
    r->one.iterations = 1;
}

void foreign_report_fini(struct foreign_report *r)
{
    coll_classes_fini(&r->classes);
    free(r->rank_times);
    r->rank_times = NULL;
}

/* ---- afterwards ---- */

static uint32_t count_ranks(const struct foreign_report *r)
{
    return r->f->sc.llm ? llm_rank_count(r->f->sc.llm) : r->f->job.place.rank_count;
}

int foreign_report_finish(struct foreign_report *r, const struct dag *d)
{
    int rc = coll_trace_end(&r->trace);

    r->trace_file->left_out = r->trace.left_out;
    r->trace_file->cap_bytes = r->trace.cap_bytes;
    if (!rc && r->ranks)
        rc = coll_report_ranks(r->ranks->f, d, count_ranks(r));
    if (!rc && r->layers)
        rc = run_simai_write_csv(r->layers->f, &r->f->job, r->f->sc.name);
    return rc ? rc : r->rc;
}

static void set_ranks(struct foreign_report *r, const struct dag *d, uint32_t rank_count,
                      struct rank_times *mean)
{
    *mean = (struct rank_times){0, 0, 0, 0, 0};
    for (uint32_t i = 0; i < rank_count; i++) {
        struct rank_times *t = &r->rank_times[i];

        dag_rank_times(d, i, t);
        mean->compute_ps += t->compute_ps / rank_count;
        mean->exposed_ps += t->exposed_ps / rank_count;
        mean->comm_ps += t->comm_ps / rank_count;
        mean->idle_ps += t->idle_ps / rank_count;
        if (t->end_ps > mean->end_ps)
            mean->end_ps = t->end_ps;
    }
}

/* From the start to the end of the last rank; GOAL does not wait for the last acknowledgements. */
static int64_t calc_iteration_ps(const struct foreign_report *r, const struct dag_counters *c)
{
    int64_t end_ps = c->end_ps;

    if (r->o->kind != FOREIGN_GOAL)
        return end_ps - c->start_ps;
    end_ps = 0;
    for (uint32_t i = 0; i < count_ranks(r); i++)
        if (run_goal_end_ps(&r->f->job, i) > end_ps)
            end_ps = run_goal_end_ps(&r->f->job, i);
    return end_ps;
}

int foreign_report_figures(struct foreign_report *r, const struct dag *d,
                           struct workload_figures *out)
{
    const uint32_t rank_count = count_ranks(r);

    *out = (struct workload_figures){.spec = &r->one,
                                     .rank_count = rank_count,
                                     .iteration_s = &r->iteration_s,
                                     .iteration_time_s = -1,
                                     .classes = &r->classes,
                                     .trace_left_out = r->trace.left_out};
    free(r->rank_times);
    r->rank_times = calloc((size_t)rank_count + 1, sizeof *r->rank_times);
    if (!r->rank_times)
        return WH_ERR_NOMEM;
    dag_counters(d, &out->counters);
    set_ranks(r, d, rank_count, &out->mean);
    out->ranks = r->rank_times;
    if (!dag_is_done(d))
        return 0;
    r->iteration_s = (double)calc_iteration_ps(r, &out->counters) / (double)PS_PER_S;
    out->iterations_done = 1;
    out->iteration_time_s = r->iteration_s;
    return 0;
}

static void print_ns(FILE *out, int64_t ps)
{
    fprintf(out, "%" PRId64, (ps + PS_PER_NS / 2) / PS_PER_NS);
}

/* As LogGOPSim: each host if they are few, else the last one. */
static void print_hosts(const struct foreign_report *r, FILE *out)
{
    const uint32_t rank_count = count_ranks(r);
    uint32_t last = 0;

    for (uint32_t i = 0; i < rank_count; i++) {
        if (rank_count <= HOST_LINES_MAX) {
            fprintf(out, "Host %" PRIu32 ": ", i);
            print_ns(out, run_goal_end_ps(&r->f->job, i));
            fprintf(out, "\n");
        }
        if (run_goal_end_ps(&r->f->job, i) > run_goal_end_ps(&r->f->job, last))
            last = i;
    }
    if (rank_count <= HOST_LINES_MAX)
        return;
    fprintf(out, "Maximum finishing time at host %" PRIu32 ": ", last);
    print_ns(out, run_goal_end_ps(&r->f->job, last));
    fprintf(out, " ns\n");
}

/* As ASTRA-sim; a cycle is a nanosecond. */
static void print_finished(const struct dag *d, uint32_t rank_count, FILE *out)
{
    for (uint32_t i = 0; i < rank_count; i++) {
        struct rank_times t;

        dag_rank_times(d, i, &t);
        fprintf(out, "sys[%" PRIu32 "] finished, ", i);
        print_ns(out, t.end_ps);
        fprintf(out, " cycles, exposed communication ");
        print_ns(out, t.exposed_ps);
        fprintf(out, " cycles.\n");
    }
}

void foreign_report_lines(const struct foreign_report *r, const struct dag *d, FILE *out)
{
    if (r->o->finished_lines && d)
        print_finished(d, count_ranks(r), out);
    if (r->o->kind == FOREIGN_GOAL && !r->o->quiet)
        print_hosts(r, out);
    if (r->table && r->table_rows)
        fprintf(out, "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : %g\n",
                r->busbw_sum / (double)r->table_rows);
}
