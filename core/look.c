/*
 * look.c - see look.h.
 */
#include "look.h"

#include "scratch.h"

#include <stdlib.h>
#include <string.h>

#define KEY_KEPT_BYTES                                                                             \
    (64u << 10) /* larger buffers are not kept: there may be LOOK_MAX of them                      \
                 */

/* What a look-up costs, and what a flow adds to it; taking a state, by its bytes. */
#define LOOK_EVENTS 8u
#define LOOK_EVENTS_PER_FLOW 8u
#define TAKE_EVENTS 8u
#define TAKE_BYTES_PER_EVENT 512u

/*
 * Batches of lighter ones are not shared. What another worker has written the coordinator reads
 * right after it, in the control events that follow, and fetching it from the other's cache costs
 * what was gained: partitions of one or two flows on two threads, wall time of the run:
 * llama-70b-512 0.253 s not shared, 0.261 s shared; gpt-175b-1024 5.5 s and 6.2 s (medians in turn,
 * --memo fcg).
 */
#define SHARED_EVENTS_MIN 72u /* a look-up of 8 flows */

uint64_t look_weight(const struct part *p)
{
    return LOOK_EVENTS + LOOK_EVENTS_PER_FLOW * (uint64_t)p->flow_count;
}

uint64_t look_taking_weight(const struct part *p)
{
    return TAKE_EVENTS + p->known.count / TAKE_BYTES_PER_EVENT;
}

/* The partition is the worker's until the end of the task. */
static void prepare(void *arg, struct pool_worker *w)
{
    struct look *l = arg;
    struct part *p = l->p;
    const uint32_t worker = w ? pool_worker_id(w) : 0;

    p->worker = worker;
    p->scratch = &p->s->scratch[worker];
    l->work->prepare(l);
    p->scratch = p->s->scratch;
}

static void make_rows(struct sim *s)
{
    s->look = aligned_alloc(alignof(struct look), LOOK_MAX * sizeof *s->look);
    check(s->look != NULL, "out of memory for %u look-ups", LOOK_MAX);
    memset(s->look, 0, LOOK_MAX * sizeof *s->look);
    for (uint32_t i = 0; i < LOOK_MAX; i++)
        s->look[i].task = (struct pool_task){.fn = prepare, .arg = &s->look[i]};
}

struct look *look_add(struct sim *s, const struct look_work *w, struct part *p, uint64_t weight)
{
    struct look *l;

    if (!s->look)
        make_rows(s);
    if (s->look_count == LOOK_MAX || (s->look_count && s->look_flows >= LOOK_FLOWS_MAX))
        look_run(s);
    l = &s->look[s->look_count++];
    s->look_flows += p->flow_count;
    l->work = w;
    l->p = p;
    l->task.weight = weight;
    l->task.worker_id = p->task.worker_id; /* in whose cache it is */
    l->found = l->done = l->origin = NULL;
    memset(l->hits, 0, sizeof l->hits);
    l->has_look = l->is_declined = 0;
    return l;
}

/* Audits execute what is being taken, and count for all: they stay with the coordinator. */
static int is_shared(const struct sim *s)
{
    uint64_t weight = 0;

    if (!s->pool || s->look_count < 2 || s->audit_share > 0)
        return 0;
    for (uint32_t i = 0; i < s->look_count; i++)
        weight += s->look[i].task.weight;
    return s->probe.shares_all || weight >= (uint64_t)s->look_count * SHARED_EVENTS_MIN;
}

static void prepare_all(struct sim *s)
{
    struct pool_task *task[LOOK_MAX];

    if (!is_shared(s)) {
        for (uint32_t i = 0; i < s->look_count; i++)
            prepare(&s->look[i], NULL);
        return;
    }
    for (uint32_t i = 0; i < s->look_count; i++)
        task[i] = &s->look[i].task;
    pool_round(s->pool, task, s->look_count);
}

/* All that was found, before anything is inserted and evicts it. */
static void hold_all(struct sim *s)
{
    for (uint32_t i = 0; i < s->look_count; i++) {
        struct look *l = &s->look[i];

        if (l->found)
            s->memo.hold(l->found);
        if (l->done)
            s->memo.release(s->memo.ctx, l->done);
        if (l->origin)
            s->memo.release(s->memo.ctx, l->origin);
        l->p->task.worker_id = l->task.worker_id;
    }
}

void look_run(struct sim *s)
{
    prepare_all(s);
    hold_all(s);
    for (uint32_t i = 0; i < s->look_count; i++) {
        struct look *l = &s->look[i];

        if (l->work->commit)
            l->work->commit(l);
        if (l->key.cap > KEY_KEPT_BYTES)
            bytes_fini(&l->key);
    }
    s->look_count = s->look_flows = 0;
}

void look_fini(struct sim *s)
{
    for (uint32_t i = 0; s->look && i < LOOK_MAX; i++)
        bytes_fini(&s->look[i].key);
    free(s->look);
}
