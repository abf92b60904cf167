/*
 * memo_ops.h - what the engine asks of a memo of episodes.
 *
 * A key is the state of a partition at a control event, a value what came of it up to its next one
 * (episode.c); both are bytes to the memo. An entry never changes. One that was found is readable
 * until the next on_barrier; if it is held, until it is released. What is held may not have been
 * evicted, so it is held before the next insert or load.
 * Context: canonical and lookup: any worker, also at the same time, but not while the coordinator
 * is in one of the others; these are the coordinator's. on_* as the hooks of sched/pool.h, on_begin
 * and on_end of worker 0 also where there is no pool.
 */
#ifndef WH_MEMO_OPS_H
#define WH_MEMO_OPS_H

#include <stddef.h>
#include <stdint.h>

/* What keys hold, see episode.c and stage.c. */
enum memo_lens { MEMO_EXACT, MEMO_FCG };

/* A coloured graph without loops; an edge (u, v) is (v, u). */
struct memo_graph {
    const uint8_t *bytes; /* what the colours point into */
    const struct memo_colour {
        uint32_t offset, colour_bytes;
    } * colour; /* shape: [vertex_count] */
    const struct memo_edge {
        uint32_t u, v, label; /* label: 0..65535 */
    } * edge;                 /* shape: [edge_count] */
    uint32_t vertex_count, edge_count;
};

/* Its canonical form: equal bytes mean that equal positions are corresponding vertices. */
struct memo_form {
    const uint32_t *order; /* shape: [vertex_count], order[position] = vertex; until the worker's
                              next one */
    const void *key;       /* as order */
    size_t key_bytes;
    uint64_t hash;
};

struct memo_value {
    const void *entry; /* for release; NULL: there is none */
    const void *bytes; /* aligned for any type */
    size_t count;
};

struct memo_ops {
    void *ctx;
    enum memo_lens lens;
    /* MEMO_FCG: returns 0, 1 if the graph is too large for a form, or WH_ERR_NOMEM. */
    int (*canonical)(void *ctx, uint32_t worker_id, const struct memo_graph *g,
                     struct memo_form *out);
    uint64_t (*hash)(const void *key, size_t key_bytes);
    /* entry NULL: not known, or only to the file that load looks into. */
    struct memo_value (*lookup)(void *ctx, uint32_t worker_id, uint64_t hash, const void *key,
                                size_t key_bytes);
    /* What lookup has not found. NULL: there is nowhere else to look. */
    struct memo_value (*load)(void *ctx, uint64_t hash, const void *key, size_t key_bytes);
    /* Copied, and held. entry NULL: there is no room for it. If the key is known, the old value
     * stays. */
    struct memo_value (*insert)(void *ctx, uint64_t hash, const void *key, size_t key_bytes,
                                const void *value, size_t value_bytes);
    void (*hold)(const void *entry); /* one more release */
    void (*release)(void *ctx, const void *entry);
    void (*on_barrier)(void *ctx);
    void (*on_begin)(void *ctx, uint32_t worker_id);
    void (*on_end)(void *ctx, uint32_t worker_id);
    void (*on_busy)(void *ctx, uint32_t worker_id);
    void (*on_quiet)(void *ctx, uint32_t worker_id);
};

#endif
