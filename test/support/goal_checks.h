/*
 * goal_checks.h - what holds for every schedule that was read, for the fuzz targets of its forms.
 */
#ifndef WH_TEST_GOAL_CHECKS_H
#define WH_TEST_GOAL_CHECKS_H

#include "goal.h"

/* goal_check_round_trip - what is written is read and written again as the same bytes. */
void goal_check_round_trip(const struct goal *g);

/* goal_check_run - the message-level model ends: with times, or with a sentence that says why not.
 */
void goal_check_run(const struct goal *g);

#endif
