/*
 * The examples' parameters, flows, bytes, packets and packet-hops are the published or
 * independently computed ones: docs/workloads.md explains the formulas. The tables were made by
 * enumerating all flows outside this program.
 */
#include "llm.h"
#include "scenario_yaml.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>
#include <string.h>

struct row {
    const char *scenario;
    int is_real;
    unsigned kind; /* enum llm_kind, LLM_KIND_COUNT: all */
    uint64_t colls, flows, bytes, packets, hops, hops_4096;
};

struct figure_row {
    const char *scenario;
    uint64_t params, used, first, middle, last, experts;
    double flops_paper, flops_real;
    uint64_t network_bytes_real; /* not over NVLink */
};

struct size_row {
    const char *scenario;
    unsigned kind;
    int64_t bytes;
    uint64_t flows;
    uint32_t links;
};

static const struct row rows[] = {
    {"gpt-7b-64", 0, LLM_DP, 32, 384, 139364499456, 139364736, 557458944, 136098432},
    {"gpt-7b-64", 0, LLM_PP, 128, 128, 268435456, 268544, 1074176, 262144},
    {"gpt-7b-64", 0, LLM_KIND_COUNT, 160, 512, 139632934912, 139633280, 558533120, 136360576},
    {"gpt-13b-128", 0, LLM_DP, 32, 1792, 554502144000, 554503040, 2218012160, 541508352},
    {"gpt-13b-128", 0, LLM_PP, 256, 256, 671088640, 671232, 2684928, 655360},
    {"gpt-13b-128", 0, LLM_KIND_COUNT, 288, 2048, 555173232640, 555174272, 2220697088, 542163712},
    {"gpt-22b-256", 0, LLM_DP, 64, 3584, 944554770432, 944557824, 3778231296, 922419456},
    {"gpt-22b-256", 0, LLM_PP, 1536, 1536, 4831838208, 4832256, 19329024, 4718592},
    {"gpt-22b-256", 0, LLM_KIND_COUNT, 1600, 5120, 949386608640, 949390080, 3797560320, 927138048},
    {"gpt-175b-1024", 0, LLM_DP, 128, 30720, 15792378347520, 15792391680, 63169566720, 15422261760},
    {"gpt-175b-1024", 0, LLM_PP, 14336, 14336, 90194313216, 90202112, 412352512, 100663296},
    {"gpt-175b-1024", 0, LLM_KIND_COUNT, 14464, 45056, 15882572660736, 15882593792, 63581919232,
     15522925056},
    {"llama-70b-512", 0, LLM_DP, 64, 15360, 6350664499200, 6350670720, 25402682880, 6201830400},
    {"llama-70b-512", 0, LLM_PP, 3072, 3072, 51539607552, 51542016, 206168064, 50331648},
    {"llama-70b-512", 0, LLM_KIND_COUNT, 3136, 18432, 6402204106752, 6402212736, 25608850944,
     6252162048},
    {"moe-8x7b-64", 0, LLM_DP, 8, 1920, 144507248640, 144507600, 1156060800, 282243840},
    {"moe-8x7b-64", 0, LLM_EDP, 64, 128, 270582939648, 270583040, 1082332160, 264241152},
    {"moe-8x7b-64", 0, LLM_EP, 1024, 57344, 481036337152, 481058816, 3848470528, 939524096},
    {"moe-8x7b-64", 0, LLM_PP, 384, 384, 12884901888, 12885120, 51540480, 12582912},
    {"moe-8x7b-64", 0, LLM_KIND_COUNT, 1480, 59776, 909011427328, 909034576, 6138403968,
     1498592000},
    {"moe-8x13b-128", 0, LLM_DP, 16, 3840, 407348121600, 407348640, 3258789120, 795617280},
    {"moe-8x13b-128", 0, LLM_EDP, 128, 256, 407686348800, 407686528, 1630746112, 398131200},
    {"moe-8x13b-128", 0, LLM_EP, 2560, 143360, 751619276800, 751636480, 5583585280, 1363148800},
    {"moe-8x13b-128", 0, LLM_PP, 768, 768, 16106127360, 16106496, 64425984, 15728640},
    {"moe-8x13b-128", 0, LLM_KIND_COUNT, 3472, 148224, 1582759874560, 1582778144, 10537546496,
     2572625920},
    {"moe-8x22b-256", 0, LLM_DP, 32, 7680, 480555417600, 480558720, 3844469760, 938618880},
    {"moe-8x22b-256", 0, LLM_EDP, 256, 512, 811748818944, 811749120, 3246996480, 792723456},
    {"moe-8x22b-256", 0, LLM_EP, 7168, 401408, 1262720385024, 1262829568, 7937785856, 1937768448},
    {"moe-8x22b-256", 0, LLM_PP, 1536, 1536, 19327352832, 19327488, 77309952, 18874368},
    {"moe-8x22b-256", 0, LLM_KIND_COUNT, 8992, 411136, 2574351974400, 2574464896, 15106562048,
     3687985152},
    {"moe-32x22b-1024", 0, LLM_DP, 64, 63488, 999291469824, 999336832, 7994694656, 1952002048},
    {"moe-32x22b-1024", 0, LLM_EP, 7168, 7110656, 5592047419392, 5596086272, 33937555456,
     8279556096},
    {"moe-32x22b-1024", 0, LLM_PP, 14336, 14336, 180388626432, 180389888, 824639488, 201326592},
    {"moe-32x22b-1024", 0, LLM_KIND_COUNT, 21568, 7188480, 6771727515648, 6775812992, 42756889600,
     10432884736},
    {"gpt-7b-64", 1, LLM_TP, 73728, 8257536, 17317308137472, 17324310528, 69297242112, 16911433728},
    {"gpt-7b-64", 1, LLM_PP, 8192, 8192, 17179869184, 17186816, 68747264, 16777216},
    {"gpt-7b-64", 1, LLM_KIND_COUNT, 81952, 8266112, 17473852506112, 17480862080, 69923448320,
     17064309376},
    {"gpt-13b-128", 1, LLM_TP, 163840, 18350080, 48103633715200, 48113909760, 192455639040,
     46976204800},
    {"gpt-13b-128", 1, LLM_PP, 16384, 16384, 42949672960, 42958848, 171835392, 41943040},
    {"gpt-13b-128", 1, LLM_KIND_COUNT, 180256, 18368256, 48701085532160, 48711371648, 194845486592,
     47559656192},
    {"gpt-22b-256", 1, LLM_TP, 196608, 22020096, 69269232549888, 69275222016, 277100888064,
     67645734912},
    {"gpt-22b-256", 1, LLM_PP, 49152, 49152, 154618822656, 154632192, 618528768, 150994944},
    {"gpt-22b-256", 1, LLM_KIND_COUNT, 245824, 22072832, 70368406142976, 70374412032, 281497648128,
     68719149312},
    {"gpt-175b-1024", 1, LLM_TP, 589824, 66060288, 415615395299328, 415651332096, 1662605328384,
     405874409472},
    {"gpt-175b-1024", 1, LLM_PP, 172032, 172032, 1082331758592, 1082425344, 4948230144, 1207959552},
    {"gpt-175b-1024", 1, LLM_KIND_COUNT, 761984, 66263040, 432490105405440, 432526149120,
     1730723125248, 422504630784},
    {"llama-70b-512", 1, LLM_TP, 163840, 18350080, 307863255777280, 307877642240, 1231510568960,
     300647710720},
    {"llama-70b-512", 1, LLM_PP, 24576, 24576, 412316860416, 412336128, 1649344512, 402653184},
    {"llama-70b-512", 1, LLM_KIND_COUNT, 188480, 18390016, 314626237136896, 314640649088,
     1258562596352, 307252194304},
    {"moe-8x7b-64", 1, LLM_DP, 8, 1920, 144507248640, 144507600, 650284200, 158762160},
    {"moe-8x7b-64", 1, LLM_EP, 4096, 229376, 1924145348608, 1924235264, 7696941056, 1879048192},
    {"moe-8x7b-64", 1, LLM_PP, 1536, 1536, 51539607552, 51540480, 206161920, 50331648},
    {"moe-8x7b-64", 1, LLM_KIND_COUNT, 5704, 232960, 2390775144448, 2390866384, 9635719336,
     2352383152},
    {"moe-8x13b-128", 1, LLM_DP, 16, 3840, 407348121600, 407348640, 2036743200, 497260800},
    {"moe-8x13b-128", 1, LLM_EP, 20480, 1146880, 6012954214400, 6013091840, 34360524800,
     8388608000},
    {"moe-8x13b-128", 1, LLM_TP, 81920, 163840, 3435973836800, 3436052480, 13744209920, 3355443200},
    {"moe-8x13b-128", 1, LLM_TPE, 81920, 163840, 6871947673600, 6872104960, 27488419840,
     6710886400},
    {"moe-8x13b-128", 1, LLM_PP, 6144, 6144, 128849018880, 128851968, 515407872, 125829120},
    {"moe-8x13b-128", 1, LLM_KIND_COUNT, 190608, 1484800, 17264759214080, 17265136416, 79776051744,
     19476158720},
    {"moe-8x22b-256", 1, LLM_DP, 32, 7680, 480555417600, 480558720, 2883352320, 703964160},
    {"moe-8x22b-256", 1, LLM_EP, 57344, 3211264, 10101763080192, 10102636544, 57729351680,
     14092861440},
    {"moe-8x22b-256", 1, LLM_TP, 114688, 1376256, 17317308137472, 17317429248, 69269716992,
     16911433728},
    {"moe-8x22b-256", 1, LLM_TPE, 114688, 1376256, 34634616274944, 34634858496, 138539433984,
     33822867456},
    {"moe-8x22b-256", 1, LLM_PP, 12288, 12288, 154618822656, 154619904, 618479616, 150994944},
    {"moe-8x22b-256", 1, LLM_KIND_COUNT, 299296, 5984256, 63500610551808, 63501852032, 272287331072,
     66474845184},
    {"moe-32x22b-1024", 1, LLM_DP, 64, 63488, 999291469824, 999336832, 5996020992, 1464001536},
    {"moe-32x22b-1024", 1, LLM_EP, 28672, 28442624, 22368189677568, 22384345088, 132861919232,
     32413581312},
    {"moe-32x22b-1024", 1, LLM_TP, 229376, 2752512, 34634616274944, 34634858496, 138539433984,
     33822867456},
    {"moe-32x22b-1024", 1, LLM_TPE, 229376, 2752512, 69269232549888, 69269716992, 277078867968,
     67645734912},
    {"moe-32x22b-1024", 1, LLM_PP, 57344, 57344, 721554505728, 721559552, 3298557952, 805306368},
    {"moe-32x22b-1024", 1, LLM_KIND_COUNT, 544832, 34068480, 127992884477952, 128009816960,
     557774800128, 136151491584},
};

static const struct figure_row figure_rows[] = {
    {"gpt-7b-64", 7467786240, 7467786240, 488094720, 0, 479714304, 0, 7.92473e+14, 5.07183e+16,
     156544368640},
    {"gpt-13b-128", 12858214400, 12858214400, 830389760, 0, 819914240, 0, 2.69037e+15, 1.72184e+17,
     597451816960},
    {"gpt-22b-256", 22074273792, 22074273792, 731888640, 679984128, 719318016, 0, 9.14849e+15,
     2.92752e+17, 1099173593088},
    {"gpt-175b-1024", 174615846912, 174615846912, 2822731776, 2718922752, 2797590528, 0,
     2.82183e+17, 3.3862e+18, 16874710106112},
    {"llama-70b-512", 70553706496, 70553706496, 2270756864, 2139422720, 2270765056, 0, 2.5241e+17,
     2.01928e+18, 6762981359616},
    {"moe-8x7b-64", 46702792704, 12879925248, 466944000, 335872000, 466948096, 1409286144,
     2.17406e+16, 8.69626e+16, 340185953280},
    {"moe-8x13b-128", 72471761920, 21510968320, 606720000, 524800000, 606725120, 1061683200,
     3.62143e+16, 2.89714e+17, 4074346234880},
    {"moe-8x22b-256", 140620634112, 39152031744, 358293504, 309141504, 358299648, 1056964608,
     6.57037e+16, 5.2563e+17, 9865299419136},
    {"moe-32x22b-1024", 546503301120, 39160289280, 204754944, 155602944, 204761088, 528482304,
     2.62867e+17, 1.05147e+18, 22867835412480},
};

static const struct size_row size_rows[] = {
    {"gpt-7b-64", LLM_DP, 239857152, 96, 2},
    {"gpt-7b-64", LLM_DP, 244047360, 96, 2},
    {"gpt-7b-64", LLM_DP, 479714304, 96, 2},
    {"gpt-7b-64", LLM_DP, 488094720, 96, 2},
    {"gpt-7b-64", LLM_PP, 2097152, 128, 2},
    {"gpt-13b-128", LLM_DP, 204978560, 448, 2},
    {"gpt-13b-128", LLM_DP, 207597440, 448, 2},
    {"gpt-13b-128", LLM_DP, 409957120, 448, 2},
    {"gpt-13b-128", LLM_DP, 415194880, 448, 2},
    {"gpt-13b-128", LLM_PP, 2621440, 256, 2},
    {"gpt-22b-256", LLM_DP, 169996032, 896, 2},
    {"gpt-22b-256", LLM_DP, 179829504, 448, 2},
    {"gpt-22b-256", LLM_DP, 182972160, 448, 2},
    {"gpt-22b-256", LLM_DP, 339992064, 896, 2},
    {"gpt-22b-256", LLM_DP, 359659008, 448, 2},
    {"gpt-22b-256", LLM_DP, 365944320, 448, 2},
    {"gpt-22b-256", LLM_PP, 3145728, 1536, 2},
    {"gpt-175b-1024", LLM_DP, 339865344, 11520, 2},
    {"gpt-175b-1024", LLM_DP, 349698816, 1920, 2},
    {"gpt-175b-1024", LLM_DP, 352841472, 1920, 2},
    {"gpt-175b-1024", LLM_DP, 679730688, 11520, 2},
    {"gpt-175b-1024", LLM_DP, 699397632, 1920, 2},
    {"gpt-175b-1024", LLM_DP, 705682944, 1920, 2},
    {"gpt-175b-1024", LLM_PP, 6291456, 12288, 2},
    {"gpt-175b-1024", LLM_PP, 6291456, 2048, 4},
    {"llama-70b-512", LLM_DP, 267427840, 3840, 2},
    {"llama-70b-512", LLM_DP, 283844608, 1920, 2},
    {"llama-70b-512", LLM_DP, 283845632, 1920, 2},
    {"llama-70b-512", LLM_DP, 534855680, 3840, 2},
    {"llama-70b-512", LLM_DP, 567689216, 1920, 2},
    {"llama-70b-512", LLM_DP, 567691264, 1920, 2},
    {"llama-70b-512", LLM_PP, 16777216, 3072, 2},
    {"moe-8x7b-64", LLM_DP, 41984000, 480, 4},
    {"moe-8x7b-64", LLM_DP, 58368000, 240, 4},
    {"moe-8x7b-64", LLM_DP, 58368512, 240, 4},
    {"moe-8x7b-64", LLM_DP, 83968000, 480, 4},
    {"moe-8x7b-64", LLM_DP, 116736000, 240, 4},
    {"moe-8x7b-64", LLM_DP, 116737024, 240, 4},
    {"moe-8x7b-64", LLM_EDP, 1409286144, 64, 2},
    {"moe-8x7b-64", LLM_EDP, 2818572288, 64, 2},
    {"moe-8x7b-64", LLM_EP, 8388608, 57344, 4},
    {"moe-8x7b-64", LLM_PP, 33554432, 384, 2},
    {"moe-8x13b-128", LLM_DP, 65600000, 960, 4},
    {"moe-8x13b-128", LLM_DP, 75840000, 480, 4},
    {"moe-8x13b-128", LLM_DP, 75840640, 480, 4},
    {"moe-8x13b-128", LLM_DP, 131200000, 960, 4},
    {"moe-8x13b-128", LLM_DP, 151680000, 480, 4},
    {"moe-8x13b-128", LLM_DP, 151681280, 480, 4},
    {"moe-8x13b-128", LLM_EDP, 1061683200, 128, 2},
    {"moe-8x13b-128", LLM_EDP, 2123366400, 128, 2},
    {"moe-8x13b-128", LLM_EP, 5242880, 20480, 2},
    {"moe-8x13b-128", LLM_EP, 5242880, 122880, 4},
    {"moe-8x13b-128", LLM_PP, 20971520, 768, 2},
    {"moe-8x22b-256", LLM_DP, 38642688, 1920, 4},
    {"moe-8x22b-256", LLM_DP, 44786688, 960, 4},
    {"moe-8x22b-256", LLM_DP, 44787456, 960, 4},
    {"moe-8x22b-256", LLM_DP, 77285376, 1920, 4},
    {"moe-8x22b-256", LLM_DP, 89573376, 960, 4},
    {"moe-8x22b-256", LLM_DP, 89574912, 960, 4},
    {"moe-8x22b-256", LLM_EDP, 1056964608, 256, 2},
    {"moe-8x22b-256", LLM_EDP, 2113929216, 256, 2},
    {"moe-8x22b-256", LLM_EP, 3145728, 172032, 2},
    {"moe-8x22b-256", LLM_EP, 3145728, 229376, 4},
    {"moe-8x22b-256", LLM_PP, 12582912, 1536, 2},
    {"moe-32x22b-1024", LLM_DP, 9725184, 23808, 4},
    {"moe-32x22b-1024", LLM_DP, 12797184, 3968, 4},
    {"moe-32x22b-1024", LLM_DP, 12797568, 3968, 4},
    {"moe-32x22b-1024", LLM_DP, 19450368, 23808, 4},
    {"moe-32x22b-1024", LLM_DP, 25594368, 3968, 4},
    {"moe-32x22b-1024", LLM_DP, 25595136, 3968, 4},
    {"moe-32x22b-1024", LLM_EP, 786432, 3440640, 2},
    {"moe-32x22b-1024", LLM_EP, 786432, 3670016, 4},
    {"moe-32x22b-1024", LLM_PP, 12582912, 12288, 2},
    {"moe-32x22b-1024", LLM_PP, 12582912, 2048, 4},
};
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

struct example {
    struct scenario sc;
    struct llm *g;
};

/* The reference counts all-to-alls that go directly. */
static void load(struct example *x, const char *name, int is_real, const struct yaml_override *set,
                 uint32_t set_count)
{
    struct err_info e = {.text = ""};
    char path[512], text[1600];
    int rc;

    snprintf(path, sizeof path, "%s/../../examples/%s%s.yaml", TEST_DATA_DIR, name,
             is_real ? "-real" : "");
    scenario_init(&x->sc);
    x->g = NULL;
    rc = scenario_load_yaml(path, set, set_count, &x->sc, NULL, &e);
    cr_assert_eq(rc, 0, "%s", err_format(&e, text, sizeof text));
    cr_assert_not_null(x->sc.llm);
    rc = llm_create(&x->g, x->sc.llm, x->sc.topo, &e);
    cr_assert_eq(rc, 0, "%s", err_format(&e, text, sizeof text));
}

static void load_direct(struct example *x, const char *name, int is_real)
{
    const struct yaml_override direct = {"workload.network.ep_algorithm", "direct"};

    load(x, name, is_real, &direct, 1);
}

static void drop(struct example *x)
{
    llm_destroy(x->g);
    scenario_fini(&x->sc);
}

static void count(const struct example *x, uint32_t payload_bytes, struct llm_counts *out)
{
    struct err_info e = {.text = ""};

    cr_assert_eq(llm_count(x->g, x->sc.topo, payload_bytes, out, &e), 0, "%s", e.text);
}

static const struct llm_count *count_of(const struct llm_counts *c, unsigned kind)
{
    return kind == LLM_KIND_COUNT ? &c->all : &c->kind[kind];
}

static void check_row(const struct row *r, const struct llm_counts *c, const struct llm_counts *c4)
{
    const struct llm_count *k = count_of(c, r->kind);
    const char *kind = r->kind == LLM_KIND_COUNT ? "all" : llm_kind_name((enum llm_kind)r->kind);

    cr_expect_eq(k->colls, r->colls, "%s %s: %lu collectives", r->scenario, kind, k->colls);
    cr_expect_eq(k->flows, r->flows, "%s %s: %lu flows", r->scenario, kind, k->flows);
    cr_expect_eq(k->bytes, r->bytes, "%s %s: %lu bytes", r->scenario, kind, k->bytes);
    cr_expect_eq(k->packets, r->packets, "%s %s: %lu packets", r->scenario, kind, k->packets);
    cr_expect_eq(k->packet_hops, r->hops, "%s %s: %lu hops", r->scenario, kind, k->packet_hops);
    cr_expect_eq(count_of(c4, r->kind)->packet_hops, r->hops_4096, "%s %s: %lu hops at 4096 B",
                 r->scenario, kind, count_of(c4, r->kind)->packet_hops);
}

/* Also that what is not in the table is zero: the sum over kinds is in it. */
static void check_scenario(const char *name, int is_real)
{
    struct llm_counts c, c4;
    struct example x;
    unsigned checked = 0;

    load_direct(&x, name, is_real);
    count(&x, 1000, &c);
    count(&x, 4096, &c4);
    for (size_t i = 0; i < COUNT(rows); i++) {
        if (strcmp(rows[i].scenario, name) || rows[i].is_real != is_real)
            continue;
        check_row(&rows[i], &c, &c4);
        checked++;
    }
    cr_expect_geq(checked, 3u);
    llm_counts_fini(&c);
    llm_counts_fini(&c4);
    drop(&x);
}

Test(llm_count, paper_mode_counts_equal_the_reference)
{
    for (size_t i = 0; i < COUNT(figure_rows); i++)
        check_scenario(figure_rows[i].scenario, 0);
}

Test(llm_count, real_mode_counts_equal_the_reference)
{
    for (size_t i = 0; i < COUNT(figure_rows); i++)
        check_scenario(figure_rows[i].scenario, 1);
}

Test(llm_count, bytes_off_nvlink_equal_the_reference)
{
    for (size_t i = 0; i < COUNT(figure_rows); i++) {
        struct llm_counts c;
        struct example x;

        load_direct(&x, figure_rows[i].scenario, 1);
        count(&x, 1000, &c);
        cr_expect_eq(c.all.bytes - c.all.nvlink_bytes, figure_rows[i].network_bytes_real, "%s: %lu",
                     figure_rows[i].scenario, c.all.bytes - c.all.nvlink_bytes);
        llm_counts_fini(&c);
        drop(&x);
    }
}

/* The reference gives six digits. */
static void check_flops(const char *name, int is_real, double expected)
{
    struct example x;
    char found[32], wanted[32];

    load(&x, name, is_real, NULL, 0);
    snprintf(found, sizeof found, "%.6g", llm_flops(x.sc.llm));
    snprintf(wanted, sizeof wanted, "%.6g", expected);
    cr_expect_str_eq(found, wanted, "%s", name);
    drop(&x);
}

Test(llm_count, parameters_and_flops_equal_the_reference)
{
    for (size_t i = 0; i < COUNT(figure_rows); i++) {
        const struct figure_row *f = &figure_rows[i];
        struct example x;

        load(&x, f->scenario, 0, NULL, 0);
        const struct llm_spec *s = x.sc.llm;
        cr_expect_eq(llm_params(s), f->params, "%s: %lu", f->scenario, llm_params(s));
        cr_expect_eq(llm_params_used(s), f->used, "%s: %lu", f->scenario, llm_params_used(s));
        cr_expect_eq(llm_stage_params(s, 0), f->first, "%s: first", f->scenario);
        if (f->middle)
            cr_expect_eq(llm_stage_params(s, 1), f->middle, "%s: middle", f->scenario);
        cr_expect_eq(llm_stage_params(s, s->pp - 1), f->last, "%s: last", f->scenario);
        cr_expect_eq(llm_expert_params(s), f->experts, "%s: experts", f->scenario);
        drop(&x);
        check_flops(f->scenario, 0, f->flops_paper);
        check_flops(f->scenario, 1, f->flops_real);
    }
}

Test(llm_count, sizes_and_paths_of_flows_equal_the_reference)
{
    for (size_t i = 0; i < COUNT(figure_rows); i++) {
        struct llm_counts c;
        struct example x;
        uint32_t listed = 0;

        load(&x, figure_rows[i].scenario, 0, NULL, 0);
        count(&x, 1000, &c);
        for (size_t r = 0; r < COUNT(size_rows); r++) {
            const struct size_row *want = &size_rows[r];
            uint64_t flows = 0;

            if (strcmp(want->scenario, figure_rows[i].scenario))
                continue;
            listed++;
            for (uint32_t k = 0; k < c.size_count; k++)
                if (c.sizes[k].kind == want->kind && c.sizes[k].bytes == want->bytes &&
                    c.sizes[k].links == want->links)
                    flows = c.sizes[k].flows;
            cr_expect_eq(flows, want->flows, "%s: %lu flows of %ld B over %u links", want->scenario,
                         flows, want->bytes, want->links);
        }
        cr_expect_eq(c.size_count, listed, "%s: other sizes", figure_rows[i].scenario);
        llm_counts_fini(&c);
        drop(&x);
    }
}

Test(llm_count, the_layout_without_pipeline_sends_fp32_all_reduces_only)
{
    struct llm_counts c;
    struct example x;

    load(&x, "gpt-13b-128-paper", 0, NULL, 0);
    count(&x, 1000, &c);
    cr_expect_eq(llm_stage_params(x.sc.llm, 0), 1617536000u);
    cr_expect_eq(c.size_count, 1u);
    cr_expect_eq(c.sizes[0].bytes, 404384000);
    cr_expect_eq(c.all.flows, 3840u);
    cr_expect_eq(c.all.bytes, 1552834560000u);
    cr_expect_eq(c.all.packet_hops, 6211338240u);
    llm_counts_fini(&c);
    drop(&x);
}

/* GPT-13B on 128 GPUs, gradients lowered in other ways. */
struct lowering {
    const char *zero, *gradients, *algo, *channels, *bucket;
    uint64_t colls, flows, bytes, packets, hops;
};

static const struct lowering lowerings[] = {
    {"1", "4B", "ring", "1", "none", 32, 1792, 554502144000, 554503040, 2218012160},
    {"1", "4B", "ring", "2", "none", 32, 3584, 554502144000, 554503936, 2218015744},
    {"1", "4B", "ring", "4", "none", 32, 7168, 554502144000, 554505728, 2218022912},
    {"1", "4B", "ring", "8", "none", 32, 14336, 554502144000, 554509312, 2218037248},
    {"0", "4B", "ring", "1", "none", 16, 1792, 739336192000, 739337088, 2957348352},
    {"0", "4B", "ring", "8", "none", 16, 14336, 739336192000, 739343360, 2957373440},
    {"0", "2B", "ring", "1", "none", 16, 1792, 369668096000, 369668992, 1478675968},
    {"0", "2B", "ring", "8", "none", 16, 14336, 369668096000, 369675264, 1478701056},
    {"1", "4B", "ring", "1", "auto", 672, 37632, 554502144000, 554503040, 2218012160},
    {"1", "4B", "ring", "1", "40000000", 672, 37632, 554502144000, 554503040, 2218012160},
    {"1", "4B", "halving-doubling", "1", "none", 32, 768, 554502144000, 554502528, 2218010112},
};

Test(llm_count, other_lowerings_equal_the_reference)
{
    for (size_t i = 0; i < COUNT(lowerings); i++) {
        const struct lowering *l = &lowerings[i];
        const struct yaml_override set[] = {{"workload.parallel.zero", l->zero},
                                            {"workload.precision.gradients", l->gradients},
                                            {"workload.network.dp_algorithm", l->algo},
                                            {"workload.network.channels", l->channels},
                                            {"workload.parallel.bucket", l->bucket}};
        struct llm_counts c;
        struct example x;

        load(&x, "gpt-13b-128", 0, set, COUNT(set));
        count(&x, 1000, &c);
        const struct llm_count *k = &c.kind[LLM_DP];
        cr_expect_eq(k->colls, l->colls, "lowering %zu: %lu collectives", i, k->colls);
        cr_expect_eq(k->flows, l->flows, "lowering %zu: %lu flows", i, k->flows);
        cr_expect_eq(k->bytes, l->bytes, "lowering %zu: %lu bytes", i, k->bytes);
        cr_expect_eq(k->packets, l->packets, "lowering %zu: %lu packets", i, k->packets);
        cr_expect_eq(k->packet_hops, l->hops, "lowering %zu: %lu hops", i, k->packet_hops);
        llm_counts_fini(&c);
        drop(&x);
    }
}

/* Rail-aligned: the same bytes reach the experts, relayed ones come on top, no flow changes rail.
 */
Test(llm_count, rail_aligned_dispatch_keeps_to_rails)
{
    struct llm_counts direct, pxn;
    struct example x;

    load_direct(&x, "moe-8x13b-128", 1);
    count(&x, 4096, &direct);
    drop(&x);
    load(&x, "moe-8x13b-128", 1, NULL, 0);
    count(&x, 4096, &pxn);
    const struct llm_count *k = &pxn.kind[LLM_EP];
    cr_expect_gt(k->relay_bytes, 0u);
    cr_expect_eq(k->bytes - k->relay_bytes, direct.kind[LLM_EP].bytes);
    for (uint32_t i = 0; i < pxn.size_count; i++)
        if (pxn.sizes[i].kind == LLM_EP)
            cr_expect_eq(pxn.sizes[i].links, 2u);
    llm_counts_fini(&direct);
    llm_counts_fini(&pxn);
    drop(&x);
}
