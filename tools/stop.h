/*
 * stop.h - SIGINT and SIGTERM during a command: the first one is noted, for the next poll of the
 * simulation to find; the second one kills the process.
 * Threading: one command at a time watches.
 */
#ifndef WH_STOP_H
#define WH_STOP_H

/* stop_watch - from now on; forgets an earlier signal. */
void stop_watch(void);

/* stop_is_asked - a signal has come. */
int stop_is_asked(void);

/* stop_name - "SIGINT" or "SIGTERM": the one that came. */
const char *stop_name(void);

#endif
