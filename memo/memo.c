/*
 * memo.c - see memo.h.
 */
#include "memo.h"

#include "form.h"
#include "store.h"

#include <stdlib.h>
#include <string.h>

#define UNSAVED_BYTES_MAX (UINT64_C(64) << 20) /* are put into the store before the end */

struct memo {
    enum memo_lens lens;
    uint32_t worker_count;
    struct form_cache **forms; /* MEMO_FCG; shape: [worker_count], each used by one worker */
    struct memo_table *table;
    struct memo_store *store;          /* NULL: none */
    const struct memo_entry **unsaved; /* held; shape: [unsaved_count] */
    size_t unsaved_count, unsaved_cap;
    uint64_t unsaved_bytes;
    uint64_t loaded_count, saved_count;
    int rc; /* the first error of the store during the run; it is not asked again */
    struct err_info error;
};

/* What one thread may keep is divided among all, down to a size that is still worth it. */
static int make_forms(struct memo *m)
{
    uint64_t bytes = FORM_CACHE_BYTES_DEFAULT / m->worker_count;
    int rc = 0;

    bytes = bytes > FORM_CACHE_BYTES_MIN ? bytes : FORM_CACHE_BYTES_MIN;
    m->forms = calloc(m->worker_count, sizeof(struct form_cache *));
    if (!m->forms)
        return WH_ERR_NOMEM;
    for (uint32_t i = 0; i < m->worker_count && !rc; i++)
        rc = form_cache_create(&m->forms[i], bytes);
    return rc;
}

int memo_create(struct memo **out, const struct memo_options *o, struct err_info *e)
{
    const struct memo_table_options t = {o->bytes_max ? o->bytes_max : MEMO_BYTES_DEFAULT,
                                         o->worker_count};
    const struct memo_store_options s = {.path = o->path,
                                         .program_version = o->program_version,
                                         .settings = o->settings,
                                         .settings_bytes = o->settings_bytes};
    struct memo *m = calloc(1, sizeof *m);
    int rc;

    if (!m)
        return WH_ERR_NOMEM;
    m->lens = o->lens;
    m->worker_count = o->worker_count;
    rc = memo_table_create(&m->table, &t);
    if (!rc && m->lens == MEMO_FCG)
        rc = make_forms(m);
    if (!rc && o->path)
        rc = memo_store_open(&m->store, &s, e);
    if (rc) {
        memo_destroy(m);
        return rc;
    }
    *out = m;
    return 0;
}

void memo_destroy(struct memo *m)
{
    if (!m)
        return;
    for (size_t i = 0; i < m->unsaved_count; i++)
        memo_entry_release(m->unsaved[i]);
    free(m->unsaved);
    for (uint32_t i = 0; m->forms && i < m->worker_count; i++)
        form_cache_destroy(m->forms[i]);
    free(m->forms);
    memo_table_destroy(m->table);
    memo_store_close(m->store);
    free(m);
}

/* ---- the store ---- */

static int can_save(const struct memo *m)
{
    return m->store && !m->rc && !memo_store_is_read_only(m->store);
}

/* Puts and lets go what is not saved yet. */
static int put_unsaved(struct memo *m, struct err_info *e)
{
    struct memo_store_item *item = malloc((m->unsaved_count + 1) * sizeof *item);
    int rc = item ? 0 : WH_ERR_NOMEM;

    for (size_t i = 0; !rc && i < m->unsaved_count; i++) {
        item[i].key = memo_entry_key(m->unsaved[i]);
        item[i].value = memo_entry_value(m->unsaved[i], &item[i].value_bytes);
    }
    if (!rc)
        rc = memo_store_put(m->store, item, m->unsaved_count, e);
    if (!rc)
        m->saved_count += m->unsaved_count;
    for (size_t i = 0; i < m->unsaved_count; i++)
        memo_entry_release(m->unsaved[i]);
    m->unsaved_count = 0;
    m->unsaved_bytes = 0;
    free(item);
    return rc;
}

static void remember_unsaved(struct memo *m, const struct memo_entry *entry, uint64_t bytes)
{
    if (m->unsaved_count == m->unsaved_cap) {
        const size_t cap = m->unsaved_cap ? 2 * m->unsaved_cap : 256;
        const struct memo_entry **u = realloc(m->unsaved, cap * sizeof *u);

        if (!u)
            return; /* it is only not saved */
        m->unsaved = u;
        m->unsaved_cap = cap;
    }
    memo_entry_hold(entry);
    m->unsaved[m->unsaved_count++] = entry;
    m->unsaved_bytes += bytes;
}

int memo_save(struct memo *m, struct err_info *e)
{
    int rc = m->rc;

    if (rc && e)
        *e = m->error;
    if (!rc && m->unsaved_count && can_save(m))
        rc = put_unsaved(m, e);
    return rc;
}

/* From the store into the table. */
static const struct memo_entry *fetch(struct memo *m, const struct memo_key *key)
{
    const struct memo_entry *entry = NULL;
    struct memo_store_value v;
    int rc;

    if (m->rc)
        return NULL;
    rc = memo_store_get(m->store, key, &v, &m->error);
    if (rc == MEMO_STORE_ABSENT)
        return NULL;
    if (rc) {
        m->rc = rc;
        return NULL;
    }
    rc = memo_table_insert(m->table, key, v.value, v.value_bytes, &entry);
    free(v.value);
    if (rc && rc != MEMO_TABLE_EXISTS)
        return NULL;
    m->loaded_count++;
    return entry;
}

/* ---- operations ---- */

static uint64_t hash(const void *key, size_t key_bytes)
{
    return memo_key_make(key, key_bytes).hash;
}

/* Of an entry, or of none. */
static struct memo_value value_of(const struct memo_entry *entry)
{
    struct memo_value v = {.entry = entry};

    if (entry)
        v.bytes = memo_entry_value(entry, &v.count);
    return v;
}

static struct memo_value lookup(void *ctx, uint32_t worker_id, uint64_t h, const void *key,
                                size_t key_bytes)
{
    const struct memo *m = ctx;
    const struct memo_key k = {h, key, key_bytes};

    return value_of(memo_table_lookup(m->table, worker_id, &k));
}

/* Others that have looked at the same time may have found it meanwhile, so the table comes first.
 */
static struct memo_value load(void *ctx, uint64_t h, const void *key, size_t key_bytes)
{
    struct memo *m = ctx;
    const struct memo_key k = {h, key, key_bytes};
    const struct memo_entry *entry = memo_table_lookup(m->table, 0, &k);

    return value_of(entry ? entry : fetch(m, &k));
}

static struct memo_value insert(void *ctx, uint64_t h, const void *key, size_t key_bytes,
                                const void *value, size_t value_bytes)
{
    struct memo *m = ctx;
    const struct memo_key k = {h, key, key_bytes};
    const struct memo_entry *entry = NULL;
    const int rc = memo_table_insert(m->table, &k, value, value_bytes, &entry);

    if (rc && rc != MEMO_TABLE_EXISTS)
        return (struct memo_value){0};
    if (!rc && can_save(m))
        remember_unsaved(m, entry, key_bytes + value_bytes);
    memo_entry_hold(entry);
    return value_of(entry);
}

static int canonical(void *ctx, uint32_t worker_id, const struct memo_graph *g,
                     struct memo_form *out)
{
    return form_cache_find(((struct memo *)ctx)->forms[worker_id], g, out);
}

static void hold(const void *entry)
{
    memo_entry_hold(entry);
}

static void release(void *ctx, const void *entry)
{
    (void)ctx;
    memo_entry_release(entry);
}

static void on_barrier(void *ctx)
{
    struct memo *m = ctx;

    memo_table_on_barrier(m->table);
    if (m->unsaved_bytes > UNSAVED_BYTES_MAX)
        m->rc = put_unsaved(m, &m->error);
}

static void on_begin(void *ctx, uint32_t worker_id)
{
    memo_table_on_begin(((struct memo *)ctx)->table, worker_id);
}

static void on_end(void *ctx, uint32_t worker_id)
{
    memo_table_on_end(((struct memo *)ctx)->table, worker_id);
}

static void on_busy(void *ctx, uint32_t worker_id)
{
    memo_table_on_busy(((struct memo *)ctx)->table, worker_id);
}

static void on_quiet(void *ctx, uint32_t worker_id)
{
    memo_table_on_quiet(((struct memo *)ctx)->table, worker_id);
}

void memo_ops(struct memo *m, struct memo_ops *out)
{
    *out = (struct memo_ops){.ctx = m,
                             .lens = m->lens,
                             .canonical = canonical,
                             .hash = hash,
                             .lookup = lookup,
                             .load = m->store ? load : NULL,
                             .insert = insert,
                             .hold = hold,
                             .release = release,
                             .on_barrier = on_barrier,
                             .on_begin = on_begin,
                             .on_end = on_end,
                             .on_busy = on_busy,
                             .on_quiet = on_quiet};
}

void memo_read_stats(const struct memo *m, struct memo_stats *out)
{
    memset(out, 0, sizeof *out);
    memo_table_read_stats(m->table, &out->table);
    out->has_store = m->store != NULL;
    out->is_read_only = m->store && memo_store_is_read_only(m->store);
    out->loaded_count = m->loaded_count;
    out->saved_count = m->saved_count;
}
