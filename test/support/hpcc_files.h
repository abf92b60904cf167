/*
 * hpcc_files.h - temporary text files and collected warnings for the tests of the text formats.
 */
#ifndef WH_TEST_HPCC_FILES_H
#define WH_TEST_HPCC_FILES_H

#include "err.h"

#include <stddef.h>

/* A folder of its own for one test. */
struct text_folder {
    char path[64];
};
void text_folder_create(struct text_folder *d);
void text_folder_destroy(struct text_folder *d); /* with the files directly in it */

/* text_folder_write - writes @bytes as file @name; returns its path in @out. */
const char *text_folder_write(const struct text_folder *d, const char *name, const char *text,
                              size_t bytes, char *out, size_t out_bytes);

/* Warnings, one line each. */
struct warnings {
    char text[8192];
    unsigned count;
};
struct warn_sink warnings_sink(struct warnings *w);
int warnings_have(const struct warnings *w, const char *part);

#endif
