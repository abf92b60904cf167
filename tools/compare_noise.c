/*
 * compare_noise.c - see compare_noise.h.
 */
#include "compare_noise.h"

#include "out_file.h"

#include <inttypes.h>
#include <string.h>

double compare_noise_iteration_s(const char *dir)
{
    char path[OUT_PATH_MAX];
    json_t *root;
    double s = -1;

    if (out_join(dir, "summary.json", path, sizeof path))
        return -1;
    root = json_load_file(path, 0, NULL);
    if (json_is_number(json_object_get(root, "iteration_time_s")))
        s = json_number_value(json_object_get(root, "iteration_time_s"));
    json_decref(root);
    return s;
}

int compare_noise_fits(const struct compare_noise *x)
{
    return x->c->count_a - x->c->unfinished_in_a == x->floor->flow_count;
}

/* The largest change of a single flow has no limit: it only grows with the number of flows. */
static int is_judged(const struct compare_noise *x, enum noise_kind k)
{
    if (k == NOISE_ITERATION_TIME)
        return x->floor->has_iteration && x->iteration_a_s >= 0 && x->iteration_b_s >= 0;
    return k != NOISE_FCT_MAX;
}

/* One row of the report. */
struct verdict {
    double difference, floor, allowed; /* the larger of floor and fixed limit */
    enum noise_verdict is;
};

static struct verdict verdict_of(enum noise_kind k, double difference, double floor)
{
    const double limit = noise_fixed_limit(k);

    return (struct verdict){difference, floor, floor > limit ? floor : limit,
                            noise_judge(k, difference, floor)};
}

static struct verdict judge_all(const struct compare_noise *x, enum noise_kind k)
{
    return verdict_of(k,
                      k == NOISE_ITERATION_TIME ? noise_ratio(x->iteration_a_s, x->iteration_b_s)
                                                : noise_difference(x->c, k),
                      x->floor->all[k].max);
}

static struct verdict judge_class(const struct compare_noise *x, uint32_t class_id,
                                  enum noise_kind k)
{
    return verdict_of(k, noise_class_difference(&x->c->by_size[class_id], k),
                      x->floor->by_size[class_id][k].max);
}

static int has_class(const struct compare_noise *x, uint32_t class_id)
{
    return x->c->by_size[class_id].abs_error.count && x->floor->class_flows[class_id];
}

uint32_t compare_noise_exceeds(const struct compare_noise *x)
{
    uint32_t count = 0;

    for (enum noise_kind k = 0; k < NOISE_KIND_COUNT; k++)
        count += is_judged(x, k) && judge_all(x, k).is == NOISE_EXCEEDS;
    return count;
}

/* ---- for people ---- */

static void print_row(FILE *out, const char *title, const struct verdict *v)
{
    fprintf(out, "%-30s %9.4f%% %9.4f%% %9.4f%%  %s\n", title, 100 * v->difference, 100 * v->floor,
            100 * v->allowed, noise_verdict_text(v->is));
}

static void print_class(const struct compare_noise *x, uint32_t class_id, FILE *out)
{
    const struct verdict mean = judge_class(x, class_id, NOISE_FCT_MEAN);
    const struct verdict p99 = judge_class(x, class_id, NOISE_FCT_P99);
    char name[32], title[64];

    size_class_name(class_id, name, sizeof name);
    (void)snprintf(title, sizeof title, "%s B, mean", name);
    print_row(out, title, &mean);
    (void)snprintf(title, sizeof title, "%s B, 99th percentile", name);
    print_row(out, title, &p99);
}

void compare_noise_print(const struct compare_noise *x, FILE *out)
{
    fprintf(out, "\nnoise floor    %s: %s, largest of %" PRIu32 " disturbed runs\n", x->file,
            x->floor->scenario, x->floor->run_count);
    fprintf(out, "%-30s %10s %10s %10s\n", "", "difference", "floor", "allowed");
    for (enum noise_kind k = 0; k < NOISE_KIND_COUNT; k++) {
        const struct verdict v = is_judged(x, k) ? judge_all(x, k) : (struct verdict){.allowed = 0};

        if (is_judged(x, k))
            print_row(out, noise_kind_title(k), &v);
    }
    for (uint32_t c = 0; c < SIZE_CLASS_COUNT; c++)
        if (has_class(x, c))
            print_class(x, c, out);
    if (x->floor->has_iteration && !is_judged(x, NOISE_ITERATION_TIME))
        fprintf(out, "%-30s not compared: not in the summary.json of both runs\n",
                noise_kind_title(NOISE_ITERATION_TIME));
}

/* ---- for programs ---- */

static json_t *verdict_json(const struct verdict *v)
{
    static const char *const names[] = {[NOISE_WITHIN_FLOOR] = "within-floor",
                                        [NOISE_WITHIN_LIMIT] = "within-allowed",
                                        [NOISE_EXCEEDS] = "exceeds"};

    return json_pack("{s:f, s:f, s:f, s:s}", "difference", v->difference, "floor", v->floor,
                     "allowed", v->allowed, "verdict", names[v->is]);
}

static json_t *class_json(const struct compare_noise *x, uint32_t class_id)
{
    const struct verdict mean = judge_class(x, class_id, NOISE_FCT_MEAN);
    const struct verdict p99 = judge_class(x, class_id, NOISE_FCT_P99);
    char name[32];

    size_class_name(class_id, name, sizeof name);
    return json_pack("{s:s, s:o, s:o}", "bytes", name, noise_kind_name(NOISE_FCT_MEAN),
                     verdict_json(&mean), noise_kind_name(NOISE_FCT_P99), verdict_json(&p99));
}

json_t *compare_noise_json(const struct compare_noise *x)
{
    json_t *classes = json_array();
    json_t *o =
        json_pack("{s:s, s:s, s:I, s:b}", "file", x->file, "scenario", x->floor->scenario, "runs",
                  (json_int_t)x->floor->run_count, "of_this_run", compare_noise_fits(x));
    int failures = 0;

    for (enum noise_kind k = 0; k < NOISE_KIND_COUNT; k++) {
        const struct verdict v = is_judged(x, k) ? judge_all(x, k) : (struct verdict){.allowed = 0};

        if (is_judged(x, k))
            failures += json_object_set_new(o, noise_kind_name(k), verdict_json(&v)) != 0;
    }
    for (uint32_t c = 0; c < SIZE_CLASS_COUNT; c++)
        if (has_class(x, c))
            failures += json_array_append_new(classes, class_json(x, c)) != 0;
    failures += json_object_set_new(o, "by_size", classes) != 0;
    if (!failures)
        return o;
    json_decref(o);
    return NULL;
}
