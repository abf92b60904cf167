/*
 * accel.h - what makes a run cheaper than its packets: skipping of steady phases (steady/) and the
 * memo of episodes (memo/), attached to a simulation. For the library and the command.
 *
 * Life: a zeroed struct accel -> accel_attach, before the run -> the run -> accel_save, any number
 * of times -> accel_fini, after sim_destroy. Threading: one thread.
 */
#ifndef WH_ACCEL_H
#define WH_ACCEL_H

#include "memo.h"
#include "scenario.h"
#include "steady.h"

struct accel_spec {
    uint8_t has_steady, has_memo;
    enum memo_lens lens;
    struct detect_spec steady; /* zeroes: defaults */
    const char *memo_path;     /* of the store; NULL: none */
    uint64_t memo_bytes_max;   /* of the table; 0: the default */
    uint32_t threads;          /* of the simulation */
    double audit_share;        /* of skips and hits that are audited, 0..1 */
};

struct accel {
    uint8_t has_steady, has_memo; /* what the simulation was given */
    double audit_share;
    enum memo_lens lens;
    struct steady steady;
    struct memo *memo;
    char memo_path[1024]; /* "": no store is used */
};

/*
 * accel_attach - gives @s what @spec asks for.
 * A store that cannot be used is said in a warning, and the run goes on without it.
 * @a: zeroed; must outlive @s
 * @sc: what @s was made from, but for its topology
 * Errors: WH_ERR_INPUT (with @e): a parameter out of its range. WH_ERR_NOMEM.
 */
int accel_attach(struct accel *a, const struct accel_spec *spec, const struct scenario *sc,
                 struct sim *s, const struct warn_sink *sink, struct err_info *e) WH_MUST_CHECK;

/* accel_save - what was learnt since goes into the store, if there is one. A warning if it cannot.
 */
void accel_save(struct accel *a, const struct warn_sink *sink);

void accel_fini(struct accel *a); /* leaves it zeroed */

#endif
