/*
 * test_figures.c - distributions and size classes.
 */
#include "figures.h"
#include "quantiles.h"
#include "rng.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

static double percentile(const double *sorted, uint64_t count, double percent)
{
    return sorted[dist_rank(count, percent)];
}

Test(figures, percentile_is_the_smallest_value_that_covers_the_share)
{
    double v[100];

    for (int i = 0; i < 100; i++)
        v[i] = i + 1;
    cr_assert_eq(percentile(v, 100, 50), 50);
    cr_assert_eq(percentile(v, 100, 99), 99);
    cr_assert_eq(percentile(v, 100, 99.5), 100);
    cr_assert_eq(percentile(v, 100, 0), 1);
    cr_assert_eq(percentile(v, 100, 100), 100);
    cr_assert_eq(percentile(v, 3, 50), 2);
    cr_assert_eq(percentile(v, 1, 99), 1);
}

Test(figures, distribution_has_a_mean_and_percentiles)
{
    double v[] = {5, 1, 4, 2, 3};
    const struct dist d = dist_of(v, 5);

    cr_assert_eq(d.count, 5);
    cr_assert_eq(d.mean, 3);
    cr_assert_eq(d.p50, 3);
    cr_assert_eq(d.p99, 5);
    cr_assert_eq(d.max, 5);
}

Test(figures, distribution_of_nothing_is_zero)
{
    double v[1] = {7};
    const struct dist d = dist_of(v, 0);

    cr_assert_eq(d.count, 0);
    cr_assert_eq(d.mean, 0);
    cr_assert_eq(d.max, 0);
}

Test(figures, size_classes_include_their_upper_limit)
{
    cr_assert_eq(size_class_of(0), 0);
    cr_assert_eq(size_class_of(1000), 0);
    cr_assert_eq(size_class_of(1001), 1);
    cr_assert_eq(size_class_of(100000000), 5);
    cr_assert_eq(size_class_of(100000001), SIZE_CLASS_COUNT - 1);
    cr_assert_eq(size_class_of(INT64_MAX), SIZE_CLASS_COUNT - 1);
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

enum { COUNT = 20000 };

/* All ranks at once of @v, against qsort. */
static void check_all_ranks(const double *v)
{
    static double w[COUNT], out[COUNT];
    static size_t ranks[COUNT];

    for (size_t i = 0; i < COUNT; i++) {
        w[i] = v[i];
        ranks[i] = i;
    }
    quantiles_find(w, COUNT, ranks, out, COUNT);
    for (size_t i = 0; i < COUNT; i++)
        w[i] = v[i];
    qsort(w, COUNT, sizeof *w, compare);
    for (size_t i = 0; i < COUNT; i++)
        cr_assert_eq(out[i], w[i], "rank %zu: %g, not %g", i, out[i], w[i]);
}

Test(quantiles, numbers_of_both_signs_and_many_sizes_some_of_them_equal)
{
    static double v[COUNT];

    for (uint32_t i = 0; i < COUNT; i++) {
        const uint64_t r = rng_u64(9, 1, i % 4000);

        v[i] = ldexp((double)(int64_t)r, (int)(r % 90) - 80);
    }
    check_all_ranks(v);
}

Test(quantiles, nearly_all_the_same)
{
    static double v[COUNT];

    for (uint32_t i = 0; i < COUNT; i++)
        v[i] = i % 1000 ? 8374.113 : 1e9 * i;
    check_all_ranks(v);
    for (uint32_t i = 0; i < COUNT; i++)
        v[i] = 1;
    check_all_ranks(v);
    v[77] = nextafter(1, 2);
    check_all_ranks(v);
}
