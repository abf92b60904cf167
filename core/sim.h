/*
 * sim.h - a simulation: create, feed, run, read.
 *
 * A simulation owns everything it needs: no state outside struct sim, so several can live in one
 * process. Life: sim_create -> sim_add_flow, sim_set_path, sim_set_hooks -> sim_run (any number of
 * times, to later and later times) -> sim_result... -> sim_destroy.
 * Threading: one thread calls.
 */
#ifndef WH_SIM_H
#define WH_SIM_H

#include "config.h"
#include "flow.h"
#include "topology.h"

struct sim;

/*
 * sim_create - a simulation of @topo under @cfg.
 * @topo: taken over on success (freed by sim_destroy); must be finished.
 * @cfg:  copied.
 * @warn: may be NULL; copied. Called during sim_create and sim_run from the calling thread.
 * Errors: WH_ERR_INPUT (with @e), WH_ERR_NOMEM.
 */
int sim_create(struct sim **out, struct topo *topo, const struct sim_config *cfg,
               const struct warn_sink *sink, struct err_info *e) WH_MUST_CHECK;
void sim_destroy(struct sim *s);

/*
 * sim_add_flow - one more flow; before the run or from a hook (then start_ps >= now).
 * Errors: WH_ERR_INPUT (src or dst no host, equal, out of range; start in the past), WH_ERR_NOMEM.
 * @flow_id: row of the flow, counted from 0; may be NULL
 */
int sim_add_flow(struct sim *s, const struct flow_spec *f, uint32_t *flow_id) WH_MUST_CHECK;

/*
 * sim_set_path - the ports of a flow are given instead of chosen by ECMP.
 * @nodes: shape [node_count], from source host to destination host, consecutive ones linked
 * @is_ack: 0 data path, 1 path of the acknowledgements (from destination to source)
 */
int sim_set_path(struct sim *s, uint32_t flow_id, int is_ack, const uint32_t *nodes,
                 uint32_t node_count, struct err_info *e) WH_MUST_CHECK;

/* sim_set_straggler - host @host sends at most at @factor (0..1] times its line rate, and starts
 * its flows @delay_ps later. Before the run. */
int sim_set_straggler(struct sim *s, uint32_t host, double factor, int64_t delay_ps) WH_MUST_CHECK;

/*
 * How a simulation is executed. Whatever is chosen, the results are the same.
 * partitioned: flows that can influence one another form partitions, which advance independently
 * between control events, on @threads threads. serial: one calendar for everything, one thread; the
 * yardstick. Serial is also taken where there is nothing to gain or the order of callbacks could
 * not be kept: sim_set_monitor, and ORDER_NS3 with hooks that may add flows,
 * with link changes, or with ACK_CHARGED.
 */
enum engine_kind { ENGINE_PARTITIONED, ENGINE_SERIAL };
struct sim_engine {
    enum engine_kind kind;
    uint32_t threads; /* 1..SIM_THREADS_MAX */
    /* Partitions too large for one thread are cut into so many shards. 0: where it pays, as many as
     * that takes; 1: never; others, up to SIM_SHARDS_MAX: always, for tests. */
    uint32_t shards;
};
#define SIM_SHARDS_MAX 256
#define SIM_THREADS_MAX 64
/* sim_set_engine - before the run. Errors: WH_ERR_STATE (started), WH_ERR_INPUT (out of range). */
int sim_set_engine(struct sim *s, const struct sim_engine *e) WH_MUST_CHECK;

/*
 * How the partitioned engine is watched and, for tests, forced. Watching costs two readings of the
 * clock for each partition run in a round. No influence on results.
 */
struct replay;
struct sim_probe {
    struct replay *record; /* each round and its tasks are added; not owned; NULL: off */
    uint8_t has_times;     /* times in sim_engine_stats */
    uint8_t shares_all;    /* threads share every round they can, worth it or not */
};
/* sim_set_probe - before the run. Errors: WH_ERR_STATE (started). */
int sim_set_probe(struct sim *s, const struct sim_probe *p) WH_MUST_CHECK;

/*
 * sim_set_watch - what is steady is skipped, as the watch says; see watch.h and steady/.
 * Before the run; copied. With it ORDER_NS3 becomes ORDER_CANONICAL, and the serial engine, where
 * it is taken (see above), skips nothing. Errors: WH_ERR_STATE.
 */
struct watch_ops;
int sim_set_watch(struct sim *s, const struct watch_ops *w) WH_MUST_CHECK;

/* sim_set_audit - @share (0..1) of the skips and of the hits of a memo, drawn by the seed, is also
 * executed: how far off they are is in sim_audit_stats. No influence on results. Before the run.
 * Errors: WH_ERR_STATE, WH_ERR_INPUT (out of range). */
int sim_set_audit(struct sim *s, double share) WH_MUST_CHECK;

/* sim_set_memo - episodes that are known are not executed again; see memo_ops.h and memo/. As
 * sim_set_watch, but the order stays, and with ORDER_NS3 nothing is replayed. Results are the same
 * with and without. */
struct memo_ops;
int sim_set_memo(struct sim *s, const struct memo_ops *m) WH_MUST_CHECK;

/* Called on the running thread between events; may call sim_add_flow and sim_schedule. */
struct sim_hooks {
    void *ctx;
    /* the sender has the acknowledgement of the last byte; may be NULL */
    void (*on_complete)(void *ctx, struct sim *s, uint32_t flow_id, int64_t now_ps);
    /* the receiver has all bytes; may be NULL */
    void (*on_delivered)(void *ctx, struct sim *s, uint32_t flow_id, int64_t now_ps);
    /* polled now and then, between rounds; non-zero stops the run */
    int (*on_poll)(void *ctx, struct sim *s);
};
void sim_set_hooks(struct sim *s, const struct sim_hooks *h);

/* sim_schedule - @fn(arg) at global time @at_ps >= now. Equal times run in order of scheduling. */
int sim_schedule(struct sim *s, int64_t at_ps, void (*fn)(void *arg, struct sim *s),
                 void *arg) WH_MUST_CHECK;

/*
 * sim_run - executes everything up to and including @until_ps (TIME_NEVER: to the end).
 * The run ends when all flows are done and nothing is scheduled, at the configured end time, at
 * @until_ps, or when on_poll says so.
 * Returns: 0; WH_ERR_INTERRUPTED if a hook stopped it; WH_ERR_NOMEM.
 */
int sim_run(struct sim *s, int64_t until_ps) WH_MUST_CHECK;

/* sim_is_done - all flows completed (or given up) and no callback is pending. */
int sim_is_done(const struct sim *s);
int64_t sim_now_ps(const struct sim *s);

/* Results. */
uint32_t sim_flow_count(const struct sim *s);
const struct flow_spec *sim_flow_spec(const struct sim *s, uint32_t flow_id);
const struct flow_result *sim_flow_result(const struct sim *s, uint32_t flow_id);
/* Flow ids in order of completion; shape [*count]. */
const uint32_t *sim_completions(const struct sim *s, uint32_t *count);

/* Per directed port, valid any time between runs. */
struct port_stats {
    uint64_t tx_bytes, tx_packets; /* everything that left, control included */
    uint64_t marks, drops;         /* ECN marks; packets dropped at this ingress or egress */
    uint64_t losses;               /* packets corrupted or cut on the wire behind this port */
    uint64_t pauses_received;      /* this port was told to stop */
    int64_t paused_ps;             /* total time it was told to stop */
    uint64_t queue_max_bytes;
};
void sim_port_stats(const struct sim *s, uint32_t port, struct port_stats *out);

struct sim_counters {
    uint64_t events;      /* executed by the engine, all kinds */
    uint64_t packet_hops; /* packets that arrived over a link, ACK and control included */
    uint64_t data_packets, ack_packets, nack_packets, cnp_echoes, pfc_frames; /* sent */
    uint64_t drops, losses, marks, pauses, rate_cuts, timeouts, retx_packets;
    uint64_t flows_finished, flows_active, flows_waiting, flows_nopath, flows_stalled;
    uint64_t queue_max_bytes;
    int64_t
        max_base_rtt_ps; /* over the host pairs that flows use (or all, see config window_global) */
    int64_t max_bdp_bytes;
    int64_t end_ps; /* time of the last executed event that mattered (last completion) */
};
void sim_counters(const struct sim *s, struct sim_counters *out);

const struct topo *sim_topo(const struct sim *s);
const struct sim_config *sim_config(const struct sim *s);

/* How the run was executed; depends on the machine and on struct sim_engine. */
struct sim_engine_stats {
    enum engine_kind kind; /* what was used in the end */
    uint32_t threads;
    uint64_t rounds, tasks; /* tasks: partitions run, summed over the rounds */
    uint64_t joins, splits;
    uint64_t scatters, shard_windows; /* partitions cut into shards; their windows */
    uint32_t shards;                  /* 0: nothing was cut */
    uint32_t parts_alive, parts_alive_max, parts_ever;
    /* 0 on one thread without a probe */
    uint64_t shared_rounds; /* others than the coordinator were called to */
    uint64_t steals, sleeps;
    /* with sim_probe.has_times, summed over the threads; the four together are their time */
    uint64_t busy_ns, idle_ns, barrier_ns; /* in tasks; looking for one; none was left */
    uint64_t serial_ns;                    /* of the coordinator, between rounds */
};
void sim_engine_stats(const struct sim *s, struct sim_engine_stats *out);

/* What skipping saved, and what the rest was executed for. All zero without a watch. */
struct sim_skip_stats {
    uint64_t skips;                         /* partitions frozen */
    uint64_t skipped_packets, skipped_hops; /* data packets; all packets times links */
    double skipped_flow_s, flow_s;          /* flow time skipped; of all flows, from start to end */
    /* executed events */
    uint64_t transient, observed, ending, never_steady, unwatched;
    uint64_t why[32]; /* by the watch's reason, at the ends of bins */
    /* of the executed ones, those of partitions that held a switch whose buffer couples what
     * crosses it (core/quiet.c); how many switches ever were */
    uint64_t coupled;
    uint32_t coupled_switches;
};
void sim_skip_stats(const struct sim *s, struct sim_skip_stats *out);
/* Of hits of the fcg lens. */
struct sim_fcg_audit {
    uint64_t hits, audited;          /* of the run, those of stages cut short included; audited */
    double bytes_off, bytes_off_max; /* given too many or too few, as a share: of all, of one hit */
    double fct_off_s, fct_off_max_s; /* by which a flow's end moves: mean, largest, magnitudes */
    double error, low, high;         /* of the estimate below, what hits alone add; as there */
};

/*
 * What audits have found (sim_set_audit). The estimate: by how much, as a share, the mean
 * completion time of the run is longer than with every packet executed; low and high are the ends
 * of a 95 % interval. It holds what the sample leaves open and what chance does to flows that share
 * ports.
 */
struct sim_audit_stats {
    double share;              /* asked for */
    uint64_t skips, audited;   /* of the run; audited ones */
    uint64_t refused;          /* drawn, but with state out of reach */
    uint64_t events;           /* executed for audits; in no other counter */
    uint64_t hits, hits_wrong; /* from the memo, audited; of these, not what execution gives */
    uint8_t has_estimate, has_bounds; /* something was audited; enough of it */
    double error, low, high;
    struct sim_fcg_audit fcg;
};
void sim_audit_stats(const struct sim *s, struct sim_audit_stats *out);

/* Why a look-up through the fcg lens found nothing. */
enum sim_miss {
    SIM_MISS_STRUCTURE, /* never such flows over such ports */
    SIM_MISS_STATE,     /* known structure, but other rates, queues or sizes */
    SIM_MISS_SHORT,     /* known, but a flow would end inside */
    SIM_MISS_LARGE,     /* too large for a canonical form */
    SIM_MISS_COUNT
};

/* What became of the episodes of partitions. All zero without a memo. */
struct sim_memo_stats {
    uint64_t lookups, hits, coalesced; /* coalesced: another partition was executing it */
    uint64_t declined;                 /* not looked up: the state is not all in the partition */
    uint64_t disturbed;                /* of hits and coalesced, ended by a control event */
    uint64_t replayed_hops;
    /* the fcg lens: [0] after control events, [1] after verdicts, between skips */
    struct sim_memo_kind {
        uint64_t lookups, hits, coalesced;
    } kind[2];
    uint64_t missed[SIM_MISS_COUNT]; /* look-ups that found nothing, by reason */
};
void sim_memo_stats(const struct sim *s, struct sim_memo_stats *out);
/* Events executed because of the flow, the port. */
uint64_t sim_flow_held_events(const struct sim *s, uint32_t flow_id);
uint64_t sim_port_held_events(const struct sim *s, uint32_t port);

/* sim_flow_path - ports of a flow's path. Returns the number of links, fills up to @cap rows. */
uint32_t sim_flow_path(const struct sim *s, uint32_t flow_id, int is_ack, uint32_t *ports,
                       uint32_t cap);

/*
 * Observation. Each is off unless set. Callbacks run between events, in a defined order.
 * sample: every interval from from_ps to to_ps (global); pfc: at the arrival of a pause (1) or
 * resume (0) at @port (the port that has to stop sending); packet: see enum packet_event.
 */
enum packet_event { PACKET_RECEIVE = 0, PACKET_ENQUEUE = 1, PACKET_DEQUEUE = 2, PACKET_DROP = 3 };
struct packet_view {
    int64_t time_ps;
    uint32_t port, flow_id; /* flow_id PORT_NONE for PFC frames */
    int64_t seq;
    uint32_t wire_bytes, payload_bytes;
    uint32_t queue_bytes;
    uint8_t type; /* 0 data, 1 ACK, 2 NACK, 3 PFC */
    uint8_t event, prio, ecn;
};
struct sim_monitor {
    void *ctx;
    int64_t sample_interval_ps, sample_from_ps, sample_to_ps; /* interval 0: off */
    void (*on_sample)(void *ctx, struct sim *s, int64_t now_ps);
    void (*on_pfc)(void *ctx, int64_t now_ps, uint32_t port, int is_pause);
    void (*on_packet)(void *ctx, const struct packet_view *v);
};
int sim_set_monitor(struct sim *s, const struct sim_monitor *m) WH_MUST_CHECK;

/* For on_sample: state now. */
uint32_t sim_port_queue_bytes(const struct sim *s, uint32_t port);
struct flow_view {
    int64_t rate_bps, snd_nxt, snd_una;
    uint64_t cnps;
};
int sim_flow_view(const struct sim *s, uint32_t flow_id, struct flow_view *out); /* 0: not active */

#endif
