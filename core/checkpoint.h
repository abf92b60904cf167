/*
 * checkpoint.h - a partition put aside as it stands, executed, and put back. For core/.
 *
 * Rows are copied as they are, the counters included, so nothing of what was executed in between
 * remains. Unlike a snapshot (snapshot.h) a checkpoint is good only for the partition itself and
 * until the next control event, and in exchange it needs no numbering, so that the holder of the
 * partition can take one in the middle of a round.
 *
 * Not held by it: what the watch knows, so skipping may go on afterwards only if it began after the
 * checkpoint, or did not go on meanwhile; what nothing can change between two control events
 * (members, ways, clocks of other partitions), and which rows packets have, which is nobody's
 * business. Threading: the holder of the partition.
 */
#ifndef WH_CHECKPOINT_H
#define WH_CHECKPOINT_H

#include "snapshot.h"

struct part;
struct checkpoint;

/* checkpoint_can - is all that the partition may touch within reach? Not with selective repeat. */
int checkpoint_can(const struct part *p);

/* checkpoint_create, checkpoint_free - memory, which is used again. NULL: out of memory. */
struct checkpoint *checkpoint_create(void);
void checkpoint_free(struct checkpoint *c);

/* checkpoint_take - the partition may then be executed. What was taken before and not put back is
 * forgotten. */
void checkpoint_take(struct part *p, struct checkpoint *c);
void checkpoint_put(struct part *p, struct checkpoint *c);

#endif
