/*
 * yaml_check.c - compares a YAML document with a libcyaml schema, to say where it does not fit.
 *
 * libcyaml would refuse the same documents, but with a log of several lines and without the nearest
 * key.
 */
#include "textfile.h"
#include "yaml_doc_int.h"

#include <string.h>

#define DOTTED_BYTES 512
#define KEY_CHARS_MAX 48

struct checker {
    const struct yaml_doc *d;
    struct err_info *e;
    char dotted[DOTTED_BYTES]; /* path of the node being looked at */
};

static int check_value(struct checker *c, int id, int line_id, const cyaml_schema_value_t *s);

static const char *nearest_key(const cyaml_schema_field_t *fields, const char *key)
{
    const char *best = "";
    uint32_t best_distance = UINT32_MAX;

    for (const cyaml_schema_field_t *f = fields; f->key; f++) {
        const uint32_t distance = text_distance(f->key, key);
        if (distance < best_distance) {
            best_distance = distance;
            best = f->key;
        }
    }
    return best;
}

/* Appends a segment to the path; returns the length to go back to. */
static size_t descend(struct checker *c, const char *segment)
{
    const size_t len = strlen(c->dotted);

    snprintf(c->dotted + len, sizeof c->dotted - len, "%s%.*s", len ? "." : "", KEY_CHARS_MAX,
             segment);
    return len;
}

static const char *where(const struct checker *c)
{
    return c->dotted[0] ? c->dotted : "the file";
}

static int unknown_key(struct checker *c, int key_id, int value_id, const char *key,
                       const cyaml_schema_field_t *fields)
{
    char in[DOTTED_BYTES + 8] = "";

    if (c->dotted[0])
        snprintf(in, sizeof in, " in %s", c->dotted);
    err_set(c->e, WH_ERR_INPUT, NULL, 0,
            "found the unknown key \"%.*s\"%s, expected a known one; the nearest is \"%s\"",
            KEY_CHARS_MAX, key, in, nearest_key(fields, key));
    descend(c, key);
    yaml_doc__place(c->d, value_id > c->d->file_nodes ? value_id : key_id, c->dotted, c->e);
    return WH_ERR_INPUT;
}

static const cyaml_schema_field_t *find_field(const cyaml_schema_field_t *fields, const char *key)
{
    for (const cyaml_schema_field_t *f = fields; f->key; f++)
        if (strcmp(f->key, key) == 0)
            return f;
    return NULL;
}

static int is_repeated(const struct checker *c, const yaml_node_t *mapping,
                       const yaml_node_pair_t *pair)
{
    const char *key = yaml_doc__text(yaml_doc__node(c->d, pair->key));

    for (const yaml_node_pair_t *p = mapping->data.mapping.pairs.start; p < pair; p++)
        if (strcmp(yaml_doc__text(yaml_doc__node(c->d, p->key)), key) == 0)
            return 1;
    return 0;
}

static int check_pair(struct checker *c, const yaml_node_t *mapping, const yaml_node_pair_t *pair,
                      const cyaml_schema_field_t *fields)
{
    const yaml_node_t *key_node = yaml_doc__node(c->d, pair->key);

    if (key_node->type != YAML_SCALAR_NODE) {
        err_set(c->e, WH_ERR_INPUT, NULL, 0,
                "found a list or mapping as a key of %s, expected a word", where(c));
        yaml_doc__place(c->d, pair->key, c->dotted, c->e);
        return WH_ERR_INPUT;
    }
    const char *key = yaml_doc__text(key_node);
    const cyaml_schema_field_t *f = find_field(fields, key);
    if (!f)
        return unknown_key(c, pair->key, pair->value, key, fields);
    const size_t len = descend(c, key);
    int rc;
    if (is_repeated(c, mapping, pair)) {
        rc = err_set(c->e, WH_ERR_INPUT, NULL, 0,
                     "found the key %s a second time, expected it once", c->dotted);
        yaml_doc__place(c->d, pair->key, c->dotted, c->e);
    } else {
        rc = check_value(c, pair->value, pair->key, &f->value);
    }
    c->dotted[len] = '\0';
    return rc;
}

/* A value of another kind than the schema's. Reported at @line_id, the key, if the file has it. */
static int wrong_kind(struct checker *c, int id, int line_id, const char *expected)
{
    const yaml_node_t *n = yaml_doc__node(c->d, id);
    char found[96] = "a mapping";

    if (n->type == YAML_SEQUENCE_NODE)
        snprintf(found, sizeof found, "a list");
    if (n->type == YAML_SCALAR_NODE && n->data.scalar.length == 0)
        snprintf(found, sizeof found, "no value");
    else if (n->type == YAML_SCALAR_NODE)
        snprintf(found, sizeof found, "\"%.64s\"", yaml_doc__text(n));
    err_set(c->e, WH_ERR_INPUT, NULL, 0, "found %s for %s, expected %s", found, where(c), expected);
    yaml_doc__place(c->d, id > c->d->file_nodes ? id : line_id, c->dotted, c->e);
    return WH_ERR_INPUT;
}

static int check_mapping(struct checker *c, int id, int line_id, const cyaml_schema_value_t *s)
{
    const yaml_node_t *n = yaml_doc__node(c->d, id);
    int rc = 0;

    if (n->type != YAML_MAPPING_NODE)
        return wrong_kind(c, id, line_id, "a mapping of keys and values");
    for (const yaml_node_pair_t *p = n->data.mapping.pairs.start;
         p < n->data.mapping.pairs.top && rc == 0; p++)
        rc = check_pair(c, n, p, s->mapping.fields);
    return rc;
}

static int check_sequence(struct checker *c, int id, int line_id, const cyaml_schema_value_t *s)
{
    const yaml_node_t *n = yaml_doc__node(c->d, id);
    char index[24];
    int rc = 0;

    if (n->type != YAML_SEQUENCE_NODE)
        return wrong_kind(c, id, line_id, "a list");
    const long count = n->data.sequence.items.top - n->data.sequence.items.start;
    for (long i = 0; i < count && rc == 0; i++) {
        const int item = n->data.sequence.items.start[i];
        snprintf(index, sizeof index, "%ld", i);
        const size_t len = descend(c, index);
        rc = check_value(c, item, item, s->sequence.entry);
        c->dotted[len] = '\0';
    }
    return rc;
}

static int check_value(struct checker *c, int id, int line_id, const cyaml_schema_value_t *s)
{
    const yaml_node_t *n = yaml_doc__node(c->d, id);

    if (s->type == CYAML_MAPPING)
        return check_mapping(c, id, line_id, s);
    if (s->type == CYAML_SEQUENCE)
        return check_sequence(c, id, line_id, s);
    if (n->type != YAML_SCALAR_NODE || n->data.scalar.length == 0)
        return wrong_kind(c, id, line_id, "a single value");
    return 0;
}

int yaml_doc_check(const struct yaml_doc *d, const cyaml_schema_value_t *schema, struct err_info *e)
{
    struct checker c = {.d = d, .e = e};

    return check_value(&c, 1, 1, schema);
}
