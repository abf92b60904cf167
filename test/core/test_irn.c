/*
 * Selective repeat against a naive twin: packets arrive in random order, with copies and a short
 * last one; the sender resends what has not been reported.
 */
#include "rng.h"
#include "sim_fixture.h"
#include "sim_int.h"
#include "units.h"

#include <criterion/criterion.h>

#define MTU 1000u
#define PACKETS 3000u
#define SIZE ((int64_t)(PACKETS - 1) * MTU + 123)

static struct sim *one_flow(void)
{
    struct sim_config c = fix_config(CC_NONE);
    struct sim *s;

    c.recovery = RECOVERY_SELECTIVE_REPEAT;
    s = fix_sim(fix_chain(1, 100 * GBPS, PS_PER_US), &c);
    fix_flow(s, 0, 1, SIZE, 0);
    cr_assert_eq(sim_run(s, 0), 0);
    return s;
}

static uint32_t payload_of(uint32_t packet)
{
    return packet + 1 < PACKETS ? MTU : 123;
}

static int64_t twin_expected(const uint8_t *got)
{
    uint32_t i = 0;

    while (i < PACKETS && got[i])
        i++;
    return i < PACKETS ? (int64_t)i * MTU : SIZE;
}

/* Packets within @window ahead of what is expected, or behind it, in random order. */
static void receive_all(uint64_t seed, uint32_t window)
{
    struct sim *s = one_flow();
    struct irn_rx *r = s->rx[0].irn;
    uint8_t got[PACKETS] = {0};
    int64_t expected = 0;

    for (uint64_t i = 0; expected < SIZE; i++) {
        const uint32_t first = (uint32_t)(expected / MTU);
        const uint32_t shift = rng_below(rng_u64(seed, 1, i), window + 20);
        const uint32_t packet = first + shift < 20 ? 0 : first + shift - 20;
        int is_new;

        if (packet >= PACKETS)
            continue;
        expected = irn_rx_accept(r, expected, (int64_t)packet * MTU, payload_of(packet), SIZE, MTU,
                                 &is_new);
        cr_assert_eq(is_new, !got[packet], "seed %lu, packet %u", (unsigned long)seed, packet);
        got[packet] = 1;
        cr_assert_eq(expected, twin_expected(got), "seed %lu, packet %u", (unsigned long)seed,
                     packet);
    }
    sim_destroy(s);
}

Test(irn, receiver_agrees_with_a_list_of_what_arrived)
{
    receive_all(1, 1);
    receive_all(2, 10);
    receive_all(3, 200);
    receive_all(4, 300); /* the ring begins with 256 */
    receive_all(5, 2500);
}

/* Random reports; what is resent is what was not reported below the highest report, each once. */
static void resend_all(uint64_t seed, uint32_t sent)
{
    struct sim *s = one_flow();
    struct flow_tx *f = &s->tx[0];
    uint8_t reported[PACKETS] = {0};
    uint32_t high = 0;

    f->snd_nxt = (int64_t)sent * MTU;
    for (uint32_t i = 1; i < sent; i++) {
        if (rng_below(rng_u64(seed, 2, i), 3) == 0)
            continue;
        irn_tx_sack(f->irn, (int64_t)i * MTU, MTU);
        reported[i] = 1;
        high = i;
    }
    cr_assert_eq(irn_tx_has_resend(f->irn, f, MTU), 0, "not before a recovery begins");
    irn_tx_recover(f->irn, f);
    for (uint32_t i = 0; i < high; i++)
        if (!reported[i])
            cr_assert_eq(irn_tx_next(f->irn, f, MTU), (int64_t)i * MTU);
    cr_assert_eq(irn_tx_next(f->irn, f, MTU), -1);
    irn_tx_recover(f->irn, f); /* one round only, until the timeout */
    cr_assert_eq(irn_tx_next(f->irn, f, MTU), -1);
    f->retries = 1;
    irn_tx_recover(f->irn, f);
    for (uint32_t i = 0; i < sent; i++)
        if (!reported[i])
            cr_assert_eq(irn_tx_next(f->irn, f, MTU), (int64_t)i * MTU);
    cr_assert_eq(irn_tx_next(f->irn, f, MTU), -1);
    sim_destroy(s);
}

Test(irn, sender_resends_what_was_not_reported)
{
    resend_all(1, 5);
    resend_all(2, 100);
    resend_all(3, 256);
    resend_all(4, 257);
    resend_all(5, 2900);
}
