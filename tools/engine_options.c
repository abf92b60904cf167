/*
 * engine_options.c - see engine_options.h.
 */
#include "engine_options.h"

#include "pool.h"

#include <string.h>

_Static_assert(SIM_THREADS_MAX == 64, "as the texts here say");

#define THREADS_EXPECTED "auto or a whole number from 1 to 64"

uint32_t engine_processors(void)
{
    uint32_t count = 1;

    check(!pool_thread_count("auto", &count), "the processors cannot be counted");
    return count < SIM_THREADS_MAX ? count : SIM_THREADS_MAX;
}

void engine_options_init(struct engine_options *o)
{
    *o = (struct engine_options){.engine.threads = engine_processors()};
}

int engine_parse_threads(const char *text, struct engine_options *o, struct err_info *e)
{
    uint32_t count = engine_processors();

    if (strcmp(text, "auto") && (pool_thread_count(text, &count) || count > SIM_THREADS_MAX))
        return err_set(e, WH_ERR_INPUT, NULL, 0, "--threads: found '%s', expected %s", text,
                       THREADS_EXPECTED);
    o->engine.threads = count;
    o->is_threads_given = 1;
    return 0;
}

int engine_parse_shards(const char *text, uint32_t *shards, struct err_info *e)
{
    uint32_t count = 0;

    if (strcmp(text, "auto") && (pool_thread_count(text, &count) || count > SIM_SHARDS_MAX))
        return err_set(e, WH_ERR_INPUT, NULL, 0,
                       "--shards: found '%s', expected auto or a whole number from 1 to %d", text,
                       SIM_SHARDS_MAX);
    *shards = count;
    return 0;
}

const char *engine_kind_name(enum engine_kind k)
{
    return k == ENGINE_SERIAL ? "serial" : "partitioned";
}

int engine_parse_kind(const char *text, struct engine_options *o, struct err_info *e)
{
    for (enum engine_kind k = ENGINE_PARTITIONED; k <= ENGINE_SERIAL; k++) {
        if (strcmp(text, engine_kind_name(k)))
            continue;
        o->engine.kind = k;
        o->is_engine_given = 1;
        return 0;
    }
    return err_set(e, WH_ERR_INPUT, NULL, 0, "--engine: found '%s', expected partitioned or serial",
                   text);
}

/* ---- several numbers of threads ---- */

/* Keeps @counts rising; a number that is there already changes nothing. Returns 0 if it is full. */
static int insert_count(uint32_t *counts, uint32_t cap, uint32_t *count, uint32_t threads)
{
    uint32_t at = *count;

    while (at > 0 && counts[at - 1] > threads)
        at--;
    if (at > 0 && counts[at - 1] == threads)
        return 1;
    if (*count == cap)
        return 0;
    memmove(&counts[at + 1], &counts[at], (*count - at) * sizeof *counts);
    counts[at] = threads;
    ++*count;
    return 1;
}

int engine_parse_counts(const char *text, uint32_t *counts, uint32_t cap, uint32_t *count,
                        struct err_info *e)
{
    const char *at = text;

    counts[0] = 1;
    *count = 1;
    for (;;) {
        const size_t chars = strcspn(at, ",");
        struct engine_options o;
        char word[16];

        (void)snprintf(word, sizeof word, "%.*s", chars < sizeof word ? (int)chars : 15, at);
        if (engine_parse_threads(word, &o, e))
            return WH_ERR_INPUT;
        if (!insert_count(counts, cap, count, o.engine.threads))
            return err_set(e, WH_ERR_INPUT, NULL, 0,
                           "--threads: found more than %u numbers in '%s'", cap, text);
        if (!at[chars])
            return 0;
        at += chars + 1;
    }
}

uint32_t engine_default_counts(uint32_t processors, uint32_t *counts)
{
    uint32_t count = 0;

    for (uint32_t threads = 1; threads <= processors; threads *= 2)
        counts[count++] = threads;
    if (counts[count - 1] != processors)
        counts[count++] = processors;
    return count;
}

/* ---- the simulation ---- */

/* What the run gets: nothing where every packet is needed. */
static struct accel_spec resolve(const struct engine_options *o, const struct scenario *sc)
{
    struct accel_spec spec = {.threads = o->engine.threads};

    if (o->engine.kind != ENGINE_SERIAL && !o->has_logs)
        accel_resolve(&o->accel, sc, &spec);
    return spec;
}

int engine_make_sim(struct scenario *sc, const struct engine_options *o,
                    const struct warn_sink *sink, struct accel *a, struct sim **out,
                    struct err_info *e)
{
    const struct accel_spec spec = resolve(o, sc);
    struct sim *s;
    int rc = scenario_make_sim(sc, sink, &s, e);

    if (rc)
        return rc;
    check(!sim_set_engine(s, &o->engine), "an engine with %u threads", o->engine.threads);
    if (a)
        rc = accel_attach(a, &spec, sc, s, sink, e);
    if (rc) {
        sim_destroy(s);
        return rc;
    }
    *out = s;
    return 0;
}

const char *engine_why_all(const struct engine_options *o, const struct scenario *sc)
{
    struct accel_spec spec = {.threads = 1};

    accel_resolve(&o->accel, sc, &spec);
    if (!spec.has_steady && !spec.has_memo)
        return NULL;
    if (o->has_logs)
        return "logs need every packet";
    return o->engine.kind == ENGINE_SERIAL ? "the serial engine executes every packet" : NULL;
}

void engine_say_all(const struct engine_options *o, const struct scenario *sc, FILE *err)
{
    const char *why = engine_why_all(o, sc);

    if (why)
        fprintf(err, "wormhole: nothing is skipped or taken from the memo: %s\n", why);
}

void engine_say_serial(const struct engine_options *o, const struct sim *s, FILE *err)
{
    const int is_asked = o->engine.kind == ENGINE_SERIAL;
    struct sim_engine_stats st;

    sim_engine_stats(s, &st);
    if (st.kind != ENGINE_SERIAL)
        return;
    if (is_asked && o->is_threads_given && o->engine.threads > 1)
        fprintf(err, "wormhole: --threads %u had no effect: --engine serial uses one thread\n",
                o->engine.threads);
    else if (!is_asked && (o->is_engine_given || (o->is_threads_given && o->engine.threads > 1)))
        fprintf(err, "wormhole: the serial engine was used, on one thread: logs, and the order of "
                     "ns-3 together with a workload or link events, need it\n");
}
