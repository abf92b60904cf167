/*
 * scaling.h - how a run's time goes with the number of threads: what was measured, what is
 * predicted for more cores than there are, and whether the results stayed the same.
 *
 * The runs of a row: first one that is observed (its engine counts and takes times, see struct
 * sim_probe), then the timed ones, which run as any run does. Rows take turns, so that what else
 * the machine does hits them alike. Threading: plain data of one thread.
 */
#ifndef WH_SCALING_H
#define WH_SCALING_H

#include "options.h"
#include "replay.h"

#define SCALING_ROWS_MAX (OPTIONS_THREAD_COUNTS_MAX + 1) /* the serial engine too */
#define SCALING_PREDICTIONS_MAX (OPTIONS_THREAD_COUNTS_MAX + 5)

struct scaling_row {
    struct sim_engine engine;
    double wall_s[OPTIONS_REPETITIONS_MAX], cpu_s[OPTIONS_REPETITIONS_MAX]; /* of timed runs */
    uint32_t run_count;                                                     /* timed ones so far */
    int is_observed;              /* the fields below are there */
    struct sim_engine_stats st;   /* of the observed run */
    uint64_t packet_hops, digest; /* of the observed run */
    uint32_t differing_count;     /* runs whose digest is not that of the first run of all */
};

struct scaling_prediction {
    uint32_t threads;
    struct replay_prediction p;
};

struct scaling {
    char scenario[128];
    uint32_t processors;  /* that this process may use */
    uint32_t repetitions; /* timed runs of each row */
    struct scaling_row rows[SCALING_ROWS_MAX];
    uint32_t row_count;
    uint32_t base; /* row of one thread, by which speed-ups count */
    uint64_t digest;
    int has_digest; /* the first run is through */
    /* from the record of the observed run on one thread */
    struct replay_costs costs;
    uint32_t cost_threads; /* of the team on which they were measured; 0: they were not */
    uint64_t recorded_rounds, recorded_tasks;
    int is_record_cut;                                              /* its end did not fit */
    struct scaling_prediction predictions[SCALING_PREDICTIONS_MAX]; /* rising in threads */
    uint32_t prediction_count;
};

/* scaling_init - rows of @o, nothing run yet. */
void scaling_init(struct scaling *s, const struct scaling_options *o, uint32_t processors);

/* scaling_add_observed, scaling_add_timed - one run of a row is through. */
void scaling_add_observed(struct scaling *s, uint32_t row, const struct sim *run);
void scaling_add_timed(struct scaling *s, uint32_t row, const struct sim *run, double wall_s,
                       double cpu_s);

/*
 * scaling_predict - for the numbers of threads that were run and for 2, 4, 8, 16 and 32.
 * @costs: NULL: could not be measured, a round costs nothing
 * Errors: WH_ERR_NOMEM.
 */
int scaling_predict(struct scaling *s, const struct replay *record,
                    const struct replay_costs *costs, uint32_t cost_threads) WH_MUST_CHECK;

struct scaling_spread {
    double median, min, max; /* all 0 without a value */
};

struct scaling_spread scaling_wall_s(const struct scaling_row *r);
struct scaling_spread scaling_cpu_s(const struct scaling_row *r);

/* scaling_speedup - against the base row; min and max: of its fastest and slowest run against the
 * base row's median. 0 while either has no timed run. */
struct scaling_spread scaling_speedup(const struct scaling *s, const struct scaling_row *r);

/* scaling_hops_per_s - by the median wall time, 0 without a timed run. */
double scaling_hops_per_s(const struct scaling_row *r);

/* Shares of the threads' time in the observed run; all 0 for the serial engine. */
struct scaling_shares {
    double busy, idle, barrier, serial;
};
struct scaling_shares scaling_shares(const struct sim_engine_stats *st);

/* scaling_measured - the measured speed-up beside a prediction, 0 without one: not run, or with
 * more threads than processors, which is not what a prediction is about. */
double scaling_measured(const struct scaling *s, uint32_t threads);

/* scaling_processor_share - what one thread got of a processor: CPU time of the base row by its
 * wall time. Well below 1 something else was running, and neither speed-ups nor predictions say
 * much. */
double scaling_processor_share(const struct scaling *s);
#define SCALING_SHARE_LEAST 0.95

int scaling_is_same(const struct scaling *s); /* all runs had the same results */

#endif
