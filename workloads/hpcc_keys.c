/*
 * hpcc_keys.c - the pairs of an HPCC configuration as values, before they mean anything.
 *
 * The reference reads a configuration as a stream of tokens: a key takes the tokens behind it,
 * wherever lines end, and a token that is no key is skipped. Here that is the same, but a token
 * that is no key is reported, and a key in the place of a value is an error instead of the value.
 * The command line goes through the same reader after the file.
 */
#include "hpcc_int.h"

#include "units.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define UNKNOWN_MAX 32 /* unknown keys that are named; the rest is counted */
#define NAME_BYTES                                                                                 \
    48 /* longer names are cut for messages and for the search of the nearest key                  \
        */

enum key_kind {
    KIND_PATH,
    KIND_UINT,
    KIND_REAL,
    KIND_US,
    KIND_SECONDS,
    KIND_RATE,
    KIND_LINK_DOWN,
    KIND_MAP,
    KIND_UNUSED
};

struct key_def {
    const char *name;
    enum key_kind kind;
    double lo, hi; /* inclusive; for times in ps, for rates in bit/s */
    const char *expected;
};

static const struct key_def keys[HPCC_KEY_COUNT] = {
#define KEY_DEF(name, kind, lo, hi, expected) {#name, KIND_##kind, lo, hi, expected},
    HPCC_KEY_LIST(KEY_DEF)
#undef KEY_DEF
};

/* Monitors that only SimAI has. */
static int is_simai_key(enum hpcc_key key)
{
    return key >= HPCC_KEY_BW_MON_FILE && key <= HPCC_KEY_BW_MON_INTERVAL;
}

/* Keys that are read over. */
static int is_unused(const struct hpcc_values *v, enum hpcc_key key)
{
    return keys[key].kind == KIND_UNUSED || (is_simai_key(key) && v->dialect != HPCC_SIMAI);
}

/* Keys that change nothing, checked or not. */
static int is_without_effect(const struct hpcc_values *v, enum hpcc_key key)
{
    if (is_unused(v, key) || key == HPCC_KEY_PAUSE_TIME)
        return 1;
    if (v->dialect == HPCC_SIMAI &&
        (key == HPCC_KEY_QLEN_MON_START || key == HPCC_KEY_QLEN_MON_END))
        return 1;
    return v->dialect != HPCC_PLAIN && key == HPCC_KEY_FLOW_FILE;
}

struct reader {
    struct textfile t;
    struct hpcc_values *v;
    const struct warn_sink *sink;
    struct err_info *e;
    int is_override;
    char unknown[UNKNOWN_MAX][NAME_BYTES];
    uint32_t unknown_count; /* also counts those beyond UNKNOWN_MAX */
};

const char *hpcc__key_name(enum hpcc_key key)
{
    return keys[key].name;
}

int hpcc__refuse_key(const struct hpcc_values *v, enum hpcc_key key, struct err_info *e,
                     const char *fmt, ...)
{
    const struct hpcc_place *p = &v->place[key];
    char text[512];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return err_set(e, WH_ERR_INPUT, p->is_override ? "command line" : v->path, p->line, "%s: %s",
                   keys[key].name, text);
}

static void set_defaults(struct hpcc_values *v)
{
    static const struct {
        enum hpcc_key key;
        uint64_t value;
    } uints[] = {
        {HPCC_KEY_ENABLE_QCN, 1},
        {HPCC_KEY_USE_DYNAMIC_PFC_THRESHOLD, 1},
        {HPCC_KEY_PFC_ENABLED, 1},
        {HPCC_KEY_PAUSE_TIME, 5},
        {HPCC_KEY_CC_MODE, 1},
        {HPCC_KEY_PACKET_PAYLOAD_SIZE, 1000},
        {HPCC_KEY_HAS_WIN, 1},
        {HPCC_KEY_FAST_RECOVERY_TIMES, 5},
        {HPCC_KEY_GLOBAL_T, 1},
        {HPCC_KEY_FAST_REACT, 1},
        {HPCC_KEY_MI_THRESH, 5},
        {HPCC_KEY_INT_MULTI, 1},
        {HPCC_KEY_MULTI_RATE, 1},
        {HPCC_KEY_RATE_BOUND, 1},
        {HPCC_KEY_ENABLE_TRACE, 1},
        {HPCC_KEY_BUFFER_SIZE, 16},
        {HPCC_KEY_QLEN_MON_START, 2000000000},
        {HPCC_KEY_QLEN_MON_END, 2100000000},
    };

    for (size_t i = 0; i < sizeof uints / sizeof *uints; i++)
        v->value[uints[i].key].uint = uints[i].value;
    v->value[HPCC_KEY_SIMULATOR_STOP_TIME].ps = 3 * PS_PER_S + 10 * PS_PER_MS;
    v->value[HPCC_KEY_ALPHA_RESUME_INTERVAL].ps = 55 * PS_PER_US;
    v->value[HPCC_KEY_RATE_DECREASE_INTERVAL].ps = 4 * PS_PER_US;
    v->value[HPCC_KEY_MIN_RATE].bps = INT64_C(100000000);
    v->value[HPCC_KEY_DCTCP_RATE_AI].bps = INT64_C(1000000000);
    v->value[HPCC_KEY_U_TARGET].real = 0.95;
}

static int no_memory(const struct reader *r)
{
    return err_set(r->e, WH_ERR_NOMEM, r->t.path, 0, "out of memory");
}

static int refuse(struct reader *r, enum hpcc_key key, const char *token, const char *expected)
{
    return textfile_refuse(&r->t, r->e, keys[key].name, token, expected);
}

/* HPCC_KEY_COUNT if @name is no key. */
static enum hpcc_key find_key(const char *name)
{
    int key = 0;

    while (key < HPCC_KEY_COUNT && strcmp(name, keys[key].name))
        key++;
    return (enum hpcc_key)key;
}

/* The next token as part of a value of @key. */
static int next_value(struct reader *r, enum hpcc_key key, char **out)
{
    long line = r->t.line;
    int rc = textfile_next_token(&r->t, out);

    if (rc < 0)
        return no_memory(r);
    if (rc == 0 || find_key(*out) != HPCC_KEY_COUNT)
        return err_set(r->e, WH_ERR_INPUT, r->t.path, line, "found %s without %s, expected %s",
                       keys[key].name, rc ? "a complete value" : "its value", keys[key].expected);
    return 0;
}

static int parse_path(struct reader *r, enum hpcc_key key, const char *token)
{
    if (strlen(token) >= HPCC_PATH_BYTES)
        return refuse(r, key, token, "a file name of less than 512 bytes");
    strcpy(r->v->value[key].path, token);
    return 0;
}

static int parse_uint(struct reader *r, enum hpcc_key key, const char *token)
{
    uint64_t n;

    if (text_uint(token, UINT64_MAX, &n) || (double)n < keys[key].lo || (double)n > keys[key].hi)
        return refuse(r, key, token, keys[key].expected);
    r->v->value[key].uint = n;
    return 0;
}

static int parse_real(struct reader *r, enum hpcc_key key, const char *token, double *out)
{
    double x;

    if (text_real(token, &x) || x < keys[key].lo || x > keys[key].hi)
        return refuse(r, key, token, keys[key].expected);
    *out = x;
    return 0;
}

/* Microseconds or rates: an integer in the range of the key. */
static int check_range(struct reader *r, enum hpcc_key key, const char *token, int rc,
                       int64_t value)
{
    if (rc || (double)value < keys[key].lo || (double)value > keys[key].hi)
        return refuse(r, key, token, keys[key].expected);
    return 0;
}

static int parse_us(struct reader *r, enum hpcc_key key, const char *token)
{
    int64_t ps = 0;
    int rc = units_parse_decimal(token, 6, &ps, NULL);

    rc = check_range(r, key, token, rc, ps);
    if (!rc)
        r->v->value[key].ps = ps;
    return rc;
}

static int parse_rate(struct reader *r, enum hpcc_key key, const char *token)
{
    int64_t bps = 0;
    int rc = units_parse_rate(token, &bps);

    rc = check_range(r, key, token, rc, bps);
    if (!rc)
        r->v->value[key].bps = bps;
    return rc;
}

/* The stop time. What no clock can hold means: until everything is done. */
static int parse_seconds(struct reader *r, enum hpcc_key key, const char *token)
{
    int64_t ps;
    int rc = units_parse_decimal(token, 12, &ps, NULL);

    if (rc == WH_ERR_LIMIT && token[0] != '-') {
        ps = TIME_NEVER;
        rc = 0;
    }
    if (rc || ps < 0)
        return refuse(r, key, token, keys[key].expected);
    r->v->value[key].ps = ps;
    return 0;
}

static int parse_link_down(struct reader *r, enum hpcc_key key, char *token)
{
    struct hpcc_link_down d = {0};
    uint32_t *const nodes[] = {&d.a, &d.b};
    uint64_t n;

    if (text_uint(token, (uint64_t)(INT64_MAX - 2 * PS_PER_S) / (uint64_t)PS_PER_US, &n))
        return refuse(r, key, token, keys[key].expected);
    d.after_ps = (int64_t)n * PS_PER_US;
    for (int i = 0; i < 2; i++) {
        int rc = next_value(r, key, &token);

        if (rc)
            return rc;
        if (text_uint(token, NODE_NONE - 1, &n))
            return refuse(r, key, token, keys[key].expected);
        *nodes[i] = (uint32_t)n;
    }
    r->v->value[key].down = d;
    return 0;
}

/* Adds a pair; the last value of a rate counts, as in the reference. */
static void put_pair(struct hpcc_map *m, int64_t rate_bps, double value)
{
    uint32_t i = 0;

    while (i < m->count && m->rate_bps[i] != rate_bps)
        i++;
    m->rate_bps[i] = rate_bps;
    m->value[i] = value;
    m->count += i == m->count;
}

static int parse_pair(struct reader *r, enum hpcc_key key, struct hpcc_map *m)
{
    char *token;
    uint64_t rate;
    double value;
    int rc = next_value(r, key, &token);

    if (rc)
        return rc;
    if (text_uint(token, INT64_MAX, &rate) || rate == 0)
        return refuse(r, key, token, "a rate in bit/s as a whole number");
    rc = next_value(r, key, &token);
    if (rc)
        return rc;
    rc = parse_real(r, key, token, &value);
    if (rc)
        return rc;
    if (keys[key].hi > 1 && value != (double)(int64_t)value)
        return refuse(r, key, token, "a whole number of KB (1000 bytes)");
    put_pair(m, (int64_t)rate, value);
    return 0;
}

static int parse_map(struct reader *r, enum hpcc_key key, const char *token)
{
    struct hpcc_map m = {0};
    uint64_t count;

    if (text_uint(token, CONFIG_ECN_ROWS_MAX, &count))
        return refuse(r, key, token, "the number of pairs <rate> <value> behind it, at most 16");
    for (uint64_t i = 0; i < count; i++) {
        int rc = parse_pair(r, key, &m);

        if (rc)
            return rc;
    }
    r->v->value[key].map = m;
    return 0;
}

static int parse_value(struct reader *r, enum hpcc_key key, char *token)
{
    if (is_unused(r->v, key))
        return 0;
    switch (keys[key].kind) {
    case KIND_PATH:
        return parse_path(r, key, token);
    case KIND_UINT:
        return parse_uint(r, key, token);
    case KIND_REAL:
        return parse_real(r, key, token, &r->v->value[key].real);
    case KIND_US:
        return parse_us(r, key, token);
    case KIND_SECONDS:
        return parse_seconds(r, key, token);
    case KIND_RATE:
        return parse_rate(r, key, token);
    case KIND_LINK_DOWN:
        return parse_link_down(r, key, token);
    case KIND_MAP:
        return parse_map(r, key, token);
    case KIND_UNUSED:
        break;
    }
    return 0;
}

static int read_key(struct reader *r, enum hpcc_key key)
{
    struct hpcc_place *p = &r->v->place[key];
    long line = r->t.line;
    char *token;
    int rc = next_value(r, key, &token);

    if (!rc)
        rc = parse_value(r, key, token);
    if (rc)
        return rc;
    if (p->is_given && !r->is_override)
        warn(r->sink, "%s:%ld: %s was given in line %ld already; this one counts", r->t.path, line,
             keys[key].name, p->line);
    *p = (struct hpcc_place){.is_given = 1, .is_override = r->is_override != 0, .line = line};
    return 0;
}

static const char *find_nearest(const char *name)
{
    uint32_t best = UINT32_MAX;
    const char *nearest = keys[0].name;

    for (int i = 0; i < HPCC_KEY_COUNT; i++) {
        uint32_t distance = text_distance(name, keys[i].name);

        if (distance < best) {
            best = distance;
            nearest = keys[i].name;
        }
    }
    return nearest;
}

static void warn_unknown(const struct reader *r, const char *name)
{
    char place[32] = "";

    if (r->t.line)
        snprintf(place, sizeof place, "%ld:", r->t.line);
    warn(r->sink, "%s:%s unknown key \"%s\" is ignored; the nearest known key is %s", r->t.path,
         place, name, find_nearest(name));
}

/* One warning for each unknown name, and none for what follows it in its line: that is its value.
 */
static void skip_unknown(struct reader *r, const char *token)
{
    char name[NAME_BYTES] = "";
    uint32_t known = r->unknown_count < UNKNOWN_MAX ? r->unknown_count : UNKNOWN_MAX;
    int is_new = 1;

    strncpy(name, token, sizeof name - 1);
    for (uint32_t i = 0; i < known; i++)
        is_new = is_new && strcmp(r->unknown[i], name);
    if (is_new && r->unknown_count < UNKNOWN_MAX) {
        strcpy(r->unknown[r->unknown_count], name);
        warn_unknown(r, name);
    }
    r->unknown_count += (uint32_t)is_new;
    while (r->t.token_next < r->t.token_count &&
           find_key(r->t.token[r->t.token_next]) == HPCC_KEY_COUNT)
        r->t.token_next++;
}

/* The reference has no comments: it would obey a key that stands in one. */
static void skip_comment(struct reader *r)
{
    for (uint32_t i = r->t.token_next; i < r->t.token_count; i++)
        if (find_key(r->t.token[i]) != HPCC_KEY_COUNT) {
            warn(r->sink,
                 "%s:%ld: the comment is ignored; the HPCC simulator would obey the %s in it",
                 r->t.path, r->t.line, r->t.token[i]);
            break;
        }
    r->t.token_next = r->t.token_count;
}

static int read_pairs(struct reader *r)
{
    char *token;
    int rc;

    while ((rc = textfile_next_token(&r->t, &token)) > 0) {
        enum hpcc_key key = find_key(token);

        if (key != HPCC_KEY_COUNT)
            rc = read_key(r, key);
        else if (token[0] == '#')
            skip_comment(r);
        else
            skip_unknown(r, token);
        if (rc < 0)
            return rc;
    }
    return rc < 0 ? no_memory(r) : 0;
}

static int read_override(struct reader *r, const struct hpcc_override *o)
{
    size_t bytes = strlen(o->key) + strlen(o->value) + 2;
    char *text = malloc(bytes);

    if (!text)
        return WH_ERR_NOMEM;
    snprintf(text, bytes, "%s %s", o->key, o->value);
    r->is_override = 1;
    int rc = textfile_open_text(&r->t, "command line", text);

    free(text);
    rc = rc ? no_memory(r) : read_pairs(r);
    textfile_close(&r->t);
    return rc;
}

static void warn_summary(const struct reader *r)
{
    char list[512] = "";
    size_t used = 0;

    for (int i = 0; i < HPCC_KEY_COUNT; i++)
        if (r->v->place[i].is_given && is_without_effect(r->v, (enum hpcc_key)i) &&
            used + NAME_BYTES < sizeof list)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "",
                                     keys[i].name);
    if (used)
        warn(r->sink, "%s: accepted, no effect: %s", r->v->path, list);
    if (r->unknown_count > UNKNOWN_MAX)
        warn(r->sink, "%s: %u more unknown keys are ignored", r->v->path,
             r->unknown_count - UNKNOWN_MAX);
}

int hpcc__read_keys(const char *path, const struct hpcc_override *overrides,
                    uint32_t override_count, struct hpcc_values *v, const struct warn_sink *sink,
                    struct err_info *e)
{
    struct reader *r = calloc(1, sizeof *r);
    enum hpcc_dialect dialect = v->dialect;

    memset(v, 0, sizeof *v);
    v->dialect = dialect;
    strncpy(v->path, path, sizeof v->path - 1);
    set_defaults(v);
    if (!r)
        return err_set(e, WH_ERR_NOMEM, path, 0, "out of memory");
    r->v = v;
    r->sink = sink;
    r->e = e;
    int rc = textfile_open(&r->t, path, e);

    if (!rc)
        rc = read_pairs(r);
    textfile_close(&r->t);
    for (uint32_t i = 0; !rc && i < override_count; i++)
        rc = read_override(r, &overrides[i]);
    if (!rc)
        warn_summary(r);
    free(r);
    return rc;
}
