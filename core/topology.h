/*
 * topology.h - the immutable network graph: nodes, full-duplex links, directed ports.
 *
 * A node is a host or a switch. A link joins two nodes and has one port at each end; a port is the
 * direction that leaves its owner. Port rows are grouped by owner: node n owns ports
 * [first_port[n], first_port[n + 1]), in the order in which the links that touch n were added, so
 * that the k-th port of a node (counting from 1) has the number that the reference simulator gives
 * it. Threading: immutable after topo_finish; then any thread may read.
 */
#ifndef WH_TOPOLOGY_H
#define WH_TOPOLOGY_H

#include "err.h"

#include <stdint.h>

#define PORT_NONE UINT32_MAX
#define NODE_NONE UINT32_MAX

enum node_kind { NODE_HOST = 0, NODE_SWITCH = 1, NODE_NVSWITCH = 2 };

/* A class of links: what all links of one kind share. */
struct link_class {
    int64_t rate_bps;  /* > 0 */
    int64_t delay_ps;  /* >= 0 */
    double error_rate; /* probability that a packet arriving over the link is lost, 0..1 */
};

struct topo_link {
    uint32_t a, b;     /* nodes */
    uint32_t class_id; /* row of classes */
};

struct topo {
    uint32_t node_count, host_count, link_count, class_count, port_count; /* port_count = 2 links */
    uint8_t *kind;              /* shape: [node_count], enum node_kind */
    struct topo_link *link;     /* shape: [link_count], in the order added */
    struct link_class *classes; /* shape: [class_count] */
    uint32_t *first_port;       /* shape: [node_count + 1] */
    uint32_t *port_peer;        /* shape: [port_count], the port at the other end */
    uint32_t *port_node;        /* shape: [port_count], owner */
    uint32_t *port_link;        /* shape: [port_count] */
    uint32_t *link_port;        /* shape: [link_count][2], the port at a and at b */
    /* private to topology.c while links are being added */
    uint32_t link_cap, class_cap;
};

/* topo_create - @node_count nodes, all hosts. Returns 0 or WH_ERR_NOMEM. Free with topo_destroy. */
int topo_create(struct topo **out, uint32_t node_count) WH_MUST_CHECK;
void topo_destroy(struct topo *t); /* NULL is accepted */

void topo_set_kind(struct topo *t, uint32_t node, enum node_kind kind);

/* topo_add_class - row of an equal class, added if it is new. Returns its row or WH_ERR_NOMEM. */
int64_t topo_add_class(struct topo *t, const struct link_class *c);

/* topo_add_link - @a != @b < node_count, @class_id from topo_add_class. Returns 0 or WH_ERR_NOMEM.
 */
int topo_add_link(struct topo *t, uint32_t a, uint32_t b, uint32_t class_id) WH_MUST_CHECK;

/* topo_finish - numbers the ports. After it the graph is immutable. Returns 0 or WH_ERR_NOMEM. */
int topo_finish(struct topo *t) WH_MUST_CHECK;

/* topo_port_class - link class of a directed port. */
static inline const struct link_class *topo_port_class(const struct topo *t, uint32_t port)
{
    return &t->classes[t->link[t->port_link[port]].class_id];
}

/* topo_find_port - the first port of @from that leads to @to, PORT_NONE if there is none. */
uint32_t topo_find_port(const struct topo *t, uint32_t from, uint32_t to);

#endif
