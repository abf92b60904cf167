/*
 * yaml_topology.c - the sections "topology" and "links" of a scenario file: a generated topology,
 * an HPCC topology file, or any graph; links that differ from the rest.
 */
#include "scenario_yaml_int.h"

#include "hpcc.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define FILE_NAME_BYTES 512

static int parse_kind(struct yaml_loader *l, unsigned *kind)
{
    const char *text = l->raw->topology.kind;
    enum topo_kind k;
    char found[96];

    if (strcmp(text, "graph") == 0) {
        *kind = YAML_TOPO_GRAPH;
        return 0;
    }
    if (topo_kind_from_name(text, &k)) {
        snprintf(found, sizeof found, "\"%.80s\"", text);
        return yaml_load__refuse(
            l, "topology.kind", found,
            "single-switch, dumbbell, leaf-spine, fat-tree, clos3, rail, torus, "
            "dragonfly or graph");
    }
    *kind = k;
    return 0;
}

/* The three lists belong to one kind each. */
static int check_lists(struct yaml_loader *l, unsigned kind)
{
    const struct raw_topology *t = &l->raw->topology;

    if (t->dims && kind != TOPO_TORUS)
        return yaml_load__refuse(l, "topology.dims", "a list", "no such key: only torus uses it");
    if (t->switch_ids && kind != YAML_TOPO_GRAPH)
        return yaml_load__refuse(l, "topology.switch_ids", "a list",
                                 "no such key: only graph uses it");
    if (t->nvswitch_ids && kind != YAML_TOPO_GRAPH)
        return yaml_load__refuse(l, "topology.nvswitch_ids", "a list",
                                 "no such key: only graph uses it");
    return 0;
}

static int load_file(struct yaml_loader *l)
{
    struct topo_request none = {0};
    char path[FILE_NAME_BYTES];
    const uint32_t on = YAML_ON(YAML_TOPO_FILE);
    int rc = check_lists(l, YAML_TOPO_FILE);

    if (l->raw->topology.kind)
        return yaml_load__refuse(l, "topology.kind", "a kind beside a file", "one of them");
    if (rc == 0)
        rc = yaml_load__object(l, yaml_topo_settings, &l->raw->topology, &none, "topology", on,
                               "a topology file");
    if (rc == 0)
        rc = yaml_load__object(l, yaml_topo_link_settings, &l->raw->topology, &none, "topology", on,
                               "a topology file");
    if (rc == 0)
        rc = yaml_load__find_file(l, l->raw->topology.file, "topology.file", path, sizeof path);
    if (rc == 0)
        rc = hpcc_read_topology(path, &l->sc->topo, l->sink, l->e);
    if (rc)
        return rc;
    fprintf(l->source, "topology:\n  file: ");
    setting_print_string(path, l->source);
    fputc('\n', l->source);
    return 0;
}

/* What the fabric link does not say is as the host link. */
static void complete_fabric(const struct raw_class *raw, struct topo_spec *s)
{
    if (!raw->rate)
        s->fabric_link.rate_bps = s->host_link.rate_bps;
    if (!raw->delay)
        s->fabric_link.delay_ps = s->host_link.delay_ps;
    if (!raw->error)
        s->fabric_link.error_rate = s->host_link.error_rate;
}

static int load_dims(struct yaml_loader *l, struct topo_spec *s)
{
    const struct raw_topology *t = &l->raw->topology;
    const uint32_t dims_max = sizeof s->dims / sizeof s->dims[0];
    int rc = 0;

    if (!t->dims)
        return 0;
    if (t->dims_count > dims_max)
        return yaml_load__refuse(l, "topology.dims", "more dimensions", "at most 6");
    s->dim_count = t->dims_count;
    for (uint32_t d = 0; d < t->dims_count && rc == 0; d++)
        rc = yaml_load__id(l, t->dims[d], "topology.dims", d, UINT32_C(1) << 30, &s->dims[d]);
    return rc;
}

static int check_limit(struct yaml_loader *l, uint64_t links)
{
    if (links <= l->limits.links)
        return 0;
    err_set(l->e, WH_ERR_LIMIT, l->path, 0, "found %" PRIu64 " links, expected at most %" PRIu64,
            links, l->limits.links);
    return WH_ERR_LIMIT;
}

static int generate(struct yaml_loader *l, struct topo_request *r)
{
    struct topo_counts n;
    int rc = load_dims(l, &r->spec);

    if (rc)
        return rc;
    rc = topo_spec_resolve(&r->spec, &n, l->e);
    if (rc == 0)
        rc = check_limit(l, n.links);
    if (rc == 0)
        rc = topo_generate(&r->spec, &l->sc->topo, l->e);
    return yaml_load__at(l, "topology", rc);
}

/* Marks the nodes of a list of a graph. */
static int mark_nodes(struct yaml_loader *l, char *const *texts, uint32_t count, const char *dotted,
                      enum node_kind kind)
{
    struct topo *t = l->sc->topo;

    for (uint32_t i = 0; i < count; i++) {
        uint32_t id;
        const int rc = yaml_load__id(l, texts[i], dotted, i, t->node_count, &id);
        if (rc)
            return rc;
        if (t->kind[id] == kind)
            return yaml_load__refuse(l, dotted, texts[i], "each id once");
        topo_set_kind(t, id, kind);
    }
    return 0;
}

/* Switches are the nodes of switch_ids, or the last ones; NVLink-like switches are among them. */
static int mark_switches(struct yaml_loader *l, const struct topo_request *r)
{
    const struct raw_topology *raw = &l->raw->topology;
    struct topo *t = l->sc->topo;

    if (raw->switch_ids) {
        if (raw->switch_ids_count != r->switches)
            return yaml_load__refuse(l, "topology.switch_ids", "another number of ids",
                                     "as many as topology.switches says");
        const int rc = mark_nodes(l, raw->switch_ids, raw->switch_ids_count, "topology.switch_ids",
                                  NODE_SWITCH);
        if (rc)
            return rc;
    } else {
        for (uint32_t i = r->spec.hosts; i < t->node_count; i++)
            topo_set_kind(t, i, NODE_SWITCH);
    }
    for (uint32_t i = 0; i < raw->nvswitch_ids_count; i++) {
        uint32_t id;
        const int rc =
            yaml_load__id(l, raw->nvswitch_ids[i], "topology.nvswitch_ids", i, t->node_count, &id);
        if (rc)
            return rc;
        if (t->kind[id] != NODE_SWITCH)
            return yaml_load__refuse(l, "topology.nvswitch_ids", raw->nvswitch_ids[i],
                                     "ids of switches, each once");
        topo_set_kind(t, id, NODE_NVSWITCH);
    }
    return 0;
}

/* One row of the section "links" over @row's present values. */
static int load_link(struct yaml_loader *l, uint32_t index, struct link_row *row)
{
    const struct raw_link *raw = &l->raw->links[index];
    const struct topo *t = l->sc->topo;
    char dotted[48];

    snprintf(dotted, sizeof dotted, "links.%u", index);
    const int rc = yaml_load__object(l, yaml_link_settings, raw, row, dotted, 1, "");
    if (rc)
        return rc;
    if (row->a >= t->node_count || row->b >= t->node_count || row->a == row->b)
        return yaml_load__refuse(l, dotted, "other ends", "two different nodes of the topology");
    return 0;
}

static int no_memory(struct yaml_loader *l)
{
    return err_set(l->e, WH_ERR_NOMEM, l->path, 0, "no memory for the topology");
}

static void print_row(struct yaml_loader *l, const struct link_row *row,
                      const struct raw_link *given)
{
    fprintf(l->source, "  - {a: %u", row->a);
    /* a is the first setting; the others follow */
    const struct settings rest = {yaml_link_settings.row + 1, yaml_link_settings.count - 1};
    if (given)
        settings_print_given(rest, row, given, l->source);
    else
        settings_print_items(rest, row, NULL, 1, l->source);
    fprintf(l->source, "}\n");
}

/* The ends are needed to know the defaults, so a row is read twice. */
static int add_graph_link(struct yaml_loader *l, const struct topo_request *r, uint32_t index)
{
    struct topo *t = l->sc->topo;
    struct link_row row = {.link_class = r->spec.fabric_link};
    int rc = load_link(l, index, &row);

    if (rc)
        return rc;
    if (t->kind[row.a] == NODE_HOST || t->kind[row.b] == NODE_HOST) {
        row.link_class = r->spec.host_link;
        rc = load_link(l, index, &row);
        if (rc)
            return rc;
    }
    const int64_t class_id = topo_add_class(t, &row.link_class);
    if (class_id < 0 || topo_add_link(t, row.a, row.b, (uint32_t)class_id))
        return no_memory(l);
    print_row(l, &row, NULL);
    return 0;
}

static int build_graph(struct yaml_loader *l, const struct topo_request *r)
{
    const uint64_t nodes = (uint64_t)r->spec.hosts + r->switches;
    int rc = check_limit(l, nodes);

    if (rc)
        return rc;
    if (topo_create(&l->sc->topo, (uint32_t)nodes))
        return no_memory(l);
    rc = mark_switches(l, r);
    if (rc == 0 && l->raw->links_count)
        fprintf(l->source, "links:\n");
    for (uint32_t i = 0; i < l->raw->links_count && rc == 0; i++)
        rc = add_graph_link(l, r, i);
    if (rc == 0 && topo_finish(l->sc->topo))
        rc = no_memory(l);
    return rc;
}

/* Changes the classes of all links between two nodes; @classes has shape [link_count]. */
static int change_links(struct yaml_loader *l, uint32_t index, struct link_class *classes)
{
    const struct topo *t = l->sc->topo;
    struct link_row row = {0};
    uint32_t changed = 0;
    char dotted[48];

    snprintf(dotted, sizeof dotted, "links.%u", index);
    int rc = load_link(l, index, &row);
    if (rc)
        return rc;
    for (uint32_t p = t->first_port[row.a]; p < t->first_port[row.a + 1]; p++) {
        if (t->port_node[t->port_peer[p]] != row.b)
            continue;
        struct link_row now = {.link_class = classes[t->port_link[p]]};
        rc = load_link(l, index, &now);
        if (rc)
            return rc;
        classes[t->port_link[p]] = now.link_class;
        changed++;
    }
    if (changed == 0)
        return yaml_load__refuse(l, dotted, "two nodes without a link", "the two ends of a link");
    print_row(l, &row, &l->raw->links[index]);
    return 0;
}

/* A finished graph is immutable, so one with other classes is made from it. */
static int rebuild(const struct topo *from, const struct link_class *classes, struct topo **out)
{
    struct topo *t;
    int rc = topo_create(&t, from->node_count);

    if (rc)
        return rc;
    for (uint32_t n = 0; n < from->node_count; n++)
        if (from->kind[n] != NODE_HOST)
            topo_set_kind(t, n, (enum node_kind)from->kind[n]);
    for (uint32_t i = 0; i < from->link_count && rc == 0; i++) {
        const int64_t class_id = topo_add_class(t, &classes[i]);
        rc = class_id < 0 ? (int)class_id
                          : topo_add_link(t, from->link[i].a, from->link[i].b, (uint32_t)class_id);
    }
    if (rc == 0)
        rc = topo_finish(t);
    if (rc)
        topo_destroy(t);
    else
        *out = t;
    return rc;
}

static int load_changes(struct yaml_loader *l)
{
    struct topo *changed, *t = l->sc->topo;
    int rc = 0;

    if (l->raw->links_count == 0)
        return 0;
    struct link_class *classes = malloc(((size_t)t->link_count + 1) * sizeof *classes);
    if (!classes)
        return no_memory(l);
    for (uint32_t i = 0; i < t->link_count; i++)
        classes[i] = t->classes[t->link[i].class_id];
    fprintf(l->source, "links:\n");
    for (uint32_t i = 0; i < l->raw->links_count && rc == 0; i++)
        rc = change_links(l, i, classes);
    if (rc == 0 && rebuild(t, classes, &changed)) {
        rc = no_memory(l);
    } else if (rc == 0) {
        topo_destroy(t);
        l->sc->topo = changed;
    }
    free(classes);
    return rc;
}

static void print_list(FILE *f, const char *key, char *const *texts, uint32_t count)
{
    if (count == 0)
        return;
    fprintf(f, "  %s: [", key);
    for (uint32_t i = 0; i < count; i++)
        fprintf(f, "%s%s", i ? ", " : "", texts[i]);
    fprintf(f, "]\n");
}

static void print_request(const struct yaml_loader *l, const struct topo_request *r)
{
    const struct raw_topology *raw = &l->raw->topology;
    const uint32_t on = YAML_ON(r->kind);
    FILE *f = l->source;

    fprintf(f, "topology:\n  kind: %s\n",
            r->kind == YAML_TOPO_GRAPH ? "graph" : topo_kind_name((enum topo_kind)r->kind));
    settings_print_block(yaml_topo_settings, r, on, 2, f);
    if (r->kind == TOPO_TORUS) {
        fprintf(f, "  dims: [");
        for (uint32_t d = 0; d < r->spec.dim_count; d++)
            fprintf(f, "%s%u", d ? ", " : "", r->spec.dims[d]);
        fprintf(f, "]\n");
    }
    print_list(f, "switch_ids", raw->switch_ids, raw->switch_ids_count);
    print_list(f, "nvswitch_ids", raw->nvswitch_ids, raw->nvswitch_ids_count);
    if (r->kind != YAML_TOPO_GRAPH) /* whose links are printed one by one, with all they have */
        settings_print_block(yaml_topo_link_settings, r, on, 2, f);
}

static int load_request(struct yaml_loader *l, struct topo_request *r)
{
    const struct raw_topology *raw = &l->raw->topology;
    int rc = parse_kind(l, &r->kind);

    if (rc)
        return rc;
    const int is_graph = r->kind == YAML_TOPO_GRAPH;
    topo_spec_init(&r->spec, is_graph ? TOPO_SINGLE_SWITCH : (enum topo_kind)r->kind);
    rc = check_lists(l, r->kind);
    if (rc == 0)
        rc = yaml_load__object(l, yaml_topo_settings, raw, r, "topology", YAML_ON(r->kind),
                               raw->kind);
    if (rc == 0)
        rc = yaml_load__object(l, yaml_topo_link_settings, raw, r, "topology", YAML_ON(r->kind),
                               raw->kind);
    complete_fabric(&raw->fabric_link, &r->spec);
    return rc;
}

int scenario_yaml__load_topology(struct yaml_loader *l)
{
    struct topo_request r = {0};
    int rc;

    if (l->raw->topology.file) {
        rc = load_file(l);
        return rc ? rc : load_changes(l);
    }
    if (!l->raw->topology.kind)
        return yaml_load__refuse(l, "topology", "no kind and no file", "one of them");
    rc = load_request(l, &r);
    if (rc)
        return rc;
    if (r.kind == YAML_TOPO_GRAPH) {
        print_request(l, &r);
        return build_graph(l, &r);
    }
    rc = generate(l, &r);
    if (rc)
        return rc;
    print_request(l, &r);
    return load_changes(l);
}
