/*
 * figures.h - the figures of a run, collected once for the summary file and for the table on the
 * terminal.
 * Threading: pure functions on caller-owned data.
 */
#ifndef WH_FIGURES_H
#define WH_FIGURES_H

#include "sim.h"

/* A distribution. Percentile p: the smallest value that at least p per cent do not exceed. */
struct dist {
    uint64_t count;
    double mean, p50, p95, p99, max; /* all 0 if count is 0 */
};

/* dist_of - brings @values into another order. shape: [count] */
struct dist dist_of(double *values, uint64_t count);

/* dist_rank - where the percentile is among sorted values, from 0; @percent 0..100, @count > 0. */
uint64_t dist_rank(uint64_t count, double percent);

/* Size classes: flows of bytes in (previous limit, limit]. The last has no limit. */
#define SIZE_CLASS_COUNT 7
int64_t size_class_limit(uint32_t class_id); /* 10^3 .. 10^8 B, INT64_MAX for the last */
uint32_t size_class_of(int64_t bytes);
/* size_class_name - "<= 1000", "> 100000000". Returns @buf. */
const char *size_class_name(uint32_t class_id, char *buf, size_t buf_bytes);

#define FIGURES_TOP 10

struct port_figure {
    uint32_t port;
    double utilization; /* of the line rate over the active time, wire bytes */
    struct port_stats st;
};

struct figures {
    struct sim_counters c;
    int64_t first_start_ps, last_end_ps; /* 0, 0 without a finished flow */
    int64_t bytes, acked_bytes, retx_bytes;
    struct dist fct_ns, slowdown;
    struct {
        struct dist fct_ns, slowdown;
    } by_size[SIZE_CLASS_COUNT];
    double link_utilization_mean;
    uint32_t busiest_count, fullest_count, paused_count; /* rows used below, largest first */
    struct port_figure busiest[FIGURES_TOP];             /* by utilization */
    struct port_figure fullest[FIGURES_TOP];             /* switch ports by queue_max_bytes */
    struct port_figure paused[FIGURES_TOP];              /* by paused_ps */
};

/* figures_collect - Returns 0 or WH_ERR_NOMEM. */
int figures_collect(struct figures *f, const struct sim *s) WH_MUST_CHECK;

#endif
