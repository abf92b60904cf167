/*
 * scaling_table.h - the table of wormhole bench scaling: for reading, and live while runs go on.
 * Threading: one thread.
 */
#ifndef WH_SCALING_TABLE_H
#define WH_SCALING_TABLE_H

#include "scaling.h"

#include <stdio.h>

#define SCALING_TABLE_COLUMNS 102

/* A run under way. */
struct scaling_now {
    uint32_t row;
    uint32_t run; /* 0: the observed one; else the number of the timed one */
    double wall_s, cpu_s, hops_per_s;
    struct sim_engine_stats st;
};

/*
 * scaling_print_table - a line per row.
 * @now: NULL: nothing is under way
 * @eol: ends each line: "\n", or with what erases the rest of a line on a terminal
 * Returns: the number of lines.
 */
uint32_t scaling_print_table(FILE *out, const struct scaling *s, const struct scaling_now *now,
                             const char *eol);

/* scaling_print_predictions - and what the columns mean. After scaling_predict. */
void scaling_print_predictions(FILE *out, const struct scaling *s);

/* The table on a terminal, drawn over itself. */
struct scaling_live {
    FILE *out; /* NULL: no terminal that it fits on */
    uint32_t line_count;
};

void scaling_live_init(struct scaling_live *l, FILE *out);
void scaling_live_draw(struct scaling_live *l, const struct scaling *s,
                       const struct scaling_now *now);
void scaling_live_erase(struct scaling_live *l);

#endif
