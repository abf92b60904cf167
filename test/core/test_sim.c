/*
 * The run loop: steps, hooks, equal runs, two simulations in one process, stragglers, given paths.
 */
#include "sim.h"

#include "sim_fixture.h"
#include "units.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define RATE (100 * GBPS)
#define DELAY PS_PER_US

static struct sim *all_to_all(const struct sim_config *c)
{
    struct sim *s = fix_sim(fix_leaf_spine(4, 2, 4, RATE, DELAY), c);

    for (uint32_t a = 0; a < 16; a++)
        for (uint32_t b = 0; b < 16; b++)
            if (a != b)
                fix_flow(s, a, b, 20000, 0);
    return s;
}

/* ---- the same results ---- */

Test(sim, equal_runs_give_equal_results)
{
    for (int cc = 0; cc < CC_KIND_COUNT; cc++) {
        const struct sim_config c = fix_config((enum cc_kind)cc);
        uint64_t first = 0;

        for (int i = 0; i < 3; i++) {
            struct sim *s = all_to_all(&c);

            fix_run(s);
            cr_assert(fix_all_done(s));
            first = i ? first : fix_digest(s);
            cr_assert_eq(fix_digest(s), first, "%s", config_cc_name(c.cc));
            free(malloc(1000 * (size_t)(i + 1))); /* other addresses in the next round */
            sim_destroy(s);
        }
    }
}

/* A run in a new process, which has other addresses. */
static uint64_t digest_of_child(const char *program)
{
    char command[600];
    unsigned long digest = 0;
    FILE *f;

    snprintf(command, sizeof command,
             "env -i WORMHOLE_DIGEST=1 '%s' --filter sim/prints_its_digest 2>&1", program);
    f = popen(command, "r");
    cr_assert(f);
    for (char line[512]; fgets(line, sizeof line, f);)
        if (sscanf(line, "digest %lx", &digest) == 1)
            break;
    pclose(f);
    return digest;
}

Test(sim, prints_its_digest)
{
    struct sim_config c = fix_config(CC_DCQCN);
    struct sim *s;

    c.buffer_bytes = 1 << 20;
    s = all_to_all(&c);
    fix_run(s);
    cr_assert_neq(fix_digest(s), 0);
    if (getenv("WORMHOLE_DIGEST")) {
        printf("digest %lx\n", (unsigned long)fix_digest(s));
        fflush(stdout);
    }
    sim_destroy(s);
}

Test(sim, processes_with_other_addresses_give_equal_results)
{
    char program[512];
    const ssize_t bytes = readlink("/proc/self/exe", program, sizeof program - 1);
    uint64_t first;

    cr_assert(bytes > 0);
    program[bytes] = 0;
    first = digest_of_child(program);
    cr_assert_neq(first, 0);
    for (int i = 0; i < 3; i++)
        cr_assert_eq(digest_of_child(program), first);
}

Test(sim, steps_give_the_results_of_one_run)
{
    const struct sim_config c = fix_config(CC_HPCC);
    struct sim *whole = all_to_all(&c), *steps = all_to_all(&c);

    fix_run(whole);
    for (int64_t t = 0; !sim_is_done(steps); t += 777777) {
        cr_assert_eq(sim_run(steps, t), 0);
        cr_assert(sim_is_done(steps) || sim_now_ps(steps) == t);
    }
    cr_assert_eq(fix_digest(steps), fix_digest(whole));
    sim_destroy(whole);
    sim_destroy(steps);
}

Test(sim, two_simulations_do_not_disturb_one_another)
{
    const struct sim_config c = fix_config(CC_DCQCN), d = fix_config(CC_TIMELY);
    struct sim *alone = all_to_all(&c), *a = all_to_all(&c), *b = all_to_all(&d);

    fix_run(alone);
    for (int64_t t = 0; !sim_is_done(a) || !sim_is_done(b); t += PS_PER_US) {
        cr_assert_eq(sim_run(a, t), 0);
        cr_assert_eq(sim_run(b, t), 0);
    }
    cr_assert_eq(fix_digest(a), fix_digest(alone));
    sim_destroy(alone);
    sim_destroy(a);
    sim_destroy(b);
}

/* ---- hooks ---- */

struct seen {
    uint32_t delivered, completed, polls, calls;
    int64_t last_ps;
};

static void on_delivered(void *ctx, struct sim *s, uint32_t flow, int64_t now_ps)
{
    struct seen *seen = ctx;

    cr_assert_eq(now_ps, sim_now_ps(s));
    cr_assert_eq(sim_flow_result(s, flow)->state, FLOW_ACTIVE);
    seen->delivered++;
}

/* Each flow starts the next one, up to 10. */
static void on_complete(void *ctx, struct sim *s, uint32_t flow, int64_t now_ps)
{
    struct seen *seen = ctx;

    seen->completed++;
    cr_assert_eq(sim_flow_result(s, flow)->state, FLOW_DONE);
    cr_assert_eq(sim_flow_result(s, flow)->end_ps, now_ps);
    cr_assert_leq(seen->last_ps, now_ps);
    seen->last_ps = now_ps;
    if (flow < 9)
        fix_flow(s, flow % 2, 1 - flow % 2, 10000, now_ps);
}

Test(sim, flows_started_by_a_completion_follow_at_once)
{
    const struct sim_config c = fix_config(CC_NONE);
    struct sim *s = fix_sim(fix_star(2, RATE, DELAY), &c);
    struct seen seen = {0};
    const struct sim_hooks h = {
        .ctx = &seen, .on_complete = on_complete, .on_delivered = on_delivered};

    sim_set_hooks(s, &h);
    fix_flow(s, 1, 0, 10000, PS_PER_US);
    fix_run(s);
    cr_assert_eq(seen.completed, 10);
    cr_assert_eq(seen.delivered, 10);
    for (uint32_t f = 1; f < 10; f++) {
        cr_assert_eq(sim_flow_result(s, f)->start_ps, sim_flow_result(s, f - 1)->end_ps);
        cr_assert_eq(fix_fct(s, f), fix_fct(s, 0));
    }
    sim_destroy(s);
}

static int stop_third(void *ctx, struct sim *s)
{
    struct seen *seen = ctx;

    (void)s;
    return ++seen->polls == 3;
}

Test(sim, stopped_run_goes_on_where_it_was)
{
    const struct sim_config c = fix_config(CC_DCTCP);
    struct sim *s = all_to_all(&c), *whole = all_to_all(&c);
    struct seen seen = {0};
    const struct sim_hooks h = {.ctx = &seen, .on_poll = stop_third};

    sim_set_hooks(s, &h);
    cr_assert_eq(sim_run(s, TIME_NEVER), WH_ERR_INTERRUPTED);
    cr_assert(!sim_is_done(s));
    fix_run(s);
    fix_run(whole);
    cr_assert_eq(fix_digest(s), fix_digest(whole));
    sim_destroy(s);
    sim_destroy(whole);
}

static void count_call(void *arg, struct sim *s)
{
    struct seen *seen = arg;

    seen->calls = seen->calls * 10 + (uint32_t)(sim_now_ps(s) / 100);
}

Test(sim, callbacks_come_in_order_of_time)
{
    const struct sim_config c = fix_config(CC_NONE);
    struct sim *s = fix_sim(fix_star(2, RATE, DELAY), &c);
    struct seen seen = {0};

    cr_assert_eq(sim_schedule(s, 300, count_call, &seen), 0);
    cr_assert_eq(sim_schedule(s, 100, count_call, &seen), 0);
    cr_assert_eq(sim_schedule(s, 200, count_call, &seen), 0);
    cr_assert_eq(sim_schedule(s, 200, count_call, &seen), 0);
    fix_run(s);
    cr_assert_eq(seen.calls, 1223);
    cr_assert_eq(sim_schedule(s, 299, count_call, &seen), WH_ERR_INPUT);
    sim_destroy(s);
}

Test(sim, flow_that_cannot_be_is_refused)
{
    const struct sim_config c = fix_config(CC_NONE);
    struct sim *s = fix_sim(fix_star(2, RATE, DELAY), &c);
    const struct flow_spec bad[] = {
        {.src = 0, .dst = 0, .bytes = 1, .prio = 3},
        {.src = 0, .dst = 2, .bytes = 1, .prio = 3}, /* a switch */
        {.src = 9, .dst = 1, .bytes = 1, .prio = 3},
        {.src = 0, .dst = 1, .bytes = -1, .prio = 3},
        {.src = 0, .dst = 1, .bytes = 1, .prio = 8},
        {.src = 0, .dst = 1, .bytes = 1, .prio = 3, .start_ps = -1},
    };

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        cr_assert_eq(sim_add_flow(s, &bad[i], NULL), WH_ERR_INPUT, "flow %zu", i);
    cr_assert_eq(sim_flow_count(s), 0);
    sim_destroy(s);
}

/* Rows hold 7 INT records and 16 bits of length. */
Test(sim, packets_that_do_not_fit_their_rows_are_refused)
{
    struct sim_config c = fix_config(CC_HPCC);
    struct err_info e;

    c.int_hops_max = 7;
    cr_assert_eq(config_check(&c, &e), 0);
    c.int_hops_max = 8;
    cr_assert_eq(config_check(&c, &e), WH_ERR_INPUT);
    c.int_hops_max = 7;
    c.payload_bytes = 65000;
    c.header_bytes = 477;
    cr_assert_eq(config_check(&c, &e), 0);
    c.header_bytes = 478; /* with 58 B of INT one more than 16 bits */
    cr_assert_eq(config_check(&c, &e), WH_ERR_INPUT);
}

/* ---- stragglers, paths, end ---- */

Test(sim, straggler_starts_later_and_sends_slower)
{
    const struct sim_config c = fix_config(CC_NONE);
    struct sim *s = fix_sim(fix_star(4, RATE, DELAY), &c);
    const int64_t full = 1048 * 80;

    cr_assert_eq(sim_set_straggler(s, 0, 0.5, 10 * PS_PER_US), 0);
    cr_assert_eq(sim_set_straggler(s, 3, 0, 0), WH_ERR_INPUT);
    fix_flow(s, 0, 1, 50000, PS_PER_US);
    fix_flow(s, 2, 3, 50000, PS_PER_US);
    fix_run(s);
    cr_assert_eq(sim_flow_result(s, 0)->start_ps, 11 * PS_PER_US);
    cr_assert_eq(sim_flow_result(s, 1)->start_ps, PS_PER_US);
    cr_assert_eq(fix_fct(s, 0), 98 * full + 2 * full + 4 * DELAY + 2 * 60 * 80);
    cr_assert_eq(fix_fct(s, 1), 51 * full + 4 * DELAY + 2 * 60 * 80);
    sim_destroy(s);
}

Test(sim, given_path_is_taken)
{
    const struct sim_config c = fix_config(CC_NONE);

    for (uint32_t spine = 4; spine < 8; spine++) {
        struct sim *s = fix_sim(fix_leaf_spine(2, 4, 1, RATE, DELAY), &c);
        const uint32_t nodes[] = {0, 2, spine, 3, 1}, back[] = {1, 3, 11 - spine, 2, 0};
        uint32_t ports[8];
        struct err_info e;

        fix_flow(s, 0, 1, 1000, 0);
        cr_assert_eq(sim_set_path(s, 0, 1, back, 5, &e), 0);
        cr_assert_eq(sim_set_path(s, 0, 0, nodes, 5, &e), 0);
        cr_assert_eq(sim_set_path(s, 0, 0, back, 5, &e), WH_ERR_INPUT);
        fix_run(s);
        cr_assert_eq(sim_flow_path(s, 0, 0, ports, 8), 4);
        cr_assert_eq(sim_topo(s)->port_node[ports[2]], spine);
        cr_assert_eq(sim_flow_path(s, 0, 1, ports, 8), 4);
        cr_assert_eq(sim_topo(s)->port_node[ports[2]], 11 - spine);
        sim_destroy(s);
    }
}

Test(sim, end_time_leaves_flows_unfinished)
{
    struct sim_config c = fix_config(CC_NONE);
    struct sim *s;

    c.end_ps = 20 * PS_PER_US;
    s = fix_sim(fix_star(2, RATE, DELAY), &c);
    fix_flow(s, 0, 1, 1000000, 0);
    fix_flow(s, 0, 1, 1000, 30 * PS_PER_US);
    fix_run(s);
    cr_assert_eq(sim_now_ps(s), 20 * PS_PER_US);
    cr_assert_eq(sim_flow_result(s, 0)->state, FLOW_ACTIVE);
    cr_assert_gt(sim_flow_result(s, 0)->acked_bytes, 0);
    cr_assert_eq(sim_flow_result(s, 1)->state, FLOW_WAITING);
    cr_assert_eq(fix_counters(s).flows_waiting, 1);
    sim_destroy(s);
}
