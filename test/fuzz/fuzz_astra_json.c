/*
 * fuzz_astra_json.c - any bytes as one of ASTRA-sim's files, which one by the first byte: refused
 * with a sentence, or its numbers are in range.
 */
#include "astra.h"
#include "fuzz_file.h"

#include <stdlib.h>
#include <string.h>

/* Reads over the whole text of a warning. */
static void count_text(void *ctx, const char *text)
{
    *(size_t *)ctx += strlen(text);
}

static int read_groups(const char *path, const struct warn_sink *sink, struct err_info *e)
{
    struct astra_groups g = {0};
    int rc = astra_read_groups(path, &g, sink, e);

    for (uint32_t i = 1; !rc && i < g.group_count; i++)
        check(g.groups[i - 1].id < g.groups[i].id, "group %u is not in order", i);
    astra_groups_fini(&g);
    return rc;
}

static int read_system(const char *path, const struct warn_sink *sink, struct err_info *e)
{
    struct astra_system s = {0};
    int rc = astra_read_system(path, &s, sink, e);

    check(rc || s.active_chunks > 0, "%u chunks", s.active_chunks);
    astra_system_fini(&s);
    return rc;
}

static int read_network(const char *path, const struct warn_sink *sink, struct err_info *e)
{
    struct astra_network n;
    int rc = astra_read_network(path, &n, sink, e);

    for (uint32_t i = 0; !rc && i < n.dim_count; i++)
        check(n.dim[i].rate_bps > 0 && n.dim[i].npus > 0, "dimension %u is empty", i);
    return rc;
}

static int read_logical(const char *path, const struct warn_sink *sink, struct err_info *e)
{
    struct astra_logical l;
    int rc = astra_read_logical(path, &l, sink, e);

    check(rc || l.rank_count > 0, "%u ranks", l.rank_count);
    return rc;
}

/* Process groups within a trace are text, not a file. */
static int parse_groups(const uint8_t *data, size_t bytes, struct err_info *e)
{
    struct astra_groups g = {0};
    char *text = calloc(bytes + 1, 1);

    check(text, "no memory for %zu bytes", bytes);
    memcpy(text, data, bytes);
    int rc = astra_parse_groups("trace", text, &g, e);

    astra_groups_fini(&g);
    free(text);
    return rc;
}

static int read_any(uint8_t kind, const uint8_t *data, size_t bytes, struct err_info *e)
{
    struct fuzz_file f;
    struct astra_memory m;
    size_t warned = 0;
    const struct warn_sink sink = {.fn = count_text, .ctx = &warned};
    int rc;

    fuzz_file_open(&f, data, bytes);
    switch (kind) {
    case 'g':
        rc = read_groups(f.path, &sink, e);
        break;
    case 's':
        rc = read_system(f.path, &sink, e);
        break;
    case 'm':
        rc = astra_read_memory(f.path, &m, &sink, e);
        break;
    case 'n':
        rc = read_network(f.path, &sink, e);
        break;
    case 'p':
        rc = parse_groups(data, bytes, e);
        break;
    default:
        rc = read_logical(f.path, &sink, e);
        break;
    }
    fuzz_file_close(&f);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct err_info e = {0};

    if (bytes == 0)
        return 0;
    if (read_any(data[0], data + 1, bytes - 1, &e))
        check(strstr(e.text, "expected"), "no reason: %s", e.text);
    return 0;
}
