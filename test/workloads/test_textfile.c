/*
 * test_textfile.c - lines, tokens and strict numbers.
 */
#include "textfile.h"

#include <criterion/criterion.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

Test(textfile, lines_are_cut_into_tokens)
{
    struct textfile t;

    cr_assert_eq(textfile_open_text(&t, "text", "\n a\tbc  d\r\n \r\n\ne"), 0);
    cr_expect_eq(textfile_lines_left(&t), 2);
    cr_assert_eq(textfile_next_line(&t), 1);
    cr_assert_eq(t.token_count, 3);
    cr_expect_str_eq(t.token[0], "a");
    cr_expect_str_eq(t.token[1], "bc");
    cr_expect_str_eq(t.token[2], "d");
    cr_expect_eq(textfile_lines_left(&t), 1);
    cr_assert_eq(textfile_next_line(&t), 1);
    cr_assert_eq(t.token_count, 1);
    cr_expect_str_eq(t.token[0], "e");
    cr_expect_eq(textfile_lines_left(&t), 0);
    cr_expect_eq(textfile_next_line(&t), 0);
    cr_expect_eq(textfile_next_line(&t), 0);
    textfile_close(&t);
}

Test(textfile, tokens_flow_over_lines)
{
    static const char *const want[] = {"a", "b", "c"};
    struct textfile t;
    char *token;

    cr_assert_eq(textfile_open_text(&t, "text", "a b\n\nc"), 0);
    for (size_t i = 0; i < COUNT(want); i++) {
        cr_assert_eq(textfile_next_token(&t, &token), 1);
        cr_expect_str_eq(token, want[i]);
    }
    cr_expect_eq(textfile_next_token(&t, &token), 0);
    textfile_close(&t);
}

Test(textfile, a_line_may_hold_many_tokens)
{
    static char text[20001];
    struct textfile t;

    for (int i = 0; i < 20000; i++)
        text[i] = i % 2 ? ' ' : 'x';
    cr_assert_eq(textfile_open_text(&t, "text", text), 0);
    cr_assert_eq(textfile_next_line(&t), 1);
    cr_expect_eq(t.token_count, 10000);
    textfile_close(&t);
}

Test(textfile, whole_numbers_are_digits_only)
{
    static const struct {
        const char *text;
        uint64_t max;
        int rc;
        uint64_t value;
    } steps[] = {
        {"0", 0, 0, 0},
        {"007", 9, 0, 7},
        {"18446744073709551615", UINT64_MAX, 0, UINT64_MAX},
        {"18446744073709551616", UINT64_MAX, WH_ERR_INPUT, 1},
        {"99999999999999999999999", UINT64_MAX, WH_ERR_INPUT, 1},
        {"8", 7, WH_ERR_INPUT, 1},
        {"", 7, WH_ERR_INPUT, 1},
        {"-1", 7, WH_ERR_INPUT, 1},
        {"+1", 7, WH_ERR_INPUT, 1},
        {"1 ", 7, WH_ERR_INPUT, 1},
        {"0x1", 7, WH_ERR_INPUT, 1},
        {"1.0", 7, WH_ERR_INPUT, 1},
    };

    for (size_t i = 0; i < COUNT(steps); i++) {
        uint64_t value = 1;

        cr_expect_eq(text_uint(steps[i].text, steps[i].max, &value), steps[i].rc, "%s",
                     steps[i].text);
        cr_expect_eq(value, steps[i].value, "%s", steps[i].text);
    }
}

Test(textfile, reals_are_finite_decimals)
{
    static const char *const bad[] = {"",    "nan",  "inf", "0x1p3", "1e999",
                                      "1,5", "1.5x", "--1", "."};
    double value = 0;

    cr_expect_eq(text_real("-2.5e-1", &value), 0);
    cr_expect_eq(value, -0.25);
    for (size_t i = 0; i < COUNT(bad); i++)
        cr_expect_eq(text_real(bad[i], &value), WH_ERR_INPUT, "%s", bad[i]);
    cr_expect_eq(value, -0.25);
}

Test(textfile, the_nearest_word_is_found_without_regard_to_case)
{
    static const char *const list[] = {"alpha", "beta", "GAMMA", NULL};

    cr_expect_eq(text_distance("kitten", "sitting"), 3);
    cr_expect_eq(text_distance("", "abc"), 3);
    cr_expect_eq(text_distance("Same", "sAME"), 0);
    cr_expect_str_eq(text_nearest("bate", list), "beta");
    cr_expect_str_eq(text_nearest("gama", list), "GAMMA");
}
