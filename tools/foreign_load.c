/*
 * foreign_load.c - see foreign_load.h.
 */
#include "foreign_load.h"

#include "hpcc.h"
#include "out_file.h"
#include "scenario_yaml.h"
#include "textfile.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SIMAI_HEADER_TOKENS 5 /* at least; a header of HPCC has three */

static int has_suffix(const char *path, const char *suffix)
{
    const size_t a = strlen(path), b = strlen(suffix);

    return a >= b && !strcmp(path + a - b, suffix);
}

static int is_yaml(const char *path)
{
    return has_suffix(path, ".yaml") || has_suffix(path, ".yml");
}

/* ---- the network ---- */

/* What the first line says: tokens if it begins with a number, 0 for a word or an empty file. */
static int count_header(const char *path, uint32_t *out, struct err_info *e)
{
    struct textfile t;
    int rc = textfile_open(&t, path, e);

    *out = 0;
    if (!rc) {
        rc = textfile_next_line(&t);
        while (rc > 0 && t.token[0][0] == '#')
            rc = textfile_next_line(&t);
        if (rc > 0 && isdigit((unsigned char)t.token[0][0]))
            *out = t.token_count;
        rc = rc < 0 ? rc : 0;
    }
    textfile_close(&t);
    return rc;
}

static int load_simai_topology(struct foreign *f, const char *path, const struct warn_sink *sink,
                               struct err_info *e)
{
    struct simai_topology t;
    const int rc = simai_read_topology(path, &t, sink, e);

    if (rc)
        return rc;
    f->sc.topo = t.topo;
    f->gpus_per_server = t.gpus_per_server;
    return 0;
}

static int load_htsim_topology(struct foreign *f, const char *path, const struct warn_sink *sink,
                               struct err_info *e)
{
    int rc = htsim_read_topo(path, &f->htsim, sink, e);

    if (!rc)
        rc = htsim_fail_links(&f->htsim, &f->cm, e);
    if (rc)
        return rc;
    f->sc.topo = f->htsim.topo;
    f->htsim.topo = NULL;
    return 0;
}

static int load_scenario_network(struct foreign *f, const struct foreign_options *o,
                                 const char *path, const struct warn_sink *sink, struct err_info *e)
{
    struct yaml_override sets[OPTIONS_SETS_MAX + 1];
    uint32_t count = o->set_count;
    int rc;

    for (uint32_t i = 0; i < count; i++)
        sets[i] = (struct yaml_override){o->sets[i].key, o->sets[i].value};
    if (o->seed_text)
        sets[count++] = (struct yaml_override){"seed", o->seed_text};
    rc = scenario_load_yaml(path, sets, count, &f->sc, sink, e);
    if (!rc && o->kind != FOREIGN_SCENARIO && f->sc.flow_count) {
        warn(sink, "%s: its %" PRIu32 " flows are left out: the workload is %s", path,
             f->sc.flow_count, o->workload);
        f->sc.flow_count = f->sc.path_count = 0;
    }
    return rc;
}

static int refuse_sets(const struct foreign_options *o, const char *path, struct err_info *e)
{
    if (!o->set_count)
        return 0;
    return err_set(e, WH_ERR_INPUT, NULL, 0,
                   "found --set %s with %s, expected it with a scenario or configuration file",
                   o->sets[0].key, path);
}

/* A topology of any format, without parameters but for a scenario. */
static int load_network(struct foreign *f, const struct foreign_options *o, const char *path,
                        const struct warn_sink *sink, struct err_info *e)
{
    uint32_t tokens = 0;
    int rc;

    if (is_yaml(path))
        return load_scenario_network(f, o, path, sink, e);
    rc = o->conf ? 0 : refuse_sets(o, path, e);
    if (!rc)
        rc = count_header(path, &tokens, e);
    if (rc)
        return rc;
    if (!tokens)
        return load_htsim_topology(f, path, sink, e);
    if (tokens >= SIMAI_HEADER_TOKENS)
        return load_simai_topology(f, path, sink, e);
    return hpcc_read_topology(path, &f->sc.topo, sink, e);
}

static void copy_overrides(const struct foreign_options *o, struct hpcc_override *sets)
{
    for (uint32_t i = 0; i < o->set_count; i++)
        sets[i] = (struct hpcc_override){o->sets[i].key, o->sets[i].value};
}

static int load_analytical(struct foreign *f, const char *path, const struct warn_sink *sink,
                           struct err_info *e)
{
    struct astra_network n;
    int rc = astra_read_network(path, &n, sink, e);

    if (!rc)
        rc = run_chakra_network(&n, &f->sc.topo);
    f->sc.cfg.hosts_forward = 1; /* NPUs pass on what goes through several dimensions */
    return rc;
}

static int load_astra_network(struct foreign *f, const struct foreign_options *o,
                              const struct warn_sink *sink, struct err_info *e)
{
    struct hpcc_override sets[OPTIONS_SETS_MAX];
    uint32_t tokens = 0;
    int rc;

    if (!o->network)
        return load_network(f, o, o->topo, sink, e);
    if (is_yaml(o->network)) {
        rc = refuse_sets(o, o->network, e);
        return rc ? rc : load_analytical(f, o->network, sink, e);
    }
    rc = count_header(o->network, &tokens, e);
    if (rc || tokens)
        return rc ? rc : load_network(f, o, o->network, sink, e);
    copy_overrides(o, sets);
    return astra_read_ns3(o->network, sets, o->set_count, &f->sc, sink, e);
}

/* ---- workloads ---- */

static int load_goal(struct foreign *f, const struct foreign_options *o,
                     const struct warn_sink *sink, struct err_info *e)
{
    int rc = goal_read(o->workload, &f->goal, sink, e);

    if (!rc)
        rc = load_network(f, o, o->topo, sink, e);
    if (!rc)
        rc = run_goal_init(&f->job, f->goal, &o->goal, f->sc.topo, e);
    if (!rc && o->loggops_ignored)
        warn(sink, "--loggops %s: accepted, no effect: the network takes the place of L, g and G",
             o->loggops_ignored);
    return rc;
}

static int check_nodes(const struct foreign *f, const struct foreign_options *o, struct err_info *e)
{
    if (!o->nodes || o->nodes == f->cm.node_count)
        return 0;
    return err_set(e, WH_ERR_INPUT, f->cm.path, f->cm.node_line,
                   "found Nodes %u and -nodes %u, expected the same number", f->cm.node_count,
                   o->nodes);
}

static int load_cm(struct foreign *f, const struct foreign_options *o, const struct warn_sink *sink,
                   struct err_info *e)
{
    int rc = htsim_read_cm(o->workload, &f->cm, sink, e);

    if (!rc)
        rc = check_nodes(f, o, e);
    if (!rc)
        rc = load_network(f, o, o->topo, sink, e);
    if (!rc && f->cm.failure_count && !f->htsim.path[0])
        rc = err_set(e, WH_ERR_INPUT, f->cm.path, f->cm.failures[0].line,
                     "found a failure, expected --topo to name a .topo file, whose links it can "
                     "tell");
    if (o->end_ps >= 0)
        f->sc.cfg.end_ps = o->end_ps;
    if (!rc)
        rc = htsim_to_flows(&f->cm, f->sc.topo, &f->sc, sink, e);
    return rc ? rc : run_htsim_create(&f->run_cm, &f->cm, &f->sc, e);
}

static int is_set(const char *name)
{
    const char *v = getenv(name);

    return v && *v && strcmp(v, "0");
}

/* SimAI is also told by environment variables. */
static void take_environment(struct run_simai_options *r, const struct warn_sink *sink)
{
    if (is_set("AS_PXN_ENABLE"))
        r->algo[SIMAI_COMM_ALLTOALL] = COLL_PXN;
    if (is_set("AS_NVLS_ENABLE"))
        warn(sink, "AS_NVLS_ENABLE: accepted, no effect: switches do not reduce");
    if (is_set("AS_SEND_LAT"))
        warn(sink, "AS_SEND_LAT: accepted, no effect: messages have the time of the network");
}

static int load_simai_conf(struct foreign *f, const struct foreign_options *o,
                           const struct warn_sink *sink, struct err_info *e)
{
    struct hpcc_override sets[OPTIONS_SETS_MAX];
    struct simai_conf_options c = {
        .output_dir = o->out_dir, .overrides = sets, .override_count = o->set_count};

    int rc;

    if (!o->conf)
        return 0;
    copy_overrides(o, sets);
    rc = o->out_dir ? out_make_dir(o->out_dir, "-o", e) : 0; /* it checks where outputs go */
    return rc ? rc : simai_read_conf(o->conf, &c, &f->sc, sink, e);
}

static int load_simai(struct foreign *f, const struct foreign_options *o,
                      const struct warn_sink *sink, struct err_info *e)
{
    struct run_simai_options r = {.channels = o->channels};
    int rc = simai_read_workload(o->workload, &f->simai, sink, e);

    if (!rc)
        rc = load_network(f, o, o->topo, sink, e);
    if (!rc)
        rc = simai_workload_fit(f->simai, f->sc.topo->host_count, e);
    if (!rc)
        rc = load_simai_conf(f, o, sink, e);
    if (rc)
        return rc;
    take_environment(&r, sink);
    r.gpus_per_server = f->gpus_per_server;
    return run_simai_init(&f->job, f->simai, &r, f->sc.topo, e);
}

static int load_astra_files(struct foreign *f, const struct foreign_options *o,
                            const struct warn_sink *sink, struct err_info *e)
{
    int rc = 0;

    if (o->logical)
        rc = astra_read_logical(o->logical, &f->logical, sink, e);
    else
        astra_default_logical(f->et.rank_count, &f->logical, sink);
    if (!rc && o->groups)
        rc = astra_read_groups(o->groups, &f->groups, sink, e);
    if (!rc && o->system)
        rc = astra_read_system(o->system, &f->system, sink, e);
    if (!rc && o->system)
        rc = astra_check_system(&f->system, &f->logical, e);
    if (!rc && o->memory)
        rc = astra_read_memory(o->memory, &f->memory, sink, e);
    return rc;
}

static int check_astra(const struct foreign *f, const struct foreign_options *o, struct err_info *e)
{
    const struct astra_ranks ranks = {.trace_count = f->et.rank_count,
                                      .network_hosts = f->sc.topo->host_count,
                                      .prefix = o->workload,
                                      .logical = &f->logical,
                                      .groups = &f->groups};
    const int rc = astra_check_ranks(&ranks, e);

    return rc ? rc : et_set_check(&f->et, e);
}

static int load_astra(struct foreign *f, const struct foreign_options *o,
                      const struct warn_sink *sink, struct err_info *e)
{
    const struct et_options et = {.skip_ctrl_deps = o->skip_ctrl_deps};
    struct run_chakra_options r = {.set = &f->et,
                                   .logical = &f->logical,
                                   .system = o->system ? &f->system : NULL,
                                   .memory = o->memory ? &f->memory : NULL,
                                   .compute_scale = o->compute_scale,
                                   .comm_scale = o->comm_scale,
                                   .channels = o->channels};
    int rc = et_read_set(o->workload, &et, &f->et, sink, e);

    if (!rc)
        rc = load_astra_files(f, o, sink, e);
    if (!rc)
        rc = load_astra_network(f, o, sink, e);
    if (!rc)
        rc = check_astra(f, o, e);
    if (rc)
        return rc;
    if (f->groups.group_count)
        r.groups = &f->groups;
    return run_chakra_init(&f->job, &r, f->sc.topo, sink, e);
}

static int load_scenario(struct foreign *f, const struct foreign_options *o,
                         const struct warn_sink *sink, struct err_info *e)
{
    const int rc = load_scenario_network(f, o, o->workload, sink, e);

    if (rc)
        return rc;
    if (f->sc.llm)
        return llm_create(&f->llm, f->sc.llm, f->sc.topo, e);
    if (!o->export_et && !o->export_goal)
        return 0;
    return err_set(e, WH_ERR_INPUT, o->workload, 0,
                   "found a scenario without a workload, expected one that can be exported as "
                   "operations");
}

/* What the command line says wins over files. */
static void apply_settings(struct foreign *f, const struct foreign_options *o)
{
    if (o->has_cc)
        f->sc.cfg.cc = o->cc;
    if (o->payload_bytes)
        f->sc.cfg.payload_bytes = o->payload_bytes;
    if (o->seed_text)
        f->sc.cfg.seed = o->seed;
    if (o->end_ps >= 0)
        f->sc.cfg.end_ps = o->end_ps;
    if (o->kind != FOREIGN_SCENARIO)
        (void)snprintf(f->sc.name, sizeof f->sc.name, "%.*s", (int)sizeof f->sc.name - 1,
                       out_basename(o->workload));
}

int foreign_load(struct foreign *f, const struct foreign_options *o, const struct warn_sink *sink,
                 struct err_info *e)
{
    static int (*const load[])(struct foreign * f, const struct foreign_options *o,
                               const struct warn_sink *sink,
                               struct err_info *e) = {[FOREIGN_SCENARIO] = load_scenario,
                                                      [FOREIGN_GOAL] = load_goal,
                                                      [FOREIGN_CM] = load_cm,
                                                      [FOREIGN_SIMAI] = load_simai,
                                                      [FOREIGN_ASTRA] = load_astra};
    int rc;

    scenario_init(&f->sc);
    rc = load[o->kind](f, o, sink, e);
    if (rc)
        return rc;
    if (o->ignored)
        warn(sink, "-%s: accepted, no effect", o->ignored);
    apply_settings(f, o);
    return config_check(&f->sc.cfg, e);
}

void foreign_fini(struct foreign *f)
{
    run_job_fini(&f->job);
    llm_destroy(f->llm);
    run_htsim_destroy(f->run_cm);
    htsim_cm_fini(&f->cm);
    htsim_topo_fini(&f->htsim);
    goal_destroy(f->goal);
    simai_workload_destroy(f->simai);
    et_set_fini(&f->et);
    astra_groups_fini(&f->groups);
    astra_system_fini(&f->system);
    scenario_fini(&f->sc);
}
