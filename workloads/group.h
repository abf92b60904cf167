/*
 * group.h - where ranks live, and which ranks talk to each other.
 *
 * A placement maps ranks to hosts, and knows for each rank its server and its rail (the place of
 * its host among the hosts of that server). A group is an ordered set of ranks, a communicator; its
 * members are numbered from 0 in that order. From the placement a group derives how its members lie
 * on servers, and the order of its rings: channel c of a ring enters and leaves a server on the
 * same rails as its neighbours do, so that between servers it stays on a rail.
 * Threading: immutable once made.
 */
#ifndef WH_GROUP_H
#define WH_GROUP_H

#include "err.h"
#include "topology.h"

#include <stdint.h>

#define RANK_NONE UINT32_MAX

enum place_kind {
    PLACE_PACKED, /* rank r on host r */
    PLACE_RAIL,   /* domains of consecutive ranks never straddle servers: a rank keeps its rail */
    PLACE_RANDOM, /* a seeded permutation of the hosts */
    PLACE_KIND_COUNT
};
const char *place_kind_name(enum place_kind k); /* "packed", "rail", "random" */
int place_kind_from_name(const char *name, enum place_kind *out) WH_MUST_CHECK;

struct place_request {
    enum place_kind kind;
    uint32_t rank_count;
    uint32_t gpus_per_server; /* 0: hosts that share an NVLink-like switch; without one, one each */
    uint32_t domain_ranks;    /* PLACE_RAIL: ranks that belong into one server, such as TP; 0: 1 */
    uint64_t seed;            /* PLACE_RANDOM */
};

struct placement {
    uint32_t rank_count, server_count, rail_count;
    uint32_t *host;   /* shape: [rank_count] */
    uint32_t *server; /* shape: [rank_count] */
    uint32_t *rail;   /* shape: [rank_count], place of the host within its server */
};

/* placement_init - Errors: WH_ERR_INPUT (fewer places than ranks, with both numbers), WH_ERR_NOMEM.
 */
int placement_init(struct placement *p, const struct topo *t, const struct place_request *r,
                   struct err_info *e) WH_MUST_CHECK;
void placement_fini(struct placement *p);

struct group {
    char name[64];
    uint32_t rank_count;
    uint32_t *rank;   /* shape: [rank_count], member -> rank */
    uint32_t *sorted; /* shape: [rank_count], members by rank; NULL if the ranks ascend */
    /* servers: those of the group, in order of first member; rails: those it uses, ascending */
    uint32_t server_count, rail_count;
    uint8_t is_uniform;      /* every server has a member on every rail of the group */
    uint32_t *server, *rail; /* shape: [rank_count], place of a member */
    uint32_t *member_at;     /* shape: [server_count][rail_count], RANK_NONE where there is none */
    /* rings; channel c uses row c % ring_count */
    uint32_t ring_count;
    uint32_t *ring;     /* shape: [ring_count][rank_count], place in the ring -> member */
    uint32_t *ring_pos; /* shape: [ring_count][rank_count], member -> place in the ring */
};

struct group_set {
    struct group *groups; /* shape: [count] */
    uint32_t count, cap;
};

/*
 * group_set_add - one more group; its id is its row.
 * @ranks: shape [rank_count], different ranks below p->rank_count; copied
 * Errors: WH_ERR_INPUT (no rank, a rank twice or out of range), WH_ERR_NOMEM.
 */
int group_set_add(struct group_set *s, const struct placement *p, const char *name,
                  const uint32_t *ranks, uint32_t rank_count, uint32_t *id,
                  struct err_info *e) WH_MUST_CHECK;
void group_set_fini(struct group_set *s);

/* group_member - number of @rank in @g, RANK_NONE if it is no member. O(log members). */
uint32_t group_member(const struct group *g, uint32_t rank);

/* group_format - its ranks in short: "0-7", "0,8,16", "0-24:8" (every eighth). Returns @buf. */
const char *group_format(const struct group *g, char *buf, size_t buf_bytes);

#endif
