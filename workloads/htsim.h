/*
 * htsim.h - input files of csg-htsim: connection matrices (.cm) and fat-tree topologies (.topo).
 *
 * Connections with a start time become flows of a scenario; those that wait for a trigger stay in
 * struct htsim_cm for whoever executes dependencies. Format: docs/formats_goal_htsim.md.
 * Threading: pure functions on caller-owned data.
 */
#ifndef WH_HTSIM_H
#define WH_HTSIM_H

#include "scenario.h"

#include <stdint.h>

#define HTSIM_NONE UINT32_MAX /* no trigger */
#define HTSIM_ENDLESS 0       /* bytes of a connection that sends until the end of the run */

struct htsim_conn {
    int64_t start_ps; /* -1: waits for a trigger */
    int64_t bytes;    /* payload, > 0, or HTSIM_ENDLESS */
    uint32_t src, dst;
    uint32_t id;      /* from 1, unique; 0: the file gives none */
    uint32_t trigger; /* row of triggers that starts it; HTSIM_NONE: starts at start_ps */
    /* rows of triggers that it fires when its last byte is acknowledged, delivered; HTSIM_NONE */
    uint32_t send_done_trigger, recv_done_trigger;
    uint32_t prio; /* HTSIM_NONE: not given */
    long line;
};

enum htsim_trigger_kind {
    HTSIM_ONESHOT,   /* releases all that wait at its only firing */
    HTSIM_MULTISHOT, /* releases the next that waits, in the order of the file, at each firing */
    HTSIM_BARRIER    /* releases all that wait at its count-th firing */
};

struct htsim_trigger {
    uint32_t id;    /* from 1, unique */
    uint32_t count; /* barrier: firings needed, > 0; else 0 */
    uint8_t kind;   /* enum htsim_trigger_kind */
    long line;
};

enum htsim_switch { HTSIM_TOR, HTSIM_AGG, HTSIM_CORE };

struct htsim_failure {
    uint8_t switch_type; /* enum htsim_switch */
    uint32_t switch_id, link_id;
    long line;
};

struct htsim_cm {
    char path[512]; /* for messages */
    uint32_t node_count;
    long node_line;
    struct htsim_conn *conns; /* shape: [conn_count], in the order of the file */
    uint32_t conn_count;
    struct htsim_trigger *triggers; /* shape: [trigger_count] */
    uint32_t trigger_count;
    struct htsim_failure *failures; /* shape: [failure_count] */
    uint32_t failure_count;
};

/*
 * htsim_read_cm - a connection matrix. Declared numbers agree with what the file holds, triggers
 * that are named exist, a oneshot is fired by one connection at most. Release with htsim_cm_fini.
 * Warnings: unknown keys of the header, triggers that nothing fires.
 */
int htsim_read_cm(const char *path, struct htsim_cm *out, const struct warn_sink *sink,
                  struct err_info *e) WH_MUST_CHECK;
void htsim_cm_fini(struct htsim_cm *cm); /* a zeroed one is accepted */

/*
 * htsim_to_flows - the connections with a start time, appended to sc->flows by start; user is the
 * row of conns.
 * Nodes must equal the hosts of @topo. An endless connection gets so many bytes that it cannot
 * complete before sc->cfg.end_ps, which must be set then.
 * Warnings: priorities are accepted but have no effect.
 */
int htsim_to_flows(const struct htsim_cm *cm, const struct topo *topo, struct scenario *sc,
                   const struct warn_sink *sink, struct err_info *e) WH_MUST_CHECK;

/* One tier of switches: 0 ToR, 1 aggregation, 2 core. */
struct htsim_tier {
    int64_t down_bps;        /* rate of the links below it */
    int64_t down_latency_ps; /* of the links below it */
    int64_t switch_latency_ps;
    int64_t queue_down_bytes, queue_up_bytes; /* 0: the file gives none */
    uint32_t radix_down, radix_up;            /* ports; radix_up 0 in the top tier */
    uint32_t bundle;                          /* parallel links to each switch below */
    uint32_t oversub;
};

/*
 * Nodes of topo are numbered hosts, ToRs, aggregation switches, cores, each in htsim's order. Links
 * are added in the order in which htsim connects ports.
 */
struct htsim_topo {
    char path[512];    /* for messages */
    struct topo *topo; /* finished; owned */
    uint32_t host_count, pod_count, tor_count, agg_count, core_count;
    uint32_t tier_count; /* 2 or 3 */
    struct htsim_tier tier[3];
};

/*
 * htsim_read_topo - a fat tree of two or three tiers. The latency of a switch is shared by its
 * links, half each, so that every path has the delay that htsim gives it. Release with
 * htsim_topo_fini.
 * Errors:   sizes that do not agree, each with the line of a key that is part of it.
 * Warnings: unknown keys; keys without effect.
 */
int htsim_read_topo(const char *path, struct htsim_topo *out, const struct warn_sink *sink,
                    struct err_info *e) WH_MUST_CHECK;
void htsim_topo_fini(struct htsim_topo *t); /* a zeroed one is accepted */

/*
 * htsim_fail_links - takes the links out of @t that the failures of @cm name: link_id counts the
 * uplinks of an aggregation switch from 0, by core switch, then within the bundle. Rebuilds
 * t->topo. Errors: failures of other switches (the reference has none), ids out of range, a link
 * twice.
 */
int htsim_fail_links(struct htsim_topo *t, const struct htsim_cm *cm,
                     struct err_info *e) WH_MUST_CHECK;

#endif
