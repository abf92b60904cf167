/*
 * coll_report.c - see coll_report.h. Times are printed exactly: ps as decimals of ns or us.
 */
#include "coll_report.h"

#include "units.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- bandwidths ---- */

double coll_report_algbw(const struct coll_record *r)
{
    const int64_t time_ps = r->end_ps - r->start_ps;

    return time_ps > 0 ? (double)r->call.bytes * 1000 / (double)time_ps : 0; /* B/ps = 1000 GB/s */
}

double coll_report_busbw(const struct coll_record *r)
{
    return coll_report_algbw(r) * coll_bus_factor(r->call.kind, r->group->rank_count);
}

/* ---- collectives.csv ---- */

/* A time in units of 10^@digits ps, exactly. */
static const char *format_ps(int64_t ps, int digits, char *buf, size_t buf_bytes)
{
    const int64_t unit = digits == 3 ? PS_PER_NS : PS_PER_US;
    const char *sign = ps < 0 ? "-" : "";
    const int64_t v = ps < 0 ? -ps : ps;

    (void)snprintf(buf, buf_bytes, "%s%" PRId64 ".%0*" PRId64, sign, v / unit, digits, v % unit);
    return buf;
}

static const char *format_ns(int64_t ps, char *buf, size_t buf_bytes)
{
    return format_ps(ps, 3, buf, buf_bytes);
}

/* A field that may hold commas or quotes. */
static void print_quoted(FILE *f, const char *text)
{
    fputc('"', f);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', f);
        fputc(*text, f);
    }
    fputc('"', f);
}

int coll_report_csv_row(FILE *f, const struct coll_record *r)
{
    char members[256], called[40], start[40], end[40], time[40];

    fprintf(f, "%" PRIu64 ",", r->number);
    print_quoted(f, r->group->name);
    fprintf(f, ",%" PRIu32 ",", r->group->rank_count);
    print_quoted(f, group_format(r->group, members, sizeof members));
    fprintf(f,
            ",%s,%s,%" PRIu32 ",%" PRId64 ",%s,%s,%s,%s,%.6f,%.6f,%" PRIu64 ",%" PRId64 ",%" PRId64
            "\n",
            coll_kind_name(r->call.kind), coll_algo_name(r->call.algo), r->call.channels,
            r->call.bytes, format_ns(r->called_ps, called, sizeof called),
            format_ns(r->start_ps, start, sizeof start), format_ns(r->end_ps, end, sizeof end),
            format_ns(r->end_ps - r->start_ps, time, sizeof time), coll_report_algbw(r),
            coll_report_busbw(r), r->flows, r->bytes, r->relay_bytes);
    return ferror(f) ? WH_ERR_IO : 0;
}

/* ---- classes ---- */

static int is_class_of(const struct coll_class *c, const struct coll_record *r)
{
    return c->kind == r->call.kind && c->algo == r->call.algo && c->bytes == r->call.bytes &&
           c->ranks == r->group->rank_count;
}

static struct coll_class *find_class(struct coll_classes *c, const struct coll_record *r)
{
    for (uint32_t i = 0; i < c->count; i++)
        if (is_class_of(&c->rows[i], r))
            return &c->rows[i];
    if (c->count == c->cap) {
        const uint32_t cap = c->cap ? 2 * c->cap : 16;
        struct coll_class *rows = realloc(c->rows, cap * sizeof *rows);

        if (!rows)
            return NULL;
        c->rows = rows;
        c->cap = cap;
    }
    c->rows[c->count] = (struct coll_class){.kind = r->call.kind,
                                            .algo = r->call.algo,
                                            .ranks = r->group->rank_count,
                                            .bytes = r->call.bytes,
                                            .time_ps_min = INT64_MAX,
                                            .group = r->group};
    return &c->rows[c->count++];
}

int coll_classes_add(struct coll_classes *c, const struct coll_record *r)
{
    const int64_t time_ps = r->end_ps - r->start_ps;
    struct coll_class *row = find_class(c, r);

    if (!row)
        return WH_ERR_NOMEM;
    row->count++;
    row->time_ps_sum += (double)time_ps;
    row->sent_bytes += r->bytes;
    if (time_ps < row->time_ps_min)
        row->time_ps_min = time_ps;
    if (time_ps > row->time_ps_max)
        row->time_ps_max = time_ps;
    return 0;
}

void coll_classes_fini(struct coll_classes *c)
{
    free(c->rows);
    *c = (struct coll_classes){.count = 0};
}

/* ---- ranks ---- */

int coll_report_ranks(FILE *f, const struct dag *d, uint32_t rank_count)
{
    char a[40], b[40], c[40], i[40], e[40];

    fprintf(f, "%s\n", COLL_RANKS_HEADER);
    for (uint32_t r = 0; r < rank_count; r++) {
        struct rank_times t;

        dag_rank_times(d, r, &t);
        fprintf(f, "%" PRIu32 ",%s,%s,%s,%s,%s\n", r, format_ns(t.compute_ps, a, sizeof a),
                format_ns(t.exposed_ps, b, sizeof b), format_ns(t.comm_ps, c, sizeof c),
                format_ns(t.idle_ps, i, sizeof i), format_ns(t.end_ps, e, sizeof e));
    }
    return ferror(f) ? WH_ERR_IO : 0;
}

/* ---- timeline ---- */

/* One whole event, after a comma; or counts it as left out. */
WH_PRINTF(2, 3) static void trace_event(struct coll_trace *t, const char *fmt, ...)
{
    char text[1024];
    va_list args;
    int len;

    va_start(args, fmt);
    len = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (t->left_out || t->bytes + len + 2 > t->cap_bytes || (size_t)len >= sizeof text) {
        t->left_out++;
        return;
    }
    fprintf(t->f, "%s%s", t->events ? ",\n" : "\n", text);
    t->bytes += len + 2;
    t->events++;
    t->has_failed |= ferror(t->f) != 0;
}

/* A JSON string without its quotes; cut to fit. */
static const char *escape(const char *text, char *buf, size_t buf_bytes)
{
    size_t used = 0;

    for (; *text && used + 7 < buf_bytes; text++) {
        const unsigned char c = (unsigned char)*text;

        if (c == '"' || c == '\\')
            buf[used++] = '\\';
        if (c < 0x20)
            used += (size_t)snprintf(buf + used, buf_bytes - used, "\\u%04x", c);
        else
            buf[used++] = (char)c;
    }
    buf[used] = '\0';
    return buf;
}

void coll_trace_begin(struct coll_trace *t, FILE *f, int64_t cap_bytes, uint32_t rank_count,
                      uint32_t stream_count, const char *(*stream_name)(void *ctx, uint32_t stream),
                      void *ctx)
{
    char name[128], fallback[32];

    *t = (struct coll_trace){.f = f, .cap_bytes = cap_bytes ? cap_bytes : COLL_TRACE_CAP_BYTES};
    fprintf(f, "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [");
    for (uint32_t r = 0; r < rank_count; r++) {
        trace_event(t,
                    "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%" PRIu32
                    ",\"tid\":0,\"args\":{\"name\":\"rank %" PRIu32 "\"}}",
                    r, r);
        for (uint32_t i = 0; i < stream_count; i++) {
            (void)snprintf(fallback, sizeof fallback, "stream %" PRIu32, i);
            trace_event(t,
                        "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%" PRIu32
                        ",\"tid\":%" PRIu32 ",\"args\":{\"name\":\"%s\"}}",
                        r, i,
                        escape(stream_name ? stream_name(ctx, i) : fallback, name, sizeof name));
        }
    }
}

/* Name and arguments of an operation. */
static void describe(const struct op_record *r, char *name, char *args, size_t bytes)
{
    const struct op *o = r->op;

    (void)snprintf(args, bytes, "\"op\":%" PRIu64, o->id);
    if (o->kind == OP_COLL) {
        (void)snprintf(name, bytes, "%s", coll_kind_name(o->call.kind));
        (void)snprintf(args, bytes,
                       "\"op\":%" PRIu64 ",\"collective\":%" PRIu64 ",\"bytes\":%" PRId64
                       ",\"group\":%" PRIu32,
                       o->id, r->link, o->call.bytes, o->group);
    } else if (o->kind == OP_COMPUTE) {
        (void)snprintf(name, bytes, "compute");
    } else {
        (void)snprintf(name, bytes, "%s %s %" PRIu32, op_kind_name(o->kind),
                       o->kind == OP_SEND ? "to" : "from", o->peer);
        (void)snprintf(args, bytes, "\"op\":%" PRIu64 ",\"bytes\":%" PRId64 ",\"tag\":%" PRIu32,
                       o->id, o->bytes, o->tag);
    }
    if (o->name)
        (void)escape(o->name, name, bytes);
}

/* An arrow leaves a send where its transfer begins and reaches the receive where it ends. */
static void trace_arrow(struct coll_trace *t, const struct op_record *r, int is_send)
{
    char ts[40];

    trace_event(t,
                "{\"ph\":\"%s\",%s\"name\":\"message\",\"cat\":\"p2p\",\"id\":%" PRIu64
                ",\"pid\":%" PRIu32 ",\"tid\":%" PRIu32 ",\"ts\":%s}",
                is_send ? "s" : "f", is_send ? "" : "\"bp\":\"e\",", r->link, r->rank, r->stream,
                format_ps(is_send ? r->active_ps : r->end_ps, 6, ts, sizeof ts));
}

void coll_trace_op(struct coll_trace *t, const struct op_record *r)
{
    const int has_arrow = r->op->kind == OP_SEND || r->op->kind == OP_RECV;
    char name[256], args[256], ts[40], dur[40];

    if (t->left_out) { /* full: a real run has millions more */
        t->left_out += 1u + (uint64_t)has_arrow;
        return;
    }
    describe(r, name, args, sizeof name);
    trace_event(t,
                "{\"ph\":\"X\",\"name\":\"%s\",\"cat\":\"%s\",\"pid\":%" PRIu32 ",\"tid\":%" PRIu32
                ",\"ts\":%s,\"dur\":%s,\"args\":{%s}}",
                name, op_kind_name(r->op->kind), r->rank, r->stream,
                format_ps(r->start_ps, 6, ts, sizeof ts),
                format_ps(r->end_ps - r->start_ps, 6, dur, sizeof dur), args);
    if (has_arrow)
        trace_arrow(t, r, r->op->kind == OP_SEND);
}

int coll_trace_end(struct coll_trace *t)
{
    fprintf(t->f, "\n], \"otherData\": {\"events_left_out\": %" PRIu64 "}}\n", t->left_out);
    return t->has_failed || ferror(t->f) ? WH_ERR_IO : 0;
}
