/*
 * test_cdf.c - flow-size distributions: files in per cent and as fractions, means, draws, refused
 * files.
 */
#include "flowgen.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct err_info err;

/* Reads @text as a file. */
static int read_text(const char *text, struct size_cdf *out)
{
    char path[] = "/tmp/wh_test_cdf_XXXXXX";
    const int fd = mkstemp(path);

    cr_assert_geq(fd, 0);
    cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    memset(&err, 0, sizeof err);
    const int rc = cdf_read(path, out, &err);
    unlink(path);
    return rc;
}

Test(cdf, example_file_has_its_mean_and_median)
{
    struct size_cdf c;

    cr_assert_eq(cdf_read(TEST_DATA_DIR "/hpcc/cdf_example.txt", &c, &err), 0, "%s", err.text);
    cr_expect_eq(c.count, 5u);
    cr_expect_float_eq(cdf_mean_bytes(&c), 67850.0, 1e-6);
    cr_expect_eq(cdf_draw_bytes(&c, 0.5), 4000);
    cdf_fini(&c);
}

Test(cdf, last_value_decides_between_per_cent_and_fraction)
{
    struct size_cdf percent, fraction;

    cr_assert_eq(read_text("0 0\n1000 40\n5000 100", &percent), 0, "%s", err.text);
    cr_assert_eq(read_text("0 0\r\n\r\n1000 0.4 # most\n5000 1\n", &fraction), 0, "%s", err.text);
    cr_assert_eq(percent.count, fraction.count);
    for (uint32_t i = 0; i < percent.count; i++) {
        cr_expect_float_eq(percent.prob[i], fraction.prob[i], 1e-15);
        cr_expect_eq(percent.bytes[i], fraction.bytes[i]);
    }
    cdf_fini(&percent);
    cdf_fini(&fraction);
}

Test(cdf, first_point_may_carry_mass)
{
    struct size_cdf c;

    cr_assert_eq(read_text("100 50\n200 100\n", &c), 0, "%s", err.text);
    cr_expect_float_eq(cdf_mean_bytes(&c), 0.5 * 100 + 0.5 * 150, 1e-9);
    cr_expect_eq(cdf_draw_bytes(&c, 0.0), 100);
    cr_expect_eq(cdf_draw_bytes(&c, 0.49), 100);
    cr_expect_eq(cdf_draw_bytes(&c, 0.75), 150);
    cdf_fini(&c);
}

Test(cdf, steps_give_their_size_exactly)
{
    struct size_cdf c;

    cr_assert_eq(read_text("100 30\n500 30\n500 100\n", &c), 0, "%s", err.text);
    cr_expect_eq(cdf_draw_bytes(&c, 0.29), 100);
    cr_expect_eq(cdf_draw_bytes(&c, 0.31), 500);
    cr_expect_eq(cdf_draw_bytes(&c, 0.9999), 500);
    cr_expect_float_eq(cdf_mean_bytes(&c), 30 + 350, 1e-9);
    cdf_fini(&c);
}

Test(cdf, draws_are_at_least_one_byte_and_at_most_the_largest)
{
    struct size_cdf c;

    cr_assert_eq(cdf_builtin("web-search", &c), 0);
    cr_expect_eq(cdf_draw_bytes(&c, 0.0), 1);
    cr_expect_eq(cdf_draw_bytes(&c, 0.97), 10000000);
    cr_expect_leq(cdf_draw_bytes(&c, 1 - 0x1p-53), 30000000);
    cdf_fini(&c);
}

/* Sums worked out by hand from the tables: halves of neighbouring sizes times their share. */
Test(cdf, built_in_distributions_have_their_known_means)
{
    struct size_cdf c;

    cr_assert_eq(cdf_builtin("web-search", &c), 0);
    cr_expect_float_eq(cdf_mean_bytes(&c), 1711250.0, 1e-3, "%f", cdf_mean_bytes(&c));
    cdf_fini(&c);
    cr_assert_eq(cdf_builtin("hadoop", &c), 0);
    cr_expect_float_eq(cdf_mean_bytes(&c), 120420.75, 1e-3, "%f", cdf_mean_bytes(&c));
    cdf_fini(&c);
    cr_expect_eq(cdf_builtin("websearch", &c), WH_ERR_INPUT);
}

Test(cdf, mean_of_draws_is_the_mean)
{
    struct size_cdf c;
    double sum = 0;
    const int draws = 100000;

    cr_assert_eq(cdf_builtin("hadoop", &c), 0);
    for (int i = 0; i < draws; i++) /* strata: the middle of each of 10^5 equal shares */
        sum += (double)cdf_draw_bytes(&c, (i + 0.5) / draws);
    cr_expect_float_eq(sum / draws, cdf_mean_bytes(&c), 2.0, "%f", sum / draws);
    cdf_fini(&c);
}

struct bad_file {
    const char *text, *says;
    long line;
};

Test(cdf, bad_files_are_refused_with_their_line)
{
    static const struct bad_file cases[] = {
        {"", "no points", 0},
        {"# nothing\n", "no points", 0},
        {"0 0\n1000\n", "1 fields", 2},
        {"0 0\n1000 50 7\n", "3 fields", 2},
        {"0 0\nx 100\n", "x", 2},
        {"0 0\n0x10 100\n", "0x10", 2},
        {"0 0\n100 inf\n", "inf", 2},
        {"0 0\n-5 100\n", "-5", 2},
        {"0 0\n100 50\n90 100\n", "\"90\", expected at least the size before it, 100", 3},
        {"0 0\n100 50\n200 40\n300 100\n", "\"40\", expected at least the share before it, 50", 3},
        {"0 0\n100 50\n200 99\n", "99", 3},
        {"0 0\n100 0.5\n200 0.9\n", "0.9", 3},
        {"0 0\n100 101\n", "101", 2},
        {"0 0\n0 100\n", "mean size of 0", 2},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct size_cdf c = {0};
        cr_expect_lt(read_text(cases[i].text, &c), 0, "case %zu", i);
        cr_expect_eq(err.line, cases[i].line, "case %zu: line %ld, %s", i, err.line, err.text);
        cr_expect_not_null(strstr(err.text, cases[i].says), "case %zu: %s", i, err.text);
        cr_expect_null(c.bytes);
    }
}

Test(cdf, missing_file_is_named)
{
    struct size_cdf c;

    cr_expect_eq(cdf_read("/nowhere/sizes.txt", &c, &err), WH_ERR_INPUT);
    cr_expect_str_eq(err.file, "/nowhere/sizes.txt");
}
