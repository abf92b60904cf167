/*
 * canon_int.h - working memory of a context, and what the steps of canon.h call in one another.
 *
 * Cells: order[] is cut into runs, the classes. A cell is named by the position where it starts,
 * which does not depend on the numbering of the vertices; the order inside a cell means nothing.
 */
#ifndef WH_CANON_INT_H
#define WH_CANON_INT_H

#include "canon.h"

/* One end of an edge, at the other. */
struct canon_half {
    uint64_t weight; /* the label, mixed; sums of weights stand for multisets of labels */
    uint32_t vertex, label;
};

struct canon_keyed {
    uint64_t key;
    uint32_t value;
};

/* A component of canon_split.c: members [begin, end) of set[], form in words[]. */
struct canon_part {
    uint32_t begin, end;
    size_t form_begin, form_count;
};

/* An edge between representatives of twins, in canon_search.c. */
struct canon_link {
    uint32_t i, j; /* local numbers, i < j */
    uint32_t label;
    uint32_t has_middle; /* at first: is there another such edge? */
};

struct canon {
    struct canon_limits limits;
    uint32_t vertex_cap, edge_cap;

    uint32_t vertex_count, edge_count;
    uint32_t *half_begin;    /* shape: [vertex_count + 1] */
    struct canon_half *half; /* shape: [2 * edge_count], by vertex */

    uint32_t *order, *position; /* shape: [vertex_count] each */
    uint32_t *cell;             /* shape: [vertex_count], of a vertex: where its cell starts */
    uint32_t *cell_count;       /* shape: [vertex_count], by start: vertices in the cell */
    uint32_t cell_total;

    /* canon_refine.c */
    uint64_t *sum;       /* shape: [vertex_count], 0 between splitters */
    uint8_t *is_hit;     /* shape: [vertex_count], 0 between splitters */
    uint8_t *is_queued;  /* shape: [vertex_count], by start */
    uint32_t *queue;     /* shape: [vertex_count], ring of cells */
    uint32_t *splitter;  /* shape: [vertex_count] */
    uint32_t *hit_count; /* shape: [vertex_count], by start, 0 between splitters */
    uint32_t queue_head, queue_count;

    /* Sorting: two arrays, of the larger of vertex_cap and edge_cap entries, and one more. */
    struct canon_keyed *keyed, *keyed_spare;

    /* canon_split.c, canon_search.c */
    uint32_t *set;           /* shape: [vertex_count], vertices being ordered */
    uint32_t *set_spare;     /* shape: [vertex_count] */
    uint32_t *owner;         /* shape: [vertex_count], component that a vertex is in; 0: none */
    uint32_t *local;         /* shape: [vertex_count], number in the local lists */
    uint32_t *local_stamp;   /* shape: [vertex_count], local[] is valid if local_stamp_now */
    uint32_t *list_begin;    /* shape: [vertex_count + 1] */
    uint32_t *list_end;      /* shape: [vertex_count] */
    uint64_t *list;          /* shape: [2 * edge_count], neighbour << 16 | label, ascending */
    struct canon_part *part; /* shape: [2 * vertex_count + 2], a stack */
    uint64_t *word;          /* shape: [2 * vertex_count + edge_count], a stack: forms */
    size_t word_count;
    uint32_t part_count, owner_last, local_stamp_now;
    uint32_t *twin_next;     /* shape: [vertex_count], local: next twin; CANON_NONE at the end */
    uint32_t *twin_count;    /* shape: [vertex_count], local: twins of a representative, else 0 */
    uint32_t *rank;          /* shape: [vertex_count], local: colour for bliss */
    struct canon_link *link; /* shape: [edge_count] */
    uint32_t search_vertex_count;
};

#define CANON_NONE UINT32_MAX

/* canon__mix - a permutation of 64-bit numbers that hides their order (splitmix64's finaliser). */
uint64_t canon__mix(uint64_t x);

/* canon__sort - c->keyed[begin, begin + count) by key, stable. */
void canon__sort(struct canon *c, uint32_t begin, uint32_t count);

/*
 * canon__classes - first cells, from c->keyed: one entry per vertex, its key a function of its
 * colour alone. Equal keys need not mean equal colours.
 */
void canon__classes(struct canon *c, const struct canon_graph *g);

/* canon__refine - splits cells until the vertices of each have like neighbours. */
void canon__refine(struct canon *c);

/*
 * canon__split - makes order[] canonical inside the cells. Refined before.
 * Returns: CANON_OK, or CANON_TOO_LARGE if bliss would see too much.
 */
int canon__split(struct canon *c);

/*
 * canon__local_lists - numbers the vertices set[begin, end) from 0 and lists the neighbours that
 * each has among them.
 */
void canon__local_lists(struct canon *c, uint32_t begin, uint32_t end);

/* canon__search - orders set[begin, end), sorted by cell; stays sorted by cell. As canon__split. */
int canon__search(struct canon *c, uint32_t begin, uint32_t end);

#endif
