/*
 * run_htsim.h - connection matrices of htsim on the packet engine: connections that wait for
 * triggers are started by the connections that fire them.
 *
 * send_done fires when the sender has the acknowledgement of the last byte, recv_done when the
 * receiver has the last byte; what is released starts at that instant, by row.
 * Threading: one thread, the one that runs the simulation.
 */
#ifndef WH_RUN_HTSIM_H
#define WH_RUN_HTSIM_H

#include "htsim.h"

struct run_htsim;

/*
 * run_htsim_create - for the simulation of @sc, which holds what htsim_to_flows made of @cm, and
 * nothing else.
 * @cm: kept
 * Errors: WH_ERR_INPUT (an endless connection without an end time), WH_ERR_NOMEM.
 */
int run_htsim_create(struct run_htsim **out, const struct htsim_cm *cm, const struct scenario *sc,
                     struct err_info *e) WH_MUST_CHECK;
void run_htsim_destroy(struct run_htsim *r); /* NULL is accepted */

/*
 * run_htsim_run - to the end; sets the hooks of @s.
 * @poll: as sim_hooks.on_poll; may be NULL
 * Returns: 0; WH_ERR_INPUT if connections wait for triggers that can fire no more (see
 * run_htsim_blocked), or a oneshot fires twice; WH_ERR_INTERRUPTED; WH_ERR_NOMEM.
 */
int run_htsim_run(struct run_htsim *r, struct sim *s, int (*poll)(void *ctx, struct sim *s),
                  void *poll_ctx, struct err_info *e) WH_MUST_CHECK;

/* run_htsim_blocked - which connections wait for what, as dag_blocked. */
uint64_t run_htsim_blocked(const struct run_htsim *r, uint64_t max,
                           void (*fn)(void *ctx, const char *text), void *ctx);

/* run_htsim_flow - the flow of a connection, HTSIM_NONE if it has not started. */
uint32_t run_htsim_flow(const struct run_htsim *r, uint32_t conn);

#endif
