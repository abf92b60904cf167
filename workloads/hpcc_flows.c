/*
 * hpcc_flows.c - flow lists, given paths and node lists of the HPCC simulator. Format and
 * differences: docs/formats.md.
 *
 * Start times are exact decimals in ps. The reference creates flows in the order of the file, and
 * source ports and ties in time follow that order, so sorting is stable.
 */
#include "hpcc_int.h"

#include "units.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PRIO_CONTROL 0
#define DPORT_NORMAL 100 /* label of ordinary traffic, for lists without a port column */
#define SPORT_MAX 65535
#define IDS_MAX (UINT32_MAX - 1)

enum { FLOW_COLS = 6, FLOW_COLS_NO_DPORT = 5 };

/* Column of each value in a flow line, by the number of columns. */
struct flow_layout {
    uint32_t col_count, dport, bytes, start; /* dport 0: no such column */
    const char *expected;
};

static const struct flow_layout layout_hpcc = {
    FLOW_COLS, 3, 4, 5, "6: <src> <dst> <priority> <dport> <bytes> <start seconds>"};
static const struct flow_layout layout_no_dport = {
    FLOW_COLS_NO_DPORT, 0, 3, 4, "5 as in the first flow: <src> <dst> <priority> <bytes> <start>"};

struct reader {
    struct textfile t;
    const struct topo *topo; /* may be NULL where only numbers are read */
    struct scenario *sc;
    const struct warn_sink *sink;
    struct err_info *e;
    const struct flow_layout *layout;
    uint32_t flow_first;                            /* flows that the scenario had before */
    long inexact_line, control_line, unsorted_line; /* first occurrences; 0: none */
};

static int refuse(struct reader *r, const char *what, const char *token, const char *expected)
{
    return textfile_refuse(&r->t, r->e, what, token, expected);
}

static int no_memory(const struct reader *r)
{
    return err_set(r->e, WH_ERR_NOMEM, r->t.path, 0, "out of memory");
}

int hpcc__read_count(struct textfile *t, const char *what, uint32_t *out, struct err_info *e)
{
    uint64_t count;
    int rc = textfile_next_line(t);

    if (rc < 0)
        return err_set(e, WH_ERR_NOMEM, t->path, 0, "out of memory");
    if (rc == 0)
        return err_set(e, WH_ERR_INPUT, t->path, 0,
                       "found an empty file, expected the number of %s", what);
    if (text_uint(t->token[0], IDS_MAX, &count))
        return textfile_refuse(t, e, "first line", t->token[0], "a number: how many lines follow");
    *out = (uint32_t)count;
    return 0;
}

static int parse_host(struct reader *r, const char *what, const char *token, uint32_t *out)
{
    char expected[64];
    uint64_t id;

    snprintf(expected, sizeof expected, "a node id, 0 to %u", r->topo->node_count - 1);
    if (text_uint(token, r->topo->node_count - 1, &id))
        return refuse(r, what, token, expected);
    if (r->topo->kind[id] != NODE_HOST)
        return refuse(r, what, token, "a host; that node is a switch");
    *out = (uint32_t)id;
    return 0;
}

static int parse_start(struct reader *r, const char *token, int64_t *out_ps)
{
    int inexact;
    int rc = units_parse_decimal(token, 12, out_ps, &inexact);

    if (rc == WH_ERR_LIMIT)
        return refuse(r, "start", token, "seconds below 9.2 million");
    if (rc || *out_ps < 0)
        return refuse(r, "start", token, "seconds as a decimal number, not negative");
    if (inexact && !r->inexact_line)
        r->inexact_line = r->t.line;
    return 0;
}

static int parse_label(struct reader *r, struct flow_spec *f)
{
    char *const *token = r->t.token;
    uint64_t prio, dport = DPORT_NORMAL;

    if (text_uint(token[2], CONFIG_PRIO_COUNT - 1, &prio))
        return refuse(r, "priority", token[2], "a queue, 0 to 7");
    if (r->layout->dport && text_uint(token[r->layout->dport], UINT16_MAX, &dport))
        return refuse(r, "destination port", token[r->layout->dport], "a port, 0 to 65535");
    if (prio == PRIO_CONTROL && !r->control_line)
        r->control_line = r->t.line;
    f->prio = (uint8_t)prio;
    f->dport = (uint16_t)dport;
    return 0;
}

static int parse_flow(struct reader *r, struct flow_spec *f)
{
    char *const *token = r->t.token;
    uint64_t bytes;

    memset(f, 0, sizeof *f);
    int rc = parse_host(r, "source", token[0], &f->src);

    if (!rc)
        rc = parse_host(r, "destination", token[1], &f->dst);
    if (rc)
        return rc;
    if (f->src == f->dst)
        return refuse(r, "a flow to itself, destination", token[1], "two different hosts");
    rc = parse_label(r, f);
    if (rc)
        return rc;
    if (text_uint(token[r->layout->bytes], INT64_MAX, &bytes))
        return refuse(r, "size", token[r->layout->bytes], "bytes, a whole number not below 0");
    f->bytes = (int64_t)bytes;
    return parse_start(r, token[r->layout->start], &f->start_ps);
}

/* The first flow decides how many columns all have. */
static int check_columns(struct reader *r)
{
    uint32_t cols = r->t.token_count;

    if (!r->layout && cols == FLOW_COLS_NO_DPORT) {
        r->layout = &layout_no_dport;
        warn(r->sink,
             "%s:%ld: five columns: read as <src> <dst> <priority> <bytes> <start>, destination "
             "port %d",
             r->t.path, r->t.line, DPORT_NORMAL);
    }
    if (!r->layout)
        r->layout = &layout_hpcc;
    if (cols != r->layout->col_count)
        return textfile_refuse_count(&r->t, r->e, cols, "columns", r->layout->expected);
    return 0;
}

static int read_flow(struct reader *r)
{
    struct flow_spec f;
    int rc = check_columns(r);

    if (!rc)
        rc = parse_flow(r, &f);
    if (rc)
        return rc;
    if (r->sc->flow_count > r->flow_first && !r->unsorted_line &&
        f.start_ps < r->sc->flows[r->sc->flow_count - 1].start_ps)
        r->unsorted_line = r->t.line;
    return scenario_add_flow(r->sc, &f) ? no_memory(r) : 0;
}

/* Sort key: start, then place in the file. */
struct flow_order {
    int64_t start_ps;
    uint32_t row;
};

static int compare_order(const void *a, const void *b)
{
    const struct flow_order *x = a, *y = b;

    if (x->start_ps != y->start_ps)
        return x->start_ps < y->start_ps ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

static int sort_flows(struct flow_spec *flows, uint32_t count)
{
    struct flow_order *order = malloc(count * sizeof *order);
    struct flow_spec *old = malloc(count * sizeof *old);

    if (!order || !old) {
        free(order);
        free(old);
        return WH_ERR_NOMEM;
    }
    memcpy(old, flows, count * sizeof *old);
    for (uint32_t i = 0; i < count; i++)
        order[i] = (struct flow_order){flows[i].start_ps, i};
    qsort(order, count, sizeof *order, compare_order);
    for (uint32_t i = 0; i < count; i++)
        flows[i] = old[order[i].row];
    free(order);
    free(old);
    return 0;
}

static int finish_flows(struct reader *r, uint32_t count)
{
    if (hpcc__warn_rest(&r->t, count, "flows", r->sink))
        return no_memory(r);
    if (r->inexact_line)
        warn(r->sink, "%s:%ld: start times are rounded to 1 ps", r->t.path, r->inexact_line);
    if (r->control_line)
        warn(r->sink,
             "%s:%ld: flows of priority 0 share the control queue: no ECN, no buffer limit",
             r->t.path, r->control_line);
    if (!r->unsorted_line)
        return 0;
    warn(r->sink,
         "%s:%ld: the flow starts before the one above it; the list is sorted by start (the HPCC "
         "simulator would stop here)",
         r->t.path, r->unsorted_line);
    return sort_flows(r->sc->flows + r->flow_first, count) ? no_memory(r) : 0;
}

static int read_flows(struct reader *r)
{
    uint32_t count, lines;
    int rc = hpcc__read_count(&r->t, "flows", &count, r->e);

    if (rc)
        return rc;
    if (r->t.token_count != 1)
        return textfile_refuse_count(&r->t, r->e, r->t.token_count, "columns",
                                     "1: the number of flows");
    lines = textfile_lines_left(&r->t);
    if (lines < count)
        return err_set(r->e, WH_ERR_INPUT, r->t.path, r->t.line,
                       "found %u lines behind this one, expected %u flows as declared", lines,
                       count);
    for (uint32_t i = 0; i < count; i++) {
        if (textfile_next_line(&r->t) <= 0)
            return no_memory(r);
        rc = read_flow(r);
        if (rc)
            return rc;
    }
    return finish_flows(r, count);
}

int hpcc_read_flows(const char *path, const struct topo *topo, struct scenario *sc,
                    const struct warn_sink *sink, struct err_info *e)
{
    struct reader r = {.topo = topo, .sc = sc, .sink = sink, .e = e, .flow_first = sc->flow_count};
    int rc = textfile_open(&r.t, path, e);

    if (!rc)
        rc = read_flows(&r);
    textfile_close(&r.t);
    if (rc)
        sc->flow_count = r.flow_first;
    return rc;
}

/* Nodes from token @*at up to the next "|" or the end of the line; *at moves behind it. */
static int read_path(struct reader *r, uint32_t flow_id, int is_ack, uint32_t *at)
{
    const struct topo *topo = r->sc->topo;
    uint64_t max = topo ? topo->node_count - 1 : IDS_MAX, id = 0;
    uint32_t nodes[64], count = 0; /* a packet of the reference dies after 64 hops */

    for (; *at < r->t.token_count && strcmp(r->t.token[*at], "|"); ++*at) {
        if (count == sizeof nodes / sizeof *nodes)
            return textfile_refuse_count(&r->t, r->e, count + 1, "nodes in a path", "at most 64");
        if (text_uint(r->t.token[*at], max, &id))
            return refuse(r, "node", r->t.token[*at], "the id of a node");
        nodes[count++] = (uint32_t)id;
    }
    ++*at;
    if (count < 2)
        return textfile_refuse_count(&r->t, r->e, count, "nodes in a path", "at least 2");
    const struct flow_spec *f = &r->sc->flows[flow_id];
    uint32_t from = is_ack ? f->dst : f->src, to = is_ack ? f->src : f->dst;

    if (nodes[0] != from || nodes[count - 1] != to)
        return err_set(r->e, WH_ERR_INPUT, r->t.path, r->t.line,
                       "found %s path from node %u to node %u, expected from %u to %u as flow %u",
                       is_ack ? "an ACK" : "a data", nodes[0], nodes[count - 1], from, to, flow_id);
    return scenario_add_path(r->sc, flow_id, is_ack, nodes, count) ? no_memory(r) : 0;
}

static int read_path_line(struct reader *r)
{
    static const char *const layout =
        "<flow> <source port> | <data path> | <ACK path>, paths as node ids";
    char *const *token = r->t.token;
    uint64_t flow_id, sport;
    uint32_t at = 3;

    if (r->t.token_count < 4 || strcmp(token[2], "|"))
        return textfile_refuse_count(&r->t, r->e, r->t.token_count, "columns", layout);
    if (!r->sc->flow_count || text_uint(token[0], r->sc->flow_count - 1, &flow_id))
        return refuse(r, "flow", token[0], "the number of a flow of the flow list, counted from 0");
    if (text_uint(token[1], SPORT_MAX, &sport))
        return refuse(r, "source port", token[1], "a port, 0 to 65535");
    int rc = read_path(r, (uint32_t)flow_id, 0, &at);

    if (!rc && at < r->t.token_count)
        rc = read_path(r, (uint32_t)flow_id, 1, &at);
    if (!rc && at < r->t.token_count)
        rc = refuse(r, "a third path at", token[at], layout);
    return rc;
}

int hpcc_read_paths(const char *path, struct scenario *sc, struct err_info *e)
{
    struct reader r = {.sc = sc, .e = e};
    int rc = textfile_open(&r.t, path, e);

    while (!rc) {
        rc = textfile_next_line(&r.t);
        if (rc <= 0)
            break;
        rc = r.t.token[0][0] == '#' ? 0 : read_path_line(&r);
    }
    if (rc == WH_ERR_NOMEM)
        no_memory(&r);
    textfile_close(&r.t);
    return rc;
}

static int read_nodes(struct reader *r)
{
    char expected[64];
    uint32_t count;
    int rc = hpcc__read_count(&r->t, "nodes", &count, r->e);

    if (rc)
        return rc;
    r->t.token_next = 1;
    snprintf(expected, sizeof expected, "a node id, 0 to %u", r->topo->node_count - 1);
    for (uint32_t i = 0; i < count; i++) {
        char *token;
        uint64_t id;

        rc = textfile_next_token(&r->t, &token);
        if (rc == 0)
            return err_set(r->e, WH_ERR_INPUT, r->t.path, r->t.line,
                           "found %u node ids, expected %u as declared", i, count);
        if (rc < 0)
            return no_memory(r);
        if (text_uint(token, r->topo->node_count - 1, &id))
            return refuse(r, "node", token, expected);
        if (scenario_add_filter(r->sc, (uint32_t)id))
            return no_memory(r);
    }
    if (r->t.token_next < r->t.token_count) {
        warn(r->sink, "%s:%ld: text behind the %u declared nodes is ignored", r->t.path, r->t.line,
             count);
        return 0;
    }
    return hpcc__warn_rest(&r->t, count, "nodes", r->sink) ? no_memory(r) : 0;
}

int hpcc__read_nodes(const char *path, const struct topo *topo, struct scenario *sc,
                     const struct warn_sink *sink, struct err_info *e)
{
    struct reader r = {.topo = topo, .sc = sc, .sink = sink, .e = e};
    uint32_t filter_first = sc->filter_count;
    int rc = textfile_open(&r.t, path, e);

    if (!rc)
        rc = read_nodes(&r);
    textfile_close(&r.t);
    if (rc)
        sc->filter_count = filter_first;
    return rc;
}

int hpcc_read_nodes(const char *path, const struct topo *topo, struct scenario *sc,
                    struct err_info *e)
{
    return hpcc__read_nodes(path, topo, sc, NULL, e);
}

int hpcc_write_flows(FILE *f, const struct flow_spec *flows, uint32_t flow_count)
{
    fprintf(f, "%u\n", flow_count);
    for (uint32_t i = 0; i < flow_count; i++) {
        const struct flow_spec *w = &flows[i];
        int64_t ps = w->start_ps % PS_PER_S;
        int is_ns = ps % PS_PER_NS == 0;

        /* 9 decimals as the reference's generators write, 12 where they are needed. */
        fprintf(f, "%u %u %u %u %" PRId64 " %" PRId64 ".%0*" PRId64 "\n", w->src, w->dst, w->prio,
                w->dport, w->bytes, w->start_ps / PS_PER_S, is_ns ? 9 : 12,
                is_ns ? ps / PS_PER_NS : ps);
    }
    return ferror(f) ? WH_ERR_IO : 0;
}
