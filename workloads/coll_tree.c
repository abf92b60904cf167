/*
 * coll_tree.c - all-reduce by two binary trees (Sanders, Speck, Traeff, "Two-tree algorithms for
 * full bandwidth broadcast, reduction and scan", Parallel Computing 2009).
 *
 * Each tree takes half of the data, in chunks: up to its root, summed, and down again. A member
 * that is inside one tree is a leaf of the other, so every link is used in both directions. A
 * channel has two trees; a tree has three lanes (to the parent, to either child) and three inboxes
 * (from either child, from the parent).
 */
#include "coll_int.h"

#define EDGES 3u

enum lane_to { TO_PARENT, TO_CHILD_0, TO_CHILD_1 };
enum in_from { FROM_CHILD_0, FROM_CHILD_1, FROM_PARENT };

/*
 * The in-order tree: node v > 0 stands at the height of its lowest set bit b, with everything
 * within b of it below. Its parent is the middle of the twice as wide range, or, where that lies
 * beyond n, the next one up. Node 0 stands above all.
 */
void coll__tree_node(uint32_t n, uint32_t node, struct coll_tree_node *out)
{
    const uint32_t bit = node & (~node + 1);
    uint32_t half = bit / 2;

    *out = (struct coll_tree_node){RANK_NONE, {RANK_NONE, RANK_NONE}};
    if (!node) {
        uint32_t top = 1;

        while (top < n && n - top > top)
            top *= 2;
        if (n > 1)
            out->child[0] = top;
        return;
    }
    out->parent = ((node ^ bit) | (bit * 2)) < n ? (node ^ bit) | (bit * 2) : node ^ bit;
    if (!half)
        return;
    out->child[0] = node - half;
    while (half && node + half >= n)
        half /= 2;
    if (half)
        out->child[1] = node + half;
}

/* The second tree: the members backwards (n even), or turned by one (n odd). */
static uint32_t turn(uint32_t n, uint32_t member, uint32_t tree)
{
    if (!tree)
        return member;
    return n % 2 ? coll__mod_sub(member, 1, n) : n - 1 - member;
}

static uint32_t turn_back(uint32_t n, uint32_t node, uint32_t tree)
{
    if (node == RANK_NONE || !tree)
        return node;
    return n % 2 ? coll__mod_add(node, 1, n) : n - 1 - node;
}

/* Parent and children of a member in a tree, as members. */
static struct coll_tree_node find_edges(const struct coll_plan *p, uint32_t member, uint32_t tree)
{
    struct coll_tree_node t;

    coll__tree_node(p->n, turn(p->n, member, tree), &t);
    t.parent = turn_back(p->n, t.parent, tree);
    t.child[0] = turn_back(p->n, t.child[0], tree);
    t.child[1] = turn_back(p->n, t.child[1], tree);
    return t;
}

/* Inbox of @parent that counts what comes from @member. */
static uint32_t in_at_parent(const struct coll_plan *p, uint32_t parent, uint32_t member,
                             uint32_t tree)
{
    const struct coll_tree_node t = find_edges(p, parent, tree);

    return t.child[0] == member ? FROM_CHILD_0 : FROM_CHILD_1;
}

static int tree_prepare(struct coll_plan *p, struct err_info *e)
{
    (void)e;
    p->lane_count = p->in_count = 2 * EDGES * p->call.channels;
    return 0;
}

static uint32_t edge_peer(const struct coll_tree_node *t, uint32_t lane)
{
    return lane % EDGES == TO_PARENT ? t->parent : t->child[lane % EDGES - TO_CHILD_0];
}

static uint32_t tree_steps(const struct coll_plan *p, uint32_t member, uint32_t lane)
{
    const struct coll_tree_node t = find_edges(p, member, lane / EDGES % 2);

    return edge_peer(&t, lane) == RANK_NONE ? 0 : p->call.chunks;
}

static void tree_step(const struct coll_plan *p, uint32_t member, uint32_t lane, uint32_t step,
                      struct coll_send *out)
{
    const uint32_t pair = lane / EDGES, tree = pair % 2; /* pair: of channel and tree */
    const struct coll_tree_node t = find_edges(p, member, tree);
    const uint64_t chunks = p->call.chunks;
    const int is_up = lane % EDGES == TO_PARENT;
    const int waits_for_children = is_up || t.parent == RANK_NONE;

    *out = (struct coll_send){.dst = edge_peer(&t, lane), .channel = pair};
    out->in =
        pair * EDGES + (is_up ? in_at_parent(p, out->dst, member, tree) : (uint32_t)FROM_PARENT);
    coll__set_pieces(p, out, pair * chunks + step, 1, 2 * p->call.channels * chunks);
    for (uint32_t i = 0; i < 2; i++) {
        out->need[i] = step + 1;
        out->need_in[i] = COLL_IN_NONE;
        if (waits_for_children && t.child[i] != RANK_NONE)
            out->need_in[i] = pair * EDGES + FROM_CHILD_0 + i;
    }
    if (!waits_for_children)
        out->need_in[0] = pair * EDGES + FROM_PARENT;
}

static uint32_t tree_total(const struct coll_plan *p, uint32_t member, uint32_t in)
{
    const struct coll_tree_node t = find_edges(p, member, in / EDGES % 2);
    const uint32_t from = in % EDGES == FROM_PARENT ? t.parent : t.child[in % EDGES - FROM_CHILD_0];

    return from == RANK_NONE ? 0 : p->call.chunks;
}

static void tree_lanes_of(const struct coll_plan *p, uint32_t in, uint32_t *first, uint32_t *count)
{
    (void)p;
    *first = in / EDGES * EDGES;
    *count = EDGES;
}

const struct coll_ops coll__tree = {
    .name = "tree",
    .kinds = COLL_BIT(COLL_ALL_REDUCE),
    .prepare = tree_prepare,
    .step_count = tree_steps,
    .step = tree_step,
    .in_total = tree_total,
    .lanes_of = tree_lanes_of,
};
