/*
 * topogen.h - generated topologies. Hosts have ids 0..H-1, switches follow (NVLink-like ones
 * first).
 */
#ifndef WH_TOPOGEN_H
#define WH_TOPOGEN_H

#include "topology.h"

enum topo_kind {
    TOPO_SINGLE_SWITCH, /* hosts on one switch */
    TOPO_DUMBBELL,      /* hosts/2 on each of two switches, one link (or more) between them */
    TOPO_LEAF_SPINE,
    TOPO_FAT_TREE, /* k pods, k^3/4 hosts (Al-Fares et al., SIGCOMM 2008) */
    TOPO_CLOS3,    /* three tiers, with oversubscription */
    TOPO_RAIL,     /* rail-optimised: servers of g GPUs, GPU i of a server on leaf i of its segment,
                      an NVLink-like switch per server */
    TOPO_TORUS,    /* one host per switch, n-dimensional torus of switches */
    TOPO_DRAGONFLY, /* groups of a switches, p hosts each, h global links each (Kim et al., ISCA
                       2008) */
    TOPO_KIND_COUNT
};

struct topo_spec {
    enum topo_kind kind;
    struct link_class host_link;   /* host - switch */
    struct link_class fabric_link; /* switch - switch; rate 0: as host_link */
    struct link_class nvlink;      /* TOPO_RAIL: GPU - NVSwitch; rate 0: no NVLink-like domain */
    uint32_t hosts;                /* single switch, dumbbell, rail; leaf-spine: total, 0 = leaves x
                                      hosts_per_leaf */
    uint32_t k;                    /* fat tree, even */
    uint32_t leaves, spines, hosts_per_leaf,
        uplinks_per_spine;                              /* leaf-spine; links leaf-spine pair */
    uint32_t cross_links;                               /* dumbbell */
    uint32_t pods, leaves_per_pod, aggs_per_pod, cores; /* clos3; with hosts_per_leaf */
    uint32_t gpus_per_server, servers_per_segment, nvswitches_per_server; /* rail; with spines */
    uint32_t dims[6], dim_count;                                          /* torus */
    uint32_t groups, group_switches, hosts_per_switch, global_links; /* dragonfly: g (0: a h + 1),
                                                                      a, p, h */
};

void topo_spec_init(struct topo_spec *s,
                    enum topo_kind kind); /* sensible defaults, 100 Gb/s 1 us */

/* How much topo_generate makes of a spec. */
struct topo_counts {
    uint64_t hosts, switches, links; /* switches with the NVLink-like ones */
};

/* topo_spec_resolve - fills in what the spec leaves at 0 to be derived (totals, the fabric's link
 * class), checks the rest and counts. topo_generate does this by itself, on a copy. */
int topo_spec_resolve(struct topo_spec *s, struct topo_counts *n, struct err_info *e) WH_MUST_CHECK;
int topo_generate(const struct topo_spec *s, struct topo **out, struct err_info *e) WH_MUST_CHECK;
const char *topo_kind_name(enum topo_kind k); /* "single-switch", "leaf-spine", "fat-tree", ... */
int topo_kind_from_name(const char *name, enum topo_kind *out) WH_MUST_CHECK;

#endif
