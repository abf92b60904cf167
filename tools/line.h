/*
 * line.h - builds the lines of a file of millions: what printf would write, without parsing a
 * format for each. Lines are handed on in blocks.
 */
#ifndef WH_LINE_H
#define WH_LINE_H

#include "out_file.h"
#include "units.h"

#include <string.h>

#define LINE_BYTES_MAX 512u
#define LINE_NUMBER_BYTES_MAX 24u
#define LINE_BLOCK_BYTES 65536u

/* What has been built and not yet handed on: whole lines, and the one being built. */
struct line {
    uint32_t count;
    uint32_t begin; /* of the line being built */
    char text[LINE_BLOCK_BYTES];
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

/* Takes the last @count bytes of @buf. */
static inline void line_take(struct line *l, const char buf[LINE_NUMBER_BYTES_MAX], uint32_t count)
{
    check(l->count - l->begin + LINE_NUMBER_BYTES_MAX < LINE_BYTES_MAX,
          "a line of more than %u bytes", LINE_BYTES_MAX);
    memcpy(&l->text[l->count], &buf[LINE_NUMBER_BYTES_MAX - count], count);
    l->count += count;
}

/* @value, with leading zeros up to @digits: two digits at a time. */
static inline void line_decimal(struct line *l, uint64_t value, uint32_t digits)
{
    static const char pair[] = "00010203040506070809101112131415161718192021222324"
                               "25262728293031323334353637383940414243444546474849"
                               "50515253545556575859606162636465666768697071727374"
                               "75767778798081828384858687888990919293949596979899";
    char buf[LINE_NUMBER_BYTES_MAX];
    uint32_t at = LINE_NUMBER_BYTES_MAX;

    for (; value >= 10; value /= 100)
        memcpy(&buf[at -= 2], &pair[2 * (value % 100)], 2);
    if (value || at == LINE_NUMBER_BYTES_MAX)
        buf[--at] = (char)('0' + value);
    while (LINE_NUMBER_BYTES_MAX - at < digits)
        buf[--at] = '0';
    line_take(l, buf, LINE_NUMBER_BYTES_MAX - at);
}

/* @value in hexadecimal, of as many @digits. */
static inline void line_hex(struct line *l, uint64_t value, uint32_t digits)
{
    char buf[LINE_NUMBER_BYTES_MAX];

    for (uint32_t i = 1; i <= digits; i++, value >>= 4)
        buf[LINE_NUMBER_BYTES_MAX - i] = "0123456789abcdef"[value & 15];
    line_take(l, buf, digits);
}

/* %u, %d */
static inline void line_integer(struct line *l, int64_t value)
{
    if (value < 0)
        line_char(l, '-');
    line_decimal(l, value < 0 ? 0 - (uint64_t)value : (uint64_t)value, 1);
}

/* A time >= 0 in ns, without trailing zeros: "12.5". */
static inline void line_ns(struct line *l, int64_t ps)
{
    check(ps >= 0, "a time of %lld ps", (long long)ps);
    line_decimal(l, (uint64_t)(ps / PS_PER_NS), 1);
    if (ps % PS_PER_NS == 0)
        return;
    line_char(l, '.');
    line_decimal(l, (uint64_t)(ps % PS_PER_NS), 3);
    while (l->text[l->count - 1] == '0')
        l->count--;
}

/* Hands on what is there. */
static inline void line_flush(struct line *l, struct out_file *o)
{
    out_text(o, l->text, l->count);
    l->count = l->begin = 0;
}

/* Ends the line; the file has it after line_flush. */
static inline void line_end(struct line *l, struct out_file *o)
{
    line_char(l, '\n');
    l->begin = l->count;
    if (l->count > LINE_BLOCK_BYTES - LINE_BYTES_MAX)
        line_flush(l, o);
}

#endif
