/*
 * table.c - the memo in memory: see table.h.
 *
 * The entries form a ring in the order of their insertion, which only the coordinator touches. The
 * hand points at the oldest entry that it has not looked at in this turn; new ones go in behind it,
 * so they are looked at last.
 *
 * Buckets are not resized by liburcu's own thread but by the coordinator, between rounds: doubling
 * is cheap beside the insertions that made it necessary, and no reader is in the way.
 */
#include "table.h"
#include "tsan.h"

#include <stdalign.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <urcu-qsbr.h>

#include <urcu/rculfhash.h>

#define LINE_BYTES 128 /* two lines of 64 bytes: processors fetch neighbours in pairs */
#define BUCKETS_MIN 1024u
#define BUCKETS_MAX (UINT64_C(1) << 30)
#define RETIRED_BYTES_MIN (UINT64_C(1) << 20)
#define BUCKETS_PER_ENTRY 2u
#define BUCKET_BYTES sizeof(struct cds_lfht_node)

/* Shared. */
struct memo_entry {
    struct cds_lfht_node node;        /* [rcu] liburcu's */
    uint64_t hash;                    /* [rcu] */
    size_t key_bytes;                 /* [rcu] */
    size_t value_bytes;               /* [rcu] */
    _Atomic uint32_t is_used;         /* [atomic, relaxed] a hint: nothing is read because of it */
    _Atomic uint32_t hold_count;      /* [atomic R1/A1] */
    struct memo_entry *newer, *older; /* [part] the coordinator's: the ring */
    struct rcu_head rcu;              /* [part] the coordinator's until it is evicted, then RCU's */
    struct memo_table *table;         /* [const] */
    /* [rcu] key, then, aligned, value: what a look-up compares is beside what it comes by. */
    alignas(max_align_t) unsigned char bytes[];
};

/* Shared. [worker, stats] both: written by the worker, read by the coordinator, relaxed because
 * each is a figure by itself. */
struct table_worker {
    alignas(LINE_BYTES) _Atomic uint64_t hit_count;
    _Atomic uint64_t miss_count;
};

/* Shared. */
struct memo_table {
    struct cds_lfht *lfht;       /* [const] */
    struct table_worker *worker; /* [const] the pointer. shape: [worker_count] */
    uint64_t bytes_max;          /* [const] */
    uint32_t worker_count;       /* [const] */

    /* [part] the coordinator's. */
    alignas(LINE_BYTES) struct memo_entry *hand; /* NULL: the ring is empty */
    uint64_t entry_count, entry_bytes, bucket_count, insert_count, evict_count;

    /* [atomic, relaxed] raised by the coordinator, lowered by RCU's thread: a figure by itself. */
    alignas(LINE_BYTES) _Atomic uint64_t retired_bytes;
    /* An address for tsan.h: quiescent states before the freeing that they allow. */
    char grace;
};

/* ---- entries ---- */

static size_t calc_value_offset(size_t key_bytes)
{
    return (key_bytes + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
}

static uint64_t calc_entry_bytes(size_t key_bytes, size_t value_bytes)
{
    return sizeof(struct memo_entry) + calc_value_offset(key_bytes) + value_bytes +
           BUCKETS_PER_ENTRY * BUCKET_BYTES;
}

static struct memo_entry *entry_of_node(struct cds_lfht_node *node)
{
    _Static_assert(offsetof(struct memo_entry, node) == 0, "a node is where its entry is");
    return (struct memo_entry *)node;
}

/* NULL: out of memory. */
static struct memo_entry *make_entry(struct memo_table *t, const struct memo_key *key,
                                     const void *value, size_t value_bytes)
{
    struct memo_entry *entry;

    if (key->key_bytes > SIZE_MAX / 4 || value_bytes > SIZE_MAX / 4)
        return NULL;
    entry = malloc(sizeof *entry + calc_value_offset(key->key_bytes) + value_bytes);
    if (!entry)
        return NULL;
    memset(entry, 0, sizeof *entry);
    cds_lfht_node_init(&entry->node);
    entry->hash = key->hash;
    entry->key_bytes = key->key_bytes;
    entry->value_bytes = value_bytes;
    entry->table = t;
    atomic_init(&entry->is_used, 0);
    atomic_init(&entry->hold_count, 0);
    if (key->key_bytes)
        memcpy(entry->bytes, key->key, key->key_bytes);
    if (value_bytes)
        memcpy(entry->bytes + calc_value_offset(key->key_bytes), value, value_bytes);
    return entry;
}

const void *memo_entry_value(const struct memo_entry *entry, size_t *value_bytes)
{
    *value_bytes = entry->value_bytes;
    return entry->bytes + calc_value_offset(entry->key_bytes);
}

struct memo_key memo_entry_key(const struct memo_entry *entry)
{
    return (struct memo_key){entry->hash, entry->bytes, entry->key_bytes};
}

/* The two words that change in an entry are no part of what it means, so they are written through
 * const pointers: every entry comes from malloc. */
void memo_entry_hold(const struct memo_entry *entry)
{
    struct memo_entry *e = (struct memo_entry *)entry;

    /* relaxed: the end of the round puts it before the insertions that it is to be seen by. */
    atomic_fetch_add_explicit(&e->hold_count, 1, memory_order_relaxed);
}

void memo_entry_release(const struct memo_entry *entry)
{
    struct memo_entry *e = (struct memo_entry *)entry;
    /* R1: what was read in the entry comes before; pairs with A1 in find_victim. */
    const uint32_t before = atomic_fetch_sub_explicit(&e->hold_count, 1, memory_order_release);

    check(before > 0, "an entry was released more often than held (%u)", before);
}

/* ---- the ring ---- */

static void ring_add(struct memo_table *t, struct memo_entry *entry)
{
    struct memo_entry *hand = t->hand;

    if (!hand) {
        entry->newer = entry->older = entry;
        t->hand = entry;
        return;
    }
    entry->newer = hand;
    entry->older = hand->older;
    hand->older->newer = entry;
    hand->older = entry;
}

static void ring_remove(struct memo_table *t, struct memo_entry *entry)
{
    entry->older->newer = entry->newer;
    entry->newer->older = entry->older;
    if (t->hand == entry)
        t->hand = entry->newer == entry ? NULL : entry->newer;
}

/* The next entry to evict; NULL: all are held. Two turns are enough: the first takes the marks. */
static struct memo_entry *find_victim(struct memo_table *t)
{
    for (uint64_t i = 0; i < 2 * t->entry_count; i++) {
        struct memo_entry *entry = t->hand;

        /* relaxed: see struct memo_entry. */
        if (atomic_load_explicit(&entry->is_used, memory_order_relaxed))
            atomic_store_explicit(&entry->is_used, 0, memory_order_relaxed);
        /* A1: no holder reads it any more; pairs with R1 in memo_entry_release. */
        else if (!atomic_load_explicit(&entry->hold_count, memory_order_acquire))
            return entry;
        t->hand = entry->newer;
    }
    return NULL;
}

/* ---- eviction ---- */

/* In RCU's thread, after a grace period. */
static void free_entry(struct rcu_head *rcu)
{
    struct memo_entry *entry = caa_container_of(rcu, struct memo_entry, rcu);
    struct memo_table *t;
    uint64_t bytes;

    /* Pairs with the release in evict: the coordinator was done with it. */
    TSAN_ACQUIRE(rcu);
    t = entry->table;
    bytes = calc_entry_bytes(entry->key_bytes, entry->value_bytes);
    /* Pairs with the releases of be_quiet: readers were done before the grace period ended. */
    TSAN_ACQUIRE(&t->grace);
    free(entry);
    /* relaxed: a figure by itself. */
    atomic_fetch_sub_explicit(&t->retired_bytes, bytes, memory_order_relaxed);
    /* Pairs with the acquire in memo_table_destroy. */
    TSAN_RELEASE(&t->grace);
}

/* Takes @entry out of table and ring. Who frees it, and when, is the caller's business. */
static void unlink_entry(struct memo_table *t, struct memo_entry *entry)
{
    const int rc = cds_lfht_del(t->lfht, &entry->node);

    check(!rc, "an entry of the ring is not in the table (%d)", rc);
    ring_remove(t, entry);
    t->entry_count--;
    t->entry_bytes -= calc_entry_bytes(entry->key_bytes, entry->value_bytes);
}

static void evict(struct memo_table *t, struct memo_entry *entry)
{
    unlink_entry(t, entry);
    t->evict_count++;
    /* relaxed: a figure by itself. */
    atomic_fetch_add_explicit(&t->retired_bytes,
                              calc_entry_bytes(entry->key_bytes, entry->value_bytes),
                              memory_order_relaxed);
    TSAN_RELEASE(&entry->rcu);
    call_rcu(&entry->rcu, free_entry);
}

static int make_room(struct memo_table *t, uint64_t bytes)
{
    if (bytes > t->bytes_max)
        return WH_ERR_LIMIT;
    while (t->entry_bytes > t->bytes_max - bytes) {
        struct memo_entry *victim = find_victim(t);

        if (!victim)
            return WH_ERR_LIMIT;
        evict(t, victim);
    }
    return 0;
}

/* ---- look-up and insertion ---- */

/* Called by liburcu for the nodes of a chain that have the hash. */
static int is_match(struct cds_lfht_node *node, const void *arg)
{
    const struct memo_entry *entry = entry_of_node(node);
    const struct memo_key *key = arg;

    /* Pairs with the release in memo_table_insert. */
    TSAN_ACQUIRE(node);
    return entry->hash == key->hash && entry->key_bytes == key->key_bytes &&
           (!key->key_bytes || !memcmp(entry->bytes, key->key, key->key_bytes));
}

static struct memo_entry *find(struct memo_table *t, const struct memo_key *key)
{
    struct cds_lfht_iter iter;
    struct cds_lfht_node *node;

    cds_lfht_lookup(t->lfht, key->hash, is_match, key, &iter);
    node = cds_lfht_iter_get_node(&iter);
    return node ? entry_of_node(node) : NULL;
}

static void count(_Atomic uint64_t *counter)
{
    /* relaxed: one writer, see struct table_worker. */
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + 1,
                          memory_order_relaxed);
}

const struct memo_entry *memo_table_lookup(struct memo_table *t, uint32_t worker_id,
                                           const struct memo_key *key)
{
    struct memo_entry *entry;

    dcheck(worker_id < t->worker_count, "worker %u of %u", worker_id, t->worker_count);
    dcheck(rcu_read_ongoing(), "worker %u is not online", worker_id);
    entry = find(t, key);
    if (!entry) {
        count(&t->worker[worker_id].miss_count);
        return NULL;
    }
    count(&t->worker[worker_id].hit_count);
    /* Read first: an entry in use by all stays in all caches. relaxed: see struct memo_entry. */
    if (!atomic_load_explicit(&entry->is_used, memory_order_relaxed))
        atomic_store_explicit(&entry->is_used, 1, memory_order_relaxed);
    return entry;
}

static void link_entry(struct memo_table *t, const struct memo_key *key, struct memo_entry *entry)
{
    const struct cds_lfht_node *node;

    /* Pairs with the acquire in is_match. */
    TSAN_RELEASE(&entry->node);
    node = cds_lfht_add_unique(t->lfht, key->hash, is_match, key, &entry->node);
    check(node == &entry->node, "two threads insert at once (%llu entries)",
          (unsigned long long)t->entry_count);
    ring_add(t, entry);
    t->entry_count++;
    t->entry_bytes += calc_entry_bytes(entry->key_bytes, entry->value_bytes);
    t->insert_count++;
}

int memo_table_insert(struct memo_table *t, const struct memo_key *key, const void *value,
                      size_t value_bytes, const struct memo_entry **out)
{
    struct memo_entry *entry;
    int rc = MEMO_TABLE_EXISTS;

    check(rcu_read_ongoing(), "the coordinator (of %u workers) is not online", t->worker_count);
    entry = find(t, key);
    if (!entry) {
        entry = make_entry(t, key, value, value_bytes);
        if (!entry)
            return WH_ERR_NOMEM;
        rc = make_room(t, calc_entry_bytes(key->key_bytes, value_bytes));
        if (rc) {
            free(entry);
            return rc;
        }
        link_entry(t, key, entry);
    }
    if (out)
        *out = entry;
    return rc;
}

/* ---- workers ---- */

/* To be called before the thread reports a quiescent state. */
static void be_quiet(struct memo_table *t)
{
    TSAN_RELEASE(&t->grace);
}

void memo_table_on_begin(void *table, uint32_t worker_id)
{
    struct memo_table *t = table;

    check(worker_id < t->worker_count, "worker %u of %u", worker_id, t->worker_count);
    check(!rcu_read_ongoing(), "worker %u is already online for another table", worker_id);
    rcu_register_thread();
    if (worker_id != 0)
        rcu_thread_offline();
}

void memo_table_on_end(void *table, uint32_t worker_id)
{
    (void)worker_id;
    be_quiet(table);
    rcu_unregister_thread();
}

void memo_table_on_busy(void *table, uint32_t worker_id)
{
    (void)table;
    (void)worker_id;
    rcu_thread_online();
}

void memo_table_on_quiet(void *table, uint32_t worker_id)
{
    (void)worker_id;
    be_quiet(table);
    rcu_thread_offline();
}

static void grow_buckets(struct memo_table *t)
{
    uint64_t bucket_count = t->bucket_count;

    while (bucket_count < BUCKETS_PER_ENTRY * t->entry_count && bucket_count < BUCKETS_MAX)
        bucket_count *= 2;
    if (bucket_count == t->bucket_count)
        return;
    cds_lfht_resize(t->lfht, bucket_count);
    t->bucket_count = bucket_count;
}

/* Waiting takes liburcu some 10 ms, which is nothing for a quarter of a table that is worth the
 * name; hence the constant part. */
static uint64_t calc_retired_max(const struct memo_table *t)
{
    return t->bytes_max / 4 + RETIRED_BYTES_MIN;
}

void memo_table_on_barrier(struct memo_table *t)
{
    check(rcu_read_ongoing(), "the coordinator (of %u workers) is not online", t->worker_count);
    be_quiet(t);
    rcu_quiescent_state();
    grow_buckets(t);
    /* relaxed: a figure by itself. */
    if (atomic_load_explicit(&t->retired_bytes, memory_order_relaxed) > calc_retired_max(t))
        rcu_barrier();
}

/* ---- life ---- */

int memo_table_create(struct memo_table **out, const struct memo_table_options *o)
{
    struct memo_table *t;

    check(o->worker_count > 0 && o->worker_count <= MEMO_TABLE_WORKERS_MAX, "%u workers",
          o->worker_count);
    check(o->bytes_max > 0, "a table of %llu bytes", (unsigned long long)o->bytes_max);
    t = aligned_alloc(alignof(struct memo_table), sizeof *t);
    if (!t)
        return WH_ERR_NOMEM;
    memset(t, 0, sizeof *t);
    t->bytes_max = o->bytes_max;
    t->worker_count = o->worker_count;
    t->bucket_count = BUCKETS_MIN;
    atomic_init(&t->retired_bytes, 0);
    t->worker = aligned_alloc(LINE_BYTES, o->worker_count * sizeof *t->worker);
    if (!t->worker)
        goto fail;
    for (uint32_t i = 0; i < o->worker_count; i++) {
        atomic_init(&t->worker[i].hit_count, 0);
        atomic_init(&t->worker[i].miss_count, 0);
    }
    t->lfht = cds_lfht_new(BUCKETS_MIN, BUCKETS_MIN, 0, 0, NULL);
    if (!t->lfht)
        goto fail;
    *out = t;
    return 0;
fail:
    memo_table_destroy(t);
    return WH_ERR_NOMEM;
}

/* Nobody reads any more, so no grace period is needed. */
static void destroy_lfht(struct memo_table *t)
{
    int rc;

    while (t->hand) {
        struct memo_entry *entry = t->hand;

        unlink_entry(t, entry);
        free(entry);
    }
    rc = cds_lfht_destroy(t->lfht, NULL);
    check(!rc, "the table is not empty (%d)", rc);
}

void memo_table_destroy(struct memo_table *t)
{
    if (!t)
        return;
    if (t->lfht) {
        /* liburcu's rule: who calls cds_lfht_del is registered. */
        const int is_worker = rcu_read_ongoing();

        check(!is_worker, "a worker destroys the table (%d)", is_worker);
        rcu_register_thread();
        destroy_lfht(t);
        rcu_unregister_thread();
        if (t->evict_count)
            rcu_barrier();
        TSAN_ACQUIRE(&t->grace);
    }
    free(t->worker);
    free(t);
}

void memo_table_read_stats(const struct memo_table *t, struct memo_table_stats *out)
{
    *out = (struct memo_table_stats){
        .entry_count = t->entry_count,
        .entry_bytes = t->entry_bytes,
        .retired_bytes = atomic_load_explicit(&t->retired_bytes, memory_order_relaxed),
        .bucket_count = t->bucket_count,
        .insert_count = t->insert_count,
        .evict_count = t->evict_count,
    };
    for (uint32_t i = 0; i < t->worker_count; i++) {
        const struct table_worker *w = &t->worker[i];

        out->hit_count += atomic_load_explicit(&w->hit_count, memory_order_relaxed);
        out->miss_count += atomic_load_explicit(&w->miss_count, memory_order_relaxed);
    }
}
