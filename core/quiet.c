/*
 * quiet.c - which switches couple the flows that cross them through their buffer.
 *
 * A buffer acts on a flow only by a pause or a drop, and both need an ingress that holds at least
 * the threshold T = (pool - used) >> shift. A flow inside its window W has at most W and a packet
 * in the network; let L be the sum of that over the flows of a switch, L_i over those of ingress i.
 * Then used <= L, ingress i holds at most L_i, and as long as max L_i < (pool - L) >> shift nothing
 * is ever paused or dropped there: the switch is quiet, its buffer need not be accounted, and flows
 * that share no port do not meet in it. Otherwise it is coupled: it counts as a member of a
 * partition, which holds all its ports and their peers (the ways of its pause frames) until its
 * last flow has gone.
 *
 * Flows without a window count with all their bytes. Losses, link changes and packets that overtake
 * one another on the paths of a sprayed flow bring copies into the network, for which there is no
 * such bound: then each switch is coupled. After a timeout a window may be in the network twice.
 */
#include "sim_int.h"

#define LOAD_UNBOUND (INT64_C(1) << 38) /* more than any buffer; 2^24 of them can be added up */

/* Wire bytes of data that the flow can have in the network at once. */
static int64_t load_of(const struct sim *s, uint32_t flow)
{
    const struct flow_tx *t = &s->tx[flow];
    const int64_t mtu = s->cfg.payload_bytes;
    int64_t bytes = t->size;
    int64_t window = t->win > 0 ? t->win_max : 0;

    if (s->any_loss || s->cfg.event_count || t->path_count > 1)
        return LOAD_UNBOUND;
    if (s->cc->window_limit)
        window = s->cc->window_limit(s, t);
    if (window > 0 && window + mtu < bytes)
        bytes = window + mtu;
    bytes = (bytes + mtu - 1) / mtu * (mtu + s->data_header_bytes);
    bytes *= s->cfg.rto == RTO_ON ? 2 : 1;
    return bytes < LOAD_UNBOUND ? bytes : LOAD_UNBOUND;
}

/* Of its acknowledgements, where they queue with data. */
static int64_t ack_load_of(const struct sim *s, int64_t load)
{
    return load / (s->cfg.payload_bytes + s->data_header_bytes) * s->ack_wire_bytes;
}

static int64_t quiet_threshold(const struct sim *s, const struct swtch *sw)
{
    int64_t least = INT64_MAX;

    for (uint32_t p = sw->first_port; p < sw->first_port + sw->port_count; p++) {
        const int64_t t = mmu_threshold(s, sw, p, sw->load);

        least = t < least ? t : least;
    }
    return least;
}

static int is_quiet(struct sim *s, struct swtch *sw)
{
    const int64_t threshold = sw->load < sw->shared_cap ? quiet_threshold(s, sw) : 0;

    if (sw->in_load_max < threshold)
        return 1;
    sw->in_load_max = 0; /* flows that have left may have set it */
    for (uint32_t p = sw->first_port; p < sw->first_port + sw->port_count; p++)
        if (s->in_load[p] > sw->in_load_max)
            sw->in_load_max = s->in_load[p];
    return sw->in_load_max < threshold;
}

/* What accounting from the start would have given: nothing was paused or in headroom. */
static void recount(struct sim *s, struct swtch *sw)
{
    const uint32_t end = sw->first_port + sw->port_count;

    for (uint32_t p = sw->first_port; p < end; p++)
        for (uint32_t c = 1; c < s->class_count; c++)
            for (uint32_t row = port_queue(s, &s->port[p], p, c)->head; row; row = s->pkt[row].next)
                if (s->pkt[row].in_port != PORT_NONE)
                    s->ingress[(size_t)s->pkt[row].in_port * s->class_count + c].bytes +=
                        s->pkt[row].wire_bytes;
    for (uint32_t p = sw->first_port; p < end; p++)
        for (uint32_t c = 1; c < s->class_count; c++)
            sw->shared_used +=
                mmu_above_reserve(s, s->ingress[(size_t)p * s->class_count + c].bytes);
}

static int couple(struct sim *s, uint32_t row)
{
    struct swtch *sw = &s->swtch[row];
    struct part_found f = {s, NULL};

    swtch_each_port(s, sw, part_unite_port, &f);
    if (!f.p)
        f.p = part_create(s);
    if (!f.p || part_hold_swtch(f.p, row))
        return WH_ERR_NOMEM;
    swtch_each_port(s, sw, part_claim_port, f.p);
    sw->coupled = sw->was_coupled = 1;
    recount(s, sw);
    return 0;
}

int quiet_release(struct sim *s, struct part *p, uint32_t row)
{
    struct swtch *sw = &s->swtch[row];
    const uint32_t end = sw->first_port + sw->port_count;

    if (sw->flows)
        return 0;
    for (uint32_t i = sw->first_port; i < end; i++)
        for (uint32_t c = 1; c < s->class_count; c++) {
            const struct ingress *in = &s->ingress[(size_t)i * s->class_count + c];

            if (in->bytes | in->headroom | in->paused)
                return 0;
        }
    sw->coupled = 0;
    swtch_each_port(s, sw, part_release_port, p);
    return 1;
}

/* One path of a flow. Paths of a sprayed flow share their first hops: @before is the last path. */
static void add_path(struct sim *s, uint32_t row, uint32_t before, int64_t bytes, int sign)
{
    for (uint32_t i = 0; s->path[row + i] != PATH_END; i++) {
        const uint32_t in_port = s->port[s->path[row + i]].peer;
        struct swtch *sw;

        if (s->port[in_port].flags & PORT_HOST)
            continue; /* the end, or a host that relays */
        if (before != ROW_NONE && s->path[before + i] == s->path[row + i])
            continue;
        sw = &s->swtch[s->port[in_port].owner];
        sw->flows += (uint32_t)sign;
        sw->load += sign * bytes;
        s->in_load[in_port] += sign * bytes;
        if (!sw->flows)
            sw->in_load_max = 0;
        else if (s->in_load[in_port] > sw->in_load_max)
            sw->in_load_max = s->in_load[in_port];
    }
}

static void add_paths(struct sim *s, const struct flow_tx *t, int sign)
{
    const int64_t acks = s->cfg.ack == ACK_IN_DATA ? ack_load_of(s, t->load_bytes) : 0;

    for (uint32_t i = 0; i < t->path_count; i++) {
        const uint32_t row = t->path + i * t->path_stride;
        const uint32_t ack = t->ack_path + i * t->ack_stride;

        add_path(s, row, i ? row - t->path_stride : ROW_NONE, t->load_bytes, sign);
        if (acks)
            add_path(s, ack, i ? ack - t->ack_stride : ROW_NONE, acks, sign);
    }
}

/* Couples what is not quiet any more along one path. */
static int couple_path(struct sim *s, uint32_t row)
{
    for (; s->path[row] != PATH_END; row++) {
        const struct port *in = &s->port[s->port[s->path[row]].peer];
        struct swtch *sw = &s->swtch[in->owner];

        if ((in->flags & PORT_HOST) || sw->coupled || is_quiet(s, sw))
            continue;
        if (couple(s, in->owner))
            return WH_ERR_NOMEM;
    }
    return 0;
}

int quiet_add(struct sim *s, uint32_t flow)
{
    const struct flow_tx *t = &s->tx[flow];
    int rc = 0;

    quiet_count(s, flow);
    for (uint32_t i = 0; i < t->path_count && !rc; i++) {
        rc = couple_path(s, t->path + i * t->path_stride);
        if (!rc && s->cfg.ack == ACK_IN_DATA)
            rc = couple_path(s, t->ack_path + i * t->ack_stride);
    }
    return rc;
}

void quiet_count(struct sim *s, uint32_t flow)
{
    struct flow_tx *t = &s->tx[flow];

    t->load_bytes = load_of(s, flow);
    add_paths(s, t, 1);
}

int quiet_is_quiet(struct sim *s, uint32_t swtch)
{
    return is_quiet(s, &s->swtch[swtch]);
}

void quiet_remove(struct sim *s, const struct flow_tx *t)
{
    add_paths(s, t, -1);
}
