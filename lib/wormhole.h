/*
 * wormhole.h - the public interface of libwormhole, a packet-level network simulator.
 *
 * A program creates a simulation, gives it a network and settings, posts messages and timers, and
 * runs it; callbacks report messages that were sent and received. Everything belongs to the handle:
 * several simulations live side by side in one process.
 *
 *     struct wh_sim *s;
 *     if (wh_create(&s)) ...;
 *     wh_load_topology_text(s, "3 1 2\n2\n0 2 100Gbps 1us 0\n1 2 100Gbps 1us 0\n");
 *     wh_send(s, 0, 1, 1000000, 7, NULL, NULL, NULL);
 *     wh_recv(s, 1, 0, 1000000, 7, on_received, NULL);
 *     wh_run(s);
 *     wh_destroy(s);
 *
 * Units: times are int64_t picoseconds (ps), rates int64_t bit/s, sizes int64_t bytes; nodes, links
 * and flows are numbered from 0. Life: the functions of section 2 configure; the first call of
 * section 3 or 4 that needs the network fixes it (as wh_start does), and section 2 answers
 * WH_STATUS_STATE from then on. That call also reports what is wrong with the combination of
 * settings. Errors: every function that returns int gives 0 or a negative enum wh_status;
 * wh_error_message() then describes it. A failed call changes nothing unless its comment says
 * otherwise. Nothing exits, aborts on bad input, or prints. Threads: a handle may be used by one
 * thread at a time; different handles by different threads at once. Callbacks run on the thread
 * that called wh_run (or its relatives), in a defined order, and may call any function of this
 * header on the same handle except wh_run, wh_run_until, wh_step and wh_destroy. Determinism: the
 * same calls with the same settings give the same callbacks at the same times.
 */
#ifndef WORMHOLE_H
#define WORMHOLE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- 1. Handle and errors --- */

enum wh_status {
    WH_STATUS_OK = 0,
    WH_STATUS_INPUT = -1,  /* an argument or an input file is wrong */
    WH_STATUS_NOMEM = -2,  /* out of memory */
    WH_STATUS_IO = -3,     /* a file cannot be read */
    WH_STATUS_STATE = -4,  /* call not allowed in this state */
    WH_STATUS_LIMIT = -5,  /* a limit was exceeded */
    WH_STATUS_NOPATH = -6, /* no path between two hosts */
};

struct wh_sim;

#define WH_TIME_NEVER INT64_MAX

/*
 * wh_create - an empty simulation with default settings.
 * Errors: WH_STATUS_NOMEM, *out is untouched then.
 * Owner:  the caller; wh_destroy frees it.
 */
int wh_create(struct wh_sim **out);

/* wh_destroy - frees everything; NULL is accepted. Not from a callback. */
void wh_destroy(struct wh_sim *s);

/*
 * wh_error_message - one line about the last failed call on @s ("" if none): file and line where an
 * input file was concerned, what was found, what was expected.
 * Owner: the handle; valid until the next failing call.
 */
const char *wh_error_message(const struct wh_sim *s);

/* wh_status_text - static text of a status, "success" for 0. */
const char *wh_status_text(int status);

/* wh_version - version of the library, static text such as "0.1.0". */
const char *wh_version(void);

/*
 * wh_set_warning - @fn gets one line for each doubtful input (accepted, but perhaps not meant).
 * @fn: NULL: warnings are dropped (default)
 */
void wh_set_warning(struct wh_sim *s, void (*fn)(void *arg, const char *text), void *arg);

/* --- 2. Configuration: before the start --- */

/*
 * wh_load_scenario, wh_load_hpcc - a whole scenario: our YAML file, or an HPCC configuration with
 * the files that it names. Replace the topology, all settings and all flows of @s. Errors:
 * WH_STATUS_INPUT and others with a message; @s then has default settings and no topology.
 */
int wh_load_scenario(struct wh_sim *s, const char *path);
int wh_load_hpcc(struct wh_sim *s, const char *path);

/* wh_load_topology, wh_load_topology_text - the network in HPCC format, from a file or from text.
 * Replaces the topology. Not together with wh_add_host and its relatives. */
int wh_load_topology(struct wh_sim *s, const char *path);
int wh_load_topology_text(struct wh_sim *s, const char *text);

/*
 * wh_add_host, wh_add_switch - one more node. Returns its number (0, 1, ... in order of the calls),
 * or a negative status.
 */
int64_t wh_add_host(struct wh_sim *s);
int64_t wh_add_switch(struct wh_sim *s);

/*
 * wh_add_link - a full-duplex link between two nodes.
 * @rate_bps:   of each direction, > 0
 * @delay_ps:   propagation, >= 0
 * @error_rate: probability that a packet that travels over it is lost, 0..1
 */
int wh_add_link(struct wh_sim *s, uint32_t a, uint32_t b, int64_t rate_bps, int64_t delay_ps,
                double error_rate);

/*
 * wh_set - one setting, by its name under "config" in summary.json (docs/output.md lists them).
 * @value: text: "hpcc" for a scheme, "1us" or a number of ps for a time, "100Gbps" or a number of
 * bit/s for a rate, "32MiB" or a number of bytes for a size, 0 or 1 for a switch, else a number
 * Errors: WH_STATUS_INPUT: no such setting, or a value of another kind. Ranges are checked at the
 * start.
 */
int wh_set(struct wh_sim *s, const char *name, const char *value);

/*
 * wh_set_ecn - marking thresholds of switch ports of one rate (replaces the row of that rate).
 * @pmax: marking probability at @kmax_bytes, 0..1
 * Errors: WH_STATUS_INPUT (range), WH_STATUS_LIMIT (more than 16 rates).
 */
int wh_set_ecn(struct wh_sim *s, int64_t rate_bps, int64_t kmin_bytes, int64_t kmax_bytes,
               double pmax);

/* wh_add_link_event - all links between nodes @a and @b go down (@is_up 0) or up at @time_ps >= 0.
 * Errors: WH_STATUS_INPUT, WH_STATUS_LIMIT (more than 64 events). */
int wh_add_link_event(struct wh_sim *s, int64_t time_ps, uint32_t a, uint32_t b, int is_up);

/* How a run is executed; the callbacks, their times and all results are the same for each. */
enum wh_engine {
    WH_ENGINE_PARTITIONED = 0, /* parts of the network that cannot meet are simulated apart */
    WH_ENGINE_SERIAL = 1       /* everything in turn, on one thread */
};
#define WH_THREADS_AUTO 0

/*
 * wh_set_engine - the default is WH_ENGINE_PARTITIONED on one thread.
 * @threads: 1..64, or WH_THREADS_AUTO: one for each processor that this process may use. The thread
 * that calls wh_run (or its relatives) is one of them, and the only one that callbacks see; the
 * others exist during that call.
 * Where the order of callbacks could not be kept otherwise, the serial engine is taken all the
 * same. Errors: WH_STATUS_INPUT (out of range), WH_STATUS_STATE.
 */
int wh_set_engine(struct wh_sim *s, enum wh_engine engine, uint32_t threads);

/*
 * wh_set_steady - skip what does not change: stretches in which every flow of a part of the network
 * keeps its rate are not executed packet by packet. Off by default. Completion times then are
 * approximate, and as deterministic as without. The serial engine skips nothing, wherever it is
 * taken. An HPCC scenario runs in the canonical order of events with it.
 * @is_on:        0 or 1
 * @error_budget: share of a message's time that skipping may cost, up to 0.5; 0: 0.01
 * Errors: WH_STATUS_INPUT (out of range), WH_STATUS_STATE.
 */
int wh_set_steady(struct wh_sim *s, int is_on, double error_budget);

/*
 * wh_set_memo - what a part of the network has done before, from the same state, is not executed
 * again. Off by default. Callbacks, their times and all results are the same with it, unless
 * wh_set_memo_lens says otherwise (an HPCC scenario runs in the canonical order of events then).
 * The serial engine does without.
 * @is_on:     0 or 1
 * @path:      file in which to keep the memo for further runs, created if missing; written when
 *             wh_run or wh_run_until returns, and by wh_destroy. Copied. NULL: none. One that
 * cannot be used is said in a warning, and the memo does without
 * @bytes_max: of the memo in memory; 0: 1 GiB
 * Errors: WH_STATUS_INPUT (the path is too long), WH_STATUS_STATE.
 */
int wh_set_memo(struct wh_sim *s, int is_on, const char *path, uint64_t bytes_max);

/* What makes two states of a part of the network the same. */
enum wh_lens {
    WH_LENS_EXACT = 0, /* all of them: results are the same with a memo and without */
    WH_LENS_FCG = 1    /* who shares what with whom, and rates and queues in bins: times are
                          approximate, and as deterministic */
};

/* wh_set_memo_lens - of the memo of wh_set_memo. The default is WH_LENS_EXACT.
 * Errors: WH_STATUS_INPUT (no such lens), WH_STATUS_STATE. */
int wh_set_memo_lens(struct wh_sim *s, enum wh_lens lens);

/*
 * wh_set_audit - of what is skipped or taken from the memo, a sample drawn by the seed is also
 * executed; wh_get_audit then says how far off the run is. Results stay the same. Off by default.
 * @share: 0..1
 * Errors: WH_STATUS_INPUT (out of range), WH_STATUS_STATE.
 */
int wh_set_audit(struct wh_sim *s, double share);

/*
 * wh_start - fixes the configuration and builds the network; implied by the calls below.
 * Errors: WH_STATUS_INPUT with a message: no topology, settings out of range, flows that do not fit
 * the network. Settings may be corrected then and wh_start called again; if the flows or paths of
 *         a loaded scenario do not fit, the scenario has to be loaded again.
 */
int wh_start(struct wh_sim *s);

/* --- 3. Traffic: before and during the run, also from callbacks --- */

typedef void (*wh_callback)(void *arg);

/*
 * wh_schedule - calls @fn(@arg) after @delay_ps. Timers of equal time run in the order of
 * scheduling.
 * @delay_ps: >= 0; 0: after the current callback has returned
 */
int wh_schedule(struct wh_sim *s, int64_t delay_ps, wh_callback fn, void *arg);

/*
 * wh_send - posts a message now.
 * @src, @dst:   different hosts
 * @bytes:       >= 0; 0 completes at once
 * @tag:         any number; with source and destination the key that receives match
 * @on_sent:     called with @arg when the sender has the acknowledgement of the last byte; NULL:
 * not
 * @on_received: called with @arg when all bytes have arrived, whether a receive was posted or not,
 * before the receive that the message fills; NULL: not Errors: WH_STATUS_INPUT, WH_STATUS_NOMEM, or
 * those of wh_start. A pair of hosts without a path is no error: the message waits until a link
 * comes up. Messages have priority 3, or that of the first flow of a loaded scenario.
 */
int wh_send(struct wh_sim *s, uint32_t src, uint32_t dst, int64_t bytes, uint64_t tag,
            wh_callback on_sent, wh_callback on_received, void *arg);

/*
 * wh_recv - calls @fn(@arg) once @bytes more bytes of messages (src, dst, tag) have arrived.
 * Bytes are counted per key, not per message: several sends may fill one receive, one send several.
 * Receives of a key are served in the order of posting. Bytes that came earlier count; the callback
 * then runs after the current one has returned, never inside wh_recv.
 * @bytes: >= 0
 */
int wh_recv(struct wh_sim *s, uint32_t dst, uint32_t src, int64_t bytes, uint64_t tag,
            wh_callback fn, void *arg);

/* A planned flow, without callbacks and without a tag. */
struct wh_flow {
    int64_t start_ps;  /* >= now */
    int64_t bytes;     /* >= 0 */
    uint32_t src, dst; /* different hosts */
    uint16_t sport;    /* 0: 10000, 10001, ... per pair of hosts */
    uint16_t dport;
    uint8_t
        priority; /* queue 0..7; 3 for ordinary data; once the run has begun, one of those in use */
};

/* wh_add_flow - one flow at a given time. @flow_id: number of the flow for wh_get_flow, may be
 * NULL. */
int wh_add_flow(struct wh_sim *s, const struct wh_flow *flow, uint32_t *flow_id);

/* --- 4. Running --- */

/* wh_run - until everything is done, the configured end time, or wh_stop. */
int wh_run(struct wh_sim *s);

/* wh_run_until - the same, but at most up to and including @time_ps. May be repeated with later
 * times. */
int wh_run_until(struct wh_sim *s, int64_t time_ps);

/*
 * wh_step - as wh_run, but returns soon after a callback of section 3 has been called; others that
 * are due at the same time may have been called too. Returns: 1 if a callback was called, 0 if the
 * run has ended, or a negative status.
 */
int wh_step(struct wh_sim *s);

/* wh_stop - from a callback: the running wh_run, wh_run_until or wh_step returns 0 soon, at the
 * present time. The run may be continued. */
void wh_stop(struct wh_sim *s);

/* wh_is_done - 1: started, all flows done or given up, and no timer pending. */
int wh_is_done(const struct wh_sim *s);

/* wh_now_ps - simulated time [ps], 0 before the start. */
int64_t wh_now_ps(const struct wh_sim *s);

struct wh_counters {
    int64_t now_ps;
    uint64_t events;      /* of the engine: not the same number for each enum wh_engine */
    uint64_t packet_hops; /* without those in struct wh_savings.skipped_hops */
    uint64_t data_packets, ack_packets, nack_packets, cnp_echoes, pfc_frames;
    uint64_t drops, losses, marks, pauses, rate_cuts, timeouts, retx_packets;
    uint64_t flows, flows_finished;
    uint64_t queue_max_bytes; /* of the fullest port ever */
};

/*
 * wh_set_progress - @fn is called every few thousand events of a run; if it returns non-zero the
 * run stops as by wh_stop. @c: valid during the call.
 * @fn: NULL: none
 */
void wh_set_progress(struct wh_sim *s, int (*fn)(void *arg, const struct wh_counters *c),
                     void *arg);

/* --- 5. Questions --- */

/* wh_get_counters - all 0 before the start. */
void wh_get_counters(const struct wh_sim *s, struct wh_counters *out);

/* What was not executed, see wh_set_steady and wh_set_memo. */
struct wh_savings {
    uint64_t skips;           /* parts of the network, times that they were skipped */
    uint64_t skipped_packets; /* of data */
    uint64_t skipped_hops;    /* all packets, each times its links */
    uint64_t memo_lookups, memo_hits;
    uint64_t replayed_hops; /* of wh_counters.packet_hops, taken from the memo */
};

/* wh_get_savings - all 0 before the start, and where neither was asked for. */
void wh_get_savings(const struct wh_sim *s, struct wh_savings *out);

/* What audits have found, see wh_set_audit. Errors are shares of the mean completion time, positive
 * where it comes out too long. */
struct wh_audit {
    uint64_t skips, skips_audited;
    uint64_t hits, hits_audited;            /* of WH_LENS_FCG */
    uint64_t events;                        /* executed for audits, in no other counter */
    int has_estimate;                       /* 1: something was audited, or nothing is off */
    int has_bounds;                         /* 1: enough of it for the intervals */
    double error, low, high;                /* estimate, and the ends of its 95 % interval */
    double memo_error, memo_low, memo_high; /* what of it WH_LENS_FCG adds */
};

/* wh_get_audit - all 0 before the start, and where it was not asked for. */
void wh_get_audit(const struct wh_sim *s, struct wh_audit *out);

struct wh_path {
    int64_t rate_bps;       /* smallest of the path */
    int64_t propagation_ps; /* one way */
    int64_t base_rtt_ps;    /* propagation both ways and one full payload over each link one way */
    uint32_t links;
};

/*
 * wh_get_path - the shortest path between two hosts; of several equal ones, one of them. Starts.
 * Errors: WH_STATUS_INPUT, WH_STATUS_NOPATH.
 */
int wh_get_path(struct wh_sim *s, uint32_t src, uint32_t dst, struct wh_path *out);

/* wh_get_ideal_ps - time of a message of @bytes >= 0 on the idle network: base RTT plus the bytes
 * with their headers at the path's rate. Starts. Errors: as wh_get_path. */
int wh_get_ideal_ps(struct wh_sim *s, uint32_t src, uint32_t dst, int64_t bytes, int64_t *out_ps);

enum wh_flow_state {
    WH_FLOW_WAITING = 0, /* not started */
    WH_FLOW_ACTIVE = 1,
    WH_FLOW_DONE = 2,
    WH_FLOW_NOPATH = 3, /* none when it was to start; goes on if a link comes up */
    WH_FLOW_STALLED = 4 /* given up after too many timeouts without progress */
};

struct wh_flow_result {
    int64_t start_ps, end_ps; /* end_ps -1: unfinished */
    int64_t ideal_ps;         /* on the idle network */
    int64_t bytes, acked_bytes, retx_bytes;
    uint32_t src, dst, links;
    uint16_t sport, dport;
    enum wh_flow_state state;
};

/* wh_flow_count - flows and messages so far. Rows of wh_get_flow are 0..count-1, in order of
 * posting. */
uint32_t wh_flow_count(const struct wh_sim *s);

/* wh_get_flow - one row, before, during or after its life. Errors: WH_STATUS_INPUT (no such row,
 * not started); leaves the message alone. */
int wh_get_flow(const struct wh_sim *s, uint32_t flow_id, struct wh_flow_result *out);

uint32_t wh_node_count(const struct wh_sim *s); /* of the topology, 0 without one */
uint32_t wh_host_count(const struct wh_sim *s);

#ifdef __cplusplus
}
#endif

#endif
