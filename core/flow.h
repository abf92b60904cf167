/*
 * flow.h - what the network is asked to carry, and what became of it.
 */
#ifndef WH_FLOW_H
#define WH_FLOW_H

#include <stdint.h>

/* One RDMA-like message. */
struct flow_spec {
    int64_t start_ps;  /* global time, >= 0 */
    int64_t bytes;     /* payload [B], >= 0 (0: complete at once) */
    uint32_t src, dst; /* hosts, different */
    uint16_t sport;    /* 0: assigned 10000, 10001, ... per (src, dst) in order of adding */
    uint16_t dport;    /* part of the ECMP key and a label */
    uint8_t prio;      /* priority group (queue) 0..7; 0 is the control queue, 3 in HPCC's files */
    uint8_t tag;       /* free for the workload; copied to the results */
    uint16_t reserved;
    uint32_t user; /* free for the workload; copied to the results */
};

enum flow_state {
    FLOW_WAITING = 0, /* not started */
    FLOW_ACTIVE = 1,
    FLOW_DONE = 2,   /* the sender has the acknowledgement of the last byte */
    FLOW_NOPATH = 3, /* no path when it was to start; will not finish unless a link comes up */
    FLOW_STALLED = 4 /* given up after rto_retries_max timeouts without progress */
};

/* Result row, one per flow, index = order of adding. */
struct flow_result {
    int64_t start_ps;    /* when it started (equals spec for flow files) */
    int64_t end_ps;      /* completion; -1 if unfinished */
    int64_t ideal_ps;    /* standalone FCT, reference formula (formats.md 1.5); integer ns in ns
                            rounding */
    int64_t acked_bytes; /* payload acknowledged so far */
    int64_t retx_bytes;  /* payload sent more than once */
    uint32_t hops;       /* links of the data path */
    uint16_t sport;
    uint8_t state; /* enum flow_state */
    uint8_t reserved;
};

#endif
