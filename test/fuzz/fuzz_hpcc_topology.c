/*
 * fuzz_hpcc_topology.c - any bytes as a topology file: refused with a sentence, or written and read
 * back with the same numbers of nodes and links.
 */
#include "fuzz_file.h"
#include "hpcc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check_round_trip(const struct topo *t)
{
    struct fuzz_file f;
    struct topo *back = NULL;
    struct err_info e = {0};
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);

    check(out, "no memory stream for %u links", t->link_count);
    check(hpcc_write_topology(out, t) == 0, "cannot write %u links", t->link_count);
    fclose(out);
    fuzz_file_open(&f, (const uint8_t *)text, bytes);
    int rc = hpcc_read_topology(f.path, &back, NULL, &e);

    check(rc == 0, "what was written is refused: line %ld: %s", e.line, e.text);
    check(back->node_count == t->node_count, "%u nodes, %u read", t->node_count, back->node_count);
    check(back->link_count == t->link_count, "%u links, %u read", t->link_count, back->link_count);
    check(back->class_count == t->class_count, "%u classes, %u read", t->class_count,
          back->class_count);
    topo_destroy(back);
    fuzz_file_close(&f);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct fuzz_file f;
    struct topo *t = NULL;
    struct err_info e = {0};

    fuzz_file_open(&f, data, bytes);
    if (hpcc_read_topology(f.path, &t, NULL, &e) == 0)
        check_round_trip(t);
    else
        check(strstr(e.text, "expected"), "no reason: %s", e.text);
    topo_destroy(t);
    fuzz_file_close(&f);
    return 0;
}
