/*
 * dag_coll.c - collectives under way.
 *
 * The k-th call of a member on a group belongs to the group's k-th collective. Its lanes go on
 * whenever a step has what it needs (see coll.h); a message of 0 bytes is counted at once. A member
 * is through when all its sends are handed over and all its messages have arrived; with nothing to
 * move it is through when it calls, after a barrier when all have called.
 */
#include "dag_int.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- making and forgetting ---- */

static void inst_destroy(struct inst *x)
{
    if (!x)
        return;
    free(x->lane);
    free(x->in);
    free(x->left);
    free(x->task);
    free(x->has_joined);
    free(x);
}

static int alloc_rows(struct inst *x)
{
    const size_t n = x->plan.n;

    x->lane = calloc(n * x->plan.lane_count + 1, sizeof *x->lane);
    x->in = calloc(n * x->plan.in_count + 1, sizeof *x->in);
    x->left = calloc(n, sizeof *x->left);
    x->task = calloc(n, sizeof(struct task *));
    x->has_joined = calloc(n, 1);
    return x->lane && x->in && x->left && x->task && x->has_joined ? 0 : WH_ERR_NOMEM;
}

/* What each member has to send and to get. */
static void fill_rows(struct inst *x)
{
    const struct coll_plan *p = &x->plan;

    for (uint32_t m = 0; m < p->n && p->ops; m++) {
        for (uint32_t l = 0; l < p->lane_count; l++) {
            struct lane *lane = &x->lane[(size_t)m * p->lane_count + l];

            lane->steps = p->ops->step_count(p, m, l);
            x->left[m] += lane->steps;
        }
        for (uint32_t i = 0; i < p->in_count; i++)
            x->left[m] += p->ops->in_total(p, m, i);
    }
}

static int take_slot(struct dag *d, struct inst *x)
{
    if (!d->inst_free_count) {
        const uint32_t cap = d->inst_cap ? 2 * d->inst_cap : 16;
        struct inst **rows = realloc(d->inst, cap * sizeof(struct inst *));
        uint32_t *free_rows;

        if (!rows)
            return WH_ERR_NOMEM;
        d->inst = rows;
        free_rows = realloc(d->inst_free, cap * sizeof *free_rows);
        if (!free_rows)
            return WH_ERR_NOMEM;
        d->inst_free = free_rows;
        for (uint32_t i = cap; i-- > d->inst_cap;) {
            d->inst[i] = NULL;
            d->inst_free[d->inst_free_count++] = i;
        }
        d->inst_cap = cap;
    }
    x->slot = d->inst_free[--d->inst_free_count];
    d->inst[x->slot] = x;
    return 0;
}

static int inst_create(struct dag *d, const struct task *t, uint32_t seq, struct inst **out)
{
    const struct group *g = &d->spec.groups->groups[t->op.group];
    struct inst *x = calloc(1, sizeof *x);
    struct inst **at;
    int rc;

    if (!x)
        return WH_ERR_NOMEM;
    rc = coll_plan_init(&x->plan, g, &t->op.call, &d->e);
    if (!rc)
        rc = alloc_rows(x);
    if (!rc)
        rc = take_slot(d, x);
    if (rc) {
        inst_destroy(x);
        return rc;
    }
    fill_rows(x);
    x->asked = t->op.call;
    x->first_rank = t->rank;
    x->number = d->next_number++;
    x->group = t->op.group;
    x->seq = seq;
    x->called_ps = dag__now(d);
    x->start_ps = -1;
    for (at = &d->group[x->group].first; *at; at = &(*at)->next)
        ; /* calls come in order, so a new one is the last */
    *at = x;
    *out = x;
    return 0;
}

static void check_end(const struct inst *x)
{
    const struct coll_plan *p = &x->plan;

    dcheck(x->bytes == coll_total_bytes(p) || (!p->ops && x->bytes == 0),
           "%s of %" PRId64 " B: sent %" PRId64 " B, expected %" PRId64,
           coll_kind_name(p->call.kind), p->call.bytes, x->bytes, coll_total_bytes(p));
    for (uint32_t m = 0; m < p->n; m++)
        dcheck(x->left[m] == 0, "member %u: %" PRId64 " messages left", m, x->left[m]);
    (void)p;
}

static void inst_end(struct dag *d, struct inst *x)
{
    struct inst **at = &d->group[x->group].first;
    const struct coll_record r = {
        .number = x->number,
        .group_id = x->group,
        .group = x->plan.g,
        .call = x->plan.call,
        .called_ps = x->called_ps,
        .all_called_ps = x->all_called_ps,
        .start_ps = x->start_ps < 0 ? x->called_ps : x->start_ps,
        .end_ps = x->end_ps,
        .flows = x->flows,
        .bytes = x->bytes,
        .relay_bytes = x->relay_bytes,
        .expected_bytes = coll_total_bytes(&x->plan),
    };

    check_end(x);
    d->counters.colls++;
    d->counters.colls_empty += x->flows == 0;
    if (d->spec.observer.on_coll)
        d->spec.observer.on_coll(d->spec.observer.ctx, &r);
    while (*at != x)
        at = &(*at)->next;
    *at = x->next;
    d->inst[x->slot] = NULL;
    d->inst_free[d->inst_free_count++] = x->slot;
    inst_destroy(x);
}

void dag__coll_fini(struct dag *d)
{
    for (uint32_t i = 0; i < d->inst_cap; i++)
        inst_destroy(d->inst[i]);
    for (uint32_t g = 0; d->group && g < d->spec.groups->count; g++)
        free(d->group[g].calls);
    free(d->inst);
    free(d->inst_free);
    free(d->group);
}

/* ---- progress ---- */

/* The last of these may forget the collective: @x is not to be used behind it. */
static void end_member_if_over(struct dag *d, struct inst *x, uint32_t member)
{
    struct task *t = x->task[member];

    if (!t || x->left[member])
        return;
    x->task[member] = NULL;
    x->end_ps = dag__now(d);
    x->finished++;
    dag__end_task(d, t);
    if (x->finished == x->plan.n)
        inst_end(d, x);
}

static void queue_lane(struct dag *d, struct inst *x, uint32_t member, uint32_t lane)
{
    struct lane *l = &x->lane[(size_t)member * x->plan.lane_count + lane];

    if (l->is_queued || l->pos == l->steps || !x->has_joined[member])
        return;
    l->is_queued = 1;
    dag__queue(d, &(struct item){.rank = x->plan.g->rank[member],
                                 .kind = ITEM_LANE,
                                 .order = x->number,
                                 .sub = lane,
                                 .inst = x->slot,
                                 .member = member});
}

/* A message is in inbox @in of @dst. */
static void arrive(struct dag *d, struct inst *x, uint32_t dst, uint32_t in)
{
    const struct coll_plan *p = &x->plan;
    uint32_t first, count;

    x->in[(size_t)dst * p->in_count + in]++;
    dcheck(x->in[(size_t)dst * p->in_count + in] <= p->ops->in_total(p, dst, in),
           "member %u got too many messages in inbox %u", dst, in);
    x->left[dst]--;
    p->ops->lanes_of(p, in, &first, &count);
    for (uint32_t l = first; l < first + count; l++)
        queue_lane(d, x, dst, l);
    end_member_if_over(d, x, dst);
}

void dag__coll_arrived(struct dag *d, const struct msg *m)
{
    arrive(d, d->inst[m->inst], m->dst, m->in);
}

void dag__coll_handed_over(struct dag *d, const struct msg *m)
{
    struct inst *x = d->inst[m->inst];

    x->lane[(size_t)m->member * x->plan.lane_count + m->lane].under_way--;
    x->left[m->member]--;
    queue_lane(d, x, m->member, m->lane);
    end_member_if_over(d, x, m->member);
}

static int has_needed(const struct inst *x, uint32_t member, const struct coll_send *s)
{
    const uint32_t *in = &x->in[(size_t)member * x->plan.in_count];

    for (int i = 0; i < 2; i++)
        if (s->need_in[i] != COLL_IN_NONE && in[s->need_in[i]] < s->need[i])
            return 0;
    return 1;
}

/* A straggler's flows start later than asked, so the first one asked for need not be the first. */
static void note_start(struct inst *x, int64_t start_ps)
{
    if (x->start_ps < 0 || start_ps < x->start_ps)
        x->start_ps = start_ps;
}

static int send_step(struct dag *d, struct inst *x, uint32_t member, uint32_t lane,
                     const struct coll_send *s)
{
    const struct group *g = x->plan.g;
    const int is_relay = coll_is_relay(&x->plan, s);
    const struct net_send n = {.src = g->rank[member],
                               .dst = g->rank[s->dst],
                               .bytes = s->bytes,
                               .connection = x->group * COLL_CHANNELS_MAX + s->channel,
                               .user = (uint32_t)x->number,
                               .label = x->task[member]->op.label};
    struct msg m = {.kind = MSG_COLL,
                    .inst = x->slot,
                    .member = member,
                    .lane = lane,
                    .dst = s->dst,
                    .in = s->in};

    const int rc = dag__net_send(d, &n, &m);

    if (rc)
        return rc;
    note_start(x, sim_flow_result(d->s, m.flow)->start_ps);
    x->flows++;
    x->bytes += is_relay ? 0 : s->bytes;
    x->relay_bytes += is_relay ? s->bytes : 0;
    return 0;
}

void dag__coll_lane(struct dag *d, const struct item *i)
{
    struct inst *x = d->inst[i->inst];
    const uint32_t member = i->member, lane = i->sub;
    struct lane *l = &x->lane[(size_t)member * x->plan.lane_count + lane];
    struct coll_send s;

    l->is_queued = 0;
    while (l->pos < l->steps && l->under_way < x->plan.window) {
        x->plan.ops->step(&x->plan, member, lane, l->pos, &s);
        if (!has_needed(x, member, &s))
            return;
        dcheck(x->has_joined[member] && s.dst != member && s.dst < x->plan.n && s.bytes >= 0,
               "member %u, lane %u, step %u sends %" PRId64 " B to %u", member, lane, l->pos,
               s.bytes, s.dst);
        l->pos++;
        if (s.bytes) {
            const int rc = send_step(d, x, member, lane, &s);

            l->under_way++;
            if (rc) {
                dag__fail(d, rc);
                return;
            }
            continue;
        }
        x->left[member]--;
        arrive(d, x, s.dst, s.in); /* @x outlives it: @member is not through yet */
    }
    end_member_if_over(d, x, member);
}

/* ---- calls ---- */

static int refuse_call(struct dag *d, const struct task *t, const struct inst *x)
{
    const struct coll_call *a = &t->op.call, *b = &x->asked;

    return err_set(&d->e, WH_ERR_INPUT, NULL, 0,
                   "group '%s', call %u: rank %u calls %s of %" PRId64 " B (%s, operation %" PRIu64
                   "), rank %u calls %s of %" PRId64
                   " B (%s), expected the same call by all members",
                   x->plan.g->name, x->seq, t->rank, coll_kind_name(a->kind), a->bytes,
                   coll_algo_name(a->algo), t->op.id, x->first_rank, coll_kind_name(b->kind),
                   b->bytes, coll_algo_name(b->algo));
}

/* The collective that the next call of @member on its group belongs to. */
static int find_inst(struct dag *d, const struct task *t, uint32_t member, struct inst **out)
{
    struct group_state *gs = &d->group[t->op.group];
    const uint32_t n = d->spec.groups->groups[t->op.group].rank_count;
    uint32_t seq;

    if (!gs->calls)
        gs->calls = calloc(n, sizeof *gs->calls);
    if (!gs->calls)
        return WH_ERR_NOMEM;
    seq = gs->calls[member]++;
    for (struct inst *x = gs->first; x; x = x->next) {
        if (x->seq != seq)
            continue;
        *out = x;
        return coll_call_equals(&x->asked, &t->op.call) ? 0 : refuse_call(d, t, x);
    }
    return inst_create(d, t, seq, out);
}

static void join_barrier(struct dag *d, struct inst *x)
{
    const uint32_t n = x->plan.n;

    for (uint32_t m = 0; m < n && x->joined == n; m++)
        end_member_if_over(d, x, m); /* the last one forgets @x */
}

int dag__coll_start(struct dag *d, struct task *t)
{
    struct inst *x;
    uint32_t member;
    int rc;

    if (t->op.group >= d->spec.groups->count)
        return err_set(&d->e, WH_ERR_INPUT, NULL, 0,
                       "rank %u, operation %" PRIu64 ": found group %u, expected one below %u",
                       t->rank, t->op.id, t->op.group, d->spec.groups->count);
    member = group_member(&d->spec.groups->groups[t->op.group], t->rank);
    if (member == RANK_NONE)
        return err_set(&d->e, WH_ERR_INPUT, NULL, 0,
                       "rank %u, operation %" PRIu64 ": found group '%s', of which it is no member",
                       t->rank, t->op.id, d->spec.groups->groups[t->op.group].name);
    rc = find_inst(d, t, member, &x);
    if (rc)
        return rc;
    t->inst = x->slot;
    t->link = x->number;
    x->task[member] = t;
    x->has_joined[member] = 1;
    x->all_called_ps = dag__now(d);
    x->joined++;
    dag__begin_comm(d, t);
    if (x->plan.call.kind == COLL_BARRIER) {
        join_barrier(d, x);
        return 0;
    }
    for (uint32_t l = 0; l < x->plan.lane_count; l++)
        queue_lane(d, x, member, l);
    end_member_if_over(d, x, member);
    return 0;
}
