/*
 * test_run_chakra.c - Chakra traces on the packet engine: lanes, dependencies, messages, groups,
 * sizes, logical dimensions, and deadlocks.
 */
#include "run_chakra.h"

#include "run_fixture.h"
#include "units.h"

#include <criterion/criterion.h>
#include <string.h>

#define KIB INT64_C(1024)

/* A job of traces; what is not set is left at its default. */
struct job {
    struct et_set set;
    struct astra_logical logical;
    struct astra_groups groups;
    struct astra_system system;
    struct run_chakra_options o;
    struct err_info e;
};

static void set_logical(struct job *j, uint32_t dim0, uint32_t dim1)
{
    j->logical = (struct astra_logical){
        .dim_count = dim1 ? 2 : 1, .dim = {dim0, dim1}, .rank_count = dim0 * (dim1 ? dim1 : 1)};
    j->o = (struct run_chakra_options){.set = &j->set, .logical = &j->logical};
}

static struct job *read_job(const char *prefix, const char *groups)
{
    struct job *j = calloc(1, sizeof *j);

    cr_assert(j);
    cr_assert_eq(et_read_set(prefix, NULL, &j->set, NULL, &j->e), 0, "%s", j->e.text);
    set_logical(j, j->set.rank_count, 0);
    if (groups) {
        cr_assert_eq(astra_read_groups(groups, &j->groups, NULL, &j->e), 0, "%s", j->e.text);
        j->o.groups = &j->groups;
    }
    return j;
}

static struct job *make_job(uint32_t rank_count)
{
    struct job *j = calloc(1, sizeof *j);

    cr_assert(j);
    j->set.trace = calloc(rank_count, sizeof(struct et_trace *));
    cr_assert(j->set.trace);
    j->set.rank_count = rank_count;
    for (uint32_t i = 0; i < rank_count; i++)
        cr_assert_eq(et_trace_create(&j->set.trace[i], "made", i), 0);
    set_logical(j, rank_count, 0);
    return j;
}

static void add(struct job *j, uint32_t rank, const struct et_node *n, const char *group,
                const uint64_t *deps, size_t dep_count)
{
    const struct et_refs refs = {
        .name = "x", .group = group, .data_deps = deps, .data_dep_count = dep_count};

    cr_assert_eq(et_trace_add(j->set.trace[rank], n, &refs, &j->e), 0, "%s", j->e.text);
}

static struct et_node compute(uint64_t id, uint64_t us)
{
    return (struct et_node){
        .id = id, .type = ET_COMPUTE, .duration_us = us, .comm_src = -1, .comm_dst = -1};
}

static struct et_node coll(uint64_t id, enum et_comm comm, int64_t bytes)
{
    return (struct et_node){.id = id,
                            .type = ET_COLLECTIVE,
                            .comm_type = (uint8_t)comm,
                            .comm_bytes = bytes,
                            .comm_src = -1,
                            .comm_dst = -1};
}

static struct et_node p2p(uint64_t id, enum et_type type, int32_t peer, int32_t tag)
{
    struct et_node n = {.id = id, .type = (uint8_t)type, .comm_bytes = 1000, .comm_tag = tag};

    n.comm_src = type == ET_RECV ? peer : -1;
    n.comm_dst = type == ET_SEND ? peer : -1;
    return n;
}

static void finish_traces(struct job *j)
{
    for (uint32_t i = 0; i < j->set.rank_count; i++)
        cr_assert_eq(et_trace_finish(j->set.trace[i], &j->e), 0, "%s", j->e.text);
}

static struct run_fix *start(struct job *j, int expected)
{
    struct run_fix *f = run_fix_create(j->set.rank_count > 1 ? j->set.rank_count : 2);

    cr_assert_eq(run_chakra_init(&f->job, &j->o, f->topo, NULL, &f->e), expected, "%s", f->e.text);
    return f;
}

static struct run_fix *run(struct job *j, int expected)
{
    struct run_fix *f = start(j, 0);

    cr_assert_eq(run_fix_run(f), expected, "%s", f->e.text);
    return f;
}

static void fini(struct job *j, struct run_fix *f)
{
    run_fix_destroy(f);
    et_set_fini(&j->set);
    astra_groups_fini(&j->groups);
    free(j);
}

static int64_t end_ps(const struct run_fix *f, uint32_t rank)
{
    struct rank_times t;

    dag_rank_times(f->d, rank, &t);
    return t.end_ps;
}

Test(run_chakra, ar4_sends_one_and_a_half_mib_per_rank_in_six_steps)
{
    struct job *j = read_job(TEST_DATA_DIR "/astra/ar4", NULL);
    struct run_fix *f = run(j, 0);

    for (uint32_t i = 0; i < 4; i++)
        cr_assert_eq(run_fix_sent_bytes(f, i), 1536 * KIB);
    cr_assert_eq(sim_flow_count(f->s), 24);
    for (uint32_t i = 0; i < 24; i++)
        cr_assert_eq(sim_flow_spec(f->s, i)->bytes, 256 * KIB);
    fini(j, f);
}

Test(run_chakra, pp2_ends_at_sixty_us_and_two_messages)
{
    struct job *j = read_job(TEST_DATA_DIR "/astra/pp2", NULL);
    struct run_fix *f = run(j, 0);
    const int64_t t = run_fix_message_ps(64 * KIB);

    cr_assert_eq(end_ps(f, 0), 60 * PS_PER_US + 2 * t);
    cr_assert_eq(sim_flow_count(f->s), 2);
    fini(j, f);
}

Test(run_chakra, grp4_counts_sizes_as_the_format_does)
{
    struct job *j = read_job(TEST_DATA_DIR "/astra/grp4", TEST_DATA_DIR "/astra/comm_group.json");
    struct run_fix *f = run(j, 0);
    const struct coll_record *gather = run_fix_coll(f, COLL_ALL_GATHER, "1");
    const struct coll_record *exchange = run_fix_coll(f, COLL_ALL_TO_ALL, "2");
    const struct coll_record *reduce = run_fix_coll(f, COLL_ALL_REDUCE, "all");

    cr_assert_eq(gather->bytes, 2 * 256 * KIB);
    cr_assert_eq(exchange->bytes, 2 * 128 * KIB);
    cr_assert_eq(reduce->bytes, 4 * 1536 * KIB);
    cr_assert_eq(run_fix_sent_bytes(f, 0), (256 + 1536) * KIB);
    cr_assert_eq(run_fix_sent_bytes(f, 3), (128 + 1536) * KIB);
    cr_assert(reduce->called_ps >= exchange->end_ps); /* node 11 depends on node 10 */
    fini(j, f);
}

/* grp4 with rank 3's all-to-all removed: its all-reduce depends on nothing then. */
Test(run_chakra, a_missing_member_is_named_with_group_present_and_absent)
{
    static const uint64_t dep = 10;
    struct job *j = make_job(4);
    struct run_fix *f;

    cr_assert_eq(astra_read_groups(TEST_DATA_DIR "/astra/comm_group.json", &j->groups, NULL, &j->e),
                 0);
    j->o.groups = &j->groups;
    for (uint32_t r = 0; r < 4; r++) {
        const struct et_node first = coll(10, r < 2 ? ET_ALL_GATHER : ET_ALL_TO_ALL, 256 * KIB);
        const struct et_node second = coll(11, ET_ALL_REDUCE, 1024 * KIB);

        if (r < 3)
            add(j, r, &first, r < 2 ? "1" : "2", NULL, 0);
        add(j, r, &second, NULL, &dep, r < 3);
    }
    finish_traces(j);
    f = run(j, WH_ERR_INPUT);
    cr_assert(strstr(f->blocked, "group '2', call 0: all_to_all of 262144 B (operation 10)") &&
                  strstr(f->blocked, "waiting: 2; absent: 3"),
              "%s", f->blocked);
    fini(j, f);
}

Test(run_chakra, two_ranks_that_both_receive_first_are_named)
{
    static const uint64_t dep = 0;
    struct job *j = make_job(2);
    struct run_fix *f;

    for (uint32_t r = 0; r < 2; r++) {
        const struct et_node recv = p2p(0, ET_RECV, 1 - (int32_t)r, 5);
        const struct et_node send = p2p(1, ET_SEND, 1 - (int32_t)r, 5);

        add(j, r, &recv, NULL, NULL, 0);
        add(j, r, &send, NULL, &dep, 1);
    }
    finish_traces(j);
    f = run(j, WH_ERR_INPUT);
    cr_assert(strstr(f->blocked, "recv from rank 1, tag 5 (operation 0)") &&
                  strstr(f->blocked, "recv from rank 0, tag 5 (operation 0)"),
              "%s", f->blocked);
    fini(j, f);
}

Test(run_chakra, receives_hold_nothing_up)
{
    struct job *j = make_job(2);
    struct run_fix *f;

    for (uint32_t r = 0; r < 2; r++) { /* no dependency: the lower id is the receive */
        const struct et_node recv = p2p(0, ET_RECV, 1 - (int32_t)r, 5);
        const struct et_node send = p2p(1, ET_SEND, 1 - (int32_t)r, 5);

        add(j, r, &recv, NULL, NULL, 0);
        add(j, r, &send, NULL, NULL, 0);
    }
    finish_traces(j);
    f = run(j, 0);
    cr_assert_eq(run_fix_op_end_ps(f, 0, 0, OP_RECV), run_fix_message_ps(1000));
    fini(j, f);
}

Test(run_chakra, messages_match_by_source_and_tag_whatever_their_order)
{
    static const uint64_t sent[] = {0, 1};
    struct job *j = make_job(2);
    const struct et_node c = compute(1, 100), a = p2p(0, ET_SEND, 1, 1), b = p2p(2, ET_SEND, 1, 2);
    const struct et_node x = p2p(0, ET_RECV, 0, 2), y = p2p(1, ET_RECV, 0, 1);
    struct run_fix *f;

    add(j, 0, &a, NULL, NULL, 0);
    add(j, 0, &c, NULL, NULL, 0);
    add(j, 0, &b, NULL, sent, 2);
    add(j, 1, &x, NULL, NULL, 0);
    add(j, 1, &y, NULL, NULL, 0);
    finish_traces(j);
    f = run(j, 0);
    cr_assert_eq(run_fix_op_end_ps(f, 1, 1, OP_RECV), run_fix_message_ps(1000));
    cr_assert_eq(run_fix_op_end_ps(f, 1, 0, OP_RECV), 100 * PS_PER_US + run_fix_message_ps(1000));
    fini(j, f);
}

Test(run_chakra, gpu_and_cpu_have_a_lane_each_and_the_lowest_id_goes_first)
{
    struct job *j = make_job(1);
    struct et_node n = compute(7, 10);
    struct run_fix *f;

    add(j, 0, &n, NULL, NULL, 0);
    n = compute(3, 20);
    add(j, 0, &n, NULL, NULL, 0);
    n = compute(5, 15);
    n.is_cpu_op = 1;
    add(j, 0, &n, NULL, NULL, 0);
    n = compute(9, 0); /* nothing takes a nanosecond */
    add(j, 0, &n, NULL, NULL, 0);
    finish_traces(j);
    f = run(j, 0);
    cr_assert_eq(run_fix_op_end_ps(f, 0, 3, OP_COMPUTE), 20 * PS_PER_US);
    cr_assert_eq(run_fix_op_end_ps(f, 0, 7, OP_COMPUTE), 30 * PS_PER_US);
    cr_assert_eq(run_fix_op_end_ps(f, 0, 5, OP_COMPUTE), 15 * PS_PER_US);
    cr_assert_eq(run_fix_op_end_ps(f, 0, 9, OP_COMPUTE), 30 * PS_PER_US + PS_PER_NS);
    fini(j, f);
}

Test(run_chakra, roofline_takes_the_longer_of_arithmetic_and_memory)
{
    struct job *j = make_job(1);
    struct et_node n = compute(0, 1);
    struct run_fix *f;

    j->system = (struct astra_system){.roofline = 1,
                                      .local_mem_gbps = 1000,
                                      .peak_tflops = 100,
                                      .dataset_splits = 1,
                                      .scheduling = ASTRA_FIFO};
    j->o.system = &j->system;
    n.num_ops = 1000000000;   /* 10 us at 100 TFLOPS */
    n.tensor_bytes = 1000000; /* 1 us at 1000 GB/s */
    add(j, 0, &n, NULL, NULL, 0);
    n = compute(1, 1);
    n.num_ops = 1000;
    n.tensor_bytes = 5000000; /* 5 us */
    add(j, 0, &n, NULL, NULL, 0);
    finish_traces(j);
    f = run(j, 0);
    cr_assert_eq(run_fix_op_end_ps(f, 0, 0, OP_COMPUTE), 10 * PS_PER_US);
    cr_assert_eq(run_fix_op_end_ps(f, 0, 1, OP_COMPUTE), 15 * PS_PER_US);
    fini(j, f);
}

Test(run_chakra, scales_apply_to_durations_and_sizes)
{
    struct job *j = make_job(2);
    const struct et_node c = compute(0, 10), r = coll(1, ET_ALL_REDUCE, 1000);
    struct run_fix *f;

    for (uint32_t i = 0; i < 2; i++) {
        add(j, i, &c, NULL, NULL, 0);
        add(j, i, &r, NULL, NULL, 0);
    }
    finish_traces(j);
    j->o.compute_scale = 0.5;
    j->o.comm_scale = 3;
    f = run(j, 0);
    cr_assert_eq(run_fix_op_end_ps(f, 0, 0, OP_COMPUTE), 5 * PS_PER_US);
    cr_assert_eq(run_fix_coll(f, COLL_ALL_REDUCE, "all")->call.bytes, 3000);
    fini(j, f);
}

/* All ranks of 2 x 3 dimensions call one collective. */
static struct run_fix *run_dims(struct job **out, enum et_comm comm, int64_t bytes, int is_bw_aware,
                                uint32_t splits, uint32_t dim_count, uint32_t dim_mask)
{
    struct job *j = make_job(6);
    struct et_node n = coll(0, comm, bytes);

    n.dim_count = dim_count;
    n.dim_mask = dim_mask;
    for (uint32_t r = 0; r < 6; r++)
        add(j, r, &n, NULL, NULL, 0);
    finish_traces(j);
    set_logical(j, 2, 3);
    j->system = (struct astra_system){.dataset_splits = splits,
                                      .active_chunks = 1,
                                      .scheduling = ASTRA_FIFO,
                                      .is_bw_aware = (uint8_t)is_bw_aware};
    for (int c = 0; c < ASTRA_COLL_COUNT; c++) {
        j->system.impl[c].dim_count = 2;
        j->system.impl[c].algo[0].kind = ASTRA_ALGO_RING;
        j->system.impl[c].algo[1].kind = ASTRA_ALGO_RING;
    }
    j->o.system = &j->system;
    *out = j;
    return run(j, 0);
}

static int64_t total_bytes(const struct run_fix *f)
{
    int64_t bytes = 0;

    for (uint32_t i = 0; i < f->coll_count; i++)
        bytes += f->colls[i].bytes;
    return bytes;
}

Test(run_chakra, an_all_reduce_goes_through_the_dimensions)
{
    struct job *j;
    struct run_fix *f = run_dims(&j, ET_ALL_REDUCE, 6000, 0, 1, 0, 0);

    /* baseline: 3 groups of 2, then 2 groups of 3, the whole buffer in each */
    cr_assert_eq(f->coll_count, 5);
    cr_assert_eq(total_bytes(f), 3 * 2 * 1 * 6000 + 2 * 2 * 2 * 6000);
    fini(j, f);
    /* localBWAware: scatter in pairs, reduce a half in threes, gather in pairs */
    f = run_dims(&j, ET_ALL_REDUCE, 6000, 1, 1, 0, 0);
    cr_assert_eq(f->coll_count, 3 + 2 + 3);
    cr_assert_eq(total_bytes(f), 3 * 6000 + 2 * 2 * 2 * 3000 + 3 * 6000);
    fini(j, f);
}

Test(run_chakra, gathers_grow_and_scatters_shrink_from_dimension_to_dimension)
{
    struct job *j;
    struct run_fix *f = run_dims(&j, ET_ALL_GATHER, 1000, 0, 1, 0, 0);

    /* pairs exchange 1000 B each; threes pass 2000 B each to two others */
    cr_assert_eq(total_bytes(f), 6 * 1000 + 6 * 2 * 2000);
    fini(j, f);
    f = run_dims(&j, ET_REDUCE_SCATTER, 6001, 0, 1, 0, 0);
    /* pairs: a buffer in all; threes: of 3000 B at coordinate 0, 3001 B at 1, two buffers in all */
    cr_assert_eq(total_bytes(f), 3 * 6001 + 2 * 3000 + 2 * 3001);
    fini(j, f);
}

Test(run_chakra, involved_dimensions_leave_the_others_out)
{
    struct job *j;
    struct run_fix *f = run_dims(&j, ET_ALL_REDUCE, 6000, 0, 1, 2, 2);

    cr_assert_eq(f->coll_count, 2);
    cr_assert_eq(f->colls[0].group->rank_count, 3);
    fini(j, f);
    f = run_dims(&j, ET_ALL_REDUCE, 6000, 0, 1, 2, 0);
    cr_assert_eq(f->coll_count, 0);
    fini(j, f);
}

Test(run_chakra, splits_cut_a_collective_without_losing_bytes)
{
    struct job *j;
    struct run_fix *f = run_dims(&j, ET_ALL_REDUCE, 6001, 0, 4, 0, 0);

    cr_assert_eq(f->coll_count, 4 * 5);
    cr_assert_eq(total_bytes(f), 3 * 2 * 1 * 6001 + 2 * 2 * 2 * 6001);
    fini(j, f);
}

Test(run_chakra, a_dependency_waits_for_the_last_chunk)
{
    static const uint64_t dep = 0;
    struct job *j = make_job(2);
    const struct et_node r = coll(0, ET_ALL_REDUCE, 100000), c = compute(1, 10);
    struct run_fix *f;
    int64_t last_ps = 0;

    for (uint32_t i = 0; i < 2; i++) {
        add(j, i, &r, NULL, NULL, 0);
        add(j, i, &c, NULL, &dep, 1);
    }
    finish_traces(j);
    j->system =
        (struct astra_system){.dataset_splits = 3, .active_chunks = 1, .scheduling = ASTRA_FIFO};
    j->o.system = &j->system;
    f = run(j, 0);
    cr_assert_eq(f->coll_count, 3);
    for (uint32_t i = 0; i < f->op_count; i++)
        if (f->ops[i].rank == 0 && f->ops[i].op->kind == OP_COLL && f->ops[i].end_ps > last_ps)
            last_ps = f->ops[i].end_ps;
    cr_assert_eq(run_fix_op_end_ps(f, 0, 1, OP_COMPUTE), last_ps + 10 * PS_PER_US);
    fini(j, f);
}

Test(run_chakra, implementations_are_taken_from_the_system_file)
{
    static const struct {
        enum astra_algo_kind kind;
        enum coll_algo algo;
    } cases[] = {{ASTRA_ALGO_RING, COLL_RING},
                 {ASTRA_ALGO_DIRECT, COLL_DIRECT},
                 {ASTRA_ALGO_TREE, COLL_TREE},
                 {ASTRA_ALGO_HALVING_DOUBLING, COLL_HALVING}};

    for (size_t i = 0; i < 4; i++) {
        struct job *j = read_job(TEST_DATA_DIR "/astra/ar4", NULL);
        struct run_fix *f;

        cr_assert_eq(astra_read_system(TEST_DATA_DIR "/astra/system.json", &j->system, NULL, &j->e),
                     0);
        j->system.impl[ASTRA_ALL_REDUCE].algo[0].kind = cases[i].kind;
        j->o.system = &j->system;
        f = run(j, 0);
        cr_assert_eq(run_fix_coll(f, COLL_ALL_REDUCE, "all")->call.algo, cases[i].algo);
        astra_system_fini(&j->system);
        fini(j, f);
    }
}

Test(run_chakra, groups_that_are_not_known_or_not_mine_are_refused)
{
    struct job *j = make_job(2);
    const struct et_node n = coll(4, ET_ALL_REDUCE, 8);
    struct run_fix *f;

    add(j, 0, &n, "9", NULL, 0);
    finish_traces(j);
    f = start(j, WH_ERR_INPUT);
    cr_assert(strstr(f->e.text, "node 4") && strstr(f->e.text, "\"9\""), "%s", f->e.text);
    fini(j, f);
    j = make_job(4);
    cr_assert_eq(astra_read_groups(TEST_DATA_DIR "/astra/comm_group.json", &j->groups, NULL, &j->e),
                 0);
    j->o.groups = &j->groups;
    add(j, 0, &n, "2", NULL, 0);
    finish_traces(j);
    f = start(j, WH_ERR_INPUT);
    cr_assert(strstr(f->e.text, "node 4") && strstr(f->e.text, "rank 0"), "%s", f->e.text);
    fini(j, f);
}

Test(run_chakra, remote_memory_takes_latency_and_bandwidth_and_must_be_there)
{
    const struct astra_memory memory = {
        .kind = ASTRA_MEMORY_PER_NPU, .latency_ps = 2 * PS_PER_US, .gbps = 100};
    struct job *j = make_job(1);
    struct et_node n = {.id = 2, .type = ET_MEM_LOAD, .tensor_bytes = 1000000, .comm_src = -1};
    struct run_fix *f;

    add(j, 0, &n, NULL, NULL, 0);
    finish_traces(j);
    f = start(j, WH_ERR_INPUT);
    cr_assert(strstr(f->e.text, "node 2"), "%s", f->e.text);
    run_fix_destroy(f);
    j->o.memory = &memory;
    f = run(j, 0);
    cr_assert_eq(run_fix_op_end_ps(f, 0, 2, OP_COMPUTE), 12 * PS_PER_US);
    fini(j, f);
}

Test(run_chakra, networks_of_the_analytical_backend_have_their_links)
{
    static const struct {
        enum astra_net_kind kind;
        uint32_t npus, nodes, links;
    } cases[] = {{ASTRA_NET_SWITCH, 4, 5, 4},
                 {ASTRA_NET_RING, 4, 4, 4},
                 {ASTRA_NET_RING, 2, 2, 1},
                 {ASTRA_NET_FULLY_CONNECTED, 4, 4, 6},
                 {ASTRA_NET_FULLY_CONNECTED, 2, 2, 1},
                 {ASTRA_NET_RING, 3, 3, 3}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct astra_network n = {
            .dim_count = 1,
            .dim = {{cases[i].kind, cases[i].npus, INT64_C(400000000000), 500 * PS_PER_NS}},
            .npu_count = cases[i].npus};
        struct topo *t;

        cr_assert_eq(run_chakra_network(&n, &t), 0);
        cr_assert_eq(t->node_count, cases[i].nodes);
        cr_assert_eq(t->link_count, cases[i].links);
        cr_assert_eq(t->host_count, cases[i].npus);
        topo_destroy(t);
    }
}

Test(run_chakra, a_network_of_two_dimensions_joins_what_differs_in_one)
{
    const struct astra_network n = {
        .dim_count = 2,
        .dim = {{ASTRA_NET_RING, 2, INT64_C(400000000000), 500 * PS_PER_NS},
                {ASTRA_NET_SWITCH, 3, INT64_C(100000000000), 1000 * PS_PER_NS}},
        .npu_count = 6};
    struct topo *t;

    cr_assert_eq(run_chakra_network(&n, &t), 0);
    cr_assert_eq(t->node_count, 8);
    cr_assert_eq(t->link_count, 3 + 6);
    cr_assert_neq(topo_find_port(t, 0, 1), PORT_NONE);
    cr_assert_neq(topo_find_port(t, 4, 5), PORT_NONE);
    cr_assert_eq(topo_find_port(t, 1, 2), PORT_NONE);
    for (uint32_t i = 0; i < 3; i++) {
        cr_assert_neq(topo_find_port(t, 2 * i, 6), PORT_NONE);
        cr_assert_neq(topo_find_port(t, 2 * i + 1, 7), PORT_NONE);
    }
    cr_assert_eq(topo_port_class(t, topo_find_port(t, 0, 6))->rate_bps, INT64_C(100000000000));
    topo_destroy(t);
}
