/*
 * test_store_damage.c - memo/store.c on files that are not what they should be: whatever stands in
 * them, there is an error or a right value, never a crash and never a wrong value.
 */
#include "memo_fixture.h"
#include "rng.h"
#include "store_int.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define ENTRIES 300u
#define PAGE_BYTES 4096u
#define SEED UINT64_C(5)

/* A store that has seen some life: several transactions, free pages, two namespaces. */
static void make_store(struct fixture *f)
{
    struct memo_store *s = fixture_open_with(f, "other", "settings");

    cr_assert_eq(fixture_put(f, s, 0, 50), 0);
    memo_store_close(s);
    s = fixture_open(f);
    for (uint32_t i = 0; i < ENTRIES; i += 20)
        cr_assert_eq(fixture_put(f, s, i, 20), 0);
    memo_store_close(s);
}

/* What a run does with a store. Returns 0: refused, 1: opened and all entries found, 2: opened and
 * some not found; more: not allowed. */
static int use_store(void *arg)
{
    struct fixture *f = arg;
    struct memo_store *s = NULL;
    uint32_t right_count = 0;
    int rc = fixture_try_open(f, &s);

    if (rc)
        return rc == WH_ERR_INPUT && f->e.text[0] ? 0 : 10;
    for (uint32_t i = 0; i < ENTRIES; i++) {
        rc = fixture_get(f, s, i);
        if (rc > MEMO_STORE_ABSENT || (rc < 0 && rc != WH_ERR_INPUT))
            return 11;
        right_count += rc == 0;
    }
    rc = fixture_put(f, s, 0, ENTRIES + 50);
    if (!rc)
        for (uint32_t i = 0; i < ENTRIES + 50; i++)
            if (fixture_get(f, s, i))
                return 12;
    memo_store_close(s);
    if (rc)
        return rc == WH_ERR_INPUT ? 2 : 13;
    return right_count == ENTRIES ? 1 : 2;
}

/* Tries the file @bytes. Returns what use_store says. */
static int try_file(struct fixture *f, const unsigned char *bytes, size_t byte_count)
{
    int result;

    fixture_write_file(f->path, bytes, byte_count);
    result = fixture_in_child(use_store, f);
    cr_assert_leq(result, 2, "result %d%s", result, result > 1000 ? ": killed" : "");
    return result;
}

Test(store_damage, files_of_others_are_refused_and_left_alone)
{
    static const char *const text[] = {"x", "not a memo store at all, but some text of a user\n"};
    unsigned char zeros[3 * PAGE_BYTES] = {0};
    struct memo_store *s = NULL;
    unsigned char *after;
    size_t after_bytes;
    struct fixture f;

    fixture_begin(&f);
    for (size_t i = 0; i < 2; i++) {
        fixture_write_file(f.path, text[i], strlen(text[i]));
        cr_assert_eq(fixture_try_open(&f, &s), WH_ERR_INPUT);
        cr_assert_str_eq(f.e.file, f.path);
        cr_assert_not_null(strstr(f.e.text, "expected a memo store"), "%s", f.e.text);
        cr_assert_eq(memo_store_clear(f.path, &f.e), WH_ERR_INPUT);
        after = fixture_read_file(f.path, &after_bytes);
        cr_assert_eq(after_bytes, strlen(text[i]));
        cr_assert_eq(memcmp(after, text[i], after_bytes), 0);
        free(after);
    }
    fixture_write_file(f.path, zeros, sizeof zeros);
    cr_assert_eq(fixture_try_open(&f, &s), WH_ERR_INPUT);
    (void)snprintf(f.path, sizeof f.path, "%s", f.dir);
    cr_assert_lt(fixture_try_open(&f, &s), 0, "opened a folder");
    (void)snprintf(f.path, sizeof f.path, "/dev/null");
    cr_assert_lt(fixture_try_open(&f, &s), 0, "opened a device");
    cr_assert_null(s);
    fixture_end(&f);
}

/* An LMDB file with one record, @key and @value. */
static void make_lmdb_file(const char *path, MDB_val key, MDB_val value)
{
    MDB_env *env = NULL;
    MDB_txn *txn = NULL;
    MDB_dbi dbi;

    cr_assert(!mdb_env_create(&env));
    cr_assert(!mdb_env_open(env, path, MDB_NOSUBDIR, 0666));
    cr_assert(!mdb_txn_begin(env, NULL, 0, &txn));
    cr_assert(!mdb_dbi_open(txn, NULL, 0, &dbi));
    cr_assert(!mdb_put(txn, dbi, &key, &value, 0));
    cr_assert(!mdb_txn_commit(txn));
    mdb_env_close(env);
}

Test(store_damage, lmdb_files_of_others_are_refused_and_left_alone)
{
    MDB_val key = {3, "key"}, value = {5, "value"};
    struct memo_store *s = NULL;
    struct fixture f;

    fixture_begin(&f);
    make_lmdb_file(f.path, key, value);
    cr_assert_eq(fixture_try_open(&f, &s), WH_ERR_INPUT);
    cr_assert_not_null(strstr(f.e.text, "another program"), "%s", f.e.text);
    cr_assert_eq(memo_store_clear(f.path, &f.e), WH_ERR_INPUT);
    cr_assert_eq(fixture_try_open(&f, &s), WH_ERR_INPUT);
    fixture_end(&f);
}

Test(store_damage, stores_of_another_format_are_refused_and_left_alone)
{
    const uint32_t version = MEMO_STORE_FORMAT_VERSION + 1;
    struct record_place place = record__header_place();
    const struct record header = {"wormhole memo store", &version, sizeof "wormhole memo store",
                                  sizeof version};
    unsigned char bytes[128];
    struct memo_store *s = NULL;
    struct fixture f;

    fixture_begin(&f);
    record__write(&place, &header, bytes);
    make_lmdb_file(f.path, (MDB_val){place.byte_count, place.bytes},
                   (MDB_val){record__bytes(&header), bytes});
    cr_assert_eq(fixture_try_open(&f, &s), WH_ERR_INPUT);
    cr_assert_not_null(strstr(f.e.text, "version 2, expected version 1"), "%s", f.e.text);
    cr_assert_eq(memo_store_clear(f.path, &f.e), WH_ERR_INPUT);
    fixture_end(&f);
}

Test(store_damage, truncated_files_are_refused, .timeout = 300)
{
    unsigned char *bytes;
    size_t byte_count;
    struct fixture f;

    fixture_begin(&f);
    make_store(&f);
    bytes = fixture_read_file(f.path, &byte_count);
    cr_assert_eq(try_file(&f, bytes, byte_count), 1, "the file itself");
    for (size_t pages = 1; pages < byte_count / PAGE_BYTES; pages += 1 + pages / 4) {
        cr_assert_eq(try_file(&f, bytes, pages * PAGE_BYTES), 0, "%zu pages", pages);
        cr_assert_eq(try_file(&f, bytes, pages * PAGE_BYTES - 100), 0, "%zu pages - 100", pages);
    }
    cr_assert_eq(try_file(&f, bytes, 1), 0);
    free(bytes);
    fixture_end(&f);
}

/* Does @page, as LMDB writes it, hold structure rather than a part of a value? */
static int is_structure(const unsigned char *page)
{
    const unsigned flags = page[10];

    return page[11] == 0 && (flags == 1 || flags == 2 || flags == 8); /* branch, leaf, meta */
}

/* A page to damage: any, or, three times in four, one that holds structure. */
static size_t choose_page(const unsigned char *bytes, size_t page_count, uint32_t trial)
{
    size_t page = 0;

    for (uint64_t i = 0; i < 1000; i++) {
        page = rng_u64(SEED, 3 + i, trial) % page_count;
        if (trial % 4 == 0 || is_structure(bytes + page * PAGE_BYTES))
            break;
    }
    return page;
}

/* Random bytes change: one, or a stretch. */
Test(store_damage, changed_bytes_never_crash_and_never_give_wrong_values, .timeout = 300)
{
    const char *trials_text = getenv("WH_MEMO_DAMAGE_TRIALS");
    const uint32_t trials = trials_text ? (uint32_t)strtoul(trials_text, NULL, 10) : 300;
    uint32_t count[3] = {0, 0, 0};
    unsigned char *bytes, *copy;
    size_t byte_count;
    struct fixture f;

    fixture_begin(&f);
    make_store(&f);
    bytes = fixture_read_file(f.path, &byte_count);
    copy = malloc(byte_count);
    for (uint32_t trial = 0; trial < trials; trial++) {
        const uint64_t draw = rng_u64(SEED, 1, trial);
        const size_t page = choose_page(bytes, byte_count / PAGE_BYTES, trial);
        /* A third of them in the first words of a page: its head and the places of its nodes. */
        const size_t within = draw % 3 ? (draw >> 40) % PAGE_BYTES : (draw >> 40) % 64;
        const size_t at = page * PAGE_BYTES + within;
        const size_t length = draw % 5 ? 1 + draw % 8 : 500;

        memcpy(copy, bytes, byte_count);
        for (size_t i = at; i < at + length && i < byte_count; i++)
            copy[i] = (unsigned char)(copy[i] ^ (1 + rng_u64(SEED, trial, i) % 255));
        count[try_file(&f, copy, byte_count)]++;
    }
    cr_log_info("%u refused, %u unharmed, %u with losses", count[0], count[1], count[2]);
    cr_assert_gt(count[0], trials / 20);
    cr_assert_gt(count[2], trials / 20);
    free(copy);
    free(bytes);
    fixture_end(&f);
}

/* Whole pages change places: each is sound in itself. */
Test(store_damage, exchanged_pages_never_crash_and_never_give_wrong_values, .timeout = 300)
{
    unsigned char *bytes, *copy;
    size_t byte_count, pages;
    struct fixture f;

    fixture_begin(&f);
    make_store(&f);
    bytes = fixture_read_file(f.path, &byte_count);
    copy = malloc(byte_count);
    pages = byte_count / PAGE_BYTES;
    for (uint32_t trial = 0; trial < 60; trial++) {
        const uint64_t draw = rng_u64(SEED, 2, trial);
        const size_t a = draw % pages, b = (draw >> 32) % pages;
        const size_t skip = trial % 2 ? 0 : 16; /* with and without the page's own number */

        memcpy(copy, bytes, byte_count);
        memcpy(copy + a * PAGE_BYTES + skip, bytes + b * PAGE_BYTES + skip, PAGE_BYTES - skip);
        (void)try_file(&f, copy, byte_count);
    }
    free(copy);
    free(bytes);
    fixture_end(&f);
}

/* The place of @part in @bytes; asserts that there is one. */
static unsigned char *find_bytes(unsigned char *bytes, size_t byte_count, const void *part,
                                 size_t part_bytes)
{
    for (size_t i = 0; i + part_bytes <= byte_count; i++)
        if (!memcmp(bytes + i, part, part_bytes))
            return bytes + i;
    cr_assert_fail("the value is not in the file");
    return NULL;
}

/* A number of an entry with at least so long a value. */
static uint32_t find_entry(size_t value_bytes_min)
{
    unsigned char value[8192];

    for (uint32_t i = ENTRIES / 2; i < ENTRIES; i++)
        if (fixture_value(i, value) >= value_bytes_min)
            return i;
    cr_assert_fail("no entry has %zu bytes", value_bytes_min);
    return 0;
}

static void check_damaged_entry(size_t value_bytes_min)
{
    const uint32_t number = find_entry(value_bytes_min);
    struct memo_store_verdict verdict;
    unsigned char value[8192], *bytes;
    struct fixture f;
    struct memo_store *s;
    size_t byte_count;

    fixture_begin(&f);
    s = fixture_open(&f);
    cr_assert_eq(fixture_put(&f, s, 0, ENTRIES), 0);
    memo_store_close(s);
    bytes = fixture_read_file(f.path, &byte_count);
    find_bytes(bytes, byte_count, value, fixture_value(number, value))[value_bytes_min / 2] ^= 1;
    fixture_write_file(f.path, bytes, byte_count);
    free(bytes);
    s = fixture_open(&f);
    cr_assert_eq(fixture_get(&f, s, number), WH_ERR_INPUT);
    cr_assert_not_null(strstr(f.e.text, "checksum"), "%s", f.e.text);
    for (uint32_t i = 0; i < ENTRIES; i++)
        if (i != number)
            cr_assert_eq(fixture_get(&f, s, i), 0, "%s", f.e.text);
    cr_assert_eq(memo_store_verify(s, &verdict, &f.e), 0);
    cr_assert_eq(verdict.entry_count, ENTRIES);
    cr_assert_eq(verdict.damaged_count, 1);
    cr_assert_eq(fixture_put(&f, s, number, 1), 0);
    cr_assert_eq(fixture_get(&f, s, number), 0, "not mended: %s", f.e.text);
    cr_assert_eq(memo_store_verify(s, &verdict, &f.e), 0);
    cr_assert_eq(verdict.damaged_count, 0);
    memo_store_close(s);
    fixture_end(&f);
}

Test(store_damage, a_damaged_entry_is_noticed_and_mended_by_the_next_put)
{
    check_damaged_entry(100);
    check_damaged_entry(5000); /* on pages of its own */
}

Test(store_damage, an_entry_of_another_namespace_is_a_damaged_one)
{
    const struct record_place a = {{1, 2, 3}, STORE_ENTRY_KEY_BYTES}, b = {{1, 2, 4}, 32};
    const struct record r = {"key", "value", 3, 5};
    unsigned char bytes[64];
    const MDB_val data = {record__bytes(&r), bytes}, cut = {record__bytes(&r) - 1, bytes},
                  stub = {3, bytes};
    struct record out;

    record__write(&a, &r, bytes);
    cr_assert_eq(record__read(&a, &data, &out), 0);
    cr_assert_eq(out.key_bytes, 3);
    cr_assert_eq(memcmp(out.key, "key", 3), 0);
    cr_assert_eq(memcmp(out.value, "value", 5), 0);
    cr_assert_eq(record__read(&b, &data, &out), WH_ERR_INPUT);
    cr_assert_eq(record__read(&a, &cut, &out), WH_ERR_INPUT);
    cr_assert_eq(record__read(&a, &stub, &out), WH_ERR_INPUT);
}

static int use_shrinking(void *arg)
{
    struct fixture *f = arg;
    struct memo_store *s = fixture_open(f);
    struct memo_store_verdict verdict;

    if (truncate(f->path, 3 * PAGE_BYTES))
        return 1;
    if (fixture_get(f, s, 1) != WH_ERR_INPUT || !strstr(f->e.text, "shorter"))
        return 2;
    if (fixture_put(f, s, 0, 10) != WH_ERR_INPUT ||
        memo_store_verify(s, &verdict, &f->e) != WH_ERR_INPUT)
        return 3;
    memo_store_close(s);
    return 0;
}

Test(store_damage, a_file_that_gets_shorter_while_open_is_noticed)
{
    struct fixture f;

    fixture_begin(&f);
    make_store(&f);
    cr_assert_eq(fixture_in_child(use_shrinking, &f), 0);
    fixture_end(&f);
}

static int use_foreign_lock(void *arg)
{
    struct fixture *f = arg;
    static const char text[] = "this is no table of readers";

    fixture_write_file(f->lock_path, text, sizeof text);
    return use_store(f);
}

Test(store_damage, a_damaged_lock_file_is_made_anew)
{
    struct fixture f;

    fixture_begin(&f);
    make_store(&f);
    cr_assert_eq(fixture_in_child(use_foreign_lock, &f), 1);
    fixture_end(&f);
}

/* Holds the lock that users of a file share, from when it says so until it is told to end. */
static int hold_lock(const struct fixture *f, int ready, int over)
{
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_len = 1};
    const int fd = open(f->lock_path, O_RDWR);
    char byte = 0;

    return fd < 0 || fcntl(fd, F_SETLK, &lock) || write(ready, "1", 1) != 1 ||
           read(over, &byte, 1) != 1;
}

/* What a process leaves behind that is killed while it makes the lock file anew, for one that has
 * waited for it: no transaction is known. LMDB itself would go on with the wrong one. */
Test(store_damage, a_lock_file_that_does_not_fit_is_refused_and_made_anew)
{
    const off_t txn_id_offset = 48; /* LMDB's mtb_txnid */
    const uint64_t none = 0;
    struct memo_store *s = NULL;
    int ready[2], over[2], fd;
    struct fixture f;
    char byte = 0;
    pid_t pid;

    fixture_begin(&f);
    make_store(&f);
    cr_assert(!pipe(ready) && !pipe(over));
    pid = fork();
    if (pid == 0)
        _exit(hold_lock(&f, ready[1], over[0]));
    cr_assert_eq(read(ready[0], &byte, 1), 1);
    fd = open(f.lock_path, O_WRONLY);
    cr_assert_eq(pwrite(fd, &none, sizeof none, txn_id_offset), sizeof none);
    cr_assert_eq(close(fd), 0);
    cr_assert_eq(fixture_try_open(&f, &s), WH_ERR_IO);
    cr_assert_not_null(strstr(f.e.text, "lock file"), "%s", f.e.text);
    cr_assert_eq(write(over[1], "1", 1), 1);
    cr_assert_eq(waitpid(pid, NULL, 0), pid);
    cr_assert_eq(fixture_in_child(use_store, &f), 1);
    fixture_end(&f);
}

Test(store_damage, clear_makes_a_damaged_file_anew)
{
    unsigned char *bytes;
    size_t byte_count;
    struct fixture f;
    struct memo_store *s = NULL;

    fixture_begin(&f);
    make_store(&f);
    bytes = fixture_read_file(f.path, &byte_count);
    fixture_write_file(f.path, bytes, byte_count / 2);
    free(bytes);
    cr_assert_eq(fixture_try_open(&f, &s), WH_ERR_INPUT);
    cr_assert_eq(memo_store_clear(f.path, &f.e), 0, "%s", f.e.text);
    s = fixture_open(&f);
    cr_assert_eq(fixture_get(&f, s, 0), MEMO_STORE_ABSENT);
    cr_assert_eq(fixture_put(&f, s, 0, 10), 0);
    cr_assert_eq(fixture_get(&f, s, 0), 0);
    memo_store_close(s);
    fixture_end(&f);
}

static int clear_other(void *arg)
{
    struct fixture *f = arg;

    return memo_store_clear(f->path, &f->e) == WH_ERR_STATE && strstr(f->e.text, "uses it") ? 0 : 1;
}

Test(store_damage, clear_leaves_a_damaged_file_that_is_in_use)
{
    struct fixture f;
    struct memo_store *s;
    int fd;

    fixture_begin(&f);
    make_store(&f);
    s = fixture_open(&f);
    fd = open(f.path, O_WRONLY);
    cr_assert_geq(fd, 0);
    cr_assert_eq(pwrite(fd, "damage", 6, 40), 6); /* where the length of a page stands */
    cr_assert_eq(close(fd), 0);
    cr_assert_eq(fixture_in_child(clear_other, &f), 0);
    memo_store_close(s);
    fixture_end(&f);
}
