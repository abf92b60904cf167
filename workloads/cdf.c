/*
 * cdf.c - flow-size distributions: files, two built-in ones, mean and draws.
 *
 * A file has lines "<bytes> <cumulative share>"; the share is in per cent if the last one is above
 * 1, else a fraction. A first point with a share above 0 is a mass: that share of the flows has
 * that size.
 */
#include "flowgen.h"

#include "textfile.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CDF_POINTS_MAX (1u << 20)
#define CDF_BYTES_MAX 1e15

struct cdf_point {
    double bytes, percent;
};

/* Web search: Alizadeh et al., DCTCP, SIGCOMM 2010, as tabulated in public simulators. */
static const struct cdf_point web_search[] = {
    {0, 0},      {10e3, 15}, {20e3, 20}, {30e3, 30}, {50e3, 40}, {80e3, 53},
    {200e3, 60}, {1e6, 70},  {2e6, 80},  {5e6, 90},  {10e6, 97}, {30e6, 100},
};

/* Hadoop: Roy et al., Inside the Social Network's Datacenter Network, SIGCOMM 2015, likewise. */
static const struct cdf_point hadoop[] = {
    {0, 0},     {100, 1},    {200, 2},    {300, 5},    {350, 15}, {400, 20},   {500, 30},
    {600, 40},  {700, 50},   {1e3, 60},   {2e3, 67},   {7e3, 70}, {30e3, 72},  {50e3, 82},
    {80e3, 87}, {120e3, 90}, {300e3, 95}, {1e6, 97.5}, {2e6, 99}, {10e6, 100},
};

void cdf_fini(struct size_cdf *c)
{
    free(c->bytes);
    free(c->prob);
    memset(c, 0, sizeof *c);
}

static int add_point(struct size_cdf *c, uint32_t *cap, double bytes, double prob)
{
    if (c->count == *cap) {
        const uint32_t more = *cap ? 2 * *cap : 32;
        double *b = realloc(c->bytes, more * sizeof *b);
        if (!b)
            return WH_ERR_NOMEM;
        c->bytes = b;
        double *p = realloc(c->prob, more * sizeof *p);
        if (!p)
            return WH_ERR_NOMEM;
        c->prob = p;
        *cap = more;
    }
    c->bytes[c->count] = bytes;
    c->prob[c->count++] = prob;
    return 0;
}

static int from_table(const struct cdf_point *points, uint32_t count, struct size_cdf *out)
{
    struct size_cdf c = {0};
    uint32_t cap = 0;

    for (uint32_t i = 0; i < count; i++) {
        if (add_point(&c, &cap, points[i].bytes, points[i].percent / 100)) {
            cdf_fini(&c);
            return WH_ERR_NOMEM;
        }
    }
    *out = c;
    return 0;
}

int cdf_builtin(const char *name, struct size_cdf *out)
{
    if (strcmp(name, "web-search") == 0)
        return from_table(web_search, sizeof web_search / sizeof web_search[0], out);
    if (strcmp(name, "hadoop") == 0)
        return from_table(hadoop, sizeof hadoop / sizeof hadoop[0], out);
    return WH_ERR_INPUT;
}

struct cdf_reader {
    struct textfile text;
    struct size_cdf cdf;
    uint32_t cap;
    struct err_info *e;
};

static int check_point(struct cdf_reader *r, double bytes, double share)
{
    const struct size_cdf *c = &r->cdf;
    const struct textfile *t = &r->text;
    const uint32_t last = c->count ? c->count - 1 : 0;
    char expected[96];

    if (!(bytes >= 0 && bytes <= CDF_BYTES_MAX))
        return textfile_refuse(t, r->e, "size", t->token[0], "0 to 1e15 bytes");
    if (!(share >= 0 && share <= 100))
        return textfile_refuse(t, r->e, "cumulative share", t->token[1], "0 to 100 (per cent)");
    if (c->count && bytes < c->bytes[last]) {
        snprintf(expected, sizeof expected, "at least the size before it, %.15g", c->bytes[last]);
        return textfile_refuse(t, r->e, "size", t->token[0], expected);
    }
    if (c->count && share < c->prob[last]) {
        snprintf(expected, sizeof expected, "at least the share before it, %.15g", c->prob[last]);
        return textfile_refuse(t, r->e, "cumulative share", t->token[1], expected);
    }
    if (c->count == CDF_POINTS_MAX)
        return err_set(r->e, WH_ERR_LIMIT, t->path, t->line,
                       "found more than %u points, expected fewer", CDF_POINTS_MAX);
    return 0;
}

/* Tokens up to a comment, which starts with a token that begins with '#'. */
static uint32_t count_tokens(const struct textfile *t)
{
    uint32_t count = 0;

    while (count < t->token_count && t->token[count][0] != '#')
        count++;
    return count;
}

static int read_line(struct cdf_reader *r)
{
    const struct textfile *t = &r->text;
    const uint32_t count = count_tokens(t);
    double bytes, share;

    if (count == 0)
        return 0;
    if (count != 2)
        return textfile_refuse_count(t, r->e, count, "fields",
                                     "two: size in bytes, cumulative share");
    if (text_real(t->token[0], &bytes))
        return textfile_refuse(t, r->e, "size", t->token[0], "a number of bytes");
    if (text_real(t->token[1], &share))
        return textfile_refuse(t, r->e, "cumulative share", t->token[1], "a number");
    const int rc = check_point(r, bytes, share);
    if (rc)
        return rc;
    if (add_point(&r->cdf, &r->cap, bytes, share))
        return err_set(r->e, WH_ERR_NOMEM, t->path, t->line, "no memory for the distribution");
    return 0;
}

/* The last share decides about the unit, and has to be the whole. */
static int scale(struct cdf_reader *r)
{
    struct size_cdf *c = &r->cdf;
    const char *path = r->text.path;

    if (c->count == 0)
        return err_input(r->e, path, 0, "no points", "lines with a size and a cumulative share");
    const double last = c->prob[c->count - 1];
    const double whole = last > 1 ? 100 : 1;
    if (fabs(last - whole) > whole * 1e-9)
        return err_set(r->e, WH_ERR_INPUT, path, r->text.line,
                       "found %.15g as the last cumulative share, expected 100 (per cent) or 1",
                       last);
    for (uint32_t i = 0; i < c->count; i++)
        c->prob[i] /= last;
    if (!(cdf_mean_bytes(c) > 0))
        return err_input(r->e, path, r->text.line, "a mean size of 0", "a mean size above 0");
    return 0;
}

int cdf_read(const char *path, struct size_cdf *out, struct err_info *e)
{
    struct cdf_reader r = {.e = e};
    int rc = textfile_open(&r.text, path, e);

    while (rc == 0) {
        const int more = textfile_next_line(&r.text);
        if (more < 0)
            rc = err_set(e, more, path, 0, "no memory for the distribution");
        if (more <= 0)
            break;
        rc = read_line(&r);
    }
    if (rc == 0)
        rc = scale(&r);
    textfile_close(&r.text);
    if (rc)
        cdf_fini(&r.cdf);
    else
        *out = r.cdf;
    return rc;
}

double cdf_mean_bytes(const struct size_cdf *c)
{
    double mean = c->bytes[0] * c->prob[0];

    for (uint32_t i = 1; i < c->count; i++)
        mean += (c->prob[i] - c->prob[i - 1]) * (c->bytes[i - 1] + c->bytes[i]) / 2;
    return mean;
}

/* Interpolated in separate steps, so that no compiler may fuse them: the same bits everywhere. At
 * least one byte, since a flow of nothing is no flow. */
int64_t cdf_draw_bytes(const struct size_cdf *c, double u)
{
    uint32_t lo = 0, hi = c->count - 1; /* the first point with prob > u is in lo..hi */

    while (lo < hi) {
        const uint32_t mid = lo + (hi - lo) / 2;
        if (c->prob[mid] > u)
            hi = mid;
        else
            lo = mid + 1;
    }
    double bytes = c->bytes[lo];
    if (lo > 0 && c->prob[lo] > u) {
        const double share = (u - c->prob[lo - 1]) / (c->prob[lo] - c->prob[lo - 1]);
        const double step = share * (c->bytes[lo] - c->bytes[lo - 1]);
        bytes = c->bytes[lo - 1] + step;
    }
    return bytes < 1 ? 1 : (int64_t)(bytes + 0.5);
}
