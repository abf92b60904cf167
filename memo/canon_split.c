/*
 * canon_split.c - order inside the cells that refinement left, by taking the graph apart.
 *
 * A vertex alone in its cell is seen alike by all vertices of any other cell, so its edges say
 * nothing more about them. Without such vertices the graph may fall apart. Each component is
 * ordered for itself, in the same way: in it more vertices are alone in their cell. Components are
 * then sorted by their forms; those with one form are interchangeable. Each level at least halves
 * the cells, since refined neighbours have cells in proportion. A component that has no vertex
 * alone in its cell goes to canon_search.c.
 *
 * A form is: vertex count; for each vertex in order its cell and how many higher neighbours it has;
 * these, as position << 16 | label. Lists that differ differ in their first words that do.
 */
#include "canon_int.h"

#include <string.h>

void canon__local_lists(struct canon *c, uint32_t begin, uint32_t end)
{
    const uint32_t stamp = ++c->local_stamp_now;
    uint32_t total = 0;

    for (uint32_t i = begin; i < end; i++) {
        const uint32_t v = c->set[i];

        c->local[v] = i - begin;
        c->local_stamp[v] = stamp;
        c->list_begin[i - begin] = c->list_end[i - begin] = total;
        total += c->half_begin[v + 1] - c->half_begin[v];
    }
    c->list_begin[end - begin] = total;
    /* In ascending order of the neighbour: so the lists fill in that order. */
    for (uint32_t i = begin; i < end; i++) {
        const uint32_t v = c->set[i];

        for (uint32_t k = c->half_begin[v]; k < c->half_begin[v + 1]; k++) {
            const uint32_t u = c->half[k].vertex;
            const uint64_t entry = (uint64_t)(i - begin) << 16 | c->half[k].label;
            uint32_t to;

            if (c->local_stamp[u] != stamp)
                continue;
            to = c->list_end[c->local[u]]++;
            for (; to > c->list_begin[c->local[u]] && c->list[to - 1] > entry; to--)
                c->list[to] = c->list[to - 1]; /* parallel edges: by label */
            c->list[to] = entry;
        }
    }
}

/* Appends the form of @part, which is ordered. */
static void push_form(struct canon *c, struct canon_part *part)
{
    const uint32_t count = part->end - part->begin;
    uint64_t *p = c->word + c->word_count;

    canon__local_lists(c, part->begin, part->end);
    *p++ = count;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t end = c->list_end[i];
        uint32_t k = c->list_begin[i];

        while (k < end && c->list[k] >> 16 < i)
            k++;
        *p++ = (uint64_t)c->cell[c->set[part->begin + i]] << 32 | (end - k);
        for (; k < end; k++)
            *p++ = c->list[k];
    }
    part->form_begin = c->word_count;
    part->form_count = (size_t)(p - c->word) - c->word_count;
    c->word_count += part->form_count;
}

static int compare_forms(const struct canon *c, const struct canon_part *a,
                         const struct canon_part *b)
{
    const uint64_t *x = c->word + a->form_begin, *y = c->word + b->form_begin;

    if (a->form_count != b->form_count)
        return a->form_count < b->form_count ? -1 : 1;
    for (size_t i = 0; i < a->form_count; i++)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return 0;
}

/*
 * Gives every vertex of set[begin, end) the number of its component, 0 if it is alone in its cell.
 * Returns: the number of components, numbered from *first.
 */
static uint32_t find_components(struct canon *c, uint32_t begin, uint32_t end, uint32_t *first)
{
    const uint32_t whole = c->owner[c->set[begin]];
    uint32_t *const stack = c->set_spare;

    *first = c->owner_last + 1;
    for (uint32_t i = begin; i < end; i++) {
        const uint32_t cell = c->cell[c->set[i]];
        const int is_alone = (i == begin || c->cell[c->set[i - 1]] != cell) &&
                             (i + 1 == end || c->cell[c->set[i + 1]] != cell);

        if (is_alone)
            c->owner[c->set[i]] = 0;
    }
    for (uint32_t i = begin; i < end; i++) {
        uint32_t depth = 0;

        if (c->owner[c->set[i]] != whole)
            continue;
        c->owner[c->set[i]] = ++c->owner_last;
        stack[depth++] = c->set[i];
        while (depth > 0) {
            const uint32_t v = stack[--depth];

            for (uint32_t k = c->half_begin[v]; k < c->half_begin[v + 1]; k++) {
                const uint32_t u = c->half[k].vertex;

                if (c->owner[u] == whole) {
                    c->owner[u] = c->owner_last;
                    stack[depth++] = u;
                }
            }
        }
    }
    return c->owner_last - *first + 1;
}

/*
 * Moves the members of the components apart, each still sorted by cell, those alone in front.
 * Pushes the components; returns where the first begins.
 */
static uint32_t move_apart(struct canon *c, uint32_t begin, uint32_t end, uint32_t first,
                           uint32_t parts)
{
    struct canon_part *const part = c->part + c->part_count;
    uint32_t next = begin, alone = begin;

    for (uint32_t k = 0; k < parts; k++)
        part[k] = (struct canon_part){.begin = 0};
    for (uint32_t i = begin; i < end; i++) {
        const uint32_t owner = c->owner[c->set[i]];

        if (owner == 0)
            next++;
        else
            part[owner - first].end++; /* for now: how many */
    }
    for (uint32_t k = 0; k < parts; k++) {
        part[k].begin = next;
        next += part[k].end;
        part[k].end = part[k].begin;
    }
    memcpy(c->set_spare + begin, c->set + begin, (end - begin) * sizeof *c->set);
    for (uint32_t i = begin; i < end; i++) {
        const uint32_t v = c->set_spare[i], owner = c->owner[v];

        if (owner == 0)
            c->set[alone++] = v;
        else
            c->set[part[owner - first].end++] = v;
    }
    c->part_count += parts;
    return alone;
}

/* Bottom-up merge sort of part[0, count) by form; @order receives numbers of parts. */
static void sort_parts(struct canon *c, const struct canon_part *part, uint32_t count,
                       uint32_t *order, uint32_t *spare)
{
    for (uint32_t i = 0; i < count; i++)
        order[i] = i;
    for (uint32_t run = 1; run < count; run *= 2) {
        for (uint32_t begin = 0; begin < count; begin += 2 * run) {
            const uint32_t middle = count - begin < run ? count : begin + run;
            const uint32_t end = count - begin < 2 * run ? count : begin + 2 * run;
            uint32_t a = begin, b = middle;

            for (uint32_t i = begin; i < end; i++) {
                const int take_b = a == middle || (b < end && compare_forms(c, &part[order[b]],
                                                                            &part[order[a]]) < 0);

                spare[i] = take_b ? order[b++] : order[a++];
            }
        }
        memcpy(order, spare, count * sizeof *order);
    }
}

/* Puts set[begin, end) in the order: cell, rank of the component, order in the component. */
static void merge_parts(struct canon *c, uint32_t begin, uint32_t end, uint32_t alone_end,
                        const struct canon_part *part, uint32_t parts)
{
    /* Arrays of the local lists, which nobody needs now. */
    uint32_t *const rank = c->list_end, *const spare = c->list_begin;
    uint32_t count = 0;

    sort_parts(c, part, parts, rank, spare);
    for (uint32_t i = begin; i < alone_end; i++)
        c->keyed[count++] = (struct canon_keyed){c->cell[c->set[i]], c->set[i]};
    for (uint32_t k = 0; k < parts; k++)
        for (uint32_t i = part[rank[k]].begin; i < part[rank[k]].end; i++)
            c->keyed[count++] = (struct canon_keyed){c->cell[c->set[i]], c->set[i]};
    dcheck(count == end - begin, "%u of %u", count, end - begin);
    canon__sort(c, 0, count);
    for (uint32_t i = 0; i < count; i++)
        c->set[begin + i] = c->keyed[i].value;
}

/* Orders set[begin, end), sorted by cell, all with one owner; stays sorted by cell. */
static int order_set(struct canon *c, uint32_t begin, uint32_t end)
{
    const uint32_t part_base = c->part_count;
    const size_t word_base = c->word_count;
    uint32_t parts, first, alone_end;

    if (end - begin <= 1)
        return CANON_OK;
    parts = find_components(c, begin, end, &first);
    if (parts == 0)
        return CANON_OK; /* all are alone: the cells are the order */
    alone_end = move_apart(c, begin, end, first, parts);
    if (parts == 1 && alone_end == begin) {
        c->part_count = part_base;
        return canon__search(c, begin, end);
    }
    for (uint32_t k = part_base; k < part_base + parts; k++) {
        if (order_set(c, c->part[k].begin, c->part[k].end) == CANON_TOO_LARGE)
            return CANON_TOO_LARGE;
        push_form(c, &c->part[k]);
    }
    merge_parts(c, begin, end, alone_end, c->part + part_base, parts);
    c->part_count = part_base;
    c->word_count = word_base;
    return CANON_OK;
}

int canon__split(struct canon *c)
{
    const size_t row_bytes = c->vertex_count * sizeof *c->set;

    memcpy(c->set, c->order, row_bytes); /* sorted by cell: that is what cells are */
    for (uint32_t v = 0; v < c->vertex_count; v++)
        c->owner[v] = 1;
    c->owner_last = 1;
    memset(c->local_stamp, 0, row_bytes);
    c->local_stamp_now = 0;
    c->part_count = 0;
    c->word_count = 0;
    if (order_set(c, 0, c->vertex_count) == CANON_TOO_LARGE)
        return CANON_TOO_LARGE;
    for (uint32_t i = 0; i < c->vertex_count; i++) {
        c->order[i] = c->set[i];
        c->position[c->set[i]] = i;
    }
    return CANON_OK;
}
