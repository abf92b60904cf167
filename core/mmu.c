/*
 * mmu.c - the shared buffer of a switch: admission, priority flow control.
 *
 * Source: the reference simulator's SwitchMmu and SwitchNode (docs/model.md has the rules). Per
 * ingress port and class a reserve, then a share of the common pool below a dynamic threshold T =
 * (pool - used) >> shift, then headroom. A class that reaches T is paused, and resumed at dequeue.
 */
#include "sim_int.h"
#include "units.h"

int64_t mmu_headroom(const struct sim *s, const struct port_kind *k)
{
    const __int128 bits = (__int128)k->rate_bps * k->delay_ps;

    if (!s->cfg.buffer_bytes)
        return INT64_MAX / 4; /* unlimited: nothing is dropped, whatever the thresholds */
    if (s->cfg.pfc_headroom_bytes >= 0)
        return s->cfg.pfc_headroom_bytes;
    if (s->cfg.pfc_headroom_bytes == -1) /* reference: rate * delay / 8 / 1e9 * 3 in ns */
        return (int64_t)(bits / PS_PER_NS / 8 / 1000000000) * 3;
    /* two propagation delays, the packet that no longer fits below the threshold, one that the
     * pause frame waits for, one that the neighbour has begun, and the pause frame itself */
    return (int64_t)(2 * bits / 8 / PS_PER_S) + 3 * (int64_t)s->frame_bytes_max + s->cfg.pfc_bytes;
}

static int64_t switch_pool(const struct sim *s, const struct swtch *sw)
{
    int64_t pool = s->cfg.buffer_bytes;

    if (!pool)
        return INT64_MAX / 4;
    for (uint32_t p = sw->first_port; p < sw->first_port + sw->port_count; p++)
        pool -= s->kind[s->port[p].kind].headroom_bytes + s->cfg.pfc_reserve_bytes;
    return pool;
}

void mmu_init(struct sim *s)
{
    int warned = 0;

    for (uint32_t i = 0; i < s->swtch_count; i++) {
        struct swtch *sw = &s->swtch[i];

        sw->shared_cap = switch_pool(s, sw);
        if (sw->shared_cap < 0) {
            if (!warned)
                warn(&s->sink,
                     "switch %u: a buffer of %lld B cannot hold the headroom and reserve of its %u "
                     "ports, %lld B; packets will be dropped in spite of PFC",
                     sw->node, (long long)s->cfg.buffer_bytes, sw->port_count,
                     (long long)(s->cfg.buffer_bytes - sw->shared_cap));
            warned = 1;
            sw->shared_cap = 0;
        }
    }
}

static void send_pfc(struct part *p, uint32_t port, uint32_t cls, int pause)
{
    const uint32_t row = pkt_alloc(p);
    struct pkt *k = &p->pkt[row];

    *k = (struct pkt){.type = PKT_PFC,
                      .payload = (uint16_t)cls,
                      .wire_bytes = (uint16_t)p->s->cfg.pfc_bytes,
                      .flags = pause ? PKT_PAUSE : 0,
                      .in_port = PORT_NONE};
    p->pfc_frames++;
    if (p->port[port].flags & PORT_DOWN) {
        pkt_free(p, row);
        return;
    }
    port_advance(p, port);
    port_enqueue(p, port, row);
    port_kick(p, port);
}

/* SwitchMmu::CheckIngressAdmission, UpdateIngressAdmission, CheckShouldPause. */
int mmu_admit(struct part *p, uint32_t in_port, uint32_t row)
{
    struct sim *s = p->s;
    struct pkt *k = &p->pkt[row];
    struct swtch *sw = &s->swtch[s->port[in_port].owner];
    struct ingress *in = &s->ingress[(size_t)in_port * s->class_count + k->cls];
    const int64_t limit = mmu_threshold(s, sw, in_port, sw->shared_used);
    const uint32_t bytes = k->wire_bytes;
    const int64_t after = mmu_above_reserve(s, (int64_t)in->bytes + bytes);

    if (!sw->coupled) {
        k->in_port = in_port;
        return 1;
    }
    if ((int64_t)bytes + mmu_above_reserve(s, in->bytes) > limit &&
        (int64_t)bytes + in->headroom > s->kind[s->port[in_port].kind].headroom_bytes)
        return 0;
    k->in_port = in_port;
    if (after > limit && after > 0) {
        in->headroom += bytes;
    } else {
        in->bytes += bytes;
        sw->shared_used += after < bytes ? after : bytes;
    }
    if (!in->paused && (in->headroom > 0 || mmu_above_reserve(s, in->bytes) >=
                                                mmu_threshold(s, sw, in_port, sw->shared_used))) {
        send_pfc(p, in_port, k->cls, 1);
        in->paused = 1;
    }
    return 1;
}

void mmu_release(struct part *p, uint32_t in_port, uint32_t cls, uint32_t bytes)
{
    struct sim *s = p->s;
    struct swtch *sw = &s->swtch[s->port[in_port].owner];
    struct ingress *in = &s->ingress[(size_t)in_port * s->class_count + cls];
    const uint32_t from_headroom = in->headroom < bytes ? in->headroom : bytes;
    const uint32_t rest = bytes - from_headroom;
    const int64_t shared = mmu_above_reserve(s, in->bytes);
    int64_t used;

    if (!sw->coupled)
        return;
    in->headroom -= from_headroom;
    sw->shared_used -= shared < rest ? shared : rest;
    in->bytes -= rest;
    dcheck(sw->shared_used >= 0, "switch %u: shared %lld", sw->node, (long long)sw->shared_used);
    if (!in->paused || in->headroom)
        return;
    used = mmu_above_reserve(s, in->bytes);
    if (used == 0 ||
        used + s->cfg.pfc_resume_offset_bytes <= mmu_threshold(s, sw, in_port, sw->shared_used)) {
        send_pfc(p, in_port, cls, 0);
        in->paused = 0;
    }
}
