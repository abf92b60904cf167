/*
 * scenario.h - everything one run needs, whichever front end it came from.
 *
 * hpcc_load() (hpcc.h) fills it from an HPCC configuration, scenario_load_yaml() (scenario_yaml.h)
 * from our own scenario file; the C interface fills it by hand. scenario_make_sim() turns it into a
 * simulation.
 */
#ifndef WH_SCENARIO_H
#define WH_SCENARIO_H

#include "config.h"
#include "flow.h"
#include "sim.h"
#include "topology.h"

#include <stdint.h>

/* A path given for one flow, as node ids (see sim_set_path). */
struct given_path {
    uint32_t flow_id;
    uint8_t is_ack;
    uint32_t node_first, node_count; /* rows of struct scenario.path_nodes */
};

struct straggler {
    uint32_t host;
    double factor;    /* of the line rate, 0..1] */
    int64_t delay_ps; /* added to the start of its flows */
};

/* One optional log: bounded, off by default. */
struct log_request {
    char path[512]; /* "" = off; relative to the output folder unless it came from an HPCC file */
    int64_t interval_ps; /* sampling interval, where it samples */
    int64_t from_ps, to_ps;
    int64_t cap_bytes; /* size cap, 0: default */
    /* filters: rows of struct scenario.filter_ids; an empty list means all */
    uint32_t filter_first, filter_count;
};

enum log_kind {
    LOG_QUEUE,     /* our CSV: queue length of switch ports */
    LOG_PFC,       /* pfc.txt, HPCC columns */
    LOG_RATE,      /* our CSV: rate of flows */
    LOG_PACKET,    /* our CSV: packet events at nodes */
    LOG_QLEN_HPCC, /* qlen.txt, HPCC histogram */
    LOG_LINK,      /* our CSV: bytes per link per interval */
    LOG_KIND_COUNT
};

struct llm_spec; /* llm.h */

struct scenario {
    char name[128];
    struct topo *topo; /* owned until scenario_make_sim takes it */
    struct sim_config cfg;
    struct flow_spec *flows; /* shape: [flow_count], owned, sorted by start */
    uint32_t flow_count;
    struct given_path *paths; /* shape: [path_count], owned */
    uint32_t path_count;
    uint32_t *path_nodes; /* owned */
    uint32_t path_node_count;
    struct straggler *stragglers; /* owned */
    uint32_t straggler_count;
    struct log_request logs[LOG_KIND_COUNT];
    uint32_t *filter_ids; /* owned; node ids (LOG_QUEUE, LOG_PACKET) or flow ids (LOG_RATE) */
    uint32_t filter_count;
    char fct_path[512];   /* "" = default: fct.txt in the output folder */
    char fct_key[64];     /* the key that named it, for messages ("FCT_OUTPUT_FILE") */
    int is_hpcc;          /* came from an HPCC configuration */
    struct llm_spec *llm; /* owned (free), resolved; NULL: no training workload */
    char *source_yaml; /* owned (free), may be NULL: the resolved sections of the scenario file that
                          made topo, flows and paths; scenario_print repeats them */
};

void scenario_init(struct scenario *sc); /* all zero, cfg defaults */
void scenario_fini(struct scenario *sc); /* frees what it owns; safe on a half-filled one */

/* scenario_add_flow, scenario_add_path - grow the tables. Return 0 or WH_ERR_NOMEM. */
int scenario_add_flow(struct scenario *sc, const struct flow_spec *f) WH_MUST_CHECK;
int scenario_add_path(struct scenario *sc, uint32_t flow_id, int is_ack, const uint32_t *nodes,
                      uint32_t node_count) WH_MUST_CHECK;
int scenario_add_filter(struct scenario *sc, uint32_t id) WH_MUST_CHECK;

/*
 * scenario_make_sim - creates the simulation and adds flows, paths and stragglers.
 * Takes sc->topo over on success (set to NULL).
 */
int scenario_make_sim(struct scenario *sc, const struct warn_sink *sink, struct sim **out,
                      struct err_info *e) WH_MUST_CHECK;

#endif
