/*
 * yaml_setting.h - one setting of a scenario file as data: where its text is, where its value goes,
 * what values it takes. Reading, printing and the messages of refused values all follow from the
 * row. Threading: pure functions on caller-owned data.
 */
#ifndef WH_YAML_SETTING_H
#define WH_YAML_SETTING_H

#include "err.h"

#include <stdint.h>
#include <stdio.h>

enum setting_type {
    SETTING_WORD,  /* one of words, nothing else */
    SETTING_COUNT, /* a whole number */
    SETTING_SEED,  /* a whole number of 64 bits, without sign */
    SETTING_BYTES,
    SETTING_TIME, /* ps */
    SETTING_RATE, /* bit/s */
    SETTING_REAL  /* a double; text may be in per cent */
};

/* A word and the value it stands for; a table ends with text NULL. Printing takes the first that
 * fits. */
struct setting_word {
    const char *text;
    int64_t value;
};

struct setting {
    const char *path;  /* dotted, relative to the object that the table describes */
    size_t raw_offset; /* of the char * with the text in the loaded file, NULL there: not given */
    size_t offset;     /* of the value in the target */
    uint8_t width;     /* of the value [B]: 1, 2, 4, 8 */
    uint8_t flag_width;
    enum setting_type type;
    double low, high;                 /* both allowed; SETTING_WORD and SETTING_SEED: not used */
    const struct setting_word *words; /* may be NULL */
    uint32_t mask;      /* kinds of object that have the setting, one bit each; 0: all */
    uint32_t need;      /* kinds that cannot do without it */
    size_t flag_offset; /* flag_width > 0: a value sets this switch to 1, the word "off" to 0 */
};

/* A table of settings. */
struct settings {
    const struct setting *row;
    uint32_t count;
};

const char *setting_text(const struct setting *s, const void *raw);

/* setting_applies - does an object of the kinds in @kind have it? */
static inline int setting_applies(const struct setting *s, uint32_t kind)
{
    return s->mask == 0 || (s->mask & kind) != 0;
}

/* setting_parse - stores the value of @text in @target. Returns 0 or WH_ERR_INPUT, @target is
 * untouched then. */
int setting_parse(const struct setting *s, const char *text, void *target) WH_MUST_CHECK;

/* setting_describe - what setting_parse accepts, for a message. Returns @buf. */
const char *setting_describe(const struct setting *s, char *buf, size_t buf_bytes);

/* setting_format - the text that setting_parse turns into the value in @target. Returns @buf. */
const char *setting_format(const struct setting *s, const void *target, char *buf,
                           size_t buf_bytes);

/* settings_print_block - "key: value" lines, nested by the dots of the paths, @indent blanks deep.
 * Rows of one section must stand together. */
void settings_print_block(struct settings t, const void *target, uint32_t kind, int indent,
                          FILE *f);

/*
 * settings_print_items - ", key: value, key: value" as within {}, for an object of kind @kind.
 * @base: NULL, or an object: a value equal to its is left out unless the kind needs it
 */
void settings_print_items(struct settings t, const void *target, const void *base, uint32_t kind,
                          FILE *f);

/* settings_print_given - the same for the settings that @raw has a text for. */
void settings_print_given(struct settings t, const void *target, const void *raw, FILE *f);

/* setting_print_string - @text in double quotes, escaped as YAML wants it. */
void setting_print_string(const char *text, FILE *f);

#endif
