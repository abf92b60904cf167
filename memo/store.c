/*
 * store.c - the memo on disk: transactions, get and put. See store.h; opening is in store_open.c.
 *
 * Reads are short: a snapshot is renewed for each call and given back, so no reader keeps pages of
 * old versions from being used again. Before each call the length of the file is looked at: a file
 * that gets shorter under the map would be a bus error.
 */
#include "store_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define RETRIES_MAX 64 /* the map doubles each time; other causes are gone after one */
/* Times that others may commit twice, and sync to the disk, between two look-ups in memory. */
#define OUTDATED_MAX 8

/* ---- errors ---- */

static int fail_damaged(struct memo_store *s, const char *what, const char *why, struct err_info *e)
{
    s->is_broken = 1;
    s->fault = STORE_FAULT_DAMAGED;
    return err_set(e, WH_ERR_INPUT, s->path, 0, "cannot %s: found %s, expected a sound memo store",
                   what, why);
}

int store__fail(struct memo_store *s, int rc, const char *what, struct err_info *e)
{
    switch (rc) {
    case MDB_MAP_FULL:
        return err_set(e, WH_ERR_LIMIT, s->path, 0,
                       "cannot %s: the memo store is full, it would exceed %llu bytes", what,
                       (unsigned long long)s->file_bytes_max);
    case MDB_CORRUPTED:
    case MDB_PAGE_NOTFOUND:
    case MDB_CURSOR_FULL:
    case MDB_PANIC:
    case MDB_INVALID:
    case MDB_INCOMPATIBLE:
    case MDB_VERSION_MISMATCH:
        return fail_damaged(s, what, mdb_strerror(rc), e);
    case ENOMEM:
        return err_set(e, WH_ERR_NOMEM, s->path, 0, "cannot %s: out of memory", what);
    case EIO: /* how LMDB reports that less than it wanted was written */
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return err_set(e, WH_ERR_IO, s->path, 0, "cannot %s: %s (is the disk full?)", what,
                       mdb_strerror(rc));
    default:
        return err_set(e, WH_ERR_IO, s->path, 0, "cannot %s: %s", what, mdb_strerror(rc));
    }
}

/* Every call begins here. */
static int check_usable(struct memo_store *s, const char *what, struct err_info *e)
{
    struct stat st;

    if (s->is_broken)
        return err_set(e, WH_ERR_INPUT, s->path, 0,
                       "cannot %s: the memo store was found damaged before", what);
    if (fstat(s->fd, &st))
        return store__fail(s, errno, what, e);
    if ((uint64_t)st.st_size < s->file_bytes_seen)
        return fail_damaged(s, what, "a file that has become shorter", e);
    s->file_bytes_seen = (uint64_t)st.st_size;
    return 0;
}

/* ---- transactions ---- */

/* What an attempt may be repeated after. Returns 0 if it is worth it. */
static int mend(struct memo_store *s, int rc)
{
    MDB_envinfo info;
    size_t map_bytes;
    int dead_count;

    switch (rc) {
    case MDB_MAP_RESIZED: /* by another process */
        return mdb_env_set_mapsize(s->env, 0);
    case MDB_READERS_FULL: /* slots of processes that were killed */
        return mdb_reader_check(s->env, &dead_count) || !dead_count;
    case MDB_MAP_FULL:
        if (mdb_env_info(s->env, &info) || info.me_mapsize >= s->file_bytes_max)
            return 1;
        map_bytes = info.me_mapsize < s->file_bytes_max / 2 ? 2 * info.me_mapsize
                                                            : (size_t)s->file_bytes_max;
        return mdb_env_set_mapsize(s->env, map_bytes);
    default:
        return 1;
    }
}

/* The reader's transaction, new or renewed. */
static int renew(struct memo_store *s)
{
    int rc = MDB_MAP_RESIZED;

    for (int i = 0; i < RETRIES_MAX; i++) {
        rc = s->reader ? mdb_txn_renew(s->reader)
                       : mdb_txn_begin(s->env, NULL, MDB_RDONLY, &s->reader);
        if (!rc || mend(s, rc))
            return rc;
    }
    return rc;
}

int store__begin_read(struct memo_store *s, struct err_info *e)
{
    int rc = check_usable(s, "read", e);

    if (rc)
        return rc;
    rc = renew(s);
    return rc ? store__fail(s, rc, "read", e) : 0;
}

void store__end_read(struct memo_store *s)
{
    mdb_txn_reset(s->reader);
}

static int write_once(struct memo_store *s, store_write_fn fn, void *arg)
{
    MDB_txn *txn = NULL;
    int rc = mdb_txn_begin(s->env, NULL, 0, &txn);

    if (rc)
        return rc;
    rc = fn(s, txn, arg);
    if (rc) {
        mdb_txn_abort(txn);
        return rc;
    }
    return mdb_txn_commit(txn); /* aborts if it fails */
}

int store__write(struct memo_store *s, store_write_fn fn, void *arg)
{
    int rc = MDB_MAP_RESIZED;

    for (int i = 0; i < RETRIES_MAX; i++) {
        rc = write_once(s, fn, arg);
        if (!rc || mend(s, rc))
            return rc;
    }
    return rc;
}

int store__check_tree(struct memo_store *s, struct scan_report *report, struct err_info *e)
{
    enum scan_result result = SCAN_OUTDATED;

    for (int i = 0; i < OUTDATED_MAX; i++) {
        int rc;

        result = scan__tree(s->fd, mdb_txn_id(s->reader), report);
        if (result != SCAN_OUTDATED)
            break;
        store__end_read(s);
        rc = renew(s);
        if (rc)
            return store__fail(s, rc, "check the tree", e);
    }
    switch (result) {
    case SCAN_SOUND:
        return 0;
    case SCAN_OUTDATED:
        s->is_lock_stale = 1;
        return err_set(e, WH_ERR_IO, s->path, 0,
                       "cannot check the tree: found a lock file that does not fit the file");
    case SCAN_NOMEM:
        return store__fail(s, ENOMEM, "check the tree", e);
    default:
        return fail_damaged(s, "check the tree", report->text, e);
    }
}

/* ---- get ---- */

static int copy_value(struct memo_store *s, const struct record *r, struct memo_store_value *out,
                      struct err_info *e)
{
    void *value = malloc(r->value_bytes ? r->value_bytes : 1);

    if (!value)
        return store__fail(s, ENOMEM, "read an entry", e);
    memcpy(value, r->value, r->value_bytes);
    *out = (struct memo_store_value){value, r->value_bytes};
    return 0;
}

static int is_of_key(const struct record *r, const struct memo_key *key)
{
    return r->key_bytes == key->key_bytes &&
           (!key->key_bytes || !memcmp(r->key, key->key, key->key_bytes));
}

static int get_in_snapshot(struct memo_store *s, const struct memo_key *key,
                           struct memo_store_value *out, struct err_info *e)
{
    struct record_place place = record__entry_place(&s->space, key->key, key->key_bytes);
    MDB_val at = {place.byte_count, place.bytes}, data;
    const int rc = mdb_get(s->reader, s->dbi, &at, &data);
    struct record r;

    if (rc && rc != MDB_NOTFOUND)
        return store__fail(s, rc, "read an entry", e);
    if (!rc && record__read(&place, &data, &r)) {
        s->stats.damaged_count++;
        return err_set(e, WH_ERR_INPUT, s->path, 0,
                       "found an entry with a wrong length or checksum, which was ignored");
    }
    if (rc || !is_of_key(&r, key)) {
        s->stats.miss_count++;
        return MEMO_STORE_ABSENT;
    }
    s->stats.hit_count++;
    return copy_value(s, &r, out, e);
}

int memo_store_get(struct memo_store *s, const struct memo_key *key, struct memo_store_value *out,
                   struct err_info *e)
{
    int rc = store__begin_read(s, e);

    if (rc)
        return rc;
    rc = get_in_snapshot(s, key, out, e);
    store__end_read(s);
    return rc;
}

/* ---- put ---- */

struct batch {
    const struct memo_store_item *items;
    size_t item_count;
    uint64_t put_count, exists_count; /* of the last attempt */
};

int store__put_record(struct memo_store *s, MDB_txn *txn, const struct record_place *place,
                      const struct record *r)
{
    struct record_place to = *place; /* LMDB's keys are not const */
    MDB_val at = {to.byte_count, to.bytes}, data = {record__bytes(r), NULL};
    const int rc = mdb_put(txn, s->dbi, &at, &data, MDB_RESERVE);

    if (!rc)
        record__write(place, r, data.mv_data);
    return rc;
}

/* Returns 0 and sets @is_there if there is a good record at @place, of whatever key: of two keys
 * with the same 128 bits of hash the first one stays. */
static int find_good(struct memo_store *s, MDB_txn *txn, const struct record_place *place,
                     int *is_there)
{
    struct record_place from = *place;
    MDB_val at = {from.byte_count, from.bytes}, data;
    const int rc = mdb_get(txn, s->dbi, &at, &data);
    struct record r;

    if (rc && rc != MDB_NOTFOUND)
        return rc;
    *is_there = !rc && !record__read(place, &data, &r);
    return 0;
}

static int put_if_absent(struct memo_store *s, MDB_txn *txn, const struct record_place *place,
                         const struct record *r, int *is_there)
{
    const int rc = find_good(s, txn, place, is_there);

    return rc || *is_there ? rc : store__put_record(s, txn, place, r);
}

static int write_batch(struct memo_store *s, MDB_txn *txn, void *arg)
{
    struct batch *b = arg;
    int is_there = 0;
    int rc = put_if_absent(s, txn, &s->space, &s->space_record, &is_there);

    b->put_count = b->exists_count = 0;
    for (size_t i = 0; i < b->item_count && !rc; i++) {
        const struct memo_store_item *item = &b->items[i];
        const struct record_place place =
            record__entry_place(&s->space, item->key.key, item->key.key_bytes);
        const struct record r = {item->key.key, item->value, item->key.key_bytes,
                                 item->value_bytes};

        rc = put_if_absent(s, txn, &place, &r, &is_there);
        if (is_there)
            b->exists_count++;
        else
            b->put_count++;
    }
    return rc;
}

static int check_items(struct memo_store *s, const struct batch *b, struct err_info *e)
{
    const uint64_t bytes_max = MEMO_STORE_VALUE_BYTES_MAX;

    for (size_t i = 0; i < b->item_count; i++) {
        const struct memo_store_item *item = &b->items[i];

        if (item->value_bytes > bytes_max || item->key.key_bytes > bytes_max - item->value_bytes)
            return err_set(e, WH_ERR_LIMIT, s->path, 0,
                           "cannot write an entry of more than %llu bytes",
                           (unsigned long long)bytes_max);
    }
    return 0;
}

int memo_store_put(struct memo_store *s, const struct memo_store_item *items, size_t item_count,
                   struct err_info *e)
{
    struct batch b = {.items = items, .item_count = item_count};
    int rc;

    if (s->is_read_only)
        return err_set(e, WH_ERR_STATE, s->path, 0, "cannot write: the memo store is read-only");
    rc = check_usable(s, "write", e);
    if (!rc)
        rc = check_items(s, &b, e);
    if (rc || !item_count)
        return rc;
    rc = store__write(s, write_batch, &b);
    if (rc)
        return store__fail(s, rc, "write", e);
    s->stats.put_count += b.put_count;
    s->stats.exists_count += b.exists_count;
    return 0;
}

void memo_store_read_stats(const struct memo_store *s, struct memo_store_stats *out)
{
    *out = s->stats;
}

int memo_store_is_read_only(const struct memo_store *s)
{
    return s->is_read_only;
}
