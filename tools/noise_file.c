/*
 * noise_file.c - see noise_file.h.
 */
#include "noise_file.h"

#include "output_fct.h"
#include "units.h"
#include "version.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- writing; jansson passes NULL on, so that a lack of memory shows at the end ---- */

static json_t *class_limit_json(uint32_t class_id)
{
    return class_id + 1 < SIZE_CLASS_COUNT ? json_integer(size_class_limit(class_id)) : json_null();
}

static json_t *figures_json(const struct noise_figure *f, uint32_t count)
{
    json_t *o = json_object();

    for (uint32_t k = 0; k < count; k++)
        if (json_object_set_new(o, noise_kind_name((enum noise_kind)k),
                                json_pack("{s:f, s:f}", "mean", f[k].mean, "largest", f[k].max))) {
            json_decref(o);
            return NULL;
        }
    return o;
}

static json_t *class_json(const struct noise_floor *f, uint32_t class_id)
{
    return json_pack("{s:I, s:o, s:I, s:o}", "bytes_above",
                     (json_int_t)(class_id ? size_class_limit(class_id - 1) : -1), "bytes_up_to",
                     class_limit_json(class_id), "flows", (json_int_t)f->class_flows[class_id],
                     "floor", figures_json(f->by_size[class_id], NOISE_CLASS_KIND_COUNT));
}

static json_t *classes_json(const struct noise_floor *f)
{
    json_t *rows = json_array();

    for (uint32_t c = 0; c < SIZE_CLASS_COUNT; c++)
        if (f->class_flows[c] && json_array_append_new(rows, class_json(f, c))) {
            json_decref(rows);
            return NULL;
        }
    return rows;
}

static json_t *seconds_json(double s)
{
    return s >= 0 ? json_real(s) : json_null();
}

static json_t *run_json(const struct noise_record *r, uint32_t i)
{
    const struct noise_run *run = &r->n->runs[i];
    const struct fct_comparison *c = &run->c;
    json_t *o =
        json_pack("{s:I, s:I, s:I, s:I, s:f, s:f, s:o}", "run", (json_int_t)i + 1, "seed",
                  (json_int_t)r->seeds[i + 1], "flows_in_both", (json_int_t)c->all.abs_error.count,
                  "exact", (json_int_t)c->all.exact, "mean_fct_ns", c->all.mean_b_ns, "makespan_ns",
                  c->makespan_b_ns, "iteration_time_s", seconds_json(run->iteration_s));
    const uint32_t kind_count = r->floor->has_iteration ? NOISE_KIND_COUNT : NOISE_ITERATION_TIME;
    json_t *change = json_object();

    for (uint32_t k = 0; k < kind_count; k++)
        (void)json_object_set_new(change, noise_kind_name((enum noise_kind)k),
                                  json_real(run->difference[k]));
    if (json_object_size(change) < kind_count || json_object_set_new(o, "change", change)) {
        json_decref(o);
        return NULL;
    }
    return o;
}

static json_t *runs_json(const struct noise_record *r)
{
    json_t *rows = json_array();

    for (uint32_t i = 0; i < r->n->run_count; i++)
        if (json_array_append_new(rows, run_json(r, i))) {
            json_decref(rows);
            return NULL;
        }
    return rows;
}

static json_t *base_json(const struct noise_record *r)
{
    return json_pack("{s:I, s:I, s:I, s:f, s:f, s:o}", "seed", (json_int_t)r->seeds[0], "flows",
                     (json_int_t)r->n->base.count, "finished", (json_int_t)r->floor->flow_count,
                     "mean_fct_ns", r->floor->mean_fct_ns, "makespan_ns",
                     r->n->runs[0].c.makespan_a_ns, "iteration_time_s",
                     seconds_json(r->n->base_iteration_s));
}

int noise_file_json(struct out_file *o, const struct noise_record *r)
{
    const struct noise_floor *f = r->floor;
    json_t *root = json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:b, s:I, s:I, s:o, s:o, s:o, s:o}", "version", WH_VERSION,
        "commit", WH_COMMIT, "command", r->command, "scenario", f->scenario, "congestion_control",
        r->cc, "workload", f->is_workload, "runs", (json_int_t)f->run_count, "shift_ns_max",
        (json_int_t)PERTURB_SHIFT_NS_MAX, "base", base_json(r), "floor",
        figures_json(f->all, f->has_iteration ? NOISE_KIND_COUNT : NOISE_ITERATION_TIME), "by_size",
        classes_json(f), "by_run", runs_json(r));
    char *text = root ? json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(12)) : NULL;

    json_decref(root);
    if (!text)
        return WH_ERR_NOMEM;
    out_text(o, text, strlen(text));
    out_text(o, "\n", 1);
    free(text);
    return 0;
}

void noise_file_csv(struct out_file *o, struct noise *n)
{
    char fct[40], changes[80];

    fct_table_restore(&n->base);
    out_line(o, "%s\n", NOISE_CSV_HEADER);
    for (uint64_t i = 0; i < n->base.count; i++) {
        const struct fct_row *r = &n->base.rows[i];
        const struct noise_flow *f = &n->flows[i];

        (void)snprintf(changes, sizeof changes, ",");
        if (f->run_count)
            (void)snprintf(changes, sizeof changes, "%.6f,%.6f", 100 * f->sum / f->run_count,
                           100 * f->max);
        out_line(o, "%" PRIu64 ",%u,%u,%u,%u,%" PRId64 ",%" PRId64 ",%s,%u,%s\n", i, r->src, r->dst,
                 r->sport, r->dport, r->bytes, r->start_ns,
                 r->fct_ps < 0 ? "" : output_ns(r->fct_ps, fct, sizeof fct), f->run_count, changes);
    }
}

/* ---- reading ---- */

static int refuse(const char *path, const char *what, struct err_info *e)
{
    return err_set(e, WH_ERR_INPUT, path, 0,
                   "%s: missing or of another kind, expected a file written by wormhole noise",
                   what);
}

static int read_figures(const json_t *o, struct noise_figure *out, uint32_t count, const char *path,
                        struct err_info *e)
{
    for (uint32_t k = 0; k < count; k++) {
        const char *name = noise_kind_name((enum noise_kind)k);
        const json_t *f = json_object_get(o, name);
        const json_t *mean = json_object_get(f, "mean"), *max = json_object_get(f, "largest");

        if (!json_is_number(mean) || !json_is_number(max) || !(json_number_value(max) >= 0))
            return refuse(path, name, e);
        out[k] = (struct noise_figure){json_number_value(mean), json_number_value(max)};
    }
    return 0;
}

/* The class whose upper limit is @up_to; SIZE_CLASS_COUNT: none. */
static uint32_t find_class(const json_t *up_to)
{
    uint32_t c = 0;

    if (json_is_null(up_to))
        return SIZE_CLASS_COUNT - 1;
    while (c + 1 < SIZE_CLASS_COUNT && size_class_limit(c) != json_integer_value(up_to))
        c++;
    return c + 1 < SIZE_CLASS_COUNT && json_is_integer(up_to) ? c : SIZE_CLASS_COUNT;
}

static int read_classes(const json_t *rows, struct noise_floor *out, const char *path,
                        struct err_info *e)
{
    size_t i;
    const json_t *row;
    int rc = json_is_array(rows) ? 0 : refuse(path, "by_size", e);

    json_array_foreach(rows, i, row)
    {
        const json_t *flows = json_object_get(row, "flows");
        const uint32_t c = find_class(json_object_get(row, "bytes_up_to"));

        if (rc)
            break;
        if (c == SIZE_CLASS_COUNT || !json_is_integer(flows))
            return refuse(path, "by_size", e);
        out->class_flows[c] = (uint64_t)json_integer_value(flows);
        rc = read_figures(json_object_get(row, "floor"), out->by_size[c], NOISE_CLASS_KIND_COUNT,
                          path, e);
    }
    return rc;
}

static int read_head(const json_t *root, struct noise_floor *out, const char *path,
                     struct err_info *e)
{
    const char *scenario = json_string_value(json_object_get(root, "scenario"));
    const json_t *workload = json_object_get(root, "workload");
    const json_t *runs = json_object_get(root, "runs");
    const json_t *base = json_object_get(root, "base");
    const json_t *finished = json_object_get(base, "finished");
    const json_t *mean = json_object_get(base, "mean_fct_ns");

    if (!scenario)
        return refuse(path, "scenario", e);
    if (!json_is_boolean(workload))
        return refuse(path, "workload", e);
    if (!json_is_integer(runs) || json_integer_value(runs) < 1)
        return refuse(path, "runs", e);
    if (!json_is_integer(finished) || !json_is_number(mean))
        return refuse(path, "base", e);
    (void)snprintf(out->scenario, sizeof out->scenario, "%s", scenario);
    out->is_workload = json_is_true(workload);
    out->run_count = (uint32_t)json_integer_value(runs);
    out->flow_count = (uint64_t)json_integer_value(finished);
    out->mean_fct_ns = json_number_value(mean);
    return 0;
}

static int read_root(const json_t *root, struct noise_floor *out, const char *path,
                     struct err_info *e)
{
    const json_t *floor = json_object_get(root, "floor");
    int rc = read_head(root, out, path, e);

    out->has_iteration = json_object_get(floor, noise_kind_name(NOISE_ITERATION_TIME)) != NULL;
    if (!rc)
        rc = read_figures(floor, out->all,
                          out->has_iteration ? NOISE_KIND_COUNT : NOISE_ITERATION_TIME, path, e);
    return rc ? rc : read_classes(json_object_get(root, "by_size"), out, path, e);
}

int noise_file_read(const char *path, struct noise_floor *out, struct err_info *e)
{
    char file[OUT_PATH_MAX];
    struct noise_floor floor = {.run_count = 0};
    struct stat st;
    json_error_t why;
    json_t *root;
    int rc;

    if (out_join(NULL, path, file, sizeof file) ||
        (!stat(path, &st) && S_ISDIR(st.st_mode) && out_join(path, NOISE_JSON, file, sizeof file)))
        return err_set(e, WH_ERR_INPUT, path, 0, "the path is too long");
    root = json_load_file(file, 0, &why);
    if (!root)
        return err_set(e, WH_ERR_INPUT, file, why.line > 0 ? why.line : 0, "%s", why.text);
    rc = read_root(root, &floor, file, e);
    json_decref(root);
    if (!rc)
        *out = floor;
    return rc;
}
