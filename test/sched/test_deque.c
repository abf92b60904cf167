/*
 * test_deque.c - sched/deque.c from one thread: order, growth, and a naive twin. What happens
 * between threads is in test/stress/stress_deque.c.
 */
#include "deque.h"

#include <criterion/criterion.h>
#include <string.h>

#define ITEMS 4096

static char item[ITEMS];

static struct deque create(uint32_t slot_count)
{
    struct deque d;

    memset(&d, 0, sizeof d);
    cr_assert_eq(deque_init(&d, slot_count), 0);
    return d;
}

static void push_range(struct deque *d, int from, int to)
{
    for (int i = from; i < to; i++)
        cr_assert_eq(deque_push(d, &item[i]), 0);
}

Test(deque, empty_one_gives_nothing)
{
    struct deque d = create(4);
    void *got = &item[7];

    cr_assert_null(deque_pop(&d));
    cr_assert_eq(deque_steal(&d, &got), DEQUE_EMPTY);
    cr_assert_eq(got, &item[7], "a failed steal leaves the result alone");
    cr_assert_null(deque_pop(&d));
    deque_fini(&d);
}

Test(deque, pop_takes_the_newest)
{
    struct deque d = create(4);

    push_range(&d, 0, 3);
    for (int i = 2; i >= 0; i--)
        cr_assert_eq(deque_pop(&d), &item[i]);
    cr_assert_null(deque_pop(&d));
    deque_fini(&d);
}

Test(deque, steal_takes_the_oldest)
{
    struct deque d = create(4);
    void *got = NULL;

    push_range(&d, 0, 3);
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(deque_steal(&d, &got), DEQUE_TAKEN);
        cr_assert_eq(got, &item[i]);
    }
    cr_assert_eq(deque_steal(&d, &got), DEQUE_EMPTY);
    deque_fini(&d);
}

Test(deque, last_item_is_taken_once)
{
    struct deque d = create(4);
    void *got = NULL;

    push_range(&d, 0, 1);
    cr_assert_eq(deque_pop(&d), &item[0]);
    cr_assert_eq(deque_steal(&d, &got), DEQUE_EMPTY);
    push_range(&d, 1, 2);
    cr_assert_eq(deque_steal(&d, &got), DEQUE_TAKEN);
    cr_assert_eq(got, &item[1]);
    cr_assert_null(deque_pop(&d));
    deque_fini(&d);
}

Test(deque, growth_keeps_order_and_old_arrays)
{
    struct deque d = create(1);
    void *got = NULL;

    push_range(&d, 0, 1000);
    cr_assert_not_null(d.retired, "thieves may still read the outgrown arrays");
    for (int i = 0; i < 500; i++) {
        cr_assert_eq(deque_steal(&d, &got), DEQUE_TAKEN);
        cr_assert_eq(got, &item[i]);
    }
    for (int i = 999; i >= 500; i--)
        cr_assert_eq(deque_pop(&d), &item[i]);
    cr_assert_null(deque_pop(&d));
    deque_reclaim(&d);
    cr_assert_null(d.retired);
    push_range(&d, 0, 2);
    cr_assert_eq(deque_pop(&d), &item[1]);
    deque_fini(&d);
}

Test(deque, indices_wrap_without_growth)
{
    struct deque d = create(8);
    void *got = NULL;

    for (int round = 0; round < 1000; round++) {
        push_range(&d, round % 100, round % 100 + 7);
        for (int i = 0; i < 7; i++) {
            cr_assert_eq(deque_steal(&d, &got), DEQUE_TAKEN);
            cr_assert_eq(got, &item[round % 100 + i]);
        }
    }
    cr_assert_null(d.retired, "7 of 8 slots were in use at most");
    deque_fini(&d);
}

/* The twin: the tape itself, from first to last. */
struct twin {
    void *tape[ITEMS];
    int first, last;
};

static void step(struct deque *d, struct twin *t, uint32_t draw)
{
    void *got = NULL;

    if (draw % 5 < 2 && t->last < ITEMS) {
        cr_assert_eq(deque_push(d, &item[t->last]), 0);
        t->tape[t->last] = &item[t->last];
        t->last++;
    } else if (draw % 5 < 4) {
        cr_assert_eq(deque_pop(d), t->first < t->last ? t->tape[t->last - 1] : NULL);
        t->last -= t->first < t->last;
    } else if (t->first < t->last) {
        cr_assert_eq(deque_steal(d, &got), DEQUE_TAKEN);
        cr_assert_eq(got, t->tape[t->first++]);
    } else {
        cr_assert_eq(deque_steal(d, &got), DEQUE_EMPTY);
    }
}

Test(deque, random_operations_agree_with_a_naive_twin)
{
    for (uint32_t seed = 1; seed <= 100; seed++) {
        struct deque d = create(2);
        static struct twin t;
        uint32_t state = seed * 2654435761u;

        t.first = t.last = 0;
        for (int i = 0; i < 5000; i++) {
            state = state * 1664525u + 1013904223u;
            /* Phases of more pushes than takes, so that it grows. */
            step(&d, &t, i / 500 % 2 ? (state >> 16) % 2 : state >> 16);
            if (i % 1000 == 0)
                deque_reclaim(&d);
        }
        while (t.first < t.last)
            cr_assert_eq(deque_pop(&d), t.tape[--t.last]);
        cr_assert_null(deque_pop(&d));
        deque_fini(&d);
    }
}
