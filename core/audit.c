/*
 * audit.c - see audit.h.
 *
 * A skip. At its end the flows have less or more left than if the stretch had been executed. How
 * long they still take is that of fluids (fluid.h) in both cases; the difference of the sums of
 * completion times is the error of the skip. Within an episode later skips begin from a state that
 * earlier ones have changed: what the flows would have had otherwise is carried along, or flows
 * that wander apart in many small steps would count for too much.
 *
 * What is executed. After a skip the partition goes on from another state than it would have been
 * in: close in all that was looked at, but packets stand elsewhere. Flows that share a port make
 * much of such a difference, whatever it is. So the stretches between skips are executed a second
 * time, from their beginning, with the flows shifted against each other by up to two round trips,
 * and what that does to completion times is how far chance may carry them.
 *
 * Only flows that a skip has touched count there, and only those that share a port: alone a shift
 * is a shift.
 */
#include "audit_int.h"
#include "fluid.h"
#include "rng.h"
#include "units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Round trips: after a skip packets may stand anywhere; a hit of the fcg lens has moved them by
 * what its bins are wide, an eighth of what is in flight on average. */
#define SHIFT_SKIP 2.0
#define SHIFT_HIT 0.25

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
        grow(&a->sent, sizeof *a->sent, a->flow_cap);
        grow(&a->ended, sizeof *a->ended, a->flow_cap);
        grow(&a->ahead, sizeof *a->ahead, a->flow_cap);
        grow(&a->rate, sizeof *a->rate, a->flow_cap);
        grow(&a->left, sizeof *a->left, a->flow_cap);
        grow(&a->left_else, sizeof *a->left_else, a->flow_cap);
        grow(&a->more, sizeof *a->more, a->flow_cap);
    }
    if (ports > a->port_cap) {
        a->port_cap = 2 * ports;
        grow(&a->room, sizeof *a->room, a->port_cap);
    }
    if (a->flow_cap + 4 * a->port_cap > a->scratch_cap) {
        a->scratch_cap = a->flow_cap + 4 * a->port_cap;
        grow(&a->scratch, sizeof *a->scratch, a->scratch_cap);
    }
}

struct audit *audit__find(struct part *p)
{
    if (p->audit)
        return p->audit;
    p->audit = calloc(1, sizeof *p->audit);
    check(p->audit != NULL, "out of memory for an audit");
    p->audit->checkpoint = checkpoint_create();
    p->audit->beginning = checkpoint_create();
    check(p->audit->checkpoint && p->audit->beginning, "out of memory for an audit");
    return p->audit;
}

struct audit *audit__open(struct part *p, const struct audit_view *v)
{
    struct audit *a = audit__find(p);

    reserve(a, v->flow_count, v->port_count);
    if (!a->is_open)
        memset(a->ahead, 0, v->flow_count * sizeof *a->ahead);
    return a;
}

void audit_fini(struct part *p)
{
    struct audit *a = p->audit;

    if (!a)
        return;
    checkpoint_free(a->checkpoint);
    checkpoint_free(a->beginning);
    free(a->start);
    free(a->delivered);
    free(a->sent);
    free(a->ended);
    free(a->ahead);
    free(a->rate);
    free(a->left);
    free(a->left_else);
    free(a->more);
    free(a->room);
    free(a->scratch);
    free(a->row);
    free(a);
}

/* ---- rows ---- */

static void reserve_rows(struct audit *a, uint32_t count)
{
    if (count <= a->row_cap)
        return;
    a->row_cap = 2 * count;
    grow(&a->row, sizeof *a->row, a->row_cap);
}

void audit__add_row(struct audit *a, enum audit_kind kind, uint64_t key, struct audit_row row)
{
    row.key = (key & ~(uint64_t)AUDIT_KIND_MASK) | kind;
    reserve_rows(a, a->row_count + 1);
    a->row[a->row_count++] = row;
}

/* What is the same whenever the same happens. */
static uint64_t key_of(const struct audit *a, int64_t span_ps, double change_s)
{
    uint64_t key = rng_mix((uint64_t)span_ps + RNG_STEP);

    key = rng_mix(key ^ (uint64_t)llrint(change_s * 1e12));
    return rng_mix(key ^ a->events);
}

uint32_t audit_row_count(const struct part *p)
{
    return p->audit ? p->audit->row_count : 0;
}

const struct audit_row *audit_rows(const struct part *p, uint32_t *count)
{
    *count = audit_row_count(p);
    return p->audit ? p->audit->row : NULL;
}

void audit_save_rows(const struct part *p, uint32_t from, struct bytes *out)
{
    const uint32_t count = audit_row_count(p) - from;

    if (count)
        bytes_put(out, p->audit->row + from, count * sizeof *p->audit->row);
}

void audit_take_rows(struct part *p, const void *rows, uint32_t count)
{
    struct audit *a;

    if (!count)
        return;
    a = audit__find(p);
    reserve_rows(a, a->row_count + count);
    memcpy(a->row + a->row_count, rows, count * sizeof *a->row);
    a->row_count += count;
}

/* ---- the sample ---- */

/* By what is the same for any number of threads and any numbering of partitions. */
uint64_t audit__draw_of(const struct part *p, const uint32_t *flow, uint32_t flow_count,
                        uint64_t stream)
{
    const uint64_t time = (uint64_t)(p->now + p->offset);
    uint32_t first = UINT32_MAX;

    for (uint32_t i = 0; i < flow_count; i++)
        first = flow[i] < first ? flow[i] : first;
    return rng_u64(p->s->cfg.seed, stream, rng_mix(time + RNG_STEP) ^ first);
}

int audit__is_drawn(const struct part *p, uint64_t draw)
{
    return rng_to_double(draw) < p->s->audit_share; /* always below 1 */
}

/* ---- a skip, executed ---- */

/* Those that end have nobody who hears of it. */
static void take_ends(struct part *p, const struct audit_view *v, const struct audit *a)
{
    for (uint32_t n = 0; n < p->note_count; n++) {
        if (p->note[n].what == NOTE_DELIVERED)
            continue;
        for (uint32_t i = 0; i < v->flow_count; i++)
            if (v->flow_id[i] == p->note[n].flow)
                a->ended[i] = p->now;
    }
    p->note_count = 0;
}

void audit__go_on(struct part *p, const struct audit_view *v, int64_t until, struct audit *a)
{
    do {
        take_ends(p, v, a);
        p->note_stop = 0;
        p->limit = until;
        part_run_plain(p);
    } while (p->note_count);
}

void audit__execute(struct part *p, const struct audit_view *v, int64_t until, struct audit *a)
{
    const uint64_t before = p->events;

    for (uint32_t i = 0; i < v->flow_count; i++) {
        a->start[i] = p->tx[v->flow_id[i]].snd_una;
        a->sent[i] = p->tx[v->flow_id[i]].snd_max;
        a->ended[i] = -1;
    }
    p->stops_idle = p->tells_acks = 0;
    audit__go_on(p, v, until, a);
    for (uint32_t i = 0; i < v->flow_count; i++) {
        a->delivered[i] = p->tx[v->flow_id[i]].snd_una - a->start[i];
        a->sent[i] = p->tx[v->flow_id[i]].snd_max - a->sent[i];
    }
    a->events = p->events - before;
}

/* ---- what it says ---- */

static void find_room(const struct part *p, const struct audit_view *v, struct audit *a)
{
    const struct sim *s = p->s;
    const double payload = s->cfg.payload_bytes, wire = payload + s->data_header_bytes;

    for (uint32_t i = 0; i < v->port_count; i++) {
        const struct port *pt = &p->port[v->port_id[i]];

        a->room[i] = (double)s->kind[pt->kind].rate_bps * payload / (wire + pt->charge);
    }
}

static struct fluid fluid_of(const struct audit_view *v, const struct audit *a)
{
    return (struct fluid){v->flow_count, v->port_count, a->rate, a->room, v->path_first, v->path};
}

/* No port carries more than it can. In a->scratch: what its flows want. */
static void cap_rates(const struct audit_view *v, struct audit *a)
{
    const struct fluid f = fluid_of(v, a);

    fluid_loads(&f, a->scratch);
    for (uint32_t i = 0; i < v->flow_count; i++) {
        double least = 1;

        for (uint32_t k = v->path_first[i]; k < v->path_first[i + 1]; k++) {
            const double share = a->room[v->path[k]] / a->scratch[v->path[k]];

            least = share < least ? share : least;
        }
        a->rate[i] *= least;
    }
}

void audit__find_rates(const struct part *p, const struct audit_view *v, struct audit *a,
                       int64_t span_ps)
{
    for (uint32_t i = 0; i < v->flow_count; i++) {
        int64_t bytes = a->delivered[i] > a->sent[i] ? a->delivered[i] : a->sent[i];

        bytes = bytes > p->s->cfg.payload_bytes ? bytes : p->s->cfg.payload_bytes;
        a->rate[i] = (double)bytes * 8 / ((double)span_ps * 1e-12);
    }
    find_room(p, v, a);
    cap_rates(v, a);
}

double audit__compare_ends(const struct audit_view *v, struct audit *a)
{
    const struct fluid f = fluid_of(v, a);
    double difference = 0;

    if (v->flow_count <= FLUID_FLOWS_MAX)
        return fluid_run(&f, a->left, INFINITY, a->scratch) -
               fluid_run(&f, a->left_else, INFINITY, a->scratch);
    for (uint32_t i = 0; i < v->flow_count; i++)
        difference += (a->left[i] - a->left_else[i]) * 8 / a->rate[i];
    return difference;
}

/* Sum of completion times with the skip, less that without, in seconds. */
static double find_error(const struct part *p, const struct audit_view *v, struct audit *a,
                         int64_t elapsed, const int64_t *bytes)
{
    double early = 0;

    find_room(p, v, a);
    for (uint32_t i = 0; i < v->flow_count; i++) {
        const struct flow_tx *t = &p->tx[v->flow_id[i]];
        const double given = (double)(bytes[i] > 0 ? bytes[i] : p->s->cfg.payload_bytes);
        const double more = (double)(a->delivered[i] - bytes[i]);

        a->rate[i] = given * 8 / ((double)elapsed * 1e-12);
        a->left[i] = (double)(t->size - t->snd_una - bytes[i]) - a->ahead[i];
        a->left_else[i] = a->ended[i] < 0 ? a->left[i] - more : 0;
        a->ahead[i] += more;
        if (a->ended[i] >= 0)
            early += (double)(p->frozen_at + elapsed - a->ended[i]) * 1e-12;
    }
    return early + audit__compare_ends(v, a);
}

double audit__packets_s2(const struct part *p, const struct audit_view *v, const struct audit *a)
{
    double sum = 0;

    for (uint32_t i = 0; i < v->flow_count; i++) {
        const double packet_s = 8.0 * p->s->cfg.payload_bytes / a->rate[i];

        sum += packet_s * packet_s;
    }
    return sum;
}

static void note_skip(struct part *p, const struct audit_view *v, int64_t elapsed_ps,
                      double error_s, uint64_t draw)
{
    const double flow_s = (double)elapsed_ps * 1e-12 * v->flow_count;
    struct audit_sums *sums = &p->audited;
    struct audit_row row = {draw, 0, error_s, flow_s, CHANCE * error_s * error_s};

    sums->skips++;
    sums->events += p->audit->events;
    sums->error_ps += llrint(error_s * 1e12);
    sums->flow_s += flow_s;
    row.variance_s2 += audit__packets_s2(p, v, p->audit);
    audit__add_row(p->audit, AUDIT_SKIP, key_of(p->audit, elapsed_ps, error_s), row);
}

void audit_skip(struct part *p, const struct audit_view *v, int64_t elapsed_ps,
                const int64_t *bytes)
{
    const uint64_t draw = audit__draw_of(p, v->flow_id, v->flow_count, STREAM_AUDIT);
    struct audit *a = p->audit;

    if (a->is_busy || !elapsed_ps || !audit__is_drawn(p, draw))
        return;
    if (!checkpoint_can(p)) {
        p->audited.refused++;
        return;
    }
    checkpoint_take(p, a->checkpoint);
    audit__execute(p, v, p->frozen_at + elapsed_ps, a);
    checkpoint_put(p, a->checkpoint);
    note_skip(p, v, elapsed_ps, find_error(p, v, a, elapsed_ps, bytes), draw);
}

/* ---- a stretch between skips, executed again ---- */

/* Skips leave a base behind, also where the exact lens has replayed them; the other one has other
 * bases too. */
static int is_skipped(const struct part *p, const struct audit_view *v)
{
    const int has_other = p->s->memo.lookup && p->s->memo.lens == MEMO_FCG;

    for (uint32_t i = 0; i < v->flow_count; i++) {
        const struct flow_tx *t = &p->tx[v->flow_id[i]];

        if ((has_other ? t->is_skipped : t->base != 0) ||
            (p->reacts && p->s->result[v->flow_id[i]].start_ps > 0))
            return 1;
    }
    return 0;
}

static int is_replayed(const struct part *p, const struct audit_view *v)
{
    for (uint32_t i = 0; i < v->flow_count; i++)
        if (p->tx[v->flow_id[i]].is_replayed)
            return 1;
    return 0;
}

int audit__is_touched(const struct part *p, const struct audit_view *v)
{
    return is_skipped(p, v) || is_replayed(p, v);
}

/* Whoever shares a partition with one is one. */
static void spread_replayed(struct part *p, const struct audit_view *v)
{
    const int any = is_replayed(p, v);

    for (uint32_t i = 0; any && i < v->flow_count; i++)
        p->tx[v->flow_id[i]].is_replayed = 1;
}

/* Counts in a->scratch. */
int audit__is_shared(const struct audit_view *v, const struct audit *a)
{
    for (uint32_t i = 0; i < v->port_count; i++)
        a->scratch[i] = 0;
    for (uint32_t i = 0; i < v->path_first[v->flow_count]; i++)
        if (++a->scratch[v->path[i]] > 1)
            return 1;
    return 0;
}

void audit__disturb(struct part *p, const struct audit_view *v)
{
    const double round_trips = is_skipped(p, v) ? SHIFT_SKIP : SHIFT_HIT;

    for (uint32_t i = 0; i < v->flow_count; i++) {
        struct flow_tx *t = &p->tx[v->flow_id[i]];
        const double draw = rng_double(p->s->cfg.seed, STREAM_SHIFT, v->flow_id[i]);
        const double shift_ns = draw * round_trips * (double)t->base_rtt_ps / PS_PER_NS;

        t->next_avail = t->next_avail > p->now ? t->next_avail : p->now;
        t->next_avail += (int64_t)shift_ns * PS_PER_NS;
    }
}

/* The stretch once more, disturbed. The partition stands at its end, and does afterwards. */
static double replay(struct part *p, const struct audit_view *v, struct audit *a)
{
    const int64_t until = p->now;
    double early = 0;

    if (until <= a->from)
        return 0;
    for (uint32_t i = 0; i < v->flow_count; i++) {
        const struct flow_tx *t = &p->tx[v->flow_id[i]];

        a->left[i] = (double)(t->size - t->snd_una);
        a->delivered[i] = t->snd_una + t->base;
        a->sent[i] = t->snd_max + t->base;
    }
    checkpoint_take(p, a->checkpoint);
    checkpoint_put(p, a->beginning);
    for (uint32_t i = 0; i < v->flow_count; i++) {
        const struct flow_tx *t = &p->tx[v->flow_id[i]];

        a->delivered[i] -= t->snd_una + t->base;
        a->sent[i] -= t->snd_max + t->base;
    }
    audit__find_rates(p, v, a, until - a->from);
    audit__disturb(p, v);
    audit__execute(p, v, until, a);
    for (uint32_t i = 0; i < v->flow_count; i++) {
        const struct flow_tx *t = &p->tx[v->flow_id[i]];

        a->left_else[i] = (double)(t->size - t->snd_una);
        if (a->ended[i] >= 0)
            early += (double)(until - a->ended[i]) * 1e-12;
    }
    checkpoint_put(p, a->checkpoint);
    return early + audit__compare_ends(v, a);
}

void audit__begin_stretch(struct part *p, const struct audit_view *v, struct audit *a)
{
    a->from = p->now;
    a->is_repeated = 0;
    spread_replayed(p, v);
    a->counts = (uint8_t)(v->flow_count <= FLUID_FLOWS_MAX && audit__is_touched(p, v) &&
                          audit__is_shared(v, a) && checkpoint_can(p));
    a->draw = audit__draw_of(p, v->flow_id, v->flow_count, STREAM_STRETCH);
    if (!a->counts || !audit__is_drawn(p, a->draw))
        return;
    a->is_repeated = 1;
    checkpoint_take(p, a->beginning);
}

void audit_begin(struct part *p, const struct audit_view *v)
{
    struct audit *a = audit__find(p);

    if (a->is_busy)
        return;
    a->is_open = 0;
    audit__open(p, v);
    a->is_open = 1;
    audit__begin_stretch(p, v, a);
}

void audit_stretch(struct part *p, const struct audit_view *v, int is_last)
{
    struct audit *a = p->audit;
    struct audit_sums *sums = &p->audited;
    double flow_s;

    if (!a || !a->is_open || a->is_busy)
        return;
    flow_s = (double)(p->now - a->from) * 1e-12 * v->flow_count;
    sums->stretches_all += a->counts;
    if (a->counts)
        sums->stretch_all_s += flow_s;
    if (a->is_repeated) {
        const double change_s = replay(p, v, a);

        sums->stretches++;
        sums->events += a->events;
        sums->stretch_flow_s += flow_s;
        audit__add_row(a, AUDIT_STRETCH, key_of(a, p->now - a->from, change_s),
                       (struct audit_row){a->draw, 0, 0, flow_s, CHANCE * change_s * change_s});
    }
    a->counts = a->is_repeated = 0;
    a->is_open = (uint8_t)!is_last;
}

void audit_thaw(struct part *p, const struct audit_view *v)
{
    if (p->audit && p->audit->is_open && !p->audit->is_busy)
        audit__begin_stretch(p, v, p->audit);
}

/* ---- a hit ---- */

static int is_hit_drawn(const struct part *p, const uint32_t *flow, uint32_t flow_count)
{
    return audit__is_drawn(p, audit__draw_of(p, flow, flow_count, STREAM_HIT));
}

int audit_draws_life(const struct part *p, uint32_t flow)
{
    return p->s->audit_share > 0 && is_hit_drawn(p, &flow, 1);
}

int audit_hit(struct part *p, int64_t global_ps)
{
    struct audit *a;

    if (!is_hit_drawn(p, p->flow, p->flow_count) || !checkpoint_can(p))
        return 0;
    a = audit__find(p);
    checkpoint_take(p, a->checkpoint);
    a->is_busy = 1;
    a->events = p->events;
    p->episode_state = EPISODE_PLAIN;
    p->limit = p->now + global_ps;
    p->stops_idle = 0;
    if (p->s->watch.create)
        freeze_run(p);
    else
        part_run_plain(p);
    a->events = p->events - a->events;
    return 1;
}

void audit_hit_end(struct part *p, int is_same)
{
    struct audit *a = p->audit;
    struct sim *s = p->s;

    checkpoint_put(p, a->checkpoint);
    a->is_busy = 0;
    p->audited.events += a->events;
    s->audit_hits++;
    s->audit_hits_wrong += !is_same;
}

/* ---- sums ---- */

void audit_add(struct audit_sums *to, const struct audit_sums *more, int sign)
{
    const uint64_t u = (uint64_t)(int64_t)sign;

    to->skips += u * more->skips;
    to->refused += u * more->refused;
    to->stretches += u * more->stretches;
    to->stretches_all += u * more->stretches_all;
    to->events += u * more->events;
    to->error_ps += sign * more->error_ps;
    to->flow_s += sign * more->flow_s;
    to->stretch_flow_s += sign * more->stretch_flow_s;
    to->stretch_all_s += sign * more->stretch_all_s;
    to->stages += u * more->stages;
    to->stages_all += u * more->stages_all;
    to->stage_error_ps += sign * more->stage_error_ps;
    to->stage_flow_s += sign * more->stage_flow_s;
    to->stage_all_s += sign * more->stage_all_s;
    to->nudge_s += sign * more->nudge_s;
    to->nudges += u * more->nudges;
    to->nudges_all += u * more->nudges_all;
}
