/*
 * test_table.c - memo/table.c: look-ups, second chance, holds, and the same entries whatever the
 * number of threads.
 */
#include "memo_key.h"
#include "pool.h"
#include "rng.h"
#include "table.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define SEED UINT64_C(7)

static struct memo_table *create(uint64_t bytes_max, uint32_t worker_count)
{
    const struct memo_table_options o = {bytes_max, worker_count};
    struct memo_table *t = NULL;

    cr_assert_eq(memo_table_create(&t, &o), 0);
    return t;
}

/* The test's thread is worker 0 and coordinator. */
static struct memo_table *begin(uint64_t bytes_max)
{
    struct memo_table *t = create(bytes_max, 1);

    memo_table_on_begin(t, 0);
    return t;
}

static void end(struct memo_table *t)
{
    memo_table_on_end(t, 0);
    memo_table_destroy(t);
}

static struct memo_key text_key(const char *text)
{
    return memo_key_make(text, strlen(text));
}

static int insert_text(struct memo_table *t, const char *key, const char *value)
{
    const struct memo_key k = text_key(key);

    return memo_table_insert(t, &k, value, strlen(value), NULL);
}

static int has(struct memo_table *t, const char *key)
{
    const struct memo_key k = text_key(key);

    return memo_table_lookup(t, 0, &k) != NULL;
}

static struct memo_table_stats stats_of(const struct memo_table *t)
{
    struct memo_table_stats s;

    memo_table_read_stats(t, &s);
    return s;
}

/* What an entry of so many bytes counts as. */
static uint64_t measure_entry_bytes(size_t key_bytes, size_t value_bytes)
{
    static const char zeros[4096];
    struct memo_table *t = begin(MEMO_TABLE_BYTES_NO_MAX);
    const struct memo_key k = memo_key_make(zeros, key_bytes);
    uint64_t entry_bytes;

    cr_assert_eq(memo_table_insert(t, &k, zeros, value_bytes, NULL), 0);
    entry_bytes = stats_of(t).entry_bytes;
    end(t);
    return entry_bytes;
}

Test(table, finds_what_was_inserted_and_nothing_else)
{
    struct memo_table *t = begin(MEMO_TABLE_BYTES_NO_MAX);
    const struct memo_key key = text_key("seven");
    const struct memo_entry *entry = NULL;
    size_t value_bytes = 0;
    const void *value;

    cr_assert_eq(memo_table_insert(t, &key, "7", 2, &entry), 0);
    cr_assert_not_null(entry);
    cr_assert_eq(memo_table_lookup(t, 0, &key), entry);
    value = memo_entry_value(entry, &value_bytes);
    cr_assert_eq(value_bytes, 2);
    cr_assert_str_eq(value, "7");
    cr_assert_eq((uintptr_t)value % _Alignof(max_align_t), 0);
    cr_assert_eq(memo_entry_key(entry).key_bytes, strlen("seven"));
    cr_assert_eq(memcmp(memo_entry_key(entry).key, "seven", strlen("seven")), 0);
    cr_assert(!has(t, "seve"));
    cr_assert(!has(t, "sevens"));
    end(t);
}

Test(table, empty_keys_and_values_are_allowed)
{
    struct memo_table *t = begin(MEMO_TABLE_BYTES_NO_MAX);
    const struct memo_key key = memo_key_make(NULL, 0);
    const struct memo_entry *entry = NULL;
    size_t value_bytes = 1;

    cr_assert_null(memo_table_lookup(t, 0, &key));
    cr_assert_eq(memo_table_insert(t, &key, NULL, 0, &entry), 0);
    cr_assert_eq(memo_table_lookup(t, 0, &key), entry);
    (void)memo_entry_value(entry, &value_bytes);
    cr_assert_eq(value_bytes, 0);
    end(t);
}

Test(table, equal_hashes_do_not_make_equal_keys)
{
    struct memo_table *t = begin(MEMO_TABLE_BYTES_NO_MAX);
    const struct memo_entry *entry[26];

    for (int i = 0; i < 26; i++) {
        const char letter = (char)('a' + i);
        const struct memo_key key = {42, &letter, 1};

        cr_assert_eq(memo_table_insert(t, &key, &letter, 1, &entry[i]), 0);
    }
    for (int i = 0; i < 26; i++) {
        const char letter = (char)('a' + i);
        const struct memo_key key = {42, &letter, 1}, longer = {42, "ab", 2};
        size_t value_bytes;

        cr_assert_eq(memo_table_lookup(t, 0, &key), entry[i]);
        cr_assert_eq(*(const char *)memo_entry_value(entry[i], &value_bytes), letter);
        cr_assert_null(memo_table_lookup(t, 0, &longer));
    }
    end(t);
}

Test(table, the_first_of_equal_keys_stays)
{
    struct memo_table *t = begin(MEMO_TABLE_BYTES_NO_MAX);
    const struct memo_key key = text_key("k");
    const struct memo_entry *first = NULL, *second = NULL;

    cr_assert_eq(memo_table_insert(t, &key, "1", 1, &first), 0);
    cr_assert_eq(memo_table_insert(t, &key, "2", 1, &second), MEMO_TABLE_EXISTS);
    cr_assert_eq(first, second);
    cr_assert_eq(stats_of(t).entry_count, 1);
    cr_assert_eq(stats_of(t).insert_count, 1);
    end(t);
}

Test(table, hits_and_misses_are_counted)
{
    struct memo_table *t = begin(MEMO_TABLE_BYTES_NO_MAX);

    cr_assert_eq(insert_text(t, "a", "1"), 0);
    cr_assert_eq(stats_of(t).hit_count + stats_of(t).miss_count, 0, "insertions count");
    for (int i = 0; i < 5; i++)
        (void)has(t, "a");
    for (int i = 0; i < 3; i++)
        (void)has(t, "b");
    cr_assert_eq(stats_of(t).hit_count, 5);
    cr_assert_eq(stats_of(t).miss_count, 3);
    end(t);
}

Test(table, evicts_in_order_of_insertion_but_not_what_was_used)
{
    struct memo_table *t = begin(3 * measure_entry_bytes(1, 1));

    cr_assert_eq(insert_text(t, "a", "1"), 0);
    cr_assert_eq(insert_text(t, "b", "1"), 0);
    cr_assert_eq(insert_text(t, "c", "1"), 0);
    cr_assert(has(t, "a"));
    cr_assert_eq(insert_text(t, "d", "1"), 0); /* a was used, so b goes */
    cr_assert_eq(insert_text(t, "e", "1"), 0); /* the hand stands at c, which was not */
    cr_assert(!has(t, "b"));
    cr_assert(!has(t, "c"));
    cr_assert(has(t, "a") && has(t, "d") && has(t, "e"));
    cr_assert_eq(stats_of(t).evict_count, 2);
    end(t);
}

Test(table, held_entries_stay_and_block_when_nothing_else_is_left)
{
    struct memo_table *t = begin(2 * measure_entry_bytes(1, 1));
    const struct memo_key a = text_key("a"), b = text_key("b");
    const struct memo_entry *entry_a = NULL, *entry_b = NULL;

    cr_assert_eq(memo_table_insert(t, &a, "1", 1, &entry_a), 0);
    cr_assert_eq(memo_table_insert(t, &b, "1", 1, &entry_b), 0);
    memo_entry_hold(entry_a);
    memo_entry_hold(entry_a);
    memo_entry_hold(entry_b);
    cr_assert_eq(insert_text(t, "c", "1"), WH_ERR_LIMIT);
    cr_assert(has(t, "a") && has(t, "b") && !has(t, "c"));
    memo_entry_release(entry_a);
    cr_assert_eq(insert_text(t, "c", "1"), WH_ERR_LIMIT, "one of two holds was enough");
    memo_entry_release(entry_a);
    cr_assert_eq(insert_text(t, "c", "1"), 0);
    cr_assert(!has(t, "a") && has(t, "b") && has(t, "c"));
    end(t);
}

Test(table, what_is_larger_than_the_table_evicts_nothing)
{
    static const char large[4096];
    struct memo_table *t = begin(2048);
    const struct memo_key key = text_key("large");

    cr_assert_eq(insert_text(t, "a", "1"), 0);
    cr_assert_eq(memo_table_insert(t, &key, large, sizeof large, NULL), WH_ERR_LIMIT);
    cr_assert(has(t, "a"));
    end(t);
}

Test(table, evicted_memory_comes_back)
{
    struct memo_table *t = begin(1 << 20);
    char value[4096] = {0};

    for (uint64_t i = 0; i < 20000; i++) {
        const struct memo_key key = memo_key_make(&i, sizeof i);

        cr_assert_eq(memo_table_insert(t, &key, value, sizeof value, NULL), 0);
        if (i % 16 == 0) {
            memo_table_on_barrier(t);
            cr_assert_leq(stats_of(t).retired_bytes, (1 << 20) / 4 + (1 << 20));
        }
        cr_assert_leq(stats_of(t).entry_bytes, 1 << 20);
    }
    end(t);
}

Test(table, buckets_grow_with_the_entries)
{
    struct memo_table *t = begin(MEMO_TABLE_BYTES_NO_MAX);

    for (uint64_t i = 0; i < 50000; i++) {
        const struct memo_key key = memo_key_make(&i, sizeof i);

        cr_assert_eq(memo_table_insert(t, &key, &i, sizeof i, NULL), 0);
        if (i % 1000 == 999)
            memo_table_on_barrier(t);
    }
    cr_assert_eq(stats_of(t).bucket_count, 131072);
    for (uint64_t i = 0; i < 50000; i++) {
        const struct memo_key key = memo_key_make(&i, sizeof i);
        const struct memo_entry *entry = memo_table_lookup(t, 0, &key);
        size_t value_bytes;

        cr_assert_not_null(entry);
        cr_assert_eq(*(const uint64_t *)memo_entry_value(entry, &value_bytes), i);
    }
    end(t);
}

/* ---- against a naive twin ---- */

#define TWIN_KEYS 64u
#define TWIN_MAX 64u

/* All entries in an array, in the order in which the hand meets them from now on. */
struct twin {
    uint32_t key[TWIN_MAX];
    uint32_t value[TWIN_MAX];
    int is_used[TWIN_MAX], hold_count[TWIN_MAX];
    uint32_t count;
    uint64_t bytes, bytes_max;
};

static size_t twin_value_bytes(uint32_t key)
{
    return 4 + 8 * (key % 7);
}

static uint32_t twin_find(const struct twin *w, uint32_t key)
{
    uint32_t i = 0;

    while (i < w->count && w->key[i] != key)
        i++;
    return i;
}

static void twin_remove_first(struct twin *w)
{
    w->count--;
    memmove(w->key, w->key + 1, w->count * sizeof *w->key);
    memmove(w->value, w->value + 1, w->count * sizeof *w->value);
    memmove(w->is_used, w->is_used + 1, w->count * sizeof *w->is_used);
    memmove(w->hold_count, w->hold_count + 1, w->count * sizeof *w->hold_count);
}

static void twin_append(struct twin *w, uint32_t key, uint32_t value, int hold_count)
{
    w->key[w->count] = key;
    w->value[w->count] = value;
    w->is_used[w->count] = 0;
    w->hold_count[w->count++] = hold_count;
}

static int twin_insert(struct twin *w, uint32_t key, uint32_t value, uint64_t base_bytes)
{
    const uint64_t bytes = base_bytes + twin_value_bytes(key);
    uint32_t passed = 0;

    if (twin_find(w, key) < w->count)
        return MEMO_TABLE_EXISTS;
    while (w->bytes + bytes > w->bytes_max) {
        const uint32_t first_key = w->key[0], first_value = w->value[0];
        const int hold_count = w->hold_count[0], stays = w->is_used[0] || hold_count;

        if (passed++ == 2 * w->count)
            return WH_ERR_LIMIT;
        twin_remove_first(w);
        if (stays) {
            twin_append(w, first_key, first_value, hold_count);
        } else {
            w->bytes -= base_bytes + twin_value_bytes(first_key);
            passed = 0;
        }
    }
    w->bytes += bytes;
    twin_append(w, key, value, 0);
    return 0;
}

/* Three bits of hash, so that chains are long and most neighbours are strangers. */
static struct memo_key twin_key(const uint32_t *key)
{
    return (struct memo_key){*key % 8, key, sizeof *key};
}

static const struct memo_entry *check_lookup(struct memo_table *t, struct twin *w, uint32_t key)
{
    const struct memo_key k = twin_key(&key);
    const struct memo_entry *entry = memo_table_lookup(t, 0, &k);
    const uint32_t at = twin_find(w, key);
    size_t value_bytes;
    uint32_t value;

    cr_assert_eq(entry != NULL, at < w->count, "key %u", key);
    if (!entry)
        return NULL;
    w->is_used[at] = 1;
    memcpy(&value, memo_entry_value(entry, &value_bytes), sizeof value);
    cr_assert_eq(value_bytes, twin_value_bytes(key));
    cr_assert_eq(value, w->value[at]);
    return entry;
}

static void check_insert(struct memo_table *t, struct twin *w, uint32_t key, uint32_t step,
                         uint64_t base_bytes)
{
    const struct memo_key k = twin_key(&key);
    uint32_t value[16] = {step};
    const int rc = memo_table_insert(t, &k, value, twin_value_bytes(key), NULL);

    cr_assert_eq(rc, twin_insert(w, key, step, base_bytes), "step %u, key %u", step, key);
    cr_assert_eq(stats_of(t).entry_count, w->count);
    cr_assert_eq(stats_of(t).entry_bytes, w->bytes);
}

static void check_hold(struct memo_table *t, struct twin *w, uint32_t key, int is_release)
{
    const struct memo_entry *entry = check_lookup(t, w, key);
    const uint32_t at = twin_find(w, key);

    if (entry && !is_release) {
        memo_entry_hold(entry);
        w->hold_count[at]++;
    } else if (entry && w->hold_count[at]) {
        memo_entry_release(entry);
        w->hold_count[at]--;
    }
}

Test(table, does_what_its_twin_does)
{
    const uint64_t base_bytes = measure_entry_bytes(4, 0);
    static struct twin w;
    struct memo_table *t;

    w.bytes_max = 20 * (base_bytes + 16);
    t = begin(w.bytes_max);
    for (uint32_t step = 0; step < 200000; step++) {
        const uint64_t draw = rng_u64(SEED, 1, step);
        const uint32_t key = (uint32_t)(draw >> 32) % TWIN_KEYS, what = draw % 16;

        if (what < 8)
            (void)check_lookup(t, &w, key);
        else if (what < 13)
            check_insert(t, &w, key, step, base_bytes);
        else if (what < 15)
            check_hold(t, &w, key, what == 14 || w.count < 5);
        else
            memo_table_on_barrier(t);
    }
    cr_assert_gt(stats_of(t).evict_count, 1000);
    end(t);
}

/* ---- with a team ---- */

#define TEAM_TASKS 32
#define TEAM_ROUNDS 200
#define TEAM_LOOKUPS 64

struct team {
    struct memo_table *t;
    struct pool_task task[TEAM_TASKS], *tasks[TEAM_TASKS];
    struct job {
        struct team *team;
        uint32_t id, round;
        uint64_t missed[TEAM_LOOKUPS]; /* keys */
        uint32_t missed_count;
    } job[TEAM_TASKS];
    uint64_t digest;
};

static void run_lookups(void *arg, struct pool_worker *worker)
{
    struct job *j = arg;

    j->missed_count = 0;
    for (uint32_t i = 0; i < TEAM_LOOKUPS; i++) {
        const uint64_t draw = rng_u64(SEED, j->id, j->round * TEAM_LOOKUPS + i);
        const uint64_t number = draw % (1 + (draw >> 32) % 3000); /* small ones more often */
        const struct memo_key key = memo_key_make(&number, sizeof number);
        const struct memo_entry *entry =
            memo_table_lookup(j->team->t, pool_worker_id(worker), &key);
        size_t value_bytes;

        if (!entry)
            j->missed[j->missed_count++] = number;
        else
            cr_assert_eq(*(const uint64_t *)memo_entry_value(entry, &value_bytes), number);
    }
}

static void run_team(void *arg, struct pool *pool)
{
    struct team *team = arg;

    for (uint32_t round = 0; round < TEAM_ROUNDS; round++) {
        for (uint32_t i = 0; i < TEAM_TASKS; i++)
            team->job[i].round = round;
        pool_round(pool, team->tasks, TEAM_TASKS);
        for (uint32_t i = 0; i < TEAM_TASKS; i++)
            for (uint32_t k = 0; k < team->job[i].missed_count; k++) {
                const uint64_t number = team->job[i].missed[k];
                const struct memo_key key = memo_key_make(&number, sizeof number);
                const int rc = memo_table_insert(team->t, &key, &number, sizeof number, NULL);

                cr_assert_geq(rc, 0);
                team->digest = rng_u64(team->digest, (uint64_t)rc, number);
            }
        memo_table_on_barrier(team->t);
    }
}

static uint64_t calc_team_digest(uint32_t thread_count)
{
    static struct team team;
    struct pool_options o = {.thread_count = thread_count, .policy = POOL_PARALLEL};
    struct memo_table_stats s;
    struct pool *pool = NULL;

    memset(&team, 0, sizeof team);
    team.t = create(100000, thread_count);
    o.hooks = (struct pool_hooks){team.t, memo_table_on_begin, memo_table_on_end,
                                  memo_table_on_busy, memo_table_on_quiet};
    for (uint32_t i = 0; i < TEAM_TASKS; i++) {
        team.job[i].team = &team;
        team.job[i].id = i;
        team.task[i] = (struct pool_task){run_lookups, &team.job[i], 1, POOL_WORKER_NONE};
        team.tasks[i] = &team.task[i];
    }
    cr_assert_eq(pool_create(&pool, &o), 0);
    pool_enter(pool, run_team, &team);
    pool_destroy(pool);
    s = stats_of(team.t);
    memo_table_destroy(team.t);
    cr_assert_gt(s.evict_count, 1000);
    cr_assert_gt(s.hit_count, 10000);
    cr_assert_eq(s.hit_count + s.miss_count, TEAM_ROUNDS * TEAM_TASKS * TEAM_LOOKUPS);
    return rng_u64(team.digest, s.hit_count, s.evict_count);
}

Test(table, evictions_do_not_depend_on_the_number_of_threads)
{
    const uint64_t expected = calc_team_digest(1);

    for (uint32_t thread_count = 2; thread_count <= 8; thread_count *= 2)
        cr_assert_eq(calc_team_digest(thread_count), expected, "%u threads", thread_count);
}
