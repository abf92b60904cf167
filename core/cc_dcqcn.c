/*
 * cc_dcqcn.c - DCQCN (Zhu et al., SIGCOMM 2015), as in the reference (RdmaHw::cnp_received_mlx).
 *
 * The reference runs three timers per flow. Two of them act only where a CNP came: alpha decays by
 * a known factor per step and is brought up to date when it is read, and the decrease check is an
 * event only at the first grid point after a CNP. So an idle flow costs nothing, and the increase
 * timer stops once rate and target are at line rate, where it changes nothing.
 */
#include "lens.h"
#include "sim_int.h"
#include "units.h"

#include <math.h>

#define CHECK_OFFSET_PS PS_PER_NS /* the check comes 1 ns after the alpha step, reference */
#define LOOP_STEPS_MAX 4096       /* longer decays by pow() */

struct dcqcn {
    double alpha;
    int64_t target_bps;
    int64_t alpha_next;           /* time of the next alpha step */
    int64_t check_base, check_at; /* grid; pending check or TIME_NEVER */
    int64_t increase_at;          /* pending increase or TIME_NEVER */
    uint32_t stage;
    uint8_t started, cnp_for_alpha, cnp_for_check;
};

enum { TIMER_CHECK, TIMER_INCREASE };

static void arm(struct part *p, uint32_t flow, int which, int64_t time)
{
    const struct event e = {
        time, p->now, next_chain(p, p->ev.sched), flow,
        event_id(which == TIMER_CHECK ? EVENT_CC_TIMER : EVENT_CC_TIMER2, flow)};

    calendar_push(&p->cal, &e);
}

static void advance_alpha(const struct dcqcn_params *c, struct dcqcn *d, int64_t now)
{
    int64_t steps;

    if (now < d->alpha_next)
        return;
    steps = (now - d->alpha_next) / c->alpha_resume_ps + 1;
    d->alpha_next += steps * c->alpha_resume_ps;
    d->alpha = (1 - c->gain) * d->alpha + (d->cnp_for_alpha ? c->gain : 0);
    d->cnp_for_alpha = 0;
    steps--;
    if (steps > LOOP_STEPS_MAX) {
        d->alpha *= pow(1 - c->gain, (double)steps);
        return;
    }
    while (steps-- > 0)
        d->alpha = (1 - c->gain) * d->alpha;
}

static void on_start(struct part *p, uint32_t flow, void *state)
{
    struct dcqcn *d = state;

    (void)p;
    (void)flow;
    d->check_at = d->increase_at = TIME_NEVER;
}

static void on_first_cnp(struct part *p, uint32_t flow, struct dcqcn *d)
{
    const struct dcqcn_params *c = &p->s->cfg.dcqcn;

    d->started = 1;
    d->alpha = 1;
    d->alpha_next = p->now + c->alpha_resume_ps;
    d->check_base = p->now + CHECK_OFFSET_PS;
    d->target_bps = p->tx[flow].rate_bps;
}

static void on_ack(struct part *p, uint32_t flow, void *state, const struct cc_ack *a)
{
    const struct dcqcn_params *c = &p->s->cfg.dcqcn;
    struct dcqcn *d = state;
    int64_t periods;

    if (!a->cnp)
        return;
    if (!d->started) {
        on_first_cnp(p, flow, d);
    } else {
        advance_alpha(c, d, p->now);
        d->cnp_for_alpha = 1;
    }
    d->cnp_for_check = 1;
    if (d->check_at != TIME_NEVER)
        return;
    periods = p->now < d->check_base ? 0 : (p->now - d->check_base) / c->decrease_interval_ps;
    d->check_at = d->check_base + (periods + 1) * c->decrease_interval_ps;
    arm(p, flow, TIMER_CHECK, d->check_at);
}

static void decrease(struct part *p, uint32_t flow, struct dcqcn *d, int64_t now)
{
    const struct sim_config *c = &p->s->cfg;
    const int64_t rate = p->tx[flow].rate_bps;
    int64_t cut;

    advance_alpha(&c->dcqcn, d, now);
    if (c->dcqcn.clamp_target || d->stage > 0)
        d->target_bps = rate;
    cut = (int64_t)((double)rate * (1 - d->alpha / 2));
    sender_set_rate(p, flow, cut > c->min_rate_bps ? cut : c->min_rate_bps);
    d->stage = 0;
    d->cnp_for_check = 0;
    d->increase_at = now + c->dcqcn.increase_timer_ps;
    arm(p, flow, TIMER_INCREASE, d->increase_at);
}

static void increase(struct part *p, uint32_t flow, struct dcqcn *d, int64_t now)
{
    const struct dcqcn_params *c = &p->s->cfg.dcqcn;
    const struct flow_tx *t = &p->tx[flow];

    if (d->stage >= c->fast_recovery)
        d->target_bps += d->stage == c->fast_recovery ? c->ai_bps : c->hai_bps;
    if (d->target_bps > t->max_rate_bps)
        d->target_bps = t->max_rate_bps;
    sender_set_rate(p, flow, t->rate_bps / 2 + d->target_bps / 2);
    d->stage++;
    d->increase_at = TIME_NEVER;
    if (t->rate_bps >= t->max_rate_bps - 1 && d->target_bps >= t->max_rate_bps)
        return; /* nothing left to gain; integer halves may stay 1 bit/s below */
    d->increase_at = now + c->increase_timer_ps;
    arm(p, flow, TIMER_INCREASE, d->increase_at);
}

static void on_timer(struct part *p, uint32_t flow, void *state, int which, int64_t time)
{
    struct dcqcn *d = state;

    if (which == TIMER_CHECK && time == d->check_at) {
        d->check_at = TIME_NEVER;
        if (d->cnp_for_check)
            decrease(p, flow, d, time);
    } else if (which == TIMER_INCREASE && time == d->increase_at) {
        increase(p, flow, d, time);
    }
}

static void rebase(void *state, int64_t delta_ps)
{
    struct dcqcn *d = state;

    if (!d->started)
        return;
    d->alpha_next += delta_ps;
    d->check_base += delta_ps;
    if (d->check_at != TIME_NEVER)
        d->check_at += delta_ps;
    if (d->increase_at != TIME_NEVER)
        d->increase_at += delta_ps;
}

/* While no CNP comes alpha decays; in a flow at line rate that has no other effect. */
static void on_skip(struct part *p, uint32_t flow, void *state, int64_t elapsed_ps, int64_t packets)
{
    const int64_t step = p->s->cfg.dcqcn.alpha_resume_ps;
    struct dcqcn *d = state;

    (void)flow;
    (void)packets;
    if (d->started && d->check_at == TIME_NEVER && d->increase_at == TIME_NEVER)
        d->alpha_next -= elapsed_ps / step * step;
}

static void coarse(const struct flow_tx *t, const void *state, uint16_t *out)
{
    const struct dcqcn *d = state;

    out[0] = (uint16_t)(d->started | (d->check_at != TIME_NEVER) << 1 |
                        (d->increase_at != TIME_NEVER) << 2 | d->cnp_for_check << 3);
    if (!d->started)
        return;
    out[1] = lens_bin((uint64_t)(d->alpha * 1024), LENS_STATE_BITS);
    out[2] = lens_share_bin(d->target_bps, t->max_rate_bps, LENS_RATE_BITS);
    out[3] = (uint16_t)(d->stage < 8 ? d->stage : 8);
}

const struct cc_ops cc_dcqcn = {.name = "dcqcn",
                                .state_bytes = sizeof(struct dcqcn),
                                .on_start = on_start,
                                .on_ack = on_ack,
                                .on_timer = on_timer,
                                .rebase = rebase,
                                .on_skip = on_skip,
                                .coarse = coarse};
