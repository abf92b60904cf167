/*
 * scenario_yaml.c - loads a scenario file: text to document, overrides, check against the schema,
 * libcyaml, then section by section into a struct scenario. Topology and flows are in
 * yaml_topology.c and yaml_flows.c, printing in yaml_print.c.
 */
#include "scenario_yaml_int.h"

#include "units.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILE_BYTES_MAX ((size_t)1 << 28)
#define DOTTED_BYTES 192
#define LOG_INTERVAL_PS (10 * PS_PER_US)

int yaml_load__refuse(struct yaml_loader *l, const char *dotted, const char *found,
                      const char *expected)
{
    err_set(l->e, WH_ERR_INPUT, NULL, 0, "found %.200s for %s, expected %s", found, dotted,
            expected);
    yaml_doc_locate(l->doc, dotted, l->e);
    return WH_ERR_INPUT;
}

int yaml_load__at(struct yaml_loader *l, const char *dotted, int rc)
{
    if (rc && l->e && l->e->file[0] == '\0')
        yaml_doc_locate(l->doc, dotted, l->e);
    return rc;
}

/* Says that a value of the file does not suit its setting. */
static int refuse_value(struct yaml_loader *l, const struct setting *s, const char *dotted,
                        const char *text)
{
    char found[96], expected[256];

    snprintf(found, sizeof found, "\"%.80s\"", text);
    return yaml_load__refuse(l, dotted, found, setting_describe(s, expected, sizeof expected));
}

int yaml_load__object(struct yaml_loader *l, struct settings t, const void *raw, void *target,
                      const char *prefix, uint32_t kind, const char *kind_name)
{
    char dotted[DOTTED_BYTES];

    for (const struct setting *s = t.row; s < t.row + t.count; s++) {
        const char *text = setting_text(s, raw);
        snprintf(dotted, sizeof dotted, "%s%s%s", prefix, *prefix ? "." : "", s->path);
        if (!text && (s->need & kind)) {
            err_set(l->e, WH_ERR_INPUT, NULL, 0, "found no %s for %s, expected it", s->path,
                    *kind_name ? kind_name : prefix);
            yaml_doc_locate(l->doc, dotted, l->e);
            return WH_ERR_INPUT;
        }
        if (!text)
            continue;
        if (!setting_applies(s, kind)) {
            err_set(l->e, WH_ERR_INPUT, NULL, 0,
                    "found %s, expected no such key: %s does not use it", dotted, kind_name);
            yaml_doc_locate(l->doc, dotted, l->e);
            return WH_ERR_INPUT;
        }
        if (setting_parse(s, text, target))
            return refuse_value(l, s, dotted, text);
    }
    return 0;
}

int yaml_load__id(struct yaml_loader *l, const char *text, const char *dotted, uint32_t index,
                  uint32_t end, uint32_t *out)
{
    char found[96], expected[64], item[DOTTED_BYTES];
    int64_t value;
    int inexact;

    if (units_parse_decimal(text, 0, &value, &inexact) == 0 && !inexact && value >= 0 &&
        value < end) {
        *out = (uint32_t)value;
        return 0;
    }
    snprintf(found, sizeof found, "\"%.80s\"", text);
    snprintf(expected, sizeof expected, "a whole number from 0 to %u", end ? end - 1 : 0);
    snprintf(item, sizeof item, "%.160s.%u", dotted, index);
    return yaml_load__refuse(l, item, found, expected);
}

int yaml_load__find_file(struct yaml_loader *l, const char *name, const char *dotted, char *buf,
                         size_t buf_bytes)
{
    const char *slash = strrchr(l->path, '/');
    char found[256];

    if ((size_t)snprintf(buf, buf_bytes, "%s", name) < buf_bytes && access(buf, F_OK) == 0)
        return 0;
    if (name[0] != '/' && slash &&
        (size_t)snprintf(buf, buf_bytes, "%.*s/%s", (int)(slash - l->path), l->path, name) <
            buf_bytes &&
        access(buf, F_OK) == 0)
        return 0;
    snprintf(found, sizeof found, "\"%.200s\"", name);
    return yaml_load__refuse(
        l, dotted, found,
        "a file that exists, relative to the working directory or to the scenario");
}

static int load_thresholds(struct yaml_loader *l)
{
    const struct raw_ecn *ecn = &l->raw->switches.ecn;
    struct sim_config *cfg = &l->sc->cfg;
    char dotted[DOTTED_BYTES];

    if (!yaml_doc_has(l->doc, "switch.ecn.thresholds")) {
        config_ecn_defaults(cfg);
        return 0;
    }
    cfg->ecn_row_count = 0;
    for (uint32_t i = 0; i < ecn->thresholds_count; i++) {
        struct ecn_row row = {0};
        snprintf(dotted, sizeof dotted, "switch.ecn.thresholds.%u", i);
        if (i == CONFIG_ECN_ROWS_MAX)
            return yaml_load__refuse(l, dotted, "one row more", "at most 16 rows");
        const int rc =
            yaml_load__object(l, yaml_ecn_row_settings, &ecn->thresholds[i], &row, dotted, 1, "");
        if (rc)
            return rc;
        cfg->ecn_rows[cfg->ecn_row_count++] = row;
    }
    return 0;
}

static int load_event(struct yaml_loader *l, const struct raw_event *raw, const char *dotted)
{
    struct sim_config *cfg = &l->sc->cfg;
    const struct topo *t = l->sc->topo;
    struct net_event v = {0};
    uint32_t ends[2] = {0, 0};
    char list[DOTTED_BYTES];

    int rc = yaml_load__object(l, yaml_event_settings, raw, &v, dotted, 1, "");
    if (rc)
        return rc;
    snprintf(list, sizeof list, "%.160s.link", dotted);
    if (raw->link_count != 2)
        return yaml_load__refuse(l, list, raw->link_count ? "another number of nodes" : "no nodes",
                                 "the two nodes of a link, as [4, 6]");
    for (uint32_t i = 0; i < 2 && rc == 0; i++)
        rc = yaml_load__id(l, raw->link[i], list, i, t->node_count, &ends[i]);
    if (rc)
        return rc;
    if (topo_find_port(t, ends[0], ends[1]) == PORT_NONE)
        return yaml_load__refuse(l, list, "two nodes without a link", "the two ends of a link");
    v.a = ends[0];
    v.b = ends[1];
    cfg->events[cfg->event_count++] = v;
    return 0;
}

static int load_events(struct yaml_loader *l)
{
    char dotted[DOTTED_BYTES];
    int rc = 0;

    for (uint32_t i = 0; i < l->raw->events_count && rc == 0; i++) {
        snprintf(dotted, sizeof dotted, "events.%u", i);
        if (i == CONFIG_EVENTS_MAX)
            return yaml_load__refuse(l, dotted, "one event more", "at most 64 events");
        rc = load_event(l, &l->raw->events[i], dotted);
    }
    return rc;
}

static int load_stragglers(struct yaml_loader *l)
{
    const struct topo *t = l->sc->topo;
    const uint32_t count = l->raw->stragglers_count;
    char dotted[DOTTED_BYTES];

    if (count == 0)
        return 0;
    l->sc->stragglers = calloc(count, sizeof *l->sc->stragglers);
    if (!l->sc->stragglers)
        return err_set(l->e, WH_ERR_NOMEM, l->path, 0, "no memory for the stragglers");
    for (uint32_t i = 0; i < count; i++) {
        struct straggler s = {.factor = 1};
        snprintf(dotted, sizeof dotted, "stragglers.%u", i);
        const int rc = yaml_load__object(l, yaml_straggler_settings, &l->raw->stragglers[i], &s,
                                         dotted, 1, "");
        if (rc)
            return rc;
        if (s.host >= t->node_count || t->kind[s.host] != NODE_HOST)
            return yaml_load__refuse(l, dotted, l->raw->stragglers[i].host, "the id of a host");
        l->sc->stragglers[l->sc->straggler_count++] = s;
    }
    return 0;
}

/* The filter of a log: ids of nodes or of flows. */
static int load_filter(struct yaml_loader *l, char *const *texts, uint32_t count,
                       const char *dotted, uint32_t end, struct log_request *log)
{
    log->filter_first = l->sc->filter_count;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t id;
        const int rc = yaml_load__id(l, texts[i], dotted, i, end, &id);
        if (rc)
            return rc;
        if (scenario_add_filter(l->sc, id))
            return err_set(l->e, WH_ERR_NOMEM, l->path, 0, "no memory for the filters");
        log->filter_count++;
    }
    return 0;
}

static int refuse_filter(struct yaml_loader *l, const char *dotted, const char *log_name)
{
    char expected[64];

    snprintf(expected, sizeof expected, "no such key: %s does not use it", log_name);
    return yaml_load__refuse(l, dotted, "a list", expected);
}

static int load_log(struct yaml_loader *l, enum log_kind kind, const char *prefix)
{
    const struct raw_log *raw = &l->raw->logs.kind[kind];
    struct log_request *log = &l->sc->logs[kind];
    const uint32_t nodes_of = YAML_ON(LOG_QUEUE) | YAML_ON(LOG_PACKET);
    char nodes[DOTTED_BYTES], flows[DOTTED_BYTES], file[DOTTED_BYTES];

    snprintf(nodes, sizeof nodes, "%.160s.nodes", prefix);
    snprintf(flows, sizeof flows, "%.160s.flows", prefix);
    snprintf(file, sizeof file, "%.160s.file", prefix);
    if (!raw->file)
        return yaml_load__refuse(l, prefix, "no file", "the name of the log's file");
    if ((size_t)snprintf(log->path, sizeof log->path, "%s", raw->file) >= sizeof log->path)
        return yaml_load__refuse(l, file, "a name that is too long", "at most 511 bytes");
    log->to_ps = TIME_NEVER;
    if (yaml_log_settings.row[0].mask & YAML_ON(kind))
        log->interval_ps = LOG_INTERVAL_PS;
    const int rc = yaml_load__object(l, yaml_log_settings, raw, log, prefix, YAML_ON(kind),
                                     yaml_log_names[kind]);
    if (rc)
        return rc;
    if (raw->nodes && !(nodes_of & YAML_ON(kind)))
        return refuse_filter(l, nodes, yaml_log_names[kind]);
    if (raw->flows && kind != LOG_RATE)
        return refuse_filter(l, flows, yaml_log_names[kind]);
    if (kind == LOG_RATE)
        return load_filter(l, raw->flows, raw->flows_count, flows, l->sc->flow_count, log);
    return load_filter(l, raw->nodes, raw->nodes_count, nodes, l->sc->topo->node_count, log);
}

static int load_logs(struct yaml_loader *l)
{
    char dotted[DOTTED_BYTES];
    int rc = 0;

    if (l->raw->logs.fct) {
        struct scenario *sc = l->sc;
        if ((size_t)snprintf(sc->fct_path, sizeof sc->fct_path, "%s", l->raw->logs.fct) >=
            sizeof sc->fct_path)
            return yaml_load__refuse(l, "logs.fct", "a name that is too long", "at most 511 bytes");
        snprintf(sc->fct_key, sizeof sc->fct_key, "logs.fct");
    }
    for (unsigned k = 0; k < LOG_KIND_COUNT && rc == 0; k++) {
        snprintf(dotted, sizeof dotted, "logs.%s", yaml_log_names[k]);
        if (yaml_doc_has(l->doc, dotted))
            rc = load_log(l, (enum log_kind)k, dotted);
    }
    return rc;
}

/* The name: the one given, else the file's without folder and suffix. */
static int load_name(struct yaml_loader *l)
{
    struct scenario *sc = l->sc;

    if (l->raw->name) {
        if ((size_t)snprintf(sc->name, sizeof sc->name, "%s", l->raw->name) >= sizeof sc->name)
            return yaml_load__refuse(l, "name", "a name that is too long", "at most 127 bytes");
        return 0;
    }
    const char *slash = strrchr(l->path, '/');
    snprintf(sc->name, sizeof sc->name, "%.100s", slash ? slash + 1 : l->path);
    char *dot = strrchr(sc->name, '.');
    if (dot && dot != sc->name)
        *dot = '\0';
    return 0;
}

static int load_sections(struct yaml_loader *l)
{
    int rc = load_name(l);

    if (rc == 0)
        rc = yaml_load__object(l, yaml_config_settings, l->raw, &l->sc->cfg, "", 0, "");
    if (rc == 0)
        rc = load_thresholds(l);
    if (rc == 0)
        rc = scenario_yaml__load_topology(l);
    if (rc == 0)
        rc = scenario_yaml__load_flows(l);
    if (rc == 0)
        rc = scenario_yaml__load_paths(l);
    if (rc == 0)
        rc = scenario_yaml__load_workload(l);
    if (rc == 0)
        rc = load_events(l);
    if (rc == 0)
        rc = load_stragglers(l);
    if (rc == 0)
        rc = load_logs(l);
    if (rc == 0) {
        rc = config_check(&l->sc->cfg, l->e);
        if (rc && l->e && l->e->file[0] == '\0') /* how settings fit together: no single line */
            snprintf(l->e->file, sizeof l->e->file, "%s", l->path);
    }
    return rc;
}

/* Collects the sections that made the graph and the flows while they are loaded. */
static int load_with_source(struct yaml_loader *l)
{
    char *text = NULL;
    size_t text_bytes = 0;

    l->source = open_memstream(&text, &text_bytes);
    if (!l->source)
        return err_set(l->e, WH_ERR_NOMEM, l->path, 0, "no memory for the scenario");
    int rc = load_sections(l);
    if (fclose(l->source) != 0 && rc == 0)
        rc = err_set(l->e, WH_ERR_NOMEM, l->path, 0, "no memory for the scenario");
    if (rc)
        free(text);
    else
        l->sc->source_yaml = text;
    return rc;
}

/* The first message of libcyaml, in case it refuses what yaml_doc_check has let through. */
static void keep_first(cyaml_log_t level, void *ctx, const char *fmt, va_list args)
{
    char *first = ctx;

    (void)level;
    if (first[0] == '\0')
        vsnprintf(first, 256, fmt, args);
}

static int load_raw(struct yaml_loader *l, const char *text, size_t text_bytes)
{
    char first[256] = "";
    const cyaml_config_t config = {
        .log_fn = keep_first,
        .log_ctx = first,
        .mem_fn = cyaml_mem,
        .log_level = CYAML_LOG_ERROR,
        .flags = CYAML_CFG_DEFAULT,
    };
    cyaml_data_t *data = NULL;

    const cyaml_err_t error =
        cyaml_load_data((const uint8_t *)text, text_bytes, &config, &yaml_schema, &data, NULL);
    if (error == CYAML_ERR_OOM)
        return err_set(l->e, WH_ERR_NOMEM, l->path, 0, "no memory for the scenario");
    if (error != CYAML_OK || !data) {
        first[strcspn(first, "\n")] = '\0';
        return err_set(l->e, WH_ERR_INPUT, l->path, 0, "cannot be read as a scenario: %s %s",
                       cyaml_strerror(error), first);
    }
    l->raw = data;
    const int rc = load_with_source(l);
    l->raw = NULL;
    cyaml_free(&config, &yaml_schema, data, 0);
    return rc;
}

static int apply_overrides(struct yaml_doc *d, const struct yaml_override *overrides,
                           uint32_t override_count, struct err_info *e)
{
    int rc = 0;

    for (uint32_t i = 0; i < override_count && rc == 0; i++)
        rc = yaml_doc_override(d, &overrides[i], e);
    return rc;
}

/* libcyaml reads text: with overrides, that of a second copy of the document. */
static int load_overridden(struct yaml_loader *l, const char *text, size_t text_bytes,
                           const struct yaml_override *overrides, uint32_t override_count)
{
    struct yaml_doc *copy;
    char *changed;
    size_t changed_bytes;

    if (override_count == 0)
        return load_raw(l, text, text_bytes);
    int rc = yaml_doc_load(&copy, l->path, text, text_bytes, l->e);
    if (rc)
        return rc;
    rc = apply_overrides(copy, overrides, override_count, l->e);
    if (rc == 0)
        rc = yaml_doc_emit(copy, &changed, &changed_bytes, l->e);
    yaml_doc_destroy(copy);
    if (rc)
        return rc;
    rc = load_raw(l, changed, changed_bytes);
    free(changed);
    return rc;
}

static int read_file(const char *path, char **out, size_t *out_bytes, struct err_info *e)
{
    FILE *f = fopen(path, "rb");
    char *text = NULL;
    size_t bytes = 0, cap = 0;

    if (!f)
        return err_set(e, WH_ERR_INPUT, path, 0, "cannot be opened: %s", strerror(errno));
    for (;;) {
        if (bytes == cap) {
            cap = cap ? 2 * cap : 4096;
            char *more = cap <= FILE_BYTES_MAX ? realloc(text, cap) : NULL;
            if (!more)
                break;
            text = more;
        }
        const size_t got = fread(text + bytes, 1, cap - bytes, f);
        bytes += got;
        if (got == 0)
            break;
    }
    const int failed = ferror(f), too_long = bytes == cap;
    fclose(f);
    if (failed || too_long) {
        free(text);
        if (failed)
            return err_set(e, WH_ERR_INPUT, path, 0, "cannot be read as a file");
        return err_set(e, WH_ERR_LIMIT, path, 0, "found more than the memory or 256 MiB hold");
    }
    *out = text;
    *out_bytes = bytes;
    return 0;
}

int scenario_yaml__load(const char *path, const struct yaml_override *overrides,
                        uint32_t override_count, const struct yaml_limits *limits,
                        struct scenario *sc, const struct warn_sink *sink, struct err_info *e)
{
    struct yaml_loader l = {.path = path, .sc = sc, .limits = *limits, .sink = sink, .e = e};
    char *text = NULL;
    size_t text_bytes = 0;

    int rc = read_file(path, &text, &text_bytes, e);
    if (rc)
        return rc;
    rc = yaml_doc_load(&l.doc, path, text, text_bytes, e);
    if (rc == 0) {
        rc = apply_overrides(l.doc, overrides, override_count, e);
        if (rc == 0)
            rc = yaml_doc_check(l.doc, &yaml_schema, e);
        if (rc == 0)
            rc = load_overridden(&l, text, text_bytes, overrides, override_count);
        yaml_doc_destroy(l.doc);
    }
    free(text);
    return rc;
}

int scenario_load_yaml(const char *path, const struct yaml_override *overrides,
                       uint32_t override_count, struct scenario *sc, const struct warn_sink *sink,
                       struct err_info *e)
{
    const struct yaml_limits none = {UINT64_MAX, UINT64_MAX};

    return scenario_yaml__load(path, overrides, override_count, &none, sc, sink, e);
}
