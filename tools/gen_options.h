/*
 * gen_options.h - command lines of wormhole gen. Conventions as in options.h.
 */
#ifndef WH_GEN_OPTIONS_H
#define WH_GEN_OPTIONS_H

#include "flowgen.h"
#include "options.h"
#include "topogen.h"

#include <stdio.h>

struct gen_topology_options {
    struct topo_spec spec;
    const char *path; /* NULL: standard output */
};

struct gen_flows_options {
    struct flow_request request; /* its cdf is still empty */
    const char *topology_path;
    const char *cdf_path, *cdf_name; /* at most one is set */
    const char *path;                /* NULL: standard output */
};

int gen_parse_topology(int argc, char **argv, struct gen_topology_options *o,
                       struct err_info *e) WH_MUST_CHECK;
int gen_parse_flows(int argc, char **argv, struct gen_flows_options *o,
                    struct err_info *e) WH_MUST_CHECK;
void gen_print_topology_help(FILE *out);
void gen_print_flows_help(FILE *out);

#endif
