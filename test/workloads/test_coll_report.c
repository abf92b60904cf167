/*
 * test_coll_report.c - collectives.csv, bandwidths, classes, the timeline.
 */
#include "coll_report.h"

#include "dag_fixture.h"
#include "sim_fixture.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct group eight = {.name = "all \"8\"", .rank_count = 8};
static uint32_t eight_ranks[8] = {0, 1, 2, 3, 4, 5, 6, 7};

static struct coll_record make_record(void)
{
    eight.rank = eight_ranks;
    return (struct coll_record){
        .number = 4,
        .group = &eight,
        .call = {.kind = COLL_ALL_REDUCE, .algo = COLL_RING, .bytes = 1000000000, .channels = 2},
        .called_ps = 1,
        .start_ps = 2000,
        .end_ps = 2000 + PS_PER_S / 10,
        .flows = 224,
        .bytes = INT64_C(14000000000)};
}

Test(coll_report, bandwidths_are_nccl_tests)
{
    const struct coll_record r = make_record();

    cr_expect_float_eq(coll_report_algbw(&r), 10, 1e-12, "10^9 B in 0.1 s are 10 GB/s");
    cr_expect_float_eq(coll_report_busbw(&r), 17.5, 1e-12);
}

Test(coll_report, a_collective_without_time_has_no_bandwidth)
{
    struct coll_record r = make_record();

    r.end_ps = r.start_ps;
    cr_expect_eq(coll_report_algbw(&r), 0);
}

Test(coll_report, a_csv_row_is_exact)
{
    const struct coll_record r = make_record();
    char *text = NULL;
    size_t bytes;
    FILE *f = open_memstream(&text, &bytes);

    cr_assert_eq(coll_report_csv_row(f, &r), 0);
    fclose(f);
    cr_expect_str_eq(text, "4,\"all \"\"8\"\"\",8,\"0-7\",all_reduce,ring,2,1000000000,0.001,2.000,"
                           "100000002.000,100000000.000,10.000000,17.500000,224,14000000000,0\n");
    free(text);
}

Test(coll_report, the_columns_of_a_row_are_those_of_the_header)
{
    uint32_t commas = 0;

    for (const char *c = COLL_CSV_HEADER; *c; c++)
        commas += *c == ',';
    cr_expect_eq(commas, 16);
}

Test(coll_report, alike_collectives_are_one_class)
{
    struct coll_record r = make_record();
    struct coll_classes c = {.count = 0};

    cr_assert_eq(coll_classes_add(&c, &r), 0);
    r.end_ps += 1000;
    cr_assert_eq(coll_classes_add(&c, &r), 0);
    r.call.bytes = 8;
    cr_assert_eq(coll_classes_add(&c, &r), 0);
    cr_assert_eq(c.count, 2);
    cr_expect_eq(c.rows[0].count, 2);
    cr_expect_eq(c.rows[0].time_ps_max - c.rows[0].time_ps_min, 1000);
    cr_expect_eq(c.rows[1].count, 1);
    coll_classes_fini(&c);
}

static const char *name_of(void *ctx, uint32_t stream)
{
    (void)ctx;
    return stream ? "comm" : "comp\"ute";
}

static uint32_t count_of(const char *text, const char *what)
{
    uint32_t n = 0;

    for (const char *at = text; (at = strstr(at, what)); at++)
        n++;
    return n;
}

static char *trace_of(int64_t cap_bytes, uint64_t *left_out)
{
    const struct op compute = {.kind = OP_COMPUTE, .id = 1, .name = "layer \"1\""};
    const struct op send = {.kind = OP_SEND, .id = 2, .peer = 1, .bytes = 8, .tag = 3};
    const struct op recv = {.kind = OP_RECV, .id = 3, .peer = 0, .bytes = 8, .tag = 3};
    struct coll_trace t;
    char *text = NULL;
    size_t bytes;
    FILE *f = open_memstream(&text, &bytes);

    coll_trace_begin(&t, f, cap_bytes, 2, 2, name_of, NULL);
    coll_trace_op(&t, &(struct op_record){.op = &compute, .start_ps = 1, .end_ps = 2000001});
    coll_trace_op(&t, &(struct op_record){
                          .op = &send, .stream = 1, .start_ps = 5, .active_ps = 5, .link = 9});
    coll_trace_op(&t, &(struct op_record){.op = &recv, .rank = 1, .end_ps = 77, .link = 9});
    cr_expect_eq(coll_trace_end(&t), 0);
    fclose(f);
    *left_out = t.left_out;
    return text;
}

Test(coll_report, a_timeline_has_a_track_per_rank_and_stream_and_arrows)
{
    uint64_t left_out;
    char *text = trace_of(0, &left_out);

    cr_expect_eq(left_out, 0);
    cr_expect_eq(count_of(text, "process_name"), 2);
    cr_expect_eq(count_of(text, "thread_name"), 4);
    cr_expect(strstr(text, "comp\\\"ute"), "%s", text);
    cr_expect(strstr(text, "\"ts\":0.000001,\"dur\":2.000000"), "%s", text);
    cr_expect(strstr(text, "\"ph\":\"s\",\"name\":\"message\",\"cat\":\"p2p\",\"id\":9,\"pid\":0"));
    cr_expect(
        strstr(text, "\"ph\":\"f\",\"bp\":\"e\",\"name\":\"message\",\"cat\":\"p2p\",\"id\":9"));
    cr_expect_eq(count_of(text, "{"), count_of(text, "}"));
    free(text);
}

Test(coll_report, a_timeline_stays_whole_when_its_cap_is_reached)
{
    uint64_t left_out;
    char *text = trace_of(500, &left_out);

    cr_expect_gt(left_out, 0);
    cr_expect_lt(strlen(text), 700);
    cr_expect_eq(count_of(text, "{"), count_of(text, "}"));
    cr_expect_str_eq(text + strlen(text) - 2, "}\n");
    free(text);
}

Test(coll_report, times_of_ranks_are_listed)
{
    struct dag_fix *f = dag_fix_create(2, 100 * GBPS, PS_PER_US);
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);

    dag_fix_op(f, 1, 0, &(struct op){.kind = OP_COMPUTE, .duration_ps = 1500});
    cr_assert_eq(dag_fix_run(f), 0);
    cr_assert_eq(coll_report_ranks(out, f->d, 2), 0);
    fclose(out);
    cr_expect_str_eq(text, COLL_RANKS_HEADER "\n0,0.000,0.000,0.000,1.500,0.000\n"
                                             "1,1.500,0.000,0.000,0.000,1.500\n");
    free(text);
    dag_fix_destroy(f);
}
