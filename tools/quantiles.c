/*
 * quantiles.c - by buckets of equal width between the least and the largest number: only those that
 * hold a wanted rank are looked into. Figures of a run repeat a lot, so most end at once.
 */
#include "quantiles.h"

#include <stdlib.h>

#define BUCKETS 4096u
#define SMALL 256u

/* The numbers, and what divides them into buckets. */
struct spread {
    double *value;
    size_t count;
    size_t below;        /* so many others are less than all of these */
    double least, scale; /* scale 0: all are the same */
    size_t in[BUCKETS];  /* how many */
};

/* Ranks among all numbers, rising, and what is found there. */
struct wanted {
    const size_t *rank;
    double *out;
    size_t count;
};

static void find(double *values, size_t count, size_t below, const struct wanted *w);

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Rises with @v. */
static size_t bucket_of(const struct spread *s, double v)
{
    const size_t b = (size_t)((v - s->least) * s->scale);

    return b < BUCKETS ? b : BUCKETS - 1;
}

static void measure(struct spread *s)
{
    double most = s->value[0];

    s->least = most;
    for (size_t i = 1; i < s->count; i++) {
        s->least = s->value[i] < s->least ? s->value[i] : s->least;
        most = s->value[i] > most ? s->value[i] : most;
    }
    s->scale = most > s->least ? (BUCKETS - 1) / (most - s->least) : 0;
    for (size_t i = 0; i < s->count; i++)
        s->in[bucket_of(s, s->value[i])]++;
}

/* Those of the bucket come to the front, and are looked into there. */
static void find_in_bucket(struct spread *s, size_t bucket, const struct wanted *w)
{
    size_t inside = 0;

    for (size_t i = 0; inside < s->in[bucket]; i++) {
        const double v = s->value[i];

        if (bucket_of(s, v) != bucket)
            continue;
        s->value[i] = s->value[inside];
        s->value[inside++] = v;
    }
    find(s->value, inside, s->below, w);
}

static void find_by_buckets(struct spread *s, const struct wanted *w)
{
    struct wanted here = {w->rank, w->out, 0};
    const size_t *end = w->rank + w->count;

    for (size_t b = 0; here.rank < end; s->below += s->in[b++]) {
        for (here.count = 0; here.rank + here.count < end; here.count++)
            if (here.rank[here.count] >= s->below + s->in[b])
                break;
        if (here.count)
            find_in_bucket(s, b, &here);
        here.rank += here.count;
        here.out += here.count;
    }
}

static void find(double *values, size_t count, size_t below, const struct wanted *w)
{
    struct spread s = {.value = values, .count = count, .below = below};

    if (count < SMALL) {
        qsort(values, count, sizeof *values, compare);
        for (size_t i = 0; i < w->count; i++)
            w->out[i] = values[w->rank[i] - below];
        return;
    }
    measure(&s);
    for (size_t i = 0; s.scale <= 0 && i < w->count; i++)
        w->out[i] = s.least;
    if (s.scale > 0)
        find_by_buckets(&s, w);
}

void quantiles_find(double *values, size_t count, const size_t *ranks, double *out,
                    size_t rank_count)
{
    find(values, count, 0, &(struct wanted){ranks, out, rank_count});
}
