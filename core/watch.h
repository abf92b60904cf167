/*
 * watch.h - what the engine asks of a steady-state detector, and what it tells it.
 *
 * The engine owns one watch per partition and calls it at control events and at the ends of bins.
 * A watch that calls a partition steady says for how long, and what each flow delivers meanwhile;
 * the engine then freezes the partition (freeze.c). All times are local, in them a skip takes no
 * time; byte counters are cumulative in any frame that stays the same between two control events.
 * Determinism: a verdict may depend only on what was told since the last begin, and not on how
 * flows and ports are numbered.
 * Threading: one worker at a time for each watch; different watches at the same time.
 */
#ifndef WH_WATCH_H
#define WH_WATCH_H

#include <stddef.h>
#include <stdint.h>

/* A flow at a control event. */
struct watch_flow {
    int64_t remaining_bytes; /* payload not yet acknowledged, in flight included, >= 0 */
    int64_t acked_bytes;     /* where the cumulative counter of acknowledged payload stands */
    int64_t base_rtt_ps;     /* > 0 */
    int64_t rate_bps_max;    /* that congestion control may ask for; 0: unknown */
    uint32_t payload_bytes;  /* of a full packet, > 0 */
    uint32_t wire_bytes;     /* of a full packet, headers included */
    uint32_t hops;
};

struct watch_port {
    int64_t rate_bps; /* > 0 */
    int64_t tx_bytes; /* where the cumulative counter of bytes on the wire stands */
};

/* The partition at a control event. All arrays are copied. */
struct watch_partition {
    uint32_t flow_count, port_count; /* > 0 */
    const struct watch_flow *flow;   /* shape: [flow_count] */
    const struct watch_port *port;   /* shape: [port_count] */
    const uint32_t *path_first;      /* shape: [flow_count + 1], rows of path */
    const uint32_t *path;            /* ports of each flow in hop order */
};

/* A flow at the end of a bin. */
struct watch_obs {
    int64_t acked_bytes;     /* cumulative payload */
    int64_t last_ack_ps;     /* when it last rose; before the first ACK any fixed time <= now */
    int64_t in_flight_bytes; /* payload sent and not acknowledged */
    int64_t rate_bps;        /* that congestion control asks for now */
};

/* Why a partition was not frozen at the end of a bin, and how long it can be. */
struct watch_verdict {
    int64_t skip_ps;     /* > 0: steady */
    uint32_t reason;     /* the watch's own number, < WATCH_REASON_MAX; for reports */
    uint32_t flow, port; /* what held it back most, UINT32_MAX: nothing in particular */
    uint8_t is_ending;   /* not steady because a flow is about to end */
};
#define WATCH_REASON_MAX 32u

/* How saved rows are numbered: saved flow i is row flow_order[i]; ports alike. */
struct watch_frame {
    int64_t now_ps;
    const int64_t *acked_bytes; /* shape: [flow_count], own rows: where the counters stand */
    const int64_t *tx_bytes;    /* shape: [port_count], own rows */
    const uint32_t *flow_order, *port_order;
};

struct watch_ops {
    void *ctx;
    int64_t quantum_ps;         /* skips are multiples of it */
    uint8_t wants_acks;         /* on_ack is called */
    void *(*create)(void *ctx); /* NULL: out of memory */
    void (*destroy)(void *watch);
    /* A new episode. Returns 0 if it is not watched. */
    int (*begin)(void *ctx, void *watch, int64_t now_ps, const struct watch_partition *p);
    int64_t (*next_sample_ps)(const void *watch); /* INT64_MAX: none */
    void (*sample)(void *watch, int64_t now_ps, const struct watch_obs *obs,
                   const int64_t *tx_bytes, struct watch_verdict *v);
    void (*on_ack)(void *watch, uint32_t flow, int64_t rate_bps);
    /* After a steady verdict: payload per flow, whole packets, if the skip ends after @elapsed_ps.
     */
    void (*skip_bytes)(const void *watch, int64_t elapsed_ps, int64_t *out);
    void (*thaw)(void *watch, int64_t now_ps, int64_t skipped_ps, const int64_t *skipped_bytes);
    /* The state at the end of a bin or after a steady verdict, for a partition like this one. */
    size_t (*state_bytes)(const void *watch);
    void (*save)(const void *watch, const struct watch_frame *f, void *out);
    /*
     * The saved verdict is reached by this partition, with flows of other sizes: decides anew how
     * long it is steady, which may be not at all.
     * @remaining_bytes: shape [flow_count], own rows, payload not yet acknowledged
     * @goes_on: the episode is the one that was begun here; else it has just begun
     * @v: NULL: there was no verdict, the watch goes on from there
     * Returns 0 if it is not watched.
     */
    int (*adopt)(void *ctx, void *watch, const struct watch_frame *f, const void *state,
                 size_t state_bytes, const int64_t *remaining_bytes, int goes_on,
                 struct watch_verdict *v);
    const char *(*reason_text)(uint32_t reason); /* a clause; NULL past the last one */
};

#endif
