/*
 * output_fct.c - see output_fct.h. Times are written from integers, never through a binary float.
 */
#include "output_fct.h"

#include "hpcc.h"
#include "line.h"
#include "units.h"

#include <inttypes.h>
#include <string.h>

/* fct * 10^6 needs more than 64 bits for times beyond nine seconds. */
__extension__ typedef __int128 wide_int;

const char *output_ns(int64_t ps, char *buf, size_t buf_bytes)
{
    int n = snprintf(buf, buf_bytes, "%" PRId64 ".%03d", ps / PS_PER_NS, (int)(ps % PS_PER_NS));

    check(ps >= 0, "a time of %" PRId64 " ps", ps);
    check(n > 0 && (size_t)n < buf_bytes, "buffer of %zu bytes", buf_bytes);
    while (buf[n - 1] == '0')
        buf[--n] = '\0';
    if (buf[n - 1] == '.')
        buf[n - 1] = '\0';
    return buf;
}

int64_t output_slowdown_ppm(int64_t fct_ps, int64_t ideal_ps)
{
    const int64_t one = 1000000;
    wide_int scaled;

    if (ideal_ps <= 0 || fct_ps <= ideal_ps)
        return one;
    if (fct_ps < INT64_MAX / (2 * one)) /* 4.6 s: without a wide division */
        return (fct_ps * one + ideal_ps / 2) / ideal_ps;
    scaled = (wide_int)fct_ps * one + ideal_ps / 2;
    scaled /= ideal_ps;
    return scaled > INT64_MAX ? INT64_MAX : (int64_t)scaled;
}

const char *output_state_name(unsigned state)
{
    switch (state) {
    case FLOW_WAITING:
        return "waiting";
    case FLOW_ACTIVE:
        return "active";
    case FLOW_DONE:
        return "done";
    case FLOW_NOPATH:
        return "no-path";
    case FLOW_STALLED:
        return "stalled";
    default:
        return "unknown";
    }
}

static void put_integer(struct line *l, int64_t value)
{
    line_integer(l, value);
    line_char(l, ',');
}

static void put_ns(struct line *l, int64_t ps)
{
    line_ns(l, ps);
    line_char(l, ',');
}

/* With six digits after the point. */
static void put_slowdown(struct line *l, int64_t ppm)
{
    line_integer(l, ppm / 1000000);
    line_char(l, '.');
    line_decimal(l, (uint64_t)(ppm % 1000000), 6);
}

/* FCT and slowdown of an unfinished flow are empty. */
static void put_flow(struct line *l, uint32_t id, const struct flow_spec *f,
                     const struct flow_result *r)
{
    const int64_t fct_ps = r->end_ps - r->start_ps;

    put_integer(l, id);
    put_integer(l, f->src);
    put_integer(l, f->dst);
    put_integer(l, r->sport);
    put_integer(l, f->dport);
    put_integer(l, f->prio);
    put_integer(l, f->bytes);
    put_ns(l, r->start_ps);
    if (r->state == FLOW_DONE)
        line_ns(l, fct_ps);
    line_char(l, ',');
    put_ns(l, r->ideal_ps < 0 ? 0 : r->ideal_ps);
    if (r->state == FLOW_DONE)
        put_slowdown(l, output_slowdown_ppm(fct_ps, r->ideal_ps));
    line_char(l, ',');
    put_integer(l, r->hops);
    put_integer(l, r->retx_bytes);
    line_text(l, output_state_name(r->state));
}

void output_fct_csv(struct out_file *o, const struct sim *s)
{
    const uint32_t flow_count = sim_flow_count(s);
    struct line l = {.count = 0};

    out_line(o, "%s\n", FCT_CSV_HEADER);
    for (uint32_t i = 0; i < flow_count; i++) {
        put_flow(&l, i, sim_flow_spec(s, i), sim_flow_result(s, i));
        line_end(&l, o);
    }
    line_flush(&l, o);
}

/* The format holds whole ns: to nearest. */
static int64_t round_ns(int64_t ps)
{
    return (ps + PS_PER_NS / 2) / PS_PER_NS;
}

static void put_word(struct line *l, int64_t value)
{
    line_char(l, ' ');
    line_integer(l, value);
}

#define AHEAD 16u

void output_fct_txt(struct out_file *o, const struct sim *s)
{
    uint32_t done_count;
    const uint32_t *done = sim_completions(s, &done_count);
    struct line l = {.count = 0};

    for (uint32_t i = 0; i < done_count; i++) {
        const struct flow_spec *f = sim_flow_spec(s, done[i]);
        const struct flow_result *r = sim_flow_result(s, done[i]);

        if (i + AHEAD < done_count) { /* completions come in no order of rows */
            __builtin_prefetch(sim_flow_spec(s, done[i + AHEAD]));
            __builtin_prefetch(sim_flow_result(s, done[i + AHEAD]));
        }
        line_hex(&l, hpcc_node_ip(f->src), 8);
        line_char(&l, ' ');
        line_hex(&l, hpcc_node_ip(f->dst), 8);
        put_word(&l, r->sport);
        put_word(&l, f->dport);
        put_word(&l, f->bytes);
        put_word(&l, round_ns(r->start_ps));
        put_word(&l, round_ns(r->end_ps - r->start_ps));
        put_word(&l, round_ns(r->ideal_ps));
        line_end(&l, o);
    }
    line_flush(&l, o);
}
