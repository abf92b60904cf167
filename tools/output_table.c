/*
 * output_table.c - the result table that a run prints: see output_summary.h.
 */
#include "output_accel.h"
#include "output_fct.h"
#include "output_summary.h"
#include "output_workload.h"
#include "units.h"

#include "describe.h"

#include <inttypes.h>

/* Times for people: three digits behind the point of a fitting unit. */
static const char *format_ns(double ns, char *buf, size_t buf_bytes)
{
    static const char *const units[] = {"ns", "us", "ms", "s"};
    int unit = 0;

    while (ns >= 1000 && unit < 3) {
        ns /= 1000;
        unit++;
    }
    (void)snprintf(buf, buf_bytes, "%.3f %s", ns, units[unit]);
    return buf;
}

static void print_fct(FILE *out, const struct figures *f)
{
    char a[40], b[40], c[40];

    if (f->fct_ns.count == 0) {
        fprintf(out, "FCT             no flow finished\n");
        return;
    }
    fprintf(out, "FCT             mean %s, p99 %s, max %s\n",
            format_ns(f->fct_ns.mean, a, sizeof a), format_ns(f->fct_ns.p99, b, sizeof b),
            format_ns(f->fct_ns.max, c, sizeof c));
    fprintf(out, "slowdown        mean %.3f, p99 %.3f, max %.3f\n", f->slowdown.mean,
            f->slowdown.p99, f->slowdown.max);
}

static void print_network(FILE *out, const struct sim_counters *c)
{
    fprintf(out, "drops           %" PRIu64 " (buffers), %" PRIu64 " (wire)\n", c->drops,
            c->losses);
    fprintf(out, "pauses, marks   %" PRIu64 ", %" PRIu64 "\n", c->pauses, c->marks);
    fprintf(out, "retransmitted   %" PRIu64 " packets, %" PRIu64 " timeouts\n", c->retx_packets,
            c->timeouts);
    fprintf(out, "largest queue   %" PRIu64 " B\n", c->queue_max_bytes);
}

static void print_engine(FILE *out, const struct sim *s)
{
    struct sim_engine_stats st;

    sim_engine_stats(s, &st);
    if (st.kind == ENGINE_SERIAL) {
        fprintf(out, "engine          serial\n");
        return;
    }
    fprintf(out,
            "engine          partitioned, %u thread%s, at most %u partitions, %" PRIu64 " rounds",
            st.threads, st.threads == 1 ? "" : "s", st.parts_alive_max, st.rounds);
    if (st.shards)
        fprintf(out, ", %u shards, %" PRIu64 " windows", st.shards, st.shard_windows);
    fprintf(out, "\n");
}

void output_summary_table(FILE *out, const struct run_record *r)
{
    const struct figures *f = r->f;
    const struct saved_hops h = output_saved_hops(r->s);
    const double wall_s = r->wall_s > 0 ? r->wall_s : 1e-9;
    char cc[256];

    fprintf(out, "scenario        %s%s\n", r->sc->name, r->is_complete ? "" : " (INCOMPLETE)");
    fprintf(out, "congestion ctl  %s\n", describe_cc(sim_config(r->s), cc, sizeof cc));
    if (r->workload)
        output_workload_table(out, r->workload);
    fprintf(out, "flows           %" PRIu64 " finished of %u\n", f->c.flows_finished,
            sim_flow_count(r->s));
    print_fct(out, f);
    print_network(out, &f->c);
    fprintf(out, "simulated       %.9f s\n", (double)sim_now_ps(r->s) / (double)PS_PER_S);
    fprintf(out, "events          %" PRIu64 ", %.3g packet-hops/s, %.2f s\n", f->c.events,
            (double)(h.skipped + h.replayed + h.executed) / wall_s, r->wall_s);
    output_accel_table(out, r);
    print_engine(out, r->s);
    fprintf(out, "output          %s\n", r->dir);
}
