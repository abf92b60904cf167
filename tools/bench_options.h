/*
 * bench_options.h - the command line of wormhole bench collective.
 * Threading: as options.h.
 */
#ifndef WH_BENCH_OPTIONS_H
#define WH_BENCH_OPTIONS_H

#include "coll.h"
#include "config.h"
#include "options.h"
#include "topogen.h"

#include <stdio.h>

struct bench_options {
    struct coll_call call; /* bytes: set for each row */
    const char *type_name;
    int64_t first_bytes, last_bytes, step_bytes; /* step 0: by factor */
    uint32_t factor;
    uint32_t iterations, warmups;
    struct place_request place; /* rank_count 0: all hosts of the scenario */
    /* the network: a scenario file, or one made from these */
    const char *scenario;
    struct option_set sets[OPTIONS_SETS_MAX];
    uint32_t set_count;
    struct topo_spec topo;
    enum cc_kind cc;
    uint32_t payload_bytes;
    struct engine_options engine;
    const char *csv_path, *trace_path; /* NULL: none */
};

/* bench_parse - 0, OPTIONS_HELP, or WH_ERR_INPUT with a sentence in @e. */
int bench_parse(int argc, char **argv, struct bench_options *o, struct err_info *e) WH_MUST_CHECK;
void bench_print_help(FILE *out);

/* bench_parse_size - nccl-tests' sizes: bytes, or K M G T (powers of 1024); else "4MB", "1KiB". */
int bench_parse_size(const char *text, int64_t *out) WH_MUST_CHECK;

#endif
