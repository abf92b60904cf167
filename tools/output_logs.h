/*
 * output_logs.h - the optional logs of a run: queue lengths, pauses, flow rates, packet events, the
 * HPCC histogram of queue lengths, bytes per link.
 *
 * All are off unless the scenario asks for them. Each has a size cap; a log that reaches it keeps
 * its whole lines so far and counts what it leaves out. docs/output.md explains every column.
 * Threading: the callbacks run on the thread that runs the simulation.
 */
#ifndef WH_OUTPUT_LOGS_H
#define WH_OUTPUT_LOGS_H

#include "out_file.h"
#include "scenario.h"

#define LOG_CAP_DEFAULT_BYTES INT64_C(100000000)

#define LOG_QUEUE_HEADER "time_ns,node,port,queue_bytes"
#define LOG_RATE_HEADER "time_ns,flow,rate_bps,sent_bytes,acked_bytes,cnps"
#define LOG_PACKET_HEADER                                                                          \
    "time_ns,node,port,event,type,flow,seq_bytes,priority,wire_bytes,payload_bytes,queue_bytes,"   \
    "ecn"
#define LOG_LINK_HEADER "time_ns,from,to,port,tx_bytes,utilization"

struct run_logs;

/*
 * run_logs_open - opens the files of all logs that @sc asks for and adds them to @set.
 * @sc, @topo: kept, not owned; both must live until the last call but run_logs_destroy
 * @given_dir: folder that the user gave, NULL if none
 * @dir:       output folder in use
 * Errors: WH_ERR_INPUT (a file cannot be opened), WH_ERR_NOMEM.
 */
int run_logs_open(struct run_logs **out, const struct scenario *sc, const struct topo *topo,
                  const char *given_dir, const char *dir, struct out_set *set,
                  struct err_info *e) WH_MUST_CHECK;
void run_logs_destroy(struct run_logs *l); /* NULL is accepted; files belong to the set */

/* run_logs_needs_packets - there is something to observe while the simulation runs. */
int run_logs_needs_packets(struct run_logs *l);

/* run_logs_attach - installs the monitor in @s, if there is anything to observe. */
int run_logs_attach(struct run_logs *l, struct sim *s) WH_MUST_CHECK;

/* run_logs_finish - the last lines, once the run is over. Returns 0 or WH_ERR_NOMEM. */
int run_logs_finish(struct run_logs *l) WH_MUST_CHECK;

/* run_logs_file - a log's file, NULL if it is off. */
const struct out_file *run_logs_file(const struct run_logs *l, enum log_kind kind);

/* run_logs_name - "queue", "pfc", "rate", "packet", "qlen", "link". */
const char *run_logs_name(enum log_kind kind);

#endif
