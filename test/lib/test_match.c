/*
 * test_match.c - receives against arrived bytes, also against a naive twin.
 */
#include "match.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static void do_nothing(void *arg)
{
    (void)arg;
}

static struct match *make(void)
{
    struct match *m;

    cr_assert_eq(match_create(&m), 0);
    return m;
}

static void post(struct match *m, const struct match_key *k, int64_t bytes)
{
    struct match_recv *r = malloc(sizeof *r);

    cr_assert_not_null(r);
    *r = (struct match_recv){.fn = do_nothing, .bytes = bytes};
    cr_assert_eq(match_post(m, k, r), 0);
}

/* Bytes of the next filled receive, -1 if there is none. */
static int64_t pop(struct match *m, const struct match_key *k)
{
    struct match_recv *r = match_pop(m, k);
    const int64_t bytes = r ? r->bytes : -1;

    free(r);
    return bytes;
}

static const struct match_key key = {1, 2, 3};

Test(match, several_sends_fill_one_receive)
{
    struct match *m = make();

    post(m, &key, 10);
    cr_assert_eq(match_arrive(m, &key, 4), 0);
    cr_assert_eq(pop(m, &key), -1);
    cr_assert_eq(match_arrive(m, &key, 6), 0);
    cr_assert_eq(pop(m, &key), 10);
    cr_assert_eq(match_key_count(m), 0);
    match_destroy(m);
}

Test(match, one_send_fills_several_receives_in_order)
{
    struct match *m = make();

    cr_assert_eq(match_arrive(m, &key, 10), 0);
    post(m, &key, 3);
    post(m, &key, 4);
    post(m, &key, 5);
    cr_assert_eq(pop(m, &key), 3);
    cr_assert_eq(pop(m, &key), 4);
    cr_assert_eq(pop(m, &key), -1);
    cr_assert_eq(match_arrive(m, &key, 2), 0);
    cr_assert_eq(pop(m, &key), 5);
    match_destroy(m);
}

Test(match, keys_differ_in_each_part)
{
    static const struct match_key others[] = {{2, 1, 3}, {1, 3, 3}, {1, 2, 4}, {3, 2, 3}};
    struct match *m = make();

    post(m, &key, 1);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        cr_assert_eq(match_arrive(m, &others[i], 1), 0);
    cr_assert_eq(pop(m, &key), -1);
    cr_assert_eq(match_key_count(m), 5);
    match_destroy(m);
}

Test(match, empty_receives_wait_for_their_turn)
{
    struct match *m = make();

    post(m, &key, 0);
    cr_assert(match_is_filled(m, &key));
    cr_assert_eq(pop(m, &key), 0);
    post(m, &key, 5);
    post(m, &key, 0);
    cr_assert_eq(pop(m, &key), -1);
    cr_assert_eq(match_arrive(m, &key, 5), 0);
    cr_assert_eq(pop(m, &key), 5);
    cr_assert_eq(pop(m, &key), 0);
    match_destroy(m);
}

Test(match, ever_new_tags_leave_nothing_behind)
{
    struct match *m = make();

    for (uint64_t tag = 0; tag < 10000; tag++) {
        const struct match_key k = {1, 2, tag};

        post(m, &k, 8);
        cr_assert_eq(match_arrive(m, &k, 8), 0);
        cr_assert_eq(pop(m, &k), 8);
    }
    cr_assert_eq(match_key_count(m), 0);
    match_destroy(m);
}

/* The twin: per key a balance and a queue of sizes in plain arrays. */
#define TWIN_KEYS 300
#define TWIN_QUEUE 4000
static struct {
    int64_t balance, queue[TWIN_QUEUE];
    int head, tail;
} twin[TWIN_KEYS];

static int64_t twin_pop(unsigned k)
{
    if (twin[k].head == twin[k].tail || twin[k].balance < twin[k].queue[twin[k].head])
        return -1;
    twin[k].balance -= twin[k].queue[twin[k].head];
    return twin[k].queue[twin[k].head++];
}

Test(match, random_operations_agree_with_a_naive_twin)
{
    struct match *m = make();
    uint64_t x = 1;

    for (int step = 0; step < 200000; step++) {
        x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        const unsigned k = (unsigned)(x >> 40) % TWIN_KEYS;
        const int64_t bytes = (int64_t)((x >> 20) & 15);
        const struct match_key mk = {k % 7, k / 7, k};

        if ((x >> 60) < 6 && twin[k].tail < TWIN_QUEUE) {
            post(m, &mk, bytes);
            twin[k].queue[twin[k].tail++] = bytes;
        } else if ((x >> 60) < 12) {
            cr_assert_eq(match_arrive(m, &mk, bytes), 0);
            twin[k].balance += bytes;
        } else {
            cr_assert_eq(pop(m, &mk), twin_pop(k), "step %d", step);
        }
    }
    match_destroy(m);
}
