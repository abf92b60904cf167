/*
 * stress_deque.c - sched/deque.c between one owner and several thieves: each item is taken exactly
 * once, and what was written before its push is seen by whoever takes it.
 *
 * The fields of an item are plain on purpose: if two threads took the same item, or the order were
 * missing, ThreadSanitizer would report the race, and the count would be wrong in any build.
 * Usage: stress_deque [factor on the number of items]
 */
#include "deque.h"
#include "park.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THIEVES 3

struct item {
    uint64_t value;
    uint32_t taken_count;
};

struct arena {
    struct deque deque;
    struct item *item; /* shape: [item_count] */
    uint64_t item_count;
    _Atomic int is_over;
    uint64_t stolen_count[THIEVES], lost_count[THIEVES];
    uint64_t popped_count;
};

struct thief {
    struct arena *arena;
    uint32_t id;
};

static uint64_t calc_value(const struct arena *a, const struct item *item)
{
    return (uint64_t)(item - a->item) * 3 + 1;
}

static void take(const struct arena *a, struct item *item)
{
    if (item->value == calc_value(a, item))
        item->taken_count++;
}

static void *live_as_thief(void *arg)
{
    const struct thief *t = arg;
    struct arena *a = t->arena;

    for (;;) {
        /* acquire: pairs with the release in run_arena; read before the last attempt. */
        const int is_over = atomic_load_explicit(&a->is_over, memory_order_acquire);
        void *item = NULL;
        const enum deque_result result = deque_steal(&a->deque, &item);

        if (result == DEQUE_TAKEN) {
            take(a, item);
            a->stolen_count[t->id]++;
        } else if (result == DEQUE_LOST) {
            a->lost_count[t->id]++;
        } else if (is_over) {
            return NULL;
        }
    }
}

static void push(struct arena *a, uint64_t i)
{
    a->item[i].value = calc_value(a, &a->item[i]);
    if (deque_push(&a->deque, &a->item[i])) {
        fprintf(stderr, "stress_deque: out of memory\n");
        exit(1);
    }
}

static void pop(struct arena *a)
{
    struct item *item = deque_pop(&a->deque);

    if (item) {
        take(a, item);
        a->popped_count++;
    }
}

/* The owner and the thieves race for one item at a time; it gives them a little time, more or less.
 */
static void own_last_item(struct arena *a)
{
    for (uint64_t i = 0; i < a->item_count; i++) {
        push(a, i);
        for (uint64_t k = 0; k < i % 8; k++)
            park_pause();
        pop(a);
    }
}

/* Only thieves take, so the deque outgrows array after array while they read it. */
static void own_growth(struct arena *a)
{
    for (uint64_t i = 0; i < a->item_count; i++)
        push(a, i);
}

/* Bursts of random length in both directions. */
static void own_bursts(struct arena *a)
{
    uint64_t state = 42, i = 0;

    while (i < a->item_count) {
        uint64_t push_count, pop_count;

        state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
        push_count = (state >> 40) % 64;
        pop_count = (state >> 50) % 64;
        for (; push_count && i < a->item_count; push_count--)
            push(a, i++);
        for (; pop_count; pop_count--)
            pop(a);
    }
    for (uint64_t k = 0; k < a->item_count && a->popped_count < a->item_count; k++)
        pop(a);
}

static int check_items(const struct arena *a, const char *name)
{
    uint64_t stolen = 0, lost = 0, wrong = 0;

    for (uint32_t i = 0; i < THIEVES; i++) {
        stolen += a->stolen_count[i];
        lost += a->lost_count[i];
    }
    for (uint64_t i = 0; i < a->item_count; i++)
        wrong += a->item[i].taken_count != 1;
    printf("%s: %llu items, %llu popped, %llu stolen, %llu steals lost\n", name,
           (unsigned long long)a->item_count, (unsigned long long)a->popped_count,
           (unsigned long long)stolen, (unsigned long long)lost);
    if (!wrong && stolen + a->popped_count == a->item_count)
        return 0;
    fprintf(stderr, "%s: %llu items were not taken exactly once\n", name,
            (unsigned long long)wrong);
    return 1;
}

static int run_arena(const char *name, void (*own)(struct arena *a), uint64_t item_count)
{
    static struct arena a;
    struct thief thief[THIEVES];
    pthread_t thread[THIEVES];
    int rc;

    memset(&a, 0, sizeof a);
    a.item_count = item_count;
    a.item = calloc(item_count, sizeof *a.item);
    if (!a.item || deque_init(&a.deque, 1))
        return 1;
    for (uint32_t i = 0; i < THIEVES; i++) {
        thief[i] = (struct thief){&a, i};
        if (pthread_create(&thread[i], NULL, live_as_thief, &thief[i]))
            return 1;
    }
    own(&a);
    /* release: no push comes after it. */
    atomic_store_explicit(&a.is_over, 1, memory_order_release);
    for (uint32_t i = 0; i < THIEVES; i++)
        (void)pthread_join(thread[i], NULL);
    rc = check_items(&a, name);
    deque_fini(&a.deque);
    free(a.item);
    return rc;
}

int main(int argc, char **argv)
{
    const uint64_t factor = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;

    return run_arena("last item", own_last_item, factor * 1000000) |
           run_arena("growth", own_growth, factor * 500000) |
           run_arena("bursts", own_bursts, factor * 1000000);
}
