/*
 * test_simai.c - SimAI workloads, groups, topologies and configurations: meaning and refusals.
 */
#include "hpcc_files.h"
#include "simai.h"
#include "units.h"

#include <criterion/criterion.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define GBPS INT64_C(1000000000)
#define MIB (INT64_C(1) << 20)

#define HEAD                                                                                       \
    "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 1 pp: 1 vpp: 1 ga: 1 "        \
    "all_gpus: 4 checkpoints: 0 checkpoint_initiates: 0 pp_comm: 0\n"
#define ROW "a -1 1000 ALLREDUCE 1048576 1 NONE 0 1 NONE 0 100\n"

static struct text_folder folder;
static struct warnings warnings;
static struct err_info err;

static void set_up(void)
{
    text_folder_create(&folder);
    memset(&err, 0, sizeof err);
}

static void tear_down(void)
{
    text_folder_destroy(&folder);
}

TestSuite(simai, .init = set_up, .fini = tear_down);

static const char *put(const char *name, const char *text)
{
    static char path[128];

    return text_folder_write(&folder, name, text, strlen(text), path, sizeof path);
}

/* NULL if it is refused. */
static struct simai_workload *read_file(const char *path)
{
    struct simai_workload *w = NULL;
    struct warn_sink sink = warnings_sink(&warnings);
    int rc = simai_read_workload(path, &w, &sink, &err);

    cr_expect_eq(rc, w ? 0 : WH_ERR_INPUT, "code %d: %s", rc, err.text);
    return w;
}

static struct simai_workload *read_text(const char *text)
{
    return read_file(put("workload.txt", text));
}

static void expect_pass(const struct simai_layer *l, enum simai_pass_kind kind, int64_t ns,
                        enum simai_comm comm, int64_t bytes, enum simai_scope scope)
{
    const struct simai_pass *p = &l->pass[kind];

    cr_expect_eq(p->compute_ns, ns, "%s pass %d: %lld ns", l->name, kind, (long long)p->compute_ns);
    cr_expect_eq(p->comm, comm, "%s pass %d: %s", l->name, kind, simai_comm_name(p->comm));
    cr_expect_eq(p->comm_bytes, bytes, "%s pass %d: %lld bytes", l->name, kind,
                 (long long)p->comm_bytes);
    if (comm != SIMAI_COMM_NONE)
        cr_expect_eq(p->scope, scope, "%s pass %d: %s", l->name, kind, simai_scope_name(p->scope));
}

static void expect_group(const struct simai_workload *w, enum simai_scope s, uint32_t rank,
                         const uint32_t *members, uint32_t count)
{
    uint32_t group = simai_group_id(w, s, rank);

    cr_assert_eq(simai_group_size(w, s), count, "%s", simai_scope_name(s));
    for (uint32_t i = 0; i < count; i++)
        cr_expect_eq(simai_group_member(w, s, group, i), members[i], "%s of rank %u: member %u",
                     simai_scope_name(s), rank, i);
}

Test(simai, sample_tp2_dp2_has_three_layers_in_tp_and_dp_groups)
{
    struct simai_workload *w = read_file(TEST_DATA_DIR "/simai/workload_tp2_dp2.txt");

    cr_assert_not_null(w, "%s", err.text);
    cr_expect_eq(warnings.count, 0, "%s", warnings.text);
    cr_expect_eq(w->policy, SIMAI_POLICY_HYBRID_TRANSFORMER_FWD_IN_BCKWD);
    cr_expect_eq(w->tp, 2);
    cr_expect_eq(w->rank_count, 4);
    cr_assert_eq(w->layer_count, 3);
    cr_expect_str_eq(w->layers[0].name, "embedding_layer");
    cr_expect_eq(w->layers[0].dep, -1);
    cr_expect_eq(w->layers[2].line, 5);
    cr_expect_eq(w->layers[2].update_ns, 100);
    expect_pass(&w->layers[0], SIMAI_FWD, 50000, SIMAI_COMM_ALLREDUCE, MIB, SIMAI_TP);
    expect_pass(&w->layers[0], SIMAI_IG, 1, SIMAI_COMM_NONE, 0, SIMAI_TP);
    expect_pass(&w->layers[1], SIMAI_FWD, 200000, SIMAI_COMM_ALLREDUCE, 4 * MIB, SIMAI_TP);
    expect_pass(&w->layers[1], SIMAI_IG, 200000, SIMAI_COMM_ALLREDUCE, 4 * MIB, SIMAI_TP);
    expect_pass(&w->layers[1], SIMAI_WG, 100000, SIMAI_COMM_NONE, 0, SIMAI_DP);
    expect_pass(&w->layers[2], SIMAI_WG, 1, SIMAI_COMM_ALLREDUCE, 8 * MIB, SIMAI_DP);
    expect_group(w, SIMAI_TP, 1, (const uint32_t[]){0, 1}, 2);
    expect_group(w, SIMAI_TP, 2, (const uint32_t[]){2, 3}, 2);
    expect_group(w, SIMAI_DP, 2, (const uint32_t[]){0, 2}, 2);
    expect_group(w, SIMAI_DP, 1, (const uint32_t[]){1, 3}, 2);
    simai_workload_destroy(w);
}

Test(simai, sample_moe_has_expert_groups_of_two_and_of_one)
{
    struct simai_workload *w = read_file(TEST_DATA_DIR "/simai/workload_moe_ep2.txt");

    cr_assert_not_null(w, "%s", err.text);
    cr_assert_eq(w->layer_count, 2);
    expect_pass(&w->layers[0], SIMAI_FWD, 300000, SIMAI_COMM_ALLTOALL, 2 * MIB, SIMAI_EP);
    expect_pass(&w->layers[0], SIMAI_IG, 300000, SIMAI_COMM_ALLTOALL, 2 * MIB, SIMAI_EP);
    expect_pass(&w->layers[1], SIMAI_WG, 1, SIMAI_COMM_REDUCESCATTER, 4 * MIB, SIMAI_DP_EP);
    expect_group(w, SIMAI_EP, 0, (const uint32_t[]){0, 2}, 2);
    expect_group(w, SIMAI_EP, 3, (const uint32_t[]){1, 3}, 2);
    expect_group(w, SIMAI_DP_EP, 3, (const uint32_t[]){3}, 1);
    simai_workload_destroy(w);
}

Test(simai, sample_micro_is_one_all_reduce_over_all_gpus)
{
    struct simai_workload *w = read_file(TEST_DATA_DIR "/simai/workload_micro.txt");

    cr_assert_not_null(w, "%s", err.text);
    cr_expect_eq(w->policy, SIMAI_POLICY_MICRO);
    cr_assert_eq(w->layer_count, 1);
    expect_pass(&w->layers[0], SIMAI_WG, 1, SIMAI_COMM_ALLREDUCE, 16 * MIB, SIMAI_ALL);
    cr_expect_eq(w->rank_count, 0);
    cr_assert_eq(simai_workload_fit(w, 4, &err), 0, "%s", err.text);
    cr_expect_eq(w->rank_count, 4);
    expect_group(w, SIMAI_ALL, 2, (const uint32_t[]){0, 1, 2, 3}, 4);
    simai_workload_destroy(w);
}

Test(simai, spellings_of_real_headers_mean_the_same)
{
    static const char *const heads[] = {
        HEAD,
        "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 all_gpus: 4 pp_comm 0\n",
        "HYBRID_TRANSFORMER_FWD_IN_BCKWD\tmodel_parallel_NPU_group:\t2\tall_gpus:\t4\t\r\n",
        "HYBRID_TRANSFORMER_FWD_IN_BCKWD all_gpus: 4.0 model_parallel_NPU_group: 2.0\n",
        ("HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 "
         "expert_parallel_npu_group: 1 all_gpus: 4\n"),
        "\n  HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group 2 ep 1 all_gpus 4\n",
    };

    for (size_t i = 0; i < COUNT(heads); i++) {
        char text[512];

        snprintf(text, sizeof text, "%s1\n" ROW, heads[i]);
        text[strlen(text) - 1] = '\0'; /* no end of the last line */
        struct simai_workload *w = read_text(text);

        cr_assert_not_null(w, "%zu: %s", i, err.text);
        cr_expect_eq(warnings.count, 0, "%zu: %s", i, warnings.text);
        cr_expect(w->tp == 2 && w->ep == 1 && w->pp == 1 && w->rank_count == 4, "%zu", i);
        cr_expect_eq(w->pp_comm_bytes, 0);
        cr_expect_eq(w->layer_count, 1);
        simai_workload_destroy(w);
    }
}

Test(simai, pipeline_bytes_may_be_written_as_a_real_number)
{
    struct simai_workload *w =
        read_text("HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 8 ep: 1 pp: 2 vpp: 3 "
                  "ga: 5 all_gpus: 9216 checkpoints: 0 checkpoint_initiates: 0 pp_comm "
                  "50331648.0\n1\n" ROW);

    cr_assert_not_null(w, "%s", err.text);
    cr_expect_eq(w->pp_comm_bytes, 50331648);
    cr_expect(w->pp == 2 && w->vpp == 3 && w->ga == 5);
    simai_workload_destroy(w);
}

Test(simai, every_collective_is_known_with_every_suffix)
{
    static const char *const suffixes[] = {"", "_EP", "_DP_EP"};
    static const enum simai_scope scopes[] = {SIMAI_TP, SIMAI_EP, SIMAI_DP_EP};

    for (int c = 0; c < SIMAI_COMM_COUNT; c++)
        for (size_t s = 0; s < COUNT(suffixes); s++) {
            char text[512];

            snprintf(text, sizeof text, HEAD "1\nl -1 0 %s%s 7 0 NONE 0 0 %s%s 1 0\n",
                     simai_comm_name((enum simai_comm)c), suffixes[s],
                     simai_comm_name((enum simai_comm)c), suffixes[s]);
            struct simai_workload *w = read_text(text);

            cr_assert_not_null(w, "%s: %s", text, err.text);
            expect_pass(&w->layers[0], SIMAI_FWD, 0, (enum simai_comm)c, 7, scopes[s]);
            expect_pass(&w->layers[0], SIMAI_WG, 0, (enum simai_comm)c, 1,
                        s ? scopes[s] : SIMAI_DP);
            simai_workload_destroy(w);
        }
}

Test(simai, sizes_from_zero_to_beyond_32_bit_are_kept)
{
    static const int64_t sizes[] = {0, 1, 4, 7, 1000001, INT64_C(4294967296), INT64_MAX};

    for (size_t i = 0; i < COUNT(sizes); i++) {
        char text[512];

        snprintf(text, sizeof text, HEAD "1\nl -1 0 ALLREDUCE %lld 0 NONE 0 0 NONE 0 0\n",
                 (long long)sizes[i]);
        struct simai_workload *w = read_text(text);

        cr_assert_not_null(w, "%s", err.text);
        cr_expect_eq(w->layers[0].pass[SIMAI_FWD].comm_bytes, sizes[i]);
        simai_workload_destroy(w);
    }
}

Test(simai, checkpoints_mark_their_layers)
{
    struct simai_workload *w = read_text(
        "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 all_gpus: 4 checkpoints: 2 0 "
        "2 checkpoint_initiates: 1 1\n3\n" ROW ROW ROW);

    cr_assert_not_null(w, "%s", err.text);
    cr_expect(w->layers[0].is_checkpoint && !w->layers[1].is_checkpoint &&
              w->layers[2].is_checkpoint);
    cr_expect(!w->layers[0].starts_checkpoint && w->layers[1].starts_checkpoint);
    simai_workload_destroy(w);
}

Test(simai, a_customized_workload_has_a_policy_per_layer)
{
    struct simai_workload *w =
        read_text("HYBRID_CUSTOMIZED model_parallel_NPU_group: 2 all_gpus: 4\n1\n"
                  "a -1 1 NONE 0 1 NONE 0 1 NONE 0 1 MODEL\n");

    cr_assert_not_null(w, "%s", err.text);
    cr_expect_eq(w->layers[0].policy, SIMAI_POLICY_MODEL);
    simai_workload_destroy(w);
}

Test(simai, an_unknown_key_is_reported_with_the_nearest_known_one)
{
    struct simai_workload *w =
        read_text("HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 all_gpu: 9 8 ga: 3 "
                  "all_gpus: 4\n0\n");

    cr_assert_not_null(w, "%s", err.text);
    cr_expect_eq(w->ga, 3);
    cr_expect_eq(warnings.count, 1, "%s", warnings.text);
    cr_expect(warnings_have(&warnings, "\"all_gpu:\"") && warnings_have(&warnings, "is all_gpus:"),
              "%s", warnings.text);
    simai_workload_destroy(w);
}

Test(simai, samples_of_bad_workloads_are_refused_in_their_lines)
{
    static const struct {
        const char *name;
        long line;
        const char *part;
    } steps[] = {
        {"short_row.txt", 3, "found 11 columns, expected 12"},
        {"row_count.txt", 2, "found 6 layers declared and 2 lines"},
        {"unknown_comm.txt", 3, "\"ALLREDUCE_XX\""},
    };

    for (size_t i = 0; i < COUNT(steps); i++) {
        char path[256];

        snprintf(path, sizeof path, TEST_DATA_DIR "/simai/bad/%s", steps[i].name);
        cr_expect_null(read_file(path));
        cr_expect_eq(err.line, steps[i].line, "%s: line %ld", steps[i].name, err.line);
        cr_expect(strstr(err.text, steps[i].part), "%s", err.text);
        cr_expect(strstr(err.file, steps[i].name), "%s", err.file);
    }
}

#define TP "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 "

Test(simai, malformed_workloads_are_refused_with_line_and_reason)
{
    static const struct {
        const char *text;
        long line;
        const char *part;
    } steps[] = {
        {"", 0, "empty file"},
        {"\n\n", 0, "empty file"},
        {"HYBRID\n1\n" ROW, 1, "policy \"HYBRID\""},
        {"micro\n1\n" ROW, 1, "policy \"micro\""},
        {"3\n" ROW, 1, "policy \"3\""},
        {"HYBRID_TRANSFORMER all_gpus: 4\n1\n" ROW, 1, "without model_parallel_NPU_group"},
        {TP "all_gpus: 4\n", 1, "the end of the file"},
        {TP "all_gpus: 5\n1\n" ROW, 1, "found 5 ranks with tp 2 and pp 1"},
        {TP "pp: 3 all_gpus: 4\n1\n" ROW, 1, "tp 2 and pp 3"},
        {TP "ep: 3 all_gpus: 4\n1\n" ROW, 1, "ep 3 with 2 data-parallel ranks"},
        {TP "ep: 0 all_gpus: 4\n1\n" ROW, 1, "\"0\", expected a whole number, 1 to"},
        {TP "ep: -1 all_gpus: 4\n1\n" ROW, 1, "\"-1\""},
        {TP "ep: 1.5 all_gpus: 4\n1\n" ROW, 1, "\"1.5\""},
        {TP "ep: two all_gpus: 4\n1\n" ROW, 1, "\"two\""},
        {TP "all_gpus: 4294967296\n1\n" ROW, 1, "\"4294967296\""},
        {TP "all_gpus: 99999999999999999999\n1\n" ROW, 1, "all_gpus"},
        {TP "ep: all_gpus: 4\n1\n" ROW, 1, "no value behind \"ep\""},
        {TP "all_gpus:\n1\n" ROW, 1, "no value behind \"all_gpus\""},
        {TP "all_gpus: 4 7\n1\n" ROW, 1, "the number \"7\""},
        {TP "all_gpus: 4 all_gpus: 8\n1\n" ROW, 1, "a second \"all_gpus:\""},
        {TP "all_gpus: 4 checkpoints: 3 0 1\n1\n" ROW, 1, "found checkpoints: 3 and 2 values"},
        {TP "all_gpus: 4 checkpoints: 2 0 ga: 1\n1\n" ROW, 1, "no value behind \"checkpoints\""},
        {TP "all_gpus: 4 checkpoints: 1 1\n1\n" ROW, 1, "layer 1 in checkpoints"},
        {TP "all_gpus: 4 checkpoint_initiates: 1 9\n1\n" ROW, 1, "layer 9 in checkpoint_initiates"},
        {TP "all_gpus: 4 pp_comm: -5\n1\n" ROW, 1, "\"-5\""},
        {HEAD "one\n" ROW, 2, "number of layers \"one\""},
        {HEAD "-1\n" ROW, 2, "number of layers \"-1\""},
        {HEAD "1 2\n" ROW, 2, "found 2 columns, expected 1"},
        {HEAD "2\n" ROW, 2, "found 2 layers declared and 1 lines"},
        {HEAD "1\n" ROW ROW, 2, "found 1 layers declared and 2 lines"},
        {HEAD "4000000000\n" ROW, 2, "number of layers"},
        {HEAD ROW ROW, 2, "found 12 columns, expected 1"},
        {HEAD "1\na -1 1 NONE 0 1 NONE 0 1 NONE 0 1 1\n", 3, "found 13 columns, expected 12"},
        {HEAD "2\n" ROW "a -1 1\n", 4, "found 3 columns, expected 12"},
        {HEAD "1\na -2 1 NONE 0 1 NONE 0 1 NONE 0 1\n", 3, "dependency \"-2\""},
        {HEAD "1\na 1 1 NONE 0 1 NONE 0 1 NONE 0 1\n", 3, "dependency \"1\""},
        {HEAD "1\na -1 x NONE 0 1 NONE 0 1 NONE 0 1\n", 3, "forward compute ns \"x\""},
        {HEAD "1\na -1 -1 NONE 0 1 NONE 0 1 NONE 0 1\n", 3, "forward compute ns \"-1\""},
        {HEAD "1\na -1 1 NONE -4 1 NONE 0 1 NONE 0 1\n", 3, "forward bytes \"-4\""},
        {HEAD "1\na -1 1 NONE 1.5 1 NONE 0 1 NONE 0 1\n", 3, "forward bytes \"1.5\""},
        {HEAD "1\na -1 1 none 0 1 NONE 0 1 NONE 0 1\n", 3, "forward collective \"none\""},
        {HEAD "1\na -1 1 ALL 0 1 NONE 0 1 NONE 0 1\n", 3, "forward collective \"ALL\""},
        {HEAD "1\na -1 1 _EP 0 1 NONE 0 1 NONE 0 1\n", 3, "forward collective \"_EP\""},
        {HEAD "1\na -1 1 NONE 0 1 ALLREDUCE_TP 0 1 NONE 0 1\n", 3, "input-gradient collective"},
        {HEAD "1\na -1 1 NONE 0 1 NONE 0 1 ALLTOALL_EP_EP 0 1\n", 3, "weight-gradient collective"},
        {HEAD "1\na -1 1 NONE 0 1 NONE 0 1 NONE 9223372036854775808 1\n", 3,
         "weight-gradient bytes"},
        {HEAD "1\na -1 1 NONE 0 1 NONE 0 1 NONE 0 later\n", 3, "update ns \"later\""},
        {"HYBRID_CUSTOMIZED model_parallel_NPU_group: 2 all_gpus: 4\n1\n" ROW, 3,
         "found 12 columns, expected 13"},
        {"HYBRID_CUSTOMIZED model_parallel_NPU_group: 2 all_gpus: 4\n1\n"
         "a -1 1 NONE 0 1 NONE 0 1 NONE 0 1 OTHER\n",
         3, "policy \"OTHER\""},
    };

    for (size_t i = 0; i < COUNT(steps); i++) {
        cr_expect_null(read_text(steps[i].text), "%zu: accepted %s", i, steps[i].text);
        cr_expect_eq(err.line, steps[i].line, "%zu: line %ld: %s", i, err.line, err.text);
        cr_expect(strstr(err.text, steps[i].part), "%zu: %s", i, err.text);
        cr_expect(strstr(err.text, "expected"), "%zu: %s", i, err.text);
        cr_expect(strstr(err.file, "workload.txt"), "%zu: %s", i, err.file);
    }
}

/* Every rank is in one group of each scope, and the group says so itself. */
static void expect_partition(const struct simai_workload *w, enum simai_scope s)
{
    uint32_t size = simai_group_size(w, s), seen = 0;

    for (uint32_t g = 0; g < w->rank_count / size; g++)
        for (uint32_t i = 0; i < size; i++) {
            uint32_t rank = simai_group_member(w, s, g, i);

            cr_assert_lt(rank, w->rank_count);
            cr_assert_eq(simai_group_id(w, s, rank), g, "%s: rank %u", simai_scope_name(s), rank);
            cr_assert(i == 0 || rank > simai_group_member(w, s, g, i - 1));
            seen++;
        }
    cr_assert_eq(seen, w->rank_count);
}

Test(simai, groups_split_the_ranks)
{
    static const uint32_t shapes[][4] = {/* ranks, tp, ep, pp */
                                         {1, 1, 1, 1},  {8, 8, 1, 1},  {64, 8, 4, 1},
                                         {64, 4, 8, 2}, {96, 2, 4, 3}, {9216, 8, 16, 9}};

    for (size_t i = 0; i < COUNT(shapes); i++) {
        struct simai_workload w = {
            .rank_count = shapes[i][0], .tp = shapes[i][1], .ep = shapes[i][2], .pp = shapes[i][3]};

        for (int s = SIMAI_TP; s <= SIMAI_ALL; s++)
            expect_partition(&w, (enum simai_scope)s);
        cr_expect_eq(simai_group_size(&w, SIMAI_EP) * simai_group_size(&w, SIMAI_DP_EP),
                     simai_group_size(&w, SIMAI_DP));
    }
}

Test(simai, ranks_are_compared_with_the_gpus)
{
    struct simai_workload *w = read_text(HEAD "0\n");

    cr_assert_not_null(w, "%s", err.text);
    cr_expect_eq(simai_workload_fit(w, 3, &err), WH_ERR_INPUT);
    cr_expect(strstr(err.text, "all_gpus: 4 and a topology of 3 GPUs"), "%s", err.text);
    cr_expect_eq(simai_workload_fit(w, 8, &err), 0);
    cr_expect_eq(w->rank_count, 4);
    simai_workload_destroy(w);
    w = read_text(TP "\n0\n");
    cr_assert_not_null(w, "%s", err.text);
    cr_expect_eq(simai_workload_fit(w, 3, &err), WH_ERR_INPUT);
    cr_expect(strstr(err.text, "3 ranks with tp 2"), "%s", err.text);
    cr_expect_eq(simai_workload_fit(w, 6, &err), 0);
    cr_expect_eq(w->rank_count, 6);
    simai_workload_destroy(w);
}

static int read_topology(const char *text, struct simai_topology *t)
{
    struct warn_sink sink = warnings_sink(&warnings);

    return simai_read_topology(put("topology", text), t, &sink, &err);
}

Test(simai, sample_topology_has_four_gpus_on_two_rails)
{
    struct simai_topology t;
    struct warn_sink sink = warnings_sink(&warnings);

    cr_assert_eq(simai_read_topology(TEST_DATA_DIR "/simai/topo_4gpu", &t, &sink, &err), 0, "%s",
                 err.text);
    cr_expect_eq(warnings.count, 0, "%s", warnings.text);
    cr_expect(t.gpu_count == 4 && t.gpus_per_server == 2 && t.nvswitch_count == 2);
    cr_expect_str_eq(t.gpu_type, "H100");
    cr_assert(t.topo->node_count == 9 && t.topo->link_count == 10);
    for (uint32_t n = 0; n < 9; n++)
        cr_expect_eq(t.topo->kind[n],
                     n < 4   ? NODE_HOST
                     : n < 6 ? NODE_NVSWITCH
                             : NODE_SWITCH,
                     "node %u", n);
    const struct link_class *nv = topo_port_class(t.topo, topo_find_port(t.topo, 0, 4));
    const struct link_class *net = topo_port_class(t.topo, topo_find_port(t.topo, 6, 8));

    cr_expect(nv->rate_bps == 2880 * GBPS && nv->delay_ps == 25 * PS_PER_NS);
    cr_expect(net->rate_bps == 400 * GBPS && net->delay_ps == 500 * PS_PER_NS);
    topo_destroy(t.topo);
}

Test(simai, topologies_of_any_shape_are_read)
{
    static const char *const texts[] = {
        "2 1 0 0 1 NONE\n\n0 1 1Gbps 1us 0\n",
        "3 2 1 0 2 A100\n2\n0 2 1Gbps 1us 0\n1 2 1Gbps 1us 0",
        ("4 2 2 0 4 A800\r\n2 3\r\n0 2 1Gbps 1us 0\r\n0 3 1Gbps 1us 0\r\n1 2 1Gbps 1us 0\r\n"
         "1 3 1Gbps 1us 0\r\n"),
        "4 3 0 1 3 H800\n3\n0 3 1Gbps 1us 0\n1 3 1Gbps 1us 0\n2 3 1Gbps 1us 0.5\n",
    };

    for (size_t i = 0; i < COUNT(texts); i++) {
        struct simai_topology t;

        cr_assert_eq(read_topology(texts[i], &t), 0, "%zu: %s", i, err.text);
        cr_expect_eq(warnings.count, 0, "%zu: %s", i, warnings.text);
        cr_expect_eq(t.gpu_count, t.topo->host_count);
        topo_destroy(t.topo);
    }
}

Test(simai, an_unknown_gpu_type_is_read_with_a_warning)
{
    struct simai_topology t;

    cr_assert_eq(read_topology("2 1 0 0 1 B200\n0 1 1Gbps 1us 0\n", &t), 0);
    cr_expect(warnings_have(&warnings, "B200"), "%s", warnings.text);
    topo_destroy(t.topo);
}

#define SIX "6: <nodes> <GPUs per server> <NVSwitches> <switches> <links> <GPU type>"

Test(simai, malformed_topologies_are_refused_with_line_and_reason)
{
    static const struct {
        const char *text;
        long line;
        const char *part;
    } steps[] = {
        {"", 0, "empty file"},
        {"5 1 4\n4\n0 4 1Gbps 1us 0\n", 1, "an HPCC topology has that header"},
        {"3 1 0 1 2\n", 1, "found 5 columns, expected " SIX},
        {"3 1 0 1 2 H100 x\n", 1, "found 7 columns"},
        {"H100 3 1 0 1 2\n", 1, "number of nodes \"H100\""},
        {"3 x 0 1 2 H100\n", 1, "GPUs per server \"x\""},
        {"3 0 0 1 2 H100\n", 1, "GPUs per server \"0\""},
        {"3 1 -1 1 2 H100\n", 1, "number of NVSwitches \"-1\""},
        {"3 1 0 1.0 2 H100\n", 1, "number of switches \"1.0\""},
        {"3 1 0 1 many H100\n", 1, "number of links \"many\""},
        {"3 1 0 1 2 a_type_of_GPU_that_has_a_very_long_name\n", 1, "GPU type"},
        {"0 1 0 0 0 H100\n", 1, "0 nodes"},
        {"3 1 2 2 1 H100\n0 1 2\n0 1 1Gbps 1us 0\n", 1, "4 switches among 3 nodes"},
        {"3 1 0 1 3 H100\n2\n0 2 1Gbps 1us 0\n1 2 1Gbps 1us 0\n", 4, "2 links, expected 3"},
        {"3 1 0 1 9 H100\n2\n0 2 1Gbps 1us 0\n1 2 1Gbps 1us 0\n", 1, "expected 9 links"},
        {"4 1 1 1 3 H100\n2\n0 2 1Gbps 1us 0\n1 3 1Gbps 1us 0\n2 3 1Gbps 1us 0\n", 3,
         "found 1 switch ids, expected 2"},
        {"4 1 1 1 3 H100\n2 3 1\n0 2 1Gbps 1us 0\n1 3 1Gbps 1us 0\n2 3 1Gbps 1us 0\n", 2,
         "found 3 switch ids, expected 2"},
        {"4 1 1 1 3 H100\n2 2\n0 2 1Gbps 1us 0\n1 3 1Gbps 1us 0\n2 3 1Gbps 1us 0\n", 2,
         "each switch once"},
        {"4 1 1 1 3 H100\n2 4\n0 2 1Gbps 1us 0\n1 3 1Gbps 1us 0\n2 3 1Gbps 1us 0\n", 2,
         "switch \"4\""},
        {"3 1 0 1 2 H100\n0\n1 0 1Gbps 1us 0\n2 0 1Gbps 1us 0\n", 1, "switch 0 among the first 2"},
        {"2 1 1 1 1 H100\n0 1\n0 1 1Gbps 1us 0\n", 1, "no GPU"},
        {"3 1 0 1 2 H100\n2\n0 2 1Gbps 1us\n1 2 1Gbps 1us 0\n", 3, "found 4 columns"},
        {"3 1 0 1 2 H100\n2\n0 2 1Gbps 1us 0\n1 3 1Gbps 1us 0\n", 4, "node \"3\""},
        {"3 1 0 1 2 H100\n2\n0 2 1Gbps 1us 0\n1 1 1Gbps 1us 0\n", 4, "itself"},
        {"3 1 0 1 2 H100\n2\n0 2 400 1us 0\n1 2 1Gbps 1us 0\n", 3, "rate \"400\""},
        {"3 1 0 1 2 H100\n2\n0 2 1Gbps 1 us 0\n1 2 1Gbps 1us 0\n", 3, "found 6 columns"},
        {"3 1 0 1 2 H100\n2\n0 2 1Gbps 1lightyear 0\n1 2 1Gbps 1us 0\n", 3, "delay"},
        {"3 1 0 1 2 H100\n2\n0 2 1Gbps 1us 2\n1 2 1Gbps 1us 0\n", 3, "error rate \"2\""},
        {"4 1 0 1 2 H100\n3\n0 3 1Gbps 1us 0\n1 3 1Gbps 1us 0\n", 1, "host 2 without a link"},
        {"9 1 0 0 1 H100\n0 1 1Gbps 1us 0\n", 1, "9 hosts and 1 links"},
    };

    for (size_t i = 0; i < COUNT(steps); i++) {
        struct simai_topology t;

        cr_expect_eq(read_topology(steps[i].text, &t), WH_ERR_INPUT, "%zu: %s", i, steps[i].text);
        cr_expect_eq(err.line, steps[i].line, "%zu: line %ld: %s", i, err.line, err.text);
        cr_expect(strstr(err.text, steps[i].part), "%zu: %s", i, err.text);
        cr_expect(strstr(err.text, "expected"), "%zu: %s", i, err.text);
    }
}

/* Reads the sample topology and @conf into @sc. */
static int read_conf(const char *conf, const struct simai_conf_options *o, struct scenario *sc)
{
    struct simai_topology t;
    struct warn_sink sink = warnings_sink(&warnings);

    cr_assert_eq(simai_read_topology(TEST_DATA_DIR "/simai/topo_4gpu", &t, &sink, &err), 0);
    scenario_init(sc);
    sc->topo = t.topo;
    return simai_read_conf(conf, o, sc, &sink, &err);
}

Test(simai, sample_configuration_is_dcqcn_with_windows_until_all_is_done)
{
    const struct simai_conf_options o = {0};
    struct scenario sc;

    cr_assert_eq(read_conf(TEST_DATA_DIR "/simai/simai_min.conf", &o, &sc), 0, "%s", err.text);
    const struct sim_config *c = &sc.cfg;

    cr_expect(c->cc == CC_DCQCN && c->payload_bytes == 9000);
    cr_expect(c->has_window && !c->window_global && c->window_variable);
    cr_expect_eq(c->end_ps, TIME_NEVER);
    cr_expect_eq(c->buffer_bytes, 32 * MIB);
    cr_expect_eq(sc.flow_count, 0);
    cr_assert_eq(c->ecn_row_count, 2);
    cr_expect(c->ecn_rows[0].rate_bps == 400 * GBPS && c->ecn_rows[0].kmin_bytes == 800000 &&
              c->ecn_rows[0].kmax_bytes == 3200000);
    cr_expect(c->ecn_rows[1].rate_bps == 2880 * GBPS && c->ecn_rows[1].kmin_bytes > c->buffer_bytes,
              "NVSwitches do not mark");
    cr_expect_str_eq(sc.fct_path, "fct.txt");
    cr_expect_str_eq(sc.logs[LOG_QUEUE].path, "qlen.csv");
    cr_expect_eq(sc.logs[LOG_QUEUE].interval_ps, 10 * PS_PER_MS);
    cr_expect_eq(sc.logs[LOG_QUEUE].to_ps, 20 * PS_PER_MS);
    cr_expect_str_eq(sc.logs[LOG_RATE].path, "rate.csv");
    cr_expect_eq(sc.logs[LOG_RATE].interval_ps, 100 * PS_PER_US);
    cr_expect_str_eq(sc.logs[LOG_LINK].path, "bw.csv");
    cr_expect_str_eq(sc.logs[LOG_PFC].path, "pfc.txt");
    cr_expect_str_eq(sc.logs[LOG_QLEN_HPCC].path, "");
    cr_expect(warnings_have(&warnings, "no RATE_AI: the default"), "%s", warnings.text);
    cr_expect(warnings_have(&warnings, "no effect: FLOW_FILE, CNP_MON_FILE"), "%s", warnings.text);
    scenario_fini(&sc);
}

/* FCT of a flow of @bytes alone in the sample network; switch ports may not mark without a row. */
static int64_t run_alone(uint32_t dst, int64_t bytes)
{
    const struct simai_conf_options o = {0};
    const struct flow_spec f = {.src = 0, .dst = dst, .bytes = bytes, .prio = 3};
    struct scenario sc;
    struct sim *s = NULL;

    cr_assert_eq(read_conf(TEST_DATA_DIR "/simai/simai_min.conf", &o, &sc), 0, "%s", err.text);
    cr_assert_eq(scenario_add_flow(&sc, &f), 0);
    cr_assert_eq(scenario_make_sim(&sc, NULL, &s, &err), 0, "%s", err.text);
    cr_assert_eq(sim_run(s, TIME_NEVER), 0);
    const struct flow_result *r = sim_flow_result(s, 0);
    int64_t fct_ps = r->end_ps - r->start_ps;

    cr_expect_eq(r->state, FLOW_DONE);
    cr_expect_eq(r->hops, 2);
    sim_destroy(s);
    scenario_fini(&sc);
    return fct_ps;
}

Test(simai, sample_network_and_configuration_run_over_nvlink_and_over_the_rail)
{
    int64_t nvlink_ps = run_alone(1, 8 * MIB), rail_ps = run_alone(2, 8 * MIB);

    /* 8 MiB take 23.3 us at 2880 Gb/s and 167.8 us at 400 Gb/s; headers and two links on top. */
    cr_expect(nvlink_ps > 23300 * PS_PER_NS && nvlink_ps < 24500 * PS_PER_NS, "%lld ps",
              (long long)nvlink_ps);
    cr_expect(rail_ps > 167772 * PS_PER_NS && rail_ps < 172000 * PS_PER_NS, "%lld ps",
              (long long)rail_ps);
}

#define CONF                                                                                       \
    "CC_MODE 1\nRP_TIMER 900\nEWMA_GAIN 0.00390625\nRATE_AI 50Mb/s\nRATE_HAI 100Mb/s\n"            \
    "L2_CHUNK_SIZE 4000\nL2_ACK_INTERVAL 1\nKMAX_MAP 1 400000000000 3200\n"                        \
    "KMIN_MAP 1 400000000000 800\nPMAX_MAP 1 400000000000 0.2\n"

Test(simai, outputs_move_to_the_folder_of_the_command_line)
{
    const struct simai_conf_options o = {.output_dir = folder.path};
    struct scenario sc;
    char expected[128];
    const char *conf =
        put("SimAI.conf", CONF "FCT_OUTPUT_FILE /etc/astra/no/fct.txt\nENABLE_TRACE 1\n"
                               "TRACE_FILE /etc/astra/trace.txt\nBW_MON_FILE /etc/astra/bw.txt\n"
                               "SIMULATOR_STOP_TIME 40000000000000.00\nERROR_RATE_PER_LINK 0.01\n");

    cr_assert_eq(read_conf(conf, &o, &sc), 0, "%s", err.text);
    snprintf(expected, sizeof expected, "%s/fct.txt", folder.path);
    cr_expect_str_eq(sc.fct_path, expected);
    snprintf(expected, sizeof expected, "%s/bw.txt", folder.path);
    cr_expect_str_eq(sc.logs[LOG_LINK].path, expected);
    cr_expect_eq(sc.cfg.end_ps, TIME_NEVER);
    cr_expect_eq(sc.topo->classes[0].error_rate, 0.01);
    scenario_fini(&sc);
}

Test(simai, a_trace_list_that_is_not_there_traces_nothing)
{
    const struct simai_conf_options o = {0};
    struct scenario sc;

    cr_assert_eq(read_conf(put("c", CONF "TRACE_FILE /none/t.txt\nTRACE_OUTPUT_FILE m.tr\n"
                                         "ENABLE_TRACE 1\nTRACE_NODE 0\n"),
                           &o, &sc),
                 0, "%s", err.text);
    cr_expect_str_eq(sc.logs[LOG_PACKET].path, "");
    cr_expect(warnings_have(&warnings, "TRACE_FILE /none/t.txt is not there"), "%s", warnings.text);
    cr_expect(warnings_have(&warnings, "unknown key \"TRACE_NODE\""), "%s", warnings.text);
    scenario_fini(&sc);
}

Test(simai, malformed_configurations_are_refused_with_key_and_line)
{
    static const struct {
        const char *text;
        long line;
        const char *part;
    } steps[] = {
        {CONF "FCT_OUTPUT_FILE /nowhere/at/all/fct.txt\n", 11, "FCT_OUTPUT_FILE: found"},
        {CONF "PFC_OUTPUT_FILE /nowhere/pfc.txt\n", 11, "PFC_OUTPUT_FILE: found"},
        {CONF "QLEN_MON_FILE /nowhere/q.txt\n", 11, "QLEN_MON_FILE: found"},
        {CONF "BW_MON_FILE /dev/null/bw.txt\n", 11, "BW_MON_FILE: found"},
        {CONF "RATE_MON_FILE /tmp/\n", 11, "RATE_MON_FILE: found"},
        {CONF "MON_START 5\nMON_END 4\n", 12, "MON_END: found a time before MON_START"},
        {CONF "MON_START soon\n", 11, "MON_START \"soon\""},
        {CONF "MON_END -1\n", 11, "MON_END \"-1\""},
        {CONF "QP_MON_INTERVAL 0\n", 11, "QP_MON_INTERVAL \"0\""},
        {CONF "QLEN_MON_INTERVAL x\n", 11, "QLEN_MON_INTERVAL \"x\""},
        {CONF "BW_MON_INTERVAL BUFFER_SIZE 3\n", 11, "BW_MON_INTERVAL without"},
        {CONF "BW_MON_FILE\n", 11, "BW_MON_FILE without its value"},
        {CONF "KMAX_MAP 1 100000000000 1600\n", 11, "KMAX_MAP: found no entry for 400000000000"},
        {CONF "CC_MODE 10\n", 11, "HPCC with PINT"},
    };
    const struct simai_conf_options o = {0};

    for (size_t i = 0; i < COUNT(steps); i++) {
        struct scenario sc;

        cr_expect_eq(read_conf(put("SimAI.conf", steps[i].text), &o, &sc), WH_ERR_INPUT, "%zu", i);
        cr_expect_eq(err.line, steps[i].line, "%zu: line %ld: %s", i, err.line, err.text);
        cr_expect(strstr(err.text, steps[i].part), "%zu: %s", i, err.text);
        cr_expect(strstr(err.text, "expected"), "%zu: %s", i, err.text);
        scenario_fini(&sc);
    }
}

Test(simai, a_file_that_is_not_there_is_refused)
{
    struct simai_topology t;

    cr_expect_null(read_file("/nowhere/workload.txt"));
    cr_expect_eq(simai_read_topology("/nowhere/topology", &t, NULL, &err), WH_ERR_INPUT);
}
