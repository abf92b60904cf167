/*
 * json_file.h - JSON files whose outermost value is an object: loaded with jansson, with the lines
 * of keys for messages. Threading: one thread per file.
 */
#ifndef WH_JSON_FILE_H
#define WH_JSON_FILE_H

#include "err.h"

#include <jansson.h>
#include <stdint.h>

struct json_file {
    const char *path; /* for messages */
    char *text;       /* owned; shape: [text_bytes + 1] */
    size_t text_bytes;
    json_t *root; /* an object */
    struct err_info *e;
};

/* json_file_open - release with json_file_close, also after a failure. */
int json_file_open(struct json_file *f, const char *path, struct err_info *e) WH_MUST_CHECK;
void json_file_close(struct json_file *f);

/* json_file_line - where a key of the outermost object stands; 0 if that cannot be told. */
long json_file_line(const struct json_file *f, const char *key);

/* json_file_refuse - "<key>: found <value>, expected <expected>" at the key's line. */
int json_file_refuse(const struct json_file *f, const char *key, const json_t *value,
                     const char *expected);

/* json_file_warn_unknown - reports each key that is not in @known, with the nearest that is, and in
 * one line those in @unused. Both lists end with NULL. */
void json_file_warn_unknown(const struct json_file *f, const char *const *known,
                            const char *const *unused, const struct warn_sink *sink);

/* json_file_get_uint - a whole number, written as a number or as a string. Returns 0 or
 * WH_ERR_INPUT. */
int json_file_get_uint(const json_t *value, uint64_t max, uint64_t *out) WH_MUST_CHECK;

/* json_file_get_real - a number, not negative. Returns 0 or WH_ERR_INPUT. */
int json_file_get_real(const json_t *value, double *out) WH_MUST_CHECK;

#endif
