/*
 * test_bench_options.c - sizes, operations and refusals of wormhole bench collective.
 */
#include "bench_options.h"

#include <criterion/criterion.h>
#include <string.h>

#define WORDS_MAX 12

static int parse(const char *line, struct bench_options *o, struct err_info *e)
{
    static char text[256];
    char *words[WORDS_MAX + 1] = {"collective"};
    int count = 1;

    (void)strncpy(text, line, sizeof text - 1);
    for (char *w = strtok(text, " "); w && count < WORDS_MAX; w = strtok(NULL, " "))
        words[count++] = w;
    memset(e, 0, sizeof *e);
    return bench_parse(count, words, o, e);
}

Test(bench_options, sizes_are_those_of_nccl_tests)
{
    static const struct {
        const char *text;
        int64_t bytes;
    } rows[] = {{"8", 8},         {"64K", 65536},    {"8G", INT64_C(8) << 30},   {"0", 0},
                {"4MB", 4000000}, {"4MiB", 4194304}, {"1024T", INT64_C(1) << 50}};
    static const char *const bad[] = {"",    "K",   "9X",    "-1",
                                      "1.5", "8 G", "1025T", "99999999999999G"};
    int64_t v = 0;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cr_expect_eq(bench_parse_size(rows[i].text, &v), 0, "'%s'", rows[i].text);
        cr_expect_eq(v, rows[i].bytes, "'%s': %lld", rows[i].text, (long long)v);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        cr_expect_neq(bench_parse_size(bad[i], &v), 0, "'%s'", bad[i]);
}

Test(bench_options, operations_have_nccl_tests_names_too)
{
    struct bench_options o;
    struct err_info e;

    cr_expect_eq(parse("alltoall_perf", &o, &e), 0, "%s", e.text);
    cr_expect_eq(o.call.kind, COLL_ALL_TO_ALL);
    cr_expect_eq(parse("-g 4 sendrecv -b 1K", &o, &e), 0, "%s", e.text);
    cr_expect_eq(o.call.kind, COLL_SEND_RECV);
    cr_expect_eq(o.place.rank_count, 4);
    cr_expect_eq(o.first_bytes, 1024);
    cr_expect_eq(parse("barrier", &o, &e), WH_ERR_INPUT, "it has no bandwidth");
}

Test(bench_options, types_have_their_sizes)
{
    struct bench_options o;
    struct err_info e;

    cr_expect_eq(parse("all_reduce -d bfloat16", &o, &e), 0);
    cr_expect_eq(o.call.elem_bytes, 2);
    cr_expect_eq(parse("all_reduce -d float8", &o, &e), WH_ERR_INPUT);
    cr_expect(strstr(e.text, "'float8'"), "%s", e.text);
}

Test(bench_options, bad_lines_are_refused_by_name)
{
    static const struct {
        const char *line, *says;
    } rows[] = {
        {"", "expected one OPERATION"},
        {"all_reduce all_gather", "found 2 words"},
        {"all_reduce -f 1", "--f"},
        {"all_reduce -b 0", "-i"},
        {"all_reduce --set a=b", "--scenario"},
        {"all_reduce --rate fast", "'fast'"},
        {"all_reduce --topology torus", "'torus'"},
        {"all_reduce --channels 65", "64"},
        {"all_reduce --algorithm best", "'best'"},
        {"all_reduce --payload 65001B", "65000B"},
        {"all_reduce --nonsense 1", "nonsense"},
        {"all_reduce --error-budget 0", "--error-budget"},
        {"all_reduce --memo fluid", "'fluid'"},
        {"all_reduce --memo-file m", "--memo-file"},
        {"all_reduce --theta 5%", "--theta"},
    };
    struct bench_options o;
    struct err_info e;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cr_expect_eq(parse(rows[i].line, &o, &e), WH_ERR_INPUT, "'%s'", rows[i].line);
        cr_expect(strstr(e.text, rows[i].says), "'%s': '%s'", rows[i].line, e.text);
    }
}

Test(bench_options, nothing_is_skipped_unless_asked_for)
{
    struct bench_options o;
    struct err_info e;

    cr_assert_eq(parse("all_reduce", &o, &e), 0, "%s", e.text);
    cr_expect_eq(o.engine.accel.steady, ACCEL_OFF);
    cr_expect_eq(o.engine.accel.memo, ACCEL_OFF);
    cr_assert_eq(parse("all_reduce --steady --memo exact", &o, &e), 0, "%s", e.text);
    cr_expect_eq(o.engine.accel.steady, ACCEL_ON);
    cr_expect_eq(o.engine.accel.memo, ACCEL_ON);
}
