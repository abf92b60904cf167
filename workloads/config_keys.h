/*
 * config_keys.h - the settings of struct sim_config by name.
 *
 * One table serves everybody who names settings in text: the summary of a run prints the whole
 * configuration through it, and the C library sets single values through it. Names are the field
 * names, members of nested structs joined by a dot ("dcqcn.gain"), units included. The two lists of
 * a configuration, ecn_rows and events, are not in the table. Threading: pure functions on
 * caller-owned data.
 */
#ifndef WH_CONFIG_KEYS_H
#define WH_CONFIG_KEYS_H

#include "config.h"

enum config_type {
    CONFIG_BOOL, /* uint8_t */
    CONFIG_U32,
    CONFIG_U64,
    CONFIG_TIME,  /* int64_t [ps]; text: "1us", or a bare number of ps */
    CONFIG_RATE,  /* int64_t [bit/s]; text: "100Gbps", or a bare number of bit/s */
    CONFIG_BYTES, /* int64_t [B]; text: "32MiB", or a bare number of bytes */
    CONFIG_REAL,  /* double; text: "0.05" or "5%" */
    CONFIG_NAME   /* an enum; text: one of names */
};

struct config_key {
    const char *name;
    size_t offset; /* in struct sim_config */
    enum config_type type;
    const char *const *names; /* CONFIG_NAME: ends with NULL, index = value of the enum */
};

/* A value as read from a configuration. */
struct config_value {
    enum config_type type;
    int64_t integer;  /* all types but CONFIG_REAL; CONFIG_NAME: index */
    double real;      /* CONFIG_REAL */
    const char *name; /* CONFIG_NAME */
};

/* config_keys - the table; shape [*count], in the order of struct sim_config. */
const struct config_key *config_keys(uint32_t *count);

/* config_key_find - NULL if there is no such key. */
const struct config_key *config_key_find(const char *name);

struct config_value config_key_get(const struct sim_config *c, const struct config_key *k);

/*
 * config_key_set - sets one value from text; ranges are left to config_check().
 * Errors: WH_ERR_INPUT with a sentence in @e (unknown key, text of another kind); @c is untouched.
 */
int config_key_set(struct sim_config *c, const char *name, const char *text,
                   struct err_info *e) WH_MUST_CHECK;

#endif
