/*
 * textfile.c - see textfile.h.
 *
 * Tokens are ended by overwriting the separator behind them; the buffer has one byte more than the
 * file, so that a last line without its end is no special case.
 */
#include "textfile.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define READ_BYTES_FIRST ((size_t)64 << 10)
#define DISTANCE_BYTES_MAX 63 /* of a word that is compared */
#define TOKEN_SHOWN_MAX 48    /* bytes of a token that a message shows */

static int is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

static void set_name(struct textfile *t, const char *name)
{
    memset(t, 0, sizeof *t);
    strncpy(t->path, name, sizeof t->path - 1);
    t->line_next = 1;
}

/* Doubles the buffer, keeping one byte for the end mark. */
static int grow_data(struct textfile *t, size_t *cap)
{
    size_t want = *cap ? 2 * *cap : READ_BYTES_FIRST;
    char *data = realloc(t->data, want + 1);

    if (!data)
        return WH_ERR_NOMEM;
    t->data = data;
    *cap = want;
    return 0;
}

static int read_all(struct textfile *t, FILE *f, struct err_info *e)
{
    size_t cap = 0;

    for (;;) {
        if (t->data_bytes == cap && grow_data(t, &cap))
            return err_set(e, WH_ERR_NOMEM, t->path, 0, "out of memory while reading");
        size_t got = fread(t->data + t->data_bytes, 1, cap - t->data_bytes, f);

        t->data_bytes += got;
        if (t->data_bytes > TEXTFILE_BYTES_MAX)
            return err_set(e, WH_ERR_LIMIT, t->path, 0, "found more than 4 GiB, expected less");
        if (ferror(f))
            return err_set(e, WH_ERR_IO, t->path, 0, "cannot be read: %s", strerror(errno));
        if (feof(f))
            break;
    }
    t->data[t->data_bytes] = '\0';
    return 0;
}

/* A text has no zero bytes; one would end a token early. */
static int check_text(const struct textfile *t, struct err_info *e)
{
    const char *zero = memchr(t->data, '\0', t->data_bytes);
    long line = 1;

    if (!zero)
        return 0;
    for (const char *p = t->data; p < zero; p++)
        line += *p == '\n';
    return err_input(e, t->path, line, "a zero byte", "text");
}

int textfile_open(struct textfile *t, const char *path, struct err_info *e)
{
    set_name(t, path);
    FILE *f = fopen(path, "rb");

    if (!f)
        return err_set(e, WH_ERR_INPUT, path, 0, "cannot be opened: %s", strerror(errno));
    int rc = read_all(t, f, e);

    fclose(f);
    return rc ? rc : check_text(t, e);
}

int textfile_open_text(struct textfile *t, const char *name, const char *text)
{
    set_name(t, name);
    t->is_inline = 1;
    t->data_bytes = strlen(text);
    t->data = malloc(t->data_bytes + 1);
    if (!t->data)
        return WH_ERR_NOMEM;
    memcpy(t->data, text, t->data_bytes + 1);
    return 0;
}

void textfile_close(struct textfile *t)
{
    free(t->data);
    free(t->token);
    t->data = NULL;
    t->token = NULL;
}

static int add_token(struct textfile *t, char *token)
{
    if (t->token_count == t->token_cap) {
        uint32_t cap = t->token_cap ? 2 * t->token_cap : 16;
        char **grown = cap > t->token_cap ? realloc(t->token, cap * sizeof *grown) : NULL;

        if (!grown)
            return WH_ERR_NOMEM;
        t->token = grown;
        t->token_cap = cap;
    }
    t->token[t->token_count++] = token;
    return 0;
}

/* Cuts [p, end) into tokens; end may be overwritten. */
static int cut_line(struct textfile *t, char *p, char *end)
{
    t->token_count = 0;
    t->token_next = 0;
    while (p < end) {
        while (p < end && is_blank(*p))
            p++;
        if (p == end)
            break;
        char *start = p;

        while (p < end && !is_blank(*p))
            p++;
        *p = '\0';
        if (add_token(t, start))
            return WH_ERR_NOMEM;
        p++;
    }
    return 0;
}

int textfile_next_line(struct textfile *t)
{
    t->token_count = 0;
    t->token_next = 0;
    while (t->pos < t->data_bytes) {
        char *start = t->data + t->pos;
        char *end = memchr(start, '\n', t->data_bytes - t->pos);

        if (!end)
            end = t->data + t->data_bytes;
        t->pos = (size_t)(end - t->data) + 1;
        long line = t->line_next++;

        if (cut_line(t, start, end))
            return WH_ERR_NOMEM;
        if (t->token_count) {
            t->line = t->is_inline ? 0 : line;
            return 1;
        }
    }
    return 0;
}

int textfile_next_token(struct textfile *t, char **out)
{
    if (t->token_next >= t->token_count) {
        int rc = textfile_next_line(t);

        if (rc <= 0)
            return rc;
    }
    *out = t->token[t->token_next++];
    return 1;
}

uint32_t textfile_lines_left(const struct textfile *t)
{
    uint32_t count = 0;
    int has_token = 0;

    for (size_t i = t->pos; i < t->data_bytes; i++) {
        if (t->data[i] == '\n') {
            count += (uint32_t)has_token;
            has_token = 0;
        } else if (!is_blank(t->data[i])) {
            has_token = 1;
        }
    }
    return count + (uint32_t)has_token;
}

/* A token as a message can show it: one line, bounded. */
static void show_token(const char *token, char *buf, size_t buf_bytes)
{
    size_t n = 0;

    while (token[n] && n < TOKEN_SHOWN_MAX && n + 4 < buf_bytes) {
        unsigned char c = (unsigned char)token[n];

        buf[n] = (char)(c < 0x20 || c >= 0x7f ? '?' : c);
        n++;
    }
    if (token[n]) {
        memcpy(buf + n, "...", 3);
        n += 3;
    }
    buf[n] = '\0';
}

int textfile_refuse(const struct textfile *t, struct err_info *e, const char *what,
                    const char *token, const char *expected)
{
    char shown[TOKEN_SHOWN_MAX + 8], found[160];

    show_token(token, shown, sizeof shown);
    snprintf(found, sizeof found, "%.64s \"%s\"", what, shown);
    return err_input(e, t->path, t->line, found, expected);
}

int textfile_refuse_count(const struct textfile *t, struct err_info *e, uint64_t count,
                          const char *what, const char *expected)
{
    char found[160];

    snprintf(found, sizeof found, "%llu %.120s", (unsigned long long)count, what);
    return err_input(e, t->path, t->line, found, expected);
}

int text_uint(const char *token, uint64_t max, uint64_t *out)
{
    uint64_t value = 0;

    if (!*token)
        return WH_ERR_INPUT;
    for (const char *p = token; *p; p++) {
        if (*p < '0' || *p > '9')
            return WH_ERR_INPUT;
        uint64_t digit = (uint64_t)(*p - '0');

        if (value > (UINT64_MAX - digit) / 10)
            return WH_ERR_INPUT;
        value = 10 * value + digit;
    }
    if (value > max)
        return WH_ERR_INPUT;
    *out = value;
    return 0;
}

int text_real(const char *token, double *out)
{
    char *end;

    /* Decimal only: strtod would also take hexadecimal, infinities and leading blanks. */
    if (!*token || token[strspn(token, "0123456789.eE+-")])
        return WH_ERR_INPUT;
    double value = strtod(token, &end);

    if (end == token || *end || !isfinite(value))
        return WH_ERR_INPUT;
    *out = value;
    return 0;
}

uint32_t text_distance(const char *a, const char *b)
{
    uint32_t row[DISTANCE_BYTES_MAX + 1];
    uint32_t a_chars = (uint32_t)strlen(a);
    uint32_t b_chars = (uint32_t)strlen(b);

    a_chars = a_chars < DISTANCE_BYTES_MAX ? a_chars : DISTANCE_BYTES_MAX;
    b_chars = b_chars < DISTANCE_BYTES_MAX ? b_chars : DISTANCE_BYTES_MAX;

    for (uint32_t j = 0; j <= b_chars; j++)
        row[j] = j;
    for (uint32_t i = 0; i < a_chars; i++) {
        uint32_t diagonal = row[0]; /* distance without both last characters */

        row[0] = i + 1;
        for (uint32_t j = 0; j < b_chars; j++) {
            int differ = toupper((unsigned char)a[i]) != toupper((unsigned char)b[j]);
            uint32_t best = diagonal + (uint32_t)differ;

            diagonal = row[j + 1];
            if (diagonal + 1 < best)
                best = diagonal + 1;
            if (row[j] + 1 < best)
                best = row[j] + 1;
            row[j + 1] = best;
        }
    }
    return row[b_chars];
}

const char *text_nearest(const char *word, const char *const *list)
{
    const char *nearest = list[0];

    for (size_t i = 1; list[i]; i++)
        if (text_distance(word, list[i]) < text_distance(word, nearest))
            nearest = list[i];
    return nearest;
}
