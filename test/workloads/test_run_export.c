/*
 * test_run_export.c - a workload written as traces, as a schedule and as flows does the same when
 * it is read again.
 */
#include "export_et.h"
#include "export_flows.h"
#include "export_goal.h"

#include "hpcc.h"
#include "run_chakra.h"
#include "run_fixture.h"
#include "run_goal.h"
#include "run_simai.h"
#include "units.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A recorded run of the SimAI sample with two kinds of groups. */
struct recorded {
    struct simai_workload *w;
    struct run_fix *f;
    struct dag_record *r;
    char dir[64];
};

static struct topo *load_topo(void)
{
    struct err_info e = {.text = ""};
    struct simai_topology t;

    cr_assert_eq(simai_read_topology(TEST_DATA_DIR "/simai/topo_4gpu", &t, NULL, &e), 0);
    return t.topo;
}

static void record_run(struct recorded *x)
{
    const struct run_simai_options o = {.gpus_per_server = 2};
    struct dag_spec spec = {.start_ps = 0};
    struct run_fix *f = run_fix_create_on(load_topo());
    struct sim_config cfg;

    config_init(&cfg);
    cfg.cc = CC_NONE;
    x->f = f;
    cr_assert_eq(
        simai_read_workload(TEST_DATA_DIR "/simai/workload_tp2_dp2.txt", &x->w, NULL, &f->e), 0);
    cr_assert_eq(run_simai_init(&f->job, x->w, &o, f->topo, &f->e), 0);
    run_job_fill(&f->job, &spec);
    cr_assert_eq(dag_record_create(&x->r, &spec), 0);
    cr_assert_eq(sim_create(&f->s, f->topo, &cfg, NULL, &f->e), 0);
    f->topo = NULL;
    cr_assert_eq(dag_create(&f->d, &spec, &f->e), 0);
    cr_assert_eq(dag_run(f->d, f->s, TIME_NEVER, &f->e), 0, "%s", f->e.text);
    strcpy(x->dir, "/tmp/test_run_export.XXXXXX");
    cr_assert(mkdtemp(x->dir));
}

static const char *path_in(const struct recorded *x, const char *name, char *buf)
{
    (void)snprintf(buf, 128, "%s/%s", x->dir, name);
    return buf;
}

static void fini(struct recorded *x)
{
    char command[128];

    (void)snprintf(command, sizeof command, "rm -r %s", x->dir);
    cr_assert_eq(system(command), 0);
    dag_record_destroy(x->r);
    run_fix_destroy(x->f);
    simai_workload_destroy(x->w);
}

static int64_t dag_end_ps(const struct dag *d)
{
    struct dag_counters c;

    dag_counters(d, &c);
    return c.end_ps;
}

static FILE *create(const char *path)
{
    FILE *f = fopen(path, "wb");

    cr_assert(f, "%s", path);
    return f;
}

Test(run_export, a_record_holds_every_operation_behind_what_it_waits_for)
{
    struct recorded x;
    uint32_t colls = 0;

    record_run(&x);
    for (uint32_t i = 0; i < x.r->node_count; i++) {
        const struct record_node *n = &x.r->nodes[i];

        colls += n->op.kind == OP_COLL;
        for (uint32_t k = 0; k < n->dep_count; k++) {
            const uint32_t on = x.r->deps[n->dep_first + k];

            cr_assert(on < i);
            cr_assert_eq(x.r->nodes[on].rank, n->rank);
        }
        if (n->stream == 1 && n->op.kind == OP_COLL) /* the gradient was computed before */
            cr_assert(n->dep_count >= 1);
    }
    cr_assert_eq(colls, 4 * 4);
    fini(&x);
}

/* Two streams of one rank; the second waits for an event long past. */
#define SCRIPT_OPS 3
struct script {
    struct op op[2][SCRIPT_OPS];
    uint32_t pos[2];
};

static int script_next(void *ctx, uint32_t rank, uint32_t stream, struct op *out)
{
    struct script *s = ctx;

    (void)rank;
    if (s->pos[stream] == SCRIPT_OPS)
        return DAG_END;
    *out = s->op[stream][s->pos[stream]++];
    return DAG_OP;
}

Test(run_export, a_record_knows_what_an_event_stood_for)
{
    struct script script = {.op = {{{.id = 0, .kind = OP_COMPUTE, .duration_ps = 10},
                                    {.id = 1, .kind = OP_RECORD},
                                    {.id = 2, .kind = OP_COMPUTE, .duration_ps = 500}},
                                   {{.id = 3, .kind = OP_COMPUTE, .duration_ps = 30},
                                    {.id = 4, .kind = OP_WAIT, .event_total = 1},
                                    {.id = 5, .kind = OP_COMPUTE, .duration_ps = 5}}}};
    struct run_fix *f = run_fix_create(2);
    struct dag_spec spec = {.program = {.ctx = &script, .next = script_next}};
    const struct record_node *last;
    struct sim_config cfg;
    struct dag_record *r;

    config_init(&cfg);
    cr_assert_eq(run_job_place(&f->job, f->topo, 1, 0, &f->e), 0);
    f->job.program = spec.program;
    f->job.stream_count = 2;
    f->job.event_count = 1;
    run_job_fill(&f->job, &spec);
    cr_assert_eq(dag_record_create(&r, &spec), 0);
    cr_assert_eq(sim_create(&f->s, f->topo, &cfg, NULL, &f->e), 0);
    f->topo = NULL;
    cr_assert_eq(dag_create(&f->d, &spec, &f->e), 0);
    cr_assert_eq(dag_run(f->d, f->s, TIME_NEVER, &f->e), 0);
    cr_assert_eq(r->node_count, 4);
    last = &r->nodes[3];
    cr_assert_eq(last->op.id, 5);
    cr_assert_eq(last->dep_count, 2); /* 3 in its stream, 0 behind the event */
    cr_assert_eq(r->nodes[r->deps[last->dep_first]].op.id, 3);
    cr_assert_eq(r->nodes[r->deps[last->dep_first + 1]].op.id, 0);
    dag_record_destroy(r);
    run_fix_destroy(f);
}

Test(run_export, an_all_gather_is_written_as_what_one_rank_contributes)
{
    const struct coll_call call = {.kind = COLL_ALL_GATHER, .bytes = 2001};
    struct record_node n = {.op = {.kind = OP_COLL, .call = call}};
    struct run_fix *f = run_fix_create(2);
    struct dag_record r = {.nodes = &n, .node_count = 1, .text = (char[]){""}};
    char path[] = "/tmp/test_run_export.XXXXXX";
    const int fd = mkstemp(path);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "wb");
    struct et_trace *t;
    uint32_t id;

    cr_assert_eq(run_job_place(&f->job, f->topo, 2, 0, &f->e), 0);
    cr_assert_eq(run_job_add_all(&f->job, "all", &id, &f->e), 0);
    r.place = &f->job.place;
    r.groups = &f->job.groups;
    cr_assert(file);
    cr_assert_eq(export_et_rank(file, &r, 0, &f->e), 0, "%s", f->e.text);
    fclose(file);
    cr_assert_eq(et_read(path, 0, NULL, &t, NULL, &f->e), 0, "%s", f->e.text);
    cr_assert_eq(t->node_count, 1);
    cr_assert_eq(t->nodes[0].comm_bytes, 1001); /* rounded up */
    cr_assert_str_eq(et_text(t, t->nodes[0].group), "");
    et_trace_destroy(t);
    unlink(path);
    run_fix_destroy(f);
}

Test(run_export, traces_send_what_the_workload_sent)
{
    struct recorded x;
    struct et_set set;
    struct astra_groups groups;
    struct astra_logical logical = {.dim_count = 1, .dim = {4}, .rank_count = 4};
    struct run_chakra_options o = {.set = &set, .logical = &logical, .groups = &groups};
    struct run_fix *f;
    char path[128];

    record_run(&x);
    for (uint32_t i = 0; i < 4; i++) {
        char name[16];
        FILE *file;

        (void)snprintf(name, sizeof name, "t.%u.et", i);
        file = create(path_in(&x, name, path));
        cr_assert_eq(export_et_rank(file, x.r, i, &x.f->e), 0, "%s", x.f->e.text);
        fclose(file);
    }
    FILE *file = create(path_in(&x, "groups.json", path));
    cr_assert_eq(export_et_groups(file, x.r), 0);
    fclose(file);
    f = run_fix_create_on(load_topo());
    cr_assert_eq(astra_read_groups(path, &groups, NULL, &f->e), 0, "%s", f->e.text);
    cr_assert_eq(et_read_set(path_in(&x, "t", path), NULL, &set, NULL, &f->e), 0, "%s", f->e.text);
    cr_assert_eq(run_chakra_init(&f->job, &o, f->topo, NULL, &f->e), 0, "%s", f->e.text);
    cr_assert_eq(run_fix_run(f), 0, "%s", f->e.text);
    for (uint32_t i = 0; i < 4; i++)
        cr_assert_eq(run_fix_sent_bytes(f, i), run_fix_sent_bytes(x.f, i));
    cr_assert_eq(f->coll_count, 8);
    run_fix_destroy(f);
    et_set_fini(&set);
    astra_groups_fini(&groups);
    fini(&x);
}

Test(run_export, a_schedule_sends_the_same_messages_and_takes_as_long)
{
    struct recorded x;
    struct run_goal_options o;
    struct run_fix *f;
    struct goal *g;
    char path[128];
    FILE *file;

    record_run(&x);
    file = create(path_in(&x, "w.goal", path));
    cr_assert_eq(export_goal(file, x.r, &x.f->e), 0, "%s", x.f->e.text);
    fclose(file);
    f = run_fix_create_on(load_topo());
    cr_assert_eq(goal_read(path, &g, NULL, &f->e), 0, "%s", f->e.text);
    run_goal_options_init(&o);
    o.overhead_ns = 0;
    cr_assert_eq(run_goal_init(&f->job, g, &o, f->topo, &f->e), 0, "%s", f->e.text);
    cr_assert_eq(run_fix_run(f), 0, "%s", f->e.text);
    cr_assert_eq(sim_flow_count(f->s), sim_flow_count(x.f->s));
    for (uint32_t i = 0; i < 4; i++)
        cr_assert_eq(run_fix_sent_bytes(f, i), run_fix_sent_bytes(x.f, i));
    /* schedules do not wait for acknowledgements, and the packets are larger here */
    cr_assert(dag_end_ps(f->d) > 550 * PS_PER_US);
    cr_assert(dag_end_ps(f->d) <= dag_end_ps(x.f->d) + PS_PER_US, "%lld, %lld",
              (long long)dag_end_ps(f->d), (long long)dag_end_ps(x.f->d));
    run_fix_destroy(f);
    goal_destroy(g);
    fini(&x);
}

Test(run_export, flows_can_be_read_as_a_flow_file)
{
    struct recorded x;
    struct scenario sc;
    struct err_info e = {.text = ""};
    char path[128];
    FILE *file;

    record_run(&x);
    file = create(path_in(&x, "flow.txt", path));
    cr_assert_eq(export_flows(file, x.f->s), 0);
    fclose(file);
    scenario_init(&sc);
    cr_assert_eq(hpcc_read_flows(path, sim_topo(x.f->s), &sc, NULL, &e), 0, "%s", e.text);
    cr_assert_eq(sc.flow_count, sim_flow_count(x.f->s));
    for (uint32_t i = 0; i < sc.flow_count; i++) {
        const struct flow_spec *a = &sc.flows[i], *b = sim_flow_spec(x.f->s, i);

        cr_assert(a->src == b->src && a->dst == b->dst && a->bytes == b->bytes);
        cr_assert(a->start_ps - b->start_ps <= 500 && b->start_ps - a->start_ps <= 500);
    }
    scenario_fini(&sc);
    fini(&x);
}

Test(run_export, a_collective_that_traces_do_not_have_is_refused)
{
    const struct coll_call call = {.kind = COLL_SEND_RECV, .bytes = 8};
    struct record_node n = {.op = {.kind = OP_COLL, .call = call}};
    struct run_fix *f = run_fix_create(2);
    struct dag_record r = {.nodes = &n, .node_count = 1, .text = (char[]){""}};
    struct err_info e = {.text = ""};
    FILE *file = tmpfile();
    uint32_t id;

    cr_assert_eq(run_job_place(&f->job, f->topo, 2, 0, &e), 0);
    cr_assert_eq(run_job_add_all(&f->job, "all", &id, &e), 0);
    r.place = &f->job.place;
    r.groups = &f->job.groups;
    cr_assert(file);
    cr_assert_eq(export_et_rank(file, &r, 0, &e), WH_ERR_INPUT);
    cr_assert(strstr(e.text, "send_recv"), "%s", e.text);
    fclose(file);
    run_fix_destroy(f);
}
