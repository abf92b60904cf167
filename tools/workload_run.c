/*
 * workload_run.c - see workload_run.h.
 */
#include "workload_run.h"

#include "units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#define BLOCKED_SHOWN 8

struct workload_run {
    struct llm *llm;
    struct dag *dag;
    struct llm_spec spec;
    struct workload_outputs files;
    struct perturb_program late; /* zero: ranks start at once */
    struct coll_trace trace;
    struct coll_classes classes;
    struct rank_times *ranks; /* shape: [rank_count] */
    double *iteration_s;      /* shape: [iterations] */
    int rc;                   /* first failure of an observer */
};

static void on_op(void *ctx, const struct op_record *r)
{
    struct workload_run *w = ctx;

    coll_trace_op(&w->trace, r);
}

static void on_coll(void *ctx, const struct coll_record *r)
{
    struct workload_run *w = ctx;
    struct out_file *csv = w->files.collectives;
    int rc = csv ? coll_report_csv_row(csv->f, r) : 0;

    if (rc && !csv->error)
        csv->error = EIO;
    rc = coll_classes_add(&w->classes, r);
    if (rc && !w->rc)
        w->rc = rc;
}

static void begin_files(struct workload_run *w, const struct dag_spec *d)
{
    if (w->files.trace)
        coll_trace_begin(&w->trace, w->files.trace->f, 0, d->place->rank_count, d->stream_count,
                         d->program.stream_name, d->program.ctx);
    if (w->files.collectives)
        fprintf(w->files.collectives->f, "%s\n", COLL_CSV_HEADER);
}

static int make_dag(struct workload_run *w, const struct workload_request *r, struct err_info *e)
{
    struct dag_spec d;
    int rc = llm_create(&w->llm, &w->spec, sim_topo(r->s), e);

    if (rc)
        return rc;
    llm_dag_spec(w->llm, &d);
    d.observer = (struct dag_observer){w, w->files.trace ? on_op : NULL, on_coll};
    d.poll = r->poll;
    d.poll_ctx = r->poll_ctx;
    begin_files(w, &d);
    rc = r->shift ? perturb_program_init(&w->late, r->shift, &d) : 0;
    return rc ? rc : dag_create(&w->dag, &d, e);
}

int workload_run_create(struct workload_run **out, const struct workload_request *r,
                        struct err_info *e)
{
    struct workload_run *w = calloc(1, sizeof *w);
    int rc;

    if (!w)
        return WH_ERR_NOMEM;
    w->spec = *r->sc->llm;
    w->files = r->files;
    w->ranks = calloc(llm_rank_count(&w->spec), sizeof *w->ranks);
    w->iteration_s = calloc(w->spec.iterations, sizeof *w->iteration_s);
    rc = w->ranks && w->iteration_s ? make_dag(w, r, e) : WH_ERR_NOMEM;
    if (rc) {
        workload_run_destroy(w);
        return rc;
    }
    *out = w;
    return 0;
}

void workload_run_destroy(struct workload_run *w)
{
    if (!w)
        return;
    dag_destroy(w->dag);
    perturb_program_fini(&w->late);
    llm_destroy(w->llm);
    coll_classes_fini(&w->classes);
    free(w->ranks);
    free(w->iteration_s);
    free(w);
}

int workload_run_execute(struct workload_run *w, struct sim *s, struct err_info *e)
{
    const int rc = dag_run(w->dag, s, TIME_NEVER, e);

    return rc ? rc : w->rc;
}

int workload_run_finish(struct workload_run *w)
{
    int rc = 0;

    if (w->files.trace) {
        rc = coll_trace_end(&w->trace);
        w->files.trace->left_out = w->trace.left_out;
        w->files.trace->cap_bytes = w->trace.cap_bytes;
    }
    return rc ? rc : w->rc;
}

/* Iteration i runs from the end of the one before to its own. */
static void set_iterations(struct workload_run *w, struct workload_figures *out)
{
    int64_t from_ps = out->counters.start_ps;
    double sum = 0;

    for (uint32_t i = 0; i < w->spec.iterations; i++) {
        const int64_t end_ps = llm_iteration_end_ps(w->llm, i);

        if (end_ps < 0)
            break;
        w->iteration_s[i] = (double)(end_ps - from_ps) / (double)PS_PER_S;
        sum += w->iteration_s[i];
        from_ps = end_ps;
        out->iterations_done = i + 1;
    }
    out->iteration_time_s = out->iterations_done ? sum / out->iterations_done : -1;
}

static void set_ranks(struct workload_run *w, struct workload_figures *out)
{
    struct rank_times sum = {0, 0, 0, 0, 0};

    for (uint32_t r = 0; r < out->rank_count; r++) {
        const struct rank_times *t = &w->ranks[r];

        dag_rank_times(w->dag, r, &w->ranks[r]);
        sum.compute_ps += t->compute_ps / out->rank_count;
        sum.exposed_ps += t->exposed_ps / out->rank_count;
        sum.comm_ps += t->comm_ps / out->rank_count;
        sum.idle_ps += t->idle_ps / out->rank_count;
        if (t->end_ps > sum.end_ps)
            sum.end_ps = t->end_ps;
    }
    out->mean = sum;
}

void workload_run_figures(struct workload_run *w, struct workload_figures *out)
{
    *out = (struct workload_figures){.spec = &w->spec,
                                     .rank_count = llm_rank_count(&w->spec),
                                     .iteration_s = w->iteration_s,
                                     .ranks = w->ranks,
                                     .classes = &w->classes,
                                     .trace_left_out = w->trace.left_out};
    dag_counters(w->dag, &out->counters);
    set_iterations(w, out);
    set_ranks(w, out);
}

static void print_sentence(void *ctx, const char *text)
{
    fprintf(ctx, "  %s\n", text);
}

void workload_run_blocked(const struct workload_run *w, FILE *err)
{
    const uint64_t count = dag_blocked(w->dag, BLOCKED_SHOWN, print_sentence, err);

    if (count > BLOCKED_SHOWN)
        fprintf(err, "  and %" PRIu64 " more\n", count - BLOCKED_SHOWN);
}

/* ---- counts ---- */

static void print_model(const struct llm_spec *s, FILE *out)
{
    fprintf(out,
            "# workload: %" PRIu32 " ranks (tp %" PRIu32 ", cp %" PRIu32 ", ep %" PRIu32
            ", pp %" PRIu32 ", dp %" PRIu32 "), %" PRIu32 " micro-batches, %" PRIu32
            " iterations\n",
            llm_rank_count(s), s->tp, s->cp, s->ep, s->pp, s->dp, s->micro_batches, s->iterations);
    fprintf(out, "# parameters: %" PRIu64 ", %" PRIu64 " of them used for a token\n", llm_params(s),
            llm_params_used(s));
    fprintf(out, "# parameters per GPU: first stage %" PRIu64 ", ", llm_stage_params(s, 0));
    if (s->pp > 2)
        fprintf(out, "middle %" PRIu64 ", ", llm_stage_params(s, 1));
    fprintf(out, "last %" PRIu64 "; experts %" PRIu64 "\n", llm_stage_params(s, s->pp - 1),
            llm_expert_params(s));
    fprintf(out, "# model FLOPs: %.6g; forward pass of a micro-batch on a stage: %.6g s\n",
            llm_flops(s), llm_forward_s(s));
    fprintf(out, "# activations kept per layer and micro-batch: %.0f B\n", llm_activation_bytes(s));
}

static void print_count(const char *name, const struct llm_count *k, FILE *out)
{
    fprintf(out,
            "# %-5s %12" PRIu64 " %12" PRIu64 " %20" PRIu64 " %20" PRIu64 " %20" PRIu64
            " %16" PRIu64 " %18" PRIu64 "\n",
            name, k->colls, k->flows, k->bytes, k->nvlink_bytes, k->relay_bytes, k->packets,
            k->packet_hops);
}

static void print_table(const struct llm_counts *c, uint32_t payload_bytes, FILE *out)
{
    fprintf(out, "# one iteration sends (packets of %" PRIu32 " B):\n", payload_bytes);
    fprintf(out, "# %-5s %12s %12s %20s %20s %20s %16s %18s\n", "kind", "collectives", "flows",
            "bytes", "over NVLink", "relayed", "packets", "packet-hops");
    for (unsigned k = 0; k < LLM_KIND_COUNT; k++)
        if (c->kind[k].colls)
            print_count(llm_kind_name((enum llm_kind)k), &c->kind[k], out);
    print_count("all", &c->all, out);
}

#define SIZES_SHOWN 40u

static void print_sizes(const struct llm_counts *c, FILE *out)
{
    const uint32_t shown = c->size_count < SIZES_SHOWN ? c->size_count : SIZES_SHOWN;

    fprintf(out, "# sizes of flows:\n");
    for (uint32_t i = 0; i < shown; i++)
        fprintf(out, "#   %-5s %" PRIu64 " of %" PRId64 " B over %" PRIu32 " links\n",
                llm_kind_name(c->sizes[i].kind), c->sizes[i].flows, c->sizes[i].bytes,
                c->sizes[i].links);
    if (shown < c->size_count)
        fprintf(out, "#   and %" PRIu32 " more\n", c->size_count - shown);
}

int workload_print_counts(const struct scenario *sc, FILE *out, struct err_info *e)
{
    struct llm_counts counts;
    struct llm *llm;
    int rc = llm_create(&llm, sc->llm, sc->topo, e);

    if (rc)
        return rc;
    rc = llm_count(llm, sc->topo, sc->cfg.payload_bytes, &counts, e);
    llm_destroy(llm);
    if (rc)
        return rc;
    print_model(sc->llm, out);
    print_table(&counts, sc->cfg.payload_bytes, out);
    print_sizes(&counts, out);
    llm_counts_fini(&counts);
    return 0;
}
