/*
 * hpcc_int.h - what the readers of the HPCC formats share. For workloads/ and its tests only.
 */
#ifndef WH_HPCC_INT_H
#define WH_HPCC_INT_H

#include "hpcc.h"

#include "textfile.h"

#define HPCC_PATH_BYTES 512

/*
 * Whose configuration it is. The tools that make their traffic themselves (all but the plain one)
 * use the same keys, but no FLOW_FILE; SimAI has monitor files of its own.
 */
enum hpcc_dialect { HPCC_PLAIN, HPCC_ASTRA, HPCC_SIMAI };

/* What a configuration says about all links of a topology. */
struct hpcc_link_rules {
    int64_t round_ps; /* delays are cut to multiples of this as by the reference's clock; 1: kept */
    double error_rate; /* of links whose own error rate is 0 */
};

/* What the header of a SimAI topology holds besides the numbers of nodes, switches and links. */
struct hpcc_servers {
    uint32_t gpus_per_server, nvswitch_count;
    char gpu_type[32];
};

/*
 * hpcc__read_topology - a topology file with the header of HPCC, or of SimAI.
 * @servers: NULL: HPCC's header; else filled in from SimAI's
 */
int hpcc__read_topology(const char *path, const struct hpcc_link_rules *rules,
                        struct hpcc_servers *servers, struct topo **out,
                        const struct warn_sink *sink, struct err_info *e) WH_MUST_CHECK;
int hpcc__read_nodes(const char *path, const struct topo *topo, struct scenario *sc,
                     const struct warn_sink *sink, struct err_info *e) WH_MUST_CHECK;

/* hpcc__read_count - the single number in the first line: how many @what follow. */
int hpcc__read_count(struct textfile *t, const char *what, uint32_t *out,
                     struct err_info *e) WH_MUST_CHECK;

/* hpcc__warn_rest - says that text behind the @count declared records is ignored, if any is. */
int hpcc__warn_rest(struct textfile *t, uint32_t count, const char *what,
                    const struct warn_sink *sink) WH_MUST_CHECK;

/*
 * The keys of a configuration: name, kind of value, smallest and largest value, what is expected.
 * A kind with a value is stored in struct hpcc_values; KEY_UNUSED is read over.
 */
#define HPCC_INT32 2147483647.0
#define HPCC_UINT32 4294967295.0
#define HPCC_TINY 1e-300 /* "greater than 0" */
#define HPCC_KEY_LIST(X)                                                                           \
    X(TOPOLOGY_FILE, PATH, 0, 0, "a file name")                                                    \
    X(FLOW_FILE, PATH, 0, 0, "a file name")                                                        \
    X(TRACE_FILE, PATH, 0, 0, "a file name")                                                       \
    X(TRACE_OUTPUT_FILE, PATH, 0, 0, "a file name")                                                \
    X(FCT_OUTPUT_FILE, PATH, 0, 0, "a file name")                                                  \
    X(PFC_OUTPUT_FILE, PATH, 0, 0, "a file name")                                                  \
    X(QLEN_MON_FILE, PATH, 0, 0, "a file name")                                                    \
    X(SIMULATOR_STOP_TIME, SECONDS, 0, 0, "a number of seconds, not negative")                     \
    X(ENABLE_QCN, UINT, 0, 1, "0 or 1")                                                            \
    X(USE_DYNAMIC_PFC_THRESHOLD, UINT, 0, 1, "0 or 1")                                             \
    X(PFC_ENABLED, UINT, 0, 1, "0 or 1")                                                           \
    X(PAUSE_TIME, UINT, 1, HPCC_UINT32, "at least 1 us: a pause of 0 us is a resume")              \
    X(PACKET_PAYLOAD_SIZE, UINT, 1, 65000, "bytes, 1 to 65000")                                    \
    X(CC_MODE, UINT, 0, HPCC_UINT32,                                                               \
      "1 (DCQCN), 3 (HPCC), 7 (TIMELY), 8 (DCTCP) or another "                                     \
      "number for no congestion control")                                                          \
    X(ALPHA_RESUME_INTERVAL, US, 1, 1e18, "a number of us above 0, at most 1e12")                  \
    X(RATE_DECREASE_INTERVAL, US, 1, 1e18, "a number of us above 0, at most 1e12")                 \
    X(RP_TIMER, US, 1, 1e18, "a number of us above 0, at most 1e12")                               \
    X(EWMA_GAIN, REAL, HPCC_TINY, 1, "a gain above 0 and up to 1")                                 \
    X(FAST_RECOVERY_TIMES, UINT, 0, 1000000, "a number of stages, 0 to 1000000")                   \
    X(CLAMP_TARGET_RATE, UINT, 0, 1, "0 or 1")                                                     \
    X(RATE_AI, RATE, 0, 1e15, "a rate up to 1 Pb/s with its unit, as 50Mb/s")                      \
    X(RATE_HAI, RATE, 0, 1e15, "a rate up to 1 Pb/s with its unit, as 100Mb/s")                    \
    X(MIN_RATE, RATE, 1, 1e15, "a rate above 0 with its unit, as 100Mb/s")                         \
    X(DCTCP_RATE_AI, RATE, 0, 1e15, "a rate up to 1 Pb/s with its unit, as 1000Mb/s")              \
    X(L2_CHUNK_SIZE, UINT, 1, HPCC_INT32, "at least 1 byte: the HPCC simulator divides by it")     \
    X(L2_ACK_INTERVAL, UINT, 1, HPCC_INT32,                                                        \
      "at least 1 byte: with 0 nothing is acknowledged and no flow completes")                     \
    X(L2_BACK_TO_ZERO, UINT, 0, 1, "0 (go-back-N) or 1 (go-back-0)")                               \
    X(ERROR_RATE_PER_LINK, REAL, 0, 1, "a probability, 0 to 1")                                    \
    X(HAS_WIN, UINT, 0, 1, "0 or 1")                                                               \
    X(GLOBAL_T, UINT, 0, 1, "0 or 1")                                                              \
    X(VAR_WIN, UINT, 0, 1, "0 or 1")                                                               \
    X(FAST_REACT, UINT, 0, 1, "0 or 1")                                                            \
    X(U_TARGET, REAL, HPCC_TINY, 1, "a utilisation above 0 and up to 1")                           \
    X(MI_THRESH, UINT, 0, 1000000, "a number of stages, 0 to 1000000")                             \
    X(INT_MULTI, UINT, 1, 1000, "1 to 1000")                                                       \
    X(MULTI_RATE, UINT, 0, 1, "0 or 1")                                                            \
    X(SAMPLE_FEEDBACK, UINT, 0, 1, "0 or 1")                                                       \
    X(RATE_BOUND, UINT, 0, 1, "0 or 1")                                                            \
    X(ACK_HIGH_PRIO, UINT, 0, 1, "0 or 1")                                                         \
    X(SPORT_REUSE, UINT, 0, 1, "0 or 1")                                                           \
    X(LINK_DOWN, LINK_DOWN, 0, 0, "a number of us and two node ids (0 0 0: never)")                \
    X(ENABLE_TRACE, UINT, 0, 1, "0 or 1")                                                          \
    X(KMAX_MAP, MAP, 0, 1e9, "a threshold in KB of 1000 bytes")                                    \
    X(KMIN_MAP, MAP, 0, 1e9, "a threshold in KB of 1000 bytes")                                    \
    X(PMAX_MAP, MAP, 0, 1, "a probability, 0 to 1")                                                \
    X(BUFFER_SIZE, UINT, 1, 1048576, "MiB per switch, 1 to 1048576")                               \
    X(QLEN_MON_START, UINT, 0, 9e15, "a number of ns")                                             \
    X(QLEN_MON_END, UINT, 0, 9e15, "a number of ns")                                               \
    X(RANDOM_SEED, UINT, 0, 1.9e19, "a number below 2^64")                                         \
    X(PINT_LOG_BASE, UNUSED, 0, 0, "a value")                                                      \
    X(PINT_PROB, UNUSED, 0, 0, "a value")                                                          \
    X(NIC_TOTAL_PAUSE_TIME, UNUSED, 0, 0, "a value")                                               \
    X(DATA_RATE, UNUSED, 0, 0, "a value")                                                          \
    X(LINK_DELAY, UNUSED, 0, 0, "a value")                                                         \
    X(CNP_MON_FILE, UNUSED, 0, 0, "a value")                                                       \
    X(BW_MON_FILE, PATH, 0, 0, "a file name")                                                      \
    X(RATE_MON_FILE, PATH, 0, 0, "a file name")                                                    \
    X(MON_START, US, 0, 9e18, "a number of us, 0 to 9e12")                                         \
    X(MON_END, US, 0, 9e18, "a number of us, 0 to 9e12")                                           \
    X(QP_MON_INTERVAL, US, 1, 1e18, "a number of us above 0, at most 1e12")                        \
    X(QLEN_MON_INTERVAL, US, 1, 1e18, "a number of us above 0, at most 1e12")                      \
    X(BW_MON_INTERVAL, US, 1, 1e18, "a number of us above 0, at most 1e12")

enum hpcc_key {
#define HPCC_KEY_ENUM(name, kind, lo, hi, expected) HPCC_KEY_##name,
    HPCC_KEY_LIST(HPCC_KEY_ENUM)
#undef HPCC_KEY_ENUM
        HPCC_KEY_COUNT
};

/* A KMAX_MAP, KMIN_MAP or PMAX_MAP. */
struct hpcc_map {
    uint32_t count;
    int64_t rate_bps[CONFIG_ECN_ROWS_MAX];
    double value[CONFIG_ECN_ROWS_MAX];
};

struct hpcc_link_down {
    int64_t after_ps; /* since 2 s; 0: never */
    uint32_t a, b;
};

/* The value of a key; which member depends on the kind of the key. */
union hpcc_value {
    char path[HPCC_PATH_BYTES];
    uint64_t uint;
    int64_t ps, bps;
    double real;
    struct hpcc_map map;
    struct hpcc_link_down down;
};

/* Where a key was given last. */
struct hpcc_place {
    uint8_t is_given, is_override;
    long line; /* 0 on the command line */
};

/* A configuration as written, defaults of the reference's source where a key is missing. */
struct hpcc_values {
    enum hpcc_dialect dialect;  /* set by the caller of hpcc__read_keys */
    char path[HPCC_PATH_BYTES]; /* of the configuration, for messages */
    union hpcc_value value[HPCC_KEY_COUNT];
    struct hpcc_place place[HPCC_KEY_COUNT];
};

/* hpcc__read_keys - the pairs of the file, then those of the command line. */
int hpcc__read_keys(const char *path, const struct hpcc_override *overrides,
                    uint32_t override_count, struct hpcc_values *v, const struct warn_sink *sink,
                    struct err_info *e) WH_MUST_CHECK;

const char *hpcc__key_name(enum hpcc_key key);

/* hpcc__refuse_key - a sentence about a key, at the place where it was given last. */
int hpcc__refuse_key(const struct hpcc_values *v, enum hpcc_key key, struct err_info *e,
                     const char *fmt, ...) WH_PRINTF(4, 5);

/*
 * hpcc__load_conf - a configuration without flows (see hpcc_load_conf), as written in @v.
 * v->dialect is set by the caller.
 */
int hpcc__load_conf(const char *config_path, const struct hpcc_override *overrides,
                    uint32_t override_count, struct hpcc_values *v, struct scenario *sc,
                    const struct warn_sink *sink, struct err_info *e) WH_MUST_CHECK;

#endif
