/*
 * api.c - life of a handle, errors, running; see wormhole.h.
 */
#include "api_int.h"

#include "pool.h"
#include "units.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef WH_VERSION
#define WH_VERSION "0.1.0"
#endif

_Static_assert((int)WH_STATUS_INPUT == (int)WH_ERR_INPUT, "public and internal codes agree");
_Static_assert((int)WH_STATUS_NOMEM == (int)WH_ERR_NOMEM, "public and internal codes agree");
_Static_assert((int)WH_STATUS_IO == (int)WH_ERR_IO, "public and internal codes agree");
_Static_assert((int)WH_STATUS_STATE == (int)WH_ERR_STATE, "public and internal codes agree");
_Static_assert((int)WH_STATUS_LIMIT == (int)WH_ERR_LIMIT, "public and internal codes agree");
_Static_assert((int)WH_STATUS_NOPATH == (int)WH_ERR_NOPATH, "public and internal codes agree");
_Static_assert(WH_TIME_NEVER == TIME_NEVER, "public and internal times agree");
_Static_assert((int)WH_ENGINE_SERIAL == (int)ENGINE_SERIAL, "public and internal engines agree");

/* --- errors --- */

int api__fail(struct wh_sim *s, int code, const struct err_info *e)
{
    if (e && e->text[0])
        (void)err_format(e, s->message, sizeof s->message);
    else
        (void)snprintf(s->message, sizeof s->message, "%s", err_text(code));
    return code;
}

int api__refuse(struct wh_sim *s, int code, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(s->message, sizeof s->message, fmt, ap);
    va_end(ap);
    return code;
}

int api__need_config(struct wh_sim *s)
{
    if (!s->sim)
        return 0;
    return api__refuse(s, WH_STATUS_STATE,
                       "found a configuration call after the start, expected it "
                       "before");
}

int api__need_sim(struct wh_sim *s)
{
    return s->sim ? 0 : wh_start(s);
}

const char *wh_error_message(const struct wh_sim *s)
{
    return s->message;
}

const char *wh_status_text(int status)
{
    return err_text(status);
}

const char *wh_version(void)
{
    return WH_VERSION;
}

/* --- life --- */

int wh_create(struct wh_sim **out)
{
    struct wh_sim *s = calloc(1, sizeof *s);

    if (!s)
        return WH_STATUS_NOMEM;
    scenario_init(&s->sc);
    s->engine = (struct sim_engine){.threads = 1};
    if (match_create(&s->match)) {
        wh_destroy(s);
        return WH_STATUS_NOMEM;
    }
    *out = s;
    return 0;
}

void wh_destroy(struct wh_sim *s)
{
    if (!s)
        return;
    accel_save(&s->accel,
               NULL); /* what steps have learnt; whom a warning would go to may be gone */
    route_destroy(s->route);
    sim_destroy(s->sim);
    accel_fini(&s->accel);
    scenario_fini(&s->sc);
    builder_fini(&s->build);
    match_destroy(s->match);
    api__free_timers(s);
    free(s->messages);
    free(s);
}

void wh_set_warning(struct wh_sim *s, void (*fn)(void *arg, const char *text), void *arg)
{
    s->on_warning = fn;
    s->warning_arg = arg;
}

/* Looks the user's function up at each warning, so that it may be set at any time. */
static void forward_warning(void *ctx, const char *text)
{
    struct wh_sim *s = ctx;

    if (s->on_warning)
        s->on_warning(s->warning_arg, text);
}

struct warn_sink api__warn_sink(struct wh_sim *s)
{
    return (struct warn_sink){forward_warning, s};
}

int wh_set_engine(struct wh_sim *s, enum wh_engine engine, uint32_t threads)
{
    uint32_t count = threads;
    int rc = api__need_config(s);

    if (rc)
        return rc;
    if (engine != WH_ENGINE_PARTITIONED && engine != WH_ENGINE_SERIAL)
        return api__refuse(s, WH_STATUS_INPUT, "found engine %d, expected one of enum wh_engine",
                           (int)engine);
    if (threads == WH_THREADS_AUTO) {
        rc = pool_thread_count("auto", &count);
        check(!rc, "the processors cannot be counted");
        count = count < SIM_THREADS_MAX ? count : SIM_THREADS_MAX;
    }
    if (count > SIM_THREADS_MAX)
        return api__refuse(s, WH_STATUS_INPUT, "found %u threads, expected 1 to %d, or 0", threads,
                           SIM_THREADS_MAX);
    s->engine = (struct sim_engine){.kind = (enum engine_kind)engine, .threads = count};
    return 0;
}

int wh_set_steady(struct wh_sim *s, int is_on, double error_budget)
{
    const int rc = api__need_config(s);

    if (rc)
        return rc;
    if (!(error_budget >= 0 && error_budget <= 0.5))
        return api__refuse(s, WH_STATUS_INPUT,
                           "found an error budget of %g, expected a share from 0 to 0.5",
                           error_budget);
    s->accel_spec.has_steady = is_on != 0;
    s->accel_spec.steady.error_budget = error_budget;
    return 0;
}

int wh_set_memo(struct wh_sim *s, int is_on, const char *path, uint64_t bytes_max)
{
    const int rc = api__need_config(s);

    if (rc)
        return rc;
    if (path && strlen(path) >= sizeof s->memo_path)
        return api__refuse(s, WH_STATUS_INPUT, "found a path of %zu bytes, expected less than %zu",
                           strlen(path), sizeof s->memo_path);
    (void)snprintf(s->memo_path, sizeof s->memo_path, "%s", path ? path : "");
    s->accel_spec.has_memo = is_on != 0;
    s->accel_spec.memo_path = path && *path ? s->memo_path : NULL;
    s->accel_spec.memo_bytes_max = bytes_max;
    return 0;
}

int wh_set_memo_lens(struct wh_sim *s, enum wh_lens lens)
{
    const int rc = api__need_config(s);

    if (rc)
        return rc;
    if (lens != WH_LENS_EXACT && lens != WH_LENS_FCG)
        return api__refuse(s, WH_STATUS_INPUT, "found lens %d, expected one of enum wh_lens",
                           (int)lens);
    s->accel_spec.lens = lens == WH_LENS_FCG ? MEMO_FCG : MEMO_EXACT;
    return 0;
}

int wh_set_audit(struct wh_sim *s, double share)
{
    const int rc = api__need_config(s);

    if (rc)
        return rc;
    if (!(share >= 0 && share <= 1))
        return api__refuse(s, WH_STATUS_INPUT, "found a share of %g to audit, expected 0 to 1",
                           share);
    s->accel_spec.audit_share = share;
    return 0;
}

/* The topology that was built by calls, if one was. */
static int take_built_topology(struct wh_sim *s)
{
    if (s->sc.topo || s->build.node_count == 0)
        return 0;
    return builder_finish(&s->build, &s->sc.topo);
}

/* A simulation of what is configured, executed as it was asked for. */
static int make_sim(struct wh_sim *s, const struct warn_sink *sink, struct err_info *e)
{
    int rc = scenario_make_sim(&s->sc, sink, &s->sim, e);

    if (rc)
        return rc;
    check(!sim_set_engine(s->sim, &s->engine), "an engine with %u threads", s->engine.threads);
    if (s->engine.kind == ENGINE_SERIAL)
        return 0;
    s->accel_spec.threads = s->engine.threads;
    rc = accel_attach(&s->accel, &s->accel_spec, &s->sc, s->sim, sink, e);
    if (!rc)
        return 0;
    sim_destroy(s->sim); /* with the topology */
    s->sim = NULL;
    accel_fini(&s->accel);
    return rc;
}

int wh_start(struct wh_sim *s)
{
    const struct warn_sink sink = api__warn_sink(s);
    struct err_info e = {.text = ""};
    int rc;

    if (s->sim)
        return 0;
    rc = take_built_topology(s);
    if (rc)
        return api__fail(s, rc, NULL);
    if (!s->sc.topo)
        return api__refuse(s, WH_STATUS_INPUT, "found no topology, expected one before the start");
    rc = config_check(&s->sc.cfg, &e);
    if (!rc)
        rc = make_sim(s, &sink, &e);
    if (rc)
        return api__fail(s, rc, &e);
    api__install_hooks(s);
    return 0;
}

/* --- running --- */

/* What a call into the engine came to: an interruption that we asked for is none. */
static int finish_run(struct wh_sim *s, int rc)
{
    const int was_asked = s->is_stopping || (s->is_stepping && s->has_called);
    const struct warn_sink sink = api__warn_sink(s);
    const int failure = s->failure;

    if (!s->is_stepping) /* steps are too many */
        accel_save(&s->accel, &sink);
    s->is_running = s->is_stepping = s->is_stopping = 0;
    s->failure = 0;
    if (failure)
        return api__fail(s, failure, NULL);
    if (rc && !(rc == WH_ERR_INTERRUPTED && was_asked))
        return api__fail(s, rc, NULL);
    return 0;
}

static int run(struct wh_sim *s, int64_t until_ps, int is_stepping)
{
    int rc = s->is_running ? WH_STATUS_STATE : api__need_sim(s);

    if (s->is_running)
        return api__refuse(s, rc, "found a call to run from a callback, expected none");
    if (rc)
        return rc;
    if (until_ps < sim_now_ps(s->sim))
        return api__refuse(s, WH_STATUS_INPUT, "found an end at %lld ps, expected %lld ps or later",
                           (long long)until_ps, (long long)sim_now_ps(s->sim));
    s->is_running = 1;
    s->is_stepping = is_stepping != 0;
    s->is_stopping = s->has_called = 0;
    return finish_run(s, sim_run(s->sim, until_ps));
}

int wh_run(struct wh_sim *s)
{
    return run(s, TIME_NEVER, 0);
}

int wh_run_until(struct wh_sim *s, int64_t time_ps)
{
    return run(s, time_ps, 0);
}

int wh_step(struct wh_sim *s)
{
    const int rc = run(s, TIME_NEVER, 1);

    return rc ? rc : s->has_called;
}

void wh_stop(struct wh_sim *s)
{
    if (!s->is_running || s->is_stopping)
        return;
    s->is_stopping = 1;
    api__wake(s);
}

int wh_is_done(const struct wh_sim *s)
{
    return s->sim && sim_is_done(s->sim);
}

int64_t wh_now_ps(const struct wh_sim *s)
{
    return s->sim ? sim_now_ps(s->sim) : 0;
}

void wh_set_progress(struct wh_sim *s, int (*fn)(void *arg, const struct wh_counters *c), void *arg)
{
    s->on_progress = fn;
    s->progress_arg = arg;
}
