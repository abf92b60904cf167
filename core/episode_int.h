/*
 * episode_int.h - what the two lenses of the memo share: counters, leaders. For episode.c and
 * stage.c. Threading: the coordinator, but for what look.h calls.
 */
#ifndef WH_EPISODE_INT_H
#define WH_EPISODE_INT_H

#include "sim_int.h"
#include "snapshot.h"

/* Counters that an episode moves. */
struct moved {
    int64_t global_ps, local_ps; /* duration; local: without skips */
    uint64_t packet_hops, data_packets, ack_packets, nack_packets, cnp_echoes, marks, rate_cuts,
        timeouts, retx_packets;
    uint64_t skipped_packets, skipped_hops, skips;
    double skipped_flow_s;
    struct audit_sums audited;
    uint32_t note_count, audit_rows;
};

struct moved_flow {
    int64_t base;
    uint64_t cnps;
};

struct moved_port {
    uint64_t tx_total_bytes, tx_packets, marks, q_max;
};

struct moved_note {
    uint32_t rank, what;
};

/* The partition's counters now, and the difference of two readings. */
struct moved episode__counters(const struct part *p);
struct moved episode__since(const struct moved *now, const struct moved *then);
void episode__move_counters(struct part *p, const struct moved *m);
void episode__adopt_ports(struct part *p, const struct snapshot_map *m, const struct moved_port *o);

/* The same of a port; of several. */
static inline struct moved_port episode__port_counters(const struct port *pt)
{
    return (struct moved_port){pt->tx_total_bytes, pt->tx_packets, pt->marks, pt->q_max};
}
static inline struct moved_port episode__port_since(const struct port *pt,
                                                    const struct moved_port *then)
{
    return (struct moved_port){pt->tx_total_bytes - then->tx_total_bytes,
                               pt->tx_packets - then->tx_packets, pt->marks - then->marks,
                               pt->q_max};
}
/* The largest queue was @q_max at least. */
static inline void episode__raise_q_max(struct port *pt, uint64_t q_max)
{
    pt->q_max = q_max > pt->q_max ? (uint32_t)q_max : pt->q_max;
}
static inline void episode__add_port(struct port *pt, const struct moved_port *o)
{
    pt->tx_total_bytes += o->tx_total_bytes;
    pt->tx_packets += o->tx_packets;
    pt->marks += (uint32_t)o->marks;
    episode__raise_q_max(pt, o->q_max);
}

/* INT stamps can only be moved by whole ns. */
int64_t episode__base(const struct part *p, int64_t local_ps);

/* Where what it looks up begins: now, or at the end of the present skip. Global. */
static inline int64_t episode__begin_of(const struct part *p)
{
    return p->now + p->offset + p->frozen_ps;
}

/* All that was noted is of the last instant, or nobody else could take it. */
int episode__ends_at_notes(const struct part *p);
/* Waits for the leader, which is executing what @p would; and does so no more. */
void episode__follow(struct part *p, struct part *leader);
void episode__unfollow(struct part *p);
/* The follower that began first: no other one may end before it. NULL: there is none. */
struct part *episode__first_follower(const struct part *leader);

/* Is it so small that the following is nothing to it? */
int episode__is_small(const struct part *p);
/* Large partitions that never find anything are not looked up for a while. */
int episode__is_in_vain(struct part *p);
/* A look-up has been made. @key_bytes: of the state that was saved for it. */
void episode__count_try(struct part *p, size_t key_bytes, int is_found);

/* In the table, or in its file; not held. The coordinator. */
static inline struct memo_value episode__find(const struct sim *s, uint64_t hash,
                                              const struct bytes *key)
{
    const struct memo_value v = s->memo.lookup(s->memo.ctx, 0, hash, key->at, key->count);

    return v.entry || !s->memo.load ? v : s->memo.load(s->memo.ctx, hash, key->at, key->count);
}

/* Puts s->memo_value into the table; entry NULL: there is no room, else held. Or does not hold it.
 */
struct memo_value episode__insert(struct sim *s, uint64_t hash, const struct bytes *key);
void episode__keep(struct sim *s, uint64_t hash, const struct bytes *key);

/* Leaders that are under way, by key. */
struct part *episode__find_leader(const struct sim *s, uint64_t hash, const struct bytes *key);
void episode__add_leader(struct sim *s, const struct part *p);
void episode__remove_leader(struct sim *s, const struct part *p);

/* ---- the fcg lens: stage.c ---- */
void stage_begin(struct part *p);
/* Of a follower: nothing happens in it before, global. */
int64_t stage_due(const struct part *p);
/* Returns 0 if a partition has stopped before @horizon. */
int stage_finish_all(struct sim *s, int64_t horizon);
void stage_disturb(struct part *p, int64_t global_ps);
uint64_t stage_leader_key(const struct part *p, const struct bytes **key);
void stage_fini(struct part *p);
/* Nothing follows on anything any more, stage_chain.c. */
void stage_drop_links(struct sim *s);

#endif
