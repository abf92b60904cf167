/*
 * yaml_schema.c - the scenario file's schema: see yaml_schema.h.
 */
#include "yaml_schema.h"

#include "units.h"

#include <stddef.h>

#define WORDS(name, ...) static const struct setting_word name[] = {__VA_ARGS__, {NULL, 0}}

WORDS(yaml_switch, {"true", 1}, {"false", 0}, {"on", 1}, {"off", 0}, {"yes", 1}, {"no", 0});
WORDS(yaml_never, {"never", TIME_NEVER});
WORDS(yaml_rounding, {"1ps", 1}, {"1ns", PS_PER_NS});
WORDS(yaml_orders, {"canonical", ORDER_CANONICAL}, {"ns3", ORDER_NS3});
WORDS(yaml_scopes, {"pair", 0}, {"global", 1});
WORDS(yaml_ack_modes, {"priority", ACK_PRIORITY}, {"in-data", ACK_IN_DATA}, {"bypass", ACK_BYPASS},
      {"charged", ACK_CHARGED});
WORDS(yaml_recovery_modes, {"go-back-n", RECOVERY_GO_BACK_N}, {"go-back-0", RECOVERY_GO_BACK_0},
      {"selective-repeat", RECOVERY_SELECTIVE_REPEAT});
WORDS(yaml_cc_kinds, {"none", CC_NONE}, {"dcqcn", CC_DCQCN}, {"hpcc", CC_HPCC},
      {"timely", CC_TIMELY}, {"dctcp", CC_DCTCP}, {"swift", CC_SWIFT});
WORDS(yaml_line_rate, {"line", 0});
WORDS(yaml_off, {"off", 0});
WORDS(yaml_unlimited, {"unlimited", 0});
WORDS(yaml_all, {"all", 0});
WORDS(yaml_assigned, {"assigned", 0});
WORDS(yaml_default, {"default", 0});
WORDS(yaml_headrooms, {"reference", -1}, {"lossless", -2});
WORDS(yaml_routing_modes, {"ecmp", ROUTING_ECMP}, {"spray", ROUTING_SPRAY});
WORDS(yaml_sched_modes, {"round-robin", SCHED_ROUND_ROBIN}, {"strict", SCHED_STRICT});
WORDS(yaml_link_states, {"down", NET_LINK_DOWN}, {"up", NET_LINK_UP});

const char *const yaml_log_names[LOG_KIND_COUNT] = {
    [LOG_QUEUE] = "queue",   [LOG_PFC] = "pfc",        [LOG_RATE] = "rate",
    [LOG_PACKET] = "packet", [LOG_QLEN_HPCC] = "qlen", [LOG_LINK] = "link",
};

/* libcyaml's fields. */
#define TEXT(structure, member)                                                                    \
    CYAML_FIELD_STRING_PTR(#member, CYAML_FLAG_OPTIONAL, structure, member, 0, CYAML_UNLIMITED)
#define LIST(structure, member, row)                                                               \
    CYAML_FIELD_SEQUENCE(#member, CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, structure, member,     \
                         row, 0, CYAML_UNLIMITED)
#define SECTION(structure, name, member, rows)                                                     \
    CYAML_FIELD_MAPPING(name, CYAML_FLAG_OPTIONAL, structure, member, rows)
#define ENTRY(name, structure, rows)                                                               \
    static const cyaml_schema_value_t name = {                                                     \
        CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, structure, rows)}

static const cyaml_schema_value_t text_entry = {
    CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char, 0, CYAML_UNLIMITED)};

#define CLASS_TEXT(key, ...) TEXT(struct raw_class, key),
static const cyaml_schema_field_t class_fields[] = {YAML_CLASS_KEYS(CLASS_TEXT, ) CYAML_FIELD_END};

#define TOPO_TEXT(key, ...) TEXT(struct raw_topology, key),
static const cyaml_schema_field_t topology_fields[] = {
    TEXT(struct raw_topology, kind),
    TEXT(struct raw_topology, file),
    YAML_TOPO_KEYS(TOPO_TEXT) SECTION(struct raw_topology, "host_link", host_link, class_fields),
    SECTION(struct raw_topology, "fabric_link", fabric_link, class_fields),
    SECTION(struct raw_topology, "nvlink", nvlink, class_fields),
    LIST(struct raw_topology, dims, &text_entry),
    LIST(struct raw_topology, switch_ids, &text_entry),
    LIST(struct raw_topology, nvswitch_ids, &text_entry),
    CYAML_FIELD_END,
};

#define LINK_TEXT(key, ...) TEXT(struct raw_link, key),
static const cyaml_schema_field_t link_fields[] = {YAML_LINK_KEYS(LINK_TEXT) CYAML_FIELD_END};
ENTRY(link_entry, struct raw_link, link_fields);

#define HOST_TEXT(key, ...) TEXT(struct raw_host, key),
static const cyaml_schema_field_t host_fields[] = {
    YAML_HOST_KEYS(HOST_TEXT) TEXT(struct raw_host, rto),
    CYAML_FIELD_END,
};

#define ECN_ROW_TEXT(key, ...) TEXT(struct raw_ecn_row, key),
static const cyaml_schema_field_t ecn_row_fields[] = {YAML_ECN_ROW_KEYS(ECN_ROW_TEXT)
                                                          CYAML_FIELD_END};
ENTRY(ecn_row_entry, struct raw_ecn_row, ecn_row_fields);

#define PFC_TEXT(key, ...) TEXT(struct raw_pfc, key),
static const cyaml_schema_field_t pfc_fields[] = {
    YAML_PFC_KEYS(PFC_TEXT) TEXT(struct raw_pfc, static_threshold),
    CYAML_FIELD_END,
};

#define ECN_TEXT(key, ...) TEXT(struct raw_ecn, key),
static const cyaml_schema_field_t ecn_fields[] = {
    YAML_ECN_KEYS(ECN_TEXT) LIST(struct raw_ecn, thresholds, &ecn_row_entry),
    CYAML_FIELD_END,
};

#define SWITCH_TEXT(key, ...) TEXT(struct raw_switch, key),
static const cyaml_schema_field_t switch_fields[] = {
    YAML_SWITCH_KEYS(SWITCH_TEXT) SECTION(struct raw_switch, "pfc", pfc, pfc_fields),
    SECTION(struct raw_switch, "ecn", ecn, ecn_fields),
    CYAML_FIELD_END,
};

#define DCQCN_TEXT(key, ...) TEXT(struct raw_dcqcn, key),
#define HPCC_TEXT(key, ...) TEXT(struct raw_hpcc, key),
#define TIMELY_TEXT(key, ...) TEXT(struct raw_timely, key),
#define DCTCP_TEXT(key, ...) TEXT(struct raw_dctcp, key),
#define SWIFT_TEXT(key, ...) TEXT(struct raw_swift, key),
static const cyaml_schema_field_t dcqcn_fields[] = {YAML_DCQCN_KEYS(DCQCN_TEXT) CYAML_FIELD_END};
static const cyaml_schema_field_t hpcc_fields[] = {YAML_HPCC_KEYS(HPCC_TEXT) CYAML_FIELD_END};
static const cyaml_schema_field_t timely_fields[] = {YAML_TIMELY_KEYS(TIMELY_TEXT) CYAML_FIELD_END};
static const cyaml_schema_field_t dctcp_fields[] = {YAML_DCTCP_KEYS(DCTCP_TEXT) CYAML_FIELD_END};
static const cyaml_schema_field_t swift_fields[] = {YAML_SWIFT_KEYS(SWIFT_TEXT) CYAML_FIELD_END};

#define CC_TEXT(key, ...) TEXT(struct raw_cc, key),
static const cyaml_schema_field_t cc_fields[] = {
    YAML_CC_KEYS(CC_TEXT) SECTION(struct raw_cc, "dcqcn", dcqcn, dcqcn_fields),
    SECTION(struct raw_cc, "hpcc", hpcc, hpcc_fields),
    SECTION(struct raw_cc, "timely", timely, timely_fields),
    SECTION(struct raw_cc, "dctcp", dctcp, dctcp_fields),
    SECTION(struct raw_cc, "swift", swift, swift_fields),
    CYAML_FIELD_END,
};

#define INT_TEXT(key, ...) TEXT(struct raw_int, key),
static const cyaml_schema_field_t int_fields[] = {YAML_INT_KEYS(INT_TEXT) CYAML_FIELD_END};

#define ROUTING_TEXT(key, ...) TEXT(struct raw_routing, key),
static const cyaml_schema_field_t routing_fields[] = {YAML_ROUTING_KEYS(ROUTING_TEXT)
                                                          CYAML_FIELD_END};

#define FLOW_TEXT(key, ...) TEXT(struct raw_flow, key),
static const cyaml_schema_field_t flow_fields[] = {
    TEXT(struct raw_flow, file),
    TEXT(struct raw_flow, pattern),
    TEXT(struct raw_flow, sizes),
    TEXT(struct raw_flow, seed),
    YAML_FLOW_KEYS(FLOW_TEXT) CYAML_FIELD_END,
};
ENTRY(flow_entry, struct raw_flow, flow_fields);

#define PATH_TEXT(key, ...) TEXT(struct raw_path, key),
static const cyaml_schema_field_t path_fields[] = {
    TEXT(struct raw_path, file),
    YAML_PATH_KEYS(PATH_TEXT) LIST(struct raw_path, nodes, &text_entry),
    CYAML_FIELD_END,
};
ENTRY(path_entry, struct raw_path, path_fields);

#define EVENT_TEXT(key, ...) TEXT(struct raw_event, key),
static const cyaml_schema_field_t event_fields[] = {
    YAML_EVENT_KEYS(EVENT_TEXT) LIST(struct raw_event, link, &text_entry),
    CYAML_FIELD_END,
};
ENTRY(event_entry, struct raw_event, event_fields);

#define STRAGGLER_TEXT(key, ...) TEXT(struct raw_straggler, key),
static const cyaml_schema_field_t straggler_fields[] = {YAML_STRAGGLER_KEYS(STRAGGLER_TEXT)
                                                            CYAML_FIELD_END};
ENTRY(straggler_entry, struct raw_straggler, straggler_fields);

#define LOG_TEXT(key, ...) TEXT(struct raw_log, key),
static const cyaml_schema_field_t log_fields[] = {
    TEXT(struct raw_log, file),
    YAML_LOG_KEYS(LOG_TEXT) LIST(struct raw_log, nodes, &text_entry),
    LIST(struct raw_log, flows, &text_entry),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t logs_fields[] = {
    TEXT(struct raw_logs, fct),
    SECTION(struct raw_logs, "queue", kind[LOG_QUEUE], log_fields),
    SECTION(struct raw_logs, "pfc", kind[LOG_PFC], log_fields),
    SECTION(struct raw_logs, "rate", kind[LOG_RATE], log_fields),
    SECTION(struct raw_logs, "packet", kind[LOG_PACKET], log_fields),
    SECTION(struct raw_logs, "qlen", kind[LOG_QLEN_HPCC], log_fields),
    SECTION(struct raw_logs, "link", kind[LOG_LINK], log_fields),
    CYAML_FIELD_END,
};

#define RUN_TEXT(key, ...) TEXT(struct raw_scenario, key),
static const cyaml_schema_field_t scenario_fields[] = {
    TEXT(struct raw_scenario, name),
    YAML_RUN_KEYS(RUN_TEXT) SECTION(struct raw_scenario, "topology", topology, topology_fields),
    LIST(struct raw_scenario, links, &link_entry),
    SECTION(struct raw_scenario, "host", host, host_fields),
    SECTION(struct raw_scenario, "switch", switches, switch_fields),
    SECTION(struct raw_scenario, "congestion_control", cc, cc_fields),
    SECTION(struct raw_scenario, "int", int_section, int_fields),
    SECTION(struct raw_scenario, "routing", routing, routing_fields),
    SECTION(struct raw_scenario, "workload", workload, yaml_workload_fields),
    LIST(struct raw_scenario, flows, &flow_entry),
    LIST(struct raw_scenario, paths, &path_entry),
    LIST(struct raw_scenario, events, &event_entry),
    LIST(struct raw_scenario, stragglers, &straggler_entry),
    SECTION(struct raw_scenario, "logs", logs, logs_fields),
    CYAML_FIELD_END,
};

const cyaml_schema_value_t yaml_schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct raw_scenario, scenario_fields)};

/* Settings. */
#define FIELD_BYTES(structure, field) (uint8_t)sizeof(((structure *)NULL)->field)
#define ROW(raw, raw_member, path_text, target, kind, member, lo, hi, word_table, on, needed)      \
    {.path = path_text,                                                                            \
     .raw_offset = offsetof(raw, raw_member),                                                      \
     .offset = offsetof(target, member),                                                           \
     .width = FIELD_BYTES(target, member),                                                         \
     .type = SETTING_##kind,                                                                       \
     .low = lo,                                                                                    \
     .high = hi,                                                                                   \
     .words = word_table,                                                                          \
     .mask = on,                                                                                   \
     .need = needed},
#define CONFIG(raw_section, prefix, key, kind, member, lo, hi, words)                              \
    ROW(struct raw_scenario, raw_section key, prefix #key, struct sim_config, kind, member, lo,    \
        hi, words, 0, 0)
#define TABLE(name, rows) const struct settings name = {rows, sizeof rows / sizeof rows[0]}

#define RUN_ROW(key, ...) CONFIG(, "", key, __VA_ARGS__)
#define HOST_ROW(key, ...) CONFIG(host., "host.", key, __VA_ARGS__)
#define SWITCH_ROW(key, ...) CONFIG(switches., "switch.", key, __VA_ARGS__)
#define PFC_ROW(key, ...) CONFIG(switches.pfc., "switch.pfc.", key, __VA_ARGS__)
#define ECN_ROW(key, ...) CONFIG(switches.ecn., "switch.ecn.", key, __VA_ARGS__)
#define CC_ROW(key, ...) CONFIG(cc., "congestion_control.", key, __VA_ARGS__)
#define DCQCN_ROW(key, ...) CONFIG(cc.dcqcn., "congestion_control.dcqcn.", key, __VA_ARGS__)
#define HPCC_ROW(key, ...) CONFIG(cc.hpcc., "congestion_control.hpcc.", key, __VA_ARGS__)
#define TIMELY_ROW(key, ...) CONFIG(cc.timely., "congestion_control.timely.", key, __VA_ARGS__)
#define DCTCP_ROW(key, ...) CONFIG(cc.dctcp., "congestion_control.dctcp.", key, __VA_ARGS__)
#define SWIFT_ROW(key, ...) CONFIG(cc.swift., "congestion_control.swift.", key, __VA_ARGS__)
#define INT_ROW(key, ...) CONFIG(int_section., "int.", key, __VA_ARGS__)
#define ROUTING_ROW(key, ...) CONFIG(routing., "routing.", key, __VA_ARGS__)

/* Sections in the order in which they are printed; ECN comes last for the list that follows it. */
static const struct setting config_rows[] = {
    YAML_RUN_KEYS(RUN_ROW)
        YAML_HOST_KEYS(HOST_ROW){.path = "host.rto",
                                 .raw_offset = offsetof(struct raw_scenario, host.rto),
                                 .offset = offsetof(struct sim_config, rto_ps),
                                 .width = FIELD_BYTES(struct sim_config, rto_ps),
                                 .flag_width = FIELD_BYTES(struct sim_config, rto),
                                 .type = SETTING_TIME,
                                 .low = 1,
                                 .high = YAML_SPAN_MAX,
                                 .flag_offset = offsetof(struct sim_config, rto)},
    YAML_CC_KEYS(CC_ROW) YAML_DCQCN_KEYS(DCQCN_ROW) YAML_HPCC_KEYS(HPCC_ROW)
        YAML_TIMELY_KEYS(TIMELY_ROW) YAML_DCTCP_KEYS(DCTCP_ROW) YAML_SWIFT_KEYS(SWIFT_ROW)
            YAML_INT_KEYS(INT_ROW) YAML_ROUTING_KEYS(ROUTING_ROW) YAML_SWITCH_KEYS(SWITCH_ROW)
                YAML_PFC_KEYS(PFC_ROW){
                    .path = "switch.pfc.static_threshold",
                    .raw_offset = offsetof(struct raw_scenario, switches.pfc.static_threshold),
                    .offset = offsetof(struct sim_config, pfc_static_bytes),
                    .width = FIELD_BYTES(struct sim_config, pfc_static_bytes),
                    .flag_width = FIELD_BYTES(struct sim_config, pfc_static),
                    .type = SETTING_BYTES,
                    .low = 1,
                    .high = YAML_BYTES_MAX,
                    .flag_offset = offsetof(struct sim_config, pfc_static)},
    YAML_ECN_KEYS(ECN_ROW)};
TABLE(yaml_config_settings, config_rows);

#define ECN_LIST_ROW(key, ...) ROW(struct raw_ecn_row, key, #key, struct ecn_row, __VA_ARGS__)
#define TOPO_ROW(key, ...) ROW(struct raw_topology, key, #key, struct topo_request, __VA_ARGS__)
#define LINK_ROW(key, ...) ROW(struct raw_link, key, #key, struct link_row, __VA_ARGS__)
#define FLOW_ROW(key, ...) ROW(struct raw_flow, key, #key, struct flow_request, __VA_ARGS__)
#define EVENT_ROW(key, ...) ROW(struct raw_event, key, #key, struct net_event, __VA_ARGS__)
#define PATH_ROW(key, ...) ROW(struct raw_path, key, #key, struct given_path, __VA_ARGS__)
#define LOG_ROW(key, ...) ROW(struct raw_log, key, #key, struct log_request, __VA_ARGS__)
#define STRAGGLER_ROW(key, ...) ROW(struct raw_straggler, key, #key, struct straggler, __VA_ARGS__)

static const struct setting ecn_list_rows[] = {YAML_ECN_ROW_KEYS(ECN_LIST_ROW)};
static const struct setting topo_rows[] = {YAML_TOPO_KEYS(TOPO_ROW)};
static const struct setting link_rows[] = {YAML_LINK_KEYS(LINK_ROW)};
static const struct setting flow_rows[] = {YAML_FLOW_KEYS(FLOW_ROW)};
static const struct setting event_rows[] = {YAML_EVENT_KEYS(EVENT_ROW)};
static const struct setting path_rows[] = {YAML_PATH_KEYS(PATH_ROW)};
static const struct setting log_rows[] = {YAML_LOG_KEYS(LOG_ROW)};
static const struct setting straggler_rows[] = {YAML_STRAGGLER_KEYS(STRAGGLER_ROW)};
TABLE(yaml_ecn_row_settings, ecn_list_rows);
TABLE(yaml_topo_settings, topo_rows);
TABLE(yaml_link_settings, link_rows);
TABLE(yaml_flow_settings, flow_rows);
TABLE(yaml_event_settings, event_rows);
TABLE(yaml_path_settings, path_rows);
TABLE(yaml_log_settings, log_rows);
TABLE(yaml_straggler_settings, straggler_rows);

/* A rate of "none" leaves the NVLink-like switches out. */
WORDS(yaml_no_nvlink, {"none", 0});
#define ON_LINKS (~YAML_ON(YAML_TOPO_FILE))
#define ON_NVLINK YAML_ON(TOPO_RAIL)
#define TOPO_LINK(key, kind, member, hi, words, on)                                                \
    ROW(struct raw_topology, key, #key, struct topo_request, kind, spec.member, 0, hi, words, on, 0)

static const struct setting topo_link_rows[] = {
    TOPO_LINK(host_link.rate, RATE, host_link.rate_bps, YAML_RATE_MAX, NULL, ON_LINKS) TOPO_LINK(
        host_link.delay, TIME, host_link.delay_ps, YAML_SPAN_MAX, NULL,
        ON_LINKS) TOPO_LINK(host_link.error, REAL, host_link.error_rate, 1, NULL, ON_LINKS)
        TOPO_LINK(fabric_link.rate, RATE, fabric_link.rate_bps, YAML_RATE_MAX, NULL, ON_LINKS)
            TOPO_LINK(fabric_link.delay, TIME, fabric_link.delay_ps, YAML_SPAN_MAX, NULL, ON_LINKS)
                TOPO_LINK(fabric_link.error, REAL, fabric_link.error_rate, 1, NULL, ON_LINKS)
                    TOPO_LINK(nvlink.rate, RATE, nvlink.rate_bps, YAML_RATE_MAX, yaml_no_nvlink,
                              ON_NVLINK) TOPO_LINK(nvlink.delay, TIME, nvlink.delay_ps,
                                                   YAML_SPAN_MAX, NULL, ON_NVLINK)
                        TOPO_LINK(nvlink.error, REAL, nvlink.error_rate, 1, NULL, ON_NVLINK)};
TABLE(yaml_topo_link_settings, topo_link_rows);
