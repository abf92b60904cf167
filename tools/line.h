/*
 * line.h - builds one line of a file of millions: what printf would write, without parsing a format
 * for each.
 */
#ifndef WH_LINE_H
#define WH_LINE_H

#include "out_file.h"
#include "units.h"

#define LINE_BYTES_MAX 512u
#define LINE_NUMBER_BYTES_MAX 24u

struct line {
    uint32_t count;
    char text[LINE_BYTES_MAX];
};

static inline void line_char(struct line *l, char c)
{
    l->text[l->count++] = c;
}

static inline void line_text(struct line *l, const char *text)
{
    while (*text)
        line_char(l, *text++);
}

/* @value in @base, with leading zeros up to @digits. */
static inline void line_digits(struct line *l, uint64_t value, uint32_t base, uint32_t digits)
{
    char buf[LINE_NUMBER_BYTES_MAX];
    uint32_t n = 0;

    check(l->count + LINE_NUMBER_BYTES_MAX < LINE_BYTES_MAX, "a line of more than %u bytes",
          LINE_BYTES_MAX);
    do {
        buf[n++] = "0123456789abcdef"[value % base];
        value /= base;
    } while (value || n < digits);
    while (n)
        line_char(l, buf[--n]);
}

/* %u, %d */
static inline void line_integer(struct line *l, int64_t value)
{
    if (value < 0)
        line_char(l, '-');
    line_digits(l, value < 0 ? 0 - (uint64_t)value : (uint64_t)value, 10, 1);
}

/* A time >= 0 in ns, without trailing zeros: "12.5". */
static inline void line_ns(struct line *l, int64_t ps)
{
    check(ps >= 0, "a time of %lld ps", (long long)ps);
    line_digits(l, (uint64_t)(ps / PS_PER_NS), 10, 1);
    if (ps % PS_PER_NS == 0)
        return;
    line_char(l, '.');
    line_digits(l, (uint64_t)(ps % PS_PER_NS), 10, 3);
    while (l->text[l->count - 1] == '0')
        l->count--;
}

/* Ends the line and writes it. */
static inline void line_put(struct line *l, struct out_file *o)
{
    line_char(l, '\n');
    out_text(o, l->text, l->count);
    l->count = 0;
}

#endif
