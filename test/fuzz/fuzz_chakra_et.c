/*
 * fuzz_chakra_et.c - any bytes as an execution trace: refused with a sentence, or written and read
 * back with the same nodes and dependencies.
 */
#include "chakra.h"
#include "fuzz_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check_equal(const struct et_trace *a, const struct et_trace *b)
{
    check(a->node_count == b->node_count, "%u nodes, %u read", a->node_count, b->node_count);
    check(a->dep_count == b->dep_count, "%u dependencies, %u read", a->dep_count, b->dep_count);
    for (uint32_t i = 0; i < a->node_count; i++) {
        const struct et_node *x = &a->nodes[i], *y = &b->nodes[i];

        check(x->id == y->id && x->type == y->type && x->duration_us == y->duration_us,
              "node %u differs", i);
        check(!strcmp(et_text(a, x->name), et_text(b, y->name)), "node %u has another name", i);
        check(x->num_ops == y->num_ops && x->tensor_bytes == y->tensor_bytes, "node %u: work", i);
        if (x->type >= ET_SEND)
            check(x->comm_bytes == y->comm_bytes && x->comm_tag == y->comm_tag &&
                      x->dim_count == y->dim_count && x->dim_mask == y->dim_mask,
                  "node %u communicates otherwise", i);
    }
    check(!memcmp(a->deps, b->deps, a->dep_count * sizeof *a->deps), "other dependencies of %u",
          a->dep_count);
}

static void check_round_trip(const struct et_trace *t)
{
    struct fuzz_file f;
    struct et_trace *back = NULL;
    struct err_info e = {0};
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);

    check(out, "no memory stream for %u nodes", t->node_count);
    check(et_write(out, t) == 0, "cannot write %u nodes", t->node_count);
    fclose(out);
    fuzz_file_open(&f, (const uint8_t *)text, bytes);
    int rc = et_read(f.path, t->rank, NULL, &back, NULL, &e);

    check(rc == 0, "what was written is refused: %s", e.text);
    check_equal(t, back);
    et_trace_destroy(back);
    fuzz_file_close(&f);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct fuzz_file f;
    struct et_trace *t = NULL;
    struct err_info e = {0};

    fuzz_file_open(&f, data, bytes);
    if (et_read(f.path, 3, NULL, &t, NULL, &e) == 0)
        check_round_trip(t);
    else
        check(strstr(e.text, "expected"), "no reason: %s", e.text);
    et_trace_destroy(t);
    fuzz_file_close(&f);
    return 0;
}
