/*
 * yaml_schema.h - the scenario file's schema: the keys of every section, as text (struct raw_*,
 * what libcyaml fills in) and as settings (tables of yaml_setting.h, what turns text into values
 * and back).
 *
 * A key is written once, in a list below; the text member, libcyaml's field and the setting are
 * made from it. docs/scenario.md describes the keys for users.
 */
#ifndef WH_YAML_SCHEMA_H
#define WH_YAML_SCHEMA_H

#include "flowgen.h"
#include "scenario.h"
#include "topogen.h"
#include "yaml_setting.h"
#include "yaml_workload.h"

#include <cyaml/cyaml.h>

#define YAML_RATE_MAX 1e15
#define YAML_ABOVE_0 1e-9 /* ratios that must not be 0 */
#define YAML_BYTES_MAX 0x1p40
#define YAML_SPAN_MAX 1e18 /* ps: intervals and timers */
#define YAML_TIME_MAX 0x1p62
#define YAML_COUNT_MAX 2147483647.0
#define YAML_NODE_MAX 1073741823.0
#define YAML_PAYLOAD_MAX 0x1p62 /* bytes of a flow */

/* Settings of struct sim_config: X(key, type, field, low, high, words). */
#define YAML_RUN_KEYS(X)                                                                           \
    X(seed, SEED, seed, 0, 0, NULL)                                                                \
    X(end, TIME, end_ps, 0, YAML_TIME_MAX, yaml_never)                                             \
    X(rounding, WORD, round_ps, 0, 0, yaml_rounding)                                               \
    X(order, WORD, order, 0, 0, yaml_orders)

#define YAML_HOST_KEYS(X)                                                                          \
    X(payload, BYTES, payload_bytes, 1, 65000, NULL)                                               \
    X(header, BYTES, header_bytes, 0, 65535, NULL)                                                 \
    X(ack_size, BYTES, ack_bytes, 1, 65535, NULL)                                                  \
    X(pause_size, BYTES, pfc_bytes, 1, 65535, NULL)                                                \
    X(window, WORD, has_window, 0, 0, yaml_switch)                                                 \
    X(window_scope, WORD, window_global, 0, 0, yaml_scopes)                                        \
    X(window_variable, WORD, window_variable, 0, 0, yaml_switch)                                   \
    X(rate_bound, WORD, rate_bound, 0, 0, yaml_switch)                                             \
    X(reuse_sport, WORD, reuse_sport, 0, 0, yaml_switch)                                           \
    X(ack, WORD, ack, 0, 0, yaml_ack_modes)                                                        \
    X(ack_every, COUNT, ack_every_packets, 1, YAML_COUNT_MAX, NULL)                                \
    X(ack_interval, BYTES, ack_interval_bytes, 0, YAML_COUNT_MAX, NULL)                            \
    X(chunk, BYTES, chunk_bytes, 1, YAML_COUNT_MAX, NULL)                                          \
    X(recovery, WORD, recovery, 0, 0, yaml_recovery_modes)                                         \
    X(nack_interval, TIME, nack_interval_ps, 0, YAML_SPAN_MAX, NULL)                               \
    X(rto_retries, COUNT, rto_retries_max, 0, 1000000, NULL)                                       \
    X(cnp_interval, TIME, cnp_interval_ps, 0, YAML_SPAN_MAX, NULL)

#define YAML_CC_KEYS(X)                                                                            \
    X(kind, WORD, cc, 0, 0, yaml_cc_kinds)                                                         \
    X(min_rate, RATE, min_rate_bps, 1, YAML_RATE_MAX, NULL)                                        \
    X(fixed_rate, RATE, fixed_rate_bps, 1, YAML_RATE_MAX, yaml_line_rate)

#define YAML_DCQCN_KEYS(X)                                                                         \
    X(alpha_resume, TIME, dcqcn.alpha_resume_ps, 1, YAML_SPAN_MAX, NULL)                           \
    X(decrease_interval, TIME, dcqcn.decrease_interval_ps, 1, YAML_SPAN_MAX, NULL)                 \
    X(increase_timer, TIME, dcqcn.increase_timer_ps, 1, YAML_SPAN_MAX, NULL)                       \
    X(gain, REAL, dcqcn.gain, YAML_ABOVE_0, 1, NULL)                                               \
    X(fast_recovery, COUNT, dcqcn.fast_recovery, 0, 1000000, NULL)                                 \
    X(ai, RATE, dcqcn.ai_bps, 0, YAML_RATE_MAX, NULL)                                              \
    X(hai, RATE, dcqcn.hai_bps, 0, YAML_RATE_MAX, NULL)                                            \
    X(clamp_target, WORD, dcqcn.clamp_target, 0, 0, yaml_switch)

#define YAML_HPCC_KEYS(X)                                                                          \
    X(target_util, REAL, hpcc.target_util, YAML_ABOVE_0, 1, NULL)                                  \
    X(mi_thresh, COUNT, hpcc.mi_thresh, 0, 1000000, NULL)                                          \
    X(ai, RATE, hpcc.ai_bps, 0, YAML_RATE_MAX, NULL)                                               \
    X(fast_react, WORD, hpcc.fast_react, 0, 0, yaml_switch)                                        \
    X(multi_rate, WORD, hpcc.multi_rate, 0, 0, yaml_switch)                                        \
    X(sample_feedback, WORD, hpcc.sample_feedback, 0, 0, yaml_switch)

#define YAML_TIMELY_KEYS(X)                                                                        \
    X(ai, RATE, timely.ai_bps, 0, YAML_RATE_MAX, NULL)                                             \
    X(hai, RATE, timely.hai_bps, 0, YAML_RATE_MAX, NULL)                                           \
    X(alpha, REAL, timely.alpha, 0, 1, NULL)                                                       \
    X(beta, REAL, timely.beta, 0, 1, NULL)                                                         \
    X(tlow, TIME, timely.tlow_ps, 0, YAML_SPAN_MAX, NULL)                                          \
    X(thigh, TIME, timely.thigh_ps, 0, YAML_SPAN_MAX, NULL)                                        \
    X(min_rtt, TIME, timely.min_rtt_ps, 1, YAML_SPAN_MAX, NULL)

#define YAML_DCTCP_KEYS(X)                                                                         \
    X(gain, REAL, dctcp.gain, YAML_ABOVE_0, 1, NULL)                                               \
    X(ai, RATE, dctcp.ai_bps, 0, YAML_RATE_MAX, NULL)

#define YAML_SWIFT_KEYS(X)                                                                         \
    X(base_target, TIME, swift.base_target_ps, 1, YAML_SPAN_MAX, NULL)                             \
    X(per_hop, TIME, swift.per_hop_ps, 0, YAML_SPAN_MAX, NULL)                                     \
    X(ai_packets, REAL, swift.ai_packets, YAML_ABOVE_0, 1e9, NULL)                                 \
    X(beta, REAL, swift.beta, YAML_ABOVE_0, 1, NULL)                                               \
    X(max_mdf, REAL, swift.max_mdf, YAML_ABOVE_0, 1, NULL)                                         \
    X(flow_scaling, TIME, swift.flow_scaling_ps, 1, YAML_SPAN_MAX, yaml_off)                       \
    X(fs_min_cwnd, REAL, swift.fs_min_cwnd, YAML_ABOVE_0, 1e9, NULL)                               \
    X(fs_max_cwnd, REAL, swift.fs_max_cwnd, YAML_ABOVE_0, 1e9, NULL)                               \
    X(min_cwnd, REAL, swift.min_cwnd, YAML_ABOVE_0, 1e9, NULL)                                     \
    X(max_cwnd, REAL, swift.max_cwnd, 0, 1e9, NULL)

#define YAML_INT_KEYS(X)                                                                           \
    X(hops_max, COUNT, int_hops_max, 1, 64, NULL)                                                  \
    X(multi, COUNT, int_multi, 1, 1000, NULL)                                                      \
    X(reset_idle, WORD, int_reset_idle, 0, 0, yaml_switch)

#define YAML_ROUTING_KEYS(X)                                                                       \
    X(mode, WORD, routing, 0, 0, yaml_routing_modes)                                               \
    X(spray_paths, COUNT, spray_paths, 1, 64, NULL)                                                \
    X(hosts_forward, WORD, hosts_forward, 0, 0, yaml_switch)

#define YAML_SWITCH_KEYS(X)                                                                        \
    X(buffer, BYTES, buffer_bytes, 1, YAML_BYTES_MAX, yaml_unlimited)                              \
    X(scheduling, WORD, sched, 0, 0, yaml_sched_modes)

#define YAML_PFC_KEYS(X)                                                                           \
    X(enabled, WORD, pfc, 0, 0, yaml_switch)                                                       \
    X(headroom, BYTES, pfc_headroom_bytes, 0, YAML_BYTES_MAX, yaml_headrooms)                      \
    X(reserve, BYTES, pfc_reserve_bytes, 0, YAML_COUNT_MAX, NULL)                                  \
    X(resume_offset, BYTES, pfc_resume_offset_bytes, 0, YAML_COUNT_MAX, NULL)                      \
    X(alpha_shift, COUNT, pfc_alpha_shift, 0, 30, NULL)

#define YAML_ECN_KEYS(X)                                                                           \
    X(enabled, WORD, ecn, 0, 0, yaml_switch)                                                       \
    X(strict, WORD, ecn_strict, 0, 0, yaml_switch)

/* Settings of objects: X(key, type, field, low, high, words, mask, need). */
#define YAML_ECN_ROW_KEYS(X)                                                                       \
    X(rate, RATE, rate_bps, 1, YAML_RATE_MAX, NULL, 0, 1)                                          \
    X(kmin, BYTES, kmin_bytes, 0, YAML_BYTES_MAX, NULL, 0, 1)                                      \
    X(kmax, BYTES, kmax_bytes, 0, YAML_BYTES_MAX, NULL, 0, 1)                                      \
    X(pmax, REAL, pmax, 0, 1, NULL, 0, 1)

#define YAML_CLASS_KEYS(X, base)                                                                   \
    X(rate, RATE, base rate_bps, 1, YAML_RATE_MAX, NULL, 0, 0)                                     \
    X(delay, TIME, base delay_ps, 0, YAML_SPAN_MAX, NULL, 0, 0)                                    \
    X(error, REAL, base error_rate, 0, 1, NULL, 0, 0)

/* struct link_row: a link, or what is different about one. */
#define YAML_LINK_KEYS(X)                                                                          \
    X(a, COUNT, a, 0, YAML_NODE_MAX, NULL, 0, 1)                                                   \
    X(b, COUNT, b, 0, YAML_NODE_MAX, NULL, 0, 1)                                                   \
    YAML_CLASS_KEYS(X, link_class.)

struct link_row {
    uint32_t a, b;
    struct link_class link_class;
};

/* struct topo_request. Bits of masks: enum topo_kind and the two below. */
#define YAML_TOPO_GRAPH TOPO_KIND_COUNT
#define YAML_TOPO_FILE (TOPO_KIND_COUNT + 1)
#define YAML_ON(kind) (1u << (kind))
#define YAML_ON_HOSTS                                                                              \
    (YAML_ON(TOPO_SINGLE_SWITCH) | YAML_ON(TOPO_DUMBBELL) | YAML_ON(TOPO_LEAF_SPINE) |             \
     YAML_ON(TOPO_RAIL) | YAML_ON(YAML_TOPO_GRAPH))
#define YAML_ON_SPINES (YAML_ON(TOPO_LEAF_SPINE) | YAML_ON(TOPO_RAIL))
#define YAML_ON_LEAF_HOSTS (YAML_ON(TOPO_LEAF_SPINE) | YAML_ON(TOPO_CLOS3))

#define YAML_TOPO_KEYS(X)                                                                          \
    X(hosts, COUNT, spec.hosts, 1, YAML_NODE_MAX, NULL, YAML_ON_HOSTS, YAML_ON(YAML_TOPO_GRAPH))   \
    X(switches, COUNT, switches, 0, YAML_NODE_MAX, NULL, YAML_ON(YAML_TOPO_GRAPH), 0)              \
    X(k, COUNT, spec.k, 2, 1024, NULL, YAML_ON(TOPO_FAT_TREE), 0)                                  \
    X(leaves, COUNT, spec.leaves, 1, YAML_NODE_MAX, NULL, YAML_ON(TOPO_LEAF_SPINE), 0)             \
    X(spines, COUNT, spec.spines, 1, YAML_NODE_MAX, NULL, YAML_ON_SPINES, 0)                       \
    X(hosts_per_leaf, COUNT, spec.hosts_per_leaf, 1, YAML_NODE_MAX, NULL, YAML_ON_LEAF_HOSTS, 0)   \
    X(uplinks_per_spine, COUNT, spec.uplinks_per_spine, 1, YAML_NODE_MAX, NULL, YAML_ON_SPINES, 0) \
    X(cross_links, COUNT, spec.cross_links, 1, YAML_NODE_MAX, NULL, YAML_ON(TOPO_DUMBBELL), 0)     \
    X(pods, COUNT, spec.pods, 1, YAML_NODE_MAX, NULL, YAML_ON(TOPO_CLOS3), 0)                      \
    X(leaves_per_pod, COUNT, spec.leaves_per_pod, 1, YAML_NODE_MAX, NULL, YAML_ON(TOPO_CLOS3), 0)  \
    X(aggs_per_pod, COUNT, spec.aggs_per_pod, 1, YAML_NODE_MAX, NULL, YAML_ON(TOPO_CLOS3), 0)      \
    X(cores, COUNT, spec.cores, 1, YAML_NODE_MAX, NULL, YAML_ON(TOPO_CLOS3), 0)                    \
    X(gpus_per_server, COUNT, spec.gpus_per_server, 1, YAML_NODE_MAX, NULL, YAML_ON(TOPO_RAIL), 0) \
    X(servers_per_segment, COUNT, spec.servers_per_segment, 1, YAML_NODE_MAX, NULL,                \
      YAML_ON(TOPO_RAIL), 0)                                                                       \
    X(nvswitches_per_server, COUNT, spec.nvswitches_per_server, 1, YAML_NODE_MAX, NULL,            \
      YAML_ON(TOPO_RAIL), 0)                                                                       \
    X(groups, COUNT, spec.groups, 1, YAML_NODE_MAX, NULL, YAML_ON(TOPO_DRAGONFLY), 0)              \
    X(group_switches, COUNT, spec.group_switches, 1, YAML_NODE_MAX, NULL, YAML_ON(TOPO_DRAGONFLY), \
      0)                                                                                           \
    X(hosts_per_switch, COUNT, spec.hosts_per_switch, 1, YAML_NODE_MAX, NULL,                      \
      YAML_ON(TOPO_DRAGONFLY), 0)                                                                  \
    X(global_links, COUNT, spec.global_links, 0, YAML_NODE_MAX, NULL, YAML_ON(TOPO_DRAGONFLY), 0)

struct topo_request {
    struct topo_spec spec;
    uint32_t switches; /* graph: nodes that are no hosts */
    unsigned kind;     /* enum topo_kind or one of the two above */
};

/* struct flow_request. Bits of masks: enum flow_pattern. */
#define YAML_ON_FIXED (YAML_ON_ROUNDS & ~YAML_ON(FLOWS_SINGLE))
#define YAML_ON_ROUNDS                                                                             \
    (YAML_ON(FLOWS_SINGLE) | YAML_ON(FLOWS_INCAST) | YAML_ON(FLOWS_PERMUTATION) |                  \
     YAML_ON(FLOWS_RING) | YAML_ON(FLOWS_ALL_TO_ALL))
#define YAML_ON_DST (YAML_ON(FLOWS_SINGLE) | YAML_ON(FLOWS_INCAST))

#define YAML_FLOW_KEYS(X)                                                                          \
    X(bytes, BYTES, bytes, 0, YAML_PAYLOAD_MAX, NULL, 0, YAML_ON_ROUNDS)                           \
    X(start, TIME, start_ps, 0, YAML_TIME_MAX, NULL, 0, 0)                                         \
    X(stagger, TIME, stagger_ps, 0, YAML_SPAN_MAX, NULL, YAML_ON_ROUNDS, 0)                        \
    X(jitter, TIME, jitter_ps, 0, YAML_SPAN_MAX, NULL, YAML_ON_ROUNDS, 0)                          \
    X(src, COUNT, src, 0, YAML_NODE_MAX, NULL, YAML_ON(FLOWS_SINGLE), YAML_ON(FLOWS_SINGLE))       \
    X(dst, COUNT, dst, 0, YAML_NODE_MAX, NULL, YAML_ON_DST, YAML_ON_DST)                           \
    X(fan_in, COUNT, fan_in, 1, YAML_NODE_MAX, yaml_all, YAML_ON(FLOWS_INCAST), 0)                 \
    X(repeat, COUNT, repeat, 1, YAML_COUNT_MAX, NULL, YAML_ON_ROUNDS, 0)                           \
    X(load, REAL, load, 0, 1, NULL, YAML_ON(FLOWS_POISSON), YAML_ON(FLOWS_POISSON))                \
    X(duration, TIME, duration_ps, 1, YAML_SPAN_MAX, NULL, YAML_ON(FLOWS_POISSON),                 \
      YAML_ON(FLOWS_POISSON))                                                                      \
    X(flows_max, COUNT, flow_count_max, 1, YAML_COUNT_MAX, yaml_unlimited, YAML_ON(FLOWS_POISSON), \
      0)                                                                                           \
    X(priority, COUNT, prio, 0, 7, NULL, 0, 0)                                                     \
    X(dport, COUNT, dport, 0, 65535, NULL, 0, 0)                                                   \
    X(sport, COUNT, sport, 1, 65535, yaml_assigned, 0, 0)

#define YAML_EVENT_KEYS(X)                                                                         \
    X(at, TIME, time_ps, 0, YAML_TIME_MAX, NULL, 0, 1)                                             \
    X(state, WORD, kind, 0, 0, yaml_link_states, 0, 1)

#define YAML_STRAGGLER_KEYS(X)                                                                     \
    X(host, COUNT, host, 0, YAML_NODE_MAX, NULL, 0, 1)                                             \
    X(factor, REAL, factor, 1e-6, 1, NULL, 0, 0)                                                   \
    X(delay, TIME, delay_ps, 0, YAML_SPAN_MAX, NULL, 0, 0)

/* struct given_path */
#define YAML_PATH_KEYS(X)                                                                          \
    X(flow, COUNT, flow_id, 0, YAML_NODE_MAX, NULL, 0, 1)                                          \
    X(ack, WORD, is_ack, 0, 0, yaml_switch, 0, 0)

/* struct log_request; bits of masks: enum log_kind */
#define YAML_ON_SAMPLED                                                                            \
    (YAML_ON(LOG_QUEUE) | YAML_ON(LOG_RATE) | YAML_ON(LOG_LINK) | YAML_ON(LOG_QLEN_HPCC))
#define YAML_LOG_KEYS(X)                                                                           \
    X(interval, TIME, interval_ps, 1, YAML_SPAN_MAX, NULL, YAML_ON_SAMPLED, 0)                     \
    X(from, TIME, from_ps, 0, YAML_TIME_MAX, NULL, 0, 0)                                           \
    X(to, TIME, to_ps, 0, YAML_TIME_MAX, yaml_never, 0, 0)                                         \
    X(cap, BYTES, cap_bytes, 1, 0x1p62, yaml_default, 0, 0)

/* What libcyaml fills in: all values as text, NULL if not given. */
#define YAML_MEMBER(key, ...) char *key;

struct raw_class {
    YAML_CLASS_KEYS(YAML_MEMBER, )
};
struct raw_topology {
    char *kind, *file;
    YAML_TOPO_KEYS(YAML_MEMBER)
    struct raw_class host_link, fabric_link, nvlink;
    char **dims, **switch_ids, **nvswitch_ids;
    uint32_t dims_count, switch_ids_count, nvswitch_ids_count;
};
struct raw_link {
    YAML_LINK_KEYS(YAML_MEMBER)
};
struct raw_host {
    YAML_HOST_KEYS(YAML_MEMBER)
    char *rto;
};
struct raw_ecn_row {
    YAML_ECN_ROW_KEYS(YAML_MEMBER)
};
struct raw_pfc {
    YAML_PFC_KEYS(YAML_MEMBER)
    char *static_threshold;
};
struct raw_ecn {
    YAML_ECN_KEYS(YAML_MEMBER)
    struct raw_ecn_row *thresholds;
    uint32_t thresholds_count;
};
struct raw_switch {
    YAML_SWITCH_KEYS(YAML_MEMBER)
    struct raw_pfc pfc;
    struct raw_ecn ecn;
};
struct raw_dcqcn {
    YAML_DCQCN_KEYS(YAML_MEMBER)
};
struct raw_hpcc {
    YAML_HPCC_KEYS(YAML_MEMBER)
};
struct raw_timely {
    YAML_TIMELY_KEYS(YAML_MEMBER)
};
struct raw_dctcp {
    YAML_DCTCP_KEYS(YAML_MEMBER)
};
struct raw_swift {
    YAML_SWIFT_KEYS(YAML_MEMBER)
};
struct raw_cc {
    YAML_CC_KEYS(YAML_MEMBER)
    struct raw_dcqcn dcqcn;
    struct raw_hpcc hpcc;
    struct raw_timely timely;
    struct raw_dctcp dctcp;
    struct raw_swift swift;
};
struct raw_int {
    YAML_INT_KEYS(YAML_MEMBER)
};
struct raw_routing {
    YAML_ROUTING_KEYS(YAML_MEMBER)
};
struct raw_flow {
    char *file, *pattern, *sizes, *seed;
    YAML_FLOW_KEYS(YAML_MEMBER)
};
struct raw_path {
    char *file;
    YAML_PATH_KEYS(YAML_MEMBER)
    char **nodes;
    uint32_t nodes_count;
};
struct raw_event {
    YAML_EVENT_KEYS(YAML_MEMBER)
    char **link;
    uint32_t link_count;
};
struct raw_straggler {
    YAML_STRAGGLER_KEYS(YAML_MEMBER)
};
struct raw_log {
    char *file;
    YAML_LOG_KEYS(YAML_MEMBER)
    char **nodes, **flows;
    uint32_t nodes_count, flows_count;
};
struct raw_logs {
    char *fct;
    struct raw_log kind[LOG_KIND_COUNT];
};

struct raw_scenario {
    char *name;
    YAML_RUN_KEYS(YAML_MEMBER)
    struct raw_topology topology;
    struct raw_link *links;
    struct raw_host host;
    struct raw_switch switches;
    struct raw_cc cc;
    struct raw_int int_section;
    struct raw_routing routing;
    struct raw_workload workload;
    struct raw_flow *flows;
    struct raw_path *paths;
    struct raw_event *events;
    struct raw_straggler *stragglers;
    struct raw_logs logs;
    uint32_t links_count, flows_count, paths_count, events_count, stragglers_count;
};

/* yaml_schema - for a pointer to struct raw_scenario. */
extern const cyaml_schema_value_t yaml_schema;

/* The tables. config: of struct sim_config, raw texts in struct raw_scenario; all but the lists. */
extern const struct settings yaml_config_settings, yaml_ecn_row_settings, yaml_topo_settings,
    yaml_link_settings, yaml_flow_settings, yaml_event_settings, yaml_straggler_settings,
    yaml_path_settings, yaml_log_settings;

/* Keys of struct topo_request below "host_link", "fabric_link" and "nvlink". */
extern const struct settings yaml_topo_link_settings;

/* Sections of logs, by enum log_kind: "queue", "pfc", ... */
extern const char *const yaml_log_names[LOG_KIND_COUNT];

#endif
