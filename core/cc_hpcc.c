/*
 * cc_hpcc.c - HPCC (Li et al., SIGCOMM 2019), as in the reference (RdmaHw::UpdateRateHp).
 *
 * Per hop the INT of two ACKs gives the utilisation u = dBytes * 8 / dt / B + min(q, q') * line / B
 * / W; U is an EWMA over the base RTT T of the largest. rate = cur / (U / eta) + AI when that is at
 * least 1 or after MI_THRESH additive steps, else cur + AI. The rate follows every ACK, the
 * reference rate `cur` once per RTT.
 */
#include "sim_int.h"
#include "units.h"

struct hop_state {
    double util;
    int64_t rate_bps;
    uint32_t stage;
};

struct hpcc {
    uint64_t hop[INT_HOPS_MAX];
    int64_t last_update;
    int64_t rate_bps; /* cur */
    double util;
    uint32_t stage;
    uint32_t hop_count;                     /* that have been seen */
    struct hop_state per_hop[INT_HOPS_MAX]; /* MULTI_RATE only */
};

/* What one hop reports between two ACKs. */
struct hop_sample {
    int64_t dt_ns, bytes;
    uint64_t queue_bytes, queue_bytes_old;
    double rate_bps;
};

static struct hop_sample compare(const struct part *p, uint64_t now, uint64_t old)
{
    struct hop_sample h;

    h.dt_ns = (int64_t)((now - old) & 0xffffff);
    h.bytes = (int64_t)((((now >> 24) - (old >> 24)) & 0xfffff) * p->s->int_bytes_unit);
    h.queue_bytes = (now >> 44 & 0x1ffff) * p->s->int_queue_unit;
    h.queue_bytes_old = (old >> 44 & 0x1ffff) * p->s->int_queue_unit;
    h.rate_bps = (double)p->s->int_rate_bps[now >> 61];
    return h;
}

static double hop_util(const struct flow_tx *t, const struct hop_sample *h)
{
    const uint64_t queue =
        h->queue_bytes < h->queue_bytes_old ? h->queue_bytes : h->queue_bytes_old;
    const double tx_rate = (double)h->bytes * 8 / ((double)h->dt_ns * 1e-9);

    return tx_rate / h->rate_bps +
           (double)queue * (double)t->max_rate_bps / h->rate_bps / (double)t->win_max;
}

static int64_t clamp(const struct part *p, const struct flow_tx *t, int64_t rate)
{
    if (rate < p->s->cfg.min_rate_bps)
        rate = p->s->cfg.min_rate_bps;
    return rate > t->max_rate_bps ? t->max_rate_bps : rate;
}

/* Equation 4 of the paper with its stages; returns the new rate, *stage the new stage. */
static int64_t react(const struct part *p, const struct flow_tx *t, int64_t cur, double util,
                     uint32_t *stage)
{
    const struct hpcc_params *c = &p->s->cfg.hpcc;
    const double ratio = util / c->target_util;

    if (ratio >= 1 || *stage >= c->mi_thresh) {
        *stage = 0;
        return clamp(p, t, (int64_t)((double)cur / ratio) + c->ai_bps);
    }
    ++*stage;
    return clamp(p, t, cur + c->ai_bps);
}

static double ewma(double old, double sample, double tau_ns, double t_ns)
{
    return (old * (t_ns - tau_ns) + sample * tau_ns) / t_ns;
}

/* MULTI_RATE 1: a rate per hop, the smallest counts. Returns 0 if no hop was updated. */
static int64_t react_per_hop(struct part *p, const struct flow_tx *t, struct hpcc *h,
                             const struct cc_ack *a, int fast)
{
    const double t_ns = (double)(t->base_rtt_ps / PS_PER_NS);
    int64_t rate = t->max_rate_bps;
    int updated = 0;

    for (uint32_t i = 0; i < a->hop_count; i++) {
        struct hop_state *s = &h->per_hop[i];
        const struct hop_sample m = compare(p, a->hops[i], h->hop[i]);
        uint32_t stage = s->stage;
        int64_t hop_rate = s->rate_bps;

        if (m.dt_ns && !(p->s->cfg.hpcc.sample_feedback && fast && !m.queue_bytes)) {
            const double tau = (double)m.dt_ns < t_ns ? (double)m.dt_ns : t_ns;

            s->util = ewma(s->util, hop_util(t, &m), tau, t_ns);
            h->hop[i] = a->hops[i];
            hop_rate = react(p, t, s->rate_bps, s->util, &stage);
            updated = 1;
            if (!fast) {
                s->rate_bps = hop_rate;
                s->stage = stage;
            }
        }
        rate = hop_rate < rate ? hop_rate : rate;
    }
    return updated ? rate : 0;
}

/* One rate: the most utilised hop counts. Returns 0 if no hop was updated. */
static int64_t react_single(struct part *p, const struct flow_tx *t, struct hpcc *h,
                            const struct cc_ack *a, int fast, uint32_t *stage)
{
    const double t_ns = (double)(t->base_rtt_ps / PS_PER_NS);
    double most = 0, tau = 0;
    int updated = 0;

    for (uint32_t i = 0; i < a->hop_count; i++) {
        const struct hop_sample m = compare(p, a->hops[i], h->hop[i]);
        double u;

        if (!m.dt_ns || (p->s->cfg.hpcc.sample_feedback && fast && !m.queue_bytes))
            continue;
        updated = 1;
        u = hop_util(t, &m);
        if (u > most) {
            most = u;
            tau = (double)m.dt_ns;
        }
        h->hop[i] = a->hops[i];
    }
    if (!updated)
        return 0;
    h->util = ewma(h->util, most, tau < t_ns ? tau : t_ns, t_ns);
    return react(p, t, h->rate_bps, h->util, stage);
}

static void on_start(struct part *p, uint32_t flow, void *state)
{
    struct hpcc *h = state;

    h->rate_bps = p->tx[flow].max_rate_bps;
    h->util = 1;
    for (uint32_t i = 0; i < INT_HOPS_MAX; i++)
        h->per_hop[i] = (struct hop_state){1, h->rate_bps, 0};
}

static void on_ack(struct part *p, uint32_t flow, void *state, const struct cc_ack *a)
{
    const struct sim_config *c = &p->s->cfg;
    const struct flow_tx *t = &p->tx[flow];
    struct hpcc *h = state;
    const int fast = a->seq <= h->last_update;
    uint32_t stage = h->stage;
    int64_t rate;

    if (fast && !c->hpcc.fast_react)
        return;
    if (h->last_update == 0) {
        h->last_update = t->snd_nxt;
        h->hop_count = a->hop_count;
        for (uint32_t i = 0; i < a->hop_count; i++)
            h->hop[i] = a->hops[i];
        return;
    }
    rate = c->hpcc.multi_rate ? react_per_hop(p, t, h, a, fast)
                              : react_single(p, t, h, a, fast, &stage);
    if (rate)
        sender_retime_rate(p, flow, rate);
    if (fast)
        return;
    if (rate) {
        h->rate_bps = rate;
        h->stage = stage;
    }
    if (t->snd_nxt > h->last_update)
        h->last_update = t->snd_nxt;
}

static void rebase(void *state, int64_t delta_ps)
{
    struct hpcc *h = state;

    for (uint32_t i = 0; i < h->hop_count; i++)
        h->hop[i] = int_rebase(h->hop[i], delta_ps);
}

/* Before the first report the rate cannot move. */
static void coarse(const struct flow_tx *t, const void *state, uint16_t *out)
{
    const struct hpcc *h = state;

    (void)t;
    out[0] = h->last_update != 0;
}

const struct cc_ops cc_hpcc = {.name = "hpcc",
                               .state_bytes = sizeof(struct hpcc),
                               .header_bytes = 42,
                               .needs_int = 1,
                               .on_start = on_start,
                               .on_ack = on_ack,
                               .rebase = rebase,
                               .coarse = coarse};
