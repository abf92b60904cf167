/*
 * detect_length.c - how long a skip is, and whole packets per flow.
 *
 * A flow delivers rate x time plus what earlier skips left over; of that, whole packets are
 * skipped, to the nearest, and the rest is carried. The skip is aligned so that the flow that ends
 * first comes out at a whole number of packets: then the time to its end is what it would have
 * been, to the rounding of the clock.
 */
#include "detect_int.h"

#include <math.h>

typedef __int128 wide;

#define AMOUNT_MAX (INT64_C(1) << 61) /* leaves room for what is added */

/* @a / @b to the nearest, halves up; a >= 0, b > 0. */
static int64_t divide(wide a, wide b)
{
    const wide q = (a + b / 2) / b;

    return q < AMOUNT_MAX ? (int64_t)q : AMOUNT_MAX;
}

int64_t detect__calc_skip(const struct detect *d, uint32_t flow, int64_t ps)
{
    const struct detect__rate *r = &d->estimate[flow].rate;

    return divide((wide)ps * r->bytes * DETECT__CARRY_UNIT, r->ps) + d->flow[flow].carry;
}

static int64_t round_packets(const struct detect *d, uint32_t flow, int64_t amount)
{
    const int64_t packet = (int64_t)d->flow[flow].payload_bytes * DETECT__CARRY_UNIT;
    const int64_t max = d->estimate[flow].packets_max;
    const int64_t count = amount > 0 ? (amount + packet / 2) / packet : 0;

    return count < max ? count : max;
}

void detect_skip_bytes(const struct detect *d, int64_t elapsed_ps, int64_t *out)
{
    check(d->state == DETECT__FROZEN, "a skip in state %d", (int)d->state);
    for (uint32_t f = 0; f < d->flow_count; f++)
        out[f] = round_packets(d, f, detect__calc_skip(d, f, elapsed_ps)) *
                 (int64_t)d->flow[f].payload_bytes;
}

/* Payload that stays out of the skip: the guard, and at least what is in flight, which belongs to
 * the state that is kept, with a packet to follow it. */
static int64_t calc_reserve_bytes(const struct detect *d, uint32_t flow)
{
    const struct detect__edge *edge = detect__edges(d, d->edge_count - 1) + flow;
    const struct detect__rate *r = &d->estimate[flow].rate;
    const int64_t guard = divide((wide)d->plan.guard_ps * r->bytes, r->ps);
    const int64_t in_flight = edge->in_flight_bytes + (int64_t)d->flow[flow].payload_bytes;

    return guard > in_flight ? guard : in_flight;
}

/* Among flows that end together, the same one whatever their numbers: by what alignment reads. */
static int ends_before(const struct detect *d, uint32_t a, uint32_t b)
{
    const struct detect__rate *ra = &d->estimate[a].rate, *rb = &d->estimate[b].rate;
    const wide left = (wide)ra->bytes * rb->ps, right = (wide)rb->bytes * ra->ps;

    if (left != right)
        return left > right;
    if (d->flow[a].payload_bytes != d->flow[b].payload_bytes)
        return d->flow[a].payload_bytes < d->flow[b].payload_bytes;
    return d->flow[a].carry > d->flow[b].carry;
}

/* Time until flow @f is within its guard, what is carried included, so that rounding never has to
 * give up a whole packet. */
static double calc_end_ps(struct detect *d, uint32_t f, int64_t remaining_bytes)
{
    const struct detect__rate *r = &d->estimate[f].rate;
    const int64_t carry = d->flow[f].carry;
    const int64_t free_bytes = remaining_bytes - calc_reserve_bytes(d, f);
    double bytes = (double)free_bytes;

    if (carry > 0)
        bytes -= (double)carry / DETECT__CARRY_UNIT;
    d->estimate[f].packets_max = free_bytes > 0 ? free_bytes / d->flow[f].payload_bytes : 0;
    return bytes * (double)r->ps / (double)r->bytes;
}

struct detect__end detect__find_end(struct detect *d)
{
    struct detect__end end = {.first_ps = INFINITY, .flow = DETECT_NONE};

    for (uint32_t f = 0; f < d->flow_count; f++) {
        const struct detect__rate *r = &d->estimate[f].rate;
        const int64_t remaining_bytes = detect__remaining_bytes(d, f);
        const double first_ps = calc_end_ps(d, f, remaining_bytes);

        if (first_ps > end.first_ps || (first_ps == end.first_ps && !ends_before(d, f, end.flow)))
            continue;
        end.flow = f;
        end.first_ps = first_ps;
        end.finish_ps = (double)remaining_bytes * (double)r->ps / (double)r->bytes;
    }
    return end;
}

/* The longest time <= @length_ps, but for the rounding to the quantum, in which @flow delivers
 * whole packets; 0 if that is none. */
static int64_t align(const struct detect *d, uint32_t flow, int64_t length_ps)
{
    const struct detect__rate *r = &d->estimate[flow].rate;
    const int64_t packet = (int64_t)d->flow[flow].payload_bytes * DETECT__CARRY_UNIT;
    const int64_t carry = d->flow[flow].carry, quantum = d->p->spec.quantum_ps;
    const int64_t packets =
        (int64_t)(((wide)length_ps * r->bytes * DETECT__CARRY_UNIT / r->ps + carry) / packet);
    const int64_t max = d->estimate[flow].packets_max;
    const int64_t amount = (packets < max ? packets : max) * packet - carry;

    if (amount <= 0)
        return 0;
    return divide((wide)amount * r->ps, (wide)r->bytes * DETECT__CARRY_UNIT * quantum) * quantum;
}

void detect__freeze(struct detect *d, const struct detect__end *end, double length_ps,
                    struct detect_verdict *v)
{
    const double max_ps = (double)DETECT__TIME_PS_MAX;
    const int64_t skip_ps =
        align(d, end->flow, (int64_t)floor(length_ps < max_ps ? length_ps : max_ps));

    if (skip_ps <= 0) {
        detect__fail(d, v, DETECT_TOO_SHORT, end->flow, length_ps, 0);
        return;
    }
    d->state = DETECT__FROZEN;
    detect_skip_bytes(d, skip_ps, d->skip_bytes);
    v->reason = DETECT_STEADY;
    v->flow = v->port = DETECT_NONE;
    v->skip_ps = skip_ps;
    v->skip_bytes = d->skip_bytes;
}
