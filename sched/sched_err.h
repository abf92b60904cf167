/*
 * sched_err.h - error codes of this folder.
 *
 * The folder stands alone, so it has its own; the values are those of the same names in enum
 * wh_err (a test compares them), so that callers can pass them on. Threading: none.
 */
#ifndef WH_SCHED_ERR_H
#define WH_SCHED_ERR_H

enum sched_err {
    SCHED_OK = 0,
    SCHED_ERR_INPUT = -1,
    SCHED_ERR_NOMEM = -2,
};

#define SCHED_MUST_CHECK __attribute__((warn_unused_result))

/* Two lines of 64 bytes: processors fetch neighbours in pairs. */
#define SCHED_LINE_BYTES 128

#endif
