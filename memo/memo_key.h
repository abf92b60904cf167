/*
 * memo_key.h - what an entry of the memo is found by: bytes, with their hash beside them.
 *
 * Two keys are equal when their bytes are; the hash only says where to look. Threading: pure.
 */
#ifndef WH_MEMO_KEY_H
#define WH_MEMO_KEY_H

#include <stddef.h>
#include <stdint.h>

/* Open because callers embed it. The bytes belong to whoever made the key. */
struct memo_key {
    uint64_t hash;
    const void *key;
    size_t key_bytes;
};

/* memo_key_make - the key of @key_bytes bytes at @key, hashed by XXH3 (64 bits). */
struct memo_key memo_key_make(const void *key, size_t key_bytes);

#endif
