/*
 * stop.c - see stop.h.
 */
#include "stop.h"

#include <signal.h>
#include <stddef.h>

/* The one variable of file scope in the tools: a signal handler has no other way to say anything.
 */
static volatile sig_atomic_t stop_signal;

static void on_signal(int number)
{
    stop_signal = number;
}

void stop_watch(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};

    stop_signal = 0;
    sigemptyset(&action.sa_mask);
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
}

int stop_is_asked(void)
{
    return stop_signal != 0;
}

const char *stop_name(void)
{
    return stop_signal == SIGTERM ? "SIGTERM" : "SIGINT";
}
