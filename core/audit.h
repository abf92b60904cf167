/*
 * audit.h - a sample of skips, and of episodes from the memo, is also executed. For core/.
 *
 * What is executed for an audit is put back afterwards (checkpoint.h): audits change nothing but
 * their own figures. Threading: the holder of the partition.
 */
#ifndef WH_AUDIT_H
#define WH_AUDIT_H

#include <stdint.h>

struct part;
struct audit;
struct audit_skip;

/* What audits of a partition have found, summed over skips. Integers where sums in another order
 * would differ. */
struct audit_sums {
    uint64_t skips, refused;         /* audited; drawn, but out of reach */
    uint64_t events;                 /* executed for audits */
    int64_t error_ps;                /* sum of completion times with the skips, less that without */
    double flow_s;                   /* of them */
    double square_s2;                /* sum of the squares of the skips' errors */
    double cross_s2, flow_square_s2; /* of error times flow time; of flow time squared */
};

/* A skip that is over: the partition stands where it was frozen. */
struct audit_skip {
    int64_t elapsed_ps;
    uint32_t flow_count, port_count;
    const uint32_t *flow_id, *port_id; /* shape: [flow_count], [port_count] */
    const int64_t *bytes;              /* that the flows are given; shape: [flow_count] */
    const uint32_t *path_first, *path; /* as in struct watch_partition */
};

/* audit_begin - an episode begins: errors of earlier skips are forgotten. */
void audit_begin(struct part *p);
/* audit_skip - draws, and audits. Call before the skip is booked. */
void audit_skip(struct part *p, const struct audit_skip *k);
void audit_fini(struct part *p);

void audit_add(struct audit_sums *to, const struct audit_sums *more);

#endif
