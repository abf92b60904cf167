/*
 * test_config_keys.c - the table of settings: complete, and read and written by name.
 */
#include "config_keys.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static struct sim_config make_config(void)
{
    struct sim_config c;

    config_init(&c);
    return c;
}

/* Bytes of struct sim_config that no key covers: the two lists with their counts, and padding. */
static size_t count_uncovered(void)
{
    static const size_t widths[] = {
        [CONFIG_BOOL] = 1, [CONFIG_U32] = 4,   [CONFIG_U64] = 8,  [CONFIG_TIME] = 8,
        [CONFIG_RATE] = 8, [CONFIG_BYTES] = 8, [CONFIG_REAL] = 8, [CONFIG_NAME] = 4};
    uint32_t count;
    const struct config_key *keys = config_keys(&count);
    size_t covered = 0;

    for (uint32_t i = 0; i < count; i++)
        covered += widths[keys[i].type];
    return sizeof(struct sim_config) - covered;
}

Test(config_keys, every_field_but_the_lists_has_a_key)
{
    const size_t lists = sizeof(((struct sim_config *)0)->ecn_rows) +
                         sizeof(((struct sim_config *)0)->events) + 2 * sizeof(uint32_t);

    /* Padding behind flags is less than a word for each run of them. */
    cr_assert_geq(count_uncovered(), lists);
    cr_assert_lt(count_uncovered(), lists + 64, "%zu bytes have no key", count_uncovered() - lists);
}

Test(config_keys, names_are_unique_and_found)
{
    uint32_t count;
    const struct config_key *keys = config_keys(&count);

    for (uint32_t i = 0; i < count; i++)
        cr_assert_eq(config_key_find(keys[i].name), &keys[i], "%s", keys[i].name);
    cr_assert_null(config_key_find("dcqcn"));
    cr_assert_null(config_key_find(""));
}

Test(config_keys, scheme_names_are_those_of_the_configuration)
{
    const struct config_key *k = config_key_find("cc");

    for (int i = 0; i < CC_KIND_COUNT; i++)
        cr_assert_str_eq(k->names[i], config_cc_name((enum cc_kind)i));
    cr_assert_null(k->names[CC_KIND_COUNT]);
}

Test(config_keys, text_sets_the_field)
{
    struct sim_config c = make_config();
    struct err_info e = {.text = ""};

    cr_assert_eq(config_key_set(&c, "end_ps", "10ms", &e), 0);
    cr_assert_eq(config_key_set(&c, "rto_ps", "1500000", &e), 0);
    cr_assert_eq(config_key_set(&c, "dcqcn.ai_bps", "5Gbps", &e), 0);
    cr_assert_eq(config_key_set(&c, "dcqcn.hai_bps", "7000", &e), 0);
    cr_assert_eq(config_key_set(&c, "buffer_bytes", "2MiB", &e), 0);
    cr_assert_eq(config_key_set(&c, "cc", "swift", &e), 0);
    cr_assert_eq(config_key_set(&c, "pfc", "off", &e), 0);
    cr_assert_eq(config_key_set(&c, "hpcc.target_util", "90%", &e), 0);
    cr_assert_eq(config_key_set(&c, "payload_bytes", "4096", &e), 0);
    cr_assert_eq(c.end_ps, INT64_C(10000000000));
    cr_assert_eq(c.rto_ps, 1500000);
    cr_assert_eq(c.dcqcn.ai_bps, INT64_C(5000000000));
    cr_assert_eq(c.dcqcn.hai_bps, 7000);
    cr_assert_eq(c.buffer_bytes, 2 * 1024 * 1024);
    cr_assert_eq(c.cc, CC_SWIFT);
    cr_assert_eq(c.pfc, 0);
    cr_assert_eq(c.payload_bytes, 4096);
    cr_assert_lt(fabs(c.hpcc.target_util - 0.9), 1e-12);
}

Test(config_keys, wrong_text_is_refused_and_changes_nothing)
{
    static const char *const bad[][2] = {
        {"end_ps", "soon"},     {"pfc", "2"},        {"payload_bytes", "-1"},
        {"cc", "reno"},         {"cc", ""},          {"payload_bytes", "4294967296"},
        {"buffer_bytes", "1X"}, {"dctcp.gain", "x"}, {"min_rate_bps", "fast"},
        {"nothing", "1"},       {"seed", "-1"},      {"payload_bytes", "1.5"},
    };

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct sim_config c = make_config();
        const struct sim_config before = c;
        struct err_info e = {.text = ""};

        cr_assert_eq(config_key_set(&c, bad[i][0], bad[i][1], &e), WH_ERR_INPUT, "%s", bad[i][0]);
        cr_assert(strstr(e.text, bad[i][0]), "'%s' does not name %s", e.text, bad[i][0]);
        cr_assert_eq(memcmp(&c, &before, sizeof c), 0, "%s", bad[i][0]);
    }
}

Test(config_keys, values_read_back_as_they_were_set)
{
    uint32_t count;
    const struct config_key *keys = config_keys(&count);

    for (uint32_t i = 0; i < count; i++) {
        struct sim_config c = make_config();
        const char *text = keys[i].type == CONFIG_NAME ? keys[i].names[1] : "1";
        struct err_info e = {.text = ""};

        cr_assert_eq(config_key_set(&c, keys[i].name, text, &e), 0, "%s: %s", keys[i].name, e.text);
        const struct config_value v = config_key_get(&c, &keys[i]);

        if (keys[i].type == CONFIG_REAL)
            cr_assert_eq(v.real, 1.0, "%s", keys[i].name);
        else
            cr_assert_eq(v.integer, 1, "%s", keys[i].name);
    }
}
