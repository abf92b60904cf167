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

/* Room for a number of so many digits, to be filled from its end. */
static inline char *line_room(struct line *l, uint32_t digits)
{
    check(l->count - l->begin + digits + LINE_NUMBER_BYTES_MAX < LINE_BYTES_MAX,
          "a line of more than %u bytes", LINE_BYTES_MAX);
    l->count += digits;
    return &l->text[l->count];
}

static inline uint32_t line_digits_of(uint64_t value)
{
    uint32_t digits = 1;

    for (; value >= 10000; value /= 10000)
        digits += 4;
    return digits + (value >= 10) + (value >= 100) + (value >= 1000);
}

/* @value, with leading zeros up to @digits: two digits at a time. */
static inline void line_decimal(struct line *l, uint64_t value, uint32_t digits)
{
    static const char pair[] = "00010203040506070809101112131415161718192021222324"
                               "25262728293031323334353637383940414243444546474849"
                               "50515253545556575859606162636465666768697071727374"
                               "75767778798081828384858687888990919293949596979899";
    const uint32_t own = line_digits_of(value);
    uint32_t left = own < digits ? digits : own;
    char *at = line_room(l, left);

    for (; left >= 2; left -= 2, value /= 100)
        memcpy(at -= 2, &pair[2 * (value % 100)], 2);
    if (left)
        at[-1] = (char)('0' + value);
}

/* @value in hexadecimal, of as many @digits. */
static inline void line_hex(struct line *l, uint64_t value, uint32_t digits)
{
    char *at = line_room(l, digits);

    for (; digits; digits--, value >>= 4)
        *--at = "0123456789abcdef"[value & 15];
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
