/*
 * cmd_gen.c - wormhole gen: topologies and flow lists in HPCC format.
 *
 * A file is written only if everything was generated; if writing fails, it is removed.
 */
#include "cmd.h"

#include "gen_options.h"
#include "hpcc.h"
#include "load.h"
#include "out_file.h"

#include <errno.h>
#include <string.h>

/* What is written: a topology, or the flows of a scenario. */
struct product {
    const struct topo *topo;
    const struct scenario *flows; /* NULL: the topology */
};

static int write_product(FILE *f, const struct product *p)
{
    return p->flows ? hpcc_write_flows(f, p->flows->flows, p->flows->flow_count)
                    : hpcc_write_topology(f, p->topo);
}

static int write_to_file(const char *path, const struct product *p, struct err_info *e)
{
    struct out_set set = {.count = 0};
    struct out_file *o;
    int rc = out_open(&set, path, "-o", &o, e);

    if (rc)
        return rc;
    rc = write_product(o->f, p);
    if (rc)
        err_set(e, rc, path, 0, "cannot write: %s", strerror(errno));
    else
        rc = out_flush(&set, e);
    if (rc) {
        out_discard(&set);
        return rc;
    }
    return out_close(&set, e);
}

/* @path NULL or "-": @out. */
static int write_result(const char *path, FILE *out, const struct product *p, struct err_info *e)
{
    if (path && strcmp(path, "-"))
        return write_to_file(path, p, e);
    if (write_product(out, p))
        return err_set(e, WH_ERR_IO, NULL, 0, "cannot write: %s", strerror(errno));
    return 0;
}

static int exit_code(int rc, const struct err_info *e, FILE *err)
{
    const int code = load_exit_code(rc, e, err);

    return rc == WH_ERR_IO ? EXIT_RUN_FAILED : code;
}

static int gen_topology(int argc, char **argv, FILE *out, FILE *err)
{
    struct err_info e = {.text = ""};
    struct gen_topology_options o;
    struct product p = {.topo = NULL};
    struct topo *t = NULL;
    int rc = gen_parse_topology(argc, argv, &o, &e);

    if (rc == OPTIONS_HELP) {
        gen_print_topology_help(out);
        return EXIT_DONE;
    }
    if (!rc)
        rc = topo_generate(&o.spec, &t, &e);
    if (!rc) {
        p.topo = t;
        rc = write_result(o.path, out, &p, &e);
    }
    topo_destroy(t);
    return rc ? exit_code(rc, &e, err) : EXIT_DONE;
}

static int make_flows(struct gen_flows_options *o, struct scenario *sc, FILE *err,
                      struct err_info *e)
{
    const struct warn_sink sink = {load_warning, err};
    int rc = hpcc_read_topology(o->topology_path, &sc->topo, &sink, e);

    if (!rc && o->cdf_path)
        rc = cdf_read(o->cdf_path, &o->request.cdf, e);
    if (!rc && o->cdf_name && cdf_builtin(o->cdf_name, &o->request.cdf))
        rc = err_input(e, NULL, 0, o->cdf_name, "--distribution web-search or hadoop");
    if (!rc)
        rc = flows_generate(&o->request, sc->topo, sc, e);
    return rc;
}

static int gen_flows(int argc, char **argv, FILE *out, FILE *err)
{
    struct err_info e = {.text = ""};
    struct gen_flows_options o;
    struct scenario sc;
    struct product p = {.flows = &sc};
    int rc = gen_parse_flows(argc, argv, &o, &e);

    if (rc == OPTIONS_HELP) {
        gen_print_flows_help(out);
        return EXIT_DONE;
    }
    if (rc)
        return exit_code(rc, &e, err);
    scenario_init(&sc);
    rc = make_flows(&o, &sc, err, &e);
    if (!rc)
        rc = write_result(o.path, out, &p, &e);
    cdf_fini(&o.request.cdf);
    scenario_fini(&sc);
    return rc ? exit_code(rc, &e, err) : EXIT_DONE;
}

static void print_help(FILE *out)
{
    fprintf(
        out,
        "usage: wormhole gen topology KIND [options] [-o FILE]\n"
        "       wormhole gen flows PATTERN --topology FILE [options] [-o FILE]\n\n"
        "Writes HPCC format, on standard output without -o. More: wormhole gen topology --help,\n"
        "wormhole gen flows --help.\n");
}

int cmd_gen(int argc, char **argv, FILE *out, FILE *err)
{
    const char *what = argc > 1 ? argv[1] : "";

    if (!strcmp(what, "topology"))
        return gen_topology(argc - 1, argv + 1, out, err);
    if (!strcmp(what, "flows"))
        return gen_flows(argc - 1, argv + 1, out, err);
    if (!strcmp(what, "--help") || !strcmp(what, "-h")) {
        print_help(out);
        return EXIT_DONE;
    }
    fprintf(err, "wormhole: gen: found '%s', expected topology or flows\n", what);
    return EXIT_BAD_INPUT;
}
