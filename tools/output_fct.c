/*
 * output_fct.c - see output_fct.h. Times are written from integers, never through a binary float.
 */
#include "output_fct.h"

#include "hpcc.h"
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

/* fct_ns and slowdown, both empty for an unfinished flow: "1234.5," */
static void format_outcome(const struct flow_result *r, char *fct, char *slowdown, size_t bytes)
{
    fct[0] = slowdown[0] = '\0';
    if (r->state != FLOW_DONE)
        return;
    const int64_t fct_ps = r->end_ps - r->start_ps;
    const int64_t ppm = output_slowdown_ppm(fct_ps, r->ideal_ps);

    output_ns(fct_ps, fct, bytes);
    (void)snprintf(slowdown, bytes, "%" PRId64 ".%06" PRId64, ppm / 1000000, ppm % 1000000);
}

void output_fct_csv(struct out_file *o, const struct sim *s)
{
    const uint32_t flow_count = sim_flow_count(s);
    char start[40], fct[40], ideal[40], slowdown[40];

    out_line(o, "%s\n", FCT_CSV_HEADER);
    for (uint32_t i = 0; i < flow_count; i++) {
        const struct flow_spec *f = sim_flow_spec(s, i);
        const struct flow_result *r = sim_flow_result(s, i);

        format_outcome(r, fct, slowdown, sizeof fct);
        out_line(o, "%u,%u,%u,%u,%u,%u,%" PRId64 ",%s,%s,%s,%s,%u,%" PRId64 ",%s\n", i, f->src,
                 f->dst, r->sport, f->dport, f->prio, f->bytes,
                 output_ns(r->start_ps, start, sizeof start), fct,
                 output_ns(r->ideal_ps < 0 ? 0 : r->ideal_ps, ideal, sizeof ideal), slowdown,
                 r->hops, r->retx_bytes, output_state_name(r->state));
    }
}

/* The format holds whole ns: to nearest. */
static int64_t round_ns(int64_t ps)
{
    return (ps + PS_PER_NS / 2) / PS_PER_NS;
}

void output_fct_txt(struct out_file *o, const struct sim *s)
{
    uint32_t done_count;
    const uint32_t *done = sim_completions(s, &done_count);

    for (uint32_t i = 0; i < done_count; i++) {
        const struct flow_spec *f = sim_flow_spec(s, done[i]);
        const struct flow_result *r = sim_flow_result(s, done[i]);

        out_line(o, "%08x %08x %u %u %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 "\n",
                 hpcc_node_ip(f->src), hpcc_node_ip(f->dst), r->sport, f->dport, f->bytes,
                 round_ns(r->start_ps), round_ns(r->end_ps - r->start_ps), round_ns(r->ideal_ps));
    }
}
