/*
 * part_split.c - a partition that has come apart is taken apart.
 *
 * Union-find over the members, which meet in the ports that they claim. The largest component stays
 * where it is; each other one becomes a partition in the same frame and takes its flows, ports and
 * events with it.
 *
 * Threading: the coordinator, between rounds.
 */
#include "sim_int.h"
#include "units.h"

#include <stdlib.h>

/* Members: flows first, then coupled switches. */
struct splitter {
    struct sim *s;
    struct part *p;
    uint32_t *root;   /* shape: [count], union-find */
    uint32_t *weight; /* shape: [count], members of the component of a root */
    struct part **to; /* shape: [count], where the component of a root goes */
    uint32_t count;
    uint32_t member; /* whose ports are being looked at */
};

static uint32_t find_root(struct splitter *x, uint32_t i)
{
    while (x->root[i] != i) {
        x->root[i] = x->root[x->root[i]];
        i = x->root[i];
    }
    return i;
}

static void meet(void *arg, uint32_t port)
{
    struct splitter *x = arg;
    uint32_t *mark = &x->s->mark[port];
    uint32_t a, b;

    if (!*mark) {
        *mark = x->member + 1;
        return;
    }
    a = find_root(x, *mark - 1);
    b = find_root(x, x->member);
    x->root[a > b ? a : b] = a > b ? b : a; /* the root is the first member */
}

static void forget(void *arg, uint32_t port)
{
    struct splitter *x = arg;

    x->s->mark[port] = 0;
}

/* @fn with the ports of each member; x->member says whose. */
static void each_port(struct splitter *x, port_fn fn)
{
    const struct sim *s = x->s;
    const uint32_t flows = x->p->flow_count;

    for (x->member = 0; x->member < x->count; x->member++) {
        if (x->member < flows)
            flow_each_port(s, &s->tx[x->p->flow[x->member]], fn, x);
        else
            swtch_each_port(s, &s->swtch[x->p->swtch[x->member - flows]], fn, x);
    }
}

/* Returns how many components there are. */
static uint32_t find_components(struct splitter *x)
{
    uint32_t components = 0;

    for (uint32_t i = 0; i < x->count; i++)
        x->root[i] = i;
    each_port(x, meet);
    each_port(x, forget);
    for (uint32_t i = 0; i < x->count; i++) {
        x->weight[find_root(x, i)]++;
        components += x->root[i] == i;
    }
    return components;
}

static void create_parts(struct splitter *x)
{
    uint32_t largest = 0;

    for (uint32_t i = 0; i < x->count; i++)
        if (x->weight[i] > x->weight[largest])
            largest = i;
    for (uint32_t i = 0; i < x->count; i++) {
        if (x->root[i] != i)
            continue;
        x->to[i] = i == largest ? x->p : part_create(x->s);
        check(x->to[i] != NULL, "out of memory for a partition");
        x->to[i]->offset = x->p->offset;
        x->to[i]->now = x->p->now;
        x->to[i]->ev = x->p->ev;
        x->to[i]->is_fresh = x->p->is_fresh;
    }
}

static void move_members(struct splitter *x)
{
    struct part *p = x->p;
    const uint32_t flows = p->flow_count;
    uint32_t kept = 0, kept_swtch = 0;

    for (uint32_t i = 0; i < x->count; i++) {
        struct part *to = x->to[find_root(x, i)];
        const uint32_t row = i < flows ? p->flow[i] : p->swtch[i - flows];

        if (to == p && i < flows) {
            x->s->tx[row].member = kept;
            p->flow[kept++] = row;
        } else if (to == p) {
            p->swtch[kept_swtch++] = row;
        } else if (i < flows) {
            const uint32_t active = x->s->result[row].state == FLOW_ACTIVE;

            part_move_flow(x->s, to, row);
            to->active += active;
            p->active -= active;
            to->running += x->s->tx[row].active;
            p->running -= x->s->tx[row].active;
        } else {
            part_move_swtch(x->s, to, row);
        }
    }
    p->flow_count = kept;
    p->swtch_count = kept_swtch;
}

/* NULL: the event means nothing any more. */
static struct part *owner_of(const struct sim *s, const struct event *e)
{
    const uint32_t row = event_row(e->id);

    switch (event_kind(e->id)) {
    case EVENT_TX_DONE:
    case EVENT_WIRE:
    case EVENT_NIC_TIMER:
        return s->port[row].part == PART_NONE ? NULL : part_of_port(s, row);
    case EVENT_ACK_BYPASS:
        return part_of_flow(s, row);
    case EVENT_CC_TIMER:
    case EVENT_CC_TIMER2:
    case EVENT_RTO:
        break;
    }
    return s->tx[row].active ? part_of_flow(s, row) : NULL;
}

static void move_split_events(struct splitter *x)
{
    struct calendar all = x->p->cal;
    struct event e;

    calendar_init(&x->p->cal, x->s->longest_hop_ps);
    while (calendar_pop(&all, TIME_NEVER, &e)) {
        struct part *to = owner_of(x->s, &e);

        if (to)
            calendar_push(&to->cal, &e);
    }
    calendar_fini(&all);
}

static void split(struct splitter *x)
{
    struct part *p = x->p;

    shard_gather(p);
    create_parts(x);
    move_members(x);
    move_split_events(x);
    for (uint32_t i = 0; i < x->count; i++) {
        if (x->root[i] != i || x->to[i] == p)
            continue;
        /* whose they are is not known; one too many only makes a round shorter */
        for (uint32_t k = 0; k < p->final_count; k++)
            part_announce(x->to[i], p->final[k]);
        x->s->splits++;
    }
}

void part_split(struct sim *s, struct part *p)
{
    struct splitter x = {.s = s, .p = p, .count = p->flow_count + p->swtch_count};
    uint32_t *rows;

    p->closes = 0;
    if (x.count < 2)
        return;
    rows = calloc(2 * (size_t)x.count, sizeof *rows);
    x.to = calloc(x.count, sizeof *x.to);
    check(rows && x.to, "out of memory for %u members", x.count);
    x.root = rows;
    x.weight = rows + x.count;
    if (find_components(&x) > 1)
        split(&x);
    free(rows);
    free(x.to);
}
