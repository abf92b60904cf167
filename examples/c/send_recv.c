/*
 * send_recv.c - ping-pong between two hosts over one switch, with libwormhole.
 *
 * Each rally is one message there and one back; the round-trip times are printed.
 *
 *     cc send_recv.c $(pkg-config --cflags --libs wormhole) -o send_recv && ./send_recv
 */
#include <wormhole.h>

#include <inttypes.h>
#include <stdio.h>

#define RALLIES 3
#define BYTES 1000000
#define TAG 1

struct game {
    struct wh_sim *s;
    int64_t served_ps;
    int rallies, failed;
};

static void serve(void *arg);

/* Errors inside callbacks are kept for the end. */
static void note(struct game *g, int status)
{
    if (status && !g->failed) {
        g->failed = 1;
        fprintf(stderr, "send_recv: %s\n", wh_error_message(g->s));
        wh_stop(g->s);
    }
}

/* Host 1 has the ball: it plays it back. */
static void on_ball_at_1(void *arg)
{
    struct game *g = arg;

    note(g, wh_send(g->s, 1, 0, BYTES, TAG, NULL, NULL, NULL));
}

static void on_ball_at_0(void *arg)
{
    struct game *g = arg;

    g->rallies++;
    printf("rally %d: %.3f us\n", g->rallies, (double)(wh_now_ps(g->s) - g->served_ps) / 1e6);
    if (g->rallies < RALLIES)
        note(g, wh_schedule(g->s, 10 * INT64_C(1000000), serve, g)); /* rest for 10 us */
}

static void serve(void *arg)
{
    struct game *g = arg;

    g->served_ps = wh_now_ps(g->s);
    note(g, wh_recv(g->s, 1, 0, BYTES, TAG, on_ball_at_1, g));
    note(g, wh_recv(g->s, 0, 1, BYTES, TAG, on_ball_at_0, g));
    note(g, wh_send(g->s, 0, 1, BYTES, TAG, NULL, NULL, NULL));
}

static int play(struct game *g)
{
    struct wh_counters c;
    int status = wh_load_topology_text(g->s, "3 1 2\n2\n0 2 100Gbps 1us 0\n1 2 100Gbps 1us 0\n");

    if (!status)
        status = wh_set(g->s, "cc", "dctcp");
    if (!status)
        status = wh_schedule(g->s, 0, serve, g);
    if (!status)
        status = wh_run(g->s);
    note(g, status);
    wh_get_counters(g->s, &c);
    printf("%" PRIu64 " messages, %" PRIu64 " packets delivered over links\n", c.flows_finished,
           c.packet_hops);
    return g->failed || g->rallies < RALLIES;
}

int main(void)
{
    struct game g = {.failed = 0};
    int rc;

    if (wh_create(&g.s)) {
        fprintf(stderr, "send_recv: out of memory\n");
        return 1;
    }
    rc = play(&g);
    wh_destroy(g.s);
    return rc;
}
