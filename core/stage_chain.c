/*
 * stage_chain.c - a stage that is known, and that another one which is known always follows on.
 *
 * Flows of a collective are delivered one after the other within a ns, and each delivery ends a
 * stage, because it may have consequences. Mostly it has none for its own partition: what begins
 * then is a function of the stage that has ended, provided that its key says of all flows how much
 * is left. So the entry that was found the first time is found every time, and links remember it.
 * Where there is one, the state at the end of the first stage is owed: it is not needed unless
 * something touches the partition before the end of the second one. Positions of flows and counters
 * move at once.
 *
 * Links are made by the coordinator and hold their entries, which cannot be evicted meanwhile; when
 * they come to hold too much, or there is no room for a new entry, all are dropped.
 */
#include "scratch.h"
#include "stage_int.h"

#include <stdlib.h>
#include <string.h>

#define LINKS_BYTES_MAX (UINT64_C(64) << 20) /* of entries */

struct stage_link {
    const void *from; /* an entry; NULL: the row is free */
    struct memo_value to;
    uint64_t from_hash, to_hash; /* of the keys */
    enum lens_sizes sizes;       /* of the second key */
    uint8_t is_all_sized;        /* it says of all flows how much is left */
    uint32_t *place; /* shape: [flow_count + port_count], of the second key -> of the first */
};

/* ---- links ---- */

/* The row of the link, or the free one where it would be. */
static struct stage_link *find_row(struct stage_link *row, uint32_t cap, uint64_t hash,
                                   const void *from)
{
    uint32_t i = (uint32_t)hash & (cap - 1);

    while (row[i].from && row[i].from != from)
        i = (i + 1) & (cap - 1);
    return &row[i];
}

static const struct stage_link *find_link(const struct sim *s, const struct stage_origin *o)
{
    const struct stage_link *k;

    if (!s->link_cap || !o->known.entry)
        return NULL;
    k = find_row(s->link, s->link_cap, o->hash, o->known.entry);
    return k->from ? k : NULL;
}

void stage_drop_links(struct sim *s)
{
    for (uint32_t i = 0; i < s->link_cap; i++) {
        struct stage_link *k = &s->link[i];

        if (!k->from)
            continue;
        s->memo.release(s->memo.ctx, k->from);
        s->memo.release(s->memo.ctx, k->to.entry);
        free(k->place);
        k->from = NULL;
    }
    s->link_count = 0;
    s->link_bytes = 0;
}

static void grow_links(struct sim *s)
{
    const uint32_t cap = s->link_cap ? 2 * s->link_cap : 256;
    struct stage_link *row = calloc(cap, sizeof *row);

    check(row != NULL, "out of memory for %u links", cap);
    for (uint32_t i = 0; i < s->link_cap; i++) {
        const struct stage_link *k = &s->link[i];

        if (k->from)
            *find_row(row, cap, k->from_hash, k->from) = *k;
    }
    free(s->link);
    s->link = row;
    s->link_cap = cap;
}

/* Where the flows and ports of the second key stand in the first. */
static uint32_t *make_places(const struct stage *g, const struct lens_key *k)
{
    const uint32_t flows = g->look.flow_count, ports = g->look.port_count;
    uint32_t *place = malloc((flows + ports) * sizeof *place);
    uint32_t *at = malloc((flows + ports) * sizeof *at);

    check(place && at, "out of memory for a link of %u flows", flows);
    for (uint32_t i = 0; i < flows; i++)
        at[g->origin.flow[i]] = i;
    for (uint32_t i = 0; i < ports; i++)
        at[flows + g->origin.port[i]] = i;
    for (uint32_t i = 0; i < flows; i++)
        place[i] = at[k->flow[i]];
    for (uint32_t i = 0; i < ports; i++)
        place[flows + i] = at[flows + k->port[i]];
    free(at);
    return place;
}

static void add_link(struct part *p)
{
    struct sim *s = p->s;
    const struct stage *g = p->stage;
    const struct lens_key *k = &g->look.key[g->slot[g->sizes]];

    if (s->link_bytes > LINKS_BYTES_MAX)
        stage_drop_links(s);
    if (2 * (s->link_count + 1) > s->link_cap)
        grow_links(s);
    s->memo.hold(g->origin.known.entry);
    s->memo.hold(p->known.entry);
    *find_row(s->link, s->link_cap, g->origin.hash, g->origin.known.entry) = (struct stage_link){
        g->origin.known.entry, p->known,         g->origin.hash, k->hash, g->sizes,
        g->is_all_sized,       make_places(g, k)};
    s->link_count++;
    s->link_bytes += g->origin.known.count + p->known.count;
}

void stage_links_fini(struct sim *s)
{
    stage_drop_links(s);
    free(s->link);
}

/* ---- the stage that has ended ---- */

/* It has ended by deliveries alone, and its key says all. One flow may be nudged first, see
 * round_left. What is audited is restored. */
static int can_be_origin(const struct part *p, const struct stage_value *v)
{
    int is_plain = v->end == STAGE_NOTES && p->stage->is_all_sized && v->flow_count > 1 &&
                   !(p->s->audit_share > 0);

    for (uint32_t i = 0; i < v->note_count && is_plain; i++)
        is_plain = stage__notes_of(v)[i].what == NOTE_DELIVERED;
    return is_plain;
}

static void remember_places(struct stage_origin *o, const struct lens *l, const struct lens_key *k)
{
    if (o->cap < l->flow_count + l->port_count) {
        o->cap = 2 * (l->flow_count + l->port_count);
        check(!rows_grow(&o->flow, sizeof *o->flow, o->cap), "out of memory for an origin");
        check(!rows_grow(&o->port, sizeof *o->port, o->cap), "out of memory for an origin");
    }
    memcpy(o->flow, k->flow, l->flow_count * sizeof *o->flow);
    memcpy(o->port, k->port, l->port_count * sizeof *o->port);
}

/* What can be seen of the partition from outside moves on; its state stays as it was before. */
static void owe(struct part *p, const struct snapshot_map *m, const struct stage_value *v)
{
    stage__move_on(p, m, v);
    p->now = p->stage->origin.base + v->end_ps;
    p->owes_state = 1;
}

void stage__take(struct part *p, const struct snapshot_map *m, const struct stage_value *v)
{
    struct stage *g = p->stage;
    const struct lens_key *k = &g->look.key[g->slot[g->sizes]];

    g->origin.known.entry = NULL;
    if (can_be_origin(p, v)) {
        g->origin.known = p->known;
        g->origin.hash = k->hash;
        g->origin.base = episode__base(p, p->now);
        remember_places(&g->origin, &g->look, k);
    }
    if (find_link(p->s, &g->origin)) {
        owe(p, m, v);
    } else {
        stage__adopt_state(p, m, v);
        p->owes_state = 0;
    }
}

/* ---- paying ---- */

static void pay(struct part *p)
{
    const struct stage_origin *o = &p->stage->origin;
    const struct lens *l = &p->stage->look;
    uint32_t *flow = scratch_flows(p->scratch, l->flow_count), *port = p->scratch->port;
    const struct snapshot_map m = {flow, port, l->flow_count, l->port_count};

    for (uint32_t i = 0; i < l->flow_count; i++)
        flow[i] = l->flow[o->flow[i]].id;
    for (uint32_t i = 0; i < l->port_count; i++)
        port[i] = l->port[o->port[i]];
    snapshot_map_as(p, &m);
    stage__take_state(p, &m, o->known.bytes, o->base);
    snapshot_unmap(p, &m);
    p->owes_state = 0;
}

/* What it waits for was found without a look: here it is. */
static void look_again(struct part *p)
{
    struct stage *g = p->stage;

    lens_look(&g->look, p, STAGE_FRESH, 0, 0);
    memset(g->is_known, 0, sizeof g->is_known);
    g->made_count = 0;
}

void stage_forget_origin(struct part *p)
{
    struct stage *g = p->stage;

    if (!g || !g->origin.known.entry)
        return;
    if (p->owes_state) {
        pay(p);
        if (p->episode_state == EPISODE_REPLAYS)
            look_again(p);
    }
    p->s->memo.release(p->s->memo.ctx, g->origin.known.entry);
    g->origin.known.entry = NULL;
}

/* ---- what follows ---- */

/* Returns 0 if that has to be looked up. */
int stage__follow_link(struct part *p)
{
    struct stage *g = p->stage;
    const struct stage_link *k = p->owes_state ? find_link(p->s, &g->origin) : NULL;
    const uint32_t flows = g->look.flow_count;

    g->is_linked = k != NULL;
    if (!k) {
        if (p->owes_state)
            pay(p);
        return 0;
    }
    for (uint32_t i = 0; i < flows; i++)
        g->look.key[k->sizes].flow[i] = g->origin.flow[k->place[i]];
    for (uint32_t i = 0; i < g->look.port_count; i++)
        g->look.key[k->sizes].port[i] = g->origin.port[k->place[flows + i]];
    g->look.key[k->sizes].hash = k->to_hash;
    g->look.kind = STAGE_FRESH;
    g->look.step = 0;
    g->slot[k->sizes] = (uint8_t)k->sizes;
    g->is_all_sized = k->is_all_sized;
    stage__wait_for(p, &k->to, k->sizes);
    return 1;
}

void stage__link(struct part *p)
{
    struct stage *g = p->stage;

    if (!g->origin.known.entry || g->is_linked)
        return;
    if (g->found == STAGE_HIT && !find_link(p->s, &g->origin))
        add_link(p);
    stage_forget_origin(p);
}
