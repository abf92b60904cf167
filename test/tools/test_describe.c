/*
 * test_describe.c - settings in words.
 */
#include "describe.h"

#include "units.h"

#include <criterion/criterion.h>

Test(describe, a_scheme_shows_its_own_parameters_with_units)
{
    struct sim_config c;
    char buf[256];

    config_init(&c);
    c.cc = CC_DCTCP;
    c.dctcp.gain = 0.0625;
    c.dctcp.ai_bps = INT64_C(615000000);
    cr_assert_str_eq(describe_cc(&c, buf, sizeof buf), "dctcp (gain 0.0625, ai 615Mbps)");
    c.cc = CC_NONE;
    cr_assert_str_eq(describe_cc(&c, buf, sizeof buf), "none");
}

Test(describe, a_short_buffer_is_not_overrun)
{
    struct sim_config c;
    char buf[32];

    config_init(&c);
    for (int cc = 0; cc < CC_KIND_COUNT; cc++) {
        c.cc = (enum cc_kind)cc;
        memset(buf, 'x', sizeof buf);
        describe_cc(&c, buf, 16);
        cr_assert_lt(strlen(buf), 16);
        cr_assert_eq(buf[16], 'x');
    }
}
