/*
 * store_record.c - the records of the store: where they are and how they are checked. See
 * store_int.h.
 */
#include "store_int.h"

#include <string.h>
#include <xxhash.h>

struct record_place record__header_place(void)
{
    return (struct record_place){{0}, 1};
}

static void add_hash(struct record_place *place, XXH128_hash_t hash)
{
    XXH128_canonical_t canonical;

    XXH128_canonicalFromHash(&canonical, hash);
    memcpy(place->bytes + place->byte_count, canonical.digest, sizeof canonical.digest);
    place->byte_count += sizeof canonical.digest;
}

/* Both parts are hashed by themselves, or "1" + "23" would be "12" + "3". */
struct record_place record__space_place(const struct record *space)
{
    const XXH128_hash_t part[2] = {XXH3_128bits(space->key, space->key_bytes),
                                   XXH3_128bits(space->value, space->value_bytes)};
    struct record_place place = {{0}, 0};

    add_hash(&place, XXH3_128bits_withSeed(part, sizeof part, MEMO_STORE_FORMAT_VERSION));
    return place;
}

struct record_place record__entry_place(const struct record_place *space, const void *key,
                                        size_t key_bytes)
{
    struct record_place place = *space;

    add_hash(&place, XXH3_128bits(key, key_bytes));
    return place;
}

size_t record__bytes(const struct record *r)
{
    return sizeof(struct record_head) + r->value_bytes + r->key_bytes;
}

static uint64_t calc_checksum(const struct record_place *place, const unsigned char *record,
                              size_t record_bytes)
{
    const size_t skip = sizeof(uint64_t);

    return XXH3_64bits_withSeed(record + skip, record_bytes - skip,
                                XXH3_64bits(place->bytes, place->byte_count));
}

void record__write(const struct record_place *place, const struct record *r, void *out)
{
    struct record_head head = {0, r->key_bytes, r->value_bytes};
    unsigned char *to = out;

    memcpy(to, &head, sizeof head);
    if (r->value_bytes)
        memcpy(to + sizeof head, r->value, r->value_bytes);
    if (r->key_bytes)
        memcpy(to + sizeof head + r->value_bytes, r->key, r->key_bytes);
    head.checksum = calc_checksum(place, to, record__bytes(r));
    memcpy(to, &head.checksum, sizeof head.checksum);
}

int record__read(const struct record_place *place, const MDB_val *data, struct record *out)
{
    const unsigned char *from = data->mv_data;
    struct record_head head;
    size_t rest_bytes;

    if (data->mv_size < sizeof head)
        return WH_ERR_INPUT;
    memcpy(&head, from, sizeof head);
    rest_bytes = data->mv_size - sizeof head;
    if (head.value_bytes > rest_bytes || head.key_bytes != rest_bytes - head.value_bytes)
        return WH_ERR_INPUT;
    if (head.checksum != calc_checksum(place, from, data->mv_size))
        return WH_ERR_INPUT;
    from += sizeof head;
    *out = (struct record){from + head.value_bytes, from, head.key_bytes, head.value_bytes};
    return 0;
}
