/*
 * sort_doubles.c - radix sort by the bytes of the numbers, lowest first. The bits of a double, with
 * the sign bit turned round, or all of them where it was set, rise with the number. Bytes that all
 * numbers have in common are passed over: figures of a run repeat a lot.
 */
#include "sort_doubles.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define SMALL 2000u
#define SIGN (UINT64_C(1) << 63)
#define BYTES 8u

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static uint64_t key_of(double v)
{
    uint64_t bits;

    memcpy(&bits, &v, sizeof bits);
    return bits & SIGN ? ~bits : bits | SIGN;
}

static double value_of(uint64_t key)
{
    const uint64_t bits = key & SIGN ? key ^ SIGN : ~key;
    double v;

    memcpy(&v, &bits, sizeof v);
    return v;
}

/* One pass from @from to @to. @at: how many keys have each value of the byte; is used up. */
static void distribute(const uint64_t *from, uint64_t *to, size_t count, uint32_t byte, size_t *at)
{
    size_t sum = 0;

    for (uint32_t b = 0; b < 256; b++) {
        const size_t here = at[b];

        at[b] = sum;
        sum += here;
    }
    for (size_t i = 0; i < count; i++)
        to[at[from[i] >> (8 * byte) & 255]++] = from[i];
}

/* @keys: shape [2][count], the first half filled. Returns the half that is sorted in the end. */
static const uint64_t *sort_keys(uint64_t *keys, size_t count)
{
    uint64_t *from = keys, *to = keys + count;
    size_t at[BYTES][256] = {0};

    for (size_t i = 0; i < count; i++)
        for (uint32_t b = 0; b < BYTES; b++)
            at[b][from[i] >> (8 * b) & 255]++;
    for (uint32_t b = 0; b < BYTES; b++) {
        uint64_t *t = from;

        if (at[b][from[0] >> (8 * b) & 255] == count)
            continue;
        distribute(from, to, count, b, at[b]);
        from = to;
        to = t;
    }
    return from;
}

void sort_doubles(double *values, size_t count)
{
    uint64_t *keys = count < SMALL ? NULL : malloc(2 * count * sizeof *keys);
    const uint64_t *sorted;

    if (!keys) {
        qsort(values, count, sizeof *values, compare);
        return;
    }
    for (size_t i = 0; i < count; i++)
        keys[i] = key_of(values[i]);
    sorted = sort_keys(keys, count);
    for (size_t i = 0; i < count; i++)
        values[i] = value_of(sorted[i]);
    free(keys);
}
