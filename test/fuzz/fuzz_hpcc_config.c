/*
 * fuzz_hpcc_config.c - any bytes as a configuration; the files it names are a fixed small network,
 * given as overrides. What is accepted passes the checks of the model.
 */
#include "fuzz_file.h"
#include "hpcc.h"

#include <string.h>

static const char topology_text[] = "3 1 2\n2\n0 2 100Gbps 1us 0\n1 2 100Gbps 1us 0\n";
static const char flows_text[] = "1\n0 1 3 100 1000 2.0\n";

/* Formats nothing, but reads the whole text. */
static void count_text(void *ctx, const char *text)
{
    *(size_t *)ctx += strlen(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct fuzz_file config, topology, flows;
    struct scenario sc;
    struct err_info e = {0};
    size_t warned = 0;
    const struct warn_sink sink = {.fn = count_text, .ctx = &warned};

    fuzz_file_open(&config, data, bytes);
    fuzz_file_open(&topology, (const uint8_t *)topology_text, strlen(topology_text));
    fuzz_file_open(&flows, (const uint8_t *)flows_text, strlen(flows_text));
    const struct hpcc_override overrides[] = {
        {"TOPOLOGY_FILE", topology.path}, {"FLOW_FILE", flows.path}, {"TRACE_FILE", flows.path}};

    scenario_init(&sc);
    if (hpcc_load(config.path, NULL, overrides, 3, &sc, &sink, &e) == 0) {
        int rc = config_check(&sc.cfg, &e);

        check(rc == 0, "accepted but out of range: %s", e.text);
        check(sc.flow_count == 1, "%u flows", sc.flow_count);
    } else {
        check(strstr(e.text, "expected"), "no reason: %s", e.text);
    }
    scenario_fini(&sc);
    fuzz_file_close(&flows);
    fuzz_file_close(&topology);
    fuzz_file_close(&config);
    return 0;
}
