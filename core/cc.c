/* cc.c - the table of congestion controls, one line each. */
#include "cc.h"

#include "config.h"

static const struct cc_ops *const table[CC_KIND_COUNT] = {
    [CC_NONE] = &cc_none,     [CC_DCQCN] = &cc_dcqcn, [CC_HPCC] = &cc_hpcc,
    [CC_TIMELY] = &cc_timely, [CC_DCTCP] = &cc_dctcp, [CC_SWIFT] = &cc_swift,
};

const struct cc_ops *cc_by_kind(int kind)
{
    return table[kind];
}
