/*
 * test_accel_options.c - values of the options of skipping and memo, what excludes what, defaults.
 */
#include "accel_options.h"

#include "units.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static int parse(struct accel_options *o, enum accel_row row, const char *value)
{
    struct err_info e = {.text = ""};
    const int rc = accel_parse(row, value, o, &e);

    cr_expect_eq(rc != 0, e.text[0] != '\0', "a refusal is a sentence");
    if (rc)
        cr_expect(strstr(e.text, "found '") && strstr(e.text, "expected"), "%s", e.text);
    return rc;
}

Test(accel_options, values_are_taken)
{
    struct accel_options o = {.steady = ACCEL_BY_INPUT};

    cr_expect_eq(parse(&o, ACCEL_BUDGET, "2%"), 0);
    cr_expect_float_eq(o.spec.error_budget, 0.02, 1e-12);
    cr_expect_eq(parse(&o, ACCEL_BUDGET, "0.005"), 0);
    cr_expect_float_eq(o.spec.error_budget, 0.005, 1e-12);
    cr_expect_eq(parse(&o, ACCEL_RULE, "paper"), 0);
    cr_expect_eq(o.spec.rule, DETECT_RULE_PAPER);
    cr_expect_eq(parse(&o, ACCEL_RULE, "own"), 0);
    cr_expect_eq(o.spec.rule, DETECT_RULE_OWN);
    cr_expect_eq(parse(&o, ACCEL_THETA, "100%"), 0);
    cr_expect_float_eq(o.spec.theta, 1, 1e-12);
    cr_expect_eq(parse(&o, ACCEL_SAMPLES, "1"), 0);
    cr_expect_eq(o.spec.paper_samples, 1);
    cr_expect_eq(parse(&o, ACCEL_WINDOW, "400us"), 0);
    cr_expect_eq(o.spec.window_ps, 400 * PS_PER_US);
    cr_expect_eq(parse(&o, ACCEL_KAPPA, "2.5"), 0);
    cr_expect_float_eq(o.spec.kappa, 2.5, 1e-12);
    cr_expect_eq(parse(&o, ACCEL_KAPPA, "none"), 0);
    cr_expect(isinf(o.spec.kappa));
    cr_expect_eq(parse(&o, ACCEL_EPS, "0.1%"), 0);
    cr_expect_float_eq(o.spec.eps, 0.001, 1e-12);
    cr_expect_eq(parse(&o, ACCEL_SIZE, "64MiB"), 0);
    cr_expect_eq(o.memo_bytes_max, INT64_C(64) << 20);
    cr_expect_eq(parse(&o, ACCEL_FILE, "m.memo"), 0);
    cr_expect_str_eq(o.memo_path, "m.memo");
    cr_expect_eq(parse(&o, ACCEL_AUDIT, "0%"), 0);
    cr_expect_float_eq(o.audit_share, 0, 1e-12);
    cr_expect_eq(parse(&o, ACCEL_AUDIT, "100%"), 0);
    cr_expect_float_eq(o.audit_share, 1, 1e-12);
    cr_expect_eq(parse(&o, ACCEL_MEMO, "off"), 0);
    cr_expect_eq(o.memo, ACCEL_OFF);
    cr_expect_eq(parse(&o, ACCEL_MEMO, "exact"), 0);
    cr_expect_eq(o.memo, ACCEL_ON);
    cr_expect_eq(o.lens, MEMO_EXACT);
    cr_expect_eq(parse(&o, ACCEL_MEMO, "fcg"), 0);
    cr_expect_eq(o.memo, ACCEL_ON);
    cr_expect_eq(o.lens, MEMO_FCG);
}

Test(accel_options, other_values_are_refused_and_change_nothing)
{
    static const struct {
        enum accel_row row;
        const char *value;
    } rows[] = {{ACCEL_BUDGET, "0"},    {ACCEL_BUDGET, "51%"},  {ACCEL_BUDGET, "-1%"},
                {ACCEL_BUDGET, "1 %"},  {ACCEL_BUDGET, ""},     {ACCEL_BUDGET, "nan"},
                {ACCEL_RULE, "Own"},    {ACCEL_RULE, ""},       {ACCEL_THETA, "0%"},
                {ACCEL_THETA, "1.01"},  {ACCEL_SAMPLES, "0"},   {ACCEL_SAMPLES, "1000001"},
                {ACCEL_SAMPLES, "1.5"}, {ACCEL_SAMPLES, "2k"},  {ACCEL_WINDOW, "400"},
                {ACCEL_WINDOW, "0us"},  {ACCEL_WINDOW, "-1us"}, {ACCEL_WINDOW, "1001s"},
                {ACCEL_KAPPA, "0"},     {ACCEL_KAPPA, "inf"},   {ACCEL_KAPPA, "3%"},
                {ACCEL_KAPPA, "-1"},    {ACCEL_EPS, "0"},       {ACCEL_EPS, "60%"},
                {ACCEL_MEMO, "FCG"},    {ACCEL_MEMO, ""},       {ACCEL_SIZE, "1000000"},
                {ACCEL_SIZE, "1KiB"},   {ACCEL_SIZE, "0"},      {ACCEL_SIZE, "1000TiB"},
                {ACCEL_FILE, ""},       {ACCEL_AUDIT, "101%"},  {ACCEL_AUDIT, "-1%"},
                {ACCEL_AUDIT, "nan"},   {ACCEL_AUDIT, "all"},   {ACCEL_AUDIT, ""}};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct accel_options o = {.steady = ACCEL_BY_INPUT};
        const struct accel_options before = o;

        cr_expect_eq(parse(&o, rows[i].row, rows[i].value), WH_ERR_INPUT, "row %d, '%s'",
                     (int)rows[i].row, rows[i].value);
        cr_expect(!memcmp(&o, &before, sizeof o), "row %d, '%s'", (int)rows[i].row, rows[i].value);
    }
}

/* A value that fits each row. */
static const char *const good[ACCEL_ROWS] = {
    [ACCEL_BUDGET] = "1%",  [ACCEL_RULE] = "paper", [ACCEL_THETA] = "5%", [ACCEL_SAMPLES] = "10",
    [ACCEL_WINDOW] = "1ms", [ACCEL_KAPPA] = "3",    [ACCEL_EPS] = "1%",   [ACCEL_MEMO] = "off",
    [ACCEL_SIZE] = "1GiB",  [ACCEL_FILE] = "m",     [ACCEL_AUDIT] = "5%"};

Test(accel_options, what_would_have_no_effect_is_refused)
{
    static const struct {
        enum accel_row rows[3];
        int count, is_good;
    } sets[] = {
        {{ACCEL_THETA}, 1, 0},
        {{ACCEL_SAMPLES}, 1, 0},
        {{ACCEL_RULE, ACCEL_THETA, ACCEL_SAMPLES}, 3, 1},
        {{ACCEL_RULE, ACCEL_WINDOW}, 2, 0},
        {{ACCEL_KAPPA, ACCEL_RULE}, 2, 0},
        {{ACCEL_WINDOW, ACCEL_KAPPA, ACCEL_EPS}, 3, 1},
        {{ACCEL_NO_STEADY, ACCEL_BUDGET}, 2, 0},
        {{ACCEL_NO_STEADY, ACCEL_STEADY, ACCEL_BUDGET}, 3, 1},
        {{ACCEL_NO_STEADY, ACCEL_AUDIT}, 2, 0},
        {{ACCEL_RULE, ACCEL_THETA, ACCEL_AUDIT}, 3, 1},
        {{ACCEL_NO_STEADY, ACCEL_SIZE}, 2, 1},
        {{ACCEL_NO_MEMO, ACCEL_FILE}, 2, 0},
        {{ACCEL_SIZE, ACCEL_MEMO}, 2, 0},
        {{ACCEL_NO_MEMO, ACCEL_NO_STEADY}, 2, 1},
    };

    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        struct accel_options o = {.steady = ACCEL_BY_INPUT};
        struct err_info e = {.text = ""};

        for (int k = 0; k < sets[i].count; k++)
            cr_assert_eq(parse(&o, sets[i].rows[k], good[sets[i].rows[k]]), 0);
        cr_expect_eq(accel_check(&o, &e), sets[i].is_good ? 0 : WH_ERR_INPUT, "set %zu: %s", i,
                     e.text);
    }
}

Test(accel_options, parameters_ask_for_what_they_are_of)
{
    const struct scenario yaml = {.is_hpcc = 0}, hpcc = {.is_hpcc = 1};
    struct accel_options o = {.steady = ACCEL_BY_INPUT};
    struct accel_spec spec = {.threads = 7};

    cr_expect(!accel_is_asked(&o));
    accel_resolve(&o, &yaml, &spec);
    cr_expect(spec.has_steady && spec.has_memo && spec.threads == 7);
    accel_resolve(&o, &hpcc, &spec);
    cr_expect(!spec.has_steady && !spec.has_memo);
    accel_options_off(&o);
    accel_resolve(&o, &yaml, &spec);
    cr_expect(!spec.has_steady && !spec.has_memo);
    cr_assert_eq(parse(&o, ACCEL_BUDGET, "2%"), 0);
    accel_resolve(&o, &hpcc, &spec);
    cr_expect(spec.has_steady && !spec.has_memo);
    cr_assert_eq(parse(&o, ACCEL_FILE, "m"), 0);
    accel_resolve(&o, &hpcc, &spec);
    cr_expect(spec.has_steady && spec.has_memo);
    cr_expect_str_eq(spec.memo_path, "m");
    cr_expect(accel_is_asked(&o));
}
