/*
 * scenario_yaml.h - our own scenario file (YAML, read with libcyaml): see docs/scenario.md.
 */
#ifndef WH_SCENARIO_YAML_H
#define WH_SCENARIO_YAML_H

#include "scenario.h"

#include <stdio.h>

/* A dotted override from the command line: key "switch.buffer", value "32MiB". */
struct yaml_override {
    const char *key, *value;
};

/* scenario_load_yaml - reads, applies @overrides, resolves, generates topology and flows. */
int scenario_load_yaml(const char *path, const struct yaml_override *overrides,
                       uint32_t override_count, struct scenario *sc, const struct warn_sink *sink,
                       struct err_info *e) WH_MUST_CHECK;

/* scenario_print - the resolved scenario: every setting with its value, as YAML on @f, with counts
 * of hosts, switches, links and flows as comments. Works for HPCC scenarios too. */
int scenario_print(const struct scenario *sc, FILE *f) WH_MUST_CHECK;

#endif
