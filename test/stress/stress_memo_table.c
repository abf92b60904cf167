/*
 * stress_memo_table.c - memo/table.c: readers look up without a pause while the coordinator
 * inserts, evicts and grows the table; and rounds of a pool with insertions and holds between them.
 *
 * Keys and values are plain on purpose: the table's publication and RCU's grace periods are all
 * that orders them, for ThreadSanitizer too.
 * Usage: stress_memo_table [factor on the number of insertions]
 */
#include "memo_key.h"
#include "pool.h"
#include "table.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS_MAX 8
#define VALUE_WORDS 24
#define TASKS 64
#define LOOKUPS 50

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 31)) * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 29)) * UINT64_C(0xbf58476d1ce4e5b9);
    return x ^ (x >> 32);
}

/* An entry of number n has the key {n} and a value of 1..VALUE_WORDS words that follow from n. */
static size_t calc_word_count(uint64_t number)
{
    return 1 + mix(number) % VALUE_WORDS;
}

static int insert_number(struct memo_table *t, uint64_t number)
{
    const struct memo_key key = memo_key_make(&number, sizeof number);
    uint64_t word[VALUE_WORDS];

    for (size_t i = 0; i < VALUE_WORDS; i++)
        word[i] = mix(number + i);
    return memo_table_insert(t, &key, word, calc_word_count(number) * sizeof *word, NULL);
}

static const struct memo_entry *lookup_number(struct memo_table *t, uint32_t worker_id,
                                              uint64_t number)
{
    const struct memo_key key = memo_key_make(&number, sizeof number);

    return memo_table_lookup(t, worker_id, &key);
}

static int is_right(const struct memo_entry *entry, uint64_t number)
{
    size_t value_bytes;
    const uint64_t *word = memo_entry_value(entry, &value_bytes);

    if (value_bytes != calc_word_count(number) * sizeof *word)
        return 0;
    for (size_t i = 0; i < calc_word_count(number); i++)
        if (word[i] != mix(number + i))
            return 0;
    return 1;
}

static struct memo_table *create(uint64_t bytes_max, uint32_t worker_count)
{
    const struct memo_table_options o = {bytes_max, worker_count};
    struct memo_table *t = NULL;

    if (memo_table_create(&t, &o)) {
        fprintf(stderr, "stress_memo_table: out of memory\n");
        exit(1);
    }
    return t;
}

static int report(const char *name, uint32_t thread_count, struct memo_table *t, uint64_t wrong)
{
    struct memo_table_stats s;
    int rc = 0;

    memo_table_read_stats(t, &s);
    printf("%s, %u threads: %llu inserted, %llu evicted, %llu hits, %llu misses, %llu buckets\n",
           name, thread_count, (unsigned long long)s.insert_count,
           (unsigned long long)s.evict_count, (unsigned long long)s.hit_count,
           (unsigned long long)s.miss_count, (unsigned long long)s.bucket_count);
    if (wrong || !s.hit_count || !s.miss_count || s.evict_count + s.entry_count != s.insert_count) {
        fprintf(stderr, "%s: %llu wrong entries, %llu left of %llu inserted, %llu evicted\n", name,
                (unsigned long long)wrong, (unsigned long long)s.entry_count,
                (unsigned long long)s.insert_count, (unsigned long long)s.evict_count);
        rc = 1;
    }
    memo_table_destroy(t);
    return rc;
}

/* ---- readers that never stop ---- */

struct hall {
    struct memo_table *t;
    uint64_t insert_count;
    _Atomic uint64_t
        newest; /* [atomic, relaxed] readers aim at it; what they find is the table's */
    _Atomic int is_over;
    uint64_t wrong_count[THREADS_MAX];
};

struct reader {
    struct hall *hall;
    uint32_t id;
};

static void read_some(struct hall *h, uint32_t id, uint64_t *draw)
{
    const uint64_t newest = atomic_load_explicit(&h->newest, memory_order_relaxed);
    const struct memo_entry *found[LOOKUPS];
    uint64_t number[LOOKUPS];

    for (uint32_t i = 0; i < LOOKUPS; i++) {
        const uint64_t back = mix(++*draw) % 4096;

        number[i] = back < newest ? newest - back : newest + 1;
        found[i] = lookup_number(h->t, id, number[i]);
    }
    /* Read only now, when many of them have been evicted. */
    for (uint32_t i = 0; i < LOOKUPS; i++)
        h->wrong_count[id] += found[i] && !is_right(found[i], number[i]);
}

static void *live_as_reader(void *arg)
{
    const struct reader *r = arg;
    uint64_t draw = (uint64_t)r->id << 40;

    memo_table_on_begin(r->hall->t, r->id);
    while (!atomic_load_explicit(&r->hall->is_over, memory_order_relaxed)) {
        memo_table_on_busy(r->hall->t, r->id);
        read_some(r->hall, r->id, &draw);
        memo_table_on_quiet(r->hall->t, r->id);
    }
    memo_table_on_end(r->hall->t, r->id);
    return NULL;
}

static uint64_t insert_all(struct hall *h)
{
    uint64_t wrong = 0;

    for (uint64_t i = 1; i <= h->insert_count; i++) {
        wrong += insert_number(h->t, i) != 0;
        atomic_store_explicit(&h->newest, i, memory_order_relaxed);
        if (i % 64 == 0)
            memo_table_on_barrier(h->t);
    }
    return wrong;
}

static int run_hall(uint32_t thread_count, uint64_t bytes_max, uint64_t insert_count)
{
    static struct hall h;
    struct reader reader[THREADS_MAX];
    pthread_t thread[THREADS_MAX];
    uint64_t wrong;

    memset(&h, 0, sizeof h);
    h.t = create(bytes_max, thread_count);
    h.insert_count = insert_count;
    memo_table_on_begin(h.t, 0);
    for (uint32_t i = 1; i < thread_count; i++) {
        reader[i] = (struct reader){&h, i};
        if (pthread_create(&thread[i], NULL, live_as_reader, &reader[i]))
            return 1;
    }
    wrong = insert_all(&h);
    (void)lookup_number(h.t, 0, insert_count);
    (void)lookup_number(h.t, 0, insert_count + 1);
    atomic_store_explicit(&h.is_over, 1, memory_order_relaxed);
    for (uint32_t i = 1; i < thread_count; i++) {
        (void)pthread_join(thread[i], NULL);
        wrong += h.wrong_count[i];
    }
    memo_table_on_end(h.t, 0);
    return report("readers without pause", thread_count, h.t, wrong);
}

/* ---- rounds of a pool ---- */

struct play {
    struct memo_table *t;
    uint64_t round_count, round;
    struct job {
        struct pool_task task;
        struct play *play;
        uint32_t id;
        uint64_t missed[LOOKUPS];
        uint32_t missed_count;
        const struct memo_entry *held; /* over several rounds, by whatever worker */
        uint64_t held_number, wrong_count;
    } job[TASKS];
    struct pool_task *tasks[TASKS];
};

/* Drops what the task has held, after a look into it, and holds what it finds. */
static void change_hold(struct job *j, const struct memo_entry *entry, uint64_t number)
{
    if (j->held) {
        j->wrong_count += !is_right(j->held, j->held_number);
        memo_entry_release(j->held);
    }
    memo_entry_hold(entry);
    j->held = entry;
    j->held_number = number;
}

static void run_job(void *arg, struct pool_worker *worker)
{
    struct job *j = arg;

    j->missed_count = 0;
    for (uint32_t i = 0; i < LOOKUPS; i++) {
        const uint64_t draw = mix(mix(j->play->round * TASKS + j->id) + i);
        const uint64_t number = draw % (1 + (draw >> 32) % 20000);
        const struct memo_entry *entry = lookup_number(j->play->t, pool_worker_id(worker), number);

        if (!entry)
            j->missed[j->missed_count++] = number;
        else
            j->wrong_count += !is_right(entry, number);
        if (entry && i % 16 == 0 && draw % 4 == 0)
            change_hold(j, entry, number);
    }
}

static void run_rounds(void *arg, struct pool *pool)
{
    struct play *p = arg;

    for (p->round = 0; p->round < p->round_count; p->round++) {
        pool_round(pool, p->tasks, TASKS);
        for (uint32_t i = 0; i < TASKS; i++)
            for (uint32_t k = 0; k < p->job[i].missed_count; k++)
                p->job[i].wrong_count += insert_number(p->t, p->job[i].missed[k]) < 0;
        memo_table_on_barrier(p->t);
    }
    for (uint32_t i = 0; i < TASKS; i++)
        if (p->job[i].held)
            memo_entry_release(p->job[i].held);
}

static int run_play(uint32_t thread_count, uint64_t round_count)
{
    struct pool_options o = {.thread_count = thread_count, .policy = POOL_PARALLEL};
    static struct play p;
    struct pool *pool = NULL;
    uint64_t wrong = 0;

    memset(&p, 0, sizeof p);
    p.t = create(1000000, thread_count);
    p.round_count = round_count;
    for (uint32_t i = 0; i < TASKS; i++) {
        p.job[i].play = &p;
        p.job[i].id = i;
        p.job[i].task = (struct pool_task){run_job, &p.job[i], 1, POOL_WORKER_NONE};
        p.tasks[i] = &p.job[i].task;
    }
    o.hooks = (struct pool_hooks){p.t, memo_table_on_begin, memo_table_on_end, memo_table_on_busy,
                                  memo_table_on_quiet};
    if (pool_create(&pool, &o))
        return 1;
    pool_enter(pool, run_rounds, &p);
    pool_destroy(pool);
    for (uint32_t i = 0; i < TASKS; i++)
        wrong += p.job[i].wrong_count;
    return report("rounds", thread_count, p.t, wrong);
}

int main(int argc, char **argv)
{
    const uint64_t factor = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    int rc = 0;

    for (uint32_t threads = 2; threads <= THREADS_MAX; threads *= 2) {
        rc |= run_hall(threads, 500000, factor * 100000);   /* evicts all the time */
        rc |= run_hall(threads, 20000000, factor * 100000); /* grows, then evicts */
        rc |= run_play(threads, factor * 300);
    }
    return rc;
}
