/*
 * scaling_file.h - wormhole bench scaling as JSON; docs/output.md explains every key.
 * Threading: pure but for the file.
 */
#ifndef WH_SCALING_FILE_H
#define WH_SCALING_FILE_H

#include "out_file.h"
#include "scaling.h"

/* scaling_file_json - after scaling_predict. Returns 0 or WH_ERR_NOMEM; write errors stay in @o. */
int scaling_file_json(struct out_file *o, const struct scaling *s) WH_MUST_CHECK;

#endif
