/*
 * test_shard.c - how a network is cut, and when a partition is executed by shards. That results do
 * not depend on it is in test_identity.c.
 */
#include "rng.h"
#include "sim_fixture.h"
#include "sim_int.h"
#include "units.h"

#include <criterion/criterion.h>

static struct sim *make(struct topo *t)
{
    const struct sim_config c = fix_config(CC_DCTCP);

    return fix_sim(t, &c);
}

/* Ports of the shard with most. */
static uint32_t largest(const struct shard_map *m, uint32_t ports)
{
    uint32_t load[SHARDS_MAX] = {0}, most = 0;

    for (uint32_t p = 0; p < ports; p++)
        if (++load[m->of_port[p]] > most)
            most = load[m->of_port[p]];
    return most;
}

/* Ports of a node are together, and what is cut is what leads from one shard to another. */
static void expect_sound(const struct sim *s, const struct shard_map *m)
{
    const struct topo *t = sim_topo(s);
    uint32_t cuts = 0;

    for (uint32_t p = 0; p < t->port_count; p++) {
        const uint32_t row = m->cut[p];
        const int is_cut = m->of_port[p] != m->of_port[t->port_peer[p]];

        cr_assert_lt(m->of_port[p], m->count);
        cr_assert_eq(m->of_port[p], m->of_port[t->first_port[t->port_node[p]]]);
        cr_assert_eq(row != 0, is_cut);
        if (!is_cut)
            continue;
        cuts++;
        cr_assert_eq(m->wire[row - 1].port, p);
        cr_assert_eq(m->wire[row - 1].in_port, t->port_peer[p]);
        cr_assert_leq(m->window_ps, topo_port_class(t, p)->delay_ps);
    }
    cr_assert_eq(cuts, m->cut_count);
    for (uint32_t i = 1; i < m->cut_count; i++)
        cr_assert_leq(m->of_port[m->wire[i - 1].in_port], m->of_port[m->wire[i].in_port]);
}

Test(shard_map, cuts_a_leaf_spine_network_evenly)
{
    struct sim *s = make(fix_leaf_spine(16, 8, 16, 100 * GBPS, PS_PER_US));
    const uint32_t ports = sim_topo(s)->port_count;
    struct shard_map m;

    for (uint32_t count = 2; count <= 24; count += 2) {
        cr_assert_eq(shard_map_make(s, count, &m), 0);
        expect_sound(s, &m);
        cr_expect_eq(m.count, count);
        cr_expect_eq(m.window_ps, PS_PER_US);
        cr_expect_leq(largest(&m, ports), 2 * (ports / count + 1), "%u of %u ports in one of %u",
                      largest(&m, ports), ports, count);
        shard_map_fini(&m);
    }
    sim_destroy(s);
}

Test(shard_map, leaves_hosts_with_their_switch)
{
    struct sim *s = make(fix_leaf_spine(16, 8, 16, 100 * GBPS, PS_PER_US));
    const struct topo *t = sim_topo(s);
    struct shard_map m;

    cr_assert_eq(shard_map_make(s, 8, &m), 0);
    for (uint32_t p = 0; p < t->port_count; p++)
        if (t->kind[t->port_node[p]] == NODE_HOST)
            cr_assert_eq(m.cut[p], 0, "the link of host %u is cut", t->port_node[p]);
    shard_map_fini(&m);
    sim_destroy(s);
}

Test(shard_map, does_not_cut_short_links)
{
    /* two hosts on each of four switches in a ring, by links of 25 ns; 1 us around the ring */
    struct fix_link l[12];
    struct shard_map m;
    struct sim *s;

    for (uint32_t i = 0; i < 8; i++)
        l[i] = (struct fix_link){i, 8 + i / 2, 100 * GBPS, 25 * PS_PER_NS, 0};
    for (uint32_t i = 0; i < 4; i++)
        l[8 + i] = (struct fix_link){8 + i, 8 + (i + 1) % 4, 100 * GBPS, PS_PER_US, 0};
    s = make(fix_graph(8, 4, l, 12));
    cr_assert_eq(shard_map_make(s, 16, &m), 0);
    expect_sound(s, &m);
    cr_expect_eq(m.count, 4);
    cr_expect_eq(m.window_ps, PS_PER_US);
    shard_map_fini(&m);
    sim_destroy(s);
}

Test(shard_map, cannot_cut_where_nothing_takes_time)
{
    struct sim *s = make(fix_leaf_spine(4, 2, 4, 100 * GBPS, 0));
    struct shard_map m;

    cr_assert_eq(shard_map_make(s, 8, &m), 0);
    cr_expect_eq(m.count, 1);
    shard_map_fini(&m);
    sim_destroy(s);
}

/* Each of 64 hosts sends to four others. */
static struct sim *crowd(const struct sim_engine *e)
{
    struct sim *s = make(fix_leaf_spine(8, 8, 8, 100 * GBPS, PS_PER_US));

    for (uint32_t i = 0; i < 256; i++) {
        const uint32_t src = i % 64;

        fix_flow(s, src, (src + 1 + rng_below(rng_u64(5, 1, i), 63)) % 64, 100000, 0);
    }
    cr_assert_eq(sim_set_engine(s, e), 0);
    return s;
}

static uint64_t run(const struct sim_engine *e, struct sim_engine_stats *st)
{
    struct sim *s = crowd(e);
    uint64_t digest;

    fix_run(s);
    cr_assert(fix_all_done(s));
    sim_engine_stats(s, st);
    digest = fix_digest(s);
    sim_destroy(s);
    return digest;
}

Test(shard, is_decided_by_the_work)
{
    const struct sim_engine serial = {ENGINE_SERIAL, 1, 0}, one = {ENGINE_PARTITIONED, 1, 0},
                            two = {ENGINE_PARTITIONED, 2, 0}, never = {ENGINE_PARTITIONED, 2, 1};
    struct sim_engine_stats st;
    const uint64_t expected = run(&serial, &st);

    cr_expect_eq(run(&never, &st), expected);
    cr_expect_eq(st.shard_windows, 0);
    cr_expect_eq(run(&one, &st), expected);
    cr_expect_eq(st.shards, 0, "a cache holds 64 hosts, %u shards", st.shards);
    cr_expect_eq(run(&two, &st), expected);
    cr_expect(st.shards >= 2 && st.shard_windows > 10, "%u shards, %lu windows", st.shards,
              (unsigned long)st.shard_windows);
}

/* All that a partition holds is the same after it has been put together again. */
Test(shard, a_run_that_stops_in_between_goes_on)
{
    const struct sim_engine serial = {ENGINE_SERIAL, 1, 0}, cut = {ENGINE_PARTITIONED, 2, 5};
    struct sim_engine_stats st;
    const uint64_t expected = run(&serial, &st);
    struct sim *s = crowd(&cut);

    for (int64_t end = 3; end < 60; end += 3) {
        cr_assert_eq(sim_run(s, end * PS_PER_US), 0);
        for (uint32_t i = 0; i < s->run_count && end % 2; i++)
            shard_gather(s->parts[s->run[i]]);
    }
    fix_run(s);
    sim_engine_stats(s, &st);
    cr_expect_gt(st.scatters, 5);
    cr_expect_eq(fix_digest(s), expected);
    sim_destroy(s);
}
