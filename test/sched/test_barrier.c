/*
 * test_barrier.c - sched/barrier.c and sched/park.c with a few threads. The part that TSan
 * runs is test/stress/stress_barrier.c.
 */
#include "barrier.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <sched.h>

#define MEMBERS 5
#define GENERATIONS 2000
#define NAPS 1000

struct team {
    struct barrier barrier;
    struct park_policy policy;
    uint32_t count[MEMBERS]; /* plain on purpose: the barrier is all that orders them */
    uint32_t last_count[MEMBERS];
    uint32_t wrong_count[MEMBERS];
};

struct member {
    struct team *team;
    uint32_t id;
};

static void *live(void *arg)
{
    const struct member *m = arg;
    struct team *t = m->team;

    for (uint32_t g = 1; g <= GENERATIONS; g++) {
        t->count[m->id] = g;
        t->last_count[m->id] += (uint32_t)barrier_wait(&t->barrier, MEMBERS, &t->policy);
        for (uint32_t i = 0; i < MEMBERS; i++)
            t->wrong_count[m->id] += t->count[i] != g;
        (void)barrier_wait(&t->barrier, MEMBERS, &t->policy);
    }
    return NULL;
}

static void run_team(struct team *t)
{
    pthread_t thread[MEMBERS];
    struct member member[MEMBERS];
    uint32_t last_count = 0;

    barrier_init(&t->barrier);
    for (uint32_t i = 0; i < MEMBERS; i++) {
        member[i] = (struct member){t, i};
        cr_assert_eq(pthread_create(&thread[i], NULL, live, &member[i]), 0);
    }
    for (uint32_t i = 0; i < MEMBERS; i++) {
        (void)pthread_join(thread[i], NULL);
        last_count += t->last_count[i];
        cr_assert_eq(t->wrong_count[i], 0, "member %u saw others early or late", i);
    }
    cr_assert_eq(last_count, GENERATIONS, "one member of each generation comes last");
}

Test(barrier, nobody_passes_before_all_have_come)
{
    struct team t = {.policy = {PARK_SPINS_DEFAULT, PARK_YIELDS_DEFAULT}};

    run_team(&t);
}

Test(barrier, sleeping_members_are_woken)
{
    struct team t = {.policy = {0, 0}};

    run_team(&t);
}

Test(barrier, a_team_of_one_never_waits)
{
    const struct park_policy policy = {0, 0};
    struct barrier b;

    barrier_init(&b);
    for (int i = 0; i < 3; i++)
        cr_assert_eq(barrier_wait(&b, 1, &policy), 1);
}

Test(park, a_change_that_has_happened_is_not_waited_for)
{
    const struct park_policy policy = {0, 0};
    struct park_word w;
    uint32_t seen;

    park_init(&w);
    seen = park_load(&w);
    cr_assert_eq(park_bump(&w), 0, "nobody sleeps");
    cr_assert_neq(park_load(&w), seen);
    (void)park_change(&w, seen, &policy);
}

struct nap {
    struct park_word word;
    _Atomic uint32_t is_over; /* the sleeper needs no more bumps */
    uint32_t wake_count;      /* bumps that found somebody to wake */
};

/* Goes on until told: a bump that found somebody to wake may have been seen by that one before it
 * slept, and the next time it does sleep. Yields, so that the sleeper often gets as far. */
static void *bump_until_over(void *arg)
{
    struct nap *n = arg;

    while (!atomic_load(&n->is_over)) {
        n->wake_count += (uint32_t)park_bump(&n->word);
        (void)sched_yield();
    }
    return NULL;
}

Test(park, who_sleeps_says_so_and_is_woken)
{
    const struct park_policy policy = {0, 0};
    struct nap n = {.is_over = 0};
    uint32_t sleep_count = 0;
    pthread_t thread;

    park_init(&n.word);
    cr_assert_eq(pthread_create(&thread, NULL, bump_until_over, &n), 0);
    while (sleep_count < NAPS)
        sleep_count += (uint32_t)park_change(&n.word, park_load(&n.word), &policy);
    atomic_store(&n.is_over, 1);
    (void)pthread_join(thread, NULL);
    cr_assert_geq(n.wake_count, sleep_count, "each sleep was ended by a bump that knew of it");
}
