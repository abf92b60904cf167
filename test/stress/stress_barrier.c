/*
 * stress_barrier.c - sched/barrier.c and sched/park.c: many generations, teams larger than the
 * machine, waiters that spin and waiters that sleep, changes at the moment of falling asleep.
 *
 * What the members write between barriers is plain on purpose: the barrier is all that orders it,
 * for ThreadSanitizer too. Usage: stress_barrier [factor on the number of generations]
 */
#include "barrier.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#define MEMBERS_MAX 8
#define SLEEPERS_MAX 3

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

struct dormitory {
    struct park_word word;
    uint64_t nap_count;             /* of each sleeper */
    _Atomic uint32_t sleeper_count; /* who has not had them all */
};

static void *take_naps(void *arg)
{
    const struct park_policy sleep = {0, 0};
    struct dormitory *d = arg;

    for (uint64_t naps = 0; naps < d->nap_count;)
        naps += (uint64_t)park_change(&d->word, park_load(&d->word), &sleep);
    atomic_fetch_sub(&d->sleeper_count, 1);
    return NULL;
}

/* Bumps come at all moments of falling asleep, so some find a sleeper announced that then does not
 * sleep; they go on until all have had their naps. Each nap must be ended by a bump that knew. */
static int run_naps(uint32_t sleeper_count, uint64_t nap_count)
{
    struct dormitory d = {.nap_count = nap_count, .sleeper_count = sleeper_count};
    pthread_t thread[SLEEPERS_MAX];
    uint64_t wake_count = 0;

    park_init(&d.word);
    for (uint32_t i = 0; i < sleeper_count; i++)
        if (pthread_create(&thread[i], NULL, take_naps, &d))
            return 1;
    while (atomic_load(&d.sleeper_count)) {
        wake_count += (uint64_t)park_bump(&d.word);
        (void)sched_yield(); /* or they hardly get as far as sleeping */
    }
    for (uint32_t i = 0; i < sleeper_count; i++)
        (void)pthread_join(thread[i], NULL);
    printf("%u sleepers: %llu naps each\n", sleeper_count, (unsigned long long)nap_count);
    if (wake_count >= nap_count)
        return 0;
    fprintf(stderr, "%u sleepers: woken %llu times only\n", sleeper_count,
            (unsigned long long)wake_count);
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
    for (uint32_t sleepers = 1; sleepers <= SLEEPERS_MAX; sleepers++)
        rc |= run_naps(sleepers, factor * 5000);
    return rc;
}
