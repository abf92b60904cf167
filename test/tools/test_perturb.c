/*
 * test_perturb.c - disturbances: how large, on what they depend, which programs they delay.
 */
#include "perturb.h"

#include "units.h"

#include <criterion/criterion.h>
#include <string.h>

Test(perturb, the_first_run_is_undisturbed)
{
    const struct perturb p = {.seed = 7, .run = 0, .step_ps = 1};

    for (uint64_t i = 0; i < 1000; i++)
        cr_assert_eq(perturb_shift_ps(&p, i), 0);
}

Test(perturb, shifts_fill_0_to_99_ns_in_steps)
{
    static const int64_t steps[] = {1, PS_PER_NS};

    for (size_t k = 0; k < 2; k++) {
        const struct perturb p = {.seed = 7, .run = 1, .step_ps = steps[k]};
        int64_t sum_ps = 0, min_ps = INT64_MAX, max_ps = 0;

        for (uint64_t i = 0; i < 10000; i++) {
            const int64_t shift_ps = perturb_shift_ps(&p, i);

            cr_assert(shift_ps >= 0 && shift_ps <= 99 * PS_PER_NS && shift_ps % steps[k] == 0,
                      "%lld ps", (long long)shift_ps);
            sum_ps += shift_ps;
            min_ps = shift_ps < min_ps ? shift_ps : min_ps;
            max_ps = shift_ps > max_ps ? shift_ps : max_ps;
        }
        /* mean 49.5 ns; its standard error is 0.29 ns */
        cr_expect_float_eq((double)sum_ps / 1e4, 49500.0, 1500.0);
        cr_expect_lt(min_ps, PS_PER_NS);
        cr_expect_geq(max_ps, 98 * PS_PER_NS);
    }
}

Test(perturb, shifts_depend_on_seed_run_and_row)
{
    const struct perturb p = {.seed = 7, .run = 1, .step_ps = 1};
    const struct perturb other_run = {.seed = 7, .run = 2, .step_ps = 1};
    const struct perturb other_seed = {.seed = 8, .run = 1, .step_ps = 1};
    uint32_t same_run = 0, same_seed = 0, same_row = 0;

    for (uint64_t i = 0; i < 1000; i++) {
        cr_assert_eq(perturb_shift_ps(&p, i), perturb_shift_ps(&p, i));
        same_run += perturb_shift_ps(&p, i) == perturb_shift_ps(&other_run, i);
        same_seed += perturb_shift_ps(&p, i) == perturb_shift_ps(&other_seed, i);
        same_row += perturb_shift_ps(&p, i) == perturb_shift_ps(&p, i + 1);
    }
    cr_expect_lt(same_run, 5);
    cr_expect_lt(same_seed, 5);
    cr_expect_lt(same_row, 5);
}

/* ---- scenarios ---- */

static void make_scenario(struct scenario *sc, double error_rate)
{
    const struct link_class link = {
        .rate_bps = 100000000000, .delay_ps = PS_PER_US, .error_rate = error_rate};

    scenario_init(sc);
    cr_assert_eq(topo_create(&sc->topo, 2), 0);
    cr_assert_eq(topo_add_class(sc->topo, &link), 0);
    cr_assert_eq(topo_add_link(sc->topo, 0, 1, 0), 0);
    for (int i = 0; i < 3; i++)
        cr_assert_eq(scenario_add_flow(sc, &(struct flow_spec){.start_ps = 1000, .dst = 1}), 0);
}

Test(perturb, seeds_differ_where_packets_meet_draws_that_count)
{
    static const struct {
        enum cc_kind cc;
        int ecn, is_step;
        double error_rate;
        int draws;
    } rows[] = {
        {CC_DCQCN, 1, 0, 0, 1},   {CC_DCQCN, 0, 0, 0, 0}, {CC_DCQCN, 1, 1, 0, 0},
        {CC_DCTCP, 1, 1, 0, 0},   {CC_DCTCP, 1, 0, 0, 1}, {CC_HPCC, 1, 0, 0, 0},
        {CC_HPCC, 1, 0, 0.01, 1},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct scenario sc;

        make_scenario(&sc, rows[i].error_rate);
        sc.cfg.cc = rows[i].cc;
        sc.cfg.ecn = (uint8_t)rows[i].ecn;
        sc.cfg.ecn_row_count = 1;
        sc.cfg.ecn_rows[0] =
            (struct ecn_row){.kmin_bytes = 1000, .kmax_bytes = rows[i].is_step ? 1000 : 2000};
        sc.cfg.seed = 5;
        const struct perturb p = perturb_of(&sc, 2);

        perturb_scenario(&p, &sc);
        cr_expect_eq(sc.cfg.seed, rows[i].draws ? 7 : 5, "row %zu", i);
        for (uint32_t k = 0; k < sc.flow_count; k++)
            cr_expect_eq(sc.flows[k].start_ps, 1000 + perturb_shift_ps(&p, k));
        scenario_fini(&sc);
    }
}

/* ---- programs ---- */

struct inner {
    int asked, done;
};

static int next(void *ctx, uint32_t rank, uint32_t stream, struct op *out)
{
    struct inner *in = ctx;

    if (in->asked++ == 4)
        return DAG_END;
    *out = (struct op){.id = 10 * rank + stream, .kind = OP_COMPUTE, .duration_ps = 1};
    return DAG_OP;
}

static void done(void *ctx, uint32_t rank, uint32_t stream, const struct op *op, int64_t now_ps)
{
    struct inner *in = ctx;

    (void)rank;
    (void)stream;
    (void)op;
    (void)now_ps;
    in->done++;
}

Test(perturb, each_stream_of_a_rank_begins_late_once)
{
    const struct perturb p = {.seed = 7, .run = 1, .step_ps = 1};
    const struct placement place = {.rank_count = 2};
    struct inner in = {.asked = 0};
    struct dag_spec spec = {
        .place = &place, .stream_count = 2, .program = {.ctx = &in, .next = next, .done = done}};
    struct perturb_program w;
    struct op op;

    cr_assert_eq(perturb_program_init(&w, &p, &spec), 0);
    cr_expect_null(spec.program.waits);
    cr_expect_null(spec.program.stream_name);
    for (uint32_t rank = 0; rank < 2; rank++)
        for (uint32_t stream = 0; stream < 2; stream++) {
            cr_assert_eq(spec.program.next(spec.program.ctx, rank, stream, &op), DAG_OP);
            cr_expect_eq(op.kind, OP_COMPUTE);
            cr_expect_eq(op.duration_ps, perturb_shift_ps(&p, rank));
            spec.program.done(spec.program.ctx, rank, stream, &op, 0);
            cr_assert_eq(spec.program.next(spec.program.ctx, rank, stream, &op), DAG_OP);
            cr_expect_eq(op.id, 10 * rank + stream);
            spec.program.done(spec.program.ctx, rank, stream, &op, 0);
        }
    cr_expect_eq(in.asked, 4);
    cr_expect_eq(in.done, 4, "the program hears of its own operations alone");
    cr_expect_eq(spec.program.next(spec.program.ctx, 0, 0, &op), DAG_END);
    perturb_program_fini(&w);
}
