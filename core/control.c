/*
 * control.c - control events: what happens to the network from outside the packets, by (time, kind,
 * seq). Millions of starts and charges go through it.
 */
#include "sim_int.h"

#include <stdlib.h>

#define KIND_SHIFT 60 /* of agenda_key.order; seq below */

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

    if (rows_grow(&s->control, sizeof *s->control, cap))
        return WH_ERR_NOMEM;
    for (uint32_t i = s->control_cap; i < cap; i++)
        s->control[i].flow = i + 1;
    s->control_free = s->control_cap;
    s->control_cap = cap;
    return 0;
}

int control_push(struct sim *s, const struct control *c)
{
    struct agenda_key key = {c->time, (uint64_t)c->kind << KIND_SHIFT | c->seq, 0};

    if (s->controls.count == s->control_cap && grow(s))
        return WH_ERR_NOMEM;
    key.row = s->control_free;
    if (agenda_put(&s->controls, &key))
        return WH_ERR_NOMEM;
    s->control_free = s->control[key.row].flow;
    s->control[key.row] = *c;
    count(s, c->kind, 1);
    return 0;
}

void control_pop(struct sim *s)
{
    const uint32_t row = agenda_first(&s->controls)->row;

    count(s, s->control[row].kind, UINT32_MAX); /* minus one */
    s->control[row].flow = s->control_free;
    s->control_free = row;
    agenda_take(&s->controls);
}

/* Most ends of charges have nothing to end any more; no round needs to stop there. */
static int is_void(const struct sim *s, const struct control *c)
{
    return c->kind == CONTROL_CHARGE && s->tx[c->flow].is_taken_over;
}

const struct control *control_peek(struct sim *s)
{
    const struct agenda_key *first;

    while ((first = agenda_first(&s->controls))) {
        const struct control *c = &s->control[first->row];
        const uint32_t flow = c->flow;

        if (!is_void(s, c))
            return c;
        control_pop(s);
        ack_charge_drop(s, flow);
    }
    return NULL;
}
