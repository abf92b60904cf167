/*
 * noise_file.h - noise.json, which holds a noise floor, and noise.csv, what became of each flow.
 * docs/output.md explains every key and column.
 */
#ifndef WH_NOISE_FILE_H
#define WH_NOISE_FILE_H

#include "noise.h"
#include "out_file.h"
#include "perturb.h"

#define NOISE_JSON "noise.json"
#define NOISE_CSV "noise.csv"
#define NOISE_CSV_HEADER                                                                           \
    "flow,src,dst,sport,dport,bytes,start_ns,fct_ns,runs,change_mean_pct,change_max_pct"

/* What noise.json is made from; nothing is owned. */
struct noise_record {
    const struct noise *n;
    const struct noise_floor *floor;
    const char *command;   /* as it was given */
    const char *cc;        /* congestion control, in words */
    const uint64_t *seeds; /* shape: [run_count + 1], of random draws; first the undisturbed run */
};

/* noise_file_json - Returns 0 or WH_ERR_NOMEM; write errors stay in @o. */
int noise_file_json(struct out_file *o, const struct noise_record *r) WH_MUST_CHECK;

/* noise_file_csv - all flows, in flow order; puts the base of @n into that order. */
void noise_file_csv(struct out_file *o, struct noise *n);

/*
 * noise_file_read - @path is a noise.json, or the folder of one.
 * Errors: WH_ERR_INPUT with file and what is wrong.
 */
int noise_file_read(const char *path, struct noise_floor *out, struct err_info *e) WH_MUST_CHECK;

#endif
