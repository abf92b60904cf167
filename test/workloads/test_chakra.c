/*
 * test_chakra.c - execution traces: meaning of the samples, every kind of attribute, refusals,
 * gzip, writing and reading back.
 *
 * Small traces are written in words, one node up to each ';':
 *   id=3 type=7 dur=5 name=x data=1 ctrl=2 comm_type/9=0
 * where attribute/N=value names the field of the attribute's message, and so its kind.
 */
#include "chakra.h"
#include "hpcc_files.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define KIB INT64_C(1024)

static struct text_folder folder;
static struct warnings warnings;
static struct err_info err;

static void set_up(void)
{
    text_folder_create(&folder);
    memset(&err, 0, sizeof err);
}

static void tear_down(void)
{
    text_folder_destroy(&folder);
}

TestSuite(chakra, .init = set_up, .fini = tear_down);

/* Bytes of a message that is being made. */
struct buf {
    uint8_t data[4096];
    size_t bytes;
};

static void put_bytes(struct buf *b, const void *data, size_t bytes)
{
    cr_assert(b->bytes + bytes <= sizeof b->data);
    memcpy(b->data + b->bytes, data, bytes);
    b->bytes += bytes;
}

static void put_varint(struct buf *b, uint64_t value)
{
    do {
        uint8_t byte = (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));

        put_bytes(b, &byte, 1);
        value >>= 7;
    } while (value);
}

static void put_field(struct buf *b, unsigned field, const void *data, size_t bytes)
{
    put_varint(b, field << 3 | 2);
    put_varint(b, bytes);
    put_bytes(b, data, bytes);
}

/* A number as field @field of AttributeProto. */
static void put_number(struct buf *b, unsigned field, int64_t value)
{
    uint64_t bits = (uint64_t)value;
    double real = (double)value;

    switch (field) {
    case 3:
        put_varint(b, field << 3 | 1);
        put_bytes(b, &real, 8);
        break;
    case 19:
    case 23:
        put_varint(b, field << 3 | 5);
        put_bytes(b, &bits, 4);
        break;
    case 21:
    case 25:
        put_varint(b, field << 3 | 1);
        put_bytes(b, &bits, 8);
        break;
    case 15:
    case 17:
        put_varint(b, field << 3);
        put_varint(b, bits << 1 ^ (value < 0 ? UINT64_MAX : 0));
        break;
    default:
        put_varint(b, field << 3);
        put_varint(b, bits);
        break;
    }
}

static void put_attr(struct buf *node, const char *name, size_t name_chars, unsigned field,
                     const char *value)
{
    struct buf a = {0}, list = {0}, bools = {0};

    put_field(&a, 1, name, name_chars);
    if (field == 29) {
        put_field(&a, field, value, strlen(value));
    } else if (field == 28) {
        for (const char *p = value; *p; p++)
            put_varint(&bools, *p == '1');
        put_field(&list, 1, bools.data, bools.bytes);
        put_field(&a, field, list.data, list.bytes);
    } else {
        put_number(&a, field, (int64_t)strtoull(value, NULL, 10));
    }
    put_field(node, 10, a.data, a.bytes);
}

static void put_word(struct buf *node, const char *word)
{
    static const struct {
        const char *name;
        unsigned field;
    } fields[] = {{"id=", 1}, {"type=", 3}, {"ctrl=", 4}, {"data=", 5}, {"dur=", 7}};
    const char *slash = strchr(word, '/');

    for (size_t i = 0; i < COUNT(fields); i++) {
        size_t chars = strlen(fields[i].name);

        if (!strncmp(word, fields[i].name, chars)) {
            put_varint(node, fields[i].field << 3);
            put_varint(node, strtoull(word + chars, NULL, 10));
            return;
        }
    }
    if (!strncmp(word, "name=", 5)) {
        put_field(node, 2, word + 5, strlen(word + 5));
        return;
    }
    cr_assert(slash && strchr(slash, '='), "word %s", word);
    put_attr(node, word, (size_t)(slash - word), (unsigned)atoi(slash + 1), strchr(slash, '=') + 1);
}

static const char meta[] = "\x07\x0a\x05"
                           "0.0.4";

/* A whole file from words. */
static void put_trace(struct buf *file, const char *text)
{
    char copy[1024], *rest = copy, *node_text;

    put_bytes(file, meta, sizeof meta - 1);
    snprintf(copy, sizeof copy, "%s", text);
    while ((node_text = strsep(&rest, ";"))) {
        struct buf node = {0};
        char *word;

        while ((word = strsep(&node_text, " ")))
            if (*word)
                put_word(&node, word);
        if (!node.bytes)
            continue;
        put_varint(file, node.bytes);
        put_bytes(file, node.data, node.bytes);
    }
}

static struct et_trace *read_with(const char *path, uint32_t rank, const struct et_options *o)
{
    struct et_trace *t = NULL;
    struct warn_sink sink = warnings_sink(&warnings);
    int rc = et_read(path, rank, o, &t, &sink, &err);

    cr_expect_eq(rc, t ? 0 : WH_ERR_INPUT, "code %d: %s", rc, err.text);
    return t;
}

static struct et_trace *read_bytes(const void *data, size_t bytes)
{
    char path[128];

    return read_with(text_folder_write(&folder, "t.0.et", data, bytes, path, sizeof path), 0, NULL);
}

static struct et_trace *read_words(const char *text)
{
    struct buf file = {0};

    put_trace(&file, text);
    return read_bytes(file.data, file.bytes);
}

static struct et_trace *read_sample(const char *prefix, uint32_t rank)
{
    char path[256];

    snprintf(path, sizeof path, TEST_DATA_DIR "/astra/%s.%u.et", prefix, rank);
    return read_with(path, rank, NULL);
}

static const struct et_node *node_of(const struct et_trace *t, uint32_t row)
{
    cr_assert_lt(row, t->node_count);
    return &t->nodes[row];
}

Test(chakra, sample_ar4_is_one_all_reduce_of_a_mib_per_rank)
{
    for (uint32_t r = 0; r < 4; r++) {
        struct et_trace *t = read_sample("ar4", r);

        cr_assert_not_null(t, "%s", err.text);
        cr_expect_eq(warnings.count, 0, "%s", warnings.text);
        cr_expect_str_eq(et_text(t, t->version), "0.0.4");
        cr_assert_eq(t->node_count, 1);
        const struct et_node *n = node_of(t, 0);

        cr_expect(n->id == 0 && n->type == ET_COLLECTIVE && n->comm_type == ET_ALL_REDUCE);
        cr_expect_eq(n->comm_bytes, 1024 * KIB);
        cr_expect_str_eq(et_text(t, n->name), "all_reduce_1MiB");
        cr_expect_str_eq(et_text(t, n->group), "");
        cr_expect_eq(t->dep_count, 0);
        et_trace_destroy(t);
    }
}

Test(chakra, sample_pp2_rank_0_computes_sends_receives_computes)
{
    struct et_trace *t = read_sample("pp2", 0);

    cr_assert_not_null(t, "%s", err.text);
    cr_assert_eq(t->node_count, 4);
    const struct et_node *send = node_of(t, 1), *recv = node_of(t, 2);

    cr_expect(node_of(t, 0)->type == ET_COMPUTE && node_of(t, 0)->duration_us == 10);
    cr_expect(send->type == ET_SEND && send->comm_dst == 1 && send->comm_tag == 7 &&
              send->comm_bytes == 64 * KIB);
    cr_expect(recv->type == ET_RECV && recv->comm_src == 1 && recv->comm_tag == 8 &&
              recv->comm_bytes == 64 * KIB);
    cr_expect(node_of(t, 3)->type == ET_COMPUTE && node_of(t, 3)->duration_us == 20);
    for (uint32_t i = 1; i < 4; i++) {
        cr_assert_eq(node_of(t, i)->data_dep_count, 1);
        cr_expect_eq(t->deps[node_of(t, i)->dep_first], i - 1);
    }
    et_trace_destroy(t);
}

Test(chakra, sample_pp2_rank_1_receives_computes_sends)
{
    struct et_trace *t = read_sample("pp2", 1);

    cr_assert_not_null(t, "%s", err.text);
    cr_assert_eq(t->node_count, 3);
    cr_expect(node_of(t, 0)->type == ET_RECV && node_of(t, 0)->comm_tag == 7);
    cr_expect(node_of(t, 1)->type == ET_COMPUTE && node_of(t, 1)->duration_us == 30);
    cr_expect(node_of(t, 2)->type == ET_SEND && node_of(t, 2)->comm_tag == 8 &&
              node_of(t, 2)->comm_dst == 0);
    et_trace_destroy(t);
}

Test(chakra, sample_grp4_has_two_groups_and_then_all)
{
    for (uint32_t r = 0; r < 4; r++) {
        struct et_trace *t = read_sample("grp4", r);

        cr_assert_not_null(t, "%s", err.text);
        cr_assert_eq(t->node_count, 2);
        const struct et_node *first = node_of(t, 0), *second = node_of(t, 1);

        cr_expect(first->id == 10 && second->id == 11);
        cr_expect_eq(first->comm_type, r < 2 ? ET_ALL_GATHER : ET_ALL_TO_ALL);
        cr_expect_eq(first->comm_bytes, 256 * KIB);
        cr_expect_str_eq(et_text(t, first->group), r < 2 ? "1" : "2");
        cr_expect(second->comm_type == ET_ALL_REDUCE && second->comm_bytes == 1024 * KIB);
        cr_assert_eq(second->data_dep_count, 1);
        cr_expect_eq(t->deps[second->dep_first], 0);
        et_trace_destroy(t);
    }
}

Test(chakra, sample_sets_are_complete_and_name_ranks_that_exist)
{
    static const struct {
        const char *prefix;
        uint32_t ranks;
    } steps[] = {{"ar4", 4}, {"pp2", 2}, {"grp4", 4}};

    for (size_t i = 0; i < COUNT(steps); i++) {
        struct et_set s;
        char prefix[256];

        snprintf(prefix, sizeof prefix, TEST_DATA_DIR "/astra/%s", steps[i].prefix);
        cr_assert_eq(et_read_set(prefix, NULL, &s, NULL, &err), 0, "%s", err.text);
        cr_expect_eq(s.rank_count, steps[i].ranks);
        cr_expect_eq(et_set_check(&s, &err), 0, "%s", err.text);
        et_set_fini(&s);
    }
}

Test(chakra, bad_samples_name_the_byte_and_the_nodes)
{
    cr_expect_null(read_with(TEST_DATA_DIR "/astra/bad/et_truncated.0.et", 0, NULL));
    cr_expect(strstr(err.file, "et_truncated.0.et"));
    cr_expect(strstr(err.text, "end of the file at byte 66, inside the message at byte 8"), "%s",
              err.text);
    cr_expect_null(read_with(TEST_DATA_DIR "/astra/bad/et_cycle.0.et", 0, NULL));
    cr_expect(strstr(err.text, "2 node(s) that wait for one another: 0 -> 1 -> 0"), "%s", err.text);
}

Test(chakra, any_integer_kind_will_do)
{
    static const unsigned kinds[] = {7, 9, 11, 13, 15, 17, 19, 21, 23, 25};

    for (size_t i = 0; i < COUNT(kinds); i++) {
        char text[256];
        unsigned k = kinds[i];

        snprintf(text, sizeof text,
                 "id=1 type=7 is_cpu_op/%u=1 comm_type/%u=2 comm_size/%u=300 comm_priority/%u=9 "
                 "comm_tag/%u=5 num_ops/%u=6 tensor_size/%u=7 pg_name/%u=3",
                 k, k, k, k, k, k, k, k);
        struct et_trace *t = read_words(text);

        cr_assert_not_null(t, "%u: %s", k, err.text);
        const struct et_node *n = node_of(t, 0);

        cr_expect(n->is_cpu_op && n->comm_type == ET_ALL_GATHER && n->comm_bytes == 300, "%u", k);
        cr_expect(n->comm_priority == 9 && n->comm_tag == 5 && n->num_ops == 6 &&
                      n->tensor_bytes == 7,
                  "%u", k);
        cr_expect_str_eq(et_text(t, n->group), "3");
        et_trace_destroy(t);
    }
}

Test(chakra, signed_kinds_hold_negative_tags)
{
    static const unsigned kinds[] = {7, 9, 15, 17, 23, 25};

    for (size_t i = 0; i < COUNT(kinds); i++) {
        char text[128];

        snprintf(text, sizeof text, "type=5 comm_dst/7=1 comm_size/9=1 comm_tag/%u=%" PRIu64,
                 kinds[i], (uint64_t)INT64_C(-3));
        struct et_trace *t = read_words(text);

        cr_assert_not_null(t, "%u: %s", kinds[i], err.text);
        cr_expect_eq(node_of(t, 0)->comm_tag, -3, "%u", kinds[i]);
        et_trace_destroy(t);
    }
}

Test(chakra, dimensions_are_a_list_of_bools_under_several_names)
{
    static const char *const names[] = {"involved_dim", "involved_dims", "involed_dim"};

    for (size_t i = 0; i < COUNT(names); i++) {
        char text[128];

        snprintf(text, sizeof text, "type=7 comm_type/9=9 %s/28=0110", names[i]);
        struct et_trace *t = read_words(text);

        cr_assert_not_null(t, "%s", err.text);
        cr_expect(node_of(t, 0)->dim_count == 4 && node_of(t, 0)->dim_mask == 6, "%s", names[i]);
        et_trace_destroy(t);
    }
}

Test(chakra, nodes_may_come_in_any_order_with_any_ids)
{
    struct et_trace *t = read_words("id=900 type=4 data=18446744073709551615 ctrl=5;"
                                    "id=18446744073709551615 type=4; id=5 type=1");

    cr_assert_not_null(t, "%s", err.text);
    const struct et_node *n = node_of(t, 0);

    cr_expect(n->data_dep_count == 1 && n->ctrl_dep_count == 1);
    cr_expect(t->deps[n->dep_first] == 1 && t->deps[n->dep_first + 1] == 2);
    et_trace_destroy(t);
}

Test(chakra, packed_dependencies_are_read)
{
    static const char bytes[] = "\x07\x0a\x05"
                                "0.0.4"
                                "\x04\x08\x01\x18\x04"
                                "\x04\x08\x02\x18\x04"
                                "\x08\x08\x03\x18\x04\x2a\x02\x01\x02";
    struct et_trace *t = read_bytes(bytes, sizeof bytes - 1);

    cr_assert_not_null(t, "%s", err.text);
    cr_expect_eq(node_of(t, 2)->data_dep_count, 2);
    et_trace_destroy(t);
}

Test(chakra, control_dependencies_can_be_left_out)
{
    const struct et_options o = {.skip_ctrl_deps = 1};
    struct buf file = {0};
    char path[128];

    put_trace(&file, "id=1 type=4 ctrl=2; id=2 type=4 data=1");
    cr_expect_null(read_bytes(file.data, file.bytes));
    text_folder_write(&folder, "c.0.et", (char *)file.data, file.bytes, path, sizeof path);
    struct et_trace *t = read_with(path, 0, &o);

    cr_assert_not_null(t, "%s", err.text);
    cr_expect_eq(t->dep_count, 1);
    et_trace_destroy(t);
}

Test(chakra, a_long_chain_is_no_problem)
{
    struct et_trace *t = NULL;

    cr_assert_eq(et_trace_create(&t, "chain", 0), 0);
    for (uint64_t i = 0; i < 200000; i++) {
        const struct et_node n = {.id = i, .type = ET_COMPUTE, .comm_src = -1, .comm_dst = -1};
        uint64_t dep = i + 1;
        const struct et_refs refs = {.data_deps = &dep, .data_dep_count = i + 1 < 200000};

        cr_assert_eq(et_trace_add(t, &n, &refs, &err), 0);
    }
    cr_expect_eq(et_trace_finish(t, &err), 0, "%s", err.text);
    et_trace_destroy(t);
}

Test(chakra, newer_writers_put_the_version_into_an_attribute)
{
    struct buf m = {0}, file = {0}, attr = {0};

    put_field(&attr, 1, "schema", 6);
    put_field(&attr, 29, "1.0.2-chakra.0.0.4", 18);
    put_field(&m, 2, attr.data, attr.bytes);
    put_varint(&file, m.bytes);
    put_bytes(&file, m.data, m.bytes);
    struct et_trace *t = read_bytes(file.data, file.bytes);

    cr_assert_not_null(t, "%s", err.text);
    cr_expect_str_eq(et_text(t, t->version), "1.0.2-chakra.0.0.4");
    cr_expect_eq(t->node_count, 0);
    et_trace_destroy(t);
}

Test(chakra, oddities_are_read_with_one_warning)
{
    static const struct {
        const char *words, *part;
    } steps[] = {
        {"id=1 type=0; id=2 type=0", "type 0 (invalid)"},
        {"id=1 type=5 comm_src/7=3 comm_dst/7=1 comm_size/9=1;"
         "id=2 type=6 comm_src/7=1 comm_dst/7=9 comm_size/9=1",
         "another rank than the file name"},
    };

    for (size_t i = 0; i < COUNT(steps); i++) {
        struct et_trace *t = read_words(steps[i].words);

        cr_assert_not_null(t, "%s", err.text);
        cr_expect_eq(warnings.count, 1, "%s", warnings.text);
        cr_expect(warnings_have(&warnings, steps[i].part), "%s", warnings.text);
        et_trace_destroy(t);
    }
}

Test(chakra, malformed_nodes_are_refused_with_id_and_reason)
{
    static const struct {
        const char *words, *part;
    } steps[] = {
        {"id=3 type=8", "node 3 at byte 8: found node type 8"},
        {"id=3 type=4294967295", "found node type -1"},
        {"id=3 type=7 comm_size/9=1", "a collective without comm_type"},
        {"id=3 type=7 comm_type/9=0", "a collective without comm_size"},
        {"id=3 type=7 comm_type/9=10 comm_size/9=1", "comm_type 10"},
        {"id=3 type=7 comm_type/9=18446744073709551615 comm_size/9=1", "comm_type -1"},
        {"id=3 type=7 comm_type/3=0 comm_size/9=1", "comm_type of another kind"},
        {"id=3 type=7 comm_type/29=ALL_REDUCE comm_size/9=1", "comm_type of another kind"},
        {"id=3 type=7 comm_type/9=0 comm_size/9=18446744073709551615", "comm_size -1"},
        {"id=3 type=7 comm_type/9=0 comm_size/13=9223372036854775808", "comm_size of another kind"},
        {"id=3 type=7 comm_type/9=0 comm_size/21=18446744073709551615",
         "comm_size of another kind"},
        {"id=3 type=7 comm_type/9=0 comm_size/29=big", "comm_size of another kind"},
        {"id=3 type=7 comm_type/9=0 comm_size/9=1 pg_name/28=1", "pg_name of another kind"},
        {"id=3 type=7 comm_type/9=0 comm_size/9=1 pg_name/7=18446744073709551615", "pg_name -1"},
        {"id=3 type=7 comm_type/9=0 comm_size/9=1 involved_dim/9=1", "involved_dim of another"},
        {"id=3 type=7 comm_type/9=0 comm_size/9=1 "
         "involved_dim/28=111111111111111111111111111111111",
         "involved_dim of another kind"},
        {"id=3 type=7 comm_type/9=0 comm_size/9=1 comm_priority/9=4294967296", "comm_priority 42"},
        {"id=3 type=5 comm_size/9=1", "a send without comm_dst"},
        {"id=3 type=5 comm_dst/7=1", "a send without comm_size"},
        {"id=3 type=5 comm_dst/7=18446744073709551615 comm_size/9=1", "without comm_dst"},
        {"id=3 type=5 comm_dst/9=2147483648 comm_size/9=1", "comm_dst 2147483648"},
        {"id=3 type=5 comm_dst/7=1 comm_size/9=1 comm_tag/9=2147483648", "comm_tag 2147483648"},
        {"id=3 type=6 comm_size/9=1", "a receive without comm_src"},
        {"id=3 type=6 comm_src/7=1", "a receive without comm_size"},
        {"id=3 type=6 comm_src/7=18446744073709551615 comm_size/9=1", "without comm_src"},
        {"id=3 type=4 is_cpu_op/9=2", "is_cpu_op 2"},
        {"id=3 type=4 is_cpu_op/29=true", "is_cpu_op of another kind"},
        {"id=3 type=4 num_ops/9=18446744073709551615", "num_ops -1"},
        {"id=3 type=2 tensor_size/9=18446744073709551615", "tensor_size -1"},
        {"id=3 type=4; id=3 type=4", "two nodes with id 3"},
        {"type=4; type=4", "two nodes with id 0"},
        {"id=3 type=4 data=4", "node 3: found a data dependency on node 4, which is not"},
        {"id=3 type=4 ctrl=5", "node 3: found a control dependency on node 5, which is not"},
        {"id=3 type=4 data=3", "1 node(s) that wait for one another: 3 -> 3"},
        {"id=1 type=4; id=3 type=4 data=1 data=5; id=5 type=4 ctrl=7; id=7 type=4 data=3",
         "3 node(s) that wait for one another: 3 -> 5 -> 7 -> 3"},
    };

    for (size_t i = 0; i < COUNT(steps); i++) {
        cr_expect_null(read_words(steps[i].words), "%zu: accepted %s", i, steps[i].words);
        cr_expect(strstr(err.text, steps[i].part), "%zu: %s", i, err.text);
        cr_expect(strstr(err.text, "expected"), "%zu: %s", i, err.text);
        cr_expect(strstr(err.file, "t.0.et"), "%zu: %s", i, err.file);
    }
}

#define RAW(literal) (literal), sizeof(literal) - 1

Test(chakra, malformed_bytes_are_refused_with_the_place)
{
    static const struct {
        const char *bytes;
        size_t count;
        const char *part;
    } steps[] = {
        {RAW(""), "an empty file"},
        {RAW("\x07"), "end of the file at byte 1, inside the message at byte 0"},
        {RAW("\x80"), "in the length of the message at byte 0"},
        {RAW("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), "no end of the length"},
        {RAW("\xff\xff\xff\xff\xff\x01"), "a message of 68719476735 bytes at byte 0"},
        {RAW("\xff\xff\xff\x7f"
             "abc"),
         "expected 268435452 more bytes"},
        {RAW("\x04\x08\x01\x18\x04"), "4 bytes at byte 0 that are no GlobalMetadata"},
        {RAW("\x02\x18\x04"), "no GlobalMetadata"},
        {RAW("\x03\x0a\x05v"), "no GlobalMetadata"},
        {RAW("\x01\xff"), "no GlobalMetadata"},
        {RAW("\x07\x0a\x05"
             "0.0.4"
             "\x02\x0a\x09"),
         "2 bytes at byte 8 that are no Node"},
        {RAW("\x07\x0a\x05"
             "0.0.4"
             "\x03\x0a\x01x"),
         "no Node"},
        {RAW("# a text file\n"), "inside the message at byte 0"},
        {RAW("\x1f\x8b\x08"), "gzip"},
        {RAW("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03not deflate at all"), "gzip"},
    };

    for (size_t i = 0; i < COUNT(steps); i++) {
        cr_expect_null(read_bytes(steps[i].bytes, steps[i].count), "%zu", i);
        cr_expect(strstr(err.text, steps[i].part), "%zu: %s", i, err.text);
        cr_expect(strstr(err.text, "expected"), "%zu: %s", i, err.text);
    }
}

static size_t load(const char *path, uint8_t *out, size_t out_bytes)
{
    FILE *f = fopen(path, "rb");

    cr_assert_not_null(f, "%s", path);
    size_t bytes = fread(out, 1, out_bytes, f);

    fclose(f);
    return bytes;
}

/* Records of pp2.0.et begin at 0, 8, 34, 127, 221 and end at 252. */
Test(chakra, a_file_cut_anywhere_but_between_messages_is_refused)
{
    uint8_t data[512];
    size_t bytes = load(TEST_DATA_DIR "/astra/pp2.0.et", data, sizeof data);
    unsigned accepted = 0;

    cr_assert_eq(bytes, 252);
    for (size_t cut = 0; cut <= bytes; cut++) {
        struct et_trace *t = read_bytes(data, cut);

        accepted += t != NULL;
        et_trace_destroy(t);
    }
    cr_expect_eq(accepted, 5, "%u", accepted);
}

static void compress_file(const char *path, const void *data, unsigned bytes)
{
    gzFile gz = gzopen(path, "wb");

    cr_assert_not_null(gz);
    cr_assert_eq(gzwrite(gz, data, bytes), (int)bytes);
    gzclose(gz);
}

static void expect_equal(const struct et_trace *a, const struct et_trace *b)
{
    cr_assert_eq(a->node_count, b->node_count);
    cr_assert_eq(a->dep_count, b->dep_count);
    cr_expect_str_eq(et_text(a, a->version), et_text(b, b->version));
    cr_expect_str_eq(et_text(a, a->groups_json), et_text(b, b->groups_json));
    for (uint32_t i = 0; i < a->node_count; i++) {
        const struct et_node *x = &a->nodes[i], *y = &b->nodes[i];

        cr_expect(x->id == y->id && x->type == y->type && x->comm_type == y->comm_type);
        cr_expect(x->duration_us == y->duration_us && x->comm_bytes == y->comm_bytes);
        cr_expect(x->num_ops == y->num_ops && x->tensor_bytes == y->tensor_bytes);
        cr_expect(x->comm_src == y->comm_src && x->comm_dst == y->comm_dst);
        cr_expect(x->comm_tag == y->comm_tag && x->comm_priority == y->comm_priority);
        cr_expect(x->dim_count == y->dim_count && x->dim_mask == y->dim_mask);
        cr_expect(x->is_cpu_op == y->is_cpu_op);
        cr_expect(x->data_dep_count == y->data_dep_count && x->dep_first == y->dep_first &&
                  x->ctrl_dep_count == y->ctrl_dep_count);
        cr_expect_str_eq(et_text(a, x->name), et_text(b, y->name));
        cr_expect_str_eq(et_text(a, x->group), et_text(b, y->group));
    }
    cr_expect_arr_eq(a->deps, b->deps, a->dep_count * sizeof *a->deps);
}

Test(chakra, a_compressed_file_reads_as_the_plain_one)
{
    uint8_t data[512];
    size_t bytes = load(TEST_DATA_DIR "/astra/grp4.0.et", data, sizeof data);
    struct et_trace *plain = read_sample("grp4", 0);
    char path[128];

    snprintf(path, sizeof path, "%s/z.0.et", folder.path);
    compress_file(path, data, (unsigned)bytes);
    struct et_trace *t = read_with(path, 0, NULL);

    cr_assert(t && plain, "%s", err.text);
    expect_equal(plain, t);
    et_trace_destroy(t);
    et_trace_destroy(plain);
}

Test(chakra, a_compressed_file_that_is_cut_or_damaged_is_refused)
{
    uint8_t data[512], packed[512];
    size_t bytes = load(TEST_DATA_DIR "/astra/grp4.0.et", data, sizeof data);
    char path[128];

    snprintf(path, sizeof path, "%s/z.0.et", folder.path);
    compress_file(path, data, (unsigned)bytes);
    bytes = load(path, packed, sizeof packed);
    for (size_t cut = 0; cut < bytes; cut++)
        cr_expect_null(read_bytes(packed, cut), "%zu of %zu bytes", cut, bytes);
    packed[bytes - 8] ^= 1; /* checksum */
    cr_expect_null(read_bytes(packed, bytes));
    cr_expect(strstr(err.text, "gzip"), "%s", err.text);
}

static struct et_trace *write_and_read(const struct et_trace *t)
{
    char path[128];

    snprintf(path, sizeof path, "%s/w.0.et", folder.path);
    FILE *f = fopen(path, "wb");

    cr_assert_not_null(f);
    cr_assert_eq(et_write(f, t), 0);
    fclose(f);
    return read_with(path, t->rank, NULL);
}

Test(chakra, what_is_written_reads_back_equal)
{
    static const char *const samples[] = {"ar4", "pp2", "grp4"};
    struct et_trace *t = NULL, *back = NULL;

    for (size_t i = 0; i < COUNT(samples); i++) {
        t = read_sample(samples[i], 1);
        cr_assert_not_null(t, "%s", err.text);
        back = write_and_read(t);
        cr_assert_not_null(back, "%s", err.text);
        expect_equal(t, back);
        et_trace_destroy(t);
        et_trace_destroy(back);
    }
    t = read_words("id=7 type=4 dur=5 name=a is_cpu_op/27=1 num_ops/9=11 tensor_size/13=12 ctrl=9;"
                   "id=9 type=7 comm_type/9=9 involved_dim/28=101 comm_priority/7=3 pg_name/29=2;"
                   "id=1 type=3 tensor_size/9=4096 data=9 data=7 ctrl=9;"
                   "id=2 type=6 comm_src/7=3 comm_size/9=0 comm_tag/7=18446744073709551615");
    cr_assert_not_null(t, "%s", err.text);
    back = write_and_read(t);
    cr_assert_not_null(back, "%s", err.text);
    expect_equal(t, back);
    et_trace_destroy(t);
    et_trace_destroy(back);
}

/* The samples were made by another writer: ours has to give the same bytes. */
Test(chakra, a_sample_is_written_byte_for_byte)
{
    static const char *const names[] = {"ar4.0.et", "grp4.2.et"};
    uint8_t want[512], got[512];

    for (size_t i = 0; i < COUNT(names); i++) {
        char path[256];

        snprintf(path, sizeof path, TEST_DATA_DIR "/astra/%s", names[i]);
        size_t bytes = load(path, want, sizeof want);
        struct et_trace *t = read_with(path, 0, NULL);

        cr_assert_not_null(t, "%s", err.text);
        et_trace_destroy(write_and_read(t));
        snprintf(path, sizeof path, "%s/w.0.et", folder.path);
        cr_assert_eq(load(path, got, sizeof got), bytes, "%s", names[i]);
        cr_expect_arr_eq(got, want, bytes);
        et_trace_destroy(t);
    }
}

Test(chakra, a_full_device_is_reported)
{
    struct et_trace *t = read_sample("ar4", 0);
    FILE *f = fopen("/dev/full", "w");

    cr_assert(t && f);
    setvbuf(f, NULL, _IONBF, 0);
    cr_expect_eq(et_write(f, t), WH_ERR_IO);
    fclose(f);
    et_trace_destroy(t);
}

Test(chakra, nodes_that_are_added_by_hand_are_checked_too)
{
    static const struct {
        struct et_node node;
        const char *part;
    } steps[] = {
        {{.id = 4, .type = 8}, "node 4: found node type 8"},
        {{.id = 4, .type = ET_COLLECTIVE, .comm_type = 10}, "comm_type 10"},
        {{.id = 4, .type = ET_COLLECTIVE, .comm_bytes = -1}, "comm_size -1"},
        {{.id = 4, .type = ET_SEND, .comm_dst = -1}, "without comm_dst"},
        {{.id = 4, .type = ET_RECV, .comm_src = -1}, "without comm_src"},
        {{.id = 4, .type = ET_COMPUTE, .num_ops = UINT64_MAX}, "out of range"},
        {{.id = 4, .type = ET_COLLECTIVE, .dim_count = 33}, "out of range"},
    };
    const struct et_refs refs = {.name = "n"};
    struct et_trace *t = NULL;

    cr_assert_eq(et_trace_create(&t, "by hand", 0), 0);
    for (size_t i = 0; i < COUNT(steps); i++) {
        cr_expect_eq(et_trace_add(t, &steps[i].node, &refs, &err), WH_ERR_INPUT, "%zu", i);
        cr_expect(strstr(err.text, steps[i].part), "%zu: %s", i, err.text);
    }
    cr_expect_eq(t->node_count, 0);
    et_trace_destroy(t);
}

static void put_file(const char *name, const char *words)
{
    struct buf file = {0};
    char path[128];

    put_trace(&file, words);
    text_folder_write(&folder, name, (char *)file.data, file.bytes, path, sizeof path);
}

Test(chakra, sets_with_gaps_and_strange_peers_are_refused)
{
    struct et_set s;
    char prefix[128];

    snprintf(prefix, sizeof prefix, "%s/t", folder.path);
    cr_expect_eq(et_read_set(prefix, NULL, &s, NULL, &err), WH_ERR_INPUT);
    cr_expect(strstr(err.text, "found no file"), "%s", err.text);
    put_file("t.0.et", "type=5 comm_dst/7=2 comm_size/9=1");
    put_file("t.2.et", "type=6 comm_src/7=2 comm_size/9=1");
    put_file("t.01.et", "type=4");
    put_file("t.1.et.gz", "type=4");
    cr_expect_eq(et_read_set(prefix, NULL, &s, NULL, &err), WH_ERR_INPUT);
    cr_expect(strstr(err.text, "found 2 trace files, the last for rank 2, but none for rank 1"),
              "%s", err.text);
    put_file("t.1.et", "type=4");
    cr_assert_eq(et_read_set(prefix, NULL, &s, NULL, &err), 0, "%s", err.text);
    cr_expect_eq(s.rank_count, 3);
    cr_expect_eq(et_set_check(&s, &err), WH_ERR_INPUT);
    cr_expect(strstr(err.text, "a receive of rank 2 with itself"), "%s", err.text);
    et_set_fini(&s);
    put_file("t.2.et", "type=6 comm_src/7=3 comm_size/9=1");
    cr_assert_eq(et_read_set(prefix, NULL, &s, NULL, &err), 0, "%s", err.text);
    cr_expect_eq(et_set_check(&s, &err), WH_ERR_INPUT);
    cr_expect(strstr(err.text, "a receive with rank 3 as peer, expected ranks 0 to 2"), "%s",
              err.text);
    et_set_fini(&s);
    put_file("t.1.et", "type=9");
    cr_expect_eq(et_read_set(prefix, NULL, &s, NULL, &err), WH_ERR_INPUT);
    cr_expect(strstr(err.file, "t.1.et"), "%s", err.file);
    cr_expect_eq(et_read_set("/nowhere/t", NULL, &s, NULL, &err), WH_ERR_INPUT);
}

Test(chakra, files_that_cannot_be_read_are_refused)
{
    struct et_trace *t = NULL;

    cr_expect_eq(et_read("/nowhere/t.0.et", 0, NULL, &t, NULL, &err), WH_ERR_INPUT);
    cr_expect(strstr(err.text, "No such file"), "%s", err.text);
    cr_expect_eq(et_read(folder.path, 0, NULL, &t, NULL, &err), WH_ERR_IO, "%s", err.text);
    cr_expect_null(t);
}
