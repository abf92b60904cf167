/*
 * scenario.c - the tables of a scenario, and its way into a simulation. See scenario.h.
 *
 * The tables keep no capacity of their own: it follows from the number of rows (calc_cap), so a
 * table that scenario_add_* grows must not be replaced by a smaller one.
 */
#include "scenario.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_FIRST 16u

void scenario_init(struct scenario *sc)
{
    memset(sc, 0, sizeof *sc);
    config_init(&sc->cfg);
}

void scenario_fini(struct scenario *sc)
{
    topo_destroy(sc->topo);
    free(sc->flows);
    free(sc->paths);
    free(sc->path_nodes);
    free(sc->stragglers);
    free(sc->filter_ids);
    free(sc->llm);
    free(sc->source_yaml);
    memset(sc, 0, sizeof *sc);
}

/* Room for @count rows in total; rows are never shrunk. */
static uint64_t calc_cap(uint32_t count)
{
    uint64_t cap = ROWS_FIRST;

    while (cap < count)
        cap *= 2;
    return cap;
}

/* Makes room for @more rows behind @count. Returns the table, moved or not, or NULL. */
static void *reserve_rows(void *rows, uint32_t count, uint32_t more, size_t row_bytes)
{
    if (more > UINT32_MAX - count)
        return NULL;
    uint64_t cap = calc_cap(count + more);

    if (rows && calc_cap(count) == cap)
        return rows;
    return cap > SIZE_MAX / row_bytes ? NULL : realloc(rows, (size_t)cap * row_bytes);
}

int scenario_add_flow(struct scenario *sc, const struct flow_spec *f)
{
    struct flow_spec *rows = reserve_rows(sc->flows, sc->flow_count, 1, sizeof *rows);

    if (!rows)
        return WH_ERR_NOMEM;
    sc->flows = rows;
    rows[sc->flow_count++] = *f;
    return 0;
}

int scenario_add_path(struct scenario *sc, uint32_t flow_id, int is_ack, const uint32_t *nodes,
                      uint32_t node_count)
{
    struct given_path *paths = reserve_rows(sc->paths, sc->path_count, 1, sizeof *paths);

    if (!paths)
        return WH_ERR_NOMEM;
    sc->paths = paths;
    uint32_t *rows = reserve_rows(sc->path_nodes, sc->path_node_count, node_count, sizeof *rows);

    if (!rows)
        return WH_ERR_NOMEM;
    sc->path_nodes = rows;
    if (node_count)
        memcpy(rows + sc->path_node_count, nodes, node_count * sizeof *rows);
    paths[sc->path_count++] = (struct given_path){.flow_id = flow_id,
                                                  .is_ack = is_ack != 0,
                                                  .node_first = sc->path_node_count,
                                                  .node_count = node_count};
    sc->path_node_count += node_count;
    return 0;
}

int scenario_add_filter(struct scenario *sc, uint32_t id)
{
    uint32_t *rows = reserve_rows(sc->filter_ids, sc->filter_count, 1, sizeof *rows);

    if (!rows)
        return WH_ERR_NOMEM;
    sc->filter_ids = rows;
    rows[sc->filter_count++] = id;
    return 0;
}

static int add_flows(const struct scenario *sc, struct sim *s, struct err_info *e)
{
    for (uint32_t i = 0; i < sc->flow_count; i++) {
        const struct flow_spec *f = &sc->flows[i];
        int rc = sim_add_flow(s, f, NULL);

        if (rc == WH_ERR_INPUT)
            return err_set(e, rc, sc->name, 0,
                           "found flow %u from node %u to node %u with %lld bytes, expected two "
                           "different hosts and a size and a start that are not negative",
                           i, f->src, f->dst, (long long)f->bytes);
        if (rc)
            return err_set(e, rc, sc->name, 0, "flow %u: %s", i, err_text(rc));
    }
    return 0;
}

static int set_paths(const struct scenario *sc, struct sim *s, struct err_info *e)
{
    for (uint32_t i = 0; i < sc->path_count; i++) {
        const struct given_path *p = &sc->paths[i];

        if (p->flow_id >= sc->flow_count)
            return err_set(e, WH_ERR_INPUT, sc->name, 0,
                           "found a path for flow %u, expected a flow below %u", p->flow_id,
                           sc->flow_count);
        int rc = sim_set_path(s, p->flow_id, p->is_ack, sc->path_nodes + p->node_first,
                              p->node_count, e);

        if (rc)
            return rc;
    }
    return 0;
}

static int set_stragglers(const struct scenario *sc, struct sim *s, struct err_info *e)
{
    for (uint32_t i = 0; i < sc->straggler_count; i++) {
        const struct straggler *g = &sc->stragglers[i];
        int rc = sim_set_straggler(s, g->host, g->factor, g->delay_ps);

        if (rc == WH_ERR_INPUT)
            return err_set(e, rc, sc->name, 0,
                           "found straggler node %u with factor %g, expected a host and a factor "
                           "above 0 and up to 1",
                           g->host, g->factor);
        if (rc)
            return err_set(e, rc, sc->name, 0, "straggler %u: %s", g->host, err_text(rc));
    }
    return 0;
}

int scenario_make_sim(struct scenario *sc, const struct warn_sink *sink, struct sim **out,
                      struct err_info *e)
{
    struct sim *s;

    if (!sc->topo)
        return err_set(e, WH_ERR_STATE, sc->name, 0, "the scenario has no topology");
    int rc = sim_create(&s, sc->topo, &sc->cfg, sink, e);

    if (rc)
        return rc;
    sc->topo = NULL;
    rc = set_stragglers(sc, s, e); /* before the flows, whose starts they shift */
    if (!rc)
        rc = add_flows(sc, s, e);
    if (!rc)
        rc = set_paths(sc, s, e);
    if (rc) {
        sim_destroy(s);
        return rc;
    }
    *out = s;
    return 0;
}
