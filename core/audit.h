/*
 * audit.h - how far off are skips? A sample of them is also executed, and so is a sample of what
 * comes from the memo. For core/.
 *
 * What is executed for an audit is put back afterwards (checkpoint.h): audits change nothing but
 * their own figures. The estimate that is made of them: sim_audit_stats.
 * Threading: the holder of the partition; audit_hit and audit_hit_end: the coordinator.
 */
#ifndef WH_AUDIT_H
#define WH_AUDIT_H

#include <stdint.h>

struct part;
struct audit;

/* What audits of a partition have found, summed. */
struct audit_sums {
    uint64_t skips, refused;           /* audited; drawn, but with state out of reach */
    uint64_t stretches, stretches_all; /* between skips: executed twice; that are sampled */
    uint64_t events;                   /* executed for audits */
    int64_t error_ps; /* sum of completion times with the skips, less that without */
    double flow_s;    /* flow time of the audited skips */
    double stretch_flow_s, stretch_all_s; /* flow time of the audited stretches, of all */
};

/* One audited skip or stretch. */
struct audit_row {
    uint64_t draw; /* by which it came into the sample; what a memo repeats came by the same one */
    uint64_t key;  /* bit 0: a stretch. Rows of equal keys have been the same thing again, and are
                      off  by the same: what chance does to one it does to all of them */
    double error_s, flow_s; /* of a skip */
    double variance_s2;     /* of what chance does to the sum of completion times */
};

/* The partition, as in struct watch_partition. */
struct audit_view {
    uint32_t flow_count, port_count;
    const uint32_t *flow_id, *port_id; /* shape: [flow_count], [port_count] */
    const uint32_t *path_first, *path;
};

/* audit_begin - an episode begins. */
void audit_begin(struct part *p, const struct audit_view *v);
/*
 * audit_skip - a skip is over, but not booked: the partition stands where it was frozen.
 * @bytes: that the flows are given; shape: [flow_count]
 */
void audit_skip(struct part *p, const struct audit_view *v, int64_t elapsed_ps,
                const int64_t *bytes);
/* audit_thaw - the skip is booked, what follows is executed. */
void audit_thaw(struct part *p, const struct audit_view *v);
/* audit_stretch - what was executed since the last skip, or since the beginning, ends. @is_last:
 * and so does the episode. */
void audit_stretch(struct part *p, const struct audit_view *v, int is_last);

/*
 * audit_hit - the partition is about to take the end of an episode from the memo. If that is drawn
 * it returns 1, and the partition has executed the episode: for at most @global_ps. What it looks
 * like is then to be compared; audit_hit_end puts it back.
 */
int audit_hit(struct part *p, int64_t global_ps);
void audit_hit_end(struct part *p, int is_same);

/* Rows of the partition: how many; those from @from on as bytes; @count more, from bytes. */
struct bytes;
uint32_t audit_row_count(const struct part *p);
void audit_save_rows(const struct part *p, uint32_t from, struct bytes *out);
void audit_take_rows(struct part *p, const void *rows, uint32_t count);
/* All rows of the partition; *count of them. */
const struct audit_row *audit_rows(const struct part *p, uint32_t *count);

void audit_fini(struct part *p);

/* audit_add - @sign times @more. */
void audit_add(struct audit_sums *to, const struct audit_sums *more, int sign);

#endif
