/*
 * audit.c - see audit.h.
 *
 * The error of a skip is what it does to the completion times of the flows. At its end the flows
 * have less or more left than if the stretch had been executed; how long they still take is that of
 * fluids (fluid.h) in both cases, and the difference of the sums is the error. Within an episode
 * later skips begin from a state that earlier ones have changed: what the flows would have had
 * otherwise is carried along, or flows that wander apart in many small steps would count for too
 * much.
 */
#include "audit.h"

#include "checkpoint.h"
#include "fluid.h"
#include "rng.h"
#include "sim_int.h"
#include "units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STREAM_AUDIT UINT64_C(0x5b3a0002)
#define FLUID_FLOWS_MAX 128u /* above, errors are added up flow by flow */

struct audit {
    struct checkpoint *checkpoint;
    int64_t *start, *delivered, *ended; /* by the stretch; ended: after, -1: not; of the flows */
    double *ahead;                      /* what earlier audits of the episode found, bytes */
    double *rate, *skip_left, *left;    /* of the flows */
    double *room;                       /* of the ports */
    double *scratch;
    uint32_t flow_cap, port_cap, scratch_cap;
    uint8_t is_new; /* nothing is ahead */
};

/* ---- room ---- */

static void grow(void *rows, size_t row_bytes, uint32_t cap)
{
    check(!rows_grow(rows, row_bytes, cap), "out of memory for an audit of %u rows", cap);
}

static void reserve(struct audit *a, uint32_t flows, uint32_t ports)
{
    if (flows > a->flow_cap) {
        a->flow_cap = 2 * flows;
        grow(&a->start, sizeof *a->start, a->flow_cap);
        grow(&a->delivered, sizeof *a->delivered, a->flow_cap);
        grow(&a->ended, sizeof *a->ended, a->flow_cap);
        grow(&a->ahead, sizeof *a->ahead, a->flow_cap);
        grow(&a->rate, sizeof *a->rate, a->flow_cap);
        grow(&a->skip_left, sizeof *a->skip_left, a->flow_cap);
        grow(&a->left, sizeof *a->left, a->flow_cap);
    }
    if (ports > a->port_cap) {
        a->port_cap = 2 * ports;
        grow(&a->room, sizeof *a->room, a->port_cap);
    }
    if (2 * a->flow_cap + 3 * a->port_cap > a->scratch_cap) {
        a->scratch_cap = 2 * a->flow_cap + 3 * a->port_cap;
        grow(&a->scratch, sizeof *a->scratch, a->scratch_cap);
    }
}

static struct audit *find_audit(struct part *p)
{
    if (p->audit)
        return p->audit;
    p->audit = calloc(1, sizeof *p->audit);
    check(p->audit != NULL, "out of memory for an audit");
    p->audit->checkpoint = checkpoint_create();
    check(p->audit->checkpoint != NULL, "out of memory for an audit");
    p->audit->is_new = 1;
    return p->audit;
}

void audit_fini(struct part *p)
{
    struct audit *a = p->audit;

    if (!a)
        return;
    checkpoint_free(a->checkpoint);
    free(a->start);
    free(a->delivered);
    free(a->ended);
    free(a->ahead);
    free(a->rate);
    free(a->skip_left);
    free(a->left);
    free(a->room);
    free(a->scratch);
    free(a);
}

void audit_begin(struct part *p)
{
    if (p->audit)
        p->audit->is_new = 1;
}

/* ---- the sample ---- */

/* By what is the same for any number of threads and any numbering of partitions. */
static int is_drawn(const struct part *p, const struct audit_skip *k)
{
    const double share = p->s->audit_share;
    const uint64_t time = (uint64_t)(p->frozen_at + p->offset);
    uint32_t first = UINT32_MAX;

    for (uint32_t i = 0; i < k->flow_count; i++)
        first = k->flow_id[i] < first ? k->flow_id[i] : first;
    return share >= 1 ||
           rng_double(p->s->cfg.seed, STREAM_AUDIT, rng_mix(time + RNG_STEP) ^ first) < share;
}

/* ---- the stretch, executed ---- */

/* Those that end have nobody who hears of it. */
static void take_ends(struct part *p, const struct audit_skip *k, const struct audit *a)
{
    for (uint32_t n = 0; n < p->note_count; n++) {
        if (p->note[n].what == NOTE_DELIVERED)
            continue;
        for (uint32_t i = 0; i < k->flow_count; i++)
            if (k->flow_id[i] == p->note[n].flow)
                a->ended[i] = p->now - p->frozen_at;
    }
    p->note_count = 0;
}

static void execute(struct part *p, const struct audit_skip *k, struct audit *a)
{
    const int64_t until = p->frozen_at + k->elapsed_ps;

    for (uint32_t i = 0; i < k->flow_count; i++) {
        a->start[i] = p->tx[k->flow_id[i]].snd_una;
        a->ended[i] = -1;
    }
    p->stops_idle = 0;
    do {
        take_ends(p, k, a);
        p->note_stop = 0;
        p->limit = until;
        part_run_plain(p);
    } while (p->note_count);
    for (uint32_t i = 0; i < k->flow_count; i++)
        a->delivered[i] = p->tx[k->flow_id[i]].snd_una - a->start[i];
}

/* ---- what it says ---- */

static void fill_fluid(const struct part *p, const struct audit_skip *k, struct audit *a)
{
    const struct sim *s = p->s;
    const double payload = s->cfg.payload_bytes, wire = payload + s->data_header_bytes;

    for (uint32_t i = 0; i < k->flow_count; i++) {
        const struct flow_tx *t = &p->tx[k->flow_id[i]];
        const double bytes = k->bytes[i] > 0 ? (double)k->bytes[i] : payload;

        a->rate[i] = bytes * 8 / ((double)k->elapsed_ps * 1e-12);
        a->skip_left[i] = (double)(t->size - t->snd_una - k->bytes[i]) - a->ahead[i];
        a->left[i] = a->skip_left[i] - (double)(a->delivered[i] - k->bytes[i]);
        a->ahead[i] += (double)(a->delivered[i] - k->bytes[i]);
    }
    for (uint32_t i = 0; i < k->port_count; i++) {
        const struct port *pt = &p->port[k->port_id[i]];

        a->room[i] = (double)s->kind[pt->kind].rate_bps * payload / (wire + pt->charge);
    }
}

/* Sum of completion times with the skip, less that without, in seconds. */
static double find_error(struct audit *a, const struct audit_skip *k)
{
    const struct fluid f = {k->flow_count, k->port_count, a->rate, a->room, k->path_first, k->path};
    double error = 0;

    for (uint32_t i = 0; i < k->flow_count; i++)
        if (a->ended[i] >= 0)
            error += (double)(k->elapsed_ps - a->ended[i]) * 1e-12;
    if (k->flow_count <= FLUID_FLOWS_MAX)
        return error + fluid_sum_s(&f, a->skip_left, a->scratch) -
               fluid_sum_s(&f, a->left, a->scratch);
    for (uint32_t i = 0; i < k->flow_count; i++)
        error += (a->skip_left[i] - a->left[i]) * 8 / a->rate[i];
    return error;
}

static void note(struct part *p, const struct audit_skip *k, double error_s, uint64_t events)
{
    struct audit_sums *sums = &p->audited;
    const double flow_s = (double)k->elapsed_ps * 1e-12 * k->flow_count;

    sums->skips++;
    sums->events += events;
    sums->error_ps += llrint(error_s * 1e12);
    sums->flow_s += flow_s;
    sums->square_s2 += error_s * error_s;
    sums->cross_s2 += error_s * flow_s;
    sums->flow_square_s2 += flow_s * flow_s;
}

void audit_skip(struct part *p, const struct audit_skip *k)
{
    const uint64_t before = p->events;
    uint64_t events;
    struct audit *a;

    if (!k->elapsed_ps || !is_drawn(p, k))
        return;
    if (!checkpoint_can(p)) {
        p->audited.refused++;
        return;
    }
    a = find_audit(p);
    reserve(a, k->flow_count, k->port_count);
    if (a->is_new)
        memset(a->ahead, 0, k->flow_count * sizeof *a->ahead);
    a->is_new = 0;
    checkpoint_take(p, a->checkpoint);
    execute(p, k, a);
    events = p->events - before;
    checkpoint_put(p, a->checkpoint);
    fill_fluid(p, k, a);
    note(p, k, find_error(a, k), events);
}

void audit_add(struct audit_sums *to, const struct audit_sums *more)
{
    to->skips += more->skips;
    to->refused += more->refused;
    to->events += more->events;
    to->error_ps += more->error_ps;
    to->flow_s += more->flow_s;
    to->square_s2 += more->square_s2;
    to->cross_s2 += more->cross_s2;
    to->flow_square_s2 += more->flow_square_s2;
}
