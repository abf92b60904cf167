/*
 * out_file.h - the files that a run writes: all opened before the simulation starts, closed with
 * every error noticed, and removed again if the run never begins. Threading: one thread.
 */
#ifndef WH_OUT_FILE_H
#define WH_OUT_FILE_H

#include "err.h"

#include <stdint.h>
#include <stdio.h>

#define OUT_PATH_MAX 1200
#define OUT_FILES_MAX 16

/* One output. cap_bytes > 0 bounds it: see out_line. */
struct out_file {
    char path[OUT_PATH_MAX];
    char key[64]; /* option or configuration key that asked for it */
    FILE *f;
    char *buffer;      /* of f, owned; NULL: stdio's own */
    int64_t cap_bytes; /* 0: unbounded */
    int64_t bytes;     /* written through out_line */
    uint64_t left_out; /* lines that the cap refused */
    int error;         /* errno of the first failed write, 0 */
};

struct out_set {
    struct out_file files[OUT_FILES_MAX];
    uint32_t count;
};

/*
 * out_make_dir - creates @path and its parents as needed.
 * @key: what asked for it, for the message
 * Errors: WH_ERR_INPUT with path, key and reason.
 */
int out_make_dir(const char *path, const char *key, struct err_info *e) WH_MUST_CHECK;

/*
 * out_open - opens @path for writing and adds it to @s.
 * Errors: WH_ERR_INPUT if it cannot be opened, or is already an output of this run.
 */
int out_open(struct out_set *s, const char *path, const char *key, struct out_file **out,
             struct err_info *e) WH_MUST_CHECK;

/* out_text - writes @text, one or more whole lines, or counts it as left out; see out_line. */
void out_text(struct out_file *o, const char *text, size_t bytes);

/*
 * out_line - writes one whole line (the line break included in @fmt), or counts it as left out if
 * it would exceed the cap. Once a line was left out, all later ones are, so that the file is a
 * prefix.
 */
void out_line(struct out_file *o, const char *fmt, ...) WH_PRINTF(2, 3);

/* out_flush - everything written so far reaches the files. Errors as out_close. */
int out_flush(struct out_set *s, struct err_info *e) WH_MUST_CHECK;

/* out_close - flushes and closes all. Returns 0 or WH_ERR_IO, naming the first that failed in @e.
 */
int out_close(struct out_set *s, struct err_info *e) WH_MUST_CHECK;

/* out_discard - closes all and removes the regular files among them: nothing half-written stays. */
void out_discard(struct out_set *s);

/* out_join - "dir/name", or @name alone if @dir is NULL. Returns 0 or WH_ERR_LIMIT if too long. */
int out_join(const char *dir, const char *name, char *buf, size_t buf_bytes) WH_MUST_CHECK;

/*
 * out_resolve - where a configured output goes. From an HPCC configuration (@is_hpcc): as written,
 * relative to the working directory, unless the user gave a folder (@given_dir), which then gets
 * the file's own name. Else relative to @dir; an absolute path stays.
 */
int out_resolve(const char *configured, int is_hpcc, const char *given_dir, const char *dir,
                char *buf, size_t buf_bytes) WH_MUST_CHECK;

/* out_basename - the part after the last slash. */
const char *out_basename(const char *path);

#endif
