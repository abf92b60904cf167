/*
 * calendar.h - the pending events of one partition, in a total order that is a property of the
 * model.
 *
 * Order: (time, sched, chain, flow, id). `sched` is the simulated time at which the event was
 * scheduled: equal times are served in scheduling order, as ns-3 does. Among events of equal time
 * and sched, `chain` decides, and the simulation chooses what it is (enum order_mode): the schedule
 * time of the scheduling event, a fact about the model alone that is the same however the network
 * is cut and whichever thread inserts; or a count of the events scheduled in the partition, which
 * is ns-3's order exactly.
 *
 * Structure: a calendar queue (R. Brown, CACM 31(10), 1988) with a fixed bucket width, a bitmap of
 * occupied buckets, sort-on-open, and a 4-ary heap for events beyond the last bucket. A calendar
 * with few events is only the heap, so a partition of one flow costs a few hundred bytes.
 * Threading: one owner; no synchronisation.
 */
#ifndef WH_CALENDAR_H
#define WH_CALENDAR_H

#include "err.h"

#include <stdint.h>

struct event {
    int64_t time;  /* local [ps] */
    int64_t sched; /* local [ps] */
    int64_t chain; /* local [ps] */
    uint32_t flow; /* 0 where no flow is concerned */
    uint32_t id;   /* event_id() */
};
_Static_assert(sizeof(struct event) == 32, "two events fit a cache line");

/* Kinds, in the order in which they are served when all else is equal. */
enum event_kind {
    EVENT_TX_DONE,   /* row: port; only where it cannot be worked out later */
    EVENT_WIRE,      /* row: port; head of its wire arrives at the far end */
    EVENT_NIC_TIMER, /* row: port of a host */
    EVENT_CC_TIMER,  /* row: flow */
    EVENT_CC_TIMER2, /* row: flow */
    EVENT_RTO,       /* row: flow */
    EVENT_ACK_BYPASS /* row: flow */
};
#define EVENT_ROW_BITS 28
#define EVENT_ROW_MAX ((UINT32_C(1) << EVENT_ROW_BITS) - 1)

static inline uint32_t event_id(enum event_kind kind, uint32_t row)
{
    return ((uint32_t)kind << EVENT_ROW_BITS) | row;
}

static inline enum event_kind event_kind(uint32_t id)
{
    return (enum event_kind)(id >> EVENT_ROW_BITS);
}

static inline uint32_t event_row(uint32_t id)
{
    return id & EVENT_ROW_MAX;
}

/* event_before - strict total order, see the head of this file. */
static inline int event_before(const struct event *a, const struct event *b)
{
    if (a->time != b->time)
        return a->time < b->time;
    if (a->sched != b->sched)
        return a->sched < b->sched;
    if (a->chain != b->chain)
        return a->chain < b->chain;
    if (a->flow != b->flow)
        return a->flow < b->flow;
    return a->id < b->id;
}

struct cal_node;

struct calendar {
    /* the open bucket: ascending, [cur_head, cur_count) is pending */
    struct event *cur;
    uint32_t cur_head, cur_count, cur_cap;
    uint32_t bucket_count; /* power of two; 0: heap only */
    int64_t cur_slot;      /* time >> shift of the open bucket */
    uint32_t shift;
    uint32_t stored;       /* events in closed buckets */
    uint32_t *bucket;      /* shape: [bucket_count], first node, 0 = empty */
    uint64_t *occupied;    /* shape: [bucket_count / 64], bitmap */
    struct cal_node *node; /* shape: [node_cap], row 0 unused */
    uint32_t node_free, node_cap;
    struct event *heap; /* shape: [heap_cap], 4-ary min-heap */
    uint32_t heap_count, heap_cap;
    struct event *late; /* shape: [late_cap], 4-ary min-heap: of the open bucket, not in cur */
    uint32_t late_count, late_cap;
    uint32_t shift_hint;
    int failed; /* out of memory: an event was lost; checked between rounds */
};

/*
 * calendar_init - an empty calendar.
 * @span_ps: typical distance into the future of most events (longest hop); the buckets cover twice
 * that
 */
void calendar_init(struct calendar *c, int64_t span_ps);
void calendar_fini(struct calendar *c);

/* calendar_push - any time not before that of the last popped event. O(1) amortised. */
void calendar_push(struct calendar *c, const struct event *e);

/*
 * calendar_refill - opens the next bucket, unless all that is pending comes after @limit: what is
 * pushed then must not meet a bucket that was opened for the sake of a look. Returns 0 if nothing
 * was opened.
 */
int calendar_refill(struct calendar *c, int64_t limit);

/* Is the first latecomer the first event (if there are any)? And its removal. Internal to the next
 * two. */
int calendar_late_is_first(const struct calendar *c);
void calendar_pop_late(struct calendar *c);

/* calendar_peek - the first event, NULL if there is none. Valid until the next call. */
static inline const struct event *calendar_peek(struct calendar *c)
{
    if (__builtin_expect(c->late_count > 0, 0) && calendar_late_is_first(c))
        return &c->late[0];
    if (c->cur_head == c->cur_count && !calendar_refill(c, INT64_MAX))
        return NULL;
    return &c->cur[c->cur_head];
}

/* calendar_pop - takes the first event if its time is at most @limit. Returns 0 if there is none.
 */
static inline int calendar_pop(struct calendar *c, int64_t limit, struct event *out)
{
    if (__builtin_expect(c->late_count > 0, 0) && calendar_late_is_first(c)) {
        if (c->late[0].time > limit)
            return 0;
        *out = c->late[0];
        calendar_pop_late(c);
        return 1;
    }
    if (c->cur_head == c->cur_count && !calendar_refill(c, limit))
        return 0;
    if (c->cur[c->cur_head].time > limit)
        return 0;
    *out = c->cur[c->cur_head++];
    return 1;
}

/* calendar_clear - forgets all events; keeps the memory. Any time may come next. */
void calendar_clear(struct calendar *c);

/* calendar_copy - the same events in the same places; memory is that of @from. @to: fresh from
 * calendar_fini. On lack of memory @to has failed. */
void calendar_copy(struct calendar *to, const struct calendar *from);

/* calendar_next_bound - no event comes before it; INT64_MAX if there is none. Changes nothing. */
int64_t calendar_next_bound(const struct calendar *c);

/* calendar_each - @fn with each pending event, in no particular order. */
void calendar_each(const struct calendar *c, void (*fn)(void *arg, const struct event *e),
                   void *arg);

/* calendar_count - events pending. */
uint32_t calendar_count(const struct calendar *c);

#endif
