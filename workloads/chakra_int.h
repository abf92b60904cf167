/*
 * chakra_int.h - what reader and writer of execution traces share with the trace.
 */
#ifndef WH_CHAKRA_INT_H
#define WH_CHAKRA_INT_H

#include "chakra.h"

/* et__add_text - copies a string into the trace. WH_ERR_NOMEM, WH_ERR_LIMIT (4 GiB). */
int et__add_text(struct et_trace *t, const char *text, uint32_t *out_at) WH_MUST_CHECK;

#endif
