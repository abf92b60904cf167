/*
 * steady.c - see steady.h.
 */
#include "steady.h"

static int64_t additive_increase_bps(const struct sim_config *c)
{
    switch (c->cc) {
    case CC_HPCC:
        return c->hpcc.ai_bps;
    case CC_TIMELY:
        return c->timely.ai_bps;
    case CC_DCTCP:
        return c->dctcp.ai_bps;
    default:
        return 0; /* as in the evidence */
    }
}

static int64_t timer_ps(const struct sim_config *c)
{
    if (c->cc == CC_DCQCN)
        return c->dcqcn.increase_timer_ps;
    return c->cc == CC_TIMELY ? c->timely.thigh_ps : 0;
}

int steady_init(struct steady *s, const struct sim_config *cfg, const struct detect_spec *spec,
                struct err_info *e)
{
    struct detect_spec x = *spec;

    x.cc = cfg->cc;
    x.ai_bps = additive_increase_bps(cfg);
    x.timer_ps = timer_ps(cfg);
    x.quantum_ps = STEADY_QUANTUM_PS;
    return detect_params_init(&s->params, &x, e);
}

static void *create(void *ctx)
{
    struct detect *d;

    (void)ctx;
    return detect_create(&d) ? NULL : d;
}

static void destroy(void *watch)
{
    detect_destroy(watch);
}

static int begin(void *ctx, void *watch, int64_t now_ps, const struct watch_partition *p)
{
    const struct steady *s = ctx;

    if (detect_begin(watch, &s->params, now_ps, p))
        return 0;
    return detect_next_sample_ps(watch) != DETECT_NEVER;
}

static int64_t next_sample_ps(const void *watch)
{
    return detect_next_sample_ps(watch);
}

static struct watch_verdict verdict_of(const struct detect_verdict *v)
{
    return (struct watch_verdict){
        .skip_ps = v->reason == DETECT_STEADY ? v->skip_ps : 0,
        .reason = (uint32_t)v->reason,
        .flow = v->flow,
        .port = v->port,
        .is_ending = v->reason == DETECT_ENDING,
    };
}

static void sample(void *watch, int64_t now_ps, const struct watch_obs *obs,
                   const int64_t *tx_bytes, struct watch_verdict *out)
{
    struct detect_verdict v;

    detect_sample(watch, now_ps, obs, tx_bytes);
    detect_decide(watch, now_ps, &v);
    *out = verdict_of(&v);
}

static void on_ack(void *watch, uint32_t flow, int64_t rate_bps)
{
    detect_on_ack(watch, flow, rate_bps);
}

static void skip_bytes(const void *watch, int64_t elapsed_ps, int64_t *out)
{
    detect_skip_bytes(watch, elapsed_ps, out);
}

static void thaw(void *watch, int64_t now_ps, int64_t skipped_ps, const int64_t *skipped_bytes)
{
    detect_on_thaw(watch, now_ps, skipped_ps, skipped_bytes);
}

static struct detect_frame frame_of(const struct watch_frame *f)
{
    return (struct detect_frame){f->now_ps, f->acked_bytes, f->tx_bytes, f->flow_order,
                                 f->port_order};
}

static size_t state_bytes(const void *watch)
{
    return detect_state_bytes(watch);
}

static void save(const void *watch, const struct watch_frame *f, void *out)
{
    const struct detect_frame frame = frame_of(f);

    detect_save(watch, &frame, out);
}

static int adopt(void *ctx, void *watch, const struct watch_frame *f, const void *state,
                 size_t bytes, const int64_t *remaining_bytes, int goes_on,
                 struct watch_verdict *out)
{
    const struct steady *s = ctx;
    const struct detect_frame frame = frame_of(f);
    struct detect_verdict v;

    if (detect_adopt(watch, &s->params, &frame, state, bytes, remaining_bytes, goes_on,
                     out ? &v : NULL))
        return 0;
    if (out)
        *out = verdict_of(&v);
    return 1;
}

static const char *reason_text(uint32_t reason)
{
    return reason < DETECT_REASON_COUNT ? detect_reason_text((enum detect_reason)reason) : NULL;
}

_Static_assert(DETECT_REASON_COUNT <= WATCH_REASON_MAX, "room for each reason");

void steady_ops(struct steady *s, struct watch_ops *out)
{
    *out = (struct watch_ops){
        .ctx = s,
        .quantum_ps = STEADY_QUANTUM_PS,
        .wants_acks = s->params.spec.rule == DETECT_RULE_PAPER,
        .create = create,
        .destroy = destroy,
        .begin = begin,
        .next_sample_ps = next_sample_ps,
        .sample = sample,
        .on_ack = on_ack,
        .skip_bytes = skip_bytes,
        .thaw = thaw,
        .state_bytes = state_bytes,
        .save = save,
        .adopt = adopt,
        .reason_text = reason_text,
    };
}
