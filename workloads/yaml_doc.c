/*
 * yaml_doc.c - a YAML file as a tree with line numbers: see yaml_doc.h.
 */
#include "yaml_doc_int.h"

#include <stdlib.h>
#include <string.h>

#define SEGMENT_BYTES 128
#define LIST_INDEX_MAX 1000000

yaml_node_t *yaml_doc__node(const struct yaml_doc *d, int id)
{
    return yaml_document_get_node((yaml_document_t *)&d->tree, id);
}

const char *yaml_doc__text(const yaml_node_t *scalar)
{
    return (const char *)scalar->data.scalar.value;
}

/* A scalar with a zero byte inside would be cut short by everything that follows. */
static int check_scalar(const struct yaml_doc *d, const yaml_node_t *n, struct err_info *e)
{
    if (n->type != YAML_SCALAR_NODE || strlen(yaml_doc__text(n)) == n->data.scalar.length)
        return 0;
    return err_input(e, d->path, (long)n->start_mark.line + 1, "a zero byte", "text");
}

/* Each node may hang in one place only: a second one is an alias. */
static int check_single_use(const struct yaml_doc *d, uint8_t *used, int id, struct err_info *e)
{
    const yaml_node_t *n = yaml_doc__node(d, id);

    if (used[id])
        return err_input(e, d->path, (long)n->start_mark.line + 1,
                         "an anchor (this value is used in two places)", "each value written out");
    used[id] = 1;
    return check_scalar(d, n, e);
}

static int check_children(const struct yaml_doc *d, uint8_t *used, const yaml_node_t *n,
                          struct err_info *e)
{
    int rc = 0;

    if (n->type == YAML_SEQUENCE_NODE)
        for (const yaml_node_item_t *i = n->data.sequence.items.start;
             i < n->data.sequence.items.top && rc == 0; i++)
            rc = check_single_use(d, used, *i, e);
    if (n->type == YAML_MAPPING_NODE) {
        for (const yaml_node_pair_t *p = n->data.mapping.pairs.start;
             p < n->data.mapping.pairs.top && rc == 0; p++) {
            rc = check_single_use(d, used, p->key, e);
            if (rc == 0)
                rc = check_single_use(d, used, p->value, e);
        }
    }
    return rc;
}

static int check_tree(const struct yaml_doc *d, struct err_info *e)
{
    uint8_t *used = calloc((size_t)d->file_nodes + 1, 1);
    int rc = 0;

    if (!used)
        return err_set(e, WH_ERR_NOMEM, d->path, 0, "no memory for the file");
    used[1] = 1; /* the root */
    for (int id = 1; id <= d->file_nodes && rc == 0; id++)
        rc = check_children(d, used, yaml_doc__node(d, id), e);
    free(used);
    return rc;
}

static int parser_failed(const yaml_parser_t *p, const char *path, struct err_info *e)
{
    if (p->error == YAML_MEMORY_ERROR)
        return err_set(e, WH_ERR_NOMEM, path, 0, "no memory for the file");
    const char *problem = p->problem ? p->problem : "unreadable text";
    if (p->error == YAML_READER_ERROR)
        return err_set(e, WH_ERR_INPUT, path, 0,
                       "found %s at byte %zu, expected YAML text in UTF-8", problem,
                       p->problem_offset);
    return err_set(e, WH_ERR_INPUT, path, (long)p->problem_mark.line + 1, "no valid YAML: %s%s%s",
                   problem, p->context ? " " : "", p->context ? p->context : "");
}

/* Loads the next document; an empty one at the end of the text has no root. */
static int load_next(yaml_parser_t *p, yaml_document_t *tree, const char *path, struct err_info *e)
{
    return yaml_parser_load(p, tree) ? 0 : parser_failed(p, path, e);
}

static int load_single(yaml_parser_t *p, yaml_document_t *tree, const char *path,
                       struct err_info *e)
{
    yaml_document_t second;
    int rc = load_next(p, tree, path, e);

    if (rc)
        return rc;
    const yaml_node_t *root = yaml_document_get_root_node(tree);
    if (!root) {
        rc = err_input(e, path, 0, "an empty file", "a mapping of settings");
    } else {
        rc = load_next(p, &second, path, e);
        if (rc == 0) {
            const yaml_node_t *more = yaml_document_get_root_node(&second);
            if (more)
                rc = err_input(e, path, (long)more->start_mark.line + 1, "a second document",
                               "one document in the file");
            yaml_document_delete(&second);
        }
    }
    if (rc)
        yaml_document_delete(tree);
    return rc;
}

int yaml_doc_load(struct yaml_doc **out, const char *path, const char *text, size_t text_bytes,
                  struct err_info *e)
{
    yaml_parser_t parser;
    struct yaml_doc *d = calloc(1, sizeof *d);

    if (!d || !yaml_parser_initialize(&parser)) {
        free(d);
        return err_set(e, WH_ERR_NOMEM, path, 0, "no memory for the file");
    }
    d->path = path;
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, text_bytes);
    int rc = load_single(&parser, &d->tree, path, e);
    yaml_parser_delete(&parser);
    if (rc) {
        free(d);
        return rc;
    }
    d->file_nodes = (int)(d->tree.nodes.top - d->tree.nodes.start);
    rc = check_tree(d, e);
    if (rc)
        yaml_doc_destroy(d);
    else
        *out = d;
    return rc;
}

void yaml_doc_destroy(struct yaml_doc *d)
{
    if (!d)
        return;
    yaml_document_delete(&d->tree);
    free(d);
}

/* Cuts the first segment off a dotted path. Returns what is left, NULL at the end. */
static const char *next_segment(const char *dotted, char *segment, size_t segment_bytes)
{
    const size_t len = strcspn(dotted, ".");
    const size_t kept = len < segment_bytes - 1 ? len : segment_bytes - 1;

    memcpy(segment, dotted, kept);
    segment[kept] = '\0';
    return dotted[len] == '.' ? dotted + len + 1 : NULL;
}

static int is_index(const char *segment)
{
    return *segment != '\0' && strspn(segment, "0123456789") == strlen(segment) &&
           strlen(segment) < 8 && atol(segment) < LIST_INDEX_MAX;
}

/* The child of @id called @segment: *slot is where its id stands, *key_id the node that names it.
 */
static int find_child(const struct yaml_doc *d, int id, const char *segment, int **slot,
                      int *key_id)
{
    const yaml_node_t *n = yaml_doc__node(d, id);

    if (n->type == YAML_SEQUENCE_NODE && is_index(segment)) {
        const long index = atol(segment);
        if (index >= n->data.sequence.items.top - n->data.sequence.items.start)
            return 0;
        *slot = n->data.sequence.items.start + index;
        *key_id = **slot;
        return 1;
    }
    if (n->type != YAML_MAPPING_NODE)
        return 0;
    for (yaml_node_pair_t *p = n->data.mapping.pairs.start; p < n->data.mapping.pairs.top; p++) {
        const yaml_node_t *key = yaml_doc__node(d, p->key);
        if (key->type == YAML_SCALAR_NODE && strcmp(yaml_doc__text(key), segment) == 0) {
            *slot = &p->value;
            *key_id = p->key;
            return 1;
        }
    }
    return 0;
}

/* The override that made the value at @dotted: one of the paths begins with the other. The last
 * counts. */
static const struct yaml_override *find_override(const struct yaml_doc *d, const char *dotted)
{
    for (uint32_t i = d->override_count; i-- > 0;) {
        const char *key = d->overrides[i]->key;
        const size_t a = strlen(key), b = strlen(dotted);
        const size_t len = a < b ? a : b;
        if (strncmp(key, dotted, len) == 0 && (a == b || (a < b ? dotted[len] : key[len]) == '.'))
            return d->overrides[i];
    }
    return NULL;
}

void yaml_doc__place(const struct yaml_doc *d, int id, const char *dotted, struct err_info *e)
{
    const struct yaml_override *o = id > d->file_nodes ? find_override(d, dotted) : NULL;

    if (!e)
        return;
    if (o) {
        snprintf(e->file, sizeof e->file, "override %s=%s", o->key, o->value);
        e->line = 0;
    } else {
        snprintf(e->file, sizeof e->file, "%s", d->path);
        e->line = id > d->file_nodes ? 0 : (long)yaml_doc__node(d, id)->start_mark.line + 1;
    }
}

/* Follows @dotted as far as it goes. *line_id is the node to name: the key, or what an override
 * made. Returns 1 if all of the path exists. */
static int follow(const struct yaml_doc *d, const char *dotted, int *line_id)
{
    char segment[SEGMENT_BYTES];
    int id = 1, key_id, *slot;
    const char *rest = dotted;

    *line_id = 1;
    while (rest) {
        rest = next_segment(rest, segment, sizeof segment);
        if (!find_child(d, id, segment, &slot, &key_id))
            return 0;
        id = *slot;
        *line_id = id > d->file_nodes ? id : key_id;
    }
    return 1;
}

void yaml_doc_locate(const struct yaml_doc *d, const char *dotted, struct err_info *e)
{
    int line_id;

    follow(d, dotted, &line_id);
    yaml_doc__place(d, line_id, dotted, e);
}

int yaml_doc_has(const struct yaml_doc *d, const char *dotted)
{
    int line_id;

    return follow(d, dotted, &line_id);
}

/* Copies a tree of another document. Returns the id of the copy, 0 without memory. */
static int copy_node(struct yaml_doc *d, yaml_document_t *from, int id)
{
    const yaml_node_t *n = yaml_document_get_node(from, id);
    int copy = 0, ok = 1;

    if (n->type == YAML_SCALAR_NODE)
        return yaml_document_add_scalar(&d->tree, NULL, n->data.scalar.value,
                                        (int)n->data.scalar.length, YAML_ANY_SCALAR_STYLE);
    if (n->type == YAML_SEQUENCE_NODE) {
        copy = yaml_document_add_sequence(&d->tree, NULL, YAML_ANY_SEQUENCE_STYLE);
        for (const int *i = n->data.sequence.items.start;
             copy && ok && i < n->data.sequence.items.top; i++) {
            const int child = copy_node(d, from, *i);
            ok = child && yaml_document_append_sequence_item(&d->tree, copy, child);
        }
    } else {
        copy = yaml_document_add_mapping(&d->tree, NULL, YAML_ANY_MAPPING_STYLE);
        for (const yaml_node_pair_t *p = n->data.mapping.pairs.start;
             copy && ok && p < n->data.mapping.pairs.top; p++) {
            const int key = copy_node(d, from, p->key);
            const int value = key ? copy_node(d, from, p->value) : 0;
            ok = value && yaml_document_append_mapping_pair(&d->tree, copy, key, value);
        }
    }
    return ok ? copy : 0;
}

/* The value of an override as a node. */
static int add_value(struct yaml_doc *d, const struct yaml_override *o, int *id, struct err_info *e)
{
    struct yaml_doc *value;
    char place[sizeof e->file];

    if (*o->value != '[' && *o->value != '{') {
        *id = yaml_document_add_scalar(&d->tree, NULL, (const unsigned char *)o->value,
                                       (int)strlen(o->value), YAML_ANY_SCALAR_STYLE);
        return *id ? 0 : WH_ERR_NOMEM;
    }
    snprintf(place, sizeof place, "override %s=%s", o->key, o->value);
    const int rc = yaml_doc_load(&value, place, o->value, strlen(o->value), e);
    if (rc)
        return rc;
    *id = copy_node(d, &value->tree, 1);
    yaml_doc_destroy(value);
    return *id ? 0 : WH_ERR_NOMEM;
}

/* Hangs a new child under @parent and returns where its id stands. */
static int add_child(struct yaml_doc *d, int parent, const char *segment, int child)
{
    if (yaml_doc__node(d, parent)->type == YAML_SEQUENCE_NODE)
        return yaml_document_append_sequence_item(&d->tree, parent, child);
    const int key = yaml_document_add_scalar(&d->tree, NULL, (const unsigned char *)segment,
                                             (int)strlen(segment), YAML_ANY_SCALAR_STYLE);
    return key && yaml_document_append_mapping_pair(&d->tree, parent, key, child);
}

/* May @segment be added to node @id? In a list only the entry after the last. */
static int can_add(const struct yaml_doc *d, int id, const char *segment)
{
    const yaml_node_t *n = yaml_doc__node(d, id);

    if (n->type == YAML_SEQUENCE_NODE)
        return is_index(segment) &&
               atol(segment) == n->data.sequence.items.top - n->data.sequence.items.start;
    return n->type == YAML_MAPPING_NODE && *segment != '\0';
}

/* An empty mapping or, if the next segment is an index, list. */
static int add_container(struct yaml_doc *d, const char *rest)
{
    char segment[SEGMENT_BYTES];

    next_segment(rest, segment, sizeof segment);
    return is_index(segment) ? yaml_document_add_sequence(&d->tree, NULL, YAML_ANY_SEQUENCE_STYLE)
                             : yaml_document_add_mapping(&d->tree, NULL, YAML_ANY_MAPPING_STYLE);
}

static int set_path(struct yaml_doc *d, const char *dotted, int value_id, struct err_info *e)
{
    char segment[SEGMENT_BYTES];
    int id = 1, key_id, *slot;
    const char *rest = dotted;

    for (;;) {
        rest = next_segment(rest, segment, sizeof segment);
        if (find_child(d, id, segment, &slot, &key_id)) {
            if (!rest) {
                *slot = value_id;
                return 0;
            }
            id = *slot;
            continue;
        }
        if (!can_add(d, id, segment))
            return err_set(
                e, WH_ERR_INPUT, NULL, 0,
                "override %s: found \"%s\", expected a key of a mapping or the index of a list "
                "entry that exists or is the next",
                dotted, segment);
        const int child = rest ? add_container(d, rest) : value_id;
        if (!child || !add_child(d, id, segment, child))
            return WH_ERR_NOMEM;
        if (!rest)
            return 0;
        id = child;
    }
}

int yaml_doc_override(struct yaml_doc *d, const struct yaml_override *o, struct err_info *e)
{
    int id;

    if (d->override_count == YAML_OVERRIDES_MAX)
        return err_set(e, WH_ERR_LIMIT, NULL, 0, "found more than %d overrides, expected fewer",
                       YAML_OVERRIDES_MAX);
    int rc = add_value(d, o, &id, e);
    if (rc == 0)
        rc = set_path(d, o->key, id, e);
    if (rc == 0)
        d->overrides[d->override_count++] = o;
    if (rc == WH_ERR_NOMEM)
        err_set(e, rc, NULL, 0, "no memory for the overrides");
    return rc;
}

/* A growing text. */
struct sink_text {
    char *text;
    size_t bytes, cap;
};

static int append_text(void *ctx, unsigned char *data, size_t bytes)
{
    struct sink_text *s = ctx;

    if (s->bytes + bytes + 1 > s->cap) {
        const size_t cap = 2 * (s->bytes + bytes + 1);
        char *more = realloc(s->text, cap);
        if (!more)
            return 0;
        s->text = more;
        s->cap = cap;
    }
    memcpy(s->text + s->bytes, data, bytes);
    s->bytes += bytes;
    s->text[s->bytes] = '\0';
    return 1;
}

int yaml_doc_emit(struct yaml_doc *d, char **out, size_t *out_bytes, struct err_info *e)
{
    yaml_emitter_t emitter;
    struct sink_text s = {0};
    int ok;

    if (!yaml_emitter_initialize(&emitter))
        return err_set(e, WH_ERR_NOMEM, d->path, 0, "no memory for the file");
    yaml_emitter_set_output(&emitter, append_text, &s);
    yaml_emitter_set_unicode(&emitter, 1);
    ok = yaml_emitter_open(&emitter) && yaml_emitter_dump(&emitter, &d->tree) &&
         yaml_emitter_close(&emitter);
    yaml_emitter_delete(&emitter);
    memset(&d->tree, 0, sizeof d->tree); /* dump has freed what was in it */
    if (!ok || !s.text) {
        free(s.text);
        return err_set(e, WH_ERR_NOMEM, d->path, 0, "the overrides cannot be applied");
    }
    *out = s.text;
    *out_bytes = s.bytes;
    return 0;
}
