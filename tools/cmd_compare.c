/*
 * cmd_compare.c - wormhole compare: error of the FCTs of run B against run A.
 */
#include "cmd.h"

#include "compare_noise.h"
#include "fct_compare.h"
#include "load.h"
#include "noise_file.h"
#include "options.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>

static void print_help(FILE *out)
{
    fprintf(
        out,
        "usage: wormhole compare A B [options]\n\n"
        "A (the truth) and B are run folders, fct.csv files or HPCC fct.txt files. Flows are\n"
        "paired by (src, dst, sport, dport, start, bytes); the error of a flow is\n"
        "|FCT in B - FCT in A| / FCT in A.\n\n"
        "  --json            print JSON\n"
        "  --ignore-starts   leave starts out of it: equal flows pair in order of starting\n"
        "                    (workloads, whose starts follow from completions)\n"
        "  --max-mean X%%     exit with 1 if the mean error exceeds X\n"
        "  --max-p99 X%%      exit with 1 if the 99th percentile exceeds X\n"
        "  --noise FILE      noise.json of A's scenario, or its folder ('wormhole noise'): judge\n"
        "                    each difference by it, exit with 1 if one exceeds the floor and\n"
        "                    0.5%% (99th percentile: 2%%); implies --ignore-starts if that is\n"
        "                    of a workload\n"
        "With a limit, flows that finished in one run only also give exit code 1.\n");
}

static void print_row(FILE *out, const char *name, const struct fct_errors *x)
{
    fprintf(out,
            "%-14s %8" PRIu64 " %8" PRIu64 " %10.4f %10.4f %10.4f %10.4f %10.4f %14.3f %14.3f\n",
            name, x->abs_error.count, x->exact, 100 * x->abs_error.mean, 100 * x->abs_error.p50,
            100 * x->abs_error.p99, 100 * x->abs_error.max, 100 * x->signed_mean, x->mean_a_ns,
            x->mean_b_ns);
}

static void print_table(FILE *out, const struct fct_comparison *c)
{
    char name[32];

    fprintf(out, "%-14s %8s %8s %10s %10s %10s %10s %10s %14s %14s\n", "bytes", "flows", "exact",
            "mean_pct", "p50_pct", "p99_pct", "max_pct", "signed_pct", "mean_a_ns", "mean_b_ns");
    for (uint32_t i = 0; i < SIZE_CLASS_COUNT; i++) {
        if (c->by_size[i].abs_error.count == 0)
            continue;
        size_class_name(i, name, sizeof name);
        print_row(out, name, &c->by_size[i]);
    }
    print_row(out, "all", &c->all);
    fprintf(out, "makespan_ns    A %.3f, B %.3f\n", c->makespan_a_ns, c->makespan_b_ns);
    fprintf(out,
            "finished only  %" PRIu64 " flows in A, %" PRIu64 " flows in B (missing or unfinished "
            "in the other)\n",
            c->only_in_a, c->only_in_b);
    fprintf(out, "unfinished     %" PRIu64 " in A, %" PRIu64 " in B\n", c->unfinished_in_a,
            c->unfinished_in_b);
}

static json_t *errors_json(const struct fct_errors *x)
{
    return json_pack("{s:I, s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "flows",
                     (json_int_t)x->abs_error.count, "exact", (json_int_t)x->exact, "mean",
                     x->abs_error.mean, "p50", x->abs_error.p50, "p99", x->abs_error.p99, "max",
                     x->abs_error.max, "signed_mean", x->signed_mean, "mean_a_ns", x->mean_a_ns,
                     "mean_b_ns", x->mean_b_ns);
}

/* jansson passes NULL on, so that a lack of memory shows at the end. */
static json_t *comparison_json(const struct fct_comparison *c)
{
    json_t *classes = json_array();
    char name[32];

    for (uint32_t i = 0; i < SIZE_CLASS_COUNT; i++) {
        if (c->by_size[i].abs_error.count == 0)
            continue;
        size_class_name(i, name, sizeof name);
        (void)json_array_append_new(
            classes, json_pack("{s:s, s:o}", "bytes", name, "error", errors_json(&c->by_size[i])));
    }
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:f, s:o, s:o}", "flows_a",
                     (json_int_t)c->count_a, "flows_b", (json_int_t)c->count_b, "only_in_a",
                     (json_int_t)c->only_in_a, "only_in_b", (json_int_t)c->only_in_b,
                     "unfinished_in_a", (json_int_t)c->unfinished_in_a, "unfinished_in_b",
                     (json_int_t)c->unfinished_in_b, "makespan_a_ns", c->makespan_a_ns,
                     "makespan_b_ns", c->makespan_b_ns, "sorted_mean", c->sorted_mean, "error",
                     errors_json(&c->all), "by_size", classes);
}

static int print_json(FILE *out, const struct fct_comparison *c, const struct compare_noise *noise)
{
    json_t *json = comparison_json(c);
    char *text = NULL;

    if (!noise || !json_object_set_new(json, "noise", compare_noise_json(noise)))
        text = json ? json_dumps(json, JSON_INDENT(2) | JSON_REAL_PRECISION(12)) : NULL;
    if (text)
        fprintf(out, "%s\n", text);
    json_decref(json);
    if (!text)
        return WH_ERR_NOMEM;
    free(text);
    return 0;
}

static int is_above(double value, double limit, const char *what, FILE *err)
{
    if (limit < 0 || value <= limit)
        return 0;
    fprintf(err, "wormhole: %s error %.4f%% exceeds the limit of %.4f%%\n", what, 100 * value,
            100 * limit);
    return 1;
}

static int is_above_noise(const struct compare_noise *noise, FILE *err)
{
    const uint32_t count = noise ? compare_noise_exceeds(noise) : 0;

    if (count)
        fprintf(err, "wormhole: %" PRIu32 " %s the noise floor and the limit\n", count,
                count == 1 ? "difference exceeds" : "differences exceed");
    return count > 0;
}

/* Exit code from the limits. */
static int judge(const struct compare_options *o, const struct fct_comparison *c,
                 const struct compare_noise *noise, FILE *err)
{
    const int has_limit = o->max_mean >= 0 || o->max_p99 >= 0 || noise;
    int failed = is_above(c->all.abs_error.mean, o->max_mean, "mean", err);

    failed |= is_above(c->all.abs_error.p99, o->max_p99, "p99", err);
    failed |= is_above_noise(noise, err);
    if (c->all.abs_error.count == 0) {
        fprintf(err, "wormhole: no flow is finished in both runs\n");
        return EXIT_RUN_FAILED;
    }
    if (has_limit && (c->only_in_a || c->only_in_b)) {
        fprintf(err, "wormhole: the runs do not hold the same finished flows\n");
        failed = 1;
    }
    return failed ? EXIT_RUN_FAILED : EXIT_DONE;
}

struct comparison {
    struct fct_table a, b;
    struct fct_comparison c;
    struct noise_floor floor;
    struct compare_noise noise;
};

static int read_noise(const struct compare_options *o, struct comparison *x, struct err_info *e)
{
    x->noise = (struct compare_noise){.file = o->noise, .floor = &x->floor, .c = &x->c};
    if (!o->noise)
        return 0;
    x->noise.iteration_a_s = compare_noise_iteration_s(o->a);
    x->noise.iteration_b_s = compare_noise_iteration_s(o->b);
    return noise_file_read(o->noise, &x->floor, e);
}

static int compare_runs(const struct compare_options *o, struct comparison *x, struct err_info *e)
{
    int rc = fct_table_read(o->a, &x->a, e);

    if (!rc)
        rc = fct_table_read(o->b, &x->b, e);
    if (!rc)
        rc = read_noise(o, x, e);
    if (rc)
        return rc;
    return fct_compare(&x->a, &x->b,
                       o->ignores_starts || x->floor.is_workload ? FCT_BY_ORDER : FCT_BY_START,
                       &x->c);
}

static int report(const struct compare_options *o, const struct comparison *x, FILE *out, FILE *err)
{
    const struct compare_noise *noise = o->noise ? &x->noise : NULL;

    if (noise && !compare_noise_fits(noise))
        fprintf(err,
                "wormhole: warning: %s: the floor is of another run than A: found %" PRIu64
                " finished flows, A has %" PRIu64 "\n",
                o->noise, x->floor.flow_count, x->c.count_a - x->c.unfinished_in_a);
    if (o->json)
        return print_json(out, &x->c, noise);
    print_table(out, &x->c);
    if (noise)
        compare_noise_print(noise, out);
    return 0;
}

static int compare_files(const struct compare_options *o, FILE *out, FILE *err)
{
    struct comparison x = {.floor.run_count = 0};
    struct err_info e = {.text = ""};
    int rc = compare_runs(o, &x, &e);
    int code;

    if (!rc)
        rc = report(o, &x, out, err);
    code = rc ? load_exit_code(rc, &e, err) : judge(o, &x.c, o->noise ? &x.noise : NULL, err);
    fct_table_fini(&x.a);
    fct_table_fini(&x.b);
    return code;
}

int cmd_compare(int argc, char **argv, FILE *out, FILE *err)
{
    struct err_info e = {.text = ""};
    struct compare_options o;
    const int rc = options_parse_compare(argc, argv, &o, &e);

    if (rc == OPTIONS_HELP) {
        print_help(out);
        return EXIT_DONE;
    }
    return rc ? load_exit_code(rc, &e, err) : compare_files(&o, out, err);
}
