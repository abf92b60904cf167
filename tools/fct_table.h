/*
 * fct_table.h - flow completion times read back from a run, and the error of one run against
 * another. Threading: pure functions on caller-owned data.
 */
#ifndef WH_FCT_TABLE_H
#define WH_FCT_TABLE_H

#include "figures.h"

struct fct_row {
    uint32_t src, dst;
    uint32_t sport, dport;
    int64_t bytes, start_ns; /* part of the key: whole ns, to nearest */
    int64_t fct_ps;          /* -1: unfinished */
    uint64_t order;          /* in the file */
};

struct fct_table {
    struct fct_row *rows; /* shape: [count], owned */
    uint64_t count, cap;
    char path[1200]; /* the file that was read */
};

/*
 * fct_table_read - @path is a run folder (its fct.csv, else its fct.txt), a fct.csv, or an HPCC
 * fct.txt (also with decimal node ids). Zero-initialise *t; release with fct_table_fini, also after
 * a failure. Errors: WH_ERR_INPUT with file, line, found, expected; WH_ERR_NOMEM.
 */
int fct_table_read(const char *path, struct fct_table *t, struct err_info *e) WH_MUST_CHECK;
void fct_table_fini(struct fct_table *t);

/* Errors of B's FCTs against A's, over flows finished in both. */
struct fct_errors {
    struct dist abs_error; /* |b - a| / a, a ratio */
    double signed_mean;    /* mean of (b - a) / a */
    double mean_a_ns, mean_b_ns;
    uint64_t exact; /* equal to the ps */
};

struct fct_comparison {
    uint64_t count_a, count_b;
    uint64_t only_in_a, only_in_b; /* finished there; absent or unfinished in the other */
    uint64_t unfinished_in_a, unfinished_in_b;
    struct fct_errors all, by_size[SIZE_CLASS_COUNT];
    double makespan_a_ns, makespan_b_ns; /* first start to last completion, each run alone */
};

/*
 * fct_compare - pairs rows by (src, dst, sport, dport, start, bytes), equal ones in order of the
 * files. Sorts both tables in place. Returns 0 or WH_ERR_NOMEM.
 */
int fct_compare(struct fct_table *a, struct fct_table *b, struct fct_comparison *out) WH_MUST_CHECK;

#endif
