/*
 * foreign_options.h - the command line of wormhole run for workloads of other tools.
 * Threading: as options.h.
 */
#ifndef WH_FOREIGN_OPTIONS_H
#define WH_FOREIGN_OPTIONS_H

#include "config.h"
#include "options.h"
#include "run_goal.h"

#include <stdio.h>

enum foreign_kind {
    FOREIGN_SCENARIO, /* a scenario file with a workload of ours, to be exported */
    FOREIGN_GOAL,
    FOREIGN_CM,
    FOREIGN_SIMAI,
    FOREIGN_ASTRA
};

/* Strings point into argv; NULL: not given. */
struct foreign_options {
    enum foreign_kind kind;
    const char *workload; /* .goal, .cm, workload table, prefix of traces, scenario */
    const char *topo;     /* network: .topo, HPCC or SimAI topology, scenario */
    const char *conf;     /* SimAI.conf */
    const char *system, *logical, *network, *groups, *memory; /* of ASTRA-sim */
    struct run_goal_options goal;
    const char *loggops_ignored; /* first parameter that the network replaces */
    int skip_ctrl_deps;
    double compute_scale, comm_scale;
    uint32_t channels;
    uint32_t nodes;      /* htsim's -nodes; 0: not given */
    const char *ignored; /* first option that is accepted without effect */
    int has_cc;
    enum cc_kind cc;
    uint32_t payload_bytes; /* 0: not given */
    struct option_set sets[OPTIONS_SETS_MAX];
    uint32_t set_count;
    const char *seed_text;
    uint64_t seed;
    int64_t end_ps; /* -1: not given */
    const char *out_dir;
    int fct_csv, quiet, finished_lines, explains;
    struct engine_options engine;
    enum progress_mode progress;
    const char *export_et, *export_goal, *export_flows;
};

/* foreign_is_asked - a command line of run that is one of these. */
int foreign_is_asked(int argc, char **argv);

/* foreign_parse - 0, OPTIONS_HELP, or WH_ERR_INPUT with a sentence in @e. */
int foreign_parse(int argc, char **argv, struct foreign_options *o,
                  struct err_info *e) WH_MUST_CHECK;
void foreign_print_help(FILE *out);

#endif
