/*
 * test_err.c - error texts, refused-input messages, warnings, assertions.
 */
#include "err.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

Test(err, every_code_has_its_own_text)
{
    const int codes[] = {WH_OK,
#define CODE(name, value, text) name,
                         WH_ERR_LIST(CODE)
#undef CODE
    };
    const size_t count = sizeof codes / sizeof codes[0];

    for (size_t i = 0; i < count; i++) {
        cr_assert_str_neq(err_text(codes[i]), err_text(12345), "code %d", codes[i]);
        for (size_t j = 0; j < i; j++)
            cr_assert_str_neq(err_text(codes[i]), err_text(codes[j]));
    }
    cr_assert_str_eq(err_text(0), "success");
    cr_assert_str_eq(err_text(WH_ERR_NOMEM), "out of memory");
}

Test(err, input_names_found_and_expected)
{
    struct err_info e = {0};
    char line[2048];

    cr_assert_eq(err_input(&e, "flow.txt", 12, "host 99", "a host below 8"), WH_ERR_INPUT);
    cr_assert_str_eq(e.file, "flow.txt");
    cr_assert_eq(e.line, 12);
    cr_assert_str_eq(e.text, "found host 99, expected a host below 8");
    cr_assert_str_eq(err_format(&e, line, sizeof line),
                     "flow.txt:12: found host 99, expected a host below 8");
}

Test(err, set_returns_its_code_with_and_without_a_place_to_write)
{
    struct err_info e = {0};

    cr_assert_eq(err_set(&e, WH_ERR_IO, "x", 0, "%s %d", "disk", 7), WH_ERR_IO);
    cr_assert_str_eq(e.text, "disk 7");
    cr_assert_eq(err_set(NULL, WH_ERR_LIMIT, "x", 0, "lost"), WH_ERR_LIMIT);
    cr_assert_eq(err_input(NULL, NULL, 0, "a", "b"), WH_ERR_INPUT);
}

Test(err, format_leaves_out_what_is_missing)
{
    static const struct {
        const char *file;
        long line;
        const char *expected;
    } steps[] = {
        {"a.yaml", 3, "a.yaml:3: bad"},
        {"a.yaml", 0, "a.yaml: bad"},
        {NULL, 3, "line 3: bad"},
        {NULL, 0, "bad"},
        {"", 0, "bad"},
    };
    char line[64];

    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        struct err_info e = {0};

        (void)err_set(&e, WH_ERR_INPUT, steps[i].file, steps[i].line, "bad");
        cr_assert_str_eq(err_format(&e, line, sizeof line), steps[i].expected);
    }
}

Test(err, message_is_one_line_whatever_the_file_held)
{
    struct err_info e = {0};

    (void)err_input(&e, "a\nb", 1, "\"x\r\n\x1b[31m\t\x7f\"", "1");
    cr_assert_str_eq(e.file, "a?b");
    cr_assert_str_eq(e.text, "found \"x???[31m??\", expected 1");
    (void)err_input(&e, "\xc3\xa9", 1, "\xc2\xb5s", "us");
    cr_assert_str_eq(e.file, "\xc3\xa9", "UTF-8 is kept");
    cr_assert_str_eq(e.text, "found \xc2\xb5s, expected us");
}

Test(err, overlong_parts_are_cut_not_overrun)
{
    struct err_info e = {0};
    char name[2000], small[8];

    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    (void)err_input(&e, name, 1, name, name);
    cr_assert_eq(strlen(e.file), sizeof e.file - 1);
    cr_assert_eq(strlen(e.text), sizeof e.text - 1);
    cr_assert_str_eq(err_format(&e, small, sizeof small), "nnnnnnn");
}

static void copy_warning(void *ctx, const char *text)
{
    snprintf(ctx, 64, "%s", text);
}

Test(err, warning_reaches_the_sink)
{
    char got[64] = "";
    const struct warn_sink sink = {copy_warning, got}, deaf = {NULL, got};

    warn(NULL, "lost");
    warn(&deaf, "lost");
    cr_assert_str_eq(got, "");
    warn(&sink, "%d flows\n", 3);
    cr_assert_str_eq(got, "3 flows?");
}

Test(err, failed_check_aborts, .signal = SIGABRT)
{
    const int port = 4;

    check(port < 4, "port %d", port);
}

Test(err, true_check_continues_and_evaluates_once)
{
    int calls = 0;

    check(++calls == 1, "calls %d", calls);
    cr_assert_eq(calls, 1);
}
