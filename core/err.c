/*
 * err.c - error codes, the message of a refused input, and assertions: see err.h.
 *
 * A message holds text from the user's files, so control characters in it are replaced: a message
 * is always one line, and cannot drive a terminal.
 */
#include "err.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WARN_TEXT_BYTES 1024

const char *err_text(int code)
{
    switch (code) {
    case WH_OK:
        return "success";
#define ERR_CASE(name, value, text)                                                                \
    case name:                                                                                     \
        return text;
        WH_ERR_LIST(ERR_CASE)
#undef ERR_CASE
    default:
        return "unknown error";
    }
}

static void replace_control_chars(char *text)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;

        if (c < 0x20 || c == 0x7f)
            *text = '?';
    }
}

static void set_place(struct err_info *e, const char *file, long line)
{
    snprintf(e->file, sizeof e->file, "%s", file ? file : "");
    replace_control_chars(e->file);
    e->line = line;
}

int err_input(struct err_info *e, const char *file, long line, const char *found,
              const char *expected)
{
    return err_set(e, WH_ERR_INPUT, file, line, "found %s, expected %s", found, expected);
}

int err_set(struct err_info *e, int code, const char *file, long line, const char *fmt, ...)
{
    va_list args;

    if (!e)
        return code;
    set_place(e, file, line);
    va_start(args, fmt);
    vsnprintf(e->text, sizeof e->text, fmt, args);
    va_end(args);
    replace_control_chars(e->text);
    return code;
}

const char *err_format(const struct err_info *e, char *buf, size_t buf_bytes)
{
    if (e->file[0] && e->line > 0)
        snprintf(buf, buf_bytes, "%s:%ld: %s", e->file, e->line, e->text);
    else if (e->file[0])
        snprintf(buf, buf_bytes, "%s: %s", e->file, e->text);
    else if (e->line > 0)
        snprintf(buf, buf_bytes, "line %ld: %s", e->line, e->text);
    else
        snprintf(buf, buf_bytes, "%s", e->text);
    return buf;
}

void warn(const struct warn_sink *sink, const char *fmt, ...)
{
    char text[WARN_TEXT_BYTES];
    va_list args;

    if (!sink || !sink->fn)
        return;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    replace_control_chars(text);
    sink->fn(sink->ctx, text);
}

void err_check_failed(const char *file, int line, const char *cond, const char *fmt, ...)
{
    va_list args;

    fprintf(stderr, "%s:%d: check failed: %s: ", file, line, cond);
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fputc('\n', stderr);
    abort();
}
