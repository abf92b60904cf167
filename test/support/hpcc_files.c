/*
 * hpcc_files.c - see hpcc_files.h.
 */
#include "hpcc_files.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void text_folder_create(struct text_folder *d)
{
    snprintf(d->path, sizeof d->path, "/tmp/wormhole-test-XXXXXX");
    check(mkdtemp(d->path), "no temporary folder %s", d->path);
}

void text_folder_destroy(struct text_folder *d)
{
    DIR *dir = opendir(d->path);
    char path[512];

    for (struct dirent *f; dir && (f = readdir(dir));) {
        snprintf(path, sizeof path, "%s/%s", d->path, f->d_name);
        if (f->d_name[0] != '.')
            unlink(path);
    }
    if (dir)
        closedir(dir);
    rmdir(d->path);
}

const char *text_folder_write(const struct text_folder *d, const char *name, const char *text,
                              size_t bytes, char *out, size_t out_bytes)
{
    snprintf(out, out_bytes, "%s/%s", d->path, name);
    FILE *f = fopen(out, "wb");

    check(f, "cannot write %s", out);
    check(fwrite(text, 1, bytes, f) == bytes, "short write to %s", out);
    check(fclose(f) == 0, "cannot close %s", out);
    return out;
}

static void collect(void *ctx, const char *text)
{
    struct warnings *w = ctx;
    size_t used = strlen(w->text);

    snprintf(w->text + used, sizeof w->text - used, "%s\n", text);
    w->count++;
}

struct warn_sink warnings_sink(struct warnings *w)
{
    memset(w, 0, sizeof *w);
    return (struct warn_sink){.fn = collect, .ctx = w};
}

int warnings_have(const struct warnings *w, const char *part)
{
    return strstr(w->text, part) != NULL;
}
