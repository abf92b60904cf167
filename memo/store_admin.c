/*
 * store_admin.c - looking after a store: what is in it, is it sound, clear it. See store.h.
 */
#include "store_int.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOCK_SUFFIX "-lock" /* LMDB's */

/* ---- all records, in order ---- */

/* Returns 0 or an enum wh_err, which ends the walk. */
typedef int (*record_fn)(void *arg, const struct record_place *place, const MDB_val *data);

/* In the reader's snapshot. Records with keys of another length are damaged ones, too. */
static int for_each_record(struct memo_store *s, record_fn fn, void *arg, struct err_info *e)
{
    MDB_cursor *cursor = NULL;
    MDB_val at, data;
    int rc = mdb_cursor_open(s->reader, s->dbi, &cursor);

    if (rc)
        return store__fail(s, rc, "read all entries", e);
    while (!(rc = mdb_cursor_get(cursor, &at, &data, MDB_NEXT))) {
        struct record_place place = {{0}, at.mv_size};
        int fn_rc;

        if (at.mv_size > sizeof place.bytes)
            place.byte_count = 0;
        memcpy(place.bytes, at.mv_data, place.byte_count);
        fn_rc = fn(arg, &place, &data);
        if (fn_rc) {
            mdb_cursor_close(cursor);
            return err_set(e, fn_rc, s->path, 0, "cannot read all entries: %s", err_text(fn_rc));
        }
    }
    mdb_cursor_close(cursor);
    return rc == MDB_NOTFOUND ? 0 : store__fail(s, rc, "read all entries", e);
}

/* @fn with every record of a tree that has been checked. */
static int read_all(struct memo_store *s, record_fn fn, void *arg, struct scan_report *report,
                    struct err_info *e)
{
    int rc = store__begin_read(s, e);

    if (rc)
        return rc;
    rc = store__check_tree(s, report, e);
    if (!rc)
        rc = for_each_record(s, fn, arg, e);
    store__end_read(s);
    return rc;
}

/* ---- info ---- */

static void print_id(const struct record_place *place, char *out)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < STORE_ID_BYTES; i++) {
        out[2 * i] = digits[place->bytes[i] >> 4];
        out[2 * i + 1] = digits[place->bytes[i] & 15];
    }
    out[2 * STORE_ID_BYTES] = '\0';
}

/* Records come in the order of namespaces, so the one of @place is the last or a new one. */
static struct memo_store_space *find_space(struct memo_store_info *info,
                                           const struct record_place *place)
{
    struct memo_store_space *space;
    char id[2 * STORE_ID_BYTES + 1];

    print_id(place, id);
    if (info->space_count && !strcmp(info->space[info->space_count - 1].id, id))
        return &info->space[info->space_count - 1];
    space = realloc(info->space, (info->space_count + 1) * sizeof *space);
    if (!space)
        return NULL;
    info->space = space;
    space += info->space_count++;
    *space = (struct memo_store_space){.program_version = "?"};
    memcpy(space->id, id, sizeof id);
    return space;
}

static int add_to_info(void *arg, const struct record_place *place, const MDB_val *data)
{
    struct memo_store_info *info = arg;
    struct memo_store_space *space;
    struct record r;

    if (place->byte_count != STORE_ID_BYTES && place->byte_count != STORE_ENTRY_KEY_BYTES)
        return 0;
    space = find_space(info, place);
    if (!space)
        return WH_ERR_NOMEM;
    if (place->byte_count == STORE_ENTRY_KEY_BYTES) {
        space->entry_count++;
        space->entry_bytes += data->mv_size;
    } else if (!record__read(place, data, &r)) {
        snprintf(space->program_version, sizeof space->program_version, "%.*s", (int)r.key_bytes,
                 (const char *)r.key);
        space->settings_bytes = r.value_bytes;
    }
    return 0;
}

int memo_store_info(struct memo_store *s, struct memo_store_info *out, struct err_info *e)
{
    struct memo_store_info info = {.format_version = MEMO_STORE_FORMAT_VERSION};
    struct scan_report report = {.text = ""};
    const int rc = read_all(s, add_to_info, &info, &report, e);

    if (rc) {
        memo_store_info_fini(&info);
        return rc;
    }
    info.file_bytes = s->file_bytes_seen;
    info.free_bytes = report.free_bytes;
    *out = info;
    return 0;
}

void memo_store_info_fini(struct memo_store_info *info)
{
    free(info->space);
    *info = (struct memo_store_info){.space = NULL};
}

/* ---- verify ---- */

static int add_to_verdict(void *arg, const struct record_place *place, const MDB_val *data)
{
    struct memo_store_verdict *verdict = arg;
    struct record_place expected, space = *place;
    struct record r;

    if (place->byte_count == STORE_ENTRY_KEY_BYTES)
        verdict->entry_count++;
    if (record__read(place, data, &r)) {
        verdict->damaged_count++;
        return 0;
    }
    if (place->byte_count != STORE_ENTRY_KEY_BYTES)
        return 0;
    space.byte_count = STORE_ID_BYTES;
    expected = record__entry_place(&space, r.key, r.key_bytes);
    verdict->damaged_count += memcmp(expected.bytes, place->bytes, sizeof expected.bytes) != 0;
    return 0;
}

int memo_store_verify(struct memo_store *s, struct memo_store_verdict *out, struct err_info *e)
{
    struct memo_store_verdict verdict = {0, 0};
    struct scan_report report = {.text = ""};
    const int rc = read_all(s, add_to_verdict, &verdict, &report, e);

    if (!rc)
        *out = verdict;
    return rc;
}

/* ---- clear ---- */

static int drop_all(struct memo_store *s, MDB_txn *txn, void *unused)
{
    const int rc = mdb_drop(txn, s->dbi, 0);

    return rc ? rc : store__write_header(s, txn, unused);
}

static int fail_clear(const char *path, struct err_info *e)
{
    return err_set(e, WH_ERR_IO, path, 0, "cannot clear the memo store: %s", strerror(errno));
}

/*
 * The file is emptied while nobody else has it open, which LMDB shows by a lock on the first byte
 * of its lock file, shared among its users. Held here alone, it keeps others waiting in
 * mdb_env_open until the file, and the table of readers, have been made anew by the same call. The
 * lock file itself has to stay the same one: they may have it open already.
 */
static int make_anew(const struct memo_store_options *o, struct err_info *e)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
    char lock_path[STORE_PATH_BYTES + sizeof LOCK_SUFFIX];
    struct memo_store *s = NULL;
    enum store_fault fault;
    int rc, fd;

    snprintf(lock_path, sizeof lock_path, "%s" LOCK_SUFFIX, o->path);
    fd = open(lock_path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0)
        return fail_clear(o->path, e);
    if (fcntl(fd, F_SETLK, &lock)) {
        rc = errno == EAGAIN || errno == EACCES
                 ? err_set(e, WH_ERR_STATE, o->path, 0,
                           "cannot clear the memo store: it is damaged and another process uses it")
                 : fail_clear(o->path, e);
    } else if (truncate(o->path, 0)) {
        rc = fail_clear(o->path, e);
    } else {
        rc = store__open(&s, o, &fault, e);
        memo_store_close(s);
    }
    (void)close(fd);
    return rc;
}

int memo_store_clear(const char *path, struct err_info *e)
{
    const struct memo_store_options o = {.path = path, .program_version = ""};
    struct memo_store *s = NULL;
    enum store_fault fault;
    struct stat st;
    int rc;

    if (stat(path, &st)) /* opening would make one */
        return fail_clear(path, e);
    rc = store__open(&s, &o, &fault, e);
    if (rc && fault == STORE_FAULT_DAMAGED)
        return make_anew(&o, e);
    if (rc)
        return rc;
    if (s->is_read_only)
        rc = err_set(e, WH_ERR_IO, path, 0, "cannot clear the memo store: it is read-only");
    else if ((rc = store__write(s, drop_all, NULL)))
        rc = store__fail(s, rc, "clear the memo store", e);
    memo_store_close(s);
    return rc;
}
