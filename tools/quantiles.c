/*
 * quantiles.c - by parting the numbers into those below, at and above one of them, and looking on
 * only where a wanted rank is. Figures of a run repeat a lot, so that most ranks are found at once.
 */
#include "quantiles.h"

#include "rng.h"

#define SMALL 16u

/* Numbers between two that are found, and the ranks among all that are wanted of them. */
struct range {
    double *value; /* all of them, shape [end] and more */
    size_t begin, end;
    const size_t *rank; /* rising */
    double *out;
    size_t rank_count;
};

static void swap(double *a, double *b)
{
    const double t = *a;

    *a = *b;
    *b = t;
}

static void sort_few(const struct range *r)
{
    for (size_t i = r->begin + 1; i < r->end; i++)
        for (size_t k = i; k > r->begin && r->value[k] < r->value[k - 1]; k--)
            swap(&r->value[k], &r->value[k - 1]);
}

/* One of the middle: the median of five, drawn, so that no order of the numbers is a bad one. */
static double choose(const struct range *r)
{
    enum { DRAWN = 5 };
    double drawn[DRAWN];
    const struct range few = {.value = drawn, .end = DRAWN};

    for (uint32_t i = 0; i < DRAWN; i++)
        drawn[i] = r->value[r->begin + rng_u64(r->begin, r->end, i) % (r->end - r->begin)];
    sort_few(&few);
    return drawn[DRAWN / 2];
}

/* Those below @middle come first, those above it last. @first, @last: where the others begin and
 * end. */
static void part(const struct range *r, double middle, size_t *first, size_t *last)
{
    double *v = r->value;
    size_t below = r->begin, above = r->end;

    for (size_t i = r->begin; i < above;) {
        if (v[i] < middle)
            swap(&v[i++], &v[below++]);
        else if (v[i] > middle)
            swap(&v[i], &v[--above]);
        else
            i++;
    }
    *first = below;
    *last = above;
}

/* How many of the ranks are below @end. */
static size_t count_below(const struct range *r, size_t end)
{
    size_t count = 0;

    while (count < r->rank_count && r->rank[count] < end)
        count++;
    return count;
}

static void find(struct range r)
{
    while (r.rank_count && r.end - r.begin > SMALL) {
        const double middle = choose(&r);
        struct range lower = r;
        size_t first, last, met;

        part(&r, middle, &first, &last);
        lower.end = first;
        lower.rank_count = count_below(&r, first);
        find(lower);
        met = count_below(&r, last);
        for (size_t i = lower.rank_count; i < met; i++)
            r.out[i] = middle;
        r.begin = last;
        r.rank += met;
        r.out += met;
        r.rank_count -= met;
    }
    if (r.rank_count)
        sort_few(&r);
    for (size_t i = 0; i < r.rank_count; i++)
        r.out[i] = r.value[r.rank[i]];
}

void quantiles_find(double *values, size_t count, const size_t *ranks, double *out,
                    size_t rank_count)
{
    find((struct range){values, 0, count, ranks, out, rank_count});
}
