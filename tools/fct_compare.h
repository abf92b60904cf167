/*
 * fct_compare.h - the error of one run's flow completion times against another's.
 * Threading: pure functions on caller-owned data.
 */
#ifndef WH_FCT_COMPARE_H
#define WH_FCT_COMPARE_H

#include "fct_table.h"
#include "figures.h"

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
    double sorted_mean; /* mean of |b(i) - a(i)| / a(i) over the i-th smallest FCTs of each */
    double makespan_a_ns, makespan_b_ns; /* first start to last completion, each run alone */
};

/* What makes two rows the same flow, besides source, destination, ports and bytes. */
enum fct_pairing {
    FCT_BY_START, /* the start; equal ones pair in order of the files */
    FCT_BY_ORDER  /* nothing: equal ones pair in order of their starts. For workloads, whose starts
                     follow from completions and so differ between runs. */
};

/* A flow that finished in both runs. */
struct fct_pair {
    uint64_t a_order; /* fct_row.order in A */
    int64_t bytes, a_ps, b_ps;
};

struct fct_pairs {
    struct fct_pair *rows; /* shape: [count], owned */
    uint64_t count;
};

/*
 * fct_pairs_make - finds the flows that finished in both, and counts those that did not.
 * Sorts both tables in place. Sets counts and makespans of @out and leaves the rest of it zero.
 * Returns: 0 or WH_ERR_NOMEM. Owner: release @p with fct_pairs_fini after success.
 */
int fct_pairs_make(struct fct_pairs *p, struct fct_table *a, struct fct_table *b,
                   enum fct_pairing by, struct fct_comparison *out) WH_MUST_CHECK;
void fct_pairs_fini(struct fct_pairs *p);

/* fct_pair_error - (b - a) / a; a difference from nothing counts as 1, so that it is not lost. */
double fct_pair_error(const struct fct_pair *p);

/* fct_pairs_compare - errors of all pairs and by size into @out. Returns 0 or WH_ERR_NOMEM. */
int fct_pairs_compare(const struct fct_pairs *p, struct fct_comparison *out) WH_MUST_CHECK;

/* fct_compare - both steps. Sorts both tables in place. Returns 0 or WH_ERR_NOMEM. */
int fct_compare(struct fct_table *a, struct fct_table *b, enum fct_pairing by,
                struct fct_comparison *out) WH_MUST_CHECK;

#endif
