/*
 * test_units.c - parsing, exact arithmetic and formatting of quantities.
 */
#include "units.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdint.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define UNTOUCHED INT64_C(-77)

struct step {
    const char *text;
    int rc;
    int64_t value;
};

typedef int (*parse_fn)(const char *text, int64_t *out);

/* A refused text must leave the result alone. */
static void run_steps(parse_fn parse, const struct step *steps, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int64_t value = UNTOUCHED;
        const int rc = parse(steps[i].text, &value);

        cr_expect_eq(rc, steps[i].rc, "\"%s\": code %d", steps[i].text, rc);
        cr_expect_eq(value, steps[i].rc ? UNTOUCHED : steps[i].value, "\"%s\": %" PRId64,
                     steps[i].text, value);
    }
}

static int parse_time(const char *text, int64_t *out)
{
    return units_parse_time(text, UNITS_NO_BARE, out);
}

static int parse_seconds(const char *text, int64_t *out)
{
    return units_parse_time(text, 0, out);
}

static int parse_integer(const char *text, int64_t *out)
{
    return units_parse_decimal(text, 0, out, NULL);
}

Test(units, time_is_exact)
{
    static const struct step steps[] = {
        {"2.000000001s", 0, INT64_C(2000000001000)},
        {"1us", 0, 1000000},
        {"0.000025ms", 0, 25000},
        {"25ns", 0, 25000},
        {"0.5ns", 0, 500},
        {"500ps", 0, 500},
        {"0.0005ms", 0, 500000},
        {"2s", 0, INT64_C(2000000000000)},
        {"1e-6s", 0, 1000000},
        {"1E3ps", 0, 1000},
        {"1e+3ps", 0, 1000},
        {".5us", 0, 500000},
        {"5.us", 0, 5000000},
        {"+3ns", 0, 3000},
        {"1500fs", 0, 2},
        {"1499fs", 0, 1},
        {"0.1ps", 0, 0},
        {"0.5min", 0, 30 * PS_PER_S},
        {"2h", 0, 7200 * PS_PER_S},
        {"1d", 0, 86400 * PS_PER_S},
        {"0.001y", 0, 31536 * PS_PER_S},
        {"0", 0, 0},
        {"-0", 0, 0},
        {"0.00", 0, 0},
        {"0e9", 0, 0},
        {"9223372036854775807ps", 0, INT64_MAX},
        {"9223372.036854775807s", 0, INT64_MAX},
    };

    run_steps(parse_time, steps, COUNT(steps));
}

Test(units, wrong_time_is_refused)
{
    static const struct step steps[] = {
        {"", WH_ERR_INPUT, 0},
        {"1", WH_ERR_INPUT, 0},
        {"us", WH_ERR_INPUT, 0},
        {"1 us", WH_ERR_INPUT, 0},
        {" 1us", WH_ERR_INPUT, 0},
        {"1us ", WH_ERR_INPUT, 0},
        {"1usec", WH_ERR_INPUT, 0},
        {"1US", WH_ERR_INPUT, 0},
        {"-1us", WH_ERR_INPUT, 0},
        {"--1us", WH_ERR_INPUT, 0},
        {"1.2.3us", WH_ERR_INPUT, 0},
        {".us", WH_ERR_INPUT, 0},
        {"1e us", WH_ERR_INPUT, 0},
        {"0x10us", WH_ERR_INPUT, 0},
        {"nan", WH_ERR_INPUT, 0},
        {"infs", WH_ERR_INPUT, 0},
        {"1,5us", WH_ERR_INPUT, 0},
        {"1Gbps", WH_ERR_INPUT, 0},
        {"9223372036854775808ps", WH_ERR_LIMIT, 0},
        {"9223372036854775807.5ps", WH_ERR_LIMIT, 0},
        {"1e30s", WH_ERR_LIMIT, 0},
        {"4e13s", WH_ERR_LIMIT, 0},
        {"1e99999999999999999999s", WH_ERR_LIMIT, 0},
        {"292472y", WH_ERR_LIMIT, 0},
    };

    run_steps(parse_time, steps, COUNT(steps));
}

Test(units, bare_number_is_refused_unless_its_unit_is_given)
{
    static const struct step steps[] = {
        {"2.000000001", 0, INT64_C(2000000001000)},
        {"3", 0, 3 * PS_PER_S},
        {"3us", 0, 3 * PS_PER_US},
        {"1e-12", 0, 1},
        {"-3", WH_ERR_INPUT, 0},
        {"4e13", WH_ERR_LIMIT, 0},
    };
    int64_t ps = UNTOUCHED;

    run_steps(parse_seconds, steps, COUNT(steps));
    cr_assert_eq(units_parse_time("55", -6, &ps), 0);
    cr_assert_eq(ps, 55 * PS_PER_US);
    cr_assert_eq(units_parse_time("2000000000", -9, &ps), 0);
    cr_assert_eq(ps, 2 * PS_PER_S);
    cr_assert_eq(units_parse_time("7", -12, &ps), 0);
    cr_assert_eq(ps, 7);
    cr_assert_eq(units_parse_time("7", UNITS_NO_BARE, &ps), WH_ERR_INPUT);
}

Test(units, rate_is_exact)
{
    static const struct step steps[] = {
        {"100Gbps", 0, INT64_C(100000000000)},
        {"25Gb/s", 0, INT64_C(25000000000)},
        {"100Mb/s", 0, 100000000},
        {"1Gbit/s", 0, 1000000000},
        {"10GB/s", 0, INT64_C(80000000000)},
        {"1MBps", 0, 8000000},
        {"1B/s", 0, 8},
        {"1Gibps", 0, INT64_C(1) << 30},
        {"1MiB/s", 0, 8 << 20},
        {"1Kib/s", 0, 1024},
        {"2Tibps", 0, INT64_C(2) << 40},
        {"1.6Tbps", 0, INT64_C(1600000000000)},
        {"64kbps", 0, 64000},
        {"64Kbps", 0, 64000},
        {"615bps", 0, 615},
        {"0bps", 0, 0},
        {"1.5Gibps", 0, INT64_C(1610612736)},
        {"12.5GB/s", 0, INT64_C(100000000000)},
        {"0.1Kibps", 0, 102},
        {"9223372036854775807bps", 0, INT64_MAX},
    };

    run_steps(units_parse_rate, steps, COUNT(steps));
}

Test(units, wrong_rate_is_refused)
{
    static const struct step steps[] = {
        {"100Gbp", WH_ERR_INPUT, 0},      {"100G", WH_ERR_INPUT, 0},
        {"100", WH_ERR_INPUT, 0},         {"0", WH_ERR_INPUT, 0},
        {"Gbps", WH_ERR_INPUT, 0},        {"100 Gbps", WH_ERR_INPUT, 0},
        {"100GBPS", WH_ERR_INPUT, 0},     {"100gbps", WH_ERR_INPUT, 0},
        {"100GGbps", WH_ERR_INPUT, 0},    {"100kibps", WH_ERR_INPUT, 0},
        {"-1Gbps", WH_ERR_INPUT, 0},      {"100Gb", WH_ERR_INPUT, 0},
        {"100Gbpsx", WH_ERR_INPUT, 0},    {"", WH_ERR_INPUT, 0},
        {"9223373Tbps", WH_ERR_LIMIT, 0}, {"1200000000000GB/s", WH_ERR_LIMIT, 0},
    };

    run_steps(units_parse_rate, steps, COUNT(steps));
}

Test(units, bytes_are_exact)
{
    static const struct step steps[] = {
        {"64KB", 0, 64000},
        {"4MB", 0, 4000000},
        {"1GiB", 0, 1 << 30},
        {"1000B", 0, 1000},
        {"64kB", 0, 64000},
        {"1.5KiB", 0, 1536},
        {"2TB", 0, 2000000000000},
        {"2TiB", 0, INT64_C(2) << 40},
        {"32MiB", 0, 32 << 20},
        {"0", 0, 0},
        {"0B", 0, 0},
        {"1e9B", 0, 1000000000},
        {"0.000001TB", 0, 1000000},
        {"7.9999999999TiB", 0, INT64_C(8796093022098)}, /* ...098.05 */
        {"8388607.999999999999TiB", 0, INT64_MAX},      /* ...5806.9 */
    };
    static const struct step refused[] = {
        {"64", WH_ERR_INPUT, 0},    {"64K", WH_ERR_INPUT, 0},        {"64Kb", WH_ERR_INPUT, 0},
        {"64KBs", WH_ERR_INPUT, 0}, {"-64KB", WH_ERR_INPUT, 0},      {"", WH_ERR_INPUT, 0},
        {"64 KB", WH_ERR_INPUT, 0}, {"8388608TiB", WH_ERR_LIMIT, 0},
    };

    run_steps(units_parse_bytes, steps, COUNT(steps));
    run_steps(units_parse_bytes, refused, COUNT(refused));
}

Test(units, decimal_rounds_to_nearest_and_says_so)
{
    static const struct {
        const char *text;
        int exp10;
        int64_t value;
        int inexact;
    } steps[] = {
        {"12", 0, 12, 0},
        {"12.5", 1, 125, 0},
        {"1e-4", 4, 1, 0},
        {"1e-4", 3, 0, 1},
        {"2.5", 0, 3, 1},
        {"-2.5", 0, -3, 1},
        {"2.49999999999999999999", 0, 2, 1},
        {"0.5", 0, 1, 1},
        {"0.05", 0, 0, 1},
        {"1.000", 0, 1, 0},
        {"1.0001", 0, 1, 1},
        {"100", -2, 1, 0},
        {"100", -3, 0, 1},
        {"500", -3, 1, 1},
        {"-0.4", 0, 0, 1},
        {"000123", 0, 123, 0},
        {"0.000e-99", 0, 0, 0},
        {"1e-99999999", 0, 0, 1},
        {"99.99", 0, 100, 1},
        {"1200e-2", 0, 12, 0},
        {"0.00000000000000000000000000012e28", 0, 1, 1},
    };

    for (size_t i = 0; i < COUNT(steps); i++) {
        int64_t value = UNTOUCHED;
        int inexact = -1;

        cr_expect_eq(units_parse_decimal(steps[i].text, steps[i].exp10, &value, &inexact), 0);
        cr_expect_eq(value, steps[i].value, "\"%s\": %" PRId64, steps[i].text, value);
        cr_expect_eq(inexact, steps[i].inexact, "\"%s\": inexact %d", steps[i].text, inexact);
    }
}

Test(units, decimal_covers_all_of_int64)
{
    static const struct step steps[] = {
        {"9223372036854775807", 0, INT64_MAX},
        {"9223372036854775807.49", 0, INT64_MAX},
        {"9223372036854775807.5", WH_ERR_LIMIT, 0},
        {"9223372036854775808", WH_ERR_LIMIT, 0},
        {"-9223372036854775808", 0, INT64_MIN},
        {"-9223372036854775808.5", WH_ERR_LIMIT, 0},
        {"-9223372036854775809", WH_ERR_LIMIT, 0},
        {"1e18", 0, INT64_C(1000000000000000000)},
        {"1e19", WH_ERR_LIMIT, 0},
        {"1x", WH_ERR_INPUT, 0},
        {"1e", WH_ERR_INPUT, 0},
        {"1e+", WH_ERR_INPUT, 0},
        {"e5", WH_ERR_INPUT, 0},
        {"+", WH_ERR_INPUT, 0},
    };

    run_steps(parse_integer, steps, COUNT(steps));
}

Test(units, very_long_numbers_are_read_or_refused)
{
    char text[2000];
    int64_t value = 0;

    memset(text, '0', sizeof text);
    text[1990] = '7';
    text[1991] = '\0';
    cr_assert_eq(parse_integer(text, &value), 0, "leading zeros do not count");
    cr_assert_eq(value, 7);
    text[0] = '7';
    text[1] = '.';
    text[1990] = '\0';
    cr_assert_eq(parse_integer(text, &value), 0, "trailing zeros do not count");
    cr_assert_eq(value, 7);
    memset(text, '1', sizeof text);
    text[1999] = '\0';
    cr_assert_eq(parse_integer(text, &value), WH_ERR_LIMIT);
}

Test(units, ratio_is_the_nearest_double)
{
    static const struct {
        const char *text;
        double value;
    } steps[] = {
        {"5%", 0.05},     {"0.05", 0.05},   {"100%", 1.0},
        {"0", 0.0},       {"1e-3", 1e-3},   {"0.1%", 0.001},
        {"12.5%", 0.125}, {"-0.25", -0.25}, {"0.3333333333333333", 0.3333333333333333},
        {"1e300", 1e300}, {"1e-400", 0.0},
    };
    double value = -1;

    for (size_t i = 0; i < COUNT(steps); i++) {
        cr_expect_eq(units_parse_ratio(steps[i].text, &value), 0, "\"%s\"", steps[i].text);
        cr_expect(value == steps[i].value, "\"%s\": %.17g", steps[i].text, value);
    }
    value = -1;
    cr_assert_eq(units_parse_ratio("5 %", &value), WH_ERR_INPUT);
    cr_assert_eq(units_parse_ratio("5%%", &value), WH_ERR_INPUT);
    cr_assert_eq(units_parse_ratio("%", &value), WH_ERR_INPUT);
    cr_assert_eq(units_parse_ratio("nan", &value), WH_ERR_INPUT);
    cr_assert_eq(units_parse_ratio("1e400", &value), WH_ERR_LIMIT);
    cr_assert(value == -1.0);
}

Test(units, formats_are_the_ones_people_write)
{
    char buf[64];

    cr_expect_str_eq(units_format_time(1500000, buf, sizeof buf), "1.5us");
    cr_expect_str_eq(units_format_time(500000, buf, sizeof buf), "500ns");
    cr_expect_str_eq(units_format_time(1, buf, sizeof buf), "1ps");
    cr_expect_str_eq(units_format_time(0, buf, sizeof buf), "0ps");
    cr_expect_str_eq(units_format_time(2000000001000, buf, sizeof buf), "2.000000001s");
    cr_expect_str_eq(units_format_time(1048000, buf, sizeof buf), "1048ns");
    cr_expect_str_eq(units_format_time(-PS_PER_US, buf, sizeof buf), "-1us");
    cr_expect_str_eq(units_format_rate(100000000000, buf, sizeof buf), "100Gbps");
    cr_expect_str_eq(units_format_rate(615000000, buf, sizeof buf), "615Mbps");
    cr_expect_str_eq(units_format_rate(1600000000000, buf, sizeof buf), "1600Gbps");
    cr_expect_str_eq(units_format_rate(1, buf, sizeof buf), "1bps");
    cr_expect_str_eq(units_format_bytes(4000000, buf, sizeof buf), "4MB");
    cr_expect_str_eq(units_format_bytes(32 << 20, buf, sizeof buf), "32MiB");
    cr_expect_str_eq(units_format_bytes(4096, buf, sizeof buf), "4KiB");
    cr_expect_str_eq(units_format_bytes(1048, buf, sizeof buf), "1048B");
    cr_expect_str_eq(units_format_bytes(0, buf, sizeof buf), "0B");
}

/* A generator good enough to spread values over all magnitudes. */
static int64_t draw_value(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int64_t)((*state >> 1) >> ((*state >> 7) % 63));
}

Test(units, every_format_parses_back)
{
    static const int64_t edges[] = {0, 1, 999, 1000, 1001, 1023, 1024, INT64_MAX, INT64_MAX - 1};
    uint64_t state = 1;
    char buf[64];

    for (size_t i = 0; i < 20000; i++) {
        const int64_t value = i < COUNT(edges) ? edges[i] : draw_value(&state);
        int64_t back = UNTOUCHED;

        cr_assert_eq(
            units_parse_time(units_format_time(value, buf, sizeof buf), UNITS_NO_BARE, &back), 0,
            "%s", buf);
        cr_assert_eq(back, value, "%s: %" PRId64, buf, value);
        cr_assert_eq(units_parse_rate(units_format_rate(value, buf, sizeof buf), &back), 0, "%s",
                     buf);
        cr_assert_eq(back, value, "%s: %" PRId64, buf, value);
        cr_assert_eq(units_parse_bytes(units_format_bytes(value, buf, sizeof buf), &back), 0, "%s",
                     buf);
        cr_assert_eq(back, value, "%s: %" PRId64, buf, value);
    }
}

Test(units, format_is_cut_at_the_end_of_the_buffer)
{
    char buf[4];

    cr_assert_str_eq(units_format_rate(100000000000, buf, sizeof buf), "100");
}

Test(units, transmission_time_is_rounded_as_asked)
{
    static const struct {
        int64_t bytes, rate_bps, round_ps, tx_ps;
    } steps[] = {
        {1048, 100000000000, 1000, 84000}, /* the reference simulator's clock, 83.84 ns */
        {1048, 100000000000, 1, 83840},
        {1056, 100000000000, 1000, 84000},
        {1090, 100000000000, 1000, 87000},
        {60, 100000000000, 1000, 5000},
        {88, 100000000000, 1000, 7000},
        {43, 100000000000, 1000, 3000},
        {1, 100000000000, 1, 80},
        {0, 100000000000, 1000, 0},
        {1, 3000000000000, 1, 3},     /* 2.67 ps */
        {1, 16000000000000, 1, 1},    /* half a ps goes up */
        {1, 16000000000001, 1, 0},    /* a little less does not */
        {1, 16000000000, 1000, 1000}, /* half a ns goes up */
        {3, 16000000000, 1000, 2000}, /* 1.5 ns */
        {1, 16000000001, 1000, 0},
        {1, 1, 1, 8 * PS_PER_S},
        {1000000000000, 100000000000, 1, 80 * PS_PER_S},
        {(INT64_C(1) << 40) - 1, 1000000000000, 1, INT64_C(8796093022200)},
        {(INT64_C(1) << 40) - 1, 1, 1, TIME_NEVER},
        {1, INT64_MAX, 1000, 0},
    };

    for (size_t i = 0; i < COUNT(steps); i++) {
        const int64_t tx_ps = units_tx_ps(steps[i].bytes, steps[i].rate_bps, steps[i].round_ps);

        cr_expect_eq(tx_ps, steps[i].tx_ps, "step %zu: %" PRId64, i, tx_ps);
    }
}

/* Small and large operands take different ways; both must agree with the definition. */
Test(units, transmission_time_agrees_with_its_definition)
{
    uint64_t state = 7;

    for (int i = 0; i < 20000; i++) {
        const int64_t bytes = draw_value(&state) & ((INT64_C(1) << 30) - 1);
        const int64_t rate_bps = (draw_value(&state) & ((INT64_C(1) << 42) - 1)) + 1000000;
        const int64_t round_ps = i % 2 ? 1000 : 1;
        const int64_t tx_ps = units_tx_ps(bytes, rate_bps, round_ps);
        /* |tx - exact| <= round / 2, in units of 1 / (2 rate): exact on both sides. */
        const __int128 twice_error =
            2 * ((__int128)bytes * 8 * PS_PER_S - (__int128)tx_ps * rate_bps);
        const __int128 step = (__int128)rate_bps * round_ps;

        cr_assert_eq(tx_ps % round_ps, 0);
        cr_assert(twice_error < step && twice_error >= -step,
                  "%" PRId64 " B at %" PRId64 " bit/s: %" PRId64, bytes, rate_bps, tx_ps);
    }
}
