/*
 * scratch.h - what saving a partition and looking it up writes on the way: one set per worker. For
 * core/.
 *
 * part.scratch is that of who holds the partition: the coordinator's, and in a task of look.h the
 * worker's. Nothing in it outlives the call that needs it.
 */
#ifndef WH_SCRATCH_H
#define WH_SCRATCH_H

#include "err.h"
#include "snapshot.h"

#include <stdalign.h>
#include <stdint.h>

struct scratch {
    alignas(128) uint32_t worker_id;
    uint32_t *mark;      /* shape: [port_count + 1], reserved; zero between calls */
    uint32_t *port;      /* shape: [port_count + 1], reserved; of snapshot_map */
    uint32_t *flow;      /* shape: [flow_cap]; of snapshot_map */
    uint32_t flow_cap;   /* see scratch_flows */
    struct bytes timers; /* of snapshot_save */
    struct bytes state;  /* of stage__prepare */
};

/* scratch_create - one for each of @count workers. NULL: out of memory. */
struct scratch *scratch_create(uint32_t count, uint32_t port_count);
void scratch_destroy(struct scratch *x, uint32_t count, uint32_t port_count); /* NULL is accepted */

/* scratch_flows - room for @count flows; what was there is gone. */
uint32_t *scratch_flows(struct scratch *x, uint32_t count);

#endif
