/*
 * stress_engine.c - the engine on several threads against the serial one, for ThreadSanitizer too.
 *
 * Random simulations, and racks: many small networks on a common spine, so that there are many
 * partitions, which flows between racks join and which come apart again. Hooks add flows. Every
 * round of two partitions or more is shared, worth it or not, so that what is handed from thread to
 * thread between rounds is handed on as often as can be. A digest of all results must be that of
 * the serial engine; where steady partitions are skipped, episodes replayed and both audited, that
 * of one thread without a memo and audits; through the fcg lens, that of one thread with it. What
 * workers look up and take between rounds is shared likewise.
 * Usage: stress_engine [factor on the number of simulations]
 */
#include "memo.h"
#include "random_sim.h"
#include "rng.h"
#include "sim_fixture.h"
#include "steady.h"
#include "units.h"

#include <stdio.h>
#include <stdlib.h>

#define RANDOM_SIMS 30u
#define RACK_SIMS 6u
#define RACKS 8u
#define RACK_HOSTS 4u
#define RACK_FLOWS_MAX 300u /* with those that hooks add */

/* What a simulation is made of, and run as. */
struct play {
    const char *name;
    uint64_t seed;
    struct sim *(*make)(uint64_t seed);
    int reacts;
    int is_accelerated; /* skips, and has a memo */
    int is_fcg;         /* through the other lens, in which case the yardstick has it too */
    double audit_share;
};

/* Over all plays: what the test is about has to happen. */
struct sums {
    uint64_t shared_rounds, joins, splits, hits, wrong;
};

/* ---- simulations ---- */

static struct sim *make_random(uint64_t seed)
{
    return random_sim(seed, &(struct random_kind){.has_loss = seed % 4 == 1});
}

static struct sim *make_failing(uint64_t seed)
{
    return random_sim(seed, &(struct random_kind){.has_events = 1});
}

static struct sim *make_racks(uint64_t seed)
{
    static const enum cc_kind kinds[] = {CC_HPCC, CC_DCTCP, CC_NONE, CC_DCQCN};
    struct sim_config c = fix_config(kinds[seed % 4]);
    struct sim *s;

    c.seed = seed;
    c.ack = ACK_BYPASS; /* acknowledgements join no partitions */
    s = fix_sim(fix_leaf_spine(RACKS, 2, RACK_HOSTS, 100 * GBPS, PS_PER_US), &c);
    for (uint32_t rack = 0; rack < RACKS; rack++)
        for (uint32_t i = 0; i < RACK_HOSTS; i += 2)
            fix_flow(s, rack * RACK_HOSTS + i, rack * RACK_HOSTS + i + 1, 60000,
                     (int64_t)rack * PS_PER_US / 4);
    return s;
}

/* The same incast in each rack, at the same time, again and again: partitions begin, and end, many
 * at once and in states that are known. */
#define INCAST_PERIOD_PS (200 * PS_PER_US)

static struct sim *make_incasts(uint64_t seed)
{
    static const enum cc_kind kinds[] = {CC_HPCC, CC_DCTCP, CC_NONE};
    struct sim_config c = fix_config(kinds[seed % 3]);
    struct sim *s;

    c.seed = seed;
    c.ack = ACK_BYPASS;
    c.int_reset_idle = 1;
    s = fix_sim(fix_leaf_spine(RACKS, 2, RACK_HOSTS, 100 * GBPS, PS_PER_US), &c);
    for (uint32_t rack = 0; rack < RACKS; rack++)
        for (uint32_t i = 1; i < RACK_HOSTS; i++)
            fix_flow(s, rack * RACK_HOSTS + i, rack * RACK_HOSTS, 60000, 0);
    return s;
}

static void on_complete_again(void *ctx, struct sim *s, uint32_t flow, int64_t now_ps)
{
    struct flow_spec next = *sim_flow_spec(s, flow);

    (void)ctx;
    if (sim_flow_count(s) >= RACK_FLOWS_MAX)
        return;
    next.start_ps = (now_ps / INCAST_PERIOD_PS + 1) * INCAST_PERIOD_PS;
    next.sport = 0;
    check(!sim_add_flow(s, &next, NULL), "flow %u has no successor", flow);
}

/* Most go on in their rack, one in four to another: partitions join, and split when it is over. */
static void on_complete(void *ctx, struct sim *s, uint32_t flow, int64_t now_ps)
{
    const struct flow_spec *f = sim_flow_spec(s, flow);
    const uint32_t hosts = sim_topo(s)->host_count;
    const uint64_t draw = rng_u64(sim_config(s)->seed, 903, flow);
    struct flow_spec next = *f;

    (void)ctx;
    if (sim_flow_count(s) >= RACK_FLOWS_MAX)
        return;
    next.src = f->dst;
    next.dst = draw % 4 ? f->src : (f->dst + 1 + (uint32_t)(draw >> 8) % (hosts - 1)) % hosts;
    next.bytes = 5000 + (int64_t)(draw >> 40) % 50000;
    next.start_ps = now_ps + (int64_t)(draw >> 56) % 3 * PS_PER_US;
    next.sport = 0;
    check(!sim_add_flow(s, &next, NULL), "flow %u has no successor", flow);
}

/* ---- one of them, executed ---- */

/* What acts on a simulation while it runs. */
struct helpers {
    struct steady steady;
    struct memo *memo;
};

static void accelerate(struct sim *s, const struct play *p, uint32_t threads, int has_memo,
                       struct helpers *h)
{
    const struct detect_spec spec = {.error_budget = 0.1};
    const struct memo_options o = {.lens = p->is_fcg ? MEMO_FCG : MEMO_EXACT,
                                   .worker_count = threads};
    struct watch_ops watch;
    struct memo_ops memo;

    check(!steady_init(&h->steady, sim_config(s), &spec, NULL), "no detector");
    steady_ops(&h->steady, &watch);
    check(!sim_set_watch(s, &watch), "the detector is refused");
    check(!sim_set_audit(s, has_memo ? p->audit_share : 0), "audits are refused");
    if (!has_memo)
        return;
    check(!memo_create(&h->memo, &o, NULL), "no memo");
    memo_ops(h->memo, &memo);
    check(!sim_set_memo(s, &memo), "the memo is refused");
}

static uint64_t run_as(const struct play *p, const struct sim_engine *engine, int has_memo,
                       struct sums *sums)
{
    const struct sim_hooks hooks = {.on_complete =
                                        p->make == make_incasts ? on_complete_again : on_complete};
    const struct sim_probe probe = {.has_times = p->seed % 2 == 0, .shares_all = 1};
    struct sim *s = p->make(p->seed);
    struct helpers h = {.memo = NULL};
    struct sim_engine_stats st;
    struct sim_memo_stats memo;
    uint64_t digest;

    check(!sim_set_engine(s, engine) && !sim_set_probe(s, &probe), "seed %llu",
          (unsigned long long)p->seed);
    if (p->reacts)
        sim_set_hooks(s, &hooks);
    if (p->is_accelerated)
        accelerate(s, p, engine->threads, has_memo, &h);
    fix_run(s);
    sim_engine_stats(s, &st);
    sim_memo_stats(s, &memo);
    sums->shared_rounds += st.shared_rounds;
    sums->joins += st.joins;
    sums->splits += st.splits;
    sums->hits += memo.hits;
    digest = fix_digest(s);
    sim_destroy(s);
    memo_destroy(h.memo);
    return digest;
}

static void play(const struct play *p, uint32_t threads, struct sums *sums)
{
    const struct sim_engine yardstick = {p->is_accelerated ? ENGINE_PARTITIONED : ENGINE_SERIAL, 1,
                                         1};
    /* by shards every other time */
    const struct sim_engine engine = {ENGINE_PARTITIONED, threads,
                                      p->seed % 2 ? 2 + (uint32_t)(p->seed % 5) : 0};
    const uint64_t hits_before = sums->hits;
    struct sums once = {.wrong = 0};
    const uint64_t expected = run_as(p, &yardstick, p->is_fcg, &once);
    const uint64_t parallel = run_as(p, &engine, 1, sums);

    if (p->is_fcg && once.hits != sums->hits - hits_before)
        sums->wrong++;
    if (parallel == expected)
        return;
    sums->wrong++;
    fprintf(stderr, "%s, seed %llu: results on %u threads are not those of the yardstick\n",
            p->name, (unsigned long long)p->seed, threads);
}

static void play_all(const struct play *first, uint64_t count, uint32_t threads, struct sums *all)
{
    struct sums sums = {.wrong = 0};
    struct play p = *first;

    for (uint64_t i = 0; i < count; i++, p.seed++)
        play(&p, threads, &sums);
    printf("%s: %llu simulations, %llu shared rounds, %llu joins, %llu splits, %llu hits\n", p.name,
           (unsigned long long)count, (unsigned long long)sums.shared_rounds,
           (unsigned long long)sums.joins, (unsigned long long)sums.splits,
           (unsigned long long)sums.hits);
    all->shared_rounds += sums.shared_rounds;
    all->joins += sums.joins;
    all->splits += sums.splits;
    all->hits += sums.hits;
    all->wrong += sums.wrong;
}

int main(int argc, char **argv)
{
    const uint64_t factor = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    const uint64_t sims = factor * RANDOM_SIMS, racks = factor * RACK_SIMS;
    struct sums all = {.wrong = 0};

    play_all(&(struct play){"random", 21001, make_random, 0, 0, 0, 0}, sims, 4, &all);
    play_all(&(struct play){"random, reacting", 22001, make_random, 1, 0, 0, 0}, sims, 4, &all);
    play_all(&(struct play){"links fail", 23001, make_failing, 0, 0, 0, 0}, sims, 4, &all);
    play_all(&(struct play){"racks", 24001, make_racks, 1, 0, 0, 0}, racks, 4, &all);
    play_all(&(struct play){"racks, more threads", 25001, make_racks, 1, 0, 0, 0}, racks, 7, &all);
    play_all(&(struct play){"random, audited", 26001, make_random, 1, 1, 0, 0.7}, sims, 4, &all);
    play_all(&(struct play){"racks, audited", 27001, make_racks, 1, 1, 0, 0.7}, racks, 4, &all);
    play_all(&(struct play){"racks, memo", 28001, make_racks, 1, 1, 0, 0}, racks / 3, 4, &all);
    play_all(&(struct play){"incasts, memo", 29001, make_incasts, 1, 1, 0, 0}, racks, 4, &all);
    play_all(&(struct play){"random, fcg", 30001, make_random, 1, 1, 1, 0}, sims / 2, 4, &all);
    play_all(&(struct play){"racks, fcg", 31001, make_racks, 1, 1, 1, 0}, racks / 3, 4, &all);
    play_all(&(struct play){"incasts, fcg", 32001, make_incasts, 1, 1, 1, 0}, racks, 4, &all);
    if (all.shared_rounds > 1000 && all.joins > 100 && all.splits > 100 && all.hits > 1000)
        return all.wrong != 0;
    fprintf(stderr, "hardly a shared round, join, split or hit: nothing is tested\n");
    return 1;
}
