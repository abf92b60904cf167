/*
 * yaml_doc_int.h - the document tree, for yaml_doc.c and yaml_check.c.
 */
#ifndef WH_YAML_DOC_INT_H
#define WH_YAML_DOC_INT_H

#include "yaml_doc.h"

#include <yaml.h>

#define YAML_OVERRIDES_MAX 256

/* Nodes have ids from 1 on; those above file_nodes were made by overrides and have no line. */
struct yaml_doc {
    yaml_document_t tree;
    const char *path;
    int file_nodes;
    const struct yaml_override *overrides[YAML_OVERRIDES_MAX];
    uint32_t override_count;
};

/* yaml_doc__node - never NULL for an id of the document. libyaml's functions want a document that
 * is not const, but do not change it. */
yaml_node_t *yaml_doc__node(const struct yaml_doc *d, int id);
const char *yaml_doc__text(const yaml_node_t *scalar);

/* yaml_doc__place - file and line of node @id, which has the path @dotted. */
void yaml_doc__place(const struct yaml_doc *d, int id, const char *dotted, struct err_info *e);

#endif
