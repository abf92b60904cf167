/*
 * test_run_simai.c - SimAI tables on the packet engine: order of a pass, groups, volumes, and the
 * table of layers.
 */
#include "run_simai.h"

#include "run_fixture.h"
#include "units.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MIB INT64_C(1048576)
#define HYBRID                                                                                     \
    "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 1 pp: 1 vpp: 1 ga: 1 "

static struct run_fix *start(struct simai_workload *w, int expected)
{
    const struct run_simai_options o = {.gpus_per_server = 2};
    struct err_info e = {.text = ""};
    struct simai_topology t;
    struct run_fix *f;

    cr_assert_eq(simai_read_topology(TEST_DATA_DIR "/simai/topo_4gpu", &t, NULL, &e), 0);
    cr_assert_eq(simai_workload_fit(w, t.gpu_count, &e), 0, "%s", e.text);
    f = run_fix_create_on(t.topo);
    cr_assert_eq(run_simai_init(&f->job, w, &o, f->topo, &f->e), expected, "%s", f->e.text);
    return f;
}

static struct simai_workload *read_file(const char *path)
{
    struct err_info e = {.text = ""};
    struct simai_workload *w;

    cr_assert_eq(simai_read_workload(path, &w, NULL, &e), 0, "%s", e.text);
    return w;
}

static struct simai_workload *read_text(const char *text)
{
    char path[] = "/tmp/test_run_simai.XXXXXX";
    const int fd = mkstemp(path);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
    struct simai_workload *w;

    cr_assert(f);
    fputs(text, f);
    fclose(f);
    w = read_file(path);
    unlink(path);
    return w;
}

static struct run_fix *run(struct simai_workload *w)
{
    struct run_fix *f = start(w, 0);

    cr_assert_eq(run_fix_run(f), 0, "%s", f->e.text);
    return f;
}

/* Payload that left a GPU towards a node of the topology. */
static int64_t sent_to(const struct run_fix *f, uint32_t gpu, uint32_t node)
{
    int64_t bytes = 0;

    for (uint32_t i = 0; i < sim_flow_count(f->s); i++) {
        const struct flow_spec *spec = sim_flow_spec(f->s, i);
        const struct topo *t = sim_topo(f->s);
        uint32_t ports[8];

        if (spec->src != gpu)
            continue;
        cr_assert(sim_flow_path(f->s, i, 0, ports, 8) >= 2);
        if (t->port_node[t->port_peer[ports[0]]] == node)
            bytes += spec->bytes;
    }
    return bytes;
}

Test(run_simai, tp2_dp2_sends_nine_mib_over_nvlink_and_eight_over_its_rail)
{
    struct simai_workload *w = read_file(TEST_DATA_DIR "/simai/workload_tp2_dp2.txt");
    struct run_fix *f = run(w);
    struct port_stats st;
    const struct topo *t = sim_topo(f->s);

    for (uint32_t gpu = 0; gpu < 4; gpu++) {
        cr_assert_eq(sent_to(f, gpu, 4 + gpu / 2), 9 * MIB); /* NVSwitch of the server */
        cr_assert_eq(sent_to(f, gpu, 6 + gpu % 2), 8 * MIB); /* leaf of the rail */
        cr_assert_eq(run_fix_sent_bytes(f, gpu), 17 * MIB);
    }
    for (uint32_t p = t->first_port[8]; p < t->first_port[9]; p++) { /* the spine */
        sim_port_stats(f->s, p, &st);
        cr_assert_eq(st.tx_packets, 0);
    }
    run_fix_destroy(f);
    simai_workload_destroy(w);
}

Test(run_simai, a_pass_has_simais_order)
{
    struct simai_workload *w = read_file(TEST_DATA_DIR "/simai/workload_tp2_dp2.txt");
    struct run_fix *f = run(w);
    int64_t end_ps[3], tp_ps[3] = {0}, dp_end_ps = 0;
    int seen = 0;

    for (uint32_t i = 0; i < f->coll_count; i++) {
        const struct coll_record *c = &f->colls[i];

        if (!strcmp(c->group->name, "TP 0"))
            tp_ps[seen++] = c->end_ps - c->start_ps;
        if (!strcmp(c->group->name, "DP 0"))
            dp_end_ps = c->end_ps;
    }
    cr_assert_eq(seen, 3);
    for (uint32_t i = 0; i < 3; i++)
        (void)run_simai_figures(&f->job, i, SIMAI_FWD, &end_ps[i]);
    /* 50 us, embedding; 200 us, mlp; 1 ns; backward: 1 + 1 ns, 100 us, 200 us, mlp, 1 + 1 ns */
    cr_assert_eq(end_ps[0], 550 * PS_PER_US + 5 * PS_PER_NS + tp_ps[0] + tp_ps[1] + tp_ps[2]);
    cr_assert_eq(end_ps[1], end_ps[0] - 2 * PS_PER_NS);
    cr_assert_eq(end_ps[2], dp_end_ps + 100 * PS_PER_NS); /* its update follows the collective */
    cr_assert(dp_end_ps < end_ps[1]);                     /* it ran beside the rest */
    run_fix_destroy(f);
    simai_workload_destroy(w);
}

Test(run_simai, figures_split_exposed_from_hidden_communication)
{
    struct simai_workload *w = read_file(TEST_DATA_DIR "/simai/workload_tp2_dp2.txt");
    struct run_fix *f = run(w);
    const struct run_simai_figures fwd = run_simai_figures(&f->job, 1, SIMAI_FWD, NULL);
    const struct run_simai_figures wg = run_simai_figures(&f->job, 2, SIMAI_WG, NULL);
    const struct coll_record *dp = run_fix_coll(f, COLL_ALL_REDUCE, "DP 0");

    cr_assert_eq(fwd.compute_ps, 200 * PS_PER_US);
    cr_assert(fwd.comm_ps > 0);
    cr_assert_eq(fwd.exposed_ps, fwd.comm_ps);
    cr_assert_eq(wg.comm_ps, dp->end_ps - dp->start_ps);
    cr_assert_eq(wg.exposed_ps, 0); /* hidden behind the rest of the backward pass */
    run_fix_destroy(f);
    simai_workload_destroy(w);
}

Test(run_simai, weight_gradients_are_waited_for_at_the_end)
{
    struct simai_workload *w =
        read_text(HYBRID "all_gpus: 4 checkpoints: 0 checkpoint_initiates: 0\n"
                         "2\n"
                         "a -1 10 NONE 0 10 NONE 0 10 ALLREDUCE 1000000 0\n"
                         "b -1 10 NONE 0 10 NONE 0 10 ALLREDUCE 1000000 0\n");
    struct run_fix *f = run(w);
    const struct run_simai_figures a = run_simai_figures(&f->job, 0, SIMAI_WG, NULL);
    const struct run_simai_figures b = run_simai_figures(&f->job, 1, SIMAI_WG, NULL);

    /* b first, as the backward pass comes to it first; then a; all computation ends at 60 ns */
    cr_assert_eq(a.exposed_ps, a.comm_ps);
    cr_assert_eq(b.exposed_ps, b.comm_ps - 30 * PS_PER_NS);
    run_fix_destroy(f);
    simai_workload_destroy(w);
}

Test(run_simai, checkpoints_compute_the_forward_pass_again)
{
    struct simai_workload *w =
        read_text(HYBRID "all_gpus: 4 checkpoints: 1 0 checkpoint_initiates: 1 2\n"
                         "3\n"
                         "a -1 1000 NONE 0 10 NONE 0 10 NONE 0 0\n"
                         "b -1 2000 NONE 0 10 NONE 0 10 NONE 0 0\n"
                         "c -1 4000 NONE 0 10 NONE 0 10 NONE 0 0\n");
    struct run_fix *f = run(w);

    cr_assert_eq(run_simai_figures(&f->job, 0, SIMAI_FWD, NULL).compute_ps, 2000 * PS_PER_NS);
    cr_assert_eq(run_simai_figures(&f->job, 1, SIMAI_FWD, NULL).compute_ps, 4000 * PS_PER_NS);
    cr_assert_eq(run_simai_figures(&f->job, 2, SIMAI_FWD, NULL).compute_ps, 4000 * PS_PER_NS);
    run_fix_destroy(f);
    simai_workload_destroy(w);
}

Test(run_simai, experts_exchange_in_their_groups_and_a_group_of_one_sends_nothing)
{
    struct simai_workload *w = read_file(TEST_DATA_DIR "/simai/workload_moe_ep2.txt");
    struct run_fix *f = run(w);
    uint32_t ep = 0, alone = 0;

    for (uint32_t gpu = 0; gpu < 4; gpu++)
        cr_assert_eq(run_fix_sent_bytes(f, gpu), 2 * MIB); /* 1 MiB forward, 1 MiB backward */
    for (uint32_t i = 0; i < f->coll_count; i++) {
        const struct coll_record *c = &f->colls[i];

        if (c->call.kind == COLL_ALL_TO_ALL) {
            cr_assert_eq(c->group->rank_count, 2);
            cr_assert_eq(c->group->rank[1], c->group->rank[0] + 2); /* {0,2}, {1,3} */
            ep++;
        } else {
            cr_assert_eq(c->group->rank_count, 1);
            cr_assert_eq(c->end_ps, c->start_ps);
            alone++;
        }
    }
    cr_assert_eq(ep, 4);
    cr_assert_eq(alone, 4);
    run_fix_destroy(f);
    simai_workload_destroy(w);
}

Test(run_simai, micro_runs_each_row_alone_over_all_ranks)
{
    struct simai_workload *w = read_text("MICRO\n2\n"
                                         "a -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 1000000 100\n"
                                         "b -1 1 NONE 0 1 NONE 0 1 ALLGATHER 4000000 100\n");
    struct run_fix *f = run(w);
    const struct coll_record *a = run_fix_coll(f, COLL_ALL_REDUCE, "all 0");
    const struct coll_record *b = run_fix_coll(f, COLL_ALL_GATHER, "all 0");

    cr_assert_eq(a->group->rank_count, 4);
    cr_assert_eq(b->called_ps, b->all_called_ps);
    cr_assert_eq(b->start_ps, a->end_ps + 101 * PS_PER_NS);
    cr_assert_eq(a->bytes, 2 * 3 * 1000000);
    cr_assert_eq(b->bytes, 3 * 4000000);
    run_fix_destroy(f);
    simai_workload_destroy(w);
}

Test(run_simai, the_micro_sample_reduces_sixteen_mib_over_all_gpus)
{
    struct simai_workload *w = read_file(TEST_DATA_DIR "/simai/workload_micro.txt");
    struct run_fix *f = run(w);
    const struct coll_record *c = run_fix_coll(f, COLL_ALL_REDUCE, "all 0");

    cr_assert_eq(c->group->rank_count, 4);
    cr_assert_eq(c->call.bytes, 16 * MIB);
    cr_assert_eq(c->bytes, 2 * 3 * 16 * MIB);
    run_fix_destroy(f);
    simai_workload_destroy(w);
}

Test(run_simai, tiny_collectives_end_and_add_up)
{
    static const int64_t sizes[] = {0, 1, 4, 7, 1000001};
    char text[256];

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct simai_workload *w;
        struct run_fix *f;

        (void)snprintf(text, sizeof text, "MICRO\n1\na -1 1 NONE 0 1 NONE 0 1 ALLREDUCE %lld 1\n",
                       (long long)sizes[i]);
        w = read_text(text);
        f = run(w);
        cr_assert_eq(run_fix_coll(f, COLL_ALL_REDUCE, "all 0")->bytes, 2 * 3 * sizes[i]);
        run_fix_destroy(f);
        simai_workload_destroy(w);
    }
}

Test(run_simai, the_table_of_layers_leaves_cells_empty_without_communication)
{
    struct simai_workload *w = read_file(TEST_DATA_DIR "/simai/workload_tp2_dp2.txt");
    struct run_fix *f = run(w);
    char line[4][512];
    FILE *file = tmpfile();

    cr_assert(file);
    cr_assert_eq(run_simai_write_csv(file, &f->job, "x"), 0);
    rewind(file);
    for (int i = 0; i < 4; i++)
        cr_assert(fgets(line[i], sizeof line[i], file));
    fclose(file);
    cr_assert_eq(strncmp(line[1], "0:embedding_layer,x,50.000000,0.001000,0.001000,", 48), 0, "%s",
                 line[1]);
    cr_assert(strstr(line[1], ",,,,,,"), "%s", line[1]); /* no wg and ig communication */
    cr_assert_eq(strncmp(line[3], "2:grad_sync,x,", 14), 0, "%s", line[3]);
    cr_assert(!strstr(line[3], "nan") && !strstr(line[3], "inf"));
    run_fix_destroy(f);
    simai_workload_destroy(w);
}

Test(run_simai, policies_of_other_loops_are_refused)
{
    struct simai_workload *w = read_text("HYBRID_DLRM model_parallel_NPU_group: 2 all_gpus: 4\n1\n"
                                         "a -1 1 NONE 0 1 NONE 0 1 NONE 0 1\n");
    struct run_fix *f = start(w, WH_ERR_INPUT);

    cr_assert(strstr(f->e.text, "HYBRID_DLRM"), "%s", f->e.text);
    run_fix_destroy(f);
    simai_workload_destroy(w);
}
