/*
 * topogen_int.h - internal to the topology generators.
 */
#ifndef WH_TOPOGEN_INT_H
#define WH_TOPOGEN_INT_H

#include "topogen.h"

/* A graph under construction. The first error sticks, so that the builders need not look at each
 * call. */
struct topo_builder {
    struct topo *t;
    uint32_t host_class, fabric_class, nvlink_class;
    int rc;
};

void topogen__link(struct topo_builder *b, uint32_t from, uint32_t to, uint32_t class_id);

/* Builders: @s is resolved, all nodes exist and have their kind. */
void topogen__single(struct topo_builder *b, const struct topo_spec *s);
void topogen__dumbbell(struct topo_builder *b, const struct topo_spec *s);
void topogen__leaf_spine(struct topo_builder *b, const struct topo_spec *s);
void topogen__clos3(struct topo_builder *b, const struct topo_spec *s); /* fat tree too */
void topogen__rail(struct topo_builder *b, const struct topo_spec *s);
void topogen__torus(struct topo_builder *b, const struct topo_spec *s);
void topogen__dragonfly(struct topo_builder *b, const struct topo_spec *s);

#endif
