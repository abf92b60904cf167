/*
 * flowgen.h - generated flows. All draws are a hash of (seed, stream, counter): the same request
 * gives the same flows on every machine. Flows come out sorted by start.
 */
#ifndef WH_FLOWGEN_H
#define WH_FLOWGEN_H

#include "scenario.h"

enum flow_pattern {
    FLOWS_SINGLE,      /* src -> dst */
    FLOWS_INCAST,      /* fan_in hosts -> dst */
    FLOWS_PERMUTATION, /* every host to another, each receives one */
    FLOWS_RING,        /* host i -> i + 1 */
    FLOWS_ALL_TO_ALL,
    FLOWS_POISSON, /* open arrivals at a load, sizes from a distribution, uniform pairs */
    FLOWS_PATTERN_COUNT
};

/* A flow-size distribution: points (bytes, cumulative probability 0..1), linear between them. */
struct size_cdf {
    double *bytes, *prob; /* shape: [count], owned */
    uint32_t count;
};
int cdf_read(const char *path, struct size_cdf *out,
             struct err_info *e) WH_MUST_CHECK;                        /* 0..100 or 0..1 */
int cdf_builtin(const char *name, struct size_cdf *out) WH_MUST_CHECK; /* "web-search", "hadoop" */
void cdf_fini(struct size_cdf *c);
double cdf_mean_bytes(const struct size_cdf *c);
int64_t cdf_draw_bytes(const struct size_cdf *c, double u); /* u in [0, 1) */

struct flow_request {
    enum flow_pattern pattern;
    int64_t bytes;                /* per flow; Poisson: 0 = from the distribution */
    int64_t start_ps, stagger_ps; /* flow i starts at start + i * stagger */
    int64_t jitter_ps;            /* plus a uniform draw from [0, jitter) */
    uint32_t src, dst;            /* single; incast: dst */
    uint32_t fan_in;              /* incast: senders, 0 = all other hosts */
    uint32_t repeat;     /* rounds of the pattern, >= 1, each `stagger` later for ring and a2a */
    double load;         /* Poisson: of the host link rate, 0..1] */
    int64_t duration_ps; /* Poisson */
    uint32_t flow_count_max; /* Poisson: 0 = no limit */
    struct size_cdf cdf;     /* Poisson */
    uint64_t seed;
    uint8_t prio;
    uint16_t dport;
    uint16_t sport; /* 0: assigned, see struct flow_spec */
};
/* flow_request_init - all zero but repeat 1, load 0.5, prio 3, dport 100. */
void flow_request_init(struct flow_request *r, enum flow_pattern p);

/* flows_count - number of flows that @r makes with @hosts hosts; Poisson: the expected number, not
 * more than its limit. @host_bps: sum of the hosts' rates. */
double flows_count(const struct flow_request *r, uint32_t hosts, double host_bps);

/* flows_sort - by start, equal starts keep their order. Returns 0 or WH_ERR_NOMEM. */
int flows_sort(struct flow_spec *flows, uint32_t flow_count) WH_MUST_CHECK;

/* flows_generate - appends the flows of @r to @sc, sorted among themselves. */
int flows_generate(const struct flow_request *r, const struct topo *t, struct scenario *sc,
                   struct err_info *e) WH_MUST_CHECK;
const char *flow_pattern_name(enum flow_pattern p); /* "single", "incast", "all-to-all", ... */
int flow_pattern_from_name(const char *name, enum flow_pattern *out) WH_MUST_CHECK;

#endif
