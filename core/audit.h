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
    uint64_t stages, stages_all;          /* from the memo through the fcg lens: audited; of all */
    int64_t stage_error_ps;               /* as error_ps, of the audited ones */
    double stage_flow_s, stage_all_s;     /* flow time, with that of nudges */
    double nudge_s;                       /* of all of them */
    uint64_t nudges, nudges_all;          /* audited; of all */
};

/* Audited hits of the fcg lens, one by one. */
struct audit_hits {
    uint64_t bytes, bytes_off; /* that flows were given; of these, too many or too few */
    double bytes_off_max;      /* of one hit, as a share of its bytes */
    uint64_t flows, off_ps;    /* by which their ends move, magnitudes of sums over a partition */
    uint64_t off_ps_max;       /* of one hit, per flow */
};

enum audit_kind { AUDIT_SKIP, AUDIT_STRETCH, AUDIT_STAGE };
#define AUDIT_KIND_MASK 3u

/* One audited skip, stretch or stage. */
struct audit_row {
    uint64_t draw; /* by which it came into the sample; what a memo repeats came by the same one */
    uint64_t key;  /* lowest bits: enum audit_kind. Rows of equal keys have been the same thing
                      again: what chance does to one it does to all of them */
    double error_s, flow_s; /* not of stretches: what the estimate is made of */
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
/* audit_nudge - so is a nudge, see freeze_nudge. audit_nudge_end - it is booked, but time has not
 * moved. */
void audit_nudge(struct part *p, const struct audit_view *v, int64_t elapsed_ps);
void audit_nudge_end(struct part *p, const struct audit_view *v, int64_t elapsed_ps);
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

/* A stage that is taken from the memo through the fcg lens; the caller may embed it. */
struct audit_taken {
    int64_t until;        /* its end, local */
    const int64_t *bytes; /* acknowledged by then; shape: [flow_count] */
    uint64_t entry;       /* which entry it is */
    /* Is what the partition has been executed to, by @until, all that it would be given? */
    int (*is_as_known)(struct part *p, const struct audit_taken *t);
};
/*
 * audit_stage - the partition stands at the beginning of a stage that it is about to take. Returns
 * 1 if it is to be audited: audit_stage_run executes it and puts it back.
 * audit_stage_end - the partition stands at the end of it. Context: the coordinator.
 */
int audit_stage(struct part *p, const struct audit_view *v, int64_t until);
void audit_stage_run(struct part *p, const struct audit_view *v, const struct audit_taken *t);
void audit_stage_end(struct part *p, const struct audit_view *v);
/* Is a life that is known, of a flow that is about to start, to be executed? The coordinator. */
int audit_draws_life(const struct part *p, uint32_t flow);
/* What they have found one by one; zeroes: nothing. */
struct audit_hits audit_hits_of(const struct part *p);

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
