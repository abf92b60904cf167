/*
 * cc_dctcp.c - DCTCP, rate based as in the reference (RdmaHw::HandleAckDctcp).
 *
 * Idea: Alizadeh et al., SIGCOMM 2010. alpha follows the share F of marked packets per window,
 * alpha = (1 - g) alpha + g F; at most one cut per window, rate *= 1 - alpha / 2; an additive step
 * per window without a mark.
 */
#include "lens.h"
#include "sim_int.h"

struct dctcp {
    int64_t last_update, high_seq;
    int64_t batch; /* packets that the present window holds */
    double alpha;
    uint32_t marks;
    uint8_t in_cwr;
};

static void on_start(struct part *p, uint32_t flow, void *state)
{
    struct dctcp *d = state;

    (void)p;
    (void)flow;
    d->alpha = 1;
}

static int end_window(struct part *p, const struct flow_tx *t, struct dctcp *d, int64_t ack)
{
    const int64_t mtu = p->s->cfg.payload_bytes;
    const double g = p->s->cfg.dctcp.gain;
    double f;

    if (ack <= d->last_update)
        return 0;
    if (d->last_update == 0) {
        d->last_update = t->snd_nxt;
        d->batch = t->snd_nxt / mtu + 1;
        return 1;
    }
    f = (double)d->marks / (double)d->batch;
    d->alpha = (1 - g) * d->alpha + g * (f < 1.0 ? f : 1.0);
    d->last_update = t->snd_nxt;
    d->marks = 0;
    d->batch = (t->snd_nxt - ack) / mtu + 1;
    return 1;
}

static void on_ack(struct part *p, uint32_t flow, void *state, const struct cc_ack *a)
{
    const struct sim_config *c = &p->s->cfg;
    const struct flow_tx *t = &p->tx[flow];
    struct dctcp *d = state;
    int new_window;

    d->marks += a->cnp;
    new_window = end_window(p, t, d, a->seq);
    if (d->in_cwr && a->seq > d->high_seq)
        d->in_cwr = 0;
    if (a->cnp && !d->in_cwr) {
        const int64_t cut = (int64_t)((double)t->rate_bps * (1 - d->alpha / 2));

        sender_set_rate(p, flow, cut > c->min_rate_bps ? cut : c->min_rate_bps);
        d->in_cwr = 1;
        d->high_seq = t->snd_nxt;
    }
    if (!d->in_cwr && new_window) {
        const int64_t up = t->rate_bps + c->dctcp.ai_bps;

        sender_set_rate(p, flow, up < t->max_rate_bps ? up : t->max_rate_bps);
    }
}

/* By squaring: the same bits everywhere. */
static double power(double x, int64_t n)
{
    double y = 1;

    for (; n > 0; n >>= 1) {
        y *= n & 1 ? x : 1;
        x *= x;
    }
    return y;
}

/* Where nothing is marked alpha decays, and the next cut is as deep as it has decayed. */
static void on_skip(struct part *p, uint32_t flow, void *state, int64_t elapsed_ps, int64_t packets)
{
    const struct flow_tx *t = &p->tx[flow];
    struct dctcp *d = state;

    (void)elapsed_ps;
    if (d->marks || d->in_cwr || d->batch < 1 || t->rate_bps < t->max_rate_bps)
        return;
    d->alpha *= power(1 - p->s->cfg.dctcp.gain, packets / d->batch);
}

static void coarse(const struct flow_tx *t, const void *state, uint16_t *out)
{
    const struct dctcp *d = state;

    (void)t;
    out[0] = (uint16_t)((d->last_update != 0) | d->in_cwr << 1);
    out[1] = lens_bin((uint64_t)(d->alpha * 1024), LENS_STATE_BITS);
}

const struct cc_ops cc_dctcp = {.name = "dctcp",
                                .state_bytes = sizeof(struct dctcp),
                                .on_start = on_start,
                                .on_ack = on_ack,
                                .on_skip = on_skip,
                                .coarse = coarse};
