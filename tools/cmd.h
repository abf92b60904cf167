/*
 * cmd.h - the sub-commands and their exit codes.
 *
 * Each command gets the arguments that follow its name (argv[0] is the name itself), prints results
 * on
 * @out and diagnostics on @err, and returns the exit code of the process.
 */
#ifndef WH_CMD_H
#define WH_CMD_H

#include <stdio.h>

#define EXIT_DONE 0
#define EXIT_RUN_FAILED 1 /* the run failed, or a limit of compare was exceeded */
#define EXIT_BAD_INPUT 2  /* an input or the command line is wrong */

int cmd_run(int argc, char **argv, FILE *out, FILE *err);
int cmd_run_foreign(int argc, char **argv, FILE *out, FILE *err); /* called by cmd_run */
int cmd_check(int argc, char **argv, FILE *out, FILE *err);
int cmd_gen(int argc, char **argv, FILE *out, FILE *err);
int cmd_bench(int argc, char **argv, FILE *out, FILE *err);
int cmd_bench_collective(int argc, char **argv, FILE *out, FILE *err); /* called by cmd_bench */
int cmd_bench_scaling(int argc, char **argv, FILE *out, FILE *err);    /* called by cmd_bench */
int cmd_noise(int argc, char **argv, FILE *out, FILE *err);
int cmd_memo(int argc, char **argv, FILE *out, FILE *err);
int cmd_compare(int argc, char **argv, FILE *out, FILE *err);

#endif
