/*
 * store.h - the memo on disk: one LMDB file that runs and processes share.
 *
 * Entries are kept apart by a fingerprint of everything that affects results: the version of the
 * format, the version of the program and the caller's settings. Each fingerprint is a namespace of
 * its own in the file, so sweeps over settings can use one file.
 *
 * Nothing in the file is trusted. Opening reads the whole tree of pages and checks its structure;
 * every entry carries its key and a checksum, which each look-up compares. Whatever is wrong with a
 * file is an error with a sentence, after which a caller goes on without the store, and never a
 * wrong value. What cannot be noticed is damage to the tree after it has been checked, by something
 * else than LMDB, other than the file getting shorter: LMDB may then crash.
 *
 * Beside FILE there is FILE-lock, LMDB's table of readers. Both belong on a file system of this
 * machine: locks of network file systems will not do.
 *
 * Threading: one thread at a time per store. A file may be open in any number of processes, once
 * in each; a process that forks does not use the store in the child.
 */
#ifndef WH_STORE_H
#define WH_STORE_H

#include "err.h"
#include "memo_key.h"

struct memo_store;

#define MEMO_STORE_FORMAT_VERSION 1u
#define MEMO_STORE_FILE_BYTES_MAX_DEFAULT (UINT64_C(16) << 30)
#define MEMO_STORE_VALUE_BYTES_MAX (UINT64_C(1) << 30) /* key and value of an entry together */

struct memo_store_options {
    const char *path;
    const char *program_version; /* text without meaning, e.g. "0.1.0 1a2b3c" */
    const void *settings;        /* the caller's fingerprint, shape: [settings_bytes] */
    size_t settings_bytes;
    uint64_t file_bytes_max; /* the file grows up to this [B]; 0: the default. Of the processes that
                                have a file open the most generous one decides */
    int is_read_only;        /* never write; the file has to exist */
};

/*
 * memo_store_open - opens the file, creating it if need be.
 * A file that may only be read is opened for reading; see memo_store_is_read_only. If not even its
 * lock file may be written, the store is a copy in memory of what the file is now.
 * Cost: reads all pages but those of values above half a page: some 2 us per entry.
 * Errors: WH_ERR_INPUT: foreign, damaged, truncated, of another version, no regular file.
 *         WH_ERR_STATE: already open in this process. WH_ERR_IO: the system refuses.
 *         WH_ERR_NOMEM. *@out is untouched, and @e says what it is.
 */
int memo_store_open(struct memo_store **out, const struct memo_store_options *o,
                    struct err_info *e) WH_MUST_CHECK;
void memo_store_close(struct memo_store *s); /* NULL is accepted */

int memo_store_is_read_only(const struct memo_store *s);

struct memo_store_value {
    void *value; /* malloc's, the caller's to free; never NULL */
    size_t value_bytes;
};

#define MEMO_STORE_ABSENT 1

/*
 * memo_store_get - a copy of the value of @key in this namespace.
 * Returns: 0, or MEMO_STORE_ABSENT; *@out is set on 0 only.
 * Errors: WH_ERR_INPUT: the entry is damaged (a later put mends it), or the file has become shorter
 *         (every later call says so). WH_ERR_NOMEM, WH_ERR_IO. All mean: go on as if absent.
 */
int memo_store_get(struct memo_store *s, const struct memo_key *key, struct memo_store_value *out,
                   struct err_info *e) WH_MUST_CHECK;

struct memo_store_item {
    struct memo_key key;
    const void *value; /* shape: [value_bytes] */
    size_t value_bytes;
};

/*
 * memo_store_put - adds @items, all or none, in one transaction; waits for other writers.
 * Entries that are there already stay. After a return of 0 no crash of a process loses them; one of
 * the machine may lose the last transaction.
 * Errors: WH_ERR_LIMIT: the file would exceed file_bytes_max, or an item its own limit.
 *         WH_ERR_IO: disk full, or the system refuses. WH_ERR_STATE: read-only.
 *         WH_ERR_INPUT: damaged. WH_ERR_NOMEM. The file is as it was.
 */
int memo_store_put(struct memo_store *s, const struct memo_store_item *items, size_t item_count,
                   struct err_info *e) WH_MUST_CHECK;

/* Since the opening. */
struct memo_store_stats {
    uint64_t hit_count, miss_count, damaged_count; /* gets by outcome */
    uint64_t put_count, exists_count;              /* items added, items that were there already */
};
void memo_store_read_stats(const struct memo_store *s, struct memo_store_stats *out);

/* ---- looking after a file ---- */

struct memo_store_space {
    char id[33];              /* hexadecimal hash of the fingerprint */
    char program_version[64]; /* cut to fit; "?" if its record is damaged */
    uint64_t settings_bytes;
    uint64_t entry_count;
    uint64_t entry_bytes; /* keys and values with their headers */
};

struct memo_store_info {
    uint32_t format_version;
    uint64_t file_bytes;
    uint64_t free_bytes;            /* of them, to be used again */
    struct memo_store_space *space; /* shape: [space_count], in order of id */
    size_t space_count;
};

/* memo_store_info - what is in the file, all namespaces. Owner: *@out is the caller's, to be ended
 * with memo_store_info_fini. Errors: as memo_store_get. */
int memo_store_info(struct memo_store *s, struct memo_store_info *out,
                    struct err_info *e) WH_MUST_CHECK;
void memo_store_info_fini(struct memo_store_info *info);

struct memo_store_verdict {
    uint64_t entry_count;   /* looked at, all namespaces */
    uint64_t damaged_count; /* of them: wrong length, checksum or key */
};

/* memo_store_verify - checks the tree again and every entry. Errors: WH_ERR_INPUT: the tree is
 * damaged, and nothing was counted; others as memo_store_get. */
int memo_store_verify(struct memo_store *s, struct memo_store_verdict *out,
                      struct err_info *e) WH_MUST_CHECK;

/*
 * memo_store_clear - takes all entries of all namespaces out of the file at @path. The file keeps
 * its size and is filled anew, by processes that have it open too. A damaged file is made anew.
 * Errors: WH_ERR_INPUT: the file is not a memo store, and was not touched. WH_ERR_STATE: damaged,
 *         but in use by another process. WH_ERR_IO, WH_ERR_NOMEM.
 */
int memo_store_clear(const char *path, struct err_info *e) WH_MUST_CHECK;

#endif
