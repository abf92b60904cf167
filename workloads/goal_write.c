/*
 * goal_write.c - GOAL schedules as text.
 *
 * The operations of a rank come first, then its dependencies, grouped by what is waited for: labels
 * are defined before use, and a reader finds the same lists in the same order.
 */
#include "goal.h"

#include <inttypes.h>

#define NAME_BYTES 32

static int has_label(const struct goal_rank *r, uint32_t op)
{
    return r->label_at && r->label_at[op] != GOAL_NO_LABEL;
}

static int are_labelled(const struct goal_rank *r, const struct goal_edges *edges)
{
    for (uint32_t i = 0; i < r->op_count; i++)
        for (uint32_t k = edges->first[i]; k < edges->first[i + 1]; k++)
            if (!has_label(r, i) || !has_label(r, edges->waiter[k]))
                return 0;
    return 1;
}

/* The name of an operation. Invented names could be those of others, so it is all or none. */
static const char *name_of(const struct goal_rank *r, int is_own, uint32_t op, char *buf)
{
    if (is_own)
        return goal_label(r, op, buf, NAME_BYTES);
    snprintf(buf, NAME_BYTES, "op%u", op);
    return buf;
}

static void write_wildcard(FILE *f, const char *word, uint32_t value)
{
    if (value == GOAL_ANY)
        fprintf(f, " %s -1", word);
    else
        fprintf(f, " %s %u", word, value);
}

static void write_op(FILE *f, const struct goal_op *op)
{
    if (op->kind == GOAL_CALC) {
        fprintf(f, "calc %" PRIu64, op->amount);
    } else {
        fprintf(f, "%s %" PRIu64 "b", op->kind == GOAL_SEND ? "send" : "recv", op->amount);
        write_wildcard(f, op->kind == GOAL_SEND ? "to" : "from", op->peer);
        if (op->tag)
            write_wildcard(f, "tag", op->tag);
    }
    if (op->cpu)
        fprintf(f, " cpu %u", op->cpu);
    if (op->nic && op->kind != GOAL_CALC) /* the text has no nic for calculations */
        fprintf(f, " nic %u", op->nic);
    fputc('\n', f);
}

static void write_edges(FILE *f, const struct goal_rank *r, int is_own,
                        const struct goal_edges *edges, const char *word)
{
    char a[NAME_BYTES], b[NAME_BYTES];

    for (uint32_t i = 0; i < r->op_count; i++)
        for (uint32_t k = edges->first[i]; k < edges->first[i + 1]; k++)
            fprintf(f, "%s %s %s\n", name_of(r, is_own, edges->waiter[k], a), word,
                    name_of(r, is_own, i, b));
}

static void write_rank(FILE *f, const struct goal_rank *r)
{
    const int is_own = are_labelled(r, &r->on_end) && are_labelled(r, &r->on_start);
    char name[NAME_BYTES];

    for (uint32_t i = 0; i < r->op_count; i++) {
        if (!is_own || has_label(r, i))
            fprintf(f, "%s: ", name_of(r, is_own, i, name));
        write_op(f, &r->ops[i]);
    }
    write_edges(f, r, is_own, &r->on_end, "requires");
    write_edges(f, r, is_own, &r->on_start, "irequires");
}

int goal_write(FILE *f, const struct goal *g)
{
    fprintf(f, "num_ranks %u\n", g->rank_count);
    for (uint32_t i = 0; i < g->rank_count; i++) {
        fprintf(f, "\nrank %u {\n", i);
        write_rank(f, &g->ranks[i]);
        fprintf(f, "}\n");
    }
    return ferror(f) ? WH_ERR_IO : 0;
}
