/*
 * route.h - shortest paths and ECMP choice.
 *
 * Routes are by hop count; hosts do not forward unless told so. A pair of hosts is looked up by two
 * breadth-first searches that meet in the middle, so that the cost is that of the two
 * neighbourhoods and no table over the whole network is needed (4 million hosts). At each node the
 * next hops are all neighbours one hop nearer, ordered by node id, then by link. Threading: one
 * owner.
 */
#ifndef WH_ROUTE_H
#define WH_ROUTE_H

#include "topology.h"

struct route;

/* route_create - @topo must outlive it. */
int route_create(struct route **out, const struct topo *topo, int hosts_forward) WH_MUST_CHECK;
void route_destroy(struct route *r);

/* route_set_down - link @link is not used (or used again). */
void route_set_down(struct route *r, uint32_t link, int is_down);

/* The key that ECMP hashes, as the reference does: MurmurHash3 x86 32, seed = node id. */
struct route_key {
    uint32_t src_ip, dst_ip;
    uint16_t sport, dport;
};

/*
 * route_path - the ports from @src to @dst.
 * @salt: 0 for ECMP; other values give other choices (packet spraying)
 * @ports: shape [cap]
 * Returns: number of links, 0 if there is no path, WH_ERR_LIMIT if longer than @cap.
 */
int route_path(struct route *r, uint32_t src, uint32_t dst, const struct route_key *key,
               uint32_t salt, uint32_t *ports, uint32_t cap);

/*
 * route_max_pairs - largest base RTT and BDP over pairs of hosts, reference formula: rtt = 2 sum of
 * propagation + sum over hops of the time of @payload_bytes, bdp = rtt * smallest rate.
 * @sources_max: at most this many hosts, evenly spread, are taken as source; > 0
 * Returns: 0 or WH_ERR_NOMEM. Rounding: each time truncated to a multiple of @round_ps.
 */
int route_max_pairs(const struct topo *t, uint32_t payload_bytes, int64_t round_ps,
                    int hosts_forward, uint32_t sources_max, int64_t *rtt_ps,
                    int64_t *bdp_bytes) WH_MUST_CHECK;

/* Time of @payload_bytes at @rate_bps in the reference's RTT formula (truncated), and rate * rtt.
 */
int64_t route_payload_ps(uint32_t payload_bytes, int64_t rate_bps, int64_t round_ps);
int64_t route_bdp_bytes(int64_t rtt_ps, int64_t rate_bps);

/* route_node_ip - address that the reference gives to a node: 11.(id / 256).(id % 256).1. */
static inline uint32_t route_node_ip(uint32_t node)
{
    return 0x0b000001u + ((node / 256) << 16) + ((node % 256) << 8);
}

/* route_hash3 - MurmurHash3 x86 32 over three little-endian words. */
uint32_t route_hash3(const struct route_key *key, uint32_t seed);

#endif
