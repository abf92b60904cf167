/*
 * checkpoint.c - see checkpoint.h. Each kind of row is walked in the same order when it is taken
 * and when it is put back.
 */
#include "checkpoint.h"

#include "sim_int.h"

#include <stdlib.h>
#include <string.h>

struct checkpoint {
    struct part part;    /* all fields that are values */
    struct calendar cal; /* the partition's own; meanwhile it works on a copy */
    uint32_t *port;      /* shape: [port_count], distinct, ascending */
    uint32_t port_count, port_cap;
    struct bytes rows;
    const uint8_t *at; /* while they are put back */
};

int checkpoint_can(const struct part *p)
{
    return p->s->cfg.recovery != RECOVERY_SELECTIVE_REPEAT && !p->old_count && !p->note_count;
}

struct checkpoint *checkpoint_create(void)
{
    return calloc(1, sizeof(struct checkpoint));
}

void checkpoint_free(struct checkpoint *c)
{
    if (!c)
        return;
    calendar_fini(&c->cal);
    free(c->port);
    bytes_fini(&c->rows);
    free(c);
}

/* ---- which ports ---- */

static void add_port(void *arg, uint32_t port)
{
    struct checkpoint *c = arg;

    if (c->port_count == c->port_cap) {
        const uint32_t cap = c->port_cap ? 2 * c->port_cap : 64;

        check(!rows_grow(&c->port, sizeof *c->port, cap), "out of memory for %u ports", cap);
        c->port_cap = cap;
    }
    c->port[c->port_count++] = port;
}

static int by_number(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

static void list_ports(const struct part *p, struct checkpoint *c)
{
    const struct sim *s = p->s;
    uint32_t kept = 0;

    c->port_count = 0;
    for (uint32_t i = 0; i < p->flow_count; i++)
        flow_each_port(s, &p->tx[p->flow[i]], add_port, c);
    for (uint32_t i = 0; i < p->swtch_count; i++)
        swtch_each_port(s, &s->swtch[p->swtch[i]], add_port, c);
    for (uint32_t i = 0; i < p->linger_count; i++)
        if (p->port[p->linger[i]].part == p->id)
            add_port(c, p->linger[i]);
    if (c->port_count > 1)
        qsort(c->port, c->port_count, sizeof *c->port, by_number);
    for (uint32_t i = 0; i < c->port_count; i++)
        if (!i || c->port[i] != c->port[kept - 1])
            c->port[kept++] = c->port[i];
    c->port_count = kept;
}

/* ---- rows ---- */

typedef void (*row_fn)(struct checkpoint *c, void *row, size_t bytes);

static void put_aside(struct checkpoint *c, void *row, size_t bytes)
{
    bytes_put(&c->rows, row, bytes);
}

static void put_back(struct checkpoint *c, void *row, size_t bytes)
{
    memcpy(row, c->at, bytes);
    c->at += bytes;
}

/* Writes only what has changed: a row also has fields that never do, which workers of other
 * partitions read meanwhile (who owns a port, of what kind it is). */
static void put_changes_back(struct checkpoint *c, void *row, size_t bytes)
{
    char *to = row;

    for (size_t i = 0; i < bytes; i += sizeof(uint32_t))
        if (memcmp(to + i, c->at + i, sizeof(uint32_t)) != 0)
            memcpy(to + i, c->at + i, sizeof(uint32_t));
    c->at += bytes;
}

/* All are made of whole 32-bit words. Packets are not rows of their own here: see save_list. */
static void each_port_row(struct part *p, struct checkpoint *c, uint32_t port, row_fn fn)
{
    struct sim *s = p->s;
    const size_t first = (size_t)port * s->class_count;

    fn(c, &p->port[port], sizeof *p->port);
    fn(c, &s->cold[port], sizeof *s->cold);
    fn(c, &s->ingress[first], s->class_count * sizeof *s->ingress);
    if (s->class_count > 2)
        fn(c, &s->extra_q[(size_t)port * (s->class_count - 2)],
           (s->class_count - 2) * sizeof *s->extra_q);
    if (p->port[port].flags & PORT_HOST) {
        struct nic *n = &s->nic[p->port[port].owner];

        fn(c, n, sizeof *n);
        if (n->count)
            fn(c, n->flow, n->count * sizeof *n->flow);
    }
}

static void each_row(struct part *p, struct checkpoint *c, row_fn fn)
{
    struct sim *s = p->s;

    for (uint32_t i = 0; i < p->flow_count; i++) {
        const uint32_t flow = p->flow[i];

        fn(c, &p->tx[flow], sizeof *p->tx);
        fn(c, &p->rx[flow], sizeof *p->rx);
        if (s->cc_stride)
            fn(c, cc_state_of(s, flow), s->cc_stride);
    }
    for (uint32_t i = 0; i < p->swtch_count; i++)
        fn(c, &s->swtch[p->swtch[i]], sizeof *s->swtch);
    for (uint32_t i = 0; i < c->port_count; i++)
        each_port_row(p, c, c->port[i], fn);
}

/* ---- packets ---- */

typedef void (*list_fn)(struct part *p, struct checkpoint *c, uint32_t *head, uint32_t *tail);

static void save_list(struct part *p, struct checkpoint *c, uint32_t *head, uint32_t *tail)
{
    const size_t at = c->rows.count;
    uint32_t count = 0;

    bytes_put(&c->rows, &count, sizeof count);
    for (uint32_t row = *head; row; row = row == *tail ? 0 : p->pkt[row].next) {
        bytes_put(&c->rows, &p->pkt[row], sizeof *p->pkt);
        if (p->int_rec)
            bytes_put(&c->rows, &p->int_rec[row], sizeof *p->int_rec);
        count++;
    }
    memcpy(c->rows.at + at, &count, sizeof count);
}

static void free_list(struct part *p, struct checkpoint *c, uint32_t *head, uint32_t *tail)
{
    (void)c;
    for (uint32_t row = *head; row;) {
        const uint32_t next = row == *tail ? 0 : p->pkt[row].next;

        pkt_free(p, row);
        row = next;
    }
}

static void restore_list(struct part *p, struct checkpoint *c, uint32_t *head, uint32_t *tail)
{
    uint32_t count;

    put_back(c, &count, sizeof count);
    *head = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t row = pkt_alloc(p);

        put_back(c, &p->pkt[row], sizeof *p->pkt);
        if (p->int_rec)
            put_back(c, &p->int_rec[row], sizeof *p->int_rec);
        p->pkt[row].next = 0;
        if (*head)
            p->pkt[*tail].next = row;
        else
            *head = row;
        *tail = row;
    }
}

static void each_list(struct part *p, struct checkpoint *c, list_fn fn)
{
    for (uint32_t i = 0; i < p->flow_count; i++) {
        struct flow_tx *t = &p->tx[p->flow[i]];

        fn(p, c, &t->bypass_head, &t->bypass_tail);
    }
    for (uint32_t i = 0; i < c->port_count; i++) {
        struct port *pt = &p->port[c->port[i]];

        fn(p, c, &pt->wire_head, &pt->wire_tail);
        for (uint32_t k = 0; k < p->s->class_count; k++) {
            struct pkt_queue *q = port_queue(p->s, pt, c->port[i], k);

            fn(p, c, &q->head, &q->tail);
        }
    }
}

/* ---- the whole ---- */

void checkpoint_take(struct part *p, struct checkpoint *c)
{
    list_ports(p, c);
    c->part = *p;
    calendar_fini(&c->cal); /* of one that was not put back */
    c->cal = p->cal;
    memset(&p->cal, 0, sizeof p->cal);
    calendar_copy(&p->cal, &c->cal);
    check(!p->cal.failed || c->cal.failed, "out of memory for a copy of %u events",
          calendar_count(&c->cal));
    c->rows.count = 0;
    each_row(p, c, put_aside);
    each_list(p, c, save_list);
    if (p->note_count)
        bytes_put(&c->rows, p->note, p->note_count * sizeof *p->note);
    if (p->final_count)
        bytes_put(&c->rows, p->final, p->final_count * sizeof *p->final);
}

void checkpoint_put(struct part *p, struct checkpoint *c)
{
    struct part now;

    each_list(p, c, free_list);
    c->at = c->rows.at;
    each_row(p, c, put_changes_back);
    each_list(p, c, restore_list);
    calendar_fini(&p->cal);
    now = *p;
    memcpy(p, &c->part, offsetof(struct part, task));
    p->cal = c->cal;
    memset(&c->cal, 0, sizeof c->cal);
    /* arrays that may have grown, never shrunk, and the packets that are free now */
    p->note = now.note;
    p->note_cap = now.note_cap;
    p->final = now.final;
    p->final_cap = now.final_cap;
    p->pkt_free = now.pkt_free;
    p->watch = now.watch; /* which know nothing until the next episode begins */
    p->episode = now.episode;
    if (p->note_count)
        put_back(c, p->note, p->note_count * sizeof *p->note);
    if (p->final_count)
        put_back(c, p->final, p->final_count * sizeof *p->final);
}
