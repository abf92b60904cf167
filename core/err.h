/*
 * err.h - error codes, the message of a refused input, and assertions.
 *
 * Three kinds of error, three answers: our own bug aborts in check(); bad input and missing
 * resources return a negative enum wh_err and describe themselves in a struct err_info; the
 * per-event path cannot fail. Nothing here writes to the terminal except check(), and nothing
 * exits. Threading: pure functions on caller-owned data.
 */
#ifndef WH_ERR_H
#define WH_ERR_H

#include <stddef.h>

/* One list: name, value, text. */
#define WH_ERR_LIST(X)                                                                             \
    X(WH_ERR_INPUT, -1, "invalid input")                                                           \
    X(WH_ERR_NOMEM, -2, "out of memory")                                                           \
    X(WH_ERR_IO, -3, "input/output error")                                                         \
    X(WH_ERR_STATE, -4, "call not allowed in this state")                                          \
    X(WH_ERR_LIMIT, -5, "a limit was exceeded")                                                    \
    X(WH_ERR_NOPATH, -6, "no path between two hosts")                                              \
    X(WH_ERR_INTERRUPTED, -7, "interrupted")

enum wh_err {
    WH_OK = 0,
#define WH_ERR_ENUM(name, value, text) name = (value),
    WH_ERR_LIST(WH_ERR_ENUM)
#undef WH_ERR_ENUM
};

#define WH_MUST_CHECK __attribute__((warn_unused_result))
#define WH_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

/* Where and why an input was refused. Owned by the caller; zero-initialise. */
struct err_info {
    char file[512]; /* as the user named it; "" if no file is concerned */
    long line;      /* 1-based; 0 = the file as a whole */
    char text[768]; /* "found X, expected Y" or another single sentence, no line break */
};

/* err_text - static English text of a code; "success" for 0. */
const char *err_text(int code);

/*
 * err_input - records "found F, expected E" and returns WH_ERR_INPUT.
 * @e:    may be NULL (the text is then lost)
 * @file: NULL or "" if no file is concerned
 * @line: 1-based, 0 if unknown
 */
int err_input(struct err_info *e, const char *file, long line, const char *found,
              const char *expected);

/* err_set - records a free sentence and returns @code. */
int err_set(struct err_info *e, int code, const char *file, long line, const char *fmt, ...)
    WH_PRINTF(5, 6);

/* err_format - "file:line: text" (parts that are missing are left out). Returns @buf. */
const char *err_format(const struct err_info *e, char *buf, size_t buf_bytes);

/* Where a library part sends warnings; only tools/ prints them. fn may be NULL (dropped). */
struct warn_sink {
    void (*fn)(void *ctx, const char *text);
    void *ctx;
};
void warn(const struct warn_sink *sink, const char *fmt, ...) WH_PRINTF(2, 3);

/* check - always on; for set-up and once-per-round conditions. Prints the values and aborts. */
#define check(cond, ...)                                                                           \
    do {                                                                                           \
        if (__builtin_expect(!(cond), 0))                                                          \
            err_check_failed(__FILE__, __LINE__, #cond, __VA_ARGS__);                              \
    } while (0)

/* dcheck - debug builds only; for the per-event path. */
#ifdef WH_DEBUG
#define dcheck(cond, ...) check(cond, __VA_ARGS__)
#else
#define dcheck(cond, ...) ((void)sizeof(!(cond)))
#endif

_Noreturn void err_check_failed(const char *file, int line, const char *cond, const char *fmt, ...)
    WH_PRINTF(4, 5);

#endif
