/*
 * fuzz_simai_workload.c - any bytes as a SimAI workload: refused with a sentence, or its numbers
 * are in range and each rank is found in the groups that it is said to be in.
 */
#include "fuzz_file.h"
#include "simai.h"

#include <string.h>

#define GPUS 4096

static void check_groups(const struct simai_workload *w, uint32_t rank)
{
    for (int s = SIMAI_TP; s <= SIMAI_ALL; s++) {
        enum simai_scope scope = (enum simai_scope)s;
        uint32_t group = simai_group_id(w, scope, rank), size = simai_group_size(w, scope);
        uint32_t found = 0;

        for (uint32_t i = 0; i < size; i++)
            found += simai_group_member(w, scope, group, i) == rank;
        check(found == 1, "rank %u is %u times in group %u of scope %d", rank, found, group, s);
    }
}

static void check_workload(const struct simai_workload *w)
{
    for (uint32_t i = 0; i < w->layer_count; i++) {
        const struct simai_layer *l = &w->layers[i];

        check(l->dep >= -1 && l->dep < (int32_t)w->layer_count, "layer %u: dep %d", i, l->dep);
        for (int p = 0; p < SIMAI_PASS_COUNT; p++)
            check(l->pass[p].comm_bytes >= 0 && l->pass[p].compute_ns >= 0, "layer %u pass %d", i,
                  p);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct fuzz_file f;
    struct simai_workload *w = NULL;
    struct err_info e = {0};

    fuzz_file_open(&f, data, bytes);
    if (simai_read_workload(f.path, &w, NULL, &e)) {
        check(strstr(e.text, "expected"), "no reason: %s", e.text);
    } else {
        check_workload(w);
        if (simai_workload_fit(w, GPUS, &e))
            check(strstr(e.text, "expected"), "no reason: %s", e.text);
        else if (w->policy != SIMAI_POLICY_MICRO)
            check_groups(w, (uint32_t)bytes % w->rank_count);
    }
    simai_workload_destroy(w);
    fuzz_file_close(&f);
    return 0;
}
