/*
 * bench_memo.c - memo/table.c and memo/store.c: what a look-up, an insertion, a get and a put cost.
 *
 * "lookup": each thread looks up keys in random order, wall time; mops is of all threads together,
 * ns of one look-up in one thread. "hot" has few enough entries for the cache, "cold" does not;
 * "miss" looks for keys that are not there. Hashing the key is part of it ("hash" shows it alone).
 * "form": from a graph of FORM_FLOWS flows and as many ports to the entry, as the engine's fcg lens
 * goes: its bytes, its canonical form as the worker has kept it, and the look-up.
 * "insert": in one thread, without eviction and with ("evict"). "store": get and put of entries on
 * disk, put in batches of 1 and of 100, wall time, with what the disk takes; "open" reads the tree.
 */
#include "measure.h"
#include "memo.h"
#include "memo_key.h"
#include "pool.h"
#include "rng.h"
#include "store.h"
#include "table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SEED UINT64_C(1)
#define THREADS_MAX 4
#define KEY_BYTES 512u
#define VALUE_BYTES 2048u
#define HOT_ENTRIES 256u
#define COLD_ENTRIES 65536u
#define REPETITIONS_MAX 1000

/* Key @number, in @buf; those from ENTRIES on are in no table. */
static struct memo_key make_key(uint64_t number, unsigned char buf[KEY_BYTES])
{
    memcpy(buf, &number, sizeof number);
    return memo_key_make(buf, KEY_BYTES);
}

static void report_one(struct report *r, const char *name, double *ns, uint32_t thread_count)
{
    const struct spread s = measure_spread(ns, r->o->repetitions);

    report_text(r, "name", name);
    report_number(r, "threads", thread_count);
    report_spread(r, "ns", "ns_min", "ns_max", &s);
    report_number(r, "mops", 1000.0 * thread_count / s.median);
    report_row(r);
}

/* ---- table ---- */

struct load {
    struct memo_table *t;
    struct pool_task task[THREADS_MAX], *tasks[THREADS_MAX];
    uint64_t entry_count, first, lookups, hits[THREADS_MAX];
    double ns; /* out: of one look-up */
};

static void run_lookups(void *arg, struct pool_worker *w)
{
    struct load *l = arg;
    const uint32_t id = pool_worker_id(w);
    unsigned char buf[KEY_BYTES] = {0};
    uint64_t hits = 0;

    for (uint64_t i = 0; i < l->lookups; i++) {
        const struct memo_key key = make_key(l->first + rng_u64(SEED, id, i) % l->entry_count, buf);

        hits += memo_table_lookup(l->t, id, &key) != NULL;
    }
    l->hits[id] += hits;
}

static void insert_entries(struct memo_table *t, uint64_t first, uint64_t count)
{
    unsigned char buf[KEY_BYTES] = {0}, value[VALUE_BYTES] = {0};

    for (uint64_t i = first; i < first + count; i++) {
        const struct memo_key key = make_key(i, buf);

        check(!memo_table_insert(t, &key, value, sizeof value, NULL), "entry %llu",
              (unsigned long long)i);
        if (i % 256 == 255)
            memo_table_on_barrier(t);
    }
}

static void run_load(void *arg, struct pool *p)
{
    struct load *l = arg;
    uint64_t start_ns;

    insert_entries(l->t, 0, l->entry_count);
    pool_round(p, l->tasks, pool_worker_count(p)); /* warms up */
    start_ns = stats_now_ns();
    pool_round(p, l->tasks, pool_worker_count(p));
    l->ns = (double)(stats_now_ns() - start_ns) / (double)l->lookups;
}

static struct memo_table *create_table(uint64_t bytes_max, uint32_t worker_count)
{
    const struct memo_table_options o = {bytes_max, worker_count};
    struct memo_table *t = NULL;

    check(!memo_table_create(&t, &o), "no table for %u workers", worker_count);
    return t;
}

static void measure_lookups(struct report *r, const char *kind, uint32_t thread_count,
                            uint64_t entry_count, int is_miss)
{
    const uint64_t lookups = r->o->quick ? 50000 : 1000000;
    double ns[REPETITIONS_MAX];
    char name[64];

    snprintf(name, sizeof name, "lookup-%s-%u", kind, thread_count);
    if (!measure_is_wanted(r->o, name))
        return;
    for (uint32_t i = 0; i < r->o->repetitions; i++) {
        struct load l = {.entry_count = entry_count, .lookups = lookups};
        struct pool_options o = {.thread_count = thread_count, .policy = POOL_PARALLEL};
        struct pool *p = NULL;

        l.t = create_table(MEMO_TABLE_BYTES_NO_MAX, thread_count);
        l.first = is_miss ? entry_count : 0;
        o.hooks = (struct pool_hooks){l.t, memo_table_on_begin, memo_table_on_end,
                                      memo_table_on_busy, memo_table_on_quiet};
        for (uint32_t k = 0; k < thread_count; k++) {
            l.task[k] = (struct pool_task){run_lookups, &l, 1, POOL_WORKER_NONE};
            l.tasks[k] = &l.task[k];
        }
        check(!pool_create(&p, &o), "no pool of %u threads", thread_count);
        pool_enter(p, run_load, &l);
        pool_destroy(p);
        memo_table_destroy(l.t);
        ns[i] = l.ns;
    }
    report_one(r, name, ns, thread_count);
}

/* ---- from a graph to the entry ---- */

#define FORM_FLOWS 4u
#define FORM_VERTICES (2 * FORM_FLOWS)
#define FORM_GRAPHS 256u

struct form_load {
    struct memo_ops ops;
    struct pool_task task[THREADS_MAX], *tasks[THREADS_MAX];
    uint64_t lookups, hits[THREADS_MAX];
    double ns; /* out: of one look-up */
};

/* A ring: flow i uses ports i and i + 1. Flow 0 has @number for a colour. */
struct ring {
    uint32_t colour_of[FORM_VERTICES];
    struct memo_colour colour[FORM_VERTICES];
    struct memo_edge edge[2 * FORM_FLOWS];
    struct memo_graph g;
};

static void make_ring(struct ring *x, uint32_t number)
{
    for (uint32_t v = 0; v < FORM_VERTICES; v++) {
        x->colour_of[v] = v ? FORM_GRAPHS + (v < FORM_FLOWS) : number;
        x->colour[v] = (struct memo_colour){v * (uint32_t)sizeof(uint32_t), sizeof(uint32_t)};
    }
    for (uint32_t i = 0; i < FORM_FLOWS; i++) {
        x->edge[2 * i] = (struct memo_edge){i, FORM_FLOWS + i, 0};
        x->edge[2 * i + 1] = (struct memo_edge){i, FORM_FLOWS + (i + 1) % FORM_FLOWS, 1};
    }
    x->g = (struct memo_graph){(const uint8_t *)x->colour_of, x->colour, x->edge, FORM_VERTICES,
                               2 * FORM_FLOWS};
}

static struct memo_form form_of(const struct memo_ops *o, uint32_t worker_id, uint32_t number)
{
    struct memo_form f;
    struct ring x;

    make_ring(&x, number);
    check(!o->canonical(o->ctx, worker_id, &x.g, &f), "graph %u has no form", number);
    return f;
}

static void run_forms(void *arg, struct pool_worker *w)
{
    struct form_load *l = arg;
    const struct memo_ops *o = &l->ops;
    const uint32_t id = pool_worker_id(w);
    uint64_t hits = 0;

    for (uint64_t i = 0; i < l->lookups; i++) {
        const uint32_t number = (uint32_t)(rng_u64(SEED, id, i) % FORM_GRAPHS);
        const struct memo_form f = form_of(o, id, number);

        hits += o->lookup(o->ctx, id, f.hash, f.key, f.key_bytes).entry != NULL;
    }
    l->hits[id] += hits;
}

static void run_form_load(void *arg, struct pool *p)
{
    static const unsigned char value[VALUE_BYTES] = {0};
    struct form_load *l = arg;
    const struct memo_ops *o = &l->ops;
    uint64_t start_ns;

    for (uint32_t i = 0; i < FORM_GRAPHS; i++) {
        const struct memo_form f = form_of(o, 0, i);
        const struct memo_value v =
            o->insert(o->ctx, f.hash, f.key, f.key_bytes, value, sizeof value);

        o->release(o->ctx, v.entry);
    }
    o->on_barrier(o->ctx);
    pool_round(p, l->tasks, pool_worker_count(p)); /* warms up */
    start_ns = stats_now_ns();
    pool_round(p, l->tasks, pool_worker_count(p));
    l->ns = (double)(stats_now_ns() - start_ns) / (double)l->lookups;
}

static double measure_forms_once(uint32_t thread_count, uint64_t lookups)
{
    struct form_load l = {.lookups = lookups};
    struct pool_options o = {.thread_count = thread_count, .policy = POOL_PARALLEL};
    struct pool *p = NULL;
    struct memo *m = NULL;
    uint64_t hits = 0;

    check(!memo_create(&m, &(struct memo_options){.lens = MEMO_FCG, .worker_count = thread_count},
                       NULL),
          "no memo for %u workers", thread_count);
    memo_ops(m, &l.ops);
    o.hooks = (struct pool_hooks){m, l.ops.on_begin, l.ops.on_end, l.ops.on_busy, l.ops.on_quiet};
    for (uint32_t k = 0; k < thread_count; k++) {
        l.task[k] = (struct pool_task){run_forms, &l, 1, POOL_WORKER_NONE};
        l.tasks[k] = &l.task[k];
    }
    check(!pool_create(&p, &o), "no pool of %u threads", thread_count);
    pool_enter(p, run_form_load, &l);
    pool_destroy(p);
    memo_destroy(m);
    for (uint32_t k = 0; k < thread_count; k++)
        hits += l.hits[k];
    check(hits == 2 * thread_count * lookups, "%llu hits", (unsigned long long)hits);
    return l.ns;
}

static void measure_forms(struct report *r, uint32_t thread_count)
{
    double ns[REPETITIONS_MAX];
    char name[64];

    snprintf(name, sizeof name, "form-%u", thread_count);
    if (!measure_is_wanted(r->o, name))
        return;
    for (uint32_t i = 0; i < r->o->repetitions; i++)
        ns[i] = measure_forms_once(thread_count, r->o->quick ? 20000 : 1000000);
    report_one(r, name, ns, thread_count);
}

static void measure_hash(struct report *r)
{
    const uint64_t count = r->o->quick ? 100000 : 5000000;
    unsigned char buf[KEY_BYTES] = {0};
    double ns[REPETITIONS_MAX];

    if (!measure_is_wanted(r->o, "hash"))
        return;
    for (uint32_t i = 0; i < r->o->repetitions; i++) {
        const uint64_t start_ns = stats_now_ns();
        uint64_t sum = 0;

        for (uint64_t k = 0; k < count; k++)
            sum += make_key(rng_u64(SEED, 0, k) % COLD_ENTRIES, buf).hash;
        ns[i] = (double)(stats_now_ns() - start_ns) / (double)count;
        check(sum != 0, "hashes add up to %llu", (unsigned long long)sum);
    }
    report_one(r, "hash", ns, 1);
}

static void measure_insert(struct report *r, const char *name, uint64_t bytes_max)
{
    const uint64_t count = r->o->quick ? 5000 : 100000;
    double ns[REPETITIONS_MAX];

    if (!measure_is_wanted(r->o, name))
        return;
    for (uint32_t i = 0; i < r->o->repetitions; i++) {
        struct memo_table *t = create_table(bytes_max, 1);
        uint64_t start_ns;

        memo_table_on_begin(t, 0);
        start_ns = stats_now_ns();
        insert_entries(t, 0, count);
        ns[i] = (double)(stats_now_ns() - start_ns) / (double)count;
        memo_table_on_end(t, 0);
        memo_table_destroy(t);
    }
    report_one(r, name, ns, 1);
}

/* ---- store ---- */

struct disk {
    char dir[256], path[300], lock_path[300];
};

static void disk_begin(struct disk *d)
{
    const char *tmp = getenv("TMPDIR");

    snprintf(d->dir, sizeof d->dir, "%s/wh-bench-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    check(mkdtemp(d->dir) != NULL, "no folder %s", d->dir);
    snprintf(d->path, sizeof d->path, "%s/store", d->dir);
    snprintf(d->lock_path, sizeof d->lock_path, "%s/store-lock", d->dir);
}

static void disk_end(const struct disk *d)
{
    (void)unlink(d->path);
    (void)unlink(d->lock_path);
    (void)rmdir(d->dir);
}

static struct memo_store *open_store(const struct disk *d)
{
    const struct memo_store_options o = {.path = d->path, .program_version = "bench"};
    struct memo_store *s = NULL;
    struct err_info e = {.text = ""};

    check(!memo_store_open(&s, &o, &e), "%s", e.text);
    return s;
}

static void put_entries(struct memo_store *s, uint64_t count, uint32_t batch_count)
{
    static unsigned char buf[100][KEY_BYTES], value[VALUE_BYTES];
    struct memo_store_item item[100];
    struct err_info e = {.text = ""};

    for (uint64_t i = 0; i < count; i += batch_count) {
        for (uint32_t k = 0; k < batch_count; k++)
            item[k] = (struct memo_store_item){make_key(i + k, buf[k]), value, sizeof value};
        check(!memo_store_put(s, item, batch_count, &e), "%s", e.text);
    }
}

static void get_entries(struct memo_store *s, uint64_t first, uint64_t range, uint64_t count,
                        int expected)
{
    unsigned char buf[KEY_BYTES] = {0};
    struct err_info e = {.text = ""};

    for (uint64_t i = 0; i < count; i++) {
        const struct memo_key key = make_key(first + rng_u64(SEED, 0, i) % range, buf);
        struct memo_store_value v = {NULL, 0};
        const int rc = memo_store_get(s, &key, &v, &e);

        check(rc == expected, "%d: %s", rc, e.text);
        free(v.value);
    }
}

enum store_kind { STORE_PUT, STORE_GET, STORE_MISS, STORE_OPEN };

/* One repetition. Returns ns per operation. */
static double measure_store_once(enum store_kind kind, uint32_t batch_count, int is_quick)
{
    const uint64_t entries = is_quick || batch_count == 1 ? 500 : 20000;
    const uint64_t gets = is_quick ? 5000 : 100000;
    uint64_t start_ns, operations = 1;
    struct memo_store *s;
    struct disk d;
    double ns;

    disk_begin(&d);
    s = open_store(&d);
    start_ns = stats_now_ns();
    put_entries(s, entries, batch_count);
    if (kind == STORE_PUT) {
        operations = entries;
    } else if (kind == STORE_OPEN) {
        memo_store_close(s);
        start_ns = stats_now_ns();
        s = open_store(&d);
    } else {
        operations = gets;
        start_ns = stats_now_ns();
        get_entries(s, kind == STORE_MISS ? entries : 0, entries, gets,
                    kind == STORE_MISS ? MEMO_STORE_ABSENT : 0);
    }
    ns = (double)(stats_now_ns() - start_ns) / (double)operations;
    memo_store_close(s);
    disk_end(&d);
    return ns;
}

static void measure_store(struct report *r, const char *name, enum store_kind kind,
                          uint32_t batch_count)
{
    double ns[REPETITIONS_MAX];

    if (!measure_is_wanted(r->o, name))
        return;
    for (uint32_t i = 0; i < r->o->repetitions; i++)
        ns[i] = measure_store_once(kind, batch_count, r->o->quick);
    report_one(r, name, ns, 1);
}

int main(int argc, char **argv)
{
    struct measure_options o;
    struct report r;

    if (measure_parse(&o, &argc, argv))
        return 2;
    if (argc > 1)
        return measure_unknown(argv[1], "bench_memo");
    report_begin(&r, "memo", &o);
    measure_hash(&r);
    for (uint32_t threads = 1; threads <= THREADS_MAX; threads *= 2) {
        measure_lookups(&r, "hot", threads, HOT_ENTRIES, 0);
        measure_lookups(&r, "cold", threads, COLD_ENTRIES, 0);
        measure_lookups(&r, "miss", threads, COLD_ENTRIES, 1);
        measure_forms(&r, threads);
    }
    measure_insert(&r, "insert", MEMO_TABLE_BYTES_NO_MAX);
    measure_insert(&r, "insert-evict", 8 << 20);
    measure_store(&r, "store-get", STORE_GET, 100);
    measure_store(&r, "store-miss", STORE_MISS, 100);
    measure_store(&r, "store-put-1", STORE_PUT, 1);
    measure_store(&r, "store-put-100", STORE_PUT, 100);
    measure_store(&r, "store-open", STORE_OPEN, 100);
    report_end(&r);
    return 0;
}
