/*
 * units.c - quantities with units: see units.h.
 *
 * A number is kept as its decimal digits until the last step. Scaling by a unit multiplies the
 * digits by a whole number (60 for a minute, 1024 for Ki, 8 for a byte in bits) and moves the
 * decimal point, so nothing is lost before the one rounding to the result.
 */
#include "units.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS_MAX 400          /* significant digits of a number in a text */
#define PRODUCT_DIGITS_MAX 16   /* that a unit's multiplier can add: 8 Ti is 14 digits */
#define EXPONENT_MAX 1000000    /* beyond it every number is 0 or too large, whatever its digits */
#define TX_FAST_BYTES (1 << 20) /* up to here the bits times 10^12 fit in 63 bits */
#define TX_BYTES_END (INT64_C(1) << 40)

/* 0.d1 d2 d3 ... times 10^point, no leading zero; digit_count 0 is zero. */
struct decimal {
    uint8_t digits[PRODUCT_DIGITS_MAX + DIGITS_MAX];
    int64_t digit_count, point;
    int is_negative;
};

struct unit {
    const char *name;
    int64_t factor; /* of the result's unit, times 10^exp10 */
    int exp10;
};

static const struct unit time_units[] = {
    {"s", 1, 12},  {"ms", 1, 9},    {"us", 1, 6},    {"ns", 1, 3},     {"ps", 1, 0},
    {"fs", 1, -3}, {"min", 60, 12}, {"h", 3600, 12}, {"d", 86400, 12}, {"y", 31536000, 12},
};

static const struct unit prefixes[] = {
    {"", 1, 0},
    {"k", 1, 3},
    {"K", 1, 3},
    {"M", 1, 6},
    {"G", 1, 9},
    {"T", 1, 12},
    {"Ki", INT64_C(1) << 10, 0},
    {"Mi", INT64_C(1) << 20, 0},
    {"Gi", INT64_C(1) << 30, 0},
    {"Ti", INT64_C(1) << 40, 0},
};

static const struct unit rate_units[] = {
    {"bps", 1, 0}, {"b/s", 1, 0}, {"bit/s", 1, 0}, {"Bps", 8, 0}, {"B/s", 8, 0},
};

#define ARRAY_COUNT(a) (sizeof(a) / sizeof((a)[0]))

static int is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Reads "e5", "E-12" at @*text if it is there; leaves @*text alone otherwise. */
static int64_t scan_exponent(const char **text)
{
    const char *s = *text;
    int64_t value = 0;
    int is_negative;

    if (*s != 'e' && *s != 'E')
        return 0;
    s++;
    is_negative = *s == '-';
    if (*s == '-' || *s == '+')
        s++;
    if (!is_digit(*s))
        return 0;
    for (; is_digit(*s); s++)
        if (value < EXPONENT_MAX)
            value = value * 10 + (*s - '0');
    *text = s;
    return is_negative ? -value : value;
}

/*
 * Reads the number at the start of @text, @*end is what follows it.
 * WH_ERR_INPUT: no number there; WH_ERR_LIMIT: more digits than any quantity has.
 */
static int scan_decimal(const char *text, struct decimal *d, const char **end)
{
    const char *s = text;
    int64_t zeros = 0; /* seen, but only significant if another digit follows */
    int has_digit = 0, is_fraction = 0;

    d->digit_count = d->point = 0;
    d->is_negative = *s == '-';
    if (*s == '-' || *s == '+')
        s++;
    for (; is_digit(*s) || (*s == '.' && !is_fraction); s++) {
        if (*s == '.') {
            is_fraction = 1;
            continue;
        }
        has_digit = 1;
        if (d->digit_count == 0 && *s == '0') {
            d->point -= is_fraction;
            continue;
        }
        d->point += !is_fraction;
        zeros++;
        if (*s == '0')
            continue;
        if (d->digit_count + zeros > DIGITS_MAX)
            return WH_ERR_LIMIT;
        memset(d->digits + d->digit_count, 0, (size_t)zeros - 1);
        d->digit_count += zeros;
        d->digits[d->digit_count - 1] = (uint8_t)(*s - '0');
        zeros = 0;
    }
    if (!has_digit)
        return WH_ERR_INPUT;
    d->point += scan_exponent(&s);
    *end = s;
    return 0;
}

/* Multiplies by @factor >= 1, at most 8 Ti, exactly. */
static void scale_decimal(struct decimal *d, int64_t factor, int exp10)
{
    uint8_t product[sizeof d->digits];
    uint64_t carry = 0;
    int64_t at = PRODUCT_DIGITS_MAX, first;

    d->point += exp10;
    if (factor == 1 || d->digit_count == 0)
        return;
    for (int64_t i = d->digit_count - 1; i >= 0; i--) {
        carry += (uint64_t)d->digits[i] * (uint64_t)factor;
        product[at + i] = (uint8_t)(carry % 10);
        carry /= 10;
    }
    for (first = at; carry; carry /= 10)
        product[--first] = (uint8_t)(carry % 10);
    d->point += at - first;
    d->digit_count += at - first;
    memcpy(d->digits, product + first, (size_t)d->digit_count);
}

/* The nearest integer, halves away from zero. WH_ERR_LIMIT if it is outside int64_t. */
static int round_decimal(const struct decimal *d, int64_t *out, int *inexact)
{
    const uint64_t limit = (uint64_t)INT64_MAX + (uint64_t)d->is_negative;
    uint64_t value = 0;
    int is_inexact = 0;

    for (int64_t i = 0; i < d->point && (value || i < d->digit_count); i++) {
        uint64_t digit = i < d->digit_count ? d->digits[i] : 0;

        if (value > (limit - digit) / 10)
            return WH_ERR_LIMIT;
        value = value * 10 + digit;
    }
    for (int64_t i = d->point > 0 ? d->point : 0; i < d->digit_count; i++)
        is_inexact |= d->digits[i] != 0;
    if (d->point >= 0 && d->point < d->digit_count && d->digits[d->point] >= 5) {
        if (value == limit)
            return WH_ERR_LIMIT;
        value++;
    }
    if (inexact)
        *inexact = is_inexact;
    *out = !d->is_negative || !value ? (int64_t)value : -(int64_t)(value - 1) - 1;
    return 0;
}

int units_parse_decimal(const char *text, int exp10, int64_t *out, int *inexact)
{
    struct decimal d;
    const char *end;
    int rc = scan_decimal(text, &d, &end);

    if (rc)
        return rc;
    if (*end)
        return WH_ERR_INPUT;
    scale_decimal(&d, 1, exp10);
    return round_decimal(&d, out, inexact);
}

/* Scales a quantity by its unit. A quantity is not negative. */
static int finish_quantity(struct decimal *d, const struct unit *u, int64_t *out)
{
    if (d->is_negative && d->digit_count)
        return WH_ERR_INPUT;
    d->is_negative = 0;
    scale_decimal(d, u->factor, u->exp10);
    return round_decimal(d, out, NULL);
}

int units_parse_time(const char *text, int bare_exp10, int64_t *out_ps)
{
    struct decimal d;
    const char *name;
    int rc = scan_decimal(text, &d, &name);

    if (rc)
        return rc;
    if (!*name) {
        const struct unit bare = {"", 1, bare_exp10 + 12};

        if (bare_exp10 < -12 && d.digit_count)
            return WH_ERR_INPUT;
        return finish_quantity(&d, &bare, out_ps);
    }
    for (size_t i = 0; i < ARRAY_COUNT(time_units); i++)
        if (!strcmp(name, time_units[i].name))
            return finish_quantity(&d, &time_units[i], out_ps);
    return WH_ERR_INPUT;
}

/* The product of the prefix and the unit that @name consists of. */
static int find_prefixed(const char *name, const struct unit *units, size_t unit_count,
                         struct unit *out)
{
    for (size_t p = 0; p < ARRAY_COUNT(prefixes); p++) {
        size_t chars = strlen(prefixes[p].name);

        if (strncmp(name, prefixes[p].name, chars))
            continue;
        for (size_t u = 0; u < unit_count; u++)
            if (!strcmp(name + chars, units[u].name)) {
                *out = (struct unit){name, prefixes[p].factor * units[u].factor, prefixes[p].exp10};
                return 0;
            }
    }
    return WH_ERR_INPUT;
}

static int parse_prefixed(const char *text, const struct unit *units, size_t unit_count,
                          int64_t *out)
{
    struct decimal d;
    struct unit u;
    const char *name;
    int rc = scan_decimal(text, &d, &name);

    if (rc)
        return rc;
    rc = find_prefixed(name, units, unit_count, &u);
    return rc ? rc : finish_quantity(&d, &u, out);
}

int units_parse_rate(const char *text, int64_t *out_bps)
{
    return parse_prefixed(text, rate_units, ARRAY_COUNT(rate_units), out_bps);
}

int units_parse_bytes(const char *text, int64_t *out_bytes)
{
    static const struct unit byte = {"B", 1, 0};

    if (!strcmp(text, "0")) {
        *out_bytes = 0;
        return 0;
    }
    return parse_prefixed(text, &byte, 1, out_bytes);
}

/* The double nearest to 0.digits times 10^point. Without a decimal point strtod knows no locale. */
static int decimal_to_double(const struct decimal *d, double *out)
{
    char text[sizeof d->digits + 32];
    char *s = text;
    double value;

    if (d->is_negative)
        *s++ = '-';
    *s++ = '0';
    for (int64_t i = 0; i < d->digit_count; i++)
        *s++ = (char)('0' + d->digits[i]);
    snprintf(s, sizeof text - (size_t)(s - text), "e%lld", (long long)(d->point - d->digit_count));
    value = strtod(text, NULL);
    if (isinf(value))
        return WH_ERR_LIMIT;
    *out = value;
    return 0;
}

int units_parse_ratio(const char *text, double *out)
{
    struct decimal d;
    const char *end;
    int rc = scan_decimal(text, &d, &end);

    if (rc)
        return rc;
    if (!strcmp(end, "%"))
        d.point -= 2;
    else if (*end)
        return WH_ERR_INPUT;
    return decimal_to_double(&d, out);
}

/* A unit to print in: 10^exp10 or, exp10 0, @whole and only for its multiples. */
struct print_unit {
    const char *name;
    int exp10;
    int64_t whole;
};

static int64_t power_of_ten(int exp10)
{
    int64_t p = 1;

    while (exp10-- > 0)
        p *= 10;
    return p;
}

/* @value >= 0 in unit @u, without trailing zeros. Returns the length, 0 if @u does not suit. */
static int print_in_unit(uint64_t value, const struct print_unit *u, char *buf, size_t buf_bytes)
{
    const uint64_t one = (uint64_t)(u->whole ? u->whole : power_of_ten(u->exp10));
    uint64_t rest = value % one;
    int digits = u->exp10;

    if (value < one && one > 1)
        return 0;
    if (u->whole && rest)
        return 0;
    if (!rest)
        return snprintf(buf, buf_bytes, "%llu%s", (unsigned long long)(value / one), u->name);
    for (; rest % 10 == 0; rest /= 10)
        digits--;
    return snprintf(buf, buf_bytes, "%llu.%0*llu%s", (unsigned long long)(value / one), digits,
                    (unsigned long long)rest, u->name);
}

/* The shortest of the exact texts; the first of @units where several are. The last suits always. */
static const char *print_shortest(int64_t value, const struct print_unit *units, size_t unit_count,
                                  char *buf, size_t buf_bytes)
{
    const uint64_t magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    char text[64], best[64] = "";
    int best_chars = 0;

    for (size_t i = 0; i < unit_count; i++) {
        int chars = print_in_unit(magnitude, &units[i], text, sizeof text);

        if (chars > 0 && (best_chars == 0 || chars < best_chars)) {
            memcpy(best, text, sizeof best);
            best_chars = chars;
        }
    }
    snprintf(buf, buf_bytes, "%s%s", value < 0 ? "-" : "", best);
    return buf;
}

const char *units_format_time(int64_t ps, char *buf, size_t buf_bytes)
{
    static const struct print_unit units[] = {
        {"s", 12, 0}, {"ms", 9, 0}, {"us", 6, 0}, {"ns", 3, 0}, {"ps", 0, 0},
    };

    return print_shortest(ps, units, ARRAY_COUNT(units), buf, buf_bytes);
}

const char *units_format_rate(int64_t bps, char *buf, size_t buf_bytes)
{
    /* No Tbps: ns-3 does not read it, and topology files are written for ns-3 too. */
    static const struct print_unit units[] = {
        {"Gbps", 9, 0},
        {"Mbps", 6, 0},
        {"Kbps", 3, 0},
        {"bps", 0, 0},
    };

    return print_shortest(bps, units, ARRAY_COUNT(units), buf, buf_bytes);
}

const char *units_format_bytes(int64_t bytes, char *buf, size_t buf_bytes)
{
    static const struct print_unit units[] = {
        {"TiB", 0, INT64_C(1) << 40},
        {"TB", 12, 0},
        {"GiB", 0, INT64_C(1) << 30},
        {"GB", 9, 0},
        {"MiB", 0, INT64_C(1) << 20},
        {"MB", 6, 0},
        {"KiB", 0, INT64_C(1) << 10},
        {"KB", 3, 0},
        {"B", 0, 0},
    };

    return print_shortest(bytes, units, ARRAY_COUNT(units), buf, buf_bytes);
}

/* The wide form: any operands. */
static int64_t calc_tx_wide_ps(int64_t bytes, int64_t rate_bps, int64_t round_ps)
{
    const unsigned __int128 bits_ps = (unsigned __int128)bytes * (8 * (uint64_t)PS_PER_S);
    const unsigned __int128 step = (unsigned __int128)rate_bps * (uint64_t)round_ps;
    const unsigned __int128 rest = bits_ps % step;
    const unsigned __int128 steps = bits_ps / step + (rest >= step - rest);

    if (steps > (uint64_t)(INT64_MAX / round_ps))
        return TIME_NEVER;
    return (int64_t)steps * round_ps;
}

int64_t units_tx_ps(int64_t bytes, int64_t rate_bps, int64_t round_ps)
{
    uint64_t bits_ps, quotient, rest;
    int64_t step;

    dcheck(bytes >= 0 && bytes < TX_BYTES_END, "bytes %lld", (long long)bytes);
    dcheck(rate_bps > 0, "rate %lld", (long long)rate_bps);
    dcheck(round_ps > 0, "round %lld", (long long)round_ps);
    if (bytes > TX_FAST_BYTES || __builtin_mul_overflow(rate_bps, round_ps, &step))
        return calc_tx_wide_ps(bytes, rate_bps, round_ps);
    bits_ps = (uint64_t)bytes * (8 * (uint64_t)PS_PER_S);
    quotient = bits_ps / (uint64_t)step;
    rest = bits_ps - quotient * (uint64_t)step;
    return (int64_t)(quotient + (rest >= (uint64_t)step - rest)) * round_ps;
}
