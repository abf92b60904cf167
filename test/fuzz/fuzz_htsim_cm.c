/*
 * fuzz_htsim_cm.c - any bytes as a connection matrix. In what is accepted nodes, ids and triggers
 * are those that exist, and connections with a start become flows of a network of that many hosts.
 */
#include "fuzz_file.h"
#include "htsim.h"

#include <string.h>

#define HOSTS_MAX 64

static void check_trigger(const struct htsim_cm *cm, uint32_t trigger)
{
    check(trigger == HTSIM_NONE || trigger < cm->trigger_count, "trigger row %u", trigger);
}

static uint32_t check_conns(const struct htsim_cm *cm)
{
    uint32_t started = 0;

    for (uint32_t i = 0; i < cm->conn_count; i++) {
        const struct htsim_conn *c = &cm->conns[i];

        check(c->src < cm->node_count && c->dst < cm->node_count && c->src != c->dst, "%u %u",
              c->src, c->dst);
        check((c->start_ps >= 0) == (c->trigger == HTSIM_NONE), "start of row %u", i);
        check(c->bytes >= 0, "size of row %u", i);
        check_trigger(cm, c->trigger);
        check_trigger(cm, c->send_done_trigger);
        check_trigger(cm, c->recv_done_trigger);
        started += c->start_ps >= 0;
    }
    return started;
}

/* A star of @hosts. */
static struct topo *make_star(uint32_t hosts)
{
    const struct link_class class = {.rate_bps = INT64_C(100000000000), .delay_ps = 1000000};
    struct topo *t = NULL;
    int rc = topo_create(&t, hosts + 1);

    check(rc == 0, "code %d", rc);
    topo_set_kind(t, hosts, NODE_SWITCH);
    check(topo_add_class(t, &class) == 0, "%u classes", t->class_count);
    for (uint32_t n = 0; n < hosts && !rc; n++)
        rc = topo_add_link(t, n, hosts, 0);
    check(rc == 0, "code %d", rc);
    rc = topo_finish(t);
    check(rc == 0, "code %d", rc);
    return t;
}

static void check_flows(const struct htsim_cm *cm, uint32_t started)
{
    struct scenario sc;
    struct err_info e = {0};

    if (cm->node_count > HOSTS_MAX)
        return;
    scenario_init(&sc);
    sc.cfg.end_ps = INT64_C(1000000000000);
    sc.topo = make_star(cm->node_count);
    int rc = htsim_to_flows(cm, sc.topo, &sc, NULL, &e);

    check(rc == 0, "%s", e.text);
    check(sc.flow_count == started, "%u flows of %u", sc.flow_count, started);
    for (uint32_t i = 0; i < sc.flow_count; i++) {
        check(sc.flows[i].bytes > 0, "flow %u", i);
        check(i == 0 || sc.flows[i - 1].start_ps <= sc.flows[i].start_ps, "flow %u", i);
    }
    scenario_fini(&sc);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct fuzz_file f;
    struct err_info e = {0};
    struct htsim_cm cm = {0};

    fuzz_file_open(&f, data, bytes);
    if (htsim_read_cm(f.path, &cm, NULL, &e) == 0)
        check_flows(&cm, check_conns(&cm));
    else
        check(strstr(e.text, "expected") && !cm.conns, "no reason: %s", e.text);
    htsim_cm_fini(&cm);
    fuzz_file_close(&f);
    return 0;
}
