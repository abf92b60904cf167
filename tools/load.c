/*
 * load.c - see load.h.
 */
#include "load.h"

#include "cmd.h"
#include "hpcc.h"
#include "scenario_yaml.h"

static int load_hpcc(const struct input_options *o, struct scenario *sc,
                     const struct warn_sink *sink, struct err_info *e)
{
    struct hpcc_override sets[OPTIONS_SETS_MAX];

    for (uint32_t i = 0; i < o->set_count; i++)
        sets[i] = (struct hpcc_override){o->sets[i].key, o->sets[i].value};
    return hpcc_load(o->hpcc, o->paths_file, sets, o->set_count, sc, sink, e);
}

/* The seed goes in as an override, since generated flows depend on it. */
static int load_yaml(const struct input_options *o, struct scenario *sc,
                     const struct warn_sink *sink, struct err_info *e)
{
    struct yaml_override sets[OPTIONS_SETS_MAX + 1];
    uint32_t count = o->set_count;

    for (uint32_t i = 0; i < count; i++)
        sets[i] = (struct yaml_override){o->sets[i].key, o->sets[i].value};
    if (o->seed_text)
        sets[count++] = (struct yaml_override){"seed", o->seed_text};
    return scenario_load_yaml(o->scenario, sets, count, sc, sink, e);
}

int load_scenario(const struct input_options *o, struct scenario *sc, const struct warn_sink *sink,
                  struct err_info *e)
{
    const int rc = o->hpcc ? load_hpcc(o, sc, sink, e) : load_yaml(o, sc, sink, e);

    if (rc)
        return rc;
    if (o->seed_text)
        sc->cfg.seed = o->seed;
    if (o->end_ps >= 0)
        sc->cfg.end_ps = o->end_ps;
    return config_check(&sc->cfg, e);
}

void load_warning(void *ctx, const char *text)
{
    fprintf(ctx, "wormhole: warning: %s\n", text);
}

int load_exit_code(int rc, const struct err_info *e, FILE *err)
{
    char text[1600];

    if (e->text[0])
        fprintf(err, "wormhole: %s\n", err_format(e, text, sizeof text));
    else
        fprintf(err, "wormhole: %s\n", err_text(rc));
    return rc == WH_ERR_NOMEM ? EXIT_RUN_FAILED : EXIT_BAD_INPUT;
}
