/*
 * export_flows.h - the flows that a workload became, as an HPCC flow file.
 */
#ifndef WH_EXPORT_FLOWS_H
#define WH_EXPORT_FLOWS_H

#include "sim.h"

#include <stdio.h>

/*
 * export_flows - all flows of @s that have started, by start. HPCC's files know whole ns: starts
 * are rounded to nearest. Returns 0, WH_ERR_IO or WH_ERR_NOMEM.
 */
int export_flows(FILE *f, const struct sim *s) WH_MUST_CHECK;

#endif
