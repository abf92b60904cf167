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
    const double *value;
    size_t count;
    double least, scale; /* scale 0: all are the same */
    size_t in[BUCKETS];  /* how many */
};

/* The wanted ranks within one bucket; @below: numbers in lower ones. */
struct wanted {
    const size_t *rank;
    double *out;
    size_t count, bucket, below;
};

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

/* Returns 0 on lack of memory. */
static int find_in_bucket(const struct spread *s, const struct wanted *w)
{
    const size_t count = s->in[w->bucket];
    double *taken = malloc(count * sizeof *taken);
    size_t *inside = malloc(w->count * sizeof *inside), n = 0;
    const int is_done = taken && inside;

    for (size_t i = 0; is_done && n < count; i++)
        if (bucket_of(s, s->value[i]) == w->bucket)
            taken[n++] = s->value[i];
    for (size_t i = 0; is_done && i < w->count; i++)
        inside[i] = w->rank[i] - w->below;
    if (is_done)
        quantiles_find(taken, count, inside, w->out, w->count);
    free(taken);
    free(inside);
    return is_done;
}

/* Returns 0 on lack of memory. */
static int find_by_buckets(const struct spread *s, const size_t *rank, double *out, size_t count)
{
    struct wanted w = {.rank = rank, .out = out};
    const size_t *end = rank + count;

    for (; w.rank < end; w.below += s->in[w.bucket++]) {
        for (w.count = 0; w.rank + w.count < end; w.count++)
            if (w.rank[w.count] >= w.below + s->in[w.bucket])
                break;
        if (w.count && !find_in_bucket(s, &w))
            return 0;
        w.rank += w.count;
        w.out += w.count;
    }
    return 1;
}

void quantiles_find(double *values, size_t count, const size_t *ranks, double *out,
                    size_t rank_count)
{
    struct spread s = {.value = values, .count = count};

    if (count >= SMALL) {
        measure(&s);
        for (size_t i = 0; s.scale <= 0 && i < rank_count; i++)
            out[i] = s.least;
        if (s.scale <= 0 || find_by_buckets(&s, ranks, out, rank_count))
            return;
    }
    qsort(values, count, sizeof *values, compare);
    for (size_t i = 0; i < rank_count; i++)
        out[i] = values[ranks[i]];
}
