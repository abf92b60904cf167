/*
 * api_config.c - topologies, settings and whole scenarios for a handle; see wormhole.h, section 2.
 */
#define _GNU_SOURCE /* memfd_create */
#include "api_int.h"

#include "config_keys.h"
#include "hpcc.h"
#include "scenario_yaml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* --- the network by calls --- */

void builder_fini(struct builder *b)
{
    free(b->kind);
    free(b->link);
    *b = (struct builder){.kind = NULL};
}

static int64_t add_node(struct wh_sim *s, uint8_t kind)
{
    struct builder *b = &s->build;
    const int rc = api__need_config(s);

    if (rc)
        return rc;
    if (s->sc.topo)
        return api__refuse(s, WH_STATUS_STATE,
                           "found a node after a whole topology was loaded, "
                           "expected one or the other");
    if (b->node_count == b->node_cap) {
        const uint32_t cap = b->node_cap ? 2 * b->node_cap : 64;
        uint8_t *grown = realloc(b->kind, cap);

        if (!grown)
            return api__fail(s, WH_STATUS_NOMEM, NULL);
        b->kind = grown;
        b->node_cap = cap;
    }
    b->kind[b->node_count] = kind;
    return b->node_count++;
}

int64_t wh_add_host(struct wh_sim *s)
{
    return add_node(s, NODE_HOST);
}

int64_t wh_add_switch(struct wh_sim *s)
{
    return add_node(s, NODE_SWITCH);
}

static int check_link(struct wh_sim *s, const struct builder_link *l)
{
    const struct link_class *c = &l->link_class;

    if (l->a >= s->build.node_count || l->b >= s->build.node_count || l->a == l->b)
        return api__refuse(s, WH_STATUS_INPUT,
                           "found a link between nodes %u and %u, expected two "
                           "different nodes below %u",
                           l->a, l->b, s->build.node_count);
    if (c->rate_bps <= 0 || c->delay_ps < 0 || !(c->error_rate >= 0 && c->error_rate <= 1))
        return api__refuse(s, WH_STATUS_INPUT,
                           "found a link with %lld bit/s, %lld ps, error rate %g; "
                           "expected a rate above 0, a delay of at least 0, an error rate of 0..1",
                           (long long)c->rate_bps, (long long)c->delay_ps, c->error_rate);
    return 0;
}

int wh_add_link(struct wh_sim *s, uint32_t a, uint32_t b, int64_t rate_bps, int64_t delay_ps,
                double error_rate)
{
    const struct builder_link l = {a, b, {rate_bps, delay_ps, error_rate}};
    struct builder *bd = &s->build;
    int rc = api__need_config(s);

    if (!rc)
        rc = check_link(s, &l);
    if (rc)
        return rc;
    if (bd->link_count == bd->link_cap) {
        const uint32_t cap = bd->link_cap ? 2 * bd->link_cap : 64;
        struct builder_link *grown = realloc(bd->link, cap * sizeof *grown);

        if (!grown)
            return api__fail(s, WH_STATUS_NOMEM, NULL);
        bd->link = grown;
        bd->link_cap = cap;
    }
    bd->link[bd->link_count++] = l;
    return 0;
}

int builder_finish(const struct builder *b, struct topo **out)
{
    struct topo *t;
    int rc = topo_create(&t, b->node_count);

    if (rc)
        return rc;
    for (uint32_t n = 0; n < b->node_count; n++)
        topo_set_kind(t, n, (enum node_kind)b->kind[n]);
    for (uint32_t i = 0; i < b->link_count && !rc; i++) {
        const int64_t class_id = topo_add_class(t, &b->link[i].link_class);

        rc = class_id < 0 ? (int)class_id
                          : topo_add_link(t, b->link[i].a, b->link[i].b, (uint32_t)class_id);
    }
    if (!rc)
        rc = topo_finish(t);
    if (rc) {
        topo_destroy(t);
        return rc;
    }
    *out = t;
    return 0;
}

/* --- the network from a file or text --- */

/* @name: what messages call the file, NULL: its path */
static int load_topology(struct wh_sim *s, const char *path, const char *name)
{
    const struct warn_sink sink = api__warn_sink(s);
    struct err_info e = {.text = ""};
    struct topo *t = NULL;
    int rc = api__need_config(s);

    if (rc)
        return rc;
    if (s->build.node_count)
        return api__refuse(s, WH_STATUS_STATE,
                           "found a whole topology after nodes were added, "
                           "expected one or the other");
    rc = hpcc_read_topology(path, &t, &sink, &e);
    if (rc && name)
        (void)snprintf(e.file, sizeof e.file, "%s", name);
    if (rc)
        return api__fail(s, rc, &e);
    topo_destroy(s->sc.topo);
    s->sc.topo = t;
    return 0;
}

int wh_load_topology(struct wh_sim *s, const char *path)
{
    return load_topology(s, path, NULL);
}

/* Writes all of @text, across short writes. */
static int write_all(int fd, const char *text)
{
    size_t left = strlen(text);

    while (left > 0) {
        const ssize_t n = write(fd, text, left);

        if (n <= 0)
            return WH_STATUS_IO;
        text += n;
        left -= (size_t)n;
    }
    return 0;
}

/* The reader wants a file: one in memory, reached through its descriptor. */
int wh_load_topology_text(struct wh_sim *s, const char *text)
{
    const int fd = memfd_create("topology", MFD_CLOEXEC);
    char path[64];
    int rc;

    if (fd < 0)
        return api__refuse(s, WH_STATUS_IO, "cannot make a file in memory");
    rc = write_all(fd, text);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    rc = rc ? api__fail(s, rc, NULL) : load_topology(s, path, "topology text");
    (void)close(fd);
    return rc;
}

/* --- settings --- */

int wh_set(struct wh_sim *s, const char *name, const char *value)
{
    struct err_info e = {.text = ""};
    int rc = api__need_config(s);

    if (rc)
        return rc;
    rc = config_key_set(&s->sc.cfg, name, value, &e);
    return rc ? api__fail(s, rc, &e) : 0;
}

int wh_set_ecn(struct wh_sim *s, int64_t rate_bps, int64_t kmin_bytes, int64_t kmax_bytes,
               double pmax)
{
    struct sim_config *c = &s->sc.cfg;
    uint32_t row = 0;
    const int rc = api__need_config(s);

    if (rc)
        return rc;
    if (rate_bps <= 0 || kmin_bytes < 0 || kmax_bytes < kmin_bytes || !(pmax >= 0 && pmax <= 1))
        return api__refuse(s, WH_STATUS_INPUT,
                           "found ECN thresholds %lld B, %lld B, %g at %lld bit/s, "
                           "expected 0 <= kmin <= kmax, pmax 0..1 and a rate above 0",
                           (long long)kmin_bytes, (long long)kmax_bytes, pmax, (long long)rate_bps);
    while (row < c->ecn_row_count && c->ecn_rows[row].rate_bps != rate_bps)
        row++;
    if (row == CONFIG_ECN_ROWS_MAX)
        return api__refuse(s, WH_STATUS_LIMIT, "found more than %d rates with ECN thresholds",
                           CONFIG_ECN_ROWS_MAX);
    c->ecn_rows[row] = (struct ecn_row){rate_bps, kmin_bytes, kmax_bytes, pmax};
    if (row == c->ecn_row_count)
        c->ecn_row_count++;
    return 0;
}

int wh_add_link_event(struct wh_sim *s, int64_t time_ps, uint32_t a, uint32_t b, int is_up)
{
    struct sim_config *c = &s->sc.cfg;
    const int rc = api__need_config(s);

    if (rc)
        return rc;
    if (time_ps < 0)
        return api__refuse(s, WH_STATUS_INPUT, "found a link event at %lld ps, expected 0 or later",
                           (long long)time_ps);
    if (c->event_count == CONFIG_EVENTS_MAX)
        return api__refuse(s, WH_STATUS_LIMIT, "found more than %d link events", CONFIG_EVENTS_MAX);
    c->events[c->event_count++] =
        (struct net_event){time_ps, a, b, is_up ? NET_LINK_UP : NET_LINK_DOWN};
    return 0;
}

/* --- whole scenarios --- */

/* A failed reader may leave half a scenario behind: start over. */
static int keep_scenario(struct wh_sim *s, int rc, const struct err_info *e)
{
    if (!rc)
        return 0;
    scenario_fini(&s->sc);
    scenario_init(&s->sc);
    return api__fail(s, rc, e);
}

static int clear_scenario(struct wh_sim *s)
{
    const int rc = api__need_config(s);

    if (rc)
        return rc;
    builder_fini(&s->build);
    scenario_fini(&s->sc);
    scenario_init(&s->sc);
    return 0;
}

int wh_load_scenario(struct wh_sim *s, const char *path)
{
    const struct warn_sink sink = api__warn_sink(s);
    struct err_info e = {.text = ""};
    const int rc = clear_scenario(s);

    if (rc)
        return rc;
    return keep_scenario(s, scenario_load_yaml(path, NULL, 0, &s->sc, &sink, &e), &e);
}

int wh_load_hpcc(struct wh_sim *s, const char *path)
{
    const struct warn_sink sink = api__warn_sink(s);
    struct err_info e = {.text = ""};
    const int rc = clear_scenario(s);

    if (rc)
        return rc;
    return keep_scenario(s, hpcc_load(path, NULL, NULL, 0, &s->sc, &sink, &e), &e);
}
