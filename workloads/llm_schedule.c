/*
 * llm_schedule.c - in which order a stage works on micro-batches.
 *
 * 1F1B: some forward passes to fill the pipeline, then one forward and one backward in turn, then
 * the backward passes that are left. Interleaved, with v chunks of layers per stage (Narayanan et
 * al., SC 2021): micro-batches go in groups of p; a group passes through a chunk before the stage
 * turns to the next chunk. What happens n-th is a function of n, so nothing is kept.
 */
#include "llm_int.h"

uint32_t llm__slot_count(const struct llm_spec *s)
{
    return 2 * s->micro_batches * s->virtual_stages;
}

/* Forward passes before the first backward pass. */
static uint32_t warm_up(const struct llm_spec *s, uint32_t stage)
{
    const uint32_t total = s->micro_batches * s->virtual_stages;
    const uint32_t below = s->pp - 1 - stage;
    const uint32_t want =
        s->virtual_stages == 1 ? below : 2 * below + (s->virtual_stages - 1) * s->pp;

    return want < total ? want : total;
}

/* The @n-th pass of its direction. */
static void set_pass(const struct llm_spec *s, uint32_t n, int is_backward, struct llm_slot *out)
{
    const uint32_t v = s->virtual_stages, group = s->pp * v;
    const uint32_t chunk = n % group / s->pp;

    out->is_backward = is_backward != 0;
    if (v == 1) {
        out->chunk = 0;
        out->micro_batch = n;
        return;
    }
    out->chunk = is_backward ? v - 1 - chunk : chunk;
    out->micro_batch = n / group * s->pp + n % s->pp;
}

void llm__slot(const struct llm_spec *s, uint32_t stage, uint32_t slot, struct llm_slot *out)
{
    const uint32_t total = s->micro_batches * s->virtual_stages;
    const uint32_t first = warm_up(s, stage);

    if (slot < first)
        set_pass(s, slot, 0, out);
    else if (slot < first + 2 * (total - first))
        set_pass(s, (slot - first) / 2 + ((slot - first) % 2 ? 0 : first), (slot - first) % 2, out);
    else
        set_pass(s, slot - total, 1, out);
}
