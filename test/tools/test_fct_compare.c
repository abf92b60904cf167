/*
 * test_fct_compare.c - errors of one run against another.
 */
#include "fct_compare.h"

#include "units.h"

#include <criterion/criterion.h>

/* A flow from host 1, in ns; fct_ns < 0: unfinished. */
struct flow {
    uint32_t dst;
    int64_t bytes, start_ns, fct_ns;
};

static struct fct_table table_of(const struct flow *flows, size_t flow_count)
{
    struct fct_table t = {.rows = NULL};

    for (size_t i = 0; i < flow_count; i++) {
        const struct flow *f = &flows[i];

        cr_assert_eq(
            fct_table_append(
                &t, &(struct fct_row){.src = 1,
                                      .dst = f->dst,
                                      .sport = 10000,
                                      .dport = 100,
                                      .bytes = f->bytes,
                                      .start_ns = f->start_ns,
                                      .fct_ps = f->fct_ns < 0 ? -1 : f->fct_ns * PS_PER_NS}),
            0);
    }
    return t;
}

static struct fct_comparison compare(const struct flow *a, size_t a_count, const struct flow *b,
                                     size_t b_count, enum fct_pairing by)
{
    struct fct_table x = table_of(a, a_count), y = table_of(b, b_count);
    struct fct_comparison c;

    cr_assert_eq(fct_compare(&x, &y, by, &c), 0);
    fct_table_fini(&x);
    fct_table_fini(&y);
    return c;
}

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))
#define COMPARE(a, b, by) compare(a, COUNT(a), b, COUNT(b), by)

Test(fct_compare, errors_are_relative_to_the_first_run)
{
    /* +10 %, -20 %, exact; the order of lines differs */
    static const struct flow a[] = {{2, 500, 0, 100}, {3, 5000, 0, 200}, {4, 5000, 0, 50}};
    static const struct flow b[] = {{4, 5000, 0, 50}, {3, 5000, 0, 160}, {2, 500, 0, 110}};
    const struct fct_comparison c = COMPARE(a, b, FCT_BY_START);

    cr_assert_eq(c.all.abs_error.count, 3);
    cr_assert_eq(c.all.exact, 1);
    cr_assert_float_eq(c.all.abs_error.mean, 0.1, 1e-12);
    cr_assert_float_eq(c.all.abs_error.max, 0.2, 1e-12);
    cr_assert_float_eq(c.all.abs_error.p50, 0.1, 1e-12);
    cr_assert_float_eq(c.all.signed_mean, -0.1 / 3, 1e-12);
    cr_assert_float_eq(c.all.mean_a_ns, 350.0 / 3, 1e-9);
    cr_assert_float_eq(c.all.mean_b_ns, 320.0 / 3, 1e-9);
    cr_assert_eq(c.by_size[0].abs_error.count, 1);
    cr_assert_eq(c.by_size[1].abs_error.count, 2);
    cr_assert_eq(c.makespan_a_ns, 200);
    cr_assert_eq(c.makespan_b_ns, 160);
    cr_assert_eq(c.only_in_a + c.only_in_b, 0);
}

Test(fct_compare, sorted_times_forget_who_is_who)
{
    /* two flows change places, the third is 10 % later */
    static const struct flow a[] = {{2, 500, 0, 100}, {3, 500, 0, 200}, {4, 500, 0, 1000}};
    static const struct flow b[] = {{2, 500, 0, 200}, {3, 500, 0, 100}, {4, 500, 0, 1100}};
    const struct fct_comparison c = COMPARE(a, b, FCT_BY_START);

    cr_assert_float_eq(c.sorted_mean, 0.1 / 3, 1e-12);
    cr_assert_float_eq(c.all.abs_error.mean, (1 + 0.5 + 0.1) / 3, 1e-12);
}

Test(fct_compare, equal_keys_pair_in_order_of_the_files)
{
    static const struct flow a[] = {{2, 500, 0, 100}, {2, 500, 0, 300}};
    static const struct flow b[] = {{2, 500, 0, 100}, {2, 500, 0, 300}, {2, 500, 0, 7}};
    const struct fct_comparison c = COMPARE(a, b, FCT_BY_START);

    cr_assert_eq(c.all.exact, 2);
    cr_assert_eq(c.only_in_b, 1);
    cr_assert_eq(c.only_in_a, 0);
}

Test(fct_compare, starts_tell_flows_apart_unless_they_are_to_be_ignored)
{
    /* B's lines are in order of completion, as in fct.txt; its flows start later */
    static const struct flow a[] = {{2, 500, 10, 100}, {2, 500, 20, 300}, {2, 600, 30, 50}};
    static const struct flow b[] = {{2, 600, 31, 50}, {2, 500, 22, 300}, {2, 500, 11, 100}};
    struct fct_comparison c = COMPARE(a, b, FCT_BY_START);

    cr_expect_eq(c.all.abs_error.count, 0);
    cr_expect_eq(c.only_in_a, 3);
    cr_expect_eq(c.only_in_b, 3);
    c = COMPARE(a, b, FCT_BY_ORDER);
    cr_expect_eq(c.all.abs_error.count, 3);
    cr_expect_eq(c.all.exact, 3);
    cr_expect_eq(c.only_in_a + c.only_in_b, 0);
}

Test(fct_compare, absent_and_unfinished_flows_are_counted)
{
    static const struct flow a[] = {{2, 500, 0, 100}, {3, 500, 0, -1}, {4, 500, 0, -1}};
    static const struct flow b[] = {{3, 500, 0, 100}, {5, 500, 0, 100}};
    const struct fct_comparison c = COMPARE(a, b, FCT_BY_START);

    cr_assert_eq(c.all.abs_error.count, 0);
    cr_assert_eq(c.only_in_a, 1);       /* 1 -> 2 */
    cr_assert_eq(c.only_in_b, 2);       /* 1 -> 3, 1 -> 5 */
    cr_assert_eq(c.unfinished_in_a, 2); /* 1 -> 3, 1 -> 4 */
    cr_assert_eq(c.unfinished_in_b, 0);
}

Test(fct_compare, pairs_name_the_rows_of_the_first_run)
{
    static const struct flow a[] = {{4, 500, 0, 100}, {2, 500, 0, 200}};
    static const struct flow b[] = {{2, 500, 0, 150}, {4, 500, 0, 0}};
    struct fct_table x = table_of(a, COUNT(a)), y = table_of(b, COUNT(b));
    struct fct_comparison c;
    struct fct_pairs p;

    cr_assert_eq(fct_pairs_make(&p, &x, &y, FCT_BY_START, &c), 0);
    cr_assert_eq(p.count, 2);
    cr_expect_eq(p.rows[0].a_order, 1);
    cr_expect_float_eq(fct_pair_error(&p.rows[0]), -0.25, 1e-12);
    cr_expect_eq(p.rows[1].a_order, 0);
    cr_expect_float_eq(fct_pair_error(&p.rows[1]), -1, 1e-12);
    fct_pairs_fini(&p);
    fct_table_fini(&x);
    fct_table_fini(&y);
}

Test(fct_compare, a_difference_from_nothing_is_not_lost)
{
    cr_expect_eq(fct_pair_error(&(struct fct_pair){.a_ps = 0, .b_ps = 5}), 1);
    cr_expect_eq(fct_pair_error(&(struct fct_pair){.a_ps = 0, .b_ps = 0}), 0);
}

Test(fct_compare, empty_runs_compare_to_nothing)
{
    const struct fct_comparison c = compare(NULL, 0, NULL, 0, FCT_BY_START);

    cr_assert_eq(c.all.abs_error.count, 0);
    cr_assert_eq(c.makespan_a_ns, 0);
    cr_assert_eq(c.sorted_mean, 0);
}
