/*
 * memo_fixture.h - what the tests of the store share: a folder of their own, entries that follow
 * from a number, files to damage, children that must not crash. Threading: one thread.
 */
#ifndef WH_MEMO_FIXTURE_H
#define WH_MEMO_FIXTURE_H

#include "store.h"

#include <stddef.h>
#include <stdint.h>

/* One test's folder; fixture_begin makes it and fixture_end removes it with all files. */
struct fixture {
    char dir[256], path[512], lock_path[512];
    struct err_info e;
};
void fixture_begin(struct fixture *f);
void fixture_end(struct fixture *f);

/* With settings "s" and version "v". The first asserts that it works. */
struct memo_store *fixture_open(struct fixture *f);
int fixture_try_open(struct fixture *f, struct memo_store **out);
struct memo_store *fixture_open_with(struct fixture *f, const char *version, const char *settings);

/* Entry @number: a key of 4 to 67 bytes and a value of 0 to 8,000, often small. */
struct memo_key fixture_key(uint32_t number, unsigned char key[128]);
size_t fixture_value(uint32_t number, unsigned char value[8192]);

int fixture_put(struct fixture *f, struct memo_store *s, uint32_t first, uint32_t count);

/* Looks it up: 0 found and right, MEMO_STORE_ABSENT, a negative error, 2: found and wrong. */
int fixture_get(struct fixture *f, struct memo_store *s, uint32_t number);

/* The whole file. malloc's, the caller's to free. */
unsigned char *fixture_read_file(const char *path, size_t *byte_count);
void fixture_write_file(const char *path, const void *bytes, size_t byte_count);

/* Runs @fn(@arg) in a child. Returns its result (0..255), or 1000 + the signal that ended it. */
int fixture_in_child(int (*fn)(void *arg), void *arg);

#endif
