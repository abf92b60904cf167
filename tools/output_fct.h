/*
 * output_fct.h - one line per flow: fct.csv (our columns) and fct.txt (HPCC columns).
 * docs/output.md explains every column.
 */
#ifndef WH_OUTPUT_FCT_H
#define WH_OUTPUT_FCT_H

#include "out_file.h"
#include "sim.h"

/* The header line of fct.csv, without its line break. */
#define FCT_CSV_HEADER                                                                             \
    "flow,src,dst,sport,dport,priority,bytes,start_ns,fct_ns,ideal_fct_ns,slowdown,hops,"          \
    "retx_bytes,state"

/* output_fct_csv - all flows, in flow order. */
void output_fct_csv(struct out_file *o, const struct sim *s);

/* output_fct_txt - finished flows, in order of completion. */
void output_fct_txt(struct out_file *o, const struct sim *s);

/* output_ns - "12", "12.5", "0.001": exact ns of a time >= 0 in ps. Returns @buf. */
const char *output_ns(int64_t ps, char *buf, size_t buf_bytes);

/* output_slowdown_ppm - max(1, fct / ideal) in millionths, rounded to nearest; 10^6 without ideal.
 */
int64_t output_slowdown_ppm(int64_t fct_ps, int64_t ideal_ps);

/* output_state_name - "waiting", "active", "done", "no-path", "stalled". */
const char *output_state_name(unsigned state);

#endif
