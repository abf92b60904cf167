/*
 * fuzz_scenario_yaml.c - any bytes as a scenario file. What is accepted is printed, loaded and
 * printed again with the same text. A first line "#!key=value" is an override.
 */
#include "fuzz_file.h"
#include "scenario_yaml_int.h"

#include <stdlib.h>
#include <string.h>

static const struct yaml_limits limits = {.links = 5000, .flows = 5000};

static char *print(const struct scenario *sc, size_t *bytes)
{
    char *text = NULL;
    FILE *f = open_memstream(&text, bytes);

    check(f, "no memory stream for %u flows", sc->flow_count);
    check(scenario_print(sc, f) == 0, "cannot print %u flows", sc->flow_count);
    fclose(f);
    return text;
}

static void check_round_trip(const struct scenario *sc)
{
    size_t first_bytes, second_bytes;
    char *first = print(sc, &first_bytes);
    struct fuzz_file f;
    struct scenario again;
    struct err_info e = {0};

    fuzz_file_open(&f, (const uint8_t *)first, first_bytes);
    scenario_init(&again);
    const int rc = scenario_yaml__load(f.path, NULL, 0, &limits, &again, NULL, &e);
    check(rc == 0, "what was printed is refused: line %ld: %s\n%s", e.line, e.text, first);
    char *second = print(&again, &second_bytes);
    check(strcmp(first, second) == 0, "printed:\n%s\nthen:\n%s", first, second);
    scenario_fini(&again);
    fuzz_file_close(&f);
    free(first);
    free(second);
}

/* Cuts "#!key=value" off the first line. */
static uint32_t take_override(const uint8_t *data, size_t bytes, char *line, size_t line_bytes,
                              struct yaml_override *o)
{
    size_t len = 0;

    if (bytes < 2 || data[0] != '#' || data[1] != '!')
        return 0;
    while (2 + len < bytes && data[2 + len] != '\n' && data[2 + len] != 0 && len + 1 < line_bytes) {
        line[len] = (char)data[2 + len];
        len++;
    }
    line[len] = '\0';
    char *equals = strchr(line, '=');
    if (!equals)
        return 0;
    *equals = '\0';
    *o = (struct yaml_override){line, equals + 1};
    return 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char line[256];
    struct yaml_override o;
    struct fuzz_file f;
    struct scenario sc;
    struct err_info e = {0};

    const uint32_t count = take_override(data, bytes, line, sizeof line, &o);
    fuzz_file_open(&f, data, bytes);
    scenario_init(&sc);
    if (scenario_yaml__load(f.path, &o, count, &limits, &sc, NULL, &e) == 0)
        check_round_trip(&sc);
    else
        check(e.text[0] && !strchr(e.text, '\n'), "no reason: %s", e.text);
    scenario_fini(&sc);
    fuzz_file_close(&f);
    return 0;
}
