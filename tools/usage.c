/* usage.c - see usage.h. */
#include "usage.h"

#include <sys/resource.h>

double usage_cpu_s(void)
{
    struct rusage u;

    (void)getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6;
}

int64_t usage_peak_rss_bytes(void)
{
    struct rusage u;

    (void)getrusage(RUSAGE_SELF, &u);
    return (int64_t)u.ru_maxrss * 1024;
}
