/*
 * scratch.c - see scratch.h.
 */
#include "scratch.h"

#include "sim_int.h"

#include <stdlib.h>
#include <string.h>

struct scratch *scratch_create(uint32_t count, uint32_t port_count)
{
    const size_t bytes = (port_count + 1u) * sizeof(uint32_t);
    struct scratch *x = aligned_alloc(alignof(struct scratch), count * sizeof *x);

    if (!x)
        return NULL;
    memset(x, 0, count * sizeof *x);
    for (uint32_t i = 0; i < count; i++) {
        x[i].worker_id = i;
        x[i].mark = arena_reserve(bytes);
        x[i].port = arena_reserve(bytes);
        if (!x[i].mark || !x[i].port) {
            scratch_destroy(x, count, port_count);
            return NULL;
        }
    }
    return x;
}

void scratch_destroy(struct scratch *x, uint32_t count, uint32_t port_count)
{
    const size_t bytes = (port_count + 1u) * sizeof(uint32_t);

    if (!x)
        return;
    for (uint32_t i = 0; i < count; i++) {
        arena_release(x[i].mark, bytes);
        arena_release(x[i].port, bytes);
        free(x[i].flow);
        bytes_fini(&x[i].timers);
        bytes_fini(&x[i].state);
    }
    free(x);
}

uint32_t *scratch_flows(struct scratch *x, uint32_t count)
{
    if (x->flow_cap < count) {
        x->flow_cap = 2 * count;
        free(x->flow);
        x->flow = malloc(x->flow_cap * sizeof *x->flow);
        check(x->flow != NULL, "out of memory for %u flows", x->flow_cap);
    }
    return x->flow;
}
