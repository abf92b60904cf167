/*
 * test_fct_table.c - reading FCT files back.
 */
#include "fct_table.h"

#include "output_fct.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Reads @text through a file of its own. */
static int read_text(const char *text, struct fct_table *t, struct err_info *e)
{
    char path[] = "/tmp/wh_fct_XXXXXX";
    const int fd = mkstemp(path);
    int rc;

    cr_assert_geq(fd, 0);
    cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    (void)close(fd);
    *t = (struct fct_table){.rows = NULL};
    *e = (struct err_info){.text = ""};
    rc = fct_table_read(path, t, e);
    (void)unlink(path);
    return rc;
}

static void must_read(const char *text, struct fct_table *t)
{
    struct err_info e;

    cr_assert_eq(read_text(text, t, &e), 0, "line %ld: %s", e.line, e.text);
}

Test(fct_table, hpcc_lines_are_read)
{
    struct fct_table t;

    must_read("0b000401 0b010801 10000 100 4000000 2000000000 1944732 339520\r\n"
              "\n"
              "3 70000 10001 200 1 5 7 9",
              &t);
    cr_assert_eq(t.count, 2);
    cr_assert_eq(t.rows[0].src, 4);
    cr_assert_eq(t.rows[0].dst, 264);
    cr_assert_eq(t.rows[0].start_ns, 2000000000);
    cr_assert_eq(t.rows[0].fct_ps, INT64_C(1944732000));
    cr_assert_eq(t.rows[1].src, 3);
    cr_assert_eq(t.rows[1].dst, 70000);
    fct_table_fini(&t);
}

Test(fct_table, our_csv_is_read_with_unfinished_flows)
{
    struct fct_table t;

    must_read(FCT_CSV_HEADER "\n"
                             "0,1,2,10000,100,3,500,0.5,12.345,10,1.234500,2,0,done\n"
                             "1,1,2,10001,100,3,500,7,,10,,2,0,active\n",
              &t);
    cr_assert_eq(t.count, 2);
    cr_assert_eq(t.rows[0].start_ns, 1);
    cr_assert_eq(t.rows[0].fct_ps, 12345);
    cr_assert_eq(t.rows[1].fct_ps, -1);
    fct_table_fini(&t);
}

Test(fct_table, wrong_lines_are_refused_with_their_number)
{
    static const struct {
        const char *text, *culprit;
        long line;
    } bad[] = {
        {"1 2 10000 100 1 0 5\n", "7 columns", 1},
        {"1 2 10000 100 1 0 5 5\n1 2 10000 100 1 0 5 5 5\n", "9 columns", 2},
        {"1 2 10000 100 1 0 x 5\n", "'x'", 1},
        {"1 2 10000 100 1 -4 5 5\n", "'-4'", 1},
        {"0b0000zz 2 10000 100 1 0 5 5\n", "'0b0000zz'", 1},
        {"1 2 70000 100 1 0 5 5\n", "'70000'", 1},
        {"1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19\n", "16 columns", 1},
        {"flow,src\n", "flow,src", 1},
        {FCT_CSV_HEADER "\n0,1,2\n", "3 columns", 2},
        {FCT_CSV_HEADER "\n0,1,2,10000,100,3,500,0,12.3456,10,1,2,0,done\n", "12.3456", 2},
    };

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct fct_table t;
        struct err_info e;

        cr_assert_eq(read_text(bad[i].text, &t, &e), WH_ERR_INPUT, "%s", bad[i].text);
        cr_assert_eq(e.line, bad[i].line, "%s: line %ld", bad[i].text, e.line);
        cr_assert(strstr(e.text, bad[i].culprit), "'%s' lacks '%s'", e.text, bad[i].culprit);
        fct_table_fini(&t);
    }
}

Test(fct_table, missing_files_and_folders_without_results_are_refused)
{
    struct fct_table t = {.rows = NULL};
    struct err_info e = {.text = ""};
    char dir[] = "/tmp/wh_fct_dir_XXXXXX";

    cr_assert_eq(fct_table_read("/nonexistent/fct.txt", &t, &e), WH_ERR_INPUT);
    cr_assert_not_null(mkdtemp(dir));
    cr_assert_eq(fct_table_read(dir, &t, &e), WH_ERR_INPUT);
    cr_assert(strstr(e.text, "fct.csv"));
    (void)rmdir(dir);
}

Test(fct_table, restored_rows_are_in_the_order_of_appending)
{
    static const uint32_t sources[] = {5, 1, 3};
    struct fct_table t = {.rows = NULL};

    for (size_t i = 0; i < 3; i++)
        cr_assert_eq(fct_table_append(&t, &(struct fct_row){.src = sources[i]}), 0);
    t.rows[0] = (struct fct_row){.src = 3, .order = 2};
    t.rows[2] = (struct fct_row){.src = 5, .order = 0};
    fct_table_restore(&t);
    for (size_t i = 0; i < 3; i++)
        cr_expect_eq(t.rows[i].src, sources[i], "row %zu", i);
    fct_table_fini(&t);
}
