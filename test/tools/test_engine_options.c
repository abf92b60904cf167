/*
 * test_engine_options.c - numbers of threads, engines, and that they reach the simulation.
 */
#include "engine_options.h"

#include "sim_fixture.h"
#include "units.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

Test(engine_options, threads_are_auto_or_1_to_64)
{
    static const char *const bad[] = {"", "0", "65", "1024", "two", "1.5", "+1", " 1", "Auto"};
    struct engine_options o;
    struct err_info e = {.text = ""};

    engine_options_init(&o);
    cr_assert_eq(engine_parse_threads("64", &o, &e), 0);
    cr_expect_eq(o.engine.threads, 64);
    cr_assert_eq(engine_parse_threads("auto", &o, &e), 0);
    cr_expect_eq(o.engine.threads, engine_processors());
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        cr_expect_eq(engine_parse_threads(bad[i], &o, &e), WH_ERR_INPUT, "'%s'", bad[i]);
    cr_expect_eq(o.engine.threads, engine_processors(), "a refused value was taken");
}

Test(engine_options, default_counts_are_powers_of_two_and_all_processors)
{
    static const struct {
        uint32_t processors, count, counts[8];
    } rows[] = {{1, 1, {1}},
                {2, 2, {1, 2}},
                {3, 3, {1, 2, 3}},
                {8, 4, {1, 2, 4, 8}},
                {48, 7, {1, 2, 4, 8, 16, 32, 48}},
                {64, 7, {1, 2, 4, 8, 16, 32, 64}}};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint32_t counts[8] = {0};

        cr_expect_eq(engine_default_counts(rows[i].processors, counts), rows[i].count);
        cr_expect(!memcmp(counts, rows[i].counts, sizeof counts), "%u processors",
                  rows[i].processors);
    }
}

static struct scenario two_hosts(void)
{
    struct scenario sc;

    scenario_init(&sc);
    sc.topo = fix_star(2, 100 * GBPS, PS_PER_US);
    cr_assert_eq(scenario_add_flow(&sc, &(struct flow_spec){.dst = 1, .bytes = 5000, .prio = 3}),
                 0);
    return sc;
}

/* What is said after a run with these options. */
static const char *said(const struct engine_options *o, struct sim_engine_stats *st, char *text,
                        size_t text_bytes)
{
    struct scenario sc = two_hosts();
    struct err_info e = {.text = ""};
    FILE *f = fmemopen(text, text_bytes, "w");
    struct accel accel = {.memo = NULL};
    struct sim *s;

    memset(text, 0, text_bytes);
    cr_assert_not_null(f);
    cr_assert_eq(engine_make_sim(&sc, o, NULL, &accel, &s, &e), 0, "%s", e.text);
    fix_run(s);
    sim_engine_stats(s, st);
    engine_say_serial(o, s, f);
    (void)fclose(f);
    sim_destroy(s);
    accel_fini(&accel);
    scenario_fini(&sc);
    return text;
}

Test(engine_options, what_was_asked_for_is_what_runs)
{
    struct engine_options o;
    struct err_info e = {.text = ""};
    struct sim_engine_stats st;
    char text[256];

    engine_options_init(&o);
    cr_assert_eq(engine_parse_threads("3", &o, &e), 0);
    cr_expect_str_eq(said(&o, &st, text, sizeof text), "");
    cr_expect_eq(st.kind, ENGINE_PARTITIONED);
    cr_expect_eq(st.threads, 3);
    cr_assert_eq(engine_parse_kind("serial", &o, &e), 0);
    cr_expect(strstr(said(&o, &st, text, sizeof text), "--threads 3 had no effect"), "%s", text);
    cr_expect_eq(st.kind, ENGINE_SERIAL);
    cr_expect_eq(st.threads, 1);
    cr_expect_eq(engine_parse_kind("parallel", &o, &e), WH_ERR_INPUT);
    cr_expect(strstr(e.text, "parallel"));
}

Test(engine_options, serial_alone_is_nothing_to_talk_about)
{
    struct engine_options o;
    struct err_info e = {.text = ""};
    struct sim_engine_stats st;
    char text[256];

    engine_options_init(&o);
    cr_assert_eq(engine_parse_kind("serial", &o, &e), 0);
    cr_expect_str_eq(said(&o, &st, text, sizeof text), "");
}

/* What a simulation of two hosts is given. */
static struct accel given(const struct engine_options *o, int is_hpcc)
{
    struct scenario sc = two_hosts();
    struct err_info e = {.text = ""};
    struct accel accel = {.memo = NULL}, seen;
    struct sim *s;

    sc.is_hpcc = is_hpcc;
    cr_assert_eq(engine_make_sim(&sc, o, NULL, &accel, &s, &e), 0, "%s", e.text);
    fix_run(s);
    seen = accel;
    sim_destroy(s);
    accel_fini(&accel);
    scenario_fini(&sc);
    return seen;
}

Test(engine_options, skipping_and_memo_go_by_the_input)
{
    struct engine_options o;
    struct err_info e = {.text = ""};

    engine_options_init(&o);
    cr_expect(given(&o, 0).has_steady && given(&o, 0).has_memo, "a scenario");
    cr_expect(!given(&o, 1).has_steady && !given(&o, 1).has_memo, "an HPCC configuration");
    cr_expect_null(engine_why_all(&o, &(struct scenario){.is_hpcc = 0}));
    cr_assert_eq(accel_parse(ACCEL_STEADY, NULL, &o.accel, &e), 0);
    cr_expect(given(&o, 1).has_steady && !given(&o, 1).has_memo, "what was asked for");
    cr_assert_eq(accel_parse(ACCEL_NO_STEADY, NULL, &o.accel, &e), 0);
    cr_expect(!given(&o, 0).has_steady && given(&o, 0).has_memo, "what was declined");
}

Test(engine_options, where_every_packet_is_needed_nothing_is_skipped)
{
    const struct scenario sc = {.is_hpcc = 0}, hpcc = {.is_hpcc = 1};
    struct engine_options o;

    engine_options_init(&o);
    o.has_logs = 1;
    cr_expect(!given(&o, 0).has_steady && !given(&o, 0).has_memo);
    cr_expect(strstr(engine_why_all(&o, &sc), "logs"));
    cr_expect_null(engine_why_all(&o, &hpcc), "nothing would have been skipped");
    o.has_logs = 0;
    o.engine.kind = ENGINE_SERIAL;
    cr_expect(!given(&o, 0).has_steady && !given(&o, 0).has_memo);
    cr_expect(strstr(engine_why_all(&o, &sc), "serial"));
}
