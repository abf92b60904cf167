/*
 * store_open.c - opening a store: what the file is, and whether it may be trusted. See store.h.
 *
 * Order: open the file and claim it in this process; look at the meta pages before LMDB does; let
 * LMDB map it; check the whole tree in a first snapshot; look at the header.
 */
#define _GNU_SOURCE /* F_OFD_SETLK, memfd_create */

#include "store_int.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define HEADER_TEXT "wormhole memo store"
#define FILE_MODE 0666
#define READERS_MAX 1024 /* slots of the lock file, 64 B each */
#define MAP_BYTES_MIN (UINT64_C(16) << 20)
#define PATIENCE 50 /* times a millisecond: for a file that is just being made, or written */
/* Far behind any data: one byte per process, see claim. */
#define CLAIM_OFFSET (INT64_C(1) << 60)

/* ---- the file ---- */

static int fail_system(struct memo_store *s, const char *what, struct err_info *e)
{
    return err_set(e, errno == ENOMEM ? WH_ERR_NOMEM : WH_ERR_IO, s->path, 0, "cannot %s: %s", what,
                   strerror(errno));
}

static int open_file(struct memo_store *s, struct err_info *e)
{
    struct stat st;

    s->fd = -1;
    if (!s->is_read_only) {
        s->fd = open(s->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, FILE_MODE);
        if (s->fd < 0 && errno != EACCES && errno != EPERM && errno != EROFS)
            return fail_system(s, "open the memo store", e);
    }
    if (s->fd < 0) {
        s->is_read_only = 1;
        s->fd = open(s->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    }
    if (s->fd < 0 || fstat(s->fd, &st))
        return fail_system(s, "open the memo store", e);
    s->file_bytes_seen = (uint64_t)st.st_size;
    if (!S_ISREG(st.st_mode)) {
        s->fault = STORE_FAULT_FOREIGN;
        return err_set(e, WH_ERR_INPUT, s->path, 0,
                       "found something that is not a regular file, expected a memo store");
    }
    return 0;
}

/*
 * A second LMDB environment in one process would, in closing, drop the first one's locks. The lock
 * taken here belongs to the open file, not to the process, so it tells the two apart; each process
 * has a byte of its own, so it is in nobody else's way. It takes the right to write.
 */
static int claim(struct memo_store *s, struct err_info *e)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};

    if (s->is_read_only)
        return 0;
    lock.l_start = CLAIM_OFFSET + getpid();
    if (!fcntl(s->fd, F_OFD_SETLK, &lock))
        return 0;
    if (errno == EAGAIN || errno == EACCES)
        return err_set(e, WH_ERR_STATE, s->path, 0,
                       "cannot open the memo store: it is already open in this process");
    return fail_system(s, "lock the memo store", e);
}

static void pause_ms(void)
{
    const struct timespec t = {0, 1000000};

    (void)nanosleep(&t, NULL);
}

/* Another process may be making the file, or writing a meta page, just now. */
static int check_metas(struct memo_store *s, uint64_t *used_bytes, struct err_info *e)
{
    enum scan_result result = SCAN_SOUND;
    struct scan_report report = {.text = ""};

    for (int i = 0; i < PATIENCE; i++) {
        const off_t file_bytes = lseek(s->fd, 0, SEEK_END);

        if (file_bytes == 0 && !s->is_read_only)
            return 0;
        result = scan__metas(s->fd, &report);
        if (!result) {
            *used_bytes = report.used_bytes;
            return 0;
        }
        pause_ms();
    }
    s->fault = result == SCAN_FOREIGN ? STORE_FAULT_FOREIGN : STORE_FAULT_DAMAGED;
    return err_set(e, WH_ERR_INPUT, s->path, 0, "found %s, expected a memo store", report.text);
}

/* ---- LMDB ---- */

/* Puts a copy of the file in the place of s->fd. */
static int copy_to_memory(struct memo_store *s, struct err_info *e)
{
    const int copy = memfd_create("memo-store", MFD_CLOEXEC);
    off_t at = 0;
    ssize_t got;

    if (copy < 0)
        return fail_system(s, "copy the memo store", e);
    do
        got = sendfile(copy, s->fd, &at, 1 << 30);
    while (got > 0 && (uint64_t)at <= s->file_bytes_max);
    if (got) {
        const int rc = got < 0 ? fail_system(s, "copy the memo store", e)
                               : err_set(e, WH_ERR_LIMIT, s->path, 0,
                                         "cannot copy a memo store of more than %llu bytes",
                                         (unsigned long long)s->file_bytes_max);

        (void)close(copy);
        return rc;
    }
    (void)close(s->fd);
    s->fd = copy;
    s->file_bytes_seen = (uint64_t)at;
    return 0;
}

static int make_env(struct memo_store *s, const char *path, unsigned flags, uint64_t used_bytes)
{
    const uint64_t want_bytes = 2 * used_bytes > MAP_BYTES_MIN ? 2 * used_bytes : MAP_BYTES_MIN;
    const uint64_t map_bytes = want_bytes < s->file_bytes_max ? want_bytes : s->file_bytes_max;
    int rc = mdb_env_create(&s->env);

    if (rc)
        return rc;
    rc = mdb_env_set_mapsize(s->env, map_bytes);
    if (!rc)
        rc = mdb_env_set_maxreaders(s->env, READERS_MAX);
    /* NOTLS: the reader's slot belongs to the store, not to a thread. NORDAHEAD: entries are read
     * here and there. NOMETASYNC: a crash of the machine may take the last transaction, but not the
     * tree. */
    if (!rc)
        rc = mdb_env_open(s->env, path,
                          flags | MDB_NOSUBDIR | MDB_NOTLS | MDB_NORDAHEAD | MDB_NOMETASYNC,
                          FILE_MODE);
    if (rc) {
        mdb_env_close(s->env);
        s->env = NULL;
    }
    return rc;
}

static void close_env(struct memo_store *s)
{
    if (s->reader)
        mdb_txn_abort(s->reader);
    if (s->env)
        mdb_env_close(s->env);
    s->reader = NULL;
    s->env = NULL;
}

/* With locks if possible: then others may write while we read. */
static int open_env(struct memo_store *s, uint64_t used_bytes, struct err_info *e)
{
    char path[64];
    int rc = EACCES;

    if (!s->is_read_only) {
        rc = make_env(s, s->path, 0, used_bytes);
        s->is_lock_stale = rc == MDB_INVALID || rc == MDB_VERSION_MISMATCH;
        s->is_read_only = rc == EACCES || rc == EPERM || rc == EROFS;
    }
    if (s->is_read_only)
        rc = make_env(s, s->path, MDB_RDONLY, used_bytes);
    if (rc == EACCES || rc == EPERM || rc == EROFS) {
        rc = copy_to_memory(s, e);
        if (rc)
            return rc;
        snprintf(path, sizeof path, "/proc/self/fd/%d", s->fd);
        rc = make_env(s, path, MDB_RDONLY | MDB_NOLOCK, used_bytes);
    }
    return rc ? store__fail(s, rc, "open the memo store", e) : 0;
}

/* ---- the header ---- */

static struct record make_header(const uint32_t *version)
{
    return (struct record){HEADER_TEXT, version, sizeof HEADER_TEXT, sizeof *version};
}

int store__write_header(struct memo_store *s, MDB_txn *txn, void *unused)
{
    const uint32_t version = MEMO_STORE_FORMAT_VERSION;
    const struct record_place place = record__header_place();
    const struct record header = make_header(&version);

    (void)unused;
    return store__put_record(s, txn, &place, &header);
}

/* In the reader's snapshot. Sets @is_new if there is nothing in the database yet. */
static int check_header(struct memo_store *s, int is_empty, int *is_new, struct err_info *e)
{
    struct record_place place = record__header_place();
    MDB_val at = {place.byte_count, place.bytes}, data;
    const int rc = mdb_get(s->reader, s->dbi, &at, &data);
    uint32_t version;
    struct record r;

    if (rc && rc != MDB_NOTFOUND)
        return store__fail(s, rc, "read the header", e);
    *is_new = rc && is_empty;
    if (*is_new)
        return 0;
    if (rc || record__read(&place, &data, &r) || r.key_bytes != sizeof HEADER_TEXT ||
        memcmp(r.key, HEADER_TEXT, sizeof HEADER_TEXT) || r.value_bytes != sizeof version) {
        s->fault = rc ? STORE_FAULT_FOREIGN : STORE_FAULT_DAMAGED;
        return err_set(e, WH_ERR_INPUT, s->path, 0, "found an LMDB file %s, expected a memo store",
                       rc ? "of another program" : "with a damaged header");
    }
    memcpy(&version, r.value, sizeof version);
    if (version == MEMO_STORE_FORMAT_VERSION)
        return 0;
    s->fault = STORE_FAULT_FOREIGN;
    return err_set(e, WH_ERR_INPUT, s->path, 0,
                   "found a memo store of format version %u, expected version %u", version,
                   MEMO_STORE_FORMAT_VERSION);
}

/* Two fingerprints with the same 128 bits of hash. */
static int check_space(struct memo_store *s, struct err_info *e)
{
    struct record_place place = s->space;
    MDB_val at = {place.byte_count, place.bytes}, data;
    const struct record *own = &s->space_record;
    struct record r;

    if (mdb_get(s->reader, s->dbi, &at, &data) || record__read(&place, &data, &r))
        return 0; /* not there, or damaged: the next put writes it */
    if (r.key_bytes == own->key_bytes && r.value_bytes == own->value_bytes &&
        !memcmp(r.key, own->key, r.key_bytes) && !memcmp(r.value, own->value, r.value_bytes))
        return 0;
    return err_set(e, WH_ERR_INPUT, s->path, 0,
                   "found other settings with the same hash, expected a memo store without");
}

static int check_content(struct memo_store *s, int *is_new, struct err_info *e)
{
    struct scan_report report = {.text = ""};
    int rc = store__begin_read(s, e);

    if (rc)
        return rc;
    rc = store__check_tree(s, &report, e);
    if (!rc && (rc = mdb_dbi_open(s->reader, NULL, 0, &s->dbi)))
        rc = store__fail(s, rc, "open the database", e);
    if (!rc)
        rc = check_header(s, report.is_empty, is_new, e);
    if (!rc)
        rc = check_space(s, e);
    store__end_read(s);
    return rc;
}

/*
 * Who opens a file that nobody uses makes its lock file anew. If it is killed while it does, those
 * that have waited for it go on with what stands there: LMDB would read, and write, at a wrong
 * transaction. The meta pages have been looked at before, and the tree check compares transactions,
 * so all of them notice, here; they close the file and try again, and the first one that finds
 * itself alone makes the lock file anew.
 */
static int open_checked(struct memo_store *s, uint64_t used_bytes, int *is_new, struct err_info *e)
{
    int rc = WH_ERR_IO;

    for (int i = 0; i < PATIENCE; i++) {
        s->is_lock_stale = s->is_broken = 0;
        s->fault = STORE_FAULT_NONE;
        rc = open_env(s, used_bytes, e);
        if (!rc)
            rc = check_content(s, is_new, e);
        if (!rc || !s->is_lock_stale)
            return rc;
        close_env(s);
        pause_ms();
    }
    return rc;
}

/* ---- the store ---- */

static int copy_text(char *out, size_t out_bytes, const char *text)
{
    const size_t text_bytes = strlen(text) + 1;

    if (text_bytes > out_bytes)
        return 1;
    memcpy(out, text, text_bytes);
    return 0;
}

static int set_space(struct memo_store *s, const struct memo_store_options *o)
{
    const size_t version_bytes = strlen(o->program_version);
    unsigned char *copy = malloc(version_bytes + o->settings_bytes + 1);

    if (!copy)
        return WH_ERR_NOMEM;
    memcpy(copy, o->program_version, version_bytes);
    if (o->settings_bytes)
        memcpy(copy + version_bytes, o->settings, o->settings_bytes);
    s->space_record = (struct record){copy, copy + version_bytes, version_bytes, o->settings_bytes};
    s->space = record__space_place(&s->space_record);
    return 0;
}

static int open_all(struct memo_store *s, const struct memo_store_options *o, struct err_info *e)
{
    uint64_t used_bytes = 0;
    int is_new = 0, dead_count, rc;

    s->is_read_only = o->is_read_only;
    s->file_bytes_max = o->file_bytes_max ? o->file_bytes_max : MEMO_STORE_FILE_BYTES_MAX_DEFAULT;
    if (copy_text(s->path, sizeof s->path, o->path))
        return err_set(e, WH_ERR_INPUT, "", 0, "found a path of more than %d bytes, expected less",
                       STORE_PATH_BYTES - 1);
    if ((rc = set_space(s, o)))
        return err_set(e, rc, s->path, 0, "out of memory");
    if ((rc = open_file(s, e)) || (rc = claim(s, e)) || (rc = check_metas(s, &used_bytes, e)) ||
        (rc = open_checked(s, used_bytes, &is_new, e)))
        return rc;
    if (!s->is_read_only)
        (void)mdb_reader_check(s->env, &dead_count); /* slots of processes that were killed */
    if (is_new && !s->is_read_only && (rc = store__write(s, store__write_header, NULL)))
        return store__fail(s, rc, "write the header", e);
    return 0;
}

int store__open(struct memo_store **out, const struct memo_store_options *o,
                enum store_fault *fault, struct err_info *e)
{
    struct memo_store *s = calloc(1, sizeof *s);
    int rc;

    *fault = STORE_FAULT_NONE;
    if (!s)
        return err_set(e, WH_ERR_NOMEM, o->path, 0, "out of memory");
    s->fd = -1;
    rc = open_all(s, o, e);
    *fault = s->fault;
    if (rc) {
        memo_store_close(s);
        return rc;
    }
    *out = s;
    return 0;
}

int memo_store_open(struct memo_store **out, const struct memo_store_options *o, struct err_info *e)
{
    enum store_fault fault;

    return store__open(out, o, &fault, e);
}

void memo_store_close(struct memo_store *s)
{
    if (!s)
        return;
    close_env(s);
    if (s->fd >= 0)
        (void)close(s->fd); /* after LMDB: it gives up the claim */
    free((void *)s->space_record.key);
    free(s);
}
