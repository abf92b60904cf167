/*
 * api_traffic.c - messages, receives, timers, and the callbacks that they lead to; see wormhole.h,
 * section 3.
 *
 * The user's functions may post anything from within, so rows are copied before a call and looked
 * up again after it. A function that is due because of another call of the user (a receive whose
 * bytes came earlier) runs from a timer of zero delay, never inside that call.
 */
#include "api_int.h"

#include "units.h"

#include <stdlib.h>

/* --- timers --- */

static void link_timer(struct timer *t)
{
    struct wh_sim *s = t->owner;

    t->prev = NULL;
    t->next = s->timers;
    if (s->timers)
        s->timers->prev = t;
    s->timers = t;
}

static void free_timer(struct timer *t)
{
    if (t->prev)
        t->prev->next = t->next;
    else
        t->owner->timers = t->next;
    if (t->next)
        t->next->prev = t->prev;
    free(t);
}

void api__free_timers(struct wh_sim *s)
{
    while (s->timers)
        free_timer(s->timers);
}

/* The one way into the user's code. */
static void call(struct wh_sim *s, wh_callback fn, void *arg)
{
    fn(arg);
    if (!s->has_called && s->is_stepping)
        api__wake(s);
    s->has_called = 1;
}

static void on_timer(void *arg, struct sim *sim)
{
    struct timer *t = arg;
    const struct timer fired = *t;

    (void)sim;
    if (fired.fire) {
        fired.fire(t);
        free_timer(t);
        return;
    }
    free_timer(t);
    call(fired.owner, fired.fn, fired.arg);
}

static int add_timer(struct wh_sim *s, int64_t at_ps, const struct timer *what)
{
    struct timer *t = malloc(sizeof *t);
    int rc;

    if (!t)
        return WH_STATUS_NOMEM;
    *t = *what;
    t->owner = s;
    link_timer(t);
    rc = sim_schedule(s->sim, at_ps, on_timer, t);
    if (rc)
        free_timer(t);
    return rc;
}

int wh_schedule(struct wh_sim *s, int64_t delay_ps, wh_callback fn, void *arg)
{
    const struct timer what = {.fn = fn, .arg = arg};
    int rc = api__need_sim(s);

    if (rc)
        return rc;
    if (delay_ps < 0 || delay_ps > TIME_NEVER - 1 - sim_now_ps(s->sim))
        return api__refuse(s, WH_STATUS_INPUT,
                           "found a delay of %lld ps, expected 0 or more and an "
                           "end within 64 bits",
                           (long long)delay_ps);
    if (!fn)
        return api__refuse(s, WH_STATUS_INPUT, "found a timer without a function, expected one");
    rc = add_timer(s, sim_now_ps(s->sim) + delay_ps, &what);
    return rc ? api__fail(s, rc, NULL) : 0;
}

static void do_nothing(struct timer *t)
{
    (void)t;
}

void api__wake(struct wh_sim *s)
{
    const struct timer what = {.fire = do_nothing};
    const int rc = add_timer(s, sim_now_ps(s->sim), &what);

    if (rc && !s->failure)
        s->failure = rc;
}

/* --- receives --- */

/* Calls all filled receives of a key, also those that become so from within. */
static void serve(struct wh_sim *s, const struct match_key *key)
{
    struct match_recv *r;

    while ((r = match_pop(s->match, key))) {
        const struct match_recv filled = *r;

        free(r);
        call(s, filled.fn, filled.arg);
    }
}

static void serve_later(struct timer *t)
{
    serve(t->owner, &t->key);
}

static int post_receive(struct wh_sim *s, const struct match_key *key, int64_t bytes,
                        wh_callback fn, void *arg)
{
    struct match_recv *r = malloc(sizeof *r);
    int rc;

    if (!r)
        return WH_STATUS_NOMEM;
    *r = (struct match_recv){.fn = fn, .arg = arg, .bytes = bytes};
    rc = match_post(s->match, key, r);
    if (rc) {
        free(r);
        return rc;
    }
    if (match_is_filled(s->match, key)) {
        const struct timer what = {.fire = serve_later, .key = *key};

        rc = add_timer(s, sim_now_ps(s->sim), &what);
    }
    return rc;
}

static int check_hosts(struct wh_sim *s, uint32_t src, uint32_t dst, int64_t bytes)
{
    const struct topo *t = sim_topo(s->sim);

    if (src >= t->node_count || dst >= t->node_count || src == dst || t->kind[src] != NODE_HOST ||
        t->kind[dst] != NODE_HOST)
        return api__refuse(s, WH_STATUS_INPUT,
                           "found a message from %u to %u, expected two different "
                           "hosts",
                           src, dst);
    if (bytes < 0)
        return api__refuse(s, WH_STATUS_INPUT, "found a message of %lld B, expected 0 or more",
                           (long long)bytes);
    return 0;
}

int wh_recv(struct wh_sim *s, uint32_t dst, uint32_t src, int64_t bytes, uint64_t tag,
            wh_callback fn, void *arg)
{
    const struct match_key key = {src, dst, tag};
    int rc = api__need_sim(s);

    if (!rc)
        rc = check_hosts(s, src, dst, bytes);
    if (rc)
        return rc;
    if (!fn)
        return api__refuse(s, WH_STATUS_INPUT, "found a receive without a function, expected one");
    rc = post_receive(s, &key, bytes, fn, arg);
    return rc ? api__fail(s, rc, NULL) : 0;
}

/* --- messages --- */

/* Room for the row of the flow that is added next. */
static int reserve_message(struct wh_sim *s)
{
    const uint32_t needed = sim_flow_count(s->sim) + 1;
    uint32_t cap = s->message_cap ? s->message_cap : 256;
    struct message *grown;

    if (needed <= s->message_cap)
        return 0;
    while (cap < needed)
        cap *= 2;
    grown = realloc(s->messages, cap * sizeof *grown);
    if (!grown)
        return WH_STATUS_NOMEM;
    for (uint32_t i = s->message_cap; i < cap; i++)
        grown[i] = (struct message){.on_sent = NULL};
    s->messages = grown;
    s->message_cap = cap;
    return 0;
}

/* The row must stand before the engine can complete the flow. */
static int add_flow(struct wh_sim *s, const struct flow_spec *f, const struct message *m,
                    uint32_t *flow_id)
{
    const uint32_t next = sim_flow_count(s->sim);
    int rc = reserve_message(s);

    if (rc)
        return api__fail(s, rc, NULL);
    s->messages[next] = *m;
    rc = sim_add_flow(s->sim, f, NULL);
    if (rc) {
        s->messages[next] = (struct message){.on_sent = NULL};
        if (rc == WH_ERR_INPUT) /* all else has been checked */
            return api__refuse(s, rc,
                               "found a flow of priority %u, expected one that was in use when "
                               "the run began",
                               f->prio);
        return api__fail(s, rc, NULL);
    }
    if (flow_id)
        *flow_id = next;
    return 0;
}

int wh_send(struct wh_sim *s, uint32_t src, uint32_t dst, int64_t bytes, uint64_t tag,
            wh_callback on_sent, wh_callback on_received, void *arg)
{
    const struct message m = {on_sent, on_received, arg, {src, dst, tag}, 1};
    struct flow_spec f = {.bytes = bytes,
                          .src = src,
                          .dst = dst,
                          .dport = 100,
                          .prio = s->sc.flow_count ? s->sc.flows[0].prio : 3};
    int rc = api__need_sim(s);

    if (!rc)
        rc = check_hosts(s, src, dst, bytes);
    if (rc)
        return rc;
    f.start_ps = sim_now_ps(s->sim);
    return add_flow(s, &f, &m, NULL);
}

int wh_add_flow(struct wh_sim *s, const struct wh_flow *flow, uint32_t *flow_id)
{
    const struct message m = {.on_sent = NULL};
    const struct flow_spec f = {.start_ps = flow->start_ps,
                                .bytes = flow->bytes,
                                .src = flow->src,
                                .dst = flow->dst,
                                .sport = flow->sport,
                                .dport = flow->dport,
                                .prio = flow->priority};
    int rc = api__need_sim(s);

    if (!rc)
        rc = check_hosts(s, flow->src, flow->dst, flow->bytes);
    if (rc)
        return rc;
    if (flow->start_ps < sim_now_ps(s->sim) || flow->priority >= CONFIG_PRIO_COUNT)
        return api__refuse(s, WH_STATUS_INPUT,
                           "found a flow at %lld ps of priority %u, expected a "
                           "start now or later and a priority of 0..7",
                           (long long)flow->start_ps, flow->priority);
    return add_flow(s, &f, &m, flow_id);
}

/* --- the engine's callbacks --- */

static void on_complete(void *ctx, struct sim *sim, uint32_t flow_id, int64_t now_ps)
{
    struct wh_sim *s = ctx;

    (void)sim;
    (void)now_ps;
    if (flow_id >= s->message_cap || !s->messages[flow_id].on_sent)
        return;
    call(s, s->messages[flow_id].on_sent, s->messages[flow_id].arg);
}

static void on_delivered(void *ctx, struct sim *sim, uint32_t flow_id, int64_t now_ps)
{
    struct wh_sim *s = ctx;
    struct message m;
    int rc;

    (void)now_ps;
    if (flow_id >= s->message_cap || !s->messages[flow_id].is_matched)
        return;
    m = s->messages[flow_id];
    if (m.on_received)
        call(s, m.on_received, m.arg);
    rc = match_arrive(s->match, &m.key, sim_flow_spec(sim, flow_id)->bytes);
    if (rc && !s->failure)
        s->failure = rc;
    serve(s, &m.key);
}

static int on_poll(void *ctx, struct sim *sim)
{
    struct wh_sim *s = ctx;
    struct wh_counters c;

    (void)sim;
    if (s->on_progress) {
        wh_get_counters(s, &c);
        if (s->on_progress(s->progress_arg, &c))
            s->is_stopping = 1;
    }
    return s->failure || s->is_stopping || (s->is_stepping && s->has_called);
}

void api__install_hooks(struct wh_sim *s)
{
    const struct sim_hooks hooks = {
        .ctx = s, .on_complete = on_complete, .on_delivered = on_delivered, .on_poll = on_poll};

    sim_set_hooks(s->sim, &hooks);
}
