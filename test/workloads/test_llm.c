/*
 * A training iteration as a program: it ends, sends what the formulas say, in every combination of
 * parallelism; its schedule takes the time that the formulas say.
 */
#include "dry_run.h"
#include "llm.h"
#include "llm_int.h"
#include "scenario_yaml.h"
#include "sim.h"
#include "topogen.h"
#include "units.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* ---- a small model ---- */

static struct llm_spec make_small(void)
{
    struct llm_spec s;

    llm_spec_init(&s);
    s.layers = 8;
    s.hidden = 64;
    s.heads = 8;
    s.sequence = 32;
    s.vocabulary = 128;
    s.gpus_per_server = 8;
    return s;
}

static struct topo *make_rail(uint32_t hosts, int has_nvlink)
{
    struct err_info e = {.text = ""};
    struct topo_spec t;
    struct topo *out;

    topo_spec_init(&t, TOPO_RAIL);
    t.hosts = (hosts + 7) / 8 * 8;
    t.spines = 4;
    if (!has_nvlink)
        t.nvlink.rate_bps = 0;
    cr_assert_eq(topo_generate(&t, &out, &e), 0, "%s", e.text);
    return out;
}

static void resolve(struct llm_spec *s)
{
    struct err_info e = {.text = ""};

    cr_assert_eq(llm_spec_resolve(s, &e), 0, "%s", e.text);
}

static uint32_t tag_count(const struct llm_spec *s)
{
    return 2 * s->pp * s->virtual_stages;
}

/* ---- program and formulas agree ---- */

static void expect_agreement(const char *what, const struct llm_spec *s, const struct topo *t)
{
    struct err_info e = {.text = ""};
    struct llm_counts c;
    struct dry_result r;
    struct dag_spec d;
    struct llm *g;

    cr_assert_eq(llm_create(&g, s, t, &e), 0, "%s: %s", what, e.text);
    cr_assert_eq(llm_count(g, t, 1000, &c, &e), 0, "%s: %s", what, e.text);
    llm_dag_spec(g, &d);
    cr_assert_eq(dry_run(&d, tag_count(s), &r), 0, "%s", what);
    cr_expect_eq(r.streams_left, 0u, "%s: %lu streams never end", what, r.streams_left);
    cr_expect_eq(r.mismatches, 0u, "%s: calls of a group differ", what);
    for (unsigned k = 0; k < LLM_KIND_COUNT; k++) {
        const struct llm_count *want = &c.kind[k];

        cr_expect_eq(r.label[k].colls, s->iterations * want->colls,
                     "%s, %s: %lu calls, expected %u x %lu", what, llm_kind_name((enum llm_kind)k),
                     r.label[k].colls, s->iterations, want->colls);
        cr_expect_eq(r.label[k].bytes, s->iterations * (want->bytes - want->relay_bytes),
                     "%s, %s: %lu bytes, expected %u x %lu", what, llm_kind_name((enum llm_kind)k),
                     r.label[k].bytes, s->iterations, want->bytes - want->relay_bytes);
    }
    cr_expect_eq(llm_iteration_end_ps(g, 0), -1, "no time has passed");
    llm_counts_fini(&c);
    llm_destroy(g);
}

struct variant {
    const char *what;
    void (*set)(struct llm_spec *s);
};

static void set_plain(struct llm_spec *s)
{
    s->dp = 4;
    s->zero = 0;
}

static void set_pipeline(struct llm_spec *s)
{
    s->pp = 4;
    s->dp = 2;
    s->global_batch = 12;
}

static void set_few_micro_batches(struct llm_spec *s)
{
    s->pp = 8;
    s->global_batch = 3;
}

static void set_interleaved(struct llm_spec *s)
{
    s->pp = 2;
    s->virtual_stages = 4;
    s->global_batch = 6;
    s->tp = 2;
}

static void set_interleaved_deep(struct llm_spec *s)
{
    s->pp = 4;
    s->virtual_stages = 2;
    s->global_batch = 4;
}

static void set_tensor(struct llm_spec *s)
{
    s->tp = 8;
    s->dp = 2;
    s->pp = 2;
    s->recompute = LLM_RECOMPUTE_FULL;
}

static void set_sequence(struct llm_spec *s)
{
    s->tp = 4;
    s->sequence_parallel = s->regather = 1;
    s->recompute = LLM_RECOMPUTE_SELECTIVE;
    s->micro_batch = 2;
}

static void set_context(struct llm_spec *s)
{
    s->cp = 4;
    s->tp = 2;
    s->kv_heads = 4;
    s->dp = 2;
    s->pp = 2;
    s->recompute = LLM_RECOMPUTE_FULL;
}

static void set_no_scatter(struct llm_spec *s)
{
    s->tp = 2;
    s->pp = 2;
    s->scatter_gather = 0;
}

static void set_buckets(struct llm_spec *s)
{
    s->pp = 2;
    s->dp = 4;
    s->bucket_params = 50000;
}

static void set_overlap(struct llm_spec *s)
{
    s->pp = 2;
    s->virtual_stages = 2;
    s->dp = 4;
    s->global_batch = 16;
    s->bucket_params = 30000;
    s->overlap_gradients = s->overlap_parameters = 1;
}

static void set_overlap_gradients_only(struct llm_spec *s)
{
    s->dp = 4;
    s->zero = 0;
    s->bucket_params = 70001;
    s->overlap_gradients = 1;
}

static void set_overlap_parameters_only(struct llm_spec *s)
{
    s->dp = 4;
    s->bucket_params = 70001;
    s->overlap_parameters = 1;
}

static void set_zero3(struct llm_spec *s)
{
    s->zero = 3;
    s->dp = 4;
    s->pp = 2;
    s->global_batch = 12;
}

static void set_zero3_every(struct llm_spec *s)
{
    set_zero3(s);
    s->gather_every_micro_batch = 1;
    s->virtual_stages = 2;
    s->global_batch = 16;
}

static void set_experts(struct llm_spec *s)
{
    s->family = LLM_LLAMA;
    s->experts = 8;
    s->top_k = 2;
    s->ep = 4;
    s->dp = 8;
    s->pp = 2;
}

static void set_experts_tensor(struct llm_spec *s)
{
    set_experts(s);
    s->tp = 2;
    s->sequence_parallel = s->regather = 1;
    s->recompute = LLM_RECOMPUTE_FULL;
    s->ep_algo = COLL_PXN;
}

static void set_experts_skewed(struct llm_spec *s)
{
    set_experts_tensor(s);
    s->expert_skew = 0.8;
    s->virtual_stages = 2;
    s->ep_algo = COLL_DIRECT;
}

static void set_experts_overlap(struct llm_spec *s)
{
    set_experts(s);
    s->overlap_gradients = s->overlap_parameters = 1;
    s->bucket_params = 40000;
}

static void set_experts_zero3(struct llm_spec *s)
{
    set_experts(s);
    s->zero = 3;
    s->dp = 4;
    s->cp = 2;
}

static void set_small_terms(struct llm_spec *s)
{
    s->small_terms = 1;
    s->tp = 2;
    s->sequence_parallel = 1;
    s->pp = 4;
    s->dp = 2;
}

static void set_small_terms_experts(struct llm_spec *s)
{
    set_experts_tensor(s);
    s->small_terms = 1;
}

static void set_left_out(struct llm_spec *s)
{
    s->simulate_tp = 0;
    s->tp = 8;
    s->dp = 2;
    s->pp = 2;
    s->optimizer_ps = 1000;
}

static const struct variant variants[] = {
    {"plain data parallelism", set_plain},
    {"1F1B", set_pipeline},
    {"fewer micro-batches than stages", set_few_micro_batches},
    {"interleaved", set_interleaved},
    {"interleaved, one group", set_interleaved_deep},
    {"tensor parallelism, full recomputation", set_tensor},
    {"sequence parallelism", set_sequence},
    {"context parallelism", set_context},
    {"whole activations between stages", set_no_scatter},
    {"buckets", set_buckets},
    {"both overlaps", set_overlap},
    {"gradients overlap", set_overlap_gradients_only},
    {"parameters overlap", set_overlap_parameters_only},
    {"ZeRO-3", set_zero3},
    {"ZeRO-3, every micro-batch", set_zero3_every},
    {"experts", set_experts},
    {"experts with tensor parallelism", set_experts_tensor},
    {"skewed experts", set_experts_skewed},
    {"experts, both overlaps", set_experts_overlap},
    {"experts, ZeRO-3, context parallelism", set_experts_zero3},
    {"small terms", set_small_terms},
    {"small terms of experts", set_small_terms_experts},
    {"tensor traffic left out", set_left_out},
};

Test(llm, every_combination_ends_and_sends_what_the_formulas_say)
{
    for (size_t i = 0; i < COUNT(variants); i++) {
        struct llm_spec s = make_small();
        struct topo *t;

        variants[i].set(&s);
        s.iterations = 3;
        resolve(&s);
        t = make_rail(llm_rank_count(&s), 1);
        expect_agreement(variants[i].what, &s, t);
        topo_destroy(t);
    }
}

static void check_example(const char *name)
{
    struct err_info e = {.text = ""};
    struct scenario sc;
    char path[512];

    snprintf(path, sizeof path, "%s/../../examples/%s.yaml", TEST_DATA_DIR, name);
    scenario_init(&sc);
    cr_assert_eq(scenario_load_yaml(path, NULL, 0, &sc, NULL, &e), 0, "%s", e.text);
    expect_agreement(name, sc.llm, sc.topo);
    scenario_fini(&sc);
}

Test(llm, examples_end_and_send_what_the_formulas_say)
{
    static const char *const names[] = {"gpt-7b-64",         "gpt-13b-128",    "gpt-22b-256",
                                        "gpt-175b-1024",     "llama-70b-512",  "moe-8x7b-64",
                                        "moe-8x13b-128",     "moe-8x22b-256",  "moe-32x22b-1024",
                                        "gpt-13b-128-paper", "gpt-7b-64-real", "moe-8x7b-64-real",
                                        "moe-8x13b-128-real"};

    for (size_t i = 0; i < COUNT(names); i++)
        check_example(names[i]);
}

/* ---- the flows of a simulation ---- */

struct simulated {
    struct llm *g;
    struct dag *d;
    struct sim *s;
    double iteration_s;
};

static void simulate(struct simulated *x, const struct llm_spec *spec, struct topo *t,
                     enum cc_kind cc)
{
    struct err_info e = {.text = ""};
    struct sim_config cfg;
    struct dag_spec d;

    config_init(&cfg);
    cfg.cc = cc;
    cr_assert_eq(llm_create(&x->g, spec, t, &e), 0, "%s", e.text);
    cr_assert_eq(sim_create(&x->s, t, &cfg, NULL, &e), 0, "%s", e.text);
    llm_dag_spec(x->g, &d);
    cr_assert_eq(dag_create(&x->d, &d, &e), 0, "%s", e.text);
    cr_assert_eq(dag_run(x->d, x->s, TIME_NEVER, &e), 0, "%s", e.text);
    cr_assert_neq(dag_is_done(x->d), 0);
    x->iteration_s = (double)llm_iteration_end_ps(x->g, spec->iterations - 1) / (double)PS_PER_S /
                     spec->iterations;
}

static void drop(struct simulated *x)
{
    dag_destroy(x->d);
    llm_destroy(x->g);
    sim_destroy(x->s);
}

/* Flows by kind, size and length of path, as the counts have them. */
static void expect_flows(const char *what, const struct simulated *x, const struct llm_spec *spec)
{
    struct err_info e = {.text = ""};
    struct llm_counts c;
    uint64_t *found;

    cr_assert_eq(llm_count(x->g, sim_topo(x->s), 1000, &c, &e), 0);
    found = calloc(c.size_count, sizeof *found);
    cr_assert_eq(sim_flow_count(x->s), c.all.flows * spec->iterations, "%s: %u flows", what,
                 sim_flow_count(x->s));
    for (uint32_t i = 0; i < sim_flow_count(x->s); i++) {
        const struct flow_spec *f = sim_flow_spec(x->s, i);

        for (uint32_t k = 0; k < c.size_count; k++)
            if (c.sizes[k].kind == f->tag && c.sizes[k].bytes == f->bytes &&
                c.sizes[k].links == sim_flow_result(x->s, i)->hops)
                found[k]++;
    }
    for (uint32_t k = 0; k < c.size_count; k++)
        cr_expect_eq(found[k], c.sizes[k].flows * spec->iterations,
                     "%s: %lu flows of kind %u, %ld B, %u links, expected %lu", what, found[k],
                     c.sizes[k].kind, c.sizes[k].bytes, c.sizes[k].links, c.sizes[k].flows);
    free(found);
    llm_counts_fini(&c);
}

Test(llm, a_simulation_starts_the_flows_that_were_counted)
{
    for (size_t i = 0; i < COUNT(variants); i++) {
        struct llm_spec s = make_small();
        struct simulated x;

        variants[i].set(&s);
        s.iterations = 2;
        resolve(&s);
        simulate(&x, &s, make_rail(llm_rank_count(&s), 1), CC_HPCC);
        expect_flows(variants[i].what, &x, &s);
        drop(&x);
    }
}

/* ---- time ---- */

/* Computation so slow that communication hardly matters. */
static double time_of_pipeline(uint32_t stages, uint32_t chunks, uint32_t micro_batches,
                               enum llm_recompute recompute, double *forward_s)
{
    struct llm_spec s = make_small();
    struct simulated x;
    double iteration_s;

    s.pp = stages;
    s.virtual_stages = chunks;
    s.global_batch = micro_batches;
    s.recompute = (uint8_t)recompute;
    s.peak_tflops = 1e-4;
    resolve(&s);
    simulate(&x, &s, make_rail(llm_rank_count(&s), 0), CC_HPCC);
    iteration_s = x.iteration_s;
    *forward_s = llm_forward_s(&s);
    drop(&x);
    return iteration_s;
}

static void expect_near(double found, double expected, double tolerance, const char *what)
{
    cr_expect_leq(fabs(found - expected), tolerance * expected,
                  "%s: found %g, expected %g within %g", what, found, expected, tolerance);
}

Test(llm, the_bubble_of_1f1b_is_p_minus_1_passes)
{
    double forward_s;
    const double found = time_of_pipeline(4, 1, 8, LLM_RECOMPUTE_NONE, &forward_s);

    expect_near(found, (8 + 4 - 1) * 3 * forward_s, 1e-3, "m + p - 1 passes");
}

Test(llm, the_interleaved_bubble_is_v_times_smaller)
{
    double forward_s;
    const double found = time_of_pipeline(4, 2, 8, LLM_RECOMPUTE_NONE, &forward_s);

    expect_near(found, (8 + 3 / 2.0) * 3 * forward_s, 1e-3, "m + (p - 1) / v passes");
}

Test(llm, full_recomputation_makes_backward_three_times_forward)
{
    double forward_s;
    const double found = time_of_pipeline(2, 1, 4, LLM_RECOMPUTE_FULL, &forward_s);

    expect_near(found, (4 + 1) * 4 * forward_s, 1e-3, "passes of four forward times");
}

/*
 * A scaled-down GPT-13B in paper mode, with nothing in the way. Fluid time: compute (m + 1)(f + 2
 * f), a transfer to the second stage and one back, the exchange of the first stage, which has more
 * parameters and ends last. Simulated, data have headers and, in a ring, share each port with the
 * acknowledgements of what comes in; each of the 6 steps ends with a round trip over 2 links of 1
 * us and one packet's time on them.
 */
Test(llm, an_undisturbed_iteration_takes_the_fluid_time_and_the_headers)
{
    const double rate = 100e9 / 8, wire = 1048.0 / 1000, wire_ack = (1048.0 + 60) / 1000;
    const double step_s = 4e-6 + 2 * (1048.0 + 60) / rate;
    struct llm_spec s = make_small();
    struct simulated x;
    double fluid, with_headers, transfer, exchange, compute;

    s.layers = 4;
    s.hidden = 512;
    s.heads = 8;
    s.sequence = 256;
    s.vocabulary = 1024;
    s.tp = 8;
    s.pp = 2;
    s.dp = 4;
    s.simulate_tp = 0;
    s.gpus_per_server = 0;
    resolve(&s);
    simulate(&x, &s, make_rail(llm_rank_count(&s), 0), CC_NONE);
    compute = (s.micro_batches + 1) * 3 * llm_forward_s(&s);
    transfer = 2.0 * s.sequence * s.hidden / s.tp / rate;
    exchange = 6.0 * 3 / 4 * (double)llm_stage_params(&s, 0) / rate;
    fluid = compute + 2 * transfer + exchange;
    with_headers = compute + 2 * transfer * wire + exchange * wire_ack + 6 * step_s;
    cr_expect_gt(x.iteration_s, fluid);
    expect_near(x.iteration_s, with_headers, 0.02, "iteration");
    drop(&x);
}

Test(llm, overlap_of_gradients_shortens_the_iteration)
{
    double seconds[2];

    for (uint8_t overlap = 0; overlap < 2; overlap++) {
        struct llm_spec s = make_small();
        struct simulated x;

        s.dp = 8;
        s.hidden = 256;
        s.peak_tflops = 2;
        s.bucket_params = 500000;
        s.overlap_gradients = s.overlap_parameters = overlap;
        s.iterations = 2;
        resolve(&s);
        simulate(&x, &s, make_rail(8, 0), CC_HPCC);
        seconds[overlap] = x.iteration_s;
        drop(&x);
    }
    cr_expect_lt(seconds[1], 0.95 * seconds[0]);
}

/*
 * Narayanan et al., SC 2021, table 1: A100s of 312 TFLOP/s, sequence 2048, vocabulary 51,200, full
 * recomputation. Achieved TFLOP/s per GPU are end to end, so the computation alone at that speed
 * takes the published iteration: 96 B s l h^2 (1 + s/(6 h) + V/(16 l h)) / (N x TFLOP/s). The paper
 * does not count the head's forward pass a second time, hence the half per cent above.
 */
struct published {
    double params_1e9;
    uint32_t heads, hidden, layers, tp, pp, gpus, batch, micro_batch;
    double tflops, iteration_s;
};

static const struct published table_1[] = {
    {1.7, 24, 2304, 24, 1, 1, 32, 512, 16, 137, 3.53},
    {3.6, 32, 3072, 30, 2, 1, 64, 512, 16, 138, 3.70},
    {7.5, 32, 4096, 36, 4, 1, 128, 512, 16, 142, 3.70},
    {18.4, 48, 6144, 40, 8, 1, 256, 1024, 8, 135, 9.40},
    {39.1, 64, 8192, 48, 8, 2, 512, 1536, 4, 138, 14.45},
    {76.1, 80, 10240, 60, 8, 4, 1024, 1792, 2, 140, 16.06},
    {145.6, 96, 12288, 80, 8, 8, 1536, 2304, 2, 148, 24.82},
    {310.1, 128, 16384, 96, 8, 16, 1920, 2160, 1, 155, 37.61},
    {529.6, 128, 20480, 105, 8, 35, 2520, 2520, 1, 163, 54.08},
    {1008.0, 160, 25600, 128, 8, 64, 3072, 3072, 1, 163, 102.63},
};

Test(llm, a_published_table_of_iteration_times_is_met_at_its_efficiency)
{
    for (size_t i = 0; i < COUNT(table_1); i++) {
        const struct published *p = &table_1[i];
        struct llm_spec s;
        double head_again_s;

        llm_spec_init(&s);
        s.layers = p->layers;
        s.hidden = p->hidden;
        s.heads = p->heads;
        s.tp = p->tp;
        s.pp = p->pp;
        s.dp = p->gpus / (p->tp * p->pp);
        s.micro_batch = p->micro_batch;
        s.global_batch = p->batch;
        s.recompute = LLM_RECOMPUTE_FULL;
        s.efficiency = p->tflops / s.peak_tflops;
        resolve(&s);
        cr_expect_eq(llm_rank_count(&s), p->gpus);
        cr_expect_leq(fabs((double)llm_params(&s) * 1e-9 - p->params_1e9), 0.051, "%g: %lu",
                      p->params_1e9, llm_params(&s));
        head_again_s =
            2.0 * p->batch * s.sequence * s.vocabulary * p->hidden / (p->gpus * p->tflops * 1e12);
        expect_near(4 * llm_forward_s(&s) * s.micro_batches - head_again_s, p->iteration_s, 0.002,
                    "iteration");
    }
}

/* ---- schedule ---- */

struct shape {
    uint32_t stages, chunks, micro_batches;
};

/* Each pass once, backward after forward, chunks of a micro-batch in the order of the model. */
static void check_schedule(const struct shape *h, uint32_t stage)
{
    const uint32_t passes = h->chunks * h->micro_batches;
    struct llm_spec s = make_small();
    uint32_t *at = malloc(2 * passes * sizeof *at);

    s.pp = h->stages;
    s.virtual_stages = h->chunks;
    s.micro_batches = h->micro_batches;
    memset(at, 0xff, 2 * passes * sizeof *at);
    cr_assert_eq(llm__slot_count(&s), 2 * passes);
    for (uint32_t i = 0; i < 2 * passes; i++) {
        struct llm_slot slot;

        llm__slot(&s, stage, i, &slot);
        uint32_t *row = &at[2 * (slot.chunk * h->micro_batches + slot.micro_batch)];
        cr_assert_lt(slot.chunk, h->chunks);
        cr_assert_lt(slot.micro_batch, h->micro_batches);
        cr_expect_eq(row[slot.is_backward], UINT32_MAX, "a pass twice");
        cr_expect_eq(slot.is_backward, row[0] != UINT32_MAX, "backward before forward");
        row[slot.is_backward] = i;
    }
    free(at);
}

Test(llm, a_stage_passes_every_micro_batch_forward_then_backward)
{
    static const struct shape shapes[] = {{1, 1, 5}, {4, 1, 8}, {8, 1, 3},
                                          {4, 2, 8}, {4, 3, 4}, {2, 4, 6}};

    for (size_t i = 0; i < COUNT(shapes); i++)
        for (uint32_t stage = 0; stage < shapes[i].stages; stage++)
            check_schedule(&shapes[i], stage);
}

/* 1F1B keeps at most p - i micro-batches under way in stage i. */
Test(llm, one_f_one_b_bounds_the_activations_kept)
{
    struct llm_spec s = make_small();

    s.pp = 4;
    s.micro_batches = 16;
    for (uint32_t stage = 0; stage < 4; stage++) {
        uint32_t open = 0, most = 0;

        for (uint32_t i = 0; i < llm__slot_count(&s); i++) {
            struct llm_slot slot;

            llm__slot(&s, stage, i, &slot);
            open += slot.is_backward ? UINT32_MAX : 1;
            most = open > most ? open : most;
        }
        cr_expect_eq(most, 4 - stage);
        cr_expect_eq(open, 0u);
    }
}

/* ---- jitter and skew ---- */

static int64_t first_compute_ps(struct llm *g, uint32_t rank)
{
    struct dag_spec d;
    struct op op;

    llm_dag_spec(g, &d);
    while (d.program.next(d.program.ctx, rank, LLM_STREAM_MAIN, &op) == DAG_OP)
        if (op.kind == OP_COMPUTE)
            return op.duration_ps;
    return -1;
}

Test(llm, jitter_is_bounded_seeded_and_different_for_every_rank)
{
    struct err_info e = {.text = ""};
    struct llm_spec s = make_small();
    struct topo *t = make_rail(64, 1);
    struct llm *a, *b, *c;
    double low = 2, high = 0;

    s.dp = 64;
    s.compute_jitter = 0.005;
    resolve(&s);
    cr_assert_eq(llm_create(&a, &s, t, &e), 0);
    cr_assert_eq(llm_create(&b, &s, t, &e), 0);
    s.seed++;
    cr_assert_eq(llm_create(&c, &s, t, &e), 0);
    for (uint32_t r = 0; r < 64; r++) {
        const int64_t ps = first_compute_ps(a, r);
        const double ratio = (double)ps * 1e-12 / llm_forward_s(&s);

        cr_expect_eq(ps, first_compute_ps(b, r));
        cr_expect_neq(ps, first_compute_ps(c, r));
        low = ratio < low ? ratio : low;
        high = ratio > high ? ratio : high;
    }
    cr_expect_geq(low, 0.995 - 1e-6);
    cr_expect_leq(high, 1.005 + 1e-6);
    cr_expect_gt(high - low, 0.008);
    llm_destroy(a);
    llm_destroy(b);
    llm_destroy(c);
    topo_destroy(t);
}

/* Each rank sends all its tokens; the way back is the way there, turned round; loads differ. */
Test(llm, skewed_experts_get_all_tokens_and_send_them_back)
{
    struct err_info e = {.text = ""};
    struct llm_spec s = make_small();
    struct topo *t;
    struct llm *g;

    set_experts(&s);
    s.expert_skew = 1;
    resolve(&s);
    t = make_rail(llm_rank_count(&s), 1);
    cr_assert_eq(llm_create(&g, &s, t, &e), 0, "%s", e.text);
    for (uint32_t layer = 0; layer < s.layers; layer++) {
        const struct coll_call to = llm__call_ep(g, layer, 0), back = llm__call_ep(g, layer, 1);
        double least = 1e9, most = 0;

        for (uint32_t i = 0; i < s.ep; i++) {
            int64_t sum = 0;

            for (uint32_t j = 0; j < s.ep; j++) {
                sum += to.pair_bytes(to.pair_ctx, i, j);
                cr_expect_eq(to.pair_bytes(to.pair_ctx, i, j),
                             back.pair_bytes(back.pair_ctx, j, i));
            }
            cr_expect_eq(sum, to.bytes);
            least = fmin(least, llm__expert_load(g, layer, i));
            most = fmax(most, llm__expert_load(g, layer, i));
        }
        cr_expect_gt(most, 1.2 * least);
    }
    llm_destroy(g);
    topo_destroy(t);
}

/* ---- what is refused ---- */

static void bad_heads(struct llm_spec *s)
{
    s->heads = 7;
}
static void bad_layers(struct llm_spec *s)
{
    s->pp = 3;
}
static void bad_batch(struct llm_spec *s)
{
    s->dp = 4;
    s->global_batch = 6;
}
static void bad_top_k(struct llm_spec *s)
{
    set_experts(s);
    s->top_k = 9;
}
static void bad_ep(struct llm_spec *s)
{
    s->ep = 2;
}
static void bad_experts_without_sequence(struct llm_spec *s)
{
    set_experts(s);
    s->tp = 2;
}
static void bad_interleaving(struct llm_spec *s)
{
    s->virtual_stages = 2;
}
static void bad_groups_of_micro_batches(struct llm_spec *s)
{
    s->pp = 4;
    s->virtual_stages = 2;
    s->global_batch = 6;
}
static void bad_zero3(struct llm_spec *s)
{
    s->zero = 3;
    s->overlap_gradients = 1;
}
static void bad_zero0(struct llm_spec *s)
{
    s->zero = 0;
    s->overlap_parameters = 1;
}
static void bad_regather(struct llm_spec *s)
{
    s->regather = 1;
}
static void bad_algorithm(struct llm_spec *s)
{
    s->ep_algo = COLL_TREE;
}
static void bad_shape(struct llm_spec *s)
{
    s->layers = 0;
}
static void bad_gather(struct llm_spec *s)
{
    s->gather_every_micro_batch = 1;
}

static void bad_ranks(struct llm_spec *s)
{
    s->hidden = s->heads = s->vocabulary = 4096;
    s->sequence = 1u << 24;
    s->tp = s->cp = 4096;
    s->dp = 2;
}
static void bad_params(struct llm_spec *s)
{
    s->hidden = s->ffn = 1000000;
    s->heads = 1000;
    s->layers = 100000;
}
static void bad_activation(struct llm_spec *s)
{
    s->sequence = 1u << 30;
    s->micro_batch = 65536;
}
static void bad_bucket(struct llm_spec *s)
{
    s->vocabulary = 1u << 20;
    s->bucket_params = 1;
}

static const struct {
    void (*set)(struct llm_spec *s);
    const char *says;
} refused[] = {
    {bad_ranks, "ranks, expected at most 16777216"},
    {bad_params, "parameters, expected at most 1e+15"},
    {bad_activation, "per micro-batch, expected at most 2^40"},
    {bad_bucket, "buckets of 1 parameters"},
    {bad_heads, "hidden 64 with heads 7"},
    {bad_layers, "layers 8 with pp times virtual_stages 3"},
    {bad_batch, "global batch 6 with micro batch times dp 4"},
    {bad_top_k, "top_k 9 of 8 experts"},
    {bad_ep, "without experts"},
    {bad_experts_without_sequence, "without sequence_parallel"},
    {bad_interleaving, "virtual_stages 2 with pp 1"},
    {bad_groups_of_micro_batches, "micro-batches 6 with pp 4"},
    {bad_zero3, "with zero 3"},
    {bad_zero0, "with zero 0"},
    {bad_regather, "regather without sequence_parallel"},
    {bad_algorithm, "ep_algorithm tree"},
    {bad_shape, "no model.layers"},
    {bad_gather, "gather_every_micro_batch with zero 1"},
};

Test(llm, what_does_not_fit_together_is_refused)
{
    for (size_t i = 0; i < COUNT(refused); i++) {
        struct err_info e = {.text = ""};
        struct llm_spec s = make_small();

        refused[i].set(&s);
        cr_expect_eq(llm_spec_resolve(&s, &e), WH_ERR_INPUT, "%s", refused[i].says);
        cr_expect_not_null(strstr(e.text, refused[i].says), "found '%s', expected '%s'", e.text,
                           refused[i].says);
    }
}
