/*
 * merge_sort.h - MERGE_SORT(name, type, is_before) defines
 *
 *     static void name(type *rows, type *spare, uint32_t count)
 *
 * which sorts @rows by is_before(const type *, const type *); @spare: room for as many. Stable. For
 * rows that come in long runs which are sorted already, by a comparison that the compiler sees
 * through: at a barrier qsort was a twentieth of a run. Threading: pure.
 */
#ifndef WH_MERGE_SORT_H
#define WH_MERGE_SORT_H

#include <stdint.h>
#include <string.h>

#define MERGE_SORT(name, type, is_before)                                                          \
    static void name##_merge(const type *from, type *to, uint32_t half, uint32_t count)            \
    {                                                                                              \
        uint32_t a = 0, b = half;                                                                  \
                                                                                                   \
        for (uint32_t i = 0; i < count; i++)                                                       \
            to[i] = b == count || (a < half && !is_before(&from[b], &from[a])) ? from[a++]         \
                                                                               : from[b++];        \
    }                                                                                              \
                                                                                                   \
    static void name(type *rows, type *spare, uint32_t count)                                      \
    {                                                                                              \
        uint32_t half = 1;                                                                         \
                                                                                                   \
        while (half < count && !is_before(&rows[half], &rows[half - 1]))                           \
            half++;                                                                                \
        if (half >= count)                                                                         \
            return;                                                                                \
        if (half < count / 2) {                                                                    \
            half = count / 2;                                                                      \
            name(rows, spare, half);                                                               \
        }                                                                                          \
        name(&rows[half], &spare[half], count - half);                                             \
        name##_merge(rows, spare, half, count);                                                    \
        memcpy(rows, spare, count * sizeof *rows);                                                 \
    }

#endif
