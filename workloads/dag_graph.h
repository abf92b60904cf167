/*
 * dag_graph.h - operations with explicit dependencies, as a program for a DAG; for traces.
 *
 * A node is an operation of a rank on a lane (a stream of the DAG) with a list of nodes of the same
 * rank that must be over before. A lane takes one node at a time, of those that are ready the one
 * with the lowest id; asynchronous nodes do not occupy it. Nodes may be added in any order.
 * Threading: as dag.h.
 */
#ifndef WH_DAG_GRAPH_H
#define WH_DAG_GRAPH_H

#include "dag.h"

struct dag_graph;

int dag_graph_create(struct dag_graph **out, uint32_t rank_count,
                     uint32_t lane_count) WH_MUST_CHECK;
void dag_graph_destroy(struct dag_graph *g); /* NULL is accepted */

/*
 * dag_graph_add - one more node. op->id is its number within the rank, as reports name it; op->name
 * is kept. RECORD and WAIT are not for graphs.
 * @node: row of the node, counted from 0
 * Errors: WH_ERR_NOMEM.
 */
int dag_graph_add(struct dag_graph *g, uint32_t rank, uint32_t lane, const struct op *op,
                  uint32_t *node) WH_MUST_CHECK;

enum graph_dep {
    GRAPH_AFTER_END,  /* once it is over */
    GRAPH_AFTER_START /* once it has been started (GOAL's irequires) */
};

/* dag_graph_depend - @node goes after @on; rows of nodes, of the same rank. */
int dag_graph_depend(struct dag_graph *g, uint32_t node, uint32_t on,
                     enum graph_dep kind) WH_MUST_CHECK;

/*
 * dag_graph_finish - sorts it out; nothing is added after it.
 * Errors: WH_ERR_INPUT (a circle of dependencies: names its nodes), WH_ERR_NOMEM.
 */
int dag_graph_finish(struct dag_graph *g, struct err_info *e) WH_MUST_CHECK;

/* dag_graph_program - for dag_spec.program, with lane_count streams. */
struct dag_program dag_graph_program(struct dag_graph *g);
/* dag_graph_attach - tells the graph its DAG, before dag_run. */
void dag_graph_attach(struct dag_graph *g, struct dag *d);

uint32_t dag_graph_node_count(const struct dag_graph *g);
uint32_t dag_graph_nodes_left(const struct dag_graph *g); /* not over yet */

#endif
