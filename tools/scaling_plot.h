/*
 * scaling_plot.h - speed-ups as a picture, drawn by the program gnuplot. Threading: one thread.
 */
#ifndef WH_SCALING_PLOT_H
#define WH_SCALING_PLOT_H

#include "out_file.h"
#include "scaling.h"

/* scaling_plot_find - Errors: WH_ERR_INPUT with a sentence if there is no gnuplot to run. */
int scaling_plot_find(struct err_info *e) WH_MUST_CHECK;

/* scaling_plot_script - what gnuplot is told; it then writes SVG on its standard output. */
void scaling_plot_script(FILE *script, const struct scaling *s);

/* scaling_plot_svg - draws into @o. Errors: WH_ERR_IO with a sentence if gnuplot fails. */
int scaling_plot_svg(struct out_file *o, const struct scaling *s, struct err_info *e) WH_MUST_CHECK;

#endif
