/*
 * measure.h - what the benchmarks share: options, clocks, spread of repetitions, tables and JSON.
 *
 * Time is CPU time of the process. A figure is the median of the repetitions, with the smallest and
 * the largest beside it. A program prints rows of cells: as a table, or with --json as one object.
 * Threading: one thread.
 */
#ifndef WH_MEASURE_H
#define WH_MEASURE_H

#include "err.h"

#include <stdint.h>

#define MEASURE_CELLS_MAX 32

struct measure_options {
    int json, quick;
    uint32_t repetitions;
    const char *only; /* rows whose name holds this; NULL: all */
};

/*
 * measure_parse - takes --json, --quick, --repetitions N and --only TEXT out of @argv.
 * @argc: in and out; what is left is the program's own
 * Returns: 0 or WH_ERR_INPUT, having said what is wrong.
 */
int measure_parse(struct measure_options *o, int *argc, char **argv) WH_MUST_CHECK;

/* measure_unknown - says that @arg is not understood. Returns the exit code 2. */
int measure_unknown(const char *arg, const char *usage);

double measure_cpu_s(void); /* user and system time of the process so far */

/* Resident memory of the process [B]. */
uint64_t measure_rss_bytes(void);
uint64_t measure_peak_rss_bytes(void);

struct spread {
    double median, min, max;
};

/* measure_spread - sorts @values. @count > 0. */
struct spread measure_spread(double *values, uint32_t count);

/* One table or JSON object on standard output. */
struct report {
    const struct measure_options *o;
    const char *bench;
    struct {
        const char *key;
        char text[48];
        int is_text;
    } cell[MEASURE_CELLS_MAX];
    uint32_t cell_count, row_count;
};
void report_begin(struct report *r, const char *bench, const struct measure_options *o);
void report_text(struct report *r, const char *key, const char *text);
void report_number(struct report *r, const char *key, double value);
/* The median as @key, the smallest and the largest as @min_key and @max_key. */
void report_spread(struct report *r, const char *key, const char *min_key, const char *max_key,
                   const struct spread *s);
void report_row(struct report *r); /* ends a row; keys have to be the same in each */
void report_end(struct report *r);

/* measure_is_wanted - does @name pass --only? */
int measure_is_wanted(const struct measure_options *o, const char *name);

#endif
