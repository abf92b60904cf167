/*
 * test_progress.c - estimates and the machine-readable line.
 */
#include "progress.h"

#include "units.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <stdlib.h>

Test(progress, estimate_extrapolates_the_flows)
{
    cr_assert_float_eq(progress_eta_s(10, 40, 5), 15, 1e-12);
    cr_assert_float_eq(progress_eta_s(40, 40, 5), 0, 1e-12);
    cr_assert_lt(progress_eta_s(0, 40, 5), 0, "nothing is known before the first flow is done");
}

Test(progress, json_line_is_json_on_one_line)
{
    const struct sim_counters c = {.events = 12345, .flows_finished = 3};
    char buf[512];
    json_t *j;

    progress_format_json(&c, 2 * PS_PER_MS, 4, 9.0, 1000.0, buf, sizeof buf);
    cr_assert_eq(strchr(buf, '\n'), buf + strlen(buf) - 1);
    j = json_loads(buf, 0, NULL);
    cr_assert_not_null(j, "%s", buf);
    cr_assert_eq(json_integer_value(json_object_get(j, "flows_finished")), 3);
    cr_assert_eq(json_integer_value(json_object_get(j, "flows")), 4);
    cr_assert_eq(json_integer_value(json_object_get(j, "events")), 12345);
    cr_assert_float_eq(json_real_value(json_object_get(j, "simulated_s")), 0.002, 1e-12);
    cr_assert_float_eq(json_real_value(json_object_get(j, "eta_s")), 3, 1e-9);
    json_decref(j);
}

Test(progress, unknown_estimate_is_null)
{
    const struct sim_counters c = {.events = 1};
    char buf[512];
    json_t *j;

    progress_format_json(&c, 0, 4, 9.0, 0.0, buf, sizeof buf);
    j = json_loads(buf, 0, NULL);
    cr_assert(json_is_null(json_object_get(j, "eta_s")));
    json_decref(j);
}

Test(progress, no_terminal_means_silence)
{
    struct progress p;
    FILE *f = tmpfile();

    progress_init(&p, f, PROGRESS_AUTO);
    cr_assert_eq(p.mode, PROGRESS_OFF);
    progress_init(&p, f, PROGRESS_JSON);
    cr_assert_eq(p.mode, PROGRESS_JSON);
    (void)fclose(f);
}
