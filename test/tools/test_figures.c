/*
 * test_figures.c - distributions and size classes.
 */
#include "figures.h"
#include "rng.h"
#include "sort_doubles.h"

#include <criterion/criterion.h>
#include <math.h>

Test(figures, percentile_is_the_smallest_value_that_covers_the_share)
{
    double v[100];

    for (int i = 0; i < 100; i++)
        v[i] = i + 1;
    cr_assert_eq(dist_percentile(v, 100, 50), 50);
    cr_assert_eq(dist_percentile(v, 100, 99), 99);
    cr_assert_eq(dist_percentile(v, 100, 99.5), 100);
    cr_assert_eq(dist_percentile(v, 100, 0), 1);
    cr_assert_eq(dist_percentile(v, 100, 100), 100);
    cr_assert_eq(dist_percentile(v, 3, 50), 2);
    cr_assert_eq(dist_percentile(v, 1, 99), 1);
}

Test(figures, distribution_sorts_and_averages)
{
    double v[] = {5, 1, 4, 2, 3};
    const struct dist d = dist_of(v, 5);

    cr_assert_eq(d.count, 5);
    cr_assert_eq(d.mean, 3);
    cr_assert_eq(d.p50, 3);
    cr_assert_eq(d.p99, 5);
    cr_assert_eq(d.max, 5);
    cr_assert_eq(v[0], 1);
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

/* 5,000 numbers of both signs and many sizes, some of them equal. */
Test(figures, many_numbers_are_sorted_like_few)
{
    enum { COUNT = 5000 };
    static double v[COUNT], w[COUNT];
    double sum = 0;

    for (uint32_t i = 0; i < COUNT; i++) {
        const uint64_t r = rng_u64(9, 1, i % 4000);

        w[i] = v[i] = ldexp((double)(int64_t)r, (int)(r % 90) - 80);
    }
    v[17] = w[17] = 0;
    v[18] = w[18] = -INFINITY;
    sort_doubles(v, COUNT);
    for (uint32_t i = 1; i < COUNT; i++)
        cr_assert_leq(v[i - 1], v[i], "%u: %g before %g", i, v[i - 1], v[i]);
    for (uint32_t i = 0; i < COUNT; i += 100) /* the same numbers in hundreds, sorted by qsort */
        sort_doubles(&w[i], 100);
    sort_doubles(w, COUNT);
    for (uint32_t i = 0; i < COUNT; i++)
        sum += v[i] != w[i];
    cr_assert_eq(sum, 0);
}
