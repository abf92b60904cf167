/*
 * yaml_doc.h - a YAML file as a tree with line numbers: loaded with libyaml, changed by overrides,
 * checked against a libcyaml schema with messages that say where and what, written back to text for
 * libcyaml.
 *
 * Paths are dotted: keys of mappings, indices of sequences counted from 0 ("flows.0.bytes").
 * Threading: one thread per document.
 */
#ifndef WH_YAML_DOC_H
#define WH_YAML_DOC_H

#include "scenario_yaml.h"

#include <cyaml/cyaml.h>

struct yaml_doc;

/*
 * yaml_doc_load - parses @text, a single document. Anchors and aliases are refused.
 * @path: of the file, for messages; must outlive the document
 * Errors: WH_ERR_INPUT, WH_ERR_NOMEM.
 */
int yaml_doc_load(struct yaml_doc **out, const char *path, const char *text, size_t text_bytes,
                  struct err_info *e) WH_MUST_CHECK;
void yaml_doc_destroy(struct yaml_doc *d); /* NULL is accepted */

/*
 * yaml_doc_override - sets the value at @o->key, making mappings and list entries on the way. A
 * value that starts with [ or { is YAML, any other is a scalar. @o must outlive the document.
 */
int yaml_doc_override(struct yaml_doc *d, const struct yaml_override *o,
                      struct err_info *e) WH_MUST_CHECK;

/*
 * yaml_doc_locate - fills in file and line of the value at @dotted, or of the nearest thing above
 * it that exists. For a value that an override has set, "file" is the override.
 */
void yaml_doc_locate(const struct yaml_doc *d, const char *dotted, struct err_info *e);

/* yaml_doc_has - is there a value at @dotted? */
int yaml_doc_has(const struct yaml_doc *d, const char *dotted);

/* yaml_doc_check - unknown, repeated and missing keys, scalars where lists or mappings belong and
 * the other way round. What passes is accepted by libcyaml, as all scalars of a schema are strings.
 */
int yaml_doc_check(const struct yaml_doc *d, const cyaml_schema_value_t *schema,
                   struct err_info *e) WH_MUST_CHECK;

/* yaml_doc_emit - the document as text; free(*out). The document is empty afterwards. */
int yaml_doc_emit(struct yaml_doc *d, char **out, size_t *out_bytes,
                  struct err_info *e) WH_MUST_CHECK;

#endif
