/*
 * test_noise.c - the statistics of a noise floor, the judgement by it, and its file.
 */
#include "noise.h"
#include "noise_file.h"

#include "units.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FLOWS 4

/* FCTs in us; -1: unfinished. All flows start at 0; the last one is larger than the others. */
static struct fct_table table_of(const int64_t fct_us[FLOWS])
{
    struct fct_table t = {.rows = NULL};

    for (uint32_t i = 0; i < FLOWS; i++)
        cr_assert_eq(
            fct_table_append(
                &t, &(struct fct_row){.src = FLOWS - i,
                                      .dst = 9,
                                      .sport = 10000,
                                      .dport = 100,
                                      .bytes = i == FLOWS - 1 ? 50000 : 5000,
                                      .fct_ps = fct_us[i] < 0 ? -1 : fct_us[i] * PS_PER_US}),
            0);
    return t;
}

static void begin(struct noise *n, const int64_t fct_us[FLOWS], double iteration_s)
{
    struct fct_table t = table_of(fct_us);

    cr_assert_eq(noise_begin(n, &t, FCT_BY_START, iteration_s), 0);
    cr_assert_null(t.rows, "the table is taken over");
}

static void add(struct noise *n, const int64_t fct_us[FLOWS], double iteration_s)
{
    struct fct_table t = table_of(fct_us);

    cr_assert_eq(noise_add(n, &t, iteration_s), 0);
    fct_table_fini(&t);
}

/* Run 1: +10 %, -10 %, exact, +2 %. Run 2: +30 %, exact, exact, exact. */
static const int64_t base[FLOWS] = {100, 100, 100, 1000};
static const int64_t run_1[FLOWS] = {110, 90, 100, 1020};
static const int64_t run_2[FLOWS] = {130, 100, 100, 1000};

static void make(struct noise *n, struct noise_floor *f)
{
    begin(n, base, 2.0);
    add(n, run_1, 2.1);
    add(n, run_2, 1.8);
    noise_calc_floor(n, f);
    (void)snprintf(f->scenario, sizeof f->scenario, "four flows");
}

static void expect_figure(const struct noise_figure *f, double mean, double max, const char *what)
{
    cr_expect_float_eq(f->mean, mean, 1e-12, "%s: mean %.9f", what, f->mean);
    cr_expect_float_eq(f->max, max, 1e-12, "%s: largest %.9f", what, f->max);
}

Test(noise, figures_are_those_of_the_runs)
{
    static const struct {
        enum noise_kind k;
        double run_1, run_2;
    } rows[] = {
        {NOISE_FCT_MEAN, 0.22 / 4, 0.3 / 4},
        {NOISE_FCT_P99, 0.1, 0.3},
        {NOISE_FCT_MAX, 0.1, 0.3},
        {NOISE_MEAN_FCT, 20.0 / 1300, 30.0 / 1300},
        {NOISE_SORTED_FCT, 0.22 / 4, 0.3 / 4},
        {NOISE_MAKESPAN, 0.02, 0},
        {NOISE_ITERATION_TIME, 0.05, 0.1},
    };
    struct noise n;
    struct noise_floor f;

    make(&n, &f);
    cr_assert_eq(sizeof rows / sizeof rows[0], NOISE_KIND_COUNT);
    for (size_t i = 0; i < NOISE_KIND_COUNT; i++)
        expect_figure(&f.all[rows[i].k], (rows[i].run_1 + rows[i].run_2) / 2,
                      rows[i].run_1 > rows[i].run_2 ? rows[i].run_1 : rows[i].run_2,
                      noise_kind_name(rows[i].k));
    cr_expect_eq(f.run_count, 2);
    cr_expect_eq(f.flow_count, 4);
    cr_expect_float_eq(f.mean_fct_ns, 325000, 1e-6);
    cr_expect(f.has_iteration);
    cr_expect_not(f.is_workload);
    noise_fini(&n);
}

Test(noise, size_classes_have_figures_of_their_own)
{
    struct noise n;
    struct noise_floor f;

    make(&n, &f);
    cr_expect_eq(f.class_flows[0], 0);
    cr_expect_eq(f.class_flows[1], 3);
    cr_expect_eq(f.class_flows[2], 1);
    expect_figure(&f.by_size[1][NOISE_FCT_MEAN], 0.25 / 3, 0.1, "small, mean");
    expect_figure(&f.by_size[2][NOISE_FCT_MEAN], 0.01, 0.02, "large, mean");
    expect_figure(&f.by_size[2][NOISE_MEAN_FCT], 0.01, 0.02, "large, mean FCT");
    noise_fini(&n);
}

Test(noise, flows_keep_mean_and_largest_change)
{
    struct noise n;
    struct noise_floor f;

    make(&n, &f);
    /* rows of n.flows are in flow order, though the tables are sorted by source */
    cr_expect_float_eq(n.flows[0].sum, 0.4, 1e-12);
    cr_expect_float_eq(n.flows[0].max, 0.3, 1e-12);
    cr_expect_float_eq(n.flows[1].sum, 0.1, 1e-12);
    cr_expect_eq(n.flows[2].max, 0);
    cr_expect_float_eq(n.flows[3].max, 0.02, 1e-12);
    cr_expect_eq(n.flows[3].run_count, 2);
    noise_fini(&n);
}

Test(noise, unfinished_flows_are_left_out)
{
    static const int64_t some[FLOWS] = {100, -1, 100, 1000}, others[FLOWS] = {110, 90, -1, 1000};
    struct noise n;
    struct noise_floor f;

    begin(&n, some, -1);
    add(&n, others, -1);
    noise_calc_floor(&n, &f);
    cr_expect_eq(f.flow_count, 3);
    cr_expect_eq(n.runs[0].c.all.abs_error.count, 2);
    expect_figure(&f.all[NOISE_FCT_MEAN], 0.05, 0.05, "mean");
    cr_expect_eq(n.flows[0].run_count, 1);
    cr_expect_eq(n.flows[1].run_count + n.flows[2].run_count, 0);
    cr_expect_not(f.has_iteration);
    noise_fini(&n);
}

Test(noise, equal_runs_have_floor_zero)
{
    struct noise n;
    struct noise_floor f;

    begin(&n, base, -1);
    add(&n, base, -1);
    noise_calc_floor(&n, &f);
    for (enum noise_kind k = 0; k < NOISE_KIND_COUNT; k++)
        expect_figure(&f.all[k], 0, 0, noise_kind_name(k));
    noise_fini(&n);
}

Test(noise, differences_are_judged_by_floor_and_limit)
{
    static const struct {
        enum noise_kind k;
        double difference, floor;
        enum noise_verdict is;
    } rows[] = {
        {NOISE_FCT_MEAN, 0, 0, NOISE_WITHIN_FLOOR},
        {NOISE_FCT_MEAN, 0.004, 0.001, NOISE_WITHIN_LIMIT},
        {NOISE_FCT_MEAN, 0.005, 0, NOISE_WITHIN_LIMIT},
        {NOISE_FCT_MEAN, 0.006, 0, NOISE_EXCEEDS},
        {NOISE_FCT_MEAN, 0.006, 0.006, NOISE_WITHIN_FLOOR},
        {NOISE_FCT_MEAN, 0.008, 0.007, NOISE_EXCEEDS},
        {NOISE_FCT_P99, 0.02, 0, NOISE_WITHIN_LIMIT},
        {NOISE_FCT_P99, 0.021, 0.01, NOISE_EXCEEDS},
        {NOISE_MAKESPAN, 0.006, 0.001, NOISE_EXCEEDS},
        {NOISE_ITERATION_TIME, 0.006, 0.001, NOISE_EXCEEDS},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        cr_expect_eq(noise_judge(rows[i].k, rows[i].difference, rows[i].floor), rows[i].is,
                     "row %zu", i);
    cr_expect_eq(noise_ratio(0, 0), 0);
    cr_expect_eq(noise_ratio(0, 3), 1);
    cr_expect_float_eq(noise_ratio(4, 3), 0.25, 1e-12);
}

/* ---- the file ---- */

static void write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");

    cr_assert_not_null(f);
    cr_assert_geq(fputs(text, f), 0);
    cr_assert_eq(fclose(f), 0);
}

/* Writes the floor of make() to @path. */
static void write_floor(const char *path, struct noise *n, const struct noise_floor *f)
{
    static const uint64_t seeds[] = {1, 2, 3};
    struct out_set set = {.count = 0};
    struct err_info e = {.text = ""};
    struct out_file *o;

    cr_assert_eq(out_open(&set, path, "test", &o, &e), 0, "%s", e.text);
    cr_assert_eq(
        noise_file_json(o,
                        &(struct noise_record){
                            .n = n, .floor = f, .command = "x", .cc = "hpcc", .seeds = seeds}),
        0);
    cr_assert_eq(out_close(&set, &e), 0, "%s", e.text);
}

Test(noise, a_floor_is_read_as_it_was_written)
{
    char path[] = "/tmp/wh_noise_XXXXXX";
    const int fd = mkstemp(path);
    struct err_info e = {.text = ""};
    struct noise n;
    struct noise_floor f, read;

    cr_assert_geq(fd, 0);
    (void)close(fd);
    make(&n, &f);
    write_floor(path, &n, &f);
    cr_assert_eq(noise_file_read(path, &read, &e), 0, "%s", e.text);
    cr_expect_str_eq(read.scenario, "four flows");
    cr_expect_eq(read.run_count, f.run_count);
    cr_expect_eq(read.flow_count, f.flow_count);
    cr_expect_eq(read.is_workload, f.is_workload);
    cr_expect(read.has_iteration);
    for (enum noise_kind k = 0; k < NOISE_KIND_COUNT; k++)
        expect_figure(&read.all[k], f.all[k].mean, f.all[k].max, noise_kind_name(k));
    for (uint32_t c = 0; c < SIZE_CLASS_COUNT; c++) {
        cr_expect_eq(read.class_flows[c], f.class_flows[c]);
        for (enum noise_kind k = 0; k < NOISE_CLASS_KIND_COUNT; k++)
            expect_figure(&read.by_size[c][k], f.by_size[c][k].mean, f.by_size[c][k].max, "class");
    }
    (void)unlink(path);
    noise_fini(&n);
}

#define HEAD                                                                                       \
    "{\"scenario\": \"s\", \"workload\": false, \"runs\": 3, \"base\": {\"finished\": 1, "         \
    "\"mean_fct_ns\": 1.5}"

Test(noise, files_of_another_kind_are_refused)
{
    static const struct {
        const char *text, *culprit;
    } bad[] = {
        {"", "end of file"},
        {"[]", "scenario"},
        {"{\"scenario\": \"s\"}", "workload"},
        {"{\"scenario\": \"s\", \"workload\": false, \"runs\": 0}", "runs"},
        {"{\"scenario\": \"s\", \"workload\": false, \"runs\": 1}", "base"},
        {HEAD "}", "fct_mean"},
        {HEAD ", \"floor\": {\"fct_mean\": {\"mean\": 1, \"largest\": -1}}}", "fct_mean"},
        {HEAD ", \"floor\": {\"fct_mean\": {\"mean\": 1, \"largest\": 1}}}", "fct_p99"},
    };
    char path[] = "/tmp/wh_noise_XXXXXX";
    const int fd = mkstemp(path);

    cr_assert_geq(fd, 0);
    (void)close(fd);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct noise_floor f = {.run_count = 77};
        struct err_info e = {.text = ""};

        write_text(path, bad[i].text);
        cr_expect_eq(noise_file_read(path, &f, &e), WH_ERR_INPUT, "%s", bad[i].text);
        cr_expect(strstr(e.text, bad[i].culprit), "'%s' lacks '%s'", e.text, bad[i].culprit);
        cr_expect_str_eq(e.file, path);
        cr_expect_eq(f.run_count, 77, "untouched on failure");
    }
    (void)unlink(path);
}
