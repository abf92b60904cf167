/*
 * arena.c - reserved address space: arrays that grow without moving and cost only what is touched.
 *
 * Rows keep their addresses while hooks add flows in mid-run, and a table for millions of rows of
 * which a few are used takes a few pages.
 */
#define _GNU_SOURCE /* mremap */
#include "sim_int.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

void *arena_reserve(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);

    if (p == MAP_FAILED)
        return NULL;
    madvise(p, bytes,
            MADV_HUGEPAGE); /* a hint: fewer TLB misses on rows that are visited at random */
    return p;
}

void arena_touch_little(void *p, size_t bytes)
{
    madvise(p, bytes, MADV_NOHUGEPAGE);
}

void arena_release(void *p, size_t bytes)
{
    if (p)
        munmap(p, bytes);
}

void arena_forget(void *p, size_t from, size_t to)
{
    const size_t page = 4096; /* the smallest there is: a hint may be cut too fine, not too wide */
    const size_t first = (from + page - 1) / page * page, end = to / page * page;

    if (first < end)
        madvise((char *)p + first, end - first, MADV_DONTNEED);
}

/* Zeroing what is in the cache takes a fifth of the time that new pages take. */
void arena_move(void *p, size_t from, size_t to, size_t bytes)
{
    char *at = p;

    /* Linux 5.7 */
    if (mremap(at + from, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP,
               at + to) == at + to)
        memset(at + to, 0, bytes);
    else
        arena_forget(p, from, from + bytes);
}

int rows_grow(void *rows, size_t row_bytes, size_t cap)
{
    void *at;

    memcpy(&at, rows, sizeof at); /* a pointer to any type */
    at = realloc(at, cap * row_bytes);
    if (!at)
        return WH_ERR_NOMEM;
    memcpy(rows, &at, sizeof at);
    return 0;
}
