/*
 * memo.h - the memo as the engine wants it: the operations of core/memo_ops.h.
 *
 *     memo_create(&m, &options, &err) -> memo_ops(m, &ops) -> sim_set_memo(sim, &ops) -> the run
 *     -> memo_save(m, &err) -> memo_destroy(m)
 *
 * Entries live in the table (table.h). With a store (store.h) look-ups that the table cannot answer
 * go there, and memo_save puts what is new into it.
 *
 *   who calls                 create, destroy, save   ops   stats
 *   outside of a run                  x                       x
 *   the simulation in a run                            x
 *
 * Threading: one simulation at a time.
 */
#ifndef WH_MEMO_H
#define WH_MEMO_H

#include "err.h"
#include "memo_ops.h"
#include "table.h"

struct memo;

#define MEMO_BYTES_DEFAULT (UINT64_C(1) << 30)

struct memo_options {
    enum memo_lens lens;
    uint64_t bytes_max;          /* of the table; 0: MEMO_BYTES_DEFAULT */
    uint32_t worker_count;       /* of the simulation, > 0 */
    const char *path;            /* of the store; NULL: none */
    const char *program_version; /* with a store */
    const void *settings;        /* everything that affects results and is not part of a key */
    size_t settings_bytes;
};

struct memo_stats {
    struct memo_table_stats table;
    int has_store, is_read_only;
    uint64_t loaded_count; /* entries that came from the store */
    uint64_t saved_count;  /* entries that memo_save has put into it */
};

/* memo_create - Errors: WH_ERR_NOMEM, and those of memo_store_open (with @e). */
int memo_create(struct memo **out, const struct memo_options *o, struct err_info *e) WH_MUST_CHECK;
void memo_destroy(struct memo *m); /* NULL is accepted */
void memo_ops(struct memo *m, struct memo_ops *out);

/* memo_save - what the run has learnt goes into the store, if there is one that can be written.
 * Errors: those of memo_store_put (with @e); the store is then as it was, or has a part of it. */
int memo_save(struct memo *m, struct err_info *e) WH_MUST_CHECK;

void memo_read_stats(const struct memo *m, struct memo_stats *out);

#endif
