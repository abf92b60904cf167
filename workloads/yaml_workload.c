/*
 * yaml_workload.c - the section "workload" of a scenario file: see yaml_workload.h.
 */
#include "yaml_workload.h"

#include "scenario_yaml_int.h"

#include <stddef.h>
#include <stdlib.h>

#define WORDS(name, ...) static const struct setting_word name[] = {__VA_ARGS__, {NULL, 0}}

WORDS(yaml_wl_switch, {"true", 1}, {"false", 0}, {"on", 1}, {"off", 0}, {"yes", 1}, {"no", 0});
WORDS(yaml_wl_families, {"gpt", LLM_GPT}, {"llama", LLM_LLAMA});
WORDS(yaml_wl_dense, {"none", 0});
WORDS(yaml_wl_buckets, {"none", 0}, {"auto", LLM_BUCKET_AUTO});
WORDS(yaml_wl_recompute, {"none", LLM_RECOMPUTE_NONE}, {"selective", LLM_RECOMPUTE_SELECTIVE},
      {"full", LLM_RECOMPUTE_FULL});
WORDS(yaml_wl_places, {"packed", PLACE_PACKED}, {"rail", PLACE_RAIL}, {"random", PLACE_RANDOM});
WORDS(yaml_wl_by_nvlink, {"by-nvlink", 0});
WORDS(yaml_wl_ring_orders, {"rank", LLM_RING_RANK}, {"rail", LLM_RING_RAIL});
WORDS(yaml_wl_algos, {"ring", COLL_RING}, {"tree", COLL_TREE}, {"halving-doubling", COLL_HALVING},
      {"direct", COLL_DIRECT}, {"pairwise", COLL_PAIRWISE}, {"pxn", COLL_PXN},
      {"hierarchical", COLL_HIERARCHICAL});

/* Fields: a section's members lie within struct raw_workload, so offsets count from its start. */
#define TEXT_AT(text, member)                                                                      \
    {.key = text,                                                                                  \
     .value = {.type = CYAML_STRING,                                                               \
               .flags = CYAML_FLAG_OPTIONAL | CYAML_FLAG_POINTER,                                  \
               .data_size = sizeof(char),                                                          \
               .string = {.min = 0, .max = CYAML_UNLIMITED}},                                      \
     .data_offset = member},
#define IN(section, key)                                                                           \
    offsetof(struct raw_workload, section.key) - offsetof(struct raw_workload, section)
#define SECTION_AT(name, rows)                                                                     \
    {                                                                                              \
        .key = #name,                                                                              \
        .value = {.type = CYAML_MAPPING,                                                           \
                  .flags = CYAML_FLAG_OPTIONAL,                                                    \
                  .data_size = sizeof(((struct raw_workload *)NULL)->name),                        \
                  .mapping = {.fields = rows}},                                                    \
        .data_offset = offsetof(struct raw_workload, name)                                         \
    }

#define MODEL_TEXT(key, ...) TEXT_AT(#key, IN(model, key))
#define PRECISION_TEXT(key, ...) TEXT_AT(#key, IN(precision, key))
#define PARALLEL_TEXT(key, ...) TEXT_AT(#key, IN(parallel, key))
#define BATCH_TEXT(key, ...) TEXT_AT(#key, IN(batch, key))
#define COMPUTE_TEXT(key, ...) TEXT_AT(#key, IN(compute, key))
#define NETWORK_TEXT(key, ...) TEXT_AT(#key, IN(network, key))
#define TOP_TEXT(key, ...) TEXT_AT(#key, offsetof(struct raw_workload, key))

static const cyaml_schema_field_t model_fields[] = {YAML_WL_MODEL_KEYS(MODEL_TEXT) CYAML_FIELD_END};
static const cyaml_schema_field_t precision_fields[] = {YAML_WL_PRECISION_KEYS(PRECISION_TEXT)
                                                            CYAML_FIELD_END};
static const cyaml_schema_field_t parallel_fields[] = {YAML_WL_PARALLEL_KEYS(PARALLEL_TEXT)
                                                           CYAML_FIELD_END};
static const cyaml_schema_field_t batch_fields[] = {YAML_WL_BATCH_KEYS(BATCH_TEXT) CYAML_FIELD_END};
static const cyaml_schema_field_t compute_fields[] = {YAML_WL_COMPUTE_KEYS(COMPUTE_TEXT)
                                                          CYAML_FIELD_END};
static const cyaml_schema_field_t network_fields[] = {YAML_WL_NETWORK_KEYS(NETWORK_TEXT)
                                                          CYAML_FIELD_END};

const cyaml_schema_field_t yaml_workload_fields[] = {
    YAML_WL_KEYS(TOP_TEXT) SECTION_AT(model, model_fields),
    SECTION_AT(precision, precision_fields),
    SECTION_AT(parallel, parallel_fields),
    SECTION_AT(batch, batch_fields),
    SECTION_AT(compute, compute_fields),
    SECTION_AT(network, network_fields),
    CYAML_FIELD_END,
};

#define ROW(member, path_text, kind, field, lo, hi, word_table)                                    \
    {.path = path_text,                                                                            \
     .raw_offset = offsetof(struct raw_workload, member),                                          \
     .offset = offsetof(struct llm_spec, field),                                                   \
     .width = (uint8_t)sizeof(((struct llm_spec *)NULL)->field),                                   \
     .type = SETTING_##kind,                                                                       \
     .low = lo,                                                                                    \
     .high = hi,                                                                                   \
     .words = word_table},
#define MODEL_ROW(key, ...) ROW(model.key, "model." #key, __VA_ARGS__)
#define PRECISION_ROW(key, ...) ROW(precision.key, "precision." #key, __VA_ARGS__)
#define PARALLEL_ROW(key, ...) ROW(parallel.key, "parallel." #key, __VA_ARGS__)
#define BATCH_ROW(key, ...) ROW(batch.key, "batch." #key, __VA_ARGS__)
#define COMPUTE_ROW(key, ...) ROW(compute.key, "compute." #key, __VA_ARGS__)
#define NETWORK_ROW(key, ...) ROW(network.key, "network." #key, __VA_ARGS__)
#define TOP_ROW(key, ...) ROW(key, #key, __VA_ARGS__)

static const struct setting rows[] = {
    YAML_WL_KEYS(TOP_ROW) YAML_WL_MODEL_KEYS(MODEL_ROW) YAML_WL_PRECISION_KEYS(PRECISION_ROW)
        YAML_WL_PARALLEL_KEYS(PARALLEL_ROW) YAML_WL_BATCH_KEYS(BATCH_ROW)
            YAML_WL_COMPUTE_KEYS(COMPUTE_ROW) YAML_WL_NETWORK_KEYS(NETWORK_ROW)};
const struct settings yaml_workload_settings = {rows, sizeof rows / sizeof rows[0]};

static int load(struct yaml_loader *l, struct llm_spec *spec)
{
    int rc =
        yaml_load__object(l, yaml_workload_settings, &l->raw->workload, spec, "workload", 0, "");

    if (rc)
        return rc;
    rc = llm_spec_resolve(spec, l->e);
    if (!rc && llm_rank_count(spec) > l->sc->topo->host_count)
        rc = err_set(l->e, WH_ERR_INPUT, NULL, 0,
                     "found %u ranks (tp x cp x pp x dp), expected at most %u, the hosts of the "
                     "topology",
                     llm_rank_count(spec), l->sc->topo->host_count);
    if (rc)
        return yaml_load__at(l, "workload", rc);
    fprintf(l->source, "workload:\n");
    settings_print_block(yaml_workload_settings, spec, 0, 2, l->source);
    return 0;
}

int scenario_yaml__load_workload(struct yaml_loader *l)
{
    struct llm_spec *spec;
    int rc;

    if (!yaml_doc_has(l->doc, "workload"))
        return 0;
    spec = malloc(sizeof *spec);
    if (!spec)
        return err_set(l->e, WH_ERR_NOMEM, l->path, 0, "no memory for the workload");
    llm_spec_init(spec);
    spec->seed = l->sc->cfg.seed;
    rc = load(l, spec);
    if (rc)
        free(spec);
    else
        l->sc->llm = spec;
    return rc;
}
