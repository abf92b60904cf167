/*
 * textfile.h - reads the line-oriented text formats of our field: lines, blank-separated tokens,
 * and the place of each for messages.
 *
 * A file is read whole and cut into tokens in place, so tokens live as long as the struct. Lines
 * end in LF or CRLF, the last one may lack its end; blanks, tabs and carriage returns separate
 * tokens; lines without a token are skipped but counted. A zero byte is refused: such a file is no
 * text. Threading: one thread per struct.
 */
#ifndef WH_TEXTFILE_H
#define WH_TEXTFILE_H

#include "err.h"

#include <stdint.h>

#define TEXTFILE_BYTES_MAX ((size_t)4 << 30) /* larger inputs are refused: memory is finite */

struct textfile {
    char path[512]; /* for messages */
    long line;      /* 1-based, of the tokens below; 0: the text has no lines worth naming */
    char **token;   /* shape: [token_count], tokens of the current line, owned */
    uint32_t token_count;
    uint32_t token_next; /* the token that textfile_next_token gives next */
    /* private */
    char *data;
    size_t data_bytes, pos;
    uint32_t token_cap;
    long line_next;
    int is_inline;
};

/*
 * textfile_open - reads all of @path. Release with textfile_close, also after a failure.
 * Errors: WH_ERR_INPUT (cannot be opened, holds a zero byte), WH_ERR_IO, WH_ERR_LIMIT,
 *         WH_ERR_NOMEM.
 */
int textfile_open(struct textfile *t, const char *path, struct err_info *e) WH_MUST_CHECK;

/* textfile_open_text - the same for a copy of @text; messages name @name and no line. */
int textfile_open_text(struct textfile *t, const char *name, const char *text) WH_MUST_CHECK;
void textfile_close(struct textfile *t);

/* textfile_next_line - cuts the next line that holds a token. Returns 1, 0 at the end or
 * WH_ERR_NOMEM. */
int textfile_next_line(struct textfile *t) WH_MUST_CHECK;

/* textfile_next_token - the next token, from the next line where needed. Returns as above. */
int textfile_next_token(struct textfile *t, char **out) WH_MUST_CHECK;

/* textfile_lines_left - lines with a token behind the current one. Takes time linear in the rest.
 */
uint32_t textfile_lines_left(const struct textfile *t);

/* textfile_refuse - "found <what> "<token>", expected <expected>" at the current line; returns
 * WH_ERR_INPUT. Long tokens are cut and unprintable bytes replaced. */
int textfile_refuse(const struct textfile *t, struct err_info *e, const char *what,
                    const char *token, const char *expected);

/* textfile_refuse_count - "found N <what>, expected <expected>" at the current line. */
int textfile_refuse_count(const struct textfile *t, struct err_info *e, uint64_t count,
                          const char *what, const char *expected);

/* text_uint - decimal digits only, at most @max. Returns 0 or WH_ERR_INPUT. */
int text_uint(const char *token, uint64_t max, uint64_t *out) WH_MUST_CHECK;

/* text_real - a finite decimal number, nothing behind it. Returns 0 or WH_ERR_INPUT. */
int text_real(const char *token, double *out) WH_MUST_CHECK;

/* text_distance - how many letters have to be inserted, dropped or changed to make one word of the
 * other, without regard to case. Only the first 63 bytes of each count. */
uint32_t text_distance(const char *a, const char *b);

/* text_nearest - the entry of @list, which ends with NULL and is not empty, that is nearest. */
const char *text_nearest(const char *word, const char *const *list);

#endif
