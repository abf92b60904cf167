/*
 * memo_ops.h - what the engine asks of a memo of episodes.
 *
 * A key is the state of a partition at a control event, a value what came of it up to its next one
 * (episode.c); both are bytes to the memo. An entry never changes; one that was handed out stays
 * readable until it is released.
 * Context: the coordinator; on_* as the hooks of sched/pool.h, on_begin and on_end of worker 0 also
 * where there is no pool.
 */
#ifndef WH_MEMO_OPS_H
#define WH_MEMO_OPS_H

#include <stddef.h>
#include <stdint.h>

struct memo_value {
    const void *entry; /* for release; NULL: there is none */
    const void *bytes; /* aligned for any type */
    size_t count;
};

struct memo_ops {
    void *ctx;
    uint64_t (*hash)(const void *key, size_t key_bytes);
    /* bytes NULL: not known */
    struct memo_value (*lookup)(void *ctx, uint64_t hash, const void *key, size_t key_bytes);
    /* Copied. entry NULL: there is no room for it. If the key is known, the old value stays. */
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
