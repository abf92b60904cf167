/*
 * test_goal.c - GOAL schedules: what text and binary mean, what is refused, what is written, and
 * the message-level model against the numbers that LogGOPSim gives.
 */
#include "goal.h"
#include "hpcc_files.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

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

TestSuite(goal, .init = set_up, .fini = tear_down);

/* NULL if it is refused. */
static struct goal *read_bytes(const void *data, size_t bytes)
{
    char path[128];
    struct goal *g = NULL;
    struct warn_sink sink = warnings_sink(&warnings);
    int rc = goal_read(text_folder_write(&folder, "in.goal", data, bytes, path, sizeof path), &g,
                       &sink, &err);

    cr_expect_eq(rc, g ? 0 : WH_ERR_INPUT, "code %d", rc);
    return g;
}

static struct goal *read_text(const char *text)
{
    return read_bytes(text, strlen(text));
}

static struct goal *read_sample(const char *name)
{
    char path[512];
    struct goal *g = NULL;

    snprintf(path, sizeof path, "%s/goal/%s", TEST_DATA_DIR, name);
    cr_assert_eq(goal_read(path, &g, NULL, &err), 0, "%s: %s", name, err.text);
    return g;
}

static void expect_equal_edges(const struct goal_edges *a, const struct goal_edges *b,
                               uint32_t op_count)
{
    cr_expect_arr_eq(a->first, b->first, (op_count + 1) * sizeof *a->first);
    cr_expect_arr_eq(a->waiter, b->waiter, a->first[op_count] * sizeof *a->waiter);
}

static void expect_equal(const struct goal *a, const struct goal *b)
{
    cr_assert_eq(a->rank_count, b->rank_count);
    for (uint32_t r = 0; r < a->rank_count; r++) {
        const struct goal_rank *x = &a->ranks[r], *y = &b->ranks[r];

        cr_assert_eq(x->op_count, y->op_count, "rank %u", r);
        for (uint32_t i = 0; i < x->op_count; i++) {
            cr_expect_eq(x->ops[i].amount, y->ops[i].amount, "rank %u op %u", r, i);
            cr_expect_eq(x->ops[i].peer, y->ops[i].peer, "rank %u op %u", r, i);
            cr_expect_eq(x->ops[i].tag, y->ops[i].tag, "rank %u op %u", r, i);
            cr_expect_eq(x->ops[i].kind, y->ops[i].kind, "rank %u op %u", r, i);
            cr_expect_eq(x->ops[i].cpu, y->ops[i].cpu, "rank %u op %u", r, i);
            cr_expect_eq(x->ops[i].nic, y->ops[i].nic, "rank %u op %u", r, i);
        }
        expect_equal_edges(&x->on_end, &y->on_end, x->op_count);
        expect_equal_edges(&x->on_start, &y->on_start, x->op_count);
    }
}

static void expect_op(const struct goal_op *op, enum goal_kind kind, uint64_t amount, uint32_t peer,
                      uint32_t tag)
{
    cr_expect_eq(op->kind, kind);
    cr_expect_eq(op->amount, amount);
    cr_expect_eq(op->peer, peer);
    cr_expect_eq(op->tag, tag);
}

Test(goal, pingpong_is_what_its_text_says)
{
    struct goal *g = read_sample("pingpong.goal");
    char name[16];

    cr_assert_eq(g->rank_count, 2);
    const struct goal_rank *r = &g->ranks[0];

    cr_assert_eq(r->op_count, 3);
    expect_op(&r->ops[0], GOAL_CALC, 1000, 0, 0);
    expect_op(&r->ops[1], GOAL_SEND, 4096, 1, 5);
    expect_op(&r->ops[2], GOAL_RECV, 4096, 1, 6);
    cr_expect_str_eq(goal_label(r, 1, name, sizeof name), "l2");
    static const uint32_t first[] = {0, 1, 2, 2}, waiter[] = {1, 2};

    cr_expect_arr_eq(r->on_end.first, first, sizeof first);
    cr_expect_arr_eq(r->on_end.waiter, waiter, sizeof waiter);
    cr_expect_eq(r->on_start.first[3], 0);
    goal_destroy(g);
}

Test(goal, binary_is_the_same_schedule_as_its_text)
{
    static const char *const names[][2] = {{"pingpong.goal", "pingpong.bin"},
                                           {"wildcard_irequires.goal", "wildcard_irequires.bin"}};
    char name[16];

    for (size_t i = 0; i < COUNT(names); i++) {
        struct goal *text = read_sample(names[i][0]), *binary = read_sample(names[i][1]);

        expect_equal(text, binary);
        cr_expect_str_eq(goal_label(&binary->ranks[0], 2, name, sizeof name), "op2");
        goal_destroy(text);
        goal_destroy(binary);
    }
}

Test(goal, wildcards_and_start_dependencies)
{
    struct goal *g = read_sample("wildcard_irequires.goal");
    const struct goal_rank *r = &g->ranks[0];

    cr_assert_eq(g->rank_count, 3);
    cr_assert_eq(r->op_count, 3);
    expect_op(&r->ops[0], GOAL_RECV, 8, GOAL_ANY, GOAL_ANY);
    expect_op(&r->ops[1], GOAL_RECV, 8, GOAL_ANY, 2);
    expect_op(&r->ops[2], GOAL_CALC, 100, 0, 0);
    cr_expect_eq(r->ops[2].cpu, 1);
    cr_expect_eq(r->on_end.first[3], 0);
    cr_expect_eq(r->on_start.first[1], 1);
    cr_expect_eq(r->on_start.waiter[0], 2);
    goal_destroy(g);
}

Test(goal, ring_of_four_has_six_steps)
{
    struct goal *g = read_sample("ring4.goal");

    cr_assert_eq(g->rank_count, 4);
    for (uint32_t r = 0; r < 4; r++) {
        cr_expect_eq(g->ranks[r].op_count, 12);
        cr_expect_eq(g->ranks[r].on_end.first[12], 5);
        for (uint32_t i = 0; i < 12; i++)
            expect_op(&g->ranks[r].ops[i], i % 2 ? GOAL_RECV : GOAL_SEND, 4096,
                      (r + (i % 2 ? 3 : 1)) % 4, i / 2);
    }
    goal_destroy(g);
}

Test(goal, layout_is_as_free_as_in_the_reference)
{
    static const char *const texts[] = {
        "num_ranks 1\nrank 0 {\na: send 8b to 0 tag 3 cpu 1 nic 2\nb: calc 5\nb requires a\n}\n",
        "num_ranks 1\r\nrank 0 {\r\na: send 8b to 0 tag 3 cpu 1 nic 2\r\nb: calc 5\r\n"
        "b requires a\r\n}",
        "num_ranks 1 rank 0{ a:send 8 b to 0 tag 3 cpu 1 nic 2\nb :calc 5\nb\trequires  a\n}",
        "// head\n/* two\nlines */num_ranks 1\n\n rank 0 { // first\n a: send 8bto0tag3cpu1nic2 // "
        "x\n"
        "/**/ b: calc 0005 /* y */\n\n\tb requires a // z\n } ",
    };
    struct goal *first = read_text(texts[0]);

    cr_assert_not_null(first, "%s", err.text);
    for (size_t i = 1; i < COUNT(texts); i++) {
        struct goal *g = read_text(texts[i]);

        cr_assert_not_null(g, "%zu: line %ld: %s", i, err.line, err.text);
        cr_expect_eq(warnings.count, 0, "%zu: %s", i, warnings.text);
        expect_equal(first, g);
        goal_destroy(g);
    }
    goal_destroy(first);
}

Test(goal, limits_of_numbers_are_those_of_the_format)
{
    struct goal *g =
        read_text("num_ranks 1\nrank 0 {\n"
                  "send 18446744073709551615b to 0 tag 4294967294 cpu 255 nic 255\n"
                  "recv 0b from 0 tag -1\ncalc 18446744073709551615\nsend 1b to 0 tag -1\n"
                  "}\nanything {\n");

    cr_assert_not_null(g, "%s", err.text);
    const struct goal_op *ops = g->ranks[0].ops;

    expect_op(&ops[0], GOAL_SEND, UINT64_MAX, 0, UINT32_MAX - 1);
    cr_expect_eq(ops[0].cpu, 255);
    cr_expect_eq(ops[0].nic, 255);
    expect_op(&ops[1], GOAL_RECV, 0, 0, GOAL_ANY);
    expect_op(&ops[2], GOAL_CALC, UINT64_MAX, 0, 0);
    expect_op(&ops[3], GOAL_SEND, 1, 0, GOAL_ANY);
    cr_expect_eq(warnings.count, 1);
    cr_expect(warnings_have(&warnings, "in.goal:8: text behind the block of the last rank"), "%s",
              warnings.text);
    goal_destroy(g);
}

Test(goal, many_labels_are_told_apart)
{
    char *text = NULL, name[16];
    size_t bytes;
    FILE *f = open_memstream(&text, &bytes);

    fprintf(f, "num_ranks 2\n");
    for (int rank = 0; rank < 2; rank++) { /* the same names mean other operations there */
        fprintf(f, "rank %d {\n", rank);
        for (int i = 0; i < 5000; i++)
            fprintf(f, "x%d: calc %d\n", rank ? 4999 - i : i, i);
        for (int i = 1; i < 5000; i++)
            fprintf(f, "x%d requires x%d\n", i, i - 1);
        fprintf(f, "}\n");
    }
    fclose(f);
    struct goal *g = read_text(text);

    cr_assert_not_null(g, "line %ld: %s", err.line, err.text);
    for (uint32_t i = 0; i < 4999; i++) {
        cr_assert_eq(g->ranks[0].on_end.waiter[g->ranks[0].on_end.first[i]], i + 1);
        cr_assert_eq(g->ranks[1].on_end.waiter[g->ranks[1].on_end.first[i + 1]], i);
    }
    cr_expect_str_eq(goal_label(&g->ranks[1], 0, name, sizeof name), "x4999");
    goal_destroy(g);
    free(text);
}

Test(goal, sample_with_an_undefined_label_is_refused_in_its_line)
{
    struct goal *g = NULL;

    cr_assert_eq(goal_read(TEST_DATA_DIR "/goal/bad/undefined_label.goal", &g, NULL, &err),
                 WH_ERR_INPUT);
    cr_expect_eq(err.line, 4);
    cr_expect(strstr(err.file, "undefined_label.goal"));
    cr_expect(strstr(err.text, "label \"zz\", expected"), "%s", err.text);
    cr_expect_null(g);
}

Test(goal, malformed_texts_are_refused_with_line_and_reason)
{
#define HEAD "num_ranks 2\nrank 0 {\n"
    static const struct {
        const char *text;
        long line;
        const char *part;
    } steps[] = {
        {"\n\n", 3, "the end of the file, expected num_ranks <n> first"},
        {"rank 0 {\n}\n", 1, "\"rank\", expected num_ranks"},
        {"num_ranks\n", 1, "the end of the line, expected a number of ranks"},
        {"num_ranks 0\n", 1, "0 ranks"},
        {"num_ranks -1\nrank 0 {\n}\n", 1, "\"-1\""},
        {"num_ranks 4294967296\n", 1, "\"4294967296\""},
        {"num_ranks 1000\nrank 0 {\n}\n", 1, "the blocks of 1000 ranks"},
        {"num_ranks two\nrank 0 {\n}\n", 1, "\"two\""},
        {"num_ranks 2\nrank 1 {\n}\n", 2, "\"1\", expected rank 0"},
        {"num_ranks 2\nrank 0 {\n}\nrank 0 {\n}\n", 4, "\"0\", expected rank 1"},
        {"num_ranks 2\nrank 0 {\n}\nrank 2 {\n}\n", 4, "expected a rank, 0 to 1"},
        {"num_ranks 2\nrank 0 {\n}\n\n", 5, "the blocks of 1 ranks, expected 2"},
        {"num_ranks 2\nrank 0\n{\n}\nrank 1 {\n}\n", 2, "the end of the line, expected {"},
        {"num_ranks 2\nranks 0 {\n}\n", 2, "\"s\""},
        {"num_ranks 2\ncalc 5\nrank 0 {\n}\n", 2, "\"calc\", expected rank <r> {"},
        {"num_ranks 2\nnum_ranks 2\nrank 0 {\n}\n", 2, "\"num_ranks\""},
        {HEAD "calc 5\n", 4, "the end of the file in the block of rank 0, expected its }"},
        {HEAD "calc 5\nrank 1 {\n}\n", 4, "a new block in the block of rank 0"},
        {HEAD "calc 5 }\nrank 1 {\n}\n", 3, "\"}\", expected cpu or the end of the line"},
        {HEAD "calc 5 nic 1\n}\n", 3, "\"nic\", expected cpu"},
        {HEAD "calc\n}\n", 3, "the end of the line, expected ns"},
        {HEAD "calc -5\n}\n", 3, "\"-5\""},
        {HEAD "calc 1.5\n}\n", 3, "\".5\""},
        {HEAD "calc 18446744073709551616\n}\n", 3, "\"18446744073709551616\""},
        {HEAD "calc 5 cpu 256\n}\n", 3, "\"256\", expected a cpu, 0 to 255"},
        {HEAD "calc 5 cpu\n}\n", 3, "the end of the line, expected a cpu"},
        {HEAD "send 8 to 1\n}\n", 3, "\"to\", expected b"},
        {HEAD "send 8b from 1\n}\n", 3, "\"from\", expected to <rank>"},
        {HEAD "recv 8b to 1\n}\n", 3, "\"to\", expected from <rank>"},
        {HEAD "send 8b to 2\n}\n", 3, "\"2\", expected a rank, 0 to 1"},
        {HEAD "send 8b to -1\n}\n", 3, "\"-1\", expected a rank"},
        {HEAD "recv 8b from -2\n}\n", 3, "\"-2\", expected a rank (or -1 for any)"},
        {HEAD "recv 8b from 4294967295\n}\n", 3, "\"4294967295\""},
        {HEAD "recv 8b from 1 tag 4294967295\n}\n", 3, "\"4294967295\", expected a tag"},
        {HEAD "recv 8b from 1 cpu 0 tag 1\n}\n", 3, "\"tag\", expected nic or the end"},
        {HEAD "recv 8b from 1 nic 0 cpu 1\n}\n", 3, "\"cpu\", expected the end of the line"},
        {HEAD "recv 8b from 1 nic 300\n}\n", 3, "\"300\", expected a nic"},
        {HEAD "recv 8b from 1 size 3\n}\n", 3, "\"size\", expected tag, cpu, nic"},
        {HEAD "a calc 5\n}\n", 3, "\"calc\", expected \":\", requires or irequires"},
        {HEAD "a: wait 5\n}\n", 3, "\"wait\", expected send, recv or calc"},
        {HEAD "a: calc 5\na: calc 6\n}\n", 4, "label \"a\", expected each label once"},
        {HEAD "send: calc 5\n}\n", 3, "expected bytes"},
        {HEAD "1a: calc 5\n}\n", 3, "\"1a:\", expected send, recv, calc, a label or }"},
        {HEAD "a: calc 5\na requires a\n}\n", 4, "two different operations"},
        {HEAD "a: calc 5\nb requires a\nb: calc 5\n}\n", 4,
         "label \"b\", expected a label defined"},
        {HEAD "a: calc 5\nb: calc 5\nb requires\n}\n", 5, "the end of the line, expected a label"},
        {HEAD "a: calc 5\nb: calc 5\nb requires a a\n}\n", 5,
         "\"a\", expected the end of the line"},
        {HEAD "a: calc 5\n}\nrank 1 {\nb: calc 5\nb requires a\n}\n", 7, "label \"a\""},
        {HEAD "calc 5 / comment\n}\n", 3, "\"/\""},
        {HEAD "/* calc 5\n}\n", 3, "a comment without an end"},
        {HEAD "\001\377\n}\n", 3, "\"\?\?\""},
        {HEAD "a: calc 5\nb: calc 5\na requires b\nb irequires a\n}\nrank 1 {\n}\n", 0,
         "a cycle of dependencies in rank 0: \""},
    };

    for (size_t i = 0; i < COUNT(steps); i++) {
        struct goal *g = read_text(steps[i].text);

        cr_assert_null(g, "%zu: accepted %s", i, steps[i].text);
        cr_expect_eq(err.line, steps[i].line, "%zu: line %ld: %s", i, err.line, err.text);
        cr_expect(strstr(err.text, steps[i].part), "%zu: %s", i, err.text);
        cr_expect(strstr(err.text, "expected"), "%zu: %s", i, err.text);
        cr_expect(strstr(err.file, "in.goal"), "%zu: %s", i, err.file);
    }
}

Test(goal, a_cycle_names_two_operations_that_are_in_it)
{
    struct goal *g =
        read_text("num_ranks 1\nrank 0 {\nout: calc 1\nx: calc 1\ny: calc 1\nz: calc 1\n"
                  "x requires z\ny requires x\nz irequires y\nout requires z\n}\n");

    cr_assert_null(g);
    cr_expect(strstr(err.text, "\"x\" waits for \"z\"") ||
                  strstr(err.text, "\"y\" waits for \"x\"") ||
                  strstr(err.text, "\"z\" waits for \"y\""),
              "%s", err.text);
}

Test(goal, files_that_are_none_are_refused)
{
    struct goal *g = NULL;

    cr_expect_eq(goal_read("/nowhere/a.goal", &g, NULL, &err), WH_ERR_INPUT);
    cr_expect(strstr(err.text, "No such file"), "%s", err.text);
    cr_expect_eq(goal_read(folder.path, &g, NULL, &err), WH_ERR_INPUT);
    cr_expect(strstr(err.text, "no regular file"), "%s", err.text);
    cr_expect_null(read_bytes("", 0));
    cr_expect(strstr(err.text, "an empty file, expected a GOAL schedule"), "%s", err.text);
    cr_expect_null(read_bytes("num_ranks\0 1", 12));
    cr_expect_null(g);
}

/* pingpong.bin: block of rank 0 at byte 46: head 8, one root, operations at 58, 97, 136, appendix
 * at 175; rank 1 at 183 likewise. */
enum { BIN_BYTES = 320, NODE0 = 58, NODE1 = 97, APPENDIX0 = 175, RANK1 = 183 };

static void load_binary(unsigned char *data)
{
    FILE *f = fopen(TEST_DATA_DIR "/goal/pingpong.bin", "rb");

    cr_assert_not_null(f);
    cr_assert_eq(fread(data, 1, BIN_BYTES + 1, f), BIN_BYTES);
    fclose(f);
}

Test(goal, damaged_binaries_are_refused_with_offset_and_reason)
{
    static const struct {
        size_t at, bytes; /* little-endian value put there */
        uint64_t value;
        const char *part;
    } steps[] = {
        {0, 8, 2342, "consumed this file"},
        {8, 4, 0, "0 ranks"},
        {8, 4, 3, "rank 0 at 38"}, /* the table would reach into the first block */
        {8, 4, 0xffffffff, "expected a table of 4294967295 ranks"},
        {14, 8, 37, "the block of rank 0 at 37 to 175"},
        {14, 8, 176, "the block of rank 0 at 176 to 175"},
        {14, 8, UINT64_MAX, "the block of rank 0"},
        {22, 8, 45, "the block of rank 0 at 38 to 45"},
        {22, 8, 313, "and 312"},
        {22, 8, UINT64_MAX, "and 312"},
        {22, 8, 174, "7 bytes behind the operations of rank 0"},
        {30, 8, 174, "the block of rank 1 at 174 to 312"},
        {38, 8, 313, "the block of rank 1 at 175 to 313"},
        {46, 4, 4, "for its 4 operations and 1 roots"},
        {46, 4, 0xffffffff, "for its 4294967295 operations"},
        {50, 4, 0xffffffff, "and 4294967295 roots"},
        {50, 4, 0, "rank 0"},
        {54, 4, 1, "root 1 of rank 0 at byte 54"},
        {54, 4, 3, "root 3 of rank 0 at byte 54"},
        {NODE0, 4, 1, "a number of dependencies of 1 in operation 0 of rank 0 at byte 58"},
        {NODE1, 4, 0, "a number of dependencies of 0 in operation 1"},
        {NODE0 + 4, 1, 0, "type 0 in operation 0 of rank 0 at byte 62"},
        {NODE0 + 4, 1, 4, "type 4"},
        {NODE0 + 4, 1, 255, "type 255"},
        {NODE1 + 5, 4, 2, "peer 2 in operation 1 of rank 0"},
        {NODE1 + 5, 4, 0xffffffff, "peer 4294967295"},
        {NODE0 + 21, 1, 1, "cpu 1"},
        {NODE0 + 22, 1, 9, "nic 9"},
        {NODE0 + 23, 4, 3, "a number of dependants of 3"},
        {NODE0 + 23, 4, 2, "lists that do not overlap"},
        {NODE0 + 23, 4, 0xffffffff, "a number of dependants of 4294967295"},
        {NODE0 + 27, 4, 2, "a list that lies in the appendix"},
        {NODE0 + 27, 4, 0xffffffff, "a list that lies in the appendix"},
        {NODE0 + 31, 4, 1, "dependencies"},
        {APPENDIX0, 4, 3, "a dependant numbered 3"},
        {APPENDIX0, 4, 0, "dependencies"},
        {RANK1, 4, 0, "rank 1"},
    };

    for (size_t i = 0; i < COUNT(steps); i++) {
        unsigned char data[BIN_BYTES + 1];

        load_binary(data);
        for (size_t k = 0; k < steps[i].bytes; k++)
            data[steps[i].at + k] = (unsigned char)(steps[i].value >> 8 * k);
        struct goal *g = read_bytes(data, BIN_BYTES);

        cr_assert_null(g, "%zu: accepted %llu at %zu", i, (unsigned long long)steps[i].value,
                       steps[i].at);
        cr_expect(strstr(err.text, steps[i].part), "%zu: %s", i, err.text);
        cr_expect(strstr(err.text, "expected"), "%zu: %s", i, err.text);
        cr_expect(strstr(err.file, "in.goal"), "%zu: %s", i, err.file);
    }
}

Test(goal, binaries_cut_short_are_refused_at_every_length)
{
    unsigned char data[BIN_BYTES + 1];

    load_binary(data);
    for (size_t bytes = 0; bytes < BIN_BYTES; bytes++) {
        cr_assert_null(read_bytes(data, bytes), "accepted %zu bytes", bytes);
        cr_expect(strstr(err.text, "expected"), "%zu: %s", bytes, err.text);
    }
}

Test(goal, a_cycle_in_a_binary_is_refused)
{
    unsigned char data[BIN_BYTES + 1];

    load_binary(data);
    /* Operation 2 releases 1, which waits for 2 then; the appendix has an entry for it: that of 0.
     */
    data[NODE0 + 23] = 0;
    data[NODE1 + 39 + 23] = 1;
    data[NODE1 + 39 + 27] = 0;
    struct goal *g = read_bytes(data, BIN_BYTES);

    cr_assert_null(g);
    cr_expect(strstr(err.text, "a cycle of dependencies in rank 0"), "%s", err.text);
}

Test(goal, what_is_written_reads_back_equal)
{
    static const char *const names[] = {"pingpong.goal", "pingpong.bin", "ring4.goal",
                                        "wildcard_irequires.goal"};

    for (size_t i = 0; i < COUNT(names); i++) {
        struct goal *g = read_sample(names[i]);
        char *text = NULL;
        size_t bytes = 0;
        FILE *f = open_memstream(&text, &bytes);

        cr_assert_eq(goal_write(f, g), 0);
        fclose(f);
        struct goal *back = read_bytes(text, bytes);

        cr_assert_not_null(back, "%s: line %ld: %s", names[i], err.line, err.text);
        expect_equal(g, back);
        goal_destroy(g);
        goal_destroy(back);
        free(text);
    }
}

Test(goal, labels_survive_writing)
{
    struct goal *g = read_text("num_ranks 1\nrank 0 {\nop1: calc 1\ncalc 2\nfoo: calc 3\n"
                               "foo requires op1\n}\n");
    char *text = NULL;
    size_t bytes = 0;
    FILE *f = open_memstream(&text, &bytes);

    cr_assert_not_null(g, "%s", err.text);
    cr_assert_eq(goal_write(f, g), 0);
    fclose(f);
    cr_expect_str_eq(text, "num_ranks 1\n\nrank 0 {\nop1: calc 1\ncalc 2\nfoo: calc 3\n"
                           "foo requires op1\n}\n");
    goal_destroy(g);
    free(text);
}

Test(goal, loggops_gives_the_end_times_of_the_reference)
{
    static const struct {
        const char *name;
        uint32_t rank_count;
        uint64_t end_ns[4];
    } steps[] = {
        {"pingpong.goal", 2, {61640, 33070}},
        {"pingpong.bin", 2, {61640, 33070}},
        {"ring4.goal", 4, {180420, 180420, 180420, 180420}},
        {"wildcard_irequires.goal", 3, {7084, 1500, 1500}},
        {"wildcard_irequires.bin", 3, {7084, 1500, 1500}},
    };

    for (size_t i = 0; i < COUNT(steps); i++) {
        struct goal *g = read_sample(steps[i].name);
        struct goal_loggops p;
        uint64_t end_ns[4] = {0};

        goal_loggops_init(&p);
        cr_assert_eq(g->rank_count, steps[i].rank_count);
        cr_assert_eq(goal_loggops_run(g, &p, end_ns, &err), 0, "%s", err.text);
        for (uint32_t r = 0; r < g->rank_count; r++)
            cr_expect_eq(end_ns[r], steps[i].end_ns[r], "%s rank %u: %llu", steps[i].name, r,
                         (unsigned long long)end_ns[r]);
        goal_destroy(g);
    }
}

/* One message of b bytes: the sender's cpu is busy o + (b-1) O, the receiver's until
 * o + L + o + (b-1) max(O, G). */
Test(goal, loggops_of_one_message_is_its_formula)
{
    static const struct {
        uint64_t bytes, overhead_byte_ns, sender_ns, receiver_ns;
    } steps[] = {
        {0, 0, 1500, 5500},
        {1, 0, 1500, 5500},
        {1001, 0, 1500, 5500 + 6000},
        {1001, 2, 1500 + 2000, 5500 + 6000},
        {1001, 9, 1500 + 9000, 5500 + 9000},
        {65536, 0, 4000, 5500 + 65535 * 6}, /* rendezvous: the sender waits for the arrival */
    };

    for (size_t i = 0; i < COUNT(steps); i++) {
        char text[128];
        struct goal_loggops p;
        uint64_t end_ns[2] = {0};

        snprintf(text, sizeof text,
                 "num_ranks 2\nrank 0 {\nsend %llub to 1\n}\nrank 1 {\nrecv %llub from 0\n}\n",
                 (unsigned long long)steps[i].bytes, (unsigned long long)steps[i].bytes);
        struct goal *g = read_text(text);

        cr_assert_not_null(g, "%s", err.text);
        goal_loggops_init(&p);
        p.overhead_byte_ns = steps[i].overhead_byte_ns;
        cr_assert_eq(goal_loggops_run(g, &p, end_ns, &err), 0, "%s", err.text);
        cr_expect_eq(end_ns[0], steps[i].sender_ns, "%zu: %llu", i, (unsigned long long)end_ns[0]);
        cr_expect_eq(end_ns[1], steps[i].receiver_ns, "%zu: %llu", i,
                     (unsigned long long)end_ns[1]);
        goal_destroy(g);
    }
}

Test(goal, loggops_reports_who_waits_for_ever)
{
    static const struct {
        const char *text;
        const char *part;
    } steps[] = {
        {"num_ranks 2\nrank 0 {\na: recv 8b from 1 tag 1\n}\nrank 1 {\na: calc 10\n}\n",
         "at rank 0 the receive \"a\" (source 1, tag 1, 8 B)"},
        {"num_ranks 2\nrank 0 {\nrecv 8b from -1 tag -1\n}\nrank 1 {\n}\n",
         "the receive \"op0\" (source any, tag any"},
        {"num_ranks 2\nrank 0 {\ns: send 9b to 1 tag 2\n}\nrank 1 {\nrecv 9b from 0 tag 3\n}\n",
         "at rank 1 the receive \"op0\" (source 0, tag 3, 9 B)"},
        {"num_ranks 2\nrank 0 {\ns: send 9b to 1 tag 2\n}\nrank 1 {\n}\n",
         "at rank 1 the message of send \"s\" (source 0, tag 2, 9 B)"},
        {"num_ranks 2\nrank 0 {\na: recv 8b from 1\nb: send 8b to 1\nb requires a\n}\n"
         "rank 1 {\na: recv 8b from 0\nb: send 8b to 0\nb requires a\n}\n",
         "at rank 0 the receive \"a\" (source 1, tag 0, 8 B)"},
    };

    for (size_t i = 0; i < COUNT(steps); i++) {
        struct goal *g = read_text(steps[i].text);
        struct goal_loggops p;
        uint64_t end_ns[2] = {7, 7};

        cr_assert_not_null(g, "%s", err.text);
        goal_loggops_init(&p);
        cr_expect_eq(goal_loggops_run(g, &p, end_ns, &err), WH_ERR_INPUT);
        cr_expect(strstr(err.text, steps[i].part), "%zu: %s", i, err.text);
        cr_expect_eq(end_ns[0], 7);
        goal_destroy(g);
    }
}

Test(goal, loggops_refuses_times_that_do_not_fit)
{
    struct goal *g = read_text("num_ranks 1\nrank 0 {\na: calc 18446744073709551615\nb: calc 1\n"
                               "b requires a\n}\n");
    struct goal_loggops p;
    uint64_t end_ns;

    cr_assert_not_null(g, "%s", err.text);
    goal_loggops_init(&p);
    cr_expect_eq(goal_loggops_run(g, &p, &end_ns, &err), WH_ERR_LIMIT);
    cr_expect(strstr(err.text, "2^64"), "%s", err.text);
    goal_destroy(g);
}
