/*
 * hpcc.h - files of the HPCC ns-3 simulator family: read unchanged, written compatibly.
 *
 * Format: docs/formats.md. Every number is checked against the file and against the other files;
 * a refused file is described by an err_info with file, line, what was found and what was expected.
 * Threading: pure functions on caller-owned data.
 */
#ifndef WH_HPCC_H
#define WH_HPCC_H

#include "route.h"
#include "scenario.h"

#include <stdio.h>

/* hpcc_read_topology - "<nodes> <switches> <links>", switch ids, links. *out is finished.
 * Errors: counts that do not hold, ids, units, a host without a link. Warnings: fraction of ns in a
 * delay, parallel links, text behind the last link. */
int hpcc_read_topology(const char *path, struct topo **out, const struct warn_sink *sink,
                       struct err_info *e) WH_MUST_CHECK;

/* hpcc_read_flows - six columns, or five (conweave: no dport; dport = 100 then). Checks ids against
 * @topo. An unsorted list is sorted (stable) with a warning. Appends to sc->flows. */
int hpcc_read_flows(const char *path, const struct topo *topo, struct scenario *sc,
                    const struct warn_sink *sink, struct err_info *e) WH_MUST_CHECK;

/* hpcc_read_paths - the reference runs' "flow sport | nodes | nodes" lines; '#' comments. */
int hpcc_read_paths(const char *path, struct scenario *sc, struct err_info *e) WH_MUST_CHECK;

/* hpcc_read_nodes - trace file: "<count>" then ids. Appends to sc->filter_ids. */
int hpcc_read_nodes(const char *path, const struct topo *topo, struct scenario *sc,
                    struct err_info *e) WH_MUST_CHECK;

/* A KEY=VALUE override from the command line, as if it stood in the file. */
struct hpcc_override {
    const char *key, *value;
};

/*
 * hpcc_load - a whole configuration: config.txt and the files it names.
 * Files are looked up relative to the working directory first, then to the configuration's folder.
 * @paths_file: NULL or a file for hpcc_read_paths
 * @overrides:  shape [override_count], may be NULL
 */
int hpcc_load(const char *config_path, const char *paths_file,
              const struct hpcc_override *overrides, uint32_t override_count, struct scenario *sc,
              const struct warn_sink *sink, struct err_info *e) WH_MUST_CHECK;

/*
 * hpcc_load_conf - a configuration without its flows, for tools that make the traffic themselves
 * (the ns-3 backend of ASTRA-sim): network, model parameters and outputs. FLOW_FILE has no effect;
 * without SIMULATOR_STOP_TIME the run ends when everything is done; parameters of the congestion
 * control that are missing keep their values in sc->cfg, with a warning.
 * sc->topo: if it is set, it is the network, and TOPOLOGY_FILE has no effect
 */
int hpcc_load_conf(const char *config_path, const struct hpcc_override *overrides,
                   uint32_t override_count, struct scenario *sc, const struct warn_sink *sink,
                   struct err_info *e) WH_MUST_CHECK;

/* Writers: the same formats. Return 0 or WH_ERR_IO. */
int hpcc_write_topology(FILE *f, const struct topo *t) WH_MUST_CHECK;
int hpcc_write_flows(FILE *f, const struct flow_spec *flows, uint32_t flow_count) WH_MUST_CHECK;

/* hpcc_node_ip - address that the reference gives to a node: 0x0b000001 + (id/256)<<16 +
 * (id%256)<<8. */
static inline uint32_t hpcc_node_ip(uint32_t node)
{
    return route_node_ip(node); /* ECMP hashes it */
}

#endif
