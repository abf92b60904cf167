/*
 * goal_checks.c - see goal_checks.h.
 */
#include "goal_checks.h"

#include "fuzz_file.h"

#include <stdlib.h>
#include <string.h>

static char *write_text(const struct goal *g, size_t *bytes)
{
    char *text = NULL;
    FILE *f = open_memstream(&text, bytes);

    check(f, "no memory stream for %u ranks", g->rank_count);
    check(goal_write(f, g) == 0, "cannot write %u ranks", g->rank_count);
    fclose(f);
    return text;
}

void goal_check_round_trip(const struct goal *g)
{
    struct fuzz_file f;
    struct err_info e = {0};
    struct goal *back = NULL;
    size_t bytes = 0, back_bytes = 0;
    char *text = write_text(g, &bytes);

    fuzz_file_open(&f, (const uint8_t *)text, bytes);
    int rc = goal_read(f.path, &back, NULL, &e);

    check(rc == 0, "what was written is refused: line %ld: %s", e.line, e.text);
    char *back_text = write_text(back, &back_bytes);

    check(bytes == back_bytes && !memcmp(text, back_text, bytes), "%zu bytes, then %zu", bytes,
          back_bytes);
    for (uint32_t r = 0; r < g->rank_count; r++)
        check(g->ranks[r].op_count == back->ranks[r].op_count, "rank %u", r);
    goal_destroy(back);
    fuzz_file_close(&f);
    free(text);
    free(back_text);
}

void goal_check_run(const struct goal *g)
{
    struct goal_loggops p;
    struct err_info e = {0};
    uint64_t *end_ns = calloc(g->rank_count, sizeof *end_ns);

    check(end_ns, "no memory for %u ranks", g->rank_count);
    goal_loggops_init(&p);
    int rc = goal_loggops_run(g, &p, end_ns, &e);

    check(rc == 0 || rc == WH_ERR_INPUT || rc == WH_ERR_LIMIT, "code %d", rc);
    check(rc == 0 || strstr(e.text, "expected"), "no reason: %s", e.text);
    free(end_ns);
}
