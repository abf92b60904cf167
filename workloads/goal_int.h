/*
 * goal_int.h - what the readers of GOAL schedules share. For workloads/ and its tests only.
 */
#ifndef WH_GOAL_INT_H
#define WH_GOAL_INT_H

#include "goal.h"

/* A file as mapped memory: schedules of real applications are larger than what one wants to read
 * in. */
struct goal_file {
    const char *path;
    const unsigned char *data; /* shape: [bytes] */
    size_t bytes;
};

/* goal__create - @rank_count empty ranks. Returns NULL if out of memory. */
struct goal *goal__create(const char *path, uint32_t rank_count);

/* The readers proper. On failure nothing is left behind. */
int goal__read_text(const struct goal_file *f, struct goal **out, const struct warn_sink *sink,
                    struct err_info *e) WH_MUST_CHECK;
int goal__read_binary(const struct goal_file *f, struct goal **out,
                      struct err_info *e) WH_MUST_CHECK;

/* goal__is_binary - the first eight bytes are those of a binary schedule, usable or not. */
int goal__is_binary(const struct goal_file *f);

/*
 * goal__waits - per operation how many others it waits for.
 * Returns: shape [op_count + 1] (free), NULL if out of memory.
 */
uint32_t *goal__waits(const struct goal_rank *r);

#endif
