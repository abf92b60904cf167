/*
 * output_accel.h - what skipping and the memo have saved, in summary.json and on the terminal, and
 * what kept the rest from being skipped (--explain).
 */
#ifndef WH_OUTPUT_ACCEL_H
#define WH_OUTPUT_ACCEL_H

#include "output_summary.h"

#include <jansson.h>

/* output_skipping_json, output_memo_json, output_audit_json - the objects "skipping", "memo" and
 * "audit" of summary.json; NULL without memory. */
json_t *output_skipping_json(const struct run_record *r);
json_t *output_memo_json(const struct run_record *r);
json_t *output_audit_json(const struct run_record *r);

/* output_accel_table - a few lines for people; none if nothing was skipped or remembered. */
void output_accel_table(FILE *out, const struct run_record *r);

/* output_accel_explain - tables: where simulated time and packets went, what events were executed
 * for, which flows, ports and conditions held partitions back most. */
void output_accel_explain(FILE *out, const struct run_record *r);

/* What a run was spared; packets times links, acknowledgements included. */
struct saved_hops {
    uint64_t skipped, replayed, executed; /* together all that were simulated */
};
struct saved_hops output_saved_hops(const struct sim *s);

#endif
