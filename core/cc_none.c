/* cc_none.c - no congestion control: a fixed pacing rate (line rate unless one is given). */
#include "sim_int.h"

static void on_start(struct part *p, uint32_t flow, void *state)
{
    const int64_t rate = p->s->cfg.fixed_rate_bps;
    struct flow_tx *t = &p->tx[flow];

    (void)state;
    if (rate > 0 && rate < t->max_rate_bps)
        t->rate_bps = rate;
}

const struct cc_ops cc_none = {.name = "none", .on_start = on_start};
