/*
 * describe.c - see describe.h. The parameters come from the table of all settings: whatever starts
 * with the scheme's name.
 */
#include "describe.h"

#include "config_keys.h"
#include "units.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void format_value(const struct config_value *v, char *buf, size_t buf_bytes)
{
    switch (v->type) {
    case CONFIG_TIME:
        units_format_time(v->integer, buf, buf_bytes);
        break;
    case CONFIG_RATE:
        units_format_rate(v->integer, buf, buf_bytes);
        break;
    case CONFIG_REAL:
        (void)snprintf(buf, buf_bytes, "%g", v->real);
        break;
    default:
        (void)snprintf(buf, buf_bytes, "%" PRId64, v->integer);
        break;
    }
}

/* "dcqcn.ai_bps" -> "ai": the value carries its unit. */
static int short_name_length(const char *member)
{
    const size_t length = strlen(member);

    if (length > 4 && !strcmp(member + length - 4, "_bps"))
        return (int)length - 4;
    if (length > 3 && !strcmp(member + length - 3, "_ps"))
        return (int)length - 3;
    return (int)length;
}

const char *describe_cc(const struct sim_config *c, char *buf, size_t buf_bytes)
{
    const char *name = config_cc_name(c->cc);
    const size_t name_length = strlen(name);
    uint32_t count, shown = 0;
    const struct config_key *keys = config_keys(&count);
    size_t used = (size_t)snprintf(buf, buf_bytes, "%s", name);
    char value[48];

    for (uint32_t i = 0; i < count && used < buf_bytes; i++) {
        if (strncmp(keys[i].name, name, name_length) || keys[i].name[name_length] != '.')
            continue;
        const char *member = keys[i].name + name_length + 1;
        const struct config_value v = config_key_get(c, &keys[i]);

        format_value(&v, value, sizeof value);
        used += (size_t)snprintf(buf + used, buf_bytes - used, "%s%.*s %s", shown++ ? ", " : " (",
                                 short_name_length(member), member, value);
    }
    if (shown && used < buf_bytes)
        (void)snprintf(buf + used, buf_bytes - used, ")");
    return buf;
}
