/*
 * json_file.c - see json_file.h. jansson tells the line of a syntax error
 * only, so the line of a key is found by looking for it in the text.
 */
#include "json_file.h"

#include "textfile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_BYTES_MAX ((size_t)256 << 20)
#define SHOWN_BYTES 64

static int read_text(struct json_file *f, FILE *in)
{
    size_t cap = 4096;

    for (;;) {
        char *grown = realloc(f->text, cap + 1);

        if (!grown)
            return err_set(f->e, WH_ERR_NOMEM, f->path, 0, "out of memory");
        f->text = grown;
        f->text_bytes += fread(f->text + f->text_bytes, 1, cap - f->text_bytes, in);
        if (ferror(in))
            return err_set(f->e, WH_ERR_IO, f->path, 0, "cannot be read: %s", strerror(errno));
        if (f->text_bytes < cap)
            break;
        if (cap > FILE_BYTES_MAX)
            return err_input(f->e, f->path, 0, "more than 256 MiB", "a JSON file of less");
        cap *= 2;
    }
    f->text[f->text_bytes] = '\0';
    return 0;
}

static int parse(struct json_file *f)
{
    json_error_t error;

    f->root = json_loadb(f->text, f->text_bytes, JSON_REJECT_DUPLICATES, &error);
    if (!f->root)
        return err_set(f->e, WH_ERR_INPUT, f->path, error.line > 0 ? error.line : 0,
                       "found no valid JSON (%s), expected a JSON object", error.text);
    if (!json_is_object(f->root))
        return err_input(f->e, f->path, 1, "JSON that is no object", "an object: { ... }");
    return 0;
}

int json_file_open(struct json_file *f, const char *path, struct err_info *e)
{
    *f = (struct json_file){.path = path, .e = e};
    FILE *in = fopen(path, "rb");

    if (!in)
        return err_set(e, WH_ERR_INPUT, path, 0, "cannot be opened: %s", strerror(errno));
    int rc = read_text(f, in);

    fclose(in);
    return rc ? rc : parse(f);
}

void json_file_close(struct json_file *f)
{
    json_decref(f->root);
    free(f->text);
    f->root = NULL;
    f->text = NULL;
}

/* Is the quoted word that ends in front of @p a key? */
static int is_key_end(const char *p)
{
    return p[strspn(p, " \t\r\n")] == ':';
}

long json_file_line(const struct json_file *f, const char *key)
{
    size_t chars = strlen(key);
    long line = 1;

    for (const char *p = f->text; *p; p++) {
        if (*p == '\n')
            line++;
        if (*p == '"' && !strncmp(p + 1, key, chars) && p[chars + 1] == '"' &&
            is_key_end(p + chars + 2))
            return line;
    }
    return 0;
}

int json_file_refuse(const struct json_file *f, const char *key, const json_t *value,
                     const char *expected)
{
    char *text =
        value ? json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(9)) : NULL;
    int rc = err_set(f->e, WH_ERR_INPUT, f->path, json_file_line(f, key),
                     "%.64s: found %.*s%s, expected %s", key, SHOWN_BYTES, text ? text : "nothing",
                     text && strlen(text) > SHOWN_BYTES ? "..." : "", expected);

    free(text);
    return rc;
}

static int is_in(const char *const *list, const char *key)
{
    for (; list && *list; list++)
        if (!strcmp(*list, key))
            return 1;
    return 0;
}

void json_file_warn_unknown(const struct json_file *f, const char *const *known,
                            const char *const *unused, const struct warn_sink *sink)
{
    char list[512] = "";
    size_t used = 0;
    const char *key;
    json_t *value;

    json_object_foreach(f->root, key, value)
    {
        if (is_in(unused, key) && used + strlen(key) + 3 < sizeof list)
            used +=
                (size_t)snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "", key);
        else if (!is_in(known, key))
            warn(sink, "%s:%ld: unknown key \"%.64s\" is ignored; the nearest known key is %s",
                 f->path, json_file_line(f, key), key, text_nearest(key, known));
    }
    if (used)
        warn(sink, "%s: accepted, no effect: %s", f->path, list);
}

int json_file_get_uint(const json_t *value, uint64_t max, uint64_t *out)
{
    if (json_is_string(value))
        return text_uint(json_string_value(value), max, out);
    if (!json_is_integer(value) || json_integer_value(value) < 0 ||
        (uint64_t)json_integer_value(value) > max)
        return WH_ERR_INPUT;
    *out = (uint64_t)json_integer_value(value);
    return 0;
}

int json_file_get_real(const json_t *value, double *out)
{
    if (!json_is_number(value) || json_number_value(value) < 0)
        return WH_ERR_INPUT;
    *out = json_number_value(value);
    return 0;
}
