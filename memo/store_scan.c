/*
 * store_scan.c - the check of an LMDB file before LMDB follows its pages. See store_int.h.
 *
 * LMDB maps the file and trusts it: a page number beyond the end is a bus error, a wrong offset
 * reads anywhere, a loop of pages never ends. So the tree is walked here first, with pread: root to
 * leaves, of the database and of the list of free pages. What has to hold: each page is what the
 * one above says it is, lies inside the file and is used once; nodes fill their page without gap or
 * overlap; keys ascend; the counts are those of the meta page.
 *
 * Source of the layout: LMDB 0.9, mdb.c, "MDB_page", "MDB_node", "MDB_db", "MDB_meta"; data version
 * 1, words of 64 bits. The snapshot of a transaction stays as it is while the transaction is open.
 */
#include "store_int.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define META_MAGIC UINT32_C(0xBEEFC0DE)
#define META_VERSION 1u
#define META_PAGES 2u
#define PAGE_BYTES_MIN 512u
#define PAGE_BYTES_MAX 32768u              /* of LMDB */
#define PAGE_NONE UINT64_MAX               /* the root of an empty tree */
#define KEY_BYTES_MAX 511u                 /* of LMDB as it is built by default */
#define DEPTH_MAX 32u                      /* of LMDB's cursors */
#define LOST_PAGES_MAX (UINT64_C(1) << 20) /* see check_meta */

enum { PAGE_BRANCH = 0x01, PAGE_LEAF = 0x02, PAGE_OVERFLOW = 0x04, PAGE_META = 0x08 };
enum { NODE_BIG = 0x01 }; /* the value has pages of its own; all other flags are foreign here */
enum { DB_INTEGER_KEY = 0x08 };

struct page_head {
    uint64_t page_id;
    uint16_t pad, flags;
    uint16_t lower, upper; /* of an overflow page: one word, the number of pages */
};

struct node_head {
    uint16_t low, high; /* of a leaf: length of the value; of a branch with the flags: page */
    uint16_t flags, key_bytes;
};

struct db_head {
    uint32_t pad; /* of the list of free pages: bytes of a page */
    uint16_t flags, depth;
    uint64_t branch_pages, leaf_pages, overflow_pages, entries, root;
};

struct meta {
    uint32_t magic, version;
    uint64_t address, map_bytes;
    struct db_head free_db, main_db;
    uint64_t last_page, txn_id;
};

_Static_assert(sizeof(struct page_head) == 16, "LMDB's PAGEHDRSZ");
_Static_assert(sizeof(struct node_head) == 8, "LMDB's NODESIZE");
_Static_assert(sizeof(struct db_head) == 48, "LMDB's MDB_db");
_Static_assert(sizeof(struct meta) == 136, "LMDB's MDB_meta");

/* One tree being walked. */
struct walk {
    struct scan *scan;
    const struct db_head *db;
    int is_free_list;
    struct db_head counted;
    /* The last key met; a branch's key may be met again as the first one below it. */
    unsigned char key[KEY_BYTES_MAX];
    size_t key_bytes;
    int has_key, may_repeat;
};

struct scan {
    int fd;
    struct meta meta;
    size_t page_bytes;
    uint64_t file_bytes;
    uint64_t free_pages;
    unsigned char *is_met; /* shape: bits, [last_page + 1] */
    unsigned char *stack;  /* shape: [DEPTH_MAX][page_bytes] */
    struct scan_report *report;
};

/* ---- small things ---- */

static enum scan_result say(struct scan_report *report, enum scan_result result, const char *fmt,
                            ...) WH_PRINTF(3, 4);

static enum scan_result say(struct scan_report *report, enum scan_result result, const char *fmt,
                            ...)
{
    va_list args;

    va_start(args, fmt);
    vsnprintf(report->text, sizeof report->text, fmt, args);
    va_end(args);
    return result;
}

static enum scan_result damaged(struct scan *scan, uint64_t page_id, const char *what)
{
    return say(scan->report, SCAN_DAMAGED, "page %llu %s", (unsigned long long)page_id, what);
}

/* Returns 0 if all was read. */
static int read_all(int fd, void *out, size_t byte_count, uint64_t offset)
{
    unsigned char *to = out;

    while (byte_count) {
        const ssize_t got = pread(fd, to, byte_count, (off_t)offset);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return 1;
        to += got;
        offset += (uint64_t)got;
        byte_count -= (size_t)got;
    }
    return 0;
}

/* ---- the meta pages ---- */

static enum scan_result check_meta(const struct meta *m, uint64_t file_bytes,
                                   struct scan_report *report)
{
    const uint64_t page_bytes = m->free_db.pad;

    if (m->magic != META_MAGIC)
        return say(report, SCAN_FOREIGN, "no file of LMDB");
    if (m->version != META_VERSION)
        return say(report, SCAN_FOREIGN, "data version %u of LMDB", m->version);
    if (page_bytes < PAGE_BYTES_MIN || page_bytes > PAGE_BYTES_MAX || page_bytes & (page_bytes - 1))
        return say(report, SCAN_DAMAGED, "pages of %llu bytes", (unsigned long long)page_bytes);
    /* The last pages of a file need not have been written if they were not needed in the end, so
     * it may be somewhat shorter. That the used ones are there is for scan__tree to see. */
    if (m->last_page < META_PAGES - 1 || m->last_page > file_bytes / page_bytes + LOST_PAGES_MAX)
        return say(report, SCAN_DAMAGED, "%llu as the last page of a file of %llu bytes",
                   (unsigned long long)m->last_page, (unsigned long long)file_bytes);
    if (m->main_db.flags || !(m->free_db.flags & DB_INTEGER_KEY))
        return say(report, SCAN_FOREIGN, "a database of LMDB with flags 0x%x", m->main_db.flags);
    return SCAN_SOUND;
}

/* @page_bytes: 0 for the first page */
static enum scan_result read_meta(int fd, uint64_t page_id, size_t page_bytes, struct meta *out,
                                  struct scan_report *report)
{
    struct {
        struct page_head head;
        struct meta meta;
    } page;
    const off_t file_bytes = lseek(fd, 0, SEEK_END);
    const uint64_t offset = page_id * page_bytes;

    if (file_bytes < 0 || read_all(fd, &page, sizeof page, offset)) {
        /* What is shorter than the first page may be anybody's. */
        return say(report, page_id ? SCAN_DAMAGED : SCAN_FOREIGN, "only %lld bytes",
                   (long long)file_bytes);
    }
    if (page.meta.magic == META_MAGIC && !(page.head.flags & PAGE_META))
        return say(report, SCAN_DAMAGED, "no meta page at the start");
    *out = page.meta;
    return check_meta(out, (uint64_t)file_bytes, report);
}

static enum scan_result read_metas(int fd, struct meta meta[META_PAGES], struct scan_report *report)
{
    enum scan_result result = read_meta(fd, 0, 0, &meta[0], report);

    if (result)
        return result;
    result = read_meta(fd, 1, meta[0].free_db.pad, &meta[1], report);
    if (result)
        return say(report, SCAN_DAMAGED, "the second meta page damaged");
    if (meta[0].free_db.pad != meta[1].free_db.pad)
        return say(report, SCAN_DAMAGED, "meta pages that do not agree");
    return SCAN_SOUND;
}

enum scan_result scan__metas(int fd, struct scan_report *out)
{
    struct meta meta[META_PAGES];
    const enum scan_result result = read_metas(fd, meta, out);
    uint64_t last_page;

    if (result)
        return result;
    last_page = meta[0].last_page > meta[1].last_page ? meta[0].last_page : meta[1].last_page;
    out->used_bytes = (last_page + 1) * meta[0].free_db.pad;
    return SCAN_SOUND;
}

/* ---- pages ---- */

/* Marks @page_count pages as used. */
static enum scan_result meet(struct scan *scan, uint64_t page_id, uint64_t page_count)
{
    const uint64_t page_limit = scan->meta.last_page + 1;

    if (page_id < META_PAGES || page_id >= page_limit || page_count > page_limit - page_id)
        return damaged(scan, page_id, "does not exist");
    for (uint64_t i = page_id; i < page_id + page_count; i++) {
        if (scan->is_met[i / 8] >> i % 8 & 1)
            return damaged(scan, i, "is used twice");
        scan->is_met[i / 8] = (unsigned char)(scan->is_met[i / 8] | 1 << i % 8);
    }
    return SCAN_SOUND;
}

static struct page_head head_of(const unsigned char *page)
{
    struct page_head head;

    memcpy(&head, page, sizeof head);
    return head;
}

static uint32_t node_count_of(const unsigned char *page)
{
    return (head_of(page).lower - (uint32_t)sizeof(struct page_head)) / 2;
}

/* A node of a page that check_nodes has found good. */
struct node {
    struct node_head head;
    const unsigned char *key, *data; /* of a leaf: the value, or the number of its first page */
    size_t value_bytes;              /* of a leaf */
    uint64_t child;                  /* of a branch */
    size_t node_bytes;
};

static struct node node_at(const unsigned char *page, uint32_t index)
{
    const int is_leaf = head_of(page).flags == PAGE_LEAF;
    struct node n;
    uint16_t at;

    memcpy(&at, page + sizeof(struct page_head) + 2 * (size_t)index, sizeof at);
    memcpy(&n.head, page + at, sizeof n.head);
    n.key = page + at + sizeof n.head;
    n.data = n.key + n.head.key_bytes;
    n.value_bytes = is_leaf ? n.head.low | (size_t)n.head.high << 16 : 0;
    n.child = n.head.low | (uint64_t)n.head.high << 16 | (uint64_t)n.head.flags << 32;
    n.node_bytes = sizeof n.head + n.head.key_bytes;
    if (is_leaf)
        n.node_bytes += n.head.flags & NODE_BIG ? sizeof(uint64_t) : n.value_bytes;
    n.node_bytes += n.node_bytes & 1;
    return n;
}

/* All nodes lie inside the page, and together fill it. */
static enum scan_result check_nodes(struct scan *scan, uint64_t page_id, const unsigned char *page)
{
    const struct page_head head = head_of(page);
    size_t sum_bytes = 0;

    for (uint32_t i = 0; i < node_count_of(page); i++) {
        struct node n;
        uint16_t at;

        memcpy(&at, page + sizeof head + 2 * (size_t)i, sizeof at);
        if (at < head.upper || at > scan->page_bytes - sizeof n.head || at & 1)
            return damaged(scan, page_id, "has a node outside of it");
        n = node_at(page, i);
        if (n.node_bytes > scan->page_bytes - at)
            return damaged(scan, page_id, "has a node that is too long");
        if (n.head.key_bytes > KEY_BYTES_MAX)
            return damaged(scan, page_id, "has a key that is too long");
        if (head.flags == PAGE_LEAF && n.head.flags & ~NODE_BIG)
            return damaged(scan, page_id, "has a node of a kind that is not used here");
        sum_bytes += n.node_bytes;
    }
    if (sum_bytes != scan->page_bytes - head.upper)
        return damaged(scan, page_id, "is not filled by its nodes");
    return SCAN_SOUND;
}

static enum scan_result read_page(struct scan *scan, uint64_t page_id, unsigned char *page)
{
    struct page_head head;

    if (read_all(scan->fd, page, scan->page_bytes, page_id * scan->page_bytes))
        return damaged(scan, page_id, "lies beyond the end of the file");
    head = head_of(page);
    if (head.page_id != page_id || (head.flags != PAGE_BRANCH && head.flags != PAGE_LEAF))
        return damaged(scan, page_id, "is not what it should be");
    if (head.lower < sizeof head || head.lower & 1 || head.lower > head.upper ||
        head.upper > scan->page_bytes)
        return damaged(scan, page_id, "has a damaged head");
    if (head.lower == sizeof head)
        return damaged(scan, page_id, "is empty");
    return check_nodes(scan, page_id, page);
}

/* The pages of a value that is too long for its leaf. Only their head is read: the value has a
 * checksum of its own. */
static enum scan_result check_overflow(struct walk *w, uint64_t page_id, size_t value_bytes)
{
    struct scan *scan = w->scan;
    const uint64_t need = (sizeof(struct page_head) - 1 + value_bytes) / scan->page_bytes + 1;
    struct page_head head;
    enum scan_result result;
    uint64_t page_count;

    if (page_id < META_PAGES || page_id > scan->meta.last_page ||
        read_all(scan->fd, &head, sizeof head, page_id * scan->page_bytes))
        return damaged(scan, page_id, "lies beyond the end of the file");
    page_count = head.lower | (uint64_t)head.upper << 16;
    if (head.page_id != page_id || head.flags != PAGE_OVERFLOW || page_count < need)
        return damaged(scan, page_id, "does not begin a value");
    result = meet(scan, page_id, page_count);
    if (result)
        return result;
    if ((page_id + page_count) * scan->page_bytes > scan->file_bytes)
        return damaged(scan, page_id, "begins a value beyond the end of the file");
    w->counted.overflow_pages += page_count;
    return SCAN_SOUND;
}

/* ---- keys ---- */

static int compare_keys(const struct walk *w, const struct node *n)
{
    const size_t common = n->head.key_bytes < w->key_bytes ? n->head.key_bytes : w->key_bytes;
    uint64_t a, b;
    int order;

    if (w->is_free_list) {
        memcpy(&a, n->key, sizeof a);
        memcpy(&b, w->key, sizeof b);
        return (a > b) - (a < b);
    }
    order = memcmp(n->key, w->key, common);
    return order ? order : (n->head.key_bytes > w->key_bytes) - (n->head.key_bytes < w->key_bytes);
}

static enum scan_result check_key(struct walk *w, uint64_t page_id, const struct node *n,
                                  int is_leaf)
{
    if (w->is_free_list ? n->head.key_bytes != sizeof(uint64_t) : n->head.key_bytes == 0)
        return damaged(w->scan, page_id, "has a key of a wrong length");
    if (w->has_key) {
        const int order = compare_keys(w, n);

        if (order < 0 || (order == 0 && !(is_leaf && w->may_repeat)))
            return damaged(w->scan, page_id, "has keys out of order");
    }
    memcpy(w->key, n->key, n->head.key_bytes);
    w->key_bytes = n->head.key_bytes;
    w->has_key = 1;
    w->may_repeat = !is_leaf;
    return SCAN_SOUND;
}

/* ---- the list of free pages: its values are page numbers, counted and descending ---- */

static enum scan_result check_free_pages(struct scan *scan, uint64_t page_id, const uint64_t *word,
                                         size_t value_bytes)
{
    const size_t word_count = value_bytes / sizeof *word;
    enum scan_result result;

    if (!word_count || word[0] > word_count - 1)
        return damaged(scan, page_id, "has a list of free pages that is too short");
    for (uint64_t i = 1; i <= word[0]; i++) {
        if (i > 1 && word[i] >= word[i - 1])
            return damaged(scan, page_id, "has a list of free pages that is out of order");
        result = meet(scan, word[i], 1);
        if (result)
            return result;
    }
    scan->free_pages += word[0];
    return SCAN_SOUND;
}

/* @first: its pages if it is an overflow value, else 0 */
static enum scan_result check_free_value(struct walk *w, uint64_t page_id, const struct node *n,
                                         uint64_t first)
{
    struct scan *scan = w->scan;
    uint64_t *word = malloc(n->value_bytes + sizeof *word);
    enum scan_result result;

    if (!word)
        return SCAN_NOMEM;
    if (!first)
        memcpy(word, n->data, n->value_bytes);
    if (first && read_all(scan->fd, word, n->value_bytes,
                          first * scan->page_bytes + sizeof(struct page_head)))
        result = damaged(scan, first, "lies beyond the end of the file");
    else
        result = check_free_pages(scan, page_id, word, n->value_bytes);
    free(word);
    return result;
}

/* ---- trees ---- */

static enum scan_result check_leaf(struct walk *w, uint64_t page_id, const unsigned char *page)
{
    for (uint32_t i = 0; i < node_count_of(page); i++) {
        const struct node n = node_at(page, i);
        enum scan_result result = check_key(w, page_id, &n, 1);
        uint64_t first = 0;

        if (!result && n.head.flags & NODE_BIG) {
            memcpy(&first, n.data, sizeof first);
            result = check_overflow(w, first, n.value_bytes);
        }
        if (!result && w->is_free_list)
            result = check_free_value(w, page_id, &n, first);
        if (result)
            return result;
    }
    w->counted.leaf_pages++;
    w->counted.entries += node_count_of(page);
    return SCAN_SOUND;
}

/* Recursion: DEPTH_MAX at most. @depth: of this page, 0 is the root. */
static enum scan_result check_subtree(struct walk *w, uint64_t page_id, uint32_t depth)
{
    struct scan *scan = w->scan;
    unsigned char *page = scan->stack + depth * scan->page_bytes;
    const int is_leaf = depth + 1 == w->db->depth;
    enum scan_result result = meet(scan, page_id, 1);

    if (!result)
        result = read_page(scan, page_id, page);
    if (result)
        return result;
    if (is_leaf != (head_of(page).flags == PAGE_LEAF))
        return damaged(scan, page_id, "is at a wrong depth");
    if (is_leaf)
        return check_leaf(w, page_id, page);
    /* LMDB asserts it, but for the list of free pages. */
    if (node_count_of(page) < 2 && !w->is_free_list)
        return damaged(scan, page_id, "is a branch of one page");
    w->counted.branch_pages++;
    for (uint32_t i = 0; i < node_count_of(page) && !result; i++) {
        const struct node n = node_at(page, i);

        if (i > 0) /* the first key of a branch stands for "less than all" */
            result = check_key(w, page_id, &n, 0);
        if (!result)
            result = check_subtree(w, n.child, depth + 1);
    }
    return result;
}

static enum scan_result check_db(struct scan *scan, const struct db_head *db, int is_free_list)
{
    struct walk w = {.scan = scan, .db = db, .is_free_list = is_free_list};
    const char *name = is_free_list ? "list of free pages" : "database";
    enum scan_result result;

    if (db->root == PAGE_NONE && (db->depth || db->entries))
        return say(scan->report, SCAN_DAMAGED, "a %s without a root", name);
    if (db->root != PAGE_NONE) {
        if (db->depth < 1 || db->depth > DEPTH_MAX)
            return say(scan->report, SCAN_DAMAGED, "a %s %u pages deep", name, db->depth);
        result = check_subtree(&w, db->root, 0);
        if (result)
            return result;
    }
    if (w.counted.entries != db->entries || w.counted.branch_pages != db->branch_pages ||
        w.counted.leaf_pages != db->leaf_pages || w.counted.overflow_pages != db->overflow_pages)
        return say(scan->report, SCAN_DAMAGED, "a %s of %llu entries instead of %llu", name,
                   (unsigned long long)w.counted.entries, (unsigned long long)db->entries);
    return SCAN_SOUND;
}

static enum scan_result find_snapshot(struct scan *scan, uint64_t txn_id)
{
    struct meta meta[META_PAGES];
    const enum scan_result result = read_metas(scan->fd, meta, scan->report);

    if (result)
        return result;
    scan->meta = meta[txn_id & 1];
    return scan->meta.txn_id == txn_id ? SCAN_SOUND : SCAN_OUTDATED;
}

enum scan_result scan__tree(int fd, uint64_t txn_id, struct scan_report *out)
{
    struct scan scan = {.fd = fd, .report = out};
    enum scan_result result = find_snapshot(&scan, txn_id);
    const off_t file_bytes = lseek(fd, 0, SEEK_END);

    if (result)
        return result;
    scan.page_bytes = scan.meta.free_db.pad;
    scan.file_bytes = file_bytes > 0 ? (uint64_t)file_bytes : 0;
    scan.is_met = calloc(1, scan.meta.last_page / 8 + 1);
    scan.stack = malloc(DEPTH_MAX * scan.page_bytes);
    result = scan.is_met && scan.stack ? SCAN_SOUND : SCAN_NOMEM;
    if (!result)
        result = check_db(&scan, &scan.meta.free_db, 1);
    if (!result)
        result = check_db(&scan, &scan.meta.main_db, 0);
    free(scan.is_met);
    free(scan.stack);
    out->free_bytes = scan.free_pages * scan.page_bytes;
    out->used_bytes = (scan.meta.last_page + 1) * scan.page_bytes;
    out->is_empty = !scan.meta.main_db.entries;
    return result;
}
