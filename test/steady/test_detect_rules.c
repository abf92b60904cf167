/*
 * test_detect_rules.c - steady/detect_rules.c: statistics of a window against closed forms.
 */
#include "detect_int.h"
#include "rng.h"

#include <criterion/criterion.h>
#include <math.h>

Test(detect_rules, equal_batches_have_no_error_and_no_drift)
{
    const double x[8] = {5, 5, 5, 5, 5, 5, 5, 5};
    const struct detect__scatter s = detect__calc_scatter(x, 8, 1, 2);

    cr_assert_eq(s.se, 0);
    cr_assert_eq(s.drift, 0);
}

Test(detect_rules, the_standard_error_is_that_of_the_mean)
{
    const double x[8] = {9, 11, 9, 11, 9, 11, 9, 11};
    const struct detect__scatter s = detect__calc_scatter(x, 8, 1, 2);

    cr_assert_float_eq(s.se, sqrt(8.0 / 7 / 8) / 10, 1e-15);
    cr_assert_eq(s.drift, 0);
}

Test(detect_rules, a_ramp_is_a_drift_between_the_means_of_its_halves)
{
    const double x[8] = {100, 101, 102, 103, 104, 105, 106, 107};
    const struct detect__scatter s = detect__calc_scatter(x, 8, 1, 2);

    cr_assert_float_eq(s.drift, 4 / 103.5, 1e-12);
}

/* A t-test of two times four values passes white noise in over 90 of 100 windows. */
Test(detect_rules, noise_alone_is_rarely_a_drift)
{
    uint32_t drifts = 0;

    for (uint64_t run = 0; run < 10000; run++) {
        double x[8];

        for (uint64_t i = 0; i < 8; i++)
            x[i] = 100 + rng_double(1, run, i) + rng_double(2, run, i) + rng_double(3, run, i);
        drifts += detect__calc_scatter(x, 8, 1, 2).drift != 0;
    }
    cr_assert(drifts > 500 && drifts < 1200, "%u of 10,000", drifts);
}

Test(detect_rules, values_of_other_groups_lie_between)
{
    const double x[16] = {9, 0, 11, 1, 9, 2, 11, 3, 9, 4, 11, 5, 9, 6, 11, 7};

    cr_assert_float_eq(detect__calc_scatter(x, 8, 2, 2).se, sqrt(8.0 / 7 / 8) / 10, 1e-15);
    cr_assert_float_eq(detect__calc_scatter(x + 1, 8, 2, 2).drift, 4 / 3.5, 1e-12);
}

Test(detect_rules, nothing_delivered_is_no_knowledge)
{
    const double x[8] = {0};

    cr_assert(isinf(detect__calc_scatter(x, 8, 1, 2).se));
}

Test(detect_rules, rates_are_between_acknowledgements)
{
    const struct detect__edge a = {1000, 5000, 0}, b = {3000, 25000, 0};

    cr_assert_eq(detect__rate_bps(&a, &b), 800000000000);
    cr_assert_eq(detect__rate_bps(&a, &a), 0);
    cr_assert_eq(detect__rate_bps(&b, &a), 0);
    cr_assert_eq(detect__rate_bps(&a, &(struct detect__edge){INT64_C(1) << 60, 5001, 0}),
                 DETECT__RATE_BPS_MAX);
}
