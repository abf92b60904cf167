/*
 * dag.h - ranks that compute and communicate, as a graph of operations released by completions.
 *
 * The model is that of CUDA streams. A rank has a few streams; a stream executes operations in
 * order, one at a time; streams of a rank run side by side, and order one another by events
 * (RECORD counts an event up, WAIT waits for a count). Collectives match by group and by order of
 * the calls on that group, sends and receives by (sender, receiver, tag) and order. A send is over
 * when the network has handed all of it over (acknowledged), a receive when all has arrived; sends
 * do not wait for the receiver to ask.
 *
 * Operations come from a program, when a stream is ready for the next one, so that nobody holds
 * them all: what is kept is a position per stream, the operations under way and, per collective
 * under way, a position per lane (coll.h).
 *
 * Everything happens at control events of a simulation. What becomes possible at one instant is
 * executed in the order of (rank, stream, operation), then what that made possible, and so on; so
 * the order does not depend on the order in which completions are told.
 *
 * Threading: one thread, the one that runs the simulation.
 */
#ifndef WH_DAG_H
#define WH_DAG_H

#include "coll.h"
#include "err.h"
#include "group.h"
#include "sim.h"

#include <stdint.h>

enum op_kind { OP_COMPUTE, OP_COLL, OP_SEND, OP_RECV, OP_RECORD, OP_WAIT, OP_KIND_COUNT };
const char *op_kind_name(enum op_kind k);

#define OP_BYTES_ANY (-1) /* a receive that takes whatever comes */

struct op {
    uint64_t id;      /* as reports name it */
    uint64_t token;   /* free for the program */
    const char *name; /* for timelines; kept by the program until done(); NULL: from the kind */
    enum op_kind kind;
    uint8_t is_async;      /* the stream goes on at once; done() tells the end */
    uint8_t label;         /* kind of traffic: tag of the flows, channel of sends */
    int64_t duration_ps;   /* COMPUTE */
    uint32_t group;        /* COLL */
    struct coll_call call; /* COLL */
    int64_t bytes;         /* SEND, RECV */
    uint32_t peer, tag;    /* SEND, RECV: a rank; a number that both use */
    uint32_t event;        /* RECORD, WAIT: below event_count, each rank has its own */
    uint32_t event_total;  /* WAIT: go on when the event has been recorded so often */
};

/* What a program's next() returns, besides a negative enum wh_err. */
enum dag_next {
    DAG_END = 0, /* the stream has no more operations */
    DAG_OP = 1,
    DAG_IDLE = 2 /* none now; dag_wake tells when to ask again */
};

struct dag_program {
    void *ctx;
    int (*next)(void *ctx, uint32_t rank, uint32_t stream, struct op *out);
    /* an operation is over; may be NULL */
    void (*done)(void *ctx, uint32_t rank, uint32_t stream, const struct op *op, int64_t now_ps);
    /* for reports; may be NULL. waits: what an idle stream waits for; writes "" if nothing */
    const char *(*stream_name)(void *ctx, uint32_t stream);
    void (*waits)(void *ctx, uint32_t rank, uint32_t stream, char *buf, size_t buf_bytes);
};

/* A finished collective. Times are those of its flows; without any, of its first call. */
struct coll_record {
    uint64_t number; /* from 0, in order of first calls; lower 32 bits: user field of its flows */
    uint32_t group_id;
    const struct group *group;
    struct coll_call call; /* resolved */
    int64_t called_ps;     /* first call by a member */
    int64_t all_called_ps; /* last call */
    int64_t start_ps;      /* first flow */
    int64_t end_ps;        /* last member is through; with flows: last flow handed over */
    uint64_t flows;
    int64_t bytes;          /* payload sent to where it stays */
    int64_t relay_bytes;    /* payload sent to be passed on */
    int64_t expected_bytes; /* closed formula for @bytes */
};

struct op_record {
    uint32_t rank, stream;
    const struct op *op;
    int64_t start_ps, end_ps;
    int64_t active_ps; /* SEND, RECV, COLL: when the transfer began, at least start_ps */
    uint64_t link;     /* SEND, RECV: the same number on both sides; COLL: number */
};

/* Told of everything that ends; functions may be NULL. Called between events. */
struct dag_observer {
    void *ctx;
    void (*on_op)(void *ctx, const struct op_record *r);
    void (*on_coll)(void *ctx, const struct coll_record *r);
};

struct dag_spec {
    const struct placement *place;  /* kept */
    const struct group_set *groups; /* kept; must not grow once the DAG exists */
    struct dag_program program;
    struct dag_observer observer;
    uint32_t stream_count, event_count; /* per rank */
    int64_t start_ps;
    uint8_t prio;                          /* of all flows; 0: 3 */
    uint16_t dport;                        /* of all flows; 0: 100 */
    int (*poll)(void *ctx, struct sim *s); /* as sim_hooks.on_poll; may be NULL */
    void *poll_ctx;
};

struct dag;

int dag_create(struct dag **out, const struct dag_spec *spec, struct err_info *e) WH_MUST_CHECK;
void dag_destroy(struct dag *d); /* NULL is accepted */

/*
 * dag_run - executes the DAG on @s up to @until_ps; sets the hooks of @s.
 * Returns: 0; WH_ERR_INPUT if the program is wrong, or if ranks wait for what will never come (see
 * dag_blocked); WH_ERR_INTERRUPTED; WH_ERR_NOMEM; WH_ERR_LIMIT from the network.
 */
int dag_run(struct dag *d, struct sim *s, int64_t until_ps, struct err_info *e) WH_MUST_CHECK;

/* dag_wake - a stream whose program said DAG_IDLE has an operation now. From done(), or later. */
void dag_wake(struct dag *d, uint32_t rank, uint32_t stream);

int dag_is_done(const struct dag *d); /* every stream has ended, nothing is under way */

/*
 * dag_blocked - who waits for what, one sentence each, collectives first, then by rank and stream.
 * @fn:  called for at most @max sentences
 * Returns: how many there are.
 */
uint64_t dag_blocked(const struct dag *d, uint64_t max, void (*fn)(void *ctx, const char *text),
                     void *ctx);

/* Where the time of a rank went, from start_ps to the end of the DAG's last operation. */
struct rank_times {
    int64_t compute_ps; /* at least one computation ran */
    int64_t exposed_ps; /* none ran, but a transfer or collective was under way */
    int64_t comm_ps;    /* a transfer or collective was under way */
    int64_t idle_ps;    /* neither */
    int64_t end_ps;     /* its last operation ended */
};
void dag_rank_times(const struct dag *d, uint32_t rank, struct rank_times *out);

struct dag_counters {
    uint64_t ops, flows, colls, colls_empty, sends; /* colls_empty: moved nothing */
    int64_t bytes;                                  /* payload in flows */
    int64_t start_ps, end_ps;                       /* of the whole */
};
void dag_counters(const struct dag *d, struct dag_counters *out);

#endif
