/*
 * test_api.c - the public C interface.
 */
#include "wormhole.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define US INT64_C(1000000)
#define GBPS INT64_C(1000000000)
#define NOTES_MAX 64

/* What happened, in order: the names of callbacks and their times. */
struct diary {
    struct wh_sim *s;
    const char *name[NOTES_MAX];
    int64_t time_ps[NOTES_MAX];
    int count;
};

struct entry {
    struct diary *d;
    const char *name;
};

static void note(void *arg)
{
    const struct entry *x = arg;
    struct diary *d = x->d;

    cr_assert_lt(d->count, NOTES_MAX);
    d->name[d->count] = x->name;
    d->time_ps[d->count++] = wh_now_ps(d->s);
}

/* Two hosts (0, 1) and a third (2) on switch 3, 100 Gb/s and 1 us. */
static struct wh_sim *make(void)
{
    struct wh_sim *s;

    cr_assert_eq(wh_create(&s), 0);
    for (int i = 0; i < 3; i++)
        cr_assert_eq(wh_add_host(s), i);
    cr_assert_eq(wh_add_switch(s), 3);
    for (uint32_t i = 0; i < 3; i++)
        cr_assert_eq(wh_add_link(s, i, 3, 100 * GBPS, US, 0), 0);
    return s;
}

Test(api, a_message_is_received_before_it_is_known_to_be_sent)
{
    struct diary d = {.s = make()};
    struct entry sent = {&d, "sent"}, got = {&d, "got"};

    cr_assert_eq(wh_send(d.s, 0, 1, 100000, 5, note, NULL, &sent), 0);
    cr_assert_eq(wh_recv(d.s, 1, 0, 100000, 5, note, &got), 0);
    cr_assert_eq(wh_run(d.s), 0, "%s", wh_error_message(d.s));
    cr_assert_eq(d.count, 2);
    cr_assert_str_eq(d.name[0], "got");
    cr_assert_str_eq(d.name[1], "sent");
    /* one way on the wire, and back */
    cr_assert_geq(d.time_ps[0], 2 * US + 8 * US);
    cr_assert_geq(d.time_ps[1], d.time_ps[0] + 2 * US);
    cr_assert(wh_is_done(d.s));
    wh_destroy(d.s);
}

Test(api, own_callback_comes_before_the_receive_that_it_fills)
{
    struct diary d = {.s = make()};
    struct entry x = {&d, "on_received"}, got = {&d, "recv"};

    cr_assert_eq(wh_recv(d.s, 1, 0, 10, 5, note, &got), 0);
    cr_assert_eq(wh_send(d.s, 0, 1, 10, 5, NULL, note, &x), 0);
    cr_assert_eq(wh_run(d.s), 0);
    cr_assert_eq(d.count, 2);
    cr_assert_str_eq(d.name[0], "on_received");
    cr_assert_str_eq(d.name[1], "recv");
    wh_destroy(d.s);
}

Test(api, receives_may_come_after_the_data_and_span_messages)
{
    struct diary d = {.s = make()};
    struct entry a = {&d, "a"}, b = {&d, "b"}, c = {&d, "c"};
    int64_t end_ps;

    for (int i = 0; i < 3; i++)
        cr_assert_eq(wh_send(d.s, 0, 1, 1000, 5, NULL, NULL, NULL), 0);
    cr_assert_eq(wh_run(d.s), 0);
    end_ps = wh_now_ps(d.s);
    cr_assert_eq(wh_recv(d.s, 1, 0, 2500, 5, note, &a), 0);
    cr_assert_eq(wh_recv(d.s, 1, 0, 500, 5, note, &b), 0);
    cr_assert_eq(wh_recv(d.s, 1, 0, 1, 5, note, &c), 0);
    cr_assert_eq(d.count, 0, "a receive was called from within wh_recv");
    cr_assert_eq(wh_run(d.s), 0);
    cr_assert_eq(d.count, 2);
    cr_assert_str_eq(d.name[0], "a");
    cr_assert_str_eq(d.name[1], "b");
    cr_assert_eq(d.time_ps[0], end_ps);
    wh_destroy(d.s);
}

Test(api, other_tags_and_pairs_do_not_fill_a_receive)
{
    struct diary d = {.s = make()};
    struct entry x = {&d, "x"};

    cr_assert_eq(wh_recv(d.s, 1, 0, 10, 5, note, &x), 0);
    cr_assert_eq(wh_send(d.s, 0, 1, 10, 6, NULL, NULL, NULL), 0);
    cr_assert_eq(wh_send(d.s, 2, 1, 10, 5, NULL, NULL, NULL), 0);
    cr_assert_eq(wh_send(d.s, 1, 0, 10, 5, NULL, NULL, NULL), 0);
    cr_assert_eq(wh_run(d.s), 0);
    cr_assert_eq(d.count, 0);
    wh_destroy(d.s);
}

Test(api, empty_messages_and_receives_complete)
{
    struct diary d = {.s = make()};
    struct entry sent = {&d, "sent"}, got = {&d, "got"};

    cr_assert_eq(wh_send(d.s, 0, 1, 0, 5, note, NULL, &sent), 0);
    cr_assert_eq(wh_recv(d.s, 1, 0, 0, 5, note, &got), 0);
    cr_assert_eq(wh_run(d.s), 0);
    cr_assert_eq(d.count, 2);
    wh_destroy(d.s);
}

Test(api, timers_of_equal_time_run_in_order_of_scheduling)
{
    struct diary d = {.s = make()};
    struct entry a = {&d, "a"}, b = {&d, "b"}, c = {&d, "c"};

    cr_assert_eq(wh_schedule(d.s, 2 * US, note, &c), 0);
    cr_assert_eq(wh_schedule(d.s, US, note, &a), 0);
    cr_assert_eq(wh_schedule(d.s, US, note, &b), 0);
    cr_assert_eq(wh_run(d.s), 0);
    cr_assert_eq(d.count, 3);
    cr_assert_str_eq(d.name[0], "a");
    cr_assert_str_eq(d.name[1], "b");
    cr_assert_str_eq(d.name[2], "c");
    cr_assert_eq(d.time_ps[0], US);
    cr_assert_eq(d.time_ps[2], 2 * US);
    wh_destroy(d.s);
}

Test(api, run_until_stops_at_the_time_and_goes_on)
{
    struct diary d = {.s = make()};
    struct entry a = {&d, "a"}, b = {&d, "b"};

    cr_assert_eq(wh_schedule(d.s, US, note, &a), 0);
    cr_assert_eq(wh_schedule(d.s, 3 * US, note, &b), 0);
    cr_assert_eq(wh_run_until(d.s, 2 * US), 0);
    cr_assert_eq(d.count, 1);
    cr_assert_eq(wh_now_ps(d.s), 2 * US);
    cr_assert_not(wh_is_done(d.s));
    cr_assert_eq(wh_run_until(d.s, US), WH_STATUS_INPUT);
    cr_assert_eq(wh_run(d.s), 0);
    cr_assert_eq(d.count, 2);
    wh_destroy(d.s);
}

Test(api, step_goes_from_callback_to_callback)
{
    struct diary d = {.s = make()};
    struct entry a = {&d, "a"}, b = {&d, "b"}, c = {&d, "c"};
    int last;

    cr_assert_eq(wh_schedule(d.s, US, note, &a), 0);
    cr_assert_eq(wh_send(d.s, 0, 1, 1000000, 5, note, NULL, &b), 0);
    cr_assert_eq(wh_schedule(d.s, 1000 * US, note, &c), 0);
    for (int i = 1; i <= 3; i++) {
        cr_assert_eq(wh_step(d.s), 1);
        cr_assert_eq(d.count, i, "step %d called %d", i, d.count);
    }
    while ((last = wh_step(d.s)) > 0)
        ;
    cr_assert_eq(last, 0);
    cr_assert_eq(d.count, 3);
    wh_destroy(d.s);
}

static void stop(void *arg)
{
    struct diary *d = arg;

    wh_stop(d->s);
}

Test(api, stop_ends_the_run_at_that_time)
{
    struct diary d = {.s = make()};
    struct entry sent = {&d, "sent"};

    cr_assert_eq(wh_send(d.s, 0, 1, 100000000, 5, note, NULL, &sent), 0);
    cr_assert_eq(wh_schedule(d.s, 10 * US, stop, &d), 0);
    cr_assert_eq(wh_run(d.s), 0, "%s", wh_error_message(d.s));
    cr_assert_eq(wh_now_ps(d.s), 10 * US);
    cr_assert_eq(d.count, 0);
    cr_assert_eq(wh_run(d.s), 0);
    cr_assert_eq(d.count, 1);
    wh_destroy(d.s);
}

/* Posts the next message of a chain from the callback of the one before. */
struct chain {
    struct wh_sim *s;
    int left;
};

static void next_link(void *arg)
{
    struct chain *c = arg;

    if (c->left-- > 0) {
        cr_assert_eq(wh_recv(c->s, 1, 0, 1500, 9, next_link, c), 0);
        cr_assert_eq(wh_send(c->s, 0, 1, 1500, 9, NULL, NULL, NULL), 0);
    }
}

Test(api, callbacks_post_further_messages_with_the_same_key)
{
    struct chain c = {make(), 50};

    cr_assert_eq(wh_schedule(c.s, 0, next_link, &c), 0);
    cr_assert_eq(wh_run(c.s), 0, "%s", wh_error_message(c.s));
    cr_assert_eq(c.left, -1);
    cr_assert_eq(wh_flow_count(c.s), 50);
    wh_destroy(c.s);
}

static void run_inside(void *arg)
{
    struct diary *d = arg;

    cr_assert_eq(wh_run(d->s), WH_STATUS_STATE);
    cr_assert_eq(wh_step(d->s), WH_STATUS_STATE);
}

Test(api, running_from_a_callback_is_refused)
{
    struct diary d = {.s = make()};

    cr_assert_eq(wh_schedule(d.s, 0, run_inside, &d), 0);
    cr_assert_eq(wh_run(d.s), 0);
    wh_destroy(d.s);
}

Test(api, instances_do_not_disturb_each_other)
{
    struct diary d[2] = {{.s = make()}, {.s = make()}};
    struct entry x[2] = {{&d[0], "sent"}, {&d[1], "sent"}};

    for (int i = 0; i < 2; i++)
        cr_assert_eq(wh_send(d[i].s, 0, 1, 1000000, 5, note, NULL, &x[i]), 0);
    cr_assert_eq(wh_run_until(d[0].s, 20 * US), 0);
    cr_assert_eq(wh_now_ps(d[1].s), 0);
    cr_assert_eq(wh_run(d[1].s), 0);
    cr_assert_eq(wh_run(d[0].s), 0);
    cr_assert_eq(d[0].count, 1);
    cr_assert_eq(d[0].time_ps[0], d[1].time_ps[0]);
    wh_destroy(d[0].s);
    wh_destroy(d[1].s);
}

Test(api, paths_give_rate_and_latency)
{
    struct wh_sim *s = make();
    struct wh_path p;
    int64_t ideal_ps;

    cr_assert_eq(wh_get_path(s, 0, 2, &p), 0);
    cr_assert_eq(p.rate_bps, 100 * GBPS);
    cr_assert_eq(p.propagation_ps, 2 * US);
    cr_assert_eq(p.links, 2);
    cr_assert_eq(p.base_rtt_ps, 4 * US + 2 * 80000); /* 1000 B at 100 Gb/s: 80 ns */
    cr_assert_eq(wh_get_ideal_ps(s, 0, 2, 1001, &ideal_ps), 0);
    cr_assert_eq(ideal_ps, p.base_rtt_ps + (1001 + 2 * 48) * 80);
    cr_assert_eq(wh_get_path(s, 0, 3, &p), WH_STATUS_INPUT);
    cr_assert_eq(wh_get_path(s, 0, 0, &p), WH_STATUS_INPUT);
    cr_assert_eq(wh_get_ideal_ps(s, 0, 2, -1, &ideal_ps), WH_STATUS_INPUT);
    cr_assert_eq(wh_get_ideal_ps(s, 0, 2, INT64_MAX, &ideal_ps), WH_STATUS_LIMIT);
    wh_destroy(s);
}

Test(api, a_pair_without_path_is_named)
{
    struct wh_sim *s;
    struct wh_path p;

    cr_assert_eq(wh_create(&s), 0);
    cr_assert_eq(wh_load_topology_text(s, "6 2 4\n4 5\n0 4 1Gbps 1us 0\n1 4 1Gbps 1us 0\n"
                                          "2 5 1Gbps 1us 0\n3 5 1Gbps 1us 0\n"),
                 0, "%s", wh_error_message(s));
    cr_assert_eq(wh_get_path(s, 0, 3, &p), WH_STATUS_NOPATH);
    cr_assert(strstr(wh_error_message(s), "0") && strstr(wh_error_message(s), "3"));
    wh_destroy(s);
}

Test(api, results_and_counters_are_there)
{
    struct wh_sim *s = make();
    struct wh_counters c;
    struct wh_flow_result r;
    const struct wh_flow f = {
        .start_ps = 5 * US, .bytes = 12345, .src = 2, .dst = 0, .dport = 7, .priority = 3};
    uint32_t id;

    cr_assert_eq(wh_add_flow(s, &f, &id), 0, "%s", wh_error_message(s));
    cr_assert_eq(id, 0);
    cr_assert_eq(wh_run(s), 0);
    wh_get_counters(s, &c);
    cr_assert_eq(c.flows, 1);
    cr_assert_eq(c.flows_finished, 1);
    cr_assert_eq(c.data_packets, 13);
    cr_assert_gt(c.events, 0);
    cr_assert_eq(wh_get_flow(s, 0, &r), 0);
    cr_assert_eq(r.start_ps, 5 * US);
    cr_assert_gt(r.end_ps, r.start_ps);
    cr_assert_eq(r.acked_bytes, 12345);
    cr_assert_eq(r.dport, 7);
    cr_assert_eq(r.sport, 10000);
    cr_assert_eq(r.state, WH_FLOW_DONE);
    cr_assert_eq(wh_get_flow(s, 1, &r), WH_STATUS_INPUT);
    wh_destroy(s);
}

static int stop_at_once(void *arg, const struct wh_counters *c)
{
    int *calls = arg;

    (void)c;
    return ++*calls >= 2;
}

Test(api, progress_hook_is_called_and_can_stop)
{
    struct wh_sim *s = make();
    int calls = 0;

    wh_set_progress(s, stop_at_once, &calls);
    cr_assert_eq(wh_send(s, 0, 1, INT64_C(1000000000), 1, NULL, NULL, NULL), 0);
    cr_assert_eq(wh_run(s), 0);
    cr_assert_eq(calls, 2);
    cr_assert_not(wh_is_done(s));
    wh_destroy(s);
}

Test(api, configuration_after_the_start_is_refused)
{
    struct wh_sim *s = make();

    cr_assert_eq(wh_start(s), 0, "%s", wh_error_message(s));
    cr_assert_eq(wh_start(s), 0);
    cr_assert_eq(wh_set(s, "cc", "dcqcn"), WH_STATUS_STATE);
    cr_assert_eq(wh_add_host(s), WH_STATUS_STATE);
    cr_assert_eq(wh_add_link(s, 0, 1, GBPS, 0, 0), WH_STATUS_STATE);
    cr_assert_eq(wh_set_ecn(s, GBPS, 0, 0, 0), WH_STATUS_STATE);
    cr_assert_eq(wh_add_link_event(s, 0, 0, 3, 0), WH_STATUS_STATE);
    cr_assert_eq(wh_load_topology_text(s, ""), WH_STATUS_STATE);
    cr_assert_eq(wh_load_hpcc(s, "x"), WH_STATUS_STATE);
    cr_assert_eq(wh_node_count(s), 4);
    cr_assert_eq(wh_host_count(s), 3);
    wh_destroy(s);
}

Test(api, wrong_arguments_are_refused_with_a_message)
{
    struct wh_sim *s = make();

    cr_assert_eq(wh_set(s, "cc", "reno"), WH_STATUS_INPUT);
    cr_assert(strstr(wh_error_message(s), "reno"));
    cr_assert_eq(wh_set(s, "colour", "red"), WH_STATUS_INPUT);
    cr_assert_eq(wh_add_link(s, 0, 9, GBPS, 0, 0), WH_STATUS_INPUT);
    cr_assert_eq(wh_add_link(s, 0, 0, GBPS, 0, 0), WH_STATUS_INPUT);
    cr_assert_eq(wh_add_link(s, 0, 1, 0, 0, 0), WH_STATUS_INPUT);
    cr_assert_eq(wh_add_link(s, 0, 1, GBPS, -1, 0), WH_STATUS_INPUT);
    cr_assert_eq(wh_add_link(s, 0, 1, GBPS, 0, 1.5), WH_STATUS_INPUT);
    cr_assert_eq(wh_set_ecn(s, GBPS, 5, 4, 0.1), WH_STATUS_INPUT);
    cr_assert_eq(wh_add_link_event(s, -1, 0, 3, 0), WH_STATUS_INPUT);
    cr_assert_eq(wh_load_topology_text(s, "2 0 1\n\n0 1 1Gbps 1us 0\n"), WH_STATUS_STATE);
    cr_assert_eq(wh_send(s, 0, 0, 1, 0, NULL, NULL, NULL), WH_STATUS_INPUT);
    cr_assert_eq(wh_send(s, 0, 3, 1, 0, NULL, NULL, NULL), WH_STATUS_INPUT);
    cr_assert_eq(wh_send(s, 0, 99, 1, 0, NULL, NULL, NULL), WH_STATUS_INPUT);
    cr_assert_eq(wh_send(s, 0, 1, -1, 0, NULL, NULL, NULL), WH_STATUS_INPUT);
    cr_assert_eq(wh_recv(s, 1, 0, 1, 0, NULL, NULL), WH_STATUS_INPUT);
    cr_assert_eq(wh_schedule(s, -1, stop, NULL), WH_STATUS_INPUT);
    cr_assert_eq(wh_schedule(s, INT64_MAX, stop, NULL), WH_STATUS_INPUT);
    cr_assert_eq(wh_schedule(s, 0, NULL, NULL), WH_STATUS_INPUT);
    wh_destroy(s);
}

Test(api, a_start_without_network_or_with_wrong_settings_can_be_corrected)
{
    struct wh_sim *s;

    cr_assert_eq(wh_create(&s), 0);
    cr_assert_eq(wh_start(s), WH_STATUS_INPUT);
    cr_assert_eq(wh_load_topology_text(s, "3 1 2\n2\n0 2 nonsense 1us 0\n1 2 1Gbps 1us 0\n"),
                 WH_STATUS_INPUT);
    cr_assert(strstr(wh_error_message(s), "topology text"), "%s", wh_error_message(s));
    cr_assert_eq(wh_load_topology_text(s, "3 1 2\n2\n0 2 1Gbps 1us 0\n1 2 1Gbps 1us 0\n"), 0);
    cr_assert_eq(wh_set(s, "payload_bytes", "0"), 0);
    cr_assert_eq(wh_start(s), WH_STATUS_INPUT);
    cr_assert(strstr(wh_error_message(s), "payload"), "%s", wh_error_message(s));
    cr_assert_eq(wh_set(s, "payload_bytes", "1000"), 0);
    cr_assert_eq(wh_start(s), 0, "%s", wh_error_message(s));
    wh_destroy(s);
}

Test(api, limits_of_lists_are_reported)
{
    struct wh_sim *s = make();
    int rc = 0;

    for (int i = 0; i < 17 && !rc; i++)
        rc = wh_set_ecn(s, (1000 + i) * GBPS, 0, 1, 0.5);
    cr_assert_eq(rc, WH_STATUS_LIMIT);
    rc = 0;
    for (int i = 0; i < 65 && !rc; i++)
        rc = wh_add_link_event(s, i, 0, 3, 1);
    cr_assert_eq(rc, WH_STATUS_LIMIT);
    wh_destroy(s);
}

Test(api, files_that_are_not_there_are_named)
{
    struct wh_sim *s;

    cr_assert_eq(wh_create(&s), 0);
    cr_assert_lt(wh_load_topology(s, "/nonexistent/t.txt"), 0);
    cr_assert(strstr(wh_error_message(s), "/nonexistent/t.txt"));
    cr_assert_lt(wh_load_hpcc(s, "/nonexistent/c.txt"), 0);
    cr_assert(strstr(wh_error_message(s), "/nonexistent/c.txt"));
    cr_assert_lt(wh_load_scenario(s, "/nonexistent/s.yaml"), 0);
    cr_assert(strstr(wh_error_message(s), "/nonexistent/s.yaml"));
    wh_destroy(s);
}

Test(api, pending_work_is_freed_with_the_handle)
{
    struct diary d = {.s = make()};
    struct entry x = {&d, "x"};

    cr_assert_eq(wh_schedule(d.s, US, note, &x), 0);
    cr_assert_eq(wh_recv(d.s, 1, 0, 10, 5, note, &x), 0);
    cr_assert_eq(wh_send(d.s, 0, 1, 10, 6, note, note, &x), 0);
    wh_destroy(d.s);
    cr_assert_eq(d.count, 0);
    wh_destroy(NULL);
}

Test(api, texts_are_there)
{
    cr_assert_str_eq(wh_status_text(0), "success");
    cr_assert(strlen(wh_status_text(WH_STATUS_NOPATH)) > 0);
    cr_assert(strlen(wh_version()) > 0);
}

/* Three messages, one of which is answered, on the engine that was asked for. */
static void play_on(enum wh_engine engine, uint32_t threads, struct diary *d)
{
    struct entry a = {d, "a"}, b = {d, "b"}, c = {d, "c"};

    *d = (struct diary){.s = make()};
    cr_assert_eq(wh_set_engine(d->s, engine, threads), 0, "%s", wh_error_message(d->s));
    cr_assert_eq(wh_send(d->s, 0, 1, 100000, 5, note, note, &a), 0);
    cr_assert_eq(wh_send(d->s, 2, 0, 30000, 5, note, note, &b), 0);
    cr_assert_eq(wh_send(d->s, 1, 2, 100000, 5, note, note, &c), 0);
    cr_assert_eq(wh_run(d->s), 0, "%s", wh_error_message(d->s));
    cr_assert_eq(d->count, 6);
    wh_destroy(d->s);
}

Test(api, engine_and_threads_change_no_callback)
{
    static const uint32_t threads[] = {1, 2, 4, WH_THREADS_AUTO};
    struct diary serial, d;

    play_on(WH_ENGINE_SERIAL, 1, &serial);
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        play_on(WH_ENGINE_PARTITIONED, threads[i], &d);
        for (int k = 0; k < 6; k++) {
            cr_expect_str_eq(d.name[k], serial.name[k], "callback %d", k);
            cr_expect_eq(d.time_ps[k], serial.time_ps[k], "callback %d", k);
        }
    }
}

Test(api, engines_out_of_range_or_too_late_are_refused)
{
    struct wh_sim *s = make();

    cr_expect_eq(wh_set_engine(s, WH_ENGINE_PARTITIONED, 65), WH_STATUS_INPUT);
    cr_expect(strstr(wh_error_message(s), "65"));
    cr_expect_eq(wh_set_engine(s, (enum wh_engine)7, 1), WH_STATUS_INPUT);
    cr_expect_eq(wh_set_engine(s, WH_ENGINE_PARTITIONED, 64), 0);
    cr_assert_eq(wh_start(s), 0);
    cr_expect_eq(wh_set_engine(s, WH_ENGINE_SERIAL, 1), WH_STATUS_STATE);
    wh_destroy(s);
}

/* Two long messages, one after the other, from different hosts to the same one. */
static void play_long(int is_steady, int has_memo, const char *path, struct diary *d,
                      struct wh_savings *savings)
{
    struct entry a = {d, "a"}, b = {d, "b"};

    *d = (struct diary){.s = make()};
    cr_assert_eq(wh_set(d->s, "ack", "charged"), 0);
    cr_assert_eq(wh_set_steady(d->s, is_steady, 0), 0);
    cr_assert_eq(wh_set_memo(d->s, has_memo, path, 0), 0);
    wh_get_savings(d->s, savings);
    cr_assert_eq(savings->skips, 0, "before the start");
    cr_assert_eq(wh_send(d->s, 0, 1, 50000000, 5, note, NULL, &a), 0);
    cr_assert_eq(wh_run(d->s), 0, "%s", wh_error_message(d->s));
    cr_assert_eq(wh_send(d->s, 2, 1, 50000000, 5, note, NULL, &b), 0);
    cr_assert_eq(wh_run(d->s), 0, "%s", wh_error_message(d->s));
    cr_assert_eq(d->count, 2);
    wh_get_savings(d->s, savings);
    wh_destroy(d->s);
}

Test(api, neither_skipping_nor_a_memo_unless_asked_for)
{
    struct diary d = {.s = make()};
    struct entry a = {&d, "a"};
    struct wh_savings k;

    cr_assert_eq(wh_send(d.s, 0, 1, 50000000, 5, note, NULL, &a), 0);
    cr_assert_eq(wh_run(d.s), 0);
    wh_get_savings(d.s, &k);
    cr_expect(!k.skips && !k.skipped_hops && !k.memo_lookups && !k.replayed_hops);
    wh_destroy(d.s);
}

Test(api, skipping_saves_packets_and_keeps_the_time)
{
    struct diary all, d;
    struct wh_savings none, k;

    play_long(0, 0, NULL, &all, &none);
    cr_expect_eq(none.skips, 0);
    play_long(1, 0, NULL, &d, &k);
    cr_expect_gt(k.skips, 0);
    cr_expect_gt(k.skipped_packets, 50000); /* of 100,000 */
    for (int i = 0; i < 2; i++)
        cr_expect_float_eq((double)d.time_ps[i], (double)all.time_ps[i],
                           0.01 * (double)all.time_ps[i], "message %d", i);
}

Test(api, a_memo_changes_nothing_and_is_kept_in_its_file)
{
    char path[] = "/tmp/wh-api-memo-XXXXXX", lock[sizeof path + 8];
    struct diary without, d;
    struct wh_savings k;
    const int fd = mkstemp(path);

    cr_assert_geq(fd, 0);
    (void)close(fd);
    (void)unlink(path);
    play_long(1, 0, NULL, &without, &k);
    for (int run = 0; run < 2; run++) {
        play_long(1, 1, path, &d, &k);
        cr_expect_gt(k.memo_lookups, 0);
        cr_expect(run == 0 || k.memo_hits == k.memo_lookups, "run %d: %llu of %llu", run,
                  (unsigned long long)k.memo_hits, (unsigned long long)k.memo_lookups);
        for (int i = 0; i < 2; i++)
            cr_expect_eq(d.time_ps[i], without.time_ps[i], "run %d, message %d", run, i);
    }
    (void)snprintf(lock, sizeof lock, "%s-lock", path);
    (void)unlink(path);
    (void)unlink(lock);
}

/* The same message again and again, with all hits and skips audited. */
static void play_again(double share, struct diary *d, struct wh_audit *audit)
{
    struct entry e[6];

    *d = (struct diary){.s = make()};
    cr_assert_eq(wh_set(d->s, "ack", "charged"), 0);
    cr_assert_eq(wh_set_steady(d->s, 1, 0), 0);
    cr_assert_eq(wh_set_memo(d->s, 1, NULL, 0), 0);
    cr_assert_eq(wh_set_memo_lens(d->s, WH_LENS_FCG), 0);
    cr_assert_eq(wh_set_audit(d->s, share), 0);
    wh_get_audit(d->s, audit);
    cr_assert(!audit->has_estimate, "before the start");
    for (int i = 0; i < 6; i++) {
        e[i] = (struct entry){d, "m"};
        cr_assert_eq(wh_send(d->s, 0, 1, 5000000, 5, note, NULL, &e[i]), 0);
        cr_assert_eq(wh_run(d->s), 0, "%s", wh_error_message(d->s));
    }
    cr_assert_eq(d->count, 6);
    wh_get_audit(d->s, audit);
    wh_destroy(d->s);
}

Test(api, audits_of_the_fcg_lens_change_nothing_and_say_what_they_found)
{
    struct diary without, d;
    struct wh_audit a;

    play_again(0, &without, &a);
    cr_expect(!a.hits && !a.has_estimate && !a.events);
    play_again(1, &d, &a);
    cr_expect(a.hits > 0 && a.hits_audited == a.hits, "%llu of %llu hits",
              (unsigned long long)a.hits_audited, (unsigned long long)a.hits);
    cr_expect(a.has_estimate && a.has_bounds && a.events > 0);
    cr_expect(a.low <= a.error && a.error <= a.high && fabs(a.error) < 0.01);
    cr_expect(a.memo_low <= a.memo_error && a.memo_error <= a.memo_high);
    for (int i = 0; i < 6; i++)
        cr_expect_eq(d.time_ps[i], without.time_ps[i], "message %d", i);
}

static void count_warning(void *arg, const char *text)
{
    cr_expect(strstr(text, "without its file"), "%s", text);
    ++*(int *)arg;
}

Test(api, a_memo_goes_without_a_file_that_it_cannot_use)
{
    struct diary d = {.s = make()};
    struct entry a = {&d, "a"};
    int warnings = 0;

    wh_set_warning(d.s, count_warning, &warnings);
    cr_assert_eq(wh_set_memo(d.s, 1, "/nowhere/at/all", 0), 0);
    cr_assert_eq(wh_send(d.s, 0, 1, 100000, 5, note, NULL, &a), 0);
    cr_assert_eq(wh_run(d.s), 0, "%s", wh_error_message(d.s));
    cr_expect_eq(d.count, 1);
    cr_expect_eq(warnings, 1);
    wh_destroy(d.s);
}

Test(api, skipping_and_memo_out_of_range_or_too_late_are_refused)
{
    struct wh_sim *s = make();
    char path[4096];

    memset(path, 'x', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    cr_expect_eq(wh_set_steady(s, 1, 0.6), WH_STATUS_INPUT);
    cr_expect_eq(wh_set_steady(s, 1, -0.1), WH_STATUS_INPUT);
    cr_expect_eq(wh_set_memo(s, 1, path, 0), WH_STATUS_INPUT);
    cr_expect_eq(wh_set_memo_lens(s, (enum wh_lens)2), WH_STATUS_INPUT);
    cr_expect_eq(wh_set_audit(s, 1.1), WH_STATUS_INPUT);
    cr_assert_eq(wh_start(s), 0);
    cr_expect_eq(wh_set_memo_lens(s, WH_LENS_FCG), WH_STATUS_STATE);
    cr_expect_eq(wh_set_audit(s, 1), WH_STATUS_STATE);
    cr_expect_eq(wh_set_steady(s, 1, 0.01), WH_STATUS_STATE);
    cr_expect_eq(wh_set_memo(s, 1, NULL, 0), WH_STATUS_STATE);
    wh_destroy(s);
}
