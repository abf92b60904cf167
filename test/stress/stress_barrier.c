/*
 * stress_barrier.c - sched/barrier.c and sched/park.c: many generations, teams larger than the
 * machine, waiters that spin and waiters that sleep.
 *
 * What the members write between barriers is plain on purpose: the barrier is all that orders it,
 * for ThreadSanitizer too. Usage: stress_barrier [factor on the number of generations]
 */
#include "barrier.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define MEMBERS_MAX 8

struct team {
    struct barrier barrier;
    struct park_policy policy;
    uint32_t member_count;
    uint64_t generation_count;
    uint64_t token; /* each generation one member in turn adds to it, all read it */
    uint64_t wrong_count[MEMBERS_MAX], last_count[MEMBERS_MAX];
};

struct member {
    struct team *team;
    uint32_t id;
};

static void *live_in_team(void *arg)
{
    const struct member *m = arg;
    struct team *t = m->team;

    for (uint64_t g = 0; g < t->generation_count; g++) {
        if (g % t->member_count == m->id)
            t->token++;
        t->last_count[m->id] += (uint64_t)barrier_wait(&t->barrier, t->member_count, &t->policy);
        t->wrong_count[m->id] += t->token != g + 1;
        t->last_count[m->id] += (uint64_t)barrier_wait(&t->barrier, t->member_count, &t->policy);
    }
    return NULL;
}

static int run_team(uint32_t member_count, struct park_policy policy, uint64_t generation_count)
{
    struct team t = {
        .policy = policy, .member_count = member_count, .generation_count = generation_count};
    struct member member[MEMBERS_MAX];
    pthread_t thread[MEMBERS_MAX];
    uint64_t wrong = 0, last = 0;

    barrier_init(&t.barrier);
    for (uint32_t i = 0; i < member_count; i++) {
        member[i] = (struct member){&t, i};
        if (pthread_create(&thread[i], NULL, live_in_team, &member[i]))
            return 1;
    }
    for (uint32_t i = 0; i < member_count; i++) {
        (void)pthread_join(thread[i], NULL);
        wrong += t.wrong_count[i];
        last += t.last_count[i];
    }
    printf("%u members, %u spins, %u yields: %llu generations\n", member_count, policy.spin_count,
           policy.yield_count, (unsigned long long)generation_count);
    if (!wrong && last == 2 * generation_count)
        return 0;
    fprintf(stderr, "%u members: %llu wrong readings, %llu last ones in %llu barriers\n",
            member_count, (unsigned long long)wrong, (unsigned long long)last,
            (unsigned long long)(2 * generation_count));
    return 1;
}

int main(int argc, char **argv)
{
    const uint64_t factor = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    const struct park_policy spin = {PARK_SPINS_DEFAULT, PARK_YIELDS_DEFAULT};
    const struct park_policy yield = {0, 4}, sleep = {0, 0};
    int rc = 0;

    rc |= run_team(2, spin, factor * 100000);
    rc |= run_team(2, sleep, factor * 20000);
    for (uint32_t members = 3; members <= MEMBERS_MAX; members += 5) {
        rc |= run_team(members, spin, factor * 2000);
        rc |= run_team(members, yield, factor * 5000);
        rc |= run_team(members, sleep, factor * 5000);
    }
    return rc;
}
