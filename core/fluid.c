/*
 * fluid.c - see fluid.h.
 *
 * Between two ends the shares are found by progressive filling: all flows rise in proportion to
 * their weights until a port is full; its flows stay there, the others go on. A port counts as full
 * now if its flows have nearly all of its room; what they have is then what there is. A flow
 * without such a port on its way is held by its sender and keeps its rate.
 */
#include "fluid.h"

#include <math.h>

#define FULL_SHARE 0.85
#define TINY 1e-9 /* of the weights, what sums leave by rounding */

struct filling {
    const struct fluid *f;
    double *left, *share;                     /* shape: [flow_count]; share < 0: still rising */
    double *capacity, *spare, *weight, *full; /* shape: [port_count]; full: 1 or 0 */
};

void fluid_loads(const struct fluid *f, double *load)
{
    for (uint32_t p = 0; p < f->port_count; p++)
        load[p] = 0;
    for (uint32_t i = 0; i < f->flow_count; i++)
        for (uint32_t k = f->path_first[i]; k < f->path_first[i + 1]; k++)
            load[f->path[k]] += f->rate_bps[i];
}

/* Ports that are full: they have what their flows have. */
static void find_capacities(struct filling *x)
{
    const struct fluid *f = x->f;

    fluid_loads(f, x->weight);
    for (uint32_t p = 0; p < f->port_count; p++) {
        x->full[p] = x->weight[p] >= FULL_SHARE * f->room_bps[p];
        x->capacity[p] = x->full[p] != 0 ? x->weight[p] : f->room_bps[p];
    }
}

static int has_full_port(const struct filling *x, uint32_t flow)
{
    const struct fluid *f = x->f;

    for (uint32_t k = f->path_first[flow]; k < f->path_first[flow + 1]; k++)
        if (x->full[f->path[k]] != 0)
            return 1;
    return 0;
}

static void take_share(struct filling *x, uint32_t flow, double share)
{
    const struct fluid *f = x->f;

    x->share[flow] = share;
    for (uint32_t k = f->path_first[flow]; k < f->path_first[flow + 1]; k++) {
        x->spare[f->path[k]] -= share;
        x->weight[f->path[k]] -= f->rate_bps[flow];
    }
}

/* Who has ended takes nothing; who is held by its sender takes its rate; the others rise. */
static void begin_filling(struct filling *x)
{
    const struct fluid *f = x->f;

    for (uint32_t p = 0; p < f->port_count; p++) {
        x->spare[p] = x->capacity[p];
        x->weight[p] = 0;
    }
    for (uint32_t i = 0; i < f->flow_count; i++) {
        x->share[i] = x->left[i] > 0 ? -1 : 0;
        for (uint32_t k = f->path_first[i]; x->share[i] < 0 && k < f->path_first[i + 1]; k++)
            x->weight[f->path[k]] += f->rate_bps[i];
    }
    for (uint32_t i = 0; i < f->flow_count; i++)
        if (x->share[i] < 0 && !has_full_port(x, i))
            take_share(x, i, f->rate_bps[i]);
}

/* The port that is full first, and at how much of the weights. */
static double find_level(const struct filling *x, uint32_t *port)
{
    double level = INFINITY;

    for (uint32_t p = 0; p < x->f->port_count; p++) {
        const double spare = x->spare[p] > 0 ? x->spare[p] : 0;

        if (x->weight[p] > TINY * x->capacity[p] && spare / x->weight[p] < level) {
            level = spare / x->weight[p];
            *port = p;
        }
    }
    return level;
}

static void fill(struct filling *x)
{
    const struct fluid *f = x->f;
    uint32_t full;

    begin_filling(x);
    for (double level = find_level(x, &full); level < INFINITY; level = find_level(x, &full)) {
        for (uint32_t i = 0; i < f->flow_count; i++)
            for (uint32_t k = f->path_first[i]; x->share[i] < 0 && k < f->path_first[i + 1]; k++)
                if (f->path[k] == full)
                    take_share(x, i, level * f->rate_bps[i]);
        x->weight[full] = 0; /* but for rounding it is */
    }
}

/* Up to the next end, or for @max_s. Returns how long. */
static double advance(struct filling *x, double max_s)
{
    const uint32_t flows = x->f->flow_count;
    double first = max_s;

    for (uint32_t i = 0; i < flows; i++)
        if (x->share[i] > 0 && x->left[i] * 8 / x->share[i] < first)
            first = x->left[i] * 8 / x->share[i];
    for (uint32_t i = 0; first < INFINITY && i < flows; i++) {
        if (!(x->share[i] > 0))
            continue;
        x->left[i] -= first * x->share[i] / 8;
        if (x->left[i] * 8 <= TINY * x->share[i]) /* within a ns of the first */
            x->left[i] = 0;
    }
    return first;
}

static uint32_t count_running(const struct filling *x)
{
    uint32_t running = 0;

    for (uint32_t i = 0; i < x->f->flow_count; i++)
        running += x->left[i] > 0;
    return running;
}

double fluid_run(const struct fluid *f, double *left_bytes, double max_s, double *scratch)
{
    struct filling x = {
        .f = f, .left = left_bytes, .share = scratch, .capacity = scratch + f->flow_count};
    double sum = 0;
    uint32_t running;

    x.spare = x.capacity + f->port_count;
    x.weight = x.spare + f->port_count;
    x.full = x.weight + f->port_count;
    find_capacities(&x);
    while (max_s > 0 && (running = count_running(&x))) {
        double step;

        fill(&x);
        step = advance(&x, max_s);
        if (!(step < INFINITY))
            break; /* nobody moves */
        sum += step * running;
        max_s -= step;
    }
    return sum;
}
