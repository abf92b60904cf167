/*
 * goal.h - GOAL schedules, the format of LogGOPSim and ATLAHS: what every rank sends, receives and
 * computes, and in which order.
 *
 * goal_read() takes the text and the binary form and gives the same structure for both. A schedule
 * is data: nothing here runs it, except goal_loggops(), the message-level model of LogGOPSim, which
 * serves as an independent check of schedules and of simulations. Format:
 * docs/formats_goal_htsim.md. Threading: pure functions on caller-owned data; a schedule is
 * immutable once read.
 */
#ifndef WH_GOAL_H
#define WH_GOAL_H

#include "err.h"

#include <stdint.h>
#include <stdio.h>

#define GOAL_ANY UINT32_MAX      /* peer: any source; tag: any tag */
#define GOAL_NO_LABEL UINT32_MAX /* in struct goal_rank.label_at */

enum goal_kind { GOAL_SEND = 1, GOAL_RECV = 2, GOAL_CALC = 3 };

struct goal_op {
    uint64_t amount; /* send, receive: payload [B]; calculation: time [ns] */
    uint32_t peer;   /* rank, < rank_count; GOAL_ANY in a receive; 0 in a calculation */
    uint32_t tag;    /* GOAL_ANY matches every tag; 0 in a calculation */
    uint8_t kind;    /* enum goal_kind */
    uint8_t cpu, nic;
};

/*
 * Who waits for each operation: those that wait for operation i are
 * waiter[first[i]] .. waiter[first[i + 1] - 1], in the order of the file.
 */
struct goal_edges {
    uint32_t *first;  /* shape: [op_count + 1] */
    uint32_t *waiter; /* shape: [first[op_count]] */
};

struct goal_rank {
    struct goal_op *ops; /* shape: [op_count], in the order of the file */
    uint32_t op_count;
    struct goal_edges on_end;   /* "requires": starts after the other has finished */
    struct goal_edges on_start; /* "irequires": starts after the other has started */
    /* Names, from text only. */
    uint32_t *label_at; /* shape: [op_count], offset in label_text or GOAL_NO_LABEL; or NULL */
    char *label_text;   /* zero-terminated names, one after the other; NULL if there are none */
};

struct goal {
    char path[512]; /* for messages */
    uint32_t rank_count;
    struct goal_rank *ranks; /* shape: [rank_count] */
};

/*
 * goal_read - a schedule, text or binary: a binary file is known by its first eight bytes.
 * The dependencies of each rank are checked to have no cycle.
 * Errors: WH_ERR_INPUT with file and, for text, line; WH_ERR_IO, WH_ERR_NOMEM. Free with
 *         goal_destroy.
 */
int goal_read(const char *path, struct goal **out, const struct warn_sink *sink,
              struct err_info *e) WH_MUST_CHECK;
void goal_destroy(struct goal *g); /* NULL is accepted */

/* goal_label - the name of an operation, in @buf "op<n>" if it has none. Returns the name. */
const char *goal_label(const struct goal_rank *r, uint32_t op, char *buf, size_t buf_bytes);

/* goal_write - the text form; reading it gives the same schedule. Returns 0 or WH_ERR_IO. */
int goal_write(FILE *f, const struct goal *g) WH_MUST_CHECK;

/* The LogGOPS parameters; times in ns, per byte where marked. */
struct goal_loggops {
    uint64_t latency_ns;       /* L */
    uint64_t overhead_ns;      /* o, per message on the cpu */
    uint64_t gap_ns;           /* g, between messages of a nic */
    uint64_t gap_byte_ns;      /* G, per byte */
    uint64_t overhead_byte_ns; /* O, per byte on the cpu */
    uint64_t rendezvous_bytes; /* S: larger messages end at their sender when they are received */
};

/* goal_loggops_init - LogGOPSim's defaults: L 2500, o 1500, g 1000, G 6, O 0, S 65535. */
void goal_loggops_init(struct goal_loggops *p);

/*
 * goal_loggops_run - when every rank ends in the LogGOPS model, without a network between them.
 * @g:      from goal_read(), or else without cycles of dependencies
 * @end_ns: shape [rank_count]
 * Errors:  WH_ERR_INPUT: ranks wait for messages that never come, or messages for receives; the
 *          text names the first. WH_ERR_LIMIT: a time does not fit. WH_ERR_NOMEM.
 * Source:  Hoefler, Schneider, Lumsdaine, "LogGOPSim", LSAP 2010; checked against that tool.
 */
int goal_loggops_run(const struct goal *g, const struct goal_loggops *p, uint64_t *end_ns,
                     struct err_info *e) WH_MUST_CHECK;

#endif
