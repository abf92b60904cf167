/*
 * measure.c - see measure.h.
 */
#include "measure.h"

#include "version.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define REPETITIONS_DEFAULT 5u
#define REPETITIONS_MAX 1000u

static int parse_count(const char *text, uint32_t *out)
{
    char *end;
    const unsigned long n = strtoul(text, &end, 10);

    if (*end || end == text || n < 1 || n > REPETITIONS_MAX) {
        fprintf(stderr, "--repetitions: found '%s', expected 1 to %u\n", text, REPETITIONS_MAX);
        return WH_ERR_INPUT;
    }
    *out = (uint32_t)n;
    return 0;
}

int measure_parse(struct measure_options *o, int *argc, char **argv)
{
    int left = 1;

    *o = (struct measure_options){.repetitions = REPETITIONS_DEFAULT};
    for (int i = 1; i < *argc; i++) {
        const int takes_value = !strcmp(argv[i], "--repetitions") || !strcmp(argv[i], "--only");

        if (takes_value && i + 1 == *argc) {
            fprintf(stderr, "%s: found nothing, expected a value\n", argv[i]);
            return WH_ERR_INPUT;
        }
        if (!strcmp(argv[i], "--json")) {
            o->json = 1;
        } else if (!strcmp(argv[i], "--quick")) {
            o->quick = 1;
        } else if (!strcmp(argv[i], "--only")) {
            o->only = argv[++i];
        } else if (!strcmp(argv[i], "--repetitions")) {
            if (parse_count(argv[++i], &o->repetitions))
                return WH_ERR_INPUT;
        } else {
            argv[left++] = argv[i];
        }
    }
    *argc = left;
    return 0;
}

int measure_unknown(const char *arg, const char *usage)
{
    fprintf(stderr, "found '%s'\nusage: %s [--quick] [--json] [--repetitions N] [--only TEXT]\n",
            arg, usage);
    return 2;
}

double measure_cpu_s(void)
{
    struct timespec t;

    check(!clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t), "no CPU clock");
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

uint64_t measure_rss_bytes(void)
{
    FILE *f = fopen("/proc/self/statm", "r");
    uint64_t total, resident = 0;

    if (!f)
        return 0;
    if (fscanf(f, "%" SCNu64 " %" SCNu64, &total, &resident) != 2)
        resident = 0;
    (void)fclose(f);
    return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

uint64_t measure_peak_rss_bytes(void)
{
    struct rusage u;

    (void)getrusage(RUSAGE_SELF, &u);
    return (uint64_t)u.ru_maxrss * 1024;
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

struct spread measure_spread(double *values, uint32_t count)
{
    check(count > 0, "a spread of nothing");
    qsort(values, count, sizeof *values, compare_doubles);
    return (struct spread){.median = (values[(count - 1) / 2] + values[count / 2]) / 2,
                           .min = values[0],
                           .max = values[count - 1]};
}

int measure_is_wanted(const struct measure_options *o, const char *name)
{
    return !o->only || strstr(name, o->only);
}

/* ---- output ---- */

void report_begin(struct report *r, const char *bench, const struct measure_options *o)
{
    memset(r, 0, sizeof *r);
    r->o = o;
    r->bench = bench;
    if (o->json)
        printf("{\"bench\": \"%s\", \"version\": \"%s\", \"compiler\": \"%s\", \"quick\": %s, "
               "\"repetitions\": %" PRIu32 ",\n \"rows\": [",
               bench, WH_VERSION, __VERSION__, o->quick ? "true" : "false", o->repetitions);
}

static void add_cell(struct report *r, const char *key, int is_text)
{
    check(r->cell_count < MEASURE_CELLS_MAX, "%u cells in a row", r->cell_count);
    r->cell[r->cell_count].key = key;
    r->cell[r->cell_count++].is_text = is_text;
}

void report_text(struct report *r, const char *key, const char *text)
{
    snprintf(r->cell[r->cell_count].text, sizeof r->cell->text, "%s", text);
    add_cell(r, key, 1);
}

void report_number(struct report *r, const char *key, double value)
{
    /* whole numbers whole, others with enough digits to compare */
    if (value == (double)(int64_t)value)
        snprintf(r->cell[r->cell_count].text, sizeof r->cell->text, "%" PRId64, (int64_t)value);
    else
        snprintf(r->cell[r->cell_count].text, sizeof r->cell->text, "%.5g", value);
    add_cell(r, key, 0);
}

void report_spread(struct report *r, const char *key, const char *min_key, const char *max_key,
                   const struct spread *s)
{
    report_number(r, key, s->median);
    report_number(r, min_key, s->min);
    report_number(r, max_key, s->max);
}

/* The first column is as wide as names are; others as their key, or as a number may be. */
static int cell_width(const struct report *r, uint32_t i)
{
    const int key = (int)strlen(r->cell[i].key), least = i == 0 ? -36 : 10;

    return i == 0 ? least : key > least ? key : least;
}

static void print_table_row(const struct report *r)
{
    if (!r->row_count) {
        for (uint32_t i = 0; i < r->cell_count; i++)
            printf("%*s%s", cell_width(r, i), r->cell[i].key, i + 1 < r->cell_count ? "  " : "\n");
    }
    for (uint32_t i = 0; i < r->cell_count; i++)
        printf("%*s%s", cell_width(r, i), r->cell[i].text, i + 1 < r->cell_count ? "  " : "\n");
}

static void print_json_row(const struct report *r)
{
    printf("%s\n  {", r->row_count ? "," : "");
    for (uint32_t i = 0; i < r->cell_count; i++) {
        const char *quote = r->cell[i].is_text ? "\"" : "";

        printf("%s\"%s\": %s%s%s", i ? ", " : "", r->cell[i].key, quote, r->cell[i].text, quote);
    }
    printf("}");
}

void report_row(struct report *r)
{
    if (r->o->json)
        print_json_row(r);
    else
        print_table_row(r);
    r->row_count++;
    r->cell_count = 0;
    (void)fflush(stdout);
}

void report_end(struct report *r)
{
    if (r->o->json)
        printf("\n ],\n \"peak_rss_bytes\": %" PRIu64 "}\n", measure_peak_rss_bytes());
}
