/*
 * goal.c - schedules in memory: opening, releasing, checking. See goal.h.
 */
#include "goal_int.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME_BYTES 80 /* of a label in a message */

struct goal *goal__create(const char *path, uint32_t rank_count)
{
    struct goal *g = calloc(1, sizeof *g);

    if (!g)
        return NULL;
    strncpy(g->path, path, sizeof g->path - 1);
    g->rank_count = rank_count;
    g->ranks = calloc(rank_count ? rank_count : 1, sizeof *g->ranks);
    if (!g->ranks) {
        free(g);
        return NULL;
    }
    return g;
}

void goal_destroy(struct goal *g)
{
    if (!g)
        return;
    for (uint32_t i = 0; i < g->rank_count; i++) {
        struct goal_rank *r = &g->ranks[i];

        free(r->ops);
        free(r->on_end.first);
        free(r->on_end.waiter);
        free(r->on_start.first);
        free(r->on_start.waiter);
        free(r->label_at);
        free(r->label_text);
    }
    free(g->ranks);
    free(g);
}

const char *goal_label(const struct goal_rank *r, uint32_t op, char *buf, size_t buf_bytes)
{
    if (r->label_at && r->label_at[op] != GOAL_NO_LABEL)
        return r->label_text + r->label_at[op];
    snprintf(buf, buf_bytes, "op%u", op);
    return buf;
}

static void count_waits(const struct goal_edges *edges, uint32_t op_count, uint32_t *waits)
{
    for (uint32_t i = 0; i < edges->first[op_count]; i++)
        waits[edges->waiter[i]]++;
}

uint32_t *goal__waits(const struct goal_rank *r)
{
    uint32_t *waits = calloc((size_t)r->op_count + 1, sizeof *waits);

    if (!waits)
        return NULL;
    count_waits(&r->on_end, r->op_count, waits);
    count_waits(&r->on_start, r->op_count, waits);
    return waits;
}

/* Releases those that wait for @op; the ones that wait no more are appended to @ready. */
static uint32_t release(const struct goal_edges *edges, uint32_t op, uint32_t *waits,
                        uint32_t *ready, uint32_t ready_count)
{
    for (uint32_t i = edges->first[op]; i < edges->first[op + 1]; i++)
        if (--waits[edges->waiter[i]] == 0)
            ready[ready_count++] = edges->waiter[i];
    return ready_count;
}

/* For each waiter of an operation that waits itself: that operation. */
static void note_causes(const struct goal_edges *edges, uint32_t op, uint32_t *cause)
{
    for (uint32_t i = edges->first[op]; i < edges->first[op + 1]; i++)
        cause[edges->waiter[i]] = op;
}

/*
 * What is left waits for something that is left. Whoever goes from one to its cause often enough
 * ends up in a cycle.
 * @cause: shape [op_count], scratch
 */
static int refuse_cycle(const struct goal *g, uint32_t rank, const uint32_t *waits, uint32_t *cause,
                        struct err_info *e)
{
    const struct goal_rank *r = &g->ranks[rank];
    char a[NAME_BYTES], b[NAME_BYTES];
    uint32_t op = 0;

    for (uint32_t i = 0; i < r->op_count; i++) {
        if (!waits[i])
            continue;
        note_causes(&r->on_end, i, cause);
        note_causes(&r->on_start, i, cause);
        op = i;
    }
    for (uint32_t i = 0; i < r->op_count; i++)
        op = cause[op];
    return err_set(e, WH_ERR_INPUT, g->path, 0,
                   "found a cycle of dependencies in rank %u: \"%.64s\" waits for \"%.64s\", which "
                   "waits for it, directly or through others; expected an order in which all start",
                   rank, goal_label(r, op, a, sizeof a), goal_label(r, cause[op], b, sizeof b));
}

/* Takes away all that can start. */
static int check_rank(const struct goal *g, uint32_t rank, struct err_info *e)
{
    const struct goal_rank *r = &g->ranks[rank];
    uint32_t *waits = goal__waits(r);
    uint32_t *ready = malloc(((size_t)r->op_count + 1) * sizeof *ready);
    uint32_t ready_count = 0;
    int rc = 0;

    if (!waits || !ready)
        rc = err_set(e, WH_ERR_NOMEM, g->path, 0, "out of memory");
    for (uint32_t i = 0; !rc && i < r->op_count; i++)
        if (!waits[i])
            ready[ready_count++] = i;
    for (uint32_t i = 0; !rc && i < ready_count; i++) {
        ready_count = release(&r->on_end, ready[i], waits, ready, ready_count);
        ready_count = release(&r->on_start, ready[i], waits, ready, ready_count);
    }
    if (!rc && ready_count < r->op_count)
        rc = refuse_cycle(g, rank, waits, ready, e);
    free(waits);
    free(ready);
    return rc;
}

static int map_file(struct goal_file *f, int fd, struct err_info *e)
{
    struct stat st;

    if (fstat(fd, &st))
        return err_set(e, WH_ERR_IO, f->path, 0, "cannot be read: %s", strerror(errno));
    if (!S_ISREG(st.st_mode))
        return err_input(e, f->path, 0, "no regular file", "a GOAL schedule, text or binary");
    if (st.st_size == 0)
        return err_input(e, f->path, 0, "an empty file", "a GOAL schedule, text or binary");
    f->bytes = (size_t)st.st_size;
    void *data = mmap(NULL, f->bytes, PROT_READ, MAP_PRIVATE, fd, 0);

    if (data == MAP_FAILED)
        return err_set(e, WH_ERR_IO, f->path, 0, "cannot be mapped: %s", strerror(errno));
    f->data = data;
    return 0;
}

static int open_file(struct goal_file *f, struct err_info *e)
{
    int fd = open(f->path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return err_set(e, WH_ERR_INPUT, f->path, 0, "cannot be opened: %s", strerror(errno));
    int rc = map_file(f, fd, e);

    close(fd);
    return rc;
}

int goal_read(const char *path, struct goal **out, const struct warn_sink *sink, struct err_info *e)
{
    struct goal_file f = {.path = path};
    struct goal *g = NULL;
    int rc = open_file(&f, e);

    if (rc)
        return rc;
    rc = goal__is_binary(&f) ? goal__read_binary(&f, &g, e) : goal__read_text(&f, &g, sink, e);
    munmap((void *)(uintptr_t)f.data, f.bytes);
    for (uint32_t i = 0; !rc && i < g->rank_count; i++)
        rc = check_rank(g, i, e);
    if (rc) {
        goal_destroy(g);
        return rc;
    }
    *out = g;
    return 0;
}
