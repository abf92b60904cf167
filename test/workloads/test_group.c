/*
 * test_group.c - placements: packed, on rails, at random; groups: members, servers, rings.
 */
#include "group.h"
#include "topogen.h"

#include <criterion/criterion.h>
#include <string.h>

static struct topo *make_rail(uint32_t servers, uint32_t gpus, int has_nvlink)
{
    struct topo_spec spec;
    struct topo *t = NULL;
    struct err_info e = {.text = ""};

    topo_spec_init(&spec, TOPO_RAIL);
    spec.hosts = servers * gpus;
    spec.gpus_per_server = gpus;
    spec.spines = 1;
    if (!has_nvlink)
        spec.nvlink.rate_bps = 0;
    cr_assert_eq(topo_generate(&spec, &t, &e), 0, "%s", e.text);
    return t;
}

static struct placement place(struct topo *t, struct place_request r)
{
    struct placement p;
    struct err_info e = {.text = ""};

    cr_assert_eq(placement_init(&p, t, &r, &e), 0, "%s", e.text);
    return p;
}

Test(group, packed_ranks_fill_servers_in_order)
{
    struct topo *t = make_rail(4, 8, 1);
    struct placement p = place(t, (struct place_request){.rank_count = 20});

    for (uint32_t r = 0; r < 20; r++) {
        cr_expect_eq(p.host[r], r);
        cr_expect_eq(p.server[r], r / 8);
        cr_expect_eq(p.rail[r], r % 8);
    }
    cr_expect_eq(p.server_count, 4);
    placement_fini(&p);
    topo_destroy(t);
}

Test(group, servers_without_nvlink_follow_the_given_size)
{
    struct topo *t = make_rail(2, 4, 0);
    struct placement alone = place(t, (struct place_request){.rank_count = 8});
    struct placement four = place(t, (struct place_request){.rank_count = 8, .gpus_per_server = 4});

    for (uint32_t r = 0; r < 8; r++) {
        cr_expect_eq(alone.server[r], r);
        cr_expect_eq(alone.rail[r], 0);
        cr_expect_eq(four.server[r], r / 4);
        cr_expect_eq(four.rail[r], r % 4);
    }
    placement_fini(&alone);
    placement_fini(&four);
    topo_destroy(t);
}

Test(group, domains_on_rails_do_not_straddle_servers)
{
    struct topo *t = make_rail(3, 8, 1);
    struct placement p =
        place(t, (struct place_request){.kind = PLACE_RAIL, .rank_count = 18, .domain_ranks = 3});

    for (uint32_t r = 0; r < 18; r++) {
        cr_expect_eq(p.server[r], r / 6, "two domains of 3 on 8 hosts");
        cr_expect_eq(p.rail[r], r % 6);
        cr_expect_eq(p.server[r], p.server[r / 3 * 3]);
    }
    placement_fini(&p);
    topo_destroy(t);
}

Test(group, random_placement_is_a_permutation_of_its_seed)
{
    struct topo *t = make_rail(8, 8, 1);
    const struct place_request one = {.kind = PLACE_RANDOM, .rank_count = 64, .seed = 1};
    const struct place_request two = {.kind = PLACE_RANDOM, .rank_count = 64, .seed = 2};
    struct placement a = place(t, one), b = place(t, one), c = place(t, two);
    uint64_t seen = 0;

    for (uint32_t r = 0; r < 64; r++) {
        cr_expect_eq(seen >> a.host[r] & 1, 0, "host %u twice", a.host[r]);
        seen |= UINT64_C(1) << a.host[r];
    }
    cr_expect_eq(memcmp(a.host, b.host, 64 * sizeof *a.host), 0);
    cr_expect_neq(memcmp(a.host, c.host, 64 * sizeof *a.host), 0);
    placement_fini(&a);
    placement_fini(&b);
    placement_fini(&c);
    topo_destroy(t);
}

Test(group, too_many_ranks_are_refused_with_both_numbers)
{
    struct topo *t = make_rail(2, 4, 1);
    const struct place_request r = {.kind = PLACE_RAIL, .rank_count = 8, .domain_ranks = 3};
    struct err_info e = {.text = ""};
    struct placement p;

    cr_expect_eq(placement_init(&p, t, &r, &e), WH_ERR_INPUT);
    cr_expect(strstr(e.text, "8 ranks") && strstr(e.text, "at most 6"), "%s", e.text);
    topo_destroy(t);
}

Test(group, members_are_found_in_any_order)
{
    struct topo *t = make_rail(4, 8, 1);
    struct placement p = place(t, (struct place_request){.rank_count = 32});
    struct group_set s = {.count = 0};
    const uint32_t mixed[] = {31, 4, 17, 0, 9};
    struct err_info e = {.text = ""};
    uint32_t id;

    cr_assert_eq(group_set_add(&s, &p, "mixed", mixed, 5, &id, &e), 0, "%s", e.text);
    for (uint32_t m = 0; m < 5; m++)
        cr_expect_eq(group_member(&s.groups[id], mixed[m]), m);
    cr_expect_eq(group_member(&s.groups[id], 5), RANK_NONE);
    cr_expect_eq(s.groups[id].server_count, 4);
    cr_expect_eq(s.groups[id].is_uniform, 0);
    group_set_fini(&s);
    placement_fini(&p);
    topo_destroy(t);
}

Test(group, bad_members_are_refused)
{
    struct topo *t = make_rail(1, 8, 1);
    struct placement p = place(t, (struct place_request){.rank_count = 8});
    struct group_set s = {.count = 0};
    const uint32_t twice[] = {1, 2, 1}, outside[] = {1, 8};
    struct err_info e = {.text = ""};
    uint32_t id;

    cr_expect_eq(group_set_add(&s, &p, "g", twice, 3, &id, &e), WH_ERR_INPUT);
    cr_expect(strstr(e.text, "rank 1 twice"), "%s", e.text);
    cr_expect_eq(group_set_add(&s, &p, "g", outside, 2, &id, &e), WH_ERR_INPUT);
    cr_expect(strstr(e.text, "rank 8"), "%s", e.text);
    cr_expect_eq(group_set_add(&s, &p, "g", outside, 0, &id, &e), WH_ERR_INPUT);
    cr_expect_eq(s.count, 0);
    group_set_fini(&s);
    placement_fini(&p);
    topo_destroy(t);
}

Test(group, ranks_are_written_in_short)
{
    struct topo *t = make_rail(5, 8, 1);
    struct placement p = place(t, (struct place_request){.rank_count = 40});
    struct group_set s = {.count = 0};
    const struct {
        uint32_t ranks[6], count;
        const char *text;
    } rows[] = {
        {{3}, 1, "3"},
        {{0, 1, 2, 3}, 4, "0-3"},
        {{0, 8, 16, 24}, 4, "0-24:8"},
        {{5, 9}, 2, "5,9"},
        {{7, 6, 5, 1, 2, 3}, 6, "7,6,5,1-3"},
    };
    char text[64], tiny[16];

    for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct err_info e = {.text = ""};
        uint32_t id;

        cr_assert_eq(group_set_add(&s, &p, "g", rows[i].ranks, rows[i].count, &id, &e), 0);
        cr_expect_str_eq(group_format(&s.groups[id], text, sizeof text), rows[i].text);
    }
    cr_expect_str_eq(group_format(&s.groups[4], tiny, 8), "7,6...");
    group_set_fini(&s);
    placement_fini(&p);
    topo_destroy(t);
}
