/*
 * output_accel.c - see output_accel.h.
 *
 * What is skipped is a property of the simulation: the same for any number of threads, with and
 * without a memo. What is executed is not: it is the rest, less what the memo has.
 */
#include "output_accel.h"

#include "accel_options.h"

#include <inttypes.h>
#include <math.h>

#define SHOWN_MAX 10u

struct saved_hops output_saved_hops(const struct sim *s)
{
    struct sim_counters c;
    struct sim_skip_stats skip;
    struct sim_memo_stats memo;

    sim_counters(s, &c);
    sim_skip_stats(s, &skip);
    sim_memo_stats(s, &memo);
    return (struct saved_hops){.skipped = skip.skipped_hops,
                               .replayed = memo.replayed_hops,
                               .executed = c.packet_hops - memo.replayed_hops};
}

static double share_of(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

static double hop_share(const struct saved_hops *h, uint64_t part)
{
    return share_of((double)part, (double)(h->skipped + h->replayed + h->executed));
}

/* Sums in another order differ in their last digits. */
static double round_share(double share)
{
    return floor(share * 1e6 + 0.5) * 1e-6;
}

/* ---- what events were executed for ---- */

struct event_class {
    const char *key, *text;
    uint64_t events;
};
#define CLASS_COUNT 5

static void list_classes(const struct sim_skip_stats *k, struct event_class out[CLASS_COUNT])
{
    const struct event_class list[CLASS_COUNT] = {
        {"transient", "transient: from a start or an end to the first skip", k->transient},
        {"observed", "observed: between two skips", k->observed},
        {"ending", "ending: a flow is about to end", k->ending},
        {"never_steady", "never steady: episodes without a skip", k->never_steady},
        {"unwatched", "not watched", k->unwatched}};

    for (int i = 0; i < CLASS_COUNT; i++)
        out[i] = list[i];
}

/* ---- summary.json ---- */

static json_t *events_json(const struct sim_skip_stats *k)
{
    struct event_class list[CLASS_COUNT];
    json_t *o = json_object();

    list_classes(k, list);
    for (int i = 0; i < CLASS_COUNT; i++)
        if (json_object_set_new(o, list[i].key, json_integer((json_int_t)list[i].events)))
            goto fail;
    return o;
fail:
    json_decref(o);
    return NULL;
}

static json_t *reasons_json(const struct sim_skip_stats *k)
{
    json_t *o = json_object();

    for (uint32_t i = 0; i < DETECT_REASON_COUNT; i++)
        if (k->why[i] && json_object_set_new(o, detect_reason_text((enum detect_reason)i),
                                             json_integer((json_int_t)k->why[i])))
            goto fail;
    return o;
fail:
    json_decref(o);
    return NULL;
}

/* The parameters as they were used; nulls without skipping. */
static json_t *rule_json(const struct accel *a)
{
    const struct detect_spec *d = &a->steady.params.spec;

    if (!a->has_steady)
        return json_pack("{s:b, s:n, s:n}", "on", 0, "rule", "error_budget");
    return json_pack("{s:b, s:s, s:f}", "on", 1, "rule", accel_rule_name(d->rule), "error_budget",
                     d->error_budget);
}

json_t *output_skipping_json(const struct run_record *r)
{
    const struct saved_hops h = output_saved_hops(r->s);
    struct sim_skip_stats k;
    json_t *o = rule_json(r->accel);
    json_t *rest;

    sim_skip_stats(r->s, &k);
    rest = json_pack("{s:I, s:I, s:I, s:f, s:f, s:o, s:o}", "skips", (json_int_t)k.skips,
                     "skipped_packets", (json_int_t)k.skipped_packets, "skipped_hops",
                     (json_int_t)k.skipped_hops, "skipped_share_of_packet_hops",
                     hop_share(&h, h.skipped), "skipped_share_of_flow_time",
                     round_share(share_of(k.skipped_flow_s, k.flow_s)), "executed_events",
                     events_json(&k), "reasons", reasons_json(&k));
    if (o && rest && !json_object_update(o, rest)) {
        json_decref(rest);
        return o;
    }
    json_decref(o);
    json_decref(rest);
    return NULL;
}

static void read_memo_stats(const struct accel *a, struct memo_stats *out)
{
    *out = (struct memo_stats){.has_store = 0};
    if (a->memo)
        memo_read_stats(a->memo, out);
}

static const char *const miss_texts[SIM_MISS_COUNT] = {
    [SIM_MISS_STRUCTURE] = "new structure: no such flows over such ports before",
    [SIM_MISS_STATE] = "known structure, other rates, queues or sizes",
    [SIM_MISS_SHORT] = "known, but a flow has too little left",
    [SIM_MISS_LARGE] = "too large for a canonical form",
};
static const char *const miss_keys[SIM_MISS_COUNT] = {
    [SIM_MISS_STRUCTURE] = "new_structure",
    [SIM_MISS_STATE] = "other_state",
    [SIM_MISS_SHORT] = "too_short",
    [SIM_MISS_LARGE] = "too_large",
};

static json_t *kind_json(const struct sim_memo_kind *k)
{
    return json_pack("{s:I, s:I, s:I}", "lookups", (json_int_t)k->lookups, "hits",
                     (json_int_t)k->hits, "coalesced", (json_int_t)k->coalesced);
}

static int has_fcg(const struct run_record *r)
{
    return r->accel->has_memo && r->accel->lens == MEMO_FCG;
}

/* What only the fcg lens tells apart; null with the exact one. */
static json_t *fcg_json(const struct run_record *r, const struct sim_memo_stats *k)
{
    json_t *missed;

    if (!has_fcg(r))
        return json_null();
    missed = json_object();
    for (int i = 0; i < SIM_MISS_COUNT; i++)
        if (json_object_set_new(missed, miss_keys[i], json_integer((json_int_t)k->missed[i]))) {
            json_decref(missed);
            return NULL;
        }
    return json_pack("{s:o, s:o, s:o}", "after_control", kind_json(&k->kind[0]), "after_verdict",
                     kind_json(&k->kind[1]), "missed", missed);
}

static json_t *lens_json(const struct run_record *r)
{
    struct sim_memo_stats k;
    struct memo_stats m;

    sim_memo_stats(r->s, &k);
    read_memo_stats(r->accel, &m);
    return json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:s?, s:b}", "lens",
                     r->accel->has_memo ? accel_lens_name(r->accel->lens) : "off", "lookups",
                     (json_int_t)k.lookups, "hits", (json_int_t)k.hits, "coalesced",
                     (json_int_t)k.coalesced, "declined", (json_int_t)k.declined, "disturbed",
                     (json_int_t)k.disturbed, "replayed_hops", (json_int_t)k.replayed_hops,
                     "entries", (json_int_t)m.table.entry_count, "bytes",
                     (json_int_t)m.table.entry_bytes, "loaded", (json_int_t)m.loaded_count, "saved",
                     (json_int_t)m.saved_count, "store", m.has_store ? r->accel->memo_path : NULL,
                     "read_only", m.is_read_only);
}

json_t *output_memo_json(const struct run_record *r)
{
    struct sim_memo_stats k;
    json_t *o = lens_json(r);

    sim_memo_stats(r->s, &k);
    if (o && !json_object_set_new(o, "stages", fcg_json(r, &k)))
        return o;
    json_decref(o);
    return NULL;
}

/* Digits beyond these are no information. */
static json_t *estimate_json(int is_there, double share)
{
    return is_there ? json_real(floor(share * 1e9 + 0.5) * 1e-9) : json_null();
}

/* What audits of the fcg lens' hits have found; null with the exact one. */
static json_t *fcg_audit_json(const struct run_record *r, const struct sim_audit_stats *a)
{
    const struct sim_fcg_audit *f = &a->fcg;

    if (!has_fcg(r) || !(a->share > 0))
        return json_null();
    return json_pack("{s:I, s:I, s:f, s:f, s:f, s:f, s:o, s:o, s:o}", "hits", (json_int_t)f->hits,
                     "audited", (json_int_t)f->audited, "bytes_off", round_share(f->bytes_off),
                     "bytes_off_max", round_share(f->bytes_off_max), "fct_off_ns",
                     f->fct_off_s * 1e9, "fct_off_max_ns", f->fct_off_max_s * 1e9, "mean_fct_error",
                     estimate_json(a->has_estimate, f->error), "low_95",
                     estimate_json(a->has_bounds, f->low), "high_95",
                     estimate_json(a->has_bounds, f->high));
}

json_t *output_audit_json(const struct run_record *r)
{
    struct sim_audit_stats a;

    sim_audit_stats(r->s, &a);
    return json_pack("{s:f, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:I, s:I, s:o}", "share", a.share,
                     "skips", (json_int_t)a.skips, "audited", (json_int_t)a.audited, "refused",
                     (json_int_t)a.refused, "executed_events", (json_int_t)a.events,
                     "mean_fct_error", estimate_json(a.has_estimate, a.error), "low_95",
                     estimate_json(a.has_bounds, a.low), "high_95",
                     estimate_json(a.has_bounds, a.high), "hits", (json_int_t)a.hits, "hits_wrong",
                     (json_int_t)a.hits_wrong, "fcg", fcg_audit_json(r, &a));
}

/* ---- the table ---- */

static void print_skipped(FILE *out, const struct run_record *r, const struct saved_hops *h)
{
    struct sim_skip_stats k;

    sim_skip_stats(r->s, &k);
    fprintf(out,
            "skipped         %.2f %% of packet-hops, %.2f %% of flow time, in %" PRIu64 " skips\n",
            100 * hop_share(h, h->skipped), 100 * share_of(k.skipped_flow_s, k.flow_s), k.skips);
}

static uint64_t executed_events(const struct sim_skip_stats *k)
{
    return k->transient + k->observed + k->ending + k->never_steady + k->unwatched;
}

/* Only where it matters: what is coupled is large, hardly ever steady, and not remembered. */
static void print_coupled(FILE *out, const struct run_record *r)
{
    struct sim_skip_stats k;

    sim_skip_stats(r->s, &k);
    if (2 * k.coupled > executed_events(&k))
        fprintf(
            out,
            "coupled         %.1f %% of events, in partitions held together by the buffers of %u "
            "switches: see switch.buffer\n",
            100 * share_of((double)k.coupled, (double)executed_events(&k)), k.coupled_switches);
}

static void print_replayed(FILE *out, const struct run_record *r, const struct saved_hops *h)
{
    struct sim_memo_stats k;
    struct memo_stats m;

    sim_memo_stats(r->s, &k);
    read_memo_stats(r->accel, &m);
    fprintf(out,
            "from the memo   %" PRIu64 " of %" PRIu64 " episodes, %.2f %% of packet-hops; %" PRIu64
            " entries, %.1f MB\n",
            k.hits + k.coalesced, k.lookups, 100 * hop_share(h, h->replayed), m.table.entry_count,
            (double)m.table.entry_bytes * 1e-6);
    if (m.has_store)
        fprintf(out, "memo file       %s: %" PRIu64 " entries loaded, %" PRIu64 " added%s\n",
                r->accel->memo_path, m.loaded_count, m.saved_count,
                m.is_read_only ? " (read-only)" : "");
}

static void print_estimate(FILE *out, const struct sim_audit_stats *a, double error, double low,
                           double high)
{
    if (!a->has_estimate)
        fprintf(out, "no estimate");
    else if (!a->has_bounds)
        fprintf(out, "mean FCT %+.4f %%, too few for an interval", 100 * error);
    else
        fprintf(out, "mean FCT %+.4f %%, 95 %% from %+.4f to %+.4f %%", 100 * error, 100 * low,
                100 * high);
}

static void print_fcg_audit(FILE *out, const struct sim_audit_stats *a)
{
    const struct sim_fcg_audit *f = &a->fcg;

    fprintf(out, "fcg audit       %" PRIu64 " of %" PRIu64 " hits: ", f->audited, f->hits);
    print_estimate(out, a, f->error, f->low, f->high);
    fprintf(out,
            " of the above\n                bytes given off by %.4f %% on average, at most %.4f; "
            "ends of flows by %.3f us, at most %.3f\n",
            100 * f->bytes_off, 100 * f->bytes_off_max, f->fct_off_s * 1e6, f->fct_off_max_s * 1e6);
}

static void print_audit(FILE *out, const struct run_record *r)
{
    struct sim_audit_stats a;

    sim_audit_stats(r->s, &a);
    if (!(a.share > 0))
        return;
    fprintf(out, "audit           %" PRIu64 " of %" PRIu64 " skips: ", a.audited, a.skips);
    print_estimate(out, &a, a.error, a.low, a.high);
    fprintf(out, "%s\n", a.has_bounds ? "; what chance does to it: wormhole noise" : "");
    if (has_fcg(r))
        print_fcg_audit(out, &a);
    if (a.hits)
        fprintf(out, "memo audit      %" PRIu64 " of %" PRIu64 " hits differ\n", a.hits_wrong,
                a.hits);
}

void output_accel_table(FILE *out, const struct run_record *r)
{
    const struct saved_hops h = output_saved_hops(r->s);
    const uint64_t all = h.skipped + h.replayed + h.executed;

    if (!r->accel->has_steady && !r->accel->has_memo)
        return;
    fprintf(out, "packet-hops     %" PRIu64 " simulated, ", all);
    if (h.executed)
        fprintf(out, "%" PRIu64 " executed: %.4g-fold saving\n", h.executed,
                (double)all / (double)h.executed);
    else
        fprintf(out, "none of them executed\n");
    if (r->accel->has_steady) {
        print_skipped(out, r, &h);
        print_coupled(out, r);
    }
    if (r->accel->has_memo)
        print_replayed(out, r, &h);
    print_audit(out, r);
}

/* ---- --explain ---- */

/* The rows that held partitions back most, most first; equal ones in order of their number. */
struct ranking {
    uint32_t row[SHOWN_MAX];
    uint64_t events[SHOWN_MAX];
    uint32_t count;
};

static void rank(struct ranking *k, uint32_t row, uint64_t events)
{
    uint32_t at = k->count;

    if (!events || (at == SHOWN_MAX && events <= k->events[at - 1]))
        return;
    if (at == SHOWN_MAX)
        at--;
    else
        k->count++;
    for (; at > 0 && k->events[at - 1] < events; at--) {
        k->events[at] = k->events[at - 1];
        k->row[at] = k->row[at - 1];
    }
    k->events[at] = events;
    k->row[at] = row;
}

static void print_share(FILE *out, uint64_t events, uint64_t of)
{
    fprintf(out, "  %14" PRIu64 "  %6.2f %%  ", events, 100 * share_of((double)events, (double)of));
}

static uint64_t print_classes(FILE *out, const struct sim_skip_stats *k)
{
    struct event_class list[CLASS_COUNT];
    const uint64_t sum = executed_events(k);

    list_classes(k, list);
    fprintf(out, "executed events, by what they were for:\n");
    for (int i = 0; i < CLASS_COUNT; i++) {
        print_share(out, list[i].events, sum);
        fprintf(out, "%s\n", list[i].text);
    }
    return sum;
}

static void explain_coupled(FILE *out, const struct sim_skip_stats *k, uint64_t sum)
{
    fprintf(out, "switches whose buffer ever coupled what crosses them (switch.buffer): %u\n",
            k->coupled_switches);
    print_share(out, k->coupled, sum);
    fprintf(out, "executed in partitions that held one\n");
}

static void explain_conditions(FILE *out, const struct sim_skip_stats *k, uint64_t sum)
{
    struct ranking best = {.count = 0};

    for (uint32_t i = 0; i < DETECT_REASON_COUNT; i++)
        rank(&best, i, k->why[i]);
    fprintf(out, "conditions that held partitions back, by the events executed meanwhile:\n");
    for (uint32_t i = 0; i < best.count; i++) {
        print_share(out, best.events[i], sum);
        fprintf(out, "%s\n", detect_reason_text((enum detect_reason)best.row[i]));
    }
}

static void explain_flows(FILE *out, const struct sim *s, uint64_t sum)
{
    struct ranking best = {.count = 0};

    for (uint32_t f = 0; f < sim_flow_count(s); f++)
        rank(&best, f, sim_flow_held_events(s, f));
    fprintf(out, "flows that held partitions back most:%s\n", best.count ? "" : " none");
    for (uint32_t i = 0; i < best.count; i++) {
        const struct flow_spec *f = sim_flow_spec(s, best.row[i]);

        print_share(out, best.events[i], sum);
        fprintf(out, "flow %u, host %u -> host %u, %" PRId64 " B\n", best.row[i], f->src, f->dst,
                f->bytes);
    }
}

static void explain_ports(FILE *out, const struct sim *s, uint64_t sum)
{
    const struct topo *t = sim_topo(s);
    struct ranking best = {.count = 0};

    for (uint32_t p = 0; p < t->port_count; p++)
        rank(&best, p, sim_port_held_events(s, p));
    fprintf(out, "ports that held partitions back most:%s\n", best.count ? "" : " none");
    for (uint32_t i = 0; i < best.count; i++) {
        const uint32_t port = best.row[i], node = t->port_node[port];

        print_share(out, best.events[i], sum);
        fprintf(out, "node %u, port %u, to node %u\n", node, port - t->first_port[node] + 1,
                t->port_node[t->port_peer[port]]);
    }
}

static void explain_kind(FILE *out, const char *what, const struct sim_memo_kind *k)
{
    fprintf(out, "  %14" PRIu64 "  %6.2f %%  %s: hits and coalesced\n", k->lookups,
            100 * share_of((double)(k->hits + k->coalesced), (double)k->lookups), what);
}

/* Look-ups through the fcg lens, and why they found nothing. */
static void explain_memo(FILE *out, const struct run_record *r)
{
    struct sim_memo_stats k;

    if (!has_fcg(r))
        return;
    sim_memo_stats(r->s, &k);
    fprintf(out, "look-ups in the memo, by where the stage begins:\n");
    explain_kind(out, "after a control event", &k.kind[0]);
    explain_kind(out, "after a verdict", &k.kind[1]);
    fprintf(out, "look-ups that found nothing, as a share of all:\n");
    for (int i = 0; i < SIM_MISS_COUNT; i++) {
        print_share(out, k.missed[i], k.lookups);
        fprintf(out, "%s\n", miss_texts[i]);
    }
    print_share(out, k.disturbed, k.lookups);
    fprintf(out, "hits that a control event cut short\n");
    print_share(out, k.declined, k.lookups + k.declined);
    fprintf(out, "not looked up: state outside of the partition, or in vain so far\n");
}

void output_accel_explain(FILE *out, const struct run_record *r)
{
    const struct saved_hops h = output_saved_hops(r->s);
    struct sim_skip_stats k;
    uint64_t sum;

    explain_memo(out, r);
    if (!r->accel->has_steady) {
        fprintf(out, "Nothing was skipped: %s\n", r->why_all ? r->why_all : "skipping is off");
        return;
    }
    sim_skip_stats(r->s, &k);
    fprintf(out,
            "skipped         %.2f %% of the time of all flows, %.2f %% of packet-hops\n"
            "from the memo   %.2f %% of packet-hops\n"
            "executed        %.2f %% of packet-hops\n",
            100 * share_of(k.skipped_flow_s, k.flow_s), 100 * hop_share(&h, h.skipped),
            100 * hop_share(&h, h.replayed), 100 * hop_share(&h, h.executed));
    sum = print_classes(out, &k);
    explain_coupled(out, &k, sum);
    explain_conditions(out, &k, sum);
    explain_flows(out, r->s, sum);
    explain_ports(out, r->s, sum);
}
