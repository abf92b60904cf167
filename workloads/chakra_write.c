/*
 * chakra_write.c - execution traces as .et files. Attributes have the kinds that most readers
 * expect (docs/formats_simai_astra.md); those that are 0 and not needed are left out.
 */
#include "chakra_int.h"

#include "chakra_et.pb-c.h"

#include <stdlib.h>
#include <string.h>

#define ATTRS_MAX 12

/* The attributes of one node, and what they point to. */
struct attr_list {
    Et__Attribute attr[ATTRS_MAX];
    Et__Attribute *row[ATTRS_MAX];
    size_t count;
    Et__BoolList dims;
    protobuf_c_boolean dim[ET_DIMS_MAX];
};

static Et__Attribute *add_attr(struct attr_list *l, const char *name,
                               Et__Attribute__ValueCase value_case)
{
    Et__Attribute *a = &l->attr[l->count];

    et__attribute__init(a);
    a->name = (char *)(uintptr_t)name; /* packing only reads it */
    a->value_case = value_case;
    l->row[l->count++] = a;
    return a;
}

static void add_int64(struct attr_list *l, const char *name, int64_t value)
{
    add_attr(l, name, ET__ATTRIBUTE__VALUE_INT64_VAL)->int64_val = value;
}

static void add_int32(struct attr_list *l, const char *name, int32_t value)
{
    add_attr(l, name, ET__ATTRIBUTE__VALUE_INT32_VAL)->int32_val = value;
}

static void add_dims(struct attr_list *l, const struct et_node *n)
{
    if (n->dim_count == 0)
        return;
    et__bool_list__init(&l->dims);
    for (uint32_t i = 0; i < n->dim_count; i++)
        l->dim[i] = n->dim_mask >> i & 1;
    l->dims.n_values = n->dim_count;
    l->dims.values = l->dim;
    add_attr(l, "involved_dim", ET__ATTRIBUTE__VALUE_BOOL_LIST)->bool_list = &l->dims;
}

static void add_comm(struct attr_list *l, const struct et_trace *t, const struct et_node *n)
{
    if (n->type == ET_COLLECTIVE)
        add_int64(l, "comm_type", n->comm_type);
    add_int64(l, "comm_size", n->comm_bytes);
    if (n->comm_src >= 0)
        add_int32(l, "comm_src", n->comm_src);
    if (n->comm_dst >= 0)
        add_int32(l, "comm_dst", n->comm_dst);
    if (n->comm_tag || n->type != ET_COLLECTIVE)
        add_int32(l, "comm_tag", n->comm_tag);
    if (n->comm_priority)
        add_int32(l, "comm_priority", n->comm_priority);
    if (n->group)
        add_attr(l, "pg_name", ET__ATTRIBUTE__VALUE_STRING_VAL)->string_val =
            (char *)(uintptr_t)et_text(t, n->group);
    add_dims(l, n);
}

static void add_attrs(struct attr_list *l, const struct et_trace *t, const struct et_node *n)
{
    l->count = 0;
    add_attr(l, "is_cpu_op", ET__ATTRIBUTE__VALUE_BOOL_VAL)->bool_val = n->is_cpu_op;
    if (n->num_ops)
        add_int64(l, "num_ops", (int64_t)n->num_ops);
    if (n->tensor_bytes)
        add_attr(l, "tensor_size", ET__ATTRIBUTE__VALUE_UINT64_VAL)->uint64_val = n->tensor_bytes;
    if (n->type == ET_COLLECTIVE || n->type == ET_SEND || n->type == ET_RECV)
        add_comm(l, t, n);
}

/* The length in front of a message. */
static void write_length(FILE *f, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        fputc((int)(value & 0x7f) | 0x80, f);
    fputc((int)value, f);
}

static int write_message(FILE *f, const ProtobufCMessage *m)
{
    size_t bytes = protobuf_c_message_get_packed_size(m);
    uint8_t *packed = malloc(bytes + 1);

    if (!packed)
        return WH_ERR_NOMEM;
    protobuf_c_message_pack(m, packed);
    write_length(f, bytes);
    fwrite(packed, 1, bytes, f);
    free(packed);
    return ferror(f) ? WH_ERR_IO : 0;
}

static int write_metadata(FILE *f, const struct et_trace *t)
{
    Et__Metadata m;

    et__metadata__init(&m);
    m.version = (char *)(uintptr_t)(t->version ? et_text(t, t->version) : "0.0.4");
    return write_message(f, &m.base);
}

/* @groups: process groups that the node carries, or "". */
static int write_node(FILE *f, const struct et_trace *t, const struct et_node *n,
                      const char *groups)
{
    size_t dep_count = (size_t)n->data_dep_count + n->ctrl_dep_count;
    uint64_t *ids = malloc((dep_count + 1) * sizeof *ids);
    struct attr_list l;
    Et__IoInfo inputs;
    Et__Node m;

    if (!ids)
        return WH_ERR_NOMEM;
    for (size_t i = 0; i < dep_count; i++)
        ids[i] = t->nodes[t->deps[n->dep_first + i]].id;
    add_attrs(&l, t, n);
    et__node__init(&m);
    m.id = n->id;
    m.name = (char *)(uintptr_t)et_text(t, n->name);
    m.type = n->type;
    m.duration_micros = n->duration_us;
    m.n_data_deps = n->data_dep_count;
    m.data_deps = ids;
    m.n_ctrl_deps = n->ctrl_dep_count;
    m.ctrl_deps = ids + n->data_dep_count;
    if (*groups) {
        et__io_info__init(&inputs);
        inputs.values = (char *)(uintptr_t)groups;
        m.inputs = &inputs;
    }
    m.n_attr = l.count;
    m.attr = l.row;
    int rc = write_message(f, &m.base);

    free(ids);
    return rc;
}

int et_write(FILE *f, const struct et_trace *t)
{
    check(t->deps, "the trace of rank %u is written before it is finished", t->rank);
    const char *groups = et_text(t, t->groups_json);
    int rc = write_metadata(f, t);

    for (uint32_t i = 0; !rc && i < t->node_count; i++) {
        int has_groups = t->nodes[i].type == ET_METADATA;

        rc = write_node(f, t, &t->nodes[i], has_groups ? groups : "");
        if (has_groups)
            groups = "";
    }
    return rc;
}
