/*
 * calendar.c - see calendar.h.
 *
 * Invariants: events in the open bucket have slot <= cur_slot; those in closed buckets have
 * cur_slot < slot < cur_slot + bucket_count; those in the heap have slot >= cur_slot +
 * bucket_count, or the calendar is heap-only. So the first pending event is in the open bucket
 * unless that is empty. Where thousands of events share an instant (a collective that starts
 * everywhere at once), keeping the open bucket sorted would move half of them for each one that
 * comes in between: such latecomers go to a heap of their own, and the first of both is next.
 */
#include "calendar.h"

#include <stdlib.h>
#include <string.h>

#define BUCKET_COUNT 4096u
#define HEAP_ONLY_MAX 48u /* above it the heap's log n costs more than the buckets' cache lines */
#define SORT_SMALL 12u
#define SHIFT_MAX 64u /* events that an insertion into the open bucket moves at most */

struct cal_node {
    struct event ev;
    uint32_t next; /* 0 = end */
};

/* ---- 4-ary heap ---- */

static void heap_sift_up(struct event *h, uint32_t i, const struct event *e)
{
    while (i > 0) {
        const uint32_t parent = (i - 1) / 4;

        if (!event_before(e, &h[parent]))
            break;
        h[i] = h[parent];
        i = parent;
    }
    h[i] = *e;
}

static void heap_sift_down(struct event *h, uint32_t count, const struct event *e)
{
    uint32_t i = 0;

    for (;;) {
        const uint32_t first = 4 * i + 1;
        const uint32_t end = first + 4 < count ? first + 4 : count;
        uint32_t best = first;

        if (first >= count)
            break;
        for (uint32_t k = first + 1; k < end; k++)
            if (event_before(&h[k], &h[best]))
                best = k;
        if (!event_before(&h[best], e))
            break;
        h[i] = h[best];
        i = best;
    }
    h[i] = *e;
}

static void heap_push(struct calendar *c, const struct event *e)
{
    if (c->heap_count == c->heap_cap) {
        const uint32_t cap = c->heap_cap ? 2 * c->heap_cap : 8;
        struct event *h = realloc(c->heap, cap * sizeof *h);

        if (!h) {
            c->failed = 1;
            return;
        }
        c->heap = h;
        c->heap_cap = cap;
    }
    heap_sift_up(c->heap, c->heap_count++, e);
}

static void heap_pop(struct calendar *c)
{
    const struct event last = c->heap[--c->heap_count];

    if (c->heap_count > 0)
        heap_sift_down(c->heap, c->heap_count, &last);
}

/* ---- the open bucket ---- */

/* Returns 0, or -1 if @count does not fit and cannot be made to. */
static int late_reserve(struct calendar *c, uint32_t count)
{
    const uint32_t cap = c->late_cap ? 2 * c->late_cap : 256;
    struct event *p;

    if (count <= c->late_cap)
        return 0;
    p = realloc(c->late, cap * sizeof *p);
    if (!p) {
        c->failed = 1;
        return -1;
    }
    c->late = p;
    c->late_cap = cap;
    return 0;
}

int calendar_late_is_first(const struct calendar *c)
{
    return c->cur_head == c->cur_count || event_before(&c->late[0], &c->cur[c->cur_head]);
}

void calendar_pop_late(struct calendar *c)
{
    const struct event last = c->late[--c->late_count];

    if (c->late_count > 0)
        heap_sift_down(c->late, c->late_count, &last);
}

static int cur_reserve(struct calendar *c, uint32_t count)
{
    uint32_t cap = c->cur_cap ? c->cur_cap : 64;
    struct event *p;

    if (count <= c->cur_cap)
        return 0;
    while (cap < count)
        cap *= 2;
    p = realloc(c->cur, cap * sizeof *p);
    if (!p) {
        c->failed = 1;
        return -1;
    }
    c->cur = p;
    c->cur_cap = cap;
    return 0;
}

/* Keeps the pending part ascending; new events mostly belong at its end. */
static void cur_insert(struct calendar *c, const struct event *e)
{
    uint32_t i;

    if (c->cur_head == c->cur_count)
        c->cur_head = c->cur_count = 0;
    if (c->cur_count - c->cur_head > SHIFT_MAX &&
        event_before(e, &c->cur[c->cur_count - SHIFT_MAX])) {
        if (!late_reserve(c, c->late_count + 1))
            heap_sift_up(c->late, c->late_count++, e);
        return;
    }
    if (cur_reserve(c, c->cur_count + 1))
        return;
    i = c->cur_count++;
    while (i > c->cur_head && event_before(e, &c->cur[i - 1])) {
        c->cur[i] = c->cur[i - 1];
        i--;
    }
    c->cur[i] = *e;
}

static void insertion_sort(struct event *a, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        const struct event e = a[i];
        uint32_t k = i;

        while (k > 0 && event_before(&e, &a[k - 1])) {
            a[k] = a[k - 1];
            k--;
        }
        a[k] = e;
    }
}

static void swap_events(struct event *a, struct event *b)
{
    const struct event t = *a;

    *a = *b;
    *b = t;
}

/* Quicksort with the median of three; recurses into the smaller side only, so depth <= log2 count.
 */
static void sort_events(struct event *a, uint32_t count)
{
    while (count > SORT_SMALL) {
        struct event pivot;
        uint32_t i = 0, k = count - 1;

        if (event_before(&a[count / 2], &a[0]))
            swap_events(&a[count / 2], &a[0]);
        if (event_before(&a[count - 1], &a[0]))
            swap_events(&a[count - 1], &a[0]);
        if (event_before(&a[count - 1], &a[count / 2]))
            swap_events(&a[count - 1], &a[count / 2]);
        pivot = a[count / 2];
        for (;;) {
            while (event_before(&a[i], &pivot))
                i++;
            while (event_before(&pivot, &a[k]))
                k--;
            if (i >= k)
                break;
            swap_events(&a[i++], &a[k--]);
        }
        k++; /* [0, k) <= pivot <= [k, count) */
        if (k < count - k) {
            sort_events(a, k);
            a += k;
            count -= k;
        } else {
            sort_events(a + k, count - k);
            count = k;
        }
    }
    insertion_sort(a, count);
}

/* ---- closed buckets ---- */

static int nodes_grow(struct calendar *c)
{
    const uint32_t cap = c->node_cap ? 2 * c->node_cap : 256;
    struct cal_node *n = realloc(c->node, cap * sizeof *n);

    if (!n) {
        c->failed = 1;
        return -1;
    }
    for (uint32_t i = c->node_cap; i < cap; i++)
        n[i].next = i + 1 < cap ? i + 1 : 0;
    c->node_free = c->node_cap ? c->node_cap : 1;
    c->node = n;
    c->node_cap = cap;
    return 0;
}

static void bucket_push(struct calendar *c, int64_t slot, const struct event *e)
{
    const uint32_t b = (uint32_t)slot & (c->bucket_count - 1);
    struct cal_node *n;
    uint32_t row;

    if (__builtin_expect(!c->node_free, 0) && nodes_grow(c))
        return;
    row = c->node_free;
    n = &c->node[row];
    c->node_free = n->next;
    n->ev = *e;
    n->next = c->bucket[b];
    c->bucket[b] = row;
    c->occupied[b / 64] |= UINT64_C(1) << (b % 64);
    c->stored++;
}

/* First occupied slot after cur_slot; only if stored > 0. */
static int64_t next_slot(const struct calendar *c)
{
    const uint32_t mask = c->bucket_count - 1;
    const uint32_t from = ((uint32_t)c->cur_slot + 1) & mask;
    const uint32_t words = c->bucket_count / 64;
    uint32_t w = from / 64;
    uint64_t bits = c->occupied[w] & (UINT64_MAX << (from % 64));

    while (!bits) {
        w = (w + 1) & (words - 1);
        bits = c->occupied[w];
    }
    return c->cur_slot + 1 + (int64_t)(((w * 64 + (uint32_t)__builtin_ctzll(bits)) - from) & mask);
}

static void open_bucket(struct calendar *c, int64_t slot)
{
    const uint32_t b = (uint32_t)slot & (c->bucket_count - 1);
    uint32_t row = c->bucket[b], count = 0, last = row;

    c->cur_slot = slot;
    c->cur_head = c->cur_count = 0;
    c->bucket[b] = 0;
    c->occupied[b / 64] &= ~(UINT64_C(1) << (b % 64));
    for (uint32_t r = row; r; r = c->node[r].next) {
        if (__builtin_expect(count == c->cur_cap, 0) && cur_reserve(c, count + 1))
            break;
        c->cur[count++] = c->node[r].ev;
        last = r;
    }
    c->node[last].next = c->node_free;
    c->node_free = row;
    c->stored -= count;
    c->cur_count = count;
    if (count == 2 && event_before(&c->cur[1], &c->cur[0]))
        swap_events(&c->cur[0], &c->cur[1]);
    else if (count > 2)
        sort_events(c->cur, count);
}

/* Events of the heap that the buckets now reach. */
static void heap_to_buckets(struct calendar *c)
{
    while (c->heap_count > 0) {
        const struct event e = c->heap[0];
        const int64_t slot = e.time >> c->shift;

        if (slot >= c->cur_slot + (int64_t)c->bucket_count)
            break;
        heap_pop(c);
        if (slot <= c->cur_slot)
            cur_insert(c, &e);
        else
            bucket_push(c, slot, &e);
    }
}

/* Switches from heap-only to buckets. On lack of memory the calendar stays a heap: slower, not
 * wrong. */
static void add_buckets(struct calendar *c)
{
    uint32_t *bucket = calloc(BUCKET_COUNT, sizeof *bucket);
    uint64_t *occupied = calloc(BUCKET_COUNT / 64, sizeof *occupied);

    if (!bucket || !occupied) {
        free(bucket);
        free(occupied);
        return;
    }
    c->bucket = bucket;
    c->occupied = occupied;
    c->bucket_count = BUCKET_COUNT;
    c->shift = c->shift_hint;
    c->cur_slot = (c->heap[0].time >> c->shift) - 1;
    if (c->cur_head < c->cur_count) /* peeked at and left: all of its slot belongs beside it */
        c->cur_slot = c->cur[c->cur_count - 1].time >> c->shift;
    heap_to_buckets(c);
}

/* ---- interface ---- */

void calendar_init(struct calendar *c, int64_t span_ps)
{
    memset(c, 0, sizeof *c);
    while (c->shift_hint < 40 && ((int64_t)BUCKET_COUNT << c->shift_hint) < 2 * span_ps)
        c->shift_hint++;
}

void calendar_fini(struct calendar *c)
{
    free(c->cur);
    free(c->bucket);
    free(c->occupied);
    free(c->node);
    free(c->heap);
    free(c->late);
    memset(c, 0, sizeof *c);
}

void calendar_push(struct calendar *c, const struct event *e)
{
    int64_t slot;

    if (__builtin_expect(!c->bucket_count, 0)) {
        /* the open "bucket" of a heap-only calendar is what has been peeked at, and all before it
         */
        if (c->cur_head < c->cur_count && event_before(e, &c->cur[c->cur_count - 1])) {
            cur_insert(c, e);
            return;
        }
        heap_push(c, e);
        if (c->heap_count > HEAP_ONLY_MAX)
            add_buckets(c);
        return;
    }
    slot = e->time >> c->shift;
    if (slot <= c->cur_slot)
        cur_insert(c, e);
    else if (__builtin_expect(slot - c->cur_slot < (int64_t)c->bucket_count, 1))
        bucket_push(c, slot, e);
    else
        heap_push(c, e);
}

/* A heap-only calendar opens its first event alone. */
static int refill_from_heap(struct calendar *c)
{
    c->cur_head = c->cur_count = 0;
    if (cur_reserve(c, 1))
        return 0;
    c->cur[c->cur_count++] = c->heap[0];
    heap_pop(c);
    return 1;
}

int calendar_refill(struct calendar *c, int64_t limit)
{
    if (c->stored) {
        const int64_t slot = next_slot(c);

        if (slot > limit >> c->shift)
            return 0;
        open_bucket(c, slot);
        if (__builtin_expect(c->heap_count > 0, 0))
            heap_to_buckets(c);
        return 1;
    }
    if (!c->heap_count || c->heap[0].time > limit)
        return 0;
    if (!c->bucket_count)
        return refill_from_heap(c);
    c->cur_slot = c->heap[0].time >> c->shift;
    c->cur_head = c->cur_count = 0;
    heap_to_buckets(c);
    return 1;
}

uint32_t calendar_count(const struct calendar *c)
{
    return c->cur_count - c->cur_head + c->late_count + c->stored + c->heap_count;
}

/* Those of one word of the bitmap; what they hold is free. */
static void clear_buckets(struct calendar *c, uint32_t word)
{
    for (uint64_t bits = c->occupied[word]; bits; bits &= bits - 1) {
        uint32_t *first = &c->bucket[word * 64 + (uint32_t)__builtin_ctzll(bits)];
        uint32_t last = *first;

        while (c->node[last].next)
            last = c->node[last].next;
        c->node[last].next = c->node_free;
        c->node_free = *first;
        *first = 0;
    }
    c->occupied[word] = 0;
}

void calendar_clear(struct calendar *c)
{
    for (uint32_t w = 0; c->stored && w < c->bucket_count / 64; w++)
        clear_buckets(c, w);
    c->stored = 0;
    c->cur_head = c->cur_count = c->late_count = c->heap_count = 0;
    c->cur_slot = -(int64_t)c->bucket_count; /* the next event goes by the heap */
}

/* @count rows of @from in memory for @cap; NULL if there are none, or no memory. */
static void *copy_rows(struct calendar *to, const void *from, size_t row_bytes, uint32_t count,
                       uint32_t cap)
{
    void *rows = cap ? malloc(cap * row_bytes) : NULL;

    to->failed |= cap && !rows;
    if (rows && count)
        memcpy(rows, from, count * row_bytes);
    return rows;
}

void calendar_copy(struct calendar *to, const struct calendar *from)
{
    *to = *from;
    to->cur = copy_rows(to, from->cur, sizeof *to->cur, from->cur_count, from->cur_cap);
    to->heap = copy_rows(to, from->heap, sizeof *to->heap, from->heap_count, from->heap_cap);
    to->late = copy_rows(to, from->late, sizeof *to->late, from->late_count, from->late_cap);
    to->node = copy_rows(to, from->node, sizeof *to->node, from->node_cap, from->node_cap);
    to->bucket =
        copy_rows(to, from->bucket, sizeof *to->bucket, from->bucket_count, from->bucket_count);
    to->occupied = copy_rows(to, from->occupied, sizeof *to->occupied, from->bucket_count / 64,
                             from->bucket_count / 64);
    if (!to->failed)
        return;
    calendar_fini(to);
    to->failed = 1;
}

int64_t calendar_next_bound(const struct calendar *c)
{
    int64_t first = INT64_MAX;

    if (c->cur_head < c->cur_count)
        first = c->cur[c->cur_head].time;
    else if (c->stored)
        first = next_slot(c) << c->shift;
    if (c->late_count && c->late[0].time < first)
        first = c->late[0].time;
    if (c->heap_count && c->heap[0].time < first)
        first = c->heap[0].time;
    return first;
}

void calendar_each(const struct calendar *c, void (*fn)(void *arg, const struct event *e),
                   void *arg)
{
    for (uint32_t i = c->cur_head; i < c->cur_count; i++)
        fn(arg, &c->cur[i]);
    for (uint32_t i = 0; i < c->late_count; i++)
        fn(arg, &c->late[i]);
    for (uint32_t i = 0; i < c->heap_count; i++)
        fn(arg, &c->heap[i]);
    for (uint32_t b = 0; c->stored && b < c->bucket_count; b++)
        for (uint32_t row = c->bucket[b]; row; row = c->node[row].next)
            fn(arg, &c->node[row].ev);
}
