/*
 * api_query.c - counters, results, paths; see wormhole.h, section 5.
 */
#include "api_int.h"

#include "units.h"

#define PATH_LINKS_MAX 256

/* bytes * 8 * 10^12 does not fit in 64 bits. */
__extension__ typedef __int128 wide_int;

void wh_get_counters(const struct wh_sim *s, struct wh_counters *out)
{
    struct sim_counters c;

    *out = (struct wh_counters){.now_ps = 0};
    if (!s->sim)
        return;
    sim_counters(s->sim, &c);
    *out = (struct wh_counters){.now_ps = sim_now_ps(s->sim),
                                .events = c.events,
                                .packet_hops = c.packet_hops,
                                .data_packets = c.data_packets,
                                .ack_packets = c.ack_packets,
                                .nack_packets = c.nack_packets,
                                .cnp_echoes = c.cnp_echoes,
                                .pfc_frames = c.pfc_frames,
                                .drops = c.drops,
                                .losses = c.losses,
                                .marks = c.marks,
                                .pauses = c.pauses,
                                .rate_cuts = c.rate_cuts,
                                .timeouts = c.timeouts,
                                .retx_packets = c.retx_packets,
                                .flows = sim_flow_count(s->sim),
                                .flows_finished = c.flows_finished,
                                .queue_max_bytes = c.queue_max_bytes};
}

void wh_get_savings(const struct wh_sim *s, struct wh_savings *out)
{
    struct sim_skip_stats skip;
    struct sim_memo_stats memo;

    *out = (struct wh_savings){.skips = 0};
    if (!s->sim)
        return;
    sim_skip_stats(s->sim, &skip);
    sim_memo_stats(s->sim, &memo);
    *out = (struct wh_savings){.skips = skip.skips,
                               .skipped_packets = skip.skipped_packets,
                               .skipped_hops = skip.skipped_hops,
                               .memo_lookups = memo.lookups,
                               .memo_hits = memo.hits + memo.coalesced,
                               .replayed_hops = memo.replayed_hops};
}

void wh_get_audit(const struct wh_sim *s, struct wh_audit *out)
{
    struct sim_audit_stats a;

    *out = (struct wh_audit){.skips = 0};
    if (!s->sim || !(s->accel_spec.audit_share > 0))
        return;
    sim_audit_stats(s->sim, &a);
    *out = (struct wh_audit){.skips = a.skips,
                             .skips_audited = a.audited,
                             .hits = a.fcg.hits,
                             .hits_audited = a.fcg.audited,
                             .events = a.events,
                             .has_estimate = a.has_estimate,
                             .has_bounds = a.has_bounds,
                             .error = a.error,
                             .low = a.low,
                             .high = a.high,
                             .memo_error = a.fcg.error,
                             .memo_low = a.fcg.low,
                             .memo_high = a.fcg.high};
}

/* Ports of the shortest path; their number, or a negative status. */
static int find_path(struct wh_sim *s, uint32_t src, uint32_t dst, uint32_t *ports)
{
    const struct route_key key = {0};
    const struct topo *t;
    int rc = api__need_sim(s);

    if (rc)
        return rc;
    t = sim_topo(s->sim);
    if (src >= t->node_count || dst >= t->node_count || src == dst || t->kind[src] != NODE_HOST ||
        t->kind[dst] != NODE_HOST)
        return api__refuse(s, WH_STATUS_INPUT,
                           "found a path from %u to %u, expected two different "
                           "hosts",
                           src, dst);
    if (!s->route)
        rc = route_create(&s->route, t, sim_config(s->sim)->hosts_forward);
    if (rc)
        return api__fail(s, rc, NULL);
    rc = route_path(s->route, src, dst, &key, 0, ports, PATH_LINKS_MAX);
    if (rc == 0)
        return api__refuse(s, WH_STATUS_NOPATH, "found no path from host %u to host %u", src, dst);
    return rc < 0 ? api__fail(s, rc, NULL) : rc;
}

int wh_get_path(struct wh_sim *s, uint32_t src, uint32_t dst, struct wh_path *out)
{
    uint32_t ports[PATH_LINKS_MAX];
    const int links = find_path(s, src, dst, ports);
    struct wh_path p = {.rate_bps = INT64_MAX};

    if (links < 0)
        return links;
    p.links = (uint32_t)links;
    for (uint32_t i = 0; i < p.links; i++) {
        const struct link_class *c = topo_port_class(sim_topo(s->sim), ports[i]);
        const struct sim_config *cfg = sim_config(s->sim);

        if (c->rate_bps < p.rate_bps)
            p.rate_bps = c->rate_bps;
        p.propagation_ps += c->delay_ps;
        p.base_rtt_ps +=
            2 * c->delay_ps + units_tx_ps(cfg->payload_bytes, c->rate_bps, cfg->round_ps);
    }
    *out = p;
    return 0;
}

int wh_get_ideal_ps(struct wh_sim *s, uint32_t src, uint32_t dst, int64_t bytes, int64_t *out_ps)
{
    struct wh_path p;
    const int rc = wh_get_path(s, src, dst, &p);
    const struct sim_config *cfg;
    wide_int total, ps;

    if (rc)
        return rc;
    if (bytes < 0)
        return api__refuse(s, WH_STATUS_INPUT, "found a message of %lld B, expected 0 or more",
                           (long long)bytes);
    cfg = sim_config(s->sim);
    total =
        bytes + ((wide_int)bytes + cfg->payload_bytes - 1) / cfg->payload_bytes * cfg->header_bytes;
    ps = total * 8 * PS_PER_S / p.rate_bps;
    ps -= ps % cfg->round_ps;
    if (ps > INT64_MAX - p.base_rtt_ps)
        return api__refuse(s, WH_STATUS_LIMIT,
                           "found a message of %lld B, expected one that ends "
                           "within 64 bits of ps",
                           (long long)bytes);
    *out_ps = p.base_rtt_ps + (int64_t)ps;
    return 0;
}

uint32_t wh_flow_count(const struct wh_sim *s)
{
    return s->sim ? sim_flow_count(s->sim) : s->sc.flow_count;
}

int wh_get_flow(const struct wh_sim *s, uint32_t flow_id, struct wh_flow_result *out)
{
    const struct flow_spec *f;
    const struct flow_result *r;

    if (!s->sim || flow_id >= sim_flow_count(s->sim))
        return WH_STATUS_INPUT;
    f = sim_flow_spec(s->sim, flow_id);
    r = sim_flow_result(s->sim, flow_id);
    *out = (struct wh_flow_result){.start_ps = r->start_ps,
                                   .end_ps = r->end_ps,
                                   .ideal_ps = r->ideal_ps,
                                   .bytes = f->bytes,
                                   .acked_bytes = r->acked_bytes,
                                   .retx_bytes = r->retx_bytes,
                                   .src = f->src,
                                   .dst = f->dst,
                                   .links = r->hops,
                                   .sport = r->sport,
                                   .dport = f->dport,
                                   .state = (enum wh_flow_state)r->state};
    return 0;
}

static const struct topo *current_topo(const struct wh_sim *s)
{
    return s->sim ? sim_topo(s->sim) : s->sc.topo;
}

uint32_t wh_node_count(const struct wh_sim *s)
{
    return current_topo(s) ? current_topo(s)->node_count : s->build.node_count;
}

uint32_t wh_host_count(const struct wh_sim *s)
{
    uint32_t count = 0;

    if (current_topo(s))
        return current_topo(s)->host_count;
    for (uint32_t n = 0; n < s->build.node_count; n++)
        count += s->build.kind[n] == NODE_HOST;
    return count;
}
