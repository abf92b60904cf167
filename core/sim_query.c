/*
 * sim_query.c - results, counters and state for observers. See sim.h.
 */
#include "sim_int.h"
#include "units.h"

#include <string.h>

uint32_t sim_flow_count(const struct sim *s)
{
    return s->flow_count;
}

const struct flow_spec *sim_flow_spec(const struct sim *s, uint32_t flow_id)
{
    return &s->spec[flow_id];
}

const struct flow_result *sim_flow_result(const struct sim *s, uint32_t flow_id)
{
    struct flow_result *r = &s->result[flow_id];

    if (r->state == FLOW_ACTIVE) {
        r->acked_bytes = s->tx[flow_id].base + s->tx[flow_id].snd_una;
        r->retx_bytes = s->tx[flow_id].retx_bytes;
    }
    return r;
}

const uint32_t *sim_completions(const struct sim *s, uint32_t *count)
{
    *count = s->flow_done;
    return s->done;
}

void sim_port_stats(const struct sim *s, uint32_t port, struct port_stats *out)
{
    const struct port *pt = &s->port[port];
    const struct port_cold *c = &s->cold[port];
    const int64_t now = s->now - part_of_port(s, port)->offset;

    *out = (struct port_stats){.tx_bytes = pt->tx_total_bytes,
                               .tx_packets = pt->tx_packets,
                               .marks = pt->marks,
                               .queue_max_bytes = pt->q_max};
    out->drops = c->drops;
    out->losses = c->losses;
    out->pauses_received = c->pauses;
    out->paused_ps = c->paused_ps;
    for (uint32_t k = 0; k < s->class_count; k++)
        if ((pt->paused & (1u << k)) && now > c->paused_since[k])
            out->paused_ps += now - c->paused_since[k];
}

static void add_counters(const struct part *p, struct sim_counters *out)
{
    out->events += p->events;
    out->packet_hops += p->packet_hops + p->replayed_hops;
    out->data_packets += p->data_packets;
    out->ack_packets += p->ack_packets;
    out->nack_packets += p->nack_packets;
    out->cnp_echoes += p->cnp_echoes;
    out->pfc_frames += p->pfc_frames;
    out->drops += p->drops;
    out->losses += p->losses;
    out->marks += p->marks;
    out->pauses += p->pauses;
    out->rate_cuts += p->rate_cuts;
    out->timeouts += p->timeouts;
    out->retx_packets += p->retx_packets;
}

void sim_counters(const struct sim *s, struct sim_counters *out)
{
    uint32_t q_max = 0;

    for (uint32_t i = 0; i < s->topo->port_count; i++)
        q_max = s->port[i].q_max > q_max ? s->port[i].q_max : q_max;
    *out = (struct sim_counters){
        .flows_finished = s->flow_done,
        .flows_active = s->flow_active,
        .flows_stalled = s->flow_stalled,
        .flows_nopath = s->flow_nopath,
        .queue_max_bytes = q_max,
        .max_base_rtt_ps = s->max_base_rtt_ps,
        .max_bdp_bytes = s->max_bdp_bytes,
        .end_ps = s->flow_done == s->flow_count ? s->last_done : s->now,
    };
    for (uint32_t i = 0; i < s->part_count; i++)
        add_counters(s->parts[i], out);
    out->flows_waiting =
        s->flow_count - s->flow_done - s->flow_active - s->flow_stalled - s->flow_nopath;
}

void sim_add_pool_stats(const struct pool *pool, struct sim_engine_stats *sum)
{
    struct stats_worker_view all = {0}, one;
    struct stats_team_view team;

    for (uint32_t i = 0; i < pool_worker_count(pool); i++) {
        pool_worker_stats(pool, i, &one);
        stats_worker_sum(&all, &one);
    }
    pool_team_stats(pool, &team);
    sum->shared_rounds += team.rounds - team.sequential_rounds;
    sum->steals += all.steals;
    sum->sleeps += all.sleeps;
    sum->busy_ns += all.busy_ns;
    sum->idle_ns += all.idle_ns;
    sum->barrier_ns += all.barrier_ns;
    sum->serial_ns += team.serial_ns;
}

void sim_engine_stats(const struct sim *s, struct sim_engine_stats *out)
{
    *out = s->ended;
    out->kind = s->is_serial ? ENGINE_SERIAL : ENGINE_PARTITIONED;
    out->threads = s->worker_count ? s->worker_count : 1;
    out->rounds = s->rounds;
    out->tasks = s->part_tasks;
    out->joins = s->joins;
    out->splits = s->splits;
    out->scatters = s->scatters;
    out->shard_windows = s->shard_windows;
    out->shards = s->scatters ? s->shard_map.count : 0;
    out->parts_alive = s->run_count;
    out->parts_alive_max = s->parts_alive_max;
    out->parts_ever = s->part_count - 1;
    if (s->pool)
        sim_add_pool_stats(s->pool, out);
}

static void add_skips(const struct part *p, struct sim_skip_stats *out)
{
    out->skips += p->skips_ever;
    out->skipped_packets += p->skipped_packets;
    out->skipped_hops += p->skipped_hops;
    out->skipped_flow_s += p->skipped_flow_s;
    out->transient += p->class_events[CLASS_TRANSIENT];
    out->observed += p->class_events[CLASS_OBSERVED];
    out->ending += p->class_events[CLASS_ENDING];
    out->never_steady += p->class_events[CLASS_NEVER_STEADY];
    out->unwatched += p->class_events[CLASS_UNWATCHED];
    for (uint32_t i = 0; i < WATCH_REASON_MAX; i++)
        out->why[i] += p->why_events[i];
}

void sim_skip_stats(const struct sim *s, struct sim_skip_stats *out)
{
    *out = (struct sim_skip_stats){0};
    if (!s->watch.create)
        return;
    for (uint32_t i = 0; i < s->part_count; i++)
        add_skips(s->parts[i], out);
    out->flow_s = s->done_flow_s;
}

void sim_memo_stats(const struct sim *s, struct sim_memo_stats *out)
{
    *out = (struct sim_memo_stats){.lookups = s->memo_lookups,
                                   .hits = s->memo_hits,
                                   .coalesced = s->memo_coalesced,
                                   .declined = s->memo_declined,
                                   .disturbed = s->memo_disturbed};
    memcpy(out->kind, s->memo_kind, sizeof out->kind);
    memcpy(out->missed, s->memo_missed, sizeof out->missed);
    for (uint32_t i = 0; i < s->part_count; i++)
        out->replayed_hops += s->parts[i]->replayed_hops;
}

uint64_t sim_flow_held_events(const struct sim *s, uint32_t flow_id)
{
    return s->tx[flow_id].held_events;
}

uint64_t sim_port_held_events(const struct sim *s, uint32_t port)
{
    return s->cold[port].held_events;
}

const struct topo *sim_topo(const struct sim *s)
{
    return s->topo;
}

const struct sim_config *sim_config(const struct sim *s)
{
    return &s->cfg;
}

uint32_t sim_flow_path(const struct sim *s, uint32_t flow_id, int is_ack, uint32_t *ports,
                       uint32_t cap)
{
    const struct flow_tx *t = &s->tx[flow_id];
    const uint32_t row = is_ack ? t->ack_path : t->path;
    uint32_t count = 0;

    if (!t->path_count)
        return 0;
    while (s->path[row + count] != PATH_END) {
        if (count < cap)
            ports[count] = s->path[row + count];
        count++;
    }
    return count;
}

uint32_t sim_port_queue_bytes(const struct sim *s, uint32_t port)
{
    return s->port[port].q_bytes;
}

int sim_flow_view(const struct sim *s, uint32_t flow_id, struct flow_view *out)
{
    const struct flow_tx *t = &s->tx[flow_id];

    *out = (struct flow_view){t->rate_bps, t->base + t->snd_nxt, t->base + t->snd_una, t->cnps};
    return t->active;
}
