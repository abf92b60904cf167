/*
 * stage_int.h - the inside of the fcg lens' stages, see stage.c. For stage*.c only.
 * Threading: what says so on the worker that holds the partition (look.h), the rest the
 * coordinator.
 */
#ifndef WH_STAGE_INT_H
#define WH_STAGE_INT_H

#include "episode_int.h"
#include "lens.h"
#include "sim_int.h"
#include "snapshot.h"
#include "units.h"

/* What ends a stage. */
enum stage_end {
    STAGE_NOTES,   /* a completion or a delivery; or a control event, see struct beginning */
    STAGE_VERDICT, /* steady */
    STAGE_SPAN     /* neither came: the next one follows on it */
};

/* A value: this, then rows of flows, ports and notes, the watch, the state. */
struct stage_value {
    int64_t end_ps; /* local, from the base of the beginning */
    struct moved moved;
    uint32_t flow_count, port_count, note_count, end; /* end: enum stage_end */
    uint64_t watch_bytes;
};

/* Of a flow, from the beginning to the end. */
struct stage_flow {
    int64_t acked_bytes; /* payload */
    int64_t sent_bytes;  /* from the first byte that was not acknowledged at the beginning */
    int64_t retx_bytes;
    uint64_t cnps;
};

/* What a look-up has come to. */
enum stage_found {
    STAGE_HIT,      /* the partition waits for it */
    STAGE_MISS,     /* of all keys */
    STAGE_ABSENT,   /* of the last key that was made, and its file has not been asked */
    STAGE_TOO_LARGE /* for a key */
};

/* The stage that it has taken last, as long as nothing but deliveries of its own has touched it. */
struct stage_origin {
    struct memo_value known; /* held; entry NULL: there is none */
    uint64_t hash;           /* of its key */
    int64_t base;            /* of its beginning, local */
    uint32_t *flow, *port;   /* shape: [cap], in the order of its key, numbers in the look */
    uint32_t cap;
};

struct stage {
    struct lens look;
    struct stage_origin origin;
    uint8_t is_linked;           /* stage_chain.c has found what it waits for */
    uint8_t is_all_sized;        /* the key that has found it says of all flows what is left */
    uint8_t found;               /* enum stage_found */
    uint8_t slot[LENS_KEYS];     /* which key stands for the degree: the same as for a lower one */
    uint8_t made_count;          /* degrees whose keys are there, the lower ones first */
    uint8_t is_known[LENS_KEYS]; /* there is an entry, but not for flows as short as these */
    enum lens_sizes sizes;       /* of the entry that is waited for */
    int64_t bound;               /* global: as a follower it completes nothing before */
    uint64_t state_hash;         /* of all of the state at the beginning */
    uint8_t is_twin;             /* of the leader that it follows */
    uint64_t *outcome, *outcome_by_kind; /* where the look-up was counted */
    /* as a leader */
    uint8_t is_listed, awaits_thaw;
    int64_t base, begin_global, span_ps;
    struct moved at;
    struct stage_flow
        *flow_at; /* shape: [flow_count], by number in the look: where counters were */
    struct moved_port *port_at; /* shape: [port_count] */
    uint32_t flow_cap, port_cap;
};

/* Shorter stages do not get their own end: INT moves in whole ns. */
#define STAGE_PS_MIN PS_PER_NS

/* ---- reading a value ---- */

static inline const struct stage_flow *stage__flows_of(const struct stage_value *v)
{
    return (const struct stage_flow *)(v + 1);
}

static inline const struct moved_port *stage__ports_of(const struct stage_value *v)
{
    return (const struct moved_port *)(stage__flows_of(v) + v->flow_count);
}

static inline const struct moved_note *stage__notes_of(const struct stage_value *v)
{
    return (const struct moved_note *)(stage__ports_of(v) + v->port_count);
}

static inline const uint8_t *stage__watch_of(const struct stage_value *v)
{
    return (const uint8_t *)(stage__notes_of(v) + v->note_count);
}

/* Base of where the stage begins, global. */
static inline int64_t stage__base_of(const struct part *p)
{
    return episode__base(p, p->now) + p->offset + p->frozen_ps;
}

/* ---- stage_value.c: what is kept of a stage ---- */

/* The partition in the numbering of its key of that degree; snapshot_unmap must follow. */
void stage__map_by(struct part *p, enum lens_sizes sizes, struct snapshot_map *m);
/* So much is left to be sent of a flow that does not come near its end: the last packet is not
 * among what was sent, and what follows has something to skip or to send. */
int64_t stage__margin_bytes(const struct part *p);
/* No flow ends inside in a way that the entry does not know. */
int stage__is_long_enough(const struct part *p, const struct stage_value *v, enum lens_sizes sizes);
/* May it be found by what the key of this degree says of the sizes? */
int stage__can_be_known_by(const struct part *p, enum lens_sizes sizes);
/* Where counters stand at the beginning; afterwards the larger queue maximum is put back. */
void stage__remember(struct part *p);
void stage__restore_q_max(struct part *p);
/* What has come of it since then, into @out; and taken over by another partition. */
void stage__save_value(struct part *p, enum lens_sizes sizes, struct bytes *out);
void stage__adopt_state(struct part *p, const struct snapshot_map *m, const struct stage_value *v);
/* The same in two parts: what is seen from outside, counters and how far flows have got; and the
 * state at the end of the stage, which began at @base_ps. Positions become those of the leader,
 * what is left of the flows is the partition's own. */
void stage__move_on(struct part *p, const struct snapshot_map *m, const struct stage_value *v);
void stage__take_state(struct part *p, const struct snapshot_map *m, const struct stage_value *v,
                       int64_t base_ps);

/* ---- stage_chain.c: what always follows on what is known ---- */

/* Takes the end of the stage; or owes the state, if what follows will be known without it. On the
 * worker: what was held for the origin is to be released, and the new one is to be held. */
void stage__take(struct part *p, const struct snapshot_map *m, const struct stage_value *v);
/* Waits for what follows. Returns 0 if that has to be looked up. On the worker. */
int stage__follow_link(struct part *p);
/* A look-up has come to something: remembers that. */
void stage__link(struct part *p);

/* ---- stage_audit.c ---- */

/* With audits: the partition is about to take @known, which the key of that degree has led to; it
 * has taken it. @entry: which one it is. */
void stage__audit(struct part *p, const struct memo_value *known, enum lens_sizes sizes,
                  uint64_t entry);
void stage__audit_end(struct part *p);

/* ---- stage_look.c: looking up ---- */

/* @step: how many stages on end */
void stage__look(struct part *p, enum stage_kind kind, uint32_t step);
/* The same in parts: is there to be none? On the worker, for partitions of few flows or where that
 * has been found out: keys, and what the table has. By the coordinator: what comes of it. */
int stage__is_declined(struct part *p, uint32_t step);
void stage__prepare(struct part *p, enum stage_kind kind, uint32_t step);
void stage__commit(struct part *p);
/* The entry that stage__prepare has found, which is to be held before stage__commit; NULL: none. */
const void *stage__found(const struct part *p);
/* Waits for what @known says, if the partition can take it. */
int stage__accept(struct part *p, const struct memo_value *known, enum lens_sizes sizes);
/* ... which it can. */
void stage__wait_for(struct part *p, const struct memo_value *known, enum lens_sizes sizes);
/* The next degree's key. Returns 0 if the partition is too large for one. */
int stage__make_next(struct part *p);
int stage__has_short(const struct lens *l);
/* Is it in the very state of the leader, and with as much left? */
int stage__is_twin(const struct part *p, const struct part *leader);
/* Counts a look-up with its outcome, once in all and once by where the stage begins. */
void stage__count_look(struct part *p, uint64_t *outcome, uint64_t *by_kind, uint64_t change);

/* ---- stage.c ---- */

/* The look is there. @is_listed: others may follow. */
void stage__lead(struct part *p, int is_listed);
/* @whole: others can take what came of it */
void stage__end_lead(struct part *p, int whole);
int stage__is_whole(const struct part *p);

#endif
