/*
 * sim_fixture.h - small networks and runs for the tests of the packet engine.
 *
 * Everything here aborts the test on failure, so that a test reads as what it claims.
 */
#ifndef WH_TEST_SIM_FIXTURE_H
#define WH_TEST_SIM_FIXTURE_H

#include "config.h"
#include "sim.h"
#include "topology.h"

#define GBPS INT64_C(1000000000)

/* A link of fix_graph. */
struct fix_link {
    uint32_t a, b;
    int64_t rate_bps, delay_ps;
    double error_rate;
};

/* fix_graph - nodes 0..@host_count-1 are hosts, the rest switches. */
struct topo *fix_graph(uint32_t host_count, uint32_t switch_count, const struct fix_link *links,
                       uint32_t link_count);
/* fix_star - @hosts around one switch, which is node @hosts. */
struct topo *fix_star(uint32_t hosts, int64_t rate_bps, int64_t delay_ps);
/* fix_chain - hosts 0 and 1 joined by @hops links over switches 2, 3, ... */
struct topo *fix_chain(uint32_t hops, int64_t rate_bps, int64_t delay_ps);
/* fix_dumbbell - hosts 0..n-1 on switch 2n, n..2n-1 on switch 2n+1, one link between. */
struct topo *fix_dumbbell(uint32_t hosts_per_side, int64_t rate_bps, int64_t cross_bps,
                          int64_t delay_ps);
/* fix_leaf_spine - hosts by leaf, then leaves, then spines. */
struct topo *fix_leaf_spine(uint32_t leaves, uint32_t spines, uint32_t hosts_per_leaf,
                            int64_t rate_bps, int64_t delay_ps);

/* fix_config - the defaults with congestion control @cc. */
struct sim_config fix_config(enum cc_kind cc);
/* fix_sim - takes @topo over. */
struct sim *fix_sim(struct topo *topo, const struct sim_config *cfg);
/* fix_flow - one more flow of priority 3; returns its row. */
uint32_t fix_flow(struct sim *s, uint32_t src, uint32_t dst, int64_t bytes, int64_t start_ps);
uint32_t fix_flow_prio(struct sim *s, uint32_t src, uint32_t dst, int64_t bytes, int64_t start_ps,
                       uint8_t prio);
/* fix_cut_wire - at @at_ps everything under way from node @from to node @to is lost. Before the
 * run; the arguments are kept in @cut. */
struct fix_cut {
    uint32_t from, to;
    uint32_t packets; /* lost */
};
void fix_cut_wire(struct sim *s, int64_t at_ps, struct fix_cut *cut);
/* fix_run - to the end. */
void fix_run(struct sim *s);
int64_t fix_fct(const struct sim *s, uint32_t flow); /* -1 if unfinished */
struct sim_counters fix_counters(const struct sim *s);
/* fix_all_done - every flow is done and has all its bytes acknowledged. */
int fix_all_done(const struct sim *s);
/* fix_digest - a number made of all results, port statistics and counters but the event count. */
uint64_t fix_digest(const struct sim *s);

#endif
