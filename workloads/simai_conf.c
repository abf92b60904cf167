/*
 * simai_conf.c - configurations of SimAI: keys of HPCC (hpcc_config.c) with monitors of their own,
 * and outputs in a system folder that most users cannot write.
 */
#include "simai.h"

#include "hpcc_int.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct outputs {
    const struct simai_conf_options *options;
    const struct hpcc_values *v;
    struct err_info *e;
};

static const char *find_basename(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* Replaces the folder of @path. */
static int redirect(const struct outputs *o, enum hpcc_key key, char *path, size_t path_bytes)
{
    char moved[512];
    int chars = snprintf(moved, sizeof moved, "%s/%s", o->options->output_dir, find_basename(path));

    if (chars < 0 || (size_t)chars >= path_bytes || (size_t)chars >= sizeof moved)
        return hpcc__refuse_key(o->v, key, o->e,
                                "found a file name of %d bytes in the output folder, expected less "
                                "than %zu",
                                chars, path_bytes);
    strcpy(path, moved);
    return 0;
}

static int check_folder(const struct outputs *o, enum hpcc_key key, const char *path)
{
    const char *name = find_basename(path);
    char folder[512] = ".";
    struct stat st;

    if (name > path)
        snprintf(folder, sizeof folder, "%.*s", (int)(name - path), path);
    int reason = stat(folder, &st) ? errno : !S_ISDIR(st.st_mode) ? ENOTDIR : 0;

    if (!reason && access(folder, W_OK))
        reason = errno;
    if (!reason && !*name)
        reason = EISDIR;
    if (reason)
        return hpcc__refuse_key(o->v, key, o->e,
                                "found \"%s\", which cannot be written (%s), expected a file in a "
                                "folder that can, or an output folder on the command line",
                                path, strerror(reason));
    return 0;
}

static int place(const struct outputs *o, enum hpcc_key key, char *path, size_t path_bytes)
{
    int rc = 0;

    if (!path[0])
        return 0;
    if (o->options->output_dir)
        rc = redirect(o, key, path, path_bytes);
    return rc ? rc : check_folder(o, key, path);
}

static int place_all(const struct outputs *o, struct scenario *sc)
{
    static const enum hpcc_key keys[LOG_KIND_COUNT] = {
        [LOG_QUEUE] = HPCC_KEY_QLEN_MON_FILE,     [LOG_PFC] = HPCC_KEY_PFC_OUTPUT_FILE,
        [LOG_RATE] = HPCC_KEY_RATE_MON_FILE,      [LOG_PACKET] = HPCC_KEY_TRACE_OUTPUT_FILE,
        [LOG_QLEN_HPCC] = HPCC_KEY_QLEN_MON_FILE, [LOG_LINK] = HPCC_KEY_BW_MON_FILE};
    int rc = place(o, HPCC_KEY_FCT_OUTPUT_FILE, sc->fct_path, sizeof sc->fct_path);

    for (int i = 0; !rc && i < LOG_KIND_COUNT; i++)
        rc = place(o, keys[i], sc->logs[i].path, sizeof sc->logs[i].path);
    return rc;
}

int simai_read_conf(const char *path, const struct simai_conf_options *options, struct scenario *sc,
                    const struct warn_sink *sink, struct err_info *e)
{
    struct hpcc_values v = {.dialect = HPCC_SIMAI};
    const struct outputs o = {.options = options, .v = &v, .e = e};

    check(sc->topo, "a SimAI configuration needs a topology, found %p", (void *)sc->topo);
    int rc = hpcc__load_conf(path, options->overrides, options->override_count, &v, sc, sink, e);

    return rc ? rc : place_all(&o, sc);
}
