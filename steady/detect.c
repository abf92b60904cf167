/*
 * detect.c - life of a detector: memory, episodes, samples, thaw. See detect.h and detect_int.h.
 */
#include "detect_int.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ALIGN_BYTES 16u

int detect_create(struct detect **out)
{
    struct detect *d = calloc(1, sizeof *d);

    if (!d)
        return WH_ERR_NOMEM;
    d->next_sample_ps = DETECT_NEVER;
    *out = d;
    return 0;
}

void detect_destroy(struct detect *d)
{
    if (d)
        free(d->memory);
    free(d);
}

/* ---- memory: laid out twice, first to measure (base NULL), then to set the pointers ---- */

struct layout {
    char *base;
    size_t used;
};

static void *place(struct layout *l, size_t count, size_t item_bytes)
{
    const size_t at = l->used;

    l->used += (count * item_bytes + ALIGN_BYTES - 1) / ALIGN_BYTES * ALIGN_BYTES;
    return l->base ? l->base + at : NULL;
}

static size_t lay_out(struct detect *d, char *base)
{
    struct layout l = {.base = base};
    const size_t flows = d->flow_count, ports = d->port_count, hops = d->path_count;

    d->flow = place(&l, flows, sizeof *d->flow);
    d->port = place(&l, ports, sizeof *d->port);
    d->path_first = place(&l, flows + 1, sizeof *d->path_first);
    d->path = place(&l, hops, sizeof *d->path);
    d->user_first = place(&l, ports + 1, sizeof *d->user_first);
    d->user = place(&l, hops, sizeof *d->user);
    d->congested = place(&l, ports, sizeof *d->congested);
    d->group_of = place(&l, flows, sizeof *d->group_of);
    d->estimate = place(&l, flows, sizeof *d->estimate);
    d->skip_bytes = place(&l, flows, sizeof *d->skip_bytes);
    d->group_sum_bps = place(&l, flows, sizeof *d->group_sum_bps);
    d->group_flows = place(&l, flows, sizeof *d->group_flows);
    d->batch_bps = place(&l, flows * DETECT__BATCHES_MAX, sizeof *d->batch_bps);
    d->scratch = place(&l, 2 * (flows + hops + ports), sizeof *d->scratch);
    d->paper = d->p->spec.rule == DETECT_RULE_PAPER ? place(&l, flows, sizeof *d->paper) : NULL;
    /* Last: an episode that ends early never touches most of it. */
    d->edge = place(&l, flows * DETECT__EDGES_MAX, sizeof *d->edge);
    return l.used;
}

void detect__stop(struct detect *d)
{
    d->state = DETECT__OFF;
    d->next_sample_ps = DETECT_NEVER;
    d->flow_count = d->port_count = d->path_count = 0;
}

int detect__reserve(struct detect *d, const struct detect_params *p, uint32_t flow_count,
                    uint32_t port_count, uint32_t path_count)
{
    size_t need;

    d->p = p;
    d->flow_count = flow_count;
    d->port_count = port_count;
    d->path_count = path_count;
    need = lay_out(d, NULL);
    if (need > d->memory_bytes) {
        free(d->memory); /* nothing of the last episode is kept */
        d->memory = malloc(need);
        d->memory_bytes = d->memory ? need : 0;
    }
    if (!d->memory) {
        detect__stop(d);
        return WH_ERR_NOMEM;
    }
    lay_out(d, d->memory);
    return 0;
}

/* ---- what follows from flows, ports and paths ---- */

/* A path may pass a port twice; it counts once. @seen: shape [port_count], zeroed before the flows.
 */
static int is_new_user(uint32_t *seen, uint32_t port, uint32_t flow)
{
    if (seen[port] == flow + 1)
        return 0;
    seen[port] = flow + 1;
    return 1;
}

static void derive_users(struct detect *d)
{
    const size_t ports = d->port_count;
    uint32_t *seen = d->scratch, *next = d->scratch + ports, *first = d->user_first;

    memset(seen, 0, ports * sizeof *seen);
    memset(first, 0, (ports + 1) * sizeof *first);
    for (uint32_t f = 0; f < d->flow_count; f++)
        for (uint32_t i = d->path_first[f]; i < d->path_first[f + 1]; i++)
            first[d->path[i] + 1] += (uint32_t)is_new_user(seen, d->path[i], f);
    for (size_t port = 0; port < ports; port++)
        first[port + 1] += first[port];
    memcpy(next, first, ports * sizeof *next);
    memset(seen, 0, ports * sizeof *seen);
    for (uint32_t f = 0; f < d->flow_count; f++)
        for (uint32_t i = d->path_first[f]; i < d->path_first[f + 1]; i++)
            if (is_new_user(seen, d->path[i], f))
                d->user[next[d->path[i]]++] = f;
}

static int compare_u32(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

static void derive_hop_classes(struct detect *d)
{
    uint32_t *hops = d->scratch;
    uint32_t count = 0;

    for (uint32_t f = 0; f < d->flow_count; f++)
        hops[f] = d->flow[f].hops;
    qsort(hops, d->flow_count, sizeof *hops, compare_u32);
    for (uint32_t f = 0; f < d->flow_count; f++)
        if (!f || hops[f] != hops[count - 1])
            hops[count++] = hops[f];
    for (uint32_t f = 0; f < d->flow_count; f++) {
        const uint32_t *at = bsearch(&d->flow[f].hops, hops, count, sizeof *hops, compare_u32);

        d->flow[f].hop_class = (uint32_t)(at - hops);
    }
    d->hop_class_count = count;
}

static void derive_plan(struct detect *d)
{
    int64_t rtt_ps = 0, payload_bytes = 0, rate_min = INT64_MAX, rate_max = 0;

    for (uint32_t f = 0; f < d->flow_count; f++) {
        const struct detect__flow *flow = &d->flow[f];

        rtt_ps = flow->base_rtt_ps > rtt_ps ? flow->base_rtt_ps : rtt_ps;
        payload_bytes = flow->payload_bytes > payload_bytes ? flow->payload_bytes : payload_bytes;
    }
    for (uint32_t port = 0; port < d->port_count; port++) {
        const int64_t rate = d->port[port].rate_bps;

        rate_min = rate < rate_min ? rate : rate_min;
        rate_max = rate > rate_max ? rate : rate_max;
    }
    d->plan = detect_plan_calc(d->p, d->flow_count, rtt_ps, rate_min, rate_max, payload_bytes);
}

void detect__derive(struct detect *d)
{
    derive_users(d);
    derive_hop_classes(d);
    derive_plan(d);
    d->groups_valid = 0;
}

/* ---- the episode ---- */

static void copy_partition(struct detect *d, const struct watch_partition *part)
{
    for (uint32_t f = 0; f < d->flow_count; f++) {
        const struct watch_flow *in = &part->flow[f];

        check(in->payload_bytes > 0 && in->remaining_bytes >= 0 && in->base_rtt_ps > 0,
              "flow %u: payload %u B, remaining %lld B, round trip %lld ps", f, in->payload_bytes,
              (long long)in->remaining_bytes, (long long)in->base_rtt_ps);
        d->flow[f] = (struct detect__flow){
            .remaining_bytes = in->remaining_bytes,
            .acked_bytes = in->acked_bytes,
            .base_rtt_ps = in->base_rtt_ps,
            .rate_bps_max = in->rate_bps_max,
            .payload_bytes = in->payload_bytes,
            .wire_bytes = in->wire_bytes,
            .hops = in->hops,
        };
    }
    for (uint32_t port = 0; port < d->port_count; port++) {
        const struct watch_port *in = &part->port[port];

        check(in->rate_bps > 0, "port %u: %lld bit/s", port, (long long)in->rate_bps);
        d->port[port] = (struct detect__port){in->rate_bps, in->tx_bytes, in->tx_bytes};
    }
    memcpy(d->path_first, part->path_first, (d->flow_count + (size_t)1) * sizeof *d->path_first);
    memcpy(d->path, part->path, d->path_count * sizeof *d->path);
    for (uint32_t i = 0; i < d->path_count; i++)
        check(d->path[i] < d->port_count, "port %u of %u", d->path[i], d->port_count);
}

int detect_begin(struct detect *d, const struct detect_params *p, int64_t now_ps,
                 const struct watch_partition *part)
{
    int code;

    detect__stop(d);
    check(part->flow_count && part->port_count, "%u flows, %u ports", part->flow_count,
          part->port_count);
    check(part->path_first[0] == 0, "paths begin at row %u", part->path_first[0]);
    if (part->flow_count > p->spec.flow_count_max)
        return 0;
    code = detect__reserve(d, p, part->flow_count, part->port_count,
                           part->path_first[part->flow_count]);
    if (code)
        return code;
    copy_partition(d, part);
    detect__derive(d);
    d->state = DETECT__WATCHING;
    d->has_thawed = 0;
    d->begin_ps = now_ps;
    d->skipped_ps = 0;
    d->edge_count = 0;
    d->bin_ps = d->plan.bin_ps;
    d->next_sample_ps = now_ps + d->plan.settle_ps;
    detect__paper_reset(d);
    return 0;
}

int64_t detect_next_sample_ps(const struct detect *d)
{
    return d->state == DETECT__WATCHING ? d->next_sample_ps : DETECT_NEVER;
}

/* Drops every other edge; the first and the newest stay. */
static void double_bins(struct detect *d)
{
    const size_t row_bytes = d->flow_count * sizeof *d->edge;
    const uint32_t count = (d->edge_count + 1) / 2;

    for (uint32_t i = 1; i < count; i++) {
        memcpy(d->edge + (size_t)i * d->flow_count, detect__edges(d, 2 * i), row_bytes);
        d->edge_ps[i] = d->edge_ps[2 * i];
    }
    d->edge_count = count;
    d->bin_ps *= 2;
}

void detect_sample(struct detect *d, int64_t now_ps, const struct watch_obs *obs,
                   const int64_t *tx_bytes)
{
    struct detect__edge *edge;

    check(d->state == DETECT__WATCHING, "a sample in state %d", (int)d->state);
    check(!d->edge_count || now_ps > d->edge_ps[d->edge_count - 1], "%lld ps after %lld ps",
          (long long)now_ps, (long long)d->edge_ps[d->edge_count - 1]);
    edge = d->edge + (size_t)d->edge_count * d->flow_count;
    for (uint32_t f = 0; f < d->flow_count; f++) {
        edge[f] =
            (struct detect__edge){obs[f].acked_bytes, obs[f].last_ack_ps, obs[f].in_flight_bytes};
        d->flow[f].rate_bps = obs[f].rate_bps;
    }
    for (uint32_t port = 0; port < d->port_count; port++)
        d->port[port].tx_bytes = tx_bytes[port];
    d->edge_ps[d->edge_count++] = now_ps;
    d->groups_valid = 0;
    if (d->edge_count == DETECT__EDGES_MAX)
        double_bins(d);
    d->next_sample_ps = now_ps + d->bin_ps;
}

void detect_on_thaw(struct detect *d, int64_t now_ps, int64_t skipped_ps,
                    const int64_t *skipped_bytes)
{
    const uint32_t last = d->edge_count - 1;

    check(d->state == DETECT__FROZEN, "a thaw in state %d", (int)d->state);
    check(now_ps == d->edge_ps[last], "thaw at %lld ps, frozen at %lld ps", (long long)now_ps,
          (long long)d->edge_ps[last]);
    check(skipped_ps >= 0, "skipped %lld ps", (long long)skipped_ps);
    for (uint32_t f = 0; f < d->flow_count; f++) {
        struct detect__flow *flow = &d->flow[f];

        flow->carry = detect__calc_skip(d, f, skipped_ps) - skipped_bytes[f] * DETECT__CARRY_UNIT;
        flow->skipped_bytes += skipped_bytes[f];
    }
    /* The state has not moved since the last sample, so that is the first edge of what follows. */
    memmove(d->edge, detect__edges(d, last), d->flow_count * sizeof *d->edge);
    d->edge_ps[0] = now_ps;
    d->edge_count = 1;
    d->skipped_ps += skipped_ps;
    d->has_thawed = 1;
    d->state = DETECT__WATCHING;
    d->bin_ps = d->plan.bin_ps;
    d->next_sample_ps = now_ps + d->bin_ps;
    detect__paper_reset(d);
}

int64_t detect__rate_bps(const struct detect__edge *from, const struct detect__edge *to)
{
    const int64_t bytes = to->acked_bytes - from->acked_bytes, ps = to->ack_ps - from->ack_ps;
    double bps;

    if (bytes <= 0 || ps <= 0)
        return 0;
    bps = (double)bytes * DETECT__BIT_PS / (double)ps;
    return bps < (double)DETECT__RATE_BPS_MAX ? llrint(bps) : DETECT__RATE_BPS_MAX;
}

int64_t detect__remaining_bytes(const struct detect *d, uint32_t flow)
{
    const struct detect__flow *f = &d->flow[flow];
    const struct detect__edge *edge = detect__edges(d, d->edge_count - 1) + flow;

    return f->remaining_bytes - (edge->acked_bytes - f->acked_bytes) - f->skipped_bytes;
}
