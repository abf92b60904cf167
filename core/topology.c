/*
 * topology.c - the immutable network graph: see topology.h.
 *
 * Links are collected in the order added; topo_finish() numbers the ports by a counting sort over
 * the nodes, which keeps that order within each node. first_port is set by topo_finish() alone, so
 * it also tells a finished graph from one under construction.
 */
#include "topology.h"

#include <stdlib.h>

#define LINKS_MAX (UINT32_MAX / 2 - 1) /* two ports a link, PORT_NONE stays free */

int topo_create(struct topo **out, uint32_t node_count)
{
    struct topo *t = calloc(1, sizeof *t);

    if (!t)
        return WH_ERR_NOMEM;
    t->node_count = node_count;
    t->kind = calloc(node_count ? node_count : 1, sizeof *t->kind);
    if (!t->kind) {
        topo_destroy(t);
        return WH_ERR_NOMEM;
    }
    *out = t;
    return 0;
}

/* Frees what topo_finish() makes, so that a failed one leaves an unfinished graph. */
static void free_ports(struct topo *t)
{
    free(t->first_port);
    free(t->port_peer);
    free(t->port_node);
    free(t->port_link);
    free(t->link_port);
    t->first_port = t->port_peer = t->port_node = t->port_link = t->link_port = NULL;
}

void topo_destroy(struct topo *t)
{
    if (!t)
        return;
    free_ports(t);
    free(t->kind);
    free(t->link);
    free(t->classes);
    free(t);
}

void topo_set_kind(struct topo *t, uint32_t node, enum node_kind kind)
{
    check(!t->first_port, "node %u changed in a finished graph", node);
    check(node < t->node_count, "node %u of %u", node, t->node_count);
    t->kind[node] = (uint8_t)kind;
}

/* Doubles @*rows when it is full. @row_bytes: of one row. */
static int reserve_row(void **rows, uint32_t row_count, uint32_t *cap, size_t row_bytes)
{
    uint32_t new_cap = *cap ? *cap * 2 : 8;
    void *p;

    if (row_count < *cap)
        return 0;
    if (row_count >= LINKS_MAX)
        return WH_ERR_NOMEM;
    p = realloc(*rows, (size_t)new_cap * row_bytes);
    if (!p)
        return WH_ERR_NOMEM;
    *rows = p;
    *cap = new_cap;
    return 0;
}

static int is_same_class(const struct link_class *a, const struct link_class *b)
{
    return a->rate_bps == b->rate_bps && a->delay_ps == b->delay_ps &&
           a->error_rate == b->error_rate;
}

int64_t topo_add_class(struct topo *t, const struct link_class *c)
{
    void *rows = t->classes;

    check(!t->first_port, "link class %u added to a finished graph", t->class_count);
    check(c->rate_bps > 0, "rate %lld", (long long)c->rate_bps);
    check(c->delay_ps >= 0, "delay %lld", (long long)c->delay_ps);
    check(c->error_rate >= 0.0 && c->error_rate <= 1.0, "error rate %g", c->error_rate);
    /* From the end: files name the links of one kind one after the other. */
    for (uint32_t i = t->class_count; i-- > 0;)
        if (is_same_class(&t->classes[i], c))
            return i;
    if (reserve_row(&rows, t->class_count, &t->class_cap, sizeof *t->classes))
        return WH_ERR_NOMEM;
    t->classes = rows;
    t->classes[t->class_count] = *c;
    return t->class_count++;
}

int topo_add_link(struct topo *t, uint32_t a, uint32_t b, uint32_t class_id)
{
    void *rows = t->link;

    check(!t->first_port, "link %u added to a finished graph", t->link_count);
    check(a < t->node_count && b < t->node_count, "nodes %u %u of %u", a, b, t->node_count);
    check(a != b, "node %u linked to itself", a);
    check(class_id < t->class_count, "link class %u of %u", class_id, t->class_count);
    if (reserve_row(&rows, t->link_count, &t->link_cap, sizeof *t->link))
        return WH_ERR_NOMEM;
    t->link = rows;
    t->link[t->link_count++] = (struct topo_link){a, b, class_id};
    return 0;
}

static int alloc_ports(struct topo *t)
{
    const size_t ports = t->port_count ? t->port_count : 1;

    t->first_port = calloc((size_t)t->node_count + 2, sizeof *t->first_port);
    t->port_peer = calloc(ports, sizeof *t->port_peer);
    t->port_node = calloc(ports, sizeof *t->port_node);
    t->port_link = calloc(ports, sizeof *t->port_link);
    t->link_port = calloc(ports, sizeof *t->link_port);
    if (t->first_port && t->port_peer && t->port_node && t->port_link && t->link_port)
        return 0;
    free_ports(t);
    return WH_ERR_NOMEM;
}

/* One port of @link, owned by @node, in the next free row of that node. */
static uint32_t number_port(struct topo *t, uint32_t *next_port, uint32_t node, uint32_t link)
{
    const uint32_t port = next_port[node]++;

    t->port_node[port] = node;
    t->port_link[port] = link;
    return port;
}

int topo_finish(struct topo *t)
{
    uint32_t *next_port;

    check(!t->first_port, "graph of %u nodes finished twice", t->node_count);
    t->port_count = 2 * t->link_count;
    if (alloc_ports(t))
        return WH_ERR_NOMEM;
    /*
     * Row n + 2 counts the ports of node n, so that after the sums row n + 1 is where node n
     * begins. Numbering moves row n + 1 to the end of node n, which is where node n + 1 begins.
     */
    for (uint32_t i = 0; i < t->link_count; i++) {
        t->first_port[t->link[i].a + 2]++;
        t->first_port[t->link[i].b + 2]++;
    }
    for (uint32_t n = 2; n <= t->node_count; n++)
        t->first_port[n] += t->first_port[n - 1];
    next_port = t->first_port + 1;
    for (uint32_t i = 0; i < t->link_count; i++) {
        const uint32_t at_a = number_port(t, next_port, t->link[i].a, i);
        const uint32_t at_b = number_port(t, next_port, t->link[i].b, i);

        t->port_peer[at_a] = at_b;
        t->port_peer[at_b] = at_a;
        t->link_port[2 * i] = at_a;
        t->link_port[2 * i + 1] = at_b;
    }
    t->host_count = 0;
    for (uint32_t n = 0; n < t->node_count; n++)
        t->host_count += t->kind[n] == NODE_HOST;
    return 0;
}

uint32_t topo_find_port(const struct topo *t, uint32_t from, uint32_t to)
{
    for (uint32_t p = t->first_port[from]; p < t->first_port[from + 1]; p++)
        if (t->port_node[t->port_peer[p]] == to)
            return p;
    return PORT_NONE;
}
