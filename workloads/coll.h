/*
 * coll.h - collectives, lowered to messages between the members of a group.
 *
 * A lowering is a program, not a list: each member has a few lanes, and a pure function says what
 * step s of lane l of member m sends, to whom, and which messages must have arrived before. Lanes
 * run side by side; within a lane the steps go in order, and with a window of 1 a step also waits
 * until the one before was handed over. Arriving messages are counted in the member's inboxes. What
 * is held per collective is a position per lane and a count per inbox.
 *
 * Sizes: X = bytes / elem_bytes elements are cut into k pieces at floor(i X / k), so that the
 * pieces add up exactly for every size from 0 on. Bytes of a buffer follow nccl-tests: all-gather
 * the result, reduce-scatter the input, all-to-all what one rank holds, send/recv the message.
 * Threading: pure functions on immutable plans.
 */
#ifndef WH_COLL_H
#define WH_COLL_H

#include "err.h"
#include "group.h"

#include <stdint.h>

enum coll_kind {
    COLL_ALL_REDUCE,
    COLL_REDUCE_SCATTER,
    COLL_ALL_GATHER,
    COLL_ALL_TO_ALL, /* also with a size for each pair, see pair_bytes */
    COLL_BROADCAST,
    COLL_REDUCE,
    COLL_SEND_RECV, /* every member to the next */
    COLL_BARRIER,   /* no data; over when all members have come */
    COLL_KIND_COUNT
};

enum coll_algo {
    COLL_AUTO, /* ring where there is one, else direct; barriers have none */
    COLL_RING, /* broadcast and reduce: a chain, in chunks */
    COLL_TREE, /* double binary tree, in chunks */
    COLL_HALVING,
    COLL_DIRECT,
    COLL_PAIRWISE,
    COLL_PXN,          /* all-to-all: by NVLink to the server's own GPU on the target's rail */
    COLL_HIERARCHICAL, /* rings inside the servers, rings across them */
    COLL_ALGO_COUNT
};

const char *coll_kind_name(enum coll_kind k); /* "all_reduce", "all_to_all", ... */
int coll_kind_from_name(const char *name, enum coll_kind *out) WH_MUST_CHECK;
const char *coll_algo_name(enum coll_algo a); /* "ring", "tree", "halving-doubling", ... */
int coll_algo_from_name(const char *name, enum coll_algo *out) WH_MUST_CHECK;
/* coll_is_possible - whether @a can lower @k at all; the group may still not suit it. */
int coll_is_possible(enum coll_kind k, enum coll_algo a);

#define COLL_CHANNELS_MAX 64u
#define COLL_CHUNKS_MAX 65536u

/* What all members call together. Zero-initialise. */
struct coll_call {
    enum coll_kind kind;
    enum coll_algo algo;
    int64_t bytes;       /* of the buffer, see above */
    uint32_t elem_bytes; /* 0: 1; bytes must be a multiple */
    uint32_t root;       /* member; broadcast, reduce */
    uint32_t channels;   /* 0: 1; ring, tree, hierarchical */
    uint32_t chunks;     /* per channel; tree, chain; 0: pieces of about 512 KiB, at most 64 */
    /* all-to-all-v: bytes from member to member, in place of @bytes / n; pure; NULL: even */
    int64_t (*pair_bytes)(void *ctx, uint32_t src, uint32_t dst);
    void *pair_ctx;
};

/* coll_call_equals - the same collective as seen by two members. */
int coll_call_equals(const struct coll_call *a, const struct coll_call *b);

#define COLL_IN_NONE UINT32_MAX

/* One step. It may go when inbox need_in[i] holds need[i] messages, for both i. */
struct coll_send {
    uint32_t dst;     /* member */
    uint32_t in;      /* inbox of dst that counts it */
    int64_t bytes;    /* 0: nothing travels, dst counts it at once */
    uint32_t channel; /* connection: fixes the path between two members */
    /* what travels: pieces first, first + stride, ..., @piece_count of them, of @pieces; pieces 0
     * where the data is meant for one member only */
    uint64_t piece_first, piece_count, piece_stride, pieces;
    uint32_t need_in[2]; /* COLL_IN_NONE: nothing to wait for */
    uint32_t need[2];
};

struct coll_plan;

/* A lowering. Lanes and inboxes of all members are alike; some may have nothing to do. */
struct coll_ops {
    const char *name;
    uint32_t kinds; /* bit k: can lower kind k */
    /* fills lane_count, in_count, window; refuses a group that does not suit it */
    int (*prepare)(struct coll_plan *p, struct err_info *e);
    uint32_t (*step_count)(const struct coll_plan *p, uint32_t member, uint32_t lane);
    void (*step)(const struct coll_plan *p, uint32_t member, uint32_t lane, uint32_t step,
                 struct coll_send *out);
    /* messages that the inbox will have counted in the end */
    uint32_t (*in_total)(const struct coll_plan *p, uint32_t member, uint32_t in);
    /* lanes that may wait for the inbox: [*first, *first + *count) */
    void (*lanes_of)(const struct coll_plan *p, uint32_t in, uint32_t *first, uint32_t *count);
};

struct coll_plan {
    struct coll_call call; /* resolved: no AUTO, no 0 where 0 means a default */
    const struct group *g;
    const struct coll_ops *ops; /* NULL: no messages (barrier, nothing to move, one member) */
    uint32_t n;                 /* members */
    uint32_t lane_count, in_count;
    uint32_t window; /* sends of a lane under way at the same time */
    int64_t elems;   /* X */
};

/*
 * coll_plan_init - checks @call against @g.
 * @g: kept; must outlive the plan
 * Errors: WH_ERR_INPUT (bytes, root, channels, or an algorithm that does not suit kind or group).
 */
int coll_plan_init(struct coll_plan *p, const struct group *g, const struct coll_call *call,
                   struct err_info *e) WH_MUST_CHECK;

/* coll_piece_bytes - bytes of pieces [first, first + count) of @pieces. */
int64_t coll_piece_bytes(const struct coll_plan *p, uint64_t first, uint64_t count,
                         uint64_t pieces);

/* coll_piece_start - floor(i X / pieces), the first element of piece i <= pieces < 2^32. */
int64_t coll_piece_start(int64_t elems, uint64_t i, uint64_t pieces);

/* coll_total_bytes - payload that all members together send, relays not counted: closed formulas.
 */
int64_t coll_total_bytes(const struct coll_plan *p);

/* coll_is_relay - the message is forwarded by its receiver (PXN), not meant for it. */
int coll_is_relay(const struct coll_plan *p, const struct coll_send *s);

/* coll_bus_factor - busbw / algbw as nccl-tests define them. */
double coll_bus_factor(enum coll_kind k, uint32_t n);

/* coll_pair_bytes - all-to-all: what @src holds for @dst. */
int64_t coll_pair_bytes(const struct coll_plan *p, uint32_t src, uint32_t dst);

#endif
