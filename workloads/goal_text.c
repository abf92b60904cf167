/*
 * goal_text.c - GOAL schedules in text form. Format: docs/formats_goal_htsim.md.
 *
 * The language is one of characters, not of blank-separated tokens: "a:calc 5" and "8 b to 1" are
 * statements. So the text is read in place by what is expected next, as the reference's scanner
 * does. Names are kept in a hash table of the current rank, its slots holding operation numbers.
 */
#include "goal_int.h"

#include "textfile.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define RANK_CHARS 8   /* of the shortest block: "rank 0{}" */
#define SHOWN_CHARS 24 /* of a text that is refused */
#define EOF_CHAR (-1)

struct edge {
    uint32_t op, waiter;
};

struct edge_list {
    struct edge *row;
    size_t count, cap;
};

struct reader {
    const struct goal_file *f;
    struct textfile at; /* the place for messages only: path and line */
    size_t pos;
    struct goal *g;
    const struct warn_sink *sink;
    struct err_info *e;
    /* the current rank */
    struct goal_rank *rank;
    size_t op_cap, text_bytes, text_cap;
    struct edge_list on_end, on_start;
    uint32_t *slot; /* shape: [slot_count], operation or GOAL_NO_LABEL; slot_count a power of two */
    size_t slot_count, name_count;
};

/* A piece of the text. */
struct span {
    const char *text;
    size_t chars;
};

static int no_memory(const struct reader *r)
{
    return err_set(r->e, WH_ERR_NOMEM, r->at.path, 0, "out of memory");
}

/* Room for one row more. */
static int reserve(void **rows, size_t count, size_t *cap, size_t row_bytes)
{
    if (count < *cap)
        return 0;
    const size_t want = *cap ? 2 * *cap : 16;
    void *p = realloc(*rows, want * row_bytes);

    if (!p)
        return WH_ERR_NOMEM;
    *rows = p;
    *cap = want;
    return 0;
}

/* Scanner. */

static int peek(const struct reader *r)
{
    return r->pos < r->f->bytes ? r->f->data[r->pos] : EOF_CHAR;
}

static int is_letter(int c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static int is_digit(int c)
{
    return c >= '0' && c <= '9';
}

static int is_blank(int c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static void skip_blanks(struct reader *r)
{
    while (is_blank(peek(r)))
        r->pos++;
}

/* Whether @word stands at the current place. */
static int is_at(const struct reader *r, const char *word)
{
    const size_t chars = strlen(word);

    return r->f->bytes - r->pos >= chars && !memcmp(r->f->data + r->pos, word, chars);
}

/* Reads over @word if it comes next. */
static int accept(struct reader *r, const char *word)
{
    skip_blanks(r);
    if (!is_at(r, word))
        return 0;
    r->pos += strlen(word);
    return 1;
}

/* What stands at the current place, up to the next blank or end of line. */
static int refuse_here(struct reader *r, const char *expected)
{
    char shown[SHOWN_CHARS + 1];
    size_t n = 0;

    skip_blanks(r);
    if (peek(r) == EOF_CHAR)
        return err_input(r->e, r->at.path, r->at.line, "the end of the file", expected);
    if (peek(r) == '\n')
        return err_input(r->e, r->at.path, r->at.line, "the end of the line", expected);
    for (size_t i = r->pos; n < SHOWN_CHARS && i < r->f->bytes; i++) {
        const int c = r->f->data[i];

        if (n && (is_blank(c) || c == '\n'))
            break;
        shown[n++] = (char)(c ? c : '?');
    }
    shown[n] = '\0';
    return textfile_refuse(&r->at, r->e, "text", shown, expected);
}

/* From behind the opening of a comment to behind its end. */
static int skip_comment(struct reader *r)
{
    const long line = r->at.line;

    for (; r->pos < r->f->bytes; r->pos++) {
        if (is_at(r, "*/")) {
            r->pos += 2;
            return 0;
        }
        r->at.line += peek(r) == '\n';
    }
    return err_input(r->e, r->at.path, line, "a comment without an end", "*/");
}

/* Blanks and comments; of line ends those in block comments, and others if @over_lines. */
static int skip_space(struct reader *r, int over_lines)
{
    for (int rc;;) {
        skip_blanks(r);
        if (peek(r) == '\n' && over_lines) {
            r->at.line++;
            r->pos++;
        } else if (is_at(r, "//")) {
            while (peek(r) != '\n' && peek(r) != EOF_CHAR)
                r->pos++;
        } else if (is_at(r, "/*")) {
            r->pos += 2;
            rc = skip_comment(r);
            if (rc)
                return rc;
        } else {
            return 0;
        }
    }
}

/* The end of a statement; a comment may come before. */
static int expect_line_end(struct reader *r, const char *expected)
{
    int rc = skip_space(r, 0);

    if (rc)
        return rc;
    return peek(r) == '\n' || peek(r) == EOF_CHAR ? 0 : refuse_here(r, expected);
}

static struct span read_name(struct reader *r)
{
    skip_blanks(r);
    struct span s = {(const char *)r->f->data + r->pos, 0};

    if (!is_letter(peek(r)))
        return s;
    while (is_letter(peek(r)) || is_digit(peek(r)) || peek(r) == '_') {
        r->pos++;
        s.chars++;
    }
    return s;
}

static int is_word(struct span s, const char *word)
{
    return s.chars == strlen(word) && !memcmp(s.text, word, s.chars);
}

static int read_number(struct reader *r, const char *what, uint64_t max, uint64_t *out)
{
    char digits[SHOWN_CHARS + 1], expected[80];
    size_t n = 0;

    snprintf(expected, sizeof expected, "%.40s, 0 to %" PRIu64, what, max);
    skip_blanks(r);
    if (!is_digit(peek(r)))
        return refuse_here(r, expected);
    const size_t start = r->pos;

    for (; is_digit(peek(r)); r->pos++)
        if (n < SHOWN_CHARS && (n || peek(r) != '0')) /* leading zeros do not count */
            digits[n++] = (char)peek(r);
    if (!n)
        digits[n++] = '0';
    digits[n] = '\0';
    if (!text_uint(digits, max, out))
        return 0;
    r->pos = start;
    return refuse_here(r, expected);
}

/* Names. */

static uint64_t hash_name(struct span s)
{
    uint64_t h = UINT64_C(1469598103934665603); /* FNV-1a */

    for (size_t i = 0; i < s.chars; i++)
        h = (h ^ (unsigned char)s.text[i]) * UINT64_C(1099511628211);
    return h ^ h >> 32;
}

static const char *name_of(const struct reader *r, uint32_t op)
{
    return r->rank->label_text + r->rank->label_at[op];
}

/* The slot of the name, or the empty one where it belongs. */
static size_t find_slot(const struct reader *r, struct span s)
{
    size_t i = hash_name(s) & (r->slot_count - 1);

    while (r->slot[i] != GOAL_NO_LABEL && !is_word(s, name_of(r, r->slot[i])))
        i = (i + 1) & (r->slot_count - 1);
    return i;
}

/* Keeps the table at most half full. */
static int grow_slots(struct reader *r)
{
    if (2 * (r->name_count + 1) <= r->slot_count)
        return 0;
    const size_t old_count = r->slot_count, count = old_count ? 2 * old_count : 64;
    uint32_t *old = r->slot, *slot = malloc(count * sizeof *slot);

    if (!slot)
        return WH_ERR_NOMEM;
    for (size_t i = 0; i < count; i++)
        slot[i] = GOAL_NO_LABEL;
    r->slot = slot;
    r->slot_count = count;
    for (size_t i = 0; i < old_count; i++) {
        if (old[i] == GOAL_NO_LABEL)
            continue;
        const char *name = name_of(r, old[i]);

        slot[find_slot(r, (struct span){name, strlen(name)})] = old[i];
    }
    free(old);
    return 0;
}

/* Names the operation that comes next. */
static int add_name(struct reader *r, struct span s)
{
    static const char *const keywords[] = {"send", "recv", "calc", "rank", "num_ranks"};
    struct goal_rank *k = r->rank;

    if (grow_slots(r))
        return no_memory(r);
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
        if (is_word(s, keywords[i]))
            return textfile_refuse(&r->at, r->e, "label", keywords[i], "a name that is no keyword");
    const size_t i = find_slot(r, s);

    if (r->slot[i] != GOAL_NO_LABEL)
        return textfile_refuse(&r->at, r->e, "label", name_of(r, r->slot[i]),
                               "each label once in a rank");
    while (r->text_bytes + s.chars + 1 > r->text_cap) {
        void *text = k->label_text;

        if (r->text_cap >= UINT32_MAX / 2 || reserve(&text, r->text_cap, &r->text_cap, 1))
            return no_memory(r);
        k->label_text = text;
    }
    memcpy(k->label_text + r->text_bytes, s.text, s.chars);
    k->label_text[r->text_bytes + s.chars] = '\0';
    k->label_at[k->op_count] = (uint32_t)r->text_bytes;
    r->text_bytes += s.chars + 1;
    r->slot[i] = k->op_count;
    r->name_count++;
    return 0;
}

static int find_name(struct reader *r, struct span s, uint32_t *op)
{
    char shown[64];

    if (r->slot_count) {
        *op = r->slot[find_slot(r, s)];
        if (*op != GOAL_NO_LABEL)
            return 0;
    }
    snprintf(shown, sizeof shown, "%.*s", (int)(s.chars < 60 ? s.chars : 60), s.text);
    return textfile_refuse(&r->at, r->e, "label", shown,
                           "a label defined before in the block of this rank");
}

/* Statements. */

/* The rank that a message goes to or comes from. */
static int read_peer(struct reader *r, struct goal_op *op)
{
    uint64_t peer;
    int rc;

    if (op->kind == GOAL_RECV && accept(r, "-1")) {
        op->peer = GOAL_ANY;
        return 0;
    }
    rc = read_number(r, op->kind == GOAL_RECV ? "a rank (or -1 for any)" : "a rank",
                     r->g->rank_count - 1, &peer);
    op->peer = (uint32_t)peer;
    return rc;
}

static int read_tag(struct reader *r, struct goal_op *op)
{
    uint64_t tag = GOAL_ANY;
    int rc = accept(r, "-1") ? 0 : read_number(r, "a tag (or -1 for any)", GOAL_ANY - 1, &tag);

    op->tag = (uint32_t)tag;
    return rc;
}

static int read_small(struct reader *r, const char *what, uint8_t *out)
{
    uint64_t value;
    int rc = read_number(r, what, UINT8_MAX, &value);

    if (!rc)
        *out = (uint8_t)value;
    return rc;
}

/* "<bytes>b to <rank> [tag <t>] [cpu <c>] [nic <i>]" */
static int read_message(struct reader *r, struct goal_op *op)
{
    const char *word = op->kind == GOAL_SEND ? "to" : "from";
    const char *end = "tag, cpu, nic (in that order) or the end of the line";
    int rc = read_number(r, "bytes", UINT64_MAX, &op->amount);

    if (rc)
        return rc;
    if (!accept(r, "b"))
        return refuse_here(r, "b behind the number of bytes");
    if (!accept(r, word))
        return refuse_here(r, op->kind == GOAL_SEND ? "to <rank>" : "from <rank>");
    rc = read_peer(r, op);
    if (!rc && accept(r, "tag")) {
        rc = read_tag(r, op);
        end = "cpu, nic (in that order) or the end of the line";
    }
    if (!rc && accept(r, "cpu")) {
        rc = read_small(r, "a cpu", &op->cpu);
        end = "nic or the end of the line";
    }
    if (!rc && accept(r, "nic")) {
        rc = read_small(r, "a nic", &op->nic);
        end = "the end of the line";
    }
    return rc ? rc : expect_line_end(r, end);
}

/* "<ns> [cpu <c>]" */
static int read_calc(struct reader *r, struct goal_op *op)
{
    const char *end = "cpu or the end of the line";
    int rc = read_number(r, "ns", UINT64_MAX, &op->amount);

    if (!rc && accept(r, "cpu")) {
        rc = read_small(r, "a cpu", &op->cpu);
        end = "the end of the line";
    }
    return rc ? rc : expect_line_end(r, end);
}

static int reserve_op(struct reader *r)
{
    struct goal_rank *k = r->rank;
    void *ops = k->ops, *labels = k->label_at;
    size_t op_cap = r->op_cap, label_cap = r->op_cap;

    if (k->op_count == GOAL_NO_LABEL - 1)
        return WH_ERR_LIMIT;
    if (reserve(&ops, k->op_count, &op_cap, sizeof *k->ops))
        return WH_ERR_NOMEM;
    k->ops = ops;
    if (reserve(&labels, k->op_count, &label_cap, sizeof *k->label_at))
        return WH_ERR_NOMEM;
    k->label_at = labels;
    r->op_cap = op_cap;
    k->label_at[k->op_count] = GOAL_NO_LABEL;
    return 0;
}

static int kind_of(struct span word)
{
    return is_word(word, "send")   ? GOAL_SEND
           : is_word(word, "recv") ? GOAL_RECV
           : is_word(word, "calc") ? GOAL_CALC
                                   : 0;
}

static int add_op(struct reader *r, int kind)
{
    struct goal_op *op = &r->rank->ops[r->rank->op_count];

    *op = (struct goal_op){.kind = (uint8_t)kind};
    int rc = kind == GOAL_CALC ? read_calc(r, op) : read_message(r, op);

    if (!rc)
        r->rank->op_count++;
    return rc;
}

/* "requires <label>" or "irequires <label>", behind the label @s */
static int add_edge(struct reader *r, struct span s, struct edge_list *list)
{
    void *rows = list->row;
    uint32_t op, waiter;
    int rc = find_name(r, s, &waiter);

    if (rc)
        return rc;
    struct span other = read_name(r);

    if (!other.chars)
        return refuse_here(r, "a label");
    rc = find_name(r, other, &op);
    if (!rc && op == waiter)
        rc = textfile_refuse(&r->at, r->e, "label", name_of(r, op), "two different operations");
    if (!rc)
        rc = expect_line_end(r, "the end of the line");
    if (rc)
        return rc;
    if (reserve(&rows, list->count, &list->cap, sizeof *list->row))
        return no_memory(r);
    list->row = rows;
    list->row[list->count++] = (struct edge){op, waiter};
    return list->count < UINT32_MAX ? 0
                                    : err_set(r->e, WH_ERR_LIMIT, r->at.path, r->at.line,
                                              "found 2^32 dependencies in a rank, expected fewer");
}

/* A statement that begins with @s. */
static int read_statement(struct reader *r, struct span s)
{
    int kind = kind_of(s);
    int rc = reserve_op(r);

    if (rc)
        return rc == WH_ERR_NOMEM ? no_memory(r)
                                  : err_set(r->e, rc, r->at.path, r->at.line,
                                            "found 2^32 operations in a rank, expected fewer");
    if (kind)
        return add_op(r, kind);
    if (accept(r, "requires"))
        return add_edge(r, s, &r->on_end);
    if (accept(r, "irequires"))
        return add_edge(r, s, &r->on_start);
    if (!accept(r, ":"))
        return refuse_here(r, "\":\", requires or irequires behind a label");
    rc = add_name(r, s);
    if (rc)
        return rc;
    kind = accept(r, "send")   ? GOAL_SEND
           : accept(r, "recv") ? GOAL_RECV
           : accept(r, "calc") ? GOAL_CALC
                               : 0;
    return kind ? add_op(r, kind) : refuse_here(r, "send, recv or calc");
}

/* Groups the pairs by the operation that is waited for; the order of the file stays. */
static int group_edges(const struct edge_list *list, uint32_t op_count, struct goal_edges *out)
{
    out->first = calloc((size_t)op_count + 1, sizeof *out->first);
    out->waiter = malloc((list->count + 1) * sizeof *out->waiter);
    if (!out->first || !out->waiter)
        return WH_ERR_NOMEM;
    for (size_t i = 0; i < list->count; i++)
        out->first[list->row[i].op + 1]++;
    for (uint32_t i = 0; i < op_count; i++)
        out->first[i + 1] += out->first[i];
    /* first[i] moves from the beginning of the group to its end, which is the next one's beginning
     */
    for (size_t i = 0; i < list->count; i++)
        out->waiter[out->first[list->row[i].op]++] = list->row[i].waiter;
    memmove(out->first + 1, out->first, op_count * sizeof *out->first);
    out->first[0] = 0;
    return 0;
}

static int begin_rank(struct reader *r, uint32_t rank)
{
    r->rank = &r->g->ranks[rank];
    r->op_cap = r->text_bytes = r->text_cap = 0;
    r->on_end.count = r->on_start.count = 0;
    free(r->slot); /* sized by the names of a rank: emptying a large one for each would cost more */
    r->slot = NULL;
    r->slot_count = r->name_count = 0;
    return 0;
}

static int end_rank(struct reader *r)
{
    struct goal_rank *k = r->rank;

    if (group_edges(&r->on_end, k->op_count, &k->on_end) ||
        group_edges(&r->on_start, k->op_count, &k->on_start))
        return no_memory(r);
    r->rank = NULL;
    return 0;
}

/* "rank <r> {" */
static int read_rank_head(struct reader *r, uint32_t rank)
{
    char expected[80];
    uint64_t found;

    snprintf(expected, sizeof expected, "rank %u: blocks of ranks 0 to %u, ascending", rank,
             r->g->rank_count - 1);
    skip_blanks(r);
    const size_t start = r->pos;
    int rc = read_number(r, "a rank", r->g->rank_count - 1, &found);

    if (rc)
        return rc;
    if (found != rank) {
        r->pos = start;
        return refuse_here(r, expected);
    }
    if (!accept(r, "{"))
        return refuse_here(r, "{");
    return begin_rank(r, rank);
}

/* The statements of a block and its end. */
static int read_block(struct reader *r, uint32_t rank)
{
    for (int rc;;) {
        rc = skip_space(r, 1);
        if (rc)
            return rc;
        if (accept(r, "}"))
            return end_rank(r);
        struct span s = read_name(r);

        if (is_word(s, "rank") || is_word(s, "num_ranks") || (!s.chars && peek(r) == EOF_CHAR))
            return err_set(r->e, WH_ERR_INPUT, r->at.path, r->at.line,
                           "found %s in the block of rank %u, expected its }",
                           s.chars ? "a new block" : "the end of the file", rank);
        if (!s.chars)
            return refuse_here(r, "send, recv, calc, a label or }");
        rc = read_statement(r, s);
        if (rc)
            return rc;
    }
}

/* "num_ranks <n>" */
static int read_head(struct reader *r)
{
    uint64_t count;
    int rc = skip_space(r, 1);

    if (rc)
        return rc;
    if (!accept(r, "num_ranks"))
        return refuse_here(r, "num_ranks <n> first");
    rc = read_number(r, "a number of ranks", UINT32_MAX - 1, &count);
    if (rc)
        return rc;
    if (count == 0)
        return err_input(r->e, r->at.path, r->at.line, "0 ranks", "at least 1");
    if (count > r->f->bytes / RANK_CHARS)
        return err_set(r->e, WH_ERR_INPUT, r->at.path, r->at.line,
                       "found a file of %zu bytes, expected the blocks of %" PRIu64
                       " ranks as declared",
                       r->f->bytes, count);
    r->g = goal__create(r->f->path, (uint32_t)count);
    return r->g ? 0 : no_memory(r);
}

static int read_ranks(struct reader *r)
{
    for (uint32_t rank = 0; rank < r->g->rank_count; rank++) {
        int rc = skip_space(r, 1);

        if (!rc && !is_at(r, "rank"))
            rc = peek(r) == EOF_CHAR
                     ? err_set(r->e, WH_ERR_INPUT, r->at.path, r->at.line,
                               "found the blocks of %u ranks, expected %u as declared", rank,
                               r->g->rank_count)
                     : refuse_here(r, "rank <r> {");
        if (!rc) {
            r->pos += strlen("rank");
            rc = read_rank_head(r, rank);
        }
        if (!rc)
            rc = read_block(r, rank);
        if (rc)
            return rc;
    }
    return 0;
}

/* The reference stops behind the last block, so a rest is no error, whatever it holds. */
static void warn_rest(struct reader *r)
{
    while (is_blank(peek(r)) || peek(r) == '\n') {
        r->at.line += peek(r) == '\n';
        r->pos++;
    }
    if (peek(r) != EOF_CHAR && !is_at(r, "//") && !is_at(r, "/*"))
        warn(r->sink, "%s:%ld: text behind the block of the last rank is ignored", r->at.path,
             r->at.line);
}

int goal__read_text(const struct goal_file *f, struct goal **out, const struct warn_sink *sink,
                    struct err_info *e)
{
    struct reader r = {.f = f, .sink = sink, .e = e, .at.line = 1};

    strncpy(r.at.path, f->path, sizeof r.at.path - 1);
    int rc = read_head(&r);

    if (!rc)
        rc = read_ranks(&r);
    if (!rc)
        warn_rest(&r);
    free(r.on_end.row);
    free(r.on_start.row);
    free(r.slot);
    if (rc) {
        goal_destroy(r.g);
        return rc;
    }
    *out = r.g;
    return 0;
}
