/*
 * table.h - the memo in memory: entries that all workers look up and the coordinator adds.
 *
 * A hash table of liburcu (cds_lfht) under QSBR. An entry is one allocation of key and value that
 * never changes; look-ups take no lock and write nothing that is shared, but for one bit the first
 * time an entry is used. When the table is full, the coordinator evicts by second chance (the
 * "clock"; Corbato, 1968): entries in the order of their insertion, except those that were looked
 * up since the hand last passed, and those that are held. What is evicted therefore depends on the
 * order of insertions, the set of look-ups between them, and the holds; not on the number of
 * threads.
 *
 *                                 lookup  release  hold  insert  on_barrier  stats
 *     a worker while online          x        x      x
 *     the coordinator                x        x      x      x         x         x
 *
 * All may run at the same time, but for hold, which excludes insert. The coordinator's calls
 * exclude one another: it is one thread, worker 0. create and destroy exclude everything.
 *
 * Ordering: what was written into an entry before its insertion is seen by whoever finds it. An
 * entry found stays as it is until the thread that found it reports a quiescent state: on_quiet or
 * on_end of a worker, on_barrier or on_end of the coordinator; or, if held, until its release.
 * Progress: lookup is wait-free but for the length of a bucket's chain; hold and release are
 * wait-free; insert is lock-free; on_barrier may wait for other workers to become quiescent, so a
 * worker must not wait for the coordinator while it is online.
 *
 * Freed memory: liburcu starts one thread for it in the process, with the first eviction.
 */
#ifndef WH_TABLE_H
#define WH_TABLE_H

#include "err.h"
#include "memo_key.h"

struct memo_table;
struct memo_entry;

#define MEMO_TABLE_BYTES_NO_MAX UINT64_MAX
#define MEMO_TABLE_WORKERS_MAX 1024

struct memo_table_options {
    uint64_t bytes_max;    /* of all entries, their overhead included [B], > 0 */
    uint32_t worker_count; /* 1..MEMO_TABLE_WORKERS_MAX; ids are below it */
};

struct memo_table_stats {
    uint64_t entry_count, entry_bytes; /* in the table now; entry_bytes <= bytes_max */
    uint64_t retired_bytes;            /* evicted, but a worker may still be reading them */
    uint64_t bucket_count;
    uint64_t insert_count, evict_count;
    uint64_t hit_count, miss_count; /* of all workers; may be late by what they are just doing */
};

/* memo_table_create - an empty table. Errors: WH_ERR_NOMEM. Context: any thread. */
int memo_table_create(struct memo_table **out, const struct memo_table_options *o) WH_MUST_CHECK;

/*
 * memo_table_destroy - frees the table with all of its entries, held ones too. NULL is accepted.
 * Waits until evicted entries are freed. Context: any thread that is not a worker now; no worker is
 * between on_begin and on_end.
 */
void memo_table_destroy(struct memo_table *t);

/*
 * Hooks of a team of workers, as the pool of sched/ calls them; @table is a struct memo_table *.
 * on_begin registers the calling thread with RCU, and on_end undoes it; on_busy takes it online
 * before its first task and on_quiet offline before a wait. Worker 0 is online all the time. A
 * thread is a worker of one table at a time. Context: the worker's own thread; on_busy and on_quiet
 * not for worker 0.
 */
void memo_table_on_begin(void *table, uint32_t worker_id);
void memo_table_on_end(void *table, uint32_t worker_id);
void memo_table_on_busy(void *table, uint32_t worker_id);
void memo_table_on_quiet(void *table, uint32_t worker_id);

/*
 * memo_table_lookup - the entry of @key, or NULL. Counts a hit or a miss of the worker, and marks
 * the entry as used.
 * Context: online worker @worker_id, any time.
 * Owner: the table's; see "Ordering" above for how long it may be read.
 */
const struct memo_entry *memo_table_lookup(struct memo_table *t, uint32_t worker_id,
                                           const struct memo_key *key);

/* memo_entry_value - @value_bytes bytes, aligned for any type. Context: as long as the entry may be
 * read. */
const void *memo_entry_value(const struct memo_entry *entry, size_t *value_bytes);

/* memo_entry_key - its hash and bytes, which live as long as the entry. Context: as above. */
struct memo_key memo_entry_key(const struct memo_entry *entry);

/*
 * memo_entry_hold - keeps @entry in the table, and readable, until as many releases.
 * A hold counts for eviction, so the set of held entries at an insertion has to be a property of
 * the model. At most UINT32_MAX at a time.
 * Context: hold: while the entry may be read, not during an insertion. release: any thread.
 */
void memo_entry_hold(const struct memo_entry *entry);
void memo_entry_release(const struct memo_entry *entry);

#define MEMO_TABLE_EXISTS 1

/*
 * memo_table_insert - adds an entry, evicting others if the table would grow beyond bytes_max.
 * @entry: set on 0 and on MEMO_TABLE_EXISTS; may be NULL
 * Returns: 0, or MEMO_TABLE_EXISTS if there was one of an equal key, which then stays as it is.
 * Errors: WH_ERR_NOMEM; WH_ERR_LIMIT if it does not fit beside the entries held, which is found out
 *         when all others are evicted, or at once if it is larger than bytes_max.
 * Context: coordinator, online, in an order that is a property of the model.
 * Owner: key and value are copied.
 */
int memo_table_insert(struct memo_table *t, const struct memo_key *key, const void *value,
                      size_t value_bytes, const struct memo_entry **entry) WH_MUST_CHECK;

/*
 * memo_table_on_barrier - the coordinator's quiescent state; once per round.
 * Entries that it has found and does not hold may be gone afterwards. Grows the array of buckets,
 * and waits for the freeing of evicted entries when those that are still to be freed exceed a
 * quarter of bytes_max and 1 MiB. Context: coordinator, online, not in a task.
 */
void memo_table_on_barrier(struct memo_table *t);

/* memo_table_read_stats - Context: coordinator; or any thread while no worker is in the team. */
void memo_table_read_stats(const struct memo_table *t, struct memo_table_stats *out);

#endif
