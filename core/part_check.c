/*
 * part_check.c - what must hold of partitions between rounds, against a recomputation from nothing.
 *
 * Members and ports: each active flow is the member that it says it is, of the partition that holds
 * each of its ports; a port is held as often as members claim it; one that nobody claims is idle
 * and nobody's, or lingers. Partitions: counts are right, and what meets is in one; a partition
 * that was looked over since its last flow left has not come apart.
 */
#include "sim_int.h"
#include "units.h"

#include <stdlib.h>

struct part_checker {
    const struct sim *s;
    struct err_info *e;
    uint32_t *holds;  /* shape: [port_count], claims found */
    uint32_t *root;   /* shape: [port_count], union-find */
    uint32_t *pieces; /* shape: [part_count], components found */
};

static uint32_t find_root(const struct part_checker *c, uint32_t i)
{
    while (c->root[i] != i)
        i = c->root[i];
    return i;
}

static int claim(struct part_checker *c, const struct part *p, uint32_t first, uint32_t port)
{
    const uint32_t a = find_root(c, first), b = find_root(c, port);

    REQUIRE(c, c->s->port[port].part == p->id, "port %u belongs to %u, a member of %u claims it",
            port, c->s->port[port].part, p->id);
    c->holds[port]++;
    c->root[a] = b;
    return 0;
}

static int claim_path(struct part_checker *c, const struct part *p, uint32_t first, uint32_t row)
{
    int rc = 0;

    for (; !rc && c->s->path[row] != PATH_END; row++)
        rc = claim(c, p, first, c->s->path[row]);
    return rc;
}

static int claim_ways(struct part_checker *c, const struct part *p, const struct flow_tx *t)
{
    const uint32_t first = c->s->path[t->path];
    int rc = 0;

    for (uint32_t i = 0; i < t->path_count && !rc; i++) {
        rc = claim_path(c, p, first, t->path + i * t->path_stride);
        if (!rc && !ack_is_beside(c->s->cfg.ack))
            rc = claim_path(c, p, first, t->ack_path + i * t->ack_stride);
    }
    return rc;
}

static int claim_swtch(struct part_checker *c, const struct part *p, uint32_t row)
{
    const struct swtch *sw = &c->s->swtch[row];
    int rc = 0;

    REQUIRE(c, sw->coupled, "partition %u holds switch %u, which is not coupled", p->id, sw->node);
    for (uint32_t i = sw->first_port; i < sw->first_port + sw->port_count && !rc; i++) {
        rc = claim(c, p, sw->first_port, i);
        if (!rc)
            rc = claim(c, p, sw->first_port, c->s->port[i].peer);
    }
    return rc;
}

static int check_members(struct part_checker *c, const struct part *p)
{
    uint32_t active = 0, running = 0;
    int rc = 0;

    for (uint32_t i = 0; i < p->flow_count && !rc; i++) {
        const uint32_t flow = p->flow[i];
        const struct flow_tx *t = &c->s->tx[flow];

        REQUIRE(c, t->member == i, "flow %u is member %u of %u, says %u", flow, i, p->id,
                t->member);
        active += c->s->result[flow].state == FLOW_ACTIVE;
        running += t->active;
        rc = claim_ways(c, p, t);
    }
    for (uint32_t i = 0; i < p->swtch_count && !rc; i++)
        rc = claim_swtch(c, p, p->swtch[i]);
    for (uint32_t i = 0; i < p->old_count && !rc; i++)
        rc = claim_ways(c, p, &p->old[i].was);
    if (!rc)
        REQUIRE(c, active == p->active && running == p->running,
                "partition %u: %u active, %u running, counts %u and %u", p->id, active, running,
                p->active, p->running);
    return rc;
}

static int lingers(const struct part *p, uint32_t port)
{
    for (uint32_t i = 0; i < p->linger_count; i++)
        if (p->linger[i] == port)
            return 1;
    return 0;
}

static int check_ports(const struct part_checker *c)
{
    const struct sim *s = c->s;

    for (uint32_t i = 0; i < s->topo->port_count; i++) {
        const struct port *pt = &s->port[i];

        REQUIRE(c, pt->holds == c->holds[i], "port %u is held %u times, claimed %u times", i,
                pt->holds, c->holds[i]);
        REQUIRE(c, pt->part != PART_NONE || !(pt->wire_head | pt->backlog | pt->paused | pt->holds),
                "port %u is nobody's and not idle", i);
        REQUIRE(c, pt->part == PART_NONE || pt->holds || lingers(s->parts[pt->part], i),
                "port %u of %u is forgotten", i, pt->part);
    }
    return 0;
}

static int check_pieces(struct part_checker *c)
{
    const struct sim *s = c->s;

    for (uint32_t i = 0; i < s->topo->port_count; i++)
        if (c->holds[i] && c->root[i] == i)
            c->pieces[s->port[i].part]++;
    for (uint32_t i = 0; i < s->run_count; i++) {
        const struct part *p = s->parts[s->run[i]];

        REQUIRE(c, p->closes || p->old_count || c->pieces[p->id] <= 1,
                "partition %u has come apart into %u", p->id, c->pieces[p->id]);
    }
    return 0;
}

/* Awake, or asleep until it is due, or until its leader wakes it. */
static int check_sleep(const struct part_checker *c, const struct part *p)
{
    const struct sim *s = c->s;
    const uint64_t stamp = s->sleep_stamp[p->id];
    int64_t due;

    if (p->awake_index != ROW_NONE) {
        REQUIRE(c, !stamp && s->awake[p->awake_index] == p->id,
                "partition %u is awake in row %u, and asleep", p->id, p->awake_index);
        return 0;
    }
    REQUIRE(c, sleep_until(p, &due), "partition %u sleeps, and has something to do", p->id);
    REQUIRE(c, !stamp == (due == TIME_NEVER), "partition %u sleeps until %lld, stamp %llu", p->id,
            (long long)due, (unsigned long long)stamp);
    return 0;
}

struct sleepers {
    const struct sim *s;
    uint32_t count, late; /* late: due at another time than the agenda says */
};

static void count_sleeper(void *arg, const struct agenda_key *key)
{
    struct sleepers *a = arg;
    int64_t due;

    if (a->s->sleep_stamp[key->row] != key->order)
        return;
    a->count++;
    a->late += !sleep_until(a->s->parts[key->row], &due) || due != key->time;
}

static int check_sleepers(const struct part_checker *c)
{
    struct sleepers a = {.s = c->s};

    agenda_each(&c->s->sleepers, count_sleeper, &a);
    REQUIRE(c, a.count == c->s->sleeper_count && !a.late, "%u of %u partitions sleep, %u too long",
            a.count, c->s->sleeper_count, a.late);
    return 0;
}

static int check_all(struct part_checker *c)
{
    const struct sim *s = c->s;
    int rc = 0;

    for (uint32_t i = 0; i < s->topo->port_count; i++)
        c->root[i] = i;
    for (uint32_t i = 0; i < s->run_count && !rc; i++) {
        const struct part *p = s->parts[s->run[i]];

        REQUIRE(c, p->run_index == i, "partition %u is in row %u, says %u", p->id, i, p->run_index);
        rc = check_members(c, p);
        rc = rc ? rc : check_sleep(c, p);
    }
    if (!rc)
        rc = check_sleepers(c);
    if (!rc)
        rc = check_ports(c);
    return rc ? rc : check_pieces(c);
}

int part_check(const struct sim *s, struct err_info *e)
{
    const size_t ports = (size_t)s->topo->port_count + 1;
    struct part_checker c = {.s = s, .e = e};
    int rc = WH_ERR_NOMEM;

    if (s->is_serial || s->fixed)
        return 0; /* fixed: nobody leaves */
    c.holds = calloc(ports, sizeof *c.holds);
    c.root = calloc(ports, sizeof *c.root);
    c.pieces = calloc(s->part_count, sizeof *c.pieces);
    if (c.holds && c.root && c.pieces)
        rc = check_all(&c);
    free(c.holds);
    free(c.root);
    free(c.pieces);
    return rc;
}
