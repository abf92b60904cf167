/*
 * accel.c - see accel.h.
 *
 * Keys of the memo hold the state of a partition and the structure that it lives on, not what is
 * the same for the whole run. That is in the fingerprint of the store: every setting, what skipping
 * goes by, and the stragglers, as lines of text. Whoever changes what a snapshot consists of
 * changes the version of the program, which is in the fingerprint too, or SNAPSHOT_FORMAT.
 */
#include "accel.h"

#include "canon.h"
#include "config_keys.h"
#include "lens.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SNAPSHOT_FORMAT 4

/* ---- the fingerprint ---- */

static void print_setting(FILE *f, const struct sim_config *c, const struct config_key *k)
{
    const struct config_value v = config_key_get(c, k);

    if (v.type == CONFIG_REAL)
        fprintf(f, "%s %a\n", k->name, v.real);
    else
        fprintf(f, "%s %" PRId64 "\n", k->name, v.integer);
}

static void print_config(FILE *f, const struct sim_config *c)
{
    uint32_t count;
    const struct config_key *keys = config_keys(&count);

    for (uint32_t i = 0; i < count; i++)
        print_setting(f, c, &keys[i]);
    for (uint32_t i = 0; i < c->ecn_row_count; i++)
        fprintf(f, "ecn %" PRId64 " %" PRId64 " %" PRId64 " %a\n", c->ecn_rows[i].rate_bps,
                c->ecn_rows[i].kmin_bytes, c->ecn_rows[i].kmax_bytes, c->ecn_rows[i].pmax);
    for (uint32_t i = 0; i < c->event_count; i++)
        fprintf(f, "event %" PRId64 " %u %u %d\n", c->events[i].time_ps, c->events[i].a,
                c->events[i].b, (int)c->events[i].kind);
}

/* The exact lens needs no line: its entries are those of the stores there were before. */
static void print_lens(FILE *f, const struct accel *a)
{
    char canon[CANON_VERSION_BYTES];

    if (a->lens != MEMO_FCG)
        return;
    canon_version(canon, sizeof canon);
    fprintf(f, "fcg %d %d %d %d canon %s\n", LENS_RATE_BITS, LENS_FLIGHT_BITS, LENS_QUEUE_BITS,
            LENS_STATE_BITS, canon);
}

static void print_steady(FILE *f, const struct accel *a)
{
    const struct detect_spec *d = &a->steady.params.spec;

    if (!a->has_steady)
        return;
    fprintf(f, "steady %d %d %" PRId64 " %" PRId64 " %" PRId64 " %a %u %" PRId64 " %a %a %a %u\n",
            (int)d->cc, (int)d->rule, d->ai_bps, d->timer_ps, d->quantum_ps, d->error_budget,
            d->flow_count_max, d->window_ps, d->eps, d->kappa, d->theta, d->paper_samples);
}

/* Owner: *@text is the caller's to free. */
static int make_settings(const struct accel *a, const struct scenario *sc,
                         const struct sim_config *c, char **text, size_t *bytes)
{
    FILE *f = open_memstream(text, bytes);
    int is_whole;

    if (!f)
        return WH_ERR_NOMEM;
    fprintf(f, "snapshot %d\n", SNAPSHOT_FORMAT);
    print_lens(f, a);
    print_config(f, c);
    print_steady(f, a);
    if (a->audit_share > 0 && a->lens != MEMO_FCG) /* what audits have found is in entries too */
        fprintf(f, "audit %a\n", a->audit_share);
    for (uint32_t i = 0; i < sc->straggler_count; i++)
        fprintf(f, "straggler %u %a %" PRId64 "\n", sc->stragglers[i].host,
                sc->stragglers[i].factor, sc->stragglers[i].delay_ps);
    is_whole = !ferror(f);
    if (!fclose(f) && is_whole)
        return 0;
    free(*text);
    return WH_ERR_NOMEM;
}

/* ---- the memo ---- */

static int is_fatal(int rc)
{
    return rc == WH_ERR_NOMEM;
}

/* With the store if it is sound, else without. */
static int open_memo(struct accel *a, struct memo_options *o, const struct warn_sink *sink)
{
    struct err_info e = {.text = ""};
    struct memo_stats st;
    char text[1600];
    int rc = memo_create(&a->memo, o, &e);

    if (rc && !is_fatal(rc) && o->path) {
        warn(sink, "the memo is kept without its file: %s", err_format(&e, text, sizeof text));
        o->path = NULL;
        rc = memo_create(&a->memo, o, &e);
    }
    if (rc || !o->path)
        return rc;
    (void)snprintf(a->memo_path, sizeof a->memo_path, "%s", o->path);
    memo_read_stats(a->memo, &st);
    if (st.is_read_only)
        warn(sink, "%s: the memo store may only be read, nothing is added to it", o->path);
    return 0;
}

static int attach_memo(struct accel *a, const struct accel_spec *spec, const struct scenario *sc,
                       struct sim *s, const struct warn_sink *sink)
{
    struct memo_options o = {.lens = spec->lens,
                             .bytes_max = spec->memo_bytes_max,
                             .worker_count = spec->threads,
                             .path = spec->memo_path,
                             .program_version = WH_VERSION " " WH_COMMIT};
    struct memo_ops ops;
    char *settings = NULL;
    size_t settings_bytes = 0;
    int rc;

    a->lens = spec->lens;
    rc = make_settings(a, sc, sim_config(s), &settings, &settings_bytes);

    if (rc)
        return rc;
    o.settings = settings;
    o.settings_bytes = settings_bytes;
    rc = open_memo(a, &o, sink);
    free(settings);
    if (rc)
        return rc;
    a->has_memo = 1;
    memo_ops(a->memo, &ops);
    return sim_set_memo(s, &ops);
}

/* ---- the whole ---- */

static int attach_steady(struct accel *a, const struct accel_spec *spec, struct sim *s,
                         struct err_info *e)
{
    struct watch_ops ops;
    const int rc = steady_init(&a->steady, sim_config(s), &spec->steady, e);

    if (rc)
        return rc;
    a->has_steady = 1;
    steady_ops(&a->steady, &ops);
    return sim_set_watch(s, &ops);
}

int accel_attach(struct accel *a, const struct accel_spec *spec, const struct scenario *sc,
                 struct sim *s, const struct warn_sink *sink, struct err_info *e)
{
    int rc = spec->has_steady ? attach_steady(a, spec, s, e) : 0;

    a->audit_share = spec->audit_share;
    if (!rc)
        rc = sim_set_audit(s, spec->audit_share);
    if (!rc && spec->has_memo)
        rc = attach_memo(a, spec, sc, s, sink);
    return rc;
}

void accel_save(struct accel *a, const struct warn_sink *sink)
{
    struct err_info e = {.text = ""};
    char text[1600];

    if (a->memo && memo_save(a->memo, &e))
        warn(sink, "the memo store is not up to date: %s", err_format(&e, text, sizeof text));
}

void accel_fini(struct accel *a)
{
    memo_destroy(a->memo);
    *a = (struct accel){.memo = NULL};
}
