/*
 * cmd_bench.c - wormhole bench: which of the benchmarks.
 */
#include "cmd.h"

#include <string.h>

int cmd_bench(int argc, char **argv, FILE *out, FILE *err)
{
    const char *what = argc > 1 ? argv[1] : "";

    if (!strcmp(what, "collective"))
        return cmd_bench_collective(argc - 1, argv + 1, out, err);
    if (!strcmp(what, "scaling"))
        return cmd_bench_scaling(argc - 1, argv + 1, out, err);
    if (!strcmp(what, "--help") || !strcmp(what, "-h")) {
        fprintf(out, "usage: wormhole bench collective OPERATION [options]\n"
                     "       wormhole bench scaling SCENARIO.yaml | --hpcc CONFIG.txt [options]\n\n"
                     "More: wormhole bench collective --help, wormhole bench scaling --help\n");
        return EXIT_DONE;
    }
    fprintf(err, "wormhole: bench: found '%s', expected collective or scaling\n", what);
    return EXIT_BAD_INPUT;
}
