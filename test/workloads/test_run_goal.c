/*
 * test_run_goal.c - GOAL schedules on the packet engine: who waits for whom, cpus, wildcards,
 * rendezvous, and what is said when a schedule can never end.
 */
#include "run_goal.h"

#include "run_fixture.h"
#include "units.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define US PS_PER_US
#define NS PS_PER_NS

static struct goal *read_file(const char *path)
{
    struct err_info e = {.text = ""};
    struct goal *g;

    cr_assert_eq(goal_read(path, &g, NULL, &e), 0, "%s", e.text);
    return g;
}

static struct goal *read_text(const char *text)
{
    char path[] = "/tmp/test_run_goal.XXXXXX";
    const int fd = mkstemp(path);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
    struct goal *g;

    cr_assert(f);
    fputs(text, f);
    fclose(f);
    g = read_file(path);
    unlink(path);
    return g;
}

static struct run_goal_options options(uint64_t overhead_ns)
{
    struct run_goal_options o;

    run_goal_options_init(&o);
    o.overhead_ns = overhead_ns;
    return o;
}

/* Runs @g and fills the end times; returns what dag_run returned. */
static int run(const struct goal *g, const struct run_goal_options *o, int64_t *end_ps,
               struct run_fix **keep)
{
    struct run_fix *f = run_fix_create(g->rank_count);
    int rc;

    cr_assert_eq(run_goal_init(&f->job, g, o, f->topo, &f->e), 0, "%s", f->e.text);
    rc = run_fix_run(f);
    for (uint32_t i = 0; i < g->rank_count && end_ps; i++)
        end_ps[i] = run_goal_end_ps(&f->job, i);
    if (keep)
        *keep = f;
    else
        run_fix_destroy(f);
    return rc;
}

Test(run_goal, pingpong_takes_calculations_overheads_and_two_messages)
{
    static const uint64_t overheads[] = {0, 200, 1500};
    struct goal *g = read_file(TEST_DATA_DIR "/goal/pingpong.goal");
    const int64_t t = run_fix_message_ps(4096);

    for (size_t i = 0; i < 3; i++) {
        const struct run_goal_options o = options(overheads[i]);
        const int64_t o_ps = (int64_t)overheads[i] * NS;
        int64_t end_ps[2];

        cr_assert_eq(run(g, &o, end_ps, NULL), 0);
        cr_assert_eq(end_ps[0], 1000 * NS + 4 * o_ps + 500 * NS + 2 * t);
        cr_assert_eq(end_ps[1], 1000 * NS + 3 * o_ps + 500 * NS + t);
    }
    goal_destroy(g);
}

Test(run_goal, binary_and_text_run_alike)
{
    struct goal *a = read_file(TEST_DATA_DIR "/goal/pingpong.goal");
    struct goal *b = read_file(TEST_DATA_DIR "/goal/pingpong.bin");
    const struct run_goal_options o = options(200);
    int64_t x[2], y[2];

    cr_assert_eq(run(a, &o, x, NULL), 0);
    cr_assert_eq(run(b, &o, y, NULL), 0);
    cr_assert_arr_eq(x, y, sizeof x);
    goal_destroy(a);
    goal_destroy(b);
}

Test(run_goal, ring_of_four_ends_everywhere_after_six_steps)
{
    struct goal *g = read_file(TEST_DATA_DIR "/goal/ring4.goal");
    const struct run_goal_options o = options(0);
    const int64_t t = run_fix_message_ps(4096);
    struct run_fix *f;
    int64_t end_ps[4];

    cr_assert_eq(run(g, &o, end_ps, &f), 0);
    cr_assert_eq(sim_flow_count(f->s), 24);
    for (uint32_t i = 0; i < 4; i++) {
        cr_assert_eq(run_fix_sent_bytes(f, i), 6 * 4096);
        cr_assert_eq(end_ps[i], end_ps[0]);
        /* s0 and s1 have a step of their own each; a step may wait for the packets of the next */
        cr_assert(end_ps[i] >= 6 * t && end_ps[i] < 6 * t + t, "%lld, t %lld", (long long)end_ps[i],
                  (long long)t);
    }
    run_fix_destroy(f);
    goal_destroy(g);
}

Test(run_goal, irequires_goes_on_from_the_start_and_wildcards_take_what_comes)
{
    struct goal *g = read_file(TEST_DATA_DIR "/goal/wildcard_irequires.goal");
    const struct run_goal_options o = options(200);
    const int64_t t = run_fix_message_ps(8);
    struct run_fix *f;
    int64_t end_ps[3];

    cr_assert_eq(run(g, &o, end_ps, &f), 0);
    cr_assert_eq(run_fix_op_end_ps(f, 0, 2, OP_COMPUTE), 100 * NS); /* c: a was posted at 0 */
    cr_assert_eq(end_ps[1], 200 * NS);
    cr_assert_eq(end_ps[2], 200 * NS);
    /* both arrive as one packet each; the cpu takes them one after the other */
    cr_assert(end_ps[0] >= 200 * NS + t + 400 * NS && end_ps[0] < 200 * NS + t + 500 * NS);
    run_fix_destroy(f);
    goal_destroy(g);
}

Test(run_goal, a_cpu_does_one_thing_at_a_time_and_two_cpus_two)
{
    struct goal *g =
        read_text("num_ranks 1\nrank 0 {\na: calc 100\nb: calc 50\nc: calc 70 cpu 1\n}\n");
    const struct run_goal_options o = options(0);
    struct run_fix *f;
    int64_t end_ps[1];

    cr_assert_eq(run(g, &o, end_ps, &f), 0);
    cr_assert_eq(run_fix_op_end_ps(f, 0, 0, OP_COMPUTE), 100 * NS);
    cr_assert_eq(run_fix_op_end_ps(f, 0, 1, OP_COMPUTE), 150 * NS);
    cr_assert_eq(run_fix_op_end_ps(f, 0, 2, OP_COMPUTE), 70 * NS);
    cr_assert_eq(end_ps[0], 150 * NS);
    run_fix_destroy(f);
    goal_destroy(g);
}

Test(run_goal, a_message_may_come_before_its_receive)
{
    struct goal *g = read_text("num_ranks 2\nrank 0 {\na: calc 50000\nb: recv 8b from 1 tag 3\n"
                               "b requires a\n}\nrank 1 {\na: send 8b to 0 tag 3\n}\n");
    const struct run_goal_options o = options(0);
    int64_t end_ps[2];

    cr_assert_eq(run(g, &o, end_ps, NULL), 0);
    cr_assert_eq(end_ps[0], 50 * US);
    cr_assert_eq(end_ps[1], 0);
    goal_destroy(g);
}

Test(run_goal, a_receive_takes_the_tag_that_it_asked_for)
{
    /* the first message has tag 1; the first receive wants 2 */
    struct goal *g = read_text("num_ranks 2\nrank 0 {\na: recv 8b from 1 tag 2\nb: calc 7000\n"
                               "b requires a\nc: recv 8b from 1 tag 1\n}\n"
                               "rank 1 {\na: send 8b to 0 tag 1\nb: calc 20000\n"
                               "c: send 8b to 0 tag 2\nc requires b\n}\n");
    const struct run_goal_options o = options(0);
    int64_t end_ps[2];

    cr_assert_eq(run(g, &o, end_ps, NULL), 0);
    cr_assert_eq(end_ps[0], 20 * US + run_fix_message_ps(8) + 7 * US);
    goal_destroy(g);
}

Test(run_goal, a_receive_takes_the_source_that_it_asked_for)
{
    struct goal *g = read_text("num_ranks 3\nrank 0 {\na: recv 8b from 2\nb: recv 8b from 1\n"
                               "c: calc 7000\nc requires b\n}\n"
                               "rank 1 {\na: send 8b to 0\n}\n"
                               "rank 2 {\na: calc 50000\nb: send 8b to 0\nb requires a\n}\n");
    const struct run_goal_options o = options(0);
    struct run_fix *f;

    cr_assert_eq(run(g, &o, NULL, &f), 0);
    cr_assert_eq(run_fix_op_end_ps(f, 0, 2, OP_COMPUTE), run_fix_message_ps(8) + 7 * US);
    run_fix_destroy(f);
    goal_destroy(g);
}

Test(run_goal, irequires_of_a_calculation_waits_for_its_cpu_only)
{
    struct goal *g = read_text("num_ranks 1\nrank 0 {\nx: calc 30\na: calc 100\nb: calc 10 cpu 1\n"
                               "b irequires a\nc: calc 10 cpu 2\nc requires a\n}\n");
    const struct run_goal_options o = options(0);
    struct run_fix *f;

    cr_assert_eq(run(g, &o, NULL, &f), 0);
    cr_assert_eq(run_fix_op_end_ps(f, 0, 2, OP_COMPUTE), 40 * NS);
    cr_assert_eq(run_fix_op_end_ps(f, 0, 3, OP_COMPUTE), 140 * NS);
    run_fix_destroy(f);
    goal_destroy(g);
}

Test(run_goal, above_s_a_send_ends_with_its_receive)
{
    struct goal *g =
        read_text("num_ranks 2\nrank 0 {\na: send 1000b to 1\nb: calc 10\nb requires a\n}\n"
                  "rank 1 {\na: calc 90000\nb: recv 1000b from 0\nb requires a\n}\n");
    struct run_goal_options o = options(0);
    int64_t end_ps[2];

    o.rendezvous_bytes = 1000;
    cr_assert_eq(run(g, &o, end_ps, NULL), 0);
    cr_assert_eq(end_ps[0], 10 * NS);
    o.rendezvous_bytes = 999;
    cr_assert_eq(run(g, &o, end_ps, NULL), 0);
    cr_assert_eq(end_ps[0], 90 * US + 10 * NS);
    goal_destroy(g);
}

Test(run_goal, empty_messages_and_messages_to_oneself_arrive)
{
    struct goal *g = read_text("num_ranks 2\nrank 0 {\na: send 0b to 1\nb: send 64b to 0 tag 4\n"
                               "c: recv 64b from 0 tag 4\n}\nrank 1 {\na: recv 0b from 0\n}\n");
    const struct run_goal_options o = options(0);
    int64_t end_ps[2];

    cr_assert_eq(run(g, &o, end_ps, NULL), 0);
    cr_assert_eq(end_ps[0], 0);
    cr_assert_eq(end_ps[1], run_fix_message_ps(1));
    goal_destroy(g);
}

Test(run_goal, a_receive_that_nothing_matches_is_named)
{
    struct goal *g = read_file(TEST_DATA_DIR "/goal/bad/unmatched_recv.goal");
    const struct run_goal_options o = options(0);
    struct run_fix *f;

    cr_assert_eq(run(g, &o, NULL, &f), WH_ERR_INPUT);
    cr_assert(strstr(f->blocked, "rank 0") && strstr(f->blocked, "\"a\"") &&
                  strstr(f->blocked, "from rank 1 with tag 1"),
              "%s", f->blocked);
    run_fix_destroy(f);
    goal_destroy(g);
}

Test(run_goal, a_message_that_nobody_receives_is_named)
{
    struct goal *g = read_text("num_ranks 2\nrank 0 {\nx: send 8b to 1 tag 9\n}\nrank 1 {\n}\n");
    const struct run_goal_options o = options(0);
    struct run_fix *f;

    cr_assert_eq(run(g, &o, NULL, &f), WH_ERR_INPUT);
    cr_assert(strstr(f->blocked, "rank 1") && strstr(f->blocked, "8 B from rank 0 with tag 9"),
              "%s", f->blocked);
    run_fix_destroy(f);
    goal_destroy(g);
}

Test(run_goal, two_ranks_that_both_receive_first_are_both_named)
{
    struct goal *g = read_text("num_ranks 2\n"
                               "rank 0 {\na: recv 8b from 1\nb: send 8b to 1\nb requires a\n}\n"
                               "rank 1 {\na: recv 8b from 0\nb: send 8b to 0\nb requires a\n}\n");
    const struct run_goal_options o = options(0);
    struct run_fix *f;

    cr_assert_eq(run(g, &o, NULL, &f), WH_ERR_INPUT);
    cr_assert(strstr(f->blocked, "rank 0") && strstr(f->blocked, "rank 1"), "%s", f->blocked);
    run_fix_destroy(f);
    goal_destroy(g);
}

Test(run_goal, more_ranks_than_hosts_are_refused_with_both_numbers)
{
    struct goal *g = read_file(TEST_DATA_DIR "/goal/ring4.goal");
    const struct run_goal_options o = options(0);
    struct run_fix *f = run_fix_create(3);

    cr_assert_eq(run_goal_init(&f->job, g, &o, f->topo, &f->e), WH_ERR_INPUT);
    cr_assert(strstr(f->e.text, "4") && strstr(f->e.text, "3"), "%s", f->e.text);
    run_fix_destroy(f);
    goal_destroy(g);
}

Test(run_goal, times_that_do_not_fit_are_refused)
{
    struct goal *g = read_text("num_ranks 1\nrank 0 {\nlong: calc 18446744073709551615\n}\n");
    const struct run_goal_options o = options(0);
    struct run_fix *f = run_fix_create(2);

    cr_assert_eq(run_goal_init(&f->job, g, &o, f->topo, &f->e), WH_ERR_INPUT);
    cr_assert(strstr(f->e.text, "\"long\""), "%s", f->e.text);
    run_fix_destroy(f);
    goal_destroy(g);
}
