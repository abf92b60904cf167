/*
 * cc.h - congestion control: one table of functions per algorithm.
 *
 * An algorithm is one file cc_<name>.c plus one line in cc.c. It keeps its per-flow state in a
 * block of state_bytes that the simulation provides, zeroed, and acts by setting the flow's rate or
 * window. Rates are integers in bit/s, truncated after each multiplication or division, as the
 * reference does. Threading: called by the holder of the sender half.
 */
#ifndef WH_CC_H
#define WH_CC_H

#include <stddef.h>
#include <stdint.h>

struct sim;
struct part;
struct flow_tx;

/* What an acknowledgement says. */
struct cc_ack {
    int64_t seq;          /* cumulative, next byte expected */
    int64_t now;          /* local [ps] */
    int64_t sent;         /* when the data packet was built, local [ps] */
    int64_t acked_bytes;  /* newly acknowledged */
    const uint64_t *hops; /* INT words */
    uint32_t hop_count;
    uint8_t cnp; /* a mark is echoed */
    uint8_t is_nack;
};

struct cc_ops {
    const char *name;
    size_t state_bytes;
    uint32_t header_bytes; /* INT or time stamp field in data packets and ACKs */
    uint8_t needs_int;
    void (*on_start)(struct part *p, uint32_t flow, void *state); /* may be NULL */
    void (*on_ack)(struct part *p, uint32_t flow, void *state, const struct cc_ack *a);
    void (*on_timer)(struct part *p, uint32_t flow, void *state, int which, int64_t time);
    void (*on_timeout)(struct part *p, uint32_t flow, void *state); /* may be NULL */
    /* the largest window it ever sets [B], if that is not flow_tx.win_max; may be NULL */
    int64_t (*window_limit)(const struct sim *s, const struct flow_tx *t);
    /* moves the local times in the state by @delta_ps, a multiple of 1 ns; NULL: it holds none */
    void (*rebase)(void *state, int64_t delta_ps);
    /* The flow went on as it was for @elapsed_ps and @packets that were not executed: moves what in
     * the state goes on moving meanwhile, without effect until something changes. NULL: nothing. */
    void (*on_skip)(struct part *p, uint32_t flow, void *state, int64_t elapsed_ps,
                    int64_t packets);
    /* What of the state decides how it goes on, in bins, for the fcg lens (lens.h); beside rate,
     * window and bytes in flight. @out: shape [CC_COARSE_COUNT], zeroed. NULL: nothing. */
    void (*coarse)(const struct flow_tx *t, const void *state, uint16_t *out);
};
#define CC_COARSE_COUNT 4u

extern const struct cc_ops cc_none, cc_dcqcn, cc_hpcc, cc_timely, cc_dctcp, cc_swift;

/* cc_table - rows by enum cc_kind. */
const struct cc_ops *cc_by_kind(int kind);

#endif
