/*
 * fuzz_file.c - see fuzz_file.h.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "fuzz_file.h"

#include "err.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

void fuzz_file_open(struct fuzz_file *f, const uint8_t *data, size_t bytes)
{
    f->fd = memfd_create("fuzz", 0);
    check(f->fd >= 0, "no memory file: %d", f->fd);
    for (size_t done = 0; done < bytes;) {
        ssize_t n = write(f->fd, data + done, bytes - done);

        check(n > 0, "cannot write the memory file: %zd", n);
        done += (size_t)n;
    }
    snprintf(f->path, sizeof f->path, "/proc/self/fd/%d", f->fd);
}

void fuzz_file_close(struct fuzz_file *f)
{
    close(f->fd);
}
