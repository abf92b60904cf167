/*
 * astra.h - the configuration files of ASTRA-sim 2: logical topology, communicator groups, system,
 * remote memory, and the two descriptions of a network.
 *
 * Format and what is refused: docs/formats_simai_astra.md. Structures hold what the files say;
 * strings are owned by them. Threading: pure functions on caller-owned data.
 */
#ifndef WH_ASTRA_H
#define WH_ASTRA_H

#include "scenario.h"

#include "hpcc.h"

#include <stdint.h>

#define ASTRA_DIMS_MAX 16
#define ASTRA_RANKS_MAX (UINT32_C(1) << 31)

/* Sizes of the logical dimensions; the first is the innermost: consecutive ranks. */
struct astra_logical {
    char path[512];
    uint32_t dim_count;
    uint32_t dim[ASTRA_DIMS_MAX];
    uint32_t rank_count; /* the product */
};

int astra_read_logical(const char *path, struct astra_logical *out, const struct warn_sink *sink,
                       struct err_info *e) WH_MUST_CHECK;

/* astra_default_logical - what a missing file means: one dimension of all ranks, said so. */
void astra_default_logical(uint32_t rank_count, struct astra_logical *out,
                           const struct warn_sink *sink);

struct astra_group {
    uint32_t id;                     /* > 0, as in the file */
    uint32_t rank_first, rank_count; /* row of ranks; the order is that of the ring */
};

struct astra_groups {
    char path[512];
    struct astra_group *groups; /* shape: [group_count], by rising id */
    uint32_t group_count;
    uint32_t *ranks; /* shape: [rank_total] */
    uint32_t rank_total;
};

/* astra_read_groups - @path "empty" stands for no groups. Free with astra_groups_fini. */
int astra_read_groups(const char *path, struct astra_groups *out, const struct warn_sink *sink,
                      struct err_info *e) WH_MUST_CHECK;

/*
 * astra_parse_groups - the process groups that a framework left in a trace (et_trace.groups_json).
 * A group without a list of ranks, or whose name is no positive number, is left out.
 * @name: of the trace, for messages
 */
int astra_parse_groups(const char *name, const char *json, struct astra_groups *out,
                       struct err_info *e) WH_MUST_CHECK;
void astra_groups_fini(struct astra_groups *g);

/* astra_find_group - by the pg_name of a trace; NULL if there is none of that name. */
const struct astra_group *astra_find_group(const struct astra_groups *g, const char *pg_name);

/* astra_is_all - a pg_name that means all ranks: "", or "0". */
int astra_is_all(const char *pg_name);

enum astra_scheduling { ASTRA_LIFO, ASTRA_FIFO, ASTRA_EXPLICIT };

#define ASTRA_ALGO_LIST(X)                                                                         \
    X(RING, "ring")                                                                                \
    X(DIRECT, "direct")                                                                            \
    X(TREE, "doubleBinaryTree")                                                                    \
    X(HALVING_DOUBLING, "halvingDoubling")

enum astra_algo_kind {
#define ASTRA_ALGO_ENUM(name, text) ASTRA_ALGO_##name,
    ASTRA_ALGO_LIST(ASTRA_ALGO_ENUM)
#undef ASTRA_ALGO_ENUM
        ASTRA_ALGO_COUNT
};

/* How one dimension does a collective. */
struct astra_algo {
    enum astra_algo_kind kind;
    uint8_t is_one;  /* treats all dimensions as one */
    uint32_t window; /* of direct: messages in flight; 0: no limit */
};

/* The four collectives that have an implementation. */
enum astra_coll {
    ASTRA_ALL_REDUCE,
    ASTRA_ALL_GATHER,
    ASTRA_REDUCE_SCATTER,
    ASTRA_ALL_TO_ALL,
    ASTRA_COLL_COUNT
};

struct astra_impl {
    uint32_t dim_count; /* 0: not given */
    struct astra_algo algo[ASTRA_DIMS_MAX];
    uint32_t custom_count;        /* 0: not given */
    char *custom[ASTRA_DIMS_MAX]; /* owned; prefixes of Chakra files */
};

struct astra_system {
    char path[512];
    enum astra_scheduling scheduling;
    int64_t endpoint_delay_ps;
    uint32_t active_chunks, dataset_splits; /* >= 1 */
    struct astra_impl impl[ASTRA_COLL_COUNT];
    uint8_t is_bw_aware; /* collective-optimization: localBWAware */
    uint8_t roofline;
    double local_mem_gbps; /* GB/s, 10^9; 0: not given */
    double peak_tflops;
    double local_reduction_ps, l_ps, o_ps, g_ps, big_g_ps; /* as given, in ps */
};

/* astra_read_system - keys that are missing have the values of docs/formats_simai_astra.md. Free
 * with astra_system_fini. */
int astra_read_system(const char *path, struct astra_system *out, const struct warn_sink *sink,
                      struct err_info *e) WH_MUST_CHECK;
void astra_system_fini(struct astra_system *s);

enum astra_memory_kind {
    ASTRA_MEMORY_NONE,
    ASTRA_MEMORY_PER_NODE,
    ASTRA_MEMORY_PER_NPU,
    ASTRA_MEMORY_POOL
};

struct astra_memory {
    enum astra_memory_kind kind;
    int64_t latency_ps;
    double gbps;                        /* GB/s, 10^9 */
    uint32_t node_count, npus_per_node; /* PER_NODE only */
};

int astra_read_memory(const char *path, struct astra_memory *out, const struct warn_sink *sink,
                      struct err_info *e) WH_MUST_CHECK;

enum astra_net_kind { ASTRA_NET_RING, ASTRA_NET_SWITCH, ASTRA_NET_FULLY_CONNECTED };

struct astra_net_dim {
    enum astra_net_kind kind;
    uint32_t npus;
    int64_t rate_bps; /* from GB/s of 10^9 B */
    int64_t latency_ps;
};

/* The network of the analytical backends. */
struct astra_network {
    char path[512];
    uint32_t dim_count;
    struct astra_net_dim dim[ASTRA_DIMS_MAX];
    uint32_t npu_count; /* the product */
};

int astra_read_network(const char *path, struct astra_network *out, const struct warn_sink *sink,
                       struct err_info *e) WH_MUST_CHECK;

/*
 * astra_make_topology - that network as a graph: NPUs are the hosts, every Switch group has a
 * switch of its own behind them, and each link has the rate and the latency of its dimension.
 * @hosts_forward: set to 1 if messages have to pass through NPUs (rings, several dimensions)
 * Errors: WH_ERR_INPUT (more links than can be), WH_ERR_NOMEM.
 */
int astra_make_topology(const struct astra_network *n, struct topo **out, int *hosts_forward,
                        struct err_info *e) WH_MUST_CHECK;

/* astra_read_ns3 - the configuration of the ns-3 backend, with the topology that it names. */
int astra_read_ns3(const char *path, const struct hpcc_override *overrides, uint32_t override_count,
                   struct scenario *sc, const struct warn_sink *sink,
                   struct err_info *e) WH_MUST_CHECK;

/* The numbers of ranks of a run. */
struct astra_ranks {
    uint32_t trace_count; /* files <prefix>.<rank>.et */
    uint32_t network_hosts;
    const char *prefix;
    const struct astra_logical *logical;
    const struct astra_groups *groups; /* NULL: none */
};

/* astra_check_ranks - all numbers have to agree, groups may be smaller; the message has all four.
 */
int astra_check_ranks(const struct astra_ranks *r, struct err_info *e) WH_MUST_CHECK;

struct et_set;

/* astra_check_groups - every pg_name of a trace is a group of the file that has the rank in it. */
int astra_check_groups(const struct et_set *traces, const struct astra_groups *g,
                       struct err_info *e) WH_MUST_CHECK;

/* astra_check_system - implementations against the logical dimensions. */
int astra_check_system(const struct astra_system *s, const struct astra_logical *l,
                       struct err_info *e) WH_MUST_CHECK;

#endif
