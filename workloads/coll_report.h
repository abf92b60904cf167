/*
 * coll_report.h - what came out of a DAG: collectives.csv, bandwidths, a timeline.
 *
 * Bandwidths are nccl-tests': algbw = bytes / time, busbw = algbw x factor, GB = 10^9 B. The time
 * of a collective runs from the start of its first flow to the end of its last.
 * Threading: one thread.
 */
#ifndef WH_COLL_REPORT_H
#define WH_COLL_REPORT_H

#include "dag.h"

#include <stdio.h>

/* 0 for a collective that took no time. */
double coll_report_algbw(const struct coll_record *r); /* [GB/s] */
double coll_report_busbw(const struct coll_record *r); /* [GB/s] */

#define COLL_CSV_HEADER                                                                            \
    "id,group,ranks,members,kind,algorithm,channels,bytes,called_ns,start_ns,end_ns,time_ns,"      \
    "algbw_GBps,busbw_GBps,flows,sent_bytes,relayed_bytes"

/* coll_report_csv_row - one line of collectives.csv. Returns 0 or WH_ERR_IO. */
int coll_report_csv_row(FILE *f, const struct coll_record *r) WH_MUST_CHECK;

/* Collectives alike: same kind, algorithm, size and number of ranks. */
struct coll_class {
    enum coll_kind kind;
    enum coll_algo algo;
    uint32_t ranks;
    int64_t bytes;
    uint64_t count;
    double time_ps_sum; /* of all */
    int64_t time_ps_min, time_ps_max;
    int64_t sent_bytes;
    const struct group *group; /* of the first one */
};

struct coll_classes {
    struct coll_class *rows; /* shape: [count], in order of first end */
    uint32_t count, cap;
};

/* coll_classes_add - counts one in. Returns 0 or WH_ERR_NOMEM. */
int coll_classes_add(struct coll_classes *c, const struct coll_record *r) WH_MUST_CHECK;
void coll_classes_fini(struct coll_classes *c);

/* coll_report_ranks_row - "rank,compute_ns,exposed_ns,communication_ns,idle_ns,end_ns". */
#define COLL_RANKS_HEADER "rank,compute_ns,exposed_ns,communication_ns,idle_ns,end_ns"
int coll_report_ranks(FILE *f, const struct dag *d, uint32_t rank_count) WH_MUST_CHECK;

/*
 * A timeline in Chrome's trace event format, which Perfetto opens: one process per rank, one thread
 * per stream, an arrow from each send to its receive. Events are written as they end. What exceeds
 * cap_bytes is left out and counted; the file stays valid.
 */
struct coll_trace {
    FILE *f;
    int64_t bytes, cap_bytes;
    uint64_t events, left_out;
    int has_failed;
};
#define COLL_TRACE_CAP_BYTES INT64_C(100000000)

/* coll_trace_begin - @stream_name may be NULL; @cap_bytes 0: COLL_TRACE_CAP_BYTES. */
void coll_trace_begin(struct coll_trace *t, FILE *f, int64_t cap_bytes, uint32_t rank_count,
                      uint32_t stream_count, const char *(*stream_name)(void *ctx, uint32_t stream),
                      void *ctx);
void coll_trace_op(struct coll_trace *t, const struct op_record *r);
/* coll_trace_end - closes the document, not the file. Returns 0 or WH_ERR_IO. */
int coll_trace_end(struct coll_trace *t) WH_MUST_CHECK;

#endif
