/*
 * memo_fixture.c - what the tests of the store share: see memo_fixture.h.
 */
#include "memo_fixture.h"
#include "rng.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SEED UINT64_C(11)

static void die(const char *what)
{
    perror(what);
    abort();
}

void fixture_begin(struct fixture *f)
{
    const char *tmp = getenv("TMPDIR");

    memset(f, 0, sizeof *f);
    snprintf(f->dir, sizeof f->dir, "%s/wh-memo-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (!mkdtemp(f->dir))
        die(f->dir);
    snprintf(f->path, sizeof f->path, "%s/store", f->dir);
    snprintf(f->lock_path, sizeof f->lock_path, "%s/store-lock", f->dir);
}

void fixture_end(struct fixture *f)
{
    DIR *dir = opendir(f->dir);
    const struct dirent *entry;
    char path[1024];

    while (dir && (entry = readdir(dir)) != NULL) {
        snprintf(path, sizeof path, "%s/%s", f->dir, entry->d_name);
        (void)unlink(path);
    }
    if (dir)
        (void)closedir(dir);
    (void)rmdir(f->dir);
}

int fixture_try_open(struct fixture *f, struct memo_store **out)
{
    const struct memo_store_options o = {
        .path = f->path, .program_version = "v", .settings = "s", .settings_bytes = 1};

    return memo_store_open(out, &o, &f->e);
}

static struct memo_store *must(struct fixture *f, int rc, struct memo_store *s)
{
    if (rc) {
        fprintf(stderr, "%s: %s\n", f->e.file, f->e.text);
        abort();
    }
    return s;
}

struct memo_store *fixture_open(struct fixture *f)
{
    struct memo_store *s = NULL;
    const int rc = fixture_try_open(f, &s);

    return must(f, rc, s);
}

struct memo_store *fixture_open_with(struct fixture *f, const char *version, const char *settings)
{
    const struct memo_store_options o = {.path = f->path,
                                         .program_version = version,
                                         .settings = settings,
                                         .settings_bytes = strlen(settings)};
    struct memo_store *s = NULL;
    const int rc = memo_store_open(&s, &o, &f->e);

    return must(f, rc, s);
}

struct memo_key fixture_key(uint32_t number, unsigned char key[128])
{
    const size_t key_bytes = 4 + rng_u64(SEED, 1, number) % 64;

    for (size_t i = 0; i < key_bytes; i++)
        key[i] = (unsigned char)rng_u64(SEED, 2, number * UINT64_C(128) + i);
    memcpy(key, &number, sizeof number);
    return memo_key_make(key, key_bytes);
}

size_t fixture_value(uint32_t number, unsigned char value[8192])
{
    const uint64_t draw = rng_u64(SEED, 3, number);
    const size_t value_bytes = draw % 4 ? (draw >> 8) % 300 : (draw >> 8) % 8001;
    const size_t words = (value_bytes + 7) / 8;

    for (size_t i = 0; i < words; i++) {
        const uint64_t word = rng_u64(SEED, 4, number * UINT64_C(1024) + i);

        memcpy(value + 8 * i, &word, sizeof word);
    }
    return value_bytes;
}

int fixture_put(struct fixture *f, struct memo_store *s, uint32_t first, uint32_t count)
{
    struct memo_store_item *items = calloc(count, sizeof *items);
    unsigned char(*key)[128] = calloc(count, sizeof *key);
    unsigned char(*value)[8192] = calloc(count, sizeof *value);
    int rc;

    if (!items || !key || !value)
        die("memory");
    for (uint32_t i = 0; i < count; i++) {
        items[i].key = fixture_key(first + i, key[i]);
        items[i].value = value[i];
        items[i].value_bytes = fixture_value(first + i, value[i]);
    }
    rc = memo_store_put(s, items, count, &f->e);
    free(items);
    free(key);
    free(value);
    return rc;
}

int fixture_get(struct fixture *f, struct memo_store *s, uint32_t number)
{
    unsigned char key[128], expected[8192];
    const struct memo_key k = fixture_key(number, key);
    const size_t expected_bytes = fixture_value(number, expected);
    struct memo_store_value v = {NULL, 0};
    int rc = memo_store_get(s, &k, &v, &f->e);

    if (!rc && (v.value_bytes != expected_bytes || memcmp(v.value, expected, expected_bytes)))
        rc = 2;
    free(v.value);
    return rc;
}

unsigned char *fixture_read_file(const char *path, size_t *byte_count)
{
    FILE *file = fopen(path, "rb");
    unsigned char *bytes;
    long end = 0;

    if (!file || fseek(file, 0, SEEK_END) || (end = ftell(file)) < 0)
        die(path);
    rewind(file);
    *byte_count = (size_t)end;
    bytes = malloc(*byte_count + 1);
    if (!bytes || fread(bytes, 1, *byte_count, file) != *byte_count)
        die(path);
    (void)fclose(file);
    return bytes;
}

void fixture_write_file(const char *path, const void *bytes, size_t byte_count)
{
    FILE *file = fopen(path, "wb");

    if (!file || fwrite(bytes, 1, byte_count, file) != byte_count || fclose(file))
        die(path);
}

int fixture_in_child(int (*fn)(void *arg), void *arg)
{
    const pid_t pid = fork();
    int status;

    if (pid < 0)
        die("fork");
    if (pid == 0)
        _exit(fn(arg));
    if (waitpid(pid, &status, 0) != pid)
        die("waitpid");
    return WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
}
