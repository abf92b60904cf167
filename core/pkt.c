/*
 * pkt.c - packets: rows of one reserved array, a free list per partition. New rows come from the
 * range of the worker that runs the partition, so that workers need not agree. Row numbers have no
 * influence on results.
 */
#include "sim_int.h"

uint32_t pkt_alloc(struct part *p)
{
    struct pkt_range *range;
    uint32_t row = p->pkt_free;

    if (row) {
        p->pkt_free = p->pkt[row].next;
        return row;
    }
    range = &p->s->pkt_range[p->worker];
    row = range->next++;
    check(row < range->end, "%u packets in the network at once", row - range->first);
    return row;
}

uint32_t pkt_handed(const struct sim *s)
{
    uint32_t rows = 0;

    for (uint32_t i = 0; i < s->worker_count; i++)
        rows += s->pkt_range[i].next - s->pkt_range[i].first;
    return rows;
}
