/*
 * foreign_load.h - from options to a network and a workload on it.
 */
#ifndef WH_FOREIGN_LOAD_H
#define WH_FOREIGN_LOAD_H

#include "astra.h"
#include "chakra.h"
#include "foreign_options.h"
#include "htsim.h"
#include "llm.h"
#include "run_chakra.h"
#include "run_goal.h"
#include "run_htsim.h"
#include "run_simai.h"
#include "simai.h"

/* Everything that was read; what a kind does not need stays zero. */
struct foreign {
    struct scenario sc;
    struct htsim_topo htsim; /* its topology has gone to the scenario */
    uint32_t gpus_per_server;
    struct goal *goal;
    struct htsim_cm cm;
    struct run_htsim *run_cm;
    struct simai_workload *simai;
    struct et_set et;
    struct astra_logical logical;
    struct astra_groups groups;
    struct astra_system system;
    struct astra_memory memory;
    struct llm *llm;
    struct run_job job; /* goal, simai, et */
};

/* foreign_load - reads and checks all inputs. @f: zeroed; foreign_fini also after a failure. */
int foreign_load(struct foreign *f, const struct foreign_options *o, const struct warn_sink *sink,
                 struct err_info *e) WH_MUST_CHECK;
void foreign_fini(struct foreign *f);

#endif
