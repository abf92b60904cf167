/*
 * control.c - control events: what happens to the network from outside the packets, by (time, kind,
 * seq).
 */
#include "sim_int.h"

#include <stdlib.h>

static int is_before(const struct control *a, const struct control *b)
{
    if (a->time != b->time)
        return a->time < b->time;
    if (a->kind != b->kind)
        return a->kind < b->kind;
    return a->seq < b->seq;
}

static void count(struct sim *s, uint8_t kind, uint32_t change)
{
    if (kind == CONTROL_FLOW || kind == CONTROL_CALL)
        s->control_work += change;
    if (kind == CONTROL_NET)
        s->control_net += change;
}

int control_push(struct sim *s, const struct control *c)
{
    uint32_t i;

    if (s->control_count == s->control_cap) {
        const uint32_t cap = s->control_cap ? 2 * s->control_cap : 64;
        struct control *h = realloc(s->control, cap * sizeof *h);

        if (!h)
            return WH_ERR_NOMEM;
        s->control = h;
        s->control_cap = cap;
    }
    i = s->control_count++;
    while (i > 0 && is_before(c, &s->control[(i - 1) / 2])) {
        s->control[i] = s->control[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    s->control[i] = *c;
    count(s, c->kind, 1);
    return 0;
}

const struct control *control_peek(const struct sim *s)
{
    return s->control_count ? &s->control[0] : NULL;
}

void control_pop(struct sim *s)
{
    const struct control last = s->control[--s->control_count];
    const uint32_t left = s->control_count;
    uint32_t i = 0;

    count(s, s->control[0].kind, UINT32_MAX); /* minus one */
    for (;;) {
        uint32_t child = 2 * i + 1;

        if (child >= left)
            break;
        if (child + 1 < left && is_before(&s->control[child + 1], &s->control[child]))
            child++;
        if (!is_before(&s->control[child], &last))
            break;
        s->control[i] = s->control[child];
        i = child;
    }
    if (left)
        s->control[i] = last;
}
