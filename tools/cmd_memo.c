/*
 * cmd_memo.c - wormhole memo: looks after a file of the memo.
 */
#include "cmd.h"

#include "load.h"
#include "store.h"

#include <inttypes.h>
#include <string.h>

static void print_help(FILE *out)
{
    fprintf(out,
            "usage: wormhole memo info|verify|clear FILE\n\n"
            "FILE is what 'wormhole run --memo-file FILE' keeps: episodes of the network that\n"
            "have been simulated, for each version of the program and all settings apart.\n\n"
            "  info     what is in it\n"
            "  verify   checks its structure and every entry\n"
            "  clear    takes all entries out; a damaged file is made anew\n\n"
            "Exit codes: 0 done, 2 not a memo store, damaged, or in use.\n");
}

/* Only looked at, so the namespace does not matter. */
static int open_store(const char *path, struct memo_store **out, struct err_info *e)
{
    return memo_store_open(
        out,
        &(struct memo_store_options){
            .path = path, .program_version = "", .settings = "", .is_read_only = 1},
        e);
}

static void print_info(const struct memo_store_info *k, FILE *out)
{
    fprintf(out, "format version  %" PRIu32 "\nfile            %" PRIu64 " B, %" PRIu64 " B free\n",
            k->format_version, k->file_bytes, k->free_bytes);
    fprintf(out, "settings        %zu\n", k->space_count);
    for (size_t i = 0; i < k->space_count; i++) {
        const struct memo_store_space *s = &k->space[i];

        fprintf(out, "  %s  %" PRIu64 " entries, %" PRIu64 " B, of wormhole %s\n", s->id,
                s->entry_count, s->entry_bytes, s->program_version);
    }
}

static int info(const char *path, FILE *out, struct err_info *e)
{
    struct memo_store_info k;
    struct memo_store *s;
    int rc = open_store(path, &s, e);

    if (rc)
        return rc;
    rc = memo_store_info(s, &k, e);
    if (!rc) {
        print_info(&k, out);
        memo_store_info_fini(&k);
    }
    memo_store_close(s);
    return rc;
}

static int verify(const char *path, FILE *out, struct err_info *e)
{
    struct memo_store_verdict v;
    struct memo_store *s;
    int rc = open_store(path, &s, e);

    if (rc)
        return rc;
    rc = memo_store_verify(s, &v, e);
    memo_store_close(s);
    if (rc)
        return rc;
    if (v.damaged_count)
        return err_set(e, WH_ERR_INPUT, path, 0,
                       "found %" PRIu64 " damaged entries of %" PRIu64
                       ", expected none; runs ignore and replace them",
                       v.damaged_count, v.entry_count);
    fprintf(out, "%s: %" PRIu64 " entries, all sound\n", path, v.entry_count);
    return 0;
}

static int clear(const char *path, FILE *out, struct err_info *e)
{
    const int rc = memo_store_clear(path, e);

    if (!rc)
        fprintf(out, "%s: empty\n", path);
    return rc;
}

static const struct {
    const char *name;
    int (*run)(const char *path, FILE *out, struct err_info *e);
} verbs[] = {{"info", info}, {"verify", verify}, {"clear", clear}};

int cmd_memo(int argc, char **argv, FILE *out, FILE *err)
{
    struct err_info e = {.text = ""};

    if (argc > 1 && !strcmp(argv[1], "--help")) {
        print_help(out);
        return EXIT_DONE;
    }
    if (argc != 3) {
        (void)err_set(&e, WH_ERR_INPUT, NULL, 0,
                      "found %d arguments, expected info, verify or clear, and a FILE", argc - 1);
        return load_exit_code(WH_ERR_INPUT, &e, err);
    }
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        int rc;

        if (strcmp(argv[1], verbs[i].name))
            continue;
        rc = verbs[i].run(argv[2], out, &e);
        return rc ? load_exit_code(rc, &e, err) : EXIT_DONE;
    }
    (void)err_set(&e, WH_ERR_INPUT, NULL, 0, "found 'memo %s', expected info, verify or clear",
                  argv[1]);
    return load_exit_code(WH_ERR_INPUT, &e, err);
}
