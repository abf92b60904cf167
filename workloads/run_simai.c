/*
 * run_simai.c - see run_simai.h.
 *
 * The table becomes two lists of steps that all ranks share, one for each stream; a rank is a
 * position in each. Stream 0 computes and waits for its collectives. Stream 1 has those of the
 * weight gradients: for each it waits until the gradient is there (event 0), and in the end tells
 * (event 1).
 */
#include "run_simai.h"

#include "units.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define STREAMS 2u
#define NS_MAX (INT64_MAX / 4 / PS_PER_NS)

enum { EVENT_GRADIENT, EVENT_SYNCED, EVENT_COUNT };

struct step {
    enum op_kind kind;
    uint32_t layer;
    enum simai_pass_kind pass;
    enum simai_scope scope; /* COLL */
    struct coll_call call;  /* COLL; channels 0: by the group */
    int64_t duration_ps;
    uint32_t event, event_total;
    int64_t end_ps; /* on rank 0 */
};

struct steps {
    struct step *row; /* shape: [count] */
    uint32_t count, cap;
};

struct layer_figures {
    struct run_simai_figures pass[SIMAI_PASS_COUNT];
    int64_t end_ps;
};

struct run_simai {
    const struct simai_workload *w;
    struct run_simai_options o;
    const struct group_set *groups;
    uint32_t first_group[SIMAI_ALL + 1]; /* RANK_NONE: the scope is not used */
    struct steps steps[STREAMS];
    uint32_t *pos;                /* shape: [rank_count][STREAMS] */
    struct layer_figures *figure; /* shape: [layer_count] */
    int64_t prev_ps[STREAMS];     /* rank 0: end of the step before */
    int64_t backward_ps;          /* rank 0: nothing is left but waiting for stream 1 */
    uint32_t gradients;           /* collectives of stream 1 */
};

/* ---- from the table to steps ---- */

static int add_step(struct steps *s, const struct step *step)
{
    if (s->count == s->cap) {
        const uint32_t cap = s->cap ? 2 * s->cap : 64;
        struct step *rows = realloc(s->row, cap * sizeof *rows);

        if (!rows)
            return WH_ERR_NOMEM;
        s->row = rows;
        s->cap = cap;
    }
    s->row[s->count++] = *step;
    return 0;
}

static int add_compute(struct run_simai *r, uint32_t stream, uint32_t layer,
                       enum simai_pass_kind pass, int64_t ns)
{
    const struct step s = {
        .kind = OP_COMPUTE, .layer = layer, .pass = pass, .duration_ps = ns * PS_PER_NS};

    return ns ? add_step(&r->steps[stream], &s) : 0;
}

static int add_sync(struct run_simai *r, uint32_t stream, enum op_kind kind, uint32_t event,
                    uint32_t total)
{
    const struct step s = {.kind = kind, .event = event, .event_total = total};

    return add_step(&r->steps[stream], &s);
}

static int add_coll(struct run_simai *r, uint32_t stream, uint32_t layer, enum simai_pass_kind pass,
                    enum coll_kind kind, enum simai_comm comm)
{
    const struct simai_pass *p = &r->w->layers[layer].pass[pass];
    enum coll_algo algo = r->o.algo[comm];

    if (algo == COLL_AUTO && kind == COLL_ALL_TO_ALL)
        algo = COLL_DIRECT;
    const struct step s = {
        .kind = OP_COLL,
        .layer = layer,
        .pass = pass,
        .scope = p->scope,
        .call = {.kind = kind, .algo = algo, .bytes = p->comm_bytes, .channels = r->o.channels}};

    return add_step(&r->steps[stream], &s);
}

/* ALLREDUCEALLTOALL is one after the other, of the same buffer. */
static int add_comm(struct run_simai *r, uint32_t stream, uint32_t layer, enum simai_pass_kind pass)
{
    const enum simai_comm comm = r->w->layers[layer].pass[pass].comm;
    int rc = 0;

    switch (comm) {
    case SIMAI_COMM_ALLREDUCE:
        return add_coll(r, stream, layer, pass, COLL_ALL_REDUCE, comm);
    case SIMAI_COMM_ALLGATHER:
        return add_coll(r, stream, layer, pass, COLL_ALL_GATHER, comm);
    case SIMAI_COMM_REDUCESCATTER:
        return add_coll(r, stream, layer, pass, COLL_REDUCE_SCATTER, comm);
    case SIMAI_COMM_ALLTOALL:
        return add_coll(r, stream, layer, pass, COLL_ALL_TO_ALL, comm);
    case SIMAI_COMM_ALLREDUCEALLTOALL:
        rc = add_coll(r, stream, layer, pass, COLL_ALL_REDUCE, SIMAI_COMM_ALLREDUCE);
        return rc ? rc : add_coll(r, stream, layer, pass, COLL_ALL_TO_ALL, SIMAI_COMM_ALLTOALL);
    default:
        return 0;
    }
}

static int add_blocking(struct run_simai *r, uint32_t layer, enum simai_pass_kind pass)
{
    const int rc = add_compute(r, 0, layer, pass, r->w->layers[layer].pass[pass].compute_ns);

    return rc ? rc : add_comm(r, 0, layer, pass);
}

static int add_gradient(struct run_simai *r, uint32_t layer)
{
    const struct simai_layer *l = &r->w->layers[layer];
    int rc = add_compute(r, 0, layer, SIMAI_WG, l->pass[SIMAI_WG].compute_ns);

    if (rc || l->pass[SIMAI_WG].comm == SIMAI_COMM_NONE)
        return rc;
    rc = add_sync(r, 0, OP_RECORD, EVENT_GRADIENT, 0);
    if (!rc)
        rc = add_sync(r, 1, OP_WAIT, EVENT_GRADIENT, ++r->gradients);
    if (!rc)
        rc = add_comm(r, 1, layer, SIMAI_WG);
    return rc ? rc : add_compute(r, 1, layer, SIMAI_WG, l->update_ns);
}

/* The forward pass again, from the last checkpoint on up to @layer, which needs its input. */
static int add_recomputation(struct run_simai *r, uint32_t layer)
{
    uint32_t from = layer;
    int rc = 0;

    if (!r->w->layers[layer].starts_checkpoint)
        return 0;
    while (from > 0 && !r->w->layers[from].is_checkpoint)
        from--;
    for (uint32_t i = from; i < layer && !rc; i++)
        rc = add_blocking(r, i, SIMAI_FWD);
    return rc;
}

static int add_training(struct run_simai *r)
{
    const uint32_t layers = r->w->layer_count;
    int rc = 0;

    for (uint32_t i = 0; i < layers && !rc; i++)
        rc = add_blocking(r, i, SIMAI_FWD);
    if (r->w->policy == SIMAI_POLICY_DISTRIBUTED_INFERENCE)
        return rc;
    for (uint32_t i = layers; i-- > 0 && !rc;) {
        rc = add_recomputation(r, i);
        if (!rc)
            rc = add_gradient(r, i);
        if (!rc)
            rc = add_blocking(r, i, SIMAI_IG);
    }
    if (!rc && r->gradients)
        rc = add_sync(r, 1, OP_RECORD, EVENT_SYNCED, 0);
    if (!rc && r->gradients)
        rc = add_sync(r, 0, OP_WAIT, EVENT_SYNCED, 1);
    return rc;
}

/* A barrier in front of each row: all ranks begin it at the same time. */
static int add_micro(struct run_simai *r)
{
    const struct step barrier = {
        .kind = OP_COLL, .scope = SIMAI_ALL, .pass = SIMAI_WG, .call = {.kind = COLL_BARRIER}};
    int rc = 0;

    for (uint32_t i = 0; i < r->w->layer_count && !rc; i++) {
        rc = add_step(&r->steps[0], &barrier);
        r->steps[0].row[r->steps[0].count - 1].layer = i;
        if (!rc)
            rc = add_blocking(r, i, SIMAI_WG);
        if (!rc)
            rc = add_compute(r, 0, i, SIMAI_WG, r->w->layers[i].update_ns);
    }
    return rc;
}

static int check_table(const struct run_simai *r, struct err_info *e)
{
    const struct simai_workload *w = r->w;
    int64_t total = 0;

    if (w->policy == SIMAI_POLICY_HYBRID_DLRM || w->policy == SIMAI_POLICY_HYBRID_DLRM_ENHANCED ||
        w->policy == SIMAI_POLICY_HYBRID_CUSTOMIZED)
        return err_set(e, WH_ERR_INPUT, w->path, 1,
                       "found policy %s, expected one that is executed: MICRO, DATA, MODEL, "
                       "DISTRIBUTED_INFERENCE or a HYBRID policy but for DLRM and CUSTOMIZED",
                       simai_policy_name(w->policy));
    for (uint32_t i = 0; i < w->layer_count; i++) {
        const struct simai_layer *l = &w->layers[i];
        int64_t ns = l->update_ns;
        int failed = 0;

        /* twice the forward pass: it may be computed again */
        for (int p = 0; p < SIMAI_PASS_COUNT; p++)
            failed |= __builtin_add_overflow(ns, l->pass[p].compute_ns, &ns);
        failed |= __builtin_add_overflow(ns, l->pass[SIMAI_FWD].compute_ns, &ns);
        failed |= __builtin_add_overflow(total, ns, &total);
        if (failed || total > NS_MAX)
            return err_set(e, WH_ERR_INPUT, w->path, l->line,
                           "found times that add up to more than %" PRId64 " ns up to here, "
                           "expected less",
                           NS_MAX);
    }
    return 0;
}

/* ---- groups ---- */

static int add_groups(struct run_simai *r, struct run_job *j, enum simai_scope scope,
                      struct err_info *e)
{
    const uint32_t n = simai_group_size(r->w, scope);
    uint32_t *ranks = malloc(((size_t)n + 1) * sizeof *ranks);
    char name[64];
    uint32_t id;
    int rc = ranks ? 0 : WH_ERR_NOMEM;

    r->first_group[scope] = j->groups.count;
    for (uint32_t g = 0; g < r->w->rank_count / n && !rc; g++) {
        for (uint32_t i = 0; i < n; i++)
            ranks[i] = simai_group_member(r->w, scope, g, i);
        (void)snprintf(name, sizeof name, "%s %" PRIu32, simai_scope_name(scope), g);
        rc = group_set_add(&j->groups, &j->place, name, ranks, n, &id, e);
    }
    free(ranks);
    return rc;
}

static int add_used_groups(struct run_simai *r, struct run_job *j, struct err_info *e)
{
    int rc = 0;

    for (int s = 0; s <= SIMAI_ALL; s++)
        r->first_group[s] = RANK_NONE;
    for (uint32_t k = 0; k < STREAMS; k++) {
        for (uint32_t i = 0; i < r->steps[k].count && !rc; i++) {
            const struct step *s = &r->steps[k].row[i];

            if (s->kind == OP_COLL && r->first_group[s->scope] == RANK_NONE)
                rc = add_groups(r, j, s->scope, e);
        }
    }
    r->groups = &j->groups;
    return rc;
}

/* ---- the program ---- */

static int simai_next(void *ctx, uint32_t rank, uint32_t stream, struct op *out)
{
    struct run_simai *r = ctx;
    uint32_t *pos = &r->pos[(size_t)rank * STREAMS + stream];
    const struct step *s;

    if (*pos == r->steps[stream].count)
        return DAG_END;
    s = &r->steps[stream].row[*pos];
    *out = (struct op){.id = *pos,
                       .token = *pos,
                       .name = r->w->layers[s->layer].name,
                       .kind = s->kind,
                       .duration_ps = s->duration_ps,
                       .event = s->event,
                       .event_total = s->event_total};
    if (s->kind == OP_COLL) {
        out->group = r->first_group[s->scope] + simai_group_id(r->w, s->scope, rank);
        out->call = s->call;
        out->label = (uint8_t)(s->scope + 1);
        if (!out->call.channels)
            out->call.channels = r->groups->groups[out->group].ring_count;
    }
    ++*pos;
    return DAG_OP;
}

static void note_coll(struct run_simai *r, uint32_t stream, const struct step *s, int64_t now_ps)
{
    struct run_simai_figures *f = &r->figure[s->layer].pass[s->pass];
    const int64_t time_ps = now_ps - r->prev_ps[stream];

    f->comm_ps += time_ps;
    if (stream == 0)
        f->exposed_ps += time_ps;
}

/* For the table of layers: rank 0 alone. A step began when the one before ended. */
static void simai_done(void *ctx, uint32_t rank, uint32_t stream, const struct op *op,
                       int64_t now_ps)
{
    struct run_simai *r = ctx;
    struct step *s = &r->steps[stream].row[op->token];

    if (rank != 0)
        return;
    s->end_ps = now_ps;
    if (s->kind == OP_COMPUTE)
        r->figure[s->layer].pass[s->pass].compute_ps += s->duration_ps;
    else if (s->kind == OP_COLL && s->call.kind != COLL_BARRIER)
        note_coll(r, stream, s, now_ps);
    if (s->kind == OP_COMPUTE || s->kind == OP_COLL)
        r->figure[s->layer].end_ps = now_ps;
    r->prev_ps[stream] = now_ps;
    if (s->kind == OP_RECORD && s->event == EVENT_GRADIENT &&
        r->steps[1].row[r->pos[1] ? r->pos[1] - 1 : 0].kind == OP_WAIT)
        r->prev_ps[1] = now_ps; /* stream 1 stood before it */
    if (stream == 0 && s->kind != OP_WAIT)
        r->backward_ps = now_ps;
}

static const char *simai_stream_name(void *ctx, uint32_t stream)
{
    (void)ctx;
    return stream ? "weight gradients" : "compute";
}

/* ---- life cycle ---- */

static void run_simai_destroy(void *impl)
{
    struct run_simai *r = impl;

    for (uint32_t k = 0; k < STREAMS; k++)
        free(r->steps[k].row);
    free(r->pos);
    free(r->figure);
    free(r);
}

int run_simai_init(struct run_job *j, const struct simai_workload *w,
                   const struct run_simai_options *o, const struct topo *t, struct err_info *e)
{
    struct run_simai *r = calloc(1, sizeof *r);
    int rc;

    if (!r)
        return WH_ERR_NOMEM;
    r->w = w;
    r->o = *o;
    j->impl = r;
    j->destroy = run_simai_destroy;
    r->pos = calloc((size_t)w->rank_count * STREAMS + 1, sizeof *r->pos);
    r->figure = calloc((size_t)w->layer_count + 1, sizeof *r->figure);
    if (!r->pos || !r->figure)
        return WH_ERR_NOMEM;
    rc = check_table(r, e);
    if (!rc)
        rc = w->policy == SIMAI_POLICY_MICRO ? add_micro(r) : add_training(r);
    if (!rc)
        rc = run_job_place(j, t, w->rank_count, o->gpus_per_server, e);
    if (!rc)
        rc = add_used_groups(r, j, e);
    j->program = (struct dag_program){r, simai_next, simai_done, simai_stream_name, NULL};
    j->stream_count = STREAMS;
    j->event_count = EVENT_COUNT;
    return rc;
}

/* ---- figures ---- */

/* What of a weight-gradient collective, or its update, lies behind the end of everything else. */
static int64_t exposed_gradient_ps(const struct run_simai *r, uint32_t layer)
{
    int64_t prev_ps = 0, exposed_ps = 0;

    for (uint32_t i = 0; i < r->steps[1].count; i++) {
        const struct step *s = &r->steps[1].row[i];
        const int64_t from_ps = prev_ps > r->backward_ps ? prev_ps : r->backward_ps;

        if (s->kind == OP_COLL && s->layer == layer && s->end_ps > from_ps)
            exposed_ps += s->end_ps - from_ps;
        prev_ps = s->end_ps > prev_ps ? s->end_ps : prev_ps;
    }
    return exposed_ps;
}

struct run_simai_figures run_simai_figures(const struct run_job *j, uint32_t layer,
                                           enum simai_pass_kind pass, int64_t *end_ps)
{
    const struct run_simai *r = j->impl;
    struct run_simai_figures f = r->figure[layer].pass[pass];

    if (pass == SIMAI_WG && r->gradients)
        f.exposed_ps = exposed_gradient_ps(r, layer);
    if (end_ps)
        *end_ps = r->figure[layer].end_ps;
    return f;
}

static double us(int64_t ps)
{
    return (double)ps / (double)PS_PER_US;
}

/* algbw and busbw; empty without communication. */
static void print_bandwidth(FILE *f, const struct run_simai *r, uint32_t layer,
                            enum simai_pass_kind pass, int64_t comm_ps)
{
    static const enum coll_kind kinds[SIMAI_COMM_COUNT] = {
        [SIMAI_COMM_ALLREDUCE] = COLL_ALL_REDUCE,
        [SIMAI_COMM_ALLGATHER] = COLL_ALL_GATHER,
        [SIMAI_COMM_REDUCESCATTER] = COLL_REDUCE_SCATTER,
        [SIMAI_COMM_ALLTOALL] = COLL_ALL_TO_ALL,
        [SIMAI_COMM_ALLREDUCEALLTOALL] = COLL_ALL_REDUCE};
    const struct simai_pass *p = &r->w->layers[layer].pass[pass];

    if (comm_ps <= 0 || p->comm == SIMAI_COMM_NONE) {
        fprintf(f, ",,");
        return;
    }
    const double algbw = (double)p->comm_bytes * 1000 / (double)comm_ps; /* B/ps = 1000 GB/s */

    fprintf(f, ",%.6f,%.6f", algbw,
            algbw * coll_bus_factor(kinds[p->comm], simai_group_size(r->w, p->scope)));
}

static void print_comm(FILE *f, const struct run_simai *r, uint32_t layer,
                       enum simai_pass_kind pass, int64_t comm_ps)
{
    if (comm_ps > 0)
        fprintf(f, ",%.6f", us(comm_ps));
    else
        fprintf(f, ",");
    print_bandwidth(f, r, layer, pass, comm_ps);
}

#define PASS_ORDER_COUNT 3

/* SimAI's columns have the passes in this order. */
static const enum simai_pass_kind pass_order[PASS_ORDER_COUNT] = {SIMAI_FWD, SIMAI_WG, SIMAI_IG};

static void print_layer(FILE *f, const struct run_job *j, const char *run, uint32_t layer,
                        struct run_simai_figures *sum)
{
    const struct run_simai *r = j->impl;
    struct run_simai_figures fig[PASS_ORDER_COUNT];
    int64_t end_ps = 0;

    fprintf(f, "%" PRIu32 ":%s,%s", layer, r->w->layers[layer].name, run);
    for (int i = 0; i < PASS_ORDER_COUNT; i++) {
        fig[i] = run_simai_figures(j, layer, pass_order[i], &end_ps);
        sum[i].compute_ps += fig[i].compute_ps;
        sum[i].exposed_ps += fig[i].exposed_ps;
        sum[i].comm_ps += fig[i].comm_ps;
        fprintf(f, ",%.6f", us(fig[i].compute_ps));
    }
    for (int i = 0; i < PASS_ORDER_COUNT; i++)
        fprintf(f, ",%.6f", us(fig[i].exposed_ps));
    for (int i = 0; i < PASS_ORDER_COUNT; i++)
        print_comm(f, r, layer, pass_order[i], fig[i].comm_ps);
    fprintf(f, ",%.6f\n", us(end_ps));
}

int run_simai_write_csv(FILE *f, const struct run_job *j, const char *run)
{
    const struct run_simai *r = j->impl;
    struct run_simai_figures sum[PASS_ORDER_COUNT] = {{0}};
    int64_t last_ps = 0;

    fprintf(f, "layer_name,run,fwd_compute_us,wg_compute_us,ig_compute_us,fwd_exposed_comm_us,"
               "wg_exposed_comm_us,ig_exposed_comm_us,fwd_total_comm_us,fwd_algbw_GBps,"
               "fwd_busbw_GBps,wg_total_comm_us,wg_algbw_GBps,wg_busbw_GBps,ig_total_comm_us,"
               "ig_algbw_GBps,ig_busbw_GBps,workload_finished_at_us\n");
    for (uint32_t i = 0; i < r->w->layer_count; i++) {
        print_layer(f, j, run, i, sum);
        last_ps = r->figure[i].end_ps > last_ps ? r->figure[i].end_ps : last_ps;
    }
    fprintf(f, "SUM,%s", run);
    for (int i = 0; i < PASS_ORDER_COUNT; i++)
        fprintf(f, ",%.6f", us(sum[i].compute_ps));
    for (int i = 0; i < PASS_ORDER_COUNT; i++)
        fprintf(f, ",%.6f", us(sum[i].exposed_ps));
    for (int i = 0; i < PASS_ORDER_COUNT; i++)
        fprintf(f, ",%.6f,,", us(sum[i].comm_ps));
    fprintf(f, ",%.6f\n", us(last_ps));
    return ferror(f) ? WH_ERR_IO : 0;
}
