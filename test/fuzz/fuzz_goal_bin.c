/*
 * fuzz_goal_bin.c - any bytes behind the magic number of a binary GOAL schedule. What is accepted
 * is written as text and read back unchanged, and runs.
 */
#include "fuzz_file.h"
#include "goal_checks.h"

#include <stdlib.h>
#include <string.h>

static const uint8_t magic[8] = {0x7f, 0x10};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct fuzz_file f;
    struct err_info e = {0};
    struct goal *g = NULL;
    /* A corpus file may be a whole schedule. */
    const size_t skip =
        bytes >= sizeof magic && !memcmp(data, magic, sizeof magic) ? sizeof magic : 0;
    uint8_t *whole = malloc(sizeof magic + bytes);

    check(whole, "no memory for %zu bytes", bytes);
    memcpy(whole, magic, sizeof magic);
    memcpy(whole + sizeof magic, data + skip, bytes - skip);
    fuzz_file_open(&f, whole, sizeof magic + bytes - skip);
    if (goal_read(f.path, &g, NULL, &e) == 0) {
        goal_check_round_trip(g);
        goal_check_run(g);
    } else {
        check(strstr(e.text, "expected") && !g, "no reason: %s", e.text);
    }
    goal_destroy(g);
    fuzz_file_close(&f);
    free(whole);
    return 0;
}
