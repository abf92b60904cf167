/*
 * test_flowgen.c - generated flows: who sends to whom, when, how much; the load of Poisson
 * arrivals; the random numbers beneath.
 */
#include "flowgen.h"
#include "rng.h"
#include "topogen.h"
#include "units.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct err_info err;

/* Field by field: the padding of a row may differ. */
static int is_same_flow(const struct flow_spec *a, const struct flow_spec *b)
{
    return a->start_ps == b->start_ps && a->bytes == b->bytes && a->src == b->src &&
           a->dst == b->dst && a->sport == b->sport && a->dport == b->dport && a->prio == b->prio &&
           a->tag == b->tag && a->user == b->user;
}

static struct topo *make_star(uint32_t hosts)
{
    struct topo_spec s;
    struct topo *t = NULL;

    topo_spec_init(&s, TOPO_SINGLE_SWITCH);
    s.hosts = hosts;
    cr_assert_eq(topo_generate(&s, &t, &err), 0, "%s", err.text);
    return t;
}

/* Generates on a star of @hosts into a fresh scenario. */
static void generate(const struct flow_request *r, uint32_t hosts, struct scenario *sc)
{
    scenario_init(sc);
    sc->topo = make_star(hosts);
    memset(&err, 0, sizeof err);
    cr_assert_eq(flows_generate(r, sc->topo, sc, &err), 0, "%s", err.text);
    for (uint32_t i = 0; i < sc->flow_count; i++) {
        cr_assert_neq(sc->flows[i].src, sc->flows[i].dst);
        cr_assert(i == 0 || sc->flows[i].start_ps >= sc->flows[i - 1].start_ps, "sorted at %u", i);
    }
}

Test(flowgen, single_repeats_with_a_stagger)
{
    struct scenario sc;
    struct flow_request r;
    flow_request_init(&r, FLOWS_SINGLE);
    r.src = 2;
    r.dst = 1;
    r.bytes = 5000;
    r.repeat = 3;
    r.start_ps = 7;
    r.stagger_ps = 100;
    r.sport = 12;
    generate(&r, 4, &sc);

    cr_assert_eq(sc.flow_count, 3u);
    for (uint32_t i = 0; i < 3; i++) {
        const struct flow_spec *f = &sc.flows[i];
        cr_expect_eq(f->start_ps, 7 + 100 * i);
        cr_expect(f->src == 2 && f->dst == 1 && f->bytes == 5000);
        cr_expect(f->prio == 3 && f->dport == 100 && f->sport == 12);
    }
    scenario_fini(&sc);
}

Test(flowgen, incast_takes_all_other_hosts_by_default)
{
    struct scenario sc;
    struct flow_request r;
    int seen[8] = {0};
    flow_request_init(&r, FLOWS_INCAST);
    r.bytes = 1;
    r.dst = 5;
    generate(&r, 8, &sc);

    cr_assert_eq(sc.flow_count, 7u);
    for (uint32_t i = 0; i < 7; i++) {
        cr_expect_eq(sc.flows[i].dst, 5u);
        cr_expect_eq(seen[sc.flows[i].src]++, 0);
    }
    scenario_fini(&sc);
}

Test(flowgen, incast_of_more_senders_than_hosts_uses_hosts_again)
{
    struct scenario sc;
    struct flow_request r;
    uint32_t sent[64] = {0};
    flow_request_init(&r, FLOWS_INCAST);
    r.bytes = 1;
    r.fan_in = 1000;
    generate(&r, 64, &sc);

    cr_assert_eq(sc.flow_count, 1000u);
    for (uint32_t i = 0; i < 1000; i++)
        sent[sc.flows[i].src]++;
    cr_expect_eq(sent[0], 0u);
    for (uint32_t i = 1; i < 64; i++)
        cr_expect(sent[i] == 15 || sent[i] == 16, "host %u sends %u", i, sent[i]);
    scenario_fini(&sc);
}

Test(flowgen, permutation_gives_each_host_one_flow_each_way)
{
    struct scenario sc;
    struct flow_request r;
    flow_request_init(&r, FLOWS_PERMUTATION);
    r.bytes = 1;
    for (uint32_t hosts = 2; hosts < 40; hosts++) {
        uint32_t in[40] = {0}, out[40] = {0};
        r.seed = hosts;
        generate(&r, hosts, &sc);
        cr_assert_eq(sc.flow_count, hosts);
        for (uint32_t i = 0; i < hosts; i++) {
            out[sc.flows[i].src]++;
            in[sc.flows[i].dst]++;
        }
        for (uint32_t i = 0; i < hosts; i++)
            cr_assert(in[i] == 1 && out[i] == 1, "%u hosts, host %u", hosts, i);
        scenario_fini(&sc);
    }
}

Test(flowgen, permutations_differ_by_round_and_by_seed)
{
    struct scenario a, b;
    struct flow_request r;
    uint32_t same_round = 0, same_seed = 0;
    flow_request_init(&r, FLOWS_PERMUTATION);
    r.bytes = 1;
    r.repeat = 2;
    generate(&r, 64, &a);
    r.seed = 1;
    generate(&r, 64, &b);

    for (uint32_t i = 0; i < 64; i++) {
        same_round += a.flows[i].dst == a.flows[64 + i].dst;
        same_seed += a.flows[i].dst == b.flows[i].dst;
    }
    cr_expect_lt(same_round, 10u);
    cr_expect_lt(same_seed, 10u);
    scenario_fini(&a);
    scenario_fini(&b);
}

Test(flowgen, ring_rounds_start_one_stagger_apart)
{
    struct scenario sc;
    struct flow_request r;
    flow_request_init(&r, FLOWS_RING);
    r.bytes = 1;
    r.repeat = 2;
    r.stagger_ps = 1000;
    generate(&r, 5, &sc);

    cr_assert_eq(sc.flow_count, 10u);
    for (uint32_t i = 0; i < 10; i++) {
        cr_expect_eq(sc.flows[i].dst, (sc.flows[i].src + 1) % 5);
        cr_expect_eq(sc.flows[i].start_ps, i < 5 ? 0 : 1000);
    }
    scenario_fini(&sc);
}

Test(flowgen, all_to_all_has_every_ordered_pair_once)
{
    struct scenario sc;
    struct flow_request r;
    int seen[6][6] = {{0}};
    flow_request_init(&r, FLOWS_ALL_TO_ALL);
    r.bytes = 1;
    generate(&r, 6, &sc);

    cr_assert_eq(sc.flow_count, 30u);
    for (uint32_t i = 0; i < 30; i++)
        cr_expect_eq(seen[sc.flows[i].src][sc.flows[i].dst]++, 0);
    for (uint32_t i = 0; i < 6; i++) { /* the first six go to six different receivers */
        cr_expect_eq(sc.flows[i].src, i);
        cr_expect_eq(sc.flows[i].dst, (i + 1) % 6);
    }
    scenario_fini(&sc);
}

Test(flowgen, jitter_stays_in_its_interval_and_flows_stay_sorted)
{
    struct scenario sc;
    struct flow_request r;
    uint32_t late = 0;
    flow_request_init(&r, FLOWS_ALL_TO_ALL);
    r.bytes = 1;
    r.jitter_ps = 1000000;
    r.start_ps = 500;
    generate(&r, 32, &sc);

    for (uint32_t i = 0; i < sc.flow_count; i++) {
        cr_assert(sc.flows[i].start_ps >= 500 && sc.flows[i].start_ps < 1000500);
        late += sc.flows[i].start_ps >= 500500;
    }
    /* 992 fair coins: 4 sigma are 63 */
    cr_expect(late > 433 && late < 559, "%u in the second half", late);
    scenario_fini(&sc);
}

Test(flowgen, poisson_offers_the_load_asked_for)
{
    struct scenario sc;
    struct flow_request r;
    double gaps2 = 0;
    uint32_t to[16] = {0}, from[16] = {0};
    flow_request_init(&r, FLOWS_POISSON);
    r.bytes = 100000;
    r.load = 0.6;
    r.duration_ps = 100 * PS_PER_MS;
    r.seed = 42;
    generate(&r, 16, &sc);

    /* 0.6 x 100 Gb/s x 16 hosts x 0.1 s / 8 / 100 kB = 120,000 flows; sigma = 346 */
    cr_expect_float_eq((double)sc.flow_count, 120000, 4 * 346.4, "%u flows", sc.flow_count);
    const double mean_gap = (double)r.duration_ps / 120000;
    for (uint32_t i = 0; i < sc.flow_count; i++) {
        to[sc.flows[i].dst]++;
        from[sc.flows[i].src]++;
        if (i > 0) {
            const double gap = (double)(sc.flows[i].start_ps - sc.flows[i - 1].start_ps) / mean_gap;
            gaps2 += gap * gap;
        }
    }
    /* second moment of an exponential variable: 2, sigma sqrt(20 / n) */
    cr_expect_float_eq(gaps2 / sc.flow_count, 2.0, 0.06, "%f", gaps2 / sc.flow_count);
    for (uint32_t h = 0; h < 16; h++) { /* 7,500 each, sigma 84 */
        cr_expect(abs((int)to[h] - 7500) < 5 * 84 && abs((int)from[h] - 7500) < 5 * 84,
                  "host %u: %u in, %u out", h, to[h], from[h]);
    }
    cr_expect_lt(sc.flows[sc.flow_count - 1].start_ps, r.duration_ps);
    scenario_fini(&sc);
}

Test(flowgen, poisson_draws_its_sizes_from_the_distribution)
{
    struct scenario sc;
    struct flow_request r;
    double bytes = 0;
    uint32_t small = 0;
    flow_request_init(&r, FLOWS_POISSON);
    cr_assert_eq(cdf_builtin("web-search", &r.cdf), 0);
    r.duration_ps = 1000 * PS_PER_MS;
    r.flow_count_max = 20000;
    r.load = 0.8;
    generate(&r, 8, &sc);

    cr_assert_eq(sc.flow_count, 20000u);
    for (uint32_t i = 0; i < sc.flow_count; i++) {
        bytes += (double)sc.flows[i].bytes;
        small += sc.flows[i].bytes <= 80000;
    }
    /* share of sizes up to 80 kB: 0.53, sigma 0.0035; sigma of the mean: 4.06 MB / sqrt(20,000)
     * = 28.7 kB */
    cr_expect_float_eq(small / 20000.0, 0.53, 4 * 0.0035, "%u small", small);
    cr_expect_float_eq(bytes / 20000, 1711250.0, 4 * 28700.0, "%f", bytes / 20000);
    /* 20,000 flows at 0.8 x 800 Gb/s: 0.428 s, sigma about 1 / sqrt(20,000) */
    const double seconds = (double)sc.flows[19999].start_ps / (double)PS_PER_S;
    cr_expect_float_eq(seconds, 20000 * 1711250.0 * 8 / 0.64e12, 4 * 0.428 / 141.4, "%f s",
                       seconds);
    cdf_fini(&r.cdf);
    scenario_fini(&sc);
}

Test(flowgen, equal_requests_give_equal_flows)
{
    struct scenario a, b;
    struct flow_request r;
    flow_request_init(&r, FLOWS_POISSON);
    r.bytes = 1000;
    r.duration_ps = 100 * PS_PER_US;
    r.seed = 9;
    generate(&r, 8, &a);
    generate(&r, 8, &b);

    cr_assert_eq(a.flow_count, b.flow_count);
    cr_assert_gt(a.flow_count, 1000u);
    for (uint32_t i = 0; i < a.flow_count; i++)
        cr_assert(is_same_flow(&a.flows[i], &b.flows[i]), "flow %u", i);
    scenario_fini(&a);
    scenario_fini(&b);
}

Test(flowgen, nvlink_does_not_count_as_a_host_rate)
{
    struct topo_spec s;
    struct scenario sc;
    struct flow_request r;
    scenario_init(&sc);
    topo_spec_init(&s, TOPO_RAIL);
    cr_assert_eq(topo_generate(&s, &sc.topo, &err), 0, "%s", err.text);
    flow_request_init(&r, FLOWS_POISSON);
    r.bytes = 1000000;
    r.load = 1;
    r.duration_ps = 10 * PS_PER_MS;
    cr_assert_eq(flows_generate(&r, sc.topo, &sc, &err), 0, "%s", err.text);

    /* 32 NICs of 100 Gb/s for 10 ms: 4,000 flows of 1 MB, sigma 63 */
    cr_expect_float_eq((double)sc.flow_count, 4000, 4 * 63.2, "%u", sc.flow_count);
    scenario_fini(&sc);
}

struct bad_request {
    struct flow_request r;
    const char *says;
};

Test(flowgen, bad_requests_are_refused_and_add_nothing)
{
    static const struct bad_request cases[] = {
        {{.pattern = FLOWS_SINGLE, .repeat = 1, .src = 1, .dst = 1}, "two different hosts"},
        {{.pattern = FLOWS_SINGLE, .repeat = 1, .src = 4, .dst = 1}, "src 4"},
        {{.pattern = FLOWS_INCAST, .repeat = 1, .dst = 9}, "dst 9"},
        {{.pattern = FLOWS_RING, .repeat = 0}, "repeat 0"},
        {{.pattern = FLOWS_RING, .repeat = 1, .start_ps = -1}, "negative"},
        {{.pattern = FLOWS_RING, .repeat = 1, .prio = 8}, "priority 8"},
        {{.pattern = FLOWS_RING, .repeat = UINT32_MAX}, "flows"},
        {{.pattern = FLOWS_RING, .repeat = 100, .stagger_ps = INT64_MAX / 2}, "start"},
        {{.pattern = FLOWS_POISSON, .repeat = 1, .load = 0.5, .duration_ps = 5}, "neither"},
        {{.pattern = FLOWS_POISSON, .repeat = 1, .bytes = 1, .load = 1.5, .duration_ps = 5},
         "load 1.5"},
        {{.pattern = FLOWS_POISSON, .repeat = 1, .bytes = 1, .load = 0.5}, "duration"},
        {{.pattern = FLOWS_POISSON,
          .repeat = 1,
          .bytes = 1,
          .load = 1,
          .duration_ps = 1000 * PS_PER_S},
         "flows"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct scenario sc;
        scenario_init(&sc);
        sc.topo = make_star(4);
        memset(&err, 0, sizeof err);
        cr_expect_lt(flows_generate(&cases[i].r, sc.topo, &sc, &err), 0, "case %zu", i);
        cr_expect_not_null(strstr(err.text, cases[i].says), "case %zu: %s", i, err.text);
        cr_expect_eq(sc.flow_count, 0u);
        scenario_fini(&sc);
    }
}

Test(flowgen, sorting_is_stable)
{
    struct flow_spec f[1000];

    for (uint32_t i = 0; i < 1000; i++)
        f[i] = (struct flow_spec){.start_ps = (int64_t)(rng_u64(1, 2, i) % 10), .user = i};
    cr_assert_eq(flows_sort(f, 1000), 0);
    for (uint32_t i = 1; i < 1000; i++)
        cr_assert(f[i - 1].start_ps < f[i].start_ps ||
                  (f[i - 1].start_ps == f[i].start_ps && f[i - 1].user < f[i].user));
}

Test(flowgen, names_lead_back_to_their_pattern)
{
    for (unsigned p = 0; p < FLOWS_PATTERN_COUNT; p++) {
        enum flow_pattern back = FLOWS_PATTERN_COUNT;
        cr_expect_eq(flow_pattern_from_name(flow_pattern_name((enum flow_pattern)p), &back), 0);
        cr_expect_eq((unsigned)back, p);
    }
    enum flow_pattern none;
    cr_expect_eq(flow_pattern_from_name("mesh", &none), WH_ERR_INPUT);
}
