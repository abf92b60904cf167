/*
 * form.h - canonical forms of graphs, and those made lately: canonical order is only found for
 * what is new.
 *
 * What is looked up first are the bytes of a graph as its maker numbered it. The same partition in
 * the same state gives the same bytes, so a hit costs a hash and a comparison. When the forms that
 * are kept exceed their limit all are dropped, which depends on nothing but the calls before.
 *
 * Threading: one thread at a time; workers have one each, which cannot be told by what comes out.
 */
#ifndef WH_FORM_H
#define WH_FORM_H

#include "err.h"
#include "memo_ops.h"

struct form_cache;

#define FORM_CACHE_BYTES_DEFAULT (UINT64_C(64) << 20)
#define FORM_CACHE_BYTES_MIN (UINT64_C(4) << 20) /* of each worker's, where there are many */

/* form_cache_create - @bytes_max: of forms that are kept. Errors: WH_ERR_NOMEM. */
int form_cache_create(struct form_cache **out, uint64_t bytes_max) WH_MUST_CHECK;
void form_cache_destroy(struct form_cache *c); /* NULL is accepted */

/*
 * form_cache_find - the canonical form of @g. @out lasts until the next call.
 * Returns: 0, 1 if the graph has none here (canon.h), or WH_ERR_NOMEM.
 */
int form_cache_find(struct form_cache *c, const struct memo_graph *g,
                    struct memo_form *out) WH_MUST_CHECK;

struct form_cache_stats {
    uint64_t hit_count, made_count, too_large_count, drop_count;
};
void form_cache_read_stats(const struct form_cache *c, struct form_cache_stats *out);

#endif
