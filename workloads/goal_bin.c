/*
 * goal_bin.c - GOAL schedules in binary form. Format: docs/formats_goal_htsim.md.
 *
 * A file is taken apart in place. Nothing is read before it is known to lie in the file and in the
 * block of its rank, and nothing is sized by a number that the block cannot hold. Numbers are
 * little endian and stand at odd offsets. Messages name byte offsets from the beginning of the
 * file.
 */
#include "goal_int.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC 4223
#define MAGIC_CONSUMED 2342
#define OFFSET_BASE 8 /* offsets in the file count from behind the magic number */
#define HEADER_BYTES 6
#define TABLE_ROW_BYTES 16
#define BLOCK_HEAD_BYTES 8
#define NODE_BYTES 39

enum { /* fields of a node, by offset */
       NODE_WAITS = 0,
       NODE_KIND = 4,
       NODE_PEER = 5,
       NODE_AMOUNT = 9,
       NODE_TAG = 17,
       NODE_CPU = 21,
       NODE_NIC = 22,
       NODE_ON_END = 23,
       NODE_ON_START = 31
};

struct reader {
    const struct goal_file *f;
    struct goal *g;
    struct err_info *e;
    uint64_t block_end; /* of the table or of the last block: blocks lie in the order of ranks */
    uint8_t cpu_max, nic_max;
};

/* One rank's block, its parts found to fit. */
struct block {
    uint32_t rank, node_count, root_count;
    const unsigned char *roots, *nodes, *appendix;
    uint64_t appendix_count; /* entries of 4 bytes */
};

static uint32_t get_u32(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static uint64_t get_u64(const unsigned char *p)
{
    return get_u32(p) | (uint64_t)get_u32(p + 4) << 32;
}

int goal__is_binary(const struct goal_file *f)
{
    if (f->bytes < OFFSET_BASE)
        return 0;
    const uint64_t magic = get_u64(f->data);

    return magic == MAGIC || magic == MAGIC_CONSUMED;
}

static int no_memory(const struct reader *r)
{
    return err_set(r->e, WH_ERR_NOMEM, r->f->path, 0, "out of memory");
}

/* The place of @at in messages. */
static size_t offset_of(const struct reader *r, const unsigned char *at)
{
    return (size_t)(at - r->f->data);
}

static int read_header(struct reader *r, uint32_t *rank_count)
{
    const struct goal_file *f = r->f;
    const unsigned char *head = f->data + OFFSET_BASE;

    if (get_u64(f->data) == MAGIC_CONSUMED)
        return err_input(
            r->e, f->path, 0,
            "magic number 2342: LogGOPSim has consumed this file in its low-memory mode",
            "4223: convert the text again");
    if (f->bytes < OFFSET_BASE + HEADER_BYTES)
        return err_set(r->e, WH_ERR_INPUT, f->path, 0,
                       "found the end of the file at byte %zu, expected a header of %d bytes",
                       f->bytes, OFFSET_BASE + HEADER_BYTES);
    *rank_count = get_u32(head);
    r->cpu_max = head[4];
    r->nic_max = head[5];
    if (*rank_count == 0)
        return err_input(r->e, f->path, 0, "0 ranks at byte 8", "at least 1");
    if ((f->bytes - OFFSET_BASE - HEADER_BYTES) / TABLE_ROW_BYTES < *rank_count)
        return err_set(
            r->e, WH_ERR_INPUT, f->path, 0,
            "found a file of %zu bytes, expected a table of %u ranks as declared at byte 8",
            f->bytes, *rank_count);
    return 0;
}

/* Where the table says that the block lies. */
static int find_block(struct reader *r, uint32_t rank, const unsigned char **head, uint64_t *bytes)
{
    const struct goal_file *f = r->f;
    const unsigned char *row =
        f->data + OFFSET_BASE + HEADER_BYTES + (size_t)rank * TABLE_ROW_BYTES;
    const uint64_t start = get_u64(row), end = get_u64(row + 8);
    const uint64_t limit = f->bytes - OFFSET_BASE;

    if (end > limit || start < r->block_end || start > end || end - start < BLOCK_HEAD_BYTES)
        return err_set(r->e, WH_ERR_INPUT, f->path, 0,
                       "found the block of rank %u at %" PRIu64 " to %" PRIu64
                       " in the table at byte %zu, expected at least %d bytes between %" PRIu64
                       " and %" PRIu64,
                       rank, start, end, offset_of(r, row), BLOCK_HEAD_BYTES, r->block_end, limit);
    r->block_end = end;
    *head = f->data + OFFSET_BASE + start;
    *bytes = end - start;
    return 0;
}

/* The parts of a block, by the sizes in its head. */
static int cut_block(struct reader *r, const unsigned char *head, uint64_t bytes, struct block *b)
{
    uint64_t left = bytes - BLOCK_HEAD_BYTES;

    b->node_count = get_u32(head);
    b->root_count = get_u32(head + 4);
    const uint64_t need = (uint64_t)b->root_count * 4 + (uint64_t)b->node_count * NODE_BYTES;

    if (need > left)
        return err_set(r->e, WH_ERR_INPUT, r->f->path, 0,
                       "found %" PRIu64
                       " bytes in the block of rank %u at byte %zu, expected %" PRIu64
                       " for its %u operations and %u roots",
                       left, b->rank, offset_of(r, head), need, b->node_count, b->root_count);
    left -= need;
    b->roots = head + BLOCK_HEAD_BYTES;
    b->nodes = b->roots + (size_t)b->root_count * 4;
    b->appendix = b->nodes + (size_t)b->node_count * NODE_BYTES;
    b->appendix_count = left / 4;
    if (left % 4)
        return err_set(r->e, WH_ERR_INPUT, r->f->path, 0,
                       "found %" PRIu64
                       " bytes behind the operations of rank %u at byte %zu, expected "
                       "a list of 4-byte numbers",
                       left, b->rank, offset_of(r, b->appendix));
    return 0;
}

static int refuse_field(struct reader *r, const struct block *b, uint32_t op, unsigned field,
                        const char *what, uint64_t value, const char *expected)
{
    const unsigned char *at = b->nodes + (size_t)op * NODE_BYTES + field;

    return err_set(r->e, WH_ERR_INPUT, r->f->path, 0,
                   "found %s %" PRIu64 " in operation %u of rank %u at byte %zu, expected %s", what,
                   value, op, b->rank, offset_of(r, at), expected);
}

static int read_op(struct reader *r, const struct block *b, uint32_t i)
{
    const unsigned char *node = b->nodes + (size_t)i * NODE_BYTES;
    struct goal_op *op = &r->g->ranks[b->rank].ops[i];

    op->kind = node[NODE_KIND];
    op->peer = get_u32(node + NODE_PEER);
    op->amount = get_u64(node + NODE_AMOUNT);
    op->tag = get_u32(node + NODE_TAG);
    op->cpu = node[NODE_CPU];
    op->nic = node[NODE_NIC];
    if (op->kind != GOAL_SEND && op->kind != GOAL_RECV && op->kind != GOAL_CALC)
        return refuse_field(r, b, i, NODE_KIND, "type", op->kind,
                            "1 (send), 2 (receive) or 3 (calculation)");
    if (op->cpu > r->cpu_max)
        return refuse_field(r, b, i, NODE_CPU, "cpu", op->cpu,
                            "at most the largest cpu, declared at byte 12");
    if (op->nic > r->nic_max)
        return refuse_field(r, b, i, NODE_NIC, "nic", op->nic,
                            "at most the largest nic, declared at byte 13");
    if (op->kind == GOAL_CALC) {
        op->peer = op->tag = 0; /* mean nothing; the reference writes 0 */
        return 0;
    }
    if (op->peer >= r->g->rank_count && !(op->kind == GOAL_RECV && op->peer == GOAL_ANY))
        return refuse_field(r, b, i, NODE_PEER, "peer", op->peer,
                            op->kind == GOAL_RECV ? "a rank of the file, or 4294967295 for any"
                                                  : "a rank of the file");
    return 0;
}

/* How many wait for each operation: sets first, and checks the lists against the appendix. */
static int read_edge_counts(struct reader *r, const struct block *b, unsigned field,
                            struct goal_edges *edges)
{
    uint64_t total = 0;

    for (uint32_t i = 0; i < b->node_count; i++) {
        const unsigned char *node = b->nodes + (size_t)i * NODE_BYTES + field;
        const uint32_t count = get_u32(node), at = get_u32(node + 4);

        edges->first[i] = (uint32_t)total;
        if (!count) /* the place then means nothing */
            continue;
        if (at > b->appendix_count || count > b->appendix_count - at)
            return refuse_field(r, b, i, field, "a number of dependants of", count,
                                "a list that lies in the appendix of the block");
        total += count;
        if (total > b->appendix_count || total > UINT32_MAX)
            return refuse_field(r, b, i, field, "a number of dependants of", count,
                                "lists that do not overlap, below 2^32 entries in all");
    }
    edges->first[b->node_count] = (uint32_t)total;
    return 0;
}

static int read_edge_list(struct reader *r, const struct block *b, unsigned field, uint32_t op,
                          struct goal_edges *edges)
{
    const unsigned char *node = b->nodes + (size_t)op * NODE_BYTES + field;
    const uint32_t count = edges->first[op + 1] - edges->first[op];

    for (uint32_t k = 0; k < count; k++) {
        const uint32_t waiter = get_u32(b->appendix + ((size_t)get_u32(node + 4) + k) * 4);

        if (waiter >= b->node_count)
            return refuse_field(r, b, op, field, "a dependant numbered", waiter,
                                "an operation of the rank");
        edges->waiter[edges->first[op] + k] = waiter;
    }
    return 0;
}

/* One kind of dependency of all operations. */
static int read_edges(struct reader *r, const struct block *b, unsigned field,
                      struct goal_edges *edges)
{
    edges->first = malloc(((size_t)b->node_count + 1) * sizeof *edges->first);
    if (!edges->first)
        return no_memory(r);
    int rc = read_edge_counts(r, b, field, edges);

    if (rc)
        return rc;
    edges->waiter = malloc(((size_t)edges->first[b->node_count] + 1) * sizeof *edges->waiter);
    if (!edges->waiter)
        return no_memory(r);
    for (uint32_t i = 0; i < b->node_count && !rc; i++)
        rc = read_edge_list(r, b, field, i, edges);
    return rc;
}

/* The roots are those that wait for nothing, each once; the counts are what the lists say. */
static int check_counts(struct reader *r, const struct block *b, uint32_t *waits)
{
    uint32_t roots = 0;

    for (uint32_t i = 0; i < b->node_count; i++) {
        const uint32_t declared = get_u32(b->nodes + (size_t)i * NODE_BYTES + NODE_WAITS);

        if (declared != waits[i])
            return refuse_field(r, b, i, NODE_WAITS, "a number of dependencies of", declared,
                                "as many as name it as a dependant");
        roots += !declared;
    }
    for (uint32_t i = 0; i < b->root_count; i++) {
        const unsigned char *at = b->roots + (size_t)i * 4;
        const uint32_t op = get_u32(at);

        if (op >= b->node_count || waits[op])
            return err_set(
                r->e, WH_ERR_INPUT, r->f->path, 0,
                "found root %u of rank %u at byte %zu, expected operations that wait for "
                "nothing, each once",
                op, b->rank, offset_of(r, at));
        waits[op] = UINT32_MAX; /* seen */
    }
    if (roots != b->root_count)
        return err_set(
            r->e, WH_ERR_INPUT, r->f->path, 0,
            "found %u roots of rank %u at byte %zu, expected %u: the operations that wait "
            "for nothing",
            b->root_count, b->rank, offset_of(r, b->roots) - 4, roots);
    return 0;
}

static int read_rank(struct reader *r, uint32_t rank)
{
    struct goal_rank *k = &r->g->ranks[rank];
    struct block b = {.rank = rank};
    const unsigned char *head;
    uint64_t bytes;
    int rc = find_block(r, rank, &head, &bytes);

    if (!rc)
        rc = cut_block(r, head, bytes, &b);
    if (rc)
        return rc;
    k->ops = malloc(((size_t)b.node_count + 1) * sizeof *k->ops);
    if (!k->ops)
        return no_memory(r);
    k->op_count = b.node_count;
    for (uint32_t i = 0; i < b.node_count && !rc; i++)
        rc = read_op(r, &b, i);
    if (!rc)
        rc = read_edges(r, &b, NODE_ON_END, &k->on_end);
    if (!rc)
        rc = read_edges(r, &b, NODE_ON_START, &k->on_start);
    if (rc)
        return rc;
    uint32_t *waits = goal__waits(k);

    rc = waits ? check_counts(r, &b, waits) : no_memory(r);
    free(waits);
    return rc;
}

int goal__read_binary(const struct goal_file *f, struct goal **out, struct err_info *e)
{
    struct reader r = {.f = f, .e = e};
    uint32_t rank_count;
    int rc = read_header(&r, &rank_count);

    if (rc)
        return rc;
    r.g = goal__create(f->path, rank_count);
    if (!r.g)
        return no_memory(&r);
    r.block_end = HEADER_BYTES + (uint64_t)rank_count * TABLE_ROW_BYTES;
    for (uint32_t i = 0; i < rank_count && !rc; i++)
        rc = read_rank(&r, i);
    if (rc) {
        goal_destroy(r.g);
        return rc;
    }
    *out = r.g;
    return 0;
}
