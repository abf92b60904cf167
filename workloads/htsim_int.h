/*
 * htsim_int.h - what the readers of csg-htsim's files share. For workloads/ and its tests only.
 */
#ifndef WH_HTSIM_INT_H
#define WH_HTSIM_INT_H

#include "htsim.h"

#include "textfile.h"

/* htsim__is_word - equal but for the case of letters, as htsim compares keys of a topology. */
int htsim__is_word(const char *a, const char *b);

/* htsim__nearest - the one of @names (shape [count]) that is most like @word. */
const char *htsim__nearest(const char *word, const char *const *names, uint32_t count);

/* Unknown keys are worth one warning each, but not thousands. */
struct htsim_unknown {
    char name[16][32];
    uint32_t count;
};

/* htsim__warn_unknown - warns of token[0] of the current line, once for each key. */
void htsim__warn_unknown(struct htsim_unknown *u, const struct textfile *t,
                         const char *const *names, uint32_t count, const struct warn_sink *sink);

/* htsim__build_topo - t->topo from the sizes in @t, without the uplinks of aggregation switches
 * that
 * @is_failed marks (shape [agg_count][radix_up of tier 1], or NULL). Returns 0 or WH_ERR_NOMEM. */
int htsim__build_topo(struct htsim_topo *t, const uint8_t *is_failed) WH_MUST_CHECK;

#endif
