/*
 * flowgen.c - generated flows: point to point, incast, permutation, ring, all-to-all, Poisson
 * arrivals.
 *
 * Every draw is a hash of the request's seed, a stream (what is drawn) and a counter (for which
 * flow), and everything between the draw and the flow is integer or correctly rounded arithmetic:
 * no libm, so that the flows do not depend on the machine.
 */
#include "flowgen.h"
#include "rng.h"
#include "units.h"

#include <stdlib.h>
#include <string.h>

#define FLOWS_MAX (1u << 30)
#define START_MAX_PS (TIME_NEVER / 4)

enum flow_stream {
    STREAM_PERMUTATION,
    STREAM_JITTER,
    STREAM_GAP,
    STREAM_SIZE,
    STREAM_SRC,
    STREAM_DST
};

static const char *const pattern_names[FLOWS_PATTERN_COUNT] = {
    [FLOWS_SINGLE] = "single",           [FLOWS_INCAST] = "incast",
    [FLOWS_PERMUTATION] = "permutation", [FLOWS_RING] = "ring",
    [FLOWS_ALL_TO_ALL] = "all-to-all",   [FLOWS_POISSON] = "poisson",
};

const char *flow_pattern_name(enum flow_pattern p)
{
    return (unsigned)p < FLOWS_PATTERN_COUNT ? pattern_names[p] : "unknown";
}

int flow_pattern_from_name(const char *name, enum flow_pattern *out)
{
    for (unsigned p = 0; p < FLOWS_PATTERN_COUNT; p++) {
        if (strcmp(name, pattern_names[p]) == 0) {
            *out = (enum flow_pattern)p;
            return 0;
        }
    }
    return WH_ERR_INPUT;
}

void flow_request_init(struct flow_request *r, enum flow_pattern p)
{
    memset(r, 0, sizeof *r);
    r->pattern = p;
    r->repeat = 1;
    r->load = 0.5;
    r->prio = 3;
    r->dport = 100;
}

/* What the generators share. */
struct flow_gen {
    const struct flow_request *r;
    struct scenario *sc;
    struct err_info *e;
    uint32_t *host; /* shape: [host_count], node ids */
    uint32_t host_count;
    double host_bps; /* sum of the rates at which the hosts can send */
    uint64_t made;   /* flows so far */
};

/* The rate at which a host reaches the network: its ports to switches and hosts; those to
 * NVLink-like switches count only where there is nothing else. */
static double host_rate_bps(const struct topo *t, uint32_t host)
{
    double network = 0, nvlink = 0;

    for (uint32_t p = t->first_port[host]; p < t->first_port[host + 1]; p++) {
        const uint32_t peer = t->port_node[t->port_peer[p]];
        const double rate = (double)topo_port_class(t, p)->rate_bps;
        if (t->kind[peer] == NODE_NVSWITCH)
            nvlink += rate;
        else
            network += rate;
    }
    return network > 0 ? network : nvlink;
}

static int list_hosts(struct flow_gen *g, const struct topo *t)
{
    g->host = malloc(((size_t)t->node_count + 1) * sizeof *g->host);
    if (!g->host)
        return WH_ERR_NOMEM;
    for (uint32_t n = 0; n < t->node_count; n++) {
        if (t->kind[n] == NODE_HOST) {
            g->host[g->host_count++] = n;
            g->host_bps += host_rate_bps(t, n);
        }
    }
    return 0;
}

static double mean_bytes(const struct flow_request *r)
{
    return r->bytes ? (double)r->bytes : cdf_mean_bytes(&r->cdf);
}

double flows_count(const struct flow_request *r, uint32_t hosts, double host_bps)
{
    const double h = hosts, rounds = r->repeat;

    switch (r->pattern) {
    case FLOWS_SINGLE:
        return rounds;
    case FLOWS_INCAST:
        return rounds * (r->fan_in ? r->fan_in : h - 1);
    case FLOWS_PERMUTATION:
    case FLOWS_RING:
        return rounds * h;
    case FLOWS_ALL_TO_ALL:
        return rounds * h * (h - 1);
    case FLOWS_POISSON: {
        const double seconds = (double)r->duration_ps / (double)PS_PER_S;
        const double count = r->load * host_bps * seconds / (8 * mean_bytes(r));
        return r->flow_count_max && r->flow_count_max < count ? r->flow_count_max : count;
    }
    case FLOWS_PATTERN_COUNT:
        break;
    }
    return 0;
}

/* Adds a flow between two hosts, given as rows of g->host. */
static int emit(struct flow_gen *g, uint32_t src, uint32_t dst, int64_t bytes, int64_t start_ps)
{
    const struct flow_request *r = g->r;
    struct flow_spec f = {
        .start_ps = start_ps,
        .bytes = bytes,
        .src = g->host[src],
        .dst = g->host[dst],
        .sport = r->sport,
        .dport = r->dport,
        .prio = r->prio,
    };

    if (r->jitter_ps > 0) {
        const unsigned __int128 draw = rng_u64(r->seed, STREAM_JITTER, g->made);
        f.start_ps += (int64_t)(draw * (uint64_t)r->jitter_ps >> 64);
    }
    g->made++;
    return scenario_add_flow(g->sc, &f);
}

/* Start of a flow that is the @index-th to be staggered. check_starts() has excluded an overflow.
 */
static int64_t staggered(const struct flow_gen *g, uint64_t index)
{
    return g->r->start_ps + (int64_t)index * g->r->stagger_ps;
}

static uint32_t host_row(const struct flow_gen *g, uint32_t node)
{
    for (uint32_t i = 0; i < g->host_count; i++)
        if (g->host[i] == node)
            return i;
    return NODE_NONE;
}

static int make_single(struct flow_gen *g, uint32_t round)
{
    return emit(g, host_row(g, g->r->src), host_row(g, g->r->dst), g->r->bytes,
                staggered(g, round));
}

/* Senders are the hosts after the receiver, in order and round again if there are fewer than asked
 * for. */
static int make_incast(struct flow_gen *g, uint32_t round)
{
    const uint32_t others = g->host_count - 1;
    const uint32_t fan_in = g->r->fan_in ? g->r->fan_in : others;
    const uint32_t dst = host_row(g, g->r->dst);
    int rc = 0;

    (void)round; /* staggered() counts through the rounds */
    for (uint32_t i = 0; i < fan_in && rc == 0; i++)
        rc = emit(g, (dst + 1 + i % others) % g->host_count, dst, g->r->bytes,
                  staggered(g, g->made));
    return rc;
}

/* Sattolo's shuffle: one cycle through all hosts, so that nobody is mapped to itself. */
static int make_permutation(struct flow_gen *g, uint32_t round)
{
    const uint32_t n = g->host_count;
    const uint64_t key = rng_key(g->r->seed, STREAM_PERMUTATION);
    uint32_t *to = malloc(n * sizeof *to);
    int rc = 0;

    if (!to)
        return WH_ERR_NOMEM;
    for (uint32_t i = 0; i < n; i++)
        to[i] = i;
    for (uint32_t i = n - 1; i > 0; i--) {
        const uint32_t k = rng_below(rng_at(key, (uint64_t)round << 32 | i), i);
        const uint32_t swap = to[i];
        to[i] = to[k];
        to[k] = swap;
    }
    for (uint32_t i = 0; i < n && rc == 0; i++)
        rc = emit(g, i, to[i], g->r->bytes, staggered(g, g->made));
    free(to);
    return rc;
}

static int make_ring(struct flow_gen *g, uint32_t round)
{
    int rc = 0;

    for (uint32_t i = 0; i < g->host_count && rc == 0; i++)
        rc = emit(g, i, (i + 1) % g->host_count, g->r->bytes, staggered(g, round));
    return rc;
}

/* In the order of the shifts, so that equal starts do not all begin with the same receiver. */
static int make_all_to_all(struct flow_gen *g, uint32_t round)
{
    const uint32_t n = g->host_count;
    int rc = 0;

    for (uint32_t shift = 1; shift < n; shift++)
        for (uint32_t i = 0; i < n && rc == 0; i++)
            rc = emit(g, i, (i + shift) % n, g->r->bytes, staggered(g, round));
    return rc;
}

/*
 * -ln(1 - u) for u = k 2^-53, as a multiple of 2^-32, by repeated squaring: every square of a
 * mantissa gives one more binary digit of its logarithm. Integers only.
 */
static uint64_t calc_exponential_q32(uint64_t bits)
{
    uint64_t m = (UINT64_C(1) << 53) - (bits >> 11); /* (1 - u) 2^53, 1..2^53 */
    const unsigned zeros = (unsigned)__builtin_clzll(m);
    uint64_t log2_q40 = (uint64_t)(63 - zeros) << 40;

    m <<= zeros; /* mantissa in [1, 2), as a multiple of 2^-63 */
    for (unsigned digit = 0; digit < 40; digit++) {
        const unsigned __int128 square = (unsigned __int128)m * m;
        const int is_two = (int)(square >> 127);
        m = (uint64_t)(square >> (is_two ? 64 : 63));
        log2_q40 |= (uint64_t)is_two << (39 - digit);
    }
    const uint64_t minus_log2_q40 = (UINT64_C(53) << 40) - log2_q40;
    const uint64_t ln2_q64 = UINT64_C(0xb17217f7d1cf79ab);
    return (uint64_t)((unsigned __int128)minus_log2_q40 * ln2_q64 >> 72);
}

static int make_poisson(struct flow_gen *g)
{
    const struct flow_request *r = g->r;
    const double mean_gap_ps = mean_bytes(r) * 8 / (r->load * g->host_bps) * (double)PS_PER_S;
    const uint64_t gap_key = rng_key(r->seed, STREAM_GAP), size_key = rng_key(r->seed, STREAM_SIZE);
    const uint64_t src_key = rng_key(r->seed, STREAM_SRC), dst_key = rng_key(r->seed, STREAM_DST);
    int64_t now_ps = 0;
    int rc = 0;

    for (uint64_t i = 0; rc == 0 && (!r->flow_count_max || i < r->flow_count_max); i++) {
        const double gap_ps =
            mean_gap_ps * ((double)calc_exponential_q32(rng_at(gap_key, i)) * 0x1p-32);
        if (!(gap_ps < (double)(r->duration_ps - now_ps)))
            break;
        now_ps += (int64_t)gap_ps;
        if (g->made == FLOWS_MAX) /* the expected number was below, the draws were unusual */
            return WH_ERR_LIMIT;
        const uint32_t src = rng_below(rng_at(src_key, i), g->host_count);
        const uint32_t other = rng_below(rng_at(dst_key, i), g->host_count - 1);
        const int64_t bytes =
            r->bytes ? r->bytes : cdf_draw_bytes(&r->cdf, rng_to_double(rng_at(size_key, i)));
        rc = emit(g, src, other + (other >= src), bytes, r->start_ps + now_ps);
    }
    return rc;
}

static int make(struct flow_gen *g)
{
    static int (*const makers[FLOWS_PATTERN_COUNT])(struct flow_gen *, uint32_t) = {
        [FLOWS_SINGLE] = make_single,           [FLOWS_INCAST] = make_incast,
        [FLOWS_PERMUTATION] = make_permutation, [FLOWS_RING] = make_ring,
        [FLOWS_ALL_TO_ALL] = make_all_to_all,
    };
    int rc = 0;

    if (g->r->pattern == FLOWS_POISSON)
        return make_poisson(g);
    for (uint32_t round = 0; round < g->r->repeat && rc == 0; round++)
        rc = makers[g->r->pattern](g, round);
    return rc;
}

static int check_host(const struct flow_gen *g, const char *name, uint32_t node)
{
    if (host_row(g, node) != NODE_NONE)
        return 0;
    return err_set(g->e, WH_ERR_INPUT, NULL, 0, "found %s %u, expected the id of a host", name,
                   node);
}

static int check_ends(const struct flow_gen *g)
{
    const struct flow_request *r = g->r;

    if (r->pattern == FLOWS_SINGLE) {
        if (check_host(g, "src", r->src) || check_host(g, "dst", r->dst))
            return WH_ERR_INPUT;
        if (r->src == r->dst)
            return err_set(g->e, WH_ERR_INPUT, NULL, 0,
                           "found src and dst %u, expected two different hosts", r->src);
    }
    return r->pattern == FLOWS_INCAST ? check_host(g, "dst", r->dst) : 0;
}

static int check_poisson(const struct flow_gen *g)
{
    const struct flow_request *r = g->r;

    if (r->bytes == 0 && r->cdf.count == 0)
        return err_set(
            g->e, WH_ERR_INPUT, NULL, 0,
            "poisson: found neither a size nor a distribution of sizes, expected one of them");
    if (r->bytes != 0 && r->cdf.count != 0)
        return err_set(g->e, WH_ERR_INPUT, NULL, 0,
                       "poisson: found a size and a distribution of sizes, expected one of them");
    if (!(r->load > 0 && r->load <= 1))
        return err_set(g->e, WH_ERR_INPUT, NULL, 0,
                       "poisson: found load %g, expected more than 0, up to 1", r->load);
    if (r->duration_ps <= 0 || r->duration_ps > START_MAX_PS)
        return err_set(g->e, WH_ERR_INPUT, NULL, 0,
                       "poisson: found a duration of %lld ps, expected more than 0",
                       (long long)r->duration_ps);
    if (!(g->host_bps > 0))
        return err_set(g->e, WH_ERR_INPUT, NULL, 0,
                       "poisson: found no link at any host, expected some");
    return 0;
}

/* The number of flows and the latest start must fit their types. */
static int check_extent(const struct flow_gen *g)
{
    const struct flow_request *r = g->r;
    const double count = flows_count(r, g->host_count, g->host_bps);
    const double last = (double)r->start_ps + count * (double)r->stagger_ps + (double)r->jitter_ps;

    if (count > (double)FLOWS_MAX - g->sc->flow_count)
        return err_set(g->e, WH_ERR_LIMIT, NULL, 0, "%s: found %.0f flows, expected at most %u",
                       flow_pattern_name(r->pattern), count, FLOWS_MAX - g->sc->flow_count);
    if (last > (double)START_MAX_PS)
        return err_set(g->e, WH_ERR_LIMIT, NULL, 0,
                       "%s: the last flow would start after %.3g s, expected at most %.3g s",
                       flow_pattern_name(r->pattern), last / (double)PS_PER_S,
                       (double)START_MAX_PS / (double)PS_PER_S);
    return 0;
}

static int check_request(const struct flow_gen *g)
{
    const struct flow_request *r = g->r;

    check((unsigned)r->pattern < FLOWS_PATTERN_COUNT, "pattern %d", (int)r->pattern);
    if (g->host_count < 2)
        return err_set(g->e, WH_ERR_INPUT, NULL, 0,
                       "found %u hosts, expected at least 2 to have a flow", g->host_count);
    if (r->bytes < 0 || r->start_ps < 0 || r->stagger_ps < 0 || r->jitter_ps < 0)
        return err_set(g->e, WH_ERR_INPUT, NULL, 0,
                       "found a negative size, start, stagger or jitter, expected 0 or more");
    if (r->repeat < 1)
        return err_set(g->e, WH_ERR_INPUT, NULL, 0, "found repeat 0, expected at least 1");
    if (r->prio >= CONFIG_PRIO_COUNT)
        return err_set(g->e, WH_ERR_INPUT, NULL, 0, "found priority %u, expected 0 to %d", r->prio,
                       CONFIG_PRIO_COUNT - 1);
    if (check_ends(g))
        return WH_ERR_INPUT;
    if (r->pattern == FLOWS_POISSON && check_poisson(g))
        return WH_ERR_INPUT;
    return check_extent(g);
}

int flows_generate(const struct flow_request *r, const struct topo *t, struct scenario *sc,
                   struct err_info *e)
{
    struct flow_gen g = {.r = r, .sc = sc, .e = e};
    const uint32_t first = sc->flow_count;
    int rc = list_hosts(&g, t);

    if (rc == 0) {
        rc = check_request(&g);
        if (rc)
            goto done;
        rc = make(&g);
    }
    if (rc == 0 && sc->flow_count > first)
        rc = flows_sort(sc->flows + first, sc->flow_count - first);
    if (rc) {
        sc->flow_count = first;
        err_set(e, rc, NULL, 0, "%s: %s for the flows", flow_pattern_name(r->pattern),
                err_text(rc));
    }
done:
    free(g.host);
    return rc;
}

/* Stable merge sort, bottom up: runs of 1, 2, 4, ... rows are merged from one array into the other.
 */
static void merge_runs(const struct flow_spec *from, struct flow_spec *to, uint32_t count,
                       uint32_t run)
{
    for (uint64_t lo = 0; lo < count; lo += 2 * (uint64_t)run) {
        const uint64_t mid = lo + run < count ? lo + run : count;
        const uint64_t hi = mid + run < count ? mid + run : count;
        uint64_t a = lo, b = mid;
        for (uint64_t i = lo; i < hi; i++)
            to[i] = (b == hi || (a < mid && from[a].start_ps <= from[b].start_ps)) ? from[a++]
                                                                                   : from[b++];
    }
}

static int is_sorted(const struct flow_spec *flows, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++)
        if (flows[i - 1].start_ps > flows[i].start_ps)
            return 0;
    return 1;
}

int flows_sort(struct flow_spec *flows, uint32_t flow_count)
{
    struct flow_spec *from = flows, *to, *spare;

    if (is_sorted(flows, flow_count))
        return 0;
    to = spare = malloc(flow_count * sizeof *spare);
    if (!spare)
        return WH_ERR_NOMEM;
    for (uint32_t run = 1; run<flow_count; run = run> flow_count / 2 ? flow_count : 2 * run) {
        merge_runs(from, to, flow_count, run);
        struct flow_spec *swap = from;
        from = to;
        to = swap;
    }
    if (from != flows)
        memcpy(flows, from, flow_count * sizeof *flows);
    free(spare);
    return 0;
}
