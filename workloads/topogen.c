/*
 * topogen.c - generated topologies: names, defaults, checks and counts. The graphs themselves are
 * built in topogen_clos.c (trees) and topogen_direct.c (torus, dragonfly).
 */
#include "topogen_int.h"
#include "units.h"

#include <stdlib.h>
#include <string.h>

#define NODES_MAX (UINT64_C(1) << 30)
#define LINKS_MAX (UINT64_C(1) << 30) /* two ports each, ids are 32 bits */

static const char *const kind_names[TOPO_KIND_COUNT] = {
    [TOPO_SINGLE_SWITCH] = "single-switch",
    [TOPO_DUMBBELL] = "dumbbell",
    [TOPO_LEAF_SPINE] = "leaf-spine",
    [TOPO_FAT_TREE] = "fat-tree",
    [TOPO_CLOS3] = "clos3",
    [TOPO_RAIL] = "rail",
    [TOPO_TORUS] = "torus",
    [TOPO_DRAGONFLY] = "dragonfly",
};

const char *topo_kind_name(enum topo_kind k)
{
    return (unsigned)k < TOPO_KIND_COUNT ? kind_names[k] : "unknown";
}

int topo_kind_from_name(const char *name, enum topo_kind *out)
{
    for (unsigned k = 0; k < TOPO_KIND_COUNT; k++) {
        if (strcmp(name, kind_names[k]) == 0) {
            *out = (enum topo_kind)k;
            return 0;
        }
    }
    return WH_ERR_INPUT;
}

static void init_sizes(struct topo_spec *s)
{
    switch (s->kind) {
    case TOPO_SINGLE_SWITCH:
    case TOPO_DUMBBELL:
        s->hosts = 8;
        s->cross_links = 1;
        break;
    case TOPO_LEAF_SPINE:
        s->leaves = 4;
        s->spines = 2;
        s->uplinks_per_spine = 1;
        break;
    case TOPO_FAT_TREE:
        s->k = 4;
        break;
    case TOPO_CLOS3:
        s->pods = 2;
        s->leaves_per_pod = s->aggs_per_pod = 2;
        s->cores = s->hosts_per_leaf = 4;
        break;
    case TOPO_RAIL:
        s->hosts = 32;
        s->gpus_per_server = 8;
        s->servers_per_segment = s->spines = 64;
        s->nvswitches_per_server = 1;
        s->nvlink = (struct link_class){INT64_C(2880000000000), 25 * PS_PER_NS, 0};
        break;
    case TOPO_TORUS:
        s->dim_count = 2;
        s->dims[0] = s->dims[1] = 4;
        break;
    case TOPO_DRAGONFLY:
        s->group_switches = 4;
        s->hosts_per_switch = s->global_links = 2;
        break;
    case TOPO_KIND_COUNT:
        break;
    }
}

void topo_spec_init(struct topo_spec *s, enum topo_kind kind)
{
    memset(s, 0, sizeof *s);
    s->kind = kind;
    s->host_link = (struct link_class){INT64_C(100000000000), PS_PER_US, 0};
    init_sizes(s);
}

/* A size that must be in lo..NODES_MAX. */
static int want(uint32_t value, const char *name, uint32_t lo, const struct topo_spec *s,
                struct err_info *e)
{
    if (value >= lo && value <= NODES_MAX)
        return 0;
    return err_set(e, WH_ERR_INPUT, NULL, 0, "%s: found %s %u, expected %u to %llu",
                   topo_kind_name(s->kind), name, value, lo, (unsigned long long)NODES_MAX);
}

static int want_class(const struct link_class *c, const char *name, struct err_info *e)
{
    if (c->rate_bps <= 0)
        return err_set(e, WH_ERR_INPUT, NULL, 0,
                       "found a rate of %lld bit/s for %s, expected more than 0",
                       (long long)c->rate_bps, name);
    if (c->delay_ps < 0)
        return err_set(e, WH_ERR_INPUT, NULL, 0,
                       "found a delay of %lld ps for %s, expected 0 or more",
                       (long long)c->delay_ps, name);
    if (!(c->error_rate >= 0 && c->error_rate <= 1))
        return err_set(e, WH_ERR_INPUT, NULL, 0,
                       "found an error rate of %g for %s, expected 0 to 1", c->error_rate, name);
    return 0;
}

static int resolve_dumbbell(struct topo_spec *s, struct topo_counts *n, struct err_info *e)
{
    if (want(s->hosts, "hosts", 2, s, e) || want(s->cross_links, "cross_links", 1, s, e))
        return WH_ERR_INPUT;
    if (s->hosts % 2)
        return err_set(e, WH_ERR_INPUT, NULL, 0,
                       "dumbbell: found hosts %u, expected an even number (half on each side)",
                       s->hosts);
    *n = (struct topo_counts){s->hosts, 2, (uint64_t)s->hosts + s->cross_links};
    return 0;
}

/* hosts and hosts_per_leaf are given together, or one follows from the other. */
static int resolve_leaf_spine(struct topo_spec *s, struct topo_counts *n, struct err_info *e)
{
    if (want(s->leaves, "leaves", 1, s, e) || want(s->spines, "spines", 1, s, e) ||
        want(s->uplinks_per_spine, "uplinks_per_spine", 1, s, e))
        return WH_ERR_INPUT;
    if (s->hosts && s->hosts % s->leaves)
        return err_set(e, WH_ERR_INPUT, NULL, 0,
                       "leaf-spine: found %u hosts on %u leaves, expected a multiple of the leaves",
                       s->hosts, s->leaves);
    if (!s->hosts_per_leaf)
        s->hosts_per_leaf = s->hosts ? s->hosts / s->leaves : 4;
    const uint64_t hosts = (uint64_t)s->leaves * s->hosts_per_leaf;
    if (s->hosts && s->hosts != hosts)
        return err_set(e, WH_ERR_INPUT, NULL, 0,
                       "leaf-spine: found %u hosts, expected leaves x hosts_per_leaf = %u x %u",
                       s->hosts, s->leaves, s->hosts_per_leaf);
    *n = (struct topo_counts){hosts, (uint64_t)s->leaves + s->spines, 0};
    if (n->switches <= NODES_MAX) /* then the product fits */
        n->links = (uint64_t)s->leaves * s->spines;
    n->links = n->links > LINKS_MAX ? n->links : n->links * s->uplinks_per_spine;
    n->links += hosts;
    if (hosts <= NODES_MAX)
        s->hosts = (uint32_t)hosts;
    return 0;
}

/* A product that stops growing once it is past every limit. */
static uint64_t capped_mul(uint64_t a, uint64_t b)
{
    const uint64_t cap = UINT64_C(1) << 40;

    if (a == 0 || b == 0)
        return 0;
    return a > cap / b ? cap : a * b;
}

static void count_clos3(const struct topo_spec *s, struct topo_counts *n)
{
    const uint64_t leaves = capped_mul(s->pods, s->leaves_per_pod);
    const uint64_t aggs = capped_mul(s->pods, s->aggs_per_pod);

    n->hosts = capped_mul(leaves, s->hosts_per_leaf);
    n->switches = leaves + aggs + s->cores;
    n->links = n->hosts + capped_mul(leaves, s->aggs_per_pod) + capped_mul(s->pods, s->cores);
}

static int resolve_clos3(struct topo_spec *s, struct topo_counts *n, struct err_info *e)
{
    if (want(s->pods, "pods", 1, s, e) || want(s->leaves_per_pod, "leaves_per_pod", 1, s, e) ||
        want(s->aggs_per_pod, "aggs_per_pod", 1, s, e) || want(s->cores, "cores", 1, s, e) ||
        want(s->hosts_per_leaf, "hosts_per_leaf", 1, s, e))
        return WH_ERR_INPUT;
    if (s->cores % s->aggs_per_pod)
        return err_set(
            e, WH_ERR_INPUT, NULL, 0,
            "clos3: found %u cores with %u aggs_per_pod, expected a multiple (each aggregation "
            "switch of a pod has its own plane of cores)",
            s->cores, s->aggs_per_pod);
    count_clos3(s, n);
    return 0;
}

static int resolve_fat_tree(struct topo_spec *s, struct topo_counts *n, struct err_info *e)
{
    if (s->k < 2 || s->k % 2 || s->k > 1024)
        return err_set(e, WH_ERR_INPUT, NULL, 0,
                       "fat-tree: found k %u, expected an even number from 2 to 1024", s->k);
    s->pods = s->k;
    s->leaves_per_pod = s->aggs_per_pod = s->hosts_per_leaf = s->k / 2;
    s->cores = s->k * s->k / 4;
    count_clos3(s, n);
    return 0;
}

static int resolve_rail(struct topo_spec *s, struct topo_counts *n, struct err_info *e)
{
    if (want(s->hosts, "hosts", 1, s, e) || want(s->gpus_per_server, "gpus_per_server", 1, s, e) ||
        want(s->servers_per_segment, "servers_per_segment", 1, s, e) ||
        want(s->spines, "spines", 1, s, e) ||
        want(s->uplinks_per_spine ? s->uplinks_per_spine : 1, "uplinks_per_spine", 1, s, e))
        return WH_ERR_INPUT;
    if (s->hosts % s->gpus_per_server)
        return err_set(e, WH_ERR_INPUT, NULL, 0,
                       "rail: found %u hosts in servers of %u GPUs, expected a multiple", s->hosts,
                       s->gpus_per_server);
    const int has_nvlink = s->nvlink.rate_bps != 0;
    if (has_nvlink && (want_class(&s->nvlink, "nvlink", e) ||
                       want(s->nvswitches_per_server, "nvswitches_per_server", 1, s, e)))
        return WH_ERR_INPUT;
    if (!s->uplinks_per_spine)
        s->uplinks_per_spine = 1;
    const uint32_t servers = s->hosts / s->gpus_per_server;
    const uint32_t segments = (servers - 1) / s->servers_per_segment + 1;
    const uint64_t leaves = capped_mul(segments, s->gpus_per_server);
    const uint64_t nvs = has_nvlink ? s->nvswitches_per_server : 0;
    n->hosts = s->hosts;
    n->switches = capped_mul(servers, nvs) + leaves + s->spines;
    n->links = s->hosts + capped_mul(s->hosts, nvs) +
               capped_mul(capped_mul(leaves, s->spines), s->uplinks_per_spine);
    return 0;
}

static int resolve_torus(struct topo_spec *s, struct topo_counts *n, struct err_info *e)
{
    const uint32_t dims_max = sizeof s->dims / sizeof s->dims[0];

    if (s->dim_count < 1 || s->dim_count > dims_max)
        return err_set(e, WH_ERR_INPUT, NULL, 0, "torus: found %u dimensions, expected 1 to %u",
                       s->dim_count, dims_max);
    uint64_t hosts = 1;
    for (uint32_t d = 0; d < s->dim_count; d++) {
        if (want(s->dims[d], "dimension", 1, s, e))
            return WH_ERR_INPUT;
        hosts = capped_mul(hosts, s->dims[d]);
    }
    *n = (struct topo_counts){hosts, hosts, hosts};
    for (uint32_t d = 0; d < s->dim_count; d++) /* two switches in a row share one link, not two */
        n->links += s->dims[d] > 2 ? hosts : s->dims[d] == 2 ? hosts / 2 : 0;
    return 0;
}

static int resolve_dragonfly(struct topo_spec *s, struct topo_counts *n, struct err_info *e)
{
    if (want(s->group_switches, "group_switches", 1, s, e) ||
        want(s->hosts_per_switch, "hosts_per_switch", 1, s, e))
        return WH_ERR_INPUT;
    const uint64_t ports =
        (uint64_t)s->group_switches * s->global_links; /* global ones of a group */
    if (ports >= NODES_MAX)
        return err_set(e, WH_ERR_LIMIT, NULL, 0,
                       "dragonfly: found %llu global links per group, expected "
                       "less than %llu",
                       (unsigned long long)ports, (unsigned long long)NODES_MAX);
    if (!s->groups)
        s->groups = (uint32_t)ports + 1;
    if (s->groups == 1 ? ports != 0 : (ports == 0 || ports % (s->groups - 1) != 0))
        return err_set(
            e, WH_ERR_INPUT, NULL, 0,
            "dragonfly: found %u groups with %u x %u global links each, expected group_switches x "
            "global_links to be a multiple of groups - 1",
            s->groups, s->group_switches, s->global_links);
    const uint64_t switches = capped_mul(s->groups, s->group_switches);
    n->hosts = capped_mul(switches, s->hosts_per_switch);
    n->switches = switches;
    n->links = n->hosts + capped_mul(switches, s->group_switches - 1) / 2 +
               capped_mul(s->groups, ports) / 2;
    return 0;
}

static int resolve_kind(struct topo_spec *s, struct topo_counts *n, struct err_info *e)
{
    switch (s->kind) {
    case TOPO_SINGLE_SWITCH:
        if (want(s->hosts, "hosts", 1, s, e))
            return WH_ERR_INPUT;
        *n = (struct topo_counts){s->hosts, 1, s->hosts};
        return 0;
    case TOPO_DUMBBELL:
        return resolve_dumbbell(s, n, e);
    case TOPO_LEAF_SPINE:
        return resolve_leaf_spine(s, n, e);
    case TOPO_FAT_TREE:
        return resolve_fat_tree(s, n, e);
    case TOPO_CLOS3:
        return resolve_clos3(s, n, e);
    case TOPO_RAIL:
        return resolve_rail(s, n, e);
    case TOPO_TORUS:
        return resolve_torus(s, n, e);
    case TOPO_DRAGONFLY:
        return resolve_dragonfly(s, n, e);
    case TOPO_KIND_COUNT:
        break;
    }
    return err_set(e, WH_ERR_INPUT, NULL, 0,
                   "found topology kind %d, expected one of the enumeration", (int)s->kind);
}

int topo_spec_resolve(struct topo_spec *s, struct topo_counts *n, struct err_info *e)
{
    struct topo_spec r = *s;
    struct topo_counts c = {0, 0, 0};

    if (r.fabric_link.rate_bps == 0)
        r.fabric_link = r.host_link;
    if (want_class(&r.host_link, "host_link", e) || want_class(&r.fabric_link, "fabric_link", e))
        return WH_ERR_INPUT;
    const int rc = resolve_kind(&r, &c, e);
    if (rc)
        return rc;
    if (c.hosts + c.switches > NODES_MAX || c.links > LINKS_MAX)
        return err_set(e, WH_ERR_LIMIT, NULL, 0,
                       "%s: found more than %llu nodes or links, expected a smaller topology",
                       topo_kind_name(r.kind), (unsigned long long)NODES_MAX);
    *s = r;
    *n = c;
    return 0;
}

void topogen__link(struct topo_builder *b, uint32_t from, uint32_t to, uint32_t class_id)
{
    if (b->rc == 0)
        b->rc = topo_add_link(b->t, from, to, class_id);
}

static uint32_t add_class(struct topo_builder *b, const struct link_class *c)
{
    const int64_t row = topo_add_class(b->t, c);

    if (row < 0)
        b->rc = (int)row;
    return row < 0 ? 0 : (uint32_t)row;
}

static void build(struct topo_builder *b, const struct topo_spec *s)
{
    static void (*const builders[TOPO_KIND_COUNT])(struct topo_builder *,
                                                   const struct topo_spec *) = {
        [TOPO_SINGLE_SWITCH] = topogen__single,  [TOPO_DUMBBELL] = topogen__dumbbell,
        [TOPO_LEAF_SPINE] = topogen__leaf_spine, [TOPO_FAT_TREE] = topogen__clos3,
        [TOPO_CLOS3] = topogen__clos3,           [TOPO_RAIL] = topogen__rail,
        [TOPO_TORUS] = topogen__torus,           [TOPO_DRAGONFLY] = topogen__dragonfly,
    };

    b->host_class = add_class(b, &s->host_link);
    b->fabric_class = add_class(b, &s->fabric_link);
    if (s->kind == TOPO_RAIL && s->nvlink.rate_bps != 0)
        b->nvlink_class = add_class(b, &s->nvlink);
    if (b->rc == 0)
        builders[s->kind](b, s);
}

int topo_generate(const struct topo_spec *spec, struct topo **out, struct err_info *e)
{
    struct topo_spec s = *spec;
    struct topo_counts n;
    struct topo_builder b = {0};
    const int rc = topo_spec_resolve(&s, &n, e);

    if (rc)
        return rc;
    b.rc = topo_create(&b.t, (uint32_t)(n.hosts + n.switches));
    if (b.rc)
        goto fail;
    for (uint64_t node = n.hosts; node < n.hosts + n.switches; node++)
        topo_set_kind(b.t, (uint32_t)node, NODE_SWITCH);
    build(&b, &s);
    if (b.rc == 0)
        b.rc = topo_finish(b.t);
    if (b.rc)
        goto fail;
    check(b.t->link_count == n.links, "%s: %u links, %llu counted", topo_kind_name(s.kind),
          b.t->link_count, (unsigned long long)n.links);
    *out = b.t;
    return 0;
fail:
    topo_destroy(b.t);
    return err_set(e, b.rc, NULL, 0, "no memory for a topology of %llu nodes and %llu links",
                   (unsigned long long)(n.hosts + n.switches), (unsigned long long)n.links);
}
