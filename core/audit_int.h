/*
 * audit_int.h - what audits of skips and of hits of the fcg lens share. For audit.c and
 * audit_stage.c. Threading: the holder of the partition.
 */
#ifndef WH_AUDIT_INT_H
#define WH_AUDIT_INT_H

#include "audit.h"
#include "checkpoint.h"
#include "sim_int.h"

#define CHANCE 1.5           /* see audit_estimate.c */
#define FLUID_FLOWS_MAX 128u /* above, errors are added up flow by flow */

/* Streams of draws: what is sampled. */
#define STREAM_AUDIT UINT64_C(0x5b3a0002)
#define STREAM_STRETCH UINT64_C(0x5b3a0003)
#define STREAM_SHIFT UINT64_C(0x5b3a0004)
#define STREAM_HIT UINT64_C(0x5b3a0005)

struct audit {
    struct checkpoint *checkpoint;
    /* of the flows; shape: [flow_cap] */
    int64_t *start, *delivered; /* of a skip: where they stood, what they would have delivered */
    int64_t *sent;              /* where the senders stood then */
    int64_t *ended;             /* when they would have ended, local; -1: not */
    double *ahead;              /* bytes: what earlier audits of the episode have found */
    double *rate, *left, *left_else;
    double *more; /* bytes: what the last audited hit of the fcg lens gave too little */
    double *room; /* of the ports; shape: [port_cap] */
    double *scratch;
    uint32_t flow_cap, port_cap, scratch_cap;
    struct audit_row *row; /* shape: [row_count], of all episodes */
    uint32_t row_count, row_cap;
    struct checkpoint *beginning; /* of the executed stretch */
    int64_t from;                 /* of it, local */
    uint64_t draw;
    uint64_t events;        /* executed last */
    uint8_t is_busy;        /* with a hit: nothing else is audited */
    uint8_t is_open;        /* an episode is under way */
    uint8_t counts;         /* the stretch is one that is sampled */
    int64_t nudge_end;      /* local: when the nudged flow would have ended; -1: not audited */
    uint8_t is_exact;       /* the stage that is being taken: it makes no difference at all */
    uint8_t is_repeated;    /* the stretch will be: beginning is taken */
    struct audit_hits hits; /* of the fcg lens */
};

/* audit__find - the partition's, made if there is none yet. audit__open: and with room for its
 * flows. */
struct audit *audit__find(struct part *p);
struct audit *audit__open(struct part *p, const struct audit_view *v);

/* What was found; @key: equal for what is off by the same, see struct audit_row. */
void audit__add_row(struct audit *a, enum audit_kind kind, uint64_t key, struct audit_row row);

/* ---- the sample ---- */
uint64_t audit__draw_of(const struct part *p, const uint32_t *flow, uint32_t flow_count,
                        uint64_t stream);
int audit__is_drawn(const struct part *p, uint64_t draw);

/* ---- execution ---- */
/* Up to @until, local: a->delivered, a->ended, a->events. audit__go_on: and beyond. */
void audit__execute(struct part *p, const struct audit_view *v, int64_t until, struct audit *a);
void audit__go_on(struct part *p, const struct audit_view *v, int64_t until, struct audit *a);
/* Shifts the flows against each other. */
void audit__disturb(struct part *p, const struct audit_view *v);

/* ---- what it comes to ---- */
/* Rates, of what was executed last and where it left the partition; what was sent counts where
 * little has come back yet. */
void audit__find_rates(const struct part *p, const struct audit_view *v, struct audit *a,
                       int64_t span_ps);
/* Sum of the times to the end from a->left, less that from a->left_else, in seconds, at a->rate. */
double audit__compare_ends(const struct audit_view *v, struct audit *a);
/* Squares of the times that a packet of each flow takes at a->rate, summed. */
double audit__packets_s2(const struct part *p, const struct audit_view *v, const struct audit *a);

/* ---- stretches ---- */
/* Has anything that was not executed had an influence on the flows? */
int audit__is_touched(const struct part *p, const struct audit_view *v);
/* Do two flows share a port? */
int audit__is_shared(const struct audit_view *v, const struct audit *a);
void audit__begin_stretch(struct part *p, const struct audit_view *v, struct audit *a);

#endif
