/*
 * out_file.c - see out_file.h.
 */
#include "out_file.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Small writes cost the kernel several times as much for a byte: a run of millions of flows writes
 * gigabytes. */
#define OUT_BUFFER_BYTES (UINT32_C(1) << 20)

/* Creates one folder; an existing folder is fine. Returns 0 or an errno. */
static int make_one(const char *path)
{
    struct stat st;

    if (!mkdir(path, 0777))
        return 0;
    if (errno == EEXIST && !stat(path, &st))
        return S_ISDIR(st.st_mode) ? 0 : ENOTDIR;
    return errno;
}

int out_make_dir(const char *path, const char *key, struct err_info *e)
{
    char part[OUT_PATH_MAX];
    const size_t length = strlen(path);
    int rc = 0;

    if (length == 0 || length >= sizeof part)
        return err_set(e, WH_ERR_INPUT, NULL, 0,
                       "%s: found a folder name of %zu characters, "
                       "expected 1 to %zu",
                       key, length, sizeof part - 1);
    memcpy(part, path, length + 1);
    for (size_t i = 1; i < length && !rc; i++) {
        if (part[i] != '/')
            continue;
        part[i] = '\0';
        rc = make_one(part);
        part[i] = '/';
    }
    if (!rc)
        rc = make_one(part);
    if (rc)
        return err_set(e, WH_ERR_INPUT, path, 0, "cannot create the output folder (%s): %s", key,
                       strerror(rc));
    return 0;
}

/* The same file under another name would be overwritten too. */
static const struct out_file *find_same(const struct out_set *s, const char *path)
{
    struct stat now, st;

    for (uint32_t i = 0; i < s->count; i++) {
        if (!strcmp(s->files[i].path, path))
            return &s->files[i];
        if (!stat(path, &now) && S_ISREG(now.st_mode) && !fstat(fileno(s->files[i].f), &st) &&
            now.st_dev == st.st_dev && now.st_ino == st.st_ino)
            return &s->files[i];
    }
    return NULL;
}

int out_open(struct out_set *s, const char *path, const char *key, struct out_file **out,
             struct err_info *e)
{
    struct out_file *o = &s->files[s->count];
    const struct out_file *same = find_same(s, path);

    check(s->count < OUT_FILES_MAX, "%u output files", s->count);
    if (same)
        return err_set(e, WH_ERR_INPUT, path, 0,
                       "%s and %s name the same output file, expected two "
                       "different ones",
                       same->key, key);
    if (strlen(path) >= sizeof o->path)
        return err_set(e, WH_ERR_INPUT, path, 0, "%s: the path is too long", key);
    memset(o, 0, sizeof *o);
    o->f = fopen(path, "w");
    if (!o->f)
        return err_set(e, WH_ERR_INPUT, path, 0, "cannot open the output file (%s): %s", key,
                       strerror(errno));
    o->buffer = malloc(OUT_BUFFER_BYTES);
    if (o->buffer) /* else stdio's own will do */
        (void)setvbuf(o->f, o->buffer, _IOFBF, OUT_BUFFER_BYTES);
    (void)snprintf(o->path, sizeof o->path, "%s", path);
    (void)snprintf(o->key, sizeof o->key, "%s", key);
    s->count++;
    *out = o;
    return 0;
}

void out_text(struct out_file *o, const char *text, size_t bytes)
{
    if (o->left_out || (o->cap_bytes > 0 && o->bytes + (int64_t)bytes > o->cap_bytes)) {
        o->left_out++;
        return;
    }
    if (fwrite(text, 1, bytes, o->f) != bytes && !o->error)
        o->error = errno;
    o->bytes += (int64_t)bytes;
}

void out_line(struct out_file *o, const char *fmt, ...)
{
    char line[512];
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    check(n >= 0 && n < (int)sizeof line, "an output line of %d bytes", n);
    out_text(o, line, (size_t)n);
}

/* The first file that failed, described in @e. */
static int report_errors(const struct out_set *s, struct err_info *e)
{
    for (uint32_t i = 0; i < s->count; i++) {
        const struct out_file *o = &s->files[i];

        if (o->error)
            return err_set(e, WH_ERR_IO, o->path, 0, "cannot write the output file (%s): %s",
                           o->key, strerror(o->error));
    }
    return 0;
}

int out_flush(struct out_set *s, struct err_info *e)
{
    for (uint32_t i = 0; i < s->count; i++) {
        struct out_file *o = &s->files[i];

        if (fflush(o->f) && !o->error)
            o->error = errno;
        if (ferror(o->f) && !o->error)
            o->error = EIO;
    }
    return report_errors(s, e);
}

/* Returns 0 or an errno. */
static int close_one(struct out_file *o)
{
    const int rc = fclose(o->f) ? errno : 0;

    free(o->buffer);
    o->f = NULL;
    o->buffer = NULL;
    return rc;
}

int out_close(struct out_set *s, struct err_info *e)
{
    int rc = out_flush(s, e);

    for (uint32_t i = 0; i < s->count; i++) {
        struct out_file *o = &s->files[i];
        const int error = close_one(o);

        if (!o->error)
            o->error = error;
    }
    if (!rc)
        rc = report_errors(s, e);
    s->count = 0;
    return rc;
}

void out_discard(struct out_set *s)
{
    struct stat st;

    for (uint32_t i = 0; i < s->count; i++) {
        const int is_regular = !fstat(fileno(s->files[i].f), &st) && S_ISREG(st.st_mode);

        (void)close_one(&s->files[i]);
        if (is_regular)
            (void)unlink(s->files[i].path);
    }
    s->count = 0;
}

int out_join(const char *dir, const char *name, char *buf, size_t buf_bytes)
{
    const int n =
        dir ? snprintf(buf, buf_bytes, "%s/%s", dir, name) : snprintf(buf, buf_bytes, "%s", name);

    return n < 0 || (size_t)n >= buf_bytes ? WH_ERR_LIMIT : 0;
}

int out_resolve(const char *configured, int is_hpcc, const char *given_dir, const char *dir,
                char *buf, size_t buf_bytes)
{
    if (is_hpcc && given_dir)
        return out_join(given_dir, out_basename(configured), buf, buf_bytes);
    return out_join(is_hpcc || configured[0] == '/' ? NULL : dir, configured, buf, buf_bytes);
}

const char *out_basename(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}
