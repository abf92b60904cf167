/*
 * test_scenario.c - the tables of a scenario and what becomes of them in a simulation.
 */
#include "scenario.h"

#include <criterion/criterion.h>
#include <string.h>

static struct scenario sc;
static struct err_info err;

/* Two hosts 0, 1 under switch 2, one flow. */
static void set_up(void)
{
    const struct link_class class = {.rate_bps = INT64_C(100000000000), .delay_ps = 1000000};
    const struct flow_spec flow = {.src = 0, .dst = 1, .bytes = 1000, .prio = 3, .dport = 100};

    memset(&err, 0, sizeof err);
    scenario_init(&sc);
    cr_assert_eq(topo_create(&sc.topo, 3), 0);
    topo_set_kind(sc.topo, 2, NODE_SWITCH);
    cr_assert_eq(topo_add_class(sc.topo, &class), 0);
    cr_assert_eq(topo_add_link(sc.topo, 0, 2, 0), 0);
    cr_assert_eq(topo_add_link(sc.topo, 1, 2, 0), 0);
    cr_assert_eq(topo_finish(sc.topo), 0);
    cr_assert_eq(scenario_add_flow(&sc, &flow), 0);
}

static void tear_down(void)
{
    scenario_fini(&sc);
}

TestSuite(scenario, .init = set_up, .fini = tear_down);

Test(scenario, tables_grow_and_keep_their_rows)
{
    const uint32_t nodes[] = {0, 2, 1};

    for (uint32_t i = 0; i < 1000; i++) {
        const struct flow_spec flow = {.src = i, .dst = i + 1};

        cr_assert_eq(scenario_add_flow(&sc, &flow), 0);
        cr_assert_eq(scenario_add_path(&sc, i, (int)(i % 2), nodes, i % 4), 0);
        cr_assert_eq(scenario_add_filter(&sc, i * 3), 0);
    }
    cr_assert_eq(sc.flow_count, 1001);
    for (uint32_t i = 0; i < 1000; i++) {
        cr_expect_eq(sc.flows[i + 1].dst, i + 1);
        cr_expect_eq(sc.paths[i].flow_id, i);
        cr_expect_eq(sc.paths[i].node_count, i % 4);
        cr_expect_eq(sc.filter_ids[i], i * 3);
    }
    cr_expect_eq(sc.path_nodes[sc.paths[999].node_first + 1], 2);
}

Test(scenario, a_simulation_takes_topology_flows_and_paths)
{
    const uint32_t data[] = {0, 2, 1}, ack[] = {1, 2, 0};
    struct sim *s = NULL;

    cr_assert_eq(scenario_add_path(&sc, 0, 0, data, 3), 0);
    cr_assert_eq(scenario_add_path(&sc, 0, 1, ack, 3), 0);
    cr_assert_eq(scenario_make_sim(&sc, NULL, &s, &err), 0, "%s", err.text);
    cr_expect_null(sc.topo);
    cr_expect_eq(sim_flow_count(s), 1);
    cr_assert_eq(sim_run(s, INT64_MAX), 0);
    cr_expect_eq(sim_flow_result(s, 0)->state, FLOW_DONE);
    sim_destroy(s);
}

Test(scenario, what_does_not_fit_is_refused_with_its_number)
{
    const struct flow_spec to_switch = {.src = 0, .dst = 2, .bytes = 1, .prio = 3};
    struct sim *s = NULL;

    cr_assert_eq(scenario_add_flow(&sc, &to_switch), 0);
    cr_expect_eq(scenario_make_sim(&sc, NULL, &s, &err), WH_ERR_INPUT);
    cr_expect(strstr(err.text, "flow 1 from node 0 to node 2"), "%s", err.text);
    cr_expect_null(s);
}

Test(scenario, a_path_of_an_unknown_flow_is_refused)
{
    const uint32_t nodes[] = {0, 2, 1};
    struct sim *s = NULL;

    cr_assert_eq(scenario_add_path(&sc, 5, 0, nodes, 3), 0);
    cr_expect_eq(scenario_make_sim(&sc, NULL, &s, &err), WH_ERR_INPUT);
    cr_expect(strstr(err.text, "path for flow 5"), "%s", err.text);
}

Test(scenario, without_topology_there_is_no_simulation)
{
    struct sim *s = NULL;

    topo_destroy(sc.topo);
    sc.topo = NULL;
    cr_expect_eq(scenario_make_sim(&sc, NULL, &s, &err), WH_ERR_STATE);
}
