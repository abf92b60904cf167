/*
 * usage.h - what this process has used of the machine. Any thread.
 */
#ifndef WH_USAGE_H
#define WH_USAGE_H

#include <stdint.h>

double usage_cpu_s(void);           /* user and system time so far [s] */
int64_t usage_peak_rss_bytes(void); /* largest resident memory so far [B] */

#endif
