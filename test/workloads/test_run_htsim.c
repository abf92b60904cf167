/*
 * test_run_htsim.c - connection matrices on the packet engine: triggers release what waits for
 * them, at the right instant, and what is never released is named.
 */
#include "run_htsim.h"

#include "sim_fixture.h"
#include "units.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct fix {
    struct htsim_cm cm;
    struct scenario sc;
    struct run_htsim *r;
    struct sim *s;
    struct err_info e;
    char blocked[2048];
};

static struct fix *load(const char *cm_path, struct topo *topo, int64_t end_ps)
{
    struct fix *f = calloc(1, sizeof *f);

    cr_assert(f);
    scenario_init(&f->sc);
    f->sc.topo = topo;
    f->sc.cfg.cc = CC_NONE;
    f->sc.cfg.end_ps = end_ps;
    cr_assert_eq(htsim_read_cm(cm_path, &f->cm, NULL, &f->e), 0, "%s", f->e.text);
    cr_assert_eq(htsim_to_flows(&f->cm, topo, &f->sc, NULL, &f->e), 0, "%s", f->e.text);
    return f;
}

static struct fix *load_text(const char *text, int64_t end_ps)
{
    char path[] = "/tmp/test_run_htsim.XXXXXX";
    const int fd = mkstemp(path);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    struct fix *f;

    cr_assert(file);
    fputs(text, file);
    fclose(file);
    f = load(path, fix_star(8, 100 * GBPS, PS_PER_US), end_ps);
    unlink(path);
    return f;
}

static int run(struct fix *f)
{
    cr_assert_eq(run_htsim_create(&f->r, &f->cm, &f->sc, &f->e), 0, "%s", f->e.text);
    cr_assert_eq(scenario_make_sim(&f->sc, NULL, &f->s, &f->e), 0, "%s", f->e.text);
    return run_htsim_run(f->r, f->s, NULL, NULL, &f->e);
}

static void fini(struct fix *f)
{
    run_htsim_destroy(f->r);
    sim_destroy(f->s);
    htsim_cm_fini(&f->cm);
    scenario_fini(&f->sc);
    free(f);
}

static int64_t start_ps(const struct fix *f, uint32_t conn)
{
    const uint32_t flow = run_htsim_flow(f->r, conn);

    cr_assert_neq(flow, HTSIM_NONE, "connection %u has not started", conn);
    return sim_flow_result(f->s, flow)->start_ps;
}

static int64_t end_ps(const struct fix *f, uint32_t conn)
{
    const uint32_t flow = run_htsim_flow(f->r, conn);

    cr_assert_neq(flow, HTSIM_NONE, "connection %u has not started", conn);
    return sim_flow_result(f->s, flow)->end_ps;
}

static void on_blocked(void *ctx, const char *text)
{
    struct fix *f = ctx;
    const size_t used = strlen(f->blocked);

    (void)snprintf(f->blocked + used, sizeof f->blocked - used, "%s\n", text);
}

Test(run_htsim, chain_starts_each_connection_when_its_trigger_fires)
{
    struct htsim_topo t = {.path = ""};
    struct err_info e = {.text = ""};
    struct fix *f;

    cr_assert_eq(htsim_read_topo(TEST_DATA_DIR "/htsim/leafspine8.topo", &t, NULL, &e), 0);
    f = load(TEST_DATA_DIR "/htsim/chain.cm", t.topo, TIME_NEVER);
    cr_assert_eq(run(f), 0, "%s", f->e.text);
    cr_assert_eq(start_ps(f, 0), 0);
    cr_assert_eq(start_ps(f, 1), end_ps(f, 0));
    cr_assert_eq(start_ps(f, 2), 50 * PS_PER_US);
    cr_assert_eq(start_ps(f, 3), end_ps(f, 2)); /* later than connection 2, the barrier's other */
    cr_assert(end_ps(f, 0) < end_ps(f, 1) && end_ps(f, 1) < end_ps(f, 2) &&
              end_ps(f, 2) < end_ps(f, 3));
    fini(f);
}

Test(run_htsim, incast_and_a_single_flow_take_as_long_as_their_last_link)
{
    struct htsim_topo t = {.path = ""};
    struct err_info e = {.text = ""};
    int64_t last_ps = 0;
    struct fix *f;

    cr_assert_eq(htsim_read_topo(TEST_DATA_DIR "/htsim/leafspine8.topo", &t, NULL, &e), 0);
    f = load(TEST_DATA_DIR "/htsim/incast4.cm", t.topo, TIME_NEVER);
    cr_assert_eq(run(f), 0, "%s", f->e.text);
    for (uint32_t i = 0; i < 4; i++)
        last_ps = end_ps(f, i) > last_ps ? end_ps(f, i) : last_ps;
    /* 8 MB of payload with headers of 48 B for 1000 B, and up to two RTTs of 8 us */
    cr_assert(last_ps > 640 * PS_PER_US * 1048 / 1000 && last_ps < 690 * PS_PER_US, "%lld",
              (long long)last_ps);
    fini(f);
    cr_assert_eq(htsim_read_topo(TEST_DATA_DIR "/htsim/fattree16.topo", &t, NULL, &e), 0);
    f = load(TEST_DATA_DIR "/htsim/one16.cm", t.topo, TIME_NEVER);
    cr_assert_eq(run(f), 0, "%s", f->e.text);
    cr_assert(end_ps(f, 0) > 80 * PS_PER_US * 1048 / 1000 && end_ps(f, 0) < 100 * PS_PER_US);
    fini(f);
}

Test(run_htsim, recv_done_fires_before_send_done)
{
    struct fix *f =
        load_text("Nodes 8\nConnections 3\nTriggers 2\n"
                  "0->1 id 1 start 0 size 1000 send_done_trigger 1 recv_done_trigger 2\n"
                  "2->3 id 2 trigger 1 size 1000\n"
                  "4->5 id 3 trigger 2 size 1000\n"
                  "trigger id 1 oneshot\ntrigger id 2 oneshot\n",
                  TIME_NEVER);

    cr_assert_eq(run(f), 0, "%s", f->e.text);
    cr_assert_eq(start_ps(f, 1), end_ps(f, 0));
    /* the acknowledgement comes back over two links of 1 us */
    cr_assert(start_ps(f, 2) < start_ps(f, 1) - 2 * PS_PER_US);
    cr_assert(start_ps(f, 2) > 2 * PS_PER_US);
    fini(f);
}

Test(run_htsim, oneshot_releases_all_and_multishot_one_at_a_time)
{
    struct fix *f = load_text("Nodes 8\nConnections 6\nTriggers 2\n"
                              "0->1 id 1 start 0 size 1000 send_done_trigger 1\n"
                              "1->2 id 2 trigger 1 size 1000 send_done_trigger 2\n"
                              "2->3 id 3 trigger 1 size 900000 send_done_trigger 2\n"
                              "4->5 id 4 trigger 2 size 1000\n"
                              "5->6 id 5 trigger 2 size 1000\n"
                              "6->7 id 6 start 0 size 1000\n"
                              "trigger id 1 oneshot\ntrigger id 2 multishot\n",
                              TIME_NEVER);

    cr_assert_eq(run(f), 0, "%s", f->e.text);
    cr_assert_eq(start_ps(f, 1), end_ps(f, 0));
    cr_assert_eq(start_ps(f, 2), end_ps(f, 0));
    cr_assert_eq(start_ps(f, 3), end_ps(f, 1)); /* in the order of the file */
    cr_assert_eq(start_ps(f, 4), end_ps(f, 2));
    fini(f);
}

Test(run_htsim, what_is_never_released_is_named)
{
    struct fix *f = load_text("Nodes 8\nConnections 2\nTriggers 1\n"
                              "0->1 id 1 start 0 size 1000 send_done_trigger 7\n"
                              "5->6 id 4 trigger 7 size 1000\n"
                              "trigger id 7 barrier count 2\n",
                              TIME_NEVER);

    cr_assert_eq(run(f), WH_ERR_INPUT);
    cr_assert(strstr(f->e.text, "1 connection can never start"), "%s", f->e.text);
    cr_assert_eq(run_htsim_blocked(f->r, 10, on_blocked, f), 1);
    cr_assert(strstr(f->blocked, "5->6 (id 4, line 5)") && strstr(f->blocked, "trigger 7") &&
                  strstr(f->blocked, "barrier that fired 1 times"),
              "%s", f->blocked);
    fini(f);
}

Test(run_htsim, an_endless_connection_behind_a_trigger_needs_an_end_time)
{
    static const char text[] = "Nodes 8\nConnections 2\nTriggers 1\n"
                               "0->1 id 1 start 0 size 1000 send_done_trigger 1\n"
                               "5->6 id 2 trigger 1\n"
                               "trigger id 1 oneshot\n";
    struct fix *f = load_text(text, TIME_NEVER);

    cr_assert_eq(run_htsim_create(&f->r, &f->cm, &f->sc, &f->e), WH_ERR_INPUT);
    cr_assert_eq(f->e.line, 5);
    fini(f);
    f = load_text(text, 100 * PS_PER_US);
    cr_assert_eq(run(f), 0, "%s", f->e.text);
    cr_assert_eq(sim_flow_result(f->s, run_htsim_flow(f->r, 1))->state, FLOW_ACTIVE);
    cr_assert(sim_flow_result(f->s, run_htsim_flow(f->r, 1))->acked_bytes > 1000000);
    fini(f);
}
