/*
 * yaml_print.c - a scenario as a scenario file that gives the same run.
 *
 * What a scenario file asked for is printed as it asked (a pattern as a pattern, a file as a file);
 * graph, flows and paths of another origin are printed one by one.
 */
#include "scenario_yaml_int.h"

#include <string.h>

static void print_counts(const struct scenario *sc, FILE *f)
{
    const struct topo *t = sc->topo;

    if (t) {
        uint32_t nvswitches = 0;
        for (uint32_t n = 0; n < t->node_count; n++)
            nvswitches += t->kind[n] == NODE_NVSWITCH;
        fprintf(f, "# %u hosts, %u switches (%u of them NVLink-like), %u links\n", t->host_count,
                t->node_count - t->host_count, nvswitches, t->link_count);
    }
    fprintf(f, "# %u flows\n", sc->flow_count);
}

static void print_thresholds(const struct sim_config *c, FILE *f)
{
    fprintf(f, "    thresholds:%s\n", c->ecn_row_count ? "" : " []");
    for (uint32_t i = 0; i < c->ecn_row_count; i++) {
        const struct settings rest = {yaml_ecn_row_settings.row + 1,
                                      yaml_ecn_row_settings.count - 1};
        char rate[64];
        fprintf(f, "      - {rate: %s",
                setting_format(yaml_ecn_row_settings.row, &c->ecn_rows[i], rate, sizeof rate));
        settings_print_items(rest, &c->ecn_rows[i], NULL, 1, f);
        fprintf(f, "}\n");
    }
}

static void print_events(const struct sim_config *c, FILE *f)
{
    if (c->event_count)
        fprintf(f, "events:\n");
    for (uint32_t i = 0; i < c->event_count; i++) {
        fprintf(f, "  - {link: [%u, %u]", c->events[i].a, c->events[i].b);
        settings_print_items(yaml_event_settings, &c->events[i], NULL, 1, f);
        fprintf(f, "}\n");
    }
}

static void print_stragglers(const struct scenario *sc, FILE *f)
{
    if (sc->straggler_count)
        fprintf(f, "stragglers:\n");
    for (uint32_t i = 0; i < sc->straggler_count; i++) {
        const struct settings rest = {yaml_straggler_settings.row + 1,
                                      yaml_straggler_settings.count - 1};
        fprintf(f, "  - {host: %u", sc->stragglers[i].host);
        settings_print_items(rest, &sc->stragglers[i], NULL, 1, f);
        fprintf(f, "}\n");
    }
}

static void print_ids(const char *key, int indent, const uint32_t *ids, uint32_t count, FILE *f)
{
    fprintf(f, "%*s%s: [", indent, "", key);
    for (uint32_t i = 0; i < count; i++)
        fprintf(f, "%s%u", i ? ", " : "", ids[i]);
    fprintf(f, "]\n");
}

static void print_log(const struct scenario *sc, enum log_kind kind, FILE *f)
{
    const struct log_request *log = &sc->logs[kind];

    fprintf(f, "  %s:\n    file: ", yaml_log_names[kind]);
    setting_print_string(log->path, f);
    fputc('\n', f);
    settings_print_block(yaml_log_settings, log, YAML_ON(kind), 4, f);
    if (log->filter_count)
        print_ids(kind == LOG_RATE ? "flows" : "nodes", 4, sc->filter_ids + log->filter_first,
                  log->filter_count, f);
}

static void print_logs(const struct scenario *sc, FILE *f)
{
    int any = sc->fct_path[0] != '\0';

    for (unsigned k = 0; k < LOG_KIND_COUNT; k++)
        any |= sc->logs[k].path[0] != '\0';
    if (!any)
        return;
    fprintf(f, "logs:\n");
    if (sc->fct_path[0]) {
        fprintf(f, "  fct: ");
        setting_print_string(sc->fct_path, f);
        fputc('\n', f);
    }
    for (unsigned k = 0; k < LOG_KIND_COUNT; k++)
        if (sc->logs[k].path[0])
            print_log(sc, (enum log_kind)k, f);
}

/* The ids of the nodes of a kind; NODE_SWITCH stands for all that are no hosts. */
static void print_nodes(const struct topo *t, const char *key, enum node_kind kind, FILE *f)
{
    uint32_t count = 0;

    for (uint32_t n = 0; n < t->node_count; n++) {
        if (t->kind[n] != kind && (kind != NODE_SWITCH || t->kind[n] == NODE_HOST))
            continue;
        if (count++ == 0)
            fprintf(f, "  %s: [%u", key, n);
        else
            fprintf(f, ", %u", n);
    }
    if (count)
        fprintf(f, "]\n");
}

static void print_graph(const struct topo *t, FILE *f)
{
    const uint32_t switches = t->node_count - t->host_count;

    fprintf(f, "topology:\n  kind: graph\n  hosts: %u\n  switches: %u\n", t->host_count, switches);
    print_nodes(t, "switch_ids", NODE_SWITCH, f);
    print_nodes(t, "nvswitch_ids", NODE_NVSWITCH, f);
    if (t->link_count)
        fprintf(f, "links:\n");
    for (uint32_t i = 0; i < t->link_count; i++) {
        const struct topo_link *k = &t->link[i];
        const struct link_row row = {k->a, k->b, t->classes[k->class_id]};
        const struct settings rest = {yaml_link_settings.row + 1, yaml_link_settings.count - 1};
        fprintf(f, "  - {a: %u", row.a);
        settings_print_items(rest, &row, NULL, 1, f);
        fprintf(f, "}\n");
    }
}

static void print_flows(const struct scenario *sc, FILE *f)
{
    struct flow_request base;

    flow_request_init(&base, FLOWS_SINGLE);
    if (sc->flow_count)
        fprintf(f, "flows:\n");
    for (uint32_t i = 0; i < sc->flow_count; i++) {
        const struct flow_spec *s = &sc->flows[i];
        struct flow_request r = base;
        r.bytes = s->bytes;
        r.start_ps = s->start_ps;
        r.src = s->src;
        r.dst = s->dst;
        r.prio = s->prio;
        r.dport = s->dport;
        r.sport = s->sport;
        fprintf(f, "  - {pattern: single");
        settings_print_items(yaml_flow_settings, &r, &base, YAML_ON(FLOWS_SINGLE), f);
        fprintf(f, "}\n");
    }
}

static void print_paths(const struct scenario *sc, FILE *f)
{
    if (sc->path_count)
        fprintf(f, "paths:\n");
    for (uint32_t i = 0; i < sc->path_count; i++) {
        const struct given_path *p = &sc->paths[i];
        fprintf(f, "  - {flow: %u, ack: %s, nodes: [", p->flow_id, p->is_ack ? "true" : "false");
        for (uint32_t n = 0; n < p->node_count; n++)
            fprintf(f, "%s%u", n ? ", " : "", sc->path_nodes[p->node_first + n]);
        fprintf(f, "]}\n");
    }
}

int scenario_print(const struct scenario *sc, FILE *f)
{
    if (!sc->source_yaml && !sc->topo)
        return WH_ERR_STATE;
    print_counts(sc, f);
    if (sc->name[0]) {
        fprintf(f, "name: ");
        setting_print_string(sc->name, f);
        fputc('\n', f);
    }
    settings_print_block(yaml_config_settings, &sc->cfg, 0, 0, f);
    print_thresholds(&sc->cfg, f);
    print_events(&sc->cfg, f);
    print_stragglers(sc, f);
    print_logs(sc, f);
    if (sc->source_yaml) {
        fputs(sc->source_yaml, f);
    } else {
        print_graph(sc->topo, f);
        print_flows(sc, f);
        print_paths(sc, f);
    }
    return ferror(f) ? WH_ERR_IO : 0;
}
