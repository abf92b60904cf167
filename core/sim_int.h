/*
 * sim_int.h - the rows that a simulation is made of. For core/ and its unit tests only.
 *
 * Everything is a row in an array and named by a 32-bit id: ports (hot serialiser state), packets,
 * sender and receiver halves of flows, network interfaces, switch buffers. What one packet touches
 * at a hop is: its own line, the two lines of the port it leaves, the two of the port it enters,
 * four bytes of path, and the counters of its ingress.
 *
 * Transmission ends. ns-3 spends an event on the end of every transmission. Here it is one only
 * where something waits for it: it is scheduled when a packet has to queue behind the transmission,
 * or at once at an interface that has flows to serve. Otherwise the port is found idle when it is
 * next touched. A hop through a port without a queue costs one event, the arrival; and of the
 * packets on a wire only the first is in the calendar.
 *
 * Order of equal times: see calendar.h; `next_chain` below gives an event its place in it.
 *
 * Frames: all times in these rows are local to their partition.
 * Threading: rows belong to the partition that holds their port or flow half; one thread runs it.
 */
#ifndef WH_SIM_INT_H
#define WH_SIM_INT_H

#include "agenda.h"
#include "audit.h"
#include "calendar.h"
#include "cc.h"
#include "lens.h"
#include "life.h"
#include "memo_ops.h"
#include "pool.h"
#include "route.h"
#include "shard.h"
#include "sim.h"
#include "snapshot.h"
#include "watch.h"

#include <stddef.h>

/* Rows of different partitions do not share a line: workers would wait for one another. */
#define CACHE_LINE 64u
#define ROW_NONE UINT32_MAX
#define PART_NONE 0u /* row 0 is the one partition of the serial engine */
#define CLASS_MAX 8u /* traffic classes of a port: 0 control, then the priorities in use */
#define INT_HOPS_MAX 7u
#define FLOW_STRETCH 65536u /* flows whose rows are given back together */
#define FLOW_SPARES 2u      /* stretches that wait for later flows to take their rows over */
#define PATH_END PORT_NONE  /* terminates a path in the path arena */

enum pkt_type { PKT_DATA = 0, PKT_ACK = 1, PKT_NACK = 2, PKT_PFC = 3 };

enum pkt_flag {
    PKT_CE = 1,    /* data: marked congestion experienced */
    PKT_CNP = 2,   /* ACK: echoes a mark */
    PKT_RETX = 4,  /* data: sent before */
    PKT_PAUSE = 8, /* PFC: pause (else resume) */
    PKT_SACK = 16, /* ACK/NACK: `payload` packets after `seq` the data packet lies that caused it */
    PKT_LAST = 32  /* data: ends its flow; ACK: of all of it */
};

struct pkt {
    int64_t arrive; /* when it reaches the far end of its wire */
    int64_t sched;  /* start of its serialisation there */
    int64_t chain;  /* place among events of equal time and sched, see calendar.h */
    int64_t seq;    /* data: first payload byte; ACK: next byte expected */
    int64_t sent;   /* when the data packet was built (echoed) */
    uint32_t next;  /* queue or wire link, 0 = end */
    uint32_t path;  /* path arena row of the port to take next */
    uint32_t flow;
    uint32_t in_port; /* ingress at the switch that holds it */
    uint16_t wire_bytes, payload;
    uint8_t type, cls, flags, int_hops;
};
_Static_assert(sizeof(struct pkt) == 64, "a packet is one cache line");

/* INT records of the packet with the same row: 24 bit ns, 20 bit bytes, 17 bit queue, 3 bit rate.
 */
struct int_rec {
    uint64_t hop[INT_HOPS_MAX + 1];
};

/* An INT word whose clock is @delta_ps, a multiple of 1 ns, further on. */
static inline uint64_t int_rebase(uint64_t word, int64_t delta_ps)
{
    return (word & ~UINT64_C(0xffffff)) | ((word + (uint64_t)(delta_ps / 1000)) & 0xffffff);
}

struct pkt_queue {
    uint32_t head, tail, bytes;
};

enum port_flag {
    PORT_HOST = 1, /* owner is a host: row of struct nic; else of struct swtch */
    PORT_DOWN = 2,
    PORT_TX_EVENT = 4 /* the end of the present transmission is in the calendar */
};

struct port {
    /* line 0: the serialiser */
    int64_t busy_until, tx_start, chain;  /* present or last transmission; chain: of its end */
    uint32_t wire_head, wire_tail;        /* packets under way, the one in transmission included */
    struct pkt_queue q[2];                /* classes 0 and 1; more in sim.extra_q */
    uint32_t q_bytes;                     /* waiting, all classes */
    uint8_t busy, paused, backlog, flags; /* paused, backlog: bit per class */
    /* line 1 */
    uint64_t tx_bytes; /* INT counter */
    uint32_t peer;     /* port at the other end */
    uint32_t owner;    /* row of nic or swtch */
    uint32_t kind;     /* row of port_kind */
    uint32_t q_max;
    uint64_t tx_total_bytes, tx_packets;
    uint32_t flows; /* active flows whose data or ACK path holds the port */
    uint32_t marks;
    uint32_t part;   /* partition that it belongs to, PART_NONE if it is idle and nobody's */
    uint32_t frames; /* packets that started here; stream of the loss draws */
    uint32_t holds;  /* members of the partition that claim it: flows, coupled switches */
    uint16_t charge; /* bytes that a data packet pays for acknowledgements, ack_charge.c */
    uint8_t rr_last; /* class served last */
    uint8_t reserved;
};
_Static_assert(sizeof(struct port) == 128, "a port is two cache lines");

/* Rare happenings of a port. */
struct port_cold {
    uint64_t drops, losses, pauses;
    int64_t paused_ps;
    int64_t paused_since[CLASS_MAX]; /* local; of the classes that are paused */
    uint64_t held_events;            /* see struct flow_tx */
};

/* What ports of one link class at hosts or at switches share. */
struct port_kind {
    int64_t rate_bps, delay_ps;
    int64_t *tx_ps; /* shape: [frame_bytes_max + 1] */
    int64_t kmin_bytes, kmax_bytes;
    double pmax;
    double error_rate;
    int64_t headroom_bytes;
    uint32_t pfc_shift;
    uint32_t int_code; /* row of sim.int_rate_bps */
};

/* Shared buffer of a switch: mmu.c. */
struct ingress {
    uint32_t bytes, headroom; /* bytes not in headroom; bytes in headroom */
    uint32_t paused;          /* we told the neighbour to stop */
};

struct swtch {
    int64_t shared_used, shared_cap; /* cap: buffer less all reserves and headrooms */
    uint32_t node, first_port, port_count;
    /* coupling: quiet.c */
    int64_t load, in_load_max; /* bytes that its flows can have here at most; at one ingress */
    uint32_t flows;            /* member flows that cross it */
    uint8_t coupled;           /* its buffer is accounted, and couples what passes it */
    uint8_t was_coupled;       /* ever */
};

/* Egress side of a host port. */
struct nic {
    uint32_t *flow; /* shape: [count], rows, in round-robin order */
    uint32_t count, cap;
    uint32_t last;   /* index served last */
    uint32_t active; /* of the list, flows that are not closed */
    uint32_t port;
    int64_t timer_time, timer_sched; /* TIME_NEVER: none pending */
    int64_t rate_bps;                /* line rate, less for stragglers */
    uint8_t pad[8];
};
_Static_assert(sizeof(struct nic) % CACHE_LINE == 0, "interfaces do not share a line");

/* Sender half of a flow. The first line is the sender's at each packet; the second is what others
 * read of it too, and never changes while packets are under way. */
struct flow_tx {
    int64_t snd_nxt, snd_una, size; /* payload bytes */
    int64_t next_avail;
    int64_t rate_bps, win;
    int64_t snd_max; /* highest byte ever sent + 1 */
    uint32_t last_wire_bytes;
    uint8_t active, retries, rto_armed, reserved;
    /* line 1 */
    uint32_t path,
        ack_path;  /* path arena rows; of the first of path_count paths, path_stride apart */
    uint32_t port; /* egress at the host */
    uint16_t path_count, path_stride, ack_stride, hops;
    uint8_t cls, reserved1[3];
    uint64_t conn; /* hash of the connection, for draws that must repeat */
    int64_t base_rtt_ps, bypass_ps;
    int64_t max_rate_bps, win_max; /* win_max: bytes; 0: no window */
    /* line 2 */
    int64_t rto_deadline;
    int64_t last_ack; /* when snd_una last rose */
    int64_t retx_bytes;
    uint64_t cnps;
    struct irn_tx *irn;                /* selective repeat, else NULL */
    uint32_t bypass_head, bypass_tail; /* ACKs that travel beside the network */
    int64_t base;          /* payload skipped so far: positions in the flow are base + local ones */
    int64_t ack_share_bps; /* rate at which its acknowledgements are charged for, per path */
    /* line 3 */
    uint64_t held_events; /* executed because it kept its partition from being frozen */
    int64_t load_bytes;   /* that it counts for at each switch on its way, quiet.c */
    uint32_t snap_rank;   /* number in the snapshot that is being made */
    uint32_t member;      /* index in part.flow */
    /* ack_charge.c: flows of the same connection that have ended and are still charged for; + 1,
     * 0: none */
    uint32_t held_next, held_prev;
    uint8_t is_taken_over;           /* another flow is charged for in its place */
    uint8_t is_skipped, is_replayed; /* audits: a skip, a hit of the fcg lens has changed it */
    uint8_t pad[29];
};
_Static_assert(offsetof(struct flow_tx, path) == CACHE_LINE, "what others read begins a line");
_Static_assert(offsetof(struct flow_tx, rto_deadline) == 2 * (size_t)CACHE_LINE, "and is one");
_Static_assert(sizeof(struct flow_tx) % CACHE_LINE == 0, "flows do not share a line");

/* Receiver half of a flow. */
struct flow_rx {
    int64_t expected, size;
    int64_t nack_until, nack_last; /* -1: none yet */
    int64_t cnp_next;              /* no echo before it */
    uint32_t unacked;              /* packets since the last ACK */
    uint8_t marked;                /* a mark to echo */
    uint8_t delivered;
    struct irn_rx *irn;
    uint8_t pad[8];
};
_Static_assert(sizeof(struct flow_rx) % CACHE_LINE == 0, "flows do not share a line");

/* What events of a run with skipping were executed for. */
enum event_class {
    CLASS_TRANSIENT,    /* from a control event to the first skip */
    CLASS_OBSERVED,     /* looking again between skips */
    CLASS_ENDING,       /* close to the end of a flow */
    CLASS_NEVER_STEADY, /* episodes without a skip */
    CLASS_UNWATCHED,    /* nobody looked: packets of ended flows under way, too many flows */
    CLASS_COUNT
};

/* How an episode comes about. */
enum episode_state {
    EPISODE_PLAIN,   /* by executing it */
    EPISODE_NEW,     /* not known yet: a control event has just begun it */
    EPISODE_LEADS,   /* by executing it, and what comes of it will be known */
    EPISODE_FOLLOWS, /* another partition executes it */
    EPISODE_REPLAYS, /* it is known */
    EPISODE_LIVES    /* the whole life of its one flow is known, life.c */
};

/*
 * A partition: flows, the ports where they wait or make others wait, and a clock and a calendar of
 * their own. One worker runs it at a time; between rounds it belongs to the coordinator.
 */
struct part {
    /* what the loop over the partitions in each round reads */
    struct sim *s;
    int64_t offset;   /* global time = local time + offset */
    int64_t executed; /* local: up to where; less than the horizon after a disturbance */
    int64_t bound;    /* no completion before it, local; may be too early */
    int64_t frozen_at, frozen_ps; /* since when, for how long, local; 0: not frozen */
    int64_t wake;                 /* global: when what it waits for is taken, see episode_waits */
    uint32_t note_count;
    uint32_t running;      /* members whose sender is not done */
    uint8_t episode_state; /* enum episode_state */
    uint8_t stage_over;    /* enum stage_end; a leader has come to it */
    uint32_t note_cap;
    struct event ev; /* the event being executed: its key is "now" */
    int64_t now;
    int64_t limit;   /* events after it wait; lowered by a completion */
    int64_t serial;  /* events ever scheduled here; the chain under ORDER_NS3 */
    uint8_t order;   /* enum order_mode */
    uint8_t watched; /* a packet log is on */
    uint8_t reacts;  /* completions have consequences elsewhere: their times are announced */
    struct port *port;
    struct pkt *pkt;
    struct int_rec *int_rec;
    struct flow_tx *tx;
    struct flow_rx *rx;
    const uint32_t *path;
    const struct shard_map *cut; /* executed by shards, or a shard itself; else NULL */
    uint32_t pkt_free;
    uint32_t worker; /* whose rows new packets are taken from */
    struct calendar cal;
    uint64_t events, packet_hops, data_packets, ack_packets, nack_packets, cnp_echoes, pfc_frames;
    uint64_t drops, losses, marks, pauses, rate_cuts, timeouts, retx_packets;
    /* happenings that control events deal with, in order; shape: [done_count] */
    struct part_note {
        int64_t time; /* global */
        uint32_t flow;
        uint32_t what; /* enum note_kind */
    } * note;

    /* membership: part.c */
    uint32_t id;
    uint32_t *flow; /* shape: [flow_count], flows of which it holds state or packets */
    uint32_t flow_count, flow_cap;
    uint32_t active; /* of them, not closed */
    uint32_t *swtch; /* shape: [swtch_count], coupled switches */
    uint32_t swtch_count, swtch_cap;
    uint32_t *linger; /* shape: [linger_count], ports that nobody claims, not idle yet */
    uint32_t linger_count, linger_cap;
    uint32_t closes;    /* flows that left since the last look for a split */
    uint8_t touched;    /* in sim.touched */
    uint8_t charge_due; /* shares of its flows may have changed */
    int64_t touch_ps;   /* global time of what touched it */
    struct old_way {    /* ways that flows had before the network changed */
        uint32_t flow;
        struct flow_tx was;
    } * old;
    uint32_t old_count, old_cap;

    /* skipping: freeze.c */
    void *watch;             /* of sim.watch; NULL: none yet */
    struct episode *episode; /* what the watch is told */
    uint8_t is_fresh;        /* a control event has touched it: a new episode begins */
    uint8_t is_watched, is_ending, note_stop;
    uint8_t tells_acks;  /* the watch wants to hear of them */
    uint32_t skips;      /* in this episode */
    int64_t nudge_bytes; /* see freeze_nudge; 0: frozen by a verdict */
    uint64_t skips_ever;
    double skipped_flow_s; /* summed over flows */
    uint64_t skipped_packets, skipped_hops;
    uint64_t mark, mark_bin; /* events when the present class, the present bin began */
    uint64_t class_events[CLASS_COUNT], why_events[WATCH_REASON_MAX];
    uint64_t coupled_events; /* of class_events, while it held coupled switches */

    /* audits: audit.c */
    struct audit *audit; /* NULL: none yet */
    struct audit_sums audited;

    /* replaying: episode.c */
    struct scratch *scratch;                /* of who holds it; see scratch.h */
    uint32_t leader;                        /* whom it follows */
    uint32_t follow_next, follow_prev;      /* others who follow the same one; 0: none */
    uint32_t follower_first, follower_last; /* who follows it */
    struct memo_value known;                /* what it replays */
    struct record *record;                  /* what it remembers as a leader */
    uint64_t replayed_hops;
    uint64_t draws; /* random marks so far; where names matter */

    /* lives: life.c */
    struct life *life;     /* EPISODE_LIVES: of its flow, which has not been started */
    struct life *observed; /* what may become known */
    uint8_t is_observed, has_delivered;

    /* executed by shards: shard.c; and above: cut */
    struct shard_set *shards; /* NULL: never yet */
    uint32_t shard;           /* its own number; the home counts as one more */
    uint8_t may_stall;        /* a flow may be given up soon: not by shards */
    int64_t sent_min;         /* first arrival of what it has posted in this window */

    /* the fcg lens: stage.c */
    struct stage *stage; /* what it looked up, and remembers as a leader; NULL: nothing yet */
    uint8_t owes_state;  /* flows and counters are further than the rest, stage_chain.c */
    int64_t pending_at;  /* frozen_at of what freeze_pending_bytes last found out */

    /* rounds: round.c */
    int64_t from;         /* local: where the present round began for it */
    double events_per_ps; /* lately; 0: not known */
    uint8_t stops_idle;   /* this round does not run beyond its last completion */
    uint32_t run_index;   /* in sim.run */
    uint32_t awake_index; /* in sim.awake; ROW_NONE: it sleeps, sleep.c */
    int64_t *final;       /* shape: [final_count], arrivals of last packets on their last wire */
    uint32_t final_count, final_cap;
    uint64_t weight; /* events of its last round */
    struct pool_task task;
};

/* What the fcg lens looks up. */
enum stage_kind {
    STAGE_FRESH, /* what follows a control event */
    STAGE_THAW,  /* what follows a verdict */
    STAGE_KINDS
};

enum note_kind { NOTE_DELIVERED, NOTE_COMPLETED, NOTE_STALLED };

/* A control event: flow start, callback, network change, sample. */
struct control {
    int64_t time;
    uint64_t seq;
    void (*fn)(void *arg, struct sim *s);
    void *arg;
    uint32_t flow;
    uint8_t kind;
};

struct sim {
    struct sim_config cfg;
    struct topo *topo;
    struct warn_sink sink;
    struct sim_hooks hooks;
    struct sim_monitor mon;
    const struct cc_ops *cc;
    char *cc_state;   /* shape: [flow][cc_stride] */
    size_t cc_stride; /* bytes, whole cache lines */
    struct route *route;

    struct port *port;         /* shape: [port_count] */
    struct pkt_queue *extra_q; /* shape: [port_count][class_count - 2] */
    struct port_cold *cold;    /* shape: [port_count] */
    int64_t *in_load;          /* shape: [port_count], see struct swtch: load by ingress */
    struct port_kind *kind;    /* shape: [kind_count], host kinds then switch kinds */
    uint32_t kind_count;
    struct ingress *ingress; /* shape: [port_count][class_count] */
    struct swtch *swtch;
    struct nic *nic;
    uint32_t swtch_count, nic_count;
    double *straggle;     /* shape: [node_count] or NULL: factor of the line rate */
    int64_t *straggle_ps; /* shape: [node_count] or NULL */

    uint32_t class_count; /* 2 unless flows use several priorities */
    uint8_t class_of_prio[CONFIG_PRIO_COUNT], prio_of_class[CLASS_MAX];
    int64_t int_rate_bps[8];
    uint32_t int_rate_count;
    uint32_t int_bytes_unit,
        int_queue_unit; /* what INT counts in: 128 B and 80 B times int_multi */
    uint32_t data_header_bytes, ack_wire_bytes, frame_bytes_max;

    struct pkt *pkt; /* reserved address space; row 0 unused */
    struct int_rec *int_rec;
    uint32_t pkt_cap;
    struct pkt_range { /* rows that a worker has not handed out yet */
        uint32_t first, next, end;
        uint8_t pad[52]; /* a cache line each */
    } * pkt_range;       /* shape: [worker_count] */
    uint32_t worker_count;
    uint32_t *path; /* path arena, reserved address space */
    uint32_t path_used, path_cap;

    struct flow_spec *spec; /* reserved address space, shape: [flow_count] */
    struct flow_result *result;
    struct flow_tx *tx;
    struct flow_rx *rx;
    uint32_t flow_count, flow_cap, flow_done, flow_active, flow_nopath, flow_stalled;
    uint32_t *done; /* completion order */
    uint32_t *gone; /* shape: [flow_cap / FLOW_STRETCH], calls of flow_gone */
    uint32_t spare[FLOW_SPARES], spare_count;
    struct given *given; /* paths set by sim_set_path, sorted by (flow, is_ack) when started */
    uint32_t given_count, given_cap;
    uint32_t *given_nodes;
    uint32_t given_node_count, given_node_cap;
    struct pair_count { /* source ports handed out; open addressing */
        uint64_t pair;  /* (src << 32 | dst) + 1, 0 = free */
        uint32_t count;
    } * pairs;
    uint32_t pair_count, pair_cap;
    struct known_path { /* paths of connections seen; open addressing */
        uint64_t pair;  /* (src << 32 | dst) + 1, 0 = free */
        uint32_t ports; /* sport << 16 | dport */
        uint32_t path, ack_path;
        uint16_t path_count, path_stride, ack_stride, hops;
        uint32_t held; /* see flow_tx.held_next */
    } * known;
    uint32_t known_count, known_cap;

    /* control.c */
    struct control *control; /* shape: [control_cap]; rows of those that are to come */
    struct agenda controls;  /* by time, kind and seq */
    uint32_t control_cap, control_free;
    uint64_t control_seq;
    uint32_t control_work, control_net; /* pending: starts and callbacks; network changes */

    int64_t now; /* global */
    int64_t last_done;
    double done_flow_s; /* summed over flows that have completed */
    int64_t max_base_rtt_ps, max_bdp_bytes, longest_hop_ps, least_delay_ps;
    int64_t reached;   /* global: all that happens up to it has happened */
    uint64_t check_at; /* debug builds: number of events from which sim_check_often looks again */
    uint8_t started, interrupted, any_loss;

    struct watch_ops watch; /* create is NULL: nothing is skipped */
    struct memo_ops memo;   /* lookup is NULL: nothing is replayed */
    uint8_t is_accelerated; /* either */
    double audit_share;     /* of skips and hits that are audited, 0..1 */
    uint64_t audit_hits, audit_hits_wrong;
    uint32_t *fresh; /* shape: [fresh_count], partitions in EPISODE_NEW, and others */
    uint32_t fresh_count, fresh_cap;
    uint8_t looks_later; /* in this round they wait for more control events of the instant */
    uint32_t *leader;    /* open addressing, partitions by the hash of their key; 0: free */
    uint32_t leader_count, leader_cap;
    struct stage_link *link; /* open addressing, stage_chain.c */
    uint32_t link_count, link_cap;
    uint64_t link_bytes;
    struct bytes memo_key, memo_value; /* scratch of the coordinator */
    struct look *look;                 /* look.h; shape: [LOOK_MAX], NULL: not needed yet */
    uint32_t look_count, look_flows;
    struct life **life; /* open addressing; shape: [life_cap], NULL: free */
    uint32_t life_count, life_cap;
    /* see episode__is_in_vain */
    uint64_t memo_tried, memo_found, memo_tried_flows, memo_pause;
    uint64_t memo_lookups, memo_hits, memo_coalesced, memo_declined, memo_disturbed;
    struct sim_memo_kind memo_kind[STAGE_KINDS]; /* of memo_lookups */
    uint64_t memo_missed[SIM_MISS_COUNT];        /* look-ups without success, by reason */
    uint64_t *memo_seen;                         /* open addressing, hashes of structures */
    uint32_t memo_seen_count, memo_seen_cap;

    /* ack_charge.c; shape: [port_count] each, NULL unless ACK_CHARGED */
    int64_t *ack_load_bps;  /* data whose acknowledgements come by */
    uint32_t *data_flows;   /* active flows that send through the port */
    uint32_t *charge_dirty; /* ports whose load has changed; shape: [charge_dirty_count] */
    uint8_t *charge_mark;
    uint32_t charge_dirty_count;
    uint8_t charge_changed;

    /* partitions */
    struct sim_engine engine;
    struct sim_probe probe;
    uint8_t is_serial; /* one partition, `part`, which holds everything */
    struct part part;  /* row 0 of parts */
    struct part **parts;
    uint32_t part_count, part_cap;
    uint32_t *part_free; /* shape: [part_free_count], rows to use again */
    uint32_t part_free_count;
    uint32_t *run; /* shape: [run_count], partitions that have work */
    uint32_t run_count;
    /* of them, sleep.c */
    uint32_t *awake;        /* shape: [awake_count] */
    struct agenda sleepers; /* by when they are due, and stamp */
    uint64_t *sleep_stamp;  /* by partition, of its key; 0: awake, or waits for its leader */
    uint64_t sleep_stamps;  /* given out */
    uint32_t awake_count, sleeper_count;
    uint8_t stops_idle; /* of the present round, or the last one */
    uint32_t *touched;  /* shape: [touched_count], partitions that flows have left */
    uint32_t touched_count;
    uint32_t *fixed;     /* ORDER_NS3: union-find over ports, for the whole run */
    uint32_t *mark;      /* shape: [port_count], scratch, zero between calls; fixed: partition */
    uint32_t *port_list; /* shape: [port_count], of part_list_ports */
    struct scratch *scratch;         /* shape: [worker_count] */
    struct part_note *notes;         /* of all partitions at one barrier */
    uint32_t notes_count, notes_cap; /* room for as many again, to sort them */
    struct pool_task **tasks;        /* shape: [part_cap] */
    struct pool *pool;               /* NULL: this thread alone */
    int64_t slice_ps;                /* longest round without a look at on_poll */
    struct shard_map shard_map;      /* count 0: not made yet */
    uint32_t cut_parts;              /* partitions that shards execute */
    uint64_t rounds, part_tasks, joins, splits, scatters, shard_windows;
    uint32_t parts_alive_max;
    struct sim_engine_stats ended; /* of the pools of earlier calls of sim_run */
};

/* One given path. */
struct given {
    uint32_t flow, node_first, node_count;
    uint8_t is_ack;
};

static inline char *cc_state_of(const struct sim *s, uint32_t flow)
{
    return s->cc_state + flow * s->cc_stride;
}

/* ---- packets: pkt.c ---- */
uint32_t pkt_alloc(struct part *p);
/* Rows ever handed out. Between rounds. */
uint32_t pkt_handed(const struct sim *s);
static inline void pkt_free(struct part *p, uint32_t row)
{
    p->pkt[row].next = p->pkt_free;
    p->pkt_free = row;
}

/* ---- ports: port.c ---- */
static inline struct pkt_queue *port_queue(const struct sim *s, struct port *pt, uint32_t port,
                                           uint32_t cls)
{
    if (__builtin_expect(cls < 2, 1))
        return &pt->q[cls];
    return &s->extra_q[(size_t)port * (s->class_count - 2) + cls - 2];
}
/* Place of an event that the event with schedule time @sched schedules. Call in ns-3's order. */
static inline int64_t next_chain(struct part *p, int64_t sched)
{
    return p->order == ORDER_NS3 ? ++p->serial : sched;
}
/* Queues a packet; if the port is busy, the end of its transmission becomes an event. */
void port_enqueue(struct part *p, uint32_t port, uint32_t row);
/* The packet, whose arrival is known, joins those on a wire; the first of them is an event. */
static inline void port_put_on_wire(struct part *p, uint32_t port, uint32_t *head, uint32_t *tail,
                                    uint32_t row)
{
    const struct pkt *k = &p->pkt[row];

    if (*head) {
        p->pkt[*tail].next = row;
    } else {
        const struct event e = {k->arrive, k->sched, k->chain, k->flow, event_id(EVENT_WIRE, port)};

        *head = row;
        calendar_push(&p->cal, &e);
    }
    *tail = row;
}
/* Finds out whether a transmission has ended before the present event. */
void port_advance(struct part *p, uint32_t port);
/* Starts a transmission if the port is idle and may send. After port_advance. */
void port_kick(struct part *p, uint32_t port);
/* Makes the end of the present transmission an event, if it is not one yet. */
void port_await_end(struct part *p, uint32_t port);
void port_on_wire(struct part *p, uint32_t port);
void port_on_tx_done(struct part *p, uint32_t port);
void port_set_paused(struct part *p, uint32_t port, uint32_t cls, int pause);
/* The packet is gone: corrupted on the wire behind the port, or cut off with it. */
void port_lose(struct part *p, uint32_t port, uint32_t row);
void port_take_down(struct part *p, uint32_t port);
void port_report(struct part *p, uint32_t port, uint32_t row, int64_t time, int event);

/* ---- shared buffer: mmu.c ---- */
/* Returns 0 if the packet has to be dropped. */
int mmu_admit(struct part *p, uint32_t in_port, uint32_t row);
/* Pause threshold of an ingress port when @shared_used bytes of the pool are taken. */
static inline int64_t mmu_threshold(const struct sim *s, const struct swtch *sw, uint32_t port,
                                    int64_t shared_used)
{
    if (s->cfg.pfc_static)
        return s->cfg.pfc_static_bytes;
    return (sw->shared_cap - shared_used) >> s->kind[s->port[port].kind].pfc_shift;
}
static inline int64_t mmu_above_reserve(const struct sim *s, int64_t bytes)
{
    return bytes > s->cfg.pfc_reserve_bytes ? bytes - s->cfg.pfc_reserve_bytes : 0;
}
/* Admitting and releasing the packet at once leaves no trace: no drop, no pause, no shared bytes.
 * At a switch that is not coupled this holds for every packet, see quiet.c. */
static inline int mmu_is_transparent(const struct sim *s, uint32_t in_port, const struct pkt *k)
{
    const struct ingress *in = &s->ingress[(size_t)in_port * s->class_count + k->cls];
    const struct port *pt = &s->port[in_port];
    const struct swtch *sw = &s->swtch[pt->owner];

    if (!sw->coupled)
        return 1;
    return in->bytes + k->wire_bytes <= s->cfg.pfc_reserve_bytes && !(in->headroom | in->paused) &&
           k->wire_bytes <= s->kind[pt->kind].headroom_bytes &&
           mmu_threshold(s, sw, in_port, sw->shared_used) > 0;
}
void mmu_release(struct part *p, uint32_t in_port, uint32_t cls, uint32_t bytes);
int64_t mmu_headroom(const struct sim *s, const struct port_kind *k);
void mmu_init(struct sim *s);

/* ---- host interfaces: nic.c ---- */
int nic_add_flow(struct part *p, uint32_t nic, uint32_t flow) WH_MUST_CHECK;
/* Drops flows that are done from the list; who is served next stays the same. */
void nic_compact(const struct part *p, struct nic *n);
/* What to send at @now on an idle port; 0 if nothing, and then the timer may have been armed. */
uint32_t nic_dequeue(struct part *p, uint32_t port);
void nic_on_timer(struct part *p, uint32_t port);
void nic_retime(struct part *p, uint32_t port, int64_t time);
/* After anything that may have changed what the port can send. */
void nic_kick(struct part *p, uint32_t port);

/* ---- end points: sender.c, receiver.c ---- */
uint32_t sender_build(struct part *p, uint32_t flow);
/* Bytes left to send; and, its window, pacing and class permitting, may it send at @now? */
int sender_has_bytes(const struct part *p, const struct flow_tx *t);
int sender_may_send(const struct part *p, const struct flow_tx *t, int64_t now);
void sender_on_ack(struct part *p, uint32_t row);
void sender_on_rto(struct part *p, uint32_t flow);
void sender_start(struct part *p, uint32_t flow);
void sender_set_rate(struct part *p, uint32_t flow, int64_t rate_bps);
void sender_retime_rate(struct part *p, uint32_t flow, int64_t rate_bps);
void receiver_on_data(struct part *p, uint32_t row);
void receiver_bypass(struct part *p, uint32_t flow);
/* The acknowledgement, whose arrival is known, joins those that travel beside the network. */
void receiver_queue_bypass(struct part *p, uint32_t row);
void part_note(struct part *p, uint32_t flow, enum note_kind what);
void part_put_note(struct part *p, const struct part_note *n);

/* selective repeat: irn.c */
struct irn_tx;
struct irn_rx;
int irn_open(struct sim *s, uint32_t flow) WH_MUST_CHECK;
void irn_close(struct sim *s, uint32_t flow);
/* Receiver: accepts the packet at @seq; returns the new cumulative position; *is_new 0 for a copy.
 */
int64_t irn_rx_accept(struct irn_rx *r, int64_t expected, int64_t seq, uint32_t payload,
                      int64_t size, uint32_t mtu, int *is_new);
void irn_tx_sack(struct irn_tx *t, int64_t seq, uint32_t mtu);
void irn_tx_ack(struct irn_tx *t, int64_t una, uint32_t mtu);
void irn_tx_recover(struct irn_tx *t, const struct flow_tx *f);
int64_t irn_tx_next(struct irn_tx *t, const struct flow_tx *f,
                    uint32_t mtu); /* -1: only new data */
int irn_tx_has_resend(struct irn_tx *t, const struct flow_tx *f, uint32_t mtu);

/* ---- life of a flow: sim_flow.c ---- */
/* Chooses paths, opens both halves and starts sending. Errors: WH_ERR_NOMEM. */
int flow_open(struct sim *s, uint32_t flow) WH_MUST_CHECK;
/* Chooses paths and sets what follows from them. Returns links of the data path, 0: no path. */
int flow_prepare(struct sim *s, uint32_t flow);
/* The row of the connection whose paths the flow has; NULL: those were given, or have changed. It
 * moves when another connection becomes known. */
struct known_path *flow_connection(struct sim *s, uint32_t flow);
void flow_close(struct sim *s, uint32_t flow);
/* One of the two that may still need the rows of a closed flow does not any more: its partition,
 * and what is charged for its acknowledgements. When all flows of a stretch are gone, so are the
 * rows. */
void flow_gone(struct sim *s, uint32_t flow);
/* The flow is a new one; the first of a stretch takes over rows of flows that are gone. */
void flow_add_rows(struct sim *s, uint32_t flow);
/* New paths for all active flows whose paths were not given, after the network changed. */
int flow_reroute_all(struct sim *s) WH_MUST_CHECK;
uint32_t flow_next_sport(struct sim *s, uint32_t src, uint32_t dst);

/* ---- what members claim ---- */
typedef void (*port_fn)(void *arg, uint32_t port);
/* @fn with each port that the flow claims, in the order of its ways; a port that several of them
 * share comes several times. */
static inline void flow_each_port(const struct sim *s, const struct flow_tx *t, port_fn fn,
                                  void *arg)
{
    for (uint32_t i = 0; i < t->path_count; i++) {
        for (uint32_t row = t->path + i * t->path_stride; s->path[row] != PATH_END; row++)
            fn(arg, s->path[row]);
        if (ack_is_beside(s->cfg.ack))
            continue;
        for (uint32_t row = t->ack_path + i * t->ack_stride; s->path[row] != PATH_END; row++)
            fn(arg, s->path[row]);
    }
}
/* With each port that a coupled switch claims: its own, and their peers. */
static inline void swtch_each_port(const struct sim *s, const struct swtch *sw, port_fn fn,
                                   void *arg)
{
    for (uint32_t i = sw->first_port; i < sw->first_port + sw->port_count; i++) {
        fn(arg, i);
        fn(arg, s->port[i].peer);
    }
}

/* ---- partitions: part.c ---- */
static inline struct part *part_of_port(const struct sim *s, uint32_t port)
{
    return s->parts[s->port[port].part];
}
static inline struct part *part_of_flow(const struct sim *s, uint32_t flow)
{
    return part_of_port(s, s->tx[flow].port);
}
/* Makes "now" of the partition the present control event. */
void part_at_control(struct part *p);
/* A delivery of its own, which changes nothing in it by itself. */
void part_at_delivery(struct part *p);
/* A partition without members whose clock starts now. NULL: out of memory. */
struct part *part_create(struct sim *s);
/* The larger of two; joins them if they are not the same. NULL stands for none. */
struct part *part_unite(struct sim *s, struct part *a, uint32_t id);
/* port_fn; the partition that holds the port is united with what was found before. */
struct part_found {
    struct sim *s;
    struct part *p; /* NULL: none yet */
};
void part_unite_port(void *found, uint32_t port);
/* Claims the ports of a flow's paths; what holds some of them becomes one. Paths are chosen. */
int part_admit(struct sim *s, uint32_t flow) WH_MUST_CHECK;
/* The flow is closed; it stays a member while packets of it may be under way. */
void part_dismiss(struct sim *s, uint32_t flow);
/* New paths: @old is the state with the old ones. */
int part_move(struct sim *s, uint32_t flow, const struct flow_tx *old) WH_MUST_CHECK;
/* After a batch of closings: lets go what is idle, splits, ends. */
void part_tidy_all(struct sim *s);
/* port_fn; @part is the partition that claims the port, or claimed it. */
void part_claim_port(void *part, uint32_t port);
void part_release_port(void *part, uint32_t port);
int part_hold_swtch(struct part *p, uint32_t swtch) WH_MUST_CHECK;
/* ORDER_NS3: which flows of the whole run can ever meet. */
int part_fix_all(struct sim *s) WH_MUST_CHECK;
void part_init(struct sim *s, struct part *p);
/* One on cache lines of its own, after part_init; not in sim.parts. NULL: out of memory. */
struct part *part_alloc(struct sim *s);
void part_fini(struct part *p);
/* Will be looked over by the next part_tidy_all. */
void part_touch(struct sim *s, struct part *p);
/* Adds a member that belonged to another partition, and its ports. */
void part_move_flow(struct sim *s, struct part *to, uint32_t flow);
void part_move_swtch(struct sim *s, struct part *to, uint32_t swtch);
/* The distinct ports of the partition into sim.port_list; returns how many. */
uint32_t part_list_ports(struct sim *s, const struct part *p);

/* part_split.c: looks whether the partition has come apart, and takes it apart. */
void part_split(struct sim *s, struct part *p);
/* part_rebase.c: moves every time of a partition by @delta_ps, calendar excepted. */
void part_rebase(struct sim *s, struct part *p, int64_t delta_ps);

/* ---- what acknowledgements beside the network cost in it: ack_charge.c ---- */
int ack_charge_init(struct sim *s) WH_MUST_CHECK;
void ack_charge_fini(struct sim *s);
/* The flow starts; ends; has new ways, @old being the state with the old ones. */
void ack_charge_open(struct sim *s, uint32_t flow);
int ack_charge_close(struct sim *s, uint32_t flow) WH_MUST_CHECK;
void ack_charge_move(struct sim *s, uint32_t flow, struct flow_tx *old);
/* CONTROL_CHARGE: the hold is over. */
void ack_charge_drop(struct sim *s, uint32_t flow);
/* After a batch of control events. */
void ack_charge_apply(struct sim *s);

/* ---- which switches couple partitions: quiet.c ---- */
int quiet_add(struct sim *s, uint32_t flow) WH_MUST_CHECK;
/* The same, but nothing is joined: for part_fix_all, which looks at the switches afterwards. */
void quiet_count(struct sim *s, uint32_t flow);
int quiet_is_quiet(struct sim *s, uint32_t swtch);
void quiet_remove(struct sim *s, const struct flow_tx *t);
/* The switch has no flows and an empty buffer: it lets go of its ports. Returns 0 if it has not. */
int quiet_release(struct sim *s, struct part *p, uint32_t swtch);

/* ---- replaying: episode.c; coordinator ---- */
/* Looks up the episodes that control events have begun. */
void episode_begin_all(struct sim *s);
/* Everything up to @horizon has been executed: episodes that have ended become known, and what
 * replays them takes their end. Returns 0 if a partition stands at the end of a stage before
 * @horizon, and has to go on before anything else happens. */
int episode_finish_all(struct sim *s, int64_t horizon);
/* The partition is about to be touched by more than deliveries of its own: what it owes is there.
 */
void stage_forget_origin(struct part *p);
void stage_links_fini(struct sim *s);
/* A control event at @global_ps ends the episode. */
void episode_disturb(struct part *p, int64_t global_ps);
/* Of a partition that waits: nothing happens in it before, global; TIME_NEVER: before its leader
 * says so. */
int64_t episode_due(const struct part *p);
void episode_fini(struct part *p);
static inline int episode_waits(const struct part *p)
{
    return p->episode_state == EPISODE_FOLLOWS || p->episode_state == EPISODE_REPLAYS ||
           p->episode_state == EPISODE_LIVES;
}

/* ---- which partitions a round looks at: sleep.c; coordinator ---- */
/* A control event touches it, or whom it follows has come to its end. */
void part_wake(struct part *p);
/* Can it sleep, and until when, global? TIME_NEVER: until it is woken. */
int sleep_until(const struct part *p, int64_t *due);
/* Whoever can sleep does. */
void sleep_all(struct sim *s);
/* When the first of those that sleep has to be looked at, global. */
int64_t sleep_first(struct sim *s);
/* Wakes those whose time is @horizon or before. */
void sleep_wake_due(struct sim *s, int64_t horizon);
/* The partition ends. */
void sleep_end(struct part *p);
/* Room for @cap partitions. Returns nonzero on lack of memory. */
int sleep_grow(struct sim *s, uint32_t cap) WH_MUST_CHECK;
void sleep_fini(struct sim *s);

/* ---- rounds: round.c ---- */
int round_start(struct sim *s) WH_MUST_CHECK;
/* Rounds and control events up to and including @end (global). */
int round_run_all(struct sim *s, int64_t end) WH_MUST_CHECK;
void round_task(void *part, struct pool_worker *w);
int round_grow(struct sim *s) WH_MUST_CHECK;
/* Adds what the workers have counted: sim_query.c. Coordinator. */
void sim_add_pool_stats(const struct pool *pool, struct sim_engine_stats *sum);
void part_announce(struct part *p, int64_t arrive);

/* ---- events of one partition up to p->limit: dispatch.c ---- */
void part_run_plain(struct part *p);
static inline void part_run(struct part *p)
{
    if (p->cut)
        shard_run(p);
    else
        part_run_plain(p);
}
/* No event of the partition comes before it, local. */
static inline int64_t part_next_event(const struct part *p)
{
    return p->cut ? shard_next(p) : calendar_next_bound(&p->cal);
}
static inline struct cut_wire *cut_wire_of(const struct part *p, uint32_t port)
{
    return p->cut && p->cut->cut[port] ? &p->cut->wire[p->cut->cut[port] - 1] : NULL;
}

/* ---- skipping: freeze.c ---- */
struct episode;
/* part_run_plain, but what is steady is skipped. */
void freeze_run(struct part *p);
/* After an acknowledgement of @flow, if the watch wants to hear of it (tells_acks). */
void freeze_on_ack(struct part *p, uint32_t flow);
/* A control event at @global_ps cuts the skip short. The partition is frozen. */
void freeze_interrupt(struct part *p, int64_t global_ps);
/* What audits see of the partition, as it is now; until the next episode begins. */
void freeze_view(struct part *p, struct audit_view *out);
/* What was executed since the last skip is audited as far as it goes; @is_last: nothing follows. */
void freeze_end_stretch(struct part *p, int is_last);
/* Books the events of the episode that is over. */
void freeze_end_episode(struct part *p);
/* It is not watched any more, until the next control event. */
void freeze_end_watch(struct part *p);
/* Freezes a partition of one flow without a verdict while it delivers @packets, and ends its watch.
 */
void freeze_nudge(struct part *p, int64_t packets);
/* Makes the present skip, of one flow, shorter by @packets; by none if it has not so many. */
void freeze_shorten(struct part *p, int64_t packets);
/* What the present skip delivers of the flow; 0 if there is none. */
int64_t freeze_pending_bytes(struct part *p, uint32_t flow);
/* The present skip is over. */
void freeze_thaw(struct part *p);
/* The watch, in the numbering of @m; returns its bytes, 0 if the partition is not watched. */
size_t freeze_save(struct part *p, const struct snapshot_map *m, struct bytes *out);
/* Takes it, after the state; after a verdict freezes for as long as the own flows allow, or not at
 * all. @goes_on: the episode that was watched goes on. */
void freeze_adopt(struct part *p, const struct snapshot_map *m, const void *state,
                  size_t state_bytes, int goes_on, int has_verdict);
/* stage.c, holder of the partition: a skip is over; a verdict, returns 1 if the round ends there;
 * when the present stage is over at the latest, local; that time has come */
int64_t stage_until(const struct part *p);
void stage_on_span(struct part *p);
void stage_on_thaw(struct part *p);
int stage_on_freeze(struct part *p);
void freeze_fini(struct part *p);

/* ---- control events of one instant, sim.c ---- */
int sim_take_controls(struct sim *s, int64_t time) WH_MUST_CHECK;
int sim_take_note(struct sim *s, const struct part_note *n) WH_MUST_CHECK;
int sim_has_work(const struct sim *s);
int sim_is_stopped(struct sim *s);

/* ---- rows: sim_build.c ---- */
int sim_build(struct sim *s, struct err_info *e) WH_MUST_CHECK;
int sim_build_classes(struct sim *s) WH_MUST_CHECK;
void sim_unbuild(struct sim *s);

/* ---- control events: control.c ---- */
enum control_kind { CONTROL_NET, CONTROL_FLOW, CONTROL_CALL, CONTROL_SAMPLE, CONTROL_CHARGE };
int control_push(struct sim *s, const struct control *c) WH_MUST_CHECK;
/* The first control event, NULL if there is none. */
const struct control *control_peek(struct sim *s);
void control_pop(struct sim *s);

/* ---- what must hold between events: sim_check.c ---- */
/* In a function that returns 0 or a code, @c having the struct err_info *e. */
#define REQUIRE(c, cond, ...)                                                                      \
    do {                                                                                           \
        if (!(cond))                                                                               \
            return err_set((c)->e, WH_ERR_STATE, NULL, 0, __VA_ARGS__);                            \
    } while (0)
/* Returns 0, or WH_ERR_STATE with a sentence in @e. */
int sim_check_invariants(const struct sim *s, struct err_info *e) WH_MUST_CHECK;
/* Of partitions: part_check.c. */
int part_check(const struct sim *s, struct err_info *e) WH_MUST_CHECK;
/* Aborts if it does not hold; looks only as often as keeps its cost below that of the events. */
void sim_check_often(struct sim *s);
#ifdef WH_DEBUG
#define sim_dcheck(s) sim_check_often(s)
#else
#define sim_dcheck(s) ((void)(s))
#endif

/* arrays that move when they grow: arena.c. @rows: address of the pointer to the first row; it
 * stays as it is on failure. Errors: WH_ERR_NOMEM. */
int rows_grow(void *rows, size_t row_bytes, size_t cap) WH_MUST_CHECK;

/* reserved address space: arena.c */
void *arena_reserve(size_t bytes); /* zero, committed on first touch; NULL on failure */
/* A hint: few rows will be touched, far from one another. */
void arena_touch_little(void *p, size_t bytes);
void arena_release(void *p, size_t bytes);
/* Gives back the whole pages of the bytes [@from, @to): they read as zero again. */
void arena_forget(void *p, size_t from, size_t to);
/* The memory of the bytes from @from on serves those from @to on, as zeros; what is read at @from
 * then is zero. Page multiples. */
void arena_move(void *p, size_t from, size_t to, size_t bytes);

#endif
