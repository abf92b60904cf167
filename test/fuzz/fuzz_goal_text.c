/*
 * fuzz_goal_text.c - any bytes as a GOAL schedule. What is accepted is written and read back
 * unchanged, and runs.
 */
#include "fuzz_file.h"
#include "goal_checks.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct fuzz_file f;
    struct err_info e = {0};
    struct goal *g = NULL;

    fuzz_file_open(&f, data, bytes);
    if (goal_read(f.path, &g, NULL, &e) == 0) {
        goal_check_round_trip(g);
        goal_check_run(g);
    } else {
        check(strstr(e.text, "expected") && !g, "no reason: %s", e.text);
    }
    goal_destroy(g);
    fuzz_file_close(&f);
    return 0;
}
