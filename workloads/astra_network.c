/*
 * astra_network.c - networks of ASTRA-sim's analytical backends: four lists with one entry for each
 * dimension, as YAML. JSON is YAML too, so files of either kind are read.
 */
#include "astra.h"

#include "textfile.h"
#include "units.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#define LINKS_MAX (UINT64_C(1) << 26)

enum list_key { LIST_TOPOLOGY, LIST_NPUS, LIST_BANDWIDTH, LIST_LATENCY, LIST_COUNT };
static const char *const list_names[LIST_COUNT + 1] = {"topology", "npus_count", "bandwidth",
                                                       "latency", NULL};

struct reader {
    const char *path;
    yaml_document_t doc;
    const struct warn_sink *sink;
    struct err_info *e;
    yaml_node_t *list[LIST_COUNT];
};

static long line_of(const yaml_node_t *n)
{
    return (long)n->start_mark.line + 1;
}

static const char *text_of(const yaml_node_t *n)
{
    return n->type == YAML_SCALAR_NODE ? (const char *)n->data.scalar.value : "";
}

static int refuse(const struct reader *r, const yaml_node_t *n, enum list_key key,
                  const char *expected)
{
    return err_set(r->e, WH_ERR_INPUT, r->path, line_of(n), "%s: found \"%.64s\", expected %s",
                   list_names[key], text_of(n), expected);
}

static uint32_t entry_count(const yaml_node_t *list)
{
    return (uint32_t)(list->data.sequence.items.top - list->data.sequence.items.start);
}

static yaml_node_t *entry(struct reader *r, enum list_key key, uint32_t i)
{
    return yaml_document_get_node(&r->doc, r->list[key]->data.sequence.items.start[i]);
}

static int take_pair(struct reader *r, const yaml_node_pair_t *pair)
{
    const yaml_node_t *name = yaml_document_get_node(&r->doc, pair->key);
    yaml_node_t *value = yaml_document_get_node(&r->doc, pair->value);
    int key = 0;

    while (key < LIST_COUNT && strcmp(text_of(name), list_names[key]))
        key++;
    if (key == LIST_COUNT) {
        warn(r->sink, "%s:%ld: unknown key \"%.64s\" is ignored; the nearest known key is %s",
             r->path, line_of(name), text_of(name), text_nearest(text_of(name), list_names));
        return 0;
    }
    if (r->list[key])
        return err_set(r->e, WH_ERR_INPUT, r->path, line_of(name),
                       "found a second %s, expected each key once", list_names[key]);
    if (value->type != YAML_SEQUENCE_NODE || entry_count(value) == 0 ||
        entry_count(value) > ASTRA_DIMS_MAX)
        return err_set(r->e, WH_ERR_INPUT, r->path, line_of(value),
                       "%s: found no list of 1 to %d entries, expected one for each dimension",
                       list_names[key], ASTRA_DIMS_MAX);
    r->list[key] = value;
    return 0;
}

static int take_lists(struct reader *r)
{
    const yaml_node_t *root = yaml_document_get_root_node(&r->doc);

    if (!root || root->type != YAML_MAPPING_NODE)
        return err_input(r->e, r->path, 0, "no mapping",
                         "topology, npus_count, bandwidth and latency, a list each");
    for (const yaml_node_pair_t *p = root->data.mapping.pairs.start;
         p < root->data.mapping.pairs.top; p++) {
        int rc = take_pair(r, p);

        if (rc)
            return rc;
    }
    for (int k = 0; k < LIST_COUNT; k++) {
        if (!r->list[k])
            return err_set(r->e, WH_ERR_INPUT, r->path, 0,
                           "found no %s, expected a list with one entry for each dimension",
                           list_names[k]);
        if (entry_count(r->list[k]) != entry_count(r->list[0]))
            return err_set(r->e, WH_ERR_INPUT, r->path, line_of(r->list[k]),
                           "%s: found %u entries, expected %u as in topology", list_names[k],
                           entry_count(r->list[k]), entry_count(r->list[0]));
    }
    return 0;
}

static int read_kind(struct reader *r, uint32_t i, enum astra_net_kind *out)
{
    static const char *const names[] = {"Ring", "Switch", "FullyConnected"};
    const yaml_node_t *n = entry(r, LIST_TOPOLOGY, i);

    for (int k = 0; k <= ASTRA_NET_FULLY_CONNECTED; k++)
        if (!strcmp(text_of(n), names[k])) {
            *out = (enum astra_net_kind)k;
            return 0;
        }
    return refuse(r, n, LIST_TOPOLOGY, "Ring, Switch or FullyConnected");
}

static int read_npus(struct reader *r, uint32_t i, struct astra_network *net)
{
    const yaml_node_t *n = entry(r, LIST_NPUS, i);
    uint64_t count;

    if (text_uint(text_of(n), ASTRA_RANKS_MAX, &count) || count == 0)
        return refuse(r, n, LIST_NPUS, "a whole number of at least 1");
    if (count * net->npu_count > ASTRA_RANKS_MAX)
        return refuse(r, n, LIST_NPUS, "at most 2^31 NPUs in all dimensions");
    net->dim[i].npus = (uint32_t)count;
    net->npu_count *= (uint32_t)count;
    return 0;
}

static int read_speed(struct reader *r, uint32_t i, struct astra_net_dim *d)
{
    const yaml_node_t *bandwidth = entry(r, LIST_BANDWIDTH, i);
    const yaml_node_t *latency = entry(r, LIST_LATENCY, i);
    int64_t bytes_per_s;

    if (units_parse_decimal(text_of(bandwidth), 9, &bytes_per_s, NULL) || bytes_per_s <= 0 ||
        bytes_per_s > INT64_MAX / 8)
        return refuse(r, bandwidth, LIST_BANDWIDTH, "a number of GB/s above 0");
    if (units_parse_decimal(text_of(latency), 3, &d->latency_ps, NULL) || d->latency_ps < 0)
        return refuse(r, latency, LIST_LATENCY, "a number of ns, not negative");
    d->rate_bps = 8 * bytes_per_s;
    return 0;
}

static int read_dims(struct reader *r, struct astra_network *net)
{
    int rc = take_lists(r);

    net->npu_count = 1;
    net->dim_count = rc ? 0 : entry_count(r->list[0]);
    for (uint32_t i = 0; !rc && i < net->dim_count; i++) {
        rc = read_kind(r, i, &net->dim[i].kind);
        if (!rc)
            rc = read_npus(r, i, net);
        if (!rc)
            rc = read_speed(r, i, &net->dim[i]);
    }
    return rc;
}

/* The document, which the caller deletes. */
static int load(struct reader *r, FILE *f)
{
    yaml_parser_t parser;
    int rc = 0;

    if (!yaml_parser_initialize(&parser))
        return err_set(r->e, WH_ERR_NOMEM, r->path, 0, "out of memory");
    yaml_parser_set_input_file(&parser, f);
    if (!yaml_parser_load(&parser, &r->doc)) {
        const char *problem = parser.problem ? parser.problem : "unknown problem";

        rc = err_set(r->e, WH_ERR_INPUT, r->path, (long)parser.problem_mark.line + 1,
                     "found no valid YAML (%s), expected topology, npus_count, bandwidth and "
                     "latency",
                     problem);
    }
    yaml_parser_delete(&parser);
    return rc;
}

int astra_read_network(const char *path, struct astra_network *out, const struct warn_sink *sink,
                       struct err_info *e)
{
    struct reader r = {.path = path, .sink = sink, .e = e};
    struct astra_network net = {0};
    FILE *f = fopen(path, "rb");

    if (!f)
        return err_set(e, WH_ERR_INPUT, path, 0, "cannot be opened: %s", strerror(errno));
    snprintf(net.path, sizeof net.path, "%s", path);
    int rc = load(&r, f);

    fclose(f);
    if (rc)
        return rc;
    rc = read_dims(&r, &net);
    yaml_document_delete(&r.doc);
    if (!rc)
        *out = net;
    return rc;
}

static uint64_t count_links(const struct astra_network *n, uint32_t d)
{
    uint64_t npus = n->dim[d].npus, groups = n->npu_count / npus;

    switch (n->dim[d].kind) {
    case ASTRA_NET_RING:
        return groups * (npus > 2 ? npus : npus - 1);
    case ASTRA_NET_SWITCH:
        return groups * npus;
    case ASTRA_NET_FULLY_CONNECTED:
        break;
    }
    return groups * (npus * (npus - 1) / 2);
}

static int check_size(const struct astra_network *n, struct err_info *e)
{
    uint64_t links = 0;

    for (uint32_t d = 0; d < n->dim_count; d++) {
        uint64_t more = count_links(n, d);

        links = more > LINKS_MAX - links ? LINKS_MAX + 1 : links + more;
        if (links > LINKS_MAX)
            return err_set(e, WH_ERR_INPUT, n->path, 0,
                           "found a network of more than 2^26 links, expected fewer");
    }
    return 0;
}

/* One dimension of the graph that is being made. */
struct layer {
    struct topo *t;
    const struct astra_net_dim *dim;
    uint32_t stride; /* between neighbours of a group */
    uint32_t class_id;
    uint32_t switch_next;
};

/* The links of the group that begins at @first. */
static int link_group(struct layer *l, uint32_t first)
{
    uint32_t npus = l->dim->npus;
    int rc = 0;

    if (l->dim->kind == ASTRA_NET_SWITCH)
        topo_set_kind(l->t, l->switch_next, NODE_SWITCH);
    for (uint32_t i = 0; !rc && i < npus; i++) {
        uint32_t node = first + i * l->stride;

        if (l->dim->kind == ASTRA_NET_SWITCH)
            rc = topo_add_link(l->t, node, l->switch_next, l->class_id);
        else if (l->dim->kind == ASTRA_NET_RING && i + 1 < npus)
            rc = topo_add_link(l->t, node, node + l->stride, l->class_id);
        else if (l->dim->kind == ASTRA_NET_RING && npus > 2)
            rc = topo_add_link(l->t, node, first, l->class_id);
        for (uint32_t j = i + 1; !rc && l->dim->kind == ASTRA_NET_FULLY_CONNECTED && j < npus; j++)
            rc = topo_add_link(l->t, node, first + j * l->stride, l->class_id);
    }
    l->switch_next += l->dim->kind == ASTRA_NET_SWITCH;
    return rc;
}

/* All groups of dimension @d: nodes whose position in it is 0 begin one. */
static int link_dim(struct topo *t, const struct astra_network *n, uint32_t d, uint32_t stride,
                    uint32_t *switch_next)
{
    const struct link_class class = {.rate_bps = n->dim[d].rate_bps,
                                     .delay_ps = n->dim[d].latency_ps};
    int64_t row = topo_add_class(t, &class);
    struct layer l = {.t = t,
                      .dim = &n->dim[d],
                      .stride = stride,
                      .class_id = (uint32_t)row,
                      .switch_next = *switch_next};
    int rc = row < 0 ? WH_ERR_NOMEM : 0;

    for (uint32_t node = 0; !rc && node < n->npu_count; node++)
        if (node / stride % n->dim[d].npus == 0)
            rc = link_group(&l, node);
    *switch_next = l.switch_next;
    return rc;
}

static int link_all(struct topo *t, const struct astra_network *n)
{
    uint32_t switch_next = n->npu_count, stride = 1;
    int rc = 0;

    for (uint32_t d = 0; !rc && d < n->dim_count; d++) {
        rc = link_dim(t, n, d, stride, &switch_next);
        stride *= n->dim[d].npus;
    }
    return rc ? rc : topo_finish(t);
}

int astra_make_topology(const struct astra_network *n, struct topo **out, int *hosts_forward,
                        struct err_info *e)
{
    uint32_t switches = 0;
    int forward = n->dim_count > 1;
    struct topo *t = NULL;
    int rc = check_size(n, e);

    if (rc)
        return rc;
    for (uint32_t d = 0; d < n->dim_count; d++) {
        forward |= n->dim[d].kind == ASTRA_NET_RING && n->dim[d].npus > 3;
        if (n->dim[d].kind == ASTRA_NET_SWITCH)
            switches += n->npu_count / n->dim[d].npus;
    }
    if (topo_create(&t, n->npu_count + switches) || link_all(t, n)) {
        topo_destroy(t);
        return err_set(e, WH_ERR_NOMEM, n->path, 0, "out of memory");
    }
    *out = t;
    *hosts_forward = forward;
    return 0;
}
