/*
 * export_flows.c - see export_flows.h.
 */
#include "export_flows.h"

#include "flowgen.h"
#include "hpcc.h"
#include "units.h"

#include <stdlib.h>

int export_flows(FILE *f, const struct sim *s)
{
    const uint32_t flow_count = sim_flow_count(s);
    struct flow_spec *rows = malloc(((size_t)flow_count + 1) * sizeof *rows);
    uint32_t count = 0;
    int rc;

    if (!rows)
        return WH_ERR_NOMEM;
    for (uint32_t i = 0; i < flow_count; i++) {
        const struct flow_result *res = sim_flow_result(s, i);

        if (res->state == FLOW_WAITING)
            continue;
        rows[count] = *sim_flow_spec(s, i);
        rows[count].start_ps = (res->start_ps + PS_PER_NS / 2) / PS_PER_NS * PS_PER_NS;
        count++;
    }
    rc = flows_sort(rows, count);
    if (!rc)
        rc = hpcc_write_flows(f, rows, count);
    free(rows);
    return rc;
}
