/*
 * cmd_check.c - wormhole check: validates the input and prints the resolved scenario.
 */
#include "cmd.h"

#include "load.h"
#include "scenario_yaml.h"
#include "workload_run.h"

#include <errno.h>
#include <string.h>

static void print_help(FILE *out)
{
    fprintf(out,
            "usage: wormhole check SCENARIO.yaml | --hpcc CONFIG.txt [options]\n\n"
            "Reads and checks everything that 'wormhole run' would, prints the resolved scenario\n"
            "and runs nothing.\n\n"
            "  --paths FILE      paths of the flows (with --hpcc)\n"
            "  --set KEY=VALUE   override a setting (dotted name; with --hpcc a key of the file)\n"
            "  --seed S          seed of all random draws\n"
            "  --end TIME        stop time, such as 10ms\n");
}

/* Paths, stragglers and ECN rows are only checked against the network when it is built. */
static int check_network(struct scenario *sc, const struct warn_sink *sink, struct err_info *e)
{
    struct sim *s;
    const int rc = scenario_make_sim(sc, sink, &s, e);

    if (!rc)
        sim_destroy(s);
    return rc;
}

int cmd_check(int argc, char **argv, FILE *out, FILE *err)
{
    const struct warn_sink sink = {load_warning, err};
    struct err_info e = {.text = ""};
    struct input_options o;
    struct scenario sc;
    int rc = options_parse_check(argc, argv, &o, &e);

    if (rc == OPTIONS_HELP) {
        print_help(out);
        return EXIT_DONE;
    }
    if (rc)
        return load_exit_code(rc, &e, err);
    scenario_init(&sc);
    rc = load_scenario(&o, &sc, &sink, &e);
    if (!rc && scenario_print(&sc, out))
        rc = err_set(&e, WH_ERR_IO, NULL, 0, "cannot print the scenario: %s", strerror(errno));
    if (!rc && sc.llm)
        rc = workload_print_counts(&sc, out, &e);
    if (!rc)
        rc = check_network(&sc, &sink, &e);
    scenario_fini(&sc);
    return rc ? load_exit_code(rc, &e, err) : EXIT_DONE;
}
