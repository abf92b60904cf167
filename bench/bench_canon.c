/*
 * bench_canon.c - price of a canonical key (memo/canon.h): the order, and the serialised form.
 *
 * Graphs as partitions have them, states of 800 B a flow and 200 B a port. In "equal" ones all
 * flows and all ports have one state, as at the start of a collective, and symmetry is largest; in
 * "mixed" ones each flow has its own. "one" has one flow in another state.
 *   lone       1 flow, 8 ports
 *   incast-N   N flows, a port each and 5 common ones
 *   racks-R    R racks of 8 senders, a port for each sender and each rack, 2 common ones
 *   ring-N     N flows of 6 ports, 3 shared with the next
 *   ring-NxT   the same with T flows on each link
 *   a2a-N      all-to-all of N hosts, a port up and a port down for each
 */
#include "canon.h"
#include "measure.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FLOW_BYTES 800u
#define PORT_BYTES 200u

enum states { STATES_EQUAL, STATES_ONE, STATES_MIXED, STATES_COUNT };
static const char *const states_name[STATES_COUNT] = {"equal", "one", "mixed"};

struct net {
    struct canon_graph g;
    uint8_t *bytes;
    struct canon_colour *colour;
    struct canon_edge *edge;
    uint32_t bytes_used, vertex_cap, edge_cap, flow_count;
    enum states states;
};

static void *allocate(size_t bytes)
{
    void *p = malloc(bytes);

    check(p != NULL, "no memory for %zu bytes", bytes);
    return p;
}

static void net_init(struct net *n, uint32_t flows, uint32_t ports, uint32_t edges,
                     enum states states)
{
    *n = (struct net){.vertex_cap = flows + ports, .edge_cap = edges, .states = states};
    n->g.bytes = n->bytes = allocate((size_t)flows * FLOW_BYTES + (size_t)ports * PORT_BYTES);
    n->g.colour = n->colour = allocate(n->vertex_cap * sizeof *n->colour);
    n->g.edge = n->edge = allocate(edges * sizeof *n->edge);
}

static void net_fini(struct net *n)
{
    free(n->bytes);
    free(n->colour);
    free(n->edge);
}

/* @mark: in the last bytes, so that comparing states has to read them all. */
static uint32_t add_vertex(struct net *n, uint32_t state_bytes, uint32_t mark)
{
    const uint32_t v = n->g.vertex_count++;

    check(v < n->vertex_cap, "%u vertices", n->vertex_cap);
    memset(n->bytes + n->bytes_used, 1, state_bytes);
    memcpy(n->bytes + n->bytes_used + state_bytes - sizeof mark, &mark, sizeof mark);
    n->colour[v] = (struct canon_colour){n->bytes_used, state_bytes};
    n->bytes_used += state_bytes;
    return v;
}

static uint32_t add_port(struct net *n)
{
    return add_vertex(n, PORT_BYTES, 0);
}

static uint32_t add_ports(struct net *n, uint32_t count)
{
    const uint32_t first = n->g.vertex_count;

    for (uint32_t i = 0; i < count; i++)
        add_port(n);
    return first;
}

static uint32_t add_flow(struct net *n)
{
    const uint32_t number = n->flow_count++;
    const uint32_t mark[STATES_COUNT] = {0, number == 0, number};

    return add_vertex(n, FLOW_BYTES, mark[n->states]);
}

static void add_hop(struct net *n, uint32_t flow, uint32_t port, uint32_t hop)
{
    check(n->g.edge_count < n->edge_cap, "%u edges", n->edge_cap);
    n->edge[n->g.edge_count++] = (struct canon_edge){flow, port, hop};
}

/* ---- nets: a and b are the numbers in the name ---- */

static void build_lone(struct net *n, uint32_t a, uint32_t b, enum states states)
{
    net_init(n, 1, 8, 8, states);
    (void)a;
    (void)b;
    add_flow(n);
    for (uint32_t h = 0; h < 8; h++)
        add_hop(n, 0, add_port(n), h);
}

static void build_incast(struct net *n, uint32_t flows, uint32_t b, enum states states)
{
    uint32_t common;

    (void)b;
    net_init(n, flows, flows + 5, 6 * flows, states);
    common = add_ports(n, 5);
    for (uint32_t i = 0; i < flows; i++) {
        const uint32_t flow = add_flow(n);

        add_hop(n, flow, add_port(n), 0);
        for (uint32_t h = 0; h < 5; h++)
            add_hop(n, flow, common + h, 1 + h);
    }
}

static void build_racks(struct net *n, uint32_t racks, uint32_t b, enum states states)
{
    const uint32_t flows = 8 * racks;
    uint32_t common;

    (void)b;
    net_init(n, flows, flows + racks + 2, 4 * flows, states);
    common = add_ports(n, 2);
    for (uint32_t r = 0; r < racks; r++) {
        const uint32_t uplink = add_port(n);

        for (uint32_t i = 0; i < 8; i++) {
            const uint32_t flow = add_flow(n);

            add_hop(n, flow, add_port(n), 0);
            add_hop(n, flow, uplink, 1);
            add_hop(n, flow, common, 2);
            add_hop(n, flow, common + 1, 3);
        }
    }
}

static void build_ring(struct net *n, uint32_t links, uint32_t twins, enum states states)
{
    net_init(n, links * twins, 3 * links, 6 * links * twins, states);
    add_ports(n, 3 * links);
    for (uint32_t i = 0; i < links * twins; i++) {
        const uint32_t flow = add_flow(n);

        for (uint32_t h = 0; h < 6; h++)
            add_hop(n, flow, (i / twins * 3 + h) % (3 * links), h);
    }
}

static void build_a2a(struct net *n, uint32_t hosts, uint32_t b, enum states states)
{
    const uint32_t flows = hosts * (hosts - 1);

    (void)b;
    net_init(n, flows, 2 * hosts, 2 * flows, states);
    add_ports(n, 2 * hosts);
    for (uint32_t i = 0; i < hosts; i++)
        for (uint32_t j = 0; j < hosts; j++)
            if (i != j) {
                const uint32_t flow = add_flow(n);

                add_hop(n, flow, i, 0);
                add_hop(n, flow, hosts + j, 1);
            }
}

/* ---- the measurement ---- */

struct figures {
    struct canon_form form;
    size_t key_bytes;
    double order_s, form_s; /* per call */
};

static struct figures measure_once(struct canon *c, const struct net *n, struct canon_key *key,
                                   double budget_s)
{
    struct figures f = {.key_bytes = 0};
    double order_s = 0, form_s = 0;
    uint32_t calls = 0;

    for (uint32_t batch = 1; order_s + form_s < budget_s; batch *= 2) {
        const double start_s = measure_cpu_s();
        double middle_s;

        for (uint32_t i = 0; i < batch; i++)
            check(canon_run(c, &n->g, &f.form) == CANON_OK, "%s", canon_reason_text(f.form.reason));
        middle_s = measure_cpu_s();
        for (uint32_t i = 0; i < batch; i++)
            check(canon_serialise(c, &n->g, &f.form, key) == 0, "no memory");
        order_s += middle_s - start_s;
        form_s += measure_cpu_s() - middle_s;
        calls += batch;
    }
    f.key_bytes = key->key_bytes;
    f.order_s = order_s / calls;
    f.form_s = form_s / calls;
    return f;
}

static void measure_net(struct report *r, struct canon *c, const char *name, const struct net *n)
{
    const uint32_t reps = r->o->repetitions;
    double order_us[1000], form_us[1000];
    struct canon_key key = {.bytes = NULL};
    struct figures f = {.key_bytes = 0};
    struct spread order, form;

    for (uint32_t i = 0; i < reps; i++) {
        f = measure_once(c, n, &key, r->o->quick ? 0.002 : 0.1);
        order_us[i] = f.order_s * 1e6;
        form_us[i] = f.form_s * 1e6;
    }
    canon_key_fini(&key);
    order = measure_spread(order_us, reps);
    form = measure_spread(form_us, reps);
    report_text(r, "name", name);
    report_number(r, "vertices", n->g.vertex_count);
    report_number(r, "edges", n->g.edge_count);
    report_number(r, "classes", f.form.class_count);
    report_number(r, "searched", f.form.search_vertex_count);
    report_spread(r, "order_us", "order_min", "order_max", &order);
    report_spread(r, "form_us", "form_min", "form_max", &form);
    report_number(r, "key_bytes", (double)f.key_bytes);
    report_row(r);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *format;
        void (*build)(struct net *n, uint32_t a, uint32_t b, enum states states);
        uint32_t a, b;
        int is_long;
    } nets[] = {
        {"lone", build_lone, 0, 0, 0},          {"incast-%u", build_incast, 12, 0, 0},
        {"incast-%u", build_incast, 128, 0, 0}, {"racks-%u", build_racks, 16, 0, 0},
        {"ring-%u", build_ring, 12, 1, 0},      {"ring-%u", build_ring, 128, 1, 0},
        {"ring-%ux%u", build_ring, 16, 8, 0},   {"a2a-%u", build_a2a, 4, 0, 0},
        {"a2a-%u", build_a2a, 12, 0, 0},        {"a2a-%u", build_a2a, 24, 0, 0},
        {"a2a-%u", build_a2a, 63, 0, 1},
    };
    struct measure_options o;
    struct report r;
    struct canon *c = NULL;

    if (measure_parse(&o, &argc, argv))
        return 2;
    if (argc > 1)
        return measure_unknown(argv[1], "bench_canon");
    check(canon_create(&c, NULL) == 0, "no memory");
    report_begin(&r, "canon", &o);
    for (uint32_t i = 0; i < sizeof nets / sizeof *nets; i++)
        for (int states = 0; states < STATES_COUNT; states++) {
            char name[64], net_name[48];
            struct net n;

            snprintf(net_name, sizeof net_name, nets[i].format, nets[i].a, nets[i].b);
            snprintf(name, sizeof name, "%s-%s", net_name, states_name[states]);
            if (!measure_is_wanted(&o, name) || (o.quick && nets[i].is_long))
                continue;
            nets[i].build(&n, nets[i].a, nets[i].b, (enum states)states);
            measure_net(&r, c, name, &n);
            net_fini(&n);
        }
    report_end(&r);
    canon_destroy(c);
    return 0;
}
