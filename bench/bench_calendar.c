/*
 * bench_calendar.c - core/calendar.c against a plain 4-ary heap of the same events.
 *
 * Hold model (Jones, CACM 29(4), 1986): with N events pending, take the first and schedule another
 * one some time ahead, over and over. Two kinds of times ahead: "uniform" below twice the span that
 * the calendar was made for; and "hops", what a network of 100 Gb/s links of 1 us asks for: 84 ns
 * (the end of a transmission), 1,084 ns (the arrival of a data packet), 1,005 ns (that of an ACK),
 * as often each as the engine schedules them.
 */
#include "calendar.h"
#include "measure.h"
#include "rng.h"
#include "units.h"

#include <stdio.h>
#include <stdlib.h>

#define SPAN_PS (1084 * PS_PER_NS)
#define SEED UINT64_C(1)

/* ---- the twin: a 4-ary heap, nothing else ---- */

struct heap {
    struct event *e; /* shape: [cap] */
    uint32_t count;
};

static void heap_push(struct heap *h, const struct event *e)
{
    uint32_t i = h->count++;

    while (i > 0) {
        const uint32_t parent = (i - 1) / 4;

        if (!event_before(e, &h->e[parent]))
            break;
        h->e[i] = h->e[parent];
        i = parent;
    }
    h->e[i] = *e;
}

static struct event heap_pop(struct heap *h)
{
    const struct event first = h->e[0], last = h->e[--h->count];
    uint32_t i = 0;

    for (;;) {
        const uint32_t child = 4 * i + 1;
        const uint32_t end = child + 4 < h->count ? child + 4 : h->count;
        uint32_t best = child;

        if (child >= h->count)
            break;
        for (uint32_t k = child + 1; k < end; k++)
            if (event_before(&h->e[k], &h->e[best]))
                best = k;
        if (!event_before(&h->e[best], &last))
            break;
        h->e[i] = h->e[best];
        i = best;
    }
    h->e[i] = last;
    return first;
}

/* ---- the load ---- */

enum ahead { AHEAD_UNIFORM, AHEAD_HOPS };

#define DRAWS 65536u /* drawn beforehand, so that drawing costs nothing in the loop */

static void draw_ahead(int64_t *ahead_ps, enum ahead kind)
{
    static const int64_t hop_ns[8] = {84, 1084, 1084, 1084, 1005, 1005, 1005, 84};

    for (uint32_t i = 0; i < DRAWS; i++) {
        const uint64_t bits = rng_u64(SEED, 1, i);

        ahead_ps[i] = kind == AHEAD_HOPS ? hop_ns[bits % 8] * PS_PER_NS
                                         : (int64_t)(bits % (uint64_t)(2 * SPAN_PS));
    }
}

static struct event first_event(uint32_t i)
{
    return (struct event){.time = (int64_t)(rng_u64(SEED, 2, i) % (uint64_t)SPAN_PS), .id = i};
}

static struct event next_event(const struct event *e, int64_t ahead_ps)
{
    return (struct event){e->time + ahead_ps, e->time, e->sched, e->flow, e->id};
}

/* Seconds per hold; *sum guards against a loop that the compiler sees through, and is compared. */
static double hold_calendar(uint32_t pending, uint32_t holds, const int64_t *ahead_ps, int64_t *sum)
{
    struct calendar c;
    uint32_t taken = 0;
    double start;

    calendar_init(&c, SPAN_PS);
    for (uint32_t i = 0; i < pending; i++) {
        const struct event e = first_event(i);

        calendar_push(&c, &e);
    }
    start = measure_cpu_s();
    for (uint32_t i = 0; i < holds; i++) {
        struct event e = {.time = 0}, next;

        taken += (uint32_t)calendar_pop(&c, TIME_NEVER, &e);
        next = next_event(&e, ahead_ps[i % DRAWS]);
        calendar_push(&c, &next);
        *sum += e.time ^ e.id;
    }
    start = measure_cpu_s() - start;
    check(!c.failed && taken == holds, "took %u of %u events", taken, holds);
    calendar_fini(&c);
    return start / holds;
}

static double hold_heap(uint32_t pending, uint32_t holds, const int64_t *ahead_ps, int64_t *sum)
{
    struct heap h = {.e = malloc((pending + 1) * sizeof *h.e)};
    double start;

    check(h.e != NULL, "out of memory for %u events", pending);
    for (uint32_t i = 0; i < pending; i++) {
        const struct event e = first_event(i);

        heap_push(&h, &e);
    }
    start = measure_cpu_s();
    for (uint32_t i = 0; i < holds; i++) {
        const struct event e = heap_pop(&h);
        const struct event next = next_event(&e, ahead_ps[i % DRAWS]);

        heap_push(&h, &next);
        *sum += e.time ^ e.id;
    }
    start = measure_cpu_s() - start;
    free(h.e);
    return start / holds;
}

/* Both in turn, so that both meet the same disturbances. */
static void measure_one(struct report *r, enum ahead kind, uint32_t pending)
{
    const uint32_t reps = r->o->repetitions;
    const uint32_t holds = r->o->quick ? 200000 : pending > 100000 ? 4000000 : 2000000;
    static int64_t ahead_ps[DRAWS];
    double cal_ns[1000], heap_ns[1000];
    struct spread cal, heap;
    char name[64];

    snprintf(name, sizeof name, "%s-%u", kind == AHEAD_HOPS ? "hops" : "uniform", pending);
    if (!measure_is_wanted(r->o, name))
        return;
    draw_ahead(ahead_ps, kind);
    for (uint32_t i = 0; i < reps; i++) {
        int64_t cal_sum = 0, heap_sum = 0;

        cal_ns[i] = hold_calendar(pending, holds, ahead_ps, &cal_sum) * 1e9;
        heap_ns[i] = hold_heap(pending, holds, ahead_ps, &heap_sum) * 1e9;
        check(cal_sum == heap_sum, "%s: the two disagree on the order", name);
    }
    cal = measure_spread(cal_ns, reps);
    heap = measure_spread(heap_ns, reps);
    report_text(r, "name", name);
    report_spread(r, "calendar_ns", "calendar_min", "calendar_max", &cal);
    report_spread(r, "heap_ns", "heap_min", "heap_max", &heap);
    report_number(r, "calendar_mops", 1000 / cal.median);
    report_number(r, "heap_mops", 1000 / heap.median);
    report_number(r, "ratio", heap.median / cal.median);
    report_row(r);
}

int main(int argc, char **argv)
{
    static const uint32_t pending[] = {100, 1000, 8000, 64000, 1000000};
    struct measure_options o;
    struct report r;

    if (measure_parse(&o, &argc, argv))
        return 2;
    if (argc > 1)
        return measure_unknown(argv[1], "bench_calendar");
    report_begin(&r, "calendar", &o);
    for (int kind = AHEAD_UNIFORM; kind <= AHEAD_HOPS; kind++)
        for (uint32_t i = 0; i < sizeof pending / sizeof *pending; i++)
            if (!o.quick || pending[i] < 1000000)
                measure_one(&r, (enum ahead)kind, pending[i]);
    report_end(&r);
    return 0;
}
