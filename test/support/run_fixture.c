/*
 * run_fixture.c - see run_fixture.h.
 */
#include "run_fixture.h"

#include "dag_fixture.h"
#include "sim_fixture.h"
#include "topogen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct run_fix *run_fix_create_on(struct topo *topo)
{
    struct run_fix *f = calloc(1, sizeof *f);

    check(f, "out of memory");
    f->topo = topo;
    return f;
}

struct run_fix *run_fix_create(uint32_t hosts)
{
    struct topo_spec spec;
    struct topo *topo;

    topo_spec_init(&spec, TOPO_SINGLE_SWITCH);
    spec.hosts = hosts;
    check(!topo_generate(&spec, &topo, NULL), "no topology");
    return run_fix_create_on(topo);
}

void run_fix_destroy(struct run_fix *f)
{
    dag_destroy(f->d);
    sim_destroy(f->s);
    run_job_fini(&f->job);
    topo_destroy(f->topo);
    free(f);
}

static void on_op(void *ctx, const struct op_record *r)
{
    struct run_fix *f = ctx;

    check(f->op_count < RUN_FIX_RECORDS, "%u operations", f->op_count);
    f->ops[f->op_count] = *r;
    f->op_copies[f->op_count] = *r->op;
    f->ops[f->op_count].op = &f->op_copies[f->op_count];
    f->op_count++;
}

static void on_coll(void *ctx, const struct coll_record *r)
{
    struct run_fix *f = ctx;

    check(f->coll_count < RUN_FIX_RECORDS, "%u collectives", f->coll_count);
    f->colls[f->coll_count++] = *r;
}

static void on_blocked(void *ctx, const char *text)
{
    struct run_fix *f = ctx;
    const size_t used = strlen(f->blocked);

    (void)snprintf(f->blocked + used, sizeof f->blocked - used, "%s\n", text);
}

int run_fix_run(struct run_fix *f)
{
    const struct sim_config cfg = dag_fix_config();
    struct dag_spec spec = {.observer = {f, on_op, on_coll}};
    int rc = sim_create(&f->s, f->topo, &cfg, NULL, &f->e);

    check(!rc, "sim_create: %s", f->e.text);
    f->topo = NULL;
    run_job_fill(&f->job, &spec);
    rc = dag_create(&f->d, &spec, &f->e);
    check(!rc, "dag_create: %s", f->e.text);
    run_job_attach(&f->job, f->d);
    rc = dag_run(f->d, f->s, TIME_NEVER, &f->e);
    if (rc)
        (void)dag_blocked(f->d, 100, on_blocked, f);
    return rc;
}

int64_t run_fix_sent_bytes(const struct run_fix *f, uint32_t rank)
{
    int64_t bytes = 0;

    for (uint32_t i = 0; i < sim_flow_count(f->s); i++)
        if (sim_flow_spec(f->s, i)->src == f->job.place.host[rank])
            bytes += sim_flow_spec(f->s, i)->bytes;
    return bytes;
}

const struct coll_record *run_fix_coll(const struct run_fix *f, enum coll_kind kind,
                                       const char *group)
{
    const struct coll_record *found = NULL;

    for (uint32_t i = 0; i < f->coll_count; i++) {
        if (f->colls[i].call.kind != kind || strcmp(f->colls[i].group->name, group))
            continue;
        check(!found, "a second %s in group %s", coll_kind_name(kind), group);
        found = &f->colls[i];
    }
    check(found, "no %s in group %s", coll_kind_name(kind), group);
    return found;
}

int64_t run_fix_op_end_ps(const struct run_fix *f, uint32_t rank, uint64_t id, enum op_kind kind)
{
    for (uint32_t i = 0; i < f->op_count; i++)
        if (f->ops[i].rank == rank && f->ops[i].op->id == id && f->ops[i].op->kind == kind)
            return f->ops[i].end_ps;
    return -1;
}

static void on_delivered(void *ctx, struct sim *s, uint32_t flow, int64_t now_ps)
{
    int64_t *at_ps = ctx;

    (void)s;
    (void)flow;
    *at_ps = now_ps;
}

int64_t run_fix_message_ps(int64_t bytes)
{
    const struct sim_config cfg = dag_fix_config();
    int64_t at_ps = -1;
    const struct sim_hooks hooks = {.ctx = &at_ps, .on_delivered = on_delivered};
    struct run_fix *f = run_fix_create(2);
    struct sim *s = fix_sim(f->topo, &cfg);

    f->topo = NULL;
    (void)fix_flow(s, 0, 1, bytes, 0);
    sim_set_hooks(s, &hooks);
    fix_run(s);
    sim_destroy(s);
    run_fix_destroy(f);
    check(at_ps > 0, "the message of %lld B did not arrive", (long long)bytes);
    return at_ps;
}
