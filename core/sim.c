/*
 * sim.c - creation and control events. See sim.h; round.c has the loop.
 *
 * Everything that happens to the network from outside at one instant is one batch in a fixed order:
 * completions by flow id, network changes, flow starts, callbacks, samples.
 */
#include "sim_int.h"
#include "units.h"

#include <stdlib.h>
#include <string.h>

int sim_create(struct sim **out, struct topo *topo, const struct sim_config *cfg,
               const struct warn_sink *sink, struct err_info *e)
{
    struct sim *s;
    int rc = config_check(cfg, e);

    if (rc)
        return rc;
    s = calloc(1, sizeof *s);
    if (!s)
        return WH_ERR_NOMEM;
    s->cfg = *cfg;
    s->topo = topo;
    if (sink)
        s->sink = *sink;
    rc = sim_build(s, e);
    if (rc) {
        sim_unbuild(s);
        free(s);
        return rc;
    }
    *out = s;
    return 0;
}

void sim_destroy(struct sim *s)
{
    if (!s)
        return;
    sim_unbuild(s);
    topo_destroy(s->topo);
    free(s);
}

static int is_host(const struct sim *s, uint32_t node)
{
    return node < s->topo->node_count && s->topo->kind[node] == NODE_HOST;
}

int sim_add_flow(struct sim *s, const struct flow_spec *f, uint32_t *flow_id)
{
    const uint32_t id = s->flow_count;
    int64_t start;
    uint32_t sport = f->sport;
    int rc;

    if (!is_host(s, f->src) || !is_host(s, f->dst) || f->src == f->dst || f->bytes < 0 ||
        f->start_ps < 0 || f->prio >= CONFIG_PRIO_COUNT || (s->started && f->start_ps < s->now))
        return WH_ERR_INPUT;
    if (s->started && f->prio && !s->class_of_prio[f->prio])
        return WH_ERR_INPUT; /* queues exist for the priorities in use when the run began */
    if (id == s->flow_cap)
        return WH_ERR_LIMIT;
    if (!sport)
        sport = flow_next_sport(s, f->src, f->dst);
    if (!sport)
        return WH_ERR_NOMEM;
    start = f->start_ps + (s->straggle_ps ? s->straggle_ps[f->src] : 0);
    rc = control_push(
        s, &(struct control){.time = start, .seq = id, .flow = id, .kind = CONTROL_FLOW});
    if (rc)
        return rc;
    flow_add_rows(s, id);
    s->spec[id] = *f;
    s->result[id] = (struct flow_result){
        .start_ps = start, .end_ps = -1, .sport = (uint16_t)sport, .state = FLOW_WAITING};
    s->flow_count++;
    if (flow_id)
        *flow_id = id;
    return 0;
}

static int grow_given(struct sim *s, uint32_t node_count)
{
    if (s->given_count == s->given_cap) {
        const uint32_t cap = s->given_cap ? 2 * s->given_cap : 64;
        struct given *g = realloc(s->given, cap * sizeof *g);

        if (!g)
            return WH_ERR_NOMEM;
        s->given = g;
        s->given_cap = cap;
    }
    if (s->given_node_count + node_count > s->given_node_cap) {
        const uint32_t cap = 2 * s->given_node_cap + node_count + 64;
        uint32_t *n = realloc(s->given_nodes, cap * sizeof *n);

        if (!n)
            return WH_ERR_NOMEM;
        s->given_nodes = n;
        s->given_node_cap = cap;
    }
    return 0;
}

static int check_path(const struct sim *s, uint32_t flow_id, int is_ack, const uint32_t *nodes,
                      uint32_t node_count, struct err_info *e)
{
    const struct flow_spec *f;

    if (flow_id >= s->flow_count)
        return err_set(e, WH_ERR_INPUT, NULL, 0, "found a path for flow %u, expected 0..%u",
                       flow_id, s->flow_count - 1);
    f = &s->spec[flow_id];
    if (node_count < 2 || node_count > 255)
        return err_set(e, WH_ERR_INPUT, NULL, 0,
                       "found a path of %u nodes for flow %u, expected 2..255", node_count,
                       flow_id);
    if (nodes[0] != (is_ack ? f->dst : f->src) ||
        nodes[node_count - 1] != (is_ack ? f->src : f->dst))
        return err_set(e, WH_ERR_INPUT, NULL, 0,
                       "found a path from %u to %u for flow %u, expected from %u to %u", nodes[0],
                       nodes[node_count - 1], flow_id, is_ack ? f->dst : f->src,
                       is_ack ? f->src : f->dst);
    for (uint32_t i = 0; i + 1 < node_count; i++)
        if (nodes[i] >= s->topo->node_count || nodes[i + 1] >= s->topo->node_count ||
            topo_find_port(s->topo, nodes[i], nodes[i + 1]) == PORT_NONE)
            return err_set(e, WH_ERR_INPUT, NULL, 0,
                           "found a hop from %u to %u in the path of flow %u, expected a link",
                           nodes[i], nodes[i + 1], flow_id);
    return 0;
}

int sim_set_path(struct sim *s, uint32_t flow_id, int is_ack, const uint32_t *nodes,
                 uint32_t node_count, struct err_info *e)
{
    int rc = check_path(s, flow_id, is_ack, nodes, node_count, e);
    uint32_t i;
    struct given g;

    if (!rc)
        rc = grow_given(s, node_count);
    if (rc)
        return rc;
    g = (struct given){flow_id, s->given_node_count, node_count, is_ack != 0};
    memcpy(&s->given_nodes[s->given_node_count], nodes, node_count * sizeof *nodes);
    s->given_node_count += node_count;
    i = s->given_count++;
    while (i > 0 && ((uint64_t)s->given[i - 1].flow * 2 + s->given[i - 1].is_ack) >
                        ((uint64_t)g.flow * 2 + g.is_ack)) {
        s->given[i] = s->given[i - 1];
        i--;
    }
    s->given[i] = g;
    return 0;
}

int sim_set_straggler(struct sim *s, uint32_t host, double factor, int64_t delay_ps)
{
    if (!is_host(s, host) || !(factor > 0 && factor <= 1) || delay_ps < 0 || s->flow_count)
        return WH_ERR_INPUT; /* before the first flow: starts are fixed when flows are added */
    if (!s->straggle)
        s->straggle = calloc(s->topo->node_count, sizeof *s->straggle);
    if (!s->straggle_ps)
        s->straggle_ps = calloc(s->topo->node_count, sizeof *s->straggle_ps);
    if (!s->straggle || !s->straggle_ps)
        return WH_ERR_NOMEM;
    s->straggle[host] = factor;
    s->straggle_ps[host] = delay_ps;
    return 0;
}

void sim_set_hooks(struct sim *s, const struct sim_hooks *h)
{
    s->hooks = *h;
}

int sim_schedule(struct sim *s, int64_t at_ps, void (*fn)(void *arg, struct sim *s), void *arg)
{
    if (at_ps < s->now)
        return WH_ERR_INPUT;
    return control_push(
        s, &(struct control){
               .time = at_ps, .seq = s->control_seq++, .fn = fn, .arg = arg, .kind = CONTROL_CALL});
}

int sim_set_monitor(struct sim *s, const struct sim_monitor *m)
{
    if (s->started)
        return WH_ERR_STATE;
    s->mon = *m;
    if (!m->on_sample || m->sample_interval_ps <= 0)
        return 0;
    return control_push(s, &(struct control){.time = m->sample_from_ps, .kind = CONTROL_SAMPLE});
}

/* ---- control events ---- */

/* An episode ends, but for a life that is known or observed as a whole. */
static void end_at_delivery(struct part *p, const struct part_note *n)
{
    if (!life_note_delivered(p, n))
        part_at_delivery(p);
}

int sim_take_note(struct sim *s, const struct part_note *n)
{
    struct flow_result *res = &s->result[n->flow];
    int rc = 0;

    s->now = n->time;
    if (n->what == NOTE_DELIVERED) {
        if (s->is_accelerated && s->tx[n->flow].member != ROW_NONE)
            end_at_delivery(part_of_flow(s, n->flow), n);
        /* what a flow that was given up still delivers comes too late */
        if (res->state == FLOW_ACTIVE)
            s->hooks.on_delivered(s->hooks.ctx, s, n->flow, n->time);
        return rc;
    }
    if (n->what == NOTE_COMPLETED && s->tx[n->flow].member != ROW_NONE)
        life_note_completed(part_of_flow(s, n->flow), n);
    if (n->what == NOTE_COMPLETED) /* what is given up goes on being charged for */
        rc = ack_charge_close(s, n->flow);
    flow_close(s, n->flow);
    if (n->what == NOTE_STALLED) {
        res->state = FLOW_STALLED;
        s->flow_stalled++;
        return rc;
    }
    res->state = FLOW_DONE;
    res->end_ps = n->time;
    s->done[s->flow_done++] = n->flow;
    s->done_flow_s += (double)(n->time - res->start_ps) * 1e-12;
    s->last_done = n->time > s->last_done ? n->time : s->last_done;
    if (s->hooks.on_complete)
        s->hooks.on_complete(s->hooks.ctx, s, n->flow, n->time);
    return rc;
}

static void take_down(struct sim *s, uint32_t port)
{
    struct part *p = part_of_port(s, port);

    part_at_control(p);
    port_take_down(p, port);
}

static void bring_up(struct sim *s, uint32_t port)
{
    part_at_control(part_of_port(s, port));
    s->port[port].flags &= (uint8_t)~PORT_DOWN;
}

static int change_network(struct sim *s, const struct net_event *v)
{
    const struct topo *t = s->topo;

    for (uint32_t l = 0; l < t->link_count; l++) {
        const uint32_t ends[2] = {t->link_port[2 * l], t->link_port[2 * l + 1]};

        if (!((t->link[l].a == v->a && t->link[l].b == v->b) ||
              (t->link[l].a == v->b && t->link[l].b == v->a)))
            continue;
        route_set_down(s->route, l, v->kind == NET_LINK_DOWN);
        for (int i = 0; i < 2; i++) {
            if (v->kind == NET_LINK_DOWN)
                take_down(s, ends[i]);
            else
                bring_up(s, ends[i]);
        }
    }
    return flow_reroute_all(s);
}

static int take_sample(struct sim *s, const struct control *c)
{
    struct control next = *c;

    s->mon.on_sample(s->mon.ctx, s, s->now);
    next.time += s->mon.sample_interval_ps;
    if (next.time > s->mon.sample_to_ps || (!s->controls.count && !calendar_count(&s->part.cal)))
        return 0; /* the second: nothing can change any more, though a flow may not be done */
    return control_push(s, &next);
}

static int take_control(struct sim *s, const struct control *c)
{
    switch ((enum control_kind)c->kind) {
    case CONTROL_NET:
        return change_network(s, &s->cfg.events[c->seq]);
    case CONTROL_FLOW:
        return flow_open(s, c->flow);
    case CONTROL_CALL:
        c->fn(c->arg, s);
        return 0;
    case CONTROL_SAMPLE:
        return take_sample(s, c);
    case CONTROL_CHARGE:
        ack_charge_drop(s, c->flow);
        return 0;
    }
    return 0;
}

/* All control events of one instant; what they cause at that instant follows in the next round. */
int sim_take_controls(struct sim *s, int64_t time)
{
    const struct control *first;
    int rc = 0;

    s->now = time;
    while (!rc && (first = control_peek(s)) && first->time == time) {
        const struct control c = *first;

        control_pop(s);
        rc = take_control(s, &c);
    }
    sim_dcheck(s);
    return rc;
}

/* ---- the run ---- */

int sim_set_watch(struct sim *s, const struct watch_ops *w)
{
    if (s->started)
        return WH_ERR_STATE;
    s->watch = *w;
    return 0;
}

int sim_set_audit(struct sim *s, double share)
{
    if (s->started)
        return WH_ERR_STATE;
    if (!(share >= 0 && share <= 1))
        return WH_ERR_INPUT;
    s->audit_share = share;
    return 0;
}

int sim_set_memo(struct sim *s, const struct memo_ops *m)
{
    if (s->started)
        return WH_ERR_STATE;
    s->memo = *m;
    arena_touch_little(s->cc_state, s->flow_cap * s->cc_stride); /* what is known never starts */
    return 0;
}

int sim_set_engine(struct sim *s, const struct sim_engine *e)
{
    if (s->started)
        return WH_ERR_STATE;
    if (e->threads < 1 || e->threads > SIM_THREADS_MAX || e->shards > SIM_SHARDS_MAX)
        return WH_ERR_INPUT;
    s->engine = *e;
    return 0;
}

int sim_set_probe(struct sim *s, const struct sim_probe *p)
{
    if (s->started)
        return WH_ERR_STATE;
    s->probe = *p;
    return 0;
}

/* Where partitions would not pay, or not be exact, see sim.h. */
static int wants_serial(const struct sim *s)
{
    const struct sim_monitor *m = &s->mon;

    return s->engine.kind == ENGINE_SERIAL || m->on_packet || m->on_pfc || m->on_sample ||
           (s->cfg.order == ORDER_NS3 &&
            (s->hooks.on_complete || s->hooks.on_delivered || s->cfg.event_count ||
             s->cfg.ack == ACK_CHARGED || s->control_work != s->flow_count));
}

static int start(struct sim *s)
{
    int rc = sim_build_classes(s);

    for (uint32_t i = 0; i < s->cfg.event_count && !rc; i++)
        rc = control_push(
            s, &(struct control){.time = s->cfg.events[i].time_ps, .seq = i, .kind = CONTROL_NET});
    if (rc)
        return rc;
    if (s->watch.create)
        s->cfg.order = ORDER_CANONICAL; /* ties in the order of scheduling need all of the past */
    s->is_serial = (uint8_t)wants_serial(s);
    if (s->is_serial) {
        s->watch.create = NULL;
        s->memo.lookup = NULL;
    }
    s->is_accelerated = s->watch.create || s->memo.lookup;
    s->part.order = (uint8_t)s->cfg.order;
    s->part.watched = s->mon.on_packet != NULL;
    s->part.reacts = !s->is_serial &&
                     (s->hooks.on_complete || s->hooks.on_delivered || s->cfg.ack == ACK_CHARGED);
    for (uint32_t i = 0; s->is_serial && i < s->swtch_count; i++)
        s->swtch[i].coupled = 1;
    rc = round_start(s);
    s->started = 1;
    return rc;
}

/* Flows that can still move, or callbacks that may add some. */
int sim_has_work(const struct sim *s)
{
    return s->flow_active || s->control_work || (s->flow_nopath && s->control_net);
}

int sim_is_stopped(struct sim *s)
{
    return s->hooks.on_poll && s->hooks.on_poll(s->hooks.ctx, s);
}

int sim_is_done(const struct sim *s)
{
    return !sim_has_work(s);
}

int sim_run(struct sim *s, int64_t until_ps)
{
    const int64_t end = until_ps < s->cfg.end_ps ? until_ps : s->cfg.end_ps;
    int rc = s->started ? 0 : start(s);

    s->interrupted = 0;
    if (!rc)
        rc = round_run_all(s, end);
    if (!rc && sim_has_work(s) && end != TIME_NEVER && end > s->now)
        s->now = end;
    return rc;
}

int64_t sim_now_ps(const struct sim *s)
{
    return s->now;
}
