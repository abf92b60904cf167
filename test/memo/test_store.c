/*
 * test_store.c - memo/store.c on sound files: what is found again and by whom, limits, rights, and
 * several processes. Damaged files are in test_store_damage.c.
 */
#include "memo_fixture.h"
#include "rng.h"
#include "store_int.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SEED UINT64_C(3)

static struct memo_store_stats stats_of(const struct memo_store *s)
{
    struct memo_store_stats stats;

    memo_store_read_stats(s, &stats);
    return stats;
}

static int put_text(struct fixture *f, struct memo_store *s, const char *key, const char *value)
{
    const struct memo_store_item item = {memo_key_make(key, strlen(key)), value, strlen(value)};

    return memo_store_put(s, &item, 1, &f->e);
}

/* 0 if @key has @value. */
static int get_text(struct fixture *f, struct memo_store *s, const char *key, const char *value)
{
    const struct memo_key k = memo_key_make(key, strlen(key));
    struct memo_store_value v = {NULL, 0};
    int rc = memo_store_get(s, &k, &v, &f->e);

    if (!rc && (v.value_bytes != strlen(value) || memcmp(v.value, value, v.value_bytes)))
        rc = 2;
    free(v.value);
    return rc;
}

Test(store, what_was_put_is_found_after_opening_again)
{
    struct fixture f;
    struct memo_store *s;

    fixture_begin(&f);
    s = fixture_open(&f);
    cr_assert_eq(get_text(&f, s, "k", "v"), MEMO_STORE_ABSENT);
    cr_assert_eq(put_text(&f, s, "k", "v"), 0);
    cr_assert_eq(put_text(&f, s, "", ""), 0);
    cr_assert_eq(get_text(&f, s, "k", "v"), 0);
    memo_store_close(s);
    s = fixture_open(&f);
    cr_assert_eq(get_text(&f, s, "k", "v"), 0);
    cr_assert_eq(get_text(&f, s, "", ""), 0);
    cr_assert_eq(get_text(&f, s, "kk", "v"), MEMO_STORE_ABSENT);
    cr_assert_eq(stats_of(s).hit_count, 2);
    cr_assert_eq(stats_of(s).miss_count, 1);
    memo_store_close(s);
    fixture_end(&f);
}

Test(store, the_first_of_equal_keys_stays)
{
    struct fixture f;
    struct memo_store *s;

    fixture_begin(&f);
    s = fixture_open(&f);
    cr_assert_eq(put_text(&f, s, "k", "first"), 0);
    cr_assert_eq(put_text(&f, s, "k", "second"), 0);
    cr_assert_eq(get_text(&f, s, "k", "first"), 0);
    cr_assert_eq(stats_of(s).put_count, 1);
    cr_assert_eq(stats_of(s).exists_count, 1);
    memo_store_close(s);
    fixture_end(&f);
}

Test(store, other_versions_and_settings_are_other_namespaces)
{
    static const char *const fingerprint[][2] = {{"v", "s"}, {"v", "t"}, {"w", "s"},
                                                 {"vs", ""}, {"", "vs"}, {"v", ""}};
    const size_t count = sizeof fingerprint / sizeof *fingerprint;
    struct memo_store_info info;
    struct fixture f;
    struct memo_store *s;
    char value[8];

    fixture_begin(&f);
    for (size_t i = 0; i < count; i++) {
        s = fixture_open_with(&f, fingerprint[i][0], fingerprint[i][1]);
        snprintf(value, sizeof value, "%zu", i);
        cr_assert_eq(get_text(&f, s, "k", value), MEMO_STORE_ABSENT, "fingerprint %zu", i);
        cr_assert_eq(put_text(&f, s, "k", value), 0);
        memo_store_close(s);
    }
    for (size_t i = 0; i < count; i++) {
        s = fixture_open_with(&f, fingerprint[i][0], fingerprint[i][1]);
        snprintf(value, sizeof value, "%zu", i);
        cr_assert_eq(get_text(&f, s, "k", value), 0, "fingerprint %zu", i);
        memo_store_close(s);
    }
    s = fixture_open(&f);
    cr_assert_eq(memo_store_info(s, &info, &f.e), 0);
    cr_assert_eq(info.space_count, count);
    for (size_t i = 0; i < count; i++) {
        cr_assert_eq(info.space[i].entry_count, 1);
        cr_assert_eq(info.space[i].entry_bytes, sizeof(struct record_head) + 2);
        cr_assert(i == 0 || strcmp(info.space[i - 1].id, info.space[i].id) < 0);
    }
    memo_store_info_fini(&info);
    memo_store_close(s);
    fixture_end(&f);
}

Test(store, info_tells_version_settings_and_sizes)
{
    struct memo_store_info info;
    struct fixture f;
    struct memo_store *s;
    struct stat st;

    fixture_begin(&f);
    s = fixture_open_with(&f, "0.1.0 abc", "settings");
    cr_assert_eq(memo_store_info(s, &info, &f.e), 0);
    cr_assert_eq(info.space_count, 0, "a namespace before the first put");
    memo_store_info_fini(&info);
    cr_assert_eq(put_text(&f, s, "k", "value"), 0);
    cr_assert_eq(memo_store_info(s, &info, &f.e), 0);
    cr_assert_eq(stat(f.path, &st), 0);
    cr_assert_eq(info.format_version, MEMO_STORE_FORMAT_VERSION);
    cr_assert_eq(info.file_bytes, (uint64_t)st.st_size);
    cr_assert_lt(info.free_bytes, info.file_bytes);
    cr_assert_eq(info.space_count, 1);
    cr_assert_str_eq(info.space[0].program_version, "0.1.0 abc");
    cr_assert_eq(info.space[0].settings_bytes, strlen("settings"));
    memo_store_info_fini(&info);
    memo_store_close(s);
    fixture_end(&f);
}

/* Random puts and gets, the file opened anew now and then; the twin is a row of flags. */
Test(store, does_what_its_twin_does, .timeout = 120)
{
    static int is_there[2000];
    struct memo_store_verdict verdict;
    uint64_t there_count = 0;
    struct fixture f;
    struct memo_store *s;

    fixture_begin(&f);
    s = fixture_open(&f);
    for (uint32_t step = 0; step < 3000; step++) {
        const uint64_t draw = rng_u64(SEED, 1, step);
        const uint32_t number = (uint32_t)(draw >> 32) % 1900, count = (uint32_t)draw / 8 % 30;

        if (draw % 8 < 6) {
            cr_assert_eq(fixture_get(&f, s, number), is_there[number] ? 0 : MEMO_STORE_ABSENT,
                         "step %u, entry %u: %s", step, number, f.e.text);
        } else if (draw % 8 == 6) {
            cr_assert_eq(fixture_put(&f, s, number, count), 0, "%s", f.e.text);
            for (uint32_t i = 0; i < count; i++) {
                there_count += !is_there[number + i];
                is_there[number + i] = 1;
            }
        } else if (draw >> 60 == 0) {
            memo_store_close(s);
            s = fixture_open(&f);
        }
    }
    cr_assert_eq(memo_store_verify(s, &verdict, &f.e), 0, "%s", f.e.text);
    cr_assert_eq(verdict.entry_count, there_count);
    cr_assert_eq(verdict.damaged_count, 0);
    memo_store_close(s);
    fixture_end(&f);
}

/* ---- limits ---- */

static struct memo_store *open_limited(struct fixture *f, uint64_t file_bytes_max)
{
    const struct memo_store_options o = {
        .path = f->path, .program_version = "v", .file_bytes_max = file_bytes_max};
    struct memo_store *s = NULL;

    cr_assert_eq(memo_store_open(&s, &o, &f->e), 0, "%s", f->e.text);
    return s;
}

static int put_large(struct fixture *f, struct memo_store *s, uint32_t number, size_t value_bytes)
{
    unsigned char *value = calloc(1, value_bytes);
    const struct memo_store_item item = {memo_key_make(&number, sizeof number), value, value_bytes};
    const int rc = memo_store_put(s, &item, 1, &f->e);

    free(value);
    return rc;
}

static int has_large(struct fixture *f, struct memo_store *s, uint32_t number, size_t value_bytes)
{
    const struct memo_key key = memo_key_make(&number, sizeof number);
    struct memo_store_value v = {NULL, 0};
    const int rc = memo_store_get(s, &key, &v, &f->e);

    free(v.value);
    return !rc && v.value_bytes == value_bytes;
}

Test(store, grows_up_to_its_limit_and_then_says_so)
{
    const uint64_t file_bytes_max = 48 << 20;
    const size_t value_bytes = 1 << 20;
    struct fixture f;
    struct memo_store *s;
    uint32_t count = 0;
    struct stat st;
    int rc;

    fixture_begin(&f);
    s = open_limited(&f, file_bytes_max);
    while (!(rc = put_large(&f, s, count, value_bytes)))
        count++;
    cr_assert_eq(rc, WH_ERR_LIMIT);
    cr_assert_not_null(strstr(f.e.text, "full"), "%s", f.e.text);
    cr_assert_gt(count, 40);
    cr_assert_eq(stat(f.path, &st), 0);
    cr_assert_leq((uint64_t)st.st_size, file_bytes_max);
    for (uint32_t i = 0; i < count; i++)
        cr_assert(has_large(&f, s, i, value_bytes), "entry %u: %s", i, f.e.text);
    cr_assert(!has_large(&f, s, count, value_bytes));
    cr_assert_eq(put_large(&f, s, count, 100), 0, "no room for a small one: %s", f.e.text);
    memo_store_close(s);
    fixture_end(&f);
}

Test(store, an_item_that_is_too_long_is_refused_with_its_batch)
{
    struct fixture f;
    struct memo_store *s;
    struct memo_store_item items[2] = {{memo_key_make("a", 1), "1", 1},
                                       {memo_key_make("b", 1), NULL, SIZE_MAX}};

    fixture_begin(&f);
    s = fixture_open(&f);
    cr_assert_eq(memo_store_put(s, items, 2, &f.e), WH_ERR_LIMIT);
    cr_assert_eq(get_text(&f, s, "a", "1"), MEMO_STORE_ABSENT);
    memo_store_close(s);
    fixture_end(&f);
}

/* The system's limit on the length of a file stands for a full disk. */
static int fill_disk(void *arg)
{
    struct fixture *f = arg;
    struct memo_store *s = fixture_open(f);
    const struct rlimit limit = {4 << 20, RLIM_INFINITY}, none = {RLIM_INFINITY, RLIM_INFINITY};
    uint32_t count = 0;
    int rc;

    if (signal(SIGXFSZ, SIG_IGN) == SIG_ERR || setrlimit(RLIMIT_FSIZE, &limit))
        return 1;
    while (!(rc = fixture_put(f, s, count, 50)) && count < 100000)
        count += 50;
    if (rc != WH_ERR_IO || !strstr(f->e.text, "disk"))
        return 2;
    for (uint32_t i = 0; i < count; i++)
        if (fixture_get(f, s, i))
            return 3;
    if (fixture_get(f, s, count) != MEMO_STORE_ABSENT)
        return 4;
    if (setrlimit(RLIMIT_FSIZE, &none) || fixture_put(f, s, count, 50) ||
        fixture_get(f, s, count + 49))
        return 5; /* room again, and it goes on */
    memo_store_close(s);
    return 0;
}

Test(store, a_full_disk_is_survived)
{
    struct memo_store_verdict verdict;
    struct fixture f;
    struct memo_store *s;

    fixture_begin(&f);
    cr_assert_eq(fixture_in_child(fill_disk, &f), 0);
    s = fixture_open(&f);
    cr_assert_eq(memo_store_verify(s, &verdict, &f.e), 0, "%s", f.e.text);
    cr_assert_gt(verdict.entry_count, 1000);
    cr_assert_eq(verdict.damaged_count, 0);
    memo_store_close(s);
    fixture_end(&f);
}

/* ---- rights ---- */

Test(store, read_only_finds_and_does_not_write)
{
    struct fixture f;
    struct memo_store_options o = {.program_version = "v", .settings = "s", .settings_bytes = 1};
    struct memo_store *s;

    fixture_begin(&f);
    o.path = f.path;
    o.is_read_only = 1;
    cr_assert_eq(memo_store_open(&s, &o, &f.e), WH_ERR_IO, "opened a file that is not there");
    s = fixture_open(&f);
    cr_assert(!memo_store_is_read_only(s));
    cr_assert_eq(put_text(&f, s, "k", "v"), 0);
    memo_store_close(s);
    cr_assert_eq(memo_store_open(&s, &o, &f.e), 0, "%s", f.e.text);
    cr_assert(memo_store_is_read_only(s));
    cr_assert_eq(get_text(&f, s, "k", "v"), 0);
    cr_assert_eq(put_text(&f, s, "l", "v"), WH_ERR_STATE);
    cr_assert_eq(get_text(&f, s, "l", "v"), MEMO_STORE_ABSENT);
    memo_store_close(s);
    fixture_end(&f);
}

/* As a user who may not write: root may write everything, and becomes nobody. */
static int read_as_nobody(void *arg)
{
    struct fixture *f = arg;
    struct memo_store *s = NULL;

    if (geteuid() == 0 && setuid(65534))
        return 1;
    if (fixture_try_open(f, &s)) {
        fprintf(stderr, "%s\n", f->e.text);
        return 2;
    }
    if (!memo_store_is_read_only(s) || fixture_put(f, s, 100, 1) != WH_ERR_STATE)
        return 3;
    for (uint32_t i = 0; i < 100; i++)
        if (fixture_get(f, s, i))
            return 4;
    memo_store_close(s);
    return 0;
}

Test(store, a_file_without_the_right_to_write_is_read)
{
    static const mode_t lock_mode[] = {0666, 0444, 0000};
    struct fixture f;
    struct memo_store *s;

    fixture_begin(&f);
    s = fixture_open(&f);
    cr_assert_eq(fixture_put(&f, s, 0, 100), 0);
    memo_store_close(s);
    cr_assert_eq(chmod(f.path, 0444), 0);
    for (size_t i = 0; i < sizeof lock_mode / sizeof *lock_mode; i++) {
        cr_assert_eq(chmod(f.dir, 0755), 0);
        cr_assert_eq(chmod(f.lock_path, lock_mode[i]), 0);
        cr_assert_eq(fixture_in_child(read_as_nobody, &f), 0, "lock file of mode %o", lock_mode[i]);
    }
    cr_assert_eq(unlink(f.lock_path), 0);
    cr_assert_eq(chmod(f.dir, 0555), 0);
    cr_assert_eq(fixture_in_child(read_as_nobody, &f), 0, "no lock file");
    cr_assert_eq(chmod(f.dir, 0755), 0);
    fixture_end(&f);
}

Test(store, once_per_process)
{
    struct fixture f;
    struct memo_store *s, *second = NULL;

    fixture_begin(&f);
    s = fixture_open(&f);
    cr_assert_eq(fixture_try_open(&f, &second), WH_ERR_STATE);
    cr_assert_eq(memo_store_clear(f.path, &f.e), WH_ERR_STATE);
    cr_assert_null(second);
    cr_assert_eq(put_text(&f, s, "k", "v"), 0);
    memo_store_close(s);
    s = fixture_open(&f);
    cr_assert_eq(get_text(&f, s, "k", "v"), 0);
    memo_store_close(s);
    fixture_end(&f);
}

/* ---- several processes ---- */

#define FILLERS 2
#define FILL_COUNT 1500u

struct filler {
    struct fixture *f;
    uint32_t id;
};

/* Each puts all entries, from another one on, and looks at them all the time. */
static int fill(void *arg)
{
    const struct filler *filler = arg;
    struct memo_store *s = fixture_open(filler->f);
    const uint32_t first = filler->id * FILL_COUNT / FILLERS;

    for (uint32_t i = 0; i < FILL_COUNT; i += 10) {
        const uint32_t at = (first + i) % FILL_COUNT;

        if (fixture_put(filler->f, s, at, 10) || fixture_get(filler->f, s, at + 9))
            return 1;
        if (fixture_get(filler->f, s, (at * 7 + i) % FILL_COUNT) > MEMO_STORE_ABSENT)
            return 2;
    }
    memo_store_close(s);
    return 0;
}

Test(store, processes_fill_one_file_together)
{
    struct memo_store_verdict verdict;
    struct filler filler[FILLERS];
    pid_t pid[FILLERS];
    struct fixture f;
    struct memo_store *s;

    fixture_begin(&f);
    for (uint32_t i = 0; i < FILLERS; i++) {
        filler[i] = (struct filler){&f, i};
        pid[i] = fork();
        if (pid[i] == 0)
            _exit(fill(&filler[i]));
        cr_assert_gt(pid[i], 0);
    }
    for (uint32_t i = 0; i < FILLERS; i++) {
        int status = -1;

        cr_assert_eq(waitpid(pid[i], &status, 0), pid[i]);
        cr_assert_eq(status, 0, "process %u: status %d", i, status);
    }
    s = fixture_open(&f);
    cr_assert_eq(memo_store_verify(s, &verdict, &f.e), 0, "%s", f.e.text);
    cr_assert_eq(verdict.entry_count, FILL_COUNT);
    cr_assert_eq(verdict.damaged_count, 0);
    memo_store_close(s);
    fixture_end(&f);
}

static int put_one(void *arg)
{
    struct fixture *f = arg;
    struct memo_store *s = fixture_open(f);
    const int rc = fixture_put(f, s, 0, 3000); /* more than the map of who has it open already */

    memo_store_close(s);
    return rc ? 1 : 0;
}

Test(store, what_another_process_puts_is_seen_at_once)
{
    struct fixture f;
    struct memo_store *s;

    fixture_begin(&f);
    s = fixture_open(&f);
    cr_assert_eq(fixture_get(&f, s, 2999), MEMO_STORE_ABSENT);
    cr_assert_eq(fixture_in_child(put_one, &f), 0);
    cr_assert_eq(fixture_get(&f, s, 2999), 0, "%s", f.e.text);
    memo_store_close(s);
    fixture_end(&f);
}

/* Leaves its slot in the table of readers behind. */
static int die_reading(void *arg)
{
    struct fixture *f = arg;
    struct memo_store *s = fixture_open(f);

    if (store__begin_read(s, &f->e))
        return 1;
    (void)raise(SIGKILL);
    return 2;
}

Test(store, slots_of_dead_readers_are_used_again)
{
    int ready[2], over[2];
    struct fixture f;
    struct memo_store *s;
    char byte = 0;
    pid_t pid;

    fixture_begin(&f);
    s = fixture_open(&f);
    cr_assert_eq(fixture_put(&f, s, 0, 10), 0);
    memo_store_close(s);
    cr_assert(!pipe(ready) && !pipe(over));
    pid = fork();
    if (pid == 0) { /* makes the table small, and keeps it so */
        MDB_env *env = NULL;
        const int rc = mdb_env_create(&env) || mdb_env_set_maxreaders(env, 2) ||
                       mdb_env_open(env, f.path, MDB_NOSUBDIR, 0666);
        const ssize_t n = write(ready[1], "1", 1) + read(over[0], &byte, 1);

        _exit(rc || n != 2);
    }
    cr_assert_eq(read(ready[0], &byte, 1), 1);
    for (int i = 0; i < 5; i++)
        cr_assert_eq(fixture_in_child(die_reading, &f), 1000 + SIGKILL, "reader %d", i);
    s = fixture_open(&f);
    cr_assert_eq(fixture_get(&f, s, 9), 0, "%s", f.e.text);
    memo_store_close(s);
    cr_assert_eq(write(over[1], "1", 1), 1);
    cr_assert_eq(waitpid(pid, NULL, 0), pid);
    fixture_end(&f);
}

/* ---- clear ---- */

Test(store, clear_empties_all_namespaces)
{
    struct memo_store_info info;
    struct fixture f;
    struct memo_store *s;

    fixture_begin(&f);
    cr_assert_eq(memo_store_clear(f.path, &f.e), WH_ERR_IO, "cleared a file that is not there");
    s = fixture_open_with(&f, "other", "settings");
    cr_assert_eq(put_text(&f, s, "k", "v"), 0);
    memo_store_close(s);
    s = fixture_open(&f);
    cr_assert_eq(fixture_put(&f, s, 0, 500), 0);
    memo_store_close(s);
    cr_assert_eq(memo_store_clear(f.path, &f.e), 0, "%s", f.e.text);
    s = fixture_open(&f);
    cr_assert_eq(memo_store_info(s, &info, &f.e), 0);
    cr_assert_eq(info.space_count, 0);
    cr_assert_gt(info.free_bytes, info.file_bytes / 2);
    memo_store_info_fini(&info);
    for (uint32_t i = 0; i < 500; i++)
        cr_assert_eq(fixture_get(&f, s, i), MEMO_STORE_ABSENT);
    cr_assert_eq(fixture_put(&f, s, 0, 500), 0);
    cr_assert_eq(fixture_get(&f, s, 499), 0);
    memo_store_close(s);
    fixture_end(&f);
}
