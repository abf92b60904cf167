/*
 * output_summary.c - see output_summary.h.
 *
 * Apart from the keys in host_dependent_keys the file is the same byte for byte for the same input,
 * seed, engine and memo; apart from those in memo_dependent_keys too, for any memo; and, if nothing
 * is skipped, apart from those in engine_dependent_keys too, for any engine: keys keep the order of
 * insertion, numbers are written with twelve digits.
 */
#include "output_summary.h"

#include "config_keys.h"
#include "engine_options.h"
#include "output_accel.h"
#include "output_fct.h"
#include "output_workload.h"
#include "units.h"
#include "version.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* jansson's setters fail only for lack of memory or on NULL, and accept NULL values by failing: one
 * check at the end is enough if the failures are counted. */
struct object {
    json_t *json;
    int *failures;
};

static void put(struct object o, const char *key, json_t *value)
{
    if (json_object_set_new(o.json, key, value))
        ++*o.failures;
}

static void put_int(struct object o, const char *key, int64_t value)
{
    put(o, key, json_integer(value));
}

static void put_count(struct object o, const char *key, uint64_t value)
{
    put(o, key, json_integer((json_int_t)value));
}

static void put_real(struct object o, const char *key, double value)
{
    put(o, key, json_real(value));
}

/* A nested object, already a member of @parent. */
static struct object put_object(struct object parent, const char *key)
{
    struct object child = {json_object(), parent.failures};

    put(parent, key, child.json);
    return child;
}

static json_t *put_array(struct object parent, const char *key)
{
    json_t *array = json_array();

    put(parent, key, array);
    return array;
}

static struct object append_object(json_t *array, int *failures)
{
    struct object row = {json_object(), failures};

    if (json_array_append_new(array, row.json))
        ++*failures;
    return row;
}

static void append_text(json_t *array, int *failures, const char *text)
{
    if (json_array_append_new(array, json_string(text)))
        ++*failures;
}

/* Times as ns: exact integers where they are whole. */
static void put_ns(struct object o, const char *key, int64_t ps)
{
    if (ps % PS_PER_NS == 0)
        put_int(o, key, ps / PS_PER_NS);
    else
        put_real(o, key, (double)ps / (double)PS_PER_NS);
}

static void append_texts(struct object root, const char *key, const char *const *texts)
{
    json_t *array = put_array(root, key);

    for (; *texts; texts++)
        append_text(array, root.failures, *texts);
}

/* What comparing two runs has to leave out: always, if their engines differ, and if what their
 * memos knew at the beginning differs. */
static void put_dependent_keys(struct object root)
{
    static const char *const host[] = {
        "wall_s", "cpu_s", "events_per_s", "packet_hops_per_s", "peak_rss_bytes", "engine", NULL};
    static const char *const engine[] = {"events", NULL};
    static const char *const memo[] = {
        "events", "memo", "audit", "skipping.executed_events", "skipping.reasons", NULL};

    append_texts(root, "host_dependent_keys", host);
    append_texts(root, "engine_dependent_keys", engine);
    append_texts(root, "memo_dependent_keys", memo);
}

/* Numbers of the pool and of its threads depend on the moment. */
static void put_engine(struct object root, const struct sim *s)
{
    struct object o = put_object(root, "engine");
    struct sim_engine_stats st;

    sim_engine_stats(s, &st);
    put(o, "kind", json_string(engine_kind_name(st.kind)));
    put_count(o, "threads", st.threads);
    put_count(o, "rounds", st.rounds);
    put_count(o, "shared_rounds", st.shared_rounds);
    put_count(o, "tasks", st.tasks);
    put_count(o, "steals", st.steals);
    put_count(o, "joins", st.joins);
    put_count(o, "splits", st.splits);
    put_count(o, "shards", st.shards);
    put_count(o, "shard_windows", st.shard_windows);
    put_count(o, "partitions_alive", st.parts_alive);
    put_count(o, "partitions_alive_max", st.parts_alive_max);
}

static void put_head(struct object root, const struct run_record *r)
{
    const double wall_s = r->wall_s > 0 ? r->wall_s : 1e-9;

    put(root, "version", json_string(WH_VERSION));
    put(root, "commit", json_string(WH_COMMIT));
    put(root, "scenario", json_string(r->sc->name));
    put_count(root, "seed", r->sc->cfg.seed);
    put(root, "complete", json_boolean(r->is_complete));
    put_real(root, "wall_s", r->wall_s);
    put_real(root, "cpu_s", r->cpu_s);
    put_real(root, "events_per_s", (double)r->f->c.events / wall_s);
    put_real(root, "packet_hops_per_s", (double)r->f->c.packet_hops / wall_s);
    put_int(root, "peak_rss_bytes", r->peak_rss_bytes);
    put_engine(root, r->s);
    put_dependent_keys(root);
    put_count(root, "events", r->f->c.events);
    put_count(root, "packet_hops", r->f->c.packet_hops);
    put_real(root, "simulated_s", (double)sim_now_ps(r->s) / (double)PS_PER_S);
    put(root, "skipping", output_skipping_json(r));
    put(root, "memo", output_memo_json(r));
    put(root, "audit", output_audit_json(r));
}

static void put_workload(struct object root, const struct workload_figures *f)
{
    if (!f)
        return;
    put(root, "iteration_time_s",
        f->iterations_done ? json_real(f->iteration_time_s) : json_null());
    put(root, "workload", output_workload_json(f));
}

static void put_topology(struct object root, const struct topo *t)
{
    struct object o = put_object(root, "topology");

    put_count(o, "nodes", t->node_count);
    put_count(o, "hosts", t->host_count);
    put_count(o, "switches", t->node_count - t->host_count);
    put_count(o, "links", t->link_count);
}

static void put_flows(struct object root, const struct run_record *r)
{
    const struct sim_counters *c = &r->f->c;
    struct object o = put_object(root, "flows");
    const uint64_t total = sim_flow_count(r->s);

    put_count(o, "total", total);
    put_count(o, "finished", c->flows_finished);
    put_count(o, "unfinished", total - c->flows_finished);
    put_count(o, "active", c->flows_active);
    put_count(o, "waiting", c->flows_waiting);
    put_count(o, "no_path", c->flows_nopath);
    put_count(o, "stalled", c->flows_stalled);
    put_int(o, "bytes", r->f->bytes);
    put_int(o, "acked_bytes", r->f->acked_bytes);
    put_int(o, "retx_bytes", r->f->retx_bytes);
}

static void put_counters(struct object root, const struct sim_counters *c)
{
    struct object o = put_object(root, "counters");

    put_count(o, "data_packets", c->data_packets);
    put_count(o, "ack_packets", c->ack_packets);
    put_count(o, "nack_packets", c->nack_packets);
    put_count(o, "cnp_echoes", c->cnp_echoes);
    put_count(o, "pfc_frames", c->pfc_frames);
    put_count(o, "drops", c->drops);
    put_count(o, "losses", c->losses);
    put_count(o, "marks", c->marks);
    put_count(o, "pauses", c->pauses);
    put_count(o, "rate_cuts", c->rate_cuts);
    put_count(o, "timeouts", c->timeouts);
    put_count(o, "retx_packets", c->retx_packets);
    put_ns(o, "max_base_rtt_ns", c->max_base_rtt_ps);
    put_int(o, "max_bdp_bytes", c->max_bdp_bytes);
}

static void put_dist(struct object o, const struct dist *fct, const struct dist *slowdown)
{
    put_count(o, "flows", fct->count);
    put_real(o, "mean_ns", fct->mean);
    put_real(o, "p50_ns", fct->p50);
    put_real(o, "p95_ns", fct->p95);
    put_real(o, "p99_ns", fct->p99);
    put_real(o, "max_ns", fct->max);
    put_real(o, "slowdown_mean", slowdown->mean);
    put_real(o, "slowdown_p50", slowdown->p50);
    put_real(o, "slowdown_p95", slowdown->p95);
    put_real(o, "slowdown_p99", slowdown->p99);
    put_real(o, "slowdown_max", slowdown->max);
}

static void put_fct(struct object root, const struct figures *f)
{
    struct object o = put_object(root, "fct");
    json_t *classes;

    put_dist(o, &f->fct_ns, &f->slowdown);
    put_ns(o, "first_start_ns", f->first_start_ps);
    put_ns(o, "last_end_ns", f->last_end_ps);
    put_ns(o, "makespan_ns", f->last_end_ps > 0 ? f->last_end_ps - f->first_start_ps : 0);
    classes = put_array(o, "by_size");
    for (uint32_t i = 0; i < SIZE_CLASS_COUNT; i++) {
        if (f->by_size[i].fct_ns.count == 0)
            continue;
        struct object row = append_object(classes, root.failures);

        put_int(row, "bytes_above", i ? size_class_limit(i - 1) : -1);
        put(row, "bytes_up_to",
            i + 1 < SIZE_CLASS_COUNT ? json_integer(size_class_limit(i)) : json_null());
        put_dist(row, &f->by_size[i].fct_ns, &f->by_size[i].slowdown);
    }
}

static void put_port(struct object row, const struct topo *t, const struct port_figure *p)
{
    const uint32_t node = t->port_node[p->port];

    put_count(row, "from", node);
    put_count(row, "to", t->port_node[t->port_peer[p->port]]);
    put_count(row, "port", p->port - t->first_port[node] + 1);
    put_int(row, "rate_bps", topo_port_class(t, p->port)->rate_bps);
    put_count(row, "tx_bytes", p->st.tx_bytes);
    put_count(row, "tx_packets", p->st.tx_packets);
    put_real(row, "utilization", p->utilization);
    put_count(row, "queue_max_bytes", p->st.queue_max_bytes);
    put_count(row, "marks", p->st.marks);
    put_count(row, "drops", p->st.drops);
    put_count(row, "losses", p->st.losses);
    put_count(row, "pauses", p->st.pauses_received);
    put_ns(row, "paused_ns", p->st.paused_ps);
}

static void put_ports(struct object o, const char *key, const struct topo *t,
                      const struct port_figure *rows, uint32_t count)
{
    json_t *array = put_array(o, key);

    for (uint32_t i = 0; i < count; i++)
        put_port(append_object(array, o.failures), t, &rows[i]);
}

static void put_network(struct object root, const struct run_record *r)
{
    const struct topo *t = sim_topo(r->s);
    struct object queues = put_object(root, "queues");
    struct object links, pauses;

    put_count(queues, "max_bytes", r->f->c.queue_max_bytes);
    put_ports(queues, "top", t, r->f->fullest, r->f->fullest_count);
    links = put_object(root, "links");
    put_real(links, "utilization_mean", r->f->link_utilization_mean);
    put_ports(links, "top", t, r->f->busiest, r->f->busiest_count);
    pauses = put_object(root, "pauses");
    put_count(pauses, "received", r->f->c.pauses);
    put_ports(pauses, "top", t, r->f->paused, r->f->paused_count);
}

static json_t *config_json(const struct sim_config *c, const struct config_key *k)
{
    const struct config_value v = config_key_get(c, k);

    switch (v.type) {
    case CONFIG_BOOL:
        return json_boolean(v.integer != 0);
    case CONFIG_REAL:
        return json_real(v.real);
    case CONFIG_NAME:
        return json_string(v.name);
    case CONFIG_TIME:
        return v.integer == TIME_NEVER ? json_null() : json_integer(v.integer);
    default:
        return json_integer(v.integer);
    }
}

static void put_ecn_rows(struct object o, const struct sim_config *c)
{
    json_t *rows = put_array(o, "ecn_rows");

    for (uint32_t i = 0; i < c->ecn_row_count; i++) {
        struct object row = append_object(rows, o.failures);

        put_int(row, "rate_bps", c->ecn_rows[i].rate_bps);
        put_int(row, "kmin_bytes", c->ecn_rows[i].kmin_bytes);
        put_int(row, "kmax_bytes", c->ecn_rows[i].kmax_bytes);
        put_real(row, "pmax", c->ecn_rows[i].pmax);
    }
}

static void put_events(struct object o, const struct sim_config *c)
{
    json_t *rows = put_array(o, "link_events");

    for (uint32_t i = 0; i < c->event_count; i++) {
        struct object row = append_object(rows, o.failures);

        put_int(row, "time_ps", c->events[i].time_ps);
        put_count(row, "a", c->events[i].a);
        put_count(row, "b", c->events[i].b);
        put(row, "state", json_string(c->events[i].kind == NET_LINK_DOWN ? "down" : "up"));
    }
}

static void put_config(struct object root, const struct sim_config *c)
{
    struct object o = put_object(root, "config");
    uint32_t count;
    const struct config_key *keys = config_keys(&count);

    for (uint32_t i = 0; i < count; i++)
        put(o, keys[i].name, config_json(c, &keys[i]));
    put_ecn_rows(o, c);
    put_events(o, c);
}

/* Nothing waited anywhere: no queue above one full packet with the largest INT header. */
static int is_uncongested(const struct run_record *r)
{
    const struct sim_config *cfg = sim_config(r->s);
    const struct sim_counters *c = &r->f->c;

    return c->marks == 0 && c->drops == 0 && c->pauses == 0 &&
           c->queue_max_bytes <= (uint64_t)cfg->payload_bytes + cfg->header_bytes + 64;
}

static void put_notes(struct object root, const struct run_record *r)
{
    const struct sim_config *cfg = sim_config(r->s);
    const uint64_t unfinished = sim_flow_count(r->s) - r->f->c.flows_finished;
    json_t *notes = put_array(root, "notes");
    char text[160];

    if (cfg->cc == CC_NONE)
        append_text(notes, root.failures, "there was no congestion control");
    else if (is_uncongested(r))
        append_text(notes, root.failures,
                    "congestion control had nothing to do: nothing was ever "
                    "marked, dropped or paused, and no queue exceeded one packet");
    if (cfg->pfc && r->f->c.pauses == 0)
        append_text(notes, root.failures, "no port was ever paused");
    if (cfg->buffer_bytes == 0)
        append_text(notes, root.failures,
                    "switch buffers were unlimited: nothing could be dropped");
    if (r->why_all) {
        (void)snprintf(text, sizeof text, "nothing was skipped or taken from the memo: %s",
                       r->why_all);
        append_text(notes, root.failures, text);
    }
    if (unfinished) {
        (void)snprintf(text, sizeof text,
                       "%" PRIu64 " flows did not finish; fct.txt and the "
                       "statistics leave them out",
                       unfinished);
        append_text(notes, root.failures, text);
    }
}

static void put_outputs(struct object root, const struct run_record *r)
{
    const size_t dir_length = strlen(r->dir);
    json_t *files = put_array(root, "outputs");

    for (uint32_t i = 0; i < r->outputs->count; i++) {
        const struct out_file *o = &r->outputs->files[i];
        struct object row = append_object(files, root.failures);
        /* Relative to the folder, so that the summary does not depend on where it stands. */
        const int is_inside = !strncmp(o->path, r->dir, dir_length) && o->path[dir_length] == '/';

        put(row, "file", json_string(is_inside ? o->path + dir_length + 1 : o->path));
        put_count(row, "left_out_lines", o->left_out);
    }
}

int output_summary_json(struct out_file *o, const struct run_record *r)
{
    int failures = 0;
    struct object root = {json_object(), &failures};
    char *text = NULL;

    put_head(root, r);
    put_workload(root, r->workload);
    put_topology(root, sim_topo(r->s));
    put_flows(root, r);
    put_counters(root, &r->f->c);
    put_fct(root, r->f);
    put_network(root, r);
    put_config(root, sim_config(r->s));
    put_outputs(root, r);
    put_notes(root, r);
    if (!failures)
        text = json_dumps(root.json, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
    json_decref(root.json);
    if (!text)
        return WH_ERR_NOMEM;
    out_text(o, text, strlen(text));
    out_text(o, "\n", 1);
    free(text);
    return 0;
}
