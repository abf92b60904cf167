/*
 * dag_int.h - the parts behind dag.h: streams and tasks (dag.c), collectives (dag_coll.c), sends
 * and receives (dag_p2p.c), flows (dag_net.c), the report of who waits (dag_blocked.c).
 */
#ifndef WH_DAG_INT_H
#define WH_DAG_INT_H

#include "dag.h"

#define TIME_MAX_PS (INT64_MAX / 2) /* computations end before */

/* An operation under way. Rows never move. */
struct task {
    struct dag *d;
    struct task *next_free;
    struct op op;
    uint32_t rank, stream;
    int64_t start_ps, active_ps;
    uint64_t link;
    uint32_t flow; /* SEND: its flow, PORT_NONE without one */
    uint32_t inst; /* COLL: slot */
    uint8_t is_live;
    uint8_t is_active; /* counted as communication of its rank */
};

enum stream_state { STREAM_READY, STREAM_BUSY, STREAM_WAITS, STREAM_IDLE, STREAM_ENDED };

struct stream {
    uint32_t event, event_total; /* STREAM_WAITS */
    uint64_t op_id;              /* STREAM_WAITS */
    uint8_t state, is_queued;
};

/* Where a rank's time goes; see struct rank_times. */
struct account {
    int64_t since_ps; /* everything up to here is accounted */
    int64_t compute_ps, exposed_ps, comm_ps, end_ps;
    uint32_t computes, comms; /* under way */
};

/* Something to do at this instant, by (rank, kind, order, sub). */
enum item_kind { ITEM_STREAM, ITEM_LANE };
struct item {
    uint32_t rank;
    uint32_t kind;
    uint64_t order;  /* STREAM: stream; LANE: number of the collective */
    uint32_t sub;    /* LANE */
    uint32_t inst;   /* LANE: slot */
    uint32_t member; /* LANE */
};

struct lane {
    uint32_t pos, steps, under_way;
    uint32_t is_queued;
};

/* A collective under way. */
struct inst {
    struct coll_plan plan;
    struct inst *next; /* of the group, by seq */
    uint64_t number;
    uint32_t slot, group, seq;
    uint32_t joined, finished;
    int64_t called_ps, all_called_ps, start_ps, end_ps;
    uint64_t flows;
    int64_t bytes, relay_bytes;
    struct lane *lane;      /* shape: [n][lane_count] */
    uint32_t *in;           /* shape: [n][in_count] */
    int64_t *left;          /* shape: [n], sends and arrivals still to come */
    struct task **task;     /* shape: [n], NULL before the call and after the end */
    uint8_t *has_joined;    /* shape: [n] */
    struct coll_call asked; /* of the first caller, to compare with */
    uint32_t first_rank;
};

struct group_state {
    uint32_t *calls;    /* shape: [members], calls so far; NULL before the first */
    struct inst *first; /* under way, by seq */
};

/* A flow under way, by id. */
enum msg_kind { MSG_FREE, MSG_COLL, MSG_SEND };
struct msg {
    uint32_t flow;
    uint8_t kind, has_arrived, is_handed_over, is_relay;
    uint32_t inst, member, lane, dst, in; /* COLL */
    struct p2p_msg *p2p;                  /* SEND */
    int64_t bytes;
};

/* One message of a (sender, receiver, tag); see dag_p2p.c. */
struct p2p_msg {
    struct p2p_msg *prev, *next;
    struct p2p_key *key;
    struct task *send, *recv; /* NULL: not yet, or over */
    uint64_t number;
    int64_t bytes, recv_bytes, sent_ps;
    uint8_t is_sent, is_posted, has_arrived;
};
struct p2p_key {
    struct p2p_key *next; /* of the bucket */
    uint32_t src, dst, tag;
    struct p2p_msg *first, *last, *unsent, *unposted; /* unsent: first one without a send */
};

struct dag {
    struct dag_spec spec;
    struct sim *s;
    int rc; /* first failure in a hook */
    struct err_info e;
    uint8_t is_started, is_draining;
    int64_t drain_ps; /* instant of the scheduled drain, -1 */

    struct stream *stream;   /* shape: [rank][stream] */
    uint32_t *event;         /* shape: [rank][event], times recorded */
    struct account *account; /* shape: [rank] */
    uint64_t streams_left, tasks_live;

    struct task **task_chunk; /* shape: [task_chunks], each of TASK_CHUNK rows */
    uint32_t task_chunks, task_chunk_cap;
    struct task *task_free;

    struct item *queue, *batch; /* to do now; being done */
    uint32_t queue_count, queue_cap, batch_cap;

    struct group_state *group; /* shape: [groups] */
    struct inst **inst;        /* by slot */
    uint32_t inst_cap, *inst_free, inst_free_count;

    struct msg *msg; /* open addressing by flow, size a power of two */
    uint32_t msg_cap, msg_count;

    struct p2p_key **bucket;
    uint32_t bucket_cap, key_count;

    uint64_t next_number;
    struct dag_counters counters;
};

#define TASK_CHUNK 256u

/* dag.c */
void dag__fail(struct dag *d, int rc);
int64_t dag__now(const struct dag *d);
struct task *dag__start_task(struct dag *d, uint32_t rank, uint32_t stream, const struct op *op);
void dag__end_task(struct dag *d, struct task *t);
void dag__begin_comm(struct dag *d, struct task *t); /* from now on it communicates */
void dag__queue(struct dag *d, const struct item *i);

/* dag_coll.c */
int dag__coll_start(struct dag *d, struct task *t);
void dag__coll_lane(struct dag *d, const struct item *i);
void dag__coll_arrived(struct dag *d, const struct msg *m);
void dag__coll_handed_over(struct dag *d, const struct msg *m);
void dag__coll_fini(struct dag *d);

/* dag_p2p.c */
int dag__p2p_send(struct dag *d, struct task *t);
int dag__p2p_recv(struct dag *d, struct task *t);
void dag__p2p_arrived(struct dag *d, struct p2p_msg *p);
void dag__p2p_handed_over(struct dag *d, struct p2p_msg *p);
void dag__p2p_fini(struct dag *d);

/* dag_net.c: @m holds what to do with the flow; its own field is filled. */
struct net_send {
    uint32_t src, dst; /* ranks */
    int64_t bytes;     /* > 0 */
    uint32_t connection;
    uint32_t user;
    uint8_t label;
};
int dag__net_send(struct dag *d, const struct net_send *n, struct msg *m);
void dag__net_hooks(struct dag *d, struct sim *s);

#endif
