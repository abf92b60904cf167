/*
 * fuzz_simai_topology.c - any bytes as a SimAI topology: refused with a sentence, or GPUs are the
 * first nodes and each has a link.
 */
#include "fuzz_file.h"
#include "simai.h"

#include <string.h>

static void check_topology(const struct simai_topology *s)
{
    const struct topo *t = s->topo;
    uint32_t nvswitches = 0;

    check(s->gpu_count == t->host_count && s->gpu_count > 0, "%u GPUs", s->gpu_count);
    check(s->gpus_per_server > 0, "%u GPUs per server", s->gpus_per_server);
    for (uint32_t n = 0; n < t->node_count; n++) {
        check((t->kind[n] == NODE_HOST) == (n < s->gpu_count), "node %u is a %u", n, t->kind[n]);
        check(n >= s->gpu_count || t->first_port[n] < t->first_port[n + 1], "GPU %u alone", n);
        nvswitches += t->kind[n] == NODE_NVSWITCH;
    }
    check(nvswitches == s->nvswitch_count, "%u NVSwitches, %u declared", nvswitches,
          s->nvswitch_count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct fuzz_file f;
    struct simai_topology t = {0};
    struct err_info e = {0};

    fuzz_file_open(&f, data, bytes);
    if (simai_read_topology(f.path, &t, NULL, &e) == 0)
        check_topology(&t);
    else
        check(strstr(e.text, "expected"), "no reason: %s", e.text);
    topo_destroy(t.topo);
    fuzz_file_close(&f);
    return 0;
}
