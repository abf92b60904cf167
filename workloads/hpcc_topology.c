/*
 * hpcc_topology.c - topology files of the HPCC simulator. Format and differences: docs/formats.md.
 *
 * Declared numbers are compared with what the file can hold before anything is sized by them, so
 * memory is bounded by the length of the file.
 */
#include "hpcc_int.h"

#include "units.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LINKS_MAX (UINT64_C(1) << 30) /* two ports each, numbered by 32 bits */
#define NODES_MAX (UINT64_C(1) << 31)
#define NODES_ADDRESSED 65536 /* ids that the reference's addresses can hold */

enum { COL_A, COL_B, COL_RATE, COL_DELAY, COL_ERROR, COL_COUNT };
static const char *const col_names[COL_COUNT] = {"node", "node", "rate", "delay", "error rate"};

struct reader {
    struct textfile t;
    const struct hpcc_link_rules *rules;
    struct hpcc_servers *servers; /* NULL: the header of HPCC */
    const struct warn_sink *sink;
    struct err_info *e;
    struct topo *topo;
    uint64_t node_count, switch_count, link_count;
    uint64_t nvswitch_count; /* the first of the switches */
    long header_line;
    long fraction_line; /* the first delay with a fraction of ns; 0: none */
};

int hpcc__warn_rest(struct textfile *t, uint32_t count, const char *what,
                    const struct warn_sink *sink)
{
    int rc = textfile_next_line(t);

    if (rc > 0)
        warn(sink, "%s:%ld: text behind the %u declared %s is ignored", t->path, t->line, count,
             what);
    return rc < 0 ? rc : 0;
}

static int refuse(struct reader *r, const char *what, const char *token, const char *expected)
{
    return textfile_refuse(&r->t, r->e, what, token, expected);
}

static int no_memory(const struct reader *r)
{
    return err_set(r->e, WH_ERR_NOMEM, r->t.path, 0, "out of memory");
}

static int parse_header(struct reader *r)
{
    static const char *const names[] = {"number of nodes", "number of switches", "number of links"};
    uint64_t *const out[] = {&r->node_count, &r->switch_count, &r->link_count};
    const uint64_t max[] = {NODES_MAX, NODES_MAX, LINKS_MAX};

    if (r->t.token_count == 6)
        return textfile_refuse_count(&r->t, r->e, 6, "columns (a SimAI topology has that header)",
                                     "3: <nodes> <switches> <links>");
    if (r->t.token_count != 3)
        return textfile_refuse_count(&r->t, r->e, r->t.token_count, "columns",
                                     "3: <nodes> <switches> <links>");
    for (int i = 0; i < 3; i++)
        if (text_uint(r->t.token[i], max[i], out[i]))
            return refuse(r, names[i], r->t.token[i], "a number");
    return 0;
}

/* SimAI's number of switches leaves the NVSwitches out; here they are counted among them. */
static int parse_simai_header(struct reader *r)
{
    static const char *const names[] = {"number of nodes", "GPUs per server",
                                        "number of NVSwitches", "number of switches",
                                        "number of links"};
    uint64_t gpus_per_server;
    uint64_t *const out[] = {&r->node_count, &gpus_per_server, &r->nvswitch_count, &r->switch_count,
                             &r->link_count};
    const uint64_t max[] = {NODES_MAX, NODES_MAX, NODES_MAX, NODES_MAX, LINKS_MAX};

    if (r->t.token_count == 3)
        return textfile_refuse_count(
            &r->t, r->e, 3, "columns (an HPCC topology has that header)",
            "6: <nodes> <GPUs per server> <NVSwitches> <switches> <links> <GPU type>");
    if (r->t.token_count != 6)
        return textfile_refuse_count(
            &r->t, r->e, r->t.token_count, "columns",
            "6: <nodes> <GPUs per server> <NVSwitches> <switches> <links> <GPU type>");
    for (int i = 0; i < 5; i++)
        if (text_uint(r->t.token[i], max[i], out[i]))
            return refuse(r, names[i], r->t.token[i], "a number");
    if (gpus_per_server == 0)
        return refuse(r, names[1], r->t.token[1], "at least 1");
    if (strlen(r->t.token[5]) >= sizeof r->servers->gpu_type)
        return refuse(r, "GPU type", r->t.token[5], "A100, A800, H100, H800 or NONE");
    r->switch_count += r->nvswitch_count;
    r->servers->gpus_per_server = (uint32_t)gpus_per_server;
    r->servers->nvswitch_count = (uint32_t)r->nvswitch_count;
    strcpy(r->servers->gpu_type, r->t.token[5]);
    return 0;
}

static int read_header(struct reader *r)
{
    int rc = textfile_next_line(&r->t);

    if (rc < 0)
        return no_memory(r);
    if (rc == 0)
        return err_input(r->e, r->t.path, 0, "an empty file",
                         r->servers ? "a line <nodes> <GPUs per server> <NVSwitches> <switches> "
                                      "<links> <GPU type>"
                                    : "a line <nodes> <switches> <links>");
    r->header_line = r->t.line;
    return r->servers ? parse_simai_header(r) : parse_header(r);
}

/* The declared numbers against each other and against the length of the file. */
static int check_header(struct reader *r)
{
    uint32_t lines = textfile_lines_left(&r->t);

    if (r->node_count == 0)
        return err_input(r->e, r->t.path, r->header_line, "0 nodes", "at least 1");
    if (r->switch_count > r->node_count)
        return err_set(r->e, WH_ERR_INPUT, r->t.path, r->header_line,
                       "found %" PRIu64 " switches among %" PRIu64
                       " nodes, expected at most as many switches as nodes",
                       r->switch_count, r->node_count);
    if (r->link_count > lines)
        return err_set(r->e, WH_ERR_INPUT, r->t.path, r->header_line,
                       "found %u lines behind this one, expected %" PRIu64 " links as declared",
                       lines, r->link_count);
    if (r->switch_count > r->t.data_bytes)
        return err_set(r->e, WH_ERR_INPUT, r->t.path, r->header_line,
                       "found a file of %zu bytes, expected %" PRIu64 " switch ids as declared",
                       r->t.data_bytes, r->switch_count);
    if (r->node_count - r->switch_count > 2 * r->link_count)
        return err_set(r->e, WH_ERR_INPUT, r->t.path, r->header_line,
                       "found %" PRIu64 " hosts and %" PRIu64
                       " links, expected at least one link for every host",
                       r->node_count - r->switch_count, r->link_count);
    return 0;
}

static int parse_node(struct reader *r, const char *what, const char *token, uint32_t *out)
{
    char expected[64];
    uint64_t id;

    if (text_uint(token, r->node_count - 1, &id)) {
        snprintf(expected, sizeof expected, "a node id, 0 to %" PRIu64, r->node_count - 1);
        return refuse(r, what, token, expected);
    }
    *out = (uint32_t)id;
    return 0;
}

/* A link where a switch id was due: the list is shorter than declared. */
static int is_link_line(const struct textfile *t)
{
    uint64_t ignored;

    return t->token_count == COL_COUNT && text_uint(t->token[COL_RATE], UINT64_MAX, &ignored);
}

static int refuse_switch_count(struct reader *r, uint64_t found)
{
    return err_set(r->e, WH_ERR_INPUT, r->t.path, r->t.line,
                   "found %" PRIu64 " switch ids, expected %" PRIu64 " as declared in line %ld",
                   found, r->switch_count, r->header_line);
}

static int read_switch(struct reader *r, uint64_t i, const char *token)
{
    uint32_t id;
    int rc = parse_node(r, "switch", token, &id);

    if (rc)
        return rc;
    if (r->topo->kind[id] != NODE_HOST)
        return refuse(r, "switch", token, "each switch once");
    topo_set_kind(r->topo, id, i < r->nvswitch_count ? NODE_NVSWITCH : NODE_SWITCH);
    return 0;
}

static int read_switches(struct reader *r)
{
    r->t.token_next = r->t.token_count;
    for (uint64_t i = 0; i < r->switch_count; i++) {
        int starts_line = r->t.token_next >= r->t.token_count;
        char *token;
        int rc = textfile_next_token(&r->t, &token);

        if (rc < 0)
            return no_memory(r);
        if (rc == 0 || (starts_line && is_link_line(&r->t)))
            return refuse_switch_count(r, i);
        rc = read_switch(r, i, token);
        if (rc)
            return rc;
    }
    if (r->t.token_next < r->t.token_count)
        return refuse_switch_count(r, r->switch_count + r->t.token_count - r->t.token_next);
    return 0;
}

static int parse_delay(struct reader *r, const char *token, int64_t *out_ps)
{
    int64_t ps;

    if (units_parse_time(token, 0, &ps))
        return refuse(r, col_names[COL_DELAY], token,
                      "a time that is not negative, as 1us (s ms us ns ps fs; without unit: s)");
    if (ps % PS_PER_NS && !r->fraction_line)
        r->fraction_line = r->t.line;
    *out_ps = ps - ps % r->rules->round_ps;
    return 0;
}

static int parse_error_rate(struct reader *r, const char *token, double *out)
{
    double p;

    if (text_real(token, &p) || p < 0 || p > 1)
        return refuse(r, col_names[COL_ERROR], token, "a probability, 0 to 1");
    *out = p > 0 ? p : r->rules->error_rate;
    return 0;
}

static int parse_link(struct reader *r)
{
    char **token = r->t.token;
    struct link_class class;
    uint32_t a, b;
    int rc = parse_node(r, col_names[COL_A], token[COL_A], &a);

    if (!rc)
        rc = parse_node(r, col_names[COL_B], token[COL_B], &b);
    if (rc)
        return rc;
    if (a == b)
        return refuse(r, "a link of itself to node", token[COL_B], "two different nodes");
    if (units_parse_rate(token[COL_RATE], &class.rate_bps) || class.rate_bps <= 0)
        return refuse(r, col_names[COL_RATE], token[COL_RATE],
                      "a rate above 0 with its unit, as 100Gbps (bps b/s Bps B/s with k K M G "
                      "Ki Mi Gi)");
    rc = parse_delay(r, token[COL_DELAY], &class.delay_ps);
    if (!rc)
        rc = parse_error_rate(r, token[COL_ERROR], &class.error_rate);
    if (rc)
        return rc;
    int64_t row = topo_add_class(r->topo, &class);

    if (row < 0 || topo_add_link(r->topo, a, b, (uint32_t)row))
        return no_memory(r);
    return 0;
}

static int read_links(struct reader *r)
{
    for (uint64_t i = 0; i < r->link_count; i++) {
        int rc = textfile_next_line(&r->t);

        if (rc < 0)
            return no_memory(r);
        if (rc == 0)
            return err_set(r->e, WH_ERR_INPUT, r->t.path, r->t.line,
                           "found %" PRIu64 " links, expected %" PRIu64 " as declared in line %ld",
                           i, r->link_count, r->header_line);
        if (r->t.token_count != COL_COUNT)
            return textfile_refuse_count(&r->t, r->e, r->t.token_count, "columns",
                                         "5: <a> <b> <rate> <delay> <error rate>");
        rc = parse_link(r);
        if (rc)
            return rc;
    }
    return 0;
}

static int check_hosts(struct reader *r)
{
    const struct topo *t = r->topo;

    for (uint32_t n = 0; n < t->node_count; n++)
        if (t->kind[n] == NODE_HOST && t->first_port[n] == t->first_port[n + 1])
            return err_set(r->e, WH_ERR_INPUT, r->t.path, r->header_line,
                           "found host %u without a link, expected every host to have one", n);
    return 0;
}

static int compare_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

static int warn_parallel(struct reader *r)
{
    const struct topo *t = r->topo;
    uint64_t *pair = malloc((t->link_count + 1) * sizeof *pair);
    uint32_t extra = 0;
    uint64_t first = 0;

    if (!pair)
        return no_memory(r);
    for (uint32_t i = 0; i < t->link_count; i++) {
        uint32_t a = t->link[i].a, b = t->link[i].b;

        pair[i] = (uint64_t)(a < b ? a : b) << 32 | (a < b ? b : a);
    }
    qsort(pair, t->link_count, sizeof *pair, compare_u64);
    for (uint32_t i = 1; i < t->link_count; i++)
        if (pair[i] == pair[i - 1] && !extra++)
            first = pair[i];
    free(pair);
    if (extra)
        warn(r->sink,
             "%s: parallel links (%u of them; the first between nodes %u and %u): all are used as "
             "equal-cost paths, the HPCC simulator routes over the last one only",
             r->t.path, extra, (uint32_t)(first >> 32), (uint32_t)first);
    return 0;
}

static void warn_numbers(const struct reader *r)
{
    if (r->fraction_line && r->rules->round_ps > 1)
        warn(r->sink,
             "%s:%ld: delays with a fraction of a ns are cut to whole ns, as the HPCC "
             "simulator does",
             r->t.path, r->fraction_line);
    else if (r->fraction_line)
        warn(r->sink,
             "%s:%ld: delays with a fraction of a ns are kept exactly; the HPCC simulator "
             "cuts them to whole ns, so results differ",
             r->t.path, r->fraction_line);
    if (r->node_count > NODES_ADDRESSED)
        warn(r->sink,
             "%s: %" PRIu64 " nodes: the addresses in fct files tell %d nodes apart, "
             "node ids from there on appear as smaller ones",
             r->t.path, r->node_count, NODES_ADDRESSED);
}

static int finish(struct reader *r)
{
    if (topo_finish(r->topo))
        return no_memory(r);
    int rc = check_hosts(r);

    if (!rc)
        rc = warn_parallel(r);
    if (!rc && hpcc__warn_rest(&r->t, (uint32_t)r->link_count, "links", r->sink))
        rc = no_memory(r);
    if (!rc)
        warn_numbers(r);
    return rc;
}

static int read_topology(struct reader *r)
{
    int rc = read_header(r);

    if (!rc)
        rc = check_header(r);
    if (rc)
        return rc;
    if (topo_create(&r->topo, (uint32_t)r->node_count))
        return no_memory(r);
    rc = read_switches(r);
    if (!rc)
        rc = read_links(r);
    if (!rc)
        rc = finish(r);
    return rc;
}

int hpcc__read_topology(const char *path, const struct hpcc_link_rules *rules,
                        struct hpcc_servers *servers, struct topo **out,
                        const struct warn_sink *sink, struct err_info *e)
{
    struct reader r = {.rules = rules, .servers = servers, .sink = sink, .e = e};
    int rc = textfile_open(&r.t, path, e);

    if (!rc)
        rc = read_topology(&r);
    textfile_close(&r.t);
    if (rc) {
        topo_destroy(r.topo);
        return rc;
    }
    *out = r.topo;
    return 0;
}

int hpcc_read_topology(const char *path, struct topo **out, const struct warn_sink *sink,
                       struct err_info *e)
{
    const struct hpcc_link_rules rules = {.round_ps = 1};

    return hpcc__read_topology(path, &rules, NULL, out, sink, e);
}

static void write_switches(FILE *f, const struct topo *t)
{
    const char *gap = "";

    for (uint32_t n = 0; n < t->node_count; n++) {
        if (t->kind[n] == NODE_HOST)
            continue;
        fprintf(f, "%s%u", gap, n);
        gap = " ";
    }
    fputc('\n', f);
}

/* The shortest of the usual precisions that reads back to the same number. */
static void write_real(FILE *f, double value)
{
    char text[40];
    double back;

    snprintf(text, sizeof text, "%.15g", value);
    if (text_real(text, &back) || back != value)
        snprintf(text, sizeof text, "%.17g", value);
    fputs(text, f);
}

int hpcc_write_topology(FILE *f, const struct topo *t)
{
    char rate[64], delay[64];
    uint32_t switches = 0;

    for (uint32_t n = 0; n < t->node_count; n++)
        switches += t->kind[n] != NODE_HOST;
    fprintf(f, "%u %u %u\n", t->node_count, switches, t->link_count);
    write_switches(f, t);
    for (uint32_t i = 0; i < t->link_count; i++) {
        const struct topo_link *l = &t->link[i];
        const struct link_class *c = &t->classes[l->class_id];

        fprintf(f, "%u %u %s %s ", l->a, l->b, units_format_rate(c->rate_bps, rate, sizeof rate),
                units_format_time(c->delay_ps, delay, sizeof delay));
        write_real(f, c->error_rate);
        fputc('\n', f);
    }
    return ferror(f) ? WH_ERR_IO : 0;
}
