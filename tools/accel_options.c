/*
 * accel_options.c - see accel_options.h.
 */
#include "accel_options.h"

#include "units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MEMO_BYTES_MIN (INT64_C(1) << 20) /* less does not hold the episodes of one iteration */
#define MEMO_BYTES_MAX (INT64_C(1) << 46)
#define PAPER_SAMPLES_MAX 1000000
#define WINDOW_PS_MAX (1000 * PS_PER_S)

struct accel_row_text {
    const char *name, *expected;
};

static const struct accel_row_text texts[ACCEL_ROWS] = {
    [ACCEL_STEADY] = {"--steady", NULL},
    [ACCEL_NO_STEADY] = {"--no-steady", NULL},
    [ACCEL_BUDGET] = {"--error-budget", "a share above 0, at most 50%, such as 1%"},
    [ACCEL_RULE] = {"--steady-rule", "own or paper"},
    [ACCEL_THETA] = {"--theta", "a share above 0, at most 100%, such as 5%"},
    [ACCEL_SAMPLES] = {"--paper-samples", "a whole number from 1 to 1000000"},
    [ACCEL_WINDOW] = {"--steady-window", "a time above 0 with unit, such as 400us, at most 1000 s"},
    [ACCEL_KAPPA] = {"--steady-kappa", "a factor above 0, such as 3, or none"},
    [ACCEL_EPS] = {"--steady-eps", "a share above 0, at most 50%, such as 0.5%"},
    [ACCEL_MEMO] = {"--memo", "exact, fcg or off"},
    [ACCEL_NO_MEMO] = {"--no-memo", NULL},
    [ACCEL_SIZE] = {"--memo-size", "a size from 1MiB to 64TiB with unit, such as 1GiB"},
    [ACCEL_FILE] = {"--memo-file", "the path of a file"},
    [ACCEL_AUDIT] = {"--audit", "a share from 0 to 100%, such as 5%"},
};

void accel_options_off(struct accel_options *o)
{
    o->steady = o->memo = ACCEL_OFF;
}

const char *accel_rule_name(enum detect_rule r)
{
    return r == DETECT_RULE_PAPER ? "paper" : "own";
}

/* ---- values: each returns 0, or WH_ERR_INPUT ---- */

static int take_share(const char *text, double max, double *out)
{
    double v;

    if (units_parse_ratio(text, &v) || !(v > 0 && v <= max))
        return WH_ERR_INPUT;
    *out = v;
    return 0;
}

static int take_audit(const char *text, double *out)
{
    double v;

    if (units_parse_ratio(text, &v) || !(v >= 0 && v <= 1))
        return WH_ERR_INPUT;
    *out = v;
    return 0;
}

static int take_rule(const char *text, enum detect_rule *out)
{
    for (enum detect_rule r = DETECT_RULE_OWN; r <= DETECT_RULE_PAPER; r++)
        if (!strcmp(text, accel_rule_name(r))) {
            *out = r;
            return 0;
        }
    return WH_ERR_INPUT;
}

static int take_samples(const char *text, uint32_t *out)
{
    int inexact = 0;
    int64_t v;

    if (units_parse_decimal(text, 0, &v, &inexact) || inexact || v < 1 || v > PAPER_SAMPLES_MAX)
        return WH_ERR_INPUT;
    *out = (uint32_t)v;
    return 0;
}

static int take_window(const char *text, int64_t *out)
{
    int64_t v;

    if (units_parse_time(text, UNITS_NO_BARE, &v) || v <= 0 || v > WINDOW_PS_MAX)
        return WH_ERR_INPUT;
    *out = v;
    return 0;
}

static int take_kappa(const char *text, double *out)
{
    double v;

    if (!strcmp(text, "none")) {
        *out = INFINITY;
        return 0;
    }
    if (strchr(text, '%') || units_parse_ratio(text, &v) || !(v > 0))
        return WH_ERR_INPUT;
    *out = v;
    return 0;
}

const char *accel_lens_name(enum memo_lens lens)
{
    return lens == MEMO_FCG ? "fcg" : "exact";
}

static int take_memo(const char *text, struct accel_options *o)
{
    if (!strcmp(text, "off")) {
        o->memo = ACCEL_OFF;
        return 0;
    }
    for (enum memo_lens l = MEMO_EXACT; l <= MEMO_FCG; l++)
        if (!strcmp(text, accel_lens_name(l))) {
            o->memo = ACCEL_ON;
            o->lens = l;
            return 0;
        }
    return WH_ERR_INPUT;
}

static int take_size(const char *text, int64_t *out)
{
    int64_t v;

    if (units_parse_bytes(text, &v) || v < MEMO_BYTES_MIN || v > MEMO_BYTES_MAX)
        return WH_ERR_INPUT;
    *out = v;
    return 0;
}

static int take_path(const char *text, const char **out)
{
    if (!*text)
        return WH_ERR_INPUT;
    *out = text;
    return 0;
}

static int take_value(enum accel_row row, const char *value, struct accel_options *o)
{
    switch (row) {
    case ACCEL_BUDGET:
        return take_share(value, 0.5, &o->spec.error_budget);
    case ACCEL_RULE:
        return take_rule(value, &o->spec.rule);
    case ACCEL_THETA:
        return take_share(value, 1, &o->spec.theta);
    case ACCEL_SAMPLES:
        return take_samples(value, &o->spec.paper_samples);
    case ACCEL_WINDOW:
        return take_window(value, &o->spec.window_ps);
    case ACCEL_KAPPA:
        return take_kappa(value, &o->spec.kappa);
    case ACCEL_EPS:
        return take_share(value, 0.5, &o->spec.eps);
    case ACCEL_MEMO:
        return take_memo(value, o);
    case ACCEL_SIZE:
        return take_size(value, &o->memo_bytes_max);
    case ACCEL_FILE:
        return take_path(value, &o->memo_path);
    case ACCEL_AUDIT:
        return take_audit(value, &o->audit_share);
    case ACCEL_STEADY:
    case ACCEL_NO_STEADY:
        o->steady = row == ACCEL_STEADY ? ACCEL_ON : ACCEL_OFF;
        return 0;
    default:
        o->memo = ACCEL_OFF;
        return 0;
    }
}

int accel_parse(enum accel_row row, const char *value, struct accel_options *o, struct err_info *e)
{
    if (take_value(row, value, o))
        return err_set(e, WH_ERR_INPUT, NULL, 0, "%s: found '%s', expected %s", texts[row].name,
                       value, texts[row].expected);
    o->given |= UINT32_C(1) << row;
    return 0;
}

/* ---- combinations ---- */

#define BIT(row) (UINT32_C(1) << (row))
#define OWN_BITS (BIT(ACCEL_WINDOW) | BIT(ACCEL_KAPPA) | BIT(ACCEL_EPS))
#define PAPER_BITS (BIT(ACCEL_THETA) | BIT(ACCEL_SAMPLES))
#define STEADY_BITS (OWN_BITS | PAPER_BITS | BIT(ACCEL_BUDGET) | BIT(ACCEL_RULE) | BIT(ACCEL_AUDIT))
#define MEMO_BITS (BIT(ACCEL_SIZE) | BIT(ACCEL_FILE))

static int refuse_pair(const struct accel_options *o, uint32_t bits, const char *with,
                       struct err_info *e)
{
    for (enum accel_row row = 0; row < ACCEL_ROWS; row++)
        if (o->given & bits & BIT(row))
            return err_set(e, WH_ERR_INPUT, NULL, 0, "found %s %s, where it has no effect",
                           texts[row].name, with);
    return 0;
}

int accel_check(const struct accel_options *o, struct err_info *e)
{
    int rc = 0;

    if (o->spec.rule == DETECT_RULE_PAPER)
        rc = refuse_pair(o, OWN_BITS, "with --steady-rule paper", e);
    else
        rc = refuse_pair(o, PAPER_BITS, "without --steady-rule paper", e);
    if (!rc && o->steady == ACCEL_OFF && (o->given & BIT(ACCEL_NO_STEADY)))
        rc = refuse_pair(o, STEADY_BITS, "with --no-steady", e);
    if (!rc && o->memo == ACCEL_OFF && (o->given & (BIT(ACCEL_NO_MEMO) | BIT(ACCEL_MEMO))))
        rc = refuse_pair(o, MEMO_BITS, "without a memo", e);
    return rc;
}

static int is_on(enum accel_choice c, uint32_t asked, int by_input)
{
    if (c == ACCEL_ON || asked)
        return 1;
    return c == ACCEL_BY_INPUT && by_input;
}

int accel_is_asked(const struct accel_options *o)
{
    return o->steady == ACCEL_ON || o->memo == ACCEL_ON || (o->given & (STEADY_BITS | MEMO_BITS));
}

void accel_resolve(const struct accel_options *o, const struct scenario *sc, struct accel_spec *out)
{
    out->has_steady = (uint8_t)is_on(o->steady, o->given & STEADY_BITS, !sc->is_hpcc);
    out->has_memo = (uint8_t)is_on(o->memo, o->given & MEMO_BITS, !sc->is_hpcc);
    out->lens = o->lens;
    out->steady = o->spec;
    out->memo_path = o->memo_path;
    out->memo_bytes_max = (uint64_t)o->memo_bytes_max;
    out->audit_share = o->audit_share;
}
