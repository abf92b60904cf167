/*
 * fuzz_file.h - bytes as a file without a name on disk, for the fuzz targets of parsers that open
 * files.
 */
#ifndef WH_TEST_FUZZ_FILE_H
#define WH_TEST_FUZZ_FILE_H

#include <stddef.h>
#include <stdint.h>

struct fuzz_file {
    int fd;
    char path[64]; /* opens the bytes from their beginning */
};
void fuzz_file_open(struct fuzz_file *f, const uint8_t *data, size_t bytes);
void fuzz_file_close(struct fuzz_file *f);

#endif
