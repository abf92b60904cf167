/*
 * fluid.h - how long flows still take that share ports like fluids, by weighted max-min fairness.
 *
 * A flow weighs what its rate is now, so the shares that are now come out, and those that remain
 * when others have ended share what they leave. Threading: pure.
 */
#ifndef WH_FLUID_H
#define WH_FLUID_H

#include <stdint.h>

struct fluid {
    uint32_t flow_count, port_count;
    const double *rate_bps;     /* shape: [flow_count], of payload, > 0 */
    const double *room_bps;     /* shape: [port_count], what the port has for payload */
    const uint32_t *path_first; /* shape: [flow_count + 1], rows of path */
    const uint32_t *path;
};

/* fluid_scratch - doubles that fluid_run wants. */
static inline uint32_t fluid_scratch(const struct fluid *f)
{
    return f->flow_count + 4 * f->port_count;
}

/* fluid_loads - what the flows of each port have in all [bit/s]. @load: shape [port_count] */
void fluid_loads(const struct fluid *f, double *load);

/*
 * fluid_run - for @max_s, INFINITY: until all have ended.
 * @left_bytes: shape: [flow_count], in and out; 0 or less: has ended
 * Returns the sum over flows of the time to their end, or to that of the run.
 * Cost: O(ends x bottlenecks x hops).
 */
double fluid_run(const struct fluid *f, double *left_bytes, double max_s, double *scratch);

#endif
