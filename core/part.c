/*
 * part.c - membership of partitions: which flows and ports belong together.
 *
 * A partition is a connected component of flows and the directed ports where they wait or make
 * others wait: the ports of their data paths, of their acknowledgements' paths unless those travel
 * beside the network, and what coupled switches hold (quiet.c). A port is held by the members that
 * claim it; a port that nobody holds leaves when it is idle, and belongs to nobody.
 *
 * Flows start: the partitions that hold their ports are joined, the smaller into the larger. Flows
 * end: at the next barrier they leave, once no packet of theirs can be under way, and the partition
 * is looked over for having come apart (part_split.c). None of this has any influence on results:
 * the order of events is a property of the model.
 *
 * ORDER_NS3 serves ties in the order of scheduling, which is only defined among flows that have
 * been together from the start. There the components of all flows of the run are taken, for good.
 *
 * Threading: the coordinator, between rounds.
 */
#include "sim_int.h"
#include "units.h"

#include <stdlib.h>
#include <string.h>

/* Up to so many flows a split is looked for at each closing; above, often enough that the looks
 * cost no more than eight closings each. */
#define SPLIT_ALWAYS_FLOWS 64u

/* Makes room for one more row; 0 on lack of memory. */
static int reserve_row(uint32_t **rows, uint32_t count, uint32_t *cap)
{
    const uint32_t more = *cap ? 2 * *cap : 8;
    uint32_t *r;

    if (count < *cap)
        return 1;
    r = realloc(*rows, more * sizeof *r);
    if (!r)
        return 0;
    *rows = r;
    *cap = more;
    return 1;
}

/* What was skipped or replayed ends here, and a new episode begins. */
static void end_episode(struct part *p, int64_t global_ps)
{
    struct sim *s = p->s;

    life_disturb(p, global_ps);
    episode_disturb(p, global_ps);
    if (p->frozen_ps)
        freeze_interrupt(p, global_ps);
    if (!p->is_fresh)
        freeze_end_episode(p);
    p->is_fresh = 1;
    if (!s->memo.lookup)
        return;
    check(reserve_row(&s->fresh, s->fresh_count, &s->fresh_cap), "out of memory for episodes");
    s->fresh[s->fresh_count++] = p->id;
    p->episode_state = EPISODE_NEW;
}

static void part_at_as_is(struct part *p, int64_t global_ps)
{
    if (!p->s->is_serial)
        part_wake(p);
    if (p->s->is_accelerated)
        end_episode(p, global_ps);
    p->now = p->executed = global_ps - p->offset;
    p->ev = (struct event){p->now, p->now, INT64_MAX, UINT32_MAX, UINT32_MAX};
    p->charge_due = 1;
    p->bound = INT64_MIN; /* what happens now may bring completions forward */
}

static void part_at(struct part *p, int64_t global_ps)
{
    stage_forget_origin(p);
    part_at_as_is(p, global_ps);
}

void part_at_delivery(struct part *p)
{
    if (p->s->now - p->offset == p->now)
        part_at_as_is(p, p->s->now);
    else
        part_at_control(p);
}

void part_at_control(struct part *p)
{
    part_at(p, p->s->now);
}

/* ---- creation and end ---- */

void part_init(struct sim *s, struct part *p)
{
    p->s = s;
    p->scratch = s->scratch;
    p->port = s->port;
    p->pkt = s->pkt;
    p->int_rec = s->int_rec;
    p->tx = s->tx;
    p->rx = s->rx;
    p->path = s->path;
    p->order = (uint8_t)s->cfg.order;
    p->task.fn = round_task;
    calendar_init(&p->cal, s->longest_hop_ps);
}

struct part *part_alloc(struct sim *s)
{
    const size_t bytes = (sizeof(struct part) + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
    struct part *p = aligned_alloc(CACHE_LINE, bytes);

    if (!p)
        return NULL;
    memset(p, 0, bytes);
    part_init(s, p);
    return p;
}

static struct part *part_new(struct sim *s)
{
    struct part *p;

    if (s->part_count == s->part_cap && round_grow(s))
        return NULL;
    p = part_alloc(s);
    if (!p)
        return NULL;
    p->id = s->part_count;
    s->parts[s->part_count++] = p;
    return p;
}

struct part *part_create(struct sim *s)
{
    struct part *p = s->part_free_count ? s->parts[s->part_free[--s->part_free_count]] : NULL;

    if (!p)
        p = part_new(s);
    if (!p)
        return NULL;
    /* its clock starts at 0, with INT within the first ns; that of ns-3 is the global one */
    p->offset = p->order == ORDER_NS3 ? 0 : p->int_rec ? s->now / PS_PER_NS * PS_PER_NS : s->now;
    p->is_fresh = p->is_watched = p->may_stall = p->is_observed = 0;
    p->episode_state = EPISODE_PLAIN;
    p->reacts = s->part.reacts;
    p->run_index = s->run_count;
    p->awake_index = ROW_NONE;
    s->sleep_stamp[p->id] = 0;
    p->task.arg = p;
    p->task.worker_id = POOL_WORKER_NONE;
    p->weight = 0;
    p->events_per_ps = 0;
    s->run[s->run_count++] = p->id;
    if (s->run_count > s->parts_alive_max)
        s->parts_alive_max = s->run_count;
    part_at_control(p);
    return p;
}

static void part_end(struct sim *s, struct part *p)
{
    const uint32_t last = s->run[--s->run_count];

    dcheck(!p->flow_count && !p->swtch_count && !p->linger_count && !p->note_count &&
               !p->follower_first,
           "partition %u ends with %u flows, %u switches, %u ports", p->id, p->flow_count,
           p->swtch_count, p->linger_count);
    if (s->is_accelerated && !p->is_fresh)
        freeze_end_episode(p);
    p->episode_state = EPISODE_PLAIN;
    shard_gather(p);
    s->run[p->run_index] = last;
    s->parts[last]->run_index = p->run_index;
    p->run_index = ROW_NONE;
    sleep_end(p);
    calendar_clear(&p->cal);
    p->final_count = p->closes = p->active = p->running = 0;
    p->serial = 0;
    s->part_free[s->part_free_count++] = p->id;
}

void part_fini(struct part *p)
{
    calendar_fini(&p->cal);
    free(p->note);
    free(p->flow);
    free(p->swtch);
    free(p->linger);
    free(p->final);
    free(p->old);
    shard_fini(p);
    freeze_fini(p);
    audit_fini(p);
    episode_fini(p);
    life_fini_part(p);
}

/* ---- ports ---- */

void part_claim_port(void *part, uint32_t port)
{
    struct part *p = part;
    struct port *pt = &p->port[port];

    dcheck(pt->part == PART_NONE || pt->part == p->id, "port %u of %u is claimed by %u", port,
           pt->part, p->id);
    pt->part = p->id;
    pt->holds++;
}

static int port_is_idle(struct part *p, uint32_t port)
{
    const struct port *pt = &p->port[port];

    port_advance(p, port);
    return !(shard_wire_head(p, port) | pt->backlog | pt->busy | pt->paused) &&
           (!(pt->flags & PORT_HOST) || p->s->nic[pt->owner].timer_time == TIME_NEVER);
}

void part_release_port(void *part, uint32_t port)
{
    struct part *p = part;
    struct port *pt = &p->port[port];

    dcheck(pt->holds && pt->part == p->id, "port %u of %u is released by %u", port, pt->part,
           p->id);
    if (--pt->holds)
        return;
    if (port_is_idle(p, port)) {
        pt->part = PART_NONE;
        return;
    }
    check(reserve_row(&p->linger, p->linger_count, &p->linger_cap), "out of memory for ports");
    p->linger[p->linger_count++] = port;
}

/* Ports that have become idle, or that somebody has claimed again. */
static void drop_lingering(struct sim *s, struct part *p)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < p->linger_count; i++) {
        struct port *pt = &s->port[p->linger[i]];

        if (pt->part != p->id || pt->holds)
            continue;
        if (port_is_idle(p, p->linger[i]))
            pt->part = PART_NONE;
        else
            p->linger[kept++] = p->linger[i];
    }
    p->linger_count = kept;
}

/* ---- joining ---- */

static uint32_t member_count(const struct part *p)
{
    return p->flow_count + p->swtch_count * 16;
}

static void move_port(void *to, uint32_t port)
{
    struct part *p = to;

    p->port[port].part = p->id;
}

void part_move_flow(struct sim *s, struct part *to, uint32_t flow)
{
    struct flow_tx *t = &s->tx[flow];

    flow_each_port(s, t, move_port, to);
    check(reserve_row(&to->flow, to->flow_count, &to->flow_cap), "out of memory for members");
    t->member = to->flow_count;
    to->flow[to->flow_count++] = flow;
}

void part_move_swtch(struct sim *s, struct part *to, uint32_t row)
{
    swtch_each_port(s, &s->swtch[row], move_port, to);
    check(part_hold_swtch(to, row) == 0, "out of memory for members");
}

int part_hold_swtch(struct part *p, uint32_t row)
{
    if (!reserve_row(&p->swtch, p->swtch_count, &p->swtch_cap))
        return WH_ERR_NOMEM;
    p->swtch[p->swtch_count++] = row;
    return 0;
}

/* Packets of the flow may still be on the way @was; it stays held until they are gone. */
static void keep_old(struct part *p, const struct flow_tx *was, uint32_t flow)
{
    if (p->old_count == p->old_cap) {
        const uint32_t cap = p->old_cap ? 2 * p->old_cap : 8;
        struct old_way *old = realloc(p->old, cap * sizeof *old);

        check(old != NULL, "out of memory for %u ways", cap);
        p->old = old;
        p->old_cap = cap;
    }
    p->old[p->old_count++] = (struct old_way){flow, *was};
}

static void move_events(struct part *to, struct part *from, int64_t delta)
{
    struct event e;

    while (calendar_pop(&from->cal, TIME_NEVER, &e)) {
        e.time += delta;
        e.sched += delta;
        e.chain += delta;
        calendar_push(&to->cal, &e);
    }
}

static void move_final(struct part *to, struct part *from, int64_t delta)
{
    for (uint32_t i = 0; i < from->final_count; i++)
        part_announce(to, from->final[i] + delta);
}

static void move_old(struct sim *s, struct part *to, struct part *from)
{
    for (uint32_t i = 0; i < from->old_count; i++) {
        flow_each_port(s, &from->old[i].was, move_port, to);
        keep_old(to, &from->old[i].was, from->old[i].flow);
    }
    from->old_count = 0;
}

/* Moves all of @from to @to and ends @from. Both stand at the present control event. */
static void join(struct sim *s, struct part *to, struct part *from)
{
    const int64_t delta = from->offset - to->offset;

    dcheck(to != from && !from->note_count, "partition %u is joined with %u", to->id, from->id);
    shard_gather(from);
    if (delta)
        part_rebase(s, from, delta);
    move_events(to, from, delta);
    move_final(to, from, delta);
    for (uint32_t i = 0; i < from->flow_count; i++)
        part_move_flow(s, to, from->flow[i]);
    for (uint32_t i = 0; i < from->swtch_count; i++)
        part_move_swtch(s, to, from->swtch[i]);
    for (uint32_t i = 0; i < from->linger_count; i++) {
        if (s->port[from->linger[i]].part != from->id)
            continue;
        s->port[from->linger[i]].part = to->id;
        check(reserve_row(&to->linger, to->linger_count, &to->linger_cap), "out of memory");
        to->linger[to->linger_count++] = from->linger[i];
    }
    to->active += from->active;
    to->closes += from->closes;
    to->running += from->running;
    move_old(s, to, from);
    from->flow_count = from->swtch_count = from->linger_count = 0;
    part_end(s, from);
    if (to->cut)
        shard_adopt_wires(to);
    s->joins++;
}

struct part *part_unite(struct sim *s, struct part *a, uint32_t id)
{
    struct part *b = id == PART_NONE ? NULL : s->parts[id];

    if (!b || a == b)
        return a;
    if (!a) {
        part_at_control(b);
        return b;
    }
    part_at_control(b);
    if (member_count(a) < member_count(b)) {
        struct part *t = a;

        a = b;
        b = t;
    }
    join(s, a, b);
    return a;
}

void part_unite_port(void *found, uint32_t port)
{
    struct part_found *f = found;

    f->p = part_unite(f->s, f->p, f->s->port[port].part);
}

/* @p and all that hold ports of the flow; NULL stands for none. */
static struct part *unite_ways(struct sim *s, struct part *p, const struct flow_tx *t)
{
    struct part_found f = {s, p};

    flow_each_port(s, t, part_unite_port, &f);
    return f.p;
}

/* ---- the whole run at once, for ORDER_NS3 ---- */

static uint32_t fixed_root(struct sim *s, uint32_t port)
{
    while (s->fixed[port] != port) {
        s->fixed[port] = s->fixed[s->fixed[port]];
        port = s->fixed[port];
    }
    return port;
}

static void fixed_unite(struct sim *s, uint32_t a, uint32_t b)
{
    a = fixed_root(s, a);
    b = fixed_root(s, b);
    s->fixed[a > b ? a : b] = a > b ? b : a;
}

/* A port and what is to be with it. */
struct fixing {
    struct sim *s;
    uint32_t port;
};

static void fix_port(void *arg, uint32_t port)
{
    const struct fixing *x = arg;

    fixed_unite(x->s, x->port, port);
}

/* With all flows of the run at once; coupled ones stay so. */
static void fix_swtch(struct sim *s, uint32_t row)
{
    struct swtch *sw = &s->swtch[row];

    sw->coupled = (uint8_t)!quiet_is_quiet(s, row);
    if (sw->coupled)
        swtch_each_port(s, sw, fix_port, &(struct fixing){s, sw->first_port});
}

int part_fix_all(struct sim *s)
{
    const uint32_t ports = s->topo->port_count;

    s->fixed = malloc((ports + 1) * sizeof *s->fixed);
    if (!s->fixed)
        return WH_ERR_NOMEM;
    for (uint32_t i = 0; i < ports; i++)
        s->fixed[i] = i;
    for (uint32_t f = 0; f < s->flow_count; f++) {
        if (!flow_prepare(s, f))
            continue; /* without a path it never moves */
        quiet_count(s, f);
        flow_each_port(s, &s->tx[f], fix_port, &(struct fixing){s, s->path[s->tx[f].path]});
    }
    for (uint32_t i = 0; i < s->swtch_count; i++)
        fix_swtch(s, i);
    for (uint32_t i = 0; i < ports; i++)
        s->fixed[i] = fixed_root(s, i);
    return 0;
}

/* The partition of the component; made when its first flow starts. */
static struct part *fixed_part(struct sim *s, uint32_t port)
{
    const uint32_t root = s->fixed[port];
    struct part *p;

    if (s->mark[root])
        return s->parts[s->mark[root]];
    p = part_create(s);
    if (p)
        s->mark[root] = p->id;
    return p;
}

/* ---- flows ---- */

static struct part *find_part(struct sim *s, uint32_t flow)
{
    struct part *p;

    if (s->fixed)
        return fixed_part(s, s->path[s->tx[flow].path]);
    if (quiet_add(s, flow))
        return NULL;
    p = unite_ways(s, NULL, &s->tx[flow]);
    return p ? p : part_create(s);
}

int part_admit(struct sim *s, uint32_t flow)
{
    struct flow_tx *t = &s->tx[flow];
    struct part *p;

    if (s->is_serial) {
        part_at_control(&s->part);
        return 0;
    }
    p = find_part(s, flow);
    if (!p || !reserve_row(&p->flow, p->flow_count, &p->flow_cap))
        return WH_ERR_NOMEM;
    part_at_control(p);
    t->member = p->flow_count;
    p->flow[p->flow_count++] = flow;
    p->active++;
    p->running++;
    flow_each_port(s, t, part_claim_port, p);
    return 0;
}

void part_touch(struct sim *s, struct part *p)
{
    p->touch_ps = s->now;
    if (p->touched || s->fixed)
        return;
    p->touched = 1;
    s->touched[s->touched_count++] = p->id;
}

void part_dismiss(struct sim *s, uint32_t flow)
{
    struct part *p;

    if (s->is_serial)
        return;
    p = part_of_flow(s, flow);
    p->active--;
    p->closes++;
    part_touch(s, p);
}

int part_move(struct sim *s, uint32_t flow, const struct flow_tx *old)
{
    struct flow_tx *t = &s->tx[flow];
    struct part *p;

    if (s->is_serial)
        return 0;
    if (quiet_add(s, flow))
        return WH_ERR_NOMEM;
    p = unite_ways(s, part_of_port(s, old->port), t);
    part_at_control(p);
    keep_old(p, old, flow);
    flow_each_port(s, t, part_claim_port, p);
    part_touch(s, p);
    return 0;
}

static int queue_has(const struct sim *s, uint32_t head, uint32_t flow)
{
    for (uint32_t row = head; row; row = s->pkt[row].next)
        if (s->pkt[row].flow == flow && s->pkt[row].type != PKT_PFC)
            return 1;
    return 0;
}

static int path_has(const struct sim *s, uint32_t row, uint32_t flow)
{
    for (; s->path[row] != PATH_END; row++) {
        struct port *pt = &s->port[s->path[row]];

        if (queue_has(s, shard_wire_head(part_of_port(s, s->path[row]), s->path[row]), flow))
            return 1;
        for (uint32_t c = 0; pt->backlog && c < s->class_count; c++)
            if (queue_has(s, port_queue(s, pt, s->path[row], c)->head, flow))
                return 1;
    }
    return 0;
}

static int ways_have(const struct sim *s, const struct flow_tx *t, uint32_t flow)
{
    for (uint32_t i = 0; i < t->path_count; i++)
        if (path_has(s, t->path + i * t->path_stride, flow) ||
            path_has(s, t->ack_path + i * t->ack_stride, flow))
            return 1;
    return 0;
}

/*
 * No packet of a closed flow is under way. On one path and with no byte sent twice there cannot be:
 * all data has arrived, and the acknowledgements before the last one have too.
 */
static int is_drained(const struct sim *s, uint32_t flow)
{
    const struct flow_tx *t = &s->tx[flow];

    if (t->bypass_head)
        return 0;
    if (t->path_count == 1 && !t->retx_bytes && s->result[flow].state == FLOW_DONE)
        return 1;
    return !ways_have(s, t, flow);
}

static void leave(struct sim *s, struct part *p, uint32_t index)
{
    const uint32_t flow = p->flow[index], last = p->flow[--p->flow_count];
    struct flow_tx *t = &s->tx[flow];

    p->flow[index] = last;
    s->tx[last].member = index;
    quiet_remove(s, t);
    flow_each_port(s, t, part_release_port, p);
    flow_gone(s, flow);
}

static int is_over(const struct part *p)
{
    return !p->flow_count && !p->swtch_count && !p->linger_count && !p->old_count;
}

static void drop_members(struct sim *s, struct part *p)
{
    for (uint32_t i = p->flow_count; i > 0; i--)
        if (!s->tx[p->flow[i - 1]].active && s->result[p->flow[i - 1]].state != FLOW_ACTIVE &&
            is_drained(s, p->flow[i - 1]))
            leave(s, p, i - 1);
    for (uint32_t i = p->swtch_count; i > 0; i--)
        if (quiet_release(s, p, p->swtch[i - 1]))
            p->swtch[i - 1] = p->swtch[--p->swtch_count];
}

static void drop_old(struct sim *s, struct part *p)
{
    for (uint32_t i = p->old_count; i > 0; i--) {
        const struct old_way o = p->old[i - 1];

        if (ways_have(s, &o.was, o.flow))
            continue;
        quiet_remove(s, &o.was);
        flow_each_port(s, &o.was, part_release_port, p);
        p->old[i - 1] = p->old[--p->old_count];
    }
}

static void part_tidy(struct sim *s, struct part *p)
{
    stage_forget_origin(p);
    if (part_next_event(p) <= p->touch_ps - p->offset)
        return; /* it stopped with its last flow and lags behind; it is touched when it runs again
                 */
    part_at(p, p->touch_ps);
    drop_old(s, p);
    drop_members(s, p);
    drop_lingering(s, p);
    if (is_over(p))
        part_end(s, p);
    else if (!p->old_count &&
             (p->closes * 8 >= p->flow_count || p->flow_count <= SPLIT_ALWAYS_FLOWS))
        part_split(s, p);
}

void part_tidy_all(struct sim *s)
{
    for (uint32_t i = 0; i < s->touched_count; i++) {
        struct part *p = s->parts[s->touched[i]];

        p->touched = 0;
        if (p->run_index != ROW_NONE)
            part_tidy(s, p);
    }
    s->touched_count = 0;
}
