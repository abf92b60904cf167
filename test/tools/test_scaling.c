/*
 * test_scaling.c - figures of numbers of threads, predictions, the table, the script of the plot.
 */
#include "scaling.h"

#include "result_digest.h"
#include "scaling_file.h"
#include "scaling_plot.h"
#include "scaling_table.h"
#include "sim_fixture.h"
#include "units.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define FLOWS 6u

/* Pairs of hosts on a switch of their own: as many partitions. */
static struct sim *make_sim(int64_t last_bytes)
{
    struct fix_link links[2 * FLOWS];
    struct sim_config c = fix_config(CC_NONE);
    struct sim *s;

    for (uint32_t i = 0; i < 2 * FLOWS; i++)
        links[i] = (struct fix_link){i, 2 * FLOWS + i / 2, 100 * GBPS, PS_PER_US, 0};
    s = fix_sim(fix_graph(2 * FLOWS, FLOWS, links, 2 * FLOWS), &c);
    for (uint32_t i = 0; i < FLOWS; i++)
        fix_flow(s, 2 * i, 2 * i + 1, i + 1 < FLOWS ? 400000 : last_bytes, 0);
    return s;
}

static struct sim *run_sim(const struct sim_engine *engine, const struct sim_probe *probe,
                           int64_t last_bytes)
{
    struct sim *s = make_sim(last_bytes);

    cr_assert_eq(sim_set_engine(s, engine), 0);
    cr_assert_eq(sim_set_probe(s, probe), 0);
    fix_run(s);
    return s;
}

/* 1, 2 and 4 threads on two processors, two runs each; the one on 4 has other results if asked. */
static void fill(struct scaling *x, struct replay *record, int differs)
{
    static const double wall_s[3][2] = {{4, 6}, {2.5, 3.5}, {2, 3}};
    struct scaling_options o = {.threads = {1, 2, 4}, .thread_count = 3, .repetitions = 2};

    scaling_init(x, &o, 2);
    (void)snprintf(x->scenario, sizeof x->scenario, "it's one");
    for (uint32_t row = 0; row < 3; row++) {
        const struct sim_probe probe = {.record = row ? NULL : record, .has_times = 1};
        struct sim *s =
            run_sim(&x->rows[row].engine, &probe, differs && row == 2 ? 300000 : 400000);

        scaling_add_observed(x, row, s);
        for (int i = 0; i < 2; i++)
            scaling_add_timed(x, row, s, wall_s[row][i], 2 * wall_s[row][i]);
        sim_destroy(s);
    }
}

Test(scaling, figures_follow_from_the_runs)
{
    static struct scaling x;
    struct scaling_spread up;

    fill(&x, NULL, 0);
    up = scaling_speedup(&x, &x.rows[1]);
    cr_expect_float_eq(scaling_wall_s(&x.rows[0]).median, 5, 1e-12);
    cr_expect_float_eq(scaling_cpu_s(&x.rows[1]).max, 7, 1e-12);
    cr_expect_float_eq(up.median, 5 / 3.0, 1e-12);
    cr_expect_float_eq(up.min, 5 / 3.5, 1e-12);
    cr_expect_float_eq(up.max, 2, 1e-12);
    cr_expect_float_eq(scaling_hops_per_s(&x.rows[0]), (double)x.rows[0].packet_hops / 5, 1e-6);
    cr_expect_float_eq(scaling_processor_share(&x), 2, 1e-12);
    cr_expect_float_eq(scaling_measured(&x, 2), up.median, 1e-12);
    cr_expect_eq(scaling_measured(&x, 4), 0, "more threads than processors are no measure");
    cr_expect(scaling_is_same(&x));
    cr_expect_eq(x.rows[2].st.threads, 4);
    cr_expect_eq(x.rows[2].st.parts_alive_max, FLOWS);
}

Test(scaling, other_results_are_noticed)
{
    static struct scaling x;
    char text[4096];
    FILE *f = fmemopen(text, sizeof text, "w");

    fill(&x, NULL, 1);
    cr_expect(!scaling_is_same(&x));
    cr_expect_eq(x.rows[1].differing_count, 0);
    cr_expect_eq(x.rows[2].differing_count, 3);
    cr_expect_eq(scaling_print_table(f, &x, NULL, "\n"), 5);
    (void)fclose(f);
    cr_expect(strstr(text, "DIFFER"));
}

Test(scaling, the_serial_engine_comes_first_if_it_is_checked)
{
    static struct scaling x;
    struct scaling_options o = {
        .threads = {1, 2}, .thread_count = 2, .repetitions = 1, .checks_engine = 1};

    scaling_init(&x, &o, 2);
    cr_expect_eq(x.row_count, 3);
    cr_expect_eq(x.rows[0].engine.kind, ENGINE_SERIAL);
    cr_expect_eq(x.base, 1);
}

Test(scaling, shares_are_of_the_time_of_all_threads)
{
    const struct sim_engine_stats st = {
        .busy_ns = 50, .idle_ns = 10, .barrier_ns = 20, .serial_ns = 20};
    const struct sim_engine_stats none = {.busy_ns = 0};

    cr_expect_float_eq(scaling_shares(&st).idle, 0.1, 1e-12);
    cr_expect_float_eq(scaling_shares(&st).serial, 0.2, 1e-12);
    cr_expect_eq(scaling_shares(&none).busy, 0);
}

/* What the engine hands out: every partition run is a task of the record. */
Test(scaling, the_record_of_one_thread_predicts_others)
{
    const struct replay_costs free_of_charge = {0, 0, 0};
    static struct scaling x;
    struct replay *record;
    double last = 1;

    cr_assert_eq(replay_create(&record, 1000000), 0);
    fill(&x, record, 0);
    cr_assert_eq(scaling_predict(&x, record, &free_of_charge, 2), 0);
    cr_expect_eq(x.recorded_tasks, x.rows[0].st.tasks);
    cr_expect_eq(x.recorded_rounds, x.rows[0].st.rounds);
    cr_expect_gt(x.rows[0].st.busy_ns, 0);
    cr_expect_eq(x.rows[0].st.steals, 0);
    cr_expect(!x.is_record_cut);
    cr_assert_eq(x.prediction_count, 5, "2, 4, 8, 16, 32");
    for (uint32_t i = 0; i < x.prediction_count; i++) {
        const double up = x.predictions[i].p.speedup;

        cr_expect_eq(x.predictions[i].threads, 2u << i);
        cr_expect(up >= last - 1e-9 && up <= FLOWS + 1e-9, "%u threads: %g", 2u << i, up);
        last = up;
    }
    cr_expect_gt(last, 1);
    replay_destroy(record);
}

Test(scaling, tables_show_what_is_there)
{
    static struct scaling x;
    struct replay *record;
    char text[8192] = "";
    FILE *f = fmemopen(text, sizeof text, "w");
    const struct scaling_now now = {.row = 1, .run = 2};

    cr_assert_eq(replay_create(&record, 1000000), 0);
    fill(&x, record, 0);
    cr_assert_eq(scaling_predict(&x, record, NULL, 0), 0);
    cr_expect_eq(scaling_print_table(f, &x, &now, "\033[K\n"), 5);
    scaling_print_predictions(f, &x);
    (void)fclose(f);
    cr_expect(strstr(text, "run 2\033[K\n"), "%s", text);
    cr_expect(strstr(text, "1.67"), "%s", text);
    cr_expect(strstr(text, "taken to cost nothing"), "%s", text);
    for (const char *line = text; *line; line = strchr(line, '\n') + 1)
        cr_expect_leq(strcspn(line, "\033\n"), SCALING_TABLE_COLUMNS, "%.80s", line);
    replay_destroy(record);
}

Test(scaling, a_table_in_a_file_is_not_live)
{
    static struct scaling x;
    struct scaling_live l;
    FILE *f = tmpfile();

    scaling_live_init(&l, f);
    scaling_live_draw(&l, &x, NULL);
    scaling_live_erase(&l);
    cr_expect_eq(ftell(f), 0);
    (void)fclose(f);
}

Test(scaling, the_script_quotes_the_name_and_has_every_point)
{
    static struct scaling x;
    struct replay *record;
    char text[8192] = "";
    FILE *f = fmemopen(text, sizeof text, "w");

    cr_assert_eq(replay_create(&record, 1000000), 0);
    fill(&x, record, 0);
    cr_assert_eq(scaling_predict(&x, record, NULL, 0), 0);
    scaling_plot_script(f, &x);
    (void)fclose(f);
    cr_expect(strstr(text, "set title 'it''s one'\n"), "%s", text);
    cr_expect(strstr(text, "\n2 1.666667 1.428571 2.000000\n"), "%s", text);
    cr_expect(strstr(text, "\n32 "), "%s", text);
    replay_destroy(record);
}

Test(result_digest, tells_results_apart_and_nothing_else)
{
    const struct sim_engine serial = {ENGINE_SERIAL, 1, 0}, two = {ENGINE_PARTITIONED, 2, 0};
    const struct sim_probe none = {.record = NULL}, forced = {.shares_all = 1};
    struct sim *a = run_sim(&serial, &none, 400000), *b = run_sim(&two, &forced, 400000);
    struct sim *other = run_sim(&two, &none, 400001);

    cr_expect_eq(result_digest(a), result_digest(b));
    cr_expect_neq(result_digest(a), result_digest(other));
    sim_destroy(a);
    sim_destroy(b);
    sim_destroy(other);
}
