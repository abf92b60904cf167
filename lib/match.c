/*
 * match.c - see match.h. A chained hash table; the number of chains doubles with the keys.
 */
#include "match.h"

#include <stdlib.h>

#define CHAINS_MIN 64

struct entry {
    struct match_key key;
    int64_t balance_bytes; /* arrived and not yet taken */
    struct match_recv *head, *tail;
    struct entry *next; /* in the chain */
};

struct match {
    struct entry **chains; /* shape: [chain_count], a power of two */
    uint32_t chain_count, key_count;
};

/* splitmix64's finaliser: every bit of the key reaches every bit of the result. */
static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static uint32_t find_chain(const struct match *m, const struct match_key *k)
{
    const uint64_t ends = (uint64_t)k->src << 32 | k->dst;

    return (uint32_t)mix(ends + mix(k->tag)) & (m->chain_count - 1);
}

static int is_equal(const struct match_key *a, const struct match_key *b)
{
    return a->src == b->src && a->dst == b->dst && a->tag == b->tag;
}

static struct entry *find(const struct match *m, const struct match_key *k)
{
    struct entry *x = m->chains[find_chain(m, k)];

    while (x && !is_equal(&x->key, k))
        x = x->next;
    return x;
}

int match_create(struct match **out)
{
    struct match *m = calloc(1, sizeof *m);

    if (!m)
        return WH_ERR_NOMEM;
    m->chain_count = CHAINS_MIN;
    m->chains = calloc(m->chain_count, sizeof(struct entry *));
    if (!m->chains) {
        free(m);
        return WH_ERR_NOMEM;
    }
    *out = m;
    return 0;
}

static void free_entry(struct entry *x)
{
    while (x->head) {
        struct match_recv *r = x->head;

        x->head = r->next;
        free(r);
    }
    free(x);
}

void match_destroy(struct match *m)
{
    if (!m)
        return;
    for (uint32_t i = 0; i < m->chain_count; i++) {
        while (m->chains[i]) {
            struct entry *x = m->chains[i];

            m->chains[i] = x->next;
            free_entry(x);
        }
    }
    free(m->chains);
    free(m);
}

/* Doubles the chains; without memory the table goes on with longer ones. */
static void grow(struct match *m)
{
    const uint32_t old_count = m->chain_count;
    struct entry **old = m->chains;
    struct entry **chains = calloc((size_t)old_count * 2, sizeof(struct entry *));

    if (!chains)
        return;
    m->chains = chains;
    m->chain_count = old_count * 2;
    for (uint32_t i = 0; i < old_count; i++) {
        while (old[i]) {
            struct entry *x = old[i];
            const uint32_t chain = find_chain(m, &x->key);

            old[i] = x->next;
            x->next = m->chains[chain];
            m->chains[chain] = x;
        }
    }
    free(old);
}

/* The entry of a key, made if it is new; NULL without memory. */
static struct entry *find_or_add(struct match *m, const struct match_key *k)
{
    struct entry *x = find(m, k);
    uint32_t chain;

    if (x)
        return x;
    if (m->key_count >= m->chain_count && m->chain_count < UINT32_C(1) << 30)
        grow(m);
    x = calloc(1, sizeof *x);
    if (!x)
        return NULL;
    x->key = *k;
    chain = find_chain(m, k);
    x->next = m->chains[chain];
    m->chains[chain] = x;
    m->key_count++;
    return x;
}

static void forget(struct match *m, struct entry *x)
{
    struct entry **at = &m->chains[find_chain(m, &x->key)];

    while (*at != x)
        at = &(*at)->next;
    *at = x->next;
    m->key_count--;
    free(x);
}

int match_post(struct match *m, const struct match_key *key, struct match_recv *r)
{
    struct entry *x = find_or_add(m, key);

    if (!x)
        return WH_ERR_NOMEM;
    r->next = NULL;
    if (x->tail)
        x->tail->next = r;
    else
        x->head = r;
    x->tail = r;
    return 0;
}

int match_arrive(struct match *m, const struct match_key *key, int64_t bytes)
{
    struct entry *x;

    if (bytes == 0)
        return 0;
    x = find_or_add(m, key);
    if (!x)
        return WH_ERR_NOMEM;
    x->balance_bytes += bytes;
    return 0;
}

static int has_filled(const struct entry *x)
{
    return x && x->head && x->balance_bytes >= x->head->bytes;
}

int match_is_filled(const struct match *m, const struct match_key *key)
{
    return has_filled(find(m, key));
}

struct match_recv *match_pop(struct match *m, const struct match_key *key)
{
    struct entry *x = find(m, key);
    struct match_recv *r;

    if (!has_filled(x))
        return NULL;
    r = x->head;
    x->balance_bytes -= r->bytes;
    x->head = r->next;
    if (!x->head)
        x->tail = NULL;
    if (!x->head && x->balance_bytes == 0)
        forget(m, x);
    return r;
}

uint32_t match_key_count(const struct match *m)
{
    return m->key_count;
}
