/*
 * group.c - see group.h.
 */
#include "group.h"

#include "rng.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STREAM_PLACE UINT64_C(0x91ace001)

static const char *const place_names[PLACE_KIND_COUNT] = {"packed", "rail", "random"};

const char *place_kind_name(enum place_kind k)
{
    return k < PLACE_KIND_COUNT ? place_names[k] : "?";
}

int place_kind_from_name(const char *name, enum place_kind *out)
{
    for (int i = 0; i < PLACE_KIND_COUNT; i++) {
        if (strcmp(name, place_names[i]))
            continue;
        *out = (enum place_kind)i;
        return 0;
    }
    return WH_ERR_INPUT;
}

/* ---- servers ---- */

/* The NVLink-like switch of a host, NODE_NONE without one. */
static uint32_t find_nvswitch(const struct topo *t, uint32_t host)
{
    for (uint32_t p = t->first_port[host]; p < t->first_port[host + 1]; p++) {
        const uint32_t peer = t->port_node[t->port_peer[p]];

        if (t->kind[peer] == NODE_NVSWITCH)
            return peer;
    }
    return NODE_NONE;
}

/* Hosts of a network in id order: server and rail of each. */
struct hosts {
    uint32_t count, server_count;
    uint32_t *id, *server, *rail; /* shape: [count] */
};

static void hosts_fini(struct hosts *h)
{
    free(h->id);
    free(h->server);
    free(h->rail);
}

/* @server_of_switch, @filled: scratch, shape [node_count] each. */
static void find_servers(struct hosts *h, const struct topo *t, uint32_t gpus_per_server,
                         uint32_t *server_of_switch, uint32_t *filled)
{
    memset(server_of_switch, 0xff, t->node_count * sizeof *server_of_switch);
    for (uint32_t n = 0; n < t->node_count; n++) {
        uint32_t sw, server;

        if (t->kind[n] != NODE_HOST)
            continue;
        sw = gpus_per_server ? NODE_NONE : find_nvswitch(t, n);
        if (gpus_per_server)
            server = h->count / gpus_per_server;
        else if (sw != NODE_NONE && server_of_switch[sw] != UINT32_MAX)
            server = server_of_switch[sw];
        else
            server = h->server_count;
        if (sw != NODE_NONE)
            server_of_switch[sw] = server;
        if (server == h->server_count)
            filled[h->server_count++] = 0;
        h->id[h->count] = n;
        h->server[h->count] = server;
        h->rail[h->count++] = filled[server]++;
    }
}

static int hosts_init(struct hosts *h, const struct topo *t, uint32_t gpus_per_server)
{
    const size_t rows = t->node_count + 1;
    uint32_t *scratch = malloc(2 * rows * sizeof *scratch);

    *h = (struct hosts){.count = 0};
    h->id = malloc(rows * sizeof *h->id);
    h->server = malloc(rows * sizeof *h->server);
    h->rail = malloc(rows * sizeof *h->rail);
    if (scratch && h->id && h->server && h->rail)
        find_servers(h, t, gpus_per_server, scratch, scratch + rows);
    free(scratch);
    return scratch && h->id && h->server && h->rail ? 0 : WH_ERR_NOMEM;
}

/* ---- placements ---- */

/* Fisher-Yates; draw i decides which of the first i + 1 hosts comes last. */
static void shuffle(uint32_t *row, uint32_t count, uint64_t seed)
{
    for (uint32_t i = count; i-- > 1;) {
        const uint32_t j = rng_below(rng_u64(seed, STREAM_PLACE, i), i + 1);
        const uint32_t tmp = row[i];

        row[i] = row[j];
        row[j] = tmp;
    }
}

/* Rows of @h that ranks get, in order of rank. Returns how many there are. */
static uint32_t choose_rows(const struct hosts *h, const struct place_request *r, uint32_t *row)
{
    const uint32_t domain =
        r->kind == PLACE_RAIL && r->domain_ranks ? r->domain_ranks : 1; /* 1: no restriction */
    uint32_t count = 0;

    for (uint32_t i = 0; i < h->count;) {
        uint32_t here = 0; /* hosts of this server from i on, which the generators keep together */

        while (i + here < h->count && h->server[i + here] == h->server[i])
            here++;
        for (uint32_t k = 0; k < here / domain * domain; k++)
            row[count++] = i + k;
        i += here;
    }
    if (r->kind == PLACE_RANDOM)
        shuffle(row, count, r->seed);
    return count;
}

static int check_places(const struct place_request *r, uint32_t places, struct err_info *e)
{
    if (!r->rank_count)
        return err_set(e, WH_ERR_INPUT, NULL, 0, "found 0 ranks, expected at least 1");
    if (places >= r->rank_count)
        return 0;
    return err_set(e, WH_ERR_INPUT, NULL, 0,
                   "found %" PRIu32 " ranks, expected at most %" PRIu32
                   ", the places that '%s' placement finds on the hosts of the network",
                   r->rank_count, places, place_kind_name(r->kind));
}

static int fill_placement(struct placement *p, const struct hosts *h, const uint32_t *row)
{
    p->host = malloc(p->rank_count * sizeof *p->host);
    p->server = malloc(p->rank_count * sizeof *p->server);
    p->rail = malloc(p->rank_count * sizeof *p->rail);
    if (!p->host || !p->server || !p->rail)
        return WH_ERR_NOMEM;
    p->server_count = h->server_count;
    for (uint32_t r = 0; r < p->rank_count; r++) {
        p->host[r] = h->id[row[r]];
        p->server[r] = h->server[row[r]];
        p->rail[r] = h->rail[row[r]];
        if (p->rail[r] >= p->rail_count)
            p->rail_count = p->rail[r] + 1;
    }
    return 0;
}

int placement_init(struct placement *p, const struct topo *t, const struct place_request *r,
                   struct err_info *e)
{
    struct hosts h;
    uint32_t *row = malloc((t->node_count + 1) * sizeof *row);
    int rc = hosts_init(&h, t, r->gpus_per_server);

    *p = (struct placement){.rank_count = r->rank_count};
    if (!row)
        rc = WH_ERR_NOMEM;
    if (!rc)
        rc = check_places(r, choose_rows(&h, r, row), e);
    if (!rc)
        rc = fill_placement(p, &h, row);
    if (rc)
        placement_fini(p);
    hosts_fini(&h);
    free(row);
    return rc;
}

void placement_fini(struct placement *p)
{
    free(p->host);
    free(p->server);
    free(p->rail);
    *p = (struct placement){.rank_count = 0};
}

/* ---- groups ---- */

struct rank_row {
    uint32_t rank, member;
};

static int compare_ranks(const void *a, const void *b)
{
    const struct rank_row *x = a, *y = b;

    return (x->rank > y->rank) - (x->rank < y->rank);
}

static int check_order(struct group *g, const struct placement *p, const struct rank_row *rows,
                       struct err_info *e)
{
    const uint32_t n = g->rank_count;

    if (rows[n - 1].rank >= p->rank_count)
        return err_set(e, WH_ERR_INPUT, NULL, 0,
                       "group '%s': found rank %" PRIu32 ", expected ranks below %" PRIu32, g->name,
                       rows[n - 1].rank, p->rank_count);
    for (uint32_t i = 1; i < n; i++)
        if (rows[i].rank == rows[i - 1].rank)
            return err_set(e, WH_ERR_INPUT, NULL, 0,
                           "group '%s': found rank %" PRIu32 " twice, expected different ranks",
                           g->name, rows[i].rank);
    return 0;
}

static int sort_members(struct group *g, const struct placement *p, struct err_info *e)
{
    const uint32_t n = g->rank_count;
    struct rank_row *rows = malloc(n * sizeof *rows);
    int ascends = 1, rc;

    if (!rows)
        return WH_ERR_NOMEM;
    for (uint32_t i = 0; i < n; i++) {
        rows[i] = (struct rank_row){g->rank[i], i};
        ascends &= i == 0 || g->rank[i] > g->rank[i - 1];
    }
    if (!ascends)
        qsort(rows, n, sizeof *rows, compare_ranks);
    rc = check_order(g, p, rows, e);
    if (!rc && !ascends) {
        g->sorted = malloc(n * sizeof *g->sorted);
        for (uint32_t i = 0; i < n && g->sorted; i++)
            g->sorted[i] = rows[i].member;
        rc = g->sorted ? 0 : WH_ERR_NOMEM;
    }
    free(rows);
    return rc;
}

/* Renumbers what occurs in order of first occurrence (servers) or by value (rails).
 * @map: scratch, shape [values], all UINT32_MAX */
static uint32_t number_servers(struct group *g, const struct placement *p, uint32_t *map)
{
    uint32_t count = 0;

    for (uint32_t m = 0; m < g->rank_count; m++) {
        uint32_t *to = &map[p->server[g->rank[m]]];

        if (*to == UINT32_MAX)
            *to = count++;
        g->server[m] = *to;
    }
    return count;
}

static uint32_t number_rails(struct group *g, const struct placement *p, uint32_t *map)
{
    uint32_t count = 0;

    for (uint32_t m = 0; m < g->rank_count; m++)
        map[p->rail[g->rank[m]]] = 0;
    for (uint32_t i = 0; i < p->rail_count; i++)
        if (map[i] == 0)
            map[i] = count++;
    for (uint32_t m = 0; m < g->rank_count; m++)
        g->rail[m] = map[p->rail[g->rank[m]]];
    return count;
}

static int fill_places(struct group *g)
{
    const size_t places = (size_t)g->server_count * g->rail_count;

    g->member_at = malloc(places * sizeof *g->member_at);
    if (!g->member_at)
        return WH_ERR_NOMEM;
    memset(g->member_at, 0xff, places * sizeof *g->member_at);
    for (uint32_t m = 0; m < g->rank_count; m++)
        g->member_at[(size_t)g->server[m] * g->rail_count + g->rail[m]] = m;
    g->is_uniform = places == g->rank_count;
    return 0;
}

static int find_places(struct group *g, const struct placement *p)
{
    const uint32_t values = p->server_count + p->rail_count;
    uint32_t *map = malloc(values * sizeof *map);

    g->server = malloc(g->rank_count * sizeof *g->server);
    g->rail = malloc(g->rank_count * sizeof *g->rail);
    if (!map || !g->server || !g->rail) {
        free(map);
        return WH_ERR_NOMEM;
    }
    memset(map, 0xff, values * sizeof *map);
    g->server_count = number_servers(g, p, map);
    g->rail_count = number_rails(g, p, map + p->server_count);
    free(map);
    return fill_places(g);
}

/* Ring @c passes through the servers by turns upwards from rail c and downwards to it, so that the
 * rail on which it leaves a server is the rail on which it enters the next. */
static void fill_ring(struct group *g, uint32_t c, uint32_t *ring)
{
    const uint32_t q = g->rail_count;

    for (uint32_t s = 0; s < g->server_count; s++) {
        for (uint32_t k = 0; k < q; k++) {
            const uint32_t up = (c + k) % q, down = (c + 2 * q - 1 - k) % q;

            ring[s * q + k] = g->member_at[s * q + (s % 2 ? down : up)];
        }
    }
}

static int make_rings(struct group *g)
{
    const uint32_t n = g->rank_count;
    const int by_rail = g->is_uniform && g->server_count > 1 && g->rail_count > 1;
    size_t rows;

    g->ring_count = by_rail ? g->rail_count : 1;
    rows = (size_t)g->ring_count * n;
    g->ring = malloc(rows * sizeof *g->ring);
    g->ring_pos = malloc(rows * sizeof *g->ring_pos);
    if (!g->ring || !g->ring_pos)
        return WH_ERR_NOMEM;
    for (uint32_t c = 0; c < g->ring_count; c++) {
        uint32_t *ring = g->ring + (size_t)c * n;

        if (by_rail)
            fill_ring(g, c, ring);
        for (uint32_t i = 0; i < n && !by_rail; i++)
            ring[i] = i;
        for (uint32_t i = 0; i < n; i++)
            g->ring_pos[(size_t)c * n + ring[i]] = i;
    }
    return 0;
}

static void group_fini(struct group *g)
{
    free(g->rank);
    free(g->sorted);
    free(g->server);
    free(g->rail);
    free(g->member_at);
    free(g->ring);
    free(g->ring_pos);
}

static int group_init(struct group *g, const struct placement *p, const char *name,
                      const uint32_t *ranks, uint32_t rank_count, struct err_info *e)
{
    int rc;

    *g = (struct group){.rank_count = rank_count};
    (void)snprintf(g->name, sizeof g->name, "%s", name);
    if (!rank_count)
        return err_set(e, WH_ERR_INPUT, NULL, 0, "group '%s': found no rank, expected at least one",
                       name);
    g->rank = malloc(rank_count * sizeof *g->rank);
    if (!g->rank)
        return WH_ERR_NOMEM;
    memcpy(g->rank, ranks, rank_count * sizeof *g->rank);
    rc = sort_members(g, p, e);
    if (!rc)
        rc = find_places(g, p);
    return rc ? rc : make_rings(g);
}

int group_set_add(struct group_set *s, const struct placement *p, const char *name,
                  const uint32_t *ranks, uint32_t rank_count, uint32_t *id, struct err_info *e)
{
    struct group g;
    int rc;

    if (s->count == s->cap) {
        const uint32_t cap = s->cap ? 2 * s->cap : 16;
        struct group *rows = realloc(s->groups, cap * sizeof *rows);

        if (!rows)
            return WH_ERR_NOMEM;
        s->groups = rows;
        s->cap = cap;
    }
    rc = group_init(&g, p, name, ranks, rank_count, e);
    if (rc) {
        group_fini(&g);
        return rc;
    }
    *id = s->count;
    s->groups[s->count++] = g;
    return 0;
}

void group_set_fini(struct group_set *s)
{
    for (uint32_t i = 0; i < s->count; i++)
        group_fini(&s->groups[i]);
    free(s->groups);
    *s = (struct group_set){.count = 0};
}

uint32_t group_member(const struct group *g, uint32_t rank)
{
    uint32_t lo = 0, hi = g->rank_count;

    while (lo < hi) {
        const uint32_t mid = lo + (hi - lo) / 2;
        const uint32_t member = g->sorted ? g->sorted[mid] : mid;

        if (g->rank[member] == rank)
            return member;
        if (g->rank[member] < rank)
            lo = mid + 1;
        else
            hi = mid;
    }
    return RANK_NONE;
}

/* Length of the run of equal strides that starts at member @i; *stride of it. */
static uint32_t find_run(const struct group *g, uint32_t i, uint32_t *stride)
{
    uint32_t len = 1;

    *stride = 0;
    if (i + 1 < g->rank_count && g->rank[i + 1] > g->rank[i])
        *stride = g->rank[i + 1] - g->rank[i];
    while (*stride && i + len < g->rank_count && g->rank[i + len] > g->rank[i + len - 1] &&
           g->rank[i + len] - g->rank[i + len - 1] == *stride)
        len++;
    return len;
}

const char *group_format(const struct group *g, char *buf, size_t buf_bytes)
{
    size_t used = 0;

    buf[0] = '\0';
    for (uint32_t i = 0; i < g->rank_count;) {
        const char *comma = i ? "," : "";
        char part[64];
        uint32_t stride, len = find_run(g, i, &stride);

        if (len < 3)
            (void)snprintf(part, sizeof part, "%s%" PRIu32, comma, g->rank[i]), len = 1;
        else if (stride == 1)
            (void)snprintf(part, sizeof part, "%s%" PRIu32 "-%" PRIu32, comma, g->rank[i],
                           g->rank[i + len - 1]);
        else
            (void)snprintf(part, sizeof part, "%s%" PRIu32 "-%" PRIu32 ":%" PRIu32, comma,
                           g->rank[i], g->rank[i + len - 1], stride);
        if (used + strlen(part) + 4 >= buf_bytes) {
            (void)snprintf(buf + used, buf_bytes - used, "...");
            break;
        }
        memcpy(buf + used, part, strlen(part) + 1);
        used += strlen(part);
        i += len;
    }
    return buf;
}
