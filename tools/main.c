/*
 * main.c - the wormhole command: dispatch only.
 */
#include "cmd.h"
#include "version.h"

#include <errno.h>
#include <string.h>

static int cmd_help(int argc, char **argv, FILE *out, FILE *err);
static int cmd_version(int argc, char **argv, FILE *out, FILE *err);

static const struct command {
    const char *name, *summary;
    int (*run)(int argc, char **argv, FILE *out, FILE *err);
} commands[] = {
    {"run", "simulate a scenario (YAML) or an HPCC configuration (--hpcc)", cmd_run},
    {"check", "validate the input, print the resolved scenario, run nothing", cmd_check},
    {"gen", "write a topology or a flow list in HPCC format", cmd_gen},
    {"bench", "tables: sizes of a collective (collective), numbers of threads (scaling)",
     cmd_bench},
    {"noise", "by how much results move when nothing that matters is changed", cmd_noise},
    {"memo", "look after a file of the memo (info, verify, clear)", cmd_memo},
    {"compare", "error of the flow completion times of one run against another", cmd_compare},
    {"help", "this text; 'wormhole COMMAND --help' explains a command", cmd_help},
    {"version", "version and commit", cmd_version},
};
#define COMMAND_COUNT (sizeof commands / sizeof commands[0])

static int cmd_help(int argc, char **argv, FILE *out, FILE *err)
{
    (void)argc;
    (void)argv;
    (void)err;
    fprintf(out, "wormhole - packet-level simulator of networks under LLM-training traffic\n\n"
                 "usage: wormhole COMMAND [arguments]\n\n");
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        fprintf(out, "  %-9s %s\n", commands[i].name, commands[i].summary);
    fprintf(out,
            "\nexit codes: 0 done, 1 the run failed, 2 the input or the command line is wrong\n");
    return EXIT_DONE;
}

static int cmd_version(int argc, char **argv, FILE *out, FILE *err)
{
    (void)argc;
    (void)argv;
    (void)err;
    fprintf(out, "wormhole %s (%s)\n", WH_VERSION, WH_COMMIT);
    return EXIT_DONE;
}

static const struct command *find_command(const char *name)
{
    if (!strcmp(name, "--help") || !strcmp(name, "-h"))
        name = "help";
    if (!strcmp(name, "--version"))
        name = "version";
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (!strcmp(commands[i].name, name))
            return &commands[i];
    }
    return NULL;
}

/* Results that could not be written must not look like success. */
static int flush_results(int rc)
{
    if (!fflush(stdout) && !ferror(stdout))
        return rc;
    fprintf(stderr, "wormhole: standard output: %s\n", strerror(errno));
    return rc ? rc : EXIT_RUN_FAILED;
}

int main(int argc, char **argv)
{
    const struct command *c;

    if (argc < 2) {
        (void)cmd_help(0, NULL, stderr, stderr);
        return EXIT_BAD_INPUT;
    }
    c = find_command(argv[1]);
    if (!c) {
        fprintf(stderr,
                "wormhole: found command '%s', expected one of run, check, gen, bench, noise, "
                "memo, compare, help, version\n",
                argv[1]);
        return EXIT_BAD_INPUT;
    }
    return flush_results(c->run(argc - 1, argv + 1, stdout, stderr));
}
