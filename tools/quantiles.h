/*
 * quantiles.h - some ranks of many numbers, without sorting them. Threading: pure.
 */
#ifndef WH_QUANTILES_H
#define WH_QUANTILES_H

#include <stddef.h>

/*
 * quantiles_find - out[i] = the number that would be at ranks[i] (from 0) if @values were sorted.
 * @values: shape [count], in another order afterwards; no NaN, none infinite
 * @ranks, @out: shape [rank_count]; ranks rise and are below @count
 */
void quantiles_find(double *values, size_t count, const size_t *ranks, double *out,
                    size_t rank_count);

#endif
