/*
 * coll_int.h - the lowerings behind coll.h, one file each.
 */
#ifndef WH_COLL_INT_H
#define WH_COLL_INT_H

#include "coll.h"

extern const struct coll_ops coll__ring, coll__chain, coll__tree, coll__halving, coll__direct,
    coll__pairwise, coll__pxn, coll__hierarchical;

#define COLL_BIT(kind) (1u << (kind))

/* Shared by the lowerings: one inbox a lane; one lane. */
void coll__lane_of_in(const struct coll_plan *p, uint32_t in, uint32_t *first, uint32_t *count);
void coll__only_lane(const struct coll_plan *p, uint32_t in, uint32_t *first, uint32_t *count);

/* coll__set_pieces - what a step sends, and its bytes: pieces [first, first + count) of @pieces. */
void coll__set_pieces(const struct coll_plan *p, struct coll_send *out, uint64_t first,
                      uint64_t count, uint64_t pieces);

/* The binary tree of coll_tree.c over nodes 0..n-1, root 0; RANK_NONE where there is none. */
struct coll_tree_node {
    uint32_t parent, child[2];
};
void coll__tree_node(uint32_t n, uint32_t node, struct coll_tree_node *out);

/* Distance from b up to a on a ring of n: (a - b) mod n; both below n. */
static inline uint32_t coll__mod_sub(uint32_t a, uint32_t b, uint32_t n)
{
    return a >= b ? a - b : a + n - b;
}

static inline uint32_t coll__mod_add(uint32_t a, uint32_t b, uint32_t n)
{
    return coll__mod_sub(a, b ? n - b : 0, n);
}

#endif
