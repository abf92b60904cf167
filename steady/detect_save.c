/*
 * detect_save.c - the state of a detector as bytes, free of its frame and of its numbering.
 *
 * A saved state is a row of 64-bit words: a head, flows, their paths, ports, edges, and what only
 * a frozen detector or the paper's rule has. Times are relative to the frame's clock, counters to
 * the frame's counters, rows in the frame's orders. What follows from these (groups, plan, users of
 * ports) is worked out again. Words are in the byte order of the machine.
 */
#include "detect_int.h"

#include <string.h>

#define VERSION 1
#define HEAD_WORDS 11u
#define FLOW_WORDS 11u
#define PORT_WORDS 3u
#define EDGE_WORDS 3u
#define ESTIMATE_WORDS 3u
#define PAPER_WORDS (3u + 3u * (DETECT__PAPER_BLOCKS + 1))
#define ROWS_MAX (INT64_C(1) << 31)
#define WORD_MAX (INT64_C(1) << 61) /* so that adding the frame cannot overflow */

/* Head of a saved state, in the order of its words. */
struct head {
    int64_t version, is_paper, state, has_thawed;
    int64_t flow_count, port_count, path_count, edge_count;
    int64_t begin_ps, skipped_ps, bin_ps;
};
_Static_assert(sizeof(struct head) == HEAD_WORDS * sizeof(int64_t), "words without gaps");

static size_t count_words(const struct head *h)
{
    const size_t flows = (size_t)h->flow_count, edges = (size_t)h->edge_count;
    size_t words = HEAD_WORDS + flows * FLOW_WORDS + (size_t)h->path_count +
                   (size_t)h->port_count * PORT_WORDS + edges * (1 + flows * EDGE_WORDS);

    words += 1; /* the next sample */
    if (h->state == DETECT__FROZEN)
        words += flows * ESTIMATE_WORDS;
    if (h->is_paper)
        words += flows * PAPER_WORDS;
    return words;
}

static struct head make_head(const struct detect *d, int64_t now_ps)
{
    return (struct head){
        .version = VERSION,
        .is_paper = d->paper != NULL,
        .state = d->state,
        .has_thawed = d->has_thawed,
        .flow_count = d->flow_count,
        .port_count = d->port_count,
        .path_count = d->path_count,
        .edge_count = d->edge_count,
        .begin_ps = d->begin_ps - now_ps,
        .skipped_ps = d->skipped_ps,
        .bin_ps = d->bin_ps,
    };
}

size_t detect_state_bytes(const struct detect *d)
{
    struct head h;

    if (d->state == DETECT__OFF)
        return 0;
    h = make_head(d, 0);
    return count_words(&h) * sizeof(int64_t);
}

/* ---- the frame ---- */

static uint32_t own_row(const uint32_t *order, uint32_t saved)
{
    return order ? order[saved] : saved;
}

static int64_t base_of(const int64_t *counters, uint32_t row)
{
    return counters ? counters[row] : 0;
}

/* ---- writing ---- */

struct cursor {
    char *at;
};

static void put(struct cursor *c, int64_t word)
{
    memcpy(c->at, &word, sizeof word);
    c->at += sizeof word;
}

static void save_flows(const struct detect *d, const struct detect_frame *f, struct cursor *c)
{
    for (uint32_t i = 0; i < d->flow_count; i++) {
        const uint32_t row = own_row(f->flow_order, i);
        const struct detect__flow *flow = &d->flow[row];

        put(c, flow->remaining_bytes);
        put(c, flow->acked_bytes - base_of(f->acked_bytes, row));
        put(c, flow->skipped_bytes);
        put(c, flow->base_rtt_ps);
        put(c, flow->rate_bps);
        put(c, flow->rate_bps_max);
        put(c, flow->payload_bytes);
        put(c, flow->wire_bytes);
        put(c, flow->carry);
        put(c, flow->hops);
        put(c, d->path_first[row + 1] - d->path_first[row]);
    }
}

static void save_paths(const struct detect *d, const struct detect_frame *f, struct cursor *c)
{
    uint32_t *saved_port = d->scratch; /* inverse of the port order */

    for (uint32_t i = 0; i < d->port_count; i++)
        saved_port[own_row(f->port_order, i)] = i;
    for (uint32_t i = 0; i < d->flow_count; i++) {
        const uint32_t row = own_row(f->flow_order, i);

        for (uint32_t hop = d->path_first[row]; hop < d->path_first[row + 1]; hop++)
            put(c, saved_port[d->path[hop]]);
    }
}

static void save_ports(const struct detect *d, const struct detect_frame *f, struct cursor *c)
{
    for (uint32_t i = 0; i < d->port_count; i++) {
        const uint32_t row = own_row(f->port_order, i);
        const struct detect__port *port = &d->port[row];

        put(c, port->rate_bps);
        put(c, port->tx_begin_bytes - base_of(f->tx_bytes, row));
        put(c, port->tx_bytes - base_of(f->tx_bytes, row));
    }
}

static void save_edges(const struct detect *d, const struct detect_frame *f, struct cursor *c)
{
    for (uint32_t e = 0; e < d->edge_count; e++) {
        put(c, d->edge_ps[e] - f->now_ps);
        for (uint32_t i = 0; i < d->flow_count; i++) {
            const uint32_t row = own_row(f->flow_order, i);
            const struct detect__edge *edge = detect__edges(d, e) + row;

            put(c, edge->acked_bytes - base_of(f->acked_bytes, row));
            put(c, edge->ack_ps - f->now_ps);
            put(c, edge->in_flight_bytes);
        }
    }
}

static void save_estimates(const struct detect *d, const struct detect_frame *f, struct cursor *c)
{
    for (uint32_t i = 0; i < d->flow_count; i++) {
        const struct detect__estimate *e = &d->estimate[own_row(f->flow_order, i)];

        put(c, e->rate.bytes);
        put(c, e->rate.ps);
        put(c, e->packets_max);
    }
}

static void save_paper(const struct detect *d, const struct detect_frame *f, struct cursor *c)
{
    for (uint32_t i = 0; i < d->flow_count; i++) {
        const struct detect__paper *p = &d->paper[own_row(f->flow_order, i)];

        put(c, p->newest);
        put(c, p->full_count);
        put(c, p->newest_samples);
        for (uint32_t b = 0; b <= DETECT__PAPER_BLOCKS; b++) {
            put(c, p->block[b].min_bps);
            put(c, p->block[b].max_bps);
            put(c, p->block[b].sum_bps);
        }
    }
}

void detect_save(const struct detect *d, const struct detect_frame *f, void *out)
{
    const struct head h = make_head(d, f->now_ps);
    struct cursor c = {out};

    if (d->state == DETECT__OFF)
        return;
    memcpy(c.at, &h, sizeof h);
    c.at += sizeof h;
    save_flows(d, f, &c);
    save_paths(d, f, &c);
    save_ports(d, f, &c);
    save_edges(d, f, &c);
    put(&c, d->next_sample_ps - f->now_ps);
    if (d->state == DETECT__FROZEN)
        save_estimates(d, f, &c);
    if (d->paper)
        save_paper(d, f, &c);
    check((size_t)(c.at - (char *)out) == detect_state_bytes(d), "wrote %zu of %zu bytes",
          (size_t)(c.at - (char *)out), detect_state_bytes(d));
}

/* ---- reading: a word out of its range marks the state as bad, and counts as the range's start
 * ---- */

struct reader {
    const char *at;
    int is_bad;
};

static int64_t get(struct reader *r, int64_t min, int64_t max)
{
    int64_t word;

    memcpy(&word, r->at, sizeof word);
    r->at += sizeof word;
    if (word >= min && word <= max)
        return word;
    r->is_bad = 1;
    return min;
}

static int64_t get_any(struct reader *r)
{
    return get(r, -WORD_MAX, WORD_MAX);
}

static int is_head_good(const struct head *h, const struct detect_params *p)
{
    return h->version == VERSION && h->is_paper == (p->spec.rule == DETECT_RULE_PAPER) &&
           (h->state == DETECT__WATCHING || h->state == DETECT__FROZEN) &&
           (h->has_thawed == 0 || h->has_thawed == 1) && h->flow_count > 0 &&
           h->flow_count <= p->spec.flow_count_max && h->port_count > 0 &&
           h->port_count < ROWS_MAX && h->path_count >= 0 && h->path_count < ROWS_MAX &&
           h->edge_count < (int64_t)DETECT__EDGES_MAX &&
           h->edge_count >= (h->has_thawed || h->state == DETECT__FROZEN) &&
           h->begin_ps >= -WORD_MAX && h->begin_ps <= WORD_MAX && h->skipped_ps >= 0 &&
           h->skipped_ps <= WORD_MAX && h->bin_ps > 0 && h->bin_ps <= WORD_MAX;
}

static void load_flows(struct detect *d, const struct detect_frame *f, struct reader *r)
{
    int64_t left = d->path_count;

    d->path_first[0] = 0;
    for (uint32_t i = 0; i < d->flow_count; i++) {
        const uint32_t row = own_row(f->flow_order, i);
        struct detect__flow *flow = &d->flow[row];
        int64_t length;

        flow->remaining_bytes = get(r, 0, WORD_MAX);
        flow->acked_bytes = get_any(r) + base_of(f->acked_bytes, row);
        flow->skipped_bytes = get(r, 0, WORD_MAX);
        flow->base_rtt_ps = get(r, 1, DETECT__TIME_PS_MAX);
        flow->rate_bps = get(r, 0, WORD_MAX);
        flow->rate_bps_max = get(r, 0, WORD_MAX);
        flow->payload_bytes = (uint32_t)get(r, 1, UINT32_MAX);
        flow->wire_bytes = (uint32_t)get(r, 0, UINT32_MAX);
        flow->carry = get(r, -2 * (int64_t)flow->payload_bytes * DETECT__CARRY_UNIT,
                          2 * (int64_t)flow->payload_bytes * DETECT__CARRY_UNIT);
        flow->hops = (uint32_t)get(r, 0, UINT32_MAX);
        length = get(r, 0, left);
        left -= length;
        d->path_first[row + 1] = (uint32_t)length;
    }
    for (uint32_t row = 0; row < d->flow_count; row++)
        d->path_first[row + 1] += d->path_first[row];
    if (left)
        r->is_bad = 1;
}

static void load_paths(struct detect *d, const struct detect_frame *f, struct reader *r)
{
    for (uint32_t i = 0; i < d->flow_count; i++) {
        const uint32_t row = own_row(f->flow_order, i);

        for (uint32_t hop = d->path_first[row]; hop < d->path_first[row + 1]; hop++)
            d->path[hop] = own_row(f->port_order, (uint32_t)get(r, 0, (int64_t)d->port_count - 1));
    }
}

static void load_ports(struct detect *d, const struct detect_frame *f, struct reader *r)
{
    for (uint32_t i = 0; i < d->port_count; i++) {
        const uint32_t row = own_row(f->port_order, i);
        struct detect__port *port = &d->port[row];

        port->rate_bps = get(r, 1, WORD_MAX);
        port->tx_begin_bytes = get_any(r) + base_of(f->tx_bytes, row);
        port->tx_bytes = get_any(r) + base_of(f->tx_bytes, row);
    }
}

static void load_edges(struct detect *d, const struct detect_frame *f, struct reader *r)
{
    int64_t min_ps = -WORD_MAX;

    for (uint32_t e = 0; e < d->edge_count; e++) {
        const int64_t edge_ps = get(r, min_ps, WORD_MAX);

        min_ps = edge_ps + 1;
        d->edge_ps[e] = edge_ps + f->now_ps;
        for (uint32_t i = 0; i < d->flow_count; i++) {
            const uint32_t row = own_row(f->flow_order, i);
            struct detect__edge *edge = d->edge + (size_t)e * d->flow_count + row;

            edge->acked_bytes = get_any(r) + base_of(f->acked_bytes, row);
            edge->ack_ps = get_any(r) + f->now_ps;
            edge->in_flight_bytes = get(r, 0, WORD_MAX);
        }
    }
}

static void load_estimates(struct detect *d, const struct detect_frame *f, struct reader *r)
{
    for (uint32_t i = 0; i < d->flow_count; i++) {
        struct detect__estimate *e = &d->estimate[own_row(f->flow_order, i)];

        e->rate.bytes = get(r, 1, WORD_MAX);
        e->rate.ps = get(r, 1, WORD_MAX);
        e->packets_max = get(r, 0, WORD_MAX);
    }
}

static void load_paper(struct detect *d, const struct detect_frame *f, struct reader *r)
{
    for (uint32_t i = 0; i < d->flow_count; i++) {
        struct detect__paper *p = &d->paper[own_row(f->flow_order, i)];

        p->newest = (uint32_t)get(r, 0, DETECT__PAPER_BLOCKS);
        p->full_count = (uint32_t)get(r, 0, DETECT__PAPER_BLOCKS);
        p->newest_samples = (uint32_t)get(r, 0, DETECT__PAPER_SAMPLES_MAX);
        for (uint32_t b = 0; b <= DETECT__PAPER_BLOCKS; b++) {
            p->block[b].min_bps = get(r, 0, DETECT__RATE_BPS_MAX);
            p->block[b].max_bps = get(r, 0, DETECT__RATE_BPS_MAX);
            p->block[b].sum_bps = get(r, 0, INT64_MAX);
        }
    }
}

static void load_body(struct detect *d, const struct head *h, const struct detect_frame *f,
                      struct reader *r)
{
    d->has_thawed = (uint8_t)h->has_thawed;
    d->edge_count = (uint32_t)h->edge_count;
    d->begin_ps = h->begin_ps + f->now_ps;
    d->skipped_ps = h->skipped_ps;
    d->bin_ps = h->bin_ps;
    load_flows(d, f, r);
    if (r->is_bad) /* the lengths of the paths cannot be relied on */
        return;
    load_paths(d, f, r);
    load_ports(d, f, r);
    load_edges(d, f, r);
    d->next_sample_ps = get_any(r) + f->now_ps;
    if (h->state == DETECT__FROZEN)
        load_estimates(d, f, r);
    if (h->is_paper)
        load_paper(d, f, r);
}

int detect_restore(struct detect *d, const struct detect_params *p, const struct detect_frame *f,
                   const void *state, size_t state_bytes)
{
    struct reader r = {.at = state};
    struct head h;
    int code;

    detect__stop(d);
    if (state_bytes < sizeof h)
        return WH_ERR_INPUT;
    memcpy(&h, state, sizeof h);
    r.at += sizeof h;
    if (!is_head_good(&h, p) || count_words(&h) * sizeof(int64_t) != state_bytes)
        return WH_ERR_INPUT;
    code = detect__reserve(d, p, (uint32_t)h.flow_count, (uint32_t)h.port_count,
                           (uint32_t)h.path_count);
    if (code)
        return code;
    load_body(d, &h, f, &r);
    if (r.is_bad) {
        detect__stop(d);
        return WH_ERR_INPUT;
    }
    detect__derive(d);
    d->state = (enum detect__state)h.state;
    return 0;
}
