/*
 * export_et.h - what a DAG did, as Chakra execution traces.
 */
#ifndef WH_EXPORT_ET_H
#define WH_EXPORT_ET_H

#include "dag_record.h"

#include <stdio.h>

/*
 * export_et_rank - the trace of one rank. Durations are whole us there, rounded to nearest, at
 * least 1; collectives of a group have its id, its row plus 1, as pg_name, unless all ranks are in
 * it. Errors: WH_ERR_INPUT (a collective that the format does not have), WH_ERR_IO, WH_ERR_NOMEM.
 */
int export_et_rank(FILE *f, const struct dag_record *r, uint32_t rank,
                   struct err_info *e) WH_MUST_CHECK;

/* export_et_groups - the communicator groups that the traces name. Returns 0 or WH_ERR_IO. */
int export_et_groups(FILE *f, const struct dag_record *r) WH_MUST_CHECK;

#endif
