/*
 * test_output_fct.c - exact decimals of times and slowdowns.
 */
#include "output_fct.h"

#include <criterion/criterion.h>

static const struct {
    int64_t ps;
    const char *text;
} steps[] = {
    {0, "0"},
    {1, "0.001"},
    {10, "0.01"},
    {500, "0.5"},
    {1000, "1"},
    {1234567, "1234.567"},
    {100000, "100"},
    {INT64_C(2000000001000), "2000000001"},
    {INT64_MAX, "9223372036854775.807"},
};

Test(output_fct, ns_are_exact_without_trailing_zeros)
{
    char buf[40];

    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++)
        cr_assert_str_eq(output_ns(steps[i].ps, buf, sizeof buf), steps[i].text);
}

Test(output_fct, slowdown_is_at_least_one_and_rounded)
{
    cr_assert_eq(output_slowdown_ppm(3, 2), 1500000);
    cr_assert_eq(output_slowdown_ppm(2, 3), 1000000);
    cr_assert_eq(output_slowdown_ppm(4, 3), 1333333);
    cr_assert_eq(output_slowdown_ppm(5, 3), 1666667);
    cr_assert_eq(output_slowdown_ppm(5, 0), 1000000);
    cr_assert_eq(output_slowdown_ppm(INT64_C(9000000000000000000), INT64_C(4500000000000000000)),
                 2000000);
    cr_assert_eq(output_slowdown_ppm(INT64_MAX, 1), INT64_MAX);
}

Test(output_fct, every_state_has_a_name_of_its_own)
{
    cr_assert_str_eq(output_state_name(FLOW_WAITING), "waiting");
    cr_assert_str_eq(output_state_name(FLOW_ACTIVE), "active");
    cr_assert_str_eq(output_state_name(FLOW_DONE), "done");
    cr_assert_str_eq(output_state_name(FLOW_NOPATH), "no-path");
    cr_assert_str_eq(output_state_name(FLOW_STALLED), "stalled");
}
