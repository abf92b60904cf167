/*
 * noise.h - the noise floor of a scenario: how far its results move when nothing that means
 * anything is changed (perturb.h), and what a difference between two runs is worth beside it.
 *
 * Contended flows are chaotic: two starts that differ by less than 100 ns give flow completion
 * times that differ by per cents. A difference below that says nothing about a model or an
 * acceleration. All figures are ratios, of the difference to the undisturbed run. Threading: pure
 * functions on caller-owned data.
 */
#ifndef WH_NOISE_H
#define WH_NOISE_H

#include "fct_compare.h"

/* The figures in which runs differ. Those before NOISE_SORTED_FCT exist for size classes too. */
enum noise_kind {
    NOISE_FCT_MEAN,       /* over the flows: mean of |change of the FCT| */
    NOISE_FCT_P99,        /* 99th percentile of the same */
    NOISE_FCT_MAX,        /* largest */
    NOISE_MEAN_FCT,       /* |change of the mean FCT| */
    NOISE_SORTED_FCT,     /* mean of |change| of the i-th smallest FCT: forgets who is who */
    NOISE_MAKESPAN,       /* |change| of first start to last completion */
    NOISE_ITERATION_TIME, /* |change|; only with a workload */
    NOISE_KIND_COUNT
};
#define NOISE_CLASS_KIND_COUNT NOISE_SORTED_FCT

const char *noise_kind_name(enum noise_kind k);  /* as in noise.json: "fct_mean" */
const char *noise_kind_title(enum noise_kind k); /* for people */

/* A figure over the disturbed runs. */
struct noise_figure {
    double mean, max;
};

/* What is kept of a floor: all that judging a difference needs. */
struct noise_floor {
    char scenario[128];
    uint32_t run_count;  /* disturbed ones */
    uint64_t flow_count; /* finished in the undisturbed run */
    double mean_fct_ns;  /* of these */
    int is_workload;     /* starts follow from completions: pair flows by order */
    int has_iteration;   /* NOISE_ITERATION_TIME is there */
    struct noise_figure all[NOISE_KIND_COUNT];
    uint64_t class_flows[SIZE_CLASS_COUNT]; /* 0: no such class, no figures */
    struct noise_figure by_size[SIZE_CLASS_COUNT][NOISE_CLASS_KIND_COUNT];
};

/* noise_difference - the figure @k of B against A; not NOISE_ITERATION_TIME. */
double noise_difference(const struct fct_comparison *c, enum noise_kind k);

/* noise_class_difference - the same for flows of a size class; @k < NOISE_CLASS_KIND_COUNT. */
double noise_class_difference(const struct fct_errors *x, enum noise_kind k);

/* noise_ratio - |b - a| / a; a difference from nothing counts as 1. */
double noise_ratio(double a, double b);

/* ---- collecting ---- */

/* What the disturbed runs did to one flow. */
struct noise_flow {
    uint32_t run_count; /* in which it finished */
    double sum, max;    /* of |change of its FCT| */
};

struct noise_run {
    struct fct_comparison c; /* against the undisturbed run */
    double iteration_s;      /* < 0: none */
    double difference[NOISE_KIND_COUNT];
};

struct noise {
    enum fct_pairing by;
    struct fct_table base;
    double base_iteration_s;  /* < 0: none */
    struct noise_flow *flows; /* shape: [base.count], by fct_row.order, owned */
    struct noise_run *runs;   /* shape: [run_count], owned */
    uint32_t run_count;
};

/*
 * noise_begin - the undisturbed run.
 * @base: taken over on success (left empty)
 * Returns: 0 or WH_ERR_NOMEM. Release with noise_fini, also if @n was only zeroed.
 */
int noise_begin(struct noise *n, struct fct_table *base, enum fct_pairing by,
                double iteration_s) WH_MUST_CHECK;
void noise_fini(struct noise *n);

/* noise_add - a disturbed run; sorts @run in place. Returns 0 or WH_ERR_NOMEM. */
int noise_add(struct noise *n, struct fct_table *run, double iteration_s) WH_MUST_CHECK;

/* noise_calc_floor - at least one run was added. Leaves scenario empty. */
void noise_calc_floor(const struct noise *n, struct noise_floor *out);

/* ---- judging ---- */

enum noise_verdict {
    NOISE_WITHIN_FLOOR, /* no more than a disturbed run differed */
    NOISE_WITHIN_LIMIT, /* more, but no more than the fixed limit */
    NOISE_EXCEEDS
};

/* noise_fixed_limit - differences up to this pass whatever the floor: 2 % for the 99th percentile,
 * else 0.5 %. */
double noise_fixed_limit(enum noise_kind k);

/* noise_judge - against max(fixed limit, @floor). */
enum noise_verdict noise_judge(enum noise_kind k, double difference, double floor);
const char *noise_verdict_text(enum noise_verdict v);

#endif
