/*
 * sim_build.c - from a graph and a configuration to the rows of sim_int.h.
 */
#include "look.h"
#include "scratch.h"
#include "sim_int.h"
#include "units.h"

#include <stdlib.h>
#include <string.h>

/* Address space, not memory: rows cost nothing until they are used. */
#define FLOW_ROWS_MAX (UINT32_C(1) << 26)
#define PKT_ROWS_MAX (UINT32_C(1) << 27)
#define PATH_ROWS_MAX (UINT32_C(1) << 30)
#define PAIR_WORK_MAX INT64_C(400000000) /* port visits spent on the largest base RTT */

static const struct ecn_row *nearest_ecn(const struct sim_config *c, int64_t rate_bps)
{
    const struct ecn_row *best = NULL;
    double best_ratio = 0;

    for (uint32_t i = 0; i < c->ecn_row_count; i++) {
        const double a = (double)c->ecn_rows[i].rate_bps, b = (double)rate_bps;
        const double ratio = a > b ? a / b : b / a;

        if (!best || ratio < best_ratio) {
            best = &c->ecn_rows[i];
            best_ratio = ratio;
        }
    }
    return best;
}

static int set_ecn(const struct sim_config *c, struct port_kind *k, struct err_info *e)
{
    const struct ecn_row *r = nearest_ecn(c, k->rate_bps);
    char rate[32];
    double scale;

    k->kmin_bytes = k->kmax_bytes = INT64_MAX;
    if (!c->ecn)
        return 0;
    if (!r || (c->ecn_strict && r->rate_bps != k->rate_bps))
        return err_set(
            e, WH_ERR_INPUT, NULL, 0,
            "found switch ports of %s without ECN thresholds, expected a row for that rate",
            units_format_rate(k->rate_bps, rate, sizeof rate));
    scale = (double)k->rate_bps / (double)r->rate_bps;
    k->kmin_bytes = (int64_t)((double)r->kmin_bytes * scale);
    k->kmax_bytes = (int64_t)((double)r->kmax_bytes * scale);
    k->pmax = r->pmax;
    return 0;
}

static int set_int_code(struct sim *s, struct port_kind *k, struct err_info *e)
{
    for (uint32_t i = 0; i < s->int_rate_count; i++)
        if (s->int_rate_bps[i] == k->rate_bps) {
            k->int_code = i;
            return 0;
        }
    if (s->int_rate_count == 8)
        return err_set(e, WH_ERR_INPUT, NULL, 0,
                       "found more than 8 different link rates, expected at most 8 with INT");
    s->int_rate_bps[s->int_rate_count] = k->rate_bps;
    k->int_code = s->int_rate_count++;
    return 0;
}

/* The dynamic threshold of a fast port is a larger share: reference, set-up of SwitchMmu. */
static uint32_t pfc_shift(const struct sim *s, int64_t rate_bps, int64_t nic_bps)
{
    uint32_t shift = s->cfg.pfc_alpha_shift;

    while (rate_bps > nic_bps && shift > 0) {
        shift--;
        rate_bps /= 2;
    }
    return shift;
}

static int64_t first_nic_rate(const struct topo *t)
{
    for (uint32_t n = 0; n < t->node_count; n++)
        if (t->kind[n] == NODE_HOST && t->first_port[n] < t->first_port[n + 1])
            return topo_port_class(t, t->first_port[n])->rate_bps;
    return INT64_MAX;
}

static int build_kind(struct sim *s, struct port_kind *k, const struct link_class *c, int is_host,
                      int is_used, struct err_info *e)
{
    const uint32_t frames = s->frame_bytes_max + s->ack_wire_bytes; /* with a charge */
    int rc = 0;

    k->rate_bps = c->rate_bps;
    k->delay_ps = c->delay_ps;
    k->error_rate = c->error_rate;
    s->any_loss |= c->error_rate > 0;
    k->pfc_shift = pfc_shift(s, c->rate_bps, first_nic_rate(s->topo));
    k->headroom_bytes = mmu_headroom(s, k);
    k->tx_ps = malloc((frames + 1) * sizeof *k->tx_ps);
    if (!k->tx_ps)
        return WH_ERR_NOMEM;
    for (uint32_t b = 0; b <= frames; b++)
        k->tx_ps[b] = units_tx_ps(b, c->rate_bps, s->cfg.round_ps);
    if (is_used && !is_host)
        rc = set_ecn(&s->cfg, k, e);
    if (!rc && is_used && !is_host && s->cc->needs_int)
        rc = set_int_code(s, k, e);
    return rc;
}

/* Rows 2 class (hosts) and 2 class + 1 (switches). */
static int build_kinds(struct sim *s, struct err_info *e)
{
    const struct topo *t = s->topo;
    uint8_t *used = calloc(2 * t->class_count + 1, 1);
    int rc = 0;

    s->kind_count = 2 * t->class_count;
    s->kind = calloc(s->kind_count + 1, sizeof *s->kind);
    if (!used || !s->kind) {
        free(used);
        return WH_ERR_NOMEM;
    }
    for (uint32_t p = 0; p < t->port_count; p++)
        used[2 * t->link[t->port_link[p]].class_id + (t->kind[t->port_node[p]] != NODE_HOST)] = 1;
    for (uint32_t k = 0; k < s->kind_count && !rc; k++)
        rc = build_kind(s, &s->kind[k], &t->classes[k / 2], k % 2 == 0, used[k], e);
    free(used);
    return rc;
}

static void build_node(struct sim *s, uint32_t node)
{
    const struct topo *t = s->topo;
    const int is_host = t->kind[node] == NODE_HOST;
    const uint32_t end = t->first_port[node + 1];

    for (uint32_t p = t->first_port[node]; p < end; p++) {
        struct port *pt = &s->port[p];

        pt->peer = t->port_peer[p];
        pt->kind = 2 * t->link[t->port_link[p]].class_id + (is_host ? 0 : 1);
        if (is_host) {
            pt->flags = PORT_HOST;
            pt->owner = s->nic_count;
            s->nic[s->nic_count].port = p;
            s->nic[s->nic_count].timer_time = TIME_NEVER;
            s->nic[s->nic_count++].rate_bps = s->kind[pt->kind].rate_bps;
        } else {
            pt->owner = s->swtch_count;
        }
    }
    if (!is_host)
        s->swtch[s->swtch_count++] = (struct swtch){.node = node,
                                                    .first_port = t->first_port[node],
                                                    .port_count = end - t->first_port[node]};
}

static int build_rows(struct sim *s)
{
    const struct topo *t = s->topo;
    uint32_t host_ports = 0;

    for (uint32_t n = 0; n < t->node_count; n++)
        if (t->kind[n] == NODE_HOST)
            host_ports += t->first_port[n + 1] - t->first_port[n];
    s->port = arena_reserve((t->port_count + 1) * sizeof *s->port);
    s->nic = arena_reserve((host_ports + 1) * sizeof *s->nic);
    s->swtch = calloc(t->node_count - t->host_count + 1, sizeof *s->swtch);
    s->cold = arena_reserve((t->port_count + 1) * sizeof *s->cold);
    if (!s->port || !s->nic || !s->swtch || !s->cold)
        return WH_ERR_NOMEM;
    for (uint32_t n = 0; n < t->node_count; n++)
        build_node(s, n);
    return 0;
}

static int reserve_rows(struct sim *s)
{
    s->flow_cap = FLOW_ROWS_MAX;
    s->pkt_cap = PKT_ROWS_MAX;
    s->path_cap = PATH_ROWS_MAX;
    s->spec = arena_reserve(s->flow_cap * sizeof *s->spec);
    s->result = arena_reserve(s->flow_cap * sizeof *s->result);
    s->tx = arena_reserve(s->flow_cap * sizeof *s->tx);
    s->rx = arena_reserve(s->flow_cap * sizeof *s->rx);
    s->done = arena_reserve(s->flow_cap * sizeof *s->done);
    s->gone = arena_reserve(s->flow_cap / FLOW_STRETCH * sizeof *s->gone);
    s->cc_stride = (s->cc->state_bytes + CACHE_LINE) / CACHE_LINE * CACHE_LINE;
    s->cc_state = arena_reserve(s->flow_cap * s->cc_stride);
    s->pkt = arena_reserve(s->pkt_cap * sizeof *s->pkt);
    s->path = arena_reserve(s->path_cap * sizeof *s->path);
    if (s->cc->needs_int)
        s->int_rec = arena_reserve(s->pkt_cap * sizeof *s->int_rec);
    if (!s->spec || !s->result || !s->tx || !s->rx || !s->done || !s->gone || !s->cc_state ||
        !s->pkt || !s->path || (s->cc->needs_int && !s->int_rec))
        return WH_ERR_NOMEM;
    return 0;
}

static void find_spans(struct sim *s)
{
    s->least_delay_ps = s->kind_count ? TIME_NEVER : 0;
    for (uint32_t k = 0; k < s->kind_count; k++) {
        const int64_t delay = s->kind[k].delay_ps;
        const int64_t hop = delay + s->kind[k].tx_ps[s->frame_bytes_max];

        s->longest_hop_ps = hop > s->longest_hop_ps ? hop : s->longest_hop_ps;
        s->least_delay_ps = delay < s->least_delay_ps ? delay : s->least_delay_ps;
    }
}

static int build_base_rtt(struct sim *s)
{
    const struct topo *t = s->topo;
    const int64_t work = (int64_t)t->port_count + t->node_count;
    int64_t sources = PAIR_WORK_MAX / (work + 1) + 1;

    if (sources < t->host_count && s->cfg.window_global && s->cfg.has_window)
        warn(&s->sink, "largest base RTT taken from %lld of %u hosts as sources",
             (long long)sources, t->host_count);
    if (sources > t->host_count)
        sources = t->host_count ? t->host_count : 1;
    return route_max_pairs(t, s->cfg.payload_bytes, s->cfg.round_ps, s->cfg.hosts_forward,
                           (uint32_t)sources, &s->max_base_rtt_ps, &s->max_bdp_bytes);
}

static uint32_t max_u32(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

int sim_build(struct sim *s, struct err_info *e)
{
    const struct sim_config *c = &s->cfg;
    uint32_t cc_bytes;
    int rc;

    s->cc = cc_by_kind((int)c->cc);
    cc_bytes = s->cc->needs_int ? 2 + 8 * c->int_hops_max : s->cc->header_bytes;
    s->data_header_bytes = c->header_bytes + cc_bytes;
    /* an ACK is 14 + 20 + 12 B and the echoed field, padded to the smallest frame */
    s->ack_wire_bytes = max_u32(c->ack_bytes, 46 + cc_bytes);
    s->frame_bytes_max =
        max_u32(c->payload_bytes + s->data_header_bytes, max_u32(s->ack_wire_bytes, c->pfc_bytes));
    s->int_bytes_unit = 128 * c->int_multi;
    s->int_queue_unit = 80 * c->int_multi;
    rc = build_kinds(s, e);
    if (!rc)
        rc = build_rows(s);
    if (!rc)
        rc = reserve_rows(s);
    if (!rc)
        rc = build_base_rtt(s);
    if (!rc)
        rc = route_create(&s->route, s->topo, c->hosts_forward);
    if (rc)
        return rc;
    mmu_init(s);
    find_spans(s);
    s->engine = (struct sim_engine){ENGINE_PARTITIONED, 1, 0};
    part_init(s, &s->part);
    rc = round_grow(s);
    if (rc)
        return rc;
    s->parts[s->part_count++] = &s->part;
    return 0;
}

/* Traffic classes: 0 for control, one for each priority in use, in their order. */
int sim_build_classes(struct sim *s)
{
    uint32_t used = 0;
    const uint32_t ports = s->topo->port_count;

    for (uint32_t f = 0; f < s->flow_count; f++)
        used |= 1u << s->spec[f].prio;
    if (!(used & ~1u))
        used |= 1u << 3;
    s->class_count = 1;
    for (uint32_t prio = 1; prio < CONFIG_PRIO_COUNT; prio++) {
        if (!(used & (1u << prio)))
            continue;
        s->class_of_prio[prio] = (uint8_t)s->class_count;
        s->prio_of_class[s->class_count++] = (uint8_t)prio;
    }
    s->ingress = arena_reserve((size_t)(ports + 1) * s->class_count * sizeof *s->ingress);
    if (s->class_count > 2)
        s->extra_q = arena_reserve((size_t)(ports + 1) * (s->class_count - 2) * sizeof *s->extra_q);
    return s->ingress && (s->class_count == 2 || s->extra_q) ? 0 : WH_ERR_NOMEM;
}

void sim_unbuild(struct sim *s)
{
    const size_t ports = s->topo ? (size_t)s->topo->port_count + 1 : 0;

    for (uint32_t k = 0; s->kind && k < s->kind_count; k++)
        free(s->kind[k].tx_ps);
    for (uint32_t i = 0; i < s->nic_count; i++)
        free(s->nic[i].flow);
    for (uint32_t f = 0; s->tx && f < s->flow_count; f++)
        if (s->tx[f].irn)
            irn_close(s, f);
    arena_release(s->port, ports * sizeof *s->port);
    arena_release(s->cold, ports * sizeof *s->cold);
    arena_release(s->in_load, ports * sizeof *s->in_load);
    arena_release(s->mark, ports * sizeof *s->mark);
    arena_release(s->port_list, ports * sizeof *s->port_list);
    arena_release(s->ingress, ports * s->class_count * sizeof *s->ingress);
    arena_release(s->extra_q, ports * (s->class_count - 2) * sizeof *s->extra_q);
    arena_release(s->spec, s->flow_cap * sizeof *s->spec);
    arena_release(s->result, s->flow_cap * sizeof *s->result);
    arena_release(s->tx, s->flow_cap * sizeof *s->tx);
    arena_release(s->rx, s->flow_cap * sizeof *s->rx);
    arena_release(s->done, s->flow_cap * sizeof *s->done);
    arena_release(s->gone, s->flow_cap / FLOW_STRETCH * sizeof *s->gone);
    if (s->cc)
        arena_release(s->cc_state, s->flow_cap * s->cc_stride);
    arena_release(s->pkt, s->pkt_cap * sizeof *s->pkt);
    arena_release(s->int_rec, s->pkt_cap * sizeof *s->int_rec);
    arena_release(s->path, s->path_cap * sizeof *s->path);
    for (uint32_t i = 1; i < s->part_count; i++) {
        part_fini(s->parts[i]);
        free(s->parts[i]);
    }
    part_fini(&s->part);
    shard_map_fini(&s->shard_map);
    life_fini(s);
    ack_charge_fini(s);
    route_destroy(s->route);
    free(s->parts);
    free(s->part_free);
    free(s->run);
    sleep_fini(s);
    free(s->touched);
    free(s->tasks);
    free(s->notes);
    free(s->fixed);
    free(s->pkt_range);
    free(s->fresh);
    free(s->leader);
    free(s->memo_seen);
    bytes_fini(&s->memo_key);
    scratch_destroy(s->scratch, s->worker_count, ports ? (uint32_t)ports - 1 : 0);
    stage_links_fini(s);
    look_fini(s);
    bytes_fini(&s->memo_value);
    free(s->kind);
    arena_release(s->nic, (s->nic_count + 1) * sizeof *s->nic);
    free(s->swtch);
    free(s->straggle);
    free(s->straggle_ps);
    free(s->given);
    free(s->given_nodes);
    free(s->pairs);
    free(s->known);
    free(s->control);
    agenda_fini(&s->controls);
}
