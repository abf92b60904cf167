/*
 * run_htsim.c - see run_htsim.h. A flow's user field is the row of its connection.
 */
#include "run_htsim.h"

#include "units.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define FLOW_PRIO 3 /* as those of htsim_to_flows */
#define FLOW_DPORT 100

/* Connections that wait for a trigger are a list by row: first, then next. */
struct trigger_state {
    uint32_t first, last;
    uint32_t fired;
};

struct run_htsim {
    const struct htsim_cm *cm;
    struct trigger_state *trigger; /* shape: [trigger_count] */
    uint32_t *next;                /* shape: [conn_count], waits for the same trigger */
    uint32_t *flow;                /* shape: [conn_count] */
    int64_t *endless_bytes;        /* shape: [conn_count], 0 unless endless and triggered */
    struct sim *s;
    int (*poll)(void *ctx, struct sim *s);
    void *poll_ctx;
    int rc; /* first failure in a hook */
    struct err_info e;
};

/* What the first link of the source carries until the end, and one more: it never completes. */
static int64_t calc_endless(const struct scenario *sc, uint32_t host)
{
    const struct topo *t = sc->topo;
    double bytes = 2;

    for (uint32_t p = t->first_port[host]; p < t->first_port[host + 1]; p++)
        bytes +=
            (double)topo_port_class(t, p)->rate_bps / 8 * (double)sc->cfg.end_ps / (double)PS_PER_S;
    return bytes < 4e18 ? (int64_t)bytes : INT64_C(4000000000000000000);
}

static void append_waiting(struct run_htsim *r, uint32_t conn)
{
    struct trigger_state *t = &r->trigger[r->cm->conns[conn].trigger];

    if (t->first == HTSIM_NONE)
        t->first = conn;
    else
        r->next[t->last] = conn;
    t->last = conn;
}

static int fill_rows(struct run_htsim *r, const struct scenario *sc, struct err_info *e)
{
    const struct htsim_cm *cm = r->cm;

    for (uint32_t i = 0; i < cm->trigger_count; i++)
        r->trigger[i].first = HTSIM_NONE;
    for (uint32_t i = 0; i < cm->conn_count; i++) {
        r->next[i] = r->flow[i] = HTSIM_NONE;
        if (cm->conns[i].trigger == HTSIM_NONE)
            continue;
        append_waiting(r, i);
        if (cm->conns[i].bytes != HTSIM_ENDLESS)
            continue;
        if (sc->cfg.end_ps == TIME_NEVER)
            return err_input(e, cm->path, cm->conns[i].line,
                             "a connection without a size, which never ends",
                             "a size, or an end time of the run");
        r->endless_bytes[i] = calc_endless(sc, cm->conns[i].src);
    }
    for (uint32_t i = 0; i < sc->flow_count; i++)
        r->flow[sc->flows[i].user] = i;
    return 0;
}

int run_htsim_create(struct run_htsim **out, const struct htsim_cm *cm, const struct scenario *sc,
                     struct err_info *e)
{
    struct run_htsim *r = calloc(1, sizeof *r);
    int rc = WH_ERR_NOMEM;

    if (!r)
        return WH_ERR_NOMEM;
    r->cm = cm;
    r->trigger = calloc((size_t)cm->trigger_count + 1, sizeof *r->trigger);
    r->next = calloc((size_t)cm->conn_count + 1, sizeof *r->next);
    r->flow = calloc((size_t)cm->conn_count + 1, sizeof *r->flow);
    r->endless_bytes = calloc((size_t)cm->conn_count + 1, sizeof *r->endless_bytes);
    if (r->trigger && r->next && r->flow && r->endless_bytes)
        rc = fill_rows(r, sc, e);
    if (rc) {
        run_htsim_destroy(r);
        return rc;
    }
    *out = r;
    return 0;
}

void run_htsim_destroy(struct run_htsim *r)
{
    if (!r)
        return;
    free(r->trigger);
    free(r->next);
    free(r->flow);
    free(r->endless_bytes);
    free(r);
}

/* ---- triggers ---- */

static int start_conn(struct run_htsim *r, uint32_t row)
{
    const struct htsim_conn *c = &r->cm->conns[row];
    const struct flow_spec f = {.start_ps = sim_now_ps(r->s),
                                .bytes = c->bytes ? c->bytes : r->endless_bytes[row],
                                .src = c->src,
                                .dst = c->dst,
                                .dport = FLOW_DPORT,
                                .prio = FLOW_PRIO,
                                .user = row};
    const int rc = sim_add_flow(r->s, &f, &r->flow[row]);

    if (rc)
        return err_set(&r->e, rc, r->cm->path, c->line, "cannot start connection %u->%u: %s",
                       c->src, c->dst, err_text(rc));
    return 0;
}

/* Starts the first @max of those that wait. */
static int start_waiting(struct run_htsim *r, struct trigger_state *t, uint32_t max)
{
    int rc = 0;

    while (max-- && t->first != HTSIM_NONE && !rc) {
        const uint32_t row = t->first;

        t->first = r->next[row];
        rc = start_conn(r, row);
    }
    return rc;
}

static int fire(struct run_htsim *r, uint32_t row)
{
    struct trigger_state *t = &r->trigger[row];
    const struct htsim_trigger *spec = &r->cm->triggers[row];

    t->fired++;
    switch (spec->kind) {
    case HTSIM_MULTISHOT:
        return start_waiting(r, t, 1);
    case HTSIM_BARRIER:
        return t->fired == spec->count ? start_waiting(r, t, UINT32_MAX) : 0;
    default:
        break;
    }
    if (t->fired > 1)
        return err_set(&r->e, WH_ERR_INPUT, r->cm->path, spec->line,
                       "found a second firing of trigger %u, expected one: it is a oneshot",
                       spec->id);
    return start_waiting(r, t, UINT32_MAX);
}

static void fire_if_any(struct run_htsim *r, uint32_t row)
{
    if (row != HTSIM_NONE && !r->rc)
        r->rc = fire(r, row);
}

static void on_complete(void *ctx, struct sim *s, uint32_t flow, int64_t now_ps)
{
    struct run_htsim *r = ctx;

    (void)now_ps;
    fire_if_any(r, r->cm->conns[sim_flow_spec(s, flow)->user].send_done_trigger);
}

static void on_delivered(void *ctx, struct sim *s, uint32_t flow, int64_t now_ps)
{
    struct run_htsim *r = ctx;

    (void)now_ps;
    fire_if_any(r, r->cm->conns[sim_flow_spec(s, flow)->user].recv_done_trigger);
}

static int on_poll(void *ctx, struct sim *s)
{
    struct run_htsim *r = ctx;

    if (r->rc)
        return 1;
    return r->poll ? r->poll(r->poll_ctx, s) : 0;
}

/* ---- the run ---- */

static void keep_first(void *ctx, const char *text)
{
    (void)err_set(ctx, WH_ERR_INPUT, NULL, 0, "%s", text);
}

static int report_blocked(const struct run_htsim *r, struct err_info *e)
{
    struct err_info first = {.text = ""};
    const uint64_t count = run_htsim_blocked(r, 1, keep_first, &first);

    if (!count)
        return 0;
    return err_set(e, WH_ERR_INPUT, r->cm->path, 0,
                   "%" PRIu64 " connection%s can never start: %.500s", count, count == 1 ? "" : "s",
                   first.text);
}

int run_htsim_run(struct run_htsim *r, struct sim *s, int (*poll)(void *ctx, struct sim *s),
                  void *poll_ctx, struct err_info *e)
{
    const struct sim_hooks hooks = {r, on_complete, on_delivered, on_poll};
    int rc;

    r->s = s;
    r->poll = poll;
    r->poll_ctx = poll_ctx;
    sim_set_hooks(s, &hooks);
    rc = sim_run(s, TIME_NEVER);
    if (r->rc) {
        if (e)
            *e = r->e;
        return r->rc;
    }
    return rc || !sim_is_done(s) ? rc : report_blocked(r, e);
}

static const char *kind_name(const struct htsim_trigger *t)
{
    return t->kind == HTSIM_MULTISHOT ? "multishot"
           : t->kind == HTSIM_BARRIER ? "barrier"
                                      : "oneshot";
}

uint64_t run_htsim_blocked(const struct run_htsim *r, uint64_t max,
                           void (*fn)(void *ctx, const char *text), void *ctx)
{
    uint64_t count = 0;
    char text[256];

    for (uint32_t i = 0; i < r->cm->conn_count; i++) {
        const struct htsim_conn *c = &r->cm->conns[i];
        const struct htsim_trigger *t;

        if (r->flow[i] != HTSIM_NONE || c->trigger == HTSIM_NONE || count++ >= max)
            continue;
        t = &r->cm->triggers[c->trigger];
        (void)snprintf(text, sizeof text,
                       "connection %" PRIu32 "->%" PRIu32 " (id %" PRIu32 ", line %ld) waits for "
                       "trigger %" PRIu32 ", a %s that fired %" PRIu32 " times",
                       c->src, c->dst, c->id, c->line, t->id, kind_name(t),
                       r->trigger[c->trigger].fired);
        fn(ctx, text);
    }
    return count;
}

uint32_t run_htsim_flow(const struct run_htsim *r, uint32_t conn)
{
    return r->flow[conn];
}
