/*
 * test_detect_paper.c - steady/detect_paper.c against the definition on a plain array.
 */
#include "detect_int.h"
#include "detect_trace.h"
#include "rng.h"

#include <criterion/criterion.h>

#define SAMPLES 100 /* blocks of 2 */
#define COUNT 5000

static struct detect *d;
static struct detect_params p;
static struct trace t;

static void begin(double theta)
{
    const struct detect_spec s = {
        .cc = CC_DCTCP, .rule = DETECT_RULE_PAPER, .theta = theta, .paper_samples = SAMPLES};

    cr_assert_eq(detect_params_init(&p, &s, NULL), 0);
    cr_assert_eq(detect_create(&d), 0);
    trace_init(&t, 100000000000);
    trace_add(&t, 400000000, 4e10);
    trace_add(&t, 400000000, 4e10);
    cr_assert_eq(trace_begin(&t, d, &p), 0);
    trace_advance(&t, detect_next_sample_ps(d));
    trace_sample(&t, d);
}

static double range_of(const int64_t *x, uint32_t count, double *mean)
{
    int64_t min = x[0], max = x[0], sum = 0;

    for (uint32_t i = 0; i < count; i++) {
        min = x[i] < min ? x[i] : min;
        max = x[i] > max ? x[i] : max;
        sum += x[i];
    }
    *mean = (double)sum / count;
    return (double)(max - min) / *mean;
}

Test(detect_paper, steady_is_a_small_range_over_the_last_samples)
{
    static int64_t x[COUNT];
    uint32_t steady = 0, moving = 0;
    int64_t rate = 40000000000;

    begin(0.05);
    for (uint32_t i = 0; i < COUNT; i++) {
        struct detect_verdict v;
        double mean;
        uint32_t count;

        /* Quiet stretches and jumps. */
        if (rng_below(rng_u64(1, 1, i), 400) == 0)
            rate = 20000000000 + (int64_t)rng_below(rng_u64(1, 2, i), 40000) * 1000000;
        x[i] = rate + (int64_t)rng_below(rng_u64(1, 3, i), 500) * 1000000;
        detect_on_ack(d, 0, x[i]);
        detect_on_ack(d, 1, 30000000000);
        detect_decide(d, t.now_ps, &v);
        if (i + 1 < SAMPLES) {
            cr_assert_eq(v.reason, DETECT_TOO_EARLY);
            continue;
        }
        /* Once the blocks have gone round: 50 full ones and 1 or 2 samples of the newest. */
        count = i + 1 <= SAMPLES ? i + 1 : SAMPLES + 1 + i % 2;
        if (range_of(x + i + 1 - count, count, &mean) < 0.05) {
            cr_assert_eq(v.reason, DETECT_STEADY, "sample %u", i);
            cr_assert_float_eq((double)d->estimate[0].rate.bytes, mean, 1);
            cr_assert_eq(d->estimate[1].rate.bytes, 30000000000);
            d->state = DETECT__WATCHING; /* as if it had not been asked */
            steady++;
        } else {
            cr_assert_eq(v.reason, DETECT_FLUCTUATES, "sample %u", i);
            cr_assert_eq(v.flow, 0);
            moving++;
        }
    }
    cr_assert(steady > 500 && moving > 500, "%u steady, %u not", steady, moving);
    detect_destroy(d);
}

Test(detect_paper, every_flow_needs_its_samples_and_a_thaw_starts_afresh)
{
    struct detect_verdict v;

    begin(0.05);
    for (int i = 0; i < SAMPLES; i++)
        detect_on_ack(d, 0, 40000000000);
    detect_decide(d, t.now_ps, &v);
    cr_assert_eq(v.reason, DETECT_TOO_EARLY);
    cr_assert_eq(v.flow, 1);
    for (int i = 0; i < SAMPLES; i++)
        detect_on_ack(d, 1, 40000000000);
    detect_decide(d, t.now_ps, &v);
    cr_assert_eq(v.reason, DETECT_STEADY);
    cr_assert_float_eq((double)v.skip_bytes[1] * 8e12 / (double)v.skip_ps, 4e10, 1e6);
    trace_skip(&t, d, v.skip_ps, v.skip_bytes);
    detect_decide(d, t.now_ps, &v);
    cr_assert_eq(v.reason, DETECT_TOO_EARLY);
    detect_destroy(d);
}

Test(detect_paper, rates_of_zero_are_not_steady)
{
    struct detect_verdict v;

    begin(0.05);
    for (int i = 0; i < SAMPLES; i++) {
        detect_on_ack(d, 0, 0);
        detect_on_ack(d, 1, 0);
    }
    detect_decide(d, t.now_ps, &v);
    cr_assert_eq(v.reason, DETECT_FLUCTUATES);
    detect_destroy(d);
}

Test(detect_paper, theta_is_the_border)
{
    for (int over = 0; over < 2; over++) {
        struct detect_verdict v;

        begin(0.05);
        for (int i = 0; i < SAMPLES; i++) {
            const int64_t rate = 40000000000 + (i & 1 ? 1 : -1) * (over ? 1001000000 : 999000000);

            detect_on_ack(d, 0, rate);
            detect_on_ack(d, 1, rate);
        }
        detect_decide(d, t.now_ps, &v);
        cr_assert_eq(v.reason, over ? DETECT_FLUCTUATES : DETECT_STEADY);
        detect_destroy(d);
    }
}
