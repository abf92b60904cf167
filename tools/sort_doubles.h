/*
 * sort_doubles.h - sorts numbers faster than qsort where there are millions of them.
 */
#ifndef WH_SORT_DOUBLES_H
#define WH_SORT_DOUBLES_H

#include <stddef.h>

/* sort_doubles - ascending, in place; no NaN among them. shape: [count] */
void sort_doubles(double *values, size_t count);

#endif
