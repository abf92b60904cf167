/*
 * irn.c - selective repeat: which packets of a flow have arrived out of order.
 *
 * Idea: IRN (Mittal et al., SIGCOMM 2018): the receiver keeps what comes out of order and reports
 * each such packet; the sender, from the first report on, resends only what lies below the highest
 * reported packet and has not been reported itself, once per recovery, and falls back on the
 * timeout if a resent packet is lost again. Packets are numbered by seq / mtu (only the last may be
 * short).
 */
#include "sim_int.h"

#include <stdlib.h>
#include <string.h>

#define RING_PACKETS 256u /* grows by doubling when a flow has more in flight */

/* Bits of the packets [base, base + cap). */
struct ring {
    uint64_t *bits;
    uint64_t base;
    uint32_t cap;
};

struct irn_rx {
    struct ring got;
};

struct irn_tx {
    struct ring sacked;
    int64_t high; /* one past the highest reported or, after a timeout, sent byte */
    int64_t next; /* resend from here */
    int64_t end;  /* recovery ends when this is acknowledged; 0: not in recovery */
};

static int ring_get(const struct ring *r, uint64_t i)
{
    const uint64_t bit = i & (r->cap - 1);

    if (i < r->base || i >= r->base + r->cap)
        return 0;
    return r->bits[bit / 64] >> (bit % 64) & 1;
}

static void ring_put(struct ring *r, uint64_t i, int value)
{
    const uint64_t bit = i & (r->cap - 1);

    if (value)
        r->bits[bit / 64] |= UINT64_C(1) << (bit % 64);
    else
        r->bits[bit / 64] &= ~(UINT64_C(1) << (bit % 64));
}

static void ring_grow(struct ring *r, uint64_t i)
{
    struct ring wide = {NULL, r->base, r->cap};

    while (i >= r->base + wide.cap)
        wide.cap *= 2;
    wide.bits = calloc(wide.cap / 64, sizeof *wide.bits);
    check(wide.bits != NULL, "out of memory for a window of %u packets", wide.cap);
    for (uint64_t k = r->base; k < r->base + r->cap; k++)
        if (ring_get(r, k))
            ring_put(&wide, k, 1);
    free(r->bits);
    *r = wide;
}

static void ring_set(struct ring *r, uint64_t i)
{
    if (i < r->base)
        return;
    if (i >= r->base + r->cap)
        ring_grow(r, i);
    ring_put(r, i, 1);
}

static void ring_advance(struct ring *r, uint64_t base)
{
    for (uint64_t i = r->base; i < base && i < r->base + r->cap; i++)
        ring_put(r, i, 0);
    if (base > r->base)
        r->base = base;
}

static int ring_init(struct ring *r)
{
    r->cap = RING_PACKETS;
    r->bits = calloc(r->cap / 64, sizeof *r->bits);
    return r->bits ? 0 : WH_ERR_NOMEM;
}

int irn_open(struct sim *s, uint32_t flow)
{
    struct irn_tx *t = calloc(1, sizeof *t);
    struct irn_rx *r = calloc(1, sizeof *r);

    s->tx[flow].irn = t;
    s->rx[flow].irn = r;
    if (!t || !r || ring_init(&t->sacked) || ring_init(&r->got)) {
        irn_close(s, flow);
        return WH_ERR_NOMEM;
    }
    return 0;
}

void irn_close(struct sim *s, uint32_t flow)
{
    struct irn_tx *t = s->tx[flow].irn;
    struct irn_rx *r = s->rx[flow].irn;

    if (t)
        free(t->sacked.bits);
    if (r)
        free(r->got.bits);
    free(t);
    free(r);
    s->tx[flow].irn = NULL;
    s->rx[flow].irn = NULL;
}

int64_t irn_rx_accept(struct irn_rx *r, int64_t expected, int64_t seq, uint32_t payload,
                      int64_t size, uint32_t mtu, int *is_new)
{
    const uint64_t i = (uint64_t)seq / mtu;

    *is_new = seq >= expected && !ring_get(&r->got, i);
    if (!*is_new)
        return expected;
    if (seq > expected) {
        ring_set(&r->got, i);
        return expected;
    }
    expected += payload;
    while (expected < size && ring_get(&r->got, (uint64_t)expected / mtu))
        expected = expected + mtu < size ? expected + mtu : size;
    ring_advance(&r->got, ((uint64_t)expected + mtu - 1) / mtu);
    return expected;
}

void irn_tx_sack(struct irn_tx *t, int64_t seq, uint32_t mtu)
{
    ring_set(&t->sacked, (uint64_t)seq / mtu);
    if (seq > t->high)
        t->high = seq;
}

void irn_tx_ack(struct irn_tx *t, int64_t una, uint32_t mtu)
{
    ring_advance(&t->sacked, ((uint64_t)una + mtu - 1) / mtu);
    if (t->end && una >= t->end)
        t->end = 0;
}

/* A report of a gap, or a timeout (@f->retries > 0: everything outstanding is suspect). */
void irn_tx_recover(struct irn_tx *t, const struct flow_tx *f)
{
    if (f->retries > 0)
        t->high = f->snd_nxt;
    if (t->end && !f->retries)
        return;
    t->end = f->snd_nxt;
    t->next = f->snd_una;
}

static int64_t find_next(struct irn_tx *t, const struct flow_tx *f, uint32_t mtu)
{
    if (!t->end)
        return -1;
    if (t->next < f->snd_una)
        t->next = f->snd_una;
    while (t->next < t->high && ring_get(&t->sacked, (uint64_t)t->next / mtu))
        t->next += mtu;
    return t->next < t->high ? t->next : -1;
}

int irn_tx_has_resend(struct irn_tx *t, const struct flow_tx *f, uint32_t mtu)
{
    return find_next(t, f, mtu) >= 0;
}

int64_t irn_tx_next(struct irn_tx *t, const struct flow_tx *f, uint32_t mtu)
{
    const int64_t seq = find_next(t, f, mtu);

    if (seq >= 0)
        t->next = seq + mtu;
    return seq;
}
