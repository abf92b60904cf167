/*
 * fct_table.h - flow completion times of a run, read back from its files. Threading: pure functions
 * on caller-owned data.
 */
#ifndef WH_FCT_TABLE_H
#define WH_FCT_TABLE_H

#include "err.h"

#include <stdint.h>

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

/* fct_table_append - one more row, its @order set to its number. Returns 0 or WH_ERR_NOMEM. */
int fct_table_append(struct fct_table *t, const struct fct_row *row) WH_MUST_CHECK;

/* fct_table_restore - sorted rows back into the order of the file. */
void fct_table_restore(struct fct_table *t);

#endif
