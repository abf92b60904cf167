/*
 * test_options.c - command lines of run, check and compare.
 */
#include "options.h"

#include "units.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define ARGS_MAX 24

/* A command line in writable memory, as main gets it. */
struct line {
    char text[512];
    char *argv[ARGS_MAX + 1];
    int argc;
};

static void cut(struct line *l, const char *text)
{
    char *rest = l->text, *word;

    (void)snprintf(l->text, sizeof l->text, "%s", text);
    l->argc = 0;
    while ((word = strsep(&rest, " ")) && l->argc < ARGS_MAX)
        l->argv[l->argc++] = word;
    l->argv[l->argc] = NULL;
}

static int parse_run(const char *text, struct line *l, struct run_options *o, struct err_info *e)
{
    cut(l, text);
    e->text[0] = '\0';
    return options_parse_run(l->argc, l->argv, o, e);
}

Test(options, defaults_are_as_documented)
{
    struct line l;
    struct run_options o;
    struct err_info e;

    cr_assert_eq(parse_run("run s.yaml", &l, &o, &e), 0, "%s", e.text);
    cr_assert_str_eq(o.in.scenario, "s.yaml");
    cr_assert_null(o.in.hpcc);
    cr_assert_null(o.out_dir);
    cr_assert_null(o.in.seed_text);
    cr_assert_eq(o.in.end_ps, -1);
    cr_assert_eq(o.fct_csv, 1);
    cr_assert_eq(o.engine.engine.kind, ENGINE_PARTITIONED);
    cr_assert_eq(o.engine.engine.threads, engine_processors());
    cr_assert(!o.engine.is_threads_given && !o.engine.is_engine_given);
    cr_assert_eq(o.quiet, 0);
    cr_assert_eq(o.explains, 0);
    cr_assert_eq(o.engine.accel.steady, ACCEL_BY_INPUT);
    cr_assert_eq(o.engine.accel.memo, ACCEL_BY_INPUT);
    cr_assert_eq(o.progress, PROGRESS_AUTO);
}

Test(options, skipping_and_memo_are_options_of_run)
{
    struct line l;
    struct run_options o;
    struct err_info e;

    cr_assert_eq(parse_run("run s.yaml --steady --error-budget 2% --memo exact --memo-file m "
                           "--memo-size 2GiB --explain --steady-kappa none",
                           &l, &o, &e),
                 0, "%s", e.text);
    cr_assert_eq(o.engine.accel.steady, ACCEL_ON);
    cr_assert_eq(o.engine.accel.memo, ACCEL_ON);
    cr_assert_str_eq(o.engine.accel.memo_path, "m");
    cr_assert_eq(o.engine.accel.memo_bytes_max, INT64_C(2) << 30);
    cr_assert_float_eq(o.engine.accel.spec.error_budget, 0.02, 1e-12);
    cr_assert_eq(o.explains, 1);
    cr_assert_eq(parse_run("run s.yaml --no-steady --memo off", &l, &o, &e), 0, "%s", e.text);
    cr_assert_eq(o.engine.accel.steady, ACCEL_OFF);
    cr_assert_eq(o.engine.accel.memo, ACCEL_OFF);
    cr_assert_eq(parse_run("run s.yaml --theta 5%", &l, &o, &e), WH_ERR_INPUT);
    cr_assert(strstr(e.text, "--theta"), "%s", e.text);
}

Test(options, noise_always_runs_every_packet_and_scaling_with_the_serial_engine)
{
    struct line l;
    struct noise_options n;
    struct scaling_options s;
    struct err_info e = {.text = ""};

    cut(&l, "noise s.yaml");
    cr_assert_eq(options_parse_noise(l.argc, l.argv, &n, &e), 0, "%s", e.text);
    cr_assert_eq(n.engine.accel.steady, ACCEL_OFF);
    cr_assert_eq(n.engine.accel.memo, ACCEL_OFF);
    cut(&l, "noise s.yaml --steady");
    cr_assert_eq(options_parse_noise(l.argc, l.argv, &n, &e), WH_ERR_INPUT);
    cut(&l, "scaling s.yaml --no-memo");
    cr_assert_eq(options_parse_scaling(l.argc, l.argv, &s, &e), 0, "%s", e.text);
    cr_assert_eq(s.accel.steady, ACCEL_BY_INPUT);
    cr_assert_eq(s.accel.memo, ACCEL_OFF);
    cut(&l, "scaling s.yaml --engine-check");
    cr_assert_eq(options_parse_scaling(l.argc, l.argv, &s, &e), 0, "%s", e.text);
    cr_assert_eq(s.accel.steady, ACCEL_OFF);
    cut(&l, "scaling s.yaml --engine-check --steady");
    cr_assert_eq(options_parse_scaling(l.argc, l.argv, &s, &e), WH_ERR_INPUT);
    cut(&l, "scaling s.yaml --memo-file m");
    cr_assert_eq(options_parse_scaling(l.argc, l.argv, &s, &e), WH_ERR_INPUT);
}

Test(options, all_run_options_are_taken_in_any_order)
{
    struct line l;
    struct run_options o;
    struct err_info e;

    cr_assert_eq(
        parse_run("run -o d --hpcc c.txt --seed 7 --set A=1 --set B= --end 3ms --threads 4 "
                  "--engine serial --fct-csv no --quiet --progress=json --paths p",
                  &l, &o, &e),
        0, "%s", e.text);
    cr_assert_str_eq(o.in.hpcc, "c.txt");
    cr_assert_null(o.in.scenario);
    cr_assert_str_eq(o.in.paths_file, "p");
    cr_assert_str_eq(o.out_dir, "d");
    cr_assert_eq(o.in.seed, 7);
    cr_assert_eq(o.in.set_count, 2);
    cr_assert_str_eq(o.in.sets[0].key, "A");
    cr_assert_str_eq(o.in.sets[0].value, "1");
    cr_assert_str_eq(o.in.sets[1].key, "B");
    cr_assert_str_eq(o.in.sets[1].value, "");
    cr_assert_eq(o.in.end_ps, 3 * PS_PER_MS);
    cr_assert_eq(o.engine.engine.threads, 4);
    cr_assert_eq(o.engine.engine.kind, ENGINE_SERIAL);
    cr_assert_eq(o.fct_csv, 0);
    cr_assert_eq(o.quiet, 1);
    cr_assert_eq(o.progress, PROGRESS_JSON);
}

Test(options, wrong_run_lines_are_refused_with_the_culprit)
{
    static const char *const bad[][2] = {
        {"run", "no scenario"},
        {"run a.yaml b.yaml", "b.yaml"},
        {"run a.yaml --hpcc c.txt", "a.yaml"},
        {"run a.yaml --paths p", "--paths"},
        {"run a.yaml --bogus", "--bogus"},
        {"run a.yaml -x", "-x"},
        {"run a.yaml -o", "-o"},
        {"run a.yaml --quiet=1", "--quiet=1"},
        {"run a.yaml --seed -3", "-3"},
        {"run a.yaml --seed 1e99", "1e99"},
        {"run a.yaml --seed 1.5", "1.5"},
        {"run a.yaml --end 5", "'5'"},
        {"run a.yaml --end 0", "'0'"},
        {"run a.yaml --end -1s", "-1s"},
        {"run a.yaml --threads 0", "'0'"},
        {"run a.yaml --threads 65", "'65'"},
        {"run a.yaml --threads all", "'all'"},
        {"run a.yaml --threads -1", "'-1'"},
        {"run a.yaml --engine magic", "magic"},
        {"run a.yaml --fct-csv maybe", "maybe"},
        {"run a.yaml --progress loud", "loud"},
        {"run a.yaml --set KEY", "KEY"},
        {"run a.yaml --set =1", "=1"},
    };

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct line l;
        struct run_options o;
        struct err_info e;

        cr_assert_eq(parse_run(bad[i][0], &l, &o, &e), WH_ERR_INPUT, "%s", bad[i][0]);
        cr_assert(strstr(e.text, bad[i][1]), "'%s' does not name '%s'", e.text, bad[i][1]);
    }
}

Test(options, help_is_found)
{
    struct line l;
    struct run_options o;
    struct err_info e;

    cr_assert_eq(parse_run("run --help", &l, &o, &e), OPTIONS_HELP);
}

Test(options, check_knows_only_options_of_the_input)
{
    struct line l;
    struct input_options o;
    struct err_info e = {.text = ""};

    cut(&l, "check s.yaml --seed 3");
    cr_assert_eq(options_parse_check(l.argc, l.argv, &o, &e), 0);
    cr_assert_eq(o.seed, 3);
    cut(&l, "check s.yaml --threads 3");
    cr_assert_eq(options_parse_check(l.argc, l.argv, &o, &e), WH_ERR_INPUT);
    cr_assert(strstr(e.text, "--threads"));
}

static int parse_scaling(const char *text, struct scaling_options *o, struct err_info *e)
{
    static struct line l; /* options point into it */

    cut(&l, text);
    e->text[0] = '\0';
    return options_parse_scaling(l.argc, l.argv, o, e);
}

Test(options, scaling_runs_one_thread_whatever_is_asked_for)
{
    struct scaling_options o;
    struct err_info e;

    cr_assert_eq(parse_scaling("scaling s.yaml", &o, &e), 0, "%s", e.text);
    cr_expect_eq(o.threads[0], 1);
    cr_expect_eq(o.threads[o.thread_count - 1], engine_processors());
    cr_expect_eq(o.repetitions, 5);
    cr_assert_eq(parse_scaling("scaling s.yaml --threads 8,2,8 --repetitions 1 --engine-check "
                               "--json j --svg p --seed 3 --quiet",
                               &o, &e),
                 0, "%s", e.text);
    cr_expect_eq(o.thread_count, 3);
    cr_expect(o.threads[0] == 1 && o.threads[1] == 2 && o.threads[2] == 8);
    cr_expect(o.checks_engine && o.quiet && o.repetitions == 1 && o.in.seed == 3);
    cr_expect_str_eq(o.json_path, "j");
    cr_expect_str_eq(o.svg_path, "p");
}

Test(options, wrong_scaling_lines_are_refused_with_the_culprit)
{
    static const char *const bad[][2] = {
        {"scaling", "no scenario"},
        {"scaling a.yaml --threads", "--threads"},
        {"scaling a.yaml --threads 1,,2", "''"},
        {"scaling a.yaml --threads 1,2,", "''"},
        {"scaling a.yaml --threads 2,65", "'65'"},
        {"scaling a.yaml --threads 2;4", "'2;4'"},
        {"scaling a.yaml --threads 2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17", "more than 16"},
        {"scaling a.yaml --repetitions 0", "'0'"},
        {"scaling a.yaml --repetitions 101", "'101'"},
        {"scaling a.yaml -o dir", "-o"},
    };

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct scaling_options o;
        struct err_info e;

        cr_assert_eq(parse_scaling(bad[i][0], &o, &e), WH_ERR_INPUT, "%s", bad[i][0]);
        cr_assert(strstr(e.text, bad[i][1]), "'%s' does not name '%s'", e.text, bad[i][1]);
    }
}

Test(options, compare_takes_two_runs_and_limits)
{
    struct line l;
    struct compare_options o;
    struct err_info e = {.text = ""};

    cut(&l, "compare a b --max-mean 2% --max-p99 0.05 --json");
    cr_assert_eq(options_parse_compare(l.argc, l.argv, &o, &e), 0, "%s", e.text);
    cr_assert_str_eq(o.a, "a");
    cr_assert_str_eq(o.b, "b");
    cr_assert_eq(o.json, 1);
    cr_assert_float_eq(o.max_mean, 0.02, 1e-12);
    cr_assert_float_eq(o.max_p99, 0.05, 1e-12);
    cut(&l, "compare a");
    cr_assert_eq(options_parse_compare(l.argc, l.argv, &o, &e), WH_ERR_INPUT);
    cut(&l, "compare a b --max-mean -1%");
    cr_assert_eq(options_parse_compare(l.argc, l.argv, &o, &e), WH_ERR_INPUT);
    cut(&l, "compare a b --max-mean lots");
    cr_assert_eq(options_parse_compare(l.argc, l.argv, &o, &e), WH_ERR_INPUT);
}

Test(options, too_many_settings_are_refused)
{
    static char words[OPTIONS_SETS_MAX + 1][16];
    char *argv[2 * (OPTIONS_SETS_MAX + 1) + 3];
    char run[] = "run", scenario[] = "s.yaml", set[] = "--set";
    struct run_options o;
    struct err_info e = {.text = ""};
    int argc = 0;

    argv[argc++] = run;
    argv[argc++] = scenario;
    for (int i = 0; i <= OPTIONS_SETS_MAX; i++) {
        (void)snprintf(words[i], sizeof words[i], "K=%d", i);
        argv[argc++] = set;
        argv[argc++] = words[i];
    }
    argv[argc] = NULL;
    cr_assert_eq(options_parse_run(argc, argv, &o, &e), WH_ERR_INPUT);
}

static int parse_noise(const char *text, struct line *l, struct noise_options *o,
                       struct err_info *e)
{
    cut(l, text);
    e->text[0] = '\0';
    return options_parse_noise(l->argc, l->argv, o, e);
}

Test(options, noise_takes_an_input_and_a_number_of_runs)
{
    struct line l;
    struct noise_options o;
    struct err_info e;

    cr_assert_eq(parse_noise("noise s.yaml", &l, &o, &e), 0, "%s", e.text);
    cr_assert_str_eq(o.in.scenario, "s.yaml");
    cr_assert_eq(o.run_count, 3);
    cr_assert_eq(o.in.end_ps, -1);
    cr_assert_null(o.out_dir);
    cr_assert_eq(
        parse_noise("noise --hpcc c.txt --runs 12 -o d --set A=1 --seed 7 --quiet", &l, &o, &e), 0,
        "%s", e.text);
    cr_assert_str_eq(o.in.hpcc, "c.txt");
    cr_assert_eq(o.run_count, 12);
    cr_assert_str_eq(o.out_dir, "d");
    cr_assert_eq(o.in.set_count, 1);
    cr_assert_eq(o.in.seed, 7);
    cr_assert_eq(o.quiet, 1);
    cr_assert_eq(parse_noise("noise --help", &l, &o, &e), OPTIONS_HELP);
}

Test(options, noise_refuses_what_it_does_not_take)
{
    static const struct {
        const char *text, *culprit;
    } bad[] = {
        {"noise", "no scenario"},
        {"noise s.yaml --runs 0", "--runs: found '0'"},
        {"noise s.yaml --runs 1001", "'1001'"},
        {"noise s.yaml --runs x", "'x'"},
        {"noise s.yaml t.yaml", "t.yaml"},
        {"noise s.yaml --fct-csv no", "--fct-csv"},
        {"noise --goal g", "--goal"},
    };

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct line l;
        struct noise_options o;
        struct err_info e;

        cr_expect_eq(parse_noise(bad[i].text, &l, &o, &e), WH_ERR_INPUT, "%s", bad[i].text);
        cr_expect(strstr(e.text, bad[i].culprit), "'%s' lacks '%s'", e.text, bad[i].culprit);
    }
}

Test(options, compare_takes_a_yardstick)
{
    struct line l;
    struct compare_options o;
    struct err_info e = {.text = ""};

    cut(&l, "compare a b --noise n --ignore-starts");
    cr_assert_eq(options_parse_compare(l.argc, l.argv, &o, &e), 0, "%s", e.text);
    cr_assert_str_eq(o.noise, "n");
    cr_assert_eq(o.ignores_starts, 1);
    cut(&l, "compare a b");
    cr_assert_eq(options_parse_compare(l.argc, l.argv, &o, &e), 0, "%s", e.text);
    cr_assert_null(o.noise);
    cr_assert_eq(o.ignores_starts, 0);
}
