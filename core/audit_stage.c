/*
 * audit_stage.c - how far off is what comes from the memo through the fcg lens?
 *
 * A hit gives a partition what another one did that was like it. For an audit the stage is executed
 * from the partition's own state, and what its flows have got by the end of it is compared with
 * what they are given. As after a skip the error is what that does to the sum of completion times,
 * by fluids (audit.c); where all flows end within the stage it is the difference of the times.
 *
 * From there on the partition is in the state of the other one. How far chance may carry it is
 * found as for stretches between skips: the stage is executed once more, disturbed. Whoever takes
 * the same entry goes on from the same state, so what chance does to one of them it does to all:
 * their rows have the key of the entry.
 *
 * The lens also nudges lone flows to a round number of packets left (stage_look.c), which counts as
 * skipped; such a flow is so near its end that it is executed to it.
 */
#include "audit_int.h"
#include "lens.h"
#include "rng.h"

#include <math.h>
#include <stdlib.h>

/* ---- which ---- */

static double flow_time_s(const struct part *p, const struct audit_view *v, int64_t until)
{
    return (double)(until - p->now) * 1e-12 * v->flow_count;
}

int audit_stage(struct part *p, const struct audit_view *v, int64_t until)
{
    struct audit *a = audit__open(p, v);
    struct audit_sums *sums = &p->audited;

    if (p->now > a->from)
        audit_stretch(p, v, 0);
    a->counts = a->is_repeated = a->is_exact = 0;
    for (uint32_t i = 0; i < v->flow_count; i++)
        a->more[i] = 0;
    sums->stages_all++;
    sums->stage_all_s += flow_time_s(p, v, until);
    a->draw = audit__draw_of(p, v->flow_id, v->flow_count, STREAM_HIT);
    a->counts = (uint8_t)(v->flow_count <= FLUID_FLOWS_MAX && audit__is_touched(p, v) &&
                          audit__is_shared(v, a) && checkpoint_can(p));
    sums->stretches_all += a->counts;
    if (a->counts)
        sums->stretch_all_s += flow_time_s(p, v, until);
    if (!audit__is_drawn(p, a->draw))
        return 0;
    if (checkpoint_can(p))
        return 1;
    sums->refused++;
    return 0;
}

/* ---- what it is off by ---- */

/* Nothing is left of any flow at the end of it. */
static int ends_all(const struct part *p, const struct audit_view *v, const int64_t *bytes)
{
    for (uint32_t i = 0; i < v->flow_count; i++) {
        const struct flow_tx *t = &p->tx[v->flow_id[i]];

        if (t->size - t->snd_una > bytes[i])
            return 0;
    }
    return 1;
}

/* How much later than they were executed flows end that end at @until; in seconds. */
static double find_late(const struct audit_view *v, const struct audit *a, int64_t until)
{
    double late = 0;

    for (uint32_t i = 0; i < v->flow_count; i++)
        if (a->ended[i] >= 0)
            late += (double)(until - a->ended[i]) * 1e-12;
    return late;
}

/* What was executed beyond @until: what is left by then counts instead. */
static void forget_later_ends(const struct audit_view *v, struct audit *a, int64_t until)
{
    for (uint32_t i = 0; i < v->flow_count; i++)
        if (a->ended[i] > until)
            a->ended[i] = -1;
}

static int has_unended(const struct part *p, const struct audit_view *v, const struct audit *a)
{
    for (uint32_t i = 0; i < v->flow_count; i++)
        if (a->ended[i] < 0 && p->tx[v->flow_id[i]].snd_una < p->tx[v->flow_id[i]].size)
            return 1;
    return 0;
}

/* The stage from the partition's own state; it stands at the end then, or beyond where that tells
 * when flows end that are said to. Returns 1 if the times of all ends are known. */
static int execute(struct part *p, const struct audit_view *v, const struct audit_taken *t,
                   struct audit *a)
{
    const int is_end = ends_all(p, v, t->bytes);
    const int64_t from = p->now;

    audit__execute(p, v, t->until, a);
    a->is_exact = (uint8_t)t->is_as_known(p, t);
    audit__find_rates(p, v, a, t->until - from);
    if (is_end && has_unended(p, v, a)) {
        const uint64_t before = p->events;

        audit__go_on(p, v, 2 * t->until - from, a);
        a->events += p->events - before;
    }
    return is_end && !has_unended(p, v, a);
}

/* Sum of completion times with the hit, less that without, in seconds. The partition stands at the
 * beginning. */
static double find_error(const struct part *p, const struct audit_view *v, struct audit *a,
                         const struct audit_taken *t, int knows_ends)
{
    if (knows_ends)
        return find_late(v, a, t->until);
    forget_later_ends(v, a, t->until);
    for (uint32_t i = 0; i < v->flow_count; i++) {
        const struct flow_tx *f = &p->tx[v->flow_id[i]];

        a->more[i] = (double)(a->delivered[i] - t->bytes[i]);
        a->left[i] = (double)(f->size - f->snd_una - t->bytes[i]) - a->ahead[i];
        a->left_else[i] = a->ended[i] < 0 ? a->left[i] - a->more[i] : 0;
    }
    return find_late(v, a, t->until) + audit__compare_ends(v, a);
}

/* ---- what chance could do ---- */

/* Sum of completion times as the stage was executed, less that with its flows shifted. The
 * partition stands at the beginning. */
static double find_change(struct part *p, const struct audit_view *v, struct audit *a,
                          const struct audit_taken *t)
{
    double change;

    forget_later_ends(v, a, t->until);
    for (uint32_t i = 0; i < v->flow_count; i++) {
        const struct flow_tx *f = &p->tx[v->flow_id[i]];

        a->left[i] = a->ended[i] < 0 ? (double)(f->size - f->snd_una - a->delivered[i]) : 0;
    }
    change = -find_late(v, a, t->until);
    checkpoint_take(p, a->checkpoint);
    audit__disturb(p, v);
    audit__execute(p, v, t->until, a);
    for (uint32_t i = 0; i < v->flow_count; i++) {
        const struct flow_tx *f = &p->tx[v->flow_id[i]];

        a->left_else[i] = a->ended[i] < 0 ? (double)(f->size - f->snd_una) : 0;
    }
    change += find_late(v, a, t->until);
    checkpoint_put(p, a->checkpoint);
    return change + audit__compare_ends(v, a);
}

/* ---- the whole ---- */

/* Whole packets are counted, in both: 1/6 is the variance of the difference of two such counts. */
#define PACKETS_VARIANCE (1.0 / 6)

static uint64_t magnitude_ps(double s)
{
    return (uint64_t)llrint(fabs(s) * 1e12);
}

static void note_hit(struct audit_hits *h, const struct audit_view *v, const struct audit *a,
                     const struct audit_taken *t, double error_s)
{
    uint64_t bytes = 0, off = 0;

    for (uint32_t i = 0; i < v->flow_count; i++) {
        bytes += (uint64_t)t->bytes[i];
        off += (uint64_t)llabs(a->delivered[i] - t->bytes[i]);
    }
    h->bytes += bytes;
    h->bytes_off += off;
    if (bytes && (double)off / (double)bytes > h->bytes_off_max)
        h->bytes_off_max = (double)off / (double)bytes;
    h->flows += v->flow_count;
    h->off_ps += magnitude_ps(error_s);
    if (magnitude_ps(error_s) / v->flow_count > h->off_ps_max)
        h->off_ps_max = magnitude_ps(error_s) / v->flow_count;
}

static void note_error(struct part *p, const struct audit_view *v, const struct audit_taken *t,
                       double error_s)
{
    struct audit *a = p->audit;
    struct audit_sums *sums = &p->audited;
    struct audit_row row = {a->draw, 0, error_s, flow_time_s(p, v, t->until),
                            CHANCE * error_s * error_s};

    note_hit(&a->hits, v, a, t, error_s);
    if (error_s != 0)
        row.variance_s2 += PACKETS_VARIANCE * audit__packets_s2(p, v, a);
    sums->stages++;
    sums->events += a->events;
    sums->stage_error_ps += llrint(error_s * 1e12);
    sums->stage_flow_s += row.flow_s;
    audit__add_row(a, AUDIT_STAGE, rng_mix(t->entry), row);
}

static void note_change(struct part *p, const struct audit_view *v, const struct audit_taken *t,
                        double change_s)
{
    struct audit *a = p->audit;
    struct audit_sums *sums = &p->audited;
    const double flow_s = flow_time_s(p, v, t->until);

    sums->stretches++;
    sums->events += a->events;
    sums->stretch_flow_s += flow_s;
    audit__add_row(a, AUDIT_STRETCH, rng_mix(t->entry),
                   (struct audit_row){a->draw, 0, 0, flow_s, CHANCE * change_s * change_s});
}

void audit_stage_run(struct part *p, const struct audit_view *v, const struct audit_taken *t)
{
    struct audit *a = p->audit;
    int knows_ends;

    checkpoint_take(p, a->checkpoint);
    knows_ends = execute(p, v, t, a);
    checkpoint_put(p, a->checkpoint);
    note_error(p, v, t, find_error(p, v, a, t, knows_ends));
    if (a->counts)
        note_change(p, v, t, find_change(p, v, a, t));
}

void audit_stage_end(struct part *p, const struct audit_view *v)
{
    struct audit *a = p->audit;

    a->counts = a->is_repeated = 0;
    for (uint32_t i = 0; !a->is_exact && i < v->flow_count; i++)
        p->tx[v->flow_id[i]].is_replayed = 1;
    if (!a->is_open)
        return;
    for (uint32_t i = 0; i < v->flow_count; i++)
        a->ahead[i] += a->more[i];
    if (!p->frozen_ps)
        audit__begin_stretch(p, v, a);
}

/* ---- nudges ---- */

/* Of a lone flow near its end: it is executed to its end, as it is and with the nudge. */
#define NUDGE_SPANS 4096 /* it may be slow, but has few packets left */

/* When the flow ends from here, local; -1: not soon. */
static int64_t find_end(struct part *p, const struct audit_view *v, struct audit *a)
{
    checkpoint_take(p, a->checkpoint);
    audit__execute(p, v, p->now + NUDGE_SPANS * lens_span_ps(p), a);
    checkpoint_put(p, a->checkpoint);
    p->audited.events += a->events;
    return a->ended[0];
}

void audit_nudge(struct part *p, const struct audit_view *v, int64_t elapsed_ps)
{
    struct audit *a = audit__open(p, v);

    a->nudge_end = -1;
    p->audited.nudges_all++;
    p->audited.nudge_s += (double)elapsed_ps * 1e-12;
    p->audited.stage_all_s += (double)elapsed_ps * 1e-12;
    a->draw = audit__draw_of(p, v->flow_id, v->flow_count, STREAM_AUDIT);
    if (!audit__is_drawn(p, a->draw))
        return;
    if (checkpoint_can(p))
        a->nudge_end = find_end(p, v, a);
    p->audited.refused += a->nudge_end < 0;
}

void audit_nudge_end(struct part *p, const struct audit_view *v, int64_t elapsed_ps)
{
    struct audit *a = p->audit;
    const int64_t end = a->nudge_end < 0 ? -1 : find_end(p, v, a);
    const int64_t late_ps = end + elapsed_ps - a->nudge_end;
    const double late_s = (double)late_ps * 1e-12;
    struct audit_row row = {a->draw, 0, late_s, (double)elapsed_ps * 1e-12,
                            CHANCE * late_s * late_s};

    p->tx[v->flow_id[0]].is_replayed = 1;
    if (end < 0)
        return;
    p->audited.nudges++;
    p->audited.stage_error_ps += late_ps;
    p->audited.stage_flow_s += row.flow_s;
    audit__add_row(a, AUDIT_STAGE, rng_mix((uint64_t)late_ps) ^ rng_mix((uint64_t)elapsed_ps), row);
}

struct audit_hits audit_hits_of(const struct part *p)
{
    return p->audit ? p->audit->hits : (struct audit_hits){.flows = 0};
}
