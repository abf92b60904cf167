/*
 * output_logs.c - see output_logs.h.
 *
 * A simulation has one sampling clock; logs with different intervals share it. It ticks at the
 * greatest common divisor of their intervals and offsets, and each log acts only on the ticks that
 * are its own.
 */
#include "output_logs.h"

#include "output_fct.h"
#include "units.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define INTERVAL_DEFAULT_PS (10 * PS_PER_US)
#define QLEN_INTERVAL_DEFAULT_PS (100 * PS_PER_NS) /* as the reference simulator */
#define QLEN_BLOCK_PS (100 * PS_PER_MS)            /* as the reference simulator */
#define QLEN_BIN_BYTES 1000

struct log {
    struct out_file *file; /* NULL: off */
    int64_t interval_ps, from_ps, to_ps;
};

/* Histogram of one port: bin k counts samples in [k, k + 1) KB. */
struct histogram {
    uint64_t *bins; /* shape: [cap] */
    uint32_t cap, used;
};

struct run_logs {
    const struct scenario *sc;
    const struct topo *topo; /* may be gone before the logs are: not used by destroy */
    uint32_t port_count;
    struct log logs[LOG_KIND_COUNT];
    uint8_t *is_logged;      /* shape: [LOG_KIND_COUNT][node_count]: passes the node filter */
    uint8_t *had_queue;      /* shape: [port_count]: length > 0 at the previous sample */
    uint64_t *last_tx_bytes; /* shape: [port_count] */
    struct histogram *qlen;  /* shape: [port_count] */
    int64_t last_qlen_ps;    /* -1: no sample yet */
    int64_t last_block_ps;
    int out_of_memory;
};

static const struct {
    const char *name, *key, *hpcc_key, *header;
} log_info[LOG_KIND_COUNT] = {
    [LOG_QUEUE] = {"queue", "logs.queue", "logs.queue", LOG_QUEUE_HEADER},
    [LOG_PFC] = {"pfc", "logs.pfc", "PFC_OUTPUT_FILE", NULL},
    [LOG_RATE] = {"rate", "logs.rate", "logs.rate", LOG_RATE_HEADER},
    [LOG_PACKET] = {"packet", "logs.packet", "TRACE_OUTPUT_FILE", LOG_PACKET_HEADER},
    [LOG_QLEN_HPCC] = {"qlen", "logs.qlen", "QLEN_MON_FILE", NULL},
    [LOG_LINK] = {"link", "logs.link", "logs.link", LOG_LINK_HEADER},
};

const char *run_logs_name(enum log_kind kind)
{
    return log_info[kind].name;
}

const struct out_file *run_logs_file(const struct run_logs *l, enum log_kind kind)
{
    return l->logs[kind].file;
}

static uint32_t port_number(const struct topo *t, uint32_t port)
{
    return port - t->first_port[t->port_node[port]] + 1;
}

static int is_due(const struct log *log, int64_t now_ps)
{
    return log->file && log->interval_ps > 0 && now_ps >= log->from_ps && now_ps <= log->to_ps &&
           (now_ps - log->from_ps) % log->interval_ps == 0;
}

/* --- what happens at a sample --- */

static void sample_queues(struct run_logs *l, struct sim *s, int64_t now_ps)
{
    struct out_file *o = l->logs[LOG_QUEUE].file;
    const uint8_t *is_logged = l->is_logged + (size_t)LOG_QUEUE * l->topo->node_count;
    char ns[40];

    output_ns(now_ps, ns, sizeof ns);
    for (uint32_t p = 0; p < l->topo->port_count; p++) {
        const uint32_t node = l->topo->port_node[p];
        uint32_t bytes;

        if (!is_logged[node])
            continue;
        bytes = sim_port_queue_bytes(s, p);
        if (bytes || l->had_queue[p])
            out_line(o, "%s,%u,%u,%u\n", ns, node, port_number(l->topo, p), bytes);
        l->had_queue[p] = bytes > 0;
    }
}

static void sample_rate(struct run_logs *l, struct sim *s, uint32_t flow, const char *ns)
{
    struct flow_view v;

    if (!sim_flow_view(s, flow, &v))
        return;
    out_line(l->logs[LOG_RATE].file, "%s,%u,%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRIu64 "\n", ns,
             flow, v.rate_bps, v.snd_nxt, v.snd_una, v.cnps);
}

static void sample_rates(struct run_logs *l, struct sim *s, int64_t now_ps)
{
    const struct log_request *r = &l->sc->logs[LOG_RATE];
    const uint32_t flow_count = sim_flow_count(s);
    char ns[40];

    output_ns(now_ps, ns, sizeof ns);
    for (uint32_t i = 0; r->filter_count == 0 && i < flow_count; i++)
        sample_rate(l, s, i, ns);
    for (uint32_t i = 0; i < r->filter_count; i++) {
        const uint32_t flow = l->sc->filter_ids[r->filter_first + i];

        if (flow < flow_count)
            sample_rate(l, s, flow, ns);
    }
}

static void sample_links(struct run_logs *l, struct sim *s, int64_t now_ps)
{
    const struct topo *t = l->topo;
    const struct log *log = &l->logs[LOG_LINK];
    const uint8_t *is_logged = l->is_logged + (size_t)LOG_LINK * t->node_count;
    const double interval_s = (double)log->interval_ps / (double)PS_PER_S;
    struct port_stats st;
    char ns[40];

    output_ns(now_ps, ns, sizeof ns);
    for (uint32_t p = 0; p < t->port_count; p++) {
        uint64_t bytes;

        sim_port_stats(s, p, &st);
        bytes = st.tx_bytes - l->last_tx_bytes[p];
        l->last_tx_bytes[p] = st.tx_bytes;
        if (!bytes || !is_logged[t->port_node[p]] || now_ps == log->from_ps)
            continue;
        out_line(log->file, "%s,%u,%u,%u,%" PRIu64 ",%.6f\n", ns, t->port_node[p],
                 t->port_node[t->port_peer[p]], port_number(t, p), bytes,
                 (double)bytes * 8 / ((double)topo_port_class(t, p)->rate_bps * interval_s));
    }
}

static int count_sample(struct histogram *h, uint32_t bin)
{
    if (bin >= h->cap) {
        const uint32_t cap = bin + 16;
        uint64_t *bins = realloc(h->bins, cap * sizeof *bins);

        if (!bins)
            return WH_ERR_NOMEM;
        memset(bins + h->cap, 0, (cap - h->cap) * sizeof *bins);
        h->bins = bins;
        h->cap = cap;
    }
    h->bins[bin]++;
    if (bin >= h->used)
        h->used = bin + 1;
    return 0;
}

/* One line of a block; 21 characters are enough for a blank and a 64-bit number. */
static int write_histogram(struct run_logs *l, uint32_t port)
{
    const struct histogram *h = &l->qlen[port];
    const size_t cap = 64 + (size_t)h->used * 21;
    char *line = malloc(cap);
    size_t n;

    if (!line)
        return WH_ERR_NOMEM;
    n = (size_t)snprintf(line, cap, "%u %u", l->topo->port_node[port], port_number(l->topo, port));
    for (uint32_t i = 0; i < h->used; i++)
        n += (size_t)snprintf(line + n, cap - n, " %" PRIu64, h->bins[i]);
    line[n++] = '\n';
    out_text(l->logs[LOG_QLEN_HPCC].file, line, n);
    free(line);
    return 0;
}

static int write_qlen_block(struct run_logs *l, int64_t now_ps)
{
    const struct topo *t = l->topo;
    int rc = 0;

    out_line(l->logs[LOG_QLEN_HPCC].file, "time: %" PRId64 "\n", now_ps / PS_PER_NS);
    for (uint32_t p = 0; p < t->port_count && !rc; p++) {
        if (t->kind[t->port_node[p]] != NODE_HOST)
            rc = write_histogram(l, p);
    }
    l->last_block_ps = now_ps;
    return rc;
}

static void sample_qlen(struct run_logs *l, struct sim *s, int64_t now_ps)
{
    const struct topo *t = l->topo;
    int rc = 0;

    for (uint32_t p = 0; p < t->port_count && !rc; p++) {
        if (t->kind[t->port_node[p]] != NODE_HOST)
            rc = count_sample(&l->qlen[p], sim_port_queue_bytes(s, p) / QLEN_BIN_BYTES);
    }
    l->last_qlen_ps = now_ps;
    if (!rc && now_ps % QLEN_BLOCK_PS == 0)
        rc = write_qlen_block(l, now_ps);
    if (rc)
        l->out_of_memory = 1;
}

/* --- callbacks of the simulation --- */

static void on_sample(void *ctx, struct sim *s, int64_t now_ps)
{
    struct run_logs *l = ctx;

    if (is_due(&l->logs[LOG_QUEUE], now_ps))
        sample_queues(l, s, now_ps);
    if (is_due(&l->logs[LOG_RATE], now_ps))
        sample_rates(l, s, now_ps);
    if (is_due(&l->logs[LOG_LINK], now_ps))
        sample_links(l, s, now_ps);
    if (is_due(&l->logs[LOG_QLEN_HPCC], now_ps))
        sample_qlen(l, s, now_ps);
}

static void on_pfc(void *ctx, int64_t now_ps, uint32_t port, int is_pause)
{
    struct run_logs *l = ctx;
    const struct log *log = &l->logs[LOG_PFC];
    const uint32_t node = l->topo->port_node[port];

    if (now_ps < log->from_ps || now_ps > log->to_ps)
        return;
    out_line(log->file, "%" PRId64 " %u %u %u %d\n", now_ps / PS_PER_NS, node, l->topo->kind[node],
             port_number(l->topo, port), is_pause ? 1 : 0);
}

static void on_packet(void *ctx, const struct packet_view *v)
{
    static const char *const events[] = {"receive", "enqueue", "dequeue", "drop"};
    static const char *const types[] = {"data", "ack", "nack", "pfc"};
    struct run_logs *l = ctx;
    const struct log *log = &l->logs[LOG_PACKET];
    const uint32_t node = l->topo->port_node[v->port];
    char ns[40], flow[16] = "";

    if (!l->is_logged[(size_t)LOG_PACKET * l->topo->node_count + node] ||
        v->time_ps < log->from_ps || v->time_ps > log->to_ps)
        return;
    if (v->flow_id != PORT_NONE)
        (void)snprintf(flow, sizeof flow, "%u", v->flow_id);
    out_line(log->file, "%s,%u,%u,%s,%s,%s,%" PRId64 ",%u,%u,%u,%u,%u\n",
             output_ns(v->time_ps, ns, sizeof ns), node, port_number(l->topo, v->port),
             v->event < 4 ? events[v->event] : "unknown", v->type < 4 ? types[v->type] : "unknown",
             flow, v->seq, v->prio, v->wire_bytes, v->payload_bytes, v->queue_bytes, v->ecn);
}

/* --- life cycle --- */

static int64_t calc_gcd(int64_t a, int64_t b)
{
    while (b) {
        const int64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a < 0 ? -a : a;
}

/* Fills the sampling clock from the logs that sample. */
static void merge_clocks(const struct run_logs *l, struct sim_monitor *m)
{
    int64_t first_ps = TIME_NEVER;

    for (int k = 0; k < LOG_KIND_COUNT; k++) {
        const struct log *log = &l->logs[k];

        if (!log->file || log->interval_ps == 0)
            continue;
        if (log->from_ps < first_ps)
            first_ps = log->from_ps;
        if (log->to_ps > m->sample_to_ps)
            m->sample_to_ps = log->to_ps;
    }
    for (int k = 0; k < LOG_KIND_COUNT; k++) {
        const struct log *log = &l->logs[k];

        if (!log->file || log->interval_ps == 0)
            continue;
        m->sample_interval_ps = calc_gcd(m->sample_interval_ps, log->interval_ps);
        m->sample_interval_ps = calc_gcd(m->sample_interval_ps, log->from_ps - first_ps);
    }
    m->sample_from_ps = first_ps == TIME_NEVER ? 0 : first_ps;
}

static struct sim_monitor monitor_of(struct run_logs *l)
{
    struct sim_monitor m = {.ctx = l};

    merge_clocks(l, &m);
    if (m.sample_interval_ps > 0)
        m.on_sample = on_sample;
    if (l->logs[LOG_PFC].file)
        m.on_pfc = on_pfc;
    if (l->logs[LOG_PACKET].file)
        m.on_packet = on_packet;
    return m;
}

static int is_observing(const struct sim_monitor *m)
{
    return m->on_sample || m->on_pfc || m->on_packet;
}

int run_logs_needs_packets(struct run_logs *l)
{
    const struct sim_monitor m = monitor_of(l);

    return is_observing(&m);
}

int run_logs_attach(struct run_logs *l, struct sim *s)
{
    const struct sim_monitor m = monitor_of(l);

    if (!is_observing(&m))
        return 0;
    return sim_set_monitor(s, &m);
}

static int64_t default_interval_ps(enum log_kind kind)
{
    switch (kind) {
    case LOG_QUEUE:
    case LOG_RATE:
    case LOG_LINK:
        return INTERVAL_DEFAULT_PS;
    case LOG_QLEN_HPCC:
        return QLEN_INTERVAL_DEFAULT_PS;
    default:
        return 0; /* event driven */
    }
}

static int open_log(struct run_logs *l, enum log_kind kind, const char *given_dir, const char *dir,
                    struct out_set *set, struct err_info *e)
{
    const struct log_request *r = &l->sc->logs[kind];
    struct log *log = &l->logs[kind];
    const char *key = l->sc->is_hpcc ? log_info[kind].hpcc_key : log_info[kind].key;
    char path[OUT_PATH_MAX];

    if (out_resolve(r->path, l->sc->is_hpcc, given_dir, dir, path, sizeof path))
        return err_set(e, WH_ERR_INPUT, r->path, 0, "%s: the path is too long", key);
    log->from_ps = r->from_ps;
    log->to_ps = r->to_ps > 0 ? r->to_ps : TIME_NEVER;
    log->interval_ps = default_interval_ps(kind);
    if (log->interval_ps > 0 && r->interval_ps > 0)
        log->interval_ps = r->interval_ps;
    const int rc = out_open(set, path, key, &log->file, e);
    if (rc)
        return rc;
    log->file->cap_bytes = r->cap_bytes > 0 ? r->cap_bytes : LOG_CAP_DEFAULT_BYTES;
    if (log_info[kind].header)
        out_line(log->file, "%s\n", log_info[kind].header);
    return 0;
}

/* Without a list: all nodes for packets and links, switches for queues. */
static void fill_node_filter(struct run_logs *l, enum log_kind kind)
{
    const struct log_request *r = &l->sc->logs[kind];
    uint8_t *is_logged = l->is_logged + (size_t)kind * l->topo->node_count;

    for (uint32_t n = 0; r->filter_count == 0 && n < l->topo->node_count; n++)
        is_logged[n] = kind != LOG_QUEUE || l->topo->kind[n] != NODE_HOST;
    for (uint32_t i = 0; i < r->filter_count; i++) {
        const uint32_t node = l->sc->filter_ids[r->filter_first + i];

        if (node < l->topo->node_count)
            is_logged[node] = 1;
    }
}

static int alloc_tables(struct run_logs *l)
{
    const size_t nodes = l->topo->node_count, ports = (size_t)l->topo->port_count + 1;

    l->is_logged = calloc(nodes * LOG_KIND_COUNT + 1, 1);
    l->had_queue = calloc(ports, 1);
    l->last_tx_bytes = calloc(ports, sizeof *l->last_tx_bytes);
    l->qlen = calloc(ports, sizeof *l->qlen);
    if (!l->is_logged || !l->had_queue || !l->last_tx_bytes || !l->qlen)
        return WH_ERR_NOMEM;
    fill_node_filter(l, LOG_QUEUE);
    fill_node_filter(l, LOG_PACKET);
    fill_node_filter(l, LOG_LINK);
    return 0;
}

int run_logs_open(struct run_logs **out, const struct scenario *sc, const struct topo *topo,
                  const char *given_dir, const char *dir, struct out_set *set, struct err_info *e)
{
    struct run_logs *l = calloc(1, sizeof *l);
    int rc;

    if (!l)
        return err_set(e, WH_ERR_NOMEM, NULL, 0, "out of memory");
    l->sc = sc;
    l->topo = topo;
    l->port_count = topo->port_count;
    l->last_qlen_ps = l->last_block_ps = -1;
    rc = alloc_tables(l);
    if (rc)
        err_set(e, rc, NULL, 0, "out of memory");
    for (int k = 0; k < LOG_KIND_COUNT && !rc; k++) {
        if (sc->logs[k].path[0])
            rc = open_log(l, (enum log_kind)k, given_dir, dir, set, e);
    }
    if (rc) {
        run_logs_destroy(l);
        return rc;
    }
    *out = l;
    return 0;
}

int run_logs_finish(struct run_logs *l)
{
    if (l->last_qlen_ps > l->last_block_ps && write_qlen_block(l, l->last_qlen_ps))
        l->out_of_memory = 1;
    return l->out_of_memory ? WH_ERR_NOMEM : 0;
}

void run_logs_destroy(struct run_logs *l)
{
    if (!l)
        return;
    for (uint32_t p = 0; l->qlen && p < l->port_count; p++)
        free(l->qlen[p].bins);
    free(l->is_logged);
    free(l->had_queue);
    free(l->last_tx_bytes);
    free(l->qlen);
    free(l);
}
