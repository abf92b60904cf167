/*
 * shard.h - a partition too large for one worker, cut at links. For core/.
 *
 * The network is cut into shards of nodes once (shard_map.c). A partition that is executed by
 * shards (shard.c) has a struct part for each of them, with its own calendar and clock; ports,
 * flows and interfaces stay where they are, and a shard touches only rows of its nodes. What is
 * sent over a cut wire goes into a mailbox and arrives after the window: shards advance in windows
 * of the least delay of a cut wire, so nothing of a window can matter to another shard in it.
 *
 * Membership, control events and results know nothing of shards. Between windows the coordinator
 * acts as the partition itself (the home); the events that it schedules are handed to the shards
 * when they next run. The order of events is a property of the model, so results are the same bytes
 * as without shards.
 */
#ifndef WH_SHARD_H
#define WH_SHARD_H

#include "err.h"

#include <stdint.h>

#define SHARDS_MAX 256u

struct part;
struct sim;

/* A wire between shards, as its receiving end sees it. */
struct cut_wire {
    uint32_t head, tail; /* packets under way, delivered ones only */
    uint32_t port;       /* that sends */
    uint32_t in_port;    /* at the far end */
};

/* How the network is cut; for good once it is made. */
struct shard_map {
    uint32_t count;        /* 1: it cannot be cut */
    int64_t window_ps;     /* least delay of a cut wire */
    uint16_t *of_port;     /* shape: [port_count], shard of the port's owner */
    uint32_t *cut;         /* shape: [port_count], row of wire + 1; 0: not cut */
    struct cut_wire *wire; /* shape: [cut_count], by receiving shard */
    uint32_t cut_count;
};

/*
 * shard_map_make - cuts the network into at most @count shards, whole hosts and switches each.
 * Links of less delay than the others are not cut, nor those between a host and its switch where
 * that leaves enough pieces. Errors: WH_ERR_NOMEM.
 */
int shard_map_make(const struct sim *s, uint32_t count, struct shard_map *out) WH_MUST_CHECK;
void shard_map_fini(struct shard_map *m);

/* ---- coordinator ---- */

/* Is the partition, or should it be, executed by shards in the round that is being prepared?
 * @weight, @total: events expected of it and of all partitions in the round. */
int shard_use(struct part *p, uint64_t weight, uint64_t total);
/* None can be, if so many events are expected of all of them. */
int shard_is_idle(const struct sim *s, uint64_t total);
/* part_run_plain of a partition that shard_use was true for. */
void shard_run(struct part *p);
/* The partition is one again; nothing if it is. */
void shard_gather(struct part *p);
/* Packets on their way between shards are put on their wires. */
void shard_flush(struct part *p);
/* First packet on a wire of the partition, 0: none. */
uint32_t shard_wire_head(struct part *p, uint32_t port);
/* No event of the partition comes before it, local. */
int64_t shard_next(const struct part *p);
/* When the first announced last packet from @from on arrives, forgetting earlier ones; TIME_NEVER:
 * none. */
int64_t shard_first_final(struct part *p, int64_t from);
/* Packets that the partition has taken from others on wires that are cut go where shards look. */
void shard_adopt_wires(struct part *p);
/* For checks: shard @i, NULL past the last one or if there are none. */
struct part *shard_at(const struct part *p, uint32_t i);
void shard_fini(struct part *p);

/* ---- while shards run, and the home at control events ---- */

/* The packet, whose arrival is known, leaves by a cut wire. */
void shard_send(struct part *p, uint32_t port, uint32_t row);
/* The acknowledgement travels beside the network to a sender in another shard. Returns 0 if the
 * sender is in this one. */
int shard_send_bypass(struct part *p, uint32_t row);

#endif
