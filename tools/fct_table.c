/*
 * fct_table.c - see fct_table.h.
 */
#include "fct_table.h"

#include "output_fct.h"
#include "units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FIELDS_MAX 16
#define CSV_FIELDS 14
#define TXT_FIELDS 8

/* One line being read: where it is, for messages, and its fields. */
struct line {
    const char *path;
    long number;
    char *field[FIELDS_MAX];
    uint32_t field_count;
};

static int refuse(const struct line *l, struct err_info *e, const char *what, const char *found,
                  const char *expected)
{
    return err_set(e, WH_ERR_INPUT, l->path, l->number, "%s: found '%.60s', expected %s", what,
                   found, expected);
}

static int read_integer(const struct line *l, uint32_t at, const char *what, int64_t hi,
                        int64_t *out, struct err_info *e)
{
    int inexact = 0;

    if (units_parse_decimal(l->field[at], 0, out, &inexact) || inexact || *out < 0 || *out > hi)
        return refuse(l, e, what, l->field[at], "a whole number in range");
    return 0;
}

/* ns with up to three decimals. */
static int read_ns(const struct line *l, uint32_t at, const char *what, int64_t *out_ps,
                   struct err_info *e)
{
    int inexact = 0;

    if (units_parse_decimal(l->field[at], 3, out_ps, &inexact) || inexact || *out_ps < 0)
        return refuse(l, e, what, l->field[at], "a time in ns");
    return 0;
}

/* "0b000401" (address of a node) or a decimal node id. */
static int read_node(const struct line *l, uint32_t at, const char *what, uint32_t *out,
                     struct err_info *e)
{
    const char *text = l->field[at];
    char *end;
    int64_t id;

    if (strlen(text) == 8 && !strncmp(text, "0b", 2)) {
        const unsigned long ip = strtoul(text, &end, 16);

        if (*end)
            return refuse(l, e, what, text, "an address of 8 hexadecimal digits");
        *out = (uint32_t)(ip >> 8) & 0xffff;
        return 0;
    }
    if (read_integer(l, at, what, UINT32_MAX, &id, e))
        return WH_ERR_INPUT;
    *out = (uint32_t)id;
    return 0;
}

static int read_port(const struct line *l, uint32_t at, const char *what, uint32_t *out,
                     struct err_info *e)
{
    int64_t v;
    const int rc = read_integer(l, at, what, UINT16_MAX, &v, e);

    if (!rc)
        *out = (uint32_t)v;
    return rc;
}

/* Columns from @first: src dst sport dport. */
static int read_ends(const struct line *l, uint32_t first, struct fct_row *row, struct err_info *e)
{
    int rc = read_node(l, first, "source", &row->src, e);

    if (!rc)
        rc = read_node(l, first + 1, "destination", &row->dst, e);
    if (!rc)
        rc = read_port(l, first + 2, "source port", &row->sport, e);
    if (!rc)
        rc = read_port(l, first + 3, "destination port", &row->dport, e);
    return rc;
}

static int read_txt_row(const struct line *l, struct fct_row *row, struct err_info *e)
{
    int rc;

    if (l->field_count != TXT_FIELDS)
        return err_set(e, WH_ERR_INPUT, l->path, l->number, "found %u columns, expected %d",
                       l->field_count, TXT_FIELDS);
    rc = read_ends(l, 0, row, e);
    if (!rc)
        rc = read_integer(l, 4, "bytes", INT64_MAX, &row->bytes, e);
    if (!rc)
        rc = read_integer(l, 5, "start", INT64_MAX, &row->start_ns, e);
    if (!rc)
        rc = read_ns(l, 6, "FCT", &row->fct_ps, e);
    return rc;
}

static int read_csv_row(const struct line *l, struct fct_row *row, struct err_info *e)
{
    int64_t start_ps;
    int rc;

    if (l->field_count != CSV_FIELDS)
        return err_set(e, WH_ERR_INPUT, l->path, l->number, "found %u columns, expected %d",
                       l->field_count, CSV_FIELDS);
    rc = read_ends(l, 1, row, e);
    if (!rc)
        rc = read_integer(l, 6, "bytes", INT64_MAX, &row->bytes, e);
    if (!rc)
        rc = read_ns(l, 7, "start_ns", &start_ps, e);
    if (rc)
        return rc;
    row->start_ns = (start_ps + PS_PER_NS / 2) / PS_PER_NS;
    row->fct_ps = -1;
    return l->field[8][0] ? read_ns(l, 8, "fct_ns", &row->fct_ps, e) : 0;
}

/* Cuts @text in place. Blanks: runs separate; commas: each separates, so that fields may be empty.
 */
static void cut_fields(char *text, int is_csv, struct line *l)
{
    char *rest = text, *field;

    text[strcspn(text, "\r\n")] = '\0';
    l->field_count = 0;
    while ((field = strsep(&rest, is_csv ? "," : " \t"))) {
        if (!is_csv && !*field)
            continue;
        if (l->field_count < FIELDS_MAX)
            l->field[l->field_count] = field;
        l->field_count++;
    }
    if (l->field_count > FIELDS_MAX) /* more than any format has: refused by its count */
        l->field_count = FIELDS_MAX;
}

int fct_table_append(struct fct_table *t, const struct fct_row *row)
{
    if (t->count == t->cap) {
        const uint64_t cap = t->cap ? 2 * t->cap : 1024;
        struct fct_row *rows = realloc(t->rows, cap * sizeof *rows);

        if (!rows)
            return WH_ERR_NOMEM;
        t->rows = rows;
        t->cap = cap;
    }
    t->rows[t->count] = *row;
    t->rows[t->count].order = t->count;
    t->count++;
    return 0;
}

static int read_line(char *text, int is_csv, struct line *l, struct fct_table *t,
                     struct err_info *e)
{
    struct fct_row row = {0};
    int rc;

    cut_fields(text, is_csv, l);
    if (l->field_count == 0 || (l->field_count == 1 && !l->field[0][0]))
        return 0;
    rc = is_csv ? read_csv_row(l, &row, e) : read_txt_row(l, &row, e);
    return rc ? rc : fct_table_append(t, &row);
}

/* A first line that starts like our header makes it a CSV; all its columns must be ours then. */
static int detect_csv(const struct line *l, const char *text, int *is_csv, struct err_info *e)
{
    const size_t length = strcspn(text, "\r\n");

    *is_csv = memchr(text, ',', length) != NULL;
    if (*is_csv && (length != strlen(FCT_CSV_HEADER) || strncmp(text, FCT_CSV_HEADER, length)))
        return err_set(e, WH_ERR_INPUT, l->path, l->number, "found header '%.*s', expected '%s'",
                       (int)(length < 200 ? length : 200), text, FCT_CSV_HEADER);
    return 0;
}

static int read_lines(FILE *f, struct fct_table *t, struct err_info *e)
{
    struct line l = {.path = t->path};
    char *text = NULL;
    size_t cap = 0;
    int is_csv = 0, rc = 0;

    while (!rc && getline(&text, &cap, f) >= 0) {
        l.number++;
        if (l.number == 1)
            rc = detect_csv(&l, text, &is_csv, e);
        if (!rc && !(is_csv && l.number == 1))
            rc = read_line(text, is_csv, &l, t, e);
    }
    free(text);
    if (!rc && ferror(f))
        rc = err_set(e, WH_ERR_INPUT, t->path, 0, "cannot read: %s", strerror(errno));
    return rc;
}

/* Names the file in t->path. */
static int find_file(const char *path, struct fct_table *t, struct err_info *e)
{
    struct stat st;

    if (strlen(path) + sizeof "/fct.csv" > sizeof t->path)
        return err_set(e, WH_ERR_INPUT, path, 0, "the path is too long");
    (void)snprintf(t->path, sizeof t->path, "%s", path);
    if (stat(path, &st))
        return err_set(e, WH_ERR_INPUT, path, 0, "cannot open: %s", strerror(errno));
    if (!S_ISDIR(st.st_mode))
        return 0;
    (void)snprintf(t->path, sizeof t->path, "%s/fct.csv", path);
    if (!stat(t->path, &st))
        return 0;
    (void)snprintf(t->path, sizeof t->path, "%s/fct.txt", path);
    if (!stat(t->path, &st))
        return 0;
    return err_set(e, WH_ERR_INPUT, path, 0,
                   "found neither fct.csv nor fct.txt, expected a run "
                   "folder");
}

int fct_table_read(const char *path, struct fct_table *t, struct err_info *e)
{
    FILE *f;
    int rc = find_file(path, t, e);

    if (rc)
        return rc;
    f = fopen(t->path, "r");
    if (!f)
        return err_set(e, WH_ERR_INPUT, t->path, 0, "cannot open: %s", strerror(errno));
    rc = read_lines(f, t, e);
    (void)fclose(f);
    return rc;
}

void fct_table_fini(struct fct_table *t)
{
    free(t->rows);
    *t = (struct fct_table){.rows = NULL};
}

static int compare_orders(const void *a, const void *b)
{
    const struct fct_row *x = a, *y = b;

    return (x->order > y->order) - (x->order < y->order);
}

void fct_table_restore(struct fct_table *t)
{
    if (t->count)
        qsort(t->rows, t->count, sizeof *t->rows, compare_orders);
}
