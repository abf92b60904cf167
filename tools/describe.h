/*
 * describe.h - settings in words, for the terminal.
 * Threading: pure.
 */
#ifndef WH_DESCRIBE_H
#define WH_DESCRIBE_H

#include "config.h"

/* describe_cc - the congestion control with its parameters, as in "hpcc (target_util 0.95, ...)".
 */
const char *describe_cc(const struct sim_config *c, char *buf, size_t buf_bytes);

#endif
