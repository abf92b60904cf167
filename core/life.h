/*
 * life.h - flows that live alone and whose whole life is known are not executed. For core/.
 *
 * A flow that starts on idle ports and shares none of them until it completes does what every such
 * flow of its size does on such a path. What that is, from start to completion, is remembered
 * within the run, and by the fcg lens in its file; the next one only waits for its delivery and its
 * completion. Unlike an episode (episode.c) it needs no state saved, compared or restored, and its
 * sender is not even started: messages of collectives live like this by the million. What is known
 * is exact under both lenses.
 *
 * Committed late, as episodes are: if a control event touches the partition, the flow is started
 * after all, at the time when it was, and executed up to now. So results are the same.
 *
 * Threading: the coordinator.
 */
#ifndef WH_LIFE_H
#define WH_LIFE_H

#include <stdint.h>

struct part;
struct part_note;
struct sim;

struct life;

/* The flow, just admitted, is about to start. Returns 1 if its life is known: then it must not. */
int life_begin(struct part *p, uint32_t flow);
/* Is it observed, and must look nothing up meanwhile? */
int life_must_execute(const struct part *p);
/* A control event at @global_ps touches the partition: whatever is known of its flow ends here. */
void life_disturb(struct part *p, int64_t global_ps);
/* A delivery of the partition is being taken. Returns 1 if that does not disturb it. */
int life_note_delivered(struct part *p, const struct part_note *n);
/* A completion is being taken; a life that was observed from the start is remembered. */
void life_note_completed(struct part *p, const struct part_note *n);
/* The partition, which lives as known, notes what it has waited for until part.wake. */
void life_step(struct part *p);

void life_fini_part(struct part *p);
void life_fini(struct sim *s);

#endif
