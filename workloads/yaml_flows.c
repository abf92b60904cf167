/*
 * yaml_flows.c - the sections "flows" and "paths" of a scenario file: flow files, generated
 * patterns, paths that are given instead of chosen.
 */
#include "scenario_yaml_int.h"

#include "hpcc.h"
#include "rng.h"

#include <stdlib.h>
#include <string.h>

#define FILE_NAME_BYTES 512
#define DOTTED_BYTES 64
#define STREAM_ENTRIES 0x466c6f7773u /* seeds of entries that have none of their own */

static int no_memory(struct yaml_loader *l)
{
    return err_set(l->e, WH_ERR_NOMEM, l->path, 0, "no memory for the flows");
}

static const char *sub(const char *dotted, const char *key, char *buf, size_t buf_bytes)
{
    snprintf(buf, buf_bytes, "%.31s.%.31s", dotted, key);
    return buf;
}

/* An entry with a file has no other key. */
static int check_alone(struct yaml_loader *l, struct settings t, const void *raw,
                       const char *dotted)
{
    char path[DOTTED_BYTES];

    for (const struct setting *s = t.row; s < t.row + t.count; s++)
        if (setting_text(s, raw))
            return yaml_load__refuse(l, sub(dotted, s->path, path, sizeof path),
                                     "a key beside a file", "the file alone");
    return 0;
}

static int load_flow_file(struct yaml_loader *l, const struct raw_flow *raw, const char *dotted)
{
    char path[FILE_NAME_BYTES], place[DOTTED_BYTES];

    if (raw->pattern || raw->sizes || raw->seed)
        return yaml_load__refuse(l, dotted, "a pattern, sizes or seed beside a file",
                                 "the file alone");
    int rc = check_alone(l, yaml_flow_settings, raw, dotted);
    if (rc == 0)
        rc = yaml_load__find_file(l, raw->file, sub(dotted, "file", place, sizeof place), path,
                                  sizeof path);
    if (rc == 0)
        rc = hpcc_read_flows(path, l->sc->topo, l->sc, l->sink, l->e);
    if (rc)
        return rc;
    fprintf(l->source, "  - {file: ");
    setting_print_string(path, l->source);
    fprintf(l->source, "}\n");
    return 0;
}

/* A built-in distribution or a file. *name is what to print: the name, or the file that was read.
 */
static int load_sizes(struct yaml_loader *l, const char *text, const char *dotted,
                      struct size_cdf *cdf, char *name, size_t name_bytes)
{
    char place[DOTTED_BYTES];
    int rc = cdf_builtin(text, cdf);

    snprintf(name, name_bytes, "%s", text);
    if (rc == WH_ERR_NOMEM)
        return no_memory(l);
    if (rc == 0)
        return 0;
    rc = yaml_load__find_file(l, text, sub(dotted, "sizes", place, sizeof place), name, name_bytes);
    return rc ? rc : cdf_read(name, cdf, l->e);
}

static int load_seed(struct yaml_loader *l, const char *text, const char *dotted, uint64_t *out)
{
    static const struct setting seed = {.path = "seed", .width = 8, .type = SETTING_SEED};
    char place[DOTTED_BYTES], found[96];

    if (setting_parse(&seed, text, out) == 0)
        return 0;
    snprintf(found, sizeof found, "\"%.80s\"", text);
    return yaml_load__refuse(l, sub(dotted, "seed", place, sizeof place), found,
                             "a whole number from 0 to 2^64 - 1");
}

static void print_request(FILE *f, const struct flow_request *r, const struct raw_flow *raw,
                          const char *sizes)
{
    const uint32_t on = YAML_ON(r->pattern);
    struct settings t = yaml_flow_settings;
    struct flow_request base;

    /* Single flows may be many: without what is as always. */
    flow_request_init(&base, r->pattern);
    fprintf(f, "  - {pattern: %s", flow_pattern_name(r->pattern));
    if (raw->sizes) {
        fprintf(f, ", sizes: ");
        setting_print_string(sizes, f);
        t.row++; /* bytes, which comes first, is what sizes replace */
        t.count--;
    }
    if (raw->seed)
        fprintf(f, ", seed: %s", raw->seed);
    settings_print_items(t, r, r->pattern == FLOWS_SINGLE ? &base : NULL, on, f);
    fprintf(f, "}\n");
}

/* Keeps a request within the limits of the load; flows_generate has its own, of the tables. */
static int check_limit(struct yaml_loader *l, const struct flow_request *r, const char *dotted)
{
    const double host_bps_max = 1e15; /* more than any host has, per host */
    const double hosts = l->sc->topo->node_count;

    if (l->limits.flows == UINT64_MAX ||
        (r->pattern == FLOWS_POISSON && !r->bytes && !r->cdf.count))
        return 0;
    if (flows_count(r, l->sc->topo->node_count, hosts * host_bps_max) + l->sc->flow_count <=
        (double)l->limits.flows)
        return 0;
    err_set(l->e, WH_ERR_LIMIT, NULL, 0, "found more flows than the limit");
    return yaml_load__at(l, dotted, WH_ERR_LIMIT);
}

static int load_pattern(struct yaml_loader *l, const struct raw_flow *raw, const char *dotted,
                        struct flow_request *r)
{
    char place[DOTTED_BYTES], found[96], sizes[FILE_NAME_BYTES] = "";
    enum flow_pattern pattern;

    if (flow_pattern_from_name(raw->pattern, &pattern)) {
        snprintf(found, sizeof found, "\"%.80s\"", raw->pattern);
        return yaml_load__refuse(l, sub(dotted, "pattern", place, sizeof place), found,
                                 "single, incast, permutation, ring, all-to-all or poisson");
    }
    const uint64_t seed = r->seed;
    flow_request_init(r, pattern);
    r->seed = seed;
    int rc =
        yaml_load__object(l, yaml_flow_settings, raw, r, dotted, YAML_ON(pattern), raw->pattern);
    if (rc == 0 && raw->seed)
        rc = load_seed(l, raw->seed, dotted, &r->seed);
    if (rc == 0 && raw->sizes && pattern != FLOWS_POISSON)
        rc = yaml_load__refuse(l, sub(dotted, "sizes", place, sizeof place), "a distribution",
                               "no such key: only poisson uses it");
    if (rc == 0 && raw->sizes)
        rc = load_sizes(l, raw->sizes, dotted, &r->cdf, sizes, sizeof sizes);
    if (rc == 0)
        rc = check_limit(l, r, dotted);
    if (rc == 0)
        rc = yaml_load__at(l, dotted, flows_generate(r, l->sc->topo, l->sc, l->e));
    if (rc == 0)
        print_request(l->source, r, raw, sizes);
    return rc;
}

static int load_entry(struct yaml_loader *l, uint32_t index)
{
    const struct raw_flow *raw = &l->raw->flows[index];
    struct flow_request r = {.seed = rng_u64(l->sc->cfg.seed, STREAM_ENTRIES, index)};
    char dotted[DOTTED_BYTES];

    snprintf(dotted, sizeof dotted, "flows.%u", index);
    if (raw->file)
        return load_flow_file(l, raw, dotted);
    if (!raw->pattern)
        return yaml_load__refuse(l, dotted, "no pattern and no file", "one of them");
    const int rc = load_pattern(l, raw, dotted, &r);
    cdf_fini(&r.cdf);
    return rc;
}

int scenario_yaml__load_flows(struct yaml_loader *l)
{
    int rc = 0;

    if (l->raw->flows_count)
        fprintf(l->source, "flows:\n");
    for (uint32_t i = 0; i < l->raw->flows_count && rc == 0; i++)
        rc = load_entry(l, i);
    if (rc == 0 && l->sc->flow_count && flows_sort(l->sc->flows, l->sc->flow_count))
        rc = no_memory(l);
    return rc;
}

static int load_path_file(struct yaml_loader *l, const struct raw_path *raw, const char *dotted)
{
    char path[FILE_NAME_BYTES], place[DOTTED_BYTES];

    if (raw->nodes)
        return yaml_load__refuse(l, dotted, "nodes beside a file", "the file alone");
    int rc = check_alone(l, yaml_path_settings, raw, dotted);
    if (rc == 0)
        rc = yaml_load__find_file(l, raw->file, sub(dotted, "file", place, sizeof place), path,
                                  sizeof path);
    if (rc == 0)
        rc = hpcc_read_paths(path, l->sc, l->e);
    if (rc)
        return rc;
    fprintf(l->source, "  - {file: ");
    setting_print_string(path, l->source);
    fprintf(l->source, "}\n");
    return 0;
}

static int load_given_path(struct yaml_loader *l, const struct raw_path *raw, const char *dotted)
{
    struct given_path p = {0};
    char place[DOTTED_BYTES];

    int rc = yaml_load__object(l, yaml_path_settings, raw, &p, dotted, 1, "");
    if (rc)
        return rc;
    if (p.flow_id >= l->sc->flow_count)
        return yaml_load__refuse(l, sub(dotted, "flow", place, sizeof place), raw->flow,
                                 "the number of a flow, counted from 0 in order of start");
    sub(dotted, "nodes", place, sizeof place);
    if (raw->nodes_count < 2)
        return yaml_load__refuse(l, place, "fewer than two nodes", "the nodes from host to host");
    uint32_t *nodes = malloc(raw->nodes_count * sizeof *nodes);
    if (!nodes)
        return no_memory(l);
    for (uint32_t i = 0; i < raw->nodes_count && rc == 0; i++)
        rc = yaml_load__id(l, raw->nodes[i], place, i, l->sc->topo->node_count, &nodes[i]);
    if (rc == 0 && scenario_add_path(l->sc, p.flow_id, p.is_ack, nodes, raw->nodes_count))
        rc = no_memory(l);
    if (rc == 0) {
        fprintf(l->source, "  - {flow: %u, ack: %s, nodes: [", p.flow_id,
                p.is_ack ? "true" : "false");
        for (uint32_t i = 0; i < raw->nodes_count; i++)
            fprintf(l->source, "%s%u", i ? ", " : "", nodes[i]);
        fprintf(l->source, "]}\n");
    }
    free(nodes);
    return rc;
}

int scenario_yaml__load_paths(struct yaml_loader *l)
{
    char dotted[DOTTED_BYTES];
    int rc = 0;

    if (l->raw->paths_count)
        fprintf(l->source, "paths:\n");
    for (uint32_t i = 0; i < l->raw->paths_count && rc == 0; i++) {
        const struct raw_path *raw = &l->raw->paths[i];
        snprintf(dotted, sizeof dotted, "paths.%u", i);
        rc = raw->file ? load_path_file(l, raw, dotted) : load_given_path(l, raw, dotted);
    }
    return rc;
}
