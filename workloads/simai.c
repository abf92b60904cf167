/*
 * simai.c - names and communication groups of SimAI workloads.
 *
 * Ranks are split like digits of a number: the tensor-parallel position is the last digit, then the
 * TP group. Expert-parallel groups are ranks with the same position in ep consecutive TP groups;
 * data-parallel groups have the stride tp * pp, and those among equal experts ep times that.
 */
#include "simai.h"

const char *simai_policy_name(enum simai_policy p)
{
    static const char *const names[SIMAI_POLICY_COUNT] = {
#define POLICY_NAME(name) #name,
        SIMAI_POLICY_LIST(POLICY_NAME)
#undef POLICY_NAME
    };

    return names[p];
}

const char *simai_comm_name(enum simai_comm c)
{
    static const char *const names[SIMAI_COMM_COUNT] = {
#define COMM_NAME(name) #name,
        SIMAI_COMM_LIST(COMM_NAME)
#undef COMM_NAME
    };

    return names[c];
}

const char *simai_scope_name(enum simai_scope s)
{
    static const char *const names[] = {"TP", "DP", "EP", "DP_EP", "all"};

    return names[s];
}

/* Distance between neighbours of a group; each block of size * stride ranks holds stride groups. */
static uint32_t group_stride(const struct simai_workload *w, enum simai_scope s)
{
    switch (s) {
    case SIMAI_DP:
        return w->tp * w->pp;
    case SIMAI_EP:
        return w->tp;
    case SIMAI_DP_EP:
        return w->tp * w->pp * w->ep;
    case SIMAI_TP:
    case SIMAI_ALL:
        break;
    }
    return 1;
}

uint32_t simai_group_size(const struct simai_workload *w, enum simai_scope s)
{
    check(w->rank_count > 0, "groups of a workload of %u ranks", w->rank_count);
    switch (s) {
    case SIMAI_TP:
        return w->tp;
    case SIMAI_DP:
        return w->rank_count / (w->tp * w->pp);
    case SIMAI_EP:
        return w->ep;
    case SIMAI_DP_EP:
        return w->rank_count / (w->tp * w->pp * w->ep);
    case SIMAI_ALL:
        break;
    }
    return w->rank_count;
}

uint32_t simai_group_id(const struct simai_workload *w, enum simai_scope s, uint32_t rank)
{
    uint32_t stride = group_stride(w, s), block = stride * simai_group_size(w, s);

    check(rank < w->rank_count, "rank %u of %u", rank, w->rank_count);
    return rank / block * stride + rank % stride;
}

uint32_t simai_group_member(const struct simai_workload *w, enum simai_scope s, uint32_t group,
                            uint32_t i)
{
    uint32_t stride = group_stride(w, s), size = simai_group_size(w, s);

    check(i < size && group < w->rank_count / size,
          "member %u of group %u: %u ranks in groups of "
          "%u",
          i, group, w->rank_count, size);
    return group / stride * (stride * size) + group % stride + i * stride;
}
