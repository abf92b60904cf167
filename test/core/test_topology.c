/*
 * test_topology.c - port numbering of the network graph.
 */
#include "topology.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdlib.h>

static const struct link_class slow = {INT64_C(100000000000), 1000000, 0.0};
static const struct link_class fast = {INT64_C(400000000000), 1000000, 0.0};

static struct topo *make_topo(uint32_t node_count)
{
    struct topo *t = NULL;

    cr_assert_eq(topo_create(&t, node_count), 0);
    return t;
}

static void add_link(struct topo *t, uint32_t a, uint32_t b, const struct link_class *c)
{
    const int64_t class_id = topo_add_class(t, c);

    cr_assert_geq(class_id, 0);
    cr_assert_eq(topo_add_link(t, a, b, (uint32_t)class_id), 0);
}

/* Hosts 0, 1, 2 and switch 3; two links between 2 and 3; node 4 is alone. */
static struct topo *make_star(void)
{
    struct topo *t = make_topo(5);

    topo_set_kind(t, 3, NODE_SWITCH);
    topo_set_kind(t, 4, NODE_NVSWITCH);
    add_link(t, 3, 1, &slow);
    add_link(t, 2, 3, &slow);
    add_link(t, 0, 3, &fast);
    add_link(t, 3, 2, &slow);
    cr_assert_eq(topo_finish(t), 0);
    return t;
}

Test(topology, equal_classes_share_a_row)
{
    struct topo *t = make_topo(2);
    struct link_class lossy = slow, far = slow;

    lossy.error_rate = 0.001;
    far.delay_ps = 2;
    cr_assert_eq(topo_add_class(t, &slow), 0);
    cr_assert_eq(topo_add_class(t, &fast), 1);
    cr_assert_eq(topo_add_class(t, &lossy), 2);
    cr_assert_eq(topo_add_class(t, &far), 3);
    cr_assert_eq(topo_add_class(t, &slow), 0);
    cr_assert_eq(topo_add_class(t, &fast), 1);
    cr_assert_eq(topo_add_class(t, &lossy), 2);
    cr_assert_eq(t->class_count, 4);
    topo_destroy(t);
}

Test(topology, ports_are_grouped_by_node_in_the_order_of_the_links)
{
    struct topo *t = make_star();
    static const uint32_t first[] = {0, 1, 2, 4, 8, 8};
    static const uint32_t node[] = {0, 1, 2, 2, 3, 3, 3, 3};
    static const uint32_t link[] = {2, 0, 1, 3, 0, 1, 2, 3};
    static const uint32_t peer[] = {6, 4, 5, 7, 1, 2, 0, 3};

    cr_assert_eq(t->port_count, 8);
    cr_assert_eq(t->link_count, 4);
    for (size_t n = 0; n < 6; n++)
        cr_expect_eq(t->first_port[n], first[n], "node %zu: %u", n, t->first_port[n]);
    for (size_t p = 0; p < 8; p++) {
        cr_expect_eq(t->port_node[p], node[p], "port %zu: node %u", p, t->port_node[p]);
        cr_expect_eq(t->port_link[p], link[p], "port %zu: link %u", p, t->port_link[p]);
        cr_expect_eq(t->port_peer[p], peer[p], "port %zu: peer %u", p, t->port_peer[p]);
    }
    topo_destroy(t);
}

Test(topology, link_knows_the_port_at_each_end)
{
    struct topo *t = make_star();

    for (uint32_t i = 0; i < t->link_count; i++) {
        const uint32_t at_a = t->link_port[2 * i], at_b = t->link_port[2 * i + 1];

        cr_expect_eq(t->port_node[at_a], t->link[i].a);
        cr_expect_eq(t->port_node[at_b], t->link[i].b);
        cr_expect_eq(t->port_peer[at_a], at_b);
        cr_expect_eq(t->port_peer[at_b], at_a);
    }
    topo_destroy(t);
}

Test(topology, hosts_are_counted_and_switches_are_not)
{
    struct topo *t = make_star();

    cr_assert_eq(t->host_count, 3);
    cr_assert_eq(t->kind[0], NODE_HOST);
    cr_assert_eq(t->kind[3], NODE_SWITCH);
    cr_assert_eq(t->kind[4], NODE_NVSWITCH);
    topo_destroy(t);
}

Test(topology, port_class_is_that_of_its_link)
{
    struct topo *t = make_star();

    cr_assert_eq(topo_port_class(t, 0)->rate_bps, fast.rate_bps);
    cr_assert_eq(topo_port_class(t, 6)->rate_bps, fast.rate_bps);
    cr_assert_eq(topo_port_class(t, 1)->rate_bps, slow.rate_bps);
    topo_destroy(t);
}

Test(topology, find_port_gives_the_first_of_parallel_links)
{
    struct topo *t = make_star();

    cr_assert_eq(topo_find_port(t, 2, 3), 2);
    cr_assert_eq(topo_find_port(t, 3, 2), 5);
    cr_assert_eq(topo_find_port(t, 3, 0), 6);
    cr_assert_eq(topo_find_port(t, 0, 3), 0);
    cr_assert_eq(topo_find_port(t, 0, 1), PORT_NONE);
    cr_assert_eq(topo_find_port(t, 4, 3), PORT_NONE);
    topo_destroy(t);
}

Test(topology, graph_without_links_or_nodes_is_legal)
{
    struct topo *t = make_topo(0);

    cr_assert_eq(topo_finish(t), 0);
    cr_assert_eq(t->port_count, 0);
    cr_assert_eq(t->first_port[0], 0);
    topo_destroy(t);
    t = make_topo(3);
    cr_assert_eq(topo_finish(t), 0);
    cr_assert_eq(t->host_count, 3);
    cr_assert_eq(t->first_port[3], 0);
    cr_assert_eq(topo_find_port(t, 0, 1), PORT_NONE);
    topo_destroy(t);
    topo_destroy(NULL);
}

Test(topology, unfinished_graph_can_be_destroyed)
{
    struct topo *t = make_topo(2);

    add_link(t, 0, 1, &slow);
    topo_destroy(t);
}

/* Model test: random graphs against the definition of the port order, by search. */
Test(topology, numbering_agrees_with_a_naive_search)
{
    srand(3);
    for (int round = 0; round < 50; round++) {
        const uint32_t nodes = 2 + (uint32_t)rand() % 20, links = (uint32_t)rand() % 100;
        struct topo *t = make_topo(nodes);
        uint32_t port = 0;

        for (uint32_t i = 0; i < links; i++) {
            const uint32_t a = (uint32_t)rand() % nodes;

            add_link(t, a, (a + 1 + (uint32_t)rand() % (nodes - 1)) % nodes, i % 3 ? &slow : &fast);
        }
        cr_assert_eq(topo_finish(t), 0);
        for (uint32_t n = 0; n < nodes; n++) {
            cr_assert_eq(t->first_port[n], port);
            for (uint32_t i = 0; i < links; i++) {
                const int is_a = t->link[i].a == n;

                if (!is_a && t->link[i].b != n)
                    continue;
                cr_assert_eq(t->port_link[port], i);
                cr_assert_eq(t->port_node[port], n);
                cr_assert_eq(t->link_port[2 * i + !is_a], port);
                cr_assert_eq(t->port_peer[t->port_peer[port]], port);
                port++;
            }
        }
        cr_assert_eq(port, t->port_count);
        topo_destroy(t);
    }
}

Test(topology, link_of_a_node_to_itself_is_our_bug, .signal = SIGABRT)
{
    struct topo *t = make_topo(2);

    add_link(t, 1, 1, &slow);
}

Test(topology, finished_graph_is_immutable, .signal = SIGABRT)
{
    struct topo *t = make_star();

    add_link(t, 0, 1, &slow);
}

Test(topology, link_to_a_missing_node_is_our_bug, .signal = SIGABRT)
{
    struct topo *t = make_topo(2);

    add_link(t, 0, 2, &slow);
}
