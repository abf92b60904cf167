/*
 * astra_system.c - system files of ASTRA-sim: how collectives are cut and done in each logical
 * dimension, and the delays at the ends.
 */
#include "astra.h"

#include "json_file.h"
#include "textfile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NS_MAX 1e15 /* 11 days */

static const char *const impl_keys[ASTRA_COLL_COUNT] = {
    "all-reduce-implementation", "all-gather-implementation", "reduce-scatter-implementation",
    "all-to-all-implementation"};
static const char *const custom_keys[ASTRA_COLL_COUNT] = {
    "all-reduce-implementation-custom", "all-gather-implementation-custom",
    "reduce-scatter-implementation-custom", "all-to-all-implementation-custom"};

static const char *const known_keys[] = {"scheduling-policy",
                                         "endpoint-delay",
                                         "active-chunks-per-dimension",
                                         "preferred-dataset-splits",
                                         "all-reduce-implementation",
                                         "all-gather-implementation",
                                         "reduce-scatter-implementation",
                                         "all-to-all-implementation",
                                         "all-reduce-implementation-custom",
                                         "all-gather-implementation-custom",
                                         "reduce-scatter-implementation-custom",
                                         "all-to-all-implementation-custom",
                                         "collective-optimization",
                                         "local-mem-bw",
                                         "peak-perf",
                                         "roofline-enabled",
                                         "local-reduction-delay",
                                         "L",
                                         "o",
                                         "g",
                                         "G",
                                         NULL};
static const char *const unused_keys[] = {
    "trace-enabled",    "replay-only", "track-local-mem", "local-mem-trace-filename", "boost-mode",
    "model-shared-bus", NULL};

/* One of @names (ends with NULL); keeps *out if the key is missing. */
static int read_word(const struct json_file *f, const char *key, const char *const *names,
                     const char *expected, int *out)
{
    const json_t *value = json_object_get(f->root, key);
    const char *word = json_string_value(value);

    if (!value)
        return 0;
    for (int i = 0; word && names[i]; i++)
        if (!strcmp(word, names[i])) {
            *out = i;
            return 0;
        }
    return json_file_refuse(f, key, value, expected);
}

static int read_count(const struct json_file *f, const char *key, uint32_t *out)
{
    const json_t *value = json_object_get(f->root, key);
    uint64_t count;

    if (!value)
        return 0;
    if (json_file_get_uint(value, 1u << 20, &count) || count == 0)
        return json_file_refuse(f, key, value, "a whole number, 1 to 1048576");
    *out = (uint32_t)count;
    return 0;
}

static int read_real(const struct json_file *f, const char *key, double max, const char *expected,
                     double *out)
{
    const json_t *value = json_object_get(f->root, key);
    double number;

    if (!value)
        return 0;
    if (json_file_get_real(value, &number) || number > max)
        return json_file_refuse(f, key, value, expected);
    *out = number;
    return 0;
}

/* A time in ns, kept in ps. */
static int read_ns(const struct json_file *f, const char *key, double *out_ps)
{
    double ns = *out_ps / 1000;
    int rc = read_real(f, key, NS_MAX, "a number of ns, 0 to 1e15", &ns);

    *out_ps = ns * 1000;
    return rc;
}

/* 0 or 1, or a JSON boolean. */
static int read_flag(const struct json_file *f, const char *key, uint8_t *out)
{
    const json_t *value = json_object_get(f->root, key);
    uint64_t flag;

    if (!value)
        return 0;
    if (json_is_boolean(value))
        flag = json_is_true(value);
    else if (json_file_get_uint(value, 1, &flag))
        return json_file_refuse(f, key, value, "0 or 1");
    *out = (uint8_t)flag;
    return 0;
}

/* The word without "one", whose next letter is then a capital. */
static int match_algo(const char *word, const char *name, int is_one, size_t *out_chars)
{
    size_t chars = strlen(name);
    char first = is_one ? (char)(name[0] - 'a' + 'A') : name[0];

    if (word[0] != first || strncmp(word + 1, name + 1, chars - 1))
        return 0;
    *out_chars = chars;
    return 1;
}

static int parse_algo(const char *word, struct astra_algo *a)
{
    static const char *const names[ASTRA_ALGO_COUNT] = {
#define ALGO_NAME(name, text) text,
        ASTRA_ALGO_LIST(ALGO_NAME)
#undef ALGO_NAME
    };
    int is_one = !strncmp(word, "one", 3);
    uint64_t window = 0;
    size_t chars;

    word += is_one ? 3 : 0;
    for (int k = 0; k < ASTRA_ALGO_COUNT; k++) {
        if (!match_algo(word, names[k], is_one, &chars))
            continue;
        if (word[chars] &&
            (k != ASTRA_ALGO_DIRECT || text_uint(word + chars, UINT32_MAX, &window) || !window))
            return WH_ERR_INPUT;
        *a = (struct astra_algo){
            .kind = (enum astra_algo_kind)k, .is_one = is_one != 0, .window = (uint32_t)window};
        return 0;
    }
    return WH_ERR_INPUT;
}

/* The list at @key, of at most 16 strings; NULL if it is missing. */
static int get_list(const struct json_file *f, const char *key, const json_t **out)
{
    const json_t *list = json_object_get(f->root, key);

    if (list && (!json_is_array(list) || json_array_size(list) == 0 ||
                 json_array_size(list) > ASTRA_DIMS_MAX))
        return json_file_refuse(f, key, list, "a list of 1 to 16 names, one for each dimension");
    *out = list;
    return 0;
}

static int read_impl(const struct json_file *f, const char *key, struct astra_impl *impl)
{
    const json_t *list = NULL;
    int rc = get_list(f, key, &list);

    for (size_t i = 0; !rc && i < json_array_size(list); i++) {
        const json_t *value = json_array_get(list, i);
        const char *word = json_string_value(value);

        if (!word || parse_algo(word, &impl->algo[i]))
            return json_file_refuse(f, key, value,
                                    "ring, direct (with a window behind, as direct4), "
                                    "doubleBinaryTree or halvingDoubling, or oneRing and alike");
        impl->dim_count++;
    }
    return rc;
}

static int read_custom(const struct json_file *f, const char *key, struct astra_impl *impl)
{
    const json_t *list = NULL;
    int rc = get_list(f, key, &list);

    for (size_t i = 0; !rc && i < json_array_size(list); i++) {
        const json_t *value = json_array_get(list, i);
        const char *prefix = json_string_value(value);

        if (!prefix || !*prefix)
            return json_file_refuse(f, key, value, "prefixes of Chakra files");
        impl->custom[i] = strdup(prefix);
        if (!impl->custom[i])
            return err_set(f->e, WH_ERR_NOMEM, f->path, 0, "out of memory");
        impl->custom_count++;
    }
    return rc;
}

static int read_collectives(const struct json_file *f, struct astra_system *s)
{
    static const char *const names[] = {"baseline", "localBWAware", NULL};
    int optimization = 0;
    int rc =
        read_word(f, "collective-optimization", names, "baseline or localBWAware", &optimization);

    s->is_bw_aware = optimization == 1;
    for (int c = 0; !rc && c < ASTRA_COLL_COUNT; c++) {
        rc = read_impl(f, impl_keys[c], &s->impl[c]);
        if (!rc)
            rc = read_custom(f, custom_keys[c], &s->impl[c]);
    }
    return rc;
}

static int read_delays(const struct json_file *f, struct astra_system *s)
{
    double endpoint_ps = 0;
    const struct {
        const char *key;
        double *out;
    } times[] = {{"endpoint-delay", &endpoint_ps},
                 {"local-reduction-delay", &s->local_reduction_ps},
                 {"L", &s->l_ps},
                 {"o", &s->o_ps},
                 {"g", &s->g_ps},
                 {"G", &s->big_g_ps}};
    int rc = 0;

    for (size_t i = 0; !rc && i < sizeof times / sizeof *times; i++)
        rc = read_ns(f, times[i].key, times[i].out);
    s->endpoint_delay_ps = llround(endpoint_ps);
    return rc;
}

static int read_compute(const struct json_file *f, struct astra_system *s)
{
    int rc = read_real(f, "local-mem-bw", 1e9, "a number of GB/s, 0 to 1e9", &s->local_mem_gbps);

    if (!rc)
        rc = read_real(f, "peak-perf", 1e9, "a number of TFLOPS, 0 to 1e9", &s->peak_tflops);
    if (!rc)
        rc = read_flag(f, "roofline-enabled", &s->roofline);
    if (!rc && s->roofline && (s->peak_tflops <= 0 || s->local_mem_gbps <= 0))
        return json_file_refuse(f, "roofline-enabled", json_object_get(f->root, "roofline-enabled"),
                                "peak-perf and local-mem-bw above 0 with it");
    return rc;
}

static int read_system(const struct json_file *f, struct astra_system *s)
{
    static const char *const names[] = {"LIFO", "FIFO", "EXPLICIT", NULL};
    int scheduling = ASTRA_FIFO;
    int rc = read_word(f, "scheduling-policy", names, "LIFO, FIFO or EXPLICIT", &scheduling);

    s->scheduling = (enum astra_scheduling)scheduling;
    s->active_chunks = s->dataset_splits = 1;
    if (!rc)
        rc = read_count(f, "active-chunks-per-dimension", &s->active_chunks);
    if (!rc)
        rc = read_count(f, "preferred-dataset-splits", &s->dataset_splits);
    if (!rc)
        rc = read_delays(f, s);
    if (!rc)
        rc = read_collectives(f, s);
    return rc ? rc : read_compute(f, s);
}

int astra_read_system(const char *path, struct astra_system *out, const struct warn_sink *sink,
                      struct err_info *e)
{
    struct astra_system s = {0};
    struct json_file f;
    int rc = json_file_open(&f, path, e);

    snprintf(s.path, sizeof s.path, "%s", path);
    if (!rc)
        rc = read_system(&f, &s);
    if (!rc)
        json_file_warn_unknown(&f, known_keys, unused_keys, sink);
    json_file_close(&f);
    if (rc)
        astra_system_fini(&s);
    else
        *out = s;
    return rc;
}

void astra_system_fini(struct astra_system *s)
{
    for (int c = 0; c < ASTRA_COLL_COUNT; c++)
        for (uint32_t i = 0; i < s->impl[c].custom_count; i++)
            free(s->impl[c].custom[i]);
    *s = (struct astra_system){0};
}

int astra_check_system(const struct astra_system *s, const struct astra_logical *l,
                       struct err_info *e)
{
    for (int c = 0; c < ASTRA_COLL_COUNT; c++) {
        const struct astra_impl *impl = &s->impl[c];
        int is_one = impl->dim_count == 1 && impl->algo[0].is_one;

        if (impl->dim_count && impl->dim_count != l->dim_count && !is_one)
            return err_set(e, WH_ERR_INPUT, s->path, 0,
                           "%s: found %u names and %u logical dimensions, expected one name for "
                           "each dimension",
                           impl_keys[c], impl->dim_count, l->dim_count);
    }
    return 0;
}
