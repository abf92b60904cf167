/*
 * simai.h - files of SimAI: workload tables, topologies, configurations.
 *
 * Format, meaning and what is refused: docs/formats_simai_astra.md. The readers produce plain
 * structures; nothing here runs a workload. Threading: pure functions on caller-owned data.
 */
#ifndef WH_SIMAI_H
#define WH_SIMAI_H

#include "hpcc.h"

/* Name in the file, in the order of the enum. */
#define SIMAI_POLICY_LIST(X)                                                                       \
    X(DATA)                                                                                        \
    X(MODEL)                                                                                       \
    X(MICRO)                                                                                       \
    X(HYBRID_TRANSFORMER)                                                                          \
    X(HYBRID_TRANSFORMER_FWD_IN_BCKWD)                                                             \
    X(HYBRID_DLRM)                                                                                 \
    X(HYBRID_DLRM_ENHANCED)                                                                        \
    X(HYBRID_DATA_MODEL)                                                                           \
    X(HYBRID_MODEL_DATA)                                                                           \
    X(HYBRID_CUSTOMIZED)                                                                           \
    X(DISTRIBUTED_INFERENCE)

enum simai_policy {
#define SIMAI_POLICY_ENUM(name) SIMAI_POLICY_##name,
    SIMAI_POLICY_LIST(SIMAI_POLICY_ENUM)
#undef SIMAI_POLICY_ENUM
        SIMAI_POLICY_COUNT
};

#define SIMAI_COMM_LIST(X)                                                                         \
    X(NONE)                                                                                        \
    X(ALLREDUCE)                                                                                   \
    X(ALLGATHER)                                                                                   \
    X(REDUCESCATTER)                                                                               \
    X(ALLTOALL)                                                                                    \
    X(ALLREDUCEALLTOALL)

enum simai_comm {
#define SIMAI_COMM_ENUM(name) SIMAI_COMM_##name,
    SIMAI_COMM_LIST(SIMAI_COMM_ENUM)
#undef SIMAI_COMM_ENUM
        SIMAI_COMM_COUNT
};

/* Who takes part in a collective. */
enum simai_scope { SIMAI_TP, SIMAI_DP, SIMAI_EP, SIMAI_DP_EP, SIMAI_ALL };

/* The three passes of a layer: forward, gradient of the input, gradient of the weights. */
enum simai_pass_kind { SIMAI_FWD, SIMAI_IG, SIMAI_WG, SIMAI_PASS_COUNT };

struct simai_pass {
    int64_t compute_ns, comm_bytes; /* >= 0; bytes: the whole buffer, as nccl-tests counts it */
    enum simai_comm comm;
    enum simai_scope scope; /* named by the suffix, else given by the column */
};

struct simai_layer {
    char *name;  /* owned; names repeat */
    long line;   /* of the file */
    int32_t dep; /* -1 or a layer */
    struct simai_pass pass[SIMAI_PASS_COUNT];
    int64_t update_ns;         /* after the collective of the weight gradient */
    enum simai_policy policy;  /* of this layer: HYBRID_CUSTOMIZED has a column for it */
    uint8_t is_checkpoint;     /* its activations are kept */
    uint8_t starts_checkpoint; /* recomputation begins here */
};

struct simai_workload {
    char path[512];
    enum simai_policy policy;
    uint32_t tp, ep, pp, vpp, ga; /* >= 1 */
    uint32_t rank_count;          /* all_gpus; 0 until simai_workload_fit if the file has none */
    int64_t pp_comm_bytes;
    struct simai_layer *layers; /* shape: [layer_count], owned */
    uint32_t layer_count;
};

/*
 * simai_read_workload - reads and checks a workload table.
 * Errors: WH_ERR_INPUT (columns, numbers, names, counts that do not hold, groups that do not
 * divide the ranks), WH_ERR_IO, WH_ERR_NOMEM.
 */
int simai_read_workload(const char *path, struct simai_workload **out, const struct warn_sink *sink,
                        struct err_info *e) WH_MUST_CHECK;
void simai_workload_destroy(struct simai_workload *w); /* NULL is accepted */

/*
 * simai_workload_fit - compares the ranks with the GPUs of the network; a table that names no
 * number of ranks (MICRO) gets all GPUs. Afterwards the groups below are defined.
 */
int simai_workload_fit(struct simai_workload *w, uint32_t gpu_count,
                       struct err_info *e) WH_MUST_CHECK;

const char *simai_policy_name(enum simai_policy p);
const char *simai_comm_name(enum simai_comm c);
const char *simai_scope_name(enum simai_scope s); /* "TP", "DP", "EP", "DP_EP", "all" */

/*
 * Groups. Every scope splits the ranks 0..rank_count-1 into groups of one size, numbered from 0;
 * members stand in rising order.
 * @i: 0..simai_group_size-1
 */
uint32_t simai_group_size(const struct simai_workload *w, enum simai_scope s);
uint32_t simai_group_id(const struct simai_workload *w, enum simai_scope s, uint32_t rank);
uint32_t simai_group_member(const struct simai_workload *w, enum simai_scope s, uint32_t group,
                            uint32_t i);

struct simai_topology {
    struct topo *topo; /* owned, finished; GPUs are the hosts 0..gpu_count-1 */
    uint32_t gpu_count, gpus_per_server, nvswitch_count;
    char gpu_type[32]; /* A100 A800 H100 H800 NONE, or what the file says */
};

/* simai_read_topology - *out is filled in on success; free out->topo with topo_destroy. */
int simai_read_topology(const char *path, struct simai_topology *out, const struct warn_sink *sink,
                        struct err_info *e) WH_MUST_CHECK;

/* Where the outputs of a configuration go, and what the command line says. */
struct simai_conf_options {
    const char *output_dir; /* NULL: where the file says; else replaces every folder */
    const struct hpcc_override *overrides; /* shape: [override_count] */
    uint32_t override_count;
};

/*
 * simai_read_conf - a SimAI.conf for the network in sc->topo, which the caller has set. Every
 * output is in a folder that exists and can be written, or the key that names it is refused.
 */
int simai_read_conf(const char *path, const struct simai_conf_options *options, struct scenario *sc,
                    const struct warn_sink *sink, struct err_info *e) WH_MUST_CHECK;

#endif
