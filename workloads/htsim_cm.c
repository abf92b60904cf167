/*
 * htsim_cm.c - connection matrices of csg-htsim (.cm). Format: docs/formats_goal_htsim.md.
 *
 * Triggers may be named before they are declared, so connections hold trigger ids while the file is
 * read; they become rows at the end, when all that depends on them is checked.
 */
#include "htsim_int.h"

#include "units.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NODES_MAX (UINT64_C(1) << 31)
#define IDS_MAX (UINT32_MAX - 1)

enum { HEAD_NODES, HEAD_CONNECTIONS, HEAD_TRIGGERS, HEAD_FAILURES, HEAD_COUNT };
static const char *const head_names[HEAD_COUNT] = {"Nodes", "Connections", "Triggers", "Failures"};

/* An id and the row or line that it belongs to. */
struct id_row {
    uint32_t id, row;
};

struct reader {
    struct textfile t;
    const struct warn_sink *sink;
    struct err_info *e;
    struct htsim_cm *cm;
    uint64_t declared[HEAD_COUNT];
    long head_line[HEAD_COUNT]; /* 0: not given */
    size_t conn_cap, trigger_cap, failure_cap;
    int is_body; /* a connection, trigger or failure has been read */
    struct htsim_unknown unknown;
};

static int refuse(struct reader *r, const char *what, const char *token, const char *expected)
{
    return textfile_refuse(&r->t, r->e, what, token, expected);
}

static int no_memory(const struct reader *r)
{
    return err_set(r->e, WH_ERR_NOMEM, r->t.path, 0, "out of memory");
}

/* Room for one row more. */
static int reserve(void **rows, uint32_t count, size_t *cap, size_t row_bytes)
{
    if (count < *cap)
        return 0;
    const size_t want = *cap ? 2 * *cap : 16;
    void *p = count < IDS_MAX ? realloc(*rows, want * row_bytes) : NULL;

    if (!p)
        return WH_ERR_NOMEM;
    *rows = p;
    *cap = want;
    return 0;
}

/* The value behind token @*i; moves @*i onto it. A second one is told by @is_given. */
static int take_value(struct reader *r, uint32_t *i, int is_given, const char *expected,
                      const char **value)
{
    const char *name = r->t.token[*i];

    if (is_given)
        return refuse(r, "a second", name, "each attribute once");
    if (*i + 1 >= r->t.token_count)
        return refuse(r, "no value behind", name, expected);
    *value = r->t.token[++*i];
    return 0;
}

static int take_number(struct reader *r, uint32_t *i, int is_given, uint64_t lo, uint64_t hi,
                       uint64_t *out)
{
    const char *name = r->t.token[*i], *value;
    char expected[80];

    snprintf(expected, sizeof expected, "a number, %" PRIu64 " to %" PRIu64, lo, hi);
    int rc = take_value(r, i, is_given, expected, &value);

    if (rc)
        return rc;
    return text_uint(value, hi, out) || *out < lo ? refuse(r, name, value, expected) : 0;
}

/* An id, which 0 leaves open. */
static int take_id(struct reader *r, uint32_t *i, uint32_t *id)
{
    uint64_t number;
    int rc = take_number(r, i, *id != 0, 1, IDS_MAX, &number);

    if (!rc)
        *id = (uint32_t)number;
    return rc;
}

/* Header. */

static int read_head(struct reader *r)
{
    const char *key = r->t.token[0];
    char expected[64];
    int k = 0;

    if (r->t.token_count > 1 && !strncmp(r->t.token[1], "->", 2))
        return refuse(r, "a blank behind", key, "<src>-><dst> without blanks");
    while (k < HEAD_COUNT && strcmp(key, head_names[k]) != 0)
        k++;
    if (r->is_body)
        return refuse(r, "line", key,
                      k < HEAD_COUNT ? "header lines before the first connection"
                                     : "<src>-><dst>, trigger or failure");
    if (k == HEAD_COUNT) {
        htsim__warn_unknown(&r->unknown, &r->t, head_names, HEAD_COUNT, r->sink);
        return 0;
    }
    const uint64_t lo = k == HEAD_NODES, hi = k == HEAD_NODES ? NODES_MAX : IDS_MAX;

    snprintf(expected, sizeof expected, "a number, %" PRIu64 " to %" PRIu64, lo, hi);
    if (r->head_line[k])
        return refuse(r, "a second", key, "each header line once");
    if (r->t.token_count < 2)
        return refuse(r, "no value behind", key, expected);
    if (text_uint(r->t.token[1], hi, &r->declared[k]) || r->declared[k] < lo)
        return refuse(r, key, r->t.token[1], expected);
    if (r->t.token_count > 2 && r->t.token[2][0] != '#')
        return refuse(r, "text behind the value", r->t.token[2], "the end of the line");
    r->head_line[k] = r->t.line;
    return 0;
}

/* Connections. */

/* "<src>-><dst>", which is cut in two at @arrow. */
static int read_ends(struct reader *r, char *arrow, struct htsim_conn *c)
{
    char *token = r->t.token[0];
    const uint64_t last = r->declared[HEAD_NODES] - 1;
    char expected[64];
    uint64_t src, dst;

    snprintf(expected, sizeof expected, "<src>-><dst> of nodes 0 to %" PRIu64, last);
    *arrow = '\0';
    const int is_bad = text_uint(token, last, &src) || text_uint(arrow + 2, last, &dst);

    *arrow = '-';
    if (is_bad)
        return refuse(r, "connection", token, expected);
    if (src == dst)
        return refuse(r, "connection", token, "two different nodes");
    c->src = (uint32_t)src;
    c->dst = (uint32_t)dst;
    return 0;
}

static int take_start(struct reader *r, uint32_t *i, int64_t *start_ps)
{
    const char *value, *expected = "ps as a decimal number, 0 to 9.2e18";
    int rc = take_value(r, i, *start_ps >= 0, expected, &value);

    if (rc)
        return rc;
    return units_parse_decimal(value, 0, start_ps, NULL) || *start_ps < 0
               ? refuse(r, "start", value, expected)
               : 0;
}

/* The attribute at token @*i. @has_size: a size was given before. */
static int read_attribute(struct reader *r, uint32_t *i, struct htsim_conn *c, int *has_size)
{
    const char *name = r->t.token[*i];
    uint64_t number;
    int rc;

    if (!strcmp(name, "start"))
        return take_start(r, i, &c->start_ps);
    if (!strcmp(name, "id"))
        return take_id(r, i, &c->id);
    if (!strcmp(name, "trigger"))
        return take_id(r, i, &c->trigger);
    if (!strcmp(name, "send_done_trigger"))
        return take_id(r, i, &c->send_done_trigger);
    if (!strcmp(name, "recv_done_trigger"))
        return take_id(r, i, &c->recv_done_trigger);
    if (!strcmp(name, "size")) {
        rc = take_number(r, i, *has_size, 0, INT64_MAX, &number);
        if (!rc)
            c->bytes = (int64_t)number;
        *has_size = 1;
        return rc;
    }
    if (!strcmp(name, "prio")) {
        rc = take_number(r, i, c->prio != HTSIM_NONE, 0, IDS_MAX, &number);
        if (!rc)
            c->prio = (uint32_t)number;
        return rc;
    }
    return refuse(r, "attribute", name,
                  "id, start, trigger, size, send_done_trigger, recv_done_trigger or prio");
}

static int read_conn(struct reader *r, char *arrow)
{
    struct htsim_conn c = {.start_ps = -1, .prio = HTSIM_NONE, .line = r->t.line};
    struct htsim_cm *cm = r->cm;
    void *rows = cm->conns;
    int has_size = 0;

    if (!r->head_line[HEAD_NODES])
        return refuse(r, "connection", r->t.token[0], "a line Nodes <n> before it");
    int rc = read_ends(r, arrow, &c);

    for (uint32_t i = 1; i < r->t.token_count && !rc; i++)
        rc = read_attribute(r, &i, &c, &has_size);
    if (rc)
        return rc;
    if ((c.start_ps >= 0) == (c.trigger != 0))
        return refuse(r, c.trigger ? "start and trigger in connection" : "connection",
                      r->t.token[0], "either start or trigger");
    if (c.trigger && !c.id)
        return refuse(r, "connection", r->t.token[0], "an id, since it waits for a trigger");
    if (reserve(&rows, cm->conn_count, &r->conn_cap, sizeof *cm->conns))
        return no_memory(r);
    cm->conns = rows;
    cm->conns[cm->conn_count++] = c;
    return 0;
}

/* Triggers. */

static int find_kind(const char *word, uint8_t *kind)
{
    static const char *const names[] = {"oneshot", "multishot", "barrier"};

    for (uint8_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(word, names[i])) {
            *kind = i;
            return 1;
        }
    return 0;
}

static int check_trigger(struct reader *r, const struct htsim_trigger *t, int has_kind)
{
    const char *word = r->t.token[0];

    if (!t->id)
        return refuse(r, "line", word, "an id, from 1");
    if (!has_kind)
        return refuse(r, "line", word, "a kind: oneshot, multishot or barrier");
    if (t->kind == HTSIM_BARRIER && !t->count)
        return refuse(r, "line", word, "the count of the barrier, at least 1");
    return 0;
}

static int read_trigger(struct reader *r)
{
    struct htsim_trigger t = {.line = r->t.line};
    struct htsim_cm *cm = r->cm;
    void *rows = cm->triggers;
    uint64_t count = 0;
    int has_kind = 0, has_count = 0, rc = 0;

    for (uint32_t i = 1; i < r->t.token_count && !rc; i++) {
        const char *word = r->t.token[i];

        if (!strcmp(word, "id")) {
            rc = take_id(r, &i, &t.id);
        } else if (!strcmp(word, "count")) {
            rc = take_number(r, &i, has_count, 0, IDS_MAX, &count);
            has_count = 1;
        } else if (!has_kind && find_kind(word, &t.kind)) {
            has_kind = 1;
        } else {
            rc = refuse(r, "attribute", word,
                        "id <k>, one of oneshot, multishot and barrier, or count <m>");
        }
    }
    t.count = t.kind == HTSIM_BARRIER ? (uint32_t)count : 0;
    if (!rc)
        rc = check_trigger(r, &t, has_kind);
    if (rc)
        return rc;
    if (reserve(&rows, cm->trigger_count, &r->trigger_cap, sizeof *cm->triggers))
        return no_memory(r);
    cm->triggers = rows;
    cm->triggers[cm->trigger_count++] = t;
    return 0;
}

/* Failures. */

static int take_switch(struct reader *r, uint32_t *i, int is_given, uint8_t *type)
{
    static const char *const names[] = {"TOR", "AGG", "CORE"};
    const char *value;
    int rc = take_value(r, i, is_given, "TOR, AGG or CORE", &value);

    if (rc)
        return rc;
    for (uint8_t k = 0; k < sizeof names / sizeof *names; k++)
        if (!strcmp(value, names[k])) {
            *type = k;
            return 0;
        }
    return refuse(r, "switch_type", value, "TOR, AGG or CORE");
}

static int read_failure(struct reader *r)
{
    struct htsim_failure f = {.line = r->t.line};
    struct htsim_cm *cm = r->cm;
    void *rows = cm->failures;
    uint64_t switch_id = HTSIM_NONE, link_id = HTSIM_NONE;
    int has_type = 0, rc = 0;

    for (uint32_t i = 1; i < r->t.token_count && !rc; i++) {
        const char *word = r->t.token[i];

        if (!strcmp(word, "switch_type")) {
            rc = take_switch(r, &i, has_type, &f.switch_type);
            has_type = 1;
        } else if (!strcmp(word, "switch_id")) {
            rc = take_number(r, &i, switch_id != HTSIM_NONE, 0, IDS_MAX, &switch_id);
        } else if (!strcmp(word, "link_id")) {
            rc = take_number(r, &i, link_id != HTSIM_NONE, 0, IDS_MAX, &link_id);
        } else {
            rc = refuse(r, "attribute", word, "switch_type, switch_id or link_id");
        }
    }
    if (!rc && (!has_type || switch_id == HTSIM_NONE || link_id == HTSIM_NONE))
        rc = refuse(r, "line", r->t.token[0], "switch_type, switch_id and link_id");
    if (rc)
        return rc;
    f.switch_id = (uint32_t)switch_id;
    f.link_id = (uint32_t)link_id;
    if (reserve(&rows, cm->failure_count, &r->failure_cap, sizeof *cm->failures))
        return no_memory(r);
    cm->failures = rows;
    cm->failures[cm->failure_count++] = f;
    return 0;
}

static int read_line(struct reader *r)
{
    char *word = r->t.token[0];
    char *arrow = strstr(word, "->");

    if (word[0] == '#')
        return 0;
    if (!arrow && strcmp(word, "trigger") != 0 && strcmp(word, "failure") != 0)
        return read_head(r);
    r->is_body = 1;
    return arrow                      ? read_conn(r, arrow)
           : !strcmp(word, "trigger") ? read_trigger(r)
                                      : read_failure(r);
}

/* What all lines together have to satisfy. */

static int check_count(struct reader *r, int head, uint64_t found)
{
    static const char *const names[HEAD_COUNT] = {"nodes", "connections", "triggers", "failures"};

    if (found == r->declared[head])
        return 0;
    return err_set(r->e, WH_ERR_INPUT, r->t.path, r->head_line[head],
                   "found %" PRIu64 " %s in the file, expected %" PRIu64 " as declared%s", found,
                   names[head], r->declared[head],
                   r->head_line[head] ? "" : " (no header line: 0)");
}

static int check_counts(struct reader *r)
{
    if (!r->head_line[HEAD_NODES])
        return err_input(r->e, r->t.path, 0, "no line Nodes", "Nodes <n>");
    if (!r->head_line[HEAD_CONNECTIONS])
        return err_input(r->e, r->t.path, 0, "no line Connections", "Connections <c>");
    int rc = check_count(r, HEAD_CONNECTIONS, r->cm->conn_count);

    if (!rc)
        rc = check_count(r, HEAD_TRIGGERS, r->cm->trigger_count);
    return rc ? rc : check_count(r, HEAD_FAILURES, r->cm->failure_count);
}

static int compare_ids(const void *a, const void *b)
{
    const struct id_row *x = a, *y = b;

    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

/* NULL if no row has the id. */
static const struct id_row *find_id(const struct id_row *rows, uint32_t count, uint32_t id)
{
    uint32_t lo = 0, hi = count;

    while (lo < hi) {
        const uint32_t mid = lo + (hi - lo) / 2;

        if (rows[mid].id < id)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < count && rows[lo].id == id ? &rows[lo] : NULL;
}

static int refuse_twice(struct reader *r, const char *what, uint32_t id, long line, long first)
{
    return err_set(r->e, WH_ERR_INPUT, r->t.path, line,
                   "found %s id %u a second time, expected different ids; the first is in line %ld",
                   what, id, first);
}

static int check_conn_ids(struct reader *r)
{
    const struct htsim_cm *cm = r->cm;
    struct id_row *rows = malloc(((size_t)cm->conn_count + 1) * sizeof *rows);
    uint32_t count = 0;
    int rc = 0;

    if (!rows)
        return no_memory(r);
    for (uint32_t i = 0; i < cm->conn_count; i++)
        if (cm->conns[i].id)
            rows[count++] = (struct id_row){cm->conns[i].id, i};
    qsort(rows, count, sizeof *rows, compare_ids);
    for (uint32_t i = 1; i < count && !rc; i++)
        if (rows[i].id == rows[i - 1].id)
            rc = refuse_twice(r, "connection", rows[i].id, cm->conns[rows[i].row].line,
                              cm->conns[rows[i - 1].row].line);
    free(rows);
    return rc;
}

/* The id becomes the row of the trigger. */
static int resolve_one(struct reader *r, const struct id_row *rows, long line, uint32_t *trigger)
{
    if (!*trigger) {
        *trigger = HTSIM_NONE;
        return 0;
    }
    const struct id_row *found = find_id(rows, r->cm->trigger_count, *trigger);

    if (!found)
        return err_set(r->e, WH_ERR_INPUT, r->t.path, line,
                       "found trigger %u, expected the id of a trigger of the file", *trigger);
    *trigger = found->row;
    return 0;
}

static int resolve_triggers(struct reader *r, const struct id_row *rows)
{
    int rc = 0;

    for (uint32_t i = 0; i < r->cm->conn_count && !rc; i++) {
        struct htsim_conn *c = &r->cm->conns[i];

        rc = resolve_one(r, rows, c->line, &c->trigger);
        if (!rc)
            rc = resolve_one(r, rows, c->line, &c->send_done_trigger);
        if (!rc)
            rc = resolve_one(r, rows, c->line, &c->recv_done_trigger);
    }
    return rc;
}

/* @fired_line: shape [trigger_count], the line of the first connection that fires each; 0: none */
static int fire(struct reader *r, long *fired_line, uint32_t trigger, long line)
{
    if (trigger == HTSIM_NONE)
        return 0;
    if (fired_line[trigger] && r->cm->triggers[trigger].kind == HTSIM_ONESHOT)
        return err_set(r->e, WH_ERR_INPUT, r->t.path, line,
                       "found a second connection that fires oneshot trigger %u, expected one; the "
                       "first is in line %ld",
                       r->cm->triggers[trigger].id, fired_line[trigger]);
    fired_line[trigger] = line;
    return 0;
}

static int check_firings(struct reader *r)
{
    const struct htsim_cm *cm = r->cm;
    long *fired_line = calloc((size_t)cm->trigger_count + 1, sizeof *fired_line);
    int rc = 0;

    if (!fired_line)
        return no_memory(r);
    for (uint32_t i = 0; i < cm->conn_count && !rc; i++) {
        const struct htsim_conn *c = &cm->conns[i];

        rc = fire(r, fired_line, c->send_done_trigger, c->line);
        if (!rc)
            rc = fire(r, fired_line, c->recv_done_trigger, c->line);
    }
    for (uint32_t i = 0; i < cm->trigger_count && !rc; i++)
        if (!fired_line[i])
            warn(r->sink, "%s:%ld: no connection fires trigger %u: what waits for it never starts",
                 r->t.path, cm->triggers[i].line, cm->triggers[i].id);
    free(fired_line);
    return rc;
}

static int check_triggers(struct reader *r)
{
    const struct htsim_cm *cm = r->cm;
    struct id_row *rows = malloc(((size_t)cm->trigger_count + 1) * sizeof *rows);
    int rc = 0;

    if (!rows)
        return no_memory(r);
    for (uint32_t i = 0; i < cm->trigger_count; i++)
        rows[i] = (struct id_row){cm->triggers[i].id, i};
    qsort(rows, cm->trigger_count, sizeof *rows, compare_ids);
    for (uint32_t i = 1; i < cm->trigger_count && !rc; i++)
        if (rows[i].id == rows[i - 1].id)
            rc = refuse_twice(r, "trigger", rows[i].id, cm->triggers[rows[i].row].line,
                              cm->triggers[rows[i - 1].row].line);
    if (!rc)
        rc = resolve_triggers(r, rows);
    free(rows);
    return rc ? rc : check_firings(r);
}

static int read_file(struct reader *r)
{
    int rc;

    while ((rc = textfile_next_line(&r->t)) > 0) {
        rc = read_line(r);
        if (rc)
            return rc;
    }
    if (rc < 0)
        return no_memory(r);
    rc = check_counts(r);
    if (!rc)
        rc = check_conn_ids(r);
    return rc ? rc : check_triggers(r);
}

int htsim_read_cm(const char *path, struct htsim_cm *out, const struct warn_sink *sink,
                  struct err_info *e)
{
    struct htsim_cm cm = {0};
    struct reader r = {.sink = sink, .e = e, .cm = &cm};
    int rc = textfile_open(&r.t, path, e);

    if (!rc)
        rc = read_file(&r);
    textfile_close(&r.t);
    if (rc) {
        htsim_cm_fini(&cm);
        return rc;
    }
    strncpy(cm.path, path, sizeof cm.path - 1);
    cm.node_count = (uint32_t)r.declared[HEAD_NODES];
    cm.node_line = r.head_line[HEAD_NODES];
    *out = cm;
    return 0;
}
