/*
 * htsim.c - what is common to the files of csg-htsim, and what follows from two of them together.
 * See htsim.h.
 */
#include "htsim_int.h"

#include "units.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define FLOW_PRIO 3    /* the data queue; htsim knows one */
#define FLOW_DPORT 100 /* label of ordinary traffic */
#define WORD_CHARS 31

static int lower(int c)
{
    return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

int htsim__is_word(const char *a, const char *b)
{
    while (*a && lower(*a) == lower(*b)) {
        a++;
        b++;
    }
    return *a == *b;
}

const char *htsim__nearest(const char *word, const char *const *names, uint32_t count)
{
    const char *best = names[0];

    for (uint32_t i = 1; i < count; i++)
        if (text_distance(word, names[i]) < text_distance(word, best))
            best = names[i];
    return best;
}

void htsim__warn_unknown(struct htsim_unknown *u, const struct textfile *t,
                         const char *const *names, uint32_t count, const struct warn_sink *sink)
{
    const uint32_t cap = sizeof u->name / sizeof *u->name;
    char word[WORD_CHARS + 1] = "";

    for (size_t i = 0; i < WORD_CHARS && t->token[0][i]; i++)
        word[i] = t->token[0][i] > ' ' && t->token[0][i] < 0x7f ? t->token[0][i] : '?';
    for (uint32_t i = 0; i < u->count; i++)
        if (htsim__is_word(u->name[i], word))
            return;
    if (u->count == cap)
        return;
    memcpy(u->name[u->count++], word, sizeof word);
    warn(sink, "%s:%ld: unknown key \"%s\" is ignored; the nearest known one is %s", t->path,
         t->line, word, htsim__nearest(word, names, count));
}

void htsim_cm_fini(struct htsim_cm *cm)
{
    free(cm->conns);
    free(cm->triggers);
    free(cm->failures);
    memset(cm, 0, sizeof *cm);
}

void htsim_topo_fini(struct htsim_topo *t)
{
    topo_destroy(t->topo);
    memset(t, 0, sizeof *t);
}

/* The bytes that fill the links of @host until @end_ps, and one more. */
static int64_t calc_endless(const struct topo *topo, uint32_t host, int64_t start_ps,
                            int64_t end_ps)
{
    double bytes = 1;

    if (end_ps <= start_ps)
        return 1;
    for (uint32_t p = topo->first_port[host]; p < topo->first_port[host + 1]; p++)
        bytes += (double)topo_port_class(topo, p)->rate_bps / 8 * (double)(end_ps - start_ps) /
                 (double)PS_PER_S;
    return bytes < 4e18 ? (int64_t)bytes + 1 : INT64_C(4000000000000000000);
}

static int add_flow(const struct htsim_cm *cm, uint32_t row, const struct topo *topo,
                    struct scenario *sc, struct err_info *e)
{
    const struct htsim_conn *c = &cm->conns[row];
    struct flow_spec f = {.start_ps = c->start_ps,
                          .bytes = c->bytes,
                          .src = c->src,
                          .dst = c->dst,
                          .dport = FLOW_DPORT,
                          .prio = FLOW_PRIO,
                          .user = row};

    if (c->bytes == HTSIM_ENDLESS) {
        if (sc->cfg.end_ps == TIME_NEVER)
            return err_input(e, cm->path, c->line, "a connection without a size, which never ends",
                             "a size, or an end time of the run");
        f.bytes = calc_endless(topo, c->src, c->start_ps, sc->cfg.end_ps);
    }
    return scenario_add_flow(sc, &f) ? err_set(e, WH_ERR_NOMEM, cm->path, 0, "out of memory") : 0;
}

static int compare_flows(const void *a, const void *b)
{
    const struct flow_spec *x = a, *y = b;

    if (x->start_ps != y->start_ps)
        return x->start_ps < y->start_ps ? -1 : 1;
    return x->user < y->user ? -1 : x->user > y->user; /* the row: flows of equal start stay */
}

int htsim_to_flows(const struct htsim_cm *cm, const struct topo *topo, struct scenario *sc,
                   const struct warn_sink *sink, struct err_info *e)
{
    const uint32_t flow_first = sc->flow_count;
    long prio_line = 0;
    int rc = 0;

    if (cm->node_count != topo->host_count)
        return err_set(e, WH_ERR_INPUT, cm->path, cm->node_line,
                       "found Nodes %u, expected %u: the hosts of the topology", cm->node_count,
                       topo->host_count);
    for (uint32_t i = 0; i < cm->conn_count && !rc; i++) {
        const struct htsim_conn *c = &cm->conns[i];

        if (c->prio != HTSIM_NONE && !prio_line)
            prio_line = c->line;
        if (c->trigger == HTSIM_NONE)
            rc = add_flow(cm, i, topo, sc, e);
    }
    if (rc) {
        sc->flow_count = flow_first;
        return rc;
    }
    if (sc->flow_count > flow_first)
        qsort(sc->flows + flow_first, sc->flow_count - flow_first, sizeof *sc->flows,
              compare_flows);
    if (prio_line)
        warn(sink, "%s:%ld: prio is accepted, without effect: it orders what receivers ask for",
             cm->path, prio_line);
    return 0;
}

/* Marks the uplink that a failure names. */
static int mark_failure(const struct htsim_topo *t, const struct htsim_cm *cm,
                        const struct htsim_failure *f, uint8_t *is_failed, struct err_info *e)
{
    const uint32_t links = t->tier[1].radix_up;

    if (f->switch_type != HTSIM_AGG)
        return err_input(e, cm->path, f->line, "a failure at a switch of another tier",
                         "switch_type AGG: links between aggregation and core switches");
    if (f->switch_id >= t->agg_count)
        return err_set(e, WH_ERR_INPUT, cm->path, f->line,
                       "found switch_id %u, expected below %u: the aggregation switches",
                       f->switch_id, t->agg_count);
    if (f->link_id >= links)
        return err_set(e, WH_ERR_INPUT, cm->path, f->line,
                       "found link_id %u, expected below %u: the uplinks of an aggregation switch",
                       f->link_id, links);
    uint8_t *mark = &is_failed[(size_t)f->switch_id * links + f->link_id];

    if (*mark)
        return err_set(e, WH_ERR_INPUT, cm->path, f->line,
                       "found a second failure of link %u of switch %u, expected each link once",
                       f->link_id, f->switch_id);
    *mark = 1;
    return 0;
}

int htsim_fail_links(struct htsim_topo *t, const struct htsim_cm *cm, struct err_info *e)
{
    struct topo *whole = t->topo;
    int rc = 0;

    if (!cm->failure_count)
        return 0;
    if (t->tier_count < 3)
        return err_input(e, cm->path, cm->failures[0].line, "a failure in a topology of two tiers",
                         "three: links between aggregation and core switches can fail");
    uint8_t *is_failed = calloc((size_t)t->agg_count * t->tier[1].radix_up, 1);

    if (!is_failed)
        return err_set(e, WH_ERR_NOMEM, cm->path, 0, "out of memory");
    for (uint32_t i = 0; i < cm->failure_count && !rc; i++)
        rc = mark_failure(t, cm, &cm->failures[i], is_failed, e);
    if (!rc && htsim__build_topo(t, is_failed)) {
        t->topo = whole;
        rc = err_set(e, WH_ERR_NOMEM, cm->path, 0, "out of memory");
    } else if (!rc) {
        topo_destroy(whole);
    }
    free(is_failed);
    return rc;
}
