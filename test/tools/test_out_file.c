/*
 * test_out_file.c - outputs: opened early, bounded, errors noticed, removed again.
 */
#include "out_file.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[64];

static void make_dir(void)
{
    (void)snprintf(dir, sizeof dir, "/tmp/wh_out_file_XXXXXX");
    cr_assert_not_null(mkdtemp(dir));
}

static void remove_dir(void)
{
    char command[128];

    (void)snprintf(command, sizeof command, "rm -rf %s", dir);
    cr_assert_eq(system(command), 0);
}

static const char *path_of(const char *name)
{
    static char path[128];

    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

TestSuite(out_file, .init = make_dir, .fini = remove_dir);

Test(out_file, folders_are_made_with_their_parents)
{
    struct err_info e = {.text = ""};
    struct stat st;

    cr_assert_eq(out_make_dir(path_of("a/b//c/"), "-o", &e), 0, "%s", e.text);
    cr_assert_eq(stat(path_of("a/b/c"), &st), 0);
    cr_assert(S_ISDIR(st.st_mode));
    cr_assert_eq(out_make_dir(path_of("a/b/c"), "-o", &e), 0);
}

Test(out_file, a_file_in_the_way_is_named)
{
    struct out_set s = {.count = 0};
    struct out_file *o;
    struct err_info e = {.text = ""};

    cr_assert_eq(out_open(&s, path_of("f"), "k", &o, &e), 0);
    cr_assert_eq(out_make_dir(path_of("f/g"), "-o", &e), WH_ERR_INPUT);
    cr_assert_str_eq(e.file, path_of("f/g"));
    cr_assert(strstr(e.text, "-o"));
    cr_assert_eq(out_make_dir("", "-o", &e), WH_ERR_INPUT);
    out_discard(&s);
}

Test(out_file, a_missing_folder_is_refused_with_path_and_key)
{
    struct out_set s = {.count = 0};
    struct out_file *o;
    struct err_info e = {.text = ""};

    cr_assert_eq(out_open(&s, path_of("no/f"), "FCT_OUTPUT_FILE", &o, &e), WH_ERR_INPUT);
    cr_assert_str_eq(e.file, path_of("no/f"));
    cr_assert(strstr(e.text, "FCT_OUTPUT_FILE"));
    cr_assert(strstr(e.text, "No such file"));
}

Test(out_file, one_file_for_two_outputs_is_refused)
{
    struct out_set s = {.count = 0};
    struct out_file *o;
    struct err_info e = {.text = ""};
    char other[160];

    cr_assert_eq(out_open(&s, path_of("f"), "one", &o, &e), 0);
    (void)snprintf(other, sizeof other, "%s/./f", dir);
    cr_assert_eq(out_open(&s, other, "two", &o, &e), WH_ERR_INPUT);
    cr_assert(strstr(e.text, "one") && strstr(e.text, "two"));
    out_discard(&s);
    cr_assert_neq(access(path_of("f"), F_OK), 0, "the discarded file is still there");
}

Test(out_file, the_cap_keeps_whole_lines_and_a_prefix)
{
    struct out_set s = {.count = 0};
    struct out_file *o;
    struct err_info e = {.text = ""};
    struct stat st;

    cr_assert_eq(out_open(&s, path_of("f"), "k", &o, &e), 0);
    o->cap_bytes = 10;
    out_line(o, "1234\n");
    out_line(o, "12345\n"); /* would be 11 */
    out_line(o, "1\n");     /* would fit, but is not next */
    cr_assert_eq(o->left_out, 2);
    cr_assert_eq(out_close(&s, &e), 0);
    cr_assert_eq(stat(path_of("f"), &st), 0);
    cr_assert_eq(st.st_size, 5);
}

Test(out_file, a_full_device_is_reported)
{
    struct out_set s = {.count = 0};
    struct out_file *o;
    struct err_info e = {.text = ""};

    cr_assert_eq(out_open(&s, "/dev/full", "fct.txt", &o, &e), 0, "%s", e.text);
    out_line(o, "something\n");
    cr_assert_eq(out_close(&s, &e), WH_ERR_IO);
    cr_assert_str_eq(e.file, "/dev/full");
    cr_assert(strstr(e.text, "No space"), "%s", e.text);
}

Test(out_file, configured_paths_resolve_by_origin)
{
    static const struct {
        const char *configured;
        int is_hpcc;
        const char *given, *result;
    } rows[] = {
        {"mix/fct.txt", 1, NULL, "mix/fct.txt"},   {"mix/fct.txt", 1, "out", "out/fct.txt"},
        {"/abs/fct.txt", 1, NULL, "/abs/fct.txt"}, {"/abs/fct.txt", 1, "out", "out/fct.txt"},
        {"q.csv", 0, NULL, "dir/q.csv"},           {"q.csv", 0, "dir", "dir/q.csv"},
        {"/abs/q.csv", 0, "dir", "/abs/q.csv"},
    };
    char buf[64];

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cr_assert_eq(
            out_resolve(rows[i].configured, rows[i].is_hpcc, rows[i].given, "dir", buf, sizeof buf),
            0);
        cr_assert_str_eq(buf, rows[i].result);
    }
    cr_assert_eq(out_resolve("long/name", 0, NULL, "dir", buf, 8), WH_ERR_LIMIT);
}
