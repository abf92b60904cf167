/*
 * fuzz_htsim_topo.c - any bytes as a topology. In what is accepted every switch has as many ports
 * as its tier says.
 */
#include "fuzz_file.h"
#include "htsim.h"

#include <string.h>

static void check_ports(const struct htsim_topo *t, uint32_t first, uint32_t count, uint32_t ports)
{
    for (uint32_t n = first; n < first + count; n++)
        check(t->topo->first_port[n + 1] - t->topo->first_port[n] == ports, "node %u: %u ports", n,
              t->topo->first_port[n + 1] - t->topo->first_port[n]);
}

static void check_topo(const struct htsim_topo *t)
{
    const uint32_t tors = t->host_count, aggs = tors + t->tor_count, cores = aggs + t->agg_count;

    check(t->topo->host_count == t->host_count, "%u hosts", t->topo->host_count);
    check(t->topo->node_count == cores + t->core_count, "%u nodes", t->topo->node_count);
    check_ports(t, 0, t->host_count, 1);
    check_ports(t, tors, t->tor_count, t->tier[0].radix_down + t->tier[0].radix_up);
    check_ports(t, aggs, t->agg_count, t->tier[1].radix_down + t->tier[1].radix_up);
    check_ports(t, cores, t->core_count, t->tier[2].radix_down);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct fuzz_file f;
    struct err_info e = {0};
    struct htsim_topo t = {0};

    fuzz_file_open(&f, data, bytes);
    if (htsim_read_topo(f.path, &t, NULL, &e) == 0)
        check_topo(&t);
    else
        check(strstr(e.text, "expected") && !t.topo, "no reason: %s", e.text);
    htsim_topo_fini(&t);
    fuzz_file_close(&f);
    return 0;
}
