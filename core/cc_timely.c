/*
 * cc_timely.c - TIMELY (Mittal et al., SIGCOMM 2015), as in the reference
 * (RdmaHw::UpdateRateTimely).
 *
 * Acts once per RTT. Below Tlow: up. Above Thigh: rate *= 1 - beta (1 - Thigh / rtt). Between them
 * by the gradient of the RTT over the normaliser: up if it is not positive, else rate *= 1 - beta
 * grad. Times enter as nanoseconds, the reference's unit.
 */
#include "lens.h"
#include "sim_int.h"

#define HYPER_STAGE 5u /* consecutive increases before the larger step, reference value */

struct timely {
    int64_t last_update;
    int64_t last_rtt_ps, rate_bps;
    double diff_ns;
    uint32_t stage;
};

static void on_start(struct part *p, uint32_t flow, void *state)
{
    struct timely *y = state;

    y->rate_bps = p->tx[flow].max_rate_bps;
}

static int64_t decreased(const struct sim_config *c, int64_t rate_bps, double factor)
{
    const int64_t rate = (int64_t)((double)rate_bps * factor);

    return rate > c->min_rate_bps ? rate : c->min_rate_bps;
}

static void update(struct part *p, uint32_t flow, struct timely *y, int64_t rtt_ps)
{
    const struct timely_params *c = &p->s->cfg.timely;
    const double new_diff_ns = (double)(rtt_ps - y->last_rtt_ps) / 1000.0;
    const double diff_ns = (1 - c->alpha) * y->diff_ns + c->alpha * new_diff_ns;
    const double gradient = diff_ns / ((double)c->min_rtt_ps / 1000.0);
    int64_t rate;

    if (rtt_ps < c->tlow_ps || (rtt_ps <= c->thigh_ps && gradient <= 0)) {
        rate = y->rate_bps + (y->stage < HYPER_STAGE ? c->ai_bps : c->hai_bps);
        if (rate > p->tx[flow].max_rate_bps)
            rate = p->tx[flow].max_rate_bps;
        y->stage++;
    } else {
        double factor = 1 - c->beta * gradient;

        if (rtt_ps > c->thigh_ps)
            factor = 1 - c->beta * (1 - (double)c->thigh_ps / (double)rtt_ps);
        rate = decreased(&p->s->cfg, y->rate_bps, factor < 0 ? 0 : factor);
        y->stage = 0;
    }
    y->rate_bps = rate;
    y->diff_ns = diff_ns;
    sender_set_rate(p, flow, rate);
}

static void on_ack(struct part *p, uint32_t flow, void *state, const struct cc_ack *a)
{
    struct timely *y = state;
    const int64_t rtt_ps = a->now - a->sent;

    if (a->seq <= y->last_update)
        return;
    if (y->last_update)
        update(p, flow, y, rtt_ps);
    if (p->tx[flow].snd_nxt > y->last_update) {
        y->last_update = p->tx[flow].snd_nxt;
        y->last_rtt_ps = rtt_ps;
    }
}

/* The gradient as a share of the base RTT, of either sign. */
static void coarse(const struct flow_tx *t, const void *state, uint16_t *out)
{
    const struct timely *y = state;
    const double share = y->diff_ns * 1000 / (double)t->base_rtt_ps;
    const double size = share < 0 ? -share : share;

    out[0] = (uint16_t)((y->last_update != 0) | (y->stage >= HYPER_STAGE) << 1 | (share < 0) << 2);
    out[1] = lens_bin((uint64_t)((size < 1e6 ? size : 1e6) * 64), LENS_STATE_BITS);
}

const struct cc_ops cc_timely = {.name = "timely",
                                 .state_bytes = sizeof(struct timely),
                                 .header_bytes = 8,
                                 .on_start = on_start,
                                 .on_ack = on_ack,
                                 .coarse = coarse};
