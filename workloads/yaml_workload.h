/*
 * yaml_workload.h - the section "workload" of a scenario file: keys of struct llm_spec, each
 * written once, as in yaml_schema.h. docs/workloads.md describes them for users.
 */
#ifndef WH_YAML_WORKLOAD_H
#define WH_YAML_WORKLOAD_H

#include "llm.h"
#include "yaml_setting.h"

#include <cyaml/cyaml.h>

#define YAML_WL_COUNT_MAX 1000000.0
#define YAML_WL_SIZE_MAX 1073741823.0

/* X(key, type, field, low, high, words), one list per section. */
#define YAML_WL_MODEL_KEYS(X)                                                                      \
    X(family, WORD, family, 0, 0, yaml_wl_families)                                                \
    X(layers, COUNT, layers, 1, 100000, NULL)                                                      \
    X(hidden, COUNT, hidden, 1, YAML_WL_COUNT_MAX, NULL)                                           \
    X(heads, COUNT, heads, 1, 100000, NULL)                                                        \
    X(kv_heads, COUNT, kv_heads, 1, 100000, NULL)                                                  \
    X(ffn, COUNT, ffn, 1, YAML_WL_COUNT_MAX, NULL)                                                 \
    X(sequence, COUNT, sequence, 1, YAML_WL_SIZE_MAX, NULL)                                        \
    X(vocabulary, COUNT, vocabulary, 1, YAML_WL_SIZE_MAX, NULL)                                    \
    X(experts, COUNT, experts, 1, 100000, yaml_wl_dense)                                           \
    X(top_k, COUNT, top_k, 1, 100000, yaml_wl_dense)

#define YAML_WL_PRECISION_KEYS(X)                                                                  \
    X(activations, BYTES, activation_bytes, 1, 16, NULL)                                           \
    X(parameters, BYTES, parameter_bytes, 1, 16, NULL)                                             \
    X(gradients, BYTES, gradient_bytes, 1, 16, NULL)

#define YAML_WL_PARALLEL_KEYS(X)                                                                   \
    X(tp, COUNT, tp, 1, 65536, NULL)                                                               \
    X(sequence_parallel, WORD, sequence_parallel, 0, 0, yaml_wl_switch)                            \
    X(regather, WORD, regather, 0, 0, yaml_wl_switch)                                              \
    X(cp, COUNT, cp, 1, 65536, NULL)                                                               \
    X(ep, COUNT, ep, 1, 65536, NULL)                                                               \
    X(pp, COUNT, pp, 1, 65536, NULL)                                                               \
    X(virtual_stages, COUNT, virtual_stages, 1, 65536, NULL)                                       \
    X(scatter_gather, WORD, scatter_gather, 0, 0, yaml_wl_switch)                                  \
    X(dp, COUNT, dp, 1, 1048576, NULL)                                                             \
    X(zero, COUNT, zero, 0, 3, NULL)                                                               \
    X(bucket, COUNT, bucket_params, 1, 1e15, yaml_wl_buckets)                                      \
    X(overlap_gradients, WORD, overlap_gradients, 0, 0, yaml_wl_switch)                            \
    X(overlap_parameters, WORD, overlap_parameters, 0, 0, yaml_wl_switch)                          \
    X(gather_every_micro_batch, WORD, gather_every_micro_batch, 0, 0, yaml_wl_switch)

#define YAML_WL_BATCH_KEYS(X)                                                                      \
    X(micro, COUNT, micro_batch, 1, 65536, NULL)                                                   \
    X(global, COUNT, global_batch, 1, YAML_WL_SIZE_MAX, NULL)

#define YAML_WL_COMPUTE_KEYS(X)                                                                    \
    X(peak_tflops, REAL, peak_tflops, 1e-6, 1e9, NULL)                                             \
    X(efficiency, REAL, efficiency, 1e-6, 1, NULL)                                                 \
    X(recompute, WORD, recompute, 0, 0, yaml_wl_recompute)                                         \
    X(optimizer, TIME, optimizer_ps, 0, 1e15, NULL)

#define YAML_WL_NETWORK_KEYS(X)                                                                    \
    X(simulate_tp, WORD, simulate_tp, 0, 0, yaml_wl_switch)                                        \
    X(small_terms, WORD, small_terms, 0, 0, yaml_wl_switch)                                        \
    X(placement, WORD, place, 0, 0, yaml_wl_places)                                                \
    X(gpus_per_server, COUNT, gpus_per_server, 1, 65536, yaml_wl_by_nvlink)                        \
    X(ring_order, WORD, ring_order, 0, 0, yaml_wl_ring_orders)                                     \
    X(channels, COUNT, channels, 1, COLL_CHANNELS_MAX, NULL)                                       \
    X(dp_algorithm, WORD, dp_algo, 0, 0, yaml_wl_algos)                                            \
    X(tp_algorithm, WORD, tp_algo, 0, 0, yaml_wl_algos)                                            \
    X(ep_algorithm, WORD, ep_algo, 0, 0, yaml_wl_algos)

#define YAML_WL_KEYS(X)                                                                            \
    X(iterations, COUNT, iterations, 1, YAML_WL_COUNT_MAX, NULL)                                   \
    X(seed, SEED, seed, 0, 0, NULL)                                                                \
    X(compute_jitter, REAL, compute_jitter, 0, 0.999, NULL)                                        \
    X(expert_skew, REAL, expert_skew, 0, 10, NULL)

#define YAML_WL_MEMBER(key, ...) char *key;

struct raw_workload {
    YAML_WL_KEYS(YAML_WL_MEMBER)
    struct {
        YAML_WL_MODEL_KEYS(YAML_WL_MEMBER)
    } model;
    struct {
        YAML_WL_PRECISION_KEYS(YAML_WL_MEMBER)
    } precision;
    struct {
        YAML_WL_PARALLEL_KEYS(YAML_WL_MEMBER)
    } parallel;
    struct {
        YAML_WL_BATCH_KEYS(YAML_WL_MEMBER)
    } batch;
    struct {
        YAML_WL_COMPUTE_KEYS(YAML_WL_MEMBER)
    } compute;
    struct {
        YAML_WL_NETWORK_KEYS(YAML_WL_MEMBER)
    } network;
};

/* The fields of a mapping for struct raw_workload; a table from it to struct llm_spec. */
extern const cyaml_schema_field_t yaml_workload_fields[];
extern const struct settings yaml_workload_settings;

#endif
