/*
 * run_job.c - see run_job.h.
 */
#include "run_job.h"

#include <stdlib.h>
#include <string.h>

void run_job_fini(struct run_job *j)
{
    if (j->destroy)
        j->destroy(j->impl);
    group_set_fini(&j->groups);
    placement_fini(&j->place);
    memset(j, 0, sizeof *j);
}

int run_job_place(struct run_job *j, const struct topo *t, uint32_t rank_count,
                  uint32_t gpus_per_server, struct err_info *e)
{
    const struct place_request r = {
        .kind = PLACE_PACKED, .rank_count = rank_count, .gpus_per_server = gpus_per_server};

    return placement_init(&j->place, t, &r, e);
}

int run_job_add_all(struct run_job *j, const char *name, uint32_t *id, struct err_info *e)
{
    const uint32_t count = j->place.rank_count;
    uint32_t *ranks = malloc(((size_t)count + 1) * sizeof *ranks);
    int rc;

    if (!ranks)
        return WH_ERR_NOMEM;
    for (uint32_t i = 0; i < count; i++)
        ranks[i] = i;
    rc = group_set_add(&j->groups, &j->place, name, ranks, count, id, e);
    free(ranks);
    return rc;
}

void run_job_fill(const struct run_job *j, struct dag_spec *spec)
{
    spec->place = &j->place;
    spec->groups = &j->groups;
    spec->program = j->program;
    spec->stream_count = j->stream_count;
    spec->event_count = j->event_count;
}

void run_job_attach(const struct run_job *j, struct dag *d)
{
    if (j->attach)
        j->attach(j->impl, d);
}
