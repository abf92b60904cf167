/*
 * canon_refine.c - colour refinement: classes are split by what their vertices see in the others.
 *
 * Weisfeiler-Leman of dimension 1 with edge labels, in the manner of Hopcroft and of Paige and
 * Tarjan ("Three partition refinement algorithms", SIAM J. Comput. 16(6), 1987): a cell, the
 * splitter, gives every neighbour the sum of the weights of the edges between them; cells whose
 * vertices got different sums are split, in the order of the sums. Of the pieces all but a largest
 * become splitters, since sums of the whole and of the other pieces tell those of the last:
 * O(edges * log vertices).
 *
 * A sum stands for a multiset of labels. Two multisets with one sum would leave a cell coarser than
 * it could be, for every numbering alike: hence the same form still.
 *
 * What happens depends on cells, their starts, counts and sums alone, never on numbers of vertices
 * or the order inside a cell: so the order of the cells in the end is canonical.
 */
#include "canon_int.h"

#include <string.h>

static void push_cell(struct canon *c, uint32_t start)
{
    uint32_t tail = c->queue_head + c->queue_count;

    if (tail >= c->vertex_count)
        tail -= c->vertex_count;
    dcheck(!c->is_queued[start] && c->queue_count < c->vertex_count, "cell %u", start);
    c->queue[tail] = start;
    c->is_queued[start] = 1;
    c->queue_count++;
}

static uint32_t pop_cell(struct canon *c)
{
    const uint32_t start = c->queue[c->queue_head];

    if (++c->queue_head == c->vertex_count)
        c->queue_head = 0;
    c->queue_count--;
    c->is_queued[start] = 0;
    return start;
}

static void queue_all(struct canon *c)
{
    c->queue_head = c->queue_count = 0;
    memset(c->is_queued, 0, c->vertex_count);
    for (uint32_t start = 0; start < c->vertex_count; start += c->cell_count[start])
        push_cell(c, start);
}

/* Puts @v among those of its cell that are hit: at the end. */
static void move_to_hits(struct canon *c, uint32_t v)
{
    const uint32_t start = c->cell[v];
    const uint32_t to = start + c->cell_count[start] - ++c->hit_count[start];
    const uint32_t from = c->position[v], other = c->order[to];

    c->order[from] = other;
    c->position[other] = from;
    c->order[to] = v;
    c->position[v] = to;
    c->is_hit[v] = 1;
}

/* Adds up what the splitter gives. Leaves the cells that were hit in keyed[0..]; returns how many.
 */
static uint32_t hit_neighbours(struct canon *c, uint32_t start)
{
    const uint32_t count = c->cell_count[start];
    uint32_t cells = 0;

    /* A copy, since hits move vertices in their cells, and the splitter may hit itself. */
    memcpy(c->splitter, c->order + start, count * sizeof *c->splitter);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t v = c->splitter[i], end = c->half_begin[v + 1];

        for (uint32_t k = c->half_begin[v]; k < end; k++) {
            const uint32_t u = c->half[k].vertex, cell = c->cell[u];

            if (c->cell_count[cell] == 1)
                continue;
            if (!c->is_hit[u]) {
                if (c->hit_count[cell] == 0)
                    c->keyed[cells++].key = cell;
                move_to_hits(c, u);
            }
            c->sum[u] += c->half[k].weight;
        }
    }
    return cells;
}

/* Sorts the vertices order[begin, end) by their sums, for which scratch lies at keyed[@scratch]. */
static void sort_by_sum(struct canon *c, uint32_t begin, uint32_t end, uint32_t scratch)
{
    for (uint32_t i = begin; i < end; i++)
        c->keyed[scratch + i - begin] = (struct canon_keyed){c->sum[c->order[i]], c->order[i]};
    canon__sort(c, scratch, end - begin);
    for (uint32_t i = begin; i < end; i++) {
        c->order[i] = c->keyed[scratch + i - begin].value;
        c->position[c->order[i]] = i;
    }
}

/* Cuts order[begin, end) off the front of the cell that held it. */
static void cut_cell(struct canon *c, uint32_t begin, uint32_t end)
{
    for (uint32_t i = begin; i < end; i++)
        c->cell[c->order[i]] = begin;
    c->cell_count[begin] = end - begin;
    c->cell_total++;
}

/* Queues the pieces of what was the cell [start, end). */
static void queue_pieces(struct canon *c, uint32_t start, uint32_t end)
{
    uint32_t largest = start;

    if (c->is_queued[start]) { /* as a whole it still had to be a splitter: so all pieces have to */
        for (uint32_t p = start + c->cell_count[start]; p < end; p += c->cell_count[p])
            push_cell(c, p);
        return;
    }
    for (uint32_t p = start; p < end; p += c->cell_count[p])
        if (c->cell_count[p] > c->cell_count[largest])
            largest = p;
    for (uint32_t p = start; p < end; p += c->cell_count[p])
        if (p != largest)
            push_cell(c, p);
}

static int is_one_sum(const struct canon *c, uint32_t begin, uint32_t end)
{
    for (uint32_t i = begin + 1; i < end; i++)
        if (c->sum[c->order[i]] != c->sum[c->order[begin]])
            return 0;
    return 1;
}

/* Splits a cell that was hit: those that were not, then the others by their sums. */
static void split_cell(struct canon *c, uint32_t start, uint32_t scratch)
{
    const uint32_t end = start + c->cell_count[start], hits = end - c->hit_count[start];
    const int is_uniform = is_one_sum(c, hits, end);

    if (!is_uniform)
        sort_by_sum(c, hits, end, scratch);
    if (!is_uniform || hits > start) {
        uint32_t begin = hits;

        for (uint32_t i = hits + 1; i <= end; i++)
            if (i == end || c->sum[c->order[i]] != c->sum[c->order[begin]]) {
                if (begin > start)
                    cut_cell(c, begin, i);
                else
                    c->cell_count[start] = i - start;
                begin = i;
            }
        if (hits > start)
            c->cell_count[start] = hits - start;
        queue_pieces(c, start, end);
    }
    for (uint32_t i = hits; i < end; i++) {
        c->sum[c->order[i]] = 0;
        c->is_hit[c->order[i]] = 0;
    }
    c->hit_count[start] = 0;
}

void canon__refine(struct canon *c)
{
    queue_all(c);
    while (c->queue_count > 0 && c->cell_total < c->vertex_count) {
        const uint32_t cells = hit_neighbours(c, pop_cell(c));

        canon__sort(c, 0, cells); /* the order in which they were hit says nothing */
        for (uint32_t i = 0; i < cells; i++)
            split_cell(c, (uint32_t)c->keyed[i].key, cells);
    }
}
