/*
 * dag_p2p.c - sends and receives. The k-th send and the k-th receive of a (sender, receiver, tag)
 * are the two sides of one message; whichever comes first waits in the list of its key. A key lives
 * as long as it has messages.
 */
#include "dag_int.h"

#include "rng.h"

#include <inttypes.h>
#include <stdlib.h>

#define BUCKETS_FIRST 64u
#define SEND_CONNECTION 49000u /* above what groups use first; the label tells sends apart */

static uint32_t bucket_of(const struct dag *d, uint32_t src, uint32_t dst, uint32_t tag)
{
    return (uint32_t)rng_mix(rng_mix((uint64_t)src << 32 | dst) ^ tag) & (d->bucket_cap - 1);
}

static int grow(struct dag *d)
{
    const uint32_t old_cap = d->bucket_cap;
    struct p2p_key **old = d->bucket;
    const uint32_t cap = old_cap ? 2 * old_cap : BUCKETS_FIRST;
    struct p2p_key **rows = calloc(cap, sizeof *rows);

    if (!rows)
        return WH_ERR_NOMEM;
    d->bucket = rows;
    d->bucket_cap = cap;
    for (uint32_t i = 0; i < old_cap; i++) {
        while (old[i]) {
            struct p2p_key *k = old[i];
            struct p2p_key **to = &rows[bucket_of(d, k->src, k->dst, k->tag)];

            old[i] = k->next;
            k->next = *to;
            *to = k;
        }
    }
    free(old);
    return 0;
}

static struct p2p_key *get_key(struct dag *d, uint32_t src, uint32_t dst, uint32_t tag)
{
    struct p2p_key *k;
    struct p2p_key **to;

    if (d->key_count >= d->bucket_cap && grow(d))
        return NULL;
    to = &d->bucket[bucket_of(d, src, dst, tag)];
    for (k = *to; k; k = k->next)
        if (k->src == src && k->dst == dst && k->tag == tag)
            return k;
    k = calloc(1, sizeof *k);
    if (!k)
        return NULL;
    *k = (struct p2p_key){.next = *to, .src = src, .dst = dst, .tag = tag};
    *to = k;
    d->key_count++;
    return k;
}

static void remove_key(struct dag *d, struct p2p_key *k)
{
    struct p2p_key **at = &d->bucket[bucket_of(d, k->src, k->dst, k->tag)];

    while (*at != k)
        at = &(*at)->next;
    *at = k->next;
    free(k);
    d->key_count--;
}

static struct p2p_msg *append_msg(struct dag *d, struct p2p_key *k)
{
    struct p2p_msg *m = calloc(1, sizeof *m);

    if (!m)
        return NULL;
    m->key = k;
    m->number = d->next_number++;
    m->prev = k->last;
    if (k->last)
        k->last->next = m;
    else
        k->first = m;
    k->last = m;
    if (!k->unsent)
        k->unsent = m;
    if (!k->unposted)
        k->unposted = m;
    return m;
}

/* Both sides are through: nobody will ask again. */
static void forget_if_over(struct dag *d, struct p2p_msg *m)
{
    struct p2p_key *k = m->key;

    if (!m->is_sent || !m->is_posted || !m->has_arrived || m->send || m->recv)
        return;
    if (m->prev)
        m->prev->next = m->next;
    else
        k->first = m->next;
    if (m->next)
        m->next->prev = m->prev;
    else
        k->last = m->prev;
    free(m);
    if (!k->first)
        remove_key(d, k);
}

static int check_task(struct dag *d, const struct task *t)
{
    const struct op *o = &t->op;

    if (o->peer < d->spec.place->rank_count && o->bytes >= (o->kind == OP_RECV ? OP_BYTES_ANY : 0))
        return 0;
    return err_set(&d->e, WH_ERR_INPUT, NULL, 0,
                   "rank %u, operation %" PRIu64 ": found %s of %" PRId64
                   " B with rank %u, expected 0 B or more and a rank below %u",
                   t->rank, o->id, op_kind_name(o->kind), o->bytes, o->peer,
                   d->spec.place->rank_count);
}

static int check_sizes(struct dag *d, const struct p2p_msg *m)
{
    if (!m->is_sent || !m->is_posted || m->recv_bytes == OP_BYTES_ANY || m->recv_bytes == m->bytes)
        return 0;
    return err_set(&d->e, WH_ERR_INPUT, NULL, 0,
                   "rank %u sends %" PRId64 " B to rank %u with tag %u, which expects %" PRId64
                   " B",
                   m->key->src, m->bytes, m->key->dst, m->key->tag, m->recv_bytes);
}

static void begin_recv(struct dag *d, struct p2p_msg *m)
{
    if (m->is_sent && m->recv)
        dag__begin_comm(d, m->recv);
}

static void end_recv(struct dag *d, struct p2p_msg *m)
{
    struct task *t = m->recv;

    if (!t || !m->has_arrived)
        return;
    m->recv = NULL;
    dag__end_task(d, t);
}

void dag__p2p_arrived(struct dag *d, struct p2p_msg *m)
{
    m->has_arrived = 1;
    end_recv(d, m);
    forget_if_over(d, m);
}

void dag__p2p_handed_over(struct dag *d, struct p2p_msg *m)
{
    struct task *t = m->send;

    m->send = NULL;
    dag__end_task(d, t);
    forget_if_over(d, m);
}

/* Starts the flow; without bytes, or to itself, nothing travels. */
static int transfer(struct dag *d, struct p2p_msg *m, struct task *t)
{
    const struct net_send n = {.src = t->rank,
                               .dst = t->op.peer,
                               .bytes = t->op.bytes,
                               .connection = SEND_CONNECTION + t->op.label,
                               .user = (uint32_t)m->number,
                               .label = t->op.label};
    struct msg msg = {.kind = MSG_SEND, .p2p = m};
    int rc;

    if (n.bytes == 0 || n.src == n.dst) {
        m->has_arrived = 1;
        end_recv(d, m);
        dag__p2p_handed_over(d, m);
        return 0;
    }
    rc = dag__net_send(d, &n, &msg);
    t->flow = msg.flow;
    return rc;
}

int dag__p2p_send(struct dag *d, struct task *t)
{
    struct p2p_key *k;
    struct p2p_msg *m;
    int rc = check_task(d, t);

    if (rc)
        return rc;
    k = get_key(d, t->rank, t->op.peer, t->op.tag);
    m = k ? k->unsent : NULL;
    if (k && !m)
        m = append_msg(d, k);
    if (!m)
        return WH_ERR_NOMEM;
    k->unsent = m->next;
    m->is_sent = 1;
    m->send = t;
    m->bytes = t->op.bytes;
    t->link = m->number;
    d->counters.sends++;
    rc = check_sizes(d, m);
    if (rc)
        return rc;
    dag__begin_comm(d, t);
    begin_recv(d, m);
    return transfer(d, m, t);
}

int dag__p2p_recv(struct dag *d, struct task *t)
{
    struct p2p_key *k;
    struct p2p_msg *m;
    int rc = check_task(d, t);

    if (rc)
        return rc;
    k = get_key(d, t->op.peer, t->rank, t->op.tag);
    m = k ? k->unposted : NULL;
    if (k && !m)
        m = append_msg(d, k);
    if (!m)
        return WH_ERR_NOMEM;
    k->unposted = m->next;
    m->is_posted = 1;
    m->recv = t;
    m->recv_bytes = t->op.bytes;
    t->link = m->number;
    rc = check_sizes(d, m);
    if (rc)
        return rc;
    begin_recv(d, m);
    end_recv(d, m);
    forget_if_over(d, m);
    return 0;
}

void dag__p2p_fini(struct dag *d)
{
    for (uint32_t i = 0; i < d->bucket_cap; i++) {
        while (d->bucket[i]) {
            struct p2p_key *k = d->bucket[i];

            d->bucket[i] = k->next;
            while (k->first) {
                struct p2p_msg *m = k->first;

                k->first = m->next;
                free(m);
            }
            free(k);
        }
    }
    free(d->bucket);
}
