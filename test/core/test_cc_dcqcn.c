/*
 * DCQCN brings alpha up to date when it is read and skips timers that change nothing. Compared here
 * with the plain form of the rules: every timer of every flow fires. (Rules: docs of the reference
 * data; Zhu et al., SIGCOMM 2015.)
 */
#include "cc.h"
#include "rng.h"
#include "sim_fixture.h"
#include "sim_int.h"
#include "units.h"

#include <criterion/criterion.h>
#include <math.h>

#define LINE (100 * GBPS)

/* ---- the plain form ---- */

struct plain {
    const struct sim_config *cfg;
    double alpha;
    int64_t rate, target, alpha_at, check_at, increase_at;
    uint32_t stage;
    int started, cnp_alpha, cnp_check;
};

static void plain_alpha(struct plain *p)
{
    const double g = p->cfg->dcqcn.gain;

    p->alpha = (1 - g) * p->alpha + (p->cnp_alpha ? g : 0);
    p->cnp_alpha = 0;
    p->alpha_at += p->cfg->dcqcn.alpha_resume_ps;
}

static void plain_check(struct plain *p)
{
    const int64_t now = p->check_at;

    p->check_at += p->cfg->dcqcn.decrease_interval_ps;
    if (!p->cnp_check)
        return;
    if (p->stage > 0)
        p->target = p->rate;
    p->rate = (int64_t)((double)p->rate * (1 - p->alpha / 2));
    if (p->rate < p->cfg->min_rate_bps)
        p->rate = p->cfg->min_rate_bps;
    p->stage = 0;
    p->cnp_check = 0;
    p->increase_at = now + p->cfg->dcqcn.increase_timer_ps;
}

static void plain_increase(struct plain *p)
{
    const struct dcqcn_params *c = &p->cfg->dcqcn;

    if (p->stage >= c->fast_recovery)
        p->target += p->stage == c->fast_recovery ? c->ai_bps : c->hai_bps;
    if (p->target > LINE)
        p->target = LINE;
    p->rate = p->rate / 2 + p->target / 2;
    p->stage++;
    p->increase_at += c->increase_timer_ps;
}

/* All timers up to @now. An increase that meets a check was scheduled long before it. */
static void plain_advance(struct plain *p, int64_t now)
{
    for (;;) {
        int64_t next = p->alpha_at < p->check_at ? p->alpha_at : p->check_at;

        next = p->increase_at < next ? p->increase_at : next;
        if (!p->started || next > now)
            return;
        if (next == p->alpha_at)
            plain_alpha(p);
        else if (next == p->increase_at)
            plain_increase(p);
        else
            plain_check(p);
    }
}

static void plain_cnp(struct plain *p, int64_t now)
{
    p->cnp_check = 1;
    if (p->started) {
        p->cnp_alpha = 1;
        return;
    }
    p->started = 1;
    p->alpha = 1;
    p->target = p->rate;
    p->alpha_at = now + p->cfg->dcqcn.alpha_resume_ps;
    p->check_at = now + PS_PER_NS + p->cfg->dcqcn.decrease_interval_ps;
}

/* ---- both ---- */

/* Executes the engine's timers of flow 0 up to @now, without any packets. */
static void engine_advance(struct sim *s, int64_t now)
{
    struct part *p = &s->part;

    while (calendar_pop(&p->cal, now, &p->ev)) {
        const enum event_kind kind = event_kind(p->ev.id);

        p->now = p->ev.time;
        if (kind == EVENT_CC_TIMER || kind == EVENT_CC_TIMER2)
            cc_dcqcn.on_timer(p, 0, s->cc_state, kind == EVENT_CC_TIMER2, p->ev.time);
    }
    p->now = now;
    p->ev = (struct event){now, now, INT64_MAX, UINT32_MAX, UINT32_MAX};
}

static void compare(uint64_t seed, uint32_t gap_us)
{
    const struct sim_config c = fix_config(CC_DCQCN);
    struct sim *s = fix_sim(fix_chain(1, LINE, PS_PER_US), &c);
    struct plain plain = {.cfg = &c, .rate = LINE, .increase_at = TIME_NEVER};
    int64_t now = 0;

    fix_flow(s, 0, 1, INT64_C(1) << 50, 0);
    cr_assert_eq(sim_set_engine(s, &(struct sim_engine){.kind = ENGINE_SERIAL, .threads = 1}), 0);
    cr_assert_eq(sim_run(s, 0), 0);
    while (calendar_pop(&s->part.cal, TIME_NEVER, &s->part.ev))
        ; /* no packets */
    for (uint32_t i = 0; i < 400; i++) {
        const struct cc_ack ack = {.cnp = rng_below(rng_u64(seed, 3, i), 3) > 0};

        /* a multiple of 1 us and a bit, so that no CNP falls on a timer */
        now += (1 + rng_below(rng_u64(seed, 2, i), gap_us)) * PS_PER_US;
        engine_advance(s, now + 123);
        plain_advance(&plain, now + 123);
        cr_assert_eq(s->tx[0].rate_bps, plain.rate, "seed %lu, step %u: %ld, expected %ld",
                     (unsigned long)seed, i, (long)s->tx[0].rate_bps, (long)plain.rate);
        cc_dcqcn.on_ack(&s->part, 0, s->cc_state, &ack);
        if (ack.cnp)
            plain_cnp(&plain, now + 123);
    }
    sim_destroy(s);
}

Test(cc_dcqcn, rates_equal_those_of_timers_that_all_fire)
{
    for (uint64_t seed = 1; seed <= 10; seed++) {
        compare(seed, 3);
        compare(seed, 50);
        compare(seed, 2000);
    }
}
