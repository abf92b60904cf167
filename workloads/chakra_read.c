/*
 * chakra_read.c - .et files: records of a length and a protobuf message, perhaps gzip-compressed.
 *
 * Messages are read one at a time, in steps, so that memory is bounded by what the file holds and
 * not by what a damaged length says. zlib passes files through that are not compressed.
 */
#include "chakra_int.h"

#include "chakra_et.pb-c.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define MESSAGE_BYTES_MAX (UINT64_C(256) << 20) /* of a node; real ones have some KB */
#define STEP_BYTES ((size_t)8 << 10)
#define READ_BUFFER_BYTES (64 << 10)
#define FIELD_NODE_FIRST 3 /* GlobalMetadata has no field from here on, Node has */

struct reader {
    gzFile gz;
    const char *path;
    const struct et_options *options;
    const struct warn_sink *sink;
    struct err_info *e;
    struct et_trace *trace;
    uint8_t *message; /* owned */
    size_t message_bytes, message_cap;
    uint64_t pos;      /* bytes read, uncompressed */
    uint64_t begin;    /* of the current record */
    uint32_t warnings; /* of kinds that are given once */
};

enum { WARNED_INVALID = 1, WARNED_SRC = 2 };

static int no_memory(const struct reader *r)
{
    return err_set(r->e, WH_ERR_NOMEM, r->path, 0, "out of memory");
}

/* Up to @bytes; fewer at the end. Returns the number or an error. */
static int64_t read_bytes(struct reader *r, uint8_t *out, size_t bytes)
{
    int got = gzread(r->gz, out, (unsigned)bytes);
    int code = Z_OK;
    const char *text = gzerror(r->gz, &code);

    if (got > 0)
        r->pos += (uint64_t)got;
    if (code == Z_ERRNO)
        return err_set(r->e, WH_ERR_IO, r->path, 0, "cannot be read: %s", strerror(errno));
    if (code == Z_MEM_ERROR)
        return no_memory(r);
    if (got < 0 || (code != Z_OK && code != Z_STREAM_END))
        return err_set(r->e, WH_ERR_INPUT, r->path, 0,
                       "found damaged or cut off gzip data after %" PRIu64
                       " uncompressed bytes (%s), expected a whole gzip file",
                       r->pos, text);
    return got;
}

/* The length in front of a message. Returns 1, 0 at the end of the file, or an error. */
static int read_length(struct reader *r, uint64_t *out)
{
    uint64_t value = 0;

    r->begin = r->pos;
    for (unsigned i = 0; i < 10; i++) {
        uint8_t byte;
        int64_t got = read_bytes(r, &byte, 1);

        if (got < 0)
            return (int)got;
        if (got == 0 && i == 0)
            return 0;
        if (got == 0)
            return err_set(r->e, WH_ERR_INPUT, r->path, 0,
                           "found the end of the file in the length of the message at byte "
                           "%" PRIu64 ", expected the rest of it",
                           r->begin);
        value |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (!(byte & 0x80)) {
            *out = value;
            return 1;
        }
    }
    return err_set(r->e, WH_ERR_INPUT, r->path, 0,
                   "found no end of the length of the message at byte %" PRIu64
                   ", expected at most 10 bytes",
                   r->begin);
}

static int grow_message(struct reader *r, size_t want)
{
    size_t cap = r->message_cap ? r->message_cap : STEP_BYTES;

    while (cap < want)
        cap *= 2;
    if (cap == r->message_cap)
        return 0;
    uint8_t *grown = realloc(r->message, cap);

    if (!grown)
        return no_memory(r);
    r->message = grown;
    r->message_cap = cap;
    return 0;
}

static int read_body(struct reader *r, uint64_t length)
{
    r->message_bytes = 0;
    while (r->message_bytes < length) {
        uint64_t left = length - r->message_bytes;
        size_t step = left < STEP_BYTES ? (size_t)left : STEP_BYTES;
        int rc = grow_message(r, r->message_bytes + step);

        if (rc)
            return rc;
        int64_t got = read_bytes(r, r->message + r->message_bytes, step);

        if (got < 0)
            return (int)got;
        if (got == 0)
            return err_set(r->e, WH_ERR_INPUT, r->path, 0,
                           "found the end of the file at byte %" PRIu64
                           ", inside the message at byte %" PRIu64 ", expected %" PRIu64
                           " more bytes of it",
                           r->pos, r->begin, left);
        r->message_bytes += (size_t)got;
    }
    return grow_message(r, 1);
}

/* Returns 1, 0 at the end of the file, or an error. */
static int read_message(struct reader *r)
{
    uint64_t length = 0;
    int rc = read_length(r, &length);

    if (rc <= 0)
        return rc;
    if (length > MESSAGE_BYTES_MAX)
        return err_set(r->e, WH_ERR_INPUT, r->path, 0,
                       "found a message of %" PRIu64 " bytes at byte %" PRIu64
                       ", expected at most %" PRIu64,
                       length, r->begin, MESSAGE_BYTES_MAX);
    rc = read_body(r, length);
    return rc ? rc : 1;
}

static int refuse_message(struct reader *r, const char *what)
{
    return err_set(r->e, WH_ERR_INPUT, r->path, 0,
                   "found %zu bytes at byte %" PRIu64 " that are no %s, expected a protobuf "
                   "message of the Chakra schema",
                   r->message_bytes, r->begin, what);
}

static const char *find_string(Et__Attribute **attr, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(attr[i]->name, name) && attr[i]->value_case == ET__ATTRIBUTE__VALUE_STRING_VAL)
            return attr[i]->string_val;
    return "";
}

/* A file that begins with a Node would lose it silently. */
static int is_node(const Et__Metadata *m)
{
    for (unsigned i = 0; i < m->base.n_unknown_fields; i++)
        if (m->base.unknown_fields[i].tag >= FIELD_NODE_FIRST)
            return 1;
    return 0;
}

static int read_metadata(struct reader *r)
{
    int rc = read_message(r);

    if (rc < 0)
        return rc;
    if (rc == 0)
        return err_input(r->e, r->path, 0, "an empty file",
                         "a Chakra trace: GlobalMetadata, Nodes");
    Et__Metadata *m = et__metadata__unpack(NULL, r->message_bytes, r->message);

    if (!m || is_node(m)) {
        if (m)
            et__metadata__free_unpacked(m, NULL);
        return refuse_message(r, "GlobalMetadata, the first message of a trace");
    }
    const char *version = *m->version ? m->version : find_string(m->attr, m->n_attr, "schema");

    rc = et__add_text(r->trace, version, &r->trace->version);
    et__metadata__free_unpacked(m, NULL);
    return rc ? err_set(r->e, rc, r->path, 0, "%s", err_text(rc)) : 0;
}

/* Any integer kind, as writers use different ones; a bool counts as 0 or 1. */
static int get_int(const Et__Attribute *a, int64_t *out)
{
    switch (a->value_case) {
    case ET__ATTRIBUTE__VALUE_INT32_VAL:
        *out = a->int32_val;
        return 0;
    case ET__ATTRIBUTE__VALUE_INT64_VAL:
        *out = a->int64_val;
        return 0;
    case ET__ATTRIBUTE__VALUE_UINT32_VAL:
        *out = a->uint32_val;
        return 0;
    case ET__ATTRIBUTE__VALUE_SINT32_VAL:
        *out = a->sint32_val;
        return 0;
    case ET__ATTRIBUTE__VALUE_SINT64_VAL:
        *out = a->sint64_val;
        return 0;
    case ET__ATTRIBUTE__VALUE_FIXED32_VAL:
        *out = a->fixed32_val;
        return 0;
    case ET__ATTRIBUTE__VALUE_SFIXED32_VAL:
        *out = a->sfixed32_val;
        return 0;
    case ET__ATTRIBUTE__VALUE_SFIXED64_VAL:
        *out = a->sfixed64_val;
        return 0;
    case ET__ATTRIBUTE__VALUE_BOOL_VAL:
        *out = a->bool_val != 0;
        return 0;
    case ET__ATTRIBUTE__VALUE_UINT64_VAL:
        *out = (int64_t)a->uint64_val;
        return a->uint64_val > INT64_MAX ? WH_ERR_INPUT : 0;
    case ET__ATTRIBUTE__VALUE_FIXED64_VAL:
        *out = (int64_t)a->fixed64_val;
        return a->fixed64_val > INT64_MAX ? WH_ERR_INPUT : 0;
    default:
        return WH_ERR_INPUT;
    }
}

enum attr_id {
    ATTR_CPU_OP,
    ATTR_NUM_OPS,
    ATTR_TENSOR,
    ATTR_COMM_TYPE,
    ATTR_COMM_SIZE,
    ATTR_SRC,
    ATTR_DST,
    ATTR_TAG,
    ATTR_PRIORITY,
    ATTR_GROUP,
    ATTR_DIM,
    ATTR_COUNT
};

struct attr_def {
    const char *name;
    int64_t lo, hi;
    const char *expected;
};

static const struct attr_def attrs[ATTR_COUNT] = {
    [ATTR_CPU_OP] = {"is_cpu_op", 0, 1, "a bool"},
    [ATTR_NUM_OPS] = {"num_ops", 0, INT64_MAX, "a whole number, not negative"},
    [ATTR_TENSOR] = {"tensor_size", 0, INT64_MAX, "a number of bytes, not negative"},
    [ATTR_COMM_TYPE] = {"comm_type", 0, ET_COMM_COUNT - 1, "0 (all-reduce) to 9 (barrier)"},
    [ATTR_COMM_SIZE] = {"comm_size", 0, INT64_MAX, "a number of bytes, not negative"},
    [ATTR_SRC] = {"comm_src", INT32_MIN, INT32_MAX, "a rank as 32-bit integer"},
    [ATTR_DST] = {"comm_dst", INT32_MIN, INT32_MAX, "a rank as 32-bit integer"},
    [ATTR_TAG] = {"comm_tag", INT32_MIN, INT32_MAX, "a 32-bit integer"},
    [ATTR_PRIORITY] = {"comm_priority", INT32_MIN, INT32_MAX, "a 32-bit integer"},
    [ATTR_GROUP] = {"pg_name", 0, INT64_MAX, "a string, or a number that is not negative"},
    [ATTR_DIM] = {"involved_dim", 0, 1, "a list of at most 32 bools"},
};

/* ATTR_COUNT: not one of ours. Misspelt forms of involved_dim are in use. */
static enum attr_id find_attr(const char *name)
{
    static const char *const dims[] = {"involved_dims", "involed_dim", "invovled_dim"};

    for (int i = 0; i < ATTR_COUNT; i++)
        if (!strcmp(name, attrs[i].name))
            return (enum attr_id)i;
    for (size_t i = 0; i < sizeof dims / sizeof *dims; i++)
        if (!strcmp(name, dims[i]))
            return ATTR_DIM;
    return ATTR_COUNT;
}

/* What is collected of a node besides its numbers. */
struct draft {
    struct et_node node;
    const char *group;
    char group_number[24];
    uint32_t given; /* bits of enum attr_id */
};

static int refuse_attr(struct reader *r, const struct draft *d, const Et__Attribute *a,
                       const char *value, const char *expected)
{
    return err_set(r->e, WH_ERR_INPUT, r->path, 0,
                   "node %" PRIu64 " at byte %" PRIu64 ": found %.64s %s, expected %s", d->node.id,
                   r->begin, a->name, value, expected);
}

static int read_dims(struct reader *r, struct draft *d, const Et__Attribute *a)
{
    const Et__BoolList *list = a->bool_list;

    if (a->value_case != ET__ATTRIBUTE__VALUE_BOOL_LIST || !list || list->n_values > ET_DIMS_MAX)
        return refuse_attr(r, d, a, "of another kind", attrs[ATTR_DIM].expected);
    d->node.dim_count = (uint32_t)list->n_values;
    d->node.dim_mask = 0;
    for (uint32_t i = 0; i < d->node.dim_count; i++)
        d->node.dim_mask |= (uint32_t)(list->values[i] != 0) << i;
    return 0;
}

static void store(struct draft *d, enum attr_id id, int64_t value)
{
    struct et_node *n = &d->node;

    switch (id) {
    case ATTR_CPU_OP:
        n->is_cpu_op = (uint8_t)value;
        break;
    case ATTR_NUM_OPS:
        n->num_ops = (uint64_t)value;
        break;
    case ATTR_TENSOR:
        n->tensor_bytes = (uint64_t)value;
        break;
    case ATTR_COMM_TYPE:
        n->comm_type = (uint8_t)value;
        break;
    case ATTR_COMM_SIZE:
        n->comm_bytes = value;
        break;
    case ATTR_SRC:
        n->comm_src = (int32_t)value;
        break;
    case ATTR_DST:
        n->comm_dst = (int32_t)value;
        break;
    case ATTR_TAG:
        n->comm_tag = (int32_t)value;
        break;
    case ATTR_PRIORITY:
        n->comm_priority = (int32_t)value;
        break;
    case ATTR_GROUP:
        snprintf(d->group_number, sizeof d->group_number, "%" PRId64, value);
        d->group = d->group_number;
        break;
    case ATTR_DIM:
    case ATTR_COUNT:
        break;
    }
}

static int read_attr(struct reader *r, struct draft *d, const Et__Attribute *a)
{
    enum attr_id id = find_attr(a->name);
    char shown[32];
    int64_t value;

    if (id == ATTR_COUNT)
        return 0;
    d->given |= 1u << id;
    if (id == ATTR_DIM)
        return read_dims(r, d, a);
    if (id == ATTR_GROUP && a->value_case == ET__ATTRIBUTE__VALUE_STRING_VAL) {
        d->group = a->string_val;
        return 0;
    }
    if (get_int(a, &value))
        return refuse_attr(r, d, a, "of another kind", attrs[id].expected);
    if (value < attrs[id].lo || value > attrs[id].hi) {
        snprintf(shown, sizeof shown, "%" PRId64, value);
        return refuse_attr(r, d, a, shown, attrs[id].expected);
    }
    store(d, id, value);
    return 0;
}

static int need_attr(struct reader *r, const struct draft *d, enum attr_id id)
{
    if (d->given & 1u << id)
        return 0;
    return err_set(r->e, WH_ERR_INPUT, r->path, 0,
                   "node %" PRIu64 " at byte %" PRIu64 ": found a %s without %s, expected %s",
                   d->node.id, r->begin, et_type_name((enum et_type)d->node.type), attrs[id].name,
                   attrs[id].expected);
}

static int check_given(struct reader *r, const struct draft *d)
{
    int rc = 0;

    switch (d->node.type) {
    case ET_COLLECTIVE:
        rc = need_attr(r, d, ATTR_COMM_TYPE);
        if (!rc && d->node.comm_type != ET_BARRIER)
            rc = need_attr(r, d, ATTR_COMM_SIZE);
        break;
    case ET_SEND:
        rc = need_attr(r, d, ATTR_DST);
        if (!rc)
            rc = need_attr(r, d, ATTR_COMM_SIZE);
        break;
    case ET_RECV:
        rc = need_attr(r, d, ATTR_SRC);
        if (!rc)
            rc = need_attr(r, d, ATTR_COMM_SIZE);
        break;
    default:
        break;
    }
    return rc;
}

static void warn_once(struct reader *r, uint32_t kind, const char *text)
{
    if (!(r->warnings & kind))
        warn(r->sink, "%s: %s", r->path, text);
    r->warnings |= kind;
}

static void warn_node(struct reader *r, const struct draft *d)
{
    const struct et_node *n = &d->node;
    int64_t own = n->type == ET_SEND ? n->comm_src : n->type == ET_RECV ? n->comm_dst : -1;

    if (n->type == ET_INVALID)
        warn_once(r, WARNED_INVALID, "nodes of type 0 (invalid) do nothing");
    if (own >= 0 && own != r->trace->rank)
        warn_once(r, WARNED_SRC,
                  "the own side of a send (comm_src) or receive (comm_dst) names another rank than "
                  "the file name; the file name counts");
}

static int keep_groups(struct reader *r, const Et__Node *m)
{
    const char *text = m->type == ET_METADATA && m->inputs ? m->inputs->values : "";

    if (text[strspn(text, " \t\r\n")] != '[' || r->trace->groups_json)
        return 0;
    return et__add_text(r->trace, text, &r->trace->groups_json);
}

static int add_node(struct reader *r, const Et__Node *m, struct draft *d)
{
    int skip = r->options && r->options->skip_ctrl_deps;
    const struct et_refs refs = {.name = m->name,
                                 .group = d->group,
                                 .data_deps = m->data_deps,
                                 .data_dep_count = m->n_data_deps,
                                 .ctrl_deps = m->ctrl_deps,
                                 .ctrl_dep_count = skip ? 0 : m->n_ctrl_deps};
    int rc = keep_groups(r, m);

    if (rc)
        return err_set(r->e, rc, r->path, 0, "%s", err_text(rc));
    return et_trace_add(r->trace, &d->node, &refs, r->e);
}

static int parse_node(struct reader *r, const Et__Node *m)
{
    struct draft d = {
        .node = {.id = m->id, .duration_us = m->duration_micros, .comm_src = -1, .comm_dst = -1}};
    int rc = 0;

    if (m->type < 0 || m->type >= ET_TYPE_COUNT)
        return err_set(r->e, WH_ERR_INPUT, r->path, 0,
                       "node %" PRIu64 " at byte %" PRIu64 ": found node type %d, expected 0 to 7",
                       m->id, r->begin, m->type);
    d.node.type = (uint8_t)m->type;
    for (size_t i = 0; !rc && i < m->n_attr; i++)
        rc = read_attr(r, &d, m->attr[i]);
    if (!rc)
        rc = check_given(r, &d);
    if (rc)
        return rc;
    warn_node(r, &d);
    return add_node(r, m, &d);
}

static int read_nodes(struct reader *r)
{
    int rc;

    while ((rc = read_message(r)) > 0) {
        Et__Node *m = et__node__unpack(NULL, r->message_bytes, r->message);

        if (!m)
            return refuse_message(r, "Node");
        rc = parse_node(r, m);
        et__node__free_unpacked(m, NULL);
        if (rc)
            return rc;
    }
    return rc;
}

static int read_trace(struct reader *r)
{
    int rc = read_metadata(r);

    if (!rc)
        rc = read_nodes(r);
    return rc ? rc : et_trace_finish(r->trace, r->e);
}

int et_read(const char *path, uint32_t rank, const struct et_options *options,
            struct et_trace **out, const struct warn_sink *sink, struct err_info *e)
{
    struct reader r = {.path = path, .options = options, .sink = sink, .e = e};

    errno = 0;
    r.gz = gzopen(path, "rb");
    if (!r.gz)
        return errno ? err_set(e, WH_ERR_INPUT, path, 0, "cannot be opened: %s", strerror(errno))
                     : no_memory(&r);
    gzbuffer(r.gz, READ_BUFFER_BYTES);
    int rc = et_trace_create(&r.trace, path, rank) ? no_memory(&r) : read_trace(&r);

    gzclose(r.gz);
    free(r.message);
    if (rc) {
        et_trace_destroy(r.trace);
        return rc;
    }
    *out = r.trace;
    return 0;
}

/* The rank in "<base>.<rank>.et", -1 if @name is none of that form. */
static int64_t parse_rank(const char *name, const char *base)
{
    size_t base_chars = strlen(base);
    uint64_t rank = 0;

    if (strncmp(name, base, base_chars) || name[base_chars] != '.')
        return -1;
    const char *digits = name + base_chars + 1;
    size_t count = strspn(digits, "0123456789");

    if (count == 0 || count > 9 || (count > 1 && digits[0] == '0') || strcmp(digits + count, ".et"))
        return -1;
    for (size_t i = 0; i < count; i++)
        rank = 10 * rank + (uint64_t)(digits[i] - '0');
    return (int64_t)rank;
}

struct listing {
    uint64_t count;
    int64_t last;
};

static int list_folder(const char *prefix, struct listing *l, struct err_info *e)
{
    const char *slash = strrchr(prefix, '/'), *base = slash ? slash + 1 : prefix;
    char folder[512] = ".";

    if (strlen(prefix) > sizeof folder - 32)
        return err_set(e, WH_ERR_INPUT, prefix, 0,
                       "found a prefix of %zu bytes, expected less than %zu", strlen(prefix),
                       sizeof folder - 32);
    if (slash)
        snprintf(folder, sizeof folder, "%.*s", (int)(slash - prefix) + 1, prefix);
    DIR *dir = opendir(folder);

    if (!dir)
        return err_set(e, WH_ERR_INPUT, folder, 0, "cannot be opened: %s", strerror(errno));
    *l = (struct listing){.last = -1};
    for (struct dirent *f; (f = readdir(dir));) {
        int64_t rank = parse_rank(f->d_name, base);

        l->count += rank >= 0;
        if (rank > l->last)
            l->last = rank;
    }
    closedir(dir);
    return 0;
}

/* The first rank whose file cannot be opened. */
static uint64_t find_gap(const char *prefix, uint64_t rank_count)
{
    char path[512];

    for (uint64_t r = 0; r < rank_count; r++) {
        snprintf(path, sizeof path, "%.480s.%" PRIu64 ".et", prefix, r);
        FILE *f = fopen(path, "rb");

        if (!f)
            return r;
        fclose(f);
    }
    return rank_count;
}

static int check_listing(const char *prefix, const struct listing *l, struct err_info *e)
{
    if (l->count == 0)
        return err_set(e, WH_ERR_INPUT, prefix, 0,
                       "found no file %s.<rank>.et, expected one for each rank from 0 on", prefix);
    if (l->count != (uint64_t)l->last + 1)
        return err_set(e, WH_ERR_INPUT, prefix, 0,
                       "found %" PRIu64 " trace files, the last for rank %" PRId64
                       ", but none for rank %" PRIu64 ", expected one for each rank",
                       l->count, l->last, find_gap(prefix, (uint64_t)l->last));
    return 0;
}

int et_read_set(const char *prefix, const struct et_options *options, struct et_set *out,
                const struct warn_sink *sink, struct err_info *e)
{
    struct listing l;
    struct et_set s = {0};
    int rc = list_folder(prefix, &l, e);

    if (!rc)
        rc = check_listing(prefix, &l, e);
    if (rc)
        return rc;
    s.trace = calloc(l.count, sizeof *s.trace);
    if (!s.trace)
        return err_set(e, WH_ERR_NOMEM, prefix, 0, "out of memory");
    while (!rc && s.rank_count < l.count) {
        char path[512];

        snprintf(path, sizeof path, "%.480s.%u.et", prefix, s.rank_count);
        rc = et_read(path, s.rank_count, options, &s.trace[s.rank_count], sink, e);
        s.rank_count += !rc;
    }
    if (rc)
        et_set_fini(&s);
    else
        *out = s;
    return rc;
}
