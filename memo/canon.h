/*
 * canon.h - canonical form of a coloured graph: two partitions that differ only in how their flows
 * and ports are numbered get the same bytes.
 *
 * A partition is the bipartite graph flows - (hop) - ports. A vertex's colour is a string of bytes
 * (its serialised state), an edge's label a small number (hop, direction). canon_run() finds an
 * order of the vertices that does not depend on how they were numbered; canon_serialise() writes
 * the graph in that order. The bytes say everything about the graph. So equal bytes mean isomorphic
 * graphs, and equal positions mean corresponding vertices, whatever order they were made with: a
 * defect of the order costs hits and cannot cause a wrong one.
 *
 * Steps, each only for what the one before left undecided:
 *   1. classes by colour, compared as bytes (hashes only say where to look);
 *   2. refinement of the classes by the labels and classes of the neighbours (Weisfeiler-Leman);
 *   3. vertices alone in their class separate the rest into components, each ordered for itself,
 *      and again inside each: equal ones are interchangeable, as the senders of an incast are;
 *   4. twins (same class, same neighbours) count as one vertex;
 *   5. bliss orders what is left: rings and meshes of flows in equal states.
 *
 * bliss (0.73) cannot be told to give up, but it sees little, and that is limited: see
 * canon_limits. All limits are on numbers that renumbering does not change, none is on time.
 *
 * Threading: a context belongs to one thread at a time; no state outside it.
 */
#ifndef WH_CANON_H
#define WH_CANON_H

#include "err.h"

#include <stddef.h>
#include <stdint.h>

#define CANON_VERTEX_COUNT_MAX (1u << 24)
#define CANON_LABEL_MAX 65535u

/* Bytes [offset, offset + colour_bytes) of the graph's buffer. */
struct canon_colour {
    uint32_t offset, colour_bytes;
};

/* Undirected: (u, v) is (v, u). Parallel edges are allowed and count, loops (u = v) are not. */
struct canon_edge {
    uint32_t u, v;  /* 0..vertex_count-1 */
    uint32_t label; /* 0..CANON_LABEL_MAX */
};

/* A view; the caller owns what it points to. */
struct canon_graph {
    const uint8_t *bytes;              /* what the colours point into */
    const struct canon_colour *colour; /* shape: [vertex_count] */
    const struct canon_edge *edge;     /* shape: [edge_count] */
    uint32_t vertex_count, edge_count;
};

/*
 * Above any of these a graph has no canonical form here (CANON_TOO_LARGE).
 * @search_vertex_count_max: vertices that reach bliss, in all components together: twins once, and
 *     one more for each edge whose label is not the commonest between the classes of its ends
 */
struct canon_limits {
    uint32_t vertex_count_max; /* 1..CANON_VERTEX_COUNT_MAX */
    uint32_t edge_count_max;   /* below 2^31 */
    uint32_t search_vertex_count_max;
};

extern const struct canon_limits canon_limits_default;

/* What canon_run returns beside negative enum wh_err: ordinary outcomes. */
enum canon_result { CANON_OK = 0, CANON_TOO_LARGE = 1 };

/* Why it was too large. */
enum canon_reason {
    CANON_REASON_NONE,
    CANON_REASON_VERTICES, /* more than vertex_count_max */
    CANON_REASON_EDGES,    /* more than edge_count_max */
    CANON_REASON_SEARCH    /* more than search_vertex_count_max left after refinement */
};

/* canon_reason_text - static English text, for the statistics. */
const char *canon_reason_text(enum canon_reason reason);

/*
 * Result of canon_run. The arrays belong to the context and last until its next canon_run.
 */
struct canon_form {
    const uint32_t *order;    /* shape: [vertex_count], order[position] = vertex */
    const uint32_t *position; /* shape: [vertex_count], the inverse */
    enum canon_reason reason;
    /* For statistics: */
    uint32_t class_count;         /* after refinement; vertex_count = nothing left to do */
    uint32_t search_vertex_count; /* that bliss saw; 0 = not called */
};

/* The serialised form. Zero-initialise; canon_key_fini frees. Memory is reused between calls. */
struct canon_key {
    uint8_t *bytes;
    size_t key_bytes, cap_bytes;
    uint64_t hash_low, hash_high; /* XXH3, 128 bits, of the bytes */
};

struct canon; /* working memory, reused */

/*
 * canon_create - working memory for canon_run.
 * @limits: NULL: canon_limits_default
 * Errors: WH_ERR_NOMEM.
 */
int canon_create(struct canon **out, const struct canon_limits *limits) WH_MUST_CHECK;
void canon_destroy(struct canon *c); /* accepts NULL */

/*
 * canon_run - canonical order of the vertices.
 * @out: written on CANON_OK; on CANON_TOO_LARGE its arrays are NULL and its reason is set
 * Returns: enum canon_result, or WH_ERR_NOMEM. (bliss itself ends the process if it gets no memory;
 *     what it asks for is bounded by the limits.)
 * Context: owner of @c. Edges are checked, a graph that breaks the rules above is our bug.
 */
int canon_run(struct canon *c, const struct canon_graph *g, struct canon_form *out) WH_MUST_CHECK;

/*
 * canon_serialise - @g with its vertices in @form's order, complete and unambiguous:
 *   vertex count, edge count,
 *   runs of equal colours up to the last vertex: number of vertices, colour_bytes, the bytes,
 *   edges in order, each as lower position, higher position, label.
 * Numbers are unsigned LEB128.
 * @form: of canon_run(@c, @g). Any order gives a valid description of @g, this one a canonical one
 * Errors: WH_ERR_NOMEM; @key then holds nothing of use, but can be reused.
 * Context: owner of @c.
 */
int canon_serialise(struct canon *c, const struct canon_graph *g, const struct canon_form *form,
                    struct canon_key *key) WH_MUST_CHECK;
void canon_key_fini(struct canon_key *key);

/* canon_key_is_equal - by the bytes. */
int canon_key_is_equal(const struct canon_key *a, const struct canon_key *b);

/*
 * canon_check - is @form_a.order[i] -> @form_b.order[i] an isomorphism from @a to @b? Compares
 * colours and edges directly, without the serialised form: for tests and audits.
 * Returns: 1 or 0, or WH_ERR_NOMEM.
 * Context: pure, any thread.
 */
int canon_check(const struct canon_graph *a, const struct canon_form *form_a,
                const struct canon_graph *b, const struct canon_form *form_b) WH_MUST_CHECK;

/*
 * canon_version - what the canonical order depends on: the version of the steps here, and what the
 * linked bliss does with a few graphs. (It has no function that names its version, and a shared
 * library may change after the build.) Part of a store's fingerprint: another order loses hits.
 * @text: terminated, cut to @text_bytes; CANON_VERSION_BYTES suffice
 * Context: pure, any thread; takes about 0.2 ms.
 */
#define CANON_VERSION_BYTES 48
void canon_version(char *text, size_t text_bytes);

#endif
