/*
 * units.h - quantities with units: parsing, exact arithmetic, formatting.
 *
 * Times are int64_t picoseconds, rates int64_t bit/s, sizes int64_t bytes. Text is read as an exact
 * decimal, never through a binary float. Threading: pure.
 */
#ifndef WH_UNITS_H
#define WH_UNITS_H

#include "err.h"

#include <stdint.h>

#define PS_PER_NS INT64_C(1000)
#define PS_PER_US INT64_C(1000000)
#define PS_PER_MS INT64_C(1000000000)
#define PS_PER_S INT64_C(1000000000000)
#define TIME_NEVER INT64_MAX /* later than every event */

/*
 * units_parse_decimal - an unsigned or signed decimal ("12", "2.000000001", "1e-4") scaled by
 * 10^exp10. The result is exact; digits below the last kept place are rounded to nearest, *inexact
 * is set then.
 * @inexact: may be NULL
 * Returns: 0; WH_ERR_INPUT if @text is no number or holds trailing characters; WH_ERR_LIMIT if it
 * does not fit in int64_t.
 */
int units_parse_decimal(const char *text, int exp10, int64_t *out, int *inexact) WH_MUST_CHECK;

/* units_parse_time - "1us", "0.0005ms", "2s", "25ns", "500ps" -> ps. A bare number is an error
 * unless @bare_exp10 >= -12 is given: the power of ten of a second that a bare number means (0:
 * seconds). Pass UNITS_NO_BARE to require a unit ("0" is always accepted). fs, min, h, d and y are
 * read too. Here as for rates and sizes: no blank, not negative, rounded to the nearest whole
 * result. */
#define UNITS_NO_BARE (-99)
int units_parse_time(const char *text, int bare_exp10, int64_t *out_ps) WH_MUST_CHECK;

/* units_parse_rate - ns-3 data rate: number and unit without blank. bps b/s bit/s Bps B/s with k K
 * M G T (1000) or Ki Mi Gi (1024); b bits, B bytes. -> bit/s. A bare number is an error. */
int units_parse_rate(const char *text, int64_t *out_bps) WH_MUST_CHECK;

/* units_parse_bytes - "64KB", "4MB", "1GiB", "1000B": k/K M G T = 1000, Ki Mi Gi Ti = 1024. A bare
 * number is an error ("0" is accepted). */
int units_parse_bytes(const char *text, int64_t *out_bytes) WH_MUST_CHECK;

/* units_parse_ratio - "5%", "0.05" -> 0.05. */
int units_parse_ratio(const char *text, double *out) WH_MUST_CHECK;

/* Exact shortest text, e.g. "1.5us", "100Gbps", "4MB", for messages and resolved scenarios. All
 * results parse back to the same value. Return @buf. */
const char *units_format_time(int64_t ps, char *buf, size_t buf_bytes);
const char *units_format_rate(int64_t bps, char *buf, size_t buf_bytes);
const char *units_format_bytes(int64_t bytes, char *buf, size_t buf_bytes);

/*
 * units_tx_ps - time to serialise @bytes at @rate_bps, rounded to the nearest multiple of @round_ps
 * (1: exact where the rate allows, nearest ps otherwise; 1000: the reference simulator's clock).
 * @bytes: >= 0 and < 2^40; @rate_bps > 0.
 */
int64_t units_tx_ps(int64_t bytes, int64_t rate_bps, int64_t round_ps);

#endif
