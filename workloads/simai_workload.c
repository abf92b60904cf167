/*
 * simai_workload.c - workload tables of SimAI: a line of keys, a number of layers, one line each.
 *
 * The reference reads tokens, so a short row shifts everything behind it, and it compares prefixes,
 * so a misspelt collective means silence. Both are refused here.
 */
#include "simai.h"

#include "textfile.h"
#include "units.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define RANKS_MAX (UINT64_C(1) << 31)
#define COLUMNS 12

enum { COL_NAME, COL_DEP, COL_PASS, COL_UPDATE = COL_PASS + 3 * SIMAI_PASS_COUNT, COL_POLICY };

enum header_key {
    KEY_TP,
    KEY_EP,
    KEY_PP,
    KEY_VPP,
    KEY_GA,
    KEY_RANKS,
    KEY_PP_COMM,
    KEY_CHECKPOINTS,
    KEY_INITIATES,
    KEY_COUNT
};

/* Without the colon, which writers forget; the first spelling is the usual one. */
static const char *const key_names[KEY_COUNT][2] = {
    [KEY_TP] = {"model_parallel_NPU_group", NULL},
    [KEY_EP] = {"ep", "expert_parallel_npu_group"},
    [KEY_PP] = {"pp", NULL},
    [KEY_VPP] = {"vpp", NULL},
    [KEY_GA] = {"ga", NULL},
    [KEY_RANKS] = {"all_gpus", NULL},
    [KEY_PP_COMM] = {"pp_comm", NULL},
    [KEY_CHECKPOINTS] = {"checkpoints", NULL},
    [KEY_INITIATES] = {"checkpoint_initiates", NULL},
};

/* A list of layer numbers in the header. */
struct layer_list {
    uint64_t *layer; /* owned */
    uint64_t count;
};

struct reader {
    struct textfile t;
    struct simai_workload *w;
    const struct warn_sink *sink;
    struct err_info *e;
    struct layer_list checkpoints, initiates;
    uint8_t is_given[KEY_COUNT];
    long header_line;
};

static int no_memory(const struct reader *r)
{
    return err_set(r->e, WH_ERR_NOMEM, r->t.path, 0, "out of memory");
}

static int refuse(struct reader *r, const char *what, const char *token, const char *expected)
{
    return textfile_refuse(&r->t, r->e, what, token, expected);
}

static enum header_key find_key(const char *token)
{
    size_t chars = strlen(token);

    if (chars && token[chars - 1] == ':')
        chars--;
    for (int k = 0; k < KEY_COUNT; k++)
        for (int i = 0; i < 2 && key_names[k][i]; i++)
            if (strlen(key_names[k][i]) == chars && !strncasecmp(key_names[k][i], token, chars))
                return (enum header_key)k;
    return KEY_COUNT;
}

/* A whole number of the header; real files have "50331648.0" there. */
static int parse_header_number(const char *token, uint64_t max, uint64_t *out)
{
    int64_t value;
    int inexact = 0;

    if (units_parse_decimal(token, 0, &value, &inexact) || inexact || value < 0 ||
        (uint64_t)value > max)
        return WH_ERR_INPUT;
    *out = (uint64_t)value;
    return 0;
}

/* The next token of the header line, which has to be a value of @key. */
static int next_value(struct reader *r, enum header_key key, const char **out)
{
    struct textfile *t = &r->t;

    if (t->token_next >= t->token_count || find_key(t->token[t->token_next]) != KEY_COUNT)
        return refuse(r, "no value behind", key_names[key][0], "a whole number");
    *out = t->token[t->token_next++];
    return 0;
}

static int parse_number(struct reader *r, enum header_key key, uint64_t min, uint64_t max,
                        uint64_t *out)
{
    char what[64], expected[64];
    const char *token;
    int rc = next_value(r, key, &token);

    if (rc)
        return rc;
    if (!parse_header_number(token, max, out) && *out >= min)
        return 0;
    snprintf(what, sizeof what, "%s:", key_names[key][0]);
    snprintf(expected, sizeof expected, "a whole number, %" PRIu64 " to %" PRIu64, min, max);
    return refuse(r, what, token, expected);
}

static int parse_degree(struct reader *r, enum header_key key, uint32_t *out)
{
    uint64_t value;
    int rc = parse_number(r, key, 1, RANKS_MAX, &value);

    if (!rc)
        *out = (uint32_t)value;
    return rc;
}

static int parse_layers(struct reader *r, enum header_key key, struct layer_list *list)
{
    uint64_t count;
    int rc = parse_number(r, key, 0, UINT32_MAX, &count);

    if (rc)
        return rc;
    if (count > r->t.token_count - r->t.token_next)
        return err_set(r->e, WH_ERR_INPUT, r->t.path, r->t.line,
                       "found %s: %" PRIu64 " and %u values behind it, expected as many layer "
                       "numbers as declared",
                       key_names[key][0], count, r->t.token_count - r->t.token_next);
    free(list->layer);
    list->count = 0;
    list->layer = calloc(count + 1, sizeof *list->layer);
    if (!list->layer)
        return no_memory(r);
    for (uint64_t i = 0; i < count; i++) {
        rc = parse_number(r, key, 0, UINT32_MAX, &list->layer[i]);
        if (rc)
            return rc;
    }
    list->count = count;
    return 0;
}

static int parse_key(struct reader *r, enum header_key key)
{
    struct simai_workload *w = r->w;
    uint64_t bytes;
    int rc;

    switch (key) {
    case KEY_TP:
        return parse_degree(r, key, &w->tp);
    case KEY_EP:
        return parse_degree(r, key, &w->ep);
    case KEY_PP:
        return parse_degree(r, key, &w->pp);
    case KEY_VPP:
        return parse_degree(r, key, &w->vpp);
    case KEY_GA:
        return parse_degree(r, key, &w->ga);
    case KEY_RANKS:
        return parse_degree(r, key, &w->rank_count);
    case KEY_CHECKPOINTS:
        return parse_layers(r, key, &r->checkpoints);
    case KEY_INITIATES:
        return parse_layers(r, key, &r->initiates);
    case KEY_PP_COMM:
        rc = parse_number(r, key, 0, INT64_MAX, &bytes);
        if (!rc)
            w->pp_comm_bytes = (int64_t)bytes;
        return rc;
    case KEY_COUNT:
        break;
    }
    return 0;
}

/* A key that is not known, with the values behind it. */
static void skip_unknown(struct reader *r, const char *token)
{
    const char *known[KEY_COUNT + 1] = {0};
    struct textfile *t = &r->t;

    for (int k = 0; k < KEY_COUNT; k++)
        known[k] = key_names[k][0];
    warn(r->sink, "%s:%ld: unknown key \"%.64s\" is ignored; the nearest known key is %s:", t->path,
         t->line, token, text_nearest(token, known));
    while (t->token_next < t->token_count) {
        const char *next = t->token[t->token_next];

        if (find_key(next) != KEY_COUNT || next[strlen(next) - 1] == ':')
            break;
        t->token_next++;
    }
}

/* A number where a key is due means that the values before it were miscounted. */
static int is_number(const char *token)
{
    double ignored;

    return !text_real(token, &ignored);
}

static int parse_keys(struct reader *r)
{
    while (r->t.token_next < r->t.token_count) {
        const char *token = r->t.token[r->t.token_next++];
        enum header_key key = find_key(token);

        if (key == KEY_COUNT && is_number(token))
            return refuse(r, "the number", token, "a key such as all_gpus:");
        if (key == KEY_COUNT) {
            skip_unknown(r, token);
            continue;
        }
        if (r->is_given[key])
            return refuse(r, "a second", token, "each key once");
        r->is_given[key] = 1;
        int rc = parse_key(r, key);

        if (rc)
            return rc;
    }
    return 0;
}

static int parse_policy(struct reader *r, const char *token, enum simai_policy *out)
{
    for (int p = 0; p < SIMAI_POLICY_COUNT; p++)
        if (!strcmp(token, simai_policy_name((enum simai_policy)p))) {
            *out = (enum simai_policy)p;
            return 0;
        }
    return refuse(r, "policy", token,
                  "HYBRID_TRANSFORMER_FWD_IN_BCKWD, MICRO or another policy of SimAI");
}

/* The groups have to split the ranks evenly. */
static int check_degrees(const struct simai_workload *w, long line, struct err_info *e)
{
    uint64_t stage = (uint64_t)w->tp * w->pp;

    if (w->policy == SIMAI_POLICY_MICRO)
        return 0;
    if (stage > w->rank_count || w->rank_count % stage)
        return err_set(e, WH_ERR_INPUT, w->path, line,
                       "found %u ranks with tp %u and pp %u, expected tp x pp to divide the ranks",
                       w->rank_count, w->tp, w->pp);
    if (w->rank_count / stage % w->ep)
        return err_set(e, WH_ERR_INPUT, w->path, line,
                       "found ep %u with %" PRIu64 " data-parallel ranks, expected ep to divide "
                       "them",
                       w->ep, w->rank_count / stage);
    return 0;
}

static int read_header(struct reader *r)
{
    struct simai_workload *w = r->w;
    int rc = textfile_next_line(&r->t);

    if (rc < 0)
        return no_memory(r);
    if (rc == 0)
        return err_input(r->e, r->t.path, 0, "an empty file", "a line that begins with a policy");
    r->header_line = r->t.line;
    rc = parse_policy(r, r->t.token[0], &w->policy);
    r->t.token_next = 1;
    if (!rc)
        rc = parse_keys(r);
    if (rc)
        return rc;
    if (!r->is_given[KEY_TP] && !strncmp(simai_policy_name(w->policy), "HYBRID", 6))
        return err_set(r->e, WH_ERR_INPUT, r->t.path, r->t.line,
                       "found %s without model_parallel_NPU_group:, expected the size of the "
                       "tensor-parallel groups",
                       simai_policy_name(w->policy));
    return w->rank_count ? check_degrees(w, r->t.line, r->e) : 0;
}

static int read_layer_count(struct reader *r)
{
    uint64_t count;
    int rc = textfile_next_line(&r->t);

    if (rc < 0)
        return no_memory(r);
    if (rc == 0)
        return err_input(r->e, r->t.path, r->t.line, "the end of the file",
                         "a line with the number of layers");
    if (r->t.token_count != 1)
        return textfile_refuse_count(&r->t, r->e, r->t.token_count, "columns",
                                     "1: the number of layers");
    if (text_uint(r->t.token[0], INT32_MAX, &count))
        return refuse(r, "number of layers", r->t.token[0], "a whole number");
    uint32_t rows = textfile_lines_left(&r->t);

    if (rows != count)
        return err_set(r->e, WH_ERR_INPUT, r->t.path, r->t.line,
                       "found %" PRIu64 " layers declared and %u lines behind, expected one line "
                       "for each layer",
                       count, rows);
    r->w->layers = calloc(count + 1, sizeof *r->w->layers);
    if (!r->w->layers)
        return no_memory(r);
    r->w->layer_count = (uint32_t)count;
    return 0;
}

/* What the name of a collective says; the scope of a bare name depends on the column. */
static int parse_comm(struct reader *r, const char *what, const char *token, struct simai_pass *p)
{
    static const struct {
        const char *suffix;
        enum simai_scope scope;
    } suffixes[] = {{"_DP_EP", SIMAI_DP_EP}, {"_EP", SIMAI_EP}};
    size_t chars = strlen(token);

    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        size_t suffix_chars = strlen(suffixes[i].suffix);

        if (chars > suffix_chars && !strcmp(token + chars - suffix_chars, suffixes[i].suffix)) {
            chars -= suffix_chars;
            p->scope = suffixes[i].scope;
            break;
        }
    }
    for (int c = 0; c < SIMAI_COMM_COUNT; c++) {
        const char *name = simai_comm_name((enum simai_comm)c);

        if (strlen(name) == chars && !strncmp(name, token, chars)) {
            p->comm = (enum simai_comm)c;
            return 0;
        }
    }
    return refuse(r, what, token,
                  "NONE, ALLREDUCE, ALLGATHER, REDUCESCATTER, ALLTOALL or ALLREDUCEALLTOALL, with "
                  "nothing, _EP or _DP_EP behind");
}

static int parse_int(struct reader *r, const char *what, const char *token, int64_t *out)
{
    uint64_t value;

    if (text_uint(token, INT64_MAX, &value))
        return refuse(r, what, token, "a whole number, not negative");
    *out = (int64_t)value;
    return 0;
}

static enum simai_scope default_scope(const struct reader *r, int pass)
{
    if (r->w->policy == SIMAI_POLICY_MICRO)
        return SIMAI_ALL;
    return pass == SIMAI_WG ? SIMAI_DP : SIMAI_TP;
}

static int parse_pass(struct reader *r, int pass, char **token, struct simai_pass *p)
{
    static const char *const names[SIMAI_PASS_COUNT][3] = {
        {"forward compute ns", "forward collective", "forward bytes"},
        {"input-gradient compute ns", "input-gradient collective", "input-gradient bytes"},
        {"weight-gradient compute ns", "weight-gradient collective", "weight-gradient bytes"},
    };
    int rc = parse_int(r, names[pass][0], token[0], &p->compute_ns);

    p->scope = default_scope(r, pass);
    if (!rc)
        rc = parse_comm(r, names[pass][1], token[1], p);
    if (!rc)
        rc = parse_int(r, names[pass][2], token[2], &p->comm_bytes);
    if (r->w->policy == SIMAI_POLICY_MICRO)
        p->scope = SIMAI_ALL;
    return rc;
}

static int parse_dep(struct reader *r, const char *token, int32_t *out)
{
    uint64_t dep;

    *out = -1;
    if (!strcmp(token, "-1"))
        return 0;
    if (text_uint(token, r->w->layer_count - 1, &dep))
        return refuse(r, "dependency", token, "-1 or the number of a layer, counted from 0");
    *out = (int32_t)dep;
    return 0;
}

static int parse_layer(struct reader *r, struct simai_layer *l)
{
    char **token = r->t.token;
    int rc = parse_dep(r, token[COL_DEP], &l->dep);

    l->line = r->t.line;
    l->policy = r->w->policy;
    for (int p = 0; !rc && p < SIMAI_PASS_COUNT; p++)
        rc = parse_pass(r, p, token + COL_PASS + 3 * p, &l->pass[p]);
    if (!rc)
        rc = parse_int(r, "update ns", token[COL_UPDATE], &l->update_ns);
    if (!rc && r->w->policy == SIMAI_POLICY_HYBRID_CUSTOMIZED)
        rc = parse_policy(r, token[COL_POLICY], &l->policy);
    if (rc)
        return rc;
    l->name = strdup(token[COL_NAME]);
    return l->name ? 0 : no_memory(r);
}

static int read_layers(struct reader *r)
{
    uint32_t columns = COLUMNS + (r->w->policy == SIMAI_POLICY_HYBRID_CUSTOMIZED);
    char expected[96];

    snprintf(expected, sizeof expected,
             "%u: name, dependency, three of ns, collective, bytes, update ns%s", columns,
             columns > COLUMNS ? ", policy" : "");
    for (uint32_t i = 0; i < r->w->layer_count; i++) {
        int rc = textfile_next_line(&r->t);

        if (rc < 0)
            return no_memory(r);
        if (r->t.token_count != columns)
            return textfile_refuse_count(&r->t, r->e, r->t.token_count, "columns", expected);
        rc = parse_layer(r, &r->w->layers[i]);
        if (rc)
            return rc;
    }
    return 0;
}

static int check_list(struct reader *r, enum header_key key, const struct layer_list *list)
{
    for (uint64_t i = 0; i < list->count; i++) {
        if (list->layer[i] >= r->w->layer_count)
            return err_set(r->e, WH_ERR_INPUT, r->t.path, r->header_line,
                           "found layer %" PRIu64 " in %s, expected layers 0 to %d", list->layer[i],
                           key_names[key][0], (int)r->w->layer_count - 1);
        struct simai_layer *l = &r->w->layers[list->layer[i]];

        *(key == KEY_CHECKPOINTS ? &l->is_checkpoint : &l->starts_checkpoint) = 1;
    }
    return 0;
}

static int read_workload(struct reader *r)
{
    int rc = read_header(r);

    if (!rc)
        rc = read_layer_count(r);
    if (!rc)
        rc = read_layers(r);
    if (!rc)
        rc = check_list(r, KEY_CHECKPOINTS, &r->checkpoints);
    if (!rc)
        rc = check_list(r, KEY_INITIATES, &r->initiates);
    return rc;
}

int simai_read_workload(const char *path, struct simai_workload **out, const struct warn_sink *sink,
                        struct err_info *e)
{
    struct reader r = {.sink = sink, .e = e};

    r.w = calloc(1, sizeof *r.w);
    if (!r.w)
        return err_set(e, WH_ERR_NOMEM, path, 0, "out of memory");
    strncpy(r.w->path, path, sizeof r.w->path - 1);
    r.w->tp = r.w->ep = r.w->pp = r.w->vpp = r.w->ga = 1;
    int rc = textfile_open(&r.t, path, e);

    if (!rc)
        rc = read_workload(&r);
    textfile_close(&r.t);
    free(r.checkpoints.layer);
    free(r.initiates.layer);
    if (rc) {
        simai_workload_destroy(r.w);
        return rc;
    }
    *out = r.w;
    return 0;
}

void simai_workload_destroy(struct simai_workload *w)
{
    if (!w)
        return;
    for (uint32_t i = 0; i < w->layer_count; i++)
        free(w->layers[i].name);
    free(w->layers);
    free(w);
}

int simai_workload_fit(struct simai_workload *w, uint32_t gpu_count, struct err_info *e)
{
    uint32_t rank_count = w->rank_count ? w->rank_count : gpu_count;

    if (rank_count > gpu_count)
        return err_set(e, WH_ERR_INPUT, w->path, 1,
                       "found all_gpus: %u and a topology of %u GPUs, expected at most as many "
                       "ranks as GPUs",
                       rank_count, gpu_count);
    struct simai_workload fitted = *w;

    fitted.rank_count = rank_count;
    int rc = check_degrees(&fitted, 1, e);

    if (!rc)
        w->rank_count = rank_count;
    return rc;
}
