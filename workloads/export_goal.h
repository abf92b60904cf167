/*
 * export_goal.h - what a DAG did, as a GOAL schedule: collectives are lowered to their messages.
 */
#ifndef WH_EXPORT_GOAL_H
#define WH_EXPORT_GOAL_H

#include "dag_record.h"

#include <stdio.h>

/*
 * export_goal - the whole as text. Calculations are whole ns, rounded to nearest. Streams become
 * cpus; each message has a tag of its own. Where an inbox of a collective has several senders, its
 * messages are waited for in the order of their senders.
 * Errors: WH_ERR_INPUT (ranks that have not called a collective), WH_ERR_LIMIT (2^32 - 1 messages),
 * WH_ERR_IO, WH_ERR_NOMEM.
 */
int export_goal(FILE *f, const struct dag_record *r, struct err_info *e) WH_MUST_CHECK;

#endif
