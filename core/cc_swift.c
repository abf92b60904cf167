/*
 * cc_swift.c - Swift (Kumar et al., SIGCOMM 2020), sections 3.1 to 3.5: a window from the RTT.
 *
 * target = base RTT + base target + hops * per hop + flow scaling(cwnd); below it the window grows
 * by ai packets per RTT, above it shrinks at most once per RTT by beta (delay - target) / delay, at
 * most by max_mdf. A window below one packet is paced.
 */
#include "sim_int.h"

#include <math.h>

#define NEVER_DECREASED (INT64_MIN / 2)

struct swift {
    double cwnd; /* packets */
    int64_t last_decrease;
};

static double max_cwnd(const struct sim *s, const struct flow_tx *t)
{
    const struct swift_params *c = &s->cfg.swift;
    const double wire_bits = (s->cfg.payload_bytes + s->data_header_bytes) * 8.0;
    double bdp;

    if (c->max_cwnd > 0)
        return c->max_cwnd;
    /* twice what fills the path at the target delay */
    bdp = (double)(t->base_rtt_ps + c->base_target_ps + c->per_hop_ps * t->hops) * 1e-12 *
          (double)t->max_rate_bps / wire_bits;
    return bdp < 1 ? 2 : 2 * bdp;
}

static double target_ps(const struct part *p, const struct flow_tx *t, double cwnd)
{
    const struct swift_params *c = &p->s->cfg.swift;
    double target = (double)(t->base_rtt_ps + c->base_target_ps + c->per_hop_ps * (int64_t)t->hops);

    if (c->flow_scaling_ps > 0) {
        const double range = (double)c->flow_scaling_ps;
        const double low = 1 / sqrt(c->fs_max_cwnd);
        const double alpha = range / (1 / sqrt(c->fs_min_cwnd) - low);
        const double fs = alpha * (1 / sqrt(cwnd) - low);

        target += fs < 0 ? 0 : fs > range ? range : fs;
    }
    return target;
}

static void apply(struct part *p, uint32_t flow, const struct swift *w, int64_t rtt_ps)
{
    struct flow_tx *t = &p->tx[flow];
    const double mtu = p->s->cfg.payload_bytes;
    int64_t rate = t->max_rate_bps;

    if (w->cwnd < 1) {
        const double wire_bits = (mtu + p->s->data_header_bytes) * 8.0;

        rate = (int64_t)(wire_bits * w->cwnd / ((double)rtt_ps * 1e-12));
        rate = rate < 1 ? 1 : rate > t->max_rate_bps ? t->max_rate_bps : rate;
    }
    if (rate < t->rate_bps)
        p->rate_cuts++;
    t->rate_bps = rate;
    t->win = w->cwnd < 1 ? 1 : (int64_t)(w->cwnd * mtu);
}

static void on_start(struct part *p, uint32_t flow, void *state)
{
    struct swift *w = state;

    w->cwnd = max_cwnd(p->s, &p->tx[flow]) / 2;
    w->last_decrease = NEVER_DECREASED;
    apply(p, flow, w, p->tx[flow].base_rtt_ps);
}

static void on_ack(struct part *p, uint32_t flow, void *state, const struct cc_ack *a)
{
    const struct swift_params *c = &p->s->cfg.swift;
    const struct flow_tx *t = &p->tx[flow];
    struct swift *w = state;
    const double packets = (double)a->acked_bytes / p->s->cfg.payload_bytes;
    const int64_t rtt_ps = a->now - a->sent;
    const double target = target_ps(p, t, w->cwnd);
    const double most = max_cwnd(p->s, t), before = w->cwnd;

    if ((double)rtt_ps < target) {
        w->cwnd += w->cwnd >= 1 ? c->ai_packets / w->cwnd * packets : c->ai_packets * packets;
    } else if (a->now - w->last_decrease >= rtt_ps) {
        const double factor = 1 - c->beta * ((double)rtt_ps - target) / (double)rtt_ps;

        w->cwnd *= factor > 1 - c->max_mdf ? factor : 1 - c->max_mdf;
        w->last_decrease = a->now;
        p->rate_cuts += w->cwnd < before;
    }
    w->cwnd = w->cwnd < c->min_cwnd ? c->min_cwnd : w->cwnd > most ? most : w->cwnd;
    apply(p, flow, w, rtt_ps);
}

static void on_timeout(struct part *p, uint32_t flow, void *state)
{
    struct swift *w = state;
    const double cut = w->cwnd * (1 - p->s->cfg.swift.max_mdf);

    w->cwnd = cut > p->s->cfg.swift.min_cwnd ? cut : p->s->cfg.swift.min_cwnd;
    apply(p, flow, w, p->tx[flow].base_rtt_ps);
}

static int64_t window_limit(const struct sim *s, const struct flow_tx *t)
{
    return (int64_t)ceil(max_cwnd(s, t) * s->cfg.payload_bytes) + 1;
}

static void rebase(void *state, int64_t delta_ps)
{
    struct swift *w = state;

    if (w->last_decrease != NEVER_DECREASED)
        w->last_decrease += delta_ps;
}

/* Where the window does not bind it grows, by ai / cwnd a packet: by the integral of that. */
static void on_skip(struct part *p, uint32_t flow, void *state, int64_t elapsed_ps, int64_t packets)
{
    const struct flow_tx *t = &p->tx[flow];
    const double most = max_cwnd(p->s, t);
    struct swift *w = state;
    double cwnd;

    (void)elapsed_ps;
    if (t->rate_bps < t->max_rate_bps || t->snd_nxt - t->snd_una + p->s->cfg.payload_bytes > t->win)
        return;
    cwnd = sqrt(w->cwnd * w->cwnd + 2 * p->s->cfg.swift.ai_packets * (double)packets);
    w->cwnd = cwnd < most ? cwnd : most;
    apply(p, flow, w, t->base_rtt_ps);
}

const struct cc_ops cc_swift = {.name = "swift",
                                .state_bytes = sizeof(struct swift),
                                .header_bytes = 8,
                                .on_start = on_start,
                                .on_ack = on_ack,
                                .on_timeout = on_timeout,
                                .window_limit = window_limit,
                                .rebase = rebase,
                                .on_skip = on_skip};
