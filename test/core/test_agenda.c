/*
 * test_agenda.c - keys come back in order, however they were put.
 */
#include "agenda.h"
#include "rng.h"

#include <criterion/criterion.h>

enum { KEYS = 3000, KINDS = 12 };

/* The naive one: all keys, and which of them are there. */
struct model {
    struct agenda_key key[KEYS];
    uint8_t is_there[KEYS];
};

static const struct agenda_key *first_of(const struct model *m)
{
    const struct agenda_key *first = NULL;

    for (uint32_t i = 0; i < KEYS; i++)
        if (m->is_there[i] && (!first || agenda_is_before(&m->key[i], first)))
            first = &m->key[i];
    return first;
}

static void take_first(struct agenda *a, struct model *m, int64_t *now)
{
    const struct agenda_key *is = agenda_first(a), *should = first_of(m);

    cr_assert_eq(!is, !should);
    if (!is)
        return;
    cr_assert_eq(is->row, should->row, "at %lld: row %u, not %u", (long long)should->time, is->row,
                 should->row);
    *now = is->time;
    m->is_there[should->row] = 0;
    agenda_take(a);
}

static int is_even(const void *arg, const struct agenda_key *key)
{
    (void)arg;
    return key->row % 2 == 0;
}

static void keep_even(struct agenda *a, struct model *m)
{
    agenda_filter(a, is_even, NULL);
    for (uint32_t i = 1; i < KEYS; i += 2)
        m->is_there[i] = 0;
}

static void count(void *arg, const struct agenda_key *key)
{
    (void)key;
    ++*(uint32_t *)arg;
}

/* Of @kinds kinds, each so far ahead of the last key taken; kind 0 anywhere. */
static void run(uint64_t seed, uint64_t kinds, uint64_t spread)
{
    static struct model m;
    struct agenda a = {.count = 0};
    int64_t now = 0;
    uint32_t left = 0;

    m = (struct model){.is_there = {0}};
    for (uint32_t i = 0; i < KEYS; i++) {
        const uint64_t kind = rng_u64(seed, 1, i) % kinds;
        const uint64_t ahead = kind ? 100 * kind : rng_u64(seed, 2, i) % spread;

        m.key[i] = (struct agenda_key){now + (int64_t)ahead, rng_u64(seed, 3, i), i};
        m.is_there[i] = 1;
        cr_assert_eq(agenda_put(&a, &m.key[i]), 0);
        for (uint64_t n = rng_u64(seed, 4, i) % 3; n; n--)
            take_first(&a, &m, &now);
        if (i == KEYS / 2)
            keep_even(&a, &m);
    }
    agenda_each(&a, count, &left);
    cr_assert_eq(left, a.count);
    while (a.count)
        take_first(&a, &m, &now);
    cr_assert(!first_of(&m));
    agenda_fini(&a);
}

Test(agenda, keys_come_back_in_order)
{
    for (uint64_t seed = 1; seed <= 4; seed++)
        for (uint64_t kinds = 1; kinds <= KINDS; kinds += 3)
            run(seed, kinds, seed % 2 ? 4 : 5000);
}
