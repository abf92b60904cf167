/*
 * astra.c - logical topology, communicator groups and remote memory of ASTRA-sim, and the numbers
 * of ranks that the files of a run have to agree on.
 */
#include "astra.h"

#include "chakra.h"
#include "json_file.h"
#include "textfile.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void set_path(char *out, size_t out_bytes, const char *path)
{
    snprintf(out, out_bytes, "%s", path);
}

static int read_dim(const struct json_file *f, const json_t *value, struct astra_logical *l)
{
    uint64_t dim;

    if (json_file_get_uint(value, ASTRA_RANKS_MAX, &dim) || dim == 0)
        return json_file_refuse(f, "logical-dims", value, "sizes of at least 1, as [\"8\", \"2\"]");
    if (dim * l->rank_count > ASTRA_RANKS_MAX)
        return json_file_refuse(f, "logical-dims", value, "at most 2^31 ranks in all dimensions");
    l->dim[l->dim_count++] = (uint32_t)dim;
    l->rank_count *= (uint32_t)dim;
    return 0;
}

static int read_logical(const struct json_file *f, struct astra_logical *l)
{
    const json_t *dims = json_object_get(f->root, "logical-dims");
    size_t count = json_array_size(dims);

    if (!json_is_array(dims) || count == 0 || count > ASTRA_DIMS_MAX)
        return json_file_refuse(f, "logical-dims", dims,
                                "a list of 1 to 16 sizes, as [\"8\", \"2\"]");
    l->rank_count = 1;
    for (size_t i = 0; i < count; i++) {
        int rc = read_dim(f, json_array_get(dims, i), l);

        if (rc)
            return rc;
    }
    return 0;
}

int astra_read_logical(const char *path, struct astra_logical *out, const struct warn_sink *sink,
                       struct err_info *e)
{
    static const char *const known[] = {"logical-dims", NULL};
    struct astra_logical l = {0};
    struct json_file f;
    int rc = json_file_open(&f, path, e);

    set_path(l.path, sizeof l.path, path);
    if (!rc)
        rc = read_logical(&f, &l);
    if (!rc) {
        json_file_warn_unknown(&f, known, NULL, sink);
        *out = l;
    }
    json_file_close(&f);
    return rc;
}

void astra_default_logical(uint32_t rank_count, struct astra_logical *out,
                           const struct warn_sink *sink)
{
    *out = (struct astra_logical){.dim_count = 1, .dim = {rank_count}, .rank_count = rank_count};
    warn(sink, "no logical topology: one dimension of %u ranks is assumed", rank_count);
}

/* Room for the numbers of @member_total members in @group_total groups. */
static int create_groups(struct astra_groups *g, size_t group_total, size_t member_total)
{
    g->groups = calloc(group_total + 1, sizeof *g->groups);
    g->ranks = calloc(member_total + 1, sizeof *g->ranks);
    return g->groups && g->ranks ? 0 : WH_ERR_NOMEM;
}

void astra_groups_fini(struct astra_groups *g)
{
    free(g->groups);
    free(g->ranks);
    *g = (struct astra_groups){0};
}

static int compare_u32(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

/* Is a rank in the group twice? Returns 1, 0 or WH_ERR_NOMEM. */
static int has_repeated(const uint32_t *ranks, uint32_t count)
{
    uint32_t *sorted = malloc(((size_t)count + 1) * sizeof *sorted);
    int repeated = 0;

    if (!sorted)
        return WH_ERR_NOMEM;
    memcpy(sorted, ranks, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare_u32);
    for (uint32_t i = 1; i < count; i++)
        repeated |= sorted[i] == sorted[i - 1];
    free(sorted);
    return repeated;
}

/* Appends a group; @members is an array of ranks. Returns WH_ERR_INPUT without a message. */
static int add_group(struct astra_groups *g, uint64_t id, const json_t *members)
{
    uint32_t count = (uint32_t)json_array_size(members);
    struct astra_group *row = &g->groups[g->group_count];

    for (uint32_t i = 0; i < count; i++) {
        uint64_t rank;

        if (json_file_get_uint(json_array_get(members, i), ASTRA_RANKS_MAX - 1, &rank))
            return WH_ERR_INPUT;
        g->ranks[g->rank_total + i] = (uint32_t)rank;
    }
    int repeated = has_repeated(g->ranks + g->rank_total, count);

    if (repeated)
        return repeated > 0 ? WH_ERR_INPUT : repeated;
    *row =
        (struct astra_group){.id = (uint32_t)id, .rank_first = g->rank_total, .rank_count = count};
    g->group_count++;
    g->rank_total += count;
    return 0;
}

static int compare_groups(const void *a, const void *b)
{
    return compare_u32(&((const struct astra_group *)a)->id, &((const struct astra_group *)b)->id);
}

/* "01" and "1" are two keys of the file and one group. */
static int sort_groups(struct astra_groups *g, const char *name, struct err_info *e)
{
    if (g->group_count)
        qsort(g->groups, g->group_count, sizeof *g->groups, compare_groups);
    for (uint32_t i = 1; i < g->group_count; i++)
        if (g->groups[i].id == g->groups[i - 1].id)
            return err_set(e, WH_ERR_INPUT, name, 0,
                           "found two groups with id %u, expected each id once", g->groups[i].id);
    return 0;
}

static int read_group(const struct json_file *f, const char *key, const json_t *value,
                      struct astra_groups *g)
{
    uint64_t id;

    if (text_uint(key, UINT32_MAX, &id) || id == 0)
        return json_file_refuse(f, key, value, "ids that are whole numbers from 1 on, as \"1\"");
    if (!json_is_array(value) || json_array_size(value) == 0)
        return json_file_refuse(f, key, value, "a list of at least one rank");
    int rc = add_group(g, id, value);

    if (rc == WH_ERR_INPUT)
        return json_file_refuse(f, key, value, "a list of ranks, each once");
    return rc ? err_set(f->e, rc, f->path, 0, "%s", err_text(rc)) : 0;
}

static int read_groups(const struct json_file *f, struct astra_groups *g)
{
    size_t member_total = 0;
    const char *key;
    json_t *value;

    json_object_foreach(f->root, key, value) member_total += json_array_size(value);
    if (create_groups(g, json_object_size(f->root), member_total))
        return err_set(f->e, WH_ERR_NOMEM, f->path, 0, "out of memory");
    json_object_foreach(f->root, key, value)
    {
        int rc = read_group(f, key, value, g);

        if (rc)
            return rc;
    }
    return sort_groups(g, f->path, f->e);
}

int astra_read_groups(const char *path, struct astra_groups *out, const struct warn_sink *sink,
                      struct err_info *e)
{
    struct astra_groups g = {0};
    struct json_file f;

    if (!strcmp(path, "empty")) {
        *out = g;
        return 0;
    }
    set_path(g.path, sizeof g.path, path);
    int rc = json_file_open(&f, path, e);

    if (!rc)
        rc = read_groups(&f, &g);
    json_file_close(&f);
    if (rc) {
        astra_groups_fini(&g);
        return rc;
    }
    if (g.group_count == 0)
        warn(sink, "%s: no groups: all communication is among all ranks", path);
    *out = g;
    return 0;
}

static int add_framework_groups(struct astra_groups *g, const json_t *list)
{
    size_t index;
    json_t *entry;

    json_array_foreach(list, index, entry)
    {
        const json_t *name = json_object_get(entry, "pg_name");
        const json_t *ranks = json_object_get(entry, "ranks");
        uint64_t id;

        if (json_file_get_uint(name, UINT32_MAX, &id) || id == 0 || json_array_size(ranks) == 0)
            continue;
        int rc = add_group(g, id, ranks);

        if (rc)
            return rc;
    }
    return 0;
}

int astra_parse_groups(const char *name, const char *json, struct astra_groups *out,
                       struct err_info *e)
{
    struct astra_groups g = {0};
    size_t member_total = 0, index;
    json_error_t error;
    json_t *entry, *list = json_loads(json, 0, &error);

    set_path(g.path, sizeof g.path, name);
    if (!json_is_array(list)) {
        json_decref(list);
        return err_set(e, WH_ERR_INPUT, name, 0,
                       "found process groups that are no JSON list (%s), expected a list",
                       list ? "another value" : error.text);
    }
    json_array_foreach(list, index, entry) member_total +=
        json_array_size(json_object_get(entry, "ranks"));
    int rc = create_groups(&g, json_array_size(list), member_total);

    if (!rc)
        rc = add_framework_groups(&g, list);
    json_decref(list);
    if (rc == WH_ERR_INPUT)
        err_set(e, rc, name, 0,
                "found a process group that is no list of ranks, expected each "
                "rank once");
    else if (rc)
        err_set(e, rc, name, 0, "%s", err_text(rc));
    else
        rc = sort_groups(&g, name, e);
    if (rc)
        astra_groups_fini(&g);
    else
        *out = g;
    return rc;
}

const struct astra_group *astra_find_group(const struct astra_groups *g, const char *pg_name)
{
    struct astra_group key;
    uint64_t id;

    if (!g->group_count || text_uint(pg_name, UINT32_MAX, &id))
        return NULL;
    key.id = (uint32_t)id;
    return bsearch(&key, g->groups, g->group_count, sizeof *g->groups, compare_groups);
}

int astra_is_all(const char *pg_name)
{
    return !*pg_name || !strcmp(pg_name, "0");
}

static int read_uint_key(const struct json_file *f, const char *key, uint32_t *out)
{
    const json_t *value = json_object_get(f->root, key);
    uint64_t number;

    if (json_file_get_uint(value, ASTRA_RANKS_MAX, &number) || number == 0)
        return json_file_refuse(f, key, value, "a whole number of at least 1");
    *out = (uint32_t)number;
    return 0;
}

static int read_memory_speed(const struct json_file *f, struct astra_memory *m)
{
    const json_t *latency = json_object_get(f->root, "remote-mem-latency");
    const json_t *bw = json_object_get(f->root, "remote-mem-bw");
    double ns;

    if (json_file_get_real(latency, &ns) || ns > 1e15)
        return json_file_refuse(f, "remote-mem-latency", latency, "a number of ns");
    if (json_file_get_real(bw, &m->gbps) || m->gbps <= 0)
        return json_file_refuse(f, "remote-mem-bw", bw, "a number of GB/s above 0");
    m->latency_ps = llround(ns * 1000);
    return 0;
}

static int read_memory(const struct json_file *f, struct astra_memory *m)
{
    static const char *const names[] = {"NO_MEMORY_EXPANSION", "PER_NODE_MEMORY_EXPANSION",
                                        "PER_NPU_MEMORY_EXPANSION", "MEMORY_POOL"};
    const json_t *type = json_object_get(f->root, "memory-type");
    const char *name = json_string_value(type);
    int kind = 0;

    while (name && kind <= ASTRA_MEMORY_POOL && strcmp(name, names[kind]))
        kind++;
    if (!name || kind > ASTRA_MEMORY_POOL)
        return json_file_refuse(f, "memory-type", type,
                                "NO_MEMORY_EXPANSION, PER_NODE_MEMORY_EXPANSION, "
                                "PER_NPU_MEMORY_EXPANSION or MEMORY_POOL");
    m->kind = (enum astra_memory_kind)kind;
    int rc = m->kind == ASTRA_MEMORY_NONE ? 0 : read_memory_speed(f, m);

    if (!rc && m->kind == ASTRA_MEMORY_PER_NODE)
        rc = read_uint_key(f, "num-nodes", &m->node_count);
    if (!rc && m->kind == ASTRA_MEMORY_PER_NODE)
        rc = read_uint_key(f, "num-npus-per-node", &m->npus_per_node);
    return rc;
}

int astra_read_memory(const char *path, struct astra_memory *out, const struct warn_sink *sink,
                      struct err_info *e)
{
    static const char *const known[] = {"memory-type",   "num-nodes",          "num-npus-per-node",
                                        "remote-mem-bw", "remote-mem-latency", NULL};
    struct astra_memory m = {0};
    struct json_file f;
    int rc = json_file_open(&f, path, e);

    if (!rc)
        rc = read_memory(&f, &m);
    if (!rc) {
        json_file_warn_unknown(&f, known, NULL, sink);
        *out = m;
    }
    json_file_close(&f);
    return rc;
}

/* One more than the largest rank that is a member of a group; 0 without groups. */
static uint32_t count_group_ranks(const struct astra_groups *g)
{
    uint32_t count = 0;

    for (uint32_t i = 0; g && i < g->rank_total; i++)
        if (g->ranks[i] >= count)
            count = g->ranks[i] + 1;
    return count;
}

int astra_check_ranks(const struct astra_ranks *r, struct err_info *e)
{
    uint32_t group_ranks = count_group_ranks(r->groups);
    char groups[64] = "no groups";

    if (r->trace_count == r->logical->rank_count && r->trace_count == r->network_hosts &&
        group_ranks <= r->trace_count)
        return 0;
    if (group_ranks)
        snprintf(groups, sizeof groups, "groups of ranks 0 to %u", group_ranks - 1);
    return err_set(
        e, WH_ERR_INPUT, r->prefix, 0,
        "found %u trace files, a logical topology of %u ranks, a network of %u hosts and "
        "%s, expected the same number of ranks in all",
        r->trace_count, r->logical->rank_count, r->network_hosts, groups);
}

int astra_read_ns3(const char *path, const struct hpcc_override *overrides, uint32_t override_count,
                   struct scenario *sc, const struct warn_sink *sink, struct err_info *e)
{
    return hpcc_load_conf(path, overrides, override_count, sc, sink, e);
}

static int has_member(const struct astra_groups *g, const struct astra_group *group, uint32_t rank)
{
    for (uint32_t i = 0; i < group->rank_count; i++)
        if (g->ranks[group->rank_first + i] == rank)
            return 1;
    return 0;
}

static int check_trace_groups(const struct et_trace *t, const struct astra_groups *g,
                              struct err_info *e)
{
    const struct astra_group *known = NULL; /* the last group that was found right */

    for (uint32_t i = 0; i < t->node_count; i++) {
        const struct et_node *n = &t->nodes[i];
        const char *name = et_text(t, n->group);

        if (astra_is_all(name))
            continue;
        const struct astra_group *group = astra_find_group(g, name);

        if (!group)
            return err_set(e, WH_ERR_INPUT, t->path, 0,
                           "node %" PRIu64 ": found pg_name \"%.64s\", expected a group of %s",
                           n->id, name, g->path[0] ? g->path : "a communicator file");
        if (group != known && !has_member(g, group, t->rank))
            return err_set(e, WH_ERR_INPUT, t->path, 0,
                           "node %" PRIu64 ": found pg_name \"%.64s\", expected a group that has "
                           "rank %u in it",
                           n->id, name, t->rank);
        known = group;
    }
    return 0;
}

int astra_check_groups(const struct et_set *traces, const struct astra_groups *g,
                       struct err_info *e)
{
    int rc = 0;

    for (uint32_t r = 0; !rc && r < traces->rank_count; r++)
        rc = check_trace_groups(traces->trace[r], g, e);
    return rc;
}
