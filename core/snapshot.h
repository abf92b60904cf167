/*
 * snapshot.h - the complete state of a partition as bytes, and back. For core/.
 *
 * Numbering: flows in the order of their ids, which is the order in which ties among them are
 * served; ports in the order in which the flows' ways first touch them. Two partitions with equal
 * bytes go on alike, event by event, as long as nothing is drawn at random and no two packets of
 * one flow tie: then equal names are needed as well.
 *
 * Times are relative to a base; positions in flows are local
 * ones. Threading: the holder of the partition, with scratch of its own (part.scratch). One that
 * shards execute is put together first, which only the coordinator may do.
 */
#ifndef WH_SNAPSHOT_H
#define WH_SNAPSHOT_H

#include <stddef.h>
#include <stdint.h>

struct sim;
struct part;

struct bytes {
    uint8_t *at;
    size_t count, cap;
};
void bytes_put(struct bytes *b, const void *from, size_t count);
/* Room for @count more, which are there from now on; to be written in place. */
void *bytes_room(struct bytes *b, size_t count);
void bytes_fini(struct bytes *b);

/* Where the rows of a partition are while it is saved or restored. Valid until the next one. */
struct snapshot_map {
    uint32_t *flow;       /* shape: [flow_count], ids in ascending order; in part.scratch */
    const uint32_t *port; /* shape: [port_count], ids; likewise */
    uint32_t flow_count, port_count;
};

/* Can the partition be saved? Not while anything of it is outside of what is saved. */
int snapshot_can(const struct part *p);

/* snapshot_map - numbers the partition. snapshot_unmap must follow. */
void snapshot_map(struct part *p, struct snapshot_map *m);
/* Numbers the partition as @m says. */
void snapshot_map_as(struct part *p, const struct snapshot_map *m);
void snapshot_unmap(struct part *p, const struct snapshot_map *m);

/*
 * snapshot_save - appends to @out.
 * @base_ps: local; with INT a multiple of 1 ns
 * @with_structure: also what does not change and does not come back: ways, attributes of ports. For
 * keys.
 */
void snapshot_save(struct part *p, const struct snapshot_map *m, int64_t base_ps,
                   int with_structure, struct bytes *out);

/* snapshot_save_names - appends what random draws, and ties among the packets of sprayed flows,
 * depend on: connections and ports. */
void snapshot_save_names(const struct part *p, const struct snapshot_map *m, struct bytes *out);

/* snapshot_restore - the partition takes the state that snapshot_save wrote without structure.
 * Returns the bytes read. */
size_t snapshot_restore(struct part *p, const struct snapshot_map *m, int64_t base_ps,
                        const uint8_t *from);

#endif
