/*
 * store_int.h - the parts of the store: records, the check of the tree, transactions.
 *
 * The file has one LMDB database. Kinds of records, told apart by the length of their database key:
 *
 *     1 byte                          header: what this file is, and its version
 *     16 bytes (id of a namespace)    namespace: version of the program, settings
 *     32 bytes (id, hash of the key)  entry: key, value
 *
 * All have the same form: struct record_head, value, key. The hash of the database key is the seed
 * of the checksum, so a record in the wrong place is a damaged one. Words are in the order of the
 * machine, as LMDB's own.
 */
#ifndef WH_STORE_INT_H
#define WH_STORE_INT_H

#include "store.h"

#include <lmdb.h>

#define STORE_ID_BYTES 16
#define STORE_ENTRY_KEY_BYTES 32
#define STORE_PATH_BYTES 4096

/* ---- records: store_record.c ---- */

struct record_head {
    uint64_t checksum; /* of all that follows */
    uint64_t key_bytes, value_bytes;
};

/* A record in memory, not copied. */
struct record {
    const void *key, *value;
    size_t key_bytes, value_bytes;
};

/* The database key of a record. */
struct record_place {
    unsigned char bytes[STORE_ENTRY_KEY_BYTES];
    size_t byte_count;
};

struct record_place record__header_place(void);
/* The namespace of a version of the program and settings. */
struct record_place record__space_place(const struct record *space);
/* The entry of @key in the namespace at @space. */
struct record_place record__entry_place(const struct record_place *space, const void *key,
                                        size_t key_bytes);

size_t record__bytes(const struct record *r);
/* Writes it to @out, shape: [record__bytes]. */
void record__write(const struct record_place *place, const struct record *r, void *out);
/* Checks length and checksum. Returns 0, or WH_ERR_INPUT with *@out untouched. */
int record__read(const struct record_place *place, const MDB_val *data,
                 struct record *out) WH_MUST_CHECK;

/* ---- the check of the tree: store_scan.c ---- */

enum scan_result {
    SCAN_SOUND,
    SCAN_DAMAGED,
    SCAN_FOREIGN,  /* not a file of LMDB, or of another version of it */
    SCAN_OUTDATED, /* the transaction is none of the two that the file knows */
    SCAN_NOMEM,
};

struct scan_report {
    char text[256];      /* what was found, unless sound */
    uint64_t free_bytes; /* pages that are to be used again */
    uint64_t used_bytes; /* end of the last page that was ever used */
    int is_empty;        /* no records at all */
};

/* scan__metas - the two pages that LMDB reads when it opens a file; @fd is not empty. */
enum scan_result scan__metas(int fd, struct scan_report *out);

/*
 * scan__tree - all pages that can be reached in the snapshot of transaction @txn_id, by pread only.
 * Each page is inside the file, is used once, and holds what LMDB relies on when it follows it.
 */
enum scan_result scan__tree(int fd, uint64_t txn_id, struct scan_report *out);

/* ---- the open store: store.c ---- */

/* What is wrong with a file, for memo_store_clear. */
enum store_fault { STORE_FAULT_NONE, STORE_FAULT_FOREIGN, STORE_FAULT_DAMAGED };

struct memo_store {
    char path[STORE_PATH_BYTES];
    int fd; /* the file, or its copy; for checks, and to claim it */
    MDB_env *env;
    MDB_txn *reader; /* between calls: reset */
    MDB_dbi dbi;
    struct record_place space;
    struct record space_record; /* key: version of the program, value: settings; owned */
    uint64_t file_bytes_max;
    uint64_t file_bytes_seen; /* the file has been as long as this, and never gets shorter */
    int is_read_only;
    int is_broken;     /* every further call fails */
    int is_lock_stale; /* see open_checked */
    enum store_fault fault;
    struct memo_store_stats stats;
};

/* As memo_store_open; @fault is set in any case. */
int store__open(struct memo_store **out, const struct memo_store_options *o,
                enum store_fault *fault, struct err_info *e) WH_MUST_CHECK;

/* store__fail - the sentence and code for LMDB's or the system's error @rc, met in doing @what. */
int store__fail(struct memo_store *s, int rc, const char *what, struct err_info *e);

/* A snapshot to read in, until store__end_read. After an error there is none. */
int store__begin_read(struct memo_store *s, struct err_info *e) WH_MUST_CHECK;
void store__end_read(struct memo_store *s);

/* Checks the tree of the snapshot, which it may renew. */
int store__check_tree(struct memo_store *s, struct scan_report *report,
                      struct err_info *e) WH_MUST_CHECK;

/* @fn in a write transaction, repeated when the map has to grow. Returns 0 or an error of LMDB. */
typedef int (*store_write_fn)(struct memo_store *s, MDB_txn *txn, void *arg);
int store__write(struct memo_store *s, store_write_fn fn, void *arg) WH_MUST_CHECK;
int store__write_header(struct memo_store *s, MDB_txn *txn, void *unused) WH_MUST_CHECK;

/* Writes one record, over whatever is there. Returns 0 or an error of LMDB. */
int store__put_record(struct memo_store *s, MDB_txn *txn, const struct record_place *place,
                      const struct record *r) WH_MUST_CHECK;

#endif
