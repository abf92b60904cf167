/*
 * scenario_yaml_int.h - what the parts of the scenario loader share.
 */
#ifndef WH_SCENARIO_YAML_INT_H
#define WH_SCENARIO_YAML_INT_H

#include "scenario_yaml.h"
#include "yaml_doc.h"
#include "yaml_schema.h"

/* Bounds on what a scenario file may ask for; the fuzzer sets small ones. */
struct yaml_limits {
    uint64_t links, flows;
};

struct yaml_loader {
    const char *path; /* of the scenario file */
    struct yaml_doc *doc;
    const struct raw_scenario *raw;
    struct scenario *sc;
    struct yaml_limits limits;
    const struct warn_sink *sink;
    struct err_info *e;
    FILE *source; /* collects struct scenario.source_yaml */
};

/* scenario_yaml__load - scenario_load_yaml with limits. */
int scenario_yaml__load(const char *path, const struct yaml_override *overrides,
                        uint32_t override_count, const struct yaml_limits *limits,
                        struct scenario *sc, const struct warn_sink *sink,
                        struct err_info *e) WH_MUST_CHECK;

/* The parts: from the loader's raw texts into its scenario. */
int scenario_yaml__load_topology(struct yaml_loader *l) WH_MUST_CHECK;
int scenario_yaml__load_flows(struct yaml_loader *l) WH_MUST_CHECK;
int scenario_yaml__load_paths(struct yaml_loader *l) WH_MUST_CHECK;
int scenario_yaml__load_workload(struct yaml_loader *l) WH_MUST_CHECK; /* yaml_workload.c */

/* yaml_load__refuse - "found F for <dotted>, expected E" with the place of @dotted; WH_ERR_INPUT.
 */
int yaml_load__refuse(struct yaml_loader *l, const char *dotted, const char *found,
                      const char *expected);

/* yaml_load__at - adds the place of @dotted to the error of a callee that knew none. Returns @rc.
 */
int yaml_load__at(struct yaml_loader *l, const char *dotted, int rc);

/*
 * yaml_load__object - the settings of @t that @raw gives, into @target.
 * @prefix: dotted path of the object, "" for the file
 * @kind:   one bit, see struct setting; @kind_name for messages
 */
int yaml_load__object(struct yaml_loader *l, struct settings t, const void *raw, void *target,
                      const char *prefix, uint32_t kind, const char *kind_name) WH_MUST_CHECK;

/* yaml_load__id - one whole number below @end, the @index-th of the list at @dotted. */
int yaml_load__id(struct yaml_loader *l, const char *text, const char *dotted, uint32_t index,
                  uint32_t end, uint32_t *out) WH_MUST_CHECK;

/* yaml_load__find_file - the file that @name at @dotted means: from the working directory, else
 * from the scenario's folder. */
int yaml_load__find_file(struct yaml_loader *l, const char *name, const char *dotted, char *buf,
                         size_t buf_bytes) WH_MUST_CHECK;

#endif
