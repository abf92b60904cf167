/*
 * memo_key.c - the hash of a key: see memo_key.h.
 */
#include "memo_key.h"

#include <xxhash.h>

struct memo_key memo_key_make(const void *key, size_t key_bytes)
{
    return (struct memo_key){XXH3_64bits(key, key_bytes), key, key_bytes};
}
