/*
 * yaml_setting.c - settings as data: see yaml_setting.h.
 */
#include "yaml_setting.h"

#include "units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define VALUE_BYTES 64

const char *setting_text(const struct setting *s, const void *raw)
{
    const char *text;

    memcpy(&text, (const char *)raw + s->raw_offset, sizeof text);
    return text;
}

static void store(void *at, uint8_t width, int64_t value)
{
    const uint8_t v8 = (uint8_t)value;
    const uint16_t v16 = (uint16_t)value;
    const uint32_t v32 = (uint32_t)value;

    switch (width) {
    case 1:
        memcpy(at, &v8, sizeof v8);
        break;
    case 2:
        memcpy(at, &v16, sizeof v16);
        break;
    case 4:
        memcpy(at, &v32, sizeof v32);
        break;
    default:
        memcpy(at, &value, sizeof value);
    }
}

static int64_t load(const void *at, uint8_t width)
{
    uint8_t v8;
    uint16_t v16;
    uint32_t v32;
    int64_t v64;

    switch (width) {
    case 1:
        memcpy(&v8, at, sizeof v8);
        return v8;
    case 2:
        memcpy(&v16, at, sizeof v16);
        return v16;
    case 4:
        memcpy(&v32, at, sizeof v32);
        return v32;
    default:
        memcpy(&v64, at, sizeof v64);
        return v64;
    }
}

static void set_flag(const struct setting *s, void *target, int value)
{
    if (s->flag_width)
        store((char *)target + s->flag_offset, s->flag_width, value);
}

static int parse_word(const struct setting *s, const char *text, int64_t *out)
{
    for (const struct setting_word *w = s->words; w && w->text; w++) {
        if (strcmp(w->text, text) == 0) {
            *out = w->value;
            return 0;
        }
    }
    return WH_ERR_INPUT;
}

static int parse_seed(const char *text, int64_t *out)
{
    if (*text == '\0' || text[strspn(text, "0123456789")] != '\0')
        return WH_ERR_INPUT;
    errno = 0;
    const unsigned long long v = strtoull(text, NULL, 10);
    *out = (int64_t)v;
    return errno ? WH_ERR_INPUT : 0;
}

static int parse_real(const struct setting *s, const char *text, void *target)
{
    double v;

    if (units_parse_ratio(text, &v) || !(v >= s->low && v <= s->high))
        return WH_ERR_INPUT;
    memcpy((char *)target + s->offset, &v, sizeof v);
    return 0;
}

static int parse_integer(const struct setting *s, const char *text, int64_t *out)
{
    int inexact = 0;

    switch (s->type) {
    case SETTING_COUNT:
        if (units_parse_decimal(text, 0, out, &inexact) || inexact)
            return WH_ERR_INPUT;
        break;
    case SETTING_BYTES:
        if (units_parse_bytes(text, out))
            return WH_ERR_INPUT;
        break;
    case SETTING_TIME:
        if (units_parse_time(text, UNITS_NO_BARE, out))
            return WH_ERR_INPUT;
        break;
    case SETTING_RATE:
        if (units_parse_rate(text, out))
            return WH_ERR_INPUT;
        break;
    case SETTING_SEED:
        return parse_seed(text, out);
    case SETTING_WORD:
    case SETTING_REAL:
        return WH_ERR_INPUT;
    }
    return (double)*out >= s->low && (double)*out <= s->high ? 0 : WH_ERR_INPUT;
}

int setting_parse(const struct setting *s, const char *text, void *target)
{
    int64_t value;

    if (s->flag_width && strcmp(text, "off") == 0) {
        set_flag(s, target, 0);
        return 0;
    }
    if (parse_word(s, text, &value)) {
        if (s->type == SETTING_REAL)
            return parse_real(s, text, target);
        if (parse_integer(s, text, &value))
            return WH_ERR_INPUT;
    }
    store((char *)target + s->offset, s->width, value);
    set_flag(s, target, 1);
    return 0;
}

static const char *format_real(double v, char *buf, size_t buf_bytes)
{
    for (int digits = 6; digits <= 17; digits++) { /* as few as read back the same */
        snprintf(buf, buf_bytes, "%.*g", digits, v);
        if (strtod(buf, NULL) == v)
            break;
    }
    return buf;
}

static const char *format_integer(enum setting_type type, int64_t v, char *buf, size_t buf_bytes)
{
    switch (type) {
    case SETTING_BYTES:
        return units_format_bytes(v, buf, buf_bytes);
    case SETTING_TIME:
        return units_format_time(v, buf, buf_bytes);
    case SETTING_RATE:
        return units_format_rate(v, buf, buf_bytes);
    case SETTING_SEED:
        snprintf(buf, buf_bytes, "%" PRIu64, (uint64_t)v);
        return buf;
    default:
        snprintf(buf, buf_bytes, "%" PRId64, v);
        return buf;
    }
}

const char *setting_format(const struct setting *s, const void *target, char *buf, size_t buf_bytes)
{
    const char *at = (const char *)target + s->offset;
    double real;

    if (s->type == SETTING_REAL) {
        memcpy(&real, at, sizeof real);
        return format_real(real, buf, buf_bytes);
    }
    if (s->flag_width && load((const char *)target + s->flag_offset, s->flag_width) == 0) {
        snprintf(buf, buf_bytes, "off");
        return buf;
    }
    const int64_t value = load(at, s->width);
    for (const struct setting_word *w = s->words; w && w->text; w++) {
        if (w->value == value) {
            snprintf(buf, buf_bytes, "%s", w->text);
            return buf;
        }
    }
    return format_integer(s->type, value, buf, buf_bytes);
}

static const char *const type_texts[] = {
    [SETTING_WORD] = "",
    [SETTING_COUNT] = "a whole number",
    [SETTING_SEED] = "a whole number from 0 to 2^64 - 1",
    [SETTING_BYTES] = "a size with its unit, as 64KB or 4MiB,",
    [SETTING_TIME] = "a time with its unit, as 10us,",
    [SETTING_RATE] = "a rate with its unit, as 100Gbps,",
    [SETTING_REAL] = "a number or a percentage",
};

static const char *format_bound(const struct setting *s, double v, char *buf, size_t buf_bytes)
{
    if (s->type == SETTING_REAL)
        return format_real(v, buf, buf_bytes);
    /* The largest double below 2^63 keeps the conversion defined. */
    const int64_t i = v >= 0x1p63 ? INT64_MAX : (int64_t)v;
    return format_integer(s->type, i, buf, buf_bytes);
}

static void append(char *buf, size_t buf_bytes, const char *text)
{
    const size_t len = strlen(buf);

    snprintf(buf + len, buf_bytes - len, "%s", text);
}

const char *setting_describe(const struct setting *s, char *buf, size_t buf_bytes)
{
    char bound[VALUE_BYTES];
    int is_first = s->type == SETTING_WORD;

    snprintf(buf, buf_bytes, "%s", type_texts[s->type]);
    if (s->type != SETTING_WORD && s->type != SETTING_SEED) {
        append(buf, buf_bytes, s->high >= 0x1p62 ? " of at least " : " from ");
        append(buf, buf_bytes, format_bound(s, s->low, bound, sizeof bound));
        if (s->high < 0x1p62) {
            append(buf, buf_bytes, " to ");
            append(buf, buf_bytes, format_bound(s, s->high, bound, sizeof bound));
        }
    }
    if (s->flag_width)
        append(buf, buf_bytes, " or off");
    for (const struct setting_word *w = s->words; w && w->text; w++) {
        if (!is_first)
            append(buf, buf_bytes, w[1].text ? ", " : " or ");
        append(buf, buf_bytes, w->text);
        is_first = 0;
    }
    return buf;
}

/* Opens the sections of @path that were not open for @last ("a.b.c" after "a.x": "b:"). */
static void open_sections(const char *path, const char *last, int indent, FILE *f)
{
    size_t at = 0;
    int depth = 0, is_open = 1;

    for (const char *dot = strchr(path, '.'); dot; dot = strchr(dot + 1, '.')) {
        const size_t end = (size_t)(dot - path);
        is_open = is_open && strncmp(path, last, end + 1) == 0;
        if (!is_open)
            fprintf(f, "%*s%.*s:\n", indent + 2 * depth, "", (int)(end - at), path + at);
        at = end + 1;
        depth++;
    }
}

static int count_dots(const char *path)
{
    int dots = 0;

    for (; *path; path++)
        dots += *path == '.';
    return dots;
}

void settings_print_block(struct settings t, const void *target, uint32_t kind, int indent, FILE *f)
{
    const char *last = "";
    char value[VALUE_BYTES];

    for (uint32_t i = 0; i < t.count; i++) {
        const struct setting *s = &t.row[i];
        if (!setting_applies(s, kind))
            continue;
        const char *dot = strrchr(s->path, '.');
        open_sections(s->path, last, indent, f);
        fprintf(f, "%*s%s: %s\n", indent + 2 * count_dots(s->path), "", dot ? dot + 1 : s->path,
                setting_format(s, target, value, sizeof value));
        last = s->path;
    }
}

static void print_item(const struct setting *s, const char *value, FILE *f)
{
    fprintf(f, ", %s: %s", s->path, value);
}

void settings_print_items(struct settings t, const void *target, const void *base, uint32_t kind,
                          FILE *f)
{
    char value[VALUE_BYTES], base_value[VALUE_BYTES];

    for (const struct setting *s = t.row; s < t.row + t.count; s++) {
        if (!setting_applies(s, kind))
            continue;
        setting_format(s, target, value, sizeof value);
        if (!base || (s->need & kind) ||
            strcmp(value, setting_format(s, base, base_value, sizeof base_value)) != 0)
            print_item(s, value, f);
    }
}

void settings_print_given(struct settings t, const void *target, const void *raw, FILE *f)
{
    char value[VALUE_BYTES];

    for (const struct setting *s = t.row; s < t.row + t.count; s++)
        if (setting_text(s, raw))
            print_item(s, setting_format(s, target, value, sizeof value), f);
}

void setting_print_string(const char *text, FILE *f)
{
    fputc('"', f);
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        if (*c == '"' || *c == '\\')
            fprintf(f, "\\%c", *c);
        else if (*c < 0x20 || *c == 0x7f)
            fprintf(f, "\\x%02x", *c);
        else
            fputc(*c, f);
    }
    fputc('"', f);
}
