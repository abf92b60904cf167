/*
 * simai_topology.c - topology files of SimAI: those of HPCC with another header, and GPUs in place
 * of hosts. The graph decides which NVSwitch serves which GPU, not the numbering.
 */
#include "simai.h"

#include "hpcc_int.h"

#include <string.h>

static int is_known_type(const char *type)
{
    static const char *const types[] = {"A100", "A800", "H100", "H800", "NONE"};

    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (!strcmp(type, types[i]))
            return 1;
    return 0;
}

/* Ranks are GPUs, so GPUs have to be the nodes 0 to G-1. */
static int check_numbering(const char *path, const struct topo *t, struct err_info *e)
{
    uint32_t gpu_count = 0;

    for (uint32_t n = 0; n < t->node_count; n++)
        gpu_count += t->kind[n] == NODE_HOST;
    if (gpu_count == 0)
        return err_input(e, path, 1, "no GPU: all nodes are switches", "at least one GPU");
    for (uint32_t n = 0; n < gpu_count; n++)
        if (t->kind[n] != NODE_HOST)
            return err_set(e, WH_ERR_INPUT, path, 1,
                           "found switch %u among the first %u nodes, expected the GPUs to be the "
                           "nodes 0 to %u",
                           n, gpu_count, gpu_count - 1);
    return 0;
}

int simai_read_topology(const char *path, struct simai_topology *out, const struct warn_sink *sink,
                        struct err_info *e)
{
    const struct hpcc_link_rules rules = {.round_ps = 1};
    struct hpcc_servers servers;
    struct topo *t = NULL;
    int rc = hpcc__read_topology(path, &rules, &servers, &t, sink, e);

    if (!rc)
        rc = check_numbering(path, t, e);
    if (rc) {
        topo_destroy(t);
        return rc;
    }
    if (!is_known_type(servers.gpu_type))
        warn(sink, "%s: GPU type %s is not one of A100 A800 H100 H800 NONE; it has no effect", path,
             servers.gpu_type);
    *out = (struct simai_topology){.topo = t,
                                   .gpu_count = t->host_count,
                                   .gpus_per_server = servers.gpus_per_server,
                                   .nvswitch_count = servers.nvswitch_count};
    strcpy(out->gpu_type, servers.gpu_type);
    return 0;
}
