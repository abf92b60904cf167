/*
 * dag_net.c - the flows of a DAG: started, and found again when the network reports on them.
 *
 * Flows under way are in a hash table by id (open addressing, linear probing, deletion by shifting
 * back), so that memory follows what is under way, not what has been.
 */
#include "dag_int.h"

#include "rng.h"

#include "units.h"

#include <stdlib.h>
#include <string.h>

#define MSG_CAP_FIRST 256u
#define SPORT_FIRST 10000u
#define SPORT_COUNT 50000u

static uint32_t home_of(const struct dag *d, uint32_t flow)
{
    return (uint32_t)rng_mix(flow) & (d->msg_cap - 1);
}

static void place(struct dag *d, const struct msg *m)
{
    uint32_t i = home_of(d, m->flow);

    while (d->msg[i].kind != MSG_FREE)
        i = (i + 1) & (d->msg_cap - 1);
    d->msg[i] = *m;
}

static int grow(struct dag *d)
{
    const uint32_t old_cap = d->msg_cap;
    struct msg *old = d->msg;
    const uint32_t cap = old_cap ? 2 * old_cap : MSG_CAP_FIRST;
    struct msg *rows = calloc(cap, sizeof *rows);

    if (!rows)
        return WH_ERR_NOMEM;
    d->msg = rows;
    d->msg_cap = cap;
    for (uint32_t i = 0; i < old_cap; i++)
        if (old[i].kind != MSG_FREE)
            place(d, &old[i]);
    free(old);
    return 0;
}

static struct msg *find_msg(struct dag *d, uint32_t flow)
{
    uint32_t i;

    if (!d->msg_cap)
        return NULL;
    for (i = home_of(d, flow); d->msg[i].kind != MSG_FREE; i = (i + 1) & (d->msg_cap - 1))
        if (d->msg[i].flow == flow)
            return &d->msg[i];
    return NULL;
}

static void remove_msg(struct dag *d, struct msg *m)
{
    const uint32_t mask = d->msg_cap - 1;
    uint32_t hole = (uint32_t)(m - d->msg), i = hole;

    for (;;) {
        i = (i + 1) & mask;
        if (d->msg[i].kind == MSG_FREE)
            break;
        /* A row may move into the hole unless its home lies between the hole and itself. */
        if (((i - home_of(d, d->msg[i].flow)) & mask) < ((i - hole) & mask))
            continue;
        d->msg[hole] = d->msg[i];
        hole = i;
    }
    d->msg[hole].kind = MSG_FREE;
    d->msg_count--;
}

/* INT stamps are whole ns, so HPCC's messages start at them: equal steps then are equal to the last
 * bit, and need not be executed again. */
static int64_t send_time(const struct dag *d)
{
    const int64_t now = sim_now_ps(d->s);

    if (sim_config(d->s)->cc != CC_HPCC)
        return now;
    return (now + PS_PER_NS - 1) / PS_PER_NS * PS_PER_NS;
}

int dag__net_send(struct dag *d, const struct net_send *n, struct msg *m)
{
    const struct flow_spec f = {
        .start_ps = send_time(d),
        .bytes = n->bytes,
        .src = d->spec.place->host[n->src],
        .dst = d->spec.place->host[n->dst],
        .sport = (uint16_t)(SPORT_FIRST + n->connection % SPORT_COUNT),
        .dport = d->spec.dport,
        .prio = d->spec.prio,
        .tag = n->label,
        .user = n->user,
    };
    int rc = 2 * d->msg_count >= d->msg_cap ? grow(d) : 0;

    if (!rc)
        rc = sim_add_flow(d->s, &f, &m->flow);
    if (rc)
        return err_set(&d->e, rc, NULL, 0, "cannot start a flow from rank %u to rank %u: %s",
                       n->src, n->dst, err_text(rc));
    m->bytes = n->bytes;
    place(d, m);
    d->msg_count++;
    d->counters.flows++;
    d->counters.bytes += n->bytes;
    return 0;
}

static void forget_if_over(struct dag *d, uint32_t flow)
{
    struct msg *m = find_msg(d, flow);

    if (m && m->has_arrived && m->is_handed_over)
        remove_msg(d, m);
}

static void on_delivered(void *ctx, struct sim *s, uint32_t flow, int64_t now_ps)
{
    struct dag *d = ctx;
    struct msg *m = find_msg(d, flow);

    (void)s;
    (void)now_ps;
    if (!m || d->rc)
        return; /* not ours: the scenario may have flows of its own */
    m->has_arrived = 1;
    if (m->kind == MSG_COLL)
        dag__coll_arrived(d, m);
    else
        dag__p2p_arrived(d, m->p2p);
    forget_if_over(d, flow);
}

static void on_complete(void *ctx, struct sim *s, uint32_t flow, int64_t now_ps)
{
    struct dag *d = ctx;
    struct msg *m = find_msg(d, flow);

    (void)s;
    (void)now_ps;
    if (!m || d->rc)
        return;
    m->is_handed_over = 1;
    if (m->kind == MSG_COLL)
        dag__coll_handed_over(d, m);
    else
        dag__p2p_handed_over(d, m->p2p);
    forget_if_over(d, flow);
}

static int on_poll(void *ctx, struct sim *s)
{
    struct dag *d = ctx;

    if (d->rc)
        return 1;
    return d->spec.poll ? d->spec.poll(d->spec.poll_ctx, s) : 0;
}

void dag__net_hooks(struct dag *d, struct sim *s)
{
    const struct sim_hooks h = {d, on_complete, on_delivered, on_poll};

    d->s = s;
    sim_set_hooks(s, &h);
}
