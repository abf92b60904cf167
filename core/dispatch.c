/*
 * dispatch.c - executes the events of one partition, and asks for the rows of coming ones.
 */
#include "sim_int.h"

#define POLL_EVENTS 0x3fffu

static void dispatch(struct part *p)
{
    const uint32_t row = event_row(p->ev.id);
    const struct cc_ops *cc = p->s->cc;

    switch (event_kind(p->ev.id)) {
    case EVENT_WIRE:
        port_on_wire(p, row);
        break;
    case EVENT_TX_DONE:
        port_on_tx_done(p, row);
        break;
    case EVENT_NIC_TIMER:
        nic_on_timer(p, row);
        break;
    case EVENT_CC_TIMER:
    case EVENT_CC_TIMER2:
        if (p->tx[row].active)
            cc->on_timer(p, row, cc_state_of(p->s, row), event_kind(p->ev.id) == EVENT_CC_TIMER2,
                         p->ev.time);
        break;
    case EVENT_RTO:
        sender_on_rto(p, row);
        break;
    case EVENT_ACK_BYPASS:
        receiver_bypass(p, row);
        break;
    }
}

/* How many events ahead each line is asked for: port, packet, path and successor, next port. */
enum { AHEAD_PORT = 12, AHEAD_PKT = 9, AHEAD_PATH = 6, AHEAD_NEXT = 3 };

/* Inlined by force: a function that only prefetches is free of effects, and gcc drops calls of it.
 */
#define ALWAYS_INLINE inline __attribute__((always_inline))

/* Port whose wire the event at @distance is about, PORT_NONE if it is another kind of event. */
static ALWAYS_INLINE uint32_t ahead(const struct part *p, uint32_t distance)
{
    const struct event *e = &p->cal.cur[p->cal.cur_head + distance];

    return event_kind(e->id) == EVENT_WIRE ? event_row(e->id) : PORT_NONE;
}

static ALWAYS_INLINE uint32_t head_of(const struct part *p, uint32_t port)
{
    const struct cut_wire *w = cut_wire_of(p, port);

    return w ? w->head : p->port[port].wire_head;
}

static ALWAYS_INLINE void fetch_port(const struct port *pt)
{
    __builtin_prefetch(&pt->busy_until);
    __builtin_prefetch(&pt->tx_bytes);
}

static ALWAYS_INLINE void fetch_next(const struct part *p, const struct pkt *k)
{
    const uint32_t out = p->path[k->path];

    if (out != PATH_END)
        fetch_port(&p->port[out]);
    else if (k->type == PKT_DATA)
        __builtin_prefetch(&p->rx[k->flow]);
    else
        __builtin_prefetch(&p->tx[k->flow]);
}

/*
 * At 1,024 hosts nearly every row that an event touches has left the cache since it was last used.
 * The events of the open bucket are known in order, so their rows are fetched while earlier ones
 * execute.
 */
static ALWAYS_INLINE void look_ahead(const struct part *p)
{
    uint32_t port;

    if (p->cal.cur_count - p->cal.cur_head <= AHEAD_PORT)
        return;
    port = ahead(p, AHEAD_PORT);
    if (port != PORT_NONE && !cut_wire_of(p, port)) /* else it is another shard's */
        fetch_port(&p->port[port]);
    if ((port = ahead(p, AHEAD_PKT)) != PORT_NONE) {
        const uint32_t row = head_of(p, port);

        __builtin_prefetch(&p->pkt[row]);
        if (p->int_rec)
            __builtin_prefetch(&p->int_rec[row]);
    }
    if ((port = ahead(p, AHEAD_PATH)) != PORT_NONE) {
        const struct pkt *k = &p->pkt[head_of(p, port)];

        __builtin_prefetch(&p->path[k->path]);
        __builtin_prefetch(&p->pkt[k->next]);
    }
    if ((port = ahead(p, AHEAD_NEXT)) != PORT_NONE)
        fetch_next(p, &p->pkt[head_of(p, port)]);
}

static int poll(struct part *p)
{
    struct sim *s = p->s;

    s->now = p->now;
    s->interrupted = (uint8_t)sim_is_stopped(s);
    return s->interrupted;
}

void part_run_plain(struct part *p)
{
    while (calendar_pop(&p->cal, p->limit, &p->ev)) {
        p->now = p->ev.time;
        look_ahead(p);
        dispatch(p);
        if (!(++p->events & POLL_EVENTS) && p->s->is_serial && poll(p))
            return;
    }
}
