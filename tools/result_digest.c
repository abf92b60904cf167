/*
 * result_digest.c - see result_digest.h.
 */
#include "result_digest.h"

#include "rng.h"

#include <string.h>

static void mix(uint64_t *d, uint64_t value)
{
    *d = rng_mix(*d ^ value) + RNG_STEP;
}

static void mix_flow(uint64_t *d, const struct sim *s, uint32_t flow)
{
    const struct flow_result *r = sim_flow_result(s, flow);

    mix(d, (uint64_t)r->start_ps);
    mix(d, (uint64_t)r->end_ps);
    mix(d, (uint64_t)r->acked_bytes);
    mix(d, (uint64_t)r->retx_bytes);
    mix(d, (uint64_t)r->sport << 8 | (uint64_t)r->state);
}

static void mix_port(uint64_t *d, const struct sim *s, uint32_t port)
{
    struct port_stats p;

    sim_port_stats(s, port, &p);
    mix(d, p.tx_bytes);
    mix(d, p.tx_packets);
    mix(d, p.marks);
    mix(d, p.drops);
    mix(d, p.losses);
    mix(d, p.pauses_received);
    mix(d, (uint64_t)p.paused_ps);
    mix(d, p.queue_max_bytes);
}

static void mix_counters(uint64_t *d, const struct sim *s)
{
    struct sim_counters c;
    uint64_t word[sizeof c / sizeof(uint64_t)];

    /* so that every counter is in it, also those to come */
    _Static_assert(sizeof c == sizeof word, "counters are words of 64 bits");
    sim_counters(s, &c);
    c.events = 0;
    memcpy(word, &c, sizeof c);
    for (size_t i = 0; i < sizeof word / sizeof *word; i++)
        mix(d, word[i]);
}

uint64_t result_digest(const struct sim *s)
{
    const uint32_t *done;
    uint32_t done_count;
    uint64_t d = sim_flow_count(s);

    for (uint32_t f = 0; f < sim_flow_count(s); f++)
        mix_flow(&d, s, f);
    done = sim_completions(s, &done_count);
    for (uint32_t i = 0; i < done_count; i++)
        mix(&d, done[i]);
    for (uint32_t p = 0; p < sim_topo(s)->port_count; p++)
        mix_port(&d, s, p);
    mix_counters(&d, s);
    return d;
}
