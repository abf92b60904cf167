/*
 * api_int.h - what is behind struct wh_sim; for lib/ and its tests.
 */
#ifndef WH_API_INT_H
#define WH_API_INT_H

#include "accel.h"
#include "match.h"
#include "route.h"
#include "scenario.h"
#include "wormhole.h"

/* One message per flow; rows of planned flows have no callbacks. */
struct message {
    wh_callback on_sent, on_received;
    void *arg;
    struct match_key key;
    int is_matched; /* posted by wh_send: its bytes fill receives */
};

/* A pending call into the user's code or ours. */
struct timer {
    struct wh_sim *owner;
    void (*fire)(struct timer *t); /* NULL: the user's fn */
    wh_callback fn;
    void *arg;
    struct match_key key;      /* of the receives to serve, with our own timers */
    struct timer *prev, *next; /* in the list of all pending ones */
};

struct builder_link {
    uint32_t a, b;
    struct link_class link_class;
};

/* A topology being built by calls. */
struct builder {
    uint8_t *kind; /* shape: [node_count] */
    uint32_t node_count, node_cap;
    struct builder_link *link; /* shape: [link_count], in the order added */
    uint32_t link_count, link_cap;
};

struct wh_sim {
    struct scenario sc; /* its topology goes to sim at the start */
    struct sim *sim;    /* NULL before the start */
    struct sim_engine engine;
    struct accel_spec accel_spec;
    char memo_path[sizeof(((struct accel *)0)->memo_path)];
    struct accel accel; /* outlives sim */
    struct builder build;
    struct match *match;
    struct route *route;      /* for questions, made when first asked */
    struct message *messages; /* shape: [message_cap], row = flow id */
    uint32_t message_cap;
    struct timer *timers; /* pending, any order */
    uint8_t is_running, is_stepping, is_stopping, has_called;
    int failure; /* first error inside a hook, 0 */
    void (*on_warning)(void *arg, const char *text);
    void *warning_arg;
    int (*on_progress)(void *arg, const struct wh_counters *c);
    void *progress_arg;
    char message[1400];
};

/* api__fail - keeps the message of a failed call and returns @code. @e may be NULL. */
int api__fail(struct wh_sim *s, int code, const struct err_info *e);
int api__refuse(struct wh_sim *s, int code, const char *fmt, ...) WH_PRINTF(3, 4);

/* api__need_config - 0 before the start, else WH_STATUS_STATE with a message. */
int api__need_config(struct wh_sim *s) WH_MUST_CHECK;

/* api__need_sim - starts if that has not happened. */
int api__need_sim(struct wh_sim *s) WH_MUST_CHECK;

/* api__install_hooks - the engine's callbacks lead to messages and receives. */
void api__install_hooks(struct wh_sim *s);

/* api__free_timers - all pending ones, without calling them. */
void api__free_timers(struct wh_sim *s);

/* api__wake - makes the engine poll at the present time. */
void api__wake(struct wh_sim *s);

struct warn_sink api__warn_sink(struct wh_sim *s);

void builder_fini(struct builder *b);
/* builder_finish - a finished topology of what was added. */
int builder_finish(const struct builder *b, struct topo **out) WH_MUST_CHECK;

#endif
