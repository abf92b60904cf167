/*
 * test_hpcc_config.c - whole configurations: meaning, defaults, warnings, refusals.
 */
#include "hpcc.h"
#include "hpcc_files.h"
#include "units.h"

#include <criterion/criterion.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define MBPS INT64_C(1000000)

/* What every configuration below needs; keys given again count. */
#define BASE                                                                                       \
    "TOPOLOGY_FILE t.txt\nFLOW_FILE f.txt\nCC_MODE 1\nEWMA_GAIN 0.00390625\nRP_TIMER 300\n"        \
    "RATE_AI 20Mb/s\nRATE_HAI 200Mb/s\nL2_CHUNK_SIZE 4000\nL2_ACK_INTERVAL 1\n"                    \
    "KMAX_MAP 1 100000000000 1600\nKMIN_MAP 1 100000000000 400\nPMAX_MAP 1 100000000000 0.2\n"

static struct text_folder folder;
static struct warnings warnings;
static struct err_info err;
static struct scenario sc;

static void put(const char *name, const char *text)
{
    char path[128];

    text_folder_write(&folder, name, text, strlen(text), path, sizeof path);
}

static void set_up(void)
{
    text_folder_create(&folder);
    memset(&err, 0, sizeof err);
    scenario_init(&sc);
    put("t.txt", "3 1 2\n2\n0 2 100Gbps 1us 0\n1 2 100Gbps 1us 0\n");
    put("f.txt", "1\n0 1 3 100 1000 2.0\n");
}

static void tear_down(void)
{
    scenario_fini(&sc);
    text_folder_destroy(&folder);
}

TestSuite(hpcc_config, .init = set_up, .fini = tear_down);

static int load_with(const char *text, const struct hpcc_override *overrides, uint32_t count)
{
    struct warn_sink sink = warnings_sink(&warnings);
    char path[128];

    put("config.txt", text);
    snprintf(path, sizeof path, "%s/config.txt", folder.path);
    scenario_fini(&sc);
    scenario_init(&sc);
    return hpcc_load(path, NULL, overrides, count, &sc, &sink, &err);
}

static int load(const char *text)
{
    return load_with(text, NULL, 0);
}

static void expect_logs_of_sample(void)
{
    cr_expect_str_eq(sc.fct_path, "fct.txt");
    cr_expect_str_eq(sc.fct_key, "FCT_OUTPUT_FILE");
    cr_expect_str_eq(sc.logs[LOG_PFC].path, "pfc.txt");
    cr_expect_str_eq(sc.logs[LOG_PACKET].path, "", "ENABLE_TRACE is 0");
    cr_expect_str_eq(sc.logs[LOG_QLEN_HPCC].path, "qlen.txt");
    cr_expect_eq(sc.logs[LOG_QLEN_HPCC].interval_ps, 100 * PS_PER_NS);
    cr_expect_eq(sc.logs[LOG_QLEN_HPCC].from_ps, 2 * PS_PER_S);
    cr_expect_eq(sc.logs[LOG_QLEN_HPCC].to_ps, 2010 * PS_PER_MS);
}

Test(hpcc_config, sample_is_hpcc_with_go_back_n_and_32_mib)
{
    struct warn_sink sink = warnings_sink(&warnings);
    const struct sim_config *c = &sc.cfg;

    cr_assert_eq(hpcc_load(TEST_DATA_DIR "/hpcc/config.txt", NULL, NULL, 0, &sc, &sink, &err), 0,
                 "%s", err.text);
    cr_expect_eq(sc.topo->link_count, 8);
    cr_expect_eq(sc.flow_count, 4);
    cr_expect(sc.is_hpcc);
    cr_expect_eq(c->cc, CC_HPCC);
    cr_expect_eq(c->recovery, RECOVERY_GO_BACK_N);
    cr_expect_eq(c->buffer_bytes, INT64_C(32) << 20);
    cr_expect_eq(c->round_ps, 1000);
    cr_expect_eq(c->end_ps, 2100 * PS_PER_MS);
    cr_expect_eq(c->hpcc.ai_bps, 50 * MBPS);
    cr_expect_eq(c->hpcc.mi_thresh, 0);
    cr_expect_eq(c->hpcc.target_util, 0.95);
    cr_expect_eq(c->int_multi, 1);
    cr_expect_eq(c->ack, ACK_IN_DATA);
    cr_expect(c->has_window && c->window_global && c->window_variable && c->rate_bound);
    cr_expect(c->ecn && c->pfc && c->ecn_strict && !c->pfc_static);
    cr_assert_eq(c->ecn_row_count, 1);
    cr_expect_eq(c->ecn_rows[0].kmin_bytes, 400000);
    cr_expect_eq(c->ecn_rows[0].kmax_bytes, 1600000);
    cr_expect_eq(c->ecn_rows[0].pmax, 0.2);
    cr_expect_eq(c->event_count, 0);
    cr_expect_eq(c->rto, RTO_OFF);
    expect_logs_of_sample();
    cr_expect_eq(warnings.count, 1, "%s", warnings.text);
    cr_expect(warnings_have(&warnings, "no effect: PINT_LOG_BASE, PINT_PROB"));
}

Test(hpcc_config, missing_keys_have_the_defaults_of_the_reference)
{
    const struct sim_config *c = &sc.cfg;

    cr_assert_eq(load(BASE), 0, "%s", err.text);
    cr_expect_eq(warnings.count, 0, "%s", warnings.text);
    cr_expect_eq(c->end_ps, 3010 * PS_PER_MS);
    cr_expect_eq(c->payload_bytes, 1000);
    cr_expect_eq(c->header_bytes, 48);
    cr_expect_eq(c->ack_bytes, 60);
    cr_expect_eq(c->pfc_bytes, 43);
    cr_expect_eq(c->buffer_bytes, INT64_C(16) << 20);
    cr_expect_eq(c->dcqcn.alpha_resume_ps, 55 * PS_PER_US);
    cr_expect_eq(c->dcqcn.decrease_interval_ps, 4 * PS_PER_US);
    cr_expect_eq(c->dcqcn.fast_recovery, 5);
    cr_expect_eq(c->min_rate_bps, 100 * MBPS);
    cr_expect_eq(c->dctcp.ai_bps, 1000 * MBPS);
    cr_expect(c->has_window && c->window_global && !c->window_variable && c->rate_bound);
    cr_expect_eq(c->hpcc.mi_thresh, 5);
    cr_expect(c->hpcc.fast_react && c->hpcc.multi_rate && !c->hpcc.sample_feedback);
    cr_expect_eq(c->ack, ACK_IN_DATA);
    cr_expect_eq(c->nack_interval_ps, 500 * PS_PER_US);
    cr_expect_eq(c->ack_interval_bytes, 1);
    cr_expect_eq(c->int_hops_max, 5);
    cr_expect_eq(c->pfc_headroom_bytes, -1);
    cr_expect_eq(c->timely.min_rtt_ps, 20 * PS_PER_US);
    cr_expect_str_eq(sc.fct_path, "");
    cr_expect_str_eq(sc.logs[LOG_PFC].path, "");
}

Test(hpcc_config, congestion_control_by_number)
{
    static const struct {
        const char *mode;
        enum cc_kind cc;
        unsigned warnings;
    } steps[] = {{"1", CC_DCQCN, 0}, {"3", CC_HPCC, 0},  {"7", CC_TIMELY, 0},
                 {"8", CC_DCTCP, 0}, {"12", CC_NONE, 1}, {"0", CC_NONE, 1}};

    for (size_t i = 0; i < COUNT(steps); i++) {
        const struct hpcc_override o = {"CC_MODE", steps[i].mode};

        cr_assert_eq(load_with(BASE, &o, 1), 0, "%s", err.text);
        cr_expect_eq(sc.cfg.cc, steps[i].cc, "CC_MODE %s", steps[i].mode);
        cr_expect_eq(warnings.count, steps[i].warnings, "%s", warnings.text);
    }
}

Test(hpcc_config, values_reach_their_fields)
{
    const struct sim_config *c = &sc.cfg;

    cr_assert_eq(load(BASE "ALPHA_RESUME_INTERVAL 1.5\nRATE_DECREASE_INTERVAL 0.000001\n"
                           "CLAMP_TARGET_RATE 1\nL2_BACK_TO_ZERO 1\nHAS_WIN 0\nGLOBAL_T 0\n"
                           "ACK_HIGH_PRIO 1\nSPORT_REUSE 1\nPFC_ENABLED 0\nRATE_BOUND 0\n"
                           "RANDOM_SEED 18446744073709551615\nPACKET_PAYLOAD_SIZE 9000\n"
                           "SIMULATOR_STOP_TIME 40000000000000.00\n"),
                 0, "%s", err.text);
    cr_expect_eq(c->dcqcn.alpha_resume_ps, 1500000);
    cr_expect_eq(c->dcqcn.decrease_interval_ps, 1);
    cr_expect_eq(c->dcqcn.increase_timer_ps, 300 * PS_PER_US);
    cr_expect_eq(c->dcqcn.gain, 1.0 / 256);
    cr_expect_eq(c->dcqcn.ai_bps, 20 * MBPS);
    cr_expect_eq(c->timely.hai_bps, 200 * MBPS);
    cr_expect_eq(c->dcqcn.clamp_target, 1);
    cr_expect_eq(c->recovery, RECOVERY_GO_BACK_0);
    cr_expect(!c->has_window && !c->window_global && !c->rate_bound && !c->pfc);
    cr_expect(c->reuse_sport);
    cr_expect_eq(c->ack, ACK_PRIORITY);
    cr_expect_eq(c->seed, UINT64_MAX);
    cr_expect_eq(c->payload_bytes, 9000);
    cr_expect_eq(c->end_ps, TIME_NEVER);
    cr_expect(warnings_have(&warnings, "SIMULATOR_STOP_TIME"));
}

Test(hpcc_config, tokens_may_be_laid_out_freely)
{
    cr_assert_eq(load("\tHAS_WIN\t0 VAR_WIN 1\r\n" BASE "BUFFER_SIZE\n7\n# a comment\nLINK_DOWN 0\n"
                      "0 0 SIMULATOR_STOP_TIME 5"),
                 0, "%s", err.text);
    cr_expect_eq(sc.cfg.has_window, 0);
    cr_expect_eq(sc.cfg.window_variable, 1);
    cr_expect_eq(sc.cfg.buffer_bytes, INT64_C(7) << 20);
    cr_expect_eq(sc.cfg.end_ps, 5 * PS_PER_S);
    cr_expect_eq(warnings.count, 0, "%s", warnings.text);
}

Test(hpcc_config, what_is_odd_is_said_once)
{
    static const struct {
        const char *text, *part;
    } steps[] = {
        {BASE "RATE_AIM 5Mb/s\nRATE_AIM 5Mb/s\n",
         "config.txt:13: unknown key \"RATE_AIM\" is ignored; the nearest known key is RATE_AI"},
        {BASE "pfc_enable 1\n", "nearest known key is PFC_ENABLED"},
        {BASE "RP_TIMER 900\n", "config.txt:13: RP_TIMER was given in line 5 already"},
        {BASE "DATA_RATE 1Gb/s\nLINK_DELAY 1us\nPAUSE_TIME 5\nNIC_TOTAL_PAUSE_TIME 0\n"
              "MON_START 1\n",
         "no effect: PAUSE_TIME, NIC_TOTAL_PAUSE_TIME, DATA_RATE, LINK_DELAY, MON_START"},
        {BASE "# the default of CC_MODE is 1\n", "would obey the CC_MODE in it"},
        {BASE "USE_DYNAMIC_PFC_THRESHOLD 0\n", "USE_DYNAMIC_PFC_THRESHOLD 0"},
        {BASE "ERROR_RATE_PER_LINK 0.01\n", "no timeout"},
        {BASE "LINK_DOWN 20 0 2\n", "no timeout"},
    };

    for (size_t i = 0; i < COUNT(steps); i++) {
        cr_assert_eq(load(steps[i].text), 0, "%zu: %s", i, err.text);
        cr_expect_eq(warnings.count, 1, "%zu: %s", i, warnings.text);
        cr_expect(warnings_have(&warnings, steps[i].part), "%zu: %s", i, warnings.text);
    }
}

Test(hpcc_config, a_key_given_again_counts)
{
    cr_assert_eq(load(BASE "RP_TIMER 900\n"), 0, "%s", err.text);
    cr_expect_eq(sc.cfg.dcqcn.increase_timer_ps, 900 * PS_PER_US);
}

Test(hpcc_config, malformed_files_are_refused_with_line_and_reason)
{
    static const struct {
        const char *text;
        long line;
        const char *part;
    } steps[] = {
        {"", 0, "found no EWMA_GAIN"},
        {"CC_MODE\n", 1, "CC_MODE without its value"},
        {"CC_MODE\nHAS_WIN 1\n", 1, "CC_MODE without a complete value"},
        {"\n\nCC_MODE DCQCN\n", 3, "CC_MODE \"DCQCN\""},
        {"CC_MODE -1\n", 1, "CC_MODE \"-1\""},
        {"CC_MODE 3.5\n", 1, "CC_MODE \"3.5\""},
        {"HAS_WIN 2\n", 1, "HAS_WIN \"2\", expected 0 or 1"},
        {"ENABLE_QCN true\n", 1, "ENABLE_QCN \"true\""},
        {"BUFFER_SIZE 0\n", 1, "BUFFER_SIZE \"0\""},
        {"BUFFER_SIZE 0.5\n", 1, "BUFFER_SIZE \"0.5\""},
        {"PACKET_PAYLOAD_SIZE 0\n", 1, "PACKET_PAYLOAD_SIZE \"0\""},
        {"PACKET_PAYLOAD_SIZE 70000\n", 1, "PACKET_PAYLOAD_SIZE \"70000\""},
        {"PAUSE_TIME 0\n", 1, "a resume"},
        {"L2_CHUNK_SIZE 0\n", 1, "divides by it"},
        {"L2_ACK_INTERVAL 0\n", 1, "no flow completes"},
        {"EWMA_GAIN 0\n", 1, "EWMA_GAIN \"0\""},
        {"EWMA_GAIN 1/16\n", 1, "EWMA_GAIN \"1/16\""},
        {"EWMA_GAIN 1.5\n", 1, "EWMA_GAIN \"1.5\""},
        {"U_TARGET 95\n", 1, "U_TARGET \"95\""},
        {"INT_MULTI 0\n", 1, "INT_MULTI \"0\""},
        {"RP_TIMER 0\n", 1, "RP_TIMER \"0\""},
        {"RP_TIMER 300us\n", 1, "RP_TIMER \"300us\""},
        {"ALPHA_RESUME_INTERVAL -1\n", 1, "ALPHA_RESUME_INTERVAL \"-1\""},
        {"RATE_AI 20\n", 1, "RATE_AI \"20\""},
        {"MIN_RATE 0Mb/s\n", 1, "MIN_RATE \"0Mb/s\""},
        {"SIMULATOR_STOP_TIME -1\n", 1, "SIMULATOR_STOP_TIME \"-1\""},
        {"SIMULATOR_STOP_TIME 3s\n", 1, "SIMULATOR_STOP_TIME \"3s\""},
        {"ERROR_RATE_PER_LINK 2\n", 1, "ERROR_RATE_PER_LINK \"2\""},
        {"LINK_DOWN 20 4\n", 1, "LINK_DOWN without its value"},
        {"LINK_DOWN 20 4 x\n", 1, "LINK_DOWN \"x\""},
        {"LINK_DOWN -20 4 6\n", 1, "LINK_DOWN \"-20\""},
        {"KMAX_MAP 17\n", 1, "KMAX_MAP \"17\""},
        {"KMAX_MAP 2 100000000000 1600\nKMIN_MAP 0\n", 1, "KMAX_MAP without a complete value"},
        {"KMAX_MAP 1 100Gbps 1600\n", 1, "KMAX_MAP \"100Gbps\""},
        {"KMAX_MAP 1 100000000000 1.5\n", 1, "KMAX_MAP \"1.5\""},
        {"PMAX_MAP 1 100000000000 20\n", 1, "PMAX_MAP \"20\""},
        {BASE "CC_MODE 10\n", 13, "PINT"},
        {BASE "TOPOLOGY_FILE nowhere.txt\n", 13, "TOPOLOGY_FILE: found no file \"nowhere.txt\""},
        {BASE "FLOW_FILE nowhere.txt\n", 13, "FLOW_FILE: found no file"},
        {BASE "FLOW_FILE .\n", 13, "FLOW_FILE: found no file"},
        {BASE "LINK_DOWN 20 0 1\n", 13, "a link between them"},
        {BASE "LINK_DOWN 20 0 7\n", 13, "a link between them"},
        {BASE "KMAX_MAP 1 40000000000 640\n", 13, "KMAX_MAP: found no entry for 100000000000"},
        {BASE "PMAX_MAP 0\n", 13, "PMAX_MAP: found no entry for 100000000000 bit/s"},
        {BASE "KMIN_MAP 1 100000000000 1601\n", 13, "KMIN_MAP: found 1601 KB"},
        {BASE "QLEN_MON_FILE q.txt\nQLEN_MON_END 5\n", 14, "QLEN_MON_END: found 5 ns"},
        {BASE "ENABLE_TRACE 1\n", 13, "found 1 without TRACE_FILE"},
        {BASE "ENABLE_TRACE 1\nTRACE_FILE t.txt\n", 13, "found 1 without TRACE_OUTPUT_FILE"},
        {BASE "TRACE_FILE x.txt\nTRACE_OUTPUT_FILE o.tr\n", 13, "TRACE_FILE: found no file"},
    };

    for (size_t i = 0; i < COUNT(steps); i++) {
        memset(&err, 0, sizeof err);
        cr_expect_eq(load(steps[i].text), WH_ERR_INPUT, "%zu: accepted: %s", i, steps[i].part);
        cr_expect_eq(err.line, steps[i].line, "%zu: line %ld: %s", i, err.line, err.text);
        cr_expect(strstr(err.text, steps[i].part), "%zu: %s", i, err.text);
        cr_expect(strstr(err.text, "expected"), "%zu: %s", i, err.text);
        cr_expect(strstr(err.file, "config.txt"), "%zu: %s", i, err.file);
    }
}

/* Each key of BASE that the reference has no usable default for, under the schemes that need it. */
Test(hpcc_config, keys_without_a_usable_default_are_required)
{
    static const struct {
        const char *mode, *key;
        int is_needed;
    } steps[] = {
        {"1", "EWMA_GAIN", 1},     {"8", "EWMA_GAIN", 1},        {"3", "EWMA_GAIN", 0},
        {"1", "RP_TIMER", 1},      {"7", "RP_TIMER", 0},         {"1", "RATE_AI", 1},
        {"3", "RATE_AI", 1},       {"7", "RATE_AI", 1},          {"8", "RATE_AI", 0},
        {"1", "RATE_HAI", 1},      {"7", "RATE_HAI", 1},         {"3", "RATE_HAI", 0},
        {"3", "L2_CHUNK_SIZE", 1}, {"12", "L2_ACK_INTERVAL", 1}, {"3", "TOPOLOGY_FILE", 1},
        {"3", "FLOW_FILE", 1},     {"3", "KMAX_MAP", 1},         {"3", "PMAX_MAP", 1},
    };

    for (size_t i = 0; i < COUNT(steps); i++) {
        const struct hpcc_override o = {"CC_MODE", steps[i].mode};
        char text[] = BASE;
        char *key = strstr(text, steps[i].key);

        key[0] = '#'; /* the line becomes a comment */
        cr_expect_eq(load_with(text, &o, 1), steps[i].is_needed ? WH_ERR_INPUT : 0, "%s under %s",
                     steps[i].key, steps[i].mode);
        if (steps[i].is_needed)
            cr_expect(strstr(err.text, steps[i].key), "%s: %s", steps[i].key, err.text);
    }
}

Test(hpcc_config, thresholds_are_not_needed_where_nothing_marks)
{
    cr_expect_eq(load(BASE "KMAX_MAP 0\nENABLE_QCN 0\n"), 0, "%s", err.text);
    cr_expect_eq(sc.cfg.ecn, 0);
    put("t.txt", "2 0 1\n0 1 40Gbps 1us 0\n");
    cr_expect_eq(load(BASE), 0, "%s", err.text);
    cr_expect_eq(sc.cfg.ecn, 0);
}

Test(hpcc_config, delays_and_starts_are_cut_to_ns)
{
    put("t.txt", "3 1 2\n2\n0 2 100Gbps 1500.9ns 0\n1 2 100Gbps 0.5ns 0\n");
    put("f.txt", "2\n0 1 3 100 1000 2.0000000019\n0 1 3 100 1000 2.000000002\n");
    cr_assert_eq(load(BASE), 0, "%s", err.text);
    cr_expect_eq(topo_port_class(sc.topo, sc.topo->first_port[0])->delay_ps, 1500000);
    cr_expect_eq(topo_port_class(sc.topo, sc.topo->first_port[1])->delay_ps, 0);
    cr_expect_eq(sc.flows[0].start_ps, INT64_C(2000000001000));
    cr_expect_eq(sc.flows[1].start_ps, INT64_C(2000000002000));
    cr_expect_eq(warnings.count, 2, "%s", warnings.text);
}

Test(hpcc_config, error_rate_holds_where_the_topology_says_0)
{
    put("t.txt", "3 1 2\n2\n0 2 100Gbps 1us 0.5\n1 2 100Gbps 1us 0\n");
    cr_assert_eq(load(BASE "ERROR_RATE_PER_LINK 0.001\n"), 0, "%s", err.text);
    cr_expect_eq(topo_port_class(sc.topo, sc.topo->first_port[0])->error_rate, 0.5);
    cr_expect_eq(topo_port_class(sc.topo, sc.topo->first_port[1])->error_rate, 0.001);
    cr_expect_eq(sc.cfg.rto, RTO_ON);
    cr_expect_eq(sc.cfg.rto_ps, PS_PER_MS);
}

Test(hpcc_config, a_link_goes_down_after_2_s)
{
    cr_assert_eq(load(BASE "LINK_DOWN 20 2 1\n"), 0, "%s", err.text);
    cr_assert_eq(sc.cfg.event_count, 1);
    cr_expect_eq(sc.cfg.events[0].time_ps, 2 * PS_PER_S + 20 * PS_PER_US);
    cr_expect_eq(sc.cfg.events[0].a, 2);
    cr_expect_eq(sc.cfg.events[0].b, 1);
    cr_expect_eq(sc.cfg.events[0].kind, NET_LINK_DOWN);
    cr_expect_eq(sc.cfg.rto, RTO_ON);
}

Test(hpcc_config, trace_is_a_filtered_packet_log)
{
    const struct log_request *log = &sc.logs[LOG_PACKET];

    put("n.txt", "2\n2 0\n");
    cr_assert_eq(load(BASE "ENABLE_TRACE 1\nTRACE_FILE n.txt\nTRACE_OUTPUT_FILE o.tr\n"), 0, "%s",
                 err.text);
    cr_expect_str_eq(log->path, "o.tr");
    cr_assert_eq(log->filter_count, 2);
    cr_expect_eq(sc.filter_ids[log->filter_first], 2);
    cr_expect_eq(log->to_ps, TIME_NEVER);
    cr_expect(warnings_have(&warnings, "CSV"), "%s", warnings.text);
    put("n.txt", "0\n");
    cr_assert_eq(load(BASE "TRACE_FILE n.txt\nTRACE_OUTPUT_FILE o.tr\n"), 0, "%s", err.text);
    cr_expect_str_eq(log->path, "", "an empty list of nodes must not become all nodes");
}

Test(hpcc_config, overrides_win_and_are_named_in_errors)
{
    static const struct hpcc_override good[] = {{"CC_MODE", "3"}, {"LINK_DOWN", "5 0 2"}};
    static const struct {
        struct hpcc_override o;
        const char *part;
    } bad[] = {
        {{"HAS_WIN", "yes"}, "HAS_WIN \"yes\""},
        {{"HAS_WIN", ""}, "HAS_WIN without its value"},
        {{"LINK_DOWN", "5 0 1"}, "LINK_DOWN: found nodes 0 and 1"},
        {{"FLOW_FILE", "no.txt"}, "FLOW_FILE: found no file"},
    };

    cr_assert_eq(load_with(BASE, good, 2), 0, "%s", err.text);
    cr_expect_eq(sc.cfg.cc, CC_HPCC);
    cr_expect_eq(sc.cfg.event_count, 1);
    cr_expect_eq(warnings.count, 1, "%s", warnings.text);
    for (size_t i = 0; i < COUNT(bad); i++) {
        cr_expect_eq(load_with(BASE, &bad[i].o, 1), WH_ERR_INPUT, "%zu", i);
        cr_expect_str_eq(err.file, "command line");
        cr_expect_eq(err.line, 0);
        cr_expect(strstr(err.text, bad[i].part), "%zu: %s", i, err.text);
    }
    const struct hpcc_override unknown = {"CC_MODES", "3"};

    cr_expect_eq(load_with(BASE, &unknown, 1), 0);
    cr_expect(warnings_have(&warnings, "command line: unknown key \"CC_MODES\""), "%s",
              warnings.text);
}

Test(hpcc_config, files_of_the_working_directory_come_first)
{
    char sub[128], path[160];

    snprintf(sub, sizeof sub, "%s/sub", folder.path);
    cr_assert_eq(mkdir(sub, 0700), 0);
    put("sub/config.txt", BASE);
    put("sub/f.txt", "0\n");
    cr_assert_eq(chdir(folder.path), 0);
    snprintf(path, sizeof path, "sub/config.txt");
    struct warn_sink sink = warnings_sink(&warnings);

    cr_expect_eq(hpcc_load(path, NULL, NULL, 0, &sc, &sink, &err), 0, "%s", err.text);
    cr_expect_eq(sc.flow_count, 1, "f.txt of the working directory");
    cr_expect_eq(sc.topo->node_count, 3);
    cr_expect_eq(warnings.count, 1, "%s", warnings.text);
    cr_expect(warnings_have(&warnings, "FLOW_FILE: f.txt is in the working directory and beside"));
    unlink("sub/config.txt");
    unlink("sub/f.txt");
    rmdir(sub);
}

Test(hpcc_config, many_unknown_keys_end_in_a_count)
{
    char text[4096] = BASE;
    size_t used = strlen(text);

    for (int i = 0; i < 40; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "KEY_NUMBER_%d 1\n", i);
    cr_expect_eq(load(text), 0, "%s", err.text);
    cr_expect_eq(warnings.count, 33, "%u", warnings.count);
    cr_expect(warnings_have(&warnings, "8 more unknown keys"), "%s", warnings.text);
}

Test(hpcc_config, errors_in_the_named_files_name_those_files)
{
    put("f.txt", "1\n0 2 3 100 1000 2.0\n");
    cr_expect_eq(load(BASE), WH_ERR_INPUT);
    cr_expect(strstr(err.file, "f.txt"), "%s", err.file);
    cr_expect_eq(err.line, 2);
}
