/*
 * control.c - control events: what happens to the network from outside the packets, by (time, kind,
 * seq). A heap of short keys, four children each: millions of starts and charges go through it.
 */
#include "sim_int.h"

#include <stdlib.h>

#define KIND_SHIFT 60 /* of struct control_key.order; seq below */
#define CHILDREN 4u

static int is_before(const struct control_key *a, const struct control_key *b)
{
    return a->time < b->time || (a->time == b->time && a->order < b->order);
}

static void count(struct sim *s, uint8_t kind, uint32_t change)
{
    if (kind == CONTROL_FLOW || kind == CONTROL_CALL)
        s->control_work += change;
    if (kind == CONTROL_NET)
        s->control_net += change;
}

/* New rows are free; a free row says in its flow which is the next. */
static int grow(struct sim *s)
{
    const uint32_t cap = s->control_cap ? 2 * s->control_cap : 64;

    if (rows_grow(&s->control, sizeof *s->control, cap) ||
        rows_grow(&s->control_key, sizeof *s->control_key, cap))
        return WH_ERR_NOMEM;
    for (uint32_t i = s->control_cap; i < cap; i++)
        s->control[i].flow = i + 1;
    s->control_free = s->control_cap;
    s->control_cap = cap;
    return 0;
}

static void sift_up(struct control_key *k, uint32_t i, struct control_key e)
{
    while (i > 0 && is_before(&e, &k[(i - 1) / CHILDREN])) {
        k[i] = k[(i - 1) / CHILDREN];
        i = (i - 1) / CHILDREN;
    }
    k[i] = e;
}

int control_push(struct sim *s, const struct control *c)
{
    uint32_t row;

    if (s->control_count == s->control_cap && grow(s))
        return WH_ERR_NOMEM;
    row = s->control_free;
    s->control_free = s->control[row].flow;
    s->control[row] = *c;
    sift_up(s->control_key, s->control_count++,
            (struct control_key){c->time, (uint64_t)c->kind << KIND_SHIFT | c->seq, row});
    count(s, c->kind, 1);
    return 0;
}

static uint32_t first_child(const struct control_key *k, uint32_t i, uint32_t end)
{
    uint32_t first = i;

    for (i++; i < end; i++)
        if (is_before(&k[i], &k[first]))
            first = i;
    return first;
}

/* The hole at the top goes down to the end of a branch; there the last key takes it, and rises. */
void control_pop(struct sim *s)
{
    struct control_key *k = s->control_key;
    const uint32_t left = --s->control_count, row = k[0].row;
    uint32_t i = 0, child;

    count(s, s->control[row].kind, UINT32_MAX); /* minus one */
    s->control[row].flow = s->control_free;
    s->control_free = row;
    while ((child = CHILDREN * i + 1) < left) {
        child = first_child(k, child, child + CHILDREN < left ? child + CHILDREN : left);
        k[i] = k[child];
        i = child;
    }
    sift_up(k, i, k[left]);
}

/* Most ends of charges have nothing to end any more; no round needs to stop there. */
static int is_void(const struct sim *s, const struct control *c)
{
    return c->kind == CONTROL_CHARGE && s->tx[c->flow].is_taken_over;
}

const struct control *control_peek(struct sim *s)
{
    while (s->control_count) {
        const struct control *c = &s->control[s->control_key[0].row];
        const uint32_t flow = c->flow;

        if (!is_void(s, c))
            return c;
        control_pop(s);
        ack_charge_drop(s, flow);
    }
    return NULL;
}
