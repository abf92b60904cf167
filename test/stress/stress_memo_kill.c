/*
 * stress_memo_kill.c - memo/store.c: two processes fill one file, and one of them is killed at any
 * moment, in the middle of a write too. What had been put stays, nothing is wrong, and the other
 * one goes on.
 *
 * Each process writes, into a page of memory that all share, up to which batch its puts have
 * returned. After each kill the file is opened: the tree is sound, every entry has its key and
 * checksum, and every batch that had been put is there.
 * Usage: stress_memo_kill [trials]; WH_MEMO_KILL_TRIALS does the same (default 40).
 */
#include "memo_fixture.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TRIALS_DEFAULT 40u
#define BATCH 8u
#define BATCHES_MAX 4000u     /* per process; then the file is cleared */
#define ENTRIES_MAX 10000000u /* the second process' entries begin here */
#define KILL_AFTER_MAX_US 12000u
#define SURVIVOR_BATCHES 3u

struct shared {
    _Atomic uint32_t batch_count[2]; /* [atomic, relaxed] read after the process is gone */
    _Atomic int is_putting[2];       /* [atomic, relaxed] as above: it was killed in a put */
    _Atomic int is_killed; /* [atomic, relaxed] the other one is gone: a few more batches */
};

static uint32_t get_batch_count(struct shared *sh, uint32_t id)
{
    return atomic_load_explicit(&sh->batch_count[id], memory_order_relaxed);
}

static void set_batch_count(struct shared *sh, uint32_t id, uint32_t batch_count)
{
    atomic_store_explicit(&sh->batch_count[id], batch_count, memory_order_relaxed);
}

static uint32_t calc_first(uint32_t id, uint32_t batch)
{
    return id * ENTRIES_MAX + batch * BATCH;
}

/* A process of its own. Its exit code says whether all went well. */
static int live_as_writer(struct fixture *f, struct shared *sh, uint32_t id)
{
    struct memo_store *s = NULL;
    uint32_t batch = get_batch_count(sh, id), last = 0;

    if (fixture_try_open(f, &s))
        goto fail;
    while (batch < BATCHES_MAX && (!last || batch < last)) {
        if (!last && atomic_load_explicit(&sh->is_killed, memory_order_relaxed))
            last = batch + SURVIVOR_BATCHES;
        atomic_store_explicit(&sh->is_putting[id], 1, memory_order_relaxed);
        if (fixture_put(f, s, calc_first(id, batch), BATCH))
            goto fail;
        set_batch_count(sh, id, batch + 1);
        atomic_store_explicit(&sh->is_putting[id], 0, memory_order_relaxed);
        if (fixture_get(f, s, calc_first(id, batch++)))
            goto fail;
    }
    memo_store_close(s);
    return 0;
fail:
    fprintf(stderr, "writer %u, batch %u: %s\n", id, batch, f->e.text);
    return 1;
}

static pid_t start_writer(struct fixture *f, struct shared *sh, uint32_t id)
{
    const pid_t pid = fork();

    if (pid == 0)
        _exit(live_as_writer(f, sh, id));
    return pid;
}

/* Everything that was put, and its soundness. Returns 0 if all is well. */
static int check_file(struct fixture *f, struct shared *sh)
{
    struct memo_store_verdict verdict = {0, 0};
    struct memo_store *s = NULL;
    uint32_t wrong = 0;

    if (fixture_try_open(f, &s) || memo_store_verify(s, &verdict, &f->e)) {
        fprintf(stderr, "after a kill: %s\n", f->e.text);
        memo_store_close(s);
        return 1;
    }
    for (uint32_t id = 0; id < 2; id++) {
        const uint32_t batches = get_batch_count(sh, id);

        /* All of the last ones; of the others a sample. */
        for (uint32_t i = 0; i<batches; i += batches - i> 10 ? 7 : 1)
            for (uint32_t k = 0; k < BATCH; k++)
                wrong += fixture_get(f, s, calc_first(id, i) + k) != 0;
    }
    memo_store_close(s);
    if (wrong || verdict.damaged_count)
        fprintf(stderr, "after a kill: %u entries missing or wrong, %llu of %llu damaged\n", wrong,
                (unsigned long long)verdict.damaged_count, (unsigned long long)verdict.entry_count);
    return wrong || verdict.damaged_count;
}

/* In a child, so that the store is never open across a fork. */
static int check_in_child(struct fixture *f, struct shared *sh)
{
    const pid_t pid = fork();
    int status = 1;

    if (pid == 0)
        _exit(check_file(f, sh));
    return pid < 0 || waitpid(pid, &status, 0) != pid || status;
}

static void wait_us(uint32_t us)
{
    const struct timespec t = {0, (long)us * 1000};

    (void)nanosleep(&t, NULL);
}

static int run_trial(struct fixture *f, struct shared *sh, uint32_t trial)
{
    const uint32_t victim = trial % 2;
    int status[2] = {-1, -1}, rc;
    pid_t pid[2];

    atomic_store_explicit(&sh->is_killed, 0, memory_order_relaxed);
    for (uint32_t id = 0; id < 2; id++) {
        atomic_store_explicit(&sh->is_putting[id], 0, memory_order_relaxed);
        pid[id] = start_writer(f, sh, id);
        if (pid[id] < 0)
            return 1;
    }
    wait_us(500 + trial * UINT32_C(2654435761) % KILL_AFTER_MAX_US);
    rc = kill(pid[victim], SIGKILL);
    rc |= waitpid(pid[victim], &status[victim], 0) != pid[victim];
    atomic_store_explicit(&sh->is_killed, 1, memory_order_relaxed);
    rc |= waitpid(pid[!victim], &status[!victim], 0) != pid[!victim];
    if (rc || status[!victim]) {
        fprintf(stderr, "trial %u: the other process ended with status %d\n", trial,
                status[!victim]);
        return 1;
    }
    return check_in_child(f, sh);
}

/* The file has grown enough: starts over. */
static int clear_if_large(struct fixture *f, struct shared *sh)
{
    if (get_batch_count(sh, 0) + get_batch_count(sh, 1) < 500)
        return 0;
    set_batch_count(sh, 0, 0);
    set_batch_count(sh, 1, 0);
    if (!memo_store_clear(f->path, &f->e))
        return 0;
    fprintf(stderr, "clear: %s\n", f->e.text);
    return 1;
}

int main(int argc, char **argv)
{
    const char *text = argc > 1 ? argv[1] : getenv("WH_MEMO_KILL_TRIALS");
    const uint32_t trials = text ? (uint32_t)strtoul(text, NULL, 10) : TRIALS_DEFAULT;
    struct shared *sh =
        mmap(NULL, sizeof *sh, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    uint32_t batches = 0, put_kills = 0;
    struct fixture f;
    int rc = 0;

    if (sh == MAP_FAILED)
        return 1;
    fixture_begin(&f);
    for (uint32_t trial = 0; trial < trials && !rc; trial++) {
        const uint32_t before = get_batch_count(sh, 0) + get_batch_count(sh, 1);

        rc = run_trial(&f, sh, trial);
        put_kills += atomic_load_explicit(&sh->is_putting[trial % 2], memory_order_relaxed) != 0;
        batches += get_batch_count(sh, 0) + get_batch_count(sh, 1) - before;
        rc |= clear_if_large(&f, sh);
    }
    printf("%u kills, %u of them in a put, %u batches put: %s\n", trials, put_kills, batches,
           rc ? "FAILED" : "all sound");
    fixture_end(&f);
    return rc;
}
