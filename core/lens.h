/*
 * lens.h - what of a partition is in a key of the fcg lens: structure, attributes, and states in
 * bins. For core/.
 *
 * A partition is the coloured graph flows - (way, hop) - ports. A colour holds what the state of a
 * flow or a port comes to, in bins: rate, bytes in flight, window, the congestion control's own
 * state, waiting bytes. What decides how it goes on and is not a state is exact: rates and delays
 * of ports, marking thresholds, charges, base RTTs, largest windows. What is the same for a whole
 * run is no part of it (lib/accel.c).
 *
 * How much is left of a flow is in the key in three degrees, see enum lens_sizes.
 * Threading: the holder of the partition.
 */
#ifndef WH_LENS_H
#define WH_LENS_H

#include "snapshot.h"

#include <stddef.h>
#include <stdint.h>

struct part;
struct sim;

/*
 * Widths of bins: 2^bits to a factor of two; rates 4 to 6 %. One bit less each, and the error of
 * flows that contend is twice their noise floor; one more gains little (docs/validation.md).
 */
#define LENS_RATE_BITS 4
#define LENS_FLIGHT_BITS 3
#define LENS_LAST_BITS 6 /* of what has arrived, where nothing is left to be sent */
#define LENS_LAST_STEPS 32
#define LENS_QUEUE_BITS 2
#define LENS_STATE_BITS 2

/* @value in 2^@bits bins to a factor of two; values up to 2^@bits exactly. */
uint16_t lens_bin(uint64_t value, uint32_t bits);
/* @part / @whole, in such bins. */
uint16_t lens_share_bin(int64_t part, int64_t whole, uint32_t bits);

/* What of the sizes is in a key. */
enum lens_sizes {
    LENS_LONG,  /* nothing: every flow outlasts the stage */
    LENS_MIXED, /* of flows that have little left, how much */
    LENS_EXACT, /* of all flows, how much */
    LENS_BARE,  /* nothing, and no states: the structure alone, for reports */
    LENS_KEYS = LENS_EXACT + 1
};

/* A key, and which flow and port stands at which place in it. */
struct lens_key {
    struct bytes key;
    uint64_t hash;
    uint32_t *flow; /* shape: [flow_count], place -> number in the look */
    uint32_t *port; /* shape: [port_count] */
};

struct lens_flow {
    uint32_t id;
    int64_t left_bytes; /* payload that is not acknowledged at the beginning */
    uint8_t is_short;   /* little is left */
};

/* A partition as it is looked at. Zero-initialise; lens_fini frees. */
struct lens {
    struct lens_flow *flow; /* shape: [flow_count], by id */
    uint32_t *port;         /* shape: [port_count], ids */
    uint32_t flow_count, port_count, flow_cap, port_cap;
    struct lens_key key[LENS_BARE + 1];
    uint8_t kind, step, is_watched;   /* is_watched: or will be */
    uint8_t has_graph;                /* with the states at the look, of some degree */
    struct bytes bytes, colour, edge; /* the graph that is being made */
    struct bytes form;                /* of a partition of one flow */
    uint32_t *order;                  /* shape: [order_cap] */
    uint32_t order_cap;
};

/*
 * lens_look - numbers the partition and finds what is left of its flows.
 * @kind, @step: what begins, part of every key
 * @after_skip: what the present skip delivers is taken off
 */
void lens_look(struct lens *l, struct part *p, uint8_t kind, uint8_t step, int after_skip);

/* lens_span_ps - how long a stage of the partition can last, a multiple of 1 ns. */
int64_t lens_span_ps(const struct part *p);

/* lens_make - the key of degree @sizes. Returns 0 if the graph is too large. */
int lens_make(struct lens *l, struct part *p, enum lens_sizes sizes);

/* lens_is_sized - does the key of degree @sizes say what is left of flow @number? */
int lens_is_sized(const struct lens *l, enum lens_sizes sizes, uint32_t number);

/* lens_is_same - have all flows the same say in both degrees, so that the keys are equal? */
int lens_is_same(const struct lens *l, enum lens_sizes a, enum lens_sizes b);

/* lens_is_short - is @left_bytes little for the flow? */
int lens_is_short(const struct part *p, uint32_t flow, int64_t left_bytes);

/* lens_put_port - appends what decides how port @port forwards: rate, delay, thresholds; not its
 * state. */
void lens_put_port(const struct part *p, uint32_t port, struct bytes *out);

void lens_fini(struct lens *l);

#endif
