/*
 * fuzz_hpcc_flows.c - any bytes as a flow list, as given paths and as a node list of a network of
 * four hosts. Accepted flows are sorted, written and read back unchanged.
 */
#include "fuzz_file.h"
#include "hpcc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Hosts 0 to 3 under switch 4. */
static struct topo *make_star(void)
{
    const struct link_class class = {.rate_bps = INT64_C(100000000000), .delay_ps = 1000000};
    struct topo *t = NULL;
    int rc = topo_create(&t, 5);

    check(rc == 0, "code %d", rc);
    topo_set_kind(t, 4, NODE_SWITCH);
    check(topo_add_class(t, &class) == 0, "%u classes", t->class_count);
    for (uint32_t n = 0; n < 4; n++) {
        rc = topo_add_link(t, n, 4, 0);
        check(rc == 0, "code %d", rc);
    }
    rc = topo_finish(t);
    check(rc == 0, "code %d", rc);
    return t;
}

static void check_round_trip(struct scenario *sc)
{
    const uint32_t count = sc->flow_count;
    struct fuzz_file f;
    struct err_info e = {0};
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);

    check(out, "no memory stream for %u flows", count);
    check(hpcc_write_flows(out, sc->flows, count) == 0, "cannot write %u flows", count);
    fclose(out);
    fuzz_file_open(&f, (const uint8_t *)text, bytes);
    int rc = hpcc_read_flows(f.path, sc->topo, sc, NULL, &e);

    check(rc == 0, "what was written is refused: line %ld: %s", e.line, e.text);
    check(sc->flow_count == 2 * count, "%u flows, %u read", count, sc->flow_count - count);
    for (uint32_t i = 0; i < count; i++) {
        check(i == 0 || sc->flows[i - 1].start_ps <= sc->flows[i].start_ps, "flow %u", i);
        check(!memcmp(&sc->flows[i], &sc->flows[count + i], sizeof *sc->flows), "flow %u", i);
    }
    fuzz_file_close(&f);
    free(text);
    sc->flow_count = count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    const struct flow_spec flow = {.src = 0, .dst = 1, .bytes = 1};
    struct fuzz_file f;
    struct scenario sc;
    struct err_info e = {0};

    fuzz_file_open(&f, data, bytes);
    scenario_init(&sc);
    sc.topo = make_star();
    if (hpcc_read_flows(f.path, sc.topo, &sc, NULL, &e) == 0)
        check_round_trip(&sc);
    else
        check(strstr(e.text, "expected"), "no reason: %s", e.text);
    if (scenario_add_flow(&sc, &flow) == 0 && hpcc_read_paths(f.path, &sc, &e) == 0)
        check(sc.path_count <= bytes, "%u paths", sc.path_count);
    if (hpcc_read_nodes(f.path, sc.topo, &sc, &e) == 0)
        check(sc.filter_count <= bytes, "%u nodes", sc.filter_count);
    scenario_fini(&sc);
    fuzz_file_close(&f);
    return 0;
}
