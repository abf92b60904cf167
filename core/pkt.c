/*
 * pkt.c - packets: rows of one reserved array, a free list per partition.
 */
#include "sim_int.h"

uint32_t pkt_alloc(struct part *p)
{
    uint32_t row = p->pkt_free;

    if (row) {
        p->pkt_free = p->pkt[row].next;
        return row;
    }
    row = p->s->pkt_used++;
    check(row < p->s->pkt_cap, "%u packets in the network at once", row);
    return row;
}
